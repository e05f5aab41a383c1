package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/uzda-dev/uzda/agent"
	"github.com/uzda-dev/uzda/cmd/uzda/config"
	"github.com/uzda-dev/uzda/guide"
)

// guide is what people wrote down for agents that work in a folder: for the system
// prompt now, and for the folders below it when the agent touches them.
func (w *work) guide(c card, dir string) string {
	w.guides, w.guided = nil, ""
	if !c.guided() {
		return ""
	}
	tree := w.tree(dir)
	g := tree.Read()
	for _, text := range g.Warnings {
		w.once("warning: " + text)
	}
	if len(g.Left) > 0 {
		own := "your own " + config.FileName
		if w.cfg.Own != "" {
			own = filepath.Join(w.cfg.Own, config.FileName)
		}
		folder := filepath.Dir(g.Left[0]) // the highest
		w.once(fmt.Sprintf("instructions were found and are not read, since you do not trust their folder: %s\n      If you have read them and trust it: --trust %q for once, or add to %s the line trust: [%q]",
			strings.Join(g.Left, ", "), folder, own, folder))
	}
	w.guides = &guide.Nested{Tree: tree, State: filepath.Join(w.data(), "guide"), Warn: func(text string) { w.once("warning: " + text) }}
	w.guided = g.Text
	return g.Text
}

// tree is where instructions are looked for: in the repository that a folder is in,
// or the project that has settings, or the folder itself.
func (w *work) tree(dir string) guide.Tree {
	home := ""
	for _, kv := range w.env {
		if v, ok := strings.CutPrefix(kv, "HOME="); ok {
			home = v
		}
	}
	t := guide.Tree{Dir: dir, Top: guide.Top(dir, home), Trusts: w.cfg.Trusts}
	if p := w.cfg.Project; p != "" && !exists(filepath.Join(t.Top, ".git")) {
		t.Top = p // where dir is not in it, the tree is dir alone
	}
	if w.cfg.Own != "" {
		t.Own = filepath.Join(w.cfg.Own, guide.Names()[0])
	}
	return t
}

// refreshGuide makes the agent anew where its instructions have changed since it was
// made, so that a turn begins with what they say now.
func (r *runner) refreshGuide(ctx context.Context, s *agent.State) error {
	if r.guides == nil || r.guides.Read().Text == r.guided {
		return nil
	}
	agents, _, err := r.agents(ctx, s)
	if err != nil {
		return err
	}
	r.host = r.work.host(agents)
	return nil
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
