package query

import (
	"errors"
	"fmt"
	"strings"
)

// A Statement is one statement that only reads.
type Statement struct {
	// Text is the statement without what stands before and after it: comments
	// and a last semicolon.
	Text string
	// Rows says that it is a SELECT, VALUES or WITH, which can be put into
	// another statement. PRAGMA and EXPLAIN cannot.
	Rows bool

	toks []token
}

const maxMakers = 1_000

// Check admits exactly one statement that reads: SELECT, VALUES, WITH … SELECT,
// EXPLAIN of one of them, or a PRAGMA that only tells. The error says what is
// not allowed and what to write instead. It is the first of four walls and
// decides by the text alone.
func Check(sql string) (Statement, error) {
	if len(sql) > maxSQL {
		return Statement{}, fmt.Errorf("the statement has %d bytes, at most %d are allowed; ask for less at a time", len(sql), maxSQL)
	}
	if i := strings.IndexByte(sql, 0); i >= 0 {
		return Statement{}, fmt.Errorf("the statement holds a NUL byte at byte %d; remove it", i+1)
	}
	toks, err := tokens(sql)
	if err != nil {
		return Statement{}, fmt.Errorf("the statement cannot be read: %w", err)
	}
	if toks, err = single(toks); err != nil {
		return Statement{}, err
	}
	s := Statement{Text: sql[toks[0].start:toks[len(toks)-1].end], toks: toks}
	for _, t := range toks {
		if t.kind == variable {
			return Statement{}, fmt.Errorf("the parameter %s has no value here; write the value itself, text in single quotes", t.text)
		}
	}
	if n := s.makers(); n > maxMakers {
		return Statement{}, fmt.Errorf("the statement has %d function calls, at most %d are allowed; ask for less at a time", n, maxMakers)
	}
	body := toks
	if body[0].is("EXPLAIN") {
		body = body[1:]
		if len(body) > 1 && body[0].is("QUERY") && body[1].is("PLAN") {
			body = body[2:]
		}
		if len(body) == 0 {
			return Statement{}, errors.New("EXPLAIN needs a SELECT after it")
		}
	} else if body[0].is("PRAGMA") {
		return s, pragma(body)
	} else {
		s.Rows = true
	}
	return s, reads(body)
}

// single takes off the last semicolons and refuses a second statement.
func single(toks []token) ([]token, error) {
	for len(toks) > 0 && toks[len(toks)-1].is(";") {
		toks = toks[:len(toks)-1]
	}
	for len(toks) > 0 && toks[0].is(";") {
		toks = toks[1:]
	}
	if len(toks) == 0 {
		return nil, errors.New("there is no statement; write one SELECT")
	}
	for i, t := range toks {
		if t.is(";") {
			return nil, fmt.Errorf("there is a second statement at byte %d (%s); send one statement a call",
				toks[i+1].start+1, toks[i+1].text)
		}
	}
	return toks, nil
}

// reads admits SELECT, VALUES and WITH … SELECT.
func reads(toks []token) error {
	verb := toks[0]
	if verb.is("WITH") {
		var ok bool
		if verb, ok = mainVerb(toks[1:]); !ok {
			return errors.New("WITH needs a SELECT after its tables; write WITH name AS (SELECT …) SELECT …")
		}
	}
	if verb.is("SELECT") || verb.is("VALUES") {
		return nil
	}
	what := strings.ToUpper(verb.text)
	if verb.kind != word {
		return fmt.Errorf("the statement begins with %q; write one SELECT, without parentheses around it", verb.text)
	}
	switch what {
	case "ATTACH", "DETACH":
		return fmt.Errorf("%s is not allowed: only this database can be read; write a SELECT", what)
	case "INSERT", "UPDATE", "DELETE", "REPLACE", "CREATE", "DROP", "ALTER", "VACUUM", "REINDEX", "ANALYZE", //nolint:misspell // SQL
		"BEGIN", "COMMIT", "END", "ROLLBACK", "SAVEPOINT", "RELEASE", "TRUNCATE", "MERGE", "GRANT":
		return fmt.Errorf("%s is not allowed: the database is open for reading only; write a SELECT, with WITH name AS (…) where a step in between is needed", what)
	case "SHOW", "DESCRIBE", "DESC", "USE":
		return fmt.Errorf("SQLite has no %s; call list_tables or describe_table", what)
	case "EXPLAIN", "PRAGMA":
		return fmt.Errorf("%s cannot follow EXPLAIN; explain a SELECT", what)
	}
	return fmt.Errorf("a statement cannot begin with %s here; write one SELECT", verb.text)
}

// mainVerb finds what follows the tables of a WITH.
func mainVerb(toks []token) (token, bool) {
	depth := 0
	for _, t := range toks {
		switch {
		case t.is("("):
			depth++
		case t.is(")"):
			depth--
		case depth == 0 && t.kind == word:
			switch strings.ToUpper(t.text) {
			case "SELECT", "VALUES", "INSERT", "UPDATE", "DELETE", "REPLACE":
				return t, true
			}
		}
	}
	return token{}, false
}

// pragma admits PRAGMA [main.]name and PRAGMA [main.]name(table).
func pragma(toks []token) error {
	toks = toks[1:]
	if len(toks) > 2 && toks[1].is(".") {
		if !strings.EqualFold(toks[0].text, "main") {
			return fmt.Errorf("there is no database %s here; leave it out", toks[0].text)
		}
		toks = toks[2:]
	}
	if len(toks) == 0 || toks[0].kind != word {
		return errors.New("PRAGMA needs a name, for example PRAGMA table_info(orders)")
	}
	name := toks[0].text
	switch {
	case len(toks) == 1 && pragmaAllowed(name, false):
		return nil
	case len(toks) == 4 && toks[1].is("(") && toks[3].is(")") && pragmaAllowed(name, true):
		return nil
	case len(toks) > 1 && toks[1].is("="):
		return fmt.Errorf("PRAGMA %s = … is not allowed: it would set something; the database is open for reading only", name)
	}
	return fmt.Errorf("this form of PRAGMA %s is not allowed; allowed are %s, each with a name in parentheses, and without one %s",
		name, strings.Join(namedPragmas, ", "), strings.Join(plainPragmas, ", "))
}

// makers counts what can make a long value: calls and concatenations.
func (s Statement) makers() int {
	n := 0
	for i, t := range s.toks {
		call := t.is("(") && i > 0 && (s.toks[i-1].kind == quoted || s.toks[i-1].kind == word)
		if call || t.is("||") {
			n++
		}
	}
	return n
}

// names returns the names that the statement holds: of tables, columns and more.
func (s Statement) names() []string {
	var out []string
	for _, t := range s.toks {
		if t.kind == word || t.kind == quoted {
			out = append(out, t.text)
		}
	}
	return out
}
