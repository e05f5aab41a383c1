package modeltest_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/uzda-dev/uzda/model/modeltest"
)

// A reply is what a client got.
type reply struct {
	status int
	header http.Header
	body   string
	err    error // of the body, or of all
}

// post sends a request as all wires want it.
func post(t *testing.T, url, body string, headers ...string) reply {
	t.Helper()
	return call(t, http.MethodPost, url, body, headers...)
}

func call(t *testing.T, method, url, body string, headers ...string) reply {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header = http.Header{"Content-Type": {"application/json"}, "X-Api-Key": {"k"}, "Anthropic-Version": {"2023-06-01"}}
	for i := 0; i < len(headers); i += 2 {
		if req.Header.Set(headers[i], headers[i+1]); headers[i+1] == "" {
			req.Header.Del(headers[i])
		}
	}
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := client.Do(req)
	if err != nil {
		return reply{err: err}
	}
	defer resp.Body.Close()
	var raw bytes.Buffer
	_, err = io.Copy(&raw, resp.Body)
	return reply{resp.StatusCode, resp.Header, raw.String(), err}
}

// A wire is where and how each format is asked for "hi".
var wires = []struct {
	name, path, stream, whole string
}{
	{
		"messages", "/v1/messages", `{"model":"m","max_tokens":10,"messages":[{"role":"user","content":"hi"}],"stream":true}`,
		`{"model":"m","max_tokens":10,"messages":[{"role":"user","content":"hi"}]}`,
	},
	{
		"chat", "/openai/v1/chat/completions", `{"model":"m","messages":[{"role":"user","content":"hi"}],"stream":true,"stream_options":{"include_usage":true}}`,
		`{"model":"m","messages":[{"role":"user","content":"hi"}]}`,
	},
	{
		"ollama", "/api/chat", `{"model":"m","messages":[{"role":"user","content":"hi"}]}`,
		`{"model":"m","messages":[{"role":"user","content":"hi"}],"stream":false}`,
	},
}

func contains(t *testing.T, got string, want ...string) {
	t.Helper()
	for _, w := range want {
		if !strings.Contains(got, w) {
			t.Errorf("%q is not in\n%s", w, got)
		}
	}
}

// All wires answer the same turns, whole and as streams.
func TestTurns(t *testing.T) {
	t.Parallel()
	turn := modeltest.Turn{
		Thinking: "I must \"look\".", Text: "Hello, wörld. 🎉 This is a text of more than one delta.",
		Calls: []modeltest.Call{{Name: "add", Input: `{"a":1,"b":"ż"}`}, {Name: "now"}},
	}
	s := modeltest.Serve(t, modeltest.Config{Turns: []modeltest.Turn{turn}, Loop: true})
	want := map[string][]string{
		"messages stream": {
			"event: message_start", `{"type":"thinking_delta","thinking":"I must \"look\"."}`, `"signature":"` + s.Sign("m", turn.Thinking) + `"`,
			`{"type":"text_delta","text":"Hello, wörld. 🎉`, `"name":"add","input":{}`, `{"type":"input_json_delta","partial_json":"{\"a\":1,\"b\":\"ż\"}"}`,
			`"stop_reason":"tool_use"`, "event: ping\n", "event: message_stop",
		},
		"messages whole": {`"thinking":"I must \"look\".","signature":"`, `"input":{"a":1,"b":"ż"}}`, `"name":"now","input":{}}`, `"stop_reason":"tool_use"`},
		"chat stream": {
			`"delta":{"role":"assistant","content":""}`, `"reasoning_content":"I must \"look\"."`, `"content":"Hello, wörld. 🎉`,
			`"index":0,"id":"call_`, `"index":1,"function":{"arguments":"{}"}`, `"finish_reason":"tool_calls"`, `"choices":[],"usage":{`, "data: [DONE]",
		},
		"chat whole":    {`"content":"Hello, wörld. 🎉 This`, `"arguments":"{\"a\":1,\"b\":\"ż\"}"`, `"finish_reason":"tool_calls"`, `"usage":{"prompt_tokens":`},
		"ollama stream": {`"thinking":"I must`, `"function":{"index":1,"name":"now","arguments":{}}`, `"done":true,"done_reason":"stop"`, `"prompt_eval_count":`},
		"ollama whole":  {`"content":"Hello, wörld. 🎉 This`, `"thinking":"I must`, `"arguments":{"a":1,"b":"ż"}`, `"done":true`},
	}
	for _, w := range wires {
		for kind, body := range map[string]string{"stream": w.stream, "whole": w.whole} {
			got := post(t, s.URL+w.path, body)
			if got.status != http.StatusOK || got.err != nil {
				t.Fatalf("%s %s: %+v", w.name, kind, got)
			}
			contains(t, got.body, want[w.name+" "+kind]...)
		}
	}
	asks := s.Asks()
	if len(asks) != 6 || s.Count() != 6 {
		t.Fatalf("%d requests", len(asks))
	}
	for i, r := range asks {
		if r.N != i+1 || r.Turn != i+1 || r.Status != http.StatusOK || !r.Whole || !r.Billed || r.Model != "m" || r.Messages != 1 || len(r.Body) == 0 {
			t.Errorf("request %d: %+v", i+1, r)
		}
	}
}

// Turns come in order, by what the view shows, again from the first, or from a
// function; a request past the last is refused and noted.
func TestOrderOfTurns(t *testing.T) {
	t.Parallel()
	chat := func(said ...string) string {
		list := `{"role":"user","content":"hi"}`
		for _, one := range said {
			list += `,{"role":"assistant","content":"` + one + `"},{"role":"user","content":"go on"}`
		}
		return `{"model":"m","messages":[` + list + `]}`
	}
	turns := []modeltest.Turn{{Text: "one"}, {Text: "two"}}
	ask := func(t *testing.T, s *modeltest.Server, body, want string) {
		t.Helper()
		contains(t, post(t, s.URL+"/v1/chat/completions", body).body, want)
	}
	t.Run("in order", func(t *testing.T) {
		s := modeltest.NewServer(modeltest.Config{Turns: turns})
		defer s.Close()
		ask(t, s, chat(), `"one"`)
		ask(t, s, chat(), `"two"`)
		ask(t, s, chat(), "has 2 turns and was asked for turn 3")
		if len(s.Faults()) != 1 {
			t.Errorf("faults: %q", s.Faults())
		}
	})
	t.Run("again", func(t *testing.T) {
		s := modeltest.Serve(t, modeltest.Config{Turns: turns, Loop: true})
		ask(t, s, chat(), `"one"`)
		ask(t, s, chat(), `"two"`)
		ask(t, s, chat(), `"one"`)
	})
	t.Run("by view", func(t *testing.T) {
		s := modeltest.Serve(t, modeltest.Config{Turns: turns, ByView: true})
		ask(t, s, chat("one"), `"two"`)
		ask(t, s, chat(), `"one"`)
		ask(t, s, chat("one"), `"two"`)
	})
	t.Run("answer", func(t *testing.T) {
		s := modeltest.Serve(t, modeltest.Config{Answer: func(r *modeltest.Request) modeltest.Turn {
			return modeltest.Turn{Text: "you said " + r.LastText() + strings.Repeat("!", r.Attempt)}
		}})
		ask(t, s, chat(), `"you said hi!"`)
		ask(t, s, chat(), `"you said hi!!"`)
		ask(t, s, chat("one"), `"you said go on!"`)
	})
}

// Models are listed in the form of who asks, and others are not found.
func TestModels(t *testing.T) {
	t.Parallel()
	s := modeltest.NewServer(modeltest.Config{
		Keys: []string{"k"}, Models: []modeltest.Model{{ID: "a", Window: 1000, MaxOutput: 100}, {ID: "b"}}, Turns: []modeltest.Turn{{Text: "yes"}}, Loop: true,
	})
	defer s.Close()
	contains(t, call(t, http.MethodGet, s.URL+"/v1/models", "").body, `"id":"a"`, `"max_input_tokens":1000,"max_tokens":100`, `"has_more":false`, `"last_id":"b"`)
	contains(t, call(t, http.MethodGet, s.URL+"/v1/models/b", "").body, `"max_input_tokens":200000`)
	contains(t, call(t, http.MethodGet, s.URL+"/api/v1/models", "", "Anthropic-Version", "").body, `{"object":"list","data":[{"id":"a","object":"model"`)
	for what, got := range map[string]reply{
		"a model": call(t, http.MethodGet, s.URL+"/v1/models/c", ""),
		"an ask":  post(t, s.URL+"/v1/messages", wires[0].whole),
		"a path":  call(t, http.MethodGet, s.URL+"/v2/nothing", ""),
	} {
		if got.status != http.StatusNotFound {
			t.Errorf("%s: %+v", what, got)
		}
	}
	for what, got := range map[string]reply{
		"models": call(t, http.MethodGet, s.URL+"/v1/models", "", "X-Api-Key", "wrong"),
		"an ask": post(t, s.URL+"/v1/messages", wires[0].whole, "X-Api-Key", "wrong"),
		"chat":   post(t, s.URL+"/v1/chat/completions", wires[1].whole, "X-Api-Key", "", "Authorization", "Bearer wrong"),
	} {
		if got.status != http.StatusUnauthorized {
			t.Errorf("%s with a wrong key: %+v", what, got)
		}
	}
	if f := s.Faults(); len(f) != 1 || !strings.Contains(f[0], "/v2/nothing: there is no such endpoint") {
		t.Errorf("faults: %q", f)
	}
}

// The body of a request is bounded, and old ones can be let go.
func TestBounds(t *testing.T) {
	t.Parallel()
	s := modeltest.NewServer(modeltest.Config{Rules: modeltest.Rules{Body: 1000}, Keep: 1, Turns: []modeltest.Turn{{}}, Loop: true})
	defer s.Close()
	got := post(t, s.URL+"/v1/messages", wires[0].whole+strings.Repeat(" ", 1000))
	if got.status != http.StatusRequestEntityTooLarge || !strings.Contains(got.body, "request_too_large") {
		t.Errorf("%+v", got)
	}
	for range 3 {
		post(t, s.URL+"/v1/messages", wires[0].whole)
	}
	for i, r := range s.Requests() {
		if (r.Body == nil) != (i < 3) {
			t.Errorf("request %d keeps %d bytes", i+1, len(r.Body))
		}
	}
}

// A server that is closed ends what waits in it.
func TestClose(t *testing.T) {
	t.Parallel()
	s := modeltest.NewServer(modeltest.Config{Turns: []modeltest.Turn{{Text: "never", Faults: []modeltest.Fault{{Kind: modeltest.Stall, Early: true}}}}})
	ended := make(chan reply, 1)
	go func() { ended <- post(t, s.URL+"/v1/messages", wires[0].whole) }()
	for s.Count() == 0 {
		runtime.Gosched()
	}
	s.Close()
	s.Close()
	if got := <-ended; got.err == nil {
		t.Errorf("a request that waited was answered: %+v", got)
	}
}

// Sessions beside each other get their own turns and faults.
func TestConcurrent(t *testing.T) {
	t.Parallel()
	s := modeltest.Serve(t, modeltest.Config{ByView: true, Turns: []modeltest.Turn{
		{Text: "one", Faults: []modeltest.Fault{{Status: 429}}}, {Text: "two"},
	}})
	var sessions sync.WaitGroup
	for i := range 16 {
		sessions.Go(func() {
			first := fmt.Sprintf(`{"role":"user","content":"session %d"}`, i)
			for _, step := range []struct{ list, want string }{
				{first, "Too Many Requests"}, {first, `"one"`}, {first + `,{"role":"assistant","content":"one"},` + hi, `"two"`},
			} {
				got := post(t, s.URL+"/v1/chat/completions", `{"model":"m","messages":[`+step.list+`]}`)
				contains(t, got.body, step.want)
			}
		})
	}
	sessions.Wait()
	if changes := s.Changes(); s.Count() != 48 || len(changes) > 0 {
		t.Errorf("%d requests, changes %v", s.Count(), changes)
	}
}

// A panic in the test's own function is told, with where it was.
func TestAnswerPanics(t *testing.T) {
	t.Parallel()
	s := modeltest.NewServer(modeltest.Config{Answer: func(*modeltest.Request) modeltest.Turn { panic("my mistake") }})
	defer s.Close()
	if got := post(t, s.URL+"/v1/messages", wires[0].whole); got.err == nil {
		t.Errorf("%+v", got)
	}
	s.Close()
	contains(t, strings.Join(s.Faults(), "\n"), "the server itself broke: my mistake", "server_test.go")
}
