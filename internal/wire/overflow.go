package wire

import (
	"fmt"
	"strings"
)

// overflows are how services say that a request does not fit, by tokens or by
// bytes.
var overflows = []string{
	"prompt is too long", "prompt too long", "exceed context limit", // Anthropic, Fireworks, Ollama
	"maximum context length", "context window exceed", "room in the model's context window", "reduce the length of the messages", // OpenAI, vLLM, Mistral, DeepSeek, Groq
	"exceed the configured limit of", "reduce your prompt",
	"exceeds the available context size", "exceeds the context", "exceed the context", "too large to process", // llama-server
	"exceed context window of",                              // llama-cpp-python
	"input token count", "maximum number of tokens allowed", // Google
	"maximum prompt length",                      // xAI
	"total length of all messages is too long",   // Perplexity
	"input tokens exceeded", "input is too long", // Bedrock
	"too many total text bytes", "number of input tokens exceeds maximum length",
	"longer than the maximum model length", "context length is only", "reduce the length of the input", // vLLM
	"longer than the model's context length",                   // SGLang
	"`inputs` tokens",                                          // Hugging Face
	"exceeded model token limit",                               // Moonshot
	"prompt exceeds max length",                                // Zhipu
	"range of input length should be",                          // Qwen
	"exceed max message tokens", "exceeds the maximum length ", // Volcengine
	"cannot exceed the total tokens limit",                     // watsonx
	"too many tokens: total",                                   // Cohere
	"greater than the context length", "context the overflows", // LM Studio
	"prompt token count of", // Copilot
	"exceeded max context length", "exceeds maximum context length", "context length exceeded", "context_length_exceeded",
	"exceeds the model's context", "exceeds the model's maximum context", "contextwindowexceedederror", "context window full",
	"too many input tokens", "max_prompt_tokens", "model_context_window_exceeded",
	"request payload size exceeds", "request body too large", "request body is too large", "payload too large", "request entity too large",
}

// paces are words of limits of how much may be sent in a time: a request that is
// over one of them may pass later as it is.
var paces = []string{"per minute", "per min", "(tpm)", "/min", "per hour", "per day", "rate limit reached", "rate limit exceeded"}

// How services say how many tokens the input has, and how many may be sent, the
// more telling first: # is a number of it, and several are added up; ~ is another
// number. Each begins with words, so that it is found fast.
var (
	inputs = []string{
		"too long: # tokens", "too long: #, ", "context limit: # + ~ > ~", // Anthropic, Fireworks
		"tokens (# in the messages", "tokens (# in your prompt", "messages resulted in # tokens", // OpenAI, DeepSeek, vLLM
		"tokens (# of text input, # of tool input", "tokens (# of text input, # of image input", "tokens (# of text input", // OpenRouter
		"your request has # input", "prompt contains at least # input", "prompt contains # input", "you passed # input", "prompt (length #)", // vLLM
		"tokens: # tokens from the input", "input (# tokens) is longer", // SGLang
		"request (# tokens) exceeds", "input (# tokens) is too large", "requested tokens (#) exceed", // llama.cpp
		"token count (#) exceeds", "request input token count: #", // Google, Bedrock's Titan
		"request contains # tokens",                                                                   // xAI
		"prompt contains # tokens and ~",                                                              // Mistral
		"given: # `inputs` tokens",                                                                    // Hugging Face, Together
		"prompt cannot exceed ~ - received #",                                                         // Cohere
		"keep the first # tokens",                                                                     // LM Studio
		"prompt token count of # exceeds",                                                             // Copilot
		"current length is # while",                                                                   // Cerebras
		"input length # exceeds",                                                                      // Volcengine
		"number of input tokens # cannot exceed",                                                      // watsonx
		"you requested a total of # tokens", "you requested about # tokens", "you requested # tokens", // the reply is in it
	}
	windows = []string{
		"tokens > # max", "context limit: ~ + ~ > #",
		"context length is # tokens", "context length is only # tokens", "context length of # tokens", "context length of only # tokens", "context length: #",
		"context length (# tokens", "maximum model length of #", "configured limit of # tokens", "too large for model with # maximum context",
		"context size (# tokens", "context window of #", "tokens allowed (#)", "tokens allowed #", "max input tokens: #",
		"prompt length is # but", "must be <= #", "prompt cannot exceed #", "count of ~ exceeds the limit of #", "while limit is #",
		"model token limit: #", "input length should be [~, #]", "exceeds the maximum length #", "total tokens limit #",
		"max size: # tokens", "(tpm): limit #, requested",
	}
)

// sizes are the tokens that a text in lower case says of a request that does not
// fit: those of its input, and those that may be sent. 0: it does not say.
func (r *report) sizes(text string) (input, window int) {
	first := func(known int, patterns []string) int {
		for _, p := range patterns {
			if known > 0 {
				break
			}
			known = amount(text, p)
		}
		return known
	}
	return first(r.prompt, inputs), first(r.slot, windows)
}

// amount is the number of a pattern in a text, 0 where it does not stand there.
func amount(text, pattern string) int {
	words := pattern[:strings.IndexAny(pattern, "#~")]
	for {
		_, after, found := strings.Cut(text, words)
		if !found {
			return 0
		}
		if n := follow(after, pattern[len(words):]); n > 0 {
			return n
		}
		text = after
	}
}

// follow is the number of a pattern at the beginning of a text.
func follow(text, pattern string) (sum int) {
	for ; pattern != ""; pattern = pattern[1:] {
		if c := pattern[0]; c != '#' && c != '~' {
			if text == "" || text[0] != c {
				return 0
			}
			text = text[1:]
			continue
		}
		n, size := figure(text)
		if size == 0 {
			return 0
		}
		if pattern[0] == '#' {
			sum += n
		}
		text = text[size:]
	}
	return sum
}

// figure is the number of tokens at the beginning of a text and its length: digits,
// also in groups of three. A number with a unit ("200k", "5.5") is none, and neither
// is one that no window has.
func figure(text string) (n, size int) {
	for size < len(text) {
		switch c := text[size]; {
		case digit(c):
			if n = n*10 + int(c-'0'); n >= 1e9 {
				return 0, 0
			}
		case size > 0 && strings.IndexByte(",_.", c) >= 0 && digits(text[size+1:]) > 0:
			if c == '.' || digits(text[size+1:]) != 3 {
				return 0, 0
			}
		case c == '%' || c >= 'a' && c <= 'z' || c >= 0x80:
			return 0, 0
		default:
			return n, size
		}
		size++
	}
	return n, size
}

// digits is how many digits a text begins with.
func digits(text string) (n int) {
	for n < len(text) && digit(text[n]) {
		n++
	}
	return n
}

func digit(c byte) bool { return '0' <= c && c <= '9' }

// larger says how the request comes to fit: a local server can have a larger
// window, and a reply that is reserved too large leaves no room for the prompt.
func larger(r *report, text string) string {
	if r.slot > 0 {
		return fmt.Sprintf("the server's window has %d tokens a slot: start llama-server with a larger -c, or with fewer slots (-np)", r.slot)
	}
	if input, window := r.sizes(text); input > 0 && input < window/2 {
		return fmt.Sprintf("the prompt has %d tokens of a window of %d: the reply is reserved too large, lower max_tokens", input, window)
	}
	return ""
}
