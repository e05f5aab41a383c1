package ollama_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"sync"
	"testing"
)

// A tape holds what a real server answered. It records if it has nothing to play.
type tape struct {
	mu     sync.Mutex
	played bool
	list   []exchange
}

// An exchange is a line of the file. What exactly was asked is not in it, so that it
// stays good as long as the same is asked in the same order.
type exchange struct {
	Path   string `json:"path"`
	Model  string `json:"model,omitempty"`
	Status int    `json:"status"`
	Type   string `json:"type"`
	Body   string `json:"body"`
}

var tapeFile = filepath.Join("testdata", "real.jsonl")

func playback(t *testing.T) *tape {
	t.Helper()
	raw, err := os.ReadFile(tapeFile)
	if err != nil {
		t.Fatal(err)
	}
	p := &tape{played: true}
	in := bufio.NewScanner(bytes.NewReader(raw))
	in.Buffer(nil, 1<<20)
	for in.Scan() {
		var e exchange
		if err := json.Unmarshal(in.Bytes(), &e); err != nil {
			t.Fatal(err)
		}
		p.list = append(p.list, e)
	}
	if err := in.Err(); err != nil || len(p.list) == 0 {
		t.Fatalf("%s has no exchanges: %v", tapeFile, err)
	}
	return p
}

func (p *tape) save(t *testing.T) {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	for _, e := range p.list {
		if err := enc.Encode(e); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(tapeFile, out.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

func (p *tape) RoundTrip(r *http.Request) (*http.Response, error) {
	var asked []byte
	if r.Body != nil {
		var err error
		if asked, err = io.ReadAll(r.Body); err != nil {
			return nil, err
		}
	}
	e := exchange{Path: r.URL.Path}
	var body struct{ Model string }
	if json.Unmarshal(asked, &body) == nil {
		e.Model = body.Model
	}
	if p.played {
		return p.play(r, e)
	}
	forward := r.Clone(r.Context())
	forward.Body = io.NopCloser(bytes.NewReader(asked))
	reply, err := http.DefaultTransport.RoundTrip(forward)
	if err != nil {
		return nil, err
	}
	defer reply.Body.Close()
	said, err := io.ReadAll(reply.Body)
	if err != nil {
		return nil, err
	}
	e.Status, e.Type, e.Body = reply.StatusCode, reply.Header.Get("Content-Type"), places.ReplaceAllString(string(said), "/models/blobs")
	p.mu.Lock()
	p.list = append(p.list, e)
	p.mu.Unlock()
	return e.response(r), nil
}

// places are where the models lay on the machine that recorded.
var places = regexp.MustCompile(`/[^"\\\s]*/models/blobs`)

// play answers with the first exchange of that kind that was not played yet.
func (p *tape) play(r *http.Request, e exchange) (*http.Response, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, one := range p.list {
		if one.Path == e.Path && one.Model == e.Model {
			p.list = append(p.list[:i:i], p.list[i+1:]...)
			return one.response(r), nil
		}
	}
	return nil, fmt.Errorf("the tape has no more answers of %s for %q; record it anew", e.Path, e.Model)
}

func (e exchange) response(r *http.Request) *http.Response {
	h := http.Header{}
	h.Set("Content-Type", e.Type)
	return &http.Response{StatusCode: e.Status, Header: h, Request: r, Body: io.NopCloser(bytes.NewReader([]byte(e.Body)))}
}
