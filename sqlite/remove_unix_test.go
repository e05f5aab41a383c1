//go:build unix

package sqlite_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/sqlite"
)

func init() { roles["remove"] = roleRemove } // in a test program only

// roleRemove removes the old sessions, sweeps and shrinks, as a day later.
func roleRemove() error {
	db, err := sqlite.OpenWith(os.Getenv(pathVar), sqlite.Options{Now: func() time.Time { return time.Now().Add(2 * uzda.BlobGrace) }})
	if err != nil {
		return err
	}
	defer db.Close()
	for info, err := range db.List(ctx) {
		if err != nil {
			return err
		}
		if info.Parent != "" || !strings.HasPrefix(string(info.ID), "old") {
			continue
		}
		var busy *uzda.Busy
		epoch, err := db.Acquire(ctx, info.ID, "remover")
		if errors.As(err, &busy) {
			continue
		}
		if err == nil {
			_, err = db.Remove(ctx, info.ID, epoch, nil)
		}
		if errors.Is(err, uzda.ErrNotFound) || errors.Is(err, uzda.ErrFenced) { // the other one was quicker
			continue
		}
		if err != nil {
			return err
		}
		fmt.Println(info.ID)
	}
	if _, err := db.Sweep(ctx); err != nil {
		return err
	}
	fmt.Println("swept")
	if err := db.Shrink(ctx); err != nil && !errors.Is(err, uzda.ErrInUse) {
		return err
	}
	return nil
}

// TestKilledInPrune: kill -9 in the middle of removing, sweeping and shrinking
// leaves a store that verifies, where each session is whole or gone; another
// round finishes.
// case:S01 case:S03
func TestKilledInPrune(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "store.uzda")
	db := open(t, path, sqlite.Options{})
	ids := fill(t, db, 60, 20_000)
	add(t, db, "keep", uzda.Posted{ID: "p", Blocks: uzda.Say(strings.Repeat("0 ", 20_000))}) // it shares a blob
	gone := map[string]bool{}
	check := func() {
		t.Helper()
		db := open(t, path, sqlite.Options{})
		for _, id := range ids {
			n, kid := len(read(t, db, id)), len(read(t, db, id+"-1.0"))
			if n != 0 && n != 2 || n == 0 && kid != 0 || gone[string(id)] && n != 0 {
				t.Errorf("session %s has %d events, what it began %d; said to be gone: %v", id, n, kid, gone[string(id)])
			}
		}
		if n := len(read(t, db, "keep")); n != 1 {
			t.Errorf("a session beside has %d events", n)
		}
		sound(t, db)
	}
	for range 5 {
		c := start(t, "remove", path, "")
		for n := rand.IntN(12); c.out.Scan(); n-- {
			if gone[c.out.Text()] = true; n == 0 {
				c.kill(t)
			}
		}
		_ = c.Wait()
		check()
	}
	c := start(t, "remove", path, "")
	for c.out.Scan() {
		gone[c.out.Text()] = true
	}
	if err := c.Wait(); err != nil {
		t.Fatal(err)
	}
	check()
	if n := rows(t, path, "SELECT count(*) FROM session"); n != 1 {
		t.Errorf("%d sessions are left, want 1", n)
	}
	if n := rows(t, path, "SELECT count(*) FROM blob WHERE part = 0"); n != 1 {
		t.Errorf("%d blobs are left, want the shared one", n)
	}
}

// TestPruneBesideRuns: two programs remove old sessions while four append to
// others, with texts that the old ones had too: nobody fails, nothing of the
// running ones is lost, and no lock is seen.
// case:S03
func TestPruneBesideRuns(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "store.uzda")
	db := open(t, path, sqlite.Options{})
	ids := fill(t, db, 60, 100)
	var all []*child
	for i := range 4 {
		all = append(all, start(t, "append", path, fmt.Sprint(i)))
	}
	for range 2 {
		all = append(all, start(t, "remove", path, ""))
	}
	removed := 0
	for i, c := range all {
		for c.out.Scan() {
			if i < 4 {
				t.Error(c.out.Text())
			} else if c.out.Text() != "swept" {
				removed++
			}
		}
		if err := c.Wait(); err != nil {
			t.Errorf("process %d: %v", i, err)
		}
	}
	if removed != len(ids) {
		t.Errorf("%d sessions were removed, want each of %d once", removed, len(ids))
	}
	if n := len(read(t, db, "shared")); n != 400 {
		t.Errorf("the shared session has %d events, want 400", n)
	}
	for i := range 4 {
		if n := len(read(t, db, uzda.SessionID(fmt.Sprint("own-", i)))); n != 100 {
			t.Errorf("process %d has %d events of its own, want 100", i, n)
		}
	}
	sound(t, db)
}
