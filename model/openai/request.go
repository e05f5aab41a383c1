package openai

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/internal/fit"
	"github.com/uzda-dev/uzda/internal/raw"
)

// A request is one that is encoded: what its reply is read by, too.
type request struct {
	body     [][]byte
	warnings []uzda.Warning
	names    names
	tools    []uzda.ToolSpec // offered
	max      int
	text     int // bytes of what the model reads, without media
	tokens   int // a guess at them
	media    bool
	blind    func() // leaves out the media of the view so far, from now on
}

// request encodes a request: the head and the messages so far once, what varies
// from request to request behind them.
func (s *service) request(req *uzda.Request, enc *uzda.Enc) (*request, error) {
	q := &request{tools: req.Head.Tools, names: namesOf(req.Head.Tools), max: s.most(req)}
	key := strings.Join([]string{s.origin.Profile, s.base, s.origin.Account, s.model}, "\x00")
	b := enc.Buf(key, req)
	// Up to which message media are left out is kept as long as the head.
	blind := enc.Buf(key+"\x00media", req)
	q.blind = func() {
		blind.Head = strconv.AppendInt(nil, int64(last(req.View))+1, 10)
		b.N, b.View, b.Kept = 0, nil, nil // encoded anew
	}
	until, _ := strconv.ParseInt(string(blind.Head), 10, 64) // nothing is 0
	if b.Head == nil {
		head, err := s.appendHead(nil, &req.Head, q)
		if err != nil {
			return nil, err
		}
		b.Head = head
	}
	v, _ := b.Kept.(*view)
	if v == nil {
		v = &view{ids: ids{form: s.IDs}}
		b.Kept = v
	}
	v.service, v.names, v.out = s, q.names, b.View
	for _, e := range req.View[b.N:] {
		v.blind = int64(e.Seq) < until
		v.message(&e.Message)
	}
	b.View, b.N = v.out, len(req.View)

	// The system prompt, the messages and the tail are parted by commas.
	shown := b.View
	if b.Head[len(b.Head)-1] == '[' && len(shown) > 0 {
		shown = shown[1:]
	}
	tail, cut := v.tail(req.Tail)
	if len(shown) == 0 && b.Head[len(b.Head)-1] == '[' && len(tail) > 0 {
		tail = tail[1:]
	}
	q.body = [][]byte{b.Head, shown[:len(shown)-cut], s.appendEnd(tail, req, q.max)}
	q.text = len(b.Head) + len(b.View) + len(req.Tail) - v.media
	q.tokens, q.media = q.text/4+v.pictures*1000, v.pictures > 0
	return q, nil
}

// last is the newest event of a view.
func last(view []uzda.Entry) (seq uzda.Seq) {
	for i := range view {
		seq = max(seq, view[i].Seq)
	}
	return seq
}

// most is how long the reply may be, in tokens; 0: nobody says it.
func (s *service) most(req *uzda.Request) int {
	most := req.Max
	if most <= 0 {
		most = req.Head.Params.MaxTokens
	}
	if s.maxOutput > 0 {
		most = min(most, s.maxOutput)
	}
	return most
}

// reserved are the members that options can't set.
var reserved = []string{"messages", "model", "stream", "n", "max_tokens", "max_completion_tokens"}

// members are those of a request's head in order; a later one of the same name
// takes the place of the first, and null takes it out.
type members struct{ raw.Object }

func (m *members) set(key string, value []byte) { m.Set(key, value) }

func (m *members) text(key, value string) { m.Set(key, raw.AppendString(nil, value)) }

// appendHead appends the request up to its messages, and the system prompt.
func (s *service) appendHead(dst []byte, h *uzda.Head, q *request) ([]byte, error) {
	var m members
	p := &h.Params
	m.text("model", s.model)
	system := h.System
	tools := s.tools(h, q)
	if extra := p.Options["tools"]; len(extra) > 0 {
		list, err := raw.Elements(extra)
		if err != nil {
			return nil, badOption("tools", "is no JSON array")
		}
		for _, t := range list {
			tools = append(tools, t)
		}
	}
	if p.Choice == "none" && s.Choice == ChoiceNone {
		tools = nil
	}
	if len(tools) > 0 {
		m.set("tools", appendList(nil, tools))
		s.choice(&m, p, q)
	}
	s.params(&m, p, q)
	if len(p.Schema) > 0 {
		native, err := s.schema(&m, p.Schema, len(tools) > 0)
		if err != nil {
			return nil, err
		}
		if !native {
			system = fit.Told(system, p.Schema)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(p.Options)) {
		value := p.Options[key]
		switch {
		case slices.Contains(reserved, key):
			return nil, badOption(key, "can't be set: it is said by the session")
		case !json.Valid(value):
			return nil, badOption(key, "is no JSON")
		case key == "tools":
		case string(value) == "null":
			m.Delete(key)
		default:
			m.set(key, raw.Compact(value))
		}
	}
	dst = m.Append(dst)
	dst = append(dst[:len(dst)-1], `,"messages":[`...)
	if system != "" {
		dst = appendMessage(dst, s.System, system)
	}
	return dst, nil
}

func badOption(key, what string) error {
	return &uzda.ProviderError{Code: "invalid_request", Message: fmt.Sprintf("the option %q of the model %s", key, what), Hint: "correct the options of the model"}
}

func appendList(dst []byte, list []json.RawMessage) []byte {
	dst = append(dst, '[')
	for i, one := range list {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, one...)
	}
	return append(dst, ']')
}

func appendMessage(dst []byte, role, text string) []byte {
	dst = append(dst, `{"role":"`...)
	dst = append(append(dst, role...), `","content":`...)
	return append(raw.AppendString(dst, text), '}')
}

// params sets what the parameters say, as far as the service knows it.
func (s *service) params(m *members, p *uzda.Params, q *request) {
	if p.Temperature != nil {
		if s.takesTemperature(s.model) {
			m.set("temperature", strconv.AppendFloat(nil, *p.Temperature, 'g', -1, 64))
		} else {
			q.warn("temperature", fmt.Sprintf("%s takes no temperature; it is left out", s.model), "take it out of the model's parameters")
		}
	}
	if len(p.Stops) > 0 {
		stops := []byte{'['}
		for i, stop := range p.Stops {
			if i > 0 {
				stops = append(stops, ',')
			}
			stops = raw.AppendString(stops, stop)
		}
		m.set("stop", append(stops, ']'))
	}
	if p.Effort == "" {
		return
	}
	form := s.Effort
	if p.Effort == "none" && s.EffortOff != "" {
		form = s.EffortOff
	}
	said, err := raw.Parse([]byte("{" + strings.ReplaceAll(form, "%s", string(raw.AppendString(nil, p.Effort))) + "}"))
	if err != nil || form == "" {
		q.warn("effort", s.Label+" can't be told how hard to think; the effort is left out", "take it out of the model's parameters")
		return
	}
	for key, value := range said.All() {
		m.set(key, value)
	}
}

// choice says which tools the model may or must call.
func (s *service) choice(m *members, p *uzda.Params, q *request) {
	switch {
	case !p.NoParallel:
	case s.Parallel:
		m.set("parallel_tool_calls", []byte("false"))
	default:
		q.warn("no_parallel", s.Label+" can't be told to call one tool at a time", "say it in the prompt")
	}
	switch {
	case p.Choice == "" || p.Choice == "auto":
	case s.Choice == ChoiceNone:
		q.warn("tool_choice", s.Label+" can't be told which tool to call; the choice is left out", "say it in the prompt")
	case p.Choice == "any":
		m.text("tool_choice", s.Choice)
	case p.Choice == "none":
		m.text("tool_choice", "none")
	default:
		m.set("tool_choice", append(raw.AppendString([]byte(`{"type":"function","function":{"name":`), q.names.sent(p.Choice)), "}}"...))
	}
}

// schema says how the answer must look. Native: the service holds the model to it,
// and nobody else need tell it.
func (s *service) schema(m *members, schema json.RawMessage, tools bool) (native bool, err error) {
	fitted, strict, err := s.fitted(schema, true)
	if err != nil {
		return false, &uzda.ProviderError{Code: "invalid_request", Message: "the schema of the answer can't be sent: " + err.Error(), Hint: "correct the schema", Err: err}
	}
	switch {
	case tools && s.SchemaAlone:
	case s.Profile.Schema == SchemaNative:
		form := append([]byte(`{"type":"json_schema","json_schema":{"name":"answer"`), strict...)
		form = append(append(form, `,"schema":`...), fitted...)
		m.set("response_format", append(form, "}}"...))
		return true, nil
	case s.Profile.Schema == SchemaObject:
		m.set("response_format", []byte(`{"type":"json_object"}`))
	}
	return false, nil
}

// fitted is a schema as the service takes it. Strict is the member that holds the
// model to it, "" unless that is wanted and the schema is strict as it is: no
// field becomes required that was not.
func (s *service) fitted(schema json.RawMessage, want bool) (fitted json.RawMessage, strict string, err error) {
	if want && s.Strict && fit.Strict(schema) {
		if fitted, err = fit.Schema(schema, fit.OpenAIStrict); err == nil {
			return fitted, `,"strict":true`, nil
		}
	}
	fitted, err = fit.Schema(schema, s.dialect())
	return fitted, "", err
}

func (s *service) dialect() fit.Dialect {
	switch s.Dialect {
	case DialectOpenAI:
		return fit.OpenAI
	case DialectGemini:
		return fit.Gemini
	}
	return fit.Plain
}

// tools encodes the tools; one that can't be sent is left out, with a warning.
func (s *service) tools(h *uzda.Head, q *request) []json.RawMessage {
	out := make([]json.RawMessage, 0, len(h.Tools))
	for i := range h.Tools {
		t := &h.Tools[i]
		schema, strict, err := s.fitted(t.Input, h.Params.Strict)
		if err != nil {
			q.warn("tool "+t.Name, fmt.Sprintf("the tool %s is not offered to %s: %v", t.Name, s.Label, err), "correct the schema of its input")
			continue
		}
		one := raw.AppendString([]byte(`{"type":"function","function":{"name":`), q.names.sent(t.Name))
		if t.Description != "" {
			one = raw.AppendString(append(one, `,"description":`...), t.Description)
		}
		one = append(append(append(one, `,"parameters":`...), schema...), strict...)
		out = append(out, append(one, "}}"...))
	}
	return out
}

func (q *request) warn(code, text, hint string) {
	q.warnings = append(q.warnings, uzda.Warning{Code: code, Text: text, Hint: hint})
}

// appendEnd appends what follows the messages.
func (s *service) appendEnd(dst []byte, req *uzda.Request, most int) []byte {
	dst = append(dst, ']')
	if most > 0 {
		dst = append(raw.AppendString(append(dst, ','), s.MaxTokens), ':')
		dst = strconv.AppendInt(dst, int64(most), 10)
	}
	if !s.NoStream {
		dst = append(dst, `,"stream":true`...)
		if _, own := req.Head.Params.Options["stream_options"]; !own && !s.NoStreamUsage {
			dst = append(dst, `,"stream_options":{"include_usage":true}`...)
		}
	}
	if _, own := req.Head.Params.Options["prompt_cache_key"]; !own && s.CacheKey && req.Session != "" {
		dst = raw.AppendString(append(dst, `,"prompt_cache_key":`...), string(req.Session))
	}
	return append(dst, '}')
}

// names are those of tools on the wire, in both directions; nil where all fit. They
// are given in the order of the tools: one that joins late changes no other's.
type names struct{ out, in map[string]string }

const maxName = 64

func namesOf(tools []uzda.ToolSpec) names {
	if !slices.ContainsFunc(tools, func(t uzda.ToolSpec) bool { return !fits(t.Name) }) {
		return names{}
	}
	n := names{map[string]string{}, map[string]string{}}
	taken := func(s string) bool { return n.in[s] != "" }
	for i := range tools {
		name := tools[i].Name
		sent := name
		if !fits(name) || taken(name) {
			sent = fit.Name(name, maxName, taken)
		}
		n.out[name], n.in[sent] = sent, name
	}
	return n
}

func fits(name string) bool {
	for _, c := range []byte(name) {
		if !alnum(c) && c != '_' && c != '-' {
			return false
		}
	}
	return name != "" && len(name) <= maxName
}

// sent is the name of a tool on the wire.
func (n *names) sent(name string) string {
	if s, ok := n.out[name]; ok {
		return s
	}
	if fits(name) {
		return name
	}
	return fit.Name(name, maxName, nil)
}

// ours is the tool that a name on the wire means.
func (n *names) ours(sent string) string {
	if name, ok := n.in[sent]; ok {
		return name
	}
	return sent
}
