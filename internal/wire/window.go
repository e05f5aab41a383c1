package wire

import "time"

// learnt is a limit of a key as its service told it at a time. What is left grows
// evenly until all is there again.
type learnt struct {
	limit
	at, full time.Time
	rate     float64 // a second
}

func learn(l limit, now time.Time) learnt {
	in := min(l.in, longestPace)
	n := learnt{limit: l, at: now, full: now.Add(in)}
	if l.max > l.left && in > 0 {
		n.rate = (l.max - l.left) / in.Seconds()
	}
	return n
}

// take takes a request out of what is left.
func (l *learnt) take(tokens int) {
	switch l.kind {
	case "requests":
		l.left--
	case "tokens":
		l.left -= float64(tokens)
	}
}

// need is what must be left for a request.
func (l *learnt) need(tokens int) float64 {
	switch l.kind {
	case "tokens":
		return max(float64(tokens), 1)
	case "used":
		return max(l.max/50, 1)
	}
	return 1
}

// due is how long a request must wait. One that is larger than the whole limit
// waits until it is full: what the service says then is its own business.
func (l *learnt) due(now time.Time, tokens int) time.Duration {
	rest := l.full.Sub(now)
	if rest <= 0 {
		return 0
	}
	need := l.need(tokens)
	if l.max > 0 {
		need = min(need, l.max)
	}
	missing := need - l.left - l.rate*now.Sub(l.at).Seconds()
	switch {
	case missing <= 0:
		return 0
	case l.rate <= 0: // it is not known how fast it grows
		return rest
	}
	// A millisecond more than reckoned, so that no rounding wakes in vain.
	return time.Duration(min(missing/l.rate*float64(time.Second)+float64(time.Millisecond), float64(rest)))
}

// window counts what went out in the last minute, in slots of at least 100 ms.
type window struct{ slots []slot }

type slot struct {
	from, last       time.Time
	requests, tokens int
}

const slotTime = 100 * time.Millisecond

func (w *window) add(now time.Time, requests, tokens int) {
	if n := len(w.slots); n > 0 && now.Sub(w.slots[n-1].from) < slotTime {
		s := &w.slots[n-1]
		s.last, s.requests, s.tokens = now, s.requests+requests, s.tokens+tokens
		return
	}
	w.slots = append(w.slots, slot{now, now, requests, tokens})
}

// due is how long until another request stays under the limits in every minute.
func (w *window) due(now time.Time, maxRequests, maxTokens, tokens int) time.Duration {
	old := 0
	for old < len(w.slots) && now.Sub(w.slots[old].last) >= time.Minute {
		old++
	}
	w.slots = append(w.slots[:0], w.slots[old:]...)
	var requests, sum int
	for _, s := range w.slots {
		requests, sum = requests+s.requests, sum+s.tokens
	}
	full := func() bool {
		return maxRequests > 0 && requests+1 > maxRequests || maxTokens > 0 && sum > 0 && sum+tokens > maxTokens
	}
	var due time.Duration
	for _, s := range w.slots {
		if !full() {
			break
		}
		requests, sum = requests-s.requests, sum-s.tokens
		due = s.last.Add(time.Minute).Sub(now)
	}
	return due
}

const (
	budgetSize    = 10               // retries at once
	budgetTime    = 10 * time.Second // until one comes back
	budgetSuccess = 0.1              // of one comes back with a success
)

// budget is how many retries all callers of a key have together, so that an
// outage isn't made worse by those who wait for its end.
type budget struct {
	used float64
	at   time.Time
}

func (b *budget) refill(now time.Time) {
	b.used = max(b.used-now.Sub(b.at).Seconds()/budgetTime.Seconds(), 0)
	b.at = now
}

// take takes a retry out of the budget, and says how long it must wait; !ok: so
// long that it is not to be.
func (b *budget) take(now time.Time, longest time.Duration) (wait time.Duration, ok bool) {
	b.refill(now)
	if over := b.used + 1 - budgetSize; over > 0 {
		wait = time.Duration(over * float64(budgetTime))
	}
	if wait > longest {
		return 0, false
	}
	b.used++
	return wait, true
}

func (k *Key) succeeded() {
	k.mu.Lock()
	k.budget.used = max(k.budget.used-budgetSuccess, 0)
	k.mu.Unlock()
}

func (k *Key) again(longest time.Duration) (time.Duration, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.budget.take(time.Now(), longest)
}
