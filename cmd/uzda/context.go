package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/agent"
	"github.com/uzda-dev/uzda/window"
)

func (a *app) contextCommand() *cobra.Command {
	return a.looks("context SESSION", "what fills the model's window in a session", `Context draws what fills the model's window: a grid of a hundred cells, each a
hundredth of the budget, with a line for each item, what would help, how the
beginning of the requests changed, which a cache must read anew, and what was
taken out. With --output-format json all of it is one object.`, one(0), func(ctx context.Context, w *work, args []string) error {
		id, s, err := w.load(ctx, args[0])
		if err != nil {
			return err
		}
		r, err := w.filled(ctx, id, s)
		if err != nil {
			return err
		}
		if w.json() {
			writeJSON(w.out, r)
			return nil
		}
		return r.write(w.out, window.Drawing{Width: w.width, Colour: w.out.tty && !w.plain, ASCII: w.plainOut()})
	})
}

// contextJSON is what fills the window of a session.
type contextJSON struct {
	uzda.Weighed
	Advice []window.Advice `json:"advice"`
	Prefix []window.Change `json:"prefix"` // what a provider's cache had to read anew, and why
	Edits  []editJSON      `json:"edits"`

	changes string // in a line
}

// filled weighs the last request of a session, with what has joined since.
func (w *work) filled(ctx context.Context, id uzda.SessionID, s *agent.State) (contextJSON, error) {
	r := contextJSON{Advice: []window.Advice{}, Prefix: []window.Change{}}
	ask, tail := 0, ""
	prefix := window.Prefix{Prices: w.prices}
	for e, err := range w.store.Read(ctx, id, 0) {
		if err != nil {
			return r, fail(uzda.StorageError, "`uzda doctor` looks at the store", "%v", err)
		}
		prefix.Event(e)
		if b, ok := e.Body.(uzda.Asked); ok {
			ask, tail = b.Ordinal, b.Tail
		}
	}
	v := s.Window(id, ask, tail)
	r.Weighed = window.Weigh(v)
	r.Advice = append(r.Advice, window.Advise(v, r.Weighed)...)
	r.Prefix = append(r.Prefix, prefix.Changes()...)
	r.changes, _, _ = strings.Cut(prefix.Text(), "\n")
	var err error
	r.Edits, err = w.edits(ctx, id, s, 0)
	return r, err
}

// write draws it for a person.
func (r contextJSON) write(out io.Writer, o window.Drawing) error {
	o.Advice = r.Advice
	if err := window.Draw(out, r.Weighed, o); err != nil {
		return err
	}
	fmt.Fprintln(out)
	numbered(out, o.Width, "", r.changes)
	for _, c := range r.Prefix {
		numbered(out, o.Width, fmt.Sprintf("%5d  ", c.Seq), c.String())
	}
	if len(r.Edits) > 0 {
		fmt.Fprintln(out, "\nEdits")
	}
	for _, e := range r.Edits {
		gone := ""
		if e.Undone {
			gone = " (taken back)"
		}
		numbered(out, o.Width, fmt.Sprintf("%5d  ", e.Seq), edited(e)+gone)
	}
	return nil
}

// numbered writes a text beside the number of its event, in lines that fit.
func numbered(out io.Writer, width int, number, text string) {
	for _, l := range wrap(safe(text), max(cmp.Or(width, 80)-len(number), 33)) {
		fmt.Fprintln(out, number+l)
		number = strings.Repeat(" ", len(number))
	}
}
