package modeltest

import (
	"fmt"
	"net/http"
)

// An Overflow is how a service says that a request does not fit into the window,
// where that is not how the wire's own service says it.
type Overflow string

// The ways to say it. OverflowBytes and OverflowBedrock tell no numbers.
const (
	OverflowOwn       Overflow = ""          // as the wire's own service
	OverflowAnthropic Overflow = "anthropic" // also from gateways that speak Chat Completions
	OverflowOpenAI    Overflow = "openai"
	OverflowGemini    Overflow = "gemini" // Google's compatible endpoint: the error is in a list
	OverflowBedrock   Overflow = "bedrock"
	OverflowLlama     Overflow = "llama.cpp"
	OverflowVLLM      Overflow = "vllm"
	OverflowBytes     Overflow = "413" // a proxy's page
)

// answer is the status, the type and the body of a refusal.
func (o Overflow) answer(f failure, w wire) (status int, content string, body []byte) {
	status, content = http.StatusBadRequest, "application/json"
	switch o {
	case OverflowAnthropic:
		return status, content, messages{}.failure(f)
	case OverflowOpenAI:
		f.kind = ""
		return status, content, chat{}.failure(f)
	case OverflowGemini:
		return status, content, fmt.Appendf(nil, `[{"error":{"code":400,"message":"The input token count (%d) exceeds the maximum number of tokens allowed (%d).","status":"INVALID_ARGUMENT"}}]`, f.tokens, f.window)
	case OverflowBedrock:
		return status, content, []byte(`{"message":"The model returned the following errors: Input is too long for requested model."}`)
	case OverflowLlama:
		f.kind = exceeds
		return status, content, chat{}.failure(f)
	case OverflowVLLM:
		return status, content, fmt.Appendf(nil, `{"object":"error","message":"This model's maximum context length is %d tokens. However, your request has %d input tokens.","type":"BadRequestError","param":null,"code":400}`, f.window, f.tokens)
	case OverflowBytes:
		return http.StatusRequestEntityTooLarge, "text/html", []byte("<html><head><title>413 Request Entity Too Large</title></head></html>")
	}
	return f.status, content, w.failure(f)
}
