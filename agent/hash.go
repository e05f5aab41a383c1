package agent

import (
	"bytes"
	"strconv"
	"sync"

	"github.com/uzda-dev/uzda"
)

func (s *State) join(e uzda.Entry) {
	s.View = append(s.View, e)
	s.Hash = roll(s.Hash, e)
	s.Grown += e.Message.Blocks.Size()
	for _, b := range e.Message.Blocks {
		s.Labels = uzda.Union(s.Labels, b.Marks()...)
	}
}

// nextHash is the hash of head and view once the inbox has joined.
func (s *State) nextHash() string {
	h := s.Hash
	for _, m := range s.Inbox {
		if !m.Turn || m.Seq == s.Turn.Seq {
			h = roll(h, m.Entry)
		}
	}
	return uzda.Hash([]byte(s.GearHash), []byte(h))
}

func roll(prev string, e uzda.Entry) string {
	h := newSum()
	h.put(prev, string(e.Message.Role))
	h.blocks(e.Message.Blocks)
	return h.hex()
}

// A sum is a hash of strings with their lengths. Its parts are used again, since
// every fold takes some, and so is what it hashed last: what is folded on a fork is
// folded again when it is recorded, and to compare is much cheaper than to hash.
type sum struct {
	text []byte
	last [4]hashed
	next int // of last: the oldest
}

// hashed is a text with its hash in hex.
type hashed struct {
	text []byte
	hex  string
}

// maxKept is the longest text that is kept with its hash.
const maxKept = 64 << 10

var sums = sync.Pool{New: func() any { return &sum{} }}

func newSum() *sum { return sums.Get().(*sum) }

// hex returns the hash in hex and ends the sum.
func (h *sum) hex() string {
	defer sums.Put(h)
	for i := range h.last {
		if l := &h.last[i]; l.hex != "" && bytes.Equal(l.text, h.text) {
			h.text = h.text[:0]
			return l.hex
		}
	}
	hex := uzda.Hash(h.text)
	if len(h.text) > maxKept {
		h.text = nil
		return hex
	}
	l := &h.last[h.next]
	h.next = (h.next + 1) % len(h.last)
	l.hex, l.text, h.text = hex, h.text, l.text[:0]
	return hex
}

func (h *sum) put(parts ...string) {
	for _, p := range parts {
		h.text = strconv.AppendInt(h.text, int64(len(p)), 10)
		h.text = append(append(h.text, ':'), p...)
	}
}

// blocks writes what blocks say. Encoding them as JSON for that would cost more
// than all the rest of a fold.
func (h *sum) blocks(bs uzda.Blocks) {
	for _, b := range bs {
		switch b := b.(type) {
		case uzda.Text:
			h.put("text", b.Text)
		case uzda.Thinking:
			h.put("thinking", b.Text, b.Signature)
		case uzda.Media:
			h.put("media", b.Type, b.Name, string(b.Data))
		case uzda.ToolUse:
			h.put("use", string(b.ID), b.Name, string(b.Input))
		case uzda.ToolResult:
			h.put("result", string(b.Use), strconv.FormatBool(b.IsError))
			h.blocks(b.Blocks)
			h.put("end")
		case uzda.Opaque:
			h.put("opaque", b.Origin, string(b.Raw))
		}
	}
}
