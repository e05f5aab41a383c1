package file

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/uzda-dev/uzda"
)

// A Change is one change that a session made to a file.
type Change struct {
	N    int       `json:"n"`
	Tool string    `json:"tool"`
	At   time.Time `json:"at"`
	Path string    `json:"path"`           // absolute
	What string    `json:"what"`           // made, changed or deleted
	Back string    `json:"back,omitempty"` // undone, or why it cannot be put back
}

// Changes lists what a session changed, in order, with what was undone.
func (f *Files) Changes(session uzda.SessionID) ([]Change, error) {
	unlock, err := f.lock(context.Background())
	if err != nil {
		return nil, err
	}
	defer unlock()
	m, err := f.memory(session)
	if err != nil {
		return nil, err
	}
	out := []Change{}
	for _, r := range m.changes {
		if r.State == failed {
			continue
		}
		c := Change{N: r.N, Tool: r.Tool, At: r.At, Path: r.abs(), What: "changed"}
		switch {
		case r.Before == absent:
			c.What = "made"
		case r.After == absent:
			c.What = "deleted"
		}
		switch r.State {
		case undone:
			c.Back = undone
		case pruned:
			c.Back = "its old content is no longer kept"
		}
		out = append(out, c)
	}
	return out, nil
}

// UndoOptions say how far to go back.
type UndoOptions struct {
	Since int  // put back the changes after this number; 0: all
	Force bool // also where somebody else changed a file since: their content is lost
}

// An Undone is what Undo did.
type Undone struct {
	Restored []string `json:"restored"`        // paths that are as they were
	Removed  []string `json:"removed"`         // files that the session had made
	Lost     []string `json:"lost,omitempty"`  // old content no longer kept
	Clash    []string `json:"clash,omitempty"` // changed by others since
}

// ErrClash says that files were changed by others since: nothing was put back.
var ErrClash = errors.New("files were changed by others since")

// Undo puts back what a session changed, the last change first: old bytes, deleted
// files and folders; what it made is removed, with folders that are empty then.
// Where somebody else changed a file since, nothing at all is put back, unless
// forced: the error is an [ErrClash], and Clash names the files. It may be called
// again after a crash.
func (f *Files) Undo(ctx context.Context, session uzda.SessionID, o UndoOptions) (Undone, error) {
	var out Undone
	unlock, err := f.lock(ctx)
	if err != nil {
		return out, err
	}
	defer unlock()
	m, err := f.memory(session)
	if err != nil {
		return out, err
	}
	todo, err := f.plan(ctx, m, o, &out)
	if err != nil {
		return out, err
	}
	for _, r := range todo {
		if err := ctx.Err(); err != nil {
			return out, err
		}
		if err := f.back(ctx, m, r); err != nil {
			return out, fmt.Errorf("put back %s: %w", r.abs(), err)
		}
		if err := m.record(record{N: r.N, State: undone}, true); err != nil {
			return out, err
		}
		out.Restored = slices.DeleteFunc(out.Restored, func(p string) bool { return p == r.abs() })
		out.Removed = slices.DeleteFunc(out.Removed, func(p string) bool { return p == r.abs() })
		if r.Before == absent {
			out.Removed = append(out.Removed, r.abs())
		} else {
			out.Restored = append(out.Restored, r.abs())
		}
	}
	slices.Sort(out.Restored)
	slices.Sort(out.Removed)
	return out, nil
}

// plan finds what to put back, the last change first, and whether the files are as
// the session left them.
func (f *Files) plan(ctx context.Context, m *memory, o UndoOptions, out *Undone) ([]*record, error) {
	var todo []*record
	now := map[string]string{} // version of each path, going back
	for i := len(m.changes) - 1; i >= 0; i-- {
		r := m.changes[i]
		if r.N <= o.Since || r.State == failed || r.State == undone {
			continue
		}
		at := r.abs()
		if _, ok := now[at]; !ok {
			version, err := f.stands(ctx, r)
			if err != nil {
				return nil, err
			}
			now[at] = version
		}
		if r.State == begun && now[at] != r.After && now[at] == r.Before && r.Before != folder {
			continue // it never happened
		}
		if r.State == pruned {
			out.Lost = append(out.Lost, at)
			continue
		}
		if now[at] != r.After && now[at] != r.Before {
			out.Clash = append(out.Clash, at)
		}
		now[at] = r.Before
		todo = append(todo, r)
	}
	if len(out.Clash) > 0 && !o.Force {
		slices.Sort(out.Clash)
		out.Clash = slices.Compact(out.Clash)
		return nil, fmt.Errorf("%w, nothing was put back: %s", ErrClash, strings.Join(out.Clash, ", "))
	}
	return todo, nil
}

// stands is the version of what is at a record's place now.
func (f *Files) stands(ctx context.Context, r *record) (string, error) {
	p, err := reopen(r.Root, r.Path)
	if err != nil {
		return "", err
	}
	defer p.close()
	if p.info != nil && p.info.Mode()&fs.ModeSymlink != 0 {
		to, err := p.root.Readlink(p.rel)
		return linkTo + to, err
	}
	if p.info != nil && !p.info.Mode().IsRegular() && !p.info.IsDir() {
		return kind(p.info.Mode()), nil
	}
	return p.current(ctx)
}

// back puts one change back.
func (f *Files) back(ctx context.Context, m *memory, r *record) error {
	p, err := reopen(r.Root, r.Path)
	if err != nil {
		return err
	}
	defer p.close()
	if p.info != nil && p.info.IsDir() && r.Before != folder {
		return errors.New("there is a folder now: move it away first")
	}
	switch {
	case r.Before == absent:
		if p.info != nil {
			if err := p.root.Remove(p.rel); err != nil {
				return plainError(err)
			}
		}
		dropFolders(p.root, r.Made)
		return nil
	case r.Before == folder:
		return p.restoreTree(ctx, filepath.Join(m.dir, trashDir, fmt.Sprint(r.N)))
	case strings.HasPrefix(r.Before, linkTo):
		if p.info != nil {
			return nil // it is there again
		}
		return p.root.Symlink(strings.TrimPrefix(r.Before, linkTo), p.rel)
	}
	data, err := os.ReadFile(m.oldFile(r.Before))
	if err != nil {
		return fmt.Errorf("its old content is gone: %w", plainError(err))
	}
	if version(data) != r.Before {
		return errors.New("its old content is damaged")
	}
	c := &change{at: p, before: nothing(), parts: [][]byte{data}, after: r.Before}
	if p.info != nil {
		c.before = &content{info: p.info}
	}
	in, err := p.parent(p.toMake())
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	if err := c.put(in, path.Base(p.rel)); err != nil {
		return err
	}
	_ = in.Chmod(path.Base(p.rel), r.Mode.Perm())
	return m.see(r.abs(), r.Before)
}

// restoreTree copies a folder back from the trash. What is there already stays.
func (p *place) restoreTree(ctx context.Context, kept string) error {
	trash, err := os.OpenRoot(kept)
	if err != nil {
		return fmt.Errorf("open the trash: %w", plainError(err))
	}
	defer func() { _ = trash.Close() }()
	if dir := path.Dir(p.rel); dir != "." {
		if err := p.root.MkdirAll(dir, 0o755); err != nil {
			return plainError(err)
		}
	}
	return walkTree(ctx, trash, "it", func(rel string, info fs.FileInfo) error {
		to := path.Join(p.rel, strings.TrimPrefix(rel, "it"))
		if _, err := p.root.Lstat(to); err == nil && !info.IsDir() {
			return nil
		}
		return copyEntry(ctx, trash, rel, p.root, to, info)
	})
}

// prune drops the oldest old bytes of a session when there are too many.
func (f *Files) prune(m *memory) {
	var total int64
	kept := map[string]bool{}
	newest := true
	for i := len(m.changes) - 1; i >= 0; i-- {
		r := m.changes[i]
		if r.State != done && r.State != begun || r.Before == absent || kept[r.Before] && r.Before != folder {
			continue
		}
		total += r.Size
		if total <= f.cfg.Keep || newest {
			kept[r.Before], newest = true, false
			continue
		}
		if m.record(record{N: r.N, State: pruned}, false) != nil {
			return
		}
		if r.Before == folder {
			_ = os.RemoveAll(filepath.Join(m.dir, trashDir, fmt.Sprint(r.N)))
		} else {
			_ = os.Remove(m.oldFile(r.Before))
		}
	}
}

// Prune removes what is kept of sessions that changed nothing since a time: they can
// no longer be undone. It says how much space that gave.
func (f *Files) Prune(ctx context.Context, before time.Time) (sessions int, bytes int64, err error) {
	unlock, err := f.lock(ctx)
	if err != nil {
		return 0, 0, err
	}
	defer unlock()
	dirs, err := os.ReadDir(f.cfg.State)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return 0, 0, fmt.Errorf("read what is kept: %w", err)
	}
	for _, d := range dirs {
		dir := filepath.Join(f.cfg.State, d.Name())
		newest, size := time.Time{}, int64(0)
		err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			info, err := d.Info()
			if err != nil {
				return err
			}
			if base := filepath.Base(name); (base == seenFile || base == changesFile) && info.ModTime().After(newest) {
				newest = info.ModTime()
			}
			size += info.Size()
			return ctx.Err()
		})
		if err != nil {
			return sessions, bytes, fmt.Errorf("look at what is kept: %w", err)
		}
		if newest.Before(before) {
			if err := os.RemoveAll(dir); err != nil {
				return sessions, bytes, fmt.Errorf("remove what is kept: %w", err)
			}
			sessions, bytes = sessions+1, bytes+size
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	clear(f.sessions)
	return sessions, bytes, nil
}

// String says it in a line or more.
func (u Undone) String() string {
	var b strings.Builder
	for _, part := range []struct {
		what  string
		paths []string
	}{{"restored", u.Restored}, {"removed", u.Removed}, {"no longer kept", u.Lost}, {"changed by others", u.Clash}} {
		for _, p := range part.paths {
			fmt.Fprintf(&b, "%s %s\n", part.what, p)
		}
	}
	if b.Len() == 0 {
		return "nothing to undo\n"
	}
	return b.String()
}
