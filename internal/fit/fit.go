// Package fit makes the schemas and names of tools what a provider takes.
package fit

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/uzda-dev/uzda/internal/raw"
)

// A Dialect is what a provider takes of JSON Schema (draft 2020-12). The zero
// value takes all of it; older drafts are always written anew.
type Dialect struct {
	Name string // for errors

	AsIs     bool     // nothing is changed but white space and a missing type
	Only     []string // keywords that are taken, at any depth; nil: all
	Refused  []string // keywords that are not
	Top      []string // keywords that the outermost schema must not have besides
	Formats  []string // the only formats that are taken; nil: all
	Inline   bool     // there are no references: what they refer to stands in their place
	Typed    bool     // what has properties, items or an enum must have its type too
	Items    bool     // an array must have items
	Nullable bool     // one type each: null is said by "nullable", more types by "anyOf", which stands alone
	Words    bool     // an enum has strings only, and not the empty one
	Keys     bool     // names of properties match ^[a-zA-Z0-9_.-]{1,64}$
	Closed   bool     // strict mode: see [Strict]; other schemas are an error
}

// The dialects. A profile may change a copy of one.
var (
	// Plain changes nothing.
	Plain = Dialect{Name: "plain", AsIs: true}

	// OpenAI is Chat Completions without strict mode, and what is compatible. The
	// outermost combinators and arrays without items are refused with a 400.
	OpenAI = Dialect{Name: "OpenAI", Top: combinators, Items: true}

	// OpenAIStrict is strict mode (Structured Outputs, "Supported schemas").
	OpenAIStrict = Dialect{
		Name: "OpenAI's strict mode", Closed: true, Inline: true, Typed: true, Items: true, Top: combinators,
		Only: []string{"type", "title", "description", "properties", "required", "additionalProperties", "items", "enum", "const", "anyOf",
			"pattern", "format", "multipleOf", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "minItems", "maxItems"},
		Formats: []string{"date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"},
	}

	// Gemini is the Schema of its API, a subset of OpenAPI 3.0, which the compatible
	// endpoint takes too; what is newer in it is left out, as not all models take it.
	Gemini = Dialect{
		Name: "Gemini", Inline: true, Typed: true, Items: true, Nullable: true, Words: true, Top: combinators,
		Only: []string{"type", "title", "description", "properties", "required", "items", "enum", "anyOf", "format", "nullable",
			"minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems"},
		Formats: []string{"enum", "date-time"},
	}

	// Anthropic is input_schema of the Messages API.
	Anthropic = Dialect{Name: "Anthropic", Keys: true, Top: []string{"anyOf", "oneOf", "allOf"}}

	// AnthropicStrict is a tool with "strict" in the Messages API (Structured
	// Outputs, "JSON Schema limitations").
	AnthropicStrict = Dialect{
		Name: "Anthropic's strict mode", Closed: true, Inline: true, Typed: true, Items: true, Keys: true, Top: combinators,
		Only: []string{"type", "title", "description", "properties", "required", "additionalProperties", "items", "enum", "const", "anyOf",
			"format", "default"},
		Formats: []string{"date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid"},
	}

	// Ollama is /api/chat, whose server reads these keywords and forgets the rest.
	Ollama = Dialect{
		Name: "Ollama", Inline: true, Typed: true, Top: combinators,
		Only: []string{"type", "description", "properties", "required", "items", "enum", "anyOf"},
	}
)

var combinators = []string{"anyOf", "oneOf", "allOf", "enum", "const", "not"}

// takes says whether the keyword may stand in a schema.
func (d *Dialect) takes(keyword string, top bool) bool {
	return (d.Only == nil || slices.Contains(d.Only, keyword)) && !slices.Contains(d.Refused, keyword) &&
		(!top || !slices.Contains(d.Top, keyword))
}

// Bounds in bytes: of a schema that is read, and of all that is written for it.
const (
	MaxIn  = 512 << 10
	MaxOut = 512 << 10
)

const (
	maxDepth = 100         // of schemas within schemas
	maxWidth = 5000        // of the schemas or names in one keyword
	maxWork  = 16 * MaxOut // bounds the time that references and unions within each other cost
)

var (
	errOut   = fmt.Errorf("it would have more than %d bytes with its references put in", MaxOut)
	errDepth = fmt.Errorf("it is nested deeper than %d", maxDepth)
	errWidth = fmt.Errorf("one of its keywords has more than %d members", maxWidth)
	errOpen  = errors.New("it is not strict")
	errTop   = errors.New("a tool's input must be an object")
)

// Schema returns a tool's schema as the dialect takes it, on one line; the same
// schema always gives the same bytes. None at all (null, true) is an object of no
// properties.
//
// Inputs that the schema allows are still allowed. What the dialect does not take
// is left out and told in words in the description of its place. References lead
// to members of "$defs", or where the dialect has none what they refer to stands
// in their place, recursion up to the second time and less far where that would be
// too large; what follows is told in words. A reference to nothing is any value. An
// empty schema stays empty, that is any value.
//
// An error means that this tool cannot be sent; it says why.
func Schema(schema json.RawMessage, d Dialect) (json.RawMessage, error) {
	out, err := schemaFor(schema, d)
	if err != nil {
		return nil, fmt.Errorf("fit the schema for %s: %w", d.Name, err)
	}
	return out, nil
}

func schemaFor(schema json.RawMessage, d Dialect) (json.RawMessage, error) {
	if len(schema) > MaxIn {
		return nil, fmt.Errorf("it has %d bytes, %d are allowed", len(schema), MaxIn)
	}
	o, err := root(schema)
	if err != nil {
		return nil, err
	}
	if d.AsIs {
		return asIs(o), nil
	}
	if d.Closed && !Strict(schema) {
		return nil, errOpen
	}
	f := fitter{d: d, refs: refs{doc: o.Append(nil)}}
	var out json.RawMessage
	for _, f.reach = range reaches {
		f.restart()
		if out, err = f.top(); err == nil && f.loose {
			f.restart()
			f.wary = true
			out, err = f.top()
		}
		if !errors.Is(err, errOut) {
			break
		}
	}
	return out, err
}

// A reach is how far references are followed where what they refer to is put in
// their place.
type reach struct {
	levels int // how often one may stand within itself
	chain  int // how many may stand within each other
}

// reaches are tried until the result is not too large: two levels of a recursive
// schema show what it is.
var reaches = []reach{{2, maxDepth / 3}, {1, 6}, {1, 2}}

// root reads the outermost schema.
func root(schema json.RawMessage) (raw.Object, error) {
	v := raw.Compact(raw.Mend(bytes.TrimSpace(schema)))
	switch string(v) {
	case "", "null", "true":
		v = json.RawMessage("{}")
	}
	o, err := raw.Parse(v)
	if err != nil {
		return raw.Object{}, err
	}
	if o.Len() == 0 {
		o.Set("type", json.RawMessage(`"object"`))
		o.Set("properties", json.RawMessage("{}"))
	}
	return o, nil
}

func asIs(o raw.Object) json.RawMessage {
	if o.Get("type") != nil || o.Get("$ref") != nil {
		return o.Append(nil)
	}
	return first(o, "type", `"object"`).Append(nil)
}

// first returns o with a member put in front.
func first(o raw.Object, key, value string) *raw.Object {
	var out raw.Object
	out.Set(key, json.RawMessage(value))
	for k, v := range o.All() {
		out.Set(k, v)
	}
	return &out
}

// Told is a system prompt that says how the answer must look, for models that
// nothing else holds to the schema. One that says it already stays.
func Told(system string, schema json.RawMessage) string {
	if strings.Contains(system, string(schema)) {
		return system
	}
	return strings.TrimSpace(system + "\n\nWhen you are done, answer with one JSON object and nothing else. It must fit this JSON Schema:\n" + string(schema))
}
