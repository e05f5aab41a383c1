package file_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/tool/file"
)

func (d *desk) undo(o file.UndoOptions) (file.Undone, error) {
	d.t.Helper()
	return d.files.Undo(d.t.Context(), session, o)
}

// An undo that is killed while it puts a folder back is gone on with by the next
// one: no file stays empty, torn or beside its name.
func TestUndoKilled(t *testing.T) { // T2, case:S06
	t.Parallel()
	for round := range 3 {
		d := newDesk(t)
		for i := range 300 {
			d.put(fmt.Sprintf("big/f%d", i), fmt.Sprintf("content %d\n", i))
		}
		before := picture(t, d.dir)
		d.ok("delete_file", "path", "big", "recursive", true)
		c := exec.Command(os.Args[0])
		c.Env = append(os.Environ(), "FILE_TEST_CHILD="+d.dir, "FILE_TEST_STATE="+d.state, "FILE_TEST_UNDO=1")
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		for end := time.Now().Add(20 * time.Second); time.Now().Before(end); {
			if list, _ := os.ReadDir(d.path("big")); len(list) > round*60 {
				break
			}
		}
		_ = c.Process.Kill()
		_ = c.Wait()
		d.open()
		if _, err := d.undo(file.UndoOptions{}); err != nil {
			t.Fatal(err)
		}
		if now := picture(t, d.dir); now != before {
			t.Errorf("round %d: not as it was:\n%.500s", round, now)
		}
		d.clean()
	}
}

// What stands in the place of a deleted folder is compared: a file that differs is
// somebody's, until forced; others' files beside it stay.
func TestUndoCompares(t *testing.T) { // T2
	t.Parallel()
	d := newDesk(t)
	d.put("big/a", "a\n")
	d.put("big/in/b", "b\n")
	d.link("a", "big/link")
	d.ok("delete_file", "path", "big", "recursive", true)
	d.put("big/a", "") // torn
	d.put("big/more", "somebody's\n")
	got, err := d.undo(file.UndoOptions{})
	if !errors.Is(err, file.ErrClash) || len(got.Clash) != 1 || got.Clash[0] != d.path("big/a") {
		t.Errorf("%v, %v", got, err)
	}
	d.gone("big/in")
	if _, err := d.undo(file.UndoOptions{Force: true}); err != nil {
		t.Fatal(err)
	}
	d.has("big/a", "a\n")
	d.has("big/in/b", "b\n")
	d.has("big/link", "a\n")
	d.has("big/more", "somebody's\n")
	d.clean()
}

// Changes in a folder that was deleted afterwards are put back behind it, and so is
// a folder that was made anew after it was deleted.
func TestUndoWithin(t *testing.T) { // T2
	t.Parallel()
	d := newDesk(t)
	d.put("big/a", "one\n")
	d.put("big/b", "b\n")
	before := picture(t, d.dir)
	d.ok("read_file", "path", "big/a")
	d.ok("edit_file", "path", "big/a", "old", "one", "new", "two")
	d.ok("write_file", "path", "big/new/c", "content", "c\n")
	d.ok("delete_file", "path", "big", "recursive", true)
	d.ok("write_file", "path", "big/a", "content", "three\n") // its own deletion needs no look
	if _, err := d.undo(file.UndoOptions{}); err != nil {
		t.Fatal(err)
	}
	if now := picture(t, d.dir); now != before {
		t.Errorf("not as it was:\n%s\nwas\n%s", now, before)
	}
}

// What cannot be put back is named with the reason, and does not keep the rest from
// it; when the reason is gone, it is put back too.
func TestUndoPartly(t *testing.T) { // T2, case:P06
	t.Parallel()
	d := newDesk(t)
	out := d.outside()
	d.put("a", "a\n")
	d.put("s/n", "n\n")
	d.put("s/m", "m\n")
	for _, p := range []string{"a", "s/n", "s/m"} {
		d.ok("read_file", "path", p)
		d.ok("edit_file", "path", p, "old", "\n", "new", "!\n")
	}
	d.ok("delete_file", "path", "s/m")
	if err := os.Rename(d.path("s"), d.path("kept")); err != nil {
		t.Fatal(err)
	}
	d.link(out, "s")
	for _, force := range []bool{false, true} {
		got, err := d.undo(file.UndoOptions{Force: force})
		if !errors.Is(err, file.ErrPartly) || len(got.Failed) != 2 || got.Failed[1].Path != d.path("s/n") || !strings.Contains(err.Error(), "s is a link now") {
			t.Errorf("%+v, %v", got, err)
		}
		d.has("a", "a\n")
	}
	intact(t, out)
	if err := errors.Join(os.Remove(d.path("s")), os.Rename(d.path("kept"), d.path("s"))); err != nil {
		t.Fatal(err)
	}
	if got, err := d.undo(file.UndoOptions{}); err != nil || len(got.Restored) != 2 {
		t.Errorf("%v, %v", got, err)
	}
	d.has("s/n", "n\n")
	d.has("s/m", "m\n")

	d.ok("write_file", "path", "a", "content", "b\n")
	if err := os.Rename(d.dir, d.dir+"-away"); err != nil {
		t.Fatal(err)
	}
	if _, err := d.undo(file.UndoOptions{}); !errors.Is(err, file.ErrPartly) || !strings.Contains(err.Error(), "is gone: make it again") {
		t.Error(err)
	}
	if err := os.Rename(d.dir+"-away", d.dir); err != nil {
		t.Fatal(err)
	}
}

// The lists of an undo are never null, since programs read them.
func TestUndoneLists(t *testing.T) { // T2
	t.Parallel()
	d := newDesk(t)
	got, err := d.undo(file.UndoOptions{})
	raw, _ := json.Marshal(got)
	if err != nil || string(raw) != `{"restored":[],"removed":[]}` {
		t.Errorf("%s, %v", raw, err)
	}
}

// What a session's own commands printed may be read by that session alone.
func TestReadOnlyOf(t *testing.T) { // case:P06
	t.Parallel()
	kept := t.TempDir()
	put(t, filepath.Join(kept, session.Folder(), "out"), "mine\n")
	put(t, filepath.Join(kept, "other", "out"), "theirs\n")
	d := newDesk(t, func(c *file.Config) {
		c.ReadOnlyOf = func(id uzda.SessionID) []string { return []string{filepath.Join(kept, id.Folder())} }
	})
	own := filepath.Join(kept, session.Folder(), "out")
	if text := d.ok("read_file", "path", own); !strings.Contains(text, "mine") {
		t.Error(text)
	}
	d.refused([]string{"only be read"}, "write_file", "path", own, "content", "x")
	d.refused([]string{"outside"}, "read_file", "path", filepath.Join(kept, "other", "out"))
	d.refused([]string{"outside"}, "grep", "path", kept, "pattern", "s")
	u := d.use("read_file", in("path", own))
	u.Session = "another"
	if res := d.run(u); !res.IsError {
		t.Errorf("%s", res.Blocks)
	}
}

// A version that was read and changed since is not deleted, nor one in a folder; and
// a file that is gone since is not made again without a look.
func TestSeenAndGone(t *testing.T) { // T2
	t.Parallel()
	d := newDesk(t)
	for _, p := range []string{"a", "dir/b"} {
		d.put(p, "one\n")
		d.ok("read_file", "path", p)
		d.put(p, "two\n")
	}
	d.put("never", "read\n")
	d.refused([]string{"has changed since"}, "delete_file", "path", "a")
	d.refused([]string{"dir/b", "has changed since"}, "delete_file", "path", "dir", "recursive", true)
	d.has("dir/b", "two\n")
	d.ok("delete_file", "path", "never")
	d.ok("write_file", "path", "never", "content", "own deletion\n")
	for _, p := range []string{"a", "dir/b"} {
		d.ok("read_file", "path", p)
	}
	d.ok("delete_file", "path", "dir", "recursive", true)
	if err := os.Remove(d.path("a")); err != nil {
		t.Fatal(err)
	}
	d.refused([]string{"has deleted it since", "read_file"}, "write_file", "path", "a", "content", "x\n")
	d.refused([]string{"has deleted it since"}, "write_file", "path", "a", "content", "x\n")
	d.refused([]string{"no file"}, "read_file", "path", "a")
	d.open()
	d.ok("write_file", "path", "a", "content", "x\n")
	d.has("a", "x\n")
}

// A link is deleted by itself, wherever it leads: out, nowhere, in a circle.
func TestDeleteLinks(t *testing.T) { // case:P06
	t.Parallel()
	d := newDesk(t)
	out := d.outside()
	d.put("sub/x", "x")
	for name, to := range map[string]string{"out": out, "sub/file": filepath.Join(out, "secret"), "dangling": "nowhere/at/all", "circle": "circle", "odd": "a\xffb", "far": "/proc/self/environ"} {
		d.link(to, name)
	}
	before := picture(t, d.dir)
	for _, name := range []string{"out", "sub/file", "dangling", "circle", "far", "odd"} {
		if text := d.ok("delete_file", "path", name); !strings.Contains(text, "Deleted the link "+name) {
			t.Error(text)
		}
		d.gone(name)
	}
	intact(t, out)
	d.open()
	if _, err := d.undo(file.UndoOptions{}); err != nil {
		t.Fatal(err)
	}
	if now := picture(t, d.dir); now != before {
		t.Errorf("not as it was:\n%s\nwas\n%s", now, before)
	}
}

// A file that its owner may not write to is not written by way of a new one.
func TestNotOurs(t *testing.T) { // T2
	t.Parallel()
	if os.Geteuid() <= 0 {
		t.Skip("SKIPPED: root may write everything")
	}
	d := newDesk(t)
	d.put("f", "one\n")
	d.ok("read_file", "path", "f")
	if err := os.Chmod(d.path("f"), 0o444); err != nil {
		t.Fatal(err)
	}
	d.refused([]string{"may not be written", "-r--r--r--"}, "edit_file", "path", "f", "old", "one", "new", "two")
	d.refused([]string{"may not be written"}, "write_file", "path", "f", "content", "two\n")
	d.has("f", "one\n")
}

// Names with line breaks, escape codes or broken bytes stand on one line, and may be
// sent as they are shown.
func TestOddNames(t *testing.T) { // T2
	t.Parallel()
	d := newDesk(t)
	names := map[string]string{"a\nb.txt": `a\nb.txt`, "red\x1b[31m.txt": `red\x1b[31m.txt`, "tab\there.txt": `tab\there.txt`, "bad\xff.txt": `bad\xff.txt`, `back\slash.txt`: `back\slash.txt`}
	for name := range names {
		if err := os.WriteFile(d.path(name), []byte("needle\n"), 0o600); err != nil {
			t.Skip("SKIPPED: there are no such names here: ", err)
		}
	}
	before := picture(t, d.dir)
	glob, grep, list := d.ok("glob", "pattern", "*"), d.ok("grep", "pattern", "needle"), d.ok("read_file", "path", ".")
	for _, shown := range names {
		if !strings.Contains("\n"+glob, "\n"+shown+"\n") || !strings.Contains("\n"+grep, "\n"+shown+":1:needle\n") || !strings.Contains(list, "\n"+shown+"\t") {
			t.Errorf("%s is not shown so:\n%s%s%s", shown, glob, grep, list)
		}
		d.ok("read_file", "path", shown)
		d.ok("edit_file", "path", shown, "old", "needle", "new", "pin")
		if text := d.ok("delete_file", "path", shown); !strings.HasPrefix(text, "Deleted "+shown+" (") {
			t.Error(text)
		}
	}
	if list, err := os.ReadDir(d.dir); err != nil || len(list) != 0 {
		t.Errorf("%v, %v", list, err)
	}
	d.open()
	if _, err := d.undo(file.UndoOptions{}); err != nil {
		t.Fatal(err)
	}
	if now := picture(t, d.dir); now != before {
		t.Errorf("not as it was:\n%s\nwas\n%s", now, before)
	}
	d.refused([]string{`no file "\x2e\x2e"`}, "read_file", "path", `\x2e\x2e`) // no second name for what has one
	long := d.refused([]string{"…"}, "read_file", "path", strings.Repeat("long/", 800)+"x")
	if len(long) > 1500 {
		t.Errorf("%d bytes: %.200s", len(long), long)
	}
}

// Strange bytes far down are told and shown, and the edit sees the same text as the
// reader did.
func TestStrayBytes(t *testing.T) { // T2, case:T13
	t.Parallel()
	d := newDesk(t)
	d.put("log", strings.Repeat("an ordinary line\n", 20000)+"stray \xff\xfe\x80 bytes\nend\n")
	if text := d.ok("read_file", "path", "log", "offset", -3); !strings.Contains(text, `stray \xff\xfe\x80 bytes`) || !strings.Contains(text, `shown as \xNN`) {
		t.Error(text)
	}
	if text := d.ok("edit_file", "path", "log", "old", "end", "new", "END"); strings.Contains(text, "stays in") {
		t.Error(text)
	}
	d.refused([]string{"a byte that is no text"}, "edit_file", "path", "log", "old", `stray \xff`, "new", "x")
	cyrillic, err := os.ReadFile(d.path("log"))
	if err != nil || !strings.HasSuffix(string(cyrillic), "\xff\xfe\x80 bytes\nEND\n") {
		t.Errorf("%v: %q", err, uzda.After(string(cyrillic), 40))
	}
	d.put("late", strings.Repeat("an ordinary line\n", 20000)+strings.Repeat("\xce\xf8\xe8\xe1\xea\xe0: \xf4\xe0\xe9\xeb \xed\xe5 \xed\xe0\xe9\xe4\xe5\xed\n", 3))
	if text := d.ok("read_file", "path", "late", "offset", -3); !strings.Contains(text, "Ошибка: файл не найден") || !strings.Contains(text, "Windows-1251") {
		t.Error(text)
	}
	if text := d.ok("edit_file", "path", "late", "old", "найден", "new", "тут", "all", true); !strings.Contains(text, "It stays in Windows-1251") {
		t.Error(text)
	}
	d.put("nul", "\x00needle\n")
	d.refused([]string{"is no text (binary data, 8 bytes)"}, "grep", "path", "nul", "pattern", "needle")
	d.put("ctl", "\x01\x02\x03")
	if text := d.ok("read_file", "path", "ctl"); text != "ctl is binary data, 3 bytes. It is not shown, since it is no text." {
		t.Error(text)
	}
}

// Lines are named once, and what is too much to show is described.
func TestWordings(t *testing.T) { // T2
	t.Parallel()
	d := newDesk(t)
	d.put("a", "x x x\nx\ny\n")
	d.ok("read_file", "path", "a")
	d.refused([]string{"4 times", "on lines 1, 2:"}, "edit_file", "path", "a", "old", "x", "new", "z")
	if text := d.ok("edit_file", "path", "a", "old", "x", "new", "z", "all", true); !strings.Contains(text, "4 places, on lines 1, 2, ") {
		t.Error(text)
	}
	d.put("b", "x x x\n")
	d.ok("read_file", "path", "b")
	if text := d.ok("edit_file", "path", "b", "old", "x", "new", "z", "all", true); !strings.Contains(text, "3 places, on line 1, ") {
		t.Error(text)
	}
	text, _, err := d.tool("write_file").(uzda.Previewer).Preview(t.Context(), d.use("write_file", in("path", "wide", "content", strings.Repeat("x", 3000000))))
	if err != nil || !strings.Contains(text, "(too much to show: 1 line of 3,000,000 bytes come in at line 1)") {
		t.Errorf("%v: %s", err, text)
	}
}

// A path of a thousand folders costs its length, not its square: two minutes are
// ten times too much here, and a tenth of what they would take.
func TestDeepPaths(t *testing.T) { // T2
	t.Parallel()
	d := newDesk(t)
	deep := strings.Repeat("a/", 1000) + "x"
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	for _, u := range []uzda.Use{d.use("write_file", in("path", deep, "content", "W\n")), d.use("read_file", in("path", deep)), d.use("grep", in("pattern", "W")),
		d.use("delete_file", in("path", "a", "recursive", true))} {
		res, err := d.tool(u.Name).Call(ctx, u)
		if err != nil || res.IsError {
			t.Fatalf("%s: %v %.300s", u.Name, err, res.Blocks)
		}
	}
	d.gone("a")
	got, err := d.files.Undo(ctx, session, file.UndoOptions{Since: 1})
	if err != nil || len(got.Restored) != 1 {
		t.Fatal(err)
	}
	if text := d.ok("read_file", "path", deep); !strings.Contains(text, "W") {
		t.Error(text)
	}
}
