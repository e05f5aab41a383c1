package shop

import (
	"context"
	"database/sql"
	"net/url"
	"path/filepath"
	"strings"

	_ "modernc.org/sqlite" // the driver
)

func write(ctx context.Context, path string, c content) error {
	abs, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	p := filepath.ToSlash(abs)
	if !strings.HasPrefix(p, "/") {
		p = "/" + p
	}
	// the file is new and nobody sees it before it is whole
	const fast = "?_pragma=journal_mode(off)&_pragma=synchronous(off)&_pragma=locking_mode(exclusive)"
	db, err := sql.Open("sqlite", "file://"+(&url.URL{Path: p}).EscapedPath()+fast)
	if err != nil {
		return err
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if err := fill(ctx, tx, c); err != nil {
		return err
	}
	if err := tx.Commit(); err != nil {
		return err
	}
	return db.Close()
}

func fill(ctx context.Context, tx *sql.Tx, c content) error {
	if _, err := tx.ExecContext(ctx, tables); err != nil {
		return err
	}
	for _, t := range []struct {
		into string
		rows [][]any
	}{
		{"customers", rowsOf(c.customers, func(x customer) []any {
			return []any{x.id, x.name, x.email, x.city, x.country, x.joinedOn, orNull(x.closedOn)}
		})},
		{"products", rowsOf(c.products, func(x product) []any {
			return []any{x.id, x.sku, x.name, x.category, x.price, x.active}
		})},
		{"orders", rowsOf(c.orders, func(x order) []any {
			return []any{x.id, x.number, x.customer, x.placedAt, x.status, x.currency, x.total, orNull(x.deletedAt)}
		})},
		{"order_lines", rowsOf(c.lines, func(x line) []any {
			return []any{x.id, x.order, x.product, x.quantity, x.price}
		})},
	} {
		if err := insert(ctx, tx, t.into, t.rows); err != nil {
			return err
		}
	}
	_, err := tx.ExecContext(ctx, indexes)
	return err
}

func rowsOf[T any](from []T, row func(T) []any) [][]any {
	out := make([][]any, len(from))
	for i, x := range from {
		out[i] = row(x)
	}
	return out
}

func orNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// insert writes many rows a statement, which is several times faster than one.
func insert(ctx context.Context, tx *sql.Tx, into string, rows [][]any) error {
	const batch = 100
	for len(rows) > 0 {
		n := min(batch, len(rows))
		one := "(" + strings.TrimSuffix(strings.Repeat("?,", len(rows[0])), ",") + ")"
		q := "INSERT INTO " + into + " VALUES " + strings.TrimSuffix(strings.Repeat(one+",", n), ",")
		var args []any
		for _, r := range rows[:n] {
			args = append(args, r...)
		}
		if _, err := tx.ExecContext(ctx, q, args...); err != nil {
			return err
		}
		rows = rows[n:]
	}
	return nil
}
