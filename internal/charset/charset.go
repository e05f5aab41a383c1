// Package charset turns bytes of any encoding into text and back, without losing one.
package charset

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/htmlindex"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/encoding/unicode/utf32"
	"golang.org/x/text/transform"
)

// An Encoding says how text is written as bytes. The zero value is UTF-8.
type Encoding struct {
	Name string // as WHATWG has it, in lower case: utf-8, utf-16le, windows-1250, gbk, shift_jis; "" is utf-8
	BOM  bool   // the bytes begin with a byte order mark
	// Odd: some bytes are no UTF-8. Decode writes them \xNN, which Encode does not
	// undo: they last only as long as nobody touches them.
	Odd bool
}

// UTF8 is the name of the encoding that text has within the program.
const UTF8 = "utf-8"

// consoles are code pages that WHATWG does not name, but programs print.
func consoles(name string) encoding.Encoding {
	switch name {
	case "cp852", "ibm852":
		return charmap.CodePage852
	case "cp437", "ibm437":
		return charmap.CodePage437
	case "cp850", "ibm850":
		return charmap.CodePage850
	case "utf-16le":
		return unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM)
	case "utf-16be":
		return unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM)
	case "utf-32le":
		return utf32.UTF32(utf32.LittleEndian, utf32.IgnoreBOM)
	case "utf-32be":
		return utf32.UTF32(utf32.BigEndian, utf32.IgnoreBOM)
	}
	return nil
}

// table returns the code table of a name and the name that the encoding goes by.
func table(name string) (encoding.Encoding, string) {
	name = strings.ToLower(strings.Trim(name, " \t\r\n\"'"))
	switch name {
	case "", "utf8":
		name = UTF8
	case "utf-16", "utf16":
		name = "utf-16le"
	}
	if t := consoles(name); t != nil {
		if strings.HasPrefix(name, "ibm") {
			name = "cp" + name[3:]
		}
		return t, name
	}
	t, err := htmlindex.Get(name)
	if err != nil {
		return nil, ""
	}
	known, err := htmlindex.Name(t)
	if err != nil || known == "replacement" || known == "x-user-defined" {
		return nil, ""
	}
	return t, known
}

// Lookup returns the encoding that a header or a tag names.
func Lookup(name string) (Encoding, bool) {
	if strings.TrimSpace(name) == "" {
		return Encoding{}, false
	}
	_, known := table(name)
	return Encoding{Name: known}, known != ""
}

// String is the name for people: "UTF-16LE with a byte order mark".
func (e Encoding) String() string {
	name := strings.ToUpper(e.name())
	switch {
	case strings.HasPrefix(name, "WINDOWS"):
		name = "Windows" + name[len("WINDOWS"):]
	case name == "SHIFT_JIS":
		name = "Shift_JIS"
	case name == "BIG5":
		name = "Big5"
	}
	if e.BOM {
		name += " with a byte order mark"
	}
	if e.Odd {
		name += " with some bytes that are none, shown as \\xNN"
	}
	return name
}

// Plain says whether the bytes are those of the text itself.
func (e Encoding) Plain() bool { return e.name() == UTF8 && !e.BOM && !e.Odd }

func (e Encoding) name() string {
	if e.Name == "" {
		return UTF8
	}
	return e.Name
}

// marks are the byte order marks, the longer one first where one begins with another.
var marks = []struct{ name, bytes string }{
	{UTF8, "\xEF\xBB\xBF"},
	{"utf-32le", "\xFF\xFE\x00\x00"},
	{"utf-32be", "\x00\x00\xFE\xFF"},
	{"utf-16le", "\xFF\xFE"},
	{"utf-16be", "\xFE\xFF"},
	{"gb18030", "\x84\x31\x95\x33"},
}

// Mark returns the byte order mark that the bytes begin with, empty if none.
func (e Encoding) Mark() []byte {
	if !e.BOM {
		return nil
	}
	for _, m := range marks {
		if m.name == e.name() {
			return []byte(m.bytes)
		}
	}
	return nil
}

// Decode returns the text that the bytes are. Bytes that the encoding does not
// have become U+FFFD, and the error says where the first of them stands; the
// text is valid UTF-8 all the same.
func (e Encoding) Decode(data []byte) (string, error) {
	mark := e.Mark()
	data = bytes.TrimPrefix(data, mark)
	if e.name() == UTF8 {
		if utf8.Valid(data) {
			return string(data), nil
		}
		if e.Odd {
			return escaped(data), nil
		}
		return strings.ToValidUTF8(string(data), "\uFFFD"), fmt.Errorf("decode: byte %d is not UTF-8", len(mark)+firstInvalid(data))
	}
	t, _ := table(e.Name)
	if t == nil {
		return strings.ToValidUTF8(string(data), "\uFFFD"), fmt.Errorf("decode: there is no encoding %q", e.Name)
	}
	out, err := t.NewDecoder().Bytes(data)
	text := string(out)
	if err != nil {
		return strings.ToValidUTF8(text, "\uFFFD"), fmt.Errorf("decode %s: %w", e, err)
	}
	if strings.ContainsRune(text, utf8.RuneError) {
		if back, err := t.NewEncoder().Bytes(out); err != nil || !bytes.Equal(back, data) {
			return text, fmt.Errorf("decode: not all bytes are %s", e)
		}
	}
	return text, nil
}

func firstInvalid(data []byte) int {
	for i := 0; i < len(data); {
		r, n := utf8.DecodeRune(data[i:])
		if r == utf8.RuneError && n == 1 {
			return i
		}
		i += n
	}
	return len(data)
}

// Encode returns text as bytes. The error names the first character that the
// encoding does not have.
func (e Encoding) Encode(text string) ([]byte, error) {
	if e.name() == UTF8 {
		return append(e.Mark(), text...), nil
	}
	t, _ := table(e.Name)
	if t == nil {
		return nil, fmt.Errorf("encode: there is no encoding %q", e.Name)
	}
	out, n, err := transform.Bytes(t.NewEncoder(), []byte(text))
	if err != nil {
		r, _ := utf8.DecodeRuneInString(text[min(n, len(text)):])
		return nil, fmt.Errorf("%s has no character %q (U+%04X), which stands on line %d of the text", e, r, r, 1+strings.Count(text[:min(n, len(text))], "\n"))
	}
	return append(e.Mark(), out...), nil
}

// Reader returns the text of what r reads, as Decode would, without holding it all.
func (e Encoding) Reader(r io.Reader) io.Reader {
	if mark := e.Mark(); len(mark) > 0 {
		r = &unmarked{r: r, mark: mark}
	}
	if e.name() == UTF8 && e.Odd {
		return transform.NewReader(r, &escaper{})
	}
	if e.name() == UTF8 {
		return transform.NewReader(r, unicode.UTF8.NewDecoder())
	}
	t, _ := table(e.Name)
	if t == nil {
		return r
	}
	return transform.NewReader(r, t.NewDecoder())
}

// unmarked leaves out a byte order mark at the beginning.
type unmarked struct {
	r    io.Reader
	mark []byte // nil: looked at
	rest []byte
}

func (u *unmarked) Read(p []byte) (int, error) {
	if u.mark != nil {
		head := make([]byte, len(u.mark))
		n, err := io.ReadFull(u.r, head)
		if head = head[:n]; !bytes.Equal(head, u.mark) {
			u.rest = head
		}
		u.mark = nil
		if err != nil && n == 0 {
			return 0, err
		}
	}
	if len(u.rest) > 0 {
		n := copy(p, u.rest)
		u.rest = u.rest[n:]
		return n, nil
	}
	return u.r.Read(p)
}
