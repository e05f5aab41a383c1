package tool

import (
	"context"
	"fmt"
	"time"

	"github.com/uzda-dev/uzda"
)

// Timeout ends a call after a time. A function that does not heed its context is
// left behind after Grace; what it still does is not known then, and the result
// says so.
type Timeout struct {
	After time.Duration // 0 is no bound
	Grace time.Duration // how long to wait for a function to notice; default 500 ms
}

// Wrap returns t with the bound. It panics if t has no Check and does not say
// Unchecked.
func (o Timeout) Wrap(t uzda.Tool) uzda.Tool {
	b := baseOf(t)
	return redress(t, wrap(b, o.step(b.attempt, t.Spec().Effects)))
}

// lateError says that a call ran out of its time.
type lateError struct {
	after    time.Duration
	readOnly bool
}

func (e *lateError) Error() string {
	if e.readOnly {
		return fmt.Sprintf("no result within %v", e.after)
	}
	return fmt.Sprintf("no result within %v; it may still have taken effect, so look before you repeat it", e.after)
}

func (e *lateError) Timeout() bool { return true }

func (o Timeout) step(do step, effects uzda.Effects) step {
	if o.After <= 0 {
		return do
	}
	if o.Grace <= 0 {
		o.Grace = 500 * time.Millisecond
	}
	return func(ctx context.Context, use uzda.Use) (uzda.Result, error) {
		type outcome struct {
			res uzda.Result
			err error
		}
		within, stop := context.WithTimeout(ctx, o.After)
		defer stop()
		done := make(chan outcome, 1) // so that one that is left behind can end
		go func() {
			out := outcome{err: Errorf("the tool ended without a result")}
			defer func() {
				if p := recover(); p != nil {
					out = outcome{res: crashed(p)}
				}
				done <- out
			}()
			out.res, out.err = do(within, use)
		}()
		var out outcome
		select {
		case out = <-done:
		case <-within.Done():
			patience := time.NewTimer(o.Grace)
			defer patience.Stop()
			select {
			case out = <-done:
			case <-patience.C:
				out.err = within.Err()
			}
		}
		if out.err != nil && within.Err() != nil && ctx.Err() == nil && !final(out.err) {
			return uzda.Result{}, &lateError{o.After, effects.ReadOnly}
		}
		return out.res, out.err
	}
}
