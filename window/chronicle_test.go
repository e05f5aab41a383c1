package window_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/window"
)

// A chronicle is a session with its journal, as the loop writes and folds it.
type chronicle struct {
	events []uzda.Event
	view   []uzda.Entry
	inbox  []uzda.Entry
	asks   int
	first  bool // the next ask begins a turn
}

func (c *chronicle) put(b uzda.Body) uzda.Seq {
	seq := uzda.Seq(len(c.events) + 1)
	c.events = append(c.events, uzda.Event{Seq: seq, Body: b})
	return seq
}

func (c *chronicle) post(blocks ...uzda.Block) uzda.Seq {
	seq := c.put(uzda.Posted{ID: fmt.Sprint(len(c.events)), Blocks: blocks})
	c.inbox = append(c.inbox, uzda.Entry{Seq: seq, Message: uzda.Message{Role: uzda.User, Blocks: blocks}})
	return seq
}

func (c *chronicle) ask() {
	c.asks++
	c.put(uzda.Asked{Ordinal: c.asks})
	c.view, c.inbox, c.first = append(c.view, c.inbox...), nil, false
}

// say is a reply; calls in it get their numbers as the loop gives them.
func (c *chronicle) say(blocks ...uzda.Block) []uzda.UseID {
	c.ask()
	stop := uzda.StopEnd
	seq := uzda.Seq(len(c.events) + 1)
	var ids []uzda.UseID
	named := slices.Clone(uzda.Blocks(blocks))
	for i, b := range named {
		if u, ok := b.(uzda.ToolUse); ok {
			u.ID = uzda.UseID(fmt.Sprintf("%d.%d", seq, len(ids)+1))
			ids, named[i], stop = append(ids, u.ID), u, uzda.StopUse
		}
	}
	c.put(uzda.Said{Message: uzda.Message{Role: uzda.Assistant, Blocks: blocks}, Stop: stop})
	c.view = append(c.view, uzda.Entry{Seq: seq, Message: uzda.Message{Role: uzda.Assistant, Blocks: named}})
	return ids
}

// do is a reply with calls, and what came of them.
func (c *chronicle) do(text string, deeds ...deed) []uzda.UseID {
	var blocks, results uzda.Blocks
	if text != "" {
		blocks = append(blocks, uzda.Text{Text: text})
	}
	for _, d := range deeds {
		blocks = append(blocks, uzda.ToolUse{Name: d.tool, Input: json.RawMessage(d.in)})
	}
	ids := c.say(blocks...)
	for i, d := range deeds {
		c.put(uzda.Started{Use: ids[i], Attempt: 1})
		d.res.Use = ids[i]
		c.put(uzda.Returned{Result: d.res})
		results = append(results, d.res)
	}
	c.view = append(c.view, uzda.Entry{Seq: uzda.Seq(len(c.events)), Message: uzda.Message{Role: uzda.User, Blocks: results}})
	return ids
}

func (c *chronicle) end() {
	c.put(uzda.Ended{Outcome: uzda.Finished, Reason: uzda.EndTurn})
	c.first = true
}

// edit makes an edit, and checks what every edit must keep.
func (c *chronicle) edit(t testing.TB, e uzda.Edited) {
	t.Helper()
	before := tokens(c.view)
	view := made(t, c.view, e)
	if err := uzda.Valid(view); err != nil {
		t.Fatalf("%s: %v", e.What, err)
	}
	if e.By == "" && tokens(view) >= before {
		t.Fatalf("%s: %d tokens became %d", e.What, before, tokens(view))
	}
	seq := c.put(e)
	for i := range view {
		if view[i].Edit == 1_000_000 {
			view[i].Edit = seq
		}
	}
	c.view = view
}

func (c *chronicle) look(budget int, side *teller) uzda.View {
	v := uzda.View{Session: "s", Ask: c.asks + 1, Head: uzda.Head{Model: "m", System: "Be brief.", Tools: toolbox()}, First: c.first,
		Entries: slices.Concat(c.view, c.inbox), Fixed: fixed(c.view), Budget: budget, Model: uzda.ModelInfo{ID: "m", Window: budget}}
	events := slices.Clone(c.events)
	v.Events = func(context.Context) iter.Seq2[uzda.Event, error] {
		return func(yield func(uzda.Event, error) bool) {
			for _, e := range events {
				if !yield(e, nil) {
					return
				}
			}
		}
	}
	if side != nil {
		v.Side = side.ask
	}
	return v
}

// A teller stands for the model that summarises.
type teller struct {
	text  string
	stop  uzda.StopReason
	err   error
	calls bool
	most  int // estimated tokens of a request and its reply; 0: any
	seen  []*uzda.Request
	text2 func(n int, prompt string) string
}

func (f *teller) ask(_ context.Context, _ uzda.Model, req *uzda.Request) (uzda.Reply, error) {
	f.seen = append(f.seen, req)
	prompt := req.View[0].Message.String()
	if f.err != nil {
		return uzda.Reply{}, f.err
	}
	if f.most > 0 && window.Estimate(req.Head.System)+window.Estimate(prompt)+req.Max > f.most {
		return uzda.Reply{}, &uzda.ProviderError{Code: "context", Status: 400, Message: "prompt is too long"}
	}
	text, stop := f.text, f.stop
	if f.text2 != nil {
		text = f.text2(len(f.seen), prompt)
	}
	if stop == "" {
		stop = uzda.StopEnd
	}
	m := uzda.Message{Role: uzda.Assistant, Blocks: uzda.Say(text)}
	if f.calls {
		m.Blocks = append(m.Blocks, uzda.ToolUse{Name: "shell", Input: json.RawMessage(`{}`)})
	}
	return uzda.Reply{Message: m, Stop: uzda.Stop{Reason: stop}}, nil
}

func (f *teller) prompts() string {
	var b strings.Builder
	for _, r := range f.seen {
		b.WriteString(r.View[0].Message.String())
	}
	return b.String()
}

// paper is a call that reads a file of about n tokens with a number of its own.
func paper(i, n int) deed {
	return did("read_file", fmt.Sprintf(`{"path":"docs/report-%d.md"}`, i),
		fmt.Sprintf("Invoice INV-%05d over %d.50 EUR.\n", 20000+i, 70000+i)+strings.Repeat("The rest of it is of no interest here. ", n/9))
}

// textsOf are the text blocks of a message.
func textsOf(m uzda.Message) (out []string) {
	for _, b := range m.Blocks {
		if t, ok := b.(uzda.Text); ok {
			out = append(out, t.Text)
		}
	}
	return out
}

// mustMake makes one edit, or fails.
func mustMake(t testing.TB, e uzda.Edited, missed *uzda.Missed) uzda.Edited {
	t.Helper()
	if missed != nil {
		t.Fatalf("%s was missed: %s", missed.What, missed.Why)
	}
	return e
}
