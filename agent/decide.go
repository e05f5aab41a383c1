package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/uzda-dev/uzda"
)

// decide turns a move into bodies to record. What needs I/O becomes a job beside
// the loop: then there are no bodies yet.
func (r *run) decide(ctx context.Context, f *State, m Move) ([]uzda.Body, error) {
	switch m.Act {
	case Park, End:
		return []uzda.Body{m.Body}, nil
	case AskModel:
		return r.asked(ctx, f, m), nil
	case Verify:
		return r.verified(ctx, f), nil
	}
	u := *f.use(m.Use)
	switch m.Act {
	case JudgeUse:
		return r.judged(ctx, f, u), nil
	case StartUse:
		return r.started(ctx, f, u)
	case FireUse:
		return []uzda.Body{uzda.Returned{Result: due(u)}}, nil
	}
	if m.Code == uzda.CodeOutcomeUnknown && f.Cancel == 0 {
		if bodies, asked := r.probed(ctx, f, u); asked {
			return bodies, nil
		}
	}
	res := refusal(u, m.Code)
	if m.Why != "" {
		res.Blocks = uzda.Say(m.Why)
	}
	return []uzda.Body{uzda.Returned{Result: res}}, nil
}

// asked plans edits and then asks, in one commit.
func (r *run) asked(ctx context.Context, f *State, m Move) []uzda.Body {
	if r.late != 0 && r.late == f.Turn.Seq { // while the planner worked
		why, detail := uzda.MaxTime, "the time was used up while the window was planned, after "+steps(f.Turn.Steps)
		return []uzda.Body{uzda.Ended{Outcome: why.Outcome(), Reason: why, Detail: detail, Hint: hintOver[why]}}
	}
	n := f.next()
	if r.Planner != nil && r.plan.next != n && f.wantsPlan() {
		r.planFor(ctx, f, n, notes(m.Tail, f.left(f.projected())))
		return nil
	}
	bodies, g := r.edits(f, n)
	if end := r.plan.ends(n); end != nil {
		return append(bodies, *end)
	}
	if f.Turn.Refused != "" && g.nextHash() == f.Turn.Refused {
		return append(bodies, refusedAgain(f))
	}
	info, window := f.Gear.Model, g.window()
	tokens, most := r.size(g, n), g.most()
	if r.counts(g, n) {
		r.count(ctx, g, n, uzda.Asked{Ordinal: n.ask, Model: info.ID, Tail: notes(m.Tail, g.left(tokens)), Max: most})
		return nil
	}
	if r.broke != nil {
		return append(bodies, r.tooDear(f)...)
	}
	if window > 0 {
		room := window - tokens
		sure := r.counted.next == n && r.counted.tokens > 0
		if room < leastReply && (sure || r.plan.weighs(n)) || tokens > 2*window {
			return append(bodies, tooLarge(info, window, tokens, sure))
		}
		margin := tokens / 16 // the count may be a little off
		if !sure && g.Rate == 0 {
			margin = tokens / 4
		}
		most = min(most, max(room-margin, leastReply))
	}
	a := uzda.Asked{Ordinal: n.ask, Model: info.ID, Hash: g.nextHash(), Tail: notes(m.Tail, g.left(tokens)), Max: most, Tokens: tokens + most, Counted: r.counted.next == n && r.counted.tokens > 0}
	if amount := r.worst(info, tokens, most); amount > 0 && r.ledger != nil {
		id := string(r.id) + "/" + strconv.FormatInt(r.epoch, 10) + "." + strconv.Itoa(a.Ordinal)
		a.Hold = uzda.Hold{ID: id, Amount: amount, Accounts: r.accounts(f)}
	}
	return append(bodies, a)
}

// notes joins what the model is told last.
func notes(texts ...string) string { return strings.TrimSpace(strings.Join(texts, "\n")) }

// tooDear ends the turn: the hold of the next ask or check did not fit.
func (r *run) tooDear(f *State) []uzda.Body {
	why, detail := uzda.MaxCost, r.broke.Error()
	var over *uzda.OverBudget
	hint := hintOver[why]
	if errors.As(r.broke, &over) {
		a := over.Account
		detail = fmt.Sprintf("over budget: the next request could cost %s, and of the %s for %s %s are spent and %s are held for what is under way",
			over.Want, a.Limit, accountOf(a.Name), over.Settled, over.Held)
		hint = "raise the limit, or let replies be shorter (max_tokens of the model); `uzda resume` goes on"
	}
	return []uzda.Body{uzda.Ended{Outcome: why.Outcome(), Reason: why, Detail: detail + ", after " + steps(f.Turn.Steps), Hint: hint}}
}

// accountOf says in words what an account is for.
func accountOf(name string) string {
	kind, _, _ := strings.Cut(name, ":")
	switch kind {
	case "turn", "session":
		return "this " + kind
	case "day":
		return "the day"
	}
	return name
}

// due is what a use gets whose time has come.
func due(u Open) uzda.ToolResult {
	if u.Pending.On == string(uzda.WaitTimer) {
		return uzda.ToolResult{Use: u.ID, Effect: uzda.EffectDone, Blocks: uzda.Say("The time has come.")}
	}
	res := refusal(u, uzda.CodeTimeout)
	res.Blocks = uzda.Say("No result came by " + u.Pending.Until.UTC().Format(time.RFC3339) + ". What was begun may still go on.")
	return res
}

// accounts are the caps that a paid call of the turn counts against.
func (r *run) accounts(f *State) []uzda.Account {
	l, day := f.Gear.Limits, r.now().UTC().Truncate(24*time.Hour)
	if r.caps.turn == f.Turn.Seq && r.caps.day.Equal(day) && r.caps.limits == l {
		return r.caps.list
	}
	list := append([]uzda.Account{
		{Name: "turn:" + string(r.id) + "/" + strconv.FormatInt(int64(f.Turn.Seq), 10), Limit: l.Cost},
		{Name: "session:" + string(r.id), Limit: l.SessionCost},
		{Name: "day:" + day.Format("2006-01-02"), Limit: l.DayCost},
	}, f.Opened.Charge...)
	list = slices.Clip(list) // who appends to it must not write into ours
	r.caps = caps{f.Turn.Seq, day, l, list}
	return list
}

// caps are the accounts of a turn on a day: the same for each of its asks. Who gets
// the list does not change it.
type caps struct {
	turn   uzda.Seq
	day    time.Time
	limits uzda.Limits
	list   []uzda.Account
}
