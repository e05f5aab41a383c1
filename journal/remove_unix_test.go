//go:build unix

package journal_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/journal"
)

// remover removes one session after the other and says what it has removed.
func remover(st *journal.Files) error {
	for info, err := range st.List(ctx) {
		if err != nil {
			return err
		}
		if info.Parent != "" || !strings.HasPrefix(string(info.ID), "old") {
			continue
		}
		epoch, err := st.Acquire(ctx, info.ID, "remover")
		if err != nil {
			return err
		}
		if _, err := st.Remove(ctx, info.ID, epoch, nil); err != nil {
			return err
		}
		fmt.Println(info.ID)
	}
	_, err := st.Sweep(ctx)
	return err
}

// Killed in the middle of removing: a session is there and verifies, or it is
// gone; what was said to be gone is; others are whole; another round finishes.
// case:S01 case:S03
func TestKilledInRemove(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	st := open(t, dir, journal.FilesOptions{Durability: "process"})
	for i := range 40 {
		id := uzda.SessionID(fmt.Sprint("old", i))
		if err := st.Release(ctx, id, grow(t, st, id)); err != nil {
			t.Fatal(err)
		}
	}
	keep := uzda.SessionID("keep")
	grow(t, st, keep)
	gone := map[string]bool{}
	for range 4 {
		cmd, _, out := process(t, "remover", dir, 0)
		for n := rand.IntN(8); out.Scan(); n-- {
			if gone[out.Text()] = true; n == 0 {
				if err := cmd.Process.Kill(); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := st.Append(ctx, keep, uzda.At{Head: uzda.AnyHead}, note(100+len(gone), "beside")); err != nil {
				t.Error(err)
			}
		}
		_ = cmd.Wait()
		fresh := open(t, dir, journal.FilesOptions{})
		for id := range gone {
			if n := len(read(t, fresh, uzda.SessionID(id))) + len(read(t, fresh, uzda.SessionID(id+"-1.0"))); n != 0 {
				t.Errorf("session %s was removed and has %d events", id, n)
			}
		}
		whole(t, fresh)
		if n := len(read(t, fresh, keep)); n != 2+len(gone) {
			t.Errorf("a session beside has %d events, want %d", n, 2+len(gone))
		}
	}
	cmd, _, out := process(t, "remover", dir, 0)
	for out.Scan() {
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	n := 0
	for info, err := range open(t, dir, journal.FilesOptions{}).List(ctx) {
		if n++; err != nil || !strings.HasPrefix(string(info.ID), "keep") {
			t.Errorf("listed: %s, %v", info.ID, err)
		}
	}
	if n != 2 {
		t.Errorf("%d sessions are left, want 2", n)
	}
}
