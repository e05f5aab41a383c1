package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/window"
)

// A talk is a conversation to be played request by request: each of its messages
// that is the model's was asked for with all before it.
type talk struct {
	set     string
	name    string
	head    uzda.Head
	entries []uzda.Entry
	factor  float64 // the provider's tokens over ours
	price   uzda.Price
}

// spent is what the requests of a talk take.
type spent struct {
	requests  int
	tokens    int        // of input, in all requests
	largest   int        // request
	full      uzda.Money // where nothing is cached
	cached    uzda.Money // where each request reads what it shares with the one before, and writes the rest
	summaries int        // requests for summaries; their tokens and money are in the sums
	edits     int
}

func (s *spent) add(t spent) {
	s.requests, s.tokens, s.largest = s.requests+t.requests, s.tokens+t.tokens, max(s.largest, t.largest)
	s.full, s.cached = s.full+t.full, s.cached+t.cached
	s.summaries, s.edits = s.summaries+t.summaries, s.edits+t.edits
}

// player plays a talk under a budget; 0 is none, and no planner.
type player struct {
	talk   talk
	budget int
	view   []uzda.Entry
	last   []uzda.Entry // of the request before
	spent  spent
}

func play(ctx context.Context, t talk, budget int) (spent, error) {
	p := player{talk: t, budget: budget}
	for i, e := range t.entries {
		if e.Message.Role == uzda.Assistant && i > 0 {
			if err := p.ask(ctx); err != nil {
				return spent{}, fmt.Errorf("play %s: %w", t.name, err)
			}
		}
		p.view = append(p.view, e)
	}
	if n := len(t.entries); n > 0 && t.entries[n-1].Message.Role == uzda.User {
		if err := p.ask(ctx); err != nil {
			return spent{}, fmt.Errorf("play %s: %w", t.name, err)
		}
	}
	return p.spent, nil
}

// ask is one request, after what the planner does.
func (p *player) ask(ctx context.Context) error {
	p.spent.requests++
	v := uzda.View{Session: "talk", Ask: p.spent.requests, Head: p.talk.head, Entries: p.view, Fixed: fixedFrom(p.view),
		Model: uzda.ModelInfo{ID: p.talk.head.Model, Window: 4 * p.budget}, Budget: p.budget, Counted: true, Side: p.side}
	last := p.view[len(p.view)-1].Message
	v.First = len(last.Results()) == 0
	v.Tokens = p.size(p.view)
	if p.budget > 0 && (v.First || float64(v.Tokens) >= window.WarningAt*float64(p.budget)) {
		plan, err := window.Planner{}.Plan(ctx, v)
		if err != nil {
			return err
		}
		if p.view, err = applied(p.view, plan.Edits); err != nil {
			return err
		}
		p.spent.edits += len(plan.Edits)
	}
	all := p.size(p.view)
	same := p.size(p.view[:p.shared()])
	if p.spent.requests == 1 {
		same = 0
	}
	p.spent.tokens, p.spent.largest = p.spent.tokens+all, max(p.spent.largest, all)
	p.spent.full += p.talk.price.Of(uzda.Usage{Input: all})
	p.spent.cached += p.talk.price.Of(uzda.Usage{CacheRead: same, CacheWrite: all - same})
	p.last = slices.Clone(p.view)
	return nil
}

// shared is how many messages the request has in common with the one before.
func (p *player) shared() int {
	n := 0
	for n < min(len(p.last), len(p.view)) && read(p.last[n:n+1]) == read(p.view[n:n+1]) {
		n++
	}
	return n
}

func (p *player) size(view []uzda.Entry) int {
	v := uzda.View{Head: p.talk.head, Entries: view}
	return int(float64(window.Weigh(v).Total) * p.talk.factor)
}

// side makes summaries, and counts what they take.
func (p *player) side(ctx context.Context, m uzda.Model, req *uzda.Request) (uzda.Reply, error) {
	r, err := firstSentences(ctx, m, req)
	u := uzda.Usage{Input: int(float64(r.Stop.Usage.Input) * p.talk.factor), Output: int(float64(window.Estimate(r.Message.String())) * p.talk.factor)}
	p.spent.summaries++
	p.spent.tokens += u.Input
	p.spent.full += p.talk.price.Of(u)
	p.spent.cached += p.talk.price.Of(u)
	return r, err
}

// talkOf is a story as a talk.
func talkOf(s *story, price uzda.Price) talk {
	return talk{set: s.set, name: string(s.id), head: s.head, entries: s.entries(), factor: 1, price: price}
}

// A saving compares the same talks without a planner and under budgets that are
// half of the largest request of each.
type saving struct {
	set    string
	talks  int
	before spent
	after  spent
	moved  int // talks in which anything was done
}

func save(ctx context.Context, talks []talk, share float64) ([]saving, error) {
	var out []saving
	for _, t := range talks {
		before, err := play(ctx, t, 0)
		if err != nil {
			return nil, err
		}
		after, err := play(ctx, t, max(int(share*float64(before.largest)), 1))
		if err != nil {
			return nil, err
		}
		i := slices.IndexFunc(out, func(s saving) bool { return s.set == t.set })
		if i < 0 {
			i = len(out)
			out = append(out, saving{set: t.set})
		}
		s := &out[i]
		s.talks++
		s.before.add(before)
		s.after.add(after)
		if after.edits > 0 {
			s.moved++
		}
	}
	return out, nil
}
