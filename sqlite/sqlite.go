// Package sqlite keeps sessions in one SQLite file.
package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/uzda-dev/uzda"
)

// Options of a store. The zero value is what [Open] uses.
type Options struct {
	// Tenant is whose sessions the handle sees; default "default".
	Tenant string
	// Durability is what an append survives: "" or "power" a loss of power and
	// all below, "process" only the end of the process, at less cost.
	Durability string
	// LeaseTTL is how long a lease lasts without being renewed; default 15 s.
	LeaseTTL time.Duration
	// Now is the clock of events and leases; default time.Now.
	Now func() time.Time
	// AsIs opens only a store that there is and that needs no upgrade: for those who
	// only have a look, and must leave no trace.
	AsIs bool
	// Warn is told what people should know though nothing has failed, such as
	// where the copy is that was made before an upgrade. Default: nobody is.
	Warn func(text string)
}

// Memory is the path of a store that lives in memory and ends with its handle.
const Memory = ":memory:"

// DB is a store of sessions in one SQLite file, which several handles and
// processes may share. It is safe for concurrent use.
//
// Writes of all goroutines go through one connection and share transactions,
// so that a thousand sessions do not wait for a thousand fsyncs. An error of
// the store itself is an [uzda.ErrStorage].
type DB struct {
	path    string // absolute, or Memory
	o       Options
	writer  *writer
	pool    *pool // nil in memory: reads go through the writer then
	locks   *locks
	watcher *watcher

	mu    sync.Mutex
	known map[uzda.SessionID]tip
	mine  map[uzda.SessionID]int64 // epochs of leases that this handle may still have
}

var (
	_ uzda.Store     = (*DB)(nil)
	_ uzda.Ledger    = (*DB)(nil)
	_ uzda.Blobs     = (*DB)(nil)
	_ uzda.Keeper    = (*DB)(nil)
	_ uzda.Lister    = (*DB)(nil)
	_ uzda.Rebuilder = (*DB)(nil)
	_ uzda.Verifier  = (*DB)(nil)
	_ uzda.Waiter    = (*DB)(nil)
	_ io.Closer      = (*DB)(nil)
)

// Open opens the store at path, or makes it, with the default options. The
// path [Memory] is a store that ends with its handle.
func Open(path string) (*DB, error) { return OpenWith(path, Options{}) }

// OpenWith opens the store at path, or makes it. An older one is upgraded,
// after a copy of it was put beside it; a newer one is refused and stays
// untouched.
func OpenWith(path string, o Options) (*DB, error) {
	steps, err := migrations()
	if err != nil {
		return nil, err
	}
	return open(path, o, steps)
}

func open(path string, o Options, steps []migration) (*DB, error) {
	if o.Tenant == "" {
		o.Tenant = "default"
	}
	if o.LeaseTTL <= 0 {
		o.LeaseTTL = 15 * time.Second
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Warn == nil {
		o.Warn = func(string) {}
	}
	switch o.Durability {
	case "", "power", "process":
	default:
		return nil, fmt.Errorf("open store %s: durability %q: want power or process", path, o.Durability)
	}
	db := &DB{path: path, o: o, known: map[uzda.SessionID]tip{}, mine: map[uzda.SessionID]int64{}}
	if err := db.connect(steps); err != nil {
		return nil, err
	}
	return db, nil
}

// connect checks the path, prepares the file and starts the writer.
func (db *DB) connect(steps []migration) error {
	if db.path != Memory {
		if err := db.checkPath(); err != nil {
			return err
		}
		db.locks = &locks{dir: db.path + ".locks"}
	}
	c, err := db.prepare(context.Background(), steps)
	if err != nil {
		return err
	}
	db.writer, db.watcher = startWriter(c), newWatcher(db)
	if db.path != Memory {
		db.pool = newPool(func() (*conn, error) { return dial(db.path, "rw", db.readPragmas()...) })
	}
	return nil
}

// checkPath makes the path absolute and finds the faults that SQLite would
// report as "unable to open". It does not open the file: closing it again would
// drop the locks that another handle of this process has on it.
func (db *DB) checkPath() error {
	if db.path == "" {
		return errors.New("open store: the path is empty: name a file or ask for a store in memory")
	}
	abs, err := filepath.Abs(db.path)
	if err != nil {
		return db.fault("open", err)
	}
	db.path = abs
	dir := filepath.Dir(abs)
	switch info, err := os.Stat(dir); {
	case errors.Is(err, fs.ErrNotExist):
		return db.broken("open", "the folder "+dir+" does not exist", "make it first", err)
	case err != nil:
		return db.broken("open", "the folder "+dir+" cannot be looked at", "", err)
	case !info.IsDir():
		return db.broken("open", dir+" is no folder", "name a file in a folder", fs.ErrInvalid)
	}
	info, err := os.Stat(abs)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return db.broken("open", "the file cannot be looked at", "", err)
	case !info.Mode().IsRegular():
		return db.broken("open", "it is no regular file", "name a file", fs.ErrInvalid)
	}
	return nil
}

// Close ends the handle: writes that have begun are finished, leases that it
// holds are free at once. A second Close does nothing.
func (db *DB) Close() error {
	db.watcher.close()
	err := errors.Join(db.letGo(), db.writer.close())
	if db.pool != nil {
		err = errors.Join(err, db.pool.close())
	}
	return db.fault("close", err)
}

func (db *DB) writePragmas() []string {
	sync := "synchronous(FULL)"
	if db.o.Durability == "process" {
		sync = "synchronous(NORMAL)"
	}
	// Waiting for locks is ours (see writer.begin), so that it ends with its
	// context. A WAL that one large append has grown shrinks again.
	return []string{"busy_timeout(0)", sync, "temp_store(MEMORY)", "journal_size_limit(4194304)"}
}

func (db *DB) readPragmas() []string {
	return []string{"busy_timeout(0)", "query_only(1)", "temp_store(MEMORY)"}
}

func micros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

func fromMicros(n int64) time.Time {
	if n == 0 {
		return time.Time{}
	}
	return time.UnixMicro(n).UTC()
}
