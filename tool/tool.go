// Package tool makes tools of Go functions.
package tool

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"regexp"
	"strings"
	"time"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/internal/schema"
)

// A Tool is a Go function as a tool: its input is a struct, checked against the
// schema of that struct before the function runs.
type Tool struct {
	spec   uzda.ToolSpec
	schema *schema.Schema
	fits   func(json.RawMessage) error
	run    func(ctx context.Context, input json.RawMessage) (any, error)
}

var (
	_ uzda.Tool    = (*Tool)(nil)
	_ uzda.Checker = (*Tool)(nil)
)

// New makes a tool. Its schema comes from In, a struct: names from `json` tags,
// descriptions from `doc`, allowed values from `enum:"a,b"`; a pointer, omitempty
// or omitzero make a field optional.
//
// What fn returns becomes the result. A string is the text; bytes are too, if
// they are UTF-8, and are described otherwise; [uzda.Result] and [uzda.Blocks]
// stay as they are; anything else is compact JSON. An error becomes a result
// that the model reads and reacts to, unless it is marked by [Fatal]: that ends
// the turn. A panic becomes an error result too.
//
// New panics if the name or In cannot be used. For more options see [Func].
func New[In, Out any](name, description string, effects uzda.Effects, fn func(ctx context.Context, in In) (Out, error)) *Tool {
	return Func[In, Out]{Name: name, Description: description, Effects: effects, Call: fn}.plain()
}

// Func describes a tool in full; see [New] for what In, Out and errors mean.
type Func[In, Out any] struct {
	Name        string // verb_object; letters, digits, _ and -, at most 64
	Description string // when to use it, and when not
	Effects     uzda.Effects
	Once        bool // the same arguments run once: pay, send, create
	Final       bool // its input is the answer of the turn; Call may then be nil
	Call        func(ctx context.Context, in In) (Out, error)
	// Preview is what a person approves, and what that depends on (a version, a
	// recipient). Optional.
	Preview func(ctx context.Context, in In) (text, preconditions string, err error)
	// Probe says whether the use with this key took effect. Optional.
	Probe func(ctx context.Context, key string) (bool, error)
	// Timeout bounds a call, see [Timeout]; 0 is no bound but the turn's.
	Timeout time.Duration
	// Retry repeats a call, see [Retry]; nil is never.
	Retry *Retry
}

// Tool makes the tool. It is an [uzda.Previewer] and an [uzda.Prober] only if
// Preview and Probe are there. It panics on what [New] panics on.
func (f Func[In, Out]) Tool() uzda.Tool {
	var t base = f.plain()
	if f.Timeout > 0 {
		t = wrap(t, Timeout{After: f.Timeout}.step(t.attempt, f.Effects))
	}
	if f.Retry != nil {
		t = wrap(t, f.Retry.step(t.attempt, f.Effects))
	}
	var p uzda.Previewer
	if f.Preview != nil {
		p = preview(func(ctx context.Context, use uzda.Use) (string, string, error) {
			var in In
			if err := decode(use.Input, &in, true); err != nil {
				return "", "", err
			}
			return f.Preview(withUse(ctx, use), in)
		})
	}
	var q uzda.Prober
	if f.Probe != nil {
		q = probe(f.Probe)
	}
	return dress(t, p, q)
}

var nameForm = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

func (f Func[In, Out]) plain() *Tool {
	s, err := schema.Of(reflect.TypeFor[In]())
	switch {
	case !nameForm.MatchString(f.Name):
		panic(fmt.Sprintf("tool %q: a name is 1 to 64 letters, digits, _ and -", f.Name))
	case err != nil:
		panic(fmt.Sprintf("tool %s: its input: %v", f.Name, err))
	case f.Call == nil && !f.Final:
		panic(fmt.Sprintf("tool %s: it has no function", f.Name))
	case f.Effects.ReadOnly && (f.Effects.Irreversible || f.Once):
		panic(fmt.Sprintf("tool %s: what is read-only is neither irreversible nor once", f.Name))
	}
	digits := loose(reflect.TypeFor[In](), map[reflect.Type]bool{})
	simple := flat(reflect.TypeFor[In]())
	fits := func(raw json.RawMessage) error {
		if simple && !long(raw) {
			return nil
		}
		return decode(raw, new(In), digits)
	}
	return &Tool{
		spec: uzda.ToolSpec{Name: f.Name, Description: f.Description, Input: s.JSON(),
			Effects: f.Effects, Once: f.Once, Final: f.Final, Source: "go"},
		schema: s,
		fits:   fits,
		run: func(ctx context.Context, raw json.RawMessage) (any, error) {
			var in In
			if err := decode(raw, &in, digits); err != nil {
				return nil, &Error{Text: err.Error(), Code: uzda.CodeInvalidInput, Effect: uzda.EffectNone}
			}
			if f.Call == nil {
				return struct{}{}, nil
			}
			return f.Call(ctx, in)
		},
	}
}

// Spec says what the tool is.
func (t *Tool) Spec() uzda.ToolSpec { return t.spec }

// Check validates the input and mends it where nothing is lost: numbers and
// lists in quotes, a null of an optional field. Its error names each bad field
// and what to do about it.
func (t *Tool) Check(input json.RawMessage) (json.RawMessage, error) {
	out, err := t.schema.Coerce(input)
	if err != nil {
		return nil, err
	}
	if err := t.fits(out); err != nil { // what a schema cannot say: 64 bits, a date that exists
		return nil, err
	}
	return out, nil
}

// Call runs the function.
func (t *Tool) Call(ctx context.Context, use uzda.Use) (uzda.Result, error) {
	res, err := t.attempt(ctx, use)
	return settle(ctx, t.spec, res, err)
}

// attempt runs the function once; its error is still the function's own.
func (t *Tool) attempt(ctx context.Context, use uzda.Use) (res uzda.Result, err error) {
	defer func() {
		if p := recover(); p != nil {
			res, err = crashed(p), nil
		}
	}()
	out, err := t.run(withUse(ctx, use), use.Input)
	if err != nil {
		return uzda.Result{}, err
	}
	return render(out), nil
}

type useKey struct{}

func withUse(ctx context.Context, use uzda.Use) context.Context {
	return context.WithValue(ctx, useKey{}, use)
}

// UseFrom returns the use that a function runs for: its session, its directory,
// its attempt and its key, which is the same for every attempt and meant for
// the Idempotency-Key of outgoing requests. ok is false outside of a call.
func UseFrom(ctx context.Context) (use uzda.Use, ok bool) {
	use, ok = ctx.Value(useKey{}).(uzda.Use)
	return use, ok
}

// flat says whether a struct has fields of texts, whole numbers and truth values
// only, so that whatever fits its schema fits it too, but for a number that is too
// long.
func flat(t reflect.Type) bool {
	if t.Kind() != reflect.Struct || reflect.PointerTo(t).NumMethod() > 0 {
		return false
	}
	for i := range t.NumField() {
		f := t.Field(i)
		plain := f.Type == reflect.TypeFor[string]() || f.Type == reflect.TypeFor[bool]() || f.Type == reflect.TypeFor[int]() || f.Type == reflect.TypeFor[int64]()
		if !plain || f.Anonymous || strings.Contains(f.Tag.Get("json"), ",string") {
			return false
		}
	}
	return true
}

// long says whether there is a run of digits that 64 bits may not hold, or that a
// machine of 32 bits does not.
func long(raw json.RawMessage) bool {
	run, most := 0, 18
	if math.MaxInt == math.MaxInt32 {
		most = 9
	}
	for _, c := range raw {
		if c < '0' || c > '9' {
			run = 0
		} else if run++; run > most {
			return true
		}
	}
	return false
}

// loose says whether a type has room for a value of any type.
func loose(t reflect.Type, seen map[reflect.Type]bool) bool {
	if seen[t] {
		return false
	}
	seen[t] = true
	switch t.Kind() {
	case reflect.Interface:
		return true
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		return loose(t.Elem(), seen)
	case reflect.Struct:
		for i := range t.NumField() {
			if loose(t.Field(i).Type, seen) {
				return true
			}
		}
	}
	return false
}

// decode reads a checked input. With digits, numbers in fields of type any keep
// theirs as [json.Number], which costs more.
func decode(raw json.RawMessage, into any, digits bool) error {
	if len(bytes.TrimSpace(raw)) == 0 {
		raw = json.RawMessage("{}")
	}
	var err error
	if digits {
		d := json.NewDecoder(bytes.NewReader(raw))
		d.UseNumber()
		err = d.Decode(into)
	} else {
		err = json.Unmarshal(raw, into)
	}
	if err == nil {
		return nil
	}
	if bad := (*json.UnmarshalTypeError)(nil); errors.As(err, &bad) && bad.Field != "" {
		return fmt.Errorf("/%s is %s: it does not fit %v; send a smaller or simpler value", pointer(bad.Field), bad.Value, bad.Type)
	}
	return fmt.Errorf("the input cannot be read: %w", err)
}

// pointer turns the dotted path of encoding/json into that of a JSON pointer.
func pointer(field string) string {
	return string(bytes.ReplaceAll([]byte(field), []byte("."), []byte("/")))
}
