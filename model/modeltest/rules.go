package modeltest

import "regexp"

// Rules are how strict the server is where providers differ. The zero value is
// the strictest that all of them share.
type Rules struct {
	Body    int64    // bytes of a request; default 32 MiB
	Prefill bool     // a trailing message of the assistant is welcome
	Members []string // that may stand anywhere, besides those that the provider names; "*": any
	// NineIDs: ids of calls are nine letters and digits, as Mistral's. Chat Completions.
	NineIDs bool
	// Gemini: schemas may have only the keywords that Google's endpoint knows.
	Gemini bool
	// Echo: thinking must come back inside of the loop of its tool calls, as
	// DeepSeek's and Gemini's. Chat Completions.
	Echo bool
}

func (r *Rules) body() int64 {
	if r.Body > 0 {
		return r.Body
	}
	return 32 << 20
}

// id makes the id of a call from a unique word.
func (r *Rules) id(w Wire, word string) string {
	switch {
	case w == WireMessages:
		return "toolu_" + word
	case w == WireChat && r.NineIDs:
		return word[len(word)-9:]
	}
	return "call_" + word
}

var (
	anID         = regexp.MustCompile(`^[a-zA-Z0-9_-]+$`)
	nineID       = regexp.MustCompile(`^[a-zA-Z0-9]{9}$`)
	propertyName = regexp.MustCompile(`^[a-zA-Z0-9_.-]{1,64}$`)
	toolName     = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)
)
