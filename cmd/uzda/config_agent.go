package main

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/cmd/uzda/config"
	"github.com/uzda-dev/uzda/window"
)

// everyAgent is the value of --agent where none is given.
const everyAgent = "*"

// agentFlag says which agent is to be shown: everyAgent, a name, or "" for none. A
// name may stand behind the flag or after it.
func agentFlag(c *cobra.Command, args []string) (string, error) {
	f := c.Flags().Lookup("agent")
	t, ok := f.Value.(*text)
	bare := ok && f.Changed && len(t.values) == 1 && t.values[0] == everyAgent
	switch {
	case len(args) > 1 || len(args) == 1 && !bare:
		return "", fail(uzda.ConfigError, "settings are lines of "+config.FileName+", as model: PROVIDER/ID; `uzda config` lists all, `uzda init` writes the file",
			"config takes no arguments but the name after --agent; got %q", args)
	case bare && len(args) == 1:
		t.values = args
		return args[0], nil
	case bare:
		t.values, f.Changed = nil, false // the settings are as they are
		return everyAgent, nil
	case f.Changed:
		return t.String(), nil
	}
	return "", nil
}

// agentJSON is an agent, for a machine.
type agentJSON struct {
	Name        string        `json:"name"`
	Origin      string        `json:"origin"`
	Description string        `json:"description"`
	Model       string        `json:"model,omitempty"`
	Mode        string        `json:"mode"`
	Settings    []config.Item `json:"settings"` // limits and permissions that are not the default
	Tools       []string      `json:"tools"`
	Missing     []string      `json:"missing_tools"`
	Guided      bool          `json:"instructions"`       // it reads AGENTS.md
	TextTokens  int           `json:"text_tokens"`        // about
	ToolTokens  int           `json:"tool_tokens"`        // about
	Text        string        `json:"text,omitempty"`     // of its system prompt
	Default     bool          `json:"default,omitempty"`  // it works where none is named
	Left        []string      `json:"left_out,omitempty"` // of its file, since nobody trusts its folder
}

// described is an agent as it would work here.
func (w *work) described(ctx context.Context, name string) (agentJSON, error) {
	c, err := w.card(name)
	if err != nil {
		return agentJSON{}, err
	}
	out := agentJSON{Name: c.Name, Origin: c.file, Model: c.model(), Guided: c.guided(), Text: c.System, TextTokens: window.Estimate(c.System),
		Tools: []string{}, Missing: []string{}, Default: name == w.agentName() && !strings.HasPrefix(w.cfg.Origin("agent"), "flag "), Settings: []config.Item{}}
	cfg := w.cfg
	if c.front != nil {
		out.Description = c.front.Description
		cfg, out.Left = cfg.With(c.front, c.trusted)
	}
	out.Mode = cfg.Permissions.Mode
	for _, i := range cfg.Items() {
		if i.Origin != "default" && (strings.HasPrefix(i.Key, "limits.") || strings.HasPrefix(i.Key, "permissions.")) {
			out.Settings = append(out.Settings, i)
		}
	}
	wanted := c.Tools
	c.Tools = nil // all that there are: what of them is wanted is seen below
	tools, err := w.tools(ctx, c)
	if err != nil {
		return out, err
	}
	for _, t := range tools {
		s := t.Spec()
		if len(wanted) > 0 && !slices.Contains(wanted, s.Name) {
			continue
		}
		out.Tools = append(out.Tools, s.Name)
		out.ToolTokens += window.Estimate(s.Name + s.Description + string(s.Input))
	}
	for _, name := range wanted {
		if !slices.Contains(out.Tools, name) {
			out.Missing = append(out.Missing, name)
		}
	}
	return out, nil
}

func (a *app) showAgents(ctx context.Context, cfg *config.Config) error {
	w := &work{app: a, cfg: cfg}
	defer w.close()
	var all []agentJSON
	for _, name := range slices.Compact(slices.Sorted(slices.Values(w.agentNames()))) {
		one, err := w.described(ctx, name)
		if err != nil {
			return err
		}
		one.Text = ""
		all = append(all, one)
	}
	if w.json() {
		writeJSON(a.out, all)
		return nil
	}
	t := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "AGENT\tTOOLS\tTOKENS\tMODEL\tFROM\tWHAT")
	room := max(24, cmp.Or(w.width, 120)-64)
	for _, one := range all {
		name := safe(one.Name)
		if one.Default {
			name += " *"
		}
		from := uzda.OneLine(safe(w.nearby(one.Origin)), 24)
		if strings.HasPrefix(one.Origin, embeddedAgent) {
			from = "embedded"
		}
		fmt.Fprintf(t, "%s\t%d\t%s\t%s\t%s\t%s\n", name, len(one.Tools)+len(one.Missing), thousands(one.TextTokens),
			uzda.OneLine(safe(cmp.Or(one.Model, "-")), 24), from, uzda.OneLine(safe(one.Description), room))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(a.out, "\n* works where none is named. TOKENS, about, are those of its text. uzda config --agent NAME shows one.")
	return nil
}

func (a *app) showAgent(ctx context.Context, cfg *config.Config, name string) error {
	w := &work{app: a, cfg: cfg}
	defer w.close()
	one, err := w.described(ctx, name)
	if err != nil {
		return err
	}
	if w.json() {
		writeJSON(a.out, one)
		return nil
	}
	row := func(what, text string) {
		for i, line := range wrap(safe(text), max(40, cmp.Or(w.width, 100)-15)) {
			if i > 0 {
				what = ""
			}
			fmt.Fprintln(a.out, strings.TrimRight(pad(what, 14)+line, " "))
		}
	}
	row("agent", one.Name)
	row("from", one.Origin)
	if one.Description != "" {
		row("what", one.Description)
	}
	row("model", cmp.Or(one.Model, "that of the settings"))
	row("tools", cmp.Or(strings.Join(one.Tools, ", "), "none"))
	if len(one.Missing) > 0 {
		row("not here", strings.Join(one.Missing, ", ")+" (those of a database need --db FILE)")
	}
	row("mode", one.Mode)
	for _, i := range one.Settings {
		if i.Key != "permissions.mode" {
			row(strings.TrimPrefix(strings.TrimPrefix(i.Key, "limits."), "permissions."), fmt.Sprintf("%v (%s)", i.Value, i.Origin))
		}
	}
	for _, left := range one.Left {
		row("left out", left+": nobody trusts its folder")
	}
	guided := "reads AGENTS.md of the folder"
	if !one.Guided {
		guided = "reads no AGENTS.md"
	}
	row("instructions", guided)
	row("tokens", fmt.Sprintf("about %s of text, %s of tools", thousands(one.TextTokens), thousands(one.ToolTokens)))
	fmt.Fprintf(a.out, "\n%s\n", safeLines(one.Text))
	return nil
}

// embeddedAgent begins the origin of an agent that is part of the program.
const embeddedAgent = "the embedded agent "

// nearby is a path as it is from here, where it lies below.
func (w *work) nearby(path string) string {
	if rel, err := filepath.Rel(w.dir, path); err == nil && filepath.IsLocal(rel) {
		return rel
	}
	return path
}
