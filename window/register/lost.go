package register

import (
	"cmp"
	"slices"
	"strings"
)

// Lost returns the facts that a text does not have, in their order. A fact that
// is written in another way is not lost: an amount is kept if its number and its
// currency are there, a decision if one line has all its words.
func Lost(facts []Fact, text string) []Fact {
	s := scanner{text: text, kept: map[string]bool{}}
	s.run()
	var lines *lines
	var lost []Fact
	for _, f := range facts {
		if f.Norm == "" { // written by a stranger
			if !strings.Contains(text, f.Text) {
				lost = append(lost, f)
			}
		} else if f.Kind == Decision {
			if lines == nil {
				lines = split(text)
			}
			words := f.Norm
			if strings.HasSuffix(f.Text, cut) { // the last may be part of a word
				words = words[:max(0, strings.LastIndexByte(words, ' '))]
			}
			if !lines.have(words) {
				lost = append(lost, f)
			}
		} else if !s.kept[f.Norm] && !s.kept[cmp.Or(turned(f), f.Norm)] {
			lost = append(lost, f)
		}
	}
	return lost
}

// turned is the other reading of a date like 04/05/2025; empty: there is none.
func turned(f Fact) string {
	if f.Kind != Date || len(f.Norm) != len("2025-04-05") || !strings.Contains(f.Text, "/") || strings.HasPrefix(f.Text, f.Norm[:4]) {
		return ""
	}
	return f.Norm[:5] + f.Norm[8:] + "-" + f.Norm[5:7]
}

// lines knows on which lines of a text a word stands.
type lines struct{ of map[string][]int }

func split(text string) *lines {
	l := lines{of: map[string][]int{}}
	n := 0
	for line := range strings.Lines(text) {
		n++
		for word := range strings.FieldsSeq(fold(line)) {
			if at := l.of[word]; len(at) == 0 || at[len(at)-1] != n {
				l.of[word] = append(at, n)
			}
		}
	}
	return &l
}

// have says whether a line, or it and the next, has all words. It looks at so many
// lines at most, that a text of one word over and over does no harm.
func (l *lines) have(words string) bool {
	var at [][]int
	for word := range strings.FieldsSeq(words) {
		at = append(at, l.of[word])
	}
	if len(at) == 0 {
		return false
	}
	rare := slices.MinFunc(at, func(a, b []int) int { return cmp.Compare(len(a), len(b)) })
	for _, n := range rare[:min(len(rare), 200)] {
		if !slices.ContainsFunc(at, func(on []int) bool {
			_, found := slices.BinarySearch(on, n)
			return !found
		}) {
			return true
		}
	}
	return false
}
