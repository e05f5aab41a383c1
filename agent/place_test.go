package agent_test

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"testing"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/agent"
	"github.com/uzda-dev/uzda/model/script"
)

// placed runs where its last use went to.
type placed struct {
	fake
	mu  *sync.Mutex
	now *string
}

func (p placed) Place(_ uzda.SessionID, dir string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return dir + *p.now
}

func (p placed) Call(_ context.Context, u uzda.Use) (uzda.Result, error) {
	var in struct{ To string }
	if err := json.Unmarshal(u.Input, &in); err != nil {
		return uzda.Result{}, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	*p.now = in.To
	return text("ran in " + u.Dir), nil
}

// sees notes what a gate is told.
type sees struct {
	mu   *sync.Mutex
	seen *[]uzda.Action
}

func (g sees) Check(_ context.Context, a uzda.Action) (uzda.Verdict, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	*g.seen = append(*g.seen, a)
	return uzda.Verdict{Decision: uzda.Allow}, nil
}

// A tool that goes to another directory is judged there, and runs there; the
// directory of the session stays what it is.
func TestPlace(t *testing.T) { // T2
	t.Parallel()
	j, w, now, seen := mem(), &world{}, "", []uzda.Action{}
	mu := &sync.Mutex{}
	r := runner(w, j, same("go", `{"To":"/sub"}`), same("go", `{"To":""}`), bye)
	r.Tools = []uzda.Tool{placed{fake{w, uzda.ToolSpec{Name: "go"}, nil}, mu, &now}}
	r.Gates = []uzda.Gate{sees{mu, &seen}}
	ctx := context.Background()
	epoch, err := j.Acquire(ctx, sid, "test")
	if err == nil {
		_, err = j.Append(ctx, sid, uzda.At{Epoch: epoch}, uzda.Opened{Agent: "a", Dir: "/shop"})
	}
	if err == nil {
		err = j.Release(ctx, sid, epoch)
	}
	if err != nil {
		t.Fatal(err)
	}
	post(t, j, hello("1"))
	s := run(t, r)
	var said, judged []string
	for _, res := range results(s) {
		said = append(said, res.Blocks.String())
	}
	for _, a := range seen {
		judged = append(judged, a.Dir+" "+a.Use.Dir)
	}
	if want := []string{"ran in /shop", "ran in /shop/sub"}; !slices.Equal(said, want) {
		t.Errorf("ran: %q", said)
	}
	if want := []string{"/shop /shop", "/shop /shop/sub"}; !slices.Equal(judged, want) {
		t.Errorf("judged: %q", judged)
	}
}

// A gate is told how many uses failed in a row; a success, or a person's look,
// begins the count anew. What a gate denies is a failure too.
func TestFailedInARow(t *testing.T) { // S2
	t.Parallel()
	j, w, seen := mem(), &world{}, []uzda.Action{}
	fails := func(context.Context, uzda.Use) (uzda.Result, error) {
		return uzda.Result{IsError: true, Blocks: uzda.Say("no")}, nil
	}
	turns := []script.Turn{same("break", `{"n":1}`), same("break", `{"n":2}`), same("read", `{"bad":1}`), same("gone", `{}`), same("send", `{"n":3}`),
		same("break", `{"n":4}`), same("write", `{"n":5}`), same("break", `{"n":6}`), same("read", `{"n":7}`), same("read", `{"n":8}`), bye}
	r := runner(w, j, turns...)
	r.Tools = append(w.tools(), w.tool("break", uzda.Effects{}, fails))
	r.Gates = []uzda.Gate{sees{&sync.Mutex{}, &seen}, asks("send"), denies("write")}
	r.Limits = uzda.Limits{Repeat: 20}
	post(t, j, hello("1"))
	s := run(t, r)
	u := s.Waits()[0]
	post(t, j, uzda.Answered{ID: "ok", Use: u.ID, Hash: u.Judged.Hash, Verdict: uzda.Verdict{Decision: uzda.Allow}})
	if s = run(t, r); reason(s) != uzda.EndTurn {
		t.Fatalf("%s", reason(s))
	}
	var got []int
	for _, a := range seen {
		got = append(got, a.Failed)
	}
	if want := []int{0, 1, 4, 4, 0, 1, 2, 3, 0}; !slices.Equal(got, want) {
		t.Errorf("the gate was told %v, want %v", got, want)
	}
	if last := func(s *agent.State) int { return s.Last.Failed }; last(s) != 0 {
		t.Errorf("left over: %d", last(s))
	}
}
