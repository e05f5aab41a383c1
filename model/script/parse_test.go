package script_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/model/script"
)

// M5: what is wrong with a file is said with its line, its column and the mend.
func TestFaults(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, in, want string }{
		{"unknown key, JSON", "{\"turns\":[\n  {\"txet\":\"hello\"}]}", `f:2:4: turn 1 has no key "txet" (did you mean "text"?); its keys are text, calls, stop,`},
		{"unknown key, YAML", "turns:\n  - text: hello\n    call:\n      - name: ls\n", `f:3:5: turn 1 has no key "call" (did you mean "calls"?)`},
		{"unknown key of the top", `{"turn":[]}`, `f:1:2: the script has no key "turn" (did you mean "turns"?); its keys are turns, loop, agents, by_view, window`},
		{"unknown key of a call", `{"turns":[{"calls":[{"name":"a","arguments":{}}]}]}`, `f:1:33: call 1 has no key "arguments"; its keys are name, input, id`},
		{"unknown key of usage", `{"turns":[{"usage":{"inputs":1}}]}`, `(did you mean "input"?)`},
		{"unknown code", `{"turns":[{"error":{"code":"overload"}}]}`, `f:1:28: "overload" is no code of an error (did you mean "overloaded"?)`},
		{"a key of an agent", `{"agents":{"a":{"turns":[{}],"lop":true}}}`, `agent a has no key "lop" (did you mean "loop"?)`},
		{"no turns", `{}`, "f:1:1: there are no turns"},
		{"empty", "", "f:1:1: the file is empty"},
		{"a list", `[1]`, "f:1:1: the script must be an object, not a list"},
		{"turns no list", `{"turns":{}}`, "f:1:10: turns must be a list, not an object"},
		{"a turn no object", `{"turns":["hi"]}`, "f:1:11: turn 1 must be an object, not a string"},
		{"text no string", "turns:\n- text: 42\n", "f:2:9: text must be a string, not a number; put it in quotes"},
		{"a call without a name", `{"turns":[{"calls":[{"input":{}}]}]}`, "f:1:21: call 1 has no name"},
		{"negative usage", `{"turns":[{"usage":{"input":-1}}]}`, "input must be a whole number from 0"},
		{"negative delay", `{"turns":[{"delay_ms":-1}]}`, "delay_ms must be milliseconds"},
		{"loop no bool", `{"loop":"yes","turns":[{}]}`, "f:1:9: loop must be true or false, not a string"},
		{"a key twice", "{\"turns\":[{\"text\":\"a\",\n\"text\":\"b\"}]}", `f:2:1: the key "text" is there twice`},
		{"cut JSON", "{\"turns\":[\n{\"text\":\"a", "f:2:"},
		{"broken JSON", "{\"turns\":[\n{\"text\" \"a\"}]}", "f:2:"},
		{"more JSON", "{\"turns\":[{}]}\n{}", "f:2:1: there is more after the end of the object"},
		{"broken YAML", "turns:\n  - text: 'a\n", "f:2:"},
		{"two documents", "turns: [{}]\n---\nturns: [{}]\n", "the file has a second document"},
		{"unknown alias", "turns: [*gone]\n", `there is no anchor "gone" before`},
		{"a bad template", "{\"turns\":[{\"text\":\n \"{{result.x.text}}\"}]}", "f:2:2: \"{{result.x.text}}\" begins a template that is none"},
		{"a bad template in a call", `{"turns":[{"calls":[{"name":"a","input":{"b":["{{result.1.row.0.id}"]}}]}]}`, "f:1:47:"},
		{"not UTF-8", "turns:\n- text: \xff\n", "the file is not UTF-8"},
		{"deep", `{"turns":[{"calls":[{"name":"a","input":` + strings.Repeat("[", 200) + strings.Repeat("]", 200) + `}]}]}`, "values nest deeper than 100"},
	} {
		_, err := script.Parse("f", []byte(c.in))
		if err == nil {
			t.Errorf("%s: there is no error", c.name)
		} else if !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: the error is %q, not %q", c.name, err, c.want)
		}
	}
}

// M5: what JSON and YAML write differently means the same.
func TestForms(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, in, input string }{
		{"tabs in JSON", "{\n\t\"turns\":\t[{\"calls\":[{\"name\":\"a\",\"input\":{\"b\":1.50}}]}]}", `{"b":1.50}`},
		{"escapes in JSON", `{"turns":[{"calls":[{"name":"a","input":{"b":"\ud83d\ude00\/\u0041"}}]}]}`, `{"b":"😀/A"}`},
		{"a byte order mark", "\ufeff" + `{"turns":[{"calls":[{"name":"a","input":{"b":1}}]}]}`, `{"b":1}`},
		{"large numbers", "turns: [{calls: [{name: a, input: {b: 90071992547409931, c: 12.50, d: 0x1F, e: .5}}]}]", `{"b":90071992547409931,"c":12.50,"d":31,"e":0.5}`},
		{"comments in braces", "{ # YAML\n  turns: [{calls: [{name: a, input: {b: [true, null, x]}}]}]}", `{"b":[true,null,"x"]}`},
		{"anchors", "turns:\n- calls:\n  - {name: a, input: &in {b: 1}}\n  - {name: a, input: *in}\n", `{"b":1}`},
		{"merging", "turns:\n- calls:\n  - name: a\n    input:\n      <<: &base {b: 1, c: 2}\n      c: 3\n", `{"c":3,"b":1}`},
		{"block texts", "turns:\n- calls:\n  - name: a\n    input:\n      b: |\n        one\n        two\n", `{"b":"one\ntwo\n"}`},
		{"tags", "turns:\n- calls:\n  - name: a\n    input: {b: !!str 42}\n", `{"b":"42"}`},
		{"pretty JSON", "{\"turns\":[{\"calls\":[{\"name\":\"a\",\"input\":{\n  \"b\": 1\n}}]}]}", `{"b":1}`},
	} {
		m, err := script.Parse("f", []byte(c.in))
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		for _, u := range reply(t, m, ask(1)).Message.Uses() {
			var got, want any
			if json.Unmarshal(u.Input, &got) != nil || json.Unmarshal([]byte(c.input), &want) != nil ||
				string(uzda.Canonical(u.Input)) != string(uzda.Canonical([]byte(c.input))) {
				t.Errorf("%s: the input is %s, not %s", c.name, u.Input, c.input)
			}
			if strings.Contains(string(u.Input), "\n") {
				t.Errorf("%s: the input has line breaks", c.name)
			}
		}
	}
}

// An alias that names itself many times over is refused before it fills memory.
func TestAliasBomb(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString("turns:\n- calls:\n  - name: a\n    input:\n      a00: &a00 [x, x, x, x, x, x, x, x, x, x]\n")
	for i := 1; i < 12; i++ {
		b.WriteString(strings.ReplaceAll(strings.ReplaceAll("      aN: &aN [*aM, *aM, *aM, *aM, *aM, *aM, *aM, *aM, *aM, *aM]\n", "N", itoa(i)), "M", itoa(i-1)))
	}
	_, err := script.Parse("f", []byte(b.String()))
	if err == nil || !strings.Contains(err.Error(), "the value is over") {
		t.Errorf("the error is %v", err)
	}
}

func itoa(n int) string { return string(rune('0'+n/10)) + string(rune('0'+n%10)) }

// Whatever a file holds, reading it ends with a script or an error, and a script
// answers with a reply or an error.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{story, storyYAML, `{"turns":[{"error":529}]}`, "turns: &a [*a]", "{a", "- [", "turns:\n- text: '{{result.1.row.0.x}}'", "a: !!binary x", "? [a]\n: b"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := script.Parse("f", data)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "f:") {
				t.Errorf("the error %q has no place", err)
			}
			return
		}
		for i := range m.Turns {
			m.Turns[i].Delay = 0
			r := ask(i + 1)
			r.View = results(filled...)
			for c, err := range m.Stream(t.Context(), r) {
				if err == nil && c == nil {
					t.Error("a chunk is missing")
				}
			}
		}
	})
}
