package route

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"

	"github.com/uzda-dev/uzda"
)

// Tiers asks one of several models for each request, by a rule: a strong one for
// the first steps and a cheap one for the rest, or a fast one for one agent.
//
// A runner plans before it knows the choice: it reserves money, and keeps the
// request within the window. So Describe names the first model, with the smallest
// window and the smallest reply of all; and a choice of another than the first is
// told by an [uzda.Attempt] before it is sent, as then its reader reserves anew
// at the price of the model that is asked, and books the reply under its name.
// Prices are not known here: put the dearest first, so that what is reserved
// before the choice is never too little.
type Tiers struct {
	Models []uzda.Model // the dearest first; not to be changed in use
	// Choose returns the index of the model for a request. It decides from the
	// request alone, so that a request that is asked again after a crash goes to the
	// same model. nil and an index that there isn't choose the first.
	Choose func(req *uzda.Request) int
}

var (
	_ uzda.Model     = Tiers{}
	_ uzda.Describer = Tiers{}
	_ uzda.Counter   = Tiers{}
)

// After chooses the first model for the first asks of a session, and the second
// from then on.
func After(asks int) func(*uzda.Request) int {
	return func(req *uzda.Request) int {
		if req.Ask > asks {
			return 1
		}
		return 0
	}
}

// Describe names the first model, with the smallest window and the smallest reply
// of all. It is free only if all are.
func (t Tiers) Describe() uzda.ModelInfo { return narrowest(t.Models) }

// Count is what the chosen model counts.
func (t Tiers) Count(ctx context.Context, req *uzda.Request) (int, error) {
	if len(t.Models) == 0 {
		return 0, errors.ErrUnsupported
	}
	return count(ctx, t.Models[t.choose(req)], req)
}

func (t Tiers) choose(req *uzda.Request) int {
	if t.Choose == nil {
		return 0
	}
	if i := t.Choose(req); i >= 0 && i < len(t.Models) {
		return i
	}
	return 0
}

// Stream asks the chosen model.
func (t Tiers) Stream(ctx context.Context, req *uzda.Request) iter.Seq2[uzda.Chunk, error] {
	if len(t.Models) == 0 {
		return none("route.Tiers")
	}
	return func(yield func(uzda.Chunk, error) bool) {
		if ctx.Err() != nil {
			yield(nil, context.Cause(ctx))
			return
		}
		p := &passage{yield: yield}
		i := t.choose(req)
		if info := describe(t.Models[i]); i != 0 {
			why := fmt.Sprintf("ask %d is for another tier", req.Ask)
			if !p.tell(uzda.Attempt{Model: info.ID, Free: info.Free, Error: why}) {
				return
			}
		}
		if _, err := p.pass(t.Models[i].Stream(ctx, req)); err != nil {
			yield(nil, err)
		}
	}
}

// With asks a model with other parameters than the request has: another effort
// for one of the [Tiers], or options that only one model of a [Fallback] knows.
type With struct {
	Model uzda.Model
	// Params returns the parameters to ask with. It must not change what p's maps and
	// slices hold, and must return the same for the same.
	Params func(p uzda.Params) uzda.Params
}

var (
	_ uzda.Model     = With{}
	_ uzda.Describer = With{}
	_ uzda.Counter   = With{}
)

// Describe is what the model says.
func (w With) Describe() uzda.ModelInfo { return describe(w.Model) }

// Count is what the model counts, with the other parameters.
func (w With) Count(ctx context.Context, req *uzda.Request) (int, error) {
	return count(ctx, w.Model, w.request(req))
}

// Stream asks the model with the other parameters.
func (w With) Stream(ctx context.Context, req *uzda.Request) iter.Seq2[uzda.Chunk, error] {
	if w.Model == nil {
		return none("route.With")
	}
	return func(yield func(uzda.Chunk, error) bool) {
		w.Model.Stream(ctx, w.request(req))(yield)
	}
}

// request is req with the other parameters. What an adapter has encoded of a head
// is good for its parameters only, so each gets a cache of its own, which lies in
// that of the request and ends with it.
func (w With) request(req *uzda.Request) *uzda.Request {
	if w.Params == nil {
		return req
	}
	r := *req
	r.Head.Params = w.Params(req.Head.Params)
	if req.Enc == nil {
		return &r
	}
	raw, err := json.Marshal(r.Head.Params)
	if err != nil {
		r.Enc = nil // an adapter will say what is wrong with them
		return &r
	}
	b := req.Enc.Buf("route.With "+string(raw), req)
	own, ok := b.Kept.(*uzda.Enc)
	if !ok {
		own = &uzda.Enc{}
		b.Kept = own
	}
	r.Enc = own
	return &r
}
