package modeltest_test

import (
	"bufio"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/uzda-dev/uzda/model/modeltest"
)

const hello = "Hello, this is a reply of some deltas, so that it can be cut in its middle and we see that its end is gone."

// faulty starts a server whose first turn meets faults.
func faulty(t *testing.T, faults ...modeltest.Fault) *modeltest.Server {
	t.Helper()
	return modeltest.Serve(t, modeltest.Config{Turns: []modeltest.Turn{{Text: hello, Faults: faults}, {Text: "next"}}})
}

// A refusal is the provider's own, or what the fault says; then the turn is
// answered well, and only then comes the next.
func TestRefuse(t *testing.T) { // peer:edge-retry-after
	t.Parallel()
	for _, w := range wires {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			s := faulty(t,
				modeltest.Fault{Status: 429, Header: http.Header{"retry-after": {"1"}, "Retry-After-Ms": {"10"}}, Times: 2}, modeltest.Fault{},
				modeltest.Fault{Status: 502, Header: http.Header{"Content-Type": {"text/html"}}, Body: "<html>Bad gateway</html>"},
				modeltest.Fault{Status: 200, Bare: true}, modeltest.Fault{Status: 307, Header: http.Header{"Location": {"/elsewhere"}}, Bare: true})
			for i, want := range []struct {
				status       int
				header, body string
			}{
				{429, "1", "Too Many Requests"},
				{429, "1", "Too Many Requests"},
				{529, "", "Overloaded"},
				{502, "", "<html>"},
				{200, "", ""},
				{307, "", ""},
				{200, "", "Hello"},
				{200, "", "next"},
			} {
				got := post(t, s.URL+w.path, w.stream)
				if got.status != want.status || got.header.Get("Retry-After") != want.header || !strings.Contains(got.body, want.body) || want.body == "" && got.body != "" {
					t.Errorf("attempt %d: %+v", i+1, got)
				}
			}
			for i, r := range s.Asks() {
				if good := i > 5; r.Billed != good || r.Whole != good || (r.Fault == nil) != good || r.Attempt != min(i+1, 7)-6*(i/7) || r.Turn != 1+i/7 {
					t.Errorf("request %d: %+v", i+1, r)
				}
			}
		})
	}
}

// Statuses have the provider's own words.
func TestWords(t *testing.T) {
	t.Parallel()
	for path, words := range map[string]map[int]string{
		"/v1/messages":         {400: `"invalid_request_error"`, 401: `"authentication_error"`, 402: `"billing_error"`, 413: `"request_too_large"`, 429: `"rate_limit_error"`, 418: `"invalid_request_error"`, 503: `"api_error"`, 529: `"type":"overloaded_error","message":"Overloaded"`},
		"/v1/chat/completions": {400: `"invalid_request_error"`, 401: `"invalid_api_key"`, 429: `"rate_limit_exceeded"`, 503: `"server_error"`, 529: `"server_error"`},
	} {
		for status, word := range words {
			s := faulty(t, modeltest.Fault{Status: status})
			body := wires[0].whole
			if path != "/v1/messages" {
				body = wires[1].whole
			}
			contains(t, post(t, s.URL+path, body).body, word)
		}
	}
}

// A final fault ends its turn.
func TestFinal(t *testing.T) {
	t.Parallel()
	s := faulty(t, modeltest.Fault{Status: 400, Final: true})
	if got := post(t, s.URL+"/v1/messages", wires[0].whole); got.status != 400 {
		t.Errorf("%+v", got)
	}
	contains(t, post(t, s.URL+"/v1/messages", wires[0].whole).body, "next")
}

// Streams break where they are told to, in the way that they are told.
func TestBreaks(t *testing.T) { // peer:edge-cut-mid-args
	t.Parallel()
	for _, w := range wires {
		for _, c := range []struct {
			name  string
			fault modeltest.Fault
			body  string // "stream" or "whole"
			check func(t *testing.T, got reply)
		}{
			{"end", modeltest.Fault{Kind: modeltest.End, After: 3}, w.stream, func(t *testing.T, got reply) {
				if got.err != nil || strings.Contains(got.body, "end is gone.") || got.body == "" {
					t.Errorf("%+v", got)
				}
			}},
			{"end at once", modeltest.Fault{Kind: modeltest.End}, w.stream, func(t *testing.T, got reply) {
				if got.err != nil || got.body != "" || got.status != 200 {
					t.Errorf("%+v", got)
				}
			}},
			{"cut", modeltest.Fault{Kind: modeltest.Cut, After: 3}, w.stream, func(t *testing.T, got reply) {
				if !errors.Is(got.err, io.ErrUnexpectedEOF) || got.body == "" {
					t.Errorf("%+v", got)
				}
			}},
			{"cut at a byte", modeltest.Fault{Kind: modeltest.Cut, Bytes: 17}, w.stream, func(t *testing.T, got reply) {
				if !errors.Is(got.err, io.ErrUnexpectedEOF) || len(got.body) != 17 {
					t.Errorf("%+v", got)
				}
			}},
			{"cut a whole reply", modeltest.Fault{Kind: modeltest.Cut, Bytes: 17}, w.whole, func(t *testing.T, got reply) {
				if !errors.Is(got.err, io.ErrUnexpectedEOF) || len(got.body) != 17 {
					t.Errorf("%+v", got)
				}
			}},
			{"cut early", modeltest.Fault{Kind: modeltest.Cut, Early: true}, w.stream, func(t *testing.T, got reply) {
				if !errors.Is(got.err, io.EOF) || got.status != 0 {
					t.Errorf("%+v", got)
				}
			}},
			{"reset", modeltest.Fault{Kind: modeltest.Reset, After: 3}, w.stream, func(t *testing.T, got reply) {
				if !errors.Is(got.err, syscall.ECONNRESET) {
					t.Errorf("%+v", got)
				}
			}},
			{"error event", modeltest.Fault{Kind: modeltest.ErrorEvent, After: 3}, w.stream, func(t *testing.T, got reply) {
				if got.err != nil || !strings.Contains(got.body, "Overloaded") || strings.Contains(got.body, "end is gone.") {
					t.Errorf("%+v", got)
				}
			}},
			{"own error event", modeltest.Fault{Kind: modeltest.ErrorEvent, Body: `{"error":"mine"}`}, w.stream, func(t *testing.T, got reply) {
				if got.err != nil || !strings.HasSuffix(strings.TrimSpace(got.body), `{"error":"mine"}`) {
					t.Errorf("%+v", got)
				}
			}},
		} {
			t.Run(w.name+" "+c.name, func(t *testing.T) {
				t.Parallel()
				s := faulty(t, c.fault)
				c.check(t, post(t, s.URL+w.path, c.body))
				contains(t, post(t, s.URL+w.path, c.body).body, "Hello")
				r := s.Asks()[0]
				if r.Whole || r.Fault == nil {
					t.Errorf("%+v", r)
				}
				if begun := c.fault.After > 0 || c.fault.Bytes > 0; r.Billed != begun || !begun && r.Usage.Total() > 0 {
					t.Errorf("billed %v %+v", r.Billed, r.Usage)
				}
			})
		}
	}
}

// A stall and keep-alives last until the client leaves.
func TestStalls(t *testing.T) { // peer:edge-stall
	t.Parallel()
	for _, c := range []struct {
		fault modeltest.Fault
		has   string
	}{
		{modeltest.Fault{Kind: modeltest.Stall, Early: true}, ""},
		{modeltest.Fault{Kind: modeltest.Stall}, ""},
		{modeltest.Fault{Kind: modeltest.Stall, After: 2}, `"content":"Hello`},
		{modeltest.Fault{Kind: modeltest.Pings, After: 2}, ": keep-alive\n\n: keep-alive"},
		{modeltest.Fault{Wait: time.Hour}, ""},
	} {
		t.Run(string(c.fault.Kind), func(t *testing.T) {
			t.Parallel()
			s := faulty(t, c.fault)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL+wires[1].path, strings.NewReader(wires[1].stream))
			if err != nil {
				t.Fatal(err)
			}
			req.Header = http.Header{"Content-Type": {"application/json"}, "X-Api-Key": {"k"}}
			transport := &http.Transport{}
			defer transport.CloseIdleConnections()
			stop := time.AfterFunc(5*time.Second, cancel)
			defer stop.Stop()
			if c.has == "" {
				time.AfterFunc(50*time.Millisecond, cancel)
			}
			resp, err := transport.RoundTrip(req)
			if err != nil {
				if c.has != "" {
					t.Fatal(err)
				}
				return
			}
			defer resp.Body.Close()
			in := bufio.NewReader(resp.Body)
			var seen strings.Builder
			for !strings.Contains(seen.String(), c.has) || c.has == "" {
				line, err := in.ReadString('\n')
				if seen.WriteString(line); err != nil {
					if c.has != "" {
						t.Fatalf("%q does not come: %v", c.has, err)
					}
					return
				}
			}
		})
	}
}

// A client that leaves is billed for what went out until then.
func TestClientLeaves(t *testing.T) { // B03 case:B03
	t.Parallel()
	s := modeltest.Serve(t, modeltest.Config{Turns: []modeltest.Turn{{Text: strings.Repeat(hello, 100)}}, Shape: modeltest.Shape{Delay: 2 * time.Millisecond}})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL+wires[1].path, strings.NewReader(wires[1].stream))
	if err != nil {
		t.Fatal(err)
	}
	req.Header = http.Header{"Content-Type": {"application/json"}, "X-Api-Key": {"k"}}
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	resp, err := transport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if _, err := io.ReadFull(resp.Body, make([]byte, 2000)); err != nil {
		t.Fatal(err)
	}
	cancel()
	s.Close() // it waits for the reply
	if r := s.Asks()[0]; r.Whole || !r.Billed || r.Usage.Output < 10 || r.Usage.Output > 2000 {
		t.Errorf("whole %v, billed %v, %+v", r.Whole, r.Billed, r.Usage)
	}
}

// shaped answers one turn in a shape.
func shaped(t *testing.T, wire int, shape modeltest.Shape, turn modeltest.Turn, stream bool) reply {
	t.Helper()
	turn.Shape = &shape
	s := modeltest.Serve(t, modeltest.Config{Turns: []modeltest.Turn{turn}})
	body := wires[wire].whole
	if stream {
		body = wires[wire].stream
	}
	got := post(t, s.URL+wires[wire].path, body)
	if got.err != nil || got.status != 200 {
		t.Fatalf("%+v", got)
	}
	return got
}

// Each shape is to be seen in what comes.
func TestShapes(t *testing.T) {
	t.Parallel()
	two := modeltest.Turn{Text: "So: \U0001F389", Calls: []modeltest.Call{{Name: "add", Input: `{"a":1,"b":22222222222222222222}`}, {Name: "sub", Input: `{"x":"żż"}`}}}
	type shape = modeltest.Shape
	for _, c := range []struct {
		name  string
		wire  int // 0 messages, 1 chat, 2 ollama
		shape shape
		turn  modeltest.Turn
		whole bool
		want  []string
		never []string
	}{
		{name: "content type", wire: 1, shape: shape{ContentType: "text/plain"}, turn: two},
		{name: "index zero", wire: 1, shape: shape{Index: modeltest.IndexZero}, turn: two, want: []string{`"index":0,"id":"call_`}, never: []string{`"index":1`}},    // peer:edge-both-index-0
		{name: "no index", wire: 1, shape: shape{Index: modeltest.IndexNone}, turn: two, want: []string{`[{"id":"call_`}, never: []string{`"tool_calls":[{"index"`}}, // peer:edge-no-index
		{name: "index gap", wire: 1, shape: shape{Index: modeltest.IndexGap}, turn: two, want: []string{`{"index":2,"id":"`}},                                        // peer:edge-index-gap
		{name: "first index", wire: 1, shape: shape{Index: modeltest.IndexOne}, turn: two, want: []string{`{"index":1,"id":"`, `{"index":2,"id":"`}},                 // peer:edge-first-index-1
		{name: "no ids", wire: 1, shape: shape{IDs: modeltest.IDsNone}, turn: two, want: []string{`[{"index":0,"type":"function"`}},                                  // peer:edge-missing-id
		{name: "empty ids", wire: 1, shape: shape{IDs: modeltest.IDsEmpty}, turn: two, want: []string{`"id":"","type":"function"`}},
		{name: "same ids", wire: 1, shape: shape{IDs: modeltest.IDsSame}, turn: modeltest.Turn{Calls: []modeltest.Call{{ID: "A", Name: "a"}, {ID: "B", Name: "b"}}}, want: []string{`"index":1,"id":"A"`}},                                                         // peer:edge-duplicate-id
		{name: "interleaved", wire: 1, shape: shape{Interleave: true, Piece: 8}, turn: two, want: []string{`"index":0,"function":{"arguments":"{\"a\":1"}}`, `"index":1,"function":{"arguments":"{\"x\":\""}}`, `"index":0,"function":{"arguments":",\"b\":2"}}`}}, // peer:edge-interleaved
		{name: "interleaved blocks", wire: 0, shape: shape{Interleave: true}, turn: two, want: []string{`"type":"content_block_start","index":2`, `"type":"content_block_stop","index":2`}},
		{name: "no ids in messages", wire: 0, shape: shape{IDs: modeltest.IDsNone}, turn: two, want: []string{`{"type":"tool_use","name":"add"`}},
		{name: "whole calls", wire: 1, shape: shape{Whole: true}, turn: two, want: []string{`"arguments":"{\"a\":1,\"b\":22222222222222222222}"`}},
		{name: "mixed", wire: 1, shape: shape{Mixed: true}, turn: two, want: []string{`{"content":"So: ` + "\U0001F389" + `","tool_calls":[{"index":0`}},
		{name: "no finish", wire: 1, shape: shape{NoFinish: true}, turn: two, never: []string{`"finish_reason":"`}},
		{name: "no finish in messages", wire: 0, shape: shape{NoFinish: true}, turn: two, never: []string{`"stop_reason":"`}},
		{name: "no done", wire: 1, shape: shape{NoEnd: true}, turn: two, never: []string{"[DONE]"}},
		{name: "no message_stop", wire: 0, shape: shape{NoEnd: true}, turn: two, never: []string{"message_stop"}},
		{name: "no last line", wire: 2, shape: shape{NoEnd: true}, turn: two, never: []string{`"done":true`}},
		{name: "done in messages", wire: 0, shape: shape{ExtraEnd: true}, turn: two, want: []string{"message_stop\"}\n\ndata: [DONE]"}}, // quirk:11
		{name: "no start", wire: 0, shape: shape{NoStart: true}, turn: two, never: []string{"message_start"}},
		{name: "CRLF", wire: 1, shape: shape{CRLF: true}, turn: two, want: []string{"\r\n\r\n"}, never: []string{"}\n"}}, // quirk:36
		{name: "blank", wire: 1, shape: shape{Blank: 3}, turn: two, whole: true, want: []string{"\n\n\n{"}},              // quirk:19
		{name: "padded", wire: 0, shape: shape{Padded: true}, turn: two, want: []string{`"message_stop" `}},              // quirk:1
		{name: "extra", wire: 0, shape: shape{Extra: true}, turn: two, want: []string{"event: zz_unknown_event", `"zz_new"`, ": a comment"}},
		{name: "extra chat", wire: 1, shape: shape{Extra: true}, turn: two, want: []string{": OPENROUTER", `"choices":[]}`}}, // quirk:29
		{name: "usage none", wire: 1, shape: shape{Usage: modeltest.UsageNone}, turn: two, never: []string{"prompt_tokens"}},
		{name: "usage none in messages", wire: 0, shape: shape{Usage: modeltest.UsageNone}, turn: two, never: []string{"input_tokens"}},
		{name: "usage last", wire: 1, shape: shape{Usage: modeltest.UsageLast}, turn: two, want: []string{`"finish_reason":"tool_calls"}],"usage":{"prompt_tokens"`}, never: []string{`"choices":[],`}},
		{name: "usage extra", wire: 1, shape: shape{Usage: modeltest.UsageExtra}, turn: two, want: []string{`"choices":[],"usage"`}},
		{name: "usage at the start", wire: 0, shape: shape{Usage: modeltest.UsageStart}, turn: two, want: []string{`"usage":{"output_tokens":`}}, // quirk:9
		{name: "raw usage", wire: 1, turn: modeltest.Turn{RawUsage: []byte(`{"prompt_tokens":-1}`)}, want: []string{`"usage":{"prompt_tokens":-1}}`}},
		{name: "ASCII", wire: 1, shape: shape{ASCII: true}, turn: two, want: []string{`So: \ud83c\udf89`, `\u017c`}},
		{name: "ragged ASCII", wire: 1, shape: shape{ASCII: true, Ragged: true, Piece: 4}, turn: two, want: []string{`"content":"\ud83c"`, `"content":"\udf89"`}},
		{name: "ragged UTF-8", wire: 1, shape: shape{Ragged: true, Piece: 1}, turn: two, want: []string{"\"content\":\"\xf0\""}},
		{name: "one delta", wire: 0, shape: shape{Piece: -1}, turn: modeltest.Turn{Text: strings.Repeat("x", 500)}, want: []string{strings.Repeat("x", 500)}},
		{name: "stop", wire: 1, turn: modeltest.Turn{Text: "x", Stop: "content_filter", Calls: two.Calls}, want: []string{`"finish_reason":"content_filter"`}},                                                           // peer:edge-content-filter-call
		{name: "stop with detail", wire: 0, turn: modeltest.Turn{Stop: "refusal", Detail: []byte(`{"category":null}`)}, want: []string{`"stop_reason":"refusal","stop_sequence":null,"stop_details":{"category":null}`}}, // quirk:10
		{name: "refusal", wire: 1, turn: modeltest.Turn{Refusal: "No."}, want: []string{`"refusal":"No."`, `"finish_reason":"stop"`}},                                                                                    // quirk:15
		{name: "reasoning", wire: 1, shape: shape{Reasoning: "reasoning"}, turn: modeltest.Turn{Thinking: "hm"}, want: []string{`"delta":{"reasoning":"hm"}`}},
		{name: "details", wire: 1, shape: shape{Reasoning: modeltest.ReasoningDetails}, turn: modeltest.Turn{Thinking: "hm"}, want: []string{`"reasoning_details":[{"type":"reasoning.text","text":"hm"`, `"type":"reasoning.text","signature":"`}},
		{name: "whole details", wire: 1, shape: shape{Reasoning: modeltest.ReasoningDetails}, turn: modeltest.Turn{Thinking: "hm"}, whole: true, want: []string{`"reasoning":"hm","reasoning_details":[{"type":"reasoning.text","text":"hm","signature":"`}},
		{name: "chunks", wire: 1, shape: shape{Reasoning: modeltest.ReasoningContent}, turn: modeltest.Turn{Thinking: "hm", Text: "x"}, whole: true, want: []string{`"content":[{"type":"thinking","thinking":[{"type":"text","text":"hm"}],"closed":true},{"type":"text","text":"x"}]`}}, // quirk:22
		{name: "streamed chunks", wire: 1, shape: shape{Reasoning: modeltest.ReasoningContent}, turn: modeltest.Turn{Thinking: "hm", Text: "x"}, want: []string{`"content":[{"type":"thinking"`, `"content":"x"`}},
		{name: "message members", wire: 1, turn: modeltest.Turn{Extra: []byte(` {"a" : [1.0]} `)}, want: []string{`"delta":{"a" : [1.0]}`}},
		{name: "call members", wire: 1, turn: modeltest.Turn{Calls: []modeltest.Call{{Name: "a", Extra: []byte(`{"b":1}`)}}}, want: []string{`"arguments":""},"b":1}`}},
		{name: "model", wire: 1, shape: shape{Model: "other"}, turn: two, want: []string{`"model":"other"`}},
		{name: "whole for a stream", wire: 0, shape: shape{Framing: modeltest.FramingWhole}, turn: two, want: []string{`"stop_reason":"tool_use"`}, never: []string{"event:"}},
		{name: "stream for a whole", wire: 0, shape: shape{Framing: modeltest.FramingStream}, turn: two, whole: true, want: []string{"event: message_stop"}},
		{name: "hidden", wire: 0, turn: modeltest.Turn{Parts: []modeltest.Part{{Hidden: "secret"}, {Text: "x"}}}, want: []string{`{"type":"thinking","thinking":"","signature":""}`, "signature_delta"}, never: []string{"thinking_delta", "secret"}},           // quirk:4
		{name: "redacted", wire: 0, turn: modeltest.Turn{Parts: []modeltest.Part{{Raw: []byte(`{"type":"redacted_thinking","data":"x"}`)}}}, want: []string{`"content_block":{"type":"redacted_thinking","data":"x"}`}, never: []string{"content_block_delta"}}, // quirk:5
		{name: "server tool", wire: 0, turn: modeltest.Turn{Parts: []modeltest.Part{{Raw: []byte(`{"type":"server_tool_use","id":"s","name":"w","input":{"q":"x"}}`)}}}, want: []string{`"id":"s","name":"w","input":{}}`, `"partial_json":"{\"q\":\"x\"}"`}},
		{name: "citations", wire: 0, turn: modeltest.Turn{Parts: []modeltest.Part{{Raw: []byte(`{"type":"text","text":"abc","citations":[{"n":1},{"n":2}]}`)}}}, want: []string{`{"type":"text","text":"","citations":[]}`, `{"type":"citations_delta","citation":{"n":2}}`, `"text":"abc"`}},
		{name: "compaction", wire: 0, turn: modeltest.Turn{Parts: []modeltest.Part{{Raw: []byte(`{"type":"compaction","content":"sum"}`)}}}, want: []string{`{"type":"compaction","content":null}`, `{"type":"compaction_delta","content":"sum"}`}}, // quirk:8
		{name: "hermes", wire: 1, shape: shape{Markup: modeltest.MarkupHermes}, turn: two, whole: true, want: []string{`<tool_call>\n{\"name\": \"add\", \"arguments\": {\"a\":1`, `"finish_reason":"stop"`}, never: []string{"tool_calls"}},
		{name: "twice", wire: 2, shape: shape{Markup: modeltest.MarkupTwice}, turn: two, whole: true, want: []string{`</tool_call>\n</tool_call>`}},
		{name: "xml", wire: 1, shape: shape{Markup: modeltest.MarkupXML}, turn: two, whole: true, want: []string{`<function=sub>\n<parameter=x>\nżż\n</parameter>\n</function>`}},
		{name: "mistral", wire: 1, shape: shape{Markup: modeltest.MarkupMistral}, turn: two, whole: true, want: []string{`[TOOL_CALLS][{\"name\": \"add\", \"arguments\": {\"a\":1,\"b\":22222222222222222222}}, {\"name\"`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got := shaped(t, c.wire, c.shape, c.turn, !c.whole)
			contains(t, got.body, c.want...)
			for _, n := range c.never {
				if strings.Contains(got.body, n) {
					t.Errorf("%q is in\n%s", n, got.body)
				}
			}
			if c.shape.ContentType != "" && got.header.Get("Content-Type") != c.shape.ContentType {
				t.Errorf("the content type is %q", got.header.Get("Content-Type"))
			}
		})
	}
}

// Inputs come in every form that is known from a provider.
func TestForms(t *testing.T) { // peer:edge-empty-args case:T03
	t.Parallel()
	for form, want := range map[modeltest.Form][3]string{
		modeltest.FormNormal: {`"partial_json":"{\"a\":1}"`, `"arguments":"{\"a\":1}"`, `"arguments":{"a":1}`},
		modeltest.FormEmpty:  {`"partial_json":""}}` + "\n\nevent: content_block_stop", `"name":"f","arguments":""}`, `"arguments":""`},
		modeltest.FormNull:   {`"input":null}`, `"arguments":null`, `"arguments":null`},
		modeltest.FormAbsent: {`"name":"f"}}`, `"function":{"name":"f"}`, `"function":{"index":0,"name":"f"}`},
		modeltest.FormObject: {`"input":{"a":1}}}` + "\n\nevent: ping\ndata: {\"type\": \"ping\"}\n\nevent: content_block_stop", `"arguments":{"a":1}`, `"arguments":{"a":1}`},
		modeltest.FormBoth:   {`"input":{"a":1}`, `"arguments":{"a":1}`, `"arguments":{"a":1}`},
	} {
		for w := range wires {
			got := shaped(t, w, modeltest.Shape{}, modeltest.Turn{Calls: []modeltest.Call{{Name: "f", Input: `{"a":1}`, Form: form}}}, true)
			contains(t, got.body, want[w])
		}
	}
	cut := modeltest.Turn{Calls: []modeltest.Call{{Name: "f", Input: `{"a":`}}}
	contains(t, shaped(t, 0, modeltest.Shape{}, cut, true).body, `"partial_json":"{\"a\":"`, `"stop_reason":"tool_use"`)
	contains(t, shaped(t, 1, modeltest.Shape{}, cut, false).body, `"arguments":"{\"a\":"`, `"finish_reason":"tool_calls"`)
	contains(t, shaped(t, 2, modeltest.Shape{}, cut, false).body, `"arguments":"{\"a\":"`)
}

// However a reply is split, its bytes are the same; a delay slows it, and a
// compressed one is whole.
func TestSplits(t *testing.T) {
	t.Parallel()
	turn := modeltest.Turn{Text: hello, Calls: []modeltest.Call{{ID: "c", Name: "f", Input: `{"a":"żółć"}`}}}
	plain := func(shape modeltest.Shape) string {
		body := shaped(t, 0, shape, turn, true).body
		_, rest, _ := strings.Cut(body, "content_block_start") // the id before it varies with the server
		return rest
	}
	want := plain(modeltest.Shape{})
	for _, shape := range []modeltest.Shape{{Write: 1}, {Seed: 1}, {Seed: 2, Write: 3}, {Gzip: true}, {Gzip: true, Seed: 3}, {Delay: time.Millisecond}} {
		if got := plain(shape); got != want {
			t.Errorf("%+v: %q, not %q", shape, got, want)
		}
	}
	from := time.Now()
	shaped(t, 1, modeltest.Shape{Delay: 5 * time.Millisecond}, turn, true)
	if took := time.Since(from); took < 30*time.Millisecond {
		t.Errorf("a reply with delays took %v", took)
	}
	s := modeltest.Serve(t, modeltest.Config{Turns: []modeltest.Turn{turn}, Shape: modeltest.Shape{Gzip: true}})
	got := post(t, s.URL+"/v1/messages", wires[0].whole, "Accept-Encoding", "identity")
	in, err := gzip.NewReader(strings.NewReader(got.body))
	if err != nil || got.header.Get("Content-Encoding") != "gzip" {
		t.Fatalf("%v %+v", err, got)
	}
	if raw, err := io.ReadAll(in); err != nil || !strings.Contains(string(raw), hello) {
		t.Errorf("%s %v", raw, err)
	}
}

// A server answers inside of another one too.
func TestHandler(t *testing.T) {
	t.Parallel()
	h := modeltest.NewHandler(modeltest.Config{Turns: []modeltest.Turn{{Text: "over TLS", Faults: []modeltest.Fault{{Kind: modeltest.Reset, Bytes: 9}}}}})
	outer := httptest.NewTLSServer(h)
	defer outer.Close()
	defer h.Close()
	client := outer.Client()
	for _, want := range []string{"", "over TLS"} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, outer.URL+"/v1/messages", strings.NewReader(wires[0].whole))
		if err != nil {
			t.Fatal(err)
		}
		req.Header = http.Header{"Content-Type": {"application/json"}, "X-Api-Key": {"k"}, "Anthropic-Version": {"2023-06-01"}}
		resp, err := client.Do(req)
		if err != nil {
			if want != "" {
				t.Fatal(err)
			}
			continue
		}
		raw, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if want == "" && err == nil || !strings.Contains(string(raw), want) {
			t.Errorf("%s %v", raw, err)
		}
	}
}
