package journal

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"sync"
	"time"

	"github.com/uzda-dev/uzda"
)

// TTL is how long a lease lasts that is not renewed.
const TTL = 15 * time.Second

// Mem keeps sessions in memory, for one process: tests, examples, runs that
// nobody resumes. It keeps the bodies that it is given, and every reader gets
// the same ones: nobody may change them. The zero value is ready.
type Mem struct {
	TTL time.Duration    // of a lease; default 15 seconds
	Now func() time.Time // default time.Now

	mu       sync.Mutex // of all but what is inside a session
	sessions map[uzda.SessionID]*memory
	blobs    map[string]memBlob
	book     *book
}

// Memory returns an empty store in memory.
func Memory() *Mem { return &Mem{} }

var (
	_ uzda.Store     = (*Mem)(nil)
	_ uzda.Ledger    = (*Mem)(nil)
	_ uzda.Blobs     = (*Mem)(nil)
	_ uzda.Keeper    = (*Mem)(nil)
	_ uzda.Resident  = (*Mem)(nil)
	_ uzda.Lister    = (*Mem)(nil)
	_ uzda.Rebuilder = (*Mem)(nil)
	_ uzda.Verifier  = (*Mem)(nil)
	_ uzda.Waiter    = (*Mem)(nil)
	_ uzda.Remover   = (*Mem)(nil)
)

type memBlob struct {
	data []byte
	put  time.Time
}

// memory is a session in memory.
type memory struct {
	mu     sync.Mutex
	events []uzda.Event // only grows: what readers hold of it stays as it is
	link   string       // of the last event
	line   uzda.Line    // room for the next
	sealed int64        // bytes of the last append
	ids    map[string]uzda.Seq
	info   uzda.SessionInfo
	kept   []byte
	news   chan struct{} // closed by the next append; nil while nobody waits
	epoch  int64
	holder string
	since  time.Time
	until  time.Time
}

// session returns a session, which with create is made if there is none.
func (m *Mem) session(id uzda.SessionID, create bool) *memory {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.sessions[id]
	if s == nil && create {
		if m.sessions == nil {
			m.sessions = map[uzda.SessionID]*memory{}
		}
		s = &memory{info: uzda.SessionInfo{ID: id}}
		m.sessions[id] = s
	}
	return s
}

// Resident implements uzda.Resident.
func (m *Mem) Resident() {}

func (m *Mem) now() time.Time {
	if m.Now != nil {
		return m.Now()
	}
	return time.Now()
}

func (m *Mem) ttl() time.Duration {
	if m.TTL > 0 {
		return m.TTL
	}
	return TTL
}

// Append implements uzda.Journal.
func (m *Mem) Append(ctx context.Context, id uzda.SessionID, at uzda.At, bodies ...uzda.Body) ([]uzda.Event, error) {
	if err := uzda.Allowed(id, at, bodies); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("append to session %s: %w", id, err)
	}
	s := m.session(id, true)
	s.mu.Lock()
	defer s.mu.Unlock()
	if at.Epoch != 0 && at.Epoch != s.epoch {
		return nil, fmt.Errorf("append to session %s: %w", id, uzda.ErrFenced)
	}
	if err := at.Fits(uzda.Seq(len(s.events))); err != nil {
		return nil, fmt.Errorf("append to session %s: %w", id, err)
	}
	old := len(s.events)
	link := s.link
	undo := func() {
		for _, e := range s.events[old:] {
			delete(s.ids, uzda.InputID(e.Body))
		}
		clear(s.events[old:])
		s.events, s.link = s.events[:old], link
	}
	repeats, err := s.seal(m, at.Epoch, bodies)
	if err == nil {
		err = m.count(entry{Reserve: at.Reserve, Settle: at.Settle, Claim: at.Claim})
	}
	if err != nil {
		undo()
		return nil, fmt.Errorf("append to session %s: %w", id, err)
	}
	for _, e := range s.events[old:] {
		s.info.Note(e)
	}
	s.info.Size += s.sealed
	if s.news != nil && len(s.events) > old {
		close(s.news)
		s.news = nil
	}
	if repeats == nil {
		return s.events[old:len(s.events):len(s.events)], nil
	}
	return repeats, nil
}

// seal adds bodies at the end. Where an input repeats, it returns what Append
// returns: the first event in its place.
func (s *memory) seal(m *Mem, epoch int64, bodies []uzda.Body) (repeats []uzda.Event, err error) {
	now := m.now()
	s.sealed = 0
	for i, b := range bodies {
		input := uzda.InputID(b)
		if seq, ok := s.ids[input]; ok && input != "" {
			if repeats == nil {
				repeats = append(make([]uzda.Event, 0, len(bodies)), s.events[len(s.events)-i:]...)
			}
			repeats = append(repeats, s.events[seq-1])
			continue
		}
		e := uzda.Event{Seq: uzda.Seq(len(s.events) + 1), At: now, By: epoch, Prev: s.link, Body: b}
		if err := s.line.Seal(&e, m.put); err != nil {
			return nil, err
		}
		s.sealed += s.line.Size()
		if s.events, s.link = append(s.events, e), s.line.Link; cap(s.line.Body) > uzda.LongString {
			s.line.Body = nil
		}
		if repeats != nil {
			repeats = append(repeats, e)
		}
		if input != "" {
			if s.ids == nil {
				s.ids = map[string]uzda.Seq{}
			}
			s.ids[input] = e.Seq
		}
	}
	return repeats, nil
}

func (m *Mem) count(e entry) error {
	if e.empty() {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	_, err := m.ledger().apply(e)
	return err
}

// ledger returns the book; the caller holds m.mu.
func (m *Mem) ledger() *book {
	if m.book == nil {
		m.book = newBook()
	}
	return m.book
}

// Read implements uzda.Journal.
func (m *Mem) Read(ctx context.Context, id uzda.SessionID, after uzda.Seq) iter.Seq2[uzda.Event, error] {
	return func(yield func(uzda.Event, error) bool) {
		for _, e := range m.events(id, after) {
			if err := ctx.Err(); err != nil {
				yield(uzda.Event{}, fmt.Errorf("read session %s: %w", id, err))
				return
			}
			if !yield(e, nil) {
				return
			}
		}
	}
}

func (m *Mem) events(id uzda.SessionID, after uzda.Seq) []uzda.Event {
	s := m.session(id, false)
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.events[min(max(int(after), 0), len(s.events)):]
}

// Wait implements uzda.Waiter.
func (m *Mem) Wait(ctx context.Context, id uzda.SessionID, after uzda.Seq) error {
	if err := id.Check(); err != nil {
		return err
	}
	s := m.session(id, true)
	for {
		s.mu.Lock()
		if len(s.events) > int(after) {
			s.mu.Unlock()
			return nil
		}
		if s.news == nil {
			s.news = make(chan struct{})
		}
		news := s.news
		s.mu.Unlock()
		select {
		case <-news:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Acquire implements uzda.Leaser.
func (m *Mem) Acquire(_ context.Context, id uzda.SessionID, holder string) (int64, error) {
	if err := id.Check(); err != nil {
		return 0, err
	}
	now := m.now()
	s := m.session(id, true)
	s.mu.Lock()
	defer s.mu.Unlock()
	if now.Before(s.until) {
		return 0, &uzda.Busy{Session: id, Holder: s.holder, Since: s.since}
	}
	s.epoch, s.holder, s.since, s.until = s.epoch+1, holder, now, now.Add(m.ttl())
	return s.epoch, nil
}

// Renew implements uzda.Leaser.
func (m *Mem) Renew(_ context.Context, id uzda.SessionID, epoch int64) error {
	s := m.session(id, false)
	if s == nil {
		return fmt.Errorf("renew the lease of session %s: %w", id, uzda.ErrFenced)
	}
	until := m.now().Add(m.ttl())
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.epoch != epoch || s.until.IsZero() {
		return fmt.Errorf("renew the lease of session %s: %w", id, uzda.ErrFenced)
	}
	s.until = until
	return nil
}

// Release implements uzda.Leaser.
func (m *Mem) Release(_ context.Context, id uzda.SessionID, epoch int64) error {
	s := m.session(id, false)
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.epoch == epoch {
		s.until = time.Time{}
	}
	return nil
}

// Reserve implements uzda.Ledger.
func (m *Mem) Reserve(_ context.Context, h uzda.Hold) error {
	return m.count(entry{Reserve: []uzda.Hold{h}})
}

// Settle implements uzda.Ledger.
func (m *Mem) Settle(_ context.Context, s uzda.Settlement) error {
	return m.count(entry{Settle: []uzda.Settlement{s}})
}

// Spent implements uzda.Ledger.
func (m *Mem) Spent(_ context.Context, account string) (settled, held uzda.Money, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	settled, held = m.ledger().spent(account)
	return settled, held, nil
}

// Put implements uzda.Blobs.
func (m *Mem) Put(_ context.Context, data []byte) (string, error) { return m.put(data) }

func (m *Mem) put(data []byte) (string, error) {
	hash := uzda.Hash(data)
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.blobs == nil {
		m.blobs = map[string]memBlob{}
	}
	b, ok := m.blobs[hash]
	if !ok {
		b.data = bytes.Clone(data)
	}
	b.put = m.now()
	m.blobs[hash] = b
	return hash, nil
}

// Get implements uzda.Blobs.
func (m *Mem) Get(_ context.Context, hash string, off, n int64) ([]byte, error) {
	m.mu.Lock()
	b, ok := m.blobs[hash]
	m.mu.Unlock()
	data := b.data
	if !ok {
		return nil, fmt.Errorf("blob %.12s: %w", hash, uzda.ErrNotFound)
	}
	data = data[min(max(off, 0), int64(len(data))):]
	if n >= 0 {
		data = data[:min(n, int64(len(data)))]
	}
	return bytes.Clone(data), nil
}

// Keep implements uzda.Keeper.
func (m *Mem) Keep(_ context.Context, id uzda.SessionID, data []byte) error {
	if err := id.Check(); err != nil {
		return err
	}
	s := m.session(id, true)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kept = bytes.Clone(data)
	return nil
}

// Kept implements uzda.Keeper.
func (m *Mem) Kept(_ context.Context, id uzda.SessionID) ([]byte, error) {
	s := m.session(id, false)
	if s == nil {
		return nil, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return bytes.Clone(s.kept), nil
}

// List implements uzda.Lister.
func (m *Mem) List(context.Context) iter.Seq2[uzda.SessionInfo, error] {
	return func(yield func(uzda.SessionInfo, error) bool) {
		var all []uzda.SessionInfo
		for _, s := range m.all() {
			s.mu.Lock()
			if s.info.Head > 0 {
				all = append(all, s.info)
			}
			s.mu.Unlock()
		}
		lastFirst(all)
		for _, info := range all {
			if !yield(info, nil) {
				return
			}
		}
	}
}

func (m *Mem) all() []*memory {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := make([]*memory, 0, len(m.sessions))
	for _, s := range m.sessions {
		out = append(out, s)
	}
	return out
}

// lastFirst sorts by the last change, and by id where that is the same.
func lastFirst(all []uzda.SessionInfo) {
	slices.SortFunc(all, func(a, b uzda.SessionInfo) int {
		if c := b.Updated.Compare(a.Updated); c != 0 {
			return c
		}
		return cmp.Compare(a.ID, b.ID)
	})
}

// Rebuild implements uzda.Rebuilder.
func (m *Mem) Rebuild(context.Context) (int, error) {
	n := 0
	for _, s := range m.all() {
		s.mu.Lock()
		info := uzda.SessionInfo{ID: s.info.ID, Size: s.info.Size}
		for _, e := range s.events {
			info.Note(e)
		}
		s.info = info
		if len(s.events) > 0 {
			n++
		}
		s.mu.Unlock()
	}
	return n, nil
}

// Verify implements uzda.Verifier. What it finds is a body that somebody changed
// after it was appended.
func (m *Mem) Verify(ctx context.Context, report func(uzda.SessionID, uzda.Seq, error)) error {
	for _, s := range m.all() {
		if err := ctx.Err(); err != nil {
			return err
		}
		id, link := s.name(), ""
		for _, e := range m.events(id, 0) {
			again := e
			line, err := uzda.Seal(&again, func(data []byte) (string, error) { return uzda.Hash(data), nil })
			switch {
			case err != nil:
				report(id, e.Seq, err)
			case again.Sum != e.Sum:
				report(id, e.Seq, fmt.Errorf("the body of event %d (%s) was changed after it was appended", e.Seq, e.Body.Kind()))
			case e.Prev != link:
				report(id, e.Seq, fmt.Errorf("event %d does not follow the one before", e.Seq))
			}
			link = line.Link
		}
	}
	return nil
}
