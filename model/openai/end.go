package openai

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/internal/markup"
	"github.com/uzda-dev/uzda/internal/raw"
	"github.com/uzda-dev/uzda/internal/wire"
)

// call takes the calls of a delta or of a whole message.
func (r *reply) call(list, legacy json.RawMessage, whole bool) error {
	if says(legacy) { // the call of a time that knew only one
		return r.piece(append(append([]byte(`{"index":"function_call","function":`), legacy...), '}'), whole)
	}
	if len(list) == 0 || list[0] != '[' {
		return nil
	}
	r.room.calls, _ = raw.AppendElements(r.room.calls[:0], list) // it is part of JSON, so there is no error
	for _, one := range r.room.calls {
		if err := r.piece(one, whole); err != nil || r.left {
			return err
		}
	}
	return nil
}

// piece takes a piece of a call.
func (r *reply) piece(data json.RawMessage, whole bool) error {
	p := &r.room.piece
	if !p.parse(data) {
		return nil
	}
	c, fresh, err := r.calls.add(p, whole)
	if err != nil {
		return &uzda.ProviderError{Code: "unknown", Message: "the reply can't be read: " + err.Error(), Err: err}
	}
	if c.place < 0 {
		c.place = r.place()
	}
	if fresh != "" {
		r.say(uzda.Delta{Block: c.place, Kind: "input", Text: fresh})
	}
	return nil
}

// failedCalls finds the call in Groq's error about one that does not fit its
// schema: the loop tells the model so, as it does with any other.
func (r *reply) failedCalls(data []byte) []markup.Call {
	o, err := raw.Parse(data)
	if err != nil {
		return nil
	}
	if e := o.Get("error"); says(e) {
		if o, err = raw.Parse(e); err != nil {
			return nil
		}
	}
	said := strings.TrimSpace(text(o.Get("failed_generation")))
	if said == "" || text(o.Get("code")) != "tool_use_failed" {
		return nil
	}
	_, calls, ok := markup.Find(said, r.q.known)
	if !ok {
		_, calls, _ = markup.Find("<tool_call>"+said+"</tool_call>", r.q.known)
	}
	return calls
}

// recovered takes over calls that did not come as such.
func (r *reply) recovered(found []markup.Call) {
	heard := make(map[string]bool, len(r.calls.list))
	for _, c := range r.calls.list {
		heard[c.mark()] = true
	}
	for _, f := range found[:min(len(found), maxCalls)] {
		c := &call{name: f.Name, kind: "function", value: f.Input}
		if f.Raw != "" {
			if f.Raw == "null" { // which would mean no arguments, not that they are missing
				f.Raw = "(the call breaks off)"
			}
			c.value = nil
			_, _ = c.args.Add(raw.AppendString(nil, f.Raw)) // it is a string
		}
		if heard[c.mark()] {
			continue // the server heard it too
		}
		heard[c.mark()] = true
		c.place = r.place()
		r.calls.list = append(r.calls.list, c)
	}
	_, _ = r.fold.Add("tool_calls", null) // its place: one more never fails
}

// mark is the same for calls of one tool with the same arguments.
func (c *call) mark() string {
	in, bad := c.input()
	return c.name + "\x00" + bad + "\x00" + string(uzda.Canonical(in))
}

// end makes blocks and a stop of what came.
func (r *reply) end() error {
	if err := r.lateMessage(); err != nil {
		return err
	}
	r.rest()
	text := r.text.all.String()
	if r.text.screen != nil {
		if plain, found, ok := markup.Find(text, r.q.known); ok && strings.HasPrefix(plain, text[:r.text.shown]) {
			text = plain
			r.recovered(found)
			r.fold.Set("content", raw.AppendString(nil, plain))
		}
	}
	used, known := r.usage.count(&r.Profile, r.room)
	stop, err := r.stop(used, known)
	if err != nil {
		return r.failed(err)
	}
	if !known {
		used = r.guess(used)
	}
	if strings.TrimSpace(text) != "" {
		r.emit(&r.text, text[r.text.shown:])
	}
	blocks, item := r.message(text)
	for i, b := range blocks {
		d := uzda.Done{Block: b}
		if i == len(blocks)-1 && item != nil {
			d.Item = &uzda.Item{Blocks: len(blocks), Raw: item}
		}
		r.say(d)
	}
	r.promptCut(used)
	origin := r.origin
	stop.Usage, stop.Origin, stop.Request = used, &origin, r.id
	r.say(stop)
	return nil
}

// lateMessage takes from the whole message, which some services send besides its
// deltas, what no delta had.
func (r *reply) lateMessage() error {
	if len(r.late) == 0 {
		return nil
	}
	o, err := raw.Parse(r.late)
	if err != nil {
		return nil //nolint:nilerr // it was part of JSON
	}
	if r.text.all.Len() > 0 {
		o.Delete("content")
	}
	if r.thought.all.Len() > 0 {
		for _, key := range thoughts {
			o.Delete(key)
		}
		o.Delete("reasoning_details")
	}
	if len(r.calls.list) > 0 {
		o.Delete("tool_calls")
		o.Delete("function_call")
	}
	if t := r.fold.Text("refusal"); t != nil && t.Len() > 0 {
		o.Delete("refusal")
	}
	return r.delta(o.Append(nil), true)
}

// rest shows what waited for the other half of a character.
func (r *reply) rest() {
	for _, key := range thoughts {
		if t := r.fold.Text(key); t != nil && r.thought.all.Len() > 0 {
			r.show(&r.thought, t.Rest())
			break
		}
	}
	r.show(&r.thought, r.thought.pieces.Rest())
	if r.Markup {
		thought, text := r.think.rest()
		r.show(&r.thought, thought)
		r.show(&r.text, text)
	}
	if t := r.fold.Text("content"); t != nil {
		r.show(&r.text, t.Rest())
	}
	r.show(&r.text, r.text.pieces.Rest())
}

// message makes the blocks, and the item if they don't say all that came.
func (r *reply) message(text string) (uzda.Blocks, json.RawMessage) {
	blocks := make(uzda.Blocks, r.places)
	if r.thought.place >= 0 {
		blocks[r.thought.place] = uzda.Thinking{Text: r.thought.all.String()}
	}
	if r.text.place >= 0 {
		blocks[r.text.place] = uzda.Text{Text: text}
	}
	seen := map[string]bool{}
	var list []json.RawMessage
	for _, c := range r.calls.list {
		if c.name == "" {
			c.name = "unnamed" // a call without a name can't go back
		}
		id := c.id
		for c.other() && seen[id] {
			id += "_"
		}
		item := c.json(id)
		list = append(list, item)
		if c.other() {
			seen[id] = true
			blocks[c.place] = uzda.Opaque{Origin: r.origin.Profile, Raw: item}
			continue
		}
		in, bad := c.input()
		use := uzda.ToolUse{Name: r.q.names.ours(c.name), Input: in, Raw: bad}
		if !seen[c.id] {
			use.Wire = c.id // of two with one id the loop's own tells them apart
		}
		seen[c.id] = true
		blocks[c.place] = use
	}
	if len(blocks) == 0 {
		return nil, nil
	}
	item := r.item(list)
	if bytes.Equal(item, r.encoded(blocks, len(item))) {
		return blocks, nil
	}
	return blocks, item
}

// encoded is the message as its blocks alone would be sent back, in about so many
// bytes.
func (r *reply) encoded(bs uzda.Blocks, size int) []byte {
	v := view{service: r.service, names: r.q.names, out: make([]byte, 0, size+1)}
	v.begin(assistant)
	var calls []named
	for i, b := range bs {
		switch b := b.(type) {
		case uzda.ToolUse:
			calls = append(calls, named{block: i, id: b.Wire, use: b})
		case uzda.Opaque:
			calls = append(calls, named{block: i, own: b.Raw})
		}
	}
	v.translated(bs, true, false, calls)
	return append(v.out[1:], '}')
}

// item is the message as it goes back, with the calls that are in it.
func (r *reply) item(calls []json.RawMessage) json.RawMessage {
	if len(calls) > 0 {
		r.fold.Set("tool_calls", appendList(nil, calls))
	}
	folded, o := r.fold.JSON(), &r.room.chunk
	if o.Parse(folded) != nil {
		return nil // it is what was just written
	}
	out := append(make([]byte, 0, len(folded)+32), '{')
	if text(o.Get("role")) == "" {
		out = append(out, `"role":"assistant",`...)
	} else {
		o.Set("role", json.RawMessage(`"assistant"`))
	}
	content := false
	for key, value := range o.All() {
		if key == "content" {
			content = true
			if string(value) == "null" && len(calls) == 0 {
				value = json.RawMessage(`""`)
			}
		} else if silent(key, value) {
			continue
		}
		out = append(append(append(raw.AppendString(out, key), ':'), value...), ',')
	}
	if !content && len(calls) == 0 {
		out = append(out, `"content":"",`...)
	}
	return append(out[:len(out)-1], '}')
}

// silent says whether a member says nothing, so that it need not go back.
func silent(key string, value json.RawMessage) bool {
	switch key {
	case "refusal":
		return string(value) == "null" || string(value) == `""`
	case "annotations", "tool_calls", "reasoning_details":
		return string(value) == "null" || string(value) == "[]"
	}
	return string(value) == "null"
}

// guess completes a usage that the service did not say, or not whole.
func (r *reply) guess(u uzda.Usage) uzda.Usage {
	u.AtLeast = true
	if u.Output == 0 {
		n := r.text.all.Len() + r.thought.all.Len()
		for _, c := range r.calls.list {
			n += len(c.name) + c.args.Len() + len(c.value)
		}
		u.Output = (n + 3) / 4
	}
	return u
}

func asProvider(err error, to **uzda.ProviderError) bool {
	return errors.As(wire.Broken(err, false), to)
}

// isError says whether an object is an error in the form of vLLM and others.
func isError(o *raw.Object) bool { return text(o.Get("object")) == "error" }
