package file

import (
	"fmt"
	"strings"

	"github.com/aymanbagabas/go-udiff"
)

// Limits of a diff for people.
const (
	diffLines  = 400
	diffWindow = 256 << 10 // bytes that are compared line by line
	context3   = 3
)

// A diff is what changes in a file, hunk by hunk.
type diff struct {
	hunks       []*udiff.Hunk
	plus, minus int
	rest        string // what is not shown
}

// differ compares only around the pieces, so that a large file costs no more than
// a small one.
func (s script) differ(data []byte, pieces []piece) diff {
	var d diff
	line, counted, shift := 1, 0, 0
	for i := 0; i < len(pieces); {
		from, to := s.window(data, pieces[i].span)
		j := i + 1
		for ; j < len(pieces) && pieces[j].from <= to; j++ {
			_, to = s.window(data, pieces[j].span)
		}
		line += s.count(data[counted:from])
		counted = from
		old, fresh := s.around(data, span{from, to}, pieces[i:j])
		i = j
		shift += d.add(old, fresh, line, shift)
	}
	return d
}

// window is a part of a file with the lines around it.
func (s script) window(data []byte, p span) (from, to int) {
	from, to = s.lineStart(data, p.from), s.lineEnd(data, p.to)
	for range context3 {
		if from > s.mark {
			from = s.lineStart(data, from-len(s.nl))
		}
		to = s.lineEnd(data, to)
	}
	return from, to
}

// around is the text of a window before and after.
func (s script) around(data []byte, w span, pieces []piece) (old, fresh string) {
	old = s.text(data[w.from:w.to])
	var b strings.Builder
	at := w.from
	for _, p := range pieces {
		_, _ = b.WriteString(s.text(data[at:p.from]))
		_, _ = b.WriteString(s.text(p.with))
		at = p.to
	}
	_, _ = b.WriteString(s.text(data[at:w.to]))
	return old, b.String()
}

// add compares one window that begins on a line; shift is by how many lines those
// before it grew. It returns by how many this one did.
func (d *diff) add(old, fresh string, line, shift int) int {
	grown := strings.Count(fresh, "\n") - strings.Count(old, "\n")
	if len(old)+len(fresh) > diffWindow {
		plus, minus := countLines(fresh), countLines(old)
		d.plus, d.minus = d.plus+plus, d.minus+minus
		d.rest = tooMuch(old, fresh, line)
		return grown
	}
	u, err := udiff.ToUnifiedDiff("", "", old, udiff.Lines(old, fresh), context3)
	if err != nil {
		d.rest = fmt.Sprintf("(no diff can be made: %v)\n", err)
		return grown
	}
	for _, h := range u.Hunks {
		h.FromLine += line - 1
		h.ToLine += line - 1 + shift
		for _, l := range h.Lines {
			switch l.Kind {
			case udiff.Insert:
				d.plus++
			case udiff.Delete:
				d.minus++
			}
		}
		d.hunks = append(d.hunks, h)
	}
	return grown
}

// tooMuch says what a window is that is not shown.
func tooMuch(old, fresh string, line int) string {
	what := func(s string) string {
		n := countLines(s)
		if n == 1 {
			return "1 line of " + size([]byte(s))
		}
		return fmt.Sprintf("%d lines of %s", n, size([]byte(s)))
	}
	switch {
	case old == "":
		return fmt.Sprintf("(too much to show: %s come in at line %d)\n", what(fresh), line)
	case fresh == "":
		return fmt.Sprintf("(too much to show: %s from line %d on go away)\n", what(old), line)
	}
	return fmt.Sprintf("(too much to show: from line %d on, %s instead of %s)\n", line, what(fresh), what(old))
}

func countLines(s string) int {
	n := strings.Count(s, "\n")
	if s != "" && !strings.HasSuffix(s, "\n") {
		n++
	}
	return n
}

// String writes the unified diff, with line ends as \n and bounded.
func (d diff) String(name string, isNew bool) string {
	if len(d.hunks) == 0 && d.rest == "" {
		return ""
	}
	u := udiff.UnifiedDiff{From: "a/" + name, To: "b/" + name, Hunks: d.hunks}
	if isNew {
		u.From = "/dev/null"
	}
	text := unixEnds(u.String())
	if len(d.hunks) == 0 {
		text = fmt.Sprintf("--- %s\n+++ %s\n", u.From, u.To)
	}
	lines := strings.SplitAfter(text, "\n")
	if len(lines) > diffLines {
		text = strings.Join(lines[:diffLines], "") + fmt.Sprintf("(%d more lines of the diff are left out)\n", len(lines)-diffLines)
	}
	return text + d.rest
}

// stat is the size of the change for the model: "+2 −1 lines".
func (d diff) stat() string { return fmt.Sprintf("+%d −%d lines", d.plus, d.minus) }
