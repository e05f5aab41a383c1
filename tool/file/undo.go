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
	Restored []string `json:"restored"`         // paths that are as they were
	Removed  []string `json:"removed"`          // files that the session had made
	Lost     []string `json:"lost,omitempty"`   // old content no longer kept
	Clash    []string `json:"clash,omitempty"`  // changed by others since
	Failed   []Failed `json:"failed,omitempty"` // could not be put back
}

// A Failed is a path that could not be put back, and why.
type Failed struct {
	Path string `json:"path"`
	Why  string `json:"why"`
}

// ErrClash says that files were changed by others since: nothing was put back.
var ErrClash = errors.New("files were changed by others since")

// ErrPartly says that some could not be put back; all the others were.
var ErrPartly = errors.New("not everything could be put back")

// Undo puts back what a session changed, the last change first: old bytes, deleted
// files and folders; what it made is removed, with folders that are empty then.
// Where somebody else changed a file since, nothing at all is put back, unless
// forced: the error is an [ErrClash], and Clash names the files. What cannot be put
// back, say since its folder is a link now, does not keep the rest from it: the error
// is an [ErrPartly], Failed names it, and it can be tried again. Undo may be called
// again after a crash.
func (f *Files) Undo(ctx context.Context, session uzda.SessionID, o UndoOptions) (Undone, error) {
	out := Undone{Restored: []string{}, Removed: []string{}}
	unlock, err := f.lock(ctx)
	if err != nil {
		return out, err
	}
	defer unlock()
	m, err := f.memory(session)
	if err != nil {
		return out, err
	}
	u := &undoing{files: f, m: m, o: o, out: &out, now: map[string]string{}}
	todo, err := u.plan(ctx)
	if err != nil {
		return out, err
	}
	for _, r := range todo {
		if u.stuck(r.abs()) {
			continue
		}
		err := u.back(ctx, r)
		if ended := ctx.Err(); ended != nil {
			return out, ended
		}
		if err != nil {
			u.fail(r.abs(), err)
			continue
		}
		if err := m.record(record{N: r.N, State: undone}, true); err != nil {
			return out, err
		}
		u.did(r)
	}
	slices.Sort(out.Restored)
	slices.Sort(out.Removed)
	if len(out.Failed) > 0 {
		var names []string
		for _, one := range out.Failed {
			names = append(names, display(one.Path)+": "+one.Why)
		}
		return out, fmt.Errorf("%w: %s", ErrPartly, strings.Join(names, "; "))
	}
	return out, nil
}

// An undoing is an Undo at work.
type undoing struct {
	files *Files
	m     *memory
	o     UndoOptions
	out   *Undone
	now   map[string]string // version of each path, going back
	trees []*record         // deleted folders that are put back
}

func (u *undoing) did(r *record) {
	at := r.abs()
	other := func(p string) bool { return p == at }
	u.out.Restored, u.out.Removed = slices.DeleteFunc(u.out.Restored, other), slices.DeleteFunc(u.out.Removed, other)
	if r.Before == absent {
		u.out.Removed = append(u.out.Removed, at)
	} else {
		u.out.Restored = append(u.out.Restored, at)
	}
}

func (u *undoing) fail(at string, err error) {
	u.out.Failed = append(u.out.Failed, Failed{Path: at, Why: plainError(err).Error()})
}

// stuck says that a later change of this path, or of a folder that it lies in, could
// not be put back, so that an earlier one can't be either.
func (u *undoing) stuck(at string) bool {
	return slices.ContainsFunc(u.out.Failed, func(f Failed) bool { return f.Path == at || within(f.Path, at) })
}

func within(dir, at string) bool { return strings.HasPrefix(at, dir+string(filepath.Separator)) }

// plan finds what to put back, the last change first, and whether the files are as
// the session left them.
func (u *undoing) plan(ctx context.Context) ([]*record, error) {
	var todo []*record
	for i := len(u.m.changes) - 1; i >= 0; i-- {
		r := u.m.changes[i]
		at := r.abs()
		if r.N <= u.o.Since || r.State == failed || r.State == undone || u.stuck(at) {
			continue
		}
		now, err := u.stands(ctx, r)
		if err != nil && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil {
			u.fail(at, err)
			continue
		}
		if r.State == begun && now != r.After && now == r.Before && r.Before != folder {
			continue // it never happened
		}
		if r.State == pruned {
			u.out.Lost = append(u.out.Lost, at)
			continue
		}
		if now != r.After && now != r.Before {
			u.out.Clash = append(u.out.Clash, at)
		}
		if r.Before == folder {
			if err := u.putTree(ctx, r, now); err != nil {
				return nil, err
			}
		}
		u.now[at] = r.Before
		todo = append(todo, r)
	}
	if len(u.out.Clash) > 0 && !u.o.Force {
		slices.Sort(u.out.Clash)
		u.out.Clash = slices.Compact(u.out.Clash)
		return nil, fmt.Errorf("%w, nothing was put back: %s", ErrClash, strings.Join(u.out.Clash, ", "))
	}
	return todo, nil
}

// stands is the version of what is at a record's place when the later changes are
// put back.
func (u *undoing) stands(ctx context.Context, r *record) (string, error) {
	at := r.abs()
	if now, known := u.now[at]; known {
		return now, nil
	}
	for i := len(u.trees) - 1; i >= 0; i-- {
		if top := u.trees[i].abs(); within(top, at) {
			kept := *r
			kept.Root = rawName(u.m.trash(u.trees[i]))
			kept.Path = rawName(inTrash + filepath.ToSlash(strings.TrimPrefix(at, top)))
			return u.files.stands(ctx, &kept)
		}
	}
	now, err := u.files.stands(ctx, r)
	u.now[at] = now
	return now, err
}

// putTree notes that a deleted folder will be back, and what stands in its way.
func (u *undoing) putTree(ctx context.Context, r *record, now string) error {
	top := r.abs()
	if now == folder {
		look := &restorer{copier: copier{ctx: ctx}, look: func(abs string) bool {
			_, ours := u.now[abs]
			return !ours
		}}
		p, err := reopen(r.Root, r.Path)
		if err == nil {
			err = look.restoreTree(p, u.m.trash(r))
			p.close()
		}
		if ended := ctx.Err(); ended != nil {
			return ended
		}
		_ = err // putting it back will say so
		u.out.Clash = append(u.out.Clash, look.clash...)
	}
	for at := range u.now {
		if within(top, at) {
			delete(u.now, at)
		}
	}
	u.trees = append(u.trees, r)
	return nil
}

func (m *memory) trash(r *record) string { return filepath.Join(m.dir, trashDir, fmt.Sprint(r.N)) }

// stands is the version of what is at a record's place now.
func (f *Files) stands(ctx context.Context, r *record) (string, error) {
	p, err := reopen(r.Root, r.Path)
	if err != nil {
		return "", err
	}
	defer p.close()
	if p.info != nil && p.info.Mode()&fs.ModeSymlink != 0 {
		to, err := p.root.Readlink(p.rel)
		return linkVersion(to), err
	}
	if p.info != nil && !p.info.Mode().IsRegular() && !p.info.IsDir() {
		return kind(p.info.Mode()), nil
	}
	return p.current(ctx)
}

// back puts one change back.
func (u *undoing) back(ctx context.Context, r *record) error {
	p, err := reopen(r.Root, r.Path)
	if err != nil {
		return err
	}
	defer p.close()
	if p.info != nil && p.info.IsDir() && r.Before != folder {
		return errors.New("there is a folder now: move it away first")
	}
	switch r.Before {
	case absent:
		if p.info != nil {
			if err := p.root.Remove(p.rel); err != nil {
				return plainError(err)
			}
		}
		dropFolders(p.root, r.Made)
		return nil
	case folder:
		t := &restorer{copier: copier{ctx: ctx}, force: u.o.Force}
		return t.restoreTree(p, u.m.trash(r))
	}
	in, err := p.parent(p.toMake())
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	name := path.Base(p.rel)
	if to, ok := linkTarget(r.Before); ok {
		return p.relink(in, name, to)
	}
	return u.backFile(p, in, name, r)
}

// relink makes a link again.
func (p *place) relink(in *os.Root, name, to string) error {
	if p.info != nil {
		if now, err := in.Readlink(name); err == nil && now == to {
			return nil // it is there again
		}
		if err := in.Remove(name); err != nil {
			return plainError(err)
		}
	}
	err := in.Symlink(to, name)
	syncRoot(in)
	return plainError(err)
}

func (u *undoing) backFile(p *place, in *os.Root, name string, r *record) error {
	data, err := os.ReadFile(u.m.oldFile(r.Before))
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
	if err := c.put(in, name); err != nil {
		return err
	}
	_ = in.Chmod(name, r.Mode.Perm())
	return u.m.see(r.abs(), r.Before)
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
	for _, f := range u.Failed {
		fmt.Fprintf(&b, "not put back %s: %s\n", f.Path, f.Why)
	}
	if b.Len() == 0 {
		return "nothing to undo\n"
	}
	return b.String()
}
