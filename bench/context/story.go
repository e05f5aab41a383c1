package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/agent"
	"github.com/uzda-dev/uzda/journal"
)

// A story is a session as its journal holds it, and what is needed of it later.
type story struct {
	set   string // the data that it is from
	store *journal.Mem
	id    uzda.SessionID
	head  uzda.Head
	state *agent.State
	needs []need
}

// A need is a fact that somebody asks for when the session has gone on: one of
// texts must be where the model can see it. query is what one would search for who
// lacks it: the question, or what stands around the fact.
type need struct {
	query string
	texts []string
}

// A teller writes a session's journal event by event, as the loop does.
type teller struct {
	state  *agent.State
	bodies []uzda.Body
}

func tell(head uzda.Head) *teller {
	t := &teller{state: &agent.State{}}
	t.add(uzda.Opened{Format: 1, Agent: "bench"})
	t.add(uzda.Equipped{Model: uzda.ModelInfo{ID: head.Model}, System: head.System, Tools: head.Tools, Limits: uzda.Limits{}.OrDefault()})
	return t
}

func (t *teller) add(b uzda.Body) {
	t.bodies = append(t.bodies, b)
	t.state.Fold(uzda.Event{Seq: t.state.Head + 1, Body: b})
}

// post begins a turn.
func (t *teller) post(text string) { t.add(uzda.Posted{Blocks: uzda.Say(text)}) }

// An act is a call with its result.
type act struct {
	tool   string
	input  json.RawMessage
	result string
	failed bool
	effect bool // it changed something
}

// do is a step: a reply with calls, and their results.
func (t *teller) do(text string, acts ...act) {
	var blocks uzda.Blocks
	if text != "" {
		blocks = uzda.Say(text)
	}
	for _, a := range acts {
		blocks = append(blocks, uzda.ToolUse{Name: a.tool, Input: a.input})
	}
	t.add(uzda.Asked{Ordinal: t.state.Asks + 1})
	t.add(uzda.Said{Stop: uzda.StopUse, Message: uzda.Message{Role: uzda.Assistant, Blocks: blocks}})
	said := t.state.Head
	for i, a := range acts {
		use := uzda.UseID(fmt.Sprintf("%d.%d", said, i+1))
		t.add(uzda.Judged{Use: use, Verdict: uzda.Verdict{Decision: uzda.Allow}})
		t.add(uzda.Started{Use: use, Attempt: 1, Effects: uzda.Effects{ReadOnly: !a.effect}})
		r := uzda.ToolResult{Use: use, Blocks: uzda.Say(a.result), Effect: uzda.EffectNone}
		if a.effect {
			r.Effect = uzda.EffectDone
		}
		if a.failed {
			r.IsError, r.Code, r.Effect = true, uzda.CodeFailed, uzda.EffectNone
		}
		t.add(uzda.Returned{Result: r})
	}
}

// end is a reply without calls, which ends the turn.
func (t *teller) end(text string) {
	t.add(uzda.Asked{Ordinal: t.state.Asks + 1})
	t.add(uzda.Said{Stop: uzda.StopEnd, Message: uzda.Message{Role: uzda.Assistant, Blocks: uzda.Say(text)}})
	t.add(uzda.Ended{Outcome: uzda.Finished, Reason: uzda.EndTurn})
}

// story stores what was told and loads it as a resumed session is loaded. What
// was posted last is about to join.
func (t *teller) story(ctx context.Context, set, name string, head uzda.Head, needs []need) (*story, error) {
	s := &story{set: set, store: journal.Memory(), id: uzda.SessionID(name), head: head, needs: needs}
	epoch, err := s.store.Acquire(ctx, s.id, "bench")
	if err != nil {
		return nil, err
	}
	if _, err := s.store.Append(ctx, s.id, uzda.At{Epoch: epoch}, t.bodies...); err != nil {
		return nil, fmt.Errorf("store %s: %w", name, err)
	}
	if err := s.store.Release(ctx, s.id, epoch); err != nil {
		return nil, err
	}
	s.state, err = agent.Load(ctx, s.store, s.id)
	return s, err
}

// entries are the messages of the next request.
func (s *story) entries() []uzda.Entry {
	out := append([]uzda.Entry(nil), s.state.View...)
	for _, m := range s.state.Inbox {
		out = append(out, m.Entry)
	}
	return out
}

// fixedFrom is the first message that may not be edited.
func fixedFrom(view []uzda.Entry) int {
	for i := len(view) - 1; i >= 0; i-- {
		if view[i].Message.Role == uzda.Assistant {
			return i
		}
	}
	return 0
}

// read is all that a model reads of messages.
func read(view []uzda.Entry) string {
	var b strings.Builder
	for _, e := range view {
		readBlocks(&b, e.Message.Blocks)
	}
	return b.String()
}

func readBlocks(b *strings.Builder, blocks uzda.Blocks) {
	for _, one := range blocks {
		switch one := one.(type) {
		case uzda.Text:
			b.WriteString(one.Text)
		case uzda.Thinking:
			b.WriteString(one.Text)
		case uzda.ToolUse:
			b.WriteString(one.Name + " " + string(one.Input))
		case uzda.ToolResult:
			readBlocks(b, one.Blocks)
		}
		b.WriteByte('\n')
	}
}

// met says whether one of the texts stands in text, which is in lower case, as a
// whole word: 53.4 does not stand in 53.48, nor in 153.4.
func (n need) met(text string) bool {
	for _, t := range n.texts {
		if stands(text, strings.ToLower(t)) {
			return true
		}
	}
	return false
}

func stands(text, want string) bool {
	for from := 0; want != ""; {
		i := strings.Index(text[from:], want)
		if i < 0 {
			return false
		}
		i += from
		if apart(text[:i], text[i+len(want):]) {
			return true
		}
		_, n := utf8.DecodeRuneInString(text[i:])
		from = i + n
	}
	return false
}

// apart says whether a word between before and after is one of its own.
func apart(before, after string) bool {
	word := func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }
	last, n := utf8.DecodeLastRuneInString(before)
	first, m := utf8.DecodeRuneInString(after)
	if word(last) || word(first) {
		return false
	}
	digit := func(r rune, _ int) bool { return unicode.IsDigit(r) }
	if (last == '.' || last == ',') && digit(utf8.DecodeLastRuneInString(before[:len(before)-n])) {
		return false
	}
	return (first != '.' && first != ',') || !digit(utf8.DecodeRuneInString(after[m:]))
}
