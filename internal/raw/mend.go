package raw

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"
)

// Mend returns JSON that any reader takes: in strings, surrogates without their
// other half and bytes that are no UTF-8 become \ufffd, and control characters
// are escaped. Every other byte stays, and where nothing is wrong raw itself is
// returned. A piece of a string must not be mended: see [Text].
func Mend(raw json.RawMessage) json.RawMessage {
	if sound(raw) {
		return raw
	}
	out := make([]byte, 0, len(raw)+64)
	for rest := []byte(raw); len(rest) > 0; {
		open := bytes.IndexByte(rest, '"')
		if open < 0 {
			return append(out, rest...)
		}
		out = append(out, rest[:open+1]...)
		rest = rest[open+1:]
		n := closing(rest)
		out = appendMended(out, rest[:n])
		rest = rest[n:]
		if len(rest) > 0 { // the closing quote
			out = append(out, '"')
			rest = rest[1:]
		}
	}
	return out
}

// sound says whether there is surely nothing to mend.
func sound(raw []byte) bool {
	for i, c := range raw {
		if c < ' ' || c == '\\' && i+2 < len(raw) && raw[i+1] == 'u' && raw[i+2]|' ' == 'd' {
			return false
		}
	}
	return utf8.Valid(raw)
}

// closing returns where the string ends whose inside b begins with: the index of
// its quote, or the length of b.
func closing(b []byte) int {
	for i := 0; i < len(b); i++ {
		switch b[i] {
		case '\\':
			i++
		case '"':
			return i
		}
	}
	return len(b)
}

// appendMended appends the inside of a JSON string with what Mend changes.
func appendMended(dst, inner []byte) []byte {
	for len(inner) > 0 {
		if inner[0] == '\\' && escape(inner) == 0 { // no JSON: not ours to mend
			return append(dst, inner...)
		}
		r, n := next(inner, true)
		switch {
		case r < 0:
			dst = append(dst, `\ufffd`...)
		case inner[0] < ' ':
			dst = appendControl(dst, inner[0])
		default:
			dst = append(dst, inner[:n]...)
		}
		inner = inner[n:]
	}
	return dst
}

// escapeBare returns a copy of raw in which control characters inside strings
// are escaped, nil if there are none.
func escapeBare(raw []byte) []byte {
	var out []byte
	from, inside := 0, false
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case c == '"':
			inside = !inside
		case c == '\\' && inside:
			i++
		case c < ' ' && inside:
			out = appendControl(append(out, raw[from:i]...), c)
			from = i + 1
		}
	}
	if out == nil {
		return nil
	}
	return append(out, raw[from:]...)
}
