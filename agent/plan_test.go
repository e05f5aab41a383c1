package agent_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/agent"
	"github.com/uzda-dev/uzda/model/script"
)

// plans is a planner made of a function.
type plans func(ctx context.Context, v uzda.View) (uzda.Plan, error)

func (p plans) Plan(ctx context.Context, v uzda.View) (uzda.Plan, error) { return p(ctx, v) }

// wordy gives results of n bytes.
func wordy(w *world, n int) uzda.Tool {
	return w.tool("read", reads, func(_ context.Context, u uzda.Use) (uzda.Result, error) {
		return text(strings.Repeat("word ", n/5)), nil
	})
}

// clear clears all results before Fixed that are long, in one edit.
func clearAll(v uzda.View) []uzda.Edited {
	e := uzda.Edited{What: uzda.MoveClear, Only: true}
	for _, m := range v.Entries[:v.Fixed] {
		if rs := m.Message.Results(); len(rs) > 0 && m.Message.Blocks.Size() > 20 {
			if e.From == 0 {
				e.From = m.Seq
			}
			e.To = m.Seq
			c := uzda.Entry{Seq: m.Seq, Message: uzda.Message{Role: uzda.User}}
			for _, r := range rs {
				r.Blocks = uzda.Say("[cleared]")
				c.Message.Blocks = append(c.Message.Blocks, r)
			}
			e.With = append(e.With, c)
		}
	}
	if len(e.With) == 0 {
		return nil
	}
	return []uzda.Edited{e}
}

func times(n int, t script.Turn) (out []script.Turn) {
	for i := range n {
		t.Calls = []script.Call{{Name: "read", Input: fmt.Sprintf(`{"n":%d}`, i)}}
		out = append(out, t)
	}
	return out
}

// The planner is asked at the first request of a turn and then only near the budget,
// inside the loop, after each batch of results; its bulk edit is one small event, and
// can be taken back. C1 C2 C3 peer:13 peer:18
func TestPlannerIsAskedNearTheBudget(t *testing.T) {
	t.Parallel()
	j, w := mem(), &world{}
	post(t, j, hello("1"))
	r := runner(w, j, append(times(30, script.Turn{}), bye)...)
	r.Tools, r.Budget, r.Folded = []uzda.Tool{wordy(w, 2000)}, 6000, faithful(t, j)
	r.Limits.Steps = 100
	var firsts, asked int
	most := 0
	r.Planner = plans(func(_ context.Context, v uzda.View) (uzda.Plan, error) {
		asked++
		if v.First {
			firsts++
		} else if v.Tokens*100 < v.Budget*70 {
			t.Errorf("asked at %d of %d tokens", v.Tokens, v.Budget)
		}
		return uzda.Plan{Edits: clearAll(v), Weighed: &uzda.Weighed{Items: []uzda.Weight{{Name: "all", Tokens: 1}}}}, nil
	})
	r.Model = measured{r.Model, &most}
	s := run(t, r)
	valid(t, s)
	edits, weighed := kept[uzda.Edited](t, j), kept[uzda.Weighed](t, j)
	if reason(s) != uzda.EndTurn || firsts != 1 || asked > 15 || len(edits) < 3 || len(weighed) != len(edits)+1 || s.Gen != len(edits) {
		t.Fatalf("%s: asked %d times, %d first; %d edits, %d weighed, gen %d", reason(s), asked, firsts, len(edits), len(weighed), s.Gen)
	}
	if most > 6000*3 { // bytes of a request: about 6,000 tokens
		t.Errorf("a request had %d bytes", most)
	}
	for _, e := range edits {
		if size := len(fmt.Sprint(e)); size > 4000 {
			t.Errorf("an edit of %d messages has %d bytes", len(e.With), size)
		}
	}
	var last uzda.Seq
	for _, e := range events(t, j) {
		if _, ok := e.Body.(uzda.Edited); ok {
			last = e.Seq
		}
	}
	undo, err := agent.Undo(t.Context(), j, sid, last)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Edit(t.Context(), sid, undo); err != nil {
		t.Fatal(err)
	}
	s, err = agent.Load(t.Context(), j, sid)
	if err != nil {
		t.Fatal(err)
	}
	valid(t, s)
	back := 0
	for _, e := range undo.With {
		for _, x := range s.View {
			if x.Seq == e.Seq && x.Message.Blocks.Size() > 1900 {
				back++
			}
		}
	}
	if back != len(edits[len(edits)-1].With) || back == 0 {
		t.Errorf("%d of %d results are back", back, len(edits[len(edits)-1].With))
	}
}

// measured notes the size of the largest request.
type measured struct {
	uzda.Model
	most *int
}

func (m measured) Stream(ctx context.Context, req *uzda.Request) iter.Seq2[uzda.Chunk, error] {
	n := len(req.Head.System)
	for _, e := range req.View {
		n += e.Message.Blocks.Size()
	}
	*m.most = max(*m.most, n)
	return m.Model.Stream(ctx, req)
}

func (m measured) Describe() uzda.ModelInfo { return m.Model.(uzda.Describer).Describe() }

// limited is a provider with a window that counts in its own way: per bytes for a token.
type limited struct {
	model  uzda.Model
	window int // what it takes
	says   int // what it says that it takes; 0: nothing
	per    float64
	tells  bool // the error says the numbers
	asks   *atomic.Int32
}

func (m limited) Describe() uzda.ModelInfo {
	return uzda.ModelInfo{ID: "limited/x", Window: m.says, Free: true}
}

func (m limited) tokens(req *uzda.Request) int {
	n := len(req.Head.System)
	for _, e := range req.View {
		n += e.Message.Blocks.Size()
	}
	return int(float64(n) / m.per)
}

func (m limited) Stream(ctx context.Context, req *uzda.Request) iter.Seq2[uzda.Chunk, error] {
	m.asks.Add(1)
	n := m.tokens(req)
	if n > m.window {
		e := &uzda.ProviderError{Code: "context", Status: 400, Message: "prompt is too long"}
		if m.tells {
			e.Tokens, e.Window = n, m.window
		}
		return func(yield func(uzda.Chunk, error) bool) { yield(nil, e) }
	}
	return func(yield func(uzda.Chunk, error) bool) {
		for c, err := range m.model.Stream(ctx, req) {
			if s, ok := c.(uzda.Stop); ok {
				s.Usage = uzda.Usage{Input: n, Output: 5}
				c = s
			}
			if !yield(c, err) {
				return
			}
		}
	}
}

// A request that is refused as too long is shortened once and asked again, whatever
// was counted; one that cannot be shortened is not sent again; without a planner the
// turn ends at once. case:C06 peer:16 peer:17 peer:20
func TestOverflow(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		says  int
		tells bool
		plan  bool
		works bool
		want  uzda.Reason
		most  int32
	}{
		"learns from the numbers":          {says: 100_000, tells: true, plan: true, works: true, want: uzda.EndTurn, most: 16},
		"learns without numbers":           {says: 100_000, plan: true, works: true, want: uzda.EndTurn, most: 16},
		"learns where no window is known":  {plan: true, works: true, want: uzda.EndTurn, most: 20},
		"nothing can be taken out":         {says: 100_000, plan: true, want: uzda.ContextExhausted, most: 7},
		"nobody may take anything out":     {says: 100_000, want: uzda.ContextExhausted, most: 7},
		"nobody, and no window is known":   {want: uzda.ContextExhausted, most: 7},
		"the numbers say more than it has": {says: 3000, tells: true, plan: true, works: true, want: uzda.EndTurn, most: 16},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j, w, asks := mem(), &world{}, &atomic.Int32{}
			post(t, j, hello("1"))
			r := runner(w, j)
			// A token is a byte here: four times what anybody expects.
			r.Model = limited{script.Model{Turns: append(times(12, script.Turn{}), bye), ByView: true}, 12_000, c.says, 1, c.tells, asks}
			r.Tools, r.Folded = []uzda.Tool{wordy(w, 2000)}, faithful(t, j)
			if c.plan {
				r.Planner = plans(func(_ context.Context, v uzda.View) (uzda.Plan, error) {
					if !c.works {
						return uzda.Plan{}, nil
					}
					return uzda.Plan{Edits: clearAll(v)}, nil
				})
			}
			s := run(t, r)
			valid(t, s)
			if reason(s) != c.want || asks.Load() > c.most {
				t.Errorf("%s after %d requests (%+v): %s", reason(s), asks.Load(), s.Ended, kinds(t, j))
			}
			refused := 0
			for _, b := range kept[uzda.Broken](t, j) {
				if b.Code == "context" {
					refused++
				}
			}
			if c.works && c.says != 3000 && refused != 1 {
				t.Errorf("%d requests were refused", refused)
			}
			if c.want == uzda.ContextExhausted && refused != 1 {
				t.Errorf("%d requests were refused: one was sent again as it was", refused)
			}
		})
	}
}

// A request that fits, but not with the reply that was asked for, is asked again for a
// shorter one: nothing is taken out of it. case:C06
func TestReplyTooLong(t *testing.T) {
	t.Parallel()
	j, w := mem(), &world{}
	post(t, j, hello("1"))
	r := runner(w, j, bye)
	r.Model = greedy{r.Model, 20_000}
	r.Params.MaxTokens, r.Folded = 19_000, faithful(t, j)
	r.Planner = plans(func(_ context.Context, v uzda.View) (uzda.Plan, error) {
		if v.Refused {
			t.Error("it need not get shorter")
		}
		return uzda.Plan{}, nil
	})
	s := run(t, r)
	asked := kept[uzda.Asked](t, j)
	if reason(s) != uzda.EndTurn || len(asked) != 2 || asked[1].Max > 10_000 || asked[1].Max < 1000 {
		t.Errorf("%s: %+v", reason(s), asked)
	}
}

// greedy is a model whose prompt always has half of what it takes.
type greedy struct {
	uzda.Model
	window int
}

func (g greedy) Describe() uzda.ModelInfo {
	return uzda.ModelInfo{ID: "greedy/x", Window: g.window, Free: true}
}

func (g greedy) Stream(ctx context.Context, req *uzda.Request) iter.Seq2[uzda.Chunk, error] {
	if req.Max+g.window/2 <= g.window {
		return g.Model.Stream(ctx, req)
	}
	return func(yield func(uzda.Chunk, error) bool) {
		yield(nil, &uzda.ProviderError{Code: "context", Message: "max_tokens is too large", Tokens: g.window / 2, Window: g.window})
	}
}

// What a planner asks beside the session is reserved, recorded and paid; a hold that
// does not fit is an error that the planner hears. C3 B1
func TestSide(t *testing.T) {
	t.Parallel()
	for _, poor := range []bool{false, true} {
		j, w := mem(), &world{}
		post(t, j, hello("1"))
		r := runner(w, j, append(times(3, script.Turn{}), bye)...)
		r.Tools, r.Prices = []uzda.Tool{wordy(w, 2000)}, flat{}
		r.Folded = faithful(t, j)
		paid := dear{script.Model{Turns: []script.Turn{{Text: "sum", Usage: &uzda.Usage{Input: 100, Output: 10}}}, Agents: map[string]script.Agent{"summary": {Turns: []script.Turn{{Text: "sum", Usage: &uzda.Usage{Input: 100, Output: 10}}}}}}}
		r.Limits.Cost = uzda.Dollar
		if poor {
			r.Limits.Cost = uzda.Dollar / 1e6
		}
		var got error
		answered := ""
		r.Planner = plans(func(ctx context.Context, v uzda.View) (uzda.Plan, error) {
			if !v.First {
				return uzda.Plan{}, nil
			}
			reply, err := v.Side(ctx, paid, &uzda.Request{Agent: "summary", Max: 100, Ask: 1,
				View: []uzda.Entry{{Seq: 1, Message: uzda.Message{Role: uzda.User, Blocks: uzda.Say("long story")}}}})
			got, answered = err, reply.Message.String()
			return uzda.Plan{Missed: []uzda.Missed{{What: "compact", Why: "a test"}}}, nil
		})
		s := run(t, r)
		used := kept[uzda.Used](t, j)
		switch {
		case poor:
			if !errors.Is(got, uzda.ErrBudget) || len(used) != 0 {
				t.Errorf("poor: %v, %+v", got, used)
			}
		case got != nil || answered != "sum" || len(used) != 1 || used[0].For != "summary" || used[0].Cost == 0 || s.Cost != used[0].Cost || s.Missed != 1:
			t.Errorf("%v %q %+v, cost %s, missed %d", got, answered, used, s.Cost, s.Missed)
		}
	}
}

// dear is a model that costs something.
type dear struct{ uzda.Model }

func (dear) Describe() uzda.ModelInfo { return uzda.ModelInfo{ID: "dear/x", Window: 1000} }

// flat prices everything at a dollar for a million tokens.
type flat struct{}

func (flat) Price(string, int) (uzda.Price, bool) {
	return uzda.Price{Input: uzda.Dollar, Output: uzda.Dollar, CacheRead: uzda.Dollar, CacheWrite: uzda.Dollar}, true
}

// The model is told what is left of the window and of the turn, in the tail, once it
// is less than 40 percent; the tail is in no later request. C6
func TestLeft(t *testing.T) {
	t.Parallel()
	j, w := mem(), &world{}
	post(t, j, hello("1"))
	r := runner(w, j, append(times(8, script.Turn{}), bye)...)
	r.Tools, r.Budget, r.Folded = []uzda.Tool{wordy(w, 2000)}, 7000, faithful(t, j)
	r.Limits.Steps = 10
	r.Planner = plans(func(context.Context, uzda.View) (uzda.Plan, error) { return uzda.Plan{}, nil })
	run(t, r)
	asked := kept[uzda.Asked](t, j)
	for i, a := range asked {
		window, steps := strings.Contains(a.Tail, "context budget is left"), strings.Contains(a.Tail, fmt.Sprintf("%d of 10 steps", 10-i))
		if i < 3 && a.Tail != "" || i == 8 && (!window || !steps) {
			t.Errorf("ask %d: %q", i+1, a.Tail)
		}
	}
	if len(asked) != 9 {
		t.Errorf("%d asks", len(asked))
	}
}

// What comes in at once leaves room for what is there already: a result is cut by
// the budget, and several at once by their share. C2 case:C11 case:C13
func TestResultsFitTheBudget(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 8} {
		j, w := mem(), &world{}
		post(t, j, hello("1"))
		turn := script.Turn{}
		for i := range n {
			turn.Calls = append(turn.Calls, script.Call{Name: "read", Input: fmt.Sprintf(`{"n":%d}`, i)})
		}
		r := runner(w, j, turn, bye)
		r.Tools, r.Budget = []uzda.Tool{wordy(w, 200_000)}, 8000
		most := 0
		r.Model = measured{r.Model, &most}
		r.Planner = plans(func(context.Context, uzda.View) (uzda.Plan, error) { return uzda.Plan{}, nil })
		s := run(t, r)
		if reason(s) != uzda.EndTurn || most > 8000*3 {
			t.Errorf("%d results: %s, %d bytes", n, reason(s), most)
		}
		for _, res := range results(s) {
			if res.Full == nil || !strings.Contains(res.Blocks.String(), "read_output") {
				t.Errorf("%d results: no pointer in %s", n, uzda.Clip(res.Blocks.String(), 200))
			}
		}
	}
}

// What people posted for a turn that is over may be shortened where no reply follows
// it; what the running turn is about may not. case:C05 peer:14
func TestPostsOfEndedTurns(t *testing.T) {
	t.Parallel()
	j, w := mem(), &world{}
	r := runner(w, j, bye, bye)
	r.Folded = faithful(t, j)
	post(t, j, hello("1"))
	run(t, r)
	huge := post(t, j, uzda.Posted{ID: "2", Blocks: uzda.Say(strings.Repeat("long ", 1000))})
	r.Planner = plans(func(_ context.Context, v uzda.View) (uzda.Plan, error) {
		return uzda.Plan{End: &uzda.Ended{Reason: uzda.ContextExhausted, Detail: "too long"}}, nil
	})
	if s := run(t, r); reason(s) != uzda.ContextExhausted {
		t.Fatal(reason(s))
	}
	last := post(t, j, hello("3"))
	r.Planner = plans(func(_ context.Context, v uzda.View) (uzda.Plan, error) {
		if v.Turn != last {
			t.Errorf("turn %d, want %d", v.Turn, last)
		}
		short := func(seq uzda.Seq) uzda.Edited {
			return uzda.Edited{What: uzda.MoveClear, From: seq, To: seq, Only: true, With: []uzda.Entry{{Seq: seq, Message: uzda.Message{Role: uzda.User, Blocks: uzda.Say("short")}}}}
		}
		return uzda.Plan{Edits: []uzda.Edited{short(huge), short(last)}}, nil
	})
	s := run(t, r)
	valid(t, s)
	edits := kept[uzda.Edited](t, j)
	if reason(s) != uzda.EndTurn || len(edits) != 1 || edits[0].From != huge || s.View[2].Message.String() != "short" || s.View[3].Message.String() != "go 3" {
		t.Errorf("%s, %+v, %+v", reason(s), edits, s.View)
	}
}

// What a planner brings in from outside is hidden as everything else is. C3 S9
func TestPlanIsRedacted(t *testing.T) {
	t.Parallel()
	j, w := mem(), &world{}
	post(t, j, hello("1"))
	r := runner(w, j, append(times(4, script.Turn{}), bye)...)
	r.Tools, r.Budget, r.Redact = []uzda.Tool{wordy(w, 2000)}, 1, hider{}
	r.Planner = plans(func(_ context.Context, v uzda.View) (uzda.Plan, error) {
		p := uzda.Plan{Edits: clearAll(v), Missed: []uzda.Missed{{What: "compact", Why: "it said hunter2"}}}
		for i := range p.Edits {
			for j := range p.Edits[i].With {
				b := p.Edits[i].With[j].Message.Blocks
				res := b[0].(uzda.ToolResult)
				res.Blocks = uzda.Say("the key is hunter2")
				b[0] = res
			}
		}
		return p, nil
	})
	run(t, r)
	if n := len(kept[uzda.Edited](t, j)); n == 0 {
		t.Fatal("no edit")
	}
	for _, e := range events(t, j) {
		if strings.Contains(fmt.Sprintf("%+v", e.Body), "hunter2") {
			t.Errorf("event %d (%s) holds the value", e.Seq, e.Body.Kind())
		}
	}
}

// A plan can end the turn before anything is asked. C6
func TestPlanEnds(t *testing.T) {
	t.Parallel()
	j, w := mem(), &world{}
	post(t, j, hello("1"))
	r := runner(w, j, bye)
	r.Planner = plans(func(context.Context, uzda.View) (uzda.Plan, error) {
		return uzda.Plan{End: &uzda.Ended{Outcome: uzda.Failed, Reason: uzda.ConfigError, Detail: "too much"}, Weighed: &uzda.Weighed{Total: 5}}, nil
	})
	s := run(t, r)
	if reason(s) != uzda.ConfigError || kinds(t, j) != "posted equipped weighed ended" {
		t.Errorf("%s: %s", reason(s), kinds(t, j))
	}
}

// A person compacts a session at rest; a dry run records nothing; one that runs or
// waits is left alone. C3 C5 case:C03
func TestCompact(t *testing.T) {
	t.Parallel()
	j, w := mem(), &world{pre: "1"}
	post(t, j, hello("1"))
	r := runner(w, j, append(times(4, script.Turn{}), calls("send"), bye)...)
	r.Tools, r.Gates = append(w.tools()[1:], wordy(w, 3000)), []uzda.Gate{asks("send")}
	if _, err := r.Compact(t.Context(), sid, agent.Compaction{}); !errors.Is(err, agent.ErrNoPlanner) {
		t.Error(err)
	}
	r.Planner = plans(func(_ context.Context, v uzda.View) (uzda.Plan, error) {
		if !v.Forced {
			return uzda.Plan{}, nil
		}
		return uzda.Plan{Edits: clearAll(v)}, nil
	})
	if s := run(t, r); reason(s) != uzda.WaitApproval {
		t.Fatal(reason(s))
	}
	if _, err := r.Compact(t.Context(), sid, agent.Compaction{}); err == nil || !strings.Contains(err.Error(), "open") {
		t.Error("compacted while a call was open", err)
	}
	answers(t, j, uzda.Allow)
	run(t, r)
	before := kinds(t, j)
	plan, err := r.Compact(t.Context(), sid, agent.Compaction{DryRun: true})
	if err != nil || len(plan.Edits) != 1 || kinds(t, j) != before {
		t.Errorf("dry: %v, %d edits, %s", err, len(plan.Edits), kinds(t, j))
	}
	plan, err = r.Compact(t.Context(), sid, agent.Compaction{})
	s, loadErr := agent.Load(t.Context(), j, sid)
	if err != nil || loadErr != nil || len(plan.Edits) != 1 || len(kept[uzda.Edited](t, j)) != 1 || s.Gen != 1 {
		t.Errorf("%v %v, %d edits, gen %d", err, loadErr, len(plan.Edits), s.Gen)
	}
	if plan, err = r.Compact(t.Context(), sid, agent.Compaction{}); err != nil || len(plan.Edits) != 0 {
		t.Errorf("again: %v, %d edits", err, len(plan.Edits))
	}
}
