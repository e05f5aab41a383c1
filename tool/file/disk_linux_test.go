package file_test

import (
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/uzda-dev/uzda/tool/file"
)

// small mounts a disk that is soon full.
func small(t *testing.T, dir string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=256k"); err != nil {
		t.Skip("SKIPPED: no small disk can be mounted here: ", err)
	}
	t.Cleanup(func() { syscall.Unmount(dir, 0) }) //nolint:errcheck // it is empty
}

// The disk with the files is full: the old file stays as it was, nothing is left
// behind, and with space again the same edit works.
func TestFullDisk(t *testing.T) { // case:S08
	d := newDesk(t)
	d.dir = d.path("disk")
	small(t, d.dir)
	old := strings.Repeat("0123456789abcde\n", 8<<10) // 128 KB: two of them don't fit
	d.put("f", old+"end\n")
	d.put("empty", "")
	d.ok("read_file", "path", "f")
	d.refused([]string{"no space", "The old file is as it was"}, "edit_file", "path", "f", "old", "end", "new", "END"+strings.Repeat("x", 10000))
	d.has("f", old+"end\n")
	d.refused([]string{"no space"}, "write_file", "path", "new/g", "content", old)
	d.gone("new")
	d.clean()
	if err := syscall.Mount("tmpfs", d.dir, "tmpfs", syscall.MS_REMOUNT, "size=2m"); err != nil {
		t.Fatal(err)
	}
	d.ok("edit_file", "path", "f", "old", "end", "new", "END")
	d.has("f", old+"END\n")
	if _, err := d.files.Undo(t.Context(), session, file.UndoOptions{}); err != nil {
		t.Fatal(err)
	}
	d.has("f", old+"end\n")
}

// The disk with the state is full: nothing is changed that could not be undone.
func TestFullState(t *testing.T) { // case:S08
	d := newDesk(t)
	small(t, d.state)
	d.put("f", strings.Repeat("x", 300<<10)+"end\n")
	d.ok("read_file", "path", "f")
	d.refused([]string{"nothing was changed", "no space"}, "edit_file", "path", "f", "old", "end", "new", "END")
	d.has("f", strings.Repeat("x", 300<<10)+"end\n")
	d.refused([]string{"nothing was changed"}, "delete_file", "path", "f")
	d.clean()
	if err := syscall.Mount("tmpfs", d.state, "tmpfs", syscall.MS_REMOUNT, "size=2m"); err != nil {
		t.Fatal(err)
	}
	d.ok("edit_file", "path", "f", "old", "end", "new", "END")
}

// Extended attributes and the mode go over to the new file.
func TestAttributes(t *testing.T) { // T2
	t.Parallel()
	d := newDesk(t)
	d.put("f", "x\n")
	if err := syscall.Setxattr(d.path("f"), "user.note", []byte("kept"), 0); err != nil {
		t.Skip("SKIPPED: no extended attributes here: ", err)
	}
	if err := os.Chmod(d.path("f"), 0o640); err != nil {
		t.Fatal(err)
	}
	d.ok("read_file", "path", "f")
	d.ok("edit_file", "path", "f", "old", "x", "new", "y")
	got := make([]byte, 10)
	if n, err := syscall.Getxattr(d.path("f"), "user.note", got); err != nil || string(got[:n]) != "kept" {
		t.Errorf("%q, %v", got[:max(n, 0)], err)
	}
	if info, err := os.Stat(d.path("f")); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}
