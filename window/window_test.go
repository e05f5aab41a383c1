package window_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"image"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/window"
)

var update = flag.Bool("update", false, "write the goldens anew")

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

func shared(t *testing.T) string {
	t.Helper()
	if dir := os.Getenv("UZDA_SHARED"); dir != "" {
		return dir
	}
	dir, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	for filepath.Dir(dir) != dir {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			break
		}
		dir = filepath.Dir(dir)
	}
	return filepath.Join(filepath.Dir(dir), "shared")
}

func picture(t *testing.T) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, 750, 300))); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func world(t *testing.T) (uzda.Head, []uzda.Entry) {
	head := uzda.Head{Model: "m", System: strings.Repeat("Answer briefly. ", 20), Tools: []uzda.ToolSpec{
		{Name: "read_file", Description: "Read a file. Use it before you edit.", Input: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}`)},
		{Name: "検索", Description: "Search."},
	}}
	use := func(id, name, in string) uzda.ToolUse {
		return uzda.ToolUse{ID: uzda.UseID(id), Name: name, Input: json.RawMessage(in)}
	}
	view := []uzda.Entry{
		{Seq: 2, Message: uzda.Message{Role: uzda.User, Blocks: uzda.Blocks{uzda.Text{Text: "What does the parser do?"}, uzda.Media{Type: "image/png", Data: picture(t)}}}},
		{Seq: 5, Message: uzda.Message{Role: uzda.Assistant, Blocks: uzda.Blocks{uzda.Thinking{Text: "I should read it first."}, uzda.Text{Text: "I read it."},
			use("5.1", "read_file", `{"path":"parser.go"}`), use("5.2", "検索", `{"q":"parser"}`)}}},
		{Seq: 9, Message: uzda.Message{Role: uzda.User, Blocks: uzda.Blocks{
			uzda.ToolResult{Use: "5.1", Blocks: uzda.Say(strings.Repeat("func parse(in []byte) error { return nil }\n", 200))},
			uzda.ToolResult{Use: "5.2", Blocks: uzda.Say(strings.Repeat("結果です。", 100))}}}},
		{Seq: 11, Message: uzda.Message{Role: uzda.Assistant, Blocks: uzda.Say("It reads bytes.")}},
		{Seq: 12, Message: uzda.Message{Role: uzda.User, Blocks: uzda.Say("And the errors?")}},
	}
	return head, view
}

func item(r window.Report, name string) window.Item {
	for _, it := range r.Items {
		if it.Name == name {
			return it
		}
	}
	return window.Item{}
}

// C1: each part is in its item, per tool where tools are, and the items add up.
func TestBreakdownByItem(t *testing.T) {
	t.Parallel()
	head, view := world(t)
	r := window.Breakdown(head, view, "3 steps left", uzda.Usage{}, uzda.ModelInfo{Window: 10_000})
	if r.Calibrated || r.Factor != 1 {
		t.Errorf("calibrated without a usage: %+v", r)
	}
	sum, pc := 0, 0.0
	for _, it := range r.Items {
		sum, pc = sum+it.Tokens, pc+it.Percent
		parts := 0
		for _, p := range it.Parts {
			parts += p.Tokens
		}
		if len(it.Parts) > 0 && parts != it.Tokens {
			t.Errorf("%s: the parts have %d tokens, the whole %d", it.Name, parts, it.Tokens)
		}
	}
	if sum != r.Total || math.Abs(pc-r.Percent) > 0.1 {
		t.Errorf("the items have %d tokens and %.2f %%, the total is %d and %.2f %%", sum, pc, r.Total, r.Percent)
	}
	if m := item(r, window.Media); m.Tokens != 300 {
		t.Errorf("a picture of 750 by 300: %d tokens, want 300", m.Tokens)
	}
	res := item(r, window.Results)
	if len(res.Parts) != 2 || res.Parts[0].Name != "read_file" || res.Parts[0].Tokens <= res.Parts[1].Tokens {
		t.Errorf("results: %+v", res)
	}
	for name, want := range map[string]int{window.Question: 4 + window.Estimate("And the errors?"), window.Tail: window.Estimate("3 steps left"),
		window.System: window.Estimate(head.System), window.Thinking: 4 + window.Estimate("I should read it first.")} {
		if got := item(r, name).Tokens; got != want {
			t.Errorf("%s: %d tokens, want %d", name, got, want)
		}
	}
}

// C1 M6: the last reply's usage calibrates; a lower bound, or an edit since, does not.
func TestCalibration(t *testing.T) {
	t.Parallel()
	head, view := world(t)
	plain := window.Breakdown(head, view[:3], "", uzda.Usage{}, uzda.ModelInfo{Window: 100_000})
	for _, c := range []struct {
		what   string
		used   uzda.Usage
		edit   uzda.Seq
		factor float64
	}{
		{"half as much again, cached or not", uzda.Usage{Input: plain.Total / 2, CacheRead: plain.Total, Output: 9}, 0, 1.5},
		{"fewer than estimated", uzda.Usage{Input: plain.Total / 2}, 0, 0.5},
		{"no usage", uzda.Usage{}, 0, 1},
		{"a lower bound", uzda.Usage{Input: plain.Total * 2, AtLeast: true}, 0, 1},
		{"edited before the reply", uzda.Usage{Input: plain.Total * 2}, 10, 2},
		{"edited since", uzda.Usage{Input: plain.Total * 2}, 13, 1},
		{"out of all proportion", uzda.Usage{Input: plain.Total * 50}, 0, 4},
	} {
		v := append([]uzda.Entry(nil), view...)
		v[0].Edit = c.edit
		r := window.Breakdown(head, v, "", c.used, uzda.ModelInfo{Window: 100_000})
		if math.Abs(r.Factor-c.factor) > 0.01 || r.Calibrated != (c.factor != 1) {
			t.Errorf("%s: factor %.3f, calibrated %v, want %.2f", c.what, r.Factor, r.Calibrated, c.factor)
		}
		raw := window.Breakdown(head, v, "", uzda.Usage{}, uzda.ModelInfo{Window: 100_000})
		if math.Abs(float64(r.Total)-r.Factor*float64(raw.Total)) > 10 {
			t.Errorf("%s: %d tokens, estimated %d times %.2f", c.what, r.Total, raw.Total, r.Factor)
		}
	}
	short := window.Breakdown(uzda.Head{}, []uzda.Entry{{Seq: 1, Message: uzda.Message{Role: uzda.User, Blocks: uzda.Say("hi")}}, {Seq: 2, Message: uzda.Message{Role: uzda.Assistant, Blocks: uzda.Say("hi")}}},
		"", uzda.Usage{Input: 350}, uzda.ModelInfo{})
	if short.Factor != 2 {
		t.Errorf("what a provider adds to two words multiplies all by %.2f", short.Factor)
	}
}

// C1: the states begin at 0.70 and 0.85; C6: head over half the window is named.
func TestStates(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		tokens, window int
		want           window.State
	}{{0, 1000, window.OK}, {699, 1000, window.OK}, {700, 1000, window.Warning}, {849, 1000, window.Warning}, {850, 1000, window.Hard}, {2000, 1000, window.Hard}, {5, 0, window.Unknown}} {
		if got := window.StateOf(c.tokens, c.window); got != c.want {
			t.Errorf("%d of %d: %s, want %s", c.tokens, c.window, got, c.want)
		}
	}
	head, view := world(t)
	whole := window.Breakdown(head, view, "", uzda.Usage{}, uzda.ModelInfo{})
	if whole.State != window.Unknown || whole.FixedTooLarge() || whole.Percent != 0 {
		t.Errorf("a window of unknown size: %+v", whole)
	}
	fixed := item(whole, window.System).Tokens + item(whole, window.Tools).Tokens
	for size, want := range map[int]bool{2*fixed + 10: false, 2*fixed - 10: true} {
		if got := window.Breakdown(head, nil, "a tail", uzda.Usage{}, uzda.ModelInfo{Window: size}); got.FixedTooLarge() != want {
			t.Errorf("%d fixed tokens in a window of %d: %v", fixed, size, got.FixedTooLarge())
		}
	}
	empty := window.Breakdown(uzda.Head{}, nil, "", uzda.Usage{}, uzda.ModelInfo{Window: 100})
	if empty.Total != 0 || empty.State != window.OK || len(empty.Items) != 0 {
		t.Errorf("nothing: %+v", empty)
	}
}

// C1: as people and scripts see it.
func TestReportGoldens(t *testing.T) {
	t.Parallel()
	head, view := world(t)
	var text bytes.Buffer
	for _, size := range []int{6000, 0, 200} {
		r := window.Breakdown(head, view, "3 steps left", uzda.Usage{Input: 4200, Output: 8}, uzda.ModelInfo{Window: size})
		if err := r.WriteText(&text, 80); err != nil {
			t.Fatal(err)
		}
		text.WriteString("\n")
	}
	golden(t, "report.txt", text.Bytes())
	for line := range strings.Lines(text.String()) {
		if before, _, ok := strings.Cut(line, "#"); ok && uzda.Columns(before) != 47 {
			t.Errorf("not aligned: %s", line)
		}
	}
	raw, err := json.MarshalIndent(window.Breakdown(head, view, "", uzda.Usage{Input: 4200}, uzda.ModelInfo{Window: 6000}), "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "report.json", append(raw, '\n'))
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

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs (run with -update to accept):\n%s", name, got)
	}
}
