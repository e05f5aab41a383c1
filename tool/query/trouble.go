package query

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/uzda-dev/uzda"
)

// trouble says what went wrong with a database and how to mend it.
func (d *DB) trouble(err error) (what, hint string) {
	if errors.Is(err, errClosed) || errors.Is(err, errChanged) || errors.Is(err, errBusy) {
		return err.Error(), "try again in a moment"
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Sprintf("the statement was stopped after %v", d.opt.Timeout),
			"ask for less: filter by an indexed column, aggregate, add LIMIT, or look for a join without a condition and a recursion without an end"
	}
	if errors.Is(err, context.Canceled) {
		return "the call was cancelled", "nothing was changed"
	}
	var no refused
	if errors.As(err, &no) {
		return no.Error(), no.hint
	}
	var se *sqlite.Error
	if !errors.As(err, &se) {
		return err.Error(), "try again, or try another statement"
	}
	folder := filepath.Dir(d.path)
	switch se.Code() & 0xff {
	case sqlite3.SQLITE_NOTADB:
		return "the file is no SQLite database, or an encrypted one", "name an SQLite file that is not encrypted"
	case sqlite3.SQLITE_CORRUPT:
		return "the file is damaged: " + message(se), "restore it from a backup, or run sqlite3's .recover on a copy"
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
		return "another program is writing to the database", "try again in a moment"
	case sqlite3.SQLITE_TOOBIG:
		return "a value or a row is too long to be handled",
			"leave that column out, or ask for length(column) to find it"
	case sqlite3.SQLITE_NOMEM:
		return "the statement needs too much memory", "ask for less at a time"
	case sqlite3.SQLITE_INTERRUPT:
		return d.trouble(context.DeadlineExceeded)
	case sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH:
		if wal, journal := exists(d.path+"-wal"), exists(d.path+"-journal"); wal {
			return "the database is in WAL mode and its log cannot be used, because the files beside it cannot be written",
				"make the folder " + folder + " writable, or copy the file and its -wal to a folder that is, or let its writer close it"
		} else if journal {
			return "a writer of the database broke off, and its journal can only be rolled back by a program that may write",
				"open it once with the program that writes it, or copy the file and its -journal and open the copy with sqlite3"
		}
		return "the file cannot be opened: " + message(se), "check that the file may be read"
	case sqlite3.SQLITE_IOERR, sqlite3.SQLITE_FULL:
		return "reading failed: " + message(se), "check the disk and the folder for temporary files"
	}
	return message(se), "correct the statement"
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// message is SQLite's own text without what the driver puts around it.
func message(err error) string {
	s := err.Error()
	if _, rest, ok := strings.Cut(s, ": "); ok {
		s = rest
	}
	if i := strings.LastIndex(s, " ("); i > 0 && strings.HasSuffix(s, ")") {
		s = s[:i]
	}
	return s
}

var (
	noColumn   = regexp.MustCompile(`(?s)^no such column: (.*?)(?: - should this be a string literal in single-quotes\?)?$`)
	noTable    = regexp.MustCompile(`(?s)^no such table: (.*)$`)
	noFunction = regexp.MustCompile(`(?s)^no such function: (.*)$`)
	ambiguous  = regexp.MustCompile(`(?s)^ambiguous column name: (.*)$`)
	nearToken  = regexp.MustCompile(`(?s)^near "(.*)": syntax error$`)
)

// dialect says how SQLite writes what other databases write differently.
var dialect = map[string]string{
	"concat_ws": "join texts with ||", "count_if": "write sum(condition)", "curdate": "write date('now')",
	"date_add": "write date(column, '+1 day')", "date_format": "write strftime('%Y-%m', column)",
	"date_sub": "write date(column, '-1 day')", "date_trunc": "write date(column, 'start of month') or strftime('%Y-%m', column)",
	"datediff": "write julianday(a) - julianday(b)", "extract": "write CAST(strftime('%Y', column) AS INTEGER)",
	"getdate": "write datetime('now')",
	"ilike":   "LIKE ignores the case of ASCII letters in SQLite", "interval": "write date(column, '+1 day')",
	"left": "write substr(column, 1, n)", "month": "write strftime('%m', column)", "now": "write datetime('now')",
	"right": "write substr(column, -n)", "similar": "write LIKE or GLOB", "string_agg": "write group_concat(column, ', ')",
	"to_char": "write strftime('%Y-%m-%d', column)", "top": "write LIMIT n at the end", "year": "write strftime('%Y', column)",
	"::": "write CAST(x AS INTEGER)", ":": "write CAST(x AS INTEGER)", "day": "write strftime('%d', column)",
}

// explain makes the result of a statement that SQLite refused. It looks for
// what was meant among the tables and columns that the statement names.
func (d *DB) explain(ctx context.Context, s Statement, err error) uzda.Result {
	what, hint := d.trouble(err)
	var se *sqlite.Error
	if errors.As(err, &se) && se.Code()&0xff == sqlite3.SQLITE_ERROR {
		if better := d.mend(ctx, s, what); better != "" {
			hint = better
		}
	}
	return d.failure(codeOf(err), what, hint)
}

// mend says how to mend an error of SQL, "" if it does not know.
func (d *DB) mend(ctx context.Context, s Statement, what string) string {
	if m := noColumn.FindStringSubmatch(what); m != nil {
		return d.mendColumn(ctx, s, m[1])
	}
	if m := noTable.FindStringSubmatch(what); m != nil {
		return d.mendTable(ctx, m[1])
	}
	if m := ambiguous.FindStringSubmatch(what); m != nil {
		return "write the table before it, as in orders." + last(m[1])
	}
	if strings.HasPrefix(what, `near "FROM"`) && slices.ContainsFunc(s.names(), func(n string) bool { return strings.EqualFold(n, "extract") }) {
		return dialect["extract"]
	}
	for _, re := range []*regexp.Regexp{noFunction, nearToken} {
		if m := re.FindStringSubmatch(what); m != nil {
			if h := dialect[strings.ToLower(m[1])]; h != "" {
				return h
			}
		}
	}
	switch {
	case strings.HasPrefix(what, "misuse of aggregate"):
		return "put the condition on an aggregate into HAVING, after GROUP BY"
	case nearToken.MatchString(what), strings.HasPrefix(what, "incomplete input"):
		return "correct the statement at that place; it must be in SQLite's dialect"
	}
	return ""
}

func (d *DB) mendColumn(ctx context.Context, s Statement, name string) string {
	if strings.HasPrefix(name, `"`) {
		name = strings.Trim(name, `"`)
		if strings.ContainsAny(name, " %") || !isASCII(name) {
			return "text stands in single quotes: " + text(name)
		}
	}
	tables, err := with(ctx, d, func(ctx context.Context, c *conn) ([]entity, error) { return c.named(ctx, s.names()) })
	if err != nil || len(tables) == 0 {
		return "name a table with FROM; list_tables shows them"
	}
	var all []string
	for _, t := range tables {
		all = append(all, t.names...)
	}
	var b strings.Builder
	if near := uzda.Nearest(last(name), all, 3); len(near) > 0 {
		b.WriteString("did you mean " + strings.Join(near, ", ") + "? ")
	}
	const most = 4
	for _, t := range tables[:min(len(tables), most)] {
		fmt.Fprintf(&b, "%s has the columns %s. ", t.name, uzda.Clip(strings.Join(t.names, ", "), 800))
	}
	b.WriteString("Text stands in single quotes")
	return b.String()
}

func (d *DB) mendTable(ctx context.Context, name string) string {
	list, err := with(ctx, d, func(ctx context.Context, c *conn) ([]entity, error) { return c.tables(ctx) })
	if err != nil {
		return "list_tables shows the tables"
	}
	return meant(last(name), entityNames(list))
}

// meant names the nearest tables and all of them.
func meant(name string, known []string) string {
	if len(known) == 0 {
		return "the database holds no tables"
	}
	hint := "The tables are: " + uzda.Clip(strings.Join(known, ", "), 800)
	if near := uzda.Nearest(name, known, 3); len(near) > 0 {
		return "did you mean " + strings.Join(near, ", ") + "? " + hint
	}
	return hint
}

// last takes the table from before a column, the database from before a table.
func last(name string) string { return name[strings.LastIndexByte(name, '.')+1:] }

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}

func codeOf(err error) uzda.Code {
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return uzda.CodeTimeout
	case errors.Is(err, context.Canceled):
		return uzda.CodeCancelled
	}
	return uzda.CodeFailed
}

// failure is a result that says what is wrong and what to do.
func (d *DB) failure(code uzda.Code, what, hint string) uzda.Result {
	text := sentence(uzda.Clip(strings.ToValidUTF8(what, "\uFFFD"), 1_000)) + " " + sentence(hint)
	return uzda.Result{Blocks: uzda.Say(text, d.labels()...), IsError: true, Code: code, Effect: uzda.EffectNone, Labels: d.labels()}
}

func sentence(s string) string {
	if s == "" {
		return ""
	}
	if c := s[0]; c >= 'a' && c <= 'z' {
		s = strings.ToUpper(s[:1]) + s[1:]
	}
	if !strings.HasSuffix(s, "?") && !strings.HasSuffix(s, ".") {
		s += "."
	}
	return s
}
