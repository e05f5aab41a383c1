package fit_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/uzda-dev/uzda/internal/fit"
)

var dialects = []fit.Dialect{fit.Plain, fit.OpenAI, fit.Gemini, fit.Anthropic, fit.Ollama}

// A checker is a provider that reads schemas strictly, at every depth. It knows
// nothing of how the package works.
type checker struct {
	d      fit.Dialect
	root   map[string]any
	faults []string
}

var geminiKeywords = strings.Fields(`type title description properties required items enum anyOf format nullable minimum maximum minLength maxLength minItems maxItems`)

var ollamaKeywords = strings.Fields(`type description properties required items enum anyOf`)

var strictKeywords = strings.Fields(`type title description properties required additionalProperties items enum const anyOf pattern format
	multipleOf minimum maximum exclusiveMinimum exclusiveMaximum minItems maxItems`)

var anthropicStrictKeywords = strings.Fields(`type title description properties required additionalProperties items enum const anyOf format default`)

var allTypes = []any{"string", "number", "integer", "boolean", "array", "object", "null"}

// check returns what the provider would refuse.
func check(schema json.RawMessage, d fit.Dialect) []string {
	var root map[string]any
	if err := json.Unmarshal(schema, &root); err != nil {
		return []string{err.Error()}
	}
	c := checker{d: d, root: root}
	if root["type"] != "object" {
		c.fault("the outermost type is %v", root["type"])
	}
	if _, ok := root["properties"].(map[string]any); !ok {
		c.fault("there are no properties")
	}
	for _, k := range []string{"anyOf", "oneOf", "allOf", "enum", "const", "not"} {
		if _, ok := root[k]; ok && (d.Name != "Anthropic" || strings.HasSuffix(k, "Of")) && d.Name != "plain" {
			c.fault("%s stands outermost", k)
		}
	}
	if bytes.ContainsAny(schema, "\n\r\t") {
		c.fault("it is not on one line")
	}
	if d.Name != "plain" {
		c.schema(root, "#")
	}
	return c.faults
}

func (c *checker) fault(format string, args ...any) {
	c.faults = append(c.faults, fmt.Sprintf(format, args...))
}

func (c *checker) schema(v any, at string) {
	s, ok := v.(map[string]any)
	if !ok {
		if _, isBool := v.(bool); !isBool || c.d.Only != nil {
			c.fault("%s is no schema: %v", at, v)
		}
		return
	}
	types := typeList(s)
	for k, v := range s {
		c.keyword(k, v, s, at)
		c.below(k, v, at+"/"+k)
	}
	if _, ok := s["items"]; !ok && c.d.Name != "Anthropic" && c.d.Name != "Ollama" && slices.Contains(types, any("array")) {
		c.fault("%s is an array without items", at)
	}
	switch c.d.Name {
	case "Gemini":
		c.gemini(s, types, at)
	case "Anthropic", "Anthropic's strict mode":
		props, _ := s["properties"].(map[string]any)
		for name := range props {
			if !regexp.MustCompile(`^[a-zA-Z0-9_.-]{1,64}$`).MatchString(name) {
				c.fault("%s has the property %q", at, name)
			}
		}
	}
	if strings.Contains(c.d.Name, "strict") {
		c.strict(s, types, at)
	}
}

func typeList(s map[string]any) []any {
	if all, ok := s["type"].([]any); ok {
		return all
	}
	if t, ok := s["type"]; ok {
		return []any{t}
	}
	return nil
}

func (c *checker) keyword(k string, v any, s map[string]any, at string) {
	taken := map[string][]string{"Gemini": geminiKeywords, "Ollama": ollamaKeywords, "OpenAI's strict mode": strictKeywords,
		"Anthropic's strict mode": anthropicStrictKeywords}[c.d.Name]
	if taken != nil && !slices.Contains(taken, k) {
		c.fault("%s: the keyword %q is unknown", at, k)
	}
	switch k {
	case "$schema", "$id", "id", "definitions", "$anchor", "additionalItems", "dependencies":
		c.fault("%s: the keyword %q is of another draft", at, k)
	case "$defs":
		if at != "#" {
			c.fault("%s has $defs", at)
		}
	case "type":
		for _, t := range typeList(s) {
			if !slices.Contains(allTypes, t) {
				c.fault("%s has the type %v", at, t)
			}
		}
	case "$ref":
		target, ok := c.resolve(v)
		if _, isMap := target.(map[string]any); !ok || !isMap {
			c.fault("%s: the reference %v leads nowhere", at, v)
		}
	case "required":
		c.strings(v, at)
	case "enum":
		if all, ok := v.([]any); !ok || len(all) == 0 {
			c.fault("%s: enum is empty", at)
		}
	case "pattern":
		if _, err := regexp.Compile(fmt.Sprint(v)); err != nil && !strings.Contains(fmt.Sprint(v), "(?") {
			c.fault("%s: %v", at, err)
		}
	}
}

func (c *checker) strings(v any, at string) []string {
	all, ok := v.([]any)
	if !ok {
		c.fault("%s: required is no list", at)
	}
	var out []string
	for _, one := range all {
		s, ok := one.(string)
		if !ok {
			c.fault("%s: required has %v", at, one)
		}
		out = append(out, s)
	}
	return out
}

func (c *checker) below(k string, v any, at string) {
	switch k {
	case "properties", "patternProperties", "$defs", "dependentSchemas":
		all, ok := v.(map[string]any)
		if !ok {
			c.fault("%s is no object", at)
		}
		for name, one := range all {
			c.schema(one, at+"/"+name)
		}
	case "anyOf", "oneOf", "allOf", "prefixItems":
		all, ok := v.([]any)
		if !ok || len(all) == 0 {
			c.fault("%s is no list", at)
		}
		for i, one := range all {
			c.schema(one, fmt.Sprintf("%s/%d", at, i))
		}
	case "items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames":
		if b, ok := v.(bool); ok && k == "additionalProperties" {
			_ = b
			return
		}
		c.schema(v, at)
	}
}

// resolve follows a reference as the simplest reader does.
func (c *checker) resolve(ref any) (any, bool) {
	path, ok := strings.CutPrefix(fmt.Sprint(ref), "#/$defs/")
	defs, _ := c.root["$defs"].(map[string]any)
	target, found := defs[path]
	return target, ok && found
}

func (c *checker) gemini(s map[string]any, types []any, at string) {
	if len(types) > 1 || slices.Contains(types, any("null")) {
		c.fault("%s has the types %v", at, types)
	}
	kind := any(nil)
	if len(types) == 1 {
		kind = types[0]
	}
	if _, ok := s["anyOf"]; ok && len(s) > 1 {
		c.fault("%s has more beside anyOf", at)
	}
	if f, ok := s["format"]; ok && (f != "enum" && f != "date-time" || kind != "string") {
		c.fault("%s has the format %v", at, f)
	}
	if all, ok := s["enum"].([]any); ok {
		for _, v := range all {
			if text, ok := v.(string); !ok || text == "" || kind != "string" {
				c.fault("%s: the enum of a %v has %v", at, kind, v)
			}
		}
	}
	props, hasProps := s["properties"].(map[string]any)
	if hasProps && kind != "object" {
		c.fault("%s has properties and the type %v", at, kind)
	}
	if _, ok := s["items"]; ok && kind != "array" {
		c.fault("%s has items and the type %v", at, kind)
	}
	if r, ok := s["required"]; ok {
		for _, name := range c.strings(r, at) {
			if _, ok := props[name]; !ok {
				c.fault("%s requires %q, which it has not", at, name)
			}
		}
	}
}

func (c *checker) strict(s map[string]any, types []any, at string) {
	if len(types) == 0 && s["anyOf"] == nil {
		c.fault("%s has no type", at)
	}
	if !slices.Contains(types, any("object")) {
		return
	}
	if s["additionalProperties"] != false {
		c.fault("%s is open", at)
	}
	props, _ := s["properties"].(map[string]any)
	required := c.strings(s["required"], at)
	for name := range props {
		if !slices.Contains(required, name) {
			c.fault("%s does not require %q", at, name)
		}
	}
	if len(required) != len(props) {
		c.fault("%s requires %v", at, required)
	}
}

// compile compiles a schema with another validator; "nullable" is given the
// meaning that it has in OpenAPI.
func compile(t testing.TB, schema []byte, nullable bool) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	if err != nil {
		t.Fatalf("%s: %v", schema, err)
	}
	if nullable {
		doc = withNull(doc, false)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("schema.json", doc); err != nil {
		t.Fatalf("%s: %v", schema, err)
	}
	s, err := c.Compile("schema.json")
	if err != nil {
		t.Fatalf("%s: %v", schema, err)
	}
	return s
}

// withNull writes {"nullable": true, …} as {"anyOf": [{"type": "null"}, {…}]}.
// Names of properties are no keywords.
func withNull(v any, names bool) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = withNull(v[i], false)
		}
	case map[string]any:
		for k := range v {
			v[k] = withNull(v[k], k == "properties" && !names)
		}
		if v["nullable"] == true && !names {
			delete(v, "nullable")
			return map[string]any{"anyOf": []any{map[string]any{"type": "null"}, v}}
		}
	}
	return v
}

func valueOf(t testing.TB, in []byte) any {
	t.Helper()
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(in))
	if err != nil {
		t.Fatalf("%s: %v", in, err)
	}
	return v
}
