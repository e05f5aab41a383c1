package window

import (
	"bytes"
	"slices"

	"github.com/uzda-dev/uzda"
)

const (
	lastReplies = 6
	tailShare   = 3 // the tail takes at most this part of the budget: a third
)

// cut is where the part begins that stays word for word: at a reply, with the
// last replies that half of the room under the target holds. It is at most fixed.
func (p Planner) cut(d *draft) int {
	rest := d.tokens() - d.between(0, d.fixed)
	room := min(d.budget/tailShare, max(d.target()-rest, 0)/2)
	last := p.Last
	if last <= 0 {
		last = lastReplies
	}
	at, replies := d.fixed, 1
	for i := d.fixed - 1; i > 0 && replies < last; i-- {
		if d.entries[i].Message.Role != uzda.Assistant || d.entries[i-1].Message.Role == uzda.Assistant {
			continue // results follow their calls, and a reply that was paused goes on in the next
		}
		if d.between(i, d.fixed) > room {
			break
		}
		if _, ok := recordOf(d.told(d.entries[0])); ok && i == 1 {
			break // only an earlier summary would be replaced
		}
		at, replies = i, replies+1
	}
	return at
}

// tail is what stays before fixed, without thinking; to is the last of the entries
// that must be written anew for that, cut-1 where none is.
func tail(entries []uzda.Entry, cut, fixed int) (with []uzda.Entry, to int) {
	to = cut - 1
	for i := cut; i < fixed; i++ {
		if thinks(entries[i].Message) {
			to = i
		}
	}
	for _, e := range entries[cut : to+1] {
		if thinks(e.Message) {
			if e.Message = unthink(e.Message); len(e.Message.Blocks) == 0 {
				continue
			}
		}
		with = append(with, e)
	}
	return with, to
}

func isThinking(b uzda.Block) bool {
	switch b := b.(type) {
	case uzda.Thinking:
		return true
	case uzda.Opaque:
		return hidesThinking(b.Raw)
	}
	return false
}

// tellsThinking says whether an item holds thinking beside what its blocks say.
func tellsThinking(it uzda.Item) bool {
	return bytes.Contains(it.Raw, []byte(`"reasoning`)) || bytes.Contains(it.Raw, []byte(`thinking"`))
}

func thinks(m uzda.Message) bool {
	return m.Role == uzda.Assistant && (slices.ContainsFunc(m.Blocks, isThinking) || slices.ContainsFunc(m.Items, tellsThinking))
}

// unthink is a message without its thinking. Items that cover nothing else go with
// it; where one covers more, all go, so that the blocks are encoded anew.
func unthink(m uzda.Message) uzda.Message {
	out := m
	out.Blocks, out.Items, out.Repairs = nil, nil, nil
	place := make([]int, len(m.Blocks)) // in out
	for i, b := range m.Blocks {
		if place[i] = -1; !isThinking(b) {
			place[i] = len(out.Blocks)
			out.Blocks = append(out.Blocks, b)
		}
	}
	for _, r := range m.Repairs {
		if r.Block >= 0 && r.Block < len(place) {
			if r.Block = place[r.Block]; r.Block < 0 {
				continue
			}
		}
		out.Repairs = append(out.Repairs, r)
	}
	at := 0
	for _, it := range m.Items {
		if it.Blocks < 0 || it.Blocks > len(m.Blocks)-at {
			out.Items = nil
			return out
		}
		covered := place[at : at+it.Blocks]
		at += it.Blocks
		gone := 0
		for _, p := range covered {
			if p < 0 {
				gone++
			}
		}
		switch {
		case gone == len(covered) && (gone > 0 || tellsThinking(it)):
		case gone > 0 || tellsThinking(it):
			out.Items = nil
			return out
		default:
			out.Items = append(out.Items, it)
		}
	}
	if !slices.ContainsFunc(out.Items, func(it uzda.Item) bool { return !it.Plain() }) {
		out.Items = nil
	}
	return out
}
