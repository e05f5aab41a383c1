package raw_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/uzda-dev/uzda/internal/raw"
)

var texts = []struct {
	name   string
	pieces []string // JSON strings
	fresh  []string // what each shows
	rest   string
	raw    string // "": the pieces joined
}{
	{name: "nothing", raw: `""`},
	{name: "plain", pieces: []string{`"ab"`, `""`, `"c"`}, fresh: []string{"ab", "", "c"}},
	{name: "every escape", pieces: []string{`"\"\\\/\b\f\n\r\t\u0041\u00e9\u20AC"`}, fresh: []string{"\"\\/\b\f\n\r\tAé€"}},
	{name: "escapes stay as they are written", pieces: []string{`"\u0061\/"`, `"/<>&\u2028"`}, fresh: []string{"a/", "/<>&\u2028"}},
	{name: "NUL", pieces: []string{`"a\u0000b"`}, fresh: []string{"a\x00b"}},
	{name: "a pair in one piece", pieces: []string{`"\ud83d\ude00"`}, fresh: []string{"😀"}},
	{name: "a pair in two pieces", pieces: []string{`"a\ud83d"`, `"\ude00b"`}, fresh: []string{"a", "😀b"}},
	{name: "a pair around an empty piece", pieces: []string{`"\uD83D"`, `""`, `"\uDE00"`}, fresh: []string{"", "", "😀"}},
	{name: "a first half that stays alone", pieces: []string{`"a\ud83d"`, `"b"`}, fresh: []string{"a", "\ufffdb"}, raw: `"a\ufffdb"`},
	{name: "two first halves", pieces: []string{`"\ud83d"`, `"\ud83d"`, `"\ude00"`}, fresh: []string{"", "\ufffd", "😀"}, raw: `"\ufffd\ud83d\ude00"`},
	{name: "a first half and another escape", pieces: []string{`"\ud83d"`, `"\n"`}, fresh: []string{"", "\ufffd\n"}, raw: `"\ufffd\n"`},
	{name: "a second half alone", pieces: []string{`"\ude00"`, `"a"`}, fresh: []string{"\ufffd", "a"}, raw: `"\ufffda"`},
	{name: "a first half at the end", pieces: []string{`"a"`, `"\ud83d"`}, fresh: []string{"a", ""}, rest: "\ufffd", raw: `"a\ufffd"`},
	{name: "bytes of a character in three pieces", pieces: []string{"\"\xe6\"", "\"\xbc\"", "\"\xa2!\""}, fresh: []string{"", "", "漢!"}},
	{name: "bytes of a long one", pieces: []string{"\"x\xf0\x9f\"", "\"\x99\"", "\"\x82\""}, fresh: []string{"x", "", "🙂"}},
	{name: "bytes that stay alone", pieces: []string{"\"a\xe6\xbc\"", "\"b\xff\""}, fresh: []string{"a", "\ufffd\ufffdb\ufffd"}, raw: `"a\ufffd\ufffdb\ufffd"`},
	{name: "bytes at the end", pieces: []string{"\"a\xf0\x9f\x99\""}, fresh: []string{"a"}, rest: "\ufffd\ufffd\ufffd", raw: `"a\ufffd\ufffd\ufffd"`},
	{name: "surrogates in UTF-8 are no characters", pieces: []string{"\"\xed\xa0\xbd\xed\xb8\x80\""}, fresh: []string{strings.Repeat("\ufffd", 6)}, raw: `"` + strings.Repeat(`\ufffd`, 6) + `"`},
	{name: "U+FFFD itself is sound", pieces: []string{"\"\ufffd\"", `"\ufffd"`}, fresh: []string{"\ufffd", "\ufffd"}},
	{name: "bare control characters", pieces: []string{"\"a\tb\n\x01\""}, fresh: []string{"a\tb\n\x01"}, raw: `"a\tb\n\u0001"`},
	{name: "DEL and noncharacters stay", pieces: []string{"\"\x7f\uffff\""}, fresh: []string{"\x7f\uffff"}},
}

// TestText: what is shown never ends inside a character, and what goes back has
// the bytes that came. L2 case:T12
func TestText(t *testing.T) {
	t.Parallel()
	for _, c := range texts {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var x raw.Text
			joined, shown := "", ""
			for i, p := range c.pieces {
				fresh, err := x.Add([]byte(p))
				if err != nil || fresh != c.fresh[i] {
					t.Errorf("piece %d: %q, %v; want %q", i, fresh, err, c.fresh[i])
				}
				joined += p[1 : len(p)-1]
				shown += fresh
			}
			if x.Len() != len(shown) {
				t.Errorf("length %d of %q", x.Len(), shown)
			}
			if x.Rest() != c.rest || x.String() != shown+c.rest {
				t.Errorf("rest %q of %q; want %q of %q", x.Rest(), x.String(), c.rest, shown+c.rest)
			}
			want := c.raw
			if want == "" {
				want = `"` + joined + `"`
			}
			var back string
			if got := string(x.Raw()); got != want || json.Unmarshal([]byte(got), &back) != nil || back != x.String() {
				t.Errorf("raw %s is %q; want %s", got, back, want)
			}
		})
	}
}

// TestTextRefuses: what is no JSON string changes nothing.
func TestTextRefuses(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{"", `"`, "null", "1", `{"a":1}`, `["a"]`, `'a'`, `"a`, `a"`, `"a"b"`, `"\"`, `"\x"`, `"\u12"`, `"\u12g4"`, `"a" `, `"\ud83"`} {
		var x raw.Text
		_, _ = x.Add([]byte(`"ok"`))
		if fresh, err := x.Add([]byte(bad)); err == nil || fresh != "" || x.String() != "ok" || string(x.Raw()) != `"ok"` {
			t.Errorf("%q: %q, %v; the text is %q", bad, fresh, err, x.String())
		}
	}
}

// TestTextBound: a text that does not end is given up.
func TestTextBound(t *testing.T) {
	t.Parallel()
	var x raw.Text
	piece := []byte(`"` + strings.Repeat("x", raw.MaxSize/4) + `"`)
	for range 4 {
		if _, err := x.Add(piece); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := x.Add([]byte(`"y"`)); err == nil || x.Len() != raw.MaxSize {
		t.Errorf("%v at %d bytes", err, x.Len())
	}
}

// split cuts the inside of a JSON string into pieces, each a JSON string: at every
// place but within an escape.
func split(inner string, rng *rand.Rand) (pieces []string) {
	for len(inner) > 0 {
		n := 0
		for most := 1 + rng.IntN(6); n < len(inner) && most > 0; most-- {
			switch {
			case inner[n] != '\\':
				n++
			case inner[n+1] == 'u':
				n += 6
			default:
				n += 2
			}
		}
		pieces = append(pieces, `"`+inner[:n]+`"`)
		inner = inner[n:]
	}
	return pieces
}

// FuzzText: a string comes out the same however it is cut.
func FuzzText(f *testing.F) {
	for _, c := range texts {
		f.Add([]byte(strings.Join(c.pieces, "")), uint64(1))
	}
	f.Fuzz(func(t *testing.T, in []byte, seed uint64) {
		in = append(append([]byte{'"'}, in...), '"')
		var want string
		if json.Unmarshal(in, &want) != nil {
			return
		}
		inner := string(in[1 : len(in)-1])
		rng := rand.New(rand.NewPCG(seed, 0))
		var x raw.Text
		shown := ""
		for _, p := range split(inner, rng) {
			fresh, err := x.Add([]byte(p))
			if err != nil {
				t.Fatalf("%q: %v", p, err)
			}
			if !utf8.ValidString(fresh) {
				t.Fatalf("%q is shown", fresh)
			}
			shown += fresh
		}
		if shown+x.Rest() != want || x.String() != want || x.Len() != len(shown) {
			t.Fatalf("%q, rest %q; want %q", shown, x.Rest(), want)
		}
		var back string
		if err := json.Unmarshal(x.Raw(), &back); err != nil || back != want || !utf8.Valid(x.Raw()) {
			t.Fatalf("%s is %q, %v; want %q", x.Raw(), back, err, want)
		}
		if got := string(x.Raw()); got != string(raw.Mend(in)) {
			t.Fatalf("%s; mended it is %s", got, raw.Mend(in))
		}
		if text, ok := raw.String(in); !ok || text != want {
			t.Fatalf("%q, %v; want %q", text, ok, want)
		}
	})
}

// FuzzAppendString: what is written is read again, and is not longer than it must be.
func FuzzAppendString(f *testing.F) {
	for _, s := range []string{"", "abc", "\"\\/\b\f\n\r\t\x00\x1f\x7f", "<>&\u2028\u2029", "漢🙂\xff\xed\xa0\xbd", "\ufffd"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := raw.AppendString([]byte("x"), s)[1:]
		var back string
		if err := json.Unmarshal(got, &back); err != nil || back != strings.ToValidUTF8(back, "") {
			t.Fatalf("%s: %q, %v", got, back, err)
		}
		var want bytes.Buffer
		e := json.NewEncoder(&want)
		e.SetEscapeHTML(false)
		_ = e.Encode(s)
		var theirs string
		_ = json.Unmarshal(want.Bytes(), &theirs)
		if back != theirs || len(got) > want.Len()-1 {
			t.Fatalf("%s; encoding/json has %s", got, want.Bytes())
		}
	})
}

func BenchmarkTextAdd(b *testing.B) {
	for name, piece := range map[string]string{"plain": `" plain words"`, "escapes": `"a \"b\"\n\u00e9"`, "CJK": `"漢字かな"`} {
		b.Run(name, func(b *testing.B) {
			p := []byte(piece)
			b.ReportAllocs()
			for b.Loop() {
				var x raw.Text
				for range 1000 {
					if _, err := x.Add(p); err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}

func BenchmarkAppendString(b *testing.B) {
	s := strings.Repeat("some words, \"quoted\" and\nbroken; ", 100)
	dst := make([]byte, 0, 2*len(s))
	b.SetBytes(int64(len(s)))
	b.ReportAllocs()
	for b.Loop() {
		dst = raw.AppendString(dst[:0], s)
	}
}

func ExampleText() {
	var x raw.Text
	for _, piece := range []string{`"Good \ud83d"`, `"\ude00!"`} {
		fresh, _ := x.Add([]byte(piece))
		fmt.Printf("%q\n", fresh)
	}
	fmt.Println(string(x.Raw()))
	// Output:
	// "Good "
	// "😀!"
	// "Good \ud83d\ude00!"
}
