package fit

import (
	"encoding/json"
	"net/url"
	"strconv"
	"strings"

	"github.com/uzda-dev/uzda/internal/raw"
)

// Refs finds what references refer to.
type refs struct {
	doc     json.RawMessage
	found   map[string]json.RawMessage // by reference; nil: nothing
	anchors map[string]json.RawMessage // by name, and documents by id; nil: not read yet
	read    map[string]container       // by the beginning of a reference
}

// A container is an object or an array on the way of a pointer.
type container struct {
	members  raw.Object
	elements []json.RawMessage
}

// find returns the schema that ref refers to, nil if it is not there.
func (r *refs) find(ref string) json.RawMessage {
	if v, ok := r.found[ref]; ok {
		return v
	}
	v := r.search(ref)
	if len(v) == 0 || v[0] != '{' && v[0] != 't' && v[0] != 'f' {
		v = nil
	}
	if r.found == nil {
		r.found = map[string]json.RawMessage{}
	}
	r.found[ref] = v
	return v
}

func (r *refs) search(ref string) json.RawMessage {
	base, fragment, _ := strings.Cut(ref, "#")
	doc := r.doc
	if base != "" {
		if doc = r.named(base); doc == nil {
			return nil
		}
	}
	if name, err := url.PathUnescape(fragment); err == nil {
		fragment = name
	}
	switch {
	case fragment == "":
		return doc
	case fragment[0] == '/':
		return r.pointer(base, doc, fragment)
	}
	return r.named("#" + fragment)
}

// pointer follows a JSON pointer (RFC 6901) into a document. What was read of it
// is kept, as there may be many pointers into one place.
func (r *refs) pointer(base string, v json.RawMessage, path string) json.RawMessage {
	at := base + "#"
	for i, step := range strings.Split(path, "/")[1:] {
		c, ok := r.read[at]
		if !ok {
			if i > 2*maxDepth || len(v) == 0 {
				return nil
			}
			c.members, _ = raw.Parse(v)
			c.elements = elements(v)
			if r.read == nil {
				r.read = map[string]container{}
			}
			r.read[at] = c
		}
		at += "/" + step
		if n, err := strconv.Atoi(step); err == nil && n >= 0 && n < len(c.elements) {
			v = c.elements[n]
		} else {
			v = c.members.Get(unescape(step))
		}
	}
	return v
}

// unescape returns the name that a step of a pointer stands for.
func unescape(step string) string {
	return strings.ReplaceAll(strings.ReplaceAll(step, "~1", "/"), "~0", "~")
}

// named returns the schema with that anchor ("#name") or id.
func (r *refs) named(name string) json.RawMessage {
	if r.anchors == nil {
		r.anchors = map[string]json.RawMessage{}
		r.index(r.doc, 0)
	}
	return r.anchors[name]
}

func (r *refs) index(v json.RawMessage, depth int) {
	o, err := raw.Parse(v)
	if err != nil || depth > maxDepth {
		return
	}
	name := func(key, before string) {
		if s := text(o.Get(key)); s != "" {
			if s = before + strings.TrimSuffix(s, "#"); r.anchors[s] == nil {
				r.anchors[s] = v
			}
		}
	}
	name("$anchor", "#")
	name("$dynamicAnchor", "#")
	name("$id", "")
	name("id", "")
	for _, child := range subschemas(&o) {
		r.index(child, depth+1)
	}
}

// What schemas hold schemas in: an object of them, a list of them, or one.
const (
	inMap = iota + 1
	inList
	inPlace
)

// holds says how a keyword holds schemas, 0 if it holds none. A list of items is
// the older form of prefixItems.
func holds(keyword string) int {
	switch keyword {
	case "properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies":
		return inMap
	case "allOf", "anyOf", "oneOf", "prefixItems":
		return inList
	case "items", "additionalItems", "contains", "not", "if", "then", "else", "additionalProperties", "propertyNames",
		"unevaluatedItems", "unevaluatedProperties", "contentSchema":
		return inPlace
	}
	return 0
}

// subschemas returns the schemas that stand directly in o.
func subschemas(o *raw.Object) (all []json.RawMessage) {
	for keyword, v := range o.All() {
		switch how := holds(keyword); {
		case how == inMap:
			in, _ := raw.Parse(v)
			for _, child := range in.All() {
				all = append(all, child)
			}
		case how == inPlace && v[0] == '{':
			all = append(all, v)
		case how != 0:
			all = append(all, elements(v)...)
		}
	}
	return all
}

// elements returns the elements of an array, none of what is no array.
func elements(v json.RawMessage) []json.RawMessage {
	all, _ := raw.AppendElements(nil, v)
	return all
}

// array is the opposite of elements.
func array(all []json.RawMessage) json.RawMessage {
	out := []byte{'['}
	for i, e := range all {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, e...)
	}
	return append(out, ']')
}

// text returns the text of a JSON string, "" of what is none.
func text(v json.RawMessage) string {
	s, _ := raw.String(v)
	return s
}

// strs returns the strings of an array.
func strs(v json.RawMessage) []string {
	var out []string
	for _, e := range elements(v) {
		if len(e) > 0 && e[0] == '"' {
			out = append(out, text(e))
		}
	}
	return out
}

// list is the opposite of strs.
func list(all []string) json.RawMessage {
	out := []byte{'['}
	for i, s := range all {
		if i > 0 {
			out = append(out, ',')
		}
		out = raw.AppendString(out, s)
	}
	return append(out, ']')
}

func quote(s string) json.RawMessage { return raw.AppendString(nil, s) }
