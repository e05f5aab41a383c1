package agent

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }

// nearest returns up to three names that a misspelt one may mean, the likeliest first.
func nearest(name string, names []string) []string {
	type scored struct {
		name string
		d    int
	}
	low := strings.ToLower(name)
	var near []scored
	for _, n := range names {
		l := strings.ToLower(n)
		d := distance(low, l)
		if strings.Contains(l, low) || strings.Contains(low, l) {
			d = min(d, 1)
		}
		if d <= max(2, len(n)/3) {
			near = append(near, scored{n, d})
		}
	}
	slices.SortStableFunc(near, func(a, b scored) int { return cmp.Compare(a.d, b.d) })
	var out []string
	for _, s := range near[:min(3, len(near))] {
		out = append(out, s.name)
	}
	return out
}

// distance is Levenshtein's, in bytes.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diag := row[0]
		row[0] = i + 1
		for j := range len(b) {
			d := diag
			if a[i] != b[j] {
				d++
			}
			diag = row[j+1]
			row[j+1] = min(d, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
