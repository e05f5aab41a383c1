package file_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/tool/file"
)

// picture is what a folder holds: names, modes, bytes, where links lead.
func picture(t testing.TB, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(name string, e os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		data, to := []byte(nil), ""
		switch {
		case info.Mode().IsRegular():
			data, err = os.ReadFile(name)
		case info.Mode()&os.ModeSymlink != 0:
			to, err = os.Readlink(name)
		}
		fmt.Fprintf(&b, "%s %v %q %s\n", strings.TrimPrefix(name, dir), info.Mode(), data, to)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// All that a session changed is put back, also after a restart: edits, new files
// with their folders, deleted files, folders and links.
func TestUndo(t *testing.T) { // T2
	t.Parallel()
	d := newDesk(t)
	d.put("a.txt", "one\r\ntwo\r\n")
	d.put("run.sh", "#!/bin/sh\n")
	if err := os.Chmod(d.path("run.sh"), 0o755); err != nil {
		t.Fatal(err)
	}
	d.put("old/deep/er/x", "x")
	d.put("old/y", "\x00\xff")
	d.link("deep", "old/link")
	d.link("a.txt", "alias")
	before := picture(t, d.dir)
	for _, p := range []string{"a.txt", "run.sh"} {
		d.ok("read_file", "path", p)
	}
	d.ok("edit_file", "path", "a.txt", "old", "one", "new", "1")
	d.ok("edit_file", "path", "a.txt", "old", "two", "new", "2")
	d.ok("write_file", "path", "a.txt", "content", "all new\n")
	d.ok("edit_file", "path", "run.sh", "old", "sh", "new", "bash", "all", true)
	if info, err := os.Stat(d.path("run.sh")); err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("the mode is lost: %v, %v", info.Mode(), err)
	}
	d.ok("write_file", "path", "new/folder/f", "content", "f\n")
	d.ok("edit_file", "path", "new/folder/f", "old", "f", "new", "g")
	d.ok("write_file", "path", "brief", "content", "f\n")
	d.ok("delete_file", "path", "brief")
	d.ok("delete_file", "path", "alias")
	d.refused([]string{"recursive"}, "delete_file", "path", "old")
	d.ok("delete_file", "path", "old/y")
	d.ok("delete_file", "path", "old", "recursive", true)
	d.gone("old")
	d.open()
	changes, err := d.files.Changes(session)
	if err != nil || len(changes) != 11 || changes[0].What != "changed" || changes[4].What != "made" || changes[10].What != "deleted" || changes[0].Path != d.path("a.txt") {
		t.Errorf("%v: %+v", err, changes)
	}
	got, err := d.files.Undo(t.Context(), session, file.UndoOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if now := picture(t, d.dir); now != before {
		t.Errorf("not as it was:\n%s\nwas\n%s\n%s", now, before, got)
	}
	if !slices.Contains(got.Removed, d.path("new/folder/f")) || !slices.Contains(got.Restored, d.path("old")) {
		t.Errorf("%s", got)
	}
	if again, err := d.files.Undo(t.Context(), session, file.UndoOptions{}); err != nil || again.String() != "nothing to undo\n" {
		t.Errorf("%v, %v", again, err)
	}
	d.ok("edit_file", "path", "a.txt", "old", "one", "new", "uno") // what was put back is known
	d.clean()
}

// What somebody else changed since is not overwritten, unless forced; changes after
// a number can be put back alone.
func TestUndoClash(t *testing.T) { // T2
	t.Parallel()
	d := newDesk(t)
	d.put("a", "a\n")
	d.put("b", "b\n")
	d.ok("read_file", "path", "a")
	d.ok("read_file", "path", "b")
	d.ok("edit_file", "path", "a", "old", "a", "new", "A")
	d.ok("edit_file", "path", "b", "old", "b", "new", "B")
	d.put("a", "somebody's\n")
	got, err := d.files.Undo(t.Context(), session, file.UndoOptions{})
	if !errors.Is(err, file.ErrClash) || len(got.Clash) != 1 || got.Clash[0] != d.path("a") {
		t.Fatalf("%v, %v", got, err)
	}
	d.has("b", "B\n")
	if _, err := d.files.Undo(t.Context(), session, file.UndoOptions{Since: 1}); err != nil {
		t.Fatal(err)
	}
	d.has("b", "b\n")
	d.has("a", "somebody's\n")
	if _, err := d.files.Undo(t.Context(), session, file.UndoOptions{Force: true}); err != nil {
		t.Fatal(err)
	}
	d.has("a", "a\n")
}

// Old bytes are bounded: the oldest go first, and undo says what it cannot put back.
// What a session keeps goes when the session is old.
func TestPruning(t *testing.T) { // T2
	t.Parallel()
	d := newDesk(t, func(c *file.Config) { c.Keep = 2500 })
	for _, n := range []string{"a", "b", "c"} {
		d.put(n, strings.Repeat(n, 1000))
		d.ok("read_file", "path", n)
		d.ok("write_file", "path", n, "content", n)
	}
	got, err := d.files.Undo(t.Context(), session, file.UndoOptions{})
	if err != nil || len(got.Lost) != 1 || got.Lost[0] != d.path("a") || len(got.Restored) != 2 {
		t.Errorf("%v, %v", got, err)
	}
	d.has("a", "a")
	d.has("c", strings.Repeat("c", 1000))
	if n, _, err := d.files.Prune(t.Context(), time.Now().Add(-time.Hour)); n != 0 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	if n, size, err := d.files.Prune(t.Context(), time.Now().Add(time.Hour)); n != 1 || size < 2000 || err != nil {
		t.Errorf("%d, %d, %v", n, size, err)
	}
	if c, err := d.files.Changes(session); err != nil || len(c) != 0 {
		t.Errorf("%v, %v", c, err)
	}
}

// A use that runs again with its key, after a crash or a retry, does not do its
// change twice, and one that never came to it does it then.
func TestOnceByKey(t *testing.T) { // case:S06
	t.Parallel()
	d := newDesk(t)
	d.put("log", "end\n")
	d.put("dir/x", "x")
	d.ok("read_file", "path", "log")
	grow := d.use("edit_file", in("path", "log", "old", "end", "new", "line\nend"))
	add := d.use("write_file", in("path", "made", "content", "1\n"))
	drop := d.use("delete_file", in("path", "dir", "recursive", true))
	for range 3 {
		for _, u := range []uzda.Use{grow, add, drop} {
			if res := d.run(u); res.IsError {
				t.Errorf("%s: %s", u.Name, res.Blocks)
			}
			if p, err := d.tool(u.Name).(uzda.Prober).Probe(t.Context(), u.Key); !p || err != nil {
				t.Errorf("%s is not known to have happened: %v", u.Name, err)
			}
		}
		d.open()
	}
	d.has("log", "line\nend\n")
	if c, err := d.files.Changes(session); err != nil || len(c) != 3 {
		t.Errorf("%v, %v", c, err)
	}
	if p, err := d.tool("edit_file").(uzda.Prober).Probe(t.Context(), "no such key"); p || err != nil {
		t.Errorf("%v, %v", p, err)
	}

	// begun, but the program ended before the change: the record lies there alone
	next := d.use("edit_file", in("path", "log", "old", "end", "new", "fine"))
	if res := d.run(next); res.IsError {
		t.Fatal(res.Blocks)
	}
	d.put("log", "line\nend\n")
	d.forget(t)
	d.ok("read_file", "path", "log")
	if p, err := d.tool("edit_file").(uzda.Prober).Probe(t.Context(), next.Key); p || err != nil {
		t.Errorf("%v, %v", p, err)
	}
	next.Attempt = 2
	if res := d.run(next); res.IsError {
		t.Error(res.Blocks)
	}
	d.has("log", "line\nfine\n")

	// begun, and then somebody else changed the file
	last := d.use("edit_file", in("path", "log", "old", "fine", "new", "good"))
	if res := d.run(last); res.IsError {
		t.Fatal(res.Blocks)
	}
	d.put("log", "other\n")
	d.forget(t)
	if res := d.run(last); !res.IsError || res.Code != uzda.CodeOutcomeUnknown || res.Effect != uzda.EffectUnknown || !strings.Contains(res.Blocks.String(), "Read it again") {
		t.Errorf("%s", res.Blocks)
	}
}

// forget takes away the last line of the list of changes, which says that the last
// change took effect.
func (d *desk) forget(t *testing.T) {
	t.Helper()
	name := filepath.Join(d.state, session.Folder(), "changes.jsonl")
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(strings.TrimSuffix(string(data), "\n"), "\n")
	if err := os.WriteFile(name, []byte(strings.Join(lines[:len(lines)-1], "")+`{"n":9,"st`), 0o600); err != nil {
		t.Fatal(err)
	}
	d.open()
}

const childSize = 1 << 20

// child writes a file over and over, until it is killed.
func child() {
	f, err := file.New(file.Config{State: os.Getenv("FILE_TEST_STATE")})
	if err != nil {
		panic(err)
	}
	if os.Getenv("FILE_TEST_UNDO") != "" {
		if _, err := f.Undo(context.Background(), session, file.UndoOptions{}); err != nil {
			panic(err)
		}
		return
	}
	for _, tl := range f.Tools() {
		if tl.Spec().Name != "write_file" {
			continue
		}
		for i := 0; ; i++ {
			text := strings.Repeat(string(rune('a'+i%26)), childSize)
			u := uzda.Use{Session: session, Name: "write_file", Key: fmt.Sprint(os.Getpid(), i), Dir: os.Getenv("FILE_TEST_CHILD"), Input: in("path", "f", "content", text)}
			res, err := tl.Call(context.Background(), u)
			if err != nil || res.IsError {
				fmt.Println("failed", err, res.Blocks)
				os.Exit(1)
			}
			fmt.Println(i)
		}
	}
}

// Killed at any moment, the file is the old one or the new one, whole; and all can
// still be undone.
func TestKilled(t *testing.T) { // T2, case:S06
	t.Parallel()
	d := newDesk(t)
	d.put("f", "the first\n")
	d.ok("read_file", "path", "f")
	for round := range 8 {
		c := exec.Command(os.Args[0])
		c.Env = append(os.Environ(), "FILE_TEST_CHILD="+d.dir, "FILE_TEST_STATE="+d.state)
		out, err := c.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		r := bufio.NewReader(out)
		for range 1 + round%3 {
			line, err := r.ReadString('\n')
			if err != nil || strings.HasPrefix(line, "failed") {
				t.Fatalf("round %d: %q, %v", round, line, err)
			}
		}
		time.Sleep(time.Duration(round) * 3 * time.Millisecond)
		if err := c.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = c.Wait()
		data, err := os.ReadFile(d.path("f"))
		if err != nil {
			t.Fatal(err)
		}
		if len(data) != childSize || strings.Trim(string(data), string(data[:1])) != "" {
			t.Fatalf("round %d: %d bytes, %.20q: neither the old nor the new file", round, len(data), data)
		}
	}
	d.open()
	if _, err := d.files.Undo(t.Context(), session, file.UndoOptions{}); err != nil {
		t.Fatal(err)
	}
	d.has("f", "the first\n")
}
