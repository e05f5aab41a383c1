package file

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
)

// errNoFolder says that a folder is something else now.
var errNoFolder = errors.New("is no folder now")

// enter opens a folder within an open one, if it still is the one that was looked
// at. No link is followed.
func enter(in *os.Root, name string, info fs.FileInfo) (*os.Root, error) {
	if !info.IsDir() {
		what := "a file"
		if !info.Mode().IsRegular() {
			what = kind(info.Mode())
		}
		return nil, fmt.Errorf("%s is %s now, not a folder: %w", display(name), what, errNoFolder)
	}
	root, err := in.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	if now, err := root.Stat("."); err != nil || !os.SameFile(now, info) {
		_ = root.Close()
		return nil, fmt.Errorf("the folder %s was replaced meanwhile", display(name))
	}
	return root, nil
}

// descend opens a folder below another one, name by name, so that the way to it
// costs its length once, and that no link on it is followed.
func descend(top *os.Root, rel string) (*os.Root, error) {
	at, err := top.OpenRoot(".")
	if err != nil || rel == "." {
		return at, err
	}
	for name := range strings.SplitSeq(rel, "/") {
		info, err := at.Lstat(name)
		if err != nil {
			_ = at.Close()
			return nil, err
		}
		next, err := enter(at, name, info)
		_ = at.Close()
		if err != nil {
			return nil, err
		}
		at = next
	}
	return at, nil
}

// An entry is what stands in a folder, by the open folder and its name there.
type entry struct {
	in   *os.Root
	name string
	rel  string // below where a walk began, "." for that itself
	info fs.FileInfo
}

// walkTree visits a folder and what is in it, each folder before its entries, by
// name. Links are visited, never followed.
func walkTree(ctx context.Context, in *os.Root, name, rel string, visit func(entry) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	info, err := in.Lstat(name)
	if err != nil {
		return fmt.Errorf("look at %s: %w", display(rel), plainError(err))
	}
	if err := visit(entry{in, name, rel, info}); err != nil || !info.IsDir() {
		return err
	}
	sub, err := enter(in, name, info)
	if err != nil {
		return fmt.Errorf("open the folder %s: %w", display(rel), plainError(err))
	}
	defer func() { _ = sub.Close() }()
	list, err := readDir(sub, ".", info)
	if err != nil {
		return err
	}
	for _, e := range list {
		if err := walkTree(ctx, sub, e.Name(), path.Join(rel, e.Name()), visit); err != nil {
			return err
		}
	}
	return nil
}

// readDir lists a folder by name, if it still is the one that was looked at.
func readDir(root *os.Root, rel string, info fs.FileInfo) ([]fs.DirEntry, error) {
	d, err := root.OpenFile(rel, os.O_RDONLY|noWait, 0)
	if err != nil {
		return nil, fmt.Errorf("open the folder %s: %w", display(rel), plainError(err))
	}
	defer d.Close()
	now, err := d.Stat()
	if err != nil || !now.IsDir() || info != nil && !os.SameFile(now, info) {
		return nil, fmt.Errorf("the folder %s was replaced meanwhile", display(rel))
	}
	list, err := d.ReadDir(-1)
	if err != nil {
		return nil, fmt.Errorf("read the folder %s: %w", display(rel), plainError(err))
	}
	sortEntries(list)
	return list, nil
}

// A shelf is an open folder that several files are being put into.
type shelf struct {
	*os.Root
	users int
}

func (s *shelf) release() {
	if s.users--; s.users == 0 {
		_ = s.Close()
	}
}

// A batch makes many files durable: the disk is asked for all of them side by side,
// which takes little longer than for one. A file gets its own name only then.
type batch struct {
	files   []fresh
	shelves []*shelf // whose lists of names must last
}

type fresh struct {
	f          *os.File
	in         *shelf
	temp, name string
	info       fs.FileInfo // mode and time of the one that it is a copy of
}

const batchMost = 128

// open returns a folder for the batch. It must be released.
func open(root *os.Root) *shelf { return &shelf{root, 1} }

// changed says that names in a folder change.
func (b *batch) changed(s *shelf) error {
	if !slices.Contains(b.shelves, s) {
		s.users++
		b.shelves = append(b.shelves, s)
	}
	if len(b.shelves) >= batchMost {
		return b.flush()
	}
	return nil
}

// add takes a file that was written under another name.
func (b *batch) add(one fresh) error {
	one.in.users++
	b.files = append(b.files, one)
	if err := b.changed(one.in); err != nil {
		return err
	}
	if len(b.files) >= batchMost {
		return b.flush()
	}
	return nil
}

// flush makes durable what was added.
func (b *batch) flush() error {
	var wg sync.WaitGroup
	errs := make([]error, len(b.files))
	side := make(chan struct{}, 32)
	for i, one := range b.files {
		side <- struct{}{}
		wg.Go(func() {
			errs[i] = one.f.Sync()
			<-side
		})
	}
	wg.Wait()
	for i, one := range b.files {
		err := errors.Join(errs[i], one.f.Close())
		if err == nil {
			err = one.in.Chtimes(one.temp, one.info.ModTime(), one.info.ModTime())
		}
		if err == nil && one.temp != one.name {
			err = one.in.Rename(one.temp, one.name)
		}
		if err != nil && one.temp != one.name {
			_ = one.in.Remove(one.temp)
		}
		if err != nil {
			errs[i] = fmt.Errorf("%s: %w", display(one.name), plainError(err))
		}
		one.in.release()
	}
	for _, s := range b.shelves {
		side <- struct{}{}
		wg.Go(func() {
			syncRoot(s.Root)
			<-side
		})
	}
	wg.Wait()
	for _, s := range b.shelves {
		s.release()
	}
	b.files, b.shelves = nil, nil
	return errors.Join(errs...)
}

// drop ends a batch without its files.
func (b *batch) drop() {
	for _, one := range b.files {
		_ = one.f.Close()
		_ = one.in.Remove(one.temp)
		one.in.release()
	}
	for _, s := range b.shelves {
		s.release()
	}
	b.files, b.shelves = nil, nil
}
