package session

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/agent"
)

// Post gives a session an input. One that lacks an ID gets one. Text is made
// UTF-8 and secrets are hidden before it is stored. An Edited is made at once, if
// no runner has the session. A message that says nothing, or has blocks that only
// the loop makes, is refused: the view could not be sent with it. A message may come
// before the session is opened; anything else is ErrNotFound then.
func (h *Host) Post(ctx context.Context, id uzda.SessionID, in uzda.Input) (uzda.Seq, error) {
	head := uzda.SomeHead
	if _, ok := in.(uzda.Posted); ok {
		head = uzda.AnyHead
	}
	return h.PostAt(ctx, id, head, in)
}

// PostAt is Post after a head: at [uzda.SomeHead] a message too is only for a session
// that is there, so that one that was removed just now does not begin anew.
func (h *Host) PostAt(ctx context.Context, id uzda.SessionID, head uzda.Seq, in uzda.Input) (uzda.Seq, error) {
	if b, ok := in.(uzda.Posted); ok {
		if err := postable(b.Blocks); err != nil {
			return 0, fmt.Errorf("post to session %s: %w", id, err)
		}
	}
	body := h.prepare(ctx, in)
	if e, ok := body.(uzda.Edited); ok {
		return h.edit(ctx, id, e)
	}
	evs, err := h.c.Store.Append(ctx, id, uzda.At{Head: head}, body)
	if err != nil {
		return 0, fmt.Errorf("post to session %s: %w", id, err)
	}
	h.tell(id, evs...)
	if !h.c.Manual {
		h.wake(id, evs[0].Seq)
	}
	return evs[0].Seq, nil
}

func postable(bs uzda.Blocks) error {
	some := strings.TrimSpace(bs.String()) != ""
	for _, b := range bs {
		var size int
		switch b := b.(type) {
		case uzda.Text:
			size = len(b.Text)
		case uzda.Media:
			some, size = true, len(b.Data)/3*4
		case uzda.Opaque:
			some, size = true, len(b.Raw)
		default:
			return fmt.Errorf("a message may hold text, media and opaque blocks, not %T", b)
		}
		if size > uzda.MaxString { // the journal would say so too, but late
			return fmt.Errorf("a block of %d bytes is over %d: %w", size, uzda.MaxString, uzda.ErrTooLarge)
		}
	}
	if !some {
		return errors.New("the message is empty; say what is to be done")
	}
	return nil
}

// prepare gives an input its id, and lets nothing in that must not be seen.
func (h *Host) prepare(ctx context.Context, in uzda.Input) uzda.Body {
	fresh := func(id *string) {
		if *id == "" {
			*id = "in-" + string(NewID(h.now()))
		}
	}
	clean := func(text *string) { *text = agent.CleanText(h.c.Redact, *text) }
	switch b := in.(type) {
	case uzda.Posted:
		fresh(&b.ID)
		b.Blocks = agent.Clean(h.c.Redact, b.Blocks)
		return b
	case uzda.Answered:
		fresh(&b.ID)
		clean(&b.Verdict.Reason)
		return b
	case uzda.Cancelled:
		fresh(&b.ID)
		clean(&b.Why)
		return b
	case uzda.Delivered:
		fresh(&b.ID)
		b.Result = agent.Enter(ctx, h.c.Store, h.c.Redact, b.Result, uzda.Limits{}.OrDefault().Output)
		return b
	case uzda.Resolved:
		fresh(&b.ID)
		return b
	case uzda.Noted:
		fresh(&b.ID)
		clean(&b.Text)
		return b
	case uzda.Edited:
		if b.Undo == 0 { // an undo carries what the journal holds
			b.With = slices.Clone(b.With)
			for i := range b.With {
				m := &b.With[i].Message
				if blocks, changed := agent.Mask(h.c.Redact, m.Blocks); changed {
					m.Blocks, m.Items = blocks, nil // they hold the value
				}
			}
		}
		return b
	}
	return in
}

func (h *Host) edit(ctx context.Context, id uzda.SessionID, e uzda.Edited) (uzda.Seq, error) {
	r := &agent.Runner{Store: h.c.Store, Holder: h.c.Holder}
	seq, err := r.Edit(ctx, id, e)
	if err != nil {
		return 0, err
	}
	h.wakeWatchers(id)
	return seq, nil
}
