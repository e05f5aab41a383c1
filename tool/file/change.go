package file

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/internal/charset"
)

// A change is what a use is going to do to one place.
type change struct {
	at     *place
	before *content
	parts  [][]byte // the new bytes, in pieces; nil: it is deleted
	after  string   // version
	hunks  func() diff
	told   string // what the model is told
	asked  string // what a person is asked, where there is no diff
	idle   bool   // there is nothing to do
}

func (c *change) close() { c.at.close() }

// nothing is the content of a file that does not exist.
func nothing() *content { return &content{version: absent, text: true} }

// again finds what a use with this key began before the program ended, or what it
// did already: a use never does its change twice.
func (f *Files) again(ctx context.Context, use uzda.Use, m *memory) (res uzda.Result, finished bool, err error) {
	c := m.begunBy(use.Key, hashInput(use))
	if c == nil {
		return res, false, nil
	}
	if c.State != begun {
		return say(orText(c.Told, "This was done already.")), true, nil
	}
	now, err := f.stands(ctx, c)
	if err == nil && now == folder && c.Before == folder { // it may be deleted in part
		now, err = absent, f.dropAgain(ctx, m, c)
	}
	switch {
	case err != nil:
		return res, false, err
	case now == c.After:
		if err := f.finish(m, c); err != nil {
			return res, false, err
		}
		return say(orText(c.Told, "This was done already.")), true, nil
	case now == c.Before:
		return res, false, m.record(record{N: c.N, State: failed}, false) // it never came to the change
	}
	return res, false, &fault{code: uzda.CodeOutcomeUnknown, effect: uzda.EffectUnknown, text: fmt.Sprintf(
		"this was begun before the program was interrupted, and %s is now neither as it was nor as it should be: somebody changed it since. Read it again and decide", quoted(string(c.Path)))}
}

// dropAgain goes on with a folder that was being deleted.
func (f *Files) dropAgain(ctx context.Context, m *memory, c *record) error {
	p, err := reopen(c.Root, c.Path)
	if err != nil {
		return err
	}
	defer p.close()
	return dropTree(ctx, p, filepath.Join(m.dir, trashDir, fmt.Sprint(c.N)))
}

func orText(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

func hashInput(use uzda.Use) string { return uzda.Hash(uzda.Canonical(use.Input)) }

// finish records that a change took effect.
func (f *Files) finish(m *memory, c *record) error {
	if err := m.record(record{N: c.N, State: done, Told: c.Told}, false); err != nil {
		return err
	}
	if c.After == absent {
		return m.gone(c.abs())
	}
	return m.see(c.abs(), c.After)
}

// probe looks in all sessions for what a use began.
func (f *Files) probe(ctx context.Context, key string) (bool, error) {
	dirs, err := os.ReadDir(f.cfg.State)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, fmt.Errorf("read what was done to files: %w", err)
	}
	for _, d := range dirs {
		m := &memory{dir: filepath.Join(f.cfg.State, d.Name())}
		if err := m.load(); err != nil {
			return false, err
		}
		for _, c := range m.changes {
			if c.Key != key || c.State == failed {
				continue
			}
			if c.State != begun {
				return true, nil
			}
			now, err := f.stands(ctx, c)
			if err == nil && (now != c.After && now != c.Before || now == folder) {
				err = fmt.Errorf("%s is neither as it was nor as it should be", quoted(string(c.Path)))
			}
			return now == c.After, err
		}
	}
	return false, nil
}

// reopen is the place of a record.
func reopen(top, rel rawName) (*place, error) {
	root, err := os.OpenRoot(string(top))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("the folder %s is gone: make it again, then try again", quoted(string(top)))
	}
	if err != nil {
		return nil, fmt.Errorf("open the folder %s: %w", quoted(string(top)), plainError(err))
	}
	p := &place{root: root, top: string(top), rel: string(rel), shown: quoted(string(rel))}
	p.abs = filepath.Join(p.top, filepath.FromSlash(p.rel))
	in, err := descend(root, path.Dir(p.rel))
	if err == nil {
		p.info, err = in.Lstat(path.Base(p.rel))
		_ = in.Close()
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		_ = root.Close()
		return nil, err
	}
	return p, nil
}

// apply makes a change: first the old bytes are kept, then what is going to happen
// is recorded, then it happens.
func (f *Files) apply(ctx context.Context, use uzda.Use, m *memory, c *change) (uzda.Result, error) {
	if c.idle {
		res := say(c.told)
		res.Effect = uzda.EffectNone
		return res, nil
	}
	r := record{N: len(m.changes) + 1, State: begun, Key: use.Key, Args: hashInput(use), Tool: use.Name, At: f.cfg.Now().UTC(),
		Root: rawName(c.at.top), Path: rawName(c.at.rel), Before: c.before.version, After: c.after, Told: c.told, Made: c.at.toMake()}
	if c.before.info != nil {
		r.Mode = c.before.info.Mode()
	}
	if err := f.keep(ctx, m, c, &r); err != nil {
		return uzda.Result{}, refuse("nothing was changed, since the old content could not be kept for undo: %v", plainError(err))
	}
	if err := ctx.Err(); err != nil {
		return uzda.Result{}, err
	}
	if err := m.record(r, true); err != nil {
		return uzda.Result{}, refuse("nothing was changed, since the change could not be recorded: %v", plainError(err))
	}
	if err := c.make(ctx, m, &r); err != nil {
		if _, ok := errors.AsType[*partly](err); !ok {
			_ = m.record(record{N: r.N, State: failed}, false) // the version tells it as well
		}
		return uzda.Result{}, err
	}
	if err := f.finish(m, &r); err != nil {
		return uzda.Result{}, &fault{effect: uzda.EffectDone, text: fmt.Sprintf("%s But the disk may be full: %v", c.told, plainError(err))}
	}
	res := say(c.told)
	if c.hunks != nil {
		if text := c.preview(); text != "" {
			res.People = uzda.Say(text)
		}
	}
	f.prune(m)
	return res, nil
}

// partly is a change that did not come to its end.
type partly struct{ *fault }

func (p *partly) Unwrap() error { return p.fault }

func say(text string) uzda.Result { return uzda.Result{Blocks: uzda.Say(clean(text))} }

func (c *change) preview() string {
	if c.hunks == nil {
		return clean(orText(c.asked, c.told))
	}
	return clean(c.hunks().String(string(c.at.shown), c.before.version == absent))
}

// toMake lists the folders that do not exist yet, the outermost first.
func (p *place) toMake() []rawName {
	names := strings.Split(path.Dir(p.rel), "/")
	if names[0] == "." {
		return nil
	}
	at, err := p.root.OpenRoot(".")
	if err != nil {
		return nil // making the file will say so
	}
	defer func() { _ = at.Close() }()
	for i, name := range names {
		info, err := at.Lstat(name)
		if errors.Is(err, fs.ErrNotExist) {
			var made []rawName
			for ; i < len(names); i++ {
				made = append(made, rawName(rel(names[:i+1])))
			}
			return made
		}
		if err != nil {
			return nil
		}
		next, err := enter(at, name, info)
		if err != nil {
			return nil
		}
		_ = at.Close()
		at = next
	}
	return nil
}

// keep stores what a change would lose.
func (f *Files) keep(ctx context.Context, m *memory, c *change, r *record) error {
	_, link := linkTarget(c.before.version)
	switch {
	case c.before.version == absent, link:
		return nil
	case c.before.version == folder:
		size, err := keepTree(ctx, c.at, filepath.Join(m.dir, trashDir, fmt.Sprint(r.N)))
		r.Size = size
		return err
	}
	r.Size = int64(len(c.before.data))
	return m.keep(c.before.version, func(w io.Writer) error {
		_, err := io.Copy(w, bytes.NewReader(c.before.data))
		return err
	})
}

// keep stores bytes under their version, once.
func (m *memory) keep(version string, write func(io.Writer) error) error {
	name := m.oldFile(version)
	if _, err := os.Stat(name); err == nil {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return err
	}
	t, err := os.CreateTemp(filepath.Dir(name), unfinished+"*")
	if err != nil {
		return err
	}
	err = write(t)
	if err == nil {
		err = t.Sync()
	}
	if closed := t.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Rename(t.Name(), name)
	}
	if err != nil {
		_ = os.Remove(t.Name())
		return err
	}
	syncDir(filepath.Dir(name))
	return nil
}

// make does what was recorded.
func (c *change) make(ctx context.Context, m *memory, r *record) error {
	if c.before.version == folder {
		return dropTree(ctx, c.at, filepath.Join(m.dir, trashDir, fmt.Sprint(r.N)))
	}
	in, err := c.at.parent(r.Made)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	name := path.Base(c.at.rel)
	if c.parts == nil {
		if err := c.unchanged(in, name); err != nil {
			return err
		}
		if err := in.Remove(name); err != nil {
			return c.at.trouble("delete", err)
		}
		syncRoot(in)
		return nil
	}
	if err := c.put(in, name); err != nil {
		dropFolders(c.at.root, r.Made)
		return err
	}
	return nil
}

// parent opens the folder that a place lies in and makes it where it is missing.
// What is done in there cannot be led elsewhere by a link.
func (p *place) parent(missing []rawName) (*os.Root, error) {
	dir := path.Dir(p.rel)
	if len(missing) > 0 {
		if err := p.root.MkdirAll(dir, 0o755); err != nil {
			return nil, p.trouble("make the folder for", err)
		}
	}
	in, err := descend(p.root, dir)
	if err != nil {
		return nil, p.trouble("open the folder of", err)
	}
	return in, nil
}

// unchanged refuses to go on when the file is no longer what was read.
func (c *change) unchanged(in *os.Root, name string) error {
	info, err := in.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist) && c.before.info == nil:
		return nil
	case err == nil && c.before.info != nil && sameAs(info, c.before.info):
		return nil
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return c.at.trouble("look at", err)
	}
	return refuse("%q was changed by somebody else just now, and nothing was written: read it again", c.at.shown)
}

// put replaces a file: written beside it, synced, renamed, so that a crash at any
// point leaves the old file or the new one.
func (c *change) put(in *os.Root, name string) (err error) {
	sweep(in)
	temp, mode := unfinished+rand.Text(), fs.FileMode(0o600)
	if c.before.info == nil {
		mode = 0o666 // less what the user's mask takes away
	}
	t, err := in.OpenFile(temp, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
	if err != nil {
		return c.at.trouble("write beside", err)
	}
	defer func() {
		if err != nil {
			_ = t.Close()
			_ = in.Remove(temp)
		}
	}()
	for _, part := range c.parts {
		if _, err := t.Write(part); err != nil {
			return c.full(err)
		}
	}
	if err := c.dress(in, t, name); err != nil {
		return c.at.trouble("write", err)
	}
	if err := t.Sync(); err != nil {
		return c.full(err)
	}
	if err := t.Close(); err != nil {
		return c.full(err)
	}
	if err := c.unchanged(in, name); err != nil {
		return err
	}
	if err := in.Rename(temp, name); err != nil {
		return c.at.trouble("replace", err)
	}
	syncRoot(in)
	return nil
}

func (c *change) full(err error) error {
	return refuse("cannot write %q: %v. The old file is as it was", c.at.shown, plainError(err))
}

// dress gives the new file what the old one had: mode, owner, attributes.
func (c *change) dress(in *os.Root, t *os.File, name string) error {
	if c.before.info == nil {
		return nil
	}
	own(t, c.before.info)
	if old, err := in.OpenFile(name, os.O_RDONLY|noWait, 0); err == nil {
		copyAttributes(t, old)
		_ = old.Close()
	}
	return t.Chmod(c.before.info.Mode().Perm() | c.before.info.Mode()&(fs.ModeSetuid|fs.ModeSetgid|fs.ModeSticky))
}

// dropFolders removes folders that are empty, the innermost first.
func dropFolders(root *os.Root, made []rawName) {
	if len(made) == 0 {
		return
	}
	in, err := descend(root, path.Dir(string(made[0])))
	if err != nil {
		return
	}
	defer func() { _ = in.Close() }()
	var names []string
	for _, m := range made {
		names = append(names, path.Base(string(m)))
	}
	dropEmpty(in, names)
}

// dropEmpty removes a chain of folders, each of which lies in the one before.
func dropEmpty(in *os.Root, names []string) {
	info, err := in.Lstat(names[0])
	if err != nil || !info.IsDir() {
		return
	}
	if len(names) > 1 {
		sub, err := enter(in, names[0], info)
		if err != nil {
			return
		}
		dropEmpty(sub, names[1:])
		_ = sub.Close()
	}
	_ = in.Remove(names[0])
}

// writable refuses places that may not be changed.
func (p *place) writable() error {
	switch {
	case p.readOnly:
		return refuse("%q lies in a folder that may only be read", p.shown)
	case p.rel == ".":
		return refuse("%q is the working folder itself: name a file in it", p.shown)
	case p.protected:
		return refuse("%q may be read, but not changed by tools: it decides what tools may do. Ask the user to change it", p.shown)
	}
	return nil
}

// ours refuses a file that the user who runs this may not write to: a new file in
// its place would be written all the same, since that is a matter of the folder.
func (p *place) ours() error {
	if p.info == nil || !p.info.Mode().IsRegular() {
		return nil
	}
	f, err := p.root.OpenFile(p.rel, os.O_WRONLY|noWait, 0)
	if err == nil {
		_ = f.Close()
	}
	if errors.Is(err, fs.ErrPermission) {
		return refuse("%q may not be written to by the user who runs this (its mode is %v): nothing was changed. Ask the user", p.shown, p.info.Mode())
	}
	return nil // whatever else it is, writing will say
}

// single refuses a file that has other names too: what is written here would be
// read there.
func (p *place) single() error {
	if p.info != nil && p.info.Mode().IsRegular() && names(p.info) > 1 {
		return refuse("%q has %d names (hard links), so that a change could reach files elsewhere: nothing was changed. Make a copy under a new name, or ask the user", p.shown, names(p.info))
	}
	return nil
}

// missing says that there is no such file, and names near ones.
func (p *place) missing() error {
	dir := path.Dir(p.rel)
	text := fmt.Sprintf("there is no file %q", p.shown)
	d, err := p.root.Open(dir)
	if err != nil {
		return refuse("%s, and no folder %q. Look with glob where it is", text, label(path.Dir(string(p.shown))))
	}
	defer d.Close()
	var all []string
	for _, e := range entries(d) {
		if p.hide == nil || !p.hide(filepath.Join(filepath.Dir(p.abs), e)) {
			all = append(all, display(e))
		}
	}
	if near := uzda.Nearest(display(path.Base(p.rel)), all, 5); len(near) > 0 {
		return refuse("%s; near in the same folder: %s", text, shorten(strings.Join(near, ", ")))
	}
	return refuse("%s. Look with glob where it is", text)
}

// entries are the names in a folder, as many as are worth a look.
func entries(d *os.File) []string {
	names, _ := d.Readdirnames(10 * maxEntries)
	return names
}

// describe is for files that are no text.
func describe(c *content) string { return charset.Describe(c.data) }

// unfinished begins the names of files that are being written.
const unfinished = ".uzda-new-"

// sweep removes what writers that were killed left behind in a folder. Others may be
// writing, so what is young stays.
func sweep(in *os.Root) {
	d, err := in.Open(".")
	if err != nil {
		return // writing will say so
	}
	defer d.Close()
	names, _ := d.Readdirnames(-1)
	for _, n := range names {
		if !strings.HasPrefix(n, unfinished) {
			continue
		}
		if info, err := in.Lstat(n); err == nil && time.Since(info.ModTime()) > time.Hour {
			_ = in.Remove(n)
		}
	}
}

// syncRoot makes what was done in a folder durable, where the system can.
func syncRoot(in *os.Root) {
	if d, err := in.Open("."); err == nil {
		_ = d.Sync()
		_ = d.Close()
	}
}
