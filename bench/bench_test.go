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

// One round of the whole, as a user runs it: every contestant does all its work,
// and the exit code is what the bars say.
func TestBench(t *testing.T) {
	if testing.Short() {
		t.Skip("it runs some 3,000 steps")
	}
	t.Parallel()
	file := filepath.Join(t.TempDir(), "bench.json")
	code, out, errs := run(t, build(t), "--rounds", "1", "--json", file, "--dir", t.TempDir())
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
	if all.Machine.CPUs == 0 || all.Machine.Go == "" || len(all.Rounds) != 1 || len(all.Rounds[0]) != 16 || len(all.Rows) != 16 {
		t.Errorf("%+v: %d rounds of %d runs, %d rows", all.Machine, len(all.Rounds), len(all.Rounds[0]), len(all.Rows))
	}
	for _, r := range all.Rows {
		if r.Total.CPU <= 0 || r.Total.Wall <= 0 || r.Step.Mallocs == 0 || r.Part == "" && r.RSS == 0 {
			t.Errorf("%+v", r)
		}
	}
	for _, b := range all.Bars {
		if !strings.Contains(out, b.What) {
			t.Errorf("no %q in\n%s", b.What, out)
		}
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
