package ollama_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/model/modeltest"
	"github.com/uzda-dev/uzda/model/ollama"
)

// env is an environment of name and value.
func env(pairs ...string) func(string) string {
	return func(name string) string {
		for i := 0; i+1 < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1]
			}
		}
		return ""
	}
}

// base is where a model sends its requests: what its messages name as their origin.
func base(t *testing.T, m ollama.Model) (string, error) {
	t.Helper()
	m.HTTP = &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Request: r, Body: io.NopCloser(strings.NewReader(end))}, nil
	})}
	got, err := uzda.Collect(m.Stream(t.Context(), modeltest.Hello()), nil)
	if err != nil {
		return "", err
	}
	return got.Message.Origin.Base, nil
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

const end = `{"model":"m","message":{"role":"assistant","content":""},"done":true,"done_reason":"stop","prompt_eval_count":7,"eval_count":3}` + "\n"

// say is a line of a reply with these members of the message.
func say(members string) string {
	return `{"model":"m","created_at":"2026-11-30T15:58:02Z","message":{"role":"assistant",` + members + `},"done":false}` + "\n"
}

// A server answers /api/chat with bodies in order, the last one again and again,
// and keeps what it was asked.
type server struct {
	*httptest.Server
	mu     sync.Mutex
	bodies []string // of requests to /api/chat
	paths  []string
}

func (s *server) asked() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.bodies
}

// serve answers with answers, more says what other paths answer.
func serve(t testing.TB, more map[string]string, answers ...string) *server {
	s := &server{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		raw, _ := io.ReadAll(r.Body)
		s.mu.Lock()
		s.paths = append(s.paths, r.URL.Path)
		if r.URL.Path != "/api/chat" {
			s.mu.Unlock()
			answer(w, more[r.URL.Path])
			return
		}
		s.bodies = append(s.bodies, string(raw))
		n := min(len(s.bodies), len(answers)) - 1
		s.mu.Unlock()
		answer(w, answers[n])
	}))
	t.Cleanup(s.Close)
	return s
}

// answer writes a body; "404 {…}" has a status.
func answer(w http.ResponseWriter, body string) {
	status := 200
	if n, _ := fmt.Sscanf(body, "%d {", &status); n == 1 {
		body = body[4:]
	}
	w.Header().Set("Content-Type", "application/x-ndjson")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, body)
}

func (s *server) model() ollama.Model {
	return ollama.Model{ID: "m", Base: s.URL, Tries: 1, Env: env()}
}

// A heard is a collected stream with its warnings.
type heard struct {
	uzda.Reply
	warnings []uzda.Warning
	deltas   string // of text
}

func hear(t testing.TB, m uzda.Model, req *uzda.Request) (heard, error) {
	t.Helper()
	return hearIn(t, t.Context(), m, req)
}

func hearIn(t testing.TB, ctx context.Context, m uzda.Model, req *uzda.Request) (h heard, err error) {
	t.Helper()
	var chunks []uzda.Chunk
	h.Reply, err = uzda.Collect(m.Stream(ctx, req), func(c uzda.Chunk) {
		switch c := c.(type) {
		case uzda.Warning:
			h.warnings = append(h.warnings, c)
			return
		case uzda.Delta:
			if c.Kind == "text" {
				h.deltas += c.Text
			}
		}
		chunks = append(chunks, c)
	})
	if err == nil {
		if err := modeltest.Order(chunks); err != nil {
			t.Errorf("%v in %#v", err, chunks)
		}
	}
	return h, err
}

func failure(t testing.TB, err error) *uzda.ProviderError {
	t.Helper()
	var p *uzda.ProviderError
	if !errors.As(err, &p) {
		t.Fatalf("the error is %v, no ProviderError", err)
	}
	return p
}

var add = uzda.ToolSpec{Name: "add", Description: "adds", Input: json.RawMessage(`{"type":"object","properties":{"x":{"type":"number"},"y":{"type":"number"}},"required":["x","y"]}`)}

// asking is a request with a tool.
func asking() *uzda.Request {
	r := modeltest.Hello()
	r.Head.Tools = []uzda.ToolSpec{add}
	return r
}

func blocks(bs uzda.Blocks) string {
	raw, _ := json.Marshal(bs)
	return string(raw)
}

// without is a request whose body lacks a piece.
func without(t *testing.T, r *http.Request, piece string) *http.Request {
	if r.Body == nil {
		return r
	}
	raw, err := io.ReadAll(r.Body)
	if err != nil || r.URL.Path == "/api/chat" && !strings.Contains(string(raw), piece) {
		t.Errorf("the request has no %s: %v", piece, err)
	}
	body := strings.Replace(string(raw), piece, "", 1)
	out := r.Clone(r.Context())
	out.Body, out.ContentLength = io.NopCloser(strings.NewReader(body)), int64(len(body))
	return out
}
