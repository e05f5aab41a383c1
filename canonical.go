package uzda

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"unicode/utf8"
)

// Canonical returns raw with the keys of objects sorted and no white space, so
// that equal inputs have equal bytes. Numbers keep their digits. What is no JSON
// comes back as it is, and so does what is canonical.
func Canonical(raw json.RawMessage) []byte {
	if isCanonical(raw) {
		return raw
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil {
		return raw
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) { // more follows
		return raw
	}
	out, err := appendJSON(nil, v)
	if err != nil {
		return raw
	}
	return out
}

// separators begins the two characters that encoding/json escapes though JSON
// does not ask for it, U+2028 and U+2029.
var separators = []byte("\u2028")[:2]

// isCanonical says whether raw certainly is its own canonical form, as what models
// write mostly is. To decode it and encode it again costs many times as much.
func isCanonical(raw []byte) bool {
	if !json.Valid(raw) || !utf8.Valid(raw) || bytes.Contains(raw, separators) {
		return false
	}
	rest, ok := skipValue(raw)
	return ok && len(rest) == 0
}

// skipValue steps over a value of valid JSON; ok is false where it is not known to
// be canonical.
func skipValue(raw []byte) (rest []byte, ok bool) {
	switch raw[0] {
	case '{':
		return skipMembers(raw[1:])
	case '[':
		for raw = raw[1:]; raw[0] != ']'; {
			if raw, ok = skipValue(raw); !ok {
				return nil, false
			}
			if raw[0] == ',' {
				raw = raw[1:]
			}
		}
		return raw[1:], true
	case '"':
		return skipString(raw)
	}
	n := 0
	for n < len(raw) && (raw[n] >= '0' && raw[n] <= '9' || raw[n]|0x20 >= 'a' && raw[n]|0x20 <= 'z' || raw[n] == '-' || raw[n] == '+' || raw[n] == '.') {
		n++
	}
	return raw[n:], n > 0 // 0: white space
}

func skipMembers(raw []byte) (rest []byte, ok bool) {
	for first, before := true, []byte(nil); raw[0] != '}'; first = false {
		if raw[0] != '"' {
			return nil, false
		}
		rest, ok = skipString(raw)
		if !ok || rest[0] != ':' {
			return nil, false
		}
		key := raw[1 : len(raw)-len(rest)-1]
		if bytes.IndexByte(key, '\\') >= 0 || !first && bytes.Compare(before, key) >= 0 {
			return nil, false
		}
		before = key
		if raw, ok = skipValue(rest[1:]); !ok {
			return nil, false
		}
		if raw[0] == ',' {
			raw = raw[1:]
		}
	}
	return raw[1:], true
}

// skipString steps over a string whose escapes are those that encoding/json makes.
func skipString(raw []byte) (rest []byte, ok bool) {
	for i := 1; ; i++ {
		switch raw[i] {
		case '"':
			return raw[i+1:], true
		case '\\':
			if i++; bytes.IndexByte([]byte(`"\\bfnrt`), raw[i]) < 0 {
				return nil, false
			}
		}
	}
}
