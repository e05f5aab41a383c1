package uzda

import (
	"cmp"
	"slices"
	"strings"
)

// Nearest returns up to most of the known names that a misspelt one may mean, the
// likeliest first: those that differ in case and separators only, in a third of
// their characters (or two), or that hold the name or lie in it.
func Nearest(name string, known []string, most int) []string {
	type scored struct {
		name string
		d    int
	}
	var found []scored
	a := plainName(name)
	for _, k := range known {
		b := plainName(k)
		long, short := max(len(a), len(b)), min(len(a), len(b))
		d := distance(a, b)
		if far := max((long+1)/3, min(2, short/2)); d > far {
			const least = 3
			if short < least || !strings.Contains(string(a), string(b)) && !strings.Contains(string(b), string(a)) {
				continue
			}
			d = far + 1 // after those that look alike
		}
		if !slices.ContainsFunc(found, func(s scored) bool { return s.name == k }) {
			found = append(found, scored{k, d})
		}
	}
	slices.SortStableFunc(found, func(x, y scored) int { return cmp.Compare(x.d, y.d) })
	var out []string
	for _, s := range found[:max(0, min(most, len(found)))] {
		out = append(out, s.name)
	}
	return out
}

// plainName leaves out what people get wrong first: case and separators.
func plainName(s string) []rune {
	return []rune(strings.ToLower(strings.NewReplacer("_", "", "-", "", ".", "", " ", "").Replace(Before(s, 400))))
}

// distance is Levenshtein's, in runes, of names of usable length.
func distance(a, b []rune) int {
	const longest = 100
	if len(a) > longest || len(b) > longest {
		return 4 * longest
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range a {
		diag := row[0]
		row[0] = i + 1
		for j := range b {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			diag, row[j+1] = row[j+1], min(diag+cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
