package window_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/window"
)

// calls is a view in which each call has a result, one reply each.
func calls(tools []uzda.ToolSpec, uses ...[3]string) uzda.View {
	v := uzda.View{Budget: 10_000, Model: uzda.ModelInfo{Window: 20_000}, Head: uzda.Head{Tools: tools}}
	v.Entries = append(v.Entries, uzda.Entry{Seq: 1, Message: uzda.Message{Role: uzda.User, Blocks: uzda.Say("Go on.")}})
	for i, u := range uses {
		seq := uzda.Seq(2*i + 2)
		id := uzda.UseID(fmt.Sprintf("%d.1", seq))
		v.Entries = append(v.Entries,
			uzda.Entry{Seq: seq, Message: uzda.Message{Role: uzda.Assistant, Blocks: uzda.Blocks{uzda.ToolUse{ID: id, Name: u[0], Input: json.RawMessage(u[1])}}}},
			uzda.Entry{Seq: seq + 1, Message: uzda.Message{Role: uzda.User, Blocks: uzda.Blocks{uzda.ToolResult{Use: id, Blocks: uzda.Say(u[2])}}}})
	}
	return v
}

// C1: what would help is named with what it frees; what would not is not named.
func TestAdvice(t *testing.T) {
	t.Parallel()
	text := func(tokens int) string { return strings.Repeat("word ", tokens) }
	reader := uzda.ToolSpec{Name: "read_file", Effects: uzda.Effects{ReadOnly: true}}
	shell := uzda.ToolSpec{Name: "shell"}
	tools := []uzda.ToolSpec{reader, shell}
	read := func(path string, tokens int) [3]string {
		return [3]string{"read_file", fmt.Sprintf(`{"path":%q}`, path), text(tokens)}
	}
	run := func(cmd string, tokens int) [3]string {
		return [3]string{"shell", fmt.Sprintf(`{"command":%q}`, cmd), text(tokens)}
	}
	busy := append(slices.Clone(tools), uzda.ToolSpec{Name: "create_issue", Source: "github", Description: text(900)}, uzda.ToolSpec{Name: "small", Description: "x"}, uzda.ToolSpec{Name: "notes", Description: text(400)})
	for _, c := range []struct {
		what string
		v    uzda.View
		want []string // beginnings of What
		do   string   // in the first of them
		none string   // is in no advice
	}{
		{"three reads of a file", calls(tools, read("src/a.go", 400), read("b.go", 400), read("./src/a.go", 400), read("src/a.go", 400)),
			[]string{"3 reads of src/a.go"}, "the last one is enough", "b.go"},
		{"two runs of a command are no repeat: it may say something else", calls(tools, run("date", 600), run("date", 600)), nil, "", "equal calls"},
		{"one large result", calls(tools, run("cat log", 100), read("long.txt", 3000)), []string{"one result, 4.1 of read_file of long.txt"}, "ask for less", "old tool"},
		{"old results over half", calls(tools, run("a", 700), run("b", 700), run("c", 700), run("d", 10), run("e", 10), run("f", 10)), []string{"3 old tool results"}, "uzda compact", "recall"},
		{"and they can be recalled", calls(append(slices.Clone(tools), uzda.ToolSpec{Name: "recall"}), run("a", 900), run("b", 900), run("c", 900), run("d", 10), run("e", 10), run("f", 10)),
			[]string{"3 old tool results"}, "recall", ""},
		{"a tool that is never called", calls(busy, run("a", 10), run("b", 10), run("c", 10), run("d", 10), run("e", 10)), []string{"3 tools that were never called"}, "github: create_issue (9", "notes"},
		{"which one can't tell before some were called", calls(busy, run("a", 10)), nil, "", "never"},
		{"nothing is wrong", calls(tools, read("a", 100), run("b", 100)), nil, "", ""},
	} {
		r := window.Weigh(c.v)
		got := window.Advise(c.v, r)
		all, _ := json.Marshal(got)
		for i, want := range c.want {
			if i >= len(got) || !strings.HasPrefix(got[i].What, want) || !strings.Contains(got[0].Do, c.do) {
				t.Errorf("%s: %s", c.what, all)
			}
		}
		if len(got) != len(c.want) && (c.want == nil || c.none != "" && strings.Contains(string(all), c.none)) {
			t.Errorf("%s: %s", c.what, all)
		}
		if c.none != "" && strings.Contains(string(all), c.none) {
			t.Errorf("%s: it speaks of %q: %s", c.what, c.none, all)
		}
		for _, a := range got {
			if a.Tokens <= 0 || a.Tokens > r.Total || a.Percent < 1 {
				t.Errorf("%s: it frees %d of %d tokens, %.1f %%", c.what, a.Tokens, r.Total, a.Percent)
			}
		}
	}
	three := calls(tools, read("src/a.go", 400), read("src/a.go", 300), read("src/a.go", 500))
	got := window.Advise(three, window.Weigh(three))
	if want := 16 + window.Estimate(text(400)) + window.Estimate(text(300)); len(got) == 0 || got[0].Tokens != want {
		t.Errorf("of three reads it frees %+v, want %d tokens: all but the last", got, want)
	}
}

// C1 C6: thinking, pictures, the fixed part; the largest first and at most five.
func TestAdviceOnItems(t *testing.T) {
	t.Parallel()
	v := calls([]uzda.ToolSpec{{Name: "a", Description: strings.Repeat("word ", 3000)}, {Name: "b", Source: "server", Description: strings.Repeat("word ", 4000)}, {Name: "c", Description: "small", Effects: uzda.Effects{ReadOnly: true}}},
		[3]string{"a", `{}`, "ok"}, [3]string{"a", `{}`, "ok"}, [3]string{"c", `{"x":1}`, strings.Repeat("word ", 1500)}, [3]string{"c", `{"x":1}`, strings.Repeat("word ", 1500)}, [3]string{"a", `{}`, "ok"})
	v.Entries[1].Message.Blocks = append(uzda.Blocks{uzda.Thinking{Text: strings.Repeat("hmm ", 1200)}}, v.Entries[1].Message.Blocks...)
	v.Entries[0].Message.Blocks = append(v.Entries[0].Message.Blocks, uzda.Media{Type: "image/png", Data: []byte("broken")})
	r := window.Weigh(v)
	got := window.Advise(v, r)
	if len(got) != 5 || !slices.IsSortedFunc(got, func(x, y window.Advice) int { return y.Tokens - x.Tokens }) {
		t.Errorf("%d advices, or not the largest first: %+v", len(got), got)
	}
	all, _ := json.Marshal(got)
	for _, want := range []string{"system prompt and tools, 35.", "server: b (4,0", "never used in this session", "a tool that was never called", "2 equal calls of c", "one result, 6.1 of c"} {
		if !strings.Contains(string(all), want) {
			t.Errorf("nothing of %q: %s", want, all)
		}
	}
	v.Head.Tools, v.Entries = nil, v.Entries[:3]
	all, _ = json.Marshal(window.Advise(v, window.Weigh(v)))
	for _, want := range []string{"the model's thinking", "a picture"} {
		if !strings.Contains(string(all), want) {
			t.Errorf("nothing of %q: %s", want, all)
		}
	}
}
