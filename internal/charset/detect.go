package charset

import (
	"bytes"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// sample is how many bytes are looked at to tell encodings apart. The choice is
// checked on all bytes.
const sample = 8 << 10

// Detect says how data is encoded; hint is what a header or a tag says of it, or
// "". ok is false where it is no text. What it chooses gives back the very same
// bytes by Decode and Encode, unless it is Odd.
//
// It is sure of UTF-8 and of byte order marks. UTF-16 without a mark, Chinese,
// Japanese, Korean and Cyrillic are right from a dozen characters on. The 8-bit
// encodings of Latin scripts differ in a few letters, so that a text with one or
// two accents may come out as the encoding of another language.
func Detect(data []byte, hint string) (e Encoding, ok bool) {
	if e, ok := marked(data); ok {
		return e, true
	}
	if magic(data) != "" {
		return Encoding{}, false
	}
	if bytes.IndexByte(data, 0) < 0 && utf8.Valid(data) {
		return Encoding{Name: UTF8}, !garbled(string(head(data)))
	}
	if e, ok := Lookup(hint); ok && e.Name != UTF8 && exact(e, data) {
		if text, err := e.Decode(head(data)); err == nil && !garbled(text) || err != nil {
			return e, true
		}
	}
	if hint == "" && odd(data) {
		e := Encoding{Name: UTF8, Odd: true}
		return e, !garbled(escaped(head(data)))
	}
	for _, name := range guess(data) {
		e := Encoding{Name: name}
		if name == "gb18030" && exact(Encoding{Name: "gbk"}, data) {
			return Encoding{Name: "gbk"}, true
		}
		if exact(e, data) {
			return e, true
		}
	}
	return Encoding{}, false
}

// DetectStart is Detect for the beginning of something longer: a character that
// is cut off at its end does not count.
func DetectStart(data []byte, hint string) (Encoding, bool) {
	const longest = 4
	var first, odd Encoding
	found := false
	for cut := range min(longest, max(len(data), 1)) {
		e, ok := Detect(data[:len(data)-cut], hint)
		if ok && e.Odd {
			odd = e
			continue
		}
		if ok && (e.name() == UTF8 || e.BOM || strings.HasPrefix(e.Name, "utf")) {
			return e, true
		}
		if ok && (!found || wide(e.Name) && !wide(first.Name)) {
			first, found = e, true
		}
	}
	if odd.Odd && (!found || !wide(first.Name)) {
		return odd, true
	}
	return first, found
}

// wide says whether characters take several bytes.
func wide(name string) bool {
	switch name {
	case "gbk", "gb18030", "big5", "shift_jis", "euc-jp", "euc-kr":
		return true
	}
	return false
}

// Binary says that data is no text in any encoding.
func Binary(data []byte) bool {
	_, ok := Detect(data, "")
	return !ok
}

func head(data []byte) []byte { return data[:min(len(data), sample)] }

// marked knows an encoding by its byte order mark.
func marked(data []byte) (Encoding, bool) {
	for _, m := range marks {
		if !strings.HasPrefix(string(data[:min(len(data), 4)]), m.bytes) {
			continue
		}
		e := Encoding{Name: m.name, BOM: true}
		if exact(e, data) {
			text, _ := e.Decode(head(data)) // the head may end within a character
			return e, !garbled(text)
		}
	}
	return Encoding{}, false
}

// exact says whether decoding and encoding gives the same bytes. It looks at a part
// at a time, so that a large file is not held several times.
func exact(e Encoding, data []byte) bool {
	switch e.name() {
	case "utf-16le", "utf-16be":
		return whole16(data, e.name() == "utf-16be")
	case UTF8:
		return utf8.Valid(data)
	case "iso-2022-jp", "utf-32le", "utf-32be": // no part stands for itself
		return same(e, data)
	}
	const part = 1 << 20
	e.BOM = false
	for len(data) > 0 {
		end := len(data)
		if end > part {
			if end = bytes.IndexByte(data[part:], '\n') + part + 1; end == part {
				end = len(data)
			}
		}
		if !same(e, data[:end]) {
			return false
		}
		data = data[end:]
	}
	return true
}

func same(e Encoding, data []byte) bool {
	text, err := e.Decode(data)
	if err != nil {
		return false
	}
	back, err := e.Encode(text)
	return err == nil && bytes.Equal(back, data)
}

// whole16 says whether UTF-16 has no half of a character.
func whole16(data []byte, big bool) bool {
	high := 1
	if big {
		high = 0
	}
	open := false
	for i := 0; i+1 < len(data); i += 2 {
		first, second := data[i+high]&0xFC == 0xD8, data[i+high]&0xFC == 0xDC
		if open != second {
			return false
		}
		open = first
	}
	return !open && len(data)%2 == 0
}

// garbled says that text has what no text has: a NUL, or many control characters.
func garbled(text string) bool {
	bad, all := 0, 0
	for _, r := range text {
		all++
		switch {
		case r == 0:
			return true
		case r == 0x7F, r < ' ' && !strings.ContainsRune("\t\n\v\f\r\b\a\x1b\x1a", r), r >= 0x80 && r < 0xA0:
			bad++
		}
	}
	const share = 50 // one in so many
	return bad > 1 && bad*share > all
}

// guess returns the encodings that data may have, the likeliest first.
func guess(data []byte) []string {
	part := telling(data)
	type scored struct {
		name  string
		score float64
	}
	var all []scored
	add := func(name, text string, score float64) {
		if !garbled(text) {
			all = append(all, scored{name, score})
		}
	}
	nul := bytes.IndexByte(data, 0) >= 0
	if nul || len(data)%2 == 0 {
		for _, name := range []string{"utf-16le", "utf-16be"} {
			text, ok := decodeStart(name, part)
			if score, likely := scoreUTF16(text); ok && likely {
				add(name, text, score)
			}
		}
	}
	if !nul {
		narrow, wide := tables()
		for _, c := range wide {
			if text, ok := decodeStart(c.name, part); ok {
				add(c.name, text, scoreWide(text, c))
			}
		}
		for _, c := range narrow {
			if text, ok := decodeStart(c.name, part); ok {
				add(c.name, text, scoreNarrow(text, c))
			}
		}
	}
	slices.SortStableFunc(all, func(a, b scored) int {
		switch {
		case a.score > b.score:
			return -1
		case a.score < b.score:
			return 1
		}
		return 0
	})
	names := make([]string, len(all))
	for i, s := range all {
		names[i] = s.name
	}
	return names
}

// telling returns the part of data that shows how it is encoded: from the line of
// the first byte that is not ASCII on.
func telling(data []byte) []byte {
	if len(data) <= sample {
		return data
	}
	at := slices.IndexFunc(data, func(b byte) bool { return b >= 0x80 || b == 0 })
	if at < sample/2 {
		return data[:sample]
	}
	at -= at % 2
	at -= min(at, 256)
	return data[at:min(len(data), at+sample)]
}

// decodeStart decodes the beginning of a text, which may end within a character.
func decodeStart(name string, part []byte) (string, bool) {
	const longest = 4
	e := Encoding{Name: name}
	for cut := range min(longest, len(part)+1) {
		text, err := e.Decode(part[:len(part)-cut])
		if err == nil && !strings.ContainsRune(text, utf8.RuneError) {
			return text, true
		}
		if cut == 0 && strings.Count(text, "\uFFFD") > 2 {
			return "", false
		}
	}
	return "", false
}

// usual says whether r is of a script that much text is written in.
func usual(r rune) bool {
	switch {
	case r < 0x250, r >= 0x370 && r < 0x530, r >= 0x590 && r < 0x700, r >= 0x2000 && r < 0x2070, r >= 0x20A0 && r < 0x2100,
		r >= 0x2190 && r < 0x2600, r >= 0x3000 && r < 0x3100, r >= 0x4E00 && r < 0xA000,
		r >= 0xAC00 && r < 0xD7A4, r >= 0xFF00 && r < 0xFFF0, r >= 0x1F300 && r < 0x1FB00, r >= 0x2600 && r < 0x27C0:
		return unicode.IsGraphic(r) || unicode.IsSpace(r) || r == 0x1b || r == '\b' || r == 0x200B || r == 0xFE0F
	}
	return unicode.Is(unicode.Devanagari, r) || unicode.Is(unicode.Thai, r) || r == 0xFE0F || r == 0x200D
}
