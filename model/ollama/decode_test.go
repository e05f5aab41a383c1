package ollama_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/uzda-dev/uzda"
)

type wanted struct {
	blocks string // JSON of the blocks, "" for none
	stop   uzda.StopReason
	item   string // raw of the only item, "" for none
	warn   string // codes
}

const use = `{"use":{"wire":"c1","name":"add","input":{"x":1,"y":2}}}`

// What a server may say, and what becomes of it.
func TestReply(t *testing.T) {
	t.Parallel()
	nativeCall := `{"id":"c1","function":{"index":0,"name":"add","arguments":{"x":1,"y":2}}}`
	native := `"content":"","tool_calls":[` + nativeCall + `]`
	for _, c := range []struct {
		name, body string
		want       wanted
	}{
		{"text", say(`"content":"Hel"`) + say(`"content":"lo"`) + end, wanted{`[{"text":{"text":"Hello"}}]`, uzda.StopEnd, "", ""}},
		{"empty", end, wanted{"", uzda.StopEnd, "", ""}},
		{"in one piece", `{"message":{"role":"assistant","content":"Hello"},"done":true,"done_reason":"stop"}`, wanted{`[{"text":{"text":"Hello"}}]`, uzda.StopEnd, "", ""}},
		{"on many lines", "{\n \"message\": {\"role\": \"assistant\",\n \"content\": \"Hello\"},\n \"done\": true}\n", wanted{`[{"text":{"text":"Hello"}}]`, uzda.StopEnd, "", ""}},
		{"no line end", strings.TrimSpace(say(`"content":"Hi"`) + end), wanted{`[{"text":{"text":"Hi"}}]`, uzda.StopEnd, "", ""}},
		{"CRLF, blank lines, BOM", "\ufeff\r\n" + strings.ReplaceAll(say(`"content":"Hi"`)+"\n"+end, "\n", "\r\n"), wanted{`[{"text":{"text":"Hi"}}]`, uzda.StopEnd, "", ""}},
		{"as events", ": ping\n\ndata: " + say(`"content":"Hi"`) + "\nevent: x\ndata:" + end + "\ndata: [DONE]\n\n", wanted{`[{"text":{"text":"Hi"}}]`, uzda.StopEnd, "", ""}},
		{"white space first", say(`"content":"\n"`) + say(`"content":" Hi"`) + end, wanted{`[{"text":{"text":"\n Hi"}}]`, uzda.StopEnd, "", ""}},
		{"white space only", say(`"content":"\n","thinking":" "`) + end, wanted{"", uzda.StopEnd, "", ""}},
		{"surrogates apart", say(`"content":"a\ud83d"`) + say(`"content":"\ude00b"`) + end, wanted{`[{"text":{"text":"a😀b"}}]`, uzda.StopEnd, "", ""}},
		{"surrogate alone", say(`"content":"a\ud83d"`) + end, wanted{`[{"text":{"text":"a�"}}]`, uzda.StopEnd, "", ""}},
		{"thinking", say(`"content":"","thinking":"Hm"`) + say(`"content":"","thinking":"."`) + say(`"content":"Hi"`) + end,
			wanted{`[{"thinking":{"text":"Hm."}},{"text":{"text":"Hi"}}]`, uzda.StopEnd, "", ""}},
		{"thinking between", say(`"content":"A"`) + say(`"content":"","thinking":"Hm"`) + say(`"content":"B"`) + end,
			wanted{`[{"text":{"text":"AB"}},{"thinking":{"text":"Hm"}}]`, uzda.StopEnd, "", ""}},

		// quirk:40: arguments are an object, the index is inside, the word is stop.
		{"call", say(native) + end, wanted{"[" + use + "]", uzda.StopUse, "", ""}},
		{"call with the last line", `{"message":{"role":"assistant",` + native + `},"done":true,"done_reason":"stop"}`, wanted{"[" + use + "]", uzda.StopUse, "", ""}},
		{"text, then call", say(`"content":"I add."`) + say(native) + end, wanted{`[{"text":{"text":"I add."}},` + use + "]", uzda.StopUse, "", ""}}, // peer:edge-text-then-tool
		{"call, then text", say(native) + say(`"content":"Done."`) + end, wanted{"[" + use + `,{"text":{"text":"Done."}}]`, uzda.StopUse, "", ""}},
		{"two calls on two lines", say(native) + say(strings.NewReplacer("c1", "c2", `"index":0`, `"index":1`).Replace(native)) + end,
			wanted{"[" + use + "," + strings.Replace(use, "c1", "c2", 1) + "]", uzda.StopUse, "", ""}},
		{"key order and digits", say(`"content":"","tool_calls":[{"id":"c1","function":{"index":0,"name":"add","arguments":{"y":12345678901234567890.10,"x":1e400}}}]`) + end,
			wanted{`[{"use":{"wire":"c1","name":"add","input":{"y":12345678901234567890.10,"x":1e400}}}]`, uzda.StopUse, "", ""}},
		// peer:edge-missing-id peer:edge-no-index: older servers.
		{"no id, no index", say(`"content":"","tool_calls":[{"function":{"name":"add","arguments":{"x":1,"y":2}}}]`) + end,
			wanted{`[{"use":{"name":"add","input":{"x":1,"y":2}}}]`, uzda.StopUse,
				`{"role":"assistant","content":"","tool_calls":[{"function":{"name":"add","arguments":{"x":1,"y":2}}}]}`, ""}},
		// peer:edge-duplicate-id peer:edge-both-index-0
		{"one id twice", say(`"content":"","tool_calls":[`+nativeCall+`,`+nativeCall+`]`) + end,
			wanted{`[` + use + `,{"use":{"name":"add","input":{"x":1,"y":2}}}]`, uzda.StopUse,
				`{"role":"assistant","content":"","tool_calls":[` + nativeCall + `,` + nativeCall + `]}`, ""}},
		// peer:edge-index-gap peer:edge-first-index-1
		{"index 3", say(strings.Replace(native, `"index":0`, `"index":3`, 1)) + end,
			wanted{"[" + use + "]", uzda.StopUse, `{"role":"assistant",` + strings.Replace(native, `"index":0`, `"index":3`, 1) + `}`, ""}},
		// peer:edge-empty-args
		{"arguments null", say(strings.Replace(native, `{"x":1,"y":2}`, `null`, 1)) + end,
			wanted{`[{"use":{"wire":"c1","name":"add","input":{}}}]`, uzda.StopUse, "", ""}},
		{"arguments empty", say(strings.Replace(native, `{"x":1,"y":2}`, `""`, 1)) + end,
			wanted{`[{"use":{"wire":"c1","name":"add","input":{}}}]`, uzda.StopUse, "", ""}},
		{"arguments missing", say(strings.Replace(native, `,"arguments":{"x":1,"y":2}`, ``, 1)) + end,
			wanted{`[{"use":{"wire":"c1","name":"add","input":{}}}]`, uzda.StopUse, "", ""}},
		{"arguments in a string", say(strings.Replace(native, `{"x":1,"y":2}`, `"{\"x\":1,\"y\":2}"`, 1)) + end,
			wanted{"[" + use + "]", uzda.StopUse, "", ""}},
		{"arguments a list", say(strings.Replace(native, `{"x":1,"y":2}`, `[1,2]`, 1)) + end,
			wanted{`[{"use":{"wire":"c1","name":"add","input":{},"raw":"[1,2]"}}]`, uzda.StopUse, "", ""}},
		{"no name", say(`"content":"","tool_calls":[{"function":{"arguments":{}}}]`) + end,
			wanted{`[{"use":{"name":"tool_call","input":{},"raw":"{\"function\":{\"arguments\":{}}}"}}]`, uzda.StopUse,
				`{"role":"assistant","content":"","tool_calls":[{"function":{"index":0,"name":"tool_call","arguments":{}}}]}`, ""}},

		// wrong types everywhere
		{"calls null", say(`"content":"Hi","tool_calls":null`) + end, wanted{`[{"text":{"text":"Hi"}}]`, uzda.StopEnd, `{"role":"assistant","content":"Hi","tool_calls":null}`, ""}},
		{"calls of numbers", say(`"content":"","tool_calls":[1]`) + end, wanted{`[{"use":{"name":"tool_call","input":{},"raw":"1"}}]`, uzda.StopUse, `{"role":"assistant","content":"","tool_calls":[{"function":{"index":0,"name":"tool_call","arguments":{}}}]}`, ""}},
		{"content null", say(`"content":null`) + say(`"content":"Hi"`) + end, wanted{`[{"text":{"text":"Hi"}}]`, uzda.StopEnd, "", ""}},
		{"content a number", say(`"content":5`) + strings.Replace(end, `"content":"",`, "", 1) + end, wanted{"", uzda.StopEnd, "", ""}},
		{"no message", `{"message":null,"done":false}` + "\n" + `{"done":true}` + "\n", wanted{"", uzda.StopEnd, "", ""}},
		{"message a string", `{"message":"x","done":"true"}` + "\n" + end, wanted{"", uzda.StopEnd, "", ""}},

		// members that nobody knows go back too
		{"more members", say(`"content":"Hi","proof":"aGk\u003d"`) + say(`"content":"!","new":{"b":1.50,"a":[]}`) + end,
			wanted{`[{"text":{"text":"Hi!"}}]`, uzda.StopEnd, `{"role":"assistant","content":"Hi!","proof":"aGk\u003d","new":{"b":1.50,"a":[]}}`, ""}},

		// stops
		{"length", strings.Replace(say(`"content":"Hi"`)+end, `"stop"`, `"length"`, 1), wanted{`[{"text":{"text":"Hi"}}]`, uzda.StopLength, "", ""}},
		{"length with a call", strings.Replace(say(native)+end, `"stop"`, `"length"`, 1), wanted{"[" + use + "]", uzda.StopLength, "", ""}}, // L3 peer:edge-length-valid-args
		{"no reason", say(native) + `{"done":true}`, wanted{"[" + use + "]", uzda.StopUse, "", ""}},
		{"load", strings.Replace(end, `"stop"`, `"load"`, 1), wanted{"", uzda.StopUnknown, "", ""}},
		{"new word", strings.Replace(say(native)+end, `"stop"`, `"tired"`, 1), wanted{"[" + use + "]", uzda.StopUnknown, "", ""}},

		// case:U05
		{"markup", say(`"content":"I add.\n\n<tool"`) + say(`"content":"_call>{\"name\":\"add\",\"arguments\":{\"x\":1,\"y\":2}}</tool_call>"`) + end,
			wanted{`[{"text":{"text":"I add."}},{"use":{"name":"add","input":{"x":1,"y":2}}}]`, uzda.StopUse, "", "markup"}},
		{"markup that is unclear", say(`"content":"<tool_call>{\"name\":\"add\",\"arguments\":{\"x\":1"`) + end,
			wanted{`[{"use":{"name":"add","input":{},"raw":"{\"name\":\"add\",\"arguments\":{\"x\":1"}}]`, uzda.StopUse, "", "markup"}},
		{"markup of a call that came too", say(`"content":"<tool_call>{\"name\":\"add\",\"arguments\":{\"x\":1, \"y\":2}}</tool_call>"`) + say(native) + end,
			wanted{"[" + use + "]", uzda.StopUse, `{"role":"assistant","content":"<tool_call>{\"name\":\"add\",\"arguments\":{\"x\":1, \"y\":2}}</tool_call>","tool_calls":[` + nativeCall + `]}`, ""}},
		{"markup in a fence", say(`"content":"`+"```xml\\n<tool_call>{\\\"name\\\":\\\"add\\\"}</tool_call>\\n```"+`"`) + end,
			wanted{`[{"text":{"text":"` + "```xml\\n\\u003ctool_call\\u003e{\\\"name\\\":\\\"add\\\"}\\u003c/tool_call\\u003e\\n```" + `"}}]`, uzda.StopEnd, "", ""}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, err := hear(t, serve(t, nil, c.body).model(), asking())
			if err != nil {
				t.Fatal(err)
			}
			check(t, got, c.want)
		})
	}
}

func check(t *testing.T, got heard, want wanted) {
	t.Helper()
	var b uzda.Blocks
	if want.blocks != "" {
		if err := json.Unmarshal([]byte(want.blocks), &b); err != nil {
			t.Fatal(err)
		}
	}
	if g, w := blocks(got.Message.Blocks), blocks(b); g != w {
		t.Errorf("blocks %s\n  want %s", g, w)
	}
	for i, u := range got.Message.Uses() {
		if w := b[slices.IndexFunc(b, func(b uzda.Block) bool { _, ok := b.(uzda.ToolUse); return ok }):]; i == 0 && string(u.Input) != string(w[0].(uzda.ToolUse).Input) {
			t.Errorf("the input is %s byte for byte, want %s", u.Input, w[0].(uzda.ToolUse).Input)
		}
	}
	if got.Stop.Reason != want.stop {
		t.Errorf("stop %q (%q), want %q", got.Stop.Reason, got.Stop.Raw, want.stop)
	}
	item := ""
	for _, it := range got.Message.Items {
		item += string(it.Raw)
	}
	if item != want.item {
		t.Errorf("items %s\n want %s", item, want.item)
	}
	var warn []string
	for _, w := range got.warnings {
		warn = append(warn, w.Code)
	}
	if w := strings.Join(warn, " "); w != want.warn {
		t.Errorf("warnings %q, want %q", w, want.warn)
	}
}

// L10: what is shown is what the blocks hold, never markup, never half a character.
func TestShown(t *testing.T) {
	t.Parallel()
	s := serve(t, nil, say(`"content":"I \ud83d"`)+say(`"content":"\ude00 add. <tool_call>"`)+say(`"content":"{\"name\":\"add\"}"`)+end)
	got, err := hear(t, s.model(), asking())
	if err != nil || got.deltas != "I 😀 add." || got.Message.String() != "I 😀 add." {
		t.Errorf("shown %q, text %q, %v", got.deltas, got.Message.String(), err)
	}
	// Without tools, and where the answer has a schema, nothing is held back.
	req := asking()
	req.Head.Tools, req.Head.Params.Schema = nil, json.RawMessage(`{"type":"object"}`)
	if got, err := hear(t, s.model(), req); err != nil || !strings.Contains(got.deltas, "<tool_call>{") || len(got.Message.Uses()) > 0 {
		t.Errorf("shown %q, %v", got.deltas, err)
	}
}

// case:O04: counts are the server's, and what is missing is not 0.
func TestUsage(t *testing.T) {
	t.Parallel()
	for last, want := range map[string]uzda.Usage{
		`"prompt_eval_count":26,"eval_count":9`:      {Input: 26, Output: 9},
		`"eval_count":9`:                             {Output: 9, AtLeast: true}, // the prompt was read before
		`"prompt_eval_count":0,"eval_count":9`:       {Output: 9, AtLeast: true},
		`"prompt_eval_count":26`:                     {Input: 26, Output: 2, AtLeast: true},
		`"total_duration":1`:                         {Output: 2, AtLeast: true},
		`"prompt_eval_count":-3,"eval_count":-1`:     {Output: 2, AtLeast: true},
		`"prompt_eval_count":"x","eval_count":1e300`: {Output: 2, AtLeast: true},
		`"prompt_eval_count":26.0,"eval_count":null`: {Input: 26, Output: 2, AtLeast: true},
	} {
		s := serve(t, nil, say(`"content":"Hello."`)+`{"done":true,"done_reason":"stop",`+last+"}\n")
		if got, err := hear(t, s.model(), asking()); err != nil || got.Stop.Usage != want {
			t.Errorf("%s: %+v, %v; want %+v", last, got.Stop.Usage, err, want)
		}
	}
}

// Streams that go wrong. Before content they may be sent again, after it they are
// cut, also where the server itself says so.
func TestBroken(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, body, code string
		again            bool
		partial          string
	}{
		{"no end", say(`"content":"Hi"`), "cut", false, "Hi"}, // peer:cut-after-complete has no analogue: done is the end
		{"nothing but a line", say(`"content":""`), "network", true, ""},
		{"cut in a line", say(`"content":"Hi"`) + `{"message":{"content":"the`, "cut", false, "Hi"},
		{"cut in a call", say(`"content":"Hi"`) + `{"message":{"content":"","tool_calls":[{"function":{"name":"add","arguments":{"x":`, "cut", false, "Hi"}, // peer:edge-cut-mid-args
		{"cut in the first line", `{"message":{"content":"the`, "network", true, ""},
		{"error line", say(`"content":"Hi"`) + `{"error":"an error was encountered while running the model: unexpected EOF"}` + "\n", "cut", false, "Hi"},
		{"error first", `{"error":"model runner has unexpectedly stopped"}` + "\n", "unknown", true, ""},
		{"error object", `{"error":{"message":"boom","code":500}}` + "\n", "unknown", true, ""},
		{"error beside content", strings.Replace(say(`"content":"Hi"`), `"done"`, `"error":"boom","done"`, 1), "unknown", true, ""},
		{"too long", `400 {"error":"the input length exceeds the context length"}`, "context", false, ""},
		{"no user query", `500 {"error":"template: :1: no user query found in messages"}`, "context", false, ""}, // case:U04
		{"busy", `503 {"error":"server busy, please try again.  maximum pending requests exceeded"}`, "overloaded", true, ""},
		{"no tools", `400 {"error":"library/m does not support tools"}`, "invalid_request", false, ""},
		{"again and again", strings.Repeat(say(`"content":" no"`), 40), "cut", false, strings.Repeat(" no", 40)},
		{"no JSON", "upstream connect error\n", "unknown", true, ""},
		{"no JSON later", say(`"content":"Hi"`) + "oops\n" + end, "unknown", false, "Hi"},
		{"a list", "[1]\n", "unknown", true, ""},
		{"deep", `{"message":{"content":"","x":` + strings.Repeat("[", 5000) + strings.Repeat("]", 5000) + "}}\n", "unknown", false, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, err := hear(t, serve(t, nil, c.body).model(), asking())
			p := failure(t, err)
			if p.Code != c.code || p.Retryable() != c.again || got.Partial != c.partial || p.Message == "" {
				t.Errorf("code %q, again %v, partial %q: %v; want %q, %v, %q", p.Code, p.Retryable(), got.Partial, err, c.code, c.again, c.partial)
			}
			if stuck := strings.Contains(p.Message, "again and again"); stuck != (c.name == "again and again") {
				t.Errorf("%v", err)
			}
			if c.partial != "" && (p.Usage.Output == 0 || !p.Usage.AtLeast) {
				t.Errorf("the usage is %+v, although something came", p.Usage)
			}
		})
	}
}

// L3: at the limit of the reply, broken arguments are a cut reply. A reply that
// ends with the window is not helped by a higher limit.
func TestLimits(t *testing.T) {
	t.Parallel()
	broken := say(`"content":"<tool_call>{\"name\":\"add\",\"arguments\":{\"x\":1"`)
	for _, c := range []struct {
		body string
		max  int
		want uzda.StopReason
	}{
		{broken + strings.Replace(end, `"eval_count":3`, `"eval_count":100`, 1), 100, uzda.StopLength},
		{broken + end, 100, uzda.StopUse},
		{say(`"content":"Hi"`) + strings.NewReplacer(`"stop"`, `"length"`, `"eval_count":3`, `"eval_count":100`).Replace(end), 100, uzda.StopLength},
		{say(`"content":"Hi"`) + strings.NewReplacer(`"stop"`, `"length"`, `count":7`, `count":3900`, `"eval_count":3`, `"eval_count":180`).Replace(end), 1000, uzda.StopContext},
		{say(`"content":"Hi"`) + strings.NewReplacer(`"stop"`, `"length"`, `count":7`, `count":3900`, `"eval_count":3`, `"eval_count":180`).Replace(end), 180, uzda.StopLength},
	} {
		req := asking()
		req.Max = c.max
		m := serve(t, nil, c.body).model()
		m.NumCtx = 4096
		if got, err := hear(t, m, req); err != nil || got.Stop.Reason != c.want {
			t.Errorf("stop %q, %v; want %q", got.Stop.Reason, err, c.want)
		}
	}
}
