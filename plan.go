package uzda

import (
	"context"
	"iter"
)

// A View is what a planner sees before a request is sent.
type View struct {
	Session SessionID
	Ask     int // ordinal of the request to come
	Head    Head
	// Entries are the messages of the request, also those that are about to join;
	// not to be changed. Those from Fixed on may not be edited: the last reply and
	// what follows it; but what people posted for turns that are over, before message
	// Turn, may be shortened there, by an edit that is Only.
	Entries []Entry
	Fixed   int
	Turn    Seq // the message that began the running turn; 0: none runs
	Tail    string
	Tokens  int   // of the request, as well as the loop knows
	Used    Usage // of the last reply in Entries; zero where head or messages were changed since
	Counted bool  // Tokens rests on what the provider has counted
	Model   ModelInfo
	Budget  int  // tokens that a request is to stay under, at most the window; 0: not known
	First   bool // the request begins a turn
	Refused bool // the provider has refused it as too long: it must get shorter, whatever was counted
	Forced  bool // a person asks for a compaction now
	// Compacted counts the compactions since the last handover, Missed those in a
	// row that came to nothing.
	Compacted, Missed int
	// Side asks a model something beside the session, at the cost of the turn: the
	// worst case is reserved before, and what it used is recorded. Model nil is the
	// session's own. It is nil where nothing may be asked.
	Side func(ctx context.Context, m Model, req *Request) (Reply, error)
	// Events reads the session's journal from its beginning; nil: there is none.
	Events func(ctx context.Context) iter.Seq2[Event, error]
}

// SummaryAgent is the [Request.Agent] of a request for a summary.
const SummaryAgent = "summary"

// A Plan is what a planner proposes.
type Plan struct {
	Edits   []Edited // in the order in which they are made
	Weighed *Weighed // the request after Edits; nil: it was not weighed
	Missed  []Missed // what was tried in vain
	End     *Ended   // the turn must not go on, and why
}

// Moves of a planner: words for [Edited.What].
const (
	MoveClear    = "clear"    // old results become placeholders
	MoveDedupe   = "dedupe"   // a result that a later one repeats becomes a placeholder
	MoveCompact  = "compact"  // the head becomes the task, what is pinned, and a summary
	MoveHandover = "handover" // all but the last step becomes a brief that is made from the journal
	MoveUndo     = "undo"
)

// Saving says what an edit was worth. Tokens are estimates, corrected by what the
// provider counted.
type Saving struct {
	Before   int `json:"before"` // tokens of the whole request
	After    int `json:"after"`
	Messages int `json:"messages"` // that were replaced or changed
	// Facts are the amounts, dates, ids, paths and the like that stood in what was
	// replaced, Lost those that the summary left out, Restored those of Lost that
	// were added back word for word. The rest can be recalled.
	Facts    int    `json:"facts,omitempty"`
	Lost     int    `json:"lost,omitempty"`
	Restored int    `json:"restored,omitempty"`
	Requests int    `json:"requests,omitempty"` // to a model, for the summary
	Cost     Money  `json:"cost,omitempty"`     // of them
	Why      string `json:"why,omitempty"`      // in words, for people
}

// A Weight is a part of a request.
type Weight struct {
	Name    string   `json:"item"`
	Tokens  int      `json:"tokens"`
	Percent float64  `json:"percent"` // of the base, see [Weighed]
	Count   int      `json:"count,omitempty"`
	Parts   []Weight `json:"parts,omitempty"` // the largest first
}
