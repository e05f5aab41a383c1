package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/uzda-dev/uzda"
)

// later and laterFlags are commands and flags of run that a coming version has.
var (
	later      = strings.Fields("diagnose audit replay fork export eval advise curve mcp memory mission serve schedule backup restore")
	laterFlags = strings.Fields("mcp-config")
)

// meant are commands under names that other programs have for them.
var meant = map[string]string{
	"ls": "sessions", "list": "sessions", "status": "sessions", "ps": "sessions", "history": "sessions",
	"log": "show ID", "logs": "show ID", "view": "show ID", "cat": "show ID", "watch": "show ID --follow", "tail": "show ID --follow", "follow": "show ID --follow",
	"ask": `run "TASK"`, "exec": `run "TASK"`, "do": `run "TASK"`, "start": `run "TASK"`, "prompt": `run "TASK"`, "talk": "chat", "repl": "chat",
	"login": "init", "auth": "init", "setup": "init", "configure": "init", "key": "init", "keys": "init",
	"continue": "resume ID", "go": "resume ID", "retry": "resume ID", "yes": "approve ID", "allow": "approve ID", "accept": "approve ID", "reject": "deny ID", "no": "deny ID",
	"revert": "undo ID", "rollback": "undo ID", "rm": "sessions rm ID", "delete": "sessions rm ID", "prune": "sessions prune --older 30d", "clean": "sessions prune --older 30d",
	"agent": "config --agent", "agents": "config --agent", "settings": "config", "set": "config", "price": "models", "prices": "models", "model": "models", "tool": "tools",
	"costs": "cost", "usage": "cost", "spend": "cost", "plan": "cost plan", "check": "doctor", "test": "doctor", "permissions": "policy", "rules": "policy", "info": "version",
}

// stray refuses a word that is no command, before the parser takes it for an
// argument of the command above it.
func stray(root *cobra.Command, args []string) error {
	c, rest, err := root.Find(args)
	if err != nil {
		return err
	}
	if c.Name() == "help" {
		if c, rest, err = root.Find(rest); err != nil {
			return err
		}
	}
	if !c.HasSubCommands() || len(rest) == 0 || strings.HasPrefix(rest[0], "-") || strings.HasPrefix(rest[0], "__") {
		return nil
	}
	if strings.Contains(c.Use, "[") { // it takes an argument itself
		return nil
	}
	word := rest[0]
	if c == root && slices.Contains(later, word) {
		return fail(uzda.ConfigError, "`uzda --help` lists what there is", "this version has no %s yet", word)
	}
	hint := "see `" + c.CommandPath() + " --help`"
	switch {
	case c.Name() == "sessions":
		hint = strayOfSessions(root, rest)
	case c == root && meant[word] != "":
		hint = "did you mean `uzda " + meant[word] + "`?"
	default:
		var names []string
		for _, sub := range c.Commands() {
			names = append(names, sub.Name())
		}
		task := uzda.OneLine(strings.Join(rest, " "), 60)
		if n := uzda.Nearest(word, names, 1); len(n) > 0 {
			hint = "did you mean `" + c.CommandPath() + " " + n[0] + "`?"
		} else if c == root && strings.ContainsRune(task, ' ') { // said as one says it to a person
			hint = fmt.Sprintf("to give an agent a task: uzda run %q", task)
		}
	}
	return fail(uzda.ConfigError, hint, "%s has no command %q", c.CommandPath(), word)
}

// wrongFlag says what is wrong with a flag, and which one is nearest.
func wrongFlag(c *cobra.Command, err error) error {
	hint := "see `" + c.CommandPath() + " --help`"
	name, long := strings.CutPrefix(err.Error(), "unknown flag: --")
	letter, short := strings.CutPrefix(err.Error(), "unknown shorthand flag: '")
	var names []string
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, f.Name)
		}
	})
	switch {
	case short && letter != "":
		begin := slices.DeleteFunc(slices.Clone(names), func(n string) bool { return n[0] != letter[0] })
		if slices.Sort(begin); len(begin) > 0 {
			hint = "flags are written out: --" + strings.Join(begin, ", --")
		}
	case !long:
	case name == "attach" && c.Name() == "chat":
		hint = "in the chat type /attach FILE; `uzda run` and `uzda resume` take --attach"
	case slices.Contains(laterFlags, name):
		hint = "this version has no --" + name + " yet; " + hint
	default:
		if n := uzda.Nearest(name, names, 1); len(n) > 0 {
			hint = "did you mean --" + n[0] + "?"
		} else if c == c.Root() {
			hint = "flags stand after the command; " + hint
		}
	}
	return fail(uzda.ConfigError, hint, "%s: %v", c.CommandPath(), err)
}
