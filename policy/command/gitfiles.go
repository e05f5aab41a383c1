package command

import (
	"slices"
	"strings"
)

// Most of git's commands show or change files that no word of theirs names: all that
// the repository knows. Such a path is the folder, Deep and Tracked. What a word may
// name is a path of its own: a file, a pattern, or what stands behind HEAD: .

const (
	patches   = "-p -u -U --unified --patch --word-diff --color-words -c --cc -m -W --function-context --check"
	summaries = "-s --no-patch --stat --numstat --shortstat --dirstat --name-only --name-status --summary --raw --quiet --compact-summary"
)

// contents says whether a command shows what files hold, and not only their names.
func contents(name string, s scan) bool {
	patch := s.has(strings.Fields(patches)...)
	switch name {
	case "log", "reflog", "reflog show", "whatchanged", "stash list", "diff-tree", "diff-index", "diff-files":
		return patch
	case "diff", "range-diff", "stash show", "show":
		return patch || !s.has(strings.Fields(summaries)...) || name == "show" && slices.ContainsFunc(s.operands, blob)
	case "cat-file":
		return s.has("-p") || len(s.operands) > 1
	}
	return false
}

// blob says whether a name in the repository may be a file's: any but HEAD and what
// was before it.
func blob(a arg) bool { return !strings.HasPrefix(a.lead, "HEAD") || strings.Contains(a.lead, ":") }

// apart takes operands apart: those that may be names in the repository or paths, and
// those behind --, which are paths.
func (s scan) apart(words []arg, table string) (either, specs []arg) {
	for i, w := range words {
		if w.Known && w.Text == "--" {
			if front := scanWords(words[:i], table, gnu); front.stray == "" { // and no value of an option
				return front.operands, words[i+1:]
			}
		}
	}
	return s.operands, nil
}

// gitFiles finds the files that a command reads or writes.
func (c *call) gitFiles(name string, words []arg, table string, s scan) {
	either, specs := s.apart(words, table)
	for _, o := range either {
		c.revision(o)
	}
	for _, o := range s.options {
		if o.kind == reads {
			c.reads(o.value)
		}
	}
	switch name {
	case "grep":
		c.gitGrep(s, either, specs)
	case "blame", "annotate", "check-ignore", "ls-files", "add", "stage":
		c.reads(s.operands...)
	case "mv", "rm", "init", "clone", "checkout", "switch", "restore", "reset":
		c.gitWrites(name, words, s, either, specs)
	default:
		c.gitShows(name, s, either, specs)
	}
}

// gitShows judges what shows files, whole or in part.
func (c *call) gitShows(name string, s scan, either, specs []arg) {
	if name == "diff" { // outside of a repository, or with two files, it reads any
		c.reads(s.operands...)
		if s.has("--no-index") {
			c.deepen()
			return
		}
	}
	ranges := false
	for _, o := range s.options {
		if o.name == "-L" { // 1,5:FILE
			ranges = true
			at := strings.IndexByte(o.value.lead, ':')
			if at < 0 {
				c.reads(o.value)
			}
			for ; at >= 0 && at < len(o.value.lead); at++ {
				if o.value.lead[at] == ':' {
					c.reads(o.value.from(at + 1))
				}
			}
		}
	}
	if !contents(name, s) {
		return
	}
	if name != "diff" {
		c.reads(slices.DeleteFunc(slices.Clone(either), func(a arg) bool { return strings.Contains(a.lead, ":") })...)
	}
	exact := name != "log" && len(either) > 0 && !slices.ContainsFunc(either, func(a arg) bool { return !fileOf(a) })
	names := len(specs) > 0 && (name != "show" && name != "cat-file" || !slices.ContainsFunc(either, blob))
	if c.pathspecs(specs, false); !exact && !names && !ranges {
		c.whole1(false)
	}
}

// gitGrep judges git grep: a pattern, names in the repository, paths.
func (c *call) gitGrep(s scan, either, specs []arg) {
	if !s.has("-e") && len(either) > 0 {
		either = either[1:]
	}
	c.pathspecs(either, false)
	c.pathspecs(specs, false)
	switch {
	case s.has("--untracked"):
		c.reads(here())
		c.deepen()
	case len(specs) == 0:
		c.whole1(false)
	}
}

// gitWrites judges what changes files.
func (c *call) gitWrites(name string, words []arg, s scan, either, specs []arg) {
	list := s.operands
	switch name {
	case "mv":
		c.reads(list[:max(0, len(list)-1)]...)
		c.deepen()
		c.writes(list...)
		for i := range c.part.Writes {
			c.part.Writes[i].Deep = true
		}
	case "rm", "restore":
		if name == "rm" || !s.has("--staged", "-S") || s.has("--worktree", "-W") {
			c.pathspecs(list, true)
		}
	case "init":
		if len(list) == 0 {
			list = []arg{here()}
		}
		c.writes(list...)
	case "clone":
		if list = list[min(1, len(list)):]; len(list) == 0 {
			list = []arg{here()}
		}
		c.writes(list...)
	case "checkout", "switch":
		c.pathspecs(specs, true)
		if len(specs) == 0 && len(list) > 0 || s.stray != "" {
			if name == "checkout" {
				c.pathspecs(either, true)
			}
			c.whole1(true)
		}
	case "reset":
		c.pathspecs(list, true)
		if slices.ContainsFunc(words, func(w arg) bool {
			return !w.Known || len(w.Text) > 2 && slices.ContainsFunc([]string{"--hard", "--merge", "--keep"}, func(o string) bool { return strings.HasPrefix(o, w.Text) })
		}) {
			c.whole1(true)
		}
	}
}

// rewrites are commands outside of the table that change any file of the repository.
const rewrites = "merge rebase pull am apply cherry-pick revert bisect sparse-checkout read-tree checkout-index filter-branch submodule"

// gitOther finds what commands outside of the table write.
func (c *call) gitOther(name string, list []arg) {
	c.readsWords(list)
	c.outputs(list)
	switch {
	case name == "clean":
		paths := scanWords(list, "-ndfqxXi -e= --dry-run --force --quiet --exclude=", gnu).operands
		if len(paths) == 0 {
			paths = []arg{here()}
		}
		c.writes(paths...)
		for i := range c.part.Writes {
			c.part.Writes[i].Deep = true
		}
	case slices.Contains(strings.Fields(rewrites), name):
		c.whole1(true)
	}
}

// whole1 are all files that git knows. Its repository may begin above the folder, as
// far up as the command does at least.
func (c *call) whole1(write bool) {
	dirs := c.sc.dirs
	if slices.ContainsFunc(dirs, func(d string) bool { return strings.HasPrefix(d, strings.TrimSuffix(c.o.Dir, "/")+"/") }) {
		dirs = join(dirs, []string{c.o.Dir})
	}
	list := here().paths(dirs)
	for i := range list {
		list[i].Deep, list[i].Tracked = true, true
	}
	c.touches(write, list)
}

func (c *call) touches(write bool, list []Path) {
	if write {
		c.part.Writes = append(c.part.Writes, list...)
	} else {
		c.part.Reads = append(c.part.Reads, list...)
	}
}

// revision reads what stands behind a colon: HEAD:FILE, :FILE, :0:FILE.
func (c *call) revision(a arg) {
	for at, l := range a.lead {
		if l != ':' {
			continue
		}
		rest := a.from(at + 1)
		c.part.Reads = append(c.part.Reads, c.fromTop(rest)...)
		if i := strings.Index(rest.Text, ".."); rest.Known && i > 0 && rest.Text[i-1] != '/' { // HEAD:a..HEAD:b
			c.part.Reads = append(c.part.Reads, c.fromTop(plain(rest.Text[:i]))...)
		}
	}
	for _, v := range a.values {
		c.revision(v)
	}
}

// fileOf says whether a name in the repository is that of one file for sure.
func fileOf(a arg) bool {
	at := strings.IndexByte(a.lead, ':')
	return a.Known && at >= 0 && !strings.Contains(a.lead[:at], "{") && !strings.HasPrefix(a.lead, ":/")
}

// fromTop reads a path that begins at the top of the repository, which is the folder
// or one above. Those above the one that the command begins in are looked at as far as
// they lead below it.
func (c *call) fromTop(a arg) []Path {
	out := a.paths(c.sc.dirs)
	if !a.named || a.path == "" || strings.HasPrefix(a.path, "./") || strings.HasPrefix(a.path, "../") {
		return out
	}
	for _, d := range c.sc.dirs {
		for up := d; len(up) > 1; {
			up = up[:strings.LastIndexByte(up, '/')]
			if p := up + "/" + a.path; strings.HasPrefix(p, strings.TrimSuffix(c.o.Dir, "/")+"/") {
				out = append(out, Path{Text: a.path, Abs: p, Glob: a.glob})
			}
		}
	}
	return out
}

// pathspecs takes words for the paths by which git's commands are told of files:
// names, folders with what is known below them, and patterns, whose * goes through
// folders.
func (c *call) pathspecs(list []arg, write bool) {
	some := false
	for _, a := range list {
		if len(a.values) > 0 {
			c.pathspecs(a.values, write)
			some = true
			continue
		}
		path, top, magic, without := pathspec(a)
		if magic {
			c.whole1(write)
		}
		if some = some || !without; without {
			continue
		}
		paths := path.paths(c.sc.dirs)
		if top {
			paths = c.fromTop(path)
		}
		c.touches(write, paths)
		if path.glob || path.Known && strings.ContainsAny(path.Text, "*?[\\") {
			c.whole1(write)
			c.touches(write, patterns(path, c.sc.dirs))
			continue
		}
		for i := range paths {
			paths[i].Deep, paths[i].Tracked = true, true
		}
		c.touches(write, paths)
	}
	if !some && len(list) > 0 { // all but these
		c.whole1(write)
	}
}

// patterns are the names that a pattern may mean. Git's patterns mean names with a dot
// in front too, those of the shell do not.
func patterns(a arg, dirs []string) []Path {
	at := strings.LastIndexByte(a.path, '/') + 1
	dir, last := a.path[:at], a.path[at:]
	list := []string{last}
	if rest := strings.TrimLeft(last, "*"); rest != last {
		list = append(list, "."+last)
		if strings.HasPrefix(rest, ".") {
			list = append(list, rest)
		}
	} else if strings.HasPrefix(last, "?") {
		list = append(list, "."+last[1:])
	} else if strings.HasPrefix(last, "[") {
		list = append(list, ".*")
	}
	var out []Path
	for _, l := range list {
		g := plain(dir + l)
		g.glob = strings.ContainsAny(g.path, "*?[")
		out = append(out, g.paths(dirs)...)
	}
	return out
}

// pathspec reads the signs in front of a path: :/ and :(top) for the top of the
// repository, :! and :(exclude) for all but it, and others.
func pathspec(a arg) (path arg, top, magic, without bool) {
	if !strings.HasPrefix(a.lead, ":") {
		return a, false, false, false
	}
	at := 1
	if strings.HasPrefix(a.lead, ":(") {
		end := strings.IndexByte(a.lead, ')')
		if end < 0 {
			return a, false, true, false
		}
		words := strings.Split(a.lead[2:end], ",")
		top, without = slices.Contains(words, "top"), slices.Contains(words, "exclude")
		at = end + 1
	} else {
		for ; at < len(a.lead) && strings.IndexByte("/!^", a.lead[at]) >= 0; at++ {
			top, without = top || a.lead[at] == '/', without || a.lead[at] != '/'
		}
		if at < len(a.lead) && a.lead[at] == ':' {
			at++
		}
	}
	return a.from(at), top, true, without
}
