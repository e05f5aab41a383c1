package wire_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/internal/wire"
)

// adapter sends calls as a real one does: key, client, stream, all inside a Retry.
type adapter struct {
	client wire.Client
	retry  wire.Retry
	key    *wire.Key
	url    string
}

func (a *adapter) Stream(ctx context.Context) iter.Seq2[uzda.Chunk, error] {
	return a.retry.Stream(ctx, a.key, func(ctx context.Context) iter.Seq2[uzda.Chunk, error] {
		return func(yield func(uzda.Chunk, error) bool) {
			if err := a.once(ctx, yield); err != nil {
				yield(nil, err)
			}
		}
	})
}

// once yields a delta for each "data: x", and a stop for "data: end".
func (a *adapter) once(ctx context.Context, yield func(uzda.Chunk, error) bool) error {
	if err := a.key.Wait(ctx, 10); err != nil {
		return err
	}
	r, err := a.client.Do(ctx, wire.Call{URL: a.url, Body: parts("ask", "")})
	if err != nil {
		return err
	}
	defer r.Body.Close()
	a.key.Learn(r.Header, r.Status, time.Now())
	raw, err := io.ReadAll(r.Body) // in pieces it would be the same
	began := false
	for _, line := range strings.Split(string(raw), "\n") {
		switch data, ok := strings.CutPrefix(line, "data: "); {
		case !ok || data == "":
		case data == "end":
			yield(uzda.Stop{Reason: uzda.StopEnd}, nil)
			return nil
		case data[0] == '{':
			return r.Event([]byte(data))
		default:
			began = true
			if !yield(uzda.Delta{Kind: "text", Text: data}, nil) {
				return nil
			}
		}
	}
	if err == nil {
		err = io.ErrUnexpectedEOF
	}
	return wire.Used(wire.Broken(err, began), uzda.Usage{Input: 5})
}

// stream collects a stream.
func stream(seq iter.Seq2[uzda.Chunk, error]) (reply uzda.Reply, err error) {
	return uzda.Collect(seq, nil)
}

const overload = `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`

func refuse(w http.ResponseWriter, status int, name, value, body string) {
	w.Header().Set(name, value)
	w.WriteHeader(status)
	fmt.Fprint(w, body)
}

// L5 case:L09 peer:edge-retry-after peer:22: an overload's hint is kept, in seconds
// and as a date, for replies and for streams, and each attempt is told before its
// wait.
func TestOverload(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"application/json", "text/event-stream"} {
		for _, status := range []int{529, 503, 429} {
			synctest.Test(t, func(t *testing.T) {
				var at []time.Time
				hc := inMemory(t, func(w http.ResponseWriter, _ *http.Request) {
					at = append(at, time.Now())
					w.Header().Set("Content-Type", kind)
					switch len(at) {
					case 1:
						refuse(w, status, "Retry-After", "2", overload)
					case 2:
						refuse(w, status, "Retry-After", time.Now().Add(3*time.Second).Format(http.TimeFormat), overload)
					default:
						fmt.Fprint(w, "data: hello\ndata: end\n")
					}
				})
				a := &adapter{client: wire.Client{HTTP: hc}, key: &wire.Key{}, url: "http://model.test"}
				var told []time.Time
				reply, err := uzda.Collect(a.Stream(t.Context()), func(c uzda.Chunk) {
					if _, ok := c.(uzda.Attempt); ok {
						told = append(told, time.Now())
					}
				})
				if err != nil || len(at) != 3 || len(reply.Attempts) != 2 {
					t.Fatalf("%d requests, attempts %+v, error %v", len(at), reply.Attempts, err)
				}
				for i, least := range []time.Duration{2 * time.Second, 2 * time.Second} { // a date has whole seconds
					waited := at[i+1].Sub(at[i])
					if waited < least || waited > least+3*time.Second {
						t.Errorf("wait %d was %v; the service asked for %v", i, waited, least)
					}
					try := reply.Attempts[i]
					if try.N != i+2 || !strings.Contains(try.Error, "Overloaded") || time.Duration(try.WaitMS)*time.Millisecond < least {
						t.Errorf("attempt %d is told as %+v", i, try)
					}
					if told[i].Sub(at[i]) > time.Millisecond {
						t.Errorf("attempt %d was told %v after the failure, not before the wait", i, told[i].Sub(at[i]))
					}
				}
			})
		}
	}
}

// L5 case:L09: an overload without an end ends with what it is, and how often it
// was tried.
func TestOverloadForEver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var requests atomic.Int64
		hc := inMemory(t, func(w http.ResponseWriter, _ *http.Request) {
			requests.Add(1)
			refuse(w, 529, "Retry-After", "2", overload)
		})
		a := &adapter{client: wire.Client{HTTP: hc}, key: &wire.Key{}, url: "http://model.test"}
		from := time.Now()
		_, err := stream(a.Stream(t.Context()))
		p := provider(t, err)
		if p.Code != "overloaded" || p.Status != 529 || !strings.Contains(p.Message, "Overloaded (given up after 5 attempts in ") || requests.Load() != 5 {
			t.Errorf("%d requests, then %v", requests.Load(), err)
		}
		if took := time.Since(from); took < 8*time.Second || took > time.Minute {
			t.Errorf("it took %v", took)
		}
	})
}

// case:L09: eight agents with one key in an outage stay under the retry budget, and
// all recover when it ends.
func TestBudget(t *testing.T) {
	t.Parallel()
	for _, outage := range []time.Duration{time.Hour, 40 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			from := time.Now()
			var mu sync.Mutex
			var at []time.Duration
			hc := inMemory(t, func(w http.ResponseWriter, _ *http.Request) {
				mu.Lock()
				at = append(at, time.Since(from))
				mu.Unlock()
				if time.Since(from) < outage {
					refuse(w, 529, "Retry-After", "2", overload)
					return
				}
				fmt.Fprint(w, "data: end\n")
			})
			key := &wire.Key{}
			var agents sync.WaitGroup
			var good atomic.Int64
			for range 8 {
				agents.Go(func() {
					a := &adapter{client: wire.Client{HTTP: hc}, key: key, url: "http://model.test", retry: wire.Retry{Tries: 50}}
					_, err := stream(a.Stream(t.Context()))
					if err == nil {
						good.Add(1)
					} else if p := provider(t, err); p.Code != "overloaded" {
						t.Errorf("the error is %v", err)
					}
				})
			}
			agents.Wait()
			for _, until := range []time.Duration{5 * time.Second, time.Minute, 2 * time.Minute, time.Hour} {
				if until > outage {
					break
				}
				n := 0
				for _, d := range at {
					if d <= until {
						n++
					}
				}
				// One each, ten at once, one more every ten seconds.
				if most := 8 + 10 + int(until/(10*time.Second)) + 1; n > most {
					t.Errorf("%d requests within %v, want at most %d", n, until, most)
				}
			}
			if outage < time.Minute && good.Load() < 5 {
				t.Errorf("after the outage %d of 8 succeeded; requests at %v", good.Load(), at)
			}
			if outage == time.Hour && good.Load() != 0 {
				t.Errorf("in the outage %d succeeded", good.Load())
			}
		})
	}
}

// Those who would have to wait too long for a retry out of the budget say so.
func TestBudgetSpent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		key := &wire.Key{}
		var spent, tried atomic.Int64
		var agents sync.WaitGroup
		for range 40 {
			agents.Go(func() {
				_, err := stream(wire.Retry{Tries: 2}.Stream(t.Context(), key, func(context.Context) iter.Seq2[uzda.Chunk, error] {
					tried.Add(1)
					return fails(&uzda.ProviderError{Code: "network", Wait: -time.Hour})
				}))
				if strings.Contains(provider(t, err).Hint, "were sent again already") {
					spent.Add(1)
				}
			})
		}
		agents.Wait()
		// Ten retries at once, and six that come back within the longest wait.
		if tried.Load() != 40+16 || spent.Load() != 24 {
			t.Errorf("%d requests, %d agents found the budget spent", tried.Load(), spent.Load())
		}
		for range 100 {
			if _, err := stream(wire.Retry{}.Stream(t.Context(), key, func(context.Context) iter.Seq2[uzda.Chunk, error] {
				return fails(nil, uzda.Stop{Reason: uzda.StopEnd})
			})); err != nil {
				t.Fatal(err)
			}
		}
		from, n := time.Now(), 0
		if _, err := stream(wire.Retry{}.Stream(t.Context(), key, func(context.Context) iter.Seq2[uzda.Chunk, error] {
			if n++; n == 1 {
				return fails(&uzda.ProviderError{Code: "network"})
			}
			return fails(nil, uzda.Stop{Reason: uzda.StopEnd})
		})); err != nil || time.Since(from) > time.Second {
			t.Errorf("a hundred successes did not fill the budget: %v after %v", err, time.Since(from))
		}
	})
}

// Without a hint the waits grow from nothing, doubled each time, up to a bound.
func TestBackoff(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var most []time.Duration
		r := wire.Retry{Tries: 8, Longest: 10 * time.Second, Random: func(d time.Duration) time.Duration {
			most = append(most, d)
			return d / 2
		}}
		var at []time.Time
		_, err := stream(r.Stream(t.Context(), nil, func(context.Context) iter.Seq2[uzda.Chunk, error] {
			at = append(at, time.Now())
			return fails(&uzda.ProviderError{Code: "network", Message: "m"})
		}))
		if want := "[500ms 1s 2s 4s 8s 10s 10s]"; fmt.Sprint(most) != want {
			t.Errorf("the jitter is up to %v, want %s", most, want)
		}
		for i, d := range most {
			if waited := at[i+1].Sub(at[i]); waited != d/2 {
				t.Errorf("wait %d was %v, want %v", i, waited, d/2)
			}
		}
		if p := provider(t, err); !strings.Contains(p.Message, "given up after 8 attempts in 17.8s") {
			t.Errorf("the error is %v", err)
		}
	})
}

// fails is a stream that yields chunks and then fails.
func fails(err error, chunks ...uzda.Chunk) iter.Seq2[uzda.Chunk, error] {
	return func(yield func(uzda.Chunk, error) bool) {
		for _, c := range chunks {
			if !yield(c, nil) {
				return
			}
		}
		if err != nil {
			yield(nil, err)
		}
	}
}

// L5 B03 case:B03 quirk:13: what may be sent again, and what never.
func TestRetry(t *testing.T) {
	t.Parallel()
	again := func(code string) error { return &uzda.ProviderError{Code: code, Message: "m"} }
	long := &uzda.ProviderError{Code: "rate_limit", Message: "m", Wait: 6 * time.Minute}
	for _, c := range []struct {
		name string
		once iter.Seq2[uzda.Chunk, error]
		n    int // attempts in all
		says string
	}{
		{"overloaded", fails(again("overloaded")), 3, "m (given up after 3 attempts in "},
		{"rate limit", fails(again("rate_limit")), 3, "given up after 3"},
		{"network", fails(again("network")), 3, "given up after 3"},
		{"a warning is no content", fails(again("network"), uzda.Warning{Code: "w"}), 3, "given up after 3"},
		{"unknown with 500", fails(&uzda.ProviderError{Code: "unknown", Status: 500}), 3, "given up after 3"},
		{"quota", fails(again("quota")), 1, "m"},
		{"auth", fails(again("auth")), 1, "m"},
		{"context", fails(again("context")), 1, "m"},
		{"invalid request", fails(again("invalid_request")), 1, "m"},
		{"after a delta", fails(again("overloaded"), uzda.Delta{Kind: "text", Text: "a"}), 1, "m"},
		{"after a block", fails(again("overloaded"), uzda.Done{Block: uzda.Text{}}), 1, "m"},
		{"cut", fails(again("cut")), 1, "m"},
		{"another error", fails(errors.New("mine")), 1, "mine"},
		{"a hint that is too long", fails(long), 1, "m"},
		{"no stop", fails(nil), 1, "without a stop"},
		{"a stop", fails(nil, uzda.Stop{Reason: uzda.StopEnd}), 1, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := 0
				reply, err := stream(wire.Retry{Tries: 3}.Stream(t.Context(), &wire.Key{}, func(context.Context) iter.Seq2[uzda.Chunk, error] {
					n++
					return c.once
				}))
				if n != c.n || len(reply.Attempts) != c.n-1 {
					t.Errorf("%d attempts, %d told; want %d", n, len(reply.Attempts), c.n)
				}
				if got := fmt.Sprint(err); c.says == "" && err != nil || !strings.Contains(got, c.says) || c.n == 1 && strings.Contains(got, "given up") {
					t.Errorf("the error is %v, want %q", err, c.says)
				}
			})
		})
	}
	if p := provider(t, second(stream(wire.Retry{}.Stream(t.Context(), nil, func(context.Context) iter.Seq2[uzda.Chunk, error] { return fails(long) })))); !strings.Contains(p.Hint, "asks to wait 6m0s") {
		t.Errorf("the hint is %q", p.Hint)
	}
}

// case:B03: an attempt tells what the one before it used.
func TestAttemptUsage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := 0
		reply, err := stream(wire.Retry{}.Stream(t.Context(), nil, func(context.Context) iter.Seq2[uzda.Chunk, error] {
			if n++; n == 1 {
				return fails(wire.Used(&uzda.ProviderError{Code: "overloaded"}, uzda.Usage{Input: 12304, Output: 1}))
			}
			return fails(nil, uzda.Stop{Reason: uzda.StopEnd})
		}))
		if err != nil || len(reply.Attempts) != 1 || reply.Attempts[0].Usage != (uzda.Usage{Input: 12304, Output: 1, AtLeast: true}) {
			t.Errorf("attempts %+v, error %v", reply.Attempts, err)
		}
	})
}

// Attempts of the stream itself and those around it are counted through.
func TestNestedAttempts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reply, err := stream(wire.Retry{Tries: 2}.Stream(t.Context(), nil, func(ctx context.Context) iter.Seq2[uzda.Chunk, error] {
			return wire.Retry{Tries: 3}.Stream(ctx, nil, func(context.Context) iter.Seq2[uzda.Chunk, error] {
				return fails(&uzda.ProviderError{Code: "network"})
			})
		}))
		var ns []int
		for _, a := range reply.Attempts {
			ns = append(ns, a.N)
		}
		if fmt.Sprint(ns) != "[2 3 4 5 6]" || strings.Count(err.Error(), "given up") != 1 || !strings.Contains(err.Error(), "after 6 attempts") {
			t.Errorf("attempts %v, error %v", ns, err)
		}
	})
}

// A cancel ends a wait at once, with the cause; a reader that leaves ends it too.
func TestCancelWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		mine := errors.New("mine")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(5*time.Second, func() { cancel(mine) })
		from := time.Now()
		once := func(context.Context) iter.Seq2[uzda.Chunk, error] {
			return fails(&uzda.ProviderError{Code: "overloaded", Wait: time.Minute})
		}
		_, err := stream(wire.Retry{}.Stream(ctx, &wire.Key{}, once))
		if took := time.Since(from); !errors.Is(err, mine) || took != 5*time.Second {
			t.Errorf("after %v: %v", took, err)
		}
		for _, err := range (wire.Retry{}).Stream(t.Context(), &wire.Key{}, once) {
			if err != nil {
				t.Errorf("before the wait came %v", err)
			}
			break
		}
		if took := time.Since(from); took != 5*time.Second {
			t.Errorf("a reader that left waited until %v", took)
		}
		// What was used before the cancel is told.
		_, err = stream(wire.Retry{}.Stream(ctx, nil, func(ctx context.Context) iter.Seq2[uzda.Chunk, error] {
			return fails(wire.Used(context.Cause(ctx), uzda.Usage{Input: 3}))
		}))
		if p := provider(t, err); !errors.Is(err, mine) || p.Usage.Input != 3 {
			t.Errorf("the error is %#v", p)
		}
	})
}

// Real sockets: an error event before content is retried, after content it is not.
// quirk:21
func TestMidStream(t *testing.T) {
	t.Parallel()
	for _, late := range []bool{false, true} {
		n := 0
		base, hc := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			if late {
				fmt.Fprint(w, "data: hello\n\n")
			}
			if n++; n == 1 {
				fmt.Fprintf(w, "data: %s\n\n", overload)
				return
			}
			fmt.Fprint(w, "data: end\n\n")
		})
		a := &adapter{client: wire.Client{HTTP: hc, Name: "Shop"}, key: &wire.Key{}, url: base, retry: wire.Retry{Base: time.Millisecond}}
		reply, err := stream(a.Stream(t.Context()))
		if late {
			if p := provider(t, err); n != 1 || p.Code != "overloaded" || p.Message != "Overloaded (Shop)" || reply.Partial != "hello" {
				t.Errorf("after content: %d requests, %v", n, err)
			}
		} else if err != nil || n != 2 {
			t.Errorf("before content: %d requests, %v", n, err)
		}
	}
}
