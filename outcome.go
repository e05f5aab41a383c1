package uzda

import (
	"fmt"
	"strings"
)

// The outcomes of a turn.
const (
	Finished      = "done"
	Failed        = "failed"
	Stopped       = "stopped"
	Waiting       = "waiting"
	CancelledTurn = "cancelled"
)

// Reason says exactly why a turn ended or waits.
type Reason string

// The closed set of reasons.
const (
	EndTurn          Reason = "end_turn"
	EndSequence      Reason = "stop_sequence"
	FinalTool        Reason = "final_tool"
	EndTurnDenied    Reason = "end_turn_denied"
	InternalError    Reason = "internal_error"
	ToolError        Reason = "tool_error"
	ConfigError      Reason = "config_error"
	ProviderFailed   Reason = "provider_error"
	Overloaded       Reason = "provider_overloaded"
	MaxSteps         Reason = "max_steps"
	MaxTokens        Reason = "max_tokens"
	MaxTime          Reason = "max_time"
	MaxCost          Reason = "max_cost"
	MaxCalls         Reason = "max_tool_calls"
	MaxContinuations Reason = "max_continuations"
	Refusal          Reason = "refusal"
	LoopDetected     Reason = "loop_detected"
	Unverified       Reason = "verification_failed"
	WaitApproval     Reason = "approval"
	WaitQuestion     Reason = "question"
	WaitChild        Reason = "child"
	WaitTimer        Reason = "timer"
	WaitResult       Reason = "result"
	OutputTruncated  Reason = "output_truncated"
	EmptyResponse    Reason = "empty_response"
	ContextExhausted Reason = "context_exhausted"
	StorageError     Reason = "storage_error"
	SessionBusy      Reason = "session_busy"
	CancelledByUser  Reason = "cancelled"
)

// reasons is the contract that scripts and CI depend on.
var reasons = map[Reason]struct {
	outcome string
	exit    int
}{
	EndTurn: {Finished, 0}, EndSequence: {Finished, 0}, FinalTool: {Finished, 0}, EndTurnDenied: {Finished, 12},
	InternalError: {Failed, 1}, ToolError: {Failed, 1}, ConfigError: {Failed, 2},
	ProviderFailed: {Failed, 3}, Overloaded: {Failed, 3},
	MaxSteps: {Stopped, 4}, MaxTokens: {Stopped, 4}, MaxTime: {Stopped, 4}, MaxCost: {Stopped, 4},
	MaxCalls: {Stopped, 4}, MaxContinuations: {Stopped, 4},
	Refusal: {Stopped, 5}, LoopDetected: {Stopped, 6}, Unverified: {Stopped, 7},
	WaitApproval: {Waiting, 8}, WaitQuestion: {Waiting, 8}, WaitChild: {Waiting, 8}, WaitTimer: {Waiting, 8}, WaitResult: {Waiting, 8},
	OutputTruncated: {Stopped, 9}, EmptyResponse: {Stopped, 9}, ContextExhausted: {Stopped, 9},
	StorageError: {Failed, 10}, SessionBusy: {Failed, 11},
	CancelledByUser: {CancelledTurn, 130},
}

// Outcome returns the outcome that a reason belongs to.
func (r Reason) Outcome() string { return reasons[r].outcome }

// Exit returns the exit code of a program that ended for this reason: part of
// the contract. A reason that is not known exits 1.
func (r Reason) Exit() int {
	if known, ok := reasons[r]; ok {
		return known.exit
	}
	return 1
}

// Known says whether r is one of the closed set.
func (r Reason) Known() bool { _, ok := reasons[r]; return ok }

// An Outcome is how a turn ended, as an error for all but done.
type Outcome struct {
	Session SessionID
	Reason  Reason
	Detail  string // what happened, for people
	Hint    string // what to do about it
	Answer  string // what was said so far; an answer only if the outcome is done
	Steps   int
	Err     error
}

func (o *Outcome) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s", o.Reason.Outcome(), o.Reason)
	if o.Detail != "" {
		b.WriteString(": " + o.Detail)
	}
	if o.Hint != "" {
		b.WriteString(" (" + o.Hint + ")")
	}
	return b.String()
}

// Unwrap returns the cause.
func (o *Outcome) Unwrap() error { return o.Err }
