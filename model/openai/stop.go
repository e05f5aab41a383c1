package openai

import (
	"io"
	"strings"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/internal/raw"
)

// A finish is why the reply ended, in the service's words.
type finish struct{ word, native string }

// read takes what a choice says. What says that a reply is not whole stays.
func (f *finish) read(c *raw.Object) {
	if w := text(c.Get("finish_reason")); w != "" && (f.word == "" || reasons[strings.ToLower(f.word)] == uzda.StopEnd || reasons[strings.ToLower(f.word)] == uzda.StopUse) {
		f.word = w
	}
	if w := text(c.Get("native_finish_reason")); w != "" {
		f.native = w
	}
}

// reasons are the words of the services.
var reasons = map[string]uzda.StopReason{
	"stop": uzda.StopEnd, "eos": uzda.StopEnd, "eos_token": uzda.StopEnd, "end_turn": uzda.StopEnd, "complete": uzda.StopEnd, "completed": uzda.StopEnd,
	"stop_sequence": uzda.StopSequence,
	"length":        uzda.StopLength, "max_tokens": uzda.StopLength, "max_output_tokens": uzda.StopLength, "max_completion_tokens": uzda.StopLength,
	"model_length": uzda.StopContext, "model_context_window_exceeded": uzda.StopContext,
	"tool_calls": uzda.StopUse, "function_call": uzda.StopUse, "tool_use": uzda.StopUse, "tool_call": uzda.StopUse,
	"content_filter": uzda.StopRefusal, "refusal": uzda.StopRefusal, "safety": uzda.StopRefusal, "recitation": uzda.StopRefusal, "sensitive": uzda.StopRefusal,
	"blocklist": uzda.StopRefusal, "prohibited_content": uzda.StopRefusal, "guardrail_intervened": uzda.StopRefusal,
}

// breaks are words for a reply that the service did not finish.
var breaks = map[string]string{
	"error": "network", "abort": "network", "aborted": "network", "cancelled": "network", "canceled": "network", "network_error": "network",
	"insufficient_system_resource": "overloaded",
}

// stop says why the reply ended, and whether it did.
func (r *reply) stop(used uzda.Usage, known bool) (uzda.Stop, error) {
	word := r.finish.word
	if word == "" {
		word = r.finish.native
	}
	calls, bad := 0, false
	for _, c := range r.calls.list {
		if c.other() {
			continue
		}
		calls++
		if _, came := c.input(); came != "" {
			bad = true
		}
	}
	s := uzda.Stop{Raw: word}
	reason, ok := reasons[strings.ToLower(word)]
	code, broke := breaks[strings.ToLower(word)]
	switch {
	case word == "" && r.NoFinish && r.done && known && !bad && (calls > 0 || r.text.all.Len() > 0):
		reason = uzda.StopEnd
	case word == "":
		return s, &uzda.ProviderError{Code: "network", Message: "the stream ended before the reply did: it has no finish reason", Err: io.ErrUnexpectedEOF}
	case broke:
		if r.began && code == "overloaded" {
			code = "cut"
		}
		return s, &uzda.ProviderError{Code: code, Message: "the service broke the reply off: " + word}
	case !ok:
		reason = uzda.StopUnknown
	}
	if t := r.fold.Text("refusal"); t != nil && t.Len() > 0 && reason != uzda.StopLength {
		reason, s.Detail = uzda.StopRefusal, "refusal"
	} else if reason == uzda.StopRefusal {
		s.Detail = strings.ToLower(word)
	}
	if reason == uzda.StopEnd || reason == uzda.StopUse {
		switch {
		case bad && known && r.q.max > 0 && used.Output >= r.q.max:
			reason = uzda.StopLength // whatever the service called it
		case calls > 0:
			reason = uzda.StopUse
		default:
			reason = uzda.StopEnd
		}
	}
	s.Reason = reason
	return s, nil
}
