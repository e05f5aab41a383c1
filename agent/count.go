package agent

import (
	"context"
	"fmt"
	"slices"

	"github.com/uzda-dev/uzda"
)

// counted is the size of the request of an ask, by the provider's own count.
type counted struct {
	next   next
	tokens int
	mail   int // bytes that were about to join then
}

const (
	leastReply = 1024 // tokens: with less room a request is not worth sending
	rateGuess  = 333  // tokens for 1,000 bytes, until a provider has counted some
	maxRate    = 4000 // tokens for 1,000 bytes, of a provider that counts in its own way
	calibrated = 400  // bytes from which on a count tells something of the rate
)

// projected estimates the tokens of the next request's input: what the provider
// counted last, and for what has joined since, the rate at which it counted before,
// with an eighth more.
func (s *State) projected() int {
	known, grown := s.parts()
	rate := rateGuess
	if s.Rate > 0 {
		rate = s.Rate + s.Rate/8
	}
	return known + grown*rate/1000 + 16
}

// likely is projected without the eighth, which would add up where one estimate rests
// on another.
func (s *State) likely() int {
	known, grown := s.parts()
	return known + grown*or(s.Rate, rateGuess)/1000
}

// parts are the tokens of the next request that are known, and the bytes of the rest.
func (s *State) parts() (known, grown int) {
	known, grown = s.Size, s.Grown
	switch {
	case s.Size == 0 && s.Weighed > 0: // mail that was weighed may have been taken away since
		known, grown = s.Weighed, max(grown-s.WeighedAt, -s.mail())
	case s.Size == 0:
		grown += s.fixed()
	}
	return known, grown + s.mail()
}

// mail is the size in bytes of what joins the view at the next ask.
func (s *State) mail() (n int) {
	for _, m := range s.Inbox {
		if !m.Turn || m.Seq == s.Turn.Seq {
			n += m.Message.Blocks.Size()
		}
	}
	return n
}

// fixed is the size in bytes of what every request begins with.
func (s *State) fixed() int {
	n := len(s.Gear.System)
	for _, t := range s.Gear.Tools {
		n += len(t.Name) + len(t.Description) + len(t.Input)
	}
	return n
}

// calibrate learns the rate from a count: what was sent since the last one, and
// how many tokens more that made.
func (s *State) calibrate(u uzda.Usage) {
	bytes, tokens := s.Grown, u.Context()-s.Size
	if s.Size == 0 {
		bytes += s.fixed()
	}
	if u.AtLeast || u.Context() == 0 || bytes < calibrated || tokens <= 0 {
		return
	}
	rate := min(max(tokens*1000/bytes, 50), maxRate)
	if s.Rate > 0 {
		rate = (3*s.Rate + rate) / 4
	}
	s.Rate = rate
}

// most is how long the next reply may be: longer after one that was cut.
func (s *State) most() int {
	most := or(s.Gear.Params.MaxTokens, 16384) << min(s.Turn.Short, retries)
	if out := s.Gear.Model.MaxOutput; out > 0 {
		most = min(most, out)
	}
	return most
}

// size is the size of a request to come, as well as it is known, with what has been
// posted since.
func (r *run) size(s *State, n next) int {
	since := func(mail int) int { return max(s.mail()-mail, 0) * or(s.Rate, rateGuess) / 1000 }
	switch {
	case r.counted.next == n && r.counted.tokens > 0:
		return r.counted.tokens + since(r.counted.mail)
	case r.plan.weighs(n) && (s.Rate == 0 || len(r.plan.Edits) > 0): // better than by the bytes
		return r.plan.Weighed.Total + since(r.plan.mail)
	}
	return s.projected()
}

// counts says whether the provider is to count ask n first: the estimate is near
// the end of the window, and enough of it is a guess; or it does not fit the
// budget, and the count may be less.
func (r *run) counts(s *State, n next) bool {
	if _, ok := r.Model.(uzda.Counter); !ok || r.counted.next == n {
		return false
	}
	tokens, window := r.size(s, n), s.window()
	return r.broke != nil || window > 0 && tokens > window*4/5 && tokens-s.Size > window/50
}

// count asks the provider, beside the loop. It never fails: without a count the
// estimate holds.
func (r *run) count(ctx context.Context, s *State, n next, a uzda.Asked) {
	g, mail := s.Fork(), s.mail()
	g.View = slices.Clone(s.View) // it is read while the loop goes on
	g.Fold(uzda.Event{Seq: g.Head + 1, Body: a})
	req := r.request(g, a)
	req.Enc = nil // the request may never be sent
	model := r.Model.(uzda.Counter)
	r.beside(ctx, "count", func(ctx context.Context) (l landed) {
		l.counted.next, l.counted.mail = n, mail
		defer func() {
			if p := recover(); p != nil {
				l.err = fmt.Errorf("the counter crashed: %v", p)
			}
		}()
		l.counted.tokens, l.err = model.Count(ctx, req)
		return l
	})
}

const tooLongHint = "shorten the session (`uzda compact`), begin a new one, or use a model with a larger window"

// tooLarge ends a turn whose next request would leave no room for a reply, or is
// far over the window even if the estimate is wrong by half.
func tooLarge(info uzda.ModelInfo, window, tokens int, counted bool) uzda.Body {
	how := "by an estimate"
	if counted {
		how = "by the provider's count"
	}
	return ending(uzda.ContextExhausted, fmt.Sprintf("the next request has %d tokens, %s, which leaves no room for a reply in the window of %s: that holds %d", tokens, how, info.ID, window),
		tooLongHint)[0].Body
}
