package window

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/uzda-dev/uzda"
)

const (
	deedShare = 20  // the list of what was done takes at most this part of the budget
	deedInput = 160 // characters of an input in it
	lastWords = 600 // characters of what the agent said last
)

// done tells by code alone what was done, for want of a summary: the newest uses
// that changed something, the others counted, and what the agent said last.
func (p past) done(d *draft) string {
	room := int(float64(d.budget)/d.factor) / deedShare
	inputs := map[uzda.UseID]string{}
	for _, i := range p.items {
		if i.sort == called {
			inputs[i.use] = i.text
		}
	}
	var lines []string
	older, reads, last := map[string]int{}, map[string]int{}, ""
	for _, i := range slices.Backward(p.items) {
		if i.sort == said && last == "" {
			last = shorten(i.text, lastWords)
		}
		if i.sort != result {
			continue
		}
		if i.did != uzda.EffectDone && i.did != uzda.EffectUnknown {
			reads[i.tool]++
			continue
		}
		line := fmt.Sprintf("[%s] %s %s: %s", i.use, i.tool, shorten(inputs[i.use], deedInput), i.outcome())
		if room -= Estimate(line); room < 0 {
			older[i.tool]++
			continue
		}
		lines = append(lines, line)
	}
	slices.Reverse(lines)
	var b strings.Builder
	b.WriteString("No summary could be made; this was listed by the program.\n")
	if len(older)+len(lines) > 0 {
		b.WriteString("Calls that changed something, or may have; do not repeat them:\n")
	}
	if len(older) > 0 {
		b.WriteString("before that: " + counts(older) + "\n")
	}
	for _, line := range lines {
		b.WriteString(line + "\n")
	}
	if len(reads) > 0 {
		b.WriteString("Calls that changed nothing: " + counts(reads) + "\n")
	}
	if last != "" {
		b.WriteString("What the agent said last: " + last + "\n")
	}
	return b.String()
}

func counts(of map[string]int) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(of)) {
		parts = append(parts, fmt.Sprintf("%s %d", uzda.OneLine(orElse(name != "", name, "(unknown)"), 60), of[name]))
	}
	return strings.Join(parts, ", ")
}
