package wire_test

import (
	"encoding/json"
	"math"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/internal/wire"
)

// An overflow is a request that a service refused as too long, and the tokens that
// it tells.
type overflow struct {
	name          string
	status        int
	body          string
	input, window int
}

func said(text string) string {
	raw, _ := json.Marshal(map[string]any{"error": map[string]any{"message": text}})
	return string(raw)
}

// The numbers differ from row to row, so that none can come from another place.
var overflowing = []overflow{
	{"anthropic", 400, `{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 213001 tokens > 200001 maximum"}}`, 213001, 200001},
	{"anthropic with the reply", 400, `{"type":"error","error":{"type":"invalid_request_error","message":"input length and ` + "`max_tokens`" + ` exceed context limit: 190002 + 20002 > 200002, decrease one"}}`, 190002, 200002},
	{"anthropic body", 413, `{"type":"error","error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}`, 0, 0},
	{"openai", 400, said("This model's maximum context length is 8193 tokens. However, your messages resulted in 9003 tokens. Shorten them."), 9003, 8193},
	{"openai with the reply", 400, said("This model's maximum context length is 8194 tokens. However, you requested 9014 tokens (8004 in the messages, 1010 in the completion)."), 8004, 8194},
	{"openai completions", 400, said("This model's maximum context length is 8191 tokens, however you requested 10346 tokens (10341 in your prompt; 5 for the completion)."), 10341, 8191},
	{"openai gives no split", 400, said("maximum context length is 8192 tokens, and you requested 9013 tokens"), 9013, 8192},
	{"openai five", 400, `{"error":{"message":"Input tokens exceed the configured limit of 272005 tokens. Your messages resulted in 300005 tokens.","type":"invalid_request_error","code":"context_length_exceeded"}}`, 300005, 272005},
	{"responses", 400, `{"error":{"message":"Your input exceeds the context window of this model.","param":"input","code":"context_length_exceeded"}}`, 0, 0},
	{"one request over the minute", 429, `{"error":{"message":"Request too large for gpt-nine on tokens per min (TPM): Limit 30006, Requested 40006.","type":"tokens","code":"rate_limit_exceeded"}}`, 0, 30006},
	{"gemini", 400, `{"error":{"code":400,"message":"The input token count (1250007) exceeds the maximum number of tokens allowed (1048577).","status":"INVALID_ARGUMENT"}}`, 1250007, 1048577},
	{"gemini, compatible", 400, `[{"error":{"code":400,"message":"The input token count exceeds the maximum number of tokens allowed 1048578.","status":"INVALID_ARGUMENT"}}]`, 0, 1048578},
	{"gemini bytes", 400, said("Request payload size exceeds the limit: 20971520 bytes."), 0, 0},
	{"bedrock", 400, `{"message":"The model returned the following errors: Input is too long for requested model."}`, 0, 0},
	{"bedrock claude", 400, `{"__type":"ValidationException","message":"The model returned the following errors: prompt is too long: 903809 tokens > 200009 maximum"}`, 903809, 200009},
	{"bedrock titan", 400, `{"message":"Too many input tokens. Max input tokens: 8210, request input token count: 11310"}`, 11310, 8210},
	{"bedrock mantle", 400, `{"message":"Mantle streaming error: \"This model's maximum context length is 202711 tokens. However, you requested 65536 output tokens and your prompt contains at least 137176 input tokens, for a total of at least 202712 tokens. (parameter=input_tokens, value=137176)\""}`, 137176, 202711},
	{"bedrock bytes", 400, `{"message":"too many total text bytes: 27120000 > 25000000"}`, 0, 0},
	{"llama.cpp", 400, `{"error":{"code":400,"message":"request (2012 tokens) exceeds the available context size (512 tokens), try increasing it","type":"exceed_context_size_error","n_prompt_tokens":2013,"n_ctx":513}}`, 2013, 513},
	{"llama.cpp in words", 400, `{"error":{"code":400,"message":"request (2014 tokens) exceeds the available context size (514 tokens), try increasing it"}}`, 2014, 514},
	{"llama.cpp before", 500, said("the request exceeds the available context size. try increasing the context size"), 0, 0},
	{"llama-cpp-python", 500, said("Requested tokens (2049) exceed context window of 516"), 2049, 516},
	{"vllm", 400, `{"object":"error","message":"This model's maximum context length is 4017 tokens. However, your request has 5017 input tokens. Please reduce the length of the input messages.","type":"BadRequestError","code":400}`, 5017, 4017},
	{"vllm decoder", 400, said("The decoder prompt (length 5018) is longer than the maximum model length of 4018. Make sure that it is not."), 5018, 4018},
	{"vllm passed", 400, said("You passed 9019 input tokens and requested 100 output tokens. However, the model's context length is only 8219 tokens, resulting in a maximum input length of 8119 tokens."), 9019, 8219},
	{"sglang", 400, said("The input (9020 tokens) is longer than the model's context length (8220 tokens)."), 9020, 8220},
	{"sglang with the reply", 400, said("Requested token count exceeds the model's maximum context length of 8221 tokens. You requested a total of 9021 tokens: 8921 tokens from the input messages and 100 tokens for the completion."), 8921, 8221},
	{"ollama", 400, `{"error":"the input length exceeds the context length"}`, 0, 0},
	{"ollama cloud", 400, said("prompt too long; exceeded max context length by 1119046 tokens (ref: 96164522-08b2)"), 0, 0},
	{"openrouter", 400, `{"error":{"message":"This endpoint's maximum context length is 200022 tokens. However, you requested about 250322 tokens (250122 of text input, 200 in the output).","code":400}}`, 250122, 200022},
	{"openrouter with tools", 400, said("This endpoint's maximum context length is 200023 tokens. However, you requested about 250323 tokens (250023 of text input, 300 of tool input, 0 in the output)."), 250323, 200023},
	{"mistral", 400, `{"object":"error","message":"Prompt contains 40024 tokens and 0 draft tokens, too large for model with 32724 maximum context length","type":"invalid_request_prompt"}`, 40024, 32724},
	{"xai", 400, `{"code":"invalid-argument","error":"This model's maximum prompt length is 131025 but the request contains 537825 tokens."}`, 537825, 131025},
	{"groq", 400, `{"error":{"message":"Please reduce the length of the messages or completion.","type":"invalid_request_error","code":"context_length_exceeded"}}`, 0, 0},
	{"cerebras", 400, `{"message":"Please reduce the length of the messages or completion. Current length is 9027 while limit is 8227","type":"invalid_request_error","code":"context_length_exceeded"}`, 9027, 8227},
	{"cohere", 400, `{"message":"too many tokens: total number of tokens in the prompt cannot exceed 4028 - received 5028. Try a shorter one."}`, 5028, 4028},
	{"fireworks", 400, said("The prompt is too long: 140029, model maximum context length: 131029"), 140029, 131029},
	{"hugging face", 422, `{"error":"Input validation error: ` + "`inputs` tokens + `max_new_tokens` must be <= 2030. Given: 3430 `inputs` tokens and 60 `max_new_tokens`" + `","error_type":"validation"}`, 3430, 2030},
	{"lm studio", 400, `{"error":"Trying to keep the first 5031 tokens when context the overflows. However, the model is loaded with context length of only 4031 tokens, which is not enough."}`, 5031, 4031},
	{"moonshot", 400, said("Invalid request: Your request exceeded model token limit: 8232"), 0, 8232},
	{"copilot", 400, `{"error":{"message":"prompt token count of 137033 exceeds the limit of 128033","code":"model_max_prompt_tokens_exceeded"}}`, 137033, 128033},
	{"github models", 413, `{"error":{"code":"tokens_limit_reached","message":"Request body too large for gpt-nine model. Max size: 8034 tokens."}}`, 0, 8034},
	{"qwen", 400, said("<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 129035]"), 0, 129035},
	{"volcengine", 400, said("Input length 140036 exceeds the maximum length 131036"), 140036, 131036},
	{"watsonx", 400, `{"errors":[{"code":"invalid_input_argument","message":"the number of input tokens 9037 cannot exceed the total tokens limit 8237 for this model"}]}`, 9037, 8237},
	{"zhipu", 400, `{"error":{"code":"1261","message":"Prompt exceeds max length"}}`, 0, 0},
	{"perplexity", 400, `{"error":{"message":"The total length of all messages is too long.","type":"too_many_prompt_tokens","code":400}}`, 0, 0},
	{"litellm", 400, `{"error":{"message":"litellm.ContextWindowExceededError: AnthropicException - prompt is too long: 213,038 tokens > 200,038 maximum","type":null,"code":"400"}}`, 213038, 200038},
	{"thousands", 400, said("This model's maximum context length is 1_048_576 tokens. However, your messages resulted in 1,250,039 tokens."), 1250039, 1048576},
	{"nginx", 413, "<html><head><title>413 Request Entity Too Large</title></head></html>", 0, 0},
	{"a status alone", 413, "", 0, 0},
	{"some gateway", 400, said("Payload Too Large"), 0, 0},
}

// case:C06 peer:17: whatever service refuses a request as too long, it is the same
// code, never sent again as it is, with the tokens that the service tells.
func TestOverflow(t *testing.T) {
	t.Parallel()
	for _, o := range overflowing {
		t.Run(o.name, func(t *testing.T) {
			e := wire.Fault(o.status, http.Header{"X-Should-Retry": {"true"}}, []byte(o.body), now)
			if e.Code != "context" || e.Retryable() || e.Hint == "" {
				t.Errorf("is %s, again %v, hint %q", e.Code, e.Retryable(), e.Hint)
			}
			if e.Tokens != o.input || e.Window != o.window {
				t.Errorf("%d tokens of %d, want %d of %d", e.Tokens, e.Window, o.input, o.window)
			}
			if strings.HasPrefix(o.body, "{") && o.status == 400 {
				if e := wire.Event([]byte(o.body)); e.Code != "context" || e.Tokens != o.input || e.Window != o.window {
					t.Errorf("in a stream it is %s with %d tokens of %d", e.Code, e.Tokens, e.Window)
				}
			}
		})
	}
}

// case:C06: texts that speak of tokens and limits, of a minute or of a reply, are
// no overflow, and nobody learns a window from them.
func TestNoOverflow(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		status     int
		body, code string
	}{
		{429, `{"error":{"message":"Rate limit reached for gpt-nine on tokens per min (TPM): Limit 30000, Used 29000, Requested 2000.","type":"tokens","code":"rate_limit_exceeded"}}`, "rate_limit"},
		{429, said("You exceed the maximum number of tokens allowed per minute: 20000"), "rate_limit"},
		{429, `{"type":"error","error":{"type":"rate_limit_error","message":"This request would exceed the rate limit of 40,000 input tokens per minute; reduce the length of the messages or of the prompt"}}`, "rate_limit"},
		{429, `{"__type":"ThrottlingException","message":"Too many tokens, please wait before trying again."}`, "rate_limit"},
		{429, `{"error":{"code":429,"message":"Quota exceeded for metric: generate_content_free_tier_input_token_count, limit: 250000","status":"RESOURCE_EXHAUSTED"}}`, "rate_limit"},
		{400, `{"type":"error","error":{"type":"invalid_request_error","message":"max_tokens: 900000 > 128000, which is the maximum allowed number of output tokens for claude-nine"}}`, "invalid_request"},
		{400, `{"type":"error","error":{"type":"invalid_request_error","message":"messages.0.content.1.image.source.base64: image exceeds 5 MB maximum: 6000000 bytes > 5242880 bytes"}}`, "invalid_request"},
		{500, said("something else, after 5 tokens > 4 maximum"), "unknown"},
	} {
		e := wire.Fault(c.status, http.Header{}, []byte(c.body), now)
		if e.Code != c.code || e.Tokens != 0 || e.Window != 0 {
			t.Errorf("%s: is %s with %d tokens of %d", c.body, e.Code, e.Tokens, e.Window)
		}
	}
}

// A number with a unit, a fraction, or one that no window has, is none.
func TestOddNumbers(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{
		"200000": 200000, "200,000": 200000, "1": 1, "999999999": 999999999,
		"0": 0, "200k": 0, "5.5": 0, "20,00": 0, "1000000000": 0, "99999999999999999999": 0, "-5": 0, "5%": 0, "": 0, "٥٠٠": 0, "5００": 0,
	} {
		e := wire.Fault(400, http.Header{}, []byte(said("This model's maximum context length is "+text+" tokens.")), now)
		if e.Code != "context" || e.Window != want {
			t.Errorf("%q: is %s with a window of %d, want %d", text, e.Code, e.Window, want)
		}
	}
}

// case:C06: the parser of what services say survives every text, and tells only
// numbers that stand there.
func FuzzOverflow(f *testing.F) {
	for _, o := range overflowing {
		f.Add(o.body)
	}
	f.Add(strings.Repeat("too long: ", 3000) + "5 tokens")
	f.Fuzz(func(t *testing.T, text string) {
		body, err := json.Marshal(map[string]any{"error": map[string]any{"type": "context_length_exceeded", "message": text}})
		if err != nil {
			t.Skip()
		}
		e := wire.Fault(400, http.Header{}, body, now)
		told(t, e, text)
		told(t, wire.Event(body), text)
	})
}

// told checks that the numbers of an error stand in its text, alone or as a sum.
func told(t *testing.T, e *uzda.ProviderError, text string) {
	t.Helper()
	plain := strings.NewReplacer(",", "", "_", "").Replace(text)
	for _, n := range []int{e.Tokens, e.Window} {
		switch {
		case n < 0 || n > 2e9 || n > 0 && e.Code != "context":
			t.Errorf("%s with %d", e.Code, n)
		case n > 0 && n == e.Tokens && strings.Contains(strings.ToLower(text), "of text input, "): // a sum
		case n > 0 && n < math.MaxInt32 && !strings.Contains(plain, strconv.Itoa(n)) && !strings.HasPrefix(strings.TrimSpace(text), "{"):
			t.Errorf("%d does not stand in %q", n, text)
		}
	}
}

// case:C06: the recorded refusals tell their numbers.
func TestRecordedOverflows(t *testing.T) {
	t.Parallel()
	want := map[string][2]int{
		"anthropic-messages/error-400-prompt-too-long": {3333404, 200000},
		"bedrock-converse/error-400-context":           {},
		"embeddings/llamacpp-error-500":                {4002, 0},
		"gemini/error-400-vertex-token-count":          {1250074, 1048576},
		"openai-compat/deepseek-error-400-context":     {1250025, 1048565},
		"openai-compat/llamacpp-error-context":         {2009, 512},
		"openai-compat/ollama-cloud-error-400-context": {},
		"openai-compat/openrouter-error-400-context":   {2500021, 200000},
		"openai-compat/perplexity-error-400-context":   {},
		"openai-responses/error-400-context-length":    {},
	}
	for _, x := range recorded(t) {
		if x.Response.Status < 400 {
			continue
		}
		e := wire.Fault(x.Response.Status, http.Header{}, []byte(x.body()), now)
		if got := [2]int{e.Tokens, e.Window}; got != want[x.Name] {
			t.Errorf("%s: %d tokens of %d, want %v", x.Name, e.Tokens, e.Window, want[x.Name])
		}
	}
}
