package register

import (
	"strings"
	"unicode/utf8"
)

// url reads an address with a scheme; the word at i may have something before it.
func (s *scanner) url(i, end int) int {
	t := s.text
	at := strings.Index(t[i:end], "://")
	if at < 1 {
		return 0
	}
	from := i + at
	for from > i && isAlnum(t[from-1]) {
		from--
	}
	if from != i { // split first
		return 0
	}
	stop := i + at + 3
	open := 0
	for stop < len(t) && stop-i < 4*longest {
		c := t[stop]
		if c == ',' && strings.HasPrefix(t[stop+1:], "http") {
			break
		}
		if c <= ' ' || strings.IndexByte("\"'<>`|\\^{}[]", c) >= 0 || c == ')' && open == 0 {
			break
		}
		switch c {
		case '(':
			open++
		case ')':
			open--
		}
		if c >= utf8.RuneSelf {
			r, n := utf8.DecodeRuneInString(t[stop:])
			if breaks(r) {
				break
			}
			stop += n
			continue
		}
		stop++
	}
	for stop > i && strings.IndexByte(".,;:!?*)(_~", t[stop-1]) >= 0 && !(t[stop-1] == ')' && strings.Count(t[i:stop], "(") >= strings.Count(t[i:stop], ")")) {
		stop--
	}
	if stop <= i+at+3 {
		return 0
	}
	if stop-i >= 3*longest { // data in it
		return stop
	}
	s.addURL(i, stop, at+3)
	return stop
}

// addURL adds a URL; its host begins host bytes behind its beginning.
func (s *scanner) addURL(i, end, host int) {
	u := s.text[i:end]
	slash := strings.IndexAny(u[host:], "/?#")
	if slash < 0 {
		slash = len(u) - host
	}
	name, rest := lower(u[host:host+slash]), u[host+slash:]
	norm := lower(u[:host]) + name + strings.TrimSuffix(rest, "/")
	if s.kept == nil {
		s.add(URL, i, end, norm)
		return
	}
	bare, _, _ := strings.Cut(name, ":")
	s.add(URL, i, end, norm, name, bare, strings.TrimPrefix(name, "www."), name+strings.TrimSuffix(rest, "/"))
	s.keepPaths(rest)
}

// email reads an address of mail.
func (s *scanner) email(i, end int) int {
	w := s.text[i:end]
	at := strings.IndexByte(w, '@')
	from := at
	for from > 0 && (isAlnum(w[from-1]) || w[from-1] >= utf8.RuneSelf || strings.IndexByte("._+-", w[from-1]) >= 0) {
		from--
	}
	if from > 0 || at == 0 { // split first
		return 0
	}
	stop := at + 1
	for stop < len(w) && (isAlnum(w[stop]) || w[stop] >= utf8.RuneSelf || w[stop] == '.' || w[stop] == '-') {
		stop++
	}
	dot := strings.LastIndexByte(w[:stop], '.')
	if dot < at+2 || stop-dot < 3 || isDigit(w[dot+1]) {
		return 0
	}
	if rest := w[stop:]; len(rest) > 1 && rest[0] == ':' && strings.Contains(rest, "/") { // as git writes it
		s.add(URL, i, end, w, lower(w[:stop]))
		return end
	}
	s.add(Email, i, i+stop, lower(w[:stop]))
	return i + stop
}

// slashed is a word with slashes: a path, the number of a document, or neither.
func (s *scanner) slashed(i, end int, h shape) int {
	w := s.text[i:end]
	if isDocument(w, h) {
		s.add(ID, i, end, lower(w))
		return end
	}
	if cidr(w) {
		s.add(Address, i, end, w, w[:strings.IndexByte(w, '/')])
		return end
	}
	if h.pluses > 0 || h.ats > 0 && h.dots == 0 || h.commas > 0 || !isPath(w, h) {
		return s.bareDomain(i, end, h)
	}
	norm := strings.ReplaceAll(w, `\\`, `\`)
	if h.backs > 0 {
		norm = lower(norm) // Windows does not tell them apart
	}
	short := norm
	if h.colons > 0 && h.backs == 0 {
		short, _, _ = strings.Cut(norm, ":")
	}
	s.add(Path, i, end, strings.TrimSuffix(norm, "/"), short)
	s.keepPaths(short)
	return end
}

// keepPaths gathers what a path ends with.
func (s *scanner) keepPaths(p string) {
	if s.kept == nil {
		return
	}
	p, _, _ = strings.Cut(p, "?")
	for range splits {
		at := strings.IndexAny(p, `/\`)
		if at < 0 {
			break
		}
		p = p[at+1:]
		if end := strings.TrimSuffix(p, "/"); end != "" {
			s.kept[end] = true
		}
	}
}

// isDocument says whether a word is like INV/2024/05/17.
func isDocument(w string, h shape) bool {
	if h.slashes == 0 || h.digits == 0 || h.dots+h.colons+h.backs+h.lows > 0 || w[0] == '/' || w[len(w)-1] == '/' {
		return false
	}
	first, _, _ := strings.Cut(w, "/")
	f := look(first)
	if f.letters > 0 && f.letters == f.upper && len(first) <= 12 {
		return h.letters == h.upper
	}
	return h.letters > 0 && h.letters == h.upper && f.digits > 0 && f.letters == 0 && h.digits >= 4
}

// isPath tells paths from what people write with a slash, as "and/or".
func isPath(w string, h shape) bool {
	if strings.Contains(w, "//") && h.backs == 0 || h.letters == 0 {
		return false
	}
	if len(w) > 2 && w[1] == ':' && (w[2] == '\\' || w[2] == '/') {
		return true
	}
	if h.backs > 0 {
		return strings.HasPrefix(w, `\\`) || h.slashes == 0 && h.colons == 0 && h.dots > 0 && suffix(lower(w[strings.LastIndexByte(w, '.')+1:])) && !strings.Contains(w, `\n`)
	}
	if h.colons > 0 && !isLine(w[strings.IndexByte(w, ':')+1:]) {
		return false
	}
	if len(w) >= 60 && h.upper > 8 && h.dots+h.lows+h.dashes == 0 && w[0] != '/' { // base64
		return false
	}
	if w[0] == '/' || w[0] == '~' || strings.HasPrefix(w, "./") || strings.HasPrefix(w, "../") {
		return true
	}
	if isDigit(w[0]) && h.dots == 0 {
		return h.slashes > 1
	}
	first, rest, _ := strings.Cut(w, "/")
	if strings.Contains(first, ".") && topLevel(lower(first[strings.LastIndexByte(first, '.')+1:])) {
		return false
	}
	if dot := strings.LastIndexByte(w, '.'); dot > 0 && suffix(lower(strings.SplitN(w[dot+1:], ":", 2)[0])) {
		return true
	}
	return h.slashes > 1 || rest == "" || folder(first) || h.wide == 0 && h.lows > 0 || h.dashes > 0 && h.digits > 0
}

// isLine says whether a word is the line, or line and column, behind a path.
func isLine(w string) bool {
	if w == "" || !isDigit(w[0]) {
		return false
	}
	return strings.Trim(w, "0123456789:-") == ""
}

func cidr(w string) bool {
	ip, size, ok := strings.Cut(w, "/")
	return ok && isIP(ip) && size != "" && len(size) <= 2 && digitsOf(size) == size
}

func isIP(w string) bool {
	groups := 0
	for part := range strings.SplitSeq(w, ".") {
		if groups++; part == "" || len(part) > 3 || digitsOf(part) != part || number(part) > 255 {
			return false
		}
	}
	return groups == 4
}

// bareDomain is a domain without a scheme, perhaps with a path.
func (s *scanner) bareDomain(i, end int, h shape) int {
	w := s.text[i:end]
	host, _, _ := strings.Cut(w, "/")
	host, port, _ := strings.Cut(host, ":")
	if digitsOf(port) != port || len(port) > 5 || h.backs > 0 || !isDomain(host) && host != "localhost" && !isIP(host) {
		return 0
	}
	s.addURL(i, end, 0)
	return end
}

func isDomain(w string) bool {
	dot := strings.LastIndexByte(w, '.')
	if dot < 1 || !topLevel(lower(w[dot+1:])) {
		return false
	}
	labels := 0
	for part := range strings.SplitSeq(w, ".") {
		if labels++; part == "" || strings.ContainsAny(part, "_,'@:+~") {
			return false
		}
	}
	first := w[:strings.IndexByte(w, '.')]
	return len(first) > 1 || labels > 2
}

// colon is a word with colons: an address, or a file and its line.
func (s *scanner) colon(i, end int, h shape) int {
	w := s.text[i:end]
	if h.letters+h.digits+h.colons == len(w) && h.hex == h.letters && h.digits > 0 {
		if h.colons == 5 && len(w) == 17 || h.colons == 7 || h.colons < 8 && strings.Contains(w, "::") && h.colons > 1 {
			s.add(Address, i, end, lower(w))
			return end
		}
	}
	if h.colons > 2 {
		return 0
	}
	host, port, _ := strings.Cut(w, ":")
	dot := strings.LastIndexByte(host, '.')
	if dot > 0 && suffix(lower(host[dot+1:])) && isLine(port) {
		s.add(Path, i, end, w, host)
		return end
	}
	if len(port) < 2 || len(port) > 5 || digitsOf(port) != port {
		return 0
	}
	name := look(host)
	if isIP(host) || isDomain(host) || host == "localhost" || name.letters > 0 && (name.dashes > 0 || name.digits > 0) && name.lows == 0 && len(port) > 3 {
		s.add(Address, i, end, lower(w), lower(host))
		return end
	}
	return 0
}
