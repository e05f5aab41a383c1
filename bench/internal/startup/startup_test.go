package startup_test

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/uzda-dev/uzda/bench/internal/startup"
)

// The sources are found from any folder below them, and not from elsewhere; a module
// below them is not taken for them.
func TestFind(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	below := filepath.Join(root, "bench", "x")
	if err := os.MkdirAll(below, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, module := range map[string]string{".": "uzda", "bench": "uzda/bench"} {
		if err := os.WriteFile(filepath.Join(root, name, "go.mod"), []byte("module github.com/uzda-dev/"+module+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := startup.Find(below); err != nil || got != root {
		t.Errorf("got %q, %v", got, err)
	}
	if _, err := startup.Find(t.TempDir()); err == nil || !strings.Contains(err.Error(), "--source") {
		t.Errorf("elsewhere: %v", err)
	}
}

// What a run took is told; a program that fails, or says nothing, is an error.
func TestVersion(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("it needs a POSIX shell")
	}
	for name, c := range map[string]struct{ script, want string }{
		"good":  {"#!/bin/sh\necho \"$1 1\"\n", ""},
		"fails": {"#!/bin/sh\necho oh >&2\nexit 3\n", "oh"},
		"mute":  {"#!/bin/sh\n", "said nothing"},
	} {
		file := filepath.Join(t.TempDir(), "uzda")
		if err := os.WriteFile(file, []byte(c.script), 0o700); err != nil { //nolint:gosec // it is run
			t.Fatal(err)
		}
		s, err := startup.Version(t.Context(), file, t.TempDir())
		if c.want == "" && (err != nil || s.Wall <= 0 || s.RSS <= 0) || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %+v, %v", name, s, err)
		}
	}
}
