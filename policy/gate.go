// Package policy decides which uses of tools may run.
package policy

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/uzda-dev/uzda"
)

// The permission modes say what becomes of a use that no rule decides and whose
// effects are not harmless.
const (
	// ModeAsk asks a person. It is the default.
	ModeAsk = "ask"
	// ModePlan denies whatever is not read-only, also where a rule allows it; only
	// Uzda's own notes may still be written.
	ModePlan = "plan"
	// ModeEdits allows changes on this machine that can be made again: the tools
	// write_file, edit_file, notes and todo, and those that declare themselves
	// idempotent. It asks for what is irreversible or reaches beyond this machine.
	ModeEdits = "accept-edits"
	// ModeDeny denies what would be asked, since nobody can be.
	ModeDeny = "deny"
	// ModeBypass allows what would be asked; deny rules still hold.
	ModeBypass = "bypass"
)

// Modes returns the permission modes.
func Modes() []string { return []string{ModeAsk, ModePlan, ModeEdits, ModeDeny, ModeBypass} }

// A Gate decides by rules first, and then by what the effects of a tool are. Its
// verdict depends on the action, the mode and the rules alone, so that the same
// use is judged the same after a restart. It must not be changed while it is in
// use. The zero value asks for whatever is not read-only.
type Gate struct {
	Mode  string // where the session has none; default ModeAsk
	Rules Rules
}

var _ uzda.Gate = Gate{}

// builtIn are the rules that stand behind all others: these tools write Uzda's
// own notes and nothing else.
var builtIn = []Rule{{Tool: "notes", Origin: "built-in"}, {Tool: "todo", Origin: "built-in"}}

// Origins of verdicts that no rule gave.
const (
	FromEffects = "effects"
	FromMode    = "mode"
)

// Check judges a use. Deny rules come first, then what a person granted for the
// session, ask rules, allow rules, and last the effects and the mode.
func (g Gate) Check(_ context.Context, a uzda.Action) (uzda.Verdict, error) {
	mode := a.Mode
	if mode == "" {
		mode = g.Mode
	}
	if mode == "" {
		mode = ModeAsk
	}
	if !slices.Contains(Modes(), mode) {
		return uzda.Verdict{}, fmt.Errorf("judge %s: there is no permission mode %q; the modes are %s", a.Use.Name, mode, strings.Join(Modes(), ", "))
	}
	v := g.judge(a, mode)
	if v.Decision != uzda.Ask || mode != ModeDeny && mode != ModeBypass {
		return v, nil
	}
	if v.Rule == "" {
		v.Origin = FromMode
	}
	if mode == ModeBypass {
		v.Decision, v.Reason = uzda.Allow, v.Reason+"; the mode bypass allows it"
		return v, nil
	}
	v.Decision, v.Unattended, v.Reason = uzda.Deny, true, v.Reason+"; the mode deny asks nobody"
	return v, nil
}

func (g Gate) judge(a uzda.Action, mode string) uzda.Verdict {
	if r, ok := first(g.Rules.Deny, a, uzda.Deny); ok {
		return r.verdict(uzda.Deny, a)
	}
	effects := believed(a.Spec)
	own, isOwn := first(builtIn, a, uzda.Allow)
	isOwn = isOwn && trusted(a.Spec)
	if mode == ModePlan && !effects.ReadOnly && !isOwn {
		return uzda.Verdict{Decision: uzda.Deny, Origin: FromMode,
			Reason: fmt.Sprintf("the mode plan runs only what is read-only, and %s is not; say what you would do instead", a.Use.Name)}
	}
	if r, ok := granted(a, effects); ok && !leaks(a, effects) {
		return r.verdict(uzda.Allow, a)
	}
	if r, ok := first(g.Rules.Ask, a, uzda.Ask); ok {
		return r.verdict(uzda.Ask, a)
	}
	if leaks(a, effects) {
		return uzda.Verdict{Decision: uzda.Ask, Origin: FromEffects,
			Reason: fmt.Sprintf("%s reaches beyond this machine, and its input names a secret", a.Use.Name)}
	}
	for _, r := range g.Rules.Allow {
		if r.matches(a, uzda.Allow) && (!effects.Irreversible || !r.wide()) {
			return r.verdict(uzda.Allow, a)
		}
	}
	if isOwn {
		return own.verdict(uzda.Allow, a)
	}
	return byEffects(a, effects, mode)
}

// byEffects decides where no rule does.
func byEffects(a uzda.Action, e uzda.Effects, mode string) uzda.Verdict {
	name := a.Use.Name
	ask := func(why string) uzda.Verdict {
		return uzda.Verdict{Decision: uzda.Ask, Reason: why, Origin: FromEffects}
	}
	switch {
	case e.Irreversible:
		return ask(name + " cannot be taken back")
	case !trusted(a.Spec):
		return ask(fmt.Sprintf("%s is of %s, and no rule allows it", name, a.Spec.Source))
	case e.OpenWorld:
		return ask(name + " reaches beyond this machine")
	case e.ReadOnly:
		return uzda.Verdict{Decision: uzda.Allow, Reason: name + " is read-only", Origin: FromEffects}
	case mode == ModeEdits && (e.Idempotent || name == "write_file" || name == "edit_file"):
		return uzda.Verdict{Decision: uzda.Allow, Reason: "the mode accept-edits allows " + name, Origin: FromMode}
	}
	return ask(name + " changes something")
}

// trusted says whether what a tool declares of itself can be believed: a tool of
// this program can, one of a server's may only tighten.
func trusted(s uzda.ToolSpec) bool {
	if strings.HasPrefix(s.Name, mcpPrefix) {
		return false
	}
	return s.Source == "" || s.Source == "built-in" || s.Source == "go" || strings.HasPrefix(s.Source, "agent ")
}

// believed are the effects that count. A server's tool always reaches beyond
// this machine: that it is read-only is its own word.
func believed(s uzda.ToolSpec) uzda.Effects {
	e := s.Effects
	if !trusted(s) {
		e.OpenWorld = true
	}
	return e
}

// leaks says whether a use would carry a secret out. The model never saw its
// value, but it may have been told to write its name.
func leaks(a uzda.Action, e uzda.Effects) bool {
	return e.OpenWorld && bytes.Contains(a.Use.Input, []byte(secretOpen))
}

// granted finds what a person allowed for the session. What is irreversible is
// asked every time, with its arguments.
func granted(a uzda.Action, e uzda.Effects) (Rule, bool) {
	if e.Irreversible {
		return Rule{}, false
	}
	for _, g := range a.Grants {
		r, err := Parse(uzda.Allow, g.Rule, "granted")
		if err != nil || !r.matches(a, uzda.Allow) {
			continue
		}
		if g.By != "" {
			r.Origin += " by " + g.By
		}
		return r, true
	}
	return Rule{}, false
}

// Propose returns the rule that "for this session" would grant for a use: its
// tool. It is empty for what is asked every time: the irreversible, and a secret
// that would leave.
func Propose(a uzda.Action) string {
	name := a.Use.Name
	if e := believed(a.Spec); e.Irreversible || leaks(a, e) {
		return ""
	}
	if r, err := Parse(uzda.Allow, name, ""); err != nil || r.Tool != name || r.wide() {
		return ""
	}
	return name
}

func (r Rule) verdict(d uzda.Decision, a uzda.Action) uzda.Verdict {
	verb := map[uzda.Decision]string{uzda.Allow: "allows", uzda.Ask: "asks for", uzda.Deny: "denies"}[d]
	reason := fmt.Sprintf("the rule %s (%s) %s %s", r, r.Origin, verb, a.Use.Name)
	if r.Origin == "" {
		reason = fmt.Sprintf("the rule %s %s %s", r, verb, a.Use.Name)
	}
	if r.blind() {
		reason += "; its pattern cannot be judged yet, so it holds for every use"
	}
	return uzda.Verdict{Decision: d, Reason: reason, Rule: r.String(), Origin: r.Origin}
}

// first finds the first rule of a list that matches.
func first(list []Rule, a uzda.Action, d uzda.Decision) (Rule, bool) {
	for _, r := range list {
		if r.matches(a, d) {
			return r, true
		}
	}
	return Rule{}, false
}
