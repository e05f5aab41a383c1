package anthropic_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/uzda-dev/uzda"
)

// memory answers without a network.
type memory struct{ body string }

func (m memory) RoundTrip(req *http.Request) (*http.Response, error) {
	if _, err := io.Copy(io.Discard, req.Body); err != nil {
		return nil, err
	}
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"text/event-stream"}},
		Body: io.NopCloser(strings.NewReader(m.body)), ContentLength: -1, Request: req}, nil
}

func BenchmarkDecode1000Deltas(b *testing.B) {
	deltas := make([]string, 1000)
	for i := range deltas {
		deltas[i] = `{"type":"text_delta","text":"eleven byte"}`
	}
	body := stream("end_turn", block(0, `{"type":"text","text":""}`, deltas...))
	r := &replay{}
	m := r.at("bench")
	m.HTTP = &http.Client{Transport: memory{body}}
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		must(b, m, hello())
	}
}

// steps are the messages of so many steps of 1 KB.
func steps(n int) []uzda.Message {
	view := []uzda.Message{said("go")}
	for i := range n {
		m := uzda.Message{Role: uzda.Assistant, Blocks: uzda.Blocks{uzda.Text{Text: strings.Repeat("word ", 50)},
			uzda.ToolUse{ID: uzda.UseID(fmt.Sprintf("%d.1", i)), Wire: fmt.Sprintf("toolu_%d", i), Name: "f", Input: json.RawMessage(`{"a":1}`)}}}
		view = append(view, m, uzda.Message{Role: uzda.User, Blocks: uzda.Blocks{uzda.ToolResult{Use: m.Uses()[0].ID, Blocks: uzda.Say(strings.Repeat("line\n", 150))}}})
	}
	return view
}

// A step costs the same at the end of a long session as at its begin: only what
// is new is encoded. The allocations of a whole request are counted, with its
// transport.
func TestStepsStayCheap(t *testing.T) {
	r := &replay{}
	m := r.at("steps")
	m.HTTP = &http.Client{Transport: memory{stream("end_turn", text("ok"))}}
	view := hello(steps(410)...).View
	cost := func(at int) float64 {
		req := &uzda.Request{Session: "s", Max: 1000, Enc: &uzda.Enc{}, Head: uzda.Head{System: "s", Tools: []uzda.ToolSpec{spec("f")}}}
		req.View = view[:2*at+1]
		must(t, m, req)
		n := 2*at + 1
		return testing.AllocsPerRun(5, func() {
			n += 2
			req.View = view[:n]
			must(t, m, req)
		})
	}
	early, late := cost(20), cost(400)
	t.Logf("%.0f allocations at step 20, %.0f at step 400", early, late)
	if late > early*1.1+5 {
		t.Errorf("a request has %.0f allocations at step 400, %.0f at step 20", late, early)
	}
}

func benchmarkStep(b *testing.B, at int) {
	r := &replay{}
	m := r.at("bench")
	m.HTTP = &http.Client{Transport: memory{stream("end_turn", text("ok"))}}
	view := hello(steps(at + 1)...).View
	req := &uzda.Request{Session: "s", Max: 1000, Enc: &uzda.Enc{}, Head: uzda.Head{System: "s", Tools: []uzda.ToolSpec{spec("f")}}}
	b.ReportAllocs()
	for b.Loop() {
		b.StopTimer()
		req.View = view[:2*at+1]
		req.Gen++ // encoded anew, without being measured
		must(b, m, req)
		b.StartTimer()
		req.View = view
		must(b, m, req)
	}
}

func BenchmarkStep20(b *testing.B)  { benchmarkStep(b, 20) }
func BenchmarkStep400(b *testing.B) { benchmarkStep(b, 400) }
