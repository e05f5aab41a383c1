package file

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/uzda-dev/uzda"
)

// A root is a folder that may be used, by the name that it was given and by its
// own.
type root struct {
	given, real string
	readOnly    bool
}

// A place is where a path of the model leads, without links. What is done there
// goes through the open root, so that no link that somebody puts in the way
// afterwards can lead out of it.
type place struct {
	root     *os.Root
	top      string      // the root's own name
	rel      string      // below the root, "." for itself
	abs      string      // the canonical path
	shown    label       // the path for the model
	info     fs.FileInfo // nil: there is nothing yet
	readOnly bool
	// protected: it may not be changed. hide is that of the configuration.
	protected bool
	hide      func(string) bool
}

func (p *place) close() { _ = p.root.Close() }

// roots returns the folders that a use may use, the session's first.
func (f *Files) roots(use uzda.Use) ([]root, error) {
	given := f.cfg.Roots
	if len(given) == 0 {
		if use.Dir == "" {
			return nil, errors.New("the session has no directory and no folder is named that may be used: start it with --dir PATH")
		}
		given = []string{use.Dir}
	}
	var all []root
	more := f.cfg.ReadOnly
	if f.cfg.ReadOnlyOf != nil {
		more = append(more[:len(more):len(more)], f.cfg.ReadOnlyOf(use.Session)...)
	}
	for i, dir := range append(given[:len(given):len(given)], more...) {
		dir, err := filepath.Abs(dir)
		if err != nil {
			return nil, fmt.Errorf("find the folder %s: %w", dir, err)
		}
		own, err := filepath.EvalSymlinks(dir)
		if err != nil {
			if i > 0 {
				continue // the others can be used without it
			}
			return nil, fmt.Errorf("the folder %s cannot be used: %w", dir, plainError(err))
		}
		all = append(all, root{given: dir, real: own, readOnly: i >= len(given)})
	}
	return all, nil
}

// split returns the names in a path; ".." stays, since what it means depends on links.
func split(path string) []string {
	if runtime.GOOS == "windows" {
		path = filepath.ToSlash(path)
	}
	return slices.DeleteFunc(strings.Split(path, "/"), func(s string) bool { return s == "" || s == "." })
}

// below returns the names of path below dir.
func below(dir, path []string) ([]string, bool) {
	if len(path) < len(dir) {
		return nil, false
	}
	for i := range dir {
		if dir[i] != path[i] && (runtime.GOOS != "windows" || !strings.EqualFold(dir[i], path[i])) {
			return nil, false
		}
	}
	return path[len(dir):], true
}

// rootOf finds the innermost root that an absolute path names.
func rootOf(roots []root, path []string) (found root, rest []string, ok bool) {
	depth := -1
	for _, r := range roots {
		for _, name := range []string{r.given, r.real} {
			dir := split(name)
			if tail, in := below(dir, path); in && len(dir) > depth {
				found, rest, ok, depth = r, tail, true, len(dir)
			}
		}
	}
	return found, rest, ok
}

// locate finds where a path of the model leads. The place must be closed.
func (f *Files) locate(use uzda.Use, path string) (*place, error) { return f.find(use, path, false) }

// find is locate, or, with itself, finds a link rather than where it leads.
func (f *Files) find(use uzda.Use, path string, itself bool) (*place, error) {
	if err := wellFormed(path); err != nil {
		return nil, err
	}
	roots, err := f.roots(use)
	if err != nil {
		return nil, err
	}
	dir := use.Dir
	if dir == "" {
		dir = roots[0].given
	}
	full := path
	if !filepath.IsAbs(path) {
		if dir, err = filepath.Abs(dir); err != nil {
			return nil, fmt.Errorf("find %q: %w", quoted(path), err)
		}
		full = dir + string(filepath.Separator) + path
	}
	w := &walk{roots: roots, path: path, todo: split(full), itself: itself}
	if err := w.enter(); err != nil {
		return nil, err // nothing is open
	}
	p, err := w.run()
	_ = w.in.Close()
	if err != nil {
		_ = w.at.Close()
		return nil, err
	}
	p.shown, p.hide = quoted(show(dir, roots, p)), f.hidden
	if err := f.permit(p, roots, full); err != nil {
		p.close()
		return nil, err
	}
	return p, nil
}

func wellFormed(path string) error {
	switch {
	case strings.TrimSpace(path) == "":
		return refuse("/path is empty: name a file, for example src/main.go")
	case strings.ContainsRune(path, 0):
		return refuse("/path has a NUL character, which no path can have: write it again without")
	case len(path) > 4096:
		return refuse("/path has %d bytes, at most 4096 are possible", len(path))
	}
	return nil
}

// permit refuses what is no place for anybody, and what is hidden.
func (f *Files) permit(p *place, roots []root, full string) error {
	if at := system(split(p.abs)); at != "" {
		return refuseSystem(p.shown, at)
	}
	if given := filepath.Clean(full); f.hidden(p.abs) || given != p.abs && f.hidden(given) {
		return refuse("%q is hidden by a rule: it may be neither read nor changed. Go on without it, or ask the user", p.shown)
	}
	if r, _, ok := rootOf(roots, split(p.abs)); ok {
		p.readOnly = r.readOnly
	}
	p.protected = f.cfg.Protect != nil && f.cfg.Protect(p.abs)
	return nil
}

// system names the folder of the system that a path lies in, "" if it lies in none.
// What looks like a file there is a process or a device.
func system(path []string) string {
	if runtime.GOOS == "windows" {
		return ""
	}
	if _, memory := below([]string{"dev", "shm"}, path); memory {
		return ""
	}
	for _, dir := range []string{"proc", "sys", "dev"} {
		if _, in := below([]string{dir}, path); in {
			return "/" + dir
		}
	}
	return ""
}

func refuseSystem(path label, at string) error {
	return refuse("%q leads to %s, which is no place for files: it belongs to the system", path, at)
}

// hides asks for a path alone. What the tools remember is nobody's business.
func (f *Files) hides(path string) bool {
	return path == f.cfg.State || path == f.state() || f.cfg.Hide != nil && f.cfg.Hide(path)
}

// skips says that a search leaves the path out.
func (f *Files) skips(path string) bool {
	return f.hides(path) || f.cfg.Skip != nil && f.cfg.Skip(path)
}

// hidden asks for the path and for all folders that it lies in.
func (f *Files) hidden(path string) bool {
	for {
		if f.hides(path) {
			return true
		}
		up := filepath.Dir(path)
		if up == path {
			return false
		}
		path = up
	}
}

// show gives a path as the model may send it again: relative to the session's
// directory where it lies in there.
func show(dir string, roots []root, p *place) string {
	names := []string{dir}
	if own, err := filepath.EvalSymlinks(dir); err == nil {
		names = append(names, own)
	}
	for _, name := range names {
		if rest, in := below(split(name), split(p.abs)); in {
			if len(rest) == 0 {
				return "."
			}
			return strings.Join(rest, "/")
		}
	}
	for _, r := range roots {
		if r.real == p.top {
			return filepath.Join(r.given, filepath.FromSlash(p.rel))
		}
	}
	return p.abs
}

// A walk follows a path name by name.
type walk struct {
	roots []root
	path  string   // as the model gave it
	top   root     // where it is
	at    *os.Root // the same, open
	in    *os.Root // the folder that done leads to, open: no name costs the way from the top again
	done  []string // names below top, without links
	todo  []string // absolute before enter, then below done
	links int
	// itself: a link at the end is not followed.
	itself bool
}

const maxLinks = 40

// enter opens the root that todo, an absolute path, lies in.
func (w *walk) enter() error {
	top, rest, ok := rootOf(w.roots, w.todo)
	if !ok {
		return w.outside()
	}
	at, err := os.OpenRoot(top.real)
	if err != nil {
		return fmt.Errorf("open the folder %s: %w", top.given, plainError(err))
	}
	in, err := at.OpenRoot(".")
	if err != nil {
		_ = at.Close()
		return fmt.Errorf("open the folder %s: %w", top.given, plainError(err))
	}
	if w.at != nil {
		_ = w.at.Close()
		_ = w.in.Close()
	}
	w.top, w.at, w.in, w.done, w.todo = top, at, in, nil, rest
	return nil
}

func (w *walk) outside() error {
	var names []string
	for _, r := range w.roots {
		name := r.given
		if r.readOnly {
			name += " (only for reading)"
		}
		names = append(names, name)
	}
	how := ""
	if w.links > 0 {
		how = " through a link"
	}
	return refuse("%q leads outside%s of what may be used: %s. Use a path within, or ask the user to allow more", quoted(w.path), how, strings.Join(names, ", "))
}

func (w *walk) run() (*place, error) {
	for len(w.todo) > 0 {
		name := w.todo[0]
		w.todo = w.todo[1:]
		if name == ".." {
			if err := w.up(); err != nil {
				return nil, err
			}
			continue
		}
		if at := w.system(name); at != "" { // its links lead anywhere
			return nil, refuseSystem(quoted(w.path), at)
		}
		info, name, err := w.look(name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return w.absent(name)
		case err != nil:
			return nil, fmt.Errorf("look at %q: %w", quoted(w.path), plainError(err))
		case info.Mode()&fs.ModeSymlink != 0 && (!w.itself || len(w.todo) > 0):
			if err := w.follow(name); err != nil {
				return nil, err
			}
		default:
			name = w.realName(name, info)
			if len(w.todo) == 0 {
				w.done = append(w.done, name)
				return w.place(info), nil
			}
			if !info.IsDir() && w.todo[0] == ".." {
				w.todo = w.todo[1:]
				continue
			}
			if err := w.down(name, info); err != nil {
				return nil, err
			}
		}
	}
	info, err := w.in.Stat(".")
	if err != nil {
		return nil, fmt.Errorf("look at %q: %w", quoted(w.path), plainError(err))
	}
	return w.place(info), nil
}

// system names the folder of the system that an entry of the current folder is of.
func (w *walk) system(name string) string {
	const enough = 3
	at := append(split(w.top.real), w.done[:min(len(w.done), enough)]...)
	return system(append(at, name))
}

// look finds an entry of the current folder: by its name, or by how that is displayed.
func (w *walk) look(name string) (fs.FileInfo, string, error) {
	info, err := w.in.Lstat(name)
	if !errors.Is(err, fs.ErrNotExist) {
		return info, name, err
	}
	if other, ok := undisplay(name); ok {
		if info, err := w.in.Lstat(other); err == nil {
			return info, other, nil
		}
	}
	return nil, name, err
}

// down goes into a folder.
func (w *walk) down(name string, info fs.FileInfo) error {
	next, err := enter(w.in, name, info)
	switch {
	case errors.Is(err, errNoFolder):
		return refuse("%q cannot be: %q is a file, not a folder", quoted(w.path), quoted(w.join(name)))
	case err != nil:
		return fmt.Errorf("look at %q: %w", quoted(w.path), plainError(err))
	}
	_ = w.in.Close()
	w.in, w.done = next, append(w.done, name)
	return nil
}

func (w *walk) join(more ...string) string {
	return rel(append(w.done[:len(w.done):len(w.done)], more...))
}

func rel(names []string) string {
	if len(names) == 0 {
		return "."
	}
	return strings.Join(names, "/")
}

// up goes to the folder above; from a root that may be another root.
func (w *walk) up() error {
	if len(w.done) > 0 {
		above := w.done[:len(w.done)-1]
		in, err := descend(w.at, rel(above))
		if err != nil {
			return fmt.Errorf("look at %q: %w", quoted(w.path), plainError(err))
		}
		_ = w.in.Close()
		w.in, w.done = in, above
		return nil
	}
	above := split(w.top.real) // without links, so that each .. takes a name away
	above = above[:max(len(above)-1, 0)]
	for len(w.todo) > 0 && w.todo[0] == ".." {
		above, w.todo = above[:max(len(above)-1, 0)], w.todo[1:]
	}
	w.todo = append(above, w.todo...)
	return w.enter()
}

// follow replaces a link in the current folder by what it says.
func (w *walk) follow(name string) error {
	if w.links++; w.links > maxLinks {
		return refuse("%q leads through more than %d links, maybe in a circle", quoted(w.path), maxLinks)
	}
	to, err := w.in.Readlink(name)
	if err != nil {
		return fmt.Errorf("follow the link %q: %w", quoted(w.path), plainError(err))
	}
	w.todo = append(split(to), w.todo...)
	if !filepath.IsAbs(to) {
		return nil
	}
	return w.enter()
}

// absent is the place of something that does not exist yet.
func (w *walk) absent(name string) (*place, error) {
	for _, later := range w.todo {
		if later == ".." {
			return nil, refuse("there is no folder %q, so %q cannot be found", quoted(w.join(name)), quoted(w.path))
		}
	}
	w.done = append(append(w.done, name), w.todo...)
	return w.place(nil), nil
}

func (w *walk) place(info fs.FileInfo) *place {
	below := w.join()
	return &place{root: w.at, top: w.top.real, rel: below, abs: filepath.Join(w.top.real, filepath.FromSlash(below)), info: info}
}

// realName is the name that the folder itself has for an entry: a file system that
// does not tell .ENV from .env, or é from e and an accent, finds it by other names.
func (w *walk) realName(name string, info fs.FileInfo) string {
	if runtime.GOOS == "linux" {
		return name
	}
	d, err := w.in.Open(".")
	if err != nil {
		return name
	}
	defer d.Close()
	names, err := d.Readdirnames(-1)
	if err != nil || slices.Contains(names, name) {
		return name
	}
	for _, other := range names {
		if i, err := w.in.Lstat(other); err == nil && os.SameFile(i, info) {
			return other
		}
	}
	return name
}

// plainError leaves out the operation and the path, which the caller says better.
func plainError(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	var link *os.LinkError
	if errors.As(err, &link) {
		return link.Err
	}
	return err
}

// clean makes text fit for a message: valid, without NUL.
func clean(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\u2400")
}
