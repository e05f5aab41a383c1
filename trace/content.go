package trace

import (
	"encoding/json"
	"slices"

	"github.com/uzda-dev/uzda"
)

// content sets an attribute that holds what was said, if that is wanted.
func (b *Builder) content(sp *Span, key string, v any) {
	if b.o.NoContent {
		return
	}
	switch c := v.(type) {
	case string:
		v = b.clean(c)
	case json.RawMessage:
		v = b.raw(c)
	}
	sp.Attr[key] = v
}

func (b *Builder) clean(text string) string {
	if b.o.Redact == nil || text == "" {
		return text
	}
	text, _ = b.o.Redact.Redact(text, false)
	return text
}

// raw keeps JSON as JSON, unless hiding a secret has broken it.
func (b *Builder) raw(in json.RawMessage) any {
	text := b.clean(string(in))
	if json.Valid([]byte(text)) {
		return json.RawMessage(text)
	}
	return text
}

// message and parts have the form of the conventions' messages.
func (b *Builder) message(role string, blocks uzda.Blocks) any {
	if b.o.NoContent {
		return nil
	}
	return map[string]any{"role": role, "parts": b.parts(blocks)}
}

func (b *Builder) parts(blocks uzda.Blocks) []any {
	out := []any{}
	if b.o.NoContent {
		return out
	}
	for _, one := range blocks {
		switch k := one.(type) {
		case uzda.Text:
			out = append(out, map[string]any{"type": "text", "content": b.clean(k.Text)})
		case uzda.Thinking:
			out = append(out, map[string]any{"type": "reasoning", "content": b.clean(k.Text)})
		case uzda.ToolUse:
			out = append(out, map[string]any{"type": "tool_call", "id": string(k.ID), "name": k.Name, "arguments": b.raw(k.Input)})
		case uzda.ToolResult:
			out = append(out, map[string]any{"type": "tool_call_response", "id": string(k.Use), "response": b.parts(k.Blocks)})
		case uzda.Media: // its bytes are in the journal
			out = append(out, map[string]any{"type": "blob", "mime_type": k.Type, "name": k.Name, "bytes": len(k.Data)})
		case uzda.Opaque:
			out = append(out, map[string]any{"type": "opaque", "origin": k.Origin, "bytes": len(k.Raw)})
		}
	}
	return out
}

// sizes are the bytes of what the model sees, so that the share of tool results
// is known at each ask without keeping what was said.
type sizes struct {
	head    int
	entries []entry
	open    int // results of the step that is not complete
}

type entry struct {
	seq         uzda.Seq
	tool, other int
}

func (z *sizes) join(seq uzda.Seq, blocks uzda.Blocks) {
	en := entry{seq: seq}
	for _, b := range blocks {
		switch b := b.(type) {
		case uzda.ToolResult:
			en.tool += b.Blocks.Size()
		default:
			en.other += uzda.Blocks{b}.Size()
		}
	}
	z.entries = append(z.entries, en)
}

func (z *sizes) result(r uzda.ToolResult) { z.open += r.Blocks.Size() }

// step lets the results of a complete step join as one message.
func (z *sizes) step(seq uzda.Seq) {
	z.entries = append(z.entries, entry{seq: seq, tool: z.open})
	z.open = 0
}

func (z *sizes) splice(b uzda.Edited) {
	first, last := -1, -1
	for i, en := range z.entries {
		if en.seq >= b.From && en.seq <= b.To {
			if first < 0 {
				first = i
			}
			last = i
		}
	}
	if first < 0 {
		return
	}
	var with sizes
	for _, en := range b.With {
		with.join(en.Seq, en.Message.Blocks)
	}
	z.entries = slices.Replace(z.entries, first, last+1, with.entries...)
}

func (z *sizes) toolShare() float64 {
	all, tool := z.head, 0
	for _, en := range z.entries {
		all, tool = all+en.tool+en.other, tool+en.tool
	}
	return share(tool, all)
}
