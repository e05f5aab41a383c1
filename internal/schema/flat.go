package schema

import (
	"bytes"
	"encoding/json"
	"slices"
	"unicode/utf8"
)

// A flat schema is an object of few scalars without further conditions, as most
// tools have. An input that has no others is seen to be valid without being
// decoded, which costs a twentieth of the validator.
type flat struct {
	names    []string
	kinds    []kinds
	required uint64 // a bit for each name
}

// flatOf returns the schema as a flat one, nil if it is none. Only what is known
// to be nothing but a remark is passed over.
func flatOf(schema map[string]any) *flat {
	f := &flat{}
	props, _ := schema["properties"].(map[string]any)
	for name, p := range props {
		k := scalar(p)
		if k == 0 || len(f.names) == 64 {
			return nil
		}
		f.names, f.kinds = append(f.names, name), append(f.kinds, k)
	}
	for key, v := range schema {
		switch key {
		case "type":
			if v != "object" {
				return nil
			}
		case "required":
			list, _ := v.([]any)
			for _, one := range list {
				name, _ := one.(string)
				i := slices.Index(f.names, name)
				if i < 0 {
					return nil
				}
				f.required |= 1 << i
			}
		case "properties", "additionalProperties", "title", "description":
		default:
			return nil
		}
	}
	return f
}

// scalar returns the kind of a schema that says a scalar type and nothing else, 0
// for another.
func scalar(v any) (k kinds) {
	p, _ := v.(map[string]any)
	for key, v := range p {
		switch key {
		case "type":
			name, _ := v.(string)
			k = kindNames[name] & (kBool | kInteger | kNumber | kString)
		case "title", "description", "default":
		default:
			return 0
		}
	}
	return k
}

// takes says whether raw certainly is valid as it stands. A no says nothing.
func (f *flat) takes(raw []byte) bool {
	if f == nil || len(raw) == 0 || raw[0] != '{' || !json.Valid(raw) || !utf8.Valid(raw) {
		return false
	}
	var seen uint64
	for rest := space(raw[1:]); rest[0] != '}'; {
		end := stringEnd(rest)
		i := f.index(rest[1 : end-1])
		if i < 0 || seen&(1<<i) != 0 {
			return false
		}
		seen |= 1 << i
		rest = space(space(rest[end:])[1:])
		n, kind := plain(rest)
		if kind&f.kinds[i] == 0 {
			return false
		}
		if rest = space(rest[n:]); rest[0] == ',' {
			rest = space(rest[1:])
		}
	}
	return seen&f.required == f.required
}

func (f *flat) index(name []byte) int {
	return slices.IndexFunc(f.names, func(n string) bool { return n == string(name) })
}

// plain returns the length and the kind of the scalar that b begins with; the kind
// is 0 for what must be looked at more closely.
func plain(b []byte) (n int, k kinds) {
	switch b[0] {
	case '"':
		return stringEnd(b), kString
	case 't':
		return len("true"), kBool
	case 'f':
		return len("false"), kBool
	case 'n', '{', '[':
		return 0, 0
	}
	n = bytes.IndexAny(b, ",} \t\r\n") // there is one: the object ends
	if bytes.ContainsAny(b[:n], ".eE") {
		return n, 0
	}
	return n, kInteger | kNumber
}

// stringEnd returns the length of the string that b begins with.
func stringEnd(b []byte) int {
	for i := 1; ; i++ {
		switch b[i] {
		case '"':
			return i + 1
		case '\\':
			i++
		}
	}
}

func space(b []byte) []byte { return bytes.TrimLeft(b, " \t\r\n") }
