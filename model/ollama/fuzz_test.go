package ollama_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"reflect"
	"strings"
	"testing"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/model/modeltest"
	"github.com/uzda-dev/uzda/model/ollama"
)

// speaks is a model that answers with a body in pieces of n bytes. The last body
// that it was sent goes into sent.
func speaks(body string, n int, sent *string) ollama.Model {
	return ollama.Model{ID: "m", Base: "http://ollama.test", Tries: 1, Env: env(), HTTP: &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
		if r.Body != nil {
			raw, err := io.ReadAll(r.Body)
			if err != nil {
				return nil, err
			}
			*sent = string(raw)
		}
		return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Request: r, Body: io.NopCloser(&pieces{body, func() int { return n }})}, nil
	})}}
}

// Whatever a server says, a stream is in order, the same however its bytes arrive,
// and can go back as JSON.
func FuzzReply(f *testing.F) {
	for _, s := range []string{
		say(`"content":"Hi \ud83d"`) + say(`"content":"\ude00"`) + end,
		say(`"thinking":"Hm","content":"\n"`) + say(`"content":"","tool_calls":[{"id":"c1","function":{"index":0,"name":"add","arguments":{"x":1.50}}}]`) + end,
		say(`"content":"a <tool_call>{\"name\":\"add\",\"arguments\":{}}</tool_call>"`) + end,
		say(`"content":null,"x":[1],"tool_calls":[1,{"function":{"arguments":"{"}}]`) + strings.Replace(end, `"stop"`, `"length"`, 1),
		`{"error":"boom"}` + "\n", "data: " + end, "{\n\"done\":\ntrue}", "\ufeff\r\n[DONE]\n{",
	} {
		f.Add(s, uint8(3))
	}
	f.Fuzz(func(t *testing.T, body string, n uint8) {
		sent := ""
		req := asking()
		got, err := hear(t, speaks(body, 1<<20, &sent), req)
		again, err2 := hear(t, speaks(body, int(n)%7+1, &sent), req)
		if (err == nil) != (err2 == nil) || err == nil && !reflect.DeepEqual(got, again) {
			t.Fatalf("in one piece %+v, %v; in pieces %+v, %v", got, err, again, err2)
		}
		if err != nil {
			if failure(t, err).Code == "" {
				t.Errorf("an error without a code: %v", err)
			}
			return
		}
		req.View = append(req.View, answered(got, "done")...)
		if _, err := hear(t, speaks(end, 100, &sent), req); err != nil {
			t.Fatal(err)
		}
		if !json.Valid([]byte(sent)) {
			t.Errorf("no JSON: %s", sent)
		}
	})
}

func FuzzHost(f *testing.F) {
	for _, s := range []string{"", ":1", "[::1]:2", "http://a:b@c/d/v1", "0.0.0.0", "https://h?x#y"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, host string) {
		got, err := base(t, ollama.Model{ID: "m", Base: host, Env: env()})
		if err != nil {
			if failure(t, err).Code == "" {
				t.Errorf("an error without a code: %v", err)
			}
			return
		}
		u, err := url.Parse(got)
		if err != nil || u.Hostname() == "" || u.Port() == "" || u.User != nil || u.Scheme != "http" && u.Scheme != "https" {
			t.Errorf("%q became %q: %v", host, got, err)
		}
	})
}

func BenchmarkStream(b *testing.B) {
	body := strings.Repeat(say(`"content":" word"`), 1000) + end
	sent := ""
	m := speaks(body, 1<<20, &sent)
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := uzda.Collect(m.Stream(b.Context(), modeltest.Hello()), nil); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkStep is one more request of a session of 400 steps.
func BenchmarkStep(b *testing.B) {
	sent := ""
	m := speaks(say(`"content":"","tool_calls":[{"id":"c1","function":{"index":0,"name":"add","arguments":{"x":1}}}]`)+end, 1<<20, &sent)
	req := asking()
	req.Enc = &uzda.Enc{}
	got, err := hear(b, m, req)
	if err != nil {
		b.Fatal(err)
	}
	for range 400 {
		req.View = append(req.View, answered(got, strings.Repeat("x", 1000))...)
	}
	if _, err := hear(b, m, req); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := uzda.Collect(m.Stream(b.Context(), req), nil); err != nil {
			b.Fatal(err)
		}
	}
}
