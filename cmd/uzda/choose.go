package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/cmd/uzda/config"
	"github.com/uzda-dev/uzda/cost"
	"github.com/uzda-dev/uzda/model/route"
)

// model finds the model that answers and makes it ready: that of the flag, that
// which the session had, that of the settings, the agent's own, or one that can
// be reached.
func (w *work) model(ctx context.Context, ofAgent, ofSession string) (uzda.Model, target, error) {
	t, err := w.pick(ctx, ofAgent, ofSession)
	if err != nil {
		return nil, t, err
	}
	if t.found != "" {
		fmt.Fprintf(w.err, "uzda: no model is named, so it is %s:\n      %s (--model names another, `uzda init` writes it down)\n", safe(t.ID), safe(t.found))
	}
	m, err := w.ready(ctx, t)
	return m, t, err
}

func (w *work) pick(ctx context.Context, ofAgent, ofSession string) (target, error) {
	name, origin := w.cfg.Model, w.cfg.Origin("model")
	chosen := strings.HasPrefix(origin, "flag ")
	if name == "" {
		name, origin = ofAgent, "the agent's file"
	}
	if ofSession != "" && !chosen {
		if t, ok, err := w.again(name, ofSession); ok || err != nil {
			return t, err
		}
	}
	if name == "" {
		return w.choose(ctx)
	}
	return w.target(name, origin)
}

// again finds the model that a session has: under the name that the settings
// choose, under another name of the settings, or as it is. A session that began
// with a model that this program cannot name gets another one.
func (w *work) again(chosen, ofSession string) (t target, ok bool, err error) {
	for _, name := range append([]string{chosen}, slices.Sorted(maps.Keys(w.cfg.Models))...) {
		if name == "" {
			continue
		}
		t, err := w.target(name, w.cfg.Origin("model"))
		if err != nil && w.cfg.Models[name].ID == ofSession { // what it was is not to go to another place
			return t, false, err
		}
		if err == nil && t.ID == ofSession {
			return t, true, nil
		}
	}
	if t, err = w.target(ofSession, "of the session"); err != nil {
		return t, false, nil //nolint:nilerr // see above
	}
	if chosen != "" {
		fmt.Fprintf(w.err, "uzda: the session goes on with its own model, %s; --model %s changes that\n", safe(t.ID), safe(chosen))
	}
	return t, true, nil
}

// choose takes a model that can be reached: of the first provider whose key is
// there, or of a local server that answers.
func (w *work) choose(ctx context.Context) (target, error) {
	var without, others []string
	var first *target
	for _, p := range w.prices.Providers() {
		if p.Free || !slices.Contains(config.Services(), p.ID) {
			continue
		}
		profile := profileOf(p.ID)
		variable, _ := w.firstSet(profile.KeyVars)
		switch {
		case variable == "" || w.unset(profile) != "":
		case p.Default == "":
			without = append(without, fmt.Sprintf("%s is set, but for %s a model must be named: --model %s/ID", variable, p.Name, p.ID))
		case first != nil:
			others = append(others, variable)
		default:
			t, err := w.target(p.ID+"/"+p.Default, variable)
			if err != nil {
				return t, err
			}
			first = &t
		}
	}
	if first != nil {
		more := ""
		if len(others) > 0 {
			more = " (" + strings.Join(others, ", ") + " too)"
		}
		first.found = first.origin + " is set" + more
		return *first, nil
	}
	servers := w.servers(ctx)
	for _, s := range servers {
		for _, m := range s.models {
			if m.Lacks(cost.Tools) {
				continue
			}
			t, err := w.target(m.ID, s.String())
			t.found = s.String() + " has it"
			return t, err
		}
	}
	return target{}, noModel(without, servers)
}

// noModel says the ways to go on.
func noModel(without []string, servers []server) error {
	why := "no key is set"
	if len(without) > 0 {
		why = strings.Join(without, "; ")
	}
	for i, s := range servers {
		if locals[i] == "vllm" && s.err != nil && !s.asked { // nobody expects it
			continue
		}
		why += "; " + s.reason()
	}
	return fail(uzda.ConfigError, `go on in one of three ways:
        - set a key (ANTHROPIC_API_KEY, OPENAI_API_KEY …), then: uzda init
        - start a local server: ollama serve, or llama-server -m MODEL.gguf
        - do without a model: uzda demo, or --model script:FILE`,
		"no model is named: %s", why)
}

// chain is a target with its fallbacks.
func (w *work) chain(t target) ([]target, error) {
	chain := []target{t}
	for _, name := range t.Fallback {
		f, err := w.target(name, w.cfg.Origin("models."+t.named+".fallback"))
		if err != nil {
			return nil, err
		}
		chain = append(chain, f)
	}
	return chain, nil
}

// ready makes the model of a target, with its fallbacks. Where some of them cannot
// be had now, the others do; it is an error if none can.
func (w *work) ready(ctx context.Context, t target) (uzda.Model, error) {
	chain, err := w.chain(t)
	if err != nil {
		return nil, err
	}
	var models []uzda.Model
	var first error
	for i, f := range chain {
		m, err := w.alone(ctx, f)
		switch {
		case err == nil && i > 0:
			models = append(models, route.With{Model: m, Params: f.over})
		case err == nil:
			models = append(models, m)
		case len(chain) == 1:
			return nil, err
		default:
			first = cmp.Or(first, err)
			fmt.Fprintln(w.err, "uzda: warning: left out:", safeLines(detail(err)))
		}
	}
	switch len(models) {
	case 0:
		return nil, first
	case 1:
		return models[0], nil
	}
	return &route.Fallback{Models: models}, nil
}

// over are the parameters of a fallback in place of those of the first model,
// which its provider may not know.
func (t target) over(p uzda.Params) uzda.Params {
	p.Temperature, p.Effort, p.Options, p.Stops = t.Params.Temperature, t.Params.Effort, t.Params.Options, t.Params.Stops
	p.Choice, p.NoParallel, p.Strict = t.Params.Choice, t.Params.NoParallel, t.Params.Strict
	return p
}

// alone makes the model of a target and finds out what a run must know of it: a
// local server is asked for its window, and must answer.
func (w *work) alone(ctx context.Context, t target) (uzda.Model, error) {
	if err := w.checkParams(t); err != nil {
		return nil, err
	}
	m, err := w.build(t)
	if err != nil {
		return nil, err
	}
	if m, err = w.probed(ctx, t, m); err != nil {
		return nil, err
	}
	w.cautions(t)
	if t.RequestsPerMinute > 0 || t.TokensPerMinute > 0 {
		m = &route.Limit{Model: m, RequestsPerMinute: t.RequestsPerMinute, TokensPerMinute: t.TokensPerMinute}
	}
	return m, nil
}

// soon is how long before a model is taken away its users hear of it.
const soon = 60 * 24 * time.Hour

// cautions warn of what will not work, or not for long.
func (w *work) cautions(t target) {
	row := w.prices.Model(t.ID)
	if row.Lacks(cost.Tools) {
		fmt.Fprintf(w.err, "uzda: warning: %s cannot call tools: it can only talk\n", t.ID)
	}
	if row == nil || row.Retires == "" {
		return
	}
	day, err := time.Parse(time.DateOnly, row.Retires)
	if err != nil {
		return
	}
	switch left := day.Sub(w.now()); {
	case left <= 0:
		fmt.Fprintf(w.err, "uzda: warning: %s was to be taken away on %s; `uzda models %s` lists others\n", t.ID, row.Retires, t.provider)
	case left < soon:
		fmt.Fprintf(w.err, "uzda: warning: %s will be taken away on %s; `uzda models %s` lists others\n", t.ID, row.Retires, t.provider)
	}
}

// readable ends a command because of what a provider or a server says. The
// reason is the one that a run would end with.
func readable(what string, err error) error {
	why, detail, hint := trouble(err)
	return fail(why, cmp.Or(hint, "`uzda doctor --model` looks closer"), "%s: %s", what, detail)
}

// trouble is what an error of a provider means for a command, as for a turn.
func trouble(err error) (why uzda.Reason, detail, hint string) {
	var p *uzda.ProviderError
	if !errors.As(err, &p) {
		return uzda.ProviderFailed, err.Error(), ""
	}
	switch why = uzda.ProviderFailed; p.Code {
	case "overloaded", "rate_limit":
		why = uzda.Overloaded
	case "auth", "not_found":
		why = uzda.ConfigError
	case "context":
		why = uzda.ContextExhausted
	}
	detail = p.Message
	if p.Status != 0 {
		detail += fmt.Sprintf(" (HTTP %d)", p.Status)
	}
	return why, detail, p.Hint
}
