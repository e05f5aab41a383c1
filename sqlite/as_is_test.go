package sqlite_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/sqlite"
)

// Whoever only has a look makes no store and upgrades none: not a byte is another,
// and no copy is left. One that is up to date opens.
func TestAsIs(t *testing.T) { // G6 case:U08
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "s.uzda")
	look := sqlite.Options{AsIs: true}
	if _, err := sqlite.OpenWith(path, look); !errors.Is(err, uzda.ErrStorage) {
		t.Errorf("a store that is not there: %v", err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("it left %v, %v", left, err)
	}
	old, err := sqlite.OpenEarlier(path, sqlite.Options{}, 1)
	if err != nil {
		t.Fatal(err)
	}
	if err := old.Close(); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := sqlite.OpenWith(path, look); !errors.Is(err, uzda.ErrStorage) {
		t.Errorf("an older store: %v", err)
	}
	after, err := os.ReadFile(path)
	if err != nil || !bytes.Equal(before, after) {
		t.Errorf("an older store was changed: %v", err)
	}
	if copies, _ := filepath.Glob(path + "*.bak"); len(copies) != 0 {
		t.Errorf("it left %q", copies)
	}
	db, err := sqlite.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if db, err = sqlite.OpenWith(path, look); err != nil {
		t.Fatalf("a store that is up to date: %v", err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}
