package config

import (
	"fmt"
	"slices"
	"strings"
)

// A Fault is one mistake in the settings: where it is, what is wrong and how to
// mend it.
type Fault struct {
	Where string // uzda.yaml:3:1, env UZDA_MODEL or flag --model
	Key   string // "" if it is about no key
	Text  string
}

func (f Fault) Error() string { return f.Where + ": " + f.Text }

// Faults are all mistakes that were found, in the order of the layers. A program
// that gets them must not run: any of them may have been meant to forbid something.
type Faults []Fault

func (f Faults) Error() string {
	lines := make([]string, len(f))
	for i, one := range f {
		lines[i] = one.Error()
	}
	return strings.Join(lines, "\n")
}

// Near returns the name of names that is most like name, or "".
func Near(name string, names []string) string {
	best, least := "", max(2, len(name)/3)+1
	for _, n := range names {
		if d := distance(name, n); d < least {
			best, least = n, d
		}
	}
	return best
}

// distance counts the letters to insert, drop or replace (Levenshtein), on bytes.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		diagonal := row[0]
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			diagonal, row[j] = row[j], min(row[j]+1, row[j-1]+1, diagonal+cost)
		}
	}
	return row[len(b)]
}

// unknown says what to do about a key that is not known. Within is the section
// with its dot at the end, or "" at the top; siblings are the names known there.
func unknown(within, name string, siblings []string) string {
	text := fmt.Sprintf("unknown key %q", within+name)
	plain := strings.ReplaceAll(strings.ToLower(name), "-", "_")
	if slices.Contains(siblings, plain) {
		return text + fmt.Sprintf("; did you mean %q?", within+plain)
	}
	for _, k := range keys { // right, but in another place
		section, leaf, ok := strings.Cut(k.Name, ".")
		switch {
		case ok && leaf == plain, strings.ReplaceAll(k.Flag, "-", "_") == plain:
			return text + fmt.Sprintf("; did you mean %q?", k.Name)
		case ok && section == plain:
			return text + fmt.Sprintf("; %s stands at the top of the file", section)
		}
	}
	if n := Near(plain, siblings); n != "" {
		return text + fmt.Sprintf("; did you mean %q?", within+n)
	}
	return text + "; known here: " + strings.Join(siblings, ", ")
}
