package policy

import (
	"errors"
	"strings"
)

// A setting is one line of a configuration of git.
type setting struct {
	section string // lower case
	sub     string // as it is written in quotes; lower case where it follows a dot
	key     string // lower case
	value   string
	bare    bool // no = follows, which means true
}

// name is the setting as git shows it.
func (s setting) name() string {
	if s.sub == "" {
		return s.section + "." + s.key
	}
	return s.section + "." + s.sub + "." + s.key
}

// is says whether the setting is section.key; below: section.*.key counts too.
func (s setting) is(section, key string, below bool) bool {
	return s.section == section && s.key == key && (below || s.sub == "")
}

var errGitConfig = errors.New("it cannot be read as git does")

// gitSettings reads a configuration as git does: sections [a], [a "b"] and [a.b], keys in
// any case, comments, quotes, escapes, and lines that a \ continues.
func gitSettings(text string) ([]setting, error) {
	r := gitText{text: strings.ReplaceAll(strings.TrimPrefix(text, "\ufeff"), "\r\n", "\n")}
	var out []setting
	var section, sub string
	for {
		r.skip(" \t\n\r\f\v")
		switch c := r.peek(); {
		case r.end():
			return out, nil
		case c == '#' || c == ';':
			r.line()
		case c == '[':
			var ok bool
			if section, sub, ok = r.head(); !ok {
				return nil, errGitConfig
			}
		default:
			s := setting{section: section, sub: sub, key: strings.ToLower(r.word())}
			if s.key == "" || section == "" {
				return nil, errGitConfig
			}
			r.skip(" \t")
			switch {
			case r.end() || r.peek() == '\n':
				s.bare = true
			case r.peek() != '=':
				return nil, errGitConfig
			default:
				r.at++
				var ok bool
				if s.value, ok = r.value(); !ok {
					return nil, errGitConfig
				}
			}
			out = append(out, s)
		}
	}
}

// gitText is a configuration while it is read.
type gitText struct {
	text string
	at   int
}

func (r *gitText) end() bool { return r.at >= len(r.text) }

func (r *gitText) peek() byte {
	if r.end() {
		return 0
	}
	return r.text[r.at]
}

func (r *gitText) skip(set string) {
	for !r.end() && strings.IndexByte(set, r.text[r.at]) >= 0 {
		r.at++
	}
}

func (r *gitText) line() {
	for !r.end() && r.text[r.at] != '\n' {
		r.at++
	}
}

// word reads a name: letters, digits and -.
func (r *gitText) word() string {
	from := r.at
	for !r.end() {
		c := r.text[r.at] | 0x20
		if (c < 'a' || c > 'z') && (r.text[r.at] < '0' || r.text[r.at] > '9') && r.text[r.at] != '-' {
			break
		}
		r.at++
	}
	return r.text[from:r.at]
}

// head reads [a], [a.b] or [a "b"].
func (r *gitText) head() (section, sub string, ok bool) {
	r.at++
	section = strings.ToLower(r.word())
	if section == "" {
		return "", "", false
	}
	if r.peek() == '.' {
		from := r.at + 1
		for !r.end() && strings.IndexByte("]\n \t\"", r.text[r.at]) < 0 {
			r.at++
		}
		sub = strings.ToLower(r.text[from:r.at])
	}
	r.skip(" \t")
	if r.peek() == '"' {
		var b strings.Builder
		for r.at++; !r.end() && r.peek() != '"'; r.at++ {
			if r.peek() == '\\' {
				r.at++
			}
			if r.end() || r.peek() == '\n' {
				return "", "", false
			}
			b.WriteByte(r.peek())
		}
		if r.end() {
			return "", "", false
		}
		r.at++
		if sub != "" {
			sub += "."
		}
		sub += b.String()
	}
	if r.peek() != ']' {
		return "", "", false
	}
	r.at++
	return section, sub, true
}

// value reads what stands behind the =.
func (r *gitText) value() (string, bool) {
	r.skip(" \t")
	var b strings.Builder
	quoted, kept := false, 0 // kept: what trailing blanks do not count of
	for ; ; r.at++ {
		c := r.peek()
		switch {
		case r.end() || c == '\n':
			return b.String()[:kept], !quoted
		case !quoted && (c == '#' || c == ';'):
			r.line()
			return b.String()[:kept], true
		case c == '"':
			quoted = !quoted
			kept = b.Len()
			continue
		case c == '\\':
			r.at++
			switch e := r.peek(); e {
			case '\n':
				continue
			case 'n', 't', 'b':
				b.WriteByte(map[byte]byte{'n': '\n', 't': '\t', 'b': '\b'}[e])
			case '"', '\\':
				b.WriteByte(e)
			default:
				return "", false
			}
			kept = b.Len()
			continue
		}
		b.WriteByte(c)
		if quoted || c != ' ' && c != '\t' && c != '\r' {
			kept = b.Len()
		}
	}
}
