package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// The disk is full in the middle of a run: the run says so and exits 10, nothing
// that was recorded is lost, and with space again the session goes on.
func TestFullDisk(t *testing.T) { // case:S08
	p := newProgram(t)
	disk := filepath.Join(p.dir, "home")
	if err := os.MkdirAll(disk, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=2m"); err != nil {
		t.Skip("SKIPPED: no small disk can be mounted here: ", err)
	}
	t.Cleanup(func() { syscall.Unmount(disk, 0) }) //nolint:errcheck // it is empty
	words := strings.Repeat("a word and another one ", 500)
	turns := p.file("turns.json", `{"by_view":true,"turns":[`+strings.Repeat(`{"text":"`+words+`","calls":[{"name":"notes","input":{"op":"read"}}]},`, 3)+`{"text":"All done."}],"loop":false}`)
	if e := p.run("run", "--model", "script:"+turns, "--session", "s0", "go"); e.code != 0 {
		t.Fatalf("exit %d\n%s", e.code, e.errs)
	}
	filler := filepath.Join(disk, "filler")
	fill(t, filler)
	e := p.run("run", "--model", "script:"+turns, "--session", "s", "go")
	if e.code != 10 || e.result.Reason != "storage_error" || e.result.Error == nil || e.result.Error.Hint == "" {
		t.Fatalf("exit %d, %+v\n%s", e.code, e.result, e.errs)
	}
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	p.says(0, []string{"doctor"}, "every body and every chain")
	p.says(0, []string{"show", "s0"}, "All done.")
	if e := p.run("run", "--model", "script:"+turns, "--session", "s", "go"); e.code != 0 || e.result.Answer != "All done." {
		t.Errorf("with space again: exit %d, %+v\n%s", e.code, e.result, e.errs)
	}
}

// The disk fills up while the model answers: what was recorded stays, and resume
// goes on from there.
func TestDiskFillsUp(t *testing.T) { // case:S08
	p := newProgram(t)
	disk := filepath.Join(p.dir, "home")
	if err := os.MkdirAll(disk, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=2m"); err != nil {
		t.Skip("SKIPPED: no small disk can be mounted here: ", err)
	}
	t.Cleanup(func() { syscall.Unmount(disk, 0) }) //nolint:errcheck // it is empty
	words := strings.Repeat("a word and another one ", 5000)
	turns := p.file("turns.json", `{"by_view":true,"turns":[{"text":"one","calls":[{"name":"notes","input":{"op":"read"}}]},{"text":"`+words+`","delay_ms":2000,"calls":[{"name":"notes","input":{"op":"read"}}]},{"text":"All done."}]}`)
	c, out, errs := p.start("run", "--model", "script:"+turns, "--session", "s", "go")
	waitFor(t, func() bool {
		shown, err := p.command("show", "s", "--events").Output()
		return err == nil && strings.Count(string(shown), `"kind":"asked"`) == 2
	})
	filler := filepath.Join(disk, "filler")
	fill(t, filler)
	e := p.wait(c, out, errs)
	if e.code != 10 || e.result.Reason != "storage_error" || !strings.Contains(e.errs, "uzda resume s") {
		t.Fatalf("exit %d, %+v\n%s", e.code, e.result, e.errs)
	}
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	p.says(0, []string{"doctor"}, "every body and every chain")
	if e := p.run("resume", "s"); e.code != 0 || e.result.Answer != "All done." {
		t.Errorf("with space again: exit %d, %+v\n%s", e.code, e.result, e.errs)
	}
}

// fill takes all the space of a disk.
func fill(t *testing.T, path string) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for size := 64 << 10; size > 0; size /= 2 {
		for err = nil; err == nil; {
			_, err = f.Write(make([]byte, size))
		}
	}
}
