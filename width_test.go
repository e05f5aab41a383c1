package uzda_test

import (
	"testing"
	"unicode/utf8"

	"github.com/uzda-dev/uzda"
)

// What a terminal shows: wide runes take two columns, marks none.
func TestColumns(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]int{"": 0, "abc": 3, "żółć": 4, "e\u0301": 1, "広告": 4, "한글": 4, "ｆｕｌｌ": 8, "😀": 2, "✅": 2, "…": 1, "├─": 2, "\x1b[31m": 4, "👍\u200d": 2} {
		if got := uzda.Columns(s); got != want {
			t.Errorf("%q takes %d columns, want %d", s, got, want)
		}
	}
}

// A name from outside can neither move the cursor nor break a column.
func TestOneLine(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		in   string
		n    int
		want string
	}{
		{"abc", 3, "abc"}, {"abcd", 3, "ab…"}, {"a\n\tb  c", 9, "a b c"}, {"広告", 4, "広告"}, {"広告", 3, "広…"}, {"広告", 2, "…"}, {"広", 1, "…"},
		{"x", 0, ""}, {"\x1b[31mred\x07", 20, "?[31mred?"}, {"a\u202eb", 9, "a?b"}, {"a\xffb", 9, "a?b"}, {"", 5, ""},
	} {
		got := uzda.OneLine(c.in, c.n)
		if got != c.want || uzda.Columns(got) > c.n || !utf8.ValidString(got) {
			t.Errorf("%q in %d columns: %q, want %q", c.in, c.n, got, c.want)
		}
	}
}
