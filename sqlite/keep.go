package sqlite

import (
	"context"

	"github.com/uzda-dev/uzda"
)

const (
	sqlKeep = `INSERT INTO kept (tenant, session, data) VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET data = excluded.data`
	sqlKept = `SELECT data FROM kept WHERE tenant = ? AND session = ?`
)

// Keep stores a session's checkpoint in place of the one before.
func (db *DB) Keep(ctx context.Context, id uzda.SessionID, data []byte) error {
	if err := id.Check(); err != nil {
		return badArgument{err}
	}
	if data == nil {
		data = []byte{}
	}
	err := db.write(ctx, len(data), func(c *conn) error {
		_, err := c.exec(sqlKeep, db.o.Tenant, string(id), data)
		return err
	})
	return db.fault("keep a checkpoint of session "+string(id)+" in", err)
}

// Kept returns a session's checkpoint, nil if there is none.
func (db *DB) Kept(ctx context.Context, id uzda.SessionID) (out []byte, err error) {
	err = db.read(ctx, func(c *conn) error {
		row, err := c.one(sqlKept, db.o.Tenant, string(id))
		if row != nil {
			out = data(row[0])
		}
		return err
	})
	return out, db.fault("read the checkpoint of session "+string(id)+" in", err)
}
