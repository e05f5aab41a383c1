package journal_test

import (
	"testing"
	"time"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/journal"
	"github.com/uzda-dev/uzda/journal/journaltest"
)

func TestFilesConformance(t *testing.T) {
	t.Parallel()
	for _, durability := range []string{"power", "process"} {
		t.Run(durability, func(t *testing.T) {
			t.Parallel()
			journaltest.Run(t, func(t *testing.T, now func() time.Time) func() uzda.Store {
				dir := t.TempDir()
				return func() uzda.Store {
					return open(t, dir, journal.FilesOptions{Durability: durability, Now: now})
				}
			})
		})
	}
}

// open opens a folder; a warning is a failure unless o says otherwise.
func open(t *testing.T, dir string, o journal.FilesOptions) *journal.Files {
	t.Helper()
	if o.Warn == nil {
		o.Warn = func(text string) { t.Errorf("warning: %s", text) }
	}
	f, err := journal.OpenFiles(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return f
}
