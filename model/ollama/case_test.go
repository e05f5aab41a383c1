package ollama_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/model/modeltest"
	"github.com/uzda-dev/uzda/model/ollama"
)

func fake(t *testing.T, cfg modeltest.Config) *modeltest.Server {
	cfg.Local.Kind, cfg.NoKey = modeltest.Ollama, true
	return modeltest.Serve(t, cfg)
}

func of(s *modeltest.Server) ollama.Model {
	return ollama.Model{ID: "fake-1", Base: s.URL, Env: env()}
}

// The suite that every model must pass. L10
func TestSuite(t *testing.T) {
	t.Parallel()
	call := modeltest.Call{Name: "add", Input: `{"y":1.50,"x":2}`}
	turn := modeltest.Turn{Thinking: "Let me see.", Text: "I add – ünïcödé 😀.", Calls: []modeltest.Call{call, call}}
	for name, shape := range map[string]modeltest.Shape{
		"plain": {}, "ragged": {ASCII: true, Ragged: true, Piece: 3, Seed: 7}, "extra": {Extra: true, Blank: 2, CRLF: true},
		"no ids": {IDs: modeltest.IDsNone}, "markup": {Markup: modeltest.MarkupHermes},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := fake(t, modeltest.Config{Turns: []modeltest.Turn{turn}, Loop: true, Shape: shape})
			slow := fake(t, modeltest.Config{Turns: []modeltest.Turn{{Faults: []modeltest.Fault{{Kind: modeltest.Stall, Times: 1000, Early: true}}}}})
			modeltest.Run(t, func() uzda.Model { return of(s) }, modeltest.Options{
				Request: asking,
				Slow:    func() uzda.Model { return of(slow) },
			})
		})
	}
}

// long is a request of about n tokens.
func long(n int) *uzda.Request {
	req := asking()
	req.Head.System = "You are careful."
	req.View[0].Message.Blocks = uzda.Say(strings.Repeat("Some words that are read. ", n*4/26))
	return req
}

// case:U04: the window that a request needs is asked for; without it the server
// would cut the prompt to 4,096 tokens and say nothing.
func TestWindow(t *testing.T) {
	t.Parallel()
	s := fake(t, modeltest.Config{Turns: []modeltest.Turn{{Text: "Well."}}, Loop: true})
	for _, probed := range []bool{false, true} {
		m := of(s)
		if probed {
			var err error
			if m, err = m.Probe(t.Context()); err != nil || m.Describe().Window != 32768 {
				t.Fatalf("the window is %d, %v", m.Describe().Window, err)
			}
		}
		got, err := hear(t, m, long(20_000))
		if err != nil || len(got.warnings) > 0 || got.Stop.Usage.Input < 19_000 {
			t.Errorf("probed %v: %d tokens were read, warnings %v, %v", probed, got.Stop.Usage.Input, got.warnings, err)
		}
	}
	for _, r := range s.Asks() {
		if r.Dropped > 0 {
			t.Errorf("the server cut %d tokens", r.Dropped)
		}
	}
}

// case:U04: a server that knows how says that the prompt does not fit; one that does
// not, and has a smaller window all the same, is found out in the first turn,
// loudly, with the numbers and the fix.
func TestPromptCut(t *testing.T) {
	t.Parallel()
	s := fake(t, modeltest.Config{Turns: []modeltest.Turn{{Text: "Well."}}, Loop: true, Local: modeltest.Local{Trained: 4096}})
	_, err := hear(t, of(s), long(20_000))
	if p := failure(t, err); p.Code != "context" || p.Retryable() || p.Hint == "" {
		t.Errorf("%v, hint %q", err, p.Hint)
	}
	cut := func(n int) []uzda.Warning {
		req := long(n)
		req.Head.Params.Options = map[string]json.RawMessage{"truncate": json.RawMessage("true")} // as the older ones do
		got, err := hear(t, of(s), req)
		if err != nil {
			t.Fatal(err)
		}
		return got.warnings
	}
	for _, n := range []int{1000, 3500} {
		if w := cut(n); len(w) > 0 {
			t.Errorf("%d tokens: %+v", n, w)
		}
	}
	for _, n := range []int{7000, 20_000} {
		w := cut(n)
		if len(w) != 1 || w[0].Code != "prompt_cut" || !strings.Contains(w[0].Text, "4096") || !strings.Contains(w[0].Hint, "OLLAMA_CONTEXT_LENGTH=") {
			t.Errorf("%d tokens: %+v", n, w)
		}
	}
}

// case:U04: an older server that tells no window is caught in the first turn; later
// its low counts mean that it had read the rest before.
func TestPromptCutOlder(t *testing.T) {
	t.Parallel()
	read := func(n int) string {
		return strings.Replace(end, `"prompt_eval_count":7`, fmt.Sprintf(`"prompt_eval_count":%d`, n), 1)
	}
	for _, c := range []struct {
		name  string
		read  int
		later bool
		warn  bool
	}{
		{"cut", 2048, false, true}, {"not cut", 19_000, false, false}, {"read before", 200, false, false}, {"read before, later", 2048, true, false},
	} {
		req := long(20_000)
		if c.later {
			req.View = append(req.View, uzda.Entry{Message: uzda.Message{Role: uzda.Assistant, Blocks: uzda.Say("Yes.")}},
				uzda.Entry{Message: uzda.Message{Role: uzda.User, Blocks: uzda.Say("And?")}})
		}
		m := serve(t, map[string]string{"/api/ps": `{"models":[{"name":"m:latest"}]}`}, say(`"content":"x"`)+read(c.read)).model()
		if got, err := hear(t, m, req); err != nil || (len(got.warnings) > 0) != c.warn {
			t.Errorf("%s: warnings %+v, %v", c.name, got.warnings, err)
		}
	}
}

// case:U05: calls in markup, broken in every way that local models have, against
// the strict fake: what comes back is accepted.
func TestMarkup(t *testing.T) {
	t.Parallel()
	for _, m := range []modeltest.Markup{modeltest.MarkupHermes, modeltest.MarkupTwice, modeltest.MarkupMistral, modeltest.MarkupXML} {
		t.Run(string(m), func(t *testing.T) {
			t.Parallel()
			s := fake(t, modeltest.Config{Shape: modeltest.Shape{Markup: m, Piece: 5}, Turns: []modeltest.Turn{
				{Text: "I add.\n", Calls: []modeltest.Call{{Name: "add", Input: `{"x":"1","y":"2"}`}}}, {Text: "It is 3."}}})
			req := asking()
			got, err := hear(t, of(s), req)
			uses := got.Message.Uses()
			if err != nil || got.Stop.Reason != uzda.StopUse || len(uses) != 1 || uses[0].Raw != "" || !same(uses[0].Input, `{"x":"1","y":"2"}`) || got.deltas != "I add." {
				t.Fatalf("%s, shown %q, stop %s, %v", blocks(got.Message.Blocks), got.deltas, got.Stop.Reason, err)
			}
			goOn(t, s, req, got)
		})
	}
}

// goOn gives the results of a reply's calls to the server.
func goOn(t *testing.T, s *modeltest.Server, req *uzda.Request, got heard) heard {
	t.Helper()
	var results uzda.Blocks
	msg := got.Message
	msg.Blocks = append(uzda.Blocks{}, msg.Blocks...)
	n := 0
	for i, b := range msg.Blocks {
		if u, ok := b.(uzda.ToolUse); ok {
			n++
			u.ID = uzda.UseID(fmt.Sprintf("%d.%d", len(req.View)+2, n))
			msg.Blocks[i] = u
			results = append(results, uzda.ToolResult{Use: u.ID, Blocks: uzda.Say("3")})
		}
	}
	req.View = append(req.View, uzda.Entry{Message: msg}, uzda.Entry{Message: uzda.Message{Role: uzda.User, Blocks: results}})
	got, err := hear(t, of(s), req)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func same(raw json.RawMessage, want string) bool {
	var a, b any
	return json.Unmarshal(raw, &a) == nil && json.Unmarshal([]byte(want), &b) == nil && fmt.Sprint(a) == fmt.Sprint(b)
}

// case:L09 case:L10: a busy server is asked again after the time that it names, once
// for each notice; one that falls silent is given up, and is asked again only if
// nothing had come.
func TestTrouble(t *testing.T) {
	t.Parallel()
	t.Run("busy", func(t *testing.T) {
		t.Parallel()
		s := fake(t, modeltest.Config{Turns: []modeltest.Turn{{Text: "Well.", Faults: []modeltest.Fault{{Status: 503, Times: 2, Header: http.Header{"Retry-After": {"0.05"}}}}}}})
		got, err := hear(t, of(s), asking())
		if err != nil || len(got.Attempts) != 2 || got.Message.String() != "Well." || len(s.Asks()) != 3 {
			t.Errorf("attempts %+v, %d requests, %v", got.Attempts, len(s.Asks()), err)
		}
	})
	t.Run("silent before", func(t *testing.T) {
		t.Parallel()
		s := fake(t, modeltest.Config{Turns: []modeltest.Turn{{Text: "Well.", Faults: []modeltest.Fault{{Kind: modeltest.Stall, Early: true}}}}})
		m := of(s)
		m.First = 2 * time.Second
		got, err := hear(t, m, asking())
		if err != nil || len(got.Attempts) != 1 || got.Message.String() != "Well." {
			t.Errorf("attempts %+v, %v", got.Attempts, err)
		}
	})
	for name, f := range map[string]modeltest.Fault{"silent after": {Kind: modeltest.Stall, After: 2}, "keep-alives": {Kind: modeltest.Pings, After: 2}, "reset": {Kind: modeltest.Reset, After: 2}, "closed": {Kind: modeltest.Cut, After: 2}} { // peer:edge-stall
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := fake(t, modeltest.Config{Turns: []modeltest.Turn{{Text: "Some words that come.", Faults: []modeltest.Fault{f}}}, Shape: modeltest.Shape{Piece: 4}})
			m := of(s)
			m.Idle, m.Quiet = time.Second, 2*time.Second
			got, err := hear(t, m, asking())
			if p := failure(t, err); p.Code != "cut" || p.Retryable() || len(s.Asks()) != 1 || got.Partial == "" {
				t.Errorf("%v, %d requests, partial %q", err, len(s.Asks()), got.Partial)
			}
		})
	}
	t.Run("cancelled", func(t *testing.T) {
		t.Parallel()
		s := fake(t, modeltest.Config{Turns: []modeltest.Turn{{Text: "Some words that come.", Faults: []modeltest.Fault{{Kind: modeltest.Stall, After: 2}}}}, Shape: modeltest.Shape{Piece: 4}})
		ctx, cancel := context.WithCancel(t.Context())
		var at time.Time
		time.AfterFunc(200*time.Millisecond, func() { at = time.Now(); cancel() })
		_, err := hearIn(t, ctx, of(s), asking())
		if late := time.Since(at); !errors.Is(err, context.Canceled) || late > 2*time.Second { // 100 ms on a machine that is not busy
			t.Errorf("%v, %v after the cancel", err, late)
		}
	})
}

// A conversation with calls against the strict fake: every request is accepted, also
// where the server gives no ids, one id to all, or members that nobody knows.
func TestConversation(t *testing.T) {
	t.Parallel()
	for name, shape := range map[string]modeltest.Shape{"plain": {}, "no ids": {IDs: modeltest.IDsNone}, "empty ids": {IDs: modeltest.IDsEmpty}, "one id": {IDs: modeltest.IDsSame}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			calls := []modeltest.Call{{Name: "add", Input: `{"y":1.50,"x":2}`}, {Name: "add", Form: modeltest.FormNull}}
			s := fake(t, modeltest.Config{Shape: shape, Turns: []modeltest.Turn{
				{Thinking: "Hm.", Text: "I add.", Calls: calls, Extra: json.RawMessage(`{"zz_proof":"a\u003db"}`)}, {Calls: calls[:1]}, {Text: "It is 3."}}})
			req := asking()
			req.Enc = &uzda.Enc{}
			got, err := hear(t, of(s), req)
			if err != nil {
				t.Fatal(err)
			}
			if got = goOn(t, s, req, goOn(t, s, req, got)); got.Message.String() != "It is 3." || got.Stop.Reason != uzda.StopEnd {
				t.Errorf("%s, %s", blocks(got.Message.Blocks), got.Stop.Reason)
			}
		})
	}
}
