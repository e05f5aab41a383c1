package session_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/agent"
	"github.com/uzda-dev/uzda/journal"
	"github.com/uzda-dev/uzda/model/script"
	"github.com/uzda-dev/uzda/session"
)

// modes says what its mode says, whoever asks.
type modes struct{}

func (modes) Check(_ context.Context, a uzda.Action) (uzda.Verdict, error) {
	if a.Spec.Effects.Irreversible {
		return uzda.Verdict{Decision: uzda.Decision(a.Mode), Reason: "the mode is " + a.Mode}, nil
	}
	return uzda.Verdict{Decision: uzda.Allow}, nil
}

// What an agent may not do it may not have done by another: a child is held
// against the gates of all its elders, each in the elder's own mode.
func TestRights(t *testing.T) { // case:P07
	t.Parallel()
	for _, tt := range []struct{ lead, sender, want string }{
		{"allow", "allow", "sent"},
		{"deny", "allow", "denied"},
		{"allow", "deny", "denied"},
		{"ask", "allow", "asked"},
		{"ask", "deny", "denied"},
	} {
		t.Run(tt.lead+" over "+tt.sender, func(t *testing.T) {
			t.Parallel()
			sent := make(chan uzda.Use, 9)
			h := host(t, journal.Memory(), map[string]agent.Agent{
				"lead": {Model: script.Model{Turns: []script.Turn{{Calls: []script.Call{{Name: "delegate_to_sender", Input: `{"task":"send it"}`}}}, turn("{{result.1.text}}")}},
					Tools: []uzda.Tool{session.Delegate{Agent: "sender", Effects: uzda.Effects{ReadOnly: true}}}, Gates: []uzda.Gate{modes{}}, Mode: tt.lead},
				"sender": {Model: script.Model{Turns: []script.Turn{turn("", "send"), turn("{{result.1.text}}")}}, Tools: []uzda.Tool{send{sent}}, Gates: []uzda.Gate{modes{}}, Mode: tt.sender},
			}, manual)
			answer, err := h.Ask(t.Context(), "lead", "go")
			var o *uzda.Outcome
			got := "sent"
			switch {
			case errors.As(err, &o) && o.Reason == uzda.WaitChild:
				got = "asked"
			case err != nil:
				t.Fatal(err)
			case strings.Contains(answer, "Denied"):
				got = "denied"
			}
			if got == "denied" && tt.lead == "deny" && !strings.Contains(answer, "as for lead") {
				t.Errorf("the denial does not say whose rule it is: %q", answer)
			}
			if got != tt.want || (len(sent) == 1) != (tt.want == "sent") {
				t.Errorf("%s (%q), %d sent; want %s", got, answer, len(sent), tt.want)
			}
		})
	}
}
