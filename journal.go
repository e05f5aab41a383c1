package uzda

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"
	"time"
)

var (
	// ErrConflict: the head has moved. Nothing was written.
	ErrConflict = errors.New("the head of the journal has moved")
	// ErrFenced: the epoch is not the current one. Nothing was written.
	ErrFenced = errors.New("another runner has taken over the session")
	// ErrNotFound: there is no such session, blob or event.
	ErrNotFound = errors.New("not found")
	// ErrTooLarge: one string of an event is over [MaxString].
	ErrTooLarge = errors.New("too large for the journal")
	// ErrStorage: the store itself cannot be read or written: a full disk, a file
	// that is read-only or corrupt, another program's lock. Stores wrap it beside
	// the cause.
	ErrStorage = errors.New("storage error")
)

const (
	// AnyHead is a head that always matches.
	AnyHead Seq = -1
	// SomeHead matches where the session has events: what is posted to one that was
	// removed meanwhile must not begin it anew.
	SomeHead Seq = -2
)

// At says where to append: after Head exactly, at AnyHead or at SomeHead, as the
// holder of Epoch or, with 0, as anyone. What it reserves, settles and claims counts with
// the append or not at all.
type At struct {
	Head    Seq
	Epoch   int64
	Reserve []Hold
	Settle  []Settlement
	Claim   []Claim
}

// Fits says whether an append at a may follow head: nil, ErrConflict, or at SomeHead
// ErrNotFound.
func (a At) Fits(head Seq) error {
	switch {
	case a.Head == AnyHead, a.Head == SomeHead && head > 0, a.Head == head:
		return nil
	case a.Head == SomeHead:
		return fmt.Errorf("it has no events, it may have been removed: %w", ErrNotFound)
	}
	return fmt.Errorf("after %d, its head is %d: %w", a.Head, head, ErrConflict)
}

// A Claim takes a once-key for a use. It fails with *Taken if another use has
// the key, unless that is the use named by Over.
type Claim struct {
	Key  string `json:"key"`
	By   Holder `json:"by"`
	Over Holder `json:"over,omitzero"`
}

// A Holder is the use that has a once-key.
type Holder struct {
	Session SessionID `json:"session"`
	Use     UseID     `json:"use"`
}

// Taken says who has a once-key. Nothing was written.
type Taken struct {
	Key string
	By  Holder
}

func (t *Taken) Error() string {
	return fmt.Sprintf("the once-key %s is taken by use %s of session %s", t.Key, t.By.Use, t.By.Session)
}

// A Journal is the append-only record of sessions; safe for concurrent use,
// also by several processes. A handle is bound to one tenant when it is opened.
type Journal interface {
	// Append stores bodies as one and returns the events. Decisions go after an
	// exact head, outcomes at any; a stale epoch gets ErrFenced, a moved head
	// ErrConflict (see [At.Fits]). Epoch 0 is anyone and may append inbox kinds only. After an
	// error nothing was written; a crash may leave a prefix. An inbox body whose
	// id the session already has is not stored: its first event is returned.
	// The events are as Read gives them; the caller no longer changes the bodies.
	Append(ctx context.Context, id SessionID, at At, bodies ...Body) ([]Event, error)
	// Read yields the events after a number, oldest first, and then ends. A
	// session that does not exist has no events.
	Read(ctx context.Context, id SessionID, after Seq) iter.Seq2[Event, error]
}

// Allowed checks what every journal must: the id is well formed, decisions name
// an exact head, and only a holder writes what is not inbox. Journals call it first.
func Allowed(id SessionID, at At, bodies []Body) error {
	if err := id.Check(); err != nil {
		return err
	}
	if len(bodies) == 0 {
		return fmt.Errorf("append to session %s: no bodies", id)
	}
	for _, b := range bodies {
		switch c := ClassOf(b); {
		case c == ClassTransient:
			return fmt.Errorf("append %s to session %s: this kind is never stored", b.Kind(), id)
		case c == ClassDecision && at.Head < 0:
			return fmt.Errorf("append %s to session %s: a decision needs an exact head", b.Kind(), id)
		case c != ClassInbox && at.Epoch == 0:
			return fmt.Errorf("append %s to session %s: only the holder of the lease may", b.Kind(), id)
		}
	}
	return nil
}

// Check says what is wrong with a session's id. An id is also a file name.
func (id SessionID) Check() error {
	good := len(id) > 0 && len(id) <= 191
	for i := 0; good && i < len(id); i++ {
		c := id[i]
		letter := c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9'
		good = letter || i > 0 && (c == '.' || c == '_' || c == '-')
	}
	if !good {
		return fmt.Errorf("session id %q: want letters, digits, '.', '_' and '-', at most 191, beginning with a letter or digit", string(id))
	}
	return nil
}

// Folder is the id as the name of a folder, whatever the file system makes of case
// and length: an id that is no plain lower-case name is written with its hash, so
// that two ids never share one.
func (id SessionID) Folder() string {
	const longest = 80
	plain := strings.Map(func(c rune) rune {
		if c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '-' || c == '_' {
			return c
		}
		return '_'
	}, string(id))
	if id.Device() {
		plain += "_"
	}
	if plain != string(id) || len(plain) > longest || plain == "" {
		plain = Before(plain, longest) + "." + Hash([]byte(id))[:16]
	}
	return plain
}

// Device says whether Windows takes a file whose name begins as the id, up to a dot,
// for a device.
func (id SessionID) Device() bool {
	stem, _, _ := strings.Cut(strings.ToLower(string(id)), ".")
	switch stem {
	case "con", "prn", "aux", "nul":
		return true
	}
	port, numbered := strings.CutPrefix(stem, "com")
	if !numbered {
		port, numbered = strings.CutPrefix(stem, "lpt")
	}
	return numbered && len(port) == 1 && port[0] >= '0' && port[0] <= '9'
}

// A Leaser gives one runner at a time a session. On one machine a lease ends
// with its process; everywhere it ends when it was not renewed for its time.
type Leaser interface {
	// Acquire begins a higher epoch; a session that is held gives *Busy.
	Acquire(ctx context.Context, id SessionID, holder string) (epoch int64, err error)
	// Renew prolongs the lease; ErrFenced if it is no longer ours.
	Renew(ctx context.Context, id SessionID, epoch int64) error
	// Release ends the lease; without effect if it is no longer ours.
	Release(ctx context.Context, id SessionID, epoch int64) error
}

// Busy says who holds a session, and since when.
type Busy struct {
	Session SessionID
	Holder  string
	Since   time.Time
}

func (b *Busy) Error() string {
	return fmt.Sprintf("session %s is held by %s since %s", b.Session, b.Holder, b.Since.Format(time.RFC3339))
}

// A Store is what sessions run on. A store may also be a [Ledger], [Blobs], a
// [Keeper], [Resident], a [Lister], a [Rebuilder], a [Verifier], a [Waiter], a
// [Remover], a [Sizer], a [Shrinker] and an io.Closer.
type Store interface {
	Journal
	Leaser
}

// Blobs are large byte strings by their SHA-256 in hex. Putting one twice stores
// it once. A blob is durable when Put returns.
type Blobs interface {
	Put(ctx context.Context, data []byte) (hash string, err error)
	// Get returns n bytes from off on, fewer at the end, all with n < 0;
	// ErrNotFound if there is no such blob.
	Get(ctx context.Context, hash string, off, n int64) ([]byte, error)
}

// A Keeper keeps one checkpoint a session. It is a cache: losing it loses nothing.
type Keeper interface {
	Keep(ctx context.Context, id SessionID, data []byte) error
	Kept(ctx context.Context, id SessionID) ([]byte, error) // nil if there is none
}

// A Resident store has its events in memory as they are folded: to read them
// costs less than a checkpoint, so that none is made.
type Resident interface{ Resident() }

// A Lister lists the sessions of a store, the last changed first.
type Lister interface {
	List(ctx context.Context) iter.Seq2[SessionInfo, error]
}

// A Rebuilder makes a store's indexes again from its journals, and says how
// many sessions it read.
type Rebuilder interface {
	Rebuild(ctx context.Context) (int, error)
}

// A Verifier of a store walks its journals: sums and chains. It calls report
// for each fault.
type Verifier interface {
	Verify(ctx context.Context, report func(id SessionID, seq Seq, err error)) error
}

// A Waiter tells when a session has news, so that who follows it need not poll.
type Waiter interface {
	// Wait returns nil as soon as the session has an event after a number, and
	// the error of ctx when that ends first. It may return nil too early: the
	// caller reads, and waits again where nothing came. A session that does not
	// exist has no events yet.
	Wait(ctx context.Context, id SessionID, after Seq) error
}

// SessionInfo is a session's line in a list: an index that [SessionInfo.Note]
// makes from its events, and can make again.
type SessionInfo struct {
	ID      SessionID `json:"session"`
	Agent   string    `json:"agent,omitempty"`
	Model   string    `json:"model,omitempty"`
	Parent  SessionID `json:"parent,omitempty"`
	Title   string    `json:"title,omitempty"` // the beginning of the first message
	Status  string    `json:"status"`          // open, ready, running, waiting, done, failed, stopped or cancelled
	Reason  Reason    `json:"reason,omitempty"`
	Head    Seq       `json:"head"`
	Created time.Time `json:"created"`
	Updated time.Time `json:"updated"`
	Steps   int       `json:"steps"`
	Tokens  int       `json:"tokens"`
	Cost    Money     `json:"cost_usd"`
	// Size is what its events take and the blobs that they name, in bytes; those that
	// sessions share count in each. A store adds it up (see [Line.Size]); 0: it does not.
	Size int64 `json:"bytes,omitempty"`
}

// Note takes an event into the index.
func (s *SessionInfo) Note(e Event) {
	if s.Created.IsZero() {
		s.Created, s.Status = e.At, "open"
	}
	s.Head, s.Updated = e.Seq, e.At
	switch b := e.Body.(type) {
	case Opened:
		s.Agent, s.Parent = b.Agent, b.Parent
	case Equipped:
		s.Model = b.Model.ID
	case Posted:
		if s.Title == "" {
			s.Title = Clip(oneLine(cmp.Or(b.Blocks.Words(), b.Blocks.String())), 80)
		}
		if s.Status != "running" && s.Status != "waiting" {
			s.Status, s.Reason = "ready", ""
		}
	case Answered, Delivered, Cancelled: // a runner has something to look at
		if s.Status == Waiting {
			s.Status, s.Reason = "ready", ""
		}
	case Asked:
		s.Status, s.Reason, s.Steps = "running", "", s.Steps+1
	case Started:
		s.Status, s.Reason = "running", ""
	case Said:
		s.Tokens, s.Cost = s.Tokens+b.Usage.Total(), s.Cost+b.Cost
	case Broken:
		s.Tokens, s.Cost = s.Tokens+b.Usage.Total(), s.Cost+b.Cost
	case Used:
		s.Tokens, s.Cost = s.Tokens+b.Usage.Total(), s.Cost+b.Cost
	case Verified:
		s.Tokens, s.Cost = s.Tokens+b.Usage.Total(), s.Cost+b.Cost
	case Parked:
		s.Status, s.Reason = Waiting, b.On
	case Ended:
		s.Status, s.Reason = b.Reason.Outcome(), b.Reason
	}
}

// CloseStore closes s if it can be closed.
func CloseStore(s Journal) error {
	if c, ok := s.(io.Closer); ok {
		return c.Close()
	}
	return nil
}
