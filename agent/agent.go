package agent

import (
	"context"
	"encoding/json"
	"log/slog"
	"time"

	"github.com/uzda-dev/uzda"
)

// An Agent is what a session runs with: a model, what it is told, what it may
// use and within which bounds. Its fields must not change while it runs.
type Agent struct {
	Model  uzda.Model  // required
	System string      // system prompt
	Tools  []uzda.Tool // names must differ
	Gates  []uzda.Gate // the strictest verdict wins; none: all that is valid is allowed
	Params uzda.Params
	Limits uzda.Limits // of a turn; zero fields are the defaults

	Mode       string   // permission mode, for gates and for people
	Unattended bool     // nobody can be asked: what would ask is denied
	Planner    Planner  // nil: the view is edited by people only
	Budget     int      // tokens that requests are to stay under, for the planner; 0: the window, at most 320,000
	Verify     Verifier // nil: the end is not checked
	MayBeMute  bool     // an empty reply is an answer
}

// A Planner proposes edits of what the model sees. It is asked beside the loop
// before the first request of a turn, before each that is near the budget, and
// after one that the provider refused as too long. Its edits are journalled before
// they count; one that may not be made is left out. It must be safe for concurrent
// use by several sessions.
type Planner interface {
	Plan(ctx context.Context, v uzda.View) (uzda.Plan, error)
}

// A Slow gate needs I/O: it is asked beside the loop, and the outcome of
// something else never waits for it. Tools that preview are always treated so.
type Slow interface{ Slow() }

// A Resumer is a tool whose lost use runs again whatever its effects: by the use's
// key it finds what it began.
type Resumer interface{ Resumes() }

// A Runner runs sessions of one agent on a store; safe for concurrent use. The
// zero values of optional fields are useful.
type Runner struct {
	Agent
	Store  uzda.Store    // required; also used as Ledger, Blobs and Keeper where it is one
	Prices uzda.Pricer   // nil: no price is known
	Redact uzda.Redactor // nil: nothing is hidden
	Holder string        // who runs, for session_busy
	Log    *slog.Logger  // nil: silent

	Now   func() time.Time // default time.Now
	Poll  time.Duration    // how often the inbox of other processes is read; default 100 ms
	Renew time.Duration    // how often the lease is renewed; default 4 s
	Grace time.Duration    // what a cancelled effect gets to end; default 1 s

	// Events sees what the journal holds, in order, after it is durable, and
	// transient events in between. It must be quick and safe for concurrent use.
	Events func(id uzda.SessionID, evs ...uzda.Event)
	// Watched says whether somebody sees the transient events of a session right
	// now; nil: somebody may. Where nobody does, none are made.
	Watched func(id uzda.SessionID) bool
	// Folded sees the live state after each append; for tests.
	Folded func(*State)

	strays strays // tools that were abandoned and still work
}

// Close waits up to 5 seconds for tools that were abandoned, so that they can
// still report what they did. It reports whether all have ended.
func (r *Runner) Close() bool { return r.strays.wait(5 * time.Second) }

func (r *Runner) now() time.Time {
	if r.Now != nil {
		return r.Now()
	}
	return time.Now()
}

func (r *Runner) debug(msg string, args ...any) {
	if r.Log != nil {
		r.Log.Debug(msg, args...)
	}
}

// info describes the model as far as it says what it is.
func (r *Runner) info() uzda.ModelInfo {
	if d, ok := r.Model.(uzda.Describer); ok {
		return d.Describe()
	}
	return uzda.ModelInfo{ID: "unnamed"}
}

// price returns what u costs with a model, and whether the price is known.
func (r *Runner) price(m uzda.ModelInfo, u uzda.Usage) (uzda.Money, bool) {
	if m.Free {
		return 0, true
	}
	if r.Prices == nil {
		return 0, false
	}
	p, known := r.Prices.Price(m.ID, u.Context())
	return p.Of(u), known
}

// worst is the price of the worst case: all input written to the cache, and the
// whole output used.
func (r *Runner) worst(m uzda.ModelInfo, input, output int) uzda.Money {
	if m.Free || r.Prices == nil {
		return 0
	}
	p, _ := r.Prices.Price(m.ID, input)
	in := max(p.Input, p.CacheWrite)
	return uzda.Price{Input: in, Output: p.Output}.Of(uzda.Usage{Input: input, Output: output})
}

func or[T comparable](v, d T) T {
	var zero T
	if v == zero {
		return d
	}
	return v
}

func rawJSON(v any) json.RawMessage {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err) // only for values of ours
	}
	return raw
}
