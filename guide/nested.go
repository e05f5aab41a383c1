package guide

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/internal/around"
)

// Nested gives the instructions of folders below the session's directory when a
// file in them is touched for the first time in the session, and again when they
// have changed. It is safe for concurrent use.
type Nested struct {
	Tree
	State string // folder for what each session has seen, one folder in it a session
	// Warn gets what people should read; nil: nobody does.
	Warn func(text string)

	mu sync.Mutex
}

// tools touch the file that their input names as its path.
var tools = []string{"read_file", "write_file", "edit_file"}

// others are folders whose files were written by others, and nobody means to follow.
var others = []string{".git", "node_modules", "vendor", "third_party", "site-packages", ".venv", "venv"}

// Wrap returns a tool whose results are followed by the instructions of the folder
// that it touches. A tool that touches no file is returned as it is.
func (n *Nested) Wrap(t uzda.Tool) uzda.Tool {
	if !slices.Contains(tools, t.Spec().Name) {
		return t
	}
	return around.Tool(t, func(ctx context.Context, use uzda.Use, next func(context.Context, uzda.Use) (uzda.Result, error)) (uzda.Result, error) {
		res, err := next(ctx, use)
		if err != nil || res.IsError || res.Pending != nil {
			return res, err
		}
		if texts := n.news(use); len(texts) > 0 {
			res.Blocks = slices.Clone(res.Blocks)
			for _, text := range texts {
				res.Blocks = append(res.Blocks, uzda.Text{Text: text})
			}
		}
		return res, nil
	})
}

// A seen is what a session was shown of a file of instructions, and by which use: if
// that one runs again after a crash, it shows it again.
type seen struct {
	Sum string     `json:"sum"`
	Use uzda.UseID `json:"use"`
}

// news are the instructions that a session has not seen yet of the folders that
// lead to a file.
func (n *Nested) news(use uzda.Use) []string {
	t := n.settled()
	root, err := os.OpenRoot(t.Top)
	if err != nil {
		return nil
	}
	defer closed(root)
	var pages []page
	for _, folder := range t.nested(use) {
		if p, _ := t.in(root, folder); p != nil && p.text != "" && t.trusts(folder) {
			pages = append(pages, *p)
		}
	}
	if len(pages) == 0 {
		return nil
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	file := filepath.Join(n.State, use.Session.Folder(), "seen.json")
	known := n.load(file)
	var texts []string
	for _, p := range pages {
		now, was := seen{uzda.Hash([]byte(p.text)), use.ID}, known[p.path]
		if was.Sum == now.Sum && was.Use != use.ID {
			continue
		}
		words := "Instructions for %s/ (%s), which hold for everything in that folder:"
		if was.Sum != "" && was.Sum != now.Sum {
			words = "The instructions for %s/ (%s) have changed. Now they are:"
		}
		folder := t.shown(filepath.Dir(p.path))
		texts = append(texts, fmt.Sprintf(words, folder, p.shown)+"\n"+cut(p, t.most()/4))
		known[p.path] = now
	}
	if len(texts) > 0 {
		n.store(file, known)
	}
	return texts
}

// Forget says that results are no longer in the view of a session: the instructions
// that came with them are given again.
func (n *Nested) Forget(id uzda.SessionID, uses ...uzda.UseID) {
	n.mu.Lock()
	defer n.mu.Unlock()
	file := filepath.Join(n.State, id.Folder(), "seen.json")
	known := n.load(file)
	before := len(known)
	maps.DeleteFunc(known, func(_ string, s seen) bool { return slices.Contains(uses, s.Use) })
	if len(known) < before {
		n.store(file, known)
	}
}

// nested lists the folders that lead to the file of a use and whose instructions are
// not in the system prompt already, the nearest last.
func (t Tree) nested(use uzda.Use) []string {
	var in struct{ Path string }
	if json.Unmarshal(use.Input, &in) != nil || in.Path == "" {
		return nil
	}
	path := in.Path
	if !filepath.IsAbs(path) {
		path = filepath.Join(use.Dir, path)
	}
	folder := followed(filepath.Dir(path))
	rel, err := filepath.Rel(t.Top, folder)
	if err != nil || !filepath.IsLocal(rel) || slices.ContainsFunc(strings.Split(filepath.ToSlash(rel), "/"), func(s string) bool { return slices.Contains(others, s) }) {
		return nil
	}
	above := chain(t.Top, t.Dir)
	return slices.DeleteFunc(chain(t.Top, folder), func(f string) bool { return slices.Contains(above, f) })
}

func (n *Nested) load(file string) map[string]seen {
	known := map[string]seen{}
	data, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(data, &known)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		n.warn(fmt.Errorf("read what the session has seen of instructions: %w", err))
	}
	if known == nil {
		known = map[string]seen{}
	}
	return known
}

// store writes what was seen, so that a crash leaves the old or the new.
func (n *Nested) store(file string, known map[string]seen) {
	data, err := json.Marshal(known)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(file), 0o700)
	}
	if err == nil {
		err = os.WriteFile(file+".new", data, 0o600)
	}
	if err == nil {
		err = os.Rename(file+".new", file)
	}
	if err != nil { // the worst is that it is said twice
		n.warn(fmt.Errorf("note what the session has seen of instructions: %w", err))
	}
}

func (n *Nested) warn(err error) {
	if n.Warn != nil {
		n.Warn(err.Error())
	}
}
