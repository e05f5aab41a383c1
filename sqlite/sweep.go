package sqlite

import (
	"context"
	"database/sql/driver"
	"encoding/hex"

	"github.com/uzda-dev/uzda"
)

const (
	sqlRecent    = `SELECT at FROM recent WHERE tenant = ? AND hash = ?`
	sqlSetRecent = `INSERT INTO recent (tenant, hash, at) VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET at = excluded.at`

	sqlOldBlobs = `SELECT hash, size FROM blob WHERE tenant = ?1 AND part = 0
		AND NOT EXISTS (SELECT 1 FROM recent r WHERE r.tenant = ?1 AND r.hash = blob.hash AND r.at > ?2)`
	sqlDropBlob = `DELETE FROM blob WHERE tenant = ?1 AND hash = ?2
		AND NOT EXISTS (SELECT 1 FROM recent r WHERE r.tenant = ?1 AND r.hash = ?2 AND r.at > ?3)`
	sqlDropRecent = `DELETE FROM recent WHERE tenant = ? AND at <= ?`

	sqlBodies = `SELECT id, body FROM event WHERE id > ? AND +tenant = ? ORDER BY id LIMIT 256` // see sqlNewEvents

	// sweepBytes is about how many bytes of blobs go in one transaction, so that
	// nobody waits long for it, and the log stays small.
	sweepBytes = 32 << 20
)

// touch notes that a blob was put: the event that names it comes later.
func (db *DB) touch(c *conn, hash string) error {
	key, err := hex.DecodeString(hash)
	if err != nil {
		return err
	}
	now := db.o.Now()
	row, err := c.one(sqlRecent, db.o.Tenant, key)
	if err != nil || row != nil && num(row[0]) > micros(now.Add(-uzda.BlobFresh)) {
		return err
	}
	_, err = c.exec(sqlSetRecent, db.o.Tenant, key, micros(now))
	return err
}

// Sweep removes the blobs that no event names. It reads the journals while others
// write, and in the transactions that remove only what was appended since: an
// append stores its blobs and its events in one.
func (db *DB) Sweep(ctx context.Context) (int64, error) {
	s := sweep{db: db, limit: micros(db.o.Now().Add(-uzda.BlobGrace)), blobs: map[string]int64{}}
	freed, err := s.run(ctx)
	return freed, db.fault("remove blobs from", err)
}

// sweep is one look for blobs that nothing names.
type sweep struct {
	db    *DB
	limit int64            // blobs that were put after it stay
	blobs map[string]int64 // sizes by hash, of those that nothing has named so far
	last  int64            // the row of event up to which bodies were read
}

func (s *sweep) run(ctx context.Context) (freed int64, err error) {
	err = s.db.read(ctx, func(c *conn) error {
		return c.each(sqlOldBlobs, []any{s.db.o.Tenant, s.limit}, func(row []driver.Value) error {
			s.blobs[hex.EncodeToString(data(row[0]))] = num(row[1])
			return nil
		})
	})
	for more := true; more && err == nil && len(s.blobs) > 0; {
		if err = ctx.Err(); err != nil {
			break
		}
		err = s.db.read(ctx, func(c *conn) error {
			last, err := s.spare(c, s.last)
			more, s.last = last > s.last, last
			return err
		})
	}
	for err == nil && len(s.blobs) > 0 {
		n, e := s.drop(ctx)
		freed, err = freed+n, e
	}
	if err == nil {
		// The log is cut back too: with what was removed it has grown.
		err = s.db.write(ctx, heavy, func(c *conn) error {
			_, err := c.exec(sqlDropRecent, s.db.o.Tenant, s.limit)
			return err
		})
	}
	return freed, err
}

// spare reads bodies after a row, and takes what they name off the list. It
// returns the last row that it read.
func (s *sweep) spare(c *conn, after int64) (last int64, err error) {
	last = after
	err = c.each(sqlBodies, []any{after, s.db.o.Tenant}, func(row []driver.Value) error {
		last = num(row[0])
		for hash := range uzda.BlobsIn(data(row[1])) {
			delete(s.blobs, hash)
		}
		return nil
	})
	return last, err
}

// drop removes some of the blobs that are left.
func (s *sweep) drop(ctx context.Context) (freed int64, err error) {
	var gone []string
	last := s.last
	err = s.db.write(ctx, sweepBytes, func(c *conn) error {
		gone, freed, last = gone[:0], 0, s.last
		for more := true; more; {
			next, err := s.spare(c, last)
			if err != nil {
				return err
			}
			more, last = next > last, next
		}
		var bytes int64
		for hash, size := range s.blobs {
			if len(gone) == 1000 || bytes > sweepBytes {
				break
			}
			key, err := hex.DecodeString(hash)
			if err != nil {
				return err
			}
			n, err := c.exec(sqlDropBlob, s.db.o.Tenant, key, s.limit)
			if err != nil {
				return err
			}
			if gone, bytes = append(gone, hash), bytes+size; n > 0 {
				freed += size
			}
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	s.last = last
	for _, hash := range gone {
		delete(s.blobs, hash)
	}
	return freed, nil
}
