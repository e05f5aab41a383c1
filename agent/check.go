package agent

import (
	"context"
	"errors"
	"fmt"

	"github.com/uzda-dev/uzda"
)

// verified begins the check, or ends the turn where its hold did not fit.
func (r *run) verified(ctx context.Context, f *State) []uzda.Body {
	if r.broke != nil {
		return r.tooDear(f)
	}
	w, hold := f.work(r.id), uzda.Hold{}
	if paid, ok := r.Verify.(Paid); ok && r.ledger != nil {
		in, out := bound(r.Verify, w)
		if amount := r.worst(paid.Model(), in, out); amount > 0 {
			r.checks++
			hold = uzda.Hold{ID: fmt.Sprintf("%s/%d.check%d", r.id, r.epoch, r.checks), Amount: amount, Accounts: r.accounts(f)}
		}
	}
	r.beside(ctx, "verify", func(ctx context.Context) landed { return r.verify(ctx, w, hold) })
	return nil
}

// verdictSize is the most of a check's text that the model reads, in bytes; its
// end, since commands say there what is wrong.
const verdictSize = 32_000

func bound(v Verifier, w Work) (input, output int) {
	if b, ok := v.(Bounded); ok {
		return b.Bound(w)
	}
	return (len(w.Task)+len(w.Answer))/2 + 4096, 16384
}

// verify checks. A check that could not be made is one that failed; only what
// the ledger says is an error.
func (r *run) verify(ctx context.Context, w Work, hold uzda.Hold) (l landed) {
	if hold.ID != "" {
		if err := r.ledger.Reserve(ctx, hold); err != nil {
			return landed{err: fmt.Errorf("reserve %s for the check %q: %w", hold.Amount, r.Verify, err)}
		}
	}
	b := uzda.Verified{By: r.own(r.Verify.String())}
	defer func() {
		if p := recover(); p != nil { // a hold that nobody settles counts as spent
			b.OK, b.Blocks = false, uzda.Say(r.brief(fmt.Sprintf("The check %s crashed: %v", b.By, p)))
			l = landed{bodies: []uzda.Body{b}}
		}
	}()
	var text string
	var err error
	if paid, ok := r.Verify.(Paid); ok {
		var u uzda.Used
		b.OK, text, u, err = r.pay(ctx, paid, w)
		l.bodies = append(l.bodies, u)
		if hold.ID != "" {
			l.settle = &uzda.Settlement{ID: hold.ID, Spent: u.Cost}
		}
	} else {
		b.OK, text, err = r.Verify.Verify(ctx, w)
	}
	if ctx.Err() != nil {
		if !errors.Is(context.Cause(ctx), errTime) {
			return l // cancelled
		}
		err = errTime // recorded, so that the turn ends by it and the check does not begin again
	}
	if err != nil {
		b.OK, text = false, fmt.Sprintf("The check could not be made: %v", err)
	}
	if !b.OK {
		b.Blocks = Clean(r.Redact, uzda.Say(uzda.After(text, verdictSize)))
	}
	l.bodies = append(l.bodies, b)
	return l
}

// pay asks a paid verifier, and says what that cost.
func (r *run) pay(ctx context.Context, v Paid, w Work) (ok bool, text string, used uzda.Used, err error) {
	info := v.Model()
	used = uzda.Used{For: "verify", Model: info.ID}
	ok, text, used.Usage, err = v.Ask(ctx, w)
	if err != nil && used.Usage.Total() == 0 {
		used.Usage.AtLeast = true
		if !refusedBy(err) { // it was cut, and is charged for what it read
			used.Usage.Input, _ = bound(v, w)
		}
	}
	var known bool
	used.Cost, known = r.price(info, used.Usage)
	used.Unknown = !known || used.Usage.AtLeast
	return ok, text, used, err
}

// refusedBy says whether a provider has refused a request, which costs nothing.
func refusedBy(err error) bool {
	var p *uzda.ProviderError
	return errors.As(err, &p) && p.Code != codeCut && p.Code != codeCrash
}
