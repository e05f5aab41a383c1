package openai_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/model/modeltest"
	"github.com/uzda-dev/uzda/model/openai"
)

// The contract of every model, on each kind of service.
func TestContract(t *testing.T) {
	t.Parallel()
	for _, p := range []openai.Profile{{}, openai.Mistral(), openai.Perplexity(), openai.LlamaServer(), {Name: "whole", NoStream: true}} {
		t.Run(p.Name, func(t *testing.T) {
			t.Parallel()
			s := modeltest.Serve(t, modeltest.Config{Loop: true, Turns: []modeltest.Turn{{Thinking: "Who am I?", Text: "A model, and I answer in one sentence."}}})
			slow := modeltest.Serve(t, modeltest.Config{Loop: true, Turns: []modeltest.Turn{{Faults: []modeltest.Fault{{Kind: modeltest.Stall, Early: true, Times: 100}}}}})
			fresh := func(s *modeltest.Server) uzda.Model {
				return openai.Model{ID: "fake-1", Profile: p, Key: "k", Base: s.URL + "/v1", Env: noEnv}
			}
			modeltest.Run(t, func() uzda.Model { return fresh(s) }, modeltest.Options{Slow: func() uzda.Model { return fresh(slow) }})
		})
	}
}

// A session goes on at another service and comes back: thoughts go back to their
// own model only, ids are rewritten for each request, what is stored stays as it
// came, and every request is accepted by servers that refuse foreign reasoning
// and foreign ids. case:T17 peer:34
func TestSwitch(t *testing.T) {
	t.Parallel()
	deep := modeltest.Serve(t, modeltest.Config{Name: "deep", Rules: modeltest.Rules{Echo: true}, ByView: true, Turns: []modeltest.Turn{
		{Thinking: "I must add.", Calls: []modeltest.Call{one}}, {Thinking: "Done.", Text: "It is 3."}, {}, {}, {}, {}, {Thinking: "More.", Calls: []modeltest.Call{two}}, {Text: "It is 7."}}})
	nine := modeltest.Serve(t, modeltest.Config{Name: "nine", Rules: modeltest.Rules{NineIDs: true}, ByView: true, Turns: []modeltest.Turn{
		{}, {}, {Calls: []modeltest.Call{two}}, {Text: "And 7."}}})
	plain := modeltest.Serve(t, modeltest.Config{Name: "plain", ByView: true, Turns: []modeltest.Turn{{}, {}, {}, {}, {Calls: []modeltest.Call{one}}, {Text: "3 again."}}})
	s := tell(t, turns(bye), openai.Profile{})
	model := func(s *modeltest.Server, p openai.Profile) openai.Model {
		return openai.Model{ID: "fake-1", Profile: p, Key: "k", Base: s.URL + "/v1", Env: noEnv}
	}
	var first string
	for i, m := range []openai.Model{model(deep, openai.DeepSeek()), model(nine, openai.Mistral()), model(plain, openai.Profile{}), model(deep, openai.DeepSeek())} {
		s.runner.Model = m
		s.say(fmt.Sprint("go ", i))
		if s.state.Ended == nil || s.state.Ended.Reason != uzda.EndTurn {
			t.Fatalf("turn %d ended %+v", i, s.state.Ended)
		}
		view, err := json.Marshal(s.state.View[:3])
		if err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			first = string(view)
		} else if string(view) != first {
			t.Errorf("what is stored has changed:\n%s\n%s", first, view)
		}
	}
	for _, other := range []*modeltest.Server{nine, plain} {
		for _, r := range other.Asks() {
			if strings.Contains(string(r.Body), "I must add.") {
				t.Errorf("a thought went to another model: %s", r.Body)
			}
		}
	}
	asks := deep.Asks()
	if last := string(asks[len(asks)-1].Body); !strings.Contains(last, "I must add.") {
		t.Errorf("a thought did not go back to its own model: %s", last)
	}
}

// The bytes of what was sent stay what they were, step for step and after a
// restart. M4 case:C08
func TestPrefix(t *testing.T) {
	t.Parallel()
	for _, p := range []openai.Profile{{}, openai.DeepSeek(), openai.Mistral()} {
		cfg := modeltest.Config{Answer: func(r *modeltest.Request) modeltest.Turn {
			if r.Assistant >= 20 {
				return modeltest.Turn{Text: "done"}
			}
			return modeltest.Turn{Thinking: "Next.", Calls: []modeltest.Call{addCall(fmt.Sprintf(`{"a":%d,"b":1}`, r.Assistant))}}
		}}
		s := tell(t, cfg, p)
		s.runner.Limits.Repeat = 100
		s.say("go")
		s.say("again") // by a new runner, with nothing encoded yet
		var before []modeltest.Unit
		for _, r := range s.server.Asks() {
			common := 0
			for common < min(len(before), len(r.Units)) && before[common].Hash == r.Units[common].Hash {
				common++
			}
			if common < len(before) {
				t.Errorf("%s: request %d differs at %s", p.Name, r.N, r.Units[common].String())
			}
			before = r.Units
		}
	}
}

// Silence and signs of life. case:L10
func TestSilence(t *testing.T) {
	t.Parallel()
	t.Run("before the first event it is asked again", func(t *testing.T) {
		t.Parallel()
		s := tell(t, turns(modeltest.Turn{Text: "done", Faults: []modeltest.Fault{{Kind: modeltest.Stall}}}), openai.Profile{})
		m := s.model()
		m.Idle, m.First = time.Second, time.Second // less fails on a busy machine
		s.runner.Model = m
		s.say("go")
		s.ends(uzda.EndTurn)
		if tried := events[uzda.Tried](s); len(tried) != 1 {
			t.Errorf("the attempts are %+v", tried)
		}
	})
	t.Run("signs of life are no progress", func(t *testing.T) {
		t.Parallel()
		s := tell(t, turns(modeltest.Turn{Text: "a long answer, it seems", Faults: []modeltest.Fault{{Kind: modeltest.Pings, After: 2}}}, bye), openai.Profile{})
		m := s.model()
		m.Quiet = time.Second
		s.runner.Model = m
		s.say("go")
		s.ends(uzda.EndTurn)
		if b := events[uzda.Broken](s); len(b) != 1 || b[0].Code != "cut" {
			t.Errorf("the broken replies are %+v", b)
		}
	})
	t.Run("a slow stream is not cut", func(t *testing.T) {
		t.Parallel()
		s := tell(t, turns(modeltest.Turn{Text: strings.Repeat("slowly ", 20), Shape: &modeltest.Shape{Delay: 60 * time.Millisecond}}), openai.Profile{})
		m := s.model()
		m.Idle = 1500 * time.Millisecond
		s.runner.Model = m
		s.say("go")
		s.ends(uzda.EndTurn)
	})
	t.Run("a cancel reaches the read", func(t *testing.T) {
		t.Parallel()
		server := modeltest.Serve(t, turns(modeltest.Turn{Text: "a long answer, it seems", Faults: []modeltest.Fault{{Kind: modeltest.Stall, After: 2}}}))
		ctx, cancel := context.WithCancel(t.Context())
		from := time.Now()
		_, err := uzda.Collect(openai.Model{ID: "fake-1", Key: "k", Base: server.URL + "/v1", Env: noEnv}.Stream(ctx, hello()), func(c uzda.Chunk) {
			if _, ok := c.(uzda.Delta); ok {
				from = time.Now()
				cancel()
			}
		})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("the error is %v", err)
		}
		if took := time.Since(from); took > 2*time.Second { // 100 ms on a machine that is not busy
			t.Errorf("it took %v", took)
		}
		cancel()
	})
}

// Cancelled and broken streams count, as a lower bound. case:B03 case:O04
func TestUnknownUsage(t *testing.T) {
	t.Parallel()
	// No usage came at all: what came is counted, never as measured; what was read is left out.
	s := tell(t, turns(modeltest.Turn{Text: strings.Repeat("word ", 100), Shape: &modeltest.Shape{Usage: modeltest.UsageNone}}), openai.Profile{})
	s.say("go")
	said := events[uzda.Said](s)
	if u := said[0].Usage; u != (uzda.Usage{Output: 125, AtLeast: true}) {
		t.Errorf("the usage is %+v", u)
	}
	// Usage that is sent only when it is asked for is asked for, and is the server's.
	s = tell(t, turns(modeltest.Turn{Text: "done", Usage: &uzda.Usage{Input: 70, CacheRead: 30, Output: 9}}), openai.Profile{})
	s.say("go")
	if u := events[uzda.Said](s)[0].Usage; u != (uzda.Usage{Input: 70, CacheRead: 30, Output: 9}) {
		t.Errorf("the usage is %+v", u)
	}
	// The connection breaks after deltas.
	s = tell(t, turns(modeltest.Turn{Text: strings.Repeat("word ", 100), Faults: []modeltest.Fault{{Kind: modeltest.Reset, After: 10}}}, bye), openai.Profile{})
	s.say("go")
	if b := events[uzda.Broken](s); len(b) != 1 || !b[0].Usage.AtLeast || b[0].Usage.Output == 0 || b[0].Usage.Input == 0 {
		t.Errorf("the broken replies are %+v", b)
	}
}

// What the model says of a reply comes with the request's id and its origin.
func TestStop(t *testing.T) {
	t.Parallel()
	s := modeltest.Serve(t, turns(bye))
	reply, _, err := ask(t, openai.Model{ID: "fake-1", Key: "k", Base: s.URL + "/v1", Env: noEnv}, hello())
	if err != nil || reply.Stop.Request == "" || reply.Stop.Origin == nil || reply.Message.Origin == nil {
		t.Fatalf("%+v, %v", reply.Stop, err)
	}
	o := *reply.Stop.Origin
	if o.Profile != "openai/openai" || o.Base != s.URL+"/v1" || o.Model != "fake-1" || len(o.Account) != 12 || strings.Contains(fmt.Sprint(o), "key") {
		t.Errorf("the origin is %+v", o)
	}
}

// inlined are the exchanges whose recorder's client changed what it sent back.
var inlined = map[string]string{
	"openai-chat/gemini-compat-no-tool-call-id-1":    "made up an id",
	"openai-compat/avian-kimi-parallel-sse-1":        "left the text out",
	"openai-compat/groq-tool-use-failed-400-2":       "left the call out",
	"openai-compat/groq-tool-use-failed-sse-1":       "made up an id, and put the thought into the text",
	"openai-compat/groq-tool-use-failed-sse-2":       "put the thought into the text",
	"openai-compat/openrouter-tools-sse-variant-c-1": "is edited",
}

// The recorded conversations: where the recorder's client kept what the service
// sent, we send the same.
func TestConversations(t *testing.T) {
	t.Parallel()
	all := cassettes(t)
	compared := 0
	for i, c := range all {
		if c.Conversation == "" || i+1 >= len(all) || all[i+1].Conversation != c.Conversation || c.Response.Status != 200 || inlined[c.Name] != "" {
			continue
		}
		p := &player{headers: c.Response.Headers, bodies: [][]byte{c.body()}}
		m := p.model(c.profile())
		req := hello(c.offered()...)
		reply, _, err := ask(t, m, req)
		if err != nil {
			t.Errorf("%s: %v", c.Name, err)
			continue
		}
		if _, _, err := ask(t, m, then(req, reply)); err != nil {
			t.Fatal(err)
		}
		ours := core(t, messages(t, p.sent[1])[2])
		var recorded []string
		for _, m := range messages(t, string(all[i+1].Request.Body)) {
			recorded = append(recorded, core(t, m))
		}
		compared++
		if !slices.Contains(recorded, ours) {
			t.Errorf("%s: we send\n%s\nrecorded was\n%s", c.Name, ours, strings.Join(recorded, "\n"))
		}
	}
	t.Logf("%d recorded next requests hold the same message", compared)
}

// The recorded conversations, through the loop: tools return what theirs did, and
// each request is one that a service could take.
func TestReplay(t *testing.T) {
	t.Parallel()
	talks := map[string][]*cassette{}
	var names []string
	for _, c := range cassettes(t) {
		if c.Conversation == "" {
			continue
		}
		if talks[c.Conversation] == nil {
			names = append(names, c.Conversation)
		}
		talks[c.Conversation] = append(talks[c.Conversation], c)
	}
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			replay(t, talks[name])
		})
	}
	t.Logf("%d conversations", len(names))
}

// echo is a tool that returns texts in order.
type echo struct {
	name  string
	texts chan string
}

func (e echo) Spec() uzda.ToolSpec {
	return uzda.ToolSpec{Name: e.name, Input: json.RawMessage(`{"type":"object"}`), Unchecked: true} // they run one after the other
}

func (e echo) Call(context.Context, uzda.Use) (uzda.Result, error) {
	select {
	case text := <-e.texts:
		return uzda.Result{Blocks: uzda.Say(text)}, nil
	default:
		return uzda.Result{Blocks: uzda.Say("nothing more was recorded"), IsError: true}, nil
	}
}

func replay(t *testing.T, talk []*cassette) {
	p := &player{headers: talk[0].Response.Headers}
	results := make(chan string, 1000)
	tools := map[string]bool{}
	seen := 0
	for _, c := range talk {
		if c.Response.Status != 200 {
			continue
		}
		p.bodies = append(p.bodies, c.body())
		for _, n := range c.offered() {
			tools[n] = true
		}
		n := 0
		for _, m := range messages(t, string(c.Request.Body)) {
			var r struct{ Role, Content string }
			if _ = json.Unmarshal(m, &r); r.Role == "tool" { // a content of another type is no text
				if n++; n > seen {
					results <- r.Content
				}
			}
		}
		seen = max(seen, n)
	}
	s := tell(t, turns(bye), openai.Profile{})
	s.runner.Model = p.model(talk[0].profile())
	s.runner.Limits.Repeat = 100
	s.runner.Tools = nil
	for n := range tools {
		s.runner.Tools = append(s.runner.Tools, echo{n, results})
	}
	for turn := 0; len(p.sent) < len(p.bodies); turn++ {
		before := len(p.sent)
		s.runner.Limits.Steps = len(p.bodies) - before
		s.say(fmt.Sprint("go ", turn))
		open := s.state.Ended != nil && s.state.Ended.Reason == uzda.MaxSteps && talk[len(talk)-1].has("tool-call")
		if !open && (s.state.Ended == nil || s.state.Ended.Reason != uzda.EndTurn) {
			t.Fatalf("turn %d ended %+v", turn, s.state.Ended)
		}
		if len(p.sent) == before {
			t.Fatal("nothing was asked")
		}
	}
	if len(p.sent) != len(p.bodies) {
		t.Errorf("%d requests for %d exchanges", len(p.sent), len(p.bodies))
	}
	for _, body := range p.sent {
		paired(t, messages(t, body))
	}
}

// paired checks that each call has its result directly behind it.
func paired(t testing.TB, ms []json.RawMessage) {
	t.Helper()
	var due []string
	for _, raw := range ms {
		role, result, calls := callsOf(t, raw)
		switch {
		case role == "tool" && len(due) > 0 && due[0] == result:
			due = due[1:]
			continue
		case role == "tool" || len(due) > 0:
			t.Errorf("calls and results do not go together at %s", raw)
		case role == "assistant":
			valid(t, string(raw))
		}
		for _, c := range calls {
			due = append(due, c.id)
		}
	}
}

// core is what all clients keep of a message: its role, its text and its calls,
// by value.
func core(t testing.TB, message json.RawMessage) string {
	t.Helper()
	var m struct {
		Role      string
		Content   any
		ToolCalls []struct {
			ID       string
			Function struct{ Name, Arguments string }
		} `json:"tool_calls"`
	}
	if err := json.Unmarshal(message, &m); err != nil {
		t.Fatal(err)
	}
	text := ""
	switch c := m.Content.(type) {
	case string:
		text = c
	case []any:
		for _, p := range c {
			if part, ok := p.(map[string]any); ok {
				s, _ := part["text"].(string)
				text += s
			}
		}
	}
	out := m.Role + " " + strings.TrimSpace(text)
	for _, c := range m.ToolCalls {
		out += fmt.Sprintf(" %s(%s)", c.Function.Name, tokensOf(c.Function.Arguments))
		if !strings.HasPrefix(c.ID, "call_2_") {
			out += c.ID
		}
	}
	return out
}
