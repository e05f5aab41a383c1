package session

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/agent"
)

// family is the children that a session waits for, while it runs here.
type family struct {
	h      *Host
	parent uzda.SessionID
	out    map[uzda.SessionID]bool // those that run
	done   chan kid
	quit   chan struct{}
}

// kid is a child whose run has ended.
type kid struct {
	id  uzda.SessionID
	err error
}

// wait runs children until the parent can go on: one has delivered, something
// was posted to the parent, or its timer is due. False: all of them wait too.
func (f *family) wait(ctx context.Context, s *agent.State, kids []uzda.SessionID) (bool, error) {
	for _, id := range kids {
		if !f.out[id] {
			f.out[id] = true
			f.h.work.Go(func() { f.run(id) })
		}
	}
	news := newNews(ctx, f.h.c.Store, f.parent, f.h.every())
	defer news.stop()
	var due <-chan time.Time
	if until := s.Parked.Until; !until.IsZero() {
		t := time.NewTimer(max(0, until.Sub(f.h.now())))
		defer t.Stop()
		due = t.C
	}
	var errs []error
	for {
		if f.h.hasNews(f.parent, s.Head) {
			return true, nil
		}
		if len(f.out) == 0 {
			return false, errors.Join(errs...)
		}
		select {
		case k := <-f.done:
			delete(f.out, k.id)
			errs = append(errs, k.err)
		case <-news.after(s.Head):
			news.head = -1
		case <-due:
			return true, nil
		}
	}
}

func (f *family) run(id uzda.SessionID) {
	flight := f.h.begin(id, 1)
	<-flight.done
	select {
	case f.done <- kid{id, flight.err}:
	case <-f.quit:
	}
}

// deliver gives the result of a child that has ended to its parent. Doing so
// again is without effect, so a resumed child or parent can't lose it.
func (h *Host) deliver(id uzda.SessionID, s *agent.State) error {
	parent := s.Opened.Parent
	o := s.Outcome(id)
	if parent == "" || o == nil || o.Reason.Outcome() == uzda.Waiting {
		return nil
	}
	if there, _, err := h.opened(h.ctxOpen(), parent); err != nil || there == nil {
		return err // a child that was copied without its parent
	}
	r := uzda.ToolResult{Use: s.Opened.Use, Effect: uzda.EffectDone, Blocks: uzda.Say(o.Answer)}
	r.Labels = s.Labels
	if o.Reason.Outcome() != uzda.Finished {
		r.IsError, r.Code = true, uzda.CodeFailed
		r.Blocks = uzda.Say(fmt.Sprintf("The delegated task did not end well (%s: %s). What it had said: %s", o.Reason, o.Detail, o.Answer))
	}
	body := h.prepare(h.ctxOpen(), uzda.Delivered{ID: "child-" + string(id), Result: r, Spent: s.Last.Spent(), By: string(id)})
	evs, err := h.c.Store.Append(h.ctxOpen(), parent, uzda.At{Head: uzda.SomeHead}, body)
	if err != nil {
		return fmt.Errorf("deliver the result of session %s: %w", id, err)
	}
	h.tell(parent, evs...)
	if !h.c.Manual {
		h.wake(parent, evs[0].Seq)
	}
	return nil
}

func delegates(r *agent.Runner) bool {
	return slices.ContainsFunc(r.Tools, func(t uzda.Tool) bool { _, ok := t.(bound); return ok })
}

// waitsFor lists the children without which a parked session can't go on.
func waitsFor(s *agent.State) []uzda.SessionID {
	if s.Parked == nil {
		return nil
	}
	return pending(s)
}

func pending(s *agent.State) (kids []uzda.SessionID) {
	for _, u := range s.Uses {
		if u.Result == nil && u.Pending != nil && u.Pending.On == string(uzda.WaitChild) && u.Pending.Ref != "" {
			kids = append(kids, uzda.SessionID(u.Pending.Ref))
		}
	}
	return kids
}

// passOn passes a cancel that the journal has on to the children, before the turn
// ends by it: after that nothing tells which they were.
func (h *Host) passOn(id uzda.SessionID) error {
	s, err := h.State(h.ctxOpen(), id)
	if err != nil {
		return err
	}
	kids := pending(s)
	for _, u := range s.Uses { // lost before it could say what it waits for
		if u.Result == nil && u.Pending == nil && u.Started != nil && u.Spec != nil && strings.HasPrefix(u.Spec.Source, source) {
			kids = append(kids, childID(id, u.ID))
		}
	}
	h.adopt(id, kids)
	if s.Cancel != 0 {
		h.cancelKids(id, s.Cancel)
	}
	return nil
}

func (h *Host) adopt(parent uzda.SessionID, kids []uzda.SessionID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	l := h.live[parent]
	if l == nil { // its run has ended, and left this call behind
		return
	}
	for _, id := range kids {
		if l.kids == nil {
			l.kids = map[uzda.SessionID]bool{}
		}
		l.kids[id] = true
	}
}

// cancelKids cancels the children that are known here, and lets each end.
func (h *Host) cancelKids(parent uzda.SessionID, cause uzda.Seq) {
	h.mu.Lock()
	l := h.live[parent]
	if l == nil {
		h.mu.Unlock()
		return
	}
	kids := l.kids
	l.kids = nil
	h.mu.Unlock()
	for id := range kids {
		s, err := h.State(h.ctxOpen(), id)
		if err == nil && s.Turn.Seq != 0 {
			var seq uzda.Seq
			seq, err = h.Post(h.ctxOpen(), id, uzda.Cancelled{ID: fmt.Sprintf("parent-%d", cause), Turn: s.Turn.Seq, Why: "its parent was cancelled"})
			if err == nil {
				f := h.begin(id, seq)
				h.mu.Lock()
				l.ending = append(l.ending, f)
				h.mu.Unlock()
			}
		}
		if err != nil {
			h.debug("cancel a child", id, err)
		}
	}
}

// ending takes the children that must end before their parent's run does.
func (h *Host) ending(l *live) []*flight {
	h.mu.Lock()
	defer h.mu.Unlock()
	out := l.ending
	l.ending = nil
	return out
}
