package route

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/internal/wire"
)

// A Fallback asks the first of its models that works. It goes to the next while
// nothing was said, and tells so by an [uzda.Attempt] with the name of that model.
// A model that failed is asked last for a while, so that not every ask begins
// with it.
//
// Models of several providers take one request in common: what only one of them
// understands (Params.Options) is to be set with [With] around that one.
type Fallback struct {
	Models []uzda.Model // in order; not to be changed in use
	// Codes are those of uzda.ProviderError on which the next is asked, besides
	// whatever may be tried again. Default [Elsewhere].
	Codes []string
	Rest  time.Duration // how long a model that failed is asked last; default 1 min

	mu    sync.Mutex
	tired map[int]rest
}

// Elsewhere are the failures that another model may not have: all but a request
// that is wrong in itself.
func Elsewhere() []string {
	return []string{"overloaded", "rate_limit", "quota", "auth", "not_found", "context", "network", "unknown"}
}

// longestRest bounds how long a provider can keep a model from being asked first.
const longestRest = time.Hour

// rest is why a model is asked last, and until when.
type rest struct {
	until time.Time
	why   string
}

var (
	_ uzda.Model     = (*Fallback)(nil)
	_ uzda.Describer = (*Fallback)(nil)
	_ uzda.Counter   = (*Fallback)(nil)
)

// Describe names the first model, with the smallest window and the smallest reply
// of all, since any of them may get the request. It is free only if all are.
func (f *Fallback) Describe() uzda.ModelInfo { return narrowest(f.Models) }

// Count is what the first model counts.
func (f *Fallback) Count(ctx context.Context, req *uzda.Request) (int, error) {
	if len(f.Models) == 0 {
		return 0, errors.ErrUnsupported
	}
	return count(ctx, f.Models[0], req)
}

// Stream asks one model after the other. The error at the end names all.
func (f *Fallback) Stream(ctx context.Context, req *uzda.Request) iter.Seq2[uzda.Chunk, error] {
	if len(f.Models) == 0 {
		return none("route.Fallback")
	}
	return func(yield func(uzda.Chunk, error) bool) {
		if ctx.Err() != nil {
			yield(nil, context.Cause(ctx))
			return
		}
		p := &passage{yield: yield}
		order, before := f.order()
		var failed []failure
		for _, i := range order {
			if next := describe(f.Models[i]); before.Error != "" {
				before.Model, before.Free = next.ID, next.Free
				if !p.tell(before) {
					return
				}
			}
			over, err := p.pass(f.Models[i].Stream(ctx, req))
			if p.began {
				f.wake(i)
			}
			if err == nil || over {
				return
			}
			if p.began || ctx.Err() != nil || !f.elsewhere(err) {
				yield(nil, err)
				return
			}
			f.tire(i, err)
			failed = append(failed, failure{describe(f.Models[i]).ID, err})
			before = uzda.Attempt{Error: wire.Short(err), Usage: used(err)}
		}
		yield(nil, all(failed))
	}
}

// order is in which order the models are asked now. If the first of them isn't
// asked first, before says why.
func (f *Fallback) order() (order []int, before uzda.Attempt) {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := time.Now()
	var last []int
	for i := range f.Models {
		if now.Before(f.tired[i].until) {
			last = append(last, i)
		} else {
			order = append(order, i)
		}
	}
	order = append(order, last...)
	if order[0] != 0 {
		before.Error = fmt.Sprintf("%s is asked last for another %s: %s", describe(f.Models[0]).ID,
			f.tired[0].until.Sub(now).Round(time.Second), f.tired[0].why)
	}
	return order, before
}

// tire remembers a failure that the next request would meet too; one that is too
// long for its model says nothing of the next.
func (f *Fallback) tire(i int, err error) {
	var p *uzda.ProviderError
	if !errors.As(err, &p) || p.Code == "context" || p.Code == "invalid_request" {
		return
	}
	d := f.Rest
	if d <= 0 {
		d = time.Minute
	}
	d = max(d, min(p.Wait, longestRest))
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.tired == nil {
		f.tired = map[int]rest{}
	}
	f.tired[i] = rest{time.Now().Add(d), wire.Short(err)}
}

func (f *Fallback) wake(i int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.tired, i)
}

// elsewhere says whether another model may do better.
func (f *Fallback) elsewhere(err error) bool {
	var p *uzda.ProviderError
	if !errors.As(err, &p) || p.Code == "cut" {
		return false
	}
	codes := f.Codes
	if codes == nil {
		codes = Elsewhere()
	}
	return p.Retryable() || slices.Contains(codes, p.Code)
}

type failure struct {
	model string
	err   error
}

// all is the error of all models. It has the code of the first that may be over
// soon, else that of the last; what was used is that of the last alone, as the
// attempts have told the others.
func all(failed []failure) error {
	last := failed[len(failed)-1].err
	if len(failed) == 1 {
		return last
	}
	var base *uzda.ProviderError
	var texts []string
	var errs []error
	for _, f := range failed {
		var p *uzda.ProviderError
		if errors.As(f.err, &p) && (base == nil || !base.Retryable()) {
			base = p
		}
		texts, errs = append(texts, f.model+": "+wire.Short(f.err)), append(errs, f.err)
	}
	e := *base
	e.Message = fmt.Sprintf("none of %d models answered: %s", len(failed), strings.Join(texts, "; "))
	e.Usage, e.Err = used(last), errors.Join(errs...)
	return &e
}
