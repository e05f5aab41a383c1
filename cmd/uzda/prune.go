package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/uzda-dev/uzda"
)

// A kin is a session with all that it began by delegation: they go together.
type kin struct {
	root    uzda.SessionInfo
	all     []uzda.SessionInfo // itself first
	updated time.Time          // the last change of any
	size    int64              // of its events, with the texts that they name
	beside  int64              // of its files beside the store
}

// kins groups the sessions of the store, in the order of the list. What another
// session began stands with that one, if it is there.
func (w *work) kins(ctx context.Context) ([]kin, error) {
	rows, err := w.infos(ctx)
	if err != nil {
		return nil, err
	}
	there := map[uzda.SessionID]bool{}
	begun := map[uzda.SessionID][]uzda.SessionInfo{}
	for _, r := range rows {
		there[r.ID] = true
		begun[r.Parent] = append(begun[r.Parent], r)
	}
	var out []kin
	for _, r := range rows {
		if r.Parent != "" && there[r.Parent] {
			continue
		}
		k := kin{root: r, all: []uzda.SessionInfo{r}}
		for i := 0; i < len(k.all); i++ {
			if id := k.all[i].ID; id != "" {
				k.all = append(k.all, begun[id]...)
			}
		}
		for _, one := range k.all {
			if k.size += one.Size; one.Updated.After(k.updated) {
				k.updated = one.Updated
			}
		}
		out = append(out, k)
	}
	return out, nil
}

// open says what is not over in a session or in one that it began, "" if nothing is: somebody may still
// answer it or go on with it.
func (k kin) open() string {
	for _, r := range k.all {
		why := openOf(r)
		if why != "" && r.ID != k.root.ID {
			why = fmt.Sprintf("of session %s, which it began: %s", r.ID, why)
		}
		if why != "" {
			return why
		}
	}
	return ""
}

func openOf(r uzda.SessionInfo) string {
	switch r.Status {
	case uzda.Waiting:
		switch r.Reason {
		case uzda.WaitApproval:
			return "it waits for an approval"
		case uzda.WaitQuestion:
			return "it waits for an answer"
		case uzda.WaitChild:
			return "it waits for a session that it began"
		case uzda.WaitTimer:
			return "it waits for a time"
		}
		return "it waits for a result"
	case "running":
		return "it is in the middle of a turn"
	case "ready":
		return "it has a message that is not answered"
	}
	return ""
}

func (a *app) removeCommand() *cobra.Command {
	force, shrink := false, false
	c := a.looks("rm SESSION...", "remove sessions for good", `Rm removes the sessions that you name, for good: their journals, their outputs and
notes, and what is needed to undo their changes of files. Files that they changed
stay as they are. It does not ask: you have named them. A session that another one began goes with that one, never alone.

One that runs is busy. One that waits for an answer or is in the middle of a turn
stays, and what is pending is said; --force removes it all the same. What was spent
still counts against the budget of the day. The beginning of an id is enough.`,
		func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return fail(uzda.ConfigError, "`uzda sessions` lists them", "%s wants the ids of sessions", c.CommandPath())
			}
			return nil
		},
		func(ctx context.Context, w *work, args []string) error {
			p, err := w.pruning(force, shrink)
			if err != nil {
				return err
			}
			chosen, err := p.named(ctx, args)
			if err != nil {
				return err
			}
			if err := p.all(ctx, chosen, true); err != nil {
				return err
			}
			return p.refused()
		})
	c.PreRunE = func(c *cobra.Command, _ []string) error { return a.makeRoom(c) }
	c.Example = "  uzda sessions rm 06fzyxddtc0bfx6m\n  uzda sessions rm ID ID --force"
	p := c.Flags()
	p.BoolVar(&force, "force", false, "also what waits for an answer, or is in the middle of a turn")
	p.BoolVar(&shrink, "shrink", false, "give the room back to the disk, also if it is little")
	return c
}

func (a *app) pruneCommand() *cobra.Command {
	f := pruneFlags{}
	c := a.looks("prune --older AGE", "remove old sessions for good", `Prune removes sessions for good that have not changed for some time: their journals,
their outputs and notes, and what is needed to undo their changes of files. It shows
what would go and asks, unless you say --yes; without a terminal it needs that.

AGE is 12h, 30d or 8w, or a date as 2026-11-01: what was last changed before that
day. What runs is left alone. What waits for an answer, or was left in the middle of
a turn, goes only with --force.

The room is used again by new sessions. Where it is much (over 64 MB, and a quarter
of the store) or with --shrink it is given back to the disk: that copies the store,
and is put off while other programs run sessions. Large texts that were stored in
the last day stay until the next prune. What was spent still counts against the
budget of the day.`, none,
		func(ctx context.Context, w *work, _ []string) error { return w.prune(ctx, f) })
	c.PreRunE = func(c *cobra.Command, _ []string) error {
		if f.dry {
			return nil
		}
		return a.makeRoom(c)
	}
	c.Example = "  uzda sessions prune --older 30d --dry-run\n  uzda sessions prune --older 8w --status done,failed --yes"
	p := c.Flags()
	p.StringVar(&f.older, "older", "", "the `AGE` from which on they go: 12h, 30d, 8w, or a date")
	p.StringVar(&f.status, "status", "", "only those: `STATUS`, several with commas: "+strings.Join(statuses(), ", "))
	p.BoolVar(&f.dry, "dry-run", false, "only show what would go")
	p.BoolVar(&f.yes, "yes", false, "do not ask")
	p.BoolVar(&f.force, "force", false, "also what waits for an answer, or is in the middle of a turn")
	p.BoolVar(&f.shrink, "shrink", false, "give the room back to the disk, also if it is little")
	return c
}

type pruneFlags struct {
	older, status           string
	dry, yes, force, shrink bool
}

func statuses() []string {
	return strings.Fields("open ready running waiting done failed stopped cancelled")
}

// prune removes the sessions that are old.
func (w *work) prune(ctx context.Context, f pruneFlags) error {
	if f.older == "" {
		return fail(uzda.ConfigError, "for example: uzda sessions prune --older 30d --dry-run", "say how old: --older AGE; without it nothing is removed")
	}
	before, err := parseAge(f.older, w.now())
	if err != nil {
		return fail(uzda.ConfigError, "for example 12h, 30d, 8w, or a date: 2026-11-01", "--older %s: %v", f.older, err)
	}
	only, err := parseStatuses(f.status)
	if err != nil {
		return err
	}
	p, err := w.pruning(f.force, f.shrink)
	if err != nil {
		return err
	}
	kins, err := w.kins(ctx)
	if err != nil {
		return err
	}
	var chosen []kin
	for _, k := range kins {
		if !k.updated.Before(before) || len(only) > 0 && !slices.Contains(only, k.root.Status) {
			continue
		}
		if k.root.Status == damagedStatus {
			p.skip(k.root.ID, "it cannot be read", fmt.Sprintf("uzda sessions rm %s removes it", k.root.ID))
			continue
		}
		if why := k.open(); why != "" && !f.force {
			p.skip(k.root.ID, why, insist)
			continue
		}
		if why := p.held(ctx, k); why != "" {
			p.skip(k.root.ID, why, "")
			continue
		}
		k.beside = p.dataSize(k)
		chosen = append(chosen, k)
	}
	p.before(ctx)
	if !w.json() {
		p.preview(len(kins), chosen, before)
	}
	if f.dry {
		return p.dry(chosen)
	}
	if len(chosen) > 0 && !f.yes {
		if err := p.ask(ctx, len(chosen)); err != nil {
			return err
		}
	}
	return p.all(ctx, chosen, false)
}

// parseAge reads an age or a date, as the time before which things are old.
func parseAge(text string, now time.Time) (time.Time, error) {
	if day, err := time.ParseInLocation("2006-01-02", text, now.Location()); err == nil {
		return day, nil
	}
	units := map[string]time.Duration{"h": time.Hour, "d": 24 * time.Hour, "w": 7 * 24 * time.Hour}
	digits := strings.TrimRight(text, "abcdefghijklmnopqrstuvwxyz")
	unit := units[text[len(digits):]]
	n, err := strconv.ParseUint(digits, 10, 32)
	switch {
	case err == nil && unit == 0:
		return time.Time{}, errors.New("say hours, days or weeks")
	case err != nil || unit == 0:
		return time.Time{}, errors.New("that is no age")
	}
	const most = 100 * 365 * 24 * time.Hour
	if n > uint64(most/unit) {
		return time.Time{}, errors.New("that is over a hundred years")
	}
	return now.Add(-time.Duration(n) * unit), nil
}

func parseStatuses(text string) ([]string, error) {
	var out []string
	for _, s := range strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' }) {
		if !slices.Contains(statuses(), s) {
			hint := "there are: " + strings.Join(statuses(), ", ")
			if n := uzda.Nearest(s, statuses(), 1); len(n) > 0 {
				hint = "did you mean " + n[0] + "?"
			}
			return nil, fail(uzda.ConfigError, hint, "--status: there is no status %q", s)
		}
		out = append(out, s)
	}
	return out, nil
}

// named finds the sessions that a person names, each by its id or the beginning.
func (p *pruning) named(ctx context.Context, names []string) ([]kin, error) {
	kins, err := p.kins(ctx)
	if err != nil {
		return nil, err
	}
	var chosen []kin
	for _, name := range names {
		k, err := p.find(kins, name)
		if err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(chosen, func(o kin) bool { return o.root.ID == k.root.ID }) {
			chosen = append(chosen, k)
		}
	}
	return chosen, nil
}

func (p *pruning) find(kins []kin, name string) (kin, error) {
	var found []kin
	for _, k := range kins {
		for i, one := range k.all {
			if string(one.ID) == name {
				if i > 0 {
					return kin{}, fail(uzda.ConfigError, "nothing was removed; with all of it: uzda sessions rm "+string(k.root.ID),
						"session %s is a part of session %s, and goes with it", name, k.root.ID)
				}
				return k, nil
			}
		}
		if name != "" && strings.HasPrefix(string(k.root.ID), name) {
			found = append(found, k)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return kin{}, fail(uzda.ConfigError, "nothing was removed; `uzda sessions` lists them", "there is no session %s in %s", name, storePath(p.cfg))
	}
	return kin{}, fail(uzda.ConfigError, "nothing was removed; write more of it", "%d sessions begin with %s: %s, %s …", len(found), name, found[0].root.ID, found[1].root.ID)
}
