package sqlite

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/uzda-dev/uzda"
)

const (
	sqlLease = `SELECT epoch, holder, lock, since, until FROM lease WHERE tenant = ? AND session = ?`

	sqlAcquire = `INSERT INTO lease (tenant, session, epoch, holder, lock, since, until) VALUES (?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT DO UPDATE SET epoch = excluded.epoch, holder = excluded.holder, lock = excluded.lock,
			since = excluded.since, until = excluded.until`

	sqlRenew = `UPDATE lease SET until = ? WHERE tenant = ? AND session = ? AND epoch = ? AND until <> 0`

	// of a process that has ended, whatever the tenant
	sqlBury = `UPDATE lease SET until = 0 WHERE lock = ? AND until <> 0`

	// of this handle; with the session, since a search by lock alone reads all leases
	sqlLetGo = `UPDATE lease SET until = 0 WHERE tenant = ? AND session = ? AND lock = ? AND until <> 0`

	sqlRelease = `UPDATE lease SET until = 0 WHERE tenant = ? AND session = ? AND epoch = ?`
)

// Acquire begins a higher epoch. A lease that holds is free when the process
// that has it is gone, which its lock file tells, or when it has expired.
func (db *DB) Acquire(ctx context.Context, id uzda.SessionID, holder string) (epoch int64, err error) {
	if err := id.Check(); err != nil {
		return 0, badArgument{err}
	}
	doing := "acquire session " + string(id) + " in"
	lock, err := db.lock(ctx)
	if err != nil {
		return 0, db.fault(doing, err)
	}
	dead, before := "", db.expect(id)
	err = db.write(ctx, 0, func(c *conn) error {
		row, err := c.one(sqlLease, db.o.Tenant, string(id))
		if err != nil {
			return err
		}
		now := db.o.Now()
		epoch, dead = 1, ""
		if row != nil {
			epoch = num(row[0]) + 1
			if num(row[4]) > micros(now) {
				if dead = text(row[2]); !db.gone(dead) {
					return &uzda.Busy{Session: id, Holder: text(row[1]), Since: fromMicros(num(row[3]))}
				}
				if _, err := c.exec(sqlBury, dead); err != nil {
					return err
				}
			}
		}
		_, err = c.exec(sqlAcquire, db.o.Tenant, string(id), epoch, holder, lock, micros(now), micros(now.Add(db.o.LeaseTTL)))
		return err
	})
	var busy *uzda.Busy
	if errors.As(err, &busy) && !before {
		db.lost(id, 0)
	}
	if err != nil {
		return 0, db.fault(doing, err)
	}
	db.won(id, epoch)
	if dead != "" {
		db.locks.remove(dead)
	}
	return epoch, nil
}

// lock returns the name of this handle's lock file. When it makes it, it buries
// the processes that have ended: their leases, then their files.
func (db *DB) lock(ctx context.Context) (string, error) {
	if db.locks == nil {
		return "", nil
	}
	name, made, err := db.locks.mine()
	if err != nil {
		return "", db.broken("take a lease in", "its lock file cannot be made: "+err.Error(),
			"check that this user may write the folder "+db.locks.dir, err)
	}
	if !made {
		return name, nil
	}
	graves := db.locks.graves()
	if len(graves) == 0 {
		return name, nil
	}
	err = db.write(ctx, 0, func(c *conn) error {
		for _, g := range graves {
			if _, err := c.exec(sqlBury, g.name); err != nil {
				return err
			}
		}
		return nil
	})
	for _, g := range graves {
		if err == nil {
			_ = g.drop() // it is only to tidy up
		} else {
			_ = g.file.Unlock()
		}
	}
	return name, err
}

// gone says whether the process that has a lock file locked has ended.
func (db *DB) gone(lock string) bool { return db.locks != nil && db.locks.dead(lock) }

// letGo frees the lock of this handle and with it its leases.
func (db *DB) letGo() error {
	if db.locks == nil {
		return nil
	}
	var err error
	if name := db.locks.held(); name != "" {
		err = db.write(context.Background(), 0, func(c *conn) error {
			for _, id := range db.leases() { // here: all that was acquired before is noted
				if _, err := c.exec(sqlLetGo, db.o.Tenant, string(id), name); err != nil {
					return err
				}
			}
			return nil
		})
	}
	_ = db.locks.close(err != nil) // the end of the process frees it in any case
	if errors.Is(err, errClosed) {
		return nil
	}
	return err
}

// Renew prolongs the lease, also one that has expired but that nobody has taken.
func (db *DB) Renew(ctx context.Context, id uzda.SessionID, epoch int64) error {
	until := db.o.Now().Add(db.o.LeaseTTL)
	return db.lease(ctx, "renew", id, epoch, func(c *conn) (int64, error) {
		return c.exec(sqlRenew, micros(until), db.o.Tenant, string(id), epoch)
	})
}

// Release ends the lease. One that is no longer ours is left alone.
func (db *DB) Release(ctx context.Context, id uzda.SessionID, epoch int64) error {
	err := db.lease(ctx, "release", id, epoch, func(c *conn) (int64, error) {
		_, err := c.exec(sqlRelease, db.o.Tenant, string(id), epoch)
		return 1, err
	})
	if err == nil {
		db.lost(id, epoch)
	}
	return err
}

// Held says who has the lease of a session, or nil if nobody has it: it was never
// taken, was given back or has expired, or its process is gone. It changes nothing, and
// what it says may be over a moment later.
func (db *DB) Held(ctx context.Context, id uzda.SessionID) (*uzda.Busy, error) {
	if err := id.Check(); err != nil {
		return nil, badArgument{err}
	}
	var busy *uzda.Busy
	err := db.read(ctx, func(c *conn) error {
		row, err := c.one(sqlLease, db.o.Tenant, string(id))
		if busy = nil; err == nil && row != nil && num(row[4]) > micros(db.o.Now()) && !db.gone(text(row[2])) {
			busy = &uzda.Busy{Session: id, Holder: text(row[1]), Since: fromMicros(num(row[3]))}
		}
		return err
	})
	return busy, db.fault("look for a lease of session "+string(id)+" in", err)
}

// expect notes that a lease is about to be taken, and says whether one of the session
// was noted before: a write may be stored though it was reported as failed.
func (db *DB) expect(id uzda.SessionID) (before bool) {
	db.mu.Lock()
	defer db.mu.Unlock()
	_, before = db.mine[id]
	if !before {
		db.mine[id] = 0
	}
	return before
}

// won notes a lease.
func (db *DB) won(id uzda.SessionID, epoch int64) {
	db.mu.Lock()
	defer db.mu.Unlock()
	db.mine[id] = max(db.mine[id], epoch)
}

// lost forgets a lease, unless there is a later one.
func (db *DB) lost(id uzda.SessionID, epoch int64) {
	db.mu.Lock()
	defer db.mu.Unlock()
	if db.mine[id] <= epoch {
		delete(db.mine, id)
	}
}

// leases are the sessions that this handle may have leases of.
func (db *DB) leases() []uzda.SessionID {
	db.mu.Lock()
	defer db.mu.Unlock()
	return slices.Collect(maps.Keys(db.mine))
}

func (db *DB) lease(ctx context.Context, what string, id uzda.SessionID, epoch int64, change func(c *conn) (int64, error)) error {
	err := db.write(ctx, 0, func(c *conn) error {
		n, err := change(c)
		if err == nil && n == 0 {
			err = fmt.Errorf("%s epoch %d of session %s: %w", what, epoch, id, uzda.ErrFenced)
		}
		return err
	})
	return db.fault(what+" session "+string(id)+" in", err)
}

// current checks that an epoch is the one that holds.
func current(id uzda.SessionID, epoch, now, until int64) error {
	switch {
	case epoch == 0:
		return nil // anyone
	case epoch != now:
		return fmt.Errorf("append to session %s as epoch %d, now %d: %w", id, epoch, now, uzda.ErrFenced)
	case until == 0:
		return fmt.Errorf("append to session %s as epoch %d, which was released: %w", id, epoch, uzda.ErrFenced)
	}
	return nil
}
