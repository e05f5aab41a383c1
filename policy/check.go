package policy

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"github.com/uzda-dev/uzda"
)

// A Ruling is a verdict as "uzda policy check" prints it.
type Ruling struct {
	Verdict uzda.Decision `json:"verdict"`
	Reason  string        `json:"reason"`
	Rule    string        `json:"rule"`   // "": no rule gave it
	Origin  string        `json:"origin"` // of the rule, else FromEffects or FromMode
}

// Check says what a gate would decide for one use. It runs nothing. A gate that
// errs denies, as it does in a session. The error is about the input alone.
func Check(ctx context.Context, g uzda.Gate, spec uzda.ToolSpec, input json.RawMessage, dir string) (Ruling, error) {
	if input = bytes.TrimSpace(input); len(input) == 0 {
		input = json.RawMessage("{}")
	}
	if input[0] != '{' || !json.Valid(input) {
		return Ruling{}, fmt.Errorf(`check %s: the input %q is no JSON object; write it as '{"command":"ls"}'`, spec.Name, uzda.Clip(string(input), 80))
	}
	v, err := g.Check(ctx, uzda.Action{Use: uzda.Use{Name: spec.Name, Input: input, Dir: dir}, Spec: spec, Dir: dir})
	if err != nil {
		v = uzda.Verdict{Decision: uzda.Deny, Reason: "the gate failed: " + err.Error(), Origin: FromMode}
	}
	return Ruling{Verdict: v.Decision, Reason: v.Reason, Rule: v.Rule, Origin: v.Origin}, nil
}
