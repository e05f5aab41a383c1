package main

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/cmd/uzda/config"
	"github.com/uzda-dev/uzda/cost"
	"github.com/uzda-dev/uzda/model/ollama"
	"github.com/uzda-dev/uzda/model/openai"
)

// An examination looks at one model.
type examination struct {
	*work
	found  findings
	t      target
	m      uzda.Model
	info   uzda.ModelInfo
	listed []*cost.Model // what the service lists; nil: it was not to be had
	absent bool          // the model is not among them
	spent  uzda.Money
	known  bool // the price is
	tokens int
	asked  int
	warned map[string]bool
}

// examineModel asks a model for real.
func (a *app) examineModel(ctx context.Context, cfg *config.Config) findings {
	e := &examination{work: &work{app: a, cfg: cfg, tap: &tap{}}, known: true, warned: map[string]bool{}}
	defer e.close()
	if err := e.prepare(ctx); err != nil {
		e.fail("model", err)
		return e.found
	}
	if e.t.service == "" {
		e.found.good("model", "%s is scripted: there is nobody to ask", e.t.ID)
		return e.found
	}
	if !e.reach(ctx) {
		return e.found
	}
	fmt.Fprintf(e.err, "uzda: asking %s\n", e.t.ID)
	if e.reply(ctx) {
		e.calls(ctx)
		e.schema(ctx)
	}
	e.window(ctx)
	e.price()
	e.limits()
	if e.asked > 0 {
		e.found.good("cost", "%s, %s tokens, %s", plural(e.asked, "request"), thousands(e.tokens), e.money())
	}
	return e.found
}

// fail notes the error of a command with its hint.
func (e *examination) fail(what string, err error) {
	var x *exit
	if errors.As(err, &x) && x.outcome != nil {
		e.found.bad(what, x.outcome.Detail, x.outcome.Hint)
		return
	}
	e.found.broken(what, err)
}

func (e *examination) prepare(ctx context.Context) error {
	var err error
	if e.prices, err = e.table(); err != nil {
		return err
	}
	if e.t, err = e.pick(ctx, "", ""); err != nil {
		return err
	}
	if err := e.checkParams(e.t); err != nil {
		return err
	}
	e.m, err = e.build(e.t)
	return err
}

// reach asks for the list of models: whether the service is there, takes the key
// and has the model.
func (e *examination) reach(ctx context.Context) bool {
	short, cancel := context.WithTimeout(ctx, refreshTime)
	defer cancel()
	a, err := e.access(e.t)
	if err != nil {
		e.fail("model", err)
		return false
	}
	e.found.good("model", "%s (%s)", e.t.ID, e.t.origin)
	began := time.Now()
	at := strings.TrimSuffix(e.place(a), "/v1")
	if o, ok := e.m.(ollama.Model); ok {
		_, err = o.Names(short)
	} else {
		e.listed, _, err = e.listing(short, a)
	}
	took := time.Since(began)
	var p *uzda.ProviderError
	errors.As(err, &p)
	switch {
	case err == nil:
		e.found.good("reach", "%s answers in %.2f s%s", shownURL(at), took.Seconds(), e.tap.path(at))
	case p == nil || p.Status == 0:
		e.found.broken("reach", err)
		return false
	default:
		e.found.good("reach", "%s answers in %.2f s%s", shownURL(at), took.Seconds(), e.tap.path(at))
		if p.Code == "auth" || p.Code == "quota" {
			e.found.broken("key", err)
			return false
		}
	}
	if a.variable != "" {
		e.found.good("key", "%s is set%s", a.variable, map[bool]string{true: ", and the service takes it"}[err == nil])
	}
	e.absent = len(e.listed) > 0 && e.row() == nil
	e.m, err = e.probed(ctx, e.t, e.m)
	if err != nil {
		e.fail("name", err)
		return false
	}
	e.info = describe(e.m)
	return true
}

// row is what the service lists of the model.
func (e *examination) row() *cost.Model {
	for _, m := range e.listed {
		if m.ID == e.t.ID || strings.TrimPrefix(m.ID, e.t.service+"/") == e.t.id || slices.Contains(m.Aliases, e.t.ID) {
			return m
		}
	}
	return nil
}

// window compares what the service says of the window with what a run believes.
func (e *examination) window(ctx context.Context) {
	const what = "window"
	believed, said := e.info.Window, 0
	if r := e.row(); r != nil {
		said = r.Window
	}
	if o, ok := e.m.(ollama.Model); ok {
		e.loaded(ctx, o)
		return
	}
	switch {
	case believed == 0 && said == 0:
		e.found.bad(what, "nobody says how large it is; a run cannot see when it is full", "set models."+cmp.Or(e.t.named, "NAME")+".window in uzda.yaml")
	case said == 0 || believed == said:
		by := "the table"
		switch {
		case e.t.Window > 0:
			by = "the settings"
		case said > 0 || e.profileLocal():
			by = "the service"
		}
		e.found.good(what, "%s tokens, as %s says", thousands(believed), by)
	case e.t.Window > 0 && believed <= said:
		e.found.good(what, "%s tokens by your setting; the service has %s", thousands(believed), thousands(said))
	case e.t.Window > 0:
		e.found.bad(what, fmt.Sprintf("your setting says %s tokens, the service only %s", thousands(believed), thousands(said)), "lower models."+e.t.named+".window")
	default:
		e.found.bad(what, fmt.Sprintf("the table says %s tokens, the service %s", thousands(believed), thousands(said)), "`uzda models --refresh "+e.t.service+"` takes over what the service says")
	}
}

func (e *examination) profileLocal() bool { return profileOf(e.t.service).Local }

// loaded looks at the window with which Ollama holds the model after a request:
// what is over it would be cut off in silence.
func (e *examination) loaded(ctx context.Context, o ollama.Model) {
	const what = "window"
	info, err := openai.Model{ID: o.ID, Profile: openai.OllamaCompat(), Base: o.Base, Key: o.Key, Header: o.Header, HTTP: o.HTTP, Env: e.getenv}.Probe(ctx)
	n := info.Window
	switch {
	case err != nil:
		e.found.broken(what, err)
	case n == 0:
		e.found.good(what, "%s tokens are asked for; this version of Ollama does not say what the model got", thousands(o.NumCtx))
	case n < o.NumCtx:
		e.found.bad(what, fmt.Sprintf("%s tokens were asked for, but the model is loaded with %s: longer prompts are cut off in silence", thousands(o.NumCtx), thousands(n)),
			"set OLLAMA_CONTEXT_LENGTH="+fmt.Sprint(o.NumCtx)+" where the server runs, or free memory")
	default:
		e.found.good(what, "%s tokens, as asked for; without that Ollama takes its own, often 4,096", thousands(n))
	}
}

func (e *examination) price() {
	const what = "price"
	if e.info.Free {
		e.found.good(what, "it runs on your own machines: free")
		return
	}
	p, known := e.prices.Price(e.t.ID, 0)
	if !known {
		e.found.note(what, "not known; budgets count it at the dearest price that is", "give it one in a file, and name that: prices: FILE in uzda.yaml. Some services tell it: `uzda models --refresh "+e.t.service+"`")
		return
	}
	e.found.good(what, "%s in, %s out, %s cached, for a million tokens", p.Input, p.Output, p.CacheRead)
}

func (e *examination) money() string {
	switch {
	case e.info.Free:
		return "free"
	case !e.known:
		return "cost unknown"
	}
	return short(e.spent)
}

// limits shows what the last reply said of the key's limits.
func (e *examination) limits() {
	var said []string
	for name, values := range e.tap.header {
		name = strings.ToLower(name)
		if kind, ok := strings.CutSuffix(name, "-limit"); ok && strings.HasPrefix(name, "anthropic-ratelimit-") {
			said = append(said, limitOf(strings.TrimPrefix(kind, "anthropic-ratelimit-"), values[0], e.tap.header.Get(kind+"-remaining")))
		} else if kind, ok := strings.CutPrefix(name, "x-ratelimit-limit-"); ok {
			said = append(said, limitOf(kind, values[0], e.tap.header.Get("x-ratelimit-remaining-"+kind)))
		}
	}
	slices.Sort(said)
	if len(said) > 0 {
		e.found.good("limits", "%s", strings.Join(said, "; "))
	}
}

func limitOf(kind, limit, left string) string {
	out := kind + " " + limit
	if left != "" {
		out += ", left " + left
	}
	return out
}

// A tap notes how the last reply came.
type tap struct {
	next *http.Transport

	mu     sync.Mutex
	header http.Header
	tls    *tls.ConnectionState
}

func (t *tap) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := t.next.RoundTrip(r)
	if err == nil {
		t.mu.Lock()
		t.header, t.tls = resp.Header, resp.TLS
		t.mu.Unlock()
	}
	return resp, err
}

// path says by which way a URL was reached.
func (t *tap) path(to string) string {
	var out string
	if t.tls != nil {
		out = ", " + tls.VersionName(t.tls.Version)
		if len(t.tls.PeerCertificates) > 0 {
			out += ", certificate by " + t.tls.PeerCertificates[0].Issuer.String()
		}
	}
	if req, err := http.NewRequest(http.MethodGet, to, nil); err == nil && t.next != nil && t.next.Proxy != nil {
		if proxy, err := t.next.Proxy(req); err == nil && proxy != nil {
			out += ", through the proxy " + proxy.Host
		}
	}
	return out
}
