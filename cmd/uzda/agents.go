package main

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/agent"
	"github.com/uzda-dev/uzda/cmd/uzda/config"
)

// What a session remembers of how it was begun, so that `uzda resume ID` is enough.
const (
	withDB    = "db"
	withAgent = "agent" // its file
	withModel = "model"
)

// recall takes over what a session was begun with, where the settings say nothing.
func (w *work) recall(with map[string]string) {
	if w.cfg.DB == "" {
		w.cfg.DB = with[withDB]
	}
	w.agentFile = with[withAgent]
}

// with is what a new session remembers.
func (r *runner) with() map[string]string {
	with := map[string]string{}
	if r.cfg.DB != "" {
		with[withDB] = r.cfg.DB
	}
	if a := r.cfg.Agent; isFile(a) {
		if path, err := filepath.Abs(a); err == nil {
			with[withAgent] = path
		}
	}
	if r.info.ID != "" {
		with[withModel] = r.info.ID
	}
	return with
}

// agents makes the agent that a run uses, and says its name.
func (w *work) agents(ctx context.Context, s *agent.State) (map[string]agent.Agent, string, error) {
	w.recall(s.Opened.With)
	w.dirOf = s.Opened.Dir
	if path := w.cfg.Unread(w.root()); path != "" && w.root() != w.cfg.Dir {
		w.once("warning: " + config.NotRead(path))
	}
	c, err := w.chosen(s.Opened.Agent)
	if err != nil {
		return nil, "", err
	}
	w.take(c)
	if err := w.hook(); err != nil {
		return nil, "", err
	}
	guide := w.guide(c, cmp.Or(s.Opened.Dir, w.cfg.Dir))
	model, t, err := w.model(ctx, c.model(), cmp.Or(s.Gear.Model.ID, s.Opened.With[withModel]))
	if err != nil {
		return nil, "", err
	}
	w.uses = t
	tools, err := w.tools(ctx, c)
	if err != nil {
		return nil, "", err
	}
	if err := w.checkChoice(t, tools); err != nil {
		return nil, "", err
	}
	gate, err := w.gate(tools)
	if err != nil {
		return nil, "", err
	}
	a := agent.Agent{Model: model, Params: t.Params, System: c.System, Tools: tools, Gates: []uzda.Gate{gate},
		Limits: w.cfg.Limits, Mode: w.cfg.Permissions.Mode, Budget: w.cfg.Context.Budget}
	if a.Planner, err = w.planner(ctx); err != nil {
		return nil, "", err
	}
	if w.cfg.System != "" {
		data, err := readFile(w.cfg.System, "system ("+w.cfg.Origin("system")+")")
		if err != nil {
			return nil, "", err
		}
		if err := wording("system ("+w.cfg.Origin("system")+"): "+w.cfg.System, data); err != nil {
			return nil, "", err
		}
		a.System = strings.TrimSpace(strings.TrimPrefix(string(data), "\ufeff"))
	}
	a.System = strings.TrimSpace(a.System + "\n\n" + guide)
	if w.cfg.Verify != "" {
		if a.Verify, err = w.check(w.cfg.Verify); err != nil {
			return nil, "", err
		}
	}
	a = w.hooked(a)
	if a, err = w.fit(a, s); err != nil {
		return nil, "", err
	}
	if a.Mode == "bypass" {
		fmt.Fprintln(w.err, w.red("uzda: permission mode bypass: calls run without a question, except those that a rule denies"))
	}
	return map[string]agent.Agent{c.Name: a}, c.Name, nil
}

func (a *app) red(s string) string {
	if a.plain {
		return "!!! " + s
	}
	return "\x1b[1;37;41m " + s + " \x1b[0m"
}
