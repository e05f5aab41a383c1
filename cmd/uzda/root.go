package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/cmd/uzda/config"
)

const about = `Uzda runs agents: bounded, recorded, resumable.

A language model can only write text. Uzda gives it tools, memory and time, and
holds the reins: every loop has fuses, every step is recorded before it counts,
and nothing irreversible happens by accident.

The six things that one does first:
  uzda demo                         a real job, without a key or a network
  uzda run --db shop.db "question"  answer from your own database
  uzda sessions                     what has run
  uzda show ID                      what was said and done
  uzda resume ID                    go on: after a crash, a limit, an answer
  uzda doctor                       is everything in order?`

// root is the command line.
func (a *app) root() *cobra.Command {
	root := &cobra.Command{Use: "uzda", Short: "run agents: bounded, recorded, resumable", Long: about,
		SilenceErrors: true, SilenceUsage: true, Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() }}
	root.SetIn(a.in)
	root.SetOut(a.out)
	root.SetErr(a.err)
	root.SuggestionsMinimumDistance = 2
	root.AddGroup(&cobra.Group{ID: "work", Title: "Work:"}, &cobra.Group{ID: "look", Title: "Look:"}, &cobra.Group{ID: "set", Title: "Set up:"})
	add := func(group string, cmds ...*cobra.Command) {
		for _, c := range cmds {
			c.GroupID = group
			root.AddCommand(c)
		}
	}
	add("work", a.demoCommand(), a.runCommand(), a.resumeCommand(), a.approveCommand(), a.denyCommand(), a.resolveCommand())
	add("look", a.sessionsCommand(), a.showCommand(), a.contextCommand(), a.costCommand(), a.traceCommand())
	add("set", a.modelsCommand(), a.toolsCommand(), a.policyCommand(), a.configCommand(), a.doctorCommand(), a.versionCommand())
	root.SetHelpCommandGroupID("set")
	root.SetCompletionCommandGroupID("set")
	return root
}

// settings are the flags of the table of settings that a command takes.
var (
	runFlags  = []string{"model", "agent", "dir", "db", "system", "verify", "max-steps", "max-tool-calls", "max-tokens", "timeout", "max-cost", "allow", "deny", "permission-mode"}
	lookFlags = []string{"output-format"}
)

// flags registers settings of the table as flags of a command. They are text
// here: the table knows what they hold, so that a wrong one is named like a
// wrong line of a file.
func flags(c *cobra.Command, names ...string) *cobra.Command {
	for _, k := range config.Keys() {
		if k.Flag == "" || !slices.Contains(names, k.Flag) {
			continue
		}
		doc := strings.TrimSuffix(k.Doc, ".")
		if k.Default != "" {
			doc += " (default " + k.Default + ")"
		}
		if len(k.Choices) > 0 && k.Flag != "output-format" {
			doc += ": " + strings.Join(k.Choices, ", ")
		}
		kind := strings.ToUpper(string(k.Kind))
		c.Flags().VarP(&text{kind: kind}, k.Flag, "", doc)
	}
	return c
}

// text is a flag that may be given several times, kept as it was written.
type text struct {
	kind   string
	values []string
}

func (t *text) String() string     { return strings.Join(t.values, ", ") }
func (t *text) Set(v string) error { t.values = append(t.values, v); return nil }
func (t *text) Type() string       { return t.kind }

// config reads the settings for a command.
func (a *app) config(c *cobra.Command) (*config.Config, error) {
	given := map[string][]string{}
	for _, k := range config.Keys() {
		if k.Flag == "" {
			continue
		}
		if f := c.Flags().Lookup(k.Flag); f != nil && f.Changed {
			if t, ok := f.Value.(*text); ok {
				given[k.Flag] = t.values
			}
		}
	}
	cfg, err := config.Load(config.Options{Dir: a.dir, Env: a.env, Flags: given})
	if err != nil {
		return nil, fail(uzda.ConfigError, "`uzda config` shows every setting and where it comes from", "%v", err)
	}
	for _, w := range cfg.Warnings {
		fmt.Fprintln(a.err, "uzda: warning:", w)
	}
	return cfg, nil
}

// one wants the id of a session as the first argument, and at most more others.
func one(more int) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		switch {
		case len(args) == 0:
			return usage("%s wants the id of a session; `uzda sessions` lists them", c.CommandPath())
		case len(args) > 1+more:
			return usage("%s got more arguments than it takes: %q", c.CommandPath(), args[1+more:])
		}
		return nil
	}
}

// none refuses arguments by name.
func none(c *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usage("%s takes no arguments; got %q", c.CommandPath(), args)
	}
	return nil
}

// looks is a command that reads the store and prints something.
func (a *app) looks(use, short, long string, args cobra.PositionalArgs, do func(ctx context.Context, w *work, args []string) error) *cobra.Command {
	c := &cobra.Command{Use: use, Short: short, Long: long, Args: args}
	c.RunE = func(c *cobra.Command, args []string) error {
		w, err := a.open(c)
		if err != nil {
			return err
		}
		defer w.close()
		return do(c.Context(), w, args)
	}
	return flags(c, lookFlags...)
}
