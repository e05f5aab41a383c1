//go:build unix

package guide_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"unicode/utf8"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/guide"
)

// tree makes files below a folder; a name that ends with / is a folder.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		path := filepath.Join(dir, name)
		folder := filepath.Dir(path)
		if strings.HasSuffix(name, "/") {
			folder = path
		}
		if err := os.MkdirAll(folder, 0o755); err != nil {
			t.Fatal(err)
		}
		if folder == path {
			continue
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func everything(string) bool { return true }

// P4: from the root of the repository down to the directory, the nearest last, each
// with its path; the first name of a folder counts.
func TestOrder(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{
		"own/AGENTS.md": "own words", "AGENTS.md": "above the repository", "repo/.git/": "", "repo/AGENTS.md": "root words", "repo/CLAUDE.md": "not these",
		"repo/a/CLAUDE.md": "middle words", "repo/a/b/GEMINI.md": "near words", "repo/a/b/c/AGENTS.md": "below",
	})
	at := filepath.Join(dir, "repo/a/b")
	top := guide.Top(at, "")
	if top != filepath.Join(dir, "repo") {
		t.Fatalf("the top is %s", top)
	}
	g := guide.Tree{Top: top, Dir: at, Own: filepath.Join(dir, "own/AGENTS.md"), Trusts: everything}.Read()
	last := -1
	for _, want := range []string{`file="AGENTS.md of the user, for all work"`, "own words", `file="../../AGENTS.md"`, "root words", `file="../CLAUDE.md"`, "middle words", `file="GEMINI.md"`, "near words"} {
		i := strings.Index(g.Text, want)
		if i <= last {
			t.Errorf("%q stands at %d, after %d", want, i, last)
		}
		last = i
	}
	for _, not := range []string{"above the repository", "not these", "below"} {
		if strings.Contains(g.Text, not) {
			t.Errorf("it holds %q", not)
		}
	}
	if len(g.Read) != 4 || len(g.Left) != 0 || len(g.Warnings) != 0 {
		t.Errorf("%+v", g)
	}
	if again := (guide.Tree{Top: top, Dir: at, Own: filepath.Join(dir, "own/AGENTS.md"), Trusts: everything}).Read(); again.Text != g.Text { // M4
		t.Error("the same files give other bytes")
	}
}

// P4: what nobody trusts is found, named and not read; the user's own is.
func TestTrust(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{"own/AGENTS.md": "own words", "repo/.git/": "", "repo/AGENTS.md": "evil", "repo/sub/AGENTS.md": "mine"})
	sub := filepath.Join(dir, "repo/sub")
	all := guide.Tree{Top: filepath.Join(dir, "repo"), Dir: sub, Own: filepath.Join(dir, "own/AGENTS.md")}
	g := all.Read()
	if strings.Contains(g.Text, "evil") || strings.Contains(g.Text, "mine") || !strings.Contains(g.Text, "own words") || len(g.Left) != 2 {
		t.Errorf("%+v", g)
	}
	all.Trusts = func(folder string) bool { return folder == sub }
	if g = all.Read(); strings.Contains(g.Text, "evil") || !strings.Contains(g.Text, "mine") || len(g.Left) != 1 || g.Left[0] != filepath.Join(dir, "repo/AGENTS.md") {
		t.Errorf("%+v", g)
	}
}

// P4: the limit holds for all files together; what is farther is cut first, between
// characters, and the model is told.
func TestLimit(t *testing.T) {
	t.Parallel()
	far, near := strings.Repeat("żółw ", 8000), strings.Repeat("łąka ", 4000)
	dir := tree(t, map[string]string{".git/": "", "AGENTS.md": far, "sub/AGENTS.md": near})
	g := guide.Tree{Top: dir, Dir: filepath.Join(dir, "sub"), Trusts: everything}.Read()
	if !strings.Contains(g.Text, strings.TrimSpace(near)) {
		t.Error("the nearest is cut")
	}
	if n := len(g.Text); n > guide.Most+2000 || n < guide.Most-2000 {
		t.Errorf("%d bytes", n)
	}
	if !strings.Contains(g.Text, "bytes of ../AGENTS.md are left out here") || !utf8.ValidString(g.Text) || strings.Contains(g.Text, "\uFFFD") {
		t.Errorf("the cut: …%s", uzda.After(strings.SplitN(g.Text, "</instructions>", 2)[0], 200))
	}
	big := tree(t, map[string]string{"AGENTS.md": strings.Repeat("x", 3<<20)})
	if g = (guide.Tree{Dir: big, Trusts: everything}).Read(); len(g.Text) > guide.Most+2000 || !strings.Contains(g.Text, "of the 3145728 bytes") {
		t.Errorf("%d bytes: %s", len(g.Text), uzda.After(g.Text, 200))
	}
	// Nothing is left for a third one; its place is still named.
	small := guide.Tree{Top: dir, Dir: filepath.Join(dir, "sub"), Trusts: everything, Max: 100}
	if g = small.Read(); strings.Count(g.Text, "are left out here") != 2 {
		t.Errorf("%s", g.Text)
	}
}

// P4: bytes that people's editors write come out as clean text.
func TestEncodings(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, data, want string }{
		{"BOM and CRLF", "\ufeffa\r\nzażółć\r\n", "a\nzażółć"},
		{"UTF-16", "\xff\xfea\x00\r\x00\n\x00\x7c\x01", "a\nż"},
		{"Latin-2", "Ta instrukcja m\xf3wi: za\xbf\xf3\xb3\xe6 g\xea\xb6l\xb1 ja\xbc\xf1 i nic wi\xeacej, prosz\xea.", "zażółć gęślą jaźń"},
		{"old Macs", "a\rb", "a\nb"},
		{"escapes", "a\x1b[31mred\x07", "a[31mred"},
		{"emoji", "🦫 你好", "🦫 你好"},
		{"a stray byte", "caf\xe9", "caf"},
	} {
		dir := tree(t, map[string]string{"AGENTS.md": c.data})
		g := guide.Tree{Dir: dir, Trusts: everything}.Read()
		if !strings.Contains(g.Text, c.want) || !utf8.ValidString(g.Text) || strings.ContainsAny(g.Text, "\r\x1b\x07\ufeff") {
			t.Errorf("%s: %q", c.name, g.Text)
		}
	}
	for _, data := range []string{"\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00", "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR"} {
		g := guide.Tree{Dir: tree(t, map[string]string{"AGENTS.md": data}), Trusts: everything}.Read()
		if g.Text != "" || len(g.Warnings) != 1 || !strings.Contains(g.Warnings[0], "it is no text") {
			t.Errorf("%q: %+v", data, g)
		}
	}
	if g := (guide.Tree{Dir: tree(t, map[string]string{"AGENTS.md": " \n"}), Trusts: everything}).Read(); g.Text != "" {
		t.Errorf("an empty file gives %q", g.Text)
	}
}

// S4: a link out of the tree, a pipe and a folder are not read; a link inside is.
func TestLinks(t *testing.T) {
	t.Parallel()
	secret := tree(t, map[string]string{"secret": "the secret"})
	dir := tree(t, map[string]string{".git/": "", "in/": "", "out/": "", "up/": "", "pipe/": "", "dangling/": "", "folder/AGENTS.md/": "", "docs/rules.md": "the rules"})
	for name, to := range map[string]string{"in/AGENTS.md": "../docs/rules.md", "out/AGENTS.md": filepath.Join(secret, "secret"),
		"up/AGENTS.md": "../../" + filepath.Base(secret) + "/secret", "dangling/AGENTS.md": "nothing"} {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe/AGENTS.md"), 0o600); err != nil {
		t.Fatal(err)
	}
	own := filepath.Join(secret, "AGENTS.md")
	if err := os.Symlink(filepath.Join(dir, "docs/rules.md"), own); err != nil {
		t.Fatal(err)
	}
	if g := (guide.Tree{Dir: secret, Own: own}).Read(); !strings.Contains(g.Text, "the rules") || !strings.Contains(g.Text, "AGENTS.md of the user") {
		t.Errorf("the user's own, linked: %+v", g)
	}
	for folder, want := range map[string]string{"in": "", "out": "a link that leads out", "up": "a link that leads out", "pipe": "it is no file", "folder": "it is no file", "dangling": ""} {
		g := guide.Tree{Top: dir, Dir: filepath.Join(dir, folder), Trusts: everything}.Read()
		if strings.Contains(g.Text, "the secret") || strings.Contains(g.Text, "the rules") != (folder == "in") {
			t.Errorf("%s: %q", folder, g.Text)
		}
		if warned := strings.Join(g.Warnings, "\n"); !strings.Contains(warned, want) || want == "" && warned != "" {
			t.Errorf("%s: it warns %q", folder, warned)
		}
	}
}

// P4: without a repository only the directory's own file counts, and the search for
// one ends at the home folder.
func TestTop(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{"AGENTS.md": "above", "home/a/b/AGENTS.md": "here", "worktree/.git": "gitdir: elsewhere", "worktree/x/": ""})
	at := filepath.Join(dir, "home/a/b")
	if top := guide.Top(at, filepath.Join(dir, "home")); top != at {
		t.Errorf("the top is %s", top)
	}
	if top := guide.Top(filepath.Join(dir, "worktree/x"), ""); top != filepath.Join(dir, "worktree") {
		t.Errorf("the top of a worktree is %s", top)
	}
	g := guide.Tree{Top: "/nonexistent", Dir: at, Trusts: everything}.Read()
	if strings.Contains(g.Text, "above") || !strings.Contains(g.Text, "here") {
		t.Errorf("%q", g.Text)
	}
	if g = (guide.Tree{Dir: "/nonexistent", Own: "/nonexistent/AGENTS.md"}).Read(); g.Text != "" {
		t.Errorf("%q", g.Text)
	}
}

// fileTool stands for a tool that works on a file.
type fileTool struct {
	name  string
	wrong bool
}

func (f fileTool) Spec() uzda.ToolSpec { return uzda.ToolSpec{Name: f.name, Unchecked: true} }

func (f fileTool) Call(context.Context, uzda.Use) (uzda.Result, error) {
	return uzda.Result{Blocks: uzda.Say("done"), IsError: f.wrong}, nil
}

func touch(t *testing.T, n *guide.Nested, tool uzda.Tool, dir string, id uzda.UseID, path string) string {
	t.Helper()
	input, err := json.Marshal(map[string]string{"path": path})
	if err != nil {
		t.Fatal(err)
	}
	res, err := n.Wrap(tool).Call(t.Context(), uzda.Use{Session: "s", ID: id, Name: tool.Spec().Name, Input: input, Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, b := range res.Blocks {
		all = append(all, b.(uzda.Text).Text)
	}
	return strings.Join(all, "\n")
}

// P4: a folder's own instructions come with the first result that touches it, once a
// session, also after a restart, and again when they have changed.
func TestNested(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{".git/": "", "AGENTS.md": "top", "sub/AGENTS.md": "sub words", "sub/deep/AGENTS.md": "deep words", "sub/deep/x.go": "", "sub/y.go": "",
		"node_modules/m/AGENTS.md": "not mine", "beside/AGENTS.md": "beside words", "work/": ""})
	state := t.TempDir()
	mk := func(at string) *guide.Nested {
		return &guide.Nested{Tree: guide.Tree{Top: dir, Dir: filepath.Join(dir, at), Trusts: everything}, State: state, Warn: func(s string) { t.Error(s) }}
	}
	read := fileTool{name: "read_file"}
	n := mk("")
	got := touch(t, n, read, dir, "3.1", "sub/deep/x.go")
	if i, j := strings.Index(got, "Instructions for sub/ (sub/AGENTS.md)"), strings.Index(got, "Instructions for sub/deep/ (sub/deep/AGENTS.md)"); i < 0 || j < i || !strings.Contains(got, "deep words") || strings.Contains(got, "top") {
		t.Errorf("%s", got)
	}
	for name, use := range map[string][2]string{"again": {"5.1", "sub/y.go"}, "by its whole path": {"5.2", filepath.Join(dir, "sub/deep/x.go")}, "a package of others": {"5.3", "node_modules/m/x"},
		"outside": {"5.4", "../x"}, "nothing": {"5.5", ""}} {
		if got := touch(t, n, read, dir, uzda.UseID(use[0]), use[1]); got != "done" {
			t.Errorf("%s: %s", name, got)
		}
	}
	if got := touch(t, mk(""), fileTool{name: "edit_file"}, dir, "7.1", "sub/y.go"); got != "done" {
		t.Errorf("after a restart: %s", got)
	}
	if got := touch(t, mk(""), read, dir, "3.1", "sub/deep/x.go"); !strings.Contains(got, "sub words") {
		t.Errorf("the use that was lost in a crash runs again: %s", got)
	}
	if err := os.WriteFile(filepath.Join(dir, "sub/AGENTS.md"), []byte("other words"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := touch(t, n, fileTool{name: "write_file"}, dir, "9.1", "sub/new.go"); !strings.Contains(got, "have changed. Now they are:\nother words") || strings.Contains(got, "deep") {
		t.Errorf("after a change: %s", got)
	}
	n.Forget("s", "3.1", "4.1") // cleared out of the view: case:C01
	if got := touch(t, mk(""), read, dir, "9.4", "sub/deep/x.go"); !strings.Contains(got, "deep words") || strings.Contains(got, "other words") {
		t.Errorf("after the first result was cleared: %s", got)
	}
	if got := touch(t, n, fileTool{name: "read_file", wrong: true}, dir, "9.2", "beside/x"); got != "done" {
		t.Errorf("a failed use: %s", got)
	}
	// Beside the directory, but in the repository.
	if got := touch(t, mk("work"), read, filepath.Join(dir, "work"), "9.3", "../beside/x"); !strings.Contains(got, "Instructions for ../beside/ (../beside/AGENTS.md)") {
		t.Errorf("beside: %s", got)
	}
	if _, same := n.Wrap(fileTool{name: "shell"}).(fileTool); !same {
		t.Error("a tool that touches no file is wrapped")
	}
}

// P4: nobody's trust, no text; a broken note of what was seen only says it again.
func TestNestedTrust(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{".git/": "", "sub/AGENTS.md": "sub words"})
	n := &guide.Nested{Tree: guide.Tree{Top: dir, Dir: dir}, State: t.TempDir()}
	if got := touch(t, n, fileTool{name: "read_file"}, dir, "1.1", "sub/x"); got != "done" {
		t.Errorf("without trust: %s", got)
	}
	warned := ""
	n = &guide.Nested{Tree: guide.Tree{Top: dir, Dir: dir, Trusts: everything}, State: t.TempDir(), Warn: func(s string) { warned += s }}
	for _, broken := range []string{"{", "null"} {
		file := filepath.Join(n.State, uzda.SessionID("s").Folder(), "seen.json")
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(broken), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := touch(t, n, fileTool{name: "read_file"}, dir, "1.1", "sub/x"); !strings.Contains(got, "sub words") {
			t.Errorf("%s: %s", broken, got)
		}
	}
	if !strings.Contains(warned, "read what the session has seen") {
		t.Errorf("it warns %q", warned)
	}
}

// P4: any bytes become valid text within the limit.
func FuzzRead(f *testing.F) {
	for _, seed := range []string{"", "# Rules\r\n- tabs\r\n", "\ufeffx", "\xff\xfea\x00", "\x00\x01", "zażółć 🦫"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "AGENTS.md"), data, 0o600); err != nil {
			t.Fatal(err)
		}
		g := guide.Tree{Dir: dir, Trusts: everything, Max: 64}.Read()
		if !utf8.ValidString(g.Text) || len(g.Text) > 1200 || strings.ContainsRune(g.Text, 0) {
			t.Errorf("%q gives %q", data, g.Text)
		}
	})
}
