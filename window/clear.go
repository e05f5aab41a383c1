package window

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/uzda-dev/uzda"
)

// ClearOptions say what [Clear] leaves alone.
type ClearOptions struct {
	// Keep is how many of the last replies that used tools keep their results;
	// 0: 3, below 0: none.
	Keep int
	// Large is the size, in estimated tokens, over which a result of a reply that
	// keeps them is shortened to its head and tail; 0: none is.
	Large int
	// Tools are the session's. What is put away is offered by those that can bring
	// it back.
	Tools []uzda.ToolSpec
}

const keepReplies = 3

// Clear puts placeholders in the place of old tool results, also of the media in
// them: what it was, its size, and how to get it back. Errors and effects stay
// marked as such. It replaces nothing from the message fixed on, and nothing that
// is hardly larger than its placeholder, so that no second Clear finds anything.
// It reports false where there is nothing to do.
func Clear(view []uzda.Entry, fixed int, o ClearOptions) (uzda.Edited, bool) {
	fixed = min(max(fixed, 0), len(view))
	uses := usesOf(view)
	old := keepFrom(view, o.Keep)
	return editResults(uzda.MoveClear, view[:fixed], func(i int, r uzda.ToolResult) (uzda.ToolResult, bool) {
		if i < old {
			return clearResult(r, uses[r.Use], o.Tools)
		}
		return shortResult(r, o.Large, o.Tools)
	})
}

// keepFrom is the place of the first reply whose results stay.
func keepFrom(view []uzda.Entry, keep int) int {
	if keep == 0 {
		keep = keepReplies
	}
	at := len(view)
	for i := len(view) - 1; i >= 0 && keep > 0; i-- {
		if m := view[i].Message; m.Role == uzda.Assistant && slices.ContainsFunc(m.Blocks, isUse) {
			at, keep = i, keep-1
		}
	}
	if keep > 0 && at < len(view) { // there are not so many
		return 0
	}
	return at
}

func isUse(b uzda.Block) bool {
	_, ok := b.(uzda.ToolUse)
	return ok
}

// usesOf finds the calls of a view.
func usesOf(view []uzda.Entry) map[uzda.UseID]uzda.ToolUse {
	uses := map[uzda.UseID]uzda.ToolUse{}
	for _, e := range view {
		for _, b := range e.Message.Blocks {
			if u, ok := b.(uzda.ToolUse); ok {
				uses[u.ID] = u
			}
		}
	}
	return uses
}

// editResults makes one edit of all results that change has another for.
func editResults(what string, view []uzda.Entry, change func(i int, r uzda.ToolResult) (uzda.ToolResult, bool)) (uzda.Edited, bool) {
	edit, n := uzda.Edited{What: what, Only: true}, 0
	for i, e := range view {
		var blocks uzda.Blocks
		for j, b := range e.Message.Blocks {
			r, ok := b.(uzda.ToolResult)
			if !ok {
				continue
			}
			if r, ok = change(i, r); !ok {
				continue
			}
			if blocks == nil {
				blocks = slices.Clone(e.Message.Blocks)
			}
			blocks[j] = r
			n++
		}
		if blocks == nil {
			continue
		}
		// Items would say what was there before.
		e.Edit, e.Message.Blocks, e.Message.Items = 0, blocks, nil
		edit.With = append(edit.With, e)
	}
	if len(edit.With) == 0 {
		return uzda.Edited{}, false
	}
	edit.From, edit.To = edit.With[0].Seq, edit.With[len(edit.With)-1].Seq
	edit.Saved = &uzda.Saving{Messages: len(edit.With), Why: fmt.Sprintf("tool results put away: %d", n)}
	return edit, true
}

// least is the size in bytes under which no result is worth a placeholder.
const least = 160

func clearResult(r uzda.ToolResult, u uzda.ToolUse, tools []uzda.ToolSpec) (uzda.ToolResult, bool) {
	if r.Blocks.Size() < least || isPlaceholder(r) {
		return r, false
	}
	var b strings.Builder
	b.WriteString(clearMark + nameOf(r, u) + ", " + extent(r))
	if r.IsError {
		b.WriteString(", error " + string(cmp.Or(r.Code, uzda.CodeFailed)))
	}
	b.WriteString(warnAgain(r, u, tools) + wayBack(r, tools) + "]")
	return replaced(r, b.String())
}

// replaced is a result that says text instead, false where that saves too little.
func replaced(r uzda.ToolResult, text string) (uzda.ToolResult, bool) {
	out := r
	out.Blocks, out.People = uzda.Say(text, labelsOf(r.Blocks)...), nil // people read the event
	return out, sizeOfBlock(r) >= 2*sizeOfBlock(out)
}

// labelsOf finds the labels of blocks and of what lies in results.
func labelsOf(bs uzda.Blocks) (labels []uzda.Label) {
	for _, b := range bs {
		labels = uzda.Union(labels, b.Marks()...)
		if r, ok := b.(uzda.ToolResult); ok {
			labels = uzda.Union(labels, labelsOf(r.Blocks)...)
		}
	}
	return labels
}

// How placeholders begin.
const (
	clearMark  = "[cleared: "
	repeatMark = "[repeated: "
	putAway    = " bytes are put away here"
)

// isPlaceholder says that a result is one of ours already.
func isPlaceholder(r uzda.ToolResult) bool {
	if len(r.Blocks) != 1 {
		return false
	}
	t, ok := r.Blocks[0].(uzda.Text)
	return ok && len(t.Text) < 600 && strings.HasSuffix(t.Text, "]") &&
		(strings.HasPrefix(t.Text, clearMark) || strings.HasPrefix(t.Text, repeatMark))
}

// nameOf is a tool and its input in short.
func nameOf(r uzda.ToolResult, u uzda.ToolUse) string {
	if u.Name == "" {
		return "use " + string(r.Use)
	}
	in := strings.NewReplacer(`{`, "", `}`, "", `"`, "", "\n", " ").Replace(string(uzda.Canonical(u.Input)))
	if in == "" {
		return uzda.Clip(u.Name, 40)
	}
	const most = 48
	return uzda.Clip(u.Name, 40) + " " + uzda.Clip(in, most)
}

// extent is how much a result was.
func extent(r uzda.ToolResult) string {
	size, lines, media := 0, 0, map[string]int{}
	var kinds []string
	for _, b := range r.Blocks {
		switch b := b.(type) {
		case uzda.Text:
			size, lines = size+len(b.Text), lines+strings.Count(b.Text, "\n")+1
		case uzda.Media:
			kind := uzda.Clip(b.Type, 30)
			if media[kind]++; media[kind] == 1 {
				kinds = append(kinds, kind)
			}
		case uzda.Opaque:
			size += len(b.Raw)
		}
	}
	if whole := wholeSize(r); whole > int64(size) {
		size, lines = int(whole), 0
	}
	var parts []string
	if size > 0 {
		parts = append(parts, fmt.Sprintf("%d bytes", size))
	}
	if lines > 0 {
		parts = append(parts, fmt.Sprintf("%d lines", lines))
	}
	for _, k := range kinds[:min(len(kinds), 3)] {
		parts = append(parts, fmt.Sprintf("%d %s", media[k], k))
	}
	return strings.Join(parts, ", ")
}

// wholeSize is the size of the whole output where only head and tail of it are
// left; 0: all of it is here.
func wholeSize(r uzda.ToolResult) int64 {
	if r.Full != nil {
		return r.Full.Size
	}
	text := r.Blocks.String()
	i := strings.LastIndex(text, putAway)
	if i < 0 {
		return 0
	}
	n, err := strconv.ParseInt(text[strings.LastIndexByte(text[:i], ' ')+1:i], 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// warnAgain keeps the model from doing again what it no longer sees.
func warnAgain(r uzda.ToolResult, u uzda.ToolUse, tools []uzda.ToolSpec) string {
	effect := r.Effect
	if effect == "" && !r.IsError && u.Name != "" && !readOnly(tools, u.Name) {
		effect = uzda.EffectDone
	}
	switch effect {
	case uzda.EffectDone:
		return "; already done, do not repeat"
	case uzda.EffectUnknown:
		return "; outcome unknown, do not repeat"
	}
	return ""
}

func specOf(tools []uzda.ToolSpec, name string) (uzda.ToolSpec, bool) {
	for _, t := range tools {
		if t.Name == name {
			return t, true
		}
	}
	return uzda.ToolSpec{}, false
}

func readOnly(tools []uzda.ToolSpec, name string) bool {
	t, ok := specOf(tools, name)
	return ok && t.Effects.ReadOnly
}

const outputName = "read_output"

// wayBack says by which tool the model gets a result again, if by any.
func wayBack(r uzda.ToolResult, tools []uzda.ToolSpec) string {
	if _, ok := specOf(tools, recallName); ok {
		return fmt.Sprintf(`; %s {"query":"%s"}`, recallName, r.Use)
	}
	if _, ok := specOf(tools, outputName); ok && r.Full != nil {
		return fmt.Sprintf(`; %s {"use":"%s"}`, outputName, r.Use)
	}
	return ""
}

// shortResult leaves head and tail of the text of a result of more than large
// estimated tokens, about a quarter of large in all. What is no text stays.
func shortResult(r uzda.ToolResult, large int, tools []uzda.ToolSpec) (uzda.ToolResult, bool) {
	text := r.Blocks.String()
	if large <= 0 || len(text) <= large { // a byte is hardly ever a token and more
		return r, false
	}
	size := sizeOfBlock(r)
	if size <= large {
		return r, false
	}
	room := int(int64(len(text)) * int64(large/4) / int64(size))
	head, tail := uzda.Before(text, room/2), uzda.After(text, room/2)
	whole := max(wholeSize(r), int64(len(text)))
	back := wayBack(r, tools)
	if _, ok := specOf(tools, outputName); ok && r.Full != nil {
		back = fmt.Sprintf(`; %s {"use":"%s","offset":%d}`, outputName, r.Use, len(head))
	}
	out := r
	var texts, rest uzda.Blocks
	for _, b := range r.Blocks {
		if _, ok := b.(uzda.Text); ok {
			texts = append(texts, b)
		} else {
			rest = append(rest, b)
		}
	}
	middle := fmt.Sprintf("\n[%d of %d%s%s]\n", whole-int64(len(head)+len(tail)), whole, putAway, back)
	out.Blocks, out.People = append(uzda.Say(head+middle+tail, labelsOf(texts)...), rest...), nil
	return out, sizeOfBlock(out) < size
}
