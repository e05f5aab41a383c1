package sqlite_test

import (
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/sqlite"
)

// fill makes sessions of some size, some of which began another one.
func fill(t testing.TB, db *sqlite.DB, n, size int) (ids []uzda.SessionID) {
	t.Helper()
	for i := range n {
		id := uzda.SessionID(fmt.Sprintf("old%03d", i))
		add(t, db, id, uzda.Posted{ID: "p", Blocks: uzda.Say(strings.Repeat(fmt.Sprint(i, " "), size))}, note("x"))
		if i%4 == 0 {
			epoch, err := db.Acquire(ctx, id+"-1.0", "fill")
			if err == nil {
				_, err = db.Append(ctx, id+"-1.0", uzda.At{Epoch: epoch}, uzda.Opened{Format: 1, Parent: id})
			}
			if err == nil {
				err = db.Release(ctx, id+"-1.0", epoch)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		ids = append(ids, id)
	}
	return ids
}

func remove(t testing.TB, db *sqlite.DB, id uzda.SessionID) {
	t.Helper()
	epoch, err := db.Acquire(ctx, id, "test")
	if err == nil {
		_, err = db.Remove(ctx, id, epoch, nil)
	}
	if err != nil {
		t.Fatalf("remove %s: %v", id, err)
	}
}

// TestRemoveLeavesNothing: but for its epoch and once-keys no table has a row of a
// session that was removed.
func TestRemoveLeavesNothing(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "store.uzda")
	now := time.Now()
	db := open(t, path, sqlite.Options{Now: func() time.Time { return now }})
	ids := fill(t, db, 1, 20_000)
	epoch, err := db.Acquire(ctx, ids[0], "test")
	if err != nil {
		t.Fatal(err)
	}
	hold := uzda.Hold{ID: string(ids[0]) + "/1.1", Amount: 7, Accounts: []uzda.Account{{Name: "turn:" + string(ids[0]) + "/1"}, {Name: "session:" + string(ids[0])}}}
	if _, err := db.Append(ctx, ids[0], uzda.At{Head: uzda.AnyHead, Epoch: epoch, Reserve: []uzda.Hold{hold}}, note("y")); err != nil {
		t.Fatal(err)
	}
	if err := db.Keep(ctx, ids[0], []byte("kept")); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Put(ctx, []byte("put by itself")); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Remove(ctx, ids[0], epoch, nil); err != nil {
		t.Fatal(err)
	}
	now = now.Add(2 * uzda.BlobGrace)
	if _, err := db.Sweep(ctx); err != nil {
		t.Fatal(err)
	}
	for _, table := range []string{"input", "session", "hold", "account", "kept", "blob", "recent"} {
		if err := db.Pragma("user_version"); err != nil {
			t.Fatal(err)
		}
		if n := rows(t, path, "SELECT count(*) FROM "+table); n != 0 {
			t.Errorf("%s has %d rows", table, n)
		}
	}
	if n := rows(t, path, "SELECT sum(length(head) + length(body) + (tenant <> '') + (session <> '')) FROM event"); n != 0 {
		t.Errorf("the row that keeps the numbers growing holds something: %d", n)
	}
	add(t, db, "two", note("n"))
	remove(t, db, "two")
	if n := rows(t, path, "SELECT count(*) FROM event"); n != 1 {
		t.Errorf("%d rows of events, want the last alone", n)
	}
}

// TestShrink: the room of what was removed goes back to the disk, in the middle of
// reading too; not while another handle runs sessions.
func TestShrink(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "store.uzda")
	day := time.Now()
	db := open(t, path, sqlite.Options{Now: func() time.Time { return day }})
	ids := fill(t, db, 40, 40_000)
	add(t, db, "keep", note("a"), note("b"))
	for _, id := range ids {
		remove(t, db, id)
	}
	day = day.Add(2 * uzda.BlobGrace)
	freed, err := db.Sweep(ctx)
	if err != nil || freed < 40*80_000 {
		t.Errorf("swept %d bytes, %v", freed, err)
	}
	before, used, err := db.Size(ctx)
	if err != nil || used > before/10 {
		t.Errorf("size %d, used %d, %v", before, used, err)
	}
	other := open(t, path, sqlite.Options{})
	epoch, err := other.Acquire(ctx, "keep", "other")
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Shrink(ctx); !errors.Is(err, uzda.ErrInUse) {
		t.Errorf("shrink beside another program: %v", err)
	}
	if err := other.Release(ctx, "keep", epoch); err != nil {
		t.Fatal(err)
	}
	if err := other.Close(); err != nil {
		t.Fatal(err)
	}
	for _, err := range db.Read(ctx, "keep", 0) { // which holds nothing up
		if err = errors.Join(err, db.Shrink(ctx)); err != nil {
			t.Fatal(err)
		}
	}
	after, used, err := db.Size(ctx)
	if err != nil || after > before/4 || used > after {
		t.Errorf("size %d, was %d, used %d, %v", after, before, used, err)
	}
	if n := len(read(t, db, "keep")); n != 2 {
		t.Errorf("%d events", n)
	}
	add(t, db, "keep", note("c"))
	sound(t, db)
}

// TestRemoveNotMade: a removal that the store cannot write leaves all as it was.
// case:S08
func TestRemoveNotMade(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "store.uzda")
	db := open(t, path, sqlite.Options{})
	ids := fill(t, db, 1, 100)
	epoch, err := db.Acquire(ctx, ids[0], "test")
	if err != nil {
		t.Fatal(err)
	}
	// The events have been deleted when it fails.
	if err := db.Exec("CREATE TRIGGER no BEFORE DELETE ON input BEGIN SELECT RAISE(ABORT, 'no'); END"); err != nil {
		t.Fatal(err)
	}
	_, err = db.Remove(ctx, ids[0], epoch, nil)
	storage(t, err, "remove session "+string(ids[0])+" from store")
	if err := db.Exec("DROP TRIGGER no"); err != nil {
		t.Fatal(err)
	}
	if n := len(read(t, db, ids[0])); n != 2 {
		t.Errorf("%d events", n)
	}
	if err := db.Renew(ctx, ids[0], epoch); err != nil {
		t.Errorf("the lease is lost: %v", err)
	}
	if _, err := db.Remove(ctx, ids[0], epoch, nil); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Error(err)
	}
}

func rows(t testing.TB, path, query string) (n int64) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := db.QueryRow(query).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// Who looks for what is new does not read all that is old: SQLite once did, by the
// index of tenants.
// case:S09
func TestNewEventsAreFoundByNumber(t *testing.T) {
	t.Parallel()
	db := open(t, filepath.Join(t.TempDir(), "store.uzda"), sqlite.Options{})
	plans, err := db.Plans()
	if err != nil || len(plans) != 2 {
		t.Fatalf("%q, %v: want one step each", plans, err)
	}
	for _, p := range plans {
		if !strings.Contains(p, "PRIMARY KEY (rowid>?)") {
			t.Errorf("it looks by %q", p)
		}
	}
}
