package journal_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/journal"
)

// grow makes a session that began another one, and holds it.
func grow(t *testing.T, st *journal.Files, id uzda.SessionID) int64 {
	t.Helper()
	epoch, err := st.Acquire(ctx, id, "test")
	if err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat(string(id), uzda.LongString)
	for _, a := range []struct {
		id     uzda.SessionID
		opened uzda.Opened
	}{{id, uzda.Opened{Format: 1}}, {id + "-1.0", uzda.Opened{Format: 1, Parent: id}}} {
		e := epoch
		if a.id != id {
			if e, err = st.Acquire(ctx, a.id, "test"); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := st.Append(ctx, a.id, uzda.At{Epoch: e}, a.opened, note(1, long)); err != nil {
			t.Fatal(err)
		}
		if a.id != id {
			if err := st.Release(ctx, a.id, e); err != nil {
				t.Fatal(err)
			}
		}
	}
	return epoch
}

// An EIO at each write, fsync and rename of a removal: the session with what it
// began is there whole, or it is gone, and a second removal finishes. Opened anew
// the store says the same.
// case:S08
func TestRemoveFaults(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	st := open(t, dir, journal.FilesOptions{})
	seen := map[string]bool{}
	for n := 1; ; n++ {
		id := uzda.SessionID(fmt.Sprint("s", n))
		epoch := grow(t, st, id)
		step, fault := 0, ""
		st.SetFault(func(op, path string) (int, error) {
			if step++; step == n {
				fault = op + " " + filepath.Base(path)
				return 0, fmt.Errorf("%s: %w", op, syscall.EIO)
			}
			return 0, nil
		})
		_, err := st.Remove(ctx, id, epoch, nil)
		st.SetFault(nil)
		if fault == "" {
			if err != nil {
				t.Fatal(err)
			}
			break
		}
		seen[strings.Split(fault, " ")[0]] = true
		if err != nil && !errors.Is(err, syscall.EIO) {
			t.Errorf("fault at %s: %v", fault, err)
		}
		for _, st := range []*journal.Files{st, open(t, dir, journal.FilesOptions{})} {
			root, kid := len(read(t, st, id)), len(read(t, st, id+"-1.0"))
			if root != kid || root != 0 && root != 2 || root == 2 && err == nil {
				t.Errorf("fault at %s: %v; %d events, and %d of the one that it began", fault, err, root, kid)
			}
			whole(t, st)
		}
		if len(read(t, st, id)) == 0 {
			continue
		}
		_ = st.Release(ctx, id, epoch)
		if epoch, err = st.Acquire(ctx, id, "again"); err != nil {
			t.Fatal(err)
		}
		if _, err := st.Remove(ctx, id, epoch, nil); err != nil {
			t.Errorf("after a fault at %s: %v", fault, err)
		}
	}
	if len(seen) < 3 {
		t.Errorf("faults only at %v", seen)
	}
	if left := left(t, dir); len(left) != 0 {
		t.Errorf("files are left: %v", left)
	}
}

// left are the files of sessions but for what says that their epochs only grow.
func left(t *testing.T, dir string) (out []string) {
	t.Helper()
	all, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range all {
		if !e.IsDir() && !slices.Contains([]string{".lock", ".lease", ""}, filepath.Ext(e.Name())) && e.Name() != "ledger.jsonl" {
			out = append(out, e.Name())
		}
	}
	return out
}

func whole(t *testing.T, st *journal.Files) {
	t.Helper()
	if err := st.Verify(ctx, func(id uzda.SessionID, seq uzda.Seq, err error) {
		t.Errorf("session %s, event %d: %v", id, seq, err)
	}); err != nil {
		t.Error(err)
	}
}

// A removal that another program was killed in leaves a file that nobody sees; who
// opens the store deletes it, also where a new session has the id.
// case:S01
func TestRemoveLeftover(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "a[b]*") // no pattern
	st := open(t, dir, journal.FilesOptions{})
	grow(t, st, "one")
	if err := os.Rename(filepath.Join(dir, "one.jsonl"), filepath.Join(dir, "gone.gone")); err != nil {
		t.Fatal(err)
	}
	again := open(t, dir, journal.FilesOptions{})
	if _, err := again.Append(ctx, "one", uzda.At{Head: uzda.AnyHead}, note(7, "new")); err != nil {
		t.Fatal(err)
	}
	third := open(t, dir, journal.FilesOptions{})
	if evs := read(t, third, "one"); len(evs) != 1 {
		t.Errorf("%d events, want the new one", len(evs))
	}
	if files := left(t, dir); slices.Contains(files, "gone.gone") {
		t.Errorf("files %v", files)
	}
	whole(t, third)
}
