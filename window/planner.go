package window

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/uzda-dev/uzda"
)

// A Planner keeps requests under their budget by the cheapest move that is enough:
// it clears old results, drops those that a later one repeats, has the head
// summarised, and hands over to a fresh view. It is safe for concurrent use, and
// its zero value is useful.
type Planner struct {
	Keep  int        // replies whose results stay when old ones are cleared; default 3
	Last  int        // replies that stay word for word when the head is summarised, fewer where they would not fit; default 6
	By    uzda.Model // makes summaries; nil: the session's own model
	Words int        // of a summary; default 500
	// Pinned is what outlives every summary of a session; nil: nothing.
	Pinned func(ctx context.Context, id uzda.SessionID) ([]Pin, error)
}

// A Pin is text that outlives every summary, such as the list of things to do.
type Pin struct{ Title, Text string }

var _ interface {
	Plan(ctx context.Context, v uzda.View) (uzda.Plan, error)
} = Planner{}

const (
	// worthClearing is the share of the budget that clearing must save: it breaks
	// the provider's cache from the first message that it changes, so it is done
	// seldom and in bulk.
	worthClearing = 0.20
	// worthTidying is what it must save where the request is nearly too large.
	worthTidying = 0.05
	// worthRenewing is what a summary must save: it costs requests too.
	worthRenewing = 0.20
	// fewSteps are too few for a summary to pay: a brief by code does for them.
	fewSteps = 3
	// worthAnything is what a brief by code alone must save, over the budget.
	worthAnything = 0.05
	// largeShare is the share over which one result is shortened.
	largeShare = 0.125
	// afterCompactions in a row a handover is made instead.
	afterCompactions = 2
	// breaker is how many moves in a row may come to nothing.
	breaker = 3
	// leastShrink is the share by which a refused request must get smaller.
	leastShrink = 0.10
	// leastRoom is the reply without room for which no request is sent, in tokens.
	leastRoom = 1024
)

// Plan proposes edits where the request needs them, and otherwise weighs it at most.
func (p Planner) Plan(ctx context.Context, v uzda.View) (uzda.Plan, error) {
	d := newDraft(v)
	var plan uzda.Plan
	if v.First || v.Refused {
		w := Weigh(d.asView())
		plan.Weighed = &w
		switch fixed := d.fixedPart(); {
		case v.Forced:
		case FixedTooLarge(w) && fixed > v.Model.Window/2:
			plan.End = TooLarge(w)
			return plan, nil
		case v.Budget > 0 && fixed > v.Budget:
			plan.End = overBudget(w, fixed, v.Budget)
			return plan, nil
		}
	}
	if v.Budget > 0 || v.Refused || v.Forced {
		if err := p.shrink(ctx, d, &plan); err != nil {
			return uzda.Plan{}, err
		}
	}
	if plan.Edits = d.edits; plan.Weighed == nil && v.Budget > 0 && plan.End == nil && len(d.edits) == 0 && !v.Forced {
		return plan, nil // nothing has changed that was not weighed before
	}
	if plan.Weighed == nil || len(d.edits) > 0 {
		w := Weigh(d.asView())
		plan.Weighed = &w
	}
	return plan, nil
}

// shrink makes the moves, the cheapest first, until they are enough.
func (p Planner) shrink(ctx context.Context, d *draft, plan *uzda.Plan) error {
	v, before := d.view, d.tokens()
	if v.Forced {
		return p.force(ctx, d, plan)
	}
	due := v.Refused || d.share() >= HardAt || !d.fits()
	if !due && d.share() < WarningAt {
		return nil
	}
	tidy := p.tidied(*d)
	if due && !tidy.roomy(before) {
		p.shorten(d)
		tidy = p.tidied(*d)
	}
	if tidy.roomy(before) {
		saved := tidy.saved(before)
		if saved >= worthClearing {
			*d = tidy
			return nil
		}
		if !due {
			return nil // later, when it is worth it
		}
		if v.Refused || saved >= worthTidying && (p.vain(d) != "" || p.spare(d) < 2*saved) { // else a summary keeps it quiet for longer
			*d = tidy
			return nil
		}
	}
	// What will be summarised is not cleared before: the summary would know less.
	renewed := p.renew(ctx, d, plan)
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("plan the window of session %s: %w", v.Session, err)
	}
	if !renewed || !d.roomy(before) {
		now := d.tokens()
		worth := worthClearing
		if due {
			worth = worthTidying
		}
		if tidy = p.tidied(*d); d.mustShrink(before) || tidy.saved(now) >= worth {
			*d = tidy
		}
	}
	if d.mustShrink(before) || d.share() > 1 && p.spare(d) >= worthAnything && !d.heavy() {
		p.move(ctx, d, plan, uzda.MoveHandover, true)
	}
	if d.hopeless(before) {
		plan.End = exhausted(d, plan.Missed)
	}
	return nil
}

// fixedPart is the size of what every request begins with. What a provider counts of
// other texts says little of it; only of the first request it is most.
func (d *draft) fixedPart() int {
	if lastReply(d.entries) < 0 {
		return d.scaled(d.head)
	}
	return d.head
}

// force makes for a person a summary, however much room there is, and then the moves
// that cost no request; without a summary only those.
func (p Planner) force(ctx context.Context, d *draft, plan *uzda.Plan) error {
	p.shorten(d)
	p.renew(ctx, d, plan)
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("compact session %s: %w", d.view.Session, err)
	}
	*d = p.tidied(*d)
	return nil
}

// expected is about the size of the request after a summary.
func (p Planner) expected(d *draft) int {
	if !d.replies() {
		return d.tokens()
	}
	at := d.fixed
	if d.view.Compacted < afterCompactions {
		at = p.cut(d)
	}
	if at == 0 {
		return d.tokens()
	}
	n := d.scaled(d.head) + d.over + d.between(at, len(d.entries)) + min(d.between(0, 1), d.budget/taskShare)
	return n + p.summarySize(d)
}

// tidied is the draft after the moves that cost no request.
func (p Planner) tidied(d draft) draft {
	o := ClearOptions{Keep: p.Keep, Large: int(float64(d.budget) * largeShare / d.factor), Tools: d.view.Head.Tools}
	if e, ok := Clear(d.entries, d.fixed, o); ok {
		d.apply(e)
	}
	if e, ok := Dedupe(d.entries, d.fixed, o.Tools); ok {
		d.apply(e)
	}
	return d
}

// shorten takes out what stands in the way of every later turn.
func (p Planner) shorten(d *draft) {
	if d.view.Turn == 0 && !d.view.Forced {
		return // whose turn it is is not known
	}
	if e, ok := ShortenPosts(d.entries, d.view.Turn, int(float64(d.budget)*largeShare/d.factor), d.view.Head.Tools); ok {
		d.apply(e)
	}
}

// saved is the share of the budget by which the request got smaller.
func (d *draft) saved(before int) float64 { return float64(before-d.tokens()) / float64(d.budget) }

// shrunk says that a refused request is another one by enough.
func (d *draft) shrunk(before int) bool {
	return !d.view.Refused || float64(before-d.tokens()) >= leastShrink*float64(before)
}

// roomy says that no further move is needed.
func (d *draft) roomy(before int) bool {
	return d.share() < WarningAt && d.fits() && d.shrunk(before)
}

// heavy says that system prompt and tools take most of the budget: what is left to
// compact is soon too little again.
func (d *draft) heavy() bool { return 2*d.scaled(d.head) > d.budget }

// renewedBefore says that the view begins with what an edit put there.
func (d *draft) renewedBefore() bool {
	return d.view.Compacted > 0 || len(d.entries) > 0 && d.entries[0].Edit != 0
}

// mustShrink says that the request cannot be sent so.
func (d *draft) mustShrink(before int) bool { return !d.fits() || !d.shrunk(before) }

// hopeless says that the request would certainly be refused. What no provider has
// counted may be half as large as it seems.
func (d *draft) hopeless(before int) bool {
	window := d.view.Model.Window
	switch {
	case !d.shrunk(before):
		return true
	case window <= 0:
		return false
	case d.view.Counted || d.view.Refused:
		return d.tokens() > window-min(leastRoom, window/8)
	}
	return d.tokens() > 2*window
}

// renew has the head summarised, or hands over, where that is worth its requests.
func (p Planner) renew(ctx context.Context, d *draft, plan *uzda.Plan) bool {
	v, what := d.view, uzda.MoveCompact
	if v.Compacted >= afterCompactions {
		what = uzda.MoveHandover
	}
	if why := p.vain(d); why != "" {
		if v.Forced { // who asked is told
			plan.Missed = append(plan.Missed, uzda.Missed{Ask: v.Ask, What: what, Why: why})
		}
		return false
	}
	return p.move(ctx, d, plan, what, false)
}

// vain says why no summary is tried; "" if it is.
func (p Planner) vain(d *draft) string {
	v := d.view
	switch {
	case v.Side == nil:
		return "no model may be asked for a summary"
	case v.Missed >= breaker && !v.First && !v.Forced:
		return fmt.Sprintf("the last %d summaries came to nothing", v.Missed)
	case d.heavy() && d.renewedBefore() && !v.Forced:
		return "system prompt and tools take over half of the budget, and the rest was summarised before"
	}
	if n := p.lasts(d); n < fewSteps && 5*d.scaled(d.head) > d.budget && !v.Forced {
		return fmt.Sprintf("a summary would make room for %d steps like the last ones", n)
	}
	least := worthRenewing
	if v.Forced {
		least = 1e-6
	}
	if spare := p.spare(d); spare < least {
		return fmt.Sprintf("a summary would save %.0f %% of the budget at most", 100*max(spare, 0))
	}
	return ""
}

// lasts is for how many steps like those in the view a summary makes room.
func (p Planner) lasts(d *draft) int {
	replies := 0
	for _, e := range d.entries {
		if e.Message.Role == uzda.Assistant {
			replies++
		}
	}
	step := d.between(min(1, len(d.entries)), len(d.entries)) / max(replies, 1)
	return (int(HardAt*float64(d.budget)) - p.expected(d)) / max(step, 1)
}

// spare is about the share of the budget that a summary saves at most: all but what
// may not be touched, the task, and the summary itself.
func (p Planner) spare(d *draft) float64 {
	n := d.scaled(d.head) + d.over + d.between(d.fixed, len(d.entries))
	if d.fixed > 0 {
		n += min(d.between(0, 1), d.budget/taskShare)
	}
	return float64(d.tokens()-n-p.summarySize(d)) / float64(d.budget)
}

// summarySize is about what a summary takes: most are half as long as they may be.
func (p Planner) summarySize(d *draft) int { return d.scaled(cmp.Or(p.Words, 500) / 2) }

// move makes one move that renews the view, and records what came to nothing.
func (p Planner) move(ctx context.Context, d *draft, plan *uzda.Plan, what string, alone bool) bool {
	do := p.compact
	if what == uzda.MoveHandover {
		do = func(ctx context.Context, d *draft) (uzda.Edited, *uzda.Missed) { return p.handover(ctx, d, alone) }
	}
	e, missed := do(ctx, d)
	if missed == nil && !d.apply(e) {
		missed = &uzda.Missed{Why: "the request would not have become smaller"}
	}
	if missed == nil {
		return true
	}
	m := *missed
	m.Ask, m.What = d.view.Ask, cmp.Or(m.What, what)
	plan.Missed = append(plan.Missed, m)
	return false
}

// overBudget ends a turn for a budget that no move could keep.
func overBudget(w uzda.Weighed, fixed, budget int) *uzda.Ended {
	_, parts := largest(w)
	return &uzda.Ended{
		Outcome: uzda.ConfigError.Outcome(), Reason: uzda.ConfigError,
		Detail: fmt.Sprintf("system prompt and tools alone take %s tokens, more than the budget of %s: %s", thousands(fixed), thousands(budget), parts),
		Hint:   "raise the budget (--context-budget), offer fewer tools or shorten the instructions",
	}
}

// TooLarge ends a turn whose system prompt and tools alone take over half the window:
// it could only go wrong.
func TooLarge(w uzda.Weighed) *uzda.Ended {
	sum, parts := largest(w)
	return &uzda.Ended{
		Outcome: uzda.ConfigError.Outcome(), Reason: uzda.ConfigError,
		Detail: fmt.Sprintf("system prompt and tools alone take %s of the %s tokens of the model's window, over half: %s",
			thousands(sum), thousands(w.Window), parts),
		Hint: "offer fewer tools, shorten the instructions, or use a model with a larger window; if the window is larger than this, set models.NAME.window",
	}
}

// largest adds up the parts that every request begins with, and lists them, the
// largest first.
func largest(w uzda.Weighed) (sum int, list string) {
	var all []uzda.Weight
	for _, it := range w.Items {
		switch it.Name {
		case System:
			all = append(all, uzda.Weight{Name: "system prompt", Tokens: it.Tokens})
		case Files, Tools:
			all = append(all, it.Parts...)
		default:
			continue
		}
		sum += it.Tokens
	}
	slices.SortStableFunc(all, func(a, b uzda.Weight) int { return cmp.Compare(b.Tokens, a.Tokens) })
	const most = 6
	if rest := len(all) - most; rest > 1 {
		left := uzda.Weight{Name: fmt.Sprintf("%d others", rest)}
		for _, w := range all[most:] {
			left.Tokens += w.Tokens
		}
		all = append(all[:most:most], left)
	}
	parts := make([]string, len(all))
	for i, w := range all {
		parts[i] = w.Name + " " + thousands(w.Tokens)
	}
	return sum, strings.Join(parts, ", ")
}

// exhausted ends a turn whose next request no move makes small enough.
func exhausted(d *draft, missed []uzda.Missed) *uzda.Ended {
	asked, old, step := 0, d.between(0, d.fixed), d.between(d.fixed, len(d.entries))
	if i := lastQuestion(d.entries); i >= 0 {
		asked = d.between(i, i+1)
		if i < d.fixed {
			old -= asked
		} else {
			step -= asked
		}
	}
	detail := fmt.Sprintf("the next request has about %s tokens", thousands(d.tokens()))
	if w := d.view.Model.Window; w > 0 {
		detail += fmt.Sprintf(", and the window of %s holds %s", cmp.Or(d.view.Model.ID, "the model"), thousands(w))
	}
	detail += fmt.Sprintf(": system prompt and tools %s, the question %s, the last step %s, what is left before it %s",
		thousands(d.scaled(d.head)+d.over), thousands(asked), thousands(max(step, 0)), thousands(max(old, 0)))
	if len(missed) > 0 {
		last := missed[len(missed)-1]
		detail += "; " + last.What + ": " + last.Why
	}
	return &uzda.Ended{
		Outcome: uzda.ContextExhausted.Outcome(), Reason: uzda.ContextExhausted, Detail: detail,
		Hint: "begin a new session, ask for less at once, or use a model with a larger window",
	}
}
