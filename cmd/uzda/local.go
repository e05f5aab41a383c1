package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/cost"
	"github.com/uzda-dev/uzda/internal/wire"
	"github.com/uzda-dev/uzda/model/ollama"
	"github.com/uzda-dev/uzda/model/openai"
)

const (
	// dialTime is how long it may take to find out that nothing listens where a
	// local server usually is.
	dialTime = 300 * time.Millisecond
	// answerTime is how long one that listens may take to answer.
	answerTime = 2 * time.Second
	// describeTime is how long it may take to describe its models, all together.
	describeTime = 3 * time.Second
	// mostDescribed bounds how many it is asked about.
	mostDescribed = 40
)

// A server serves models on a machine of one's own.
type server struct {
	name   string // for people
	base   string
	models []*cost.Model // ids with the provider in front
	err    error         // why it does not answer
	asked  bool          // a variable says that it is there
}

func (s server) String() string { return s.name + " at " + shownURL(s.base) }

// reason says why a server has no model to offer.
func (s server) reason() string {
	var p *uzda.ProviderError
	switch {
	case errors.As(s.err, &p) && p.Status != 0:
		return p.Message
	case s.err != nil:
		return s.String() + " does not answer"
	case len(s.models) == 0:
		return s.String() + " has no model"
	}
	return s.String() + " has none that can call tools"
}

// locals are the services that may run on this machine, in the order in which
// they are preferred.
var locals = []string{"ollama", "llama", "vllm"}

// servers asks the local servers what they have, all at once, in that order.
func (w *work) servers(ctx context.Context) []server {
	w.client("") //nolint:errcheck // made before it is shared; each server says what is wrong with it
	found := make([]server, len(locals))
	var all sync.WaitGroup
	for i, service := range locals {
		all.Go(func() {
			if service == "ollama" {
				found[i] = w.ollama(ctx)
			} else {
				found[i] = w.compatible(ctx, service)
			}
		})
	}
	all.Wait()
	return found
}

// listens says whether something is there to be asked. Where a variable names the
// place, it may be far away or behind a proxy, so that it is asked in any case.
func (s *server) listens(ctx context.Context) bool {
	if s.asked {
		return true
	}
	host := s.base
	if u, err := url.Parse(s.base); err == nil && u.Host != "" {
		host = u.Host
	}
	d := net.Dialer{Timeout: dialTime}
	c, err := d.DialContext(ctx, "tcp", host)
	if s.err = err; err != nil {
		return false
	}
	s.err = c.Close()
	return s.err == nil
}

// ollama asks Ollama for its models and for what each can.
func (w *work) ollama(ctx context.Context) server {
	m := ollama.Model{ID: "any", Env: w.getenv}
	host := w.getenv("OLLAMA_HOST")
	s := server{name: "Ollama", base: cmp.Or(host, "127.0.0.1:11434"), asked: host != ""}
	if m.HTTP, s.err = w.client(""); s.err != nil || !s.listens(ctx) {
		return s
	}
	short, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	names, err := m.Names(short)
	if s.err = err; err != nil {
		return s
	}
	long, cancel := context.WithTimeout(ctx, describeTime)
	defer cancel()
	for i, name := range names {
		row := &cost.Model{ID: "ollama/" + name}
		s.models = append(s.models, row)
		m.ID = name
		if i >= mostDescribed || long.Err() != nil {
			continue
		}
		if told, err := m.Probe(long); err == nil {
			row.Window, row.Can = told.NumCtx, canOllama(told.Caps)
			row.Paid = !told.Describe().Free
		}
	}
	return s
}

// canOllama puts Ollama's words for what a model can into those of the table.
func canOllama(caps []string) []string {
	if caps == nil {
		return nil
	}
	can := []string{cost.Schema}
	for _, c := range caps {
		switch c {
		case "tools":
			can = append(can, cost.Tools)
		case "thinking":
			can = append(can, cost.Thinking, cost.Effort)
		case "vision":
			can = append(can, cost.Images)
		}
	}
	return can
}

// compatible asks a server that speaks Chat Completions for its models.
func (w *work) compatible(ctx context.Context, service string) server {
	p := profileOf(service)
	variable, _ := w.firstSet(p.BaseVars)
	s := server{name: p.Label, asked: variable != ""}
	a, err := w.usual(service)
	if s.base, s.err = w.place(a), err; err != nil || !s.listens(ctx) {
		return s
	}
	short, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	if s.models, _, s.err = w.listing(short, a); s.err != nil {
		return s
	}
	info, _ := openai.Model{ID: "any", Profile: p, HTTP: a.http, Env: w.getenv}.Probe(short) // only good to know
	for _, m := range s.models {
		m.Window = cmp.Or(m.Window, info.Window)
		if i := strings.LastIndexAny(m.ID, `/\`); strings.HasSuffix(m.ID, ".gguf") { // the file that it was started with
			m.ID = service + "/" + m.ID[i+1:]
		}
	}
	return s
}

// shownURL is a URL without what it may hold of a secret.
func shownURL(text string) string {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" {
		_, host, ok := strings.Cut(text, "@")
		if ok {
			return host
		}
		return text
	}
	u.User, u.RawQuery = nil, ""
	return u.String()
}

// mostListed bounds what a models endpoint may answer, in bytes and pages.
const (
	mostListed = 32 << 20
	mostPages  = 50
)

// listing asks a service for its models, and returns where it asked.
func (w *work) listing(ctx context.Context, a access) (models []*cost.Model, from string, err error) {
	p := a.profile
	c := wire.Client{HTTP: a.http, Name: p.Label, Local: p.Local, First: 30 * time.Second, Secrets: []string{a.key}}
	from, header := w.place(a)+"/models", http.Header{}
	maps.Copy(header, a.header)
	switch {
	case a.anthropic:
		from = strings.TrimSuffix(w.place(a), "/v1") + "/v1/models?limit=1000"
		header.Set("Anthropic-Version", "2023-06-01")
		if a.variable == "ANTHROPIC_AUTH_TOKEN" {
			header.Set("Authorization", "Bearer "+a.key)
		} else if a.key != "" {
			header.Set("X-Api-Key", a.key)
		}
	case a.key != "" && p.Auth == openai.AuthHeader:
		header.Set("Api-Key", a.key)
	case a.key != "":
		header.Set("Authorization", "Bearer "+a.key)
	}
	for next, page := "", 0; ; page++ {
		at := from
		if next != "" {
			at += "&after_id=" + url.QueryEscape(next)
		}
		some, after, err := w.page(ctx, &c, p.Name, wire.Call{Method: http.MethodGet, URL: at, Header: header})
		if err != nil {
			return nil, from, err
		}
		models = append(models, some...)
		if after == "" || after == next || page == mostPages {
			return models, from, nil
		}
		next = after
	}
}

func (w *work) page(ctx context.Context, c *wire.Client, service string, call wire.Call) ([]*cost.Model, string, error) {
	reply, err := c.Do(ctx, call)
	if err != nil {
		return nil, "", err
	}
	defer reply.Body.Close()
	raw, err := reply.Bytes(mostListed)
	if err != nil {
		return nil, "", err
	}
	models, next, err := cost.Listing(service, raw)
	if err != nil {
		return nil, "", &uzda.ProviderError{Code: "invalid_request", Message: err.Error(), Hint: "check the base URL: " + c.Name + " answers, but not as it should", Err: err}
	}
	return models, next, nil
}

// probed asks a local server what a run must know of its model; another model is
// returned as it is.
func (w *work) probed(ctx context.Context, t target, m uzda.Model) (uzda.Model, error) {
	switch m := m.(type) {
	case ollama.Model:
		told, err := m.Probe(ctx)
		if err != nil {
			return nil, unready(t, err)
		}
		if !told.Describe().Free {
			if err := w.paid(t.ID); err != nil {
				return nil, err
			}
		}
		if !told.Can("tools") {
			fmt.Fprintf(w.err, "uzda: warning: %s cannot call tools: it can only talk; `uzda models ollama` shows which can\n", t.ID)
		}
		if t.Window > told.NumCtx {
			fmt.Fprintf(w.err, "uzda: warning: %s has a window of %s tokens at most; the %s of the settings do not fit\n", t.ID, thousands(told.NumCtx), thousands(t.Window))
		}
		return told, nil
	case openai.Model:
		if !m.Profile.Local {
			return m, nil
		}
		info, err := m.Probe(ctx)
		if err != nil {
			return nil, unready(t, err)
		}
		if t.Window > info.Window && info.Window > 0 {
			fmt.Fprintf(w.err, "uzda: warning: the server of %s has a window of %s tokens; the %s of the settings (%s) are more than it takes\n",
				t.ID, thousands(info.Window), thousands(t.Window), w.cfg.Origin("models."+t.named+".window"))
		}
		m.Window, m.MaxOutput = cmp.Or(m.Window, info.Window), cmp.Or(m.MaxOutput, info.MaxOutput)
		return m, nil
	}
	return m, nil
}

// unready ends a command before a run: whatever a local server says or does not
// say is a matter of how things are set up.
func unready(t target, err error) error {
	_, detail, hint := trouble(err)
	return fail(uzda.ConfigError, hint, "model %s (%s): %s", t.given, t.origin, detail)
}

// paid says that a model costs something that nobody knows.
func (w *work) paid(id string) error {
	raw, err := json.Marshal(map[string]any{"models": []any{map[string]any{"id": id, "paid": true}}})
	if err == nil {
		w.prices, err = w.prices.Override(id, raw)
	}
	return err
}
