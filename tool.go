package uzda

import (
	"context"
	"encoding/json"
	"time"
)

// A Tool is something that the model may call; safe for concurrent use.
type Tool interface {
	// Spec is what the model and the gates are told. It does not change while
	// the tool is in use.
	Spec() ToolSpec
	// Call runs the tool. A failure that the model can react to is a result
	// with IsError; a Go error stops the turn. When ctx ends, Call returns
	// within a second; what it still does later is its runner's burden. Its
	// goroutine may go on to other things: one that was locked to its thread is
	// unlocked before Call returns.
	Call(ctx context.Context, use Use) (Result, error)
}

// A Checker validates input and coerces it without loss, before anything else
// sees it. Every tool is one, unless its spec says Unchecked.
type Checker interface {
	Check(input json.RawMessage) (json.RawMessage, error)
}

// A Previewer shows what a person approves. What it depends on (a file's
// version, a recipient) goes into preconditions: it is part of what is approved.
type Previewer interface {
	Preview(ctx context.Context, use Use) (text, preconditions string, err error)
}

// A Placer runs its uses in a directory of its own choice, such as the one that an
// earlier use of the session went to. Place is quick and changes nothing; dir is the
// session's. The place is part of what is approved.
type Placer interface {
	Place(id SessionID, dir string) string
}

// A Prober knows whether the use with a key took effect.
type Prober interface {
	Probe(ctx context.Context, key string) (bool, error)
}

// ToolSpec is what the model and the gates are told of a tool.
type ToolSpec struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Input       json.RawMessage `json:"input,omitempty"` // JSON Schema of an object
	Effects     Effects         `json:"effects,omitzero"`
	Once        bool            `json:"once,omitempty"`      // the same arguments run once
	Final       bool            `json:"final,omitempty"`     // its input is the answer of the turn
	Unchecked   bool            `json:"unchecked,omitempty"` // the tool checks its input itself
	Source      string          `json:"source,omitempty"`    // built-in, go, a server's name
}

// Effects are what a tool can do, in the words of MCP's annotations.
type Effects struct {
	ReadOnly     bool `json:"read_only,omitempty"`    // changes nothing
	Idempotent   bool `json:"idempotent,omitempty"`   // twice is as good as once
	Irreversible bool `json:"irreversible,omitempty"` // cannot be taken back
	OpenWorld    bool `json:"open_world,omitempty"`   // reaches beyond this machine
	Independent  bool `json:"independent,omitempty"`  // may run beside others although it changes something
}

// Again says that a lost use may simply run again.
func (e Effects) Again() bool { return e.ReadOnly || e.Idempotent }

// A Use is one request to run a tool. Key is the same for every attempt of it;
// a tool passes it on as an idempotency key.
type Use struct {
	Session SessionID
	ID      UseID
	Name    string
	Input   json.RawMessage // as checked and coerced
	Key     string
	Attempt int    // from 1
	Dir     string // where it runs: the session's directory, or what a Placer says
}

// A Result is what a call gives back: blocks, or a Pending.
type Result struct {
	Blocks  Blocks
	IsError bool
	Code    Code   // default failed, where IsError
	Effect  Effect // default done, and none for a read-only tool
	Labels  []Label
	People  Blocks // the part for people
	Pending *Pending
}

// Pending says that the result comes later: by a Delivered, or at a time.
type Pending struct {
	On    string    `json:"on"` // child, timer, question or result
	Ref   string    `json:"ref,omitempty"`
	Until time.Time `json:"until,omitzero"`
	Hold  Spend     `json:"hold,omitzero"` // what a child may use of its parent's turn
}

// Spend is what was used, or may be, of a turn's fuses.
type Spend struct {
	Steps  int   `json:"steps,omitempty"`
	Calls  int   `json:"calls,omitempty"`
	Tokens int   `json:"tokens,omitempty"`
	Cost   Money `json:"cost,omitempty"`
}

// Add returns the sum.
func (s Spend) Add(t Spend) Spend {
	return Spend{s.Steps + t.Steps, s.Calls + t.Calls, s.Tokens + t.Tokens, s.Cost + t.Cost}
}

// Code says why a result is an error.
type Code string

// The closed set of codes.
const (
	CodeDenied         Code = "denied"
	CodeInvalidInput   Code = "invalid_input"
	CodeUnknownTool    Code = "unknown_tool"
	CodeNotStarted     Code = "not_started"
	CodeCancelled      Code = "cancelled"
	CodeTimeout        Code = "timeout"
	CodeOutcomeUnknown Code = "outcome_unknown"
	CodeFailed         Code = "failed"
	CodeTruncated      Code = "truncated"
)

// Effect says whether a use changed anything.
type Effect string

// The effects of a use.
const (
	EffectNone    Effect = "none"
	EffectDone    Effect = "done"
	EffectUnknown Effect = "unknown"
)
