package cost

import (
	"github.com/uzda-dev/uzda"
)

// A Loop is an agent's loop as one plans it: each step asks the model once, with all
// that was said before. All but Steps are tokens.
type Loop struct {
	Steps  int // asks of the model
	Fixed  int // in each request: the system prompt and the tools
	Task   int // the message that begins it
	Output int // of each reply
	Result int // of what the tools of a step give back
	// Budget is what a request is kept under, as a planner does: one that has come to
	// seven tenths of it is cut to half of it. 0: nothing is cut.
	Budget int
}

// A Plan is what a loop would use.
type Plan struct {
	First, Last, Most int          // tokens of the first request, of the last and of the largest
	Cuts              int          // how often Budget made a request shorter
	Steps             []uzda.Usage // of each ask
}

// Plan computes what the loop uses. Request i holds Fixed, Task, and i-1 times Output
// and Result. With a cache each request reads what the one before it sent, and writes
// what is new; after a cut only Fixed and Task are read. Without one all of it is
// input each time, so that the sum grows with the square of the steps.
func (l Loop) Plan(cached bool) Plan {
	var p Plan
	before, said := 0, 0 // tokens of the last request, and of the history
	for i := range l.Steps {
		base := l.Fixed + l.Task
		same := before
		if l.Budget > 0 && base+said > l.Budget*7/10 && said > 0 {
			if half := max(0, l.Budget/2-base); half < said {
				said, same = half, min(before, base)
				p.Cuts++
			}
		}
		size := base + said
		u := uzda.Usage{Input: size, Output: l.Output}
		if cached {
			u.Input, u.CacheRead, u.CacheWrite = 0, same, size-same
		}
		p.Steps = append(p.Steps, u)
		if i == 0 {
			p.First = size
		}
		p.Last, p.Most = size, max(p.Most, size)
		before, said = size, said+l.Output+l.Result
	}
	return p
}

// Usage adds up the steps.
func (p Plan) Usage() (sum uzda.Usage) {
	for _, u := range p.Steps {
		sum = sum.Add(u)
	}
	return sum
}

// Cost is what the steps cost with a model, each at the price of its size; false
// where no price of the model is known.
func (p Plan) Cost(prices uzda.Pricer, model string) (sum uzda.Money, known bool) {
	known = true
	for _, u := range p.Steps {
		price, ok := prices.Price(model, u.Context())
		sum += price.Of(u)
		known = known && ok
	}
	return sum, known
}

// Cheaper is the dearest of the same provider's models that cost at most two thirds
// of a model, for input and for output; "" if there is none.
func (t *Table) Cheaper(model string) string {
	than, known := t.Price(model, 0)
	row := t.Model(model)
	if !known || row == nil {
		return ""
	}
	best, price := "", uzda.Money(-1)
	for _, id := range t.IDs() {
		m := t.models[id]
		p, known := t.Price(id, 0)
		if known && !m.Lacks(Tools) && m.Provider() == row.Provider() && 3*p.Input <= 2*than.Input && 3*p.Output <= 2*than.Output && p.Input+p.Output > price {
			best, price = id, p.Input+p.Output
		}
	}
	return best
}
