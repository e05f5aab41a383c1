package uzda

import (
	"context"
	"iter"
)

// A Host is the only door to sessions; safe for concurrent use.
type Host interface {
	// Open makes a session, or finds the one with the id of o.
	Open(ctx context.Context, o Opening) (SessionID, error)
	// Post gives a session an input. One with an id that the session already
	// has is not stored again: the first Seq is returned.
	Post(ctx context.Context, id SessionID, in Input) (Seq, error)
	// Watch yields the events after a number and follows until ctx ends. Deltas
	// are events with Seq 0, only for a watcher at the head.
	Watch(ctx context.Context, id SessionID, after Seq) iter.Seq2[Event, error]
}

// An Opening says what a session is made of.
type Opening struct {
	ID     SessionID // "": a new one
	Agent  string
	Dir    string
	Parent SessionID
	Use    UseID // of the parent, that began it
	Depth  int
	Budget Limits            // zero fields: the agent's
	Scope  SessionID         // of once-keys, "": the session itself
	Charge []Account         // of the parent, which this session spends from
	With   map[string]string // what the program needs to make the agent again
}

// An Input is what may be posted: [Posted], [Answered], [Cancelled],
// [Delivered], [Resolved], [Noted], or an [Edited] by a person.
type Input interface {
	Body
	input()
}

func (Posted) input()    {}
func (Answered) input()  {}
func (Cancelled) input() {}
func (Delivered) input() {}
func (Resolved) input()  {}
func (Noted) input()     {}
func (Edited) input()    {}
