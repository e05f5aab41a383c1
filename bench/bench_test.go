package main_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/uzda-dev/uzda/bench/internal/report"
)

func build(t *testing.T) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "bench")
	if out, err := exec.Command("go", "build", "-o", name, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return name
}

func run(t *testing.T, name string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	c := exec.Command(name, args...)
	c.Env = append(os.Environ(), "HTTP_PROXY=http://127.0.0.1:1", "http_proxy=http://127.0.0.1:1", "NO_PROXY=x", "no_proxy=x", "OPENAI_BASE_URL=http://127.0.0.1:1")
	var out, errs bytes.Buffer
	c.Stdout, c.Stderr = &out, &errs
	err := c.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return c.ProcessState.ExitCode(), out.String(), errs.String()
}

// peers makes a folder of programs that pass for those of the peers, since those take
// minutes to build: Uzda itself.
func peers(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	c := exec.Command("go", "build", "-o", filepath.Join(dir, "embedded"), "./embedded")
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, name := range []string{"fantasy", "eino", "toolrunner"} {
		if err := os.Symlink("embedded", filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// One round of the whole, as a user runs it: every contestant does all its work,
// the exit code is what the bars say, and the page has what the terminal has.
func TestBench(t *testing.T) {
	if testing.Short() {
		t.Skip("it runs some 3,000 steps")
	}
	t.Parallel()
	docs := t.TempDir()
	file, pages := filepath.Join(docs, "bench.json"), filepath.Join(docs, "performance.md")
	if err := os.WriteFile(pages, []byte("# A\n<!-- figures:loops -->\n<!-- end:loops -->\nB\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	code, out, errs := run(t, build(t), "--only", "contestants", "--rounds", "1", "--peers", peers(t), "--docs", docs, "--json", file, "--dir", t.TempDir())
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("exit %d\n%s\n%s", code, out, errs)
	}
	var all struct {
		Machine struct {
			CPUs int
			Go   string
		}
		Bars   []report.Bar
		Rows   []report.Row
		Rounds []report.Round
	}
	if err := json.Unmarshal(raw, &all); err != nil {
		t.Fatal(err)
	}
	want := 0
	if len(report.Missed(all.Bars)) > 0 {
		want = 13
	}
	if code != want {
		t.Errorf("exit %d, want %d\n%s\n%s", code, want, out, errs)
	}
	if all.Machine.CPUs == 0 || all.Machine.Go == "" || len(all.Rounds) != 1 || len(all.Rounds[0]) != 31 || len(all.Rows) != 31 {
		t.Errorf("%+v: %d rounds of %d runs, %d rows", all.Machine, len(all.Rounds), len(all.Rounds[0]), len(all.Rows))
	}
	for _, r := range all.Rows {
		if r.Total.CPU <= 0 || r.Total.Wall <= 0 || r.Step.Mallocs == 0 || r.Part == "" && r.RSS == 0 {
			t.Errorf("%+v", r)
		}
	}
	page, err := os.ReadFile(pages)
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range all.Bars {
		if b.Value == 0 || !strings.Contains(out, b.What) || !strings.Contains(string(page), "| "+b.What+" |") {
			t.Errorf("%+v is not in\n%s%s", b, out, page)
		}
	}
	for _, want := range []string{"mallocs, 100 steps, uzda / eino", "program with fantasy, MB"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	for line := range strings.Lines(out) {
		if len([]rune(line)) > 81 {
			t.Errorf("a line of over 80 columns: %s", line)
		}
	}
	if !strings.HasPrefix(string(page), "# A\n") || !strings.HasSuffix(string(page), "\nB\n") {
		t.Errorf("%s", page)
	}
}

func TestArguments(t *testing.T) {
	t.Parallel()
	name := build(t)
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"--help"}, 0, "-quick"},
		{[]string{"--what"}, 2, "what"},
		{[]string{"more"}, 2, `unknown argument "more"`},
		{[]string{"--rounds", "1", "--source", filepath.Dir(name)}, 1, "no sources of Uzda"},
		{[]string{"--rounds", "1", "--peers", filepath.Dir(name)}, 1, "fantasy: "},
		{[]string{"--only", "half"}, 2, "want contestants or whole"},
		{[]string{"whole", "nothing", "{}"}, 1, `no measurement "nothing"`},
		{[]string{"--dir", filepath.Join(name, "x")}, 1, "not a directory"},
		{[]string{"as", "nobody", "{}"}, 1, `no contestant "nobody"`},
		{[]string{"as", "floor", "{"}, 1, "unexpected end of JSON"},
		{[]string{"as", "floor", `{"URL":"http://127.0.0.1:1"}`}, 1, "connection refused"},
	} {
		if code, out, errs := run(t, name, c.args...); code != c.code || !strings.Contains(out+errs, c.want) {
			t.Errorf("%q: exit %d\n%s%s", c.args, code, out, errs)
		}
	}
}
