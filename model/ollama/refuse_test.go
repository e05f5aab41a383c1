package ollama_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/model/modeltest"
	"github.com/uzda-dev/uzda/model/ollama"
)

// A picture that the model can't see does not end the session: pictures are left
// out from then on.
func TestRefusedPicture(t *testing.T) {
	t.Parallel()
	s := serve(t, nil, `500 {"error":"this model is missing data required for image input"}`, end)
	m := ollama.Model{ID: "m", Base: s.URL, Env: env()}
	req := modeltest.Hello()
	req.Enc = &uzda.Enc{}
	req.View[0].Message.Blocks = append(uzda.Blocks{uzda.Media{Type: "image/png", Name: "p.png", Data: []byte("\x89PNG\r\n\x1a\npixels")}}, req.View[0].Message.Blocks...)
	got, err := hear(t, m, req)
	if err != nil || len(got.Attempts) != 1 || !strings.Contains(got.Attempts[0].Error, "without pictures") {
		t.Fatalf("%v, with %+v", err, got.Attempts)
	}
	if sent := s.asked(); len(sent) != 2 || !strings.Contains(sent[0], `"images"`) || strings.Contains(sent[1], `"images"`) || !strings.Contains(sent[1], "[p.png (image/png)") {
		t.Errorf("the requests are %q", sent)
	}
	if _, err := hear(t, m, req); err != nil || len(s.asked()) != 3 {
		t.Errorf("%v after %d requests", err, len(s.asked()))
	}
}

// A key that the server repeats in mid-stream is not recorded.
func TestSecretInStream(t *testing.T) {
	t.Parallel()
	s := serve(t, nil, say(`"content":"Hi"`)+`{"error":"the token sk-secret-123456 is refused"}`+"\n")
	m := s.model()
	m.Key = "sk-secret-123456\n"
	if _, err := hear(t, m, asking()); err == nil || strings.Contains(err.Error(), "sk-secret") {
		t.Errorf("the error is %v", err)
	}
}

// The key of the environment is ollama.com's, and goes to no other server.
func TestKeyOfTheEnvironment(t *testing.T) {
	t.Parallel()
	for base, want := range map[string]string{"127.0.0.1:1": "", "https://ollama.example.com": "", "https://ollama.com": "Bearer k"} {
		got := "?"
		m := ollama.Model{ID: "m", Base: base, Tries: 1, Env: env("OLLAMA_API_KEY", "k"), HTTP: &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
			got = r.Header.Get("Authorization")
			return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Request: r, Body: io.NopCloser(strings.NewReader(end))}, nil
		})}}
		if _, err := hear(t, m, modeltest.Hello()); err != nil || got != want {
			t.Errorf("%s gets %q, %v", base, got, err)
		}
	}
}

// A text is read by every model, whatever its kind; what is no picture by its bytes
// is not sent as one.
func TestAttachments(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		media uzda.Media
		want  string
	}{
		{uzda.Media{Type: "application/json", Name: "a.json", Data: []byte("{}")}, `"[a.json (application/json):]\n{}"`},
		{uzda.Media{Type: "text/csv", Data: []byte("a,b")}, `"[text/csv:]\na,b"`},
		{uzda.Media{Type: "image/png", Data: []byte("pixels")}, `"[image/png, 6 bytes, was left out: it can't be sent to this model]"`},
	} {
		req := modeltest.Hello()
		req.View[0].Message.Blocks = uzda.Blocks{c.media}
		if got := asked(t, ollama.Model{}, req); !strings.Contains(got, `{"role":"user","content":`+c.want+`}`) {
			t.Errorf("%s is sent as %s", c.media.Type, got)
		}
	}
}
