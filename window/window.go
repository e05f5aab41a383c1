// Package window keeps what a model is given within its budget.
package window

import "github.com/uzda-dev/uzda"

// States say how full a request is. From Warning on a compaction is planned, from
// Hard on it is due.
const (
	OK      = "ok"
	Warning = "warning" // from 0.70 of the budget
	Hard    = "hard"    // from 0.85
	Unknown = "unknown" // neither budget nor window are known
)

// Where the states begin, as shares of the budget, and the share of the window
// that system prompt and tools alone must not pass.
const (
	WarningAt = 0.70
	HardAt    = 0.85
	FixedAt   = 0.50
)

// The items, in the order of a request.
const (
	System   = "system"
	Files    = "working files" // instructions in the system prompt, by file
	Tools    = "tools"
	Memory   = "memory"  // notes, the todo list, what was recalled, what a compaction pinned
	Summary  = "summary" // what a compaction or a handover put there
	History  = "history" // what user and model said
	Thinking = "thinking"
	Calls    = "tool calls"
	Results  = "tool results"
	Media    = "media"
	Question = "question" // the last that the user said
	Tail     = "tail"
	Overhead = "overhead" // what the provider counted beyond all of these
)

// Items are the names of all items, in the order of a request.
func Items() []string {
	return []string{System, Files, Tools, Memory, Summary, History, Thinking, Calls, Results, Media, Question, Tail, Overhead}
}

// FixedTooLarge says that system prompt and tools alone take over half the
// window: a turn should not begin.
func FixedTooLarge(r uzda.Weighed) bool { return r.Window > 0 && r.Fixed > 100*FixedAt }

// StateOf says how full a budget is.
func StateOf(tokens, budget int) string {
	switch full := float64(tokens) / float64(budget); {
	case budget <= 0:
		return Unknown
	case full >= HardAt:
		return Hard
	case full >= WarningAt:
		return Warning
	}
	return OK
}
