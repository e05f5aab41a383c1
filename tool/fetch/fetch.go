// Package fetch is the tool by which a model reads a page of the web.
package fetch

import (
	"context"
	"crypto/tls"
	_ "embed"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/internal/schema"
)

//go:embed fetch.md
var description string

// Config says how pages are fetched. The zero value is ready to use.
type Config struct {
	// Allow permits an address that is not of the public internet: this machine, a
	// private network, the local link. It gets the host as the URL names it; addr is
	// not valid where a proxy looks the name up and this machine cannot. Default: none.
	// It may be called at any time, from several goroutines.
	Allow func(host string, addr netip.Addr) bool
	// Recheck rules on the target of each redirect, as the gates ruled on the first
	// URL; an error stops the call, and the model reads it. Default: nobody is asked.
	Recheck func(ctx context.Context, u *url.URL) error

	// Proxy names the proxy of a request, nil for none; default: that of the
	// environment (HTTPS_PROXY, HTTP_PROXY, NO_PROXY). A proxy looks names up itself,
	// so that only what this machine knows of a name can be checked here.
	Proxy func(*http.Request) (*url.URL, error)
	TLS   *tls.Config // for authorities of one's own
	// Resolve looks a name up; default: as the system does.
	Resolve func(ctx context.Context, host string) ([]netip.Addr, error)
	// Dial connects to an address that was checked, or to the proxy.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)

	UserAgent string        // default "uzda"
	Timeout   time.Duration // of a call in all; default 30 s
	Wait      time.Duration // before the second of three attempts, doubled for the third; default 300 ms
	Body      int64         // bytes of a page, unpacked; default 10 MiB
	Text      int           // bytes of the result; default 512 KiB
	Picture   int           // bytes of a picture that is shown; default 1 MiB, negative: none is
	Redirects int           // default 10, negative: none is followed
}

func (cfg Config) withDefaults() *Config {
	if cfg.Allow == nil {
		cfg.Allow = func(string, netip.Addr) bool { return false }
	}
	if cfg.Proxy == nil {
		cfg.Proxy = http.ProxyFromEnvironment
	}
	if cfg.Resolve == nil {
		cfg.Resolve = func(ctx context.Context, host string) ([]netip.Addr, error) {
			return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
		}
	}
	if cfg.Dial == nil {
		cfg.Dial = (&net.Dialer{}).DialContext
	}
	if cfg.UserAgent == "" {
		cfg.UserAgent = "uzda"
	}
	cfg.Timeout = orDefault(cfg.Timeout, 30*time.Second)
	cfg.Wait = orDefault(cfg.Wait, 300*time.Millisecond)
	cfg.Body = orDefault(cfg.Body, 10<<20)
	cfg.Text = orDefault(cfg.Text, 512<<10)
	cfg.Picture = orDefault(cfg.Picture, 1<<20)
	cfg.Redirects = orDefault(cfg.Redirects, 10)
	return &cfg
}

func orDefault[T int | int64 | time.Duration](v, otherwise T) T {
	if v == 0 {
		return otherwise
	}
	return v
}

type input struct {
	URL      string `json:"url" doc:"http or https URL, for example https://example.com/page"`
	Format   string `json:"format,omitempty" enum:"markdown,text,html,raw" doc:"default markdown"`
	MaxBytes int    `json:"max_bytes,omitempty" doc:"bytes of text to return at most, from 1000; leave it out for all"`
}

// Fetch is the tool `fetch`. It reads, sends nothing but the URL, and marks what it
// read as untrusted. It is safe for concurrent use and keeps nothing between calls.
type Fetch struct {
	cfg  *Config
	spec uzda.ToolSpec
	in   *schema.Schema
}

var (
	_ uzda.Tool      = (*Fetch)(nil)
	_ uzda.Checker   = (*Fetch)(nil)
	_ uzda.Previewer = (*Fetch)(nil)
)

// New returns the tool.
func New(cfg Config) *Fetch {
	in, err := schema.For[input]()
	if err != nil {
		panic(err)
	}
	return &Fetch{cfg: cfg.withDefaults(), in: in, spec: uzda.ToolSpec{
		Name: "fetch", Description: strings.TrimSpace(description), Input: in.JSON(),
		Effects: uzda.Effects{ReadOnly: true, Idempotent: true, OpenWorld: true}, Source: "built-in",
	}}
}

// Spec says what the tool is.
func (f *Fetch) Spec() uzda.ToolSpec { return f.spec }

// Check validates the input and writes the URL in its canonical form, so that rules
// judge what will be fetched.
func (f *Fetch) Check(raw json.RawMessage) (json.RawMessage, error) {
	out, err := f.in.Coerce(raw)
	if err != nil {
		return nil, err
	}
	in, u, err := parse(out)
	if err != nil {
		return nil, err
	}
	if in.URL == u.String() {
		return out, nil
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal(out, &all); err != nil {
		return nil, err
	}
	if all["url"], err = json.Marshal(u.String()); err != nil {
		return nil, err
	}
	return json.Marshal(all)
}

func parse(raw json.RawMessage) (input, *url.URL, error) {
	var in input
	if err := json.Unmarshal(raw, &in); err != nil {
		return in, nil, fmt.Errorf("the input cannot be read: %w", err)
	}
	const least = 1000
	if in.MaxBytes != 0 && in.MaxBytes < least {
		return in, nil, fmt.Errorf("/max_bytes must be at least %d; leave it out for the whole page", least)
	}
	u, err := Canonical(in.URL)
	if err != nil {
		return in, nil, fmt.Errorf("/url %w", err)
	}
	return in, u, nil
}

// Preview shows the URL as it will be fetched; it is what an approval holds for.
func (f *Fetch) Preview(_ context.Context, use uzda.Use) (text, preconditions string, err error) {
	_, u, err := parse(use.Input)
	if err != nil {
		return "", "", err
	}
	text = "Fetch " + u.String()
	if what := looks(u.Hostname()); what != "" {
		text += "\n" + what
	}
	return text, u.String(), nil
}

// Call fetches.
func (f *Fetch) Call(ctx context.Context, use uzda.Use) (uzda.Result, error) {
	in, u, err := parse(use.Input)
	if err != nil {
		return fail(uzda.CodeInvalidInput, err.Error()), nil
	}
	limited, cancel := context.WithTimeout(ctx, f.cfg.Timeout)
	defer cancel()
	r, tries, err := f.try(limited, u)
	if err != nil {
		return f.failure(ctx, u, tries, err), nil
	}
	limit := f.cfg.Text
	if in.MaxBytes > 0 {
		limit = min(limit, in.MaxBytes)
	}
	res := f.result(ctx, r, u, in.Format, limit)
	if ctx.Err() != nil {
		return f.failure(ctx, u, tries, ctx.Err()), nil
	}
	return res, nil
}

// try makes up to three attempts where another may do better: a request that only
// reads may be repeated.
func (f *Fetch) try(ctx context.Context, u *url.URL) (r *reply, tries int, err error) {
	const most = 3
	wait := f.cfg.Wait
	for tries = 1; ; tries++ {
		t := f.cfg.trip()
		r, err = t.get(ctx, u)
		t.close()
		if tries == most || ctx.Err() != nil || !passing(r, err) {
			return r, tries, err
		}
		pause := time.NewTimer(wait + rand.N(wait))
		select {
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
			return r, tries, err
		}
		wait *= 2
	}
}

func fail(code uzda.Code, text string, labels ...uzda.Label) uzda.Result {
	return uzda.Result{Blocks: uzda.Say(text, labels...), IsError: true, Code: code, Effect: uzda.EffectNone, Labels: labels}
}
