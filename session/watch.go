package session

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"sync"
	"time"

	"github.com/uzda-dev/uzda"
)

// behind is how many events a watcher may be behind before deltas are dropped
// and the rest is read from the journal again.
const behind = 4096

// watcher is one Watch: what it was told and has not yet taken.
type watcher struct {
	mu    sync.Mutex
	queue []uzda.Event
	lost  bool // something was dropped: read the journal
	bell  chan struct{}
}

func (w *watcher) push(evs []uzda.Event) {
	w.mu.Lock()
	if len(w.queue)+len(evs) > behind {
		w.queue, w.lost = nil, true
	} else {
		w.queue = append(w.queue, evs...)
	}
	w.mu.Unlock()
	w.ring()
}

func (w *watcher) ring() {
	select {
	case w.bell <- struct{}{}:
	default:
	}
}

func (w *watcher) take() (evs []uzda.Event, lost bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	evs, lost = w.queue, w.lost
	w.queue, w.lost = nil, false
	return evs, lost
}

// tell passes on what a runner here has recorded or streams.
func (h *Host) tell(id uzda.SessionID, evs ...uzda.Event) {
	h.mu.Lock()
	l := h.live[id]
	var ws []*watcher
	if l != nil {
		ws = l.watchers
	}
	h.mu.Unlock()
	for _, w := range ws {
		w.push(evs)
	}
	for _, e := range evs {
		if b, ok := e.Body.(uzda.Ended); ok && b.Reason == uzda.CancelledByUser {
			h.cancelKids(id, e.Seq)
		}
	}
}

// watched says whether anybody watches a session here.
func (h *Host) watched(id uzda.SessionID) bool {
	if h.watching.Load() == 0 { // asked for each delta
		return false
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	l := h.live[id]
	return l != nil && len(l.watchers) > 0
}

func (h *Host) wakeWatchers(id uzda.SessionID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if l := h.live[id]; l != nil {
		for _, w := range l.watchers {
			w.ring()
		}
	}
}

// every is how often to look for the events of other processes, in a store that
// can't tell.
func (h *Host) every() time.Duration {
	if h.c.Poll > 0 {
		return h.c.Poll
	}
	return 100 * time.Millisecond
}

// asks keeps deltas back that come after their reply, which the journal gave first.
type asks struct{ last, done int }

func (a *asks) through(yield func(uzda.Event, error) bool) func(uzda.Event, error) bool {
	return func(e uzda.Event, err error) bool {
		switch b := e.Body.(type) {
		case uzda.Asked:
			a.last = b.Ordinal
		case uzda.Said, uzda.Broken, uzda.Ended:
			a.done = a.last
		case uzda.Streaming:
			if b.Ask <= a.done {
				return true
			}
		case uzda.Restarted:
			if b.Ask <= a.done {
				return true
			}
		}
		return yield(e, err)
	}
}

// Watch yields the events after a number and follows until ctx ends, events of
// other processes too. Deltas of a reply that runs here are events with Seq 0.
// The iteration ends without an error when ctx ends.
func (h *Host) Watch(ctx context.Context, id uzda.SessionID, after uzda.Seq) iter.Seq2[uzda.Event, error] {
	return func(yield func(uzda.Event, error) bool) {
		w := h.follow(id)
		defer h.unfollow(id, w)
		news := newNews(ctx, h.c.Store, id, h.every())
		defer news.stop()
		var seen asks
		yield = seen.through(yield)
		head, more := h.replay(ctx, id, after, yield)
		stored := false // by whom else: what was told here before comes first, so that no delta is late
		for more {
			evs, lost := w.take()
			for _, e := range evs {
				switch {
				case e.Seq == 0 || e.Seq == head+1:
					if e.Seq > 0 {
						head = e.Seq
					}
					more = yield(e, nil)
				case e.Seq > head+1:
					head, more = h.replay(ctx, id, head, yield)
				}
				if !more {
					return
				}
			}
			if lost || stored {
				stored = false
				head, more = h.replay(ctx, id, head, yield)
				continue
			}
			select {
			case <-ctx.Done():
				return
			case <-w.bell:
			case <-news.after(head):
				news.head = -1 // it may have been too early: wait anew
				stored = true
			}
		}
	}
}

// news tells of events that other processes stored.
type news struct {
	ctx   context.Context
	quit  context.CancelFunc
	store uzda.Waiter
	id    uzda.SessionID
	head  uzda.Seq // that is waited after; -1: nothing is
	found chan struct{}
	work  sync.WaitGroup
}

func newNews(ctx context.Context, store uzda.Store, id uzda.SessionID, every time.Duration) *news {
	n := &news{ctx: ctx, quit: func() {}, store: look(every), id: id, head: -1}
	if w, ok := store.(uzda.Waiter); ok {
		n.store = w
	}
	return n
}

// look waits by looking from time to time.
type look time.Duration

func (l look) Wait(ctx context.Context, _ uzda.SessionID, _ uzda.Seq) error {
	t := time.NewTimer(time.Duration(l))
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// after returns a channel that is closed once there may be an event after head.
// A wait goes on as long as the head stays, so that deltas cost nothing.
func (n *news) after(head uzda.Seq) <-chan struct{} {
	if n.head == head {
		return n.found
	}
	n.quit()
	var ctx context.Context
	ctx, n.quit = context.WithCancel(n.ctx)
	found := make(chan struct{})
	n.head, n.found = head, found
	n.work.Go(func() {
		err := n.store.Wait(ctx, n.id, head)
		if err != nil && ctx.Err() == nil { // reading will say what is wrong
			err = look(time.Second).Wait(ctx, n.id, head)
		}
		if err == nil {
			close(found)
		}
	})
	return found
}

func (n *news) stop() {
	n.quit()
	n.work.Wait()
}

// replay yields what the journal has after a number, and says how far it came
// and whether to go on.
func (h *Host) replay(ctx context.Context, id uzda.SessionID, after uzda.Seq, yield func(uzda.Event, error) bool) (uzda.Seq, bool) {
	for e, err := range h.c.Store.Read(ctx, id, after) {
		if ctx.Err() != nil {
			return after, false
		}
		if err != nil {
			yield(e, fmt.Errorf("watch session %s: %w", id, err))
			return after, false
		}
		after = e.Seq
		if !yield(e, nil) {
			return after, false
		}
	}
	return after, true
}

func (h *Host) follow(id uzda.SessionID) *watcher {
	w := &watcher{bell: make(chan struct{}, 1)}
	h.mu.Lock()
	defer h.mu.Unlock()
	l := h.of(id)
	l.watchers = append(slices.Clip(l.watchers), w)
	h.watching.Add(1)
	return w
}

func (h *Host) unfollow(id uzda.SessionID, w *watcher) {
	h.watching.Add(-1)
	h.mu.Lock()
	defer h.mu.Unlock()
	l := h.live[id]
	if l == nil {
		return
	}
	l.watchers = slices.DeleteFunc(slices.Clone(l.watchers), func(o *watcher) bool { return o == w })
	h.forget(id, l)
}
