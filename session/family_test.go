package session_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/agent"
	"github.com/uzda-dev/uzda/journal"
	"github.com/uzda-dev/uzda/model/script"
	"github.com/uzda-dev/uzda/session"
)

// A delegated task is a session of its own; its answer is the result of the use,
// and its spending is the parent's.
func TestDelegate(t *testing.T) { // O1
	t.Parallel()
	store := journal.Memory()
	h := host(t, store, map[string]agent.Agent{
		"lead":   {Model: script.Model{Turns: []script.Turn{{Calls: []script.Call{{Name: "delegate_to_reader", Input: `{"task":"read it"}`}, {Name: "look", Input: "{}"}}}, turn("The reader says {{result.1.text}}.")}}, Tools: []uzda.Tool{session.Delegate{Agent: "reader"}, look{}}},
		"reader": {Model: script.Model{Turns: []script.Turn{turn("", "look"), turn("forty-two")}}, Tools: []uzda.Tool{look{}, session.Delegate{Agent: "reader"}}},
	}, manual)
	answer, err := h.Ask(t.Context(), "lead", "find out")
	if err != nil || answer != "The reader says forty-two." {
		t.Fatalf("got %q, %v", answer, err)
	}
	var parent, kid uzda.SessionInfo
	for info, err := range store.List(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if info.Parent == "" {
			parent = info
		} else {
			kid = info
		}
	}
	if kid.Parent != parent.ID || !strings.HasPrefix(string(kid.ID), string(parent.ID)+"-") {
		t.Errorf("the child %s has the parent %s, want %s", kid.ID, kid.Parent, parent.ID)
	}
	s, _ := h.State(t.Context(), parent.ID)
	if s.Last.Steps != 4 || s.Last.Calls != 3 { // 2 + 2 asks; 2 uses and the child's one
		t.Errorf("the parent counts %d steps and %d calls", s.Last.Steps, s.Last.Calls)
	}
}

// A child may not delegate further than the depth that its root allows, and a
// turn has a bound on its children.
func TestDelegateBounds(t *testing.T) { // case:A01
	t.Parallel()
	five := script.Turn{}
	for range 5 {
		five.Calls = append(five.Calls, script.Call{Name: "delegate_to_a", Input: `{"task":"again"}`})
	}
	store := journal.Memory()
	h := host(t, store, map[string]agent.Agent{"a": {Model: script.Model{Turns: []script.Turn{five, turn("done")}}, Tools: []uzda.Tool{session.Delegate{Agent: "a", Effects: uzda.Effects{Independent: true}}},
		Limits: uzda.Limits{Children: 3}}}, manual)
	if _, err := h.Ask(t.Context(), "a", "go"); err != nil {
		t.Fatal(err)
	}
	if n := len(list(t, store)); n != 4 {
		t.Errorf("%d sessions, want the root and its 3 children", n)
	}
}

// A child that asks parks its root; the answer to the child lets both go on.
func TestChildAsks(t *testing.T) {
	t.Parallel()
	sent := make(chan uzda.Use, 9)
	store := journal.Memory()
	h := host(t, store, map[string]agent.Agent{
		"lead":   {Model: script.Model{Turns: []script.Turn{{Calls: []script.Call{{Name: "delegate_to_sender", Input: `{"task":"send it"}`}}}, turn("Done: {{result.1.text}}")}}, Tools: []uzda.Tool{session.Delegate{Agent: "sender"}}},
		"sender": {Model: script.Model{Turns: []script.Turn{turn("", "send"), turn("sent")}}, Tools: []uzda.Tool{send{sent}}, Gates: []uzda.Gate{asks{}}},
	}, manual)
	_, err := h.Ask(t.Context(), "lead", "go")
	var o *uzda.Outcome
	if !errors.As(err, &o) || o.Reason != uzda.WaitChild {
		t.Fatalf("got %v", err)
	}
	root, _ := h.State(t.Context(), o.Session)
	kid := uzda.SessionID(root.Uses[0].Pending.Ref)
	ks, err := h.State(t.Context(), kid)
	if err != nil || len(ks.Waits()) != 1 {
		t.Fatalf("the child waits for %v, %v", ks.Waits(), err)
	}
	if _, err := h.Post(t.Context(), kid, uzda.Answered{Use: ks.Waits()[0].ID, Hash: ks.Waits()[0].Judged.Hash, Verdict: uzda.Verdict{Decision: uzda.Allow}}); err != nil {
		t.Fatal(err)
	}
	s, err := h.Run(t.Context(), o.Session)
	if err != nil || s.Ended == nil || s.Last.Answer != "Done: sent" || len(sent) != 1 {
		t.Fatalf("got %+v, %v", s.Ended, err)
	}
}

// Cancelling a parent cancels what it delegated.
func TestCancelChild(t *testing.T) { // L11
	t.Parallel()
	store := journal.Memory()
	h := host(t, store, map[string]agent.Agent{
		"lead": {Model: script.Model{Turns: []script.Turn{{Calls: []script.Call{{Name: "delegate_to_slow", Input: `{"task":"x"}`}}}}}, Tools: []uzda.Tool{session.Delegate{Agent: "slow"}}},
		"slow": {Model: script.Model{Turns: []script.Turn{{Text: "x", Delay: time.Hour}}}},
	}, manual)
	id, _ := h.Open(t.Context(), uzda.Opening{Agent: "lead"})
	if _, err := h.Post(t.Context(), id, uzda.Posted{Blocks: uzda.Say("go")}); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	go func() {
		for e, err := range h.Watch(t.Context(), id, 0) {
			if err != nil {
				t.Error(err)
				break
			}
			if e.Body.Kind() == "parked" {
				stop()
				return
			}
		}
	}()
	s, err := h.Run(ctx, id)
	if err != nil || s.Ended == nil || s.Ended.Reason != uzda.CancelledByUser {
		t.Fatalf("got %+v, %v", s, err)
	}
	for _, info := range list(t, store) {
		if info.Parent != "" && info.Status != "cancelled" {
			t.Errorf("the child is %s", info.Status)
		}
	}
}

// events are all that a session's journal holds.
func events(t testing.TB, store uzda.Journal, id uzda.SessionID) (out []uzda.Event) {
	t.Helper()
	for e, err := range store.Read(context.Background(), id, 0) {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, e)
	}
	return out
}

// list is a line a session.
func list(t testing.TB, store uzda.Lister) (out []uzda.SessionInfo) {
	t.Helper()
	for info, err := range store.List(context.Background()) {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, info)
	}
	return out
}

// bodies are those of one kind.
func bodies[T uzda.Body](t testing.TB, store uzda.Journal, id uzda.SessionID) (out []T) {
	t.Helper()
	for _, e := range events(t, store, id) {
		if b, ok := e.Body.(T); ok {
			out = append(out, b)
		}
	}
	return out
}

// In a host that runs by itself, an answer to a child that its parent waits for
// lets the child end, and that lets the parent go on: nobody runs it by hand.
func TestChildWakesParent(t *testing.T) {
	t.Parallel()
	sent, store := make(chan uzda.Use, 9), journal.Memory()
	h := host(t, store, map[string]agent.Agent{
		"lead":   {Model: script.Model{Turns: []script.Turn{{Calls: []script.Call{{Name: "delegate_to_sender", Input: `{"task":"send it"}`}}}, turn("Done: {{result.1.text}}")}}, Tools: []uzda.Tool{session.Delegate{Agent: "sender"}}},
		"sender": {Model: script.Model{Turns: []script.Turn{turn("", "send"), turn("sent")}}, Tools: []uzda.Tool{send{sent}}, Gates: []uzda.Gate{asks{}}},
	})
	_, err := h.Ask(t.Context(), "lead", "go")
	var o *uzda.Outcome
	if !errors.As(err, &o) || o.Reason != uzda.WaitChild {
		t.Fatalf("got %v", err)
	}
	root, err := h.State(t.Context(), o.Session)
	if err != nil {
		t.Fatal(err)
	}
	kid := uzda.SessionID(root.Uses[0].Pending.Ref)
	s, err := h.State(t.Context(), kid)
	if err != nil || len(s.Waits()) != 1 {
		t.Fatalf("the child: %+v, %v", s, err)
	}
	if _, err := h.Post(t.Context(), kid, uzda.Answered{Use: s.Waits()[0].ID, Hash: s.Waits()[0].Judged.Hash, Verdict: uzda.Verdict{Decision: uzda.Allow}}); err != nil {
		t.Fatal(err)
	}
	if end := ended(t, h, o.Session); end.Reason != uzda.EndTurn {
		t.Errorf("the parent ended %+v", end)
	}
	if n := len(bodies[uzda.Delivered](t, store, o.Session)); n != 1 {
		t.Errorf("%d results were delivered", n)
	}
}

// ended waits for the end of a session's turn.
func ended(t *testing.T, h *session.Host, id uzda.SessionID) uzda.Ended {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), 20*time.Second)
	defer stop()
	for e, err := range h.Watch(ctx, id, 0) {
		if err != nil {
			t.Fatal(err)
		}
		if b, ok := e.Body.(uzda.Ended); ok {
			return b
		}
	}
	t.Fatalf("session %s has not ended: %v", id, id)
	return uzda.Ended{}
}

// While a child works, its parent still hears: an answer lets another use run.
func TestParentHearsBesideChild(t *testing.T) {
	t.Parallel()
	sent, store := make(chan uzda.Use, 1), journal.Memory()
	h := host(t, store, map[string]agent.Agent{
		"lead": {Model: script.Model{Turns: []script.Turn{{Calls: []script.Call{{Name: "delegate_to_slow", Input: `{"task":"x"}`}, {Name: "send", Input: "{}"}}}, turn("Done.")}},
			Tools: []uzda.Tool{session.Delegate{Agent: "slow", Effects: uzda.Effects{Independent: true}}, free{send{sent}}}, Gates: []uzda.Gate{asks{}}},
		"slow": {Model: script.Model{Turns: []script.Turn{turn("", "wait"), turn("slow")}}, Tools: []uzda.Tool{until{sent}}},
	})
	id, err := h.Open(t.Context(), uzda.Opening{Agent: "lead"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.Post(t.Context(), id, uzda.Posted{Blocks: uzda.Say("go")}); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(t.Context(), 20*time.Second)
	defer stop()
	for e, err := range h.Watch(ctx, id, 0) {
		if err != nil {
			t.Error(err)
			break
		}
		switch b := e.Body.(type) {
		case uzda.Judged:
			if b.Verdict.Decision == uzda.Ask {
				if _, err := h.Post(t.Context(), id, uzda.Answered{Use: b.Use, Hash: b.Hash, Verdict: uzda.Verdict{Decision: uzda.Allow}}); err != nil {
					t.Fatal(err)
				}
			}
		case uzda.Ended:
			if b.Reason != uzda.EndTurn {
				t.Errorf("ended %+v", b)
			}
			return
		}
	}
	t.Error("the child waits for what the parent's other use sends, and that did not run")
}

// free is independent of what runs beside it.
type free struct{ send }

func (f free) Spec() uzda.ToolSpec {
	s := f.send.Spec()
	s.Effects.Independent = true
	return s
}

// until returns once something was sent.
type until struct{ sent chan uzda.Use }

func (until) Spec() uzda.ToolSpec {
	return uzda.ToolSpec{Name: "wait", Effects: uzda.Effects{ReadOnly: true}}
}

func (u until) Call(ctx context.Context, _ uzda.Use) (uzda.Result, error) {
	select {
	case <-u.sent:
		return uzda.Result{Blocks: uzda.Say("it came")}, nil
	case <-ctx.Done():
		return uzda.Result{}, ctx.Err()
	}
}

// A cancel of a parent that another process posted while nobody ran it reaches
// its children before the turn ends by it.
func TestCancelChildAfterRestart(t *testing.T) { // L11
	t.Parallel()
	sent, store := make(chan uzda.Use, 9), journal.Memory()
	agents := map[string]agent.Agent{
		"lead":   {Model: script.Model{Turns: []script.Turn{{Calls: []script.Call{{Name: "delegate_to_sender", Input: `{"task":"send it"}`}}}}}, Tools: []uzda.Tool{session.Delegate{Agent: "sender"}}},
		"sender": {Model: script.Model{Turns: []script.Turn{turn("", "send"), turn("sent")}}, Tools: []uzda.Tool{send{sent}}, Gates: []uzda.Gate{asks{}}},
	}
	first := session.New(session.Config{Store: store, Agents: agents, Manual: true})
	_, err := first.Ask(t.Context(), "lead", "go")
	var o *uzda.Outcome
	if !errors.As(err, &o) || o.Reason != uzda.WaitChild {
		t.Fatalf("got %v", err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	poster := host(t, store, nil)
	if _, err := poster.Post(t.Context(), o.Session, uzda.Cancelled{}); err != nil {
		t.Fatal(err)
	}
	s, err := host(t, store, agents, manual).Run(t.Context(), o.Session)
	if err != nil || s.Ended == nil || s.Ended.Reason != uzda.CancelledByUser {
		t.Fatalf("got %+v, %v", s, err)
	}
	for _, info := range list(t, store) {
		if info.Status != "cancelled" {
			t.Errorf("session %s is %s", info.ID, info.Status)
		}
	}
}

// What a parent has read marks the task that it gives, so that a child can't
// launder it.
func TestTaskCarriesLabels(t *testing.T) {
	t.Parallel()
	store := journal.Memory()
	h := host(t, store, map[string]agent.Agent{
		"lead":   {Model: script.Model{Turns: []script.Turn{turn("", "peek"), {Calls: []script.Call{{Name: "delegate_to_reader", Input: `{"task":"x"}`}}}, turn("ok")}}, Tools: []uzda.Tool{peek{}, session.Delegate{Agent: "reader"}}},
		"reader": {Model: script.Model{Turns: []script.Turn{turn("fine")}}},
	}, manual)
	if _, err := h.Ask(t.Context(), "lead", "go"); err != nil {
		t.Fatal(err)
	}
	for _, info := range list(t, store) {
		if s, err := h.State(t.Context(), info.ID); err != nil || len(s.Labels) != 1 || s.Labels[0].Kind != uzda.Private {
			t.Errorf("session %s has the labels %v, %v", info.ID, s.Labels, err)
		}
	}
}

type peek struct{}

func (peek) Spec() uzda.ToolSpec {
	return uzda.ToolSpec{Name: "peek", Effects: uzda.Effects{ReadOnly: true}}
}

func (peek) Call(context.Context, uzda.Use) (uzda.Result, error) {
	return uzda.Result{Blocks: uzda.Say("salary"), Labels: []uzda.Label{{Kind: uzda.Private, From: "peek"}}}, nil
}
