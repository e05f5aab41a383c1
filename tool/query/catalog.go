package query

import (
	"context"
	"fmt"
	"strings"

	"github.com/uzda-dev/uzda"
)

// A listing is the text of list_tables.
type listing struct {
	Database string `json:"database"`
	About    string `json:"about,omitempty"`
	Table
}

func (d *DB) list(ctx context.Context) uzda.Result {
	ctx, cancel := context.WithTimeout(ctx, d.opt.Timeout)
	defer cancel()
	t, err := with(ctx, d, func(ctx context.Context, c *conn) (table, error) { return d.overview(ctx, c) })
	if err != nil {
		what, hint := d.trouble(err)
		return d.failure(codeOf(err), "the tables cannot be listed: "+what, hint)
	}
	about := middle(d.curated.about, d.opt.MaxBytes/4)
	p, err := fit(t, MaxRows, d.opt.MaxBytes-len(about), d.opt.MaxCell)
	if err != nil {
		return d.failure(uzda.CodeFailed, err.Error(), "use run_query on sqlite_schema")
	}
	out := Table{Columns: t.columns, Rows: orEmpty(p.cells), Count: len(p.cells), Truncated: p.more}
	if p.more {
		out.Note = fmt.Sprintf("There are %d tables; find the others with run_query: SELECT name FROM sqlite_schema WHERE name LIKE '%%…%%'.", len(t.rows))
	}
	if s := d.curated.strangers(t.texts(0)); len(s) > 0 {
		out.Note = strings.TrimSpace(out.Note + " The schema text describes tables that the database lacks: " + uzda.Clip(strings.Join(s, ", "), 200) + ".")
	}
	return d.success(listing{d.opt.Name, about, out}, grid(t.columns, p.cells, p.more))
}

// overview is one row a table. A table that cannot be read has no count, and
// does not hide the others.
func (d *DB) overview(ctx context.Context, c *conn) (table, error) {
	t := table{columns: []string{"table", "kind", "row_count", "columns", "about"}}
	all, err := c.tables(ctx)
	if err != nil {
		return t, err
	}
	for _, e := range all {
		var count any
		if e.kind == "table" && len(t.rows) < MaxRows {
			if count, err = c.count(ctx, e.name); err != nil && ctx.Err() != nil {
				return t, err
			}
		}
		t.rows = append(t.rows, []any{e.name, e.kind, count, int64(e.columns), orNil(d.curated.table(e.name).firstLine())})
	}
	return t, nil
}

// count counts rows, but not for ever.
func (c *conn) count(ctx context.Context, name string) (any, error) {
	const most = 10_000
	var n int64
	q := fmt.Sprintf("SELECT count(*) FROM (SELECT 1 FROM %s LIMIT %d)", ident(name), most+1)
	if err := c.QueryRowContext(ctx, q).Scan(&n); err != nil {
		return nil, err
	}
	if n > most {
		return fmt.Sprintf("more than %d", most), nil
	}
	return n, nil
}

func orNil(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// A description is the text of describe_table.
type description struct {
	Name  string `json:"table"`
	Kind  string `json:"kind"`
	About string `json:"about,omitempty"`
	Table
	ForeignKeys []string `json:"foreign_keys,omitempty"`
	Indexes     []string `json:"indexes,omitempty"`
	SQL         string   `json:"sql,omitempty"` // of a view or a virtual table
}

func (d *DB) describe(ctx context.Context, name string) uzda.Result {
	ctx, cancel := context.WithTimeout(ctx, d.opt.Timeout)
	defer cancel()
	f, err := with(ctx, d, func(ctx context.Context, c *conn) (facts, error) {
		all, err := c.tables(ctx)
		if err != nil {
			return facts{}, err
		}
		e, ok := find(all, clean(name))
		if !ok {
			return facts{known: entityNames(all)}, nil
		}
		return d.facts(ctx, c, e)
	})
	if err != nil {
		what, hint := d.trouble(err)
		return d.failure(codeOf(err), fmt.Sprintf("the table %s cannot be described: %s", name, what), hint)
	}
	t, out := f.columns, f.description
	if out.Name == "" {
		return d.failure(uzda.CodeInvalidInput, fmt.Sprintf("there is no table or view %q", name), meant(clean(name), f.known))
	}
	p, err := fit(t, MaxRows, d.opt.MaxBytes-len(encode(out)), d.opt.MaxCell)
	if err != nil {
		return d.failure(uzda.CodeFailed, err.Error(), "use PRAGMA table_info with run_query")
	}
	out.Table = Table{Columns: t.columns, Rows: orEmpty(p.cells), Count: len(p.cells), Truncated: p.more}
	if p.more {
		out.Note = fmt.Sprintf("There are %d columns; the others come from run_query: SELECT name, type FROM pragma_table_info(%s) LIMIT 100 OFFSET %d.", len(t.rows), text(out.Name), len(p.cells))
	}
	return d.success(out, grid(t.columns, p.cells, p.more))
}

// clean takes off what models put around names.
func clean(name string) string {
	name = strings.TrimSpace(name)
	if rest, ok := strings.CutPrefix(strings.ToLower(name), "main."); ok {
		name = name[len(name)-len(rest):]
	}
	return strings.Trim(name, "`\"[]'")
}

// facts are what SQLite and people know of a table.
type facts struct {
	description
	columns table
	known   []string // tables, where the one asked for is none
}

// facts reads what SQLite knows of a table and adds what people wrote.
func (d *DB) facts(ctx context.Context, c *conn, e entity) (f facts, err error) {
	notes := d.curated.table(e.name)
	f.description = description{Name: e.name, Kind: e.kind, About: middle(notes.about, d.opt.MaxBytes/4)}
	if f.columns, err = c.columns(ctx, e.name, notes); err != nil {
		return f, err
	}
	if f.ForeignKeys, err = c.strings(ctx, foreignKeys, e.name); err != nil {
		return f, err
	}
	if f.Indexes, err = c.strings(ctx, indexes, e.name); err != nil {
		return f, err
	}
	if e.kind != "table" {
		def, err := c.strings(ctx, "SELECT sql FROM sqlite_schema WHERE name = ?", e.name)
		if err != nil {
			return f, err
		}
		f.SQL = middle(strings.Join(def, ""), d.opt.MaxCell)
	}
	return f, nil
}

const (
	foreignKeys = `SELECT group_concat("from", ', ') || ' -> ' || "table" || '(' || group_concat(coalesce("to", 'its key'), ', ') || ')'
		FROM pragma_foreign_key_list(?) GROUP BY id ORDER BY id`
	indexes = `SELECT iif(l."unique", 'unique ', '') || '(' || (SELECT group_concat(coalesce(i.name, 'an expression'), ', ')
			FROM pragma_index_info(l.name) i) || ')' || iif(l.partial, ' partial', '')
		FROM pragma_index_list(?) l ORDER BY l.name`
)

// columns is one row a column.
func (c *conn) columns(ctx context.Context, name string, notes *aboutTable) (table, error) {
	t := table{columns: []string{"column", "type", "required", "default", "key", "about"}}
	rows, err := c.QueryContext(ctx, `SELECT name, type, "notnull", dflt_value, pk, hidden FROM pragma_table_xinfo(?)`, name)
	if err != nil {
		return t, err
	}
	defer rows.Close()
	for rows.Next() {
		var col, typ string
		var required int64
		var pk, hidden int
		var preset any
		if err := rows.Scan(&col, &typ, &required, &preset, &pk, &hidden); err != nil {
			return t, err
		}
		var key any
		switch {
		case pk > 0:
			key = "primary"
		case hidden > 1:
			key = "generated"
		case hidden == 1:
			key = "hidden"
		}
		t.rows = append(t.rows, []any{col, typ, required, preset, key, orNil(notes.column(col))})
	}
	return t, rows.Err()
}

// strings reads the texts of one column, NULL left out.
func (c *conn) strings(ctx context.Context, q, arg string) ([]string, error) {
	const most = 64
	rows, err := c.QueryContext(ctx, q, arg)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out []string
	for rows.Next() {
		var s *string
		if err := rows.Scan(&s); err != nil {
			return nil, err
		}
		if s != nil && len(out) < most {
			out = append(out, strings.ToValidUTF8(*s, "\uFFFD"))
		}
	}
	return out, rows.Err()
}
