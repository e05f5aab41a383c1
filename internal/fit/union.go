package fit

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/uzda-dev/uzda/internal/raw"
)

func itoa(n int) string { return strconv.Itoa(n) }

// split handles several types and "anyOf" where null is no type and "anyOf"
// stands alone. It returns the whole schema if that has alternatives; otherwise
// the only one is put into p, and p says whether null is another.
func (f *fitter) split(p *place) (*raw.Object, error) {
	for {
		p.null = p.null || string(p.o.Get("nullable")) == "true"
		if onlyNull(*p) {
			p.nothing()
			return nil, nil
		}
		if enum := elements(p.o.Get("enum")); slices.ContainsFunc(enum, isNull) {
			p.null = p.null || mayBeNull(&p.o)
			p.o.Set("enum", array(slices.DeleteFunc(enum, isNull)))
		}
		branches, err := f.branches(p)
		if err != nil || branches == nil {
			return nil, err
		}
		some := slices.DeleteFunc(slices.Clone(branches), onlyNull)
		p.null = p.null || len(some) < len(branches)
		switch len(some) {
		case 0:
			p.nothing()
			return nil, nil
		case 1:
			p.add(some[0])
			f.prepare(p)
			continue
		}
		return f.alone(p, some)
	}
}

// nothing leaves null alone in the place.
func (p *place) nothing() {
	var o raw.Object
	for _, k := range []string{"title", "description"} {
		if v := p.o.Get(k); v != nil {
			o.Set(k, v)
		}
	}
	p.o, p.null, p.words = o, true, append(p.words, "always null")
}

func isNull(v json.RawMessage) bool { return string(v) == "null" }

func mayBeNull(o *raw.Object) bool {
	types := typesOf(o)
	return len(types) == 0 || slices.Contains(types, "null") || string(o.Get("nullable")) == "true"
}

func onlyNull(p place) bool {
	types := typesOf(&p.o)
	enum := elements(p.o.Get("enum"))
	return len(types) == 1 && types[0] == "null" || isNull(p.o.Get("const")) ||
		len(enum) > 0 && !slices.ContainsFunc(enum, func(v json.RawMessage) bool { return !isNull(v) })
}

// branches takes the alternatives out of p, nil if it has none: those of its
// types, else those of "anyOf".
func (f *fitter) branches(p *place) ([]place, error) {
	types := typesOf(&p.o)
	if len(types) > 1 || len(types) == 1 && types[0] == "null" {
		return byType(p, types), nil
	}
	v := p.o.Get("anyOf")
	if v == nil {
		return nil, nil
	}
	p.o.Delete("anyOf")
	var out []place
	for _, one := range elements(v) {
		q, err := f.flat(one, place{path: p.path, depth: p.depth})
		if err != nil {
			return nil, err
		}
		out = append(out, q)
	}
	return out, nil
}

// byType takes from p what concerns only one of its types and returns it by type.
func byType(p *place, types []string) []place {
	enum := elements(p.o.Get("enum"))
	fits := func(t string) bool {
		return len(enum) == 0 || slices.ContainsFunc(enum, func(v json.RawMessage) bool { return isOf(v, t) })
	}
	if !slices.ContainsFunc(types, fits) { // no value is allowed: that of the types is as good
		p.words = append(p.words, say(&p.o, "enum")...)
		enum = nil
	}
	p.o.Delete("type")
	p.o.Delete("enum")
	var out []place
	var taken []string
	for _, t := range slices.DeleteFunc(slices.Clone(types), func(t string) bool { return !fits(t) }) {
		q := place{path: p.path, depth: p.depth}
		q.o.Set("type", quote(t))
		for k, v := range p.o.All() {
			if about(k, t) {
				q.o.Set(k, v)
				taken = append(taken, k)
			}
		}
		if len(enum) > 0 {
			q.o.Set("enum", array(slices.DeleteFunc(slices.Clone(enum), func(v json.RawMessage) bool { return !isOf(v, t) })))
		}
		out = append(out, q)
	}
	for _, k := range taken {
		p.o.Delete(k)
	}
	return out
}

// isOf says whether v is of the type t.
func isOf(v json.RawMessage, t string) bool {
	is := typeOf(v)
	return is == t || is == "integer" && t == "number"
}

// about says whether a keyword says something of values of a type, and of no others.
func about(keyword, t string) bool {
	c := concerns(keyword)
	return c == t || c == "number" && t == "integer"
}

// concerns returns the only type that a keyword says something of, "" if there is none.
func concerns(keyword string) string {
	switch keyword {
	case "minLength", "maxLength", "pattern", "format", "contentEncoding", "contentMediaType":
		return "string"
	case "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf":
		return "number"
	case "items", "prefixItems", "minItems", "maxItems", "uniqueItems", "contains", "minContains", "maxContains", "unevaluatedItems":
		return "array"
	case "properties", "required", "additionalProperties", "patternProperties", "minProperties", "maxProperties", "propertyNames",
		"dependentRequired", "dependentSchemas", "unevaluatedProperties":
		return "object"
	}
	return ""
}

// alone writes alternatives with nothing beside them: what stood there goes into
// each, and what is told into the first.
func (f *fitter) alone(p *place, branches []place) (*raw.Object, error) {
	var all []json.RawMessage
	for i, branch := range branches {
		q := place{path: p.path, depth: p.depth}
		for k, v := range p.o.All() {
			if k != "title" && k != "nullable" && (k != "description" || i == 0) {
				q.o.Set(k, v)
			}
		}
		if i == 0 {
			q.null, q.words = p.null, p.words
			if d := text(branch.o.Get("description")); d != "" && p.o.Get("description") != nil {
				q.words = append(slices.Clip(q.words), d)
			}
		}
		q.add(branch)
		out, err := f.write(q)
		if err != nil {
			return nil, err
		}
		all = append(all, out.Append(nil))
	}
	out, err := raw.Parse(anyOf(all))
	return &out, err
}

// union makes the alternatives of the outermost schema one object, where they may
// not stand there: with the properties of all, and required what all require.
func (f *fitter) union(p place) (place, error) {
	for _, k := range []string{"anyOf", "oneOf"} {
		v := p.o.Get(k)
		if v == nil || f.d.takes(k, p.top) {
			continue
		}
		p.o.Delete(k)
		var all []place
		for _, one := range elements(v) {
			q, err := f.flat(one, place{top: true, path: p.path, depth: p.depth})
			if err != nil {
				return p, err
			}
			if q, err = f.union(q); err != nil {
				return p, err
			}
			if types := typesOf(&q.o); len(types) == 0 || slices.Contains(types, "object") {
				all = append(all, q)
			}
		}
		if len(all) > 0 {
			p.join(all)
		}
	}
	return p, nil
}

// join puts alternatives, of which one must hold, into an object.
func (p *place) join(all []place) {
	base := map[string]json.RawMessage{}
	var names []string
	own, _ := raw.Parse(p.o.Get("properties"))
	for name, v := range own.All() {
		base[name] = v
		names = append(names, name)
	}
	variants, needs, closed := map[string][]json.RawMessage{}, map[string]int{}, 0
	for _, q := range all {
		props, _ := raw.Parse(q.o.Get("properties"))
		for name, v := range props.All() {
			switch mine := base[name]; {
			case mine != nil && !bytes.Equal(mine, v):
				v = meetSchemas(mine, v)
			case mine == nil && variants[name] == nil:
				names = append(names, name)
			}
			variants[name] = append(variants[name], v)
		}
		for _, s := range strs(q.o.Get("required")) {
			needs[s]++
		}
		if string(q.o.Get("additionalProperties")) == "false" {
			closed++
		}
		if d := q.o.Get("description"); d != nil && p.o.Get("description") == nil {
			p.words = append(p.words, plain(d))
		}
		p.words = append(p.words, q.words...)
		p.path = append(slices.Clip(p.path), q.path...)
		p.depth = max(p.depth, q.depth)
	}
	var props raw.Object
	for _, name := range names {
		if mine := base[name]; mine != nil && len(variants[name]) < len(all) {
			variants[name] = append(variants[name], mine)
		}
		props.Set(name, anyOf(variants[name]))
	}
	p.o.Set("properties", props.Append(nil))
	p.demand(all, needs)
	if closed == len(all) {
		p.o.Set("additionalProperties", json.RawMessage("false"))
	}
}

// demand sets what an object of alternatives requires and tells of the rest.
func (p *place) demand(all []place, needs map[string]int) {
	required := strs(p.o.Get("required"))
	var groups []string
	for _, q := range all {
		var own []string
		for _, s := range strs(q.o.Get("required")) {
			switch {
			case slices.Contains(required, s):
			case needs[s] == len(all):
				required = append(required, s)
			default:
				own = append(own, s)
			}
		}
		if len(own) > 0 {
			groups = append(groups, strings.Join(own, " and "))
		}
	}
	if len(required) > 0 {
		p.o.Set("required", list(required))
	}
	if len(groups) > 0 {
		what := "needs " + strings.Join(groups, ", or ")
		if len(groups) < len(all) {
			what += ", or none of these"
		}
		p.words = append(p.words, what)
	}
}
