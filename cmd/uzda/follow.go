package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/agent"
)

// followed shows a session and what happens in it, until its turn ends. It only reads:
// the session belongs to whoever runs it.
func (w *work) followed(ctx context.Context, name string, events bool) error {
	if w.cfg.OutputFormat == "json" {
		return fail(uzda.ConfigError, "--output-format stream-json prints an event a line", "--follow prints more than one JSON value")
	}
	id, s, err := w.load(ctx, name)
	if err != nil {
		return err
	}
	f := watching{work: w, id: id, state: s, from: s.Head, events: events || w.json(), names: map[uzda.UseID]string{}, since: w.now()}
	if f.events {
		f.state = &agent.State{} // from the first event on
	} else if err := f.soFar(ctx); err != nil || f.rests() {
		return err
	}
	return f.run(ctx)
}

// watching is a look at a session while it goes on.
type watching struct {
	*work
	id     uzda.SessionID
	state  *agent.State
	from   uzda.Seq              // where the session was when the look began
	events bool                  // are shown as they are
	names  map[uzda.UseID]string // of the tools of uses
	since  time.Time             // of the last event
	told   time.Time             // when a line last said that there was none
	alone  int                   // seconds that nobody has run it
	// answered says that the last event is an answer, which somebody will take up.
	answered bool
}

// rests says whether nothing is to be done: no turn runs, and no message waits.
func (f *watching) rests() bool {
	return f.state.ReadOnly != "" || f.state.Turn.Seq == 0 && len(f.state.Inbox) == 0
}

// soFar prints the transcript.
func (f *watching) soFar(ctx context.Context) error {
	if f.rests() {
		if err := f.transcript(ctx, f.id, f.state); err != nil {
			return err
		}
		fmt.Fprintln(f.err, "The session is at rest: there is nothing to follow.")
		return nil
	}
	for _, e := range f.state.View {
		for _, u := range e.Message.Uses() {
			f.names[u.ID] = u.Name
		}
	}
	err := f.saidSoFar(ctx, f.id, f.state)
	if err == nil && f.state.Parked != nil {
		f.parked(ctx)
	}
	return err
}

// run shows events until the turn ends. A line says every half minute that nothing
// was recorded.
func (f *watching) run(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	type read struct {
		e   uzda.Event
		err error
	}
	reads := make(chan read)
	host := f.host(nil)
	go func() {
		defer close(reads)
		for e, err := range host.Watch(ctx, f.id, f.state.Head) {
			select {
			case reads <- read{e, err}:
			case <-ctx.Done():
				return
			}
		}
	}()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			if f.stopped(ctx) {
				return nil
			}
		case r, ok := <-reads:
			switch {
			case !ok || ctx.Err() != nil:
				return f.left()
			case r.err != nil:
				return fail(uzda.StorageError, "`uzda doctor` looks at the store", "%v", r.err)
			case r.e.Seq == 0: // a delta: what it belongs to comes whole
				continue
			}
			f.since, f.told, f.alone = f.now(), time.Time{}, 0
			if f.show(ctx, r.e); f.state.Head >= f.from && f.rests() {
				if !f.events {
					f.standing(ctx, f.id, f.state)
				}
				return nil
			}
		}
	}
}

// quiet is how long nothing may be recorded before a line says so.
const quiet = 30 * time.Second

// A holding store says who runs a session.
type holding interface {
	Held(ctx context.Context, id uzda.SessionID) (*uzda.Busy, error)
}

// runs says who runs the session now, "" if nobody does; known is false where the
// store cannot say.
func (w *work) runs(ctx context.Context, id uzda.SessionID) (who string, known bool) {
	h, ok := w.store.(holding)
	if !ok {
		return "", false
	}
	switch busy, err := h.Held(ctx, id); {
	case err != nil:
		return "", false
	case busy == nil:
		return "", true
	default:
		return safe(busy.Holder), true
	}
}

// stopped looks, each second that nothing is recorded, whether anything can still
// come, and says from time to time for what the session waits.
func (f *watching) stopped(ctx context.Context) bool {
	who, waits := "", f.state.Parked != nil
	if !waits && f.state.Head >= f.from {
		by, known := f.runs(ctx, f.id)
		if who = by; known && by == "" {
			f.alone++
		} else {
			f.alone = 0
		}
	}
	const sure = 3 // seconds: between a message and the run that takes it up nobody has the session
	switch {
	case f.alone < sure:
	case f.answered:
		if f.alone == sure {
			fmt.Fprintf(f.err, "     it is answered, and no program runs it now: uzda resume %s\n", f.id)
		}
	default:
		fmt.Fprintf(f.err, "It is in the middle of a turn, and no program runs it now. To go on: uzda resume %s\n", f.id)
		return true
	}
	now := f.now()
	pause := quiet
	if waits { // for a person: at 30 s, 1 min, 2 min, 4 min ...
		pause = max(quiet, f.told.Sub(f.since))
	}
	if now.Sub(f.since) < quiet || now.Sub(f.told) < pause {
		return false
	}
	f.told = now
	long := now.Sub(f.since).Round(time.Second)
	switch {
	case waits:
		fmt.Fprintf(f.err, "     still waiting for %s (%s)\n", waitsFor(f.state.Parked.On), long)
	case who != "":
		fmt.Fprintf(f.err, "     nothing new for %s; it is run by %s\n", long, who)
	default:
		fmt.Fprintf(f.err, "     nothing new for %s; if no program runs it any more: uzda resume %s\n", long, f.id)
	}
	return false
}

// waitsFor says for what a parked session waits.
func waitsFor(on uzda.Reason) string {
	switch on {
	case uzda.WaitApproval:
		return "your approval"
	case uzda.WaitQuestion:
		return "your answer"
	case uzda.WaitChild:
		return "a session that it began"
	case uzda.WaitTimer:
		return "its time"
	}
	return "a result"
}

// left ends the showing, because somebody wanted it or whoever read it has gone.
func (f *watching) left() error {
	if f.signals.Err() != nil && !errors.Is(context.Cause(f.signals), errGone) {
		fmt.Fprintf(f.err, "no longer shown; it goes on: uzda show %s --follow\n", f.id)
		return &exit{code: uzda.CancelledByUser.Exit()}
	}
	return nil
}

// show shows an event and takes it in.
func (f *watching) show(ctx context.Context, e uzda.Event) {
	f.state.Fold(e)
	_, f.answered = e.Body.(uzda.Answered)
	if f.events {
		if line, ok := jsonOf(e); ok {
			writeJSON(f.out, line)
		}
		return
	}
	switch b := e.Body.(type) {
	case uzda.Posted:
		f.say(uzda.Message{Role: uzda.User, Blocks: b.Blocks})
	case uzda.Said:
		m := b.Message
		m.Blocks = slices.Clone(m.Blocks)
		for i := range m.Blocks {
			if u, ok := m.Blocks[i].(uzda.ToolUse); ok && u.ID == "" {
				u.ID = uzda.UseID(fmt.Sprintf("%d.%d", e.Seq, f.use(m, i)))
				m.Blocks[i] = u
			}
		}
		f.say(m)
	case uzda.Returned:
		if b.Pending == nil {
			f.say(uzda.Message{Role: uzda.User, Blocks: uzda.Blocks{b.Result}})
		}
	case uzda.Delivered:
		f.say(uzda.Message{Role: uzda.User, Blocks: uzda.Blocks{b.Result}})
	case uzda.Broken:
		f.put("error", "the reply did not come: "+b.Error)
	case uzda.Answered:
		f.put("answer", fmt.Sprintf("[%s] %s by %s", b.Use, b.Verdict.Decision, cmp.Or(b.By, "somebody")))
		fmt.Fprintln(f.out)
	case uzda.Edited:
		f.put("edit", edited(editOf(e.Seq, b, forgets(f.state.Gear.Tools))))
	case uzda.Noted:
		f.put("note", b.By+": "+b.Text)
	case uzda.Cancelled:
		f.put("cancel", b.Why)
	case uzda.Parked:
		f.parked(ctx)
	}
}

// use is the place of a block among the uses of a message, from 1.
func (f *watching) use(m uzda.Message, block int) (n int) {
	for _, b := range m.Blocks[:block+1] {
		if _, ok := b.(uzda.ToolUse); ok {
			n++
		}
	}
	return n
}

func (f *watching) say(m uzda.Message) {
	f.printed(m, f.names)
	fmt.Fprintln(f.out)
}

// parked says what the session waits for.
func (f *watching) parked(ctx context.Context) {
	if f.events {
		return
	}
	waits := pendingIn(ctx, f.store, f.id, "", f.state)
	for _, p := range waits {
		fmt.Fprint(f.out, f.waiting(f.id, f.state.Opened.Dir, p, true, paint{true}))
	}
	if len(waits) == 0 && f.state.Parked != nil {
		f.put("waits", string(f.state.Parked.On))
	}
	fmt.Fprintln(f.out)
}
