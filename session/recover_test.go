package session_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/agent"
	"github.com/uzda-dev/uzda/journal"
	"github.com/uzda-dev/uzda/model/script"
)

// A process that serves died; the next one takes up all that can go on by
// itself, and nothing else.
func TestRecover(t *testing.T) { // G1
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := journal.Memory()
		sent := make(chan uzda.Use, 9)
		agents := map[string]agent.Agent{
			"plain":  {Model: script.Model{ByView: true, Turns: []script.Turn{turn("", "look"), turn("done")}}, Tools: []uzda.Tool{look{}}},
			"timer":  {Model: script.Model{Turns: []script.Turn{turn("", "nap"), turn("done")}}, Tools: []uzda.Tool{nap{time.Hour}}},
			"sender": {Model: script.Model{Turns: []script.Turn{turn("", "send"), turn("done")}}, Tools: []uzda.Tool{send{sent}}, Gates: []uzda.Gate{asks{}}},
		}
		agents["other"] = agents["plain"]
		first := host(t, store, agents, manual)
		open := func(name string) uzda.SessionID {
			id, err := first.Open(t.Context(), uzda.Opening{ID: uzda.SessionID(name), Agent: agentOf(name)})
			if err != nil {
				t.Fatal(err)
			}
			return id
		}
		post := func(id uzda.SessionID) {
			if _, err := first.Post(t.Context(), id, uzda.Posted{Blocks: uzda.Say("go")}); err != nil {
				t.Fatal(err)
			}
		}
		run := func(id uzda.SessionID) *agent.State {
			s, err := first.Run(t.Context(), id)
			if err != nil {
				t.Fatal(err)
			}
			return s
		}
		open("plain-new")       // had no task yet
		post(open("plain-1"))   // nobody has taken it up
		lost := open("plain-2") // its process died after it had asked
		post(lost)
		epoch, err := store.Acquire(t.Context(), lost, "a process that died")
		if err != nil {
			t.Fatal(err)
		}
		s, err := agent.Load(t.Context(), store, lost)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := store.Append(t.Context(), lost, uzda.At{Head: s.Head, Epoch: epoch}, uzda.Equipped{Limits: uzda.Limits{}.OrDefault()}, uzda.Asked{Ordinal: 1, Max: 1}); err != nil {
			t.Fatal(err)
		}
		post(open("timer-1"))
		run("timer-1")
		post(open("sender-waits"))
		run("sender-waits")
		post(open("sender-1"))
		u := run("sender-1").Waits()[0]
		if _, err := first.Post(t.Context(), "sender-1", uzda.Answered{Use: u.ID, Hash: u.Judged.Hash, Verdict: uzda.Verdict{Decision: uzda.Allow}}); err != nil {
			t.Fatal(err)
		}
		post(open("other-1")) // its agent is not in the next process

		delete(agents, "other")
		second := host(t, store, agents)
		n, err := second.Recover(t.Context())
		if err != nil || n != 4 {
			t.Fatalf("recovered %d, %v; want 4", n, err)
		}
		time.Sleep(2 * time.Hour)
		synctest.Wait()
		for id, want := range map[uzda.SessionID]string{"plain-new": "open", "plain-1": "done", "plain-2": "done", "timer-1": "done", "sender-1": "done", "sender-waits": "waiting", "other-1": "ready"} {
			if got := statusOf(t, store, id); got != want {
				t.Errorf("%s is %s, want %s", id, got, want)
			}
		}
		if len(sent) != 1 {
			t.Errorf("%d were sent, want the one that was allowed", len(sent))
		}
	})
	if _, err := host(t, journal.Memory(), nil, manual).Recover(t.Context()); err == nil {
		t.Error("a manual host recovered")
	}
}

func agentOf(name string) string {
	for i, c := range name {
		if c == '-' {
			return name[:i]
		}
	}
	return name
}

func statusOf(t *testing.T, l uzda.Lister, id uzda.SessionID) string {
	t.Helper()
	for info, err := range l.List(context.Background()) {
		if err != nil {
			t.Fatal(err)
		}
		if info.ID == id {
			return info.Status
		}
	}
	return "missing"
}
