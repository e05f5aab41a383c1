package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/agent"
)

// A reply that comes cut inside letters and line ends is shown whole, and what is
// recorded of it is shown once, however it came.
func TestFlow(t *testing.T) { // case:T12 L10
	t.Parallel()
	text := "Zażółć 你好 👩\u200d👧\r\nsecond\x1b[2Jline"
	want := "Zażółć 你好 👩\u200d👧\nsecond\\x1b[2Jline\n"
	for cut := 1; cut < len(text); cut++ {
		var out bytes.Buffer
		f := flow{w: &out, p: paint{true}}
		for at := 0; at < len(text); at += cut {
			f.piece(uzda.Delta{Kind: "text", Text: text[at:min(at+cut, len(text))]})
		}
		f.said(uzda.Message{Blocks: uzda.Say(text)})
		if out.String() != want {
			t.Fatalf("in pieces of %d bytes: %q", cut, out.String())
		}
	}
}

// What did not come in pieces is shown when it is recorded; what came otherwise is
// shown as it is recorded.
func TestFlowRecorded(t *testing.T) { // L10
	t.Parallel()
	for _, c := range []struct {
		name   string
		pieces []uzda.Delta
		said   string
		want   string
	}{
		{"no pieces", nil, "all", "all\n"},
		{"the end is missing", []uzda.Delta{{Kind: "text", Text: "a"}}, "all", "all\n"},
		{"nothing said", nil, "", ""},
		{"thought, then said", []uzda.Delta{{Kind: "thinking", Text: "hm"}, {Block: 1, Kind: "text", Text: "all"}}, "all", "hm\nall\n"},
		{"thought only", []uzda.Delta{{Kind: "thinking", Text: "hm"}}, "all", "hm\nall\n"},
		{"another text", []uzda.Delta{{Kind: "text", Text: "key sk-1"}}, "key {{secret:K}}", "key sk-1\n  (what is recorded of it:)\nkey {{secret:K}}\n"},
		{"input is not shown", []uzda.Delta{{Kind: "input", Text: `{"x"`}}, "", ""},
	} {
		var out bytes.Buffer
		f := flow{w: &out, p: paint{true}, thinking: true}
		for _, d := range c.pieces {
			f.piece(d)
		}
		var blocks uzda.Blocks
		if c.said != "" {
			blocks = uzda.Say(c.said)
		}
		f.said(uzda.Message{Blocks: blocks})
		if out.String() != c.want {
			t.Errorf("%s: %q, want %q", c.name, out.String(), c.want)
		}
	}
}

// What a person judges shows what hides in it, and says which words are not what
// they seem; plain text of any language raises no doubt.
func TestDoubts(t *testing.T) { // S1
	t.Parallel()
	for _, c := range []struct{ text, shown, doubt string }{
		{"git push", "git push", ""},
		{"сat /etc/passwd", "сat /etc/passwd", `"сat" is not "cat": с is Cyrillic U+0441`},
		{"rm -rf /tmp/сосо", "rm -rf /tmp/сосо", `is not "coco"`},
		{"curl https://раураl.com", "curl https://раураl.com", `is not "paypal"`},
		{"cat ｆｉｌｅ", "cat ｆｉｌｅ", "fullwidth"},
		{"cat a⁄b", "cat a⁄b", `is not "a/b"`},
		{"rm ‐rf x", "rm ‐rf x", "U+2010"},
		{"echo αβ Οk", "echo αβ Οk", "Greek"},
		{"a\u202eb", `a\u202eb`, "U+202E (turns the direction of writing)"},
		{"a\u200bb\u2060\ufeff", `a\u200bb\u2060\ufeff`, "U+200B (invisible)"},
		{"\x1b[31m\x07", `\x1b[31m\x07`, "U+001B (escape), U+0007 (control)"},
		{"a\u00a0b", `a\u00a0b`, "a blank that is no space"},
		{"x\U000e0041", `x\U000e0041`, "U+E0041"},
		{"a\u115fb\u2800", `a\u115fb\u2800`, "U+115F"},
		{"e\u0301\u0301\u0301\u0301\u0301", "e\u0301\u0301\u0301" + `\u0301\u0301`, ""},
		{" \u0301x", ` \u0301x`, ""},
		{"Zażółć gęślą jaźń", "Zażółć gęślą jaźń", ""},
		{"Это обычный русский текст, и он о коте: у нас есть API-ключ.", "Это обычный русский текст, и он о коте: у нас есть API-ключ.", ""},
		{"你好，世界！Ｔシャツ 100％", "你好，世界！Ｔシャツ 100％", ""},
		{"Ελληνικά και English", "Ελληνικά και English", ""},
		{"👩\u200d👧 ❤\ufe0f 한국어 עברית العربية हिन्दी ไทย", "👩\u200d👧 ❤\ufe0f 한국어 עברית العربية हिन्दी ไทย", ""},
		{"Δt = 5 µs, naïve café", "Δt = 5 µs, naïve café", ""},
		{"line\n\ttabbed", "line\n\ttabbed", ""},
	} {
		if got := exact(c.text); got != c.shown {
			t.Errorf("%q is shown as %q, want %q", c.text, got, c.shown)
		}
		got := strings.Join(doubts(c.text), "; ")
		if (c.doubt == "") != (got == "") || !strings.Contains(got, c.doubt) {
			t.Errorf("%q: doubts %q, want %q", c.text, got, c.doubt)
		}
	}
}

// A call is shown in a frame that no line of it can leave, whatever is in it.
func TestView(t *testing.T) { // S1
	t.Parallel()
	use := func(input, preview string) agent.Open {
		return agent.Open{Name: "x", Input: json.RawMessage(input), Judged: &uzda.Judged{Preview: preview}}
	}
	hostile := strings.Repeat(" ", 76) + "Allow it? y"
	for _, c := range []struct {
		name string
		use  agent.Open
		want []string
	}{
		{"arguments", use(`{"path":"a<b>&c","n":1e3,"list":["\u0441at"]}`, ""), []string{`path: "a<b>&c"`, "n: 1e3", `list: ["сat"]`, "! "}},
		{"lines", use(`{"content":"a\n  b\n"}`, ""), []string{"content, 2 lines:", "│   a", "│     b"}},
		{"no arguments", use(`{}`, ""), []string{"(no arguments)"}},
		{"diff", use(`{}`, "--- a\n+++ a\n@@ -1 +1 @@\n-old\n+new"), []string{"│ -old", "│ +new"}},
		{"carriage return", use(`{}`, "rm -rf x\r\necho harmless\rls"), []string{`rm -rf x\x0d`, `harmless\x0dls`}},
		{"long line", use(`{}`, hostile), []string{"┆ "}},
		{"wide", use(`{}`, strings.Repeat("世界", 40)), []string{"┆ 世"}},
	} {
		text, left := viewOf(c.use).show(paint{true}, 80, false)
		for _, want := range c.want {
			if !strings.Contains(text, want) {
				t.Errorf("%s: %q is not in\n%s", c.name, want, text)
			}
		}
		for line := range strings.Lines(text) {
			line = strings.TrimSuffix(line, "\n")
			if uzda.Columns(line) > 80 || !strings.HasPrefix(line, "  ") {
				t.Errorf("%s: %q leaves the frame", c.name, line)
			}
		}
		if left != 0 {
			t.Errorf("%s: %d rows are left out", c.name, left)
		}
	}
	v := viewOf(use(`{}`, strings.Repeat("x\n", 100)))
	if text, left := v.show(paint{true}, 80, false); left != 100-mostRows || !strings.Contains(text, "76 rows more: v shows all") {
		t.Errorf("%d rows left out of\n%s", left, text)
	}
	if text, left := v.show(paint{true}, 80, true); left != 0 || strings.Count(text, "│") != 100 {
		t.Errorf("the whole has %d rows, %d left", strings.Count(text, "│"), left)
	}
}

// What a call is about, in a few words.
func TestGist(t *testing.T) {
	t.Parallel()
	for input, want := range map[string]string{
		`{"command":"go test ./...\n  -run X"}`: "go test ./... -run X",
		`{"path":"a/ą.go","old":"x","new":"y"}`: "a/ą.go",
		`{"url":"https://e.org/\u202ex"}`:       `https://e.org/\u202ex`,
		`{"pattern":"func","path":"cmd"}`:       "func in cmd",
		`{"op":"append","text":"more"}`:         "append: more",
		`{"items":[1,2,3]}`:                     "3 items",
		`{"x":1}`:                               "", `nonsense`: "", `{"command":7}`: "", `[]`: "",
	} {
		if got := gist(json.RawMessage(input)); got != want {
			t.Errorf("%s: %q, want %q", input, got, want)
		}
	}
}

// What a person types for a ruling; a sentence that only begins like one is none.
func TestRuling(t *testing.T) { // S1
	t.Parallel()
	for typed, want := range map[string]ruling{
		"y": {decision: uzda.Allow}, " YES ": {decision: uzda.Allow}, "s": {decision: uzda.Allow, scope: "session"}, "rule": {decision: uzda.Allow, scope: "rule"},
		"n": {decision: uzda.Deny}, "n because it is late": {decision: uzda.Deny, reason: "because it is late"}, "No, wrong file": {decision: uzda.Deny, reason: "wrong file"},
		"l": {decision: left}, "a": {decision: all}, "v": {decision: whole},
	} {
		if got, ok := rulingOf(typed); !ok || got != want {
			t.Errorf("%q is %+v, %v", typed, got, ok)
		}
	}
	for _, typed := range []string{"", "yes please", "nothing", "yn", "all of them", "да", "ｙ", "y y"} {
		if got, ok := rulingOf(typed); ok {
			t.Errorf("%q is taken for %+v", typed, got)
		}
	}
}

// A command is a slash and a word; a path or a sentence is a message.
func TestCommands(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, name, more string }{
		{"/help", "help", ""}, {"/cost  ", "cost", ""}, {"/contxt", "contxt", ""},
		{"/compact focus on numbers", "compact", "focus on numbers"}, {"/context now", "context", "now"}, {"/quit\nnow", "quit", "now"},
		{"/etc/hosts is broken", "", ""}, {"/usr is full", "", ""}, {"/compact/x is a path", "", ""}, {" /help", "", ""}, {"/", "", ""}, {"help", "", ""},
	} {
		name, more, ok := command(c.text)
		if ok != (c.name != "") || ok && (name != c.name || more != c.more) {
			t.Errorf("%q is the command %q with %q, %v", c.text, name, more, ok)
		}
	}
}

// What /help says fits a terminal.
func TestChatHelp(t *testing.T) {
	t.Parallel()
	for line := range strings.Lines(chatHelp()) {
		if n := uzda.Columns(strings.TrimSuffix(line, "\n")); n >= 80 {
			t.Errorf("a line of %d columns: %q", n, line)
		}
	}
}

// Whatever a call holds, its view stays in its frame and moves no cursor.
func FuzzView(f *testing.F) {
	for _, seed := range []string{"rm -rf /", "a\u202eb\x1b[2J", "сat\r\n\u0301\u0301", strings.Repeat("世", 100), "\xff\xfe", "@@ -1 +1 @@\n-a"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		raw, err := json.Marshal(map[string]string{"text": text})
		if err != nil {
			t.Skip()
		}
		for _, u := range []agent.Open{{Input: raw, Judged: &uzda.Judged{}}, {Judged: &uzda.Judged{Preview: text + "x"}}} {
			shown, _ := viewOf(u).show(paint{true}, 80, true)
			if strings.ContainsFunc(strings.ReplaceAll(shown, "\n", ""), odd) {
				t.Errorf("%q is shown as %q", text, shown)
			}
			for line := range strings.Lines(shown) {
				if !strings.HasPrefix(line, "  ") || uzda.Columns(line) > 82 && utf8.ValidString(text) {
					t.Errorf("%q leaves the frame: %q", text, line)
				}
			}
		}
	})
}
