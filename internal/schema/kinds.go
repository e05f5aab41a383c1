package schema

import (
	"encoding/json"

	js "github.com/santhosh-tekuri/jsonschema/v6"
)

// kinds is a set of the types of JSON. A schema that allows numbers allows
// integers too.
type kinds uint8

const (
	kNull kinds = 1 << iota
	kBool
	kInteger
	kNumber
	kString
	kList
	kObject
	kAll = kNull | kBool | kInteger | kNumber | kString | kList | kObject
)

var kindNames = map[string]kinds{
	"null": kNull, "boolean": kBool, "integer": kInteger, "number": kNumber | kInteger,
	"string": kString, "array": kList, "object": kObject,
}

// kindsOf returns the types that a schema may allow.
func kindsOf(s *js.Schema) kinds { return kindsIn(s, 0) }

func kindsIn(s *js.Schema, depth int) kinds {
	const deep = 16 // a schema that refers to itself says nothing more after this
	if s == nil || s.Bool != nil || depth > deep {
		return kAll
	}
	out := kAll
	switch {
	case s.Types != nil && !s.Types.IsEmpty():
		out = 0
		for _, name := range s.Types.ToStrings() {
			out |= kindNames[name]
		}
	case s.Enum != nil:
		out = 0
		for _, v := range s.Enum.Values {
			out |= kindOf(v)
		}
	case s.Const != nil:
		out = kindOf(*s.Const)
	}
	if s.Ref != nil {
		out &= kindsIn(s.Ref, depth+1)
	}
	for _, sub := range s.AllOf {
		out &= kindsIn(sub, depth+1)
	}
	for _, list := range [][]*js.Schema{s.AnyOf, s.OneOf} {
		if len(list) == 0 {
			continue
		}
		var union kinds
		for _, sub := range list {
			union |= kindsIn(sub, depth+1)
		}
		out &= union
	}
	return out
}

// kindOf returns the type of a decoded value; a number counts as both.
func kindOf(v any) kinds {
	switch v.(type) {
	case nil:
		return kNull
	case bool:
		return kBool
	case json.Number, float64:
		return kNumber | kInteger
	case string:
		return kString
	case []any:
		return kList
	case map[string]any:
		return kObject
	}
	return 0
}
