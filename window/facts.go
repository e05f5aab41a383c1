package window

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/window/register"
)

// Ranks of facts: what people said matters most.
const (
	byPeople = iota
	decided
	byAgent
	byTools
	inTables // of numbers
)

// factsShare is the part of the budget that facts take at most which a summary has
// lost: an eighth.
const factsShare = 8

// rank is that of a fact of an item; table are the numbers of its tables.
func (i item) rank(f register.Fact, table map[string]bool) int {
	switch {
	case i.sort == asked:
		return byPeople
	case i.sort == result && bare(f) && table[f.Norm]:
		return inTables
	case i.sort == result:
		return byTools
	case f.Kind == register.Decision:
		return decided
	}
	return byAgent
}

// bare says whether a fact is a number and nothing else.
func bare(f register.Fact) bool {
	return f.Kind == register.Number && !strings.ContainsFunc(f.Text, unicode.IsLetter)
}

// rows are the numbers that stand in a row of a table with an id, by their Norm: they
// say little without it.
func rows(text string) map[string]bool {
	out := map[string]bool{}
	for line := range strings.Lines(text) {
		if !row(line) {
			continue
		}
		facts := register.Find(line)
		if !slices.ContainsFunc(facts, func(f register.Fact) bool { return f.Kind == register.ID }) {
			continue
		}
		for _, f := range facts {
			if bare(f) {
				out[f.Norm] = true
			}
		}
	}
	return out
}

// row says whether a line may be one of a table: three fields at least, and no JSON.
func row(line string) bool {
	const marks = 2 // between fields
	if line = strings.TrimLeft(line, " \t"); line == "" || strings.IndexByte("{[\"", line[0]) >= 0 {
		return false
	}
	return slices.ContainsFunc([]string{"\t", ";", "|", ","}, func(mark string) bool { return strings.Count(line, mark) >= marks })
}

// register finds the facts of the past, in the order in which they are worth to be
// kept: by rank, the newest first, of one message what names things before bare
// numbers. The numbers of tables come last. Each is there once.
func (p past) register() []register.Fact {
	var ranks [inTables + 1][]register.Fact
	put := func(f register.Fact, rank int) {
		f.Rank = rank
		ranks[rank] = append(ranks[rank], f)
	}
	for _, i := range slices.Backward(p.items) {
		text := i.content()
		facts := register.Find(text)
		slices.SortStableFunc(facts, func(a, b register.Fact) int {
			switch {
			case bare(a) == bare(b):
				return 0
			case bare(a):
				return 1
			}
			return -1
		})
		var table map[string]bool
		if i.sort == result {
			table = rows(text)
		}
		for _, f := range facts {
			if f.Kind == register.Decision && i.sort == result { // what a file or a page says was not decided here
				continue
			}
			f.From = i.source()
			put(f, i.rank(f, table))
		}
	}
	for _, text := range p.facts {
		for _, f := range register.Parse(text) {
			put(f, byAgent)
		}
	}
	for _, one := range p.posts {
		if one.earlier {
			for _, f := range register.Find(one.text()) {
				put(f, byPeople)
			}
		}
	}
	type key struct {
		kind register.Kind
		norm string
	}
	seen := map[key]bool{}
	var out []register.Fact
	for _, facts := range ranks {
		for _, f := range facts {
			if k := (key{f.Kind, f.Norm}); !seen[k] {
				seen[k] = true
				out = append(out, f)
			}
		}
	}
	return out
}

// restore writes as many facts as tokens have room for, by our estimate.
func restore(facts []register.Fact, tokens int) (text string, kept int) {
	facts = facts[:min(len(facts), max(tokens, 0))] // none takes less than one
	for most := tokens * 4; most > 0 && len(facts) > 0; most = most * 7 / 8 {
		if text, kept = register.Format(facts, most); kept == 0 {
			return "", 0
		}
		if Estimate(text) <= tokens {
			return text, kept
		}
	}
	return "", 0
}

// words are all that a model reads of messages, for the search of facts.
func words(entries []uzda.Entry) string {
	var b strings.Builder
	names := map[uzda.UseID]string{}
	for _, e := range entries {
		for _, one := range itemsOf(uzda.Entry{Seq: e.Seq, Message: e.Message}, names) {
			b.WriteString(one.content() + "\n")
		}
	}
	return b.String()
}

// flat writes the names and values of JSON as lines, so that what it quotes reads
// as it was meant. What is no JSON comes back as it is.
func flat(text string) string {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil {
		return text
	}
	var b bytes.Buffer
	flatten(&b, v)
	return b.String()
}

func flatten(b *bytes.Buffer, v any) {
	switch v := v.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			b.WriteString(key + ": ")
			flatten(b, v[key])
		}
	case []any:
		for _, one := range v {
			flatten(b, one)
		}
	case nil:
		b.WriteByte('\n')
	default:
		fmt.Fprintln(b, v)
	}
}
