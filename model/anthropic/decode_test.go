package anthropic_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/model/modeltest"
)

const (
	signed = `{"type":"signature_delta","signature":"c2ln"}`
	aCall  = `{"type":"tool_use","id":"toolu_1","name":"now","input":{}}`
)

// quirks are oddities of the wire, each in a reply of our own. What is said of the
// reply is its blocks in short, and why it stopped.
var quirks = []struct {
	name, body string
	want       string // blocks
	stop       uzda.Stop
	plain      bool // nothing but the blocks goes back
}{
	// quirk:1
	{"spaces before the last brace", strings.ReplaceAll(stream("end_turn", text("hi")), "}\n", "   }\n"), "text(hi)", uzda.Stop{Reason: uzda.StopEnd}, true},
	// quirk:2
	{"pings inside of a block", events(began, `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`, `{"type": "ping"}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"hi"}}`, `{"type": "ping"}`, `{"type":"content_block_stop","index":0}`,
		`{"type":"a_new_event","index":0,"delta":{"type":"text_delta","text":"no"}}`, ended("end_turn", 20), stopped), "text(hi)", uzda.Stop{Reason: uzda.StopEnd}, true},
	// quirk:3
	{"one empty delta is no arguments", stream("tool_use", block(0, aCall, `{"type":"input_json_delta","partial_json":""}`)), "use(toolu_1 now {})", uzda.Stop{Reason: uzda.StopUse}, true},
	// quirk:4
	{"hidden thinking", stream("end_turn", block(0, `{"type":"thinking","thinking":"","signature":""}`, signed), text("hi")), "thinking(|c2ln) text(hi)", uzda.Stop{Reason: uzda.StopEnd}, true},
	// quirk:5
	{"redacted thinking whole in its start", stream("end_turn", block(0, `{"type":"redacted_thinking","data":"x=="}`), text("hi")),
		`opaque({"type":"redacted_thinking","data":"x=="}) text(hi)`, uzda.Stop{Reason: uzda.StopEnd}, true},
	// quirk:6
	{"nothing said", `{"type":"message","content":[],"stop_reason":"end_turn","usage":{"input_tokens":10,"output_tokens":20}}`, "", uzda.Stop{Reason: uzda.StopEnd}, true},
	// quirk:7
	{"a pause on a tool of the provider's", stream("pause_turn", text("hm"), block(1, `{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{}}`, `{"type":"input_json_delta","partial_json":"{\"query\": \"x\"}"}`)),
		`text(hm) opaque({"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{"query": "x"}})`, uzda.Stop{Reason: uzda.StopPause}, true},
	// quirk:8
	{"a compaction", stream("end_turn", block(0, `{"type":"compaction","content":null}`, `{"type":"compaction_delta","content":"In short: …"}`), text("hi")),
		`opaque({"type":"compaction","content":"In short: …"}) text(hi)`, uzda.Stop{Reason: uzda.StopEnd}, true},
	// quirk:10
	{"a refusal after some text", events(append(append([]string{began}, text("He")...), `{"type":"message_delta","delta":{"stop_reason":"refusal","stop_details":{"type":"refusal","category":null,"explanation":null}},"usage":{"output_tokens":20}}`, stopped)...),
		"text(He)", uzda.Stop{Reason: uzda.StopRefusal}, true},
	{"a refusal with a category", events(began, `{"type":"message_delta","delta":{"stop_reason":"refusal","stop_details":{"category":"bio","explanation":"no"}},"usage":{"output_tokens":20}}`, stopped),
		"", uzda.Stop{Reason: uzda.StopRefusal, Detail: "bio"}, true},
	// quirk:11
	{"the end of another format", stream("end_turn", text("hi")) + "event: data\ndata: [DONE]\n\n", "text(hi)", uzda.Stop{Reason: uzda.StopEnd}, true},
	{"only the end of another format", events(append(append([]string{began}, text("hi")...), ended("end_turn", 20))...) + "data: [DONE]\n\n", "text(hi)", uzda.Stop{Reason: uzda.StopEnd}, true},

	{"members that are not known", stream("tool_use", block(0, `{"type":"tool_use","id":"toolu_1","name":"now","input":{},"caller":{"type":"direct"},"new":[1.50,{"b":2,"a":1}]}`)),
		`use(toolu_1 now {}) item({"type":"tool_use","id":"toolu_1","name":"now","input":{},"caller":{"type":"direct"},"new":[1.50,{"b":2,"a":1}]})`, uzda.Stop{Reason: uzda.StopUse}, false},
	{"arguments keep their bytes", stream("tool_use", block(0, `{"type":"tool_use","id":"toolu_1","name":"f","input":{}}`, `{"type":"input_json_delta","partial_json":"{\"b\": 1.50, \"a\":"}`, `{"type":"input_json_delta","partial_json":" \"\\u00e9\"}"}`)),
		`use(toolu_1 f {"b":1.50,"a":"\u00e9"}) item({"type":"tool_use","id":"toolu_1","name":"f","input":{"b": 1.50, "a": "\u00e9"}})`, uzda.Stop{Reason: uzda.StopUse}, false},
	{"citations", stream("end_turn", block(0, `{"citations":[],"type":"text","text":""}`, `{"type":"citations_delta","citation":{"n":1,"title":null}}`, `{"type":"text_delta","text":"a"}`, `{"type":"citations_delta","citation":{"n":2}}`)),
		`text(a) item({"citations":[{"n":1,"title":null},{"n":2}],"type":"text","text":"a"})`, uzda.Stop{Reason: uzda.StopEnd}, false},
	{"citations without a place", stream("end_turn", block(0, `{"type":"text","text":"a"}`, `{"type":"citations_delta","citation":{"n":1}}`)),
		`text(a) item({"type":"text","text":"a","citations":[{"n":1}]})`, uzda.Stop{Reason: uzda.StopEnd}, false},
	{"a block that does not exist yet", stream("end_turn", block(0, `{"type":"dream","depth":1}`, `{"type":"dream_delta","image":"ab","depth":2}`, `{"type":"dream_delta","image":"cd"}`)),
		`opaque({"type":"dream","depth":2,"image":"abcd"})`, uzda.Stop{Reason: uzda.StopEnd}, true},
	{"a surrogate pair in two deltas", stream("end_turn", block(0, `{"type":"text","text":""}`, `{"type":"text_delta","text":"a\ud83d"}`, `{"type":"text_delta","text":"\ude00b"}`)),
		`text(a😀b) item({"type":"text","text":"a\ud83d\ude00b"})`, uzda.Stop{Reason: uzda.StopEnd}, false},
	{"half a surrogate pair", stream("end_turn", block(0, `{"type":"text","text":""}`, `{"type":"text_delta","text":"a\ud83d"}`, `{"type":"text_delta","text":"b"}`)),
		`text(a�b) item({"type":"text","text":"a\ufffdb"})`, uzda.Stop{Reason: uzda.StopEnd}, false},
	{"text in the start", stream("end_turn", block(0, `{"type":"text","text":"a"}`, `{"type":"text_delta","text":"b"}`)), "text(ab)", uzda.Stop{Reason: uzda.StopEnd}, true},
	{"a start that was left out", events(began, `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"hi"}}`, ended("end_turn", 20), stopped), "text(hi)", uzda.Stop{Reason: uzda.StopEnd}, true},
	{"an end that was left out", events(began, `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"a"}}`, `{"type":"content_block_start","index":1,"content_block":`+aCall+`}`, ended("tool_use", 20), stopped),
		"text(a) use(toolu_1 now {})", uzda.Stop{Reason: uzda.StopUse}, true},
	{"blocks that end in another order", events(began, `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`, `{"type":"content_block_start","index":1,"content_block":`+aCall+`}`, `{"type":"content_block_stop","index":1}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a"}}`, `{"type":"content_block_stop","index":0}`, ended("tool_use", 20), stopped), "text(a) use(toolu_1 now {})", uzda.Stop{Reason: uzda.StopUse}, true},
	{"the same start twice", events(append(append([]string{began, began}, text("hi")...), ended("end_turn", 20), stopped)...), "text(hi)", uzda.Stop{Reason: uzda.StopEnd}, true},
	{"the end in two parts", events(append(append([]string{began}, text("hi")...), `{"type":"message_delta","delta":{"stop_reason":"end_turn"}}`, `{"type":"message_delta","delta":{"stop_reason":null},"usage":{"output_tokens":20}}`, stopped)...), "text(hi)", uzda.Stop{Reason: uzda.StopEnd}, true},
	{"another reply in the same stream", stream("end_turn", text("hi")) + stream("end_turn", text("more")), "text(hi)", uzda.Stop{Reason: uzda.StopEnd}, true},
	{"events without names", strings.ReplaceAll(stream("end_turn", text("hi")), "event: ", "id: "), "text(hi)", uzda.Stop{Reason: uzda.StopEnd}, true},
	{"types only in names", strings.ReplaceAll(strings.ReplaceAll(stream("end_turn", text("hi")), `{"type":"content_block_stop",`, `{`), `{"type":"message_stop"}`, `{}`), "text(hi)", uzda.Stop{Reason: uzda.StopEnd}, true},
	{"lines that end in CR LF", strings.ReplaceAll(stream("end_turn", text("hi")), "\n", "\r\n"), "text(hi)", uzda.Stop{Reason: uzda.StopEnd}, true},
	{"no blank line at the end", strings.TrimRight(stream("end_turn", text("hi")), "\n"), "text(hi)", uzda.Stop{Reason: uzda.StopEnd}, true},
	{"JSON where a stream was asked for", `{"type":"message","content":[{"type":"text","text":"hi"},` + aCall + `],"stop_reason":"tool_use","usage":{"input_tokens":10,"output_tokens":20}}`, "text(hi) use(toolu_1 now {})", uzda.Stop{Reason: uzda.StopUse}, true},
	{"a container", events(append(append([]string{began}, text("hi")...), `{"type":"message_delta","delta":{"stop_reason":"end_turn","container":{"id":"c_1","expires_at":"2030-01-01T00:00:00Z"}},"usage":{"output_tokens":20}}`, stopped)...),
		`text(hi) opaque({"container":{"id":"c_1","expires_at":"2030-01-01T00:00:00Z"}})`, uzda.Stop{Reason: uzda.StopEnd}, true},
	{"arguments that are no object", stream("tool_use", block(0, aCall, `{"type":"input_json_delta","partial_json":"[1, 2"}`)), "use(toolu_1 now {} raw [1, 2)", uzda.Stop{Reason: uzda.StopUse}, true},
	{"arguments with bare line breaks", stream("tool_use", block(0, aCall, `{"type":"input_json_delta","partial_json":"{\"a\":\"b\nc\"}"}`)), `use(toolu_1 now {"a":"b\nc"})`, uzda.Stop{Reason: uzda.StopUse}, true},
	{"half a surrogate pair in arguments", stream("tool_use", block(0, aCall, `{"type":"input_json_delta","partial_json":"{\"a\":\"\\ud83d\"}"}`)), `use(toolu_1 now {"a":"\ufffd"})`, uzda.Stop{Reason: uzda.StopUse}, true},
	{"the same id twice", stream("tool_use", block(0, aCall), block(1, aCall)), "use(toolu_1 now {}) use( now {})", uzda.Stop{Reason: uzda.StopUse}, true},
	{"a call without a name", stream("tool_use", block(0, `{"type":"tool_use","id":"toolu_1","input":null}`)), `use(toolu_1 unnamed {}) item({"type":"tool_use","id":"toolu_1","input":{}})`, uzda.Stop{Reason: uzda.StopUse}, false},
}

// Every oddity is read as what it means, and goes back as it came.
func TestQuirks(t *testing.T) {
	t.Parallel()
	for _, c := range quirks {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			h := replies(t, c.body)
			m := h.model()
			var chunks []uzda.Chunk
			r, err := uzda.Collect(m.Stream(t.Context(), hello()), func(c uzda.Chunk) { chunks = append(chunks, c) })
			if err != nil {
				t.Fatal(err)
			}
			if err := modeltest.Order(chunks); err != nil {
				t.Error(err)
			}
			if got := short(r.Message); got != c.want {
				t.Errorf("the reply is\n%s\nnot\n%s", got, c.want)
			}
			if r.Stop.Reason != c.stop.Reason || r.Stop.Detail != c.stop.Detail {
				t.Errorf("it stopped with %+v", r.Stop)
			}
			if want := (uzda.Usage{Input: 10, Output: 20}); r.Stop.Usage != want {
				t.Errorf("the usage is %+v, not %+v", r.Stop.Usage, want)
			}
			if r.Stop.Request != "req_1" || r.Stop.Origin == nil || *r.Stop.Origin != (uzda.Origin{Profile: "anthropic", Base: h.URL, Account: r.Stop.Origin.Account, Model: "claude-test-1"}) {
				t.Errorf("the origin is %+v, the request %s", r.Stop.Origin, r.Stop.Request)
			}
			if c.plain != (r.Message.Items == nil) {
				t.Errorf("the items are %v", r.Message.Items)
			}
		})
	}
}

// short is a message in one line.
func short(m uzda.Message) string {
	var out []string
	for i, b := range m.Blocks {
		s := ""
		switch b := b.(type) {
		case uzda.Text:
			s = "text(" + b.Text + ")"
		case uzda.Thinking:
			s = "thinking(" + b.Text + "|" + b.Signature + ")"
		case uzda.ToolUse:
			s = fmt.Sprintf("use(%s %s %s", b.Wire, b.Name, b.Input)
			if b.Raw != "" {
				s += " raw " + b.Raw
			}
			s += ")"
		case uzda.Opaque:
			s = "opaque(" + string(b.Raw) + ")"
		}
		if i < len(m.Items) && !m.Items[i].Plain() {
			s += " item(" + string(m.Items[i].Raw) + ")"
		}
		out = append(out, s)
	}
	return strings.Join(out, " ")
}

// Every word for a stop has its own path, and one that is not known stays known by
// its name. L2
func TestStops(t *testing.T) {
	t.Parallel()
	call := block(0, `{"type":"tool_use","id":"toolu_1","name":"now","input":{}}`)
	cut := block(0, `{"type":"tool_use","id":"toolu_1","name":"now","input":{}}`, `{"type":"input_json_delta","partial_json":"{\"a\":"}`)
	for _, c := range []struct {
		word   string
		block  []string
		output int
		want   uzda.StopReason
	}{
		{"end_turn", text("hi"), 20, uzda.StopEnd},
		{"end_turn", call, 20, uzda.StopUse},
		{"tool_use", call, 20, uzda.StopUse},
		{"tool_use", text("hi"), 20, uzda.StopEnd},
		{"max_tokens", text("hi"), 20, uzda.StopLength},
		{"max_tokens", call, 20, uzda.StopLength},
		{"tool_use", cut, 1000, uzda.StopLength}, // at the cap, whatever it is called
		{"end_turn", cut, 1000, uzda.StopLength},
		{"tool_use", cut, 20, uzda.StopUse}, // broken, but not cut: the model is told
		{"tool_use", call, 1000, uzda.StopUse},
		{"stop_sequence", text("hi"), 20, uzda.StopSequence},
		{"stop_sequence", call, 20, uzda.StopSequence},
		{"pause_turn", text("hi"), 20, uzda.StopPause},
		{"compaction", block(0, `{"type":"compaction","content":"x"}`), 20, uzda.StopPause},
		{"refusal", call, 20, uzda.StopRefusal},
		{"model_context_window_exceeded", text("hi"), 20, uzda.StopContext},
		{"model_context_window_exceeded", call, 20, uzda.StopContext},
		{"something_new", call, 20, uzda.StopUnknown},
	} {
		h := replies(t, events(append(append([]string{began}, c.block...), ended(c.word, c.output), stopped)...))
		r := must(t, h.model(), hello())
		if r.Stop.Reason != c.want || r.Stop.Raw != c.word {
			t.Errorf("%s after %.60s is %q (%q), not %q", c.word, c.block, r.Stop.Reason, r.Stop.Raw, c.want)
		}
	}
	h := replies(t, events(began, `{"type":"message_delta","delta":{"stop_reason":"stop_sequence","stop_sequence":"###"},"usage":{"output_tokens":1}}`, stopped))
	if r := must(t, h.model(), hello()); r.Stop.Detail != "###" {
		t.Errorf("the sequence that stopped it is %q", r.Stop.Detail)
	}
}

// Usage is what the provider says, wherever it says it: the input is what was not
// read of a cache, and what is not said is a lower bound, never a measured 0.
// case:C09 case:B01 case:O04 quirk:8 quirk:9 quirk:11
func TestUsage(t *testing.T) {
	t.Parallel()
	start := func(usage string) string {
		return `{"type":"message_start","message":{"id":"m","content":[],"usage":` + usage + `}}`
	}
	end := func(usage string) string {
		return `{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":` + usage + `}`
	}
	for _, c := range []struct {
		name, start, end string
		want             uzda.Usage
	}{
		{"cached", `{"input_tokens":768,"cache_read_input_tokens":183936,"output_tokens":1}`, `{"input_tokens":768,"cache_read_input_tokens":183936,"output_tokens":50}`, uzda.Usage{Input: 768, CacheRead: 183936, Output: 50}},
		{"older ones say the output only at the end", `{"input_tokens":11,"cache_creation_input_tokens":5,"cache_read_input_tokens":1031,"output_tokens":1}`, `{"output_tokens":100}`, uzda.Usage{Input: 11, CacheRead: 1031, CacheWrite: 5, Output: 100}},
		{"writes of both kinds", `{"input_tokens":3,"cache_creation_input_tokens":12304,"cache_creation":{"ephemeral_5m_input_tokens":304,"ephemeral_1h_input_tokens":12000},"output_tokens":1}`, `{"input_tokens":3,"cache_creation_input_tokens":12304,"output_tokens":550}`,
			uzda.Usage{Input: 3, CacheWrite: 304, CacheLong: 12000, Output: 550}},
		{"the end corrects the begin", `{"input_tokens":43,"output_tokens":1}`, `{"input_tokens":61,"output_tokens":2}`, uzda.Usage{Input: 61, Output: 2}},
		{"a gateway begins with zeros", `{"input_tokens":0,"output_tokens":0,"cache_creation":null,"cache_read_input_tokens":null}`, `{"input_tokens":32,"output_tokens":16,"cost":0.1}`, uzda.Usage{Input: 32, Output: 16}},
		{"a gateway ends with zeros", `{"input_tokens":32,"output_tokens":0}`, `{"input_tokens":0,"output_tokens":16}`, uzda.Usage{Input: 32, Output: 16}},
		{"a compaction is in the passes only", `{"input_tokens":100,"cache_read_input_tokens":55096,"output_tokens":7}`,
			`{"input_tokens":181,"cache_read_input_tokens":0,"output_tokens":8,"iterations":[{"type":"compaction","input_tokens":100,"output_tokens":83,"cache_read_input_tokens":55096},{"type":"message","input_tokens":181,"output_tokens":8}]}`,
			uzda.Usage{Input: 281, CacheRead: 55096, Output: 91}},
		{"another model's pass", `{"input_tokens":1128,"output_tokens":2}`,
			`{"input_tokens":2411,"output_tokens":145,"iterations":[{"type":"message","input_tokens":1128,"output_tokens":135},{"type":"advisor_message","model":"claude-other","input_tokens":2543,"output_tokens":18},{"type":"message","input_tokens":1283,"output_tokens":10}]}`,
			uzda.Usage{Input: 4954, Output: 163, AtLeast: true}},
		{"nothing said", `null`, `null`, uzda.Usage{Output: 3, AtLeast: true}},
		{"zeros", `{"input_tokens":0,"output_tokens":0}`, `{"input_tokens":0,"output_tokens":0}`, uzda.Usage{Output: 3, AtLeast: true}},
		{"the end says nothing", `{"input_tokens":10,"output_tokens":1}`, `null`, uzda.Usage{Input: 10, Output: 3, AtLeast: true}},
		{"nonsense", `{"input_tokens":-5,"output_tokens":"7","cache_read_input_tokens":1e300,"cache_creation_input_tokens":{},"cache_creation":[]}`, `{"output_tokens":5,"input_tokens":2.9,"iterations":7}`, uzda.Usage{Input: 2, CacheRead: 1 << 40, Output: 5}},
	} {
		h := replies(t, events(append(append([]string{start(c.start)}, text("eleven byte")...), end(c.end), stopped)...))
		if r := must(t, h.model(), hello()); r.Stop.Usage != c.want {
			t.Errorf("%s: the usage is %+v, not %+v", c.name, r.Stop.Usage, c.want)
		}
	}
	// A service that answers a prompt that is too long with an empty text.
	h := replies(t, events(start(`{"input_tokens":0,"output_tokens":0}`), block(0, `{"type":"text","text":""}`)[0], `{"type":"message_delta","delta":{"stop_reason":"model_context_window_exceeded"},"usage":{"input_tokens":0,"output_tokens":0}}`, stopped))
	if r := must(t, h.model(), hello()); r.Stop.Reason != uzda.StopContext || !r.Stop.Usage.AtLeast {
		t.Errorf("it stopped with %+v", r.Stop)
	}
}

// A stream that breaks says so: as a cut after content, as something that may be
// tried again before. What was used until then is known. case:B03 L5 quirk:12
func TestBroken(t *testing.T) {
	t.Parallel()
	overloaded := `{"type":"error","error":{"details":null,"type":"overloaded_error","message":"Overloaded"},"request_id":"req_9"}`
	start := `{"type":"message_start","message":{"id":"msg_1","usage":{"input_tokens":10,"cache_read_input_tokens":90,"output_tokens":1}}}`
	open := `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`
	some := `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"eleven byte"}}`
	used := uzda.Usage{Input: 10, CacheRead: 90, Output: 3, AtLeast: true}
	first := uzda.Usage{Input: 10, CacheRead: 90, Output: 1, AtLeast: true}
	for _, c := range []struct {
		name, body  string
		code        string
		again       bool
		message     string
		usage       uzda.Usage
		contentType string
	}{
		{name: "an error event before content", body: events(start, overloaded), code: "overloaded", again: true, message: "Overloaded", usage: first},
		{name: "an error event alone", body: events(overloaded), code: "overloaded", again: true, message: "Overloaded"},
		{name: "an error event after content", body: events(start, open, some, overloaded), code: "cut", message: "overloaded: Overloaded", usage: used},
		{name: "an error in another form", body: events(start) + "data: {\"error\":{\"message\":\"busy\",\"type\":\"overloaded_error\"}}\n\n", code: "overloaded", again: true, message: "busy", usage: first},
		{name: "an error as JSON with status 200", body: overloaded, code: "overloaded", again: true, message: "Overloaded"},
		{name: "an end before content", body: events(start, open), code: "network", again: true, usage: first},
		{name: "an end after content", body: events(start, open, some), code: "cut", usage: used},
		{name: "an end after a whole block", body: events(append([]string{start}, text("eleven byte")...)...), code: "cut", usage: used},
		{name: "the mark of the end alone", body: events(start, open, some, stopped), code: "cut", usage: used},
		{name: "an event that is no JSON", body: events(start) + "data: {\"type\":\"content_block\n\n", code: "network", again: true, usage: first},
		{name: "an event that is no JSON, after content", body: events(start, open, some) + "data: nonsense\n\n", code: "cut", usage: used},
		{name: "a second message in the first", body: events(start, open, some, strings.Replace(start, "msg_1", "msg_2", 1)), code: "cut", message: "a second message", usage: used},
		{name: "a delta of a block that is closed", body: events(append(append([]string{start}, text("eleven byte")...), some)...), code: "cut", message: "not open", usage: used},
		{name: "text for a call", body: events(start, `{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"t","name":"n","input":{}}}`, some), code: "network", again: true, message: "does not fit", usage: first},
		{name: "arguments for a text", body: events(start, open, some, `{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{}"}}`), code: "cut", message: "does not fit", usage: used},
		{name: "a text that is a number", body: events(start, open, `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":5}}`), code: "network", again: true, usage: first},
		{name: "a block that is a list", body: events(start, `{"type":"content_block_start","index":0,"content_block":[]}`), code: "network", again: true, usage: first},
		{name: "members without end", body: events(start, `{"type":"content_block_start","index":0,"content_block":{"type":"dream"}}`, `{"type":"content_block_delta","index":0,"delta":{`+members(3000)+`}}`), code: "unknown", usage: first},
		{name: "cut JSON", body: `{"type":"message","content":[{"type":"te`, code: "network", again: true},
		{name: "JSON of another format", body: `{"choices":[{"message":{"content":"hi"}}]}`, code: "unknown", message: "no content"},
		{name: "a page of HTML", body: "<html><title>Log in</title></html>", contentType: "text/html", code: "invalid_request", message: "Log in"},
		{name: "plain text", body: "hello", contentType: "text/plain", code: "unknown", message: "no event stream"},
		{name: "nothing", body: "", code: "network", again: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			h := serve(t, func(_ int, w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "text/event-stream")
				if c.contentType != "" {
					w.Header().Set("Content-Type", c.contentType)
				}
				w.Header().Set("Request-Id", "req_1")
				_, _ = w.Write([]byte(c.body))
			})
			_, err := ask(t, h.model(), hello())
			var p *uzda.ProviderError
			if !errors.As(err, &p) {
				t.Fatalf("the error is %v", err)
			}
			if p.Code != c.code || p.Retryable() != c.again || !strings.Contains(p.Message, c.message) {
				t.Errorf("the error is %v, retryable %v", p, p.Retryable())
			}
			if p.Usage != c.usage {
				t.Errorf("the usage is %+v, not %+v", p.Usage, c.usage)
			}
			if p.Request == "" && c.name != "a page of HTML" {
				t.Errorf("the error does not say which request it is of")
			}
		})
	}
	// An error whose request has no id. quirk:12
	h := serve(t, func(_ int, w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = w.Write([]byte(`{"error":{"message":"API key is invalid.","type":"authentication_error"},"request_id":null,"type":"error"}`))
	})
	var p *uzda.ProviderError
	if _, err := ask(t, h.model(), hello()); !errors.As(err, &p) || p.Code != "auth" || p.Request != "" || p.Hint == "" {
		t.Errorf("the error is %+v", p)
	}
}

// A failure before content is tried again, and each attempt is told with what the
// one before had used. L5 case:L09
func TestAgain(t *testing.T) {
	t.Parallel()
	start := `{"type":"message_start","message":{"id":"msg_1","usage":{"input_tokens":10,"output_tokens":1}}}`
	h := replies(t, events(start, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`), events(start), stream("end_turn", text("hi")))
	m := h.model()
	m.Tries, m.Wait = 5, time.Millisecond
	r := must(t, m, hello())
	if len(r.Attempts) != 2 || r.Attempts[0].N != 2 || r.Attempts[1].N != 3 || r.Attempts[0].Usage.Input != 10 || r.Message.String() != "hi" {
		t.Errorf("the attempts are %+v, the reply %q", r.Attempts, r.Message)
	}
	if h.body(1) != h.body(3) {
		t.Error("the request changed from one attempt to the next")
	}
}

// A reader that leaves ends the stream at once, also one whose next event would
// never come.
func TestReaderLeaves(t *testing.T) {
	t.Parallel()
	h := serve(t, func(_ int, w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		all := append(append([]string{began}, text("hi")...), text("ho")...)
		_, _ = w.Write([]byte(events(all...)))
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	})
	for n := range 4 {
		i := 0
		for _, err := range h.model().Stream(t.Context(), hello()) {
			if i++; i > n || err != nil {
				break
			}
		}
	}
}

// Streamed and whole replies are the same message.
func TestStreamedAndWhole(t *testing.T) {
	t.Parallel()
	blocks := []string{`{"type":"thinking","thinking":"hm","signature":"c2ln"}`, `{"type":"text","text":"hé"}`, `{"type":"tool_use","id":"toolu_1","name":"f","input":{"a": [1.0]},"caller":{"type":"direct"}}`,
		`{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{"query":"x"}}`}
	whole := must(t, replies(t, `{"type":"message","content":[`+strings.Join(blocks, ",")+`],"stop_reason":"tool_use","usage":{"input_tokens":10,"output_tokens":20}}`).model(), hello())
	streamed := must(t, replies(t, stream("tool_use",
		block(0, `{"type":"thinking","thinking":"","signature":""}`, `{"type":"thinking_delta","thinking":"hm","estimated_tokens":4}`, `{"type":"signature_delta","signature":"c2"}`, `{"type":"signature_delta","signature":"ln"}`),
		block(1, `{"type":"text","text":""}`, `{"type":"text_delta","text":"hé"}`),
		block(2, `{"type":"tool_use","id":"toolu_1","name":"f","input":{},"caller":{"type":"direct"}}`, `{"type":"input_json_delta","partial_json":"{\"a\": ["}`, `{"type":"input_json_delta","partial_json":"1.0]}"}`),
		block(3, `{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{}}`, `{"type":"input_json_delta","partial_json":"{\"query\":\"x\"}"}`))).model(), hello())
	whole.Message.Origin, streamed.Message.Origin = nil, nil
	if !reflect.DeepEqual(whole.Message, streamed.Message) {
		a, _ := json.Marshal(whole.Message)
		b, _ := json.Marshal(streamed.Message)
		t.Errorf("they differ:\n%s\n%s", a, b)
	}
}

// members are so many members of an object.
func members(n int) string {
	var out []string
	for i := range n {
		out = append(out, fmt.Sprintf(`"m%d":"x"`, i))
	}
	return strings.Join(out, ",")
}
