package schema_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/uzda-dev/uzda/internal/schema"
)

const order = `{"type":"object","properties":{
	"id":    {"type":"string","description":"for example ORD-10422"},
	"limit": {"type":"integer","minimum":1,"maximum":500},
	"price": {"type":"number"},
	"paid":  {"type":"boolean"},
	"ids":   {"type":"array","items":{"type":"integer"}},
	"where": {"type":"object","properties":{"city":{"type":"string"},"zip":{"type":"integer"}},"required":["city"]},
	"state": {"type":"string","enum":["open","sent","returned"]},
	"note":  {"type":["string","array"]},
	"page":  {"anyOf":[{"type":"integer"},{"type":"null"}]},
	"since": {"anyOf":[{"type":"string","pattern":"^[0-9]{4}$"},{"type":"integer"}]},
	"size":  {"enum":[1,2,4]},
	"self":  {"$ref":"#/properties/where"},
	"pair":  {"anyOf":[
		{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"string"}},"required":["a","b"]},
		{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"integer"}},"required":["a","b"]}]},
	"free":  {}
},"additionalProperties":false}`

// TestCoerce shows each form that models send, and that nothing is guessed.
// T1 case:T05
func TestCoerce(t *testing.T) {
	t.Parallel()
	s := schema.MustCompile(json.RawMessage(order))
	const refused = "refused"
	for _, c := range []struct{ name, in, want string }{
		{"valid stays as written", `{ "limit" : 5, "id":"x" }`, `{ "limit" : 5, "id":"x" }`},
		{"integer in quotes", `{"limit":"5"}`, `{"limit":5}`},
		{"negative in quotes", `{"ids":["-5"]}`, `{"ids":[-5]}`},
		{"number in quotes", `{"price":"3.50"}`, `{"price":3.50}`},
		{"exponent in quotes", `{"price":"1e3"}`, `{"price":1e3}`},
		{"exponent is not how integers are written", `{"limit":"1e2"}`, refused},
		{"leading zero is a code, not a number", `{"limit":"05"}`, refused},
		{"minus zero", `{"limit":"-0"}`, refused},
		{"plus", `{"limit":"+5"}`, refused},
		{"blank before", `{"limit":" 5"}`, refused},
		{"blank after", `{"limit":"5 "}`, refused},
		{"newline after", `{"price":"5\n"}`, refused},
		{"hexadecimal", `{"limit":"0x10"}`, refused},
		{"grouped", `{"limit":"1,000"}`, refused},
		{"underscore", `{"limit":"1_0"}`, refused},
		{"NaN", `{"price":"NaN"}`, refused},
		{"Infinity", `{"price":"Infinity"}`, refused},
		{"fraction for an integer", `{"limit":"5.5"}`, refused},
		{"empty text", `{"limit":""}`, refused},
		{"arabic digits", `{"limit":"٥"}`, refused},
		{"beyond 2^53", `{"ids":["9007199254740993"]}`, `{"ids":[9007199254740993]}`},
		{"beyond 2^64", `{"ids":["123456789012345678901234567890"]}`, `{"ids":[123456789012345678901234567890]}`},
		{"many digits", `{"price":"0.12345678901234567890123"}`, `{"price":0.12345678901234567890123}`},
		{"whole with a point", `{"limit":5.0}`, `{"limit":5}`},
		{"whole with an exponent", `{"limit":5e1}`, `{"limit":50}`},
		{"a number keeps its point", `{"price":5.0}`, `{"price":5.0}`},
		{"half", `{"limit":5.5}`, refused},
		{"absurd exponent", `{"limit":1e999999999}`, refused},
		{"absurd exponent in quotes", `{"price":"1e999999999"}`, refused},
		{"true in quotes", `{"paid":"true"}`, `{"paid":true}`},
		{"false in quotes", `{"paid":"false"}`, `{"paid":false}`},
		{"True is not JSON", `{"paid":"True"}`, refused},
		{"yes", `{"paid":"yes"}`, refused},
		{"one", `{"paid":1}`, refused},
		{"number for text", `{"id":5}`, refused},
		{"list for text", `{"id":["x"]}`, refused},
		{"text for a list", `{"ids":"5"}`, refused},
		{"one for a list", `{"ids":5}`, refused},
		{"list as text", `{"ids":"[1,2]"}`, `{"ids":[1,2]}`},
		{"list as text with items as text", `{"ids":"[\"1\",2]"}`, `{"ids":[1,2]}`},
		{"list as text with white space", `{"ids":" [1,\n2] "}`, `{"ids":[1,2]}`},
		{"object as text", `{"where":"{\"city\":\"Oslo\",\"zip\":\"150\"}"}`, `{"where":{"city":"Oslo","zip":150}}`},
		{"object as text through a reference", `{"self":"{\"city\":\"Oslo\"}"}`, `{"self":{"city":"Oslo"}}`},
		{"object as text for a list", `{"ids":"{\"a\":1}"}`, refused},
		{"broken list as text", `{"ids":"[1,2"}`, refused},
		{"list as text and more", `{"ids":"[1,2] and so on"}`, refused},
		{"Python's list", `{"ids":"['1']"}`, refused},
		{"text stays text", `{"id":"[1,2]"}`, `{"id":"[1,2]"}`},
		{"text stays text where a list is allowed too", `{"note":"[1,2]"}`, `{"note":"[1,2]"}`},
		{"number in quotes for anything", `{"free":"5"}`, `{"free":"5"}`},
		{"whole input twice encoded", `"{\"limit\":\"5\"}"`, `{"limit":5}`},
		{"whole input three times encoded", `"\"{\\\"limit\\\":5}\""`, `{"limit":5}`},
		{"whole input is text", `"Oslo"`, refused},
		{"whole input is a list", `[{"limit":5}]`, refused},
		{"broken input", `{"limit":5`, refused},
		{"two inputs", `{"limit":5}{"limit":6}`, refused},
		{"no UTF-8", "{\"id\":\"\xff\"}", refused},
		{"a key twice", `{"limit":5,"limit":6}`, refused},
		{"a key twice, deep", `{"free":[{"a":{"b":1,"b":2}}]}`, refused},
		{"a key twice in text", `{"where":"{\"city\":\"a\",\"city\":\"b\"}"}`, refused},
		{"null of an optional field", `{"id":"x","limit":null}`, `{"id":"x"}`},
		{"null that is allowed", `{"page":null}`, `{"page":null}`},
		{"null for anything", `{"free":null}`, `{"free":null}`},
		{"null of a required field", `{"where":{"city":null}}`, refused},
		{"null in a list", `{"ids":[null]}`, refused},
		{"null of an unknown field", `{"colour":null}`, refused},
		{"union without text", `{"page":"7"}`, `{"page":7}`},
		{"union with text that does not fit", `{"since":"7"}`, refused},
		{"union with one reading", `{"pair":{"a":"5","b":"x"}}`, `{"pair":{"a":5,"b":"x"}}`},
		{"union with two readings would be a guess", `{"pair":{"a":"5","b":"6"}}`, refused},
		{"number of an enum in quotes", `{"size":"2"}`, `{"size":2}`},
		{"number outside an enum", `{"size":"3"}`, refused},
		{"coerced out of range", `{"limit":"501"}`, refused},
		{"enum in another case", `{"state":"OPEN"}`, refused},
		{"unknown field", `{"colour":"red"}`, refused},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, err := s.Coerce(json.RawMessage(c.in))
			if c.want == refused {
				if err == nil {
					t.Fatalf("%s became %s, want a refusal", c.in, got)
				}
				return
			}
			if err != nil {
				t.Fatalf("%s: %v", c.in, err)
			}
			if string(got) != c.want {
				t.Errorf("%s became %s, want %s", c.in, got, c.want)
			}
		})
	}
}

// TestEmpty: a tool without parameters takes every form of nothing, and one
// with required fields says which are missing. case:T03
func TestEmpty(t *testing.T) {
	t.Parallel()
	for _, raw := range []string{``, `null`, `{}`, `{"type":"object"}`, ` { } `} {
		s, err := schema.Compile(json.RawMessage(raw))
		if err != nil {
			t.Fatalf("%q: %v", raw, err)
		}
		told, _ := value(t, s.JSON()).(map[string]any)
		if told["type"] != "object" || told["properties"] == nil || len(told) != 2 {
			t.Errorf("schema %q is told as %s", raw, s.JSON())
		}
		for _, in := range []string{``, `null`, `{}`, `""`, `"{}"`, `"null"`, " \n"} {
			got, err := s.Coerce(json.RawMessage(in))
			if err != nil || string(got) != "{}" {
				t.Errorf("schema %q, input %q: %s, %v; want {}", raw, in, got, err)
			}
		}
	}
	s := schema.MustCompile(json.RawMessage(`{"type":"object","properties":{"id":{"type":"string"}},"required":["id"]}`))
	if _, err := s.Coerce(nil); err == nil || err.Error() != "/id is missing: a string" {
		t.Errorf("no input for a required field: %v", err)
	}
}

// TestErrors: a text that a model can act on names every bad field, what is
// wrong and how to mend it, always in the same order. T1
func TestErrors(t *testing.T) {
	t.Parallel()
	s := schema.MustCompile(json.RawMessage(strings.TrimSuffix(order, "}") + `,"required":["id"]}`))
	for _, c := range []struct{ name, in, want string }{
		{"missing", `{}`, "/id is missing: a string, for example ORD-10422"},
		{"misnamed", `{"ID":"x"}`, "/ID is unknown: the nearest known field is id\n/id is missing: a string, for example ORD-10422"},
		{"misspelt", `{"id":"x","stat":"open"}`, "/stat is unknown: the nearest known field is state"},
		{"unknown", `{"id":"x","colour":"red"}`, "/colour is unknown: the known fields are free, id, ids, limit, note, page, paid, pair, price, self, since, size, state, where"},
		{"several", `{"id":5,"limit":900,"paid":"maybe"}`, "/id is 5: must be a string, in quotes\n/limit is 900: must be at most 500\n/paid is the text \"maybe\": must be true or false"},
		{"quotes", `{"id":"x","limit":"05"}`, `/limit is the text "05": must be an integer, without quotes`},
		{"enum", `{"id":"x","state":"Open"}`, `/state is the text "Open": must be one of "open", "sent", "returned"; the nearest is "open"`},
		{"deep", `{"id":"x","where":{"zip":[]}}`, "/where/city is missing: a string\n/where/zip is a list: must be an integer, not a list"},
		{"in a list", `{"id":"x","ids":[1,"b",3]}`, `/ids/1 is the text "b": must be an integer`},
		{"broken inner JSON", `{"id":"x","ids":"[1,2"}`, `/ids is the text "[1,2": must be a list (each item an integer), sent as JSON and not as text; the text is not valid JSON: it ends too early`},
		{"null", `{"id":null}`, "/id is null: must be a string; leave the field out only where it is optional"},
		{"union", `{"id":"x","page":[]}`, "/page is a list: must be an integer, or null"},
		{"union, meant for one", `{"id":"x","since":"99"}`, `/since is the text "99": must match the pattern ^[0-9]{4}$`},
		{"not JSON", `{"id":`, "the input is not valid JSON: it ends too early; send one JSON object"},
		{"a list", `[]`, "the input is a list: must be an object with the fields of the tool"},
		{"twice", `{"id":"a","id":"b"}`, `the input is not valid JSON: the key "id" stands twice in one object; send one JSON object`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			for range 5 { // maps are walked in any order
				_, err := s.Coerce(json.RawMessage(c.in))
				var e *schema.Error
				if !errors.As(err, &e) {
					t.Fatalf("%v is no *schema.Error", err)
				}
				if err.Error() != c.want {
					t.Fatalf("got\n%s\nwant\n%s", err, c.want)
				}
			}
		})
	}
}

// TestErrorIsBounded: an error text stays short, and whole, however bad the
// input. case:T12
func TestErrorIsBounded(t *testing.T) {
	t.Parallel()
	s := schema.MustCompile(json.RawMessage(`{"type":"object","additionalProperties":{"type":"integer"}}`))
	in := map[string]string{}
	for i := range 200 {
		in[fmt.Sprintf("feld%03d", i)] = strings.Repeat("漢字🎉", 500+i)
	}
	raw, _ := json.Marshal(in)
	_, err := s.Coerce(raw)
	if err == nil {
		t.Fatal("text is no integer")
	}
	text := err.Error()
	if !utf8.ValidString(text) || strings.ContainsRune(text, utf8.RuneError) {
		t.Errorf("the text is cut inside a character: %q", text)
	}
	if len(text) > 4096 || !strings.HasSuffix(text, "and 180 more") {
		t.Errorf("%d bytes: …%s", len(text), text[max(0, len(text)-60):])
	}
}

// TestHostile: schemas and inputs made to hurt end quickly and without panic.
func TestHostile(t *testing.T) {
	t.Parallel()
	node := `{"type":"object","properties":{"next":{"$ref":"#"},"n":{"type":"integer"}},"additionalProperties":false}`
	deep := strings.Repeat(`{"next":`, 5000) + `{"n":"5"}` + strings.Repeat("}", 5000)
	union := `{"type":"object","properties":{"x":{"$ref":"#/$defs/t"}},"$defs":{"t":{"anyOf":[
		{"type":"array","items":{"$ref":"#/$defs/t"}},{"type":"array","items":{"$ref":"#/$defs/t"},"minItems":1},{"type":"integer"}]}}}`
	bushy := `{"x":` + strings.Repeat("[", 8) + `"x"` + strings.Repeat("]", 8) + `}`
	for _, c := range []struct{ schema, in string }{
		{node, deep}, {node, strings.Repeat(`{"next":`, 20000)}, {union, bushy},
		{`{"$ref":"#"}`, `{"a":"1"}`},
		{`{"type":"object","properties":{"a":{"type":"integer","minimum":1,"multipleOf":3}}}`, `{"a":1e400000000}`},
		{`{"type":"object","properties":{"a":{"pattern":"(?=x)"}}}`, `{"a":"y"}`},
	} {
		s, err := schema.Compile(json.RawMessage(c.schema))
		if err != nil {
			t.Logf("%.40s: %v", c.schema, err)
			continue
		}
		out, err := s.Coerce(json.RawMessage(c.in))
		if err == nil && !json.Valid(out) {
			t.Errorf("%.40s: invalid JSON came out", c.schema)
		}
	}
}

// TestCompileRefuses: what no tool can have is found when it is made.
func TestCompileRefuses(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "s.json")
	if err := os.WriteFile(file, []byte(`{"type":"string"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, raw := range map[string]string{
		"no JSON":            `{`,
		"no object":          `[]`,
		"wrong type":         `{"type":"objekt"}`,
		"not of an object":   `{"type":"string"}`,
		"a file":             `{"type":"object","properties":{"a":{"$ref":"file://` + filepath.ToSlash(file) + `"}}}`,
		"the network":        `{"type":"object","properties":{"a":{"$ref":"https://example.com/s.json"}}}`,
		"dangling reference": `{"type":"object","properties":{"a":{"$ref":"#/$defs/b"}}}`,
	} {
		if s, err := schema.Compile(json.RawMessage(raw)); err == nil {
			t.Errorf("%s: compiled to %s", name, s.JSON())
		}
	}
}

// FuzzCoerce: what is valid keeps its value, what comes out is valid and
// settled, and nothing panics.
func FuzzCoerce(f *testing.F) {
	for _, in := range []string{
		``, `null`, `{}`, `{"limit":"5"}`, `{"ids":"[1,\"2\"]"}`, `"{\"limit\":5}"`, `{"limit":5.0,"price":1e3}`, `{"since":"7","page":"7"}`,
		"\v{}", `{"where":{"city":null}}`, `{"where":"{\"city\":\"x\"}","limit":null}`, `{"a":1,"a":2}`, `{"size":"2","free":{"x":[null]}}`, `{"limit":1e400}`, `{"limit":-0.0}`,
	} {
		f.Add([]byte(in))
	}
	s := schema.MustCompile(json.RawMessage(order))
	f.Fuzz(func(t *testing.T, in []byte) {
		out, err := s.Coerce(in)
		if err != nil {
			if !utf8.ValidString(err.Error()) || err.Error() == "" {
				t.Errorf("error text %q", err)
			}
			return
		}
		v := value(t, out)
		if err := s.Validate(v); err != nil {
			t.Errorf("%q became %q, which is invalid: %v", in, out, err)
		}
		again, err := s.Coerce(out)
		if err != nil || string(again) != string(out) {
			t.Errorf("%q became %q and then %q, %v", in, out, again, err)
		}
		var before any
		if json.Unmarshal(in, &before) == nil && before != nil {
			if before := value(t, in); s.Validate(before) == nil && !equal(before, v) {
				t.Errorf("valid %q became %q", in, out)
			}
		}
	})
}

// TestAllocations keeps the check of a valid input cheap.
func TestAllocations(t *testing.T) {
	s := schema.MustCompile(json.RawMessage(order))
	in := json.RawMessage(`{"id":"ORD-10422","limit":5,"where":{"city":"Oslo","zip":150},"ids":[1,2,3]}`)
	n := testing.AllocsPerRun(100, func() {
		if _, err := s.Coerce(in); err != nil {
			t.Fatal(err)
		}
	})
	if n > 120 {
		t.Errorf("%v allocations to check a small valid input", n)
	}
	t.Logf("%v allocations", n)
}
