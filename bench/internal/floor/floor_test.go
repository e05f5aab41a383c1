package floor_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/uzda-dev/uzda/bench/internal/floor"
	"github.com/uzda-dev/uzda/bench/internal/provider"
	"github.com/uzda-dev/uzda/bench/internal/task"
)

// The floor does the task in both formats, each of its requests is a kilobyte longer
// than the one before, and what it uses is measured.
func TestFloor(t *testing.T) {
	t.Parallel()
	const steps = 12
	inner := provider.New(steps)
	for name, c := range map[string]task.Contestant{"chat": floor.Run, "messages": floor.Messages} {
		var sizes []int
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			sizes = append(sizes, int(r.ContentLength))
			inner.ServeHTTP(w, r)
		}))
		one := task.Task{URL: s.URL + provider.Path(steps, name) + "/v1", Steps: steps, Windows: []task.Window{{From: 2, To: 8}}}
		r, err := one.Run(t.Context(), c)
		s.Close()
		if err != nil || r.Answer != task.Answer {
			t.Fatalf("%s: %+v, %v", name, r, err)
		}
		if len(sizes) != steps+1 {
			t.Fatal(name, sizes)
		}
		for i, n := range sizes[1:] {
			if more := n - sizes[i]; more < task.Step-8 || more > task.Step+8 {
				t.Errorf("%s: request %d is %d bytes longer than the one before", name, i+2, more)
			}
		}
		if w := r.Windows[0]; w.Mallocs == 0 || w.Mallocs >= r.Mallocs || w.Wall <= 0 || w.Wall >= r.Wall || w.Bytes == 0 || r.CPU <= 0 {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

// It is honest: what goes wrong is an error.
func TestErrors(t *testing.T) {
	t.Parallel()
	event := func(delta, finish string) string {
		return `data: {"choices":[{"delta":` + delta + `,"finish_reason":"` + finish + `"}]}` + "\n\n"
	}
	const done = "data: [DONE]\n\n"
	for name, c := range map[string]struct {
		status int
		reply  string
		want   string
	}{
		"a status":         {500, "broken", "500 Internal Server Error: broken"},
		"no JSON":          {200, "data: {\n\n", "unexpected end of JSON"},
		"a cut":            {200, event(`{}`, "stop"), "unexpected EOF"},
		"no finish":        {200, event(`{}`, "") + done, `ended with ""`},
		"a gap":            {200, event(`{"tool_calls":[{"index":2}]}`, "tool_calls") + done, "without a begin"},
		"an unknown tool":  {200, event(`{"tool_calls":[{"index":0,"function":{"name":"x"}}]}`, "tool_calls") + done, `no tool "x"`},
		"broken arguments": {200, event(`{"tool_calls":[{"index":0,"function":{"name":"echo","arguments":"{"}}]}`, "tool_calls") + done, "unexpected end of JSON"},
	} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(c.status)
			_, _ = io.WriteString(w, c.reply)
		}))
		_, err := (&task.Task{URL: s.URL}).Run(t.Context(), floor.Run)
		s.Close()
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// So it is in the Messages format.
func TestMessagesErrors(t *testing.T) {
	t.Parallel()
	event := func(kind, more string) string { return `data: {"type":"` + kind + `"` + more + "}\n\n" }
	begin := func(name string) string {
		return event("content_block_start", `,"content_block":{"type":"tool_use","name":"`+name+`"}`)
	}
	stop := func(reason string) string {
		return event("message_delta", `,"delta":{"stop_reason":"`+reason+`"}`) + event("message_stop", "")
	}
	const half = `,"delta":{"partial_json":"{"}`
	for name, c := range map[string]struct{ reply, want string }{
		"no JSON":          {"data: {\n\n", "unexpected end of JSON"},
		"a cut":            {event("message_delta", `,"delta":{"stop_reason":"end_turn"}`), "unexpected EOF"},
		"too long":         {stop("max_tokens"), `ended with "max_tokens"`},
		"no begin":         {event("content_block_delta", half), "without a begin"},
		"an unknown tool":  {begin("x") + event("content_block_delta", `,"delta":{"partial_json":"{}"}`) + stop("tool_use"), `no tool "x"`},
		"broken arguments": {begin("echo") + event("content_block_delta", half) + stop("tool_use"), "unexpected end of JSON"},
	} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, c.reply)
		}))
		_, err := (&task.Task{URL: s.URL}).Run(t.Context(), floor.Messages)
		s.Close()
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
