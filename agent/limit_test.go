package agent_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/agent"
	"github.com/uzda-dev/uzda/model/script"
)

// counter is a call whose result differs each time.
func counter() call {
	var n atomic.Int64
	return func(context.Context, uzda.Use) (uzda.Result, error) {
		return text(fmt.Sprint("reading ", n.Add(1))), nil
	}
}

// prices knows one price for all models.
type prices uzda.Price

func (p prices) Price(string, int) (uzda.Price, bool) { return uzda.Price(p), true }

// remote is a scripted model that costs money.
type remote struct{ script.Model }

func (m remote) Describe() uzda.ModelInfo {
	return uzda.ModelInfo{ID: "remote/one", Window: 100_000, MaxOutput: 1000}
}

// nap sleeps until ctx ends.
func nap(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Every fuse blows with its own reason, after a whole step, and the last text is
// no answer. L4
func TestFuses(t *testing.T) {
	t.Parallel()
	busy := func(use *uzda.Usage) script.Turn {
		t := same("read", `{}`)
		t.Text, t.Usage = "working", use
		return t
	}
	for _, tt := range []struct {
		want  uzda.Reason
		l     uzda.Limits
		turn  script.Turn
		steps int
	}{
		{uzda.MaxSteps, uzda.Limits{Steps: 3}, busy(nil), 3},
		{uzda.MaxTokens, uzda.Limits{Tokens: 1000}, busy(&uzda.Usage{Input: 100, Output: 50, CacheRead: 150, CacheWrite: 200}), 2},
		{uzda.MaxCalls, uzda.Limits{Calls: 5}, script.Turn{Text: "working", Calls: calls("read", "read").Calls}, 3},
		{uzda.MaxCost, uzda.Limits{Cost: uzda.Dollar / 100}, busy(&uzda.Usage{Input: 4000}), 2}, // the third would not fit
		{uzda.MaxTime, uzda.Limits{Time: time.Minute}, busy(nil), 3},
	} {
		t.Run(string(tt.want), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				j, w := mem(), &world{}
				post(t, j, hello("1"))
				r := runner(w, j)
				r.Poll, r.Limits, r.Prices = time.Second, tt.l, prices{Input: uzda.Dollar}
				r.Model = remote{script.Model{Turns: []script.Turn{tt.turn}, Loop: true}}
				count := counter()
				r.Tools = []uzda.Tool{w.tool("read", reads, func(ctx context.Context, u uzda.Use) (uzda.Result, error) {
					if err := nap(ctx, 25*time.Second); err != nil {
						return uzda.Result{}, err
					}
					return count(ctx, u)
				})}
				s := run(t, r)
				valid(t, s)
				o := s.Outcome(sid)
				if o.Reason != tt.want || o.Steps != tt.steps || o.Reason.Exit() != 4 || o.Hint == "" || !strings.Contains(o.Detail, fmt.Sprint(tt.steps, " steps")) {
					t.Errorf("got %+v after %d steps; %s", o, o.Steps, kinds(t, j))
				}
				if o.Answer != "working" || len(s.View) != 1+2*tt.steps { // the partial trajectory
					t.Errorf("answer %q, %d messages", o.Answer, len(s.View))
				}
			})
		})
	}
}

// Failing calls count: ten attempts and no more. case:B07
func TestFailingCallsCount(t *testing.T) {
	t.Parallel()
	for name, turn := range map[string]script.Turn{
		"one by one":  same("read", `{"bad":1}`),
		"in one step": {Calls: slices.Repeat(same("read", `{"bad":1}`).Calls, 15)},
		"denied":      calls("write"),
		"unknown":     calls("nope", "nope", "nope"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j := mem()
			post(t, j, hello("1"))
			r := runner(&world{}, j)
			r.Limits, r.Gates = uzda.Limits{Calls: 10, Repeat: 99}, []uzda.Gate{denies("write")}
			r.Model = script.Model{Turns: []script.Turn{turn}, Loop: true}
			s := run(t, r)
			tried := 0
			for _, res := range results(s) {
				if res.Code != uzda.CodeNotStarted {
					tried++
				}
			}
			valid(t, s)
			if reason(s) != uzda.MaxCalls || tried > 10 {
				t.Errorf("%s after %d attempts", reason(s), tried)
			}
		})
	}
}

// The time fuse stops what is in flight, a deaf tool too; the next turn has its
// own time. L4 L11
func TestTimeIsUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		j, w := mem(), &world{}
		post(t, j, hello("1"))
		r := runner(w, j, calls("wait", "deaf", "write"), bye)
		r.Limits.Time, r.Poll, r.Grace = 10*time.Second, time.Second, time.Second
		release := make(chan bool)
		r.Tools = []uzda.Tool{
			w.tool("wait", reads, func(ctx context.Context, _ uzda.Use) (uzda.Result, error) {
				<-ctx.Done()
				return uzda.Result{}, ctx.Err()
			}),
			w.tool("deaf", uzda.Effects{Independent: true}, func(context.Context, uzda.Use) (uzda.Result, error) {
				<-release
				return text("after all"), nil
			}),
			w.tool("write", uzda.Effects{}, nil),
		}
		r.Folded = faithful(t, j)
		s := run(t, r)
		rs := results(s)
		if reason(s) != uzda.MaxTime || len(rs) != 3 || rs[0].Code != uzda.CodeTimeout || rs[0].Effect != uzda.EffectNone ||
			rs[1].Code != uzda.CodeTimeout || rs[1].Effect != uzda.EffectUnknown || rs[2].Code != uzda.CodeNotStarted {
			t.Fatalf("%s, %+v", reason(s), rs)
		}
		post(t, j, hello("2"))
		if s = run(t, r); reason(s) != uzda.EndTurn {
			t.Errorf("the next turn ended %s: %s", reason(s), s.Ended.Detail)
		}
		close(release)
		if !r.Close() {
			t.Error("the deaf tool has not ended")
		}
		if s, err := agent.Load(t.Context(), j, sid); err != nil || len(s.Unknown) != 0 || !strings.HasSuffix(kinds(t, j), "late") {
			t.Errorf("%v, unknown %v: %s", err, s.Unknown, kinds(t, j))
		}
	})
}

// Active time is counted once, whatever lands in between, and waits don't count.
func TestActiveTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		j, w := mem(), &world{pre: "1"}
		post(t, j, hello("1"))
		sleep := func(d time.Duration) call {
			return func(context.Context, uzda.Use) (uzda.Result, error) { time.Sleep(d); return text("ok"), nil }
		}
		r := runner(w, j, calls("slow", "slow", "send"), bye)
		r.Poll, r.Gates = time.Second, []uzda.Gate{asks("send"), slowGate{2 * time.Second}}
		r.Tools = []uzda.Tool{w.tool("slow", reads, sleep(10*time.Second)), w.tool("send", uzda.Effects{}, sleep(3*time.Second))}
		if s := run(t, r); reason(s) != uzda.WaitApproval || s.Turn.Active != 14*time.Second && s.Turn.Active != 12*time.Second {
			t.Fatalf("%s after %s", reason(s), s.Turn.Active)
		}
		before := 12 * time.Second
		time.Sleep(time.Hour)
		answers(t, j, uzda.Allow)
		if s := run(t, r); reason(s) != uzda.EndTurn || s.Last.Active < before+3*time.Second || s.Last.Active > before+10*time.Second {
			t.Fatalf("%s after %s", reason(s), s.Last.Active)
		}
	})
}

// slowGate needs I/O.
type slowGate struct{ d time.Duration }

func (slowGate) Slow() {}
func (g slowGate) Check(ctx context.Context, _ uzda.Action) (uzda.Verdict, error) {
	select {
	case <-time.After(g.d):
		return uzda.Verdict{Decision: uzda.Allow}, nil
	case <-ctx.Done():
		return uzda.Verdict{}, ctx.Err()
	}
}

// A tool's Go error stops the turn; siblings in flight still report, later ones
// do not start.
func TestToolError(t *testing.T) { // L5 L7
	t.Parallel()
	j, w := mem(), &world{}
	post(t, j, hello("1"))
	r := runner(w, j, calls("look", "fail", "write"), bye)
	r.Tools = append(w.tools(), w.tool("fail", reads, func(context.Context, uzda.Use) (uzda.Result, error) {
		return uzda.Result{}, errors.New("the database is gone")
	}))
	s := run(t, r)
	rs := results(s)
	valid(t, s)
	if reason(s) != uzda.ToolError || len(rs) != 3 || rs[0].IsError || rs[1].Code != uzda.CodeFailed || rs[2].Code != uzda.CodeNotStarted ||
		!strings.Contains(s.Ended.Detail, "the database is gone") || w.ran("write") != 0 {
		t.Errorf("%s %q, %+v", reason(s), s.Ended.Detail, rs)
	}
}

// The next turn of the same run has its own time.
func TestTimeIsPerTurn(t *testing.T) { // L4
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		j, w := mem(), &world{}
		post(t, j, hello("1"))
		r := runner(w, j, calls("wait"), calls("nap"), bye)
		r.Limits.Time, r.Poll, r.Grace = 10*time.Second, time.Second, time.Second
		r.Tools = []uzda.Tool{
			w.tool("wait", reads, func(ctx context.Context, _ uzda.Use) (uzda.Result, error) {
				post(t, j, uzda.Posted{ID: "2", Blocks: uzda.Say("go on"), Turn: true})
				return uzda.Result{}, nap(ctx, time.Hour)
			}),
			w.tool("nap", reads, func(ctx context.Context, _ uzda.Use) (uzda.Result, error) {
				return text("slept"), nap(ctx, 8*time.Second)
			}),
		}
		s := run(t, r)
		ends := kept[uzda.Ended](t, j)
		if len(ends) != 2 || ends[0].Reason != uzda.MaxTime || reason(s) != uzda.EndTurn || s.Last.Active != 8*time.Second {
			t.Errorf("%+v, %s", ends, s.Last.Active)
		}
	})
}

// At the limit of calls the model may still answer; one call more ends the turn.
func TestAnswersAtTheLimitOfCalls(t *testing.T) {
	t.Parallel()
	for limit, want := range map[int]uzda.Reason{1: uzda.MaxCalls, 2: uzda.EndTurn} {
		j, w := mem(), &world{}
		post(t, j, hello("1"))
		r := runner(w, j, calls("read", "read"), script.Turn{Text: "done"})
		r.Limits.Calls, r.Folded = limit, faithful(t, j)
		if s := run(t, r); reason(s) != want || w.ran("read") != limit {
			t.Errorf("a limit of %d: %s, %d ran", limit, reason(s), w.ran("read"))
		}
	}
}

// Counts that no call can have neither break the ledger nor make money.
func TestAbsurdUsage(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1 << 40, 1 << 62, -1 << 62} {
		j := mem()
		post(t, j, hello("1"))
		r := runner(&world{}, j)
		r.Model = stream{chunks: []uzda.Chunk{uzda.Done{Block: uzda.Text{Text: "ok"}}, uzda.Stop{Reason: uzda.StopEnd, Usage: uzda.Usage{Input: n, Output: n, CacheRead: n}}}}
		r.Prices, r.Folded = prices{Input: 50 * uzda.Dollar, Output: 50 * uzda.Dollar, CacheRead: 50 * uzda.Dollar}, faithful(t, j)
		s := run(t, r)
		settled, held, err := j.Spent(t.Context(), "turn:s/1")
		if reason(s) != uzda.EndTurn || err != nil || settled < 0 || held != 0 || s.Cost < 0 || s.Usage.Total() < 0 {
			t.Errorf("%d: %s, settled %s, cost %s, %d tokens", n, reason(s), settled, s.Cost, s.Usage.Total())
		}
	}
}

// A model whose price nobody knows is held at the dearest, and said to be unknown.
func TestUnknownPrice(t *testing.T) {
	t.Parallel()
	j := mem()
	post(t, j, hello("1"))
	r := runner(&world{}, j)
	r.Model = remote{script.Model{Turns: []script.Turn{{Text: "ok", Usage: &uzda.Usage{Input: 1000}}}}}
	r.Prices, r.Folded = dearest{}, faithful(t, j)
	if s := run(t, r); !s.Unpriced || !s.Last.Unpriced || s.Guess || s.Cost != uzda.Dollar/100 || s.Last.Model != "remote/one" {
		t.Errorf("unpriced %v, guess %v, %s, by %q", s.Unpriced, s.Guess, s.Cost, s.Last.Model)
	}
}

type dearest struct{}

func (dearest) Price(string, int) (uzda.Price, bool) {
	return uzda.Price{Input: 10 * uzda.Dollar, Output: 50 * uzda.Dollar}, false
}
