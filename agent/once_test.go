package agent_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/agent"
	"github.com/uzda-dev/uzda/model/script"
)

// The same payment is made once, a new write is a new call, and a repeat gets the
// first result. T5
func TestOnce(t *testing.T) {
	t.Parallel()
	j, w := mem(), &world{}
	post(t, j, hello("1"))
	r := runner(w, j, same("pay", `{"a":1,"b":2}`), same("pay", `{"b":2,"a":1}`), same("pay", `{"a":2}`), same("write", `{}`), same("write", `{}`), bye)
	r.Folded = faithful(t, j)
	s := run(t, r)
	rs := results(s)
	if w.ran("pay") != 2 || w.ran("write") != 2 || reason(s) != uzda.EndTurn {
		t.Fatalf("%s, ran %s", reason(s), w.log())
	}
	if got := rs[1].Blocks.String(); rs[1].IsError || rs[1].Effect != uzda.EffectNone || !strings.Contains(got, "already done") || !strings.Contains(got, `ok {"a":1,"b":2}`) {
		t.Errorf("the repeat was told %+v", rs[1])
	}
	post(t, j, hello("2")) // also in a later turn, after a restart
	r = runner(w, j, append(slices.Repeat([]script.Turn{bye}, 6), same("pay", `{"b":2,"a":1}`), bye)...)
	if s = run(t, r); w.ran("pay") != 2 {
		t.Error("paid again after a restart", reason(s))
	}
}

// A lost payment blocks its repeats until somebody says what became of it. T5
func TestOnceUnknown(t *testing.T) {
	t.Parallel()
	pay := same("pay", `{"to":"x"}`)
	for _, tt := range []struct {
		how  string
		in   func(u uzda.UseID) uzda.Body
		runs int
		told string
	}{
		{"unresolved", nil, 1, "not known"},
		{"it did not happen", func(u uzda.UseID) uzda.Body { return uzda.Resolved{ID: "r", Use: u} }, 2, "ok {"},
		{"it did happen", func(u uzda.UseID) uzda.Body { return uzda.Resolved{ID: "r", Use: u, Took: true} }, 1, "Its result was lost"},
		{"it came late", func(u uzda.UseID) uzda.Body {
			return uzda.Late{ID: "l", Result: uzda.ToolResult{Use: u, Blocks: uzda.Say("receipt 7"), Effect: uzda.EffectDone}}
		}, 1, "receipt 7"},
	} {
		t.Run(tt.how, func(t *testing.T) {
			t.Parallel()
			j, w := mem(), &world{}
			post(t, j, hello("1"))
			r := runner(w, &crasher{store: j, At: 3}, pay)
			if _, err := r.Run(t.Context(), sid); err == nil || w.ran("pay") != 1 {
				t.Fatal("no crash after the effect", err)
			}
			r.Close()
			s := run(t, runner(w, j, pay, bye))
			first := results(s)[0]
			if first.Effect != uzda.EffectUnknown || len(s.Unknown) != 1 {
				t.Fatalf("%+v", first)
			}
			if tt.in != nil {
				post(t, j, tt.in(first.Use))
			}
			post(t, j, hello("2"))
			r = runner(w, j, pay, bye, pay, bye)
			r.Folded = faithful(t, j)
			s = run(t, r)
			rs := results(s)
			if got := rs[1].Blocks.String(); reason(s) != uzda.EndTurn || w.ran("pay") != tt.runs || !strings.Contains(got, tt.told) {
				t.Errorf("%s, paid %d times, told %q", reason(s), w.ran("pay"), got)
			}
			if tt.in == nil && rs[1].Code != uzda.CodeOutcomeUnknown {
				t.Errorf("%+v", rs[1])
			}
		})
	}
}

// An error of a payment blocks it, unless the tool says that nothing happened. T5
func TestOnceError(t *testing.T) {
	t.Parallel()
	for effect, want := range map[uzda.Effect]int{"": 1, uzda.EffectNone: 2, uzda.EffectDone: 1} {
		j, w := mem(), &world{}
		post(t, j, hello("1"))
		r := runner(w, j, same("pay", `{}`), same("pay", `{}`), bye)
		r.Tools = []uzda.Tool{w.tool("pay", uzda.Effects{}, func(context.Context, uzda.Use) (uzda.Result, error) {
			return uzda.Result{IsError: true, Effect: effect, Blocks: uzda.Say("card declined")}, nil
		})}
		if run(t, r); w.ran("pay") != want {
			t.Errorf("effect %q: ran %d times, want %d", effect, w.ran("pay"), want)
		}
	}
}

// Sessions that share a scope pay once between them, also when they start
// together, and a key that became free is taken over. T5
func TestOnceAcrossSessions(t *testing.T) {
	t.Parallel()
	j, w := mem(), &world{}
	ids := []uzda.SessionID{"a", "b", "c", "d"}
	pay := same("pay", `{"to":"x"}`)
	var wg sync.WaitGroup
	for _, id := range ids {
		openAs(t, j, id, uzda.Opened{Scope: "mission"})
		if _, err := j.Append(t.Context(), id, uzda.At{Head: uzda.AnyHead}, hello("1")); err != nil {
			t.Fatal(err)
		}
		wg.Go(func() {
			if s, err := runner(w, j, pay, bye).Run(context.Background(), id); err != nil || reason(s) != uzda.EndTurn {
				t.Error(id, err)
			}
		})
	}
	wg.Wait()
	if w.ran("pay") != 1 {
		t.Fatalf("paid %d times", w.ran("pay"))
	}
	openAs(t, j, "e", uzda.Opened{Scope: "mission"})
	if _, err := j.Append(t.Context(), "e", uzda.At{Head: uzda.AnyHead}, hello("1")); err != nil {
		t.Fatal(err)
	}
	s, err := runner(w, j, pay, bye).Run(t.Context(), "e")
	if err != nil || w.ran("pay") != 1 || !strings.Contains(results(s)[0].Blocks.String(), `ok {"to":"x"}`) {
		t.Errorf("%v, paid %d times, told %s", err, w.ran("pay"), results(s)[0].Blocks)
	}
}

// A key whose use did not happen is free for another session.
func TestOnceFreed(t *testing.T) { // T5
	t.Parallel()
	j := mem()
	pay := same("pay", `{}`)
	for i, id := range []uzda.SessionID{"a", "b"} {
		w := &world{}
		openAs(t, j, id, uzda.Opened{Scope: "m"})
		if _, err := j.Append(t.Context(), id, uzda.At{Head: uzda.AnyHead}, hello("1")); err != nil {
			t.Fatal(err)
		}
		r := runner(w, j, pay, bye)
		r.Tools = []uzda.Tool{w.tool("pay", uzda.Effects{}, func(context.Context, uzda.Use) (uzda.Result, error) {
			if i == 0 {
				return uzda.Result{IsError: true, Effect: uzda.EffectNone, Blocks: uzda.Say("no connection")}, nil
			}
			return text("paid"), nil
		})}
		if _, err := r.Run(t.Context(), id); err != nil || w.ran("pay") != 1 {
			t.Errorf("session %s: %v, %s", id, err, w.log())
		}
	}
}

// Eight children start together on one account: they never spend more than it
// has, and the rest end max_cost. case:B06
func TestBudgetIsShared(t *testing.T) { // K2
	t.Parallel()
	for _, spent := range []uzda.Money{0, 9 * uzda.Dollar / 100} {
		j := mem()
		limit := uzda.Account{Name: "turn:parent/1", Limit: uzda.Dollar / 10}
		if spent > 0 {
			if err := j.Reserve(t.Context(), uzda.Hold{ID: "before", Amount: spent, Accounts: []uzda.Account{limit}}); err != nil {
				t.Fatal(err)
			}
			if err := j.Settle(t.Context(), uzda.Settlement{ID: "before", Spent: spent}); err != nil {
				t.Fatal(err)
			}
		}
		var mu sync.Mutex
		ends := map[uzda.Reason]int{}
		var wg sync.WaitGroup
		for i := range 8 {
			id := uzda.SessionID(fmt.Sprint("child", i))
			openAs(t, j, id, uzda.Opened{Charge: []uzda.Account{limit}})
			if _, err := j.Append(t.Context(), id, uzda.At{Head: uzda.AnyHead}, hello("1")); err != nil {
				t.Fatal(err)
			}
			r := runner(&world{}, j)
			r.Model = remote{script.Model{Turns: []script.Turn{{Text: "done", Usage: &uzda.Usage{Output: 1000}, Delay: time.Millisecond}}}}
			r.Prices = prices{Output: 30 * uzda.Dollar} // 1000 tokens: 0.03
			wg.Go(func() {
				s, err := r.Run(context.Background(), id)
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				ends[reason(s)]++
				mu.Unlock()
			})
		}
		wg.Wait()
		settled, held, err := j.Spent(t.Context(), limit.Name)
		want := int((limit.Limit - spent) / (3 * uzda.Dollar / 100))
		if err != nil || settled > limit.Limit || held != 0 || ends[uzda.EndTurn] != want || ends[uzda.MaxCost] != 8-want {
			t.Errorf("settled %s, held %s, ends %v, want %d done", settled, held, ends, want)
		}
	}
}

// A run that dies between reserve and settle has spent its hold: in the ledger and
// in the turn. K2
func TestLostHold(t *testing.T) { // rule 2
	t.Parallel()
	j := mem()
	post(t, j, hello("1"))
	build := func(to uzda.Store) *agent.Runner {
		r := runner(&world{}, to)
		r.Model = remote{script.Model{Turns: []script.Turn{{Text: "done", Usage: &uzda.Usage{Output: 10}}}, ByView: true}}
		r.Prices, r.Limits.Cost = prices{Output: 30 * uzda.Dollar}, 7*uzda.Dollar/100
		return r
	}
	if _, err := build(&crasher{store: j, At: 2}).Run(t.Context(), sid); !errors.Is(err, errCrash) {
		t.Fatal(err)
	}
	s := run(t, build(j))
	settled, held, err := j.Spent(t.Context(), "turn:s/1")
	hold, cost := 3*uzda.Dollar/100, 3*uzda.Dollar/10_000
	if err != nil || reason(s) != uzda.EndTurn || held != hold || settled != cost || s.Last.Cost != cost || s.Last.Lost != hold || s.Last.Steps != 2 || !s.Guess {
		t.Errorf("%s: settled %s, held %s, turn %s after %d steps", reason(s), settled, held, s.Last.Cost, s.Last.Steps)
	}
}

// A failed attempt below a decorator is visible, and its tokens count.
func TestTried(t *testing.T) {
	t.Parallel()
	j := mem()
	post(t, j, hello("1"))
	r := runner(&world{}, j)
	r.Model, r.Prices = retrying{}, prices{Input: uzda.Dollar}
	var restarts int
	r.Events = func(_ uzda.SessionID, evs ...uzda.Event) {
		if _, ok := evs[0].Body.(uzda.Restarted); ok {
			restarts++
		}
	}
	s := run(t, r)
	settled, held, err := j.Spent(t.Context(), "session:s")
	if err != nil || kinds(t, j) != "posted equipped asked tried used said ended" || s.Last.Cost != settled || !s.Guess || restarts != 1 || s.Last.Tokens != 1001 || held != 0 || settled != 1001*uzda.Dollar/1_000_000 {
		t.Errorf("%s, %d tokens, settled %s", kinds(t, j), s.Last.Tokens, settled)
	}
}

type retrying struct{ remote }

func (retrying) Stream(context.Context, *uzda.Request) iter.Seq2[uzda.Chunk, error] {
	return func(yield func(uzda.Chunk, error) bool) {
		for _, c := range []uzda.Chunk{
			uzda.Delta{Kind: "text", Text: "par"},
			uzda.Attempt{N: 2, Error: "cut", Usage: uzda.Usage{Input: 1000}},
			uzda.Done{Block: uzda.Text{Text: "done"}},
			uzda.Stop{Reason: uzda.StopEnd, Usage: uzda.Usage{Input: 1}},
		} {
			if !yield(c, nil) {
				return
			}
		}
	}
}
