package charset

import (
	"bytes"
	"unicode/utf8"

	"golang.org/x/text/transform"
)

// An escaper lets UTF-8 through and writes every other byte as \xNN.
type escaper struct{ transform.NopResetter }

// Transform is that of [transform.Transformer].
func (e *escaper) Transform(dst, src []byte, atEOF bool) (nDst, nSrc int, err error) {
	const digits = "0123456789abcdef"
	for nSrc < len(src) {
		r, n := utf8.DecodeRune(src[nSrc:])
		bad := r == utf8.RuneError && n == 1
		switch {
		case bad && !atEOF && !utf8.FullRune(src[nSrc:]):
			return nDst, nSrc, transform.ErrShortSrc
		case bad && nDst+4 > len(dst), nDst+n > len(dst):
			return nDst, nSrc, transform.ErrShortDst
		case bad:
			c := src[nSrc]
			nDst += copy(dst[nDst:], []byte{'\\', 'x', digits[c>>4], digits[c&15]})
		default:
			nDst += copy(dst[nDst:], src[nSrc:nSrc+n])
		}
		nSrc += n
	}
	return nDst, nSrc, nil
}

func escaped(data []byte) string {
	out, _, _ := transform.Bytes(&escaper{}, data)
	return string(out)
}

// odd says whether data is UTF-8, or ASCII, but for a few bytes: some that were
// damaged, an end that was cut off. Those of a code page are more, and stand in words.
func odd(data []byte) bool {
	if bytes.IndexByte(data, 0) >= 0 {
		return false
	}
	good, bad := 0, 0       // characters beyond ASCII, other bytes
	inWords, inRows := 0, 0 // of the others: beside letters, beside others
	is := func(i int, what func(byte) bool) bool { return i >= 0 && i < len(data) && what(data[i]) }
	high := func(c byte) bool { return c >= utf8.RuneSelf }
	letter := func(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }
	for i := 0; i < len(data); {
		if data[i] < utf8.RuneSelf {
			i++
			continue
		}
		r, n := utf8.DecodeRune(data[i:])
		switch {
		case r != utf8.RuneError || n > 1:
			good++
		case !utf8.FullRune(data[i:]): // the end
			bad++
			i = len(data)
		default:
			bad++
			if is(i-1, letter) || is(i+1, letter) {
				inWords++
			} else if is(i-1, high) || is(i+1, high) {
				inRows++
			}
		}
		i += n
	}
	const few, row = 2, 4 // characters for each byte; bytes that may be a word by themselves
	return good >= few*bad || bad == 1 || good == 0 && inWords < 2 && inRows < row
}
