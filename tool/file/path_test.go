package file_test

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/uzda-dev/uzda/tool/file"
)

const secret = "the secret of somebody else"

// outside makes a folder beside the desk that nothing may reach.
func (d *desk) outside() string {
	d.t.Helper()
	dir := d.t.TempDir()
	put(d.t, filepath.Join(dir, "secret"), secret)
	put(d.t, filepath.Join(dir, "sub", "deep"), secret)
	return dir
}

// intact: nothing was made, changed or deleted there.
func intact(t testing.TB, dir string) {
	t.Helper()
	has(t, filepath.Join(dir, "secret"), secret)
	has(t, filepath.Join(dir, "sub", "deep"), secret)
	n := 0
	err := filepath.WalkDir(dir, func(string, os.DirEntry, error) error { n++; return nil })
	if err != nil || n != 4 {
		t.Errorf("%d entries outside, want 4 (%v)", n, err)
	}
}

// Links, dots and names that lead out of the folder are refused by every tool, and
// nothing outside is read, made or changed.
func TestNothingLeads(t *testing.T) { // case:P06
	t.Parallel()
	d := newDesk(t)
	out := d.outside()
	d.put("in/here", "inside\n")
	d.link(out, "dirlink")
	d.link(filepath.Join(out, "secret"), "filelink")
	d.link(filepath.Join(out, "new"), "dangling")
	d.link("dirlink", "twice")
	d.link("dirlink/../"+filepath.Base(out)+"/secret", "dots")
	d.link("../../../../../../../../../../etc/passwd", "far")
	d.link("circle", "circle")
	sibling := d.dir + "-secrets"
	put(t, filepath.Join(sibling, "secret"), secret)
	t.Cleanup(func() { _ = os.RemoveAll(sibling) })
	for _, p := range []string{
		"dirlink/secret", "dirlink/sub/deep", "filelink", "twice/secret", "dots", "far", "circle", "circle/x",
		"../" + filepath.Base(out) + "/secret", "in/../../" + filepath.Base(out) + "/secret", "../../../../etc/passwd",
		"dirlink/../secret", "dirlink/../" + filepath.Base(out) + "/secret", filepath.Join(out, "secret"), sibling + "/secret",
		"/etc/passwd", "/proc/self/root/etc/passwd", "/proc/self/environ", "/dev/null", "in/here\x00", "\x00", d.dir + "/../" + filepath.Base(sibling) + "/secret",
		"//etc/passwd", "/", "..", "./..", "dirlink/.", "dirlink/new", "dangling", "dangling/x",
	} {
		for _, use := range [][]any{
			{"read_file", "path", p}, {"write_file", "path", p, "content", "owned"}, {"edit_file", "path", p, "old", "secret", "new", "owned"},
			{"grep", "path", p, "pattern", "secret"}, {"glob", "path", p, "pattern", "**/*"}, {"delete_file", "path", p + "/x"},
		} {
			res := d.call(use[0].(string), use[1:]...)
			if text := res.Blocks.String(); !res.IsError || strings.Contains(text, secret) || strings.Contains(text, "root:") {
				t.Errorf("%v: %s", use, text)
			}
		}
	}
	intact(t, out)
	has(t, filepath.Join(sibling, "secret"), secret)
	if text := d.ok("grep", "pattern", "secret"); strings.Contains(text, secret) {
		t.Errorf("grep followed a link: %s", text)
	}
	if text := d.ok("glob", "pattern", "**/*"); strings.Contains(text, "deep") || !strings.Contains(text, "in/here") {
		t.Errorf("glob followed a link: %s", text)
	}
	d.clean()
}

// A link that stays inside works, relative or absolute, and so does a root that is
// a link itself; deleting a link leaves what it leads to.
func TestLinksInside(t *testing.T) { // case:P06
	t.Parallel()
	d := newDesk(t)
	d.put("real/file", "text\n")
	d.link("real", "rel")
	d.link(d.path("real/file"), "abs")
	d.link("../real/../rel/file", "real/up")
	d.link("real/later", "promised")
	d.link(d.dir, "self")
	for _, p := range []string{"rel/file", "abs", "real/up", "rel/../real/file", "self/self/rel/file", d.dir + "/abs", "./real//file"} {
		if text := d.ok("read_file", "path", p); !strings.Contains(text, "1\ttext") {
			t.Errorf("%s: %s", p, text)
		}
	}
	d.ok("edit_file", "path", "abs", "old", "text", "new", "words")
	d.has("real/file", "words\n")
	if info, err := os.Lstat(d.path("abs")); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Error("the edit replaced the link, not where it leads")
	}
	d.ok("write_file", "path", "promised", "content", "kept\n")
	d.has("real/later", "kept\n")
	d.ok("delete_file", "path", "rel")
	d.gone("rel")
	d.has("real/file", "words\n")

	top := filepath.Join(t.TempDir(), "root")
	if err := os.Symlink(d.dir, top); err != nil {
		t.Fatal(err)
	}
	d.dir = top
	if text := d.ok("read_file", "path", "real/file"); !strings.Contains(text, "words") {
		t.Error(text)
	}
	if text := d.ok("write_file", "path", top+"/real/new", "content", "x\n"); !strings.Contains(text, "Made real/new") {
		t.Error(text)
	}
}

// Somebody swaps a folder for a link again and again, between check and use: no
// round reads or writes outside.
func TestSwappedLinks(t *testing.T) { // case:P06
	t.Parallel()
	d := newDesk(t)
	out := d.outside()
	d.put("dir/secret", "harmless\n")
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			_ = os.Rename(d.path("dir"), d.path("away"))
			_ = os.Symlink(out, d.path("dir"))
			_ = os.Remove(d.path("dir"))
			_ = os.Rename(d.path("away"), d.path("dir"))
			_ = os.Rename(d.path("dir/secret"), d.path("dir/aside"))
			_ = os.Symlink(filepath.Join(out, "secret"), d.path("dir/secret"))
			_ = os.Remove(d.path("dir/secret"))
			_ = os.Rename(d.path("dir/aside"), d.path("dir/secret"))
		}
	})
	defer wg.Wait()
	end := sync.OnceFunc(func() { close(stop) })
	defer end()
	read, refused := 0, 0
	rounds := 1500
	if testing.Short() {
		rounds = 300
	}
	for range rounds {
		for _, use := range [][]any{
			{"read_file", "path", "dir/secret"}, {"grep", "pattern", "."}, {"write_file", "path", "dir/made", "content", "x"}, {"delete_file", "path", "dir/made"},
		} {
			res := d.call(use[0].(string), use[1:]...)
			if strings.Contains(res.Blocks.String(), secret) {
				t.Fatalf("%v read outside: %s", use, res.Blocks)
			}
			if res.IsError {
				refused++
			} else {
				read++
			}
		}
	}
	end()
	wg.Wait()
	intact(t, out)
	t.Logf("%d calls went well, %d were refused", read, refused)
	if read == 0 || refused == 0 {
		t.Errorf("%d calls went well, %d were refused: the race was none", read, refused)
	}
}

// A file with a second name is not written: the other name may lie anywhere.
func TestHardLinks(t *testing.T) { // case:P06
	t.Parallel()
	d := newDesk(t)
	out := d.outside()
	if err := os.Link(filepath.Join(out, "secret"), d.path("hard")); err != nil {
		t.Skip("SKIPPED: ", err)
	}
	d.ok("read_file", "path", "hard")
	d.refused([]string{"2 names", "hard links"}, "write_file", "path", "hard", "content", "owned")
	d.refused([]string{"2 names"}, "edit_file", "path", "hard", "old", "secret", "new", "owned")
	intact(t, out)
	d.ok("delete_file", "path", "hard") // one name less; the content stays
	intact(t, out)
}

// Hidden paths are neither read nor listed nor found, by whatever name; protected
// ones are not changed; folders for reading only are only read.
func TestHidden(t *testing.T) { // T2
	t.Parallel()
	extra := t.TempDir()
	put(t, filepath.Join(extra, "lib.go"), "package lib // needle\n")
	d := newDesk(t, func(c *file.Config) {
		c.Hide = func(p string) bool { return strings.EqualFold(filepath.Base(p), ".env") || filepath.Base(p) == "vault" }
		c.Protect = func(p string) bool { return filepath.Base(p) == "uzda.yaml" }
		c.ReadOnly = []string{extra}
	})
	d.put(".env", "needle=1\n")
	d.put("vault/inner/key", "needle\n")
	d.put("uzda.yaml", "needle: 2\n")
	d.put("plain", "needle\n")
	d.link(".env", "alias")
	d.link("vault/inner", "way")
	for _, p := range []string{".env", "alias", "vault/inner/key", "way/key", "vault", "plain/../.env", ".ENV"} {
		d.refused([]string{"hidden"}, "read_file", "path", p)
		d.refused(nil, "write_file", "path", p, "content", "x")
		d.refused([]string{"hidden"}, "grep", "path", p, "pattern", "needle")
		if p != "alias" {
			d.refused([]string{"hidden"}, "delete_file", "path", p)
		}
	}
	d.refused([]string{"hidden"}, "delete_file", "path", "vault", "recursive", true)
	if text := d.ok("grep", "pattern", "needle", "all", true); !strings.Contains(text, "plain:1") || strings.Contains(text, "env") || strings.Contains(text, "key") {
		t.Error(text)
	}
	if text := d.ok("glob", "pattern", "**/*"); strings.Contains(text, ".env") || strings.Contains(text, "key") {
		t.Error(text)
	}
	if text := d.ok("read_file", "path", "."); strings.Contains(text, ".env\t") || strings.Contains(text, "vault/\n") {
		t.Error(text)
	}
	d.ok("read_file", "path", "uzda.yaml")
	d.refused([]string{"not changed by tools"}, "edit_file", "path", "uzda.yaml", "old", "2", "new", "3")
	d.refused([]string{"not changed by tools"}, "delete_file", "path", "uzda.yaml")
	lib := filepath.Join(extra, "lib.go")
	d.ok("read_file", "path", lib)
	if text := d.ok("grep", "path", extra, "pattern", "needle"); !strings.Contains(text, lib+":1:") {
		t.Error(text)
	}
	d.refused([]string{"only be read"}, "edit_file", "path", lib, "old", "lib", "new", "x")
	d.refused([]string{"only be read"}, "write_file", "path", filepath.Join(extra, "new"), "content", "x")
	d.refused([]string{"only be read"}, "delete_file", "path", lib)
}

// What the tools remember is out of their own reach.
func TestStateIsHidden(t *testing.T) { // T2
	t.Parallel()
	d := newDesk(t)
	d.state = d.path("data/state")
	d.open()
	d.ok("write_file", "path", "a", "content", "x\n")
	d.refused([]string{"hidden"}, "read_file", "path", "data/state")
	if text := d.ok("glob", "pattern", "**/*", "all", true); text != "a\n" {
		t.Error(text)
	}
}
