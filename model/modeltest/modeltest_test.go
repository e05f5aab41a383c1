package modeltest_test

import (
	"context"
	"iter"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/model/modeltest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// parrot is the smallest model that keeps the contract.
type parrot struct{ wait time.Duration }

func (p parrot) Stream(ctx context.Context, req *uzda.Request) iter.Seq2[uzda.Chunk, error] {
	return func(yield func(uzda.Chunk, error) bool) {
		select {
		case <-ctx.Done():
		case <-time.After(p.wait):
		}
		text := req.View[len(req.View)-1].Message.String()
		for _, c := range []uzda.Chunk{
			uzda.Delta{Kind: "text", Text: text}, uzda.Done{Block: uzda.Text{Text: text}}, uzda.Stop{Reason: uzda.StopEnd},
		} {
			if err := ctx.Err(); err != nil {
				yield(nil, err)
				return
			}
			if !yield(c, nil) {
				return
			}
		}
	}
}

// The suite lets a right model pass, in real and in simulated time. L10
func TestRightModel(t *testing.T) {
	for name, virtual := range map[string]bool{"real": false, "virtual": true} {
		t.Run(name, func(t *testing.T) {
			modeltest.Run(t, func() uzda.Model { return parrot{} }, modeltest.Options{
				Slow: func() uzda.Model { return parrot{time.Hour} }, Virtual: virtual, Same: true,
			})
		})
	}
}

// M1: what a stream must not do is found and named.
func TestOrder(t *testing.T) {
	t.Parallel()
	text := func(s string) uzda.Chunk { return uzda.Done{Block: uzda.Text{Text: s}} }
	use := func(u uzda.ToolUse) uzda.Chunk { return uzda.Done{Block: u} }
	delta := func(n int, s string) uzda.Chunk { return uzda.Delta{Block: n, Kind: "text", Text: s} }
	end := uzda.Stop{Reason: uzda.StopEnd}
	for _, c := range []struct {
		want   string
		chunks []uzda.Chunk
	}{
		{"", []uzda.Chunk{end}},
		{"", []uzda.Chunk{delta(0, "a"), delta(0, "b"), text("ab"), text("c"), end}},
		{"", []uzda.Chunk{delta(0, "lost"), uzda.Attempt{N: 2}, delta(0, "a"), text("a"), end}},
		{"", []uzda.Chunk{use(uzda.ToolUse{Name: "a", Wire: "1", Input: []byte(`{}`), Raw: "{"}), uzda.Stop{Reason: uzda.StopUse}}},
		{"", []uzda.Chunk{delta(0, "cut by the tok"), uzda.Stop{Reason: uzda.StopLength}}},
		{"", []uzda.Chunk{uzda.Warning{Code: "a", Text: "b"}, delta(0, "a"), uzda.Warning{Code: "a", Text: "b"}, text("a"), uzda.Warning{Code: "c", Text: "d"}, end}},
		{"has no code or no text", []uzda.Chunk{uzda.Warning{Code: "a"}, end}},
		{"after the stop", []uzda.Chunk{end, uzda.Warning{Code: "a", Text: "b"}}},
		{"without a stop", nil},
		{"without a stop", []uzda.Chunk{text("a")}},
		{"after the stop", []uzda.Chunk{end, text("a")}},
		{"after the stop", []uzda.Chunk{end, end}},
		{"which is done", []uzda.Chunk{text("a"), delta(0, "a"), end}},
		{`its deltas were "a"`, []uzda.Chunk{delta(0, "a"), text("ab"), end}},
		{"never done", []uzda.Chunk{delta(0, "a"), end}},
		{"inside a character", []uzda.Chunk{delta(0, "\xc5"), delta(0, "\xbb"), text("Ż"), end}},
		{"of text and of thinking", []uzda.Chunk{delta(0, "a"), uzda.Delta{Kind: "thinking", Text: "b"}, end}},
		{"is thinking, its deltas were text", []uzda.Chunk{delta(0, "a"), uzda.Done{Block: uzda.Thinking{Text: "a"}}, end}},
		{`kind of delta "words"`, []uzda.Chunk{uzda.Delta{Kind: "words"}, end}},
		{"after a finished block", []uzda.Chunk{text("a"), uzda.Attempt{N: 2}, end}},
		{"not of the closed set", []uzda.Chunk{uzda.Stop{Reason: "stop"}}},
		{"the provider's word", []uzda.Chunk{uzda.Stop{Reason: uzda.StopUnknown}}},
		{"must stop as tool_use", []uzda.Chunk{use(uzda.ToolUse{Name: "a", Input: []byte(`{}`)}), end}},
		{"no JSON object", []uzda.Chunk{use(uzda.ToolUse{Name: "a"}), end}},
		{"no JSON object", []uzda.Chunk{use(uzda.ToolUse{Name: "a", Input: []byte(`[]`)}), end}},
		{"the loop's to give", []uzda.Chunk{use(uzda.ToolUse{ID: "1.1", Name: "a", Input: []byte(`{}`)}), end}},
		{"has no name", []uzda.Chunk{use(uzda.ToolUse{Input: []byte(`{}`)}), end}},
		{"two uses have the wire id", []uzda.Chunk{
			use(uzda.ToolUse{Name: "a", Wire: "1", Input: []byte(`{}`)}), use(uzda.ToolUse{Name: "a", Wire: "1", Input: []byte(`{}`)}), end,
		}},
		{"does not say a uzda.ToolResult", []uzda.Chunk{uzda.Done{Block: uzda.ToolResult{}}, end}},
		{"the item of block 0 is no JSON", []uzda.Chunk{uzda.Done{Block: uzda.Text{}, Item: &uzda.Item{Raw: []byte("{")}}, end}},
		{"not UTF-8", []uzda.Chunk{text("\xff"), end}},
		{"is negative", []uzda.Chunk{uzda.Stop{Reason: uzda.StopEnd, Usage: uzda.Usage{Output: -1}}}},
		{"is no chunk", []uzda.Chunk{nil, end}},
	} {
		err := modeltest.Order(c.chunks)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%#v: the error is %v, not %q", c.chunks, err, c.want)
		}
	}
}
