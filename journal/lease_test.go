package journal_test

import (
	"testing"

	"github.com/uzda-dev/uzda/journal"
)

// Who has a session can be seen without taking it, and somebody who only looks is in
// nobody's way.
func TestFilesHeld(t *testing.T) { // L10
	t.Parallel()
	path := t.TempDir()
	runner, err := journal.OpenFiles(path, journal.FilesOptions{})
	if err != nil {
		t.Fatal(err)
	}
	looker, err := journal.OpenFiles(path, journal.FilesOptions{})
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
