package wire_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/uzda-dev/uzda/internal/wire"
)

// refused is what each recorded reply that failed is: its code, whether it may be
// sent again, how long it asks to wait.
var refused = map[string]string{
	"anthropic-count-tokens/error-404":                       "not_found",
	"anthropic-messages/error-400-effort":                    "invalid_request",
	"anthropic-messages/error-400-prompt-too-long":           "context",
	"anthropic-messages/error-400-schema-too-complex":        "invalid_request",
	"anthropic-messages/error-400-shape":                     "invalid_request",
	"anthropic-messages/error-401-stream-request-null-id":    "auth",
	"anthropic-messages/error-401":                           "auth",
	"anthropic-messages/error-404-model":                     "not_found",
	"bedrock-converse/error-400-context":                     "context",
	"bedrock-converse/error-403":                             "auth",
	"embeddings/llamacpp-error-500":                          "context",
	"embeddings/openai-error-400":                            "invalid_request",
	"embeddings/openai-error-404":                            "not_found",
	"gemini/error-400-api-key":                               "auth",
	"gemini/error-400-vertex-token-count":                    "context",
	"gemini/error-403":                                       "auth",
	"gemini/error-404-stream":                                "not_found",
	"gemini/error-429-retryinfo":                             "rate_limit again 48.939935699s",
	"gemini/firebase-streaming-failure-image-rejected":       "invalid_request",
	"gemini/firebase-unary-failure-quota-exceeded":           "quota",
	"ollama-chat/error-404":                                  "not_found",
	"openai-chat/error-400-bad-request":                      "invalid_request",
	"openai-chat/error-400-no-messages":                      "invalid_request",
	"openai-chat/error-401":                                  "auth",
	"openai-chat/error-404-model":                            "not_found",
	"openai-compat/azure-error-401":                          "auth",
	"openai-compat/azure-error-429-retry-after":              "rate_limit again 1s",
	"openai-compat/deepseek-error-400-context":               "context",
	"openai-compat/deepseek-error-401":                       "auth",
	"openai-compat/groq-tool-use-failed-400-1":               "invalid_request again",
	"openai-compat/llamacpp-error-400-malformed":             "invalid_request",
	"openai-compat/llamacpp-error-401":                       "auth",
	"openai-compat/llamacpp-error-500-no-jinja":              "invalid_request",
	"openai-compat/llamacpp-error-context":                   "context",
	"openai-compat/mistral-error-400":                        "not_found",
	"openai-compat/mistral-error-401":                        "auth",
	"openai-compat/ollama-cloud-error-400-context":           "context",
	"openai-compat/ollama-cloud-error-401":                   "auth",
	"openai-compat/openrouter-error-400-context":             "context",
	"openai-compat/openrouter-error-401":                     "auth",
	"openai-compat/openrouter-error-429-provider":            "rate_limit again",
	"openai-compat/openrouter-error-429":                     "rate_limit again 30s",
	"openai-compat/perplexity-error-400-context":             "context",
	"openai-responses/error-400-context-length":              "context",
	"openai-responses/error-400-model":                       "not_found",
	"openai-responses/error-400-previous-response-not-found": "invalid_request",
	"openai-responses/error-400-reasoning-item-orphan":       "invalid_request",
	"openai-responses/error-400-tool-schema":                 "invalid_request",
	"openai-responses/error-401":                             "auth",
	"openai-responses/error-429-insufficient-quota":          "quota",
	"openai-responses/error-xai-string-error":                "auth",
	"unverified-gemini/google-429-retry-info":                "rate_limit again 34.4s",
	"gemini/firebase-streaming-failure-error-mid-stream":     "unknown again",
	"openai-compat/groq-tool-use-failed-sse-1":               "invalid_request again",
	"openai-compat/openrouter-mid-stream-error-sse":          "invalid_request",
	"openai-responses/insufficient-quota-mid-stream-sse":     "quota",
}

// L5: every recorded failure, in a reply or in a stream. quirk:12 quirk:18 quirk:20
// quirk:21 quirk:23 quirk:26 quirk:28 quirk:30 quirk:31 quirk:41
func TestRecordedFaults(t *testing.T) {
	t.Parallel()
	at := time.UnixMilli(1754667630000) // half a minute before one of the resets
	seen := map[string]bool{}
	for _, x := range recorded(t) {
		h := http.Header{}
		for name, value := range x.Response.Headers {
			h.Set(name, value)
		}
		var got []string
		describe := func(code string, again bool, wait time.Duration) {
			text := code
			if again {
				text += " again"
			}
			if wait > 0 {
				text += " " + wait.String()
			}
			got = append(got, text)
		}
		if x.Response.Status > 299 {
			e := wire.Fault(x.Response.Status, h, []byte(x.body()), at)
			describe(e.Code, e.Retryable(), e.Wait)
			if e.Message == "" || strings.Contains(e.Message, "without a word") {
				t.Errorf("%s: the message is %q", x.Name, e.Message)
			}
		} else {
			for _, event := range events(x.body()) {
				e := wire.Event(event)
				describe(e.Code, e.Retryable(), e.Wait)
			}
		}
		for _, one := range got {
			seen[x.Name] = true
			if want, ok := refused[x.Name]; !ok || want != one {
				t.Errorf("%s: is %q, want %q: %.300s", x.Name, one, want, x.body())
			}
		}
	}
	for name := range refused {
		if !seen[name] {
			t.Errorf("%s is not among the recorded failures", name)
		}
	}
	t.Logf("%d recorded failures", len(seen))
}

// events are the error events of a recorded stream.
func events(body string) (found [][]byte) {
	for _, line := range strings.Split(body, "\n") {
		data, ok := strings.CutPrefix(line, "data:")
		if !ok {
			continue
		}
		var e struct {
			Type     string          `json:"type"`
			Error    json.RawMessage `json:"error"`
			Response struct {
				Error json.RawMessage `json:"error"`
			} `json:"response"`
		}
		if json.Unmarshal([]byte(data), &e) == nil && (len(e.Error) > 4 || len(e.Response.Error) > 4) {
			found = append(found, []byte(data))
		}
	}
	if i := strings.Index(body, "\n{"); len(found) == 0 && i >= 0 && json.Valid([]byte(body[i:])) && strings.HasPrefix(body, "data:") {
		found = append(found, []byte(body[i:])) // Firebase's bare error after the events
	}
	return found
}
