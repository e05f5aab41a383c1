package modeltest

import (
	"fmt"
	"strings"
)

// messages is Anthropic's wire: POST /v1/messages.
type messages struct{}

func (messages) name() Wire { return WireMessages }

func (messages) content(stream bool) string {
	if stream {
		return "text/event-stream; charset=utf-8"
	}
	return "application/json"
}

func (messages) ping() []byte { return []byte("event: ping\ndata: {\"type\": \"ping\"}\n\n") }

// messagesErrors are Anthropic's words for statuses.
var messagesErrors = map[int]string{
	400: "invalid_request_error", 401: "authentication_error", 402: "billing_error", 403: "permission_error",
	404: "not_found_error", 409: "conflict_error", 413: "request_too_large", 429: "rate_limit_error",
	500: "api_error", 504: "timeout_error", 529: "overloaded_error",
}

func (messages) failure(f failure) []byte {
	kind := f.kind
	if kind == "" {
		kind = messagesErrors[f.status]
	}
	switch {
	case kind == "" && f.status < 500:
		kind = "invalid_request_error"
	case kind == "":
		kind = "api_error"
	}
	if f.window > 0 {
		f.message = fmt.Sprintf("prompt is too long: %d tokens > %d maximum", f.tokens, f.window)
	}
	return fmt.Appendf(nil, `{"type":"error","error":{"type":%s,"message":%s},"request_id":%s}`,
		quoted(kind, false), quoted(f.message, false), quoted(f.request, false))
}

func (messages) event(body []byte) []byte {
	return fmt.Appendf(nil, "event: error\ndata: %s\n\n", body)
}

func (m messages) whole(a *answer) []byte {
	var blocks []string
	call := 0
	for i := range a.parts {
		p := &a.parts[i]
		blocks = append(blocks, m.block(a, p, call))
		if p.Call != nil {
			call++
		}
	}
	return []byte(m.message(a, strings.Join(blocks, ","), m.stop(a), messagesUsage(a, a.usage.Output)))
}

// message is the object around the blocks.
func (messages) message(a *answer, blocks, stop, usage string) string {
	extra := ""
	if a.shape.Extra {
		extra = `,"zz_new":{"deep":[1,{"a":null}]}`
	}
	return fmt.Sprintf(`{"model":%s,"id":"msg_%s","type":"message","role":"assistant","content":[%s],%s%s%s}`,
		quoted(a.model, false), a.id, blocks, stop, usage, extra)
}

// stop is the part of a message, or of the last delta, that says why it ends.
func (messages) stop(a *answer) string {
	word := a.turn.Stop
	if word == "" {
		word = "end_turn"
		if a.calls() {
			word = "tool_use"
		}
	}
	reason := quoted(word, false)
	if a.shape.NoFinish {
		reason = "null"
	}
	detail := "null"
	if len(a.turn.Detail) > 0 {
		detail = string(a.turn.Detail)
	}
	sequence := "null"
	if word == "stop_sequence" {
		sequence = `"STOP"`
	}
	return fmt.Sprintf(`"stop_reason":%s,"stop_sequence":%s,"stop_details":%s`, reason, sequence, detail)
}

// messagesUsage is the usage with a comma before it, nothing if it is not told.
func messagesUsage(a *answer, output int) string {
	if a.shape.Usage == UsageNone {
		return ""
	}
	if a.turn.RawUsage != nil {
		return `,"usage":` + string(a.turn.RawUsage)
	}
	u := a.usage
	return fmt.Sprintf(`,"usage":{"input_tokens":%d,"cache_creation_input_tokens":%d,"cache_read_input_tokens":%d,`+
		`"cache_creation":{"ephemeral_5m_input_tokens":%d,"ephemeral_1h_input_tokens":%d},"output_tokens":%d,"service_tier":"standard"}`,
		u.Input, u.CacheWrite+u.CacheLong, u.CacheRead, u.CacheWrite, u.CacheLong, output)
}

// block is a whole block, as it stands in a reply that is not streamed.
func (m messages) block(a *answer, p *Part, call int) string {
	switch {
	case p.Call != nil:
		input := p.Call.input()
		if v, _, err := readJSON([]byte(input)); err != nil || v.kind == 0 {
			input = quoted(input, a.shape.ASCII) // no JSON: nothing else can carry it
		}
		return m.use(a, p.Call, call, input)
	case p.Raw != nil:
		return string(p.Raw)
	case p.Thinking != "":
		return fmt.Sprintf(`{"type":"thinking","thinking":%s,"signature":%s}`, quoted(p.Thinking, a.shape.ASCII), quoted(a.sign(p.Thinking, p.Thinking), false))
	case p.Hidden != "":
		return fmt.Sprintf(`{"type":"thinking","thinking":"","signature":%s}`, quoted(a.sign("", p.Hidden), false))
	}
	return fmt.Sprintf(`{"type":"text","text":%s%s}`, quoted(p.Text, a.shape.ASCII), m.extra(a))
}

func (messages) extra(a *answer) string {
	if a.shape.Extra {
		return `,"zz_new":{"kept":true}`
	}
	return ""
}

func (m messages) use(a *answer, c *Call, n int, input string) string {
	if input != "" {
		input = `,"input":` + input
	}
	return "{" + join(join(`"type":"tool_use"`, a.callID(n)), `"name":`+quoted(c.Name, false)) + input + m.extra(a) + "}"
}
