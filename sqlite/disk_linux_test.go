package sqlite_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/sqlite"
)

// TestFullDisk: a disk that is really full fails an append with an error that
// says so; what was acknowledged is intact, and room makes it work again.
// case:S08
func TestFullDisk(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=4m"); err != nil {
		t.Skipf("SKIPPED: a small disk cannot be mounted here (%v): a full one is tested only with a limit of SQLite", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	db := open(t, filepath.Join(dir, "store.uzda"), sqlite.Options{})
	filler := filepath.Join(dir, "filler")
	if err := os.WriteFile(filler, make([]byte, 2<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	acked := 0
	var full error
	for full == nil && acked < 10_000 {
		_, full = db.Append(ctx, "one", uzda.At{Head: uzda.AnyHead}, uzda.Noted{ID: fmt.Sprint(acked), Text: strings.Repeat("x", 4000)})
		if full == nil {
			acked++
		}
	}
	storage(t, full, "append to session one", dir, "disk")
	t.Logf("after %d appends: %v", acked, full)
	if n := len(read(t, db, "one")); n != acked {
		t.Errorf("%d events, %d were acknowledged", n, acked)
	}
	_, err := db.Put(ctx, make([]byte, 8<<20))
	storage(t, err, "disk")
	epoch, err := db.Acquire(ctx, "two", "test")
	if err == nil {
		_, err = db.Remove(ctx, "two", epoch, nil)
	}
	if err != nil && !errors.Is(err, uzda.ErrNotFound) {
		storage(t, err, "disk")
	}
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	add(t, db, "one", note("there is room"))
	if n := len(read(t, db, "one")); n != acked+1 {
		t.Errorf("%d events after there was room, want %d", n, acked+1)
	}
	sound(t, db)
	// On a disk that is full again a little room is enough to remove what makes more.
	if err := os.WriteFile(filler, make([]byte, 512<<10), 0o600); err != nil {
		t.Fatal(err)
	}
	for full = nil; full == nil; acked++ {
		_, full = db.Append(ctx, "two", uzda.At{Head: uzda.AnyHead}, uzda.Noted{Text: strings.Repeat("x", 4000)})
	}
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	remove(t, db, "one")
	for range 10 {
		add(t, db, "two", uzda.Noted{Text: strings.Repeat("x", 4000)})
	}
	if err := db.Shrink(ctx); err != nil {
		storage(t, err, "shrink store", "disk")
	}
	sound(t, db)
	if _, err := sqlite.Open(filepath.Join(dir, "none", "x")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the cause is lost: %v", err)
	}
}
