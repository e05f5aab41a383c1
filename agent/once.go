package agent

import (
	"context"
	"fmt"

	"github.com/uzda-dev/uzda"
)

// onceTaken answers a use whose once-key another use of this session has.
func (r *run) onceTaken(u Open, k string, once map[string]Claim) (uzda.ToolResult, bool) {
	if k == "" {
		k = r.onceKey(u, r.scope)
	}
	c, taken := once[k]
	if !taken || c.Use == u.ID {
		return uzda.ToolResult{}, false
	}
	return again(u, uzda.Holder{Session: r.id, Use: c.Use}, c), true
}

func (r *run) onceKey(u Open, scope uzda.SessionID) string {
	return key(string(scope), u.Name, string(uzda.Canonical(u.Args())))
}

// elsewhere answers a use whose once-key another session has, or says that the
// key is free again.
func (r *run) elsewhere(ctx context.Context, u Open, k string, by uzda.Holder) (res uzda.ToolResult, free bool, err error) {
	if by.Session == r.id { // State.Once would know
		return res, true, nil
	}
	if by.Session == "" { // it was removed, what it did was not
		return again(u, by, Claim{}), false, nil
	}
	s, err := Load(ctx, r.Store, by.Session)
	if err != nil {
		return res, false, fmt.Errorf("look up the once-key of use %s: %w", u.ID, err)
	}
	c, ok := s.Once[k]
	if !ok {
		return res, true, nil
	}
	return again(u, by, c), false, nil
}

// again answers a use of a tool that runs once for its arguments.
func again(u Open, by uzda.Holder, c Claim) uzda.ToolResult {
	const done = "This was already done by use %s, and was not done again. If you mean a second one, change an argument. "
	switch {
	case c.Result != nil:
		res := *c.Result
		res.Use, res.Effect = u.ID, uzda.EffectNone // of this use
		res.Blocks = append(uzda.Say(fmt.Sprintf(done+"The result was:", by.Use)), res.Blocks...)
		return res
	case c.Took:
		return uzda.ToolResult{Use: u.ID, Effect: uzda.EffectNone, Blocks: uzda.Say(fmt.Sprintf(done+"Its result was lost.", by.Use))}
	}
	res := refusal(u, uzda.CodeOutcomeUnknown)
	res.Effect = uzda.EffectNone // of this use
	res.Blocks = uzda.Say(fmt.Sprintf("%s was begun with the same arguments by use %s, and its outcome is not known. It was not run again. A person can find out whether it took effect.", u.Name, by.Use))
	return res
}

// probed asks a tool that can know it what became of a use that was lost. asked
// is false where there is nobody to ask.
func (r *run) probed(ctx context.Context, f *State, u Open) (bodies []uzda.Body, asked bool) {
	if g, ok := r.ruled[u.ID]; ok {
		delete(r.ruled, u.ID)
		return g.bodies, true
	}
	p, ok := r.tools[u.Name].(uzda.Prober)
	if !ok {
		return nil, false
	}
	r.judging(ctx, u.ID, r.basis(f), func(ctx context.Context) []uzda.Body {
		return []uzda.Body{uzda.Returned{Result: r.probe(ctx, p, u)}}
	}, false)
	return nil, true
}

func (r *run) probe(ctx context.Context, p uzda.Prober, u Open) (res uzda.ToolResult) {
	res = refusal(u, uzda.CodeOutcomeUnknown)
	defer func() {
		if c := recover(); c != nil {
			r.debug("a probe crashed", "session", r.id, "use", u.ID, "panic", c)
		}
	}()
	took, err := p.Probe(ctx, u.Started.Key)
	switch {
	case err != nil:
		r.debug("probe", "session", r.id, "use", u.ID, "error", err)
	case took:
		res.IsError, res.Code, res.Effect = false, "", uzda.EffectDone
		res.Blocks = uzda.Say("The call was interrupted. It did take effect, but its result was lost.")
	default:
		res.Code, res.Effect = uzda.CodeFailed, uzda.EffectNone
		res.Blocks = uzda.Say("The call was interrupted, and it did not take effect. Call it again if it is still needed.")
	}
	return res
}
