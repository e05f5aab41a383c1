package pdf

import "bytes"

// An object is what a document is made of: nil, bool, float64, name, str, array,
// dict, ref, *stream, or a keyword where something else stands.
type object any

type (
	name    string
	str     string
	keyword string
	array   []object
	dict    map[name]object
	ref     int // number of an object
	stream  struct {
		dict dict
		raw  []byte
	}
)

const (
	maxDepth = 60      // of what is nested
	maxNodes = 400_000 // parts of one object
)

// A lexer reads objects, one after another.
type lexer struct {
	*purse
	data  []byte
	at    int
	nodes int
}

func space(c byte) bool {
	return c == ' ' || c == '\n' || c == '\r' || c == '\t' || c == '\f' || c == 0
}

func delimiter(c byte) bool { return bytes.IndexByte([]byte("()<>[]{}/%"), c) >= 0 }

// skip passes white space and comments.
func (l *lexer) skip() {
	from := l.at
	for l.at < len(l.data) {
		switch c := l.data[l.at]; {
		case space(c):
			l.at++
		case c == '%':
			for l.at < len(l.data) && l.data[l.at] != '\n' && l.data[l.at] != '\r' {
				l.at++
			}
		default:
			l.spend((l.at - from) / 32)
			return
		}
	}
	l.spend((l.at - from) / 32)
}

// next reads an object. It is false at the end of the data, or of the purse.
func (l *lexer) next(depth int) (object, bool) {
	l.skip()
	from := l.at
	if l.at >= len(l.data) || depth > maxDepth || l.nodes > maxNodes || !l.spend(1) {
		l.at = len(l.data)
		return nil, false
	}
	l.nodes++
	defer func() { l.spend((l.at - from) / 64) }()
	c := l.data[l.at]
	switch {
	case c == '/':
		l.at++
		return l.name(), true
	case c == '(':
		l.at++
		return l.text(), true
	case c == '<' && l.peek(1) == '<':
		l.at += 2
		return l.dict(depth + 1), true
	case c == '<':
		l.at++
		return l.hex(), true
	case c == '[':
		l.at++
		return array(l.list("]", depth+1)), true
	case c == '>' && l.peek(1) == '>':
		l.at += 2
		return keyword(">>"), true
	case delimiter(c):
		l.at++
		return keyword(c), true
	}
	word := l.word()
	if n, ok := number(word); ok {
		return n, true
	}
	switch string(word) {
	case "true":
		return true, true
	case "false":
		return false, true
	case "null":
		return nil, true
	}
	return keyword(word), true
}

func (l *lexer) peek(n int) byte {
	if l.at+n < len(l.data) {
		return l.data[l.at+n]
	}
	return 0
}

func (l *lexer) word() []byte {
	from := l.at
	for l.at < len(l.data) && !space(l.data[l.at]) && !delimiter(l.data[l.at]) {
		l.at++
	}
	return l.data[from:l.at]
}

// list reads objects up to a keyword. "12 0 R" becomes a ref.
func (l *lexer) list(end keyword, depth int) []object {
	var out []object
	for {
		o, ok := l.next(depth)
		if !ok || o == end {
			return out
		}
		if n := len(out); o == keyword("R") && n >= 2 {
			if num, ok := out[n-2].(float64); ok && num >= 0 && num < 1<<31 {
				out = append(out[:n-2], ref(num))
				continue
			}
		}
		out = append(out, o)
	}
}

func (l *lexer) dict(depth int) dict {
	d := dict{}
	all := l.list(">>", depth)
	for i := 0; i+1 < len(all); {
		key, ok := all[i].(name)
		if !ok {
			i++
			continue
		}
		d[key] = all[i+1]
		i += 2
	}
	return d
}

func (l *lexer) name() name {
	word := l.word()
	if bytes.IndexByte(word, '#') < 0 {
		return name(word)
	}
	out := make([]byte, 0, len(word))
	for i := 0; i < len(word); i++ {
		if word[i] == '#' && i+2 < len(word) && digit(word[i+1]) >= 0 && digit(word[i+2]) >= 0 {
			out = append(out, byte(digit(word[i+1])<<4|digit(word[i+2])))
			i += 2
			continue
		}
		out = append(out, word[i])
	}
	return name(out)
}

// digit is the value of a hexadecimal digit, -1 for what is none.
func digit(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c >= 'a' && c <= 'f':
		return int(c-'a') + 10
	case c >= 'A' && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}

func (l *lexer) hex() str {
	var out []byte
	high := -1
	for l.at < len(l.data) {
		c := l.data[l.at]
		l.at++
		if c == '>' {
			break
		}
		d := digit(c)
		switch {
		case d < 0:
		case high < 0:
			high = d
		default:
			out = append(out, byte(high<<4|d))
			high = -1
		}
	}
	if high >= 0 {
		out = append(out, byte(high<<4))
	}
	return str(out)
}

// text reads a string in parentheses, which may hold others.
func (l *lexer) text() str {
	var out []byte
	for open := 1; l.at < len(l.data); {
		c := l.data[l.at]
		l.at++
		switch c {
		case '(':
			open++
		case ')':
			if open--; open == 0 {
				return str(out)
			}
		case '\\':
			out = l.escape(out)
			continue
		}
		out = append(out, c)
	}
	return str(out)
}

func (l *lexer) escape(out []byte) []byte {
	c := l.peek(0)
	l.at++
	switch c {
	case 'n':
		return append(out, '\n')
	case 'r':
		return append(out, '\r')
	case 't':
		return append(out, '\t')
	case 'b':
		return append(out, '\b')
	case 'f':
		return append(out, '\f')
	case '\r':
		if l.peek(0) == '\n' {
			l.at++
		}
		return out
	case '\n':
		return out
	}
	if c < '0' || c > '7' {
		return append(out, c)
	}
	n := int(c - '0')
	for range 2 {
		if c = l.peek(0); c < '0' || c > '7' {
			break
		}
		n = n<<3 | int(c-'0')
		l.at++
	}
	return append(out, byte(n))
}

// number reads what programs write for one, also "--5" and "1.2-3".
func number(word []byte) (float64, bool) {
	n, scale, minus, digits := 0.0, 0.0, false, false
	for i, c := range word {
		switch {
		case c == '-' && !digits:
			minus = true
		case c == '+' && i == 0:
		case c == '-' && digits:
			return signed(n, minus), true
		case c == '.' && scale == 0:
			scale = 1
		case c >= '0' && c <= '9':
			digits = true
			if scale > 0 {
				scale /= 10
				n += float64(c-'0') * scale
			} else {
				n = 10*n + float64(c-'0')
			}
		default:
			return 0, false
		}
	}
	return signed(n, minus), digits
}

func signed(n float64, minus bool) float64 {
	if n > 1e15 {
		n = 1e15
	}
	if minus {
		return -n
	}
	return n
}
