package sqlite

import (
	"context"
	"errors"
	"os"

	"github.com/uzda-dev/uzda"
)

var (
	_ uzda.Remover  = (*DB)(nil)
	_ uzda.Sizer    = (*DB)(nil)
	_ uzda.Shrinker = (*DB)(nil)
)

const sqlPages = `SELECT page_count, freelist_count, page_size FROM pragma_page_count, pragma_freelist_count, pragma_page_size`

// Size is that of the file and its log, and of the pages in use.
func (db *DB) Size(ctx context.Context) (disk, used int64, err error) {
	err = db.read(ctx, func(c *conn) error {
		row, err := c.one(sqlPages)
		if err != nil {
			return err
		}
		disk, used = num(row[0])*num(row[2]), (num(row[0])-num(row[1]))*num(row[2])
		return nil
	})
	if err != nil {
		return 0, 0, db.fault("measure", err)
	}
	if db.path == Memory {
		return disk, used, nil
	}
	disk = 0
	for _, ext := range []string{"", "-wal"} {
		if info, err := os.Stat(db.path + ext); err == nil {
			disk += info.Size()
		}
	}
	return max(disk, used), used, nil
}

// Shrink writes the file anew without its free pages. Readers go on; who writes
// waits until it is done, which is why it does nothing while others run sessions.
func (db *DB) Shrink(ctx context.Context) error {
	return db.fault("shrink", db.shrink(ctx))
}

func (db *DB) shrink(ctx context.Context) (err error) {
	if db.path == Memory {
		return db.write(ctx, 0, func(*conn) error { return nil }) // it ends with its handle
	}
	if db.locks.others() {
		return uzda.ErrInUse
	}
	// A connection of its own: what is copied goes to a file, not into memory.
	c, err := dial(db.path, "rw", "busy_timeout(0)", "synchronous(FULL)", "temp_store(FILE)", "journal_size_limit(4194304)")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.close()) }()
	if err := patiently(ctx, func() error { return c.script(ctx, "VACUUM") }); err != nil {
		return err
	}
	// Now the log holds the file. If somebody still reads, the next one cuts it back.
	_, _ = c.one("PRAGMA wal_checkpoint(TRUNCATE)")
	return nil
}
