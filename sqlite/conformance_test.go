package sqlite_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/journal/journaltest"
	"github.com/uzda-dev/uzda/sqlite"
)

// TestConformance: two handles to one file behave as every store must.
func TestConformance(t *testing.T) {
	for _, durability := range []string{"power", "process"} {
		t.Run(durability, func(t *testing.T) {
			journaltest.Run(t, func(t *testing.T, now func() time.Time) func() uzda.Store {
				path := filepath.Join(t.TempDir(), "store.uzda")
				return func() uzda.Store { return open(t, path, sqlite.Options{Now: now, Durability: durability}) }
			})
		})
	}
}

// TestConformanceMemory: so does a store in memory, which has one handle.
func TestConformanceMemory(t *testing.T) {
	journaltest.Run(t, func(t *testing.T, now func() time.Time) func() uzda.Store {
		db := open(t, sqlite.Memory, sqlite.Options{Now: now})
		return func() uzda.Store { return db }
	})
}
