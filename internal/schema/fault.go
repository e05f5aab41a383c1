package schema

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"

	js "github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"github.com/uzda-dev/uzda"
)

// A Fault is one bad field: where (a JSON pointer, "" for the whole input) and
// what is wrong with it and how to mend it, as the end of a sentence.
type Fault struct{ Path, Text string }

// An Error names every bad field of an input, in an order that does not change.
type Error struct{ Faults []Fault }

// Error has one line for each fault; a model can act on it.
func (e *Error) Error() string {
	const most = 20
	var b strings.Builder
	for i, f := range e.Faults {
		if i > 0 {
			b.WriteByte('\n')
		}
		if i == most {
			fmt.Fprintf(&b, "and %d more", len(e.Faults)-most)
			break
		}
		path := f.Path
		if path == "" {
			path = "the input"
		}
		b.WriteString(path + " " + f.Text)
	}
	return b.String()
}

// explain turns the validator's tree of errors into faults.
func (s *Schema) explain(v any, err error) *Error {
	e := &Error{}
	if tree, ok := err.(*js.ValidationError); ok { //nolint:errorlint // the validator returns it bare
		s.collect(v, tree, &e.Faults)
	}
	if len(e.Faults) == 0 {
		e.Faults = []Fault{{Text: "does not fit the schema of the tool"}}
	}
	slices.SortFunc(e.Faults, func(a, b Fault) int {
		if c := strings.Compare(a.Path, b.Path); c != 0 {
			return c
		}
		return strings.Compare(a.Text, b.Text)
	})
	e.Faults = slices.Compact(e.Faults)
	return e
}

// collect walks the tree; groups and references stand for their causes.
func (s *Schema) collect(v any, e *js.ValidationError, out *[]Fault) {
	if e.ErrorKind == nil {
		return // from where only yes or no was asked
	}
	path := pointer(e.InstanceLocation)
	at := s.at[e.SchemaURL]
	add := func(path, text string) { *out = append(*out, Fault{path, text}) }
	switch k := e.ErrorKind.(type) {
	case *kind.Required:
		for _, name := range k.Missing {
			add(path+pointer([]string{name}), "is missing: "+s.property(at, name))
		}
	case *kind.AdditionalProperties:
		for _, name := range k.Properties {
			add(path+pointer([]string{name}), "is unknown: "+known(at, name))
		}
	case *kind.FalseSchema:
		add(path, "is not allowed: leave it out")
	case *kind.AnyOf:
		s.union(v, e, out)
	case *kind.OneOf:
		if len(k.Subschemas) > 0 {
			add(path, "fits more than one of the allowed forms: send the fields of one of them only")
			return
		}
		s.union(v, e, out)
	case *kind.DependentRequired:
		for _, name := range k.Missing {
			add(path+pointer([]string{name}), fmt.Sprintf("is missing: it is required beside %s", k.Prop))
		}
	case *kind.PropertyNames:
		add(path+pointer([]string{k.Property}), "has a name that is not allowed")
	default:
		if len(e.Causes) > 0 {
			for _, c := range e.Causes {
				s.collect(v, c, out)
			}
			return
		}
		add(path, value(lookup(v, e.InstanceLocation), at, e.ErrorKind))
	}
}

// union explains a value that fits no branch: by the one branch that it was
// meant for, where there is one, else by what the branches allow.
func (s *Schema) union(v any, e *js.ValidationError, out *[]Fault) {
	got := lookup(v, e.InstanceLocation)
	var meant []*js.ValidationError
	var forms []string
	for _, c := range e.Causes {
		at := s.at[c.SchemaURL]
		if c.ErrorKind != nil && !isType(c, len(e.InstanceLocation)) {
			meant = append(meant, c)
		}
		if form := describe(at, 0); !slices.Contains(forms, form) {
			forms = append(forms, form)
		}
	}
	if len(meant) == 1 {
		s.collect(v, meant[0], out)
		return
	}
	*out = append(*out, Fault{pointer(e.InstanceLocation), "is " + show(got) + ": must be " + strings.Join(forms, ", or ")})
}

// isType says whether a branch was refused for the type of the value itself.
func isType(e *js.ValidationError, depth int) bool {
	if _, ok := e.ErrorKind.(*kind.Type); ok {
		return len(e.InstanceLocation) == depth
	}
	return len(e.Causes) == 1 && isType(e.Causes[0], depth)
}

// value explains a keyword that a single value breaks.
func value(v any, at *js.Schema, k js.ErrorKind) string {
	is := "is " + show(v)
	switch k := k.(type) {
	case *kind.Type:
		return is + ": must be " + wanted(v, at)
	case *kind.Enum:
		return is + ": must be " + oneOf(k.Want) + near(v, k.Want)
	case *kind.Const:
		return is + ": must be " + literal(k.Want)
	case *kind.Minimum:
		return is + ": must be at least " + decimal(k.Want)
	case *kind.Maximum:
		return is + ": must be at most " + decimal(k.Want)
	case *kind.ExclusiveMinimum:
		return is + ": must be more than " + decimal(k.Want)
	case *kind.ExclusiveMaximum:
		return is + ": must be less than " + decimal(k.Want)
	case *kind.MultipleOf:
		return is + ": must be a multiple of " + decimal(k.Want)
	case *kind.MinLength:
		return fmt.Sprintf("has %d characters: must have at least %d", k.Got, k.Want)
	case *kind.MaxLength:
		return fmt.Sprintf("has %d characters: must have at most %d", k.Got, k.Want)
	case *kind.MinItems:
		return fmt.Sprintf("has %d items: must have at least %d", k.Got, k.Want)
	case *kind.MaxItems:
		return fmt.Sprintf("has %d items: must have at most %d", k.Got, k.Want)
	case *kind.MinProperties:
		return fmt.Sprintf("has %d fields: must have at least %d", k.Got, k.Want)
	case *kind.MaxProperties:
		return fmt.Sprintf("has %d fields: must have at most %d", k.Got, k.Want)
	case *kind.UniqueItems:
		return fmt.Sprintf("has equal items at %d and %d: each may stand once", k.Duplicates[0], k.Duplicates[1])
	case *kind.Pattern:
		return is + ": must match the pattern " + k.Want + note(at)
	case *kind.Format:
		if k.Want == "date-time" {
			return is + ": must be a time such as 2026-01-31T09:30:00Z"
		}
		return is + ": must have the format " + k.Want
	}
	if words := k.KeywordPath(); len(words) > 0 {
		return is + ": breaks " + words[len(words)-1] + " of the schema"
	}
	return is + ": does not fit the schema"
}

// wanted says what type is wanted and what to do about the usual mistakes.
func wanted(v any, at *js.Schema) string {
	want, k := describe(at, 0), kindsOf(at)
	switch v := v.(type) {
	case string:
		t := strings.TrimSpace(v)
		if k&(kList|kObject) != 0 && t != "" && (t[0] == '[' || t[0] == '{') {
			if _, _, err := decode([]byte(t)); err != nil {
				return want + ", sent as JSON and not as text; the text is not valid JSON: " + err.Error()
			}
		}
		if k&(kInteger|kBool) != 0 && k&kString == 0 && spells(t) {
			return want + ", without quotes"
		}
	case json.Number, bool:
		if k&kString != 0 {
			return want + ", in quotes"
		}
	case []any:
		if k&kList == 0 {
			return want + ", not a list"
		}
	case nil:
		return want + "; leave the field out only where it is optional"
	}
	return want
}

// spells says whether text is meant as a number or a boolean.
func spells(text string) bool {
	_, err := strconv.ParseFloat(text, 64)
	return err == nil || strings.EqualFold(text, "true") || strings.EqualFold(text, "false")
}

// property describes a field that is missing.
func (s *Schema) property(at *js.Schema, name string) string {
	if at != nil {
		if p, ok := at.Properties[name]; ok {
			return describe(p, 0) + note(p)
		}
	}
	return "it is required"
}

// describe says in words what a schema wants.
func describe(s *js.Schema, depth int) string {
	if s == nil {
		return "another value"
	}
	if s.Enum != nil {
		return oneOf(s.Enum.Values)
	}
	if s.Const != nil {
		return literal(*s.Const)
	}
	k := kindsOf(s)
	if k == kAll {
		return "any value"
	}
	var words []string
	add := func(bit kinds, word string) {
		if k&bit != 0 {
			words = append(words, word)
		}
	}
	add(kString, "a string")
	if k&kNumber != 0 {
		words = append(words, "a number")
	} else {
		add(kInteger, "an integer")
	}
	add(kBool, "true or false")
	add(kObject, "an object")
	if k&kList != 0 {
		list := "a list"
		if items := itemSchema(s, 0); items != nil && depth < 2 {
			if of := describe(items, depth+1); of != "any value" {
				list += " (each item " + of + ")"
			}
		}
		words = append(words, list)
	}
	add(kNull, "null")
	return strings.Join(words, " or ")
}

// note adds the description of a field, in short.
func note(s *js.Schema) string {
	if s == nil {
		return ""
	}
	text := uzda.Clip(strings.Join(strings.Fields(s.Description), " "), 120)
	if text == "" {
		return ""
	}
	if c := text[0]; c >= 'a' && c <= 'z' {
		return ", " + strings.TrimSuffix(text, ".")
	}
	return " (" + text + ")"
}

// known says what the fields of an object are, and which one was meant.
func known(at *js.Schema, name string) string {
	if at == nil || len(at.Properties) == 0 {
		return "there are no fields here; leave it out"
	}
	names := slices.Sorted(maps.Keys(at.Properties))
	if n := uzda.Nearest(name, names, 1); len(n) > 0 {
		return "the nearest known field is " + n[0]
	}
	const most = 20
	if len(names) > most {
		names = append(names[:most:most], "…")
	}
	return "the known fields are " + strings.Join(names, ", ")
}

func near(v any, want []any) string {
	text, ok := v.(string)
	if !ok {
		return ""
	}
	var names []string
	for _, w := range want {
		if s, ok := w.(string); ok {
			names = append(names, s)
		}
	}
	if n := uzda.Nearest(text, names, 1); len(n) > 0 && len(names) > 1 {
		return "; the nearest is " + literal(n[0])
	}
	return ""
}

func oneOf(values []any) string {
	const most = 30
	var out []string
	for i, v := range values {
		if i == most {
			out = append(out, fmt.Sprintf("or %d more", len(values)-most))
			break
		}
		out = append(out, literal(v))
	}
	if len(out) == 1 {
		return out[0]
	}
	return "one of " + strings.Join(out, ", ")
}

// show writes a value as a fault names it.
func show(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case string:
		return "the text " + literal(v)
	case []any:
		return "a list"
	case map[string]any:
		return "an object"
	}
	return literal(v)
}

// literal writes a value as JSON, in short.
func literal(v any) string {
	out, err := encode(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return uzda.Clip(string(out), 60)
}

func decimal(r *big.Rat) string {
	if r.IsInt() {
		return r.Num().String()
	}
	f, _ := r.Float64()
	return fmt.Sprint(f)
}
