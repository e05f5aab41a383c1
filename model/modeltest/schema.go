package modeltest

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// A schemaCheck checks the schema of a tool or an answer as providers do.
type schemaCheck struct {
	c     *checker
	where string
	root  value

	chat           bool // objects want properties, and lists items
	strict         bool // OpenAI's strict mode
	strictMessages bool // Anthropic's
	gemini         bool
}

// geminiWords are the keywords that Google's endpoint knows; it refuses others.
var geminiWords = []string{
	"type", "format", "title", "description", "nullable", "enum", "items", "properties", "required", "minItems", "maxItems",
	"minProperties", "maxProperties", "minLength", "maxLength", "minimum", "maximum", "anyOf", "propertyOrdering", "example",
}

// strictWords are those that OpenAI's strict mode refuses.
var strictWords = []string{
	"allOf", "oneOf", "not", "if", "then", "else", "dependentRequired", "dependentSchemas", "patternProperties",
	"unevaluatedProperties", "propertyNames", "minProperties", "maxProperties", "uniqueItems", "contains", "minContains", "maxContains",
	"default",
}

// strictMessagesWords are those that Anthropic's strict mode refuses.
var strictMessagesWords = []string{
	"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength", "maxItems", "uniqueItems",
	"oneOf", "not", "if", "then", "else", "patternProperties", "propertyNames",
}

// top checks a whole schema, which must be of an object.
func (s *schemaCheck) top(schema value, name string) {
	if schema.kind != '{' {
		s.fault("%s is missing, or no object", name)
		return
	}
	s.root = schema
	if kind := schema.get("type"); kind.text != "object" {
		s.fault("the type of %s is %s, not object", name, kind.raw)
	}
	if s.chat && !schema.has("properties") && !s.gemini {
		s.fault("%s has no properties", name)
	}
	s.schema(&schema, 0)
}

func (s *schemaCheck) fault(format string, args ...any) {
	s.c.fault("%s: "+format, append([]any{s.where}, args...)...)
}

// schema checks one schema and those in it.
func (s *schemaCheck) schema(v *value, depth int) {
	if v.kind == 't' && !s.gemini {
		return // true and false are schemas
	}
	if v.kind != '{' {
		s.fault("%.40s is no schema", v.raw)
		return
	}
	if s.words(v); depth > maxNest {
		return
	}
	if ref := v.get("$ref"); ref.kind != 0 {
		s.ref(ref)
	}
	kind := v.get("type")
	properties := v.get("properties")
	if s.strict || s.strictMessages {
		s.closed(v, kind, properties)
	}
	if s.chat && kind.text == "array" && !v.has("items") && !v.has("prefixItems") {
		s.fault("a list has no items")
	}
	if r := v.get("required"); r.kind != 0 {
		s.required(v, r, properties)
	}
	for i, k := range v.keys {
		s.below(k, &v.vals[i], depth)
	}
}

// below checks the schemas that stand under a keyword.
func (s *schemaCheck) below(key string, v *value, depth int) {
	switch key {
	case "properties", "$defs", "definitions", "patternProperties", "dependentSchemas":
		if v.kind != '{' {
			s.fault("%s is no object", key)
		}
		for i := range v.vals {
			s.schema(&v.vals[i], depth+1)
		}
	case "items":
		if v.kind == '[' {
			s.each(v, depth)
			return
		}
		s.schema(v, depth+1)
	case "anyOf", "oneOf", "allOf", "prefixItems":
		if v.kind != '[' || len(v.vals) == 0 {
			s.fault("%s is empty, or no list", key)
		}
		s.each(v, depth)
	case "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames", "additionalItems", "unevaluatedProperties":
		s.schema(v, depth+1)
	case "type":
		s.kind(v)
	case "enum":
		if v.kind != '[' || len(v.vals) == 0 {
			s.fault("enum is empty, or no list")
		}
	}
}

func (s *schemaCheck) each(v *value, depth int) {
	for i := range v.vals {
		s.schema(&v.vals[i], depth+1)
	}
}

var schemaKinds = []string{"object", "array", "string", "number", "integer", "boolean", "null"}

func (s *schemaCheck) kind(v *value) {
	list := v.vals
	if v.kind == '"' {
		list = []value{*v}
	}
	if s.gemini && v.kind == '[' {
		s.fault("a list of types is unknown here")
	}
	if len(list) == 0 {
		s.fault("the type %.40s is none", v.raw)
	}
	for i := range list {
		if !slices.Contains(schemaKinds, list[i].text) {
			s.fault("the type %.40s is none", list[i].raw)
		}
	}
}

// words checks the keywords of a schema.
func (s *schemaCheck) words(v *value) {
	for _, k := range v.keys {
		switch {
		case s.gemini && !slices.Contains(geminiWords, k), s.strict && slices.Contains(strictWords, k),
			s.strictMessages && slices.Contains(strictMessagesWords, k):
			s.fault("the keyword %q is unknown here", k)
		}
	}
}

// closed checks what strict modes want of objects.
func (s *schemaCheck) closed(v *value, kind, properties value) {
	isObject := kind.text == "object" || properties.kind != 0 || slices.ContainsFunc(kind.vals, func(t value) bool { return t.text == "object" })
	if !isObject {
		return
	}
	if more := v.get("additionalProperties"); string(more.raw) != "false" {
		s.fault("strict: an object's additionalProperties is not false")
	}
	if !s.strict {
		return
	}
	required := v.get("required")
	for _, name := range properties.keys {
		if !slices.ContainsFunc(required.vals, func(r value) bool { return r.text == name }) {
			s.fault("strict: the property %q is not required", name)
		}
	}
}

func (s *schemaCheck) required(v *value, r, properties value) {
	if r.kind != '[' {
		s.fault("required is no list")
	}
	for i := range r.vals {
		if r.vals[i].kind != '"' {
			s.fault("required names %.40s", r.vals[i].raw)
		} else if (s.gemini || s.strict) && !properties.has(r.vals[i].text) {
			s.fault("required names the property %q, which is not there", r.vals[i].text)
		}
	}
}

// ref checks that a reference leads to a schema of the same document.
func (s *schemaCheck) ref(ref value) {
	path, ok := strings.CutPrefix(ref.text, "#")
	if !ok {
		s.fault("the reference %.80q leads out of the schema", ref.text)
		return
	}
	at := s.root
	for _, step := range strings.Split(path, "/")[1:] {
		if plain, err := url.PathUnescape(step); err == nil {
			step = plain
		}
		step = strings.ReplaceAll(strings.ReplaceAll(step, "~1", "/"), "~0", "~")
		next := at.get(step)
		if n, err := strconv.Atoi(step); at.kind == '[' && err == nil && n >= 0 && n < len(at.vals) {
			next = at.vals[n]
		}
		if next.kind == 0 {
			s.fault("the reference %.80q leads nowhere", ref.text)
			return
		}
		at = next
	}
	if at.kind != '{' && at.kind != 't' || path != "" && path[0] != '/' {
		s.fault("the reference %.80q leads to no schema", ref.text)
	}
}
