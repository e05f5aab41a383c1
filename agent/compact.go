package agent

import (
	"context"
	"errors"
	"fmt"

	"github.com/uzda-dev/uzda"
)

// A Compaction is how a person wants the view of a session shortened.
type Compaction struct {
	DryRun bool // nothing is recorded, and no model is asked unless Ask says so
	Ask    bool // a dry run may ask the model
}

// ErrNoPlanner says that an agent has nothing that could shorten a view.
var ErrNoPlanner = errors.New("the agent has no planner")

// Compact lets the planner shorten the view for a person, while no runner has the
// session. The plan holds the edits that were made, or in a dry run would be; without
// any, its Missed and End say why. What the model used counts for the session, or
// in a dry run only for the day.
func (r *Runner) Compact(ctx context.Context, id uzda.SessionID, c Compaction) (uzda.Plan, error) {
	fail := func(err error) (uzda.Plan, error) {
		return uzda.Plan{}, fmt.Errorf("compact session %s: %w", id, err)
	}
	if r.Planner == nil {
		return fail(ErrNoPlanner)
	}
	x, err := r.open(ctx, id)
	if err != nil {
		return fail(err)
	}
	keep := context.WithoutCancel(ctx)
	defer r.Store.Release(keep, id, x.epoch) //nolint:errcheck // a lease ends by itself too
	switch s := x.s; {
	case s.ReadOnly != "":
		return fail(errors.New(s.ReadOnly))
	case s.GearGen == 0:
		return uzda.Plan{}, nil // nothing was asked yet
	case len(s.Uses) > 0 || s.Ask != nil:
		return fail(errors.New("a call or a request of its turn is open; let the turn go on, or cancel it"))
	}
	x.s.Gear.Budget = budgetOf(r.Budget, r.info().Window)
	v := x.view(x.s, x.s.Asks+1, "")
	v.Forced, v.First, v.Missed = true, true, 0
	var bodies []uzda.Body
	at := uzda.At{Head: x.s.Head, Epoch: x.epoch}
	if !c.DryRun || c.Ask {
		accounts := x.accounts(x.s)
		if c.DryRun {
			accounts = accounts[2:3] // that of the day
		}
		v.Side = x.apart(accounts, func(u uzda.Used, settle *uzda.Settlement) {
			bodies = append(bodies, u)
			if settle != nil {
				at.Settle = append(at.Settle, *settle)
			}
		})
	}
	plan, err := r.Planner.Plan(ctx, v)
	if err == nil {
		plan = x.clean(plan)
		x.plan = planned{v.Ask, plan}
		more, _ := x.edits(x.s, v.Ask)
		if plan.Edits = editsOf(more); len(plan.Edits)+len(plan.Missed) > 0 {
			bodies = append(bodies, more...)
		}
	}
	switch {
	case c.DryRun && x.ledger != nil:
		for _, one := range at.Settle {
			err = errors.Join(err, x.ledger.Settle(keep, one))
		}
	case !c.DryRun && len(bodies) > 0: // what was paid is recorded whatever came of it
		_, put := r.Store.Append(keep, id, at, bodies...)
		err = errors.Join(err, put)
	}
	if err != nil {
		return fail(err)
	}
	return plan, nil
}

// apart asks models one after the other, outside a turn.
func (r *run) apart(accounts []uzda.Account, took func(uzda.Used, *uzda.Settlement)) func(context.Context, uzda.Model, *uzda.Request) (uzda.Reply, error) {
	s := &side{asks: r.s.Asks + 1, run: r, crew: r.crew, info: r.info(), rate: r.s.Rate, accounts: accounts, took: took}
	return s.ask
}

func editsOf(bodies []uzda.Body) (out []uzda.Edited) {
	for _, b := range bodies {
		if e, ok := b.(uzda.Edited); ok {
			out = append(out, e)
		}
	}
	return out
}
