package main

import (
	"strings"
	"testing"
)

// The first visit to a folder that brings settings or instructions asks whether it
// is trusted; each answer does what it says, and nobody is asked without a terminal.
func TestTrustQuestion(t *testing.T) { // P4 case:P03
	t.Parallel()
	for _, c := range []struct {
		typed  string
		again  bool // asked once more at the next visit
		counts bool // the rule of the folder counts at this visit
		next   bool // and at the next
	}{
		{typed: "y\n", again: true, counts: true},
		{typed: "a\n", counts: true, next: true},
		{typed: "n\n"},
		{typed: "what?\nn\n"},
		{typed: "\x04", again: true}, // the end of input is no yes
	} {
		p := newProgram(t)
		for name, text := range map[string]string{"uzda.yaml": "permissions:\n  allow: [\"notes_of_mine\"]\n", "AGENTS.md": "Say moo.\n"} {
			p.file(name, text)
		}
		script := "script:" + p.file("turns.json", `{"turns":[{"text":"Moo."}]}`)
		s := p.inTerminal("run", "--model", script, "--session", "one", "go")
		s.sees("Trust "+p.dir+"?", 1)
		for _, line := range strings.SplitAfter(c.typed, "\n") {
			s.types(line)
		}
		s.ends(0, "permissions.allow (uzda.yaml:2)", "AGENTS.md", "Moo.")
		if got := !strings.Contains(s.text(), "is left out"); got != c.counts {
			t.Errorf("%q: the settings count: %t, want %t\n%s", c.typed, got, c.counts, s.text())
		}
		s = p.inTerminal("run", "--model", script, "--session", "two", "go")
		if c.again {
			s.sees("Trust "+p.dir+"?", 1)
			s.types("\x04")
		}
		s.ends(0, "Moo.")
		if asked := strings.Contains(s.text(), "Trust "+p.dir+"?"); asked != c.again {
			t.Errorf("%q: asked again: %t, want %t", c.typed, asked, c.again)
		}
		if got := !strings.Contains(s.text(), "is left out"); got != c.next {
			t.Errorf("%q, at the next visit: the settings count: %t, want %t\n%s", c.typed, got, c.next, s.text())
		}
		if e := p.run("run", "--model", script, "--session", "three", "go"); e.code != 0 || strings.Contains(e.errs, "Trust ") {
			t.Errorf("%q, without a terminal: exit %d\n%s", c.typed, e.code, e.errs)
		}
	}
}
