// Command typedtool gives an agent one tool, written as a Go function, and asks
// it a question. The model is a scripted one, so that it runs anywhere; put a
// real one in its place.
package main

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/agent"
	"github.com/uzda-dev/uzda/journal"
	"github.com/uzda-dev/uzda/model/script"
	"github.com/uzda-dev/uzda/session"
	"github.com/uzda-dev/uzda/tool"
)

// Status is what the tool returns; the model reads it as JSON.
type Status struct {
	Order  string `json:"order"`
	Status string `json:"status"`
	Parcel string `json:"parcel,omitempty"`
}

var orders = map[string]Status{
	"ORD-10422": {"ORD-10422", "shipped", "PL-77120-3"},
	"ORD-10423": {"ORD-10423", "waiting for payment", ""},
}

var status = tool.New("get_order_status",
	"Look up where one order is. Use when the user names an order or asks where a parcel is; not for refunds.",
	uzda.Effects{ReadOnly: true},
	func(_ context.Context, in struct {
		OrderID string `json:"order_id" doc:"for example ORD-10422"`
	}) (Status, error) {
		s, ok := orders[in.OrderID]
		if !ok {
			return s, fmt.Errorf("there is no order %s; ids look like ORD-10422", in.OrderID)
		}
		return s, nil
	})

// The model's part: it asks for the status and tells what came back.
var model = script.Model{Name: "example", Turns: []script.Turn{
	{Text: "I look it up.", Calls: []script.Call{{Name: "get_order_status", Input: `{"order_id":"ORD-10422"}`}}},
	{Text: "Order ORD-10422 is {{result.1.status}}; the parcel is {{result.1.parcel}}."},
}}

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	host := session.New(session.Config{
		Store: journal.Memory(), // or sqlite.Open("shop.uzda"), which survives crashes
		Agents: map[string]agent.Agent{"shop": {
			Model:  model,
			System: "You answer questions about the shop's orders.",
			Tools:  []uzda.Tool{status},
			Limits: uzda.Limits{Steps: 8, Cost: uzda.Dollar / 10},
		}},
	})
	defer func() {
		if err := host.Close(); err != nil {
			log.Print(err)
		}
	}()
	answer, err := host.Ask(ctx, "shop", "Where is order ORD-10422?")
	if err != nil {
		return err // *uzda.Outcome: which fuse, after how many steps
	}
	fmt.Println(answer)
	return nil
}
