package schema

import (
	"bytes"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	js "github.com/santhosh-tekuri/jsonschema/v6"
)

// Coerce returns the input as the schema wants it. What is valid comes back as
// it is; what is not is changed only where nothing is lost:
//
//   - nothing, "" and null become {}
//   - the input as JSON text in a string, once or several times, is unpacked
//   - "5", "3.5" and "true" become a number or a boolean, written exactly as
//     JSON writes them, where that is wanted
//   - JSON text of a list or an object is unpacked where that is wanted
//   - a null is left out where the property is optional and may not be null
//   - 5.0 and 5e0 become 5 where an integer is wanted
//
// Text is never changed where text is allowed, and numbers keep their digits.
// Everything else is an *[Error] that names each bad field and how to mend it.
func (s *Schema) Coerce(raw json.RawMessage) (json.RawMessage, error) {
	if s.flat.takes(raw) {
		return raw, nil
	}
	v, frac, changed, err := unpack(raw)
	if err != nil {
		return nil, err
	}
	if _, ok := v.(map[string]any); !ok {
		return nil, &Error{[]Fault{{Text: "is " + show(v) + ": must be an object with the fields of the tool"}}}
	}
	bad := s.root.Validate(v)
	if bad != nil {
		f := fixer{left: maxSteps}
		if w := f.fix(s.root, v, 0); f.changed {
			v, changed, frac = w, true, true
			bad = s.root.Validate(v)
		}
	}
	if bad != nil {
		return nil, s.explain(v, bad)
	}
	if frac {
		w := wholes(s.root, v, 0)
		if !reflect.DeepEqual(v, w) {
			v, changed = w, true
		}
	}
	if !changed {
		return raw, nil
	}
	return encode(v)
}

// unpack decodes the whole input. A model that has nothing to say sends "", null
// or nothing; one that encodes twice sends its object as JSON text.
func unpack(raw json.RawMessage) (v any, frac, changed bool, err error) {
	const nested = 4
	text := []byte(raw)
	for range nested {
		text = bytes.Trim(text, " \t\r\n") // what JSON takes for space, no more
		if len(text) == 0 || string(text) == "null" {
			return map[string]any{}, false, true, nil
		}
		if v, frac, err = decode(text); err != nil {
			return nil, false, false, &Error{[]Fault{{Text: "is not valid JSON: " + err.Error() + "; send one JSON object"}}}
		}
		inner, ok := v.(string)
		if !ok {
			break
		}
		if t := strings.TrimSpace(inner); t != "" && t != "null" && !strings.HasPrefix(t, "{") && !strings.HasPrefix(t, `"`) {
			break // plain text, which is reported as such
		}
		text, changed = []byte(inner), true
	}
	return v, frac, changed, nil
}

// maxSteps bounds the search for a reading of one input, since a schema that
// refers to itself may have endless ones.
const maxSteps = 20_000

type fixer struct {
	left    int
	changed bool
}

// fix returns v as s wants it, or as near as it gets. It never changes v itself.
func (f *fixer) fix(s *js.Schema, v any, depth int) any {
	const deep = 200
	if f.left--; f.left < 0 || depth > deep || s == nil || s.Bool != nil || s.Validate(v) == nil {
		return v
	}
	allowed := kindsOf(s)
	if text, ok := v.(string); ok {
		if allowed&kString != 0 {
			return v // text stays text, also where it is the wrong one
		}
		w, ok := read(text, allowed)
		if !ok {
			return v
		}
		v, f.changed = w, true
	}
	if s.Ref != nil {
		v = f.fix(s.Ref, v, depth+1)
	}
	for _, sub := range s.AllOf {
		v = f.fix(sub, v, depth+1)
	}
	v = f.choose(s.AnyOf, v, depth)
	v = f.choose(s.OneOf, v, depth)
	switch v := v.(type) {
	case map[string]any:
		return f.object(s, v, depth)
	case []any:
		return f.list(s, v, depth)
	}
	return v
}

// choose tries the branches of a union. It decides only where a single reading
// comes out; two would be a guess.
func (f *fixer) choose(branches []*js.Schema, v any, depth int) any {
	if len(branches) == 0 {
		return v
	}
	var found []any
	for _, b := range branches {
		if b.Validate(v) == nil {
			return v
		}
		try := fixer{left: f.left}
		w := try.fix(b, v, depth+1)
		f.left = try.left
		if try.changed && b.Validate(w) == nil && !slices.ContainsFunc(found, func(x any) bool { return reflect.DeepEqual(x, w) }) {
			found = append(found, w)
		}
	}
	if len(found) != 1 {
		return v
	}
	f.changed = true
	return found[0]
}

func (f *fixer) object(s *js.Schema, obj map[string]any, depth int) any {
	out := obj
	own := func() {
		if f.changed = true; same(out, obj) {
			out = maps.Clone(obj)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(obj)) {
		v := obj[key]
		if p, ok := s.Properties[key]; ok && v == nil && !slices.Contains(s.Required, key) && p.Validate(nil) != nil {
			own()
			delete(out, key) // a null of an optional property says that it is absent
			continue
		}
		for _, p := range memberSchemas(s, key) {
			try := fixer{left: f.left}
			w := try.fix(p, v, depth+1)
			f.left = try.left
			if try.changed {
				own()
				out[key], v = w, w
			}
		}
	}
	return out
}

// same says whether two maps are one.
func same(a, b map[string]any) bool {
	return reflect.ValueOf(a).Pointer() == reflect.ValueOf(b).Pointer()
}

// memberSchemas returns the schemas for one member of an object.
func memberSchemas(s *js.Schema, key string) []*js.Schema {
	var out []*js.Schema
	if p, ok := s.Properties[key]; ok {
		out = append(out, p)
	}
	for re, p := range s.PatternProperties {
		if re.MatchString(key) {
			out = append(out, p)
		}
	}
	if p, ok := s.AdditionalProperties.(*js.Schema); ok && len(out) == 0 {
		out = append(out, p)
	}
	return out
}

func (f *fixer) list(s *js.Schema, list []any, depth int) any {
	out := list
	for i, v := range list {
		p := itemSchema(s, i)
		if p == nil {
			continue
		}
		try := fixer{left: f.left}
		w := try.fix(p, v, depth+1)
		f.left = try.left
		if !try.changed {
			continue
		}
		if &out[0] == &list[0] {
			out = slices.Clone(list)
		}
		f.changed = true
		out[i] = w
	}
	return out
}

// itemSchema returns the schema of an item, in the words of every draft.
func itemSchema(s *js.Schema, i int) *js.Schema {
	if i < len(s.PrefixItems) {
		return s.PrefixItems[i]
	}
	if s.Items2020 != nil {
		return s.Items2020
	}
	switch items := s.Items.(type) {
	case *js.Schema:
		return items
	case []*js.Schema:
		if i < len(items) {
			return items[i]
		}
		p, _ := s.AdditionalItems.(*js.Schema)
		return p
	}
	return nil
}

// read takes text for what it spells, if that is allowed and nothing is lost.
func read(text string, allowed kinds) (any, bool) {
	switch text {
	case "true", "false":
		return text == "true", allowed&kBool != 0
	case "null":
		return nil, allowed&kNull != 0
	}
	if allowed&kInteger != 0 {
		if ok, whole := isNumber(text); ok {
			return json.Number(text), whole || allowed&kNumber != 0
		}
	}
	inner := strings.TrimSpace(text)
	if inner == "" || inner[0] != '{' && inner[0] != '[' {
		return nil, false
	}
	v, _, err := decode([]byte(inner))
	if err != nil || kindOf(v)&allowed == 0 {
		return nil, false
	}
	return v, true
}

// wholes writes the numbers of a valid v that stand for integers as integers:
// 5.0 is one to the schema, but not to most programs behind it.
func wholes(s *js.Schema, v any, depth int) any {
	const deep = 200
	if s == nil || depth > deep {
		return v
	}
	if n, ok := v.(json.Number); ok {
		if k := kindsOf(s); k&kInteger != 0 && k&kNumber == 0 {
			n, _ = digits(n)
		}
		return n
	}
	v = wholes(s.Ref, v, depth+1)
	for _, list := range [][]*js.Schema{s.AllOf, s.AnyOf, s.OneOf} {
		for _, b := range list {
			if b.Validate(v) == nil {
				v = wholes(b, v, depth+1)
			}
		}
	}
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, x := range v {
			for _, p := range memberSchemas(s, key) {
				x = wholes(p, x, depth+1)
			}
			out[key] = x
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, x := range v {
			out[i] = wholes(itemSchema(s, i), x, depth+1)
		}
		return out
	}
	return v
}

// pointer writes the path of a value as a JSON pointer.
func pointer(path []string) string {
	var b strings.Builder
	for _, tok := range path {
		b.WriteByte('/')
		b.WriteString(strings.ReplaceAll(strings.ReplaceAll(tok, "~", "~0"), "/", "~1"))
	}
	return b.String()
}

// lookup returns the value at a path.
func lookup(v any, path []string) any {
	for _, tok := range path {
		switch x := v.(type) {
		case map[string]any:
			v = x[tok]
		case []any:
			i, err := strconv.Atoi(tok)
			if err != nil || i < 0 || i >= len(x) {
				return nil
			}
			v = x[i]
		}
	}
	return v
}
