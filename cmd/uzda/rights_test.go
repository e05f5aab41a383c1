package main

import (
	"context"
	"encoding/json"
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
)

// editing stands for a tool that changes something; ran counts.
type editing struct{ ran *int }

func (editing) Spec() uzda.ToolSpec {
	return uzda.ToolSpec{Name: "edit_file", Source: "built-in", Unchecked: true, Input: json.RawMessage(`{"type":"object"}`)}
}

func (e editing) Call(context.Context, uzda.Use) (uzda.Result, error) {
	*e.ran++
	return uzda.Result{Blocks: uzda.Say("edited")}, nil
}

// An agent that another one starts has the rights of both files together: it gains
// nothing that its parent has not, its own denials hold whoever calls it, and what
// would be asked is denied where nobody can be.
func TestRightsOfAChild(t *testing.T) { // case:P07
	t.Parallel()
	const free, readOnly, bare, asks = "permissions: {mode: bypass}", "permissions: {mode: plan}", "permissions: {mode: bypass, deny: [Edit]}", "permissions: {mode: deny, ask: [Edit]}"
	for _, c := range []struct {
		name, parent, child string
		ran                 int
		says                string
	}{
		{"both may", free, free, 1, "edited"},
		{"a read-only parent, a child that may edit", readOnly, free, 0, "as for lead, which delegated this"},
		{"a child's own denial", free, bare, 0, "the rule Edit ("},
		{"a parent's denial", bare, free, 0, "as for lead, which delegated this"},
		{"a child that would ask, and nobody to be asked", free, asks, 0, "asks nobody"},
		{"the same child on its own", "", bare, 0, "the rule Edit ("},
		{"the same child on its own, asking", "", asks, 0, "asks nobody"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			ran := 0
			task := script.Model{Turns: []script.Turn{{Calls: []script.Call{{Name: "edit_file", Input: "{}"}}}, {Text: "{{result.1.text}}"}}}
			agents := map[string]agent.Agent{"worker": ofFile(t, "worker", c.child, task, editing{&ran})}
			begins := "worker"
			if c.parent != "" {
				begins = "lead"
				lead := script.Model{Turns: []script.Turn{{Calls: []script.Call{{Name: "delegate_to_worker", Input: `{"task":"edit it"}`}}}, {Text: "{{result.1.text}}"}}}
				// That it may delegate is no question here.
				agents["lead"] = ofFile(t, "lead", c.parent, lead, session.Delegate{Agent: "worker", Effects: uzda.Effects{ReadOnly: true}})
			}
			h := session.New(session.Config{Store: journal.Memory(), Agents: agents, Manual: true})
			defer h.Close()
			answer, err := h.Ask(t.Context(), begins, "go")
			if err != nil {
				answer += err.Error()
			}
			if ran != c.ran || !strings.Contains(answer, c.says) {
				t.Errorf("it ran %d times; %s", ran, answer)
			}
		})
	}
}

// ofFile makes an agent of a file with this front matter, as a run does.
func ofFile(t *testing.T, name, front string, m uzda.Model, tools ...uzda.Tool) agent.Agent {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, name+".md")
	if err := os.WriteFile(file, []byte("---\n"+front+"\n---\nYou work.\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg, err := config.Load(config.Options{Dir: dir, Env: []string{"HOME=" + dir, "UZDA_TRUST=" + dir}})
	if err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	w := &work{app: &app{dir: dir, err: &said}, cfg: cfg}
	card, err := w.card(file)
	if err != nil {
		t.Fatal(err)
	}
	w.take(card)
	gate, err := w.gate(tools)
	if err != nil {
		t.Fatal(err)
	}
	return agent.Agent{Model: m, System: card.System, Tools: tools, Gates: []uzda.Gate{gate}, Mode: w.cfg.Permissions.Mode}
}
