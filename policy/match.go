package policy

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/uzda-dev/uzda"
)

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
	// What may not be read may not be searched or listed, nor be shown by the
	// difference that an edit makes.
	if list == uzda.Allow || r.Tool != "Read" && r.Tool != "read_file" {
		return false
	}
	return tool == "grep" || r.Spec != "" && (tool == "glob" || tool == "edit_file")
}

// argument compares an argument with the pattern. Decoders take keys in any
// case and the last of several, so a rule that allows wants exactly one key and
// a plain value, and one that denies or asks is content with any.
func (r Rule) argument(input json.RawMessage, list string) bool {
	values, exact, ok := find(input, r.Param)
	if !ok {
		return list == strict
	}
	bound, isBound, err := parseBound(r.Spec)
	if err != nil {
		return list == strict
	}
	fits := func(v json.RawMessage) bool {
		if isBound {
			return bound.holds(v, list)
		}
		return r.fits(v, list)
	}
	if list == strict {
		return slices.ContainsFunc(values, fits)
	}
	return exact && len(values) > 0 && !slices.ContainsFunc(values, func(v json.RawMessage) bool { return !fits(v) })
}

func (r Rule) fits(value json.RawMessage, list string) bool {
	var s string
	switch value = bytes.TrimSpace(value); value[0] {
	case '"':
		if json.Unmarshal(value, &s) != nil {
			return list == strict
		}
	case '{', '[': // what lies inside is not compared
		return list == strict
	default:
		s = string(value)
	}
	return wild(r.Spec, s)
}

// find returns the values of an argument: a name, or a JSON pointer in which *
// is every item of a list. exact: each key stands there once, in that very case.
func find(input json.RawMessage, param string) (values []json.RawMessage, exact, ok bool) {
	path := []string{param}
	if strings.HasPrefix(param, "/") {
		path = strings.Split(param[1:], "/")
	}
	values, exact = []json.RawMessage{input}, true
	for i, key := range path {
		key = strings.NewReplacer("~1", "/", "~0", "~").Replace(key)
		var next []json.RawMessage
		for _, v := range values {
			if i > 0 && bytes.HasPrefix(bytes.TrimSpace(v), []byte("[")) {
				list, good := items(v, key)
				if !good {
					return nil, false, false
				}
				next = append(next, list...)
				continue
			}
			found, one, good := lookUp(v, key)
			if !good {
				return nil, false, false
			}
			exact = exact && one && len(found) == 1
			next = append(next, found...)
		}
		values = next
	}
	return values, exact, true
}

// items are those of a list that a key of a pointer means.
func items(list json.RawMessage, key string) ([]json.RawMessage, bool) {
	var all []json.RawMessage
	if json.Unmarshal(list, &all) != nil {
		return nil, false
	}
	if key == "*" {
		return all, true
	}
	i, err := strconv.Atoi(key)
	if err != nil || i < 0 {
		return nil, false
	}
	if i >= len(all) {
		return nil, true
	}
	return all[i : i+1], true
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

// A bound is a comparison of numbers: >100, >=100, <100, <=100, 10..20. Of a list
// it is the length that is compared.
type bound struct {
	min, max         *big.Float // nil: none
	overMin, belowIt bool       // the bound itself does not count
}

// parseBound reads a bound; ok is false for a pattern of text.
func parseBound(spec string) (b bound, ok bool, err error) {
	if low, high, is := strings.Cut(spec, ".."); is {
		lo, good := number(low)
		hi, good2 := number(high)
		if !good || !good2 {
			return b, false, nil
		}
		if lo.Cmp(hi) > 0 {
			return b, false, fmt.Errorf("the range %s is empty; write the lower number first", spec)
		}
		return bound{min: lo, max: hi}, true, nil
	}
	sign := spec[:len(spec)-len(strings.TrimLeft(spec, "<>="))]
	if sign == "" || sign[0] == '=' {
		return b, false, nil
	}
	n, good := number(spec[len(sign):])
	switch {
	case !good:
		return b, false, fmt.Errorf("%q is no number; write for example amount:>100, amount:<=50 or rows:1..20", strings.TrimSpace(spec[len(sign):]))
	case sign == ">":
		return bound{min: n, overMin: true}, true, nil
	case sign == ">=":
		return bound{min: n}, true, nil
	case sign == "<":
		return bound{max: n, belowIt: true}, true, nil
	case sign == "<=":
		return bound{max: n}, true, nil
	}
	return b, false, errors.New("compare by >, >=, < or <=, or write a range as 10..20")
}

// number reads a decimal number exactly enough that no rounding decides.
func number(s string) (*big.Float, bool) {
	s = strings.TrimSpace(s)
	if s == "" || len(s) > 400 || strings.Trim(s, "0123456789.+-eE") != "" {
		return nil, false
	}
	if i := strings.IndexAny(s, "eE"); i >= 0 {
		if e, err := strconv.Atoi(s[i+1:]); err != nil || e > 9999 || e < -9999 {
			return nil, false
		}
	}
	f, _, err := big.ParseFloat(s, 10, 2048, big.ToNearestEven)
	return f, err == nil
}

// holds compares a value. Text that holds a number may be taken for it, so for a
// rule that denies or asks it is; what is no number counts as the worst.
func (b bound) holds(value json.RawMessage, list string) bool {
	text := string(bytes.TrimSpace(value))
	switch {
	case text == "":
		return list == strict
	case text[0] == '[':
		var all []json.RawMessage
		if json.Unmarshal(value, &all) != nil {
			return list == strict
		}
		text = strconv.Itoa(len(all))
	case text[0] == '"' && list == strict:
		var s string
		if json.Unmarshal(value, &s) != nil {
			return true
		}
		text = s
	}
	n, ok := number(text)
	if !ok {
		return list == strict
	}
	if b.min != nil {
		if c := n.Cmp(b.min); c < 0 || c == 0 && b.overMin {
			return false
		}
	}
	if b.max != nil {
		if c := n.Cmp(b.max); c > 0 || c == 0 && b.belowIt {
			return false
		}
	}
	return true
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
