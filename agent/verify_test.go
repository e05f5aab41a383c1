package agent_test

import (
	"context"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/agent"
	"github.com/uzda-dev/uzda/model/script"
)

// A command decides about the end: its output goes back, and the next try counts.
func TestVerifyByCommand(t *testing.T) { // L8
	t.Parallel()
	dir := t.TempDir()
	j, w := mem(), &world{}
	post(t, j, hello("1"))
	r := runner(w, j, script.Turn{Text: "done?"}, calls("make"), bye)
	open(t, j, uzda.Opened{Dir: dir})
	r.Tools = []uzda.Tool{w.tool("make", uzda.Effects{}, func(_ context.Context, u uzda.Use) (uzda.Result, error) {
		return text("made"), os.WriteFile(filepath.Join(u.Dir, "out"), nil, 0o600)
	})}
	r.Verify, r.Folded = agent.Command{Line: "ls out; test -e out"}, faithful(t, j)
	s := run(t, r)
	checks := kept[uzda.Verified](t, j)
	if reason(s) != uzda.EndTurn || len(checks) != 2 || checks[0].OK || !checks[1].OK || s.Gear.Verify != "ls out; test -e out" {
		t.Fatalf("%s: %+v", reason(s), checks)
	}
	if got := checks[0].Blocks.String(); !strings.Contains(got, "No such file") && !strings.Contains(got, "cannot access") {
		t.Errorf("told %q", got)
	}
	valid(t, s)
}

// A check that never passes is bounded, and ends the turn at once. L8
func TestVerifyIsBounded(t *testing.T) {
	t.Parallel()
	for name, v := range map[string]agent.Verifier{"fails": verdict{text: "no"}, "errs": verdict{err: fmt.Errorf("gone")}, "crashes": verdict{crash: true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, turn := range []script.Turn{{Text: "done"}, calls("answer")} {
				j := mem()
				post(t, j, hello("1"))
				r := runner(&world{}, j)
				r.Model, r.Limits = script.Model{Turns: []script.Turn{turn}, Loop: true}, uzda.Limits{Rejections: 2, Repeat: 9}
				r.Verify = v
				s := run(t, r)
				if reason(s) != uzda.Unverified || len(kept[uzda.Verified](t, j)) != 2 || len(kept[uzda.Asked](t, j)) != 2 {
					t.Errorf("%s: %s", reason(s), kinds(t, j))
				}
			}
		})
	}
}

type verdict struct {
	ok    bool
	text  string
	err   error
	crash bool
}

func (v verdict) String() string { return "a verdict" }
func (v verdict) Verify(context.Context, agent.Work) (bool, string, error) {
	if v.crash {
		panic("verify")
	}
	return v.ok, v.text, v.err
}

// A judge sees only the task and the result, spends the budget under a hold, and
// no rejection becomes part of the task.
func TestVerifyByJudge(t *testing.T) { // L8 K2
	t.Parallel()
	j := mem()
	post(t, j, hello("1"))
	seen := &recorder{store: j, turns: []string{`{"verdict":"fail","reasons":"no unit"}`, `Sure: {"verdict":"pass","reasons":""}`}}
	r := runner(&world{}, j, script.Turn{Text: "42"}, script.Turn{Text: "42 km"})
	r.Verify, r.Prices = agent.Judge{By: seen, Rubric: "has a unit"}, prices{Input: uzda.Dollar, Output: uzda.Dollar}
	r.Folded = faithful(t, j)
	s := run(t, r)
	used := kept[uzda.Used](t, j)
	if reason(s) != uzda.EndTurn || len(used) != 2 || used[0].For != "verify" || used[0].Cost == 0 || s.Cost != used[0].Cost+used[1].Cost {
		t.Fatalf("%s, %+v, %s", reason(s), used, s.Cost)
	}
	for i, want := range []string{"42\n</result>", "42 km\n</result>"} {
		if ask := seen.asks[i]; !strings.Contains(ask, want) || !strings.Contains(ask, "<task>\ngo 1\n</task>") || strings.Contains(ask, "no unit") {
			t.Errorf("the judge saw %q", ask)
		}
	}
	settled, held, err := j.Spent(t.Context(), "session:s")
	if err != nil || settled != s.Cost || held != 0 {
		t.Errorf("settled %s, held %s, cost %s", settled, held, s.Cost)
	}
	for _, h := range seen.held {
		if h < used[0].Cost {
			t.Errorf("%s was held before", h)
		}
	}
}

// No reservation, no check. K2
func TestJudgeTooDear(t *testing.T) {
	t.Parallel()
	j := mem()
	post(t, j, hello("1"))
	seen := &recorder{store: j}
	r := runner(&world{}, j, bye)
	r.Verify, r.Prices, r.Limits.Cost = agent.Judge{By: seen}, prices{Output: uzda.Dollar}, uzda.Dollar/1000-1
	if s := run(t, r); reason(s) != uzda.MaxCost || len(seen.asks) != 0 {
		t.Errorf("%s, %d asks: %s", reason(s), len(seen.asks), kinds(t, j))
	}
}

// recorder answers in turn, and notes what it is sent and what is held then.
type recorder struct {
	store uzda.Ledger
	turns []string
	asks  []string
	held  []uzda.Money
}

func (m *recorder) Describe() uzda.ModelInfo { return remote{}.Describe() }

func (m *recorder) Stream(ctx context.Context, req *uzda.Request) iter.Seq2[uzda.Chunk, error] {
	_, held, err := m.store.Spent(ctx, "session:s")
	if err != nil {
		panic(err)
	}
	m.asks, m.held = append(m.asks, req.View[0].Message.String()), append(m.held, held)
	return script.Model{Turns: []script.Turn{{Text: m.turns[len(m.asks)-1]}}}.Stream(ctx, req)
}

// open records how the session begins.
func open(t testing.TB, j uzda.Store, o uzda.Opened) { openAs(t, j, sid, o) }

func openAs(t testing.TB, j uzda.Store, id uzda.SessionID, o uzda.Opened) {
	t.Helper()
	epoch, err := j.Acquire(t.Context(), id, "test")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := j.Append(t.Context(), id, uzda.At{Head: uzda.Seq(len(eventsOf(t, j, id))), Epoch: epoch}, o); err != nil {
		t.Fatal(err)
	}
	if err := j.Release(t.Context(), id, epoch); err != nil {
		t.Fatal(err)
	}
}

// A command that hangs is stopped with all that it started, by its own limit or
// by a cancel.
func TestCommandEnds(t *testing.T) { // L8 L11
	t.Parallel()
	c := agent.Command{Line: "yes | head -c 5000000; sleep 60 & sleep 60", Timeout: 200_000_000}
	ok, text, err := c.Verify(t.Context(), agent.Work{})
	if ok || err != nil || !strings.Contains(text, "did not end within") || len(text) > 3000 {
		t.Errorf("%v %q %v", ok, text, err)
	}
}
