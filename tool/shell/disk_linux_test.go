package shell_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/uzda-dev/uzda/tool/shell"
)

// With no room left for its state a command runs all the same, and its result says
// what could not be kept; with room again everything is kept again.
func TestFullDisk(t *testing.T) { // case:S08
	disk := filepath.Join(t.TempDir(), "disk")
	if err := os.Mkdir(disk, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=256k"); err != nil {
		t.Skip("SKIPPED: no small disk can be mounted here: ", err)
	}
	t.Cleanup(func() { syscall.Unmount(disk, 0) }) //nolint:errcheck // it is empty
	filler := filepath.Join(disk, "filler")
	s := open(t, shell.Config{State: disk, Text: 1000})
	s.run("mkdir sub; echo x > " + filler)

	got := s.has("yes | head -c 900000; echo; echo 'FATAL: disk quota'; exit 9", "\nFATAL: disk quota\n[", "[raw output, 900019 bytes: ", "bytes could be kept: no space left on device]", "[exit 9")
	if len(rawFile(t, got)) == 0 {
		t.Error("what could be kept is not there")
	}
	// The command itself fills the disk; not even the directory can be stored.
	got = s.has("cat /dev/zero >> "+filler+" 2>/dev/null; mkdir "+filepath.Join(disk, "x")+" 2>&1; cd sub; echo here", "here\n", "now in "+s.dir+"/sub]")
	if strings.Contains(got, "could not be stored") {
		s.wants("pwd", s.dir+"/sub") // known as long as the program runs
	}
	s.has("yes | head -c 900000; echo; echo the end", "\nthe end\n[", "could not be kept: no space left on device]")
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	left, err := filepath.Glob(filepath.Join(disk, "s", "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range left {
		if strings.HasSuffix(name, ".out") {
			_ = os.Remove(name)
		}
	}
	got = s.has("cd ..; cd sub; printf 'a\\rb\\n'", "b\n[raw output, 4 bytes: ")
	if string(rawFile(t, got)) != "a\rb\n" {
		t.Error("with room again the output is not kept")
	}
	hidden, err := filepath.Glob(filepath.Join(disk, "s", ".*"))
	if err != nil || len(hidden) > 0 {
		t.Errorf("left in the folder: %v, %v", hidden, err)
	}
}
