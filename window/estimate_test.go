package window_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/uzda-dev/uzda/window"
)

// C1 M6: a text is never counted as its length over four where that is wrong:
// scripts, digits, white space and punctuation differ.
func TestEstimateByScript(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		what, text string
		low, high  int
	}{
		{"nothing", "", 0, 0},
		{"a word", "hello", 1, 2},
		{"English", strings.Repeat("The quick brown fox jumps over the lazy dog. ", 20), 190, 280},
		{"Polish", strings.Repeat("Zażółć gęślą jaźń, proszę. ", 20), 160, 300},
		{"Russian", strings.Repeat("Съешь ещё этих мягких французских булок. ", 20), 240, 400},
		{"Chinese: about 1.5 runes a token", strings.Repeat("快速的棕色狐狸跳过懒狗", 20), 130, 220},
		{"Japanese", strings.Repeat("素早い茶色の狐はのろまな犬を飛び越える", 20), 200, 380},
		{"digits are dense", strings.Repeat("4821093 ", 50), 140, 200},
		{"JSON is dense", strings.Repeat(`{"id":17,"name":"x","ok":true},`, 50), 600, 1200},
		{"a line of dashes is not", strings.Repeat("-", 400), 10, 100},
		{"nor is indentation", strings.Repeat(" ", 4000) + "x", 10, 300},
		{"emoji", strings.Repeat("😀", 50), 50, 150},
		{"what is no UTF-8", strings.Repeat("\xff", 100), 100, 200},
	} {
		if got := window.Estimate(c.text); got < c.low || got > c.high {
			t.Errorf("%s: %d tokens of %d bytes, want %d to %d", c.what, got, len(c.text), c.low, c.high)
		}
	}
}

// M6: against what providers counted for replies of text, in recorded traffic:
// in sum it is near, and rather above than below.
func TestEstimateAgainstRecordedCounts(t *testing.T) {
	t.Parallel()
	estimated, counted, n := 0, 0, 0
	for _, api := range []string{"anthropic-messages", "openai-chat", "openai-compat"} {
		files, _ := filepath.Glob(filepath.Join(shared(t), "cassettes", api, "*.json"))
		if len(files) == 0 {
			t.Skipf("SKIPPED: no recorded traffic of %s; set UZDA_SHARED", api)
		}
		for _, f := range files {
			text, tokens := reply(t, f)
			if tokens < 20 || text == "" {
				continue
			}
			n++
			estimated, counted = estimated+window.Estimate(text), counted+tokens
		}
	}
	ratio := float64(estimated) / float64(counted)
	t.Logf("%d replies: %d tokens estimated, %d counted: %.2f", n, estimated, counted, ratio)
	if n < 20 || ratio < 0.9 || ratio > 1.35 {
		t.Errorf("%d replies: the estimate is %.2f times the count", n, ratio)
	}
}

// reply is the text of a reply without thinking or calls, whole or streamed,
// and its tokens as the provider counted them.
func reply(t *testing.T, file string) (text string, tokens int) {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var ex struct{ Response struct{ Body string } }
	if json.Unmarshal(raw, &ex) != nil {
		return "", 0
	}
	chunks := []string{ex.Response.Body}
	if !strings.HasPrefix(strings.TrimSpace(ex.Response.Body), "{") {
		chunks = nil
		for line := range strings.Lines(ex.Response.Body) {
			if data, ok := strings.CutPrefix(line, "data:"); ok {
				chunks = append(chunks, data)
			}
		}
	}
	for _, c := range chunks {
		for _, word := range []string{"thinking", "tool_use", "tool_calls\":[", "reasoning", "citations"} {
			if strings.Contains(c, word) && !strings.Contains(c, `"reasoning_tokens":0`) {
				return "", 0
			}
		}
		more, n := piece(c)
		text, tokens = text+more, max(tokens, n)
	}
	return text, tokens
}

// piece is the text of a body, or of one event of a stream, and its count.
func piece(raw string) (text string, tokens int) {
	type said struct{ Content any }
	var body struct {
		Content []struct{ Type, Text string }
		Delta   struct{ Type, Text string }
		Choices []struct{ Message, Delta said }
		Usage   struct {
			Output int `json:"output_tokens"`
			Tokens int `json:"completion_tokens"`
		}
	}
	if json.Unmarshal([]byte(raw), &body) != nil {
		return "", 0
	}
	text = body.Delta.Text
	for _, c := range body.Content {
		text += c.Text
	}
	for _, c := range body.Choices {
		for _, s := range []any{c.Message.Content, c.Delta.Content} {
			if s, ok := s.(string); ok {
				text += s
			}
		}
	}
	return text, body.Usage.Output + body.Usage.Tokens
}

// FuzzEstimate: it never panics, and more text is never fewer tokens by much.
func FuzzEstimate(f *testing.F) {
	f.Add("hello, 世界 \xff 123\n\n  x", "---")
	f.Fuzz(func(t *testing.T, a, b string) {
		x, both := window.Estimate(a), window.Estimate(a+b)
		if x < 0 || both+2 < x-len(a) || both > 2*(len(a)+len(b))+2 {
			t.Errorf("%q: %d; with %q: %d", a, x, b, both)
		}
	})
}

// M6: counting is most of what weighing costs.
func BenchmarkEstimate(b *testing.B) {
	for name, text := range map[string]string{
		"English": strings.Repeat("The quick brown fox jumps over the lazy dog. ", 1000),
		"code":    strings.Repeat("func main() { return parse(in[42:]) }\n", 1000),
		"Polish":  strings.Repeat("Zażółć gęślą jaźń, proszę. ", 1000),
		"Russian": strings.Repeat("Съешь ещё этих мягких французских булок. ", 1000),
		"Chinese": strings.Repeat("快速的棕色狐狸跳过懒狗", 1000),
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				window.Estimate(text)
			}
		})
	}
}
