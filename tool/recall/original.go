package recall

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/uzda-dev/uzda"
)

// result answers with the original result of a call, and says whether there is
// such a call. It reads one step.
func (r record) result(ctx context.Context, seq uzda.Seq, n int, a *answer) (bool, error) {
	if seq >= r.before {
		return false, nil
	}
	id, w := useID(seq, n), walker{calls: map[uzda.UseID]*call{}, later: map[uzda.Seq]bool{}}
	gone, known := false, false
	for e, err := range r.journal.Read(ctx, r.id, seq-1) {
		if err = errors.Join(err, ctx.Err()); err != nil {
			return false, err
		}
		if _, next := e.Body.(uzda.Asked); next || e.Seq >= r.before {
			break
		}
		for _, p := range w.take(e) {
			if p.use == id && p.what == returned {
				return true, r.original(ctx, p, a)
			}
			gone = gone || p.what == erased
		}
		if e.Seq == seq {
			if known = w.calls[id] != nil; !known && !gone {
				return false, nil
			}
		}
	}
	switch {
	case gone:
		a.fail("What call %s gave back is erased from the record, or there was no such call.", id)
	case known:
		a.fail("Call %s has no result in the record yet. recall {\"query\":\"%d\"} shows the call itself.", id, seq)
	default:
		return false, nil
	}
	return true, nil
}

const (
	headSize = 700 // bytes that a heading may take at most
	showArgs = 400 // of them for the input of a call
)

// original shows a result as it was recorded: whole, where it was cut and the
// whole is kept.
func (r record) original(ctx context.Context, p part, a *answer) error {
	head := fmt.Sprintf("Result of call %s%s, as recorded", p.use, callText(p))
	if p.failed != "" {
		head += fmt.Sprintf("; an error (%s)", p.failed)
	}
	switch p.effect {
	case uzda.EffectDone:
		head += "; its effect is done, do not repeat it"
	case uzda.EffectUnknown:
		head += "; whether it had an effect is unknown"
	}
	a.labels = uzda.Union(a.labels, p.labels...)
	if p.full == nil {
		a.page(head, p.text, p.blocks)
		return nil
	}
	if r.blobs == nil {
		a.page(head+"; the middle of it was not kept", p.text, p.blocks)
		return nil
	}
	const rune4 = 4 // a page is cut between runes
	room := a.room(head)
	data, err := r.blobs.Get(ctx, p.full.Blob, int64(a.Offset), int64(room+rune4))
	if errors.Is(err, uzda.ErrNotFound) {
		a.page(head+"; the middle of it is no longer kept", p.text, p.blocks)
		return nil
	}
	if err != nil {
		return fmt.Errorf("read the output of call %s: %w", p.use, err)
	}
	start := 0
	for a.Offset > 0 && start < len(data) && start < rune4 && data[start]&0xC0 == 0x80 {
		start++
	}
	a.show(head, uzda.Before(string(data[start:]), room), a.Offset+start, int(p.full.Size))
	if a.Offset == 0 {
		a.media = media(p.blocks)
	}
	return nil
}

// callText names the tool and its input.
func callText(p part) string {
	if p.tool == "" {
		return ""
	}
	return " (" + p.tool + " " + uzda.OneLine(uzda.Clip(string(p.input), showArgs), showArgs) + ")"
}

// event answers with the message of an event, and says whether there is one.
func (r record) event(ctx context.Context, seq uzda.Seq, a *answer) (bool, error) {
	if seq >= r.before {
		return false, nil
	}
	e, found, err := r.read(ctx, seq)
	if err != nil || !found {
		return false, err
	}
	switch b := e.Body.(type) {
	case uzda.Posted:
		return r.message(ctx, seq, a)
	case uzda.Said:
		if joined(b) {
			r.reply(seq, b, a)
			return true, nil
		}
	case uzda.Returned:
		if s, n, ok := parseUse(string(b.Result.Use)); ok && b.Pending == nil {
			return r.result(ctx, s, n, a)
		}
	case uzda.Delivered:
		if s, n, ok := parseUse(string(b.Result.Use)); ok {
			return r.result(ctx, s, n, a)
		}
	case uzda.Verified:
		if !b.OK && len(b.Blocks) > 0 {
			a.labels = labelsOf(b.Blocks)
			a.page(fmt.Sprintf("Event %d, what a check of the answer said", seq), b.Blocks.String(), b.Blocks)
			return true, nil
		}
	case uzda.Edited:
		a.text = fmt.Sprintf("Event %d, %s. recall {\"query\":\"%d-%d\"} lists them.", seq, editText(b), b.From, b.To)
		return true, nil
	case uzda.Erased:
		a.fail("Event %d is erased from the record.", seq)
		return true, nil
	}
	const around = 8
	if found, err := r.overview(ctx, max(1, seq-around), seq+around, a); found || err != nil {
		a.text = fmt.Sprintf("Event %d holds no words. What is near it:\n%s", seq, a.text)
		return true, err
	}
	a.fail("Event %d holds no words, nor does any near it.", seq)
	return true, nil
}

// read returns one event.
func (r record) read(ctx context.Context, seq uzda.Seq) (uzda.Event, bool, error) {
	for e, err := range r.journal.Read(ctx, r.id, seq-1) {
		return e, err == nil && e.Seq == seq, err
	}
	return uzda.Event{}, false, ctx.Err()
}

// message shows what was posted, once it has joined.
func (r record) message(ctx context.Context, seq uzda.Seq, a *answer) (found bool, err error) {
	err = r.walk(ctx, func(p part) bool {
		if found = p.seq == seq && p.what == posted; found {
			a.labels = uzda.Union(a.labels, p.labels...)
			a.page(fmt.Sprintf("Event %d, a message%s from earlier in this session", seq, byText(p.by)), p.text, p.blocks)
		}
		return !found
	})
	return found, err
}

func byText(by string) string {
	if by == "" {
		return ""
	}
	return " by " + uzda.OneLine(by, 80)
}

// reply shows what the model said, and called.
func (r record) reply(seq uzda.Seq, b uzda.Said, a *answer) {
	var text strings.Builder
	text.WriteString(b.Message.Blocks.String())
	for i, u := range b.Message.Uses() {
		if text.Len() > 0 {
			text.WriteString("\n\n")
		}
		fmt.Fprintf(&text, "[call %s] %s\n%s%s", useID(seq, i+1), u.Name, u.Input, u.Raw)
	}
	a.labels = uzda.Union(a.labels, labelsOf(b.Message.Blocks)...)
	a.page(fmt.Sprintf("Event %d, your own reply from earlier in this session", seq), text.String(), nil)
}

// room is what a heading leaves of the answer.
func (a *answer) room(head string) int {
	const feet = 160
	return max(a.Limit-min(len(head), headSize)-feet, least/4)
}

// page shows a piece of a text under a heading; the pictures come with the first.
func (a *answer) page(head, text string, blocks uzda.Blocks) {
	from := min(a.Offset, len(text))
	rest := uzda.After(text, len(text)-from) // from the next rune on
	a.show(head, uzda.Before(rest, a.room(head)), len(text)-len(rest), len(text))
	if a.Offset == 0 {
		a.media = media(blocks)
	}
}

func (a *answer) show(head, piece string, from, size int) {
	head = uzda.Clip(head, headSize)
	end := from + len(piece)
	switch {
	case size > 0 && from >= size:
		a.fail("%s: it ends at byte %d.", head, size)
		return
	case size == 0:
		a.text = head + ": it has no text."
		return
	case from > 0 || end < size:
		a.text = fmt.Sprintf("%s. Bytes %d to %d of %d:\n%s", head, from, end, size, piece)
	default:
		a.text = head + ":\n" + piece
	}
	if end < size {
		a.text += fmt.Sprintf("\n[%d bytes follow: recall {\"query\":%q,\"offset\":%d}]", size-end, strings.TrimSpace(a.Query), end)
	}
}

// media are the parts that are no text.
func media(bs uzda.Blocks) (out uzda.Blocks) {
	for _, b := range bs {
		if m, ok := b.(uzda.Media); ok {
			out = append(out, m)
		}
	}
	return out
}
