package fit_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/uzda-dev/uzda/internal/fit"
)

// wrap makes the schema of a tool with one property.
func wrap(property string) string {
	return `{"type":"object","properties":{"p":` + property + `}}`
}

var properties = []struct {
	name string
	d    fit.Dialect
	in   string
	want string
}{
	{"any value stays any value", fit.Gemini, `{}`, `{}`},
	{"any value, as a switch", fit.Gemini, `true`, `{}`},
	{"any value, with a description", fit.OpenAI, `{"description":"what"}`, `{"description":"what"}`},
	{"no value", fit.Gemini, `false`, `{"description":"no value fits"}`},

	{"a format", fit.Gemini, `{"type":"string","format":"email"}`, `{"type":"string","description":"format: email"}`},
	{"a format that is taken", fit.Gemini, `{"type":"string","format":"date-time"}`, `{"type":"string","format":"date-time"}`},
	{"words go behind the description", fit.Gemini, `{"type":"string","description":"Where to","pattern":"^a.*$","default":"a\"b"}`,
		`{"type":"string","description":"Where to (pattern: ^a.*$; default: \"a\\\"b\")"}`},
	{"bounds", fit.Ollama, `{"type":"integer","minimum":1,"maximum":5}`, `{"type":"integer","description":"between 1 and 5"}`},
	{"one bound", fit.Ollama, `{"type":"array","minItems":1,"items":{"type":"string","maxLength":80}}`,
		`{"type":"array","items":{"type":"string","description":"at most 80 characters"},"description":"at least 1 item"}`},
	{"equal bounds", fit.Ollama, `{"type":"string","minLength":2,"maxLength":2}`, `{"type":"string","description":"exactly 2 characters"}`},
	{"open bounds", fit.Gemini, `{"type":"number","exclusiveMinimum":0,"exclusiveMaximum":1.5,"multipleOf":0.1}`,
		`{"type":"number","description":"more than 0; less than 1.5; a multiple of 0.1"}`},
	{"open bounds of draft 4", fit.Anthropic, `{"type":"number","minimum":0,"exclusiveMinimum":true,"maximum":9,"exclusiveMaximum":false}`,
		`{"type":"number","exclusiveMinimum":0,"maximum":9}`},
	{"examples and others", fit.Gemini, `{"type":"string","examples":["a","b"],"x-order":3,"unit":"km","deprecated":true}`,
		`{"type":"string","description":"examples: \"a\", \"b\"; unit: km; deprecated"}`},
	{"others are long", fit.Gemini, `{"type":"string","pattern":"` + strings.Repeat("é", 300) + `"}`,
		`{"type":"string","description":"pattern: ` + strings.Repeat("é", 98) + `…"}`},

	{"const", fit.Gemini, `{"const":"x"}`, `{"type":"string","enum":["x"]}`},
	{"const of a number", fit.Gemini, `{"const":5}`, `{"type":"integer","description":"always 5"}`},
	{"enum of numbers", fit.Gemini, `{"type":"integer","enum":[1,2]}`, `{"type":"integer","description":"one of: 1, 2"}`},
	{"enum with null", fit.Gemini, `{"enum":["a","b",null]}`, `{"type":"string","enum":["a","b"],"nullable":true}`},
	{"enum with the empty string", fit.Gemini, `{"type":"string","enum":["","a"]}`, `{"type":"string","description":"one of: \"\", \"a\""}`},
	{"enum of two types", fit.Gemini, `{"enum":["a",1]}`, `{"description":"one of: \"a\", 1"}`},

	{"null as a type", fit.Gemini, `{"type":["string","null"],"minLength":1}`, `{"type":"string","minLength":1,"nullable":true}`},
	{"null as a type stays", fit.OpenAI, `{"type":["string","null"]}`, `{"type":["string","null"]}`},
	{"null as an alternative", fit.Gemini, `{"anyOf":[{"type":"string","format":"date"},{"type":"null"}],"description":"Day","default":null}`,
		`{"description":"Day (default: null; format: date)","type":"string","nullable":true}`},
	{"only null", fit.Gemini, `{"type":"null"}`, `{"nullable":true,"description":"always null"}`},
	{"two types", fit.Gemini, `{"type":["string","integer","null"],"description":"Id","minimum":1,"minLength":2}`,
		`{"anyOf":[{"description":"Id","type":"string","minLength":2,"nullable":true},{"type":"integer","minimum":1}]}`},
	{"what stands beside alternatives goes into them", fit.Gemini, `{"type":"object","properties":{"a":{"type":"string"}},"anyOf":[{"required":["a"]},{"properties":{"b":{"type":"string"}}}]}`,
		`{"anyOf":[{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]},{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}}}]}`},
	{"oneOf", fit.Gemini, `{"oneOf":[{"type":"string"},{"type":"boolean"}]}`, `{"anyOf":[{"type":"string"},{"type":"boolean"}]}`},
	{"nullable of OpenAPI", fit.Gemini, `{"type":"string","nullable":true}`, `{"type":"string","nullable":true}`},

	{"all of several", fit.Gemini, `{"allOf":[{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]},{"properties":{"a":{"maxLength":3},"b":{}},"required":["b"]}]}`,
		`{"type":"object","properties":{"a":{"type":"string","maxLength":3},"b":{}},"required":["a","b"]}`},
	{"all of several bounds", fit.Gemini, `{"type":"integer","minimum":1,"allOf":[{"minimum":3,"maximum":9},{"type":"number","maximum":8}]}`,
		`{"type":"integer","minimum":3,"maximum":8}`},
	{"all of several stays", fit.OpenAI, `{"allOf":[{"type":"string"},{"maxLength":3}]}`, `{"allOf":[{"type":"string"},{"maxLength":3}]}`},

	{"a map", fit.Gemini, `{"type":"object","additionalProperties":{"type":"number"}}`,
		`{"type":"object","description":"other properties: {\"type\":\"number\"}"}`},
	{"closed", fit.Gemini, `{"type":"object","properties":{"a":{}},"additionalProperties":false}`,
		`{"type":"object","properties":{"a":{}},"description":"no other properties"}`},
	{"conditions", fit.Gemini, `{"type":"object","properties":{"a":{}},"if":{"required":["a"]},"then":{"maxProperties":1}}`,
		`{"type":"object","properties":{"a":{}},"description":"if: {\"required\":[\"a\"]}; then: {\"maxProperties\":1}"}`},
	{"required without a property", fit.Gemini, `{"type":"object","properties":{"a":{}},"required":["a","b"]}`,
		`{"type":"object","properties":{"a":{}},"required":["a"],"description":"must also have b"}`},

	{"an array without items", fit.OpenAI, `{"type":"array"}`, `{"type":"array","items":{}}`},
	{"items keep their alternatives", fit.Gemini, `{"type":"array","items":{"anyOf":[{"type":"string"},{"type":"object","properties":{"a":{"type":"integer"}}}]}}`,
		`{"type":"array","items":{"anyOf":[{"type":"string"},{"type":"object","properties":{"a":{"type":"integer"}}}]}}`},
	{"a tuple of draft 7", fit.Anthropic, `{"type":"array","items":[{"type":"string"},{"type":"number"}],"additionalItems":false}`,
		`{"type":"array","prefixItems":[{"type":"string"},{"type":"number"}],"items":false}`},
	{"a closed tuple", fit.Gemini, `{"type":"array","prefixItems":[{"type":"string"},{"type":"number"}],"items":false}`,
		`{"type":"array","items":{"anyOf":[{"type":"string"},{"type":"number"}]},"description":"items in order: {\"type\":\"string\"}, {\"type\":\"number\"}"}`},
	{"a tuple by its length", fit.Gemini, `{"type":"array","prefixItems":[{"type":"number"},{"type":"number"}],"minItems":2,"maxItems":2}`,
		`{"type":"array","items":{"type":"number"},"minItems":2,"maxItems":2,"description":"items in order: {\"type\":\"number\"}, {\"type\":\"number\"}"}`},
	{"an open tuple", fit.Gemini, `{"type":"array","prefixItems":[{"type":"string"}]}`, `{"type":"array","items":{},"description":"items in order: {\"type\":\"string\"}"}`},

	{"types of programming languages", fit.OpenAI, `{"type":"dict","properties":{"a":{"type":"float"},"b":{"type":"any"},"c":{"type":["int","None"]},"d":{"type":"enumeration"}}}`,
		`{"type":"object","properties":{"a":{"type":"number"},"b":{},"c":{"type":["integer","null"]},"d":{"description":"type: enumeration"}}}`},
	{"a type in place of a schema", fit.OpenAI, `"string"`, `{"type":"string"}`},
	{"required as a switch", fit.OpenAI, `{"type":"object","properties":{"a":{"type":"string","required":true},"b":{"type":"string","required":false}}}`,
		`{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}},"required":["a"]}`},
	{"values that a keyword cannot have", fit.Anthropic, `{"type":"string","minLength":"2","enum":[],"properties":[],"anyOf":{},"format":null,"description":5,"required":"a"}`,
		`{"type":"string","description":"at least 2 characters"}`},
	{"an expression that few read", fit.Anthropic, `{"type":"string","pattern":"^\\p{L}+$"}`, `{"type":"string","description":"pattern: ^\\p{L}+$"}`},
	{"an expression that all read", fit.Anthropic, `{"type":"string","pattern":"^(?!-)[a-z\\u00e9]{1,9}$"}`, `{"type":"string","pattern":"^(?!-)[a-z\\u00e9]{1,9}$"}`},
	{"what is for tools only", fit.OpenAI, `{"$schema":"http://json-schema.org/draft-07/schema#","$id":"x","$comment":"c","id":"y","type":"string"}`, `{"type":"string"}`},
	{"dependencies of draft 7", fit.Anthropic, `{"type":"object","properties":{"a":{},"b":{}},"dependencies":{"a":["b"],"b":{"minProperties":2}}}`,
		`{"type":"object","properties":{"a":{},"b":{}},"dependentRequired":{"a":["b"]},"dependentSchemas":{"b":{"minProperties":2}}}`},
	{"bytes of values stay", fit.OpenAI, `{"type":"number","default":1.0,"enum":[1.0,1e2,"\u0061\/<>&"]}`, `{"type":"number","default":1.0,"enum":[1.0,1e2,"\u0061\/<>&"]}`},

	{"a bound of draft 4 without its number", fit.OpenAI, `{"type":"number","exclusiveMinimum":true}`, `{"type":"number"}`},
	{"a name required twice", fit.Anthropic, `{"type":"object","required":["a","a"],"properties":{"a":{"type":["bool","list","str"]}}}`,
		`{"type":"object","required":["a"],"properties":{"a":{"type":["boolean","array","string"]}}}`},
	{"a named group", fit.Anthropic, `{"pattern":"(?<year>x)","example":"x"}`, `{"example":"x","description":"pattern: (?<year>x)"}`},
	{"an example", fit.Gemini, `{"type":"string","example":"x","description":" "}`, `{"type":"string","description":"example: \"x\""}`},
	{"alternatives of two kinds", fit.Gemini, `{"anyOf":[{"type":"string"}],"oneOf":[{"type":"string"},{"type":"number"}],"allOf":[{"anyOf":[{"maxLength":1}]},{"maxLength":2},{"exclusiveMinimum":1}],"maxLength":3}`,
		`{"anyOf":[{"maxLength":2,"type":"string","description":"anyOf: [{\"maxLength\":1}]"},{"maxLength":2,"type":"string"}]}`},

	{"names of properties are no keywords", fit.Gemini,
		`{"type":"object","properties":{"default":{"type":"string"},"$ref":{"type":"string"},"properties":{"type":"object","properties":{"enum":{"type":"integer"}}},"type":{"type":"string"},"const":{"const":"c"},"required":{"type":"boolean"},"nullable":{"type":"boolean"}},"required":["$ref","default"]}`,
		`{"type":"object","properties":{"default":{"type":"string"},"$ref":{"type":"string"},"properties":{"type":"object","properties":{"enum":{"type":"integer"}}},"type":{"type":"string"},"const":{"type":"string","enum":["c"]},"required":{"type":"boolean"},"nullable":{"type":"boolean"}},"required":["$ref","default"]}`},
	{"values are no schemas", fit.Anthropic, `{"default":{"$ref":"#/nothing","type":"x"},"enum":[{"$schema":1}],"const":{"properties":1},"examples":[{"$ref":"#"}]}`,
		`{"default":{"$ref":"#/nothing","type":"x"},"enum":[{"$schema":1}],"const":{"properties":1},"examples":[{"$ref":"#"}]}`},
	{"what allows more now excludes nothing", fit.Anthropic, `{"oneOf":[{"type":"string","pattern":"\\p{L}"},{"type":"string"}],"not":{"$ref":"#/gone"},"then":{"minLength":1},"if":{"type":"text","minLength":-1},"else":{"maxLength":1}}`,
		`{"anyOf":[{"type":"string","description":"pattern: \\p{L}"},{"type":"string"}],"description":"not: {\"$ref\":\"#/gone\"}; if: {\"type\":\"text\",\"minLength\":-1}; then: {\"minLength\":1}; else: {\"maxLength\":1}"}`},
	{"names of properties that are not taken", fit.Anthropic, `{"type":"object","properties":{"größe":{"type":"number"},"a b":{},"ok.1-_":{}},"required":["a b","ok.1-_"],"additionalProperties":false}`,
		`{"type":"object","properties":{"ok.1-_":{}},"required":["ok.1-_"],"description":"has the property \"größe\" too: {\"type\":\"number\"}; has the property \"a b\" too: {}"}`},
	{"surrogates alone and bad bytes", fit.Gemini, "{\"description\":\"a\\ud83d\xff\"}", `{"description":"a\ufffd\ufffd"}`},
}

// TestProperty shows how one property is written. T1 case:T01 case:T02
func TestProperty(t *testing.T) {
	t.Parallel()
	for _, c := range properties {
		out, err := fit.Schema(json.RawMessage(wrap(c.in)), c.d)
		if got := string(out); err != nil || got != wrap(c.want) {
			t.Errorf("%s, for %s: %v\n got %s\nwant %s", c.name, c.d.Name, err, got, wrap(c.want))
		}
		for _, fault := range check(out, c.d) {
			t.Errorf("%s, for %s: %s", c.name, c.d.Name, fault)
		}
	}
}

// TestDialect: a profile may make its own dialect, and the zero value takes everything.
func TestDialect(t *testing.T) {
	t.Parallel()
	in := json.RawMessage(wrap(`{"type":["string","null"],"format":"email","not":{"const":"x"},"oneOf":[{"$ref":"#/definitions/A"}]}`))
	in = append(in[:len(in)-1], `,"definitions":{"A":{"minLength":1}},"anyOf":[{}]}`...)
	own := fit.OpenAI
	own.Name, own.Inline, own.Refused, own.Formats = "mine", true, []string{"not"}, []string{}
	for _, c := range []struct {
		d    fit.Dialect
		want string
	}{
		{fit.Dialect{}, `{"type":"object","properties":{"p":{"type":["string","null"],"format":"email","not":{"const":"x"},"oneOf":[{"$ref":"#/$defs/A"}]}},"anyOf":[{}],"$defs":{"A":{"minLength":1}}}`},
		{own, `{"type":"object","properties":{"p":{"type":["string","null"],"oneOf":[{"minLength":1}],"description":"format: email; not: {\"const\":\"x\"}"}}}`},
	} {
		if out, err := fit.Schema(in, c.d); err != nil || string(out) != c.want {
			t.Errorf("%v\n got %s\nwant %s", err, out, c.want)
		}
	}
}

const node = `{"type":"object","title":"Node","description":"A node","properties":{"name":{"type":"string"},"kids":{"type":"array","items":{"$ref":"#/$defs/Node"}}},"required":["name"]}`

// TestRefs: references lead somewhere or are put in, however they are written. T1 case:T01
func TestRefs(t *testing.T) {
	t.Parallel()
	inner := `{"type":"object","description":"A node (Node, nested further in the same way)"}`
	level := func(kids string) string {
		return `{"type":"object","title":"Node","description":"A node","properties":{"name":{"type":"string"},"kids":{"type":"array","items":` + kids + `}},"required":["name"]}`
	}
	for _, c := range []struct {
		name string
		d    fit.Dialect
		in   string
		want string
	}{
		{"definitions", fit.OpenAI, `{"type":"object","properties":{"a":{"$ref":"#/definitions/A"}},"definitions":{"A":{"type":"string"},"B":{"type":"number"}}}`,
			`{"type":"object","properties":{"a":{"$ref":"#/$defs/A"}},"$defs":{"A":{"type":"string"}}}`},
		{"definitions put in", fit.Gemini, `{"type":"object","properties":{"a":{"$ref":"#/definitions/A","description":"An a"}},"definitions":{"A":{"type":"string","description":"Any a"}}}`,
			`{"type":"object","properties":{"a":{"description":"An a","type":"string"}}}`},
		{"a property", fit.Gemini, `{"type":"object","properties":{"headers":{"type":"array","items":{"type":"string"}},"more":{"$ref":"#/properties/headers"}}}`,
			`{"type":"object","properties":{"headers":{"type":"array","items":{"type":"string"}},"more":{"type":"array","items":{"type":"string"}}}}`},
		{"a property, referred to", fit.Anthropic, `{"type":"object","properties":{"headers":{"type":"string"},"more":{"$ref":"#/properties/headers"}}}`,
			`{"type":"object","properties":{"headers":{"type":"string"},"more":{"$ref":"#/$defs/headers"}},"$defs":{"headers":{"type":"string"}}}`},
		{"an element", fit.Gemini, `{"type":"object","properties":{"a":{"anyOf":[{"type":"string"},{"type":"boolean"}]},"b":{"$ref":"#/properties/a/anyOf/1"}}}`,
			`{"type":"object","properties":{"a":{"anyOf":[{"type":"string"},{"type":"boolean"}]},"b":{"type":"boolean"}}}`},
		{"an anchor", fit.Gemini, `{"type":"object","properties":{"a":{"$ref":"#here"}},"$defs":{"x":{"$anchor":"here","type":"boolean"}}}`, `{"type":"object","properties":{"a":{"type":"boolean"}}}`},
		{"an anchor, referred to", fit.OpenAI, `{"type":"object","properties":{"a":{"$ref":"#here"}},"$defs":{"x":{"$anchor":"here","type":"boolean"}}}`,
			`{"type":"object","properties":{"a":{"$ref":"#/$defs/here"}},"$defs":{"here":{"type":"boolean"}}}`},
		{"a dynamic anchor", fit.OpenAI, `{"type":"object","properties":{"a":{"items":{"$dynamicRef":"#n"}},"b":{"anyOf":[{"$dynamicAnchor":"n","type":"boolean"}]}}}`,
			`{"type":"object","properties":{"a":{"items":{"$ref":"#/$defs/n"}},"b":{"anyOf":[{"type":"boolean"}]}},"$defs":{"n":{"type":"boolean"}}}`},
		{"an id", fit.Gemini, `{"type":"object","properties":{"a":{"$ref":"http://example.com/x.json#/$defs/y"}},"$defs":{"x":{"$id":"http://example.com/x.json","$defs":{"y":{"type":"boolean"}}}}}`,
			`{"type":"object","properties":{"a":{"type":"boolean"}}}`},
		{"escapes in a pointer", fit.OpenAI, `{"type":"object","properties":{"a":{"$ref":"#/$defs/x~1y%20~0z"}},"$defs":{"x/y ~z":{"type":"boolean"}}}`,
			`{"type":"object","properties":{"a":{"$ref":"#/$defs/x_y__z"}},"$defs":{"x_y__z":{"type":"boolean"}}}`},
		{"two of one name", fit.OpenAI, `{"type":"object","properties":{"a":{"$ref":"#/$defs/x"},"b":{"$ref":"#/definitions/x"}},"$defs":{"x":{"type":"boolean"}},"definitions":{"x":{"type":"string"}}}`,
			`{"type":"object","properties":{"a":{"$ref":"#/$defs/x"},"b":{"$ref":"#/$defs/x_2"}},"$defs":{"x":{"type":"boolean"},"x_2":{"type":"string"}}}`},
		{"nothing", fit.OpenAI, `{"type":"object","properties":{"a":{"$ref":"#/$defs/gone","description":"An a"}}}`,
			`{"type":"object","properties":{"a":{"description":"An a (of a kind that is described nowhere: #/$defs/gone)"}}}`},
		{"elsewhere", fit.Gemini, `{"type":"object","properties":{"a":{"$ref":"http://example.com/a.json"}}}`,
			`{"type":"object","properties":{"a":{"description":"of a kind that is described nowhere: http://example.com/a.json"}}}`},
		{"a value that is no schema", fit.Gemini, `{"type":"object","properties":{"a":{"$ref":"#/type"}}}`,
			`{"type":"object","properties":{"a":{"description":"of a kind that is described nowhere: #/type"}}}`},
		{"recursion", fit.Gemini, `{"type":"object","properties":{"n":{"$ref":"#/$defs/Node"}},"$defs":{"Node":` + node + `}}`,
			`{"type":"object","properties":{"n":` + level(level(inner)) + `}}`},
		{"recursion, referred to", fit.Anthropic, `{"type":"object","properties":{"n":{"$ref":"#/$defs/Node"}},"$defs":{"Node":` + node + `}}`,
			`{"type":"object","properties":{"n":{"$ref":"#/$defs/Node"}},"$defs":{"Node":` + node + `}}`},
		{"recursion of the whole", fit.OpenAI, `{"type":"object","properties":{"and":{"type":"array","items":{"$ref":"#"}}}}`,
			`{"type":"object","properties":{"and":{"type":"array","items":{"$ref":"#/$defs/root"}}},"$defs":{"root":{"type":"object","properties":{"and":{"type":"array","items":{"$ref":"#/$defs/root"}}}}}}`},
		{"recursion of alternatives keeps all of them", fit.Ollama, `{"type":"object","properties":{"v":{"$ref":"#/$defs/V"}},"$defs":{"V":{"anyOf":[{"type":"string"},{"type":"array","items":{"$ref":"#/$defs/V"}}]}}}`,
			`{"type":"object","properties":{"v":{"anyOf":[{"type":"string"},{"type":"array","items":{"anyOf":[{"type":"string"},{"type":"array","items":{"description":"nested further in the same way"}}]}}]}}}`},
		{"a circle of references", fit.Gemini, `{"type":"object","properties":{"a":{"$ref":"#/$defs/x"}},"$defs":{"x":{"$ref":"#/$defs/y"},"y":{"$ref":"#/$defs/x"}}}`,
			`{"type":"object","properties":{"a":{"description":"nested further in the same way"}}}`},
		{"the whole is a reference", fit.Anthropic, `{"$ref":"#/definitions/Args","definitions":{"Args":{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}}}`,
			`{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}`},
		{"references with all of", fit.Gemini, `{"type":"object","properties":{"a":{"allOf":[{"$ref":"#/$defs/A"}],"description":"An a"}},"$defs":{"A":{"enum":["x","y"]}}}`,
			`{"type":"object","properties":{"a":{"type":"string","description":"An a","enum":["x","y"]}}}`},
	} {
		out, err := fit.Schema(json.RawMessage(c.in), c.d)
		if got := string(out); err != nil || got != c.want {
			t.Errorf("%s, for %s: %v\n got %s\nwant %s", c.name, c.d.Name, err, got, c.want)
		}
		for _, fault := range check(out, c.d) {
			t.Errorf("%s, for %s: %s", c.name, c.d.Name, fault)
		}
	}
}

// TestTop: the outermost schema is an object without combinators, whatever came. case:T01
func TestTop(t *testing.T) {
	t.Parallel()
	const none = `{"type":"object","properties":{}}`
	for _, c := range []struct {
		name string
		d    fit.Dialect
		in   string
		want string // "": an error
	}{
		{"nothing", fit.OpenAI, ``, none},
		{"null", fit.Gemini, `null`, none},
		{"true", fit.Anthropic, `true`, none},
		{"empty", fit.Ollama, ` { } `, none},
		{"white space", fit.OpenAI, " \n", none},
		{"bare control characters", fit.OpenAI, "{ \"type\":\"object\",\n\"description\": \"a\tb\" }", `{"type":"object","description":"a\tb","properties":{}}`},
		{"empty, plain", fit.Plain, `{}`, none},
		{"without a type", fit.OpenAI, `{"properties":{"a":{}},"required":["a"]}`, `{"type":"object","properties":{"a":{}},"required":["a"]}`},
		{"without a type, plain", fit.Plain, "{\n\"required\" : [\"a\"] }", `{"type":"object","required":["a"]}`},
		{"without properties", fit.OpenAI, `{"type":"object"}`, none},
		{"null besides", fit.Gemini, `{"type":["object","null"],"nullable":true}`, none},
		{"closed", fit.OpenAI, `{"type":"object","properties":{},"additionalProperties":false}`, `{"type":"object","properties":{},"additionalProperties":false}`},
		{"alternatives", fit.Anthropic, `{"oneOf":[{"type":"object","properties":{"id":{"type":"string"},"x":{}},"required":["id","x"]},{"type":"object","properties":{"name":{"type":"string"},"x":{}},"required":["name","x"]}]}`,
			`{"type":"object","properties":{"id":{"type":"string"},"x":{},"name":{"type":"string"}},"required":["x"],"description":"needs id, or name"}`},
		{"alternatives by what they require", fit.OpenAI, `{"type":"object","properties":{"a":{},"b":{}},"anyOf":[{"required":["a"]},{"required":["b"]},{"type":"string"}],"additionalProperties":false}`,
			`{"type":"object","properties":{"a":{},"b":{}},"additionalProperties":false,"description":"needs a, or b"}`},
		{"one property in two forms", fit.OpenAI, `{"type":"object","anyOf":[{"properties":{"kind":{"const":"a"},"n":{"type":"integer"}},"required":["kind"],"additionalProperties":false},{"properties":{"kind":{"const":"b"}},"required":["kind"],"additionalProperties":false}]}`,
			`{"type":"object","properties":{"kind":{"anyOf":[{"const":"a"},{"const":"b"}]},"n":{"type":"integer"}},"required":["kind"],"additionalProperties":false}`},
		{"what else may not stand there", fit.OpenAI, `{"type":"object","properties":{"a":{}},"not":{"required":["b"]}}`,
			`{"type":"object","properties":{"a":{}},"description":"not: {\"required\":[\"b\"]}"}`},
		{"itself", fit.Gemini, `{"$ref":"#"}`, `{"type":"object","properties":{},"description":"nested further in the same way"}`},
		{"alternatives within themselves", fit.OpenAI, `{"anyOf":[{"$ref":"#"},{"properties":{"a":{}}}]}`,
			`{"type":"object","properties":{"a":{}},"description":"nested further in the same way"}`},

		{"a string", fit.OpenAI, `{"type":"string"}`, ""},
		{"a list", fit.Gemini, `{"type":"array","items":{}}`, ""},
		{"no JSON", fit.Anthropic, `{"type":`, ""},
		{"no schema", fit.Plain, `[]`, ""},
		{"a number", fit.Plain, `5`, ""},
		{"false", fit.OpenAI, `false`, ""},
	} {
		out, err := fit.Schema(json.RawMessage(c.in), c.d)
		if got := string(out); (err != nil) != (c.want == "") || got != c.want {
			t.Errorf("%s, for %s: %v\n got %s\nwant %s", c.name, c.d.Name, err, got, c.want)
			continue
		}
		if err != nil {
			if !strings.HasPrefix(err.Error(), "fit the schema for "+c.d.Name+": ") {
				t.Errorf("%s: %v", c.name, err)
			}
			continue
		}
		if c.d.Name == "plain" {
			continue
		}
		for _, fault := range check(out, c.d) {
			t.Errorf("%s, for %s: %s", c.name, c.d.Name, fault)
		}
	}
}

// bombs are schemas that would be huge, slow or endless if they were taken naively.
func bombs() map[string]string {
	out := map[string]string{}
	var defs []string
	for i := range 40 {
		defs = append(defs, fmt.Sprintf(`"d%d":{"type":"object","properties":{"a":{"$ref":"#/$defs/d%d"},"b":{"$ref":"#/$defs/d%d"}}}`, i, i+1, i+1))
	}
	defs = append(defs, `"d40":{"type":"string"}`)
	doubled := func(s string) string {
		return `{"type":"object","properties":{"p":{"$ref":"#/$defs/d0"}},"$defs":{` + s + `}}`
	}
	out["references, doubled 40 times"] = doubled(strings.Join(defs, ","))
	defs = nil
	for i := range 40 {
		defs = append(defs, fmt.Sprintf(`"d%d":{"allOf":[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%d"}]}`, i, i+1, i+1))
	}
	out["all of, doubled 40 times"] = doubled(strings.Join(append(defs, `"d40":{"type":"string"}`), ","))
	defs = nil
	for i := range 12 {
		var props []string
		for j := range 12 {
			props = append(props, fmt.Sprintf(`"p%d":{"$ref":"#/$defs/d%d"}`, j, j))
		}
		defs = append(defs, fmt.Sprintf(`"d%d":{"type":"object","properties":{%s}}`, i, strings.Join(props, ",")))
	}
	out["twelve that all refer to each other"] = doubled(strings.Join(defs, ","))
	out["alternatives within alternatives"] = wrap(strings.Repeat(`{"type":"object","anyOf":[{},{}],"properties":{"p":`, 60) + "{}" + strings.Repeat("}}", 60))
	out["types within types"] = wrap(strings.Repeat(`{"type":["array","object","string"],"items":`, 90) + "{}" + strings.Repeat("}", 90))
	out["deep"] = wrap(strings.Repeat(`{"properties":{"p":`, 5000) + "{}" + strings.Repeat("}}", 5000))
	out["deep, of no depth"] = strings.Repeat(`{"properties":{"p":`, 5000)
	var wide, many []string
	for i := range 20_000 {
		wide = append(wide, fmt.Sprintf(`"p%d":{}`, i))
		many = append(many, fmt.Sprintf(`{"required":["p%d"]}`, i))
	}
	out["wide"] = `{"type":"object","properties":{` + strings.Join(wide, ",") + `}}`
	out["wide alternatives"] = `{"type":"object","anyOf":[` + strings.Join(many[:4000], ",") + `],"properties":{` + strings.Join(wide[:4000], ",") + `}}`
	out["wide enum"] = wrap(`{"enum":[` + strings.Repeat(`"x",`, 50_000) + `"y"],"allOf":[{"enum":[` + strings.Repeat(`"x",`, 40_000) + `"y"]}]}`)
	var refs []string
	for i := range 4000 {
		refs = append(refs, fmt.Sprintf(`"p%d":{"anyOf":[{"$ref":"#/properties/p%d"},{"$ref":"#/$defs/d/anyOf/%d"},{"$ref":"#/$defs/none%d"}]}`, i, (i+1)%4000, i, i))
	}
	out["thousands of references"] = `{"type":"object","properties":{` + strings.Join(refs, ",") + `},"$defs":{"d":{"anyOf":[` + strings.Repeat("{},", 4000) + `{}]}}}`
	out["long description"] = `{"description":"` + strings.Repeat("x", 1<<20) + `"}`
	return out
}

// TestBombs: whatever a server sends as a schema, the answer is quick and small, or
// an error that says why. case:T01
func TestBombs(t *testing.T) {
	t.Parallel()
	for name, in := range bombs() {
		for _, d := range append(dialects, fit.OpenAIStrict) {
			start := time.Now()
			out, err := fit.Schema(json.RawMessage(in), d)
			fit.Strict(json.RawMessage(in))
			took := time.Since(start)
			if err == nil && (len(out) > fit.MaxOut || !json.Valid(out)) {
				t.Errorf("%s, for %s: %d bytes", name, d.Name, len(out))
			}
			if took > time.Second {
				t.Logf("%s, for %s: %v, %d bytes, %v", name, d.Name, took, len(out), err)
			}
		}
	}
	for name, want := range map[string]string{
		"twelve that all refer to each other": `"p11":{"type":"object","description":"described no further"}`,
		"references, doubled 40 times":        `"b":{"type":"object","description":"described no further"}`,
		"thousands of references":             "",
		"alternatives within alternatives":    "",
	} {
		out, err := fit.Schema(json.RawMessage(bombs()[name]), fit.Gemini)
		if (err != nil) != (want == "") || !strings.Contains(string(out), want) {
			t.Errorf("%s: %d bytes, %v", name, len(out), err)
		}
		for _, fault := range check(out, fit.Gemini) {
			if err == nil {
				t.Errorf("%s: %s", name, fault)
			}
		}
	}
}

// TestSame: the same schema always gives the same bytes, and fitting it twice
// changes nothing more, so that a prompt's prefix stays.
func TestSame(t *testing.T) {
	t.Parallel()
	in := json.RawMessage(`{"type":"object","properties":{"b":{"$ref":"#/$defs/Node"},"a":{"type":["string","integer","null"],"enum":["x",1,null],"pattern":"y"},"c":{"anyOf":[{"required":["x"]},{"const":1}]}},"required":["b"],"$defs":{"Node":` + node + `}}`)
	for _, d := range dialects {
		first, err := fit.Schema(in, d)
		if err != nil {
			t.Fatal(err)
		}
		for range 20 {
			if again, _ := fit.Schema(in, d); string(again) != string(first) {
				t.Fatalf("for %s: %s, then %s", d.Name, first, again)
			}
		}
		if again, err := fit.Schema(first, d); err != nil || string(again) != string(first) {
			t.Errorf("for %s, fitted twice: %v\n%s\n%s", d.Name, err, first, again)
		}
	}
}
