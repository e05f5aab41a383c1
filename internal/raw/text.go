package raw

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"unicode/utf16"
	"unicode/utf8"
)

// A Text puts together a text that comes in pieces, each a JSON string. It keeps
// the pieces as they are written, so that a character whose halves came in two
// of them is whole again, and so that the text can go back byte for byte. The
// zero value is an empty text.
type Text struct {
	raw     []byte // the pieces without their quotes
	shown   int    // of raw: what Add has returned
	length  int    // of the decoded text that Add has returned
	damaged bool   // raw holds what must be mended
}

// Add takes the next piece, with its quotes, and returns what can be shown of
// it: all but the beginning of a character at its end, which is returned with
// the rest of it. Halves that stay alone are U+FFFD. Control characters that a
// server did not escape are accepted. What is no JSON string, or would make the
// text larger than [MaxSize], is an error and changes nothing.
func (t *Text) Add(piece []byte) (fresh string, err error) {
	plain, bare, err := inspect(piece)
	if err != nil {
		return "", err
	}
	inner := piece[1 : len(piece)-1]
	if len(t.raw)+len(inner) > MaxSize {
		return "", errSize
	}
	if bare {
		t.raw = appendEscaped(t.raw, inner)
	} else {
		t.raw = append(t.raw, inner...)
	}
	if plain && t.shown+len(inner) == len(t.raw) { // nothing was held back
		t.shown = len(t.raw)
		t.length += len(inner)
		return string(inner), nil
	}
	var room [256]byte
	text, n, damaged := decode(room[:0], t.raw[t.shown:], false)
	t.shown += n
	t.length += len(text)
	t.damaged = t.damaged || damaged
	return string(text), nil
}

// Rest is what Add holds back, as U+FFFD, if nothing follows; "" most times.
func (t *Text) Rest() string {
	text, _, _ := decode(nil, t.raw[t.shown:], true)
	return string(text)
}

// String is the decoded text, with what Rest returns. It is valid UTF-8.
func (t *Text) String() string {
	if t.length == len(t.raw) && !t.damaged { // no escape, nothing held back
		return string(t.raw)
	}
	text, _, _ := decode(make([]byte, 0, len(t.raw)), t.raw, true)
	return string(text)
}

// Len is the length of what Add has returned, in bytes.
func (t *Text) Len() int { return t.length }

// Raw is the text as one JSON string: the bytes of the pieces as they came, but
// with \ufffd for surrogates without their other half and for bytes that are no UTF-8.
func (t *Text) Raw() json.RawMessage {
	out := make([]byte, 0, len(t.raw)+2)
	out = append(out, '"')
	if t.damaged || t.shown < len(t.raw) {
		out = appendMended(out, t.raw)
	} else {
		out = append(out, t.raw...)
	}
	return append(out, '"')
}

var errString = errors.New("JSON string expected")

// inspect checks the piece. It is plain if its inner bytes are its text, and bare
// if it has control characters that should be escaped.
func inspect(piece []byte) (plain, bare bool, err error) {
	if len(piece) < 2 || piece[0] != '"' || piece[len(piece)-1] != '"' {
		return false, false, errString
	}
	inner := piece[1 : len(piece)-1]
	plain = true
	for i := 0; i < len(inner); i++ {
		switch c := inner[i]; {
		case c == '\\':
			n := escape(inner[i:])
			if n == 0 {
				return false, false, fmt.Errorf("JSON string with an unknown escape at byte %d", i+1)
			}
			i += n - 1
			plain = false
		case c == '"':
			return false, false, errString
		case c < ' ':
			plain, bare = false, true
		case c >= utf8.RuneSelf && plain:
			_, n := utf8.DecodeRune(inner[i:])
			plain = n > 1
			i += n - 1
		}
	}
	return plain, bare, nil
}

// decode appends the text of inner, the inside of a JSON string, and returns how
// much of it was used: all, or if more may follow without the beginning of a
// character at the end. It is damaged if something had to become U+FFFD.
func decode(dst, inner []byte, final bool) (text []byte, used int, damaged bool) {
	i := 0
	for i < len(inner) {
		r, n := next(inner[i:], final)
		switch {
		case n == 0:
			return dst, i, damaged
		case r < 0:
			damaged = true
			r = utf8.RuneError
		}
		dst = utf8.AppendRune(dst, r)
		i += n
	}
	return dst, i, damaged
}

// next decodes the first character of inner and returns how long it is written:
// 0 if more must come first. What is no character is -1.
func next(inner []byte, final bool) (r rune, n int) {
	switch c := inner[0]; {
	case c == '\\':
		return nextEscape(inner, final)
	case c < utf8.RuneSelf:
		return rune(c), 1
	case !final && !utf8.FullRune(inner):
		return 0, 0
	}
	r, n = utf8.DecodeRune(inner)
	if r == utf8.RuneError && n == 1 {
		return -1, 1
	}
	return r, n
}

func nextEscape(inner []byte, final bool) (r rune, n int) {
	switch inner[1] {
	case 'b':
		return '\b', 2
	case 'f':
		return '\f', 2
	case 'n':
		return '\n', 2
	case 'r':
		return '\r', 2
	case 't':
		return '\t', 2
	case 'u':
	default:
		return rune(inner[1]), 2
	}
	r = hex4(inner)
	if !utf16.IsSurrogate(r) {
		return r, 6
	}
	if pair := utf16.DecodeRune(r, hex4(inner[6:])); pair != utf8.RuneError {
		return pair, 12
	}
	if len(inner) == 6 && r < 0xdc00 && !final {
		return 0, 0
	}
	return -1, 6
}

// String returns the text of a JSON string, and whether raw is one.
func String(raw []byte) (text string, ok bool) {
	if _, bare, err := inspect(raw); err != nil || bare {
		return "", false
	}
	return unquote(raw), true
}

// unquote returns the text of a JSON string that the scanner has passed.
func unquote(str []byte) string {
	inner := str[1 : len(str)-1]
	for _, c := range inner {
		if c == '\\' || c >= utf8.RuneSelf {
			text, _, _ := decode(nil, inner, true)
			return string(text)
		}
	}
	return string(inner)
}

// appendEscaped appends the inside of a JSON string with its control characters escaped.
func appendEscaped(dst, inner []byte) []byte {
	for _, c := range inner {
		if c < ' ' {
			dst = appendControl(dst, c)
		} else {
			dst = append(dst, c)
		}
	}
	return dst
}

func appendControl(dst []byte, c byte) []byte {
	switch c {
	case '\b':
		return append(dst, `\b`...)
	case '\f':
		return append(dst, `\f`...)
	case '\n':
		return append(dst, `\n`...)
	case '\r':
		return append(dst, `\r`...)
	case '\t':
		return append(dst, `\t`...)
	}
	const hex = "0123456789abcdef"
	return append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
}

// AppendString appends s as a JSON string. Only what must be escaped is; bytes
// that are no UTF-8 are \ufffd.
func AppendString(dst []byte, s string) []byte {
	dst = append(slices.Grow(dst, len(s)+2), '"')
	from := 0
	for i := 0; i < len(s); {
		c := s[i]
		if usual[c] {
			i++
			continue
		}
		n := 1
		switch {
		case c >= utf8.RuneSelf:
			var r rune
			if r, n = utf8.DecodeRuneInString(s[i:]); r != utf8.RuneError || n > 1 {
				i += n
				continue
			}
			dst = append(append(dst, s[from:i]...), `\ufffd`...)
		case c == '"' || c == '\\':
			dst = append(append(dst, s[from:i]...), '\\', c)
		case c < ' ':
			dst = appendControl(append(dst, s[from:i]...), c)
		}
		i += n
		from = i
	}
	return append(append(dst, s[from:]...), '"')
}
