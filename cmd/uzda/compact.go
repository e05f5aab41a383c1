package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/agent"
	"github.com/uzda-dev/uzda/session"
	"github.com/uzda-dev/uzda/window"
)

// compaction is what a person wants of `uzda compact`.
type compaction struct {
	dry   bool
	undo  undone
	model string // that writes the summary; "": as the settings say
}

func (a *app) compactCommand() *cobra.Command {
	var o compaction
	c := a.looks("compact SESSION...", "make what the model sees of a session shorter", `Compact does now what else is done when a request nears its budget: old results
become short placeholders, repeated ones are left out, and if that is not enough
a summary takes the place of all but the task and the last replies. The journal
keeps everything, and the model can recall any part of it.

--dry-run changes nothing, records nothing and asks no model; with --model that
model writes the summary, which is shown with the facts that it lost. It takes
several sessions, so that a model or a prompt can be measured on them. --undo
takes back the last edit that still stands, or with --undo=SEQ that one.

It exits with 0 if something was done, and if there was nothing to do; with 1 if
all that was tried came to nothing; with 2 if it cannot be done: no such session
or edit, a call that waits, a model that is not there; with 11 if the session is
at work elsewhere, with 130 if it was cancelled.`,
		func(c *cobra.Command, args []string) error {
			if len(args) > 1 && o.undo.given {
				return fail(uzda.ConfigError, "an edit is named like this: --undo=SEQ", "%s --undo takes one session; got %q", c.CommandPath(), args)
			}
			if len(args) > 1 && !o.dry {
				return fail(uzda.ConfigError, "several can be looked at with --dry-run", "%s takes one session; got %q", c.CommandPath(), args)
			}
			return one(len(args))(c, args)
		}, func(ctx context.Context, w *work, args []string) error {
			switch {
			case o.undo.given && (o.dry || o.model != ""):
				return usage("--undo goes with neither --dry-run nor --model")
			case o.undo.given:
				return w.undoEdit(ctx, args[0], o.undo.seq)
			case len(args) > 1:
				return w.measure(ctx, args, o)
			}
			r, err := w.compact(ctx, args[0], o)
			if err != nil {
				return err
			}
			return w.compacted(r)
		})
	c.Example = "  uzda compact ID --dry-run\n  uzda compact ID\n  uzda compact ID --undo"
	c.Flags().BoolVar(&o.dry, "dry-run", false, "only show what would be done")
	c.Flags().Var(named{&o.model, "MODEL"}, "model", "the model that writes the summary, in place of context.model")
	c.Flags().Var(&o.undo, "undo", "take an edit back")
	c.Flags().Lookup("undo").NoOptDefVal = "the last"
	return flags(c, "dir", "add-dir", "db", "agent", "context-budget")
}

// undone is the flag that names an edit, or the last.
type undone struct {
	given bool
	seq   uzda.Seq // 0: the last
}

func (u *undone) String() string { return "" }
func (u *undone) Type() string   { return "SEQ" }
func (u *undone) Set(text string) error {
	u.given = true
	if text == "the last" {
		return nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 1 {
		return errors.New("want the number of an edit; `uzda context ID` lists them")
	}
	u.seq = uzda.Seq(n)
	return nil
}

// named is a flag that holds a text.
type named struct {
	text *string
	kind string
}

func (n named) String() string        { return *n.text }
func (n named) Type() string          { return n.kind }
func (n named) Set(text string) error { *n.text = text; return nil }

// compactJSON is what `uzda compact` prints with --output-format json.
type compactJSON struct {
	Session  uzda.SessionID `json:"session"`
	DryRun   bool           `json:"dry_run"`
	Before   int            `json:"before"` // tokens of the next request
	After    int            `json:"after"`
	Edits    []editJSON     `json:"edits"`
	Missed   []uzda.Missed  `json:"missed"` // what was tried in vain
	Facts    int            `json:"facts"`
	Lost     int            `json:"lost"` // by the summary
	Restored int            `json:"restored"`
	Requests int            `json:"requests"` // to a model
	Cost     *uzda.Money    `json:"cost_usd"` // of them; null: a price is not known
	Exit     int            `json:"exit"`
	Error    *errorJSON     `json:"error"`

	forgets bool // the model cannot recall what was put away
}

// aboutSession names the session in an error that says nothing of one.
func aboutSession(id uzda.SessionID, err error) error {
	var e *exit
	if !errors.As(err, &e) || e.outcome == nil || e.outcome.Session != "" {
		return err
	}
	o := *e.outcome
	o.Session = id
	return &exit{e.code, &o}
}

// compact makes a session shorter, or shows how it would.
func (w *work) compact(ctx context.Context, name string, o compaction) (*compactJSON, error) {
	id, s, err := w.load(ctx, name)
	if err != nil {
		return nil, err
	}
	r, err := w.compactIn(ctx, id, s, o)
	return r, aboutSession(id, err)
}

func (w *work) compactIn(ctx context.Context, id uzda.SessionID, s *agent.State, o compaction) (*compactJSON, error) {
	if !o.dry {
		if err := w.sound(ctx, id, s); err != nil {
			return nil, err
		}
	}
	if err := w.rests(ctx, id, s); err != nil {
		return nil, err
	}
	if o.model != "" {
		w.cfg.Context.Model, w.summarist = o.model, "flag --model"
	}
	w.cfg.Context.Budget = cmp.Or(w.cfg.Context.Budget, s.Gear.Budget) // as the session had it
	if o.dry && o.model == "" {
		w.cfg.Context.Model = ""
	}
	p, err := w.keeper(ctx)
	if err != nil {
		return nil, err
	}
	switch {
	case o.dry:
		return w.try(ctx, id, s, p)
	case p.By != nil:
		return w.compactBy(ctx, w.bare(s, p), id, s)
	}
	agents, _, err := w.agents(ctx, s)
	if err != nil {
		return nil, err
	}
	return w.compactBy(ctx, w.host(agents), id, s)
}

// bare is a host of an agent that only shortens a session. It needs no model but the
// one that writes the summary, if there is one, and none of the agent's tools.
func (w *work) bare(s *agent.State, p window.Planner) *session.Host {
	return w.host(map[string]agent.Agent{s.Opened.Agent: {Model: silent{s.Gear.Model}, Params: s.Gear.Params, System: s.Gear.System,
		Limits: w.cfg.Limits, Planner: aloud{p, w.summarises}, Budget: w.cfg.Context.Budget}})
}

// rests says why a session cannot be edited now.
func (w *work) rests(ctx context.Context, id uzda.SessionID, s *agent.State) error {
	epoch, err := w.store.Acquire(ctx, id, holder())
	if err == nil {
		err = w.store.Release(ctx, id, epoch)
	}
	switch {
	case err != nil: // it is at work somewhere
		return failed(id, err)
	case s.Gear.Model.ID == "":
		return fail(uzda.ConfigError, "there is nothing to make shorter", "session %s has sent no request yet", id)
	case len(s.Waits()) > 0:
		return fail(uzda.ConfigError, "answer it first: `uzda show "+string(id)+"` says how", "session %s waits for an answer to a call", id)
	case len(s.Uses) > 0 || s.Ask != nil:
		return fail(uzda.ConfigError, "let it go on first: `uzda resume "+string(id)+"`", "session %s is in the middle of a step", id)
	}
	return nil
}

// try compacts a session without recording anything.
func (w *work) try(ctx context.Context, id uzda.SessionID, s *agent.State, p window.Planner) (*compactJSON, error) {
	asks := p.By != nil
	paid := &meter{Model: p.By}
	if d, ok := p.By.(uzda.Describer); ok {
		paid.info = d.Describe()
	}
	if asks {
		p.By = paid
	}
	plan, err := w.bare(s, p).Compact(ctx, id, agent.Compaction{DryRun: true, Ask: asks})
	if err != nil {
		return nil, failed(id, err)
	}
	r := &compactJSON{Session: id, DryRun: true, Edits: []editJSON{}, Cost: paid.cost(w.prices), forgets: forgets(s.Gear.Tools)}
	for _, e := range plan.Edits {
		j := editOf(0, e, r.forgets)
		j.Text = placed(e)
		r.Edits = append(r.Edits, j)
	}
	r.sum(plan)
	return r, nil
}

// compactBy lets a host shorten a session, and tells what came of it.
func (w *work) compactBy(ctx context.Context, h *session.Host, id uzda.SessionID, s *agent.State) (*compactJSON, error) {
	plan, err := h.Compact(ctx, id, session.Compaction{})
	if err != nil {
		return nil, failed(id, err)
	}
	r := &compactJSON{Session: id}
	if r.Edits, err = w.edits(ctx, id, s, s.Head); err != nil {
		return nil, err
	}
	r.sum(plan)
	if r.Requests, r.Cost, err = w.asideSince(ctx, id, s.Head); err != nil {
		return nil, err
	}
	if len(r.Edits) == 0 && r.Requests > 0 && len(r.Missed) > 0 && r.Error == nil {
		r.Exit = uzda.ToolError.Exit()
		r.Error = &errorJSON{uzda.ToolError, "nothing was done: " + r.Missed[0].What + ": " + r.Missed[0].Why, "the session is as it was"}
	}
	return r, nil
}

// asideSince counts what was asked beside a session after an event, with its cost;
// nil if a price is not known.
func (w *work) asideSince(ctx context.Context, id uzda.SessionID, after uzda.Seq) (n int, cost *uzda.Money, err error) {
	cost = new(uzda.Money)
	for e, err := range w.store.Read(ctx, id, after) {
		if err != nil {
			return 0, nil, fail(uzda.StorageError, "`uzda doctor` looks at the store", "%v", err)
		}
		b, ok := e.Body.(uzda.Used)
		switch {
		case !ok:
			continue
		case b.Unknown:
			cost = nil
		case cost != nil:
			*cost += b.Cost
		}
		n++
	}
	return n, cost, nil
}

// sum takes over what a plan says of itself and of its edits.
func (r *compactJSON) sum(plan uzda.Plan) {
	r.Missed = append([]uzda.Missed{}, plan.Missed...)
	if e := plan.End; e != nil {
		r.Exit, r.Error = e.Reason.Exit(), &errorJSON{e.Reason, e.Detail, e.Hint}
	}
	if plan.Weighed != nil {
		r.Before, r.After = plan.Weighed.Total, plan.Weighed.Total
	}
	first := true
	for _, e := range r.Edits {
		s := e.Saving
		if s == nil {
			continue
		}
		if first {
			r.Before, first = s.Before, false
		}
		r.After = s.After
		r.Facts, r.Lost, r.Restored = r.Facts+s.Facts, r.Lost+s.Lost, r.Restored+s.Restored
		r.Requests += s.Requests
	}
}

// placed is the text that a summary puts in place of messages; that of placeholders
// is of no interest.
func placed(e uzda.Edited) string {
	if e.What != uzda.MoveCompact && e.What != uzda.MoveHandover || len(e.With) == 0 {
		return ""
	}
	return e.With[0].Message.Blocks.String()
}

// compacted prints what a compaction came to.
func (w *work) compacted(r *compactJSON) error {
	if w.json() {
		writeJSON(w.out, r)
	} else if r.Error == nil {
		r.write(w.out, w.outWidth())
	} else {
		r.write(w.err, w.width)
	}
	if r.Error == nil {
		return nil
	}
	fmt.Fprintf(w.err, "uzda: %s: %s\n      %s\n", r.Error.Code, safeLines(r.Error.Message), safeLines(r.Error.Hint))
	return &exit{code: r.Exit}
}

// write prints a compaction for a person, in lines of a width; 0: as long as they are.
func (r *compactJSON) write(out io.Writer, width int) {
	if width < 40 {
		width = 1 << 16
	}
	line := func(what, text string) { numbered(out, width, pad(what, 10), text) }
	for _, e := range r.Edits {
		line(e.What, told(e))
		if e.Text != "" {
			fmt.Fprintln(out, "\n  "+strings.ReplaceAll(strings.TrimSpace(safeLines(e.Text)), "\n", "\n  ")+"\n")
		}
	}
	for _, m := range r.Missed {
		line(m.What, "not made: "+m.Why)
	}
	cost := ""
	if r.Requests > 0 {
		cost = " (" + spent(r.Requests, r.Cost) + ")"
	}
	switch {
	case len(r.Edits) == 0 && r.Error == nil:
		fmt.Fprintf(out, "Nothing was done: the next request has %s tokens%s.\n", thousands(r.Before), cost)
	case len(r.Edits) > 0 && r.DryRun:
		fmt.Fprintf(out, "It would go from %s to %s tokens%s; nothing was changed.\n", thousands(r.Before), thousands(r.After), cost)
	case len(r.Edits) > 0:
		fmt.Fprintf(out, "%s → %s tokens%s; to take it back: uzda compact %s --undo\n", thousands(r.Before), thousands(r.After), cost, r.Session)
	}
}

// undoEdit takes back an edit of what the model sees.
func (w *work) undoEdit(ctx context.Context, name string, seq uzda.Seq) error {
	id, s, err := w.load(ctx, name)
	if err != nil {
		return err
	}
	return aboutSession(id, w.undoIn(ctx, id, s, seq))
}

func (w *work) undoIn(ctx context.Context, id uzda.SessionID, s *agent.State, seq uzda.Seq) error {
	if err := w.sound(ctx, id, s); err != nil {
		return err
	}
	if seq == 0 {
		if seq = standing(s); seq == 0 {
			return fail(uzda.ConfigError, "`uzda context "+string(id)+"` lists edits", "session %s has no edit that stands", id)
		}
	}
	if err := w.rests(ctx, id, s); err != nil {
		return err
	}
	e, err := agent.Undo(ctx, w.store, id, seq)
	if err != nil {
		return fail(uzda.ConfigError, "`uzda context "+string(id)+"` lists edits", "%v", err)
	}
	e.By = person()
	if err := s.CanEdit(e); err != nil {
		return fail(uzda.ConfigError, "`uzda show "+string(id)+"` says where it stands", "%v", err)
	}
	at, err := w.host(nil).Post(ctx, id, e)
	if err != nil {
		return failed(id, err)
	}
	made, err := w.edits(ctx, id, s, at-1)
	if err != nil {
		return err
	}
	if w.json() {
		writeJSON(w.out, map[string]any{"session": id, "undone": seq, "edits": made, "exit": 0, "error": nil})
		return nil
	}
	fmt.Fprintf(w.out, "Edit %d is taken back: the model sees what it replaced again.\n", seq)
	return nil
}

// outWidth is how wide lines on standard output may be; 0 where nobody looks.
func (a *app) outWidth() int {
	if a.out.tty {
		return a.width
	}
	return 0
}
