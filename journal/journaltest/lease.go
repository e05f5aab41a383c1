package journaltest

import (
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/uzda-dev/uzda"
)

// lease is how long a lease lasts without being renewed.
const lease = 15 * time.Second

var leaseTests = map[string]func(*suite){
	"a held session is busy": func(s *suite) {
		a, b := s.open(), s.open()
		before := s.now()
		epoch, err := a.Acquire(ctx, one, "ann on here")
		if err != nil || epoch < 1 {
			s.Fatalf("acquire: epoch %d, %v", epoch, err)
		}
		for _, st := range []uzda.Store{a, b} {
			_, err := st.Acquire(ctx, one, "bob")
			var busy *uzda.Busy
			if !errors.As(err, &busy) {
				s.Fatalf("acquire: %v, want *uzda.Busy", err)
			}
			if busy.Session != one || busy.Holder != "ann on here" || busy.Since.Sub(before).Abs() > time.Minute {
				s.Errorf("busy: %+v", busy)
			}
		}
		s.hold(b, two) // another session is free
		if n := len(s.read(a, one, 0)); n != 0 {
			s.Errorf("a lease has made %d events", n)
		}
	},
	"a released session is free": func(s *suite) {
		a, b := s.open(), s.open()
		first := s.hold(a, one)
		s.add(a, one, uzda.At{Epoch: first}, asked(1))
		if err := a.Release(ctx, one, first); err != nil {
			s.Fatalf("release: %v", err)
		}
		second := s.hold(b, one)
		if second <= first {
			s.Fatalf("the second epoch is %d, the first was %d", second, first)
		}
		s.fenced(a, first)
		s.add(b, one, uzda.At{Head: 1, Epoch: second}, asked(2))
		if err := b.Release(ctx, one, second); err != nil {
			s.Fatalf("release: %v", err)
		}
		if third := s.hold(a, one); third <= second {
			s.Fatalf("the third epoch is %d, the second was %d", third, second)
		}
	},
	"what is not ours": func(s *suite) {
		a, b := s.open(), s.open()
		epoch := s.hold(a, one)
		if err := b.Renew(ctx, one, epoch+1); !errors.Is(err, uzda.ErrFenced) {
			s.Errorf("renew an epoch to come: %v, want ErrFenced", err)
		}
		if err := b.Renew(ctx, two, 1); !errors.Is(err, uzda.ErrFenced) {
			s.Errorf("renew what was never held: %v, want ErrFenced", err)
		}
		if err := b.Release(ctx, one, epoch+1); err != nil && !errors.Is(err, uzda.ErrFenced) {
			s.Errorf("release an epoch to come: %v", err)
		}
		if err := b.Release(ctx, two, 1); err != nil && !errors.Is(err, uzda.ErrFenced) {
			s.Errorf("release what was never held: %v", err)
		}
		if err := a.Renew(ctx, one, epoch); err != nil {
			s.Errorf("renew: %v", err)
		}
		s.add(a, one, uzda.At{Epoch: epoch}, asked(1))
	},
	"a lease that was not renewed can be taken": func(s *suite) {
		a, b := s.open(), s.open()
		first := s.hold(a, one)
		s.expires()
		s.add(a, one, uzda.At{Epoch: first}, asked(1))
		s.pass(2 * lease)
		second := s.hold(b, one)
		if second <= first {
			s.Fatalf("the second epoch is %d, the first was %d", second, first)
		}
		s.fenced(a, first)
		s.add(b, one, uzda.At{Head: 1, Epoch: second}, asked(2))
	},
	"a renewed lease lasts": func(s *suite) {
		a, b := s.open(), s.open()
		epoch := s.hold(a, one)
		s.expires()
		for range 4 {
			s.pass(2 * lease / 3)
			if err := a.Renew(ctx, one, epoch); err != nil {
				s.Fatalf("renew: %v", err)
			}
			var busy *uzda.Busy
			if _, err := b.Acquire(ctx, one, "bob"); !errors.As(err, &busy) {
				s.Fatalf("acquire: %v, want *uzda.Busy", err)
			}
		}
		s.pass(2 * lease)
		s.hold(b, one)
	},
	"one of many wins": func(s *suite) {
		a, b := s.open(), s.open()
		var won atomic.Int64
		var wg sync.WaitGroup
		for i := range 16 {
			st := []uzda.Store{a, b}[i%2]
			wg.Go(func() {
				_, err := st.Acquire(ctx, one, "many")
				var busy *uzda.Busy
				if err == nil {
					won.Add(1)
				} else if !errors.As(err, &busy) {
					s.Errorf("acquire: %v", err)
				}
			})
		}
		wg.Wait()
		if won.Load() != 1 {
			s.Errorf("%d hold the session", won.Load())
		}
	},
}

// expires skips the test where the store has its own clock.
func (s *suite) expires() {
	s.Helper()
	if !s.asked.Load() {
		s.Skip("SKIPPED: the store does not ask the suite for the time: leases that expire are not tested")
	}
}

// fenced checks that an epoch that is over can do nothing.
func (s *suite) fenced(st uzda.Store, epoch int64) {
	s.Helper()
	head := uzda.Seq(len(s.read(st, one, 0)))
	s.refuse(st, one, uzda.At{Head: head, Epoch: epoch}, uzda.ErrFenced, asked(9))
	s.refuse(st, one, uzda.At{Head: uzda.AnyHead, Epoch: epoch}, uzda.ErrFenced, said("late"))
	s.refuse(st, one, uzda.At{Head: uzda.AnyHead, Epoch: epoch}, uzda.ErrFenced, note("by a fenced runner"))
	if err := st.Renew(ctx, one, epoch); !errors.Is(err, uzda.ErrFenced) {
		s.Errorf("renew: %v, want ErrFenced", err)
	}
	if err := st.Release(ctx, one, epoch); err != nil && !errors.Is(err, uzda.ErrFenced) {
		s.Errorf("release: %v", err)
	}
	var busy *uzda.Busy
	if _, err := st.Acquire(ctx, one, "late"); !errors.As(err, &busy) {
		s.Errorf("acquire: %v, want *uzda.Busy", err)
	}
}
