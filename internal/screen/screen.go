// Package screen makes text of what programs print for a terminal: what a reader
// would see in the end, without escape codes.
package screen

import (
	"io"
	"strings"
	"unicode/utf8"
)

const (
	// Width is how many columns the terminal is thought to have where a program asks
	// for its right edge. Lines may be longer.
	Width = 120
	// Height is how many lines at the end can still be redrawn.
	Height = 200
	// most is how many columns these lines hold together, in round numbers. What is
	// over it is written out and stays as it is.
	most = 256 << 10
)

// Clean returns what a terminal would show of raw in the end: lines that were drawn
// again appear once, in their last form; colours, titles, bells and the like are
// gone. The text is UTF-8 without control characters but "\n" and "\t", and never
// longer than raw was, except that a byte which is no UTF-8 becomes U+FFFD.
func Clean(raw []byte) string {
	var b strings.Builder
	b.Grow(len(raw))
	w := NewWriter(&b)
	_, _ = w.Write(raw) // into memory
	_ = w.Close()
	return b.String()
}

// A Writer is [Clean] for a stream: the chunks may cut characters and escape codes
// anywhere. Its memory is bounded. It is not safe for concurrent use.
//
// The lines are endless and there are no edges: a tool that counts on lines being
// broken at a width is not redrawn quite as it meant.
type Writer struct {
	out io.Writer
	err error // of out: the first one

	part  [utf8.UTFMax]byte // a character that is not whole yet
	nPart int

	code  code
	page  page
	other bool
}

// NewWriter returns a writer that passes the text on to out as soon as it cannot
// change any more. Close writes the rest.
func NewWriter(out io.Writer) *Writer {
	w := &Writer{out: out}
	w.page.out = w.emit
	w.page.rows = []row{{}}
	return w
}

// Altered says whether more was taken out than colours and the "\r" of a line's end,
// so that the raw bytes may be worth keeping.
func (w *Writer) Altered() bool { return w.other || w.page.drawn }

func (w *Writer) emit(text []byte) {
	if w.err == nil && len(text) > 0 {
		_, w.err = w.out.Write(text)
	}
}

// Write takes the next bytes. Its error is that of the writer below.
func (w *Writer) Write(p []byte) (int, error) {
	for i := 0; i < len(p); {
		if w.nPart == 0 && w.code.idle() { // the usual case: a run of plain characters
			n := plain(p[i:])
			w.page.ascii(p[i : i+n])
			if i += n; i == len(p) {
				break
			}
		}
		if w.nPart == 0 && p[i] >= utf8.RuneSelf {
			if r, n := utf8.DecodeRune(p[i:]); n > 1 {
				w.rune(r, n)
				i += n
				continue
			}
		}
		w.byte(p[i])
		i++
	}
	return len(p), w.err
}

// plain is how many bytes at the beginning are printable ASCII.
func plain(p []byte) int {
	for i, c := range p {
		if c < ' ' || c > '~' {
			return i
		}
	}
	return len(p)
}

// byte takes one byte: it may end a character, or show that the bytes before it were
// the beginning of none.
func (w *Writer) byte(c byte) {
	w.part[w.nPart] = c
	w.nPart++
	part := w.part[:w.nPart]
	if !utf8.FullRune(part) {
		return
	}
	r, size := utf8.DecodeRune(part)
	w.nPart = 0
	switch {
	case r != utf8.RuneError || size > 1:
		w.rune(r, size)
	case len(part) > 1:
		w.rune(utf8.RuneError, len(part)-1)
		w.byte(c)
	case c < 0xa0: // an 8-bit control that was not encoded as UTF-8
		w.rune(rune(c), 1)
	default:
		w.rune(utf8.RuneError, 1)
	}
}

// Close writes what is left. It does not close the writer below.
func (w *Writer) Close() error {
	if w.nPart > 0 {
		n := w.nPart
		w.nPart = 0
		w.rune(utf8.RuneError, n)
	}
	w.page.end()
	return w.err
}
