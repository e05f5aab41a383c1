package modeltest_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/uzda-dev/uzda/model/modeltest"
)

// tool is a tool as Messages has it.
const tool = `{"name":"add","description":"adds","input_schema":{"type":"object","properties":{"a":{"type":"number"}}}}`

// A case is a request and what is wrong with it; "" if nothing.
type checked struct {
	name, body, want string
	headers          []string
}

// check sends each request to a server of its own.
func check(t *testing.T, path string, cfg modeltest.Config, cases []checked) {
	t.Helper()
	if cfg.Turns == nil {
		cfg.Turns = []modeltest.Turn{{Text: "yes"}}
	}
	cfg.Loop = true
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := modeltest.NewServer(cfg)
			defer s.Close()
			got := post(t, s.URL+path, c.body, c.headers...)
			faults := strings.Join(s.Faults(), "\n")
			if c.want == "" {
				if got.status != http.StatusOK || faults != "" {
					t.Errorf("a right request was refused: %d %s\n%s\n%s", got.status, got.body, faults, c.body)
				}
				return
			}
			if got.status < 400 || !strings.Contains(faults, c.want) || !strings.Contains(strings.ReplaceAll(got.body, `\"`, `"`), c.want) {
				t.Errorf("no fault %q, but %d %s\n%s\n%s", c.want, got.status, got.body, faults, c.body)
			}
		})
	}
}

// talk is a request to Messages of these messages.
func talk(messages string) string {
	return `{"model":"m","max_tokens":2000,"tools":[` + tool + `],"messages":[` + messages + `]}`
}

const (
	hi  = `{"role":"user","content":"hi"}`
	use = `{"type":"tool_use","id":"toolu_1","name":"add","input":{"a":1}}`
	ask = `{"role":"assistant","content":[` + use + `]}`
	got = `{"type":"tool_result","tool_use_id":"toolu_1","content":"2"}`
	res = `{"role":"user","content":[` + got + `]}`
	png = "iVBORw0KGgo="
)

// Requests to Messages, and parts of them.

func oneMessage(members string) string {
	return `{"model":"m","max_tokens":2000,"messages":[` + hi + `]` + members + `}`
}

func userSays(block string) string { return talk(`{"role":"user","content":[` + block + `]}`) }

func modelSays(blocks string) string { return `{"role":"assistant","content":[` + blocks + `]}` }

func markedText(ttl string) string {
	return `{"type":"text","text":"x","cache_control":{"type":"ephemeral"` + ttl + `}}`
}

func thought(model, signed, text string) string {
	return `{"type":"thinking","thinking":"` + text + `","signature":"` + modeltest.NewHandler(modeltest.Config{}).Sign(model, signed) + `"}`
}

// Messages takes what is right, and names what is not.
func TestCheckMessages(t *testing.T) {
	t.Parallel()
	searched := `{"type":"server_tool_use","id":"srv_1","name":"web_search","input":{"q":"x"}}`
	cited := `{"type":"text","text":"x","citations":[{"n":1}]}`
	cfg := modeltest.Config{
		Turns: []modeltest.Turn{{Parts: []modeltest.Part{{Raw: []byte(cited)}, {Raw: []byte(searched)}}, Stop: "pause_turn"}},
		Shape: modeltest.Shape{Extra: true},
	}
	check(t, "/v1/messages", cfg, []checked{
		{name: "right", body: talk(hi)},
		{name: "right calls", body: talk(hi + "," + ask + "," + res)},
		{name: "right many", body: talk(hi + "," + modelSays(use+`,{"type":"tool_use","id":"b-2","name":"gone","input":{}}`) +
			`,{"role":"user","content":[{"type":"tool_result","tool_use_id":"b-2","is_error":true},` + got + `,{"type":"text","text":"and now?"}]}`)},
		{name: "right thinking", body: talk(hi + "," + modelSays(thought("m", "I see.", "I see.")+","+use) + "," + res)},
		{name: "right opaque and pause", body: talk(hi + "," + modelSays(searched))},
		{name: "right citations", body: talk(hi + "," + modelSays(cited) + "," + hi)},
		{name: "foreign citations", body: talk(hi + "," + modelSays(strings.Replace(cited, "1", "2", 1)) + "," + hi), want: `the member "citations"`},
		{name: "right unknown member of its own", body: talk(hi + "," + modelSays(`{"type":"text","text":"x","zz_new":{"kept":true}}`) + "," + hi)},
		{name: "right picture", body: userSays(`{"type":"image","source":{"type":"base64","media_type":"image/png","data":"` + png + `"}}`)},
		{name: "right system and markers", body: oneMessage(`,"system":[` + markedText(`,"ttl":"1h"`) + `,` + markedText("") + `]`)},
		{name: "right thinking set", body: oneMessage(`,"thinking":{"type":"enabled","budget_tokens":1024},"tools":[` + tool + `],"tool_choice":{"type":"auto"}`)},
		{name: "right server tool", body: oneMessage(`,"tools":[{"type":"web_search_20260318","name":"web_search"}]`)},
		{name: "right by bearer", body: talk(hi), headers: []string{"X-Api-Key", "", "Authorization", "Bearer k"}},

		{name: "key", body: talk(hi), want: "no API key", headers: []string{"X-Api-Key", ""}},
		{name: "version", body: talk(hi), want: "anthropic-version is missing", headers: []string{"Anthropic-Version", ""}},
		{name: "content type", body: talk(hi), want: "the content type is", headers: []string{"Content-Type", "text/plain"}},
		{name: "no JSON", body: `{"model":`, want: "the body is no JSON"},
		{name: "no object", body: `[]`, want: "no JSON object"},
		{name: "deep", body: strings.Repeat("[", 300), want: "nests too deep"},
		{name: "many values", body: "[" + strings.Repeat("[],", 1<<18) + "[]]", want: "too many values"},
		{name: "repeated key", body: `{"model":"m","model":"m","max_tokens":9,"messages":[` + hi + `]}`, want: `the key "model" stands twice`},
		{name: "lone surrogate", body: talk(`{"role":"user","content":"\ud83c"}`), want: "half of a surrogate pair"},
		{name: "bad UTF-8", body: talk("{\"role\":\"user\",\"content\":\"\xff\"}"), want: "not UTF-8"},
		{name: "no model", body: `{"max_tokens":9,"messages":[` + hi + `]}`, want: "model is missing"},
		{name: "no max_tokens", body: `{"model":"m","messages":[` + hi + `]}`, want: "max_tokens is missing"},
		{name: "bad max_tokens", body: `{"model":"m","max_tokens":-1,"messages":[` + hi + `]}`, want: "max_tokens is -1"},
		{name: "bad stream", body: oneMessage(`,"stream":"yes"`), want: "stream is neither"},
		{name: "unknown member", body: oneMessage(`,"max_token":1`), want: `the member "max_token"`},
		{name: "no messages", body: `{"model":"m","max_tokens":9,"messages":[]}`, want: "messages is missing"},
		{name: "role", body: talk(hi + `,{"role":"tool","content":"x"}`), want: `the role is "tool"`},
		{name: "first", body: talk(modelSays(`{"type":"text","text":"x"}`) + "," + hi), want: "the first message is not the user's"},
		{name: "empty string", body: talk(`{"role":"user","content":""}`), want: "its text is empty"},
		{name: "empty text", body: userSays(`{"type":"text","text":" \n"}`), want: "its text is empty"},
		{name: "empty content", body: talk(`{"role":"user","content":[]}`), want: "its content is empty"},
		{name: "no content", body: talk(`{"role":"user"}`), want: "its content is missing"},
		{name: "unknown block", body: userSays(`{"type":"texts","text":"x"}`), want: `a block of type "texts" of user was not sent`},
		{name: "foreign opaque", body: talk(hi + "," + modelSays(`{"type":"server_tool_use","id":"srv_1","name":"web_search","input":{"q":"y"}}`) + "," + hi), want: "was not sent by this server"},
		{name: "reordered opaque", body: talk(hi + "," + modelSays(`{"id":"srv_1","type":"server_tool_use","name":"web_search","input":{"q":"x"}}`) + "," + hi), want: "was not sent by this server"},
		{name: "changed member", body: talk(hi + "," + modelSays(`{"type":"text","text":"x","zz_new":{"kept":false}}`) + "," + hi), want: `the member "zz_new"`},
		{name: "member of a message", body: talk(`{"role":"user","content":"hi","name":"x"}`), want: `the member "name"`},
		{name: "trailing assistant", body: talk(hi + "," + modelSays(`{"type":"text","text":"x"}`)), want: "the last message is the assistant's"},
		{name: "no result", body: talk(hi + "," + ask + "," + hi), want: `the call "toolu_1" has no result`},
		{name: "no result at the end", body: talk(hi + "," + ask), want: `the call "toolu_1" has no result`},
		{name: "one of two results", body: talk(hi + "," + modelSays(use+`,{"type":"tool_use","id":"b","name":"add","input":{}}`) + "," + res), want: `the call "b" has no result`},
		{name: "late result", body: talk(hi + "," + ask + "," + hi + "," + res), want: "answered twice, or not by the message after it"},
		{name: "second result", body: talk(hi + "," + ask + `,{"role":"user","content":[` + got + "," + got + `]}`), want: "is answered twice"},
		{name: "orphan", body: talk(hi + "," + res), want: `there is no call "toolu_1"`},
		{name: "result second", body: talk(hi + "," + ask + `,{"role":"user","content":[{"type":"text","text":"x"},` + got + `]}`), want: "results come first"},
		{name: "result of the assistant", body: talk(hi + "," + modelSays(got) + "," + hi), want: `of type "tool_result" of assistant`},
		{name: "repeated id", body: talk(hi + "," + ask + "," + res + "," + ask + "," + res), want: `its id "toolu_1" was used before`},
		{name: "bad id", body: talk(hi + "," + modelSays(`{"type":"tool_use","id":"a.b","name":"add","input":{}}`) + `,{"role":"user","content":[{"type":"tool_result","tool_use_id":"a.b"}]}`), want: `its id "a.b" is none`},
		{name: "bad name of a call", body: talk(hi + "," + modelSays(`{"type":"tool_use","id":"a","name":"a b","input":{}}`) + `,{"role":"user","content":[{"type":"tool_result","tool_use_id":"a"}]}`), want: `its name "a b" is none`},
		{name: "input", body: talk(hi + "," + modelSays(`{"type":"tool_use","id":"toolu_1","name":"add","input":"{}"}`) + "," + res), want: "its input is no object"},
		{name: "no tools", body: `{"model":"m","max_tokens":9,"messages":[` + hi + "," + ask + "," + res + `]}`, want: "there are calls or results and no tools"},
		{name: "empty text in a result", body: talk(hi + "," + ask + `,{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":[{"type":"text","text":""}]}]}`), want: "its text is empty"},
		{name: "is_error", body: talk(hi + "," + ask + `,{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","is_error":"no"}]}`), want: "is_error is neither"},
	})
}

// So is thinking, and so are cache markers, pictures, tools and answers with a schema.
func TestCheckMessagesMore(t *testing.T) {
	t.Parallel()
	check(t, "/v1/messages", modeltest.Config{}, []checked{
		{name: "unsigned thinking", body: talk(hi + "," + modelSays(`{"type":"thinking","thinking":"x"},`+use) + "," + res), want: "its signature is none"},
		{name: "changed thinking", body: talk(hi + "," + modelSays(thought("m", "I see.", "I saw.")+","+use) + "," + res), want: "its signature is none"},
		{name: "thinking of another model", body: talk(hi + "," + modelSays(thought("n", "I see.", "I see.")+","+use) + "," + res), want: "its signature is none that this server gave this thinking of m"},
		{name: "marked thinking", body: talk(hi + "," + modelSays(strings.TrimSuffix(thought("m", "x", "x"), "}")+`,"cache_control":{"type":"ephemeral"}},`+use) + "," + res), want: "thinking has a cache marker"},
		{name: "thinking lost in a turn", body: strings.Replace(talk(hi+","+ask+","+res), `"tools"`, `"thinking":{"type":"enabled","budget_tokens":1024},"tools"`, 1), want: "the message before the results begins with tool_use"},
		{name: "budget", body: oneMessage(`,"thinking":{"type":"enabled","budget_tokens":2000}`), want: "thinking has the budget 2000"},
		{name: "kind of thinking", body: oneMessage(`,"thinking":{"type":"deep"}`), want: "thinking is"},

		{name: "five markers", body: oneMessage(`,"system":[` + markedText("") + "," + markedText("") + "," + markedText("") + "," + markedText("") + "," + markedText("") + `]`), want: "a fifth cache marker"},
		{name: "long after short", body: oneMessage(`,"system":[` + markedText("") + "," + markedText(`,"ttl":"1h"`) + `]`), want: "a cache marker of 1h stands after one of 5m"},
		{name: "unknown marker", body: oneMessage(`,"system":[` + markedText(`,"ttl":"2h"`) + `]`), want: "the cache marker"},
		{name: "system", body: oneMessage(`,"system":[{"type":"image"}]`), want: "block 0 of system is no text"},
		{name: "system empty", body: oneMessage(`,"system":""`), want: "system: its text is empty"},
		{name: "system kind", body: oneMessage(`,"system":1`), want: "system is neither"},

		{name: "bad base64", body: userSays(`{"type":"image","source":{"type":"base64","media_type":"image/png","data":"!"}}`), want: "its data is not base64"},
		{name: "wrong type of picture", body: userSays(`{"type":"image","source":{"type":"base64","media_type":"image/gif","data":"` + png + `"}}`), want: "its data is not image/gif"},
		{name: "unknown type of picture", body: userSays(`{"type":"image","source":{"type":"base64","media_type":"image/bmp","data":"` + png + `"}}`), want: `its type "image/bmp" is none`},
		{name: "source", body: userSays(`{"type":"image","source":{"type":"disk"}}`), want: "its source is"},

		{name: "tool name", body: oneMessage(`,"tools":[{"name":"a.b","input_schema":{"type":"object"}}]`), want: `its name "a.b" is none`},
		{name: "tools of one name", body: oneMessage(`,"tools":[` + tool + "," + tool + `]`), want: `another one has the name "add"`},
		{name: "tools no list", body: oneMessage(`,"tools":{}`), want: "tools is no list"},
		{name: "no schema", body: oneMessage(`,"tools":[{"name":"a"}]`), want: "input_schema is missing"},
		{name: "schema of a list", body: oneMessage(`,"tools":[{"name":"a","input_schema":{"type":"array"}}]`), want: `the type of input_schema is "array", not object`},
		{name: "union on top", body: oneMessage(`,"tools":[{"name":"a","input_schema":{"type":"object","oneOf":[{"type":"object"}]}}]`), want: "input_schema has oneOf at its top"},
		{name: "right format", body: oneMessage(`,"output_config":{"effort":"low","format":{"type":"json_schema","schema":{"type":"object","additionalProperties":false}}}`)},
		{name: "format", body: oneMessage(`,"output_config":{"format":{"type":"json_object"}}`), want: "the format of output_config is"},
		{name: "format open", body: oneMessage(`,"output_config":{"format":{"type":"json_schema","schema":{"type":"object"}}}`), want: "additionalProperties is not false"},
		{name: "property", body: oneMessage(`,"tools":[{"name":"a","input_schema":{"type":"object","properties":{"filter[id]":{}}}}]`), want: `the property "filter[id]"`},
		{name: "choice", body: oneMessage(`,"tools":[` + tool + `],"tool_choice":{"type":"tool","name":"sub"}`), want: `names the tool "sub"`},
		{name: "choice without tools", body: oneMessage(`,"tool_choice":{"type":"auto"}`), want: "tool_choice stands without tools"},
		{name: "kind of choice", body: oneMessage(`,"tools":[` + tool + `],"tool_choice":{"type":"maybe"}`), want: "tool_choice is"},
		{name: "forced choice and thinking", body: oneMessage(`,"tools":[` + tool + `],"tool_choice":{"type":"any"},"thinking":{"type":"enabled","budget_tokens":1024}`), want: "forces a tool while thinking"},
	})
}

// A count is checked like a request, and needs no limit.
func TestCountTokens(t *testing.T) {
	t.Parallel()
	s := modeltest.NewServer(modeltest.Config{})
	defer s.Close()
	got := post(t, s.URL+"/v1/messages/count_tokens", `{"model":"m","messages":[`+hi+`]}`)
	if got.status != http.StatusOK || got.body != `{"input_tokens":8}` {
		t.Errorf("%+v", got)
	}
	got = post(t, s.URL+"/v1/messages/count_tokens", `{"model":"m","max_tokens":1,"messages":[`+hi+`]}`)
	if got.status != http.StatusBadRequest || !strings.Contains(got.body, "max_tokens") {
		t.Errorf("%+v", got)
	}
	if n := len(s.Asks()); n != 0 {
		t.Errorf("%d counts are asks", n)
	}
}

// Prefill lets the assistant speak last.
func TestPrefill(t *testing.T) {
	t.Parallel()
	s := modeltest.Serve(t, modeltest.Config{Rules: modeltest.Rules{Prefill: true}, Turns: []modeltest.Turn{{}}, Loop: true})
	for path, body := range map[string]string{
		"/v1/messages":         talk(hi + `,{"role":"assistant","content":"I"}`),
		"/v1/chat/completions": `{"model":"m","messages":[` + hi + `,{"role":"assistant","content":"I"}]}`,
		"/api/chat":            `{"model":"m","messages":[` + hi + `,{"role":"assistant","content":"I"}]}`,
	} {
		if got := post(t, s.URL+path, body); got.status != http.StatusOK {
			t.Errorf("%s: %+v", path, got)
		}
	}
}
