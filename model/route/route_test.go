package route_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/model/modeltest"
	"github.com/uzda-dev/uzda/model/route"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fake answers with its name, or fails as often as it has failures.
type fake struct {
	info  uzda.ModelInfo
	wait  time.Duration
	usage uzda.Usage

	mu     sync.Mutex
	asked  int
	params []uzda.Params
	fails  []error // the first asks fail so
	always error   // and all others so
	inner  []uzda.Attempt
	partly bool // content comes before a failure
	active int
	most   int
}

func (f *fake) Describe() uzda.ModelInfo { return f.info }

func (f *fake) Count(_ context.Context, req *uzda.Request) (int, error) {
	return len(req.View) + 41, nil
}

func (f *fake) next(req *uzda.Request) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked++
	f.params = append(f.params, req.Head.Params)
	if req.Enc != nil {
		// As an adapter does: what is kept is good for one set of parameters.
		b := req.Enc.Buf(f.info.ID, req)
		if want := fmt.Sprint(req.Head.Params); b.Head == nil {
			b.Head = []byte(want)
		} else if string(b.Head) != want {
			return fmt.Errorf("the head was encoded for %s, not %s", b.Head, want)
		}
	}
	if len(f.fails) > 0 {
		err := f.fails[0]
		f.fails = f.fails[1:]
		return err
	}
	return f.always
}

func (f *fake) run(d int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.active += d
	f.most = max(f.most, f.active)
}

func (f *fake) Stream(ctx context.Context, req *uzda.Request) iter.Seq2[uzda.Chunk, error] {
	return func(yield func(uzda.Chunk, error) bool) {
		if ctx.Err() != nil {
			yield(nil, context.Cause(ctx))
			return
		}
		f.run(1)
		defer f.run(-1)
		failure := f.next(req)
		select {
		case <-time.After(f.wait):
		case <-ctx.Done():
			yield(nil, context.Cause(ctx))
			return
		}
		for _, a := range f.inner {
			if !yield(a, nil) {
				return
			}
		}
		text := f.info.ID
		var chunks []uzda.Chunk
		if failure == nil || f.partly {
			chunks = append(chunks, uzda.Delta{Kind: "text", Text: text})
		}
		if failure == nil {
			chunks = append(chunks, uzda.Done{Block: uzda.Text{Text: text}}, uzda.Stop{Reason: uzda.StopEnd, Usage: f.usage})
		}
		for _, c := range chunks {
			if ctx.Err() != nil {
				yield(nil, context.Cause(ctx))
				return
			}
			if !yield(c, nil) {
				return
			}
		}
		if failure != nil {
			yield(nil, failure)
		}
	}
}

func named(id string) *fake { return &fake{info: uzda.ModelInfo{ID: id}} }

func fault(code string) *uzda.ProviderError {
	return &uzda.ProviderError{Code: code, Message: "the " + code}
}

// ask collects one reply.
func ask(t *testing.T, m uzda.Model) (uzda.Reply, error) {
	t.Helper()
	return uzda.Collect(m.Stream(t.Context(), modeltest.Hello()), nil)
}

// attempts shows the attempts of a reply.
func attempts(r uzda.Reply) string {
	var out []string
	for _, a := range r.Attempts {
		out = append(out, fmt.Sprintf("%d %s free=%v", a.N, a.Model, a.Free))
	}
	return strings.Join(out, ", ")
}

// failure is the ProviderError that err must be.
func failure(t *testing.T, err error) *uzda.ProviderError {
	t.Helper()
	var p *uzda.ProviderError
	if !errors.As(err, &p) {
		t.Fatalf("the error is %v, not a *uzda.ProviderError", err)
	}
	return p
}

// Every decorator is a model like any other, alone and around each other.
func TestContract(t *testing.T) {
	broken := func() uzda.Model { return &fake{info: uzda.ModelInfo{ID: "x/broken"}, always: fault("overloaded")} }
	for name, wrap := range map[string]func(uzda.Model) uzda.Model{
		"retry":    func(m uzda.Model) uzda.Model { return &route.Retry{Model: m} },
		"limit":    func(m uzda.Model) uzda.Model { return &route.Limit{Model: m, Concurrent: 2, RequestsPerMinute: 100} },
		"fallback": func(m uzda.Model) uzda.Model { return &route.Fallback{Models: []uzda.Model{broken(), m}} },
		"tiers": func(m uzda.Model) uzda.Model {
			return route.Tiers{Models: []uzda.Model{broken(), m}, Choose: route.After(0)}
		},
		"with": func(m uzda.Model) uzda.Model {
			return route.With{Model: m, Params: func(p uzda.Params) uzda.Params { p.Effort = "low"; return p }}
		},
		"all": func(m uzda.Model) uzda.Model {
			return &route.Limit{Concurrent: 9, Model: &route.Retry{Model: &route.Fallback{Models: []uzda.Model{broken(), route.Tiers{Models: []uzda.Model{route.With{Model: m}}}}}}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			modeltest.Run(t, func() uzda.Model { return wrap(named("x/good")) }, modeltest.Options{
				Slow: func() uzda.Model { return wrap(&fake{info: uzda.ModelInfo{ID: "x/slow"}, wait: time.Hour}) }, Virtual: true,
			})
		})
	}
}

// L5: a model that fails for a while is asked again, one that can't be is not.
func TestRetry(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		busy := fault("overloaded")
		busy.Wait = 3 * time.Second
		m := named("x/a")
		m.fails = []error{busy, busy}
		from := time.Now()
		reply, err := ask(t, &route.Retry{Model: m})
		if err != nil || m.asked != 3 || attempts(reply) != "2  free=false, 3  free=false" || time.Since(from) < 6*time.Second {
			t.Errorf("%d asks in %v, attempts %s, %v", m.asked, time.Since(from), attempts(reply), err)
		}
		bad := named("x/b")
		bad.always = fault("auth")
		if _, err := ask(t, &route.Retry{Model: bad}); bad.asked != 1 || failure(t, err).Code != "auth" {
			t.Errorf("%d asks, %v", bad.asked, err)
		}
		cut := &fake{info: uzda.ModelInfo{ID: "x/c"}, always: busy, partly: true}
		if _, err := ask(t, &route.Retry{Model: cut}); cut.asked != 1 || failure(t, err).Code != "overloaded" {
			t.Errorf("after content: %d asks, %v", cut.asked, err)
		}
	})
}

// case:L09: those who share a Retry share its budget.
func TestRetryBudget(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := named("x/a")
		m.always = fault("overloaded")
		r := &route.Retry{Model: m, Tries: 100}
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() { _, _ = uzda.Collect(r.Stream(ctx, modeltest.Hello()), nil) })
		}
		wg.Wait()
		if m.asked < 10 || m.asked > 8+10+3 {
			t.Errorf("8 agents asked %d times in 30 s of an outage", m.asked)
		}
	})
}

// A retry of a fallback says that it begins with the first model again, as the
// reader pays by the name.
func TestRetryOfFallback(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a, b := named("x/a"), named("x/b")
		a.info.Free = true
		a.always, b.fails = fault("auth"), []error{fault("overloaded")}
		reply, err := ask(t, &route.Retry{Model: &route.Fallback{Models: []uzda.Model{a, b}, Rest: time.Nanosecond}})
		if want := "2 x/b free=false, 3 x/a free=false, 4 x/b free=false"; err != nil || attempts(reply) != want {
			t.Errorf("attempts %s, want %s; %v", attempts(reply), want, err)
		}
	})
}

// The next model is asked on what it may not have, never on a wrong request, and
// never after content.
func TestFallback(t *testing.T) {
	t.Parallel()
	again := fault("invalid_request")
	again.Again = uzda.AgainYes
	for _, c := range []struct {
		name   string
		err    error
		partly bool
		codes  []string
		falls  bool
	}{
		{"overloaded", fault("overloaded"), false, nil, true},
		{"rate limit", fault("rate_limit"), false, nil, true},
		{"network", fault("network"), false, nil, true},
		{"quota", fault("quota"), false, nil, true},
		{"auth", fault("auth"), false, nil, true},
		{"not found", fault("not_found"), false, nil, true},
		{"context", fault("context"), false, nil, true},
		{"unknown", fault("unknown"), false, nil, true},
		{"invalid request", fault("invalid_request"), false, nil, false},
		{"invalid request that may be tried again", again, false, nil, true},
		{"cut", fault("cut"), false, nil, false},
		{"after content", fault("overloaded"), true, nil, false},
		{"another error", errors.New("mine"), false, nil, false},
		{"chosen", fault("invalid_request"), false, []string{"invalid_request"}, true},
		{"not chosen", fault("auth"), false, []string{"context"}, false},
		{"retryable is always chosen", fault("overloaded"), false, []string{"context"}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := &fake{info: uzda.ModelInfo{ID: "x/a"}, always: c.err, partly: c.partly}
			b := &fake{info: uzda.ModelInfo{ID: "y/b", Free: true}}
			reply, err := ask(t, &route.Fallback{Models: []uzda.Model{a, b}, Codes: c.codes})
			if !c.falls {
				if !errors.Is(err, c.err) || b.asked != 0 {
					t.Errorf("%v; the next was asked %d times", err, b.asked)
				}
				return
			}
			if err != nil || reply.Message.String() != "y/b" || attempts(reply) != "2 y/b free=true" {
				t.Errorf("%q, attempts %s, %v", reply.Message.String(), attempts(reply), err)
			}
			if !strings.Contains(reply.Attempts[0].Error, "the "+failure(t, c.err).Code) {
				t.Errorf("the attempt says %q", reply.Attempts[0].Error)
			}
		})
	}
}

// A model that failed is asked last for a while, which is told as well.
func TestFallbackRemembers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a, b := named("x/a"), named("y/b")
		a.always = fault("overloaded")
		f := &route.Fallback{Models: []uzda.Model{a, b}}
		for range 3 {
			reply, err := ask(t, f)
			if err != nil || attempts(reply) != "2 y/b free=false" {
				t.Errorf("attempts %s, %v", attempts(reply), err)
			}
			time.Sleep(10 * time.Second)
		}
		if a.asked != 1 {
			t.Errorf("the broken one was asked %d times", a.asked)
		}
		reply, _ := ask(t, f)
		if says := reply.Attempts[0].Error; !strings.Contains(says, "x/a is asked last for another 30s: overloaded: the overloaded") {
			t.Errorf("the attempt says %q", says)
		}
		b.always = fault("overloaded") // then the tired one is asked after all
		a.always = nil
		if reply, err := ask(t, f); err != nil || attempts(reply) != "2 y/b free=false, 3 x/a free=false" {
			t.Errorf("attempts %s, %v", attempts(reply), err)
		}
		if reply, err := ask(t, f); err != nil || attempts(reply) != "" || reply.Message.String() != "x/a" {
			t.Errorf("after it worked: attempts %s, %v", attempts(reply), err)
		}
		long := fault("rate_limit")
		long.Wait = 10 * time.Minute
		a.fails = []error{long}
		b.always = nil
		_, _ = ask(t, f)
		time.Sleep(9 * time.Minute)
		if _, _ = ask(t, f); a.asked != 4 {
			t.Errorf("a model that asked for ten minutes was asked %d times", a.asked)
		}
		time.Sleep(time.Minute)
		if reply, _ := ask(t, f); attempts(reply) != "" {
			t.Errorf("after ten minutes: attempts %s", attempts(reply))
		}
		a.fails = []error{fault("context")} // of one request; it says nothing of the next
		_, _ = ask(t, f)
		if reply, _ := ask(t, f); attempts(reply) != "" {
			t.Errorf("after an overflow: attempts %s", attempts(reply))
		}
	})
}

// The error at the end names all, may be tried again if one of them may, and has
// the usage of the last alone.
func TestFallbackFails(t *testing.T) {
	t.Parallel()
	a, b, c := named("x/a"), named("y/b"), named("z/c")
	ea, eb, ec := fault("auth"), fault("overloaded"), fault("quota")
	ea.Usage, ec.Usage = uzda.Usage{Input: 5}, uzda.Usage{Input: 7}
	eb.Hint = "later"
	a.always, b.always, c.always = ea, eb, ec
	reply, err := ask(t, &route.Fallback{Models: []uzda.Model{a, b, c}})
	p := failure(t, err)
	if want := "none of 3 models answered: x/a: auth: the auth; y/b: overloaded: the overloaded; z/c: quota: the quota"; p.Message != want {
		t.Errorf("the message is %q", p.Message)
	}
	if p.Code != "overloaded" || !p.Retryable() || p.Hint != "later" || p.Usage.Input != 7 || !errors.Is(err, ea) {
		t.Errorf("the error is %#v", p)
	}
	if reply.Attempts[0].Usage.Input != 5 {
		t.Errorf("the attempt has the usage %+v", reply.Attempts[0].Usage)
	}
	if _, err := ask(t, &route.Fallback{Models: []uzda.Model{a}}); !errors.Is(err, ea) || failure(t, err).Message != ea.Message {
		t.Errorf("a single model's error is %v", err)
	}
	for _, m := range []uzda.Model{&route.Fallback{}, &route.Retry{}, &route.Limit{}, route.Tiers{}, route.With{}} {
		if _, err := ask(t, m); failure(t, err).Code != "invalid_request" {
			t.Errorf("%T without a model: %v", m, err)
		}
	}
}

// What is described is what a runner can rely on, whichever model answers.
func TestDescribe(t *testing.T) {
	t.Parallel()
	a := &fake{info: uzda.ModelInfo{ID: "x/a", Window: 200_000, MaxOutput: 0, Free: true}}
	b := &fake{info: uzda.ModelInfo{ID: "y/b", Window: 0, MaxOutput: 8000, Free: true}}
	c := &fake{info: uzda.ModelInfo{ID: "z/c", Window: 32_000, MaxOutput: 64_000}}
	for _, row := range []struct {
		model uzda.Model
		want  uzda.ModelInfo
	}{
		{&route.Fallback{Models: []uzda.Model{a, b, c}}, uzda.ModelInfo{ID: "x/a", Window: 32_000, MaxOutput: 8000}},
		{&route.Fallback{Models: []uzda.Model{a, b}}, uzda.ModelInfo{ID: "x/a", Window: 200_000, MaxOutput: 8000, Free: true}},
		{route.Tiers{Models: []uzda.Model{c, a}}, uzda.ModelInfo{ID: "z/c", Window: 32_000, MaxOutput: 64_000}},
		{&route.Retry{Model: a}, a.info},
		{&route.Limit{Model: c}, c.info},
		{route.With{Model: b}, b.info},
		{&route.Fallback{}, uzda.ModelInfo{ID: "unnamed"}},
	} {
		if got := row.model.(uzda.Describer).Describe(); got != row.want {
			t.Errorf("%T says %+v, want %+v", row.model, got, row.want)
		}
		if len(row.want.ID) > 3 {
			continue
		}
		if n, err := row.model.(uzda.Counter).Count(t.Context(), modeltest.Hello()); err != nil || n != 42 {
			t.Errorf("%T counts %d, %v", row.model, n, err)
		}
	}
	mute := struct{ uzda.Model }{a}
	if _, err := (&route.Retry{Model: mute}).Count(t.Context(), modeltest.Hello()); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("a model that can't count: %v", err)
	}
}

// L12: the tier is a function of the request, and a change of model is told before
// it is asked.
func TestTiers(t *testing.T) {
	t.Parallel()
	strong, cheap := named("x/strong"), named("x/cheap")
	cheap.inner = []uzda.Attempt{{N: 2, Error: "its own"}}
	tiers := route.Tiers{Models: []uzda.Model{strong, cheap}, Choose: route.After(2)}
	enc := &uzda.Enc{}
	for n, want := range map[int]string{1: "", 2: "", 3: "2 x/cheap free=false, 3  free=false", 4: "2 x/cheap free=false, 3  free=false"} {
		req := modeltest.Hello()
		req.Ask, req.Enc = n, enc
		reply, err := uzda.Collect(tiers.Stream(t.Context(), req), nil)
		if err != nil || attempts(reply) != want || reply.Message.String() == "x/cheap" != (n > 2) {
			t.Errorf("ask %d: %q, attempts %s, %v", n, reply.Message.String(), attempts(reply), err)
		}
	}
	for _, i := range []int{-1, 2, 99} {
		tiers.Choose = func(*uzda.Request) int { return i }
		if reply, err := ask(t, tiers); err != nil || reply.Message.String() != "x/strong" {
			t.Errorf("choice %d: %q, %v", i, reply.Message.String(), err)
		}
	}
}

// L12: tiers of one model that differ in their parameters do not mix up what was
// encoded of them, and the request stays as it was.
func TestWith(t *testing.T) {
	t.Parallel()
	m := named("x/a")
	effort := func(e string) uzda.Model {
		return route.With{Model: m, Params: func(p uzda.Params) uzda.Params { p.Effort = e; return p }}
	}
	tiers := route.Tiers{Models: []uzda.Model{effort("high"), effort("low"), m}, Choose: func(r *uzda.Request) int { return r.Ask % 3 }}
	enc := &uzda.Enc{}
	for n := range 12 {
		req := modeltest.Hello()
		req.Ask, req.Enc = n, enc
		if n == 6 {
			req.Enc = nil
		}
		if _, err := uzda.Collect(tiers.Stream(t.Context(), req), nil); err != nil {
			t.Errorf("ask %d: %v", n, err)
		}
		if req.Head.Params.Effort != "" {
			t.Errorf("ask %d: the request was changed", n)
		}
		if got, want := m.params[n].Effort, []string{"high", "low", ""}[n%3]; got != want {
			t.Errorf("ask %d was made with effort %q, want %q", n, got, want)
		}
	}
}

// M9: those who share a Limit stay under it, each attempt counted.
func TestLimit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := &fake{info: uzda.ModelInfo{ID: "x/a"}, wait: time.Second}
		l := &route.Limit{Model: m, Concurrent: 2}
		from := time.Now()
		var wg sync.WaitGroup
		for range 6 {
			wg.Go(func() {
				if _, err := ask(t, l); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if m.most != 2 || time.Since(from) != 3*time.Second {
			t.Errorf("%d at a time, %v in all", m.most, time.Since(from))
		}
	})
	synctest.Test(t, func(t *testing.T) {
		m := named("x/a")
		m.inner = []uzda.Attempt{{N: 2, Error: "its own"}} // two requests for each ask
		l := &route.Limit{Model: m, RequestsPerMinute: 4, Concurrent: 1}
		from := time.Now()
		var wg sync.WaitGroup
		for range 6 {
			wg.Go(func() {
				if _, err := ask(t, l); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if took := time.Since(from); took != 2*time.Minute {
			t.Errorf("12 requests at 4 a minute took %v", took)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		m := named("x/a")
		m.usage = uzda.Usage{Input: 100, Output: 100}
		l := &route.Limit{Model: m, TokensPerMinute: 1700} // a request may take 1,000 and takes 200
		from := time.Now()
		for n := range 4 {
			if _, err := ask(t, l); err != nil || time.Since(from) != 0 {
				t.Errorf("ask %d after %v, %v", n, time.Since(from), err)
			}
		}
		m.fails = []error{fault("overloaded")} // used nothing
		_, _ = ask(t, l)
		if time.Since(from) != time.Minute {
			t.Errorf("the fifth ask was made after %v", time.Since(from))
		}
		if _, err := ask(t, l); err != nil || time.Since(from) != time.Minute {
			t.Errorf("after a failure that used nothing an ask waited until %v, %v", time.Since(from), err)
		}
	})
}

// Who leaves the queue gives nothing away; a cancel while waiting has its cause.
func TestLimitCancel(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := &fake{info: uzda.ModelInfo{ID: "x/a"}, wait: time.Hour}
		l := &route.Limit{Model: m, Concurrent: 1}
		mine := errors.New("mine")
		var wg sync.WaitGroup
		for i := range 3 {
			ctx, cancel := context.WithCancelCause(t.Context())
			time.AfterFunc(time.Duration(3-i)*time.Minute, func() { cancel(mine) })
			wg.Go(func() {
				if _, err := uzda.Collect(l.Stream(ctx, modeltest.Hello()), nil); !errors.Is(err, mine) {
					t.Errorf("the error is %v", err)
				}
			})
		}
		wg.Wait()
		m.wait = 0
		if _, err := ask(t, l); err != nil {
			t.Errorf("the place was not given back: %v", err)
		}
	})
}
