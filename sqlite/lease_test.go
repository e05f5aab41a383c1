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

// Who has a session can be seen without taking it, and somebody who only looks is in
// nobody's way.
func TestHeld(t *testing.T) { // L10
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.uzda")
	runner, err := sqlite.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	looker, err := sqlite.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer looker.Close()
	held := func(want string) {
		t.Helper()
		busy, err := looker.Held(t.Context(), "s")
		switch {
		case err != nil:
			t.Fatal(err)
		case want == "" && busy != nil, want != "" && (busy == nil || busy.Holder != want || busy.Since.IsZero()):
			t.Fatalf("held by %+v, want %q", busy, want)
		}
	}
	held("")
	epoch, err := runner.Acquire(t.Context(), "s", "runner")
	if err != nil {
		t.Fatal(err)
	}
	held("runner")
	if err := runner.Renew(t.Context(), "s", epoch); err != nil {
		t.Errorf("who looked has fenced the runner: %v", err)
	}
	if err := runner.Release(t.Context(), "s", epoch); err != nil {
		t.Fatal(err)
	}
	held("")
	if again, err := runner.Acquire(t.Context(), "s", "runner"); err != nil || again != epoch+1 {
		t.Errorf("epoch %d after %d: %v", again, epoch, err)
	}
	if err := runner.Close(); err != nil { // as the end of its process
		t.Fatal(err)
	}
	held("")
	if _, err := looker.Held(t.Context(), "no/id"); err == nil {
		t.Error("an id that is none")
	}
}
