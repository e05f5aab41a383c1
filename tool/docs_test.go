package tool_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/uzda-dev/uzda/tool/tooltest"
)

// TestDocs: each block of code in the guide stands, line for line, in a test
// that runs.
func TestDocs(t *testing.T) {
	t.Parallel()
	guide, err := os.ReadFile(filepath.Join("..", "docs", "adding-a-tool.md"))
	if err != nil {
		t.Fatal(err)
	}
	var code strings.Builder
	for _, name := range []string{"example_test.go", "docs_test.go"} {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		code.WriteString(squeeze(string(data)))
	}
	blocks := strings.Split(string(guide), "```go\n")[1:]
	if len(blocks) < 3 {
		t.Fatalf("%d blocks of code", len(blocks))
	}
	for _, b := range blocks {
		b, _, _ = strings.Cut(b, "\n```")
		if !strings.Contains(code.String(), squeeze(b)) {
			t.Errorf("the guide shows code that no test runs:\n%s", b)
		}
	}
}

// TestGuide is the test that the guide shows.
func TestGuide(t *testing.T) {
	t.Parallel()
	tooltest.Run(t, status,
		tooltest.Case{Input: `{"order_id":"ORD-10422"}`, Want: "sent"},
		tooltest.Case{Input: `{"order_id":"10422"}`, IsError: true, Want: "ask the user"},
		tooltest.Case{Input: `{}`, Bad: true, Want: "/order_id is missing"})
}

func squeeze(s string) string { return strings.Join(strings.Fields(s), " ") }
