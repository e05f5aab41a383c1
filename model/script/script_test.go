package script_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/model/modeltest"
	"github.com/uzda-dev/uzda/model/script"
)

// M5: a scripted model keeps the contract of every model.
func TestConformance(t *testing.T) {
	t.Parallel()
	full := script.Model{Turns: []script.Turn{{
		Thinking: "Żółw is a turtle. " + strings.Repeat("日本語", 20),
		Text:     "I look at both files, " + strings.Repeat("ä", 50) + ".",
		Calls: []script.Call{
			{Name: "read_file", Input: `{"path":"a.txt"}`},
			{Name: "read_file", Input: `{"path": "b.txt"`},
		},
	}}}
	modeltest.Run(t, func() uzda.Model { return full }, modeltest.Options{
		Slow:    func() uzda.Model { return script.Model{Turns: []script.Turn{{Text: "late", Delay: time.Hour}}} },
		Virtual: true,
		Same:    true,
	})
}

func ask(n int) *uzda.Request {
	r := modeltest.Hello()
	r.Ask = n
	return r
}

func reply(t *testing.T, m uzda.Model, r *uzda.Request) uzda.Reply {
	t.Helper()
	got, err := uzda.Collect(m.Stream(t.Context(), r), nil)
	if err != nil {
		t.Fatalf("ask %d: %v", r.Ask, err)
	}
	return got
}

func parse(t *testing.T, data string) script.Model {
	t.Helper()
	m, err := script.Parse("test", []byte(data))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

const story = `{"turns":[
	{"text":"I look.","calls":[{"name":"shell","input":{"command":"ls"}},{"name":"shell","input":{"command":"pwd"},"id":"mine"}]},
	{"text":"Two files."}
]}`

const storyYAML = `
# The same story.
turns:
  - text: I look.
    calls:
      - name: shell
        input: {command: ls}
      - name: shell
        input:
          command: pwd
        id: mine
  - text: Two files.
`

// M5: turns come from a file, by the ordinal of the ask, in JSON and in YAML alike.
func TestAnswersByOrdinal(t *testing.T) {
	t.Parallel()
	for name, data := range map[string]string{"JSON": story, "YAML": storyYAML} {
		m := parse(t, data)
		for range 2 { // no state: asking again gives the same
			first := reply(t, m, ask(1))
			if got := first.Message.String(); got != "I look." {
				t.Errorf("%s: turn 1 says %q", name, got)
			}
			if first.Stop.Reason != uzda.StopUse {
				t.Errorf("%s: turn 1 stops with %q", name, first.Stop.Reason)
			}
			uses := first.Message.Uses()
			if len(uses) != 2 || uses[0].Name != "shell" || string(uzda.Canonical(uses[0].Input)) != `{"command":"ls"}` {
				t.Errorf("%s: turn 1 calls %+v", name, uses)
			} else if uses[0].Wire != "call_1_1" || uses[1].Wire != "mine" {
				t.Errorf("%s: the wire ids are %q and %q", name, uses[0].Wire, uses[1].Wire)
			}
		}
		second := reply(t, m, ask(2))
		if second.Message.String() != "Two files." || second.Stop.Reason != uzda.StopEnd {
			t.Errorf("%s: turn 2 is %+v", name, second)
		}
	}
}

// M5: an ask past the last turn says so instead of answering nothing.
func TestPastTheEnd(t *testing.T) {
	t.Parallel()
	_, err := uzda.Collect(parse(t, story).Stream(t.Context(), ask(3)), nil)
	var p *uzda.ProviderError
	if !errors.As(err, &p) || p.Code != script.CodeEnd || !strings.Contains(p.Message, "the script has 2 turns and was asked for turn 3") {
		t.Errorf("the error is %v", err)
	}
	if p != nil && !strings.Contains(p.Hint, `"loop": true`) {
		t.Errorf("the hint is %q", p.Hint)
	}
	_, err = uzda.Collect(script.Model{}.Stream(t.Context(), ask(1)), nil)
	if err == nil || !strings.Contains(err.Error(), "has 0 turns") {
		t.Errorf("a model without turns says %v", err)
	}
}

// M5: loop starts again; wire ids stay unique in the session.
func TestLoop(t *testing.T) {
	t.Parallel()
	m := parse(t, strings.Replace(story, `{"turns"`, `{"loop":true,"turns"`, 1))
	seen := map[string]bool{}
	for n := 1; n <= 7; n++ {
		got := reply(t, m, ask(n))
		want := []string{"Two files.", "I look."}[n%2]
		if got.Message.String() != want {
			t.Errorf("ask %d says %q, not %q", n, got.Message, want)
		}
		for _, u := range got.Message.Uses() {
			if u.Wire != "mine" && seen[u.Wire] {
				t.Errorf("ask %d repeats the wire id %s", n, u.Wire)
			}
			seen[u.Wire] = true
		}
	}
}

// M5: children have turns of their own; any other agent gets the common ones.
func TestAgents(t *testing.T) {
	t.Parallel()
	m := parse(t, `{"turns":[{"text":"parent"}],"agents":{"reader":{"turns":[{"text":"child"}],"loop":true}}}`)
	for agent, want := range map[string]string{"": "parent", "default": "parent", "reader": "child"} {
		r := ask(1)
		r.Agent = agent
		if got := reply(t, m, r).Message.String(); got != want {
			t.Errorf("agent %q hears %q, not %q", agent, got, want)
		}
	}
	only := parse(t, `{"agents":{"reader":{"turns":[{"text":"child"}]}}}`)
	_, err := uzda.Collect(only.Stream(t.Context(), ask(1)), nil)
	var p *uzda.ProviderError
	if !errors.As(err, &p) || !strings.Contains(p.Hint, "reader") {
		t.Errorf("an agent without turns gets %v", err)
	}
}

// M5: by_view answers by what was said, so that a lost ask skips no turn.
func TestByView(t *testing.T) {
	t.Parallel()
	m := parse(t, strings.Replace(story, `{"turns"`, `{"by_view":true,"turns"`, 1))
	if got := reply(t, m, ask(5)).Message.String(); got != "I look." {
		t.Errorf("with an empty view it says %q", got)
	}
	r := ask(9)
	r.View = append(r.View, uzda.Entry{Seq: 3, Message: uzda.Message{Role: uzda.Assistant, Blocks: uzda.Say("I look.")}})
	if got := reply(t, m, r).Message.String(); got != "Two files." {
		t.Errorf("after one reply it says %q", got)
	}
}

// M5: stops in the words of any provider are normalised once.
func TestStops(t *testing.T) {
	t.Parallel()
	calls := []script.Call{{Name: "ls"}}
	for _, c := range []struct {
		word  string
		calls []script.Call
		want  uzda.StopReason
	}{
		{"", nil, uzda.StopEnd}, {"", calls, uzda.StopUse},
		{"stop", nil, uzda.StopEnd}, {"stop", calls, uzda.StopUse},
		{"end_turn", nil, uzda.StopEnd}, {"end_turn", calls, uzda.StopUse},
		{"tool_use", calls, uzda.StopUse}, {"tool_calls", calls, uzda.StopUse},
		{"max_tokens", calls, uzda.StopLength}, {"length", nil, uzda.StopLength},
		{"pause", nil, uzda.StopPause}, {"pause_turn", nil, uzda.StopPause},
		{"refusal", calls, uzda.StopRefusal}, {"content_filter", nil, uzda.StopRefusal},
		{"stop_sequence", nil, uzda.StopSequence},
		{"model_context_window_exceeded", nil, uzda.StopContext}, {"context_exceeded", nil, uzda.StopContext},
		{"bored", nil, uzda.StopUnknown}, {"bored", calls, uzda.StopUnknown},
	} {
		got := reply(t, script.Model{Turns: []script.Turn{{Text: "x", Calls: c.calls, Stop: c.word}}}, ask(1)).Stop
		if got.Reason != c.want || got.Raw != c.word {
			t.Errorf("%q with %d calls stops with %q (%q), not %q", c.word, len(c.calls), got.Reason, got.Raw, c.want)
		}
	}
}

// M5: broken arguments come as a model would send them, to test mending.
func TestBrokenArguments(t *testing.T) {
	t.Parallel()
	m := parse(t, `{"turns":[{"calls":[
		{"name":"a","input":"{\"path\": \"x"},
		{"name":"b","input":"{\"path\": \"x\"}"},
		{"name":"c","input":[1,2]},
		{"name":"d"},
		{"name":"e","input":null}
	]}]}`)
	want := [][2]string{{`{}`, `{"path": "x`}, {`{"path": "x"}`, ""}, {`{}`, "[1,2]"}, {`{}`, ""}, {`{}`, ""}}
	for i, u := range reply(t, m, ask(1)).Message.Uses() {
		if got := [2]string{string(u.Input), u.Raw}; got != want[i] {
			t.Errorf("call %s has input and raw %q, not %q", u.Name, got, want[i])
		}
	}
}

// A reply that is cut ends without a stop; what had come is there.
func TestCut(t *testing.T) {
	t.Parallel()
	got, err := uzda.Collect(parse(t, `{"turns":[{"text":"half","cut":true}]}`).Stream(t.Context(), ask(1)), nil)
	if !errors.Is(err, io.ErrUnexpectedEOF) || got.Message.String() != "half" {
		t.Errorf("a cut reply gave %q and %v", got.Message, err)
	}
}

// M5: failures of a provider are scripted by word, status or object, after what was said.
func TestErrors(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		in   string
		want uzda.ProviderError
	}{
		{`"overloaded"`, uzda.ProviderError{Code: "overloaded"}},
		{`"overloaded_error"`, uzda.ProviderError{Code: "overloaded"}},
		{`529`, uzda.ProviderError{Code: "overloaded", Status: 529}},
		{`"529"`, uzda.ProviderError{Code: "overloaded", Status: 529}},
		{`"429 too many requests"`, uzda.ProviderError{Code: "rate_limit", Status: 429, Message: "429 too many requests"}},
		{`"the server exploded"`, uzda.ProviderError{Code: "unknown", Message: "the server exploded"}},
		{`{"code":"rate_limit","message":"slow down","hint":"wait"}`, uzda.ProviderError{Code: "rate_limit", Message: "slow down", Hint: "wait"}},
		{`{"status":401}`, uzda.ProviderError{Code: "auth", Status: 401}},
		{`{"status":500,"message":"boom"}`, uzda.ProviderError{Code: "unknown", Status: 500, Message: "boom"}},
		{`{"code":529}`, uzda.ProviderError{Code: "overloaded", Status: 529}},
		{`{"code":"context","status":400}`, uzda.ProviderError{Code: "context", Status: 400}},
	} {
		if c.want.Message == "" {
			c.want.Message = "the script says so"
		}
		got, err := uzda.Collect(parse(t, `{"turns":[{"text":"said","error":`+c.in+`}]}`).Stream(t.Context(), ask(1)), nil)
		var p *uzda.ProviderError
		if !errors.As(err, &p) || *p != c.want {
			t.Errorf("%s gave %#v, not %#v", c.in, err, c.want)
		}
		if got.Message.String() != "said" {
			t.Errorf("%s: before the error came %q", c.in, got.Message)
		}
	}
}

// M5: a turn says what it used; otherwise a repeatable estimate that grows with the view.
func TestUsage(t *testing.T) {
	t.Parallel()
	m := parse(t, `{"turns":[
		{"text":"x","usage":{"input":10,"output":2,"cache_read":5,"cache_write":3}},
		{"text":"x","usage":{"input_tokens":10,"output_tokens":2,"cache_read_tokens":5,"cache_write_tokens":3}},
		{"text":"12345678"}
	]}`)
	want := uzda.Usage{Input: 10, Output: 2, CacheRead: 5, CacheWrite: 3}
	for n := 1; n <= 2; n++ {
		if got := reply(t, m, ask(n)).Stop.Usage; got != want {
			t.Errorf("turn %d used %+v, not %+v", n, got, want)
		}
	}
	r := ask(3)
	small := reply(t, m, r).Stop.Usage
	if small.Input == 0 || small.Output != 2 || small != reply(t, m, r).Stop.Usage {
		t.Errorf("the estimate is %+v", small)
	}
	r.View = append(r.View, uzda.Entry{Seq: 3, Message: uzda.Message{Role: uzda.User, Blocks: uzda.Say(strings.Repeat("a", 400))}})
	if grown := reply(t, m, r).Stop.Usage; grown.Input != small.Input+100 {
		t.Errorf("400 bytes more made %d tokens of %d", grown.Input, small.Input)
	}
}

// M5: a delay passes before the first chunk, and no longer than it must.
func TestDelay(t *testing.T) {
	t.Parallel()
	m := parse(t, `{"turns":[{"text":"x","delay_ms":1500}]}`)
	synctest.Test(t, func(t *testing.T) {
		from := time.Now()
		for _, err := range m.Stream(t.Context(), ask(1)) {
			if err != nil {
				t.Fatal(err)
			}
			break
		}
		if took := time.Since(from); took != 1500*time.Millisecond {
			t.Errorf("the first chunk came after %v", took)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		from = time.Now()
		_, err := uzda.Collect(m.Stream(ctx, ask(1)), nil)
		if !errors.Is(err, context.DeadlineExceeded) || time.Since(from) != time.Second {
			t.Errorf("a deadline gave %v after %v", err, time.Since(from))
		}
	})
}

// M5: a cancel between two chunks ends the stream before the next.
func TestCancelBetweenChunks(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	n := 0
	for _, err := range parse(t, story).Stream(ctx, ask(1)) {
		if n++; n == 1 {
			cancel()
			continue
		}
		if !errors.Is(err, context.Canceled) || n > 2 {
			t.Errorf("chunk %d comes with %v", n, err)
		}
	}
	if n != 2 {
		t.Errorf("the stream had %d chunks", n)
	}
}

// M5: a scripted model is free and has a name.
func TestDescribe(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "story.yaml")
	if err := os.WriteFile(path, []byte(storyYAML), 0o600); err != nil {
		t.Fatal(err)
	}
	loaded, err := script.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		m    script.Model
		want uzda.ModelInfo
	}{
		{script.Model{}, uzda.ModelInfo{ID: "script/inline", Window: 200_000, Free: true}},
		{parse(t, story), uzda.ModelInfo{ID: "script/test", Window: 200_000, Free: true}},
		{parse(t, `{"window":9000,"turns":[{}]}`), uzda.ModelInfo{ID: "script/test", Window: 9000, Free: true}},
		{loaded, uzda.ModelInfo{ID: "script:" + path, Window: 200_000, Free: true}},
	} {
		if got := c.m.Describe(); got != c.want {
			t.Errorf("the model is %+v, not %+v", got, c.want)
		}
	}
	if _, err := script.Load(path + ".gone"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file that is not there gives %v", err)
	}
}

// M5: nothing of a script changes while it answers, so that a
// crash and a resume hear the same.
func TestScriptStaysAsItIs(t *testing.T) {
	t.Parallel()
	m := parse(t, `{"turns":[{"text":"{{result.1.text}}","calls":[{"name":"a","input":{"x":"{{result.1.text}}"}}]}]}`)
	before, _ := json.Marshal(m)
	for _, text := range []string{"one", "two"} {
		r := ask(1)
		r.View = results(text)
		got := reply(t, m, r)
		if got.Message.String() != text || string(got.Message.Uses()[0].Input) != `{"x":"`+text+`"}` {
			t.Errorf("filled with %q it says %+v", text, got.Message)
		}
	}
	if after, _ := json.Marshal(m); !reflect.DeepEqual(before, after) {
		t.Errorf("the script became %s", after)
	}
}
