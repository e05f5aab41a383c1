package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"io"
	"net/url"
	"path/filepath"
	"strings"

	engine "modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"
)

// conn is one connection with its prepared statements, for one goroutine at a
// time. It talks to the driver directly, since database/sql would cost more
// than the rest of an append.
type conn struct {
	raw   driver.Conn
	stmts map[string]driver.Stmt
	args  []driver.NamedValue
}

// dial opens a connection; mode is "ro", "rw" or "rwc" (which makes the file).
func dial(path, mode string, pragmas ...string) (*conn, error) {
	q := url.Values{"_error_rc": {"1"}}
	for _, p := range pragmas {
		q.Add("_pragma", p)
	}
	name := Memory
	if path != Memory {
		q.Set("mode", mode)
		slashed := filepath.ToSlash(path)
		if !strings.HasPrefix(slashed, "/") {
			slashed = "/" + slashed
		}
		name = "file://" + (&url.URL{Path: slashed}).EscapedPath()
	}
	raw, err := (&engine.Driver{}).Open(name + "?" + q.Encode())
	if err != nil {
		return nil, err
	}
	return &conn{raw: raw, stmts: map[string]driver.Stmt{}}, nil
}

func (c *conn) close() error {
	var err error
	for _, s := range c.stmts {
		err = errors.Join(err, s.Close())
	}
	return errors.Join(err, c.raw.Close())
}

// exec runs a statement, which stays prepared, and returns how many rows it changed.
func (c *conn) exec(query string, args ...any) (int64, error) {
	s, err := c.prepare(query)
	if err != nil {
		return 0, err
	}
	r, err := s.(driver.StmtExecContext).ExecContext(context.Background(), c.bind(args))
	if err != nil {
		return 0, err
	}
	return r.RowsAffected()
}

// script runs statements that are not kept.
func (c *conn) script(ctx context.Context, text string, args ...any) error {
	_, err := c.raw.(driver.ExecerContext).ExecContext(ctx, text, c.bind(args))
	return err
}

// each calls fn with every row of a query, whose values it must copy out
// before it returns; it must not use the connection for the same query.
func (c *conn) each(query string, args []any, fn func(row []driver.Value) error) (err error) {
	s, err := c.prepare(query)
	if err != nil {
		return err
	}
	rows, err := s.(driver.StmtQueryContext).QueryContext(context.Background(), c.bind(args))
	if err != nil {
		return err
	}
	defer func() {
		if e := rows.Close(); err == nil {
			err = e
		}
	}()
	row := make([]driver.Value, len(rows.Columns()))
	for {
		if err := rows.Next(row); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if err := fn(row); err != nil {
			return err
		}
	}
}

// one returns the first row of a query, nil if there is none.
func (c *conn) one(query string, args ...any) (row []driver.Value, err error) {
	err = c.each(query, args, func(r []driver.Value) error {
		row = r
		return errStop
	})
	if errors.Is(err, errStop) {
		err = nil
	}
	return row, err
}

var errStop = errors.New("enough rows")

func (c *conn) prepare(query string) (driver.Stmt, error) {
	if s, ok := c.stmts[query]; ok {
		return s, nil
	}
	s, err := c.raw.Prepare(query)
	if err != nil {
		return nil, err
	}
	c.stmts[query] = s
	return s, nil
}

func (c *conn) bind(args []any) []driver.NamedValue {
	c.args = c.args[:0]
	for i, a := range args {
		c.args = append(c.args, driver.NamedValue{Ordinal: i + 1, Value: a})
	}
	return c.args
}

// The values of a row. What is null or of another type is zero: the schema
// does not allow it, and Verify looks at content.

func num(v driver.Value) int64 { n, _ := v.(int64); return n }

func text(v driver.Value) string {
	switch v := v.(type) {
	case string:
		return v
	case []byte:
		return string(v)
	}
	return ""
}

func data(v driver.Value) []byte {
	switch v := v.(type) {
	case []byte:
		return v
	case string:
		return []byte(v)
	}
	return nil
}

// code is the primary result code of an error of SQLite, 0 for other errors.
func code(err error) int { return extended(err) & 0xff }

// extended is SQLite's code with its details, 0 for other errors.
func extended(err error) int {
	var e *engine.Error
	if errors.As(err, &e) {
		return e.Code()
	}
	return 0
}

// isBusy says whether another connection has what err needs.
func isBusy(err error) bool {
	c := code(err)
	return c == lib.SQLITE_BUSY || c == lib.SQLITE_LOCKED
}
