package fit_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/uzda-dev/uzda/internal/fit"
)

// A maker makes schemas and values by chance. Objects in schemas always have
// their type, and alternatives of the outermost schema are not made, as those two
// are narrowed on purpose.
type maker struct{ *rand.Rand }

func (m maker) one(of ...string) string { return of[m.IntN(len(of))] }

func (m maker) tool() string {
	defs := fmt.Sprintf(`"A":%s,"B":%s,"C":{"type":"object","properties":{"c":{"$ref":"#/$defs/C"},"b":{"$ref":"#/$defs/B"}}}`, m.schema(2), m.schema(2))
	if m.IntN(3) == 0 {
		return fmt.Sprintf(`{"allOf":[%s,{"$ref":"#/definitions/A"}],"type":"object","definitions":{"A":%s},"$defs":{%s}}`, m.object(2), m.object(2), defs)
	}
	return strings.TrimSuffix(m.object(3), "}") + `,"$defs":{` + defs + "}}"
}

func (m maker) object(depth int) string {
	var props []string
	for _, name := range []string{"a", "b", "c", "default", "größe"} {
		if m.IntN(2) == 0 {
			props = append(props, fmt.Sprintf("%q:%s", name, m.schema(depth-1)))
		}
	}
	out := `{"type":"object","properties":{` + strings.Join(props, ",") + "}"
	if m.IntN(2) == 0 {
		out += `,"required":["` + m.one("a", "b", "c", "größe") + `"]`
	}
	switch m.IntN(4) {
	case 0:
		out += `,"additionalProperties":false`
	case 1:
		out += `,"additionalProperties":` + m.schema(0)
	}
	if m.IntN(6) == 0 {
		out += `,"minProperties":1`
	}
	return out + "}"
}

func (m maker) schema(depth int) string {
	if depth > 0 {
		switch m.IntN(9) {
		case 0:
			return m.object(depth)
		case 1:
			return `{"type":"array","items":` + m.schema(depth-1) + m.one("", `,"minItems":1`, `,"uniqueItems":true`) + "}"
		case 2:
			return fmt.Sprintf(`{"%s":[%s,%s]}`, m.one("anyOf", "anyOf", "oneOf", "allOf"), m.schema(depth-1), m.schema(depth-1))
		case 3:
			return fmt.Sprintf(`{"anyOf":[%s,{"type":"null"}],%s}`, m.schema(depth-1), m.one(`"description":"d"`, `"title":"t"`, `"type":["string","null","array"]`))
		case 4:
			return `{"type":"array","prefixItems":[` + m.schema(depth-1) + "," + m.schema(0) + "]" + m.one("", `,"items":false`, `,"maxItems":2`, `,"items":{"type":"string"}`) + "}"
		}
	}
	return m.one(`{}`, `true`, `{"type":"string"}`, `{"type":"string","maxLength":1,"format":"email"}`, `{"type":"integer","minimum":1}`, `{"type":"number","exclusiveMinimum":0}`,
		`{"type":"boolean"}`, `{"type":"null"}`, `{"enum":["x","",1,null]}`, `{"enum":["x","y"]}`, `{"type":["string","null"],"enum":["x",null]}`, `{"enum":["x",null,"y"]}`,
		`{"const":1}`, `{"const":"x"}`, `{"const":null}`, `{"type":["string","integer"],"minimum":1,"enum":["x",1]}`, `{"type":["integer","array","null"],"items":{"type":"string"}}`,
		`{"$ref":"#/$defs/A"}`, `{"$ref":"#/$defs/B","description":"e"}`, `{"$ref":"#/$defs/C"}`, `{"type":"string","pattern":"^x"}`, `{"not":{"type":"string"}}`,
		`{"type":["string","object","null"],"properties":{"a":{"type":"string"}},"required":["a"]}`, `{"type":"string","nullable":true}`)
}

func (m maker) value(depth int) string {
	if depth > 0 {
		switch m.IntN(4) {
		case 0, 1:
			return m.args(depth - 1)
		case 2:
			var all []string
			for range m.IntN(4) {
				all = append(all, m.value(depth-1))
			}
			return "[" + strings.Join(all, ",") + "]"
		}
	}
	return m.one(`"x"`, `"x"`, `"y"`, `""`, `1`, `1`, `0.5`, `-1`, `true`, `null`, `{}`, `[]`, `["x"]`, `{"a":"x"}`)
}

func (m maker) args(depth int) string {
	var all []string
	for _, name := range []string{"a", "b", "c", "default", "größe", "other"} {
		if m.IntN(5) < 2 {
			all = append(all, fmt.Sprintf("%q:%s", name, m.value(depth)))
		}
	}
	return "{" + strings.Join(all, ",") + "}"
}

// TestRandom: of random schemas, what every dialect gets is accepted by it, and
// random values that the schema allows are still allowed. case:T01 case:T02
func TestRandom(t *testing.T) {
	t.Parallel()
	schemas, values := 500, 0
	if testing.Short() {
		schemas = 100
	}
	for seed := range uint64(schemas) {
		values += random(t, seed)
	}
	t.Logf("%d schemas, %d allowed values", schemas, values)
}

// FuzzRandom is TestRandom for any seed.
func FuzzRandom(f *testing.F) {
	f.Add(uint64(7124))
	f.Fuzz(func(t *testing.T, seed uint64) { random(t, seed) })
}

// random tries the schema of a seed and returns how many values it allowed.
func random(t *testing.T, seed uint64) int {
	t.Helper()
	m := maker{rand.New(rand.NewPCG(seed, 7))}
	in := m.tool()
	before := compile(t, []byte(in), false)
	var allowed []any
	for range 60 {
		v := valueOf(t, []byte(m.args(3)))
		if before.Validate(v) == nil {
			allowed = append(allowed, v)
		}
	}
	for _, d := range dialects {
		out, err := fit.Schema(json.RawMessage(in), d)
		if err != nil {
			t.Fatalf("seed %d, for %s: %v: %s", seed, d.Name, err, in)
		}
		if d.Name != "plain" {
			for _, fault := range check(out, d) {
				t.Fatalf("seed %d, for %s: %s\n%s\n%s", seed, d.Name, fault, in, out)
			}
		}
		after := compile(t, out, d.Nullable)
		for _, v := range allowed {
			if err := after.Validate(v); err != nil {
				t.Fatalf("seed %d, for %s: %v was allowed: %v\n%s\n%s", seed, d.Name, v, err, in, out)
			}
		}
	}
	return len(allowed)
}

// spoil replaces values in a schema by others that have no place there.
func (m maker) spoil(v any) any {
	if m.IntN(12) == 0 {
		junk := []any{nil, 5, -1.5, true, false, "x", "#", "#/$defs/A", "string", []any{}, []any{"a", 1}, []any{nil, map[string]any{}}, map[string]any{},
			map[string]any{"$ref": "#"}, map[string]any{"type": []any{"null", "dict"}, "anyOf": []any{true}}, map[string]any{"required": true, "enum": []any{nil}}}
		return junk[m.IntN(len(junk))]
	}
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = m.spoil(v[i])
		}
	case map[string]any:
		keys := slices.Sorted(maps.Keys(v))
		for _, k := range keys {
			v[k] = m.spoil(v[k])
		}
		if len(keys) > 0 && m.IntN(8) == 0 {
			other := m.one("items", "properties", "enum", "const", "$ref", "anyOf", "oneOf", "allOf", "not", "if", "required", "type", "nullable", "prefixItems",
				"dependencies", "additionalProperties", "patternProperties", "minimum", "exclusiveMinimum", "format", "description", "$anchor", "$id", "default")
			v[other] = v[keys[m.IntN(len(keys))]]
		}
	}
	return v
}

// TestSpoilt: of schemas that are not as they should be, what every dialect gets is
// accepted by it all the same, or the tool cannot be sent. case:T01
func TestSpoilt(t *testing.T) {
	t.Parallel()
	schemas, sent := 2000, 0
	if testing.Short() {
		schemas = 200
	}
	for seed := range uint64(schemas) {
		m := maker{rand.New(rand.NewPCG(seed, 8))}
		var v any
		if err := json.Unmarshal([]byte(m.tool()), &v); err != nil {
			t.Fatal(err)
		}
		in, err := json.Marshal(m.spoil(v))
		if err != nil {
			t.Fatal(err)
		}
		sent += accepted(t, in)
	}
	t.Logf("%d schemas, %d of %d sent", schemas, sent, schemas*(len(dialects)-1))
}

// FuzzSchema: whatever comes as a schema, what a dialect gets is accepted by it, or
// the tool cannot be sent.
func FuzzSchema(f *testing.F) {
	for seed := range uint64(20) {
		f.Add([]byte(maker{rand.New(rand.NewPCG(seed, 7))}.tool()))
	}
	for _, s := range []string{``, `null`, `{"$ref":"#"}`, `{"allOf":[{"$ref":"#"},{"$ref":"#/allOf/0"}]}`, `{"properties":{"a":{"type":[]},"b":{"enum":[[]]},"":{"$ref":"#/%zz"}}}`,
		`{"$ref":1,"type":{},"properties":5,"required":{},"anyOf":[1,null,"x"],"items":[],"definitions":[]}`, `{"properties":{"a":{"$id":"#","$ref":"#x","$anchor":"x"}}}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) { accepted(t, in) })
}

// accepted takes a schema through all dialects and returns how many take it.
func accepted(t *testing.T, in []byte) (sent int) {
	t.Helper()
	strict := fit.Strict(in)
	for _, d := range append(dialects, fit.OpenAIStrict, fit.AnthropicStrict) {
		out, err := fit.Schema(in, d)
		if err != nil {
			if d.Closed && strict && !d.Keys {
				t.Fatalf("for %s: %s is strict, but %v", d.Name, in, err)
			}
			continue
		}
		if again, err := fit.Schema(in, d); err != nil || string(again) != string(out) {
			t.Fatalf("for %s: %s, then %s, %v", d.Name, out, again, err)
		}
		if d.AsIs {
			continue
		}
		for _, fault := range check(out, d) {
			t.Fatalf("for %s: %s\n%s\n%s", d.Name, fault, in, out)
		}
		compile(t, out, d.Nullable)
		sent++
	}
	return sent
}

func BenchmarkSchema(b *testing.B) {
	in := json.RawMessage(`{"type":"object","properties":{"path":{"type":"string","description":"The file"},"edits":{"type":"array","items":{"$ref":"#/$defs/Edit"}},` +
		`"mode":{"enum":["a","b"],"default":"a"},"limit":{"type":["integer","null"],"minimum":1,"maximum":100}},"required":["path"],"additionalProperties":false,` +
		`"$defs":{"Edit":{"type":"object","properties":{"old":{"type":"string"},"new":{"type":"string"}},"required":["old","new"]}}}`)
	for _, d := range dialects {
		b.Run(d.Name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := fit.Schema(in, d); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
