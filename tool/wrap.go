package tool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/uzda-dev/uzda"
)

// A step is one attempt of a call; its error has not been turned into a result.
type step func(ctx context.Context, use uzda.Use) (uzda.Result, error)

// A base is a tool of this package, or another's behind foreign.
type base interface {
	uzda.Tool
	uzda.Checker
	attempt(ctx context.Context, use uzda.Use) (uzda.Result, error)
}

// wrapped is a tool with another way to run.
type wrapped struct {
	base
	step step
}

func wrap(t base, s step) base { return &wrapped{t, s} }

func (w *wrapped) Call(ctx context.Context, use uzda.Use) (uzda.Result, error) {
	res, err := w.step(ctx, use)
	return settle(ctx, w.Spec(), res, err)
}

func (w *wrapped) attempt(ctx context.Context, use uzda.Use) (uzda.Result, error) {
	return w.step(ctx, use)
}

// foreign makes a base of anybody's tool. An error of its Call ends the turn, as
// the contract of [uzda.Tool] says, unless it is marked transient or is that of
// its context.
type foreign struct{ uzda.Tool }

func (f foreign) Check(input json.RawMessage) (json.RawMessage, error) {
	if c, ok := f.Tool.(uzda.Checker); ok {
		return c.Check(input)
	}
	return input, nil
}

func (f foreign) attempt(ctx context.Context, use uzda.Use) (uzda.Result, error) {
	res, err := f.Call(ctx, use)
	if t := (*transient)(nil); err == nil || errors.As(err, &t) || ctx.Err() != nil {
		return res, err
	}
	return res, Fatal(err)
}

// baseOf returns t as a base. It panics if t neither checks its input nor says
// that it goes unchecked: wrapping would hide the mistake.
func baseOf(t uzda.Tool) base {
	if b, ok := t.(base); ok {
		return b
	}
	spec := t.Spec()
	if _, ok := t.(uzda.Checker); !ok && !spec.Unchecked {
		panic(fmt.Sprintf("tool %s: it has no Check; write one or set Unchecked", spec.Name))
	}
	return foreign{t}
}

type (
	preview func(ctx context.Context, use uzda.Use) (string, string, error)
	probe   func(ctx context.Context, key string) (bool, error)
)

func (p preview) Preview(ctx context.Context, use uzda.Use) (string, string, error) {
	return p(ctx, use)
}

func (p probe) Probe(ctx context.Context, key string) (bool, error) { return p(ctx, key) }

// dress gives a tool exactly the optional interfaces that there are.
func dress(t base, p uzda.Previewer, q uzda.Prober) uzda.Tool {
	switch {
	case p != nil && q != nil:
		return struct {
			base
			uzda.Previewer
			uzda.Prober
		}{t, p, q}
	case p != nil:
		return struct {
			base
			uzda.Previewer
		}{t, p}
	case q != nil:
		return struct {
			base
			uzda.Prober
		}{t, q}
	}
	return t
}

// redress wraps t and keeps its optional interfaces.
func redress(t uzda.Tool, b base) uzda.Tool {
	p, _ := t.(uzda.Previewer)
	q, _ := t.(uzda.Prober)
	return dress(b, p, q)
}
