package window

import (
	"fmt"
	"slices"

	"github.com/uzda-dev/uzda"
)

// ShortenPosts leaves head and tail of what people posted after the last reply for turns
// that are over: a message that was too long for the model would else be in the way of
// every later one. turn is the message that began the running turn, 0 where none runs;
// large is the size in estimated tokens that all of them may have; one that is over
// its share is shortened. It reports false where there is nothing to do.
func ShortenPosts(view []uzda.Entry, turn uzda.Seq, large int, tools []uzda.ToolSpec) (uzda.Edited, bool) {
	edit, n := uzda.Edited{What: uzda.MoveClear, Only: true}, 0
	for i := range view {
		if loose(view, i, turn) {
			n++
		}
	}
	large /= max(n, 1)
	for i := range view {
		if !loose(view, i, turn) || sizeOf(view[i].Message) <= large {
			continue
		}
		if e, ok := shortPost(view[i], large, tools); ok {
			edit.With = append(edit.With, e)
		}
	}
	if len(edit.With) == 0 {
		return uzda.Edited{}, false
	}
	edit.From, edit.To = edit.With[0].Seq, edit.With[len(edit.With)-1].Seq
	edit.Saved = &uzda.Saving{Messages: len(edit.With), Why: fmt.Sprintf("messages that no model could answer were shortened: %d", len(edit.With))}
	return edit, true
}

// loose says that a message was posted after the last reply, for a turn that is over.
func loose(view []uzda.Entry, i int, turn uzda.Seq) bool {
	m := view[i].Message
	return i > lastReply(view) && m.Role == uzda.User && len(m.Results()) == 0 && (turn == 0 || view[i].Seq < turn)
}

func shortPost(e uzda.Entry, large int, tools []uzda.ToolSpec) (uzda.Entry, bool) {
	all, said, size := e.Message.Blocks, uzda.Blocks(nil), sizeOf(e.Message)
	text := all.String()
	room := int(int64(len(text)) * int64(large/2) / int64(max(size, 1)))
	if own := len(all.Words()); own > 0 && own < len(text) && own < room/2 { // what came along gives way
		said = slices.DeleteFunc(slices.Clone(all), along)
		all = slices.DeleteFunc(slices.Clone(all), func(b uzda.Block) bool { return !along(b) })
		text, room = all.String(), room-own
	}
	head, tail := uzda.Before(text, room/2), uzda.After(text, room/2)
	var labels []uzda.Label
	var rest uzda.Blocks
	for _, b := range all {
		labels = uzda.Union(labels, b.Marks()...)
		if _, ok := b.(uzda.Text); !ok {
			rest = append(rest, uzda.Text{Text: "[left out: " + name(b) + "]", Meta: uzda.Meta{Labels: b.Marks()}})
		}
	}
	back := ""
	if _, ok := specOf(tools, recallName); ok {
		back = fmt.Sprintf(`; %s {"query":"%d"}`, recallName, e.Seq)
	}
	whole := wholeSize(uzda.ToolResult{Blocks: all})
	short := fmt.Sprintf("%s\n[%d of %d%s%s]\n%s", head, len(text)-len(head)-len(tail), len(text), putAway, back, tail)
	if whole > 0 { // it was shortened before, and there are more of them now
		short = fmt.Sprintf("[%d of %d%s%s]", whole, whole, putAway, back)
	}
	e.Edit, e.Message.Items, e.Message.Blocks = 0, nil, slices.Concat(uzda.Say(short, labels...), rest, said)
	return e, sizeOf(e.Message) < size
}
