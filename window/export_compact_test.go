package window

import (
	"context"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/window/register"
)

// Compact is one move by itself, as a plan makes it.
func (p Planner) Compact(ctx context.Context, v uzda.View) (uzda.Edited, *uzda.Missed) {
	return p.compact(ctx, newDraft(v))
}

// Handover is one move by itself, as a plan makes it.
func (p Planner) Handover(ctx context.Context, v uzda.View, alone bool) (uzda.Edited, *uzda.Missed) {
	return p.handover(ctx, newDraft(v), alone)
}

// Framed is a summary in its frame, and what is read out of it again.
func Framed(summary, pin string) (record, again string) {
	m := brief{summary: summary, pins: []Pin{{Title: pin, Text: pin}}}.message()
	again, _ = recordOf(uzda.Entry{Edit: 1, Message: m})
	return m.String(), again
}

// Neutral is text as it stands inside a frame.
func Neutral(text string) string { return neutral(text) }

// Shorten and Within cut text.
func Shorten(text string, n int) string     { return shorten(text, n) }
func Within(text string, tokens int) string { return within(text, tokens) }

// RecordLike is text that looks like a record of ours.
func RecordLike(summary string) string { return brief{summary: summary}.record() }

// Facts are those of one result of a tool, in the order in which they are kept.
func Facts(tool, text string) []register.Fact {
	return past{items: []item{{sort: result, use: "1.1", tool: tool, text: text}}}.register()
}

// Content is the text of a result in which its facts are.
func Content(tool, text string) string { return item{sort: result, tool: tool, text: text}.content() }
