package agent

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/uzda-dev/uzda"
)

// land takes an outcome into the record, with the active time since the last.
func (r *run) land(l landed) {
	now := r.now()
	r.active += now.Sub(r.since)
	r.since = now
	if r.outOfTime() {
		r.active += max(0, r.left()) // a clock that differs must not revive the turn
	}
	if !l.more {
		r.stop[l.key](nil)
		delete(r.stop, l.key)
	}
	switch {
	case l.ruling != nil:
		delete(r.hand.Judging, l.use)
		r.ruled[l.use] = *l.ruling
		return
	case l.key == "plan" && !l.more:
		r.hand.Beside = false
		if l.err != nil && r.s.Cancel == 0 {
			r.debug("the planner failed", "session", r.id, "error", l.err)
		}
		r.plan = *l.plan
		return
	case l.key == "count":
		r.hand.Beside = false
		if l.err != nil {
			r.debug("count a request", "session", r.id, "error", l.err)
		}
		r.counted, r.broke = l.counted, nil
		return
	case l.key == "verify":
		r.hand.Beside = false
		switch {
		case errors.Is(l.err, uzda.ErrBudget):
			r.broke = l.err
		case l.err != nil:
			r.failed = l.err
		}
	case l.key == "ask" && !l.more:
		r.hand.Asking = false
		r.failed = l.err
	case l.use != "":
		delete(r.hand.Uses, l.use)
		delete(r.names, l.use)
	}
	if l.settle != nil {
		r.settle = append(r.settle, *l.settle)
	}
	for _, b := range l.bodies {
		r.hold(b)
	}
}

// hold keeps an outcome for the next append.
func (r *run) hold(b uzda.Body) {
	urgent := true
	switch o := b.(type) {
	case uzda.Broken:
		o.Active = r.take()
		b = o
	case uzda.Said:
		o.Active = r.take()
		b = o
	case uzda.Verified:
		o.Active = r.take()
		b = o
	case uzda.Used:
		o.Active = r.take()
		b = o
	case uzda.Returned:
		o.Active = r.take()
		u := r.s.use(o.Result.Use)
		urgent = u == nil || u.Spec == nil || !u.Spec.Effects.ReadOnly || o.Pending != nil
		b = o
	}
	r.held = append(r.held, b)
	r.urgent = r.urgent || urgent
}

// take moves the active time into a body.
func (r *run) take() time.Duration {
	d := r.active
	r.active, r.unsent = 0, r.unsent+d
	return d
}

// abandon answers for what did not stop in time. What it still reports is Late.
func (r *run) abandon() {
	code := uzda.CodeCancelled
	if r.outOfTime() && r.s.Cancel == 0 {
		code = uzda.CodeTimeout
	}
	var left []landed
	for _, id := range sortedKeys(r.hand.Uses) {
		l := landed{use: id}
		if u := r.s.use(id); u != nil && u.Result == nil {
			l.bodies = []uzda.Body{uzda.Returned{Result: refusal(*u, code)}}
		}
		left = append(left, l)
	}
	if a := r.s.Ask; r.hand.Asking && a != nil { // nobody knows what it cost: its hold
		l := landed{bodies: []uzda.Body{uzda.Broken{Code: "cancelled", Error: "the model did not stop in time", Cost: a.Hold.Amount,
			Usage: uzda.Usage{Input: a.Tokens - a.Max, Output: a.Max, AtLeast: true}}}}
		if a.Hold.ID != "" {
			l.settle = &uzda.Settlement{ID: a.Hold.ID, Spent: a.Hold.Amount}
		}
		left = append(left, l)
	}
	for _, id := range sortedKeys(r.hand.Judging) { // a gate or a preview that does not return
		l := landed{use: id}
		if u := r.s.use(id); u != nil && u.Result == nil {
			res := refusal(*u, code)
			res.Effect = uzda.EffectNone
			l.bodies = []uzda.Body{uzda.Returned{Result: res}}
		}
		left = append(left, l)
	}
	if r.stop["plan"] != nil && r.side != nil { // nobody knows what it cost: its hold
		for _, h := range r.side.unpaid() {
			left = append(left, landed{bodies: []uzda.Body{uzda.Used{For: uzda.SummaryAgent, Cost: h.Amount, Usage: uzda.Usage{AtLeast: true}, Unknown: true}},
				settle: &uzda.Settlement{ID: h.ID, Spent: h.Amount}})
		}
	}
	if r.stop["verify"] != nil && r.outOfTime() && r.s.Cancel == 0 { // recorded, so that the check does not begin again
		left = append(left, landed{bodies: []uzda.Body{uzda.Verified{By: r.own(r.Verify.String()),
			Blocks: uzda.Say(r.brief("The check could not be made: " + errTime.Error()))}}})
	}
	r.plan, r.counted = planned{next: r.s.next()}, counted{next: r.s.next()} // nor does one of these
	r.leave(errStopped)
	r.grace = nil // what begins now is stopped anew
	for _, l := range left {
		r.active += r.now().Sub(r.since)
		r.since = r.now()
		if l.settle != nil {
			r.settle = append(r.settle, *l.settle)
		}
		for _, b := range l.bodies {
			r.hold(b)
		}
	}
}

// leave stops what is in flight and gives it away: what it still reports is Late.
func (r *run) leave(cause error) {
	n := len(r.stop)
	if n == 0 {
		return
	}
	names := r.names
	for _, tool := range names {
		r.strays.add(r.id, tool)
	}
	r.strays.begin()
	for key, stop := range r.stop {
		stop(cause)
		delete(r.stop, key)
	}
	r.names = map[uzda.UseID]string{}
	clear(r.hand.Judging)
	clear(r.hand.Uses)
	r.hand.Beside, r.hand.Asking = false, false
	runner, id, epoch, old := r.Runner, r.id, r.epoch, r.crew
	old.left = true
	r.crew = newCrew()
	r.begin(r.launched())
	go func() { // outlives the turn on purpose; Close waits for it
		defer runner.strays.end()
		for range n {
			l := <-old.late
			for _, b := range l.bodies {
				runner.tellLate(context.Background(), id, epoch, b)
			}
			if tool, ok := names[l.use]; ok && l.ruling == nil {
				runner.strays.remove(id, tool)
			}
		}
	}()
}

func (r *Runner) tellLate(ctx context.Context, id uzda.SessionID, epoch int64, b uzda.Body) {
	ret, ok := b.(uzda.Returned)
	if !ok || ret.Pending != nil {
		return
	}
	late := uzda.Late{ID: fmt.Sprintf("late-%s-%d", ret.Result.Use, epoch), Result: ret.Result, By: r.Holder}
	if _, err := r.Store.Append(ctx, id, uzda.At{Head: uzda.SomeHead}, late); err != nil {
		r.debug("report a late result", "session", id, "use", ret.Result.Use, "error", err)
	}
}

// fenced reports, as anyone may, what came back here after another runner took over.
func (r *run) fenced(ctx context.Context, cause error) error {
	r.begin(r.launched())
	for _, stop := range r.stop {
		stop(errNotOurs)
	}
	grace := time.After(or(r.Grace, time.Second))
	for {
		for _, b := range r.held {
			r.tellLate(ctx, r.id, r.epoch, b)
		}
		r.held = nil
		if len(r.stop) == 0 {
			return fmt.Errorf("run session %s: %w", r.id, cause)
		}
		r.mu.Unlock()
		waited := r.wait(nil, grace, nil, nil)
		if r.mu.Lock(); waited == isGrace {
			r.leave(errNotOurs)
		}
	}
}

// strays are tools that were abandoned and still work.
type strays struct {
	mu    sync.Mutex
	n     int           // goroutines that wait for some
	none  chan struct{} // closed when n falls to 0; nil while nobody waits
	tools map[string]int
}

func stray(id uzda.SessionID, tool string) string { return string(id) + "\x00" + tool }

func (s *strays) add(id uzda.SessionID, tool string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tools == nil {
		s.tools = map[string]int{}
	}
	s.tools[stray(id, tool)]++
}

func (s *strays) remove(id uzda.SessionID, tool string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := stray(id, tool)
	if s.tools[k]--; s.tools[k] <= 0 {
		delete(s.tools, k)
	}
}

// working says whether a use of the tool in the session was abandoned and still runs.
func (s *strays) working(id uzda.SessionID, tool string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tools[stray(id, tool)] > 0
}

func (s *strays) begin() {
	s.mu.Lock()
	s.n++
	s.mu.Unlock()
}

func (s *strays) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.n--; s.n == 0 && s.none != nil {
		close(s.none)
		s.none = nil
	}
}

// wait reports whether all have ended within d.
func (s *strays) wait(d time.Duration) bool {
	s.mu.Lock()
	if s.n == 0 {
		s.mu.Unlock()
		return true
	}
	if s.none == nil {
		s.none = make(chan struct{})
	}
	none := s.none
	s.mu.Unlock()
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-none:
		return true
	case <-t.C:
		return false
	}
}
