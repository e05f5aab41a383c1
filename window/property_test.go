package window_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/window"
)

// chance tells a random story: parallel calls, errors, effects, pictures, thinking,
// blocks that nobody knows, labels, the same read again, people who cut in.
func chance(t testing.TB, r *rand.Rand, s *stage, steps int) {
	words := []string{"Zażółć ", "Съешь ", "快速的棕色 ", "👩‍👧 ", "1 234,50 zł ", "id-77 ", "a\r\n", "{\"x\":[1]} ", "\xff", "</record> ", "[cleared: "}
	text := func(n int) string {
		var b strings.Builder
		for range 1 + r.IntN(n) {
			b.WriteString(words[r.IntN(len(words))])
		}
		return b.String()
	}
	labels := func() (m uzda.Meta) {
		if r.IntN(4) == 0 {
			m.Labels = []uzda.Label{{Kind: uzda.Untrusted, From: fmt.Sprint(r.IntN(5))}}
		}
		return m
	}
	picture := shot(t)
	s.posted("Do it. " + text(20))
	for range steps {
		if r.IntN(6) == 0 {
			s.said(text(60))
			s.posted(text(60))
			continue
		}
		var deeds []deed
		for range 1 + r.IntN(4) {
			tool := s.head.Tools[r.IntN(len(s.head.Tools))].Name
			in, _ := json.Marshal(map[string]any{"path": fmt.Sprintf("f%d", r.IntN(6)), "n": r.IntN(2)})
			d := did(tool, string(in), text(700))
			d.res.Meta = labels()
			switch r.IntN(8) {
			case 0:
				d.res.IsError, d.res.Code, d.res.Effect = true, uzda.CodeOutcomeUnknown, uzda.EffectUnknown
			case 1:
				d.res.Effect = uzda.EffectDone
			case 2:
				d.res.Blocks = append(d.res.Blocks, picture)
			case 3:
				d.res.Blocks = uzda.Blocks{uzda.Opaque{Meta: labels(), Origin: "x", Raw: json.RawMessage(`{"type":"new","data":"` + strings.Repeat("ab", 500) + `"}`)}}
			case 4:
				d.res.Blocks = nil
			case 5:
				d.res.Full = &uzda.Full{Blob: "b", Size: 1 << 20}
			}
			deeds = append(deeds, d)
		}
		s.step(deeds...)
		reply := &s.entries[len(s.entries)-2].Message
		if r.IntN(3) == 0 {
			reply.Blocks = slices.Insert(reply.Blocks, 0, uzda.Block(uzda.Thinking{Text: text(20), Signature: "sig"}), uzda.Block(uzda.Text{Text: text(9)}))
			reply.Items = []uzda.Item{{Blocks: len(reply.Blocks), Raw: json.RawMessage(`{"any":1}`)}}
		}
		if r.IntN(5) == 0 { // a person joins the results
			last := &s.entries[len(s.entries)-1].Message
			last.Blocks = append(last.Blocks, uzda.Text{Text: text(9), Meta: labels()})
		}
	}
}

// everyLabel finds all labels in a view.
func everyLabel(view []uzda.Entry) (all []uzda.Label) {
	for _, e := range view {
		for _, b := range e.Message.Blocks {
			all = uzda.Union(all, b.Marks()...)
			if r, ok := b.(uzda.ToolResult); ok {
				for _, in := range r.Blocks {
					all = uzda.Union(all, in.Marks()...)
				}
			}
		}
	}
	return all
}

// outcomes are how the uses of a view ended.
func outcomes(view []uzda.Entry) map[uzda.UseID]string {
	out := map[uzda.UseID]string{}
	for _, e := range view {
		for _, r := range e.Message.Results() {
			out[r.Use] = fmt.Sprint(r.IsError, r.Code, r.Effect, r.Labels, r.Full)
		}
	}
	return out
}

// moves makes random moves on a random story. After each, calls and results are
// whole, roles legal, the view smaller or as it was, the last step untouched, and
// labels and outcomes kept; what was done is not done again.
func moves(t testing.TB, seed uint64) {
	r := rand.New(rand.NewPCG(seed, 5))
	s := newStage(t, []int{4000, 12_000, 40_000}[r.IntN(3)])
	s.blind, s.by.Keep, s.by.Last = r.IntN(3) == 0, r.IntN(5)-1, r.IntN(8)
	chance(t, r, s, 1+r.IntN(30))
	for range 6 {
		was, size := s.entries, s.size()
		at, before := fixed(was), fmt.Sprint(was)
		labels, ended := everyLabel(was), outcomes(was)
		once := func(move func(view []uzda.Entry, fixed int) (uzda.Edited, bool)) {
			e, ok := move(s.entries, at)
			if !ok {
				return
			}
			next := made(t, s.entries, e)
			if tokens(next) >= tokens(s.entries) {
				t.Fatalf("%s made no room", e.What)
			}
			if s.entries = next; e.Only && len(next) != len(was) {
				t.Fatalf("%s: %d messages, then %d", e.What, len(was), len(next))
			}
			legal(t, was[at:], s.entries)
			if again, ok := move(s.entries, at); ok {
				t.Fatalf("%s was made twice: %v", e.What, again.With)
			}
		}
		switch r.IntN(7) {
		case 0:
			o := window.ClearOptions{Keep: r.IntN(5) - 1, Large: r.IntN(3) * 400, Tools: s.head.Tools}
			once(func(v []uzda.Entry, f int) (uzda.Edited, bool) { return window.Clear(v, f, o) })
		case 1:
			once(func(v []uzda.Entry, f int) (uzda.Edited, bool) { return window.Dedupe(v, f, s.head.Tools) })
		case 2:
			s.plan(func(v *uzda.View) { v.Forced = true })
		case 3:
			s.plan(func(v *uzda.View) { v.Refused = true })
		case 4:
			s.plan(func(v *uzda.View) { v.Refused, v.Side = true, nil })
		case 5:
			s.plan(func(v *uzda.View) { v.First = true })
		default:
			s.plan(nil)
		}
		if fmt.Sprint(was) != before {
			t.Fatal("the view that was given has changed")
		}
		if s.size() > size {
			t.Fatalf("%d tokens, then %d", size, s.size())
		}
		now := everyLabel(s.entries)
		for _, l := range labels {
			if !slices.Contains(now, l) {
				t.Fatalf("label %v is gone, after %v", l, s.what)
			}
		}
		for use, how := range outcomes(s.entries) {
			if ended[use] != how {
				t.Fatalf("use %s ended %s, now %s", use, ended[use], how)
			}
		}
		if r.IntN(2) == 0 {
			goOn(s, r)
		}
	}
}

// goOn goes on a little.
func goOn(s *stage, r *rand.Rand) {
	for range r.IntN(4) {
		s.step(document(r.IntN(5)), did("shell", `{"command":"ls"}`, lines[:r.IntN(900)+1]))
	}
}

// C2 C3 peer:10 peer:11: any moves on any history leave it fit to be sent.
func TestMovesKeepTheViewWhole(t *testing.T) {
	t.Parallel()
	for seed := range uint64(60) {
		moves(t, seed)
	}
}

func FuzzMoves(f *testing.F) {
	for _, seed := range []uint64{1, 77, 4711} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) { moves(t, seed) })
}

// long1000 is a history of 1,000 messages: 499 steps of about 1 KB, some of them alike.
func long1000(b *testing.B) *stage {
	s := newStage(b, 320_000)
	s.posted("Read all of them.")
	for i := range 499 {
		s.step(did("read_file", fmt.Sprintf(`{"path":"doc-%d.txt"}`, i%300), lines[:1000]))
	}
	s.said("That is all.")
	return s
}

// C2: what each move costs of our own time on 1,000 messages.
func BenchmarkMoves(b *testing.B) {
	s := long1000(b)
	at := fixed(s.entries)
	b.Run("clear", func(b *testing.B) {
		for b.Loop() {
			if _, ok := window.Clear(s.entries, at, window.ClearOptions{Tools: s.head.Tools}); !ok {
				b.Fatal("nothing was cleared")
			}
		}
	})
	b.Run("dedupe", func(b *testing.B) {
		for b.Loop() {
			if _, ok := window.Dedupe(s.entries, at, s.head.Tools); !ok {
				b.Fatal("nothing was dropped")
			}
		}
	})
	for name, with := range map[string]func(v *uzda.View){
		"plan nothing": func(v *uzda.View) { v.Tokens, v.Counted = 1000, false },
		"plan clear":   func(v *uzda.View) { v.Budget = 200_000 },
		"plan compact": func(v *uzda.View) { v.Forced = true },
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				v := s.view()
				with(&v)
				if _, err := (window.Planner{}).Plan(b.Context(), v); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
