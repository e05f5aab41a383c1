package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/agent"
)

// paint colours text for a terminal, unless it is plain.
type paint struct{ plain bool }

func (p paint) with(code, s string) string {
	if p.plain || s == "" {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

func (p paint) bold(s string) string  { return p.with("1", s) }
func (p paint) dim(s string) string   { return p.with("2", s) }
func (p paint) red(s string) string   { return p.with("31", s) }
func (p paint) green(s string) string { return p.with("32", s) }
func (p paint) cyan(s string) string  { return p.with("36", s) }
func (p paint) warn(s string) string  { return p.with("1;33", s) }

// isDiff says whether text is a unified diff.
func isDiff(text string) bool {
	return strings.HasPrefix(text, "@@ ") || strings.Contains(text, "\n@@ ") || strings.HasPrefix(text, "--- ") && strings.Contains(text, "\n+++ ")
}

// ofDiff is the colour of a line of a diff; nil: none.
func (p paint) ofDiff(line string) func(string) string {
	switch {
	case strings.HasPrefix(line, "@@"):
		return p.cyan
	case strings.HasPrefix(line, "+"):
		return p.green
	case strings.HasPrefix(line, "-"):
		return p.red
	}
	return nil
}

// fit is a line cut to n columns, where all else of it stays.
func fit(line string, n int) string {
	rows := cut(line, n)
	if len(rows) < 2 {
		return strings.ReplaceAll(line, "\t", "    ")
	}
	return cut(line, n-1)[0].text + "…"
}

// A view is what a person sees of a call before it runs.
type view struct {
	text   string   // exactly what would run; safe to show
	doubts []string // what in it is not what it seems
}

func viewOf(u agent.Open) view {
	text := cmp.Or(u.Judged.Preview, arguments(u.Args()))
	text = strings.TrimRight(strings.ReplaceAll(text, "\r\n", "\\x0d\n"), "\n")
	return view{exact(text), doubts(text)}
}

// arguments shows an input member by member. A text of several lines stands as it
// is; all else is JSON, so that nothing in it can pass for something else.
func arguments(raw json.RawMessage) string {
	d := json.NewDecoder(bytes.NewReader(raw))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return string(raw)
	}
	var b strings.Builder
	for d.More() {
		name, err := d.Token()
		var v json.RawMessage
		if err != nil || d.Decode(&v) != nil {
			return string(raw)
		}
		key, _ := name.(string)
		var text string
		if json.Unmarshal(v, &text) == nil && strings.Contains(strings.TrimRight(text, "\n"), "\n") {
			text = strings.TrimSuffix(text, "\n")
			fmt.Fprintf(&b, "%s, %d lines:\n  %s\n", key, strings.Count(text, "\n")+1, strings.ReplaceAll(text, "\n", "\n  "))
			continue
		}
		fmt.Fprintf(&b, "%s: %s\n", key, spelled(v))
	}
	return cmp.Or(b.String(), "(no arguments)")
}

// spelled is JSON with its letters written out, so that what hides in an escape is
// looked at like all else.
func spelled(raw json.RawMessage) string {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if d.Decode(&v) != nil || enc.Encode(v) != nil {
		return string(raw)
	}
	return strings.TrimRight(b.String(), "\n")
}

// cut breaks text into rows of at most n columns, each line anew, so that a long
// one cannot pass for what stands outside of the frame.
func cut(text string, n int) (rows []row) {
	n = max(10, n)
	for line := range strings.Lines(text) {
		line = strings.ReplaceAll(strings.TrimRight(line, "\n"), "\t", "    ")
		first := true
		for first || line != "" {
			used, at := 0, len(line)
			for i, r := range line {
				if used += uzda.Columns(string(r)); used > n {
					at = i
					break
				}
			}
			rows = append(rows, row{line[:at], first})
			line, first = line[at:], false
		}
	}
	return rows
}

// row is a part of a line; first: its beginning.
type row struct {
	text  string
	first bool
}

const mostRows = 24 // of a call that are shown at once

// show writes a view in a frame, whole or its beginning, and says how many rows
// were left out.
func (v view) show(p paint, room int, whole bool) (text string, left int) {
	rows := cut(v.text, room-4)
	if most := mostRows; !whole && len(rows) > most+4 {
		left = len(rows) - most
		rows = rows[:most]
	}
	var b strings.Builder
	var colour func(string) string
	for _, r := range rows {
		frame := "  ┆ "
		if r.first {
			frame = "  │ "
			if colour = nil; isDiff(v.text) {
				colour = p.ofDiff(r.text)
			}
		}
		if colour != nil {
			r.text = colour(r.text)
		}
		b.WriteString(strings.TrimRight(p.dim(frame)+r.text, " ") + "\n")
	}
	if left > 0 {
		fmt.Fprintf(&b, "  %s\n", p.warn(fmt.Sprintf("… %d rows more: v shows all", left)))
	}
	for _, d := range v.doubts {
		for i, l := range wrap(d, room-4) {
			b.WriteString("  " + p.warn([]string{"! ", "  "}[min(i, 1)]+l) + "\n")
		}
	}
	return b.String(), left
}

// glance is a call on one line.
func glance(name string, input json.RawMessage, columns int) string {
	text := safe(name)
	if what := gist(input); what != "" {
		text += ": " + what
	}
	return uzda.OneLine(text, columns)
}

// gist says in a few words what a call is about: its command, path, address or
// question, whatever the tool.
func gist(input json.RawMessage) string {
	var in map[string]json.RawMessage
	if json.Unmarshal(input, &in) != nil {
		return ""
	}
	const most = 400 // bytes
	text := func(key string) string {
		var s string
		if json.Unmarshal(in[key], &s) != nil {
			return ""
		}
		return safe(strings.Join(strings.Fields(uzda.Clip(s, most)), " "))
	}
	for _, key := range strings.Fields("command pattern path file_path url sql query table task name op title") {
		s := text(key)
		if s == "" {
			continue
		}
		switch {
		case key == "pattern" && text("path") != "":
			s += " in " + text("path")
		case key == "op" && text("text") != "":
			s += ": " + text("text")
		}
		return s
	}
	if items, ok := in["items"]; ok {
		var list []json.RawMessage
		if json.Unmarshal(items, &list) == nil {
			return plural(len(list), "item")
		}
	}
	return ""
}
