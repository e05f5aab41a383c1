package main

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/agent"
	"github.com/uzda-dev/uzda/answer"
	"github.com/uzda-dev/uzda/journal"
	"github.com/uzda-dev/uzda/model/script"
	"github.com/uzda-dev/uzda/session"
)

func TestHello(t *testing.T) {
	t.Parallel()
	said, err := hello(t.Context(), script.Model{Turns: []script.Turn{{Text: "What a horse is led by."}}})
	if err != nil || said != "What a horse is led by." {
		t.Errorf("%q, %v", said, err)
	}
}

// A gate of the program denies, a rule allows, and whoever watches sees both.
func TestRun(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	if err := run(t.Context(), filepath.Join(t.TempDir(), "shop.uzda"), &out); err != nil {
		t.Fatal(err)
	}
	at := 0
	for _, want := range []string{"model", "judged  deny at most 2000 cents", "judged  allow", "Done: ORD-10422 costs 500 cents less.", "ended   end_turn"} {
		i := strings.Index(out.String()[at:], want)
		if i < 0 {
			t.Fatalf("no %q in its place:\n%s", want, &out)
		}
		at += i
	}
}

// An Invoice is an answer of a type.
type Invoice struct {
	Number string `json:"number"`
	Cents  int    `json:"cents"`
}

// An answer of a Go type, and a fuse that says its name.
func TestAnswers(t *testing.T) {
	t.Parallel()
	ctx, model := t.Context(), script.Model{Turns: []script.Turn{{Text: `{"number":"F-12","cents":1999}`}}}
	ask := func(ctx context.Context) (Invoice, error) {
		clerk := answer.Of[Invoice]().Fit(agent.Agent{Model: model, System: "You read invoices."})
		host := session.New(session.Config{Store: journal.Memory(), Agents: map[string]agent.Agent{"clerk": clerk}})
		defer host.Close()
		return answer.Ask[Invoice](ctx, host, "clerk", "Invoice F-12: 19.99 EUR")
	}
	if in, err := ask(ctx); err != nil || in != (Invoice{"F-12", 1999}) {
		t.Errorf("%+v, %v", in, err)
	}
	why := func(err error) string {
		var o *uzda.Outcome
		if errors.As(err, &o) && o.Reason == uzda.MaxSteps {
			return "it needs more steps: " + o.Detail
		}
		return ""
	}
	a, err := shop()
	if err != nil {
		t.Fatal(err)
	}
	a.Limits.Steps = 1
	host := session.New(session.Config{Store: journal.Memory(), Agents: map[string]agent.Agent{"shop": a}})
	defer host.Close()
	if _, err := host.Ask(ctx, "shop", "Take something off."); why(err) == "" {
		t.Errorf("a turn with one step ended with %v", err)
	}
}
