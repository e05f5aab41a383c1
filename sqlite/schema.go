package sqlite

import (
	"context"
	"database/sql/driver"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"sort"
	"strings"
	"time"
)

//go:embed migrations/*.sql
var scripts embed.FS

// mark is the application id in the header of our files: "Uzda".
const mark = 0x557a6461

// migration brings a store from version n-1 to n.
type migration struct {
	version int
	name    string
	sql     string
}

// migrations returns those of this program, in order.
func migrations() ([]migration, error) {
	files, err := fs.Glob(scripts, "migrations/*.sql")
	if err != nil {
		return nil, err
	}
	sort.Strings(files)
	var steps []migration
	for i, f := range files {
		raw, err := scripts.ReadFile(f)
		if err != nil {
			return nil, err
		}
		name := strings.TrimSuffix(strings.TrimPrefix(f, "migrations/"), ".sql")
		if want := fmt.Sprintf("%04d_", i+1); !strings.HasPrefix(name, want) {
			return nil, fmt.Errorf("migration %s: want a name that begins with %s", name, want)
		}
		steps = append(steps, migration{version: i + 1, name: name, sql: string(raw)})
	}
	return steps, nil
}

// prepare opens the connection that writes, and brings the file to the version
// of this program. What it refuses it leaves as it is.
func (db *DB) prepare(ctx context.Context, steps []migration) (c *conn, err error) {
	_, statErr := os.Stat(db.path)
	fresh := db.path != Memory && errors.Is(statErr, fs.ErrNotExist)
	if fresh && db.o.AsIs {
		return nil, db.broken("open", "there is none", "open it without AsIs, which makes it", statErr)
	}
	if info, err := os.Stat(db.path + "-wal"); err == nil && info.Size() > 0 {
		// Closing a connection that may write would move the log into the file,
		// also if the file is refused: look with one that cannot.
		if err := db.peek(ctx, steps); err != nil {
			return nil, err
		}
	}
	c, err = dial(db.path, "rwc")
	if err != nil {
		return nil, db.fault("open", err)
	}
	if err := db.ready(ctx, c, fresh, steps); err != nil {
		_ = c.close()
		if info, e := os.Stat(db.path); fresh && e == nil && info.Size() == 0 {
			_ = os.Remove(db.path)
		}
		return nil, db.fault("open", err)
	}
	return c, nil
}

// ready sets the connection up and brings the schema up.
func (db *DB) ready(ctx context.Context, c *conn, fresh bool, steps []migration) error {
	version, err := db.version(ctx, c, steps)
	if err != nil {
		return err
	}
	if db.o.AsIs && version < len(steps) {
		return db.broken("open", "it is older than this program, and is to stay as it is", "open it without AsIs, which upgrades it", errOlder)
	}
	if fresh { // before the log is made, which gets the same mode
		if err := os.Chmod(db.path, 0o600); err != nil {
			return err
		}
	}
	for _, p := range db.writePragmas() {
		if err := c.script(ctx, "PRAGMA "+p); err != nil {
			return err
		}
	}
	if err := db.useLog(ctx, c); err != nil {
		return err
	}
	if version > 0 && version < len(steps) {
		if err := db.drift(ctx, c, steps[:version]); err != nil {
			return err
		}
	}
	if version < len(steps) {
		if err := db.upgrade(ctx, c, version, steps); err != nil {
			return err
		}
	}
	return db.drift(ctx, c, steps)
}

// peek refuses what must not be opened for writing.
func (db *DB) peek(ctx context.Context, steps []migration) error {
	c, err := dial(db.path, "ro")
	if err != nil {
		return db.fault("open", err)
	}
	_, err = db.version(ctx, c, steps)
	return db.fault("open", errors.Join(err, c.close()))
}

// version returns the version of the schema, 0 for an empty file, and refuses
// what is no store of ours or is newer than this program.
func (db *DB) version(ctx context.Context, c *conn, steps []migration) (int, error) {
	var version, app, tables int64
	err := patiently(ctx, func() error {
		// One statement, so that another program that makes the store right now is
		// seen before it or after it, not in between.
		row, err := c.one("SELECT user_version, application_id, (SELECT count(*) FROM sqlite_schema) FROM pragma_user_version, pragma_application_id")
		if err == nil {
			version, app, tables = num(row[0]), num(row[1]), num(row[2])
		}
		return err
	})
	switch {
	case err != nil:
		return 0, err
	case app == 0 && version == 0 && tables == 0:
		return 0, nil
	case app != mark:
		return 0, db.broken("open", "it is a SQLite database of another program", "name another file; nothing was changed", errForeign)
	case version > int64(len(steps)):
		return 0, db.broken("open", fmt.Sprintf("it was written by a newer program: its schema is version %d, this program knows %d", version, len(steps)),
			"use the newer program; nothing was changed", errNewer)
	}
	return int(version), nil
}

var (
	errForeign = errors.New("not a store of Uzda")
	errNewer   = errors.New("a newer schema")
	errOlder   = errors.New("an older schema")
	errDrift   = errors.New("the schema is not the one of its version")
)

// useLog switches a file to write-ahead logging, which it remembers.
func (db *DB) useLog(ctx context.Context, c *conn) error {
	if db.path == Memory {
		return nil
	}
	return patiently(ctx, func() error {
		row, err := c.one("PRAGMA journal_mode")
		if err != nil || text(row[0]) == "wal" {
			return err
		}
		row, err = c.one("PRAGMA journal_mode = WAL")
		if err == nil && text(row[0]) != "wal" {
			db.o.Warn(fmt.Sprintf("store %s: this file system has no shared memory for a write-ahead log: it works, but readers and writers wait for each other", db.path))
		}
		return err
	})
}

// upgrade brings a store to the version of this program, each step in one
// transaction, after a copy was made of a store that is not new.
func (db *DB) upgrade(ctx context.Context, c *conn, version int, steps []migration) error {
	if version > 0 {
		// One process at a time, so that the copy is of the store before.
		lock, err := db.locks.take(ctx, "upgrade")
		if err != nil {
			return db.broken("upgrade", "another process upgrades it: "+err.Error(), "wait for it, or end it", err)
		}
		defer func() { _ = lock.drop() }() // else the end of the process frees it
		if version, err = db.version(ctx, c, steps); err != nil {
			return err
		}
		if version == len(steps) {
			return nil
		}
		kept, err := db.copyBefore(ctx, c, version)
		if err != nil {
			return fmt.Errorf("copy the store before the upgrade from version %d: %w", version, err)
		}
		db.o.Warn(fmt.Sprintf("store %s: upgrading from version %d to %d; the copy of before is %s", db.path, version, len(steps), kept))
	}
	for _, step := range steps {
		if err := db.step(ctx, c, step); err != nil {
			return db.broken("upgrade", fmt.Sprintf("step %s: %v", step.name, db.fault("upgrade", err)),
				fmt.Sprintf("the store is still at version %d and can be used by the older program", step.version-1), err)
		}
	}
	return nil
}

// step runs one migration, if no other process has done so already.
func (db *DB) step(ctx context.Context, c *conn, step migration) (err error) {
	if err := patiently(ctx, func() error { return c.script(ctx, "BEGIN IMMEDIATE") }); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = c.script(context.WithoutCancel(ctx), "ROLLBACK")
		}
	}()
	row, err := c.one("PRAGMA user_version")
	if err != nil {
		return err
	}
	if num(row[0]) < int64(step.version) {
		if err := c.script(ctx, step.sql); err != nil {
			return err
		}
		if err := c.script(ctx, fmt.Sprintf("PRAGMA user_version = %d; PRAGMA application_id = %d", step.version, mark)); err != nil {
			return err
		}
	}
	return patiently(ctx, func() error { return c.script(ctx, "COMMIT") })
}

// copyBefore puts a copy of the store beside it and returns its path.
func (db *DB) copyBefore(ctx context.Context, c *conn, version int) (string, error) {
	to := fmt.Sprintf("%s.v%d-%s.bak", db.path, version, db.o.Now().UTC().Format("20060102T150405Z"))
	half := db.path + ".bak.tmp" // what an interrupted copy leaves is replaced by the next
	if err := os.Remove(half); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	if err := patiently(ctx, func() error { return c.script(ctx, "VACUUM INTO ?", half) }); err != nil {
		os.Remove(half)
		return "", err
	}
	if err := syncFile(half); err != nil {
		return "", err
	}
	if err := os.Chmod(half, 0o600); err != nil {
		return "", err
	}
	return to, os.Rename(half, to)
}

func syncFile(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// patiently repeats fn while another connection has what it needs.
func patiently(ctx context.Context, fn func() error) error {
	start := time.Now()
	for {
		err := fn()
		if !isBusy(err) || time.Since(start) > patience {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Millisecond + rand.N(5*time.Millisecond)):
		}
	}
}

// drift compares the tables and columns with those that the migrations make.
func (db *DB) drift(ctx context.Context, c *conn, steps []migration) error {
	ref, err := dial(Memory, "rwc")
	if err != nil {
		return err
	}
	defer func() { _ = ref.close() }()
	for _, s := range steps {
		if err := ref.script(ctx, s.sql); err != nil {
			return fmt.Errorf("migration %s: %w", s.name, err)
		}
	}
	want, err := columns(ref)
	if err != nil {
		return err
	}
	var have map[string]bool
	if err := patiently(ctx, func() error { have, err = columns(c); return err }); err != nil {
		return err
	}
	var missing []string
	for name := range want {
		table, _, isColumn := strings.Cut(name, ".")
		if !have[name] && (!isColumn || have[table]) {
			missing = append(missing, name)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	sort.Strings(missing)
	return db.broken("open", fmt.Sprintf("its schema is version %d but lacks %s", len(steps), strings.Join(missing, ", ")),
		"something else has changed the file: put a backup in its place, or add what is missing by hand", errDrift)
}

// columns returns the names "table" and "table.column" of a database.
func columns(c *conn) (map[string]bool, error) {
	out := map[string]bool{}
	err := c.each("SELECT m.name, i.name FROM sqlite_schema m, pragma_table_info(m.name) i WHERE m.type = 'table'", nil,
		func(row []driver.Value) error {
			out[text(row[0])], out[text(row[0])+"."+text(row[1])] = true, true
			return nil
		})
	return out, err
}
