package register

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/uzda-dev/uzda"
)

const (
	longestDecision = 200 // bytes
	cut             = "…" // ends one that was longer
)

// decides says whether a word, in small letters, makes its sentence a decision.
// last is the word before, if it is one that matters, rest what follows.
func decides(last, word, rest string) bool {
	switch word {
	case "decided", "agreed", "chose", "chosen", "mustn",
		"zdecydowano", "zdecydowaliśmy", "zdecydowalismy", "zdecydowałem", "zdecydowałam",
		"ustalono", "ustaliliśmy", "ustalilismy", "uzgodniono", "uzgodniliśmy",
		"wybieramy", "wybrano", "wybraliśmy", "zabrania", "zabronione",
		"решили", "решено", "решил", "решила", "договорились", "выбрали", "выбираем", "нельзя", "запрещено":
		return true
	case "decision", "decyzja", "ustalenie", "решение":
		return strings.HasPrefix(rest, ":") || strings.HasPrefix(rest, "**:")
	case "not":
		return last == "must"
	case "wolno":
		return last == "nie"
	case "never", "nigdy", "никогда":
		return last != "have" && last != "has" && last != "had" && last != "ve"
	}
	return false
}

// ideograph looks for Chinese words of decision, which have no spaces around.
func (s *scanner) ideograph(i int) {
	if s.mark >= 0 {
		return
	}
	for _, w := range []string{"决定", "商定", "选择了", "不得", "禁止", "決定"} {
		if strings.HasPrefix(s.text[i:], w) {
			s.mark = i
		}
	}
}

// pause handles a byte between words: it may end the sentence.
func (s *scanner) pause(i int, c byte) {
	switch c {
	case '\n', '\r':
		s.end(i)
	case ' ', '\t':
		if i > 0 && (s.text[i-1] == '.' || s.text[i-1] == '!' || s.text[i-1] == '?') && !s.goesOn(i) {
			s.end(i)
		}
	case '"':
		s.quote(i)
	}
}

// goesOn says whether a sentence goes on at the space behind a full stop: an
// abbreviation does not end it.
func (s *scanner) goesOn(i int) bool {
	stop, n := utf8.DecodeLastRuneInString(s.text[:i])
	one, n1 := utf8.DecodeLastRuneInString(s.text[:i-n])
	before, _ := utf8.DecodeLastRuneInString(s.text[:i-n-n1])
	if stop == '.' && unicode.IsLetter(one) && unicode.IsSpace(before) { // as "г. Москва"
		return true
	}
	next, _ := utf8.DecodeRuneInString(strings.TrimLeft(s.text[i:min(i+8, len(s.text))], " \t"))
	return unicode.IsLower(next)
}

// quote ends the sentence where a string of JSON begins or ends.
func (s *scanner) quote(i int) {
	before, after := byte(':'), byte(',')
	if i > 0 {
		before = s.text[i-1]
	}
	if before == ' ' && i > 1 {
		before = s.text[i-2]
	}
	if i+1 < len(s.text) {
		after = s.text[i+1]
	}
	if strings.IndexByte(":,[{", before) >= 0 {
		s.end(i)
		s.sentence = i + 1
	} else if strings.IndexByte(",]}:", after) >= 0 {
		s.end(i)
	}
}

// end ends the sentence at i.
func (s *scanner) end(i int) {
	from, mark := s.sentence, s.mark
	s.sentence, s.mark, s.last = i, -1, ""
	if mark < from {
		return
	}
	if i-from > 4*longestDecision { // the marked part of what has no full stops
		from = max(from, mark-longestDecision/2)
		i = min(i, mark+longestDecision)
	}
	text := clean(strings.ToValidUTF8(s.text[from:i], ""))
	text = strings.TrimRight(strings.TrimLeft(text, "-*•#>+ \t\"“„«"), " \t\"”»")
	if len(text) > longestDecision {
		text = s.around(text, s.text[mark:i])
	}
	if len(text) < 12 {
		return
	}
	if s.kept != nil {
		return
	}
	k := key{Decision, fold(text)}
	if !s.seen[k] {
		s.seen[k] = true
		s.facts = append(s.facts, Fact{Kind: Decision, Text: text, Norm: k.norm})
	}
}

// around cuts a long sentence so that its word of decision stays in.
func (s *scanner) around(text, marked string) string {
	word := marked[:max(1, strings.IndexFunc(marked+" ", func(r rune) bool { return !unicode.IsLetter(r) }))]
	at := strings.Index(text, strings.ToValidUTF8(word, ""))
	if at > longestDecision/2 {
		text = uzda.After(text, len(text)-at+longestDecision/3)
		if _, rest, ok := strings.Cut(text, " "); ok {
			text = rest
		}
	}
	return uzda.Clip(text, longestDecision)
}

// clean makes one line of a text: breaks and runs of blanks become a space. The
// spaces inside numbers stay as they are.
func clean(s string) string {
	if !strings.Contains(s, "  ") && !strings.HasPrefix(s, " ") && !strings.HasSuffix(s, " ") && !strings.ContainsFunc(s, breaksLine) {
		return s
	}
	fields := strings.FieldsFunc(s, func(r rune) bool {
		return r == ' ' || breaksLine(r)
	})
	return strings.Join(fields, " ")
}

func breaksLine(r rune) bool { return unicode.IsControl(r) || r == '\u2028' || r == '\u2029' }

// fold leaves the words of a text, in small letters.
func fold(s string) string {
	return strings.Join(strings.FieldsFunc(strings.ToLower(s), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r)
	}), " ")
}
