package modeltest

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
)

// A Unit is one piece of what the provider reads, in the order in which it does:
// the tools, the system prompt, then message for message its role and its
// blocks. Cache markers are no part of it.
type Unit struct {
	Part    string // model, tools, system or messages
	Message int    // its place among the messages, from 0
	Block   int    // its place in the message, -1 for the message without its blocks
	Raw     []byte // as it was sent, without cache markers
	Hash    string // of this and all before it
	size    int    // bytes that count as tokens, with all before it
	around  bool   // a message without its blocks, which follow
	mark    string // the cache marker on it: "", "5m" or "1h"
}

func (u *Unit) String() string {
	switch {
	case u.Part != "messages":
		return u.Part
	case u.Block < 0:
		return fmt.Sprintf("message %d", u.Message)
	}
	return fmt.Sprintf("block %d of message %d", u.Block, u.Message)
}

// mediaSize is what a picture or a document counts as, in bytes, whatever its size.
const mediaSize = 6000

// A reading collects the units of a request.
type reading struct {
	units []Unit
	sum   [sha256.Size]byte
	size  int
}

func (r *reading) add(part string, message, block int, raw []byte, size int, mark string) {
	h := sha256.New()
	h.Write(r.sum[:])
	fmt.Fprintf(h, "%s %d %d %d\n", part, message, block, len(raw))
	h.Write(raw)
	h.Sum(r.sum[:0])
	r.size += size
	r.units = append(r.units, Unit{
		Part: part, Message: message, Block: block, Raw: raw, Hash: hex.EncodeToString(r.sum[:16]), size: r.size, mark: mark,
	})
}

// message adds a message without its content, which is a list of blocks.
func (r *reading) message(part string, message int, m, content *value) {
	at := content.at - m.at
	around := append(append(make([]byte, 0, len(m.raw)-len(content.raw)), m.raw[:at]...), m.raw[at+len(content.raw):]...)
	r.add(part, message, -1, around, len(around), "")
	r.units[len(r.units)-1].around = true
}

// A Change is where a request leaves the prefix that one before it had.
type Change struct {
	Before, After int    // the numbers of the requests
	Part          string // model, tools, system or messages; "" if the one before is a prefix
	Message       int    // of messages
	Block         int    // of the message; -1: its role or its other members
	Was, Now      string // the beginnings of what differs; "" where nothing stands
	// Tail: only the last unit of the one before is different or gone. A tail that
	// is told once, and left out of the next request, makes such a change.
	Tail bool
}

func (c Change) String() string {
	u := Unit{Part: c.Part, Message: c.Message, Block: c.Block}
	switch {
	case c.Part == "":
		return "nothing changed"
	case c.Tail:
		return fmt.Sprintf("the tail changed: %s was %.80q and is %.80q", &u, c.Was, c.Now)
	}
	return fmt.Sprintf("%s changed: it was %.80q and is %.80q", &u, c.Was, c.Now)
}

// Extends says where r leaves the prefix of before: all that before sent, byte
// for byte and cache markers aside, must stand at the beginning of r.
func (r *Request) Extends(before *Request) Change {
	for i := range before.Units {
		was := &before.Units[i]
		if i < len(r.Units) && was.Hash == r.Units[i].Hash {
			continue
		}
		c := Change{Before: before.N, After: r.N, Part: was.Part, Message: was.Message, Block: was.Block, Was: head(was.Raw)}
		if i < len(r.Units) {
			c.Now = head(r.Units[i].Raw)
		}
		c.Tail = was.Part == "messages" && i >= before.tail()
		return c
	}
	return Change{}
}

// tail is the first unit that belongs to the last block of the request. A tail may
// be a message of its own or the last block of one.
func (r *Request) tail() int {
	last := len(r.Units) - 1
	if last > 0 && r.Units[last].Block == 0 {
		return last - 1 // with its message
	}
	return last
}

func head(raw []byte) string { return string(bytes.ToValidUTF8(raw[:min(len(raw), 200)], nil)) }
