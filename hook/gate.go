package hook

import (
	"context"
	"encoding/json"

	"github.com/uzda-dev/uzda"
)

// Gate returns the hooks of PreToolUse as a gate. It tells that it is slow, so that
// it is asked beside the loop (agent.Slow).
func (s *Set) Gate() uzda.Gate { return gate{s} }

type gate struct{ s *Set }

// Slow says that the gate starts programs.
func (gate) Slow() {}

// Check asks the hooks. None of them can allow what another gate does not, and one
// that has no answer has a person asked.
func (g gate) Check(ctx context.Context, a uzda.Action) (uzda.Verdict, error) {
	s, v := g.s, uzda.Verdict{Decision: uzda.Allow}
	mode := orElse(a.Mode, s.Mode)
	outs := s.run(ctx, call{At: At{a.Session, a.Dir, mode}, event: PreToolUse, names: s.names(a.Use.Name),
		fields: func(name string) map[string]any { return s.toolFields(name, a.Use) }})
	if ctx.Err() != nil {
		return v, context.Cause(ctx)
	}
	why, halted := s.halt(a.Session, outs)
	if halted {
		return uzda.Verdict{Decision: uzda.Deny, Reason: why}, nil
	}
	var remarks []string
	for _, o := range outs {
		if w := s.verdict(o); w.Decision.Stricter(v.Decision) {
			v = w
		}
		if text := s.clean(o.context(false)); text != "" {
			remarks = append(remarks, "From the "+o.hook.String()+", before this call:\n"+text)
		}
	}
	if v.Decision == uzda.Ask && mode == "deny" {
		v.Decision, v.Unattended, v.Reason = uzda.Deny, true, v.Reason+"; the mode deny asks nobody"
	}
	if len(remarks) > 0 && v.Decision != uzda.Deny {
		s.mu.Lock()
		if s.remarks == nil {
			s.remarks = map[string][]string{}
		}
		s.remarks[useKey(a.Use)] = remarks
		s.mu.Unlock()
	}
	return v, nil
}

func useKey(u uzda.Use) string { return string(u.Session) + "\x00" + string(u.ID) }

// verdict is what one hook says of a use.
func (s *Set) verdict(o outcome) uzda.Verdict {
	say := func(d uzda.Decision, text string) uzda.Verdict {
		return uzda.Verdict{Decision: d, Reason: uzda.Clip(s.clean("the "+o.hook.String()+" "+text), maxReason), Origin: o.hook.Origin}
	}
	if o.failed != "" {
		return say(uzda.Ask, "could not judge this: "+o.failed)
	}
	if why, yes := o.blocks(); yes {
		return say(uzda.Deny, "denies it: "+why)
	}
	switch {
	case o.Specific.rewrites():
		return say(uzda.Ask, "wants another input, which a hook cannot set here; this is the one that would run")
	case o.Specific.Decision == "ask" || o.Specific.Decision == "defer":
		return say(uzda.Ask, "asks for it: "+orElse(orElse(o.Specific.Reason, o.Reason), "it gives no reason"))
	}
	return uzda.Verdict{Decision: uzda.Allow}
}

// maxReason is the most of a reason that is recorded, in bytes.
const maxReason = 4000

func (s *Set) names(tool string) []string {
	if s.Names != nil {
		if list := s.Names(tool); len(list) > 0 {
			return list
		}
	}
	return []string{tool}
}

// toolFields is what hooks are told of a use, in the words that go with a name of
// its tool.
func (s *Set) toolFields(name string, use uzda.Use) map[string]any {
	input := use.Input
	if s.Input != nil {
		input = s.Input(name, use)
	}
	if !json.Valid(input) {
		input = json.RawMessage("{}")
	}
	return map[string]any{"tool_name": name, "tool_input": input, "tool_use_id": use.ID}
}
