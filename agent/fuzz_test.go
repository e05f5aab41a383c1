package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/agent"
)

// FuzzFold: no sequence of events makes Fold or Next panic, every move names a
// use that is there, and the state survives as a checkpoint.
func FuzzFold(f *testing.F) {
	j := mem()
	w := &world{pre: "1"}
	post(f, j, hello("1"))
	r := teller(f, w, j, story)
	r.Folded = nil
	for range 3 {
		run(f, r)
		answers(f, j, uzda.Allow)
	}
	var bodies [][]byte
	var whole []byte
	for _, e := range events(f, j) {
		l, err := uzda.Seal(&e, nil)
		if err != nil {
			f.Fatal(err)
		}
		line := l.Append(nil)
		bodies = append(bodies, line)
		whole = append(whole, line...)
	}
	f.Add(whole)
	f.Add(whole[:len(whole)/2])
	f.Add([]byte(strings.Join([]string{string(bodies[2]), string(bodies[3]), string(bodies[2]), string(bodies[3]), string(bodies[len(bodies)-1])}, "")))
	for _, kind := range []string{"judged", "started", "returned", "answered", "delivered", "cancelled", "edited", "verified", "broken", "parked", "resolved", "late"} {
		f.Add([]byte(`{"seq":1,"kind":"said","v":1,"body":{"message":{"role":"assistant","blocks":[{"use":{"name":"x","input":{}}}]},"stop":"tool_use"}}` + "\n" +
			`{"seq":2,"kind":"` + kind + `","v":1,"body":{"use":"1.1","result":{"use":"1.1","blocks":[]},"with":[],"ok":false}}`))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		s := &agent.State{}
		for line := range strings.Lines(string(raw)) {
			l, ok := uzda.SplitLine([]byte(line))
			if !ok {
				continue
			}
			e, _, err := uzda.Open(l, nil)
			if err != nil {
				continue
			}
			e.Seq = s.Head + 1
			s.Fold(e)
			for _, h := range []agent.Hand{{}, {Asking: true}, {Beside: true}} {
				for _, m := range s.Fork().Next(time.Unix(1, 0), h) {
					if m.Use != "" && !has(s, m.Use) {
						t.Fatalf("a move for use %q, which is not open", m.Use)
					}
				}
			}
			if o := s.Outcome("s"); o != nil && o.Session != "s" {
				t.Fatal(o)
			}
			s.Waits()
		}
		roundTrips(t, s)
	})
}

func has(s *agent.State, id uzda.UseID) bool {
	for _, u := range s.Uses {
		if u.ID == id {
			return true
		}
	}
	return false
}

// reply is a model that gives one reply, and then ends.
type reply struct {
	blocks uzda.Blocks
	items  []*uzda.Item
	stop   uzda.StopReason
}

func (m reply) Stream(_ context.Context, req *uzda.Request) iter.Seq2[uzda.Chunk, error] {
	return func(yield func(uzda.Chunk, error) bool) {
		if req.Ask > 1 {
			_ = yield(uzda.Done{Block: uzda.Text{Text: "done"}}, nil) && yield(uzda.Stop{Reason: uzda.StopEnd}, nil)
			return
		}
		for i, b := range m.blocks {
			var it *uzda.Item
			if i < len(m.items) {
				it = m.items[i]
			}
			if !yield(uzda.Done{Block: b, Item: it}, nil) {
				return
			}
		}
		yield(uzda.Stop{Reason: m.stop}, nil)
	}
}

// FuzzMend: whatever a model replies, the view is valid, inputs are objects, text
// is UTF-8, and the session goes on.
func FuzzMend(f *testing.F) {
	for _, s := range []string{"", "null", "{}", `"{}"`, `{"a":1}`, `"{\"a\":1}"`, "[1]", `{"a":`, "7", "\xff", " { } ", `"\u0000"`} {
		f.Add(s, "text", byte(0))
		f.Add(s, "\xff", byte(5))
	}
	stops := []uzda.StopReason{uzda.StopEnd, uzda.StopUse, uzda.StopLength, uzda.StopSequence, uzda.StopPause, uzda.StopRefusal, uzda.StopContext, uzda.StopUnknown}
	f.Fuzz(func(t *testing.T, input, said string, n byte) {
		j := mem()
		post(t, j, hello("1"))
		r := runner(&world{}, j)
		m := reply{stop: stops[int(n)%len(stops)], blocks: uzda.Blocks{uzda.Text{Text: said}, uzda.ToolUse{Name: "read", Raw: input, Wire: said}, uzda.Text{}, uzda.ToolResult{Use: "1.1"}}}
		if json.Valid([]byte(input)) {
			m.blocks = append(m.blocks, uzda.ToolUse{Name: "read", Input: json.RawMessage(input)})
		}
		r.Model = m
		s := run(t, r)
		valid(t, s)
		for _, e := range s.View {
			for _, b := range e.Message.Blocks {
				switch b := b.(type) {
				case uzda.Text:
					if !utf8.ValidString(b.Text) || b.Text == "" {
						t.Errorf("text %q", b.Text)
					}
				case uzda.ToolUse:
					var o map[string]any
					if json.Unmarshal(b.Input, &o) != nil || !utf8.ValidString(b.Raw) {
						t.Errorf("input %q, raw %q", b.Input, b.Raw)
					}
				}
			}
		}
		post(t, j, hello("2"))
		s = run(t, r)
		valid(t, s)
		if s.Turn.Seq != 0 {
			t.Error("the session does not go on: " + kinds(t, j))
		}
	})
}

// Arguments as models send them. case:T03 case:T05
func TestArguments(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ raw, want, code string }{
		{"", "{}", ""}, {"null", "{}", ""}, {`""`, "{}", ""}, {"{}", "{}", ""}, {" {}\n", "{}", ""},
		{`"{\"ids\":[1,2]}"`, `{"ids":[1,2]}`, ""},
		{`{"note":"[1,2]"}`, `{"note":"[1,2]"}`, ""},
		{`{"ids": [1,`, "", "invalid_input"}, {"[1]", "", "invalid_input"}, {`"{broken"`, "", "invalid_input"}, {"7", "", "invalid_input"},
	} {
		j, w := mem(), &world{}
		post(t, j, hello("1"))
		r := runner(w, j)
		var got string
		r.Tools = []uzda.Tool{w.tool("read", reads, func(_ context.Context, u uzda.Use) (uzda.Result, error) {
			got = string(u.Input)
			return text("ok"), nil
		})}
		r.Model = reply{blocks: uzda.Blocks{uzda.ToolUse{Name: "read", Raw: tt.raw}}, stop: uzda.StopEnd}
		s := run(t, r)
		if res := results(s)[0]; got != tt.want || string(res.Code) != tt.code || reason(s) != uzda.EndTurn {
			t.Errorf("%q ran with %q: %+v", tt.raw, got, res)
		}
		if spec := s.Gear.Tools[0]; string(spec.Input) != `{"type":"object","properties":{}}` {
			t.Errorf("schema %s", spec.Input)
		}
	}
}

// Items of blocks that were left out do not go back; all others stay as they came.
func TestItemsFitBlocks(t *testing.T) { // M2 rule 5
	t.Parallel()
	item := func(raw string) *uzda.Item { return &uzda.Item{Blocks: 1, Raw: json.RawMessage(raw)} }
	j := mem()
	post(t, j, hello("1"))
	r := runner(&world{}, j)
	r.Model = reply{blocks: uzda.Blocks{uzda.Thinking{Text: "hm"}, uzda.Text{Text: " "}, uzda.Text{Text: "so far"}, uzda.ToolUse{Name: "read"}},
		items: []*uzda.Item{item(`{"t":1}`), item(`{"t":2}`), item(`{"t": 3}`), item(`{"t":4}`)}, stop: uzda.StopUnknown}
	s := run(t, r)
	m := s.View[1].Message
	if len(m.Blocks) != 2 || len(m.Items) != 2 || string(m.Items[0].Raw) != `{"t":1}` || string(m.Items[1].Raw) != `{"t": 3}` || len(m.Repairs) != 1 {
		t.Errorf("%+v", m)
	}
}

// The secrets that Uzda holds reach neither the journal nor the model; a tool gets
// them; a tool's Go error is cleaned too. rule 16
func TestSecrets(t *testing.T) {
	t.Parallel()
	j, w := mem(), &world{}
	post(t, j, hello("1"))
	r := runner(w, j)
	r.Redact = hider{}
	var got string
	r.Tools = []uzda.Tool{w.tool("read", reads, func(_ context.Context, u uzda.Use) (uzda.Result, error) {
		got = string(u.Input)
		return text("token hunter2"), errors.New("bad hunter2")
	})}
	r.Model = reply{blocks: uzda.Blocks{uzda.Text{Text: "use hunter2"}, uzda.ToolUse{Name: "read", Input: json.RawMessage(`{"key":"hunter2"}`)}, uzda.ToolUse{Name: "read", Raw: "[hunter2"}}, stop: uzda.StopUse}
	s := run(t, r)
	raw, err := json.Marshal(events(t, j))
	if err != nil || strings.Contains(string(raw), "hunter2") || got != `{"key":"hunter2"}` || reason(s) != uzda.ToolError {
		t.Errorf("%v: tool got %s: %s", err, got, raw)
	}
}

type hider struct{}

func (hider) Redact(s string, _ bool) (string, int) {
	n := strings.Count(s, "hunter2")
	return strings.ReplaceAll(s, "hunter2", "{{secret:pw}}"), n
}

func (hider) Reveal(in []byte) []byte {
	return []byte(strings.ReplaceAll(string(in), "{{secret:pw}}", "hunter2"))
}

// A model, a tool or a planner that crashes ends no process.
func TestModelCrashes(t *testing.T) {
	t.Parallel()
	j := mem()
	post(t, j, hello("1"))
	r := runner(&world{}, j)
	r.Model = crashingModel{}
	if s := run(t, r); reason(s) != uzda.InternalError || !strings.Contains(s.Ended.Detail, "boom") {
		t.Errorf("%s %s", reason(s), s.Ended.Detail)
	}
	j, w := mem(), &world{}
	post(t, j, hello("1"))
	r = runner(w, j, calls("write"), bye)
	r.Tools = []uzda.Tool{w.tool("write", uzda.Effects{}, func(context.Context, uzda.Use) (uzda.Result, error) { panic("boom") })}
	s := run(t, r)
	if rs := results(s); reason(s) != uzda.EndTurn || !rs[0].IsError || rs[0].Effect != uzda.EffectUnknown || strings.Contains(rs[0].Blocks.String(), "goroutine") {
		t.Errorf("%s %+v", reason(s), rs)
	}
}

type crashingModel struct{}

func (crashingModel) Stream(context.Context, *uzda.Request) iter.Seq2[uzda.Chunk, error] {
	panic("boom")
}
