package file

import (
	"path"
	"strings"
)

// A rule is one line of a .gitignore.
type rule struct {
	glob     string
	negated  bool // it takes names in again
	dirs     bool // only folders
	anchored bool // against the path below its folder, not the name alone
}

// rules are those of one .gitignore, for the folder that it lies in.
type rules struct {
	dir  string // "." or a path below the root
	list []rule
}

// parseIgnore reads a .gitignore as git does.
func parseIgnore(dir, text string) rules {
	rs := rules{dir: dir}
	text = strings.TrimPrefix(text, "\uFEFF")
	for line := range strings.SplitSeq(text, "\n") {
		line = trimSpaces(strings.TrimSuffix(line, "\r"))
		if line == "" || line[0] == '#' {
			continue
		}
		var r rule
		if line[0] == '!' {
			r.negated, line = true, line[1:]
		}
		if cut, ok := strings.CutSuffix(line, "/"); ok {
			r.dirs, line = true, cut
		}
		if r.anchored = strings.Contains(line, "/"); r.anchored {
			line = strings.TrimPrefix(line, "/")
		}
		if line == "" {
			continue
		}
		r.glob = line
		rs.list = append(rs.list, r)
	}
	return rs
}

// trimSpaces takes spaces from the end, but not one that a backslash keeps.
func trimSpaces(line string) string {
	end := 0
	for i := 0; i < len(line); i++ {
		switch line[i] {
		case ' ':
			continue
		case '\\':
			i++
		}
		end = min(i+1, len(line))
	}
	return line[:end]
}

// ignored says what the rules of all folders above have for a path: the last rule
// that matches counts, those of inner folders before those of outer ones.
func ignored(all []rules, rel string, isDir bool) bool {
	for i := len(all) - 1; i >= 0; i-- {
		below := rel
		if all[i].dir != "." {
			below = strings.TrimPrefix(rel, all[i].dir+"/")
		}
		for j := len(all[i].list) - 1; j >= 0; j-- {
			if r := all[i].list[j]; r.matches(below, isDir) {
				return !r.negated
			}
		}
	}
	return false
}

func (r rule) matches(below string, isDir bool) bool {
	if r.dirs && !isDir {
		return false
	}
	if !r.anchored {
		g := globber{pattern: r.glob}
		return g.match(0, path.Base(below)) == yes
	}
	plain := strings.IndexAny(r.glob, `*?[\`)
	if plain < 0 {
		return r.glob == below
	}
	// git compares what comes before the first special character by itself, so that
	// ** counts as one after it too: a**/b is a/**/b.
	rest, ok := strings.CutPrefix(below, r.glob[:plain])
	g := globber{pattern: r.glob[plain:], paths: true}
	return ok && g.match(0, rest) == yes
}

// A globber matches as git's wildmatch does: the outcomes beside yes and no stop a
// search that cannot succeed any more, so that no pattern takes exponential time.
type globber struct {
	pattern string
	paths   bool // * and ? do not take a /
}

type verdict int

const (
	no verdict = iota
	yes
	never    // no later beginning matches either
	deadStar // only ** further out can still match
)

func (g globber) match(p int, text string) verdict {
	for ; p < len(g.pattern); p++ {
		c := g.pattern[p]
		if text == "" && c != '*' {
			return never
		}
		switch c {
		case '*':
			return g.star(p, text)
		case '?':
			if g.paths && text[0] == '/' {
				return no
			}
		case '[':
			end, in, ok := g.class(p, text[0])
			if !ok {
				return never
			}
			if !in || g.paths && text[0] == '/' {
				return no
			}
			p = end
		case '\\':
			p++
			if p == len(g.pattern) || text[0] != g.pattern[p] {
				return no
			}
		default:
			if text[0] != c {
				return no
			}
		}
		text = text[1:]
	}
	if text == "" {
		return yes
	}
	return no
}

// star matches from a * on.
func (g globber) star(p int, text string) verdict {
	start := p
	for p < len(g.pattern) && g.pattern[p] == '*' {
		p++
	}
	slashes := !g.paths
	rest := g.pattern[p:]
	if g.paths && p-start > 1 && (start == 0 || g.pattern[start-1] == '/') && (rest == "" || rest[0] == '/' || strings.HasPrefix(rest, `\/`)) {
		if rest != "" && rest[0] == '/' && g.match(p+1, text) == yes {
			return yes // no folder at all
		}
		slashes = true
	}
	if rest == "" {
		if !slashes && strings.Contains(text, "/") {
			return deadStar
		}
		return yes
	}
	for {
		v := g.match(p, text)
		if v != no && (!slashes || v != deadStar) {
			return v
		}
		if text == "" {
			return never
		}
		if v == no && !slashes && text[0] == '/' {
			return deadStar
		}
		text = text[1:]
	}
}

// class says whether c is in the set that begins at p, and where the set ends. ok
// is false where it has no end.
func (g globber) class(p int, c byte) (last int, in, ok bool) {
	s := g.pattern
	at := func(i int) byte {
		if i < len(s) {
			return s[i]
		}
		return 0
	}
	p++
	negated := at(p) == '!' || at(p) == '^'
	if negated {
		p++
	}
	var prev byte
	for first := true; first || at(p) != ']'; first = false {
		one := at(p)
		switch {
		case one == 0:
			return 0, false, false
		case one == '\\':
			p++
			if one = at(p); one == 0 {
				return 0, false, false
			}
			in = in || c == one
		case one == '-' && prev != 0 && at(p+1) != 0 && at(p+1) != ']':
			p++
			if at(p) == '\\' {
				p++
			}
			if at(p) == 0 {
				return 0, false, false
			}
			in = in || prev <= c && c <= at(p)
			one = 0
		case one == '[' && at(p+1) == ':':
			end := strings.IndexByte(s[p+2:], ']')
			if end < 0 {
				return 0, false, false
			}
			name, named := strings.CutSuffix(s[p+2:p+2+end], ":")
			if !named {
				in = in || c == '['
				break
			}
			has, known := posix(name, c)
			if !known {
				return 0, false, false
			}
			in = in || has
			p += 2 + end
			one = 0
		default:
			in = in || c == one
		}
		prev = one
		p++
	}
	return p, in != negated, true
}

// posix knows the classes that go by a name.
func posix(name string, c byte) (in, known bool) {
	lower, upper, digit := c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9'
	graph := c > ' ' && c < 0x7F
	switch name {
	case "alpha":
		return lower || upper, true
	case "alnum":
		return lower || upper || digit, true
	case "digit":
		return digit, true
	case "lower":
		return lower, true
	case "upper":
		return upper, true
	case "space":
		return c == ' ' || c >= '\t' && c <= '\r', true
	case "blank":
		return c == ' ' || c == '\t', true
	case "punct":
		return graph && !lower && !upper && !digit, true
	case "graph":
		return graph, true
	case "print":
		return graph || c == ' ', true
	case "cntrl":
		return c < ' ' || c == 0x7F, true
	case "xdigit":
		return digit || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F', true
	}
	return false, false
}
