package register_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/uzda-dev/uzda/window/register"
)

func numbered(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "order ORD-%06d cost %d,%02d zł\n", i, i, i%100)
	}
	return b.String()
}

// C4: each of very many facts is found and kept apart.
func TestMany(t *testing.T) {
	t.Parallel()
	all := register.Find(numbered(20_000))
	if len(all) != 40_000 {
		t.Errorf("%d facts of 40,000", len(all))
	}
	if lost := register.Lost(all, numbered(10_000)); len(lost) != 20_000 {
		t.Errorf("%d lost of 20,000", len(lost))
	}
}

// C4, case:C13: 10 MB are gone through, and what is data is passed over.
func TestLarge(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("x", 5<<20) + " and " + strings.Repeat("7", 5<<20) + "\nthe end is ORD-99871\n"
	if all := register.Find(text); len(all) != 1 || all[0].Text != "ORD-99871" {
		t.Errorf("found %d facts", len(all))
	}
}

// C4, case:C13: one thing over and over neither hides what follows nor fills the
// register.
func TestRepeated(t *testing.T) {
	t.Parallel()
	const size = 128 << 10
	for _, piece := range []string{
		"\x00", " ", ".", ":", "/", `\`, "1,", "1-", "(", `"`, "+1 ", "8 (", "a://", "a@", "we decided ", "never", "3 maja", "1 234 ",
		"決定3万元", "\xff\xe6", "#1", "$ 1", "port ", "12:", "a.b.", "_", "1.2.", "12/", "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ",
	} {
		all := register.Find(strings.Repeat(piece, size/len(piece)) + "\nthe end is ORD-99871\n")
		if len(all) == 0 || all[len(all)-1].Text != "ORD-99871" {
			t.Errorf("%q: what follows was not found: %d facts", piece, len(all))
		}
		if len(all) > 100 {
			t.Errorf("%q: %d facts", piece, len(all))
		}
	}
}
