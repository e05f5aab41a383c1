// Package policy decides which uses of tools may run.
package policy

import (
	"cmp"
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
	// Uzda's own notes may still be written. Commands that only read run.
	ModePlan = "plan"
	// ModeEdits allows changes on this machine that can be made again: the tools
	// write_file, edit_file, delete_file, notes and todo inside the roots, those that
	// declare themselves idempotent, and commands such as mkdir, cp and mv. It asks
	// for what is irreversible or reaches beyond this machine.
	ModeEdits = "accept-edits"
	// ModeDeny denies what would be asked, since nobody can be.
	ModeDeny = "deny"
	// ModeBypass allows what would be asked; deny rules still hold.
	ModeBypass = "bypass"
)

// Modes returns the permission modes.
func Modes() []string { return []string{ModeAsk, ModePlan, ModeEdits, ModeDeny, ModeBypass} }

// A Gate decides by rules first, and then by what the effects of a tool are. Its
// verdict depends on the action, the fields here and the file system alone, so
// that the same use is judged the same after a restart. It must not be changed
// while it is in use. The zero value asks for whatever is not read-only.
type Gate struct {
	Mode  string // where the session has none; default ModeAsk
	Rules Rules
	// Roots are the folders whose files may be read and written; default the
	// session's. ReadRoots are those that may be read besides.
	Roots, ReadRoots []string
	// ReadRootsOf are more folders that one session alone may read; optional.
	ReadRootsOf func(id uzda.SessionID) []string
	// Own are files and folders of the program itself (its data, the user's
	// settings), in a root or not: what writes to them is asked.
	Own  []string
	Home string // what ~ is; default the user's
	// Bash says that commands run in bash. Otherwise what a plain sh reads in another
	// way is asked.
	Bash bool
	// HandOver is how many failures in a row make a person look at whatever is not
	// read-only; default 5, negative: none do.
	HandOver int
	// Strict asks for commands that only read too, where no rule allows them.
	Strict bool
	// Hides: grep and glob leave out what Hidden says, and with Skips what Skipped
	// says too. Otherwise a search above such files is asked about.
	Hides, Skips bool
}

var _ uzda.Gate = Gate{}

// Slow says that Check looks at the file system, which may be far away: it is asked
// beside the loop.
func (Gate) Slow() {}

// builtIn are the rules that stand behind all others: these tools write Uzda's
// own notes and nothing else.
var builtIn = []Rule{{Tool: "notes", Origin: "built-in"}, {Tool: "todo", Origin: "built-in"}}

// Origins of verdicts that no rule gave.
const (
	FromEffects = "effects"
	FromMode    = "mode"
	FromPaths   = "paths"    // where a path or a host leads
	FromHandOff = "failures" // too many in a row
)

// Check judges a use. Deny rules come first, then what a person granted for the
// session, ask rules, allow rules, and last the effects and the mode.
func (g Gate) Check(_ context.Context, a uzda.Action) (uzda.Verdict, error) {
	mode := cmp.Or(a.Mode, g.Mode, ModeAsk)
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
	u := g.subject(a, mode)
	if u.line != "" {
		return u.command()
	}
	if r, ok := u.first(g.Rules.Deny, uzda.Deny); ok {
		return r.verdict(uzda.Deny, a.Use.Name)
	}
	if v, ok := u.forbidden(); ok {
		return v
	}
	own, isOwn := u.first(builtIn, uzda.Allow)
	isOwn = isOwn && trusted(a.Spec)
	if mode == ModePlan && !u.effects.ReadOnly && !isOwn {
		return planned(a.Use.Name)
	}
	if v, ok := u.handOver(); ok && !u.effects.ReadOnly {
		return v
	}
	if v, ok := u.guarded(); ok {
		return v
	}
	if r, ok := u.granted(); ok && !u.leaks() {
		return r.verdict(uzda.Allow, a.Use.Name)
	}
	if r, ok := u.first(g.Rules.Ask, uzda.Ask); ok {
		return r.verdict(uzda.Ask, a.Use.Name)
	}
	if u.leaks() {
		return uzda.Verdict{Decision: uzda.Ask, Origin: FromEffects,
			Reason: fmt.Sprintf("%s reaches beyond this machine, and its input names a secret", a.Use.Name)}
	}
	for _, r := range g.Rules.Allow {
		if u.matches(r, uzda.Allow) && (!u.effects.Irreversible || !r.wide()) {
			return r.verdict(uzda.Allow, a.Use.Name)
		}
	}
	if isOwn {
		return own.verdict(uzda.Allow, a.Use.Name)
	}
	return byEffects(a, u.effects, mode)
}

func planned(what string) uzda.Verdict {
	return uzda.Verdict{Decision: uzda.Deny, Origin: FromMode,
		Reason: fmt.Sprintf("the mode plan runs only what is read-only, and %s is not; say what you would do instead", what)}
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
	case mode == ModeEdits && (e.Idempotent || files[name] == writes):
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

func (r Rule) verdict(d uzda.Decision, what string) uzda.Verdict {
	verb := map[uzda.Decision]string{uzda.Allow: "allows", uzda.Ask: "asks for", uzda.Deny: "denies"}[d]
	reason := fmt.Sprintf("the rule %s (%s) %s %s", r, r.Origin, verb, what)
	if r.Origin == "" {
		reason = fmt.Sprintf("the rule %s %s %s", r, verb, what)
	}
	if r.kind() == ofNothing {
		reason += "; its pattern is of no form that is known, so it holds for every use"
	}
	return uzda.Verdict{Decision: d, Reason: reason, Rule: r.String(), Origin: r.Origin}
}
