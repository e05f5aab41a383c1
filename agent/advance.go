package agent

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"github.com/uzda-dev/uzda"
)

// advance makes the moves that can be made now. They are tried on a fork, and
// count when the journal has them; false means that there was nothing to record.
func (r *run) advance(ctx context.Context) (bool, error) {
	if r.idle() {
		return false, nil
	}
	f, gen := r.s.Fork(), r.s.GearGen
	bodies, start := make([]uzda.Body, 0, 8), []uzda.Body(nil)
	hand := Hand{Asking: r.hand.Asking, Uses: r.hand.Uses}
	stage := func(b uzda.Body) {
		bodies = append(bodies, b)
		f.Fold(uzda.Event{Seq: f.Head + 1, Body: b})
		switch b := b.(type) {
		case uzda.Asked:
			hand.Asking, start = true, append(start, b)
		case uzda.Started:
			hand.Uses = maps.Clone(hand.Uses)
			hand.Uses[b.Use], start = true, append(start, b)
		}
	}
	for _, b := range r.held {
		stage(b)
	}
	equip := r.equip
	next := func() []Move { // a step runs to its end with what it began with
		if equip != nil && r.last == 0 && f.Ask == nil && len(f.Uses) == 0 && f.Turn.Seq != 0 && f.Cancel == 0 {
			stage(*equip)
			equip = nil
		}
		if r.last != 0 && f.Turn.Seq != r.last {
			return nil
		}
		hand.Beside, hand.Judging = r.hand.Beside, r.hand.Judging
		return f.Next(r.now(), hand)
	}
	for moves := next(); len(moves) > 0; moves = next() {
		for _, m := range moves {
			made, err := r.decide(ctx, f, m)
			if err != nil { // what has happened must not be lost with the decision
				return false, errors.Join(err, r.flush(ctx))
			}
			for _, b := range made {
				stage(b)
			}
		}
	}
	if len(bodies) == 0 || len(bodies) == len(r.held) && !r.urgent && len(r.stop) > 0 {
		return false, nil
	}
	// Numbers of events in the bodies are right only after this very head.
	if err := r.append(ctx, r.at(start), bodies); err != nil {
		return r.refused(ctx, err)
	}
	r.recorded()
	r.broke, r.stuck = nil, 0
	if f.GearGen > gen {
		r.equip = nil
	}
	for _, b := range start {
		r.launch(ctx, b)
	}
	return true, r.checkpoint(ctx, true)
}

// idle says whether there surely is nothing to decide, as while something is in
// flight: that costs no fork.
func (r *run) idle() bool {
	return len(r.held) == 0 && r.equip == nil && len(r.s.Next(r.now(), r.hand)) == 0
}

// at says after which head the staged bodies go, and what counts with them.
func (r *run) at(start []uzda.Body) uzda.At {
	at := uzda.At{Head: r.s.Head, Epoch: r.epoch, Settle: r.settle}
	for _, b := range start {
		switch b := b.(type) {
		case uzda.Asked:
			if b.Hold.ID != "" {
				at.Reserve = append(at.Reserve, b.Hold)
			}
		case uzda.Started:
			if b.Once {
				at.Claim = append(at.Claim, uzda.Claim{Key: b.Key, By: uzda.Holder{Session: r.id, Use: b.Use}, Over: r.taken[b.Key]})
			}
		}
	}
	return at
}

// conflicts is how often in a row the journal may say that its head has moved
// without showing anything new.
const conflicts = 100

// refused decides what an append that wrote nothing means.
func (r *run) refused(ctx context.Context, err error) (bool, error) {
	var taken *uzda.Taken
	switch {
	case errors.Is(err, uzda.ErrConflict): // keep what has happened; decide again
		head := r.s.Head
		if err := r.flush(ctx); err != nil {
			return false, err
		}
		if err := r.catchUp(ctx); err != nil {
			return false, err
		}
		if r.stuck++; r.s.Head > head {
			r.stuck = 0
		}
		if r.stuck > conflicts {
			return false, fmt.Errorf("the journal shows nothing new after event %d, but its head is another: %w", head, err)
		}
		return true, nil
	case errors.Is(err, uzda.ErrBudget):
		r.broke = err
		return true, nil
	case errors.As(err, &taken):
		r.taken[taken.Key] = taken.By
		return true, nil
	}
	return false, err
}

// flush records the outcomes alone, at any head.
func (r *run) flush(ctx context.Context) error {
	if len(r.held) == 0 {
		return nil
	}
	err := r.append(ctx, uzda.At{Head: uzda.AnyHead, Epoch: r.epoch, Settle: r.settle}, r.held)
	if err == nil {
		r.recorded()
	}
	return err
}

// recorded forgets the outcomes that the journal has now.
func (r *run) recorded() { r.held, r.settle, r.urgent, r.unsent = nil, nil, false, 0 }

// append records bodies and folds what the journal made of them.
func (r *run) append(ctx context.Context, at uzda.At, bodies []uzda.Body) error {
	evs, err := r.Store.Append(ctx, r.id, at, bodies...)
	if err != nil {
		return fmt.Errorf("record in session %s: %w", r.id, err)
	}
	if evs[0].Seq != r.s.Head+1 {
		return r.catchUp(ctx)
	}
	r.fold(evs...)
	return nil
}

func (r *run) fold(evs ...uzda.Event) {
	for _, e := range evs {
		r.s.Fold(e)
	}
	r.seal = sealOf(evs[len(evs)-1])
	if r.Events != nil {
		r.Events(r.id, evs...)
	}
	if r.Folded != nil {
		r.Folded(r.s)
	}
}

func (r *run) catchUp(ctx context.Context) error {
	for e, err := range r.Store.Read(ctx, r.id, r.s.Head) {
		if err != nil {
			return fmt.Errorf("read session %s: %w", r.id, err)
		}
		r.fold(e)
	}
	return nil
}
