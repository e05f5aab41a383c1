package policy

import (
	"github.com/uzda-dev/uzda"

	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// A ground is where a use is judged: its folders, followed through their links.
type ground struct {
	dir   string   // of the session
	cwd   string   // where the use runs
	home  string   // "": not known
	roots []string // where files may be read and written
	reads []string // where they may only be read
	own   []string // what belongs to Uzda
	known map[Rule]*meant
}

// meant is what the pattern of a rule means here.
type meant struct {
	pattern
	err   error
	bases [][]string // cut and folded: by its letters, and followed
	reach []string   // followed, cut
}

func (g Gate) ground(session uzda.SessionID, dir, cwd string) ground {
	dir = absolute(dir, ".")
	at := ground{dir: dir, cwd: absolute(cwd, dir), home: g.Home, known: map[Rule]*meant{}}
	if at.home == "" {
		at.home, _ = os.UserHomeDir() // without one, ~ is a name like any other
	}
	roots := g.Roots
	if len(roots) == 0 {
		roots = []string{dir}
	}
	for _, r := range roots {
		at.roots = append(at.roots, followed(absolute(r, dir)))
	}
	for _, r := range g.ReadRoots {
		at.reads = append(at.reads, followed(absolute(r, dir)))
	}
	if g.ReadRootsOf != nil && session != "" {
		for _, r := range g.ReadRootsOf(session) {
			at.reads = append(at.reads, followed(absolute(r, dir)))
		}
	}
	for _, o := range g.Own {
		at.own = append(at.own, followed(absolute(o, dir)))
	}
	return at
}

// absolute makes a path absolute, without following anything.
func absolute(path, from string) string {
	if path == "" {
		path = from
	} else if !filepath.IsAbs(path) {
		path = filepath.Join(from, path)
	}
	if !filepath.IsAbs(path) {
		if abs, err := filepath.Abs(path); err == nil {
			return abs
		}
	}
	return filepath.Clean(path)
}

func followed(path string) string {
	to, _ := follow(path)
	return to
}

// A touch is a path that a use reads or writes.
type touch struct {
	text  string     // as it was written
	names []string   // where it leads: by its letters, and by the links of the file system
	folds [][]string // names, cut and folded
	ends  []string   // of names the ones that were followed
	trap  string     // why nobody may go there
	write bool
	deep  bool   // what lies below is meant too
	lists bool   // deep: only the names below are shown
	plain bool   // deep: names that begin with a dot are left out
	maybe bool   // it may be another path: nobody knows before it runs
	each  bool   // deep: its names are handed on one by one
	odd   string // what those must not have, see [command.Path]

	tracked bool // only what git knows is shown
}

// touch finds where a path leads. The file system takes .. after a link for the
// folder above where the link leads; a program that cleans paths first does not.
// So both are looked at.
func (at ground) touch(text, abs string, write bool) touch {
	return at.reached(text, abs, write, follow)
}

// unlinked is touch for what is removed: of a link the link itself.
func (at ground) unlinked(text, abs string) touch {
	return at.reached(text, abs, true, func(path string) (to, trap string) {
		path = filepath.Clean(path)
		if info, err := os.Lstat(path); err != nil || info.Mode()&fs.ModeSymlink == 0 {
			return follow(path)
		}
		to, trap = follow(filepath.Dir(path))
		return filepath.Join(to, filepath.Base(path)), trap
	})
}

func (at ground) reached(text, abs string, write bool, follow func(string) (to, trap string)) touch {
	t := touch{text: text, write: write}
	switch {
	case strings.ContainsRune(text, 0) || strings.ContainsRune(abs, 0):
		t.trap = "its path holds a NUL character"
		return t
	case abs == "":
		t.maybe = true
		return t
	}
	for _, p := range slices.Compact([]string{filepath.Clean(abs), abs}) {
		to, trap := follow(p)
		if t.trap == "" {
			t.trap = trap
		}
		t.names = append(t.names, filepath.Clean(p), to)
		t.ends = append(t.ends, to)
	}
	slices.Sort(t.names)
	slices.Sort(t.ends)
	t.names, t.ends = slices.Compact(t.names), slices.Compact(t.ends)
	t.fold()
	return t
}

func (t *touch) fold() {
	t.folds = nil
	for _, n := range t.names {
		t.folds = append(t.folds, foldAll(split(n)))
	}
}

// join puts a path behind a folder as it is, with its .. and all.
func join(dir, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return strings.TrimSuffix(dir, string(filepath.Separator)) + string(filepath.Separator) + path
}

// maxLinks is how many links the kernel of Linux follows.
const maxLinks = 40

// follow walks a path as the kernel does, links included. What does not exist is
// where it would be made. trap says why a path is none that can be judged.
func follow(path string) (to, trap string) {
	volume := filepath.VolumeName(path)
	sep := string(filepath.Separator)
	rest := split(path[len(volume):])
	at, links := volume+sep, 0
	for len(rest) > 0 {
		name := rest[0]
		rest = rest[1:]
		switch name {
		case ".":
			continue
		case "..":
			at = filepath.Dir(at)
			continue
		}
		if why := magic(at, name); why != "" {
			return filepath.Join(at, name, filepath.Join(rest...)), why
		}
		next := filepath.Join(at, name)
		info, err := os.Lstat(next)
		if err != nil || info.Mode()&fs.ModeSymlink == 0 {
			at = next
			continue
		}
		target, err := os.Readlink(next)
		if links++; err != nil || links > maxLinks {
			return next, "its links lead nowhere"
		}
		if filepath.IsAbs(target) {
			at = filepath.VolumeName(target) + sep
			target = target[len(filepath.VolumeName(target)):]
		}
		rest = append(split(target), rest...)
	}
	return at, ""
}

// magic finds the entries of /proc that are doors to other files, or to the
// memory and the variables of this program.
func magic(at, name string) string {
	parts := split(at)
	if len(parts) < 2 || parts[0] != "proc" || runtime.GOOS == "windows" {
		return ""
	}
	if parts[1] != "self" && parts[1] != "thread-self" && strings.Trim(parts[1], "0123456789") != "" {
		return ""
	}
	if len(parts) == 2 && slices.Contains(doors, name) {
		return fmt.Sprintf("/proc/%s/%s is a door to a process", parts[1], name)
	}
	return ""
}

var doors = strings.Fields("root cwd exe fd fdinfo environ mem maps smaps map_files pagemap task ns auxv stack syscall cmdline")

// lies says whether a place is one of the folders, or below one.
func lies(place string, folders []string) bool {
	return slices.ContainsFunc(folders, func(f string) bool { return under(f, place) })
}

// under says whether a place is a folder or below it, by whole names.
func under(folder, place string) bool {
	rel, ok := strings.CutPrefix(place, folder)
	return ok && (rel == "" || rel[0] == filepath.Separator || strings.HasSuffix(folder, string(filepath.Separator)))
}

// devices are files that hold nothing.
var devices = []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/stdin", "/dev/stdout", "/dev/stderr"}

// base is the folder that a rule's pattern is relative to.
func (at ground) base(p pattern, r Rule) string {
	switch p.from {
	case fromRoot:
		return string(filepath.Separator)
	case fromHome:
		return at.home
	case fromFile:
		return absolute(r.Dir, at.dir)
	}
	return at.dir
}

// meaning reads the pattern of a rule, once.
func (at ground) meaning(r Rule) *meant {
	if m, ok := at.known[r]; ok {
		return m
	}
	m := &meant{}
	if m.pattern, m.err = parsePattern(r.Spec); m.err == nil {
		base := at.base(m.pattern, r)
		if base == "" {
			m.err = errNoHome
		}
		to := followed(base)
		m.reach = split(to)
		m.bases = [][]string{foldAll(split(base))}
		if to != base {
			m.bases = append(m.bases, foldAll(m.reach))
		}
		if m.deep && m.from == fromDir { // a bare name is meant wherever it lies
			m.bases = append(m.bases, nil)
		}
	}
	at.known[r] = m
	return m
}

var errNoHome = errors.New("the home folder is not known")

// covers says whether the pattern of a rule means a path. A rule that denies or
// asks holds for every name of it and in any case; one that allows only for all
// places where it may lead. whole: the pattern means the path itself, no folder
// above it.
func (at ground) covers(r Rule, t touch, list string) (ok, whole bool) {
	m := at.meaning(r)
	if m.err != nil {
		return list == strict, false
	}
	if list == strict {
		for _, name := range t.folds {
			for _, b := range m.bases {
				if o, w := m.within(b, name, true); o {
					return true, w
				}
			}
		}
		return false, false
	}
	if len(t.ends) == 0 || t.maybe {
		return false, false
	}
	whole = true
	for _, name := range t.ends {
		o, w := m.within(m.reach, split(name), false)
		if !o {
			return false, false
		}
		whole = whole && w
	}
	return true, whole
}

// maySpan says whether the pattern of a rule may mean something at or below a path.
func (at ground) maySpan(r Rule, t touch) bool {
	m := at.meaning(r)
	if m.err != nil {
		return true
	}
	var known []string // the segments before a sign
	for _, s := range foldAll(m.segs) {
		if m.deep || strings.ContainsAny(s, "*?[\\") {
			break
		}
		known = append(known, s)
	}
	for _, name := range t.folds {
		for _, b := range m.bases {
			place := slices.Concat(b, known)
			n := min(len(place), len(name))
			if slices.Equal(place[:n], name[:n]) {
				return true
			}
		}
	}
	return false
}

// How a rule is held against a use.
const (
	strict = "strict" // where it denies or asks: it may hold too much
	loose  = "loose"  // where it allows: it may hold too little
)

// within compares a path with the pattern, if it lies below the base.
func (p pattern) within(base, name []string, fold bool) (ok, whole bool) {
	if len(name) < len(base) || !slices.Equal(base, name[:len(base)]) {
		return false, false
	}
	return p.matches(name[len(base):], fold)
}

// maxWalk is how many entries below a folder are looked at.
const maxWalk = 4000

// below looks for what lies below a folder until found says so. all is false if
// there is too much to look at.
func below(folder string, found func(touch) bool) (hit string, all bool) {
	n := 0
	err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil //nolint:nilerr // what cannot be read is not read
		}
		if n++; n > maxWalk {
			return fs.SkipAll
		}
		if path == folder {
			return nil
		}
		t := touch{text: path, names: []string{path}, ends: []string{path}}
		if d.Type()&fs.ModeSymlink != 0 {
			if to, _ := follow(path); to != path {
				t.names = append(t.names, to)
				t.ends = []string{to}
			}
		}
		t.fold()
		if found(t) {
			hit = path
			return fs.SkipAll
		}
		return nil
	})
	return hit, err == nil && n <= maxWalk
}

// expand lists what a pattern of the shell in the last segment would match; names
// that begin with a dot only where the pattern does, or with dots. ok is false where
// that is not known.
func expand(abs string, dots bool) (paths []string, ok bool) {
	dir, last := filepath.Split(abs)
	if strings.ContainsAny(dir, "*?[{\\") || strings.ContainsAny(last, "{}()\\") || last == "**" {
		return nil, false
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) > maxWalk {
		return nil, false
	}
	for _, e := range entries {
		if !dots && e.Name()[0] == '.' && last[0] != '.' {
			continue
		}
		if openClass(last) || segment(folded(last), folded(e.Name())) {
			paths = append(paths, dir+e.Name())
		}
	}
	return paths, true
}

// literal is the folder of a pattern of the shell before its first sign.
func literal(abs string) string {
	if i := strings.IndexAny(abs, "*?[{(\\"); i >= 0 {
		abs = abs[:i]
	}
	return abs[:strings.LastIndexByte(abs, filepath.Separator)+1]
}
