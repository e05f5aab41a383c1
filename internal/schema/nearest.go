package schema

import "strings"

// nearest returns the name that was most likely meant, "" if none is near: one
// that differs only in case and separators, or in a third of its characters.
func nearest(name string, known []string) string {
	best, least := "", 0
	for _, k := range known {
		d := distance(plain(name), plain(k))
		if d > (len([]rune(k))+1)/3 {
			continue
		}
		if best == "" || d < least {
			best, least = k, d
		}
	}
	return best
}

func plain(s string) string {
	return strings.ToLower(strings.NewReplacer("_", "", "-", "", ".", "", " ", "").Replace(s))
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
