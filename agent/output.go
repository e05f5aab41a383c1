package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/uzda-dev/uzda"
)

// outputName is the tool by which the model reads the rest of a cut output. A
// session has it when its store keeps blobs.
const outputName = "read_output"

// Cut keeps the head and the tail of a result of more than limit bytes, at rune
// boundaries, and puts the whole where read_output finds it, if the store keeps
// blobs. The pointer is added last, so that no other cut can take it away.
func Cut(ctx context.Context, store uzda.Journal, res *uzda.ToolResult, limit int) {
	whole := res.Blocks.String()
	if len(whole) <= limit && len(res.Blocks) <= maxBlocks {
		return
	}
	var rest uzda.Blocks // pictures and the like
	for _, b := range res.Blocks {
		if _, ok := b.(uzda.Text); !ok {
			rest = append(rest, b)
		}
	}
	if over := len(rest) - maxBlocks; over > 0 {
		rest = append(rest[:maxBlocks:maxBlocks], uzda.Text{Text: fmt.Sprintf("[%d more blocks are left out here]", over)})
	}
	if len(whole) <= limit { // only too many
		res.Blocks = append(uzda.Say(whole), rest...)
		return
	}
	if len(whole) > uzda.MaxString {
		res.IsError, res.Code = true, uzda.CodeTruncated
		res.Blocks = uzda.Say(fmt.Sprintf(tooLong, len(whole), uzda.MaxString))
		return
	}
	room := max(limit-pointerSize, limit/2)
	head, tail := uzda.Before(whole, room/2), uzda.After(whole, room/2)
	omitted := len(whole) - len(head) - len(tail)
	pointer := fmt.Sprintf("[%d of %d bytes are left out here", omitted, len(whole))
	if b, ok := store.(uzda.Blobs); ok {
		hash, err := b.Put(context.WithoutCancel(ctx), []byte(whole))
		if err == nil {
			res.Full = &uzda.Full{Blob: hash, Size: int64(len(whole))}
			pointer += fmt.Sprintf(`; read them with %s {"use":"%s","offset":%d}`, outputName, res.Use, len(head))
		} else {
			pointer += "; they could not be kept: " + err.Error()
		}
	}
	res.Blocks = append(uzda.Say(head+"\n"+pointer+"]\n"+tail), rest...)
}

// pointerSize is what the line between head and tail has room for.
const pointerSize = 200

// output pages through what was cut. It stands on the journal alone, so it works
// after a restart and for outputs that are no longer in the view.
type output struct {
	journal uzda.Journal
	blobs   uzda.Blobs
	page    func() int64 // bytes at most, so that a page is never cut itself
}

type outputInput struct {
	Use    string `json:"use"`
	Offset int64  `json:"offset"`
	Limit  int64  `json:"limit"`
}

const outputPage = 16_000

// page is the most that one call reads, where a result may have limit bytes.
func page(limit int) int64 { return max(int64(limit)-pointerSize, 4) }

var outputSchema = json.RawMessage(`{"type":"object","additionalProperties":false,"required":["use"],"properties":{` +
	`"use":{"type":"string","description":"number of the call whose output was cut, for example 12.1"},` +
	`"offset":{"type":"integer","minimum":0,"description":"byte to begin at; default 0"},` +
	`"limit":{"type":"integer","minimum":1,"maximum":30000,"description":"bytes to read; default 16000"}}}`)

func (o output) Spec() uzda.ToolSpec {
	return uzda.ToolSpec{Name: outputName, Input: outputSchema, Source: "built-in", Effects: uzda.Effects{ReadOnly: true, Idempotent: true},
		Description: "Read more of an earlier tool output that was cut. Use it only when a result says that bytes were left out and names this tool; not for files. Give the number of the call and a byte offset; a narrower call of the original tool is often better."}
}

// Check wants the number of a use, and takes numbers that came as text.
func (o output) Check(raw json.RawMessage) (json.RawMessage, error) {
	var in struct {
		Use           any
		Offset, Limit json.Number
	}
	if err := json.Unmarshal(raw, &in); err != nil {
		return nil, fmt.Errorf("want {\"use\":\"12.1\",\"offset\":16000}: %w", err)
	}
	use := strings.TrimSpace(fmt.Sprint(in.Use))
	if _, _, ok := parseUse(use); !ok {
		return nil, fmt.Errorf("use: want the number of a call, for example \"12.1\", not %q", use)
	}
	out := outputInput{Use: use}
	out.Offset, _ = in.Offset.Int64()
	out.Limit, _ = in.Limit.Int64()
	if out.Offset < 0 || out.Limit < 0 || out.Limit > 30_000 {
		return nil, fmt.Errorf("offset and limit: want 0 or more, and a limit of at most 30000")
	}
	return rawJSON(out), nil
}

func (o output) Call(ctx context.Context, use uzda.Use) (uzda.Result, error) {
	var in outputInput
	if err := json.Unmarshal(use.Input, &in); err != nil {
		return uzda.Result{}, err
	}
	full, labels, err := o.find(ctx, use.Session, uzda.UseID(in.Use))
	if err != nil {
		return uzda.Result{}, err
	}
	if full == nil {
		return uzda.Result{IsError: true, Blocks: uzda.Say("Call " + in.Use + " has no output that was cut.")}, nil
	}
	if in.Offset >= full.Size {
		return uzda.Result{IsError: true, Blocks: uzda.Say(fmt.Sprintf("The output of call %s ends at byte %d.", in.Use, full.Size))}, nil
	}
	limit := min(or(in.Limit, outputPage), o.page())
	data, err := o.blobs.Get(ctx, full.Blob, in.Offset, limit+4)
	if errors.Is(err, uzda.ErrNotFound) {
		return uzda.Result{IsError: true, Blocks: uzda.Say("The output of call " + in.Use + " is no longer kept.")}, nil
	}
	if err != nil {
		return uzda.Result{}, fmt.Errorf("read the output of call %s: %w", in.Use, err)
	}
	start := 0
	for start < len(data) && start < 4 && data[start]&0xC0 == 0x80 { // never inside a rune
		start++
	}
	page := uzda.Before(string(data[start:]), int(limit))
	from := in.Offset + int64(start)
	end := from + int64(len(page))
	text := fmt.Sprintf("[bytes %d to %d of %d]\n%s", from, end, full.Size, page)
	if end < full.Size {
		text += fmt.Sprintf("\n[%d bytes follow, from offset %d]", full.Size-end, end)
	}
	return uzda.Result{Blocks: uzda.Say(text), Labels: labels}, nil
}

func (o output) find(ctx context.Context, id uzda.SessionID, use uzda.UseID) (*uzda.Full, []uzda.Label, error) {
	seq, _, _ := parseUse(string(use))
	for e, err := range o.journal.Read(ctx, id, seq) {
		if err != nil {
			return nil, nil, fmt.Errorf("look for the output of call %s: %w", use, err)
		}
		switch b := e.Body.(type) {
		case uzda.Returned:
			if b.Result.Use == use && b.Pending == nil {
				return b.Result.Full, b.Result.Labels, nil
			}
		case uzda.Delivered:
			if b.Result.Use == use {
				return b.Result.Full, b.Result.Labels, nil
			}
		}
	}
	return nil, nil, nil
}

func parseUse(s string) (uzda.Seq, int, bool) {
	a, b, ok := strings.Cut(s, ".")
	seq, err := strconv.ParseInt(a, 10, 64)
	n, err2 := strconv.Atoi(b)
	return uzda.Seq(seq), n, ok && err == nil && err2 == nil && seq > 0 && n > 0
}
