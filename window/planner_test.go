package window_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/window"
)

// A stage plays the loop around a planner: it asks it when the loop would, makes
// its edits, and keeps the counts.
type stage struct {
	tale
	t       testing.TB
	by      window.Planner
	head    uzda.Head
	budget  int
	info    uzda.ModelInfo
	factor  float64 // tokens of the provider over estimates; 0: 1
	blind   bool    // the provider counts nothing
	summary func(req *uzda.Request) (uzda.Reply, error)

	asks, requests, compacted, missed int
	what                              []string // moves that were made
	peak                              int
	weighed                           *uzda.Weighed
}

func short(*uzda.Request) (uzda.Reply, error) {
	return uzda.Reply{Message: uzda.Message{Role: uzda.Assistant, Blocks: uzda.Say("Some documents were read. Go on with the next one.")},
		Stop: uzda.Stop{Reason: uzda.StopEnd}}, nil
}

func newStage(t testing.TB, budget int) *stage {
	return &stage{t: t, budget: budget, info: uzda.ModelInfo{ID: "test/m", Window: budget}, head: uzda.Head{System: "Work.", Tools: toolbox()}, summary: short}
}

func (s *stage) size() int {
	w := window.Weigh(uzda.View{Head: s.head, Entries: s.entries})
	if s.factor > 0 {
		return int(float64(w.Total) * s.factor)
	}
	return w.Total
}

func (s *stage) view() uzda.View {
	v := uzda.View{Session: "s", Ask: s.asks + 1, Head: s.head, Entries: s.entries, Fixed: fixed(s.entries), Tokens: s.size(), Counted: !s.blind,
		Model: s.info, Budget: s.budget, Compacted: s.compacted, Missed: s.missed}
	if s.summary != nil {
		v.Side = func(_ context.Context, _ uzda.Model, req *uzda.Request) (uzda.Reply, error) {
			s.requests++
			return s.summary(req)
		}
	}
	return v
}

// plan has the planner look at the view, and makes what it proposes.
func (s *stage) plan(with func(v *uzda.View)) uzda.Plan {
	s.t.Helper()
	v := s.view()
	if with != nil {
		with(&v)
	}
	before, at := slices.Clone(s.entries), fixed(s.entries)
	p, err := s.by.Plan(context.Background(), v)
	if err != nil {
		s.t.Fatal(err)
	}
	for _, e := range p.Edits {
		was := s.size()
		s.entries = made(s.t, s.entries, e)
		if s.what = append(s.what, e.What); s.size() >= was {
			s.t.Errorf("%s made no room: %d tokens, then %d", e.What, was, s.size())
		}
		if e.Saved == nil || e.Saved.Before <= e.Saved.After || e.Saved.Messages == 0 {
			s.t.Errorf("%s saved %+v", e.What, e.Saved)
		}
		switch e.What {
		case uzda.MoveCompact:
			s.compacted, s.missed = s.compacted+1, 0
		case uzda.MoveHandover:
			s.compacted, s.missed = 0, 0
		}
	}
	s.missed += len(p.Missed)
	legal(s.t, before[at:], s.entries)
	if p.Weighed != nil {
		s.weighed = p.Weighed
	}
	return p
}

// legal says whether a view may be sent: calls are whole, a person speaks first,
// nobody says nothing, and the last step is as it was.
func legal(t testing.TB, last, view []uzda.Entry) {
	t.Helper()
	if err := uzda.Valid(view); err != nil {
		t.Fatal(err)
	}
	if len(view) == 0 || view[0].Message.Role != uzda.User {
		t.Fatal("the view does not begin with a message of the user")
	}
	for i, e := range view {
		if len(e.Message.Blocks) == 0 {
			t.Errorf("message %d is empty", e.Seq)
		}
		if i > 0 && e.Message.Role == uzda.Assistant && view[i-1].Message.Role == uzda.Assistant {
			t.Errorf("messages %d and %d are both of the model", view[i-1].Seq, e.Seq)
		}
	}
	for i, e := range last {
		if got := view[len(view)-len(last)+i]; fmt.Sprint(got) != fmt.Sprint(e) {
			t.Errorf("message %d of the last step has changed: %v", e.Seq, got)
		}
	}
}

// ask is one step of the loop: it plans where the loop would.
func (s *stage) ask(first bool) *uzda.Ended {
	s.t.Helper()
	s.asks++
	if n := s.size(); first || float64(n) >= window.WarningAt*float64(s.budget) {
		if p := s.plan(func(v *uzda.View) { v.First = first }); p.End != nil {
			return p.End
		}
	}
	s.peak = max(s.peak, s.size())
	return nil
}

func document(n int) deed {
	return did("read_file", fmt.Sprintf(`{"path":"doc-%d.txt"}`, n), strings.Replace(lines, "17", fmt.Sprint(n), 1)[:2400])
}

// C2: under the threshold nothing is done, and a turn begins with a weighing.
func TestPlanDoesNothingUnderTheThreshold(t *testing.T) {
	t.Parallel()
	s := newStage(t, 100_000)
	s.posted("Read.")
	for i := range 10 {
		s.step(document(i))
	}
	if p := s.plan(nil); len(p.Edits)+len(p.Missed) > 0 || p.Weighed != nil || p.End != nil {
		t.Errorf("%+v", p)
	}
	if p := s.plan(func(v *uzda.View) { v.First = true }); p.Weighed == nil || len(p.Edits) > 0 {
		t.Errorf("%+v", p)
	}
	for _, none := range []int{0, -1} { // without a budget it only weighs
		if p := s.plan(func(v *uzda.View) { v.Budget, v.Model.Window, v.Tokens = none, 0, 900_000 }); p.Weighed == nil || len(p.Edits)+len(p.Missed) > 0 || p.End != nil {
			t.Errorf("%+v", p)
		}
	}
	if s.requests > 0 {
		t.Errorf("%d requests", s.requests)
	}
}

// C2: what is enough comes first: old results are cleared, and no summary is asked
// for.
func TestPlanClearsFirst(t *testing.T) {
	t.Parallel()
	s := newStage(t, 20_000)
	s.posted("Read.")
	for i := 0; s.size() < 17_500; i++ { // also over hard
		s.step(document(i))
	}
	p := s.plan(nil)
	if fmt.Sprint(s.what) != "[clear]" || s.requests > 0 || p.Weighed == nil || p.Weighed.State != window.OK {
		t.Errorf("%v, %d requests, %+v", s.what, s.requests, p.Weighed)
	}
	if s.size() > 10_000 {
		t.Errorf("still %d tokens", s.size())
	}
	s.what = nil
	if p := s.plan(nil); len(p.Edits) > 0 {
		t.Errorf("done twice: %v", s.what)
	}
}

// C2 peer:13: the same file read again and again is dropped within a turn, also in
// the replies whose results stay.
func TestPlanDropsRepeatedReads(t *testing.T) {
	t.Parallel()
	s := newStage(t, 12_000)
	s.posted("Read.")
	for i := range 9 {
		s.step(document(7), did("grep", fmt.Sprintf(`{"pattern":"%d"}`, i), "nothing"))
	}
	s.by.Keep = 20
	s.plan(nil)
	if fmt.Sprint(s.what) != "[dedupe]" || s.requests > 0 {
		t.Errorf("%v, %d requests", s.what, s.requests)
	}
}

func talk(s *stage, until float64) {
	for i := 0; float64(s.size()) < until*float64(s.budget); i++ {
		s.said(strings.Repeat(fmt.Sprintf("Thought %d about the matter at hand. ", i), 40))
		s.posted(fmt.Sprintf("And what of %d?", i))
	}
	s.said("Nothing.")
	s.posted("Why?")
}

// C2 C3: where nothing can be cleared the head is summarised, once and by much;
// the third time the view is handed over.
func TestPlanSummarisesAndHandsOver(t *testing.T) {
	t.Parallel()
	s := newStage(t, 20_000)
	s.posted("Let us talk about the number 48213.")
	for range 3 {
		talk(s, 0.75)
		before := s.requests
		s.plan(nil)
		if n := s.requests - before; n == 0 || n > 8 || s.size() > 10_000 {
			t.Fatalf("%v: %d requests, %d tokens", s.what, n, s.size())
		}
		if !strings.Contains(s.entries[0].Message.String(), "48213") {
			t.Errorf("%v: the task is gone: %s", s.what, s.entries[0].Message)
		}
	}
	if fmt.Sprint(s.what) != "[compact compact handover]" || s.compacted != 0 {
		t.Errorf("%v", s.what)
	}
}

// C3 case:C03 peer:12: a summary that does not come is tried three times, and once
// more in each later turn; what was said stays as it was.
func TestPlanGivesUp(t *testing.T) {
	t.Parallel()
	reply := func(stop uzda.StopReason, text string) func(*uzda.Request) (uzda.Reply, error) {
		return func(*uzda.Request) (uzda.Reply, error) {
			return uzda.Reply{Message: uzda.Message{Role: uzda.Assistant, Blocks: uzda.Say(text)}, Stop: uzda.Stop{Reason: stop}}, nil
		}
	}
	for what, f := range map[string]func(*uzda.Request) (uzda.Reply, error){
		"cut": reply(uzda.StopLength, "The first"), "empty": reply(uzda.StopEnd, " "), "refused": reply(uzda.StopRefusal, "No."),
		"an error": func(*uzda.Request) (uzda.Reply, error) { return uzda.Reply{}, errors.New("no such model") },
		"too long": func(*uzda.Request) (uzda.Reply, error) { return uzda.Reply{}, &uzda.ProviderError{Code: "context"} },
	} {
		s := newStage(t, 20_000)
		s.summary = f
		s.posted("Talk.")
		talk(s, 0.75)
		was := fmt.Sprint(s.entries)
		for range 10 {
			s.ask(false)
		}
		if s.missed != 3 || s.requests > 24 || fmt.Sprint(s.entries) != was {
			t.Errorf("%s: %d missed, %d requests, %v", what, s.missed, s.requests, s.what)
		}
		before := s.requests
		for range 2 {
			s.ask(true)
			s.ask(false)
		}
		if n := s.requests - before; s.missed != 5 || n > 16 || n == 0 {
			t.Errorf("%s: in later turns %d missed, %d requests", what, s.missed, n)
		}
		// Without summaries the view is still handed over before it no longer fits.
		talk(s, 0.9)
		before = s.requests
		if end := s.ask(false); end != nil || s.requests > before || fmt.Sprint(s.what) != "[handover]" || s.size() > 10_000 {
			t.Errorf("%s: %v, %v, %d tokens", what, end, s.what, s.size())
		}
	}
}

// C3 C6 case:C03: a fixed part over half the window is refused at once, with its
// parts and without a request.
func TestPlanRefusesALargeFixedPart(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]struct {
		first, refused, counted bool
		window                  int
		want                    bool
	}{
		"first": {first: true, counted: true, window: 8000, want: true}, "first, not counted": {first: true, window: 8000, want: true},
		"refused": {refused: true, window: 8000, want: true}, "later": {window: 8000}, "it is small enough": {first: true, window: 16_000},
		"not known": {first: true}, "as the provider counts it": {first: true, counted: true, window: 14_000, want: true},
	} {
		s := newStage(t, c.window)
		s.blind, s.factor = !c.counted, 1
		if c.window == 14_000 {
			s.factor = 1.5
		}
		s.head.System = strings.Repeat("Never touch the vendor folder. ", 500)
		s.head.Tools = append(toolbox(), uzda.ToolSpec{Name: "huge", Source: "shop", Description: strings.Repeat("It sells a thing to somebody. ", 300)})
		s.posted("Begin.")
		p := s.plan(func(v *uzda.View) { v.First, v.Refused = c.first, c.refused })
		if (p.End != nil && p.End.Reason == uzda.ConfigError) != c.want {
			t.Errorf("%s: %+v, %+v", what, p.End, p.Weighed)
			continue
		}
		if !c.want {
			continue
		}
		if p.End.Outcome != uzda.Failed || p.Weighed == nil || s.requests > 0 || len(p.Edits) > 0 {
			t.Errorf("%s: %+v", what, p)
		}
		for _, w := range []string{"shop: huge", "system prompt", "over half"} {
			if !strings.Contains(p.End.Detail, w) {
				t.Errorf("%s: %q does not name %q", what, p.End.Detail, w)
			}
		}
		if !strings.Contains(p.End.Hint, "models.NAME.window") || !strings.Contains(p.End.Hint, "fewer tools") {
			t.Errorf("%s: %q", what, p.End.Hint)
		}
	}
}

// case:C03: with a fixed part between half of the budget and the threshold there is
// one summary at most, however long the session goes on, and every request fits.
func TestPlanDoesNotLoopUnderALargeFixedPart(t *testing.T) {
	t.Parallel()
	for _, share := range []float64{0.55, 0.62, 0.68} {
		s := newStage(t, 8000)
		s.info.Window = 16_000 // half of which the fixed part does not reach
		s.head.System = strings.Repeat("Never touch the vendor folder. ", int(share*8000/7.2))
		s.posted("Begin.")
		at := float64(s.size()) / 8000
		if at < share-0.06 || at > share+0.06 {
			t.Fatalf("the fixed part is %.2f of the budget, want %.2f", at, share)
		}
		for i := range 120 {
			if end := s.ask(false); end != nil {
				t.Fatalf("%.2f: it ended at step %d: %+v", share, i, end)
			}
			s.said(strings.Repeat(fmt.Sprintf("Thought %d. ", i), 12))
			s.posted("Go on.")
		}
		if s.requests > 1 || s.peak > 16_000 {
			t.Errorf("%.2f: %d requests for %v, peak %d", share, s.requests, s.what, s.peak)
		}
		if len(s.what) > 25 {
			t.Errorf("%.2f: %d edits in 120 steps: %v", share, len(s.what), s.what)
		}
	}
}

// peer:20: what would save next to nothing is not proposed, again and again or at all.
func TestPlanProposesNothingForNothing(t *testing.T) {
	t.Parallel()
	s := newStage(t, 20_000)
	s.posted("Read.")
	s.step(did("grep", `{"pattern":"x"}`, lines[:800]))
	for range 3 {
		s.step(did("grep", `{"pattern":"y"}`, "none"))
	}
	s.step(did("read_file", `{"path":"big"}`, strings.Repeat(lines, 11)))
	if share := float64(s.size()) / 20_000; share < 0.70 || share > 0.85 {
		t.Fatalf("%.2f of the budget", share)
	}
	for range 5 {
		if p := s.plan(nil); len(p.Edits)+len(p.Missed) > 0 || s.requests > 0 || p.Weighed != nil {
			t.Fatalf("%+v", p)
		}
	}
}

// C3 C5 peer:10 peer:11 peer:14 peer:18: one turn of many steps stays about its
// budget: what is to be sent is looked at before each request, nothing is cut in the
// middle of a step, and few summaries are needed.
func TestPlanKeepsALongTurnInItsBudget(t *testing.T) {
	t.Parallel()
	for _, budget := range []int{8000, 12_000, 32_000} {
		s := newStage(t, budget)
		s.posted("Read all 60 documents.")
		all := 0
		for i := range 66 {
			if end := s.ask(i == 0); end != nil {
				t.Fatalf("%+v", end)
			}
			was := s.size()
			s.step(document(i), did("shell", fmt.Sprintf(`{"command":"echo %d"}`, i), "ok"))
			all += s.size() - was
		}
		if s.peak > budget || all < 4*12_000 {
			t.Errorf("budget %d: peak %d of %d tokens in all", budget, s.peak, all)
		}
		if s.requests > 3 || len(s.what) > 40 || len(s.what) == 0 {
			t.Errorf("budget %d: %d requests, %v", budget, s.requests, s.what)
		}
		t.Logf("budget %d: peak %d, %d tokens in all, %d requests, %v", budget, s.peak, all, s.requests, s.what)
	}
}

// C3 case:C06: a request that the provider refused gets shorter, though the estimate
// was four times too low.
func TestPlanAfterARefusal(t *testing.T) {
	t.Parallel()
	s := newStage(t, 40_000)
	s.posted("Read.")
	for i := 0; s.size() < 12_000; i++ {
		s.step(document(i))
	}
	s.blind = true
	p := s.plan(func(v *uzda.View) { v.Refused = true })
	if p.End != nil || s.size() > 7000 { // 28,000 of the provider's
		t.Errorf("%+v, %v: %d tokens", p.End, s.what, s.size())
	}
	if p.Weighed == nil || p.Weighed.Factor < 3 {
		t.Errorf("the ratio was not learned: %+v", p.Weighed)
	}
	// Where the window is not known either, it is at least another request.
	s = newStage(t, 0)
	s.posted("Read.")
	for i := range 12 {
		s.step(document(i))
	}
	was := s.size()
	if p = s.plan(func(v *uzda.View) { v.Refused = true }); p.End != nil || s.size() > was*7/10 {
		t.Errorf("%+v, %v: %d tokens", p.End, s.what, s.size())
	}
}

// C3 peer:12: a refused request that no move makes shorter is not sent again: the
// turn ends, and says what is too large.
func TestPlanEndsWhereNothingHelps(t *testing.T) {
	t.Parallel()
	for what, build := range map[string]func(s *stage){
		"a huge question": func(s *stage) { s.posted(strings.Repeat("Look at this text. ", 3000)) },
		"a huge step": func(s *stage) {
			s.posted("Read.")
			s.step(did("read_file", `{"path":"big"}`, strings.Repeat(lines, 12)))
		},
	} {
		s := newStage(t, 12_000)
		build(s)
		was := s.requests
		p := s.plan(func(v *uzda.View) { v.Refused = true })
		if p.End == nil || p.End.Reason != uzda.ContextExhausted || p.End.Outcome != uzda.Stopped || s.requests > was {
			t.Fatalf("%s: %+v, %d requests", what, p, s.requests)
		}
		for _, w := range []string{"system prompt and tools", "the question", "the last step", "12,000"} {
			if !strings.Contains(p.End.Detail, w) {
				t.Errorf("%s: %q does not say %q", what, p.End.Detail, w)
			}
		}
		// The same by a count, before it is refused; and by an estimate it is tried.
		if p := s.plan(nil); p.End == nil {
			t.Errorf("%s: sent though it cannot fit: %+v", what, p)
		}
		s.blind = true
		if p := s.plan(nil); p.End != nil {
			t.Errorf("%s: not sent, by a guess: %+v", what, p.End)
		}
	}
}

// C2: a person who asks for it gets a summary however much room there is, and is
// told why there is none.
func TestPlanForced(t *testing.T) {
	t.Parallel()
	for _, budget := range []int{0, 100_000} {
		s := newStage(t, 100_000)
		s.budget = budget
		s.posted("Read.")
		for i := range 12 {
			s.step(document(i))
		}
		s.missed = 7
		s.plan(func(v *uzda.View) { v.Forced = true })
		if !slices.Contains(s.what, uzda.MoveCompact) || s.requests == 0 || s.weighed == nil {
			t.Errorf("budget %d: %v, %d requests", budget, s.what, s.requests)
		}
		none := newStage(t, 100_000)
		none.posted("Hi.")
		none.said("Hello.")
		if p := none.plan(func(v *uzda.View) { v.Forced = true }); len(p.Missed) != 1 || p.Missed[0].Why == "" || len(p.Edits) > 0 || none.requests > 0 || p.End != nil {
			t.Errorf("budget %d: %+v", budget, p)
		}
		s.summary, s.what = nil, nil
		for i := range 12 {
			s.step(document(i + 99))
		}
		if p := s.plan(func(v *uzda.View) { v.Forced = true }); len(p.Missed) != 1 || !strings.Contains(p.Missed[0].Why, "no model") {
			t.Errorf("budget %d: %+v", budget, p)
		}
	}
}

// A plan whose time is over is none.
func TestPlanStops(t *testing.T) {
	t.Parallel()
	s := newStage(t, 20_000)
	s.posted("Talk.")
	talk(s, 0.75)
	ctx, stop := context.WithCancel(context.Background())
	s.summary = func(*uzda.Request) (uzda.Reply, error) {
		stop()
		return uzda.Reply{}, ctx.Err()
	}
	if p, err := (window.Planner{}).Plan(ctx, s.view()); !errors.Is(err, context.Canceled) || len(p.Edits)+len(p.Missed) > 0 {
		t.Errorf("%v, %+v", err, p)
	}
}
