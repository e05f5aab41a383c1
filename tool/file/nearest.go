package file

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"

	"github.com/uzda-dev/uzda"
)

// nearMost is how much of a file is searched for text that is nearly right.
const nearMost = 8 << 20

var numbered = regexp.MustCompile(`^\s*\d+\t`)

// nearest says which text of a file is closest to what was not found, and how it
// differs.
func (s script) nearest(data []byte, old string) string {
	want := strings.Split(strings.Trim(old, "\n"), "\n")
	if allNumbered(want) {
		return "It begins with the line numbers that read_file shows: leave them and the tab after them out."
	}
	if len(data) > nearMost {
		data = data[:s.lineEnd(data, nearMost)]
	}
	have := strings.Split(unixEnds(s.text(data[min(s.mark, len(data)):])), "\n")
	at, score := closest(have, want)
	if score == 0 {
		if at = closestPart(have, want[0]); at < 0 {
			return "Nothing in the file is like it: read the file again."
		}
	}
	var b strings.Builder
	shown := have[at:min(at+len(want), len(have))]
	fmt.Fprintf(&b, "The closest text is on line %d", at+1)
	if len(shown) > 1 {
		fmt.Fprintf(&b, "-%d", at+len(shown))
	}
	fmt.Fprintf(&b, ": %s. It is:\n", how(want, shown, old))
	const most, long = 12, 300
	for i, line := range shown {
		if i == most {
			fmt.Fprintf(&b, "(%d more lines)\n", len(shown)-most)
			break
		}
		fmt.Fprintln(&b, uzda.Clip(line, long))
	}
	return b.String() + "Copy it exactly, or read these lines again."
}

func allNumbered(lines []string) bool {
	for _, l := range lines {
		if !numbered.MatchString(l) {
			return false
		}
	}
	return true
}

// loose is a line without what is easily got wrong: white space, quotes, dashes, case.
func loose(line string) string {
	return strings.ToLower(strings.Join(strings.Fields(plainSigns(line)), " "))
}

func plainSigns(line string) string {
	return strings.NewReplacer("“", `"`, "”", `"`, "„", `"`, "«", `"`, "»", `"`, "‘", "'", "’", "'", "`", "'",
		"–", "-", "—", "-", "\u2011", "-", "\u2212", "-", "\u00A0", " ", "\u202F", " ", "\u200B", "", "\uFEFF", "", "…", "...").Replace(line)
}

// closest finds the lines of which most are loosely the same.
func closest(have, want []string) (at, score int) {
	index := map[string][]int{} // places in want by loose line
	for i, w := range want {
		if l := loose(w); l != "" && len(index[l]) < 8 {
			index[l] = append(index[l], i)
		}
	}
	loosened := make([]string, len(have))
	for i, h := range have {
		loosened[i] = loose(h)
	}
	tried := map[int]bool{}
	const mostTries = 2000
	for i, l := range loosened {
		for _, j := range index[l] {
			start := i - j
			if start < 0 || tried[start] || len(tried) > mostTries {
				continue
			}
			tried[start] = true
			n := 0
			for k, w := range want {
				if start+k < len(have) && loosened[start+k] == loose(w) && loosened[start+k] != "" {
					n++
				}
			}
			if n > score {
				at, score = start, n
			}
		}
	}
	return at, score
}

// closestPart finds the line that holds want loosely, or shares most of its words.
func closestPart(have []string, want string) int {
	l := loose(want)
	words := strings.FieldsFunc(l, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	best, at := 0, -1
	for i, h := range have {
		hl := loose(h)
		if l != "" && strings.Contains(hl, l) {
			return i
		}
		n := 0
		for _, w := range words {
			if len(w) > 1 && strings.Contains(hl, w) {
				n++
			}
		}
		if n > best {
			best, at = n, i
		}
	}
	if best*2 < len(words) {
		return -1
	}
	return at
}

// how says in what two texts differ.
func how(want, have []string, old string) string {
	var ways []string
	add := func(yes bool, what string) {
		if yes {
			ways = append(ways, what)
		}
	}
	if len(want) == len(have) || len(have) > 0 {
		w, h := strings.Join(want[:min(len(want), len(have))], "\n"), strings.Join(have, "\n")
		indented := strings.ContainsAny(w, "\t\n") || strings.HasPrefix(w, " ")
		tabs := indented && strings.Count(w, "\t") != strings.Count(h, "\t")
		add(tabs && strings.Contains(h, "\t"), "the file has tabs where old has spaces")
		add(tabs && !strings.Contains(h, "\t"), "the file has spaces where old has tabs")
		pw, ph := plainSigns(w), plainSigns(h)
		add(!strings.Contains(h, w) && strings.Contains(ph, pw), "quotes, dashes or special spaces differ")
		sw, sh := squeeze(pw), squeeze(ph)
		add(!tabs && !strings.Contains(ph, pw) && strings.Contains(sh, sw), "white space differs (indentation, the ends of lines)")
		add(!strings.Contains(sh, sw) && strings.Contains(strings.ToLower(sh), strings.ToLower(sw)), "capital letters differ")
		for i := range min(len(want), len(have)) {
			if l := loose(have[i]); len(ways) == 0 && l != loose(want[i]) && !strings.Contains(l, loose(want[i])) {
				ways = append(ways, fmt.Sprintf("line %d of old is another", i+1))
			}
		}
	}
	add(len(want) > len(have), "the file ends before old does")
	add(len(ways) == 0 && strings.HasPrefix(old, "\n"), "there is no empty line before it")
	add(len(ways) == 0 && strings.HasSuffix(old, "\n"), "there is no line end after it")
	if len(ways) == 0 {
		return "it differs"
	}
	return strings.Join(ways, "; ")
}

func squeeze(s string) string { return strings.Join(strings.Fields(s), " ") }
