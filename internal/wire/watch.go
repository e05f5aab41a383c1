package wire

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/uzda-dev/uzda"
)

// watch ends an exchange that has stalled, by cancelling its context.
type watch struct {
	parent, ctx        context.Context
	stop               context.CancelCauseFunc
	first, idle, quiet time.Duration

	mu       sync.Mutex
	timer    *time.Timer
	begun    bool      // a byte of the reply came
	touched  time.Time // the last byte, in or out
	progress time.Time // the last real event
	events   bool      // one came; until then keep-alives may go on as long as a first byte may take
	drains   bool      // the reply is over but for its end
	over     bool
}

func (c *Client) watch(parent context.Context) *watch {
	w := &watch{parent: parent, first: c.First, idle: c.Idle, quiet: c.Quiet}
	pick := func(d *time.Duration, remote, local time.Duration) {
		if *d <= 0 {
			*d = remote
			if c.Local {
				*d = local
			}
		}
	}
	pick(&w.first, First, FirstLocal)
	pick(&w.idle, Idle, IdleLocal)
	pick(&w.quiet, Quiet, Quiet)
	w.ctx, w.stop = context.WithCancelCause(parent)
	w.touched = time.Now()
	w.progress = w.touched
	w.mu.Lock()
	defer w.mu.Unlock()
	w.timer = time.AfterFunc(w.first, w.look)
	return w
}

// touch says that bytes went out.
func (w *watch) touch() {
	w.mu.Lock()
	w.touched = time.Now()
	w.mu.Unlock()
}

// came says that bytes came in.
func (w *watch) came() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.touched = time.Now()
	if !w.begun && !w.over {
		// What comes next may be due sooner than the timer thinks.
		w.begun, w.progress = true, w.touched
		w.timer.Reset(min(w.idle, w.quiet))
	}
}

// event says that something real came in.
func (w *watch) event() {
	w.mu.Lock()
	w.progress, w.events = time.Now(), true
	w.mu.Unlock()
}

// drain says that only the end of the reply is due, and that soon.
func (w *watch) drain() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.drains = true
	w.timer.Reset(drainTime)
}

// rest ends the watch, but not the exchange.
func (w *watch) rest() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.over = true
	w.timer.Stop()
}

func (w *watch) end() {
	w.rest()
	w.stop(nil)
}

// stalled is the cause of a context that a watchdog ended.
type stalled struct{ text, hint string }

func (s *stalled) Error() string { return s.text }

// look runs when something may be due. It ends the exchange, or looks again when
// the next is due.
func (w *watch) look() {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.over:
		return
	case w.drains:
		w.stop(nil)
		return
	}
	now := time.Now()
	quiet := w.quiet
	if !w.events {
		quiet = max(quiet, w.first)
	}
	due, why := w.touched.Add(w.first), &stalled{
		fmt.Sprintf("no answer began within %s (limit First)", w.first),
		"the service is slow or hangs: try again, or raise the First of its model"}
	if w.begun {
		due, why = w.touched.Add(w.idle), &stalled{
			fmt.Sprintf("the stream stalled: not a byte came for %s (limit Idle)", w.idle),
			"the service or the connection hangs: try again, or raise the Idle of its model"}
		if q := w.progress.Add(quiet); q.Before(due) {
			due, why = q, &stalled{
				fmt.Sprintf("the stream stalled: only keep-alives came for %s (limit Quiet)", quiet),
				"the service keeps the connection but says nothing: try again, or raise the Quiet of its model"}
		}
	}
	if now.Before(due) {
		w.timer.Reset(due.Sub(now))
		return
	}
	w.stop(why)
}

// late is the error of the watchdog that ended the exchange, nil if none did.
func (w *watch) late() *uzda.ProviderError {
	var s *stalled
	if errors.As(context.Cause(w.ctx), &s) {
		return &uzda.ProviderError{Code: "network", Message: s.text, Hint: s.hint, Err: s}
	}
	return nil
}

// cause marks the cause of the caller's context among the errors of a read, so
// that [Broken] finds it again.
type cause struct{ error }

func (c *cause) Unwrap() error { return c.error }
