package policy

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/uzda-dev/uzda"
)

// matches says whether the rule holds for a use. What cannot be judged holds
// where it denies or asks, and not where it allows.
func (r Rule) matches(a uzda.Action, list uzda.Decision) bool {
	if !r.names(a.Use.Name, list) {
		return false
	}
	strict := list != uzda.Allow
	switch {
	case r.Param == "" && !r.blind():
		return true
	case r.blind() && strict:
		return true
	case r.blind() && !r.exact():
		return false
	}
	return r.argument(a.Use.Input, strict)
}

// names says whether the rule is about a tool.
func (r Rule) names(tool string, list uzda.Decision) bool {
	for _, n := range r.tools() {
		if n == tool || strings.Contains(n, "*") && wild(n, tool) {
			return true
		}
	}
	if server, ok := strings.CutPrefix(r.Tool, mcpPrefix); ok && !strings.Contains(server, "__") {
		return strings.HasPrefix(tool, r.Tool+"__")
	}
	// grep shows what files hold, so what may not be read may not be searched.
	return list != uzda.Allow && r.Tool == "Read" && tool == "grep"
}

// argument compares one argument with the pattern. Decoders take keys in any
// case and the last of several, so one that allows wants exactly one key and a
// string, and one that denies is content with any.
func (r Rule) argument(input json.RawMessage, strict bool) bool {
	values, exact, ok := lookUp(input, r.Param)
	if !ok {
		return strict
	}
	if !strict {
		return exact && len(values) == 1 && r.fits(values[0], strict)
	}
	for _, v := range values {
		if r.fits(v, strict) {
			return true
		}
	}
	return false
}

func (r Rule) fits(value json.RawMessage, strict bool) bool {
	var s string
	switch value = bytes.TrimSpace(value); value[0] {
	case '"':
		if json.Unmarshal(value, &s) != nil {
			return strict
		}
	case '{', '[': // what lies inside is not compared
		return strict
	default:
		s = string(value)
	}
	return wild(r.Spec, s)
}

// lookUp finds the members of an object that a decoder might take for a key. The
// key is exact if none differs from it in case.
func lookUp(input json.RawMessage, key string) (values []json.RawMessage, exact, ok bool) {
	d := json.NewDecoder(bytes.NewReader(input))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, false, false
	}
	exact = true
	for d.More() {
		t, err := d.Token()
		name, isKey := t.(string)
		var v json.RawMessage
		if err != nil || !isKey || d.Decode(&v) != nil {
			return nil, false, false
		}
		if strings.EqualFold(name, key) {
			exact = exact && name == key
			values = append(values, v)
		}
	}
	if _, err := d.Token(); err != nil {
		return nil, false, false
	}
	return values, exact, true
}

// wild matches a whole text with a pattern in which * is any run of characters,
// in time that is at worst the product of their lengths.
func wild(pattern, text string) bool {
	p, t := 0, 0
	star, from := -1, 0
	for t < len(text) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, from = p, t
			p++
		case p < len(pattern) && pattern[p] == text[t]:
			p++
			t++
		case star >= 0:
			from++
			p, t = star+1, from
		default:
			return false
		}
	}
	return strings.Trim(pattern[p:], "*") == ""
}
