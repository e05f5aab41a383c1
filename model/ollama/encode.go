package ollama

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/internal/fit"
	"github.com/uzda-dev/uzda/internal/raw"
)

// defaultMax is the length of a reply in tokens where nobody says it.
const defaultMax = 16_384

// A body is a request's body in parts. What is stable comes first:
//
//	head: model, tools, the system message        kept in Buf.Head
//	view: the messages, a comma before each       kept in Buf.View
//	rest: the tail, options, think, format …
type body struct {
	system   string // as it is said
	parts    [][]byte
	warnings []uzda.Warning

	tools    bool
	known    func(name string) bool // a tool that was sent
	max      int                    // tokens of the reply
	numCtx   int
	schema   bool // the reply is constrained
	thinks   bool // the request says how to think because of Effort
	mute     func()
	pictures bool // there are some
	blind    func()
	sent     int // bytes of text that the model has to read
	replies  int // of the model in the view
}

func (e *endpoint) encode(req *uzda.Request, enc *uzda.Enc) (*body, error) {
	o := e.origin
	key := "ollama\x00" + o.Base + "\x00" + o.Account + "\x00" + o.Model
	buf := enc.Buf(key, req)
	b := &body{}
	tools := req.Head.Tools
	if req.Head.Params.Choice == "none" {
		tools = nil
	}
	b.system = req.Head.System
	if schema := req.Head.Params.Schema; len(schema) > 0 && len(tools) > 0 { // as a format it would keep the model from calling them
		b.system = fit.Told(b.system, schema)
	}
	if buf.Head == nil {
		buf.Head, b.warnings = head(e.ID, b.system, tools)
		b.warnings = append(b.warnings, unable(req.Head.Params)...)
	}
	b.tools = len(tools) > 0
	b.known = func(name string) bool {
		return slices.ContainsFunc(tools, func(t uzda.ToolSpec) bool { return t.Name == name })
	}
	k, _ := buf.Kept.(*kept)
	if k == nil {
		k = &kept{uses: map[uzda.UseID]sentUse{}, taken: map[string]bool{}}
		buf.Kept, buf.View, buf.N = k, nil, 0
	}
	// What the model refused is kept as long as the head: to think, pictures.
	muted, blind := enc.Buf(key+"\x00think", req), enc.Buf(key+"\x00pictures", req)
	b.mute = func() { muted.Head = []byte{1} }
	b.blind = func() {
		blind.Head = []byte{1}
		buf.N, buf.View, buf.Kept = 0, nil, nil // encoded anew
	}
	v := viewer{kept: k, out: buf.View, origin: o, blind: blind.Head != nil || !e.Can("vision")}
	for i := buf.N; i < len(req.View); i++ {
		v.entry(&req.View[i])
	}
	b.pictures = k.pictures
	buf.View, buf.N = v.out, len(req.View)
	b.sent, b.replies = len(buf.Head)+k.sent+len(req.Tail), k.replies

	rest, err := e.rest(b, req, k, muted.Head == nil)
	if err != nil {
		return nil, err
	}
	view := buf.View
	if b.system == "" && len(view) > 0 {
		view = view[1:] // no message stands before it
	}
	b.parts = [][]byte{buf.Head, view[:len(view):len(view)], rest}
	return b, nil
}

// unable warns of what was asked for and can't be done.
func unable(p uzda.Params) (out []uzda.Warning) {
	if p.Choice != "" && p.Choice != "auto" && p.Choice != "none" {
		out = append(out, uzda.Warning{Code: "tool_choice", Text: fmt.Sprintf("Ollama can't make the model call a tool: the choice %q has no effect", p.Choice),
			Hint: "say in the prompt which tool to call"})
	}
	if p.NoParallel {
		out = append(out, uzda.Warning{Code: "no_parallel", Text: "Ollama can't keep the model from calling several tools at once",
			Hint: "say in the prompt that only one tool may be called at a time"})
	}
	return out
}

func head(id, system string, tools []uzda.ToolSpec) (out []byte, warnings []uzda.Warning) {
	out = append(make([]byte, 0, 1024+len(system)), `{"model":`...)
	out = raw.AppendString(out, id)
	n := 0
	for _, t := range tools {
		schema, err := fit.Schema(t.Input, fit.Ollama)
		if err != nil {
			warnings = append(warnings, uzda.Warning{Code: "tool " + t.Name, Text: fmt.Sprintf("the tool %s is not offered to %s: %v", t.Name, id, err),
				Hint: "correct the schema of its input"})
			continue
		}
		out = append(out, separator(n, `,"tools":[`)...)
		n++
		out = append(out, `{"type":"function","function":{"name":`...)
		out = raw.AppendString(out, t.Name)
		if t.Description != "" {
			out = raw.AppendString(append(out, `,"description":`...), t.Description)
		}
		out = append(append(append(out, `,"parameters":`...), schema...), "}}"...)
	}
	if n > 0 {
		out = append(out, ']')
	}
	out = append(out, `,"messages":[`...)
	if system != "" {
		out = raw.AppendString(append(out, `{"role":"system","content":`...), system)
		out = append(out, '}')
	}
	return out, warnings
}

func separator(n int, first string) string {
	if n == 0 {
		return first
	}
	return ","
}

// rest is what comes behind the messages of the view.
func (e *endpoint) rest(b *body, req *uzda.Request, k *kept, think bool) ([]byte, error) {
	out := make([]byte, 0, 512+len(req.Tail))
	switch {
	case strings.TrimSpace(req.Tail) != "":
		out = appendUser(out, req.Tail)
	case k.last == uzda.Assistant:
		out = appendUser(out, "Continue.") // or the server would go on in the middle of the reply
	}
	if len(out) > 0 && b.system == "" && k.last == "" {
		out = out[1:]
	}
	out = append(out, ']')
	o, err := e.options(b, req, think)
	if err != nil {
		return nil, &uzda.ProviderError{Code: "invalid_request", Message: "the model's options: " + err.Error(),
			Hint: "mend the options of the model: they are members of the body of /api/chat"}
	}
	for key, value := range o.All() {
		out = append(append(raw.AppendString(append(out, ','), key), ':'), value...)
	}
	return append(out, '}'), nil
}

func appendUser(out []byte, text string) []byte {
	return append(raw.AppendString(append(out, `,{"role":"user","content":`...), text), '}')
}

// options are the members of the body that are no messages and no tools.
func (e *endpoint) options(b *body, req *uzda.Request, think bool) (*raw.Object, error) {
	p := req.Head.Params
	b.numCtx = e.NumCtx
	if b.numCtx <= 0 && !e.cloud() { // there the window is theirs
		b.numCtx = DefaultNumCtx
	}
	for _, n := range []int{req.Max, p.MaxTokens, defaultMax} {
		if b.max <= 0 {
			b.max = n
		}
	}
	inner, out := &raw.Object{}, &raw.Object{}
	if b.numCtx > 0 {
		inner.Set("num_ctx", number(b.numCtx))
	}
	inner.Set("num_predict", number(b.max))
	if p.Temperature != nil {
		inner.Set("temperature", strconv.AppendFloat(nil, *p.Temperature, 'g', -1, 64))
	}
	if len(p.Stops) > 0 {
		stops, err := json.Marshal(p.Stops)
		if err != nil {
			return nil, err
		}
		inner.Set("stop", stops)
	}
	if think {
		if word := e.think(p.Effort); word != "" {
			out.Set("think", json.RawMessage(word))
			b.thinks = true
		}
	}
	if len(p.Schema) > 0 && !b.tools {
		if !json.Valid(p.Schema) {
			return nil, fmt.Errorf("the schema of the answer is no JSON")
		}
		out.Set("format", raw.Compact(p.Schema))
		b.schema = true
	}
	if e.KeepAlive != 0 {
		out.Set("keep_alive", keepAlive(e.KeepAlive))
	}
	// A prompt that does not fit shall be an error, not be cut in silence; and what
	// the model has read shall not be dropped while it writes. Older servers know
	// neither, see cut.
	out.Set("truncate", json.RawMessage("false"))
	out.Set("shift", json.RawMessage("false"))
	if err := merge(out, inner, p.Options); err != nil {
		return nil, err
	}
	if n := count(inner.Get("num_ctx")); n > 0 {
		b.numCtx = n
	}
	out.Set("options", inner.Append(nil))
	out.Set("stream", json.RawMessage("true"))
	return out, nil
}

func number(n int) json.RawMessage { return strconv.AppendInt(nil, int64(n), 10) }

func keepAlive(d time.Duration) json.RawMessage {
	if d < 0 {
		return json.RawMessage("-1")
	}
	return raw.AppendString(nil, d.String())
}

// think is what the request says of thinking, "" for nothing. Only gpt-oss knows
// levels, and can't be kept from thinking.
func (e *endpoint) think(effort string) string {
	levels := e.Family == "gptoss" || strings.Contains(strings.ToLower(e.ID), "gpt-oss")
	off := effort == "none" || effort == "off" || effort == "false"
	switch {
	case effort == "" || !e.Can("thinking"):
		return ""
	case !levels:
		return strconv.FormatBool(!off)
	case off || effort == "minimal":
		return `"low"`
	case effort == "low" || effort == "medium":
		return `"` + effort + `"`
	}
	return `"high"`
}

// inside are the names that belong to "options". Outside of it the server would
// ignore them without a word.
var inside = []string{
	"num_ctx", "num_predict", "num_keep", "num_batch", "num_gpu", "num_thread", "main_gpu", "use_mmap", "seed", "stop",
	"temperature", "top_k", "top_p", "min_p", "typical_p", "repeat_last_n", "repeat_penalty", "presence_penalty", "frequency_penalty",
}

// merge puts a person's options into the body. null leaves a member out.
func merge(out, inner *raw.Object, more map[string]json.RawMessage) error {
	for _, key := range slices.Sorted(maps.Keys(more)) {
		value := raw.Compact(more[key])
		if !json.Valid(value) {
			return fmt.Errorf("%q is no JSON", key)
		}
		switch {
		case slices.Contains([]string{"model", "messages", "tools", "stream"}, key):
			return fmt.Errorf("%q can't be set", key)
		case key == "options":
			o, err := raw.Parse(value)
			if err != nil {
				return fmt.Errorf("%q is no object", key)
			}
			for k, v := range o.All() {
				set(inner, k, v)
			}
		case slices.Contains(inside, key):
			set(inner, key, value)
		default:
			set(out, key, value)
		}
	}
	return nil
}

func set(o *raw.Object, key string, value json.RawMessage) {
	if string(value) == "null" {
		o.Delete(key)
		return
	}
	o.Set(key, value)
}
