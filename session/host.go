// Package session is the door to sessions: it opens them, posts to them, runs
// their agents and lets others watch.
package session

import (
	"context"
	"crypto/rand"
	"encoding/base32"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/agent"
)

// Config says what a Host runs on. Only Store is required; without Agents a host
// can post and watch, and leaves running to others.
type Config struct {
	Store  uzda.Store
	Agents map[string]agent.Agent

	Prices  uzda.Pricer   // nil: no price is known
	Redact  uzda.Redactor // nil: nothing is hidden
	Holder  string        // who runs, for session_busy; default process and host
	Program string        // name and version, recorded in each session; default the main module's
	Log     *slog.Logger  // nil: silent

	// Manual leaves running to Run: a post alone starts nothing. A program that
	// does one task and ends wants this.
	Manual bool

	Now   func() time.Time // default time.Now
	Poll  time.Duration    // how often events of other processes are looked for; default 100 ms
	Grace time.Duration    // what a cancelled effect gets to end; default 1 s
}

// Host is the only door to sessions; safe for concurrent use. Close it.
type Host struct {
	c       Config
	runners map[string]*agent.Runner // by the agent's name

	ctx  context.Context // of what runs in the background
	stop context.CancelCauseFunc
	work sync.WaitGroup

	watching atomic.Int32 // watchers of all sessions

	mu     sync.Mutex
	live   map[uzda.SessionID]*live
	kin    map[string]*agent.Runner // of children, by the names of their agent and its elders
	closed bool
}

var _ uzda.Host = (*Host)(nil)

// live is what a host knows of a session that runs here or is watched here. An
// idle session has none.
type live struct {
	flight   *flight  // nil: it does not run
	again    bool     // it must look again
	want     uzda.Seq // an event that was posted here while it ran
	watchers []*watcher
	timer    *time.Timer
	kids     map[uzda.SessionID]bool // that its uses wait for, as far as is known here
	ending   []*flight               // of children that were cancelled with it
}

// A flight is one run of a session, and what it came to once done is closed.
type flight struct {
	done  chan struct{}
	state *agent.State
	err   error
}

// New makes a host. It panics if the store is missing, an agent has no model, or
// delegates to one that is not there: a first run finds that.
func New(c Config) *Host {
	if c.Store == nil {
		panic("session: Config.Store is missing")
	}
	if c.Holder == "" {
		name, _ := os.Hostname()
		c.Holder = fmt.Sprintf("process %d on %s", os.Getpid(), name)
	}
	if c.Program == "" {
		if info, ok := debug.ReadBuildInfo(); ok {
			c.Program = strings.TrimSpace(info.Main.Path + " " + info.Main.Version)
		}
	}
	h := &Host{c: c, runners: map[string]*agent.Runner{}, kin: map[string]*agent.Runner{}, live: map[uzda.SessionID]*live{}}
	h.ctx, h.stop = context.WithCancelCause(context.Background())
	for name, a := range c.Agents {
		if a.Model == nil {
			panic("session: the agent " + name + " has no model")
		}
		a.Tools = slices.Clone(a.Tools)
		for i, t := range a.Tools {
			if d, ok := t.(Delegate); ok {
				if _, here := c.Agents[d.Agent]; !here {
					panic("session: the agent " + name + " delegates to " + d.Agent + ", which is not there")
				}
				a.Tools[i] = bound{d, h}
			}
		}
		h.runners[name] = h.runner(a)
	}
	return h
}

func (h *Host) runner(a agent.Agent) *agent.Runner {
	c := h.c
	return &agent.Runner{Agent: a, Store: c.Store, Prices: c.Prices, Redact: c.Redact, Holder: c.Holder,
		Log: c.Log, Now: c.Now, Poll: c.Poll, Grace: c.Grace, Events: h.tell, Watched: h.watched}
}

var errClosing = errors.New("the host is closing")

// Close cancels the turns that run here, waits for them and for tools that were
// abandoned, and leaves the store open: whoever opened it closes it. It returns
// an error if a tool has still not ended.
func (h *Host) Close() error {
	h.stop(errClosing)
	h.mu.Lock()
	h.closed = true
	for _, l := range h.live {
		if l.timer != nil {
			l.timer.Stop()
		}
	}
	h.mu.Unlock()
	h.work.Wait()
	for _, rs := range []map[string]*agent.Runner{h.runners, h.kin} {
		for name, r := range rs {
			if !r.Close() {
				return fmt.Errorf("close the host: a tool of the agent %q has not ended", name)
			}
		}
	}
	return nil
}

// NewID makes an id for a session: it sorts by time.
func NewID(now time.Time) uzda.SessionID {
	var b [10]byte
	ms := uint64(now.UnixMilli())
	for i := range 6 {
		b[i] = byte(ms >> (8 * (5 - i)))
	}
	_, _ = rand.Read(b[6:]) // it never fails
	return uzda.SessionID(strings.ToLower(crockford.EncodeToString(b[:])))
}

var crockford = base32.NewEncoding("0123456789abcdefghjkmnpqrstvwxyz").WithPadding(base32.NoPadding)

func (h *Host) now() time.Time {
	if h.c.Now != nil {
		return h.c.Now()
	}
	return time.Now()
}

// Open makes a session, or finds the one with the id of o: then the rest of o
// does not count. What was posted before a session was opened waits in it.
func (h *Host) Open(ctx context.Context, o uzda.Opening) (uzda.SessionID, error) {
	if o.ID == "" {
		o.ID = NewID(h.now())
	}
	if err := o.ID.Check(); err != nil {
		return "", err
	}
	for tries := 0; ; tries++ {
		found, head, err := h.opened(ctx, o.ID)
		if err == nil && found == nil {
			if _, ok := h.runners[o.Agent]; !ok && len(h.runners) > 0 {
				return "", fmt.Errorf("open session %s: there is no agent %q here", o.ID, o.Agent)
			}
			if err = h.open(ctx, o, head); err == nil && head > 0 && !h.c.Manual {
				h.wake(o.ID, head)
			}
		}
		var busy *uzda.Busy
		switch {
		case err == nil:
			return o.ID, nil
		case tries == patience:
		case errors.Is(err, uzda.ErrConflict): // something was posted meanwhile
			continue
		case errors.As(err, &busy): // somebody opens it right now
			if err = look(50*time.Millisecond).Wait(ctx, o.ID, 0); err == nil {
				continue
			}
		}
		return "", fmt.Errorf("open session %s: %w", o.ID, err)
	}
}

// patience is how often Open looks whether another process has opened a session.
const patience = 100

// opened looks for what a session was opened with; nil if it was not. head is how
// far it looked.
func (h *Host) opened(ctx context.Context, id uzda.SessionID) (o *uzda.Opened, head uzda.Seq, err error) {
	for e, err := range h.c.Store.Read(ctx, id, 0) {
		if err != nil {
			return nil, 0, err
		}
		head = e.Seq
		if b, ok := e.Body.(uzda.Opened); ok {
			return &b, head, nil
		}
	}
	return nil, head, nil
}

func (h *Host) open(ctx context.Context, o uzda.Opening, head uzda.Seq) error {
	epoch, err := h.c.Store.Acquire(ctx, o.ID, h.c.Holder)
	if err != nil {
		return err
	}
	defer h.c.Store.Release(context.WithoutCancel(ctx), o.ID, epoch) //nolint:errcheck // a lease ends by itself too
	_, err = h.c.Store.Append(ctx, o.ID, uzda.At{Head: head, Epoch: epoch}, uzda.Opened{Format: 1, Agent: o.Agent, Dir: o.Dir,
		Parent: o.Parent, Use: o.Use, Depth: o.Depth, Budget: o.Budget, Scope: o.Scope, Charge: o.Charge, With: o.With, By: h.c.Program})
	return err
}

// State folds a session from its journal.
func (h *Host) State(ctx context.Context, id uzda.SessionID) (*agent.State, error) {
	s, err := agent.Load(ctx, h.c.Store, id)
	if err == nil && s.Head == 0 {
		err = fmt.Errorf("session %s: %w", id, uzda.ErrNotFound)
	}
	return s, err
}

// Ask opens a session of an agent, posts text, and waits for the turn's end. The
// error is a *uzda.Outcome for every end but done; its Answer is what had been
// said. When ctx ends, the turn is cancelled.
func (h *Host) Ask(ctx context.Context, agentName, text string) (string, error) {
	id, err := h.Open(ctx, uzda.Opening{Agent: agentName})
	if err != nil {
		return "", err
	}
	return h.Say(ctx, id, text)
}

// Say is Ask in a session that there is.
func (h *Host) Say(ctx context.Context, id uzda.SessionID, text string) (string, error) {
	seq, err := h.PostAt(ctx, id, uzda.SomeHead, uzda.Posted{Blocks: uzda.Say(text)})
	if err != nil {
		return "", err
	}
	s, err := h.run(ctx, id, seq)
	if err != nil {
		return "", Failure(id, err)
	}
	o := s.Outcome(id)
	if o == nil {
		return "", &uzda.Outcome{Session: id, Reason: uzda.InternalError, Detail: "the turn has not ended"}
	}
	if o.Reason.Outcome() != uzda.Finished {
		return o.Answer, o
	}
	return o.Answer, nil
}

// Failure makes an outcome of an error of Run: what the journal could not record
// by itself.
func Failure(id uzda.SessionID, err error) *uzda.Outcome {
	o := &uzda.Outcome{Session: id, Reason: uzda.StorageError, Detail: err.Error(), Err: err,
		Hint: "nothing that was recorded is lost; mend the cause and `uzda resume` the session"}
	var busy *uzda.Busy
	switch {
	case errors.As(err, &o):
	case errors.As(err, &busy):
		o.Reason, o.Hint = uzda.SessionBusy, "wait for it, or use another session"
	case errors.Is(err, uzda.ErrFenced):
		o.Reason, o.Hint = uzda.SessionBusy, "this runner was stopped for too long, and another has taken over"
	case errors.Is(err, context.Canceled), errors.Is(err, errClosing):
		o.Reason, o.Hint = uzda.CancelledByUser, "`uzda resume` goes on"
	case errors.Is(err, uzda.ErrNotFound):
		o.Reason, o.Hint = uzda.ConfigError, "look at `uzda sessions` for the sessions that there are"
	case errors.Is(err, errNoAgent):
		o.Reason, o.Hint = uzda.ConfigError, "name it in the configuration, or run the session with another one"
	}
	return o
}
