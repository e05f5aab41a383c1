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
	return to(t, url+"/v1/chat/completions", body)
}

func to(t *testing.T, url, body string) (status int, reply string) {
	t.Helper()
	resp, err := http.Post(url, "application/json", strings.NewReader(body))
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

// So it is in the Messages format, whose events also say what they are.
func TestMessages(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(provider.New(3))
	defer s.Close()
	url := s.URL + provider.Path(2, "a") + "/v1/messages"
	for n := range 3 {
		status, reply := to(t, url, message(n))
		var args, text, stop, kinds string
		output := 0
		for event := range strings.SplitSeq(strings.TrimSuffix(reply, "\n\n"), "\n\n") {
			name, data, ok := strings.Cut(event, "\ndata: ")
			var e struct {
				Type         string
				ContentBlock struct{ Type, ID, Name string } `json:"content_block"`
				Delta        struct {
					Type, Text  string
					PartialJSON string `json:"partial_json"`
					StopReason  string `json:"stop_reason"`
				}
				Usage struct {
					Output int `json:"output_tokens"`
				}
			}
			if err := json.Unmarshal([]byte(data), &e); err != nil || !ok || name != "event: "+e.Type {
				t.Fatalf("%s: %v", event, err)
			}
			args, text, stop = args+e.Delta.PartialJSON, text+e.Delta.Text, stop+e.Delta.StopReason
			output += e.Usage.Output
			if !strings.HasSuffix(kinds, e.Type+" ") {
				kinds += e.Type + " "
			}
			if e.ContentBlock.Type == "tool_use" && (e.ContentBlock.ID == "" || e.ContentBlock.Name != task.Tool) {
				t.Errorf("%s", event)
			}
		}
		var in task.Input
		switch err := json.Unmarshal([]byte(args), &in); {
		case status != http.StatusOK || output != 30 || kinds != "message_start content_block_start content_block_delta content_block_stop message_delta message_stop ":
			t.Errorf("reply %d: %d %s", n, status, reply)
		case n < 2 && (err != nil || in.N != n+1 || stop != "tool_use"):
			t.Errorf("reply %d: %q, %q, %v", n, args, stop, err)
		case n == 2 && (text != task.Answer || stop != "end_turn"):
			t.Errorf("reply %d: %q, %q", n, text, stop)
		}
	}
}

// message is a request in the Messages format with n results, about.
func message(n int) string {
	return strings.ReplaceAll(request(n), `"role":"tool"`, `"role":"user","content":[{"type":"tool_result"}],"x":1`)
}

// What the other format would call results is none.
func TestMessagesRefused(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(provider.New(2))
	defer s.Close()
	for name, c := range map[string]struct {
		bodies []string
		want   string
	}{
		"a result is missing":  {[]string{message(0), message(0)}, "request 2 has 0 results, want 1"},
		"of the other format":  {[]string{message(0), request(1)}, "request 2 has 0 results, want 1"},
		"the result is short":  {[]string{message(0), `{"type":"tool_result"}`}, "something is missing"},
		"the history is short": {[]string{message(0), message(1), strings.Replace(message(2), "xxxxxxxx", "x", 150)}, "something is missing"},
		"the last is no JSON":  {[]string{message(0), message(1), message(2) + "}"}, "request 3 is not JSON"},
	} {
		url := s.URL + provider.Path(2, strings.ReplaceAll(name, " ", "-")) + "/v1/messages"
		for i, body := range c.bodies {
			status, reply := to(t, url, body)
			if last := i == len(c.bodies)-1; last != (status == http.StatusBadRequest) || last && !strings.Contains(reply, c.want) {
				t.Errorf("%s: request %d gets %d %s", name, i+1, status, reply)
			}
		}
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
