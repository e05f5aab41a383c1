//go:build unix

package attach_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/uzda-dev/uzda/cmd/uzda/attach"
)

// What is no file is refused by what it is; a pipe and a device hold nobody up. // G4 L11
func TestNoFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600); err != nil {
		t.Skip("SKIPPED: ", err)
	}
	put(t, dir, "closed", []byte("x"))
	put(t, dir, "real", []byte("words"))
	if err := os.Symlink("real", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(dir, "closed"), 0); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"pipe": "it is a named pipe", "/dev/zero": "it is a device", dir: "it is a folder", ".": "it is a folder", "-": "standard input", "": "no file is named",
		"nosuch": "there is no such file", "real/x": "cannot be opened", "closed": "you may not read it", "link": "<nil>",
	} {
		if path == "closed" && os.Geteuid() == 0 { // who may read all
			continue
		}
		_, err := attach.Limits{}.Read(context.Background(), dir, path)
		if !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("%s: %v, want %q", path, err, want)
		}
	}
}
