package file

import (
	"context"
	_ "embed"
	"fmt"
	"path"
	"path/filepath"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
	"github.com/uzda-dev/uzda"
)

//go:embed glob.md
var globText string

var globInput = lazily(`{"type":"object","properties":{` +
	`"pattern":{"type":"string","minLength":1,"description":"for example **/*.go"},` +
	`"path":{"type":"string","minLength":1,"description":"the folder to look in; default: the working directory"},` +
	`"all":{"type":"boolean","description":"also what .gitignore leaves out"}},` +
	`"required":["pattern"],"additionalProperties":false}`)

func (f *Files) globTool() uzda.Tool {
	return &looker{in: globInput, call: f.glob, spec: func() uzda.ToolSpec {
		return uzda.ToolSpec{Name: "glob", Description: strings.TrimSpace(globText), Input: globInput().JSON(), Source: "built-in",
			Effects: uzda.Effects{ReadOnly: true, Idempotent: true}}
	}}
}

func (f *Files) glob(ctx context.Context, use uzda.Use) (uzda.Result, error) {
	var in struct {
		Pattern, Path string
		All           bool
	}
	if err := decode(use, &in); err != nil {
		return uzda.Result{}, err
	}
	dir, pattern, err := splitGlob(in.Path, in.Pattern)
	if err != nil {
		return uzda.Result{}, err
	}
	p, err := f.locate(use, dir)
	if err != nil {
		return uzda.Result{}, err
	}
	defer p.close()
	switch {
	case p.info == nil:
		return uzda.Result{}, refuse("there is no folder %q", p.shown)
	case !p.info.IsDir():
		return uzda.Result{}, refuse("%q is a file: path must be the folder to look in", p.shown)
	}
	wantDirs := strings.HasSuffix(pattern, "/")
	t := &tree{files: f, at: p, all: in.All, dirs: wantDirs}
	if err := t.walk(ctx); err != nil {
		return uzda.Result{}, err
	}
	var names []string
	for _, one := range t.found {
		if ok, _ := doublestar.Match(strings.TrimSuffix(pattern, "/"), one.under); ok && one.entry.IsDir() == wantDirs {
			names = append(names, t.name(one.under))
		}
	}
	res := say(listNames(names, in.Pattern, t))
	return res, nil
}

// splitGlob separates the folder that a pattern begins with from what is matched.
func splitGlob(dir, pattern string) (string, string, error) {
	if strings.ContainsRune(pattern, 0) || !doublestar.ValidatePattern(pattern) {
		return "", "", refuse("/pattern %q cannot be read: a [ or { is not closed, or a \\ stands at the end. Put a \\ before a character to take it literally", pattern)
	}
	if dir == "" {
		dir = "."
	}
	if !strings.Contains(strings.TrimSuffix(pattern, "/"), "/") {
		return dir, "**/" + pattern, nil
	}
	base, rest := doublestar.SplitPattern(pattern)
	switch {
	case filepath.IsAbs(base):
		dir = base
	case base != ".":
		dir = strings.TrimSuffix(dir, "/") + "/" + base // not joined: .. depends on links
	}
	return dir, rest, nil
}

func listNames(names []string, pattern string, t *tree) string {
	var b strings.Builder
	for i, n := range names {
		if i == maxEntries {
			fmt.Fprintf(&b, "[%d more: narrow the pattern or the path]\n", len(names)-i)
			break
		}
		fmt.Fprintln(&b, n)
	}
	if len(names) == 0 {
		fmt.Fprintf(&b, "No file matches %q in %s.", pattern, t.at.shown)
		if !t.all {
			_, _ = b.WriteString(" What .gitignore leaves out was not looked at; all: true does.")
		}
	}
	return b.String() + t.notes()
}

// notes say what a walk left out.
func (t *tree) notes() string {
	var s string
	if t.full {
		s += fmt.Sprintf("[only the first %d entries were looked at: give a path]\n", maxVisited)
	}
	if t.skipped > 0 {
		s += fmt.Sprintf("[%d folders could not be read]\n", t.skipped)
	}
	return s
}

// named says whether a path matches a pattern for names or for paths.
func named(pattern, under string) bool {
	if pattern == "" {
		return true
	}
	if !strings.Contains(pattern, "/") {
		under = path.Base(under)
	}
	ok, _ := doublestar.Match(strings.TrimPrefix(pattern, "/"), under)
	return ok
}
