package policy

import (
	"encoding/binary"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/uzda-dev/uzda/policy/command"
)

// A repository can name programs that git starts when it only shows something. What
// steers it lies in .git, which no clone brings, but an archive, a shared folder or a
// program that runs may; a folder that is itself made like a .git comes with a clone.
// So the settings are looked at before git runs without a question.

const (
	maxSettings = 1 << 20  // bytes of a configuration that is read
	maxIndex    = 64 << 20 // of an index
	maxModules  = 200      // repositories inside another one that are looked at
)

// repository says why git may not run without a question, "" if it may.
func (u *subject) repository(p part) string {
	if p.fresh {
		return "another part of the command may make the repository that git looks at"
	}
	for _, dir := range p.Git {
		if dir == "" {
			return "the folder where git looks for its repository is known only when it runs"
		}
		look := gitLook{acts: p.Level > command.Harmless, home: u.at.home, roots: u.at.roots, words: p.Words[1:], seen: map[string]bool{}}
		if why := look.from(followed(dir)); why != "" {
			return why
		}
	}
	return ""
}

// makes says whether a part may bring a repository to one of the folders: it moves or
// copies to where nothing is yet, or what a repository is made of.
func (p part) makes(dirs []string) bool {
	if !p.carries() {
		return false
	}
	made := slices.ContainsFunc(p.touches, func(t touch) bool {
		return slices.Contains([]string{"HEAD", "objects", "refs", "commondir", "."}, filepath.Base(t.text))
	})
	return slices.ContainsFunc(p.touches, func(t touch) bool {
		return t.write && slices.ContainsFunc(t.ends, func(end string) bool {
			return slices.ContainsFunc(dirs, func(dir string) bool {
				at := followed(dir)
				return under(end, at) && (made || !exists(at)) || made && filepath.Dir(end) == at && filepath.Base(end) != "."
			})
		})
	})
}

// gitLook is a look at a repository and at those inside it.
type gitLook struct {
	acts  bool // git does more than show: it may merge, fetch, or run an alias
	home  string
	roots []string
	words []command.Word
	seen  map[string]bool
}

// from looks for the repository as git does: from a folder upwards.
func (l gitLook) from(dir string) string {
	for {
		switch to, ok, why := gitFolder(filepath.Join(dir, ".git")); {
		case why != "":
			return why
		case ok:
			return l.at(to, dir)
		case madeLikeGit(dir):
			return fmt.Sprintf("%s is made like a repository of git, and may have come with another one", show(dir))
		}
		up := filepath.Dir(dir)
		if up == dir {
			return ""
		}
		dir = up
	}
}

// gitFolder is where a .git leads: a folder, or a file that names one.
func gitFolder(path string) (dir string, ok bool, why string) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return "", false, ""
	case info.IsDir():
		return path, madeLikeGit(path), ""
	case !info.Mode().IsRegular():
		return "", false, show(path) + " is neither a folder nor a file"
	}
	text, err := limited(path, 1<<16)
	to, named := strings.CutPrefix(strings.TrimRight(text, "\r\n"), "gitdir:")
	if err != nil || !named {
		return "", false, show(path) + " does not say where the repository is"
	}
	return absolute(strings.TrimLeft(to, " "), filepath.Dir(path)), true, ""
}

// madeLikeGit says whether git would take a folder for a repository.
func madeLikeGit(dir string) bool {
	if _, err := os.Lstat(filepath.Join(dir, "HEAD")); err != nil {
		return false
	}
	return exists(filepath.Join(dir, "commondir")) || exists(filepath.Join(dir, "objects")) && exists(filepath.Join(dir, "refs"))
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// limited reads a file that is no larger than most.
func limited(path string, most int64) (string, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return "", err
	case !info.Mode().IsRegular() || info.Size() > most:
		return "", fs.ErrInvalid
	}
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(text)) > most {
		err = fs.ErrInvalid
	}
	return string(text), err
}

// at looks at a repository; tree is the folder of its files.
func (l gitLook) at(dir, tree string) string {
	dir = followed(dir)
	if l.seen[dir] {
		return ""
	}
	l.seen[dir] = true
	if len(l.seen) > maxModules {
		return fmt.Sprintf("it holds more than %d repositories, too many to look at", maxModules)
	}
	common := dir
	if text, err := limited(filepath.Join(dir, "commondir"), 1<<16); err == nil {
		common = followed(absolute(strings.TrimRight(text, "\r\n"), dir))
	} else if exists(filepath.Join(dir, "commondir")) {
		return show(filepath.Join(dir, "commondir")) + " cannot be read"
	}
	hooks := filepath.Join(common, "hooks")
	for _, file := range []string{filepath.Join(common, "config"), filepath.Join(dir, "config.worktree")} {
		text, err := limited(file, maxSettings)
		if err != nil && !exists(file) {
			continue
		}
		list, bad := gitSettings(text)
		if err != nil || bad != nil {
			return show(file) + " cannot be read, and settings of git can name programs"
		}
		for _, s := range list {
			if why := l.setting(s, dir); why != "" {
				return fmt.Sprintf("%s sets %s, %s", show(file), show(s.name()), why)
			}
			if s.is("core", "worktree", false) {
				tree = followed(absolute(s.value, dir))
			}
			if s.is("core", "hookspath", false) {
				if hooks = l.file(s.value, tree); hooks == "" {
					return fmt.Sprintf("%s sets core.hooksPath to %s, which is not known", show(file), show(s.value))
				}
				if to := followed(hooks); l.acts && !lies(to, l.roots) && !under(common, to) {
					return fmt.Sprintf("%s sets core.hooksPath to %s, outside of the folders of the session: git may run what lies there", show(file), show(s.value))
				}
			}
		}
	}
	if hook := filepath.Join(hooks, "post-index-change"); exists(hook) { // git status may write the index
		return show(hook) + " is a program that git starts even when it shows something"
	}
	return l.inside(dir, common, tree)
}

// inside looks at the repositories that lie in another one: git status looks at their
// files with their settings.
func (l gitLook) inside(dir, common, tree string) string {
	var list []string
	links, err := gitLinks(filepath.Join(dir, "index"))
	if err != nil {
		return show(filepath.Join(dir, "index")) + " cannot be read, so it is not known which repositories lie inside"
	}
	for _, name := range links {
		list = append(list, filepath.Join(tree, filepath.FromSlash(name)))
	}
	for _, below := range list {
		to, ok, why := gitFolder(filepath.Join(below, ".git"))
		if why == "" && ok {
			why = l.at(to, below)
		}
		if why != "" {
			return why
		}
	}
	return l.modules(filepath.Join(common, "modules"))
}

// modules looks at the repositories of submodules, which lie in folders of any depth.
func (l gitLook) modules(top string) (why string) {
	n := 0
	_ = filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
		if n++; n > maxNames {
			why = show(top) + " holds too much to look at"
			return fs.SkipAll
		}
		switch {
		case err != nil || d.IsDir() && slices.Contains([]string{"objects", "refs", "logs", "hooks", "info"}, d.Name()) && madeLikeGit(filepath.Dir(path)):
			return fs.SkipDir
		case d.IsDir() && path != top && madeLikeGit(path):
			if why = l.at(path, path); why != "" {
				return fs.SkipAll
			}
		}
		return nil
	})
	return why
}

// setting says what a setting would make git do, "" for most.
func (l gitLook) setting(s setting, dir string) string {
	starts := "which names a program"
	switch {
	case s.is("diff", "external", false), s.is("diff", "textconv", true), s.is("diff", "command", true), s.section == "gpg" && s.key == "program":
		return starts
	case s.section == "filter" && slices.Contains([]string{"clean", "smudge", "process"}, s.key):
		if strings.HasPrefix(s.value, "git-lfs ") && !strings.ContainsAny(s.value, ";&|<>$`\\\n'\"()") {
			return ""
		}
		return starts
	case s.is("core", "fsmonitor", false):
		if !s.bare && !slices.Contains([]string{"", "true", "false", "yes", "no", "on", "off", "1", "0"}, strings.ToLower(s.value)) {
			return starts
		}
	case s.section == "include" || s.section == "includeif":
		return "which brings in the settings of another file"
	case s.section == "remote" && slices.Contains([]string{"uploadpack", "receivepack"}, s.key):
		return starts
	case s.section == "remote" && (s.key == "partialclonefilter" || s.key == "promisor" && !strings.EqualFold(s.value, "false")), s.is("extensions", "partialclone", false):
		return "so that git may fetch what is missing from another machine when it only shows something"
	case s.is("core", "worktree", false):
		if to := followed(absolute(s.value, dir)); !lies(to, l.roots) {
			return "which is outside of the folders of the session"
		}
	case s.is("core", "attributesfile", false), s.is("blame", "ignorerevsfile", false):
		if to := l.file(s.value, filepath.Dir(dir)); s.value != "" && (to == "" || !lies(followed(to), l.roots)) {
			return "a file outside of the folders of the session"
		}
	}
	if l.acts {
		return l.acting(s)
	}
	return ""
}

// acting says what a setting would make git do that does more than show.
func (l gitLook) acting(s setting) string {
	switch {
	case s.section == "core" && slices.Contains([]string{"sshcommand", "gitproxy", "askpass", "alternaterefscommand"}, s.key),
		s.is("merge", "driver", true), s.section == "credential" && s.key == "helper" && strings.ContainsAny(s.value, "!/"), s.is("interactive", "difffilter", false),
		s.section == "trailer" && (s.key == "command" || s.key == "cmd"), s.section == "tar" && s.key == "command", s.is("gc", "recentobjectshook", false),
		s.section == "submodule" && s.key == "update" && strings.HasPrefix(s.value, "!"),
		s.section == "remote" && (s.key == "vcs" || s.key == "url" || s.key == "pushurl") && strings.Contains(s.value, "::") && !strings.Contains(s.value, "["),
		s.section == "protocol" && s.key == "allow" && strings.EqualFold(s.value, "always"):
		return "which names a program"
	case s.section == "alias" && slices.ContainsFunc(l.words, func(w command.Word) bool { return strings.EqualFold(w.Text, s.key) || strings.EqualFold(w.Text, s.sub) }):
		return "so that this command of git may be any"
	}
	return ""
}

// file is where a path of a setting leads; "": nobody knows.
func (l gitLook) file(value, from string) string {
	if rest, ok := strings.CutPrefix(value, "~/"); ok && l.home != "" {
		return filepath.Join(l.home, rest)
	}
	if value == "" || value[0] == '~' || value[0] == '%' || value[0] == ':' {
		return ""
	}
	return absolute(value, from)
}

// gitLinks are the paths in an index that are repositories of their own.
func gitLinks(path string) ([]string, error) {
	if !exists(path) {
		return nil, nil
	}
	text, err := limited(path, maxIndex)
	if err != nil {
		return nil, err
	}
	if len(text) < 12 || text[:4] != "DIRC" {
		return nil, fs.ErrInvalid
	}
	number := func(at int) int { return int(binary.BigEndian.Uint32([]byte(text[at : at+4]))) }
	version, count := number(4), number(8)
	if version < 2 || version > 4 {
		return nil, fs.ErrInvalid
	}
	if !strings.Contains(text, "\x00\x00\xe0\x00") { // the mode of such a path
		return nil, nil
	}
	// The length of an object's name is not told: 20 bytes, or 32.
	for _, hash := range []int{20, 32} {
		if links, ok := gitEntries(text, version, count, hash); ok {
			return links, nil
		}
	}
	return nil, fs.ErrInvalid
}

func gitEntries(text string, version, count, hash int) (links []string, ok bool) {
	at, name := 12, ""
	for range count {
		start := at
		head := 40 + hash + 2
		if at+head+2 > len(text) {
			return nil, false
		}
		mode := binary.BigEndian.Uint32([]byte(text[at+24 : at+28]))
		if kind := mode >> 12; kind != 0o10 && kind != 0o12 && kind != 0o16 && kind != 0o04 {
			return nil, false
		}
		if version > 2 && text[at+40+hash]&0x40 != 0 {
			head += 2
		}
		from := at + head
		if version == 4 {
			drop := 0
			for { // a number of 7 bits a byte, in git's own way
				if from >= len(text) || drop > len(text) {
					return nil, false
				}
				b := text[from]
				from++
				drop = drop<<7 | int(b&0x7f)
				if b&0x80 == 0 {
					break
				}
				drop++
			}
			if drop > len(name) {
				return nil, false
			}
			name = name[:len(name)-drop]
		} else {
			name = ""
		}
		n := strings.IndexByte(text[min(from, len(text)):], 0)
		if n < 0 {
			return nil, false
		}
		name += text[from : from+n]
		if at = from + n + 1; version < 4 { // one to eight zeros fill it up
			at = start + (from+n-start+8)&^7
		}
		if mode>>12 == 0o16 {
			links = append(links, name)
		}
	}
	return links, true
}
