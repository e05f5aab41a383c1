package fit

import (
	"encoding/json"
	"slices"

	"github.com/uzda-dev/uzda/internal/raw"
)

// maxStrict is how deep objects may be nested in strict mode.
const maxStrict = 10

// Strict says whether strict mode changes nothing of a tool's schema: at every
// depth objects are closed and require all their properties, everything has a
// type, there is no recursion, and no keyword has to go that says which members
// there are. Other tools must not be sent as strict, as their optional members
// would become required.
func Strict(schema json.RawMessage) bool {
	if len(schema) > MaxIn {
		return false
	}
	o, err := raw.Parse(schema)
	if err != nil || text(o.Get("type")) != "object" {
		return false
	}
	for _, k := range combinators {
		if o.Get(k) != nil {
			return false
		}
	}
	s := stricter{refs: refs{doc: schema}}
	return s.strict(schema, nil, 0)
}

type stricter struct {
	refs refs
	work int
}

// loose are the keywords with which an object is not what its properties say.
var loose = []string{"allOf", "oneOf", "not", "if", "then", "else", "patternProperties", "prefixItems", "additionalItems", "contains",
	"dependentRequired", "dependentSchemas", "dependencies", "propertyNames", "unevaluatedItems", "unevaluatedProperties",
	"$dynamicRef", "$recursiveRef", "nullable"}

func (s *stricter) strict(v json.RawMessage, path []string, depth int) bool {
	o, err := raw.Parse(v)
	if s.work += len(v); err != nil || depth > maxStrict || s.work > maxWork || wide(&o) {
		return false
	}
	for _, k := range loose {
		if o.Get(k) != nil {
			return false
		}
	}
	if r := o.Get("$ref"); r != nil {
		ref := text(r)
		for k := range o.All() {
			if k != "$ref" && k != "description" && k != "title" {
				return false
			}
		}
		target := s.refs.find(ref)
		return target != nil && !slices.Contains(path, ref) && s.strict(target, append(slices.Clip(path), ref), depth)
	}
	types := typesOf(&o)
	if alternatives := o.Get("anyOf"); alternatives != nil {
		all := elements(alternatives)
		return len(all) > 0 && len(types) == 0 && o.Get("properties") == nil && o.Get("items") == nil &&
			!slices.ContainsFunc(all, func(v json.RawMessage) bool { return !s.strict(v, path, depth) })
	}
	known := !slices.ContainsFunc(types, func(t string) bool { return kind(t) != t || t == "any" })
	switch {
	case !known:
		return false
	case slices.Contains(types, "object") || o.Get("properties") != nil:
		return slices.Contains(types, "object") && s.object(&o, path, depth)
	case slices.Contains(types, "array"):
		items := o.Get("items")
		return len(items) > 0 && items[0] == '{' && s.strict(items, path, depth+1)
	}
	return len(types) > 0 || implied(&o) != ""
}

// object says whether an object is closed and requires all that it has.
func (s *stricter) object(o *raw.Object, path []string, depth int) bool {
	if string(o.Get("additionalProperties")) != "false" || slices.Contains(typesOf(o), "array") {
		return false
	}
	props := raw.Object{}
	if v := o.Get("properties"); v != nil {
		var err error
		if props, err = raw.Parse(v); err != nil {
			return false
		}
	}
	required := strs(o.Get("required"))
	for _, name := range required {
		if props.Get(name) == nil {
			return false
		}
	}
	for name, v := range props.All() {
		if !slices.Contains(required, name) || !s.strict(v, path, depth+1) {
			return false
		}
	}
	return true
}
