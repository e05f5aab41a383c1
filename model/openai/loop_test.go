package openai_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/agent"
	"github.com/uzda-dev/uzda/journal"
	"github.com/uzda-dev/uzda/model/modeltest"
	"github.com/uzda-dev/uzda/model/openai"
	"github.com/uzda-dev/uzda/tool"
)

const sid = uzda.SessionID("s")

// A story is one turn of a session in the real loop against a strict server.
type story struct {
	t       testing.TB
	server  *modeltest.Server
	store   *journal.Mem
	runner  *agent.Runner
	state   *agent.State
	profile openai.Profile

	mu   sync.Mutex
	runs []string // of add, in order
}

type sum struct {
	A int `json:"a"`
	B int `json:"b"`
}

// tell begins a session with a tool that adds and one that reads what is no text.
func tell(t testing.TB, cfg modeltest.Config, profile openai.Profile) *story {
	t.Helper()
	s := &story{t: t, server: modeltest.Serve(t, cfg), store: journal.Memory(), profile: profile}
	add := tool.New("add", "Adds two numbers.", uzda.Effects{ReadOnly: true}, func(_ context.Context, in sum) (int, error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		raw, err := json.Marshal(in)
		s.runs = append(s.runs, string(raw))
		return in.A + in.B, err
	})
	s.runner = &agent.Runner{
		Agent:  agent.Agent{Model: s.model(), System: "You add.", Tools: []uzda.Tool{add, broken{}}},
		Store:  s.store,
		Holder: "test", Poll: time.Millisecond, Grace: 50 * time.Millisecond,
	}
	return s
}

func (s *story) model() openai.Model {
	return openai.Model{ID: "fake-1", Profile: s.profile, Key: "key", Base: s.server.URL + "/v1", Env: noEnv}
}

// broken is a tool whose output is no UTF-8.
type broken struct{}

func (broken) Spec() uzda.ToolSpec {
	return uzda.ToolSpec{Name: "broken", Input: json.RawMessage(`{"type":"object","properties":{}}`), Effects: uzda.Effects{ReadOnly: true}}
}

func (broken) Call(context.Context, uzda.Use) (uzda.Result, error) {
	return uzda.Result{Blocks: uzda.Say("caf\xe9 \xed\xa0\x80 \x00 end")}, nil
}

// say posts what the user says and runs the turn.
func (s *story) say(text string) *agent.State {
	s.t.Helper()
	if _, err := s.store.Append(context.Background(), sid, uzda.At{Head: uzda.AnyHead}, uzda.Posted{ID: text, Blocks: uzda.Say(text)}); err != nil {
		s.t.Fatal(err)
	}
	state, err := s.runner.Run(context.Background(), sid)
	if err != nil {
		s.t.Fatal(err)
	}
	s.state = state
	return state
}

// ends wants the turn to end for a reason, and add to have run with these inputs.
func (s *story) ends(why uzda.Reason, runs ...string) {
	s.t.Helper()
	if s.state.Ended == nil || s.state.Ended.Reason != why {
		s.t.Errorf("the turn ended %+v, not %s", s.state.Ended, why)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	slices.Sort(s.runs) // calls of one reply run together
	if got, want := strings.Join(s.runs, " "), strings.Join(runs, " "); got != want {
		s.t.Errorf("add ran with %s, not %s", got, want)
	}
}

// events are the bodies of one kind.
func events[T uzda.Body](s *story) (out []T) {
	s.t.Helper()
	for e, err := range s.store.Read(context.Background(), sid, 0) {
		if err != nil {
			s.t.Fatal(err)
		}
		if b, ok := e.Body.(T); ok {
			out = append(out, b)
		}
	}
	return out
}

// results are those of all uses.
func (s *story) results() (out []uzda.ToolResult) {
	for _, r := range events[uzda.Returned](s) {
		out = append(out, r.Result)
	}
	for _, e := range s.state.View {
		out = append(out, e.Message.Results()...)
	}
	return out
}

// last is the last request for a reply.
func (s *story) last() modeltest.Request {
	s.t.Helper()
	asks := s.server.Asks()
	if len(asks) == 0 {
		s.t.Fatal("nothing was asked")
	}
	return asks[len(asks)-1]
}

func addCall(input string) modeltest.Call { return modeltest.Call{Name: "add", Input: input} }

var (
	one  = addCall(`{"a":1,"b":2}`)
	two  = addCall(`{"a":3,"b":4}`)
	bye  = modeltest.Turn{Text: "done"}
	runs = []string{`{"a":1,"b":2}`, `{"a":3,"b":4}`}
)

func turns(t ...modeltest.Turn) modeltest.Config { return modeltest.Config{Turns: t} }

func shaped(s modeltest.Shape, calls ...modeltest.Call) modeltest.Turn {
	return modeltest.Turn{Calls: calls, Shape: &s}
}

// The 18 wire cases that were measured on three other loops, here and in the two
// tests below, in our loop and against a server that refuses what the real ones
// refuse.
func TestEdges(t *testing.T) {
	t.Parallel()
	both := func(t *testing.T, shape modeltest.Shape) {
		s := tell(t, turns(shaped(shape, one, two), bye), openai.Profile{})
		s.say("go")
		s.ends(uzda.EndTurn, runs...)
	}
	// peer:edge-both-index-0 peer:28
	t.Run("both-index-0", func(t *testing.T) { t.Parallel(); both(t, modeltest.Shape{Index: modeltest.IndexZero}) })
	// peer:edge-no-index
	t.Run("no-index", func(t *testing.T) { t.Parallel(); both(t, modeltest.Shape{Index: modeltest.IndexNone}) })
	// peer:edge-index-gap
	t.Run("index-gap", func(t *testing.T) { t.Parallel(); both(t, modeltest.Shape{Index: modeltest.IndexGap}) })
	// peer:edge-first-index-1
	t.Run("first-index-1", func(t *testing.T) { t.Parallel(); both(t, modeltest.Shape{Index: modeltest.IndexOne}) })
	// peer:edge-interleaved
	t.Run("interleaved", func(t *testing.T) { t.Parallel(); both(t, modeltest.Shape{Interleave: true, Piece: 3}) })
	// peer:edge-duplicate-id
	t.Run("duplicate-id", func(t *testing.T) { t.Parallel(); both(t, modeltest.Shape{IDs: modeltest.IDsSame}) })
	// peer:edge-missing-id peer:29: ids are made up, and unique across turns
	t.Run("missing-id", func(t *testing.T) {
		t.Parallel()
		for _, ids := range []modeltest.IDs{modeltest.IDsNone, modeltest.IDsEmpty} {
			shape := modeltest.Shape{IDs: ids}
			s := tell(t, turns(shaped(shape, one), shaped(shape, two), bye), openai.Profile{})
			s.say("go")
			s.ends(uzda.EndTurn, runs...)
		}
	})
	// peer:edge-empty-args peer:1 quirk:42
	t.Run("empty-args", func(t *testing.T) {
		t.Parallel()
		for _, form := range []modeltest.Form{modeltest.FormEmpty, modeltest.FormNull, modeltest.FormAbsent} {
			s := tell(t, turns(modeltest.Turn{Calls: []modeltest.Call{{Name: "broken", Form: form}}}, bye), openai.Profile{})
			s.say("go")
			s.ends(uzda.EndTurn)
			if r := s.results(); len(r) == 0 || r[0].IsError {
				t.Errorf("%s: the results are %+v", form, r)
			}
		}
	})
}

// Replies that end too early, or for another reason than they seem to. L2 L3 case:L02 case:L07
func TestEdgesOfEnds(t *testing.T) {
	t.Parallel()
	// peer:edge-cut-mid-args: nothing runs, and the reply is asked for once more
	t.Run("cut-mid-args", func(t *testing.T) {
		t.Parallel()
		for _, kind := range []modeltest.Kind{modeltest.Cut, modeltest.End, modeltest.Reset} {
			turn := modeltest.Turn{Calls: []modeltest.Call{one}, Faults: []modeltest.Fault{{Kind: kind, After: 3}}, Shape: &modeltest.Shape{Piece: 5}}
			s := tell(t, turns(turn, bye), openai.Profile{})
			s.say("go")
			s.ends(uzda.EndTurn, runs[0])
			if b := events[uzda.Broken](s); len(b) != 1 || b[0].Code != "cut" || !b[0].Usage.AtLeast {
				t.Errorf("%s: the broken replies are %+v", kind, b)
			}
		}
	})
	// peer:edge-cut-after-complete: without a finish reason it may not be whole
	t.Run("cut-after-complete", func(t *testing.T) {
		t.Parallel()
		s := tell(t, turns(shaped(modeltest.Shape{NoFinish: true, NoEnd: true}, one), shaped(modeltest.Shape{}, two), bye), openai.Profile{})
		s.say("go")
		s.ends(uzda.EndTurn, runs[1])
	})
	// peer:edge-stop-with-call
	t.Run("stop-with-call", func(t *testing.T) {
		t.Parallel()
		s := tell(t, turns(modeltest.Turn{Calls: []modeltest.Call{one}, Stop: "stop"}, bye), openai.Profile{})
		s.say("go")
		s.ends(uzda.EndTurn, runs[0])
	})
	// peer:edge-text-then-tool peer:6 peer:27
	t.Run("text-then-tool", func(t *testing.T) {
		t.Parallel()
		for _, shape := range []modeltest.Shape{{}, {Mixed: true}} {
			s := tell(t, turns(modeltest.Turn{Text: "I add first.", Calls: []modeltest.Call{one}, Shape: &shape}, bye), openai.Profile{})
			s.say("go")
			s.ends(uzda.EndTurn, runs[0])
			if said := s.state.View[1].Message.String(); said != "I add first." {
				t.Errorf("the text is %q", said)
			}
		}
	})
	// peer:edge-length-cut-args peer:2 peer:3 case:L02
	t.Run("length-cut-args", func(t *testing.T) { t.Parallel(); cutByLength(t, `{"a":1,"b`) })
	// peer:edge-length-valid-args case:L02
	t.Run("length-valid-args", func(t *testing.T) { t.Parallel(); cutByLength(t, `{"a":1,"b":2}`) })
	// peer:edge-content-filter-call
	t.Run("content-filter-call", func(t *testing.T) {
		t.Parallel()
		s := tell(t, turns(modeltest.Turn{Calls: []modeltest.Call{one}, Stop: "content_filter"}), openai.Profile{})
		s.say("go")
		s.ends(uzda.Refusal)
		if s.state.Ended.Detail != "content_filter" {
			t.Errorf("the detail is %q", s.state.Ended.Detail)
		}
	})
}

// What a tool, a limit or the network makes of a turn.
func TestEdgesAround(t *testing.T) {
	t.Parallel()
	// peer:edge-unknown-tool
	t.Run("unknown-tool", func(t *testing.T) {
		t.Parallel()
		s := tell(t, turns(modeltest.Turn{Calls: []modeltest.Call{{Name: "subtract"}}}, bye), openai.Profile{})
		s.say("go")
		s.ends(uzda.EndTurn)
		if r := s.results(); len(r) == 0 || r[0].Code != uzda.CodeUnknownTool || !strings.Contains(r[0].Blocks.String(), "add") {
			t.Errorf("the results are %+v", r)
		}
	})
	// peer:edge-retry-after
	t.Run("retry-after", func(t *testing.T) {
		t.Parallel()
		s := tell(t, turns(modeltest.Turn{Text: "done", Faults: []modeltest.Fault{{Status: 429, Header: map[string][]string{"Retry-After": {"1"}}}}}), openai.Profile{})
		from := time.Now()
		s.say("go")
		s.ends(uzda.EndTurn)
		if took := time.Since(from); took < time.Second {
			t.Errorf("it waited %v of 1 s", took)
		}
		if tried := events[uzda.Tried](s); len(tried) != 1 || tried[0].Attempt.N != 2 || tried[0].Attempt.WaitMS < 1000 {
			t.Errorf("the attempts are %+v", tried)
		}
	})
	// peer:edge-bad-utf8-output peer:24
	t.Run("bad-utf8-output", func(t *testing.T) {
		t.Parallel()
		s := tell(t, turns(modeltest.Turn{Calls: []modeltest.Call{{Name: "broken"}}}, bye), openai.Profile{})
		s.say("go")
		s.ends(uzda.EndTurn)
		if body := string(s.last().Body); !strings.Contains(body, "caf\uFFFD") {
			t.Errorf("the request is %s", body)
		}
	})
	// peer:edge-stall case:L10: silence after content ends the stream, and it is asked again
	t.Run("stall", func(t *testing.T) {
		t.Parallel()
		s := tell(t, turns(modeltest.Turn{Text: "a long text that never ends", Faults: []modeltest.Fault{{Kind: modeltest.Stall, After: 2}}}, bye), openai.Profile{})
		m := s.model()
		m.Idle = time.Second
		s.runner.Model = m
		s.say("go")
		s.ends(uzda.EndTurn)
		if b := events[uzda.Broken](s); len(b) != 1 || b[0].Code != "cut" {
			t.Errorf("the broken replies are %+v", b)
		}
	})
	// peer:edge-context-length
	t.Run("context-length", func(t *testing.T) {
		t.Parallel()
		cfg := turns(bye)
		cfg.Models = []modeltest.Model{{ID: "fake-1", Window: 50}}
		s := tell(t, cfg, openai.Profile{})
		s.say("go " + strings.Repeat("on and on ", 100))
		s.ends(uzda.ContextExhausted)
	})
}

// cutByLength answers with a call at the output limit again and again: it never
// runs, and the turn ends.
func cutByLength(t *testing.T, input string) {
	t.Helper()
	cfg := turns(modeltest.Turn{Calls: []modeltest.Call{addCall(input)}, Stop: "length"})
	cfg.Loop = true
	s := tell(t, cfg, openai.Profile{})
	s.say("go")
	s.ends(uzda.OutputTruncated)
	if n := len(s.server.Asks()); n > 3 {
		t.Errorf("%d requests", n)
	}
}
