package policy

import (
	"context"

	"github.com/uzda-dev/uzda"
)

// Within is the gate of an agent that works for another one: it may do what both
// may. What the child's own gate denies is denied, whoever calls.
type Within struct {
	Parent, Child uzda.Gate
	// Mode is the parent's: its gate judges in it, whatever the child's is. "": that
	// of the parent's gate.
	Mode string
	// Name is who delegates, for reasons.
	Name string
	// Delegates are what the parent hands on although it may not do it itself: for
	// what one of these rules allows, the child's gate alone counts.
	Delegates []Rule
	// Unattended: there is nobody to ask, so what would be asked is denied.
	Unattended bool
}

var _ uzda.Gate = Within{}

// Check judges a use of the child.
func (w Within) Check(ctx context.Context, a uzda.Action) (uzda.Verdict, error) {
	v, err := w.Child.Check(ctx, a)
	if err != nil || v.Decision == uzda.Deny {
		return v, err
	}
	if !w.delegated(a) {
		up := a
		up.Mode = w.Mode
		p, err := w.Parent.Check(ctx, up)
		if err != nil {
			return p, err
		}
		if p.Decision.Stricter(v.Decision) {
			name := w.Name
			if name == "" {
				name = "the agent"
			}
			v = p
			v.Reason = "as for " + name + ", which delegated this: " + p.Reason
		}
	}
	if w.Unattended && v.Decision == uzda.Ask {
		v.Decision, v.Unattended = uzda.Deny, true
		v.Reason += "; nobody can be asked here"
	}
	return v, nil
}

// delegated says whether one of the rules allows the use. The tool must be named
// by it: what runs anyhow is not delegated.
func (w Within) delegated(a uzda.Action) bool {
	if len(w.Delegates) == 0 {
		return false
	}
	a.Mode, a.Grants = ModeAsk, nil
	v := Gate{Rules: Rules{Allow: w.Delegates}}.judge(a, ModeAsk)
	return v.Decision == uzda.Allow && v.Rule != ""
}
