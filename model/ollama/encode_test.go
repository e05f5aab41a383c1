package ollama_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/model/modeltest"
	"github.com/uzda-dev/uzda/model/ollama"
)

// asked sends a request and returns its body.
func asked(t *testing.T, m ollama.Model, req *uzda.Request) string {
	t.Helper()
	s := serve(t, map[string]string{}, end)
	m.Base, m.Tries, m.Env = s.URL, 1, env()
	if m.ID == "" {
		m.ID = "m"
	}
	if _, err := hear(t, m, req); err != nil {
		t.Fatal(err)
	}
	return s.asked()[0]
}

const tail = `],"truncate":false,"shift":false,"options":{"num_ctx":32768,"num_predict":1000},"stream":true}`

func TestRequest(t *testing.T) {
	t.Parallel()
	half := 0.5
	view := func(ms ...uzda.Message) (out []uzda.Entry) {
		for i, m := range ms {
			out = append(out, uzda.Entry{Seq: uzda.Seq(i + 1), Message: m})
		}
		return out
	}
	user := func(bs ...uzda.Block) uzda.Message { return uzda.Message{Role: uzda.User, Blocks: bs} }
	said := func(bs ...uzda.Block) uzda.Message { return uzda.Message{Role: uzda.Assistant, Blocks: bs} }
	text := func(s string) uzda.Block { return uzda.Text{Text: s} }
	png := uzda.Media{Type: "image/png", Data: []byte("\x89PNG\r\n\x1a\npixels")}
	call := uzda.ToolUse{ID: "2.1", Wire: "c1", Name: "add", Input: json.RawMessage(`{"y":1.50,"x":2}`)}
	result := uzda.ToolResult{Use: "2.1", Blocks: uzda.Say("3.5")}
	base := func() *uzda.Request { return &uzda.Request{Max: 1000, View: view(user(text("Hi")))} }
	hi := `{"model":"m","messages":[{"role":"user","content":"Hi"}`
	for _, c := range []struct {
		name   string
		m      ollama.Model
		change func(r *uzda.Request)
		want   string
	}{
		{"least", ollama.Model{}, func(*uzda.Request) {}, hi + tail},
		{"system and tail", ollama.Model{}, func(r *uzda.Request) { r.Head.System, r.Tail = "Be <short>.", "2 steps" },
			`{"model":"m","messages":[{"role":"system","content":"Be <short>."},{"role":"user","content":"Hi"},{"role":"user","content":"2 steps"}` + tail},
		{"tail alone", ollama.Model{}, func(r *uzda.Request) { r.View, r.Tail = nil, "x" }, `{"model":"m","messages":[{"role":"user","content":"x"}` + tail},
		{"tools", ollama.Model{}, func(r *uzda.Request) { r.Head.Tools = []uzda.ToolSpec{add} },
			`{"model":"m","tools":[{"type":"function","function":{"name":"add","description":"adds","parameters":{"type":"object","properties":{"x":{"type":"number"},"y":{"type":"number"}},"required":["x","y"]}}}],"messages":[{"role":"user","content":"Hi"}` + tail},
		{"no tool allowed", ollama.Model{}, func(r *uzda.Request) { r.Head.Tools, r.Head.Params.Choice = []uzda.ToolSpec{add}, "none" }, hi + tail},
		{"parameters", ollama.Model{NumCtx: 8192, KeepAlive: time.Hour}, func(r *uzda.Request) {
			r.Head.Params = uzda.Params{Temperature: &half, Stops: []string{"X"}, Schema: json.RawMessage(`{"type": "object"}`)}
		}, hi + `],"format":{"type":"object"},"keep_alive":"1h0m0s","truncate":false,"shift":false,"options":{"num_ctx":8192,"num_predict":1000,"temperature":0.5,"stop":["X"]},"stream":true}`},
		{"a schema beside tools is told, and no format", ollama.Model{KeepAlive: -1}, func(r *uzda.Request) {
			r.Head.Tools, r.Head.Params.Schema = []uzda.ToolSpec{{Name: "f"}}, json.RawMessage(`{}`)
		}, `{"model":"m","tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object","properties":{}}}}],"messages":[{"role":"system","content":"When you are done, answer with one JSON object and nothing else. It must fit this JSON Schema:\n{}"},{"role":"user","content":"Hi"}],"keep_alive":-1,"truncate":false,"shift":false,"options":{"num_ctx":32768,"num_predict":1000},"stream":true}`},
		{"options", ollama.Model{}, func(r *uzda.Request) {
			r.Head.Params.Options = map[string]json.RawMessage{"options": json.RawMessage(`{"seed": 1, "num_predict": null}`), "num_ctx": json.RawMessage(`16384`),
				"shift": json.RawMessage(`null`), "truncate": json.RawMessage(`true`), "logprobs": json.RawMessage(`true`)}
		}, hi + `],"truncate":true,"logprobs":true,"options":{"num_ctx":16384,"seed":1},"stream":true}`},
		{"window of theirs", ollama.Model{ID: "x:cloud"}, func(*uzda.Request) {}, strings.Replace(hi, `"m"`, `"x:cloud"`, 1) + strings.Replace(tail, `"num_ctx":32768,`, "", 1)},
		{"default length", ollama.Model{}, func(r *uzda.Request) { r.Max = 0 }, hi + strings.Replace(tail, "1000", "16384", 1)},

		{"thinks", ollama.Model{}, func(r *uzda.Request) { r.Head.Params.Effort = "high" }, hi + strings.Replace(tail, "]", `],"think":true`, 1)},
		{"thinks not", ollama.Model{}, func(r *uzda.Request) { r.Head.Params.Effort = "none" }, hi + strings.Replace(tail, "]", `],"think":false`, 1)},
		{"can't think", ollama.Model{Caps: []string{"completion"}}, func(r *uzda.Request) { r.Head.Params.Effort = "high" }, hi + tail},
		{"thinks in levels", ollama.Model{Family: "gptoss"}, func(r *uzda.Request) { r.Head.Params.Effort = "medium" }, hi + strings.Replace(tail, "]", `],"think":"medium"`, 1)},
		{"most", ollama.Model{ID: "gpt-oss:20b"}, func(r *uzda.Request) { r.Head.Params.Effort = "xhigh" }, strings.Replace(hi, `"m"`, `"gpt-oss:20b"`, 1) + strings.Replace(tail, "]", `],"think":"high"`, 1)},
		{"least level", ollama.Model{Family: "gptoss"}, func(r *uzda.Request) { r.Head.Params.Effort = "none" }, hi + strings.Replace(tail, "]", `],"think":"low"`, 1)},

		{"picture", ollama.Model{}, func(r *uzda.Request) { r.View = view(user(text("See"), png, text("?"))) },
			`{"model":"m","messages":[{"role":"user","content":"See\n?","images":["iVBORw0KGgpwaXhlbHM="]}` + tail},
		{"blind", ollama.Model{Caps: []string{"tools"}}, func(r *uzda.Request) { r.View = view(user(png)) },
			`{"model":"m","messages":[{"role":"user","content":"[image/png, 14 bytes, was left out: it can't be sent to this model]"}` + tail},
		{"document", ollama.Model{}, func(r *uzda.Request) {
			r.View = view(user(uzda.Media{Type: "application/pdf", Name: "a.pdf", Data: []byte("%PDF")}))
		}, `{"model":"m","messages":[{"role":"user","content":"[a.pdf (application/pdf), 4 bytes, was left out: it can't be sent to this model]"}` + tail},

		{"call and result", ollama.Model{}, func(r *uzda.Request) {
			r.View = view(user(text("Add")), said(text("So."), call), user(result, text("And?")))
		}, `{"model":"m","messages":[{"role":"user","content":"Add"},{"role":"assistant","content":"So.","tool_calls":[{"id":"c1","function":{"index":0,"name":"add","arguments":{"y":1.50,"x":2}}}]},` +
			`{"role":"tool","content":"3.5","tool_name":"add","tool_call_id":"c1"},{"role":"user","content":"And?"}` + tail},
		{"picture of a tool", ollama.Model{}, func(r *uzda.Request) {
			seen := result
			seen.Blocks = uzda.Blocks{text("here"), png}
			r.View = view(user(text("Add")), said(call), user(seen))
		}, `{"model":"m","messages":[{"role":"user","content":"Add"},{"role":"assistant","content":"","tool_calls":[{"id":"c1","function":{"index":0,"name":"add","arguments":{"y":1.50,"x":2}}}]},` +
			`{"role":"tool","content":"here\n[image/png: it follows the results]","tool_name":"add","tool_call_id":"c1"},{"role":"user","content":"[image/png, from the result of add]","images":["iVBORw0KGgpwaXhlbHM="]}` + tail},
		{"ids that are taken, missing or too long", ollama.Model{}, func(r *uzda.Request) {
			b, c, d := call, call, call
			b.ID, c.ID, c.Wire, d.ID, d.Wire = "2.2", "2.3", "", "2.4", strings.Repeat("x", 200)
			r.View = view(user(text("Add")), said(call, b, c, d), user(result, uzda.ToolResult{Use: "2.2", IsError: true, Blocks: uzda.Say("no")}, uzda.ToolResult{Use: "2.3"}, uzda.ToolResult{Use: "2.4"}))
		}, `{"model":"m","messages":[{"role":"user","content":"Add"},{"role":"assistant","content":"","tool_calls":[` +
			`{"id":"c1","function":{"index":0,"name":"add","arguments":{"y":1.50,"x":2}}},{"id":"call_2_2","function":{"index":1,"name":"add","arguments":{"y":1.50,"x":2}}},` +
			`{"id":"call_2_3","function":{"index":2,"name":"add","arguments":{"y":1.50,"x":2}}},{"id":"call_2_4","function":{"index":3,"name":"add","arguments":{"y":1.50,"x":2}}}]},` +
			`{"role":"tool","content":"3.5","tool_name":"add","tool_call_id":"c1"},{"role":"tool","content":"Error: no","tool_name":"add","tool_call_id":"call_2_2"},` +
			`{"role":"tool","content":"(no output)","tool_name":"add","tool_call_id":"call_2_3"},{"role":"tool","content":"(no output)","tool_name":"add","tool_call_id":"call_2_4"}` + tail},
		{"another model's", ollama.Model{}, func(r *uzda.Request) {
			m := said(uzda.Thinking{Text: "Hm", Signature: "s"}, text("So."), uzda.Opaque{Origin: "x", Raw: json.RawMessage(`{}`)}, text("Then."))
			m.Origin, m.Items = &uzda.Origin{Profile: "anthropic"}, []uzda.Item{{Blocks: 4, Raw: json.RawMessage(`{"secret":1}`)}}
			r.View = view(user(text("Hi")), m, said(uzda.Thinking{Text: "Hm"}), user(text("Go on")))
		}, hi + `,{"role":"assistant","content":"So.\n\nThen."},{"role":"user","content":"Go on"}` + tail},
		{"the last word is the model's", ollama.Model{}, func(r *uzda.Request) { r.View = view(user(text("Hi")), said(text("So"))) },
			hi + `,{"role":"assistant","content":"So"},{"role":"user","content":"Continue."}` + tail},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			req := base()
			c.change(req)
			if got := asked(t, c.m, req); got != c.want {
				t.Errorf("\n got %s\nwant %s", got, c.want)
			}
		})
	}
}

func TestBadOptions(t *testing.T) {
	t.Parallel()
	for key, value := range map[string]string{"model": `"x"`, "messages": `[]`, "stream": `false`, "tools": `[]`, "options": `1`, "x": `{`} {
		req := modeltest.Hello()
		req.Head.Params.Options = map[string]json.RawMessage{key: json.RawMessage(value)}
		_, err := hear(t, ollama.Model{ID: "m", Base: "127.0.0.1:1", Env: env()}, req)
		if p := failure(t, err); p.Code != "invalid_request" || !strings.Contains(p.Message, key) {
			t.Errorf("%s: %v", key, err)
		}
	}
	req := modeltest.Hello()
	req.Head.Params.Schema = json.RawMessage(`{`)
	_, err := hear(t, ollama.Model{ID: "m", Base: "127.0.0.1:1", Env: env()}, req)
	if p := failure(t, err); p.Code != "invalid_request" {
		t.Error(err)
	}
}

// What can't be done is said, once.
func TestWarnings(t *testing.T) {
	t.Parallel()
	req := asking()
	req.Head.Params.Choice, req.Head.Params.NoParallel = "add", true
	req.Head.Tools = append(req.Head.Tools, uzda.ToolSpec{Name: "bad", Input: json.RawMessage(`{"type":"string"}`)})
	req.Enc = &uzda.Enc{}
	m := serve(t, nil, end).model()
	for _, want := range []string{"tool bad tool_choice no_parallel", ""} {
		got, err := hear(t, m, req)
		var codes []string
		for _, w := range got.warnings {
			codes = append(codes, w.Code)
		}
		if s := strings.Join(codes, " "); err != nil || s != want {
			t.Errorf("warnings %q, %v; want %q", s, err, want)
		}
	}
}

// A message goes back as it came; a repaired block is encoded anew in its place.
func TestItems(t *testing.T) {
	t.Parallel()
	came := say(`"thinking":"Hm\u002e","content":"I add","extra":[1.50],"tool_calls":[{"function":{"name":"add","arguments":{"y":1.0,"x":"a"},"note":1}},{"id":"c1","function":{"index":1,"name":"add","arguments":5}}]`)
	s := serve(t, nil, came+end, end)
	first := asking()
	got, err := hear(t, s.model(), first)
	if err != nil {
		t.Fatal(err)
	}
	msg := got.Message
	bs := append(uzda.Blocks{}, msg.Blocks...)
	for i, b := range bs {
		if u, ok := b.(uzda.ToolUse); ok {
			u.ID = []uzda.UseID{"", "", "3.1", "3.2"}[i]
			bs[i] = u
		}
	}
	msg.Blocks, msg.Repairs = bs, []uzda.Repair{{Block: 3, What: "the arguments were no JSON object"}}
	next := func(m uzda.Message) *uzda.Request {
		r := asking()
		r.View = append(r.View, uzda.Entry{Seq: 3, Message: m}, uzda.Entry{Seq: 4, Message: uzda.Message{Role: uzda.User, Blocks: uzda.Blocks{
			uzda.ToolResult{Use: "3.1", Blocks: uzda.Say("1")}, uzda.ToolResult{Use: "3.2", Blocks: uzda.Say("2")}}}})
		return r
	}
	if _, err := hear(t, s.model(), next(msg)); err != nil {
		t.Fatal(err)
	}
	want := `{"role":"assistant","thinking":"Hm\u002e","content":"I add","extra":[1.50],"tool_calls":[{"function":{"name":"add","arguments":{"y":1.0,"x":"a"},"note":1}},{"id":"c1","function":{"index":1,"name":"add","arguments":{}}}]},` +
		`{"role":"tool","content":"1","tool_name":"add"},{"role":"tool","content":"2","tool_name":"add","tool_call_id":"c1"}`
	if body := s.asked()[1]; !strings.Contains(body, want) {
		t.Errorf("the message went back as\n%s\nwant\n%s", body, want)
	}
	// To another model it is translated: no thought, no member that it does not know.
	other := s.model()
	other.ID = "other"
	if _, err := hear(t, other, next(msg)); err != nil {
		t.Fatal(err)
	}
	want = `{"role":"assistant","content":"I add","tool_calls":[{"id":"call_3_1","function":{"index":0,"name":"add","arguments":{"y":1.0,"x":"a"}}},{"id":"c1","function":{"index":1,"name":"add","arguments":{}}}]},` +
		`{"role":"tool","content":"1","tool_name":"add","tool_call_id":"call_3_1"},{"role":"tool","content":"2","tool_name":"add","tool_call_id":"c1"}`
	if body := s.asked()[2]; !strings.Contains(body, want) {
		t.Errorf("the message went to another model as\n%s\nwant\n%s", body, want)
	}
	// A block that was repaired is encoded anew in its place, and nothing else is.
	mended := msg
	mended.Blocks = append(uzda.Blocks{}, bs...)
	fixed := bs[2].(uzda.ToolUse)
	fixed.Input = json.RawMessage(`{"x":7}`)
	mended.Blocks[2], mended.Repairs = fixed, []uzda.Repair{{Block: 2, What: "mended"}}
	if _, err := hear(t, s.model(), next(mended)); err != nil {
		t.Fatal(err)
	}
	want = `"thinking":"Hm\u002e","content":"I add","extra":[1.50],"tool_calls":[{"function":{"index":0,"name":"add","arguments":{"x":7}}},{"id":"c1","function":{"index":1,"name":"add","arguments":{}}}]}`
	if body := s.asked()[3]; !strings.Contains(body, want) {
		t.Errorf("the mended message went back as\n%s\nwant\n%s", body, want)
	}
	// An item whose id another message has gets another.
	twice := next(msg)
	again := msg
	again.Blocks = append(uzda.Blocks{}, msg.Blocks...)
	again.Repairs = nil
	for i, b := range again.Blocks {
		if u, ok := b.(uzda.ToolUse); ok {
			u.ID = "5" + u.ID[1:]
			again.Blocks[i] = u
		}
	}
	twice.View = append(twice.View, uzda.Entry{Seq: 5, Message: again}, uzda.Entry{Seq: 6, Message: uzda.Message{Role: uzda.User, Blocks: uzda.Blocks{
		uzda.ToolResult{Use: "5.1"}, uzda.ToolResult{Use: "5.2"}}}})
	if _, err := hear(t, s.model(), twice); err != nil {
		t.Fatal(err)
	}
	if body := s.asked()[4]; !strings.Contains(body, `{"id":"call_5_2","function":{"index":1,"name":"add","arguments":{}}}`) || !strings.Contains(body, `"tool_call_id":"call_5_2"`) {
		t.Errorf("an id stands twice in %s", body)
	}
}

// Requests of a session are encoded once: each begins with the bytes of the one
// before, up to the end of its view, and equals one that is encoded anew.
func TestAppendOnly(t *testing.T) {
	t.Parallel()
	s := serve(t, nil, say(`"thinking":"Hm","content":"I add","tool_calls":[{"id":"c1","function":{"index":0,"name":"add","arguments":{"x":1}}}]`)+end)
	req := asking()
	req.Enc = &uzda.Enc{}
	prefix := ""
	for step := range 6 {
		req.Tail = strings.Repeat("tail ", step%3)
		got, err := hear(t, s.model(), req)
		if err != nil {
			t.Fatal(err)
		}
		fresh := *req
		fresh.Enc = nil
		if _, err := hear(t, s.model(), &fresh); err != nil {
			t.Fatal(err)
		}
		all := s.asked()
		body, anew := all[len(all)-2], all[len(all)-1]
		if body != anew {
			t.Fatalf("step %d: encoded on\n%s\nanew\n%s", step, body, anew)
		}
		if !strings.HasPrefix(body, prefix) {
			t.Fatalf("step %d does not begin with\n%s\nbut is\n%s", step, prefix, body)
		}
		prefix, _, _ = strings.Cut(body, `],"truncate"`)
		if req.Tail != "" {
			prefix = prefix[:strings.LastIndex(prefix, `,{"role":"user"`)]
		}
		use := uzda.UseID(string(rune('a'+step)) + ".1")
		msg := got.Message
		msg.Blocks = append(uzda.Blocks{}, msg.Blocks...)
		for i, b := range msg.Blocks {
			if u, ok := b.(uzda.ToolUse); ok {
				u.ID = use
				msg.Blocks[i] = u
			}
		}
		req.View = append(req.View, uzda.Entry{Message: msg}, uzda.Entry{Message: uzda.Message{Role: uzda.User, Blocks: uzda.Blocks{uzda.ToolResult{Use: use, Blocks: uzda.Say("1")}}}})
	}
}
