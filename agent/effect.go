package agent

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"

	"github.com/uzda-dev/uzda"
)

// fly runs something beside the loop. What it returns lands in the loop.
func (r *run) fly(ctx context.Context, key string, do func(ctx context.Context) landed) {
	if len(r.stop) == 0 {
		r.since = r.now()
	}
	ctx, stop := context.WithCancelCause(ctx)
	r.stop[key] = stop
	done := r.done
	go func() {
		l := do(ctx)
		l.key = key
		done <- l
	}()
}

// beside runs a plan or a verification.
func (r *run) beside(ctx context.Context, key string, do func(ctx context.Context) landed) {
	r.hand.Beside = true
	r.fly(ctx, key, do)
}

// judging rules on a use beside the loop.
func (r *run) judging(ctx context.Context, id uzda.UseID, b basis, rule func(ctx context.Context) []uzda.Body, start bool) {
	r.hand.Judging[id] = true
	r.fly(ctx, "judge "+string(id), func(ctx context.Context) landed {
		return landed{use: id, ruling: &ruling{bodies: rule(ctx), labels: len(b.labels), grants: len(b.grants), start: start}}
	})
}

// launch begins what a Started or an Asked has announced.
func (r *run) launch(ctx context.Context, b uzda.Body) {
	switch b := b.(type) {
	case uzda.Asked:
		req := &uzda.Request{Session: r.id, Agent: r.s.Opened.Agent, View: r.s.View[:len(r.s.View):len(r.s.View)], Gen: r.s.Gen, HeadGen: r.s.GearGen,
			Tail: b.Tail, Max: b.Max, Ask: b.Ordinal, Enc: &r.enc,
			Head: uzda.Head{Model: r.s.Gear.Model.ID, System: r.s.Gear.System, Tools: r.s.Gear.Tools, Params: r.s.Gear.Params}}
		r.hand.Asking = true
		info, done := r.s.Gear.Model, r.done
		r.fly(ctx, "ask", func(ctx context.Context) landed { return r.ask(ctx, req, b, info, done) })
	case uzda.Started:
		u := *r.s.use(b.Use)
		use := uzda.Use{Session: r.id, ID: u.ID, Name: u.Name, Input: u.Args(), Key: b.Key, Attempt: b.Attempt, Dir: r.s.Opened.Dir}
		if r.Redact != nil {
			use.Input = r.Redact.Reveal(use.Input)
		}
		tool, limit := r.tools[u.Name], r.s.Gear.Limits.Output
		r.hand.Uses[b.Use], r.names[b.Use] = true, u.Name
		r.fly(ctx, "use "+string(b.Use), func(ctx context.Context) landed {
			return landed{use: use.ID, bodies: []uzda.Body{r.call(ctx, tool, use, limit)}}
		})
	}
}

// ask streams one reply. It never fails: what goes wrong is part of the body.
func (r *run) ask(ctx context.Context, req *uzda.Request, a uzda.Asked, info uzda.ModelInfo, done chan<- landed) (l landed) {
	var reply uzda.Reply
	var tried uzda.Money // by attempts before the last
	settle := func(cost uzda.Money) *uzda.Settlement {
		if a.Hold.ID == "" {
			return nil
		}
		return &uzda.Settlement{ID: a.Hold.ID, Spent: cost + tried}
	}
	defer func() {
		if p := recover(); p != nil {
			r.debug("the model crashed", "session", r.id, "panic", p, "stack", string(debug.Stack()))
			b := r.broken(ctx, a, info, reply, &uzda.ProviderError{Code: codeCrash, Message: fmt.Sprintf("the model's adapter crashed: %v", p)})
			l = landed{bodies: []uzda.Body{b}, settle: settle(b.Cost)}
		}
	}()
	live := r.live(a.Ordinal)
	reply, err := uzda.Collect(r.Model.Stream(ctx, req), func(c uzda.Chunk) {
		switch c := c.(type) {
		case uzda.Delta:
			live.delta(c)
		case uzda.Stop:
			live.end()
		case uzda.Attempt:
			live.drop()
			c.Error = r.brief(c.Error)
			r.tell(uzda.Restarted{Ask: a.Ordinal, Error: c.Error})
			bodies := []uzda.Body{uzda.Tried{Ask: a.Ordinal, Attempt: c}}
			if c.Usage.Total() > 0 {
				c.Usage.AtLeast = true
				cost, known := r.price(info, c.Usage)
				tried += cost
				bodies = append(bodies, uzda.Used{For: "retry", Model: info.ID, Usage: c.Usage, Cost: cost, Unknown: !known})
			}
			done <- landed{key: "ask", more: true, bodies: bodies}
		}
	})
	if err != nil {
		b := r.broken(ctx, a, info, reply, err)
		if b.Code == codeCut {
			r.tell(uzda.Restarted{Ask: a.Ordinal, Error: b.Error})
		}
		return landed{bodies: []uzda.Body{b}, settle: settle(b.Cost)}
	}
	s := uzda.Said{Raw: r.brief(reply.Stop.Raw), Detail: r.brief(reply.Stop.Detail), Usage: reply.Stop.Usage}
	s.Message, s.Stop = mend(reply.Message, reply.Stop.Reason)
	r.mask(&s.Message)
	if err := fits(s, heft(s.Message.Blocks)); err != nil {
		b := r.broken(ctx, a, info, uzda.Reply{Stop: reply.Stop}, &uzda.ProviderError{Code: "unknown", Message: "the reply can't be recorded: " + err.Error()})
		return landed{bodies: []uzda.Body{b}, settle: settle(b.Cost)}
	}
	var known bool
	s.Cost, known = r.price(info, s.Usage)
	s.Unknown = !known
	return landed{bodies: []uzda.Body{s}, settle: settle(s.Cost)}
}

// Codes of a reply that did not come, besides those of [uzda.ProviderError].
const (
	codeCut   = "cut"      // the stream ended without a stop: it is asked for once more
	codeCrash = "internal" // the adapter panicked
)

// broken describes a reply that did not come. Providers charge for what they
// read and said up to a cut, without telling how much that was: the input as it
// was projected, and a token for four bytes of what had come. A request that was
// refused, or never arrived, costs nothing.
func (r *run) broken(ctx context.Context, a uzda.Asked, info uzda.ModelInfo, reply uzda.Reply, err error) uzda.Broken {
	b := uzda.Broken{Text: r.own(strings.ToValidUTF8(partial(reply), "\uFFFD")), Usage: reply.Stop.Usage, Code: codeCut, Error: err.Error()}
	var p *uzda.ProviderError
	if errors.As(err, &p) {
		b.Code, b.Error, b.Hint = p.Code, p.Error(), p.Hint
	}
	if cause := context.Cause(ctx); cause != nil {
		b.Code, b.Error, b.Hint = "cancelled", "cancelled", ""
		if errors.Is(cause, errTime) {
			b.Code, b.Error = "timeout", cause.Error()
		}
	}
	b.Error, b.Hint = r.brief(b.Error), r.brief(b.Hint)
	began := len(reply.Message.Blocks) > 0 || b.Text != "" || ctx.Err() != nil || b.Code == codeCut || b.Code == codeCrash
	if began && b.Usage.Total() == 0 {
		b.Usage.Input = a.Tokens - a.Max
	}
	if b.Usage.Output == 0 {
		b.Usage.Output = (reply.Message.Blocks.Size() + len(reply.Partial) + 3) / 4
	}
	b.Usage.AtLeast = true
	b.Cost, _ = r.price(info, b.Usage)
	return b
}

func partial(r uzda.Reply) string {
	return strings.TrimSpace(r.Message.String() + "\n" + r.Partial)
}

func (r *run) tell(b uzda.Body) {
	if r.Events != nil {
		r.Events(r.id, uzda.Event{At: r.now(), Body: b})
	}
}

// call runs a tool. It never fails: what goes wrong is part of the body.
func (r *run) call(ctx context.Context, t uzda.Tool, use uzda.Use, limit int) (out uzda.Returned) {
	spec := r.specs[use.Name]
	res := uzda.ToolResult{Use: use.ID, Effect: uzda.EffectDone}
	if spec.Effects.ReadOnly {
		res.Effect = uzda.EffectNone
	}
	fail := func(code uzda.Code, text string) {
		res.IsError, res.Code, res.Effect = true, code, unsure(spec.Effects)
		res.Blocks = uzda.Say(r.brief(text))
	}
	defer func() {
		if p := recover(); p != nil {
			r.debug("a tool crashed", "session", r.id, "use", use.ID, "panic", p, "stack", string(debug.Stack()))
			fail(uzda.CodeFailed, fmt.Sprintf("The tool crashed: %v", p))
			out = uzda.Returned{Result: res}
		}
	}()
	got, err := t.Call(ctx, use)
	res.Labels = got.Labels
	for _, b := range got.Blocks {
		res.Labels = uzda.Union(res.Labels, b.Marks()...)
	}
	switch cause := context.Cause(ctx); {
	case err != nil && errors.Is(cause, errTime):
		fail(uzda.CodeTimeout, texts[uzda.CodeTimeout])
	case err != nil && cause != nil:
		fail(uzda.CodeCancelled, texts[uzda.CodeCancelled])
	case err != nil:
		fail(uzda.CodeFailed, err.Error())
		return uzda.Returned{Result: res, Fatal: use.Name + ": " + res.Blocks.String()}
	case got.Pending != nil:
		return uzda.Returned{Result: uzda.ToolResult{Use: use.ID}, Pending: got.Pending}
	default:
		r.took(&res, got, spec)
		res = Enter(ctx, r.Store, r.Redact, res, limit)
	}
	return uzda.Returned{Result: res}
}

// took takes over what a tool said of its result. An error of a tool that runs
// once may come after the effect, so only the tool can say that there was none.
func (r *run) took(res *uzda.ToolResult, got uzda.Result, spec uzda.ToolSpec) {
	res.Blocks, res.People = got.Blocks, got.People
	res.IsError = got.IsError
	if got.IsError {
		res.Code = or(got.Code, uzda.CodeFailed)
		if spec.Once {
			res.Effect = uzda.EffectUnknown
		}
	}
	if got.Effect != "" {
		res.Effect = got.Effect
	}
	if len(res.Blocks) == 0 {
		res.Blocks = uzda.Say("(no output)")
	}
}
