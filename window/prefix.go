package window

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/uzda-dev/uzda"
)

// A Prefix watches the part of the requests of a session that a provider's cache
// reads again: it says what changed in it, and what that cost. It is fed with the
// events of a session in order, and is not safe for concurrent use.
type Prefix struct {
	Prices uzda.Pricer // nil: no price is known

	gear    *uzda.Equipped
	changes []Change
	open    int // the first of changes that no reply has followed
	head    int // size of what stands before the view
	view    []piece
	size    int // of it
	inbox   []piece
	come    int // size of the results of the last reply that have come
	uses    int // of it, that are open

	asked, answered string    // models
	at, used        time.Time // when the request was sent, and the one before it was answered
	asking, sent    int       // estimates of them
	last            uzda.Usage
	caches          bool // the provider has said that it has a cache,
	writes, long    bool // that it writes it, and for the longer time
	lost            int  // tokens of what the cache held, since the last reply
}

// A Change is what made a cache read less than it held.
type Change struct {
	Seq  uzda.Seq `json:"seq"`  // the event that showed it
	What string   `json:"what"` // an item: system, working files, tools; or model, parameters, history, nothing
	Name string   `json:"name,omitempty"`
	How  string   `json:"how"` // added, removed, moved, changed, description, schema; the move of an edit
	From string   `json:"from,omitempty"`
	To   string   `json:"to,omitempty"`
	// Message is the first one that an edit changed.
	Message uzda.Seq `json:"message,omitempty"`
	// Tokens stood in the cache and must be sent again as new, about; each is counted
	// with the first change that lost it. Cost is what they cost more than if they
	// were read from the cache, 0 where no price is known.
	Tokens int        `json:"tokens,omitempty"`
	Cost   uzda.Money `json:"cost,omitempty"`
	// Read is what the request after the change read from the cache all the same;
	// Checked says that its reply has come.
	Read    int  `json:"read,omitempty"`
	Checked bool `json:"checked"`
}

// What a change may be of, besides items of a request.
const (
	OfModel   = "model"
	OfParams  = "parameters"
	OfHistory = "history"
	OfNothing = "nothing" // the cache missed though nothing was changed
)

// A piece is a message of the view, by the size of what it holds.
type piece struct {
	seq  uzda.Seq
	size int
}

// How long caches live, and the shortest prefix that they keep.
const (
	cacheLife = 5 * time.Minute
	longLife  = time.Hour
	leastKept = 1024
)

// Changes are all changes of the session so far.
func (p *Prefix) Changes() []Change { return slices.Clone(p.changes) }

// Event takes the next event, and returns the changes that it shows.
func (p *Prefix) Event(e uzda.Event) []Change {
	from := len(p.changes)
	switch b := e.Body.(type) {
	case uzda.Posted:
		p.inbox = append(p.inbox, piece{e.Seq, sizeOf(uzda.Message{Blocks: b.Blocks})})
	case uzda.Verified:
		if len(b.Blocks) > 0 {
			p.inbox = append(p.inbox, piece{e.Seq, sizeOf(uzda.Message{Blocks: b.Blocks})})
		}
	case uzda.Returned:
		if b.Pending == nil {
			p.result(e.Seq, b.Result)
		}
	case uzda.Delivered:
		p.result(e.Seq, b.Result)
	case uzda.Equipped:
		p.equipped(e.Seq, b)
	case uzda.Edited:
		p.edited(e.Seq, b)
	case uzda.Asked:
		p.join(p.inbox...)
		p.inbox = nil
		p.asked, p.at, p.asking = b.Model, e.At, p.head+p.size
	case uzda.Said:
		p.said(e, b)
	}
	return slices.Clone(p.changes[from:])
}

func (p *Prefix) join(more ...piece) {
	p.view = append(p.view, more...)
	for _, x := range more {
		p.size += x.size
	}
}

// result takes one that the last reply asked for; the last of them joins the view.
func (p *Prefix) result(seq uzda.Seq, r uzda.ToolResult) {
	if p.uses == 0 {
		return // a second one, or one that nobody waits for
	}
	p.come += sizeOfBlock(r)
	if p.uses--; p.uses == 0 {
		p.join(piece{seq, p.come})
		p.come = 0
	}
}

// said holds the changes against what the reply says was read.
func (p *Prefix) said(e uzda.Event, b uzda.Said) {
	u, model := b.Usage, cmp.Or(b.Model, p.asked)
	counted := u.Context() > 0 && !u.AtLeast
	moved := p.answered != "" && model != p.answered
	if moved && !slices.ContainsFunc(p.changes[p.open:], func(c Change) bool { return c.What == OfModel }) {
		p.add(Change{Seq: e.Seq, What: OfModel, How: "changed", From: p.answered, To: model}, p.held())
	}
	if held := p.held(); counted && p.open == len(p.changes) && held >= leastKept && u.CacheRead < held/2 {
		c := Change{Seq: e.Seq, What: OfNothing, How: "dropped"}
		life := cacheLife
		if p.long {
			life = longLife
		}
		if pause := p.at.Sub(p.used); pause > life {
			c.How, c.To = "expired", pause.Round(time.Second).String()
		}
		p.add(c, held-u.CacheRead)
	}
	if counted {
		p.check(u)
	}
	if p.open = len(p.changes); moved {
		p.caches, p.writes, p.long = false, false, false
	}
	p.caches = p.caches || u.Context() > u.Input
	p.writes, p.long = p.writes || u.CacheWrite+u.CacheLong > 0, p.long || u.CacheLong > 0
	p.answered, p.used, p.sent, p.lost = model, e.At, p.asking, 0
	if counted {
		p.last = u
	}
	if p.uses, p.come = len(b.Message.Uses()), 0; len(b.Message.Blocks) > 0 && b.Stop != uzda.StopRefusal {
		p.join(piece{e.Seq, sizeOf(b.Message)})
	}
}

// check puts what the provider says in place of the estimate. After an edit it is
// not known how much of what was not read was taken out.
func (p *Prefix) check(u uzda.Usage) {
	open := p.changes[p.open:]
	sum, first, edited := 0, -1, false
	for i := range open {
		open[i].Read, open[i].Checked = u.CacheRead, true
		if sum += open[i].Tokens; first < 0 && open[i].Tokens > 0 {
			first = i
		}
		edited = edited || open[i].What == OfHistory
	}
	if first < 0 || edited {
		return
	}
	c := &open[first]
	c.Tokens = max(0, c.Tokens+p.held()-u.CacheRead-sum)
	c.Cost = p.cost(*c)
}

// held is how many tokens the cache holds of the last request.
func (p *Prefix) held() int {
	switch {
	case !p.caches:
		return 0
	case p.writes:
		return p.last.Context() - p.last.Input
	}
	return p.last.Context()
}

// share is what n of the estimated tokens of the last request are of what is held.
func (p *Prefix) share(n int) int {
	if p.sent == 0 {
		return p.held()
	}
	return min(int(float64(p.held())*float64(max(n, 0))/float64(p.sent)), p.held())
}

// add records a change that loses a number of tokens.
func (p *Prefix) add(c Change, tokens int) {
	c.Tokens, p.lost = max(0, tokens-p.lost), max(tokens, p.lost)
	c.Cost = p.cost(c)
	p.changes = append(p.changes, c)
}

// cost is what new tokens cost more than tokens that are read from the cache.
func (p *Prefix) cost(c Change) uzda.Money {
	if p.Prices == nil || c.Tokens == 0 || p.gear == nil || p.gear.Model.Free {
		return 0
	}
	model := p.gear.Model.ID
	if c.What == OfModel {
		model = c.To
	}
	price, known := p.Prices.Price(model, p.last.Context())
	if !known || price.CacheRead == 0 {
		return 0
	}
	return uzda.Price{Input: max(0, price.Input-price.CacheRead)}.Of(uzda.Usage{Input: c.Tokens})
}

// edited counts what stays behind the first message that was changed: it stood in
// the cache, and comes again as new.
func (p *Prefix) edited(seq uzda.Seq, b uzda.Edited) {
	from := slices.IndexFunc(p.view, func(x piece) bool { return x.seq >= b.From })
	to := slices.IndexFunc(p.view, func(x piece) bool { return x.seq > b.To })
	if from < 0 {
		from = len(p.view)
	}
	if to < 0 {
		to = len(p.view)
	}
	first, stays := b.From, 0
	if b.Only && len(b.With) > 0 {
		first = b.With[0].Seq
		for i := range p.view[from:to] {
			x := &p.view[from+i]
			n := slices.IndexFunc(b.With, func(e uzda.Entry) bool { return e.Seq == x.seq })
			switch {
			case n >= 0:
				x.size = sizeOf(b.With[n].Message)
			case x.seq > first:
				stays += x.size
			}
		}
	} else {
		with := make([]piece, len(b.With))
		for i, e := range b.With {
			with[i] = piece{e.Seq, sizeOf(e.Message)}
		}
		p.view = slices.Concat(p.view[:from], with, p.view[to:])
		to = from + len(with)
	}
	for _, x := range p.view[to:] {
		stays += x.size
	}
	p.size = 0
	for _, x := range p.view {
		p.size += x.size
	}
	p.add(Change{Seq: seq, What: OfHistory, How: b.What, Message: first}, p.share(stays))
}

func sizeOfTools(ts []uzda.ToolSpec) (n int) {
	for _, t := range ts {
		n += sizeOfTool(t)
	}
	return n
}

// String is a change in one line for people.
func (c Change) String() string {
	var b strings.Builder
	name := uzda.OneLine(c.Name, 60)
	switch c.What {
	case OfModel:
		b.WriteString("the model changed")
	case OfHistory:
		fmt.Fprintf(&b, "the move %s rewrote the messages from %d on", c.How, c.Message)
	case OfParams:
		fmt.Fprintf(&b, "the parameter %s changed", name)
	case OfNothing:
		if b.WriteString("the cache was not read though nothing was changed"); c.How == "expired" {
			fmt.Fprintf(&b, ": a pause of %s is longer than it lives", c.To)
		}
	case Tools:
		fmt.Fprintf(&b, "the tool %s %s", name, c.happened())
	case Files:
		fmt.Fprintf(&b, "the working file %s %s", name, c.happened())
	default:
		b.WriteString("the system prompt changed")
	}
	if c.What != OfNothing && (c.From != "" || c.To != "") {
		fmt.Fprintf(&b, ": from %q to %q", c.From, c.To)
	}
	if c.Tokens > 0 {
		fmt.Fprintf(&b, "; about %s tokens that were cached are sent again", thousands(c.Tokens))
		if c.Cost > 0 {
			fmt.Fprintf(&b, ", for %s more", c.Cost)
		}
	}
	if c.Checked && c.Tokens > 0 {
		fmt.Fprintf(&b, " (%s were read from the cache)", thousands(c.Read))
	}
	return b.String()
}

func (c Change) happened() string {
	switch c.How {
	case "added":
		return "joined"
	case "removed":
		return "is gone"
	case "moved":
		return "moved"
	case "changed":
		return "changed"
	}
	return "has another " + c.How
}

// Text says for people what changed in the session, a line a change.
func (p *Prefix) Text() string {
	if p.sent == 0 {
		return "no request was answered yet, so that no prefix could change\n"
	}
	if len(p.changes) == 0 {
		return "the prefix never changed\n"
	}
	var b strings.Builder
	changed, missed, tokens, cost := 0, 0, 0, uzda.Money(0)
	for _, c := range p.changes {
		tokens, cost = tokens+c.Tokens, cost+c.Cost
		if c.What == OfNothing {
			missed++
		} else {
			changed++
		}
	}
	switch {
	case missed == 0:
		fmt.Fprintf(&b, "the prefix changed %s", times(changed))
	case changed == 0:
		fmt.Fprintf(&b, "the prefix never changed, but the cache was not read %s", times(missed))
	default:
		fmt.Fprintf(&b, "the prefix changed %s, and the cache was not read %s though nothing was changed", times(changed), times(missed))
	}
	if tokens > 0 {
		fmt.Fprintf(&b, "; about %s tokens that were cached were sent again", thousands(tokens))
		if cost > 0 {
			fmt.Fprintf(&b, ", for %s more", cost)
		}
	}
	b.WriteString(":\n")
	for _, c := range p.changes {
		fmt.Fprintf(&b, "%5d  %s\n", c.Seq, c)
	}
	return b.String()
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}
