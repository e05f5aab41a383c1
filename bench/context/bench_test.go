package main

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/agent"
	"github.com/uzda-dev/uzda/journal"
	"github.com/uzda-dev/uzda/tool"
	"github.com/uzda-dev/uzda/window"
)

// cpu reports the time that the processor took for each round, of all threads: what
// others do on the machine is not in it.
func cpu(b *testing.B) func() {
	b.ReportAllocs()
	used := func() time.Duration {
		var u syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
			b.Fatal(err)
		}
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	before := used()
	return func() { b.ReportMetric(float64((used()-before).Microseconds())/float64(b.N), "cpu-µs/op") }
}

// thousand is a session of 1,000 messages: 499 steps whose results have 1 KB each,
// with some numbers, every tenth of them a repeated one.
func thousand(b *testing.B) *story {
	b.Helper()
	head := plainHead(uzda.ToolSpec{Name: "read_file", Effects: uzda.Effects{ReadOnly: true}})
	t := tell(head)
	t.post("Read the files and tell what the totals are.")
	for n := range 499 {
		file := n
		if n%10 == 9 {
			file = n - 5
		}
		in, err := json.Marshal(map[string]string{"path": fmt.Sprintf("data/part-%04d.txt", file)})
		if err != nil {
			b.Fatal(err)
		}
		text := fmt.Sprintf("part %d, total %d.%02d EUR, of 2031-%02d-%02d, see INV-%06d\n", file, 100+file*7, file%100, 1+file%12, 1+file%28, 310000+file)
		t.do("Next.", act{tool: "read_file", input: in, result: text + strings.Repeat("the rest of this file is prose that says little of use.\n", 17)})
	}
	s, err := t.story(b.Context(), "bench", "thousand", head, nil)
	if err != nil {
		b.Fatal(err)
	}
	if n := len(s.entries()); n != 999 {
		b.Fatalf("%d messages", n)
	}
	return s
}

// C1, C2: what the parts of a plan cost on a session of 1,000 messages, without a
// model: one that answers at once makes the summaries.
func BenchmarkThousandMessages(b *testing.B) {
	s := thousand(b)
	v := s.view(s.entries())
	v.Model.Window = 2 * v.Tokens
	edit := func(b *testing.B, want string, p window.Planner, v uzda.View) {
		defer cpu(b)()
		for b.Loop() {
			plan, err := p.Plan(context.Background(), v)
			if err != nil {
				b.Fatal(err)
			}
			var got []string
			for _, e := range plan.Edits {
				got = append(got, e.What)
			}
			if strings.Join(got, " ") != want {
				b.Fatalf("edits %q, want %q; missed %v", got, want, plan.Missed)
			}
		}
	}
	b.Run("weigh", func(b *testing.B) {
		defer cpu(b)()
		for b.Loop() {
			window.Weigh(v)
		}
	})
	b.Run("clear", func(b *testing.B) {
		defer cpu(b)()
		for b.Loop() {
			if _, ok := window.Clear(v.Entries, v.Fixed, window.ClearOptions{Tools: v.Head.Tools}); !ok {
				b.Fatal("nothing was cleared")
			}
		}
	})
	b.Run("dedupe", func(b *testing.B) {
		defer cpu(b)()
		for b.Loop() {
			if _, ok := window.Dedupe(v.Entries, v.Fixed, v.Head.Tools); !ok {
				b.Fatal("nothing was dropped")
			}
		}
	})
	b.Run("plan that does nothing", func(b *testing.B) {
		v := v
		v.Budget, v.First = 2*v.Tokens, true
		edit(b, "", window.Planner{}, v)
	})
	b.Run("plan that clears", func(b *testing.B) {
		v := v
		v.Budget = v.Tokens
		edit(b, uzda.MoveClear, window.Planner{}, v)
	})
	b.Run("plan that compacts", func(b *testing.B) {
		v := v
		v.Budget, v.Forced, v.Side = v.Tokens, true, firstSentences
		edit(b, uzda.MoveCompact, window.Planner{Keep: keepAll}, v)
	})
	b.Run("plan that hands over by code", func(b *testing.B) {
		v := v
		v.Budget, v.Forced, v.Compacted = v.Tokens/3, true, 2
		edit(b, uzda.MoveDedupe+" "+uzda.MoveHandover, window.Planner{Keep: keepAll}, v)
	})
}

// steady answers each ask with one call, and at the end with a text.
type steady struct{ steps int }

func (steady) Describe() uzda.ModelInfo {
	return uzda.ModelInfo{ID: "bench/steady", Window: 1 << 30, Free: true}
}

func (s steady) Stream(_ context.Context, req *uzda.Request) iter.Seq2[uzda.Chunk, error] {
	return func(yield func(uzda.Chunk, error) bool) {
		stop, block := uzda.StopEnd, uzda.Block(uzda.Text{Text: "ok"})
		if req.Ask < s.steps {
			stop, block = uzda.StopUse, uzda.ToolUse{Wire: "c", Name: "page", Input: json.RawMessage(fmt.Sprintf(`{"number":%d}`, req.Ask))}
		}
		_ = yield(uzda.Done{Block: block}, nil) && yield(uzda.Stop{Reason: stop, Usage: uzda.Usage{Input: 500 * req.Ask, Output: 10}}, nil)
	}
}

// C1: 400 steps of 1 KB on a model that answers at once: without a planner, and with
// one whose budget they never come near.
func BenchmarkSteps400(b *testing.B) {
	page := tool.New("page", "Gives back a page.", uzda.Effects{ReadOnly: true}, func(_ context.Context, in struct {
		Number int `json:"number"`
	}) (string, error) {
		return fmt.Sprint(in.Number, strings.Repeat(" 0123456789abcde", 64)), nil
	})
	for name, planner := range map[string]agent.Planner{"none": nil, "planner": window.Planner{}} {
		b.Run(name, func(b *testing.B) {
			defer cpu(b)()
			for b.Loop() {
				store := journal.Memory()
				if _, err := store.Append(b.Context(), "steps", uzda.At{Head: uzda.AnyHead}, uzda.Posted{ID: "in-1", Blocks: uzda.Say("go")}); err != nil {
					b.Fatal(err)
				}
				r := &agent.Runner{Store: store, Holder: "bench", Poll: time.Hour, Agent: agent.Agent{Model: steady{400}, Tools: []uzda.Tool{page},
					Planner: planner, Budget: 1 << 24, Limits: uzda.Limits{Steps: 1000, Calls: 1000, Tokens: 1 << 40}}}
				s, err := r.Run(b.Context(), "steps")
				if err != nil {
					b.Fatal(err)
				}
				if o := s.Outcome("steps"); o == nil || o.Reason != uzda.EndTurn {
					b.Fatalf("%+v", o)
				}
			}
		})
	}
}
