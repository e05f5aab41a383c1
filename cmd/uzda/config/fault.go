package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/uzda-dev/uzda"
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

// near is the name that was most likely meant, "" if none is.
func near(name string, names []string) string {
	if n := uzda.Nearest(name, names, 1); len(n) > 0 {
		return n[0]
	}
	return ""
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
	if n := near(plain, siblings); n != "" {
		return text + fmt.Sprintf("; did you mean %q?", within+n)
	}
	return text + "; known here: " + strings.Join(siblings, ", ")
}
