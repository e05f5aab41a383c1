package agent_test

import (
	"strings"
	"testing"

	"github.com/uzda-dev/uzda"
)

// What an attempt had said before it failed is recorded with it: the end of the
// turn, for want of money for the next, neither says nor charges it again. K1
func TestRefusedAttemptSaysNothingTwice(t *testing.T) {
	t.Parallel()
	j := mem()
	post(t, j, hello("1"))
	r := runner(&world{}, j)
	r.Prices = tariff{"remote/one": {Input: uzda.Dollar, Output: 5 * uzda.Dollar}, "remote/two": {Input: 10 * uzda.Dollar, Output: 50 * uzda.Dollar}}
	r.Limits.Cost = uzda.Dollar / 100
	r.Model = stream{chunks: []uzda.Chunk{
		uzda.Delta{Kind: "text", Text: "half an answer"},
		uzda.Attempt{N: 2, Model: "remote/two", Error: "busy", Usage: uzda.Usage{Input: 40, Output: 4}},
	}}
	s := run(t, r)
	b := kept[uzda.Broken](t, j)
	if reason(s) != uzda.MaxCost || len(b) != 1 || b[0].Text != "" || b[0].Usage.Total() != 0 || b[0].Cost != 0 {
		t.Errorf("%s: %+v", reason(s), b)
	}
	if settled, held, err := j.Spent(t.Context(), "turn:s/1"); err != nil || settled != 60_000_000 || held != 0 {
		t.Errorf("settled %s, held %s, %v", settled, held, err)
	}
}

// A count that is a lower bound teaches nothing of how many tokens a text has. M6
func TestProjectionIgnoresLowerBounds(t *testing.T) {
	t.Parallel()
	for _, atLeast := range []bool{false, true} {
		j := mem()
		post(t, j, uzda.Posted{ID: "1", Blocks: uzda.Say(strings.Repeat("word ", 1000))})
		r := runner(&world{}, j)
		r.Model = stream{chunks: []uzda.Chunk{uzda.Done{Block: uzda.Text{Text: "done"}}, uzda.Stop{Reason: uzda.StopEnd, Usage: uzda.Usage{Input: 1200, Output: 1, AtLeast: atLeast}}}}
		if s := run(t, r); (s.Rate == 0) != atLeast {
			t.Errorf("at least %v: the rate is %d", atLeast, s.Rate)
		}
	}
}

// Far from the end of the window nobody asks the provider to count. M6
func TestCountsOnlyNearTheEnd(t *testing.T) {
	t.Parallel()
	for words, want := range map[int]int{10_000: 0, 40_000: 1} {
		j, asked := mem(), 0
		post(t, j, uzda.Posted{ID: "1", Blocks: uzda.Say(strings.Repeat("a word ", words))})
		r := runner(&world{}, j)
		m := stream{chunks: []uzda.Chunk{uzda.Done{Block: uzda.Text{Text: "ok"}}, uzda.Stop{Reason: uzda.StopEnd, Usage: uzda.Usage{Input: 5000, Output: 1}}}}
		m.count = func(*uzda.Request) (int, error) { asked++; return 5000, nil }
		r.Model = counting{m}
		if s := run(t, r); reason(s) != uzda.EndTurn || asked != want {
			t.Errorf("%d words: %s, counted %d times", words, reason(s), asked)
		}
	}
}
