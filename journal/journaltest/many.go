package journaltest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/uzda-dev/uzda"
)

var manyTests = map[string]func(*suite){
	"posters from several handles": func(s *suite) { // case:S03
		const writers, each = 4, 25
		stores := []uzda.Store{s.open(), s.open(), s.open()}
		done, stop := context.WithCancel(ctx)
		var posters, readers sync.WaitGroup
		for w := range writers {
			st := stores[w%len(stores)]
			posters.Go(func() {
				for i := range each {
					// Three bodies that belong together, and one id that all post.
					first := fmt.Sprintf("%d/%d", w, i)
					evs, err := st.Append(ctx, one, uzda.At{Head: uzda.AnyHead},
						note(first+"/a"), note(first+"/b"), note(first+"/c"))
					if err != nil || len(evs) != 3 || evs[2].Seq != evs[0].Seq+2 {
						s.Errorf("append: %d events, %v", len(evs), err)
						return
					}
					if _, err := st.Append(ctx, one, uzda.At{Head: uzda.AnyHead}, note(fmt.Sprint("all/", i))); err != nil {
						s.Errorf("append: %v", err)
					}
				}
			})
		}
		for _, st := range stores {
			readers.Go(func() { follow(done, s, st) })
		}
		posters.Wait()
		stop()
		readers.Wait()
		evs := s.read(stores[0], one, 0)
		s.chained(evs)
		s.equal(s.read(stores[2], one, 0), evs)
		if want := writers*each*3 + each; len(evs) != want {
			s.Fatalf("%d events, want %d", len(evs), want)
		}
		together(s, evs)
	},
	"a runner and posters": func(s *suite) {
		a, b := s.open(), s.open()
		epoch := s.hold(a, one)
		var wg sync.WaitGroup
		wg.Go(func() {
			for i := range 40 {
				if _, err := b.Append(ctx, one, uzda.At{Head: uzda.AnyHead}, note(fmt.Sprint(i))); err != nil {
					s.Errorf("post: %v", err)
				}
			}
		})
		head, n := uzda.Seq(0), 0
		for n < 40 {
			evs, err := a.Append(ctx, one, uzda.At{Head: head, Epoch: epoch}, asked(n+1), said("x"))
			switch {
			case err == nil:
				head, n = evs[1].Seq, n+1
			case errors.Is(err, uzda.ErrConflict):
				for e, err := range a.Read(ctx, one, head) {
					if err != nil || e.Seq != head+1 {
						s.Fatalf("read after %d: %d, %v", head, e.Seq, err)
					}
					head = e.Seq
				}
			default:
				s.Fatal(err)
			}
		}
		wg.Wait()
		evs := s.read(b, one, 0)
		s.chained(evs)
		if len(evs) != 120 {
			s.Errorf("%d events, want 120", len(evs))
		}
	},
	"sessions side by side": func(s *suite) {
		stores := []uzda.Store{s.open(), s.open()}
		var wg sync.WaitGroup
		for i := range 8 {
			st, id := stores[i%2], uzda.SessionID(fmt.Sprint("s", i))
			wg.Go(func() {
				epoch, err := st.Acquire(ctx, id, "many")
				if err != nil {
					s.Errorf("acquire: %v", err)
					return
				}
				for n := range 10 {
					if _, err := st.Append(ctx, id, uzda.At{Head: uzda.Seq(2 * n), Epoch: epoch}, asked(n+1), said("x")); err != nil {
						s.Errorf("append: %v", err)
					}
				}
			})
		}
		wg.Wait()
		for i := range 8 {
			evs := s.read(stores[0], uzda.SessionID(fmt.Sprint("s", i)), 0)
			s.chained(evs)
			if len(evs) != 20 {
				s.Errorf("session %d has %d events, want 20", i, len(evs))
			}
		}
	},
}

// follow reads what comes until done, and checks that no number is missing.
func follow(done context.Context, s *suite, st uzda.Store) {
	head := uzda.Seq(0)
	for last := false; !last; {
		last = done.Err() != nil
		for e, err := range st.Read(ctx, one, head) {
			if err != nil {
				s.Errorf("read after %d: %v", head, err)
				return
			}
			if e.Seq != head+1 {
				s.Errorf("read after %d: %d", head, e.Seq)
				return
			}
			head = e.Seq
		}
		time.Sleep(time.Millisecond)
	}
}

// together checks that the three notes of each append follow one another, and
// that each writer's appends are in its order.
func together(s *suite, evs []uzda.Event) {
	next := map[int]int{}
	for i := 0; i < len(evs); i++ {
		id := evs[i].Body.(uzda.Noted).ID
		var w, n int
		var part string
		if k, _ := fmt.Sscanf(id, "%d/%d/%s", &w, &n, &part); k != 3 {
			continue
		}
		if part != "a" || n != next[w] || i+2 >= len(evs) ||
			evs[i+1].Body.(uzda.Noted).ID != fmt.Sprintf("%d/%d/b", w, n) || evs[i+2].Body.(uzda.Noted).ID != fmt.Sprintf("%d/%d/c", w, n) {
			s.Fatalf("event %d is %s, want %d/%d/a and its followers", i+1, id, w, next[w])
		}
		next[w]++
		i += 2
	}
}

var waitTests = map[string]func(*suite){
	"wait": func(s *suite) {
		a, b := s.open(), s.open()
		w := optional[uzda.Waiter](s, a)
		short, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
		defer cancel()
		for {
			err := w.Wait(short, one, 0)
			if err != nil {
				if !errors.Is(err, context.DeadlineExceeded) {
					s.Errorf("wait for nothing: %v", err)
				}
				break
			}
			if n := len(s.read(a, one, 0)); n != 0 {
				s.Fatalf("%d events", n)
			}
		}
		s.add(b, one, uzda.At{Head: uzda.AnyHead}, note("a"), note("b"))
		s.must(w.Wait(ctx, one, 0)) // there already
		s.must(w.Wait(ctx, one, 1))
		s.add(b, two, uzda.At{Head: uzda.AnyHead}, note("another session"))
		limit, cancel := context.WithTimeout(ctx, 30*time.Second)
		defer cancel()
		for n := uzda.Seq(2); n < 32 && limit.Err() == nil; n++ { // some come before the waiters, some after
			var wg sync.WaitGroup
			for range 4 {
				wg.Go(func() {
					for len(s.read(a, one, n)) == 0 {
						if err := w.Wait(limit, one, n); err != nil {
							s.Errorf("wait for the event after %d: %v", n, err)
							return
						}
					}
				})
			}
			if n%2 == 0 {
				time.Sleep(time.Millisecond)
			}
			s.add(b, one, uzda.At{Head: uzda.AnyHead}, note(fmt.Sprint(n)))
			wg.Wait()
		}
	},
}
