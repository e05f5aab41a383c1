package file_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/tool/file"
	"github.com/uzda-dev/uzda/tool/tooltest"
)

func TestMain(m *testing.M) {
	if os.Getenv("FILE_TEST_CHILD") != "" {
		child()
		return
	}
	goleak.VerifyTestMain(m)
}

// A desk is a folder with the tools on it.
type desk struct {
	t     testing.TB
	dir   string
	state string
	files *file.Files
	uses  atomic.Int64
}

const session = uzda.SessionID("s/Ł 1")

func newDesk(t testing.TB, change ...func(*file.Config)) *desk {
	t.Helper()
	d := &desk{t: t, dir: t.TempDir(), state: filepath.Join(t.TempDir(), "state")}
	d.open(change...)
	return d
}

// open starts the tools anew, as after a restart.
func (d *desk) open(change ...func(*file.Config)) {
	d.t.Helper()
	cfg := file.Config{State: d.state}
	for _, c := range change {
		c(&cfg)
	}
	var err error
	if d.files, err = file.New(cfg); err != nil {
		d.t.Fatal(err)
	}
}

func (d *desk) tool(name string) uzda.Tool {
	for _, tl := range d.files.Tools() {
		if tl.Spec().Name == name {
			return tl
		}
	}
	d.t.Fatalf("there is no tool %s", name)
	return nil
}

// in is the input of a tool, by pairs of name and value.
func in(pairs ...any) json.RawMessage {
	m := map[string]any{}
	for i := 0; i < len(pairs); i += 2 {
		m[pairs[i].(string)] = pairs[i+1]
	}
	raw, err := json.Marshal(m)
	if err != nil {
		panic(err)
	}
	return raw
}

func (d *desk) use(name string, input json.RawMessage) uzda.Use {
	n := d.uses.Add(1)
	return uzda.Use{Session: session, ID: uzda.UseID(fmt.Sprint(n, ".1")), Name: name, Input: input, Key: fmt.Sprint("key", n), Attempt: 1, Dir: d.dir}
}

func (d *desk) run(use uzda.Use) uzda.Result {
	d.t.Helper()
	tl := d.tool(use.Name)
	var err error
	if use.Input, err = tl.(uzda.Checker).Check(use.Input); err != nil {
		d.t.Fatalf("%s: %v", use.Name, err)
	}
	res, err := tl.Call(context.Background(), use)
	if err != nil {
		d.t.Fatalf("%s: %v", use.Name, err)
	}
	return res
}

func (d *desk) call(name string, pairs ...any) uzda.Result {
	d.t.Helper()
	return d.run(d.use(name, in(pairs...)))
}

// ok calls a tool that must succeed and returns its text.
func (d *desk) ok(name string, pairs ...any) string {
	d.t.Helper()
	res := d.call(name, pairs...)
	if res.IsError {
		d.t.Fatalf("%s %v: %s", name, pairs, res.Blocks)
	}
	return res.Blocks.String()
}

// refused calls a tool that must refuse, changing nothing, and say all of the words.
func (d *desk) refused(words []string, name string, pairs ...any) string {
	d.t.Helper()
	res := d.call(name, pairs...)
	text := res.Blocks.String()
	if !res.IsError || res.Effect != uzda.EffectNone {
		d.t.Errorf("%s %v was not refused (effect %q): %s", name, pairs, res.Effect, text)
	}
	for _, w := range words {
		if !strings.Contains(text, w) {
			d.t.Errorf("%s %v: the text lacks %q: %s", name, pairs, w, text)
		}
	}
	return text
}

func (d *desk) path(name string) string { return filepath.Join(d.dir, filepath.FromSlash(name)) }

func (d *desk) put(name, data string) {
	d.t.Helper()
	put(d.t, d.path(name), data)
}

func put(t testing.TB, name, data string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(data), 0o644); err != nil {
		t.Fatal(err)
	}
}

func (d *desk) link(to, name string) {
	d.t.Helper()
	if err := os.MkdirAll(filepath.Dir(d.path(name)), 0o755); err != nil {
		d.t.Fatal(err)
	}
	if err := os.Symlink(to, d.path(name)); err != nil {
		d.t.Skip("SKIPPED: no links can be made here: ", err)
	}
}

func (d *desk) has(name, want string) {
	d.t.Helper()
	has(d.t, d.path(name), want)
}

func has(t testing.TB, name, want string) {
	t.Helper()
	got, err := os.ReadFile(name)
	if err != nil {
		t.Error(err)
	} else if string(got) != want {
		t.Errorf("%s holds %.200q, want %.200q", name, got, want)
	}
}

func (d *desk) gone(name string) {
	d.t.Helper()
	if _, err := os.Lstat(d.path(name)); !os.IsNotExist(err) {
		d.t.Errorf("%s is there: %v", name, err)
	}
}

// clean: no file that was being written is left in the folders.
func (d *desk) clean() {
	d.t.Helper()
	for _, dir := range []string{d.dir, d.state} {
		err := filepath.WalkDir(dir, func(name string, _ os.DirEntry, err error) error {
			if strings.Contains(filepath.Base(name), "uzda-new") {
				d.t.Errorf("%s was left behind", name)
			}
			return err
		})
		if err != nil && !os.IsNotExist(err) {
			d.t.Error(err)
		}
	}
}

// Each tool keeps the contract of tools.
func TestContract(t *testing.T) { // T2
	t.Parallel()
	d := newDesk(t)
	d.put("a.txt", "one\ntwo\n")
	d.put("src/main.go", "package main\n")
	c := func(text string, pairs ...any) tooltest.Case {
		return tooltest.Case{Input: string(in(pairs...)), Want: text, Dir: d.dir}
	}
	bad := func(text string, pairs ...any) tooltest.Case {
		return tooltest.Case{Input: string(in(pairs...)), Bad: true, Want: text}
	}
	fails := func(text string, pairs ...any) tooltest.Case {
		return tooltest.Case{Input: string(in(pairs...)), IsError: true, Want: text, Dir: d.dir}
	}
	tooltest.Run(t, d.tool("read_file"), c("1\tone", "path", "a.txt"), c("2\ttwo", "path", "a.txt", "offset", 2, "limit", 1), c("main.go", "path", "src"),
		fails("no file", "path", "b.txt"), bad("/path", "limit", 3), bad("limit", "path", "a.txt", "limit", 0))
	tooltest.Run(t, d.tool("glob"), c("src/main.go", "pattern", "*.go"), c("No file", "pattern", "*.rs"), fails("not closed", "pattern", "[a"), bad("/pattern"))
	tooltest.Run(t, d.tool("grep"), c("a.txt:2:two", "pattern", "tw."), c("No line", "pattern", "xyz"), fails("missing closing", "pattern", "(a"), bad("/pattern"))
	tooltest.Run(t, d.tool("edit_file"), fails("does not stand", "path", "a.txt", "old", "three", "new", "four"), bad("/new", "path", "a.txt", "old", "x"))
	tooltest.Run(t, d.tool("write_file"), c("Made new/b.txt", "path", "new/b.txt", "content", "b\n"), bad("/content", "path", "a.txt"))
	tooltest.Run(t, d.tool("delete_file"), fails("no file", "path", "c.txt"), bad("/path"))
	d.has("new/b.txt", "b\n")
	for _, tl := range d.files.Tools() {
		s := tl.Spec()
		looks := s.Name == "read_file" || s.Name == "glob" || s.Name == "grep"
		_, resumes := tl.(interface{ Resumes() })
		if s.Effects.ReadOnly != looks || s.Effects.Idempotent != looks || s.Effects.Irreversible || s.Once || s.Source != "built-in" || resumes == looks {
			t.Errorf("%s: %+v", s.Name, s.Effects)
		}
	}
}
