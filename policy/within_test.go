package policy_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/policy"
)

// case:P07: a child may do what it and its parent both may, whoever calls; only what
// is delegated by name goes further, and never over the child's own denials.
func TestWithin(t *testing.T) {
	t.Parallel()
	dir := site(t)
	open := policy.Gate{Rules: rulesOf(t, "allow: Edit", "allow: Bash", "allow: fetch")}
	careful := policy.Gate{Rules: rulesOf(t, "deny: Bash", "allow: Edit")}
	reader := policy.Gate{Mode: policy.ModePlan}
	for _, c := range []struct {
		name          string
		parent, child policy.Gate
		mode          string // of the parent
		delegates     string
		alone         bool
		tool, value   string
		own           string // mode of the child
		want          uzda.Decision
		says          string
	}{
		{"a reader's child does not edit", reader, open, "plan", "", false, "write_file", "x", "", uzda.Deny, "as for lead, which delegated this: the mode plan"},
		{"not in bypass either", reader, open, "plan", "", false, "write_file", "x", "bypass", uzda.Deny, "as for lead"},
		{"it reads", reader, open, "plan", "", false, "read_file", "go.mod", "", uzda.Allow, ""},
		{"the parent's mode may be its gate's", reader, open, "", "", false, "write_file", "x", "accept-edits", uzda.Deny, "as for lead"},
		{"the child's own denial holds", open, careful, "", "", false, "shell", "deploy", "", uzda.Deny, "Bash"},
		{"also in bypass", open, careful, "bypass", "", false, "shell", "deploy", "bypass", uzda.Deny, "Bash"},
		{"and over what is delegated", open, careful, "", "Bash", false, "shell", "deploy", "", uzda.Deny, "Bash"},
		{"the parent's denial holds", careful, open, "", "", false, "shell", "deploy", "", uzda.Deny, "as for lead"},
		{"edits are delegated", reader, open, "plan", "Edit", false, "write_file", "x", "", uzda.Allow, ""},
		{"and nothing else", reader, open, "plan", "Edit", false, "shell", "deploy", "", uzda.Deny, "as for lead"},
		{"and only where it is said", reader, open, "plan", "Edit(src/**)", false, "write_file", "x", "", uzda.Deny, "as for lead"},
		{"and nothing protected", reader, open, "plan", "Edit", false, "write_file", "AGENTS.md", "bypass", uzda.Deny, "as for lead"},
		{"the child asks", open, policy.Gate{}, "", "", false, "write_file", "x", "", uzda.Ask, "changes something"},
		{"with nobody there it is denied", open, policy.Gate{}, "", "", true, "write_file", "x", "", uzda.Deny, "nobody can be asked here"},
		{"also where the parent asks", policy.Gate{}, open, "", "", true, "write_file", "x", "", uzda.Deny, "nobody can be asked here"},
		{"delegation does not answer for the child", reader, policy.Gate{}, "plan", "Edit", false, "write_file", "x", "", uzda.Ask, ""},
	} {
		w := policy.Within{Parent: c.parent, Child: c.child, Mode: c.mode, Name: "lead", Unattended: c.alone}
		if c.delegates != "" {
			w.Delegates = rulesOf(t, "allow: "+c.delegates).Allow
		}
		a := in(dir, c.tool, c.value)
		a.Mode = c.own
		v, err := w.Check(t.Context(), a)
		if err != nil || v.Decision != c.want || !strings.Contains(v.Reason, c.says) {
			t.Errorf("%s: %+v (%v), not %s (%s)", c.name, v, err, c.want, c.says)
		}
		if strings.Contains(c.says, "nobody") && !v.Unattended {
			t.Errorf("%s: it is not said that nobody could be asked", c.name)
		}
		// A grandchild stands within its parent in the same way.
		deeper := policy.Within{Parent: w, Child: policy.Gate{Mode: policy.ModeBypass}, Mode: c.own, Unattended: c.alone}
		if v, err := deeper.Check(t.Context(), a); err != nil || v.Decision != c.want {
			t.Errorf("%s, a grandchild: %+v (%v), not %s", c.name, v, err, c.want)
		}
	}
}

// A gate that errs ends in an error, and so denies.
func TestWithinErrs(t *testing.T) {
	t.Parallel()
	for _, w := range []policy.Within{{Parent: broken{}, Child: policy.Gate{}}, {Parent: policy.Gate{}, Child: broken{}}} {
		if _, err := w.Check(t.Context(), in(t.TempDir(), "read_file", "x")); err == nil {
			t.Error("a gate that errs is not heard")
		}
	}
}

type broken struct{}

func (broken) Check(context.Context, uzda.Action) (uzda.Verdict, error) {
	return uzda.Verdict{}, errors.New("broken")
}
