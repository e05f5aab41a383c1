package file

import (
	"context"
	"io/fs"
	"path"
	"path/filepath"
	"strings"
)

// A found is an entry of a folder that was walked.
type found struct {
	rel   string // below the root
	under string // below where the walk began
	entry fs.DirEntry
}

const maxVisited = 500000

// A tree walks a folder: by name, without following links, without .git and, unless
// all is set, without what .gitignore leaves out.
type tree struct {
	files   *Files
	at      *place
	all     bool
	dirs    bool // folders are found too
	found   []found
	visited int
	skipped int // folders that could not be read
	full    bool
}

func (t *tree) walk(ctx context.Context) error {
	var rs []rules
	if !t.all {
		rs = t.above()
	}
	return t.folder(ctx, t.at.rel, "", rs)
}

// above reads the rules of the folders that the walk begins in.
func (t *tree) above() []rules {
	if t.at.rel == "." {
		return nil // read with the folder itself
	}
	rs := t.rulesOf(".")
	dir := ""
	names := strings.Split(t.at.rel, "/")
	for _, n := range names[:len(names)-1] {
		dir = path.Join(dir, n)
		rs = append(rs, t.rulesOf(dir)...)
	}
	return rs
}

// rulesOf reads what a folder says; the repository's own list comes before.
func (t *tree) rulesOf(dir string) []rules {
	var rs []rules
	for _, name := range []string{".git/info/exclude", ".gitignore"} {
		const most = 1 << 20
		p := path.Join(dir, name)
		info, err := t.at.root.Lstat(p)
		if err != nil || !info.Mode().IsRegular() || info.Size() > most {
			continue
		}
		if data, err := t.at.root.ReadFile(p); err == nil {
			if r := parseIgnore(dir, string(data)); len(r.list) > 0 {
				rs = append(rs, r)
			}
		}
	}
	return rs
}

func (t *tree) folder(ctx context.Context, rel, under string, rs []rules) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	info, err := t.at.root.Lstat(rel)
	if err != nil || !info.IsDir() {
		t.skipped++
		return nil //nolint:nilerr // the rest can be looked at; notes say it
	}
	list, err := readDir(t.at.root, rel, info)
	switch {
	case err != nil && under == "":
		return refuse("cannot look into %q: %v", t.at.shown, err)
	case err != nil:
		t.skipped++
		return nil //nolint:nilerr // the rest can be looked at; notes say it
	}
	if !t.all {
		rs = append(rs[:len(rs):len(rs)], t.rulesOf(rel)...)
	}
	for _, e := range list {
		if t.visited++; t.visited > maxVisited {
			t.full = true
			return nil
		}
		one := found{path.Join(rel, e.Name()), path.Join(under, e.Name()), e}
		if e.Name() == ".git" || ignored(rs, one.rel, e.IsDir()) || t.files.skips(filepath.Join(t.at.top, filepath.FromSlash(one.rel))) {
			continue
		}
		if !e.IsDir() {
			t.found = append(t.found, one)
			continue
		}
		if t.dirs {
			t.found = append(t.found, one)
		}
		if err := t.folder(ctx, one.rel, one.under, rs); err != nil {
			return err
		}
	}
	return nil
}

// name is what the model calls a found entry.
func (t *tree) name(under string) string {
	if t.at.shown == "." {
		return under
	}
	return path.Join(filepath.ToSlash(t.at.shown), under)
}
