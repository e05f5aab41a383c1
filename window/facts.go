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
)

// factsShare is the part of the budget that facts take at most which a summary has
// lost: an eighth.
const factsShare = 8

// Weights of facts of one rank: what names a thing matters more than a number, which
// says little without it, as in a row of a table.
const (
	named    = iota
	measured // a number with a unit, a word or a fraction
	bare
	weights // how many there are
)

func weight(f register.Fact) int {
	switch {
	case f.Kind != register.Number:
		return named
	case strings.ContainsFunc(f.Text, unicode.IsLetter), strings.Contains(f.Norm, "."):
		return measured
	}
	return bare
}

// register finds the facts of the past, in the order in which they are worth to be
// kept: by rank, by weight, the newest first. Each is there once.
func (p past) register() []register.Fact {
	var ranks [(byTools + 1) * weights][]register.Fact
	put := func(f register.Fact, rank int) {
		f.Rank = rank*weights + weight(f)
		ranks[f.Rank] = append(ranks[f.Rank], f)
	}
	for _, i := range slices.Backward(p.items) {
		for _, f := range register.Find(i.content()) {
			f.From = i.source()
			switch {
			case i.sort == asked:
				put(f, byPeople)
			case f.Kind == register.Decision && i.sort == result: // what a file or a page says was not decided here
			case f.Kind == register.Decision:
				put(f, decided)
			case i.sort == result:
				put(f, byTools)
			default:
				put(f, byAgent)
			}
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
