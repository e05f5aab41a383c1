package journaltest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/uzda-dev/uzda"
)

// kid is a session that one began, and grandkid one that kid began.
const (
	kid      = uzda.SessionID("one-2.0")
	grandkid = uzda.SessionID("one-2.0-5.1")
)

var removeTests = map[string]func(*suite){
	"a session goes with what it began": func(s *suite) {
		a, b := s.open(), s.open()
		r := optional[uzda.Remover](s, b)
		epoch := s.tree(a)
		s.add(a, two, uzda.At{}, say("p", "I stay"))
		kept, _ := a.(uzda.Keeper)
		if kept != nil {
			s.must(kept.Keep(ctx, one, []byte("checkpoint")))
		}
		gone, err := r.Remove(ctx, one, epoch, nil)
		s.must(err)
		if len(gone) != 3 || gone[0] != one || !slices.Contains(gone, kid) || !slices.Contains(gone, grandkid) {
			s.Errorf("removed %v", gone)
		}
		for _, st := range []uzda.Store{a, b, s.open()} {
			for _, id := range []uzda.SessionID{one, kid, grandkid} {
				if n := len(s.read(st, id, 0)); n != 0 {
					s.Errorf("session %s has %d events", id, n)
				}
			}
			if n := len(s.read(st, two, 0)); n != 1 {
				s.Errorf("another session has %d events, want 1", n)
			}
			if _, ok := st.(uzda.Lister); ok {
				s.listed(st, two)
			}
			if kept != nil {
				if data, err := st.(uzda.Keeper).Kept(ctx, one); len(data) != 0 || err != nil {
					s.Errorf("checkpoint %q, %v", data, err)
				}
			}
		}
		if re, ok := a.(uzda.Rebuilder); ok { // which brings nothing back
			if n, err := re.Rebuild(ctx); n != 1 || err != nil {
				s.Errorf("rebuilt %d sessions, %v; want 1", n, err)
			}
		}
		s.sound(a)
	},
	"its id can be used again": func(s *suite) {
		a, b := s.open(), s.open()
		r := optional[uzda.Remover](s, a)
		epoch := s.hold(a, one)
		s.add(a, one, uzda.At{Epoch: epoch}, uzda.Opened{Format: 1, Agent: "first"})
		s.add(b, one, uzda.At{Head: uzda.AnyHead}, say("p", "before"), note("n"))
		_, err := r.Remove(ctx, one, epoch, nil)
		s.must(err)
		s.refuse(a, one, uzda.At{Epoch: epoch}, uzda.ErrFenced, asked(1))
		s.refuse(b, one, uzda.At{Head: uzda.AnyHead, Epoch: epoch}, uzda.ErrFenced, said("late"))
		if err := b.Renew(ctx, one, epoch); !errors.Is(err, uzda.ErrFenced) {
			s.Errorf("renew: %v, want ErrFenced", err)
		}
		next := s.hold(b, one)
		if next <= epoch {
			s.Errorf("epoch %d after %d", next, epoch)
		}
		s.refuse(a, one, uzda.At{Epoch: epoch}, uzda.ErrFenced, asked(1))
		// The input's id is new again, and nobody takes it for the old event.
		want := s.add(b, one, uzda.At{Head: uzda.AnyHead, Epoch: next}, say("p", "after, and longer than it was"))
		for _, st := range []uzda.Store{a, b, s.open()} {
			s.equal(s.read(st, one, 0), want)
			s.chained(s.read(st, one, 0))
		}
		s.add(a, one, uzda.At{Head: uzda.AnyHead}, note("n"))
		s.chained(s.read(b, one, 0))
		s.sound(b)
	},
	"what may not go": func(s *suite) {
		a, b := s.open(), s.open()
		r := optional[uzda.Remover](s, a)
		epoch := s.tree(a)
		for _, wrong := range []int64{0, epoch + 1, -1} {
			s.stays(r, one, wrong, uzda.ErrFenced)
		}
		s.stays(r, kid, s.hold(b, kid), uzda.ErrChild)
		var busy *uzda.Busy
		if _, err := r.Remove(ctx, one, epoch, nil); !errors.As(err, &busy) || busy.Session != kid || busy.Holder != "suite" {
			s.Errorf("remove what runs: %v, want *uzda.Busy of %s", err, kid)
		}
		s.stays(r, "none", s.hold(a, "none"), uzda.ErrNotFound)
		s.must(a.Release(ctx, one, epoch))
		s.stays(r, one, epoch, uzda.ErrFenced)
		if n := len(s.read(a, one, 0)) + len(s.read(a, kid, 0)) + len(s.read(a, grandkid, 0)); n != 6 {
			s.Errorf("%d events are left, want 6", n)
		}
	},
	// A message is before a removal, which then is none, or after it. case:S03
	"what comes meanwhile is not lost": func(s *suite) {
		a, b := s.open(), s.open()
		r := optional[uzda.Remover](s, a)
		epoch := s.tree(a)
		seen := map[uzda.SessionID]uzda.Seq{one: 2, kid: 2, grandkid: 2}
		refused := func() {
			s.Helper()
			if gone, err := r.Remove(ctx, one, epoch, seen); !errors.Is(err, uzda.ErrConflict) || len(gone) != 0 {
				s.Errorf("remove: %v, %v, want ErrConflict", gone, err)
			}
		}
		for _, id := range []uzda.SessionID{one, kid, grandkid} {
			s.add(b, id, uzda.At{Head: uzda.SomeHead}, say("late", "wait"))
			refused()
			seen[id] = 3
		}
		delete(seen, kid) // it was begun meanwhile
		refused()
		seen[kid] = 3
		_, err := r.Remove(ctx, one, epoch, seen)
		s.must(err)
		for _, st := range []uzda.Store{a, b} {
			for _, id := range []uzda.SessionID{one, kid, "never"} {
				s.refuse(st, id, uzda.At{Head: uzda.SomeHead}, uzda.ErrNotFound, say("later", "wait"))
			}
		}
		if n := len(s.read(b, one, 0)) + len(s.read(b, kid, 0)) + len(s.read(b, "never", 0)); n != 0 {
			s.Errorf("%d events of sessions that are gone", n)
		}
	},
	"what was spent stays spent": func(s *suite) {
		a, b := s.open(), s.open()
		r, ledger := optional[uzda.Remover](s, a), optional[uzda.Ledger](s, b)
		epoch := s.tree(a)
		own := []uzda.Account{{Name: "turn:one/2"}, {Name: "session:one"}, {Name: "turn:one-2.0/1"}}
		others := []uzda.Account{{Name: "day:2031-01-01"}, {Name: "turn:one.x/2"}, {Name: "session:one-x"}}
		for i, id := range []string{"one/1.1", "one-2.0/1.1", "one/1.2"} {
			s.must(ledger.Reserve(ctx, uzda.Hold{ID: id, Amount: 100, Accounts: append(slices.Clone(own), others...)}))
			if i < 2 {
				s.must(ledger.Settle(ctx, uzda.Settlement{ID: id, Spent: 40}))
			}
		}
		_, err := r.Remove(ctx, one, epoch, nil)
		s.must(err)
		for _, st := range []uzda.Store{a, b, s.open()} {
			for i, acc := range append(slices.Clone(own), others...) {
				settled, held, err := st.(uzda.Ledger).Spent(ctx, acc.Name)
				want := uzda.Money(0)
				if i >= len(own) {
					want = 180 // 40 and 40, and 100 that nobody settled
				}
				if settled+held != want || err != nil {
					s.Errorf("account %s: %d, want %d (%v)", acc.Name, settled+held, want, err)
				}
			}
		}
		// A new session of the id has its holds and accounts to itself.
		s.must(ledger.Reserve(ctx, uzda.Hold{ID: "one/1.1", Amount: 10, Accounts: []uzda.Account{{Name: "session:one", Limit: 10}}}))
	},
	"what was done once stays done": func(s *suite) {
		a := s.open()
		r := optional[uzda.Remover](s, a)
		epoch := s.hold(a, one)
		claim := []uzda.Claim{{Key: "pay 12", By: uzda.Holder{Session: one, Use: "3.0"}}}
		if _, err := a.Append(ctx, one, uzda.At{Epoch: epoch, Claim: claim}, asked(1)); err != nil {
			s.Skipf("no claims: %v", err)
		}
		_, err := r.Remove(ctx, one, epoch, nil)
		s.must(err)
		// Nobody holds the key any more, also not a session that is made again.
		for _, by := range []uzda.Holder{{Session: two, Use: "9.0"}, {Session: one, Use: "3.0"}} {
			claim[0].By = by
			err = s.refusal(a, by.Session, uzda.At{Head: uzda.AnyHead, Claim: claim}, nil, note("n"))
			var taken *uzda.Taken
			if !errors.As(err, &taken) || taken.By.Session != "" || taken.By.Use != "3.0" {
				s.Errorf("claim by %s: %v, want *uzda.Taken by a session that is gone", by.Session, err)
			}
		}
	},
	"blobs that nothing names go": func(s *suite) {
		a, b := s.open(), s.open()
		r, blobs := optional[uzda.Remover](s, a), optional[uzda.Blobs](s, b)
		long := func(name string) string { return strings.Repeat(name+" ", uzda.LongString) }
		epoch := s.hold(a, one)
		s.add(a, one, uzda.At{Epoch: epoch}, uzda.Opened{Format: 1, Agent: "shop"})
		s.add(a, one, uzda.At{Head: uzda.AnyHead}, say("1", long("mine")), say("2", long("shared")))
		s.add(b, two, uzda.At{}, say("1", long("shared")))
		// As a result's full text, which its event names by another member.
		hash, err := blobs.Put(ctx, []byte("full"))
		s.must(err)
		full := uzda.Returned{Result: uzda.ToolResult{Use: "1.1", Full: &uzda.Full{Blob: hash, Size: 4}}}
		s.add(b, two, uzda.At{Head: uzda.AnyHead, Epoch: s.hold(b, two)}, full)
		_, err = r.Remove(ctx, one, epoch, nil)
		s.must(err)
		s.expires()
		s.pass(2 * uzda.BlobGrace)
		late, err := blobs.Put(ctx, []byte(long("late"))) // its event comes after the sweep
		s.must(err)
		n, err := r.Sweep(ctx)
		s.must(err)
		if _, stored := s.blob(b, long("mine")); n > 0 && (stored || n != int64(len(long("mine")))) {
			s.Errorf("swept %d bytes, want those of what only the removed session had", n)
		}
		if _, stored := s.blob(b, long("mine")); stored {
			s.Error("a text of the removed session is still there")
		}
		if _, stored := s.blob(b, "full"); !stored {
			s.Error("the full text of a result is gone")
		}
		if got, err := blobs.Get(ctx, late, 0, -1); err != nil || string(got) != long("late") {
			s.Errorf("what was put just now: %v", err)
		}
		s.chained(s.read(a, two, 0))
		s.sound(a)
		// One that was there for long and is put again is as one that is new.
		s.pass(2 * uzda.BlobGrace)
		again, err := blobs.Put(ctx, []byte(long("late")))
		s.must(err)
		if n, err := r.Sweep(ctx); n != 0 || err != nil {
			s.Errorf("swept %d bytes, %v, want nothing", n, err)
		}
		s.pass(2 * uzda.BlobGrace)
		if n, err := r.Sweep(ctx); n != int64(len(long("late"))) || err != nil {
			s.Errorf("swept %d bytes, %v", n, err)
		}
		if _, err := blobs.Get(ctx, again, 0, -1); !errors.Is(err, uzda.ErrNotFound) {
			s.Errorf("get: %v, want ErrNotFound", err)
		}
	},
	"beside sessions that run": func(s *suite) { // case:S03
		a, b := s.open(), s.open()
		r := optional[uzda.Remover](s, a)
		text := func(i int) string { return strings.Repeat(fmt.Sprint(i%3, " "), uzda.LongString) }
		var wg sync.WaitGroup
		var still sync.RWMutex // no day goes by inside an append
		for w := range 3 {
			st, id := []uzda.Store{a, b, s.open()}[w], uzda.SessionID(fmt.Sprint("runs-", w))
			wg.Go(func() {
				for i := range 15 {
					still.RLock()
					_, err := st.Append(ctx, id, uzda.At{Head: uzda.AnyHead}, say(fmt.Sprint(i), text(i)), note(fmt.Sprint("n", i)))
					still.RUnlock()
					if err != nil {
						s.Errorf("append: %v", err)
						return
					}
				}
			})
		}
		for w, st := range []uzda.Store{a, b} {
			r := st.(uzda.Remover)
			wg.Go(func() {
				for i := range 8 {
					id := uzda.SessionID(fmt.Sprint("goes-", w, "-", i))
					still.RLock()
					epoch, err := st.Acquire(ctx, id, "suite")
					if err == nil {
						_, err = st.Append(ctx, id, uzda.At{Epoch: epoch}, uzda.Opened{Format: 1}, say("p", text(i)))
					}
					still.RUnlock()
					if err == nil {
						_, err = r.Remove(ctx, id, epoch, nil)
					}
					still.Lock()
					s.pass(3 * uzda.BlobGrace) // all that is not named is old at once
					still.Unlock()
					if err == nil {
						_, err = r.Sweep(ctx)
					}
					if err != nil {
						s.Errorf("make and remove: %v", err)
						return
					}
				}
			})
		}
		wg.Wait()
		_, err := r.Sweep(ctx)
		s.must(err)
		for w := range 3 {
			evs := s.read(b, uzda.SessionID(fmt.Sprint("runs-", w)), 0)
			s.chained(evs)
			if len(evs) != 30 {
				s.Errorf("%d events, want 30", len(evs))
			}
		}
		if _, ok := a.(uzda.Lister); ok && len(s.list(a)) != 3 {
			s.Errorf("%d sessions are listed, want 3", len(s.list(a)))
		}
		s.sound(b)
	},
	"one of many removes": func(s *suite) {
		a, b := s.open(), s.open()
		optional[uzda.Remover](s, a)
		for round := range 10 {
			id := uzda.SessionID(fmt.Sprint("r", round))
			s.add(a, id, uzda.At{}, note("n"))
			var wg sync.WaitGroup
			var mu sync.Mutex
			won := 0
			for i := range 4 {
				st := []uzda.Store{a, b}[i%2]
				wg.Go(func() {
					epoch, err := st.Acquire(ctx, id, "suite")
					var busy *uzda.Busy
					if errors.As(err, &busy) {
						return
					}
					if err == nil {
						_, err = st.(uzda.Remover).Remove(ctx, id, epoch, nil)
					}
					mu.Lock()
					defer mu.Unlock()
					if err == nil {
						won++
					} else if !errors.Is(err, uzda.ErrNotFound) {
						s.Errorf("remove: %v", err)
					} else if err := st.Release(ctx, id, epoch); err != nil {
						s.Errorf("release: %v", err)
					}
				})
			}
			wg.Wait()
			if won != 1 {
				s.Fatalf("%d removed the session", won)
			}
		}
	},
	"who waits sees what comes after": func(s *suite) {
		a, b := s.open(), s.open()
		r, w := optional[uzda.Remover](s, b), optional[uzda.Waiter](s, a)
		s.add(b, two, uzda.At{}, note("n"))
		for i := range 10 {
			epoch := s.hold(b, one)
			s.add(b, one, uzda.At{Epoch: epoch}, asked(1), asked(2), asked(3))
			came := make(chan error, 1)
			go func() { came <- w.Wait(ctx, two, uzda.Seq(i+1)) }()
			time.Sleep(time.Millisecond) // so that some of them look before
			_, err := r.Remove(ctx, one, epoch, nil)
			s.must(err)
			s.add(b, two, uzda.At{Head: uzda.AnyHead}, note(fmt.Sprint(i)))
			select {
			case err := <-came:
				s.must(err)
			case <-time.After(30 * time.Second):
				s.Fatal("who waits does not hear of an event after a removal")
			}
		}
	},
	"how large it is": func(s *suite) {
		a := s.open()
		z := optional[uzda.Sizer](s, a)
		for i := range 20 {
			s.add(a, one, uzda.At{Head: uzda.AnyHead}, say("", strings.Repeat(fmt.Sprint(i), 10_000)))
		}
		disk, used, err := z.Size(ctx)
		if used < 200_000 || used > disk || err != nil {
			s.Errorf("size %d, %d of it used, %v", disk, used, err)
		}
		if sh, ok := a.(uzda.Shrinker); ok {
			s.must(sh.Shrink(ctx))
			s.chained(s.read(a, one, 0))
		}
	},
}

// tree makes a session that began one that began one, two events each, and holds
// the first.
func (s *suite) tree(st uzda.Store) int64 {
	s.Helper()
	epoch := s.hold(st, one)
	s.add(st, one, uzda.At{Epoch: epoch}, uzda.Opened{Format: 1, Agent: "shop"}, say("p", "go"))
	parent := one
	for _, id := range []uzda.SessionID{kid, grandkid} {
		e := s.hold(st, id)
		s.add(st, id, uzda.At{Epoch: e}, uzda.Opened{Format: 1, Agent: "child", Parent: parent}, say("p", "go"))
		s.must(st.Release(ctx, id, e))
		parent = id
	}
	return epoch
}

// stays checks that a session is not removed, and why.
func (s *suite) stays(r uzda.Remover, id uzda.SessionID, epoch int64, want error) {
	s.Helper()
	if gone, err := r.Remove(ctx, id, epoch, nil); !errors.Is(err, want) || len(gone) != 0 {
		s.Errorf("remove %s as epoch %d: %v, %v, want %v", id, epoch, gone, err, want)
	}
}

// blob looks for a text among the blobs.
func (s *suite) blob(st uzda.Store, text string) ([]byte, bool) {
	s.Helper()
	data, err := st.(uzda.Blobs).Get(ctx, uzda.Hash([]byte(text)), 0, -1)
	if err != nil && !errors.Is(err, uzda.ErrNotFound) {
		s.Fatalf("get: %v", err)
	}
	return data, err == nil
}

// sound verifies the store, where it can.
func (s *suite) sound(st uzda.Store) {
	s.Helper()
	if v, ok := st.(uzda.Verifier); ok {
		s.must(v.Verify(ctx, func(id uzda.SessionID, seq uzda.Seq, err error) {
			s.Errorf("session %s, event %d: %v", id, seq, err)
		}))
	}
}
