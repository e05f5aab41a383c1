package uzda

import (
	"strings"
	"unicode/utf8"
)

// Clip cuts s to at most n bytes, never inside a rune, and marks the cut.
func Clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	const mark = "…"
	if n < len(mark) {
		return ""
	}
	return Before(s, n-len(mark)) + mark
}

// Before returns the longest beginning of s of at most n bytes that ends between runes.
func Before(s string, n int) string {
	if n >= len(s) {
		return s
	}
	n = max(n, 0)
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// After returns the longest end of s of at most n bytes that begins between runes.
func After(s string, n int) string {
	if n >= len(s) {
		return s
	}
	at := len(s) - max(n, 0)
	for at < len(s) && !utf8.RuneStart(s[at]) {
		at++
	}
	return s[at:]
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
