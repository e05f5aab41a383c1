package file

import (
	"context"
	"io/fs"
	"os"
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
	in, err := descend(t.at.root, t.at.rel)
	if err != nil {
		return refuse("cannot look into %q: %v", t.at.shown, plainError(err))
	}
	defer func() { _ = in.Close() }()
	return t.folder(ctx, in, t.at.rel, "", rs)
}

// above reads the rules of the folders that the walk begins in.
func (t *tree) above() []rules {
	if t.at.rel == "." {
		return nil // read with the folder itself
	}
	rs := t.rulesOf(t.at.root, ".", ".")
	dir := ""
	names := strings.Split(t.at.rel, "/")
	for _, n := range names[:len(names)-1] {
		dir = path.Join(dir, n)
		rs = append(rs, t.rulesOf(t.at.root, dir, dir)...)
	}
	return rs
}

// rulesOf reads what a folder says, which goes by a name in an open one; the
// repository's own list comes before.
func (t *tree) rulesOf(in *os.Root, name, dir string) []rules {
	var rs []rules
	for _, list := range []string{".git/info/exclude", ".gitignore"} {
		const most = 1 << 20
		p := path.Join(name, list)
		info, err := in.Lstat(p)
		if err != nil || !info.Mode().IsRegular() || info.Size() > most {
			continue
		}
		if data, err := in.ReadFile(p); err == nil {
			if r := parseIgnore(dir, string(data)); len(r.list) > 0 {
				rs = append(rs, r)
			}
		}
	}
	return rs
}

// folder walks an open folder.
func (t *tree) folder(ctx context.Context, in *os.Root, rel, under string, rs []rules) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	list, err := readDir(in, ".", nil)
	switch {
	case err != nil && under == "":
		return refuse("cannot look into %q: %v", t.at.shown, err)
	case err != nil:
		t.skipped++
		return nil //nolint:nilerr // the rest can be looked at; notes say it
	}
	if !t.all {
		rs = append(rs[:len(rs):len(rs)], t.rulesOf(in, ".", rel)...)
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
		if err := t.within(ctx, in, one, rs); err != nil {
			return err
		}
	}
	return nil
}

// within walks a folder in an open one.
func (t *tree) within(ctx context.Context, in *os.Root, one found, rs []rules) error {
	info, err := in.Lstat(path.Base(one.rel))
	if err == nil {
		var sub *os.Root
		if sub, err = enter(in, path.Base(one.rel), info); err == nil {
			defer func() { _ = sub.Close() }()
			return t.folder(ctx, sub, one.rel, one.under, rs)
		}
	}
	t.skipped++
	return nil
}

// name is what the model calls a found entry.
func (t *tree) name(under string) string {
	if t.at.shown == "." {
		return display(under)
	}
	return path.Join(filepath.ToSlash(string(t.at.shown)), display(under))
}
