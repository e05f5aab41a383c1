package file

import (
	"context"
	_ "embed"
	"encoding/base64"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/internal/charset"
)

//go:embed delete_file.md
var deleteText string

var deleteInput = lazily(`{"type":"object","properties":{` +
	`"path":{"type":"string","minLength":1,"description":"the file, folder or link, relative to the working directory or absolute"},` +
	`"recursive":{"type":"boolean","description":"also delete a folder that is not empty, with all that is in it"}},` +
	`"required":["path"],"additionalProperties":false}`)

func (f *Files) deleteTool() uzda.Tool {
	t := &changer{files: f, plan: f.planDelete}
	t.looker = looker{in: deleteInput, call: t.run, spec: func() uzda.ToolSpec {
		return uzda.ToolSpec{Name: "delete_file", Description: strings.TrimSpace(deleteText), Input: deleteInput().JSON(), Source: "built-in"}
	}}
	return t
}

// planDelete works out a deletion. Old bytes go to the trash, so what was never read
// may be deleted; but not what has changed since it was.
func (f *Files) planDelete(ctx context.Context, use uzda.Use, m *memory) (*change, error) {
	var in struct {
		Path      string
		Recursive bool
	}
	if err := decode(use, &in); err != nil {
		return nil, err
	}
	p, err := f.find(use, in.Path, true)
	if err != nil {
		return nil, err
	}
	c, err := f.deleted(ctx, p, m, in.Recursive)
	if err != nil {
		p.close()
		return nil, err
	}
	return c, nil
}

// The version of a link says where it leads: as it is, or, where that is no text that
// the state could hold, in base64.
const (
	linkTo   = "link:"
	linkTo64 = "link64:"
)

func linkVersion(to string) string {
	if utf8.ValidString(to) {
		return linkTo + to
	}
	return linkTo64 + base64.StdEncoding.EncodeToString([]byte(to))
}

// linkTarget is where a link of this version leads; ok is false for what is none.
func linkTarget(version string) (to string, ok bool) {
	if coded, is64 := strings.CutPrefix(version, linkTo64); is64 {
		raw, err := base64.StdEncoding.DecodeString(coded)
		return string(raw), err == nil
	}
	return strings.CutPrefix(version, linkTo)
}

func (f *Files) deleted(ctx context.Context, p *place, m *memory, recursive bool) (*change, error) {
	if err := p.writable(); err != nil {
		return nil, err
	}
	c := &change{at: p, after: absent}
	switch {
	case p.info == nil:
		return nil, p.missing()
	case p.info.Mode()&fs.ModeSymlink != 0:
		to, err := p.root.Readlink(p.rel)
		if err != nil {
			return nil, p.trouble("delete", err)
		}
		c.before = &content{version: linkVersion(to), info: p.info}
		c.told = fmt.Sprintf("Deleted the link %s, which led to %s.", p.shown, shorten(display(to)))
		c.asked = fmt.Sprintf("Delete the link %s, which leads to %s", p.shown, shorten(display(to)))
	case p.info.IsDir():
		n, bytes, err := f.measure(ctx, p, m)
		if err != nil {
			return nil, err
		}
		if n > 0 && !recursive {
			return nil, refuse("%q is a folder with %d entries: nothing was deleted. Set recursive to true to delete all of them", p.shown, n)
		}
		c.before = &content{version: folder, info: p.info}
		c.told = fmt.Sprintf("Deleted the folder %s with %d entries, %s bytes; it is in the session's trash.", p.shown, n, charset.Commas(bytes))
		c.asked = fmt.Sprintf("Delete the folder %s with %d entries, %s bytes (it can be undone)", p.shown, n, charset.Commas(bytes))
	default:
		before, err := p.load(ctx, f.cfg.MaxEdit)
		if err != nil {
			return nil, err
		}
		if _, read := m.seen[p.abs]; read {
			if err := m.fresh(p, before.version); err != nil {
				return nil, err
			}
		}
		c.before = before
		c.told = fmt.Sprintf("Deleted %s (%s); it is in the session's trash.", p.shown, describe(before))
		c.asked = fmt.Sprintf("Delete %s: %s (it can be undone)", p.shown, describe(before))
	}
	return c, nil
}

// measure counts what is in a folder and refuses what may not be deleted with it.
func (f *Files) measure(ctx context.Context, p *place, m *memory) (n int, bytes int64, err error) {
	in, err := descend(p.root, path.Dir(p.rel))
	if err != nil {
		return 0, 0, p.trouble("open the folder of", err)
	}
	defer func() { _ = in.Close() }()
	err = walkTree(ctx, in, path.Base(p.rel), ".", func(e entry) error {
		if e.rel == "." {
			return nil
		}
		abs, info := filepath.Join(p.abs, filepath.FromSlash(e.rel)), e.info
		switch n++; {
		case n > maxTree:
			return refuse("%q has more than %d entries: nothing was deleted. Delete parts of it, or use the shell", p.shown, maxTree)
		case f.hides(abs): // the folders above were asked for already
			return refuse("%q has something in it that is hidden by a rule: nothing was deleted. Delete single files", p.shown)
		case f.cfg.Protect != nil && f.cfg.Protect(abs):
			return refuse("%q has files in it that may not be changed by tools: nothing was deleted. Delete single files", p.shown)
		case info.Mode().IsRegular():
			bytes += info.Size()
		case !info.IsDir() && info.Mode()&fs.ModeSymlink == 0:
			return refuse("%q has %s in it (%q), which cannot be kept in the trash: nothing was deleted", p.shown, kind(info.Mode()), quoted(e.rel))
		}
		if bytes > f.cfg.Keep {
			return refuse("%q holds more than %s bytes, which is all that is kept for undo: nothing was deleted. Delete parts of it, or use the shell", p.shown, charset.Commas(f.cfg.Keep))
		}
		return m.freshIn(ctx, e, abs, p)
	})
	return n, bytes, err
}

// freshIn refuses a file in a folder that has changed since it was read.
func (m *memory) freshIn(ctx context.Context, e entry, abs string, p *place) error {
	seen, read := m.seen[abs]
	if !read || !e.info.Mode().IsRegular() {
		return nil
	}
	one := &place{root: e.in, rel: e.name, abs: abs, shown: p.shown + "/" + quoted(e.rel), info: e.info}
	now, err := one.current(ctx)
	if err == nil && now != seen {
		err = m.fresh(one, now)
	}
	return err
}
