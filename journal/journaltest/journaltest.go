// Package journaltest is the suite that every store of sessions must pass.
//
// A store's own test is these lines:
//
//	func TestConformance(t *testing.T) {
//		journaltest.Run(t, func(t *testing.T, now func() time.Time) func() uzda.Store {
//			dir := t.TempDir() // one empty store for each test
//			return func() uzda.Store { // called again, it opens another handle to the same store
//				s, err := mine.Open(dir, mine.Options{Now: now})
//				if err != nil {
//					t.Fatal(err)
//				}
//				t.Cleanup(func() { s.Close() })
//				return s
//			}
//		})
//	}
//
// Two handles stand for two processes; a store that lives in one process returns
// the same value each time. The store takes the time of its leases from now,
// which the suite lets jump, and gives leases of 15 seconds. A store that never
// asks now is not tested for leases that expire, with a line that says so. What
// is optional (uzda.Ledger, uzda.Blobs and so on) is tested where the store has
// it. Crashes, torn writes and full disks are a store's own tests.
package journaltest

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync/atomic"
	"testing"
	"time"

	"github.com/uzda-dev/uzda"
)

// Opener makes an empty store and returns what opens a handle to it.
type Opener func(t *testing.T, now func() time.Time) func() uzda.Store

// Run tests that the stores of open keep what package uzda promises of them.
func Run(t *testing.T, open Opener) {
	for _, group := range []struct {
		name  string
		tests map[string]func(*suite)
	}{
		{"Append", appendTests}, {"Input", inputTests}, {"Content", contentTests},
		{"Lease", leaseTests}, {"Claim", claimTests}, {"Ledger", ledgerTests},
		{"Blobs", blobTests}, {"Index", indexTests}, {"Many", manyTests}, {"Wait", waitTests},
		{"Remove", removeTests},
	} {
		t.Run(group.name, func(t *testing.T) {
			t.Parallel()
			for name, test := range group.tests {
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					s := &suite{T: t}
					s.open = open(t, s.now)
					test(s)
				})
			}
		})
	}
}

// suite is one test on one store.
type suite struct {
	*testing.T
	open  func() uzda.Store
	jump  atomic.Int64 // nanoseconds that the clock is ahead
	asked atomic.Bool
}

func (s *suite) now() time.Time {
	s.asked.Store(true)
	return time.Now().Add(time.Duration(s.jump.Load()))
}

// pass lets time go by on the store's clock.
func (s *suite) pass(d time.Duration) { s.jump.Add(int64(d)) }

var ctx = context.Background()

const (
	one = uzda.SessionID("one")
	two = uzda.SessionID("two")
)

// optional returns the store as a T, and skips the test where it is none.
func optional[T any](s *suite, st uzda.Store) T {
	s.Helper()
	v, ok := st.(T)
	if !ok {
		s.Skipf("%T is no %v", st, reflect.TypeFor[T]())
	}
	return v
}

// hold acquires a session.
func (s *suite) hold(st uzda.Store, id uzda.SessionID) int64 {
	s.Helper()
	epoch, err := st.Acquire(ctx, id, "suite")
	if err != nil {
		s.Fatalf("acquire %s: %v", id, err)
	}
	return epoch
}

// add appends what must succeed.
func (s *suite) add(st uzda.Store, id uzda.SessionID, at uzda.At, bodies ...uzda.Body) []uzda.Event {
	s.Helper()
	evs, err := st.Append(ctx, id, at, bodies...)
	if err != nil {
		s.Fatalf("append to %s: %v", id, err)
	}
	if len(evs) != len(bodies) {
		s.Fatalf("append of %d bodies returned %d events", len(bodies), len(evs))
	}
	return evs
}

// refuse appends what must fail with want, and checks that nothing was written.
func (s *suite) refuse(st uzda.Store, id uzda.SessionID, at uzda.At, want error, bodies ...uzda.Body) {
	s.Helper()
	_ = s.refusal(st, id, at, want, bodies...)
}

// refusal is refuse, and returns the error.
func (s *suite) refusal(st uzda.Store, id uzda.SessionID, at uzda.At, want error, bodies ...uzda.Body) error {
	s.Helper()
	before := len(s.read(st, id, 0))
	_, err := st.Append(ctx, id, at, bodies...)
	if err == nil {
		s.Fatalf("append to %s: no error, want %v", id, want)
	}
	if want != nil && !errors.Is(err, want) {
		s.Errorf("append to %s: error %v, want %v", id, err, want)
	}
	if after := len(s.read(st, id, 0)); after != before {
		s.Errorf("after the error %v the journal has %d events, had %d", err, after, before)
	}
	return err
}

// read returns a session's events after a number.
func (s *suite) read(st uzda.Store, id uzda.SessionID, after uzda.Seq) []uzda.Event {
	s.Helper()
	var out []uzda.Event
	for e, err := range st.Read(ctx, id, after) {
		if err != nil {
			s.Fatalf("read %s: %v", id, err)
		}
		out = append(out, e)
	}
	return out
}

// equal compares events as they were returned and as they are read.
func (s *suite) equal(got, want []uzda.Event) {
	s.Helper()
	if len(got) != len(want) {
		s.Fatalf("%d events, want %d", len(got), len(want))
	}
	for i := range want {
		if err := same(got[i], want[i]); err != nil {
			s.Errorf("event %d: %v", i, err)
		}
	}
}

func same(got, want uzda.Event) error {
	switch {
	case got.Seq != want.Seq || got.By != want.By || got.Sum != want.Sum || got.Prev != want.Prev || !got.At.Equal(want.At):
		got.Body, want.Body = nil, nil
		return fmt.Errorf("envelope %+v, want %+v", got, want)
	case !reflect.DeepEqual(got.Body, want.Body):
		return fmt.Errorf("body\n%s\nwant\n%s", show(got.Body), show(want.Body))
	}
	return nil
}

func show(b uzda.Body) string {
	text := fmt.Sprintf("%#v", b)
	return uzda.Clip(text, 2000)
}

// chained checks numbers, sums and links of a whole session, by sealing each
// event anew: with long strings as blobs, or in their place.
func (s *suite) chained(evs []uzda.Event) {
	s.Helper()
	link := ""
	for i, e := range evs {
		if e.Seq != uzda.Seq(i+1) {
			s.Fatalf("event %d has the number %d", i+1, e.Seq)
		}
		if e.Prev != link {
			s.Fatalf("event %d (%s): Prev is %q, want %q", e.Seq, e.Body.Kind(), e.Prev, link)
		}
		if e.At.IsZero() {
			s.Errorf("event %d has no time", e.Seq)
		}
		again := e
		line, err := uzda.Seal(&again, func(data []byte) (string, error) { return uzda.Hash(data), nil })
		if err == nil && again.Sum != e.Sum {
			again = e
			line, err = uzda.Seal(&again, nil)
		}
		if err != nil {
			s.Fatalf("event %d: seal again: %v", e.Seq, err)
		}
		if again.Sum != e.Sum {
			s.Fatalf("event %d (%s): Sum is %s, its body gives %s", e.Seq, e.Body.Kind(), e.Sum, again.Sum)
		}
		if err := line.Check(); err != nil {
			s.Errorf("event %d: %v", e.Seq, err)
		}
		link = line.Link
	}
}

func note(id string) uzda.Noted { return uzda.Noted{ID: id, Text: "note " + id} }

func say(id, text string) uzda.Posted { return uzda.Posted{ID: id, Blocks: uzda.Say(text)} }

func asked(n int) uzda.Asked {
	return uzda.Asked{Ordinal: n, Model: "script/suite", Hash: "h", Max: 100}
}

func said(text string) uzda.Said {
	return uzda.Said{
		Message: uzda.Message{Role: uzda.Assistant, Blocks: uzda.Say(text)},
		Stop:    uzda.StopEnd,
		Usage:   uzda.Usage{Input: 10, Output: 5},
		Cost:    uzda.Dollar / 100,
	}
}
