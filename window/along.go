package window

import (
	"slices"
	"strings"

	"github.com/uzda-dev/uzda"
)

// along says whether a block came along with what a message says: somebody else may
// have written it, as a file that is attached.
func along(b uzda.Block) bool {
	return slices.ContainsFunc(b.Marks(), func(l uzda.Label) bool { return l.Kind == uzda.Untrusted })
}

// within is what the message says in at most so many tokens. What came along gives
// way before what its author wrote.
func (p post) within(tokens int) string {
	const least = 4 // a part of the tokens, for what came along
	whole := p.text()
	if Estimate(whole) <= tokens {
		return whole
	}
	var words []string
	var sizes, places []int
	room := tokens
	for _, b := range p.blocks {
		text := name(b)
		if text == "" {
			continue
		}
		size := Estimate(text) + 1
		if along(b) {
			places = append(places, len(words))
		} else {
			room -= size
		}
		words, sizes = append(words, text), append(sizes, size)
	}
	if len(places) == 0 || len(places) == len(words) || room < tokens/least {
		return within(whole, tokens)
	}
	level, _ := waterLevel(sizes, places, room)
	for _, i := range places {
		if short := within(words[i], level-1); short != "" {
			words[i] = short
		} else {
			words[i] = strings.TrimSpace(leftOut(len(words[i])))
		}
	}
	return strings.Join(words, "\n")
}
