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
	return mark(s, keep)
}

func mark(s, keep string) string {
	if !strings.ContainsFunc(s, func(r rune) bool { return odd(r) && !strings.ContainsRune(keep, r) }) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		switch {
		case !odd(r) || strings.ContainsRune(keep, r):
			b.WriteRune(r)
		case r < 0x20 || r == 0x7f:
			fmt.Fprintf(&b, "\\x%02x", r)
		default:
			fmt.Fprintf(&b, "\\u%04x", r)
		}
	}
	return b.String()
}

// odd runes are control characters and those that are invisible or change the
// order of what is shown.
func odd(r rune) bool {
	switch {
	case unicode.IsControl(r):
		return true
	case r >= 0x200b && r <= 0x200f, r >= 0x202a && r <= 0x202e, r >= 0x2060 && r <= 0x2069, r == 0xfeff:
		return r != 0x200d // joins emoji
	}
	return r >= 0xe0000 && r <= 0xe007f // tags
}
