package session

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/agent"
)

var errNoAgent = errors.New("the session's agent is not here")

// Run advances a session, and the children that it waits for, until it rests or
// waits for something from outside. When ctx ends, the turn is cancelled. A
// session that another process holds is *uzda.Busy; one that this host runs
// already is waited for.
func (h *Host) Run(ctx context.Context, id uzda.SessionID) (*agent.State, error) {
	stop := context.AfterFunc(ctx, func() { h.cancel(id, context.Cause(ctx)) })
	defer stop()
	for {
		l, idle := h.begin(id)
		select {
		case <-idle:
		case <-h.ctx.Done():
			<-idle // its turn is being cancelled
		}
		h.mu.Lock()
		s, err, again := l.state, l.err, l.again
		l.state = nil
		h.forget(id, l)
		h.mu.Unlock()
		if !again {
			if s == nil && err == nil { // another Run took it
				s, err = h.State(context.WithoutCancel(ctx), id)
			}
			return s, err
		}
	}
}

// cancel ends the turn that runs here.
func (h *Host) cancel(id uzda.SessionID, cause error) {
	why := "cancelled"
	if cause != nil {
		why = cause.Error()
	}
	if _, err := h.Post(context.Background(), id, uzda.Cancelled{Why: why, By: h.c.Holder}); err != nil && h.c.Log != nil {
		h.c.Log.Debug("cancel", "session", id, "error", err)
	}
}

// wake lets a session run in the background, if it can.
func (h *Host) wake(id uzda.SessionID) {
	if len(h.runners) > 0 && h.ctx.Err() == nil {
		h.begin(id)
	}
}

// begin starts a run of the session, or notes that the one that runs must look
// again. The channel is closed when the run has ended.
func (h *Host) begin(id uzda.SessionID) (*live, <-chan struct{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	l := h.of(id)
	if l.running {
		l.again = true
		return l, l.idle
	}
	l.running, l.again, l.idle = true, false, make(chan struct{})
	h.work.Add(1)
	go h.background(id, l)
	return l, l.idle
}

// background runs a session until it has nothing more to do.
func (h *Host) background(id uzda.SessionID, l *live) {
	defer h.work.Done()
	for {
		s, err := h.drive(h.ctx, id)
		h.mu.Lock()
		if l.again && err == nil && h.ctx.Err() == nil {
			l.again = false
			h.mu.Unlock()
			continue
		}
		l.again = false
		l.running, l.state, l.err = false, s, err
		close(l.idle)
		h.later(id, l, s, err)
		h.forget(id, l)
		h.mu.Unlock()
		if err != nil && h.c.Log != nil {
			h.c.Log.Info("a run ended", "session", id, "error", err)
		}
		return
	}
}

// later wakes a session again when its timer is due, or when the process that
// holds it may be done; h.mu is held.
func (h *Host) later(id uzda.SessionID, l *live, s *agent.State, err error) {
	if h.c.Manual || h.ctx.Err() != nil {
		return
	}
	var busy *uzda.Busy
	var wait time.Duration
	switch {
	case errors.As(err, &busy):
		wait = time.Second
	case err == nil && s != nil && s.Parked != nil && !s.Parked.Until.IsZero():
		wait = max(0, s.Parked.Until.Sub(h.now()))
	default:
		return
	}
	if l.timer != nil {
		l.timer.Stop()
	}
	l.timer = time.AfterFunc(wait, func() { h.wake(id) })
}

// drive runs a session, and while it waits for children, those.
func (h *Host) drive(ctx context.Context, id uzda.SessionID) (*agent.State, error) {
	for {
		name, err := h.agentOf(id)
		if err != nil {
			return nil, err
		}
		r, ok := h.runners[name]
		if !ok {
			return nil, fmt.Errorf("run session %s: agent %q: %w", id, name, errNoAgent)
		}
		s, err := r.Run(ctx, id)
		if err != nil {
			return s, err
		}
		kids := waitsFor(s)
		if len(kids) == 0 {
			return s, nil
		}
		if moved, err := h.children(ctx, kids); err != nil || !moved {
			return s, err
		}
	}
}

// children runs sessions that a parent waits for, and says whether one ended.
func (h *Host) children(ctx context.Context, kids []uzda.SessionID) (bool, error) {
	var wait sync.WaitGroup
	ended := make([]bool, len(kids))
	errs := make([]error, len(kids))
	for i, kid := range kids {
		wait.Go(func() { ended[i], errs[i] = h.child(ctx, kid) })
	}
	wait.Wait()
	for _, e := range ended {
		if e {
			return true, nil
		}
	}
	return false, errors.Join(errs...)
}

func waitsFor(s *agent.State) []uzda.SessionID {
	if s.Parked == nil {
		return nil
	}
	var kids []uzda.SessionID
	for _, u := range s.Uses {
		if u.Result == nil && u.Pending != nil && u.Pending.On == string(uzda.WaitChild) && u.Pending.Ref != "" {
			kids = append(kids, uzda.SessionID(u.Pending.Ref))
		}
	}
	return kids
}

func (h *Host) agentOf(id uzda.SessionID) (string, error) {
	for e, err := range h.c.Store.Read(h.ctxOpen(), id, 0) {
		if err != nil {
			return "", fmt.Errorf("run session %s: %w", id, err)
		}
		if b, ok := e.Body.(uzda.Opened); ok {
			return b.Agent, nil
		}
		break
	}
	if len(h.runners) == 1 { // posted before it was opened
		for name := range h.runners {
			return name, nil
		}
	}
	return "", fmt.Errorf("run session %s: %w", id, uzda.ErrNotFound)
}

// ctxOpen is for what must still be read while the host closes.
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
	if !l.running && len(l.watchers) == 0 && l.timer == nil && h.live[id] == l {
		delete(h.live, id)
	}
}
