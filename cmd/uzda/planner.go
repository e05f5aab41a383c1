package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/agent"
	"github.com/uzda-dev/uzda/guide"
	"github.com/uzda-dev/uzda/tool/note"
	"github.com/uzda-dev/uzda/tool/todo"
	"github.com/uzda-dev/uzda/window"
)

// planner keeps the requests of a session within their budget, as the settings say.
func (w *work) planner(ctx context.Context) (agent.Planner, error) {
	p, err := w.keeper(ctx)
	if err == nil && w.cfg.Context.Compact == "off" {
		return aloud{onRequest{p}, w.summarises}, nil
	}
	return aloud{reminding{p, w.guides}, w.summarises}, err
}

// summarises tells a person who has asked for a compaction which model writes the
// summary: that may take a while.
func (w *work) summarises(model string) {
	fmt.Fprintf(w.err, "uzda: %s writes the summary …\n", safe(uzda.OneLine(model, 200)))
}

// aloud says which model a compaction waits for, if a person has asked for it.
type aloud struct {
	agent.Planner
	say func(model string)
}

// Plan plans, and says so before a model is asked first.
func (p aloud) Plan(ctx context.Context, v uzda.View) (uzda.Plan, error) {
	if side := v.Side; side != nil && v.Forced {
		var once sync.Once
		v.Side = func(ctx context.Context, m uzda.Model, req *uzda.Request) (uzda.Reply, error) {
			name := v.Model.ID
			if d, ok := m.(uzda.Describer); ok {
				name = d.Describe().ID
			}
			once.Do(func() { p.say(name) })
			return side(ctx, m, req)
		}
	}
	return p.Planner.Plan(ctx, v)
}

// reminding gives the instructions of a folder again once the result that they came
// with is put away.
type reminding struct {
	window.Planner
	guides *guide.Nested // nil: there are none
}

// Plan plans, and forgets which instructions the model has seen. Where the plan comes
// to nothing they are told twice.
func (p reminding) Plan(ctx context.Context, v uzda.View) (uzda.Plan, error) {
	plan, err := p.Planner.Plan(ctx, v)
	if err == nil && p.guides != nil && len(plan.Edits) > 0 {
		p.guides.Forget(v.Session, putAway(v, plan.Edits)...)
	}
	return plan, err
}

// putAway are the results of a view that a plan replaces.
func putAway(v uzda.View, edits []uzda.Edited) []uzda.UseID {
	left := map[uzda.UseID]bool{}
	for _, e := range v.Entries {
		for _, r := range e.Message.Results() {
			left[r.Use] = true
		}
	}
	for _, e := range edits {
		in := false
		for _, m := range v.Entries {
			in = in || m.Seq == e.From
			for _, r := range m.Message.Results() {
				if in && (!e.Only || slices.ContainsFunc(e.With, func(w uzda.Entry) bool { return w.Seq == m.Seq })) {
					left[r.Use] = false
				}
			}
			if m.Seq == e.To {
				break
			}
		}
		for _, w := range e.With { // those that it leaves as they were
			for _, r := range w.Message.Results() {
				left[r.Use] = left[r.Use] || intact(v, r)
			}
		}
	}
	var gone []uzda.UseID
	for use, stays := range left {
		if !stays {
			gone = append(gone, use)
		}
	}
	return gone
}

// intact says whether a result still says what it said in a view.
func intact(v uzda.View, r uzda.ToolResult) bool {
	for _, m := range v.Entries {
		for _, old := range m.Message.Results() {
			if old.Use == r.Use {
				return old.Blocks.String() == r.Blocks.String()
			}
		}
	}
	return false
}

// keeper is the planner of the settings, whether it may act by itself or not.
func (w *work) keeper(ctx context.Context) (window.Planner, error) {
	p := window.Planner{Last: w.cfg.Context.Keep, Pinned: w.pinned}
	name := w.cfg.Context.Model
	if name == "" {
		return p, nil
	}
	t, err := w.target(name, cmp.Or(w.summarist, "context.model, "+w.cfg.Origin("context.model")))
	if err == nil {
		p.By, err = w.ready(ctx, t)
	}
	return p, err
}

// onRequest edits only where a person asks for it, and weighs all the same.
type onRequest struct{ window.Planner }

var _ agent.Planner = onRequest{}

// Plan ends a turn whose request was refused as too long: nothing else would help.
func (p onRequest) Plan(ctx context.Context, v uzda.View) (uzda.Plan, error) {
	if v.Forced {
		return p.Planner.Plan(ctx, v)
	}
	weighed := window.Weigh(v)
	plan := uzda.Plan{Weighed: &weighed}
	if v.First && window.FixedTooLarge(weighed) {
		plan.End = window.TooLarge(weighed)
	} else if v.Refused {
		plan.End = &uzda.Ended{Outcome: uzda.Stopped, Reason: uzda.ContextExhausted, Detail: "the model refused the request as too long, and context.compact is off",
			Hint: "shorten it: `uzda compact " + string(v.Session) + "`, then `uzda resume`; or set context.compact: auto"}
	}
	return plan, nil
}

// pinned is what must survive a compaction word for word: the agent's list of what
// is to be done, and its notes. What cannot be read is left out: the model can
// still read it by its tool, and learns there why not.
func (w *work) pinned(_ context.Context, id uzda.SessionID) ([]window.Pin, error) {
	var pins []window.Pin
	if items, err := w.todo().Read(id); err == nil && len(items) > 0 {
		pins = append(pins, window.Pin{Title: "What is to be done", Text: todo.Markdown(items)})
	}
	if text, err := note.New(w.notes()).Text(id); err == nil && text != "" {
		pins = append(pins, window.Pin{Title: "Notes", Text: text})
	}
	return pins, nil
}

// silent stands for the model of a session where none may be asked.
type silent struct{ info uzda.ModelInfo }

// Describe says what the session's model is.
func (m silent) Describe() uzda.ModelInfo { return m.info }

// Stream refuses.
func (m silent) Stream(context.Context, *uzda.Request) iter.Seq2[uzda.Chunk, error] {
	return func(yield func(uzda.Chunk, error) bool) {
		yield(nil, errors.New("a dry run asks no model unless --model names one"))
	}
}

// meter adds up what a model uses where nothing else does.
type meter struct {
	uzda.Model
	info uzda.ModelInfo
	used []uzda.Usage // of each request; they come one after the other
}

// Describe says what the model is.
func (m *meter) Describe() uzda.ModelInfo { return m.info }

// Stream passes a reply on.
func (m *meter) Stream(ctx context.Context, req *uzda.Request) iter.Seq2[uzda.Chunk, error] {
	return func(yield func(uzda.Chunk, error) bool) {
		for c, err := range m.Model.Stream(ctx, req) {
			if stop, ok := c.(uzda.Stop); ok {
				m.used = append(m.used, stop.Usage)
			}
			if !yield(c, err) {
				return
			}
		}
	}
}

// cost is what that cost; nil if the price is not known.
func (m *meter) cost(prices uzda.Pricer) *uzda.Money {
	sum := uzda.Money(0)
	for _, u := range m.used {
		p, known := prices.Price(m.info.ID, u.Context())
		if !known && !m.info.Free {
			return nil
		}
		if !m.info.Free {
			sum += p.Of(u)
		}
	}
	return &sum
}
