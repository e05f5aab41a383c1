package modeltest_test

import (
	"strings"
	"testing"

	"github.com/uzda-dev/uzda/model/modeltest"
)

// Chat Completions takes what is right, and names what is not.
func TestCheckChat(t *testing.T) {
	t.Parallel()
	const (
		tools = `"tools":[{"type":"function","function":{"name":"add","parameters":{"type":"object","properties":{"a":{"type":"number"}}}}}]`
		call  = `{"id":"call_1","type":"function","function":{"name":"add","arguments":"{\"a\":1}"}}`
		uses  = `{"role":"assistant","content":null,"tool_calls":[` + call + `]}`
		res   = `{"role":"tool","tool_call_id":"call_1","content":"2"}`
	)
	talk := func(messages string) string { return `{"model":"m",` + tools + `,"messages":[` + messages + `]}` }
	one := func(members string) string { return `{"model":"m","messages":[` + hi + `]` + members + `}` }
	user := func(part string) string { return talk(`{"role":"user","content":[` + part + `]}`) }
	with := func(call string) string {
		return talk(hi + `,{"role":"assistant","tool_calls":[` + call + `]},` + res)
	}
	cfg := modeltest.Config{Turns: []modeltest.Turn{{
		Thinking: "I see \U0001F389.", Calls: []modeltest.Call{{Name: "add", Extra: []byte(`{"extra_content":{"sig":"a"}}`)}},
		Extra: []byte(`{"annotations":[{"b":1,"a":"x"}]}`),
	}}}
	check(t, "/openai/v1/chat/completions", cfg, []checked{
		{name: "right", body: talk(hi)},
		{name: "right calls", body: talk(`{"role":"system","content":"x"},` + hi + "," + uses + "," + res + "," + hi)},
		{name: "right own members", body: talk(hi + `,{"role":"assistant","content":"x","reasoning_content":"I see ` + "\U0001F389" + `.","annotations":[{"a":"x","b":1,"c":null}]},` + hi)},
		{name: "right own member of a call", body: with(strings.TrimSuffix(call, "}") + `,"extra_content":{"sig":"a"}}`)},
		{name: "right empty result", body: talk(hi + "," + uses + `,{"role":"tool","tool_call_id":"call_1","content":""}`)},
		{name: "right empty content with calls", body: talk(hi + "," + strings.Replace(uses, "null", `""`, 1) + "," + res)},
		{name: "right picture", body: user(`{"type":"image_url","image_url":{"url":"data:image/png;base64,` + png + `"}}`)},
		{name: "right parts", body: user(`{"type":"text","text":"x"}`)},
		{name: "right stream", body: one(`,"stream":true,"stream_options":{"include_usage":true},"max_completion_tokens":9`)},
		{name: "right format", body: one(`,"response_format":{"type":"json_schema","json_schema":{"name":"x","strict":true,"schema":{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"additionalProperties":false}}}`)},
		{name: "right azure key", body: talk(hi), headers: []string{"X-Api-Key", "", "Api-Key", "k"}},

		{name: "right picture elsewhere", body: user(`{"type":"image_url","image_url":{"url":"https://example.org/x.png"}}`)},
		{name: "key", body: talk(hi), want: "no API key", headers: []string{"X-Api-Key", "", "Authorization", "Basic x"}},
		{name: "no JSON", body: `{"model":"m","messages":[}`, want: "the body is no JSON"},
		{name: "repeated key", body: one(`,"stream":true,"stream":false`), want: `the key "stream" stands twice`},
		{name: "lone surrogate", body: talk(`{"role":"user","content":"\udf89\ud83c"}`), want: "half of a surrogate pair"},
		{name: "bad UTF-8", body: talk("{\"role\":\"user\",\"content\":\"\xc5\"}"), want: "not UTF-8"},
		{name: "no model", body: `{"messages":[` + hi + `]}`, want: "model is missing"},
		{name: "unknown member", body: one(`,"thinking":{}`), want: `the member "thinking"`},
		{name: "two limits", body: one(`,"max_tokens":1,"max_completion_tokens":1`), want: "limits the reply a second time"},
		{name: "stream_options", body: one(`,"stream_options":{"include_usage":true}`), want: "stream_options stands without stream"},
		{name: "no messages", body: `{"model":"m"}`, want: "messages is missing"},
		{name: "role", body: talk(`{"role":"human","content":"x"}`), want: `the role is "human"`},
		{name: "first", body: talk(`{"role":"system","content":"x"},{"role":"assistant","content":"x"},` + hi), want: "the first message behind the system's is not the user's"},
		{name: "late system", body: talk(hi + `,{"role":"system","content":"x"},` + hi), want: "stands behind others"},
		{name: "trailing assistant", body: talk(hi + `,{"role":"assistant","content":"x"}`), want: "the last message is the assistant's"},
		{name: "empty", body: talk(`{"role":"user","content":""}`), want: "its text is empty"},
		{name: "null user", body: talk(`{"role":"user","content":null}`), want: "its content is null"},
		{name: "null assistant", body: talk(hi + `,{"role":"assistant","content":null},` + hi), want: "null without tool_calls"},
		{name: "silent assistant", body: talk(hi + `,{"role":"assistant","content":""},` + hi), want: "says nothing and calls nothing"},
		{name: "empty parts", body: talk(`{"role":"user","content":[]}`), want: "its content is empty"},
		{name: "part", body: user(`{"type":"image","source":{}}`), want: `its type is "image"`},
		{name: "member of a part", body: user(`{"type":"text","text":"x","cache_control":{"type":"ephemeral"}}`), want: `the member "cache_control"`},
		{name: "foreign reasoning", body: talk(hi + `,{"role":"assistant","content":"x","reasoning_content":"I saw."},` + hi), want: `the member "reasoning_content"`},
		{name: "reasoning in other escapes", body: talk(hi + `,{"role":"assistant","content":"x","reasoning_content":"I see \ud83c\udf89."},` + hi), want: `the member "reasoning_content"`},
		{name: "reasoning under another name", body: talk(hi + `,{"role":"assistant","content":"x","reasoning":"I see ` + "\U0001F389" + `."},` + hi), want: `the member "reasoning"`},
		{name: "thinking chunk", body: talk(hi + `,{"role":"assistant","content":[{"type":"thinking","thinking":[{"type":"text","text":"made up"}]}]},` + hi), want: "its thinking is not as this server sent it"},
		{name: "changed member", body: talk(hi + `,{"role":"assistant","content":"x","annotations":[{"b":2,"a":"x"}]},` + hi), want: `the member "annotations"`},

		{name: "no result", body: talk(hi + "," + uses + "," + hi), want: `the call "call_1" has no result directly after it`},
		{name: "no result at the end", body: talk(hi + "," + uses), want: `the call "call_1" has no result`},
		{name: "second result", body: talk(hi + "," + uses + "," + res + "," + res), want: "is answered twice"},
		{name: "late result", body: talk(hi + "," + uses + "," + hi + "," + res), want: "not by the message after it"},
		{name: "orphan", body: talk(hi + "," + res), want: `there is no call "call_1"`},
		{name: "repeated id", body: talk(hi + "," + uses + "," + res + "," + uses + "," + res), want: `its id "call_1" was used before`},
		{name: "empty id", body: with(strings.Replace(call, "call_1", "", 1)), want: "its id is missing"},
		{name: "long id", body: with(strings.Replace(call, "call_1", strings.Repeat("x", 65), 1)), want: "its id has 65 bytes"},
		{name: "no type", body: with(strings.Replace(call, `"type":"function",`, "", 1)), want: "its type is"},
		{name: "name", body: with(strings.Replace(call, `"add"`, `"a/b"`, 1)), want: `its name "a/b" is none`},
		{name: "arguments object", body: with(strings.Replace(call, `"{\"a\":1}"`, `{"a":1}`, 1)), want: "its arguments are no string"},
		{name: "arguments empty", body: with(strings.Replace(call, `"{\"a\":1}"`, `""`, 1)), want: `its arguments "" are no JSON object`},
		{name: "arguments cut", body: with(strings.Replace(call, `"{\"a\":1}"`, `"{\"a\":"`, 1)), want: "are no JSON object"}, // case:L03
		{name: "arguments list", body: with(strings.Replace(call, `"{\"a\":1}"`, `"[]"`, 1)), want: "are no JSON object"},
		{name: "arguments twice", body: with(strings.Replace(call, `"{\"a\":1}"`, `"{\"a\":1,\"a\":2}"`, 1)), want: `the key "a" stands twice`},
		{name: "index", body: with(strings.TrimSuffix(call, "}") + `,"index":0}`), want: `the member "index"`},
		{name: "empty calls", body: talk(hi + `,{"role":"assistant","content":"x","tool_calls":[]},` + hi), want: "its tool_calls is empty"},

		{name: "empty tools", body: one(`,"tools":[]`), want: "tools is empty"},
		{name: "no function", body: one(`,"tools":[{"type":"custom"}]`), want: "tool 0 is no function"},
		{name: "tool name", body: one(`,"tools":[{"type":"function","function":{"name":"` + strings.Repeat("x", 65) + `","parameters":{"type":"object","properties":{}}}}]`), want: "is none; names match"},
		{name: "choice", body: strings.Replace(talk(hi), `"tools"`, `"tool_choice":{"type":"function","function":{"name":"sub"}},"tools"`, 1), want: `names the tool "sub"`},
		{name: "choice word", body: strings.Replace(talk(hi), `"tools"`, `"tool_choice":"maybe","tools"`, 1), want: `tool_choice is "maybe"`},
		{name: "choice without tools", body: one(`,"tool_choice":"auto"`), want: "tool_choice stands without tools"},
		{name: "parallel without tools", body: one(`,"parallel_tool_calls":false`), want: "parallel_tool_calls stands without tools"},
		{name: "format", body: one(`,"response_format":{"type":"xml"}`), want: "response_format is"},
		{name: "format name", body: one(`,"response_format":{"type":"json_schema","json_schema":{"name":"a b","schema":{"type":"object","properties":{}}}}`), want: `its name "a b" is none`},
		{name: "bad base64", body: user(`{"type":"image_url","image_url":{"url":"data:image/png;base64,!"}}`), want: "its data is not base64"},
		{name: "no base64", body: user(`{"type":"image_url","image_url":{"url":"data:image/png,x"}}`), want: "no data in base64"},
		{name: "no url", body: user(`{"type":"image_url","image_url":{"url":"/tmp/x.png"}}`), want: `its url "/tmp/x.png" is none`},
	})
	check(t, "/openai/deployments/m/chat/completions", cfg, []checked{
		{name: "right deployment", body: `{"messages":[` + hi + `]}`},
		{name: "bad model", body: `{"model":1,"messages":[` + hi + `]}`, want: "model is missing"},
	})
	check(t, "/v1/chat/completions", modeltest.Config{Rules: modeltest.Rules{NineIDs: true, Members: []string{"safe_prompt"}}}, []checked{
		{name: "right nine", body: strings.ReplaceAll(talk(hi+","+uses+","+res), "call_1", "abcDEF123")},
		{name: "right member", body: one(`,"safe_prompt":true`)},
		{name: "other ids", body: talk(hi + "," + uses + "," + res), want: `its id "call_1" is none`},
	})
}

// What the model thought, and what signs it, goes back inside of a turn where the
// service wants that.
func TestCheckEcho(t *testing.T) {
	t.Parallel()
	cfg := modeltest.Config{
		Loop: true, Rules: modeltest.Rules{Echo: true},
		Turns: []modeltest.Turn{{Thinking: "hm", Calls: []modeltest.Call{{ID: "c1", Name: "add", Extra: []byte(`{"extra_content":{"sig":"a"}}`)}}}},
	}
	s := modeltest.NewServer(cfg)
	defer s.Close()
	talk := func(thinking, extra, after string) string {
		return `{"model":"m","tools":[{"type":"function","function":{"name":"add","parameters":{"type":"object","properties":{}}}}],"messages":[` + hi +
			`,{"role":"assistant","content":null,` + thinking + `"tool_calls":[{"id":"c1","type":"function","function":{"name":"add","arguments":"{}"}` + extra + `}]},{"role":"tool","tool_call_id":"c1","content":"2"}` + after + `]}`
	}
	post(t, s.URL+"/v1/chat/completions", `{"model":"m","messages":[`+hi+`]}`)
	const thinking, extra = `"reasoning_content":"hm",`, `,"extra_content":{"sig":"a"}`
	for _, c := range []struct{ body, want string }{
		{talk(thinking, extra, ""), ""},
		{talk("", extra, ""), `the member "reasoning_content" that came with the call "c1"`},
		{talk(thinking, "", ""), `the member "extra_content" that came with the call "c1"`},
		{talk("", "", ","+hi), ""}, // the turn is over
	} {
		got := strings.ReplaceAll(post(t, s.URL+"/v1/chat/completions", c.body).body, `\"`, `"`)
		if c.want == "" {
			contains(t, got, `"finish_reason":"tool_calls"`)
		} else {
			contains(t, got, c.want)
		}
	}
}

// Ollama takes what is right, and names what is not.
func TestCheckOllama(t *testing.T) {
	t.Parallel()
	const (
		tools = `"tools":[{"type":"function","function":{"name":"add","parameters":{"type":"object","properties":{}}}}]`
		call  = `{"function":{"name":"add","arguments":{"a":1}}}`
		uses  = `{"role":"assistant","content":"","tool_calls":[` + call + `]}`
		res   = `{"role":"tool","tool_name":"add","content":"2"}`
	)
	talk := func(messages string) string { return `{"model":"m",` + tools + `,"messages":[` + messages + `]}` }
	one := func(members string) string { return `{"model":"m","messages":[` + hi + `]` + members + `}` }
	cfg := modeltest.Config{Turns: []modeltest.Turn{{Thinking: "hm", Text: "yes"}}}
	check(t, "/api/chat", cfg, []checked{
		{name: "right", body: talk(hi)},
		{name: "right calls", body: talk(`{"role":"system","content":"x"},` + hi + "," + uses + "," + res)},
		{name: "right ids", body: talk(hi + `,{"role":"assistant","tool_calls":[{"id":"a","function":{"name":"add","arguments":{}}},{"id":"b","function":{"index":1,"name":"add","arguments":{}}}]},{"role":"tool","tool_call_id":"b","content":""},{"role":"tool","tool_call_id":"a","content":""}`)},
		{name: "right options", body: one(`,"options":{"num_ctx":8192,"num_predict":9},"think":"high","format":{"type":"object"},"keep_alive":"5m","stream":false`)},
		{name: "right thinking", body: talk(hi + `,{"role":"assistant","content":"x","thinking":"hm"},` + hi)},
		{name: "right picture", body: talk(`{"role":"user","content":"","images":["` + png + `"]}`)},
		{name: "right without a key", body: talk(hi), headers: []string{"X-Api-Key", ""}},

		{name: "unknown member", body: one(`,"max_tokens":1`), want: `the member "max_tokens"`},
		{name: "options", body: one(`,"options":[]`), want: "options is no object"},
		{name: "num_ctx", body: one(`,"options":{"num_ctx":"8k"}`), want: `options.num_ctx is "8k"`},
		{name: "format", body: one(`,"format":"xml"`), want: "format is neither"},
		{name: "think", body: one(`,"think":"hard"`), want: `think is "hard"`},
		{name: "parts", body: talk(`{"role":"user","content":[]}`), want: "its content is no string"},
		{name: "empty", body: talk(`{"role":"user","content":""}`), want: "its text is empty"},
		{name: "role", body: talk(`{"role":"developer","content":"x"}`), want: `the role is "developer"`},
		{name: "late system", body: talk(hi + `,{"role":"system","content":"x"}`), want: "stands behind others"},
		{name: "first", body: talk(`{"role":"assistant","content":"x"},` + hi), want: "is not the user's"},
		{name: "trailing assistant", body: talk(hi + `,{"role":"assistant","content":"x"}`), want: "the last message is the assistant's"},
		{name: "silent assistant", body: talk(hi + `,{"role":"assistant","content":""},` + hi), want: "says nothing and calls nothing"},
		{name: "foreign thinking", body: talk(hi + `,{"role":"assistant","content":"x","thinking":"ha"},` + hi), want: `the member "thinking"`},
		{name: "arguments", body: talk(hi + "," + strings.Replace(uses, `{"a":1}`, `"{}"`, 1) + "," + res), want: "its arguments are no object"},
		{name: "no result", body: talk(hi + "," + uses + "," + hi), want: "have no results directly after them"},
		{name: "orphan", body: talk(hi + "," + res), want: "answers no call"},
		{name: "other name", body: talk(hi + "," + uses + "," + strings.Replace(res, "add", "sub", 1)), want: `answers "sub", but the next call is of "add"`},
		{name: "nameless", body: talk(hi + "," + uses + `,{"role":"tool","content":"2"}`), want: "says neither the name nor the id"},
		{name: "image", body: talk(`{"role":"user","content":"x","images":["!"]}`), want: "is not base64"},
		{name: "no function", body: one(`,"tools":[{"name":"add"}]`), want: "tool 0 is no function"},
	})
}
