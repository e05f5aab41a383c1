package journaltest

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/uzda-dev/uzda"
)

var blobTests = map[string]func(*suite){
	"put and get": func(s *suite) {
		a, b := s.open(), s.open()
		put := optional[uzda.Blobs](s, a)
		get := b.(uzda.Blobs)
		big := bytes.Repeat([]byte("\x00\xff\n\u2028"), 100_000)
		for _, data := range [][]byte{{}, []byte("x"), []byte("0123456789"), big} {
			hash, err := put.Put(ctx, data)
			if err != nil || hash != uzda.Hash(data) {
				s.Fatalf("put %d bytes: %q, %v", len(data), hash, err)
			}
			if again, err := get.Put(ctx, data); err != nil || again != hash {
				s.Errorf("put again: %q, %v", again, err)
			}
			n := int64(len(data))
			for _, r := range [][2]int64{{0, -1}, {0, n}, {0, n + 1}, {1, 3}, {n / 2, -1}, {n - 1, 5}, {n, 5}, {n + 7, -1}, {2, 0}} {
				from := min(max(r[0], 0), n)
				to := n
				if r[1] >= 0 {
					to = min(from+r[1], n)
				}
				if r[0] < 0 {
					continue
				}
				got, err := get.Get(ctx, hash, r[0], r[1])
				if err != nil || !bytes.Equal(got, data[from:to]) {
					s.Errorf("get %d from %d of %d: %d bytes, %v", r[1], r[0], n, len(got), err)
				}
			}
		}
	},
	"what is not there": func(s *suite) {
		a := s.open()
		get := optional[uzda.Blobs](s, a)
		for _, hash := range []string{uzda.Hash([]byte("nobody put this")), "", "x", "../../etc/passwd", strings.Repeat("Z", 64)} {
			if _, err := get.Get(ctx, hash, 0, -1); !errors.Is(err, uzda.ErrNotFound) {
				s.Errorf("get %q: %v, want ErrNotFound", hash, err)
			}
		}
	},
	"the caller's bytes stay the caller's": func(s *suite) {
		a := s.open()
		st := optional[uzda.Blobs](s, a)
		data := []byte("abc")
		hash, err := st.Put(ctx, data)
		s.must(err)
		data[0] = 'X'
		got, err := st.Get(ctx, hash, 0, -1)
		if err != nil || string(got) != "abc" {
			s.Fatalf("get: %q, %v", got, err)
		}
		got[1] = 'X'
		if got, _ = st.Get(ctx, hash, 0, -1); string(got) != "abc" {
			s.Errorf("get again: %q", got)
		}
	},
	"many put the same": func(s *suite) {
		a, b := s.open(), s.open()
		optional[uzda.Blobs](s, a)
		data := bytes.Repeat([]byte("blob"), 20_000)
		var wg sync.WaitGroup
		for i := range 8 {
			st := []uzda.Store{a, b}[i%2].(uzda.Blobs)
			wg.Go(func() {
				hash, err := st.Put(ctx, data)
				if err != nil {
					s.Errorf("put: %v", err)
					return
				}
				if got, err := st.Get(ctx, hash, 0, -1); err != nil || !bytes.Equal(got, data) {
					s.Errorf("get: %d bytes, %v", len(got), err)
				}
			})
		}
		wg.Wait()
	},
}

var indexTests = map[string]func(*suite){
	"checkpoints": func(s *suite) {
		a, b := s.open(), s.open()
		k := optional[uzda.Keeper](s, a)
		if got, err := k.Kept(ctx, one); err != nil || got != nil {
			s.Errorf("kept of nothing: %q, %v", got, err)
		}
		for _, data := range []string{"first", "second, longer\n\x00\xff", "3"} {
			s.must(k.Keep(ctx, one, []byte(data)))
			for _, st := range []uzda.Store{a, b} {
				if got, err := st.(uzda.Keeper).Kept(ctx, one); err != nil || string(got) != data {
					s.Errorf("kept: %q, %v, want %q", got, err, data)
				}
			}
		}
		if got, err := k.Kept(ctx, two); err != nil || got != nil {
			s.Errorf("kept of another session: %q, %v", got, err)
		}
		if n := len(s.read(a, one, 0)); n != 0 {
			s.Errorf("a checkpoint has made %d events", n)
		}
	},
	"list": func(s *suite) {
		a, b := s.open(), s.open()
		optional[uzda.Lister](s, a)
		if got := s.list(a); len(got) != 0 {
			s.Errorf("an empty store lists %+v", got)
		}
		fresh := s.story(a, b)
		for _, st := range []uzda.Store{fresh, a, b, s.open()} {
			s.listed(st, "three", "one", "two")
		}
		time.Sleep(2 * time.Millisecond) // so that the times differ
		c := s.open()
		s.add(c, two, uzda.At{Head: uzda.AnyHead}, note("last"))
		for _, st := range []uzda.Store{a, b, c} {
			s.listed(st, "two", "three", "one")
		}
		for _, err := range a.(uzda.Lister).List(ctx) {
			s.must(err)
			break // a reader may stop early
		}
	},
	"rebuild": func(s *suite) {
		a, b := s.open(), s.open()
		r := optional[uzda.Rebuilder](s, a)
		s.story(a, b)
		n, err := r.Rebuild(ctx)
		if err != nil || n != 3 {
			s.Errorf("rebuild: %d sessions, %v", n, err)
		}
		if _, ok := a.(uzda.Lister); ok {
			s.listed(a, "three", "one", "two")
			s.listed(b, "three", "one", "two")
		}
		first := s.read(a, one, 0)[1]
		s.equal(s.add(a, one, uzda.At{Head: uzda.AnyHead}, say("p", "again")), []uzda.Event{first})
	},
	"verify": func(s *suite) {
		a, b := s.open(), s.open()
		v := optional[uzda.Verifier](s, a)
		s.story(a, b)
		s.add(a, one, uzda.At{Head: uzda.AnyHead}, say("long", strings.Repeat("long ", uzda.LongString)))
		s.must(v.Verify(ctx, func(id uzda.SessionID, seq uzda.Seq, err error) {
			s.Errorf("session %s, event %d: %v", id, seq, err)
		}))
	},
}

// story makes three sessions: one, then two, then one again, then three, which
// the handle that it returns has not seen from the beginning.
func (s *suite) story(a, b uzda.Store) uzda.Store {
	s.Helper()
	e1, e2 := s.hold(a, one), s.hold(b, two)
	s.add(a, one, uzda.At{Epoch: e1}, uzda.Opened{Format: 1, Agent: "shop"})
	s.add(a, one, uzda.At{Head: uzda.AnyHead}, say("p", "Where is\nmy order? "+strings.Repeat("é", 100)))
	s.add(b, two, uzda.At{Epoch: e2}, uzda.Opened{Format: 1, Agent: "child", Parent: one})
	time.Sleep(2 * time.Millisecond)
	s.add(a, one, uzda.At{Head: 2, Epoch: e1}, uzda.Equipped{Model: uzda.ModelInfo{ID: "script/x"}}, asked(1))
	s.add(a, one, uzda.At{Head: uzda.AnyHead, Epoch: e1}, said("It left."))
	s.add(a, one, uzda.At{Head: 5, Epoch: e1}, uzda.Ended{Outcome: uzda.Finished, Reason: uzda.EndTurn})
	time.Sleep(2 * time.Millisecond)
	s.add(b, "three", uzda.At{}, say("p", "hello"))
	fresh := s.open() // it has seen nothing of what it appends to
	s.add(fresh, "three", uzda.At{Head: uzda.AnyHead}, note("n"))
	return fresh
}

func (s *suite) list(st uzda.Store) []uzda.SessionInfo {
	s.Helper()
	var out []uzda.SessionInfo
	for info, err := range st.(uzda.Lister).List(ctx) {
		if err != nil {
			s.Fatalf("list: %v", err)
		}
		out = append(out, info)
	}
	return out
}

// listed compares a list with what the events of each session say.
func (s *suite) listed(st uzda.Store, want ...uzda.SessionID) {
	s.Helper()
	var ids []uzda.SessionID
	for _, got := range s.list(st) {
		ids = append(ids, got.ID)
		info := uzda.SessionInfo{ID: got.ID}
		for _, e := range s.read(st, got.ID, 0) {
			info.Note(e)
			if got.Size > 0 { // it counts them
				line, err := uzda.Seal(&e, func(data []byte) (string, error) { return uzda.Hash(data), nil })
				s.must(err)
				info.Size += line.Size()
			}
		}
		if !got.Created.Equal(info.Created) || !got.Updated.Equal(info.Updated) {
			s.Errorf("session %s: from %s to %s, want %s to %s", got.ID, got.Created, got.Updated, info.Created, info.Updated)
		}
		got.Created, got.Updated = info.Created, info.Updated
		if got != info {
			s.Errorf("listed %+v\nwant   %+v", got, info)
		}
	}
	if !slices.Equal(ids, want) {
		s.Errorf("listed %v, want %v", ids, want)
	}
}
