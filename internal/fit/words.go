package fit

import (
	"encoding/json"
	"strings"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/internal/raw"
)

// Bounds in bytes: of what is told of one keyword, and of one schema.
const (
	maxSaid = 200
	maxTold = 2000
)

// plain returns a value as it is told: strings without quotes.
func plain(v json.RawMessage) string {
	if s := text(v); s != "" {
		return uzda.Clip(s, maxSaid)
	}
	return uzda.Clip(string(v), maxSaid)
}

// say returns in words what a keyword of o says; nothing for what says nothing to
// a model.
func say(o *raw.Object, keyword string) []string {
	if v := o.Get(keyword); v != nil {
		if s := phrase(o, keyword, v); s != "" {
			return []string{s}
		}
	}
	return nil
}

func phrase(o *raw.Object, keyword string, v json.RawMessage) string {
	switch keyword {
	case "title", "$ref", "description", "type", "required", "properties", "nullable":
		return ""
	case "minimum", "maximum":
		return between(o, v, "minimum", "maximum", "")
	case "minLength", "maxLength":
		return between(o, v, "minLength", "maxLength", " characters")
	case "minItems", "maxItems":
		return between(o, v, "minItems", "maxItems", " items")
	case "minProperties", "maxProperties":
		return between(o, v, "minProperties", "maxProperties", " properties")
	case "exclusiveMinimum":
		return "more than " + plain(v)
	case "exclusiveMaximum":
		return "less than " + plain(v)
	case "multipleOf":
		return "a multiple of " + plain(v)
	case "const":
		return "always " + values(v)
	case "enum":
		switch all := elements(v); len(all) {
		case 0:
			return ""
		case 1:
			return "always " + values(all...)
		default:
			return "one of: " + values(all...)
		}
	case "not":
		if string(v) == "{}" {
			return "no value fits"
		}
	case "default":
		return "default: " + values(v)
	case "example":
		return "example: " + values(v)
	case "examples":
		return "examples: " + values(elements(v)...)
	case "uniqueItems":
		if string(v) == "true" {
			return "no two equal"
		}
		return ""
	case "additionalProperties", "unevaluatedProperties":
		return others(v, "properties")
	case "items", "unevaluatedItems":
		return others(v, "items")
	case "prefixItems":
		return "items in order: " + values(elements(v)...)
	}
	return unknown(keyword, v)
}

func others(v json.RawMessage, what string) string {
	switch string(v) {
	case "false":
		return "no other " + what
	case "true", "{}":
		return ""
	}
	return "other " + what + ": " + plain(v)
}

// unknown tells of a keyword that has no words of its own. Those of other programs
// ("x-…") are for them.
func unknown(keyword string, v json.RawMessage) string {
	switch {
	case strings.HasPrefix(keyword, "x-") || strings.HasPrefix(keyword, "$"):
		return ""
	case string(v) == "true":
		return keyword
	case string(v) == "false" || string(v) == "null" || string(v) == "{}" || string(v) == "[]" || string(v) == `""`:
		return ""
	}
	return keyword + ": " + plain(v)
}

// between tells of two bounds at once, at the first of them.
func between(o *raw.Object, v json.RawMessage, low, high, of string) string {
	a, b := o.Get(low), o.Get(high)
	if string(v) == "1" && (a == nil || b == nil || string(a) == string(b)) {
		of = strings.TrimSuffix(strings.ReplaceAll(of, "properties", "property"), "s")
	}
	switch {
	case a != nil && b != nil && string(a) == string(b):
		return "exactly " + plain(a) + of
	case a != nil && b != nil:
		return "between " + plain(a) + " and " + plain(b) + of
	case a != nil:
		return "at least " + plain(v) + of
	}
	return "at most " + plain(v) + of
}

// values lists values as JSON, as it matters whether 1 is a number.
func values(all ...json.RawMessage) string {
	var out []byte
	for i, v := range all {
		if i > 0 {
			out = append(out, ", "...)
		}
		out = append(out, v...)
		if len(out) > maxSaid {
			break
		}
	}
	return uzda.Clip(string(out), maxSaid)
}

// describe joins a description with words, each once.
func describe(description string, words []string) string {
	told := uzda.Clip(strings.Join(distinct(words), "; "), maxTold)
	switch {
	case told == "":
		return description
	case strings.TrimSpace(description) == "":
		return told
	}
	return description + " (" + told + ")"
}
