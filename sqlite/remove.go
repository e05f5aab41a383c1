package sqlite

import (
	"context"
	"database/sql/driver"
	"fmt"

	"github.com/uzda-dev/uzda"
)

const (
	// A session and all that it began, itself first.
	sqlTree = `WITH RECURSIVE tree(id) AS (
			SELECT ?2
			UNION SELECT s.session FROM tree t CROSS JOIN session s ON s.tenant = ?1 AND s.parent = t.id AND s.parent <> '')
		SELECT id FROM tree`

	// The row with the highest id stays without what it said: ids only grow, and who
	// waits for events looks after the last.
	sqlKeepLast = `UPDATE event SET tenant = '', session = '', seq = id, head = x'', body = x''
		WHERE id = (SELECT max(id) FROM event) AND tenant = ? AND session = ?`
	sqlDropLast = `DELETE FROM event WHERE tenant = '' AND id < (SELECT max(id) FROM event)`

	sqlDropEvents   = `DELETE FROM event WHERE tenant = ? AND session = ?`
	sqlDropKept     = `DELETE FROM kept WHERE tenant = ? AND session = ?`
	sqlDropHolds    = `DELETE FROM hold WHERE tenant = ? AND id > ? AND id < ?`
	sqlDropAccount  = `DELETE FROM account WHERE tenant = ? AND name = ?`
	sqlDropAccounts = `DELETE FROM account WHERE tenant = ? AND name > ? AND name < ?`
	sqlOrphanOnce   = `UPDATE once SET session = '' WHERE tenant = ? AND session = ?`
	sqlEndLease     = `UPDATE lease SET epoch = epoch + 1, until = 0 WHERE tenant = ? AND session = ?`
)

// Remove removes a session and all that it began, in one transaction.
func (db *DB) Remove(ctx context.Context, id uzda.SessionID, epoch int64, seen map[uzda.SessionID]uzda.Seq) (gone []uzda.SessionID, err error) {
	if err := id.Check(); err != nil {
		return nil, badArgument{err}
	}
	err = db.write(ctx, 0, func(c *conn) error {
		gone, err = db.remove(c, id, epoch, seen)
		return err
	})
	if err != nil {
		return nil, db.fault("remove session "+string(id)+" from", err)
	}
	db.lost(id, epoch)
	db.mu.Lock()
	for _, id := range gone {
		delete(db.known, id)
	}
	db.mu.Unlock()
	return gone, nil
}

func (db *DB) remove(c *conn, id uzda.SessionID, epoch int64, seen map[uzda.SessionID]uzda.Seq) ([]uzda.SessionID, error) {
	row, err := c.one(sqlLease, db.o.Tenant, string(id))
	if err != nil {
		return nil, err
	}
	if row == nil || num(row[0]) != epoch || num(row[4]) == 0 {
		return nil, fmt.Errorf("remove session %s as epoch %d: %w", id, epoch, uzda.ErrFenced)
	}
	if err := db.alone(c, id); err != nil {
		return nil, err
	}
	tree, err := db.tree(c, id)
	if err != nil {
		return nil, err
	}
	for _, one := range tree[1:] {
		if err := db.unheld(c, one); err != nil {
			return nil, err
		}
	}
	for _, one := range tree {
		row, err := c.one(sqlTip, db.o.Tenant, string(one))
		if err == nil {
			err = uzda.Unseen(seen, one, uzda.Seq(num(row[0])))
		}
		if err != nil {
			return nil, err
		}
		if err := db.drop(c, one); err != nil {
			return nil, err
		}
	}
	_, err = c.exec(sqlDropLast)
	return tree, err
}

// alone checks that a session is there, and that the one that began it is not.
func (db *DB) alone(c *conn, id uzda.SessionID) error {
	info, err := db.info(c, id)
	if err != nil {
		return err
	}
	if info.Head == 0 { // an index can be wrong: then the journal tells
		if row, err := c.one(sqlEvents, db.o.Tenant, string(id), int64(0)); err != nil || row == nil {
			return orElse(err, fmt.Errorf("remove session %s: %w", id, uzda.ErrNotFound))
		}
	}
	if info.Parent == "" {
		return nil
	}
	row, err := c.one(sqlHead, db.o.Tenant, string(info.Parent))
	if err != nil || row == nil {
		return err
	}
	return fmt.Errorf("remove session %s, which session %s began: %w", id, info.Parent, uzda.ErrChild)
}

func orElse(err, other error) error {
	if err != nil {
		return err
	}
	return other
}

func (db *DB) tree(c *conn, id uzda.SessionID) (ids []uzda.SessionID, err error) {
	err = c.each(sqlTree, []any{db.o.Tenant, string(id)}, func(row []driver.Value) error {
		ids = append(ids, uzda.SessionID(text(row[0])))
		return nil
	})
	return ids, err
}

// unheld returns *uzda.Busy if somebody runs the session.
func (db *DB) unheld(c *conn, id uzda.SessionID) error {
	row, err := c.one(sqlLease, db.o.Tenant, string(id))
	if err != nil || row == nil {
		return err
	}
	if num(row[4]) > micros(db.o.Now()) && !db.gone(text(row[2])) {
		return &uzda.Busy{Session: id, Holder: text(row[1]), Since: fromMicros(num(row[3]))}
	}
	return nil
}

// drop removes all of one session but its epoch and its once-keys, which from then on
// nobody holds: a session of the same id does not take them for its own.
func (db *DB) drop(c *conn, id uzda.SessionID) error {
	tenant, name := db.o.Tenant, string(id)
	for _, s := range []struct {
		query string
		args  []any
	}{
		{sqlKeepLast, []any{tenant, name}},
		{sqlDropEvents, []any{tenant, name}},
		{sqlDropInputs, []any{tenant, name, int64(-1)}},
		{sqlDropSession, []any{tenant, name}},
		{sqlDropKept, []any{tenant, name}},
		// uzda.SessionID.Owns, as ranges: "0" comes after "/".
		{sqlDropHolds, []any{tenant, name + "/", name + "0"}},
		{sqlDropAccounts, []any{tenant, "turn:" + name + "/", "turn:" + name + "0"}},
		{sqlDropAccount, []any{tenant, "session:" + name}},
		{sqlOrphanOnce, []any{tenant, name}},
		{sqlEndLease, []any{tenant, name}},
	} {
		if _, err := c.exec(s.query, s.args...); err != nil {
			return err
		}
	}
	return nil
}
