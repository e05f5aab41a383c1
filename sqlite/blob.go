package sqlite

import (
	"context"
	"database/sql/driver"
	"encoding/hex"
	"fmt"

	"github.com/uzda-dev/uzda"
)

const (
	sqlHasBlob    = `SELECT size FROM blob WHERE tenant = ? AND hash = ? AND part = 0`
	sqlInsertBlob = `INSERT INTO blob (tenant, hash, part, size, data) VALUES (?, ?, ?, ?, ?)`
	sqlBlob       = `SELECT part, data FROM blob WHERE tenant = ? AND hash = ? AND part BETWEEN ? AND ? ORDER BY part`

	// partSize is how many bytes of a blob are in one row.
	partSize = 256 << 10
)

// Put stores data, if it is not there yet.
func (db *DB) Put(ctx context.Context, data []byte) (string, error) {
	hash := uzda.Hash(data)
	err := db.write(ctx, len(data), func(c *conn) error {
		if err := db.touch(c, hash); err != nil {
			return err
		}
		return db.putBlob(c, hash, data)
	})
	if err != nil {
		return "", db.fault(fmt.Sprintf("put a blob of %d bytes into", len(data)), err)
	}
	return hash, nil
}

func (db *DB) putBlob(c *conn, hash string, data []byte) error {
	key, err := hex.DecodeString(hash)
	if err != nil {
		return err
	}
	if row, err := c.one(sqlHasBlob, db.o.Tenant, key); err != nil || row != nil {
		return err
	}
	size := len(data)
	for part := int64(0); part == 0 || len(data) > 0; part++ {
		n := min(len(data), partSize)
		if _, err := c.exec(sqlInsertBlob, db.o.Tenant, key, part, int64(size), data[:n:n]); err != nil {
			return err
		}
		data = data[n:]
	}
	return nil
}

// Get reads a range of a blob; it reads no more than the parts that it lies in.
func (db *DB) Get(ctx context.Context, hash string, off, n int64) (out []byte, err error) {
	if off < 0 {
		return nil, badArgument{fmt.Errorf("get blob %.12s: the offset %d is negative", hash, off)}
	}
	err = db.read(ctx, func(c *conn) (err error) {
		out, err = db.getBlob(c, hash, off, n)
		return err
	})
	return out, db.fault(fmt.Sprintf("get blob %.12s from", hash), err)
}

func (db *DB) getBlob(c *conn, hash string, off, n int64) ([]byte, error) {
	key, err := hex.DecodeString(hash)
	if err != nil || len(key) != 32 {
		return nil, fmt.Errorf("blob %q: %w", uzda.Clip(hash, 80), uzda.ErrNotFound)
	}
	row, err := c.one(sqlHasBlob, db.o.Tenant, key)
	if err != nil {
		return nil, err
	}
	if row == nil {
		return nil, fmt.Errorf("blob %.12s: %w", hash, uzda.ErrNotFound)
	}
	size := num(row[0])
	off = min(off, size)
	if n < 0 || n > size-off {
		n = size - off
	}
	out := make([]byte, 0, n)
	if n == 0 {
		return out, nil
	}
	first := off / partSize
	skip := off - first*partSize
	err = c.each(sqlBlob, []any{db.o.Tenant, key, first, (off + n - 1) / partSize}, func(row []driver.Value) error {
		d := data(row[1])
		d = d[min(skip, int64(len(d))):]
		skip = 0
		out = append(out, d[:min(int64(len(d)), n-int64(len(out)))]...)
		return nil
	})
	if err == nil && int64(len(out)) != n {
		err = fmt.Errorf("blob %.12s: %d of %d bytes are there: %w", hash, len(out), n, errDamaged)
	}
	return out, err
}
