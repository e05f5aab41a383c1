package policy

import (
	"errors"
	"path/filepath"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// A pattern is what a rule says of paths, in the form of .gitignore files.
type pattern struct {
	from  byte     // what it is relative to: see below
	segs  []string // between slashes
	deep  bool     // it has no slash, so that it holds at any depth
	below bool     // only a folder, with what is below it
}

// What a pattern is relative to.
const (
	fromDir  = '.' // the session's folder: x and ./x
	fromFile = '/' // the folder of the settings that the rule stands in: /x
	fromHome = '~' // ~/x
	fromRoot = 'r' // //x
)

// parsePattern reads a pattern. An error says how to mend it.
func parsePattern(text string) (pattern, error) {
	p := pattern{from: fromDir}
	text = filepath.ToSlash(text)
	rest := text
	switch {
	case strings.HasPrefix(text, "!"):
		return p, errors.New("a pattern of a rule cannot begin with !; write a rule of another list for what is left out")
	case strings.HasPrefix(text, "//"):
		p.from, rest = fromRoot, text[2:]
	case strings.HasPrefix(text, "/"):
		p.from, rest = fromFile, text[1:]
	case text == "~" || strings.HasPrefix(text, "~/"):
		p.from, rest = fromHome, strings.TrimPrefix(text[1:], "/")
	case strings.HasPrefix(text, "./"):
		rest = text[2:]
	default:
		p.deep = !strings.Contains(strings.TrimSuffix(text, "/"), "/") && text != "." && text != ".."
	}
	if strings.HasSuffix(rest, "/") {
		p.below, rest = true, strings.TrimRight(rest, "/")
	}
	for seg := range strings.SplitSeq(rest, "/") {
		switch {
		case seg == "" || seg == ".":
		case seg == "..":
			return p, errors.New("a pattern of a rule cannot hold ..; write the whole path, as //folder/file or ~/folder/file")
		case openClass(seg):
			return p, errors.New("a [ is not closed in the pattern; write \\[ for the sign itself")
		default:
			p.segs = append(p.segs, seg)
		}
	}
	return p, nil
}

// wildcard says whether a pattern may mean several paths.
func (p pattern) wildcard() bool {
	if p.below {
		return true
	}
	for _, s := range p.segs {
		if strings.ContainsAny(s, "*?[\\") {
			return true
		}
	}
	return false
}

// matches compares a path below the pattern's base, cut into segments. whole is
// false where the pattern means a folder above it, and so all that is in it. With
// fold, x/** means the folder x too.
func (p pattern) matches(name []string, fold bool) (ok, whole bool) {
	segs := p.segs
	if fold {
		segs = foldAll(p.segs)
		if n := len(segs) - 1; n > 0 && segs[n] == "**" {
			segs = segs[:n]
		}
	}
	if p.deep {
		segs = append([]string{"**"}, segs...)
	}
	for n := len(name); n >= 0; n-- {
		if n == len(name) && p.below && !fold { // nobody knows whether the name is of a folder
			continue
		}
		if segments(segs, name[:n]) {
			return true, n == len(name)
		}
	}
	return false, false
}

// segments matches whole segments, ** any number of them. A ** at the end wants
// at least one. The time is at worst the product of the lengths.
func segments(pat, name []string) bool {
	p, n := 0, 0
	star, from := -1, 0
	for n < len(name) {
		switch {
		case p < len(pat) && pat[p] == "**":
			if p == len(pat)-1 {
				return true
			}
			star, from = p, n
			p++
		case p < len(pat) && segment(pat[p], name[n]):
			p++
			n++
		case star >= 0:
			from++
			p, n = star+1, from
		default:
			return false
		}
	}
	for p < len(pat)-1 && pat[p] == "**" {
		p++
	}
	return p == len(pat)
}

// segment matches one name between slashes: * any run, ? one character, [a-z]
// [!a-z] one of a class, \x the character x.
func segment(pat, name string) bool {
	p, n := 0, 0
	star, from := -1, 0
	for n < len(name) {
		if p < len(pat) && pat[p] == '*' {
			star, from = p, n
			p++
			continue
		}
		_, width := utf8.DecodeRuneInString(name[n:])
		if used, ok := one(pat[p:], name[n:n+width]); ok {
			p, n = p+used, n+width
			continue
		}
		if star < 0 {
			return false
		}
		_, width = utf8.DecodeRuneInString(name[from:])
		from += width
		p, n = star+1, from
	}
	return strings.Trim(pat[p:], "*") == ""
}

// one matches a character with the beginning of a pattern, and says how long that is.
func one(pat, char string) (used int, ok bool) {
	if pat == "" {
		return 0, false
	}
	switch pat[0] {
	case '?':
		return 1, true
	case '\\':
		if len(pat) > 1 {
			_, w := utf8.DecodeRuneInString(pat[1:])
			return 1 + w, pat[1:1+w] == char
		}
	case '[':
		if end := classEnd(pat); end > 0 {
			return end + 1, inClass(pat[1:end], char)
		}
	}
	_, w := utf8.DecodeRuneInString(pat)
	return w, pat[:w] == char
}

// classEnd is where the ] of a class stands, 0 if there is none.
func classEnd(pat string) int {
	from := 1
	if len(pat) > from && (pat[from] == '!' || pat[from] == '^') {
		from++
	}
	if len(pat) > from && pat[from] == ']' {
		from++
	}
	if i := strings.IndexByte(pat[min(from, len(pat)):], ']'); i >= 0 {
		return from + i
	}
	return 0
}

func openClass(seg string) bool {
	for i := 0; i < len(seg); i++ {
		switch seg[i] {
		case '\\':
			i++
		case '[':
			end := classEnd(seg[i:])
			if end == 0 {
				return true
			}
			i += end
		}
	}
	return false
}

func inClass(class, char string) bool {
	not := strings.HasPrefix(class, "!") || strings.HasPrefix(class, "^")
	if not {
		class = class[1:]
	}
	c, _ := utf8.DecodeRuneInString(char)
	rs := []rune(class)
	in := false
	for i := 0; i < len(rs); i++ {
		if i+2 < len(rs) && rs[i+1] == '-' {
			in = in || rs[i] <= c && c <= rs[i+2]
			i += 2
			continue
		}
		in = in || rs[i] == c
	}
	return in != not
}

// folded makes one of the names that some file system takes for the same: by
// case, by the composition of letters, by signs that are not seen, by dots and
// spaces at the end. It is for rules that deny or ask, which may hold too much.
func folded(s string) string {
	plain := true
	for i := 0; i < len(s) && plain; i++ {
		c := s[i]
		plain = c < utf8.RuneSelf && (c < 'A' || c > 'Z')
	}
	if !plain {
		s = strings.Map(func(r rune) rune {
			if unicode.Is(unicode.Cf, r) {
				return -1
			}
			low := r // the least of those that differ in case only
			for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
				low = min(low, f)
			}
			return unicode.ToLower(low)
		}, norm.NFD.String(s))
		s = norm.NFC.String(strings.ReplaceAll(s, "ß", "ss"))
	}
	if t := strings.TrimRight(s, ". "); t != "" {
		return t
	}
	return s
}

// split cuts a path into its segments.
func split(path string) []string {
	return strings.FieldsFunc(filepath.ToSlash(path), func(r rune) bool { return r == '/' })
}

// foldAll folds every segment.
func foldAll(segs []string) []string {
	out := make([]string, len(segs))
	for i, s := range segs {
		out[i] = folded(s)
	}
	return out
}
