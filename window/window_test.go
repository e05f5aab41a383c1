package window_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/uzda-dev/uzda"
)

var update = flag.Bool("update", false, "write the goldens anew")

func shared(t *testing.T) string {
	t.Helper()
	if dir := os.Getenv("UZDA_SHARED"); dir != "" {
		return dir
	}
	dir, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	for filepath.Dir(dir) != dir {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			break
		}
		dir = filepath.Dir(dir)
	}
	return filepath.Join(filepath.Dir(dir), "shared")
}

func picture(t *testing.T) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, 750, 300))); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// world is a session of a few steps, with everything that a request may hold but a
// summary.
func world(t *testing.T) uzda.View {
	head := uzda.Head{Model: "m", System: strings.Repeat("Answer briefly. ", 20) + "\n<instructions file=\"AGENTS.md\">\nRULE-77: never touch /vendor\n</instructions>\n" +
		"\n<instructions file=\"src/AGENTS.md\">\nRun the tests. A page ends with\n</instructions>\nand this is still of it.\n</instructions>\n", Tools: []uzda.ToolSpec{
		{Name: "read_file", Description: "Read a file. Use it before you edit.", Source: "built-in", Effects: uzda.Effects{ReadOnly: true},
			Input: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}`)},
		{Name: "検索", Description: "Search.", Source: "docs"},
		{Name: "notes", Description: "Keep notes.", Source: "built-in"},
	}}
	use := func(id, name, in string) uzda.ToolUse {
		return uzda.ToolUse{ID: uzda.UseID(id), Name: name, Input: json.RawMessage(in)}
	}
	view := []uzda.Entry{
		{Seq: 2, Message: uzda.Message{Role: uzda.User, Blocks: uzda.Blocks{uzda.Text{Text: "What does the parser do?"}, uzda.Media{Type: "image/png", Data: picture(t)}}}},
		{Seq: 5, Message: uzda.Message{Role: uzda.Assistant, Blocks: uzda.Blocks{uzda.Thinking{Text: "I should read it first."}, uzda.Text{Text: "I read it."},
			use("5.1", "read_file", `{"path":"parser.go"}`), use("5.2", "検索", `{"q":"parser"}`), use("5.3", "notes", `{"op":"read"}`)}}},
		{Seq: 9, Message: uzda.Message{Role: uzda.User, Blocks: uzda.Blocks{
			uzda.ToolResult{Use: "5.1", Blocks: uzda.Say(strings.Repeat("func parse(in []byte) error { return nil }\n", 200))},
			uzda.ToolResult{Use: "5.2", Blocks: uzda.Say(strings.Repeat("結果です。", 100))},
			uzda.ToolResult{Use: "5.3", Blocks: uzda.Say("The account is 4471.")}}}},
		{Seq: 11, Message: uzda.Message{Role: uzda.Assistant, Blocks: uzda.Say("It reads bytes.")}},
		{Seq: 12, Message: uzda.Message{Role: uzda.User, Blocks: uzda.Say("And the errors?")}},
	}
	return uzda.View{Ask: 3, Head: head, Entries: view, Fixed: 3, Tail: "3 steps left"}
}

func item(r uzda.Weighed, name string) uzda.Weight {
	for _, it := range r.Items {
		if it.Name == name {
			return it
		}
	}
	return uzda.Weight{}
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs (run with -update to accept):\n%s", name, got)
	}
}
