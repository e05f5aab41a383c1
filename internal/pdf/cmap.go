package pdf

import (
	"strings"
	"unicode/utf16"
)

// A cmap says how the bytes of a string are parted into codes, and what each is: a
// text, or the number of a glyph.
type cmap struct {
	spaces  []span
	text    map[code]string
	texts   []textRange
	glyphs  map[code]int
	numbers []span
}

// A code is what stands in a string for a glyph: its value, and of how many bytes.
type code struct {
	value uint32
	size  int
}

type span struct {
	size   int
	lo, hi uint32
	to     int
}

type textRange struct {
	span
	first string
	each  []string
}

const maxEntries = 200_000

// cmap reads a table, nil where there is none.
func (f *file) cmap(o object) *cmap {
	s, ok := f.resolve(o).(*stream)
	if !ok {
		return nil
	}
	data, err := f.decode(s)
	if err != nil {
		return nil
	}
	m := &cmap{text: map[code]string{}, glyphs: map[code]int{}}
	l := lexer{purse: f.purse, data: data}
	var args []object
	for entries := 0; entries < maxEntries; {
		o, ok := l.next(0)
		if !ok {
			break
		}
		k, ok := o.(keyword)
		if !ok {
			if args = append(args, o); len(args) > maxEntries {
				break
			}
			continue
		}
		entries += len(args)
		l.nodes = 0
		m.take(k, args)
		args = args[:0]
	}
	return m
}

func codeOf(o object) (code, bool) {
	s, ok := o.(str)
	if !ok || len(s) == 0 || len(s) > 4 {
		return code{}, false
	}
	n := uint32(0)
	for i := range len(s) {
		n = n<<8 | uint32(s[i])
	}
	return code{n, len(s)}, true
}

// take takes the entries in front of a keyword.
func (m *cmap) take(k keyword, args []object) {
	step := map[keyword]int{"endcodespacerange": 2, "endbfchar": 2, "endcidchar": 2, "endbfrange": 3, "endcidrange": 3}[k]
	if step == 0 {
		return
	}
	for i := 0; i+step <= len(args); i += step {
		lo, ok := codeOf(args[i])
		if !ok {
			continue
		}
		last := args[i+step-1]
		hi, ranged := codeOf(args[i+1])
		in := span{size: lo.size, lo: lo.value, hi: hi.value}
		switch k {
		case "endcodespacerange":
			if ranged {
				m.spaces = append(m.spaces, in)
			}
		case "endbfchar":
			if s, ok := last.(str); ok {
				m.text[lo] = utf16Text(s)
			}
		case "endcidchar":
			if n, ok := last.(float64); ok {
				m.glyphs[lo] = int(n)
			}
		case "endcidrange":
			if n, ok := last.(float64); ok && ranged {
				in.to = int(n)
				m.numbers = append(m.numbers, in)
			}
		case "endbfrange":
			if ranged {
				m.span(in, last)
			}
		}
	}
}

func (m *cmap) span(in span, to object) {
	r := textRange{span: in}
	switch to := to.(type) {
	case str:
		r.first = string(to)
	case array:
		for _, o := range to {
			s, _ := o.(str)
			r.each = append(r.each, utf16Text(s))
		}
	default:
		return
	}
	m.texts = append(m.texts, r)
}

// means is the text of a code.
func (m *cmap) means(c code) (string, bool) {
	if s, ok := m.text[c]; ok {
		return s, true
	}
	for i := range m.texts {
		r := &m.texts[len(m.texts)-1-i]
		if r.size != c.size || c.value < r.lo || c.value > r.hi {
			continue
		}
		n := c.value - r.lo
		if r.each != nil {
			if int(n) < len(r.each) {
				return r.each[n], true
			}
			continue
		}
		b := []byte(r.first)
		for at := len(b) - 1; at >= 0 && n > 0; at-- { // the last unit counts on
			n += uint32(b[at])
			b[at] = byte(n)
			n >>= 8
		}
		return utf16Text(str(b)), true
	}
	return "", false
}

// glyph is the number of the glyph of a code.
func (m *cmap) glyph(c code) (int, bool) {
	if n, ok := m.glyphs[c]; ok {
		return n, true
	}
	for _, r := range m.numbers {
		if r.size == c.size && c.value >= r.lo && c.value <= r.hi {
			return r.to + int(c.value-r.lo), true
		}
	}
	return 0, false
}

// cut takes the first code of a string.
func (m *cmap) cut(s str) (code, str) {
	for size := 1; size <= 4 && size <= len(s); size++ {
		c, _ := codeOf(s[:size])
		for _, r := range m.spaces {
			if r.size == size && c.value >= r.lo && c.value <= r.hi {
				return c, s[size:]
			}
		}
	}
	size := 2
	if len(m.spaces) > 0 {
		size = m.spaces[0].size
	}
	size = min(size, len(s))
	c, _ := codeOf(s[:size])
	return c, s[size:]
}

// utf16Text decodes what a table gives for a code. A single byte stands for itself.
func utf16Text(s str) string {
	if len(s) == 1 {
		return clean(string(rune(s[0])))
	}
	units := make([]uint16, 0, len(s)/2)
	for i := 0; i+1 < len(s); i += 2 {
		units = append(units, uint16(s[i])<<8|uint16(s[i+1]))
	}
	return clean(string(utf16.Decode(units)))
}

// clean drops what is no part of a text.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\t', r == '\n', r == '\r':
			return ' '
		case r < ' ', r >= 0x7f && r < 0xa0, r == 0xfeff, r == 0xad:
			return -1
		}
		return r
	}, s)
}
