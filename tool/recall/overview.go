package recall

import (
	"context"
	"fmt"
	"strings"

	"github.com/uzda-dev/uzda"
)

const showLine = 160 // columns of one line of an overview

// overview answers with a line for each part from one number to another, and says
// whether there is any.
func (r record) overview(ctx context.Context, from, to uzda.Seq, a *answer) (found bool, err error) {
	lines, skip, more := []string{}, a.Offset, 0
	room := a.room("")
	err = r.walk(ctx, func(p part) bool {
		if p.seq < from || p.seq > to {
			return true
		}
		found = true
		if skip > 0 {
			skip--
			return true
		}
		line := lineOf(p)
		if more > 0 || len(line)+1 > room {
			more++
			return true
		}
		room -= len(line) + 1
		lines = append(lines, line)
		a.labels = uzda.Union(a.labels, p.labels...)
		return true
	})
	if err != nil || !found {
		return false, err
	}
	a.text = fmt.Sprintf("The record from %d to %d:\n%s", from, to, strings.Join(lines, "\n"))
	if more > 0 {
		a.text += fmt.Sprintf("\n[%d more: recall {\"query\":%q,\"offset\":%d}]", more, strings.TrimSpace(a.Query), a.Offset+len(lines))
	}
	return true, nil
}

// lineOf says in one line what a part is.
func lineOf(p part) string {
	var head string
	switch p.what {
	case posted:
		head = fmt.Sprintf("[%d] message%s: ", p.seq, byText(p.by))
	case said:
		head = fmt.Sprintf("[%d] you: ", p.seq)
	case called:
		head = fmt.Sprintf("[%s] call: %s ", p.use, p.tool)
	case returned:
		head = fmt.Sprintf("[%s] result, %s: ", p.use, sizeText(p))
	case checked:
		head = fmt.Sprintf("[%d] check of the answer: ", p.seq)
	default:
		head = fmt.Sprintf("[%d] ", p.seq)
	}
	const looked = 4 * showLine // bytes that a line can need
	return head + uzda.OneLine(uzda.Before(p.text, looked), showLine)
}

func sizeText(p part) string {
	size := int64(len(p.text))
	if p.full != nil {
		size = p.full.Size
	}
	text := fmt.Sprintf("%d bytes", size)
	if p.failed != "" {
		text += ", error " + string(p.failed)
	}
	if p.effect == uzda.EffectDone {
		text += ", effect done"
	}
	return text
}
