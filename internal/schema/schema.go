// Package schema checks the input of tools against JSON Schema, mends it where
// nothing is lost, and makes schemas from Go types.
package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"

	js "github.com/santhosh-tekuri/jsonschema/v6"
)

// empty is the schema of a tool without parameters.
const empty = `{"type":"object","properties":{}}`

// A Schema is a compiled schema of a tool's input, which is always an object.
// It is safe for concurrent use.
type Schema struct {
	raw  json.RawMessage
	root *js.Schema
	flat *flat                 // nil: it is none
	at   map[string]*js.Schema // by location, for the texts of errors
}

// Compile compiles a schema (draft 2020-12 unless it names another). An absent,
// null or empty one is that of a tool without parameters. References outside
// the schema are refused. Formats are not asserted, as the draft says, and a
// pattern that Go's regexp package does not know is not checked.
func Compile(raw json.RawMessage) (*Schema, error) { return compile(raw, false) }

// MustCompile is Compile for schemas that are part of the program.
func MustCompile(raw json.RawMessage) *Schema {
	s, err := Compile(raw)
	if err != nil {
		panic(err)
	}
	return s
}

func compile(raw json.RawMessage, formats bool) (*Schema, error) {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || string(raw) == "null" {
		raw = json.RawMessage(empty)
	}
	doc, err := js.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return nil, fmt.Errorf("compile schema: it is no JSON: %w", err)
	}
	obj, ok := doc.(map[string]any)
	if !ok {
		return nil, errors.New("compile schema: it is no object; write {\"type\":\"object\",\"properties\":{…}}")
	}
	if raw, err = withType(raw, obj); err != nil {
		return nil, err
	}
	c := js.NewCompiler()
	c.DefaultDraft(js.Draft2020)
	c.UseLoader(nowhere{})
	c.UseRegexpEngine(lenient)
	if formats {
		c.AssertFormat()
	}
	const name = "tool:///input"
	if err := c.AddResource(name, doc); err != nil {
		return nil, fmt.Errorf("compile schema: %w", err)
	}
	root, err := c.Compile(name)
	if err != nil {
		return nil, fmt.Errorf("compile schema: %w", err)
	}
	if kindsOf(root)&kObject == 0 {
		return nil, errors.New("compile schema: it allows no object, and the input of a tool always is one")
	}
	s := &Schema{raw: raw, root: root, flat: flatOf(obj), at: map[string]*js.Schema{}}
	s.index(root)
	return s, nil
}

// withType gives a root that has no type the type that it must have, and a
// list of properties, since providers refuse an object without them.
func withType(raw json.RawMessage, obj map[string]any) (json.RawMessage, error) {
	_, typed := obj["type"]
	_, listed := obj["properties"]
	for _, k := range []string{"$ref", "allOf", "anyOf", "oneOf"} {
		if _, ok := obj[k]; ok {
			listed = true
		}
	}
	if typed && listed {
		return raw, nil
	}
	add := ""
	if !typed {
		obj["type"] = "object"
		add = `"type":"object"`
	}
	if !listed {
		obj["properties"] = map[string]any{}
		if add != "" {
			add += ","
		}
		add += `"properties":{}`
	}
	rest := bytes.TrimSpace(raw[1:]) // after the brace
	if rest[0] != '}' {
		add += ","
	}
	return append([]byte("{"+add), rest...), nil
}

// JSON returns the schema as a model is told it; never change it.
func (s *Schema) JSON() json.RawMessage { return s.raw }

// Validate checks a decoded value (numbers as json.Number or float64). The
// error is an *[Error] that names every bad field.
func (s *Schema) Validate(v any) error {
	err := s.root.Validate(v)
	if err == nil {
		return nil
	}
	return s.explain(v, err)
}

// index remembers each part of the schema by its location.
func (s *Schema) index(n *js.Schema) {
	if n == nil || s.at[n.Location] != nil {
		return
	}
	s.at[n.Location] = n
	for _, p := range n.Properties {
		s.index(p)
	}
	for _, p := range n.PatternProperties {
		s.index(p)
	}
	for _, list := range [][]*js.Schema{n.AllOf, n.AnyOf, n.OneOf, n.PrefixItems} {
		for _, p := range list {
			s.index(p)
		}
	}
	for _, p := range []*js.Schema{n.Ref, n.Items2020, n.If, n.Then, n.Else, n.Not, n.Contains, n.PropertyNames} {
		s.index(p)
	}
	for _, p := range []any{n.AdditionalProperties, n.Items, n.AdditionalItems} {
		switch p := p.(type) {
		case *js.Schema:
			s.index(p)
		case []*js.Schema:
			for _, q := range p {
				s.index(q)
			}
		}
	}
}

// nowhere refuses to load what a schema refers to: a foreign schema must not
// read files or reach the network.
type nowhere struct{}

func (nowhere) Load(url string) (any, error) {
	return nil, fmt.Errorf("%s is outside the schema; put it under $defs", url)
}

// lenient compiles a pattern; one that needs another engine matches anything.
func lenient(pattern string) (js.Regexp, error) {
	if re, err := regexp.Compile(pattern); err == nil {
		return re, nil
	}
	return anything(pattern), nil
}

type anything string

func (anything) MatchString(string) bool { return true }
func (a anything) String() string        { return string(a) }
