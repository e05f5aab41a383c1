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

// resent takes the next stored event, and returns what of it made a cache useless.
func (r *runner) resent(e uzda.Event) (out []window.Change) {
	if e.Seq == 0 {
		return nil
	}
	if r.prefix == nil || r.prefixOf != r.id {
		r.prefix, r.prefixOf = &window.Prefix{Prices: r.prices}, r.id
		for old, err := range r.store.Read(context.Background(), r.id, max(0, e.Seq-1-recentEvents)) {
			if err != nil || old.Seq >= e.Seq { // without them less is said
				break
			}
			r.prefix.Event(old)
		}
	}
	for _, c := range r.prefix.Event(e) {
		if c.Tokens >= leastResent {
			out = append(out, c)
		}
	}
	return out
}
