package wire

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/uzda-dev/uzda"
)

// A Retry is how often and how patiently a request is sent again. The zero value
// is ready to use.
type Retry struct {
	Tries   int           // attempts in all; default 5; 1 is no retry
	Base    time.Duration // the longest first wait, doubled each time; default 500 ms
	Longest time.Duration // of a wait that the provider did not ask for; default 60 s
	// LongestHint is how long a provider may ask to wait; more ends the request.
	// Default 5 min.
	LongestHint time.Duration
	// Random returns what is added to a hint, or is waited where there is none: at
	// least 0 and less than most. Default evenly distributed.
	Random func(most time.Duration) time.Duration
}

func (r Retry) whole() Retry {
	if r.Tries <= 0 {
		r.Tries = 5
	}
	if r.Base <= 0 {
		r.Base = 500 * time.Millisecond
	}
	if r.Longest <= 0 {
		r.Longest = time.Minute
	}
	if r.LongestHint <= 0 {
		r.LongestHint = 5 * time.Minute
	}
	if r.Random == nil {
		r.Random = rand.N[time.Duration]
	}
	return r
}

// Stream runs once until it succeeds, yields content, or may not be tried again.
// Before each wait comes an uzda.Attempt. The retries come out of key's budget; a
// nil key has none. The last error says how often and how long it was tried.
func (r Retry) Stream(ctx context.Context, key *Key, once func(ctx context.Context) iter.Seq2[uzda.Chunk, error]) iter.Seq2[uzda.Chunk, error] {
	r = r.whole()
	return func(yield func(uzda.Chunk, error) bool) {
		t := &trying{Retry: r, key: key, from: time.Now()}
		for {
			over, err := t.pass(once(ctx), yield)
			if over {
				return
			}
			if ctx.Err() != nil {
				yield(nil, ended(ctx, err))
				return
			}
			a, err := t.next(err)
			if err != nil {
				yield(nil, err)
				return
			}
			if !yield(a, nil) {
				return
			}
			if err := pause(ctx, time.Duration(a.WaitMS)*time.Millisecond); err != nil {
				yield(nil, err)
				return
			}
		}
	}
}

// trying is one request with its attempts.
type trying struct {
	Retry
	key   *Key
	from  time.Time
	tries int // that were made by this decorator
	n     int // ordinal of the newest attempt, those of the stream itself counted
}

// pass passes one attempt on. If that is not over, err says why it failed.
func (t *trying) pass(seq iter.Seq2[uzda.Chunk, error], yield func(uzda.Chunk, error) bool) (over bool, err error) {
	t.tries, t.n = t.tries+1, t.n+1
	began := false
	for c, err := range seq {
		if err != nil {
			if began {
				yield(nil, err)
			}
			return began, err
		}
		switch chunk := c.(type) {
		case uzda.Delta, uzda.Done:
			began = true
		case uzda.Stop:
			began = true
			if t.key != nil {
				t.key.succeeded()
			}
		case uzda.Attempt:
			t.n++
			chunk.N = t.n
			c = chunk
		}
		if !yield(c, nil) {
			return true, nil
		}
	}
	return true, nil
}

// next announces the next attempt, or returns the error that ends the request.
func (t *trying) next(err error) (uzda.Attempt, error) {
	var p *uzda.ProviderError
	if !errors.As(err, &p) || !p.Retryable() {
		return uzda.Attempt{}, t.given(err, "")
	}
	if t.key != nil && (p.Code == "rate_limit" || p.Code == "overloaded") {
		t.key.hold(p.Wait)
	}
	switch {
	case t.tries >= t.Tries:
		return uzda.Attempt{}, t.given(err, "")
	case p.Wait > t.LongestHint:
		return uzda.Attempt{}, t.given(err, fmt.Sprintf("the service asks to wait %s: try again then", p.Wait.Round(time.Second)))
	}
	most := min(t.Base, t.Longest)
	for n := 1; n < t.tries && most < t.Longest; n++ {
		most = min(2*most, t.Longest)
	}
	wait := max(p.Wait, 0) + t.Random(most)
	if t.key != nil {
		paced, ok := t.key.again(t.Longest)
		if !ok {
			return uzda.Attempt{}, t.given(err, "too many requests with this key were sent again already; wait until the service has recovered")
		}
		wait = max(wait, paced)
	}
	return uzda.Attempt{N: t.n + 1, Error: Short(err), WaitMS: int64((wait + time.Millisecond - 1) / time.Millisecond), Usage: p.Usage}, nil
}

const givenUp = " (given up after "

// given is the error of a request that is given up.
func (t *trying) given(err error, hint string) error {
	var p *uzda.ProviderError
	if !errors.As(err, &p) {
		return err
	}
	copied := *p
	if t.n > 1 {
		copied.Message, _, _ = strings.Cut(copied.Message, givenUp) // what the stream itself says of its attempts
		copied.Message += fmt.Sprintf(givenUp+"%d attempts in %s)", t.n, time.Since(t.from).Round(100*time.Millisecond))
	}
	if hint != "" {
		copied.Hint = hint
	}
	return &copied
}

// Short is an error in one short line, for an uzda.Attempt.
func Short(err error) string {
	var p *uzda.ProviderError
	if !errors.As(err, &p) {
		return clip(err.Error(), 300)
	}
	if p.Status != 0 {
		return clip(fmt.Sprintf("%s (HTTP %d): %s", p.Code, p.Status, p.Message), 300)
	}
	return clip(p.Code+": "+p.Message, 300)
}

// ended is the error of a stream whose context has ended: its cause, with what
// was used where err says so.
func ended(ctx context.Context, err error) error {
	cause := context.Cause(ctx)
	if errors.Is(err, cause) {
		return err
	}
	return cause
}

// pause waits, or returns the cause of ctx.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
