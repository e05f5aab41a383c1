package charset

import (
	"math"
	"strings"
	"unicode"
	"unicode/utf8"
)

// The score of an encoding is the logarithm of how likely the text is that it
// gives, counted over the characters that are not ASCII, as the best of its
// languages has them. Scores of different tables compare, since they stand for
// the same bytes.

const (
	rare     = -11.0 // a letter that the language does not have
	strange  = -13.0 // a symbol where a letter would be
	sign     = -5.5  // punctuation that all languages use
	oddJoin  = -2.5  // two characters that do not stand side by side
	capitals = -3.0  // how much rarer capital letters are than small ones
)

// punctuation is what stands in texts of many languages.
const punctuation = "„”“’‘‚«»–—…§°€©®™·•№¿¡´×±\u00A0\u00AD"

// A lang is how often characters occur: the logarithm of their share.
type lang struct {
	share map[rune]float64
	latin bool // its letters stand among those of ASCII
}

// alphabet makes a language of its letters beyond ASCII, the most frequent first.
// Shares fall evenly to a fiftieth, which is near to what is counted in texts.
func alphabet(letters string, latin bool) lang {
	n := utf8.RuneCountInString(letters)
	fall := math.Log(50) / float64(n)
	sum, i := 0.0, 0
	for range letters {
		sum += math.Exp(-fall * float64(i))
		i++
	}
	l := lang{share: map[rune]float64{}, latin: latin}
	i = 0
	for _, r := range letters {
		p := -fall*float64(i) - math.Log(sum)
		l.share[r] = p
		if up := unicode.ToUpper(r); up != r {
			l.share[up] = p + capitals
		}
		i++
	}
	return l
}

// signs makes a language of its most frequent characters, by Zipf's law: the
// listed ones are about half of all.
func signs(list string) lang {
	const half = 0.55
	l := lang{share: map[rune]float64{}}
	n := float64(utf8.RuneCountInString(list))
	norm := math.Log((n + 8) / 8)
	i := 0.0
	for _, r := range list {
		if _, ok := l.share[r]; !ok {
			l.share[r] = math.Log(half / norm / (i + 8))
		}
		i++
	}
	return l
}

// scoreNarrow is for tables with one byte a character.
func scoreNarrow(text string, c narrowTable) float64 {
	best := math.Inf(-1)
	for _, l := range c.langs {
		best = math.Max(best, l.score(text))
	}
	return best + c.bonus
}

func (l lang) score(text string) float64 {
	sum, run := 0.0, 0
	prev := ' '
	for _, r := range text {
		if r >= utf8.RuneSelf {
			sum += l.of(r)
		}
		letter := unicode.IsLetter(r)
		if letter && r >= utf8.RuneSelf {
			run++
		} else {
			run = 0
		}
		switch {
		case unicode.IsUpper(r) && unicode.IsLower(prev) && (r >= utf8.RuneSelf || prev >= utf8.RuneSelf):
			sum += oddJoin
		case l.latin && run > 2:
			sum += oddJoin // letters with accents stand among others
		case !l.latin && letter && unicode.IsLetter(prev) && (r < utf8.RuneSelf) != (prev < utf8.RuneSelf):
			sum += oddJoin // words are of one script
		case unicode.IsSymbol(r) && r >= utf8.RuneSelf && unicode.IsLetter(prev):
			sum += oddJoin
		}
		prev = r
	}
	return sum
}

func (l lang) of(r rune) float64 {
	if p, ok := l.share[r]; ok {
		return p
	}
	switch {
	case strings.ContainsRune(punctuation, r):
		return sign
	case unicode.IsLetter(r):
		return rare
	}
	return strange
}

// scoreWide is for tables with several bytes a character.
func scoreWide(text string, c wideTable) float64 {
	sum := 0.0
	prev := ' '
	for _, r := range text {
		if r >= utf8.RuneSelf {
			sum += c.of(r)
			if prev < utf8.RuneSelf && (unicode.IsLetter(prev)) {
				sum += oddJoin / 2
			}
		} else if prev >= utf8.RuneSelf && unicode.IsLetter(r) {
			sum += oddJoin / 2
		}
		prev = r
	}
	return sum
}

func (c wideTable) of(r rune) float64 {
	if p, ok := c.lang.share[r]; ok {
		return p
	}
	switch {
	case strings.ContainsRune("，。、：；！？（）《》「」『』【】“”‘’—…　・〜ー", r):
		return sign + 1
	case c.kana && r >= 0x3041 && r <= 0x3096:
		return -4
	case c.kana && r >= 0x30A1 && r <= 0x30FA:
		return -5.5
	case r >= 0xFF61 && r <= 0xFF9F: // half of the width: one byte in Shift_JIS
		return -9
	case r >= 0xFF01 && r <= 0xFF5E, r >= '①' && r <= '⑳':
		return sign - 2
	case c.hangul && r >= 0xAC00 && r <= 0xD7A3:
		return -7.5
	case unicode.Is(unicode.Han, r) && !c.hangul:
		return c.han(r)
	}
	return 2 * strange // as long as two bytes of nothing
}

// han: the characters of daily use stand first in each of the tables.
func (c wideTable) han(r rune) float64 {
	raw, err := (Encoding{Name: c.name}).Encode(string(r))
	if err == nil && len(raw) == 2 && raw[0] >= c.common[0] && raw[0] <= c.common[1] && (c.name != "gb18030" || raw[1] > 0xA0) {
		return -8.5
	}
	return -13
}

// scoreUTF16 judges text that was read as UTF-16 without a mark.
func scoreUTF16(text string) (score float64, likely bool) {
	_, wide := tables()
	odd, all, known := 0, 0, 0
	for _, r := range text {
		all++
		if !usual(r) {
			odd++
		}
		p := -5.0
		switch {
		case r < utf8.RuneSelf:
			p = 0
		case unicode.In(r, unicode.Han, unicode.Hangul):
			p = -12
			for _, c := range wide {
				if q, ok := c.lang.share[r]; ok {
					p = max(p, q)
				}
			}
		}
		if score += p; p > -12 {
			known++
		}
	}
	const most, few = 100, 4 // one odd one in a hundred; at least a few, and half of them, that all texts have
	return score, all >= few && odd*most <= all && known*2 >= all
}
