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
	"github.com/uzda-dev/uzda/cmd/uzda/attach"
)

func (a *app) showCommand() *cobra.Command {
	events, follow := false, false
	c := a.looks("show SESSION", "what was said and done in a session", `Show prints the transcript of a session and where it stands. --events prints its
journal, an event a line; with --output-format json both are one JSON value.

--follow then shows what happens, as it is recorded, also by another program, until
the turn ends; Ctrl-C ends only the showing. With --events, or with --output-format
stream-json, it prints an event a line.`, one(0), func(ctx context.Context, w *work, args []string) error {
		switch {
		case follow:
			return w.followed(ctx, args[0], events)
		case events:
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
			edits, err := w.edits(ctx, id, s, 0)
			if err == nil {
				writeJSON(w.out, w.details(ctx, id, s, bad, edits))
			}
			return err
		}
		return w.transcript(ctx, id, s)
	})
	c.Flags().BoolVar(&events, "events", false, "the journal, an event a line")
	c.Flags().BoolVarP(&follow, "follow", "f", false, "go on showing until the turn ends")
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

// transcript prints a session for a person: what was said before the view of its
// model began anew, and that view.
func (w *work) transcript(ctx context.Context, id uzda.SessionID, s *agent.State) error {
	if err := w.saidSoFar(ctx, id, s); err != nil {
		return err
	}
	w.standing(ctx, id, s)
	return nil
}

// saidSoFar is the transcript without where the session stands.
func (w *work) saidSoFar(ctx context.Context, id uzda.SessionID, s *agent.State) error {
	edits, err := w.edits(ctx, id, s, 0)
	if err != nil {
		return err
	}
	from, before, err := w.before(ctx, id, s, edits)
	if err != nil {
		return err
	}
	fmt.Fprintf(w.out, "session %s · agent %s · %s · %s\n", id, safe(s.Opened.Agent), safe(s.Gear.Model.ID), safe(s.Opened.Dir))
	names, told := map[uzda.UseID]string{}, map[uzda.Seq]bool{}
	for _, e := range before {
		fmt.Fprintln(w.out)
		w.printed(e.Message, names)
	}
	if len(before) > 0 {
		fmt.Fprintln(w.out, "\n--- The model no longer sees what is above. What it sees begins here. ---")
	}
	for _, e := range s.View[from:] {
		fmt.Fprintln(w.out)
		if i := slices.IndexFunc(edits, func(x editJSON) bool { return x.Seq == e.Edit }); i >= 0 && told[e.Edit] {
			w.put("edit", fmt.Sprint(e.Edit))
		} else if i >= 0 {
			w.put("edit", fmt.Sprintf("%d: %s", e.Edit, edited(edits[i])))
			told[e.Edit] = true
		}
		w.printed(e.Message, names)
	}
	fmt.Fprintln(w.out)
	if line := editsLine(id, edits, len(told)); line != "" {
		fmt.Fprintln(w.out, line)
	}
	return nil
}

// editsLine says how many edits were made, and how many of them stand.
func editsLine(id uzda.SessionID, edits []editJSON, stand int) string {
	made := 0
	for _, e := range edits {
		if e.Undo == 0 {
			made++
		}
	}
	text := plural(made, "edit") + " of what the model sees, "
	switch {
	case len(edits) == 0:
		return ""
	case stand == 0:
		return text + fmt.Sprintf("none of which stands: uzda context %s lists them", id)
	case stand < made:
		text += fmt.Sprintf("%s above with \"edit\"", thousands(stand))
	default:
		text += "above with \"edit\""
	}
	return text + fmt.Sprintf(":\n  uzda context %s lists them, uzda compact %s --undo takes the last back,\n  uzda show %s --events has the originals", id, id, id)
}

// before is what was said before the view began anew by a summary that stands, as it
// was, and the place in the view of that summary; both are empty without one.
func (w *work) before(ctx context.Context, id uzda.SessionID, s *agent.State, edits []editJSON) (from int, before []uzda.Entry, err error) {
	last := uzda.Seq(-1)
	for i, e := range s.View {
		for _, x := range edits {
			if x.Seq == e.Edit && (x.What == uzda.MoveCompact || x.What == uzda.MoveHandover) && last < 0 {
				from, last = i, x.To
			}
		}
	}
	if last < 0 {
		return 0, nil, nil
	}
	whole := &agent.State{} // as it would be without edits
	for e, err := range w.store.Read(ctx, id, 0) {
		if err != nil {
			return 0, nil, fail(uzda.StorageError, "`uzda doctor` looks at the store", "%v", err)
		}
		if _, ok := e.Body.(uzda.Edited); !ok {
			whole.Fold(e)
		}
	}
	end := 1 + slices.IndexFunc(whole.View, func(e uzda.Entry) bool { return e.Seq == last })
	return from, whole.View[:end], nil
}

// printed prints a message of a transcript. names are those of the calls so far.
func (w *work) printed(m uzda.Message, names map[uzda.UseID]string) {
	who := "user"
	if m.Role == uzda.Assistant {
		who = "model"
	}
	for _, b := range m.Blocks {
		switch b := b.(type) {
		case uzda.Text:
			w.put(who, b.Text)
		case uzda.Thinking:
			w.put("thinks", b.Text)
		case uzda.ToolUse:
			names[b.ID] = b.Name
			w.put("calls", fmt.Sprintf("%s %s  [%s]", b.Name, b.Input, b.ID))
		case uzda.ToolResult:
			who := "result"
			if b.IsError {
				who = "error"
			}
			body := b.Blocks
			if len(b.People) > 0 {
				body = b.People
			}
			w.put(who, fmt.Sprintf("[%s %s]\n%s", b.Use, names[b.Use], body.String()))
		case uzda.Media:
			w.put(who, attach.Describe(b))
		default:
			w.put(who, fmt.Sprintf("(%T)", b))
		}
	}
}

// put prints what somebody said, cut where it is long.
func (w *work) put(who, text string) {
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
		if who, _ := w.runs(ctx, id); who != "" {
			fmt.Fprintf(w.out, "in the middle of a turn, which %s runs; to see it go on: uzda show %s --follow\n", who, id)
		} else {
			fmt.Fprintf(w.out, "in the middle of a turn; go on with: uzda resume %s\n", id)
		}
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
