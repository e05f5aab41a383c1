package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

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
// any, its Missed and End say why; a session that has asked nothing yet gets none. What
// the model used counts for the session, or in a dry run only for the day.
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
		return uzda.Plan{}, nil
	case len(s.Uses) > 0 || s.Ask != nil:
		return fail(errors.New("a call or a request of its turn is open; let the turn go on, or cancel it"))
	}
	b := &byHand{run: x, dry: c.DryRun}
	plan, err := b.plan(ctx, !c.DryRun || c.Ask)
	if err = errors.Join(err, b.finish(keep, &plan)); err != nil {
		return fail(err)
	}
	return plan, nil
}

// byHand is a compaction by a person.
type byHand struct {
	*run
	dry bool

	mu     sync.Mutex
	paid   []uzda.Body // outcomes
	settle []uzda.Settlement
}

// plan asks the planner, and keeps the lease meanwhile.
func (b *byHand) plan(ctx context.Context, mayAsk bool) (plan uzda.Plan, err error) {
	stop := b.renew(ctx)
	defer func() {
		stop()
		if p := recover(); p != nil {
			plan, err = uzda.Plan{}, fmt.Errorf("the planner crashed: %v", p)
		}
	}()
	now := *b.s // for the model that it would go on with; what that is told is what it was told last
	if g := b.gear(); g.Model.ID != now.Gear.Model.ID {
		now.Most, now.Used, now.Gear.Model = 0, uzda.Usage{}, g.Model
	}
	now.Gear.Budget = budgetOf(b.Budget, now.Gear.Model.Window)
	v := b.view(&now, now.Asks+1, "")
	v.Forced, v.Missed = true, 0
	side := &side{asks: v.Ask, run: b.run, crew: b.crew, info: now.Gear.Model, rate: now.Rate, accounts: b.purses(&now), took: b.took}
	if mayAsk {
		v.Side = side.ask
	}
	if plan, err = b.Planner.Plan(ctx, v); err != nil {
		return uzda.Plan{}, err
	}
	plan = b.clean(plan)
	b.run.plan = planned{next: now.next(), Plan: plan, cost: side.spent()}
	return plan, nil
}

// purses are what a compaction is paid from: of a turn of its own, or in a dry run only
// of the day.
func (b *byHand) purses(s *State) []uzda.Account {
	list := slices.Clone(b.accounts(s))
	if b.dry {
		return list[2:3]
	}
	list[0].Name = fmt.Sprintf("turn:%s/compact-%d", b.id, b.epoch)
	return list
}

func (b *byHand) took(u uzda.Used, settle *uzda.Settlement) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.paid = append(b.paid, u)
	if settle != nil {
		b.settle = append(b.settle, *settle)
	}
}

// finish records what was paid, whatever came of it, and the edits as far as they may
// still be made: somebody may have posted meanwhile.
func (b *byHand) finish(ctx context.Context, plan *uzda.Plan) error {
	if b.dry {
		var err error
		if b.ledger != nil {
			for _, one := range b.settle {
				err = errors.Join(err, b.ledger.Settle(ctx, one))
			}
		}
		more, _ := b.edits(b.s, b.run.plan.next)
		plan.Edits = editsOf(more)
		return err
	}
	for range conflicts {
		more, _ := b.edits(b.s, b.s.next())
		plan.Edits = editsOf(more)
		bodies := b.paid
		if len(plan.Edits) > 0 {
			bodies = slices.Concat(bodies, slices.DeleteFunc(more, isMissed)) // who asked is told, and nothing is counted
		}
		if len(bodies) == 0 {
			return nil
		}
		_, err := b.Store.Append(ctx, b.id, uzda.At{Head: b.s.Head, Epoch: b.epoch, Settle: b.settle}, bodies...)
		if !errors.Is(err, uzda.ErrConflict) {
			return err
		}
		if err := b.catchUp(ctx); err != nil {
			return err
		}
		b.run.plan.next = b.s.next()
	}
	plan.Edits = nil
	_, err := b.Store.Append(ctx, b.id, uzda.At{Head: uzda.AnyHead, Epoch: b.epoch, Settle: b.settle}, b.paid...)
	return errors.Join(err, uzda.ErrConflict)
}

// renew keeps the lease until the function that it returns is called.
func (b *byHand) renew(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	done := make(chan struct{})
	go func() {
		defer close(done)
		t := time.NewTicker(or(b.Renew, 4*time.Second))
		defer t.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-t.C:
				if err := b.Store.Renew(ctx, b.id, b.epoch); err != nil {
					b.debug("renew the lease of a compaction", "session", b.id, "error", err)
				}
			}
		}
	}()
	return func() { cancel(); <-done }
}

func isMissed(b uzda.Body) bool { _, ok := b.(uzda.Missed); return ok }

func editsOf(bodies []uzda.Body) (out []uzda.Edited) {
	for _, b := range bodies {
		if e, ok := b.(uzda.Edited); ok {
			out = append(out, e)
		}
	}
	return out
}
