package file

import (
	"bytes"
	"strings"

	"github.com/uzda-dev/uzda/internal/charset"
)

// A script is how a file writes text: what a line end is in bytes, and at which
// offsets characters may begin.
type script struct {
	enc    charset.Encoding // without the mark: parts of a text have none
	nl, cr []byte
	unit   int // characters begin at multiples of it, after the mark
	mark   int
}

func scriptOf(e charset.Encoding) (script, error) {
	s := script{enc: charset.Encoding{Name: e.Name, Odd: e.Odd}, unit: 1, mark: len(e.Mark())}
	switch {
	case strings.HasPrefix(e.Name, "utf-16"):
		s.unit = 2
	case strings.HasPrefix(e.Name, "utf-32"):
		s.unit = 4
	}
	var err error
	if s.nl, err = s.enc.Encode("\n"); err != nil {
		return s, err
	}
	s.cr, err = s.enc.Encode("\r")
	return s, err
}

// index finds want in data from an offset on, where a character may begin.
func (s script) index(data, want []byte, from int) int {
	for from <= len(data) {
		i := bytes.Index(data[from:], want)
		if i < 0 {
			return -1
		}
		if i += from; s.begins(data, i) {
			return i
		}
		from = i + 1
	}
	return -1
}

// begins says whether a character begins at an offset. In encodings whose
// characters have one or two bytes the line up to there is decoded to know it; none
// of them has a line end within a character.
func (s script) begins(data []byte, at int) bool {
	if s.unit > 1 {
		return (at-s.mark)%s.unit == 0
	}
	switch s.enc.Name {
	case "gbk", "gb18030", "big5", "shift_jis", "euc-jp", "euc-kr":
		part := data[bytes.LastIndexByte(data[:at], '\n')+1 : at]
		text, err := s.enc.Decode(part)
		if err != nil || strings.ContainsRune(text, '\uFFFD') {
			return false
		}
		back, err := s.enc.Encode(text)
		return err == nil && bytes.Equal(back, part)
	}
	return true
}

// lineStart is where the line of an offset begins.
func (s script) lineStart(data []byte, at int) int {
	for end := at; ; {
		i := bytes.LastIndex(data[:end], s.nl)
		if i < 0 {
			return min(s.mark, at)
		}
		if s.begins(data, i) {
			return i + len(s.nl)
		}
		end = i + len(s.nl) - 1
	}
}

// lineEnd is where the line of an offset ends, after its line end.
func (s script) lineEnd(data []byte, at int) int {
	if i := s.index(data, s.nl, at); i >= 0 {
		return i + len(s.nl)
	}
	return len(data)
}

// count is how many line ends there are.
func (s script) count(data []byte) int {
	if s.unit == 1 {
		return bytes.Count(data, s.nl)
	}
	n := 0
	for at := 0; ; { // data begins with the mark or at a character
		i := bytes.Index(data[at:], s.nl)
		if i < 0 {
			return n
		}
		if at += i; at%s.unit == 0 {
			n++
			at += s.unit
		} else {
			at++
		}
	}
}

// ended says whether a line end before an offset is CR LF.
func (s script) ended(data []byte, nl int) bool {
	return nl >= s.mark+len(s.cr) && bytes.Equal(data[nl-len(s.cr):nl], s.cr) && s.begins(data, nl-len(s.cr))
}

// text decodes a part of a file, which begins and ends between characters.
func (s script) text(part []byte) string {
	t, _ := s.enc.Decode(part)
	return t
}

// unixEnds writes line ends as \n.
func unixEnds(text string) string { return strings.ReplaceAll(text, "\r\n", "\n") }
