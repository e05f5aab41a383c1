package ollama

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/internal/raw"
	"github.com/uzda-dev/uzda/internal/wire"
)

// kept is what later messages need to know of those that are encoded.
type kept struct {
	uses     map[uzda.UseID]sentUse
	taken    map[string]bool // ids of calls
	last     uzda.Role       // of the last message
	sent     int             // bytes of text
	replies  int
	pictures bool // there are some
}

// A sentUse is a call as it was sent. Older servers give no id, so their calls go
// back without one.
type sentUse struct{ name, id string }

// viewer encodes messages.
type viewer struct {
	*kept
	out    []byte
	origin uzda.Origin
	blind  bool // the model sees no pictures
}

func (v *viewer) entry(e *uzda.Entry) {
	m := &e.Message
	if m.Role != uzda.Assistant {
		v.user(m)
		return
	}
	before := len(v.out)
	v.assistant(m)
	if len(v.out) > before {
		v.last = uzda.Assistant
		v.replies++
	}
}

// user writes a message for each result, and one for the rest.
func (v *viewer) user(m *uzda.Message) {
	var texts, pictures []string
	for _, b := range m.Blocks {
		switch b := b.(type) {
		case uzda.ToolResult:
			texts = append(texts, v.result(&b, &pictures)...)
		case uzda.Text:
			texts = append(texts, b.Text)
		case uzda.Media:
			if !v.picture(&b, &pictures) {
				texts = append(texts, v.words(&b))
			}
		}
	}
	if len(texts) == 0 && len(pictures) == 0 {
		return
	}
	v.begin("user", strings.Join(texts, "\n"))
	for i, p := range pictures {
		v.out = append(append(append(append(v.out, separator(i, `,"images":[`)...), '"'), p...), '"')
	}
	if len(pictures) > 0 {
		v.out = append(v.out, ']')
	}
	v.out = append(v.out, '}')
	v.last = uzda.User
}

// result writes a result. Its pictures follow in the user's message, with the words
// that it returns.
func (v *viewer) result(r *uzda.ToolResult, pictures *[]string) (words []string) {
	use := v.uses[r.Use]
	var texts []string
	for _, b := range r.Blocks {
		switch b := b.(type) {
		case uzda.Text:
			texts = append(texts, b.Text)
		case uzda.Media:
			if !v.picture(&b, pictures) {
				texts = append(texts, v.words(&b))
				continue
			}
			texts = append(texts, fmt.Sprintf("[%s: it follows the results]", label(&b)))
			words = append(words, fmt.Sprintf("[%s, from the result of %s]", label(&b), use.name))
		}
	}
	text := strings.Join(texts, "\n")
	if text == "" {
		text = "(no output)"
	}
	if r.IsError && !strings.HasPrefix(strings.ToLower(text), "error") {
		text = "Error: " + text // the wire has no flag for it
	}
	v.begin("tool", text)
	if use.name != "" {
		v.out = raw.AppendString(append(v.out, `,"tool_name":`...), use.name)
	}
	if use.id != "" {
		v.out = raw.AppendString(append(v.out, `,"tool_call_id":`...), use.id)
	}
	v.out = append(v.out, '}')
	v.last = uzda.User
	return words
}

// picture adds a picture that the model can see; false if it can't.
func (v *viewer) picture(b *uzda.Media, pictures *[]string) bool {
	mime := wire.Picture(b.Data)
	ok := mime != "" && mime != "image/gif" && !v.blind // the server decodes no GIF
	if ok {
		*pictures = append(*pictures, base64.StdEncoding.EncodeToString(b.Data))
		v.pictures = true
	}
	return ok
}

// words are what the model reads in the place of media that it can't see.
func (v *viewer) words(b *uzda.Media) string {
	if wire.IsText(b) {
		return fmt.Sprintf("[%s:]\n%s", label(b), b.Data)
	}
	return fmt.Sprintf("[%s, %d bytes, was left out: it can't be sent to this model]", label(b), len(b.Data))
}

func label(b *uzda.Media) string {
	if b.Name == "" {
		return b.Type
	}
	return b.Name + " (" + b.Type + ")"
}

func (v *viewer) begin(role, text string) {
	v.out = append(append(append(v.out, `,{"role":"`...), role...), `","content":`...)
	v.out = raw.AppendString(v.out, text)
	v.sent += len(text)
}

// assistant writes a reply: as it came, if this model said it, else anew. What
// says nothing is left out.
func (v *viewer) assistant(m *uzda.Message) {
	own := m.Origin != nil && *m.Origin == v.origin
	var r reply
	for _, b := range m.Blocks {
		switch b := b.(type) {
		case uzda.Text:
			if r.text != "" && b.Text != "" {
				r.text += "\n\n"
			}
			r.text += b.Text
			v.sent += len(b.Text)
		case uzda.Thinking:
			if own {
				r.thinking += b.Text
			}
		case uzda.ToolUse:
			r.calls = append(r.calls, call{name: b.Name, input: b.Input})
			v.sent += len(b.Name) + len(b.Input)
		}
	}
	uses := m.Uses()
	if own && len(m.Items) == 1 && m.Items[0].Blocks == len(m.Blocks) && !m.Items[0].Plain() {
		if out, err := v.item(m, uses); err == nil {
			v.out = append(append(v.out, ','), out...)
			return
		}
	}
	for i, u := range uses {
		r.calls[i].id = v.id(u, u.Wire)
		v.uses[u.ID] = sentUse{u.Name, r.calls[i].id}
	}
	if r.text != "" || len(r.calls) > 0 { // a thought alone says nothing
		v.out = r.append(append(v.out, ','))
	}
}

// item returns the message as it came. Blocks that were repaired are encoded anew
// in their place, and an id that another call has is replaced.
func (v *viewer) item(m *uzda.Message, uses []uzda.ToolUse) (json.RawMessage, error) {
	out, at := m.Items[0].Raw, 0
	var err error
	for i, b := range m.Blocks {
		if !slices.ContainsFunc(m.Repairs, func(r uzda.Repair) bool { return r.Block == i }) {
			if _, ok := b.(uzda.ToolUse); ok {
				at++
			}
			continue
		}
		switch b := b.(type) {
		case uzda.Text:
			out, err = raw.SetPath(out, raw.AppendString(nil, b.Text), "content")
		case uzda.Thinking:
			out, err = raw.SetPath(out, raw.AppendString(nil, b.Text), "thinking")
		case uzda.ToolUse:
			out, err = raw.SetPath(out, call{b.Wire, b.Name, b.Input}.append(nil, at), "tool_calls", at)
			at++
		}
		if err != nil {
			return nil, err
		}
	}
	o, err := raw.Parse(out)
	if err != nil {
		return nil, err
	}
	var came []string // ids
	for c := range objects(o.Get("tool_calls")) {
		came = append(came, text(c.Get("id")))
	}
	if len(came) != len(uses) {
		return nil, fmt.Errorf("the item has %d calls, the message %d", len(came), len(uses))
	}
	for i, u := range uses {
		if came[i] != "" {
			if id := v.id(u, came[i]); id != came[i] {
				if out, err = raw.SetPath(out, raw.AppendString(nil, id), "tool_calls", i, "id"); err != nil {
					return nil, err
				}
				came[i] = id
			}
		}
		v.uses[u.ID] = sentUse{u.Name, came[i]}
	}
	return out, nil
}

// id is what a call is named on the wire: as it came, unless that is taken, is
// none, or is too long.
func (v *viewer) id(u uzda.ToolUse, wire string) string {
	const longest = 128
	id := wire
	for n := 1; id == "" || len(id) > longest || v.taken[id]; n++ {
		id = "call_" + strings.ReplaceAll(string(u.ID), ".", "_")
		if n > 1 {
			id += "_" + strconv.Itoa(n)
		}
	}
	v.taken[id] = true
	return id
}

// A reply is a message of the model as Ollama's newer servers write it: with ids,
// and members in this order.
type reply struct {
	text, thinking string
	calls          []call
}

type call struct {
	id, name string
	input    json.RawMessage
}

func (r reply) append(dst []byte) []byte {
	dst = raw.AppendString(append(dst, `{"role":"assistant","content":`...), r.text)
	if r.thinking != "" {
		dst = raw.AppendString(append(dst, `,"thinking":`...), r.thinking)
	}
	for i, c := range r.calls {
		dst = c.append(append(dst, separator(i, `,"tool_calls":[`)...), i)
	}
	if len(r.calls) > 0 {
		dst = append(dst, ']')
	}
	return append(dst, '}')
}

func (c call) append(dst []byte, index int) []byte {
	dst = append(dst, '{')
	if c.id != "" {
		dst = append(raw.AppendString(append(dst, `"id":`...), c.id), ',')
	}
	dst = strconv.AppendInt(append(dst, `"function":{"index":`...), int64(index), 10)
	dst = raw.AppendString(append(dst, `,"name":`...), c.name)
	return append(append(append(dst, `,"arguments":`...), c.input...), "}}"...)
}
