package fit_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/uzda-dev/uzda/internal/fit"
)

// closed makes a closed object that requires its one property p.
func closed(property string) string {
	return `{"type":"object","properties":{"p":` + property + `},"required":["p"],"additionalProperties":false}`
}

// TestStrict: a tool is strict only where strict mode changes nothing for its
// callers. T1 case:T02
func TestStrict(t *testing.T) {
	t.Parallel()
	const person = `{"type":"object","properties":{"name":{"type":"string"}},"required":["name"],"additionalProperties":false}`
	for _, c := range []struct {
		name string
		in   string
		want bool
	}{
		{"no properties", `{"type":"object","properties":{},"additionalProperties":false}`, true},
		{"neither properties nor requirements", `{"type":"object","additionalProperties":false}`, true},
		{"one", closed(`{"type":"string","format":"uri","minLength":1,"default":"x"}`), true},
		{"nested", closed(closed(`{"type":"array","items":` + person + `}`)), true},
		{"optional by null", closed(`{"type":["string","null"]}`), true},
		{"alternatives", closed(`{"anyOf":[{"type":"string"},` + person + `,{"type":"null"}]}`), true},
		{"enum and const", closed(`{"anyOf":[{"enum":["a","b"]},{"const":1}]}`), true},
		{"a reference", `{"type":"object","properties":{"p":{"$ref":"#/$defs/P","description":"A person"}},"required":["p"],"additionalProperties":false,"$defs":{"P":` + person + `,"open":{}}}`, true},

		{"nothing", ``, false},
		{"an optional property", `{"type":"object","properties":{"a":{"type":"string"}},"required":[],"additionalProperties":false}`, false},
		{"an open object", `{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}`, false},
		{"a map", `{"type":"object","properties":{},"additionalProperties":{"type":"string"}}`, false},
		{"no type", `{"properties":{},"additionalProperties":false}`, false},
		{"an open object within", closed(`{"type":"object"}`), false},
		{"an optional property in an item", closed(`{"type":"array","items":{"type":"object","properties":{"a":{"type":"string"}},"additionalProperties":false}}`), false},
		{"any value", closed(`{}`), false},
		{"any value, as a switch", closed(`true`), false},
		{"any item", closed(`{"type":"array"}`), false},
		{"a tuple", closed(`{"type":"array","items":[{"type":"string"}]}`), false},
		{"all of", closed(`{"allOf":[{"type":"string"}]}`), false},
		{"one of", closed(`{"oneOf":[{"type":"string"}]}`), false},
		{"outermost alternatives", `{"type":"object","properties":{},"additionalProperties":false,"anyOf":[{}]}`, false},
		{"properties by pattern", closed(`{"type":"object","properties":{},"patternProperties":{"x":{}},"additionalProperties":false}`), false},
		{"a requirement without its property", `{"type":"object","properties":{},"required":["a"],"additionalProperties":false}`, false},
		{"properties without a type", closed(`{"properties":{},"additionalProperties":false}`), false},
		{"an unknown type", closed(`{"type":"str"}`), false},
		{"a reference to nothing", closed(`{"$ref":"#/$defs/gone"}`), false},
		{"a reference with more", closed(`{"$ref":"#/$defs/gone","properties":{}}`), false},
		{"recursion", `{"type":"object","properties":{"p":{"anyOf":[{"$ref":"#"},{"type":"null"}]}},"required":["p"],"additionalProperties":false}`, false},
		{"too deep", strings.Repeat(`{"type":"object","required":["p"],"additionalProperties":false,"properties":{"p":`, 12) + `{"type":"string"}` + strings.Repeat("}}", 12), false},
		{"no JSON", `{"type":"object"`, false},
	} {
		if got := fit.Strict(json.RawMessage(c.in)); got != c.want {
			t.Errorf("%s: %v: %s", c.name, got, c.in)
		}
		for _, d := range []fit.Dialect{fit.OpenAIStrict, fit.AnthropicStrict} {
			out, err := fit.Schema(json.RawMessage(c.in), d)
			if (err == nil) != c.want {
				t.Errorf("%s, for %s: %v", c.name, d.Name, err)
			}
			if err != nil {
				continue
			}
			for _, fault := range check(out, d) {
				t.Errorf("%s, for %s: %s: %s", c.name, d.Name, fault, out)
			}
		}
	}
	name := json.RawMessage(strings.ReplaceAll(closed(`{"type":"string"}`), `"p"`, `"größe"`))
	if out, err := fit.Schema(name, fit.AnthropicStrict); err == nil {
		t.Errorf("a name that is not taken: %s", out)
	}
	out, err := fit.Schema(json.RawMessage(closed(`{"type":"string","format":"uri","minLength":1,"default":"x"}`)), fit.OpenAIStrict)
	if want := closed(`{"type":"string","description":"format: uri; at least 1 character; default: \"x\""}`); err != nil || string(out) != want {
		t.Errorf("%s, %v; want %s", out, err, want)
	}
}

// TestName: names are what every provider takes, no two are the same, and a name
// is the same whatever other tools there are, unless that would be taken. T1
func TestName(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a", 70)
	for _, c := range []struct {
		in    string
		limit int
		taken string
		want  string
	}{
		{"read_file", 0, "", "read_file"},
		{"A-z_9", 64, "", "A-z_9"},
		{"math.factorial", 0, "", "math_factorial"},
		{"github/repo:search now", 0, "", "github_repo_search_now"},
		{"größe🙂", 0, "", "gr__e_"},
		{"a\xff", 0, "", "a_"},
		{"", 0, "", "tool"},
		{long[:64], 0, "", long[:64]},
		{long, 0, "", long[:55] + "_6bd5e503"},
		{long[:65], 0, "", long[:55] + "_635361c4"},
		{"a.b", 0, "a_b", "a_b_2e7336dc"},
		{"a.b", 0, "a_b a_b_2e7336dc", "a_b_2e7336dc_2"},
		{"read_file", 4, "", ""},
	} {
		got := fit.Name(c.in, c.limit, func(s string) bool { return strings.Contains(" "+c.taken+" ", " "+s+" ") })
		if c.want != "" && got != c.want {
			t.Errorf("%q: %s; want %s", c.in, got, c.want)
		}
	}
	if got := fit.Name("read_file", 4, nil); len(got) > 4 || got == "" {
		t.Errorf("%q", got)
	}
	if got := fit.Name("a", 64, func(string) bool { return true }); got == "" || len(got) > 64 {
		t.Errorf("where all is taken: %q", got)
	}
	given := map[string]bool{}
	for i := range 3000 {
		in := fmt.Sprintf("%s%c%d", long, 'é'+rune(i), i%3)
		got := fit.Name(in, 64, func(s string) bool { return given[s] })
		if given[got] || len(got) > 64 {
			t.Fatalf("%q: %q is given twice", in, got)
		}
		given[got] = true
	}
}

func FuzzName(f *testing.F) {
	f.Add("a.b", 64, "a_b")
	f.Add("", -1, "")
	f.Fuzz(func(t *testing.T, name string, limit int, taken string) {
		got := fit.Name(name, limit, func(s string) bool { return s == taken })
		most := limit
		if most <= 0 {
			most = 64
		}
		if got == "" || len(got) > most || got == taken && most > 1 {
			t.Fatalf("%q: %q of at most %d", name, got, most)
		}
		for _, r := range got {
			if !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-", r) {
				t.Fatalf("%q: %q", name, got)
			}
		}
	})
}
