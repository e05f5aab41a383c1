package tool

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/uzda-dev/uzda"
)

// Retry repeats the calls of a tool whose errors are marked by [Transient], or
// whose attempt ran out of time. It repeats only what is read-only or
// idempotent: any other tool runs once, also where it times out, since a timeout
// does not mean that nothing happened. All attempts share the key of the use.
// The zero value is ready to use.
type Retry struct {
	Attempts int           // in all, default 3
	Wait     time.Duration // before the second attempt, doubled each time; default 100 ms
	Timeout  time.Duration // of one attempt, default 60 s; negative is none
	// Random returns what is added to a wait, at least 0 and less than the wait;
	// default evenly distributed.
	Random func(wait time.Duration) time.Duration
}

// Wrap returns t with retries. It panics if t has no Check and does not say
// Unchecked.
func (r Retry) Wrap(t uzda.Tool) uzda.Tool {
	b := baseOf(t)
	return redress(t, wrap(b, r.step(b.attempt, t.Spec().Effects)))
}

func (r Retry) step(do step, effects uzda.Effects) step {
	if r.Attempts <= 0 {
		r.Attempts = 3
	}
	if r.Wait <= 0 {
		r.Wait = 100 * time.Millisecond
	}
	if r.Timeout == 0 {
		r.Timeout = time.Minute
	}
	if r.Random == nil {
		r.Random = rand.N[time.Duration]
	}
	if r.Timeout > 0 {
		do = Timeout{After: r.Timeout}.step(do, effects)
	}
	if !effects.Again() {
		r.Attempts = 1
	}
	return func(ctx context.Context, use uzda.Use) (uzda.Result, error) {
		return r.run(ctx, use, do)
	}
}

func (r Retry) run(ctx context.Context, use uzda.Use, do step) (uzda.Result, error) {
	wait := r.Wait
	for n := 1; ; n++ {
		res, err := do(ctx, use)
		if err == nil || ctx.Err() != nil || !passing(err) {
			return res, err
		}
		if n >= r.Attempts {
			if n > 1 {
				err = fmt.Errorf("%w (tried %d times)", err, n)
			}
			return res, err
		}
		pause := time.NewTimer(wait + r.Random(wait))
		select {
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
			return res, err
		}
		wait *= 2
	}
}

// passing says whether another attempt may do better.
func passing(err error) bool {
	var late *lateError
	var t *transient
	return errors.As(err, &t) || errors.As(err, &late)
}
