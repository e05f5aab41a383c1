package main

import (
	"cmp"
	"context"
	"fmt"
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
		return "", usage("config takes no arguments but the name after --agent; got %q", args)
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
	Name        string   `json:"name"`
	Origin      string   `json:"origin"`
	Description string   `json:"description"`
	Model       string   `json:"model,omitempty"`
	Tools       []string `json:"tools"`
	Missing     []string `json:"missing_tools"`
	Guided      bool     `json:"instructions"`      // it reads AGENTS.md
	TextTokens  int      `json:"text_tokens"`       // about
	ToolTokens  int      `json:"tool_tokens"`       // about
	Text        string   `json:"text,omitempty"`    // of its system prompt
	Default     bool     `json:"default,omitempty"` // it works where none is named
}

// described is an agent as it would work here.
func (w *work) described(ctx context.Context, name string) (agentJSON, error) {
	c, err := w.card(name)
	if err != nil {
		return agentJSON{}, err
	}
	out := agentJSON{Name: c.Name, Origin: c.file, Model: c.model(), Guided: c.guided(), Text: c.System, TextTokens: window.Estimate(c.System),
		Tools: []string{}, Missing: []string{}, Default: name == w.agentName()}
	if c.front != nil {
		out.Description = c.front.Description
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
	fmt.Fprintln(t, "AGENT\tTOOLS\tTOKENS\tWHAT")
	for _, one := range all {
		name := safe(one.Name)
		if one.Default {
			name += " *"
		}
		fmt.Fprintf(t, "%s\t%d\t%s\t%s\n", name, len(one.Tools)+len(one.Missing), thousands(one.TextTokens), uzda.OneLine(safe(one.Description), max(30, cmp.Or(w.width, 100)-34)))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(a.out, "\n* works where none is named. uzda config --agent NAME shows one; --agent NAME runs it.")
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
	guided := "reads AGENTS.md of the folder"
	if !one.Guided {
		guided = "reads no AGENTS.md"
	}
	row("instructions", guided)
	row("tokens", fmt.Sprintf("about %s of text, %s of tools", thousands(one.TextTokens), thousands(one.ToolTokens)))
	fmt.Fprintf(a.out, "\n%s\n", safeLines(one.Text))
	return nil
}
