package modeltest_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/uzda-dev/uzda/model/modeltest"
)

// The fast server says what the strict one says, with ids that differ.
func TestUnchecked(t *testing.T) {
	t.Parallel()
	turns := []modeltest.Turn{{Text: "one", Calls: []modeltest.Call{{Name: "add", Input: `{"a":1}`}}}, {Text: "two"}}
	s := modeltest.Serve(t, modeltest.Config{Turns: turns, ByView: true, Loop: true, Unchecked: true})
	seen := map[string]bool{}
	for _, w := range wires {
		for body, stream := range map[string]bool{w.whole: false, strings.Replace(w.stream, `"messages"`, `"stream":true,"messages"`, 1): true} {
			got := post(t, s.URL+w.path, body)
			contains(t, got.body, "one", "add")
			if _, id, _ := strings.Cut(got.body, `"id":"`); seen[id] {
				t.Errorf("the id of %s was there before", id)
			} else {
				seen[id] = true
			}
			if json := strings.HasPrefix(got.header.Get("Content-Type"), "application/json"); json == stream {
				t.Errorf("%s is sent as %s", w.name, got.header.Get("Content-Type"))
			}
		}
		contains(t, post(t, s.URL+w.path, strings.Replace(w.whole, hi, hi+`,{"role":"assistant","content":"x"}`, 1)).body, "two")
	}
	if s.Count() != 9 || s.Requests() != nil && len(s.Requests()) > 0 {
		t.Errorf("%d requests, %d kept", s.Count(), len(s.Requests()))
	}
	if got := call(t, http.MethodGet, s.URL+"/v1/models", ""); got.status != http.StatusNotFound {
		t.Errorf("%+v", got)
	}
	short := modeltest.Serve(t, modeltest.Config{Turns: turns, Unchecked: true})
	for _, want := range []string{"one", "two", "no turn 3"} {
		contains(t, post(t, short.URL+wires[1].path, wires[1].whole).body, want)
	}
}

// What a request costs the server itself.
func BenchmarkUnchecked(b *testing.B) { bench(b, true) }

// The same with every check.
func BenchmarkChecked(b *testing.B) { bench(b, false) }

func bench(b *testing.B, unchecked bool) {
	s := modeltest.NewHandler(modeltest.Config{Turns: []modeltest.Turn{{Text: "one"}}, Loop: true, Unchecked: unchecked, Keep: 1})
	defer s.Close()
	list := hi
	for range 400 {
		list += `,{"role":"assistant","content":"` + strings.Repeat("x", 100) + `"},` + hi
	}
	body := `{"model":"m","stream":true,"messages":[` + list + `]}`
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		req := httptest.NewRequest(http.MethodPost, "/v1/chat/completions", strings.NewReader(body))
		req.Header = http.Header{"Content-Type": {"application/json"}, "X-Api-Key": {"k"}}
		w := httptest.NewRecorder()
		s.ServeHTTP(w, req)
		if w.Code != http.StatusOK {
			b.Fatal(w.Body)
		}
		_, _ = io.Copy(io.Discard, w.Body)
	}
}
