package openai_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/model/openai"
)

// asked is a server that answers each body, and the requests that it got.
type asked struct {
	*httptest.Server
	mu     sync.Mutex
	bodies []string
}

func (a *asked) all() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.bodies
}

func answering(t testing.TB, answer func(w http.ResponseWriter, r *http.Request, body string)) *asked {
	a := &asked{}
	a.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		a.mu.Lock()
		a.bodies = append(a.bodies, string(body))
		a.mu.Unlock()
		answer(w, r, string(body))
	}))
	t.Cleanup(a.Close)
	return a
}

var png = uzda.Media{Type: "image/jpeg", Name: "p.png", Data: []byte("\x89PNG\r\n\x1a\npixels")} // of the wrong type

// A picture that the service refuses does not end the session: it is left out from
// then on, and what comes later is not. L4
func TestRefusedMedia(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		profile openai.Profile
		status  int
		body    string
	}{
		{openai.Profile{}, 400, `{"error":{"message":"You uploaded an unsupported image. Please make sure your image is valid.","type":"invalid_request_error","code":"invalid_image_format"}}`},
		{openai.Groq(), 400, `{"error":{"message":"'messages.1' : for 'role:user' the following must be satisfied[('messages.1.content' : value must be a string)] messages[1].content must be a string","type":"invalid_request_error"}}`},
		{openai.OpenRouter(), 404, `{"error":{"message":"No endpoints found that support image input","code":404}}`},
		{openai.LlamaServer(), 500, `{"error":{"code":500,"message":"image input is not supported - hint: if this is unexpected, you may need to provide the mmproj","type":"server_error"}}`},
		{openai.VLLM(), 413, `too large`},
	} {
		t.Run(c.profile.Name+" "+fmt.Sprint(c.status), func(t *testing.T) {
			t.Parallel()
			s := answering(t, func(w http.ResponseWriter, _ *http.Request, body string) {
				if strings.Contains(body, "image_url") {
					w.WriteHeader(c.status)
					_, _ = io.WriteString(w, c.body)
					return
				}
				w.Header().Set("Content-Type", "text/event-stream")
				_, _ = w.Write(hi)
			})
			m := openai.Model{ID: "m", Profile: c.profile, Base: s.URL + "/v1", Key: "k", Env: noEnv}
			req := hello()
			req.Enc = &uzda.Enc{}
			req.View[0].Message.Blocks = uzda.Blocks{png, uzda.Text{Text: "what is it?"}}
			reply, _, err := ask(t, m, req)
			sent := s.all()
			if err != nil || len(reply.Attempts) != 1 || reply.Attempts[0].N != 2 || len(sent) != 2 {
				t.Fatalf("%v after %d requests, with %+v", err, len(sent), reply.Attempts)
			}
			if !strings.Contains(sent[0], "data:image/png;base64,") || !strings.Contains(sent[1], "[p.png (image/jpeg), 14 bytes, was left out") {
				t.Errorf("the requests are %q", sent)
			}
			if _, _, err := ask(t, m, req); err != nil || len(s.all()) != 3 {
				t.Errorf("%v after %d requests", err, len(s.all()))
			}
		})
	}
	// What leaving out would not mend is not sent again.
	s := answering(t, func(w http.ResponseWriter, _ *http.Request, _ string) {
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, `{"error":{"message":"Invalid schema for function 'image'"}}`)
	})
	if _, _, err := ask(t, openai.Model{ID: "m", Base: s.URL, Key: "k", Env: noEnv}, hello()); err == nil || len(s.all()) != 1 {
		t.Errorf("%v after %d requests", err, len(s.all()))
	}
}

// A request never ends in the assistant's words, and is never empty.
func TestResume(t *testing.T) {
	t.Parallel()
	req := hello()
	req.View = append(req.View, uzda.Entry{Seq: 3, Message: uzda.Message{Role: uzda.Assistant, Blocks: uzda.Say("I go")}})
	body, _ := sent(t, openai.Mistral(), req)
	if m := messages(t, body); string(m[len(m)-1]) != `{"role":"user","content":"Continue."}` {
		t.Errorf("the request is %s", body)
	}
	req.Head.System, req.View = "", nil
	if body, _ = sent(t, openai.Profile{}, req); member(t, body, "messages") != `[{"role":"user","content":"Continue."}]` {
		t.Errorf("the request is %s", body)
	}
}

// The length of a reply that the parameters name counts where the loop says none,
// and never over what the model can.
func TestLength(t *testing.T) {
	t.Parallel()
	s := answering(t, func(w http.ResponseWriter, _ *http.Request, _ string) { _, _ = w.Write(hi) })
	for _, c := range []struct {
		max, params, most int
		want              string
	}{{0, 500, 0, "500"}, {0, 0, 0, ""}, {1000, 500, 0, "1000"}, {1000, 0, 300, "300"}, {0, 500, 1000, "500"}, {0, 0, 300, ""}} {
		req := hello()
		req.Max, req.Head.Params.MaxTokens = c.max, c.params
		if _, _, err := ask(t, openai.Model{ID: "m", MaxOutput: c.most, Base: s.URL, Key: "k", Env: noEnv}, req); err != nil {
			t.Fatal(err)
		}
		all := s.all()
		if got := member(t, all[len(all)-1], "max_completion_tokens"); got != c.want {
			t.Errorf("%+v: %s", c, got)
		}
	}
}

// No secret of a request stands in what is recorded: neither in an error that the
// service sends in mid-stream, nor in the origin of its messages.
func TestSecrets(t *testing.T) {
	t.Parallel()
	const key, password = "sk-secret-123456", "hush-hush-1"
	fault := true
	s := answering(t, func(w http.ResponseWriter, r *http.Request, _ string) {
		w.Header().Set("Content-Type", "text/event-stream")
		w.Header().Set("X-Request-Id", "req_7")
		if fault {
			_, _ = w.Write(sse(delta(`{"content":"Hi"}`), `{"error":{"message":"the key `+key+` of `+password+` is refused","code":500}}`))
			return
		}
		_, _ = w.Write(hi)
	})
	base := strings.Replace(s.URL, "://", "://me:"+password+"@", 1)
	m := openai.Model{ID: "m", Key: " " + key + "\n", Base: base, Tries: 1, Env: noEnv}
	_, _, err := ask(t, m, hello())
	var p *uzda.ProviderError
	if !errors.As(err, &p) || p.Code != "cut" || p.Request != "req_7" || strings.Contains(p.Error(), key) || strings.Contains(p.Error(), password) {
		t.Errorf("the error is %v, of request %q", err, p.Request)
	}
	fault = false
	reply, _, err := ask(t, m, hello())
	if err != nil || strings.Contains(fmt.Sprint(*reply.Stop.Origin), password) || reply.Stop.Origin.Base != s.URL+"/v1" {
		t.Errorf("the origin is %+v, %v", reply.Stop.Origin, err)
	}
}

// A header of one's own is as good as a key, and no key goes in the clear to a host
// on the Internet.
func TestKeys(t *testing.T) {
	t.Parallel()
	var got *http.Request
	seen := &http.Client{Transport: trip(func(r *http.Request) { got = r })}
	for base, want := range map[string]string{"api.example.com/v1": "https://api.example.com", "10.0.0.7:8000": "http://10.0.0.7:8000", "gpu-box:8000": "http://gpu-box:8000", "localhost:1": "http://localhost:1"} {
		m := openai.Model{ID: "m", Profile: openai.Custom(), Base: base, Key: "k", HTTP: seen, Tries: 1, Env: noEnv}
		if _, _, _ = ask(t, m, hello()); !strings.HasPrefix(got.URL.String(), want) {
			t.Errorf("%s is asked at %s", base, got.URL)
		}
	}
	m := openai.Model{ID: "m", HTTP: seen, Tries: 1, Header: http.Header{"authorization": {"Bearer own"}}, Env: noEnv}
	if _, _, _ = ask(t, m, hello()); got.Header.Get("Authorization") != "Bearer own" {
		t.Errorf("the headers are %v", got.Header)
	}
	m.Header, got = nil, nil
	if _, _, err := ask(t, m, hello()); err == nil || got != nil {
		t.Error("there is no key, and nobody says so")
	}
	if (openai.Model{ID: "x:120b-cloud", Profile: openai.OllamaCompat()}).Describe().Free {
		t.Error("a model at ollama.com is free")
	}
}

// The limits that a reply tells in its headers count also where it is a failure. M9
func TestLearnsFromFailures(t *testing.T) {
	t.Parallel()
	s := answering(t, func(w http.ResponseWriter, _ *http.Request, _ string) {
		w.Header().Set("X-Ratelimit-Limit-Requests", "1")
		w.Header().Set("X-Ratelimit-Remaining-Requests", "0")
		w.Header().Set("X-Ratelimit-Reset-Requests", "400ms")
		w.WriteHeader(http.StatusBadRequest)
	})
	m := openai.Model{ID: "m", Base: s.URL, Key: "k", Tries: 1, Env: noEnv}
	for range 2 {
		from := time.Now()
		_, _, _ = ask(t, m, hello()) // it is refused
		if n := len(s.all()); n == 2 && time.Since(from) < 200*time.Millisecond {
			t.Errorf("the second request came after %s", time.Since(from))
		}
	}
}

// Thousands of calls in the text are heard, up to a bound, in time that does not
// grow with their square.
func TestManyMarkupCalls(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&text, "<tool_call>{\"name\":\"now\",\"arguments\":{\"n\":%d}}</tool_call>x\n", i)
	}
	said, _ := json.Marshal(text.String()) // a string always encodes
	from := time.Now()
	p := &player{bodies: [][]byte{stream("stop", `{"content":`+string(said)+`}`)}}
	reply, _, err := ask(t, p.model(openai.VLLM()), hello("now"))
	if n := len(reply.Message.Uses()); err != nil || n != 4000 {
		t.Errorf("%d calls, %v", n, err)
	}
	if took := time.Since(from); took > 10*time.Second {
		t.Errorf("it took %s", took)
	}
}

// A word that says that a reply is not whole stays, whatever comes behind it.
func TestLastWord(t *testing.T) {
	t.Parallel()
	body := sse(delta(`{"content":"Hi"}`), delta(`{}`, "length"), delta(`{}`, "stop"), tally, done)
	reply, err := decode(t, openai.Profile{}, body)
	if got := brief(reply); err != nil || got != `text "Hi"; stop max_tokens` {
		t.Errorf("%s, %v", got, err)
	}
}

// A connection that breaks behind the finish reason has lost nothing, one that
// breaks before it has. peer:cut-after-complete
func TestCutBehindTheEnd(t *testing.T) {
	t.Parallel()
	for _, word := range []string{"stop", ""} {
		s := answering(t, func(w http.ResponseWriter, _ *http.Request, _ string) {
			w.Header().Set("Content-Type", "text/event-stream")
			w.Header().Set("Content-Length", "5000") // more than comes
			_, _ = w.Write(sse(delta(`{"content":"Hi"}`)))
			if word != "" {
				_, _ = w.Write(sse(delta(`{}`, word)))
			}
		})
		reply, _, err := ask(t, openai.Model{ID: "m", Base: s.URL, Key: "k", Tries: 1, Env: noEnv}, hello())
		if whole := word != ""; (err == nil) != whole || whole && brief(reply) != `text "Hi"; stop end_turn` {
			t.Errorf("%q: %s, %v", word, brief(reply), err)
		}
	}
}

// Reasoning that stands beside the completion, as the total shows, is counted once;
// where it is part of it, it is not counted again. quirk:25
func TestReasoningUsage(t *testing.T) {
	t.Parallel()
	for total, want := range map[int]int{35: 15, 25: 15, 40: 15} {
		completion := 5
		if total != 35 {
			completion = 15
		}
		body := whole(`"stop"`, `{"role":"assistant","content":"Hi"}`, fmt.Sprintf(`{"prompt_tokens":20,"completion_tokens":%d,"total_tokens":%d,"completion_tokens_details":{"reasoning_tokens":10}}`, completion, total))
		reply, err := decode(t, openai.Profile{}, body)
		if u := reply.Stop.Usage; err != nil || u.Output != want || u.Input != 20 {
			t.Errorf("a total of %d: %+v, %v", total, u, err)
		}
	}
}
