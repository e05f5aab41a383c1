package main

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/window"
	"github.com/uzda-dev/uzda/window/register"
)

// A move brings the view of a story to a share of its tokens.
type move struct {
	name   string
	recall bool // what it put away can be asked for again
	// try makes the move with a knob, from 0 for the gentlest to knobs-1.
	try func(ctx context.Context, s *story, v uzda.View, knob int) ([]uzda.Entry, error)
}

// knobs is how many strengths of a move are tried.
const knobs = 16

func moves() []move {
	return []move{
		{name: "drop oldest", try: dropOldest},
		{name: "dedupe", recall: true, try: dedupe},
		{name: "clear", recall: true, try: clearResults},
		{name: "compact, no register", recall: true, try: bare},
		{name: "compact", recall: true, try: compact},
		{name: "handover by code", recall: true, try: handover},
		{name: "the planner", recall: true, try: asItRuns},
	}
}

// cut makes a move as gently as brings the request to a share of its tokens, or as
// strongly as it can.
func (m move) cut(ctx context.Context, s *story, share float64) (view []uzda.Entry, tokens int, err error) {
	whole := s.view(s.entries())
	target := int(share * float64(whole.Tokens))
	for knob := range knobs {
		v := whole
		v.Budget = budgetOf(target, knob)
		v.Model.Window = 2 * whole.Tokens
		next, err := m.try(ctx, s, v, knob)
		if err != nil {
			return nil, 0, fmt.Errorf("%s of %s: %w", m.name, s.id, err)
		}
		if err := uzda.Valid(next); err != nil {
			return nil, 0, fmt.Errorf("%s of %s left a view that is not valid: %w", m.name, s.id, err)
		}
		n := s.view(next).Tokens
		if better(n, tokens, target) {
			view, tokens = next, n
		}
	}
	return view, tokens, nil
}

// better says whether n tokens are nearer to a target than old: the most that is
// not over it, else the least that is; 0 is none.
func better(n, old, target int) bool {
	switch {
	case old == 0:
		return true
	case n <= target && old <= target:
		return n > old
	}
	return n < old
}

// budgetOf is the budget of a planner that is to reach a target: it aims at half
// of it, and its parts are shares of it.
func budgetOf(target, knob int) int { return max(target*4*(knobs-knob)/knobs, 1) }

// view is what a planner sees of the story before the next request.
func (s *story) view(entries []uzda.Entry) uzda.View {
	v := uzda.View{Session: s.id, Ask: s.state.Asks + 1, Head: s.head, Entries: entries, Fixed: fixedFrom(entries),
		Model: uzda.ModelInfo{ID: s.head.Model}, First: true,
		Events: func(ctx context.Context) iter.Seq2[uzda.Event, error] { return s.store.Read(ctx, s.id, 0) }}
	v.Tokens = window.Weigh(v).Total
	return v
}

// dropOldest is what many programs do: whole steps go, the oldest first.
func dropOldest(_ context.Context, s *story, v uzda.View, _ int) ([]uzda.Entry, error) {
	view := v.Entries
	for s.view(view).Tokens > v.Budget && len(view) > 0 {
		next := 1
		for next < len(view) && uzda.Valid(view[next:]) != nil {
			next++
		}
		if next >= fixedFrom(view) {
			break
		}
		view = view[next:]
	}
	return view, nil
}

// dedupe has no strengths.
func dedupe(_ context.Context, _ *story, v uzda.View, _ int) ([]uzda.Entry, error) {
	e, ok := window.Dedupe(v.Entries, v.Fixed, v.Head.Tools)
	if !ok {
		return v.Entries, nil
	}
	return applied(v.Entries, []uzda.Edited{e})
}

// clearResults keeps the results of fewer replies the stronger it is.
func clearResults(_ context.Context, _ *story, v uzda.View, knob int) ([]uzda.Entry, error) {
	replies := 0
	for _, e := range v.Entries {
		if len(e.Message.Uses()) > 0 {
			replies++
		}
	}
	keep := replies * (knobs - 1 - knob) / (knobs - 1)
	if keep == 0 {
		keep = -1
	}
	e, ok := window.Clear(v.Entries, v.Fixed, window.ClearOptions{Keep: keep, Tools: v.Head.Tools})
	if !ok {
		return v.Entries, nil
	}
	return applied(v.Entries, []uzda.Edited{e})
}

// compact does what a person's wish for a compaction does, without clearing before.
func compact(ctx context.Context, s *story, v uzda.View, _ int) ([]uzda.Entry, error) {
	v.Forced, v.Side = true, firstSentences
	return planned(ctx, window.Planner{Keep: keepAll}, v)
}

// bare is compact without the register of facts.
func bare(ctx context.Context, s *story, v uzda.View, knob int) ([]uzda.Entry, error) {
	view, err := compact(ctx, s, v, knob)
	view = slices.Clone(view)
	for i, e := range view {
		if e.Message.Role != uzda.User || slices.ContainsFunc(v.Entries, func(x uzda.Entry) bool { return x.Seq == e.Seq && len(x.Message.Blocks) == len(e.Message.Blocks) }) {
			continue
		}
		e.Message.Blocks = slices.DeleteFunc(slices.Clone(e.Message.Blocks), isRegister)
		view[i] = e
	}
	return view, err
}

// isRegister says that a block holds the facts that a summary lost.
func isRegister(b uzda.Block) bool {
	t, ok := b.(uzda.Text)
	return ok && len(register.Parse(t.Text)) > 0
}

// handover makes the brief by code alone, as where no model may be asked.
func handover(ctx context.Context, _ *story, v uzda.View, _ int) ([]uzda.Entry, error) {
	v.Compacted = 2
	return planned(ctx, window.Planner{Keep: keepAll}, v)
}

// asItRuns is what the loop has from a planner with its defaults.
func asItRuns(ctx context.Context, _ *story, v uzda.View, _ int) ([]uzda.Entry, error) {
	v.Side = firstSentences
	return planned(ctx, window.Planner{}, v)
}

// keepAll keeps a move apart from clearing, which would come before or after it.
const keepAll = 1 << 30

func planned(ctx context.Context, p window.Planner, v uzda.View) ([]uzda.Entry, error) {
	plan, err := p.Plan(ctx, v)
	if err != nil {
		return nil, err
	}
	return applied(v.Entries, plan.Edits)
}

// edited is the number of every edit here.
const edited = uzda.Seq(1 << 40)

// applied is a view after edits, by the rules of the journal.
func applied(view []uzda.Entry, edits []uzda.Edited) ([]uzda.Entry, error) {
	for _, e := range edits {
		at := func(seq uzda.Seq) int {
			return slices.IndexFunc(view, func(x uzda.Entry) bool { return x.Seq == seq })
		}
		from, to := at(e.From), at(e.To)
		if from < 0 || to < from {
			return nil, fmt.Errorf("edit %s: no messages %d to %d", e.What, e.From, e.To)
		}
		with := slices.Clone(e.With)
		for i := range with {
			with[i].Edit = edited
		}
		if e.Only {
			made := with
			with = slices.Clone(view[from : to+1])
			for _, w := range made {
				i := slices.IndexFunc(with, func(x uzda.Entry) bool { return x.Seq == w.Seq })
				if i < 0 {
					return nil, fmt.Errorf("edit %s: no message %d", e.What, w.Seq)
				}
				with[i] = w
			}
		}
		view = slices.Concat(view[:from], with, view[to+1:])
	}
	return view, nil
}

// firstSentences answers as a poor summariser does: the first sentence of each
// paragraph, evenly taken, 400 words in all.
func firstSentences(_ context.Context, _ uzda.Model, req *uzda.Request) (uzda.Reply, error) {
	const most = 400
	var lines []string
	total := 0
	for _, line := range strings.Split(read(req.View), "\n") {
		first, _, _ := strings.Cut(line, ". ")
		words := strings.Fields(first)
		if len(words) < 4 {
			continue
		}
		words = words[:min(len(words), 20)]
		lines, total = append(lines, strings.Join(words, " ")+"."), total+len(words)
	}
	var out []string
	step := max(1, (total+most-1)/most)
	for i := 0; i < len(lines); i += step {
		out = append(out, lines[i])
	}
	return uzda.Reply{Message: uzda.Message{Role: uzda.Assistant, Blocks: uzda.Say(strings.Join(out, "\n"))},
		Stop: uzda.Stop{Reason: uzda.StopEnd, Usage: uzda.Usage{Input: window.Estimate(req.Head.System + read(req.View)), Output: 600}}}, nil
}
