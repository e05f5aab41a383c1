package query

import (
	"cmp"
	"slices"
	"strings"
)

// nearest returns the name that was most likely meant, "" if none is near.
func nearest(name string, known []string) string {
	if near := near(name, known, 1); len(near) > 0 {
		return near[0]
	}
	return ""
}

// near returns up to n names that may have been meant, the nearest first: those
// that differ in a third of their characters, and those that hold the name or
// lie in it.
func near(name string, known []string, n int) []string {
	type scored struct {
		name string
		d    int
	}
	var found []scored
	a := plain(name)
	for _, k := range known {
		b := plain(k)
		d := distance(a, b)
		if d > (max(len([]rune(a)), len([]rune(b)))+1)/3 {
			const least = 3
			if len(a) < least || len(b) < least || !strings.Contains(a, b) && !strings.Contains(b, a) {
				continue
			}
		}
		if !slices.ContainsFunc(found, func(s scored) bool { return s.name == k }) {
			found = append(found, scored{k, d})
		}
	}
	slices.SortStableFunc(found, func(x, y scored) int { return cmp.Compare(x.d, y.d) })
	var out []string
	for _, s := range found[:min(n, len(found))] {
		out = append(out, s.name)
	}
	return out
}

func plain(s string) string {
	return strings.ToLower(strings.NewReplacer("_", "", "-", "", " ", "").Replace(s))
}

// distance is the Levenshtein distance in runes, of names of usable length.
func distance(a, b string) int {
	const longest = 100
	x, y := []rune(a), []rune(b)
	if len(x) > longest || len(y) > longest {
		return longest
	}
	row := make([]int, len(y)+1)
	for j := range row {
		row[j] = j
	}
	for i := range x {
		diag := row[0]
		row[0] = i + 1
		for j := range y {
			cost := 1
			if x[i] == y[j] {
				cost = 0
			}
			diag, row[j+1] = row[j+1], min(diag+cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(y)]
}
