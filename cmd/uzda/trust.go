package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/cmd/uzda/config"
	"github.com/uzda-dev/uzda/cmd/uzda/line"
)

// meet asks, at the first visit to a folder that brings settings or instructions of
// its own, whether the person trusts it. Where nobody can be asked nothing is, and
// what needs trust does not count.
func (a *app) meet(c *cobra.Command) error {
	if !a.tty || a.settings != nil {
		return nil
	}
	cfg, err := a.load(c)
	if err != nil {
		return err
	}
	left := (&work{app: a, cfg: cfg}).tree(cfg.Dir).Read().Left
	if len(cfg.Left)+len(left) == 0 {
		return nil
	}
	folder := cfg.Project
	if len(cfg.Left) == 0 {
		folder = filepath.Dir(left[0]) // the highest
	}
	if slices.Contains(a.strangers(cfg), folder) || cfg.Trusts(folder) {
		return nil
	}
	fmt.Fprintf(a.err, "You are here for the first time, and the folder wants to say how agents work in it:\n\n")
	for _, what := range append(slices.Clone(cfg.Left), left...) {
		fmt.Fprintln(a.err, "  "+safe(what))
	}
	fmt.Fprintf(a.err, "\nWhoever wrote that could have programs run or files read. Look before you say yes.\n")
	return a.answerOfTrust(c, cfg, folder)
}

func (a *app) answerOfTrust(c *cobra.Command, cfg *config.Config, folder string) error {
	question := fmt.Sprintf("Trust %s? [y]es this time, [a]lways, [n]o: ", safe(folder))
	desk := a.talk.desk
	desk.Ask(question)
	defer desk.Prompt("", false)
	for {
		var in line.Input
		select {
		case <-a.signals.Done():
			fmt.Fprintln(a.err)
			return interrupted(a.signals)
		case in = <-desk.Inputs():
		}
		if in.Kind == line.Interrupt {
			return fail(uzda.CancelledByUser, "", "stopped at the question of trust")
		}
		if in.Kind == line.End { // which is no yes
			a.talk.ended = true
			fmt.Fprintln(a.err)
			return nil
		}
		switch strings.ToLower(strings.TrimSpace(in.Text)) {
		case "y", "yes":
			return c.Flags().Set("trust", folder)
		case "a", "always":
			file := config.UserFile(config.Options{Dir: a.dir, Env: a.env})
			if file == "" {
				return fail(uzda.ConfigError, "set UZDA_HOME", "there is no home folder for your settings")
			}
			n, err := config.AddTrust(file, folder)
			if err != nil {
				return fail(uzda.ConfigError, "write it there yourself, below trust:", "%v", err)
			}
			fmt.Fprintf(a.err, "%s:%d now says so.\n", file, n)
			return nil
		case "n", "no":
			a.remember(cfg, folder)
			return nil
		}
		desk.Ask("Please type y, a or n. " + question)
	}
}

// strangers are the folders that the person did not trust when asked.
func (a *app) strangers(cfg *config.Config) []string {
	data, err := os.ReadFile(filepath.Join(cfg.Data, "untrusted"))
	if err != nil {
		return nil // asked once more at worst
	}
	return strings.Split(strings.TrimSpace(string(data)), "\n")
}

// remember keeps a no, so that it is not asked for again.
func (a *app) remember(cfg *config.Config, folder string) {
	err := os.MkdirAll(cfg.Data, 0o700)
	var f *os.File
	if err == nil {
		f, err = os.OpenFile(filepath.Join(cfg.Data, "untrusted"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	}
	if err == nil {
		_, err = fmt.Fprintln(f, folder)
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		fmt.Fprintln(a.err, "uzda: warning: the answer could not be kept, so you will be asked again:", err)
	}
}
