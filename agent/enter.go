package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/uzda-dev/uzda"
)

const (
	maxBlocks = 100     // of a result, and of its part for people
	doubtful  = 8 << 20 // bytes from which on it is tried whether a body can be recorded
)

// Enter makes a result from outside fit for the journal and for the view: secrets
// are hidden, what is longer than limit is cut (see Cut), and what the journal
// does not take becomes an error that the model can read.
func Enter(ctx context.Context, store uzda.Journal, red uzda.Redactor, res uzda.ToolResult, limit int) uzda.ToolResult {
	refuse := func(format string, args ...any) uzda.ToolResult {
		return uzda.ToolResult{Meta: res.Meta, Use: res.Use, IsError: true, Code: uzda.CodeTruncated, Effect: res.Effect, Blocks: uzda.Say(fmt.Sprintf(format, args...))}
	}
	if n := heft(res.Blocks); n > uzda.MaxString {
		return refuse(tooLong, n, uzda.MaxString)
	}
	res.Blocks = Clean(red, res.Blocks)
	switch n := heft(res.People); {
	case len(res.People) == 0:
		res.People = nil
	case n > uzda.MaxString || len(res.People) > maxBlocks:
		res.People = uzda.Say(fmt.Sprintf("[%d blocks of %d bytes are left out here]", len(res.People), n))
	default:
		res.People = Clean(red, res.People)
	}
	Cut(ctx, store, &res, limit)
	res.Blocks = slices.DeleteFunc(res.Blocks, func(b uzda.Block) bool { // providers refuse empty text
		t, ok := b.(uzda.Text)
		return ok && t.Text == ""
	})
	if len(res.Blocks) == 0 {
		res.Blocks = uzda.Say("(no output)")
	}
	if err := fits(uzda.Returned{Result: res}, heft(res.Blocks)+heft(res.People)); err != nil {
		return refuse("The output can't be kept: %v. Ask for less: a range, a filter, a count.", err)
	}
	return res
}

const tooLong = "The output has %d bytes, which is more than the %d that can be kept. Ask for less: a range, a filter, a count."

// fits says whether a journal takes a body of about n bytes. Only the encoding
// tells how long its strings are, but that of a small one need not be tried.
func fits(b uzda.Body, n int) error {
	if n < doubtful {
		return nil
	}
	_, err := uzda.Seal(&uzda.Event{Seq: 1, Body: b}, func([]byte) (string, error) { return "", nil })
	if errors.Is(err, uzda.ErrTooLarge) {
		return fmt.Errorf("one part of it is over %d bytes as it is stored", uzda.MaxString)
	}
	return err
}

// heft is the size of blocks in memory, more or less.
func heft(bs uzda.Blocks) (n int) {
	for _, b := range bs {
		switch b := b.(type) {
		case uzda.Text:
			n += len(b.Text)
		case uzda.Thinking:
			n += len(b.Text) + len(b.Signature)
		case uzda.Media:
			n += len(b.Data)/3*4 + len(b.Name) + len(b.Type)
		case uzda.ToolUse:
			n += len(b.Name) + len(b.Input) + len(b.Raw)
		case uzda.ToolResult:
			n += heft(b.Blocks) + heft(b.People)
		case uzda.Opaque:
			n += len(b.Raw) + len(b.Origin)
		}
		n += 16
	}
	return n
}
