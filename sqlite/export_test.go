package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"testing"
)

// OpenLater opens a store as a program would that has more migrations.
func OpenLater(path string, o Options, more ...string) (*DB, error) {
	steps, err := migrations()
	if err != nil {
		return nil, err
	}
	for _, sql := range more {
		n := len(steps) + 1
		steps = append(steps, migration{version: n, name: fmt.Sprintf("%04d_later", n), sql: sql})
	}
	return open(path, o, steps)
}

// OpenEarlier opens a store as a program would that knows only some migrations.
func OpenEarlier(path string, o Options, version int) (*DB, error) {
	steps, err := migrations()
	if err != nil {
		return nil, err
	}
	return open(path, o, steps[:version])
}

// Exec runs SQL on the connection that writes, in a transaction of its own.
func (db *DB) Exec(sql string) error {
	return db.write(context.Background(), 0, func(c *conn) error { return c.script(context.Background(), sql) })
}

// Pragma runs a PRAGMA on the connection that writes.
func (db *DB) Pragma(sql string) error {
	return db.write(context.Background(), 0, func(c *conn) error { _, err := c.one("PRAGMA " + sql); return err })
}

// Queued is how many writes wait for a transaction.
func (db *DB) Queued() int {
	db.writer.mu.Lock()
	defer db.writer.mu.Unlock()
	n := len(db.writer.queue)
	if db.writer.running {
		n++
	}
	return n
}

// Bury begins the burial of what looks dead in a folder of locks, and returns
// what ends it.
func Bury(dir string) func() {
	held := (&locks{dir: dir}).graves()
	return func() {
		for _, g := range held {
			_ = g.drop()
		}
	}
}

// Lock says whether a name can be locked.
func Lock(t testing.TB, dir, name string) bool {
	t.Helper()
	k, ok, err := (&locks{dir: dir}).try(name)
	if err != nil {
		t.Fatal(err)
	}
	if ok {
		_ = k.drop()
	}
	return ok
}

// Plans says how SQLite looks for what was appended after a row.
func (db *DB) Plans() (plans []string, err error) {
	for _, query := range []string{sqlNewEvents, sqlBodies} {
		err = errors.Join(err, db.write(context.Background(), 0, func(c *conn) error {
			return c.each("EXPLAIN QUERY PLAN "+query, []any{int64(1), "default"}, func(row []driver.Value) error {
				plans = append(plans, text(row[3]))
				return nil
			})
		}))
	}
	return plans, err
}
