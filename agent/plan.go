package agent

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/uzda-dev/uzda"
)

const (
	planAt    = 70      // percent of the budget from which on the planner is asked
	tellAt    = 40      // percent: the model is told what is left once it is less
	maxBudget = 320_000 // tokens: longer requests are read with little care, and dearly
	leastOut  = 1000    // bytes: of a result, however full the window is; of many at once an eighth
	// leastWindow is the smallest window that a refusal is believed without a count of
	// the request beside it, in tokens.
	leastWindow = 512
)

// next names a request that is to come. The number of an ask alone is not enough: a turn
// may end before it asks.
type next struct {
	turn uzda.Seq
	ask  int
}

// next is the request to come.
func (s *State) next() next { return next{s.Turn.Seq, s.Asks + 1} }

// planned is what a planner said before a request.
type planned struct {
	next next
	uzda.Plan
	mail int        // bytes that were about to join then
	cost uzda.Money // of what it asked beside the session
	part bool       // not all of its edits could be made
}

// ends says how the turn ends before a request, nil if it goes on.
func (p planned) ends(n next) *uzda.Ended {
	if p.next != n {
		return nil
	}
	return p.End
}

// weighs says whether the planner has weighed a request as it will be.
func (p planned) weighs(n next) bool {
	return p.next == n && p.Weighed != nil && p.Weighed.Total > 0 && !p.part
}

// budgetOf is how many tokens requests are to stay under.
func budgetOf(set, window int) int {
	set = or(max(set, 0), maxBudget)
	if window <= 0 {
		return set
	}
	return min(set, window)
}

// window is how many tokens a request may have, 0 if that is not known.
func (s *State) window() int {
	if w := s.Gear.Model.Window; s.Most == 0 || w > 0 && w < s.Most {
		return w
	}
	return s.Most
}

// budget is the working budget, 0 if the view is edited by people only.
func (s *State) budget() int {
	if w := s.window(); w > 0 {
		return min(s.Gear.Budget, w)
	}
	return s.Gear.Budget
}

// wantsPlan says whether the planner is to look at the next request. That of an ask that
// was lost was looked at.
func (s *State) wantsPlan() bool {
	if s.Ask != nil {
		return false
	}
	return s.Turn.Steps == 0 || s.Turn.Refusals > 0 || s.projected()*100 >= s.budget()*planAt
}

// tooLong learns from a request that was refused as too long: how the provider
// counts, or how much it takes.
func (s *State) tooLong(b uzda.Broken) {
	s.Turn.Refusals, s.Turn.Refused = s.Turn.Refusals+1, s.Ask.Hash
	was := s.Ask.Tokens - s.Ask.Max
	near := b.Tokens > was/8 && b.Tokens/8 < was
	if b.Window > 0 && (b.Window < s.Used.Context() || b.Window < leastWindow && !near) { // it speaks of something else
		b.Window, b.Tokens = 0, 0
	}
	s.Most = or(b.Window, s.Most)
	window := s.window()
	tokens := s.inputOf(b.Tokens, was, window)
	if tokens > 0 && tokens < window-leastReply && window-tokens < s.Ask.Max { // it fits, but for the reply that was asked for
		s.Turn.Refused, s.Size, s.Grown = "", tokens, 0
		return
	}
	if tokens <= was && s.Used.Context() < was/2 { // it does not say, and most of it was a guess
		tokens = min(window+window/50, 4*was)
	}
	if tokens <= was {
		if b.Window == 0 && (window == 0 || window > was) { // it takes less than anybody says
			s.Most = max(was*9/10, 1)
		}
		return
	}
	bytes := s.fixed()
	for _, e := range s.View {
		bytes += e.Message.Blocks.Size()
	}
	s.Size, s.Grown = tokens, 0
	s.Rate = min(max(tokens*1000/max(bytes, 1), s.Rate, rateGuess), maxRate)
}

// inputOf is what a provider's count of a refused request says of its input: some count
// the reply that was asked for too, and some numbers cannot be meant.
func (s *State) inputOf(tokens, was, window int) int {
	apart := func(n int) int { return max(n-was, was-n) }
	if less := tokens - s.Ask.Max; less > 0 && apart(less) < apart(tokens) {
		tokens = less
	}
	if tokens > 16*max(was, window) {
		return 0
	}
	return tokens
}

// output is how many bytes a result may have, one of n of a step: what comes in at
// once must leave room for what is there already.
func (s *State) output(n int) int {
	limit := s.Gear.Limits.Output
	if s.Gear.Budget == 0 {
		return limit
	}
	rate := or(s.Rate, rateGuess)
	free := max(s.budget()*1000/rate-s.fixed(), 0) / 2
	return min(limit, max(free/max(n, 1), leastOut*min(8, max(n, 1))/max(n, 1)))
}

// left tells the model what a request of tokens leaves of the budget, and what is left
// of the turn, once it is not much; "" while it is.
func (s *State) left(tokens int) string {
	budget := s.budget()
	if budget <= 0 {
		return ""
	}
	var text string
	low := func(used, of int) bool { return of > 0 && (of-used)*100 < of*tellAt }
	if low(tokens, budget) {
		free := max(budget-tokens, 0)
		text = fmt.Sprintf("About %d %% of your context budget is left (%d of %d tokens). Ask for less at once, and note what must last. ", free*100/budget, free, budget)
	}
	t, l := &s.Turn, s.Gear.Limits
	var rest []string
	if used := t.Steps + t.Held.Steps; low(used, l.Steps) {
		rest = append(rest, fmt.Sprintf("%d of %d steps", max(l.Steps-used, 0), l.Steps))
	}
	if used := t.Calls + t.Held.Calls; low(used, l.Calls) {
		rest = append(rest, fmt.Sprintf("%d of %d tool calls", max(l.Calls-used, 0), l.Calls))
	}
	if used := t.Tokens + t.Held.Tokens; low(used, l.Tokens) {
		rest = append(rest, fmt.Sprintf("%d of %d tokens", max(l.Tokens-used, 0), l.Tokens))
	}
	if len(rest) > 0 {
		text += "Left for this turn: " + strings.Join(rest, ", ") + "."
	}
	return strings.TrimSpace(text)
}

// edits are what the plan for ask n does to the view: its bodies, and the state after them.
func (r *run) edits(f *State, n next) ([]uzda.Body, *State) {
	if r.plan.next != n {
		return nil, f
	}
	bodies, g := r.plan.missed(n.ask), f
	var made []uzda.Body
	r.plan.part = false
	for _, e := range r.plan.Edits {
		if g.CanEdit(e) != nil {
			r.plan.part = true
			continue
		}
		if e.Saved != nil && e.Saved.Requests > 0 {
			saved := *e.Saved
			saved.Cost, e.Saved = r.plan.cost, &saved
		}
		made = append(made, e)
		g = g.Fork()
		g.Fold(uzda.Event{Seq: g.Head + 1, Body: e})
	}
	if w := r.plan.Weighed; w != nil && (f.Turn.Steps == 0 || len(made)+len(bodies) > 0 || r.plan.End != nil) {
		weighed := *w
		weighed.Ask = n.ask
		bodies = append(bodies, weighed)
	}
	return append(bodies, made...), g
}

func (p planned) missed(n int) (out []uzda.Body) {
	for _, m := range p.Missed {
		m.Ask = n
		out = append(out, m)
	}
	return out
}

// refusedAgain ends a turn whose request was refused as too long, and could not be
// made shorter.
func refusedAgain(s *State) uzda.Body {
	return ending(uzda.ContextExhausted, s.Turn.Broke.Error+"; nothing is left that could be taken out of it",
		tooLongHint)[0].Body
}

// lastReply is where the model's last reply begins, -1 if there is none: one that was
// paused goes on in the next message.
func lastReply(view []uzda.Entry) int {
	i := len(view) - 1
	for i >= 0 && view[i].Message.Role != uzda.Assistant {
		i--
	}
	for i > 0 && view[i-1].Message.Role == uzda.Assistant {
		i--
	}
	return i
}

// Window is what a planner sees of a session before ask n, without its journal and
// without a model to ask.
func (s *State) Window(id uzda.SessionID, n int, tail string) uzda.View {
	v := uzda.View{Session: id, Ask: n, Tail: tail, Tokens: s.likely(), Used: s.Used, Counted: s.Rate > 0,
		Turn:  s.Turn.Seq,
		Head:  uzda.Head{Model: s.Gear.Model.ID, System: s.Gear.System, Tools: s.Gear.Tools, Params: s.Gear.Params},
		Model: s.Gear.Model, Budget: s.budget(), First: s.Turn.Steps == 0, Refused: s.Turn.Refused != "",
		Compacted: s.Compacted, Missed: s.Missed}
	v.Model.Window = s.window()
	v.Entries = slices.Clone(s.View) // it may be read while the loop goes on
	v.Fixed = max(lastReply(v.Entries), 0)
	for _, m := range s.Inbox {
		if !m.Turn || m.Seq == s.Turn.Seq {
			v.Entries = append(v.Entries, m.Entry)
		}
	}
	return v
}

// view is what the planner sees of a state before ask n.
func (r *run) view(s *State, n int, tail string) uzda.View {
	v := s.Window(r.id, n, tail)
	v.Events = func(ctx context.Context) iter.Seq2[uzda.Event, error] { return r.Store.Read(ctx, r.id, 0) }
	return v
}

// planFor asks the planner, beside the loop. It never fails: a planner that errs or
// crashes plans nothing.
func (r *run) planFor(ctx context.Context, f *State, n next, tail string) {
	v := r.view(f, n.ask, tail)
	side := &side{asks: n.ask, run: r, crew: r.crew, info: f.Gear.Model, rate: f.Rate, accounts: r.accounts(f)}
	v.Side, r.side = side.ask, side
	mail := f.mail()
	r.beside(ctx, "plan", func(ctx context.Context) (l landed) {
		l.plan = &planned{next: n, mail: mail}
		defer func() {
			if p := recover(); p != nil {
				l.plan.Plan, l.err = uzda.Plan{}, fmt.Errorf("the planner crashed: %v", p)
			}
		}()
		plan, err := r.Planner.Plan(ctx, v)
		if l.err = err; err == nil {
			l.plan.Plan, l.plan.cost = r.clean(plan), side.spent()
		}
		return l
	})
}

// clean lets nothing of a plan into the journal that must not be seen: what is pinned
// comes from outside.
func (r *run) clean(p uzda.Plan) uzda.Plan {
	for i := range p.Edits {
		e := &p.Edits[i]
		e.With = slices.Clone(e.With)
		for j := range e.With {
			m := &e.With[j].Message
			if blocks, changed := Mask(r.Redact, m.Blocks); changed {
				m.Blocks, m.Items = blocks, nil // they hold the value
			}
		}
	}
	for i := range p.Missed {
		p.Missed[i].Why = r.brief(p.Missed[i].Why)
	}
	if p.End != nil {
		end := *p.End
		end.Outcome, end.Detail, end.Hint = end.Reason.Outcome(), r.brief(end.Detail), r.brief(end.Hint)
		p.End = &end
	}
	return p
}
