package main_test

import (
	"context"
	"testing"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/agent"
	"github.com/uzda-dev/uzda/model/script"
	"github.com/uzda-dev/uzda/session"
	"github.com/uzda-dev/uzda/sqlite"
	"github.com/uzda-dev/uzda/tool"
)

// Status and db are what the README takes for granted.
type Status struct {
	Status string `json:"status"`
}

type shop struct{}

func (shop) Status(context.Context, string) (Status, error) { return Status{"shipped"}, nil }

var db shop

var status = tool.New("get_order_status",
	"Look up where one order is. Use when the user names an order or asks where a parcel is; not for refunds.",
	uzda.Effects{ReadOnly: true},
	func(ctx context.Context, in struct {
		OrderID string `json:"order_id" doc:"for example ORD-10422"`
	}) (Status, error) {
		return db.Status(ctx, in.OrderID)
	})

// TestReadme runs what the README shows of the library.
func TestReadme(t *testing.T) {
	t.Chdir(t.TempDir())
	model := script.Model{Name: "readme", Turns: []script.Turn{
		{Calls: []script.Call{{Name: "get_order_status", Input: `{"order_id":"ORD-10422"}`}}},
		{Text: "It is {{result.1.status}}."},
	}}
	ask := func(ctx context.Context) error {
		store, err := sqlite.Open("shop.uzda")
		if err != nil {
			return err
		}
		defer store.Close()
		host := session.New(session.Config{
			Store: store,
			Agents: map[string]agent.Agent{"shop": {
				Model:  model,
				System: "You answer questions about the shop's orders.",
				Tools:  []uzda.Tool{status},
			}},
		})
		defer host.Close()
		answer, err := host.Ask(ctx, "shop", "Where is order ORD-10422?") // err is a *uzda.Outcome with its reason
		if answer != "It is shipped." {
			t.Errorf("the answer is %q", answer)
		}
		return err
	}
	if err := ask(t.Context()); err != nil {
		t.Error(err)
	}
}
