package cost

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/uzda-dev/uzda"
)

// Purposes of paid calls. What else [uzda.Used] names is a purpose too.
const (
	Reply  = "reply"  // it joined the view
	Broken = "broken" // it was cut, or never came
	Retry  = "retry"  // an attempt that was given up after tokens were used
	Lost   = "lost"   // asked, and nothing came back: a crash, or still under way
	Verify = "verify" // a check of the end
	Child  = "child"  // a child's session whose journal was not read
)

// A Dimension is what a report is broken down by.
type Dimension string

// The dimensions. A day is one of UTC.
const (
	ByModel   Dimension = "model"
	ByAgent   Dimension = "agent"
	ByDay     Dimension = "day"
	ByPurpose Dimension = "purpose"
	BySession Dimension = "session"
	// ByStep is each ask of a session, in their order, as "SESSION STEP"; what is paid
	// between two belongs to the one before. It is no part of [Dimensions]: there are many.
	ByStep Dimension = "step"
)

// Dimensions returns all of them but ByStep, in the order in which they are shown.
func Dimensions() []Dimension { return []Dimension{ByModel, ByAgent, ByDay, ByPurpose, BySession} }

// A Report adds up what sessions cost, from their journals. Costs are those that
// were recorded; prices only say what caching saved, and whether the price of a
// reply that broke was known. Not safe for concurrent use.
type Report struct {
	prices   uzda.Pricer
	sessions map[uzda.SessionID]*session
	calls    []call
}

// NewReport returns an empty report; with nil it uses [Default] prices.
func NewReport(prices uzda.Pricer) *Report {
	if prices == nil {
		prices = Default()
	}
	return &Report{prices: prices, sessions: map[uzda.SessionID]*session{}}
}

// call is a paid call, or a hold in its place.
type call struct {
	session    uzda.SessionID
	agent      string
	model      string
	day        string
	purpose    string
	usage      uzda.Usage
	cost       uzda.Money
	unknown    bool // cost is at the dearest known price
	bound      bool // cost is at least this
	free       bool
	saved      uzda.Money
	held       uzda.Money
	heldTokens int
	unsplit    int
	step       int // of its session, from 1
}

// session is what the fold of one journal must remember.
type session struct {
	id       uzda.SessionID
	seq      uzda.Seq
	agent    string
	parent   uzda.SessionID
	use      uzda.UseID
	model    string // of the last Equipped
	free     bool
	unknown  map[string]bool // models whose price was not known at a reply
	ask      *call
	open     map[uzda.UseID]bool // uses without a result; true once started
	children map[uzda.UseID]call
	steps    int
	tools    int
	active   time.Duration
}

// Read folds one journal into the report. An error of the journal is returned;
// what was read before it counts.
func (r *Report) Read(id uzda.SessionID, events iter.Seq2[uzda.Event, error]) error {
	for e, err := range events {
		if err != nil {
			return fmt.Errorf("read the costs of session %s: %w", id, err)
		}
		r.Event(id, e)
	}
	return nil
}

// Event folds one event; events of a session come in order, those of several
// sessions may be mixed. One that was seen before, and a transient one, is
// ignored, so that a report can follow a session.
func (r *Report) Event(id uzda.SessionID, e uzda.Event) {
	s := r.sessions[id]
	if s == nil {
		s = &session{id: id, unknown: map[string]bool{}, open: map[uzda.UseID]bool{}, children: map[uzda.UseID]call{}}
		r.sessions[id] = s
	}
	if e.Seq <= s.seq {
		return
	}
	s.seq = e.Seq
	c := call{session: id, agent: s.agent, model: s.model, day: e.At.UTC().Format(time.DateOnly), free: s.free, step: s.steps}
	switch b := e.Body.(type) {
	case uzda.Opened:
		s.agent, s.parent, s.use = b.Agent, b.Parent, b.Use
	case uzda.Equipped:
		s.model, s.free = b.Model.ID, b.Model.Free
	case uzda.Asked:
		s.lose(r)
		if b.Model != "" && b.Model != s.model {
			c.model, c.free = b.Model, local(b.Model)
		}
		c.purpose, c.held, c.heldTokens, c.bound = Lost, b.Hold.Amount, b.Tokens, true
		s.steps++
		c.step = s.steps
		s.ask = &c
	case uzda.Ended:
		s.lose(r)
	case uzda.Tried:
		s.tried(b)
	case uzda.Said:
		c = s.asked(c, Reply)
		s.said(e.Seq, b)
		c.usage, c.cost, c.unknown = b.Usage, b.Cost, b.Unknown
		s.unknown[c.model] = b.Unknown
		s.active += b.Active
		r.paid(c)
	case uzda.Broken:
		c = s.asked(c, Broken)
		c.usage, c.cost, c.bound = b.Usage, b.Cost, !rejected(b)
		c.usage.AtLeast = c.bound
		s.active += b.Active
		r.priced(s, c)
	case uzda.Used:
		if b.Model != "" && b.Model != c.model {
			c.model, c.free = b.Model, local(b.Model)
		}
		c.purpose, c.usage, c.cost, c.unknown = cmp.Or(b.For, "other"), b.Usage, b.Cost, b.Unknown
		c.bound = b.For == Retry
		s.active += b.Active
		r.paid(c)
	case uzda.Verified:
		s.active += b.Active
		if b.Usage == (uzda.Usage{}) && b.Cost == 0 {
			return // a command, not a model
		}
		c.purpose, c.usage, c.cost = Verify, b.Usage, b.Cost
		r.priced(s, c)
	case uzda.Started, uzda.Returned, uzda.Delivered:
		s.ran(c, e.Body)
	}
}

// asked returns the open ask as a call that came back, or c where the journal
// has no ask for it.
func (s *session) asked(c call, purpose string) call {
	if s.ask != nil {
		c.model, c.free = s.ask.model, s.ask.free
		s.ask = nil
	}
	c.purpose = purpose
	return c
}

// lose turns an ask that never came back into what it holds.
func (s *session) lose(r *Report) {
	if s.ask != nil {
		r.calls = append(r.calls, *s.ask)
		s.ask = nil
	}
}

// said opens the uses of a reply that joined the view.
func (s *session) said(seq uzda.Seq, b uzda.Said) {
	if b.Stop == uzda.StopRefusal {
		return
	}
	for i, u := range b.Message.Uses() {
		if u.ID == "" {
			u.ID = uzda.UseID(fmt.Sprintf("%d.%d", seq, i+1))
		}
		s.open[u.ID] = false
	}
}

// ran counts tool calls: what started, and what was refused before it did. It
// also keeps what children spent.
func (s *session) ran(c call, body uzda.Body) {
	switch b := body.(type) {
	case uzda.Started:
		if started, open := s.open[b.Use]; open && !started {
			s.open[b.Use] = true
			s.tools++
		}
	case uzda.Returned:
		s.active += b.Active
		started, open := s.open[b.Result.Use]
		if b.Pending != nil || !open {
			return
		}
		if !started && b.Result.Code != uzda.CodeNotStarted {
			s.tools++
		}
		delete(s.open, b.Result.Use)
	case uzda.Delivered:
		if !s.open[b.Result.Use] {
			return
		}
		delete(s.open, b.Result.Use)
		if b.Spent.Tokens != 0 || b.Spent.Cost != 0 {
			c.purpose, c.model, c.agent = Child, "", "" // which, its own journal knows
			c.cost, c.unsplit, c.bound, c.free = b.Spent.Cost, b.Spent.Tokens, true, false
			s.children[b.Result.Use] = c
		}
	}
}

// tried notices that another model answers the open ask. What the attempt before
// it used is an [uzda.Used] of its own.
func (s *session) tried(b uzda.Tried) {
	if to := b.Attempt.Model; b.Use == "" && to != "" && s.ask != nil && to != s.ask.model {
		s.ask.model, s.ask.free = to, local(to)
	}
}

// priced records a call whose event does not say whether its price was known.
func (r *Report) priced(s *session, c call) {
	unknown, asked := s.unknown[c.model]
	if !asked {
		_, known := r.prices.Price(c.model, 0)
		unknown = !known
	}
	c.unknown = unknown && !c.free && c.usage.Total() > 0
	r.paid(c)
}

func (r *Report) paid(c call) {
	c.bound = c.bound || c.usage.AtLeast
	if c.free = c.free && c.cost == 0; c.free {
		c.unknown = false
	} else if u := c.usage; u.CacheRead+u.CacheWrite+u.CacheLong > 0 {
		if p, known := r.prices.Price(c.model, u.Context()); known {
			c.saved = p.Of(uzda.Usage{Input: u.Context()}) -
				p.Of(uzda.Usage{Input: u.Input, CacheRead: u.CacheRead, CacheWrite: u.CacheWrite, CacheLong: u.CacheLong})
		}
	}
	r.calls = append(r.calls, c)
}

// rejected says that a provider refused a request before it used anything. Any
// other reply that broke has used at least what its usage says.
func rejected(b uzda.Broken) bool {
	if b.Text != "" || b.Usage.Total() != 0 || b.Cost != 0 {
		return false
	}
	switch b.Code {
	case "overloaded", "rate_limit", "quota", "auth", "not_found", "invalid_request", "context":
		return true
	}
	return false
}

// local says of a model that was not equipped whether it costs nothing.
func local(model string) bool { return Default().Free(model) }

// all yields the calls, the asks that are open, and the children whose journals
// were not read.
func (r *Report) all() iter.Seq[call] {
	return func(yield func(call) bool) {
		for _, c := range r.calls {
			if !yield(c) {
				return
			}
		}
		read := map[[2]string]bool{}
		for _, s := range r.sessions {
			read[[2]string{string(s.parent), string(s.use)}] = true
		}
		for _, id := range slices.Sorted(maps.Keys(r.sessions)) {
			s := r.sessions[id]
			if s.ask != nil && !yield(*s.ask) {
				return
			}
			for _, use := range slices.Sorted(maps.Keys(s.children)) {
				if !read[[2]string{string(id), string(use)}] && !yield(s.children[use]) {
					return
				}
			}
		}
	}
}

// Total adds up everything.
func (r *Report) Total() Line {
	l := Line{Key: "total"}
	for c := range r.all() {
		l.add(c)
	}
	return l
}

// By returns a line for each value of a dimension. Their sum is the total. Days
// and steps are in order, others begin with the dearest.
func (r *Report) By(d Dimension) []Line {
	lines := map[string]*Line{}
	var keys []string // as they come
	for c := range r.all() {
		key := c.key(d)
		if lines[key] == nil {
			lines[key] = &Line{Key: key}
			keys = append(keys, key)
		}
		lines[key].add(c)
	}
	if d != ByStep {
		slices.Sort(keys)
	}
	out := make([]Line, 0, len(lines))
	for _, key := range keys {
		out = append(out, *lines[key])
	}
	if d != ByDay && d != ByStep {
		slices.SortStableFunc(out, func(a, b Line) int { return cmp.Compare(b.Cost+b.AtDearest, a.Cost+a.AtDearest) })
	}
	return out
}

func (c call) key(d Dimension) string {
	switch d {
	case ByModel:
		return cmp.Or(c.model, "(unknown)")
	case ByAgent:
		return cmp.Or(c.agent, "(unknown)")
	case ByDay:
		return c.day
	case ByPurpose:
		return c.purpose
	case BySession:
		return string(c.session)
	case ByStep:
		return fmt.Sprintf("%s %d", c.session, c.step)
	}
	return "(unknown)"
}
