package openai_test

import (
	"bytes"
	"encoding/json"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/model/openai"
)

// A cassette is one recorded exchange.
type cassette struct {
	Name         string `json:"-"`
	Provider     string
	Conversation string
	Turn         int
	Request      struct {
		Path string
		Body json.RawMessage
	}
	Response struct {
		Status  int
		Headers map[string]string
		Body    json.RawMessage
	}
	Tags []string
}

// body is the body of the response as it came.
func (c *cassette) body() []byte {
	var s string
	if json.Unmarshal(c.Response.Body, &s) == nil {
		return []byte(s)
	}
	return c.Response.Body
}

func (c *cassette) has(tag string) bool { return slices.Contains(c.Tags, tag) }

// profile is the profile of the service that the exchange is with.
func (c *cassette) profile() openai.Profile {
	switch c.Provider {
	case "google-gemini":
		return openai.Gemini()
	case "ollama-cloud":
		return openai.OllamaCompat()
	case "llama.cpp":
		return openai.LlamaServer()
	}
	if p, ok := openai.Profiles()[c.Provider]; ok {
		return p
	}
	return openai.Custom()
}

// cassettes reads the recorded exchanges of Chat Completions where they are.
func cassettes(t testing.TB) []*cassette {
	t.Helper()
	root := os.Getenv("UZDA_SHARED")
	if root == "" {
		root = filepath.Join("..", "..", "..", "shared")
	}
	var out []*cassette
	for _, dir := range []string{"openai-chat", "openai-compat"} {
		files, err := filepath.Glob(filepath.Join(root, "cassettes", dir, "*.json"))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			data, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			c := &cassette{Name: dir + "/" + strings.TrimSuffix(filepath.Base(f), ".json")}
			if err := json.Unmarshal(data, c); err != nil {
				t.Fatalf("%s: %v", f, err)
			}
			out = append(out, c)
		}
	}
	if len(out) == 0 {
		t.Skip("SKIPPED: no recorded traffic; set UZDA_SHARED to the folder that holds cassettes/")
	}
	return out
}

// A player answers requests with bodies in order, the last again and again, and
// keeps what it was sent. It gives a body in pieces.
type player struct {
	status  int
	headers map[string]string
	bodies  [][]byte
	piece   func() int // bytes of the next piece; nil: as many as are asked for
	limits  bool       // headers about limits are passed on, which may hold up other tests

	sent []string
}

func (p *player) RoundTrip(r *http.Request) (*http.Response, error) {
	var body []byte
	if r.Body != nil {
		var err error
		if body, err = io.ReadAll(r.Body); err != nil {
			return nil, err
		}
	}
	p.sent = append(p.sent, string(body))
	h := http.Header{}
	for k, v := range p.headers {
		if p.limits || !strings.Contains(k, "limit") && !strings.HasPrefix(k, "retry-") {
			h.Set(k, v)
		}
	}
	status := p.status
	if status == 0 {
		status = 200
	}
	data := p.bodies[min(len(p.sent), len(p.bodies))-1]
	return &http.Response{StatusCode: status, Header: h, Request: r, ProtoMajor: 1, ProtoMinor: 1, ContentLength: -1,
		Body: io.NopCloser(&pieces{r: bytes.NewReader(data), next: p.piece})}, nil
}

type pieces struct {
	r    io.Reader
	next func() int
}

func (p *pieces) Read(b []byte) (int, error) {
	if p.next != nil {
		b = b[:min(len(b), max(1, p.next()))]
	}
	return p.r.Read(b)
}

func single() int { return 1 }

// random gives pieces of 1 to 40 bytes, the same ones for the same seed.
func random(seed uint64) func() int {
	r := rand.New(rand.NewPCG(seed, 1))
	return func() int { return 1 + r.IntN(40) }
}

// model is a model of a profile that a player answers.
func (p *player) model(profile openai.Profile) openai.Model {
	if profile.Base == "" {
		profile.Base = "https://example.com/v1"
	}
	return openai.Model{ID: "m", Profile: profile, Key: "test-key", HTTP: &http.Client{Transport: p}, Tries: 1, Env: noEnv}
}

func noEnv(string) string { return "" }

// sse makes a stream of chunks.
func sse(chunks ...string) []byte {
	return []byte("data: " + strings.Join(chunks, "\n\ndata: ") + "\n\n")
}

// ask asks m for a reply to a request and collects it.
func ask(t testing.TB, m uzda.Model, req *uzda.Request) (uzda.Reply, []uzda.Chunk, error) {
	t.Helper()
	var chunks []uzda.Chunk
	r, err := uzda.Collect(m.Stream(t.Context(), req), func(c uzda.Chunk) { chunks = append(chunks, c) })
	return r, chunks, err
}

// hello is a request with tools of these names.
func hello(tools ...string) *uzda.Request {
	req := &uzda.Request{Session: "s", Ask: 1, Max: 1000, Head: uzda.Head{System: "You help."},
		View: []uzda.Entry{{Seq: 2, Message: uzda.Message{Role: uzda.User, Blocks: uzda.Say("Hello.")}}}}
	for _, n := range tools {
		req.Head.Tools = append(req.Head.Tools, uzda.ToolSpec{Name: n, Input: json.RawMessage(`{"type":"object","properties":{}}`)})
	}
	return req
}

// then is the request that follows a reply: the reply joins the view as the loop
// lets it, with a result for each call.
func then(req *uzda.Request, r uzda.Reply) *uzda.Request {
	next := *req
	next.Ask++
	m := r.Message
	m.Blocks = slices.Clone(m.Blocks)
	results := uzda.Message{Role: uzda.User}
	for i, b := range m.Blocks {
		if u, ok := b.(uzda.ToolUse); ok {
			u.ID = uzda.UseID(string(rune('0'+next.Ask)) + "." + string(rune('1'+len(results.Blocks))))
			if u.Raw != "" {
				m.Repairs = append(m.Repairs, uzda.Repair{Block: i, What: "the arguments were no JSON object"})
			}
			m.Blocks[i] = u
			results.Blocks = append(results.Blocks, uzda.ToolResult{Use: u.ID, Blocks: uzda.Say("done")})
		}
	}
	seq := req.View[len(req.View)-1].Seq
	next.View = append(slices.Clone(req.View), uzda.Entry{Seq: seq + 1, Message: m})
	if len(results.Blocks) == 0 {
		results.Blocks = uzda.Say("Go on.")
	}
	next.View = append(next.View, uzda.Entry{Seq: seq + 2, Message: results})
	return &next
}

// messages are those of a request that was sent.
func messages(t testing.TB, body string) []json.RawMessage {
	t.Helper()
	var in struct{ Messages []json.RawMessage }
	if err := json.Unmarshal([]byte(body), &in); err != nil {
		t.Fatalf("the request is no JSON: %v\n%s", err, body)
	}
	return in.Messages
}
