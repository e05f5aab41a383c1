package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"strconv"
	"strings"
	"unicode/utf8"
)

// decode reads one JSON value, numbers by their digits. It refuses what readers
// disagree on: a key that stands twice, bytes that are not UTF-8, numbers that
// no machine holds, and what is nested without end. frac says that a number is written with a point or an
// exponent.
func decode(raw []byte) (v any, frac bool, err error) {
	if !utf8.Valid(raw) {
		return nil, false, errors.New("it is not UTF-8")
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return nil, false, errors.New("it ends too early")
		}
		return nil, false, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, false, errors.New("more follows after its end")
	}
	keys, depth, frac := scan(raw)
	if depth > maxDepth {
		return nil, false, fmt.Errorf("it is nested %d levels deep, at most %d are read", depth, maxDepth)
	}
	if keys != count(v) {
		return nil, false, fmt.Errorf("the key %q stands twice in one object", twice(raw))
	}
	if frac {
		if n := tooLarge(v); n != "" {
			return nil, false, fmt.Errorf("the number %s is out of range", n)
		}
	}
	return v, frac, nil
}

// maxDepth is beyond what a tool asks for; the cost of checking grows with its
// square.
const maxDepth = 100

// scan counts the keys and the depth of a valid JSON text and looks for numbers
// that are not plain digits.
func scan(raw []byte) (keys, depth int, frac bool) {
	open := 0
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case c == '"':
			for i++; raw[i] != '"'; i++ {
				if raw[i] == '\\' {
					i++
				}
			}
		case c == ':':
			keys++
		case c == '{' || c == '[':
			open++
			depth = max(depth, open)
		case c == '}' || c == ']':
			open--
		case c == '.' || c == 'E' || c == 'e' && i > 0 && raw[i-1] <= '9': // not the e of true and false
			frac = true
		}
	}
	return keys, depth, frac
}

// count returns the number of members of all objects in v.
func count(v any) int {
	n := 0
	switch v := v.(type) {
	case map[string]any:
		n = len(v)
		for _, x := range v {
			n += count(x)
		}
	case []any:
		for _, x := range v {
			n += count(x)
		}
	}
	return n
}

// twice finds the key that stands twice in an object.
func twice(raw []byte) string {
	type level struct {
		keys map[string]bool // nil in a list
		key  bool            // a key comes next
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var open []level
	for {
		tok, err := d.Token()
		if err != nil {
			return ""
		}
		if tok == json.Delim('}') || tok == json.Delim(']') {
			open = open[:len(open)-1]
		} else if n := len(open); n > 0 && open[n-1].keys != nil && open[n-1].key {
			key, _ := tok.(string)
			if open[n-1].keys[key] {
				return key
			}
			open[n-1].keys[key], open[n-1].key = true, false
			continue
		}
		switch tok {
		case json.Delim('{'):
			open = append(open, level{keys: map[string]bool{}, key: true})
			continue
		case json.Delim('['):
			open = append(open, level{})
			continue
		}
		if n := len(open); n > 0 && open[n-1].keys != nil {
			open[n-1].key = true
		}
	}
}

// maxExponent is beyond what a float64 holds (308), so that nothing that a
// program can use is refused.
const maxExponent = 400

// tooLarge returns a number of v whose exponent is absurd, "" if there is none.
// The exact arithmetic of the validator must not be fed with it.
func tooLarge(v any) string {
	switch v := v.(type) {
	case json.Number:
		if !sane(string(v)) {
			return string(v)
		}
	case map[string]any:
		for _, x := range v {
			if n := tooLarge(x); n != "" {
				return n
			}
		}
	case []any:
		for _, x := range v {
			if n := tooLarge(x); n != "" {
				return n
			}
		}
	}
	return ""
}

func sane(number string) bool {
	at := strings.IndexAny(number, "eE")
	if at < 0 {
		return true
	}
	exp, err := strconv.Atoi(number[at+1:])
	return err == nil && exp <= maxExponent && exp >= -maxExponent
}

// isNumber says whether text is a number exactly as JSON writes it; whole, that
// it is an integer as every program prints it.
func isNumber(text string) (ok, whole bool) {
	s := strings.TrimPrefix(text, "-")
	if s == "" || s[0] < '0' || s[0] > '9' || strings.ContainsAny(s, " \t\r\n") || !json.Valid([]byte(text)) || !sane(text) {
		return false, false
	}
	return true, !strings.ContainsAny(s, ".eE") && text != "-0"
}

// digits writes a number that is an integer in value as plain digits.
func digits(n json.Number) (json.Number, bool) {
	s := string(n)
	if !strings.ContainsAny(s, ".eE") || !sane(s) {
		return n, false
	}
	r, ok := new(big.Rat).SetString(s)
	if !ok || !r.IsInt() {
		return n, false
	}
	return json.Number(r.Num().String()), true
}

// encode writes a value without white space and without escaping HTML.
func encode(v any) (json.RawMessage, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimRight(buf.Bytes(), "\n"), nil
}
