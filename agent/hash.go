package agent

import (
	"crypto/sha256"
	"encoding/hex"
	"hash"
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
// every fold takes some.
type sum struct {
	hash.Hash
	buf []byte // not yet hashed
}

// chunk is how much a sum gathers before it hashes.
const chunk = 1024

var sums = sync.Pool{New: func() any { return &sum{sha256.New(), make([]byte, 0, chunk)} }}

func newSum() *sum { return sums.Get().(*sum) }

// hex returns the hash in hex and ends the sum.
func (h *sum) hex() string {
	h.Write(h.buf)
	var text [2 * sha256.Size]byte
	hex.Encode(text[:], h.Sum(h.buf[:0]))
	h.Reset()
	h.buf = h.buf[:0]
	sums.Put(h)
	return string(text[:])
}

func (h *sum) put(parts ...string) {
	for _, p := range parts {
		h.text(strconv.Itoa(len(p)))
		h.text(":")
		h.text(p)
	}
}

func (h *sum) text(s string) {
	for len(s) > 0 {
		n := min(len(s), chunk-len(h.buf))
		h.buf, s = append(h.buf, s[:n]...), s[n:]
		if len(h.buf) == chunk {
			h.Write(h.buf)
			h.buf = h.buf[:0]
		}
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
