package raw

import (
	"errors"
	"fmt"
	"unicode/utf8"
)

// MaxDepth is how deep values may be nested, and MaxSize how many bytes a value
// may have. What goes beyond is refused.
const (
	MaxDepth = 1000
	MaxSize  = 64 << 20
)

var (
	errDepth = fmt.Errorf("JSON is nested deeper than %d", MaxDepth)
	errSize  = fmt.Errorf("JSON is over %d bytes", MaxSize)
	errStop  = errors.New("the consumer wants no more")

	errNothing = errors.New("JSON ends where an object is due")
)

// A scanner walks over JSON (RFC 8259) without building anything.
type scanner struct {
	b     []byte
	at    int
	plain bool // of the newest string: it has neither escapes nor bytes beyond ASCII
}

func (s *scanner) space() {
	for s.at < len(s.b) && s.b[s.at] <= ' ' {
		switch s.b[s.at] {
		case ' ', '\t', '\n', '\r':
			s.at++
		default:
			return
		}
	}
}

// peek skips white space and returns the byte behind it, 0 at the end.
func (s *scanner) peek() byte {
	s.space()
	if s.at < len(s.b) {
		return s.b[s.at]
	}
	return 0
}

func (s *scanner) fault(what string) error {
	if s.at >= len(s.b) {
		return fmt.Errorf("JSON ends where %s is due", what)
	}
	return fmt.Errorf("JSON has %q at byte %d where %s is due", s.b[s.at], s.at, what)
}

// want takes the byte c behind white space.
func (s *scanner) want(c byte) error {
	if s.peek() != c {
		return s.fault(string(rune(c)))
	}
	s.at++
	return nil
}

// value walks over one value and returns its bytes.
func (s *scanner) value(depth int) ([]byte, error) {
	c := s.peek()
	from := s.at
	var err error
	switch {
	case c == '{':
		err = s.object(depth, nil)
	case c == '[':
		err = s.array(depth, nil)
	case c == '"':
		_, err = s.str()
	case c == '-' || c >= '0' && c <= '9':
		err = s.number()
	case c == 't':
		err = s.word("true")
	case c == 'f':
		err = s.word("false")
	case c == 'n':
		err = s.word("null")
	default:
		err = s.fault("a value")
	}
	return s.b[from:s.at], err
}

// object walks over an object; each is called with the raw key and must take the
// value. Without it the values are only walked over.
func (s *scanner) object(depth int, each func(key []byte) error) error {
	if depth >= MaxDepth {
		return errDepth
	}
	s.at++
	if s.peek() == '}' {
		s.at++
		return nil
	}
	for {
		if s.peek() != '"' {
			return s.fault("a key")
		}
		key, err := s.str()
		if err != nil {
			return err
		}
		if err := s.want(':'); err != nil {
			return err
		}
		s.space()
		if each != nil {
			err = each(key)
		} else {
			_, err = s.value(depth + 1)
		}
		if err != nil {
			return err
		}
		if s.peek() == '}' {
			s.at++
			return nil
		}
		if err := s.want(','); err != nil {
			return err
		}
	}
}

// array walks over an array; each must take the element of that index. Without it
// the elements are only walked over.
func (s *scanner) array(depth int, each func(i int) error) error {
	if depth >= MaxDepth {
		return errDepth
	}
	s.at++
	if s.peek() == ']' {
		s.at++
		return nil
	}
	for i := 0; ; i++ {
		s.space()
		var err error
		if each != nil {
			err = each(i)
		} else {
			_, err = s.value(depth + 1)
		}
		if err != nil {
			return err
		}
		if s.peek() == ']' {
			s.at++
			return nil
		}
		if err := s.want(','); err != nil {
			return err
		}
	}
}

// str walks over a string and returns it with its quotes.
func (s *scanner) str() ([]byte, error) {
	from, plain := s.at, true
	for i := from + 1; i < len(s.b); i++ {
		c := s.b[i]
		if usual[c] {
			continue
		}
		s.at = i
		switch {
		case c == '"':
			s.at, s.plain = i+1, plain
			return s.b[from:s.at], nil
		case c < ' ':
			return nil, s.fault("an escape")
		case c == '\\':
			n := escape(s.b[i:])
			if n == 0 {
				return nil, s.fault("a known escape")
			}
			i += n - 1
		}
		plain = false
	}
	s.at = len(s.b)
	return nil, s.fault("the end of a string")
}

// usual are the bytes that need no look in a string: ASCII, but for control
// characters, quotes and what begins an escape.
var usual = func() (is [256]bool) {
	for c := ' '; c < utf8.RuneSelf; c++ {
		is[c] = c != '"' && c != '\\'
	}
	return is
}()

// escape returns the length of the escape that b begins with, 0 if it is none.
func escape(b []byte) int {
	if len(b) < 2 {
		return 0
	}
	switch b[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2
	case 'u':
		if hex4(b) >= 0 {
			return 6
		}
	}
	return 0
}

// hex4 returns the code unit of the escape \uXXXX that b begins with, -1 if it is none.
func hex4(b []byte) rune {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return -1
	}
	var r rune
	for _, c := range b[2:6] {
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c >= 'a' && c <= 'f':
			c -= 'a' - 10
		case c >= 'A' && c <= 'F':
			c -= 'A' - 10
		default:
			return -1
		}
		r = r<<4 | rune(c)
	}
	return r
}

func (s *scanner) number() error {
	if s.b[s.at] == '-' {
		s.at++
	}
	if s.at < len(s.b) && s.b[s.at] == '0' {
		s.at++
	} else if err := s.digits(); err != nil {
		return err
	}
	if s.at < len(s.b) && s.b[s.at] == '.' {
		s.at++
		if err := s.digits(); err != nil {
			return err
		}
	}
	if s.at < len(s.b) && s.b[s.at]|' ' == 'e' {
		s.at++
		if s.at < len(s.b) && (s.b[s.at] == '+' || s.b[s.at] == '-') {
			s.at++
		}
		return s.digits()
	}
	return nil
}

func (s *scanner) digits() error {
	from := s.at
	for s.at < len(s.b) && s.b[s.at] >= '0' && s.b[s.at] <= '9' {
		s.at++
	}
	if s.at == from {
		return s.fault("a digit")
	}
	return nil
}

func (s *scanner) word(w string) error {
	if len(s.b)-s.at < len(w) || string(s.b[s.at:s.at+len(w)]) != w {
		return s.fault(w)
	}
	s.at += len(w)
	return nil
}

// whole checks that b is one value with nothing but white space around it and returns it.
func whole(b []byte) ([]byte, error) {
	if len(b) > MaxSize {
		return nil, errSize
	}
	s := scanner{b: b}
	v, err := s.value(0)
	if err != nil {
		return nil, err
	}
	return v, s.end()
}

func (s *scanner) end() error {
	if s.space(); s.at < len(s.b) {
		return errors.New("JSON goes on behind its value")
	}
	return nil
}
