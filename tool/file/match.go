package file

import (
	"bytes"
	"strings"
)

// A pattern is text to find in a file: its lines as the file would write them,
// whatever the line ends between them are.
type pattern [][]byte

func (s script) compile(text string) (pattern, error) {
	var p pattern
	for line := range strings.SplitSeq(text, "\n") {
		raw, err := s.enc.Encode(line)
		if err != nil {
			return nil, err
		}
		p = append(p, raw)
	}
	return p, nil
}

// match says where the pattern ends that begins at an offset, -1: it doesn't.
func (s script) match(data []byte, at int, p pattern) int {
	for i, line := range p {
		if i > 0 {
			rest := data[at:]
			if bytes.HasPrefix(rest, s.cr) && bytes.HasPrefix(rest[len(s.cr):], s.nl) {
				at += len(s.cr)
			} else if !bytes.HasPrefix(rest, s.nl) {
				return -1
			}
			at += len(s.nl)
		}
		if !bytes.HasPrefix(data[at:], line) {
			return -1
		}
		at += len(line)
	}
	return at
}

// A span is a part of a file, by offsets.
type span struct{ from, to int }

// find returns where the pattern stands, at most so many times, without overlaps.
func (s script) find(data []byte, p pattern, most int) []span {
	var found []span
	for at := s.mark; at <= len(data) && len(found) < most; {
		i := s.next(data, p, at)
		if i < 0 {
			break
		}
		end := s.match(data, i, p)
		if end > i {
			found = append(found, span{i, end})
			at = end
		} else {
			at = i + s.unit
		}
	}
	return found
}

// next is the next offset where the pattern may begin.
func (s script) next(data []byte, p pattern, at int) int {
	if len(p[0]) > 0 || len(p) == 1 {
		return s.index(data, p[0], at)
	}
	i := s.index(data, s.nl, at) // it begins with a line end
	if i >= at+len(s.cr) && s.ended(data, i) {
		return i - len(s.cr)
	}
	return i
}

// A piece replaces a part of a file.
type piece struct {
	span
	with []byte
}

// An edit is old and new text without what they share at both ends, so that all
// bytes of that stay as they are.
type edit struct{ pre, old, fresh, post string }

func trim(old, fresh string) edit {
	pre := 0
	for pre < min(len(old), len(fresh)) && old[pre] == fresh[pre] {
		pre++
	}
	for pre > 0 && (!runeStart(old, pre) || !runeStart(fresh, pre)) {
		pre--
	}
	post := 0
	for post < min(len(old), len(fresh))-pre && old[len(old)-1-post] == fresh[len(fresh)-1-post] {
		post++
	}
	for post > 0 && (!runeStart(old, len(old)-post) || !runeStart(fresh, len(fresh)-post)) {
		post--
	}
	return edit{old[:pre], old[pre : len(old)-post], fresh[pre : len(fresh)-post], old[len(old)-post:]}
}

func runeStart(s string, i int) bool { return i >= len(s) || s[i]&0xC0 != 0x80 }

// pieces turns found places into what is written there, with the line ends of the
// place itself.
func (s script) pieces(data []byte, found []span, e edit) ([]piece, error) {
	pre, err := s.compile(e.pre)
	if err != nil {
		return nil, err
	}
	old, err := s.compile(e.old)
	if err != nil {
		return nil, err
	}
	fresh, err := s.compile(e.fresh)
	if err != nil {
		return nil, err
	}
	out := make([]piece, 0, len(found))
	for _, f := range found {
		from := s.match(data, f.from, pre)
		to := s.match(data, from, old)
		ends := s.ends(data[:to], from)
		if len(ends) == 0 {
			ends = []bool{s.near(data, from)}
		}
		var with []byte
		for i, line := range fresh {
			if i > 0 {
				if ends[min(i-1, len(ends)-1)] {
					with = append(with, s.cr...)
				}
				with = append(with, s.nl...)
			}
			with = append(with, line...)
		}
		out = append(out, piece{span{from, to}, with})
	}
	return out, nil
}

// ends lists the line ends from an offset on: true is CR LF.
func (s script) ends(data []byte, from int) []bool {
	var ends []bool
	for i := s.index(data, s.nl, from); i >= 0; i = s.index(data, s.nl, i+len(s.nl)) {
		ends = append(ends, i > from && s.ended(data, i))
	}
	return ends
}

// near says whether the line end before an offset is CR LF, or the one after it
// where there is none before.
func (s script) near(data []byte, at int) bool {
	start := s.lineStart(data, at)
	if start > s.mark {
		return s.ended(data, start-len(s.nl))
	}
	i := s.index(data, s.nl, at)
	return i >= 0 && s.ended(data, i)
}

// cut splits data into the parts that stay and the parts that are new, in order.
func cut(data []byte, pieces []piece) [][]byte {
	parts := make([][]byte, 0, 2*len(pieces)+1)
	at := 0
	for _, p := range pieces {
		parts = append(parts, data[at:p.from], p.with)
		at = p.to
	}
	return append(parts, data[at:])
}
