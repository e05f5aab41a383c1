package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/agent"
	"github.com/uzda-dev/uzda/cost"
	"github.com/uzda-dev/uzda/trace"
	"github.com/uzda-dev/uzda/window"
)

func (a *app) sessionsCommand() *cobra.Command {
	most := 50
	c := a.looks("sessions", "the sessions of the store, the last changed first", "", none, func(ctx context.Context, w *work, _ []string) error {
		l, ok := w.store.(uzda.Lister)
		if !ok {
			return fail(uzda.ConfigError, "", "this store cannot list its sessions")
		}
		rows, more := []uzda.SessionInfo{}, 0
		for info, err := range l.List(ctx) {
			switch {
			case err != nil:
				return fail(uzda.StorageError, "`uzda doctor` looks at the store", "%v", err)
			case most > 0 && len(rows) == most:
				more++
			default:
				rows = append(rows, info)
			}
		}
		if w.json() {
			writeJSON(w.out, rows)
			return nil
		}
		if len(rows) == 0 {
			fmt.Fprintln(w.out, "There are no sessions yet. Begin with: uzda demo")
			return nil
		}
		t := tabwriter.NewWriter(w.out, 0, 0, 2, ' ', 0)
		fmt.Fprintln(t, "SESSION\tSTATUS\tAGENT\tSTEPS\tTOKENS\tCOST\tCHANGED\tTASK")
		for _, r := range rows {
			status := r.Status
			if r.Reason != "" {
				status += ": " + string(r.Reason)
			}
			fmt.Fprintf(t, "%s\t%s\t%s\t%d\t%s\t%s\t%s\t%s\n", r.ID, status, safe(r.Agent), r.Steps, thousands(r.Tokens), short(r.Cost), ago(w.now(), r.Updated), safe(uzda.Clip(r.Title, 60)))
		}
		if err := t.Flush(); err != nil {
			return err
		}
		if more > 0 {
			fmt.Fprintf(w.out, "and %d more; --most 0 shows all\n", more)
		}
		return nil
	})
	c.Flags().IntVar(&most, "most", most, "how many to show; 0 for all")
	return c
}

func ago(now, then time.Time) string {
	switch d := now.Sub(then); {
	case d < time.Minute:
		return "just now"
	case d < time.Hour:
		return fmt.Sprintf("%d min ago", int(d.Minutes()))
	case d < 24*time.Hour:
		return fmt.Sprintf("%d h ago", int(d.Hours()))
	default:
		return then.Local().Format("2006-01-02")
	}
}

func (a *app) showCommand() *cobra.Command {
	events := false
	c := a.looks("show SESSION", "what was said and done in a session", `Show prints the transcript of a session and where it stands. --events prints its
journal, an event a line; with --output-format json both are one JSON value.`, one(0), func(ctx context.Context, w *work, args []string) error {
		id, s, err := w.load(ctx, args[0])
		if err != nil {
			return err
		}
		if events {
			for e, err := range w.store.Read(ctx, id, 0) {
				if err != nil {
					return fail(uzda.StorageError, "`uzda doctor` looks at the store", "%v", err)
				}
				writeEvent(w.out, e)
			}
			return nil
		}
		if w.json() {
			writeJSON(w.out, w.details(ctx, id, s))
			return nil
		}
		w.transcript(ctx, id, s)
		return nil
	})
	c.Flags().BoolVar(&events, "events", false, "the journal, an event a line")
	return c
}

// details is a session for a machine.
func (w *work) details(ctx context.Context, id uzda.SessionID, s *agent.State) any {
	out := struct {
		Session uzda.SessionID  `json:"session"`
		Opened  uzda.Opened     `json:"opened"`
		Head    uzda.Seq        `json:"head"`
		Ended   *uzda.Ended     `json:"ended"`
		Parked  *uzda.Parked    `json:"parked"`
		Pending []pendingJSON   `json:"pending"`
		Unknown []uzda.UseID    `json:"unknown"`
		Usage   usageJSON       `json:"usage"`
		Cost    uzda.Money      `json:"cost_usd"`
		Bound   bool            `json:"cost_is_lower_bound"`
		View    json.RawMessage `json:"messages"`
	}{Session: id, Opened: s.Opened, Head: s.Head, Ended: s.Ended, Parked: s.Parked, Usage: usageOf(s.Usage), Cost: s.Cost, Bound: s.Guess,
		Pending: append([]pendingJSON{}, pendingIn(ctx, w.store, id, "", s)...), Unknown: []uzda.UseID{}}
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

// transcript prints a session for a person.
func (w *work) transcript(ctx context.Context, id uzda.SessionID, s *agent.State) {
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
			fmt.Fprintf(w.out, "%9s  %s\n", who, line)
		}
	}
	for _, e := range s.View {
		fmt.Fprintln(w.out)
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
	for u, d := range s.Unknown {
		fmt.Fprintf(w.out, "unknown outcome: use %s of %s; uzda resolve %s %s yes|no\n", u, safe(d.Tool), id, u)
	}
	for _, p := range pendingIn(ctx, w.store, id, "", s) {
		fmt.Fprintf(w.out, "waits for approval: %s %s %s (%s)\n  hash %s\n", p.Use, safe(p.Tool), safe(string(p.Input)), safe(p.Reason), p.Hash)
	}
	if o := s.Outcome(id); o != nil {
		fmt.Fprintf(w.out, "%s: %s %s\n", o.Reason.Outcome(), o.Reason, safe(o.Detail))
	} else if s.Turn.Seq != 0 {
		fmt.Fprintf(w.out, "in the middle of a turn; go on with: uzda resume %s\n", id)
	}
	fmt.Fprintf(w.out, "%s tokens · %s\n", thousands(s.Usage.Total()), short(s.Cost))
}

func (a *app) contextCommand() *cobra.Command {
	return a.looks("context SESSION", "what fills the model's window in a session", "", one(0), func(ctx context.Context, w *work, args []string) error {
		id, s, err := w.load(ctx, args[0])
		if err != nil {
			return err
		}
		r, err := w.breakdown(ctx, id, s)
		if err != nil {
			return err
		}
		if w.json() {
			writeJSON(w.out, r)
			return nil
		}
		return r.WriteText(w.out, 0)
	})
}

// breakdown counts the last request of a session, calibrated by its usage.
func (w *work) breakdown(ctx context.Context, id uzda.SessionID, s *agent.State) (window.Report, error) {
	var used uzda.Usage
	tail := ""
	for e, err := range w.store.Read(ctx, id, 0) {
		if err != nil {
			return window.Report{}, fail(uzda.StorageError, "`uzda doctor` looks at the store", "%v", err)
		}
		switch b := e.Body.(type) {
		case uzda.Asked:
			tail = b.Tail
		case uzda.Said:
			used = b.Usage
		}
	}
	return window.Breakdown(uzda.Head{Model: s.Gear.Model.ID, System: s.Gear.System, Tools: s.Gear.Tools, Params: s.Gear.Params}, s.View, tail, used, s.Gear.Model), nil
}

func (a *app) costCommand() *cobra.Command {
	c := a.looks("cost [SESSION]", "what sessions used and cost: by model, agent, day and purpose", "", func(c *cobra.Command, args []string) error {
		if len(args) > 1 {
			return usage("cost takes at most one session; got %q", args)
		}
		return nil
	}, func(ctx context.Context, w *work, args []string) error {
		r := cost.NewReport(w.prices)
		ids, err := w.family(ctx, args)
		if err != nil {
			return err
		}
		for _, id := range ids {
			if err := r.Read(id, w.store.Read(ctx, id, 0)); err != nil {
				return fail(uzda.StorageError, "`uzda doctor` looks at the store", "%v", err)
			}
		}
		if w.json() {
			writeJSON(w.out, r)
			return nil
		}
		return r.WriteText(w.out, cost.ByModel, cost.ByAgent, cost.ByDay, cost.ByPurpose)
	})
	return c
}

// family is the session that args name with its descendants, or all sessions.
func (w *work) family(ctx context.Context, args []string) ([]uzda.SessionID, error) {
	l, ok := w.store.(uzda.Lister)
	root := uzda.SessionID("")
	if len(args) > 0 {
		id, _, err := w.load(ctx, args[0])
		if err != nil {
			return nil, err
		}
		root = id
		if !ok {
			return []uzda.SessionID{id}, nil
		}
	}
	parents := map[uzda.SessionID]uzda.SessionID{}
	var all []uzda.SessionID
	for info, err := range l.List(ctx) {
		if err != nil {
			return nil, fail(uzda.StorageError, "`uzda doctor` looks at the store", "%v", err)
		}
		parents[info.ID] = info.Parent
		all = append(all, info.ID)
	}
	slices.Sort(all) // a parent stands before its children
	return slices.DeleteFunc(all, func(id uzda.SessionID) bool {
		for ; root != "" && id != "" && id != root; id = parents[id] {
		}
		return root != "" && id != root
	}), nil
}

func spansOf(ctx context.Context, j uzda.Journal, ids ...uzda.SessionID) ([]trace.Span, error) {
	var js []trace.Journal
	for _, id := range ids {
		js = append(js, trace.Journal{Session: id, Events: j.Read(ctx, id, 0)})
	}
	return trace.Spans(trace.Options{}, js...)
}

func (a *app) traceCommand() *cobra.Command {
	file := ""
	c := a.looks("trace SESSION", "the trace of a session: what ran when, because of what", `Trace draws the spans of a session and of its children as a tree. With
--output-format json it prints a span a line; --file writes them to a file.`, one(0), func(ctx context.Context, w *work, args []string) error {
		ids, err := w.family(ctx, args)
		if err != nil {
			return err
		}
		spans, err := spansOf(ctx, w.store, ids...)
		if err != nil {
			return fail(uzda.StorageError, "`uzda doctor` looks at the store", "%v", err)
		}
		switch {
		case file != "":
			f, err := os.Create(file)
			if err != nil {
				return fail(uzda.ConfigError, "check the path", "%v", err)
			}
			defer f.Close()
			return trace.WriteJSONL(f, spans)
		case w.json():
			return trace.WriteJSONL(w.out, spans)
		}
		return trace.Tree(w.out, spans, trace.Drawing{ASCII: w.plainOut()})
	})
	c.Flags().StringVar(&file, "file", "", "write the spans there, a line of JSON each")
	return c
}

// plainOut says whether the terminal may lack more than ASCII.
func (a *app) plainOut() bool {
	return slices.Contains(a.env, "TERM=dumb")
}
