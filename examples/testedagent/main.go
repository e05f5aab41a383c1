// Command testedagent asks a real model about an order. Its test runs the same
// code against a fake provider, without a key or a network.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/agent"
	"github.com/uzda-dev/uzda/journal"
	"github.com/uzda-dev/uzda/model/anthropic"
	"github.com/uzda-dev/uzda/session"
	"github.com/uzda-dev/uzda/tool"
)

func main() {
	answer, err := ask(context.Background(), anthropic.Model{ID: "claude-opus-5-5"}, "Where is order ORD-10422?")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(answer)
}

var status = tool.New("get_order_status",
	"Look up where one order is. Use when the user names an order or asks where a parcel is; not for refunds.",
	uzda.Effects{ReadOnly: true},
	func(_ context.Context, in struct {
		OrderID string `json:"order_id" doc:"for example ORD-10422"`
	}) (string, error) {
		if in.OrderID != "ORD-10422" {
			return "", fmt.Errorf("there is no order %s; ids look like ORD-10422", in.OrderID)
		}
		return "shipped", nil
	})

// ask takes the model, so that a test can give it another one.
func ask(ctx context.Context, m uzda.Model, question string) (answer string, err error) {
	host := session.New(session.Config{
		Store: journal.Memory(),
		Agents: map[string]agent.Agent{"shop": {
			Model:  m,
			System: "You answer questions about the shop's orders.",
			Tools:  []uzda.Tool{status},
		}},
	})
	defer func() {
		if e := host.Close(); err == nil {
			err = e
		}
	}()
	return host.Ask(ctx, "shop", question)
}
