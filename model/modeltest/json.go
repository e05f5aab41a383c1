package modeltest

import (
	"fmt"
	"slices"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// A value is JSON as it was sent: with its bytes, its members in order.
type value struct {
	kind byte   // { [ " 0 (a number), t (true or false), n (null); 0 for nothing
	at   int    // where it begins in the document
	raw  []byte // as it was sent
	text string // of a string, decoded
	from []int  // of members: where the key begins in raw
	keys []string
	vals []value
}

// Bounds of a request: how deep it may nest, and how many values it may have.
const (
	maxNest   = 256
	maxValues = 1 << 18
)

// A jsonError is what is wrong with JSON, and where.
type jsonError struct {
	at   int
	what string
}

func (e *jsonError) Error() string { return fmt.Sprintf("%s at byte %d", e.what, e.at) }

type jsonReader struct {
	doc []byte
	at  int
	n   int      // values so far
	bad []string // keys that repeat, strings that are no Unicode: JSON, but no good
}

// readJSON reads one value. Faults are what a careful receiver refuses in JSON
// that is well formed: keys that repeat, strings that are not Unicode.
func readJSON(doc []byte) (v value, faults []string, err error) {
	r := jsonReader{doc: doc}
	r.space()
	if v, err = r.value(0); err != nil {
		return value{}, r.bad, err
	}
	if r.space(); r.at < len(doc) {
		return value{}, r.bad, &jsonError{r.at, "more after the end of the JSON"}
	}
	return v, r.bad, nil
}

func (r *jsonReader) space() {
	for r.at < len(r.doc) {
		switch r.doc[r.at] {
		case ' ', '\t', '\n', '\r':
			r.at++
		default:
			return
		}
	}
}

func (r *jsonReader) fault(format string, args ...any) {
	if len(r.bad) < maxFaults {
		r.bad = append(r.bad, fmt.Sprintf(format, args...))
	}
}

func (r *jsonReader) peek() byte {
	if r.at < len(r.doc) {
		return r.doc[r.at]
	}
	return 0
}

func (r *jsonReader) fail(what string) error { return &jsonError{r.at, what} }

func (r *jsonReader) value(depth int) (v value, err error) {
	if depth > maxNest {
		return v, r.fail("JSON that nests too deep")
	}
	if r.n++; r.n > maxValues {
		return v, r.fail("JSON with too many values")
	}
	from := r.at
	v.at = from
	switch c := r.peek(); {
	case c == '{':
		v.kind = '{'
		err = r.object(&v, depth)
	case c == '[':
		v.kind = '['
		err = r.list(&v, depth)
	case c == '"':
		v.kind = '"'
		v.text, err = r.string()
	case c == '-' || c >= '0' && c <= '9':
		v.kind = '0'
		err = r.number()
	default:
		v.kind, err = r.word()
	}
	v.raw = r.doc[from:r.at]
	return v, err
}

func (r *jsonReader) word() (byte, error) {
	for _, w := range []string{"true", "false", "null"} {
		if len(r.doc)-r.at >= len(w) && string(r.doc[r.at:r.at+len(w)]) == w {
			r.at += len(w)
			if w == "false" {
				return 't', nil
			}
			return w[0], nil
		}
	}
	return 0, r.fail("no JSON")
}

func (r *jsonReader) object(v *value, depth int) error {
	from := r.at
	r.at++
	var seen map[string]bool // for the many keys of a large object
	for r.space(); r.peek() != '}'; r.space() {
		if len(v.keys) > 0 {
			if r.peek() != ',' {
				return r.fail("no comma between members")
			}
			r.at++
			r.space()
		}
		if r.peek() != '"' {
			return r.fail("no key")
		}
		at := r.at
		key, err := r.string()
		if err != nil {
			return err
		}
		if r.space(); r.peek() != ':' {
			return r.fail("no colon after a key")
		}
		r.at++
		r.space()
		one, err := r.value(depth + 1)
		if err != nil {
			return err
		}
		if len(v.keys) == 16 {
			seen = map[string]bool{}
			for _, k := range v.keys {
				seen[k] = true
			}
		}
		if seen[key] || seen == nil && slices.Contains(v.keys, key) {
			r.fault("the key %q stands twice in one object", key)
		}
		if seen != nil {
			seen[key] = true
		}
		v.from, v.keys, v.vals = append(v.from, at-from), append(v.keys, key), append(v.vals, one)
	}
	r.at++
	return nil
}

func (r *jsonReader) list(v *value, depth int) error {
	r.at++
	for r.space(); r.peek() != ']'; r.space() {
		if len(v.vals) > 0 {
			if r.peek() != ',' {
				return r.fail("no comma between elements")
			}
			r.at++
			r.space()
		}
		one, err := r.value(depth + 1)
		if err != nil {
			return err
		}
		v.vals = append(v.vals, one)
	}
	r.at++
	return nil
}

func (r *jsonReader) digits() bool {
	from := r.at
	for c := r.peek(); c >= '0' && c <= '9'; c = r.peek() {
		r.at++
	}
	return r.at > from
}

func (r *jsonReader) number() error {
	if r.peek() == '-' {
		r.at++
	}
	zero := r.peek() == '0'
	from := r.at
	if !r.digits() || zero && r.at-from > 1 {
		return r.fail("no number")
	}
	if r.peek() == '.' {
		r.at++
		if !r.digits() {
			return r.fail("no number")
		}
	}
	if c := r.peek(); c == 'e' || c == 'E' {
		r.at++
		if c := r.peek(); c == '+' || c == '-' {
			r.at++
		}
		if !r.digits() {
			return r.fail("no number")
		}
	}
	return nil
}

// string reads a string and decodes it. What is no Unicode becomes U+FFFD.
func (r *jsonReader) string() (string, error) {
	r.at++
	from := r.at
	for r.at < len(r.doc) && r.doc[r.at] != '"' && r.doc[r.at] != '\\' && r.doc[r.at] >= ' ' && r.doc[r.at] < utf8.RuneSelf {
		r.at++
	}
	out := r.doc[from:r.at:r.at] // most strings are done here
	for r.at < len(r.doc) {
		switch c := r.doc[r.at]; {
		case c == '"':
			r.at++
			return string(out), nil
		case c < ' ':
			return "", r.fail("a control character in a string")
		case c == '\\':
			char, err := r.escape()
			if err != nil {
				return "", err
			}
			out = utf8.AppendRune(out, char)
		default:
			char, n := utf8.DecodeRune(r.doc[r.at:])
			if char == utf8.RuneError && n == 1 {
				r.fault("a string is not UTF-8 at byte %d", r.at)
			}
			out = utf8.AppendRune(out, char)
			r.at += n
		}
	}
	return "", r.fail("a string that does not end")
}

func (r *jsonReader) escape() (rune, error) {
	r.at++
	c := r.peek()
	r.at++
	switch c {
	case '"', '\\', '/':
		return rune(c), nil
	case 'b':
		return '\b', nil
	case 'f':
		return '\f', nil
	case 'n':
		return '\n', nil
	case 'r':
		return '\r', nil
	case 't':
		return '\t', nil
	case 'u':
		return r.unicode()
	}
	r.at--
	return 0, r.fail("an escape that JSON does not know")
}

func (r *jsonReader) unicode() (rune, error) {
	at := r.at
	one, ok := r.hex(at)
	if !ok {
		return 0, r.fail("an escape that JSON does not know")
	}
	r.at += 4
	if !utf16.IsSurrogate(one) {
		return one, nil
	}
	if len(r.doc) > r.at+2 && r.doc[r.at] == '\\' && r.doc[r.at+1] == 'u' {
		if two, ok := r.hex(r.at + 2); ok {
			if whole := utf16.DecodeRune(one, two); whole != utf8.RuneError {
				r.at += 6
				return whole, nil
			}
		}
	}
	r.fault("a string has half of a surrogate pair at byte %d", at-2)
	return utf8.RuneError, nil
}

func (r *jsonReader) hex(at int) (rune, bool) {
	if len(r.doc) < at+4 {
		return 0, false
	}
	n, err := strconv.ParseUint(string(r.doc[at:at+4]), 16, 16)
	return rune(n), err == nil
}

// get returns a member, of kind 0 if there is none. Of those that repeat, the
// last.
func (v *value) get(key string) value {
	for i := len(v.keys) - 1; i >= 0; i-- {
		if v.keys[i] == key {
			return v.vals[i]
		}
	}
	return value{}
}

func (v *value) has(key string) bool { return slices.Contains(v.keys, key) }

// integer returns the value if it is a whole number.
func (v *value) integer() (int, bool) {
	if v.kind != '0' {
		return 0, false
	}
	n, err := strconv.Atoi(string(v.raw))
	return n, err == nil
}

// yes says whether the value is true.
func (v *value) yes() bool { return string(v.raw) == "true" }

// without returns the bytes of an object without one member.
func (v *value) without(key string) []byte {
	i := slices.Index(v.keys, key)
	if i < 0 {
		return v.raw
	}
	from, to := v.from[i], v.end(i)
	if i+1 < len(v.keys) {
		to = v.from[i+1] // with the comma behind it
	} else if i > 0 {
		from = v.end(i - 1) // with the comma before it
	}
	return append(append(make([]byte, 0, len(v.raw)), v.raw[:from]...), v.raw[to:]...)
}

// end is where the value of member i ends in raw.
func (v *value) end(i int) int { return v.vals[i].at - v.at + len(v.vals[i].raw) }
