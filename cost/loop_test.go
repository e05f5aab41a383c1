package cost_test

import (
	"strings"
	"testing"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/cost"
)

// flat is a price of 4 dollars a million in, 20 out, 5 for a write and 0.4 for a read.
type flat struct{}

func (flat) Price(model string, _ int) (uzda.Price, bool) {
	return uzda.Price{Input: 4 * uzda.Dollar, Output: 20 * uzda.Dollar, CacheWrite: 5 * uzda.Dollar, CacheRead: 4 * uzda.Dollar / 10}, model == "known"
}

// The sums of a loop are those that a person gets with a pencil.
func TestLoop(t *testing.T) { // K3
	t.Parallel()
	four := cost.Loop{Steps: 4, Fixed: 1000, Task: 100, Output: 50, Result: 350}
	budget := four
	budget.Budget = 3000 // over 2,100 it is cut to 1,500
	budget.Steps = 5
	for name, c := range map[string]struct {
		loop   cost.Loop
		cached bool
		want   cost.Plan
		usage  uzda.Usage
		cost   uzda.Money
	}{
		// 1,100 + 1,500 + 1,900 + 2,300 = 6,800 in, 200 out: 0.0272 + 0.004
		"no cache": {four, false, cost.Plan{First: 1100, Last: 2300, Most: 2300}, uzda.Usage{Input: 6800, Output: 200}, uzda.Dollar * 312 / 10_000},
		// written 1,100 + 3 x 400, read 1,100 + 1,500 + 1,900: 0.0115 + 0.0018 + 0.004
		"cached": {four, true, cost.Plan{First: 1100, Last: 2300, Most: 2300}, uzda.Usage{CacheWrite: 2300, CacheRead: 4500, Output: 200}, uzda.Dollar * 173 / 10_000},
		// 1,100, 1,500, 1,900, then 2,300 is over and becomes 1,500, then 1,900
		"a budget": {budget, false, cost.Plan{First: 1100, Last: 1900, Most: 1900, Cuts: 1}, uzda.Usage{Input: 7900, Output: 250}, uzda.Dollar * 366 / 10_000},
		// after the cut 1,100 are read and 400 written; at the end 1,500 read and 400 written
		"both":    {budget, true, cost.Plan{First: 1100, Last: 1900, Most: 1900, Cuts: 1}, uzda.Usage{CacheWrite: 2700, CacheRead: 5200, Output: 250}, uzda.Dollar * 2058 / 100_000},
		"nothing": {cost.Loop{}, true, cost.Plan{}, uzda.Usage{}, 0},
	} {
		got := c.loop.Plan(c.cached)
		if got.First != c.want.First || got.Last != c.want.Last || got.Most != c.want.Most || got.Cuts != c.want.Cuts || len(got.Steps) != c.loop.Steps || got.Usage() != c.usage {
			t.Errorf("%s: %+v, in all %+v", name, got, got.Usage())
		}
		if money, known := got.Cost(flat{}, "known"); money != c.cost || !known {
			t.Errorf("%s: %v, %v, want %v", name, money, known, c.cost)
		}
	}
	if _, known := four.Plan(true).Cost(flat{}, "other"); known {
		t.Error("a price that is not known")
	}
}

// The cheaper model is of the same provider, and really cheaper.
func TestCheaper(t *testing.T) { // K3
	t.Parallel()
	table, found := cost.Default(), 0
	for _, id := range table.IDs() {
		other := table.Cheaper(id)
		if other == "" {
			continue
		}
		found++
		a, _ := table.Price(id, 0)
		b, known := table.Price(other, 0)
		if !known || b.Input >= a.Input || b.Output >= a.Output || strings.Split(other, "/")[0] != strings.Split(id, "/")[0] {
			t.Errorf("%s instead of %s", other, id)
		}
	}
	if found < 3 || table.Cheaper("nobody/x") != "" {
		t.Errorf("%d models have a cheaper one", found)
	}
}
