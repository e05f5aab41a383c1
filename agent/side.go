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

	mu sync.Mutex
	n  int // requests so far, which name their holds
}

// ask sends one request: see [uzda.View.Side].
func (s *side) ask(ctx context.Context, m uzda.Model, req *uzda.Request) (uzda.Reply, error) {
	info := s.info
	if m == nil {
		m = s.Model
	} else if d, ok := m.(uzda.Describer); ok {
		info = d.Describe()
	} else {
		info = uzda.ModelInfo{ID: "unnamed"}
	}
	s.mu.Lock()
	s.n++
	name := fmt.Sprintf("%d.side%d", s.asks, s.n)
	s.mu.Unlock()
	input := len(req.Head.System)
	for _, e := range req.View {
		input += e.Message.Blocks.Size()
	}
	rate := or(s.rate, rateGuess)
	input = input*(rate+rate/8)/1000 + 64
	req.Session = s.id
	k := &asking{run: s.run, key: "plan", model: m, name: name, info: info, accounts: s.accounts, crew: s.crew, took: s.took,
		a: uzda.Asked{Ordinal: s.asks, Model: info.ID, Tokens: input + req.Max, Max: req.Max}}
	if amount := s.worst(info, input, req.Max); amount > 0 && s.ledger != nil {
		hold := uzda.Hold{ID: fmt.Sprintf("%s/%d.%s", s.id, s.epoch, name), Amount: amount, Accounts: s.accounts}
		if err := s.ledger.Reserve(ctx, hold); err != nil {
			return uzda.Reply{}, fmt.Errorf("reserve %s for a request beside the session: %w", amount, err)
		}
		k.hold = hold
	}
	reply, err := uzda.Collect(k.attempts(ctx, req), nil)
	used := uzda.Used{For: req.Agent, Model: k.info.ID, Usage: sane(reply.Stop.Usage)}
	if err != nil && used.Usage.Total() == 0 {
		var p *uzda.ProviderError
		if errors.As(err, &p) {
			used.Usage = sane(p.Usage)
		}
		if used.Usage.Total() == 0 && !refusedBy(err) { // it was cut, and is charged for what it read
			used.Usage.Input = input
		}
		used.Usage.AtLeast = used.Usage.Total() > 0
	}
	var known bool
	used.Cost, known = s.price(k.info, used.Usage)
	used.Unknown = !known
	s.record(k, used)
	return reply, err
}

func (s *side) record(k *asking, used uzda.Used) {
	var settle *uzda.Settlement
	if k.hold.ID != "" {
		settle = &uzda.Settlement{ID: k.hold.ID, Spent: used.Cost}
	}
	if s.took != nil {
		s.took(used, settle)
		return
	}
	s.begin(s.arrive(s.crew, landed{key: "plan", more: true, bodies: []uzda.Body{used}, settle: settle}))
}
