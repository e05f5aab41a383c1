package modeltest_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/uzda-dev/uzda/model/modeltest"
)

// handle gives a request to a server without a network.
func handle(s *modeltest.Server, path, body string) *httptest.ResponseRecorder {
	req := httptest.NewRequest(http.MethodPost, path, strings.NewReader(body))
	req.Header = http.Header{"Content-Type": {"application/json"}, "X-Api-Key": {"k"}, "Anthropic-Version": {"2023-06-01"}}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, req)
	return w
}

// No request breaks the server: it answers, or says what is wrong, in JSON. What
// it takes is JSON to others too.
func FuzzRequest(f *testing.F) {
	for _, w := range wires {
		f.Add(w.whole)
		f.Add(w.stream)
	}
	for _, seed := range []string{
		talk(hi + "," + ask + "," + res), `{}`, `[]`, `{"messages":[{}]}`, `{"messages":[{"content":[{}]}]}`, `{"messages":[[],1,"x",null]}`,
		`{"model":"m","max_tokens":9,"messages":[` + hi + `],"tools":[{"name":"f","input_schema":{"type":"object","properties":{"a":{"$ref":"#/0/~1"}}}}]}`,
		`{"model":"m","messages":[` + hi + `],"tools":[{"type":"function","function":{"name":"f","parameters":{"type":["object"],"required":[[]],"enum":{},"items":[]}}}]}`,
		`{"model":"m","messages":[` + hi + `,{"role":"assistant","tool_calls":[{"function":{"arguments":"[\"\\ud800\"]"}}]}],"options":{"num_ctx":1e99},"response_format":[]}`,
		`{"system":[{"cache_control":{"type":[]}}],"messages":[{"role":"user","content":[{"type":"tool_result","content":[{"cache_control":1}],"cache_control":{}}]}]}`,
	} {
		f.Add(seed)
	}
	s := modeltest.NewHandler(modeltest.Config{
		Turns: []modeltest.Turn{{Thinking: "hm", Text: "yes", Calls: []modeltest.Call{{Name: "add"}}}}, Loop: true, Keep: 1, Rules: modeltest.Rules{Gemini: true, Echo: true},
	})
	f.Cleanup(s.Close)
	f.Fuzz(func(t *testing.T, body string) {
		for _, path := range []string{"/v1/messages", "/v1/messages/count_tokens", "/v1/chat/completions", "/api/chat"} {
			got := handle(s, path, body)
			if got.Code == http.StatusOK {
				if !json.Valid([]byte(body)) || !utf8.ValidString(body) {
					t.Errorf("%s took %q", path, body)
				}
				continue
			}
			if !json.Valid(got.Body.Bytes()) {
				t.Errorf("%s answered %d %q to %q", path, got.Code, got.Body, body)
			}
		}
	})
}

// Whatever is scripted, what goes out is well formed, and cutting it into deltas
// loses nothing.
func FuzzReply(f *testing.F) {
	f.Add("text \U0001F389 \" \\ \n", `{"a":"żółć 🎉"}`, 5, false, false)
	f.Add("\x00\x1f\u2028", `{"a":`, 1, true, true)
	f.Add("\xff\xc5", "\xff", 2, true, false)
	f.Fuzz(func(t *testing.T, text, input string, piece int, ascii, ragged bool) {
		if input == "" || text == "" || piece < -1 {
			return
		}
		shape := modeltest.Shape{Piece: piece, ASCII: ascii, Ragged: ragged}
		s := modeltest.NewHandler(modeltest.Config{
			Turns: []modeltest.Turn{{Text: text, Calls: []modeltest.Call{{Name: "f", Input: input}}}}, Loop: true, Shape: shape,
		})
		defer s.Close()
		var texts, inputs strings.Builder // what stands between the quotes, joined
		add := func(to *strings.Builder, raw json.RawMessage) {
			if len(raw) > 1 {
				to.Write(raw[1 : len(raw)-1])
			}
		}
		for line := range strings.Lines(handle(s, "/v1/messages", wires[0].stream).Body.String()) {
			data, ok := strings.CutPrefix(line, "data: ")
			if !ok {
				continue
			}
			var event struct {
				Delta struct {
					Text  json.RawMessage `json:"text"`
					Input json.RawMessage `json:"partial_json"`
				} `json:"delta"`
			}
			if err := json.Unmarshal([]byte(data), &event); err != nil {
				t.Fatalf("%v: %q", err, data)
			}
			add(&texts, event.Delta.Text)
			add(&inputs, event.Delta.Input)
		}
		for got, want := range map[string]string{texts.String(): text, inputs.String(): input} {
			var back string
			if err := json.Unmarshal([]byte(`"`+got+`"`), &back); err != nil || utf8.ValidString(want) && back != want {
				t.Errorf("%q came as %q: %v", want, got, err)
			}
		}
	})
}
