package main

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/cmd/uzda/config"
)

// welcome says below the six things what is not as one needs it: settings that cannot be
// read, no model, calls that wait. It asks no network, makes nothing and never fails.
func (a *app) welcome(c *cobra.Command) {
	g := a.peek(c)
	defer g.close()
	if _, err := g.app.load(c); err != nil {
		fmt.Fprintf(a.out, "\nThe settings cannot be read: %s\n", safeLines(detail(err)))
		return
	}
	if g.cfg.Model == "" && !g.keyed() {
		fmt.Fprintln(a.out, "\nNo model is named, and no key is set: uzda init looks for a server on this machine.")
	}
	if waits := g.waiters(); len(waits) > 0 {
		id := string(waits[0])
		if len(waits) == 1 {
			fmt.Fprintf(a.out, "\nSession %s waits for you: uzda show %s, uzda approve %s\n", id, id, id)
		} else {
			fmt.Fprintf(a.out, "\n%s wait for you: uzda sessions lists them, uzda approve ID answers\n", plural(len(waits), "session"))
		}
	}
}

// keyed says whether the key of a provider is set.
func (g *peek) keyed() bool {
	prices, err := g.table()
	if err != nil {
		return true // which the command itself will say
	}
	return slices.ContainsFunc(config.Services(), func(service string) bool {
		row := prices.Provider(service)
		if row == nil || row.Free {
			return false
		}
		variable, _ := g.firstSet(profileOf(service).KeyVars)
		return variable != ""
	})
}

// waiters are the sessions that wait for an approval or an answer, the newest first.
func (g *peek) waiters() (ids []uzda.SessionID) {
	if !g.look() {
		return nil
	}
	l, ok := g.store.(uzda.Lister)
	if !ok {
		return nil
	}
	for info, err := range l.List(g.ctx) {
		if err != nil {
			break
		}
		if info.Status == uzda.Waiting && (info.Reason == uzda.WaitApproval || info.Reason == uzda.WaitQuestion) {
			ids = append(ids, info.ID)
		}
	}
	return ids
}
