package query

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"

	"modernc.org/sqlite"
)

// A table is what a statement gave: at most one row more than was asked for.
type table struct {
	columns []string
	rows    [][]any // int64, float64, string, []byte or nil
}

// texts returns the texts of one column.
func (t table) texts(column int) []string {
	var out []string
	for _, r := range t.rows {
		if s, ok := r[column].(string); ok {
			out = append(out, s)
		}
	}
	return out
}

// run runs a statement that Check admitted and reads up to n rows.
func (c *conn) run(ctx context.Context, s Statement, n int) (table, error) {
	// Reads the schema under ctx: what follows cannot be interrupted there.
	if err := c.QueryRowContext(ctx, "SELECT count(*) FROM (SELECT 1 FROM sqlite_schema LIMIT 1)").Scan(new(int)); err != nil {
		return table{}, err
	}
	cols, err := c.info(s.Text)
	if err != nil {
		return table{}, err
	}
	const free = 16 // columns that need no share of their own
	if err := c.share(s.makers() + max(len(cols)-free, 0)); err != nil {
		return table{}, err
	}
	text := s.Text
	if s.Rows {
		text = wrap(text, len(cols), n)
	}
	rows, err := c.QueryContext(ctx, text)
	if err != nil {
		return table{}, err
	}
	defer rows.Close()
	t := table{columns: names(cols)}
	for len(t.rows) < n && rows.Next() {
		row, err := scan(rows, len(cols))
		if err != nil {
			return table{}, err
		}
		t.rows = append(t.rows, row)
	}
	return t, rows.Err()
}

// wrap puts a statement into one that computes its first n rows before it gives
// the first: the driver interrupts only the step that gives the first row. The
// plus takes away the declared type, by which the driver would make times of
// texts and lose how they were written.
func wrap(text string, columns, n int) string {
	names := make([]string, columns)
	plus := make([]string, columns)
	for i := range names {
		names[i] = fmt.Sprintf("uzda%d", i)
		plus[i] = "+" + names[i]
	}
	all := strings.Join(names, ",")
	const form = "WITH uzda_in(%s) AS (%s\n), uzda_out(%s) AS MATERIALIZED (SELECT * FROM uzda_in LIMIT %d) SELECT %s FROM uzda_out" //nolint:misspell // SQL
	return fmt.Sprintf(form, all, text, all, n, strings.Join(plus, ","))
}

func names(cols []sqlite.ColumnInfo) []string {
	out := make([]string, len(cols))
	for i, c := range cols {
		out[i] = c.Name
	}
	return out
}

func scan(rows *sql.Rows, n int) ([]any, error) {
	row := make([]any, n)
	to := make([]any, n)
	for i := range row {
		to[i] = &row[i]
	}
	if err := rows.Scan(to...); err != nil {
		return nil, err
	}
	return row, nil
}

// An entity is a table or a view of the database.
type entity struct {
	name, kind string
	columns    int
	names      []string // of its columns, where asked for
}

// tables lists what can be read, shadow tables and SQLite's own left out.
func (c *conn) tables(ctx context.Context) ([]entity, error) {
	const list = `SELECT name, type, ncol FROM pragma_table_list
		WHERE schema = 'main' AND type <> 'shadow' AND name NOT LIKE 'sqlite\_%' ESCAPE '\' ORDER BY name`
	rows, err := c.QueryContext(ctx, list)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out []entity
	for rows.Next() {
		var e entity
		if err := rows.Scan(&e.name, &e.kind, &e.columns); err != nil {
			return nil, err
		}
		out = append(out, e)
	}
	return out, rows.Err()
}

// columnsOf names the columns of a table in their order.
func (c *conn) columnsOf(ctx context.Context, table string) ([]string, error) {
	rows, err := c.QueryContext(ctx, "SELECT name FROM pragma_table_xinfo(?) WHERE hidden <> 1", table)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out []string
	for rows.Next() {
		var n string
		if err := rows.Scan(&n); err != nil {
			return nil, err
		}
		out = append(out, n)
	}
	return out, rows.Err()
}

// named returns those tables, with their columns, that are among the names.
func (c *conn) named(ctx context.Context, names []string) ([]entity, error) {
	list, err := c.tables(ctx)
	if err != nil {
		return nil, err
	}
	var out []entity
	for _, n := range names {
		e, ok := find(list, n)
		if _, twice := find(out, n); !ok || twice {
			continue
		}
		if e.names, err = c.columnsOf(ctx, e.name); err != nil {
			return nil, err
		}
		out = append(out, e)
	}
	return out, nil
}

// find returns the entity of a name, in any case.
func find(all []entity, name string) (entity, bool) {
	i := slices.IndexFunc(all, func(e entity) bool { return strings.EqualFold(e.name, name) })
	if i < 0 {
		return entity{}, false
	}
	return all[i], true
}

func entityNames(all []entity) []string {
	var out []string
	for _, e := range all {
		out = append(out, e.name)
	}
	return out
}

// text writes a text literal, ident a name.
func text(s string) string  { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }
func ident(s string) string { return `"` + strings.ReplaceAll(s, `"`, `""`) + `"` }
