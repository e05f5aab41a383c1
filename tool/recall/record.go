package recall

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/uzda-dev/uzda"
)

// A record is the journal of one session up to the call that asks.
type record struct {
	journal uzda.Journal
	blobs   uzda.Blobs // nil: the journal keeps none
	id      uzda.SessionID
	before  uzda.Seq
}

// Kinds of parts.
const (
	posted   = "posted"   // a message to the agent
	said     = "said"     // the text of a reply
	called   = "called"   // the input of a call in it
	returned = "result"   // of a call
	checked  = "check"    // what a check of the end had to say
	edited   = "edited"   // the view changed, the record did not
	ended    = "ended"    // a turn
	erased   = "erased"   // on purpose
	nothing  = "no words" // an event of the loop
)

// A part is something in the record that the model has seen.
type part struct {
	seq    uzda.Seq
	use    uzda.UseID // of called and returned
	what   string
	tool   string          // of called and returned; "" where the call is erased
	input  json.RawMessage // of it, as it ran
	by     string          // who posted
	blocks uzda.Blocks
	text   string // of the blocks; in words, where there are none
	labels []uzda.Label
	full   *uzda.Full
	failed uzda.Code   // of a result that is an error
	effect uzda.Effect // of a result
}

// A call is a use of the last reply.
type call struct {
	name    string
	input   json.RawMessage
	labels  []uzda.Label
	started bool
	closed  bool
}

// A walker turns events into parts. It follows the rules of the loop: a message
// counts from when it joined, of several results the first.
type walker struct {
	calls  map[uzda.UseID]*call
	inbox  []part
	later  map[uzda.Seq]bool // those of inbox that begin a turn of their own
	turn   uzda.Seq          // the one that began the turn
	asked  bool              // in this turn
	cancel uzda.Seq
}

// walk yields the parts of a session, oldest first, until it is told to stop.
func (r record) walk(ctx context.Context, yield func(part) bool) error {
	w := walker{calls: map[uzda.UseID]*call{}, later: map[uzda.Seq]bool{}}
	for e, err := range r.journal.Read(ctx, r.id, 0) {
		if err = errors.Join(err, ctx.Err()); err != nil {
			return err
		}
		if e.Seq >= r.before {
			return nil
		}
		for _, p := range w.take(e) {
			if !yield(p) {
				return nil
			}
		}
	}
	return nil
}

// take returns what became visible with an event.
func (w *walker) take(e uzda.Event) []part {
	switch b := e.Body.(type) {
	case uzda.Posted:
		w.inbox = append(w.inbox, part{seq: e.Seq, what: posted, by: b.By, blocks: b.Blocks, text: b.Blocks.String(), labels: labelsOf(b.Blocks)})
		w.later[e.Seq] = b.Turn
		if w.turn == 0 {
			w.turn = e.Seq
		}
	case uzda.Asked:
		w.asked = true
		return w.join(func(p part) bool { return !w.later[p.seq] || p.seq == w.turn })
	case uzda.Cancelled:
		w.cancel = e.Seq
	case uzda.Ended:
		return w.end(e.Seq, b)
	case uzda.Said:
		return w.said(e.Seq, b)
	case uzda.Judged:
		if c := w.calls[b.Use]; c != nil && len(b.Input) > 0 {
			c.input = b.Input
		}
	case uzda.Started:
		if c := w.calls[b.Use]; c != nil {
			c.started = true
		} else { // its reply is erased
			w.calls[b.Use] = &call{started: true}
		}
	case uzda.Returned:
		if b.Pending == nil {
			return w.close(e.Seq, b.Result)
		}
	case uzda.Delivered:
		if c := w.calls[b.Result.Use]; c != nil && c.started {
			return w.close(e.Seq, b.Result)
		}
	case uzda.Verified:
		if !b.OK && len(b.Blocks) > 0 {
			return []part{{seq: e.Seq, what: checked, blocks: b.Blocks, text: b.Blocks.String(), labels: labelsOf(b.Blocks)}}
		}
	case uzda.Edited:
		return []part{{seq: e.Seq, what: edited, text: editText(b)}}
	case uzda.Erased:
		return []part{{seq: e.Seq, what: erased, text: "erased on purpose"}}
	}
	return nil
}

func editText(b uzda.Edited) string {
	return fmt.Sprintf("%s: of the messages %d to %d something else was shown from here on; the originals are in this record", b.What, b.From, b.To)
}

// join lets posted messages into the transcript.
func (w *walker) join(now func(part) bool) (out []part) {
	var rest []part
	for _, p := range w.inbox {
		if now(p) {
			out = append(out, p)
			delete(w.later, p.seq)
		} else {
			rest = append(rest, p)
		}
	}
	w.inbox = rest
	return out
}

func (w *walker) end(seq uzda.Seq, b uzda.Ended) []part {
	until := w.cancel
	if until == 0 && !w.asked { // what began it is spent
		until = seq
	}
	out := w.join(func(p part) bool { return p.seq < until })
	w.turn, w.asked, w.cancel = 0, false, 0
	if len(w.inbox) > 0 {
		w.turn = w.inbox[0].seq
	}
	return append(out, part{seq: seq, what: ended, text: strings.TrimRight(fmt.Sprintf("the turn ended: %s, %s", b.Outcome, b.Reason), ", ")})
}

func (w *walker) said(seq uzda.Seq, b uzda.Said) []part {
	if !joined(b) {
		return nil
	}
	clear(w.calls)
	out := make([]part, 0, 2)
	if text := b.Message.Blocks.String(); text != "" {
		out = append(out, part{seq: seq, what: said, blocks: b.Message.Blocks, text: text, labels: textLabels(b.Message.Blocks)})
	}
	for i, u := range b.Message.Uses() {
		id := useID(seq, i+1)
		w.calls[id] = &call{name: u.Name, input: u.Input, labels: u.Labels}
		out = append(out, part{seq: seq, use: id, what: called, tool: u.Name, input: u.Input, text: plain(u.Input) + u.Raw, labels: u.Labels})
	}
	return out
}

// joined says whether a reply is part of the transcript; see Fold in agent.
func joined(b uzda.Said) bool {
	if len(b.Message.Blocks) == 0 || b.Stop == uzda.StopRefusal {
		return false
	}
	if b.Stop == uzda.StopLength {
		for _, r := range b.Message.Repairs {
			if r.Block == -1 { // a call in it was cut
				return false
			}
		}
	}
	return true
}

func (w *walker) close(seq uzda.Seq, res uzda.ToolResult) []part {
	c := w.calls[res.Use]
	if c == nil { // its reply is erased
		c = &call{}
		w.calls[res.Use] = c
	}
	if c.closed { // a second result
		return nil
	}
	c.closed = true
	return []part{resultPart(seq, c, res)}
}

// resultPart has the labels of the call too, since it is shown with it.
func resultPart(seq uzda.Seq, c *call, res uzda.ToolResult) part {
	p := part{seq: seq, use: res.Use, what: returned, tool: c.name, input: c.input, blocks: res.Blocks, text: res.Blocks.String(),
		labels: uzda.Union(uzda.Union(res.Labels, labelsOf(res.Blocks)...), c.labels...), full: res.Full, effect: res.Effect}
	if res.IsError {
		if p.failed = res.Code; p.failed == "" {
			p.failed = uzda.CodeFailed
		}
	}
	return p
}

func labelsOf(bs uzda.Blocks) (all []uzda.Label) {
	for _, b := range bs {
		all = uzda.Union(all, b.Marks()...)
	}
	return all
}

// textLabels leaves out those of calls, which are parts of their own.
func textLabels(bs uzda.Blocks) (all []uzda.Label) {
	for _, b := range bs {
		if _, ok := b.(uzda.Text); ok {
			all = uzda.Union(all, b.Marks()...)
		}
	}
	return all
}

func useID(seq uzda.Seq, n int) uzda.UseID { return uzda.UseID(fmt.Sprintf("%d.%d", seq, n)) }

// whole reads the full output of a part that was cut, up to most bytes.
func (r record) whole(ctx context.Context, p part, most int64) (string, bool, error) {
	if p.full == nil || r.blobs == nil || p.full.Size > most {
		return "", false, nil
	}
	data, err := r.blobs.Get(ctx, p.full.Blob, 0, -1)
	if errors.Is(err, uzda.ErrNotFound) {
		return "", false, nil
	}
	if err != nil {
		return "", false, fmt.Errorf("read the output of call %s: %w", p.use, err)
	}
	return string(data), true, nil
}
