// Package tooltest is the suite that every tool must pass.
package tooltest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/internal/schema"
)

// A Case is an input and what must come of it. A case that is not Bad is called
// several times, also concurrently and with a cancelled context, so it must be
// harmless where the test runs.
type Case struct {
	Input   string // JSON
	Bad     bool   // Check must refuse it; it is not called
	IsError bool   // the result must be an error that the model reads
	Want    string // a part of the result's text, or of the error of Check
	Dir     string // the working directory of the use
}

// Run tries the tool and reports every fault as an error of t.
func Run(t *testing.T, tl uzda.Tool, cases ...Case) {
	t.Helper()
	for _, fault := range Faults(t.Context(), tl, cases...) {
		t.Error(fault)
	}
}

// Faults returns what is wrong with a tool, one text a fault.
func Faults(ctx context.Context, tl uzda.Tool, cases ...Case) []string {
	s := &suite{ctx: ctx, tool: tl, spec: tl.Spec()}
	s.specify()
	if s.in != nil {
		s.forms()
	}
	for _, c := range cases {
		s.try(c)
	}
	s.together(cases)
	return s.faults
}

type suite struct {
	ctx    context.Context //nolint:containedctx // the suite is one call
	tool   uzda.Tool
	spec   uzda.ToolSpec
	in     *schema.Schema
	faults []string
}

func (s *suite) fault(format string, args ...any) {
	s.faults = append(s.faults, s.spec.Name+": "+fmt.Sprintf(format, args...))
}

var (
	nameForm = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)
	when     = regexp.MustCompile(`(?i)\bwhen(ever)?\b|\bbefore\b|\bafter\b`)
	whenNot  = regexp.MustCompile(`(?i)\bnot\b|\bnever\b|n't\b|\binstead\b|\bonly\b`)
)

// specify looks at what the tool says of itself.
func (s *suite) specify() {
	if !nameForm.MatchString(s.spec.Name) {
		s.fault("the name %q must match %s", s.spec.Name, nameForm)
	}
	if !when.MatchString(s.spec.Description) {
		s.fault("the description does not say when to use it")
	}
	if !whenNot.MatchString(s.spec.Description) {
		s.fault("the description does not say when not to use it")
	}
	if !utf8.ValidString(s.spec.Description) {
		s.fault("the description is not UTF-8")
	}
	if again := s.tool.Spec(); !reflect.DeepEqual(s.spec, again) {
		s.fault("two calls of Spec differ")
	}
	if s.spec.Effects.ReadOnly && (s.spec.Effects.Irreversible || s.spec.Once) {
		s.fault("what is read-only is neither irreversible nor once")
	}
	if _, ok := s.tool.(uzda.Checker); !ok && !s.spec.Unchecked {
		s.fault("it has no Check and does not say Unchecked")
	}
	var head struct {
		Type string `json:"type"`
	}
	if json.Unmarshal(s.spec.Input, &head) != nil || head.Type != "object" {
		s.fault(`the schema of the input must have the type "object": %.100s`, s.spec.Input)
		return
	}
	in, err := schema.Compile(s.spec.Input)
	if err != nil {
		s.fault("the schema of the input: %v", err)
		return
	}
	s.in = in
}

// check runs Check; where there is none the input passes.
func (s *suite) check(input string) (out json.RawMessage, err error) {
	defer func() {
		if p := recover(); p != nil {
			s.fault("Check panics on %s: %v", input, p)
			err = errors.New("panic")
		}
	}()
	c, ok := s.tool.(uzda.Checker)
	if !ok {
		return json.RawMessage(input), nil
	}
	return c.Check(json.RawMessage(input))
}

func (s *suite) checks() bool {
	_, ok := s.tool.(uzda.Checker)
	return ok
}

// forms tries what models send when they have nothing to say, or nonsense.
func (s *suite) forms() {
	if !s.checks() {
		return
	}
	_, bare := s.check(`{}`)
	for _, in := range []string{``, `null`} {
		out, err := s.check(in)
		if bare == nil && (err != nil || string(out) != "{}") {
			s.fault("no arguments (%q) must run the tool with {}: %s, %v", in, out, err)
		}
		if bare != nil && err == nil {
			s.fault("no arguments (%q) pass, although {} does not", in)
		}
	}
	for _, in := range []string{`[]`, `5`, `"x"`, `{`, `{"a":1}{"a":2}`} {
		if out, err := s.check(in); err == nil {
			s.fault("Check passes %s as %s", in, out)
		}
	}
}

// try runs one case alone.
func (s *suite) try(c Case) {
	out, err := s.check(c.Input)
	if c.Bad {
		s.refused(c, out, err)
		return
	}
	if err != nil {
		s.fault("Check refuses %s: %v", c.Input, err)
		return
	}
	if s.in != nil && s.checks() {
		s.checked(c, out)
	}
	res, err := s.call(s.ctx, out, c.Dir)
	if err != nil {
		s.fault("%s: Call ends the turn: %v", c.Input, err)
		return
	}
	s.result(c, res)
	if text := res.Blocks.String(); c.Want != "" && !strings.Contains(text, c.Want) {
		s.fault("%s: the result lacks %q: %.300s", c.Input, c.Want, text)
	}
	if res.IsError != c.IsError {
		s.fault("%s: IsError is %v: %.300s", c.Input, res.IsError, res.Blocks.String())
	}
	s.cancelled(c, out)
	if p, ok := s.tool.(uzda.Previewer); ok {
		a, keyA, errA := p.Preview(s.ctx, s.use(out, c.Dir))
		b, keyB, errB := p.Preview(s.ctx, s.use(out, c.Dir))
		if errA == nil && errB == nil && (a != b || keyA != keyB) {
			s.fault("%s: two previews differ, so that no approval could hold", c.Input)
		}
	}
}

func (s *suite) refused(c Case, out json.RawMessage, err error) {
	switch {
	case err == nil:
		s.fault("Check passes %s as %s", c.Input, out)
	case strings.TrimSpace(err.Error()) == "" || !utf8.ValidString(err.Error()):
		s.fault("Check refuses %s with the text %q", c.Input, err)
	case !strings.Contains(err.Error(), c.Want):
		s.fault("Check refuses %s, but the text lacks %q: %v", c.Input, c.Want, err)
	}
}

// checked looks at what Check made of a good input, and of damaged copies.
func (s *suite) checked(c Case, out json.RawMessage) {
	if _, err := s.in.Coerce(out); err != nil {
		s.fault("what Check makes of %s does not fit the schema: %v", c.Input, err)
	}
	if again, err := s.check(string(out)); err != nil || !bytes.Equal(again, out) {
		s.fault("Check is not settled: %s became %s and then %s, %v", c.Input, out, again, err)
	}
	quoted, err := json.Marshal(string(out))
	if err != nil {
		s.fault("%s: %v", c.Input, err)
		return
	}
	twice, err := s.check(string(quoted))
	if err != nil || !bytes.Equal(uzda.Canonical(twice), uzda.Canonical(out)) {
		s.fault("the input encoded twice, %s, became %s, %v", quoted, twice, err)
	}
	var obj map[string]json.RawMessage
	var told struct {
		Required             []string        `json:"required"`
		AdditionalProperties json.RawMessage `json:"additionalProperties"`
	}
	if json.Unmarshal(out, &obj) != nil || json.Unmarshal(s.spec.Input, &told) != nil {
		return
	}
	for _, name := range told.Required {
		kept := obj[name]
		delete(obj, name)
		s.damaged(obj, name, "without "+name)
		obj[name] = kept
	}
	if string(told.AdditionalProperties) == "false" {
		const name = "no_such_field"
		obj[name] = json.RawMessage("1")
		s.damaged(obj, name, "with an unknown field")
	}
}

func (s *suite) damaged(obj map[string]json.RawMessage, name, how string) {
	raw, err := json.Marshal(obj)
	if err != nil {
		s.fault("%v", err)
		return
	}
	if out, err := s.check(string(raw)); err == nil {
		s.fault("Check passes an input %s: %s", how, out)
	} else if !strings.Contains(err.Error(), name) {
		s.fault("the error for an input %s does not name it: %v", how, err)
	}
}

func (s *suite) use(in json.RawMessage, dir string) uzda.Use {
	return uzda.Use{Session: "tooltest", ID: "1.1", Name: s.spec.Name, Input: in, Key: "tooltest-1.1", Attempt: 1, Dir: dir}
}

func (s *suite) call(ctx context.Context, in json.RawMessage, dir string) (res uzda.Result, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return s.tool.Call(ctx, s.use(in, dir))
}

// result looks at the form of a result.
func (s *suite) result(c Case, res uzda.Result) {
	raw, err := json.Marshal(res.Blocks)
	if err != nil {
		s.fault("%s: the result cannot be encoded: %v", c.Input, err)
	}
	for _, b := range append(res.Blocks[:len(res.Blocks):len(res.Blocks)], res.People...) {
		if t, ok := b.(uzda.Text); ok && !utf8.ValidString(t.Text) {
			s.fault("%s: the result is not UTF-8: %.100q", c.Input, t.Text)
		}
	}
	if res.Pending == nil && (len(res.Blocks) == 0 || string(raw) == "[]") {
		s.fault("%s: the result says nothing", c.Input)
	}
	if res.IsError && strings.TrimSpace(res.Blocks.String()) == "" {
		s.fault("%s: the error says nothing", c.Input)
	}
	if strings.Contains(res.Blocks.String(), "goroutine ") && strings.Contains(res.Blocks.String(), ".go:") {
		s.fault("%s: the model is shown a stack trace", c.Input)
	}
}

// cancelled: when the context ends, Call returns within a second.
func (s *suite) cancelled(c Case, in json.RawMessage) {
	ctx, cancel := context.WithCancel(s.ctx)
	cancel()
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = s.call(ctx, in, c.Dir) // whatever it says
	}()
	const slack = 2 // a busy machine is not the tool's fault
	late := time.NewTimer(slack * time.Second)
	defer late.Stop()
	select {
	case <-done:
	case <-late.C:
		s.fault("%s: Call goes on after its context ended", c.Input)
	}
}

// together runs the good cases side by side; the race detector watches.
func (s *suite) together(cases []Case) {
	var wg sync.WaitGroup
	var mu sync.Mutex
	for _, c := range cases {
		if c.Bad {
			continue
		}
		in, err := s.check(c.Input)
		if err != nil {
			continue // reported already
		}
		for range 4 {
			wg.Go(func() {
				res, err := s.call(s.ctx, bytes.Clone(in), c.Dir)
				mu.Lock()
				defer mu.Unlock()
				if err != nil {
					s.fault("%s: a concurrent call ends the turn: %v", c.Input, err)
					return
				}
				s.result(c, res)
			})
		}
	}
	wg.Wait()
}
