package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
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
  uzda demo            a real job, without a key or a network
  uzda init            find a model: a key, or a server on this machine
  uzda run "TASK"      work in this folder; with --db FILE, answer from a database
  uzda chat            talk, line by line
  uzda show last       what was said and done; uzda sessions lists all
  uzda resume last     go on: after a crash, a limit, an answer`

// root is the command line.
func (a *app) root() *cobra.Command {
	version := false
	root := &cobra.Command{Use: "uzda", Short: "run agents: bounded, recorded, resumable", Long: about,
		SilenceErrors: true, SilenceUsage: true, Args: cobra.ArbitraryArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if version {
				return a.printVersion("text", false)
			}
			fmt.Fprintln(c.OutOrStdout(), about+"\n\nuzda --help lists all commands, and uzda COMMAND --help says more about one.")
			a.welcome(c)
			return nil
		}}
	root.Flags().BoolVar(&version, "version", false, "the version of the program")
	root.SetIn(a.in)
	root.SetOut(a.out)
	root.SetErr(a.err)
	root.SetFlagErrorFunc(wrongFlag)
	root.SetUsageFunc(help)
	root.AddGroup(&cobra.Group{ID: "work", Title: "Work:"}, &cobra.Group{ID: "look", Title: "Look:"}, &cobra.Group{ID: "set", Title: "Set up:"})
	add := func(group string, cmds ...*cobra.Command) {
		for _, c := range cmds {
			c.GroupID = group
			root.AddCommand(c)
		}
	}
	add("work", a.demoCommand(), a.runCommand(), a.chatCommand(), a.resumeCommand(), a.approveCommand(), a.denyCommand(), a.resolveCommand(), a.undoCommand(), a.compactCommand())
	add("look", a.sessionsCommand(), a.showCommand(), a.contextCommand(), a.costCommand(), a.traceCommand())
	add("set", a.initCommand(), a.modelsCommand(), a.toolsCommand(), a.policyCommand(), a.configCommand(), a.doctorCommand(), a.completionCommand(), a.versionCommand())
	root.AddCommand(a.manualCommand())
	root.PersistentFlags().BoolP("help", "h", false, "how this is called")
	root.SetHelpCommandGroupID("set")
	root.InitDefaultHelpCmd()
	for _, c := range root.Commands() {
		if c.Name() == "help" {
			c.Use, c.Short, c.Long = "help [COMMAND]", "how a command is called, and what it does", "Help says how a command is called, and what it does, as COMMAND --help."
		}
	}
	if len(a.args) > 0 && strings.HasPrefix(a.args[0], cobra.ShellCompRequestCmd) {
		a.completesAll(root)
	}
	return root
}

// help prints how a command is called, in 80 columns.
func help(c *cobra.Command) error {
	w := c.OutOrStderr()
	fmt.Fprint(w, "Usage:\n")
	if c.Runnable() && c.HasParent() {
		fmt.Fprintf(w, "  %s\n", c.UseLine())
	}
	if c.HasSubCommands() {
		fmt.Fprintf(w, "  %s COMMAND\n", c.CommandPath())
	}
	if strings.Contains(c.Use, "SESSION") && !strings.Contains(c.Use, "SESSION...") {
		fmt.Fprintf(w, "\nSESSION is an id, the beginning of one, or last: the one that was changed last.\n")
	}
	if c.Example != "" {
		fmt.Fprintf(w, "\nExamples:\n%s\n", c.Example)
	}
	list := func(title, group string) {
		fmt.Fprintf(w, "\n%s\n", title)
		for _, sub := range c.Commands() {
			if sub.GroupID == group && (sub.IsAvailableCommand() || sub.Name() == "help") {
				fmt.Fprintf(w, "  %-12s%s\n", sub.Name(), sub.Short)
			}
		}
	}
	for _, g := range c.Groups() {
		list(g.Title, g.ID)
	}
	if c.HasAvailableSubCommands() && len(c.Groups()) == 0 {
		list("Commands:", "")
	}
	if c.HasAvailableFlags() {
		fmt.Fprintf(w, "\nFlags:\n%s\n", strings.TrimRight(c.Flags().FlagUsagesWrapped(80), "\n"))
	}
	if c.HasSubCommands() {
		fmt.Fprintf(w, "\n`%s COMMAND --help` says more about a command.\n", c.CommandPath())
	}
	return nil
}

// settings are the flags of the table of settings that a command takes.
var (
	runFlags  = []string{"model", "agent", "dir", "db", "add-dir", "system", "schema", "verify", "max-steps", "max-tool-calls", "max-tokens", "timeout", "max-cost", "context-budget", "allow", "deny", "permission-mode", "trust"}
	lookFlags = []string{"output-format", "trust"}
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

// config reads the settings for a command, once.
func (a *app) config(c *cobra.Command) (*config.Config, error) {
	if a.settings != nil {
		return a.settings, nil
	}
	cfg, err := a.load(c)
	if err != nil {
		return nil, err
	}
	a.settings = cfg
	for _, w := range cfg.Warnings {
		fmt.Fprintln(a.err, "uzda: warning:", w)
	}
	return cfg, nil
}

// load reads the settings for a command.
func (a *app) load(c *cobra.Command) (*config.Config, error) {
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
		return nil, fail(uzda.ConfigError, "nothing was run; `uzda config --check` says when all is right", "%v", err)
	}
	return cfg, nil
}

// one wants the id of a session as the first argument, and at most more others.
func one(more int) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		switch {
		case len(args) == 0:
			return fail(uzda.ConfigError, "`uzda sessions` lists them", "%s wants the id of a session", c.CommandPath())
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

// count is a flag that holds a whole number from 0 on.
type count struct{ n *int }

func (c count) String() string { return fmt.Sprint(*c.n) }
func (c count) Type() string   { return "COUNT" }
func (c count) Set(text string) error {
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return errors.New("want a whole number from 0 on")
	}
	*c.n = n
	return nil
}
