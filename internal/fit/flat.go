package fit

import (
	"bytes"
	"encoding/json"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/uzda-dev/uzda/internal/raw"
)

// A fitter writes one schema anew.
type fitter struct {
	d     Dialect
	refs  refs
	reach reach
	wary  bool // definitions may be schemas of which something is lost

	work  int               // bytes that were looked at
	size  int               // bytes that were written
	lost  int               // schemas of which something had to be put into words
	loose bool              // a definition was such a schema
	open  bool              // an object had to be left open
	defs  []def             // of the result, in the order of their first use
	names map[string]string // of defs, by the reference to them
}

// restart forgets what was written.
func (f *fitter) restart() { *f = fitter{d: f.d, refs: f.refs, reach: f.reach} }

type def struct {
	name string
	raw  json.RawMessage
}

// A place is where a schema stands, with what was put into it.
type place struct {
	o     raw.Object
	words []string // what is told in its description
	path  []string // the references that led here
	depth int
	top   bool
	null  bool // null is allowed besides
}

// flat reads the schema v, puts in what it refers to, where the dialect has no
// references, and what all of "allOf" say, where it has none.
func (f *fitter) flat(v json.RawMessage, at place) (place, error) {
	if f.work += len(v) + 200; f.work > maxWork {
		return at, errOut
	}
	if at.depth++; at.depth > maxDepth {
		return at, errDepth
	}
	o, err := raw.Parse(v)
	if err != nil { // no schema, or one without members
		o = bare(v)
	}
	if wide(&o) {
		return at, errWidth
	}
	at.o, at.words = o, nil
	at.words = modern(&at.o)
	if at, err = f.follow(at); err != nil {
		return at, err
	}
	if f.d.takes("allOf", at.top) {
		return at, nil
	}
	all := elements(at.o.Get("allOf"))
	at.o.Delete("allOf")
	for _, one := range all {
		in := at
		if in, err = f.flat(one, in); err != nil {
			return at, err
		}
		at.add(in)
	}
	return at, nil
}

// wide says whether a keyword has more members than can be compared with each other.
func wide(o *raw.Object) bool {
	for k, v := range o.All() {
		switch {
		case holds(k) == inMap:
			if all, err := raw.Parse(v); err == nil && all.Len() > maxWidth {
				return true
			}
		case holds(k) == inList || k == "required":
			if len(elements(v)) > maxWidth {
				return true
			}
		}
	}
	return false
}

// bare is the schema that stands for a value that is none: the name of a type is
// that type, false is nothing, all else is any value.
func bare(v json.RawMessage) (o raw.Object) {
	if string(v) == "false" {
		o.Set("not", json.RawMessage("{}"))
	} else if t := kind(text(v)); t != "" && t != "any" {
		o.Set("type", quote(t))
	}
	return o
}

// follow handles the reference of a schema, if it has one.
func (f *fitter) follow(at place) (place, error) {
	ref := text(at.o.Get("$ref"))
	at.o.Delete("$ref")
	if ref == "" {
		return at, nil
	}
	target := f.refs.find(ref)
	switch {
	case target == nil:
		at.words = append(at.words, "of a kind that is described nowhere: "+plain(quote(ref)))
		return at, nil
	case !f.d.Inline && !at.top:
		if f.wary {
			f.lost++
		}
		at.o = *first(at.o, "$ref", string(quote("#/$defs/"+f.define(ref, target))))
		return at, nil
	case count(at.path, ref) >= f.reach.levels:
		return again(at, target, "nested further in the same way"), nil
	case len(at.path) >= f.reach.chain:
		return again(at, target, "described no further"), nil
	}
	in := at
	in.path = append(slices.Clip(at.path), ref)
	in, err := f.flat(target, in)
	if err == nil {
		at.add(in)
	}
	return at, err
}

func count(path []string, ref string) (n int) {
	for _, p := range path {
		if p == ref {
			n++
		}
	}
	return n
}

// again ends a chain of references: of what comes now only the type is said.
func again(at place, target json.RawMessage, what string) place {
	o, _ := raw.Parse(target)
	modern(&o)
	if types := typesOf(&o); at.o.Get("type") == nil && len(types) > 0 {
		setTypes(&at.o, types)
	} else if o.Get("properties") != nil && at.o.Get("type") == nil {
		setTypes(&at.o, []string{"object"})
	}
	if d := o.Get("description"); d != nil && at.o.Get("description") == nil {
		at.o.Set("description", d)
	}
	if t := text(o.Get("title")); t != "" {
		what = t + ", " + what
	}
	at.words = append(at.words, what)
	return at
}

// define returns the name in "$defs" of what ref refers to.
func (f *fitter) define(ref string, target json.RawMessage) string {
	if name, ok := f.names[ref]; ok {
		return name
	}
	last := ref[1+strings.LastIndexAny(ref, "/#"):]
	if s, err := url.PathUnescape(last); err == nil {
		last = unescape(s)
	}
	if last == "" {
		last = "root"
	}
	base := Name(last, maxName, nil)
	name := base
	taken := func(d def) bool { return d.name == name }
	for i := 2; slices.ContainsFunc(f.defs, taken); i++ {
		name = base + "_" + strconv.Itoa(i)
	}
	if f.names == nil {
		f.names = map[string]string{}
	}
	f.names[ref] = name
	f.defs = append(f.defs, def{name, target})
	return name
}

// add puts another schema into the place, which must hold too.
func (p *place) add(q place) {
	p.words = append(p.words, q.words...)
	p.depth = max(p.depth, q.depth)
	for _, ref := range q.path {
		if !slices.Contains(p.path, ref) || count(q.path, ref) > count(p.path, ref) {
			p.path = append(slices.Clip(p.path), ref)
		}
	}
	for k, v := range q.o.All() {
		mine := p.o.Get(k)
		if mine == nil {
			p.o.Set(k, v)
			continue
		}
		both, ok := meet(k, mine, v)
		p.o.Set(k, both)
		if !ok {
			p.words = append(p.words, say(&q.o, k)...)
		}
	}
}

// meet returns the value of a keyword where two schemas must hold; where there is
// none it is the first, and not ok.
func meet(keyword string, a, b json.RawMessage) (both json.RawMessage, ok bool) {
	if bytes.Equal(a, b) {
		return a, true
	}
	switch keyword {
	case "title", "description", "default", "examples", "example", "deprecated", "readOnly", "writeOnly":
		return a, true
	case "required":
		return list(distinct(append(strs(a), strs(b)...))), true
	case "properties", "patternProperties":
		return meetAll(a, b), true
	case "type":
		return meetTypes(a, b), true
	case "minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties":
		if less(a, b) {
			return b, true
		}
		return a, true
	case "maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties":
		if less(b, a) {
			return b, true
		}
		return a, true
	case "enum":
		return meetEnum(a, b), true
	case "items", "additionalProperties", "propertyNames", "contains":
		return meetSchemas(a, b), true
	}
	return a, false
}

func meetSchemas(a, b json.RawMessage) json.RawMessage {
	switch {
	case string(a) == "false" || string(b) == "true" || string(b) == "{}":
		return a
	case string(b) == "false" || string(a) == "true" || string(a) == "{}":
		return b
	}
	return append(append(append(append(json.RawMessage(`{"allOf":[`), a...), ','), b...), `]}`...)
}

func meetAll(a, b json.RawMessage) json.RawMessage {
	out, err := raw.Parse(a)
	more, fault := raw.Parse(b)
	if err != nil || fault != nil {
		return a
	}
	for name, v := range more.All() {
		if mine := out.Get(name); mine != nil && !bytes.Equal(mine, v) {
			v = meetSchemas(mine, v)
		}
		out.Set(name, v)
	}
	return out.Append(nil)
}

func meetTypes(a, b json.RawMessage) json.RawMessage {
	var x, y, z raw.Object
	x.Set("type", a)
	y.Set("type", b)
	more := typesOf(&y)
	var both []string
	for _, t := range typesOf(&x) {
		switch {
		case slices.Contains(more, t):
		case t == "number" && slices.Contains(more, "integer"):
			t = "integer"
		case t == "integer" && slices.Contains(more, "number"):
		default:
			continue
		}
		both = append(both, t)
	}
	if len(both) == 0 { // nothing can be both: what the first says is as good
		return a
	}
	setTypes(&z, both)
	return z.Get("type")
}

func meetEnum(a, b json.RawMessage) json.RawMessage {
	more := map[string]bool{}
	for _, v := range elements(b) {
		more[string(v)] = true
	}
	var both []json.RawMessage
	for _, v := range elements(a) {
		if more[string(v)] {
			both = append(both, v)
		}
	}
	if len(both) == 0 {
		return a
	}
	return array(both)
}

func less(a, b json.RawMessage) bool {
	x, err := strconv.ParseFloat(string(a), 64)
	y, fault := strconv.ParseFloat(string(b), 64)
	return err == nil && fault == nil && x < y
}
