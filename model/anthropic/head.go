package anthropic

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/internal/fit"
	"github.com/uzda-dev/uzda/internal/raw"
)

// options are Params.Options, sorted out.
type options struct {
	body   map[string]json.RawMessage // members of the body, compact
	tools  []json.RawMessage          // that the provider runs
	betas  []string
	ttl    string
	thinks string // the type of thinking: enabled, adaptive, disabled …; "": not said
}

// readOptions refuses what could not be sent. Members that are the adapter's own
// are left out.
func readOptions(in map[string]json.RawMessage) (*options, error) {
	o := &options{body: make(map[string]json.RawMessage, len(in))}
	bad := func(key, what string) error {
		return &uzda.ProviderError{Code: "invalid_request", Message: fmt.Sprintf("the option %q %s", key, what),
			Hint: "options are members of the request's body in the provider's own names; mend it in the configuration"}
	}
	for key, value := range in {
		if !json.Valid(value) {
			return nil, bad(key, "is no JSON")
		}
		switch key {
		case "model", "messages", "max_tokens", "stream":
		case "tools":
			if json.Unmarshal(value, &o.tools) != nil {
				return nil, bad(key, "must be an array of tools")
			}
			for i := range o.tools {
				o.tools[i] = raw.Compact(o.tools[i])
			}
		case "betas":
			if json.Unmarshal(value, &o.betas) != nil {
				return nil, bad(key, "must be an array of names")
			}
		case "cache_ttl":
			if o.ttl = str(value); o.ttl != "5m" && o.ttl != "1h" && o.ttl != "off" {
				return nil, bad(key, `must be "5m", "1h" or "off"`)
			}
		default:
			o.body[key] = raw.Compact(value)
		}
	}
	var t struct{ Type string }
	if v := o.body["thinking"]; v != nil && json.Unmarshal(v, &t) != nil {
		return nil, bad("thinking", `must be an object such as {"type":"adaptive"}`)
	}
	o.thinks = t.Type
	return o, nil
}

func isNull(v json.RawMessage) bool { return string(v) == "null" }

// marker is what is put at the end of a block to have the prompt kept up to it,
// "" for no marker, and how many may stand in the view: of the four that a request
// may have, one is in the head, and a user may have put others into options.
func (o *options) marker(local bool) (marker string, spare int) {
	if o.ttl == "off" || local && o.ttl == "" { // a local server keeps the last prompt anyway
		return "", 0
	}
	spare = 3
	for _, t := range o.tools {
		spare -= strings.Count(string(t), `"cache_control"`)
	}
	for _, v := range o.body {
		spare -= strings.Count(string(v), `"cache_control"`)
	}
	if v := o.body["cache_control"]; v != nil && !isNull(v) {
		spare--
	}
	if spare < 0 {
		return "", 0
	}
	if o.ttl == "1h" {
		return `,"cache_control":{"type":"ephemeral","ttl":"1h"}`, spare
	}
	return `,"cache_control":{"type":"ephemeral"}`, spare
}

// leastThinking is the least budget of thinking that the provider takes, in tokens.
const leastThinking = 1024

// thinkingFor is the member "thinking", nil for none. With a budget it needs room
// in the reply; and it is refused where the turn in hand did not begin with
// thinking, as when another model began it.
func (o *options) thinkingFor(most int, bare bool) json.RawMessage {
	t := o.body["thinking"]
	switch {
	case isNull(t):
		return nil
	case o.thinks != "enabled":
		return t
	}
	var b struct {
		Budget int `json:"budget_tokens"`
	}
	_ = json.Unmarshal(t, &b) // what is no number is for the provider to refuse
	switch {
	case bare || most <= leastThinking:
		return nil
	case b.Budget >= most:
		if less, err := raw.SetPath(t, fmt.Appendf(nil, "%d", max(leastThinking, most/2)), "budget_tokens"); err == nil {
			return less
		}
	}
	return t
}

// A header encodes the head of a request. For a count, what the counting endpoint
// refuses is left out.
type header struct {
	*endpoint
	req    *uzda.Request
	opts   *options
	names  names
	marker string
	count  bool

	out      []byte
	warnings []uzda.Warning
}

// counted are the options that the counting endpoint takes, besides those that
// are written elsewhere.
var counted = []string{"cache_control", "context_management", "mcp_servers", "speed", "system", "tool_choice"}

// encode returns the head: an object that is open, up to the begin of messages.
func (h *header) encode() ([]byte, error) {
	p := h.req.Head.Params
	h.out = h.model()
	tools := h.tools()
	own := func(key string, value []byte) {
		if value != nil && h.opts.body[key] == nil {
			h.member(key, value)
		}
	}
	if tools {
		own("tool_choice", h.choice())
	}
	own("system", h.system())
	config, err := h.config()
	if err != nil {
		return nil, err
	}
	if config != nil {
		h.member("output_config", config)
	}
	if !h.count {
		own("stop_sequences", stops(p.Stops))
		if p.Temperature != nil && (h.opts.thinks == "" || h.opts.thinks == "disabled") {
			value, err := json.Marshal(*p.Temperature)
			if err != nil {
				return nil, &uzda.ProviderError{Code: "invalid_request", Message: "the temperature is no number", Err: err}
			}
			own("temperature", value)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(h.opts.body)) {
		if key == "output_config" || key == "thinking" || isNull(h.opts.body[key]) || h.count && !slices.Contains(counted, key) {
			continue
		}
		h.member(key, h.opts.body[key])
	}
	return append(h.out, `,"messages":[`...), nil
}

const beginTools = `,"tools":[`

// model is what every body begins with.
func (e *endpoint) model() []byte { return appendString([]byte(`{"model":`), e.ID) }

func (h *header) member(key string, value []byte) {
	h.out = append(appendString(append(h.out, ','), key), ':')
	h.out = append(h.out, value...)
}

// tools writes the tools and says whether there are any. One that cannot be sent
// is left out with a warning; the others still work.
func (h *header) tools() bool {
	var list [][]byte
	for _, t := range h.opts.tools {
		list = append(list, t)
	}
	for i := range h.req.Head.Tools {
		t := &h.req.Head.Tools[i]
		one, err := h.tool(t)
		if err != nil {
			h.warnings = append(h.warnings, uzda.Warning{Code: "tool-" + t.Name,
				Text: fmt.Sprintf("the tool %s is left out: %v", t.Name, err), Hint: "mend its input schema, or switch it off"})
			continue
		}
		list = append(list, one)
	}
	if len(list) == 0 {
		return false
	}
	if len(h.req.Head.Tools) > 0 && h.req.Head.System == "" && h.opts.body["system"] == nil {
		// Without a system prompt the tools are what every request begins with.
		if last := list[len(list)-1]; len(list) > len(h.opts.tools) && h.marker != "" {
			list[len(list)-1] = append(append(last[:len(last)-1:len(last)-1], h.marker...), '}')
		}
	}
	h.out = append(h.out, beginTools...)
	for i, one := range list {
		if i > 0 {
			h.out = append(h.out, ',')
		}
		h.out = append(h.out, one...)
	}
	h.out = append(h.out, ']')
	return true
}

func (h *header) tool(t *uzda.ToolSpec) ([]byte, error) {
	schema, strict, err := fitted(t.Input, h.req.Head.Params.Strict)
	if err != nil {
		return nil, err
	}
	out := appendString([]byte(`{"name":`), h.names.wire(t.Name))
	if t.Description != "" {
		out = appendString(append(out, `,"description":`...), t.Description)
	}
	out = append(append(out, `,"input_schema":`...), schema...)
	if strict {
		out = append(out, `,"strict":true`...)
	}
	return append(out, '}'), nil
}

// fitted is a schema as the provider takes it: held to, where that is wanted and
// the schema is one that the provider can hold a model to.
func fitted(schema json.RawMessage, wanted bool) (out json.RawMessage, strict bool, err error) {
	if wanted {
		if out, err = fit.Schema(schema, fit.AnthropicStrict); err == nil {
			return out, true, nil
		}
	}
	out, err = fit.Schema(schema, fit.Anthropic)
	return out, false, err
}

// choice is the member "tool_choice", nil for what the provider does by itself.
func (h *header) choice() []byte {
	p := h.req.Head.Params
	var out []byte
	switch p.Choice {
	case "none": // then there are no parallel calls to switch off
		return []byte(`{"type":"none"}`)
	case "", "auto":
		if !p.NoParallel && p.Choice == "" {
			return nil
		}
		out = append(out, `{"type":"auto"`...)
	case "any":
		out = append(out, `{"type":"any"`...)
	default:
		out = appendString([]byte(`{"type":"tool","name":`), h.names.wire(p.Choice))
	}
	if p.NoParallel {
		out = append(out, `,"disable_parallel_tool_use":true`...)
	}
	return append(out, '}')
}

// system is the system prompt as one block, so that it can bear a marker.
func (h *header) system() []byte {
	system := h.req.Head.System
	if schema := h.req.Head.Params.Schema; len(schema) > 0 {
		if _, strict, err := fitted(schema, true); err == nil && !strict { // the provider does not hold the model to it
			system = fit.Told(system, schema)
		}
	}
	if blank(system) {
		return nil
	}
	out := appendText([]byte{'['}, system)
	out = append(out[:len(out)-1], h.marker...)
	return append(out, "}]"...)
}

// config is the member "output_config": what the options say, then effort and schema.
func (h *header) config() ([]byte, error) {
	p := h.req.Head.Params
	o, err := raw.Parse([]byte("{}"))
	switch given := h.opts.body["output_config"]; {
	case isNull(given):
		return nil, nil
	case given != nil:
		o, err = raw.Parse(given)
	}
	if err != nil {
		return nil, &uzda.ProviderError{Code: "invalid_request", Message: `the option "output_config" must be an object`, Err: err}
	}
	if p.Effort != "" && o.Get("effort") == nil {
		o.Set("effort", appendString(nil, p.Effort))
	}
	if len(p.Schema) > 0 && o.Get("format") == nil {
		schema, strict, err := fitted(p.Schema, true)
		if err != nil {
			return nil, &uzda.ProviderError{Code: "invalid_request", Message: "the schema of the answer can't be sent: " + err.Error(), Err: err}
		}
		if strict { // another is refused; the system prompt says it, and whoever asked checks
			o.Set("format", append(append([]byte(`{"type":"json_schema","schema":`), schema...), '}'))
		}
	}
	if o.Len() == 0 {
		return nil, nil
	}
	return o.Append(nil), nil
}

// stops is the member "stop_sequences". The provider refuses blank ones.
func stops(in []string) []byte {
	var out []byte
	for _, s := range in {
		if blank(s) {
			continue
		}
		if out == nil {
			out = append(out, '[')
		} else {
			out = append(out, ',')
		}
		out = appendString(out, s)
	}
	if out == nil {
		return nil
	}
	return append(out, ']')
}
