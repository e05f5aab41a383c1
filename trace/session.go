package trace

import (
	"cmp"
	"encoding/json"
	"slices"
	"time"

	"github.com/uzda-dev/uzda"
)

// session is the fold of one journal: what is open in it, and the sizes of what
// the model sees.
type session struct {
	b      *Builder
	id     uzda.SessionID
	root   uzda.SessionID
	seq    uzda.Seq
	last   time.Time // of the event before
	by     int64     // epoch of the last runner
	opened uzda.Opened
	span   *Span
	status string // of the last turn

	gear     uzda.Equipped
	versions [3]string // hashes of the system prompt, the tools and the parameters
	view     sizes

	posts  []post
	cancel uzda.Seq
	turn   *turn
	ask    *ask
	uses   map[uzda.UseID]*use // of the open step
	seen   map[uzda.UseID]bool // uses that have a span
	sum    sums
}

type post struct {
	seq    uzda.Seq
	blocks uzda.Blocks
	alone  bool // begins a turn of its own
}

type turn struct {
	span    *Span
	seq     uzda.Seq
	sum     sums
	resumed int
	waits   uzda.Reason
	inputs  []any
}

type ask struct {
	span  *Span
	hold  uzda.Money
	tried []any
}

// sums are counted for the turn and for the session.
type sums struct {
	usage uzda.Usage
	cost  uzda.Money
	steps int
	calls int
	edits int
	peak  int
}

func (t *sums) add(u uzda.Usage, cost uzda.Money) { t.usage, t.cost = t.usage.Add(u), t.cost+cost }

func (t *sums) write(sp *Span) {
	sp.usage(t.usage, t.cost)
	put(sp, Steps, t.steps)
	put(sp, Calls, t.calls)
	put(sp, Edits, t.edits)
	put(sp, ContextPeak, t.peak)
}

// each calls f with the sums of the session, and of the turn if one is open.
func (s *session) each(f func(*sums)) {
	f(&s.sum)
	if s.turn != nil {
		f(&s.turn.sum)
	}
}

// begin makes the session's span at its first event, and notices a new runner.
func (s *session) begin(e uzda.Event) {
	if o, ok := e.Body.(uzda.Opened); ok {
		s.opened = o
		if o.Parent != "" {
			s.root = o.Parent
			if p := s.b.sessions[o.Parent]; p != nil {
				s.root = p.root
			}
		}
	}
	if s.span == nil {
		s.span = s.newSpan("session", "", "", "session "+cmp.Or(s.opened.Agent, string(s.id)), "internal", e.At, e.Seq)
		put(s.span, AgentName, s.opened.Agent)
		put(s.span, Program, s.opened.By)
	}
	if e.By != 0 && e.By != s.by {
		if s.by != 0 && s.turn != nil {
			s.turn.resumed++
		}
		s.by = e.By
	}
}

func (s *session) take(e uzda.Event) {
	switch b := e.Body.(type) {
	case uzda.Posted:
		s.posts = append(s.posts, post{e.Seq, b.Blocks, b.Turn})
		s.open(e.At, e.Seq)
	case uzda.Cancelled:
		if s.turn != nil && (b.Turn == 0 || b.Turn == s.turn.seq) {
			s.cancel = e.Seq
		}
	case uzda.Equipped:
		s.equip(b)
	case uzda.Asked:
		s.asked(e, b)
	case uzda.Tried:
		s.tried(b)
	case uzda.Said:
		s.said(e, b)
	case uzda.Broken:
		s.broken(e, b)
	case uzda.Used:
		s.used(e, b)
	case uzda.Verified:
		s.verified(e, b)
	case uzda.Edited:
		s.edited(e, b)
	case uzda.Parked:
		if s.turn != nil {
			s.turn.waits = b.On
		}
	case uzda.Ended:
		s.ended(e, b)
	case uzda.Erased:
		if s.ask != nil && (b.Name == "said" || b.Name == "broken") {
			s.answered(e.At, OK)
		}
	default:
		s.takeUse(e)
	}
}

// parent is the span under which things hang: the turn, or the session.
func (s *session) parent() string {
	if s.turn != nil {
		return s.turn.span.ID
	}
	return s.span.ID
}

// open begins a turn if none is open.
func (s *session) open(at time.Time, seq uzda.Seq) {
	if s.turn != nil {
		return
	}
	sp := s.newSpan("turn", seqKey(seq), s.span.ID, "invoke_agent "+cmp.Or(s.opened.Agent, string(s.id)), "internal", at, seq)
	sp.Attr[Operation] = "invoke_agent"
	put(sp, AgentName, s.opened.Agent)
	s.turn = &turn{span: sp, seq: seq}
}

func (s *session) equip(b uzda.Equipped) {
	tools, err := json.Marshal(b.Tools)
	if err != nil {
		tools = nil // a schema that is no JSON: the journal would not have it
	}
	params, err := json.Marshal(b.Params)
	if err != nil {
		params = nil
	}
	s.gear = b
	s.versions = [3]string{uzda.Hash([]byte(b.System))[:16], uzda.Hash(tools)[:16], uzda.Hash(params)[:16]}
	s.view.head = len(b.System) + len(tools)
}

func (s *session) asked(e uzda.Event, b uzda.Asked) {
	s.lost()
	s.open(e.At, e.Seq)
	s.drain()
	s.turn.waits = ""
	s.each(func(t *sums) { t.steps++ })
	sp := s.chat("ask", e.At, e.Seq, cmp.Or(b.Model, s.gear.Model.ID))
	p := s.gear.Params
	put(sp, RequestMax, b.Max)
	if p.Temperature != nil {
		sp.Attr[RequestTemp] = *p.Temperature
	}
	put(sp, RequestLevel, p.Effort)
	put(sp, Ordinal, b.Ordinal)
	put(sp, PromptHash, b.Hash)
	sp.Attr[ContextTools] = s.view.toolShare()
	if b.Tail != "" {
		s.b.content(sp, PromptTail, b.Tail)
	}
	s.ask = &ask{span: sp, hold: b.Hold.Amount}
}

// chat begins the span of a call of a model.
func (s *session) chat(what string, at time.Time, seq uzda.Seq, model string) *Span {
	provider, name := split(model)
	sp := s.newSpan(what, seqKey(seq), s.parent(), "chat "+cmp.Or(name, "(unknown)"), "client", at, seq)
	sp.Attr[Operation] = "chat"
	put(sp, Provider, provider)
	put(sp, RequestModel, name)
	put(sp, AgentName, s.opened.Agent)
	return sp
}

// drain lets posted messages join the turn, as the loop does with an ask.
func (s *session) drain() {
	var rest []post
	for _, p := range s.posts {
		if p.alone && p.seq != s.turn.seq {
			rest = append(rest, p)
			continue
		}
		s.view.join(p.seq, p.blocks)
		s.turn.inputs = append(s.turn.inputs, s.b.message("user", p.blocks))
	}
	s.posts = rest
}

func (s *session) tried(b uzda.Tried) {
	a := b.Attempt
	one := map[string]any{"n": a.N, "error": s.b.clean(a.Error)}
	if a.Model != "" {
		one["model"] = a.Model
	}
	if a.WaitMS != 0 {
		one["wait_ms"] = a.WaitMS
	}
	if n := a.Usage.Total(); n > 0 {
		one["tokens"] = n // counted by a Used of its own
	}
	if b.Use != "" {
		if u := s.uses[b.Use]; u != nil {
			u.tried = append(u.tried, one)
		}
		return
	}
	if s.ask != nil {
		s.ask.tried = append(s.ask.tried, one)
	}
}

// answered ends the open ask.
func (s *session) answered(at time.Time, status string) {
	a := s.ask
	s.ask = nil
	if len(a.tried) > 0 {
		a.span.Attr[Tried] = a.tried
		a.span.Attr[Attempts] = len(a.tried) + 1
	}
	s.end(a.span, at, status)
}

// lost ends an ask that nothing came back from at the last sign of life: it is
// charged at its hold.
func (s *session) lost() {
	if s.ask != nil {
		put(s.ask.span, Held, s.ask.hold)
		s.each(func(t *sums) { t.usage.AtLeast = true })
		s.answered(s.last, Unfinished)
	}
}

// reply returns the span of the open ask, or one for a reply without an ask.
func (s *session) reply(e uzda.Event, active time.Duration) *Span {
	if s.ask == nil {
		s.open(e.At, e.Seq)
		s.ask = &ask{span: s.chat("ask", e.At.Add(-active), e.Seq, s.gear.Model.ID)}
	}
	s.ask.span.active(active)
	return s.ask.span
}

func (s *session) said(e uzda.Event, b uzda.Said) {
	sp := s.reply(e, b.Active)
	sp.usage(b.Usage, b.Cost)
	put(sp, CostUnknown, b.Unknown)
	sp.Attr[Stop] = string(b.Stop)
	sp.Attr[FinishReasons] = []string{cmp.Or(b.Raw, string(b.Stop))}
	put(sp, Detail, s.b.clean(b.Detail))
	put(sp, Request, s.b.clean(b.Request))
	if o := b.Message.Origin; o != nil {
		put(sp, ResponseModel, o.Model)
	}
	sp.Attr[ContextSize] = b.Usage.Context()
	sp.Attr[ContextCache] = share(b.Usage.CacheRead, b.Usage.Context())
	blocks := named(e.Seq, b.Message.Blocks)
	s.b.content(sp, OutputMessage, []any{s.b.message("assistant", blocks)})
	s.each(func(t *sums) {
		t.add(b.Usage, b.Cost)
		t.peak = max(t.peak, b.Usage.Total())
	})
	s.answered(e.At, OK)
	if b.Stop == uzda.StopRefusal || len(b.Message.Blocks) == 0 {
		return // no part of what the model sees
	}
	s.view.join(e.Seq, blocks)
	for _, u := range (uzda.Message{Blocks: blocks}).Uses() {
		s.uses[u.ID] = &use{id: u.ID, name: u.Name, wire: u.Wire, input: u.Input, ask: sp.Attr[Ordinal]}
	}
}

// named returns blocks with the ids of their uses, as the loop gives them.
func named(seq uzda.Seq, blocks uzda.Blocks) uzda.Blocks {
	out, n := slices.Clone(blocks), 0
	for i, b := range out {
		if u, ok := b.(uzda.ToolUse); ok {
			n++
			u.ID = uzda.UseID(seqKey(seq) + "." + seqKey(uzda.Seq(n)))
			out[i] = u
		}
	}
	return out
}

func (s *session) broken(e uzda.Event, b uzda.Broken) {
	sp := s.reply(e, b.Active)
	u := b.Usage
	u.AtLeast = u.Total() > 0 || b.Text != "" || b.Code == "cut" || b.Code == "network" // else it was refused
	sp.usage(u, b.Cost)
	sp.fail(cmp.Or(b.Code, "unknown"), s.b.clean(b.Error))
	if b.Text != "" {
		s.b.content(sp, OutputMessage, []any{s.b.message("assistant", uzda.Say(b.Text))})
	}
	s.each(func(t *sums) { t.add(u, b.Cost) })
	status := Error
	if s.cancel != 0 || b.Code == "cancelled" {
		status = Cancelled
	}
	s.answered(e.At, status)
}

// used is a side call: it is recorded when it is over.
func (s *session) used(e uzda.Event, b uzda.Used) {
	sp := s.chat("side", e.At.Add(-b.Active), e.Seq, cmp.Or(b.Model, s.gear.Model.ID))
	put(sp, For, b.For)
	sp.usage(b.Usage, b.Cost)
	put(sp, CostUnknown, b.Unknown)
	sp.active(b.Active)
	s.each(func(t *sums) { t.add(b.Usage, b.Cost) })
	s.end(sp, e.At, OK)
}

func (s *session) verified(e uzda.Event, b uzda.Verified) {
	sp := s.newSpan("verify", seqKey(e.Seq), s.parent(), "verify", "internal", e.At.Add(-b.Active), e.Seq)
	put(sp, VerdictBy, b.By)
	if b.Usage != (uzda.Usage{}) || b.Cost != 0 {
		sp.usage(b.Usage, b.Cost)
	}
	sp.active(b.Active)
	s.each(func(t *sums) { t.add(b.Usage, b.Cost) })
	status := OK
	if !b.OK {
		status = Error
		sp.fail(string(uzda.Unverified), "")
		s.view.join(e.Seq, b.Blocks)
		s.b.content(sp, OutputMessage, []any{s.b.message("user", b.Blocks)})
	}
	s.end(sp, e.At, status)
}

func (s *session) edited(e uzda.Event, b uzda.Edited) {
	sp := s.newSpan("edit", seqKey(e.Seq), s.parent(), cmp.Or(b.What, "edit"), "internal", e.At, e.Seq)
	sp.Attr[EditFrom], sp.Attr[EditTo], sp.Attr[EditWith] = b.From, b.To, len(b.With)
	if b.What == "compact" {
		sp.Attr[Compacted] = true
	}
	put(sp, VerdictBy, b.By)
	s.view.splice(b)
	s.each(func(t *sums) { t.edits++ })
	s.end(sp, e.At, OK)
}

func (s *session) ended(e uzda.Event, b uzda.Ended) {
	s.open(e.At, e.Seq)
	s.lost()
	s.abandon()
	until := s.cancel
	if s.turn.sum.steps == 0 { // it ended before it asked: what began it is spent
		until = e.Seq
	}
	for len(s.posts) > 0 && s.posts[0].seq < until {
		s.view.join(s.posts[0].seq, s.posts[0].blocks)
		s.turn.inputs = append(s.turn.inputs, s.b.message("user", s.posts[0].blocks))
		s.posts = s.posts[1:]
	}
	sp := s.turn.span
	sp.Attr[Outcome], sp.Attr[Reason] = b.Outcome, string(b.Reason)
	status := Error
	switch b.Outcome {
	case uzda.Finished:
		status = OK
		put(sp, Detail, s.b.clean(b.Detail))
	case uzda.CancelledTurn:
		status = Cancelled
		put(sp, Detail, s.b.clean(b.Detail))
	default:
		sp.fail(string(b.Reason), s.b.clean(b.Detail))
	}
	s.endTurn(e.At, status)
	if len(s.posts) > 0 { // what is left in the inbox begins the next turn
		s.open(e.At, s.posts[0].seq)
	}
}

func (s *session) endTurn(at time.Time, status string) {
	t := s.turn
	t.sum.write(t.span)
	put(t.span, Resumed, t.resumed)
	put(t.span, SystemHash, s.versions[0])
	put(t.span, ToolsHash, s.versions[1])
	put(t.span, ParamsHash, s.versions[2])
	_, model := split(s.gear.Model.ID)
	put(t.span, RequestModel, model)
	if len(t.inputs) > 0 {
		s.b.content(t.span, InputMessages, t.inputs)
	}
	if s.gear.System != "" {
		s.b.content(t.span, SystemText, s.gear.System)
	}
	s.end(t.span, at, status)
	s.turn, s.cancel, s.status = nil, 0, status
}

// close ends all that is open at the last sign of life.
func (s *session) close() {
	if s.span == nil {
		return
	}
	s.lost()
	s.abandon()
	if s.turn != nil {
		put(s.turn.span, Waits, string(s.turn.waits))
		s.endTurn(s.last, Unfinished)
	}
	s.link()
	s.sum.write(s.span)
	s.end(s.span, s.last, cmp.Or(s.status, OK))
}
