package openai_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/model/modeltest"
	"github.com/uzda-dev/uzda/model/openai"
)

// calling is a stream with one delta for each list of pieces of calls.
func calling(lists ...string) []byte {
	var deltas []string
	for _, l := range lists {
		deltas = append(deltas, `{"tool_calls":[`+l+`]}`)
	}
	return stream("tool_calls", deltas...)
}

// piece is one piece of a call; empty parts are left out.
func piece(index, id, name, args string) string {
	var m []string
	add := func(key, value string) {
		if value != "" {
			m = append(m, fmt.Sprintf("%q:%s", key, value))
		}
	}
	add("index", index)
	if id != "" {
		add("id", fmt.Sprintf("%q", id))
	}
	f := ""
	if name != "" {
		f = fmt.Sprintf(`"name":%q`, name)
	}
	if args != "" {
		if f != "" {
			f += ","
		}
		if args == "-" {
			args = ""
		}
		raw, _ := json.Marshal(args)
		f += `"arguments":` + string(raw)
	}
	add("function", "{"+f+"}")
	return "{" + strings.Join(m, ",") + "}"
}

// However a service numbers and names its calls, none is lost, none gets the
// arguments of another. peer:4 peer:5 peer:28 peer:29
func TestCalls(t *testing.T) {
	t.Parallel()
	const a, b = `{"n":1}`, `{"n":2}`
	both := `use one "A" {"n":1}; use two "B" {"n":2}; stop tool_use`
	for _, c := range []struct {
		name string
		body []byte
		want string
	}{
		{"both at index 0, with ids", calling(piece("0", "A", "one", a), piece("0", "B", "two", b)), both},
		{"both at index 0, in pieces", calling(piece("0", "A", "one", "-"), piece("0", "", "", `{"n":`), piece("0", "", "", `1}`), piece("0", "B", "two", "-"), piece("0", "", "", b)), both},
		{"both at index 0, the id on every piece, in turns", calling(piece("0", "A", "one", `{"n"`), piece("0", "B", "two", `{"n"`), piece("0", "A", "", `:1}`), piece("0", "B", "", `:2}`)), both},
		{"both at index 0, without ids", calling(piece("0", "", "one", a), piece("0", "", "two", b)), `use one "" {"n":1}; use two "" {"n":2}; stop tool_use`},
		{"the same tool twice at index 0, without ids", calling(piece("0", "", "one", a), piece("0", "", "one", a)), `use one "" {"n":1}; use one "" {"n":1}; stop tool_use`},
		{"no index, ids", calling(piece("", "A", "one", a), piece("", "B", "two", b)), both},
		{"no index, in pieces", calling(piece("", "A", "one", `{"n"`), piece("", "", "", `:1}`), piece("", "B", "two", `{"n"`), piece("", "", "", `:2}`)), both},
		{"neither index nor id", calling(piece("", "", "one", a), piece("", "", "two", b)), `use one "" {"n":1}; use two "" {"n":2}; stop tool_use`},
		{"neither index nor id, no arguments", calling(piece("", "", "one", "-"), piece("", "", "two", "-")), `use one "" {}; use two "" {}; stop tool_use`},
		{"a list in one delta", calling(piece("0", "A", "one", a) + "," + piece("1", "B", "two", b)), both},
		{"a list in one delta, without index and id", calling(piece("", "", "one", a) + "," + piece("", "", "one", b)), `use one "" {"n":1}; use one "" {"n":2}; stop tool_use`},
		{"gaps", calling(piece("3", "A", "one", a), piece("9", "B", "two", b)), both},
		{"an index of another type", calling(piece(`"x"`, "A", "one", `{"n"`), piece("-1", "B", "two", `{"n"`), piece(`"x"`, "", "", `:1}`), piece("-1", "", "", `:2}`)), both},
		{"in turns by index", calling(piece("0", "A", "one", `{`), piece("1", "B", "two", `{"n`), piece("0", "", "", `"n":1}`), piece("1", "", "", `":2}`)), both},
		{"one id for two", calling(piece("0", "A", "one", `{"n"`), piece("1", "A", "two", `{"n"`), piece("0", "A", "", `:1}`), piece("1", "A", "", `:2}`)), `use one "A" {"n":1}; use two "" {"n":2}; stop tool_use`},
		{"one id for two, no index", calling(piece("", "A", "one", a), piece("", "A", "two", "-"), piece("", "A", "", b)), `use one "A" {"n":1}; use two "" {"n":2}; stop tool_use`},
		{"the id comes late", calling(piece("0", "", "one", "-"), piece("0", "A", "", a)), `use one "A" {"n":1}; stop tool_use`},
		{"the id comes late, no index", calling(piece("", "", "one", "-"), piece("", "A", "", a)), `use one "A" {"n":1}; stop tool_use`},
		{"the name on every piece", calling(piece("0", "A", "one", `{"n"`), piece("0", "A", "one", `:1`), piece("0", "A", "one", `}`)), `use one "A" {"n":1}; stop tool_use`},
		{"the name in pieces", calling(piece("0", "A", "o", ""), piece("0", "", "n", ""), piece("0", "", "e", a)), `use one "A" {"n":1}; stop tool_use`},
		{"the name grows", calling(piece("0", "A", "on", ""), piece("0", "", "one", a)), `use one "A" {"n":1}; stop tool_use`},
		{"a name of two halves that are alike", calling(piece("0", "A", "so", ""), piece("0", "", "so", a)), `use soso "A" {"n":1}; stop tool_use`},
		{"whole, and whole again", calling(piece("0", "A", "one", a), piece("0", "A", "one", a)), `use one "A" {"n":1}; stop tool_use`},
		{"in pieces, and whole again", calling(piece("0", "A", "one", `{"n":`), piece("0", "", "", "1}"), piece("0", "A", "one", a)), `use one "A" {"n":1}; stop tool_use`},
		{"whole again in the message of the last chunk", sse(delta(`{"tool_calls":[`+piece("0", "A", "one", a)+`]}`),
			`{"choices":[{"index":0,"delta":{},"message":{"role":"assistant","tool_calls":[`+piece("", "A", "one", a)+`]},"finish_reason":"tool_calls"}]}`, tally, done), `use one "A" {"n":1}; stop tool_use`},
		{"a first prefix that is JSON", calling(piece("0", "A", "one", `{}`), piece("0", "", "", ` `)), `use one "A" {}; stop tool_use`}, // peer:5
		{"an object for arguments", stream("tool_calls", `{"tool_calls":[{"index":0,"id":"A","function":{"name":"one","arguments":{"n": 1}}}]}`), `use one "A" {"n":1}; stop tool_use`},
		{"a list for arguments", stream("tool_calls", `{"tool_calls":[{"index":0,"id":"A","function":{"name":"one","arguments":[1]}}]}`), `use one "A" {} [1]; stop tool_use`},
		{"a number for arguments", stream("tool_calls", `{"tool_calls":[{"index":0,"id":"A","function":{"name":"one","arguments":7}}]}`), `use one "A" {} 7; stop tool_use`},
		{"without the layer of the function", stream("tool_calls", `{"tool_calls":[{"index":0,"id":"A","name":"one","arguments":"{\"n\":1}"}]}`), `use one "A" {"n":1}; stop tool_use`},
		{"arguments that break off", calling(piece("0", "A", "one", `{"n":`)), `use one "A" {} {"n":; stop tool_use`}, // peer:4
		{"arguments that are null in a string", calling(piece("0", "A", "one", `null`)), `use one "A" {}; stop tool_use`},
		{"arguments that are an empty string in a string", calling(piece("0", "A", "one", `""`)), `use one "A" {}; stop tool_use`},
		{"arguments behind a form feed", calling(piece("0", "A", "one", "\f{}")), "use one \"A\" {} \f{}; stop tool_use"},
		{"no name", calling(piece("0", "A", "", a)), `use unnamed "A" {"n":1}; stop tool_use`},
		{"text and a call in one delta", stream("tool_calls", `{"content":"Hi","tool_calls":[`+piece("0", "A", "one", a)+`]}`), `text "Hi"; use one "A" {"n":1}; stop tool_use`}, // peer:6
		{"white space between calls", stream("tool_calls", `{"tool_calls":[`+piece("0", "A", "one", a)+`]}`, `{"content":" "}`, `{"tool_calls":[`+piece("1", "B", "two", b)+`]}`), both},
		{"wrong types everywhere", stream("tool_calls", `{"tool_calls":7}`, `{"tool_calls":[7,null,[],"x",{"function":7,"id":9,"index":{}}]}`, `7`, `{"content":{"x":1},"reasoning":[true]}`, `{"tool_calls":[`+piece("0", "A", "one", a)+`]}`),
			`use unnamed "" {}; use one "A" {"n":1}; stop tool_use`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			reply, err := decode(t, openai.Profile{}, c.body, "one", "two", "soso")
			if err != nil {
				t.Fatal(err)
			}
			if got := brief(reply); got != c.want {
				t.Errorf("the reply is\n%s, not\n%s", got, c.want)
			}
			valid(t, back(t, openai.Profile{}, c.body, "one", "two", "soso"))
		})
	}
}

// A sentCall is a call in a message that goes back.
type sentCall struct{ id, kind, name, args string }

// callsOf are the calls of a message. Names of members count exactly, which
// encoding/json does not see.
func callsOf(t testing.TB, message json.RawMessage) (role, result string, out []sentCall) {
	t.Helper()
	m := parseOrdered(t, string(message))
	text := func(o *ordered) (s string) {
		if o != nil && o.kind == 0 {
			_ = json.Unmarshal([]byte(o.leaf), &s) // what is no string is ""
		}
		return s
	}
	if list := m.get("tool_calls"); list != nil {
		for _, c := range list.vals {
			f := c.get("function")
			if c.get("index") != nil {
				t.Errorf("a call has an index: %s", message)
			}
			out = append(out, sentCall{text(c.get("id")), text(c.get("type")), text(f.get("name")), text(f.get("arguments"))})
		}
	}
	return text(m.get("role")), text(m.get("tool_call_id")), out
}

// valid checks what any service demands of the calls of a message.
func valid(t testing.TB, message string) {
	t.Helper()
	seen := map[string]bool{}
	_, _, calls := callsOf(t, json.RawMessage(message))
	for _, c := range calls {
		var args map[string]json.RawMessage
		if c.kind != "function" && c.name == "" && c.id != "" && !seen[c.id] {
			seen[c.id] = true // of a kind of its own
			continue
		}
		if c.id == "" || seen[c.id] || c.kind != "function" || c.name == "" || json.Unmarshal([]byte(c.args), &args) != nil {
			t.Errorf("the call %+v can't go back: %s", c, message)
		}
		seen[c.id] = true
	}
}

// The cap cut a call although the server calls it whole: the call does not run,
// and what goes back can be parsed. peer:33 case:L03
func TestCapped(t *testing.T) {
	t.Parallel()
	body := func(tokens int) []byte {
		return sse(delta(`{"tool_calls":[`+piece("0", "A", "one", `{"text":"and so`)+`]}`), delta(`{}`, "tool_calls"),
			fmt.Sprintf(`{"choices":[],"usage":{"prompt_tokens":20,"completion_tokens":%d}}`, tokens), done)
	}
	reply, err := decode(t, openai.Profile{}, body(1000), "one") // all that the request allows
	if got := brief(reply); err != nil || got != `use one "A" {} {"text":"and so; stop max_tokens` {
		t.Errorf("%s, %v", got, err)
	}
	reply, err = decode(t, openai.Profile{}, body(400), "one")
	if got := brief(reply); err != nil || got != `use one "A" {} {"text":"and so; stop tool_use` {
		t.Errorf("%s, %v", got, err)
	}

	// In the loop: the cut call is refused with the reason, the next request is
	// accepted by a server that refuses arguments it can't parse.
	turn := modeltest.Turn{Calls: []modeltest.Call{addCall(`{"a":1,"b`)}, Stop: "tool_calls"}
	s := tell(t, turns(turn, shaped(modeltest.Shape{}, one), bye), openai.Profile{})
	s.say("go")
	s.ends(uzda.EndTurn, runs[0])
	if r := s.results(); len(r) == 0 || !r[0].IsError || r[0].Code != uzda.CodeInvalidInput {
		t.Errorf("the results are %+v", r)
	}
}

// Ids that repeat across turns, as those of some models do, are told apart on
// the wire, and each result goes with its call. peer:29 peer:34
func TestRepeatedIDs(t *testing.T) {
	t.Parallel()
	call := modeltest.Call{Name: "add", Input: `{"a":1,"b":2}`, ID: "functions.add:0"}
	s := tell(t, turns(modeltest.Turn{Calls: []modeltest.Call{call}}, modeltest.Turn{Calls: []modeltest.Call{call}}, bye), openai.Custom())
	s.say("go")
	s.ends(uzda.EndTurn, runs[0], runs[0])
	if body := string(s.last().Body); strings.Count(body, `"functions.add:0"`) != 2 { // the call and its result
		t.Errorf("the request is %s", body)
	}
}

// Hostile streams end, whatever they hold, and so do their goroutines.
func TestManyPieces(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var lists []string
		for i := range 5000 {
			lists = append(lists, piece(fmt.Sprint(i), fmt.Sprint("id", i), "one", "{}"))
		}
		p := &player{bodies: [][]byte{calling(lists...)}}
		if _, _, err := ask(t, p.model(openai.Profile{}), hello("one")); err == nil || !strings.Contains(err.Error(), "too many calls") {
			t.Errorf("the error is %v", err)
		}
	})
}
