package uzda_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/uzda-dev/uzda"
)

// T3: text is never cut inside a rune, and what comes is the longest that fits.
func TestCuts(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"", "a", "plain text", "żółć", "漢字かな", "👩‍👩‍👧‍👦x", "e\u0301e\u0301", "a\u2028b", "€uro €uro"} {
		for n := -1; n <= len(s)+2; n++ {
			b, a, c := uzda.Before(s, n), uzda.After(s, n), uzda.Clip(s, n)
			if !strings.HasPrefix(s, b) || !strings.HasSuffix(s, a) {
				t.Fatalf("%q at %d: %q and %q are no beginning and end", s, n, b, a)
			}
			for _, got := range []string{b, a, c} {
				if !utf8.ValidString(got) || len(got) > max(n, 0) {
					t.Errorf("%q at %d: %q has %d bytes", s, n, got, len(got))
				}
			}
			if room := max(n, 0) - len(b); len(b) < len(s) && room >= len(string([]rune(s[len(b):])[0])) {
				t.Errorf("Before %q at %d: %q, one more rune fits", s, n, b)
			}
			if rest := []rune(s[:len(s)-len(a)]); len(rest) > 0 && max(n, 0)-len(a) >= utf8.RuneLen(rest[len(rest)-1]) {
				t.Errorf("After %q at %d: %q, one more rune fits", s, n, a)
			}
			switch {
			case len(s) <= n && c != s:
				t.Errorf("Clip %q at %d: %q", s, n, c)
			case len(s) > n && n >= 3 && c != uzda.Before(s, n-3)+"…":
				t.Errorf("Clip %q at %d: %q, the cut is not marked", s, n, c)
			}
		}
	}
}

func TestCanonical(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		`{"b":1,"a":{"d":[3, 1],"c":null}}`:     `{"a":{"c":null,"d":[3,1]},"b":1}`,
		" {\n\"a\" :\t1.50 , \"z\":1e400 } ":    `{"a":1.50,"z":1e400}`,
		`{"n":12345678901234567890.10}`:         `{"n":12345678901234567890.10}`,
		`{"\u0061":"\u0041\/<&>"}`:              `{"a":"A/<&>"}`,
		`{"a":1,"a":2}`:                         `{"a":2}`,
		`"x"`:                                   `"x"`,
		`[true,false,null]`:                     `[true,false,null]`,
		`{"a":`:                                 `{"a":`,
		`no JSON`:                               `no JSON`,
		`{"a" : 1} and more`:                    `{"a" : 1} and more`,
		`{"a" : 1}}`:                            `{"a" : 1}}`,
		`{"a" : 1} {"b":2}`:                     `{"a" : 1} {"b":2}`,
		``:                                      ``,
		`{"ключ":"знач","":0}`:                  `{"":0,"ключ":"знач"}`,
		`{"B":1,"a":2,"A":3,"aa":4,"\u00e4":5}`: `{"A":3,"B":1,"a":2,"aa":4,"ä":5}`,
		`{"a":{},"b":[[],{"c":-1.5E+9}],"c":"\n\\\""}`: `{"a":{},"b":[[],{"c":-1.5E+9}],"c":"\n\\\""}`,
		"[\"\u2028\"]":             `["\u2028"]`,
		`["\/","\u0062","\u001f"]`: `["/","b","\u001f"]`,
		`{"a":{"c":1,"b":2}}`:      `{"a":{"b":2,"c":1}}`,
		`[1, 2]`:                   `[1,2]`,
	} {
		if got := string(uzda.Canonical([]byte(raw))); got != want {
			t.Errorf("%s becomes %s, want %s", raw, got, want)
		}
	}
}

func FuzzCanonical(f *testing.F) {
	for _, s := range []string{`{"b":1,"a":[]}`, `{"a":1}x`, `"\ud800"`, `1e5`, "", `{"$blob":{}}`, `{"a":{"c":-1.5E+9,"d":[true,"\n\\\""]},"b":null}`, `["\b\f\/", "x"]`, "{\"\u2029\":1}"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		got := uzda.Canonical(raw)
		if again := uzda.Canonical(got); !bytes.Equal(again, got) {
			t.Errorf("%q becomes %q and then %q", raw, got, again)
		}
		if json.Valid(raw) != json.Valid(got) {
			t.Errorf("%q becomes %q", raw, got)
		}
		// With white space in front it is decoded and encoded, always.
		if slow := uzda.Canonical(append([]byte(" "), raw...)); json.Valid(raw) && !bytes.Equal(slow, got) {
			t.Errorf("%q becomes %q, and %q in the long way", raw, got, slow)
		}
	})
}
