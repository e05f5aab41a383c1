package openai

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/internal/raw"
)

// assistant appends what a model said: as it came if this model did, else
// translated.
func (v *view) assistant(m *uzda.Message) {
	own := m.Origin != nil && *m.Origin == v.origin
	from, last := len(v.out), v.last
	v.begin(assistant)
	start := len(v.out)
	calls := v.calls(m, own)
	if item := v.whole(m, own, calls); item != nil {
		v.out = append(append(v.out[:from], ','), item...)
	} else if v.translated(m.Blocks, own, !own || len(m.Repairs) > 0, calls); len(v.out) == start {
		v.out, v.last = v.out[:from], last // nothing is left of it
		return
	} else {
		v.out = append(v.out, '}')
	}
	for _, c := range calls {
		if c.own != nil && c.id != "" {
			v.answer(c.id, "This call was not run: only calls of functions are.")
		}
	}
}

// A named call is one of a message with its name for this view.
type named struct {
	block int
	id    string
	use   uzda.ToolUse
	own   json.RawMessage // of a call that is no function's
}

// calls names the calls of a message.
func (v *view) calls(m *uzda.Message, own bool) []named {
	var out []named
	for i, b := range m.Blocks {
		switch b := b.(type) {
		case uzda.ToolUse:
			out = append(out, named{block: i, id: v.ids.add(b, own), use: b})
		case uzda.Opaque:
			if !own || b.Origin != v.origin.Profile {
				continue
			}
			c := named{block: i, own: b.Raw}
			if o, err := raw.Parse(b.Raw); err == nil {
				if c.id, _ = raw.String(o.Get("id")); c.id != "" {
					v.ids.take(c.id)
				}
			}
			out = append(out, c)
		}
	}
	return out
}

// whole returns the message as its provider sent it, with nothing encoded again
// but what must be. Nil: it can't go back so.
func (v *view) whole(m *uzda.Message, own bool, calls []named) json.RawMessage {
	if !own || len(m.Items) != 1 || m.Items[0].Plain() || m.Items[0].Blocks != len(m.Blocks) {
		return nil
	}
	if !slices.ContainsFunc(m.Blocks, func(b uzda.Block) bool { _, thought := b.(uzda.Thinking); return !thought }) {
		return nil // thoughts alone are no message
	}
	item := m.Items[0].Raw
	var err error
	for at, c := range calls {
		if c.own != nil {
			continue
		}
		if c.id != c.use.Wire {
			item, err = raw.SetPath(item, raw.AppendString(nil, c.id), "tool_calls", at, "id")
		}
		if err == nil && !fits(c.use.Name) && v.names.out[c.use.Name] == "" { // no tool of ours, and no name that may go back
			item, err = raw.SetPath(item, raw.AppendString(nil, v.names.sent(c.use.Name)), "tool_calls", at, "function", "name")
		}
		if err != nil {
			return nil
		}
	}
	for _, r := range m.Repairs {
		if r.Block < 0 {
			continue
		}
		if item = v.repaired(item, m, r.Block, calls); item == nil {
			return nil
		}
	}
	return item
}

// repaired encodes one block again inside its item.
func (v *view) repaired(item json.RawMessage, m *uzda.Message, block int, calls []named) json.RawMessage {
	if block >= len(m.Blocks) {
		return item
	}
	var err error
	switch b := m.Blocks[block].(type) {
	case uzda.ToolUse:
		for at, c := range calls {
			if c.block == block {
				item, err = raw.SetPath(item, raw.AppendString(nil, input(&b)), "tool_calls", at, "function", "arguments")
			}
		}
	case uzda.Text:
		o, fault := raw.Parse(item)
		if c := o.Get("content"); fault != nil || len(c) == 0 || c[0] == '[' {
			return nil
		}
		item, err = raw.SetPath(item, raw.AppendString(nil, b.Text), "content")
	default:
		return nil
	}
	if err != nil {
		return nil
	}
	return item
}

// input is the arguments of a call as they are sent.
func input(u *uzda.ToolUse) string {
	if len(u.Input) == 0 {
		return "{}"
	}
	return string(u.Input)
}

// translated appends the members of a message that is encoded from its blocks.
// Thoughts go back to nobody but who had them; what a signature would have proved
// has to be said otherwise where it is bare.
func (v *view) translated(bs uzda.Blocks, own, bare bool, calls []named) {
	var texts, thoughts []string
	for _, b := range bs {
		switch b := b.(type) {
		case uzda.Text:
			if strings.TrimSpace(b.Text) != "" {
				texts = append(texts, b.Text)
			}
		case uzda.Thinking:
			if own && v.Thinks != "" && b.Text != "" {
				thoughts = append(thoughts, b.Text)
			}
		}
	}
	switch {
	case len(texts) > 0:
		v.out = raw.AppendString(append(v.out, `,"content":`...), strings.Join(texts, "\n"))
	case len(calls) > 0:
		v.out = append(v.out, `,"content":null`...)
	default:
		return
	}
	if len(thoughts) > 0 {
		v.out = append(raw.AppendString(append(v.out, ','), v.Thinks), ':')
		v.out = raw.AppendString(v.out, strings.Join(thoughts, "\n"))
	}
	if len(calls) == 0 {
		return
	}
	v.out = append(v.out, `,"tool_calls":[`...)
	for i, c := range calls {
		if i > 0 {
			v.out = append(v.out, ',')
		}
		if c.own != nil {
			v.out = append(v.out, c.own...)
			continue
		}
		v.out = raw.AppendString(append(v.out, `{"id":`...), c.id)
		v.out = raw.AppendString(append(v.out, `,"type":"function","function":{"name":`...), v.names.sent(c.use.Name))
		v.out = raw.AppendString(append(v.out, `,"arguments":`...), input(&c.use))
		v.out = append(v.out, '}')
		if i == 0 && bare && v.CallExtra != "" {
			v.out = append(append(v.out, ','), v.CallExtra...)
		}
		v.out = append(v.out, '}')
	}
	v.out = append(v.out, ']')
}
