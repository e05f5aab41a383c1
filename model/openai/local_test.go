package openai_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/model/modeltest"
	"github.com/uzda-dev/uzda/model/openai"
)

// Tool calls that a local server passes on as the model's own markup run as
// calls, and the markup is never shown. case:U05
func TestMarkup(t *testing.T) {
	t.Parallel()
	for _, kind := range []modeltest.Markup{modeltest.MarkupHermes, modeltest.MarkupTwice, modeltest.MarkupXML, modeltest.MarkupMistral} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			shape := modeltest.Shape{Markup: kind}
			cfg := turns(modeltest.Turn{Text: "I add.", Calls: []modeltest.Call{one, two}, Shape: &shape}, bye)
			cfg.Local = modeltest.Local{Kind: modeltest.LlamaServer}
			s := tell(t, cfg, openai.LlamaServer())
			var shown strings.Builder
			s.runner.Events = func(_ uzda.SessionID, evs ...uzda.Event) {
				for _, e := range evs {
					if d, ok := e.Body.(uzda.Streaming); ok && d.Delta.Kind == "text" {
						shown.WriteString(d.Delta.Text)
					}
				}
			}
			s.say("go")
			s.ends(uzda.EndTurn, runs...)
			if got := shown.String(); got != "I add.done" {
				t.Errorf("what was shown is %q", got)
			}
		})
	}
}

// What is a call in the text, and what is talk. case:U05
func TestMarkupForms(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, text, want string }{
		{"cut off", "Well.\n<tool_call>\n{\"name\": \"now\", \"argum", `text "Well."; use now "" {} {"name": "now", "argum; stop tool_use`},
		{"no such tool", "<tool_call>{\"name\": \"later\", \"arguments\": {}}</tool_call>", `use later "" {}; stop tool_use`},
		{"harmony", "<|channel|>commentary to=functions.now <|constrain|>json<|message|>{\"a\":1}<|call|>", `use now "" {"a":1}; stop tool_use`},
		{"the whole text is a call in a fence", "```json\n{\"name\": \"now\", \"arguments\": {\"a\": 1}}\n```", `use now "" {"a":1}; stop tool_use`},
		{"the whole text is JSON", "{\"name\": \"Ada\", \"arguments\": {\"a\": 1}}", `text "{\"name\": \"Ada\", \"arguments\": {\"a\": 1}}"; stop end_turn`},
		{"talk", "Write `<tool_call>` and then:\n```\n<tool_call>{\"name\":\"now\"}</tool_call>\n```", "text \"Write `<tool_call>` and then:\\n```\\n<tool_call>{\\\"name\\\":\\\"now\\\"}</tool_call>\\n```\"; stop end_turn"},
	} {
		body := stream("stop", `{"role":"assistant","content":`+quoted(c.text)+`}`)
		reply, err := decode(t, openai.VLLM(), body, "now")
		if got := brief(reply); err != nil || got != c.want {
			t.Errorf("%s:\n%s, not\n%s (%v)", c.name, got, c.want, err)
		}
		// Nobody can call where nothing is offered, and services that know calls send them as such.
		for _, plain := range []uzda.Reply{only(decode(t, openai.VLLM(), body)), only(decode(t, openai.Profile{}, body, "now"))} {
			if got := brief(plain); got != fmt.Sprintf("text %q; stop end_turn", c.text) {
				t.Errorf("%s: %s", c.name, got)
			}
		}
	}
	// What goes back is a call, not markup.
	body := stream("stop", `{"role":"assistant","reasoning":"Hm","content":"Well.<tool_call>{\"name\":\"now\",\"arguments\":{\"a\":1}}</tool_call>"}`)
	if got, want := back(t, openai.VLLM(), body, "now"), `{"role":"assistant","reasoning":"Hm","content":"Well.","tool_calls":[{"id":"call_2_1","type":"function","function":{"name":"now","arguments":"{\"a\":1}"}}]}`; got != want {
		t.Errorf("what goes back is\n%s, not\n%s", got, want)
	}
	// A call that the server heard is not run twice.
	body = stream("tool_calls", `{"content":"<tool_call>{\"name\":\"now\",\"arguments\":{\"a\":1}}</tool_call>"}`, `{"tool_calls":[`+piece("0", "A", "now", `{"a": 1}`)+`]}`)
	reply, err := decode(t, openai.VLLM(), body, "now")
	if got := brief(reply); err != nil || got != `use now "A" {"a": 1}; stop tool_use` {
		t.Errorf("%s, %v", got, err)
	}
}

func only(r uzda.Reply, _ error) uzda.Reply { return r }

func quoted(s string) string {
	return `"` + strings.NewReplacer("\\", "\\\\", `"`, `\"`, "\n", `\n`).Replace(s) + `"`
}

// A prompt that a local server has cut is noticed in the first turn. case:U04
func TestPromptCut(t *testing.T) {
	t.Parallel()
	long := "go " + strings.Repeat("and read this line to its end, please; ", 800) // some 8,000 tokens
	cfg := turns(bye)
	cfg.Local = modeltest.Local{Kind: modeltest.Ollama}
	s := tell(t, cfg, openai.OllamaCompat())
	s.say(long)
	s.ends(uzda.EndTurn)
	notes := events[uzda.Noted](s)
	if len(notes) != 1 || !strings.Contains(notes[0].Text, "OLLAMA_CONTEXT_LENGTH=32768") || !strings.Contains(notes[0].Text, "4096") {
		t.Errorf("the remarks are %+v", notes)
	}

	cfg.Local.Window = 32768 // it fits
	s = tell(t, cfg, openai.OllamaCompat())
	s.say(long)
	if notes := events[uzda.Noted](s); len(notes) > 0 {
		t.Errorf("the remarks are %+v", notes)
	}

	// llama-server says so itself.
	cfg.Local = modeltest.Local{Kind: modeltest.LlamaServer, Window: 4096}
	s = tell(t, cfg, openai.LlamaServer())
	s.say(long)
	s.ends(uzda.ContextExhausted)
	if !strings.Contains(s.state.Ended.Hint, "-c") {
		t.Errorf("the hint is %q", s.state.Ended.Hint)
	}

	for _, c := range []struct {
		name    string
		profile openai.Profile
		prompt  int
		hint    string // "": no warning
	}{
		{"far too few", openai.LlamaServer(), 300, "llama-server with -c 16384"},
		{"a usual window", openai.VLLM(), 4090, "window of 16384"},
		{"as sent", openai.LlamaServer(), 7700, ""},
		{"a service", openai.Together(), 300, ""},
	} {
		p := &player{bodies: [][]byte{whole(`"stop"`, `{"role":"assistant","content":"Hi"}`, fmt.Sprintf(`{"prompt_tokens":%d,"completion_tokens":2}`, c.prompt))}}
		_, chunks, err := ask(t, p.model(c.profile), view(user(uzda.Text{Text: long}, uzda.Media{Type: "image/png", Data: append([]byte("\x89PNG\r\n\x1a\n"), make([]byte, 1<<20)...)})))
		if err != nil {
			t.Fatal(err)
		}
		hint := ""
		for _, chunk := range chunks {
			if w, ok := chunk.(uzda.Warning); ok && w.Code == "prompt_cut" {
				hint = w.Hint
			}
		}
		if (hint != "") != (c.hint != "") || !strings.Contains(hint, c.hint) {
			t.Errorf("%s: the hint is %q", c.name, hint)
		}
	}
}

// A 500 about a lost question is explained as a window that is too small. case:U04
func TestNoUserQuery(t *testing.T) {
	t.Parallel()
	p := &player{status: 500, bodies: [][]byte{[]byte(`{"error":{"message":"No user query found in messages.","type":"api_error"}}`)}}
	_, _, err := ask(t, p.model(openai.OllamaCompat()), hello())
	var e *uzda.ProviderError
	if !errors.As(err, &e) || e.Code != "context" || !strings.Contains(e.Hint, "OLLAMA_CONTEXT_LENGTH") {
		t.Errorf("the error is %+v", err)
	}
}

// The windows that servers really have, and their lists and counts.
func TestProbe(t *testing.T) {
	t.Parallel()
	llama := modeltest.Serve(t, modeltest.Config{Local: modeltest.Local{Kind: modeltest.LlamaServer, Window: 6144, Slots: 4}})
	olla := modeltest.Serve(t, modeltest.Config{Local: modeltest.Local{Kind: modeltest.Ollama}, Loop: true, Turns: []modeltest.Turn{bye}})
	m := openai.Model{ID: "fake-1", Profile: openai.LlamaServer(), Base: llama.URL, Env: noEnv}
	info, err := m.Probe(t.Context())
	if err != nil || info.Window != 6144 || info.ID != "llama/fake-1" || !info.Free {
		t.Errorf("llama-server: %+v, %v", info, err)
	}
	n, err := m.Count(t.Context(), hello("now"))
	if err != nil || n < 20 || n > 200 {
		t.Errorf("the count is %d, %v", n, err)
	}
	m = openai.Model{ID: "fake-1", Profile: openai.OllamaCompat(), Base: olla.URL, Env: noEnv}
	if _, err = m.Count(t.Context(), hello()); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("Ollama's count gave %v", err)
	}
	if _, _, err = ask(t, m, hello()); err != nil { // it is loaded now
		t.Fatal(err)
	}
	if info, err = m.Probe(t.Context()); err != nil || info.Window != 4096 {
		t.Errorf("Ollama: %+v, %v", info, err)
	}
	all, err := openai.Model{Profile: openai.LlamaServer(), Base: llama.URL, Env: noEnv}.List(t.Context())
	if err != nil || len(all) != 1 || all[0].ID != "llama/fake-1" {
		t.Errorf("the list is %+v, %v", all, err)
	}

	for _, c := range []struct {
		name    string
		profile openai.Profile
		body    string
		window  int
		output  int
	}{
		{"vLLM", openai.VLLM(), `{"object":"list","data":[{"id":"m","object":"model","max_model_len":32768}]}`, 32768, 0},
		{"OpenRouter", openai.OpenRouter(), `{"data":[{"id":"o"},{"id":"m","context_length":1000000,"top_provider":{"context_length":200000,"max_completion_tokens":64000}}]}`, 200000, 64000},
		{"Mistral", openai.Mistral(), `{"data":[{"id":"m","max_context_length":131072}]}`, 131072, 0},
		{"Groq", openai.Groq(), `{"data":[{"id":"m","context_window":131072,"max_completion_tokens":65536}]}`, 131072, 65536},
		{"Together", openai.Together(), `[{"id":"m","context_length":8192}]`, 8192, 0},
		{"OpenAI", openai.Profile{}, `{"data":[{"id":"m","object":"model"}]}`, 0, 0},
	} {
		p := &player{bodies: [][]byte{[]byte(c.body)}}
		info, err := p.model(c.profile).Probe(t.Context())
		if err != nil || info.Window != c.window || info.MaxOutput != c.output {
			t.Errorf("%s: %+v, %v", c.name, info, err)
		}
	}
	p := &player{bodies: [][]byte{[]byte(`{"models":[]}`), []byte(`{"parameters":"stop \"x\"\nnum_ctx 16384\n"}`)}}
	if info, err := p.model(openai.OllamaCompat()).Probe(t.Context()); err != nil || info.Window != 16384 {
		t.Errorf("Ollama, not loaded: %+v, %v", info, err)
	}
	p = &player{bodies: [][]byte{[]byte(`{"count":77,"max_model_len":100,"tokens":[]}`)}}
	if n, err := p.model(openai.VLLM()).Count(t.Context(), hello()); err != nil || n != 77 {
		t.Errorf("vLLM counts %d, %v", n, err)
	}
	p = &player{bodies: [][]byte{[]byte(`{"data":[]}`)}}
	var e *uzda.ProviderError
	if _, err := p.model(openai.Groq()).Probe(t.Context()); !errors.As(err, &e) || e.Code != "not_found" {
		t.Errorf("a model that is not listed gave %v", err)
	}
}

// Markup that is not clear runs nothing: the model is told why, and may try again.
// case:U05
func TestUnclearMarkup(t *testing.T) {
	t.Parallel()
	p := &player{bodies: [][]byte{stream("stop", `{"content":"<tool_call>{\"name\": \"add\", \"arguments\": {\"a\": 1,</tool_call>"}`), stream("stop", `{"content":"<function=add>{\"a\":1,\"b\":2}</function>"}`), hi}}
	s := tell(t, turns(bye), openai.Profile{})
	s.runner.Model = p.model(openai.VLLM())
	s.say("go")
	s.ends(uzda.EndTurn, runs[0])
	if r := s.results(); len(r) == 0 || r[0].Code != uzda.CodeInvalidInput {
		t.Errorf("the results are %+v", r)
	}
	if strings.Contains(s.state.Turn.Answer, "<") {
		t.Errorf("the answer is %q", s.state.Turn.Answer)
	}
	for _, body := range p.sent {
		paired(t, messages(t, body))
	}
}

// Thoughts in tags are thoughts, and go back as they came.
func TestThinkTags(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, want string }{
		{"<think>\nHm, <b> & </thin\n</think>\n\nHi.", `thinking "\nHm, <b> & </thin\n"; text "Hi."; stop end_turn`},
		{"\n <think></think>Hi.", `text "Hi."; stop end_turn`},
		{"<think>and on", `thinking "and on"; stop end_turn`},
		{"<thi", `text "<thi"; stop end_turn`},
		{"Hi <think>there</think>", `text "Hi <think>there</think>"; stop end_turn`},
		{"<think>call</think><tool_call>{\"name\":\"now\"}</tool_call>", `thinking "call"; use now "" {}; stop tool_use`},
	} {
		body := stream("stop", `{"role":"assistant","content":`+quoted(c.text)+`}`)
		var letters []string
		for _, l := range c.text {
			letters = append(letters, `{"content":`+quoted(string(l))+`}`)
		}
		for _, b := range [][]byte{body, stream("stop", letters...)} {
			reply, err := decode(t, openai.LlamaServer(), b, "now")
			if got := brief(reply); got != c.want || err != nil {
				t.Errorf("%q:\n%s, not\n%s (%v)", c.text, got, c.want, err)
			}
		}
	}
	if got, want := back(t, openai.LlamaServer(), stream("stop", `{"role":"assistant","content":"<think>Hm</think>Hi"}`)), `{"role":"assistant","content":"<think>Hm</think>Hi"}`; got != want {
		t.Errorf("what goes back is %s", got)
	}
}

// Nothing runs at the address of a local server.
func TestNobodyHome(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	_, err := uzda.Collect(openai.Model{ID: "m", Profile: openai.OllamaCompat(), Base: "http://127.0.0.1:1", Env: noEnv}.Stream(ctx, hello()), nil)
	var e *uzda.ProviderError
	if !errors.As(err, &e) || e.Code != "network" || e.Hint == "" {
		t.Errorf("the error is %+v", err)
	}
}
