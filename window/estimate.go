package window

import (
	"math"
	"unicode"
	"unicode/utf8"
)

// Estimate is about how many tokens a text has. It is an estimate: the script of
// the letters, words, digits, punctuation and white space count differently,
// but no tokenizer is asked. It tends to say too much rather than too little.
// [Weigh] corrects it by what the provider counted.
func Estimate(text string) int { return estimate(text) }

func estimate[T ~string | ~[]byte](text T) int {
	var e estimator
	for i := 0; i < len(text); {
		if text[i] >= utf8.RuneSelf {
			r, n := utf8.DecodeRuneInString(string(text[i:min(i+utf8.UTFMax, len(text))]))
			if r == utf8.RuneError && n == 1 {
				e.put(other, 1, 1)
			} else {
				e.rune(r)
			}
			i += n
			continue
		}
		from, c := i, class(classes[text[i]])
		for i++; i < len(text) && text[i] < utf8.RuneSelf && class(classes[text[i]]) == c; i++ {
		}
		n := i - from
		switch c {
		case word:
			e.put(word, n, 0.25*float64(n))
		case space:
			e.put(space, n, 0)
		case digit:
			e.flush()
			e.sum += max(0.5*float64(n), 1)
		case newline:
			e.flush()
			e.sum += 0.7 + float64(n-1)/4
		default:
			e.flush()
			if n > 2 && alike(text[from:i]) { // a line of dashes is few tokens
				e.sum += 1 + float64(n)/8
			} else {
				e.sum += 0.7 * float64(n)
			}
		}
	}
	e.flush()
	return int(math.Ceil(e.sum - 1e-9))
}

func alike[T ~string | ~[]byte](text T) bool {
	for i := range len(text) {
		if text[i] != text[0] {
			return false
		}
	}
	return true
}

// classes has the class of each rune of ASCII.
const classes = "pppppppppsnssnpppppppppppppppppp" +
	"spppppppppppppppddddddddddpppppp" +
	"pwwwwwwwwwwwwwwwwwwwwwwwwwwppppp" +
	"pwwwwwwwwwwwwwwwwwwwwwwwwwwppppp"

// class of a rune: runs of a class are counted together.
type class byte

const (
	none    class = 0
	word    class = 'w'
	digit   class = 'd'
	punct   class = 'p' // and control characters
	space   class = 's'
	newline class = 'n'
	other   class = 'o'
)

// An estimator adds up runs. Those of words and of white space may hold runes in
// and beyond ASCII.
type estimator struct {
	class class // of the run that has not ended
	n     int
	run   float64
	sum   float64
}

// cost is what a letter beyond ASCII costs, by its script: tokenizers are trained
// on much Latin and little else.
func cost(r rune) float64 {
	switch {
	case unicode.Is(unicode.Latin, r):
		return 0.7 // with a mark; the word breaks there
	case unicode.Is(unicode.Cyrillic, r), unicode.Is(unicode.Greek, r):
		return 0.45
	case unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul):
		return 0.67
	case unicode.In(r, unicode.Arabic, unicode.Hebrew):
		return 0.5
	}
	return 0.8
}

// rune takes one that is not of ASCII. The letters of most such texts are known
// without a look at the tables of Unicode.
func (e *estimator) rune(r rune) {
	switch {
	case r >= 0xc0 && r <= 0x24f && r != '×' && r != '÷':
		e.put(word, 1, 0.7)
	case r >= 0x400 && r <= 0x481, r >= 0x48a && r <= 0x52f:
		e.put(word, 1, 0.45)
	case r >= 0x4e00 && r <= 0x9fef:
		e.put(word, 1, 0.67)
	case unicode.IsSpace(r):
		e.put(space, 1, 0)
	case unicode.IsLetter(r), unicode.IsMark(r):
		e.put(word, 1, cost(r))
	default: // symbols, emoji, punctuation of other scripts
		e.put(other, 1, 1.2)
	}
}

func (e *estimator) put(c class, n int, tokens float64) {
	if c != e.class {
		e.flush()
		e.class = c
	}
	e.n, e.run = e.n+n, e.run+tokens
}

// flush adds the run that has ended.
func (e *estimator) flush() {
	switch e.class {
	case word:
		e.sum += max(e.run, 1)
	case space:
		if e.n > 1 { // one belongs to the word after it
			e.sum += 0.5 + float64(e.n)/16
		}
	case other:
		e.sum += e.run
	}
	e.class, e.n, e.run = none, 0, 0
}
