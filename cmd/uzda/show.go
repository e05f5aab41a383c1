package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/agent"
)

func (a *app) showCommand() *cobra.Command {
	events := false
	c := a.looks("show SESSION", "what was said and done in a session", `Show prints the transcript of a session and where it stands. --events prints its
journal, an event a line; with --output-format json both are one JSON value.`, one(0), func(ctx context.Context, w *work, args []string) error {
		if events {
			return w.events(ctx, args[0])
		}
		id, s, err := w.load(ctx, args[0])
		if err != nil {
			return err
		}
		bad, err := damaged(ctx, w.store, id, 0)
		if err != nil {
			return fail(uzda.StorageError, "`uzda doctor` looks at the store", "%v", err)
		}
		for _, seq := range bad {
			fmt.Fprintf(w.err, "uzda: warning: event %d of session %s is not the one that was recorded; do not trust what is shown\n", seq, id)
		}
		if w.json() {
			edits, err := w.edits(ctx, id, 0)
			if err == nil {
				writeJSON(w.out, w.details(ctx, id, s, bad, edits))
			}
			return err
		}
		return w.transcript(ctx, id, s)
	})
	c.Flags().BoolVar(&events, "events", false, "the journal, an event a line")
	return c
}

// events prints the journal of a session, also of one that does not fold here.
func (w *work) events(ctx context.Context, name string) error {
	id, _, missing := w.load(ctx, name)
	if missing != nil {
		if id = uzda.SessionID(name); id.Check() != nil {
			return missing
		}
	}
	all := []any{}
	for e, err := range w.store.Read(ctx, id, 0) {
		if err != nil {
			return fail(uzda.StorageError, "`uzda doctor` looks at the store", "%v", err)
		}
		line, _ := jsonOf(e)
		if all = append(all, line); w.cfg.OutputFormat != "json" {
			writeJSON(w.out, line)
		}
	}
	if len(all) == 0 {
		return missing
	}
	if w.cfg.OutputFormat == "json" {
		writeJSON(w.out, all)
	}
	return nil
}

// details is a session for a machine.
func (w *work) details(ctx context.Context, id uzda.SessionID, s *agent.State, bad []uzda.Seq, edits []editJSON) any {
	out := struct {
		Session uzda.SessionID  `json:"session"`
		Opened  uzda.Opened     `json:"opened"`
		Head    uzda.Seq        `json:"head"`
		Ended   *uzda.Ended     `json:"ended"`
		Parked  *uzda.Parked    `json:"parked"`
		Pending []pendingJSON   `json:"pending"`
		Unknown []uzda.UseID    `json:"unknown"`
		Usage   usageJSON       `json:"usage"`
		Cost    *uzda.Money     `json:"cost_usd"` // null: the price of a model is not known
		Bound   bool            `json:"cost_is_lower_bound"`
		Newer   string          `json:"read_only,omitempty"` // why this program cannot go on with it
		Damaged []uzda.Seq      `json:"damaged"`
		Edits   []editJSON      `json:"edits"` // of messages, the first made first
		View    json.RawMessage `json:"messages"`
	}{Session: id, Opened: s.Opened, Head: s.Head, Ended: s.Ended, Parked: s.Parked, Usage: usageOf(s.Usage), Bound: s.Guess,
		Edits: edits, Newer: s.ReadOnly, Damaged: append([]uzda.Seq{}, bad...),
		Pending: append([]pendingJSON{}, pendingIn(ctx, w.store, id, "", s)...), Unknown: []uzda.UseID{}}
	if !s.Unpriced {
		out.Cost = &s.Cost
	}
	for u := range s.Unknown {
		out.Unknown = append(out.Unknown, u)
	}
	slices.Sort(out.Unknown)
	view := s.View
	if view == nil {
		view = []uzda.Entry{}
	}
	out.View, _ = json.Marshal(view)
	return out
}

// transcript prints a session for a person, as its model sees it.
func (w *work) transcript(ctx context.Context, id uzda.SessionID, s *agent.State) error {
	edits, err := w.edits(ctx, id, 0)
	if err != nil {
		return err
	}
	fmt.Fprintf(w.out, "session %s · agent %s · %s · %s\n", id, safe(s.Opened.Agent), safe(s.Gear.Model.ID), safe(s.Opened.Dir))
	names := map[uzda.UseID]string{}
	put := func(who, text string) {
		lines := strings.Split(strings.TrimRight(safeLines(text), "\n"), "\n")
		if len(lines) > 40 {
			lines = append(lines[:30], fmt.Sprintf("… %d lines more; --events shows all", len(lines)-30))
		}
		for i, line := range lines {
			if i > 0 {
				who = ""
			}
			fmt.Fprintln(w.out, strings.TrimRight(fmt.Sprintf("%9s  %s", who, line), " "))
		}
	}
	told := uzda.Seq(0)
	for _, e := range s.View {
		fmt.Fprintln(w.out)
		if i := slices.IndexFunc(edits, func(x editJSON) bool { return x.Seq == e.Edit }); e.Edit != told && i >= 0 {
			put("edit", fmt.Sprintf("%d: %s", e.Edit, edited(edits[i])))
		}
		told = e.Edit
		who := "user"
		if e.Message.Role == uzda.Assistant {
			who = "model"
		}
		for _, b := range e.Message.Blocks {
			switch b := b.(type) {
			case uzda.Text:
				put(who, b.Text)
			case uzda.Thinking:
				put("thinks", b.Text)
			case uzda.ToolUse:
				names[b.ID] = b.Name
				put("calls", fmt.Sprintf("%s %s  [%s]", b.Name, b.Input, b.ID))
			case uzda.ToolResult:
				who := "result"
				if b.IsError {
					who = "error"
				}
				body := b.Blocks
				if len(b.People) > 0 {
					body = b.People
				}
				put(who, fmt.Sprintf("[%s %s]\n%s", b.Use, names[b.Use], body.String()))
			default:
				put(who, fmt.Sprintf("(%T)", b))
			}
		}
	}
	fmt.Fprintln(w.out)
	if len(edits) > 0 {
		fmt.Fprintf(w.out, "%s of what the model sees, above with \"edit\": uzda context %s lists them, uzda compact %s --undo takes the last back\n", plural(len(edits), "edit"), id, id)
	}
	w.standing(ctx, id, s)
	return nil
}

// standing says where a session stands, and how it goes on.
func (w *work) standing(ctx context.Context, id uzda.SessionID, s *agent.State) {
	for _, u := range slices.Sorted(maps.Keys(s.Unknown)) {
		fmt.Fprintf(w.out, "unknown outcome: use %s of %s; uzda resolve %s %s yes|no\n", u, safe(s.Unknown[u].Tool), id, u)
	}
	for _, p := range pendingIn(ctx, w.store, id, "", s) {
		fmt.Fprintf(w.out, "%s  hash %s\n", w.waiting(id, s.Opened.Dir, p, true, paint{true}), p.Hash)
	}
	if s.ReadOnly != "" {
		fmt.Fprintf(w.out, "cannot go on here: %s; use a newer version of uzda\n", s.ReadOnly)
	} else if o := s.Outcome(id); o != nil {
		line := fmt.Sprintf("%s: %s", o.Reason.Outcome(), o.Reason)
		if o.Detail != "" {
			line += ": " + safe(o.Detail)
		}
		fmt.Fprintln(w.out, line)
	} else if s.Turn.Seq != 0 {
		fmt.Fprintf(w.out, "in the middle of a turn; go on with: uzda resume %s\n", id)
	}
	if b := s.Last.Broke; s.Last.Cuts > 0 && b.Text != "" {
		fmt.Fprintf(w.out, "what had come of the last reply, which is not whole:\n%s\n", safeLines(uzda.Clip(b.Text, 2000)))
	}
	tokens := thousands(s.Usage.Total()) + " tokens"
	switch {
	case s.Unpriced:
		fmt.Fprintf(w.out, "%s · cost unknown: the price of a model is not known (budgets counted %s)\n", tokens, short(s.Cost))
	case s.Guess:
		fmt.Fprintf(w.out, "at least %s · at least %s\n", tokens, short(s.Cost))
	default:
		fmt.Fprintf(w.out, "%s · %s\n", tokens, short(s.Cost))
	}
}
