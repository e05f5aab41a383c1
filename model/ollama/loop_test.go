package ollama_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/agent"
	"github.com/uzda-dev/uzda/journal"
	"github.com/uzda-dev/uzda/model/modeltest"
	"github.com/uzda-dev/uzda/tool"
)

// A told is a turn of a session in the real loop.
type told struct {
	runs  []string // inputs of the tools
	ended *uzda.Ended
	last  string // what the model said last
	notes []string
}

type pair struct {
	X int `json:"x"`
	Y int `json:"y"`
}

// tell runs a turn with a model and tools that give back answer.
func tell(t *testing.T, m uzda.Model, system, task, answer string, specs ...uzda.ToolSpec) told {
	t.Helper()
	var out told
	var mu sync.Mutex
	var tools []uzda.Tool
	for _, s := range specs {
		tools = append(tools, recorder{s, func(input string) string {
			mu.Lock()
			defer mu.Unlock()
			out.runs = append(out.runs, input)
			return answer
		}})
	}
	add := tool.New("add", "Adds two numbers.", uzda.Effects{ReadOnly: true}, func(_ context.Context, in pair) (int, error) {
		mu.Lock()
		defer mu.Unlock()
		out.runs = append(out.runs, fmt.Sprintf("%d+%d", in.X, in.Y))
		return in.X + in.Y, nil
	})
	store := journal.Memory()
	const id = uzda.SessionID("s")
	if _, err := store.Append(t.Context(), id, uzda.At{Head: uzda.AnyHead}, uzda.Posted{ID: "1", Blocks: uzda.Say(task)}); err != nil {
		t.Fatal(err)
	}
	runner := &agent.Runner{Agent: agent.Agent{Model: m, System: system, Tools: append(tools, add)}, Store: store, Holder: "test", Poll: time.Millisecond, Grace: 50 * time.Millisecond}
	state, err := runner.Run(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	out.ended = state.Ended
	for _, e := range state.View {
		if e.Message.Role == uzda.Assistant {
			out.last = e.Message.String()
		}
	}
	for e, err := range store.Read(t.Context(), id, 0) {
		if err != nil {
			t.Fatal(err)
		}
		if n, ok := e.Body.(uzda.Noted); ok {
			raw, _ := json.Marshal(n)
			out.notes = append(out.notes, string(raw))
		}
	}
	return out
}

// A recorder is a tool that gives back what was recorded.
type recorder struct {
	spec uzda.ToolSpec
	run  func(input string) string
}

func (r recorder) Spec() uzda.ToolSpec {
	s := r.spec
	s.Unchecked, s.Effects = true, uzda.Effects{ReadOnly: true}
	return s
}

func (r recorder) Call(_ context.Context, u uzda.Use) (uzda.Result, error) {
	return uzda.Result{Blocks: uzda.Say(r.run(string(u.Input)))}, nil
}

// case:U05 L3: the whole turn, against the strict fake: a call in markup runs once;
// one that is unclear is corrected once; raw markup is never the answer; a call in a
// reply that was cut does not run.
func TestLoop(t *testing.T) {
	t.Parallel()
	call := modeltest.Call{Name: "add", Input: `{"x":1,"y":2}`}
	answer := modeltest.Turn{Text: "It is 3."}
	as := func(m modeltest.Markup) *modeltest.Shape { return &modeltest.Shape{Markup: m, Piece: 7} }
	plain := &modeltest.Shape{}
	for _, c := range []struct {
		name  string
		turns []modeltest.Turn
		runs  string
		last  string
	}{
		{"native", []modeltest.Turn{{Thinking: "Hm.", Calls: []modeltest.Call{call}}, answer}, "1+2", "It is 3."},
		{"hermes", []modeltest.Turn{{Text: "I add.\n", Calls: []modeltest.Call{call}, Shape: as(modeltest.MarkupHermes)}, answer}, "1+2", "It is 3."},
		{"closed twice", []modeltest.Turn{{Calls: []modeltest.Call{call}, Shape: as(modeltest.MarkupTwice)}, answer}, "1+2", "It is 3."},
		{"XML", []modeltest.Turn{{Text: "I add.\n", Calls: []modeltest.Call{call}, Shape: as(modeltest.MarkupXML)}, answer}, "1+2", "It is 3."}, // numbers come as text
		{"unclear", []modeltest.Turn{{Text: `<tool_call>{"name":"add","arguments":{"x":1,"y":2`, Shape: plain}, {Calls: []modeltest.Call{call}}, answer}, "1+2", "It is 3."},
		{"no such tool", []modeltest.Turn{{Text: `<tool_call>{"name":"sum","arguments":{}}</tool_call>`, Shape: plain}, {Calls: []modeltest.Call{call}}, answer}, "1+2", "It is 3."},
		{"cut", []modeltest.Turn{{Calls: []modeltest.Call{call}, Stop: "length"}, {Calls: []modeltest.Call{call}}, answer}, "1+2", "It is 3."},
		{"talk", []modeltest.Turn{{Text: "Write `<tool_call>` first."}}, "", "Write `<tool_call>` first."},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got := tell(t, of(fake(t, modeltest.Config{Turns: c.turns})), "You add.", "Add 1 and 2.", "")
			if got.ended == nil || got.ended.Reason != uzda.EndTurn || got.last != c.last || strings.Join(got.runs, " ") != c.runs {
				t.Errorf("ended %+v, last %q, ran %q", got.ended, got.last, got.runs)
			}
		})
	}
}

// case:U04: the cut is told before the turn goes on.
func TestLoopPromptCut(t *testing.T) {
	t.Parallel()
	m := of(fake(t, modeltest.Config{Turns: []modeltest.Turn{{Text: "Well."}}, Local: modeltest.Local{Trained: 4096}}))
	m.HTTP = &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) { // what an older server does
		return http.DefaultTransport.RoundTrip(without(t, r, `"truncate":false,"shift":false,`))
	})}
	t.Cleanup(http.DefaultTransport.(*http.Transport).CloseIdleConnections)
	got := tell(t, m, strings.Repeat("Some words of a task. ", 2000), "Well?", "")
	if len(got.notes) != 1 || !strings.Contains(got.notes[0], "prompt_cut") || !strings.Contains(got.notes[0], "OLLAMA_CONTEXT_LENGTH") {
		t.Errorf("notes %q, ended %+v", got.notes, got.ended)
	}
}

// The recorded conversations through the loop: the recorded results are given, the
// recorded answers come out.
func TestLoopCassettes(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"tool-ndjson", "thinking-tool-roundtrip"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			turns := cassettes(t, name+"-*.json")
			var specs []uzda.ToolSpec
			for _, s := range turns[0].request().Head.Tools {
				if s.Name != "add" {
					specs = append(specs, s)
				}
			}
			sent, n := "", 0
			m := turns[0].model(&sent, whole)
			m.HTTP = &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
				if r.URL.Path == "/api/chat" {
					n++
				}
				return turns[min(n, len(turns))-1].model(&sent, whole).HTTP.Transport.RoundTrip(r)
			})}
			recorded := turns[1].Request.Body.Messages
			got := tell(t, m, recorded[0].Content, recorded[1].Content, recorded[len(recorded)-1].Content, specs...)
			if got.ended == nil || got.ended.Reason != uzda.EndTurn || len(got.runs) != 1 || n != 2 || got.last == "" || !strings.Contains(sent, strings.TrimSpace(recorded[len(recorded)-1].Content[:2])) {
				t.Errorf("ended %+v after %d requests, last %q, ran %q", got.ended, n, got.last, got.runs)
			}
		})
	}
}
