package agent

import (
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"io"
	"strconv"

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
	h := sha256.New()
	put(h, prev, string(e.Message.Role))
	sum(h, e.Message.Blocks)
	return hex.EncodeToString(h.Sum(nil))
}

func put(h hash.Hash, parts ...string) {
	var size [20]byte
	for _, p := range parts {
		h.Write(append(strconv.AppendInt(size[:0], int64(len(p)), 10), ':'))
		io.WriteString(h, p) //nolint:errcheck // a hash never errs
	}
}

// sum writes what blocks say. Encoding them as JSON for that would cost more
// than all the rest of a fold.
func sum(h hash.Hash, bs uzda.Blocks) {
	for _, b := range bs {
		switch b := b.(type) {
		case uzda.Text:
			put(h, "text", b.Text)
		case uzda.Thinking:
			put(h, "thinking", b.Text, b.Signature)
		case uzda.Media:
			put(h, "media", b.Type, b.Name, string(b.Data))
		case uzda.ToolUse:
			put(h, "use", string(b.ID), b.Name, string(b.Input))
		case uzda.ToolResult:
			put(h, "result", string(b.Use), strconv.FormatBool(b.IsError))
			sum(h, b.Blocks)
			put(h, "end")
		case uzda.Opaque:
			put(h, "opaque", b.Origin, string(b.Raw))
		}
	}
}
