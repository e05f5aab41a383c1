package register_test

import (
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/uzda-dev/uzda/window/register"
)

// C4: on any bytes, facts are pieces of the text, once each; none is lost in the
// text itself; and a register is read back as it was written.
func FuzzFind(f *testing.F) {
	for _, text := range corpus(&testing.T{}) {
		f.Add(text)
	}
	for _, text := range []string{
		"", "1,2,3 [123,456] 1.2.3.4.5 007 1990s", "\\\\srv\\share \\u0142 a\\nb 12\\n34", "$ 5 -$5 −5 +5 USD 5 5USD", "1 2 3 4 5 6 7 8 9",
		"port: 5 tel. 12 345 67 №5 #5 # 5", "2025-04-03T 2025-13-45 31.02.2025 年月日 3月 12年", "a@b a@b.cc @a @@ ://a http:// x://", "5 万 5亿 ¥ 元5",
		"never never never", "We decided | 5 | b\n- 12 number: 3", "12.5.", "тел  00", "\xff5\xfe6 zł\xff", "a/b/c//d /a:1:2 C:/x", "1\u00a0000\u202f000,5 %",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		all := register.Find(text)
		seen := map[string]bool{}
		for i, fact := range all {
			if fact.Text == "" || fact.Norm == "" || !utf8.ValidString(fact.Text) && utf8.ValidString(text) {
				t.Fatalf("%q: %+v", text, fact)
			}
			if strings.ContainsFunc(fact.Text, unicode.IsControl) {
				t.Fatalf("%q: more than a line: %+v", text, fact)
			}
			if fact.Kind != register.Decision && !strings.Contains(text, fact.Text) {
				t.Fatalf("%q: not of the text: %+v", text, fact)
			}
			if fact.Kind == register.Decision && len(fact.Text) > 200 {
				t.Fatalf("%q: long: %+v", text, fact)
			}
			if k := string(fact.Kind) + " " + fact.Norm; seen[k] {
				t.Fatalf("%q: twice: %+v", text, fact)
			} else {
				seen[k] = true
			}
			all[i].From = "12.1"
		}
		if lost := register.Lost(all, text); utf8.ValidString(text) && len(lost) > 0 {
			for _, l := range lost {
				if l.Kind != register.Decision { // one that goes over many lines may be said to be lost
					t.Fatalf("%q: lost in itself: %+v", text, l)
				}
			}
		}
		out, n := register.Format(all, len(text)*3+4096)
		if n > len(all) {
			t.Fatalf("%q: %d of %d written", text, n, len(all))
		}
		back := register.Parse(out)
		if len(back) != n {
			t.Fatalf("%q: %d written, %d read from %q", text, n, len(back), out)
		}
		for _, b := range back {
			if !slices.ContainsFunc(all, func(a register.Fact) bool { return a.Kind == b.Kind && a.Text == b.Text && a.From == b.From }) {
				t.Fatalf("%q: wrote %+v, read %+v", text, all, b)
			}
		}
	})
}

// C4: whatever a message holds, its register is read without harm.
func FuzzParse(f *testing.F) {
	f.Add(register.Header + "\n12.1 amount: 1 234,56 zł | $5\n- decision: We agreed: a | b.\n")
	f.Add(register.Header + "\n12 nothing: x\n12 id:\n")
	f.Add(register.Header + "\n id: |  | \n")
	f.Fuzz(func(t *testing.T, text string) {
		for _, fact := range register.Parse(text) {
			if !strings.Contains(text, fact.Text) {
				t.Fatalf("%q: %+v", text, fact)
			}
		}
		register.Lost(register.Parse(text), text)
	})
}
