package window_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/window"
)

// C2 C5: a handover is told the originals from the journal, also where clears and
// compactions have taken them out of the view, and nothing of earlier summaries.
func TestHandoverTellsOriginals(t *testing.T) {
	t.Parallel()
	s := readings(10, 500)
	e, missed := window.Planner{Last: 1}.Compact(t.Context(), s.look(12_000, &teller{text: "LIE-1: all went well."}))
	s.edit(t, mustMake(t, e, missed))
	for i := range 8 {
		s.do("", paper(40+i, 500))
	}
	cleared, ok := window.Clear(s.view, fixed(s.view), window.ClearOptions{Keep: 1})
	if !ok {
		t.Fatal("nothing was cleared")
	}
	s.edit(t, cleared)
	for i := range 4 {
		s.do("", paper(60+i, 900))
	}
	e, missed = window.Planner{Last: 1}.Compact(t.Context(), s.look(12_000, &teller{text: "LIE-2: all went well."}))
	s.edit(t, mustMake(t, e, missed))
	s.do("", paper(80, 2000))
	last := s.do("The last.", paper(81, 100))
	side := &teller{text: "Thirty reports were read."}
	e, missed = window.Planner{}.Handover(t.Context(), s.look(30_000, side), false)
	s.edit(t, mustMake(t, e, missed))
	prompt, all := side.prompts(), spoken(s.view)
	for _, want := range []string{"INV-20000", "INV-20009", "INV-20040", "INV-20063", "INV-20080", "Read all reports"} {
		if !strings.Contains(prompt, want) {
			t.Errorf("the summariser is not told %s", want)
		}
	}
	if strings.Contains(prompt, "LIE-") || strings.Contains(all, "LIE-") {
		t.Error("it was made from an earlier summary")
	}
	if len(s.view) != 3 || !strings.HasPrefix(string(last[0]), fmt.Sprint(s.view[1].Seq)) || e.What != uzda.MoveHandover || e.Saved.Facts < 23 {
		t.Errorf("%d messages, %+v", len(s.view), e.Saved)
	}
	if textsOf(s.view[0].Message)[0] != "Read all reports and add up the invoices." {
		t.Errorf("the task: %q", textsOf(s.view[0].Message)[0])
	}
}

// C3 case:C05: where no model may be asked, or none answers, a handover by code
// keeps the task, what is pinned, the values, and what took effect.
func TestHandoverAlone(t *testing.T) {
	t.Parallel()
	for _, journal := range []bool{true, false} {
		s := readings(6, 900)
		effect := func(tool, in, out string, did uzda.Effect) deed {
			return deed{tool, in, uzda.ToolResult{Blocks: uzda.Say(out), Effect: did, IsError: did == uzda.EffectUnknown, Code: map[bool]uzda.Code{true: uzda.CodeTimeout}[did == uzda.EffectUnknown]}}
		}
		for i := range 120 {
			s.do("", effect("shell", fmt.Sprintf(`{"cmd":"make target-%03d"}`, i), "ok", uzda.EffectDone))
		}
		s.do("Now I pay.", effect("pay", `{"to":"PL61109010140000071219812874","sum":"1 234,56 zł"}`, "sent", uzda.EffectDone))
		s.do("And again.", effect("pay", `{"to":"X","sum":"2"}`, "no answer", uzda.EffectUnknown))
		s.do("", effect("grep", `{}`, "nothing", uzda.EffectNone))
		p := window.Planner{Pinned: func(context.Context, uzda.SessionID) ([]window.Pin, error) {
			return []window.Pin{{Title: "Notes", Text: "PIN-1"}, {Title: "Empty"}}, nil
		}}
		side := &teller{text: "never asked"}
		v := s.look(16_000, side)
		if !journal {
			v.Events = nil
		}
		e, missed := p.Handover(t.Context(), v, true)
		s.edit(t, mustMake(t, e, missed))
		all := spoken(s.view)
		for _, want := range []string{"Read all reports", "PIN-1", "<done>", "pay {\"to\":\"PL61109010140000071219812874\",\"sum\":\"1 234,56 zł\"}: result (took effect)",
			"pay {\"to\":\"X\",\"sum\":\"2\"}: error timeout (nobody knows whether it took effect)", "target-119", "before that: shell ", "read_file 6", "And again.", "INV-20005"} {
			if !strings.Contains(all, want) {
				t.Errorf("journal %v: the brief lacks %q:\n%s", journal, want, all)
			}
		}
		if len(side.seen) > 0 || e.Saved.Requests > 0 || strings.Contains(all, `title="Empty"`) {
			t.Errorf("%d requests, %+v", len(side.seen), e.Saved)
		}
	}
}

// C3: a journal that cannot be read, and pins that cannot be had, do not stand in
// the way: the view is told instead.
func TestBriefWithoutSources(t *testing.T) {
	t.Parallel()
	s := readings(12, 700)
	v := s.look(16_000, &teller{text: "They were read."})
	v.Events = func(context.Context) iter.Seq2[uzda.Event, error] {
		return func(yield func(uzda.Event, error) bool) { yield(uzda.Event{}, errors.New("disk")) }
	}
	v.Head.Tools = nil // what is not there is not recommended
	p := window.Planner{Pinned: func(context.Context, uzda.SessionID) ([]window.Pin, error) { return nil, errors.New("disk") }}
	e, missed := p.Compact(t.Context(), v)
	s.edit(t, mustMake(t, e, missed))
	if got := textsOf(s.view[0].Message); got[0] != "Read all reports and add up the invoices." || !strings.Contains(got[1], "They were read.") || strings.Contains(got[1], "recall") || e.Saved.Facts == 0 {
		t.Errorf("%q, %+v", got, e.Saved)
	}
}

// C2: the model that was chosen for summaries makes them, within its own window.
func TestSummaryByAnotherModel(t *testing.T) {
	t.Parallel()
	s := readings(40, 900)
	v := s.look(60_000, &teller{})
	small := smallModel{}
	var by uzda.Model
	v.Side = func(_ context.Context, m uzda.Model, req *uzda.Request) (uzda.Reply, error) {
		by = m
		if n := window.Estimate(req.Head.System) + window.Estimate(req.View[0].Message.String()) + req.Max; n > 6000 || req.Head.Model != "local/small" {
			t.Errorf("%d tokens for %s", n, req.Head.Model)
		}
		return uzda.Reply{Message: uzda.Message{Blocks: uzda.Say("Read.")}, Stop: uzda.Stop{Reason: uzda.StopSequence}}, nil
	}
	_, missed := window.Planner{By: small}.Compact(t.Context(), v)
	if missed != nil || by != uzda.Model(small) {
		t.Errorf("%+v, by %v", missed, by)
	}
}

type smallModel struct{}

func (smallModel) Stream(context.Context, *uzda.Request) iter.Seq2[uzda.Chunk, error] { return nil }
func (smallModel) Describe() uzda.ModelInfo {
	return uzda.ModelInfo{ID: "local/small", Window: 6000}
}

// C2 C3 peer:10 peer:11: on random histories, whatever moves are made in whatever
// order: calls stay paired, roles legal, labels there, the last reply and what
// follows it untouched, and the request smaller or as it was.
func TestBriefsOfRandomHistories(t *testing.T) {
	t.Parallel()
	edits := map[string]int{}
	for seed := range uint64(40) {
		rnd := rand.New(rand.NewPCG(seed, 5))
		s := &chronicle{}
		s.post(uzda.Text{Text: "TASK-0: " + babble(rnd, 30), Meta: uzda.Meta{Labels: []uzda.Label{{Kind: "who", From: "desk"}}}})
		for range 2 + rnd.IntN(5) {
			for range rnd.IntN(12) {
				wander(rnd, s)
			}
			s.do("", did("grep", `{}`, babble(rnd, rnd.IntN(60))))
			budget := 2000 << rnd.IntN(5)
			v := s.look(budget, &teller{text: babble(rnd, 1+rnd.IntN(120)), stop: []uzda.StopReason{uzda.StopEnd, uzda.StopEnd, uzda.StopLength}[rnd.IntN(3)]})
			if rnd.IntN(3) == 0 {
				v.Events = nil
			}
			p := window.Planner{Last: rnd.IntN(8)}
			var e uzda.Edited
			var missed *uzda.Missed
			switch rnd.IntN(3) {
			case 0:
				e, missed = p.Compact(t.Context(), v)
			case 1:
				e, missed = p.Handover(t.Context(), v, false)
			default:
				e, missed = p.Handover(t.Context(), v, true)
			}
			if missed != nil {
				continue
			}
			edits[e.What]++
			end := s.view[fixed(s.view):]
			labels := marks(s.view)
			s.edit(t, e) // it checks pairs and that it got smaller
			if got := s.view[fixed(s.view):]; len(got) != len(end) || got[0].Seq != end[0].Seq || got[0].Edit != end[0].Edit {
				t.Fatalf("seed %d: the last reply was touched", seed)
			}
			for l := range labels {
				if !marks(s.view)[l] {
					t.Fatalf("seed %d: the label %v is lost", seed, l)
				}
			}
			if s.view[0].Message.Role != uzda.User || !strings.Contains(textsOf(s.view[0].Message)[0], "TASK-0") {
				t.Fatalf("seed %d: the view begins with %+v", seed, s.view[0].Message)
			}
			for i, x := range s.view {
				if len(x.Message.Blocks) == 0 {
					t.Fatalf("seed %d: message %d is empty", seed, x.Seq)
				}
				if raw, err := json.Marshal(x.Message); err != nil || !utf8.Valid(raw) {
					t.Fatalf("seed %d: message %d: %v", seed, x.Seq, err)
				}
				for _, b := range x.Message.Blocks {
					if th, ok := b.(uzda.Thinking); ok && i < fixed(s.view) && e.What == uzda.MoveCompact {
						t.Fatalf("seed %d: message %d still thinks: %v", seed, x.Seq, th)
					}
				}
			}
		}
	}
	if edits[uzda.MoveCompact] < 10 || edits[uzda.MoveHandover] < 30 {
		t.Errorf("too few moves were made: %v", edits)
	}
	t.Log(edits)
}

func marks(view []uzda.Entry) map[uzda.Label]bool {
	out := map[uzda.Label]bool{}
	for _, e := range view {
		for _, b := range e.Message.Blocks {
			for _, l := range b.Marks() {
				out[l] = true
			}
		}
	}
	return out
}

// wander adds something that happens in a session.
func wander(rnd *rand.Rand, s *chronicle) {
	switch rnd.IntN(7) {
	case 0:
		s.say(uzda.Thinking{Text: babble(rnd, 20), Signature: "s"}, uzda.Text{Text: babble(rnd, 20)})
		s.end()
		s.post(uzda.Text{Text: babble(rnd, rnd.IntN(200)+1)})
	case 1:
		s.post(uzda.Text{Text: babble(rnd, 20)}, uzda.Media{Type: "image/png", Name: "a.png", Data: []byte("no picture")})
	case 2:
		s.say(uzda.Text{Text: babble(rnd, 10)}, uzda.Opaque{Origin: "elsewhere", Raw: json.RawMessage(`{"type":"server_tool"}`)})
	default:
		var deeds []deed
		for range 1 + rnd.IntN(3) {
			d := did([]string{"read_file", "shell", "pay", "gone"}[rnd.IntN(4)], fmt.Sprintf(`{"n":%d,"text":%q}`, rnd.IntN(1e6), babble(rnd, 8)), babble(rnd, 1+rnd.IntN(400)))
			if rnd.IntN(3) == 0 {
				d.res.IsError, d.res.Code, d.res.Effect = true, uzda.CodeFailed, uzda.EffectUnknown
			}
			if rnd.IntN(3) == 0 {
				d.res.Labels = []uzda.Label{{Kind: uzda.Untrusted, From: fmt.Sprint(rnd.IntN(4))}}
			}
			if rnd.IntN(5) == 0 {
				d.res.Blocks = append(d.res.Blocks, uzda.Media{Type: "image/png", Data: []byte("x")})
			}
			deeds = append(deeds, d)
		}
		s.do("", deeds...)
	}
}

var babbled = []string{"port 48213", "żółw", "Москва", "快速", "<record>", "</facts>", "ORD-10422", "1 234,56 zł", "3 марта 2025 г.", "/srv/a/b.txt", "must not", "😀", "\r\n", "word", "another", "решено", "{\"a\":1}"}

func babble(rnd *rand.Rand, n int) string {
	var b strings.Builder
	for range n {
		b.WriteString(babbled[rnd.IntN(len(babbled))] + " ")
	}
	return b.String() + "."
}

// BenchmarkBriefs: what a compaction and a handover cost besides the model, on a
// history of 1,000 messages.
func BenchmarkBriefs(b *testing.B) {
	s := readings(500, 400)
	v := s.look(200_000, &teller{text: "They were read."})
	for name, move := range map[string]func() *uzda.Missed{
		"compact":  func() *uzda.Missed { _, m := window.Planner{}.Compact(b.Context(), v); return m },
		"handover": func() *uzda.Missed { _, m := window.Planner{}.Handover(b.Context(), v, false); return m },
		"alone":    func() *uzda.Missed { _, m := window.Planner{}.Handover(b.Context(), v, true); return m },
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if m := move(); m != nil {
					b.Fatal(m.Why)
				}
			}
		})
	}
}
