package agent

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/uzda-dev/uzda"
)

// maxCalls is how many calls of one reply are heard: no fuse is that wide, and
// each costs a result.
const maxCalls = 2000

const maxName = 256 // bytes of a tool's name that are kept

// mend makes a reply fit for the view before it is recorded: what cannot be sent
// back is left out or replaced, and each repair is named. Items keep what came.
func mend(m uzda.Message, stop uzda.StopReason) (uzda.Message, uzda.StopReason) {
	some, calls := len(m.Uses()) > 0, 0
	switch {
	case some && stop == uzda.StopEnd:
		stop = uzda.StopUse // a complete reply with calls, whatever it is called
	case !some && stop == uzda.StopUse:
		stop = uzda.StopEnd
	}
	out := m
	out.Blocks = make(uzda.Blocks, 0, len(m.Blocks))
	kept := make([]bool, len(m.Blocks))
	note := func(block int, what string) {
		out.Repairs = append(out.Repairs, uzda.Repair{Block: block, What: what})
	}
	for i, b := range m.Blocks {
		what := ""
		switch k := b.(type) {
		case uzda.ToolUse:
			if stop != uzda.StopUse && stop != uzda.StopPause {
				note(-1, fmt.Sprintf("the call of %s was left out: the reply ended with %s", k.Name, stop))
				continue
			}
			if calls++; calls > maxCalls {
				if calls == maxCalls+1 {
					note(-1, fmt.Sprintf("calls after the first %d were left out", maxCalls))
				}
				continue
			}
			b, what = mendUse(k)
		case uzda.Text:
			if strings.TrimSpace(k.Text) == "" {
				continue // providers refuse empty text, and it says nothing
			}
			if !utf8.ValidString(k.Text) {
				k.Text, what = strings.ToValidUTF8(k.Text, "\uFFFD"), "the text was not UTF-8"
				b = k
			}
		case uzda.Opaque:
			if len(k.Raw) > 0 && !json.Valid(k.Raw) {
				note(-1, "a block was left out: it is no JSON")
				continue
			}
		case uzda.ToolResult:
			note(-1, "a result of a tool was left out: a model makes none")
			continue
		}
		if what != "" {
			note(len(out.Blocks), what)
		}
		kept[i] = true
		out.Blocks = append(out.Blocks, b)
	}
	if out.Items = fitItems(m.Items, kept); slices.ContainsFunc(out.Items, func(it uzda.Item) bool { return !json.Valid(it.Raw) }) {
		out.Items = nil // all are encoded again
		note(-1, "what the provider sent is no JSON")
	}
	if onlyThinking(out.Blocks) && stop == uzda.StopEnd {
		out.Blocks = nil // a thought without a word is no answer
	}
	return out, stop
}

// fitItems leaves out the items of blocks that were left out, so that items and
// blocks still go together. Items that stand for no block stay.
func fitItems(items []uzda.Item, kept []bool) []uzda.Item {
	if len(items) == 0 || !slices.Contains(kept, false) {
		return items
	}
	var out []uzda.Item
	at := 0
	for _, it := range items {
		if it.Blocks < 0 || it.Blocks > len(kept)-at {
			return nil // they do not describe these blocks: all are encoded again
		}
		n := 0
		for _, k := range kept[at : at+it.Blocks] {
			if k {
				n++
			}
		}
		at += it.Blocks
		switch {
		case n == it.Blocks:
			out = append(out, it)
		case n > 0:
			return nil // an item goes back whole or not at all
		}
	}
	return out
}

func onlyThinking(bs uzda.Blocks) bool {
	for _, b := range bs {
		if _, ok := b.(uzda.Thinking); !ok {
			return false
		}
	}
	return true
}

// mendUse makes the input of a call an object: nothing, null and "" are {}; an
// object in a JSON string is that object; anything else is {}, with what came in
// Raw, and the use gets an error result that says so.
func mendUse(u uzda.ToolUse) (out uzda.ToolUse, what string) {
	if len(u.Name) > maxName { // no tool is called so
		u.Name = uzda.Before(u.Name, maxName)
		defer func() { what = orElse(what, "the name of the tool was too long") }()
	}
	in := strings.TrimSpace(string(u.Input))
	if u.Raw == "" && len(in) > 0 && in[0] == '{' {
		if one := compact(u.Input); one != nil {
			var halves bool
			if u.Input, halves = whole(one); halves {
				what = "half a character in the arguments was replaced"
			}
			return u, what
		}
	}
	if u.Raw != "" {
		in = strings.TrimSpace(u.Raw)
	}
	var text string
	if json.Unmarshal([]byte(in), &text) == nil {
		in = strings.TrimSpace(text) // also for null, which leaves text empty
	}
	u.Raw = ""
	switch {
	case in == "" || in == "null":
		u.Input = json.RawMessage("{}")
		return u, "" // what every provider means by it
	case in[0] == '{' && json.Valid([]byte(in)):
		u.Input, _ = whole(compact([]byte(in)))
		return u, "the arguments were an object inside a string"
	}
	u.Raw, u.Input = strings.ToValidUTF8(in, "\uFFFD"), json.RawMessage("{}")
	return u, "the arguments were no JSON object"
}

// whole replaces escapes of half a character, a surrogate without its other half:
// JSON allows them, and what reads it as text mostly does not. raw is valid JSON,
// where a backslash stands only in strings.
func whole(raw json.RawMessage) (out json.RawMessage, halves bool) {
	out = raw
	for i := 0; i < len(raw); i++ {
		if raw[i] != '\\' {
			continue
		}
		i++
		if raw[i] != 'u' {
			continue
		}
		if c := unit(raw[i-1:]); c < 0xd800 || c > 0xdfff {
			i += 4
			continue
		} else if low := unit(raw[i+5:]); c < 0xdc00 && low >= 0xdc00 && low <= 0xdfff {
			i += 10
			continue
		}
		if !halves {
			out, halves = slices.Clone(raw), true
		}
		copy(out[i+1:], "fffd")
		i += 4
	}
	return out, halves
}

// unit is the number of the escape that raw begins with, -1 if it is none.
func unit(raw []byte) int {
	if len(raw) < 6 || raw[0] != '\\' || raw[1] != 'u' {
		return -1
	}
	n, err := strconv.ParseUint(string(raw[2:6]), 16, 16)
	if err != nil {
		return -1
	}
	return int(n)
}
