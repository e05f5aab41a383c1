package uzda_test

import (
	"errors"
	"io"
	"testing"

	"github.com/uzda-dev/uzda"
)

// The outcomes and exit codes are a contract that scripts and CI depend on: this
// table is the one of the design, word for word, and no code may change it.
func TestOutcomes(t *testing.T) {
	t.Parallel()
	type row struct {
		outcome string
		exit    int
	}
	table := map[string]row{
		"end_turn": {"done", 0}, "stop_sequence": {"done", 0}, "final_tool": {"done", 0},
		"internal_error": {"failed", 1}, "tool_error": {"failed", 1},
		"config_error":   {"failed", 2},
		"provider_error": {"failed", 3}, "provider_overloaded": {"failed", 3},
		"max_steps": {"stopped", 4}, "max_tokens": {"stopped", 4}, "max_time": {"stopped", 4}, "max_cost": {"stopped", 4},
		"max_tool_calls": {"stopped", 4}, "max_continuations": {"stopped", 4},
		"refusal":             {"stopped", 5},
		"loop_detected":       {"stopped", 6},
		"verification_failed": {"stopped", 7},
		"approval":            {"waiting", 8}, "question": {"waiting", 8}, "child": {"waiting", 8}, "timer": {"waiting", 8}, "result": {"waiting", 8},
		"output_truncated": {"stopped", 9}, "empty_response": {"stopped", 9}, "context_exhausted": {"stopped", 9},
		"storage_error":   {"failed", 10},
		"session_busy":    {"failed", 11},
		"end_turn_denied": {"done", 12},
		"cancelled":       {"cancelled", 130},
	}
	for name, want := range table {
		r := uzda.Reason(name)
		if got := (row{r.Outcome(), r.Exit()}); got != want || !r.Known() {
			t.Errorf("%s: %+v, known %v, want %+v", name, got, r.Known(), want)
		}
	}
	constants := []uzda.Reason{
		uzda.EndTurn, uzda.EndSequence, uzda.FinalTool, uzda.EndTurnDenied, uzda.InternalError, uzda.ToolError, uzda.ConfigError,
		uzda.ProviderFailed, uzda.Overloaded, uzda.MaxSteps, uzda.MaxTokens, uzda.MaxTime, uzda.MaxCost, uzda.MaxCalls,
		uzda.MaxContinuations, uzda.Refusal, uzda.LoopDetected, uzda.Unverified, uzda.WaitApproval, uzda.WaitQuestion, uzda.WaitChild,
		uzda.WaitTimer, uzda.WaitResult, uzda.OutputTruncated, uzda.EmptyResponse, uzda.ContextExhausted, uzda.StorageError,
		uzda.SessionBusy, uzda.CancelledByUser,
	}
	if len(constants) != len(table) {
		t.Errorf("%d reasons, the table has %d", len(constants), len(table))
	}
	for _, r := range constants {
		if _, ok := table[string(r)]; !ok {
			t.Errorf("%s is not in the table", r)
		}
	}
	if r := uzda.Reason("from tomorrow"); r.Known() || r.Exit() != 1 || r.Outcome() == "done" {
		t.Errorf("an unknown reason: %v %d %q", r.Known(), r.Exit(), r.Outcome())
	}
}

func TestOutcomeIsAnError(t *testing.T) {
	t.Parallel()
	o := &uzda.Outcome{Reason: uzda.MaxCost, Detail: "5 dollars are spent", Hint: "raise --max-cost", Err: io.ErrUnexpectedEOF}
	if got, want := o.Error(), "stopped: max_cost: 5 dollars are spent (raise --max-cost)"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if !errors.Is(o, io.ErrUnexpectedEOF) {
		t.Error("the cause is lost")
	}
	if got, want := (&uzda.Outcome{Reason: uzda.Refusal}).Error(), "stopped: refusal"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
