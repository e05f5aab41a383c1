package agent

import (
	"fmt"
	"strings"

	"github.com/uzda-dev/uzda"
)

var texts = map[uzda.Code]string{
	uzda.CodeCancelled:      "Cancelled by the user.",
	uzda.CodeOutcomeUnknown: "The call began, but its outcome is unknown: it may or may not have taken effect. Find out before you repeat it.",
	uzda.CodeNotStarted:     "Not started.",
	uzda.CodeTimeout:        "The time for this turn is used up, so the call was stopped.",
	uzda.CodeFailed:         "The call failed.",
}

// refusal is the result of a use that did not run, or whose outcome nobody knows.
func refusal(u Open, code uzda.Code) uzda.ToolResult {
	res := uzda.ToolResult{Use: u.ID, IsError: true, Code: code, Effect: uzda.EffectNone}
	text := texts[code]
	if code == uzda.CodeDenied {
		text = "Denied" + reasonOf(u) + ". Do not try the same again; go on without it, or say what you need."
	}
	if u.Started != nil {
		res.Effect = unsure(u.Started.Effects)
	}
	res.Blocks = uzda.Say(text)
	return res
}

func reasonOf(u Open) string {
	v := uzda.Verdict{}
	if u.Judged != nil {
		v = u.Judged.Verdict
	}
	if u.Answer != nil {
		v = u.Answer.Verdict
		v.Reason = orElse(v.Reason, "a person said no")
	}
	if v.Reason == "" {
		return ""
	}
	return ": " + v.Reason
}

// unknownTool names what there is instead.
func (r *run) unknownTool(u Open) uzda.ToolResult {
	res := refusal(u, uzda.CodeUnknownTool)
	names := sortedKeys(r.tools)
	text := fmt.Sprintf("There is no tool named %q.", uzda.Clip(u.Name, 100))
	if near := uzda.Nearest(u.Name, names, 3); len(near) > 0 {
		text += " Did you mean " + strings.Join(near, " or ") + "?"
	} else if len(names) > 0 {
		text += " There are: " + uzda.Clip(strings.Join(names, ", "), 1000) + "."
	} else {
		text += " There are no tools; answer in words."
	}
	res.Blocks = uzda.Say(text)
	return res
}

func unsure(e uzda.Effects) uzda.Effect {
	if e.ReadOnly {
		return uzda.EffectNone
	}
	return uzda.EffectUnknown
}
