package wire

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/uzda-dev/uzda"
)

// specials are in order: a text that could be read in two ways stands first with
// the narrower one.
var specials = []special{
	// Local servers say with a 500 what is wrong with the request.
	{code: "context", any: []string{"no user query found", "no user message found"}, again: uzda.AgainNo,
		hint: "the server cut the prompt to its window, and the question is gone: give it a larger one (Ollama: OLLAMA_CONTEXT_LENGTH or num_ctx; llama-server: -c)"},
	{code: "invalid_request", any: []string{"requires --jinja"}, again: uzda.AgainNo, hint: "start llama-server with --jinja"},
	{code: "invalid_request", any: []string{"jinja exception", "jinja template", "error rendering prompt", "chat template", "template: :"}, from: []int{400, 500}, again: uzda.AgainNo,
		hint: "the model's chat template refuses these messages: a template that knows tools is needed (--chat-template-file), or the window is so small that the prompt was cut"},
	{code: "invalid_request", any: []string{"does not support tools"}, again: uzda.AgainNo, hint: "use a model that can call tools"},
	{code: "invalid_request", all: []string{"requires more system memory"}, again: uzda.AgainNo, hint: "use a smaller model or a smaller window (num_ctx)"},
	{code: "overloaded", any: []string{"loading model"}, from: []int{500, 503}, wait: 5 * time.Second, hint: "the server is loading the model"},
	{code: "not_found", all: []string{"model", "not found"}, any: []string{"' not found", "\" not found"}, from: []int{0, 404}, tell: pull},
	{code: "context", all: []string{"increase the physical batch size"}, hint: "start llama-server with a larger -ub: a text of this length must fit in one batch"},

	// Money.
	{code: "quota", any: []string{"credit balance is too low", "insufficient balance", "insufficient credit", "requires more credits", "can only afford",
		"reached your specified api usage limits", "monthly spending limit", "spending limit", "spend limit", "billing hard limit", "add credits", "free-models-per-day",
		"exceeded your monthly included credits", "account is not active, please check your billing", "arrears", "out of credits", "run out of credits"}},

	{code: "quota", word: "perday", from: []int{0, 429}, hint: "the quota of the day is used up: wait for the next, or raise it in the provider's console"},
	{code: "quota", word: "quota_limit_0", hint: "this key has no quota for this model: enable billing, or use another model"},

	// A bad key, said with a 400.
	{code: "auth", any: []string{"incorrect api key", "api key not valid", "invalid api key", "invalid x-api-key", "api key is invalid"}},
	{code: "invalid_request", any: []string{"requires moderation"}, from: []int{403}, again: uzda.AgainNo, hint: "the service's moderation has flagged the input"},
	{code: "invalid_request", word: "tool_use_failed", again: uzda.AgainYes, hint: "the model wrote a call that does not fit the tool; another try may do better"},

	// A single request that is over a limit of tokens a minute never passes.
	{code: "context", any: []string{"request too large for"},
		hint: "this one request is over what the key may send in a minute: make it shorter, or raise the limit in the provider's console"},
	{code: "context", any: overflows, not: paces, from: []int{0, 400, 413, 422, 429, 500}, tell: larger},
}

var pullable = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)\bmodel ["']([^"'\s]{1,200})["'] not found`)
})

// pull says how a model comes to Ollama, whose error is a plain string.
func pull(r *report, _ string) string {
	m := pullable().FindStringSubmatch(strings.Join(r.texts, "\n"))
	if m == nil {
		return ""
	}
	hint := fmt.Sprintf("`ollama pull %s` fetches it; `ollama list` shows what is there", m[1])
	if !r.plain {
		hint = "check the name of the model; with Ollama, " + hint
	}
	return hint
}
