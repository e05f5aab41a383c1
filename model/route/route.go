// Package route makes models of models: they try again, fall back, keep to limits,
// or choose.
//
// Each is a value that all sessions may share, and keeps the contract of
// [uzda.Model]. The adapters of Uzda try again and keep to the limits of their
// service by themselves; [Retry] and [Limit] are for models of your own and for
// limits that only you know.
//
// What is sent again or elsewhere is told by an [uzda.Attempt] before it is sent,
// so that its reader can reserve what it may cost. Attempts are numbered through,
// also where decorators lie in decorators.
package route

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/internal/wire"
)

// describe is what a model says of itself.
func describe(m uzda.Model) uzda.ModelInfo {
	if d, ok := m.(uzda.Describer); ok {
		return d.Describe()
	}
	return uzda.ModelInfo{ID: "unnamed"}
}

// count asks a model to count; errors.ErrUnsupported is of one that cannot.
func count(ctx context.Context, m uzda.Model, req *uzda.Request) (int, error) {
	if c, ok := m.(uzda.Counter); ok {
		return c.Count(ctx, req)
	}
	return 0, fmt.Errorf("count the tokens for %s: %w", describe(m).ID, errors.ErrUnsupported)
}

// narrowest describes several models as one: by the name of the first, with the
// smallest limits that are known, and free only if all are.
func narrowest(models []uzda.Model) uzda.ModelInfo {
	if len(models) == 0 {
		return uzda.ModelInfo{ID: "unnamed"}
	}
	all := describe(models[0])
	for _, m := range models[1:] {
		info := describe(m)
		all.Window, all.MaxOutput = least(all.Window, info.Window), least(all.MaxOutput, info.MaxOutput)
		all.Free = all.Free && info.Free
	}
	return all
}

// least is the smaller of two limits; 0 is unknown.
func least(a, b int) int {
	if a == 0 || b == 0 {
		return max(a, b)
	}
	return min(a, b)
}

// none is the stream of a decorator that was given no model.
func none(what string) iter.Seq2[uzda.Chunk, error] {
	return func(yield func(uzda.Chunk, error) bool) {
		yield(nil, &uzda.ProviderError{Code: "invalid_request", Message: what + " has no model to ask", Hint: "give it one"})
	}
}

// A passage passes streams on to one reader, and numbers their attempts through.
type passage struct {
	yield func(uzda.Chunk, error) bool
	n     int    // attempts so far
	model string // whom the newest attempt went to, where that was told
	began bool   // content was passed on
}

// tell announces an attempt.
func (p *passage) tell(a uzda.Attempt) bool {
	p.n = max(p.n, 1) + 1
	a.N = p.n
	if a.Model != "" {
		p.model = a.Model
	}
	return p.yield(a, nil)
}

// pass passes a stream on until its end or its error. over says that nothing may
// follow: the reader has left, or the stream has ended well.
func (p *passage) pass(seq iter.Seq2[uzda.Chunk, error]) (over bool, err error) {
	for c, err := range seq {
		if err != nil {
			return false, err
		}
		switch chunk := c.(type) {
		case uzda.Attempt:
			if !p.tell(chunk) {
				return true, nil
			}
			continue
		case uzda.Delta, uzda.Done, uzda.Stop:
			p.began = true
		}
		if !p.yield(c, nil) {
			return true, nil
		}
	}
	return true, nil
}

// Retry sends a request again where that may help: see the fields. The zero values
// are useful. It is for models that don't try again by themselves, as the adapters
// of Uzda do. All who use one value share a budget of about ten retries at once.
type Retry struct {
	Model   uzda.Model
	Tries   int           // attempts in all; default 5; 1 is no retry
	Base    time.Duration // the longest first wait, doubled each time; default 500 ms
	Longest time.Duration // of a wait that the provider did not ask for; default 60 s
	// LongestHint is how long a provider may ask to wait; more ends the request.
	// Default 5 min.
	LongestHint time.Duration
	// Random returns what is added to a hint, or is waited where there is none: at
	// least 0 and less than most. Default evenly distributed.
	Random func(most time.Duration) time.Duration

	key wire.Key
}

var (
	_ uzda.Model     = (*Retry)(nil)
	_ uzda.Describer = (*Retry)(nil)
	_ uzda.Counter   = (*Retry)(nil)
)

// Describe is what the model says.
func (r *Retry) Describe() uzda.ModelInfo { return describe(r.Model) }

// Count is what the model counts.
func (r *Retry) Count(ctx context.Context, req *uzda.Request) (int, error) {
	return count(ctx, r.Model, req)
}

// Stream asks until the model answers. Nothing is sent again once content came.
func (r *Retry) Stream(ctx context.Context, req *uzda.Request) iter.Seq2[uzda.Chunk, error] {
	if r.Model == nil {
		return none("route.Retry")
	}
	policy := wire.Retry{Tries: r.Tries, Base: r.Base, Longest: r.Longest, LongestHint: r.LongestHint, Random: r.Random}
	return func(yield func(uzda.Chunk, error) bool) {
		moved, inner := false, false // the model itself went elsewhere; the attempt to come is its own
		once := func(ctx context.Context) iter.Seq2[uzda.Chunk, error] {
			return func(yield func(uzda.Chunk, error) bool) {
				for c, err := range r.Model.Stream(ctx, req) {
					if a, ok := c.(uzda.Attempt); ok {
						inner, moved = true, moved || a.Model != ""
					}
					if !yield(c, err) || err != nil {
						return
					}
				}
			}
		}
		for c, err := range policy.Stream(ctx, &r.key, once) {
			if a, ok := c.(uzda.Attempt); ok && !inner && moved {
				info := r.Describe() // it begins where it began at first
				a.Model, a.Free, moved = info.ID, info.Free, false
				c = a
			}
			inner = false
			if !yield(c, err) || err != nil {
				return
			}
		}
	}
}
