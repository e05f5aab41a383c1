package query_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

// A log that cannot be used, because nothing may be written beside the file, is
// said with the ways out. T2
func TestReadOnlyFolder(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("SKIPPED: needs another user to read as, so it runs as root only")
	}
	dir, err := os.MkdirTemp("", "uzda-query-*")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	read := func(path string) string {
		cmd := exec.CommandContext(t.Context(), os.Args[0])
		cmd.Dir = "/"
		cmd.Env = []string{"UZDA_TEST_ROLE=reader", "UZDA_TEST_DB=" + path}
		const nobody = 65534
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
		out, err := cmd.CombinedOutput()
		if errors.Is(err, os.ErrPermission) {
			t.Skip("SKIPPED: another user cannot run the test program here")
		}
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return string(out)
	}
	clean := build(t, filepath.Join(dir, "clean.db"), "PRAGMA journal_mode = WAL;"+fixture)
	dirty := build(t, filepath.Join(dir, "dirty.db"), "PRAGMA journal_mode = WAL;"+fixture)
	if err := os.WriteFile(dirty+"-wal", make([]byte, 4096), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if got := read(clean); got != "opened\n" {
		t.Errorf("a log that is not there is no hindrance: %s", got)
	}
	contains(t, read(dirty), "WAL mode", "writable", "copy")
}
