package main

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// alike are letters that look like those of the Latin alphabet, and signs that
// look like those of paths and addresses. Unicode's list of confusables (UTS 39)
// has thousands; these are the ones that most fonts draw the same.
var alike = strings.NewReplacer(
	"а", "a", "е", "e", "о", "o", "р", "p", "с", "c", "у", "y", "х", "x", "і", "i", "ј", "j", "ѕ", "s", "һ", "h", "ԁ", "d", "ԛ", "q", "ԝ", "w", "ӏ", "l",
	"А", "A", "В", "B", "Е", "E", "К", "K", "М", "M", "Н", "H", "О", "O", "Р", "P", "С", "C", "Т", "T", "У", "Y", "Х", "X", "Ѕ", "S", "І", "I", "Ј", "J",
	"Α", "A", "Β", "B", "Ε", "E", "Ζ", "Z", "Η", "H", "Ι", "I", "Κ", "K", "Μ", "M", "Ν", "N", "Ο", "O", "Ρ", "P", "Τ", "T", "Υ", "Y", "Χ", "X",
	"ο", "o", "ν", "v", "ρ", "p", "ι", "i", "κ", "k", "υ", "u", "χ", "x", "α", "a", "γ", "y",
	"օ", "o", "ո", "n", "ս", "u", "հ", "h", "ց", "g", "զ", "q", "Ꭺ", "A", "Ꮯ", "C", "Ꭼ", "E", "Ꮋ", "H", "ɑ", "a", "ɡ", "g",
	"⁄", "/", "∕", "/", "⧸", "/", "∖", `\`, "․", ".", "꞉", ":", "∶", ":", "‐", "-", "‑", "-", "−", "-",
)

// looksLike is the Latin letter or the sign that a rune is easily taken for; the
// rune itself if it is none of those.
func looksLike(r rune) rune {
	if r < 0x80 {
		return r
	}
	if r >= 0xff01 && r <= 0xff5e { // fullwidth forms
		return r - 0xff01 + '!'
	}
	for _, l := range alike.Replace(string(r)) {
		return l
	}
	return r
}

// doubts says what in a text is not what it seems to be: for a person who is to
// judge it.
func doubts(text string) []string {
	var out []string
	if unseen := hidden(text); len(unseen) > 0 {
		out = append(out, "not all of it can be seen; written out by number: "+strings.Join(unseen, ", "))
	}
	foreign := strings.ContainsFunc(text, func(r rune) bool { return unicode.IsLetter(r) && !unicode.Is(unicode.Latin, r) && looksLike(r) == r })
	seen := map[string]bool{}
	for _, w := range strings.FieldsFunc(text, func(r rune) bool {
		return !unicode.In(r, unicode.L, unicode.M, unicode.Nd) && looksLike(r) == r || r < 0x80 && !unicode.IsLetter(r) && !unicode.IsDigit(r)
	}) {
		if why := doubt(w, foreign); why != "" && !seen[w] {
			seen[w] = true
			out = append(out, why)
		}
	}
	const most = 5
	if len(out) > most {
		out = append(out[:most], fmt.Sprintf("and %d more of this kind", len(out)-most))
	}
	return out
}

// doubt says why a word is not what it seems. In a text with words of another
// alphabet, a word wholly in that alphabet is one of them.
func doubt(word string, foreign bool) string {
	var strangers []string
	latin, cyrillic := false, false
	like := strings.Map(func(r rune) rune {
		l := looksLike(r)
		switch {
		case l != r && !slices.Contains(strangers, likeness(r, l)):
			strangers = append(strangers, likeness(r, l))
		case r < 0x80 && unicode.IsLetter(r):
			latin = true
		}
		cyrillic = cyrillic || unicode.In(r, unicode.Cyrillic, unicode.Armenian, unicode.Cherokee)
		return l
	}, word)
	plain := !strings.ContainsFunc(like, func(r rune) bool { return r >= 0x80 })
	switch {
	case len(strangers) > 0 && latin, len(strangers) > 0 && plain && !foreign && len(like) > 1:
		return fmt.Sprintf("%s is not %s: %s", inQuotes(word), inQuotes(like), strings.Join(strangers[:min(3, len(strangers))], ", "))
	case latin && cyrillic:
		return fmt.Sprintf("%s mixes letters of two alphabets", inQuotes(word))
	}
	return ""
}

func inQuotes(s string) string { return `"` + safe(s) + `"` }

// likeness names a letter with what it is taken for.
func likeness(r, like rune) string {
	alphabet := "sign"
	for name, table := range map[string]*unicode.RangeTable{"Cyrillic": unicode.Cyrillic, "Greek": unicode.Greek, "Armenian": unicode.Armenian,
		"Cherokee": unicode.Cherokee, "Latin": unicode.Latin} {
		if unicode.Is(table, r) {
			alphabet = name
		}
	}
	if r >= 0xff01 && r <= 0xff5e {
		alphabet = "fullwidth"
	}
	return fmt.Sprintf("%c is %s U+%04X, not %c", r, alphabet, r, like)
}

// hidden lists what a terminal would not show, or would use to show the rest in
// another order.
func hidden(text string) []string {
	var out []string
	for _, r := range text {
		if !odd(r) || r == '\n' || r == '\t' {
			if !strange(r) || !unicode.Is(unicode.Zs, r) {
				continue
			}
		}
		name := fmt.Sprintf("U+%04X", r)
		switch {
		case unicode.Is(unicode.Bidi_Control, r):
			name += " (turns the direction of writing)"
		case r == 0x1b:
			name += " (escape)"
		case unicode.Is(unicode.Zs, r):
			name += " (a blank that is no space)"
		case unicode.IsControl(r):
			name += " (control)"
		default:
			name += " (invisible)"
		}
		if !slices.Contains(out, name) && len(out) < 6 {
			out = append(out, name)
		}
	}
	return out
}
