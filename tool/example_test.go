package tool_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/tool"
)

// Status is what the shop knows of an order.
type Status struct {
	State string `json:"state"`
	ETA   string `json:"eta,omitempty"`
}

var orders = map[string]Status{"ORD-10422": {State: "sent", ETA: "2026-12-03"}}

var status = tool.New("get_order_status",
	"Look up where one order is. Use when the user names an order or asks where a parcel is; not for refunds.",
	uzda.Effects{ReadOnly: true},
	func(ctx context.Context, in struct {
		OrderID string `json:"order_id" doc:"for example ORD-10422"`
	}) (Status, error) {
		s, ok := orders[in.OrderID]
		if !ok {
			return s, tool.Errorf("there is no order %q: ids look like ORD-10422; ask the user for theirs", in.OrderID)
		}
		return s, nil
	})

func Example() {
	fmt.Println(string(status.Spec().Input))

	_, err := status.Check(json.RawMessage(`{"orderid":"ORD-10422"}`))
	fmt.Println(err)

	res, _ := status.Call(context.Background(), uzda.Use{Input: json.RawMessage(`{"order_id":"ORD-10422"}`)})
	fmt.Println(res.Blocks)
	res, _ = status.Call(context.Background(), uzda.Use{Input: json.RawMessage(`{"order_id":"10422"}`)})
	fmt.Println(res.IsError, res.Blocks)
	// Output:
	// {"type":"object","properties":{"order_id":{"type":"string","description":"for example ORD-10422"}},"required":["order_id"],"additionalProperties":false}
	// /order_id is missing: a string, for example ORD-10422
	// /orderid is unknown: the nearest known field is order_id
	// {"state":"sent","eta":"2026-12-03"}
	// true there is no order "10422": ids look like ORD-10422; ask the user for theirs
}

type payment struct {
	OrderID string `json:"order_id" doc:"for example ORD-10422"`
	Cents   int    `json:"cents" doc:"the amount in euro cents, at most 50000"`
	Reason  string `json:"reason" enum:"damaged,lost,late"`
}

func ExampleFunc() {
	refund := tool.Func[payment, string]{
		Name:        "refund_order",
		Description: "Pay money back for one order. Use when the user asks for it and the order was damaged, lost or late; never to change an address.",
		Effects:     uzda.Effects{Irreversible: true, OpenWorld: true},
		Once:        true,
		Preview: func(ctx context.Context, in payment) (text, preconditions string, err error) {
			return fmt.Sprintf("Refund %d.%02d EUR for %s (%s)", in.Cents/100, in.Cents%100, in.OrderID, in.Reason), "", nil
		},
		Call: func(ctx context.Context, in payment) (string, error) {
			use, _ := tool.UseFrom(ctx)
			return "refunded with the key " + use.Key, nil // send the key as Idempotency-Key
		},
	}.Tool()

	use := uzda.Use{Key: "a1b2", Input: json.RawMessage(`{"order_id":"ORD-10422","cents":1250,"reason":"late"}`)}
	text, _, _ := refund.(uzda.Previewer).Preview(context.Background(), use)
	fmt.Println(text)
	res, _ := refund.Call(context.Background(), use)
	fmt.Println(res.Blocks)
	// Output:
	// Refund 12.50 EUR for ORD-10422 (late)
	// refunded with the key a1b2
}
