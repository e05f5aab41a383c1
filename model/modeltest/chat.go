package modeltest

import (
	"fmt"
	"strings"
)

// chat is the wire of Chat Completions: POST …/chat/completions.
type chat struct{}

func (chat) name() Wire { return WireChat }

func (chat) content(stream bool) string { return messages{}.content(stream) }

func (chat) ping() []byte { return []byte(": keep-alive\n\n") }

// What llama-server calls its own errors.
const (
	exceeds     = "exceed_context_size_error"
	unavailable = "unavailable_error"
)

func (chat) failure(f failure) []byte {
	if f.kind == exceeds || f.kind == unavailable { // llama-server's own form
		more := ""
		if f.kind == exceeds {
			f.message = fmt.Sprintf("request (%d tokens) exceeds the available context size (%d tokens), try increasing it", f.tokens, f.window)
			more = fmt.Sprintf(`,"n_ctx":%d,"n_prompt_tokens":%d`, f.window, f.tokens)
		}
		return fmt.Appendf(nil, `{"error":{"code":%d,"message":%s,"type":%s%s}}`, f.status, quoted(f.message, false), quoted(f.kind, false), more)
	}
	kind, code := f.kind, "null"
	switch {
	case f.window > 0:
		kind, code = "invalid_request_error", `"context_length_exceeded"`
		f.message = fmt.Sprintf("This model's maximum context length is %d tokens. However, your messages resulted in %d tokens. Please reduce the length of the messages.", f.window, f.tokens)
	case f.status == 401:
		code = `"invalid_api_key"`
	case f.status == 404:
		code = `"model_not_found"`
	case f.status == 429:
		kind, code = "requests", `"rate_limit_exceeded"`
	case f.status >= 500:
		kind = "server_error"
	}
	if kind == "" {
		kind = "invalid_request_error"
	}
	return fmt.Appendf(nil, `{"error":{"message":%s,"type":%s,"param":null,"code":%s}}`, quoted(f.message, false), quoted(kind, false), code)
}

func (chat) event(body []byte) []byte { return fmt.Appendf(nil, "data: %s\n\n", body) }

// head is the beginning of a reply or a chunk.
func (chat) head(a *answer, object string) string {
	extra := ""
	if a.shape.Extra {
		extra = `,"zz_new":{"deep":[1.50,{"a":null}]}`
	}
	return fmt.Sprintf(`{"id":"chatcmpl-%s","object":"%s","created":%d,"model":%s,"system_fingerprint":"fp_fake"%s`,
		a.id, object, a.now, quoted(a.model, false), extra)
}

// finish is the finish reason as JSON.
func (chat) finish(a *answer) string {
	switch {
	case a.shape.NoFinish:
		return "null"
	case a.turn.Stop != "":
		return quoted(a.turn.Stop, false)
	case a.calls():
		return `"tool_calls"`
	}
	return `"stop"`
}

// chatUsage is the usage as Chat Completions has it: the prompt includes what was
// read from the cache.
func chatUsage(a *answer) string {
	if a.turn.RawUsage != nil {
		return string(a.turn.RawUsage)
	}
	u := a.usage
	return fmt.Sprintf(`{"prompt_tokens":%d,"completion_tokens":%d,"total_tokens":%d,"prompt_tokens_details":{"cached_tokens":%d},"completion_tokens_details":{"reasoning_tokens":0}}`,
		u.Context(), u.Output, u.Total(), u.CacheRead)
}

func (c chat) whole(a *answer) []byte {
	text := ""
	members, chunks := a.thoughts()
	var calls []string
	for i := range a.parts {
		p := &a.parts[i]
		switch {
		case p.Call != nil:
			calls = append(calls, c.call(a, p.Call, len(calls), true, p.Call.input()))
		case p.Thinking != "":
		default:
			text += p.Text
		}
	}
	content := quoted(text, a.shape.ASCII)
	if chunks != "" {
		content = "[" + chunks + `{"type":"text","text":` + content + "}]"
	} else if text == "" && (len(calls) > 0 || a.turn.Refusal != "") {
		content = "null"
	}
	if len(calls) > 0 {
		members += `,"tool_calls":[` + strings.Join(calls, ",") + `]`
	}
	if a.turn.Refusal != "" {
		members += `,"refusal":` + quoted(a.turn.Refusal, a.shape.ASCII)
	}
	usage := ""
	if a.shape.Usage != UsageNone {
		usage = `,"usage":` + chatUsage(a)
	}
	return fmt.Appendf(nil, `%s,"choices":[{"index":0,"message":{"role":"assistant","content":%s%s%s},"logprobs":null,"finish_reason":%s}]%s}`,
		c.head(a, "chat.completion"), content, members, membersOf(a.turn.Extra), c.finish(a), usage)
}

// membersOf are the members of an object with a comma before each.
func membersOf(object []byte) string {
	s := strings.TrimSpace(string(object))
	if len(s) < 2 || s[0] != '{' {
		return ""
	}
	if s = strings.TrimSpace(s[1 : len(s)-1]); s == "" {
		return ""
	}
	return "," + s
}

// call is call n, whole or as the first delta of a stream. Its index stands only
// in streams.
func (chat) call(a *answer, c *Call, n int, whole bool, arguments string) string {
	head := ""
	if !whole {
		head = a.shape.index(n)
	}
	head = join(join(head, a.callID(n)), `"type":"function"`)
	function := `"name":` + quoted(c.Name, false)
	switch c.Form {
	case FormAbsent:
	case FormNull:
		function += `,"arguments":null`
	case FormObject, FormBoth:
		function += `,"arguments":` + c.input()
	default:
		function += `,"arguments":` + quoted(arguments, a.shape.ASCII)
	}
	return "{" + head + `,"function":{` + function + "}" + membersOf(c.Extra) + "}"
}
