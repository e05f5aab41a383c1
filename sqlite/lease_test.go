package sqlite_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/sqlite"
)

// A handle that closes frees the leases that it has, and not those of others: also one
// that was taken again, with an epoch before it given back late.
func TestCloseFrees(t *testing.T) { // L10
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.uzda")
	open := func() *sqlite.DB {
		db, err := sqlite.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		return db
	}
	a, b := open(), open()
	acquire := func(db *sqlite.DB, id uzda.SessionID) int64 {
		epoch, err := db.Acquire(t.Context(), id, "test")
		if err != nil {
			t.Fatalf("acquire %s: %v", id, err)
		}
		return epoch
	}
	for i := range 50 { // of no one any more
		id := uzda.SessionID(fmt.Sprint("old-", i))
		if err := a.Release(t.Context(), id, acquire(a, id)); err != nil {
			t.Fatal(err)
		}
	}
	acquire(a, "held")
	first := acquire(a, "again")
	if err := a.Release(t.Context(), "again", first); err != nil {
		t.Fatal(err)
	}
	acquire(a, "again")
	if err := a.Release(t.Context(), "again", first); err != nil { // late, and of no effect
		t.Fatal(err)
	}
	acquire(b, "other")
	if _, err := a.Acquire(t.Context(), "other", "test"); err == nil {
		t.Error("a session that another handle has was acquired")
	}
	if _, err := b.Acquire(t.Context(), "held", "test"); err == nil {
		t.Error("a session that another handle has was acquired")
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	c := open()
	acquire(b, "held")
	acquire(b, "again")
	if _, err := c.Acquire(t.Context(), "other", "test"); err == nil {
		t.Error("closing a handle freed the lease of another one")
	}
	for _, db := range []*sqlite.DB{b, c} {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}
}
