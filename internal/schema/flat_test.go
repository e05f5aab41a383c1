package schema_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/uzda-dev/uzda/internal/schema"
)

// The short way through a flat schema gives the verdicts of the validator: a
// condition that always holds keeps a schema from being flat.
func TestFlat(t *testing.T) {
	t.Parallel()
	values := []string{`"x"`, `"\n\"}\u0041"`, `"a,b"`, `""`, `"5"`, `5`, `-5`, `5.0`, `5.5`, `5e0`, `1e400`, `true`, `false`, `null`, `[]`, `[1]`, `{}`, `{"a":1}`}
	props := []string{`{"type":"string"}`, `{"type":"integer","description":"d"}`, `{"type":"number","title":"t","default":1}`,
		`{"type":"boolean"}`, `{"type":"string","enum":["x"]}`, `{"type":"integer","minimum":0}`, `{"type":["string","null"]}`,
		`{"type":"object"}`, `{"type":"array"}`, `{"type":"null"}`, `{}`, `true`, `{"description":"d"}`, `{"not":{"type":"string"}}`}
	rests := []string{``, `,"required":[]`, `,"required":["a"]`, `,"required":["a","c"]`, `,"additionalProperties":false`,
		`,"additionalProperties":false,"required":["b"]`, `,"additionalProperties":false,"required":["a","b"]`, `,"additionalProperties":false,"required":["c"]`,
		`,"additionalProperties":true`, `,"additionalProperties":{"type":"string"}`, `,"additionalProperties":false,"maxProperties":1`}
	spaces := []string{"", "", "", " ", "\n\t"}
	r := rand.New(rand.NewPCG(1, 1))
	one := func(of []string) string { return of[r.IntN(len(of))] }
	good := 0
	for i := range 20_000 {
		text := fmt.Sprintf(`{"type":"object","properties":{"a":%s,"b":%s}%s`, one(props), one(props), one(rests))
		if i%2 == 0 { // surely flat
			text = fmt.Sprintf(`{"type":"object","properties":{"a":%s,"b":%s},"additionalProperties":false%s`, one(props[:4]), one(props[:4]), one(rests[:3]))
		}
		short, err := schema.Compile(json.RawMessage(text + "}"))
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		long := schema.MustCompile(json.RawMessage(text + `,"minProperties":0}`))
		var members []string
		for _, name := range []string{`"a"`, `"b"`, `"c"`, `"\u0061"`, `"a"`} {
			if r.IntN(2*len(members)+2) < 2 {
				members = append(members, one(spaces)+name+one(spaces)+":"+one(spaces)+one(values)+one(spaces))
			}
		}
		input := json.RawMessage(one(spaces) + "{" + one(spaces) + strings.Join(members, ",") + "}" + one(spaces))
		got, err := short.Coerce(input)
		want, err2 := long.Coerce(input)
		if string(got) != string(want) || (err == nil) != (err2 == nil) || err != nil && err.Error() != err2.Error() {
			t.Fatalf("%s}: %s becomes %s, %v; the validator says %s, %v", text, input, got, err, want, err2)
		}
		if err == nil {
			good++
		}
	}
	if good < 1000 {
		t.Errorf("only %d of the inputs are valid", good)
	}
}
