package session

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/agent"
)

// Delegate is a tool by which an agent gives a task to another agent of the same
// host. The task is a session of its own, whose id is the parent's and the use
// that began it; the parent's use waits for its end. Children spend from the
// parent's turn, and from nothing else.
type Delegate struct {
	Agent       string // of the host
	Name        string // default "delegate_to_" and the agent's name
	Description string // when to give it a task, and when not
	Budget      uzda.Limits
	Effects     uzda.Effects // what the child's tools can do; the zero value is the strictest
}

var _ uzda.Tool = Delegate{}

var _ agent.Resumer = bound{}

// source begins the source of these tools, with the agent's name after it.
const source = "agent "

// Spec describes the tool.
func (d Delegate) Spec() uzda.ToolSpec {
	name := d.Name
	if name == "" {
		name = "delegate_to_" + d.Agent
	}
	return uzda.ToolSpec{Name: name, Description: d.Description, Effects: d.Effects, Source: source + d.Agent, Input: json.RawMessage(
		`{"type":"object","additionalProperties":false,"required":["task"],"properties":{"task":{"type":"string","minLength":1,` +
			`"description":"all that the other agent needs to know: goal, scope, what to return; it sees nothing else"}}}`)}
}

// Call fails: a host binds the tools of its agents.
func (d Delegate) Call(context.Context, uzda.Use) (uzda.Result, error) {
	return uzda.Result{}, fmt.Errorf("delegate to %s: the tool belongs to no host", d.Agent)
}

// bound is a Delegate of a host.
type bound struct {
	Delegate
	h *Host
}

// Resumes says that a lost use runs again: it finds the child that it began.
func (bound) Resumes() {}

func (b bound) Check(raw json.RawMessage) (json.RawMessage, error) {
	var in struct{ Task string }
	if err := json.Unmarshal(raw, &in); err != nil || strings.TrimSpace(in.Task) == "" {
		return nil, fmt.Errorf(`want {"task":"..."} with the whole task in words`)
	}
	return raw, nil
}

// childID names a child after its parent and the use that began it.
func childID(parent uzda.SessionID, use uzda.UseID) uzda.SessionID {
	return parent + "-" + uzda.SessionID(use)
}

func (b bound) Call(ctx context.Context, use uzda.Use) (uzda.Result, error) {
	var in struct{ Task string }
	if err := json.Unmarshal(use.Input, &in); err != nil {
		return uzda.Result{}, err
	}
	s, err := agent.Load(ctx, b.h.c.Store, use.Session)
	if err != nil {
		return uzda.Result{}, err
	}
	l := s.Gear.Limits
	refuse := func(format string, args ...any) (uzda.Result, error) {
		return uzda.Result{IsError: true, Effect: uzda.EffectNone, Blocks: uzda.Say(fmt.Sprintf(format, args...))}, nil
	}
	if s.Opened.Depth+1 > l.Depth {
		return refuse("An agent at this depth (%d) may not delegate further; do the task yourself.", s.Opened.Depth)
	}
	before, beside := siblings(s, use.ID)
	if before >= l.Children {
		return refuse("This turn has had its %d delegated tasks; do the rest yourself.", l.Children)
	}
	o := uzda.Opening{ID: childID(use.Session, use.ID), Agent: b.Agent, Dir: use.Dir, Parent: use.Session, Use: use.ID,
		Depth: s.Opened.Depth + 1, Budget: b.budget(s, beside), Scope: s.Opened.Scope,
		Charge: append([]uzda.Account{{Name: fmt.Sprintf("turn:%s/%d", use.Session, s.Turn.Seq), Limit: l.Cost}}, s.Opened.Charge...)}
	if o.Scope == "" {
		o.Scope = use.Session
	}
	id, err := b.h.Open(ctx, o)
	if err != nil {
		return uzda.Result{}, err
	}
	if _, err := b.h.PostAt(ctx, id, uzda.SomeHead, uzda.Posted{ID: "task", Blocks: uzda.Say(in.Task, s.Labels...), By: string(use.Session)}); err != nil {
		return uzda.Result{}, err
	}
	b.h.adopt(use.Session, []uzda.SessionID{id})
	return uzda.Result{Pending: &uzda.Pending{On: string(uzda.WaitChild), Ref: string(id),
		Hold: uzda.Spend{Steps: o.Budget.Steps, Calls: o.Budget.Calls, Tokens: o.Budget.Tokens, Cost: o.Budget.Cost}}}, nil
}

// siblings counts the children of the turn that come before a use, and those that
// the same reply asks for. It goes by the order of the calls, since they start
// together.
func siblings(s *agent.State, id uzda.UseID) (before, beside int) {
	before = s.Turn.Children
	earlier := true
	for _, u := range s.Uses {
		if u.Pending != nil && u.Pending.On == string(uzda.WaitChild) {
			before--
		}
		earlier = earlier && u.ID != id
		if u.Spec == nil || !strings.HasPrefix(u.Spec.Source, source) || u.Result != nil && u.Pending == nil {
			continue
		}
		beside++
		if earlier {
			before++
		}
	}
	return before, max(1, beside)
}

// budget is what the child may use: what was asked for, at most its share of
// what the parent's turn has left, where the parent keeps a share to answer.
func (b bound) budget(s *agent.State, beside int) uzda.Limits {
	l, t := s.Gear.Limits, s.Turn
	share := func(want, limit, used int64) int64 {
		left := max(1, (limit-used)/int64(beside+1))
		if want <= 0 {
			return left
		}
		return min(want, left)
	}
	out := b.Budget
	out.Steps = int(share(int64(out.Steps), int64(l.Steps), int64(t.Steps)))
	out.Calls = int(share(int64(out.Calls), int64(l.Calls), int64(t.Calls)))
	out.Tokens = int(share(int64(out.Tokens), int64(l.Tokens), int64(t.Tokens)))
	out.Cost = uzda.Money(share(int64(out.Cost), int64(l.Cost), int64(t.Cost)))
	return out
}
