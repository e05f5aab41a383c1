// Package ollama speaks Ollama's own format (POST /api/chat), the only one by
// which the server can be told how large the window shall be.
//
// A reply is one item, the message as it came, folded from its lines; where
// encoding its blocks gives the same, there is no item. Calls that stood in the
// text as markup become calls of the message.
package ollama

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/internal/wire"
)

// DefaultNumCtx is the window in tokens that is asked for where nobody says more.
// Ollama's own is 4,096 on most machines, and what does not fit is cut off in
// silence. The server never takes more than the model was trained for.
const DefaultNumCtx = 32_768

// A Model is one model of an Ollama server. With no more than an ID it asks the
// server that OLLAMA_HOST names, or the one on this machine. [Model.Probe] finds
// out the rest; without it the window is not known, and DefaultNumCtx is asked for.
//
// Params.Options are members of the request's body ("format", "keep_alive",
// "think", "truncate" …), and win over what this package says; null leaves one
// out. Members of "options" are added to the options, and those that belong there
// ("num_ctx", "seed", "top_p" …) may stand outside. model, messages, tools and
// stream can't be set.
//
// Params.Schema is a format only without tools, since it would keep
// the model from calling one. Ollama knows no tool choice: "none" leaves out the
// tools, anything else and NoParallel give a warning.
type Model struct {
	ID string // as `ollama list` shows it: "qwen3:8b"
	// Base is where the server is, in any form that OLLAMA_HOST may have: host,
	// host:port, :port or a URL. Default OLLAMA_HOST, else 127.0.0.1:11434.
	Base string
	Key  string // a bearer token; default OLLAMA_API_KEY, at ollama.com only

	// NumCtx is the window in tokens. It should stay the same for as long as the
	// model is used: another one loads the model again, which takes as long as at
	// the start. 0: DefaultNumCtx is asked for, see Probe.
	NumCtx int
	// Caps are the capabilities, as the server names them: completion, tools,
	// thinking, vision … nil: unknown.
	Caps      []string
	Family    string        // of the architecture: qwen3, gptoss …
	KeepAlive time.Duration // how long the model stays loaded; 0: as the server has it; negative: for ever

	Header http.Header   // more headers for each request
	HTTP   *http.Client  // default: one that honours proxies, NO_PROXY and extra CAs of the environment
	First  time.Duration // until the first byte of a reply; default 900 s, as a model may have to load
	Idle   time.Duration // without any byte; default 600 s
	Quiet  time.Duration // with keep-alives only; default 600 s
	Tries  int           // attempts of a request in all, default 5; 1: none but the first
	Wait   time.Duration // the longest wait between two, default 60 s

	Env func(name string) string // default os.Getenv
}

var (
	_ uzda.Model     = Model{}
	_ uzda.Describer = Model{}
)

// Describe says what the fields tell. A model is free where it runs on a machine
// of one's own.
func (m Model) Describe() uzda.ModelInfo {
	return uzda.ModelInfo{ID: "ollama/" + m.ID, Window: m.NumCtx, Free: !m.cloud()}
}

// cloud says whether the model runs at ollama.com, also where a server of one's
// own passes it on.
func (m Model) cloud() bool {
	if strings.HasSuffix(m.ID, "-cloud") || strings.HasSuffix(m.ID, ":cloud") {
		return true
	}
	u, err := m.place()
	return err == nil && u.Hostname() == "ollama.com"
}

// Can says whether the model has a capability: "tools", "thinking", "vision". It
// is true where that is unknown.
func (m Model) Can(capability string) bool {
	return m.Caps == nil || slices.Contains(m.Caps, capability)
}

func (m Model) env(name string) string {
	if m.Env != nil {
		return m.Env(name)
	}
	return os.Getenv(name)
}

func (m Model) place() (*url.URL, error) {
	return parseHost(cmp.Or(m.Base, m.env("OLLAMA_HOST")))
}

// An endpoint is where a model is, and with which key.
type endpoint struct {
	Model
	base   string
	key    string
	origin uzda.Origin
	client wire.Client
}

func (m Model) endpoint() (*endpoint, error) {
	u, err := m.place()
	if err != nil {
		return nil, &uzda.ProviderError{Code: "invalid_request", Message: err.Error(),
			Hint: "write OLLAMA_HOST or the base like 127.0.0.1:11434 or https://host"}
	}
	e := &endpoint{Model: m, base: u.String(), key: strings.TrimSpace(m.Key)}
	local := u.Hostname() != "ollama.com"
	if e.key == "" && !local {
		e.key = strings.TrimSpace(m.env("OLLAMA_API_KEY"))
	}
	secrets := []string{e.key}
	if u.User != nil { // for a proxy in front; it shows nowhere
		password, _ := u.User.Password()
		secrets = append(secrets, password, u.User.String())
		u.User = nil
	}
	shown := u.String()
	e.origin = uzda.Origin{Profile: "ollama", Base: shown, Account: wire.Account(e.key), Model: m.ID}
	e.client = wire.Client{HTTP: m.HTTP, Local: local, First: m.First, Idle: m.Idle, Quiet: m.Quiet, Name: "Ollama at " + shown, Secrets: secrets, Key: e.limiter()}
	return e, nil
}

func (e *endpoint) header() http.Header {
	h := http.Header{"Content-Type": {"application/json"}, "Accept": {"application/x-ndjson, application/json"}}
	if e.key != "" {
		h.Set("Authorization", "Bearer "+e.key)
	}
	for k, v := range e.Header {
		h[http.CanonicalHeaderKey(k)] = v
	}
	return h
}

// limiter is what all sessions share that use the same server with the same key.
func (e *endpoint) limiter() *wire.Key { return wire.For(e.origin.Base, e.origin.Account) }

// Stream asks for a reply. Errors are *uzda.ProviderError, or the cause of a
// context that has ended; one that comes after content and may pass has the code
// "cut". Where the model can't think as Params.Effort wants it, or
// can't see, the request is sent once more without that, after an Attempt that says so.
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
	for {
		b, err := s.e.encode(s.req, s.enc)
		if err != nil {
			s.yield(nil, err)
			return
		}
		for _, w := range b.warnings {
			if !s.yield(w, nil) {
				return
			}
		}
		if err = s.send(ctx, b); err == nil {
			return
		}
		without := ""
		switch { // each at most once, since then there is nothing left of it
		case s.began:
		case b.thinks && refusesThinking(err):
			b.mute()
			without = "asking for it"
		case b.pictures && wire.RefusesMedia(err):
			b.blind()
			without = "pictures"
		}
		if without == "" {
			s.yield(nil, s.e.explain(ctx, err))
			return
		}
		s.attempts++
		if !s.yield(uzda.Attempt{N: s.attempts + 1, Error: fmt.Sprintf("%s; sent again without %s", wire.Short(err), without)}, nil) {
			return
		}
	}
}

// refusesThinking reads `"NAME" does not support thinking` and `think value "high"
// is not supported for this model`.
func refusesThinking(err error) bool {
	var p *uzda.ProviderError
	return errors.As(err, &p) && p.Status == http.StatusBadRequest &&
		(strings.Contains(p.Message, "does not support thinking") || strings.Contains(p.Message, "think value"))
}

// send passes on what comes until an error, which it returns, or until the
// stream is over.
func (s *stream) send(ctx context.Context, b *body) error {
	retry := wire.Retry{Tries: s.e.Tries, Longest: s.e.Wait}
	before := s.attempts
	for c, err := range retry.Stream(ctx, s.e.limiter(), func(ctx context.Context) iter.Seq2[uzda.Chunk, error] {
		return func(yield func(uzda.Chunk, error) bool) { s.once(ctx, b, yield) }
	}) {
		if err != nil {
			return err
		}
		switch a := c.(type) {
		case uzda.Attempt:
			a.N += before
			s.attempts, c = a.N-1, a
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
func (s *stream) once(ctx context.Context, b *body, yield func(uzda.Chunk, error) bool) {
	release, err := s.e.limiter().Enter(ctx, 0)
	if err != nil {
		yield(nil, err)
		return
	}
	defer release()
	reply, err := s.e.client.Do(ctx, wire.Call{URL: s.e.base + "/api/chat", Header: s.e.header(), Body: b.parts})
	if err != nil {
		if b.pictures && wire.RefusesMedia(err) {
			err = wire.Final(err)
		}
		yield(nil, err)
		return
	}
	defer reply.Body.Close()
	d := newDecoder(s.e, b, yield)
	d.request = reply.Request
	d.cut = func(count int) (uzda.Warning, bool) { return s.e.cut(ctx, b, count) }
	d.read(reply)
}
