package main

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/cost"
)

// planned is what the calculator is asked.
type planned struct {
	loop cost.Loop
	runs int
	from string
}

func (a *app) costPlanCommand() *cobra.Command {
	p := planned{loop: cost.Loop{Steps: 20, Fixed: 4000, Task: 200, Output: 300, Result: 800}, runs: 1}
	c := &cobra.Command{Use: "plan", Short: "what a loop would cost, before it runs", Args: none,
		Long: `Plan computes what an agent's loop would use and cost, without a request.

Each step sends all that was said before: request i has
    fixed + task + (i - 1) x (output + result)
tokens. With a prompt cache it reads what the request before it sent, and writes
what is new; without one all of it is input. With a budget, a request that has come
to seven tenths of it is cut to half of it, and what moved is written anew.

The prices are those of ` + "`uzda models`" + `. --from takes the numbers from a session that
ran: the median of its steps. Flags that you give as well win.`,
		Example: `  uzda cost plan --model anthropic/claude-opus-5-5 --steps 40 --result 2000
  uzda cost plan --from ID --runs 1000`}
	n := func(to *int, name, doc string) {
		c.Flags().Var(count{to}, name, doc)
	}
	n(&p.loop.Steps, "steps", "asks of the model")
	n(&p.loop.Fixed, "fixed", "tokens of the system prompt and the tools")
	n(&p.loop.Task, "task", "tokens of the message that begins it")
	n(&p.loop.Output, "output", "tokens of each reply")
	n(&p.loop.Result, "result", "tokens that the tools of a step give back")
	n(&p.runs, "runs", "how many such runs")
	c.Flags().StringVar(&p.from, "from", "", "take the numbers from this session")
	c.RunE = func(c *cobra.Command, _ []string) error {
		w, err := a.open(c)
		if err != nil {
			return err
		}
		defer w.close()
		given := func(name string) bool { return c.Flags().Changed(name) }
		model, err := w.planFrom(c.Context(), &p, given)
		if err != nil {
			return err
		}
		for _, n := range []struct {
			flag         string
			value, least int
			most         int
		}{{"steps", p.loop.Steps, 1, 10_000}, {"runs", p.runs, 1, 100_000}, {"fixed", p.loop.Fixed, 0, 1_000_000}, {"task", p.loop.Task, 0, 1_000_000},
			{"output", p.loop.Output, 0, 1_000_000}, {"result", p.loop.Result, 0, 1_000_000}} {
			if n.value < n.least || n.value > n.most { // beyond it is no loop, and a sum of money too large to be counted
				return usage("--%s: want %d to %s, got %d", n.flag, n.least, thousands(n.most), n.value)
			}
		}
		if most := p.loop.Fixed + p.loop.Task + p.loop.Steps*(p.loop.Output+p.loop.Result); most > 10_000_000 {
			return usage("the last request would have %s tokens, which no model takes; plan fewer steps, or shorter ones", thousands(most))
		}
		p.loop.Budget = w.cfg.Context.Budget
		return w.plan(p, model)
	}
	return flags(c, "output-format", "model", "context-budget", "trust")
}

// planFrom finds the model, and the numbers of a session where one is named.
func (w *work) planFrom(ctx context.Context, p *planned, given func(string) bool) (model string, err error) {
	name, origin := w.cfg.Model, w.cfg.Origin("model")
	if p.from != "" {
		id, s, err := w.load(ctx, p.from)
		if err != nil {
			return "", err
		}
		l, err := w.measured(ctx, id)
		if err != nil {
			return "", err
		}
		for flag, to := range map[string][2]*int{"steps": {&p.loop.Steps, &l.Steps}, "fixed": {&p.loop.Fixed, &l.Fixed}, "task": {&p.loop.Task, &l.Task},
			"output": {&p.loop.Output, &l.Output}, "result": {&p.loop.Result, &l.Result}} {
			if !given(flag) {
				*to[0] = *to[1]
			}
		}
		if !given("model") {
			name, origin = s.Gear.Model.ID, "the session"
		}
	}
	if name == "" {
		return "", fail(uzda.ConfigError, "for example --model anthropic/claude-opus-5-5; `uzda models` lists them", "no model is named")
	}
	t, err := w.target(name, origin)
	if err != nil && origin == "the session" {
		return "", fail(uzda.ConfigError, "--model names the one to plan with", "the session's model %s has no price", name)
	}
	return t.ID, err
}

// measured are the numbers of a session that ran.
func (w *work) measured(ctx context.Context, id uzda.SessionID) (cost.Loop, error) {
	var l cost.Loop
	var outputs, grown []int
	before := uzda.Usage{}
	for e, err := range w.store.Read(ctx, id, 0) {
		if err != nil {
			return l, fail(uzda.StorageError, "`uzda doctor` looks at the store", "%v", err)
		}
		switch b := e.Body.(type) {
		case uzda.Posted:
			if l.Steps == 0 {
				l.Task += b.Blocks.Size() / 4
			}
		case uzda.Said:
			size := b.Usage.Context()
			if l.Steps++; l.Steps == 1 {
				l.Fixed = max(0, size-l.Task)
			} else if more := size - before.Context() - before.Output; more >= 0 { // not where it was cut
				grown = append(grown, more)
			}
			outputs, before = append(outputs, b.Usage.Output), b.Usage
		}
	}
	if l.Steps == 0 {
		return l, fail(uzda.ConfigError, "name a session that has asked its model", "session %s has no reply of a model", id)
	}
	l.Output, l.Result = middle(outputs), middle(grown)
	return l, nil
}

func middle(values []int) int {
	if len(values) == 0 {
		return 0
	}
	slices.Sort(values)
	return values[len(values)/2]
}

// way is one way to run the loop.
type way struct {
	Name  string      `json:"way"`
	Model string      `json:"model"`
	Usage usageJSON   `json:"usage"`
	Cost  *uzda.Money `json:"cost_usd"` // of all runs; null: the price is not known
	plan  cost.Plan
}

func (w *work) plan(p planned, model string) error {
	add := func(ways []way, name, model string, l cost.Loop, cached bool) []way {
		plan := l.Plan(cached)
		one := way{Name: name, Model: model, Usage: usageOf(plan.Usage()), plan: plan}
		if money, known := plan.Cost(w.prices, model); known {
			if p.runs > 1 && money > math.MaxInt64/uzda.Money(p.runs) {
				money = math.MaxInt64 / uzda.Money(p.runs) // more than there is
			}
			money *= uzda.Money(p.runs)
			one.Cost = &money
		} else if w.prices.Free(model) {
			one.Cost = new(uzda.Money)
		}
		return append(ways, one)
	}
	whole, terse := p.loop, p.loop
	whole.Budget, terse.Budget = 0, 0
	terse.Result /= 2
	ways := add(nil, "without a cache", model, whole, false)
	ways = add(ways, "with a cache", model, whole, true)
	if p.loop.Budget > 0 {
		ways = add(ways, "with a cache, budget "+thousands(p.loop.Budget), model, p.loop, true)
	}
	ways = add(ways, "with a cache, results halved", model, terse, true)
	if other := w.prices.Cheaper(model); other != "" {
		ways = add(ways, "with a cache, "+other, other, whole, true)
	}
	if w.json() {
		writeJSON(w.out, map[string]any{"model": model, "runs": p.runs, "steps": p.loop.Steps, "fixed": p.loop.Fixed, "task": p.loop.Task, "output": p.loop.Output,
			"result": p.loop.Result, "first_request": ways[0].plan.First, "last_request": ways[0].plan.Last, "ways": ways, "prices": w.prices.Version})
		return nil
	}
	return w.planText(p, model, ways)
}

func (w *work) planText(p planned, model string, ways []way) error {
	first := ways[0].plan
	fmt.Fprintf(w.out, "%s of %s: a request grows from %s to %s tokens\n", plural(p.loop.Steps, "step"), safe(model), thousands(first.First), thousands(first.Last))
	fmt.Fprintf(w.out, "(fixed %s, task %s; each step says %s and gets %s back)\n\n", thousands(p.loop.Fixed), thousands(p.loop.Task), thousands(p.loop.Output), thousands(p.loop.Result))
	if row := w.prices.Model(model); row != nil && row.Window > 0 && first.Last+p.loop.Output > row.Window && p.loop.Budget == 0 {
		fmt.Fprintf(w.out, "That is more than its window of %s: a run clears and summarises before. See --context-budget.\n\n", thousands(row.Window))
	}
	head := "COST"
	if p.runs != 1 {
		head = "COST OF " + strings.ToUpper(plural(p.runs, "run"))
	}
	wide := 0
	for _, one := range ways {
		wide = max(wide, uzda.Columns(safe(one.Name)))
	}
	t := tabwriter.NewWriter(w.out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(t, "%s\tINPUT\tWRITE\tCACHE READ\tOUTPUT\t%s\t\t\n", pad("A RUN", wide), head)
	for _, one := range ways {
		money, less := "unknown", ""
		if one.Cost != nil {
			money = short(*one.Cost)
			if all := ways[0].Cost; all != nil && *all > 0 && one.Name != ways[0].Name {
				less = fmt.Sprintf("%+.0f %%", 100*(float64(*one.Cost)/float64(*all)-1))
			}
		}
		u := one.Usage
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t\n", pad(safe(one.Name), wide), thousands(u.Input), thousands(u.CacheWrite), thousands(u.CacheRead), thousands(u.Output), money, less)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if ways[0].Cost == nil {
		fmt.Fprintln(w.out, "\nThe price of this model is not known: `uzda models --refresh` asks its provider, or set models.NAME in uzda.yaml.")
		return nil
	}
	fmt.Fprintf(w.out, "\nPrices of %s. Providers that run batches do it for about half; Uzda does not use them.\n", w.prices.Version)
	return nil
}
