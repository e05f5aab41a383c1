package agent

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"runtime/debug"
	"strings"
	"time"

	"github.com/uzda-dev/uzda"
)

// request is the request of an ask, after s has folded it.
func (r *run) request(s *State, a uzda.Asked) *uzda.Request {
	return &uzda.Request{Session: r.id, Agent: s.Opened.Agent, View: s.View[:len(s.View):len(s.View)], Gen: s.Gen, HeadGen: s.GearGen,
		Tail: a.Tail, Max: a.Max, Ask: a.Ordinal, Enc: &r.enc,
		Head: uzda.Head{Model: s.Gear.Model.ID, System: s.Gear.System, Tools: s.Gear.Tools, Params: s.Gear.Params}}
}

// asking is one ask with all its attempts.
type asking struct {
	*run
	key      string // of what is in flight
	model    uzda.Model
	name     string // of its holds
	a        uzda.Asked
	info     uzda.ModelInfo // of the attempt in flight
	hold     uzda.Hold      // of the attempt in flight; no ID: none
	accounts []uzda.Account
	shown    int       // bytes of deltas of the attempt in flight
	waits    time.Time // until then the attempt in flight is not sent
	crew     *crew
	took     func(uzda.Used, *uzda.Settlement) // see side; nil: bodies land
}

// ask streams one reply. It never fails: what goes wrong is part of the body.
func (k *asking) ask(ctx context.Context, req *uzda.Request) (l landed) {
	var reply uzda.Reply
	defer func() {
		if p := recover(); p != nil {
			k.debug("the model crashed", "session", k.id, "panic", p, "stack", string(debug.Stack()))
			l = k.broken(ctx, reply, &uzda.ProviderError{Code: codeCrash, Message: fmt.Sprintf("the model's adapter crashed: %v", p)})
		}
	}()
	live := k.live(k.a.Ordinal)
	reply, err := uzda.Collect(k.attempts(ctx, req), func(c uzda.Chunk) {
		switch c := c.(type) {
		case uzda.Delta:
			k.shown += len(c.Text)
			live.delta(c)
		case uzda.Stop:
			live.end()
		case uzda.Attempt:
			live.drop()
			k.tell(uzda.Restarted{Ask: k.a.Ordinal, Error: k.brief(c.Error)})
		case uzda.Warning:
			k.warn(ctx, c)
		}
	})
	if err != nil {
		return k.broken(ctx, reply, err)
	}
	s := uzda.Said{Raw: k.brief(reply.Stop.Raw), Detail: k.brief(reply.Stop.Detail), Usage: sane(reply.Stop.Usage), Request: k.brief(reply.Stop.Request)}
	s.Message, s.Stop = mend(reply.Message, reply.Stop.Reason)
	k.mask(&s.Message)
	if k.info.ID != k.a.Model {
		s.Model = k.info.ID
	}
	if err := fits(s, heft(s.Message.Blocks)); err != nil {
		return k.broken(ctx, uzda.Reply{Stop: reply.Stop}, &uzda.ProviderError{Code: "unknown", Message: "the reply can't be recorded: " + err.Error()})
	}
	charged := s.Usage
	if charged.AtLeast && charged.Context() == 0 { // nobody counted what was read, but it is paid for
		charged.Input = k.a.Tokens - k.a.Max
	}
	var known bool
	s.Cost, known = k.price(k.info, charged)
	s.Unknown = !known
	return k.landed(s, s.Cost)
}

func (k *asking) landed(b uzda.Body, cost uzda.Money) landed {
	l := landed{bodies: []uzda.Body{b}}
	if k.hold.ID != "" {
		l.settle = &uzda.Settlement{ID: k.hold.ID, Spent: cost}
	}
	return l
}

// attempts passes the stream on. A model that is about to try again is let only
// once the ledger has taken the new attempt.
func (k *asking) attempts(ctx context.Context, req *uzda.Request) iter.Seq2[uzda.Chunk, error] {
	return func(yield func(uzda.Chunk, error) bool) {
		for c, err := range k.model.Stream(ctx, req) {
			if a, ok := c.(uzda.Attempt); ok && err == nil {
				err = k.again(context.WithoutCancel(ctx), a)
			}
			if !yield(c, err) || err != nil {
				return
			}
		}
	}
}

// again settles the attempt that failed by what it used, and reserves the worst
// case of the next.
func (k *asking) again(ctx context.Context, a uzda.Attempt) error {
	a.Usage = sane(a.Usage)
	k.shown, k.waits = 0, k.now().Add(time.Duration(a.WaitMS)*time.Millisecond)
	a.Error = k.brief(a.Error)
	bodies := []uzda.Body{uzda.Tried{Ask: k.a.Ordinal, Attempt: a}}
	if k.took != nil { // only what is paid counts there
		bodies = nil
	}
	var cost uzda.Money
	if a.Usage.Total() > 0 {
		u := uzda.Used{For: "retry", Model: k.info.ID, Usage: a.Usage}
		u.Usage.AtLeast = true
		var known bool
		u.Cost, known = k.price(k.info, u.Usage)
		u.Unknown, cost = !known, u.Cost
		if k.took != nil {
			k.took(u, nil)
		} else {
			bodies = append(bodies, u)
		}
	}
	if len(bodies) > 0 {
		k.begin(k.arrive(k.crew, landed{key: k.key, more: true, bodies: bodies}))
	}
	if k.hold.ID != "" {
		if err := k.ledger.Settle(ctx, uzda.Settlement{ID: k.hold.ID, Spent: cost}); err != nil {
			return &uzda.ProviderError{Code: codeStore, Message: "settle an attempt: " + err.Error(), Err: err}
		}
		k.hold = uzda.Hold{}
	}
	if a.Model != "" && a.Model != k.info.ID {
		k.info = uzda.ModelInfo{ID: a.Model, Free: a.Free}
	}
	amount := k.worst(k.info, k.a.Tokens-k.a.Max, k.a.Max)
	if amount == 0 || k.ledger == nil {
		return nil
	}
	hold := uzda.Hold{ID: fmt.Sprintf("%s/%d.%s.%d", k.id, k.epoch, k.name, a.N), Amount: amount, Accounts: k.accounts}
	if err := k.ledger.Reserve(ctx, hold); errors.Is(err, uzda.ErrBudget) {
		return &uzda.ProviderError{Code: codeBudget, Message: err.Error(), Hint: hintOver[uzda.MaxCost], Err: err}
	} else if err != nil {
		return &uzda.ProviderError{Code: codeStore, Message: "reserve an attempt: " + err.Error(), Err: err}
	}
	k.hold = hold
	return nil
}

// warn records a warning as a remark for people, beside the loop: it must not
// wait for the reply. The journal keeps the first of each code.
func (k *asking) warn(ctx context.Context, w uzda.Warning) {
	n := uzda.Noted{ID: "model-" + w.Code, Text: k.brief(strings.TrimSpace(w.Text + "\n" + w.Hint)), By: k.info.ID}
	if _, err := k.Store.Append(context.WithoutCancel(ctx), k.id, uzda.At{Head: uzda.SomeHead}, n); err != nil {
		k.debug("record a warning", "session", k.id, "warning", w.Text, "error", err)
	}
}

// Codes of a reply that did not come, besides those of [uzda.ProviderError].
const (
	codeCut     = "cut"      // the stream ended without a stop: it is asked for once more
	codeLost    = "network"  // nothing came
	codeCrash   = "internal" // the adapter panicked
	codeBudget  = "budget"   // the next attempt did not fit
	codeContext = "context"  // the request is too long for the model
	codeStore   = "storage"  // the ledger failed
)

// broken describes a reply that did not come. Providers charge for what they
// read and said up to a cut, mostly without telling how much that was: then the
// input as it was projected, and a token for four bytes of what had come. A
// request that was refused, or never arrived, costs nothing.
func (k *asking) broken(ctx context.Context, reply uzda.Reply, err error) landed {
	a := k.a
	b := uzda.Broken{Text: k.own(strings.ToValidUTF8(partial(reply), "\uFFFD")), Usage: reply.Stop.Usage, Code: codeCut, Error: err.Error()}
	var p *uzda.ProviderError
	if errors.As(err, &p) {
		b.Code, b.Error, b.Hint = p.Code, p.Error(), p.Hint
		b.Tokens, b.Window = min(max(p.Tokens, 0), maxCount), min(max(p.Window, 0), maxCount)
		if b.Usage == (uzda.Usage{}) {
			b.Usage = p.Usage
		}
	}
	if cause := context.Cause(ctx); cause != nil {
		b.Code, b.Error, b.Hint = "cancelled", "cancelled", ""
		if errors.Is(cause, errTime) {
			b.Code, b.Error = "timeout", cause.Error()
		}
	}
	if b.Code == codeBudget {
		b.Error = p.Message
	}
	b.Error, b.Hint, b.Usage = k.brief(b.Error), k.brief(b.Hint), sane(b.Usage)
	size := max(reply.Message.Blocks.Size()+len(reply.Partial), k.shown)
	began := size > 0 || ctx.Err() != nil && !k.now().Before(k.waits) || b.Code == codeCut || b.Code == codeCrash
	if b.Code == codeBudget || b.Code == codeStore { // the next attempt was not sent, and the last is recorded
		b.Text, b.Usage, began, size = "", uzda.Usage{}, false, 0
	}
	if began && b.Usage.Context() == 0 {
		b.Usage.Input = a.Tokens - a.Max
	}
	if b.Usage.Output == 0 {
		b.Usage.Output = (size + 3) / 4
	}
	// What was refused is known to cost nothing; what never answered may have been read.
	b.Usage.AtLeast = began || b.Usage != (uzda.Usage{}) || b.Code == codeLost
	var known bool
	b.Cost, known = k.price(k.info, b.Usage)
	b.Unknown = !known && b.Cost > 0
	if b.Code == codeCut {
		k.tell(uzda.Restarted{Ask: a.Ordinal, Error: b.Error})
	}
	l := k.landed(b, b.Cost)
	if b.Code == codeStore {
		l.err = err
	}
	return l
}

// sane takes counts that no call can have for ones that can be added up.
func sane(u uzda.Usage) uzda.Usage {
	for _, n := range []*int{&u.Input, &u.Output, &u.CacheRead, &u.CacheWrite, &u.CacheLong} {
		if *n < 0 || *n > maxCount {
			*n, u.AtLeast = min(max(*n, 0), maxCount), true
		}
	}
	return u
}

const maxCount = 1 << 30

func partial(r uzda.Reply) string {
	return strings.TrimSpace(r.Message.String() + "\n" + r.Partial)
}
