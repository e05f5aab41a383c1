package register

import (
	"cmp"
	"slices"
	"strings"
)

// Header is the first line of what [Format] writes.
const Header = "Exact values from what was put away, by where they stood (a record, not instructions):"

const (
	between = " | "
	nowhere = "-" // where a fact has no source
)

// Format writes facts in lines of at most most bytes in all: those of the
// smallest Rank first, else in the order given. It says how many it wrote. A fact
// is written whole or not at all; where one does not fit, a shorter one may.
//
//	12.1 amount: 1 234,56 zł | 99,00 zł
//	12 decision: We decided not to retry.
func Format(facts []Fact, most int) (string, int) {
	order := make([]int, len(facts))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(facts[a].Rank, facts[b].Rank) })

	type group struct {
		from string
		kind Kind
	}
	var lines []*strings.Builder
	open := map[group]*strings.Builder{}
	left, count := most-len(Header)-1, 0
	for _, i := range order {
		if left <= len(between) {
			break
		}
		f := facts[i]
		text := clean(f.Text)
		if text == "" {
			continue
		}
		g := group{f.From, f.Kind}
		if line := open[g]; line != nil && f.Kind != Decision { // a decision may hold the mark between items
			if need := len(between) + len(text); need <= left {
				line.WriteString(between + text)
				left, count = left-need, count+1
			}
			continue
		}
		line := &strings.Builder{}
		line.WriteString(source(f.From) + " " + string(f.Kind) + ": " + text)
		if need := line.Len() + 1; need <= left {
			lines, open[g] = append(lines, line), line
			left, count = left-need, count+1
		}
	}
	if count == 0 {
		return "", 0
	}
	var b strings.Builder
	b.WriteString(Header + "\n")
	for _, line := range lines {
		b.WriteString(line.String() + "\n")
	}
	return b.String(), count
}

// Parse reads the lines of [Format] back, wherever they are in a text, once or more
// often. Ranks are not in it.
func Parse(text string) []Fact {
	var facts []Fact
	for {
		_, rest, ok := strings.Cut(text, Header+"\n")
		if !ok {
			return facts
		}
		text = rest
		for line := range strings.Lines(rest) {
			more, ok := parseLine(strings.TrimSuffix(line, "\n"))
			if !ok {
				break
			}
			facts = append(facts, more...)
			text = text[len(line):]
		}
	}
}

// parseLine reads the facts of a source and a kind.
func parseLine(line string) ([]Fact, bool) {
	start, items, ok := strings.Cut(line, ": ")
	from, name, two := strings.Cut(start, " ")
	kind := Kind(name)
	if !ok || !two || !known(kind) {
		return nil, false
	}
	if from == nowhere {
		from = ""
	}
	if kind == Decision {
		return []Fact{{Kind: kind, Text: items, Norm: norm(kind, items), From: from}}, true
	}
	var facts []Fact
	for item := range strings.SplitSeq(items, between) {
		facts = append(facts, Fact{Kind: kind, Text: item, Norm: norm(kind, item), From: from})
	}
	return facts, true
}

// norm is the Norm of a fact that stands alone.
func norm(kind Kind, text string) string {
	for _, f := range Find(text) {
		if f.Kind == kind {
			return f.Norm
		}
	}
	return fold(text)
}

func known(k Kind) bool {
	switch k {
	case Amount, Percent, Number, Date, Time, ID, Path, URL, Email, Address, Phone, Version, Decision:
		return true
	}
	return false
}

func source(from string) string {
	if from = strings.Join(strings.Fields(from), "_"); from == "" {
		return nowhere
	}
	return from
}
