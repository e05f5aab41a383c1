// Package anthropic speaks Anthropic's Messages format.
package anthropic

import (
	"context"
	"fmt"
	"iter"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/internal/wire"
)

// A Model is one model of Anthropic, or of another service that speaks Messages.
// With no more than an ID it finds its key in ANTHROPIC_API_KEY, tries again
// where that helps, and shares the limits of its key with every other Model of
// the process.
//
// Params.Options are members of the request's body, such as "thinking",
// "metadata", "service_tier", "context_management" or "mcp_servers". They win
// over what the adapter writes, except model, messages, max_tokens and stream,
// which stay its own; null leaves a member out. Some are no members of the body, or
// are added to:
//
//   - "tools" is an array of tools that the provider runs, such as
//     {"type":"web_search_20260318","name":"web_search"}; they come before the
//     agent's, so that tools which join late change nothing before them
//   - "betas" is an array of names for the anthropic-beta header
//   - "cache_ttl" is how long the provider keeps prompts: "5m" (the default),
//     "1h", which costs more, or "off"
//   - "output_config" is merged with what Effort and Schema say
type Model struct {
	ID  string // as the provider names it: "claude-opus-5-5"
	Key string // default ANTHROPIC_API_KEY, or ANTHROPIC_AUTH_TOKEN as a bearer token
	// Base is where "/v1/messages" is, default ANTHROPIC_BASE_URL, else
	// https://api.anthropic.com. Any other gets no key of the environment: another
	// service must not see it.
	Base   string
	Bearer bool        // Key goes into Authorization, not into x-api-key
	Header http.Header // more headers; they replace the adapter's, but anthropic-beta is added to
	// Profile names the service, in the model's id and in the origin of its
	// messages; default "anthropic".
	Profile string

	Window    int  // tokens; 0: unknown, see Info
	MaxOutput int  // tokens; 0: unknown
	Local     bool // on this machine or network: needs no key, may be slow, caches by itself
	Free      bool // costs nothing

	HTTP  *http.Client  // default: one that honours proxies, NO_PROXY and extra CAs of the environment
	First time.Duration // until the first byte of a reply; default 120 s, 900 s if Local
	Idle  time.Duration // without any byte; default 120 s, 600 s if Local
	Quiet time.Duration // with keep-alives only; default 600 s
	Tries int           // attempts of a request in all, default 5; 1: none but the first
	Wait  time.Duration // the longest wait between two, default 60 s
	// Limit names the limiter that is shared; default one for each base and key.
	Limit string
	Env   func(name string) string // where variables are looked up, default os.Getenv
}

var (
	_ uzda.Model     = Model{}
	_ uzda.Describer = Model{}
	_ uzda.Counter   = Model{}
)

const (
	official = "https://api.anthropic.com"
	version  = "2023-06-01"
)

// Describe says what is known without asking the provider; Info asks it.
func (m Model) Describe() uzda.ModelInfo {
	return uzda.ModelInfo{ID: m.profile() + "/" + m.ID, Window: m.Window, MaxOutput: m.MaxOutput, Free: m.Free}
}

func (m Model) profile() string {
	if m.Profile != "" {
		return m.Profile
	}
	return "anthropic"
}

// An endpoint is where a model is, and with which key.
type endpoint struct {
	Model
	base, key string
	bearer    bool
	origin    uzda.Origin
	client    wire.Client
}

// endpoint settles what the environment decides. It is an error if there is no
// key where one is surely needed.
func (m Model) endpoint() (*endpoint, error) {
	env := m.Env
	if env == nil {
		env = os.Getenv
	}
	e := &endpoint{Model: m, base: trimBase(m.Base), key: m.Key, bearer: m.Bearer}
	named := trimBase(env("ANTHROPIC_BASE_URL"))
	if e.base == "" {
		e.base = named
	}
	if e.base == "" {
		e.base = official
	}
	if e.key == "" && (e.base == official || e.base == named) {
		if e.key = env("ANTHROPIC_API_KEY"); e.key == "" {
			e.key, e.bearer = env("ANTHROPIC_AUTH_TOKEN"), true
		}
	}
	e.key = strings.TrimSpace(e.key)
	if e.key == "" && e.base == official && len(m.Header) == 0 {
		return nil, &uzda.ProviderError{Code: "auth", Message: "there is no key for Anthropic",
			Hint: "set ANTHROPIC_API_KEY, or name another model"}
	}
	e.origin = uzda.Origin{Profile: m.profile(), Base: wire.Shown(e.base), Account: wire.Account(e.key), Model: m.ID}
	e.client = wire.Client{HTTP: m.HTTP, Local: m.Local, First: m.First, Idle: m.Idle, Quiet: m.Quiet, Name: e.name(), Secrets: []string{e.key}, Key: e.limiter()}
	return e, nil
}

func trimBase(base string) string {
	base = strings.TrimSuffix(strings.TrimRight(strings.TrimSpace(base), "/"), "/messages") // the whole address, as some documents give it
	return strings.TrimSuffix(base, "/v1")
}

// name is what errors call the service.
func (e *endpoint) name() string {
	if e.base == official {
		return "Anthropic"
	}
	return fmt.Sprintf("%s at %s", e.profile(), e.origin.Base)
}

// limiter is what all sessions share that use the same key of the same service.
func (e *endpoint) limiter() *wire.Key {
	if e.Limit != "" {
		return wire.For(e.base, e.Limit)
	}
	return wire.For(e.base, e.origin.Account)
}

func (e *endpoint) header(betas []string) http.Header {
	h := http.Header{"Anthropic-Version": {version}, "Content-Type": {"application/json"}}
	switch {
	case e.key == "":
	case e.bearer:
		h.Set("Authorization", "Bearer "+e.key)
	default:
		h.Set("X-Api-Key", e.key)
	}
	for k, v := range e.Header {
		if http.CanonicalHeaderKey(k) == "Anthropic-Beta" {
			betas = append(v[:len(v):len(v)], betas...)
			continue
		}
		h[http.CanonicalHeaderKey(k)] = v
	}
	if len(betas) > 0 {
		h.Set("Anthropic-Beta", strings.Join(betas, ","))
	}
	return h
}

// Stream asks for a reply. Errors are *uzda.ProviderError, or the cause of a
// context that has ended; one that comes after content has the code "cut". Where
// the provider refuses a proof of thinking or a picture of the view, the request
// is sent once more without them, after an Attempt that says so.
func (m Model) Stream(ctx context.Context, req *uzda.Request) iter.Seq2[uzda.Chunk, error] {
	return func(yield func(uzda.Chunk, error) bool) {
		if ctx.Err() != nil {
			yield(nil, context.Cause(ctx))
			return
		}
		e, err := m.endpoint()
		if err != nil {
			yield(nil, err)
			return
		}
		s := stream{e: e, req: req, enc: req.Enc, yield: yield}
		if s.enc == nil {
			s.enc = &uzda.Enc{}
		}
		s.run(ctx)
	}
}

// A stream is one call of Stream.
type stream struct {
	e     *endpoint
	req   *uzda.Request
	enc   *uzda.Enc
	yield func(uzda.Chunk, error) bool

	attempts int  // that were announced
	began    bool // content was passed on: nothing is sent again
}

func (s *stream) run(ctx context.Context) {
	refused := map[mend]bool{}
	for {
		b, err := s.e.encode(s.req, s.enc, false)
		if err != nil {
			s.yield(nil, err)
			return
		}
		for _, w := range b.warnings {
			if !s.yield(w, nil) {
				return
			}
		}
		err = s.send(ctx, b)
		if err == nil {
			return
		}
		m := mendFor(err)
		if m == "" || refused[m] || s.began || !b.can(m) {
			s.yield(nil, err)
			return
		}
		refused[m] = true
		b.drop(m)
		s.attempts++
		if !s.yield(uzda.Attempt{N: s.attempts + 1, Error: fmt.Sprintf("%s; sent again without %s", wire.Short(err), m)}, nil) {
			return
		}
	}
}

// send passes on what comes until an error, which it returns, or until the
// stream is over.
func (s *stream) send(ctx context.Context, b *body) error {
	retry := wire.Retry{Tries: s.e.Tries, Longest: s.e.Wait}
	call := wire.Call{URL: s.e.base + "/v1/messages", Header: s.e.header(b.betas), Body: b.parts}
	call.Header.Set("Accept", "text/event-stream, application/json")
	before := s.attempts
	for c, err := range retry.Stream(ctx, s.e.limiter(), func(ctx context.Context) iter.Seq2[uzda.Chunk, error] {
		return func(yield func(uzda.Chunk, error) bool) { s.once(ctx, call, b, yield) }
	}) {
		if err != nil {
			return err
		}
		switch a := c.(type) {
		case uzda.Attempt:
			a.N += before
			s.attempts = a.N - 1
			c = a
		case uzda.Delta, uzda.Done:
			s.began = true
		}
		if !s.yield(c, nil) {
			return nil
		}
	}
	return nil
}

// once is one attempt.
func (s *stream) once(ctx context.Context, call wire.Call, b *body, yield func(uzda.Chunk, error) bool) {
	release, err := s.e.limiter().Enter(ctx, b.fresh()/4)
	if err != nil {
		yield(nil, err)
		return
	}
	defer release()
	reply, err := s.e.client.Do(ctx, call)
	if err != nil {
		yield(nil, err)
		return
	}
	defer reply.Body.Close()
	d := decoder{origin: s.e.origin, names: b.names, max: b.max, request: reply.Request, yield: yield}
	d.read(reply)
}
