package fit

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"github.com/uzda-dev/uzda/internal/raw"
)

// modern gives the schema's own keywords the form of draft 2020-12 and takes out
// those that no reader could take or that matter to no model. What it could not
// keep it returns in words.
func modern(o *raw.Object) (words []string) {
	for _, k := range []string{"$schema", "$id", "$comment", "$anchor", "$dynamicAnchor", "$recursiveAnchor", "$vocabulary", "$defs", "definitions"} {
		o.Delete(k)
	}
	if text(o.Get("id")) != "" {
		o.Delete("id")
	}
	for _, k := range []string{"$dynamicRef", "$recursiveRef"} {
		if v := o.Get(k); v != nil {
			o.Delete(k)
			o.Set("$ref", v)
		}
	}
	tuples(o)
	dependencies(o)
	exclusive(o, "exclusiveMinimum", "minimum")
	exclusive(o, "exclusiveMaximum", "maximum")
	demands(o)
	words = append(words, kinds(o)...)
	var bad []string
	for k, v := range o.All() {
		if !wellFormed(k, v) {
			bad = append(bad, k)
		}
	}
	for _, k := range bad {
		words = append(words, say(o, k)...)
		o.Delete(k)
	}
	return words
}

// tuples makes "items" and "additionalItems" of older drafts "prefixItems" and "items".
func tuples(o *raw.Object) {
	rest := o.Get("additionalItems")
	o.Delete("additionalItems")
	if v := o.Get("items"); len(v) > 0 && v[0] == '[' {
		o.Delete("items")
		if len(elements(v)) > 0 {
			o.Set("prefixItems", v)
		}
		if rest != nil {
			o.Set("items", rest)
		}
	}
}

// dependencies splits the keyword of older drafts.
func dependencies(o *raw.Object) {
	v := o.Get("dependencies")
	if v == nil {
		return
	}
	o.Delete("dependencies")
	all, err := raw.Parse(v)
	if err != nil {
		return
	}
	var names, schemas raw.Object
	for k, v := range all.All() {
		switch v[0] {
		case '[':
			names.Set(k, v)
		case '"':
			names.Set(k, array([]json.RawMessage{v}))
		default:
			schemas.Set(k, v)
		}
	}
	if names.Len() > 0 {
		o.Set("dependentRequired", names.Append(nil))
	}
	if schemas.Len() > 0 {
		o.Set("dependentSchemas", schemas.Append(nil))
	}
}

// exclusive gives a bound of draft 4, which was a switch, its number.
func exclusive(o *raw.Object, key, bound string) {
	switch string(o.Get(key)) {
	case "true":
		if v := o.Get(bound); v != nil {
			o.Set(key, v)
			o.Delete(bound)
			return
		}
		o.Delete(key)
	case "false":
		o.Delete(key)
	}
}

// demands takes the switch "required" of properties, as of draft 3 and of
// mistakes, into the list of the object, in which no name stands twice.
func demands(o *raw.Object) {
	if v := o.Get("required"); len(v) > 0 && v[0] == '[' && len(strs(v)) == len(elements(v)) && !isNames(v) {
		o.Set("required", list(distinct(strs(v))))
	}
	props := o.Get("properties")
	if !bytes.Contains(props, []byte(`"required"`)) {
		return
	}
	all, err := raw.Parse(props)
	if err != nil {
		return
	}
	names := strs(o.Get("required"))
	for name, v := range all.All() {
		if p, err := raw.Parse(v); err == nil && string(p.Get("required")) == "true" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if len(names) > 0 {
		o.Set("required", list(names))
	}
}

// kinds leaves known types in "type": one as a string, more as a list.
func kinds(o *raw.Object) (words []string) {
	v := o.Get("type")
	if v == nil {
		return nil
	}
	all := elements(v)
	if v[0] != '[' {
		all = []json.RawMessage{v}
	}
	var types []string
	for _, e := range all {
		t := kind(text(e))
		switch {
		case t == "any":
			o.Delete("type")
			return nil
		case t == "":
			o.Delete("type")
			return []string{"type: " + plain(v)}
		case !slices.Contains(types, t):
			types = append(types, t)
		}
	}
	setTypes(o, types)
	return nil
}

func distinct(all []string) (out []string) {
	seen := map[string]bool{}
	for _, s := range all {
		if !seen[s] {
			seen[s] = true
			out = append(out, s)
		}
	}
	return out
}

func setTypes(o *raw.Object, types []string) {
	switch len(types) {
	case 0:
		o.Delete("type")
	case 1:
		o.Set("type", quote(types[0]))
	default:
		o.Set("type", list(types))
	}
}

func typesOf(o *raw.Object) []string {
	if t := text(o.Get("type")); t != "" {
		return []string{t}
	}
	return strs(o.Get("type"))
}

// kind returns the type that a name of one means, also those of programming
// languages, which stand in many schemas; "any", or "" for what is unknown.
func kind(name string) string {
	switch s := strings.ToLower(name); s {
	case "string", "number", "integer", "boolean", "array", "object", "null", "any":
		return s
	case "str", "text":
		return "string"
	case "int", "long":
		return "integer"
	case "float", "double", "decimal":
		return "number"
	case "bool":
		return "boolean"
	case "list", "tuple", "set":
		return "array"
	case "dict", "map", "struct":
		return "object"
	case "none":
		return "null"
	}
	return ""
}

// wellFormed says whether v is a value that the keyword may have.
func wellFormed(keyword string, v json.RawMessage) bool {
	c := v[0]
	isSchema := c == '{' || c == 't' || c == 'f'
	switch holds(keyword) {
	case inMap:
		o, err := raw.Parse(v)
		if err != nil {
			return false
		}
		for _, child := range o.All() {
			if c := child[0]; c != '{' && c != 't' && c != 'f' {
				return keyword == "properties" // mended where it is written
			}
		}
		return true
	case inList:
		return c == '[' && len(elements(v)) > 0
	case inPlace:
		return isSchema
	}
	switch keyword {
	case "type":
		return c == '"' || c == '['
	case "description", "title", "format", "$ref", "contentEncoding", "contentMediaType":
		return c == '"'
	case "pattern":
		return c == '"' && portable(text(v))
	case "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum":
		return c == '-' || c >= '0' && c <= '9'
	case "multipleOf":
		return c >= '0' && c <= '9' && strings.ContainsAny(string(v), "123456789")
	case "minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties", "minContains", "maxContains":
		return !bytes.ContainsAny(v, "-+.eE\"[]{}tfn")
	case "uniqueItems", "deprecated", "readOnly", "writeOnly", "nullable":
		return c == 't' || c == 'f'
	case "enum", "examples":
		return c == '[' && len(elements(v)) > 0
	case "required":
		return isNames(v)
	case "dependentRequired":
		all, err := raw.Parse(v)
		for _, names := range all.All() {
			if !isNames(names) {
				return false
			}
		}
		return err == nil
	}
	return true
}

// isNames says whether v is a list of strings, none of them twice.
func isNames(v json.RawMessage) bool {
	names := strs(v)
	slices.Sort(names)
	return v[0] == '[' && len(names) == len(elements(v)) && len(slices.Compact(names)) == len(names)
}

var (
	around  = regexp.MustCompile(`\(\?<?[=!]`)
	unicode = regexp.MustCompile(`\\u([0-9a-fA-F]{4})`)
)

// portable says whether the engines of providers (of JavaScript, Python and Go)
// all read the expression, as a request with another one is refused.
func portable(pattern string) bool {
	for _, part := range []string{`\p`, `\P`, `\u{`, `\x{`, `\Q`, `\z`, `\A`, `(?P`, `[[:`} {
		if strings.Contains(pattern, part) {
			return false
		}
	}
	p := around.ReplaceAllString(pattern, "(?:")
	if strings.Contains(p, "(?<") {
		return false
	}
	_, err := regexp.Compile(unicode.ReplaceAllString(p, `\x{$1}`))
	return err == nil
}
