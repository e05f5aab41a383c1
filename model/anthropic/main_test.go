package anthropic_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/model/anthropic"
)

func TestMain(m *testing.M) {
	for _, name := range []string{"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL"} {
		_ = os.Unsetenv(name) // tests must not reach the real service
	}
	goleak.VerifyTestMain(m)
}

// A host answers requests in the tests of single replies.
type host struct {
	*httptest.Server
	mu     sync.Mutex
	bodies []string // of the requests so far
	heads  []http.Header
	paths  []string
	answer func(n int, w http.ResponseWriter, r *http.Request)
}

// serve starts a host whose n-th request, from 1, is answered by answer.
func serve(t testing.TB, answer func(n int, w http.ResponseWriter, r *http.Request)) *host {
	t.Helper()
	h := &host{answer: answer}
	h.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		h.mu.Lock()
		h.bodies, h.heads, h.paths = append(h.bodies, string(body)), append(h.heads, r.Header.Clone()), append(h.paths, r.URL.String())
		n := len(h.bodies)
		h.mu.Unlock()
		h.answer(n, w, r)
	}))
	t.Cleanup(h.Close)
	return h
}

// replies answers with the given bodies in order, and then with the last for ever.
func replies(t testing.TB, bodies ...string) *host {
	t.Helper()
	return serve(t, func(n int, w http.ResponseWriter, _ *http.Request) {
		body := bodies[min(n, len(bodies))-1]
		w.Header().Set("Content-Type", "text/event-stream")
		if strings.HasPrefix(body, "{") {
			w.Header().Set("Content-Type", "application/json")
		}
		w.Header().Set("Request-Id", fmt.Sprintf("req_%d", n))
		_, _ = io.WriteString(w, body)
	})
}

func (h *host) body(n int) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	if n > len(h.bodies) {
		return ""
	}
	return h.bodies[n-1]
}

func (h *host) count() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.bodies)
}

// model is a model of the host that is not patient.
func (h *host) model() anthropic.Model {
	return anthropic.Model{ID: "claude-test-1", Base: h.URL, Key: "sk-ant-test", Tries: 1}
}

// events makes an event stream of JSON events.
func events(all ...string) string {
	var b strings.Builder
	for _, e := range all {
		var kind struct{ Type string }
		_ = json.Unmarshal([]byte(e), &kind) // what is no JSON has no name
		fmt.Fprintf(&b, "event: %s\ndata: %s\n\n", kind.Type, e)
	}
	return b.String()
}

const (
	began   = `{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"claude-test-1","content":[],"stop_reason":null,"usage":{"input_tokens":10,"output_tokens":1}}}`
	stopped = `{"type":"message_stop"}`
)

func ended(reason string, output int) string {
	return fmt.Sprintf(`{"type":"message_delta","delta":{"stop_reason":%q,"stop_sequence":null},"usage":{"output_tokens":%d}}`, reason, output)
}

// block makes the events of one block: its start, its deltas, its end.
func block(index int, start string, deltas ...string) []string {
	out := []string{fmt.Sprintf(`{"type":"content_block_start","index":%d,"content_block":%s}`, index, start)}
	for _, d := range deltas {
		out = append(out, fmt.Sprintf(`{"type":"content_block_delta","index":%d,"delta":%s}`, index, d))
	}
	return append(out, fmt.Sprintf(`{"type":"content_block_stop","index":%d}`, index))
}

// stream makes a whole stream of blocks.
func stream(reason string, blocks ...[]string) string {
	return events(slices.Concat([]string{began}, slices.Concat(blocks...), []string{ended(reason, 20), stopped})...)
}

func text(s string) []string {
	return block(0, `{"type":"text","text":""}`, fmt.Sprintf(`{"type":"text_delta","text":%s}`, quote(s)))
}

func quote(s string) string {
	raw, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(raw)
}

// ask collects a reply.
func ask(t testing.TB, m uzda.Model, req *uzda.Request) (uzda.Reply, error) {
	t.Helper()
	return uzda.Collect(m.Stream(context.Background(), req), nil)
}

func must(t testing.TB, m uzda.Model, req *uzda.Request) uzda.Reply {
	t.Helper()
	r, err := ask(t, m, req)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// hello is a request with these messages.
func hello(messages ...uzda.Message) *uzda.Request {
	if messages == nil {
		messages = []uzda.Message{said("Hello")}
	}
	req := &uzda.Request{Session: "s", Ask: 1, Max: 1000}
	for i, m := range messages {
		req.View = append(req.View, uzda.Entry{Seq: uzda.Seq(i + 1), Message: m})
	}
	return req
}

func said(s string) uzda.Message { return uzda.Message{Role: uzda.User, Blocks: uzda.Say(s)} }

// named is a reply as the loop lets it join the view: with names for its calls.
func named(m uzda.Message, seq int) uzda.Message {
	m.Blocks = slices.Clone(m.Blocks)
	n := 0
	for i, b := range m.Blocks {
		if u, ok := b.(uzda.ToolUse); ok {
			n++
			u.ID = uzda.UseID(fmt.Sprintf("%d.%d", seq, n))
			m.Blocks[i] = u
		}
	}
	return m
}

// results answers all calls of a message.
func results(m uzda.Message) uzda.Message {
	out := uzda.Message{Role: uzda.User}
	for _, u := range m.Uses() {
		out.Blocks = append(out.Blocks, uzda.ToolResult{Use: u.ID, Blocks: uzda.Say("done")})
	}
	return out
}

// sent is a request as a server reads it.
type sent struct {
	Model    string
	Messages []struct {
		Role    string
		Content []json.RawMessage
	}
	System, Tools                  []json.RawMessage
	ToolChoice                     json.RawMessage `json:"tool_choice"`
	Thinking, Container            json.RawMessage
	OutputConfig                   json.RawMessage `json:"output_config"`
	MaxTokens                      int             `json:"max_tokens"`
	Stream                         bool
	StopSequences                  []string `json:"stop_sequences"`
	Temperature                    *float64
	Metadata, Speed, ContextManage json.RawMessage
}

func read(t testing.TB, body string) sent {
	t.Helper()
	var s sent
	if err := json.Unmarshal([]byte(body), &s); err != nil {
		t.Fatalf("the body is no request: %v\n%s", err, body)
	}
	return s
}

// content is the content of message i of a body, as one JSON array.
func content(t testing.TB, body string, i int) string {
	t.Helper()
	s := read(t, body)
	if i < 0 {
		i += len(s.Messages)
	}
	if i < 0 || i >= len(s.Messages) {
		t.Fatalf("there is no message %d in %s", i, body)
	}
	raw, err := json.Marshal(s.Messages[i].Content)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// roles are the roles of the messages of a body, as one word of letters.
func roles(t testing.TB, body string) string {
	t.Helper()
	out := ""
	for _, m := range read(t, body).Messages {
		out += m.Role[:1]
	}
	return out
}

// shared is a folder of the shared data, or skips the test.
func shared(t testing.TB, name string) string {
	t.Helper()
	dir := os.Getenv("UZDA_SHARED")
	if dir == "" {
		dir = filepath.Join("..", "..", "..", "shared")
	}
	path := filepath.Join(dir, name)
	if _, err := os.Stat(path); err != nil {
		t.Skipf("SKIPPED: there is no %s (set UZDA_SHARED)", path)
	}
	return path
}
