package command

import (
	"strings"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"
)

// An arg is a word with what is known of it where its text is not.
type arg struct {
	Word
	lead string // how it surely begins, where it is not known
	many bool   // it may become several words, or none
	// path is the file that it names, with ~ and $HOME written out, if named.
	path  string
	named bool
	glob  bool
	pipe  bool // <(…) or >(…): no file
	below bool // what find fills in: somewhere below path
	// values are all that it may stand for, where it is not known which of them.
	values []arg
	list   bool     // it stands for any number of them
	tame   bool     // it is no option, whatever it turns out to be
	odd    string   // as in Path
	at     []string // where its names were found, if that counts
	bash   bool     // Text is what bash makes of it, and no other shell
}

// plain is a word of which everything is known.
func plain(s string) arg {
	return arg{Word: Word{Text: s, Known: true}, lead: s, path: s, named: true}
}

// option says whether the word may be an option.
func (a arg) option() bool {
	if a.Known {
		return strings.HasPrefix(a.Text, "-") && a.Text != "-"
	}
	if a.tame {
		return false
	}
	return a.many || a.lead == "" || a.lead[0] == '-' || a.lead[0] == '+'
}

// from is the rest of a word after its first n bytes, which are known.
func (a arg) from(n int) arg {
	if a.Known {
		return plain(a.Text[n:])
	}
	b := a
	b.values = nil
	for _, v := range a.values {
		b.values = append(b.values, v.from(n))
	}
	b.named = a.named && len(a.path) >= n && len(a.lead) >= n && a.path[:n] == a.lead[:n]
	if b.named {
		b.path = a.path[n:]
		if strings.HasPrefix(b.path, "~") {
			b.named = false
		}
	}
	b.Text, b.lead = cut(a.Text, n), cut(a.lead, n)
	return b
}

func cut(s string, n int) string {
	if n >= len(s) {
		return ""
	}
	for n < len(s) && !utf8.RuneStart(s[n]) {
		n++
	}
	return s[n:]
}

func (r *reader) args(words []*syntax.Word, sc scope) []arg {
	var out []arg
	for _, w := range words {
		if list, ok := braces(w); ok {
			for _, b := range list {
				a := r.arg(b, sc)
				if a.Known {
					a.Known = false
				}
				out = append(out, a)
			}
			continue
		}
		out = append(out, r.arg(w, sc))
	}
	return out
}

// braces writes out a word with {a,b} as bash does. It gives up where that would
// become many words, or the form is not a simple one.
func braces(w *syntax.Word) ([]*syntax.Word, bool) {
	if !braced(w) {
		return nil, false
	}
	c := &syntax.Word{Parts: append([]syntax.WordPart(nil), w.Parts...)}
	if !syntax.SplitBraces(c) {
		return nil, false
	}
	list := [][]syntax.WordPart{nil}
	for _, p := range c.Parts {
		b, ok := p.(*syntax.BraceExp)
		if !ok {
			for i := range list {
				list[i] = append(list[i][:len(list[i]):len(list[i])], p)
			}
			continue
		}
		if b.Sequence || len(list)*len(b.Elems) > maxWords {
			return nil, false
		}
		var next [][]syntax.WordPart
		for _, front := range list {
			for _, e := range b.Elems {
				for _, part := range e.Parts {
					if _, nested := part.(*syntax.BraceExp); nested {
						return nil, false
					}
				}
				next = append(next, append(front[:len(front):len(front)], e.Parts...))
			}
		}
		list = next
	}
	out := make([]*syntax.Word, len(list))
	for i, parts := range list {
		out[i] = &syntax.Word{Parts: parts}
	}
	return out, true
}

// braced says whether bash might expand braces in the word.
func braced(w *syntax.Word) bool {
	open, comma := false, false
	for _, p := range w.Parts {
		l, ok := p.(*syntax.Lit)
		if !ok {
			continue
		}
		for i := 0; i < len(l.Value); i++ {
			switch c := l.Value[i]; {
			case c == '\\':
				i++
			case c == '{':
				open = true
			case open && (c == ',' || c == '.' && strings.HasPrefix(l.Value[i:], "..")):
				comma = true
			case c == '}' && comma:
				return true
			}
		}
	}
	return false
}

// arg reads one word as the shell does, as far as that is known before it runs.
func (r *reader) arg(w *syntax.Word, sc scope) arg {
	if len(sc.vars) > 0 && len(w.Parts) > 0 {
		if a, ok := r.stands(w, sc); ok {
			return a
		}
	}
	return r.evaluate(w, sc, nil)
}

// evaluate reads a word in which these variables hold these values.
func (r *reader) evaluate(w *syntax.Word, sc scope, binds map[string]arg) arg {
	e := eval{r: r, sc: sc, known: true, named: true, binds: binds}
	if len(w.Parts) == 1 {
		if _, ok := w.Parts[0].(*syntax.ProcSubst); ok {
			return arg{Word: Word{Text: written(w, sc)}, lead: "/dev/fd/", pipe: true}
		}
	}
	if w.Lit() == "[" { // the program, and no pattern
		return plain("[")
	}
	if braced(w) {
		e.known, e.many = false, true
	}
	for i, p := range w.Parts {
		if l, ok := p.(*syntax.Lit); ok {
			e.tilde(l.Value, i, len(w.Parts))
		}
		e.part(p, false)
	}
	if e.bash && !r.o.Bash && e.known {
		a := arg{Word: Word{Text: e.text.String()}, bash: true}
		return a
	}
	a := arg{lead: e.lead.String(), many: e.many, glob: e.glob, odd: e.odds, at: e.at, named: e.named && !(e.glob && e.odd)}
	if a.named {
		a.path = e.path.String()
	}
	if e.known && !e.glob {
		a.Word = Word{Text: e.text.String(), Known: true}
		a.lead = a.Text
		return a
	}
	if e.glob && e.text.Len() == 0 {
		a.lead = ""
	}
	a.Word = Word{Text: written(w, sc)}
	if a.Text == "" { // made by braces: it stands nowhere in the text
		a.Text = e.text.String()
	}
	return a
}

// written is a word as it stands in the text. Words made of braces do not.
func written(w *syntax.Word, sc scope) string {
	if len(w.Parts) == 0 {
		return ""
	}
	from, to := int(w.Pos().Offset()), int(w.End().Offset())
	if from > to || to > len(sc.src) {
		return ""
	}
	return sc.src[from:to]
}

// An eval puts a word together.
type eval struct {
	r                *reader
	sc               scope
	text, lead, path strings.Builder
	known            bool // nothing that only the run decides has come yet
	named            bool // the path is known
	many, glob       bool
	odd              bool // a letter of patterns stands in quotes
	bash             bool // a plain sh reads it in another way
	skip             int  // bytes of the next literal that are done
	binds            map[string]arg
	odds             string   // as in Path
	at               []string // as in arg
}

func (e *eval) put(s string) {
	e.text.WriteString(s)
	e.path.WriteString(s)
	if e.known && !e.glob {
		e.lead.WriteString(s)
	}
}

func (e *eval) quoted(s string) {
	if strings.ContainsAny(s, `*?[]\`) {
		e.odd = true
	}
	e.put(s)
}

// blank stands for what is not known.
func (e *eval) blank(quoted bool) {
	e.known, e.named = false, false
	if !quoted {
		e.many = true
	}
}

// tilde reads ~ at the start of a word.
func (e *eval) tilde(s string, i, parts int) {
	if i > 0 || !strings.HasPrefix(s, "~") {
		// Bash also writes out a=~ and a:~ where the word looks like an assignment.
		if name, rest, ok := strings.Cut(s, "="); ok && syntax.ValidName(name) && strings.Contains(rest, "~") {
			e.known, e.named = false, false
		}
		return
	}
	user, _, slash := strings.Cut(s[1:], "/")
	if !slash && parts > 1 {
		e.known, e.named = false, false
		return
	}
	e.lead.WriteString("~") // not an option, whatever it is
	e.skip = 1 + len(user)
	e.text.WriteString(s[:e.skip])
	e.known = false
	switch {
	case user == "" && e.r.o.Home != "":
		e.path.WriteString(e.r.o.Home)
	case user == "+" && len(e.sc.dirs) == 1 && e.sc.dirs[0] != "":
		e.path.WriteString(e.sc.dirs[0])
	default:
		e.named = false
	}
}

func (e *eval) part(p syntax.WordPart, quoted bool) {
	switch p := p.(type) {
	case *syntax.Lit:
		e.literal(p.Value, quoted)
	case *syntax.SglQuoted:
		if !p.Dollar {
			e.quoted(p.Value)
			return
		}
		s, ok := ansi(p.Value)
		if !ok {
			e.blank(true)
			return
		}
		e.quoted(s)
		e.bash = true
	case *syntax.DblQuoted:
		if p.Dollar { // translated
			e.blank(true)
		}
		for _, in := range p.Parts {
			e.part(in, true)
			if x, ok := in.(*syntax.ParamExp); ok {
				e.quotes(x)
			}
		}
	case *syntax.ParamExp:
		e.param(p, quoted)
	case *syntax.ArithmExp:
		e.blank(true)
	case *syntax.ExtGlob:
		e.glob, e.named = true, false
	default:
		e.blank(quoted)
	}
}

func (e *eval) literal(s string, quoted bool) {
	s = s[min(e.skip, len(s)):]
	e.skip = 0
	if !quoted {
		if c, ok := hidden(s); ok {
			e.r.unsure("it has a character that looks like a space or like nothing (U+%04X) outside of quotes", c)
		}
	}
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case c == '\\' && i+1 < len(s) && (!quoted || strings.IndexByte("$`\"\\\n", s[i+1]) >= 0):
			i++
			if s[i] != '\n' {
				e.quoted(s[i : i+1])
			}
		case quoted:
			e.quoted(s[i : i+1])
		case c == '*' || c == '?' || c == '[':
			e.glob = true
			e.put(s[i : i+1])
		default:
			e.put(s[i : i+1])
		}
	}
}

func (e *eval) param(p *syntax.ParamExp, quoted bool) {
	if name := simple(p); name != "" {
		if v, ok := e.binds[name]; ok {
			e.value(v, quoted)
			return
		}
		value := ""
		switch {
		case p.Param.Value == "HOME":
			value = e.r.o.Home
		case p.Param.Value == "PWD" && len(e.sc.dirs) == 1:
			value = e.sc.dirs[0]
		}
		if strings.HasPrefix(value, "/") && (quoted || !strings.ContainsAny(value, " \t\n*?[\\")) {
			if e.lead.Len() == 0 && e.known {
				e.lead.WriteString("/")
			}
			e.known = false
			e.path.WriteString(value)
			return
		}
	}
	several := p.Names != 0 || p.Slice != nil || p.Param == nil || p.Param.Value == "@" || p.Index != nil || p.Excl
	e.blank(quoted && !several)
}

// quotes finds a quote in ${…} in quotes: shells do not agree on where it ends.
func (e *eval) quotes(p *syntax.ParamExp) {
	from, to := int(p.Pos().Offset()), int(p.End().Offset())
	if p.Exp != nil && from < to && to <= len(e.sc.src) && strings.ContainsAny(e.sc.src[from:to], `'\`) {
		e.r.unsure("a quote in ${…} in quotes is read by each shell in its own way")
	}
}

// ansi reads what stands in $'…'.
func ansi(s string) (string, bool) {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			b.WriteByte(s[i])
			continue
		}
		i++
		if at := strings.IndexByte("abeEfnrtv\\'\"?", s[i]); at >= 0 {
			b.WriteByte("\a\b\x1b\x1b\f\n\r\t\v\\'\"?"[at])
			continue
		}
		base, most := 16, 2
		from := i + 1
		switch s[i] {
		case 'x':
		case 'u':
			most = 4
		case 'U':
			most = 8
		case 'c':
			return "", false
		default:
			if s[i] < '0' || s[i] > '7' {
				b.WriteString(s[i-1 : i+1])
				continue
			}
			base, most, from = 8, 3, i
		}
		v, n := digits(s[from:], base, most)
		if n == 0 || v == 0 { // the shell ends the text at a NUL
			return "", false
		}
		i = from + n - 1
		if s[from-1] == 'u' || s[from-1] == 'U' {
			if v >= 0x80 { // it hangs on the locale
				return "", false
			}
		}
		b.WriteByte(byte(v))
	}
	return b.String(), true
}

func digits(s string, base, most int) (value, n int) {
	for n < len(s) && n < most {
		d := strings.IndexByte("0123456789abcdef", s[n]|0x20)
		if s[n] >= '0' && s[n] <= '9' {
			d = int(s[n] - '0')
		}
		if d < 0 || d >= base {
			break
		}
		value = value*base + d
		n++
	}
	return value, n
}
