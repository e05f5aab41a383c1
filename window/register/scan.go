package register

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Words longer than longest are data and not read: that bounds the work on each.
const (
	longest = 1024
	splits  = 16 // of a word into parts
)

type key struct {
	kind Kind
	norm string
}

// A scanner goes over a text once. It looks ahead a bounded way at each word.
type scanner struct {
	text  string
	seen  map[key]bool
	facts []Fact
	// kept, where it is set, gathers all the ways in which a fact may have been
	// written instead, also small numbers and what lies inside another fact.
	kept map[string]bool

	label, labelEnd int // the word before, if it is one like "port"
	last            string
	sentence        int // where it began
	mark            int // where a word of decision stands in it, -1: nowhere
}

func (s *scanner) run() {
	s.mark, s.labelEnd = -1, -1
	for i := 0; i < len(s.text); {
		c := s.text[i]
		if c < utf8.RuneSelf && !starts(c) {
			s.pause(i, c)
			i++
			continue
		}
		i = max(s.token(i), i+1)
	}
	s.end(len(s.text))
}

// starts says whether a word or a fact may begin with a byte.
func starts(c byte) bool {
	return isAlnum(c) || c == '/' || c == '\\' || c == '.' || c == '~' || c == '#' || c == '+' || c == '-' || c == '$' || c == ':' || c == '_'
}

// token reads what begins at i, and says where to go on.
func (s *scanner) token(i int) int {
	r, n := utf8.DecodeRuneInString(s.text[i:])
	switch {
	case sign(r) != "":
		return s.priced(i, i+n)
	case r == '#' || r == '№':
		return s.hash(i, i+n)
	case r == '+' || (r == '-' || r == '−') && s.signed(i, i+n):
		if p := i + n; s.digitAt(p) || p < len(s.text) && s.text[p] == '(' {
			_, stop := s.trim(p, s.wordEnd(p))
			return max(s.numeric(i, p, stop), p)
		}
		return i + n
	case r == '~' && !strings.HasPrefix(s.text[i:], "~/"):
		return i + n
	case breaks(r):
		s.ideograph(i)
		if r == '。' || r == '！' || r == '？' {
			s.end(i + n)
		}
		return i + n
	}
	end := s.wordEnd(i)
	if end-i > longest {
		return end
	}
	if end == i {
		return i + n
	}
	left := splits
	return s.word(i, end, &left)
}

// signed says whether a dash from i on is the sign of a number.
func (s *scanner) signed(i, after int) bool {
	if !s.digitAt(after) {
		return false
	}
	if i == 0 {
		return true
	}
	r, _ := utf8.DecodeLastRuneInString(s.text[:i])
	return unicode.IsSpace(r) || strings.ContainsRune(`([{"':=,;|`, r)
}

// wordEnd is the end of the word at i: no space, quote, bracket or sign is in it.
func (s *scanner) wordEnd(i int) int {
	t := s.text
	j := i
	for j < len(t) {
		c := t[j]
		if c < utf8.RuneSelf {
			switch {
			case isAlnum(c), c == '.', c == ':', c == '/', c == '\\', c == '-', c == '_', c == '@':
			case c == ',' || c == '\'':
				if j == i || !isDigit(t[j-1]) || !s.digitAt(j+1) {
					return j
				}
			case c == '+':
				if j == i || !isAlnum(t[j-1]) || j+1 >= len(t) || !isAlnum(t[j+1]) {
					return j
				}
			case c == '~' && j == i:
			default:
				return j
			}
			j++
			continue
		}
		r, n := utf8.DecodeRuneInString(t[j:])
		if breaks(r) || sign(r) != "" || r == '№' {
			return j
		}
		j += n
	}
	return j
}

// breaks says whether a rune beyond ASCII ends a word: all but letters, marks
// and digits of scripts that put spaces between words.
func breaks(r rune) bool {
	switch {
	case r < utf8.RuneSelf:
		return false
	case r == utf8.RuneError, r >= 0x2E80 && r < 0xAC00, r >= 0xF900 && r < 0xFB00, r >= 0xFE30:
		return true
	}
	return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r)
}

// word finds the facts of the word from i to end, and of what goes on behind it.
func (s *scanner) word(i, end int, left *int) int {
	i, stop := s.trim(i, end)
	if i >= stop {
		return end
	}
	w := s.text[i:stop]
	h := look(w)
	if h.digits == 0 && !h.marks() {
		return max(s.plain(i, stop), stop)
	}
	if next := s.special(i, stop, h); next > 0 {
		return next
	}
	return s.split(i, stop, end, h, left)
}

// trim drops what is punctuation around a word.
func (s *scanner) trim(i, end int) (int, int) {
	for i < end && (s.text[i] == ':' || s.text[i] == '-') || i+1 < end && s.text[i] == '.' && isDigit(s.text[i+1]) {
		i++
	}
	for end > i && strings.IndexByte(".,:-\\'", s.text[end-1]) >= 0 {
		end--
	}
	return i, end
}

// special tries what a word with digits or marks can be, and returns where that
// ends; 0: it is nothing known.
func (s *scanner) special(i, end int, h shape) int {
	w := s.text[i:end]
	if h.colons > 0 && h.slashes > 1 {
		if next := s.url(i, end); next > 0 {
			return next
		}
	}
	if h.ats > 0 {
		return s.email(i, end)
	}
	if isDigit(w[0]) {
		if next := s.numeric(i, i, end); next > 0 {
			return next
		}
	}
	if h.backs > 0 || h.slashes > 0 {
		return s.slashed(i, end, h)
	}
	if h.colons > 0 {
		return s.colon(i, end, h)
	}
	return s.named(i, end, h)
}

// split reads the parts of a word that is nothing as a whole.
func (s *scanner) split(i, stop, end int, h shape, left *int) int {
	if *left--; *left < 0 {
		return end
	}
	w := s.text[i:stop]
	at := -1
	if isDigit(w[0]) && h.backs == 0 {
		at = strings.IndexByte(w, '-')
	}
	for _, c := range []byte(`\:@/,-+._`) {
		if at >= 0 {
			break
		}
		at = strings.IndexByte(w, c)
	}
	if at < 0 {
		s.inside(i, stop)
		return stop
	}
	if next := s.word(i, i+at, left); next > i+at {
		return next
	}
	skip := 1
	if rest := w[at:]; rest[0] == '\\' && len(rest) > 1 { // written so in JSON
		switch {
		case strings.IndexByte("nrt", rest[1]) >= 0:
			skip = 2
			s.end(i + at)
			s.sentence = i + at + skip
		case rest[1] == 'u' && len(rest) > 5:
			skip = 6
		}
	}
	return s.word(min(i+at+skip, end), end, left)
}

// plain is a word of letters. It says where to go on, 0: behind the word.
func (s *scanner) plain(i, end int) int {
	last := s.last
	s.last = ""
	if end-i > 40 {
		return 0
	}
	w := lower(s.text[i:end])
	if s.mark < 0 && decides(last, w, s.text[end:]) {
		s.mark = i
	}
	if next := s.monthFirst(i, end, w); next > 0 {
		return next
	}
	upper := end-i >= 3 && end-i <= 8 && isUpper(s.text[i]) && isUpper(s.text[i+1]) && s.text[i:end] == strings.ToUpper(s.text[i:end])
	if upper {
		if next := s.coded(i, end); next > 0 {
			return next
		}
	}
	switch {
	case label(w):
		s.label, s.labelEnd = i, end
	case w == "must", w == "nie", w == "have", w == "has", w == "had", w == "ve":
		s.last = w
	}
	return 0
}

// coded is a word of capitals: a currency before its number, or a code like the
// locators of airlines, where something says that it is one.
func (s *scanner) coded(i, end int) int {
	if end-i == 3 {
		if cur := code(s.text[i:end]); cur != "" {
			p := end + s.gap(end)
			if s.digitAt(p) {
				return s.amount(i, p, cur)
			}
		}
		return 0
	}
	if end-i < 5 {
		return 0
	}
	if s.kept != nil {
		s.kept[lower(s.text[i:end])] = true
	}
	quoted := end-i == 6 && i > 0 && end < len(s.text) && s.text[i-1] == '"' && s.text[end] == '"'
	if quoted || s.labelEnd >= 0 && named(lower(s.text[s.label:s.labelEnd])) && s.near(i) {
		s.add(ID, i, end, lower(s.text[i:end]))
		return end
	}
	return 0
}

// near says whether the label stands directly before i.
func (s *scanner) near(i int) bool {
	if s.labelEnd < 0 || s.labelEnd > i || i-s.labelEnd > 4 {
		return false
	}
	if strings.Contains(s.text[s.labelEnd:i], "  ") {
		return false
	}
	for _, r := range s.text[s.labelEnd:i] {
		if !strings.ContainsRune(" :#=.№\u00a0", r) {
			return false
		}
	}
	return i > s.labelEnd
}

// lower is ToLower without a copy where there is nothing to do.
func lower(w string) string {
	for i := range len(w) {
		if c := w[i]; c >= utf8.RuneSelf || isUpper(c) {
			return strings.ToLower(w)
		}
	}
	return w
}

// add records what stands from i to end.
func (s *scanner) add(kind Kind, i, end int, norm string, also ...string) {
	if s.kept != nil {
		s.kept[norm] = true
		for _, a := range also {
			s.kept[a] = true
		}
		if kind != Decision {
			s.inside(i, end)
		}
		return
	}
	k := key{kind, norm}
	if s.seen[k] {
		return
	}
	k.norm = strings.Clone(norm)
	s.seen[k] = true
	s.facts = append(s.facts, Fact{Kind: kind, Text: strings.Clone(s.text[i:end]), Norm: k.norm})
}

// inside gathers the parts of a fact, for texts that hold it within another.
func (s *scanner) inside(i, end int) {
	if s.kept == nil {
		return
	}
	t := s.text
	for i < end {
		j, digits, at := i, false, i
		for j < end && (isAlnum(t[j]) || (t[j] == '-' || t[j] == '_') && j > i) {
			if !isAlnum(t[j]) || digits && !isDigit(t[j]) || j > at && isDigit(t[j]) && !isDigit(t[j-1]) {
				s.keepDigits(at, j)
				at = j
			}
			digits = digits || isDigit(t[j])
			j++
		}
		if digits {
			s.keepDigits(at, j)
			s.kept[strings.ToLower(t[i:j])] = true
		}
		i = max(j, i+1)
	}
}

func (s *scanner) keepDigits(i, end int) {
	for i < end && !isDigit(s.text[i]) {
		i++
	}
	j := i
	for j < end && isDigit(s.text[j]) {
		j++
	}
	if j > i {
		s.kept[s.text[i:j]] = true
	}
}

// A shape counts what a word is made of.
type shape struct {
	letters, upper, digits, hex          int // hex counts letters
	wide                                 int // letters beyond ASCII
	dots, colons, slashes, backs, ats    int
	dashes, lows, commas, pluses, tildes int
}

func (h shape) marks() bool { return h.dots+h.colons+h.slashes+h.backs+h.ats > 0 }

func look(w string) shape {
	var h shape
	for _, r := range w {
		switch {
		case '0' <= r && r <= '9':
			h.digits++
		case 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z':
			h.letters++
			if r < 'a' {
				h.upper++
			}
			if l := r | 0x20; l <= 'f' {
				h.hex++
			}
		case r == '.':
			h.dots++
		case r == ':':
			h.colons++
		case r == '/':
			h.slashes++
		case r == '\\':
			h.backs++
		case r == '@':
			h.ats++
		case r == '-':
			h.dashes++
		case r == '_':
			h.lows++
		case r == ',':
			h.commas++
		case r == '+':
			h.pluses++
		case r == '~':
			h.tildes++
		case r >= utf8.RuneSelf:
			h.letters++
			h.wide++
			if unicode.IsUpper(r) {
				h.upper++
			}
		}
	}
	return h
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func isUpper(c byte) bool { return 'A' <= c && c <= 'Z' }

func isAlnum(c byte) bool {
	return isDigit(c) || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

func (s *scanner) digitAt(i int) bool { return i < len(s.text) && isDigit(s.text[i]) }

// letterAt says whether a letter or digit stands at i, so that a word goes on.
func (s *scanner) letterAt(i int) bool {
	r, _ := utf8.DecodeRuneInString(s.text[min(i, len(s.text)):])
	return (unicode.IsLetter(r) || unicode.IsDigit(r)) && !breaks(r)
}

// gap is the length of a space at i that may lie inside a number or a date; 0:
// there is none, or it is not one alone.
func (s *scanner) gap(i int) int {
	if i >= len(s.text) {
		return 0
	}
	switch t := s.text[i:]; {
	case t[0] == ' ':
		return 1
	case t[0] < utf8.RuneSelf:
		return 0
	case strings.HasPrefix(t, "\u00a0"):
		return 2
	case strings.HasPrefix(t, "\u202f"), strings.HasPrefix(t, "\u2009"):
		return 3
	}
	return 0
}

// letters is the end of the run of letters at i.
func (s *scanner) letters(i int) int {
	j := i
	for j < len(s.text) && j-i < 40 {
		r, n := utf8.DecodeRuneInString(s.text[j:])
		if !unicode.IsLetter(r) || breaks(r) {
			break
		}
		j += n
	}
	return j
}
