package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/cmd/uzda/config"
)

func (a *app) configCommand() *cobra.Command {
	check := false
	c := &cobra.Command{Use: "config [flags] [AGENT]", Short: "every setting, its value and where it comes from; the agents", Long: `Config prints every setting, its value and where it comes from: a flag, a variable,
a line of a file, or the default. --check only says whether they are right.

--agent lists the agents that there are; --agent NAME shows one: where it comes
from, its tools, its model, its text, and how many tokens that takes.`,
		Example: `  uzda config
  uzda config --agent
  uzda config --agent data --db shop.db`}
	c.Flags().BoolVar(&check, "check", false, "only say whether the settings are right: exits 0 or 13")
	c.RunE = func(c *cobra.Command, args []string) error {
		show, err := agentFlag(c, args)
		if err != nil {
			return err
		}
		cfg, err := a.config(c)
		if check {
			if err == nil {
				err = a.named(cfg)
			}
			return a.checked(err)
		}
		switch {
		case err != nil:
			return err
		case show == everyAgent:
			return a.showAgents(c.Context(), cfg)
		case show != "":
			return a.showAgent(c.Context(), cfg, show)
		case cfg.OutputFormat != "text":
			return cfg.WriteJSON(a.out, a.keyItems()...)
		}
		if err := cfg.WriteText(a.out, a.keyItems()...); err != nil {
			return err
		}
		fmt.Fprintf(a.out, "\nfiles: %s\ndata:  %s\n", strings.Join(append(cfg.Files, "(no more)")[:max(1, len(cfg.Files))], ", "), cfg.Data)
		return nil
	}
	flags(c, append([]string{"output-format"}, runFlags...)...)
	c.Flags().Lookup("agent").NoOptDefVal = everyAgent
	c.Flags().Lookup("agent").Usage = "List the agents, or show this one"
	return c
}

// named says what is wrong with the names of models in the settings.
func (a *app) named(cfg *config.Config) error {
	w := &work{app: a, cfg: cfg}
	var err error
	if w.prices, err = w.table(); err != nil {
		return err
	}
	for _, m := range []struct{ name, origin string }{
		{cfg.Model, cfg.Origin("model")},
		{cfg.Context.Model, "context.model, " + cfg.Origin("context.model")},
	} {
		if m.name == "" {
			continue
		}
		if _, err := w.target(m.name, m.origin); err != nil {
			return err
		}
	}
	return nil
}

// checked reports whether the settings are right.
func (a *app) checked(err error) error {
	text := "The settings are right."
	if err != nil {
		text = detail(err)
	}
	if a.wantsJSON() {
		writeJSON(a.out, map[string]any{"good": err == nil, "findings": []finding{{"settings", err == nil, text, ""}}})
	} else if err == nil {
		fmt.Fprintln(a.out, text)
	}
	if err == nil {
		return nil
	}
	fmt.Fprintln(a.err, safeLines(text))
	return &exit{code: notGood}
}

// detail is what an error of a command says, without its reason and hint.
func detail(err error) string {
	var e *exit
	if errors.As(err, &e) && e.outcome != nil {
		return e.outcome.Detail
	}
	return err.Error()
}

func (a *app) toolsCommand() *cobra.Command {
	c := &cobra.Command{Use: "tools", Short: "the tools that the agent has", Args: none}
	c.RunE = func(c *cobra.Command, _ []string) error {
		cfg, err := a.config(c)
		if err != nil {
			return err
		}
		w := &work{app: a, cfg: cfg}
		defer w.close()
		ag, err := w.card(w.agentName())
		if err != nil {
			return err
		}
		tools, err := w.tools(c.Context(), ag)
		if err != nil {
			return err
		}
		type row struct {
			Name        string          `json:"name"`
			Description string          `json:"description"`
			Schema      json.RawMessage `json:"input_schema"`
			Effects     uzda.Effects    `json:"effects"`
			Source      string          `json:"source"`
		}
		rows := []row{}
		for _, t := range tools {
			s := t.Spec()
			if s.Source == "" {
				s.Source = "built-in"
			}
			rows = append(rows, row{s.Name, s.Description, s.Input, s.Effects, s.Source})
		}
		if cfg.OutputFormat != "text" {
			writeJSON(a.out, rows)
			return nil
		}
		for _, r := range rows {
			fmt.Fprintf(a.out, "%s  (%s; %s)\n", r.Name, r.Source, effects(r.Effects))
			for line := range strings.Lines(strings.TrimSpace(r.Description)) {
				fmt.Fprintln(a.out, "    "+strings.TrimRight(line, "\n"))
			}
		}
		return nil
	}
	return flags(c, "output-format", "agent", "db", "dir", "trust")
}

func effects(e uzda.Effects) string {
	var out []string
	for _, x := range []struct {
		on   bool
		name string
	}{{e.ReadOnly, "read-only"}, {e.Idempotent && !e.ReadOnly, "idempotent"}, {e.Irreversible, "irreversible"}, {e.OpenWorld, "open-world"}} {
		if x.on {
			out = append(out, x.name)
		}
	}
	if len(out) == 0 {
		return "changes things"
	}
	return strings.Join(out, ", ")
}
