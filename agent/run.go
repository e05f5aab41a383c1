package agent

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/uzda-dev/uzda"
)

var (
	errTime     = errors.New("the time for this turn is used up")
	errStopped  = errors.New("the turn was cancelled")
	errNotOurs  = errors.New("another runner has taken over")
	errRunEnded = errors.New("the run has ended")
	errClosed   = errors.New("the result has come from elsewhere")
)

// run is one Run: the only writer of its state, and the owner of what is in flight.
// The goroutine of Run and those of what is in flight take turns.
type run struct {
	*Runner
	id     uzda.SessionID
	scope  uzda.SessionID
	epoch  int64
	s      *State
	enc    uzda.Enc
	tools  map[string]uzda.Tool
	specs  map[string]uzda.ToolSpec // of tools, as the model is told them
	hashes map[string]string        // of specs
	slow   bool                     // one of the gates is
	ledger uzda.Ledger
	equip  *uzda.Equipped // what the state lacks of the configuration; nil once recorded
	kept   uzda.Seq       // head of the last checkpoint
	lines  lines          // of the next one
	seal   string         // of the last event folded, see sealOf

	mu       sync.Mutex    // of all that changes: who has it makes the moves
	goOn     func()        // makes them
	bell     chan struct{} // for loop
	over     bool
	err      error // how it ended
	landings int

	hand    Hand
	names   map[uzda.UseID]string              // of the tools of the uses in flight
	stop    map[string]context.CancelCauseFunc // of what is in flight, by key
	crew    *crew
	jobs    []job       // that were launched, and not yet begun
	held    []uzda.Body // outcomes that are not yet in the journal
	settle  []uzda.Settlement
	urgent  bool // one of them must survive alone
	ruled   map[uzda.UseID]ruling
	taken   map[string]uzda.Holder
	broke   error // the hold of the next ask, or of the check, did not fit
	failed  error // the store did not take a hold
	plan    planned
	side    *side // of the planner in flight, or the last one
	sides   atomic.Int64
	outMost atomic.Int64 // bytes of a result of the step that runs
	counted counted
	checks  int // holds for checks, which need names
	stuck   int // conflicts in a row that showed nothing new

	caps   caps
	clock  *time.Timer   // of deadline
	since  time.Time     // when something began to be in flight, or last landed
	active time.Duration // since the last body that carries it
	unsent time.Duration // in bodies that are held
	grace  <-chan time.Time
	late   uzda.Seq // the turn whose time is up
	last   uzda.Seq // the turn that is cancelled because ctx has ended; the next is for the next Run
}

// landed is what something in flight came to.
type landed struct {
	key     string
	bodies  []uzda.Body // outcomes
	more    bool        // the key is still in flight
	settle  *uzda.Settlement
	use     uzda.UseID
	ruling  *ruling
	plan    *planned
	counted counted
	err     error
}

// Run advances the session until it rests or waits, and returns its state.
// Starting, resuming after a crash and going on after an answer are all this
// call. A session that another runner holds is *uzda.Busy. When ctx ends, the
// turn that runs is cancelled: the state says so, and there is no error. One
// that has ended before Run begins changes nothing: its cause is returned.
//
// After an error of the store nothing that was durable is lost: the next Run
// goes on. Tools that still work then report what they did as uzda.Late, as far
// as the store takes it; Close waits for them.
func (r *Runner) Run(ctx context.Context, id uzda.SessionID) (*State, error) {
	if ctx.Err() != nil {
		return nil, fmt.Errorf("run session %s: %w", id, context.Cause(ctx))
	}
	keep := context.WithoutCancel(ctx)
	x, err := r.open(ctx, id)
	if err != nil {
		return nil, fmt.Errorf("run session %s: %w", id, err)
	}
	defer r.Store.Release(keep, id, x.epoch) //nolint:errcheck // a lease ends by itself too
	if g := x.gear(); x.s.GearGen == 0 || !bytes.Equal(rawJSON(g), rawJSON(x.s.Gear)) {
		x.equip = &g
	}
	return x.s, x.loop(ctx, keep)
}

// open takes the lease of a session and loads it.
func (r *Runner) open(ctx context.Context, id uzda.SessionID) (*run, error) {
	epoch, err := r.Store.Acquire(ctx, id, r.Holder)
	if err != nil {
		return nil, err
	}
	keep := context.WithoutCancel(ctx)
	s, kept, seal, err := load(keep, r.Store, id)
	if err != nil {
		r.Store.Release(keep, id, epoch) //nolint:errcheck // a lease ends by itself too
		return nil, err
	}
	x := &run{Runner: r, id: id, epoch: epoch, s: s, kept: kept, seal: seal, scope: or(s.Opened.Scope, id),
		names: map[uzda.UseID]string{}, hand: Hand{Uses: map[uzda.UseID]bool{}, Judging: map[uzda.UseID]bool{}},
		stop: map[string]context.CancelCauseFunc{}, crew: newCrew(), bell: make(chan struct{}, 1),
		tools: map[string]uzda.Tool{}, specs: map[string]uzda.ToolSpec{}, hashes: map[string]string{},
		ruled: map[uzda.UseID]ruling{}, taken: map[string]uzda.Holder{}}
	x.ledger, _ = r.Store.(uzda.Ledger)
	for _, g := range r.Gates {
		if _, ok := g.(Slow); ok {
			x.slow = true
		}
	}
	x.arm()
	return x, nil
}

// loop waits for what comes from outside. What is in flight goes on by itself: who
// lands makes the moves that follow and does the next effect, since to wake another
// goroutine for it would cost more than the moves.
func (r *run) loop(ctx, keep context.Context) error {
	poll := time.NewTicker(or(r.Poll, 100*time.Millisecond))
	defer poll.Stop()
	renewed := time.Now()
	end := ctx.Done()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.goOn = func() { r.moves(ctx, keep) }
	for r.goOn(); !r.over; r.goOn() {
		r.begin(r.launched())
		landings, grace, timeUp := r.landings, r.grace, r.deadline()
		r.mu.Unlock()
		what := r.wait(poll.C, grace, timeUp, end)
		r.mu.Lock()
		var err error
		switch {
		case r.over:
		case what == isGrace && r.grace == grace:
			r.abandon()
		case what == isTimeUp && r.landings == landings: // else what is left is counted anew
			r.late = r.s.Turn.Seq
		case what == isEnd: // moves cancels
			end = nil
		case what == isPoll:
			if time.Since(renewed) > or(r.Renew, 4*time.Second) {
				renewed = time.Now()
				err = r.Store.Renew(keep, r.id, r.epoch)
			}
			if err == nil {
				err = r.catchUp(keep)
			}
		}
		if err != nil {
			r.finish(err)
		}
	}
	if r.clock != nil {
		r.clock.Stop()
	}
	if errors.Is(r.err, uzda.ErrFenced) {
		return r.fenced(keep, r.err)
	}
	return r.err
}

// What loop waits for.
const (
	isBell = iota
	isGrace
	isTimeUp
	isEnd
	isPoll
)

func (r *run) wait(poll, grace, timeUp <-chan time.Time, end <-chan struct{}) int {
	select {
	case <-r.bell:
		return isBell
	case <-grace:
		return isGrace
	case <-timeUp:
		return isTimeUp
	case <-end:
		return isEnd
	case <-poll:
		return isPoll
	}
}

// moves makes the moves that can be made, until only what is in flight can go on
// or the run is over.
func (r *run) moves(ctx, keep context.Context) {
	for !r.over {
		acted, err := false, error(nil)
		if ctx.Err() != nil {
			if r.resting() || r.last != 0 && r.s.Turn.Seq != r.last {
				r.finish(errors.Join(r.flush(keep), r.checkpoint(keep, false)))
				return
			}
			if r.last == 0 {
				r.last = r.s.Turn.Seq
				err = r.cancelled(keep, context.Cause(ctx))
			}
		}
		if err == nil {
			acted, err = r.advance(keep)
		}
		switch {
		case err != nil || r.s.ReadOnly != "":
			r.finish(err)
		case acted:
		case len(r.stop) == 0:
			r.finish(r.checkpoint(keep, false))
		default:
			r.halt()
			return
		}
	}
}

// finish ends the run. What is still in flight is given away, unless another
// runner has taken over: then loop waits for it a little.
func (r *run) finish(err error) {
	r.over, r.err = true, err
	if !errors.Is(err, uzda.ErrFenced) {
		r.leave(errRunEnded)
	}
	r.ring()
}

// ring lets loop look again.
func (r *run) ring() {
	select {
	case r.bell <- struct{}{}:
	default:
	}
}

// resting says whether no turn goes on that could be cancelled, as far as is
// recorded: a wait goes on without a runner.
func (r *run) resting() bool {
	return r.s.Turn.Seq == 0 || r.s.Parked != nil && len(r.stop) == 0
}

// halt stops what is in flight once nobody has a use for it any more, and begins
// the grace that it gets: the turn is cancelled, its time is up, or it has ended.
func (r *run) halt() {
	for id := range r.hand.Uses {
		if u := r.s.use(id); u == nil || u.Result != nil {
			r.stop["use "+string(id)](errClosed)
		}
	}
	cause := errStopped
	switch {
	case r.s.Cancel != 0:
	case r.outOfTime():
		cause = errTime
	case r.s.Turn.Seq == 0:
		cause = errClosed
	default:
		r.grace = nil
		return
	}
	if r.grace == nil {
		for _, stop := range r.stop {
			stop(cause)
		}
		r.grace = time.After(or(r.Grace, time.Second))
	}
}

func (r *run) outOfTime() bool { return r.late != 0 && r.late == r.s.Turn.Seq }

// left is what the turn's time has left, counting what is not yet recorded.
func (r *run) left() time.Duration {
	return r.s.Gear.Limits.Time - r.s.Turn.Active - r.unsent - r.active
}

// deadline is when the turn's time is up, while something of ours is in flight.
func (r *run) deadline() <-chan time.Time {
	if r.outOfTime() || r.s.Cancel != 0 || r.s.Turn.Seq == 0 {
		return nil
	}
	if left := r.left() - r.now().Sub(r.since); r.clock == nil {
		r.clock = time.NewTimer(left)
	} else {
		r.clock.Reset(left)
	}
	return r.clock.C
}

func (r *run) cancelled(ctx context.Context, cause error) error {
	c := uzda.Cancelled{ID: fmt.Sprintf("stop-%d-%d", r.epoch, r.s.Head), Turn: r.s.Turn.Seq, Why: cause.Error(), By: r.Holder}
	if _, err := r.Store.Append(ctx, r.id, uzda.At{Head: uzda.SomeHead}, c); err != nil {
		return fmt.Errorf("cancel session %s: %w", r.id, err)
	}
	return r.catchUp(ctx)
}
