package wire

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"math"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"time"
)

const (
	// longestHold bounds how long one reply holds back all callers of a key: many
	// services count by model, and another model of the same key may be free.
	longestHold = time.Minute
	// longestPace bounds how long a limit that was learnt from headers paces.
	longestPace = 2 * time.Minute
	// longestGap is the longest pause between callers that were held back together.
	longestGap = 250 * time.Millisecond
)

// A Key is what all sessions share that use one key of one service: the limits
// that the service tells in headers, and a budget of retries. Callers queue in
// order. The zero value knows no limit and costs nothing; it is safe for
// concurrent use, and is not to be copied.
type Key struct {
	// Limits that a person sets; 0 is none. They are not to be changed in use.
	RequestsPerMinute int // in any 60 seconds
	TokensPerMinute   int // in any 60 seconds; a larger request passes alone
	Concurrent        int // requests between Enter and its release

	mu     sync.Mutex
	queue  []*waiter
	until  time.Time // nobody is let through before
	spread bool      // those in the queue were held back together
	learnt []learnt
	window window
	active int
	budget budget
}

type waiter struct{ turn chan struct{} }

// For is the process's key for a base URL and an account. Like
// http.DefaultClient it is a default, which the field of a model may replace.
func For(base, account string) *Key { return process.key(base + "\x00" + account) }

var process keys

// keys are the keys of a process.
type keys struct {
	mu  sync.Mutex
	all map[string]*Key
}

// manyKeys is how many keys are kept before those at rest are dropped.
const manyKeys = 1024

func (ks *keys) key(name string) *Key {
	ks.mu.Lock()
	defer ks.mu.Unlock()
	if k := ks.all[name]; k != nil {
		return k
	}
	if len(ks.all) >= manyKeys {
		now := time.Now()
		for n, k := range ks.all {
			if k.resting(now) {
				delete(ks.all, n)
			}
		}
	}
	if ks.all == nil {
		ks.all = map[string]*Key{}
	}
	k := &Key{}
	ks.all[name] = k
	return k
}

// resting says that nothing would be lost with the key.
func (k *Key) resting(now time.Time) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.budget.refill(now)
	return len(k.queue) == 0 && k.active == 0 && now.After(k.until) && k.budget.used == 0 &&
		!slices.ContainsFunc(k.learnt, func(l learnt) bool { return now.Before(l.full) })
}

// Account is the fingerprint of a key: the first 12 hexadecimal digits of its
// SHA-256; "" for none.
func Account(key string) string {
	if key == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(key))
	return hex.EncodeToString(sum[:6])
}

// Wait lets a request of so many tokens (0: unknown) through when the limits
// allow, in the order of the callers. Its error is the cause of ctx. With a limit
// of Concurrent, who has entered must not Wait: those before him may wait for him.
func (k *Key) Wait(ctx context.Context, tokens int) error { return k.pass(ctx, tokens, false) }

// Enter is Wait that counts the request as active until release is called.
func (k *Key) Enter(ctx context.Context, tokens int) (release func(), err error) {
	if err := k.pass(ctx, tokens, true); err != nil {
		return nil, err
	}
	return sync.OnceFunc(func() {
		k.mu.Lock()
		k.active--
		k.wake()
		k.mu.Unlock()
	}), nil
}

// Charge corrects what a request was expected to take: tokens more, or less if
// negative.
func (k *Key) Charge(tokens int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.TokensPerMinute > 0 && tokens != 0 {
		k.window.add(time.Now(), 0, tokens)
		k.wake()
	}
}

func (k *Key) pass(ctx context.Context, tokens int, enter bool) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	tokens = max(tokens, 0)
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.queue) == 0 && k.due(tokens, enter) == 0 {
		k.take(tokens, enter)
		return nil
	}
	w := &waiter{turn: make(chan struct{}, 1)}
	k.queue = append(k.queue, w)
	defer k.leave(w)
	for {
		var timer <-chan time.Time
		if k.queue[0] == w {
			due := k.due(tokens, enter)
			if due == 0 {
				k.take(tokens, enter)
				return nil
			}
			if due != never {
				timer = time.After(due)
			}
		}
		if err := k.sleep(ctx, timer, w); err != nil {
			return err
		}
	}
}

// sleep waits without the lock.
func (k *Key) sleep(ctx context.Context, timer <-chan time.Time, w *waiter) error {
	k.mu.Unlock()
	defer k.mu.Lock()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer:
	case <-w.turn:
	}
	return nil
}

// leave takes a waiter out of the queue. Those who were held back together go
// one by one.
func (k *Key) leave(w *waiter) {
	k.queue = slices.DeleteFunc(k.queue, func(o *waiter) bool { return o == w })
	if len(k.queue) == 0 {
		k.spread = false
	}
	if k.spread {
		if next := time.Now().Add(rand.N(longestGap)); next.After(k.until) {
			k.until = next
		}
	}
	k.wake()
}

// wake lets the first of the queue look again.
func (k *Key) wake() {
	if len(k.queue) > 0 {
		select {
		case k.queue[0].turn <- struct{}{}:
		default:
		}
	}
}

// never is a wait for another request to be over.
const never = time.Duration(math.MaxInt64)

// due is how long the next request must wait; 0: not at all.
func (k *Key) due(tokens int, enter bool) time.Duration {
	if enter && k.Concurrent > 0 && k.active >= k.Concurrent {
		return never
	}
	limited := k.RequestsPerMinute > 0 || k.TokensPerMinute > 0
	if k.until.IsZero() && len(k.learnt) == 0 && !limited {
		return 0
	}
	now := time.Now()
	due := max(k.until.Sub(now), 0)
	for i := range k.learnt {
		due = max(due, k.learnt[i].due(now, tokens))
	}
	if limited {
		due = max(due, k.window.due(now, k.RequestsPerMinute, k.TokensPerMinute, tokens))
	}
	return due
}

func (k *Key) take(tokens int, enter bool) {
	if enter {
		k.active++
	}
	for i := range k.learnt {
		k.learnt[i].take(tokens)
	}
	if k.RequestsPerMinute > 0 || k.TokensPerMinute > 0 {
		k.window.add(time.Now(), 1, tokens)
	}
}

// Learn takes over what the headers of a reply say of the key's limits, in all
// dialects. A 429, 503 or 529 that says how long holds back all callers until
// then; a retry-after of a reply that succeeded means nothing.
func (k *Key) Learn(h http.Header, status int, now time.Time) {
	found := limits(h, now)
	var wait time.Duration
	if status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable || status == 529 {
		wait, _ = hints(h, status, now)
	}
	if len(found) == 0 && wait == 0 {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(found) > 0 {
		k.learnt = k.learnt[:0]
		for _, l := range found {
			k.learnt = append(k.learnt, learn(l, now))
		}
	}
	k.holdLocked(wait, now)
	k.wake()
}

// hold holds all callers back.
func (k *Key) hold(wait time.Duration) {
	k.mu.Lock()
	k.holdLocked(wait, time.Now())
	k.mu.Unlock()
}

func (k *Key) holdLocked(wait time.Duration, now time.Time) {
	if until := now.Add(min(wait, longestHold)); wait > 0 && until.After(k.until) {
		k.until, k.spread = until, true
	}
}
