package main

import (
	"fmt"
	"strings"
	"unicode"
)

// safe makes text of others fit for a terminal: no escape codes, nothing that
// moves the cursor or turns the direction of writing; what is taken away is shown.
func safe(s string) string { return clean(s, "") }

// safeLines is safe, but keeps line ends and tabs.
func safeLines(s string) string { return clean(s, "\n\t") }

func clean(s, keep string) string {
	s = strings.ReplaceAll(s, "\r\n", "\n")
	return mark(s, func(r rune) bool { return odd(r) && !strings.ContainsRune(keep, r) })
}

// exact shows text that a person is to judge: besides what safeLines marks, blanks
// that are no plain space, what is left blank, and marks that pile up.
func exact(s string) string {
	if !strings.ContainsFunc(s, strange) {
		return s
	}
	const pile = 3 // marks that a letter may have
	marks, alone := 0, true
	var b strings.Builder
	for _, r := range s {
		switch joins := unicode.In(r, unicode.Mn, unicode.Me); {
		case joins && (alone || marks >= pile) && !variation(r):
			b.WriteString(written(r))
			continue
		case joins:
			marks++
		default:
			marks, alone = 0, unicode.IsSpace(r)
		}
		if strange(r) && !unicode.In(r, unicode.Mn, unicode.Me) {
			b.WriteString(written(r))
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

// strange runes are those that exact looks at.
func strange(r rune) bool {
	switch {
	case r == '\n' || r == '\t':
		return false
	case odd(r), unicode.In(r, unicode.Mn, unicode.Me, unicode.Co):
		return true
	}
	return r != ' ' && unicode.Is(unicode.Zs, r) && r != 0x3000
}

// variation selectors choose the look of an emoji.
func variation(r rune) bool { return r == 0xfe0e || r == 0xfe0f }

func mark(s string, marked func(rune) bool) string {
	if !strings.ContainsFunc(s, marked) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if marked(r) {
			b.WriteString(written(r))
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// written is a rune by its number.
func written(r rune) string {
	switch {
	case r < 0x20 || r == 0x7f:
		return fmt.Sprintf("\\x%02x", r)
	case r > 0xffff:
		return fmt.Sprintf("\\U%08x", r)
	}
	return fmt.Sprintf("\\u%04x", r)
}

// odd runes are control characters and those that are invisible or change the
// order of what is shown.
func odd(r rune) bool {
	const joiner = 0x200d // of emoji
	switch {
	case r < 0x7f:
		return r < 0x20
	case unicode.IsControl(r), r == 0x2028, r == 0x2029:
		return true
	case r == 0x115f, r == 0x1160, r == 0x3164, r == 0xffa0, r == 0x2800, r == 0x034f: // letters that are blank
		return true
	case r >= 0x600 && r <= 0x605, r == 0x6dd, r == 0x70f, r == 0x8e2, r == 0x110bd: // signs that are seen
		return false
	case r == joiner:
		return false
	}
	return unicode.Is(unicode.Cf, r)
}
