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

// The floor does the task, each of its requests is a kilobyte longer than the one
// before, and what it uses is measured.
func TestFloor(t *testing.T) {
	t.Parallel()
	const steps = 12
	inner := provider.New(steps)
	var sizes []int
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sizes = append(sizes, int(r.ContentLength))
		inner.ServeHTTP(w, r)
	}))
	defer s.Close()
	one := task.Task{URL: s.URL + provider.Path(steps, "a") + "/v1", Steps: steps, Windows: []task.Window{{From: 2, To: 8}}}
	r, err := one.Run(t.Context(), floor.Run)
	if err != nil || r.Answer != task.Answer {
		t.Fatalf("%+v, %v", r, err)
	}
	if len(sizes) != steps+1 {
		t.Fatal(sizes)
	}
	for i, n := range sizes[1:] {
		if more := n - sizes[i]; more < task.Step-8 || more > task.Step+8 {
			t.Errorf("request %d is %d bytes longer than the one before", i+2, more)
		}
	}
	if w := r.Windows[0]; w.Mallocs == 0 || w.Mallocs >= r.Mallocs || w.Wall <= 0 || w.Wall >= r.Wall || w.Bytes == 0 || r.CPU <= 0 {
		t.Errorf("%+v", r)
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
