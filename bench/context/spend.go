package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

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
	alone  bool // no model may be asked for summaries
	view   []uzda.Entry
	last   []uzda.Entry // of the request before
	spent  spent

	compacted, missed int // as the state counts them
}

func play(ctx context.Context, t talk, budget int, alone bool) (spent, error) {
	p := player{talk: t, budget: budget, alone: alone}
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
		Model: uzda.ModelInfo{ID: p.talk.head.Model, Window: 4 * p.budget}, Budget: p.budget, Counted: true,
		Compacted: p.compacted, Missed: p.missed}
	if !p.alone {
		v.Side = p.side
	}
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
		p.count(plan)
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

func (p *player) count(plan uzda.Plan) {
	p.spent.edits += len(plan.Edits)
	p.missed += len(plan.Missed)
	for _, e := range plan.Edits {
		switch e.What {
		case uzda.MoveCompact:
			p.compacted, p.missed = p.compacted+1, 0
		case uzda.MoveHandover:
			p.compacted, p.missed = 0, 0
		}
	}
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

// A saving compares the talks of a set without a planner and under each of plays.
type saving struct {
	set    string
	talks  int
	before spent
	after  []spent
}

// A way is a budget as a share of the largest request of a talk, with summaries or by
// code alone.
type way struct {
	share float64
	alone bool
}

func plays() []way { return []way{{0.5, false}, {0.5, true}, {0.25, false}, {0.25, true}} }

func save(ctx context.Context, talks []talk) ([]saving, error) {
	var out []saving
	for _, t := range talks {
		before, err := play(ctx, t, 0, true)
		if err != nil {
			return nil, err
		}
		i := slices.IndexFunc(out, func(s saving) bool { return s.set == t.set })
		if i < 0 {
			i = len(out)
			out = append(out, saving{set: t.set, after: make([]spent, len(plays()))})
		}
		out[i].talks++
		out[i].before.add(before)
		for j, w := range plays() {
			after, err := play(ctx, t, max(int(w.share*float64(before.largest)), 1), w.alone)
			if err != nil {
				return nil, err
			}
			out[i].after[j].add(after)
		}
	}
	return out, nil
}

// saved writes savings as Markdown: of each way, what is left of tokens, of dollars
// where nothing is cached, and of dollars where all is that can be; in brackets the
// requests for summaries.
func saved(w io.Writer, rows []saving) error {
	var b strings.Builder
	b.WriteString("| data | conversations, requests | largest | input tokens |")
	for _, p := range plays() {
		name := "with summaries"
		if p.alone {
			name = "by code alone"
		}
		fmt.Fprintf(&b, " %.0f %%, %s |", 100*p.share, name)
	}
	b.WriteString("\n|---|---|---|---|" + strings.Repeat("---|", len(plays())) + "\n")
	for _, r := range rows {
		x := r.before
		fmt.Fprintf(&b, "| %s | %d, %d | %.1fk | %.0fk |", r.set, r.talks, x.requests, float64(x.largest)/1000, float64(x.tokens)/1000)
		for _, y := range r.after {
			fmt.Fprintf(&b, " %.2f, %.2f, %.2f", part(y.tokens, x.tokens), ratio(y.full, x.full), ratio(y.cached, x.cached))
			if y.summaries > 0 {
				fmt.Fprintf(&b, " (%d)", y.summaries)
			}
			b.WriteString(" |")
		}
		b.WriteByte('\n')
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func ratio(x, y uzda.Money) float64 { return float64(x) / float64(max(y, 1)) }
