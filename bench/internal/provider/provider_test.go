package provider_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/uzda-dev/uzda/bench/internal/provider"
	"github.com/uzda-dev/uzda/bench/internal/task"
)

func post(t *testing.T, url, body string) (status int, reply string) {
	t.Helper()
	resp, err := http.Post(url+"/v1/chat/completions", "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(raw)
}

// request is one with n results, as the floor sends it, about.
func request(n int) string {
	var b strings.Builder
	b.WriteString(`{"messages":[{}`)
	for range n {
		b.WriteString(`,{"role":"tool","content":"` + strings.Repeat("x", task.Step-30) + `"}`)
	}
	return b.String() + "]}"
}

// Each reply is a stream of JSON with the call of its step, and the last the answer.
func TestReplies(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(provider.New(3))
	defer s.Close()
	url := s.URL + provider.Path(2, "a")
	for n := range 3 {
		status, reply := post(t, url, request(n))
		var args, text, finish string
		for line := range strings.Lines(reply) {
			data, ok := strings.CutPrefix(strings.TrimSpace(line), "data: ")
			if !ok || data == "[DONE]" {
				continue
			}
			var c struct {
				Choices []struct {
					Delta struct {
						Content   string
						ToolCalls []struct{ Function struct{ Arguments string } } `json:"tool_calls"`
					}
					FinishReason string `json:"finish_reason"`
				}
			}
			if err := json.Unmarshal([]byte(data), &c); err != nil {
				t.Fatalf("%s: %v", data, err)
			}
			for _, ch := range c.Choices {
				text += ch.Delta.Content
				finish += ch.FinishReason
				for _, call := range ch.Delta.ToolCalls {
					args += call.Function.Arguments
				}
			}
		}
		var in task.Input
		switch err := json.Unmarshal([]byte(args), &in); {
		case status != http.StatusOK || !strings.HasSuffix(reply, "data: [DONE]\n\n"):
			t.Errorf("reply %d: %d %s", n, status, reply)
		case n < 2 && (err != nil || in.N != n+1 || finish != "tool_calls"):
			t.Errorf("reply %d: %q, %q, %v", n, args, finish, err)
		case n == 2 && (text != task.Answer || finish != "stop"):
			t.Errorf("reply %d: %q, %q", n, text, finish)
		}
	}
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var seen provider.Seen
	if err := json.NewDecoder(resp.Body).Decode(&seen); err != nil || seen != (provider.Seen{Requests: 3, Answers: 1, First: len(request(0)), Last: len(request(2))}) {
		t.Errorf("%+v, %v", seen, err)
	}
}

// A contestant that does less than the others is refused.
func TestRefused(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(provider.New(2))
	defer s.Close()
	for name, c := range map[string]struct {
		bodies []string
		want   string
	}{
		"a result is missing":   {[]string{request(0), request(0)}, "request 2 has 0 results, want 1"},
		"a result too many":     {[]string{request(0), request(2)}, "request 2 has 2 results, want 1"},
		"the results are short": {[]string{request(0), `{"role":"tool"}`}, "something is missing"},
		"the last is no JSON":   {[]string{request(0), request(1), request(2) + "}"}, "request 3 is not JSON"},
		"it goes on":            {[]string{request(0), request(1), request(2), request(3)}, "request 1 has 3 results, want 0"},
	} {
		url := s.URL + provider.Path(2, strings.ReplaceAll(name, " ", "-"))
		for i, body := range c.bodies {
			status, reply := post(t, url, body)
			if last := i == len(c.bodies)-1; last != (status == http.StatusBadRequest) || last && !strings.Contains(reply, c.want) {
				t.Errorf("%s: request %d gets %d %s", name, i+1, status, reply)
			}
		}
	}
	for _, path := range []string{"/x", "/0-a", "/3-a", "/-1-a"} {
		if status, reply := post(t, s.URL+path, request(0)); status != http.StatusBadRequest {
			t.Errorf("%s: %d %s", path, status, reply)
		}
	}
	resp, err := http.Get(s.URL + provider.Path(2, "unknown"))
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusNotFound {
		t.Error(resp.Status)
	}
}
