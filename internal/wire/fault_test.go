package wire_test

import (
	"net/http"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/internal/wire"
)

// now is the time of the tests of hints.
var now = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// header makes headers of "Name: value" lines.
func header(lines ...string) http.Header {
	h := http.Header{}
	for _, l := range lines {
		name, value, _ := strings.Cut(l, ": ")
		h.Set(name, value)
	}
	return h
}

// A fault is a reply that failed, and what is to be made of it.
type fault struct {
	name   string
	status int
	header http.Header
	body   string
	code   string
	again  bool          // may be sent again
	wait   time.Duration // asked for
	says   string        // part of the message
	hint   string        // part of the hint
}

var faults = []fault{
	// Messages. peer:edge-context-length quirk:12
	{name: "anthropic bad request", status: 400, body: `{"type":"error","error":{"type":"invalid_request_error","message":"messages.1: roles must alternate"}}`, code: "invalid_request", says: "roles must alternate"},
	{name: "anthropic key, null request id", status: 401, body: `{"type":"error","error":{"type":"authentication_error","message":"no such key"},"request_id":null}`, code: "auth", hint: "key is right"},
	{name: "anthropic billing", status: 402, body: `{"type":"error","error":{"type":"billing_error","message":"pay first"}}`, code: "quota", hint: "add credit"},
	{name: "anthropic credit as 400", status: 400, body: `{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low to use the API."}}`, code: "quota"},
	{name: "anthropic own limit as 400", status: 400, body: `{"type":"error","error":{"type":"invalid_request_error","message":"You have reached your specified API usage limits. Access returns on 2026-12-01."}}`, code: "quota"},
	{name: "anthropic enforced limit", status: 429, header: header("Retry-After: 5"), body: `{"type":"error","error":{"type":"rate_limit_error","message":"limit","details":{"error_code":"enforced_spend_limit_reached"}}}`, code: "quota", wait: 5 * time.Second},
	{name: "anthropic contract limit", status: 429, body: `{"type":"error","error":{"type":"rate_limit_error","message":"limit","details":{"error_code":"contract_spend_limit_reached"}}}`, code: "quota"},
	{name: "anthropic permission", status: 403, body: `{"type":"error","error":{"type":"permission_error","message":"not for this workspace"}}`, code: "auth"},
	{name: "anthropic model", status: 404, body: `{"type":"error","error":{"type":"not_found_error","message":"model: claude-nine"}}`, code: "not_found", hint: "name of the model"},
	{name: "anthropic conflict", status: 409, body: `{"type":"error","error":{"type":"conflict_error","message":"in flight"}}`, code: "unknown", again: true},
	{name: "anthropic too large", status: 413, body: `{"type":"error","error":{"type":"request_too_large","message":"over 32 MB"}}`, code: "context"},
	{name: "anthropic too long", status: 400, header: header("X-Should-Retry: true"), body: `{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 1200000 tokens > 1000000 maximum"}}`, code: "context"},
	{name: "anthropic prompt and reply", status: 400, body: "{\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\",\"message\":\"input length and `max_tokens` exceed context limit: 190001 + 20000 > 200000, decrease one\"}}", code: "context", hint: "compacted"},
	{name: "anthropic reply too large", status: 400, body: "{\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\",\"message\":\"input length and `max_tokens` exceed context limit: 900 + 200000 > 200000, decrease one\"}}", code: "context", hint: "lower max_tokens"},
	{name: "anthropic max_tokens alone", status: 400, body: `{"type":"error","error":{"type":"invalid_request_error","message":"max_tokens: 900000 > 128000, which is the maximum allowed number of output tokens for claude-nine"}}`, code: "invalid_request"},
	{name: "anthropic rate", status: 429, header: header("Retry-After: 17", "Anthropic-Organization-Id: o"), body: `{"type":"error","error":{"type":"rate_limit_error","message":"too fast"}}`, code: "rate_limit", again: true, wait: 17 * time.Second},
	{name: "anthropic rate without a hint", status: 429, header: header("Anthropic-Organization-Id: o"), body: `{"type":"error","error":{"type":"rate_limit_error","message":"too fast"}}`, code: "rate_limit", hint: "limit of spending"},
	{name: "gateway rate without a hint", status: 429, body: `{"type":"error","error":{"type":"rate_limit_error","message":"too fast"}}`, code: "rate_limit", again: true},
	{name: "anthropic internal", status: 500, body: `{"type":"error","error":{"type":"api_error","message":"sorry"}}`, code: "unknown", again: true},
	{name: "anthropic internal, no retry", status: 500, header: header("X-Should-Retry: false"), body: `{"type":"error","error":{"type":"api_error","message":"sorry"}}`, code: "unknown"},
	{name: "anthropic timeout", status: 504, body: `{"type":"error","error":{"type":"timeout_error","message":"slow"}}`, code: "unknown", again: true},
	{name: "anthropic overload", status: 529, header: header("Retry-After: 2"), body: `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, code: "overloaded", again: true, wait: 2 * time.Second},

	// OpenAI
	{name: "openai quota", status: 429, header: header("Retry-After: 1", "X-Should-Retry: true"), body: `{"error":{"message":"no money","type":"insufficient_quota","param":null,"code":"insufficient_quota"}}`, code: "quota", wait: time.Second},
	{name: "openai hard limit", status: 400, body: `{"error":{"message":"Billing hard limit has been reached.","type":"invalid_request_error","param":null,"code":"billing_hard_limit_reached"}}`, code: "quota"},
	{name: "openai tokens", status: 429, header: header("X-Ratelimit-Remaining-Requests: 4999", "X-Ratelimit-Reset-Requests: 12ms", "X-Ratelimit-Limit-Tokens: 30000", "X-Ratelimit-Remaining-Tokens: 0", "X-Ratelimit-Reset-Tokens: 6m0s"),
		body: `{"error":{"message":"Rate limit reached on tokens per min (TPM): Limit 30000, Used 30000, Requested 900. Please try again in 1.8s.","type":"tokens","param":null,"code":"rate_limit_exceeded"}}`, code: "rate_limit", again: true, wait: 6 * time.Minute},
	{name: "openai requests", status: 429, body: `{"error":{"message":"Rate limit reached on requests per day (RPD). Please try again in 7m12s.","type":"requests","param":null,"code":"rate_limit_exceeded"}}`, code: "rate_limit", again: true, wait: 7*time.Minute + 12*time.Second},
	{name: "openai one request over the minute", status: 429, body: `{"error":{"message":"Request too large for gpt-nine on tokens per min (TPM): Limit 30000, Requested 40000.","type":"tokens","code":"rate_limit_exceeded"}}`, code: "context", hint: "in a minute"},
	{name: "openai overflow", status: 400, body: `{"error":{"message":"Your input exceeds the context window.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}`, code: "context"},
	{name: "openai reply over its limit", status: 400, body: `{"error":{"message":"max_tokens is too large: 90000. This model supports at most 16384 completion tokens.","type":"invalid_request_error","code":"invalid_value"}}`, code: "invalid_request"},
	{name: "openai key", status: 401, body: `{"error":{"message":"Incorrect API key provided.","type":"invalid_request_error","param":null,"code":"invalid_api_key"}}`, code: "auth"},
	{name: "openai no key", status: 401, body: `{"error":{"message":"Send a header.","type":"invalid_request_error","param":null,"code":null}}`, code: "auth"},
	{name: "openai model", status: 404, body: "{\"error\":{\"message\":\"The model `gpt-nine` does not exist.\",\"type\":\"invalid_request_error\",\"param\":null,\"code\":\"model_not_found\"}}", code: "not_found"},
	{name: "openai country", status: 403, body: `{"error":{"code":"unsupported_country_region_territory","message":"not here","param":null,"type":"request_forbidden"}}`, code: "auth"},
	{name: "openai busy", status: 503, body: `{"error":{"message":"That model is busy","type":"server_error","code":null}}`, code: "overloaded", again: true},
	{name: "openai broke", status: 500, body: `{"error":{"message":"The server had an error","type":"server_error"}}`, code: "unknown", again: true},

	// Azure. quirk:28
	{name: "azure two hints", status: 429, header: header("Retry-After: 1", "Retry-After-Ms: 0"), body: `{"error":{"code":"RateLimitReached","message":"over","details":"over"}}`, code: "rate_limit", again: true, wait: time.Second},
	{name: "azure ms", status: 429, header: header("Retry-After: 1", "Retry-After-Ms: 2500"), body: `{"error":{"code":"429","message":"Please retry after 2 seconds."}}`, code: "rate_limit", again: true, wait: 2500 * time.Millisecond},
	{name: "azure deployment", status: 404, body: `{"error":{"code":"DeploymentNotFound","message":"no such deployment"}}`, code: "not_found"},
	{name: "azure filter", status: 400, body: `{"error":{"message":"filtered","type":null,"param":"prompt","code":"content_filter","status":400,"innererror":{"code":"ResponsibleAIPolicyViolation"}}}`, code: "invalid_request"},

	// Gemini. quirk:31 quirk:35
	{name: "gemini minute", status: 429, body: `{"error":{"code":429,"message":"Quota exceeded. Please retry in 48.9s.","status":"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[{"quotaId":"InputTokensPerModelPerMinute","quotaValue":"1000"}]},{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"48s"}]}}`,
		code: "rate_limit", again: true, wait: 48900 * time.Millisecond},
	{name: "gemini day", status: 429, body: `{"error":{"code":429,"message":"Quota exceeded.","status":"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[{"quotaId":"GenerateRequestsPerDayPerProjectPerModel-FreeTier"}]},{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"34.07s"}]}}`,
		code: "quota", wait: 34070 * time.Millisecond, hint: "quota of the day"},
	{name: "gemini array", status: 503, body: "[{\n\"error\":{\"code\":503,\"message\":\"The model is overloaded.\",\"status\":\"UNAVAILABLE\"}}\n]", code: "overloaded", again: true, says: "The model is overloaded."},
	{name: "gemini key as 400", status: 400, body: `{"error":{"code":400,"message":"API key not valid.","status":"INVALID_ARGUMENT","details":[{"reason":"API_KEY_INVALID"}]}}`, code: "auth"},
	{name: "gemini as a stream", status: 404, header: header("Content-Type: text/event-stream"), body: `{"error":{"code":404,"message":"models/x is not found","status":"NOT_FOUND"}}`, code: "not_found"},
	{name: "gemini as a real stream", status: 500, header: header("Content-Type: text/event-stream"), body: "event: error\ndata: {\"error\":{\"code\":500,\"message\":\"inside\",\"status\":\"INTERNAL\"}}\n\n", code: "unknown", again: true, says: "inside"},
	{name: "gemini overflow", status: 400, body: `{"error":{"code":400,"message":"The input token count (5) exceeds the maximum number of tokens allowed (4).","status":"INVALID_ARGUMENT"}}`, code: "context"},
	{name: "gemini cancelled", status: 499, body: `{"error":{"code":499,"message":"cancelled","status":"CANCELLED"}}`, code: "unknown", again: true},

	// OpenRouter. quirk:20
	{name: "openrouter rate", status: 429, header: header("Date: " + now.Format(http.TimeFormat)), body: `{"error":{"message":"Rate limit exceeded","code":429,"metadata":{"headers":{"X-RateLimit-Limit":"1","X-RateLimit-Remaining":"0","X-RateLimit-Reset":"1796040030000"},"provider_name":null}},"user_id":"u"}`,
		code: "rate_limit", again: true, wait: 30 * time.Second},
	{name: "openrouter rate, number", status: 429, body: `{"error":{"message":"slow","code":429,"metadata":{"headers":{"X-RateLimit-Limit":1,"X-RateLimit-Remaining":0,"X-RateLimit-Reset":1796040030000}}}}`, code: "rate_limit", again: true, wait: 30 * time.Second},
	{name: "openrouter day", status: 429, body: `{"error":{"message":"Rate limit exceeded: free-models-per-day. Add credits","code":429}}`, code: "quota"},
	{name: "openrouter credits", status: 402, body: `{"error":{"message":"This request requires more credits, or fewer max_tokens.","code":402}}`, code: "quota"},
	{name: "openrouter upstream", status: 429, body: `{"error":{"message":"Provider returned error","code":429,"metadata":{"raw":"the model is rate-limited upstream","provider_name":"Google"}}}`, code: "rate_limit", again: true, says: "rate-limited upstream (from Google)"},
	{name: "openrouter upstream JSON", status: 502, body: `{"error":{"message":"Provider returned error","code":502,"metadata":{"raw":"{\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}","provider_name":"Anthropic"}}}`, code: "overloaded", again: true, says: "Provider returned error: Overloaded"},
	{name: "openrouter moderation", status: 403, body: `{"error":{"code":403,"message":"The chosen model requires moderation and your input was flagged","metadata":{"reasons":["x"]}}}`, code: "invalid_request", hint: "moderation"},

	// Groq. quirk:21
	{name: "groq wait in the text", status: 429, body: `{"error":{"message":"Rate limit reached on tokens per day (TPD). Please try again in 7m12.5s. Visit us.","type":"tokens","code":"rate_limit_exceeded"}}`, code: "rate_limit", again: true, wait: 7*time.Minute + 12500*time.Millisecond},
	{name: "groq tool use", status: 400, body: `{"error":{"message":"Failed to call a function.","type":"invalid_request_error","code":"tool_use_failed","failed_generation":"<tool>"}}`, code: "invalid_request", again: true, hint: "does not fit the tool"},
	{name: "groq too large", status: 413, body: `{"error":{"message":"Request too large for model x on tokens per minute (TPM): Limit 6000, Requested 7000.","type":"tokens","code":"rate_limit_exceeded"}}`, code: "context"},
	{name: "groq flex", status: 498, body: `{"error":{"message":"flex is full"}}`, code: "overloaded", again: true},

	// Mistral has two shapes. quirk:23
	{name: "mistral detail", status: 401, body: `{"detail":"Unauthorized"}`, code: "auth", says: "Unauthorized"},
	{name: "mistral flat", status: 400, body: `{"object":"error","message":"Invalid model: x","type":"invalid_model","param":null,"code":"1500","raw_status_code":400}`, code: "not_found"},
	{name: "mistral validation", status: 422, body: `{"object":"error","message":{"detail":[{"type":"missing","loc":["body","model"],"msg":"Field required"}]},"type":"invalid_request_error"}`, code: "invalid_request", says: "Field required"},
	{name: "mistral rate", status: 429, body: `{"message":"Requests rate limit exceeded"}`, code: "rate_limit", again: true},
	{name: "mistral overflow", status: 400, body: `{"object":"error","message":"Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length","type":"invalid_request_prompt"}`, code: "context"},

	// DeepSeek, with its octet stream. quirk:30
	{name: "deepseek octets", status: 400, header: header("Content-Type: application/octet-stream"), body: `{"error":{"message":"This model's maximum context length is 65536 tokens. However, you requested 70000 tokens (69000 in the messages, 1000 in the completion).","type":"invalid_request_error","code":"invalid_request_error"}}`, code: "context", hint: "compacted"},
	{name: "deepseek balance", status: 402, body: `{"error":{"message":"Insufficient Balance","type":"unknown_error","code":"invalid_request_error"}}`, code: "quota"},

	// xAI's error is a string, and a bad key a 400. quirk:26
	{name: "xai key", status: 400, body: `{"code":"invalid-argument","error":"Incorrect API key provided: xa***."}`, code: "auth"},
	{name: "xai spent", status: 403, body: `{"code":"The caller does not have permission","error":"Your team has used all available credits or reached its monthly spending limit."}`, code: "quota"},
	{name: "xai overflow", status: 400, body: `{"code":"invalid-argument","error":"This model's maximum prompt length is 131072 but the request contains 537812 tokens."}`, code: "context"},

	// Local servers.
	{name: "llama overflow", status: 400, body: `{"error":{"code":400,"message":"the request exceeds the available context size. try increasing the context size","type":"exceed_context_size_error","n_prompt_tokens":9000,"n_ctx":4096}}`, code: "context", hint: "window has 4096 tokens a slot"},
	{name: "llama overflow, in words only", status: 400, body: `{"error":{"code":400,"message":"too much","type":"exceed_context_size_error","n_ctx":1e400}}`, code: "context"},
	{name: "llama loads", status: 503, body: `{"error":{"code":503,"message":"Loading model","type":"unavailable_error"}}`, code: "overloaded", again: true, wait: 5 * time.Second, hint: "loading"},
	{name: "llama question gone", status: 500, body: `{"error":{"code":500,"message":"jinja exception: No user query found in messages.","type":"server_error"}}`, code: "context", hint: "OLLAMA_CONTEXT_LENGTH"}, // case:U04
	{name: "llama template", status: 500, body: `{"error":{"code":500,"message":"Jinja Exception: Conversation roles must alternate","type":"server_error"}}`, code: "invalid_request", hint: "template"},          // case:U04
	{name: "llama jinja", status: 500, body: `{"error":{"code":500,"message":"tools param requires --jinja flag","type":"server_error"}}`, code: "invalid_request", hint: "--jinja"},
	{name: "llama broke", status: 500, body: `{"error":{"code":500,"message":"decode failed","type":"server_error"}}`, code: "unknown", again: true},
	{name: "ollama model", status: 404, body: `{"error":"model 'Qwen9:4B' not found"}`, code: "not_found", hint: "`ollama pull Qwen9:4B`"},
	{name: "ollama model, compatible", status: 404, body: `{"error":{"message":"model \"qwen9\" not found, try pulling it first","type":"api_error","param":null,"code":null}}`, code: "not_found", hint: "`ollama pull qwen9`"},
	{name: "ollama memory", status: 500, body: `{"error":"model requires more system memory (9.0 GiB) than is available (3.1 GiB)"}`, code: "invalid_request", hint: "smaller model"},
	{name: "ollama busy", status: 503, body: `{"error":"server busy, please try again.  maximum pending requests exceeded"}`, code: "overloaded", again: true},
	{name: "ollama tools", status: 400, body: `{"error":"registry/library/x does not support tools"}`, code: "invalid_request", hint: "can call tools"},
	{name: "vllm overflow", status: 400, body: `{"object":"error","message":"This model's maximum context length is 4096 tokens. However, you requested 5000 tokens (4900 in the messages, 100 in the completion).","type":"BadRequestError","param":null,"code":400}`, code: "context"},
	{name: "vllm reply", status: 400, body: `{"error":{"message":"'max_tokens' or 'max_completion_tokens' is too large: 16384. This model's maximum context length is 8192 tokens and your request has 12 input tokens (16384 > 8192 - 12).","type":"BadRequestError","code":400}}`, code: "context", hint: "lower max_tokens"},
	{name: "vllm model", status: 404, body: "{\"object\":\"error\",\"message\":\"The model `x` does not exist.\",\"type\":\"NotFoundError\",\"code\":404}", code: "not_found"},

	// Others, and what stands before a service.
	{name: "perplexity overflow", status: 400, body: `{"error":{"message":"The total length of all messages is too long.","type":"too_many_prompt_tokens","code":400}}`, code: "context"},
	{name: "bedrock throttle", status: 429, body: `{"__type":"ThrottlingException","message":"Too many tokens, please wait"}`, code: "rate_limit", again: true},
	{name: "hugging face loads", status: 503, body: `{"error":"Model x is currently loading","estimated_time":20.5}`, code: "overloaded", again: true, wait: 20500 * time.Millisecond},
	{name: "nginx", status: 502, header: header("Content-Type: text/html"), body: "<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n<body><center><h1>502 Bad Gateway</h1></center></body></html>", code: "unknown", again: true, says: `an HTML page ("502 Bad Gateway")`},
	{name: "firewall", status: 403, header: header("Content-Type: text/html"), body: "<!DOCTYPE html><html><head><title>Access&nbsp;denied &amp; logged</title>" + strings.Repeat("<p>very long</p>", 10000), code: "auth", says: `("Access denied & logged")`, hint: "before the service"},
	{name: "proxy key in plain HTTP", status: 407, body: "", code: "network", hint: "HTTPS_PROXY"},
	{name: "redirect without a way", status: 308, header: header("Location: https://else.where/v1?key=secret"), body: "", code: "invalid_request", hint: "to https://else.where/v1"},
	{name: "empty", status: 500, body: "", code: "unknown", again: true, says: "Internal Server Error"},
	{name: "plain text", status: 401, body: "who are you?\x1b[31m\x00\xff", code: "auth", says: "who are you?[31m\uFFFD"},
	{name: "not implemented", status: 501, body: `{}`, code: "unknown"},
	{name: "teapot", status: 418, body: `{"error":null}`, code: "invalid_request"},
	{name: "odd types", status: 400, body: `{"error":{"message":{"a":[1,{"message":"deep"}]},"type":7,"code":[],"details":{"details":{"message":"deeper"}}}}`, code: "invalid_request", says: "deeper"},
}

// L5: every dialect of failure has its own code, wait and hint.
func TestFault(t *testing.T) {
	t.Parallel()
	for _, f := range faults {
		t.Run(f.name, func(t *testing.T) {
			h := f.header
			if h == nil {
				h = http.Header{}
			}
			e := wire.Fault(f.status, h, []byte(f.body), now)
			check(t, f, e)
			if e.Status != f.status {
				t.Errorf("the status is %d, not %d", e.Status, f.status)
			}
		})
	}
}

func check(t *testing.T, f fault, e *uzda.ProviderError) {
	t.Helper()
	if e.Code != f.code || e.Retryable() != f.again || e.Wait != f.wait {
		t.Errorf("code %s, again %v, wait %v; want %s, %v, %v", e.Code, e.Retryable(), e.Wait, f.code, f.again, f.wait)
	}
	if !strings.Contains(e.Message, f.says) || !strings.Contains(e.Hint, f.hint) {
		t.Errorf("message %q and hint %q; want %q and %q in them", e.Message, e.Hint, f.says, f.hint)
	}
	if e.Message == "" || len(e.Message) > 2200 || !utf8.ValidString(e.Message+e.Hint) || strings.ContainsAny(e.Message+e.Hint, "\x00\x1b\n<") && !strings.Contains(f.body, "`<") {
		t.Errorf("message %q and hint %q are not fit to be shown", e.Message, e.Hint)
	}
}

// Errors in the middle of a stream have no status. quirk:18 quirk:21 quirk:41
func TestEvent(t *testing.T) {
	t.Parallel()
	for _, f := range []fault{
		{name: "anthropic overload", body: `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, code: "overloaded", again: true, says: "Overloaded"},
		{name: "anthropic internal", body: `{"type":"error","error":{"details":null,"type":"api_error","message":"Internal server error"}}`, code: "unknown", again: true},
		{name: "anthropic request", body: `{"type":"error","error":{"type":"invalid_request_error","message":"no"}}`, code: "invalid_request"},
		{name: "only the member", body: `{"type":"rate_limit_error","message":"slow"}`, code: "rate_limit", again: true},
		{name: "openrouter number", body: `{"id":"gen-1","provider":"M","error":{"code":400,"message":"Token limit reached"},"choices":[{"index":0,"delta":{"content":""},"finish_reason":null}]}`, code: "invalid_request"},
		{name: "openrouter broke", body: `{"error":{"code":502,"message":"Upstream error","metadata":{"provider_name":"M"}}}`, code: "unknown", again: true, says: "(from M)"},
		{name: "openrouter rate", body: `{"error":{"code":429,"message":"Please try again in 3s"}}`, code: "rate_limit", again: true, wait: 3 * time.Second},
		{name: "groq tool use", body: `{"error":{"message":"Failed to call a function.","type":"invalid_request_error","code":"tool_use_failed","failed_generation":"x","status_code":400}}`, code: "invalid_request", again: true},
		{name: "responses quota", body: `{"type":"error","error":{"type":"insufficient_quota","code":"insufficient_quota","message":"no money","param":null}}`, code: "quota"},
		{name: "responses failed", body: `{"type":"response.failed","response":{"error":{"code":"server_error","message":"broke"}}}`, code: "unknown", again: true, says: "broke"},
		{name: "ollama", body: `{"error":"an error was encountered while running the model: unexpected EOF"}`, code: "unknown", again: true},
		{name: "a string", body: `"went wrong"`, code: "unknown", again: true, says: "went wrong"},
		{name: "overflow", body: `{"error":{"message":"Context window exceeded: prompt is too long"}}`, code: "context"},
		{name: "nothing", body: ``, code: "unknown", again: true},
	} {
		t.Run(f.name, func(t *testing.T) {
			e := wire.Event([]byte(f.body))
			check(t, f, e)
			if e.Status != 0 {
				t.Errorf("an event has the status %d", e.Status)
			}
		})
	}
}
