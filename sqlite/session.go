package sqlite

import (
	"context"
	"database/sql/driver"
	"iter"

	"github.com/uzda-dev/uzda"
)

const (
	infoColumns = `session, agent, parent, model, title, status, reason, head, created, updated, steps, tokens, cost, bytes`

	sqlInfo = `SELECT ` + infoColumns + ` FROM session WHERE tenant = ? AND session = ?`
	sqlList = `SELECT ` + infoColumns + ` FROM session WHERE tenant = ? ORDER BY updated DESC, session`

	sqlInsertSession = `INSERT OR REPLACE INTO session
		(tenant, session, head, link, status, reason, updated, steps, tokens, cost, bytes, agent, parent, model, title, created)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`

	// What every append changes.
	sqlUpdateSession = `UPDATE session SET head = ?3, link = ?4, status = ?5, reason = ?6, updated = ?7, steps = ?8, tokens = ?9, cost = ?10, bytes = ?11
		WHERE tenant = ?1 AND session = ?2`

	// What few do. It is left alone by the others, so that they do not bring back
	// a title that was erased.
	sqlNameSession = `UPDATE session SET agent = ?3, parent = ?4, model = ?5, title = ?6 WHERE tenant = ?1 AND session = ?2`

	sqlDropSession = `DELETE FROM session WHERE tenant = ? AND session = ?`
)

// info reads a session's line from the index; the zero line, with its id, if
// there is none.
func (db *DB) info(c *conn, id uzda.SessionID) (uzda.SessionInfo, error) {
	row, err := c.one(sqlInfo, db.o.Tenant, string(id))
	if err != nil || row == nil {
		return uzda.SessionInfo{ID: id}, err
	}
	return infoOf(row), nil
}

func infoOf(row []driver.Value) uzda.SessionInfo {
	return uzda.SessionInfo{
		ID:      uzda.SessionID(text(row[0])),
		Agent:   text(row[1]),
		Parent:  uzda.SessionID(text(row[2])),
		Model:   text(row[3]),
		Title:   text(row[4]),
		Status:  text(row[5]),
		Reason:  uzda.Reason(text(row[6])),
		Head:    uzda.Seq(num(row[7])),
		Created: fromMicros(num(row[8])),
		Updated: fromMicros(num(row[9])),
		Steps:   int(num(row[10])),
		Tokens:  int(num(row[11])),
		Cost:    uzda.Money(num(row[12])),
		Size:    num(row[13]),
	}
}

func (db *DB) insertSession(c *conn, t tip) error {
	i := t.info
	_, err := c.exec(sqlInsertSession, db.o.Tenant, string(i.ID), int64(t.head), t.link,
		i.Status, string(i.Reason), micros(i.Updated), int64(i.Steps), int64(i.Tokens), int64(i.Cost), i.Size,
		i.Agent, string(i.Parent), i.Model, i.Title, micros(i.Created))
	return err
}

func (db *DB) updateSession(c *conn, before uzda.SessionInfo, t tip) error {
	i := t.info
	if _, err := c.exec(sqlUpdateSession, db.o.Tenant, string(i.ID), int64(t.head), t.link,
		i.Status, string(i.Reason), micros(i.Updated), int64(i.Steps), int64(i.Tokens), int64(i.Cost), i.Size); err != nil {
		return err
	}
	if i.Agent == before.Agent && i.Parent == before.Parent && i.Model == before.Model && i.Title == before.Title {
		return nil
	}
	_, err := c.exec(sqlNameSession, db.o.Tenant, string(i.ID), i.Agent, string(i.Parent), i.Model, i.Title)
	return err
}

// List lists the sessions of the tenant, the last changed first.
func (db *DB) List(ctx context.Context) iter.Seq2[uzda.SessionInfo, error] {
	return func(yield func(uzda.SessionInfo, error) bool) {
		var all []uzda.SessionInfo
		err := db.read(ctx, func(c *conn) error {
			all = all[:0]
			return c.each(sqlList, []any{db.o.Tenant}, func(row []driver.Value) error {
				all = append(all, infoOf(row))
				return nil
			})
		})
		if err != nil {
			yield(uzda.SessionInfo{}, db.fault("list sessions of", err))
			return
		}
		for _, s := range all {
			if !yield(s, nil) {
				return
			}
		}
	}
}
