package route

import (
	"context"
	"errors"
	"iter"
	"sync"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/internal/wire"
)

// A Limit keeps the requests to a model within limits that a person sets; 0 is no
// limit. All sessions that use the value share them and queue in order, instead of
// failing. Each attempt of the model counts.
type Limit struct {
	Model             uzda.Model
	RequestsPerMinute int // in any 60 seconds
	// TokensPerMinute are those of input and output in any 60 seconds. A request
	// counts with a token for four bytes and its whole MaxTokens, until its usage is
	// known. One that is larger than the limit passes alone.
	TokensPerMinute int
	Concurrent      int // requests at a time

	once sync.Once
	key  *wire.Key
}

var (
	_ uzda.Model     = (*Limit)(nil)
	_ uzda.Describer = (*Limit)(nil)
	_ uzda.Counter   = (*Limit)(nil)
)

// Describe is what the model says.
func (l *Limit) Describe() uzda.ModelInfo { return describe(l.Model) }

// Count is what the model counts; it isn't limited.
func (l *Limit) Count(ctx context.Context, req *uzda.Request) (int, error) {
	return count(ctx, l.Model, req)
}

// Stream asks the model when the limits allow.
func (l *Limit) Stream(ctx context.Context, req *uzda.Request) iter.Seq2[uzda.Chunk, error] {
	if l.Model == nil {
		return none("route.Limit")
	}
	l.once.Do(func() {
		l.key = &wire.Key{RequestsPerMinute: l.RequestsPerMinute, TokensPerMinute: l.TokensPerMinute, Concurrent: l.Concurrent}
	})
	return func(yield func(uzda.Chunk, error) bool) {
		expected := size(req)/4 + max(req.Max, 0)
		release, err := l.key.Enter(ctx, expected)
		if err != nil {
			yield(nil, err)
			return
		}
		defer func() { release() }()
		began := false
		for c, err := range l.Model.Stream(ctx, req) {
			switch chunk := c.(type) {
			case uzda.Delta, uzda.Done:
				began = true
			case uzda.Stop:
				l.key.Charge(chunk.Usage.Total() - expected)
			}
			if err != nil && !began {
				l.key.Charge(used(err).Total() - expected)
			}
			if !yield(c, err) || err != nil {
				return
			}
			if a, ok := c.(uzda.Attempt); ok {
				// Another request is about to go out. Its place is given back first: one who
				// keeps it while queueing would wait for itself.
				l.key.Charge(a.Usage.Total() - expected)
				release()
				again, err := l.key.Enter(ctx, expected)
				if err != nil {
					yield(nil, err)
					return
				}
				release = again
			}
		}
	}
}

// size is the size of a request in bytes, about.
func size(req *uzda.Request) int {
	n := len(req.Head.System) + len(req.Tail) + len(req.Head.Params.Schema)
	for _, t := range req.Head.Tools {
		n += len(t.Name) + len(t.Description) + len(t.Input)
	}
	for _, e := range req.View {
		n += e.Message.Blocks.Size()
	}
	return n
}

func used(err error) uzda.Usage {
	var p *uzda.ProviderError
	if errors.As(err, &p) {
		return p.Usage
	}
	return uzda.Usage{}
}
