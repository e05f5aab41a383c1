package hook

import (
	"context"
	"fmt"
	"strings"
)

// Start runs the hooks of SessionStart. Source is startup or resume. What they
// return is for the model; the error is one of them that ends the work.
func (s *Set) Start(ctx context.Context, at At, source string) (string, error) {
	if !s.Has(SessionStart) {
		return "", nil
	}
	outs := s.run(ctx, call{At: at, event: SessionStart, names: []string{source},
		fields: func(string) map[string]any { return map[string]any{"source": source} }})
	for _, o := range outs {
		if o.Continue != nil && !*o.Continue {
			return "", fmt.Errorf("the %s ends the work: %s", o.hook, orElse(s.clean(o.StopReason), "it gives no reason"))
		}
		if why, yes := o.blocks(); yes { // there is nothing to block
			s.warn("%s on %s: %s", o.hook, SessionStart, s.clean(why))
		}
	}
	return s.contexts(outs), ctx.Err()
}

// Prompt runs the hooks of UserPromptSubmit before a message is given to a session.
// What they return is for the model; with an error the message must not be given.
func (s *Set) Prompt(ctx context.Context, at At, prompt string) (string, error) {
	if !s.Has(UserPromptSubmit) {
		return "", nil
	}
	outs := s.run(ctx, call{At: at, event: UserPromptSubmit,
		fields: func(string) map[string]any { return map[string]any{"prompt": prompt} }})
	if ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	for _, o := range outs {
		why, blocked := o.blocks()
		switch {
		case o.failed != "":
			return "", fmt.Errorf("the %s could not judge the message: %s", o.hook, o.failed)
		case o.Continue != nil && !*o.Continue:
			return "", fmt.Errorf("the %s blocks the message: %s", o.hook, orElse(s.clean(o.StopReason), "it gives no reason"))
		case blocked:
			return "", fmt.Errorf("the %s blocks the message: %s", o.hook, s.clean(why))
		}
	}
	return s.contexts(outs), nil
}

// contexts joins what hooks add to a message; plain words count.
func (s *Set) contexts(outs []outcome) string {
	var texts []string
	for _, o := range outs {
		if o.failed != "" {
			continue
		}
		if _, blocked := o.blocks(); blocked {
			continue
		}
		if text := s.clean(o.context(true)); text != "" {
			texts = append(texts, "From the "+o.hook.String()+":\n"+text)
		}
	}
	return strings.Join(texts, "\n\n")
}

// Stop runs the hooks of Stop on what the model takes for its end. Again says that
// a hook has sent this turn back before. Text is why it is not done; a hook that
// fails is a warning, and one that says "continue": false lets the turn end.
func (s *Set) Stop(ctx context.Context, at At, answer string, again bool) (done bool, text string, err error) {
	outs := s.run(ctx, call{At: at, event: Stop, fields: func(string) map[string]any {
		return map[string]any{"stop_hook_active": again, "last_assistant_message": answer}
	}})
	if ctx.Err() != nil {
		return false, "", context.Cause(ctx)
	}
	var whys []string
	for _, o := range outs {
		if o.Continue != nil && !*o.Continue {
			return true, "", nil
		}
		if why, yes := o.blocks(); yes {
			whys = append(whys, fmt.Sprintf("The %s says that you are not done:\n%s", o.hook, s.clean(why)))
		}
	}
	return len(whys) == 0, strings.Join(whys, "\n\n"), nil
}

// Stops lists what checks the end, for people.
func (s *Set) Stops() string {
	var list []string
	for _, h := range s.Hooks {
		if h.Event == Stop {
			list = append(list, h.String())
		}
	}
	return strings.Join(list, "; ")
}

// End runs the hooks of SessionEnd. They only watch.
func (s *Set) End(ctx context.Context, at At, reason string) {
	for _, o := range s.run(ctx, call{At: at, event: SessionEnd, names: []string{reason},
		fields: func(string) map[string]any { return map[string]any{"reason": reason} }}) {
		if why, yes := o.blocks(); yes {
			s.warn("%s on %s: %s", o.hook, SessionEnd, s.clean(why))
		}
	}
}
