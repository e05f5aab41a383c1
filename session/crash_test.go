package session_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/agent"
	"github.com/uzda-dev/uzda/journal"
	"github.com/uzda-dev/uzda/model/script"
	"github.com/uzda-dev/uzda/session"
)

// crasher is a store whose process dies at an append.
type crasher struct {
	*journal.Mem
	at    int
	after bool // it was stored
	mu    chan int
}

var errCrash = errors.New("crash")

func (c *crasher) Append(ctx context.Context, id uzda.SessionID, at uzda.At, b ...uzda.Body) ([]uzda.Event, error) {
	n := <-c.mu
	dead := n >= c.at
	if !dead || n == c.at && c.after {
		evs, err := c.Mem.Append(ctx, id, at, b...)
		if err != nil { // a conflict is no append
			c.mu <- n
			return evs, err
		}
		if c.mu <- n + 1; !dead {
			return evs, nil
		}
		return nil, errCrash
	}
	c.mu <- n + 1
	return nil, errCrash
}

func (c *crasher) Keep(ctx context.Context, id uzda.SessionID, data []byte) error {
	n := <-c.mu
	c.mu <- n
	if n >= c.at {
		return errCrash
	}
	return c.Mem.Keep(ctx, id, data)
}

// The process dies at each append of a delegated task, before or after it is
// stored; another process goes on. The child is one session, its task is posted
// once, and its result reaches its parent exactly once.
func TestDelegateCrash(t *testing.T) { // case:S06
	t.Parallel()
	points := 0
	for at := 1; ; at++ {
		died := false
		for _, after := range []bool{false, true} {
			store := &crasher{Mem: journal.Memory(), at: at, after: after, mu: make(chan int, 1)}
			store.mu <- 1
			agents := map[string]agent.Agent{
				"lead":   {Model: script.Model{Turns: []script.Turn{{Calls: []script.Call{{Name: "delegate_to_reader", Input: `{"task":"read it"}`}}}, turn("It says {{result.1.text}}.")}, ByView: true}, Tools: []uzda.Tool{session.Delegate{Agent: "reader"}}},
				"reader": {Model: script.Model{Turns: []script.Turn{turn("", "look"), turn("forty-two")}, ByView: true}, Tools: []uzda.Tool{look{}}},
			}
			const id = uzda.SessionID("root")
			first := session.New(session.Config{Store: store, Agents: agents, Manual: true, Poll: time.Millisecond})
			_, err := first.Open(t.Context(), uzda.Opening{ID: id, Agent: "lead"})
			if err == nil {
				if _, err = first.Post(t.Context(), id, uzda.Posted{ID: "1", Blocks: uzda.Say("go")}); err == nil {
					_, err = first.Run(t.Context(), id)
				}
			}
			if err := first.Close(); err != nil {
				t.Error(err)
			}
			died = died || err != nil
			h := host(t, store.Mem, agents, manual)
			if _, err := h.Open(t.Context(), uzda.Opening{ID: id, Agent: "lead"}); err != nil {
				t.Fatal(err)
			}
			if _, err := h.Post(t.Context(), id, uzda.Posted{ID: "1", Blocks: uzda.Say("go")}); err != nil {
				t.Fatal(err)
			}
			s, err := h.Run(t.Context(), id)
			if err != nil || s.Ended == nil || s.Ended.Reason != uzda.EndTurn || s.Last.Answer != "It says forty-two." {
				t.Fatalf("crash at %d, after %v: %+v, %v", at, after, s, err)
			}
			if n := len(bodies[uzda.Delivered](t, store, id)); n != 1 {
				t.Errorf("crash at %d, after %v: %d results", at, after, n)
			}
			kids := 0
			for _, info := range list(t, store) {
				if info.Parent != "" {
					kids++
					if n := len(bodies[uzda.Posted](t, store, info.ID)); n != 1 {
						t.Errorf("crash at %d, after %v: the task was posted %d times", at, after, n)
					}
				}
			}
			if kids != 1 {
				t.Errorf("crash at %d, after %v: %d children", at, after, kids)
			}
		}
		if !died {
			break
		}
		points++
	}
	if points < 8 {
		t.Errorf("only %d points of a crash", points)
	}
}
