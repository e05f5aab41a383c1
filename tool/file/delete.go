package file

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

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

// planDelete works out a deletion. Old bytes go to the trash, so a version that was
// not seen may be deleted.
func (f *Files) planDelete(ctx context.Context, use uzda.Use, _ *memory) (*change, error) {
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
	c, err := f.deleted(ctx, p, in.Recursive)
	if err != nil {
		p.close()
		return nil, err
	}
	return c, nil
}

// linkTo begins the version of a link; where it leads follows.
const linkTo = "link:"

func (f *Files) deleted(ctx context.Context, p *place, recursive bool) (*change, error) {
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
		c.before = &content{version: linkTo + to, info: p.info}
		c.told = fmt.Sprintf("Deleted the link %s, which led to %s.", p.shown, to)
		c.asked = fmt.Sprintf("Delete the link %s, which leads to %s", p.shown, to)
	case p.info.IsDir():
		n, bytes, err := f.measure(ctx, p)
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
		c.before = before
		c.told = fmt.Sprintf("Deleted %s (%s); it is in the session's trash.", p.shown, describe(before))
		c.asked = fmt.Sprintf("Delete %s: %s (it can be undone)", p.shown, describe(before))
	}
	return c, nil
}

// measure counts what is in a folder and refuses what may not be deleted with it.
func (f *Files) measure(ctx context.Context, p *place) (n int, bytes int64, err error) {
	err = walkTree(ctx, p.root, p.rel, func(rel string, info fs.FileInfo) error {
		if rel == p.rel {
			return nil
		}
		switch n++; {
		case n > maxTree:
			return refuse("%q has more than %d entries: nothing was deleted. Delete parts of it, or use the shell", p.shown, maxTree)
		case f.hidden(filepath.Join(p.top, filepath.FromSlash(rel))):
			return refuse("%q has something in it that is hidden by a rule: nothing was deleted. Delete single files", p.shown)
		case f.cfg.Protect != nil && f.cfg.Protect(filepath.Join(p.top, filepath.FromSlash(rel))):
			return refuse("%q has files in it that may not be changed by tools: nothing was deleted. Delete single files", p.shown)
		case info.Mode().IsRegular():
			bytes += info.Size()
		case !info.IsDir() && info.Mode()&fs.ModeSymlink == 0:
			return refuse("%q has %s in it (%s), which cannot be kept in the trash: nothing was deleted", p.shown, kind(info.Mode()), rel)
		}
		if bytes > f.cfg.Keep {
			return refuse("%q holds more than %s bytes, which is all that is kept for undo: nothing was deleted. Delete parts of it, or use the shell", p.shown, charset.Commas(f.cfg.Keep))
		}
		return nil
	})
	return n, bytes, err
}

// walkTree visits a folder and what is in it, each folder before its entries, by
// name. Links are visited, never followed.
func walkTree(ctx context.Context, root *os.Root, rel string, visit func(string, fs.FileInfo) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	info, err := root.Lstat(rel)
	if err != nil {
		return fmt.Errorf("look at %s: %w", rel, plainError(err))
	}
	if err := visit(rel, info); err != nil || !info.IsDir() {
		return err
	}
	list, err := readDir(root, rel, info)
	if err != nil {
		return err
	}
	for _, e := range list {
		if err := walkTree(ctx, root, path.Join(rel, e.Name()), visit); err != nil {
			return err
		}
	}
	return nil
}

// readDir lists a folder by name, if it still is the one that was looked at.
func readDir(root *os.Root, rel string, info fs.FileInfo) ([]fs.DirEntry, error) {
	d, err := root.OpenFile(rel, os.O_RDONLY|noWait, 0)
	if err != nil {
		return nil, fmt.Errorf("open the folder %s: %w", rel, plainError(err))
	}
	defer d.Close()
	now, err := d.Stat()
	if err != nil || !now.IsDir() || info != nil && !os.SameFile(now, info) {
		return nil, fmt.Errorf("the folder %s was replaced meanwhile", rel)
	}
	list, err := d.ReadDir(-1)
	if err != nil {
		return nil, fmt.Errorf("read the folder %s: %w", rel, plainError(err))
	}
	sortEntries(list)
	return list, nil
}

// keepTree copies a folder into the trash.
func keepTree(ctx context.Context, p *place, to string) (size int64, err error) {
	_ = os.RemoveAll(to) // of a use that never came to its change
	if err := os.MkdirAll(to, 0o700); err != nil {
		return 0, err
	}
	trash, err := os.OpenRoot(to)
	if err != nil {
		return 0, err
	}
	defer func() { _ = trash.Close() }()
	err = walkTree(ctx, p.root, p.rel, func(rel string, info fs.FileInfo) error {
		size += info.Size()
		return copyEntry(ctx, p.root, rel, trash, below1(p.rel, rel), info)
	})
	if err != nil {
		_ = os.RemoveAll(to)
		return 0, err
	}
	syncRoot(trash)
	syncDir(filepath.Dir(to))
	return size, nil
}

// below1 is a path within the trash, whose top is the folder itself.
func below1(top, rel string) string {
	return path.Join("it", strings.TrimPrefix(strings.TrimPrefix(rel, top), "/"))
}

// copyEntry copies a file, a link or the folder itself, with mode and time.
func copyEntry(ctx context.Context, from *os.Root, rel string, to *os.Root, as string, info fs.FileInfo) error {
	switch {
	case info.IsDir():
		if err := to.Mkdir(as, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		return to.Chmod(as, info.Mode().Perm()|0o700)
	case info.Mode()&fs.ModeSymlink != 0:
		target, err := from.Readlink(rel)
		if err != nil {
			return err
		}
		return to.Symlink(target, as)
	}
	src, err := from.OpenFile(rel, os.O_RDONLY|noWait, 0)
	if err != nil {
		return err
	}
	defer src.Close()
	if now, err := src.Stat(); err != nil || !os.SameFile(now, info) {
		return fmt.Errorf("%s was replaced meanwhile", rel)
	}
	dst, err := to.OpenFile(as, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(dst, &patient{ctx, src})
	if err == nil {
		err = dst.Chmod(info.Mode().Perm())
	}
	if err == nil {
		err = dst.Sync()
	}
	if closed := dst.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return err
	}
	return to.Chtimes(as, info.ModTime(), info.ModTime())
}

// dropTree deletes what is in the trash from where it was, and nothing else: what
// somebody put there or changed meanwhile stays.
func dropTree(ctx context.Context, p *place, kept string) error {
	trash, err := os.OpenRoot(kept)
	if err != nil {
		return fmt.Errorf("open the trash: %w", plainError(err))
	}
	defer func() { _ = trash.Close() }()
	type entry struct {
		rel  string
		info fs.FileInfo
	}
	var all []entry
	err = walkTree(ctx, trash, "it", func(rel string, info fs.FileInfo) error {
		all = append(all, entry{path.Join(p.rel, strings.TrimPrefix(rel, "it")), info})
		return nil
	})
	if err != nil {
		return err
	}
	for i := len(all) - 1; i >= 0; i-- {
		e := all[i]
		info, err := p.root.Lstat(e.rel)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		same := err == nil && info.Mode().Type() == e.info.Mode().Type() &&
			(!info.Mode().IsRegular() || info.Size() == e.info.Size() && info.ModTime().Equal(e.info.ModTime()))
		if same {
			err = p.root.Remove(e.rel)
		} else if err == nil {
			err = errors.New("somebody changed it meanwhile")
		}
		if err != nil {
			return &partly{&fault{effect: uzda.EffectDone, text: fmt.Sprintf("%q could only be deleted in part: %s stays (%v). What was deleted is in the session's trash", p.shown, e.rel, plainError(err))}}
		}
	}
	return nil
}
