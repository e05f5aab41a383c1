package wire_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/internal/wire"
)

// crowd lets n callers through a key that arrive in order, and returns when each
// was let through, after the begin.
func crowd(ctx context.Context, k *wire.Key, n, tokens int) []time.Duration {
	from := time.Now()
	out := make([]time.Duration, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			if k.Wait(ctx, tokens) == nil {
				out[i] = time.Since(from)
			} else {
				out[i] = -1
			}
		})
		synctest.Wait() // it is in the queue, or through
	}
	wg.Wait()
	return out
}

// M9: a key that knows nothing makes nobody wait.
func TestUnknownLimits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := &wire.Key{}
		k.Learn(http.Header{"X": {"y"}}, 200, time.Now())
		k.Learn(header("Retry-After: 30"), 200, time.Now()) // quirk:13
		k.Learn(header("X-Ratelimit-Remaining-Requests: abc", "X-Ratelimit-Reset-Requests: -5s", "X-Ratelimit-Limit-Requests: NaN"), 200, time.Now())
		for i, at := range crowd(t.Context(), k, 50, 1_000_000) {
			if at != 0 {
				t.Errorf("caller %d waited %v", i, at)
			}
		}
	})
}

// M9 peer:22 case:L09: a 429 or 529 that says how long holds back all callers of
// the key until then; they go on in order, not all at once.
func TestHold(t *testing.T) {
	t.Parallel()
	for _, status := range []int{429, 529, 503} {
		synctest.Test(t, func(t *testing.T) {
			k := &wire.Key{}
			k.Learn(header("Retry-After: 20"), status, time.Now())
			at := crowd(t.Context(), k, 8, 10)
			if at[0] != 20*time.Second {
				t.Errorf("the first went on after %v", at[0])
			}
			if !slices.IsSorted(at) {
				t.Errorf("they went on out of order: %v", at)
			}
			if last := at[7]; last == at[0] || last > 22*time.Second {
				t.Errorf("they went on at %v: not spread, or too far", at)
			}
			if at := crowd(t.Context(), k, 3, 10); at[2] > time.Second {
				t.Errorf("later callers wait: %v", at)
			}
		})
	}
	synctest.Test(t, func(t *testing.T) {
		k := &wire.Key{}
		k.Learn(header("Retry-After: 86400"), 429, time.Now()) // one model's day; another model may be free
		if at := crowd(t.Context(), k, 1, 10); at[0] > time.Minute {
			t.Errorf("one reply held everybody back for %v", at[0])
		}
	})
}

// peer:22: the hint in the body of one agent's 429 holds back the others too.
func TestHoldByBody(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := &wire.Key{}
		var tried int
		once := func(context.Context) iter.Seq2[uzda.Chunk, error] {
			if tried++; tried == 1 {
				return fails(wire.Fault(429, http.Header{}, []byte(`{"error":{"message":"slow down, try again in 12s"}}`), time.Now()))
			}
			return fails(nil, uzda.Stop{Reason: uzda.StopEnd})
		}
		var wg sync.WaitGroup
		wg.Go(func() { _, _ = stream(wire.Retry{}.Stream(t.Context(), k, once)) })
		synctest.Wait()
		if at := crowd(t.Context(), k, 1, 10); at[0] < 12*time.Second {
			t.Errorf("another agent was let through after %v", at[0])
		}
		wg.Wait()
	})
}

// M9: limits that headers tell, in the dialects. What is left is given out; the
// rest waits until it has grown again.
func TestLearn(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		header func() http.Header
		tokens int
		want   string // when three callers are let through
	}{
		{"openai requests", func() http.Header {
			return header("X-Ratelimit-Limit-Requests: 10", "X-Ratelimit-Remaining-Requests: 1", "X-Ratelimit-Reset-Requests: 9s")
		}, 0, "[0s 1s 2s]"},
		{"openai tokens", func() http.Header {
			return header("X-Ratelimit-Limit-Tokens: 1000", "X-Ratelimit-Remaining-Tokens: 0", "X-Ratelimit-Reset-Tokens: 1m0s")
		}, 500, "[30s 1m0s 1m0s]"}, // at the reset all is there again
		{"more than the whole limit", func() http.Header {
			return header("X-Ratelimit-Limit-Tokens: 1000", "X-Ratelimit-Remaining-Tokens: 0", "X-Ratelimit-Reset-Tokens: 1m0s")
		}, 5000, "[1m0s 1m0s 1m0s]"},
		{"anthropic requests", func() http.Header {
			return header("Anthropic-Ratelimit-Requests-Limit: 50", "Anthropic-Ratelimit-Requests-Remaining: 0", "Anthropic-Ratelimit-Requests-Reset: "+time.Now().Add(50*time.Second).Format(time.RFC3339))
		}, 0, "[1s 2s 3s]"},
		{"anthropic input used up", func() http.Header {
			return header("Anthropic-Ratelimit-Input-Tokens-Limit: 60000", "Anthropic-Ratelimit-Input-Tokens-Remaining: 0", "Anthropic-Ratelimit-Input-Tokens-Reset: "+time.Now().Add(time.Minute).Format(time.RFC3339))
		}, 10, "[1.2s 1.2s 1.2s]"},
		{"anthropic input, most of the prompt is cached", func() http.Header {
			return header("Anthropic-Ratelimit-Input-Tokens-Limit: 60000", "Anthropic-Ratelimit-Input-Tokens-Remaining: 2000", "Anthropic-Ratelimit-Input-Tokens-Reset: "+time.Now().Add(time.Minute).Format(time.RFC3339))
		}, 50000, "[0s 0s 0s]"},
		{"openrouter", func() http.Header {
			return header("X-Ratelimit-Limit: 1", "X-Ratelimit-Remaining: 0", fmt.Sprintf("X-Ratelimit-Reset: %d", time.Now().Add(30*time.Second).UnixMilli()))
		}, 0, "[30s 30s 30s]"},
		{"no limit, nothing left", func() http.Header {
			return header("X-Ratelimit-Remaining-Requests: 0", "X-Ratelimit-Reset-Requests: 7s")
		}, 0, "[7s 7s 7s]"},
		{"the service's clock is an hour behind", func() http.Header {
			at := time.Now().Add(-time.Hour)
			return header("Date: "+at.UTC().Format(http.TimeFormat), "Anthropic-Ratelimit-Requests-Limit: 50", "Anthropic-Ratelimit-Requests-Remaining: 0", "Anthropic-Ratelimit-Requests-Reset: "+at.Add(50*time.Second).Format(time.RFC3339))
		}, 0, "[1s 2s 3s]"},
		{"ten years", func() http.Header {
			return header("X-Ratelimit-Remaining-Requests: 0", "X-Ratelimit-Reset-Requests: 87600h")
		}, 0, "[2m0s 2m0s 2m0s]"},
		{"in the past", func() http.Header {
			return header("X-Ratelimit-Remaining-Requests: 0", "X-Ratelimit-Reset-Requests: -7s")
		}, 0, "[0s 0s 0s]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				k := &wire.Key{}
				k.Learn(c.header(), 200, time.Now())
				at := crowd(t.Context(), k, 3, c.tokens)
				for i := range at {
					at[i] = at[i].Round(10 * time.Millisecond)
				}
				if got := fmt.Sprint(at); got != c.want {
					t.Errorf("let through after %s, want %s", got, c.want)
				}
			})
		})
	}
}

// M9: a caller that leaves makes room for the next, and better news is heard.
func TestLeaveQueue(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := &wire.Key{}
		k.Learn(header("X-Ratelimit-Remaining-Requests: 0", "X-Ratelimit-Reset-Requests: 90s"), 200, time.Now())
		mine := errors.New("mine")
		ctx, cancel := context.WithCancelCause(t.Context())
		from := time.Now()
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() {
				if err := k.Wait(ctx, 1); !errors.Is(err, mine) || time.Since(from) != 5*time.Second {
					t.Errorf("left after %v with %v", time.Since(from), err)
				}
			})
		}
		synctest.Wait()
		wg.Go(func() {
			if err := k.Wait(t.Context(), 1); err != nil || time.Since(from) != 10*time.Second {
				t.Errorf("let through after %v, %v", time.Since(from), err)
			}
		})
		time.Sleep(5 * time.Second)
		cancel(mine)
		time.Sleep(5 * time.Second)
		k.Learn(header("X-Ratelimit-Remaining-Requests: 100", "X-Ratelimit-Reset-Requests: 90s"), 200, time.Now())
		wg.Wait()
		if err := k.Wait(ctx, 1); !errors.Is(err, mine) {
			t.Errorf("a cancelled caller got %v", err)
		}
	})
}

// Limits that a person sets hold in every minute, and for what runs at once.
func TestSetLimits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := &wire.Key{RequestsPerMinute: 10}
		at := crowd(t.Context(), k, 35, 0)
		if !slices.IsSorted(at) || at[9] != 0 || at[10] != time.Minute || at[34] != 3*time.Minute {
			t.Errorf("let through at %v", at)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		k := &wire.Key{TokensPerMinute: 1000}
		at := crowd(t.Context(), k, 4, 400)
		if fmt.Sprint(at) != "[0s 0s 1m0s 1m0s]" {
			t.Errorf("let through at %v", at)
		}
		time.Sleep(time.Minute)
		from := time.Now()
		_ = k.Wait(t.Context(), 9000) // larger than any minute: it goes alone
		if time.Since(from) != 0 {
			t.Errorf("a large request waited %v", time.Since(from))
		}
		k.Charge(-8900) // it took less
		_ = k.Wait(t.Context(), 900)
		if time.Since(from) != 0 {
			t.Errorf("after a correction a request waited %v", time.Since(from))
		}
	})
	synctest.Test(t, func(t *testing.T) {
		k := &wire.Key{Concurrent: 2}
		active, most := 0, 0
		var mu sync.Mutex
		var wg sync.WaitGroup
		from := time.Now()
		for range 10 {
			wg.Go(func() {
				release, err := k.Enter(t.Context(), 1)
				if err != nil {
					t.Error(err)
					return
				}
				defer release()
				defer release() // twice is once
				mu.Lock()
				active++
				most = max(most, active)
				mu.Unlock()
				time.Sleep(time.Second)
				mu.Lock()
				active--
				mu.Unlock()
			})
		}
		wg.Wait()
		if most != 2 || time.Since(from) != 5*time.Second {
			t.Errorf("%d at once, %v in all", most, time.Since(from))
		}
	})
}

// In real time and with the race detector: many callers, cancels, news and limits
// at once; all end, and no more than the limit runs at once.
func TestKeyCrowd(t *testing.T) {
	t.Parallel()
	k := &wire.Key{Concurrent: 3, RequestsPerMinute: 1_000_000}
	var wg sync.WaitGroup
	var mu sync.Mutex
	active := 0
	for i := range 200 {
		wg.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), time.Duration(1+i%40)*time.Millisecond)
			defer cancel()
			if i%20 == 0 {
				k.Learn(header("Retry-After: 0.005"), 429, time.Now())
			}
			release, err := k.Enter(ctx, i)
			if err != nil {
				return
			}
			mu.Lock()
			if active++; active > 3 {
				t.Errorf("%d at once", active)
			}
			mu.Unlock()
			time.Sleep(time.Millisecond)
			mu.Lock()
			active--
			mu.Unlock()
			release()
		})
	}
	wg.Wait()
	release, err := k.Enter(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	release()
}

// The keys of a process are told apart by service and account; an account shows
// nothing of its key.
func TestFor(t *testing.T) {
	t.Parallel()
	a := wire.Account("sk-one")
	if len(a) != 12 || strings.Contains(a, "sk") || a == wire.Account("sk-two") || wire.Account("") != "" {
		t.Errorf("accounts are %q, %q, %q", a, wire.Account("sk-two"), wire.Account(""))
	}
	one, again := wire.For("https://a", a), wire.For("https://a", a)
	if one != again || one == wire.For("https://b", a) || one == wire.For("https://a", "") {
		t.Error("keys are shared wrongly")
	}
	held := wire.For("https://held", a)
	held.Learn(header("Retry-After: 60"), 429, time.Now())
	for i := range 5000 {
		wire.For("https://many", fmt.Sprint(i))
	}
	if wire.For("https://held", a) != held {
		t.Error("a key that is held back was forgotten")
	}
}

// M9: a key that knows no limit costs nothing.
func BenchmarkWait(b *testing.B) {
	k := &wire.Key{}
	ctx := b.Context()
	b.ReportAllocs()
	for b.Loop() {
		if err := k.Wait(ctx, 100); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkWaitLearnt(b *testing.B) {
	k := &wire.Key{}
	h := header("X-Ratelimit-Limit-Requests: 1000000000", "X-Ratelimit-Remaining-Requests: 1000000000", "X-Ratelimit-Reset-Requests: 1h",
		"X-Ratelimit-Limit-Tokens: 1000000000000", "X-Ratelimit-Remaining-Tokens: 1000000000000", "X-Ratelimit-Reset-Tokens: 1h")
	ctx := b.Context()
	b.ReportAllocs()
	for b.Loop() {
		k.Learn(h, 200, time.Now())
		if err := k.Wait(ctx, 100); err != nil {
			b.Fatal(err)
		}
	}
}
