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
	sqlInsertHold = `INSERT INTO hold (tenant, id, accounts, amount) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING`
	sqlSettle     = `UPDATE hold SET spent = ? WHERE tenant = ? AND id = ?`
	sqlAccount    = `SELECT settled, held FROM account WHERE tenant = ? AND name = ?`
	sqlCharge     = `INSERT INTO account (tenant, name, settled, held) VALUES (?, ?, ?, ?)
		ON CONFLICT DO UPDATE SET settled = settled + excluded.settled, held = held + excluded.held`

	// Nothing changes where the amount does not fit under the limit. No sum is
	// taken that could be larger than an integer.
	sqlReserve = `INSERT INTO account (tenant, name, settled, held) VALUES (?1, ?2, 0, ?3)
		ON CONFLICT DO UPDATE SET held = held + excluded.held WHERE ?4 - held - excluded.held >= settled`
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
	names := make([]string, len(h.Accounts))
	for i, a := range h.Accounts {
		names[i] = a.Name
	}
	list, err := json.Marshal(names)
	if err != nil {
		return err
	}
	added, err := c.exec(sqlInsertHold, db.o.Tenant, h.ID, string(list), int64(h.Amount))
	if err != nil {
		return err
	}
	if added == 0 {
		return badArgument{fmt.Errorf("reserve %s: there is a hold with this id", h.ID)}
	}
	for _, a := range h.Accounts {
		if err := db.charge(c, a, h.Amount); err != nil {
			return err
		}
	}
	return nil
}

// charge holds an amount in an account, if it fits.
func (db *DB) charge(c *conn, a uzda.Account, amount uzda.Money) error {
	limit := a.Limit
	if limit <= 0 {
		limit = math.MaxInt64
	}
	if amount <= limit {
		n, err := c.exec(sqlReserve, db.o.Tenant, a.Name, int64(amount), int64(limit))
		if err != nil || n > 0 {
			return err
		}
	}
	settled, held, err := db.spent(c, a.Name)
	if err != nil {
		return err
	}
	return &uzda.OverBudget{Account: a, Settled: settled, Held: held, Want: amount}
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
