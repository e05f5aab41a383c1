// Package shop makes the shop that `uzda demo` asks about: always the same
// customers, products and orders, with the traps that real data has.
package shop

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// Question is what the demo asks.
const Question = "How many orders did the customers from Kraków place this month?"

// Schema is the curated schema text, in the form that package query reads.
//
//go:embed shop.schema.md
var Schema string

// Script is the scripted model's file that answers [Question].
//
//go:embed demo.json
var Script []byte

//go:embed shop.sql
var tables string

//go:embed indexes.sql
var indexes string

// Now is the clock of the shop: it stands still at the morning of
// 20 November 2026 in Poland, shortly after the last order.
func Now() time.Time {
	const hour = 60 * 60
	return time.Date(2026, time.November, 20, 9, 0, 0, 0, time.FixedZone("CET", hour))
}

// Build makes the database at path, with the same content every time. The file
// must not exist. It appears whole or not at all.
func Build(ctx context.Context, path string) error {
	if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("make the demo shop %s: the file is already there; remove it or name another: %w", path, os.ErrExist)
	}
	tmp, err := os.MkdirTemp(filepath.Dir(path), ".shop-*")
	if err != nil {
		return fmt.Errorf("make the demo shop %s: %w", path, err)
	}
	defer os.RemoveAll(tmp)
	file := filepath.Join(tmp, "shop.db")
	if err := write(ctx, file, generate()); err != nil {
		return fmt.Errorf("make the demo shop %s: %w", path, err)
	}
	if err := os.Rename(file, path); err != nil {
		return fmt.Errorf("make the demo shop: %w", err)
	}
	return nil
}
