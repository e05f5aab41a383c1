package modeltest_test

import (
	"strings"
	"testing"

	"github.com/uzda-dev/uzda/model/modeltest"
)

// Each change of a prefix is found where it is, byte for byte; cache markers and
// tails are told apart.
func TestExtends(t *testing.T) { // case:C08
	t.Parallel()
	block := func(s string) string { return `{"role":"user","content":[{"type":"text","text":"` + s + `"}]}` }
	messages := func(system, tools, list string) string {
		return `{"model":"m","max_tokens":9,"system":"` + system + `","tools":[` + tools + `],"messages":[` + list + `]}`
	}
	chat := func(list string) string { return `{"model":"m","messages":[` + list + `]}` }
	const a = `{"role":"assistant","content":[{"type":"text","text":"a"}]}`
	base := messages("s", tool, block("one")+","+a+","+block("two"))
	for _, c := range []struct{ name, path, before, after, want string }{
		{"same", "/v1/messages", base, base, "nothing changed"},
		{"longer", "/v1/messages", base, messages("s", tool, block("one")+","+a+","+block("two")+","+a+","+block("three")), "nothing changed"},
		{"marker comes", "/v1/messages", base, strings.Replace(base, `"text":"two"}`, `"text":"two","cache_control":{"type":"ephemeral"}}`, 1), "nothing changed"},
		{"marker first", "/v1/messages", base, strings.Replace(base, `{"type":"text","text":"two"}`, `{"cache_control":{"type":"ephemeral"}, "type":"text","text":"two"}`, 1), "nothing changed"},
		{"marker alone", "/v1/messages", messages("s", tool, block("one")), `{"model":"m","max_tokens":9,"system":[{"type":"text","text":"s","cache_control":{"type":"ephemeral"}}],"tools":[` + tool + `],"messages":[` + block("one") + `]}`, "system changed"},
		{"model", "/v1/messages", base, strings.Replace(base, `"m"`, `"n"`, 1), `model changed: it was "m" and is "n"`},
		{"tool", "/v1/messages", base, strings.Replace(base, `"adds"`, `"sums"`, 1), "tools changed"},
		{"more tools", "/v1/messages", base, strings.Replace(base, tool, tool+","+strings.Replace(tool, "add", "sub", 1), 1), "system changed"},
		{"system", "/v1/messages", base, messages("S", tool, block("one")+","+a+","+block("two")), `system changed: it was "\"s\"" and is "\"S\""`},
		{"middle", "/v1/messages", base, strings.Replace(base, "one", "One", 1), "block 0 of message 0 changed"},
		{"space", "/v1/messages", base, strings.Replace(base, `{"type":"text","text":"one"}`, `{"type": "text","text":"one"}`, 1), "block 0 of message 0 changed"},
		{"shorter", "/v1/messages", base, messages("s", tool, block("one")), `message 1 changed: it was "{\"role\":\"assistant\",\"content\":}" and is ""`},
		{"tail block", "/v1/messages", messages("s", tool, `{"role":"user","content":[{"type":"text","text":"one"},{"type":"text","text":"3 left"}]}`), messages("s", tool, block("one")+","+a+","+block("two")), "the tail changed: block 1 of message 0"},
		{"tail message", "/v1/messages", messages("s", tool, block("one")+","+block("3 left")), messages("s", tool, block("one")+","+a+","+block("two")), "the tail changed: message 1"},
		{"chat", "/v1/chat/completions", chat(`{"role":"system","content":"x"},` + hi), chat(`{"role":"system","content":"x"},` + hi + `,{"role":"assistant","content":"a"},` + hi), "nothing changed"},
		{"chat system", "/v1/chat/completions", chat(`{"role":"system","content":"x"},` + hi), chat(`{"role":"system","content":"y"},` + hi), "system changed"},
		{"chat message", "/v1/chat/completions", chat(hi + `,{"role":"assistant","content":"a"},` + hi), chat(hi + `,{"role":"assistant","content":"b"},` + hi), "message 1 changed"},
		{"chat tail", "/v1/chat/completions", chat(hi + "," + block("3 left")), chat(hi + `,{"role":"assistant","content":"a"},` + hi), "the tail changed: message 1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := modeltest.Serve(t, modeltest.Config{Turns: []modeltest.Turn{{}}, Loop: true})
			post(t, s.URL+c.path, c.before)
			post(t, s.URL+c.path, c.after)
			asks := s.Asks()
			got := asks[1].Extends(&asks[0])
			if all := s.Changes(); c.name != "middle" && c.name != "space" && (len(all) != min(1, len(got.Part)) || len(all) == 1 && all[0] != got) {
				t.Errorf("the changes of all sessions are %+v", all)
			}
			if !strings.HasPrefix(got.String(), c.want) {
				t.Errorf("%s, not %s", got, c.want)
			}
			if strings.HasPrefix(c.want, "the tail") != got.Tail {
				t.Errorf("%+v", got)
			}
			if same := asks[0].Units[len(asks[0].Units)-1].Hash == asks[1].Units[min(len(asks[0].Units), len(asks[1].Units))-1].Hash; same != (c.want == "nothing changed") {
				t.Errorf("the rolling hashes are equal: %v", same)
			}
		})
	}
}
