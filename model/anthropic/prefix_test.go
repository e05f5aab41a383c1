package anthropic_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/agent"
	"github.com/uzda-dev/uzda/journal"
	"github.com/uzda-dev/uzda/model/modeltest"
)

// crashing is a store whose process dies each time before it has stored a result
// that stands in dies.
type crashing struct {
	*journal.Mem
	results int
	dies    map[int]bool
}

var errCrash = errors.New("crash")

func (c *crashing) Append(ctx context.Context, id uzda.SessionID, at uzda.At, b ...uzda.Body) ([]uzda.Event, error) {
	for _, one := range b {
		if _, ok := one.(uzda.Returned); ok {
			if c.results++; c.dies[c.results] {
				return nil, errCrash
			}
		}
	}
	return c.Mem.Append(ctx, id, at, b...)
}

// flat is one price for everything.
type flat uzda.Price

func (f flat) Price(string, int) (uzda.Price, bool) { return uzda.Price(f), true }

var markers = regexp.MustCompile(`,"cache_control":\{"type":"ephemeral"(,"ttl":"1h")?\}`)

// A run of fifty steps with three crashes, a tool that joins late and budget notes
// at its end sends the same bytes again and again, with more behind them; the
// provider reads nearly all of them from what it has kept, and its bill is what
// the session says that it cost. case:C08 case:B01 M4 K1
func TestFiftySteps(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(1, 2))
	var turns []modeltest.Turn
	for i := range 50 {
		turn := modeltest.Turn{Thinking: fmt.Sprintf("Step %d.", i), Text: fmt.Sprintf("I add %d. %s", i, strings.Repeat("So it is. ", rnd.IntN(40)))}
		for n := range 1 + rnd.IntN(3)*rnd.IntN(12) { // sometimes more blocks than the provider looks back
			turn.Calls = append(turn.Calls, add(i, n))
		}
		turns = append(turns, turn)
	}
	turns = append(turns, bye)
	s := modeltest.Serve(t, modeltest.Config{Turns: turns, ByView: true})
	price := uzda.Price{Input: 4 * uzda.Dollar, Output: 20 * uzda.Dollar, CacheRead: uzda.Dollar / 5, CacheWrite: 5 * uzda.Dollar, CacheLong: 8 * uzda.Dollar}
	w := &world{}
	store := &crashing{Mem: journal.Memory(), dies: map[int]bool{60: true, 150: true, 300: true}}
	var state *agent.State
	crashes := 0
	for state == nil {
		m := at(s)
		m.Tries = 1
		r := &agent.Runner{Store: store, Holder: "test", Poll: 2 * time.Millisecond, Prices: flat(price), Agent: agent.Agent{
			Model: m, System: strings.Repeat("You add numbers. ", 300), Tools: w.tools()[:1],
			Limits: uzda.Limits{Steps: 52, Calls: 5000, Repeat: 1000, Tokens: 1 << 40, Cost: 1000 * uzda.Dollar},
		}}
		if crashes >= 2 {
			r.Tools = w.tools()
		}
		if crashes == 0 {
			if _, err := store.Append(t.Context(), session, uzda.At{Head: uzda.AnyHead}, uzda.Posted{ID: "1", Blocks: uzda.Say("go")}); err != nil {
				t.Fatal(err)
			}
		}
		got, err := r.Run(t.Context(), session)
		if errors.Is(err, errCrash) {
			if crashes++; crashes > 3 {
				t.Fatal("it crashes for ever")
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		state = got
	}
	if o := state.Outcome(session); o.Reason != uzda.EndTurn || crashes != 3 {
		t.Fatalf("it ended with %v after %d crashes", o, crashes)
	}
	asks := s.Asks()
	if len(asks) != 51 {
		t.Fatalf("there were %d requests", len(asks))
	}
	late, read, fresh := 0, 0, 0
	for i := 1; i < len(asks); i++ {
		before, now := sameBytes(asks[i-1].Body), sameBytes(asks[i].Body)
		if c := asks[i].Extends(&asks[i-1]); len(asks[i].Tools) != len(asks[i-1].Tools) {
			late++
			if start, _, ok := bytes.Cut(before, []byte(`],"system"`)); !ok || !bytes.HasPrefix(now, start) {
				t.Errorf("request %d: a tool that joins late changes what stands before it", i+1)
			}
		} else if c.Part != "" && !c.Tail {
			t.Errorf("request %d: %v", i+1, c)
		} else if !bytes.HasPrefix(now, before) {
			t.Errorf("request %d does not begin with the bytes of the one before", i+1)
		}
		if u := asks[i].Usage; i > 1 && late == 0 {
			read, fresh = read+u.CacheRead, fresh+u.Context()-u.CacheRead
			if u.CacheRead == 0 {
				t.Errorf("request %d read nothing of what was kept: %+v", i+1, u)
			}
		}
	}
	if late != 1 || read < 9*fresh {
		t.Errorf("%d changes of tools; %d tokens were read, %d were not", late, read, fresh)
	}
	bill := s.Bill(func(string, int) uzda.Price { return price })
	if diff := bill - state.Cost; diff < -1000 || diff > 1000 { // 1e-9 dollars
		t.Errorf("the session says %d picodollars, the bill is %d", state.Cost, bill)
	}
	t.Logf("%d tokens read of the cache, %d not; the bill is %.9f dollars", read, fresh, float64(bill)/float64(uzda.Dollar))
}

// sameBytes is what of a body must stand in the next one too: all up to the end of
// the last message that is no tail, without markers.
func sameBytes(body []byte) []byte {
	out := markers.ReplaceAll(body, nil)
	if i := bytes.LastIndex(out, []byte(`}]}],"max_tokens":`)); i >= 0 {
		out = out[:i]
	}
	if i := bytes.LastIndex(out, []byte(`,{"type":"text","text":"`)); i >= 0 && !bytes.Contains(out[i:], []byte(`"role"`)) && !bytes.Contains(out[i:], []byte("tool_result")) {
		out = out[:i] // the tail
	}
	return out
}
