package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"

	"github.com/uzda-dev/uzda"
)

const (
	// Every session that has anything: also those that only an index knows.
	sqlSessions = `SELECT session FROM event WHERE tenant = ?1
		UNION SELECT session FROM session WHERE tenant = ?1 UNION SELECT session FROM input WHERE tenant = ?1`
	sqlDropInputs  = `DELETE FROM input WHERE tenant = ? AND session = ? AND seq > ?`
	sqlInputOrSkip = `INSERT OR IGNORE INTO input (tenant, session, id, seq) VALUES (?, ?, ?, ?)`
	sqlSessionTip  = `SELECT head, link FROM session WHERE tenant = ? AND session = ?`
)

func (db *DB) sessions(ctx context.Context) (ids []uzda.SessionID, err error) {
	err = db.read(ctx, func(c *conn) error {
		ids = ids[:0]
		return c.each(sqlSessions, []any{db.o.Tenant}, func(row []driver.Value) error {
			ids = append(ids, uzda.SessionID(text(row[0])))
			return nil
		})
	})
	return ids, err
}

// Rebuild makes the index of sessions and of input ids again from the journals,
// and returns how many sessions it read. A journal that cannot be read keeps
// its index; the error names it.
func (db *DB) Rebuild(ctx context.Context) (int, error) {
	ids, err := db.sessions(ctx)
	if err != nil {
		return 0, db.fault("rebuild the indexes of", err)
	}
	n := 0
	var faults error
	for _, id := range ids {
		if err := ctx.Err(); err != nil {
			return n, err
		}
		if err := db.rebuild(ctx, id); err != nil {
			faults = errors.Join(faults, err)
			continue
		}
		n++
	}
	return n, faults
}

// index is what the journal of a session says that its indexes are.
type index struct {
	tip
	inputs map[string]uzda.Seq
}

func (x *index) note(n uzda.Seq, line uzda.Line, get func(string) ([]byte, error)) error {
	e, link, err := uzda.Open(line, get)
	if err != nil {
		return err
	}
	x.info.Note(e)
	x.info.Size += line.Size()
	x.head, x.link = n, link
	if id := inputID(e.Body); id != "" {
		if _, ok := x.inputs[id]; !ok {
			x.inputs[id] = n
		}
	}
	return nil
}

// rebuild reads a journal outside of a transaction, and what was appended
// meanwhile inside of the one that writes the index.
func (db *DB) rebuild(ctx context.Context, id uzda.SessionID) error {
	x := index{tip: tip{info: uzda.SessionInfo{ID: id}}, inputs: map[string]uzda.Seq{}}
	get := func(hash string) ([]byte, error) { return db.Get(ctx, hash, 0, -1) }
	for n, l := range db.lines(ctx, id, 0, true) {
		if l.err == nil {
			l.err = x.note(n, l.line, get)
		}
		if l.err != nil {
			return db.damaged(id, n, l.err)
		}
	}
	err := db.write(ctx, 0, func(c *conn) error {
		numbers, page, err := db.page(c, id, x.head)
		for len(page) > 0 && err == nil {
			for i, line := range page {
				if err := x.note(numbers[i], line, func(hash string) ([]byte, error) { return db.getBlob(c, hash, 0, -1) }); err != nil {
					return err
				}
			}
			numbers, page, err = db.page(c, id, x.head)
		}
		if err != nil {
			return err
		}
		return db.replace(c, id, x)
	})
	return db.fault("rebuild session "+string(id)+" in", err)
}

func (db *DB) replace(c *conn, id uzda.SessionID, x index) error {
	if _, err := c.exec(sqlDropInputs, db.o.Tenant, string(id), int64(-1)); err != nil {
		return err
	}
	for input, n := range x.inputs {
		if _, err := c.exec(sqlInputOrSkip, db.o.Tenant, string(id), input, int64(n)); err != nil {
			return err
		}
	}
	if x.head == 0 {
		_, err := c.exec(sqlDropSession, db.o.Tenant, string(id))
		return err
	}
	return db.insertSession(c, x.tip)
}

// Verify checks the file and walks every journal of the tenant: numbers, links,
// sums, blobs, and whether each event can be read. It reports each fault and
// goes on; its error is one that ended the walk.
func (db *DB) Verify(ctx context.Context, report func(id uzda.SessionID, seq uzda.Seq, err error)) error {
	err := db.read(ctx, func(c *conn) error {
		return c.each("PRAGMA quick_check(20)", nil, func(row []driver.Value) error {
			if s := text(row[0]); s != "ok" {
				report("", 0, db.broken("verify", s, "put a backup in its place", errDamaged))
			}
			return nil
		})
	})
	if err != nil {
		return db.fault("verify", err)
	}
	ids, err := db.sessions(ctx)
	if err != nil {
		return db.fault("verify", err)
	}
	for _, id := range ids {
		if err := db.verify(ctx, id, report); err != nil {
			return err
		}
	}
	return nil
}

func (db *DB) verify(ctx context.Context, id uzda.SessionID, report func(uzda.SessionID, uzda.Seq, error)) error {
	get := func(hash string) ([]byte, error) {
		b, err := db.Get(ctx, hash, 0, -1)
		if err == nil && uzda.Hash(b) != hash {
			err = fmt.Errorf("its bytes have another hash: %w", errDamaged)
		}
		return b, err
	}
	before, err := db.indexed(ctx, id)
	if err != nil {
		return err
	}
	var last uzda.Seq
	link := ""
	for n, l := range db.lines(ctx, id, 0, false) {
		if l.err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			report(id, n, db.damaged(id, n, l.err))
			return nil
		}
		if n != last+1 {
			report(id, last+1, fmt.Errorf("events %d to %d are missing: %w", last+1, n-1, errDamaged))
		}
		e, next, err := uzda.Open(l.line, get)
		switch {
		case err != nil:
			report(id, n, err)
		case e.Seq != n:
			report(id, n, fmt.Errorf("the event at %d says that it is %d: %w", n, e.Seq, errDamaged))
		case e.Prev != link && n == last+1:
			report(id, n, fmt.Errorf("the event does not follow the one before: %w", errDamaged))
		case n == before.head && next != before.link:
			report(id, n, fmt.Errorf("it is not the event that the index knows: %w", errDamaged))
		}
		if err := l.line.Check(); err != nil {
			report(id, n, err)
		}
		last, link = n, next
	}
	// The index is written with the events: it is never behind one that was read.
	after, err := db.indexed(ctx, id)
	switch {
	case err != nil:
		return err
	case before.head > last:
		report(id, last+1, fmt.Errorf("the journal ends at %d, the index knows %d events: %w", last, before.head, errDamaged))
	case after.head < last:
		report(id, last, fmt.Errorf("the index knows %d of %d events; rebuild it: %w", after.head, last, errDamaged))
	}
	return nil
}

// indexed returns where the index says that a journal ends.
func (db *DB) indexed(ctx context.Context, id uzda.SessionID) (t tip, err error) {
	err = db.read(ctx, func(c *conn) error {
		row, err := c.one(sqlSessionTip, db.o.Tenant, string(id))
		if row != nil {
			t.head, t.link = uzda.Seq(num(row[0])), text(row[1])
		}
		return err
	})
	return t, db.fault("verify", err)
}
