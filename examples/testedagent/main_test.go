package main

import (
	"net/http"
	"testing"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/model/anthropic"
	"github.com/uzda-dev/uzda/model/modeltest"
)

// What docs/testing-with-a-fake-provider.md shows.
func TestAsk(t *testing.T) {
	provider := modeltest.Serve(t, modeltest.Config{Turns: []modeltest.Turn{
		{Text: "I look it up.", Calls: []modeltest.Call{{Name: "get_order_status", Input: `{"order_id":"ORD-10422"}`}}},
		{Text: "It is shipped.", Faults: []modeltest.Fault{{Status: 529, Header: http.Header{"Retry-After-Ms": {"1"}}}}},
	}})
	m := anthropic.Model{ID: "claude-opus-5-5", Base: provider.URL, Key: "any"}
	answer, err := ask(t.Context(), m, "Where is order ORD-10422?")
	if err != nil || answer != "It is shipped." {
		t.Errorf("%q %v", answer, err)
	}
	for _, c := range provider.Changes() {
		if !c.Tail {
			t.Errorf("request %d missed the prompt cache: %s", c.After, c)
		}
	}
}

// The provider tells what it was asked, and what it would bill.
func TestBill(t *testing.T) {
	provider := modeltest.Serve(t, modeltest.Config{Turns: []modeltest.Turn{{Text: "I don't know."}}})
	m := anthropic.Model{ID: "claude-opus-5-5", Base: provider.URL, Key: "any"}
	if _, err := ask(t.Context(), m, "Why?"); err != nil {
		t.Fatal(err)
	}
	bill := provider.Bill(func(string, int) uzda.Price {
		return uzda.Price{Input: 4 * uzda.Dollar, Output: 20 * uzda.Dollar, CacheRead: uzda.Dollar * 2 / 5, CacheWrite: 5 * uzda.Dollar}
	})
	if asks := provider.Asks(); len(asks) != 1 || bill <= 0 || bill > uzda.Dollar/100 {
		t.Errorf("%d requests cost %s", len(asks), bill)
	}
}
