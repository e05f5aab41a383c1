package fit

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"github.com/uzda-dev/uzda/internal/raw"
)

var (
	anything = json.RawMessage("{}")
	propName = regexp.MustCompile(`^[a-zA-Z0-9_.-]{1,64}$`)
)

// top writes the outermost schema and the definitions that it uses.
func (f *fitter) top() (json.RawMessage, error) {
	p, err := f.flat(f.refs.doc, place{top: true})
	if err != nil {
		return nil, err
	}
	if p, err = f.union(p); err != nil {
		return nil, err
	}
	if types := typesOf(&p.o); len(types) > 0 && !slices.Contains(types, "object") {
		return nil, errTop
	}
	for _, k := range []string{"enum", "const", "not", "nullable"} {
		if !f.d.takes(k, true) || k == "nullable" {
			p.words = append(p.words, say(&p.o, k)...)
			p.o.Delete(k)
		}
	}
	if p.o.Get("type") == nil {
		p.o = *first(p.o, "type", `"object"`)
	}
	setTypes(&p.o, []string{"object"})
	if p.o.Get("properties") == nil {
		p.o.Set("properties", anything)
	}
	out, err := f.write(p)
	if err != nil {
		return nil, err
	}
	var defs raw.Object
	lost := f.lost
	for i := 0; i < len(f.defs); i++ { // writing one may add more
		v, err := f.schema(f.defs[i].raw, place{})
		if err != nil {
			return nil, err
		}
		defs.Set(f.defs[i].name, v)
	}
	if f.loose = f.lost > lost; f.open && f.d.Closed {
		return nil, errOpen
	}
	if defs.Len() > 0 {
		out.Set("$defs", defs.Append(nil))
	}
	v := out.Append(nil)
	if len(v) > MaxOut {
		return nil, errOut
	}
	return v, nil
}

// schema writes the schema v, which stands within at.
func (f *fitter) schema(v json.RawMessage, at place) (json.RawMessage, error) {
	p, err := f.flat(v, place{path: at.path, depth: at.depth})
	if err != nil {
		return nil, err
	}
	out, err := f.write(p)
	if err != nil {
		return nil, err
	}
	return out.Append(nil), nil
}

// write writes the schema of a place, keyword by keyword.
func (f *fitter) write(p place) (*raw.Object, error) {
	f.prepare(&p)
	if f.d.Nullable {
		if out, err := f.split(&p); out != nil || err != nil {
			return out, err
		}
	}
	f.typed(&p)
	f.enum(&p)
	f.complete(&p)
	out, err := f.keywords(&p)
	if err != nil || len(p.words) == 0 {
		return out, err
	}
	f.lost++
	out.Set("description", quote(describe(text(p.o.Get("description")), p.words)))
	return out, nil
}

// keywords writes the keywords that are taken and puts the others into words.
func (f *fitter) keywords(p *place) (*raw.Object, error) {
	out := &raw.Object{}
	var gone []string
	for k, v := range p.o.All() {
		if !f.accepts(k, v, p.top) {
			gone = append(gone, k)
			continue
		}
		if f.size += len(k) + 4; holds(k) == 0 {
			f.size += len(v)
		}
		if f.size > MaxOut {
			return nil, errOut
		}
		lost := f.lost
		v, err := f.value(k, v, *p)
		if err != nil {
			return nil, err
		}
		if f.lost > lost { // it allows more now, so that what excludes it must go
			switch {
			case k == "oneOf" && p.o.Get("anyOf") == nil:
				k = "anyOf"
			case k == "oneOf" || k == "not":
				gone = append(gone, k)
				continue
			case k == "if":
				gone = append(gone, "if", "then", "else")
				continue
			}
		}
		out.Set(k, v)
	}
	for _, k := range gone {
		out.Delete(k)
		p.words = append(p.words, say(&p.o, k)...)
	}
	return out, nil
}

func (f *fitter) accepts(keyword string, v json.RawMessage, top bool) bool {
	if keyword == "format" && f.d.Formats != nil && !slices.Contains(f.d.Formats, text(v)) {
		return false
	}
	return f.d.takes(keyword, top)
}

// value writes the value of a keyword.
func (f *fitter) value(keyword string, v json.RawMessage, at place) (json.RawMessage, error) {
	switch holds(keyword) {
	case inMap:
		var out raw.Object
		in, _ := raw.Parse(v)
		for name, child := range in.All() {
			w, err := f.schema(child, at)
			if err != nil {
				return nil, err
			}
			out.Set(name, w)
		}
		return out.Append(nil), nil
	case inList:
		all := elements(v)
		for i, child := range all {
			w, err := f.schema(child, at)
			if err != nil {
				return nil, err
			}
			all[i] = w
		}
		return array(all), nil
	case inPlace:
		if v[0] == '{' || keyword == "items" && (string(v) == "true" || f.d.Only != nil) {
			return f.schema(v, at)
		}
	}
	return v, nil
}

// prepare gives keywords that are not taken the form of others that are.
func (f *fitter) prepare(p *place) {
	f.alternatives(p)
	f.constant(p)
	f.tuple(p)
	f.keys(p)
}

// alternatives makes "oneOf" an "anyOf" where only that is taken.
func (f *fitter) alternatives(p *place) {
	v := p.o.Get("oneOf")
	if v == nil || f.d.takes("oneOf", p.top) || !f.d.takes("anyOf", p.top) {
		return
	}
	if p.o.Get("anyOf") == nil {
		p.o = renamed(p.o, "oneOf", "anyOf", v)
	}
}

// constant makes "const" an "enum" of one.
func (f *fitter) constant(p *place) {
	v := p.o.Get("const")
	if v == nil || f.d.takes("const", p.top) || !f.d.takes("enum", p.top) {
		return
	}
	p.o.Delete("enum")
	p.o = renamed(p.o, "const", "enum", array([]json.RawMessage{v}))
}

// renamed returns o with another member in the place of one.
func renamed(o raw.Object, from, to string, value json.RawMessage) (out raw.Object) {
	for k, v := range o.All() {
		if k == from {
			k, v = to, value
		}
		out.Set(k, v)
	}
	return out
}

// tuple makes "prefixItems" an "items" of what the items of the array may be.
func (f *fitter) tuple(p *place) {
	v := p.o.Get("prefixItems")
	if v == nil || f.d.takes("prefixItems", p.top) {
		return
	}
	all := elements(v)
	rest := p.o.Get("items")
	switch {
	case len(rest) > 0 && rest[0] == '{':
		all = append(all, rest)
	case string(rest) == "false" || p.o.Get("maxItems") != nil && !less(json.RawMessage(itoa(len(all))), p.o.Get("maxItems")):
	default:
		all = []json.RawMessage{anything}
	}
	p.words = append(p.words, say(&p.o, "prefixItems")...)
	p.o.Delete("items")
	p.o = renamed(p.o, "prefixItems", "items", anyOf(all))
}

// anyOf returns the schema of what one of all allows.
func anyOf(all []json.RawMessage) json.RawMessage {
	var distinct []json.RawMessage
	for _, v := range all {
		if string(v) == "{}" || string(v) == "true" {
			return anything
		}
		if !slices.ContainsFunc(distinct, func(w json.RawMessage) bool { return string(v) == string(w) }) {
			distinct = append(distinct, v)
		}
	}
	if len(distinct) == 1 {
		return distinct[0]
	}
	return append(append(json.RawMessage(`{"anyOf":`), array(distinct)...), '}')
}

// keys takes out properties whose names are not taken; they are told, and the
// object is left open for them.
func (f *fitter) keys(p *place) {
	if !f.d.Keys {
		return
	}
	props, err := raw.Parse(p.o.Get("properties"))
	if err != nil {
		return
	}
	var kept raw.Object
	for name, v := range props.All() {
		if propName.MatchString(name) {
			kept.Set(name, v)
			continue
		}
		p.words = append(p.words, "has the property "+values(quote(name))+" too: "+plain(v))
	}
	if kept.Len() == props.Len() {
		return
	}
	f.open = true
	p.o.Set("properties", kept.Append(nil))
	p.o.Delete("additionalProperties")
	if v := p.o.Get("required"); v != nil {
		p.o.Set("required", list(slices.DeleteFunc(strs(v), func(s string) bool { return !propName.MatchString(s) })))
	}
}

// typed gives a schema the type that its other keywords imply, and takes those out
// that say nothing of its type.
func (f *fitter) typed(p *place) {
	if !f.d.Typed {
		return
	}
	if t := implied(&p.o); t != "" {
		p.o = *first(p.o, "type", string(quote(t)))
	}
	types := typesOf(&p.o)
	var kept raw.Object
	for k, v := range p.o.All() {
		switch c := concerns(k); {
		case len(types) == 1 && c != "" && !about(k, types[0]): // says nothing
		case len(types) == 0 && p.o.Get("enum") != nil && (c == "array" || c == "object"):
			p.words = append(p.words, say(&p.o, k)...)
		default:
			kept.Set(k, v)
		}
	}
	p.o = kept
	v := p.o.Get("required")
	if v == nil {
		return
	}
	props, _ := raw.Parse(p.o.Get("properties"))
	var known, others []string
	for _, s := range strs(v) {
		if props.Get(s) != nil {
			known = append(known, s)
		} else {
			others = append(others, s)
		}
	}
	if len(others) > 0 {
		p.o.Set("required", list(known))
		p.words = append(p.words, "must also have "+strings.Join(others, ", "))
	}
}

func implied(o *raw.Object) string {
	for _, k := range []string{"type", "anyOf", "oneOf", "allOf", "$ref"} {
		if o.Get(k) != nil {
			return ""
		}
	}
	of := func(keywords ...string) bool {
		return slices.ContainsFunc(keywords, func(k string) bool { return o.Get(k) != nil })
	}
	all := elements(o.Get("enum"))
	if c := o.Get("const"); c != nil {
		all = []json.RawMessage{c}
	}
	switch {
	case len(all) > 0:
		t := typeOf(all[0])
		for _, v := range all {
			if typeOf(v) != t {
				return ""
			}
		}
		return t
	case of("properties", "required", "additionalProperties", "patternProperties"):
		return "object"
	case of("items", "prefixItems"):
		return "array"
	}
	return ""
}

func typeOf(v json.RawMessage) string {
	switch v[0] {
	case '"':
		return "string"
	case '{':
		return "object"
	case '[':
		return "array"
	case 't', 'f':
		return "boolean"
	case 'n':
		return "null"
	}
	if strings.ContainsAny(string(v), ".eE") {
		return "number"
	}
	return "integer"
}

// enum tells of an enum that has other values than strings.
func (f *fitter) enum(p *place) {
	v := p.o.Get("enum")
	if v == nil || !f.d.Words {
		return
	}
	all := slices.DeleteFunc(elements(v), func(v json.RawMessage) bool { return v[0] == 'n' })
	types := typesOf(&p.o)
	isString := len(types) == 1 && types[0] == "string"
	if isString {
		all = slices.DeleteFunc(all, func(v json.RawMessage) bool { return v[0] != '"' })
	}
	odd := func(v json.RawMessage) bool { return v[0] != '"' || string(v) == `""` }
	if !isString || len(all) == 0 || slices.ContainsFunc(all, odd) {
		p.words = append(p.words, say(&p.o, "enum")...)
		p.o.Delete("enum")
		return
	}
	p.o.Set("enum", array(all))
}

// complete adds what the dialect misses.
func (f *fitter) complete(p *place) {
	types := typesOf(&p.o)
	if f.d.Items && slices.Contains(types, "array") && p.o.Get("items") == nil {
		p.o.Set("items", anything)
	}
	if f.d.Closed && slices.Contains(types, "object") {
		if p.o.Get("properties") == nil {
			p.o.Set("properties", anything)
		}
		if p.o.Get("required") == nil {
			p.o.Set("required", json.RawMessage("[]"))
		}
	}
	if p.null && f.d.takes("nullable", p.top) {
		p.o.Set("nullable", json.RawMessage("true"))
	}
}
