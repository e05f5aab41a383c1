//go:build unix

package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/uzda-dev/uzda/cmd/uzda/config"
	"github.com/uzda-dev/uzda/hook"
)

// on are the blocks of one kind on a page.
func on(t *testing.T, page, kind string) (out []string) {
	t.Helper()
	for _, f := range fences(t) {
		if f.page == page && f.kind == kind {
			out = append(out, f.text)
		}
	}
	if len(out) == 0 {
		t.Fatalf("%s has no block of the kind %s", page, kind)
	}
	return out
}

// The hook that the page shows does what the page says of it.
func TestDocsHook(t *testing.T) { // P4
	t.Parallel()
	p := newProgram(t)
	p.file("uzda.yaml", on(t, "hooks.md", "yaml")[0])
	if err := os.Chmod(p.file("guard.sh", on(t, "hooks.md", "bash")[0]), 0o755); err != nil {
		t.Fatal(err)
	}
	for text, denied := range map[string]bool{"production": true, "staging": false} {
		turns := p.file(text+".json", `{"turns":[{"calls":[{"name":"notes","input":{"op":"write","text":"`+text+`"}}]},{"text":"{{result.1.text}}"}]}`)
		out, err := p.command("run", "--trust", p.dir, "--model", "script:"+turns, "go").CombinedOutput()
		if err != nil || strings.Contains(string(out), "production is off limits; use staging") != denied {
			t.Errorf("%s: %v\n%s", text, err, out)
		}
	}
}

// The page names every event, and its JSON is what hooks read and say.
func TestDocsHookProtocol(t *testing.T) { // P4
	t.Parallel()
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "hooks.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range hook.Events() {
		if !strings.Contains(string(page), "| `"+string(e)+"` |") {
			t.Errorf("the page does not tell of %s", e)
		}
	}
	for _, text := range on(t, "hooks.md", "json") {
		if !json.Valid([]byte(text)) {
			t.Errorf("this is no JSON: %s", text)
		}
	}
	for _, name := range toolNames("shell") {
		if !strings.Contains(string(page), "`"+name+"`") {
			t.Errorf("the page does not name %s", name)
		}
	}
}

// The agent that the page shows can be read, and holds what it says.
func TestDocsAgent(t *testing.T) { // P4
	t.Parallel()
	c, err := readCard("reviewer", "reviewer.md", []byte(on(t, "instructions.md", "markdown")[0]), true)
	if err != nil {
		t.Fatal(err)
	}
	cfg, err := config.Load(config.Options{Dir: t.TempDir(), Env: []string{"HOME=" + t.TempDir()}})
	if err != nil {
		t.Fatal(err)
	}
	with, left := cfg.With(c.front, true)
	if strings.Join(c.Tools, " ") != "read_file grep glob notes" || with.Permissions.Mode != "plan" || len(with.Permissions.Deny) != 1 || with.Limits.Steps != 20 || len(left) != 0 ||
		!strings.HasPrefix(c.System, "You review a change.") {
		t.Errorf("%+v %+v", c, with.Permissions)
	}
}

// Every embedded agent can be read, and the page tells of it.
func TestEmbeddedAgents(t *testing.T) { // P4
	t.Parallel()
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "instructions.md"))
	if err != nil {
		t.Fatal(err)
	}
	entries, err := embedded.ReadDir("agents")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		data, err := embedded.ReadFile("agents/" + e.Name())
		if err != nil {
			t.Fatal(err)
		}
		name := strings.TrimSuffix(e.Name(), ".md")
		c, err := readCard(name, e.Name(), data, true)
		if err != nil || c.System == "" || c.front.Description == "" {
			t.Errorf("%s: %+v, %v", name, c, err)
		}
		if !strings.Contains(string(page), "- `"+name+"`:") {
			t.Errorf("the page does not tell of %s", name)
		}
	}
	if len(entries) < 3 {
		t.Errorf("only %d agents", len(entries))
	}
}
