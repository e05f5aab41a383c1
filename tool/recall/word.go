package recall

import (
	"unicode"
	"unicode/utf8"
)

// A word is a token as it is compared: in lower case, without marks on letters.
type word struct {
	text       []byte // valid until the next word
	pos        int    // place in the text: words that follow each other differ by one
	start, end int    // bytes in the text
}

const longWord = 128 // bytes that are compared

// words yields the words of a text: runs of letters and digits; for Chinese and
// Japanese, which have no spaces, each character and each pair of them. Groups of
// digits that make one number, "1 234" or "1,234", are yielded joined too.
func words(text string, yield func(word)) {
	var w cutter
	for at := 0; at < len(text); {
		if c := text[at]; c < utf8.RuneSelf {
			if c = lower(c); c != 0 {
				w.add(at, c)
			} else {
				w.end(at, yield)
			}
			at++
			continue
		}
		r, size := utf8.DecodeRuneInString(text[at:])
		switch {
		case ideograph(r):
			w.end(at, yield)
			w.ideograph(text[at:at+size], at, yield)
		case unicode.Is(unicode.Mn, r) || r == '\u00ad': // a mark on the letter before, a soft hyphen
		case r >= '０' && r <= 'ｚ' && lower(byte(r-'０'+'0')) != 0: // full width
			w.add(at, lower(byte(r-'０'+'0')))
		case unicode.IsLetter(r) || unicode.IsDigit(r):
			w.add(at, w.fold(unicode.ToLower(r))...)
		default:
			w.end(at, yield)
		}
		at += size
	}
	w.end(len(text), yield)
}

// A cutter is in the middle of a text.
type cutter struct {
	buf    []byte // the word so far
	letter [utf8.UTFMax]byte
	start  int
	pos    int
	number []byte // groups of digits that may go on
	from   int    // where they began
	until  int    // where the last of them ended
	groups int
	last   []byte // the ideograph before
	after  int    // where it ended
	pair   []byte
}

// add puts a letter at a place of the text to the word.
func (w *cutter) add(at int, letter ...byte) {
	if len(w.buf) == 0 {
		w.start = at
	}
	if len(w.buf) < longWord {
		w.buf = append(w.buf, letter...)
	}
}

// end yields the word before at, if there is one.
func (w *cutter) end(at int, yield func(word)) {
	if len(w.buf) == 0 {
		return
	}
	w.pos++
	yield(word{w.buf, w.pos, w.start, at})
	w.join(at, yield)
	w.buf = w.buf[:0]
}

// join puts groups of three digits together. One byte or a narrow space stands
// between them.
func (w *cutter) join(at int, yield func(word)) {
	const group, gap = 3, 3
	n := len(w.buf)
	digits := n <= group && n == at-w.start
	for _, c := range w.buf[:min(n, group)] {
		digits = digits && c >= '0' && c <= '9'
	}
	if digits && n == group && w.groups > 0 && w.start-w.until <= gap {
		w.number = append(w.number, w.buf...)
		w.until, w.groups = at, w.groups+1
		yield(word{w.number, w.pos, w.from, at})
		return
	}
	w.number, w.groups = w.number[:0], 0
	if digits {
		w.number, w.from, w.until, w.groups = append(w.number, w.buf...), w.start, at, 1
	}
}

func (w *cutter) ideograph(r string, at int, yield func(word)) {
	w.pos++
	w.groups = 0
	w.buf = append(w.buf[:0], r...)
	yield(word{w.buf, w.pos, at, at + len(r)})
	w.buf = w.buf[:0]
	if len(w.last) > 0 && w.after == at {
		w.pair = append(append(w.pair[:0], w.last...), r...)
		yield(word{w.pair, w.pos, at - len(w.last), at + len(r)})
	}
	w.last, w.after = append(w.last[:0], r...), at+len(r)
}

func ideograph(r rune) bool {
	return r >= 0x3040 && (r <= 0x30ff || r >= 0x3400 && r <= 0x9fff || r >= 0xf900 && r <= 0xfaff || r >= 0x20000 && r <= 0x3ffff)
}

// lower is an ASCII letter in lower case, or a digit; 0 for all else.
func lower(c byte) byte {
	switch {
	case c >= 'a' && c <= 'z', c >= '0' && c <= '9':
		return c
	case c >= 'A' && c <= 'Z':
		return c + 'a' - 'A'
	}
	return 0
}

// fold is a letter in lower case as it is compared, until the next one.
func (w *cutter) fold(r rune) []byte {
	if plain := bare(r); plain != "" {
		return append(w.letter[:0], plain...)
	}
	return utf8.AppendRune(w.letter[:0], r)
}

// bare is a letter without its marks, where it is one of those that Europe's
// languages write; else "".
func bare(r rune) string {
	switch r {
	case 'à', 'á', 'â', 'ã', 'ä', 'å', 'ā', 'ă', 'ą':
		return "a"
	case 'ç', 'ć', 'ĉ', 'ċ', 'č':
		return "c"
	case 'ď', 'đ', 'ð':
		return "d"
	case 'è', 'é', 'ê', 'ë', 'ē', 'ĕ', 'ė', 'ę', 'ě':
		return "e"
	case 'ĝ', 'ğ', 'ġ', 'ģ':
		return "g"
	case 'ì', 'í', 'î', 'ï', 'ĩ', 'ī', 'ĭ', 'į', 'ı':
		return "i"
	case 'ł', 'ľ', 'ĺ', 'ļ':
		return "l"
	case 'ñ', 'ń', 'ņ', 'ň':
		return "n"
	case 'ò', 'ó', 'ô', 'õ', 'ö', 'ø', 'ō', 'ŏ', 'ő':
		return "o"
	case 'ŕ', 'ř':
		return "r"
	case 'ś', 'ŝ', 'ş', 'š', 'ș':
		return "s"
	case 'ţ', 'ť', 'ț':
		return "t"
	case 'ù', 'ú', 'û', 'ü', 'ũ', 'ū', 'ŭ', 'ů', 'ű', 'ų':
		return "u"
	case 'ý', 'ÿ':
		return "y"
	case 'ź', 'ż', 'ž':
		return "z"
	case 'ß':
		return "ss"
	case 'æ':
		return "ae"
	case 'œ':
		return "oe"
	case 'ё':
		return "е"
	case 'й': // written with a mark of its own by some programs
		return "и"
	case 'ї':
		return "і"
	}
	return ""
}
