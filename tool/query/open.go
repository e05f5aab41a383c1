package query

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// A conn is the connection of one call.
type conn struct{ *sql.Conn }

// grace is how long a call waits for an interrupted statement to end.
const grace = 500 * time.Millisecond

// A stamp tells whether a file was written.
type stamp struct {
	size int64
	at   time.Time
	wal  bool // a write-ahead log lies beside it
}

func (d *DB) stamp() stamp {
	var s stamp
	if info, err := os.Stat(d.path); err == nil {
		s.size, s.at = info.Size(), info.ModTime()
	}
	_, err := os.Lstat(d.path + "-wal")
	s.wal = err == nil
	return s
}

var (
	errClosed  = errors.New("the database was closed")
	errBusy    = errors.New("earlier statements are still running")
	errChanged = errors.New("another program began to write to the database")
)

// with runs fn on a connection of its own. It returns when ctx has ended, also
// if SQLite is inside a step that cannot be interrupted; that step goes on
// alone and keeps its slot.
func with[T any](ctx context.Context, d *DB, fn func(context.Context, *conn) (T, error)) (T, error) {
	var none T
	select {
	case d.slots <- struct{}{}:
	case <-ctx.Done():
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			return none, errBusy
		}
		return none, ctx.Err()
	}
	d.mu.Lock()
	closed := d.closed
	d.mu.Unlock()
	if closed {
		<-d.slots
		return none, errClosed
	}
	type answer struct {
		value T
		err   error
	}
	done := make(chan answer, 1)
	go func() {
		defer func() { <-d.slots }()
		v, err := attempt(ctx, d, d.quiet(ctx), fn)
		if errors.Is(err, errChanged) {
			v, err = attempt(ctx, d, false, fn)
		}
		done <- answer{v, err}
	}()
	select {
	case a := <-done:
		return a.value, a.err
	case <-ctx.Done():
	}
	select {
	case a := <-done:
		return a.value, a.err
	case <-time.After(grace):
		return none, ctx.Err()
	}
}

// quiet says whether the file is to be read as if nobody could write to it.
// That is so for a file in WAL mode without a log: nobody has it open, and a
// read-only connection would make the log's files and could not remove them.
// Whether somebody wrote meanwhile is looked at afterwards.
func (d *DB) quiet(ctx context.Context) bool {
	now := d.stamp()
	if now.wal {
		return false
	}
	d.mu.Lock()
	seen, wal := d.seen, d.wal
	d.mu.Unlock()
	if now == seen {
		return wal
	}
	versions, err := attempt(ctx, d, true, func(ctx context.Context, c *conn) (v string, err error) {
		// the format versions of the header, read by SQLite: a file that this
		// program opened and closed itself would lose its locks
		const header = "SELECT hex(substr(data, 19, 2)) FROM sqlite_dbpage WHERE pgno = 1"
		return v, c.QueryRowContext(ctx, header).Scan(&v)
	})
	if err != nil {
		return false // the ordinary way tells what is wrong
	}
	wal = versions == "0202"
	d.mu.Lock()
	d.seen, d.wal = now, wal
	d.mu.Unlock()
	return wal
}

func attempt[T any](ctx context.Context, d *DB, quiet bool, fn func(context.Context, *conn) (T, error)) (v T, err error) {
	before := d.stamp()
	var denied refused
	pool := sql.OpenDB(connector{dsn: d.dsn(quiet), denied: &denied})
	defer pool.Close()
	pool.SetMaxOpenConns(1)
	sc, err := pool.Conn(ctx)
	if err != nil {
		return v, err
	}
	defer sc.Close()
	c := &conn{sc}
	if err := c.limit(); err != nil {
		return v, err
	}
	v, err = fn(ctx, c)
	switch {
	case quiet && d.stamp() != before:
		return v, errChanged
	case err != nil && denied.what != "":
		return v, denied
	}
	return v, err
}

// dsn names the file as a URI, in which every character of a path can be written.
func (d *DB) dsn(quiet bool) string {
	p := filepath.ToSlash(d.path)
	if !strings.HasPrefix(p, "/") {
		p = "/" + p // a drive letter
	}
	busy := min(d.opt.Timeout/2, 2*time.Second).Milliseconds()
	q := fmt.Sprintf("?mode=ro&_query_only=1&_defensive=1&_dqs=0&_error_rc=1&_busy_timeout=%d", busy)
	if quiet {
		q += "&immutable=1"
	}
	return "file://" + (&url.URL{Path: p}).EscapedPath() + q
}

// connector opens connections with a driver of its own, so that functions which
// other parts of a program registered do not exist here.
type connector struct {
	dsn    string
	denied *refused
}

var _ driver.Connector = connector{}

func (c connector) Connect(context.Context) (driver.Conn, error) {
	dc, err := new(sqlite.Driver).Open(c.dsn)
	if err != nil {
		return nil, err
	}
	guard, ok := dc.(sqlite.AuthorizerRegisterer)
	if !ok {
		err = fmt.Errorf("the driver's connection %T has no authorizer", dc)
	} else {
		err = guard.RegisterAuthorizer(authorizer(c.denied))
	}
	if err != nil {
		return nil, errors.Join(err, dc.Close())
	}
	return dc, nil
}

func (c connector) Driver() driver.Driver { return new(sqlite.Driver) }

// Limits of one connection.
const (
	maxSQL   = 64 << 10 // bytes of a statement
	maxValue = 16 << 20 // bytes of a value or row inside SQLite
	minValue = 256 << 10
	maxWork  = 64 << 20 // bytes of all values that one statement makes at a time
)

func (c *conn) limit() error {
	for _, l := range []struct{ id, to int }{
		{sqlite3.SQLITE_LIMIT_ATTACHED, 0},
		{sqlite3.SQLITE_LIMIT_LENGTH, maxValue},
		{sqlite3.SQLITE_LIMIT_SQL_LENGTH, 4 * maxSQL}, // a statement and what stands around it
		{sqlite3.SQLITE_LIMIT_EXPR_DEPTH, 200},
		{sqlite3.SQLITE_LIMIT_VDBE_OP, 1_000_000},
		{sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 1_000},
		{sqlite3.SQLITE_LIMIT_VARIABLE_NUMBER, 10},
		{sqlite3.SQLITE_LIMIT_TRIGGER_DEPTH, 1},
		{sqlite3.SQLITE_LIMIT_WORKER_THREADS, 0},
	} {
		if _, err := sqlite.Limit(c.Conn, l.id, l.to); err != nil {
			return fmt.Errorf("set the limits of SQLite: %w", err)
		}
	}
	return nil
}

// share bounds the values of a statement by how many it makes at a time.
func (c *conn) share(makers int) error {
	to := min(max(maxWork/max(makers, 1), minValue), maxValue)
	_, err := sqlite.Limit(c.Conn, sqlite3.SQLITE_LIMIT_LENGTH, to)
	return err
}

// info tells the names and declared types of a statement's columns, without
// running it.
func (c *conn) info(text string) ([]sqlite.ColumnInfo, error) {
	var cols []sqlite.ColumnInfo
	err := c.Raw(func(dc any) error {
		ci, ok := dc.(interface {
			ColumnInfo(string) ([]sqlite.ColumnInfo, error)
		})
		if !ok {
			return fmt.Errorf("the driver's connection %T tells no columns", dc)
		}
		var err error
		cols, err = ci.ColumnInfo(text)
		return err
	})
	return cols, err
}
