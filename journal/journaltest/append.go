package journaltest

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/uzda-dev/uzda"
)

var appendTests = map[string]func(*suite){
	"numbers, epoch, time and chain": func(s *suite) {
		a, b := s.open(), s.open()
		epoch := s.hold(a, one)
		evs := s.add(a, one, uzda.At{Epoch: epoch}, uzda.Opened{Format: 1, Agent: "x"}, asked(1))
		evs = append(evs, s.add(b, one, uzda.At{Head: uzda.AnyHead}, say("p", "hello"))...)
		evs = append(evs, s.add(a, one, uzda.At{Head: uzda.AnyHead, Epoch: epoch}, said("hi"))...)
		for i, by := range []int64{epoch, epoch, 0, epoch} {
			if evs[i].By != by || evs[i].Seq != uzda.Seq(i+1) {
				s.Errorf("event %d: number %d by %d, want by %d", i+1, evs[i].Seq, evs[i].By, by)
			}
		}
		s.chained(evs)
		s.equal(s.read(a, one, 0), evs)
		s.equal(s.read(b, one, 0), evs)
	},
	"read after a number": func(s *suite) {
		a, b := s.open(), s.open()
		var evs []uzda.Event
		for _, id := range strings.Fields("a b c d e f") {
			evs = append(evs, s.add(a, one, uzda.At{Head: uzda.AnyHead}, note(id))...)
		}
		for after := range 9 {
			want := evs[min(after, len(evs)):]
			s.equal(s.read(a, one, uzda.Seq(after)), want)
			s.equal(s.read(b, one, uzda.Seq(after)), want)
		}
	},
	"a reader may stop early": func(s *suite) {
		a := s.open()
		s.add(a, one, uzda.At{Head: uzda.AnyHead}, note("a"), note("b"), note("c"))
		for e, err := range a.Read(ctx, one, 0) {
			if err != nil || e.Seq != 1 {
				s.Fatalf("first event: %d, %v", e.Seq, err)
			}
			break
		}
		s.add(a, one, uzda.At{Head: uzda.AnyHead}, note("d")) // no lock is left behind
	},
	"a reader may append": func(s *suite) {
		a := s.open()
		s.add(a, one, uzda.At{Head: uzda.AnyHead}, note("a"), note("b"))
		for e, err := range a.Read(ctx, one, 0) {
			if err != nil {
				s.Fatal(err)
			}
			if e.Seq <= 2 {
				s.add(a, one, uzda.At{Head: uzda.AnyHead}, note("more"+e.Body.(uzda.Noted).ID))
			}
		}
		s.chained(s.read(a, one, 0))
	},
	"unknown sessions have no events": func(s *suite) {
		a := s.open()
		if evs := s.read(a, "nobody", 0); len(evs) != 0 {
			s.Errorf("an unknown session has %d events", len(evs))
		}
		if evs := s.read(a, "nobody", 7); len(evs) != 0 {
			s.Errorf("an unknown session has %d events", len(evs))
		}
	},
	"sessions are apart": func(s *suite) {
		a := s.open()
		// Ids that look like a store's own file names are sessions too.
		for _, id := range []uzda.SessionID{"s", "s.1", "s-1", "s_1", "s.jsonl", "s.lock", "0", uzda.SessionID(strings.Repeat("x", 191))} {
			s.add(a, id, uzda.At{}, note("only"))
			if evs := s.read(a, id, 0); len(evs) != 1 {
				s.Errorf("session %s has %d events", id, len(evs))
			}
		}
	},
	"exact head": func(s *suite) {
		a, b := s.open(), s.open()
		epoch := s.hold(a, one)
		s.refuse(a, one, uzda.At{Head: 1, Epoch: epoch}, uzda.ErrConflict, asked(1))
		s.add(a, one, uzda.At{Head: 0, Epoch: epoch}, asked(1))
		s.add(b, one, uzda.At{Head: uzda.AnyHead}, say("p", "moved"))
		s.refuse(a, one, uzda.At{Head: 1, Epoch: epoch}, uzda.ErrConflict, said("x"))
		s.refuse(a, one, uzda.At{Head: 0, Epoch: epoch}, uzda.ErrConflict, said("x"))
		s.refuse(a, one, uzda.At{Head: 3, Epoch: epoch}, uzda.ErrConflict, said("x"))
		s.refuse(b, one, uzda.At{Head: 1}, uzda.ErrConflict, say("q", "inbox after an exact head"))
		s.add(a, one, uzda.At{Head: 2, Epoch: epoch}, said("x"), uzda.Ended{Outcome: uzda.Finished, Reason: uzda.EndTurn})
		s.add(b, one, uzda.At{Head: 4}, say("q", "inbox after an exact head"))
		s.chained(s.read(b, one, 0))
	},
	"what is not allowed": func(s *suite) {
		a := s.open()
		epoch := s.hold(a, one)
		s.refuse(a, one, uzda.At{Head: uzda.AnyHead, Epoch: epoch}, nil, asked(1))
		s.refuse(a, one, uzda.At{Head: 0}, nil, asked(1))
		s.refuse(a, one, uzda.At{Head: 0}, nil, note("a"), asked(1))
		s.refuse(a, one, uzda.At{Head: uzda.AnyHead}, nil, said("x"))
		s.refuse(a, one, uzda.At{Head: 0, Epoch: epoch}, nil)
		s.refuse(a, one, uzda.At{Head: 0, Epoch: epoch}, nil, uzda.Streaming{})
		s.refuse(a, one, uzda.At{Head: 0, Epoch: epoch}, nil, uzda.Erased{Name: "posted"}, uzda.Unread{Name: "from tomorrow"})
		s.refuse(a, one, uzda.At{Head: 0, Epoch: epoch + 1}, uzda.ErrFenced, asked(1))
		s.refuse(a, two, uzda.At{Head: 0, Epoch: epoch}, uzda.ErrFenced, asked(1)) // of another session
	},
	"bad session ids are refused": func(s *suite) {
		a := s.open()
		for _, id := range []uzda.SessionID{"", ".", "..", "../up", "a/b", "a b", "-a", ".hidden", "a\x00b", "ä", uzda.SessionID(strings.Repeat("x", 192))} {
			if _, err := a.Append(ctx, id, uzda.At{Head: uzda.AnyHead}, note("a")); err == nil {
				s.Errorf("append to %q: no error", id)
			}
			if _, err := a.Acquire(ctx, id, "suite"); err == nil {
				s.Errorf("acquire %q: no error", id)
			}
			for e, err := range a.Read(ctx, id, 0) {
				if err == nil {
					s.Errorf("read %q: event %d", id, e.Seq)
				}
			}
		}
	},
	// What a file system makes of case, and the names that it or the store has for
	// something else, are the store's to deal with. case:S03
	"ids are told apart, whatever they are": func(s *suite) {
		a, b := s.open(), s.open()
		longest := strings.Repeat("Ab", 95)
		ids := []uzda.SessionID{"a", "A", "aB", "Ab", "ledger", "Ledger", "removed", "tmp", "blobs", "alive", "sweep", "kept",
			"con", "CON", "nul.txt", "com1", "lpt9.x", "a.jsonl", "a.lock", "a.lease", "a.", uzda.SessionID(longest + "x"), uzda.SessionID(longest + "X")}
		want := map[uzda.SessionID][]uzda.Event{}
		for _, id := range ids {
			s.must(a.Release(ctx, id, s.hold(a, id)))
			want[id] = s.add(a, id, uzda.At{}, say("p", "to "+string(id)))
			if k, ok := a.(uzda.Keeper); ok {
				s.must(k.Keep(ctx, id, []byte(id)))
			}
		}
		if l, ok := a.(uzda.Ledger); ok {
			s.must(l.Reserve(ctx, uzda.Hold{ID: "h", Amount: 1, Accounts: []uzda.Account{{Name: "day"}}}))
		}
		if r, ok := b.(uzda.Remover); ok {
			_, err := r.Remove(ctx, "A", s.hold(b, "A"), nil)
			s.must(err)
			want["A"] = nil
		}
		fresh := s.open()
		for _, st := range []uzda.Store{a, b, fresh} {
			for _, id := range ids {
				s.equal(s.read(st, id, 0), want[id])
			}
		}
		if _, ok := fresh.(uzda.Lister); ok {
			there := slices.DeleteFunc(slices.Clone(ids), func(id uzda.SessionID) bool { return want[id] == nil })
			for _, info := range s.list(fresh) {
				if !slices.Contains(there, info.ID) {
					s.Errorf("it lists %s", info.ID)
				}
				there = slices.DeleteFunc(there, func(id uzda.SessionID) bool { return id == info.ID })
			}
			if len(there) > 0 {
				s.Errorf("it does not list %v", there)
			}
		}
		s.sound(fresh)
	},
	"several bodies are one": func(s *suite) {
		a := s.open()
		epoch := s.hold(a, one)
		bad := uzda.ToolUse{Name: "x", Input: []byte(`{"cut":`)}
		s.refuse(a, one, uzda.At{Head: 0, Epoch: epoch}, nil, note("a"), asked(1),
			uzda.Said{Message: uzda.Message{Role: uzda.Assistant, Blocks: uzda.Blocks{bad}}, Stop: uzda.StopUse})
		// The id of the batch that failed is not taken.
		evs := s.add(a, one, uzda.At{Head: 0, Epoch: epoch}, note("a"), asked(1))
		s.equal(s.read(a, one, 0), evs)
	},
	"a context that has ended": func(s *suite) {
		a := s.open()
		s.add(a, one, uzda.At{Head: uzda.AnyHead}, note("a"))
		gone, cancel := context.WithCancel(ctx)
		cancel()
		evs, err := a.Append(gone, one, uzda.At{Head: uzda.AnyHead}, note("b"))
		if err != nil && !errors.Is(err, context.Canceled) {
			s.Errorf("append: %v, want the context's error or none", err)
		}
		if n := len(s.read(a, one, 0)); n != 1+len(evs) {
			s.Errorf("%d events, but the append returned %d and %v", n, len(evs), err)
		}
		for _, err := range a.Read(gone, one, 0) {
			if err != nil && !errors.Is(err, context.Canceled) {
				s.Errorf("read: %v", err)
			}
		}
	},
}

var inputTests = map[string]func(*suite){
	"a repeated id returns the first event": func(s *suite) {
		a, b := s.open(), s.open()
		first := s.add(a, one, uzda.At{Head: uzda.AnyHead}, say("p", "first"))
		s.add(a, one, uzda.At{Head: uzda.AnyHead}, note("n"))
		for _, st := range []uzda.Store{a, b, s.open()} {
			s.equal(s.add(st, one, uzda.At{Head: uzda.AnyHead}, say("p", "again")), first)
			s.equal(s.add(st, one, uzda.At{Head: 2}, say("p", "again")), first)
			s.equal(s.add(st, one, uzda.At{Head: uzda.AnyHead}, note("p")), first) // whatever its kind
		}
		if n := len(s.read(b, one, 0)); n != 2 {
			s.Errorf("%d events, want 2", n)
		}
	},
	"ids belong to their session": func(s *suite) {
		a := s.open()
		s.add(a, one, uzda.At{Head: uzda.AnyHead}, say("p", "one"))
		evs := s.add(a, two, uzda.At{Head: uzda.AnyHead}, say("p", "two"))
		s.equal(s.read(a, two, 0), evs)
	},
	"without an id nothing repeats": func(s *suite) {
		a := s.open()
		s.add(a, one, uzda.At{Head: uzda.AnyHead}, uzda.Noted{Text: "x"})
		s.add(a, one, uzda.At{Head: uzda.AnyHead}, uzda.Noted{Text: "x"})
		if n := len(s.read(a, one, 0)); n != 2 {
			s.Errorf("%d events, want 2", n)
		}
	},
	"some of a batch repeat": func(s *suite) {
		a, b := s.open(), s.open()
		first := s.add(a, one, uzda.At{Head: uzda.AnyHead}, note("a"), note("b"))
		evs := s.add(b, one, uzda.At{Head: uzda.AnyHead}, note("c"), note("a"), note("d"), note("c"))
		s.equal([]uzda.Event{evs[1], evs[3]}, []uzda.Event{first[0], evs[0]})
		all := s.read(a, one, 0)
		s.chained(all)
		s.equal(all, []uzda.Event{first[0], first[1], evs[0], evs[2]})
	},
	"an edit by a person has an id too": func(s *suite) {
		a := s.open()
		epoch := s.hold(a, one)
		edit := uzda.Edited{ID: "undo-1", What: "undo", From: 1, To: 1, With: []uzda.Entry{}}
		first := s.add(a, one, uzda.At{Head: 0, Epoch: epoch}, edit)
		s.equal(s.add(a, one, uzda.At{Head: 1, Epoch: epoch}, edit), first)
		if n := len(s.read(a, one, 0)); n != 1 {
			s.Errorf("%d events, want 1", n)
		}
	},
}
