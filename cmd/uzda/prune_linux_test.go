package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// At a terminal prune shows what would go and asks; only a yes removes.
func TestPruneAsks(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	ok := "script:" + p.file("ok.json", `{"turns":[{"text":"ok"}],"loop":true}`)
	for _, id := range []string{"a", "b"} {
		p.says(0, []string{"run", "--model", ok, "--session", id, "go"})
	}
	for _, c := range []struct {
		typed string
		code  int
		text  string
	}{
		{"n\n", 130, "nothing was removed"}, {"\x04", 130, "nothing was removed"}, {"\x03", 130, ""},
		{"what?\nyes\n", 0, "Removed 2 sessions."},
	} {
		s := p.inTerminal("sessions", "prune", "--older", "0h")
		s.sees("Remove 2 sessions for good? [y]es, [n]o:", 1)
		for _, line := range strings.SplitAfter(c.typed, "\n") {
			s.types(line)
		}
		s.ends(c.code, "2 sessions of 2 would go: last changed ", c.text)
	}
	p.says(0, []string{"sessions"}, "no sessions yet")
}

// A person who names a session has decided: nobody asks again. Prune asks, with --force
// too, unless there is --yes.
func TestRemoveDoesNotAsk(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	ok := "script:" + p.file("ok.json", `{"turns":[{"text":"ok"}],"loop":true}`)
	asks := "script:" + p.file("asks.json", `{"turns":[{"calls":[{"name":"shell","input":{"command":"rm -r x"}}]},{"text":"ok"}]}`)
	for _, id := range []string{"a", "b", "c"} {
		p.says(0, []string{"run", "--model", ok, "--session", id, "go"})
	}
	p.run("run", "--model", asks, "--session", "waits", "go")
	s := p.inTerminal("sessions", "rm", "a")
	s.ends(0, "Removed 1 session.")
	s = p.inTerminal("sessions", "rm", "waits", "--force")
	s.ends(0, "Removed 1 session.")
	s = p.inTerminal("sessions", "prune", "--older", "0h", "--force")
	s.sees("Remove 2 sessions for good? [y]es, [n]o:", 1)
	s.types("n\n")
	s.ends(130, "nothing was removed")
	s = p.inTerminal("sessions", "prune", "--older", "0h", "--yes")
	s.ends(0, "Removed 2 sessions.")
}

// On a disk without a byte left sessions can be removed, by name and by age.
func TestPruneFullDisk(t *testing.T) { // case:S08
	for _, kind := range []string{"sqlite", "files"} {
		t.Run(kind, func(t *testing.T) {
			p := newProgram(t)
			p.envs = append(p.envs, "UZDA_STORE="+kind)
			disk := filepath.Join(p.dir, "home")
			if err := os.MkdirAll(disk, 0o700); err != nil {
				t.Fatal(err)
			}
			if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=4m"); err != nil {
				t.Skip("SKIPPED: no small disk can be mounted here: ", err)
			}
			t.Cleanup(func() { syscall.Unmount(disk, 0) }) //nolint:errcheck // it is empty
			ok := "script:" + p.file("ok.json", `{"turns":[{"text":"`+strings.Repeat("a word ", 6000)+`"}],"loop":true}`)
			for _, id := range []string{"a", "b", "c", "d"} {
				if e := p.run("run", "--model", ok, "--session", id, "go"); e.code != 0 {
					t.Fatalf("exit %d\n%s", e.code, e.errs)
				}
			}
			fill(t, filepath.Join(disk, "filler"))
			p.says(0, []string{"sessions", "rm", "a"}, "the disk is full: the files of traces were removed", "Removed 1 session")
			p.says(0, []string{"sessions", "prune", "--older", "0h", "--dry-run"}, "3 sessions of 3 would go")
			p.says(0, []string{"sessions", "prune", "--older", "0h", "--yes"}, "Removed 3 sessions")
			p.says(0, []string{"doctor"}, "every body and every chain")
		})
	}
}

// A disk that is mounted to be read only is said to be so, with where.
func TestPruneReadOnlyDisk(t *testing.T) { // case:S08
	for _, kind := range []string{"sqlite", "files"} {
		t.Run(kind, func(t *testing.T) {
			p := newProgram(t)
			p.envs = append(p.envs, "UZDA_STORE="+kind)
			disk := filepath.Join(p.dir, "home")
			if err := os.MkdirAll(disk, 0o700); err != nil {
				t.Fatal(err)
			}
			if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=4m"); err != nil {
				t.Skip("SKIPPED: no small disk can be mounted here: ", err)
			}
			t.Cleanup(func() { syscall.Unmount(disk, 0) }) //nolint:errcheck // it is empty
			ok := "script:" + p.file("ok.json", `{"turns":[{"text":"ok"}],"loop":true}`)
			p.says(0, []string{"run", "--model", ok, "--session", "a", "go"})
			if err := syscall.Mount("", disk, "", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""); err != nil {
				t.Fatal(err)
			}
			for _, args := range [][]string{{"sessions", "rm", "a"}, {"sessions", "prune", "--older", "0h", "--yes"}} {
				p.says(10, args, "storage_error", "read-only file system", disk)
			}
		})
	}
}

// A session of which something cannot be removed stays, and the others go.
func TestRemoveStuck(t *testing.T) { // case:S08
	p := newProgram(t)
	ok := "script:" + p.file("ok.json", okForEver)
	for _, id := range []string{"a", "b"} {
		p.run("run", "--model", ok, "--permission-mode", "bypass", "--session", id, "go")
	}
	stuck := filepath.Join(p.dir, "home", "notes", "a", "stuck")
	if err := os.Mkdir(stuck, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("tmpfs", stuck, "tmpfs", 0, "size=64k"); err != nil {
		t.Skip("SKIPPED: no disk can be mounted here: ", err)
	}
	t.Cleanup(func() { syscall.Unmount(stuck, 0) }) //nolint:errcheck // it may be gone
	p.says(10, []string{"sessions", "rm", "a", "b"}, "session a stays", "busy; see to it that you may remove that", "Removed 1 session")
	p.says(0, []string{"show", "a"}, "ok")
	if err := syscall.Unmount(stuck, 0); err != nil {
		t.Fatal(err)
	}
	p.says(0, []string{"sessions", "rm", "a"}, "Removed 1 session")
}
