package openai_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/model/modeltest"
	"github.com/uzda-dev/uzda/model/openai"
)

// decode reads one body, whole and byte by byte, which must make no difference.
func decode(t testing.TB, profile openai.Profile, body []byte, tools ...string) (uzda.Reply, error) {
	t.Helper()
	var replies []uzda.Reply
	var fault error
	for _, piece := range []func() int{nil, single} {
		p := &player{bodies: [][]byte{body}, piece: piece}
		reply, chunks, err := ask(t, p.model(profile), hello(tools...))
		if err == nil {
			if bad := modeltest.Order(chunks); bad != nil {
				t.Errorf("%v in %#v", bad, chunks)
			}
		}
		if fault = err; err != nil && piece == nil {
			t.Logf("error %v", err)
		}
		replies = append(replies, reply)
	}
	if a, b := brief(replies[0]), brief(replies[1]); a != b {
		t.Errorf("whole:\n%s\nbyte by byte:\n%s", a, b)
	}
	return replies[0], fault
}

// brief is a reply in one line: its blocks and its stop.
func brief(r uzda.Reply) string {
	var out []string
	for _, b := range r.Message.Blocks {
		switch b := b.(type) {
		case uzda.Text:
			out = append(out, fmt.Sprintf("text %q", b.Text))
		case uzda.Thinking:
			out = append(out, fmt.Sprintf("thinking %q", b.Text))
		case uzda.ToolUse:
			out = append(out, strings.TrimSpace(fmt.Sprintf("use %s %q %s %s", b.Name, b.Wire, b.Input, b.Raw)))
		case uzda.Opaque:
			out = append(out, fmt.Sprintf("opaque %s %s", b.Origin, b.Raw))
		}
	}
	out = append(out, "stop "+string(r.Stop.Reason))
	if r.Stop.Detail != "" {
		out = append(out, r.Stop.Detail)
	}
	return strings.Join(out, "; ")
}

// back is the assistant's message as it goes back after a reply to body.
func back(t testing.TB, profile openai.Profile, body []byte, tools ...string) string {
	t.Helper()
	p := &player{bodies: [][]byte{body}}
	m := p.model(profile)
	req := hello(tools...)
	reply, _, err := ask(t, m, req)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := ask(t, m, then(req, reply)); err != nil {
		t.Fatal(err)
	}
	return string(messages(t, p.sent[1])[2])
}

const (
	chunk = `{"id":"c1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":%s,"finish_reason":%s}]}`
	tally = `{"id":"c1","choices":[],"usage":{"prompt_tokens":20,"completion_tokens":5,"total_tokens":25}}`
	done  = "[DONE]"
)

// delta is a chunk with one delta; a word ends the reply.
func delta(d string, finish ...string) string {
	word := "null"
	if len(finish) > 0 {
		word = `"` + finish[0] + `"`
	}
	return fmt.Sprintf(chunk, d, word)
}

// stream is a stream of deltas that ends as it should.
func stream(finish string, deltas ...string) []byte {
	var chunks []string
	for _, d := range deltas {
		chunks = append(chunks, delta(d))
	}
	return sse(append(chunks, delta(`{}`, finish), tally, done)...)
}

// whole is a reply in one piece.
func whole(finish, message, usage string) []byte {
	return fmt.Appendf(nil, `{"id":"c1","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":%s,"finish_reason":%s}],"usage":%s}`, message, finish, usage)
}

const fullUsage = `{"prompt_tokens":20,"completion_tokens":5,"total_tokens":25}`

// A quirk is a small reply of our own that shows one.
type quirk struct {
	name    string
	profile openai.Profile
	body    []byte
	want    string // brief
	usage   uzda.Usage
	back    string // the message that goes back, if it does
}

var quirks = []quirk{
	{name: "reasoning used up the budget, with padding", // quirk:14
		body: sse(`{"choices":[{"index":0,"delta":{"role":"assistant","content":"","refusal":null},"finish_reason":null}],"usage":null,"obfuscation":"x9"}`,
			`{"choices":[{"index":0,"delta":{},"finish_reason":"length"}],"usage":null,"obfuscation":"q"}`,
			`{"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":50,"total_tokens":59,"completion_tokens_details":{"reasoning_tokens":50}},"obfuscation":"z"}`, done),
		want: "stop max_tokens", usage: uzda.Usage{Input: 9, Output: 50}},
	{name: "a refusal that ends as stop", // quirk:15
		body: stream("stop", `{"role":"assistant","content":null,"refusal":""}`, `{"refusal":"I can't"}`, `{"refusal":" do that."}`),
		want: `text "I can't do that."; stop refusal; refusal`, usage: uzda.Usage{Input: 20, Output: 5}},
	{name: "a custom tool's call", // quirk:16
		body:  whole(`"tool_calls"`, `{"role":"assistant","content":null,"tool_calls":[{"id":"k1","type":"custom","custom":{"name":"sums","input":"4 + 4"}}],"refusal":null,"annotations":[]}`, fullUsage),
		want:  `opaque openai/openai {"id":"k1","type":"custom","custom":{"name":"sums","input":"4 + 4"}}; stop end_turn`,
		usage: uzda.Usage{Input: 20, Output: 5},
		back:  `{"role":"assistant","content":null,"tool_calls":[{"id":"k1","type":"custom","custom":{"name":"sums","input":"4 + 4"}}]}`},
	{name: "Gemini: an empty id, a total with hidden thoughts, a signature", profile: openai.Gemini(), // quirk:17
		body: whole(`"tool_calls"`, `{"extra_content":{"google":{"thought_signature":"S+/="}},"role":"assistant","tool_calls":[{"function":{"arguments":"{}","name":"now"},"id":"","type":"function"}]}`,
			`{"completion_tokens":12,"prompt_tokens":35,"total_tokens":109}`),
		want: `use now "" {}; stop tool_use`, usage: uzda.Usage{Input: 35, Output: 74},
		back: `{"extra_content":{"google":{"thought_signature":"S+/="}},"role":"assistant","tool_calls":[{"function":{"arguments":"{}","name":"now"},"id":"call_2_1","type":"function"}]}`},
	{name: "OpenRouter: JSON behind blank lines", profile: openai.OpenRouter(), // quirk:19
		body: append([]byte("\n         \n\n         \n"), whole(`"stop"`, `{"role":"assistant","content":"Hi","refusal":null,"reasoning":null}`, fullUsage)...),
		want: `text "Hi"; stop end_turn`, usage: uzda.Usage{Input: 20, Output: 5}, back: `{"role":"assistant","content":"Hi"}`},
	{name: "Mistral: thoughts and text in an array", profile: openai.Mistral(), // quirk:22
		body: stream("stop", `{"role":"assistant","content":""}`, `{"content":[{"type":"thinking","thinking":[{"type":"text","text":"12 "}],"closed":true}]}`,
			`{"content":[{"type":"thinking","thinking":[{"type":"text","text":"* 12"}],"closed":true},{"type":"text","text":"1"}]}`, `{"content":"44"}`),
		want: `thinking "12 * 12"; text "144"; stop end_turn`, usage: uzda.Usage{Input: 20, Output: 5},
		back: `{"role":"assistant","content":[{"type":"thinking","thinking":[{"type":"text","text":"12 * 12"}],"closed":true},{"type":"text","text":"144"}]}`},
	{name: "Mistral: continuations with an empty name", profile: openai.Mistral(), // quirk:24
		body: stream("tool_calls", `{"tool_calls":[{"id":"abcdefghi","type":"function","function":{"name":"find","arguments":""},"index":0}],"index":0,"content":""}`,
			`{"tool_calls":[{"type":"function","function":{"name":"","arguments":"{\"q\": 1}"},"index":0}],"index":0}`),
		want: `use find "abcdefghi" {"q": 1}; stop tool_use`, usage: uzda.Usage{Input: 20, Output: 5},
		back: `{"role":"assistant","tool_calls":[{"id":"abcdefghi","type":"function","function":{"name":"find","arguments":"{\"q\": 1}"}}],"content":""}`},
	{name: "xAI: completion tokens leave reasoning out", profile: openai.XAI(), // quirk:25 case:C09
		body: whole(`"stop"`, `{"role":"assistant","content":"Hi"}`, `{"prompt_tokens":432,"completion_tokens":68,"total_tokens":636,"prompt_tokens_details":{"cached_tokens":153},"completion_tokens_details":{"reasoning_tokens":136}}`),
		want: `text "Hi"; stop end_turn`, usage: uzda.Usage{Input: 279, CacheRead: 153, Output: 204}},
	{name: "Azure: more cached than there is", profile: openai.Azure(), // quirk:27
		body: whole(`"stop"`, `{"role":"assistant","content":"Hi"}`, `{"prompt_tokens":249,"completion_tokens":40,"total_tokens":289,"prompt_tokens_details":{"cached_tokens":416}}`),
		want: `text "Hi"; stop end_turn`, usage: uzda.Usage{CacheRead: 249, Output: 40}},
	{name: "Azure: a first chunk without choices", profile: openai.Azure(), // quirk:29
		body: sse(`{"choices":[],"created":0,"id":"","model":"","object":"","prompt_filter_results":[{"prompt_index":0}]}`,
			delta(`{"content":"Copen","role":"assistant","refusal":null}`), delta(`{"content":"hagen"}`), delta(`{}`, "stop"), tally, done),
		want: `text "Copenhagen"; stop end_turn`, usage: uzda.Usage{Input: 20, Output: 5},
		back: `{"content":"Copenhagen","role":"assistant"}`},
	{name: "Perplexity: CRLF, no end mark, a message beside the delta", profile: openai.Perplexity(), // quirk:36
		body: []byte(strings.ReplaceAll(string(sse(
			`{"usage":{"prompt_tokens":8,"completion_tokens":1,"total_tokens":9},"choices":[{"index":0,"message":{"role":"assistant","content":"1 "},"delta":{"role":"assistant","content":"1 "}}]}`,
			`{"usage":{"prompt_tokens":8,"completion_tokens":5,"total_tokens":13},"object":"chat.completion.done","choices":[{"index":0,"message":{"role":"assistant","content":"1 2"},"delta":{"role":"assistant","content":"2"},"finish_reason":"stop"}]}`)), "\n", "\r\n")),
		want: `text "1 2"; stop end_turn`, usage: uzda.Usage{Input: 8, Output: 5}, back: `{"role":"assistant","content":"1 2"}`},
	{name: "a message that only the last chunk has", profile: openai.Custom(), // peer:28
		body: sse(delta(`{"role":"assistant"}`), `{"choices":[{"index":0,"delta":{"content":""},"message":{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"now","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}`, tally, done),
		want: `use now "a" {}; stop tool_use`, usage: uzda.Usage{Input: 20, Output: 5}},
	{name: "OpenRouter: null arguments", profile: openai.OpenRouter(), // quirk:42
		body: stream("tool_calls", `{"role":"assistant","content":null,"tool_calls":[{"index":0,"id":"0","type":"function","function":{"name":"now","arguments":null}}]}`),
		want: `use now "0" {}; stop tool_use`, usage: uzda.Usage{Input: 20, Output: 5},
		back: `{"role":"assistant","content":null,"tool_calls":[{"id":"0","type":"function","function":{"name":"now","arguments":"{}"}}]}`},
	{name: "OpenRouter: no finish reason, but an end mark and a usage", profile: openai.OpenRouter(),
		body: sse(delta(`{"role":"assistant","content":"Hi"}`), tally, done), want: `text "Hi"; stop end_turn`, usage: uzda.Usage{Input: 20, Output: 5}},
	{name: "signed thoughts", profile: openai.OpenRouter(), // peer:26
		body: stream("tool_calls", `{"role":"assistant","content":"","reasoning":"One","reasoning_details":[{"type":"reasoning.text","text":"One","format":"f","index":0}]}`,
			`{"content":"","reasoning":" two","reasoning_details":[{"type":"reasoning.text","text":" two","format":"f","index":0}]}`,
			`{"content":"","reasoning_details":[{"type":"reasoning.text","signature":"sig+/=","format":"f","index":0}]}`,
			`{"content":"","reasoning":null,"reasoning_details":[{"type":"reasoning.encrypted","data":"ENC","format":"f","id":"x","index":1}]}`,
			`{"content":null,"tool_calls":[{"index":0,"id":"t1","type":"function","function":{"name":"now","arguments":"{}"}}]}`),
		want: `thinking "One two"; use now "t1" {}; stop tool_use`, usage: uzda.Usage{Input: 20, Output: 5},
		back: `{"role":"assistant","content":"","reasoning":"One two","reasoning_details":[{"type":"reasoning.text","text":"One two","format":"f","index":0,"signature":"sig+/="},{"type":"reasoning.encrypted","data":"ENC","format":"f","id":"x","index":1}],"tool_calls":[{"id":"t1","type":"function","function":{"name":"now","arguments":"{}"}}]}`},
	{name: "Groq: a member that must not go back", profile: openai.Groq(),
		body: stream("stop", `{"role":"assistant","content":""}`, `{"reasoning":"Hm","channel":"analysis"}`, `{"content":"Hi","channel":"final"}`),
		want: `thinking "Hm"; text "Hi"; stop end_turn`, usage: uzda.Usage{Input: 20, Output: 5}, back: `{"role":"assistant","content":"Hi","reasoning":"Hm"}`},
	{name: "Together: eos", profile: openai.Together(), body: whole(`"eos"`, `{"role":"assistant","content":" Hi"}`, fullUsage),
		want: `text " Hi"; stop end_turn`, usage: uzda.Usage{Input: 20, Output: 5}},
	{name: "llama-server: timings only", profile: openai.LlamaServer(), // case:C09
		body: sse(delta(`{"content":"Hi"}`), delta(`{}`, "stop"), `{"choices":[],"timings":{"cache_n":225,"prompt_n":1,"predicted_n":38}}`, done),
		want: `text "Hi"; stop end_turn`, usage: uzda.Usage{Input: 1, CacheRead: 225, Output: 38}},
	{name: "Groq: the usage in its own member", profile: openai.Groq(),
		body: sse(delta(`{"content":"Hi"}`), `{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"x_groq":{"usage":{"prompt_tokens":20,"completion_tokens":5}}}`, done),
		want: `text "Hi"; stop end_turn`, usage: uzda.Usage{Input: 20, Output: 5}},
	{name: "DeepSeek: cache hits in a member of its own", profile: openai.DeepSeek(), // case:C09
		body: whole(`"stop"`, `{"role":"assistant","content":"Hi"}`, `{"prompt_tokens":184704,"completion_tokens":9,"total_tokens":184713,"prompt_cache_hit_tokens":183936,"prompt_cache_miss_tokens":768}`),
		want: `text "Hi"; stop end_turn`, usage: uzda.Usage{Input: 768, CacheRead: 183936, Output: 9}},
	{name: "cached tokens are part of the prompt", // case:C09
		body: whole(`"stop"`, `{"role":"assistant","content":"Hi"}`, `{"prompt_tokens":184704,"completion_tokens":9,"total_tokens":184713,"prompt_tokens_details":{"cached_tokens":183936,"cache_write_tokens":700}}`),
		want: `text "Hi"; stop end_turn`, usage: uzda.Usage{Input: 68, CacheRead: 183936, CacheWrite: 700, Output: 9}},
	{name: "absurd numbers", body: whole(`"stop"`, `{"role":"assistant","content":"Hi"}`, `{"prompt_tokens":1e300,"completion_tokens":5,"prompt_tokens_details":{"cached_tokens":-7},"total_tokens":"many"}`),
		want: `text "Hi"; stop end_turn`, usage: uzda.Usage{Input: 1 << 40, Output: 5}},
	{name: "the old form of one call", body: whole(`"function_call"`, `{"role":"assistant","content":null,"function_call":{"name":"now","arguments":"{\n}"}}`, fullUsage),
		want: "use now \"\" {\n}; stop tool_use", usage: uzda.Usage{Input: 20, Output: 5},
		back: `{"role":"assistant","content":null,"tool_calls":[{"function":{"name":"now","arguments":"{\n}"},"id":"call_2_1","type":"function"}]}`},
	{name: "two choices", body: sse(`{"choices":[{"index":0,"delta":{"content":"a"}}]}`, `{"choices":[{"index":1,"delta":{"content":"x"}}]}`,
		`{"choices":[{"index":1,"delta":{},"finish_reason":"length"},{"index":0,"delta":{"content":"b"},"finish_reason":"stop"}]}`, tally, done),
		want: `text "ab"; stop end_turn`, usage: uzda.Usage{Input: 20, Output: 5}},
	{name: "no end mark", body: sse(delta(`{"content":"Hi"}`, "stop")), want: `text "Hi"; stop end_turn`, usage: uzda.Usage{Output: 1, AtLeast: true}},
	{name: "one chunk a line", body: []byte(delta(`{"content":"Hi"}`) + "\n" + delta(`{}`, "stop") + "\n" + tally + "\n"), want: `text "Hi"; stop end_turn`, usage: uzda.Usage{Input: 20, Output: 5}},
	{name: "a provider's own reason", body: stream("took_fright", `{"content":"Hi"}`), want: `text "Hi"; stop unknown`, usage: uzda.Usage{Input: 20, Output: 5}},
	{name: "the window is full", profile: openai.Mistral(), body: stream("model_length", `{"content":"Hi"}`), want: `text "Hi"; stop context_exceeded`, usage: uzda.Usage{Input: 20, Output: 5}},
	{name: "content filtered", body: stream("content_filter", `{"content":"Hi"}`), want: `text "Hi"; stop refusal; content_filter`, usage: uzda.Usage{Input: 20, Output: 5}},
	{name: "halves of a character in two deltas", // peer:24
		body: stream("stop", `{"content":"a\ud83d"}`, `{"content":"\ude00b\ud83d"}`), want: `text "a😀b\ufffd"; stop end_turn`, usage: uzda.Usage{Input: 20, Output: 5},
		back: `{"role":"assistant","content":"a\ud83d\ude00b\ufffd"}`},
}

// Quirks of services.
func TestQuirks(t *testing.T) {
	t.Parallel()
	for _, c := range quirks {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			reply, err := decode(t, c.profile, c.body, "now", "find")
			if err != nil {
				t.Fatal(err)
			}
			want := strings.ReplaceAll(c.want, `\ufffd`, "\uFFFD")
			if got := brief(reply); got != want {
				t.Errorf("the reply is\n%s, not\n%s", got, want)
			}
			got := reply.Stop.Usage
			if got.AtLeast && got.Input > 0 {
				got.Input = 0 // a guess
			}
			if got != c.usage {
				t.Errorf("the usage is %+v, not %+v", got, c.usage)
			}
			if c.back != "" {
				if got := back(t, c.profile, c.body, "now", "find"); parseOrdered(t, got).String() != parseOrdered(t, c.back).String() {
					t.Errorf("what goes back is\n%s, not\n%s", got, c.back)
				}
			}
		})
	}
}

// Failures inside of a reply that began with a 200.
func TestBrokenReplies(t *testing.T) {
	t.Parallel()
	text := delta(`{"role":"assistant","content":"Hi"}`)
	for _, c := range []struct {
		name    string
		profile openai.Profile
		body    []byte
		code    string
		message string
		usage   uzda.Usage
	}{
		{name: "an error in a chunk with choices, after comments", profile: openai.OpenRouter(), // quirk:18
			body: append([]byte(": PROCESSING\n\n: PROCESSING\n\n"), sse(delta(`{"content":"","reasoning":"We"}`, "length"),
				`{"error":{"code":400,"message":"Token limit reached"},"choices":[{"index":0,"delta":{"content":""},"finish_reason":null}],"usage":{"prompt_tokens":43,"completion_tokens":10,"total_tokens":53}}`, done)...),
			code: "invalid_request", message: "Token limit reached", usage: uzda.Usage{Input: 43, Output: 10, AtLeast: true}},
		{name: "an error event", body: []byte("event: error\ndata: {\"error\":{\"message\":\"boom\",\"type\":\"server_error\"}}\n\n"), code: "unknown", message: "boom"},
		{name: "overload before content", body: sse(`{"error":{"code":503,"message":"Overloaded"}}`), code: "overloaded", message: "Overloaded"},
		{name: "overload after content is a cut", body: sse(text, `{"error":{"code":503,"message":"Overloaded"}}`), code: "cut", message: "Overloaded"},
		{name: "an error in a choice", body: sse(text, `{"choices":[{"index":0,"delta":{},"error":{"code":502,"message":"upstream"},"finish_reason":"error"}]}`), code: "cut", message: "upstream"},
		{name: "an error in one piece", body: []byte(`{"error":{"message":"no such model","code":"model_not_found"}}`), code: "not_found", message: "no such model"},
		{name: "vLLM's error in one piece", body: []byte(`{"object":"error","message":"the prompt is longer than the maximum model length of 10","type":"BadRequestError","code":400}`), code: "context"},
		{name: "no finish reason", body: sse(text, tally, done), code: "cut", message: "finish reason", usage: uzda.Usage{Input: 20, Output: 5, AtLeast: true}}, // case:B03
		{name: "nothing at all", body: sse(done), code: "network", message: "finish reason"},
		{name: "a finish that is an error", body: stream("error", `{"content":"Hi"}`), code: "cut", message: "error", usage: uzda.Usage{Input: 20, Output: 5, AtLeast: true}},
		{name: "no resources", profile: openai.DeepSeek(), body: sse(delta(`{}`, "insufficient_system_resource"), done), code: "overloaded"},
		{name: "what is no JSON, before content", body: sse("upstream connect error"), code: "network", message: "upstream connect error"},
		{name: "what is no JSON, after content", body: sse(text, "upstream connect error"), code: "cut", message: "upstream connect error"},
		{name: "a page", body: []byte("<html><head><title>Log in</title></head></html>"), code: "invalid_request", message: "Log in"},
		{name: "plain text", body: []byte("nothing here"), code: "unknown", message: "nothing here"},
		{name: "JSON that ends", body: whole(`"stop"`, `{"role":"assistant"}`, fullUsage)[:60], code: "network"},
		{name: "no reply", body: []byte(`{"ok":true}`), code: "unknown"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			reply, err := decode(t, c.profile, c.body, "now")
			var e *uzda.ProviderError
			if !errors.As(err, &e) {
				t.Fatalf("the error is %v, the reply %s", err, brief(reply))
			}
			if e.Code != c.code || !strings.Contains(e.Message, c.message) {
				t.Errorf("the error is %s %q", e.Code, e.Message)
			}
			if e.Usage != c.usage {
				t.Errorf("the usage is %+v", e.Usage)
			}
			if len(reply.Message.Blocks) > 0 {
				t.Errorf("a broken reply has blocks: %s", brief(reply))
			}
		})
	}
}

// What services say with a status. quirk:20 quirk:23 quirk:28 quirk:30
func TestStatuses(t *testing.T) {
	t.Parallel()
	soon := time.Now().Add(20 * time.Second).UnixMilli()
	for _, c := range []struct {
		name    string
		profile openai.Profile
		status  int
		headers map[string]string
		body    string
		code    string
		wait    time.Duration // at least; at most 5 s more
	}{
		{"OpenRouter, the reset nested in the body", openai.OpenRouter(), 429, nil,
			fmt.Sprintf(`{"error":{"message":"Rate limit exceeded: one a minute","code":429,"metadata":{"headers":{"X-RateLimit-Limit":"1","X-RateLimit-Remaining":"0","X-RateLimit-Reset":"%d"}}}}`, soon), "rate_limit", 15 * time.Second},
		{"Mistral, one form", openai.Mistral(), 401, nil, `{"detail":"Unauthorized"}`, "auth", 0},
		{"Mistral, the other", openai.Mistral(), 400, nil, `{"object":"error","message":"bad","type":"invalid_request_message_order","param":null,"code":"3230"}`, "invalid_request", 0},
		{"Azure, two hints that differ", openai.Azure(), 429, map[string]string{"retry-after": "1", "retry-after-ms": "0"}, `{"error":{"code":"RateLimitReached","message":"exceeded rate limit"}}`, "rate_limit", time.Second},
		{"DeepSeek, as an octet stream", openai.DeepSeek(), 400, map[string]string{"content-type": "application/octet-stream"},
			`{"error":{"message":"This model's maximum context length is 10 tokens.","type":"invalid_request_error","param":null,"code":"invalid_request_error"}}`, "context", 0},
	} {
		p := &player{status: c.status, headers: c.headers, bodies: [][]byte{[]byte(c.body)}, limits: true}
		m := p.model(c.profile)
		m.Key = c.name
		_, _, err := ask(t, m, hello())
		var e *uzda.ProviderError
		if !errors.As(err, &e) || e.Code != c.code || e.Status != c.status || e.Wait < c.wait || e.Wait > c.wait+5*time.Second {
			t.Errorf("%s: the error is %#v", c.name, err)
		}
	}
}

// Groq refuses a call that does not fit its schema in the middle of the stream:
// it is a call all the same, and the loop says what is wrong with it. quirk:21
func TestToolUseFailed(t *testing.T) {
	t.Parallel()
	fail := func(generation string) []byte {
		said, err := json.Marshal(generation)
		if err != nil {
			t.Fatal(err)
		}
		return append(sse(delta(`{"role":"assistant","content":""}`), delta(`{"reasoning":"Hm","channel":"analysis"}`)),
			fmt.Sprintf("event: error\ndata: {\"error\":{\"message\":\"Tool call validation failed\",\"type\":\"invalid_request_error\",\"code\":\"tool_use_failed\",\"failed_generation\":%s,\"status_code\":400}}\n\n", said)...)
	}
	for generation, want := range map[string]string{
		`{"name": "now", "arguments": {"zone": 1}}`:            `thinking "Hm"; use now "" {"zone":1}; stop tool_use`,
		`<function=now>{"zone": 1}</function>`:                 `thinking "Hm"; use now "" {"zone": 1}; stop tool_use`,
		`{"name": "later", "arguments": {"zone": 1}}`:          `thinking "Hm"; use later "" {"zone": 1}; stop tool_use`,
		`{"name": "now", "arguments": {"zone": "Europe/Berli`:  `thinking "Hm"; use now "" {} {"name": "now", "arguments": {"zone": "Europe/Berli; stop tool_use`,
		`I would call now, but I do not know how to write it.`: `thinking "Hm"; use tool_call "" {} I would call now, but I do not know how to write it.; stop tool_use`,
	} {
		reply, err := decode(t, openai.Groq(), fail(generation), "now")
		if got := brief(reply); got != want || err != nil {
			t.Errorf("%s:\n%s (%v), not\n%s", generation, got, err, want)
		}
	}
	if got, want := back(t, openai.Groq(), fail(`{"name": "now", "arguments": {"zone": 1}}`), "now"),
		`{"role":"assistant","content":"","reasoning":"Hm","tool_calls":[{"type":"function","function":{"arguments":"{\"zone\":1}","name":"now"},"id":"call_2_1"}]}`; tokensOf(got) != tokensOf(want) {
		t.Errorf("what goes back is %s", got)
	}
}

// tokensOf is JSON without white space and with the keys of objects sorted.
func tokensOf(s string) string { return string(uzda.Canonical(json.RawMessage(s))) }
