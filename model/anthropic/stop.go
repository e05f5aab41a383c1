package anthropic

import (
	"encoding/json"

	"github.com/uzda-dev/uzda"
)

// stops are the provider's words. A compaction that pauses goes on as a pause
// does: its block is sent back, and the reply comes then.
var stopWords = map[string]uzda.StopReason{
	"end_turn":                      uzda.StopEnd,
	"tool_use":                      uzda.StopUse,
	"max_tokens":                    uzda.StopLength,
	"stop_sequence":                 uzda.StopSequence,
	"pause_turn":                    uzda.StopPause,
	"compaction":                    uzda.StopPause,
	"refusal":                       uzda.StopRefusal,
	"model_context_window_exceeded": uzda.StopContext,
}

// stop normalises why the reply ended.
func (d *decoder) stop(u uzda.Usage) (reason uzda.StopReason, detail string) {
	reason, known := stopWords[d.reason]
	switch {
	case !known:
		return uzda.StopUnknown, ""
	case d.broken && d.max > 0 && u.Output >= d.max && (reason == uzda.StopUse || reason == uzda.StopEnd):
		return uzda.StopLength, "" // cut at the cap, whatever it is called
	case reason == uzda.StopEnd && d.calls > 0:
		return uzda.StopUse, ""
	case reason == uzda.StopUse && d.calls == 0:
		return uzda.StopEnd, ""
	case reason == uzda.StopSequence:
		return reason, d.sequence
	case reason == uzda.StopRefusal:
		var r struct{ Category, Explanation string }
		_ = json.Unmarshal(d.details, &r) // null fields stay empty
		if r.Category != "" {
			return reason, r.Category
		}
		return reason, r.Explanation
	}
	return reason, ""
}
