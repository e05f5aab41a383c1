//go:build unix

package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// repository makes a Go module under git with a bug and the test that finds it.
func repository(t *testing.T, p *program) (dir string, git func(args ...string) string) {
	t.Helper()
	for _, tool := range []string{"git", "go"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Fatalf("the work of this test needs %s: %v", tool, err)
		}
	}
	dir = filepath.Join(p.dir, "shop")
	for name, text := range map[string]string{
		"go.mod": "module example.com/shop\n\ngo 1.26\n",
		"price/price.go": "// Package price adds up.\npackage price\n\n// Total is the sum of all prices, in cents.\nfunc Total(prices []int) int {\n\tsum := 0\n" +
			"\tfor _, p := range prices[1:] {\n\t\tsum += p\n\t}\n\treturn sum\n}\n",
		"price/price_test.go": "package price\n\nimport \"testing\"\n\nfunc TestTotal(t *testing.T) {\n\tif got := Total([]int{250, 199}); got != 449 {\n\t\tt.Errorf(\"Total = %d, want 449\", got)\n\t}\n}\n",
		"README.md":           "# Sklep: zażółć gęślą jaźń\n",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	git = func(args ...string) string {
		t.Helper()
		c := exec.Command("git", args...)
		c.Dir, c.Env = dir, p.envs
		out, err := c.CombinedOutput()
		if err != nil {
			t.Fatalf("git %q: %v\n%s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	git("init", "-q", "-b", "main")
	git("config", "user.name", "Ola")
	git("config", "user.email", "ola@example.com")
	git("add", "-A")
	git("commit", "-q", "-m", "A shop")
	return dir, git
}

// goCaches keeps what Go has compiled for the programs of a test, whose home is new.
func goCaches(t *testing.T) []string {
	t.Helper()
	out, err := exec.Command("go", "env", "-json", "GOCACHE", "GOMODCACHE", "GOTOOLCHAIN").Output()
	if err != nil {
		t.Fatal(err)
	}
	var env map[string]string
	if err := json.Unmarshal(out, &env); err != nil {
		t.Fatal(err)
	}
	envs := []string{"GOFLAGS=-mod=mod"}
	for k, v := range env {
		envs = append(envs, k+"="+v)
	}
	return envs
}

func turn(delay int, text string, calls ...string) string {
	raw, err := json.Marshal(text)
	if err != nil {
		panic(err)
	}
	out := `{"text":` + string(raw)
	if delay > 0 {
		out += `,"delay_ms":` + strings.TrimSpace(string(must(json.Marshal(delay))))
	}
	return out + `,"calls":[` + strings.Join(calls, ",") + `]}`
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func call(name string, input map[string]any) string {
	return string(must(json.Marshal(map[string]any{"name": name, "input": input})))
}

// A person lets the agent work in a repository: it finds the failing test, is
// killed in the middle and goes on, mends the code, runs the tests, commits once
// another process has approved that, is verified, and all of it is undone.
func TestWorkInARepository(t *testing.T) { // T2 S1 L8 case:S06
	t.Parallel()
	p := newProgram(t)
	p.envs = append(p.envs, goCaches(t)...)
	dir, git := repository(t, p)
	first, was := git("rev-parse", "HEAD"), readText(t, filepath.Join(dir, "price/price.go"))
	const fixed = "range prices {"
	script := p.file("turns.json", `{"by_view":true,"turns":[`+strings.Join([]string{
		turn(0, "I look around.", call("glob", map[string]any{"pattern": "**/*.go"}), call("shell", map[string]any{"command": "git log --oneline -3 && git status --short"})),
		turn(0, "The tests first.", call("shell", map[string]any{"command": "go test ./..."})),
		turn(0, "", call("grep", map[string]any{"pattern": "func Total"}), call("read_file", map[string]any{"path": "price/price.go"})),
		turn(2500, "It leaves out the first price.", call("edit_file", map[string]any{"path": "price/price.go", "old": "range prices[1:] {", "new": fixed})),
		turn(0, "", call("shell", map[string]any{"command": "cd price && go test ./..."})),
		turn(0, "Now the commit.", call("shell", map[string]any{"command": `cd .. && git add -A && git commit -q -m "Count the first price too"`})),
		`{"text":"Total left out the first price. It counts all now; the tests pass, and the change is committed."}`,
	}, ",")+`]}`)
	flags := []string{"--agent", "coder", "--model", "script:" + script, "--dir", dir, "--permission-mode", "accept-edits",
		"--allow", "Bash(go test *)", "--verify", "go vet ./... && go test ./..."}

	c, out, errs := p.start(append([]string{"run", "--session", "work"}, append(flags, "Make the tests pass and commit.")...)...)
	waitFor(t, func() bool {
		b, err := p.command("show", "work", "--output-format", "json").Output()
		return err == nil && bytes.Contains(b, []byte("range prices[1:]"))
	})
	if err := c.Process.Kill(); err != nil { // while the model thinks of its edit
		t.Fatal(err)
	}
	p.wait(c, out, errs)
	if now := readText(t, filepath.Join(dir, "price/price.go")); now != was {
		t.Fatalf("it was edited before it was killed:\n%s", now)
	}

	e := p.run(append([]string{"resume", "work"}, flags...)...)
	if e.code != 8 || len(e.result.Pending) != 1 || e.result.Pending[0].Tool != "shell" {
		t.Fatalf("exit %d, want 8 and the commit waiting; %+v\n%s", e.code, e.result, e.errs)
	}
	if now := readText(t, filepath.Join(dir, "price/price.go")); !strings.Contains(now, fixed) || git("rev-parse", "HEAD") != first {
		t.Fatalf("before the approval: HEAD %s, want %s; %s\nthe file\n%s", git("rev-parse", "HEAD"), first, e.errs, now)
	}
	if b, err := p.command("approve", "work").CombinedOutput(); err != nil { // another process
		t.Fatalf("approve: %v\n%s", err, b)
	}
	e = p.run(append([]string{"resume", "work"}, flags...)...)
	if e.code != 0 || !strings.Contains(e.result.Answer, "counts all now") {
		t.Fatalf("exit %d: %+v\n%s", e.code, e.result, e.errs)
	}
	if got := git("log", "--format=%s", first+".."); got != "Count the first price too" {
		t.Errorf("commits: %q", got)
	}
	if got := git("status", "--short"); got != "" {
		t.Errorf("left over: %q", got)
	}

	b, err := p.command("undo", "work").CombinedOutput()
	if err != nil {
		t.Fatalf("undo: %v\n%s", err, b)
	}
	if now := readText(t, filepath.Join(dir, "price/price.go")); now != was {
		t.Errorf("after undo:\n%s\n%s", now, b)
	}
	if got := git("diff", "--stat", first); got != "" {
		t.Errorf("after undo these differ from the beginning: %s", got)
	}
}

func readText(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
