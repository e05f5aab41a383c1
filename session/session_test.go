package session_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/agent"
	"github.com/uzda-dev/uzda/journal"
	"github.com/uzda-dev/uzda/model/script"
	"github.com/uzda-dev/uzda/session"
)

// look is a read-only tool.
type look struct{ calls func(uzda.Use) string }

func (look) Spec() uzda.ToolSpec {
	return uzda.ToolSpec{Name: "look", Description: "looks", Effects: uzda.Effects{ReadOnly: true}, Input: json.RawMessage(`{"type":"object"}`)}
}

func (l look) Call(_ context.Context, u uzda.Use) (uzda.Result, error) {
	text := "seen"
	if l.calls != nil {
		text = l.calls(u)
	}
	return uzda.Result{Blocks: uzda.Say(text)}, nil
}

// send asks before it runs.
type send struct{ sent chan<- uzda.Use }

func (send) Spec() uzda.ToolSpec {
	return uzda.ToolSpec{Name: "send", Effects: uzda.Effects{Irreversible: true}, Input: json.RawMessage(`{"type":"object"}`)}
}

func (s send) Call(_ context.Context, u uzda.Use) (uzda.Result, error) {
	s.sent <- u
	return uzda.Result{Blocks: uzda.Say("sent")}, nil
}

type asks struct{}

func (asks) Check(_ context.Context, a uzda.Action) (uzda.Verdict, error) {
	if a.Spec.Effects.Irreversible {
		return uzda.Verdict{Decision: uzda.Ask, Reason: "it cannot be taken back"}, nil
	}
	return uzda.Verdict{Decision: uzda.Allow}, nil
}

func turn(text string, calls ...string) script.Turn {
	t := script.Turn{Text: text}
	for _, c := range calls {
		t.Calls = append(t.Calls, script.Call{Name: c, Input: "{}"})
	}
	return t
}

func host(t testing.TB, store uzda.Store, agents map[string]agent.Agent, more ...func(*session.Config)) *session.Host {
	t.Helper()
	c := session.Config{Store: store, Agents: agents, Poll: 10 * time.Millisecond, Grace: 50 * time.Millisecond}
	for _, m := range more {
		m(&c)
	}
	h := session.New(c)
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	})
	return h
}

func manual(c *session.Config) { c.Manual = true }

func TestAsk(t *testing.T) { // L1 G1
	t.Parallel()
	h := host(t, journal.Memory(), map[string]agent.Agent{"a": {Model: script.Model{Turns: []script.Turn{turn("I look.", "look"), turn("It is there.")}}, Tools: []uzda.Tool{look{}}}})
	answer, err := h.Ask(t.Context(), "a", "where is it?")
	if err != nil || answer != "It is there." {
		t.Fatalf("got %q, %v", answer, err)
	}
	if _, err := h.Ask(t.Context(), "nobody", "x"); err == nil || !strings.Contains(err.Error(), "nobody") {
		t.Errorf("an agent that is not there: %v", err)
	}
}

// The error of Ask is the outcome, with its reason; what was said last is not
// passed off as an answer without it.
func TestAskStopped(t *testing.T) { // L4
	t.Parallel()
	h := host(t, journal.Memory(), map[string]agent.Agent{"a": {Model: script.Model{Turns: []script.Turn{turn("One more.", "look")}, Loop: true},
		Tools: []uzda.Tool{look{func(u uzda.Use) string { return string(u.ID) }}}, Limits: uzda.Limits{Steps: 3}}})
	_, err := h.Ask(t.Context(), "a", "go")
	var o *uzda.Outcome
	if !errors.As(err, &o) || o.Reason != uzda.MaxSteps || o.Steps != 3 || o.Reason.Exit() != 4 {
		t.Fatalf("got %v", err)
	}
}

func TestAskCancelled(t *testing.T) { // L11
	t.Parallel()
	ctx, stop := context.WithCancel(t.Context())
	h := host(t, journal.Memory(), map[string]agent.Agent{"a": {Model: script.Model{Turns: []script.Turn{turn("", "look"), {Text: "x", Delay: time.Hour}}},
		Tools: []uzda.Tool{look{func(uzda.Use) string { stop(); return "seen" }}}}})
	_, err := h.Ask(ctx, "a", "go")
	var o *uzda.Outcome
	if !errors.As(err, &o) || o.Reason != uzda.CancelledByUser {
		t.Fatalf("got %v", err)
	}
}

// A watcher sees every event once and in order, with the deltas in between, also
// one that comes late.
func TestWatch(t *testing.T) { // L10
	t.Parallel()
	store := journal.Memory()
	h := host(t, store, map[string]agent.Agent{"a": {Model: script.Model{Turns: []script.Turn{turn("I look around in this room.", "look"), turn("That is all there is to see.")}}, Tools: []uzda.Tool{look{}}}})
	id, err := h.Open(t.Context(), uzda.Opening{Agent: "a"})
	if err != nil {
		t.Fatal(err)
	}
	watch := func(after uzda.Seq) (kinds []string, text string) {
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		want := after + 1
		for e, err := range h.Watch(ctx, id, after) {
			if err != nil {
				t.Error(err)
				return
			}
			if d, ok := e.Body.(uzda.Streaming); ok {
				if e.Seq != 0 {
					t.Errorf("a delta has the number %d", e.Seq)
				}
				if d.Delta.Kind == "text" {
					text += d.Delta.Text
				}
				continue
			}
			if e.Seq != want {
				t.Errorf("event %d after %d", e.Seq, want-1)
			}
			want++
			kinds = append(kinds, e.Body.Kind())
			if _, ok := e.Body.(uzda.Ended); ok {
				break
			}
		}
		return kinds, text
	}
	type seen struct {
		kinds []string
		text  string
	}
	live := make(chan seen)
	for range 3 {
		go func() { k, x := watch(0); live <- seen{k, x} }()
	}
	if _, err := h.Say(t.Context(), id, "go"); err != nil {
		t.Fatal(err)
	}
	late, _ := watch(0)
	for range 3 {
		s := <-live
		if !slices.Equal(s.kinds, late) {
			t.Errorf("live %v, late %v", s.kinds, late)
		}
		if s.text != "" && !strings.HasSuffix(s.text, "That is all there is to see.") {
			t.Errorf("deltas: %q", s.text)
		}
	}
}

// Posting the same input twice stores it once.
func TestPostTwice(t *testing.T) {
	t.Parallel()
	h := host(t, journal.Memory(), nil)
	id, err := h.Open(t.Context(), uzda.Opening{Agent: "a"})
	if err != nil {
		t.Fatal(err)
	}
	first, err := h.Post(t.Context(), id, uzda.Posted{ID: "x", Blocks: uzda.Say("hello")})
	again, err2 := h.Post(t.Context(), id, uzda.Posted{ID: "x", Blocks: uzda.Say("other")})
	if err != nil || err2 != nil || first != again {
		t.Errorf("got %d, %d, %v, %v", first, again, err, err2)
	}
	if same, err := h.Open(t.Context(), uzda.Opening{ID: id, Agent: "b"}); err != nil || same != id {
		t.Errorf("opened again: %s, %v", same, err)
	}
	if _, err := h.Open(t.Context(), uzda.Opening{ID: "../x"}); err == nil {
		t.Error("a session id with a path was taken")
	}
}

// A parked session holds nothing; an answer by another host, as in another
// process, lets it go on.
func TestApproval(t *testing.T) { // S1 case:P05
	t.Parallel()
	store, sent := journal.Memory(), make(chan uzda.Use, 9)
	agents := map[string]agent.Agent{"a": {Model: script.Model{Turns: []script.Turn{turn("", "send"), turn("Sent.")}}, Tools: []uzda.Tool{send{sent}}, Gates: []uzda.Gate{asks{}}}}
	h := host(t, store, agents)
	_, err := h.Ask(t.Context(), "a", "send it")
	var o *uzda.Outcome
	if !errors.As(err, &o) || o.Reason != uzda.WaitApproval || len(sent) != 0 {
		t.Fatalf("got %v, sent %d", err, len(sent))
	}
	s, err := h.State(t.Context(), o.Session)
	if err != nil || len(s.Waits()) != 1 {
		t.Fatalf("waits %v, %v", s.Waits(), err)
	}
	u := s.Waits()[0]
	other := host(t, store, agents)
	if _, err := other.Post(t.Context(), o.Session, uzda.Answered{Use: u.ID, Hash: "wrong", Verdict: uzda.Verdict{Decision: uzda.Allow}}); err != nil {
		t.Fatal(err)
	}
	if s, err := other.Run(t.Context(), o.Session); err != nil || s.Parked == nil || len(sent) != 0 {
		t.Fatalf("an answer to something else counted: %v, %v", s, err)
	}
	if _, err := other.Post(t.Context(), o.Session, uzda.Answered{Use: u.ID, Hash: u.Judged.Hash, Verdict: uzda.Verdict{Decision: uzda.Allow}}); err != nil {
		t.Fatal(err)
	}
	if s, err = other.Run(t.Context(), o.Session); err != nil || s.Ended == nil || s.Ended.Reason != uzda.EndTurn || len(sent) != 1 {
		t.Fatalf("got %+v, %v, sent %d", s.Ended, err, len(sent))
	}
}

// While another process holds a session, running it here says who has it.
func TestBusy(t *testing.T) { // case:S04
	t.Parallel()
	store := journal.Memory()
	h := host(t, store, map[string]agent.Agent{"a": {Model: script.Model{Turns: []script.Turn{turn("x")}}}}, manual)
	id, _ := h.Open(t.Context(), uzda.Opening{Agent: "a"})
	if _, err := store.Acquire(t.Context(), id, "somebody else"); err != nil {
		t.Fatal(err)
	}
	_, err := h.Say(t.Context(), id, "go")
	var o *uzda.Outcome
	if !errors.As(err, &o) || o.Reason != uzda.SessionBusy || !strings.Contains(o.Detail, "somebody else") {
		t.Fatalf("got %v", err)
	}
}

// A thousand sessions at once on one host, and then parked: no error, and
// nothing is left of them in memory but the journal.
func TestMany(t *testing.T) { // G1
	t.Parallel()
	n := 1000
	if testing.Short() {
		n = 100
	}
	sent := make(chan uzda.Use, n)
	h := host(t, journal.Memory(), map[string]agent.Agent{"a": {Model: script.Model{Turns: []script.Turn{turn("", "look"), turn("", "send"), turn("Done.")}},
		Tools: []uzda.Tool{look{}, send{sent}}, Gates: []uzda.Gate{asks{}}}})
	ids := make([]uzda.SessionID, n)
	var wait sync.WaitGroup
	for i := range n {
		wait.Go(func() {
			_, err := h.Ask(t.Context(), "a", fmt.Sprint("task ", i))
			var o *uzda.Outcome
			if !errors.As(err, &o) || o.Reason != uzda.WaitApproval {
				t.Errorf("session %d: %v", i, err)
				return
			}
			ids[i] = o.Session
		})
	}
	wait.Wait()
	runtime.GC()
	for i := range n {
		wait.Go(func() {
			s, err := h.State(t.Context(), ids[i])
			if err != nil {
				t.Error(err)
				return
			}
			u := s.Waits()[0]
			if _, err := h.Post(t.Context(), ids[i], uzda.Answered{Use: u.ID, Hash: u.Judged.Hash, Verdict: uzda.Verdict{Decision: uzda.Allow}}); err != nil {
				t.Error(err)
				return
			}
			if s, err = h.Run(t.Context(), ids[i]); err != nil || s.Ended == nil || s.Ended.Reason != uzda.EndTurn {
				t.Errorf("session %d: %+v, %v", i, s.Ended, err)
			}
		})
	}
	wait.Wait()
	if len(sent) != n {
		t.Errorf("%d of %d were sent", len(sent), n)
	}
}

// BenchmarkParked measures what a session that waits keeps in memory.
func BenchmarkParked(b *testing.B) {
	sent := make(chan uzda.Use, 1)
	h := session.New(session.Config{Store: journal.Memory(), Manual: true, Agents: map[string]agent.Agent{"a": {Model: script.Model{Turns: []script.Turn{turn("", "send"), turn("Done.")}},
		Tools: []uzda.Tool{send{sent}}, Gates: []uzda.Gate{asks{}}}}})
	defer h.Close()
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for b.Loop() {
		if _, err := h.Ask(b.Context(), "a", "go"); err == nil {
			b.Fatal("it did not park")
		}
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/float64(b.N), "heap-B/session")
}
