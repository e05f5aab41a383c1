package sqlite

import (
	"context"
	"encoding/json"
	"fmt"
	"math"

	"github.com/uzda-dev/uzda"
)

const (
	sqlHold       = `SELECT accounts, amount, spent FROM hold WHERE tenant = ? AND id = ?`
	sqlInsertHold = `INSERT INTO hold (tenant, id, accounts, amount) VALUES (?, ?, ?, ?)`
	sqlSettle     = `UPDATE hold SET spent = ? WHERE tenant = ? AND id = ?`
	sqlAccount    = `SELECT settled, held FROM account WHERE tenant = ? AND name = ?`
	sqlCharge     = `INSERT INTO account (tenant, name, settled, held) VALUES (?, ?, ?, ?)
		ON CONFLICT DO UPDATE SET settled = settled + excluded.settled, held = held + excluded.held`
)

// Reserve holds h in all its accounts, or in none.
func (db *DB) Reserve(ctx context.Context, h uzda.Hold) error {
	err := db.write(ctx, 0, func(c *conn) error { return db.reserve(c, h) })
	return db.fault("reserve "+h.ID+" in", err)
}

// Settle replaces a hold by what was spent; only the first time counts.
func (db *DB) Settle(ctx context.Context, s uzda.Settlement) error {
	err := db.write(ctx, 0, func(c *conn) error { return db.settle(c, s) })
	return db.fault("settle "+s.ID+" in", err)
}

// Spent is what an account has settled, and what is held in it.
func (db *DB) Spent(ctx context.Context, account string) (settled, held uzda.Money, err error) {
	err = db.read(ctx, func(c *conn) (err error) {
		settled, held, err = db.spent(c, account)
		return err
	})
	return settled, held, db.fault("read account "+account+" in", err)
}

func (db *DB) spent(c *conn, account string) (settled, held uzda.Money, err error) {
	row, err := c.one(sqlAccount, db.o.Tenant, account)
	if err != nil || row == nil {
		return 0, 0, err
	}
	return uzda.Money(num(row[0])), uzda.Money(num(row[1])), nil
}

// reserve is Reserve inside a transaction, which the caller rolls back on an error.
func (db *DB) reserve(c *conn, h uzda.Hold) error {
	if h.ID == "" || h.Amount < 0 {
		return badArgument{fmt.Errorf("reserve %s as hold %q: want an id, and an amount of at least 0", h.Amount, h.ID)}
	}
	row, err := c.one(sqlHold, db.o.Tenant, h.ID)
	if err != nil {
		return err
	}
	if row != nil {
		return badArgument{fmt.Errorf("reserve %s: there is a hold with this id", h.ID)}
	}
	names := make([]string, len(h.Accounts))
	for i, a := range h.Accounts {
		names[i] = a.Name
		settled, held, err := db.spent(c, a.Name)
		if err != nil {
			return err
		}
		full := math.MaxInt64 - h.Amount - held
		if settled > full || a.Limit > 0 && settled+held+h.Amount > a.Limit {
			return &uzda.OverBudget{Account: a, Settled: settled, Held: held, Want: h.Amount}
		}
		if _, err := c.exec(sqlCharge, db.o.Tenant, a.Name, int64(0), int64(h.Amount)); err != nil {
			return err
		}
	}
	list, err := json.Marshal(names)
	if err != nil {
		return err
	}
	_, err = c.exec(sqlInsertHold, db.o.Tenant, h.ID, string(list), int64(h.Amount))
	return err
}

// settle is Settle inside a transaction.
func (db *DB) settle(c *conn, s uzda.Settlement) error {
	row, err := c.one(sqlHold, db.o.Tenant, s.ID)
	if err != nil {
		return err
	}
	if row == nil {
		return fmt.Errorf("settle hold %s: %w", s.ID, uzda.ErrNotFound)
	}
	if row[2] != nil {
		return nil
	}
	if s.Spent < 0 {
		return badArgument{fmt.Errorf("settle hold %s: %s is less than nothing", s.ID, s.Spent)}
	}
	var names []string
	if err := json.Unmarshal([]byte(text(row[0])), &names); err != nil {
		return fmt.Errorf("read the accounts of hold %s: %w", s.ID, err)
	}
	for _, name := range names {
		if _, err := c.exec(sqlCharge, db.o.Tenant, name, int64(s.Spent), -num(row[1])); err != nil {
			return err
		}
	}
	_, err = c.exec(sqlSettle, int64(s.Spent), db.o.Tenant, s.ID)
	return err
}
