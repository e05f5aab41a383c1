package agent

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strconv"

	"github.com/uzda-dev/uzda"
)

// A crew is what is in flight for a run, until it is given away.
type crew struct {
	left bool // nobody waits for it any more: what it comes to is late
	late chan landed
}

func newCrew() *crew { return &crew{late: make(chan landed)} }

// A job is one of a crew.
type job struct {
	crew *crew
	key  string
	do   func() landed
}

// fly launches something beside the loop. What it returns lands, see [run.land].
func (r *run) fly(ctx context.Context, key string, do func(ctx context.Context) landed) {
	if len(r.stop) == 0 {
		r.since = r.now()
	}
	ctx, stop := context.WithCancelCause(ctx)
	r.stop[key] = stop
	r.jobs = append(r.jobs, job{r.crew, key, func() landed { return do(ctx) }})
}

// launched takes the jobs that were launched and not yet begun.
func (r *run) launched() []job {
	jobs := r.jobs
	r.jobs = nil
	return jobs
}

// begin starts jobs, each in a goroutine of its own.
func (r *run) begin(jobs []job) {
	for _, j := range jobs {
		go r.work(j)
	}
}

// work does a job, and then the one that its landing has launched.
func (r *run) work(j job) {
	for more := true; more; {
		l := j.do()
		l.key = j.key
		next := r.arrive(j.crew, l)
		if more = len(next) > 0; more {
			j = next[0]
			r.begin(next[1:])
		}
	}
}

// arrive takes what came of a job and makes the moves that follow. It returns the
// jobs that those have launched.
func (r *run) arrive(c *crew, l landed) []job {
	r.mu.Lock()
	if c.left {
		r.mu.Unlock()
		if !l.more {
			c.late <- l
		}
		return nil
	}
	defer r.mu.Unlock()
	turn, cancel, grace := r.s.Turn.Seq, r.s.Cancel, r.grace
	r.landings++
	r.land(l)
	switch {
	case r.over: // another runner has taken over, and loop collects what is left
		r.ring()
		return nil
	case r.failed != nil:
		r.finish(r.failed)
	default:
		r.goOn()
	}
	if r.s.Turn.Seq != turn || r.s.Cancel != cancel || r.grace != grace { // loop waits for something else now
		r.ring()
	}
	return r.launched()
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
		req := r.request(r.s, b)
		r.hand.Asking = true
		k := &asking{run: r, key: "ask", model: r.Model, name: strconv.Itoa(b.Ordinal), a: b, info: r.s.Gear.Model, hold: b.Hold, accounts: b.Hold.Accounts, crew: r.crew}
		if k.accounts == nil { // the first attempt is free; one that falls back need not be
			k.accounts = r.accounts(r.s)
		}
		r.fly(ctx, "ask", func(ctx context.Context) landed { return k.ask(ctx, req) })
	case uzda.Started:
		u := *r.s.use(b.Use)
		use := r.use(u, u.Args(), r.s.Opened.Dir)
		use.Key, use.Attempt = b.Key, b.Attempt
		if r.Redact != nil {
			use.Input = r.Redact.Reveal(use.Input)
		}
		tool, limit := r.tools[u.Name], r.s.output(len(r.s.Uses))
		r.outMost.Store(int64(limit))
		r.hand.Uses[b.Use], r.names[b.Use] = true, u.Name
		r.fly(ctx, "use "+string(b.Use), func(ctx context.Context) landed {
			return landed{use: use.ID, bodies: []uzda.Body{r.call(ctx, tool, use, limit)}}
		})
	}
}

// tell passes a transient event on.
func (r *run) tell(b uzda.Body) {
	if r.watched() {
		r.Events(r.id, uzda.Event{At: r.now(), Body: b})
	}
}

func (r *run) watched() bool {
	return r.Events != nil && (r.Watched == nil || r.Watched(r.id))
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
