package file

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/uzda-dev/uzda"
)

// inTrash is the name that a deleted folder has in its place in the trash.
const inTrash = "it"

// A copier copies a folder with what is in it.
type copier struct {
	ctx  context.Context //nolint:containedctx // it lives as long as one call
	size int64
	batch
}

// keepTree copies a folder into the trash.
func keepTree(ctx context.Context, p *place, to string) (size int64, err error) {
	_ = os.RemoveAll(to) // of a use that never came to its change
	if err := os.MkdirAll(to, 0o700); err != nil {
		return 0, err
	}
	defer func() {
		if err != nil {
			_ = os.RemoveAll(to)
		}
	}()
	trash, err := os.OpenRoot(to)
	if err != nil {
		return 0, err
	}
	top := open(trash)
	defer top.release()
	in, err := descend(p.root, path.Dir(p.rel))
	if err != nil {
		return 0, err
	}
	defer func() { _ = in.Close() }()
	c := &copier{ctx: ctx}
	if err := c.copy(in, path.Base(p.rel), top, inTrash); err != nil {
		c.drop()
		return 0, err
	}
	if err := c.flush(); err != nil {
		return 0, err
	}
	syncDir(filepath.Dir(to))
	return c.size, nil
}

func (c *copier) copy(from *os.Root, name string, to *shelf, as string) error {
	if err := c.ctx.Err(); err != nil {
		return err
	}
	info, err := from.Lstat(name)
	if err != nil {
		return err
	}
	c.size += info.Size()
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		target, err := from.Readlink(name)
		if err != nil {
			return err
		}
		if err := to.Symlink(target, as); err != nil {
			return err
		}
		return c.changed(to)
	case !info.IsDir():
		return c.file(from, name, info, to, as, as)
	}
	if err := to.Mkdir(as, 0o700); err != nil {
		return err
	}
	if err := c.changed(to); err != nil {
		return err
	}
	return both(from, name, info, to, as, func(from *os.Root, to *shelf, list []fs.DirEntry) error {
		for _, e := range list {
			if err := c.copy(from, e.Name(), to, e.Name()); err != nil {
				return err
			}
		}
		return to.Chmod(".", info.Mode().Perm()|0o700)
	})
}

// both opens a folder on either side, and lists the first.
func both(from *os.Root, name string, info fs.FileInfo, to *shelf, as string, do func(*os.Root, *shelf, []fs.DirEntry) error) error {
	src, err := enter(from, name, info)
	if err != nil {
		return err
	}
	defer func() { _ = src.Close() }()
	list, err := readDir(src, ".", info)
	if err != nil {
		return err
	}
	there, err := to.Lstat(as)
	if err != nil {
		return err
	}
	dst, err := enter(to.Root, as, there)
	if err != nil {
		return err
	}
	sub := open(dst)
	defer sub.release()
	return do(src, sub, list)
}

// file copies a file, with mode and time. It has its name when the batch is flushed.
func (c *copier) file(from *os.Root, name string, info fs.FileInfo, to *shelf, temp, as string) error {
	src, err := from.OpenFile(name, os.O_RDONLY|noWait, 0)
	if err != nil {
		return err
	}
	defer src.Close()
	if now, err := src.Stat(); err != nil || !now.Mode().IsRegular() || !os.SameFile(now, info) {
		return fmt.Errorf("%s was replaced meanwhile", display(name))
	}
	dst, err := to.OpenFile(temp, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(dst, &patient{c.ctx, src})
	if err == nil {
		err = dst.Chmod(info.Mode().Perm())
	}
	if err != nil {
		_ = dst.Close()
		_ = to.Remove(temp)
		return err
	}
	return c.add(fresh{f: dst, in: to, temp: temp, name: as, info: info})
}

// dropTree deletes what is in the trash from where it was, and nothing else: what
// somebody put there or changed meanwhile stays.
func dropTree(ctx context.Context, p *place, kept string) error {
	trash, err := os.OpenRoot(kept)
	if err != nil {
		return fmt.Errorf("open the trash: %w", plainError(err))
	}
	defer func() { _ = trash.Close() }()
	in, err := descend(p.root, path.Dir(p.rel))
	if err != nil {
		return p.trouble("open the folder of", err)
	}
	defer func() { _ = in.Close() }()
	at, err := drop(ctx, trash, inTrash, in, path.Base(p.rel))
	if err != nil {
		return &partly{&fault{effect: uzda.EffectDone, text: fmt.Sprintf("%q could only be deleted in part: %q stays (%v). What was deleted is in the session's trash", p.shown, quoted(path.Join(path.Dir(p.rel), at)), plainError(err))}}
	}
	syncRoot(in)
	return nil
}

// drop deletes one entry, those in it before. An error comes with where it was.
func drop(ctx context.Context, trash *os.Root, kept string, in *os.Root, name string) (at string, err error) {
	if err := ctx.Err(); err != nil {
		return name, err
	}
	was, err := trash.Lstat(kept)
	if err != nil {
		return name, err
	}
	now, err := in.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err == nil && (now.Mode().Type() != was.Mode().Type() || now.Mode().IsRegular() && (now.Size() != was.Size() || !now.ModTime().Equal(was.ModTime()))) {
		err = errors.New("somebody changed it meanwhile")
	}
	if err != nil {
		return name, err
	}
	if now.IsDir() {
		at, err := dropIn(ctx, trash, kept, was, in, name, now)
		if err != nil {
			return path.Join(name, at), err
		}
	}
	return name, in.Remove(name)
}

func dropIn(ctx context.Context, trash *os.Root, kept string, was fs.FileInfo, in *os.Root, name string, now fs.FileInfo) (at string, err error) {
	from, err := enter(trash, kept, was)
	if err != nil {
		return "", err
	}
	defer func() { _ = from.Close() }()
	sub, err := enter(in, name, now)
	if err != nil {
		return "", err
	}
	defer func() { _ = sub.Close() }()
	list, err := readDir(from, ".", was)
	if err != nil {
		return "", err
	}
	for _, e := range list {
		if at, err := drop(ctx, from, e.Name(), sub, e.Name()); err != nil {
			return at, err
		}
	}
	return "", nil
}

// A restorer puts a folder back from the trash. What is there already and is the
// same stays; so does what others put beside it.
type restorer struct {
	copier
	force bool                  // what is there and differs is replaced
	look  func(abs string) bool // not nil: nothing is done, only what differs is found, of what it says
	clash []string              // paths of what differs
	bad   []string              // what could not be put back, with the reason
}

// restoreTree puts a folder back, or only looks what stands in the way.
func (r *restorer) restoreTree(p *place, kept string) error {
	trash, err := os.OpenRoot(kept)
	if err != nil {
		return fmt.Errorf("open the trash: %w", plainError(err))
	}
	defer func() { _ = trash.Close() }()
	var missing []rawName
	if r.look == nil {
		missing = p.toMake()
	}
	in, err := p.parent(missing)
	if err != nil {
		return err
	}
	to := open(in)
	defer to.release()
	err = r.restore(trash, inTrash, to, path.Base(p.rel), p.abs)
	if err != nil {
		r.drop()
		return err
	}
	if err := r.flush(); err != nil {
		return err
	}
	if len(r.bad) > 0 {
		return errors.New(strings.Join(r.bad, "; "))
	}
	return nil
}

// restore puts one entry back. Its error ends everything; what concerns this entry
// alone goes to bad.
func (r *restorer) restore(trash *os.Root, kept string, to *shelf, name, abs string) error {
	if err := r.ctx.Err(); err != nil {
		return err
	}
	want, err := trash.Lstat(kept)
	if err != nil {
		return fmt.Errorf("look into the trash: %w", plainError(err))
	}
	have, err := to.Lstat(name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		r.fail(abs, err)
		return nil
	}
	if err != nil {
		have = nil
	}
	if have != nil && !(have.IsDir() && want.IsDir()) {
		same, err := r.same(trash, kept, want, to.Root, name, have)
		switch {
		case err != nil:
			r.fail(abs, err)
			return nil
		case same:
			return nil
		case r.look != nil:
			if r.look(abs) {
				r.clash = append(r.clash, abs)
			}
			return nil
		case !r.force:
			r.fail(abs, errors.New("somebody changed it meanwhile"))
			return nil
		case have.IsDir():
			r.fail(abs, errors.New("there is a folder now: move it away first"))
			return nil
		}
	}
	if r.look != nil && (have == nil || !want.IsDir()) {
		return nil
	}
	if err := r.one(trash, kept, want, to, name, have, abs); err != nil {
		if r.ctx.Err() != nil {
			return r.ctx.Err()
		}
		r.fail(abs, err)
	}
	return nil
}

func (r *restorer) fail(abs string, err error) {
	r.bad = append(r.bad, fmt.Sprintf("%s: %v", display(abs), plainError(err)))
}

// one makes an entry; have is what is there and may be lost, or the folder itself.
func (r *restorer) one(trash *os.Root, kept string, want fs.FileInfo, to *shelf, name string, have fs.FileInfo, abs string) error {
	if have != nil && !have.IsDir() && !want.Mode().IsRegular() { // a file is replaced by renaming
		if err := to.Remove(name); err != nil {
			return err
		}
		have = nil
	}
	switch {
	case want.Mode()&fs.ModeSymlink != 0:
		target, err := trash.Readlink(kept)
		if err != nil {
			return err
		}
		if err := to.Symlink(target, name); err != nil {
			return err
		}
		return r.changed(to)
	case !want.IsDir():
		temp := unfinished + "back-" + version([]byte(name))[:32] // the same after a crash, so that none is left
		_ = to.Remove(temp)
		return r.file(trash, kept, want, to, temp, name)
	}
	if have == nil {
		if err := to.Mkdir(name, want.Mode().Perm()|0o700); err != nil {
			return err
		}
		if err := to.Chmod(name, want.Mode().Perm()|0o700); err != nil {
			return err
		}
		if err := r.changed(to); err != nil {
			return err
		}
	}
	return both(trash, kept, want, to, name, func(trash *os.Root, to *shelf, list []fs.DirEntry) error {
		for _, e := range list {
			if err := r.restore(trash, e.Name(), to, e.Name(), filepath.Join(abs, e.Name())); err != nil {
				return err
			}
		}
		return nil
	})
}

// same compares what is there with what is kept, byte by byte.
func (r *restorer) same(trash *os.Root, kept string, want fs.FileInfo, in *os.Root, name string, have fs.FileInfo) (bool, error) {
	switch {
	case want.Mode().Type() != have.Mode().Type():
		return false, nil
	case want.Mode()&fs.ModeSymlink != 0:
		a, err := trash.Readlink(kept)
		if err != nil {
			return false, err
		}
		b, err := in.Readlink(name)
		return a == b, err
	case want.Size() != have.Size():
		return false, nil
	}
	a, err := trash.OpenFile(kept, os.O_RDONLY|noWait, 0)
	if err != nil {
		return false, err
	}
	defer a.Close()
	b, err := in.OpenFile(name, os.O_RDONLY|noWait, 0)
	if err != nil {
		return false, err
	}
	defer b.Close()
	return equal(&patient{r.ctx, a}, &patient{r.ctx, b})
}

func equal(a, b io.Reader) (bool, error) {
	const step = 64 << 10
	x, y := bufio.NewReaderSize(a, step), bufio.NewReaderSize(b, step)
	for {
		p, ended := x.Peek(step)
		q, endedToo := y.Peek(step)
		if !bytes.Equal(p, q) {
			return false, nil
		}
		if ended != nil || endedToo != nil {
			if errors.Is(ended, io.EOF) && errors.Is(endedToo, io.EOF) {
				return true, nil
			}
			return false, errors.Join(ended, endedToo)
		}
		_, _ = x.Discard(step)
		_, _ = y.Discard(step)
	}
}
