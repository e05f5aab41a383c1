package main

import (
	"context"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/window"
)

// recentEvents is how far back a run looks for what its provider's cache may hold.
const recentEvents = 5000

// leastResent are the tokens from which on it is worth a line.
const leastResent = 500

// resent takes the next stored event, and returns what made a cache useless for the
// reply that it is: what that cost is only a guess before, and `uzda context` is to
// say the same.
func (r *runner) resent(e uzda.Event) (out []window.Change) {
	if e.Seq == 0 {
		return nil
	}
	if r.prefix == nil || r.prefixOf != r.id {
		r.prefix, r.prefixOf, r.resentTold = &window.Prefix{Prices: r.prices}, r.id, 0
		for old, err := range r.store.Read(context.Background(), r.id, max(0, e.Seq-1-recentEvents)) {
			if err != nil || old.Seq >= e.Seq { // without them less is said
				break
			}
			r.prefix.Event(old)
			if _, ok := old.Body.(uzda.Said); ok {
				r.resentTold = len(r.prefix.Changes())
			}
		}
	}
	r.prefix.Event(e)
	if _, ok := e.Body.(uzda.Said); !ok {
		return nil
	}
	all := r.prefix.Changes()
	for _, c := range all[r.resentTold:] {
		if c.Tokens >= leastResent {
			out = append(out, c)
		}
	}
	r.resentTold = len(all)
	return out
}
