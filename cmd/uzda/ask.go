package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/cost"
)

// An asking is a request to a model outside of any session, by a command that
// looks at the model: what came, and what it took.
type asking struct {
	reply    uzda.Reply
	took     time.Duration
	first    time.Duration // until the first piece of the reply
	pieces   int
	warnings []uzda.Warning
	attempts []uzda.Attempt
	cost     uzda.Money
	known    bool // the price is
	free     bool
}

// mostAsked is the longest reply of such a request in tokens: enough for a model
// that thinks first.
const mostAsked = 1024

// ask sends one request. It counts against the budgets of a turn and of the day:
// the worst case of each attempt is reserved before, and settled by what it used.
func (w *work) ask(ctx context.Context, m uzda.Model, req *uzda.Request) (a asking, err error) {
	info := describe(m)
	req.Max = mostAsked
	if info.MaxOutput > 0 {
		req.Max = min(req.Max, info.MaxOutput)
	}
	short, cancel := context.WithTimeoutCause(ctx, w.cfg.Limits.Time, fmt.Errorf("no whole reply came within limits.max_time, %s", w.cfg.Limits.Time))
	defer cancel()
	p := &paying{work: w, ctx: ctx, info: info, req: req, known: true}
	if err := p.reserve(); err != nil {
		return a, err
	}
	began := time.Now()
	a.reply, err = uzda.Collect(p.stream(short, m), func(c uzda.Chunk) {
		switch c := c.(type) {
		case uzda.Delta:
			if a.pieces++; a.pieces == 1 {
				a.first = time.Since(began)
			}
		case uzda.Warning:
			a.warnings = append(a.warnings, c)
		case uzda.Attempt:
			a.attempts = append(a.attempts, c)
			a.pieces = 0
		}
	})
	a.took = time.Since(began)
	var broke *uzda.ProviderError
	used := a.reply.Stop.Usage
	if errors.As(err, &broke) {
		used = broke.Usage
	}
	if settled := p.settle(used); settled != nil && err == nil {
		err = settled
	}
	a.cost, a.known, a.free = p.cost, p.known, p.info.Free
	if stopped := interrupted(ctx); stopped != nil {
		err = stopped
	} else if cause := context.Cause(short); err != nil && cause != nil {
		err = cause
	}
	return a, err
}

// interrupted ends a command that somebody has stopped.
func interrupted(ctx context.Context) error {
	if ctx.Err() == nil {
		return nil
	}
	return fail(uzda.CancelledByUser, "", "%v", context.Cause(ctx))
}

func describe(m uzda.Model) uzda.ModelInfo {
	if d, ok := m.(uzda.Describer); ok {
		return d.Describe()
	}
	return uzda.ModelInfo{ID: "unnamed"}
}

// paying holds the worst case of an attempt in the ledger of the store until it is
// known what it used.
type paying struct {
	*work
	ctx   context.Context // of the command; what was spent is settled in any case
	info  uzda.ModelInfo  // of the attempt under way
	req   *uzda.Request
	hold  string // id; "" if nothing is held
	cost  uzda.Money
	known bool
}

// stream passes a stream on. A model that is about to try again is let only once
// the ledger has taken the new attempt.
func (p *paying) stream(ctx context.Context, m uzda.Model) iter.Seq2[uzda.Chunk, error] {
	return func(yield func(uzda.Chunk, error) bool) {
		for c, err := range m.Stream(ctx, p.req) {
			if a, ok := c.(uzda.Attempt); ok && err == nil {
				if err = p.settle(a.Usage); err == nil {
					if a.Model != "" {
						p.info = uzda.ModelInfo{ID: a.Model, Free: a.Free}
					}
					err = p.reserve()
				}
			}
			if !yield(c, err) || err != nil {
				return
			}
		}
	}
}

func (p *paying) reserve() error {
	if p.info.Free {
		return nil
	}
	if p.store == nil {
		if err := p.openStore(); err != nil {
			return err
		}
	}
	ledger, ok := p.store.(uzda.Ledger)
	if !ok {
		return nil
	}
	if p.purse == "" {
		p.purse = "turn:" + rand.Text()
	}
	input := sizeOf(p.req)
	price, _ := p.prices.Price(p.info.ID, input)
	price.Input = max(price.Input, price.CacheWrite)
	h := uzda.Hold{ID: rand.Text(), Amount: price.Of(uzda.Usage{Input: input, Output: p.req.Max}), Accounts: []uzda.Account{
		{Name: p.purse, Limit: p.cfg.Limits.Cost},
		{Name: "day:" + p.now().UTC().Format(time.DateOnly), Limit: p.cfg.Limits.DayCost},
	}}
	if err := ledger.Reserve(p.ctx, h); errors.Is(err, uzda.ErrBudget) {
		return fail(uzda.MaxCost, "raise limits.max_cost or budget.day", "%v", err)
	} else if err != nil {
		return fail(uzda.StorageError, "`uzda doctor` looks at the store", "%v", err)
	}
	p.hold = h.ID
	return nil
}

// settle books what an attempt used.
func (p *paying) settle(u uzda.Usage) error {
	var spent uzda.Money
	if !p.info.Free && u.Total() > 0 {
		price, known := p.prices.Price(p.info.ID, u.Context())
		spent, p.known = price.Of(u), p.known && known
	}
	p.cost += spent
	if p.hold == "" {
		return nil
	}
	id := p.hold
	p.hold = ""
	if err := p.store.(uzda.Ledger).Settle(context.WithoutCancel(p.ctx), uzda.Settlement{ID: id, Spent: spent}); err != nil {
		return fail(uzda.StorageError, "`uzda doctor` looks at the store", "%v", err)
	}
	return nil
}

// sizeOf estimates the tokens of a request, three bytes each.
func sizeOf(req *uzda.Request) int {
	n := len(req.Head.System) + len(req.Head.Params.Schema)
	for _, t := range req.Head.Tools {
		n += len(t.Name) + len(t.Description) + len(t.Input)
	}
	for _, e := range req.View {
		n += e.Message.Blocks.Size()
	}
	const frame = 500 // what the provider adds
	return n/3 + frame
}

// say makes a request with one message. The model thinks as little as it can, if
// the settings do not say otherwise; a choice of theirs is of other tools.
func (w *work) say(t target, text string) *uzda.Request {
	p := t.Params
	p.Choice = ""
	if words := w.prices.Efforts(t.ID); p.Effort == "" && slices.Contains(words, "low") && !w.prices.Model(t.ID).Lacks(cost.Effort) {
		p.Effort = "low"
	}
	return &uzda.Request{Session: "doctor", Ask: 1, Enc: &uzda.Enc{}, Head: uzda.Head{Model: t.ID, Params: p},
		View: []uzda.Entry{{Seq: 2, Message: uzda.Message{Role: uzda.User, Blocks: uzda.Say(text)}}}}
}

// bill says what a request took: seconds, tokens, dollars.
func (a asking) bill() string {
	u := a.reply.Stop.Usage
	money := "cost unknown"
	switch {
	case a.free:
		money = "free"
	case a.known:
		money = short(a.cost)
		if u.AtLeast {
			money = "at least " + money
		}
	}
	return fmt.Sprintf("%.1f s · %s tokens in, %s out · %s", a.took.Seconds(), thousands(u.Context()), thousands(u.Output), money)
}
