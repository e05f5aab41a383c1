package sqlite_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/sqlite"
)

var ctx = context.Background()

// The test program runs itself as the other processes of a test.
const (
	roleVar = "UZDA_SQLITE_ROLE"
	pathVar = "UZDA_SQLITE_PATH"
	nameVar = "UZDA_SQLITE_NAME"
)

var roles = map[string]func() error{}

func TestMain(m *testing.M) {
	if role := os.Getenv(roleVar); role != "" {
		if err := roles[role](); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

func open(t testing.TB, path string, o sqlite.Options) *sqlite.DB {
	t.Helper()
	db, err := sqlite.OpenWith(path, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

func note(id string) uzda.Noted { return uzda.Noted{ID: id, Text: "note " + id} }

func add(t testing.TB, db *sqlite.DB, id uzda.SessionID, bodies ...uzda.Body) []uzda.Event {
	t.Helper()
	evs, err := db.Append(ctx, id, uzda.At{Head: uzda.AnyHead}, bodies...)
	if err != nil {
		t.Fatal(err)
	}
	return evs
}

func read(t testing.TB, db *sqlite.DB, id uzda.SessionID) []uzda.Event {
	t.Helper()
	var out []uzda.Event
	for e, err := range db.Read(ctx, id, 0) {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, e)
	}
	return out
}

// sound checks the file and every journal in it.
func sound(t testing.TB, db *sqlite.DB) {
	t.Helper()
	if err := db.Verify(ctx, func(id uzda.SessionID, seq uzda.Seq, err error) {
		t.Errorf("session %s, event %d: %v", id, seq, err)
	}); err != nil {
		t.Error(err)
	}
}

// storage checks that an error is one of the store that names what, and how to mend it.
func storage(t testing.TB, err error, texts ...string) {
	t.Helper()
	if !errors.Is(err, uzda.ErrStorage) {
		t.Fatalf("error %v, want uzda.ErrStorage", err)
	}
	for _, s := range texts {
		if !strings.Contains(err.Error(), s) {
			t.Errorf("error %q does not say %q", err, s)
		}
	}
}
