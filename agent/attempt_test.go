package agent_test

import (
	"context"
	"errors"
	"iter"
	"strings"
	"testing"

	"github.com/uzda-dev/uzda"
)

// stream is a remote model that yields what it is given, and after that an error.
type stream struct {
	remote
	chunks []uzda.Chunk
	err    error
	count  func(*uzda.Request) (int, error)
	max    *int // of the last request
}

func (m stream) Stream(_ context.Context, req *uzda.Request) iter.Seq2[uzda.Chunk, error] {
	return func(yield func(uzda.Chunk, error) bool) {
		if m.max != nil {
			*m.max = req.Max
		}
		for _, c := range m.chunks {
			if !yield(c, nil) {
				return
			}
		}
		if m.err != nil {
			yield(nil, m.err)
		}
	}
}

// counting is a stream whose provider counts.
type counting struct{ stream }

func (m counting) Count(_ context.Context, req *uzda.Request) (int, error) { return m.count(req) }

// tariff knows what some models cost.
type tariff map[string]uzda.Price

func (t tariff) Price(id string, _ int) (uzda.Price, bool) { p, ok := t[id]; return p, ok }

// Each attempt is held and paid for by itself: the first by what it used, the
// second at the price of the model that it went to. K1 K2 L5
func TestEachAttemptIsHeld(t *testing.T) {
	t.Parallel()
	done := []uzda.Chunk{
		uzda.Done{Block: uzda.Text{Text: "done"}},
		uzda.Stop{Reason: uzda.StopEnd, Usage: uzda.Usage{Input: 100, Output: 10}, Request: "req_7"},
	}
	dear, cheap := uzda.Price{Input: 10 * uzda.Dollar, Output: 50 * uzda.Dollar}, uzda.Price{Input: uzda.Dollar, Output: 5 * uzda.Dollar}
	prices := tariff{"remote/one": cheap, "remote/two": dear}
	for _, tt := range []struct {
		name   string
		again  uzda.Attempt
		limit  uzda.Money
		want   uzda.Reason
		spent  uzda.Money
		model  string
		events string
	}{
		{"same model", uzda.Attempt{N: 2, Error: "busy"}, uzda.Dollar, uzda.EndTurn, 150_000_000, "", "posted equipped asked tried said ended"},
		{"it was charged for", uzda.Attempt{N: 2, Error: "cut", Usage: uzda.Usage{Input: 40}}, uzda.Dollar, uzda.EndTurn, 190_000_000, "", "posted equipped asked tried used said ended"},
		{"a dearer one", uzda.Attempt{N: 2, Model: "remote/two", Error: "busy"}, uzda.Dollar, uzda.EndTurn, 1_500_000_000, "remote/two", "posted equipped asked tried said ended"},
		{"a free one", uzda.Attempt{N: 2, Model: "local/two", Free: true, Error: "busy"}, uzda.Dollar, uzda.EndTurn, 0, "local/two", "posted equipped asked tried said ended"},
		{"a dearer one that does not fit", uzda.Attempt{N: 2, Model: "remote/two", Error: "busy", Usage: uzda.Usage{Input: 40}}, uzda.Dollar / 100, uzda.MaxCost, 40_000_000, "", "posted equipped asked tried used broken ended"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			j := mem()
			post(t, j, hello("1"))
			r := runner(&world{}, j)
			r.Model, r.Prices, r.Limits.Cost = stream{chunks: append([]uzda.Chunk{tt.again}, done...)}, prices, tt.limit
			r.Folded = faithful(t, j)
			s := run(t, r)
			settled, held, err := j.Spent(t.Context(), "turn:s/1")
			if err != nil || reason(s) != tt.want || settled != tt.spent || held != 0 || s.Last.Cost != tt.spent || kinds(t, j) != tt.events {
				t.Fatalf("%s: settled %s, held %s, turn %s, %v: %s; want %s, %s", reason(s), settled, held, s.Last.Cost, err, kinds(t, j), tt.want, tt.spent)
			}
			if said := kept[uzda.Said](t, j); len(said) > 0 && (said[0].Model != tt.model || said[0].Request != "req_7") {
				t.Errorf("said by %q, request %q", said[0].Model, said[0].Request)
			}
			if tt.want == uzda.MaxCost && !strings.Contains(s.Ended.Detail, "over budget") {
				t.Errorf("the end says %q", s.Ended.Detail)
			}
		})
	}
}

// A ledger that fails between attempts stops the run, and nothing is sent again.
func TestAttemptOnABrokenLedger(t *testing.T) {
	t.Parallel()
	j := &brokenLedger{store: mem()}
	post(t, j, hello("1"))
	r := runner(&world{}, j)
	r.Model, r.Prices = stream{chunks: []uzda.Chunk{uzda.Attempt{N: 2, Error: "busy"}}}, prices{Input: uzda.Dollar}
	if _, err := r.Run(t.Context(), sid); !errors.Is(err, errBroken) {
		t.Errorf("the run ended with %v", err)
	}
}

var errBroken = errors.New("the disk is gone")

type brokenLedger struct{ store }

func (b *brokenLedger) Settle(context.Context, uzda.Settlement) error { return errBroken }

// A stream that breaks is charged for what its provider said, or for the input as
// projected and for all that had come, thoughts too; never for nothing.
// case:B03
func TestBrokenIsALowerBound(t *testing.T) {
	t.Parallel()
	thought := uzda.Delta{Kind: "thinking", Text: strings.Repeat("hm, ", 100)}
	for _, tt := range []struct {
		name   string
		model  stream
		in     int // 0: as projected
		out    int
		tokens bool
	}{
		{"refused", stream{err: &uzda.ProviderError{Code: "overloaded"}}, 0, 0, false},
		{"nothing came", stream{err: &uzda.ProviderError{Code: "network"}}, 0, 0, false},
		{"cut after a thought", stream{chunks: []uzda.Chunk{thought}, err: &uzda.ProviderError{Code: "cut"}}, 0, 100, true},
		{"the provider had said what it read", stream{chunks: []uzda.Chunk{thought}, err: &uzda.ProviderError{Code: "cut", Usage: uzda.Usage{Input: 7, CacheRead: 20}}}, 7, 100, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			j := mem()
			post(t, j, hello("1"))
			r := runner(&world{}, j)
			r.Model, r.Prices = tt.model, prices{Input: uzda.Dollar, Output: uzda.Dollar}
			s := run(t, r)
			b := kept[uzda.Broken](t, j)[0]
			if refused := b.Code == "overloaded"; b.Usage.AtLeast == refused || s.Guess == refused || b.Usage.Output != tt.out || (b.Usage.Input > 0) != tt.tokens || tt.in > 0 && b.Usage.Input != tt.in {
				t.Errorf("%+v", b.Usage)
			}
			if tt.tokens && b.Cost == 0 {
				t.Error("it cost nothing")
			}
		})
	}
}

// What a model warns of is recorded for people, once a session.
func TestWarnings(t *testing.T) {
	t.Parallel()
	j := mem()
	w := uzda.Warning{Code: "prompt_cut", Text: "the prompt was cut", Hint: "raise num_ctx"}
	for _, id := range []string{"1", "2"} {
		post(t, j, hello(id))
		r := runner(&world{}, j)
		r.Folded = faithful(t, j)
		r.Model = stream{chunks: []uzda.Chunk{w, w, uzda.Done{Block: uzda.Text{Text: "done"}}, uzda.Stop{Reason: uzda.StopEnd, Usage: uzda.Usage{Input: 1}}}}
		if s := run(t, r); reason(s) != uzda.EndTurn {
			t.Fatal(s.Ended)
		}
	}
	notes := kept[uzda.Noted](t, j)
	if len(notes) != 1 || notes[0].Text != "the prompt was cut\nraise num_ctx" || notes[0].By != "remote/one" {
		t.Errorf("%+v", notes)
	}
}

// The size of a request is what the provider counted last, and what has joined
// since at the rate at which it counted before. M6
func TestProjectionLearns(t *testing.T) {
	t.Parallel()
	j := mem()
	// A provider that counts a token for ten bytes.
	say := func(in int) stream {
		return stream{chunks: []uzda.Chunk{uzda.Done{Block: uzda.Text{Text: "ok"}}, uzda.Stop{Reason: uzda.StopEnd, Usage: uzda.Usage{Input: in, Output: 1}}}}
	}
	for i, in := range []int{500, 1001, 1502} {
		post(t, j, uzda.Posted{Blocks: uzda.Say(strings.Repeat("a word ", 714))}) // 4,998 bytes
		r := runner(&world{}, j)
		r.Tools, r.Model = nil, say(in)
		run(t, r)
		asked := kept[uzda.Asked](t, j)[i]
		projected := asked.Tokens - asked.Max
		if i == 0 && projected < 1600 { // before it knows: a token for three bytes
			t.Errorf("first projection %d", projected)
		}
		if i > 0 && (projected < in || projected > in+100) {
			t.Errorf("projection %d is %d, the provider counts %d", i, projected, in)
		}
	}
}

// Near the end of the window the provider is asked how large the request is; what
// leaves no room is not sent, and what does is asked for a reply that fits. M6
func TestCountsNearTheEnd(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		count int
		err   error
		want  uzda.Reason
		max   int
	}{
		{"it fits", 98_900, nil, uzda.EndTurn, 1000},
		{"far from full", 40_000, nil, uzda.EndTurn, 1000},
		{"no room", 99_900, nil, uzda.ContextExhausted, 0},
		{"no counter", 0, errors.ErrUnsupported, uzda.EndTurn, 1000},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			j, asked, most := mem(), 0, 0
			post(t, j, uzda.Posted{Blocks: uzda.Say(strings.Repeat("a word ", 40_000))})
			r := runner(&world{}, j)
			r.Folded = faithful(t, j)
			m := stream{max: &most, chunks: []uzda.Chunk{uzda.Done{Block: uzda.Text{Text: "ok"}}, uzda.Stop{Reason: uzda.StopEnd, Usage: uzda.Usage{Input: tt.count, Output: 1}}}}
			m.count = func(req *uzda.Request) (int, error) {
				if asked++; len(req.View) != 1 || req.Max != 1000 {
					t.Errorf("counted a request with %d messages and %d", len(req.View), req.Max)
				}
				return tt.count, tt.err
			}
			r.Model = counting{m}
			s := run(t, r)
			if reason(s) != tt.want || asked != 1 || most != tt.max {
				t.Fatalf("%s, counted %d times, asked for %d", reason(s), asked, most)
			}
			if a := kept[uzda.Asked](t, j); len(a) > 0 && a[0].Counted != (tt.err == nil) {
				t.Errorf("counted: %v", a[0].Counted)
			}
		})
	}
}

// What does not fit the budget as it was guessed may fit as it is counted. M6
func TestCountsForAReservation(t *testing.T) {
	t.Parallel()
	for count, want := range map[int]uzda.Reason{1000: uzda.EndTurn, 20_000: uzda.MaxCost} {
		j := mem()
		post(t, j, uzda.Posted{Blocks: uzda.Say(strings.Repeat("a word ", 4000))})
		r := runner(&world{}, j)
		m := stream{chunks: []uzda.Chunk{uzda.Done{Block: uzda.Text{Text: "ok"}}, uzda.Stop{Reason: uzda.StopEnd, Usage: uzda.Usage{Input: count, Output: 1}}}}
		m.count = func(*uzda.Request) (int, error) { return count, nil }
		r.Model, r.Prices, r.Limits = counting{m}, prices{Input: uzda.Dollar}, uzda.Limits{Cost: uzda.Dollar / 200}
		if s := run(t, r); reason(s) != want {
			t.Errorf("counted %d: %s (%s)", count, reason(s), s.Ended.Detail)
		}
	}
}

var _ uzda.Counter = counting{}
