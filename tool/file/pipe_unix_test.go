//go:build unix

package file_test

import (
	"syscall"
	"testing"
	"time"
)

// What is no regular file is never opened: a pipe holds nobody up.
func TestSpecialFiles(t *testing.T) { // case:P06
	t.Parallel()
	d := newDesk(t)
	d.put("real", "x\n")
	if err := syscall.Mkfifo(d.path("pipe"), 0o600); err != nil {
		t.Skip("SKIPPED: ", err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		d.refused([]string{"named pipe"}, "read_file", "path", "pipe")
		d.refused([]string{"named pipe"}, "write_file", "path", "pipe", "content", "x")
		d.refused([]string{"named pipe"}, "edit_file", "path", "pipe", "old", "x", "new", "y")
		d.refused([]string{"named pipe"}, "delete_file", "path", "pipe")
		d.refused([]string{"named pipe"}, "grep", "path", "pipe", "pattern", "x")
		d.ok("grep", "pattern", "x")
	}()
	select {
	case <-done:
	case <-time.After(20 * time.Second):
		t.Fatal("a pipe holds a tool up")
	}
}
