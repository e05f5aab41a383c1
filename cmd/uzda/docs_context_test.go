package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/agent"
	"github.com/uzda-dev/uzda/cmd/uzda/config"
	"github.com/uzda-dev/uzda/journal"
	"github.com/uzda-dev/uzda/model/script"
	"github.com/uzda-dev/uzda/session"
	"github.com/uzda-dev/uzda/tool"
	"github.com/uzda-dev/uzda/tool/recall"
	"github.com/uzda-dev/uzda/window"
)

type tidy struct{}

// Plan clears old results once the request is over the warning line.
func (tidy) Plan(_ context.Context, v uzda.View) (uzda.Plan, error) {
	full := window.Weigh(v)
	plan := uzda.Plan{Weighed: &full}
	if full.State == window.OK && !v.Forced && !v.Refused {
		return plan, nil
	}
	if e, ok := window.Clear(v.Entries, v.Fixed, window.ClearOptions{Tools: v.Head.Tools}); ok {
		plan.Edits = []uzda.Edited{e}
	}
	return plan, nil
}

// The planner that the page shows clears results in a real session, and does not
// summarise.
func TestDocsPlanner(t *testing.T) { // C2
	t.Parallel()
	read := tool.New("read_page", "Reads a page.", uzda.Effects{ReadOnly: true}, func(context.Context, struct {
		N int `json:"n"`
	}) (string, error) {
		return strings.Repeat("A line of the page that is read.\n", 100), nil
	})
	turns := `{"turns":[`
	for n := range "123456789" {
		turns += `{"calls":[{"name":"read_page","input":{"n":` + string(rune('1'+n)) + `}}]},`
	}
	model, err := script.Parse("turns", []byte(turns+`{"text":"Read."}]}`))
	if err != nil {
		t.Fatal(err)
	}
	store := journal.Memory()
	a := agent.Agent{Model: model, Tools: []uzda.Tool{recall.New(store), read}, Planner: tidy{}, Budget: 5000}
	h := session.New(session.Config{Store: store, Agents: map[string]agent.Agent{"a": a}})
	defer h.Close()
	id, err := h.Open(t.Context(), uzda.Opening{Agent: "a"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.Say(t.Context(), id, "Read the pages."); err != nil {
		t.Fatal(err)
	}
	moves, most := map[string]int{}, 0
	for e, err := range store.Read(t.Context(), id, 0) {
		if err != nil {
			t.Fatal(err)
		}
		switch b := e.Body.(type) {
		case uzda.Edited:
			moves[b.What]++
		case uzda.Said:
			most = max(most, b.Usage.Context())
		}
	}
	if moves[uzda.MoveClear] == 0 || len(moves) != 1 || most > 6000 {
		t.Errorf("moves %v, largest request %d tokens", moves, most)
	}
}

// The agent that the page shows works.
func TestDocsContextAgent(t *testing.T) { // C2 C5
	t.Parallel()
	store, model := journal.Memory(), script.Model{Turns: []script.Turn{{Text: "Hello."}}}
	a := agent.Agent{
		Model: model, Tools: []uzda.Tool{recall.New(store)},
		Planner: window.Planner{}, Budget: 120_000,
	}
	h := session.New(session.Config{Store: store, Agents: map[string]agent.Agent{"a": a}})
	defer h.Close()
	if text, err := h.Ask(t.Context(), "a", "Hello?"); err != nil || text != "Hello." {
		t.Errorf("%q, %v", text, err)
	}
}

// The settings that the page shows are settings, and it tells of each of them.
func TestDocsContextSettings(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "context.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(page), "```yaml\n")
	yaml, _, _ := strings.Cut(rest, "```")
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, config.FileName), []byte(yaml), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := config.Load(config.Options{Dir: dir, Env: []string{"UZDA_HOME=" + t.TempDir()}})
	if err != nil {
		t.Fatal(err)
	}
	if c.Context.Budget != 120_000 || c.Context.Compact != "auto" || c.Context.Model == "" || c.Context.Keep != 6 {
		t.Errorf("read as %+v", c.Context)
	}
	for _, k := range config.Keys() {
		if strings.HasPrefix(k.Name, "context.") && !strings.Contains(string(page), "| `"+k.Name+"` |") {
			t.Errorf("the page does not tell of %s", k.Name)
		}
	}
}
