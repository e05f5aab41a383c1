package tooltest_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/tool"
	"github.com/uzda-dev/uzda/tool/tooltest"
)

type in struct {
	City string `json:"city" doc:"for example Oslo"`
}

// broken is a good tool with one fault.
type broken struct {
	uzda.Tool
	spec  func(*uzda.ToolSpec)
	check func(json.RawMessage) (json.RawMessage, error)
	call  func(context.Context, uzda.Use) (uzda.Result, error)
}

func (b broken) Spec() uzda.ToolSpec {
	s := b.Tool.Spec()
	if b.spec != nil {
		b.spec(&s)
	}
	return s
}

func (b broken) Check(raw json.RawMessage) (json.RawMessage, error) {
	if b.check != nil {
		return b.check(raw)
	}
	return b.Tool.(uzda.Checker).Check(raw)
}

func (b broken) Call(ctx context.Context, use uzda.Use) (uzda.Result, error) {
	if b.call != nil {
		return b.call(ctx, use)
	}
	return b.Tool.Call(ctx, use)
}

// TestFaults: the suite passes a good tool and finds each planted fault. T1
func TestFaults(t *testing.T) {
	t.Parallel()
	good := tool.New("get_weather", "Say what the weather is. Use when the user asks for it; not for the past.",
		uzda.Effects{ReadOnly: true}, func(_ context.Context, in in) (string, error) { return "sunny in " + in.City, nil })
	cases := []tooltest.Case{{Input: `{"city":"Oslo"}`, Want: "sunny"}, {Input: `{"city":5}`, Bad: true, Want: "/city"}}
	if faults := tooltest.Faults(t.Context(), good, cases...); len(faults) > 0 {
		t.Fatalf("a good tool: %s", strings.Join(faults, "\n"))
	}
	n := 0
	for want, b := range map[string]broken{
		"must match":          {spec: func(s *uzda.ToolSpec) { s.Name = "get weather" }},
		"when to use":         {spec: func(s *uzda.ToolSpec) { s.Description = "The weather, not of the past." }},
		"when not":            {spec: func(s *uzda.ToolSpec) { s.Description = "Use when asked." }},
		"Spec differ":         {spec: func(s *uzda.ToolSpec) { n++; s.Source = strings.Repeat("x", n) }},
		"irreversible":        {spec: func(s *uzda.ToolSpec) { s.Once = true }},
		`the type "object"`:   {spec: func(s *uzda.ToolSpec) { s.Input = nil }},
		"schema of the input": {spec: func(s *uzda.ToolSpec) { s.Input = json.RawMessage(`{"type":"object","properties":{"a":{"type":"x"}}}`) }},
		"Check panics":        {check: func(json.RawMessage) (json.RawMessage, error) { panic("x") }},
		"Check passes []":     {check: func(raw json.RawMessage) (json.RawMessage, error) { return raw, nil }},
		"Check refuses":       {check: func(json.RawMessage) (json.RawMessage, error) { return nil, errors.New("no") }},
		"lacks \"/city\"": {check: func(raw json.RawMessage) (json.RawMessage, error) {
			out, err := good.Check(raw)
			if err != nil {
				err = errors.New("bad input")
			}
			return out, err
		}},
		"not UTF-8":       {call: says(uzda.Result{Blocks: uzda.Say("sunny \xff")})},
		"says nothing":    {call: says(uzda.Result{})},
		"lacks \"sunny\"": {call: says(uzda.Result{Blocks: uzda.Say("rain")})},
		"IsError is true": {call: says(uzda.Result{Blocks: uzda.Say("sunny"), IsError: true})},
		"ends the turn":   {call: func(context.Context, uzda.Use) (uzda.Result, error) { return uzda.Result{}, errors.New("x") }},
		"panic":           {call: func(context.Context, uzda.Use) (uzda.Result, error) { panic("x") }},
		"stack trace":     {call: says(uzda.Result{Blocks: uzda.Say("sunny\ngoroutine 1 [running]:\nmain.go:5")})},
		"goes on after its context": {call: func(ctx context.Context, u uzda.Use) (uzda.Result, error) {
			if ctx.Err() != nil {
				<-t.Context().Done()
			}
			return good.Call(ctx, u)
		}},
	} {
		b.Tool = good
		faults := strings.Join(tooltest.Faults(t.Context(), b, cases...), "\n")
		if !strings.Contains(faults, want) {
			t.Errorf("want a fault with %q, got:\n%s", want, faults)
		}
	}
}

func says(res uzda.Result) func(context.Context, uzda.Use) (uzda.Result, error) {
	return func(context.Context, uzda.Use) (uzda.Result, error) { return res, nil }
}
