package fetch

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/net/idna"
)

// looks warns a person of a host that is not what it seems: it is shown in punycode,
// and here as it would look, with the alphabets that it mixes or imitates.
func looks(host string) string {
	if !strings.Contains(host, "xn--") {
		return ""
	}
	shown, err := idna.ToUnicode(host)
	if err != nil {
		return fmt.Sprintf("Careful: %q is no valid international name.", host)
	}
	var out strings.Builder
	fmt.Fprintf(&out, "The host is written %s in other letters.", quoted(shown))
	for label := range strings.SplitSeq(shown, ".") {
		if used := scripts(label); len(used) > 1 && !usual(used) {
			fmt.Fprintf(&out, " Careful: %s mixes %s letters.", quoted(label), strings.Join(used, " and "))
		}
		if like := imitates(label); like != "" {
			fmt.Fprintf(&out, " Careful: %s looks like %q, but is another name.", quoted(label), like)
		}
	}
	return out.String()
}

// quoted shows letters, and the codes of all that cannot be seen.
func quoted(s string) string {
	return `"` + strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("-_.", r) {
			return r
		}
		return '?'
	}, s) + `"`
}

// scripts names the alphabets of the letters of a label.
func scripts(label string) (used []string) {
	for _, r := range label {
		for _, name := range []string{"Latin", "Cyrillic", "Greek", "Armenian", "Hebrew", "Arabic", "Han", "Hiragana", "Katakana", "Hangul", "Thai", "Georgian", "Cherokee"} {
			if unicode.Is(unicode.Scripts[name], r) && !slices.Contains(used, name) {
				used = append(used, name)
			}
		}
	}
	slices.Sort(used)
	return used
}

// usual says whether a language writes with these alphabets together.
func usual(used []string) bool {
	return !slices.ContainsFunc(used, func(s string) bool {
		return !slices.Contains([]string{"Han", "Hiragana", "Katakana", "Hangul", "Latin"}, s)
	})
}

// imitates returns the Latin name that a label without Latin letters looks like.
func imitates(label string) string {
	const (
		from = "аеорсухіјѕһԁԛԝӏοανρικυχ" // Cyrillic, then Greek
		to   = "aeopcyxijshdqwloavpikux"
	)
	same := map[rune]byte{}
	i := 0
	for _, r := range from {
		same[r] = to[i]
		i++
	}
	var b strings.Builder
	changed := false
	for _, r := range label {
		switch c, ok := same[r]; {
		case ok:
			b.WriteByte(c)
			changed = true
		case r < 0x80:
			b.WriteRune(r)
		default:
			return ""
		}
	}
	if !changed {
		return ""
	}
	return b.String()
}
