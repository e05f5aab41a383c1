package pdf

import (
	"strings"

	"github.com/uzda-dev/uzda/internal/charset"
)

// A font says of the codes in a string which letters they are and how wide.
type font struct {
	*purse
	to     *cmap // to text; nil: the font has none
	in     *cmap // to glyphs, of a font with many; nil: two bytes are a glyph
	many   bool  // it has more than 256 glyphs
	utf16  bool  // its codes are text
	legacy charset.Encoding
	simple [256]string
	widths map[int]float64 // in thousandths of the size
	usual  float64
	memo   map[code]string
}

const unread = "\uFFFD"

// legacyEncodings are those that tables of Chinese, Japanese and Korean fonts are
// named after.
var legacyEncodings = []struct{ part, name string }{
	{"GBK2K", "gb18030"}, {"GB", "gbk"}, {"B5", "big5"}, {"HKscs", "big5"}, {"RKSJ", "shift_jis"}, {"KSC", "euc-kr"}, {"EUC", "euc-jp"},
}

func (f *file) newFont(o object) *font {
	d := f.dict(o)
	t := &font{purse: f.purse, to: f.cmap(d["ToUnicode"]), widths: map[int]float64{}, memo: map[code]string{}, usual: 500}
	if f.resolve(d["Subtype"]) == name("Type0") {
		f.composite(t, d)
	} else {
		f.plain(t, d)
	}
	return t
}

// composite reads a font of many glyphs.
func (f *file) composite(t *font, d dict) {
	t.many, t.usual = true, 1000
	switch enc := f.resolve(d["Encoding"]).(type) {
	case name:
		if strings.HasPrefix(string(enc), "Identity") {
			break
		}
		if strings.HasPrefix(string(enc), "Uni") {
			t.utf16 = true
			break
		}
		for _, l := range legacyEncodings {
			if strings.Contains(string(enc), l.part) {
				t.legacy = charset.Encoding{Name: l.name}
				break
			}
		}
	case *stream:
		t.in = f.cmap(enc)
	}
	below := f.several(d, "DescendantFonts")
	if len(below) == 0 {
		return
	}
	own := f.dict(below[0])
	t.usual = f.number(own["DW"], t.usual)
	w, _ := f.resolve(own["W"]).(array)
	for i := 0; i+1 < len(w) && len(t.widths) < maxEntries && f.spend(1); {
		first := int(f.number(w[i], 0))
		if each, ok := f.resolve(w[i+1]).(array); ok {
			for n, one := range each {
				t.widths[first+n] = f.number(one, t.usual)
			}
			i += 2
			continue
		}
		if i+2 >= len(w) {
			return
		}
		last, width := int(f.number(w[i+1], 0)), f.number(w[i+2], t.usual)
		for n := first; n <= last && n-first < 1<<16 && f.spend(1); n++ {
			t.widths[n] = width
		}
		i += 3
	}
}

// plain reads a font of at most 256 glyphs.
func (f *file) plain(t *font, d dict) {
	about := f.dict(d["FontDescriptor"])
	const symbolic = 4
	isSymbolic := int(f.number(about["Flags"], 0))&symbolic != 0
	enc := f.resolve(d["Encoding"])
	of, _ := enc.(name)
	own, _ := enc.(dict)
	if own != nil {
		of, _ = f.resolve(own["BaseEncoding"]).(name)
	}
	if enc == nil && f.resolve(d["Subtype"]) == name("TrueType") {
		of = "WinAnsiEncoding"
	}
	t.simple = base(of, isSymbolic)
	differences, _ := f.resolve(own["Differences"]).(array)
	known, at := glyphs(), 0
	for _, o := range differences {
		switch o := f.resolve(o).(type) {
		case float64:
			at = int(o)
		case name:
			if at >= 0 && at < len(t.simple) {
				t.simple[at] = letter(string(o), known)
			}
			at++
		}
		if !f.spend(1) {
			return
		}
	}
	scale := 1.0
	if m, ok := f.resolve(d["FontMatrix"]).(array); ok && len(m) > 0 { // of glyphs that are drawings
		scale = 1000 * f.number(m[0], 0.001)
	}
	t.usual = f.number(about["MissingWidth"], 500)
	if strings.Contains(string(nameOf(f.resolve(d["BaseFont"]))), "Courier") {
		t.usual = 600
	}
	widths, _ := f.resolve(d["Widths"]).(array)
	first := int(f.number(d["FirstChar"], 0))
	for i, o := range widths[:min(len(widths), 256)] {
		t.widths[first+i] = scale * f.number(o, t.usual/scale)
	}
}

func nameOf(o object) name {
	n, _ := o.(name)
	return n
}

// cut takes the first code of a string, and says how wide its glyph is.
func (t *font) cut(s str) (c code, width float64, rest str) {
	var glyph int
	switch {
	case !t.many:
		c, rest, glyph = code{uint32(s[0]), 1}, s[1:], int(s[0])
	case t.legacy.Name != "":
		size := 1
		if s[0] >= 0x80 && !(t.legacy.Name == "shift_jis" && s[0] >= 0xa1 && s[0] <= 0xdf) {
			size = min(2, len(s))
		}
		c, _ = codeOf(s[:size])
		return c, 500 * float64(size), s[size:]
	case t.in != nil:
		c, rest = t.in.cut(s)
		glyph, _ = t.in.glyph(c)
	case t.to != nil && len(t.to.spaces) > 0 && t.to.spaces[0].size == 1 && !t.utf16:
		c, rest = t.to.cut(s)
		glyph = int(c.value)
	default:
		size := min(2, len(s))
		c, _ = codeOf(s[:size])
		rest, glyph = s[size:], int(c.value)
	}
	if w, ok := t.widths[glyph]; ok {
		return c, w, rest
	}
	return c, t.usual, rest
}

// read is the text of a code, U+FFFD where nothing says what it is.
func (t *font) read(c code) string {
	if s, ok := t.memo[c]; ok {
		return s
	}
	if t.to != nil {
		t.spend(len(t.to.texts) / 16)
	}
	s := t.meaning(c)
	t.memo[c] = s
	return s
}

func (t *font) meaning(c code) string {
	if t.to != nil {
		if s, ok := t.to.means(c); ok && s != "" {
			return s
		}
	}
	bytes := make([]byte, c.size)
	for i := range bytes {
		bytes[i] = byte(c.value >> (8 * (c.size - 1 - i)))
	}
	switch {
	case !t.many && c.value < 256 && t.simple[c.value] != "":
		return t.simple[c.value]
	case t.utf16:
		return utf16Text(str(bytes))
	case t.legacy.Name != "":
		if s, err := t.legacy.Decode(bytes); err == nil {
			return clean(s)
		}
	}
	return unread
}
