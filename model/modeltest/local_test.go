package modeltest_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/uzda-dev/uzda/model/modeltest"
)

// long is a request of n tokens and some more.
func long(n int, more string) string {
	return `{"model":"m","messages":[{"role":"user","content":"` + strings.Repeat("x", 4*n) + `"}],"stream":false` + more + `}`
}

// Ollama gives 4,096 tokens unless it is told otherwise, cuts the rest from the
// front, and says nothing but a smaller count.
func TestOllamaWindow(t *testing.T) { // case:U04
	t.Parallel()
	s := modeltest.Serve(t, modeltest.Config{Turns: []modeltest.Turn{{Text: "yes"}}, Loop: true, Local: modeltest.Local{Kind: modeltest.Ollama}})
	contains(t, call(t, http.MethodGet, s.URL+"/api/ps", "").body, `{"models":[]}`)
	for _, c := range []struct {
		path, body string
		status     int
		want       string
		dropped    bool
		window     int
	}{
		{"/api/chat", long(1000, ""), 200, `"prompt_eval_count":1007`, false, 4096},
		{"/api/chat", long(10_000, ""), 200, `"prompt_eval_count":4096`, true, 4096},
		{"/api/chat", long(10_000, `,"options":{"num_ctx":16384}`), 200, `"prompt_eval_count":10007`, false, 16384},
		{"/api/chat", long(60_000, `,"options":{"num_ctx":999999}`), 200, `"prompt_eval_count":32768`, true, 32768},
		{"/api/chat", long(10_000, `,"truncate":false`), 400, "exceeds the context length", true, 4096},
		{"/v1/chat/completions", long(10_000, `,"options":{"num_ctx":16384}`), 200, `"prompt_tokens":4096`, true, 4096},
	} {
		got := post(t, s.URL+c.path, c.body, "X-Api-Key", "")
		if got.status != c.status {
			t.Errorf("%d %s", got.status, got.body)
		}
		contains(t, got.body, c.want)
		asks := s.Asks()
		if r := asks[len(asks)-1]; (r.Dropped > 0) != c.dropped {
			t.Errorf("%d tokens were dropped", r.Dropped)
		}
		contains(t, call(t, http.MethodGet, s.URL+"/api/ps", "").body, fmt.Sprintf(`"context_length":%d`, c.window))
	}
	contains(t, post(t, s.URL+"/api/show", `{"model":"m"}`).body, `"fake.context_length":32768`, `"tools"`)
	contains(t, call(t, http.MethodGet, s.URL+"/api/version", "").body, `{"version":"`)
	contains(t, call(t, http.MethodGet, s.URL+"/api/tags", "").body, `{"models":[{"name":"fake-1"`)
}

// llama-server refuses what does not fit into a slot, and tells the window.
func TestLlamaServer(t *testing.T) { // case:U04
	t.Parallel()
	s := modeltest.Serve(t, modeltest.Config{Turns: []modeltest.Turn{{Text: "yes"}}, Loop: true, Local: modeltest.Local{Kind: modeltest.LlamaServer, Window: 2048, Slots: 2}})
	got := post(t, s.URL+"/v1/chat/completions", long(3000, ""), "X-Api-Key", "")
	if got.status != http.StatusBadRequest {
		t.Errorf("%+v", got)
	}
	contains(t, got.body, `"type":"exceed_context_size_error"`, `"n_ctx":2048,"n_prompt_tokens":3007`)
	contains(t, post(t, s.URL+"/v1/chat/completions", long(1000, `,"cache_prompt":true`)).body, `"content":"yes"`)
	contains(t, call(t, http.MethodGet, s.URL+"/props", "").body, `"n_ctx":2048`, `"total_slots":2`)
	contains(t, call(t, http.MethodGet, s.URL+"/slots", "").body, `{"id":1,"n_ctx":2048`)
	contains(t, call(t, http.MethodGet, s.URL+"/health", "").body, `"ok"`)
	contains(t, call(t, http.MethodGet, s.URL+"/v1/models", "", "Anthropic-Version", "").body, `"meta":{"n_ctx_train":32768}`)
	contains(t, post(t, s.URL+"/tokenize", `{"content":"12345678"}`).body, `{"tokens":[0,1]}`)
	contains(t, post(t, s.URL+"/v1/chat/completions/input_tokens", long(1000, "")).body, `{"input_tokens":1007}`)

	loading := modeltest.Serve(t, modeltest.Config{Local: modeltest.Local{Kind: modeltest.LlamaServer, Loading: true}})
	for _, got := range []reply{call(t, http.MethodGet, loading.URL+"/health", ""), post(t, loading.URL+"/v1/chat/completions", long(1, ""))} {
		if got.status != http.StatusServiceUnavailable || !strings.Contains(got.body, "Loading model") {
			t.Errorf("%+v", got)
		}
	}
}

// Services refuse what is over the window, each in its words.
func TestWindow(t *testing.T) {
	t.Parallel()
	s := modeltest.Serve(t, modeltest.Config{Models: []modeltest.Model{{ID: "m", Window: 1000}}})
	contains(t, post(t, s.URL+"/v1/messages", strings.Replace(long(2000, ""), `"stream"`, `"max_tokens":9,"stream"`, 1)).body,
		`"invalid_request_error"`, "prompt is too long: 2007 tokens > 1000 maximum")
	contains(t, post(t, s.URL+"/v1/chat/completions", long(2000, "")).body, `"code":"context_length_exceeded"`, "resulted in 2007 tokens")
}
