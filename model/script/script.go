// Package script answers from a list of turns, so that everything runs without a network.
package script

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/uzda-dev/uzda"
)

// Window is the size of a scripted model's window in tokens, where it names none.
const Window = 200_000

// A Model answers ask N of a session with turn N of its list. It keeps no state:
// the same request gets the same reply, also after a crash. The zero value has
// no turns, and says so when it is asked.
type Model struct {
	Name   string // in the model's id; default "inline"
	Turns  []Turn
	Loop   bool             // after the last turn comes the first again
	Agents map[string]Agent // by Request.Agent; every other agent gets Turns,
	// but for summaries, which need their own
	// ByView answers by the number of assistant messages in the view instead of
	// the ordinal, so that an ask that was lost skips no turn. An edit of the
	// view then shifts the turns.
	ByView bool
	Window int // tokens; default Window
}

// An Agent is the list of turns of one agent, such as a child.
type Agent struct {
	Turns []Turn
	Loop  bool
}

// A Turn is one scripted reply: its delay, its thinking, its text, its calls, and
// then its error, its cut or its stop.
type Turn struct {
	Thinking string
	Text     string // {{result.N.row.0.COLUMN}} and the like are filled in
	Calls    []Call
	Stop     string              // any provider's word; default tool_use with calls, end_turn without
	Usage    *uzda.Usage         // nil: an estimate, a token for four bytes
	Error    *uzda.ProviderError // the stream fails after the content
	Cut      bool                // the stream ends after the content without a stop
	Delay    time.Duration       // before the first chunk
}

// A Call is one tool use. Input is a JSON object, default {}; anything else is
// sent as a model would send broken arguments, in ToolUse.Raw.
type Call struct {
	Name  string
	Input string // templates in its strings are filled in
	ID    string // the wire id; default unique in the session
}

var (
	_ uzda.Model     = Model{}
	_ uzda.Describer = Model{}
)

// Describe says that the model is free, and how large its window is.
func (m Model) Describe() uzda.ModelInfo {
	info := uzda.ModelInfo{ID: m.id(), Window: m.Window, Free: true}
	if info.Window == 0 {
		info.Window = Window
	}
	return info
}

func (m Model) id() string {
	switch {
	case m.Name == "":
		return "script/inline"
	case strings.HasPrefix(m.Name, filePrefix):
		return m.Name
	}
	return "script/" + m.Name
}

// Stream answers with the turn that req.Ask names. Every piece of a block comes
// as a delta before the block is done. A template that cannot be filled and an
// ask past the last turn are a *uzda.ProviderError.
func (m Model) Stream(ctx context.Context, req *uzda.Request) iter.Seq2[uzda.Chunk, error] {
	return func(yield func(uzda.Chunk, error) bool) {
		t, place, err := m.turn(req)
		if err == nil {
			t, err = t.fill(place, m.list(req).Turns, req.View)
		}
		if err == nil {
			err = wait(ctx, t.Delay)
		}
		if err != nil {
			yield(nil, err)
			return
		}
		blocks := t.blocks(max(req.Ask, 1))
		s := sender{ctx: ctx, yield: yield}
		for i, b := range blocks {
			if !s.block(i, b) {
				return
			}
		}
		switch {
		case t.Error != nil:
			failure := *t.Error
			yield(nil, &failure)
		case !t.Cut:
			yield(t.end(req, blocks, m.id()), nil)
		}
	}
}

// list returns the turns of the agent that asks.
func (m Model) list(req *uzda.Request) Agent {
	if a, ok := m.Agents[req.Agent]; ok {
		return a
	}
	return Agent{m.Turns, m.Loop}
}

// turn returns the turn that answers req and its place in its list, from 1.
func (m Model) turn(req *uzda.Request) (Turn, int, error) {
	list, whose := m.list(req), ""
	turns, loop := list.Turns, list.Loop
	if _, ok := m.Agents[req.Agent]; ok {
		whose = fmt.Sprintf(" for agent %q", req.Agent)
	}
	if whose == "" && req.Agent == uzda.SummaryAgent { // what the turns say is for the session
		return Turn{}, 1, &uzda.ProviderError{Code: CodeEnd, Message: "the script has no turns for summaries",
			Hint: `add "agents": {"summary": {"turns": [{"text": "…"}]}}`}
	}
	n := max(req.Ask, 1)
	if m.ByView {
		n = 1
		for _, e := range req.View {
			if e.Message.Role == uzda.Assistant {
				n++
			}
		}
	}
	at := n
	if loop && len(turns) > 0 {
		at = (n-1)%len(turns) + 1
	}
	if at <= len(turns) {
		return turns[at-1], at, nil
	}
	hint := `add a turn to the script, or set "loop": true to start again`
	if whose == "" && len(turns) == 0 && len(m.Agents) > 0 {
		hint = fmt.Sprintf("the agent is %q; the script has turns for %s", req.Agent, strings.Join(slices.Sorted(maps.Keys(m.Agents)), ", "))
	}
	return Turn{}, at, &uzda.ProviderError{
		Code:    CodeEnd,
		Message: fmt.Sprintf("the script has %s%s and was asked for turn %d", count(len(turns), "turn"), whose, at),
		Hint:    hint,
	}
}

// CodeEnd is the code of the error of an ask past the last turn.
const CodeEnd = "script_end"

func wait(ctx context.Context, d time.Duration) error {
	if d > 0 {
		t := time.NewTimer(d)
		defer t.Stop()
		select {
		case <-t.C:
		case <-ctx.Done():
		}
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("scripted model: %w", err)
	}
	return nil
}

func (t Turn) blocks(ask int) uzda.Blocks {
	var out uzda.Blocks
	if t.Thinking != "" {
		out = append(out, uzda.Thinking{Text: t.Thinking})
	}
	if t.Text != "" {
		out = append(out, uzda.Text{Text: t.Text})
	}
	for i, c := range t.Calls {
		u := uzda.ToolUse{Wire: c.ID, Name: c.Name, Input: json.RawMessage("{}")}
		if u.Wire == "" {
			u.Wire = fmt.Sprintf("call_%d_%d", ask, i+1)
		}
		switch in := strings.TrimSpace(c.Input); {
		case in == "":
		case in[0] == '{' && json.Valid([]byte(in)):
			u.Input = oneLine(in)
		default:
			u.Raw = c.Input
		}
		out = append(out, u)
	}
	return out
}

// oneLine leaves out white space that journals would not keep.
func oneLine(object string) json.RawMessage {
	if !strings.ContainsAny(object, "\n\r") {
		return json.RawMessage(object)
	}
	var b bytes.Buffer
	if json.Compact(&b, []byte(object)) != nil {
		return json.RawMessage(object)
	}
	return b.Bytes()
}

func (t Turn) end(req *uzda.Request, blocks uzda.Blocks, id string) uzda.Stop {
	s := uzda.Stop{Raw: t.Stop, Origin: &uzda.Origin{Profile: "script", Model: id}}
	s.Reason = reason(t.Stop, len(t.Calls) > 0)
	if t.Usage != nil {
		s.Usage = *t.Usage
	} else {
		s.Usage = estimate(req, blocks)
	}
	return s
}

// estimate counts a token for every four bytes of what is sent and said. It is no
// count, but the same request has the same one, and budgets see it grow.
func estimate(req *uzda.Request, reply uzda.Blocks) uzda.Usage {
	in := len(req.Head.System) + len(req.Tail)
	for _, t := range req.Head.Tools {
		in += len(t.Name) + len(t.Description) + len(t.Input)
	}
	for _, e := range req.View {
		in += e.Message.Blocks.Size()
	}
	return uzda.Usage{Input: (in + 3) / 4, Output: (reply.Size() + 3) / 4}
}

// piece is the length in bytes of a delta.
const piece = 32

type sender struct {
	ctx   context.Context
	yield func(uzda.Chunk, error) bool
}

// block sends a block in pieces and then whole; false ends the stream.
func (s sender) block(at int, b uzda.Block) bool {
	kind, text := "text", ""
	switch b := b.(type) {
	case uzda.Text:
		text = b.Text
	case uzda.Thinking:
		kind, text = "thinking", b.Text
	case uzda.ToolUse:
		kind, text = "input", string(b.Input)
		if b.Raw != "" {
			text = b.Raw
		}
	}
	for text != "" {
		part := uzda.Before(text, piece)
		if part == "" { // no rune begins here: not UTF-8
			part = text
		}
		if !s.send(uzda.Delta{Block: at, Kind: kind, Text: part}) {
			return false
		}
		text = text[len(part):]
	}
	return s.send(uzda.Done{Block: b})
}

func (s sender) send(c uzda.Chunk) bool {
	if err := s.ctx.Err(); err != nil {
		s.yield(nil, fmt.Errorf("scripted model: %w", err))
		return false
	}
	return s.yield(c, nil)
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
