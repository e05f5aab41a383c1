package main

import (
	"strings"
	"testing"
)

// At a terminal prune shows what would go and asks; only a yes removes.
func TestPruneAsks(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	ok := "script:" + p.file("ok.json", `{"turns":[{"text":"ok"}],"loop":true}`)
	for _, id := range []string{"a", "b"} {
		p.says(0, []string{"run", "--model", ok, "--session", id, "go"})
	}
	for _, c := range []struct {
		typed string
		code  int
		text  string
	}{
		{"n\n", 130, "nothing was removed"}, {"\x04", 130, "nothing was removed"}, {"\x03", 130, ""},
		{"what?\nyes\n", 0, "Removed 2 sessions."},
	} {
		s := p.inTerminal("sessions", "prune", "--older", "0h")
		s.sees("Remove 2 sessions for good? [y]es, [n]o:", 1)
		for _, line := range strings.SplitAfter(c.typed, "\n") {
			s.types(line)
		}
		s.ends(c.code, "2 sessions of 2 would go: last changed ", c.text)
	}
	p.says(0, []string{"sessions"}, "no sessions yet")
}
