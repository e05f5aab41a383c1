//go:build unix

package note_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/uzda-dev/uzda/tool/note"
)

// A pipe among the notes is no note: to read it would wait for ever. C8
func TestPipe(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	n := note.New(dir)
	call(t, n, "s", args{"op": "write", "text": "goal"})
	if err := syscall.Mkfifo(filepath.Join(dir, "s", "key-pipe.md"), 0o600); err != nil {
		t.Skipf("SKIPPED: no pipes here: %v", err)
	}
	if text, err := n.Text("s"); text != "goal" || err != nil {
		t.Errorf("%q, %v", text, err)
	}
	if got, _ := call(t, n, "s", args{"op": "read"}); got != "goal" {
		t.Errorf("%q", got)
	}
	if _, err := os.Stat(filepath.Join(dir, "s", "key-pipe.md")); err != nil {
		t.Error(err)
	}
}
