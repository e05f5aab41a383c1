package session

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/agent"
)

var errNoAgent = errors.New("the session's agent is not here")

// Run advances a session, and the children that it waits for, until it rests or
// waits for something from outside. When ctx ends, the turn is cancelled. A
// session that another process holds is *uzda.Busy; one that this host runs
// already is waited for. The state is not to be changed.
func (h *Host) Run(ctx context.Context, id uzda.SessionID) (*agent.State, error) {
	return h.run(ctx, id, 0)
}

// run is Run for somebody who has posted an event; 0: whatever there is.
func (h *Host) run(ctx context.Context, id uzda.SessionID, posted uzda.Seq) (*agent.State, error) {
	if ctx.Err() != nil { // before it begins
		h.cancel(id, context.Cause(ctx))
	} else {
		told := make(chan struct{})
		stop := context.AfterFunc(ctx, func() {
			defer close(told)
			h.cancel(id, context.Cause(ctx))
		})
		defer func() {
			if !stop() {
				<-told
			}
		}()
	}
	f := h.begin(id, posted)
	<-f.done
	return f.state, f.err
}

// cancel ends the turn that goes on, and no later one.
func (h *Host) cancel(id uzda.SessionID, cause error) {
	s, err := h.State(h.ctxOpen(), id)
	if err == nil && s.Turn.Seq != 0 {
		_, err = h.Post(h.ctxOpen(), id, uzda.Cancelled{Turn: s.Turn.Seq, Why: cause.Error(), By: h.c.Holder})
	}
	if err != nil {
		h.debug("cancel", id, err)
	}
}

func (h *Host) debug(doing string, id uzda.SessionID, err error) {
	if h.c.Log != nil {
		h.c.Log.Debug(doing, "session", id, "error", err)
	}
}

// wake lets a session run in the background, if it can.
func (h *Host) wake(id uzda.SessionID, posted uzda.Seq) {
	if len(h.runners) > 0 {
		h.begin(id, posted)
	}
}

// begin starts a run of the session. One that runs already is told to go on until
// it has seen what was posted, or with 0 to look once more.
func (h *Host) begin(id uzda.SessionID, posted uzda.Seq) *flight {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		f := &flight{done: make(chan struct{}), err: fmt.Errorf("run session %s: %w", id, errClosing)}
		close(f.done)
		return f
	}
	l := h.of(id)
	if l.flight != nil {
		l.again, l.want = l.again || posted == 0, max(l.want, posted)
		return l.flight
	}
	if l.timer != nil {
		l.timer.Stop()
		l.timer = nil
	}
	f := &flight{done: make(chan struct{})}
	l.flight, l.again, l.want = f, false, 0
	h.work.Add(1)
	go h.background(id, l, f)
	return f
}

// background runs a session until it has nothing more to do.
func (h *Host) background(id uzda.SessionID, l *live, f *flight) {
	defer h.work.Done()
	for {
		s, err := h.drive(h.ctx, id)
		if err == nil {
			err = h.deliver(id, s)
		}
		for _, kid := range h.ending(l) {
			<-kid.done
		}
		news := err == nil && h.hasNews(id, s.Head)
		h.mu.Lock()
		if err == nil && h.ctx.Err() == nil && (news || l.again || l.want > s.Head || len(l.ending) > 0) {
			l.again = false
			h.mu.Unlock()
			continue
		}
		f.state, f.err, l.flight = s, err, nil
		h.later(id, l, s, err)
		h.forget(id, l)
		h.mu.Unlock()
		close(f.done)
		if err != nil && h.c.Log != nil {
			h.c.Log.Info("a run ended", "session", id, "error", err)
		}
		return
	}
}

// hasNews says whether a session has an event after a number.
func (h *Host) hasNews(id uzda.SessionID, after uzda.Seq) bool {
	for _, err := range h.c.Store.Read(h.ctxOpen(), id, after) {
		if err != nil {
			h.debug("look for news", id, err) // the next run will meet it
		}
		return true
	}
	return false
}

// later wakes a session again when its timer is due, or when the process that
// holds it may be done; h.mu is held.
func (h *Host) later(id uzda.SessionID, l *live, s *agent.State, err error) {
	if h.c.Manual || h.closed {
		return
	}
	var busy *uzda.Busy
	var wait time.Duration
	switch {
	case errors.As(err, &busy):
		wait = time.Second
	case err == nil && s.Parked != nil && !s.Parked.Until.IsZero():
		wait = max(0, s.Parked.Until.Sub(h.now()))
	default:
		return
	}
	l.timer = time.AfterFunc(wait, func() { h.wake(id, 0) })
}

// drive runs a session, and while it waits for children, those.
func (h *Host) drive(ctx context.Context, id uzda.SessionID) (*agent.State, error) {
	r, err := h.runnerOf(id)
	if err != nil {
		return nil, err
	}
	f := family{h: h, parent: id, out: map[uzda.SessionID]bool{}, done: make(chan kid), quit: make(chan struct{})}
	defer close(f.quit)
	for {
		if delegates(r) {
			if err := h.passOn(id); err != nil {
				return nil, err
			}
		}
		s, err := r.Run(ctx, id)
		if err != nil {
			return s, err
		}
		kids := waitsFor(s)
		if len(kids) == 0 {
			return s, nil
		}
		if moved, err := f.wait(ctx, s, kids); err != nil || !moved {
			return s, err
		}
	}
}

// ctxOpen is for what must still be done while the host closes.
func (h *Host) ctxOpen() context.Context { return context.WithoutCancel(h.ctx) }

// of returns what is known of a session; h.mu is held.
func (h *Host) of(id uzda.SessionID) *live {
	l := h.live[id]
	if l == nil {
		l = &live{}
		h.live[id] = l
	}
	return l
}

// forget drops what is known of a session once nothing needs it; h.mu is held.
func (h *Host) forget(id uzda.SessionID, l *live) {
	if l.flight == nil && len(l.watchers) == 0 && l.timer == nil && h.live[id] == l {
		delete(h.live, id)
	}
}
