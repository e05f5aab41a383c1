//go:build unix

package main

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/uzda-dev/uzda/cmd/uzda/config"
)

// Each block of YAML on a page is settings that the program takes, each of JSON is JSON,
// and each that begins as the file of an agent is one. What is for people is text, and
// says so, so that no block goes unread.
func TestDocsBlocks(t *testing.T) { // G6 case:U09
	t.Parallel()
	n := map[string]int{}
	for _, f := range fences(t) {
		n[f.kind]++
		switch f.kind {
		case "yaml":
			settings(t, f)
		case "json":
			if !json.Valid([]byte(f.text)) {
				t.Errorf("%s shows what is no JSON:\n%s", f.page, f.text)
			}
		case "markdown":
			if c, err := readCard("shown", "shown.md", []byte(f.text), true); err != nil || strings.HasPrefix(f.text, "---") && c.System == "" {
				t.Errorf("%s shows an agent that cannot be read: %v\n%s", f.page, err, f.text)
			}
		case "sh", "go", "text", "bash", "":
		default:
			t.Errorf("%s has a block of the kind %q, which nothing reads", f.page, f.kind)
		}
	}
	if n["yaml"] < 5 || n["json"] < 5 || n["markdown"] < 1 {
		t.Errorf("only %v blocks", n)
	}
}

// settings reads a block as a project's file in a folder that is trusted.
func settings(t *testing.T, f fence) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, config.FileName), []byte(f.text), 0o600); err != nil {
		t.Fatal(err)
	}
	name, home := filepath.Join(dir, config.FileName), t.TempDir()
	if strings.HasPrefix(f.text, "trust:") { // it can stand in one's own file only
		if err := os.Rename(name, filepath.Join(home, config.FileName)); err != nil {
			t.Fatal(err)
		}
	}
	c, err := config.Load(config.Options{Dir: dir, Env: []string{"HOME=" + home, "UZDA_HOME=" + home, "UZDA_TRUST=" + dir}})
	if err != nil {
		t.Errorf("%s shows settings that are wrong: %v\n%s", f.page, err, f.text)
		return
	}
	for _, w := range c.Warnings {
		t.Errorf("%s shows settings with a warning: %s\n%s", f.page, w, f.text)
	}
}

// The page about the architecture names every package, and no line of its table is long.
func TestDocsArchitecture(t *testing.T) { // G6
	t.Parallel()
	root := filepath.Join("..", "..")
	page, err := os.ReadFile(filepath.Join(root, "docs", "architecture.md"))
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	err = filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		name := e.Name()
		switch {
		case err != nil:
			return err
		case !e.IsDir() || path == root:
			return nil
		case strings.HasPrefix(name, ".") || name == "testdata" || name == "cmd" && filepath.Dir(path) != root || name == "tools":
			return fs.SkipDir
		}
		inside, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		code, err := filepath.Glob(filepath.Join(path, "*.go"))
		if err != nil || len(code) == 0 {
			return err
		}
		if n++; !strings.Contains(string(page), "`"+filepath.ToSlash(inside)+"`") {
			t.Errorf("docs/architecture.md does not say what %s is for", inside)
		}
		if name == "bench" {
			return fs.SkipDir // its parts are its own affair
		}
		return nil
	})
	if err != nil || n < 30 {
		t.Errorf("%d packages, %v", n, err)
	}
}
