package anthropic_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/agent"
	"github.com/uzda-dev/uzda/journal"
	"github.com/uzda-dev/uzda/model/anthropic"
	"github.com/uzda-dev/uzda/model/modeltest"
	"github.com/uzda-dev/uzda/tool"
)

// A world is what the tools of a session have done.
type world struct {
	mu   sync.Mutex
	sums []string
}

func (w *world) did() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.sums)
}

func (w *world) tools() []uzda.Tool {
	add := tool.New("add", "Adds two numbers.", uzda.Effects{ReadOnly: true}, func(_ context.Context, in struct {
		A int `json:"a"`
		B int `json:"b"`
	}) (string, error) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.sums = append(w.sums, fmt.Sprintf("%d+%d", in.A, in.B))
		return fmt.Sprint(in.A + in.B), nil
	})
	now := tool.New("now", "Says what time it is.", uzda.Effects{ReadOnly: true}, func(context.Context, struct{}) (string, error) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.sums = append(w.sums, "now")
		return "noon", nil
	})
	return []uzda.Tool{add, now}
}

// A loop is a session with a model of a strict fake provider.
type loop struct {
	*world
	journal *journal.Mem
	runner  *agent.Runner
	server  *modeltest.Server
}

const session = uzda.SessionID("s")

func at(s *modeltest.Server) anthropic.Model {
	return anthropic.Model{ID: "claude-test-1", Base: s.URL, Key: "sk-ant-test"}
}

func newLoop(t *testing.T, cfg modeltest.Config) *loop {
	t.Helper()
	s := modeltest.Serve(t, cfg)
	l := &loop{world: &world{}, journal: journal.Memory(), server: s}
	l.runner = &agent.Runner{
		Agent: agent.Agent{Model: at(s), System: "You add.", Tools: l.tools()},
		Store: l.journal, Holder: "test", Poll: 2 * time.Millisecond,
	}
	l.post(t, "1", "go")
	return l
}

func (l *loop) post(t *testing.T, id, words string) {
	t.Helper()
	if _, err := l.journal.Append(t.Context(), session, uzda.At{Head: uzda.AnyHead}, uzda.Posted{ID: id, Blocks: uzda.Say(words)}); err != nil {
		t.Fatal(err)
	}
}

// run runs the session and returns how it ended.
func (l *loop) run(t *testing.T) *uzda.Outcome {
	t.Helper()
	s, err := l.runner.Run(t.Context(), session)
	if err != nil {
		t.Fatal(err)
	}
	if err := uzda.Valid(s.View); err != nil {
		t.Errorf("the view is not valid: %v", err)
	}
	return s.Outcome(session)
}

// bodies are the bodies of one kind in the journal.
func bodies[T uzda.Body](t *testing.T, l *loop) (out []T) {
	t.Helper()
	for e, err := range l.journal.Read(t.Context(), session, 0) {
		if err != nil {
			t.Fatal(err)
		}
		if b, ok := e.Body.(T); ok {
			out = append(out, b)
		}
	}
	return out
}

func add(a, b int) modeltest.Call {
	return modeltest.Call{Name: "add", Input: fmt.Sprintf(`{"a": %d, "b": %d}`, a, b)}
}

var bye = modeltest.Turn{Text: "Done."}

// The wire cases that three peers were measured on, over Messages and through
// the loop. The server refuses what the provider would refuse, so every request
// that follows is right too.
//
// peer:edge-both-index-0 peer:edge-no-index peer:edge-index-gap
// peer:edge-first-index-1 peer:edge-missing-id peer:edge-duplicate-id
// peer:edge-empty-args peer:edge-interleaved peer:edge-stop-with-call
// peer:edge-text-then-tool peer:edge-length-cut-args peer:edge-length-valid-args
// peer:edge-content-filter-call peer:edge-unknown-tool peer:edge-cut-mid-args
// peer:edge-cut-after-complete peer:33 peer:1 peer:3 peer:4 peer:29 case:L02 case:L03 L3
func TestPeersInTheLoop(t *testing.T) {
	t.Parallel()
	two := modeltest.Turn{Calls: []modeltest.Call{add(1, 2), add(3, 4)}}
	with := func(turn modeltest.Turn, s modeltest.Shape) modeltest.Turn { turn.Shape = &s; return turn }
	both := []string{"1+2", "3+4"}
	cut := modeltest.Call{Name: "add", Input: `{"a": 1, "b":`}
	for _, c := range []struct {
		name  string
		turns []modeltest.Turn
		did   []string
		why   uzda.Reason
	}{
		{"both-index-0", []modeltest.Turn{with(two, modeltest.Shape{Index: modeltest.IndexZero}), bye}, both, uzda.EndTurn},
		{"no-index", []modeltest.Turn{with(two, modeltest.Shape{Index: modeltest.IndexNone}), bye}, both, uzda.EndTurn},
		{"index-gap", []modeltest.Turn{with(two, modeltest.Shape{Index: modeltest.IndexGap}), bye}, both, uzda.EndTurn},
		{"first-index-1", []modeltest.Turn{with(two, modeltest.Shape{Index: modeltest.IndexOne}), bye}, both, uzda.EndTurn},
		{"missing-id", []modeltest.Turn{with(two, modeltest.Shape{IDs: modeltest.IDsNone}), bye}, both, uzda.EndTurn},
		{"empty id", []modeltest.Turn{with(two, modeltest.Shape{IDs: modeltest.IDsEmpty}), bye}, both, uzda.EndTurn},
		{"duplicate-id", []modeltest.Turn{with(two, modeltest.Shape{IDs: modeltest.IDsSame}), with(two, modeltest.Shape{IDs: modeltest.IDsSame}), bye}, append(both, both...), uzda.EndTurn},
		{"ids that repeat in later turns", []modeltest.Turn{
			{Calls: []modeltest.Call{{Name: "add", Input: `{"a":1,"b":2}`, ID: "toolu_1"}}}, {Calls: []modeltest.Call{{Name: "add", Input: `{"a":3,"b":4}`, ID: "toolu_1"}}}, bye}, both, uzda.EndTurn},
		{"ids of another form", []modeltest.Turn{{Calls: []modeltest.Call{{Name: "add", Input: `{"a":1,"b":2}`, ID: "functions.add:0"}}}, bye}, both[:1], uzda.EndTurn},
		{"empty-args", []modeltest.Turn{{Calls: []modeltest.Call{{Name: "now", Form: modeltest.FormEmpty}}}, bye}, []string{"now"}, uzda.EndTurn},
		{"null args", []modeltest.Turn{{Calls: []modeltest.Call{{Name: "now", Form: modeltest.FormNull}}}, bye}, []string{"now"}, uzda.EndTurn},
		{"absent args", []modeltest.Turn{{Calls: []modeltest.Call{{Name: "now", Form: modeltest.FormAbsent}}}, bye}, []string{"now"}, uzda.EndTurn},
		{"args in the start", []modeltest.Turn{{Calls: []modeltest.Call{{Name: "add", Input: `{"a":1,"b":2}`, Form: modeltest.FormObject}}}, bye}, both[:1], uzda.EndTurn},
		{"args in the start and in deltas", []modeltest.Turn{{Calls: []modeltest.Call{{Name: "add", Input: `{"a":1,"b":2}`, Form: modeltest.FormBoth}}}, bye}, both[:1], uzda.EndTurn},
		{"interleaved", []modeltest.Turn{with(two, modeltest.Shape{Interleave: true}), bye}, both, uzda.EndTurn},
		{"stop-with-call", []modeltest.Turn{{Calls: two.Calls, Stop: "end_turn"}, bye}, both, uzda.EndTurn},
		{"text-then-tool", []modeltest.Turn{{Text: "I will add.", Calls: two.Calls}, bye}, both, uzda.EndTurn},
		{"length-cut-args", []modeltest.Turn{{Calls: []modeltest.Call{cut}, Stop: "max_tokens"}, bye}, nil, uzda.EndTurn},
		{"length-cut-args for ever", []modeltest.Turn{
			{Calls: []modeltest.Call{cut}, Stop: "max_tokens"}, {Calls: []modeltest.Call{cut}, Stop: "max_tokens"}, {Calls: []modeltest.Call{cut}, Stop: "max_tokens"}}, nil, uzda.OutputTruncated},
		{"length-valid-args", []modeltest.Turn{{Calls: []modeltest.Call{add(1, 2)}, Stop: "max_tokens"}, bye}, nil, uzda.EndTurn},
		{"cut at the cap, called finished", []modeltest.Turn{{Calls: []modeltest.Call{cut}, Usage: &uzda.Usage{Input: 10, Output: 16384}}, bye}, nil, uzda.EndTurn},
		{"broken args", []modeltest.Turn{{Calls: []modeltest.Call{cut}}, bye}, nil, uzda.EndTurn},
		{"content-filter-call", []modeltest.Turn{{Calls: two.Calls, Stop: "refusal"}}, nil, uzda.Refusal},
		{"unknown-tool", []modeltest.Turn{{Calls: []modeltest.Call{{Name: "sub", Input: `{}`}}}, bye}, nil, uzda.EndTurn},
		{"a name that is none", []modeltest.Turn{{Calls: []modeltest.Call{{Name: "a b!", Input: `{}`}}}, bye}, nil, uzda.EndTurn},
		{"cut-mid-args", []modeltest.Turn{{Calls: two.Calls, Faults: []modeltest.Fault{{Kind: modeltest.Cut, After: 5}}}, bye}, both, uzda.EndTurn},
		{"ended mid-args", []modeltest.Turn{{Calls: two.Calls, Faults: []modeltest.Fault{{Kind: modeltest.End, After: 5}}}, bye}, both, uzda.EndTurn},
		{"cut-after-complete", []modeltest.Turn{{Calls: two.Calls, Faults: []modeltest.Fault{{Kind: modeltest.End, After: 10}}}, bye}, both, uzda.EndTurn},
		{"cut twice", []modeltest.Turn{{Text: "Let me see.", Faults: []modeltest.Fault{{Kind: modeltest.Reset, After: 4, Times: 2}}}}, nil, uzda.ProviderFailed},
		{"no reason to stop", []modeltest.Turn{with(two, modeltest.Shape{NoFinish: true}), with(two, modeltest.Shape{NoFinish: true})}, nil, uzda.ProviderFailed},
		{"no end", []modeltest.Turn{with(two, modeltest.Shape{NoEnd: true}), bye}, both, uzda.EndTurn},
		{"no start", []modeltest.Turn{with(two, modeltest.Shape{NoStart: true}), bye}, both, uzda.EndTurn},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			l := newLoop(t, modeltest.Config{Turns: c.turns})
			o := l.run(t)
			if o == nil || o.Reason != c.why {
				t.Errorf("it ended with %v, not %s", o, c.why)
			}
			if got := l.did(); !slices.Equal(sorted(got), sorted(c.did)) {
				t.Errorf("the tools did %v, not %v", got, c.did)
			}
		})
	}
}

func sorted(s []string) []string { s = slices.Clone(s); slices.Sort(s); return s }

// The text of a result that is no UTF-8 goes out as text that is.
// peer:edge-bad-utf8-output peer:24
func TestBadUTF8(t *testing.T) {
	t.Parallel()
	l := newLoop(t, modeltest.Config{Turns: []modeltest.Turn{{Calls: []modeltest.Call{{Name: "raw"}}}, bye}})
	l.runner.Tools = []uzda.Tool{rawTool{}}
	if o := l.run(t); o.Reason != uzda.EndTurn {
		t.Errorf("it ended with %v", o)
	}
	// And the adapter does not rely on the loop.
	h := replies(t, stream("end_turn", text("ok")))
	bad := uzda.Message{Role: uzda.Assistant, Blocks: uzda.Blocks{uzda.ToolUse{ID: "2.1", Name: "f", Input: json.RawMessage("{}")}}}
	res := uzda.Message{Role: uzda.User, Blocks: uzda.Blocks{uzda.ToolResult{Use: "2.1", Blocks: uzda.Say("a\xff\xfeb\xed\xa0\x80")}}}
	must(t, h.model(), hello(said("x"), bad, res))
	if got := content(t, h.body(1), -1); !strings.Contains(got, `"text":"a�`) {
		t.Errorf("the result went out as %s", got)
	}
}

type rawTool struct{}

func (rawTool) Spec() uzda.ToolSpec {
	return uzda.ToolSpec{Name: "raw", Unchecked: true, Effects: uzda.Effects{ReadOnly: true}}
}

func (rawTool) Call(context.Context, uzda.Use) (uzda.Result, error) {
	return uzda.Result{Blocks: uzda.Say("a\xff\xfeb\xed\xa0\x80")}, nil
}

// A wait that the provider asks for is kept, and each attempt is told. An
// overload that does not end is an outcome of its own.
// peer:edge-retry-after peer:22 case:L09
func TestRetryAfter(t *testing.T) {
	t.Parallel()
	hint := http.Header{"Retry-After": {"1"}}
	l := newLoop(t, modeltest.Config{Turns: []modeltest.Turn{{Text: "Done.", Faults: []modeltest.Fault{{Status: 429, Header: hint}, {Status: 529}}}}})
	from := time.Now()
	if o := l.run(t); o.Reason != uzda.EndTurn {
		t.Errorf("it ended with %v", o)
	}
	if took := time.Since(from); took < time.Second {
		t.Errorf("it was asked again after %v; the provider asks for 1 s", took)
	}
	tried := bodies[uzda.Tried](t, l)
	if len(tried) != 2 || tried[0].Attempt.N != 2 || tried[1].Attempt.N != 3 || tried[0].Attempt.WaitMS < 1000 {
		t.Errorf("the attempts are %+v", tried)
	}

	l = newLoop(t, modeltest.Config{Turns: []modeltest.Turn{{Text: "Done.", Faults: []modeltest.Fault{{Status: 529, Times: 100}}}}})
	m := at(l.server)
	m.Tries = 2
	l.runner.Model = m
	if o := l.run(t); o.Reason != uzda.Overloaded {
		t.Errorf("it ended with %v", o)
	}
}

// A stream that stalls is ended: silence before anything is tried again, silence
// after content is a cut, and keep-alives do not count for ever.
// peer:edge-stall peer:21 case:L10
func TestStall(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		fault modeltest.Fault
		tried int // attempts inside of the first ask
		asked int
	}{
		{"before the headers", modeltest.Fault{Kind: modeltest.Stall, Early: true}, 1, 1},
		{"before any event", modeltest.Fault{Kind: modeltest.Stall}, 1, 1},
		{"after content", modeltest.Fault{Kind: modeltest.Stall, After: 5}, 0, 2},
		{"keep-alives after content", modeltest.Fault{Kind: modeltest.Pings, After: 5}, 0, 2},
		{"keep-alives at once", modeltest.Fault{Kind: modeltest.Pings}, 1, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			l := newLoop(t, modeltest.Config{Turns: []modeltest.Turn{{Text: "All of this is done by now.", Faults: []modeltest.Fault{c.fault}}}})
			m := at(l.server)
			m.First, m.Idle, m.Quiet = 2*time.Second, 2*time.Second, 4*time.Second
			l.runner.Model = m
			if o := l.run(t); o.Reason != uzda.EndTurn {
				t.Errorf("it ended with %v", o)
			}
			if n := len(bodies[uzda.Tried](t, l)); n != c.tried {
				t.Errorf("there were %d further attempts, not %d", n, c.tried)
			}
			if n := len(bodies[uzda.Asked](t, l)); n != c.asked {
				t.Errorf("it was asked %d times, not %d", n, c.asked)
			}
		})
	}
}

// A slow but steady stream is not cut. case:L10
func TestSlowStream(t *testing.T) {
	t.Parallel()
	l := newLoop(t, modeltest.Config{Turns: []modeltest.Turn{{Text: strings.Repeat("slow ", 40)}}, Shape: modeltest.Shape{Delay: 150 * time.Millisecond, Piece: 20}})
	m := at(l.server)
	m.First, m.Idle, m.Quiet = 10*time.Second, 1200*time.Millisecond, 1200*time.Millisecond
	l.runner.Model = m
	if o := l.run(t); o.Reason != uzda.EndTurn || len(bodies[uzda.Broken](t, l)) > 0 {
		t.Errorf("it ended with %v", o)
	}
}

// A cancel reaches a read that waits within 100 ms. L11 case:L10
func TestCancelInARead(t *testing.T) {
	t.Parallel()
	s := modeltest.Serve(t, modeltest.Config{Turns: []modeltest.Turn{{Text: "never", Faults: []modeltest.Fault{{Kind: modeltest.Stall, After: 5}}}}})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var from time.Time
	_, err := uzda.Collect(at(s).Stream(ctx, hello()), func(uzda.Chunk) {
		if from.IsZero() {
			from = time.Now()
			time.AfterFunc(20*time.Millisecond, cancel)
		}
	})
	if took := time.Since(from); took > 2*time.Second {
		t.Errorf("it ended %v after the cancel", took)
	}
	if !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v", err)
	}
}

// What does not fit the window is told apart from other refusals, and is not
// tried again. peer:edge-context-length peer:17
func TestContextLength(t *testing.T) {
	t.Parallel()
	s := modeltest.Serve(t, modeltest.Config{Models: []modeltest.Model{{ID: "claude-test-1", Window: 1000}}, Turns: []modeltest.Turn{bye}})
	_, err := ask(t, at(s), hello(said(strings.Repeat("long ", 2000))))
	var p *uzda.ProviderError
	if !asProvider(err, &p) || p.Code != "context" || p.Retryable() || s.Count() != 1 {
		t.Errorf("the error is %v after %d requests", err, s.Count())
	}
}

// The suite of models. L10
func TestSuite(t *testing.T) {
	t.Parallel()
	s := modeltest.Serve(t, modeltest.Config{Loop: true, Turns: []modeltest.Turn{{Thinking: "Let me think: 2 → 3.", Text: "Hello, wörld 😀.", Calls: []modeltest.Call{{Name: "add", Input: `{"a": 1, "b": 2}`}}}}})
	slow := modeltest.Serve(t, modeltest.Config{Loop: true, Turns: []modeltest.Turn{{Text: "late", Faults: []modeltest.Fault{{Kind: modeltest.Stall, Early: true, Times: 1000}}}}})
	modeltest.Run(t, func() uzda.Model { return at(s) }, modeltest.Options{Slow: func() uzda.Model { return at(slow) }})
}

// However a reply is written, it comes back to the provider byte for byte: the
// server knows what it has signed and sent. M2 quirk:1 quirk:2 quirk:4 quirk:5 quirk:11
func TestShapes(t *testing.T) {
	t.Parallel()
	for name, shape := range map[string]modeltest.Shape{
		"usual":           {},
		"a byte a delta":  {Piece: 1},
		"whole":           {Piece: -1, Whole: true},
		"ASCII":           {ASCII: true, Piece: 5},
		"cut anywhere":    {ASCII: true, Ragged: true, Piece: 7},
		"cut in a rune":   {Ragged: true, Piece: 1},
		"CR LF":           {CRLF: true, Padded: true},
		"what nobody has": {Extra: true},
		"blank lines":     {Blank: 3, ExtraEnd: true},
		"compressed":      {Gzip: true},
		"random writes":   {Seed: 7},
		"a wrong type":    {ContentType: "application/json"},
		"no type":         {ContentType: "application/octet-stream"},
		"older usage":     {Usage: modeltest.UsageStart},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLoop(t, modeltest.Config{Shape: shape, Turns: []modeltest.Turn{
				{Parts: []modeltest.Part{{Thinking: "I \"add\" → 𝄞\n\t\\."}, {Hidden: "secret"}, {Raw: json.RawMessage(`{"type":"redacted_thinking","data":"EqkE/+=="}`)},
					{Text: "Ich addiere: é 😀 <b>&amp;</b> \u2028."}, {Call: &modeltest.Call{Name: "add", Input: `{"b": 2,  "a": 1}`}}, {Call: &modeltest.Call{Name: "now"}}}},
				{Parts: []modeltest.Part{{Hidden: "more"}, {Call: &modeltest.Call{Name: "add", Input: `{"a":3,"b":4}`}}}},
				bye,
			}})
			if o := l.run(t); o.Reason != uzda.EndTurn {
				t.Errorf("it ended with %v", o)
			}
			if got := sorted(l.did()); !slices.Equal(got, []string{"1+2", "3+4", "now"}) {
				t.Errorf("the tools did %v", got)
			}
			for _, r := range l.server.Requests() {
				if len(r.Faults) > 0 {
					t.Errorf("request %d: %v", r.N, r.Faults)
				}
			}
		})
	}
}

// A stream that does not end is given up before it fills the memory, and a key
// never shows in an error.
func TestLimitsAndSecrets(t *testing.T) {
	t.Parallel()
	for name, endless := range map[string]string{
		"arguments nobody sees": `{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"` + strings.Repeat("a", 1<<20) + `"}}`,
		"blocks":                `{"type":"content_block_start","index":0,"content_block":{"type":"dream"}}`,
		"one event":             `{"x":"` + strings.Repeat("a", 33<<20) + `"}`,
		"deep nesting":          `{"type":"content_block_delta","index":0,"delta":{"type":"dream_delta","x":` + strings.Repeat("[", 1<<20) + `}}`,
	} {
		if testing.Short() && name != "blocks" {
			continue // tens of megabytes each
		}
		h := serve(t, func(_ int, w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			one := []byte(events(endless))
			_, err := w.Write([]byte(events(began, `{"type":"content_block_start","index":0,"content_block":{"type":"server_tool_use","id":"s","name":"n","input":{}}}`)))
			for err == nil {
				_, err = w.Write(one)
			}
		})
		_, err := ask(t, h.model(), hello())
		var p *uzda.ProviderError
		if !errors.As(err, &p) || len(p.Message) > 1000 {
			t.Errorf("%s: the error is %.300v", name, err)
		}
		h.CloseClientConnections()
	}
	h := serve(t, func(_ int, w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusUnauthorized)
		fmt.Fprintf(w, `{"type":"error","error":{"type":"authentication_error","message":"the key %s is bad"}}`, r.Header.Get("X-Api-Key"))
	})
	if _, err := ask(t, h.model(), hello()); err == nil || strings.Contains(fmt.Sprintf("%+v", err), "sk-ant-test") {
		t.Errorf("the error is %+v", err)
	}
}
