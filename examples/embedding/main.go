// Command embedding has the parts that a program of your own puts together: a host,
// tools, gates, limits, a store, and somebody who watches. The page
// docs/embedding.md walks through it. The model is a scripted one, so that it runs
// anywhere.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/agent"
	"github.com/uzda-dev/uzda/cost"
	"github.com/uzda-dev/uzda/journal"
	"github.com/uzda-dev/uzda/model/script"
	"github.com/uzda-dev/uzda/policy"
	"github.com/uzda-dev/uzda/session"
	"github.com/uzda-dev/uzda/sqlite"
	"github.com/uzda-dev/uzda/tool"
)

func main() {
	if err := run(context.Background(), "shop.uzda", os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// hello is the smallest program: a model, a question, an answer.
func hello(ctx context.Context, model uzda.Model) (string, error) {
	host := session.New(session.Config{
		Store:  journal.Memory(),
		Agents: map[string]agent.Agent{"helper": {Model: model, System: "You answer in one sentence."}},
	})
	answer, err := host.Ask(ctx, "helper", "What is a bridle?")
	return answer, errors.Join(err, host.Close())
}

var discount = tool.New("give_discount",
	"Take an amount off one order. Use only when the user asks for it and names the order. The amount is in cents.",
	uzda.Effects{Idempotent: true},
	func(_ context.Context, in struct {
		OrderID string `json:"order_id" doc:"for example ORD-10422"`
		Cents   int    `json:"cents" doc:"amount in cents, for example 500"`
	}) (string, error) {
		return fmt.Sprintf("%s costs %d cents less", in.OrderID, in.Cents), nil
	})

// A ceiling denies discounts over so many cents. It rules on what is certain and
// leaves the rest to other gates, since the strictest verdict counts.
type ceiling int

var _ uzda.Gate = ceiling(0)

func (c ceiling) Check(_ context.Context, a uzda.Action) (uzda.Verdict, error) {
	var in struct{ Cents int }
	if a.Spec.Name != "give_discount" {
		return uzda.Verdict{Decision: uzda.Allow}, nil
	}
	if err := json.Unmarshal(a.Use.Input, &in); err != nil {
		return uzda.Verdict{}, err // a gate that errs denies
	}
	if in.Cents > int(c) {
		return uzda.Verdict{Decision: uzda.Deny, Reason: fmt.Sprintf("at most %d cents; a person decides on more", int(c))}, nil
	}
	return uzda.Verdict{Decision: uzda.Allow}, nil
}

var model = script.Model{Name: "example", Turns: []script.Turn{
	{Text: "I take 90 euros off.", Calls: []script.Call{{Name: "give_discount", Input: `{"order_id":"ORD-10422","cents":9000}`}}},
	{Text: "Then 5 euros.", Calls: []script.Call{{Name: "give_discount", Input: `{"order_id":"ORD-10422","cents":500}`}}},
	{Text: "Done: {{result.2.text}}."},
}}

// shop is an agent that may do little, by itself and for little money.
func shop() (agent.Agent, error) {
	var rules policy.Rules
	if _, err := rules.Add(uzda.Allow, "shop", "give_discount(cents:<=1000)"); err != nil {
		return agent.Agent{}, err
	}
	return agent.Agent{
		Model:  model,
		System: "You answer questions about the shop's orders.",
		Tools:  []uzda.Tool{discount},
		Gates:  []uzda.Gate{policy.Gate{Rules: rules}, ceiling(2000)},
		Limits: uzda.Limits{Steps: 8, Cost: uzda.Dollar / 10, DayCost: 20 * uzda.Dollar},
	}, nil
}

// run gives the shop's agent a task, and shows what it does while it does it.
func run(ctx context.Context, file string, out io.Writer) (err error) {
	store, err := sqlite.Open(file)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	a, err := shop()
	if err != nil {
		return err
	}
	host := session.New(session.Config{Store: store, Agents: map[string]agent.Agent{"shop": a}, Prices: cost.Default()})
	defer func() { err = errors.Join(err, host.Close()) }()

	id, err := host.Open(ctx, uzda.Opening{Agent: "shop"})
	if err != nil {
		return err
	}
	watching, stop := context.WithCancel(ctx)
	defer stop()
	seen := make(chan error, 1)
	go func() { seen <- watch(watching, host, id, out) }()
	if _, err := host.Say(ctx, id, "ORD-10422 came late. Take something off."); err != nil {
		return err // a *uzda.Outcome: which fuse, after how many steps
	}
	return <-seen
}

// watch prints what happens in a session until its turn is over.
func watch(ctx context.Context, host uzda.Host, id uzda.SessionID, out io.Writer) error {
	for e, err := range host.Watch(ctx, id, 0) {
		if err != nil {
			return err
		}
		switch b := e.Body.(type) {
		case uzda.Said:
			fmt.Fprintln(out, "model  ", b.Message)
		case uzda.Judged:
			fmt.Fprintln(out, "judged ", b.Verdict.Decision, b.Verdict.Reason)
		case uzda.Ended:
			fmt.Fprintln(out, "ended  ", b.Reason)
			return nil
		}
	}
	return nil
}
