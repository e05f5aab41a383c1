package openai_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/model/modeltest"
	"github.com/uzda-dev/uzda/model/openai"
)

var hi = stream("stop", `{"role":"assistant","content":"Hi"}`)

// sent is the request that a profile's model sends.
func sent(t testing.TB, profile openai.Profile, req *uzda.Request) (body string, warnings []uzda.Warning) {
	t.Helper()
	p := &player{bodies: [][]byte{hi}}
	_, chunks, err := ask(t, p.model(profile), req)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range chunks {
		if w, ok := c.(uzda.Warning); ok {
			warnings = append(warnings, w)
		}
	}
	if !json.Valid([]byte(p.sent[0])) {
		t.Fatalf("the request is no JSON: %s", p.sent[0])
	}
	return p.sent[0], warnings
}

// member is a member of a request.
func member(t testing.TB, body, name string) string {
	t.Helper()
	var o map[string]json.RawMessage
	if err := json.Unmarshal([]byte(body), &o); err != nil {
		t.Fatal(err)
	}
	return string(o[name])
}

func ptr[T any](v T) *T { return &v }

// A whole request of each kind of service, to read.
func TestRequest(t *testing.T) {
	t.Parallel()
	req := hello("now")
	req.Tail = "2 steps left"
	for _, c := range []struct {
		profile openai.Profile
		want    string
	}{
		{openai.Profile{}, `{"model":"m","tools":[{"type":"function","function":{"name":"now","parameters":{"type":"object","properties":{}}}}],"messages":[{"role":"system","content":"You help."},{"role":"user","content":"Hello."},{"role":"user","content":"2 steps left"}],"max_completion_tokens":1000,"stream":true,"stream_options":{"include_usage":true},"prompt_cache_key":"s"}`},
		{openai.Mistral(), `{"model":"m","tools":[{"type":"function","function":{"name":"now","parameters":{"type":"object","properties":{}}}}],"messages":[{"role":"system","content":"You help."},{"role":"user","content":"Hello."},{"role":"user","content":"2 steps left"}],"max_tokens":1000,"stream":true}`},
		{openai.Perplexity(), `{"model":"m","tools":[{"type":"function","function":{"name":"now","parameters":{"type":"object","properties":{}}}}],"messages":[{"role":"system","content":"You help."},{"role":"user","content":[{"type":"text","text":"Hello."},{"type":"text","text":"2 steps left"}]}],"max_tokens":1000,"stream":true,"stream_options":{"include_usage":true}}`},
	} {
		if got, _ := sent(t, c.profile, req); got != c.want {
			t.Errorf("%s:\n%s\nnot\n%s", c.profile.Name, got, c.want)
		}
	}
}

// What parameters become, and what a service can't be told is said to people. M3
func TestParams(t *testing.T) {
	t.Parallel()
	schema := json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"],"additionalProperties":false}`)
	loose := json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}}}`)
	opt := func(key, value string) uzda.Params {
		return uzda.Params{Options: map[string]json.RawMessage{key: json.RawMessage(value)}}
	}
	for _, c := range []struct {
		name    string
		profile openai.Profile
		params  uzda.Params
		member  string
		want    string
		warning string
	}{
		{"temperature", openai.Groq(), uzda.Params{Temperature: ptr(0.25)}, "temperature", "0.25", ""},
		{"no temperature", openai.Profile{Name: "x", FixedTemp: []string{"m"}, Auth: openai.AuthNone}, uzda.Params{Temperature: ptr(0.25)}, "temperature", "", "temperature"},
		{"stops", openai.Profile{}, uzda.Params{Stops: []string{"a", "\"b"}}, "stop", `["a","\"b"]`, ""},
		{"effort", openai.Profile{}, uzda.Params{Effort: "high"}, "reasoning_effort", `"high"`, ""},
		{"effort at OpenRouter", openai.OpenRouter(), uzda.Params{Effort: "low"}, "reasoning", `{"effort":"low"}`, ""},
		{"no effort at DeepSeek", openai.DeepSeek(), uzda.Params{Effort: "none"}, "thinking", `{"type":"disabled"}`, ""},
		{"an effort that can't be said", openai.Profile{Name: "x", Auth: openai.AuthNone}, uzda.Params{Effort: "high"}, "reasoning_effort", "", "effort"},
		{"any tool", openai.Profile{}, uzda.Params{Choice: "any"}, "tool_choice", `"required"`, ""},
		{"any tool at Mistral", openai.Mistral(), uzda.Params{Choice: "any"}, "tool_choice", `"any"`, ""},
		{"no tool", openai.Profile{}, uzda.Params{Choice: "none"}, "tool_choice", `"none"`, ""},
		{"no tool at Ollama", openai.OllamaCompat(), uzda.Params{Choice: "none"}, "tools", "", ""},
		{"any tool at Ollama", openai.OllamaCompat(), uzda.Params{Choice: "any"}, "tool_choice", "", "tool_choice"},
		{"one tool", openai.Profile{}, uzda.Params{Choice: "now"}, "tool_choice", `{"type":"function","function":{"name":"now"}}`, ""},
		{"one at a time", openai.Profile{}, uzda.Params{NoParallel: true}, "parallel_tool_calls", "false", ""},
		{"one at a time, unknown", openai.DeepSeek(), uzda.Params{NoParallel: true}, "parallel_tool_calls", "", "no_parallel"},
		{"a schema", openai.Profile{}, uzda.Params{Schema: schema}, "response_format", `{"type":"json_schema","json_schema":{"name":"answer","strict":true,"schema":` + string(schema) + `}}`, ""},
		{"a loose schema", openai.Profile{}, uzda.Params{Schema: loose}, "response_format", `{"type":"json_schema","json_schema":{"name":"answer","schema":` + string(loose) + `}}`, ""},
		{"a schema beside tools", openai.OpenRouter(), uzda.Params{Schema: loose}, "response_format", `{"type":"json_schema","json_schema":{"name":"answer","schema":` + string(loose) + `}}`, ""},
		{"a schema that tools must stand without", openai.VLLM(), uzda.Params{Schema: loose}, "response_format", "", ""},
		{"the length of a reply", openai.Profile{}, uzda.Params{MaxTokens: 5}, "max_completion_tokens", "1000", ""}, // the loop's word counts
		{"a schema at DeepSeek", openai.DeepSeek(), uzda.Params{Schema: loose}, "response_format", `{"type":"json_object"}`, ""},
		{"an option", openai.Profile{}, opt("seed", "7"), "seed", "7", ""},
		{"an option instead of ours", openai.Profile{}, opt("tool_choice", `"auto"`), "tool_choice", `"auto"`, ""},
		{"an option that leaves ours out", openai.Profile{}, uzda.Params{Effort: "high", Options: map[string]json.RawMessage{"reasoning_effort": json.RawMessage("null")}}, "reasoning_effort", "", ""},
		{"an option that stands at the end", openai.Profile{}, opt("prompt_cache_key", `"mine"`), "prompt_cache_key", `"mine"`, ""},
		{"no word about usage", openai.Profile{}, opt("stream_options", "null"), "stream_options", "", ""},
		{"hosted tools", openai.Profile{}, opt("tools", `[{"type":"web_search"}]`), "tools",
			`[{"type":"function","function":{"name":"now","parameters":{"type":"object","properties":{}}}},{"type":"web_search"}]`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			req := hello("now")
			req.Head.Params = c.params
			body, warnings := sent(t, c.profile, req)
			if got := member(t, body, c.member); got != c.want {
				t.Errorf("%s is %s, not %s", c.member, got, c.want)
			}
			if (len(warnings) > 0) != (c.warning != "") || c.warning != "" && (warnings[0].Code != c.warning || warnings[0].Hint == "") {
				t.Errorf("the warnings are %+v", warnings)
			}
			if (c.profile.SchemaAlone || c.name == "a schema at DeepSeek") && c.params.Schema != nil && !strings.Contains(string(messages(t, body)[0]), `\"n\"`) {
				t.Errorf("the model is not told the schema: %s", body)
			}
		})
	}
	for key, value := range map[string]string{"messages": "[]", "stream": "false", "max_tokens": "1", "n": "2", "model": `"x"`, "seed": "{", "tools": "7"} {
		req := hello("now")
		req.Head.Params = opt(key, value)
		_, _, err := ask(t, (&player{bodies: [][]byte{hi}}).model(openai.Profile{}), req)
		var e *uzda.ProviderError
		if !errors.As(err, &e) || e.Code != "invalid_request" || !strings.Contains(e.Message, key) {
			t.Errorf("the option %s gave %v", key, err)
		}
	}
	// The schema is not told twice.
	req := hello()
	req.Head.Params.Schema, req.Head.System = loose, "Answer by "+string(loose)
	if body, _ := sent(t, openai.DeepSeek(), req); strings.Count(body, "integer") != 1 {
		t.Errorf("the request is %s", body)
	}
}

// Tools that can't be sent are left out with a warning, and the others work;
// without any there is no member. case:T01 case:T02
func TestTools(t *testing.T) {
	t.Parallel()
	req := hello("good", "mcp.server/tool", "also good")
	req.Head.Params.Strict = true
	req.Head.Tools[0].Input = json.RawMessage(`{"type":"object","properties":{"s":{"type":"string"}},"required":["s"],"additionalProperties":false}`)
	req.Head.Tools = append(req.Head.Tools, uzda.ToolSpec{Name: "bad", Input: json.RawMessage(`{"type":"array"}`)},
		uzda.ToolSpec{Name: "mcp_server_tool", Description: "Its name is taken.", Input: json.RawMessage(`{"$defs":{"node":{"type":"object","properties":{"next":{"$ref":"#/$defs/node"}}}},"type":"object","properties":{"n":{"$ref":"#/$defs/node"}}}`)})
	body, warnings := sent(t, openai.Profile{}, req)
	var in struct {
		Tools []struct {
			Function struct {
				Name   string
				Strict bool
			}
		}
	}
	if err := json.Unmarshal([]byte(body), &in); err != nil {
		t.Fatal(err)
	}
	var names []string
	for i, f := range in.Tools {
		names = append(names, f.Function.Name)
		if f.Function.Strict != (i == 0) {
			t.Errorf("the tool %s is strict: %v", f.Function.Name, f.Function.Strict)
		}
	}
	// A tool that joins late changes no name that was sent.
	theirs := names[3] // of mcp_server_tool
	if got := strings.Join(names, " "); got != "good mcp_server_tool also_good "+theirs || !strings.HasPrefix(theirs, "mcp_server_tool_") {
		t.Errorf("the names are %s", got)
	}
	if len(warnings) != 1 || !strings.Contains(warnings[0].Text, "bad") {
		t.Errorf("the warnings are %+v", warnings)
	}
	if body, _ = sent(t, openai.Profile{}, hello()); member(t, body, "tools") != "" {
		t.Errorf("the request is %s", body)
	}

	// A call of a tool with a name of its own comes as ours, and goes back as theirs.
	for wire, ours := range map[string]string{"mcp_server_tool": "mcp.server/tool", theirs: "mcp_server_tool"} {
		called := calling(piece("0", "A", wire, "{}"))
		reply, err := decode(t, openai.Profile{}, called, "mcp.server/tool", "mcp_server_tool")
		if got := brief(reply); err != nil || got != `use `+ours+` "A" {}; stop tool_use` {
			t.Errorf("%s, %v", got, err)
		}
		if got := back(t, openai.Profile{}, called, "mcp.server/tool", "mcp_server_tool"); !strings.Contains(got, `"`+wire+`"`) {
			t.Errorf("what goes back is %s", got)
		}
	}
}

// Schemas of all kinds are taken by servers that refuse what their services
// refuse, at every depth. case:T01 case:T02
func TestSchemas(t *testing.T) {
	t.Parallel()
	hairy := json.RawMessage(`{"$schema":"https://json-schema.org/draft/2020-12/schema","$defs":{"node":{"type":"object","properties":{"next":{"$ref":"#/$defs/node"},"v":{"const":1}}}},
		"type":"object","additionalProperties":false,"properties":{"headers":{"type":"object","patternProperties":{"^x-":{"type":"string"}}},"same":{"$ref":"#/properties/headers"},
		"list":{"type":"array","items":{"anyOf":[{"type":"string","pattern":"^a"},{"type":"null"}]}},"any":{},"maybe":{"type":["integer","null"],"default":3},"tree":{"$ref":"#/$defs/node"}},"required":["list"]}`)
	for _, c := range []struct {
		profile openai.Profile
		rules   modeltest.Rules
	}{{openai.Profile{}, modeltest.Rules{}}, {openai.Gemini(), modeltest.Rules{Gemini: true}}, {openai.Groq(), modeltest.Rules{}}} {
		s := modeltest.Serve(t, modeltest.Config{Loop: true, Turns: []modeltest.Turn{bye}, Rules: c.rules})
		req := hello("good")
		req.Head.Tools = append(req.Head.Tools, uzda.ToolSpec{Name: "hairy", Input: hairy})
		req.Head.Params = uzda.Params{Strict: true, Schema: json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer","minimum":1}},"required":["n"],"additionalProperties":false}`)}
		if _, _, err := ask(t, openai.Model{ID: "fake-1", Profile: c.profile, Key: "k", Base: s.URL + "/v1", Env: noEnv}, req); err != nil {
			t.Errorf("%s: %v", c.profile.Name, err)
		}
		if asks := s.Asks(); len(asks) != 1 || len(asks[0].Tools) != 2 {
			t.Errorf("%s: the requests are %+v", c.profile.Name, asks)
		}
	}
}

// view makes a request of messages.
func view(ms ...uzda.Message) *uzda.Request {
	req := hello()
	req.View = nil
	for i, m := range ms {
		req.View = append(req.View, uzda.Entry{Seq: uzda.Seq(i + 2), Message: m})
	}
	return req
}

func user(bs ...uzda.Block) uzda.Message { return uzda.Message{Role: uzda.User, Blocks: bs} }

func said(bs ...uzda.Block) uzda.Message { return uzda.Message{Role: uzda.Assistant, Blocks: bs} }

// What becomes of media, errors, and messages of other models.
func TestMessages(t *testing.T) {
	t.Parallel()
	png := uzda.Media{Type: "image/png", Name: "a.png", Data: []byte("\x89PNG\r\n\x1a\n")}
	wav := uzda.Media{Type: "audio/wav", Data: []byte("WAV")}
	pdf := uzda.Media{Type: "application/pdf", Name: "a.pdf", Data: []byte("PDF")}
	use := func(id, wire string) uzda.ToolUse {
		return uzda.ToolUse{ID: uzda.UseID(id), Wire: wire, Name: "look", Input: json.RawMessage(`{"n":1}`)}
	}
	res := func(id string, isError bool, bs ...uzda.Block) uzda.ToolResult {
		return uzda.ToolResult{Use: uzda.UseID(id), Blocks: bs, IsError: isError}
	}
	text := func(s string) uzda.Block { return uzda.Text{Text: s} }
	foreign := said(uzda.Thinking{Text: "hm", Signature: "S"}, text("I look."), uzda.Opaque{Origin: "anthropic", Raw: json.RawMessage(`{"x":1}`)}, use("3.1", "toolu_01A"))
	foreign.Origin = &uzda.Origin{Profile: "anthropic", Model: "claude"}
	foreign.Items = []uzda.Item{{Blocks: 4, Raw: json.RawMessage(`{"role":"assistant","content":"secret form"}`)}}
	call := `{"role":"assistant","content":null,"tool_calls":[{"id":"call_3_1","type":"function","function":{"name":"look","arguments":"{\"n\":1}"}}]}`
	for _, c := range []struct {
		name    string
		profile openai.Profile
		view    *uzda.Request
		want    string
	}{
		{"texts", openai.Profile{}, view(user(text("one"), text("two \xff \u2028 <b>"))), `[{"role":"user","content":"one\ntwo \ufffd ` + "\u2028" + ` <b>"}]`},
		{"media", openai.Profile{}, view(user(text("see"), png, wav, pdf, uzda.Media{Type: "text/csv", Name: "t.csv", Data: []byte("a,b")}, uzda.Media{Type: "image/tiff", Data: []byte("T")}, uzda.Media{Type: "image/png"}, uzda.Media{Type: "image/png", Data: []byte("<html>")})),
			`[{"role":"user","content":[{"type":"text","text":"see"},{"type":"image_url","image_url":{"url":"data:image/png;base64,iVBORw0KGgo="}},{"type":"input_audio","input_audio":{"format":"wav","data":"V0FW"}},{"type":"file","file":{"filename":"a.pdf","file_data":"data:application/pdf;base64,UERG"}},{"type":"text","text":"[t.csv (text/csv):]\na,b"},{"type":"text","text":"[image/tiff, 1 bytes, was left out: it is no picture that the model can read]"},{"type":"text","text":"[image/png was left out: it is empty]"},{"type":"text","text":"[image/png, 6 bytes, was left out: it is no picture that the model can read]"}]}]`}, // peer:25
		{"media that a service does not take", openai.DeepSeek(), view(user(text("see"), png)), `[{"role":"user","content":"see\n[a.png (image/png), 8 bytes, was left out: it can't be sent to this model]"}]`},
		{"results, one with a picture, one an error", openai.Profile{}, view(user(text("go")), said(use("3.1", ""), use("3.2", "w2")), user(res("3.1", false, text("here:"), png), res("3.2", true, text("no such file")), text("and now?"))),
			`[{"role":"user","content":"go"},{"role":"assistant","content":null,"tool_calls":[{"id":"call_3_1","type":"function","function":{"name":"look","arguments":"{\"n\":1}"}},{"id":"w2","type":"function","function":{"name":"look","arguments":"{\"n\":1}"}}]},{"role":"tool","tool_call_id":"call_3_1","content":"here:\n[a.png (image/png): it follows the results]"},{"role":"tool","tool_call_id":"w2","content":"Error: no such file"},{"role":"user","content":[{"type":"text","text":"[a.png (image/png), from the result of call_3_1:]"},{"type":"image_url","image_url":{"url":"data:image/png;base64,iVBORw0KGgo="}},{"type":"text","text":"and now?"}]}]`},
		{"an empty result", openai.Profile{}, view(user(text("go")), said(use("3.1", "")), user(res("3.1", false))), `[{"role":"user","content":"go"},` + call + `,{"role":"tool","tool_call_id":"call_3_1","content":"(no output)"}]`},
		{"another model's message", openai.Profile{}, view(user(text("go")), foreign, user(res("3.1", false, text("ok")))), // case:T17
			`[{"role":"user","content":"go"},{"role":"assistant","content":"I look.","tool_calls":[{"id":"toolu_01A","type":"function","function":{"name":"look","arguments":"{\"n\":1}"}}]},{"role":"tool","tool_call_id":"toolu_01A","content":"ok"}]`},
		{"another model's message, at Mistral", openai.Mistral(), view(user(text("go")), foreign, user(res("3.1", false, text("ok"))), user(text("more"))),
			`[{"role":"user","content":"go"},{"role":"assistant","content":"I look.","tool_calls":[{"id":"NINE","type":"function","function":{"name":"look","arguments":"{\"n\":1}"}}]},{"role":"tool","tool_call_id":"NINE","content":"ok"},{"role":"assistant","content":"I have read the results."},{"role":"user","content":"more"}]`},
		{"another model's message, at Gemini", openai.Gemini(), view(user(text("go")), foreign, user(res("3.1", false, text("ok")))),
			`[{"role":"user","content":"go"},{"role":"assistant","content":"I look.","tool_calls":[{"id":"toolu_01A","type":"function","function":{"name":"look","arguments":"{\"n\":1}"},"extra_content":{"google":{"thought_signature":"skip_thought_signature_validator"}}}]},{"role":"tool","tool_call_id":"toolu_01A","content":"ok"}]`},
		{"nothing left", openai.Profile{}, view(user(text("go")), said(uzda.Thinking{Text: "hm"}), said(text(" ")), user(text("on"))), `[{"role":"user","content":"go"},{"role":"user","content":"on"}]`},
		{"nobody else's words", openai.Perplexity(), view(user(text("go")), user(text("on")), user(png)), `[{"role":"user","content":[{"type":"text","text":"go"},{"type":"text","text":"on"},{"type":"image_url","image_url":{"url":"data:image/png;base64,iVBORw0KGgo="}}]}]`},
		{"names that can't go back", openai.Profile{}, view(user(text("go")), said(uzda.ToolUse{ID: "3.1", Name: "a b?", Input: json.RawMessage("{}")}), user(res("3.1", true, text("error: unknown")))),
			`[{"role":"user","content":"go"},{"role":"assistant","content":null,"tool_calls":[{"id":"call_3_1","type":"function","function":{"name":"a_b_","arguments":"{}"}}]},{"role":"tool","tool_call_id":"call_3_1","content":"error: unknown"}]`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.view.Head.System = ""
			body, _ := sent(t, c.profile, c.view)
			got := member(t, body, "messages")
			if at := strings.Index(c.want, "NINE"); at > 0 { // made up, and the same twice
				c.want = strings.ReplaceAll(c.want, "NINE", got[at:at+9])
			}
			if got != c.want {
				t.Errorf("the messages are\n%s, not\n%s", got, c.want)
			}
		})
	}
}

// Where a service is, and how it is told the key.
func TestPlaces(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		m    openai.Model
		env  map[string]string
		url  string
		auth string // header and value
		err  string
	}{
		{"OpenAI", openai.Model{}, map[string]string{"OPENAI_API_KEY": "k"}, "https://api.openai.com/v1/chat/completions", "Authorization: Bearer k", ""},
		{"no key", openai.Model{}, nil, "", "", "there is no key for OpenAI"},
		{"a base of the environment", openai.Model{}, map[string]string{"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": "https://gate.example/openai/v1/"}, "https://gate.example/openai/v1/chat/completions", "Authorization: Bearer k", ""},
		{"a base of our own sees no key of the environment", openai.Model{Base: "https://else.example"}, map[string]string{"OPENAI_API_KEY": "k"}, "https://else.example/v1/chat/completions", "", ""},
		{"a base of our own with a key", openai.Model{Base: "https://else.example/v1/chat/completions", Key: "mine"}, nil, "https://else.example/v1/chat/completions", "Authorization: Bearer mine", ""},
		{"Groq", openai.Model{Profile: openai.Groq(), Key: "k"}, nil, "https://api.groq.com/openai/v1/chat/completions", "Authorization: Bearer k", ""},
		{"Gemini's second key", openai.Model{Profile: openai.Gemini()}, map[string]string{"GOOGLE_API_KEY": "g"}, "https://generativelanguage.googleapis.com/v1beta/openai/chat/completions", "Authorization: Bearer g", ""},
		{"Azure", openai.Model{Profile: openai.Azure()}, map[string]string{"AZURE_OPENAI_API_KEY": "z", "AZURE_OPENAI_ENDPOINT": "https://r.openai.azure.com/"}, "https://r.openai.azure.com/openai/deployments/m/chat/completions?api-version=2024-10-21", "Api-Key: z", ""},
		{"Azure with a version", openai.Model{Profile: openai.Azure(), Key: "z", Base: "https://r.services.ai.azure.com/models", Version: "2024-05-01-preview"}, nil, "https://r.services.ai.azure.com/models/chat/completions?api-version=2024-05-01-preview", "Api-Key: z", ""},
		{"Azure's newer way", openai.Model{Profile: openai.Azure(), Key: "z", Base: "https://r.openai.azure.com/openai/v1"}, nil, "https://r.openai.azure.com/openai/v1/chat/completions", "Api-Key: z", ""},
		{"Azure without an endpoint", openai.Model{Profile: openai.Azure(), Key: "z"}, nil, "", "", "there is no base URL for Azure OpenAI"},
		{"Ollama", openai.Model{Profile: openai.OllamaCompat()}, nil, "http://127.0.0.1:11434/v1/chat/completions", "", ""},
		{"Ollama's host", openai.Model{Profile: openai.OllamaCompat()}, map[string]string{"OLLAMA_HOST": "0.0.0.0"}, "http://127.0.0.1:11434/v1/chat/completions", "", ""},
		{"Ollama's host with a port", openai.Model{Profile: openai.OllamaCompat()}, map[string]string{"OLLAMA_HOST": "box:9"}, "http://box:9/v1/chat/completions", "", ""},
		{"any other", openai.Model{Profile: openai.Custom(), Base: "https://x.example/api"}, nil, "https://x.example/api/chat/completions", "", ""},
		{"no base", openai.Model{Profile: openai.Custom()}, nil, "", "", "there is no base URL for the service"},
		{"no URL", openai.Model{Profile: openai.Custom(), Base: "https://%zz"}, nil, "", "", "can't be used"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var at, auth string
			c.m.ID, c.m.Tries, c.m.Env = "m", 1, func(name string) string { return c.env[name] }
			c.m.HTTP = &http.Client{Transport: trip(func(r *http.Request) {
				at = r.URL.String()
				for _, k := range []string{"Authorization", "Api-Key"} {
					if v := r.Header.Get(k); v != "" {
						auth += k + ": " + v
					}
				}
			})}
			_, _, err := ask(t, c.m, hello())
			if c.err != "" {
				var e *uzda.ProviderError
				if !errors.As(err, &e) || !strings.Contains(e.Message, c.err) || e.Hint == "" {
					t.Errorf("the error is %v", err)
				}
				return
			}
			if at != c.url || auth != c.auth {
				t.Errorf("%s with %q, not %s with %q", at, auth, c.url, c.auth)
			}
		})
	}
}

// trip looks at a request and fails.
type trip func(*http.Request)

func (f trip) RoundTrip(r *http.Request) (*http.Response, error) {
	f(r)
	return nil, errors.New("the test ends here")
}
