package main

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/uzda-dev/uzda"
)

// flow shows a reply as it comes.
type flow struct {
	w        io.Writer
	p        paint
	thinking bool // show what the model thinks

	kind  string // of the piece that was shown last; "": none of this reply
	block int
	text  strings.Builder // of the reply, as far as it was shown
	held  string          // bytes of a rune, or of a line end, whose rest is to come
	open  bool            // the last line has not ended
	last  string          // the last whole reply that was shown
}

// piece shows a piece of a reply.
func (f *flow) piece(d uzda.Delta) {
	if d.Kind != "text" && (d.Kind != "thinking" || !f.thinking) {
		return
	}
	if f.kind != "" && (f.kind != d.Kind || f.block != d.Block) {
		f.flush()
		f.end()
	}
	f.kind, f.block = d.Kind, d.Block
	if d.Kind == "text" {
		f.text.WriteString(d.Text)
	}
	whole, rest := settled(f.held + d.Text)
	f.held = rest
	f.put(whole)
}

// settled parts text from what its next piece may still change: the bytes of a rune
// that is not whole, and a carriage return that may belong to a line end.
func settled(s string) (whole, rest string) {
	at := len(s)
	for i := 1; i < utf8.UTFMax && i <= len(s); i++ {
		if c := s[len(s)-i]; utf8.RuneStart(c) {
			if !utf8.FullRuneInString(s[len(s)-i:]) {
				at = len(s) - i
			}
			break
		}
	}
	if at > 0 && s[at-1] == '\r' {
		at--
	}
	return s[:at], s[at:]
}

func (f *flow) put(s string) {
	if s == "" {
		return
	}
	shown := safeLines(s)
	f.open = !strings.HasSuffix(shown, "\n")
	if f.kind == "thinking" {
		shown = f.p.dim(shown)
	}
	io.WriteString(f.w, shown) //nolint:errcheck // a terminal that is gone shows in reading
}

func (f *flow) flush() {
	rest := f.held
	f.held = ""
	f.put(rest)
}

// end ends the line.
func (f *flow) end() {
	if f.open {
		fmt.Fprintln(f.w)
	}
	f.open = false
}

// said shows what of a whole reply has not come in pieces, and makes ready for the
// next. What came otherwise than it was recorded is shown again.
func (f *flow) said(m uzda.Message) {
	f.flush()
	var blocks []string
	for _, b := range m.Blocks {
		if t, ok := b.(uzda.Text); ok && t.Text != "" {
			blocks = append(blocks, t.Text)
		}
	}
	came, all := f.text.String(), strings.Join(blocks, "")
	switch rest, ok := strings.CutPrefix(all, came); {
	case came == "":
		f.end()
		f.kind = "text"
		f.put(strings.Join(blocks, "\n"))
	case ok && f.kind == "text":
		f.put(rest)
	case ok && rest == "":
	default:
		f.end()
		fmt.Fprintln(f.w, f.p.dim("  (what is recorded of it:)"))
		f.kind = "text"
		f.put(strings.Join(blocks, "\n"))
	}
	f.reset()
	f.last = m.String()
}

// reset makes ready for the next reply.
func (f *flow) reset() {
	f.held = ""
	f.end()
	f.kind, f.block = "", 0
	f.text.Reset()
}
