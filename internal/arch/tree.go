// Package arch checks that the repository keeps the rules it has given itself.
package arch

import (
	"bytes"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// A Tree is a checkout with its Go files parsed. Paths in it are relative to its
// root, with slashes.
type Tree struct {
	Root   string
	Module string   // path of the root module
	Files  []string // all that git knows or would add, sorted
	Code   []*Source
	nested []string // folders that are modules of their own
	reqs   []string // modules that go.mod requires
	fset   *token.FileSet
}

// A Source is one parsed Go file.
type Source struct {
	Path      string
	Dir       string // "." for the root
	Test      bool   // *_test.go
	Generated bool
	Nested    bool // in a module of its own
	Lines     int
	AST       *ast.File
}

// Open reads the checkout at root.
func Open(root string) (*Tree, error) {
	t := &Tree{Root: root, fset: token.NewFileSet()}
	files, err := list(root)
	if err != nil {
		return nil, err
	}
	t.Files = files
	if err := t.readModule(); err != nil {
		return nil, err
	}
	for _, f := range files {
		if path.Base(f) == "go.mod" && f != "go.mod" && !under(f, "testdata") {
			t.nested = append(t.nested, path.Dir(f))
		}
	}
	for _, f := range files {
		if strings.HasSuffix(f, ".go") && !under(f, "testdata") && !strings.HasPrefix(f, "tools/") {
			if err := t.parse(f); err != nil {
				return nil, err
			}
		}
	}
	return t, nil
}

func (t *Tree) parse(file string) error {
	raw, err := t.read(file)
	if err != nil {
		return err
	}
	tree, err := parser.ParseFile(t.fset, file, raw, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return fmt.Errorf("parse %s: %w", file, err)
	}
	s := &Source{
		Path: file, Dir: path.Dir(file), AST: tree,
		Test:      strings.HasSuffix(file, "_test.go"),
		Generated: ast.IsGenerated(tree),
		Lines:     bytes.Count(raw, []byte("\n")),
	}
	for _, n := range t.nested {
		s.Nested = s.Nested || s.Dir == n || strings.HasPrefix(s.Dir, n+"/")
	}
	t.Code = append(t.Code, s)
	return nil
}

func (t *Tree) read(file string) ([]byte, error) {
	return os.ReadFile(filepath.Join(t.Root, filepath.FromSlash(file)))
}

func (t *Tree) exists(name string) bool {
	_, err := os.Stat(filepath.Join(t.Root, filepath.FromSlash(name)))
	return err == nil
}

func (t *Tree) readModule() error {
	raw, err := t.read("go.mod")
	if err != nil {
		return err
	}
	inside := false
	for line := range strings.Lines(string(raw)) {
		f := strings.Fields(line)
		switch {
		case len(f) == 0:
		case f[0] == "module" && len(f) > 1:
			t.Module = f[1]
		case f[0] == "require" && len(f) > 1 && f[1] == "(":
			inside = true
		case f[0] == ")":
			inside = false
		case f[0] == "require" && len(f) > 2:
			t.reqs = append(t.reqs, f[1])
		case inside && len(f) > 1:
			t.reqs = append(t.reqs, f[0])
		}
	}
	return nil
}

// list asks git for the files, so that what is ignored or built stays out.
// Outside a repository it walks.
func list(root string) ([]string, error) {
	cmd := exec.Command("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		return walk(root)
	}
	var files []string
	for name := range strings.SplitSeq(string(out), "\x00") {
		if name == "" {
			continue
		}
		info, err := os.Lstat(filepath.Join(root, filepath.FromSlash(name)))
		if errors.Is(err, fs.ErrNotExist) {
			continue // deleted, and not yet said to git
		}
		if err != nil {
			return nil, err
		}
		if info.Mode().IsRegular() {
			files = append(files, name)
		}
	}
	slices.Sort(files)
	return slices.Compact(files), nil
}

func walk(root string) ([]string, error) {
	var files []string
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && d.Name() == ".git" {
			return fs.SkipDir
		}
		if d.Type().IsRegular() {
			rel, err := filepath.Rel(root, name)
			if err != nil {
				return err
			}
			files = append(files, filepath.ToSlash(rel))
		}
		return nil
	})
	slices.Sort(files)
	return files, err
}

// under says whether one of a path's folders is called name.
func under(file, name string) bool {
	return slices.Contains(strings.Split(path.Dir(file), "/"), name)
}

func (t *Tree) line(pos token.Pos) int { return t.fset.Position(pos).Line }
