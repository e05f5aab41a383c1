// Package query lets a model look into somebody's SQLite file without any way
// to change it.
//
// Four walls stand between a statement and the file: a tokenizer admits one
// reading statement, SQLite's authorizer admits reading actions only,
// query_only is on, and the file is opened with mode=ro.
//
// Every result carries the labels private and untrusted, both from
// "db:NAME": what lies in a database belongs to its owner, and its text may
// have been written by anybody.
//
// # Curated schema text
//
// A database says little about what its columns mean. A Markdown file beside
// it (shop.schema.md for shop.db), or [Options.Schema], says the rest:
//
//	# shop
//	What the database is about, for list_tables.
//
//	## orders
//	What a row is, keys, traps; for list_tables (first line) and describe_table.
//
//	- status: new, paid, sent or cancelled; cancelled orders don't count
//	- total: in grosze (1/100 PLN)
//
// Headings of the second level are tables, list items "column: text" are
// columns, further lines belong to what they follow.
package query

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/uzda-dev/uzda"
)

// Limits of results. Rows beyond MaxRows cannot be asked for.
const (
	DefaultRows = 100
	MaxRows     = 500

	defaultTimeout = 5 * time.Second
	defaultBytes   = 40_000
	defaultCell    = 2_000
	minCell        = 64
	parallel       = 4         // calls at a time
	maxNotes       = 256 << 10 // bytes of a schema file
)

// Options say how much a call may read. The zero value is useful.
type Options struct {
	Name     string        // of the database in labels and texts; default: the file's name
	MaxRows  int           // of a result; 0 or more than [MaxRows]: [DefaultRows]
	MaxBytes int           // of a result's text; default 40,000
	MaxCell  int           // bytes of one value, head and tail kept; default 2,000
	Timeout  time.Duration // of a call; default 5 s
	// Schema is curated text about the tables, see the package comment. Without
	// it the file PATH with ".schema.md" for its extension is read, if there is one.
	Schema string
}

// A DB is one SQLite file, for reading. It is safe for concurrent use. Every
// call opens the file anew, so nothing is locked or held between calls.
type DB struct {
	path    string // absolute
	opt     Options
	curated curated
	slots   chan struct{} // one per running call

	mu     sync.Mutex
	closed bool
	seen   stamp // what wal was found out for
	wal    bool
}

// Open looks at the file and fails if it cannot be read: missing, no database,
// encrypted, or in a state that only a writer can mend. Errors say what to do.
// It changes nothing, neither in the file nor beside it.
func Open(ctx context.Context, path string, o Options) (*DB, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("open database %s: %w", path, err)
	}
	if err := usable(abs); err != nil {
		return nil, err
	}
	o.Name = cmp.Or(o.Name, filepath.Base(abs))
	if o.MaxRows <= 0 || o.MaxRows > MaxRows {
		o.MaxRows = DefaultRows
	}
	o.MaxBytes = max(cmp.Or(max(o.MaxBytes, 0), defaultBytes), 1_000)
	o.MaxCell = max(cmp.Or(max(o.MaxCell, 0), defaultCell), minCell)
	if o.Timeout <= 0 {
		o.Timeout = defaultTimeout
	}
	if o.Schema == "" {
		if o.Schema, err = notesBeside(abs); err != nil {
			return nil, err
		}
	}
	d := &DB{path: abs, opt: o, curated: parseCurated(o.Schema), slots: make(chan struct{}, parallel)}
	if err := d.try(ctx); err != nil {
		return nil, err
	}
	return d, nil
}

// Tools returns list_tables, describe_table and run_query.
func (d *DB) Tools() []uzda.Tool {
	return []uzda.Tool{listTables{d}, describeTable{d}, runQuery{d}}
}

// Close waits for running calls, at most their time; later ones are refused. An
// error says that a statement goes on which SQLite cannot interrupt.
func (d *DB) Close() error {
	d.mu.Lock()
	was := d.closed
	d.closed = true
	d.mu.Unlock()
	if was {
		return nil
	}
	late := time.NewTimer(d.opt.Timeout + 2*grace)
	defer late.Stop()
	for range parallel {
		select {
		case d.slots <- struct{}{}:
		case <-late.C:
			return fmt.Errorf("close database %s: a statement is still running; it ends with the program", d.path)
		}
	}
	return nil
}

// labels are what every result carries.
func (d *DB) labels() []uzda.Label {
	from := "db:" + d.opt.Name
	return []uzda.Label{{Kind: uzda.Private, From: from}, {Kind: uzda.Untrusted, From: from}}
}

// try reads the catalogue once, as every call does.
func (d *DB) try(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, d.opt.Timeout)
	defer cancel()
	_, err := with(ctx, d, func(ctx context.Context, c *conn) ([]entity, error) { return c.tables(ctx) })
	if err != nil {
		what, hint := d.trouble(err)
		return fmt.Errorf("open database %s: %s; %s", d.path, what, hint)
	}
	return nil
}

// usable says what keeps a path from being a database before SQLite sees it.
func usable(path string) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		hint := "check the path"
		dir := filepath.Dir(path)
		if entries, derr := os.ReadDir(dir); derr != nil {
			hint = "its folder does not exist either; check the path"
		} else if near := uzda.Nearest(filepath.Base(path), fileNames(entries), 1); len(near) > 0 {
			hint = "did you mean " + filepath.Join(dir, near[0]) + "?"
		}
		return fmt.Errorf("open database %s: %w; %s", path, os.ErrNotExist, hint)
	case err != nil:
		return fmt.Errorf("open database %s: %w", path, err)
	case info.IsDir():
		hint := "name the database file in it"
		if found := databasesIn(path); len(found) > 0 {
			hint = "did you mean " + filepath.Join(path, found[0]) + "?"
		}
		return fmt.Errorf("open database %s: it is a folder; %s", path, hint)
	case !info.Mode().IsRegular():
		return fmt.Errorf("open database %s: it is no regular file; name an SQLite file", path)
	case info.Size() == 0:
		return fmt.Errorf("open database %s: the file is empty (0 bytes), so it holds no tables; name the file with the data", path)
	}
	return nil
}

func fileNames(entries []os.DirEntry) []string {
	var names []string
	for _, e := range entries {
		if e.Type().IsRegular() {
			names = append(names, e.Name())
		}
	}
	return names
}

func databasesIn(dir string) []string {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	var found []string
	for _, n := range fileNames(entries) {
		switch strings.ToLower(filepath.Ext(n)) {
		case ".db", ".sqlite", ".sqlite3", ".db3":
			found = append(found, n)
		}
	}
	return found
}

func notesBeside(path string) (string, error) {
	name := strings.TrimSuffix(path, filepath.Ext(path)) + ".schema.md"
	info, err := os.Stat(name)
	if errors.Is(err, os.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read schema text %s: %w", name, err)
	}
	if info.Size() > maxNotes {
		return "", fmt.Errorf("read schema text %s: it has %d bytes, at most %d are useful; shorten it", name, info.Size(), maxNotes)
	}
	raw, err := os.ReadFile(name)
	if err != nil {
		return "", fmt.Errorf("read schema text: %w", err)
	}
	return strings.ToValidUTF8(string(raw), "\uFFFD"), nil
}
