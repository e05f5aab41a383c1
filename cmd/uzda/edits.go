package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/agent"
	"github.com/uzda-dev/uzda/tool/recall"
)

// editJSON is an edit of what the model sees, for a machine.
type editJSON struct {
	Seq  uzda.Seq `json:"seq,omitempty"` // 0: it was not made
	What string   `json:"what"`
	From uzda.Seq `json:"from"` // messages, by the numbers of their events
	To   uzda.Seq `json:"to"`
	Undo uzda.Seq `json:"undo,omitempty"` // the edit that it takes back
	By   string   `json:"by,omitempty"`
	// Undone says that another edit has taken it back.
	Undone bool `json:"undone,omitempty"`
	*uzda.Saving
	Text string `json:"text,omitempty"` // what stands in place of the messages, where it was only tried

	lost bool // the model has no tool to recall what was put away
}

func editOf(seq uzda.Seq, e uzda.Edited, lost bool) editJSON {
	return editJSON{Seq: seq, What: e.What, From: e.From, To: e.To, Undo: e.Undo, By: e.By, Saving: e.Saved, lost: lost}
}

// forgets says that an agent has no tool to recall what was put away.
func forgets(tools []uzda.ToolSpec) bool {
	return !slices.ContainsFunc(tools, func(t uzda.ToolSpec) bool { return t.Name == recall.Name })
}

// edits lists the edits of a session after an event.
func (w *work) edits(ctx context.Context, id uzda.SessionID, s *agent.State, after uzda.Seq) ([]editJSON, error) {
	out := []editJSON{}
	for e, err := range w.store.Read(ctx, id, after) {
		if err != nil {
			return nil, fail(uzda.StorageError, "`uzda doctor` looks at the store", "%v", err)
		}
		b, ok := e.Body.(uzda.Edited)
		if !ok {
			continue
		}
		if i := slices.IndexFunc(out, func(o editJSON) bool { return o.Seq == b.Undo }); b.Undo > 0 && i >= 0 {
			out[i].Undone = true
		}
		out = append(out, editOf(e.Seq, b, forgets(s.Gear.Tools)))
	}
	return out, nil
}

// standing is the last edit whose messages the model still sees; 0 if there is none.
func standing(s *agent.State) uzda.Seq {
	var last uzda.Seq
	for _, e := range s.View {
		last = max(last, e.Edit)
	}
	return last
}

// shrunk says from how many tokens to how many an edit brought the request.
func shrunk(s *uzda.Saving) string {
	if s == nil || s.Before == 0 {
		return ""
	}
	return fmt.Sprintf("%s → %s tokens", thousands(s.Before), thousands(s.After))
}

// gistOf says in a few words what an edit replaced, and what became of the facts in it.
func gistOf(e editJSON) string {
	if e.Undo > 0 {
		return fmt.Sprintf("edit %d is taken back", e.Undo)
	}
	if e.Saving == nil {
		return fmt.Sprintf("messages %d to %d", e.From, e.To)
	}
	parts := []string{replaced(e)}
	if e.Facts > 0 {
		parts = append(parts, facts(e.Facts, e.Lost, e.Restored, e.lost))
	}
	if e.Requests > 0 {
		parts = append(parts, plural(e.Requests, "request"))
	}
	return strings.Join(parts, "; ")
}

func replaced(e editJSON) string {
	switch e.What {
	case uzda.MoveClear, uzda.MoveDedupe:
		return "results in " + plural(e.Messages, "message")
	}
	return plural(e.Messages, "message")
}

// facts says how many amounts, dates, ids and the like stood in what was replaced,
// what the summary did to them, and where the rest of them is: the model can recall
// it unless it forgets.
func facts(all, lost, restored int, forgets bool) string {
	text := plural(all, "fact")
	if lost == 0 {
		return text + ", none lost"
	}
	text += fmt.Sprintf(", the summary lost %s", thousands(lost))
	rest := lost - restored
	if rest <= 0 {
		return text + ", all put back"
	}
	if restored > 0 {
		text += fmt.Sprintf(", %s put back", thousands(restored))
	}
	switch {
	case !forgets:
		return text + fmt.Sprintf(", %s can be recalled", thousands(rest))
	case rest == 1:
		return text + ", 1 is only in the journal"
	}
	return text + fmt.Sprintf(", %s are only in the journal", thousands(rest))
}

// spent says what was asked of a model, and for how much, where that is known.
func spent(requests int, cost *uzda.Money) string {
	text := plural(requests, "request")
	if cost == nil {
		return text + ", cost unknown"
	}
	return text + ", " + short(*cost)
}

// edited is an edit on a line.
func edited(e editJSON) string { return e.What + ": " + told(e) }

// told is what an edit replaced, and what that was worth.
func told(e editJSON) string {
	if t := shrunk(e.Saving); t != "" {
		return t + ": " + gistOf(e)
	}
	return gistOf(e)
}
