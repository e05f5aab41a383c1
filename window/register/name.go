package register

import "strings"

// named is a word of letters, digits and the marks inside names.
func (s *scanner) named(i, end int, h shape) int {
	w := s.text[i:end]
	if h.ats+h.commas > 0 {
		return 0
	}
	if next := s.iban(i, end, h); next > 0 {
		return next
	}
	if h.dots > 0 {
		return s.dotted(i, end, h)
	}
	if h.digits == 0 || h.pluses > 0 {
		return 0
	}
	switch {
	case isUUID(w, h):
		s.add(ID, i, end, lower(w))
	case h.dashes == 5 && len(w) == 17 && h.hex == h.letters:
		s.add(Address, i, end, strings.ReplaceAll(lower(w), "-", ":"))
	case isHash(w, h), isID(w, h):
		s.add(ID, i, end, lower(w))
	case len(w) > 1 && (w[0] == 'v' || w[0] == 'V') && h.letters == 1 && h.digits == len(w)-1:
		s.add(Version, i, end, w[1:])
	default:
		return 0
	}
	return end
}

// dotted is a word with dots: an address, a file, a version, a domain.
func (s *scanner) dotted(i, end int, h shape) int {
	w := s.text[i:end]
	if h.dots == 3 && isIP(w) {
		s.add(Address, i, end, w)
		return end
	}
	if v := strings.TrimPrefix(strings.TrimPrefix(w, "v"), "V"); isVersion(v, len(v) < len(w)) {
		s.add(Version, i, end, lower(v))
		return end
	}
	dot := strings.LastIndexByte(w, '.')
	if h.letters > 0 && dot > 0 && suffix(lower(w[dot+1:])) && h.pluses == 0 && w[dot-1] != '.' {
		s.add(Path, i, end, w)
		return end
	}
	if h.letters > 0 && h.pluses == 0 && isDomain(w) {
		s.addURL(i, end, 0)
		return end
	}
	if h.letters > 0 && h.digits > 2 && h.letters == h.upper && h.pluses == 0 { // as A.12.345
		s.add(ID, i, end, lower(w))
		return end
	}
	return 0
}

// isVersion says whether a word is a version: three numbers, or two behind a v,
// and what semver may have behind them.
func isVersion(w string, marked bool) bool {
	core := w
	if at := strings.IndexAny(w, "-+"); at >= 0 {
		core = w[:at]
		if at+1 == len(w) || strings.Trim(lower(w[at+1:]), "abcdefghijklmnopqrstuvwxyz0123456789.-+") != "" {
			return false
		}
	}
	n := 0
	for part := range strings.SplitSeq(core, ".") {
		if n++; part == "" || len(part) > 8 || digitsOf(part) != part {
			return false
		}
	}
	return n >= 3 && n <= 8 || n == 2 && marked
}

func isUUID(w string, h shape) bool {
	return len(w) == 36 && h.dashes == 4 && h.hex == h.letters && w[8] == '-' && w[13] == '-' && w[18] == '-' && w[23] == '-'
}

// isHash says whether a word is hex, at least as long as git cuts it.
func isHash(w string, h shape) bool {
	if len(w) > 2 && w[0] == '0' && (w[1] == 'x' || w[1] == 'X') {
		return h.hex == h.letters-1 && h.letters+h.digits == len(w)
	}
	return len(w) >= 7 && len(w) <= 128 && h.hex == h.letters && h.letters > 0 && h.letters+h.digits == len(w) && (h.upper == 0 || h.upper == h.letters)
}

// isID says whether a word of letters and digits is a name that somebody gave by
// number, and not an ordinary word with a digit.
func isID(w string, h shape) bool {
	if h.letters == 0 || len(w) > 80 {
		return false
	}
	small := h.letters - h.upper
	if h.dashes+h.lows > 0 {
		if isDigit(w[0]) {
			return h.upper > 0 || h.lows > 0 || h.digits >= 5
		}
		return len(w) > 3
	}
	switch {
	case small == 0:
		return len(w) >= 5 || h.digits >= 2
	case h.upper == 0:
		return h.digits >= 3
	}
	return h.digits >= 3 || h.digits == 2 && len(w) >= 8
}

// hash reads "#123" and "№ 123".
func (s *scanner) hash(i, after int) int {
	p := after
	if s.text[i] != '#' {
		p += s.gap(after)
	}
	if p >= len(s.text) || !isAlnum(s.text[p]) {
		return after
	}
	_, end := s.trim(p, s.wordEnd(p))
	h := look(s.text[p:end])
	if end-p > 80 || h.slashes+h.backs+h.colons+h.ats+h.pluses > 0 {
		return after
	}
	if h.digits == 0 || h.commas > 0 || h.dots > 0 {
		return after
	}
	from := i
	if s.near(i) && h.letters == 0 {
		from = s.label
	}
	s.add(ID, from, end, lower(s.text[p:end]))
	return end
}

// iban reads the number of a bank account, in one or in groups of four.
func (s *scanner) iban(i, end int, h shape) int {
	t := s.text
	if end-i < 4 || end-i > 34 || !isUpper(t[i]) || !isUpper(t[i+1]) || !isDigit(t[i+2]) || !isDigit(t[i+3]) || h.letters != h.upper || h.letters+h.digits != end-i {
		return 0
	}
	norm, j := t[i:end], end
	for len(norm) < 34 && (end-i == 4) {
		n := s.gap(j)
		k := j + n
		for k < len(t) && k-j-n < 5 && (isDigit(t[k]) || isUpper(t[k])) {
			k++
		}
		if n == 0 || k == j+n || k-j-n > 4 || s.letterAt(k) || digitsOf(t[j+n:k]) == "" {
			break
		}
		norm += t[j+n : k]
		last := k-j-n < 4
		if j = k; last {
			break
		}
	}
	if len(norm) < 15 || len(digitsOf(norm)) < 10 {
		return 0
	}
	s.add(ID, i, j, lower(norm))
	return j
}
