package window

import (
	"slices"
	"strings"
)

// content is the text in which the facts of an item are: of an input its values, of
// a result what was there without what only its display adds, as the numbers of
// lines.
func (i item) content() string {
	switch {
	case i.sort == called:
		return flat(i.text)
	case i.sort == result && !i.bad && i.tool == "read_file":
		return unnumbered(i.text)
	case i.sort == result && !i.bad && i.tool == "grep":
		return unplaced(i.text)
	}
	return i.text
}

// unnumbered takes the column of line numbers from what read_file shows, "  12" and
// a tab before each line, and the notes that it adds.
func unnumbered(text string) string {
	if first, _, _ := strings.Cut(text, "\n"); strings.Contains(first, " is a folder with ") {
		return text // a file may be named by digits
	}
	var b strings.Builder
	last := 0 // number of the line before, 0 where it had none
	for line := range strings.Lines(text) {
		n, end := column(line)
		if n == 0 || last != 0 && n != last+1 {
			if last = 0; !strings.HasPrefix(line, "[lines ") {
				b.WriteString(line)
			}
			continue
		}
		last = n
		b.WriteString(unmarked(line[end:]))
	}
	return b.String()
}

// column reads a line number of at least four columns with a tab behind it; 0: there
// is none.
func column(line string) (n, end int) {
	const width, most = 4, 9 // of the column, and digits
	at := 0
	for at < width && at < len(line) && line[at] == ' ' {
		at++
	}
	from := at
	for at < len(line) && line[at] >= '0' && line[at] <= '9' && at-from < most {
		n = 10*n + int(line[at]-'0')
		at++
	}
	if at < width || at == from || line[from] == '0' || from > 0 && at > width || at >= len(line) || line[at] != '\t' {
		return 0, 0
	}
	return n, at + 1
}

// unmarked takes from a long line what says how much of it is not shown.
func unmarked(line string) string {
	const begin, end = "… [", " bytes more on this line]\n"
	if !strings.HasSuffix(line, end) {
		return line
	}
	if at := strings.LastIndex(line, begin); at >= 0 {
		return line[:at] + "\n"
	}
	return line
}

// unplaced takes the line numbers from what grep shows: a name, ":12:" and the line,
// or "-12-" for one around a match. The name stands once, on a line of its own.
func unplaced(text string) string {
	var names []string
	for line := range strings.Lines(text) {
		if name, _, ok := placed(line); ok && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return text
	}
	var b strings.Builder
	before := ""
	for line := range strings.Lines(text) {
		name, rest, ok := around(line, names)
		switch {
		case !ok && strings.HasPrefix(line, "[") && strings.HasSuffix(strings.TrimSpace(line), "]"): // how many more there are
			continue
		case !ok:
			b.WriteString(line)
			continue
		case name != before:
			b.WriteString(name + "\n")
			before = name
		}
		b.WriteString(rest)
	}
	return b.String()
}

// around parts a line of grep: it is of a file that has a match.
func around(line string, names []string) (name, rest string, ok bool) {
	for _, name := range names {
		if after, found := strings.CutPrefix(line, name+"-"); found {
			if end := digits(after); end > 0 && strings.HasPrefix(after[end:], "-") {
				return name, after[end+1:], true
			}
		}
	}
	return placed(line)
}

// placed parts a line at the first number between two colons.
func placed(line string) (name, rest string, ok bool) {
	for at := 1; at < len(line); at++ {
		if line[at] != ':' {
			continue
		}
		end := at + 1 + digits(line[at+1:])
		if end > at+1 && end < len(line) && line[end] == ':' {
			return line[:at], line[end+1:], true
		}
	}
	return "", "", false
}

// digits is how many a text begins with.
func digits(text string) int {
	n := 0
	for n < len(text) && text[n] >= '0' && text[n] <= '9' {
		n++
	}
	return n
}
