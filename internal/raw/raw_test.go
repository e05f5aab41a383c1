package raw_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/uzda-dev/uzda/internal/raw"
)

func parse(t *testing.T, in string) raw.Object {
	t.Helper()
	o, err := raw.Parse([]byte(in))
	if err != nil {
		t.Fatalf("%s: %v", in, err)
	}
	return o
}

// TestObject: members keep their order, values their bytes. L2
func TestObject(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, in, want string }{
		{"empty", `{}`, `{}`},
		{"order", `{"b":1,"a":2}`, `{"b":1,"a":2}`},
		{"space between members goes, within values it stays", "{ \"a\" : { \"x\" : [ 1 , 2 ] } ,\n\t\"b\" :\r1 }", `{"a":{ "x" : [ 1 , 2 ] },"b":1}`}, // quirk:1
		{"blank lines and spaces around", "\n\n   \t{\"a\":1}  \n\n", `{"a":1}`},                                                                       // quirk:19
		{"numbers keep their digits", `{"a":1.0,"b":1e400,"c":123456789012345678901234567890,"d":-0.10E+2}`, `{"a":1.0,"b":1e400,"c":123456789012345678901234567890,"d":-0.10E+2}`},
		{"names keep their escapes", `{"\u0061\/":1,"é":2,"":3}`, `{"\u0061\/":1,"é":2,"":3}`},
		{"the last of two counts, at the first place", `{"a":1,"b":2,"a":3}`, `{"a":3,"b":2}`},
		{"the same name in another form", `{"a":1,"\u0061":2}`, `{"a":2}`},
		{"bare control characters are escaped", "{\"a\":\"x\ty\nz\",\n\"b\":\"\x00\"}", `{"a":"x\ty\nz","b":"\u0000"}`},
	} {
		o := parse(t, c.in)
		if got := string(o.Append([]byte("#"))); got != "#"+c.want {
			t.Errorf("%s: %s; want %s", c.name, got[1:], c.want)
		}
		if got, err := json.Marshal(o); err != nil || string(got) != string(raw.Compact([]byte(c.want))) {
			t.Errorf("%s: encoded: %s, %v", c.name, got, err)
		}
	}
}

func TestObjectMembers(t *testing.T) {
	t.Parallel()
	o := parse(t, `{"a":1,"\u0062":"x","c":null}`)
	if string(o.Get("b")) != `"x"` || o.Get("d") != nil || o.Len() != 3 {
		t.Errorf("b is %s, d is %s, %d members", o.Get("b"), o.Get("d"), o.Len())
	}
	copied := o.Clone()
	copied.Set("a", json.RawMessage("2"))
	o.Set("b", json.RawMessage("[]"))
	o.Set("<d>\"", nil)
	o.Delete("a")
	o.Delete("nothing")
	if got := string(o.Append(nil)); got != `{"\u0062":[],"c":null,"<d>\"":null}` {
		t.Error(got)
	}
	if got := string(copied.Append(nil)); got != `{"a":2,"\u0062":"x","c":null}` {
		t.Error(got)
	}
	var names []string
	for k := range o.All() {
		names = append(names, k)
		if k == "c" {
			break
		}
	}
	if fmt.Sprint(names) != "[b c]" {
		t.Error(names)
	}
	var zero raw.Object
	if zero.Get("a") != nil || zero.Len() != 0 || string(zero.Append(nil)) != "{}" {
		t.Error("the zero value is not {}")
	}
	zero.Set("a", json.RawMessage("1"))
	if string(zero.Append(nil)) != `{"a":1}` {
		t.Errorf("%s", zero.Append(nil))
	}
}

var noJSON = []string{
	"", " ", "{", "}", "{}}", "{} x", "[]x", `{"a"}`, `{"a":}`, `{"a":1,}`, `{,}`, `{a:1}`, `{'a':1}`, `{"a":1 "b":2}`, `{"a":01}`, `{"a":.5}`,
	`{"a":1.}`, `{"a":1e}`, `{"a":+1}`, `{"a":-}`, `{"a":tru}`, `{"a":nulll}`, `{"a":NaN}`, `{"a":"\q"}`, `{"a":"x}`, `{"a":[1,]}`, `{"a":[1 2]}`,
	`{"a":[}`, `{"a":{]}`, "{\"a\":\x00}", "\xff", "{\"a\":1}\x00",
}

// TestRefused: what is no JSON object, and what is too deep.
func TestRefused(t *testing.T) {
	t.Parallel()
	for _, in := range append(slices.Clone(noJSON), "1", "null", `"{}"`, `[]`) {
		if o, err := raw.Parse([]byte(in)); err == nil || o.Len() != 0 {
			t.Errorf("%q: %v, %d members", in, err, o.Len())
		}
	}
	deep := func(n int) string { return strings.Repeat(`{"a":`, n) + "1" + strings.Repeat("}", n) }
	if _, err := raw.Parse([]byte(deep(raw.MaxDepth))); err != nil {
		t.Error(err)
	}
	if _, err := raw.Parse([]byte(deep(raw.MaxDepth + 1))); err == nil || !strings.Contains(err.Error(), "deeper than 1000") {
		t.Error(err)
	}
	for _, in := range []string{strings.Repeat("[", 10_000_000), strings.Repeat(`{"a":`, 1_000_000), strings.Repeat(`{"a":[`, 1_000_000)} {
		if _, err := raw.Parse([]byte(`{"a":` + in)); err == nil {
			t.Error("no error for a million levels")
		}
	}
	if _, err := raw.Parse(bytes.Repeat([]byte(" "), raw.MaxSize+1)); err == nil || !strings.Contains(err.Error(), "over 67108864 bytes") {
		t.Error(err)
	}
}

// TestManyMembers: many members are read in a time that grows with their number.
func TestManyMembers(t *testing.T) {
	t.Parallel()
	const n = 200_000
	in := []byte{'{'}
	for i := range n {
		in = append(strconv.AppendInt(append(in, '"', 'k'), int64(i), 10), `":0,`...)
	}
	in = append(in, `"k7":1}`...)
	start := time.Now()
	o := parse(t, string(in))
	if o.Len() != n || string(o.Get("k7")) != "1" {
		t.Errorf("%d members, k7 is %s", o.Len(), o.Get("k7"))
	}
	t.Logf("%d members: %v", n, time.Since(start))
}

// TestParseAgain: an object that is used for one delta after another holds only the last.
func TestParseAgain(t *testing.T) { // not parallel, as it counts allocations
	var o raw.Object
	for range 3 {
		for _, in := range []string{`{"a":1,"\u0062":2,"c":3}`, `{"c":4,"a":5}`, `{"":1,"a":2,"\u0061":3}`, `{}`, `{"long name of a member, over 32 bytes":1}`} {
			if err := o.Parse([]byte(in)); err != nil {
				t.Fatal(err)
			}
			whole := parse(t, in)
			if string(o.Append(nil)) != string(whole.Append(nil)) {
				t.Errorf("%s: %s", in, o.Append(nil))
			}
			for k, v := range whole.All() {
				if string(o.Get(k)) != string(v) {
					t.Errorf("%s: %q is %s", in, k, o.Get(k))
				}
			}
		}
		if err := o.Parse([]byte(`{"a":1,`)); err == nil || o.Len() != 0 || o.Get("a") != nil {
			t.Errorf("%v, %d members", err, o.Len())
		}
	}
	in := []byte(`{"type":"x","index":0,"delta":{}}`)
	_ = o.Parse(in)
	allocs := testing.AllocsPerRun(100, func() {
		if err := o.Parse(in); err != nil {
			t.Fatal(err)
		}
		for k := range o.All() {
			_ = k
		}
	})
	if allocs > 0 {
		t.Errorf("%v allocations for names that are known", allocs)
	}
}

func TestElements(t *testing.T) {
	t.Parallel()
	all, err := raw.Elements([]byte(` [ 1 , "a,]" ,{ "x":[] },[]]`))
	if err != nil {
		t.Fatal(err)
	}
	got := ""
	for i, v := range all {
		got += fmt.Sprintf("%d=%s;", i, v)
	}
	if got != `0=1;1="a,]";2={ "x":[] };3=[];` {
		t.Error(got)
	}
	for range all {
		break
	}
	list, err := raw.AppendElements([]json.RawMessage{nil}, []byte(`[1, [2]]`))
	if err != nil || fmt.Sprintf("%s", list) != "[ 1 [2]]" {
		t.Errorf("%s, %v", list, err)
	}
	for _, bad := range append(slices.Clone(noJSON), "{}", "1", "null", `"[]"`) {
		if list, err := raw.AppendElements(nil, []byte(bad)); err == nil || list != nil {
			t.Errorf("%q: %s, %v", bad, list, err)
		}
		if _, err := raw.Elements([]byte(bad)); err == nil {
			t.Errorf("%q is an array", bad)
		}
	}
}

// TestSetPath: one value changes, no other byte does. L2
func TestSetPath(t *testing.T) {
	t.Parallel()
	const in = " {\"a\" : [ 1, {\"b\\u0062\":\"x\", \"c\": 1.0 } ,[ ]],\n\"a\":[0,{\"bb\" : \"}\" , \"c\":-0}], \"d\":{} } "
	path := func(p ...any) []any { return p }
	for _, c := range []struct {
		name string
		path []any
		want string // "": an error
	}{
		{"the whole", nil, " NEW "},
		{"a member, the last of two", path("a"), strings.Replace(in, `[0,{"bb" : "}" , "c":-0}]`, "NEW", 1)},
		{"an element", path("a", 0), strings.Replace(in, "[0,", "[NEW,", 1)},
		{"deep", path("a", 1, "bb"), strings.Replace(in, `"}"`, "NEW", 1)},
		{"deep, a number", path("a", 1, "c"), strings.Replace(in, "-0", "NEW", 1)},
		{"an empty object", path("d"), strings.Replace(in, "{} }", "NEW }", 1)},
		{"no such member", path("x"), ""},
		{"no such element", path("a", 2), ""},
		{"a negative index", path("a", -1), ""},
		{"a name in an array", path("a", "0"), ""},
		{"an index in an object", path(0), ""},
		{"below a number", path("a", 0, "x"), ""},
		{"a step of another kind", path("a", 1.0), ""},
	} {
		got, err := raw.SetPath(json.RawMessage(in), json.RawMessage("NEW"), c.path...)
		if (err != nil) != (c.want == "") || string(got) != c.want {
			t.Errorf("%s: %s, %v; want %s", c.name, got, err, c.want)
		}
	}
	for _, bad := range noJSON {
		if _, err := raw.SetPath(json.RawMessage(bad), json.RawMessage("1"), "a"); err == nil {
			t.Errorf("%q: no error", bad)
		}
	}
}

func TestCompact(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ in, want string }{
		{`{"a":1}`, `{"a":1}`},
		{" { \"a b\" : [ 1 , \"x \\\" y\" ] }\n", `{"a b":[1,"x \" y"]}`},
		{`{"a":"<>&\u2028"}`, `{"a":"<>&\u2028"}`},
		{"1 2", "1 2"},
		{"nonsense here", "nonsense here"},
		{"", ""},
	} {
		if got := string(raw.Compact([]byte(c.in))); got != c.want {
			t.Errorf("%q became %q; want %q", c.in, got, c.want)
		}
	}
}

// TestMend: what a careful reader would refuse is mended, all else stays. quirk:1
func TestMend(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ in, want string }{
		{`{"a" : "\ud83d\ude00\u00e9" }`, `{"a" : "\ud83d\ude00\u00e9" }`},
		{`{"a":"\ud83d","\ude00":1}`, `{"a":"\ufffd","\ufffd":1}`},
		{"[\"\xff\", \"ok\"]", `["\ufffd", "ok"]`},
		{"[\"a\tb\"]", `["a\tb"]`},
		{"{\n\t\"a\": 1 }", "{\n\t\"a\": 1 }"},
		{`"\\ud83d"`, `"\\ud83d"`},
		{`"open \ud83d`, `"open \ufffd`},
		{`"\`, `"\`},
		{`"\ud83d\`, `"\ufffd\`},
		{"", ""},
	} {
		if got := string(raw.Mend(json.RawMessage(c.in))); got != c.want {
			t.Errorf("%q became %q; want %q", c.in, got, c.want)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range noJSON {
		f.Add([]byte(s))
	}
	f.Add([]byte(`{"a":[1.5e-3,true,null,{"b":"\u00e9\ud83d"}],"a":"x"}`))
	f.Fuzz(func(t *testing.T, in []byte) {
		o, err := raw.Parse(in)
		valid := json.Valid(in) && bytes.HasPrefix(bytes.TrimLeft(in, " \t\r\n"), []byte("{"))
		if valid && err != nil && !strings.Contains(err.Error(), "deeper") {
			t.Fatalf("%q: %v", in, err)
		}
		if err != nil {
			return
		}
		out := o.Append(nil)
		if !json.Valid(out) {
			t.Fatalf("%q became %q", in, out)
		}
		if !valid {
			return // it had bare control characters
		}
		var a, b any
		if json.Unmarshal(in, &a) != nil || json.Unmarshal(out, &b) != nil || fmt.Sprint(a) != fmt.Sprint(b) {
			t.Fatalf("%q became %q", in, out)
		}
		var want bytes.Buffer
		if err := json.Compact(&want, in); err != nil || !bytes.Equal(raw.Compact(in), want.Bytes()) {
			t.Fatalf("%q compact: %q", in, raw.Compact(in))
		}
		for k, v := range o.All() {
			set, err := raw.SetPath(in, json.RawMessage(`"new"`), k)
			if err != nil || !json.Valid(set) {
				t.Fatalf("%q: set %q: %q, %v", in, k, set, err)
			}
			back, err := raw.Parse(set)
			if err != nil || string(back.Get(k)) != `"new"` || back.Len() != o.Len() {
				t.Fatalf("%q: set %q: %q, %v", in, k, set, err)
			}
			if len(set) != len(in)-len(v)+len(`"new"`) {
				t.Fatalf("%q: set %q changed more: %q", in, k, set)
			}
		}
	})
}

func FuzzMend(f *testing.F) {
	f.Add([]byte(`{"a":"\ud83d","b":["\ude00\ud83d\ude00"]}`))
	f.Add([]byte("[\"a\tb\xff\"]"))
	f.Fuzz(func(t *testing.T, in []byte) {
		out := raw.Mend(in)
		if again := raw.Mend(out); !bytes.Equal(again, out) {
			t.Fatalf("%q, then %q", out, again)
		}
		var a, b any
		if json.Unmarshal(in, &a) == nil {
			if err := json.Unmarshal(out, &b); err != nil || fmt.Sprint(a) != fmt.Sprint(b) {
				t.Fatalf("%q became %q: %v", in, out, err)
			}
		}
	})
}

var delta = []byte(`{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1787150315,"model":"some-model","choices":[{"index":0,"delta":{"content":" words"},"logprobs":null,"finish_reason":null}],"usage":null}`)

func BenchmarkParse(b *testing.B) {
	b.SetBytes(int64(len(delta)))
	b.ReportAllocs()
	for b.Loop() {
		o, err := raw.Parse(delta)
		if err != nil || o.Get("choices") == nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkSetPath(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := raw.SetPath(delta, json.RawMessage(`"x"`), "choices", 0, "delta", "content"); err != nil {
			b.Fatal(err)
		}
	}
}
