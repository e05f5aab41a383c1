package main_test

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/uzda-dev/uzda/tool/shell"
)

func build(t *testing.T) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "soak")
	if out, err := exec.Command("go", "build", "-o", name, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return name
}

func run(t *testing.T, name string, args ...string) (code int, out string) {
	t.Helper()
	c := exec.Command(name, args...)
	var both bytes.Buffer
	c.Stdout, c.Stderr = &both, &both
	err := c.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return c.ProcessState.ExitCode(), both.String()
}

// A small soak: after sessions at once and in sequence, some of them cancelled, cut
// and with processes left behind, nothing is open, running or lying about. How memory
// grows says little after so few.
func TestSoak(t *testing.T) { // peer:32
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("the shell tool does not run here")
	}
	if _, err := shell.Find(""); err != nil {
		t.Skip(err)
	}
	dir := t.TempDir()
	code, out := run(t, build(t), "-at-once", "40", "-in-sequence", "80", "-runs", "0", "-every", "100ms", "-dir", dir)
	if code != 0 && code != 13 {
		t.Fatalf("exit %d\n%s", code, out)
	}
	for _, what := range []string{"descriptors", "goroutines", "processes", "temporary files"} {
		line := find(out, what+" left when all is closed")
		if !strings.HasSuffix(line, "0 held") && !strings.HasSuffix(line, "does not tell") {
			t.Errorf("%s: %q\n%s", what, line, out)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("it left %v, %v", left, err)
	}
}

func find(out, what string) string {
	for line := range strings.Lines(out) {
		if strings.Contains(line, what) {
			return strings.TrimSpace(line)
		}
	}
	return ""
}

func TestArguments(t *testing.T) {
	t.Parallel()
	name := build(t)
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"--help"}, 0, "-in-sequence"},
		{[]string{"--what"}, 2, "what"},
		{[]string{"more"}, 2, `unknown argument "more"`},
		{[]string{"-at-once", "0"}, 2, "at least 1"},
		{[]string{"-source", string(filepath.Separator)}, 1, "--source"},
		{[]string{"-dir", filepath.Join(name, "x"), "-runs", "0"}, 1, "not a directory"},
	} {
		if code, out := run(t, name, c.args...); code != c.code || !strings.Contains(out, c.want) {
			t.Errorf("%q: exit %d\n%s", c.args, code, out)
		}
	}
}
