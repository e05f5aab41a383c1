package shell_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/uzda-dev/uzda/tool/shell"
)

// A check says whether it exited 0 and what it printed, ends with all that it began, and
// leaves the session where it is.
func TestTry(t *testing.T) { // L8 case:T09
	t.Parallel()
	s := open(t, shell.Config{})
	dir := t.TempDir()
	for _, c := range []struct {
		command string
		ok      bool
		text    string
	}{
		{"echo good; cd /", true, "good"},
		{"echo bad; exit 3", false, "[exit 3"},
		{"grep -q x /dev/null", false, "[exit 1"},
		{"sleep 300 & echo left; true", true, "sleep 300"},
		{"echo before; sleep 300", false, "before"},
		{"kill -9 $$", false, "ended by"},
	} {
		ok, text := s.tool.Try(context.Background(), "s", dir, c.command, 2*time.Second)
		if ok != c.ok || !strings.Contains(text, c.text) {
			t.Errorf("%s: %t, want %t; %s", c.command, ok, c.ok, text)
		}
	}
	if at := s.tool.Place("s", dir); at != dir {
		t.Errorf("the session went to %s", at)
	}
}

// A program that must go at once leaves nothing behind that runs.
func TestAbort(t *testing.T) { // L11
	t.Parallel()
	s := open(t, shell.Config{})
	done := make(chan string, 1)
	go func() {
		text, _ := s.run("trap '' TERM INT; echo begun >begun; sleep 300 & sleep 300; sleep 300")
		done <- text
	}()
	for _, err := os.Stat(filepath.Join(s.dir, "begun")); err != nil; _, err = os.Stat(filepath.Join(s.dir, "begun")) {
		time.Sleep(5 * time.Millisecond)
	}
	s.tool.Abort()
	if text := <-done; !strings.Contains(text, "ended by SIGKILL") {
		t.Errorf("%s", text)
	}
}
