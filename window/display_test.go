package window_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/uzda-dev/uzda/window"
)

// C4: what a tool adds to show a text is no fact of it: 400 lines of a ledger once
// gave their line numbers first. Numbers that a file has stay.
func TestDisplayIsNoFact(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ tool, text, want string }{
		"read_file":          {"read_file", " 345\tORD-10422 of 2025-03-01\n 346\t777 zł\n[lines 345-346 of 1,290; go on with offset 347]\n", "ORD-10422 2025-03-01 777 zł"},
		"a table of numbers": {"read_file", " 345\t346\t888\n 346\t999\t347\n", "346 888 999 347"},
		"line ends":          {"read_file", "  99\tA-1234\r\n 100\tport 4500\r\n", "A-1234 port 4500"},
		"over 9,999 lines":   {"read_file", "9999\ta\n10000\tB-4321\n", "B-4321"},
		"cut in the middle":  {"read_file", " 100\tC-1111\n[… put away …]\n 500\tC-2222\n 501\tC-3333\n", "C-1111 C-2222 C-3333"},
		"a long line":        {"read_file", " 345\tD-1234… [1,234 bytes more on this line]\n", "D-1234"},
		"a file of one line": {"read_file", "   1\t12345\n[the last line has no line end]\n", "12345"},
		"no column":          {"read_file", "345\tE-1234\n", "E-1234 345"},
		"a folder":           {"read_file", "data is a folder with 2 entries:\n4711\t8,000 bytes\n4712\t9,000 bytes\n", "8,000 bytes 9,000 bytes 4711 4712"},
		"another tool":       {"shell", " 345\tF-1234\n", "F-1234 345"},
		"grep":               {"grep", "a/b.csv:345:ORD-00345;x\nc d.txt:1234:port 4500\n[12345 more matching lines in a/b.csv: search in it with path]\n", "a/b.csv ORD-00345 d.txt port 4500"},
		"grep, around":       {"grep", "a/b-2.go-344-G-1234\na/b-2.go:345:G-5678:999:x\n--\n[limit].ts:777:y[0]\n", "a/b-2.go G-1234 G-5678 999"},
		"grep, only names":   {"grep", "a/b.csv: 1290\n", "a/b.csv 1290"},
		"grep, Polish, CRLF": {"grep", "żółw/ł.txt:345:1 234,56 zł\r\n", "żółw/ł.txt 1 234,56 zł"},
	} {
		var got []string
		for _, f := range window.Facts(c.tool, c.text) {
			if f.From != "1.1" {
				t.Errorf("%s: %q is from %q", name, f.Text, f.From)
			}
			got = append(got, f.Text)
		}
		if all := strings.Join(got, " "); all != c.want {
			t.Errorf("%s: the facts are %q, want %q", name, all, c.want)
		}
	}
}

// C4: of a ledger the ids, dates and amounts come before the numbers of its rows, and
// all of them once.
func TestLedger(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for i := range 400 {
		fmt.Fprintf(&b, "%4d\tINV-%05d;2025-%02d-%02d;%d;%d zł\n", i+1, 20000+i, 1+i%12, 1+i/12%28, 500000+i, 70000+i)
	}
	facts := window.Facts("read_file", b.String())
	if want := 400*3 + 12*28; len(facts) != want {
		t.Errorf("%d facts, want %d", len(facts), want)
	}
	for i, f := range facts {
		if bare := strings.HasPrefix(f.Norm, "500") && len(f.Norm) == 6; bare != (i >= len(facts)-400) {
			t.Fatalf("%d: %s %q stands among the others", i, f.Kind, f.Text)
		}
	}
}

// C4: a number in a row of a table with an id is worth less than what other results
// say; one in a sentence or in JSON is not.
func TestNumbersOfRows(t *testing.T) {
	t.Parallel()
	facts := window.Facts("run_query", "The total is 48213 for all.\n{\"id\":\"ORD-1\",\"a\":7001,\"b\":7002}\nid | count | total\nREF-77120 | 9130 | 1290.55\n2031 | 2032 | 2033\n")
	var bare []string
	for _, f := range facts {
		if f.Kind == "number" {
			bare = append(bare, f.Text)
		}
	}
	if got := strings.Join(bare, " "); got != "48213 7001 7002 2031 2032 2033 9130 1290.55" {
		t.Errorf("the numbers stand as %s", got)
	}
}

// FuzzContent: whatever a tool shows, nothing is added to it but line ends, and text
// of other tools stays as it is.
func FuzzContent(f *testing.F) {
	f.Add(" 345\tORD-10422\r\n[lines 3-4 of 5]")
	f.Add("a/b.go:12:x\na/b.go-13-y\n--\n[3 more matching lines]")
	f.Add("\xff:1:\xe6\n…\t9999\t")
	f.Fuzz(func(t *testing.T, text string) {
		for _, tool := range []string{"read_file", "grep", "shell"} {
			got := window.Content(tool, text)
			if len(got) > 2*len(text)+1 || tool == "shell" && got != text {
				t.Errorf("%s: %q became %q", tool, text, got)
			}
			if strings.Contains(text, "QUAY") && !strings.Contains(text, "[") && !strings.Contains(got, "QUAY") {
				t.Errorf("%s: %q lost its words: %q", tool, text, got)
			}
		}
	})
}
