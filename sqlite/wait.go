package sqlite

import (
	"context"
	"database/sql/driver"
	"sync"
	"time"

	"github.com/uzda-dev/uzda"
)

const (
	sqlLastEvent = `SELECT max(id) FROM event`
	// The plus keeps SQLite from reading all of the tenant's events by their index.
	sqlNewEvents = `SELECT id, session, seq FROM event WHERE id > ? AND +tenant = ? ORDER BY id`
	sqlHead      = `SELECT head FROM session WHERE tenant = ? AND session = ?`
	sqlAnyChange = `PRAGMA data_version`
	lookEvery    = 100 * time.Millisecond // for what other processes append
)

// watcher tells who waits of new events: at once of those of this handle, and
// by one look for all at those of other processes.
type watcher struct {
	db *DB

	mu      sync.Mutex
	waiting map[uzda.SessionID]map[*waiter]struct{}
	began   bool
	closed  bool
	some    chan struct{} // has room for one: somebody waits
	over    chan struct{}
	ended   chan struct{}
}

type waiter struct {
	after uzda.Seq
	news  chan struct{} // closed when there are some, or err
	err   error
}

func newWatcher(db *DB) *watcher {
	return &watcher{
		db: db, waiting: map[uzda.SessionID]map[*waiter]struct{}{},
		some: make(chan struct{}, 1), over: make(chan struct{}), ended: make(chan struct{}),
	}
}

// Wait returns nil as soon as the session has an event after a number. Events of
// other processes are seen within about 100 ms.
func (db *DB) Wait(ctx context.Context, id uzda.SessionID, after uzda.Seq) error {
	if err := id.Check(); err != nil {
		return badArgument{err}
	}
	doing := "wait for session " + string(id) + " in"
	if err := db.watcher.begin(ctx); err != nil {
		return db.fault(doing, err)
	}
	w, err := db.watcher.add(id, after)
	if err != nil {
		return db.fault(doing, err)
	}
	defer db.watcher.drop(id, w)
	var head uzda.Seq
	err = db.read(ctx, func(c *conn) error {
		row, err := c.one(sqlHead, db.o.Tenant, string(id))
		if row != nil {
			head = uzda.Seq(num(row[0]))
		}
		return err
	})
	if err != nil || head > after {
		return db.fault(doing, err)
	}
	select {
	case <-w.news:
		return db.fault(doing, w.err)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// begin starts the looking, before the first look at a head, so that nothing
// falls between the two.
func (w *watcher) begin(ctx context.Context) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.began || w.closed || w.db.path == Memory {
		return nil
	}
	c, err := dial(w.db.path, "rw", w.db.readPragmas()...)
	if err != nil {
		return err
	}
	var last int64
	if err := patiently(ctx, func() error {
		row, err := c.one(sqlLastEvent)
		if row != nil {
			last = num(row[0])
		}
		return err
	}); err != nil {
		_ = c.close()
		return err
	}
	w.began = true
	go w.loop(c, last)
	return nil
}

// loop looks for events as long as somebody waits. last is the row up to which
// all is known, which stays true while nobody does.
func (w *watcher) loop(c *conn, last int64) {
	defer close(w.ended)
	defer func() { _ = c.close() }()
	version := int64(-1)
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		select {
		case <-w.over:
			return
		case <-w.some:
		}
		for w.wanted() {
			select {
			case <-w.over:
				return
			case <-tick.C:
			}
			if err := w.look(c, &version, &last); err != nil && !isBusy(err) {
				w.fail(err)
			}
		}
	}
}

// look tells of the events after the last row, if anything has changed at all.
func (w *watcher) look(c *conn, version, last *int64) error {
	row, err := c.one(sqlAnyChange)
	if err != nil || num(row[0]) == *version {
		return err
	}
	now := num(row[0])
	heads := map[uzda.SessionID]uzda.Seq{}
	err = c.each(sqlNewEvents, []any{*last, w.db.o.Tenant}, func(row []driver.Value) error {
		*last = num(row[0])
		heads[uzda.SessionID(text(row[1]))] = uzda.Seq(num(row[2]))
		return nil
	})
	if err != nil {
		return err
	}
	*version = now
	for id, head := range heads {
		w.tell(id, head)
	}
	return nil
}

// tell wakes who waits for a session to pass a number.
func (w *watcher) tell(id uzda.SessionID, head uzda.Seq) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for one := range w.waiting[id] {
		if one.after < head {
			w.wake(id, one, nil)
		}
	}
}

// fail ends all waits with an error.
func (w *watcher) fail(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for id, all := range w.waiting {
		for one := range all {
			w.wake(id, one, err)
		}
	}
}

func (w *watcher) wake(id uzda.SessionID, one *waiter, err error) {
	one.err = err
	close(one.news)
	w.remove(id, one)
}

func (w *watcher) remove(id uzda.SessionID, one *waiter) {
	delete(w.waiting[id], one)
	if len(w.waiting[id]) == 0 {
		delete(w.waiting, id)
	}
}

func (w *watcher) add(id uzda.SessionID, after uzda.Seq) (*waiter, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return nil, errClosed
	}
	one := &waiter{after: after, news: make(chan struct{})}
	if w.waiting[id] == nil {
		w.waiting[id] = map[*waiter]struct{}{}
	}
	w.waiting[id][one] = struct{}{}
	select {
	case w.some <- struct{}{}:
	default:
	}
	return one, nil
}

func (w *watcher) drop(id uzda.SessionID, one *waiter) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.remove(id, one)
}

func (w *watcher) wanted() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.waiting) > 0
}

// close ends the looking and all waits.
func (w *watcher) close() {
	w.mu.Lock()
	if w.closed {
		w.mu.Unlock()
		return
	}
	w.closed = true
	began := w.began
	w.mu.Unlock()
	close(w.over)
	w.fail(errClosed)
	if began {
		<-w.ended
	}
}
