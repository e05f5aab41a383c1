package file_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/tool/file"
)

// Lines are found by file and number, with context, limits and how to go on.
func TestGrep(t *testing.T) { // T2, T3
	t.Parallel()
	d := newDesk(t)
	d.put("a.go", "package a\n\nfunc One() {}\n\n// two\n// three\nfunc Two() {}\nend\n")
	d.put("b/b.txt", "func here too\r\nFUNC\r\n")
	d.put("b/.hid", "func hidden name\n")
	d.put(".git/config", "func never\n")
	d.put("bin", "func\x00\x01")
	d.put("many", strings.Repeat("hit\n", 50))
	d.put("wide", strings.Repeat("ż", 5000)+"needle"+strings.Repeat("ó", 5000)+"\n")
	for _, c := range []struct {
		args []any
		want string
	}{
		{[]any{"pattern", "^func"}, "a.go:3:func One() {}\na.go:7:func Two() {}\nb/.hid:1:func hidden name\nb/b.txt:1:func here too\n"},
		{[]any{"pattern", "^func", "glob", "*.go"}, "a.go:3:func One() {}\na.go:7:func Two() {}\n"},
		{[]any{"pattern", "^func", "glob", "b/**"}, "b/.hid:1:func hidden name\nb/b.txt:1:func here too\n"},
		{[]any{"pattern", "FUNC$"}, "b/b.txt:2:FUNC\n"},
		{[]any{"pattern", "func", "path", "b", "ignore_case", true}, "b/.hid:1:func hidden name\nb/b.txt:1:func here too\nb/b.txt:2:FUNC\n"},
		{[]any{"pattern", "func", "files_only", true}, "a.go: 2\nb/.hid: 1\nb/b.txt: 1\n"},
		{[]any{"pattern", "One|Two", "context", 1}, "a.go-2-\na.go:3:func One() {}\na.go-4-\n--\na.go-6-// three\na.go:7:func Two() {}\na.go-8-end\n"},
		{[]any{"pattern", "One|Two", "context", 2}, "a.go-1-package a\na.go-2-\na.go:3:func One() {}\na.go-4-\na.go-5-// two\na.go-6-// three\na.go:7:func Two() {}\na.go-8-end\n"},
		{[]any{"pattern", `\Aend`, "path", "a.go"}, "a.go:8:end\n"},
		{[]any{"pattern", "hit", "limit", 2}, "many:1:hit\nmany:2:hit\n[48 more matching lines in many: search in it with path]\n"},
	} {
		if got := d.ok("grep", c.args...); got != c.want {
			t.Errorf("%v:\n%s\nwant\n%s", c.args, got, c.want)
		}
	}
	if got := d.ok("grep", "pattern", "hit"); strings.Count(got, ":hit") != 20 || !strings.Contains(got, "[30 more matching lines in many") {
		t.Error(got)
	}
	if got := d.ok("grep", "pattern", "hit", "path", "many"); strings.Count(got, ":hit") != 50 {
		t.Error(got)
	}
	if got := d.ok("grep", "pattern", "needle"); !strings.Contains(got, "needle") || len(got) > 500 || !strings.Contains(got, "…") {
		t.Error(got)
	}
	for pattern, want := range map[string]string{
		"a(?=b)": "no look-around", `(a)\1`: "no back-references", "f(": `f\\(`, "[a": `\\[a`, "a{5000}": "at most 1000", "*": `\\*`,
	} {
		d.refused([]string{"/pattern", want}, "grep", "pattern", pattern)
	}
	small := newDesk(t, func(c *file.Config) { c.MaxEdit = 10 })
	small.put("large", "needle in a large file\n")
	if got := small.ok("grep", "pattern", "needle"); !strings.Contains(got, "not searched, larger than 10 bytes: large") {
		t.Error(got)
	}
}

// Names are found by pattern, in order.
func TestGlob(t *testing.T) { // T2
	t.Parallel()
	d := newDesk(t)
	for _, n := range []string{"a.go", "a_test.go", "src/b.go", "src/deep/c.go", "src/deep/ż.txt", "docs/x.md", "vendor/v.go"} {
		d.put(n, "x")
	}
	d.put(".gitignore", "vendor/\n")
	d.link("src", "alias")
	for _, c := range []struct{ pattern, path, want string }{
		{"*.go", "", "a.go a_test.go src/b.go src/deep/c.go"},
		{"**/*.go", "", "a.go a_test.go src/b.go src/deep/c.go"},
		{"src/*.go", "", "src/b.go"},
		{"src/**", "", "src/b.go src/deep/c.go src/deep/ż.txt"},
		{"*.{md,txt}", "", "docs/x.md src/deep/ż.txt"},
		{"*.go", "src", "src/b.go src/deep/c.go"},
		{"deep/?.go", "src", "src/deep/c.go"},
		{"./src/../docs/*", "", "docs/x.md"},
		{d.dir + "/docs/*.md", "", "docs/x.md"},
		{"**/deep/", "", "src/deep"},
		{"ali*", "", "alias"},
		{"vendor/*", "", "vendor/v.go"}, // named outright
		{"[ab].go", "", "a.go src/b.go"},
	} {
		args := []any{"pattern", c.pattern}
		if c.path != "" {
			args = append(args, "path", c.path)
		}
		if got := strings.Join(strings.Fields(d.ok("glob", args...)), " "); got != c.want {
			t.Errorf("%v: %s, want %s", args, got, c.want)
		}
	}
	if got := d.ok("glob", "pattern", "v.go", "all", true); got != "vendor/v.go\n" {
		t.Error(got)
	}
	d.refused([]string{"is a file"}, "glob", "pattern", "*", "path", "a.go")
	d.refused([]string{"no folder"}, "glob", "pattern", "*", "path", "nowhere")
}

// gitSays are the files that git would add.
func gitSays(t *testing.T, dir string) []string {
	t.Helper()
	c := exec.Command("git", "ls-files", "--others", "--exclude-standard", "-z")
	c.Dir = dir
	c.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_SYSTEM="+os.DevNull)
	out, err := c.Output()
	if err != nil {
		t.Skip("SKIPPED: no git here: ", err)
	}
	names := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
	if names[0] == "" {
		return nil
	}
	slices.Sort(names)
	return names
}

func repository(t *testing.T, d *desk) {
	t.Helper()
	c := exec.Command("git", "init", "-q")
	c.Dir = d.dir
	c.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_SYSTEM="+os.DevNull, "GIT_TEMPLATE_DIR=")
	if err := c.Run(); err != nil {
		t.Skip("SKIPPED: no git here: ", err)
	}
}

func (d *desk) globbed() []string {
	text := d.ok("glob", "pattern", "*")
	if strings.HasPrefix(text, "No file") {
		return nil
	}
	names := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	slices.Sort(names)
	return names
}

// What is left out is what git leaves out: nested files, negation, and generated
// patterns over a generated tree.
func TestIgnoreAsGit(t *testing.T) { // T2
	t.Parallel()
	d := newDesk(t)
	repository(t, d)
	names := []string{"a", "b", "ab", "a.o", "b.o", "foo", "foo.txt", "bar", "a b", "c-d", "[x]", "x", "Z"}
	dirs := []string{"", "a/", "foo/", "foo/bar/", "foo/bar/a/", "b/a/foo/", "a b/"}
	for _, dir := range dirs {
		if err := os.MkdirAll(d.path(dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, dir := range dirs {
		for _, n := range names {
			if info, err := os.Stat(d.path(dir + n)); err == nil && info.IsDir() {
				continue
			}
			d.put(dir+n, "x")
		}
	}
	for _, lines := range [][]string{
		{"*.o", "!a.o"}, {"/foo", "bar/"}, {"foo/*", "!foo/bar"}, {"**/bar", "# note", "", `\#x`}, {"a/**", "!a/b"}, {"foo/**/a"}, {"**/a/**"}, {"[ab]", "![b]"},
		{"a*b", "?"}, {`a\ b`, "a "}, {`\[x\]`, "[!a-y]"}, {"*", "!*/", "!*.txt"}, {"foo//", "/"}, {"[[:alpha:]]"}, {"[]x]", "[^]x]o*"}, {"***/a", "f**"}, {"\uFEFFa", "b\r"},
		{"[a", "x"}, {"foo/bar/", "!foo/bar/a"}, {"./a", "a/."}, {"[a-", `a\`}, {"!", "!!a"}, {"[[:nope:]]", "[[:digit:]a]"}, {"[--z]", "[a-]"}, {`\!a`, `[\]x]`}, {"foo*/", "*/a"},
	} {
		d.compareIgnore(t, strings.Join(lines, "\n"), "")
	}
	r := rand.New(rand.NewPCG(7, 7))
	bits := []string{"a", "b", "foo", "bar", "*", "**", "/", "/", "?", "[ab]", "[!a]", "!", ".o", "\\", " ", "x", "[a-c]", "txt", "***"}
	rounds := 300
	if testing.Short() {
		rounds = 60
	}
	for range rounds {
		var files [2]string
		for i := range files {
			for range 1 + r.IntN(4) {
				for range 1 + r.IntN(4) {
					files[i] += bits[r.IntN(len(bits))]
				}
				files[i] += "\n"
			}
		}
		d.compareIgnore(t, files[0], files[1])
	}
}

func (d *desk) compareIgnore(t *testing.T, top, inner string) {
	t.Helper()
	put(t, d.path(".gitignore"), top)
	put(t, d.path("foo/.gitignore"), inner)
	want, got := gitSays(t, d.dir), d.globbed()
	if !slices.Equal(want, got) {
		t.Errorf(".gitignore %q and %q in foo:\ngit says %q\nwe say   %q", top, inner, want, got)
	}
}

// Any pattern ends soon, and what it says of a name does not depend on others.
func FuzzIgnore(f *testing.F) { // T2
	f.Add("*.o\n!a.o\n", "a.o")
	f.Add("[a-\n[[:alpha:]\n\\\n***/*/**", "b/c")
	f.Add(strings.Repeat("*a", 30)+"b", strings.Repeat("a", 60))
	f.Add(strings.Repeat("**/a/", 20)+"b", strings.Repeat("a/", 60)+"c")
	d := newDesk(f)
	f.Fuzz(func(t *testing.T, rules, name string) {
		if len(name) > 200 || len(rules) > 2000 {
			return
		}
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		dir := t.TempDir()
		put(t, filepath.Join(dir, ".gitignore"), rules)
		if strings.ContainsAny(name, "/\x00") || name == "" || name == "." || name == ".." || os.WriteFile(filepath.Join(dir, name), nil, 0o600) != nil {
			put(t, filepath.Join(dir, "a", "b"), "")
		}
		u := uzda.Use{Session: session, Name: "glob", Input: in("pattern", "*"), Dir: dir}
		res, err := d.tool("glob").Call(ctx, u)
		if err != nil || res.IsError {
			t.Fatal(err, res.Blocks)
		}
	})
}

// A tree of 5,000 files is searched about as quickly as grep does it.
func BenchmarkSearch(b *testing.B) {
	d := newDesk(b)
	r := rand.New(rand.NewPCG(2, 2))
	for i := range 5000 {
		var text bytes.Buffer
		for n := range 20 + r.IntN(80) {
			fmt.Fprintf(&text, "func name%d(value int) error { return nil } // line %d\n", r.IntN(1000), n)
		}
		if i%100 == 0 {
			text.WriteString("the needle is here\n")
		}
		d.put(fmt.Sprintf("d%02d/e%d/f%d.go", i%50, i%7, i), text.String())
	}
	run := func(name string, pairs ...any) {
		b.Run(name+"/"+fmt.Sprint(pairs[1]), func(b *testing.B) {
			for b.Loop() {
				d.ok(name, pairs...)
			}
		})
	}
	run("grep", "pattern", "needle")
	run("grep", "pattern", `n[e-f]+dle\s+is`)
	run("glob", "pattern", "**/f1*.go")
	for _, pattern := range []string{"needle", `n[e-f]+dle\s+is`} {
		b.Run("gnu grep/"+pattern, func(b *testing.B) {
			for b.Loop() {
				c := exec.Command("grep", "-rnE", pattern, ".")
				c.Dir = d.dir
				if out, err := c.Output(); err != nil || !regexp.MustCompile("needle").Match(out) {
					b.Skip("SKIPPED: no grep here: ", err)
				}
			}
		})
	}
}
