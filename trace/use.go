package trace

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/uzda-dev/uzda"
)

// use is a tool use of the open step.
type use struct {
	id       uzda.UseID
	name     string
	wire     string
	input    json.RawMessage
	ask      any // ordinal
	judged   *uzda.Judged
	answer   *uzda.Answered
	span     *Span
	approval *Span
	attempts int
	active   time.Duration
	tried    []any
}

// takeUse folds what happens to tool uses.
func (s *session) takeUse(e uzda.Event) {
	switch b := e.Body.(type) {
	case uzda.Judged:
		s.judged(e, b)
	case uzda.Answered:
		if u := s.uses[b.Use]; u != nil && u.approval != nil && u.judged.Hash == b.Hash {
			u.answer = &b
			put(u.approval, VerdictBy, b.By)
			u.approval.Attr[Verdict] = string(b.Verdict.Decision)
			put(u.approval, VerdictText, s.b.clean(b.Verdict.Reason))
			s.decided(u, e.At, OK)
		}
	case uzda.Started:
		s.started(e, b)
	case uzda.Returned:
		u := s.uses[b.Result.Use]
		if u == nil {
			return // delivered, or closed by a cancel
		}
		u.active += b.Active
		if b.Pending != nil {
			if s.turn != nil && u.span != nil {
				put(u.span, Waits, b.Pending.On)
			}
			return
		}
		s.returned(e, u, b.Result, b.Fatal)
	case uzda.Delivered:
		if u := s.uses[b.Result.Use]; u != nil && u.span != nil {
			put(u.span, ChildTokens, b.Spent.Tokens)
			put(u.span, ChildCost, b.Spent.Cost)
			s.returned(e, u, b.Result, "")
		}
	case uzda.Late:
		s.late(e, b)
	}
}

func (s *session) judged(e uzda.Event, b uzda.Judged) {
	u := s.uses[b.Use]
	if u == nil {
		return
	}
	u.judged, u.answer = &b, nil
	if len(b.Input) > 0 {
		u.input = b.Input
	}
	if b.Verdict.Decision != uzda.Ask {
		s.decided(u, e.At, OK)
		return
	}
	if u.approval == nil {
		u.approval = s.newSpan("approval", seqKey(e.Seq), s.parent(), "approval", "internal", e.At, e.Seq)
	}
	put(u.approval, ToolName, u.name)
	put(u.approval, Use, string(u.id))
	s.verdict(u.approval, b)
	if b.Preview != "" {
		s.b.content(u.approval, Preview, b.Preview)
	}
}

func (s *session) verdict(sp *Span, b uzda.Judged) {
	sp.Attr[Verdict] = string(b.Verdict.Decision)
	put(sp, VerdictText, s.b.clean(b.Verdict.Reason))
	put(sp, VerdictRule, b.Verdict.Rule)
	put(sp, VerdictBy, b.By)
}

// decided ends the wait for an approval, if there is one.
func (s *session) decided(u *use, at time.Time, status string) {
	if u.approval != nil {
		s.end(u.approval, at, status)
		u.approval = nil
	}
}

func (s *session) started(e uzda.Event, b uzda.Started) {
	u := s.uses[b.Use]
	if u == nil {
		return
	}
	if s.turn != nil {
		s.turn.waits = ""
	}
	s.decided(u, e.At, OK)
	if u.span == nil {
		s.tool(u, e)
		s.each(func(t *sums) { t.calls++ })
	}
	u.attempts = max(u.attempts+1, b.Attempt)
	if b.Effects != (uzda.Effects{}) {
		u.span.Attr[Effects] = b.Effects
	}
}

// tool begins the span of a use.
func (s *session) tool(u *use, e uzda.Event) {
	u.span = s.newSpan("tool", string(u.id), s.parent(), "execute_tool "+cmp.Or(u.name, "(unknown)"), "internal", e.At, e.Seq)
	u.span.Attr[Operation] = "execute_tool"
	u.span.Attr[ToolType] = "function"
	put(u.span, ToolName, u.name)
	put(u.span, ToolCallID, u.wire)
	u.span.Attr[Use] = string(u.id)
	if u.ask != nil {
		u.span.Attr[Ordinal] = u.ask
	}
	s.seen[u.id] = true
}

func (s *session) returned(e uzda.Event, u *use, r uzda.ToolResult, fatal string) {
	if u.span == nil { // refused before it began
		s.tool(u, e)
		if r.Code != uzda.CodeNotStarted {
			s.each(func(t *sums) { t.calls++ })
		}
	}
	status := OK
	if r.IsError || fatal != "" {
		status = Error
		u.span.fail(cmp.Or(string(r.Code), string(uzda.CodeFailed)), s.b.clean(fatal))
	}
	if r.Code == uzda.CodeCancelled {
		status = Cancelled
	}
	put(u.span, Effect, string(r.Effect))
	s.b.content(u.span, ToolResult, s.b.parts(r.Blocks))
	s.finish(u, e.At, status)
	s.view.result(r)
	if len(s.uses) == 0 {
		s.view.step(e.Seq)
	}
}

// finish ends a use's spans and forgets it.
func (s *session) finish(u *use, at time.Time, status string) {
	delete(s.uses, u.id)
	waited := status
	if status == Error {
		waited = OK
	}
	s.decided(u, at, waited)
	if u.span == nil {
		return
	}
	if u.judged != nil {
		s.verdict(u.span, *u.judged)
	}
	if u.answer != nil {
		u.span.Attr[Verdict] = string(u.answer.Verdict.Decision)
		put(u.span, VerdictBy, u.answer.By)
		put(u.span, VerdictText, s.b.clean(u.answer.Verdict.Reason))
	}
	put(u.span, Attempts, u.attempts)
	if len(u.tried) > 0 {
		u.span.Attr[Tried] = u.tried
	}
	u.span.active(u.active)
	if len(u.input) > 0 {
		s.b.content(u.span, ToolArguments, u.input)
	}
	s.end(u.span, at, status)
}

// abandon ends the uses that have no result at the last sign of life.
func (s *session) abandon() {
	for _, id := range slices.Sorted(maps.Keys(s.uses)) {
		s.finish(s.uses[id], s.last, Unfinished)
	}
}

// late is a point: what a runner reported after others had gone on.
func (s *session) late(e uzda.Event, b uzda.Late) {
	parent := s.parent()
	if s.seen[b.Result.Use] {
		parent = spanID(s.id, "tool", string(b.Result.Use))
	}
	sp := s.newSpan("late", seqKey(e.Seq), parent, "late_result", "internal", e.At, e.Seq)
	sp.Attr[Use] = string(b.Result.Use)
	put(sp, Effect, string(b.Result.Effect))
	status := OK
	if b.Result.IsError {
		status = Error
		sp.fail(cmp.Or(string(b.Result.Code), string(uzda.CodeFailed)), "")
	}
	s.b.content(sp, ToolResult, s.b.parts(b.Result.Blocks))
	s.end(sp, e.At, status)
}
