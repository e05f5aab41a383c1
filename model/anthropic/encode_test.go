package anthropic_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"net/http"
	"strings"
	"testing"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/model/anthropic"
	"github.com/uzda-dev/uzda/model/modeltest"
)

const schema = `{"type":"object","properties":{"a":{"type":"integer"}},"required":["a"],"additionalProperties":false}`

func spec(name string) uzda.ToolSpec {
	return uzda.ToolSpec{Name: name, Description: "Does " + name + ".", Input: json.RawMessage(schema)}
}

// body is the request that a model sends.
func body(t testing.TB, change func(*anthropic.Model), req *uzda.Request) string {
	t.Helper()
	h := replies(t, stream("end_turn", text("ok")))
	m := h.model()
	if change != nil {
		change(&m)
	}
	must(t, m, req)
	return h.body(1)
}

func options(members string) map[string]json.RawMessage {
	var out map[string]json.RawMessage
	if err := json.Unmarshal([]byte(members), &out); err != nil {
		panic(err)
	}
	return out
}

// The whole body of a request, as it goes out.
func TestBody(t *testing.T) {
	t.Parallel()
	req := hello(said("Hello"))
	half := 0.5
	req.Tail = "3 steps are left."
	req.Head = uzda.Head{System: "Be brief.", Tools: []uzda.ToolSpec{spec("zeta"), spec("alpha")}, Params: uzda.Params{
		Effort: "high", Stops: []string{"###", " "}, Choice: "any", NoParallel: true, Temperature: &half,
		Options: options(`{"metadata":{"user_id":"u 1"},"tools":[{"type":"web_search_20260318", "name":"web_search"}],"betas":["one","two"],"cache_ttl":"1h","speed":"fast","model":"other","stream":false,"max_tokens":5,"messages":[]}`),
	}}
	h := replies(t, stream("end_turn", text("ok")))
	must(t, h.model(), req)
	tool := func(name string) string {
		return fmt.Sprintf(`{"name":%q,"description":"Does %s.","input_schema":%s}`, name, name, schema)
	}
	want := `{"model":"claude-test-1","tools":[{"type":"web_search_20260318","name":"web_search"},` + tool("zeta") + `,` + tool("alpha") + `],` +
		`"tool_choice":{"type":"any","disable_parallel_tool_use":true},` +
		`"system":[{"type":"text","text":"Be brief.","cache_control":{"type":"ephemeral","ttl":"1h"}}],` +
		`"output_config":{"effort":"high"},"stop_sequences":["###"],"temperature":0.5,"metadata":{"user_id":"u 1"},"speed":"fast",` +
		`"messages":[{"role":"user","content":[{"type":"text","text":"Hello","cache_control":{"type":"ephemeral","ttl":"1h"}},{"type":"text","text":"3 steps are left."}]}],` +
		`"max_tokens":1000,"stream":true}`
	if got := h.body(1); got != want {
		t.Errorf("the body is\n%s\nnot\n%s", got, want)
	}
	head := h.heads[0]
	for k, v := range map[string]string{"X-Api-Key": "sk-ant-test", "Anthropic-Version": "2023-06-01", "Anthropic-Beta": "one,two", "Content-Type": "application/json"} {
		if head.Get(k) != v {
			t.Errorf("the header %s is %q, not %q", k, head.Get(k), v)
		}
	}
	if head.Get("Content-Length") != fmt.Sprint(len(want)) || head.Get("Authorization") != "" {
		t.Errorf("the headers are %v", head)
	}
}

// Parameters as the provider has them. M3 L12
func TestParams(t *testing.T) {
	t.Parallel()
	one := 1.0
	tools := []uzda.ToolSpec{spec("f")}
	for _, c := range []struct {
		name   string
		params uzda.Params
		tools  []uzda.ToolSpec
		has    string // in the body
		lacks  string
	}{
		{name: "nothing", has: `"max_tokens":1000,"stream":true}`, lacks: `tool`},
		{name: "auto", params: uzda.Params{Choice: "auto"}, tools: tools, has: `"tool_choice":{"type":"auto"}`},
		{name: "none", params: uzda.Params{Choice: "none", NoParallel: true}, tools: tools, has: `"tool_choice":{"type":"none"}`},
		{name: "a name", params: uzda.Params{Choice: "f"}, tools: tools, has: `"tool_choice":{"type":"tool","name":"f"}`},
		{name: "one at a time", params: uzda.Params{NoParallel: true}, tools: tools, has: `"tool_choice":{"type":"auto","disable_parallel_tool_use":true}`},
		{name: "a choice without tools", params: uzda.Params{Choice: "any", NoParallel: true}, lacks: "tool_choice"},
		{name: "a schema", params: uzda.Params{Schema: json.RawMessage(schema)}, has: `"output_config":{"format":{"type":"json_schema","schema":` + schema + `}}`},
		{name: "a schema and more", params: uzda.Params{Schema: json.RawMessage(schema), Effort: "low", Options: options(`{"output_config":{"effort":"max","task_budget":{"type":"tokens","total":9}}}`)},
			has: `"output_config":{"effort":"max","task_budget":{"type":"tokens","total":9},"format":{"type":"json_schema"`},
		{name: "strict", params: uzda.Params{Strict: true}, tools: tools, has: `"strict":true`},
		{name: "strict, where the schema is open", params: uzda.Params{Strict: true}, tools: []uzda.ToolSpec{{Name: "f", Input: json.RawMessage(`{"type":"object","properties":{"a":{"type":"string"}}}`)}}, lacks: "strict"},
		{name: "temperature", params: uzda.Params{Temperature: &one}, has: `"temperature":1`},
		{name: "temperature beside thinking", params: uzda.Params{Temperature: &one, Options: options(`{"thinking":{"type":"adaptive"}}`)}, has: `"thinking":{"type":"adaptive"}`, lacks: "temperature"},
		{name: "temperature without thinking", params: uzda.Params{Temperature: &one, Options: options(`{"thinking":{"type":"disabled"}}`)}, has: `"temperature":1`},
		{name: "an option wins", params: uzda.Params{Temperature: &one, Options: options(`{"temperature":0.25,"system":"mine"}`)}, has: `"system":"mine","temperature":0.25`},
		{name: "thinking", params: uzda.Params{Options: options(`{"thinking":{"type":"enabled","budget_tokens":1024}}`)}, lacks: "thinking"}, // no room for it in 1,000 tokens
		{name: "no markers", params: uzda.Params{Options: options(`{"cache_ttl":"off"}`)}, lacks: "cache_control"},
		{name: "no tool has a schema", tools: []uzda.ToolSpec{{Name: "f"}}, has: `"tools":[{"name":"f","input_schema":{"type":"object"`},
	} {
		req := hello()
		req.Head = uzda.Head{Params: c.params, Tools: c.tools}
		got := body(t, nil, req)
		if !strings.Contains(got, c.has) {
			t.Errorf("%s: the body lacks %s: %s", c.name, c.has, got)
		}
		if c.lacks != "" && strings.Contains(got, c.lacks) {
			t.Errorf("%s: the body has %s: %s", c.name, c.lacks, got)
		}
		if !json.Valid([]byte(got)) {
			t.Errorf("%s: the body is no JSON: %s", c.name, got)
		}
	}
	for _, bad := range []string{`{"tools":{}}`, `{"tools":"web"}`, `{"betas":"one"}`, `{"cache_ttl":"2h"}`, `{"cache_ttl":5}`, `{"thinking":"on"}`, `{"output_config":[]}`} {
		req := hello()
		req.Head.Params.Options = options(bad)
		_, err := ask(t, replies(t, "{}").model(), req)
		var p *uzda.ProviderError
		if !asProvider(err, &p) || p.Code != "invalid_request" {
			t.Errorf("%s: the error is %v", bad, err)
		}
	}
}

// The budget of thinking fits into the reply.
func TestThinkingBudget(t *testing.T) {
	t.Parallel()
	for most, want := range map[int]string{1024: "", 1025: "1024", 3000: "1500", 8001: "8000", 20000: "8000"} {
		req := hello()
		req.Max = most
		req.Head.Params.Options = options(`{"thinking":{"type":"enabled","budget_tokens":8000,"display":"omitted"}}`)
		got := string(read(t, body(t, nil, req)).Thinking)
		if want != "" {
			want = `{"type":"enabled","budget_tokens":` + want + `,"display":"omitted"}`
		}
		if got != want {
			t.Errorf("with %d tokens thinking is %s, not %s", most, got, want)
		}
	}
}

// How long a reply may be.
func TestMax(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ max, params, model, want int }{{0, 0, 0, 16384}, {0, 500, 0, 500}, {700, 500, 0, 700}, {700, 0, 600, 600}, {-1, -1, 0, 16384}} {
		req := hello()
		req.Max, req.Head.Params.MaxTokens = c.max, c.params
		if got := read(t, body(t, func(m *anthropic.Model) { m.MaxOutput = c.model }, req)).MaxTokens; got != c.want {
			t.Errorf("%+v: max_tokens is %d", c, got)
		}
	}
}

// A tool whose schema cannot be sent is left out with a warning, and the others
// work. Names that the provider refuses are mapped, and mapped back. T1 case:T01
func TestToolNames(t *testing.T) {
	t.Parallel()
	s := modeltest.Serve(t, modeltest.Config{Turns: []modeltest.Turn{{Calls: []modeltest.Call{{Name: "mcp_files_read", Input: `{"a":1}`}}}, bye}})
	req := hello()
	req.Head.Tools = []uzda.ToolSpec{spec("mcp.files/read"), spec("mcp_files_read"), {Name: "broken", Input: json.RawMessage(`[1,2]`)}, spec(strings.Repeat("long", 40)), spec("")}
	var warnings []uzda.Warning
	r, err := uzda.Collect(at(s).Stream(t.Context(), req), func(c uzda.Chunk) {
		if w, ok := c.(uzda.Warning); ok {
			warnings = append(warnings, w)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(warnings) != 1 || warnings[0].Code != "tool-broken" {
		t.Errorf("the warnings are %+v", warnings)
	}
	if got := s.Requests()[0].Tools; len(got) != 4 {
		t.Errorf("the tools are %v", got)
	}
	if u := r.Message.Uses()[0]; u.Name != "mcp.files/read" {
		t.Errorf("the call is of %q", u.Name)
	}
	m := named(r.Message, 2)
	next := hello(said("x"), m, results(m))
	next.Head.Tools = req.Head.Tools[:2]
	must(t, at(s), next)
}

func pngOf(w, h int) []byte {
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewPaletted(image.Rect(0, 0, w, h), color.Palette{color.Black})); err != nil {
		panic(err)
	}
	return b.Bytes()
}

// Pictures and documents go as they are, whatever type they claim; what the
// provider would refuse for ever becomes a remark. peer:25
func TestMedia(t *testing.T) {
	t.Parallel()
	small, wide := pngOf(2, 2), pngOf(9000, 1)
	big := append(pngOf(2, 2), make([]byte, 4<<20)...)
	pdf := []byte("%PDF-1.7 and so on")
	b64 := base64.StdEncoding.EncodeToString
	for _, c := range []struct {
		media uzda.Media
		want  string
	}{
		{uzda.Media{Type: "image/png", Data: small}, `{"type":"image","source":{"type":"base64","media_type":"image/png","data":"` + b64(small) + `"}}`},
		{uzda.Media{Type: "image/jpeg", Data: small}, `{"type":"image","source":{"type":"base64","media_type":"image/png","data":"` + b64(small) + `"}}`},
		{uzda.Media{Type: "application/pdf", Name: "a.pdf", Data: pdf}, `{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"` + b64(pdf) + `"},"title":"a.pdf"}`},
		{uzda.Media{Type: "text/csv", Name: "a.csv", Data: []byte("a,\"b\"\n")}, `{"type":"document","source":{"type":"text","media_type":"text/plain","data":"a,\"b\"\n"},"title":"a.csv"}`},
		{uzda.Media{Type: "application/json", Data: []byte("{}")}, `{"type":"document","source":{"type":"text","media_type":"text/plain","data":"{}"}}`},
		{uzda.Media{Type: "image/png", Name: "x.png", Data: []byte("not a picture")}, `{"type":"text","text":"[x.png (image/png, 13 bytes) is not shown: the model reads pictures (PNG, JPEG, GIF, WebP), PDF and text]"}`},
		{uzda.Media{Type: "image/png"}, `{"type":"text","text":"[an attachment (image/png, 0 bytes) is not shown: it is empty]"}`},
		{uzda.Media{Type: "audio/wav", Data: []byte("RIFF....WAVE")}, `{"type":"text","text":"[an attachment (audio/wav, 12 bytes) is not shown: the model reads pictures (PNG, JPEG, GIF, WebP), PDF and text]"}`},
		{uzda.Media{Type: "image/png", Data: wide}, `{"type":"text","text":"[an attachment (image/png, ` + fmt.Sprint(len(wide)) + ` bytes) is not shown: the picture is wider or higher than 8000 pixels]"}`},
		{uzda.Media{Type: "image/png", Data: big}, `{"type":"text","text":"[an attachment (image/png, ` + fmt.Sprint(len(big)) + ` bytes) is not shown: the picture is larger than 3932160 bytes]"}`},
		{uzda.Media{Type: "text/plain", Data: []byte("\xff\xfe")}, `{"type":"text","text":"[an attachment (text/plain, 2 bytes) is not shown: the model reads pictures (PNG, JPEG, GIF, WebP), PDF and text]"}`},
	} {
		off := func(req *uzda.Request) *uzda.Request {
			req.Head.Params.Options = options(`{"cache_ttl":"off"}`)
			return req
		}
		got := content(t, body(t, nil, off(hello(uzda.Message{Role: uzda.User, Blocks: uzda.Blocks{c.media}}))), 0)
		if got != "["+c.want+"]" {
			t.Errorf("posted, %s is %.300s, not %.300s", c.media.Type, got, c.want)
		}
		use := uzda.Message{Role: uzda.Assistant, Blocks: uzda.Blocks{uzda.ToolUse{ID: "2.1", Wire: "toolu_1", Name: "f", Input: json.RawMessage("{}")}}}
		res := uzda.Message{Role: uzda.User, Blocks: uzda.Blocks{uzda.ToolResult{Use: "2.1", Blocks: uzda.Blocks{c.media}}}}
		got = content(t, body(t, nil, off(hello(said("x"), use, res))), -1)
		if want := `[{"type":"tool_result","tool_use_id":"toolu_1","content":[` + c.want + `]}]`; got != want {
			t.Errorf("in a result, %s is %.300s, not %.300s", c.media.Type, got, want)
		}
	}
}

// The messages of every kind of view are such as the provider takes: they begin
// with the user's, roles alternate, results stand first in call order, no text is
// empty, and the assistant's come last only after a pause. L7
func TestViews(t *testing.T) {
	t.Parallel()
	use := func(id, wire string) uzda.ToolUse {
		return uzda.ToolUse{ID: uzda.UseID(id), Wire: wire, Name: "f", Input: json.RawMessage(`{"a":1}`)}
	}
	res := func(id, s string) uzda.ToolResult { return uzda.ToolResult{Use: uzda.UseID(id), Blocks: uzda.Say(s)} }
	from := func(bs ...uzda.Block) uzda.Message { return uzda.Message{Role: uzda.Assistant, Blocks: bs} }
	user := func(bs ...uzda.Block) uzda.Message { return uzda.Message{Role: uzda.User, Blocks: bs} }
	const u1 = `{"type":"tool_use","id":"toolu_a","name":"f","input":{"a":1}}`
	for _, c := range []struct {
		name string
		view []uzda.Message
		tail string
		want string // role: content, a message a line
	}{
		{"one", []uzda.Message{said("a")}, "", `u [{"type":"text","text":"a"}]`},
		{"a tail", []uzda.Message{said("a")}, "t", `u [{"type":"text","text":"a"},{"type":"text","text":"t"}]`},
		{"nothing", []uzda.Message{}, "", `u [{"type":"text","text":"Continue."}]`},
		{"nothing but a tail", []uzda.Message{}, "t", `u [{"type":"text","text":"Continue."},{"type":"text","text":"t"}]`},
		{"blank texts", []uzda.Message{said(" \n"), user(uzda.Text{}, uzda.Text{Text: "a"})}, " ", `u [{"type":"text","text":"a"}]`},
		{"two in a row", []uzda.Message{said("a"), said("b")}, "", `u [{"type":"text","text":"a"},{"type":"text","text":"b"}]`},
		{"the assistant first", []uzda.Message{from(uzda.Text{Text: "a"}), said("b")}, "", `u [{"type":"text","text":"Continue."}]` + "\n" + `a [{"type":"text","text":"a"}]` + "\n" + `u [{"type":"text","text":"b"}]`},
		{"the assistant last", []uzda.Message{said("a"), from(uzda.Text{Text: "b"})}, "", `u [{"type":"text","text":"a"}]` + "\n" + `a [{"type":"text","text":"b"}]` + "\n" + `u [{"type":"text","text":"Continue."}]`},
		{"the assistant last, and a tail", []uzda.Message{said("a"), from(uzda.Text{Text: "b"})}, "t", `u [{"type":"text","text":"a"}]` + "\n" + `a [{"type":"text","text":"b"}]` + "\n" + `u [{"type":"text","text":"Continue."},{"type":"text","text":"t"}]`},
		{"the assistant twice", []uzda.Message{said("a"), from(uzda.Text{Text: "b"}), from(uzda.Text{Text: "c"}), said("d")}, "", `u [{"type":"text","text":"a"}]` + "\n" + `a [{"type":"text","text":"b"},{"type":"text","text":"c"}]` + "\n" + `u [{"type":"text","text":"d"}]`},
		{"a reply that says nothing here", []uzda.Message{said("a"), from(uzda.Thinking{Text: "x"}, uzda.Opaque{Origin: "other", Raw: json.RawMessage(`{"type":"x"}`)}), said("b")}, "", `u [{"type":"text","text":"a"},{"type":"text","text":"b"}]`},
		{"results", []uzda.Message{said("a"), from(use("2.1", "toolu_a"), use("2.2", "toolu_b")), user(res("2.1", "one"), uzda.ToolResult{Use: "2.2", Blocks: uzda.Say("two"), IsError: true}), said("b")}, "t",
			`u [{"type":"text","text":"a"}]` + "\n" + `a [` + u1 + `,{"type":"tool_use","id":"toolu_b","name":"f","input":{"a":1}}]` + "\n" +
				`u [{"type":"tool_result","tool_use_id":"toolu_a","content":[{"type":"text","text":"one"}]},{"type":"tool_result","tool_use_id":"toolu_b","content":[{"type":"text","text":"two"}],"is_error":true},{"type":"text","text":"b"},{"type":"text","text":"t"}]`},
		{"empty results", []uzda.Message{said("a"), from(use("2.1", "toolu_a")), user(res("2.1", " "))}, "", `u [{"type":"text","text":"a"}]` + "\n" + `a [` + u1 + `]` + "\n" + `u [{"type":"tool_result","tool_use_id":"toolu_a","content":[{"type":"text","text":"(no output)"}]}]`},
		{"ids that repeat, or do not fit", []uzda.Message{said("a"), from(use("2.1", "toolu_a"), use("2.2", "toolu_a"), use("2.3", ""), use("2.4", "call:7")), user(res("2.1", "1"), res("2.2", "2"), res("2.3", "3"), res("2.4", "4"))}, "",
			`u [{"type":"text","text":"a"}]` + "\n" + `a [` + u1 + `,{"type":"tool_use","id":"toolu_2_2","name":"f","input":{"a":1}},{"type":"tool_use","id":"toolu_2_3","name":"f","input":{"a":1}},{"type":"tool_use","id":"toolu_2_4","name":"f","input":{"a":1}}]` + "\n" +
				`u [{"type":"tool_result","tool_use_id":"toolu_a","content":[{"type":"text","text":"1"}]},{"type":"tool_result","tool_use_id":"toolu_2_2","content":[{"type":"text","text":"2"}]},{"type":"tool_result","tool_use_id":"toolu_2_3","content":[{"type":"text","text":"3"}]},{"type":"tool_result","tool_use_id":"toolu_2_4","content":[{"type":"text","text":"4"}]}]`},
		{"a picture in a reply", []uzda.Message{said("a"), from(uzda.Media{Type: "image/png", Name: "p", Data: []byte("xy")}), said("b")}, "",
			`u [{"type":"text","text":"a"}]` + "\n" + `a [{"type":"text","text":"[p (image/png, 2 bytes) is not shown: it was part of a reply]"}]` + "\n" + `u [{"type":"text","text":"b"}]`},
		{"a picture with an error", []uzda.Message{said("a"), from(use("2.1", "toolu_a")), user(uzda.ToolResult{Use: "2.1", IsError: true, Blocks: uzda.Blocks{uzda.Media{Type: "image/png", Name: "p", Data: pngOf(1, 1)}}})}, "",
			`u [{"type":"text","text":"a"}]` + "\n" + `a [` + u1 + `]` + "\n" + `u [{"type":"tool_result","tool_use_id":"toolu_a","content":[{"type":"text","text":"[p (image/png, ` + fmt.Sprint(len(pngOf(1, 1))) + ` bytes) is not shown: it came with an error]"}],"is_error":true}]`},
		{"a block of the wire's own", []uzda.Message{user(uzda.Opaque{Origin: "anthropic", Raw: json.RawMessage(`{"type":"container_upload","file_id":"f"}`)}, uzda.Opaque{Origin: "other", Raw: json.RawMessage(`{"type":"x"}`)}, uzda.Text{Text: "a"})}, "",
			`u [{"type":"container_upload","file_id":"f"},{"type":"text","text":"a"}]`},
	} {
		req := hello(c.view...)
		req.Tail = c.tail
		req.Head.Params.Options = options(`{"cache_ttl":"off"}`)
		req.Head.Tools = []uzda.ToolSpec{spec("f")}
		var got []string
		b := body(t, nil, req)
		for i, m := range read(t, b).Messages {
			got = append(got, m.Role[:1]+" "+content(t, b, i))
		}
		if strings.Join(got, "\n") != c.want {
			t.Errorf("%s:\n%s\nnot\n%s", c.name, strings.Join(got, "\n"), c.want)
		}
	}
}

// A view with calls whose tools are gone still has tools: the provider refuses
// calls without any.
func TestToolsThatAreGone(t *testing.T) {
	t.Parallel()
	s := modeltest.Serve(t, modeltest.Config{Turns: []modeltest.Turn{bye}})
	use := uzda.Message{Role: uzda.Assistant, Blocks: uzda.Blocks{uzda.ToolUse{ID: "2.1", Name: "f", Input: json.RawMessage("{}")}}}
	must(t, at(s), hello(said("x"), use, results(use)))
}

// Cache markers stand on the last block of ours and on the one before the newest
// reply, never in what the provider sent, and never more than four. M4 case:C08
func TestMarkers(t *testing.T) {
	t.Parallel()
	reply := func(i int) uzda.Message {
		return uzda.Message{Role: uzda.Assistant, Blocks: uzda.Blocks{uzda.ToolUse{ID: uzda.UseID(fmt.Sprintf("%d.1", i)), Wire: fmt.Sprintf("toolu_%d", i), Name: "f", Input: json.RawMessage("{}")}}}
	}
	view := []uzda.Message{said("a"), reply(2), results(reply(2)), reply(4), results(reply(4))}
	req := hello(view...)
	req.Tail = "t"
	req.Head = uzda.Head{System: "s", Tools: []uzda.ToolSpec{spec("f")}}
	marks := func(b string) string {
		out := ""
		for _, m := range read(t, b).Messages {
			out += m.Role[:1]
			for _, c := range m.Content {
				if bytes.Contains(c, []byte(`"cache_control"`)) {
					out += "!"
				} else {
					out += "."
				}
			}
		}
		return out
	}
	if got := marks(body(t, nil, req)); got != "u.a.u!a.u!." {
		t.Errorf("the markers are at %s", got)
	}
	// As a restart finds it, and with one that the user has put into the options.
	for given, want := range map[string]string{
		`{"tools":[{"cache_control":{}},{"cache_control":{}},{"cache_control":{}},{"cache_control":{}}]}`: "u.a.u.a.u..",
		`{"cache_control":{"type":"ephemeral"}}`:                                                          "u.a.u!a.u!.",
		`{"cache_control":{"type":"ephemeral"},"tools":[{"name":"x","cache_control":{}}]}`:                "u.a.u.a.u!.",
		`{"system":[{"cache_control":{}},{"cache_control":{}}],"tools":[{"cache_control":{}}]}`:           "u.a.u.a.u.",
		`{"tools":[{"cache_control":{}},{"cache_control":{}},{"cache_control":{},"name":"other"}]}`:       "u.a.u.a.u..",
	} {
		req.Head.Params.Options = options(given)
		got := body(t, nil, req)
		if n := strings.Count(got, `"cache_control"`); n > max(4, strings.Count(given, `"cache_control"`)) {
			t.Errorf("%s: there are %d markers", given, n)
		}
		if marks(got) != want && marks(got) != want+"." {
			t.Errorf("%s: the markers are at %s", given, marks(got))
		}
	}
	// Without a system prompt the tools bear the marker.
	req.Head = uzda.Head{Tools: []uzda.ToolSpec{spec("f"), spec("g")}}
	if got := string(read(t, body(t, nil, req)).Tools[1]); !strings.HasSuffix(got, `,"cache_control":{"type":"ephemeral"}}`) {
		t.Errorf("the last tool is %s", got)
	}
	// A local server caches by itself.
	if got := body(t, func(m *anthropic.Model) { m.Local = true }, req); strings.Contains(got, "cache_control") {
		t.Errorf("a local server gets markers: %s", got)
	}
}

// Only keys that are meant for a service go to it.
func TestKeys(t *testing.T) {
	t.Parallel()
	const official = "https://api.anthropic.com"
	for _, c := range []struct {
		name       string
		model      anthropic.Model
		env        map[string]string
		url        string
		key, token string // what the service gets
		fails      bool
	}{
		{name: "nothing", fails: true},
		{name: "a key", model: anthropic.Model{Key: "k"}, url: official, key: "k"},
		{name: "a key of the environment", env: map[string]string{"ANTHROPIC_API_KEY": " k\n"}, url: official, key: "k"},
		{name: "a token of the environment", env: map[string]string{"ANTHROPIC_AUTH_TOKEN": "t"}, url: official, token: "t"},
		{name: "both", env: map[string]string{"ANTHROPIC_AUTH_TOKEN": "t", "ANTHROPIC_API_KEY": "k"}, url: official, key: "k"},
		{name: "another base of the environment", env: map[string]string{"ANTHROPIC_BASE_URL": "http://gate:8080/", "ANTHROPIC_API_KEY": "k"}, url: "http://gate:8080", key: "k"},
		{name: "the base of the environment, named", model: anthropic.Model{Base: "http://gate:8080/v1"}, env: map[string]string{"ANTHROPIC_BASE_URL": "http://gate:8080/", "ANTHROPIC_API_KEY": "k"}, url: "http://gate:8080", key: "k"},
		{name: "another service", model: anthropic.Model{Base: "http://other/v1/"}, env: map[string]string{"ANTHROPIC_API_KEY": "k"}, url: "http://other"},
		{name: "the same service, named", model: anthropic.Model{Base: official + "/v1"}, env: map[string]string{"ANTHROPIC_API_KEY": "k"}, url: official, key: "k"},
		{name: "a bearer", model: anthropic.Model{Base: "http://other", Key: "k", Bearer: true}, url: "http://other", token: "k"},
		{name: "headers of one's own", model: anthropic.Model{Header: http.Header{"x-api-key": {"mine"}, "Anthropic-Beta": {"b"}}}, url: official, key: "mine"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			rt := &recorder{body: stream("end_turn", text("ok"))}
			m := c.model
			m.ID, m.Tries, m.HTTP = "claude-test-1", 1, &http.Client{Transport: rt}
			m.Env = func(name string) string { return c.env[name] }
			req := hello()
			req.Head.Params.Options = options(`{"betas":["c"]}`)
			_, err := ask(t, m, req)
			if c.fails {
				var p *uzda.ProviderError
				if !asProvider(err, &p) || p.Code != "auth" || !strings.Contains(p.Hint, "ANTHROPIC_API_KEY") || rt.req != nil {
					t.Errorf("the error is %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			token := strings.TrimPrefix(rt.req.Header.Get("Authorization"), "Bearer ")
			if rt.req.URL.String() != c.url+"/v1/messages" || rt.req.Header.Get("X-Api-Key") != c.key || token != c.token {
				t.Errorf("it asked %s with the key %q and the token %q", rt.req.URL, rt.req.Header.Get("X-Api-Key"), token)
			}
			if want := "c"; rt.req.Header.Get("Anthropic-Beta") != want && rt.req.Header.Get("Anthropic-Beta") != "b,c" {
				t.Errorf("the betas are %q", rt.req.Header.Get("Anthropic-Beta"))
			}
		})
	}
}

// recorder answers everything with one body.
type recorder struct {
	body string
	req  *http.Request
}

func (r *recorder) RoundTrip(req *http.Request) (*http.Response, error) {
	r.req = req
	res, err := (&replay{status: http.StatusOK, body: []byte(r.body)}).RoundTrip(req)
	return res, err
}

// What the model is called.
func TestDescribe(t *testing.T) {
	t.Parallel()
	got := anthropic.Model{ID: "m", Window: 7, MaxOutput: 3}.Describe()
	if got != (uzda.ModelInfo{ID: "anthropic/m", Window: 7, MaxOutput: 3}) {
		t.Errorf("it is %+v", got)
	}
	if got := (anthropic.Model{ID: "m", Profile: "llama", Free: true}).Describe(); got.ID != "llama/m" || !got.Free {
		t.Errorf("it is %+v", got)
	}
}
