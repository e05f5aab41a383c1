package agent

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/uzda-dev/uzda"
)

// side asks models beside the session, at the cost of its turn.
type side struct {
	*run
	asks     int // the ask that it is for
	crew     *crew
	info     uzda.ModelInfo // of the session's own model
	rate     int
	accounts []uzda.Account
	// took records what a request used; nil: as an outcome of the run.
	took func(uzda.Used, *uzda.Settlement)

	mu   sync.Mutex
	open []uzda.Hold // of requests in flight
	left bool        // nobody waits for it any more
	cost uzda.Money
}

var errLeft = errors.New("the turn has gone on without this plan")

// ask sends one request: see [uzda.View.Side].
func (s *side) ask(ctx context.Context, m uzda.Model, req *uzda.Request) (reply uzda.Reply, err error) {
	if err := ctx.Err(); err != nil {
		return uzda.Reply{}, err
	}
	info := s.info
	if m == nil {
		m = s.Model
	} else if d, ok := m.(uzda.Describer); ok {
		info = d.Describe()
	} else {
		info = uzda.ModelInfo{ID: "unnamed"}
	}
	input := len(req.Head.System)
	for _, e := range req.View {
		input += e.Message.Blocks.Size()
	}
	rate := or(s.rate, rateGuess)
	input = input*(rate+rate/8)/1000 + 64
	own := *req
	own.Session = s.id
	k := &asking{run: s.run, key: "plan", model: m, name: fmt.Sprintf("%d.side%d", s.asks, s.sides.Add(1)), info: info,
		accounts: s.accounts, crew: s.crew, took: s.took,
		a: uzda.Asked{Ordinal: s.asks, Model: info.ID, Tokens: input + req.Max, Max: req.Max}}
	if err := s.reserve(ctx, k); err != nil {
		return uzda.Reply{}, err
	}
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the model's adapter crashed: %v", p)
			s.record(k, uzda.Used{For: req.Agent, Model: k.info.ID, Usage: uzda.Usage{AtLeast: true}, Cost: k.hold.Amount})
		}
	}()
	reply, err = uzda.Collect(k.attempts(ctx, &own), nil)
	s.record(k, s.used(k, req.Agent, reply, err))
	return reply, err
}

// reserve takes the worst case of a request from the ledger.
func (s *side) reserve(ctx context.Context, k *asking) error {
	if amount := s.worst(k.info, k.a.Tokens-k.a.Max, k.a.Max); amount > 0 && s.ledger != nil {
		hold := uzda.Hold{ID: fmt.Sprintf("%s/%d.%s", s.id, s.epoch, k.name), Amount: amount, Accounts: s.accounts}
		if err := s.ledger.Reserve(context.WithoutCancel(ctx), hold); err != nil {
			return fmt.Errorf("reserve %s for a request beside the session: %w", amount, err)
		}
		k.hold = hold
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.left {
		return errLeft
	}
	if k.hold.ID != "" {
		s.open = append(s.open, k.hold)
	}
	return nil
}

// used is what a request cost. Of one that was cut, or whose provider says nothing, it
// is the input as it was projected, and a token for four bytes of what had come.
func (s *side) used(k *asking, purpose string, reply uzda.Reply, err error) uzda.Used {
	u := uzda.Used{For: purpose, Model: k.info.ID, Usage: sane(reply.Stop.Usage)}
	var p *uzda.ProviderError
	if err != nil && u.Usage.Total() == 0 && errors.As(err, &p) {
		u.Usage = sane(p.Usage)
	}
	came := reply.Message.Blocks.Size() + len(reply.Partial)
	if began := err == nil || came > 0 || !refusedBy(err); began && u.Usage.Context() == 0 {
		u.Usage.Input, u.Usage.AtLeast = k.a.Tokens-k.a.Max, true
		u.Usage.Output = max(u.Usage.Output, (came+3)/4)
	}
	u.Usage.AtLeast = u.Usage.AtLeast || err != nil && u.Usage.Total() > 0
	var known bool
	u.Cost, known = s.price(k.info, u.Usage)
	u.Unknown = !known
	return u
}

func (s *side) record(k *asking, used uzda.Used) {
	s.mu.Lock()
	if s.left { // its hold is spent already
		s.mu.Unlock()
		return
	}
	for i, h := range s.open {
		if h.ID == k.hold.ID || len(s.open) == 1 {
			s.open = append(s.open[:i:i], s.open[i+1:]...)
			break
		}
	}
	s.cost += used.Cost
	var settle *uzda.Settlement
	if k.hold.ID != "" {
		settle = &uzda.Settlement{ID: k.hold.ID, Spent: used.Cost}
	}
	if s.took != nil {
		s.took(used, settle)
		s.mu.Unlock()
		return
	}
	s.mu.Unlock()
	s.begin(s.arrive(s.crew, landed{key: "plan", more: true, bodies: []uzda.Body{used}, settle: settle}))
}

// spent is what its requests have cost.
func (s *side) spent() uzda.Money {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cost
}

// unpaid gives up what is in flight, and returns the holds of it.
func (s *side) unpaid() []uzda.Hold {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.left = true
	open := s.open
	s.open = nil
	return open
}
