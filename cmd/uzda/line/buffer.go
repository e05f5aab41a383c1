package line

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/uzda-dev/uzda"
)

// A cell is what the cursor steps over: a letter with its marks, a line end, or a
// whole text that was pasted.
type cell struct {
	text  string
	shown string
}

// buffer is the message that is typed.
type buffer struct {
	cells  []cell
	at     int // the cursor stands before this cell
	killed string
}

func (b *buffer) text() string {
	var s strings.Builder
	for _, c := range b.cells {
		s.WriteString(c.text)
	}
	return s.String()
}

// set replaces the message; the cursor stands at its end.
func (b *buffer) set(text string) {
	b.cells, b.at = nil, 0
	b.insert(text)
}

// insert puts text at the cursor. A mark joins the letter before it, and so does
// what follows a joiner, as in the emoji of a family.
func (b *buffer) insert(text string) {
	const joiner = "\u200d"
	for _, r := range text {
		s := string(r)
		if b.at > 0 && r != '\n' {
			last := &b.cells[b.at-1]
			if joins := r != '\t' && uzda.Columns(s) == 0 || strings.HasSuffix(last.text, joiner); joins && last.text != "\n" && last.text == last.shown {
				last.text += s
				last.shown = last.text
				continue
			}
		}
		shown := s
		switch r {
		case '\t':
			shown = "    "
		case '\n':
			shown = ""
		}
		b.put(cell{s, shown})
	}
}

func (b *buffer) put(c cell) {
	b.cells = slices.Insert(b.cells, b.at, c)
	b.at++
}

// paste puts a text at the cursor. One of many lines is shown by its size, since
// it would fill the screen.
func (b *buffer) paste(text string) {
	const mostLines, mostBytes = 4, 800
	lines := strings.Count(text, "\n") + 1
	if lines <= mostLines && len(text) <= mostBytes {
		b.insert(text)
		return
	}
	b.put(cell{text, fmt.Sprintf("[pasted: %d lines, %d bytes]", lines, len(text))})
}

// remove takes the cells from a to b out, and returns their text.
func (b *buffer) remove(from, to int) string {
	from, to = max(0, from), min(to, len(b.cells))
	if from >= to {
		return ""
	}
	gone := buffer{cells: slices.Clone(b.cells[from:to])}
	b.cells = slices.Delete(b.cells, from, to)
	if b.at > to {
		b.at -= to - from
	} else {
		b.at = min(b.at, from)
	}
	return gone.text()
}

func (b *buffer) kill(from, to int) {
	if text := b.remove(from, to); text != "" {
		b.killed = text
	}
}

func (b *buffer) space(i int) bool {
	return strings.TrimFunc(b.cells[i].text, unicode.IsSpace) == ""
}

// wordBefore is where the word before the cursor begins.
func (b *buffer) wordBefore() int {
	i := b.at
	for i > 0 && b.space(i-1) {
		i--
	}
	for i > 0 && !b.space(i-1) {
		i--
	}
	return i
}

func (b *buffer) wordAfter() int {
	i := b.at
	for i < len(b.cells) && b.space(i) {
		i++
	}
	for i < len(b.cells) && !b.space(i) {
		i++
	}
	return i
}

// lineStart and lineEnd are the ends of the line that the cursor is in.
func (b *buffer) lineStart() int {
	i := b.at
	for i > 0 && b.cells[i-1].text != "\n" {
		i--
	}
	return i
}

func (b *buffer) lineEnd() int {
	i := b.at
	for i < len(b.cells) && b.cells[i].text != "\n" {
		i++
	}
	return i
}

// edit does what a key says, where that changes the message or moves the cursor.
func (b *buffer) edit(k key) {
	switch k.do {
	case insert:
		b.insert(k.text)
	case pasted:
		b.paste(k.text)
	case newline:
		b.insert("\n")
	case left:
		b.at = max(0, b.at-1)
	case right:
		b.at = min(len(b.cells), b.at+1)
	case wordLeft:
		b.at = b.wordBefore()
	case wordRight:
		b.at = b.wordAfter()
	case home:
		b.at = b.lineStart()
	case end:
		b.at = b.lineEnd()
	case backspace:
		b.remove(b.at-1, b.at)
	case del, eof:
		b.remove(b.at, b.at+1)
	case killWord:
		b.kill(b.wordBefore(), b.at)
	case killBefore:
		b.kill(b.lineStart(), b.at)
	case killAfter:
		b.kill(b.at, b.lineEnd())
	case yank:
		b.insert(b.killed)
	}
}

// layout breaks prompt and message into rows of at most n columns, and says where
// the cursor stands.
func (b *buffer) layout(prompt string, n int, show func(string) string) (rows []string, row, column int) {
	const indent = "  "
	var line strings.Builder
	line.WriteString(prompt)
	used := uzda.Columns(plain(prompt))
	flush := func() {
		rows = append(rows, line.String())
		line.Reset()
	}
	if used > n/2 && used+8 > n { // a long question has a line of its own
		flush()
		used = 0
	}
	for i := 0; ; i++ {
		if i == b.at {
			row, column = len(rows), used
		}
		if i == len(b.cells) {
			break
		}
		c := b.cells[i]
		if c.text == "\n" {
			flush()
			line.WriteString(indent)
			used = len(indent)
			continue
		}
		parts := []string{show(c.shown)}
		if uzda.Columns(parts[0]) > n-used && c.text != c.shown { // a sign for a text breaks anywhere
			parts = strings.Split(parts[0], "")
		}
		for j, part := range parts {
			w := uzda.Columns(part)
			if used+w > n && used > 0 {
				if i == b.at && j == 0 {
					row, column = len(rows)+1, 0
				}
				flush()
				used = 0
			}
			line.WriteString(part)
			used += w
		}
	}
	flush()
	return rows, row, column
}
