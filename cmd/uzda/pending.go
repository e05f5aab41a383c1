package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/policy"
	reading "github.com/uzda-dev/uzda/policy/command"
)

// waiting says what a call that waits would do, and how it is answered, for a
// person who reads it without being asked. It is the view that one has who is asked;
// where it is not to be whole, its middle may be left out.
func (w *work) waiting(id uzda.SessionID, dir string, p pendingJSON, whole bool, colour paint) string {
	if p.Session != "" {
		id = p.Session
	}
	v, room := viewOf(p.open), w.room()
	if len(v.doubts) == 0 { // a tool may have written out already what cannot be seen
		v.doubts = doubts(arguments(p.Input))
	}
	rows := cut(v.text, room-4)
	var b strings.Builder
	fmt.Fprintf(&b, "Waiting for your approval: use %s, %s\n  because %s\n", p.Use, safe(p.Tool), safe(p.Reason))
	diff := isDiff(v.text)
	if hidden := len(rows) - mostRows; !whole && hidden > 4 {
		head := mostRows / 2
		b.WriteString(framed(rows[:head], colour, diff))
		fmt.Fprintf(&b, "  %s\n", colour.warn(fmt.Sprintf("… %s left out here: uzda show %s shows all", plural(hidden, "row"), id)))
		b.WriteString(framed(rows[head+hidden:], colour, diff))
	} else {
		b.WriteString(framed(rows, colour, diff))
	}
	if slices.ContainsFunc(rows, func(r row) bool { return !r.first }) || len(rows) > mostRows {
		b.WriteString(starts(p, dir, room))
	}
	for _, d := range v.doubts {
		b.WriteString("  " + colour.warn("! "+strings.Join(wrap(d, room-4), "\n    ")) + "\n")
	}
	fmt.Fprintf(&b, "  uzda approve %s %s --resume\n  uzda deny %s %s --resume\n", id, p.Use, id, p.Use)
	return b.String()
}

// framed writes rows in a frame, so that nothing in them can pass for what stands
// around it.
func framed(rows []row, p paint, diff bool) string {
	var b strings.Builder
	var colour func(string) string
	for _, r := range rows {
		frame := "  ┆ "
		if r.first {
			frame = "  │ "
			if colour = nil; diff {
				colour = p.ofDiff(r.text)
			}
		}
		if colour != nil {
			r.text = colour(r.text)
		}
		b.WriteString(strings.TrimRight(p.dim(frame)+r.text, " ") + "\n")
	}
	return b.String()
}

// starts lists the programs of a command that is too long to be taken in at a
// glance, the worst first, so that none hides behind the others.
func starts(p pendingJSON, dir string, room int) string {
	var in struct{ Command string }
	if policy.ToolName(p.Tool) != "shell" || json.Unmarshal(p.Input, &in) != nil {
		return ""
	}
	parts := reading.Read(in.Command, reading.Options{Dir: dir, Bash: true}).Parts
	if len(parts) < 2 {
		return ""
	}
	slices.SortStableFunc(parts, func(a, b reading.Part) int { return cmp.Compare(b.Level, a.Level) })
	const most = 20
	left := len(parts) - most
	if left > 0 {
		parts = parts[:most]
	}
	var b strings.Builder
	b.WriteString("  It would start:\n")
	for _, part := range parts {
		b.WriteString("    " + uzda.OneLine(exact(part.Line), room-6) + "\n")
	}
	if left > 0 {
		fmt.Fprintf(&b, "    and %d more\n", left)
	}
	return b.String()
}
