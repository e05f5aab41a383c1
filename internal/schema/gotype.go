package schema

import (
	"bytes"
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"

	gojs "github.com/google/jsonschema-go/jsonschema"
)

// For makes the schema of a struct type, see [Of].
func For[T any]() (*Schema, error) { return Of(reflect.TypeFor[T]()) }

// Of makes the schema of a struct type and compiles it; equal types give equal
// bytes. It is inline, refuses unknown fields and lists fields in the order of
// the struct. Names come from `json` tags, descriptions from `doc`, allowed
// values from `enum:"a,b"` (of the items, for a list). A field is optional if it
// is a pointer or has omitempty or omitzero. Formats are asserted.
func Of(t reflect.Type) (*Schema, error) {
	if t == nil || t.Kind() != reflect.Struct {
		return nil, fmt.Errorf("schema of %v: it is no struct", t)
	}
	known := map[reflect.Type]*gojs.Schema{}
	if err := special(t, known, map[reflect.Type]bool{}); err != nil {
		return nil, fmt.Errorf("schema of %v: %w", t, err)
	}
	s, err := gojs.ForType(t, &gojs.ForOptions{TypeSchemas: known})
	if err != nil {
		return nil, fmt.Errorf("schema of %v: %w", t, err)
	}
	if err := dress(s, t, known); err != nil {
		return nil, fmt.Errorf("schema of %v: %w", t, err)
	}
	raw, err := json.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("schema of %v: %w", t, err)
	}
	return compile(plainHTML(raw), true)
}

var (
	timeType = reflect.TypeFor[time.Time]()
	rawType  = reflect.TypeFor[json.RawMessage]()
	textual  = reflect.TypeFor[encoding.TextUnmarshaler]()
	jsonable = reflect.TypeFor[json.Unmarshaler]()
)

// special finds the types that do not look in JSON as they look in Go.
func special(t reflect.Type, known map[reflect.Type]*gojs.Schema, seen map[reflect.Type]bool) error {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if seen[t] {
		return nil
	}
	seen[t] = true
	switch {
	case t == timeType:
		known[t] = &gojs.Schema{Type: "string", Format: "date-time"}
		return nil
	case t == rawType:
		known[t] = &gojs.Schema{}
		return nil
	case reflect.PointerTo(t).Implements(jsonable):
		known[t] = &gojs.Schema{}
		return nil
	case reflect.PointerTo(t).Implements(textual):
		known[t] = &gojs.Schema{Type: "string"}
		return nil
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8:
		known[t] = &gojs.Schema{Type: "string", ContentEncoding: "base64"}
		return nil
	}
	switch t.Kind() {
	case reflect.Slice, reflect.Array, reflect.Map:
		return special(t.Elem(), known, seen)
	case reflect.Struct:
		for _, f := range reflect.VisibleFields(t) {
			name, opts, _ := strings.Cut(f.Tag.Get("json"), ",")
			if f.Anonymous && name != "" && name != "-" {
				return fmt.Errorf("the embedded field %s has a json name; make it a field with a name", f.Name)
			}
			if strings.Contains(","+opts+",", ",string,") {
				return fmt.Errorf("the field %s has the json option string, which no schema can say", f.Name)
			}
			if (f.IsExported() || f.Anonymous) && name != "-" {
				if err := special(f.Type, known, seen); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// dress adds to the schema of a type what its tags say, and takes null out:
// what may be left out is optional instead.
func dress(s *gojs.Schema, t reflect.Type, known map[reflect.Type]*gojs.Schema) error {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if len(s.Types) == 2 && s.Types[0] == "null" {
		s.Type, s.Types = s.Types[1], nil
	}
	if known[t] != nil {
		return nil
	}
	switch t.Kind() {
	case reflect.Slice, reflect.Array:
		if err := dress(s.Items, t.Elem(), known); err != nil {
			return err
		}
		anyValue(s.Items)
	case reflect.Map:
		return dress(s.AdditionalProperties, t.Elem(), known)
	case reflect.Struct:
		return dressStruct(s, t, known)
	}
	return nil
}

func dressStruct(s *gojs.Schema, t reflect.Type, known map[reflect.Type]*gojs.Schema) error {
	if s.Properties == nil {
		s.Properties = map[string]*gojs.Schema{}
	}
	optional := map[string]bool{}
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous || !f.IsExported() || name == "-" {
			continue
		}
		if name == "" {
			name = f.Name
		}
		p := s.Properties[name]
		if p == nil {
			continue
		}
		if err := dress(p, f.Type, known); err != nil {
			return err
		}
		if err := allow(p, f); err != nil {
			return err
		}
		p.Description = f.Tag.Get("doc")
		anyValue(p)
		optional[name] = f.Type.Kind() == reflect.Pointer
	}
	kept := s.Required[:0]
	for _, name := range s.Required {
		if !optional[name] {
			kept = append(kept, name)
		}
	}
	s.Required = kept
	return nil
}

// anyValue describes a schema that says nothing, since it would be written as
// "true", which some providers do not take.
func anyValue(s *gojs.Schema) {
	if raw, err := json.Marshal(s); err == nil && string(raw) == "true" {
		s.Description = "any JSON value"
	}
}

// allow reads the enum tag of a field.
func allow(p *gojs.Schema, f reflect.StructField) error {
	tag, ok := f.Tag.Lookup("enum")
	if !ok {
		return nil
	}
	if p.Type == "array" {
		p = p.Items
	}
	for _, word := range strings.Split(tag, ",") {
		switch p.Type {
		case "string":
			p.Enum = append(p.Enum, word)
		case "integer":
			n, err := strconv.ParseInt(word, 10, 64)
			if err != nil {
				return fmt.Errorf("the enum of field %s: %q is no integer", f.Name, word)
			}
			p.Enum = append(p.Enum, n)
		default:
			return fmt.Errorf("the field %s has an enum, but is neither text nor an integer", f.Name)
		}
	}
	return nil
}

// plainHTML undoes the escapes of <, > and & that encoding/json writes, since a
// model reads descriptions as they stand.
func plainHTML(raw []byte) []byte {
	out := make([]byte, 0, len(raw))
	for i := 0; i < len(raw); i++ {
		if raw[i] != '\\' {
			out = append(out, raw[i])
			continue
		}
		switch {
		case bytes.HasPrefix(raw[i:], []byte(`\u003c`)):
			out, i = append(out, '<'), i+5
		case bytes.HasPrefix(raw[i:], []byte(`\u003e`)):
			out, i = append(out, '>'), i+5
		case bytes.HasPrefix(raw[i:], []byte(`\u0026`)):
			out, i = append(out, '&'), i+5
		default:
			out, i = append(out, raw[i], raw[i+1]), i+1
		}
	}
	return out
}
