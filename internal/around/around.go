// Package around puts something around the calls of a tool, and keeps the rest of
// it as it is.
package around

import (
	"context"
	"encoding/json"

	"github.com/uzda-dev/uzda"
)

// A Call runs a use; next is the tool's own way.
type Call func(ctx context.Context, use uzda.Use, next func(context.Context, uzda.Use) (uzda.Result, error)) (uzda.Result, error)

// resumer is agent.Resumer, which is not ours to import.
type resumer interface{ Resumes() }

// Tool returns t with another way to run. It has exactly those optional interfaces
// that say something different by being there: that t can be probed, resumes,
// previews or places its uses. A check that t does not have passes everything.
func Tool(t uzda.Tool, call Call) uzda.Tool {
	b := base{t, call}
	p, previews := t.(uzda.Previewer)
	q, probes := t.(uzda.Prober)
	r, resumes := t.(resumer)
	switch {
	case previews && probes && resumes:
		return struct {
			base
			uzda.Previewer
			uzda.Prober
			resumer
		}{b, p, q, r}
	case previews && probes:
		return struct {
			base
			uzda.Previewer
			uzda.Prober
		}{b, p, q}
	case previews && resumes:
		return struct {
			base
			uzda.Previewer
			resumer
		}{b, p, r}
	case probes && resumes:
		return struct {
			base
			uzda.Prober
			resumer
		}{b, q, r}
	case previews:
		return struct {
			base
			uzda.Previewer
		}{b, p}
	case probes:
		return struct {
			base
			uzda.Prober
		}{b, q}
	case resumes:
		return struct {
			base
			resumer
		}{b, r}
	}
	return b
}

type base struct {
	uzda.Tool
	call Call
}

var (
	_ uzda.Checker = base{}
	_ uzda.Placer  = base{}
)

func (b base) Call(ctx context.Context, use uzda.Use) (uzda.Result, error) {
	return b.call(ctx, use, b.Tool.Call)
}

func (b base) Check(input json.RawMessage) (json.RawMessage, error) {
	if c, ok := b.Tool.(uzda.Checker); ok {
		return c.Check(input)
	}
	return input, nil
}

// Place says where a use runs; without a Placer that is the session's directory.
func (b base) Place(id uzda.SessionID, dir string) string {
	if p, ok := b.Tool.(uzda.Placer); ok {
		return p.Place(id, dir)
	}
	return dir
}
