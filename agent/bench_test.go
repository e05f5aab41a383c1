package agent_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/agent"
)

var kilo = strings.Repeat("0123456789abcdef", 64)

// What is measured: windows of steps that each have one checkpoint, which comes
// every 200 steps.
const early, late, window = 20, 420, 200

// instant answers every ask with one call, and notes the clock and the
// allocations at some of them.
type instant struct {
	steps  int
	at     map[int]time.Time
	allocs map[int]uint64
}

func (p *instant) Stream(_ context.Context, req *uzda.Request) iter.Seq2[uzda.Chunk, error] {
	return func(yield func(uzda.Chunk, error) bool) {
		if n := req.Ask; n == early || n == early+window || n == late || n == late+window {
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			p.at[n], p.allocs[n] = time.Now(), m.Mallocs
		}
		stop := uzda.StopEnd
		if req.Ask < p.steps {
			stop = uzda.StopUse
			if !yield(uzda.Done{Block: uzda.ToolUse{Wire: "c", Name: "kilo", Input: json.RawMessage(fmt.Sprintf(`{"n":%d}`, req.Ask))}}, nil) {
				return
			}
		}
		_ = yield(uzda.Done{Block: uzda.Text{Text: "ok"}}, nil) && yield(uzda.Stop{Reason: stop, Usage: uzda.Usage{Input: 1}}, nil)
	}
}

// steps runs some 620 steps of 1 KB each on an instant model.
func steps(t testing.TB, j uzda.Store) *instant {
	p := &instant{steps: late + window + 1, at: map[int]time.Time{}, allocs: map[int]uint64{}}
	post(t, j, hello("1"))
	r := runner(&world{}, j)
	r.Model, r.Limits, r.Poll = p, uzda.Limits{Steps: 1000, Calls: 1000}, time.Hour
	r.Tools = []uzda.Tool{plainKilo{}}
	if s := run(t, r); reason(s) != uzda.EndTurn {
		t.Fatal(reason(s), s.Ended.Detail)
	}
	return p
}

type plainKilo struct{}

func (plainKilo) Spec() uzda.ToolSpec { return uzda.ToolSpec{Name: "kilo", Effects: reads} }
func (plainKilo) Call(_ context.Context, u uzda.Use) (uzda.Result, error) {
	return text(string(u.Input) + kilo), nil
}

// A step costs the same however long the view is.
func TestAllocsAreFlat(t *testing.T) { // not parallel: it counts allocations of the process
	best20, best400 := ^uint64(0), ^uint64(0)
	for range 3 {
		p := steps(t, stored{mem()})
		best20, best400 = min(best20, (p.allocs[early+window]-p.allocs[early])/window), min(best400, (p.allocs[late+window]-p.allocs[late])/window)
	}
	t.Logf("%d allocations a step at 20 steps, %d at 400", best20, best400)
	if float64(best400) > 1.1*float64(best20) || best20 > 250 {
		t.Errorf("%d allocations a step at 20 steps, %d at 400; at most 250, and no more later", best20, best400)
	}
}

func BenchmarkSteps(b *testing.B) {
	var s20, s400 time.Duration
	for b.Loop() {
		p := steps(b, mem())
		s20, s400 = s20+p.at[early+window].Sub(p.at[early]), s400+p.at[late+window].Sub(p.at[late])
	}
	b.ReportMetric(float64(s20.Microseconds())/float64(window*b.N), "µs/step20")
	b.ReportMetric(float64(s400.Microseconds())/float64(window*b.N), "µs/step400")
}

// long builds the bodies of a session with n events of 1 KB, compacted every
// keep turns, or never with 0.
func long(n, keep int) (out []uzda.Body) {
	s := &agent.State{}
	add := func(b uzda.Body) {
		out = append(out, b)
		s.Fold(uzda.Event{Seq: s.Head + 1, Body: b})
	}
	add(uzda.Equipped{Tools: []uzda.ToolSpec{{Name: "kilo", Effects: reads}}, Limits: uzda.Limits{}.OrDefault()})
	for t := 1; len(out) < n; t++ {
		add(uzda.Posted{Blocks: uzda.Say("go")})
		add(uzda.Asked{})
		add(uzda.Said{Stop: uzda.StopUse, Message: uzda.Message{Role: uzda.Assistant, Blocks: uzda.Blocks{uzda.ToolUse{Name: "kilo", Input: json.RawMessage(`{}`)}}}})
		id := s.Uses[0].ID
		add(uzda.Judged{Use: id})
		add(uzda.Started{Use: id, Attempt: 1})
		add(uzda.Returned{Result: uzda.ToolResult{Use: id, Blocks: uzda.Say(kilo)}})
		add(uzda.Asked{})
		add(uzda.Said{Stop: uzda.StopEnd, Message: uzda.Message{Role: uzda.Assistant, Blocks: uzda.Say(kilo)}})
		add(uzda.Ended{Outcome: uzda.Finished, Reason: uzda.EndTurn})
		if keep > 0 && t%keep == 0 {
			add(uzda.Edited{What: "compact", From: s.View[0].Seq, To: s.View[len(s.View)-5].Seq,
				With: []uzda.Entry{{Seq: s.View[0].Seq, Message: uzda.Message{Role: uzda.User, Blocks: uzda.Say(kilo)}}}})
		}
	}
	return out
}

// BenchmarkResume loads a long session in a new process: all of it, and from a
// checkpoint whose view is within a window.
func BenchmarkResume(b *testing.B) {
	for _, n := range []int{10_000, 50_000} {
		bodies := long(n, 100)
		for _, kind := range []string{"files", "sqlite"} {
			for _, checkpoint := range []bool{false, true} {
				b.Run(fmt.Sprintf("events=%d/%s/checkpoint=%v", n, kind, checkpoint), func(b *testing.B) {
					resume(b, kind, bodies, checkpoint)
				})
			}
		}
	}
}

func resume(b *testing.B, kind string, bodies []uzda.Body, checkpoint bool) {
	dir := b.TempDir()
	open := func() store {
		j, err := openStore(kind, dir)
		if err != nil {
			b.Fatal(err)
		}
		return j
	}
	j := open()
	epoch, err := j.Acquire(b.Context(), sid, "bench")
	if err != nil {
		b.Fatal(err)
	}
	if _, err := j.Append(b.Context(), sid, uzda.At{Epoch: epoch}, bodies...); err != nil {
		b.Fatal(err)
	}
	if err := j.Release(b.Context(), sid, epoch); err != nil {
		b.Fatal(err)
	}
	if checkpoint {
		run(b, runner(&world{}, j))
	}
	if err := uzda.CloseStore(j); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		j := open()
		s, err := agent.Load(b.Context(), j, sid)
		if err != nil || int(s.Head) != len(bodies) {
			b.Fatal(err)
		}
		if err := uzda.CloseStore(j); err != nil {
			b.Fatal(err)
		}
	}
}
