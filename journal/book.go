package journal

import (
	"fmt"
	"maps"

	"github.com/uzda-dev/uzda"
)

// book is a ledger and the once-keys, in memory. Its caller locks it.
type book struct {
	accounts map[string]*account
	open     map[string]uzda.Hold
	closed   map[string]struct{} // ids of settled holds: only the first settlement counts
	keys     map[string]uzda.Holder
}

type account struct{ settled, held uzda.Money }

func newBook() *book {
	return &book{map[string]*account{}, map[string]uzda.Hold{}, map[string]struct{}{}, map[string]uzda.Holder{}}
}

// entry is one change of a book, and a line of ledger.jsonl.
type entry struct {
	Reserve []uzda.Hold       `json:"reserve,omitempty"`
	Settle  []uzda.Settlement `json:"settle,omitempty"`
	Claim   []uzda.Claim      `json:"claim,omitempty"`
	Drop    []uzda.SessionID  `json:"drop,omitempty"` // sessions that were removed
}

func (e entry) empty() bool { return len(e.Reserve)+len(e.Settle)+len(e.Claim)+len(e.Drop) == 0 }

// apply makes all of an entry's changes or none; only a drop, which stands alone
// in its entry, is not taken back. Settlements come first: what
// they free is there for what is reserved. It returns how to take them back.
func (b *book) apply(e entry) (undo func(), err error) {
	for _, id := range e.Drop {
		b.drop(id)
	}
	var done []func()
	undo = func() {
		for i := len(done) - 1; i >= 0; i-- {
			done[i]()
		}
	}
	for _, c := range e.Claim {
		back, err := b.claim(c)
		if err != nil {
			undo()
			return nil, err
		}
		done = append(done, back)
	}
	for _, s := range e.Settle {
		back, err := b.settle(s)
		if err != nil {
			undo()
			return nil, err
		}
		done = append(done, back)
	}
	for _, h := range e.Reserve {
		back, err := b.reserve(h)
		if err != nil {
			undo()
			return nil, err
		}
		done = append(done, back)
	}
	return undo, nil
}

func (b *book) claim(c uzda.Claim) (undo func(), err error) {
	by, taken := b.keys[c.Key]
	if taken && by != c.By && by != c.Over {
		return nil, &uzda.Taken{Key: c.Key, By: by}
	}
	b.keys[c.Key] = c.By
	return func() {
		if delete(b.keys, c.Key); taken {
			b.keys[c.Key] = by
		}
	}, nil
}

func (b *book) settle(s uzda.Settlement) (undo func(), err error) {
	h, ok := b.open[s.ID]
	if !ok {
		if _, before := b.closed[s.ID]; before {
			return func() {}, nil
		}
		return nil, fmt.Errorf("settle %s: there is no such hold: %w", s.ID, uzda.ErrNotFound)
	}
	b.move(h, s.Spent, -h.Amount)
	delete(b.open, s.ID)
	b.closed[s.ID] = struct{}{}
	return func() {
		b.move(h, -s.Spent, h.Amount)
		delete(b.closed, s.ID)
		b.open[s.ID] = h
	}, nil
}

// reserve holds h. One with the id of a hold that is open takes its place: a
// crash between a hold and its event leaves it, and the same ask comes again.
func (b *book) reserve(h uzda.Hold) (undo func(), err error) {
	if h.ID == "" || h.Amount < 0 {
		return nil, fmt.Errorf("reserve %q: a hold needs an id and an amount that is not negative", h.ID)
	}
	if _, closed := b.closed[h.ID]; closed {
		return nil, fmt.Errorf("reserve %s: the hold with this id is settled already", h.ID)
	}
	old, again := b.open[h.ID]
	if again {
		b.move(old, 0, -old.Amount)
	}
	back := func() {
		if delete(b.open, h.ID); again {
			b.move(old, 0, old.Amount)
			b.open[h.ID] = old
		}
	}
	for _, a := range h.Accounts {
		at := b.account(a.Name)
		if a.Limit > 0 && at.settled+at.held+h.Amount > a.Limit {
			back()
			return nil, &uzda.OverBudget{Account: a, Settled: at.settled, Held: at.held, Want: h.Amount}
		}
	}
	b.move(h, 0, h.Amount)
	b.open[h.ID] = h
	return func() { b.move(h, 0, -h.Amount); back() }, nil
}

// drop forgets what a session alone has. What it held of others' accounts stays
// held there, as that of an ask that was lost.
func (b *book) drop(id uzda.SessionID) {
	for key, by := range b.keys { // nobody's: a session of the same id does not take them for its own
		if by.Session == id {
			b.keys[key] = uzda.Holder{Use: by.Use}
		}
	}
	own := func(name string) bool { return id.Owns(name) }
	maps.DeleteFunc(b.accounts, func(name string, _ *account) bool { return own(name) })
	maps.DeleteFunc(b.open, func(name string, _ uzda.Hold) bool { return own(name) })
	maps.DeleteFunc(b.closed, func(name string, _ struct{}) bool { return own(name) })
}

func (b *book) move(h uzda.Hold, settled, held uzda.Money) {
	for _, a := range h.Accounts {
		at := b.account(a.Name)
		at.settled += settled
		at.held += held
	}
}

func (b *book) account(name string) *account {
	at := b.accounts[name]
	if at == nil {
		at = &account{}
		b.accounts[name] = at
	}
	return at
}

func (b *book) spent(name string) (settled, held uzda.Money) {
	if at := b.accounts[name]; at != nil {
		return at.settled, at.held
	}
	return 0, 0
}
