// Package openai speaks Chat Completions: with OpenAI, and with every service and
// local server whose differences a [Profile] describes.
//
// A reply becomes one item: the message as it came, folded from its deltas, with
// its members in the order of their first appearance and their strings byte for
// byte. It goes back whole to the model that sent it, and to no other. What
// differs from what came is only
//
//   - the index of a tool call, which belongs to the stream;
//   - members that say nothing: null (except a content beside calls), a refusal
//     that is "", and annotations, tool_calls and reasoning_details that are [];
//   - members that the profile drops;
//   - arguments that are "", null or missing, which are {}; an object instead of a
//     string, which becomes one; a type or id that is missing;
//   - function_call and calls that stood in the text, which are tool_calls;
//   - a call without a name, which is "unnamed".
//
// [uzda.Params.Options] are members of the request in the service's own names.
// They replace what this package would say, and null leaves a member out. "tools"
// is added to the tools of the session instead. What the package itself depends
// on can't be set: messages, model, stream, n and the bound on the reply.
package openai

import (
	"cmp"
	"context"
	"iter"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/internal/wire"
)

// A Model is one model of a service that speaks Chat Completions. Only ID is
// needed: key and base URL come from the usual variables of the environment, and
// requests are tried again and share the limits of their key without any wrapper.
type Model struct {
	ID      string  // as the service names it
	Profile Profile // of the service; zero: OpenAI
	// Base is the base URL; default from Profile.BaseVars, then Profile.Base. One
	// that is set here gets a key of the environment only if it is the profile's
	// own: another service must not see it.
	Base    string
	Key     string // default from Profile.KeyVars
	Version string // of Azure's API; default OPENAI_API_VERSION, then Profile.Version

	Window    int  // tokens, if it is known; see Probe
	MaxOutput int  // tokens, if it is known
	Free      bool // it costs nothing; a model of a local profile never does

	Header http.Header  // more headers for each request; they replace the adapter's
	HTTP   *http.Client // default one that honours the proxies and CAs of the environment
	Tries  int          // attempts in all; default 5

	// How long to wait: for the first byte, without any byte, and with nothing but
	// signs of life. Defaults 120 s (900 s if local), 120 s (600 s if local), 600 s.
	First, Idle, Quiet time.Duration

	Env func(name string) string // default os.Getenv
}

var (
	_ uzda.Model     = Model{}
	_ uzda.Describer = Model{}
	_ uzda.Counter   = Model{}
)

// Describe says what the model is, as far as its fields tell; Probe asks.
func (m Model) Describe() uzda.ModelInfo {
	p := m.Profile.orDefault()
	return uzda.ModelInfo{ID: p.Name + "/" + m.ID, Window: m.Window, MaxOutput: m.MaxOutput, Free: m.Free || p.Local && !p.cloud(m.ID)}
}

// Stream answers a request. Where the service refuses a picture or another file of
// the view, the request is sent once more without them, after an Attempt that says so.
func (m Model) Stream(ctx context.Context, req *uzda.Request) iter.Seq2[uzda.Chunk, error] {
	return func(yield func(uzda.Chunk, error) bool) {
		s, err := m.service()
		if err != nil {
			yield(nil, err)
			return
		}
		t := stream{service: s, req: req, enc: req.Enc, tries: m.Tries, yield: yield}
		if t.enc == nil {
			t.enc = &uzda.Enc{}
		}
		t.run(ctx)
	}
}

// A stream is one call of Stream.
type stream struct {
	*service
	req   *uzda.Request
	enc   *uzda.Enc
	tries int
	yield func(uzda.Chunk, error) bool

	attempts int // that were announced
}

// run sends the request, and once more without media where the service refuses
// those of the view.
func (t *stream) run(ctx context.Context) {
	for {
		q, err := t.request(t.req, t.enc)
		if err != nil {
			t.yield(nil, err)
			return
		}
		for _, w := range q.warnings {
			if !t.yield(w, nil) {
				return
			}
		}
		if err = t.send(ctx, q); err == nil {
			return
		}
		if !q.media || !wire.RefusesMedia(err) { // a refusal has a status, so nothing has come
			t.yield(nil, err)
			return
		}
		q.blind()
		t.attempts++
		if !t.yield(uzda.Attempt{N: t.attempts + 1, Error: wire.Short(err) + "; sent again without the media so far"}, nil) {
			return
		}
	}
}

// send passes on what comes until an error, which it returns, or until the
// stream is over.
func (t *stream) send(ctx context.Context, q *request) error {
	before := t.attempts
	for c, err := range (wire.Retry{Tries: t.tries}).Stream(ctx, t.key, func(ctx context.Context) iter.Seq2[uzda.Chunk, error] { return t.once(ctx, q) }) {
		if err != nil {
			return err
		}
		if a, ok := c.(uzda.Attempt); ok {
			a.N += before
			t.attempts, c = a.N-1, a
		}
		if !t.yield(c, nil) {
			return nil
		}
	}
	return nil
}

// A service is where a model's requests go, and as whom.
type service struct {
	Profile
	model     string
	maxOutput int    // tokens; 0: unknown
	base      string // URL, without a slash at its end
	path      string // of a request, below base
	query     string // of every request, with its question mark
	header    http.Header
	client    wire.Client
	key       *wire.Key
	origin    uzda.Origin
}

// service finds the base URL and the key.
func (m Model) service() (*service, error) {
	s := &service{Profile: m.Profile.orDefault(), model: m.ID, maxOutput: m.MaxOutput}
	if m.ID == "" {
		return nil, &uzda.ProviderError{Code: "invalid_request", Message: "the model has no name", Hint: "set the ID of the model, as the service names it"}
	}
	env := m.Env
	if env == nil {
		env = os.Getenv
	}
	if err := s.locate(m, env); err != nil {
		return nil, err
	}
	key := strings.TrimSpace(m.Key)
	usual := m.Base == "" || s.Profile.Base == "" || s.base == strings.TrimRight(s.Profile.Base, "/")
	if key == "" && usual {
		key = first(env, s.KeyVars)
	}
	s.authorize(m.Header, key)
	if usual && s.Auth != AuthNone && s.header.Get("Authorization") == "" && s.header.Get("Api-Key") == "" {
		return nil, &uzda.ProviderError{Code: "auth", Message: "there is no key for " + s.Label, Hint: "set " + strings.Join(s.KeyVars, " or ")}
	}
	account, shown := wire.Account(key), wire.Shown(s.base)
	s.key = wire.For(s.base, account)
	s.origin = uzda.Origin{Profile: "openai/" + s.Name, Base: shown, Account: account, Model: m.ID}
	s.client = wire.Client{HTTP: m.HTTP, Local: s.Local || s.Name == "custom" && near(s.base), First: m.First, Idle: m.Idle, Quiet: m.Quiet, Name: s.Label, Key: s.key}
	if key != "" {
		s.client.Secrets = []string{key}
	}
	if s.Local {
		s.client.Name += " at " + shown
	}
	return s, nil
}

func first(env func(string) string, names []string) string {
	for _, n := range names {
		if v := strings.TrimSpace(env(n)); v != "" {
			return v
		}
	}
	return ""
}

// locate finds the URLs. A base that is only a host gets the path that the
// profile's own base has; OLLAMA_HOST, for one, is such a host.
func (s *service) locate(m Model, env func(string) string) error {
	base := cmp.Or(m.Base, first(env, s.BaseVars), s.Profile.Base)
	if base == "" {
		e := &uzda.ProviderError{Code: "invalid_request", Message: "there is no base URL for " + s.Label, Hint: "set the model's base URL"}
		if len(s.BaseVars) > 0 {
			e.Hint = "set " + s.BaseVars[0]
		}
		return e
	}
	if !strings.Contains(base, "://") {
		base = scheme(base, s.Local) + base
	}
	u, err := url.Parse(base)
	if err != nil || u.Host == "" {
		return &uzda.ProviderError{Code: "invalid_request", Message: "the base URL of " + s.Label + " can't be used", Hint: "write it like https://host/v1"}
	}
	if u.Hostname() == "0.0.0.0" { // where a server listens, not where it is
		u.Host = strings.Replace(u.Host, "0.0.0.0", "127.0.0.1", 1)
	}
	if s.Local && u.Port() == "" && u.Scheme == "http" {
		if own, err := url.Parse(s.Profile.Base); err == nil {
			u.Host = net.JoinHostPort(u.Hostname(), own.Port())
		}
	}
	s.path = s.Path
	u.Path = strings.TrimSuffix(strings.TrimRight(u.Path, "/"), chatPath)
	if u.Path != "" {
		s.path = chatPath
	} else if own, err := url.Parse(s.Profile.Base); err == nil {
		u.Path = strings.TrimRight(own.Path, "/")
	}
	query := u.Query()
	if v := cmp.Or(m.Version, env("OPENAI_API_VERSION"), s.Profile.Version); s.Profile.Version != "" && !strings.HasSuffix(u.Path, "/v1") {
		query.Set("api-version", v)
	}
	if len(query) > 0 {
		s.query = "?" + query.Encode()
	}
	u.RawQuery, u.Fragment = "", ""
	s.base = u.String()
	return nil
}

// scheme is that of a base without one: a key goes in the clear to no host but
// those nearby.
func scheme(base string, local bool) string {
	host, _, _ := strings.Cut(base, "/")
	if local || near("http://"+base) || !strings.Contains(host, ".") {
		return "http://"
	}
	return "https://"
}

// below is the URL of a path below the base.
func (s *service) below(path string) string {
	return s.base + strings.ReplaceAll(path, "{model}", url.PathEscape(s.model)) + s.query
}

// root is the base without the version at its end, where servers have endpoints
// of their own.
func (s *service) root() string { return strings.TrimSuffix(s.base, "/v1") }

func (s *service) authorize(more http.Header, key string) {
	s.header = http.Header{"Content-Type": {"application/json"}}
	switch {
	case key == "":
	case s.Auth == AuthHeader:
		s.header["Api-Key"] = []string{key}
	default:
		s.header["Authorization"] = []string{"Bearer " + key}
	}
	for k, v := range more {
		s.header[http.CanonicalHeaderKey(k)] = v
	}
}

// near says whether a base URL is on this machine or a private network.
func near(base string) bool {
	u, err := url.Parse(base)
	if err != nil {
		return false
	}
	host := u.Hostname()
	if host == "localhost" || strings.HasSuffix(host, ".local") {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && (addr.IsLoopback() || addr.IsPrivate() || addr.IsLinkLocalUnicast())
}

// once sends the request and reads one reply.
func (s *service) once(ctx context.Context, q *request) iter.Seq2[uzda.Chunk, error] {
	return func(yield func(uzda.Chunk, error) bool) {
		release, err := s.key.Enter(ctx, q.tokens+q.max)
		if err != nil {
			yield(nil, err)
			return
		}
		defer release()
		got, err := s.client.Do(ctx, wire.Call{URL: s.below(s.path), Header: s.header, Body: q.body})
		if err != nil {
			if q.media && wire.RefusesMedia(err) {
				err = wire.Final(err)
			}
			yield(nil, err)
			return
		}
		defer got.Body.Close()
		r := s.reply(q, yield)
		defer rooms.Put(r.room)
		if err := r.read(got); err != nil && !r.left {
			yield(nil, err)
		}
	}
}
