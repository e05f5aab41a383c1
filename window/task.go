package window

import (
	"fmt"
	"slices"
	"strings"

	"github.com/uzda-dev/uzda"
)

// Parts of the budget that the task takes: what must stand in it is shortened over
// the first, and other messages of people fill it up to the second.
const (
	taskMost  = 4
	taskShare = 5
	taskLeast = 20 // of the other messages, whatever there is
)

// task is what people asked for, word for word: the first message of the session
// and all of the running turn, and of the others the newest. One that is huge is
// shortened. What is not there can be recalled.
func (p past) task(d *draft) uzda.Blocks {
	if len(p.posts) == 0 {
		return nil
	}
	budget := int(float64(d.budget) / d.factor)
	sizes, must := make([]int, len(p.posts)), make([]int, 0, len(p.posts))
	for i, one := range p.posts {
		sizes[i] = aroundMessage + Estimate(one.text())
		if i == 0 || one.running || one.earlier {
			must = append(must, i)
		}
	}
	level, used := waterLevel(sizes, must, budget/taskMost)
	in := make([]bool, len(p.posts))
	for _, i := range must {
		in[i] = true
	}
	most := max(budget/taskShare, used+budget/taskLeast)
	for i := len(p.posts) - 1; i >= 0; i-- {
		if !in[i] && used+sizes[i] <= most {
			in[i], used = true, used+sizes[i]
		}
	}
	if len(p.posts) == 1 && sizes[0] <= level {
		return p.posts[0].whole()
	}
	return p.tell(in, level, d.recalls())
}

// waterLevel is the size to which the largest are cut so that those at places have
// at most most in all, and what they have then.
func waterLevel(sizes, places []int, most int) (level, used int) {
	sorted := make([]int, 0, len(places))
	for _, i := range places {
		sorted = append(sorted, sizes[i])
	}
	slices.Sort(sorted)
	for n, size := range sorted {
		level = (most - used) / (len(sorted) - n)
		if size > level {
			return max(level, 1), used + level*(len(sorted)-n)
		}
		used += size
	}
	return max(most, 1), used
}

// tell writes the messages in their order, each under its number.
func (p past) tell(in []bool, level int, recall bool) uzda.Blocks {
	var parts []string
	var labels []uzda.Label
	var media uzda.Blocks
	gone := 0
	gap := func() {
		if gone > 0 {
			parts = append(parts, fmt.Sprintf("[messages left out here: %d%s]", gone, orElse(recall, "; recall finds them", "")))
		}
		gone = 0
	}
	for i, one := range p.posts {
		if !in[i] {
			gone++
			continue
		}
		gap()
		text := one.text()
		if short := one.within(level); short != text {
			text = short + orElse(recall, fmt.Sprintf("\n[shortened; recall {\"query\":\"%d\"} gives the whole message]", one.seq), "\n[shortened]")
		}
		if !one.earlier {
			text = fmt.Sprintf("[message %d]\n%s", one.seq, text)
		}
		parts = append(parts, text)
		for _, b := range one.blocks {
			labels = uzda.Union(labels, b.Marks()...)
			if _, ok := b.(uzda.Media); ok && one.running {
				media = append(media, b)
			}
		}
	}
	gap()
	return append(uzda.Blocks{uzda.Text{Text: strings.Join(parts, "\n\n"), Meta: uzda.Meta{Labels: labels}}}, media...)
}

// text is what the message says; media are named.
func (p post) text() string {
	var words []string
	for _, b := range p.blocks {
		if text := name(b); text != "" {
			words = append(words, text)
		}
	}
	return strings.Join(words, "\n")
}

// whole is the message itself, as one block of text and its media: those of a turn
// that is over are only named.
func (p post) whole() uzda.Blocks {
	var labels []uzda.Label
	var media uzda.Blocks
	text := p.text()
	if p.running {
		text = p.blocks.String()
	}
	for _, b := range p.blocks {
		labels = uzda.Union(labels, b.Marks()...)
		if _, ok := b.(uzda.Media); ok && p.running {
			media = append(media, b)
		}
	}
	if text == "" {
		return media
	}
	return append(uzda.Blocks{uzda.Text{Text: text, Meta: uzda.Meta{Labels: labels}}}, media...)
}

func orElse(on bool, yes, no string) string {
	if on {
		return yes
	}
	return no
}
