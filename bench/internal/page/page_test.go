package page_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/uzda-dev/uzda/bench/internal/page"
)

// Only what is between the marks changes, and a page without them stays.
func TestReplace(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "a.md")
	before := "# Zażółć\n<!-- figures:a -->\nold\n<!-- end:a -->\n<!-- figures:b -->\n<!-- end:b -->\nend\n"
	if err := os.WriteFile(file, []byte(before), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := page.Replace(file, "a", "new\n"); err != nil {
			t.Fatal(err)
		}
	}
	if err := page.Replace(file, "c", "x"); err == nil || !strings.Contains(err.Error(), "figures:c") {
		t.Errorf("no place: %v", err)
	}
	raw, err := os.ReadFile(file)
	if want := strings.Replace(before, "old\n", "\nnew\n\n", 1); err != nil || string(raw) != want {
		t.Errorf("got %q, %v", raw, err)
	}
}
