package hook

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// answer is what a hook says, in the words of the protocol.
type answer struct {
	Continue   *bool    `json:"continue"`
	StopReason string   `json:"stopReason"`
	Message    string   `json:"systemMessage"`
	Decision   string   `json:"decision"` // block; approve says nothing
	Reason     string   `json:"reason"`
	Context    string   `json:"additionalContext"`
	Specific   specific `json:"hookSpecificOutput"`

	plain string // what it printed that is no JSON
}

type specific struct {
	Decision string          `json:"permissionDecision"`
	Reason   string          `json:"permissionDecisionReason"`
	Context  string          `json:"additionalContext"`
	Input    json.RawMessage `json:"updatedInput"`
	Output   json.RawMessage `json:"updatedToolOutput"`
}

// decides finds a decision in what is no JSON as a whole.
var decides = regexp.MustCompile(`"(decision|permissionDecision|hookSpecificOutput|continue)"\s*:`)

// read reads what a hook printed that went well. Only what begins like an object is
// JSON; anything else is words. Words with a decision among them are a mistake: it
// was meant to count, and a guard that is not heard guards nothing.
func read(stdout string) (answer, error) {
	text := strings.TrimSpace(strings.TrimPrefix(stdout, "\ufeff"))
	if !strings.HasPrefix(text, "{") {
		if key := decides.FindString(text); key != "" {
			return answer{}, fmt.Errorf("its output is not the JSON that it should be: other words stand before the object with %s; let it print the object alone", strings.TrimRight(key, ": \t\n"))
		}
		return answer{plain: text}, nil
	}
	var a answer
	if err := json.Unmarshal([]byte(text), &a); err != nil {
		return answer{}, fmt.Errorf("its output is not the JSON that it should be: %w", err)
	}
	switch a.Decision {
	case "", "block", "approve":
	default:
		return answer{}, fmt.Errorf(`its decision is %q; want "block" or none`, a.Decision)
	}
	switch a.Specific.Decision {
	case "", "allow", "deny", "ask", "defer":
	default:
		return answer{}, fmt.Errorf(`its permissionDecision is %q; want allow, deny or ask`, a.Specific.Decision)
	}
	return a, nil
}

// blocks says whether the hook forbids what it was asked about, and why.
func (a answer) blocks() (why string, yes bool) {
	switch {
	case a.Specific.Decision == "deny":
		why = orElse(a.Specific.Reason, a.Reason)
	case a.Decision == "block":
		why = orElse(a.Reason, a.Specific.Reason)
	default:
		return "", false
	}
	return orElse(why, "it gives no reason"), true
}

// context is what the model is to read besides. Words alone are that where nothing
// else could be meant by them.
func (a answer) context(words bool) string {
	text := orElse(a.Specific.Context, a.Context)
	if text == "" && words {
		text = a.plain
	}
	return text
}

func (s specific) rewrites() bool { return len(s.Input) > 0 && string(s.Input) != "null" }

func orElse(a, b string) string {
	if strings.TrimSpace(a) == "" {
		return b
	}
	return a
}

var errTooMuch = errors.New("it printed more than a megabyte")
