package window

import (
	"math"
	"unicode"
	"unicode/utf8"
)

// Estimate is about how many tokens a text has. It is an estimate: the script of
// the letters, words, digits, punctuation and white space count differently,
// but no tokenizer is asked. It tends to say too much rather than too little.
// [Breakdown] corrects it by what the provider counted.
func Estimate(text string) int {
	var e estimator
	for i, r := range text {
		if r == utf8.RuneError {
			if _, n := utf8.DecodeRuneInString(text[i:]); n == 1 {
				e.put(other, r, 1)
				continue
			}
		}
		e.rune(r)
	}
	e.flush()
	return int(math.Ceil(e.sum - 1e-9))
}

// class of a rune: runs of a class are counted together.
type class int

const (
	none class = iota
	word
	digit
	punct
	space
	newline
	other
)

type estimator struct {
	class class
	last  rune
	same  bool // all runes of the run are the same
	n     int
	run   float64
	sum   float64
}

// cost is what a letter costs in tokens, by its script: tokenizers are trained
// on much Latin and little else.
func cost(r rune) float64 {
	switch {
	case r < utf8.RuneSelf:
		return 0.25
	case unicode.In(r, unicode.Latin):
		return 0.7 // with a mark; the word breaks there
	case unicode.In(r, unicode.Cyrillic, unicode.Greek):
		return 0.45
	case unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul):
		return 0.67
	case unicode.In(r, unicode.Arabic, unicode.Hebrew):
		return 0.5
	}
	return 0.8
}

func (e *estimator) rune(r rune) {
	switch {
	case r == '\n' || r == '\r':
		e.put(newline, r, 0)
	case unicode.IsSpace(r):
		e.put(space, r, 0)
	case r < utf8.RuneSelf && unicode.IsDigit(r):
		e.put(digit, r, 0.5)
	case r < utf8.RuneSelf && !unicode.IsLetter(r):
		e.put(punct, r, 0.7)
	case unicode.IsLetter(r), unicode.IsMark(r):
		e.put(word, r, cost(r))
	default: // symbols, emoji, punctuation of other scripts
		e.put(other, r, 1.2)
	}
}

func (e *estimator) put(c class, r rune, tokens float64) {
	if c != e.class {
		e.flush()
		e.class, e.same = c, true
	} else if r != e.last {
		e.same = false
	}
	e.last, e.n, e.run = r, e.n+1, e.run+tokens
}

// flush adds the run that has ended.
func (e *estimator) flush() {
	switch e.class {
	case word, digit:
		e.sum += max(e.run, 1)
	case punct:
		if e.same && e.n > 2 { // a line of dashes is few tokens
			e.run = 1 + float64(e.n)/8
		}
		e.sum += max(e.run, 0.7)
	case space:
		if e.n > 1 { // one belongs to the word after it
			e.sum += 0.5 + float64(e.n)/16
		}
	case newline:
		e.sum += 0.7 + float64(e.n-1)/4
	case other:
		e.sum += e.run
	}
	e.class, e.n, e.run = none, 0, 0
}
