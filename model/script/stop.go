package script

import "github.com/uzda-dev/uzda"

// stops maps the words of all providers to ours.
var stops = map[string]uzda.StopReason{
	"end_turn": uzda.StopEnd, "stop": uzda.StopEnd,
	"tool_use": uzda.StopUse, "tool_calls": uzda.StopUse, "function_call": uzda.StopUse,
	"max_tokens": uzda.StopLength, "length": uzda.StopLength,
	"stop_sequence": uzda.StopSequence,
	"pause":         uzda.StopPause, "pause_turn": uzda.StopPause,
	"refusal": uzda.StopRefusal, "content_filter": uzda.StopRefusal,
	"context_exceeded": uzda.StopContext, "model_context_window_exceeded": uzda.StopContext,
}

// reason normalises a provider's word. A complete reply with calls is tool use,
// also where the provider says that it stopped.
func reason(word string, calls bool) uzda.StopReason {
	r, known := stops[word]
	switch {
	case word == "" && calls, calls && r == uzda.StopEnd:
		return uzda.StopUse
	case word == "":
		return uzda.StopEnd
	case !known:
		return uzda.StopUnknown
	}
	return r
}
