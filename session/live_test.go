package session_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/agent"
	"github.com/uzda-dev/uzda/journal"
	"github.com/uzda-dev/uzda/model/script"
	"github.com/uzda-dev/uzda/session"
)

// nap is a tool whose result comes by a timer.
type nap struct{ d time.Duration }

func (nap) Spec() uzda.ToolSpec {
	return uzda.ToolSpec{Name: "nap", Effects: uzda.Effects{ReadOnly: true}}
}

func (n nap) Call(context.Context, uzda.Use) (uzda.Result, error) {
	return uzda.Result{Pending: &uzda.Pending{On: "timer", Until: time.Now().Add(n.d)}}, nil
}

// A timer that is due wakes a session that waits for it, also where a child
// waits, and again for a second one; nothing is kept of it afterwards.
func TestTimer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := journal.Memory()
		h := host(t, store, map[string]agent.Agent{
			"a":    {Model: script.Model{Turns: []script.Turn{turn("", "nap"), turn("", "nap"), turn("Rested.")}}, Tools: []uzda.Tool{nap{3 * time.Hour}}},
			"lead": {Model: script.Model{Turns: []script.Turn{{Calls: []script.Call{{Name: "delegate_to_a", Input: `{"task":"x"}`}}}, turn("{{result.1.text}}")}}, Tools: []uzda.Tool{session.Delegate{Agent: "a"}}},
		})
		for _, name := range []string{"a", "lead"} {
			_, err := h.Ask(t.Context(), name, "go")
			var o *uzda.Outcome
			if !errors.As(err, &o) || o.Reason.Outcome() != uzda.Waiting {
				t.Fatalf("%s: %v", name, err)
			}
			time.Sleep(5 * time.Hour)
			synctest.Wait()
			if s, err := h.State(t.Context(), o.Session); err != nil || s.Ended != nil {
				t.Fatalf("%s: %+v, %v", name, s.Ended, err)
			}
			time.Sleep(2 * time.Hour)
			synctest.Wait()
			if s, err := h.State(t.Context(), o.Session); err != nil || s.Ended == nil || s.Last.Answer != "Rested." {
				t.Errorf("%s: %+v, %v", name, s, err)
			}
		}
		if n := h.Live(); n != 0 {
			t.Errorf("the host still knows of %d sessions", n)
		}
	})
}

// A host that finds a session busy tries again, until the other one is done.
func TestBusyRetries(t *testing.T) { // case:S04
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := journal.Memory()
		h := host(t, store, map[string]agent.Agent{"a": {Model: script.Model{Turns: []script.Turn{turn("x")}}}})
		id, err := h.Open(t.Context(), uzda.Opening{Agent: "a"})
		if err != nil {
			t.Fatal(err)
		}
		epoch, err := store.Acquire(t.Context(), id, "somebody else")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := h.Post(t.Context(), id, uzda.Posted{Blocks: uzda.Say("go")}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(3500 * time.Millisecond)
		if err := store.Release(t.Context(), id, epoch); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if s, err := h.State(t.Context(), id); err != nil || s.Ended == nil {
			t.Errorf("it has not run: %v", err)
		}
	})
}

// The context ends after each event of a turn with a child: the turn ends
// cancelled, or was done before; never with an error, never without an end.
func TestCancelAnywhere(t *testing.T) { // L11
	t.Parallel()
	agents := map[string]agent.Agent{
		"lead":   {Model: script.Model{Turns: []script.Turn{turn("I look.", "look"), {Calls: []script.Call{{Name: "delegate_to_reader", Input: `{"task":"x"}`}}}, turn("{{result.2.text}}")}}, Tools: []uzda.Tool{look{}, session.Delegate{Agent: "reader"}}},
		"reader": {Model: script.Model{Turns: []script.Turn{turn("", "look"), turn("fine")}}, Tools: []uzda.Tool{look{}}},
	}
	for _, mode := range []func(*session.Config){manual, func(*session.Config) {}} {
		for at := range uzda.Seq(22) {
			store := journal.Memory()
			h := host(t, store, agents, mode)
			id, err := h.Open(t.Context(), uzda.Opening{Agent: "lead"})
			if err != nil {
				t.Fatal(err)
			}
			ctx, stop := context.WithCancel(t.Context())
			watching, quit := context.WithCancel(t.Context())
			var wait sync.WaitGroup
			wait.Go(func() {
				for e, err := range h.Watch(watching, id, 0) {
					if err != nil {
						t.Error(err)
						break
					}
					if e.Seq == at {
						stop()
					}
				}
			})
			_, err = h.Say(ctx, id, "go")
			var o *uzda.Outcome
			if err != nil && (at > 1 || !errors.Is(err, context.Canceled)) && (!errors.As(err, &o) || o.Reason != uzda.CancelledByUser) {
				t.Errorf("cancelled at %d: %v", at, err)
			}
			quit()
			wait.Wait()
			stop()
			s, err := h.State(t.Context(), id)
			if err != nil || s.Turn.Seq != 0 || s.Ended == nil && at > 1 {
				t.Errorf("cancelled at %d: the turn goes on: %+v, %v", at, s, err)
			}
			if err := h.Close(); err != nil {
				t.Error(err)
			}
			for _, info := range list(t, store) {
				unborn := info.Parent != "" && info.Status == "open" && info.Title == "" // the cancel came before its task
				if info.Status != "cancelled" && info.Status != "done" && !unborn && at > 1 {
					t.Errorf("cancelled at %d: session %s is %s", at, info.ID, info.Status)
				}
			}
		}
	}
}

// A cancel is of the turn that ran when the context ended, not of a later one.
func TestCancelIsOfItsTurn(t *testing.T) {
	t.Parallel()
	for range 50 {
		h := host(t, journal.Memory(), map[string]agent.Agent{"a": {Model: script.Model{Turns: []script.Turn{turn("x")}, Loop: true}}}, manual)
		id, err := h.Open(t.Context(), uzda.Opening{Agent: "a"})
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		go stop()
		h.Say(ctx, id, "first") //nolint:errcheck // cancelled or not
		if _, err := h.Say(t.Context(), id, "second"); err != nil {
			t.Fatalf("the second turn: %v", err)
		}
	}
}

// Posts and runs from many sides while the host closes: nothing hangs, and what
// was posted is in the journal.
func TestCloseAnytime(t *testing.T) {
	t.Parallel()
	for i := range 20 {
		store := journal.Memory()
		h := session.New(session.Config{Store: store, Poll: time.Millisecond, Grace: 10 * time.Millisecond, Agents: map[string]agent.Agent{
			"a": {Model: script.Model{Turns: []script.Turn{turn("", "look"), turn("", "nap"), turn("x")}, Loop: true}, Tools: []uzda.Tool{look{}, nap{time.Millisecond}}}}})
		id, err := h.Open(t.Context(), uzda.Opening{Agent: "a"})
		if err != nil {
			t.Fatal(err)
		}
		var wait sync.WaitGroup
		for p := range 4 {
			wait.Go(func() {
				for n := range 5 {
					if _, err := h.Post(t.Context(), id, uzda.Posted{ID: fmt.Sprint(p, n), Blocks: uzda.Say("go")}); err != nil {
						t.Error(err)
					}
					h.Run(t.Context(), id) //nolint:errcheck // closed or not
				}
			})
		}
		time.Sleep(time.Duration(i) * time.Millisecond)
		if err := h.Close(); err != nil {
			t.Error(err)
		}
		wait.Wait()
		if n := len(bodies[uzda.Posted](t, store, id)); n != 20 {
			t.Errorf("%d of 20 messages are there", n)
		}
		if _, err := h.Run(t.Context(), id); err == nil || !strings.Contains(err.Error(), "closing") {
			t.Errorf("run after the end: %v", err)
		}
	}
}

// Two hosts on one store, as in two processes, to which everybody posts: each
// message is seen by the model exactly once.
func TestTwoHosts(t *testing.T) {
	t.Parallel()
	store := journal.Memory()
	agents := map[string]agent.Agent{"a": {Model: script.Model{Turns: []script.Turn{turn("", "look"), turn("x")}, Loop: true}, Tools: []uzda.Tool{look{}}}}
	one, two := host(t, store, agents), host(t, store, agents)
	id, err := one.Open(t.Context(), uzda.Opening{Agent: "a"})
	if err != nil {
		t.Fatal(err)
	}
	var wait sync.WaitGroup
	for i, h := range []*session.Host{one, two} {
		wait.Go(func() {
			for n := range 20 {
				if _, err := h.Post(t.Context(), id, uzda.Posted{ID: fmt.Sprintf("m%d-%d", i, n), Blocks: uzda.Say(fmt.Sprintf("message %d-%d.", i, n))}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wait.Wait()
	var s *agent.State
	for { // the one that is busy tries again by itself; here nobody waits for that
		if s, err = one.Run(t.Context(), id); err == nil && s.Turn.Seq == 0 && len(s.Inbox) == 0 {
			break
		}
		var busy *uzda.Busy
		if err != nil && !errors.As(err, &busy) {
			t.Fatal(err)
		}
	}
	seen := map[string]int{}
	for _, e := range s.View {
		for _, line := range strings.Split(e.Message.String(), "\n") {
			if strings.HasPrefix(line, "message") {
				seen[line]++
			}
		}
	}
	if len(seen) != 40 {
		t.Errorf("%d of 40 messages were seen", len(seen))
	}
	for m, n := range seen {
		if n != 1 {
			t.Errorf("%s was seen %d times", m, n)
		}
	}
}
