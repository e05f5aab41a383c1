package markup_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/uzda-dev/uzda/internal/markup"
)

func known(name string) bool { return name == "read_file" || name == "add" }

type call struct{ name, input, raw string }

// case:U05: tool calls delivered as raw markup are recovered where that is
// unambiguous; where it is not, they are calls with Raw, which get a corrective
// result; talk about markup stays text.
func TestFind(t *testing.T) {
	t.Parallel()
	readA := call{"read_file", `{"path":"a"}`, ""}
	for _, c := range []struct {
		name, text, plain string
		calls             []call
	}{
		// Hermes, Qwen
		{"one", `<tool_call>{"name":"read_file","arguments":{"path":"a"}}</tool_call>`, "", []call{readA}},
		{"text before", "I look.\n\n<tool_call>\n{\"name\":\"read_file\",\"arguments\":{\"path\":\"a\"}}\n</tool_call>", "I look.", []call{readA}},
		{"text after", `<tool_call>{"name":"read_file","arguments":{"path":"a"}}</tool_call> Done.`, "Done.", []call{readA}},
		{"text around", `A <tool_call>{"name":"read_file","arguments":{"path":"a"}}</tool_call> B`, "A\n\nB", []call{readA}},
		{"two", `<tool_call>{"name":"read_file","arguments":{"path":"a"}}</tool_call>` + "\n" + `<tool_call>{"name":"add","arguments":{"y":1,"x":2.50}}</tool_call>`, "",
			[]call{readA, {"add", `{"y":1,"x":2.50}`, ""}}},
		{"two in one tag", "<tool_call>\n{\"name\":\"read_file\",\"arguments\":{\"path\":\"a\"}}\n{\"name\":\"add\"}</tool_call>", "", []call{readA, {"add", "{}", ""}}},
		{"list in a tag", `<tool_call>[{"name":"read_file","arguments":{"path":"a"}},{"name":"add"}]</tool_call>`, "", []call{readA, {"add", "{}", ""}}},
		{"unclosed", `<tool_call>{"name":"read_file","arguments":{"path":"a"}}`, "", []call{readA}},
		{"closed twice", `<tool_call>{"name":"read_file","arguments":{"path":"a"}}</tool_call></tool_call>` + "\n</tool_call>", "", []call{readA}},
		{"a brace too many", `<tool_call>{"name":"read_file","arguments":{"path":"a"}}}</tool_call>`, "", []call{readA}},
		{"closing tag inside a string", `<tool_call>{"name":"read_file","arguments":{"path":"</tool_call>"}}</tool_call>`, "", []call{{"read_file", `{"path":"</tool_call>"}`, ""}}},
		{"arguments in a string", `<tool_call>{"name":"read_file","arguments":"{\"path\":\"a\"}"}</tool_call>`, "", []call{readA}},
		{"arguments null", `<tool_call>{"name":"add","arguments":null}</tool_call>`, "", []call{{"add", "{}", ""}}},
		{"arguments a list", `<tool_call>{"name":"add","arguments":[1]}</tool_call>`, "", []call{{"add", "{}", "[1]"}}},
		{"parameters", `<tool_call>{"name":"read_file","parameters":{"path":"a"}}</tool_call>`, "", []call{readA}},
		{"function object", `<tool_call>{"type":"function","function":{"name":"read_file","arguments":{"path":"a"}}}</tool_call>`, "", []call{readA}},
		{"tool that is not there", `<tool_call>{"name":"rm","arguments":{}}</tool_call>`, "", []call{{"rm", "{}", ""}}},
		{"no name", `<tool_call>{"path":"a"}</tool_call>`, "", []call{{"tool_call", "{}", `{"path":"a"}`}}},
		{"cut", `<tool_call>{"name":"read_file","arguments":{"path":"a`, "", []call{{"read_file", "{}", `{"name":"read_file","arguments":{"path":"a`}}},
		{"a brace too few", `<tool_call>{"name":"read_file","arguments":{"path":"a"}</tool_call>`, "", []call{{"read_file", "{}", `{"name":"read_file","arguments":{"path":"a"}`}}},
		{"Python's quotes", `<tool_call>{'name':'add','arguments':{}}</tool_call>`, "", []call{{"tool_call", "{}", `{'name':'add','arguments':{}}`}}},
		{"opening at the end", "Hm.\n<tool_call>\n", "Hm.", nil},
		// GLM
		{"GLM", "<tool_call>add\n<arg_key>x</arg_key>\n<arg_value>1</arg_value>\n<arg_key>y</arg_key>\n<arg_value>2</arg_value>\n</tool_call>", "", []call{{"add", `{"x":"1","y":"2"}`, ""}}},
		{"no form", "<tool_call>\nadd(1, 2)\n</tool_call>", "", []call{{"tool_call", "{}", "add(1, 2)"}}},
		// Qwen Coder, Llama
		{"function", "<function=read_file>\n<parameter=path>\na\n</parameter>\n</function>", "", []call{readA}},
		{"function in a tag", "<tool_call>\n<function=read_file>\n<parameter=path>\na\n</parameter>\n</function>\n</tool_call>", "", []call{readA}},
		{"two functions in a tag", "<tool_call><function=add></function><function=read_file><parameter=path>a</parameter></function></tool_call>", "", []call{{"add", "{}", ""}, readA}},
		{"function unclosed", "<function=read_file><parameter=path>a</parameter>", "", []call{readA}},
		{"function without parameters", "<function=add></function>", "", []call{{"add", "{}", ""}}},
		{"function with an object", `<function=read_file>{"path":"a"}</function>`, "", []call{readA}},
		{"function with a cut object", `<function=read_file>{"path":"a</function>`, "", []call{{"read_file", "{}", `{"path":"a`}}},
		{"parameter unclosed", "<function=read_file><parameter=path>a</function>", "", []call{{"read_file", "{}", "<parameter=path>a"}}},
		{"value is markup", "<function=read_file><parameter=path>x</parameter> y\n<b></parameter></function>", "", []call{{"read_file", `{"path":"x</parameter> y\n<b>"}`, ""}}},
		{"value with line breaks", "<function=read_file><parameter=path>\n\na\n\n</parameter></function>", "", []call{{"read_file", `{"path":"\na\n"}`, ""}}},
		// Mistral
		{"mistral list", `[TOOL_CALLS][{"name":"read_file","arguments":{"path":"a"}},{"name":"add","arguments":{}}]`, "", []call{readA, {"add", "{}", ""}}},
		{"mistral name", `[TOOL_CALLS]read_file{"path":"a"}[TOOL_CALLS]add[ARGS]{}`, "", []call{readA, {"add", "{}", ""}}},
		{"mistral id", `[TOOL_CALLS]read_file[CALL_ID]Ab12[ARGS]{"path":"a"}</s>`, "", []call{readA}},
		{"mistral cut", `[TOOL_CALLS] [{"name":"read_file","arguments":{"pa`, "", []call{{"read_file", "{}", `[{"name":"read_file","arguments":{"pa`}}},
		// Llama
		{"python tag", `<|python_tag|>{"name":"read_file","parameters":{"path":"a"}}<|eom_id|>`, "", []call{readA}},
		{"python tag twice", `<|python_tag|>{"name":"read_file","parameters":{"path":"a"}}; {"name":"add","parameters":{}}`, "", []call{readA, {"add", "{}", ""}}},
		{"python code", "<|python_tag|>print(1)", "", []call{{"python_tag", "{}", "print(1)"}}},
		// Harmony
		{"harmony", `<|channel|>commentary to=functions.read_file <|constrain|>json<|message|>{"path":"a"}<|call|>`, "", []call{readA}},
		{"harmony whole", `<|channel|>analysis<|message|>I must read.<|end|><|start|>assistant<|channel|>commentary to=functions.read_file <|constrain|>json<|message|>{"path":"a"}<|call|>`, "", []call{readA}},
		{"harmony header first", `<|start|>assistant to=functions.read_file<|channel|>commentary json<|message|>{"path":"<|end|>"}<|call|>`, "", []call{{"read_file", `{"path":"<|end|>"}`, ""}}},
		{"harmony answer", `<|channel|>analysis<|message|>Easy.<|end|><|start|>assistant<|channel|>final<|message|>It is 4.<|return|>`, "It is 4.", nil},
		{"harmony preamble", `<|channel|>commentary<|message|>I read it.<|end|><|start|>assistant<|channel|>commentary to=functions.read_file<|message|>{"path":"a"}<|call|>`, "I read it.", []call{readA}},
		{"harmony cut", `<|channel|>commentary to=functions.read_file <|constrain|>json<|message|>{"path":`, "", []call{{"read_file", "{}", `{"path":`}}},
		// DeepSeek
		{"deepseek", "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>read_file<｜tool▁sep｜>{\"path\":\"a\"}<｜tool▁call▁end｜><｜tool▁call▁begin｜>add<｜tool▁sep｜>{}<｜tool▁call▁end｜><｜tool▁calls▁end｜>", "", []call{readA, {"add", "{}", ""}}},
		{"deepseek older", "Ok.<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>read_file\n```json\n{\"path\":\"a\"}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜><｜end▁of▁sentence｜>", "Ok.", []call{readA}},
		{"deepseek cut", "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>read_file<｜tool▁sep｜>{\"pa", "", []call{{"read_file", "{}", `{"pa`}}},
		// nothing but JSON
		{"bare", ` {"name": "read_file", "arguments": {"path":"a"}}` + "\n", "", []call{readA}},
		{"bare, two", `{"name":"read_file","parameters":{"path":"a"}}` + "\n" + `{"name":"add","parameters":{}}`, "", []call{readA, {"add", "{}", ""}}},
		{"bare list", `[{"name":"read_file","arguments":{"path":"a"}}]`, "", []call{readA}},
		{"fence", "```json\n{\"name\":\"read_file\",\"arguments\":{\"path\":\"a\"}}\n```", "", []call{readA}},
		{"wrapped", `{"tool_calls":[{"type":"function","function":{"name":"read_file","arguments":"{\"path\":\"a\"}"}}]}`, "", []call{readA}},
		// a call behind a thought, one inside
		{"thought", `<think>Maybe <tool_call>{"name":"add"}</tool_call>?</think>` + "\n" + `<tool_call>{"name":"read_file","arguments":{"path":"a"}}</tool_call>`,
			`<think>Maybe <tool_call>{"name":"add"}</tool_call>?</think>`, []call{readA}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			plain, calls, ok := markup.Find(c.text, known)
			if !ok || plain != c.plain {
				t.Errorf("ok %v, plain %q; want %q", ok, plain, c.plain)
			}
			var got []call
			for _, k := range calls {
				got = append(got, call{k.Name, string(k.Input), k.Raw})
			}
			if !slices.Equal(got, c.calls) {
				t.Errorf("calls %q\n want %q", got, c.calls)
			}
			check(t, c.text)
		})
	}
}

// case:U05: what only speaks of markup, and JSON that is an answer, stay text.
func TestTalk(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"", " \n", "Hello.", "`<tool_call>`", "a < b [c] `d",
		"The <tool_call> tag holds JSON, then </tool_call> closes it.",
		"Write `<tool_call>{\"name\":\"add\"}</tool_call>` to call it.",
		"``a ` <tool_call>{\"name\":\"add\"}</tool_call>``",
		"So:\n```xml\n<tool_call>{\"name\":\"add\"}</tool_call>\n```\nThat is all.",
		"So:\n  ~~~\n<function=add></function>\n~~~",
		"```\n<tool_call>{\"name\":\"add\",\"arguments\":{}}</tool_call>",
		"Llama's <|python_tag|> begins a call, Mistral's [TOOL_CALLS] too.",
		"<function=NAME> is how it begins; <|channel|> is another.",
		`{"name":"nobody","arguments":{}}`, `{"name":"add"}`, `{"name":"add","arguments":{},"note":"x"}`, `{"name":"add","arguments":[]}`,
		"The call is {\"name\":\"add\",\"arguments\":{}}", "{\"name\":\"add\",\"arguments\":{}} is the call",
		"```json\n{\"name\":\"add\",\"arguments\":{}}\n```\nis the call", "```json\n{\"title\":1}\n```", `[]`, `[1]`, `{}`, `{"name":`,
		"Maybe <tool_call>{\"name\":\"add\"}</tool_call>, no.</think>It is 4.",
		"<think>Maybe <tool_call>{\"name\":\"add\"}</tool_call></think>It is 4.",
	} {
		plain, calls, ok := markup.Find(text, known)
		if ok || plain != text || calls != nil {
			t.Errorf("%q: ok %v, plain %q, calls %q", text, ok, plain, calls)
		}
		check(t, text)
	}
	if _, _, ok := markup.Find(`{"name":"add","arguments":{}}`, nil); ok {
		t.Error("bare JSON was taken for a call although no tool is known")
	}
}

// L10: plain text is shown as it comes.
func TestScreen(t *testing.T) {
	t.Parallel()
	var s markup.Screen
	for _, c := range [][2]string{
		{"Hel", "Hel"}, {"lo ", "lo"}, {"you", " you"}, {" <b>", " <b>"}, {"<tool", ""}, {"box>", "<toolbox>"}, {"\n<tool_call", ""}, {">x", ""}, {"y", ""},
	} {
		if got := s.Add(c[0]); got != c[1] {
			t.Errorf("after %q %q was shown, want %q", c[0], got, c[1])
		}
	}
	if s.Held() != "\n<tool_call>xy" {
		t.Errorf("held %q", s.Held())
	}
	for text, want := range map[string]int{
		"": 0, "a": 0, "a ": 1, "a <": 2, "{": 1, `{"na`: 4, `{"nb`: 0, `{"title"`: 0, `{"name": "x"}`: 13, "```json\n{": 9, "```go": 0, "```": 3, "`": 1, "`a": 0,
		"[TOOL": 5, "[1": 0, `[{"n`: 4, "x<｜tool▁c": len("<｜tool▁c"),
	} {
		var s markup.Screen
		if s.Add(text); len(s.Held()) != want {
			t.Errorf("of %q, %q is held, want %d bytes", text, s.Held(), want)
		}
	}
}

// check holds for every text: what a screen showed, at any split, begins plain,
// and calls are well formed.
func check(t *testing.T, text string) {
	t.Helper()
	plain, calls, ok := markup.Find(text, known)
	if !ok && (plain != text || calls != nil) {
		t.Errorf("%q: nothing was found, but plain is %q", text, plain)
	}
	for _, c := range calls {
		if c.Name == "" || !strings.HasPrefix(string(c.Input), "{") || !json.Valid(c.Input) || c.Raw != "" && string(c.Input) != "{}" {
			t.Errorf("%q: the call %q is malformed", text, c)
		}
		if utf8.ValidString(text) && !utf8.ValidString(c.Name+string(c.Input)+c.Raw) {
			t.Errorf("%q: the call %q is cut inside a character", text, c)
		}
	}
	for _, step := range []int{1, 3, 7, len(text) + 1} {
		var s markup.Screen
		shown := ""
		for at := 0; at < len(text); at += step {
			shown += s.Add(text[at:min(len(text), at+step)])
		}
		if !strings.HasPrefix(plain, shown) {
			t.Errorf("%q in steps of %d: %q was shown, plain is %q", text, step, shown, plain)
		}
		if shown+s.Held() != text {
			t.Errorf("%q in steps of %d: %q was shown, %q held", text, step, shown, s.Held())
		}
	}
}

func FuzzFind(f *testing.F) {
	for _, s := range []string{
		`a <tool_call>{"name":"add","arguments":{}}</tool_call> b`, "<function=add><parameter=x>1</parameter></function>", `[TOOL_CALLS]add{"x":1}`,
		`<|python_tag|>{"name":"add"}`, `<|channel|>commentary to=functions.add<|message|>{}<|call|>`, "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>add<｜tool▁sep｜>{}<｜tool▁call▁end｜>",
		"```json\n{\"name\":\"add\",\"arguments\":{}}\n```", "<think>`</think>~~~\n<tool_call>add<arg_key>k</arg_key><arg_value>v</arg_value></tool_call>",
	} {
		f.Add(s)
	}
	f.Fuzz(check)
}

// hostile are units that cost much where each is looked for in all that follows.
var hostile = []string{
	"<tool_call>", "<tool_call>{", `<tool_call>{"a":"`, "<think>", "`", "`a``b```c", "~~~", "<|channel|>", "<|start|>a<|message|>", "[TOOL_CALLS]", "[TOOL_CALLS][",
	"<function=a><parameter=b>", "<function=a><parameter=b>c</parameter>", "<function=a>{", "<|python_tag|>{", "<｜tool▁call▁begin｜>", "<｜tool▁call▁begin｜>a<｜tool▁sep｜>", " ", "\n", "<", "[", "{", `{"name":`, "</think>",
	"<tool_call>a</tool_call>", "<tool_call>\na<arg_key>b</arg_key><arg_value>c</arg_value>", "<tool_call> ", "```\n", "`` ` ",
	"<function=a><parameter=b>c</function>\n", "<function=a><parameter=b>c</parameter>d</function>\n", "<function=a><parameter=b>c</parameter><parameter=d>e</function>\n", "<function=a></function>b ",
}

func whole(text string) {
	markup.Find(text, known)
	var s markup.Screen
	for at := 0; at < len(text); at += 4 {
		s.Add(text[at:min(len(text), at+4)])
	}
}

func TestHostile(t *testing.T) {
	t.Parallel()
	for _, unit := range hostile {
		check(t, strings.Repeat(unit, 2000/len(unit)))
		whole(strings.Repeat(unit, 50_000/len(unit)))
	}
}

// Hostile texts take time in proportion to their length: the two sizes of a unit
// have about the same ns/byte.
func BenchmarkHostile(b *testing.B) {
	for _, unit := range hostile {
		for _, size := range []int{50_000, 500_000} {
			b.Run(fmt.Sprintf("%q/%d", unit, size), func(b *testing.B) {
				text := strings.Repeat(unit, size/len(unit))
				for b.Loop() {
					whole(text)
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(text)), "ns/byte")
			})
		}
	}
}

func BenchmarkFind(b *testing.B) {
	text := strings.Repeat("Some words of an answer, a < b and [1].\n", 1000)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		markup.Find(text, known)
	}
}

func BenchmarkScreen(b *testing.B) {
	b.ReportAllocs()
	var s markup.Screen
	for b.Loop() {
		s.Add(" word")
	}
}
