// Package modeltest tests models: the suite that each must pass, and a strict fake
// of their providers.
package modeltest

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uzda-dev/uzda"
)

// Options say what the suite may expect of a model.
type Options struct {
	// Request makes a request that the model answers whole; default one message.
	Request func() *uzda.Request
	// Slow makes a model that begins to answer Request after an hour or never, so
	// that only a cancel ends its stream. Without it cancelling is tried only
	// before the stream and between its chunks.
	Slow func() uzda.Model
	// Virtual: the model does no I/O, so time may be simulated. Then the 100 ms
	// of a cancel are measured exactly; otherwise the suite waits up to patience.
	Virtual bool
	// Same: the same request has the same reply.
	Same bool
}

// patience is how long a model with real I/O may take to end, on a busy machine.
const patience = 10 * time.Second

// Run tries the contract of uzda.Model on models that fresh makes.
func Run(t *testing.T, fresh func() uzda.Model, o Options) {
	t.Helper()
	if o.Request == nil {
		o.Request = Hello
	}
	t.Run("order", func(t *testing.T) {
		chunks, err := all(t.Context(), fresh(), o.Request())
		if err != nil {
			t.Fatalf("the request was not answered: %v", err)
		}
		if err := Order(chunks); err != nil {
			t.Errorf("%v; the chunks were %#v", err, chunks)
		}
	})
	t.Run("request unchanged", func(t *testing.T) { unchanged(t, fresh(), o) })
	t.Run("concurrent", func(t *testing.T) { concurrent(t, fresh(), o) })
	t.Run("reader leaves", func(t *testing.T) { leaves(t, fresh(), o) })
	t.Run("cancelled before", func(t *testing.T) { cancelled(t, fresh(), o) })
	t.Run("cancelled between", func(t *testing.T) { between(t, fresh(), o) })
	if o.Slow != nil {
		t.Run("cancelled while waiting", func(t *testing.T) {
			if o.Virtual {
				synctest.Test(t, func(t *testing.T) { waiting(t, o, 100*time.Millisecond) })
				return
			}
			waiting(t, o, patience)
		})
	}
}

// Hello is a request with one message and no tools.
func Hello() *uzda.Request {
	return &uzda.Request{
		Session: "s1", Ask: 1, Max: 1000,
		Head: uzda.Head{System: "You answer in one sentence."},
		View: []uzda.Entry{{Seq: 2, Message: uzda.Message{Role: uzda.User, Blocks: uzda.Say("Hello, who are you?")}}},
		Tail: "3 steps are left.",
	}
}

func all(ctx context.Context, m uzda.Model, req *uzda.Request) (chunks []uzda.Chunk, err error) {
	for c, err := range m.Stream(ctx, req) {
		if err != nil {
			return chunks, err
		}
		chunks = append(chunks, c)
	}
	return chunks, nil
}

// unchanged compares a request with what it was, and asks it twice.
func unchanged(t *testing.T, m uzda.Model, o Options) {
	req := o.Request()
	before := snapshot(t, req)
	first, err := all(t.Context(), m, req)
	if err != nil {
		t.Fatal(err)
	}
	if after := snapshot(t, req); after != before {
		t.Errorf("the request was changed:\nbefore %s\nafter  %s", before, after)
	}
	second, err := all(t.Context(), m, req)
	if err != nil {
		t.Fatalf("the same request was not answered again: %v", err)
	}
	if o.Same && !reflect.DeepEqual(first, second) {
		t.Errorf("the same request had two replies:\n%#v\n%#v", first, second)
	}
}

func snapshot(t *testing.T, req *uzda.Request) string {
	t.Helper()
	seen := *req
	seen.Enc = nil // the adapter's own
	raw, err := json.Marshal(seen)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func concurrent(t *testing.T, m uzda.Model, o Options) {
	want, err := all(t.Context(), m, o.Request())
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			got, err := all(t.Context(), m, o.Request())
			if err == nil {
				err = Order(got)
			}
			if err != nil {
				t.Errorf("a stream beside others: %v", err)
			} else if o.Same && !reflect.DeepEqual(got, want) {
				t.Errorf("a stream beside others gave %#v, alone %#v", got, want)
			}
		})
	}
	wg.Wait()
}

// leaves stops reading after each chunk in turn; a stream that then goes on
// panics by the rules of iter, and one that waits for its reader leaks.
func leaves(t *testing.T, m uzda.Model, o Options) {
	whole, err := all(t.Context(), m, o.Request())
	if err != nil {
		t.Fatal(err)
	}
	for stop := range min(len(whole), 10) {
		n := 0
		for _, err := range m.Stream(t.Context(), o.Request()) {
			if n == stop || err != nil {
				break
			}
			n++
		}
	}
}

func cancelled(t *testing.T, m uzda.Model, o Options) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	chunks, err := all(ctx, m, o.Request())
	if !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled context gave the error %v, not context.Canceled", err)
	}
	if len(chunks) > 0 {
		t.Errorf("a cancelled context gave chunks: %#v", chunks)
	}
}

// between cancels at the first chunk. What was on its way may still come, but
// a reply that had more to say must not end as if it were whole.
func between(t *testing.T, m uzda.Model, o Options) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var chunks []uzda.Chunk
	for c, err := range m.Stream(ctx, o.Request()) {
		if err != nil {
			if !errors.Is(err, context.Canceled) {
				t.Errorf("a cancel gave the error %v, not context.Canceled", err)
			}
			return
		}
		chunks = append(chunks, c)
		cancel()
	}
	if err := Order(chunks); err != nil {
		t.Errorf("a cancelled stream ended without an error: %v", err)
	}
}

func waiting(t *testing.T, o Options, limit time.Duration) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	type outcome struct {
		err error
		at  time.Time
	}
	ended := make(chan outcome, 1)
	go func() {
		_, err := all(ctx, o.Slow(), o.Request())
		ended <- outcome{err, time.Now()}
	}()
	time.Sleep(50 * time.Millisecond) // the stream waits by now; if not, it is cancelled before
	from := time.Now()
	cancel()
	select {
	case got := <-ended:
		if !errors.Is(got.err, context.Canceled) {
			t.Errorf("a cancelled stream ended with %v, not context.Canceled", got.err)
		}
		if late := got.at.Sub(from); late > limit {
			t.Errorf("a cancelled stream ended after %v; the limit is %v", late, limit)
		}
	case <-time.After(max(limit, patience)):
		t.Errorf("a cancelled stream goes on")
	}
}
