package modeltest_test

import (
	"strings"
	"testing"

	"github.com/uzda-dev/uzda/model/modeltest"
)

// T01, T02: schemas are refused where a provider would refuse them.
func TestCheckSchema(t *testing.T) { // case:T01 case:T02
	t.Parallel()
	chat := func(schema, more string) string {
		return `{"model":"m","messages":[` + hi + `],"tools":[{"type":"function","function":{"name":"f","parameters":` + schema + more + `}}]}`
	}
	object := func(properties string) string { return `{"type":"object","properties":{` + properties + `}}` }
	deep := strings.Repeat(`{"type":"array","items":`, 100) + `{"$ref":"#/gone"}` + strings.Repeat(`}`, 100)
	check(t, "/v1/chat/completions", modeltest.Config{}, []checked{
		{name: "right empty", body: chat(object(""), "")},
		{name: "right any", body: chat(object(`"a":{},"b":true`), "")},
		{name: "right refs", body: chat(`{"type":"object","properties":{"a":{"$ref":"#/$defs/x~1y"},"b":{"$ref":"#/properties/c%20d"},"c d":{"type":["string","null"]},"e":{"$ref":"#"}},"$defs":{"x/y":{"anyOf":[{"$ref":"#/$defs/x~1y"},{"type":"null"}]}}}`, "")},
		{name: "absent", body: `{"model":"m","messages":[` + hi + `],"tools":[{"type":"function","function":{"name":"f"}}]}`, want: "parameters is missing"},
		{name: "null", body: chat("null", ""), want: "parameters is missing"},
		{name: "not of an object", body: chat(`{"properties":{}}`, ""), want: "the type of parameters is"},
		{name: "no properties", body: chat(`{"type":"object"}`, ""), want: "parameters has no properties"},
		{name: "no items", body: chat(object(`"a":{"type":"array"}`), ""), want: "a list has no items"},
		{name: "dangling", body: chat(object(`"a":{"$ref":"#/$defs/x"}`), ""), want: `the reference "#/$defs/x" leads nowhere`},
		{name: "dangling deep", body: chat(object(`"a":`+deep), ""), want: "leads nowhere"},
		{name: "outside", body: chat(object(`"a":{"$ref":"https://x/y.json"}`), ""), want: "leads out of the schema"},
		{name: "to no schema", body: chat(object(`"a":{"$ref":"#/type"}`), ""), want: "leads to no schema"},
		{name: "type", body: chat(object(`"a":{"type":"int"}`), ""), want: `the type "int" is none`},
		{name: "no type", body: chat(object(`"a":{"type":[]}`), ""), want: "the type [] is none"},
		{name: "no schema", body: chat(object(`"a":"string"`), ""), want: `"string" is no schema`},
		{name: "empty union", body: chat(object(`"a":{"anyOf":[]}`), ""), want: "anyOf is empty"},
		{name: "empty enum", body: chat(object(`"a":{"enum":[]}`), ""), want: "enum is empty"},
		{name: "required", body: chat(`{"type":"object","properties":{},"required":"a"}`, ""), want: "required is no list"},
		{name: "nested required", body: chat(object(`"a":{"type":"object","required":[1]}`), ""), want: "required names 1"},

		{name: "right strict", body: chat(`{"type":"object","properties":{"a":{"type":["string","null"]}},"required":["a"],"additionalProperties":false}`, `,"strict":true`)},
		{name: "open", body: chat(`{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}`, `,"strict":true`), want: "additionalProperties is not false"},
		{name: "optional", body: chat(`{"type":"object","properties":{"a":{"type":"string"}},"additionalProperties":false}`, `,"strict":true`), want: `the property "a" is not required`},
		{name: "open below", body: chat(`{"type":"object","properties":{"a":{"type":"array","items":{"anyOf":[{"type":"object","properties":{}}]}}},"required":["a"],"additionalProperties":false}`, `,"strict":true`), want: "additionalProperties is not false"},
		{name: "strict word", body: chat(`{"type":"object","properties":{"a":{"oneOf":[{"type":"string"}]}},"required":["a"],"additionalProperties":false}`, `,"strict":true`), want: `the keyword "oneOf"`},
	})
	check(t, "/v1/chat/completions", modeltest.Config{Rules: modeltest.Rules{Gemini: true}}, []checked{
		{name: "gemini right", body: chat(`{"type":"object","properties":{"a":{"type":"string","nullable":true,"enum":["x"]}},"required":["a"]}`, "")},
		{name: "gemini word", body: chat(object(`"a":{"type":"array","items":{"type":"object","properties":{"b":{"type":"string","pattern":"x"}}}}`), ""), want: `the keyword "pattern"`},
		{name: "gemini open", body: chat(`{"type":"object","properties":{},"additionalProperties":false}`, ""), want: `the keyword "additionalProperties"`},
		{name: "gemini types", body: chat(object(`"a":{"type":["string","null"]}`), ""), want: "a list of types"},
		{name: "gemini required", body: chat(`{"type":"object","properties":{},"required":["a"]}`, ""), want: `required names the property "a"`},
	})
	messages := func(schema string) string {
		return `{"model":"m","max_tokens":9,"messages":[` + hi + `],"tools":[{"name":"f","strict":true,"input_schema":` + schema + `}]}`
	}
	check(t, "/v1/messages", modeltest.Config{}, []checked{
		{name: "messages right strict", body: messages(`{"type":"object","properties":{"a":{"type":"string"}},"additionalProperties":false}`)},
		{name: "messages open", body: messages(`{"type":"object","properties":{"a":{"type":"string"}}}`), want: "additionalProperties is not false"},
		{name: "messages word", body: messages(`{"type":"object","properties":{"a":{"type":"string","minLength":1}},"additionalProperties":false}`), want: `the keyword "minLength"`},
		{name: "messages dangling", body: messages(`{"type":"object","properties":{"a":{"$ref":"#/x"}},"additionalProperties":false}`), want: "leads nowhere"},
	})
}
