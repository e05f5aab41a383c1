package anthropic_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/model/anthropic"
	"github.com/uzda-dev/uzda/model/modeltest"
)

// A pause of the provider's own tools goes on: what came is sent back as it came,
// with nothing behind it, as often as it takes. L2 peer:30 case:L06 quirk:7
func TestPauses(t *testing.T) {
	t.Parallel()
	search := func(i int) modeltest.Part {
		return modeltest.Part{Raw: json.RawMessage(fmt.Sprintf(`{"type":"server_tool_use","id":"srvtoolu_%d","name":"web_search","input":{"query": "q %d"}}`, i, i))}
	}
	found := func(i int) modeltest.Part {
		return modeltest.Part{Raw: json.RawMessage(fmt.Sprintf(`{"type":"web_search_tool_result","tool_use_id":"srvtoolu_%d","content":[{"type":"web_search_result","encrypted_content":"x%d==","page_age":null}]}`, i, i))}
	}
	l := newLoop(t, modeltest.Config{Turns: []modeltest.Turn{
		{Parts: []modeltest.Part{{Thinking: "I search."}, search(1), found(1), search(2)}, Stop: "pause_turn"},
		{Parts: []modeltest.Part{found(2), {Text: "So far."}, search(3)}, Stop: "pause_turn"},
		{Parts: []modeltest.Part{found(3), {Text: "It is so."}}},
	}})
	if o := l.run(t); o.Reason != uzda.EndTurn {
		t.Errorf("it ended with %v", o)
	}
	asks := l.server.Asks()
	if len(asks) != 3 {
		t.Fatalf("there were %d requests", len(asks))
	}
	for i := 1; i < len(asks); i++ {
		if got := roles(t, string(asks[i].Body)); got != "ua" {
			t.Errorf("request %d has the messages %s", i+1, got)
		}
		if c := asks[i].Extends(&asks[i-1]); c.Part != "" && !c.Tail {
			t.Errorf("request %d: %v", i+1, c)
		}
	}
	for _, s := range bodies[uzda.Said](t, l) {
		for _, b := range s.Message.Blocks {
			o, ok := b.(uzda.Opaque)
			if ok && strings.Contains(string(o.Raw), "_tool_result") != (len(o.Labels) == 1 && o.Labels[0].Kind == uzda.Untrusted) {
				t.Errorf("the labels of %s are %v", o.Raw, o.Labels)
			}
		}
	}
}

// Somebody who speaks in the middle of a pause takes the calls of the provider's
// tools back that have no result: the session goes on.
func TestInterruptedPause(t *testing.T) {
	t.Parallel()
	h := replies(t,
		stream("pause_turn", text("hm"), block(1, `{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{}}`), block(2, `{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[]}`),
			block(3, `{"type":"server_tool_use","id":"srvtoolu_2","name":"web_search","input":{}}`)),
		stream("end_turn", text("ok")))
	m := h.model()
	first := must(t, m, hello()).Message
	enc := &uzda.Enc{}
	req := hello(said("a"), first)
	req.Enc, req.Tail, req.Head.Params.Options = enc, "3 steps are left.", options(`{"cache_ttl":"off"}`)
	must(t, m, req)
	if got := content(t, h.body(2), -1); roles(t, h.body(2)) != "ua" || !strings.Contains(got, "srvtoolu_2") {
		t.Errorf("the pause went on with %s", got)
	}
	for name, e := range map[string]*uzda.Enc{"with what was encoded": enc, "after a restart": nil} {
		req := hello(said("a"), first, said("stop"))
		req.Enc, req.Head.Params.Options = e, options(`{"cache_ttl":"off"}`)
		must(t, m, req)
		b := h.body(h.count())
		want := `[{"type":"text","text":"hm"},{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{}},{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[]}]`
		if roles(t, b) != "uau" || content(t, b, 1) != want {
			t.Errorf("%s: the messages are %s: %s", name, roles(t, b), content(t, b, 1))
		}
	}
	// A pause that was nothing but the call is gone whole, also over two messages.
	open := func(id string) uzda.Message {
		return uzda.Message{Role: uzda.Assistant, Origin: first.Origin, Blocks: uzda.Blocks{uzda.Opaque{Origin: "anthropic", Raw: json.RawMessage(`{"type":"mcp_tool_use","id":"` + id + `"}`)}}}
	}
	must(t, m, hello(said("a"), open("x"), open("y"), said("stop")))
	if b := h.body(h.count()); roles(t, b) != "u" {
		t.Errorf("the messages are %s: %s", roles(t, b), b)
	}
	// Results of the program's own tools are no interruption: code of the provider
	// may wait for them.
	call := first
	call.Items, call.Blocks = nil, append(first.Blocks[:4:4], uzda.ToolUse{ID: "2.1", Wire: "toolu_1", Name: "f", Input: json.RawMessage("{}")})
	must(t, m, hello(said("a"), call, results(call)))
	if b := h.body(h.count()); !strings.Contains(b, "srvtoolu_2") {
		t.Errorf("the call is gone: %s", b)
	}
}

// A container is named in the next requests, until it expires or the options name
// another.
func TestContainer(t *testing.T) {
	t.Parallel()
	for expires, want := range map[string]string{`"2999-01-01T00:00:00Z"`: `"c_1"`, `"2001-01-01T00:00:00Z"`: ``, `null`: `"c_1"`} {
		h := replies(t, events(append(append([]string{began}, text("hi")...), `{"type":"message_delta","delta":{"stop_reason":"end_turn","container":{"id":"c_1","expires_at":`+expires+`}},"usage":{"output_tokens":20}}`, stopped)...))
		m := h.model()
		reply := must(t, m, hello()).Message
		must(t, m, hello(said("a"), reply, said("b")))
		if got := string(read(t, h.body(2)).Container); got != want || content(t, h.body(2), 1) != `[{"type":"text","text":"hi"}]` {
			t.Errorf("%s: the container is %s, the reply %s", expires, got, content(t, h.body(2), 1))
		}
		req := hello(said("a"), reply, said("b"))
		req.Head.Params.Options = options(`{"container":{"id":"c_2","skills":[]}}`)
		must(t, m, req)
		if got := string(read(t, h.body(3)).Container); got != `{"id":"c_2","skills":[]}` {
			t.Errorf("the container is %s", got)
		}
	}
}

// What a provider said goes back to that provider, key and model alone; to any
// other it is translated, and the stored message stays as it is. case:T17 M2
func TestOrigins(t *testing.T) {
	t.Parallel()
	h := replies(t, stream("tool_use",
		block(0, `{"type":"thinking","thinking":"hm","signature":"c2ln"}`), block(1, `{"type":"redacted_thinking","data":"x"}`),
		block(2, `{"type":"text","text":"hi","citations":[{"n":1}]}`), block(3, `{"type":"tool_use","id":"toolu_1","name":"f","input":{"a": 1},"caller":{"type":"direct"}}`)))
	reply := named(must(t, h.model(), hello()).Message, 2)
	before, _ := json.Marshal(reply)
	const all = `[{"type":"thinking","thinking":"hm","signature":"c2ln"},{"type":"redacted_thinking","data":"x"},{"type":"text","text":"hi","citations":[{"n":1}]},{"type":"tool_use","id":"toolu_1","name":"f","input":{"a":1},"caller":{"type":"direct"}}]`
	const translated = `[{"type":"text","text":"hi"},{"type":"tool_use","id":"toolu_1","name":"f","input":{"a":1}}]`
	other := replies(t, stream("end_turn", text("ok")))
	for _, c := range []struct {
		name   string
		change func(*anthropic.Model)
		want   string
	}{
		{"the same", func(*anthropic.Model) {}, all},
		{"another model", func(m *anthropic.Model) { m.ID = "claude-test-2" }, translated},
		{"another key", func(m *anthropic.Model) { m.Key = "other" }, translated},
		{"another service", func(m *anthropic.Model) { m.Base = other.URL }, translated},
		{"another profile", func(m *anthropic.Model) { m.Profile = "other" }, translated},
	} {
		m := h.model()
		c.change(&m)
		must(t, m, hello(said("a"), reply, results(reply)))
		b := h.body(h.count())
		if m.Base == other.URL {
			b = other.body(1)
		}
		if got := content(t, b, 1); got != c.want {
			t.Errorf("to %s goes\n%s\nnot\n%s", c.name, got, c.want)
		}
	}
	if after, _ := json.Marshal(reply); string(after) != string(before) {
		t.Errorf("the message was changed:\n%s\n%s", before, after)
	}
	// A message that nobody signed, such as one of an imported session.
	reply.Origin = nil
	must(t, h.model(), hello(said("a"), reply, results(reply)))
	if got := content(t, h.body(h.count()), 1); got != translated {
		t.Errorf("of an unknown origin goes %s", got)
	}
}

// A repair encodes its block again and no other; items that do not describe the
// blocks are not believed.
func TestRepairs(t *testing.T) {
	t.Parallel()
	h := replies(t, stream("tool_use", block(0, `{"type":"text","text":"hi","x":1}`), block(1, `{"type":"tool_use","id":"toolu_1","name":"f","input":{},"x":2}`)))
	reply := named(must(t, h.model(), hello()).Message, 2)
	const one, two = `{"type":"text","text":"hi","x":1}`, `{"type":"tool_use","id":"toolu_1","name":"f","input":{},"x":2}`
	const plainOne, plainTwo = `{"type":"text","text":"hi"}`, `{"type":"tool_use","id":"toolu_1","name":"f","input":{}}`
	for _, c := range []struct {
		name   string
		change func(*uzda.Message)
		want   string
	}{
		{"as it came", func(*uzda.Message) {}, one + "," + two},
		{"the text", func(m *uzda.Message) { m.Repairs = []uzda.Repair{{Block: 0, What: "x"}, {Block: -1, What: "y"}} }, plainOne + "," + two},
		{"the call", func(m *uzda.Message) { m.Repairs = []uzda.Repair{{Block: 1}} }, one + "," + plainTwo},
		{"no items", func(m *uzda.Message) { m.Items = nil }, plainOne + "," + plainTwo},
		{"too few items", func(m *uzda.Message) { m.Items = m.Items[:1] }, plainOne + "," + plainTwo},
		{"too many items", func(m *uzda.Message) { m.Items = append(m.Items, m.Items...) }, plainOne + "," + plainTwo},
		{"a negative item", func(m *uzda.Message) { m.Items = append([]uzda.Item{{Blocks: -1}}, m.Items...) }, plainOne + "," + plainTwo},
		{"an item of two blocks", func(m *uzda.Message) { m.Items = []uzda.Item{{Blocks: 2, Raw: json.RawMessage(one)}} }, plainOne + "," + plainTwo},
		{"an item of no block", func(m *uzda.Message) { m.Items = append([]uzda.Item{{Raw: json.RawMessage(one)}}, m.Items...) }, one + "," + two},
	} {
		m := reply
		c.change(&m)
		must(t, h.model(), hello(said("a"), m, results(m)))
		if got := content(t, h.body(h.count()), 1); got != "["+c.want+"]" {
			t.Errorf("%s: it goes back as %s", c.name, got)
		}
	}
}

// A thought in which something was hidden has no proof any more: it is left out.
func TestMendedThinking(t *testing.T) {
	t.Parallel()
	h := replies(t, stream("end_turn", block(0, `{"type":"thinking","thinking":"the key is k","signature":"c2ln"}`), text("hi")))
	m := must(t, h.model(), hello()).Message
	m.Blocks = uzda.Blocks{uzda.Thinking{Text: "the key is {{secret:K}}"}, m.Blocks[1]}
	m.Items, m.Repairs = nil, []uzda.Repair{{Block: 0, What: "hidden"}}
	must(t, h.model(), hello(said("a"), m, said("b")))
	if got := content(t, h.body(2), 1); got != `[{"type":"text","text":"hi"}]` {
		t.Errorf("it goes back as %s", got)
	}
}

// A proof of thinking that the provider refuses is left out, visibly and once: the
// session stays usable, thinks on, and the next request does not fail again.
// peer:26 M2
func TestRefusedThinking(t *testing.T) {
	t.Parallel()
	for _, refusal := range []string{
		"messages.1.content.0: Invalid `signature` in `thinking` block",
		"messages.1.content.0: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified.",
		"messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `text`.",
	} {
		h := serve(t, nil)
		h.answer = func(n int, w http.ResponseWriter, _ *http.Request) {
			if n == 2 {
				w.WriteHeader(http.StatusBadRequest)
				_, _ = fmt.Fprintf(w, `{"type":"error","error":{"type":"invalid_request_error","message":%q}}`, refusal)
				return
			}
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = fmt.Fprint(w, stream("end_turn", block(0, fmt.Sprintf(`{"type":"thinking","thinking":"hm %d","signature":"c2ln"}`, n)), block(1, `{"type":"redacted_thinking","data":"x"}`), text("hi")))
		}
		m := h.model()
		req := func(view ...uzda.Message) *uzda.Request {
			r := hello(view...)
			r.Head.Params.Options = options(`{"thinking":{"type":"enabled","budget_tokens":1024}}`)
			r.Max = 5000
			return r
		}
		first := must(t, m, req()).Message
		enc := &uzda.Enc{}
		r := req(said("a"), first, said("b"))
		r.Enc = enc
		second := must(t, m, r)
		if len(second.Attempts) != 1 || second.Attempts[0].N != 2 || !strings.Contains(second.Attempts[0].Error, "without the thinking") {
			t.Errorf("the attempts are %+v", second.Attempts)
		}
		if !strings.Contains(h.body(2), "hm 1") || strings.Contains(h.body(3), "hm 1") || strings.Contains(h.body(3), "redacted_thinking") || content(t, h.body(3), 1) != `[{"type":"text","text":"hi"}]` {
			t.Errorf("it was sent again as %s", h.body(3))
		}
		if !strings.Contains(h.body(3), `"thinking":{"type":"enabled"`) {
			t.Errorf("thinking is off for good: %s", h.body(3))
		}
		// What was said since then is kept, and the refused is not sent again, not
		// even after an edit of the view.
		for gen := range 2 {
			r = req(said("a"), first, said("b"), second.Message, said("c"))
			r.Enc, r.Gen = enc, gen
			must(t, m, r)
			if got := h.body(4 + gen); strings.Contains(got, "hm 1") || !strings.Contains(got, "hm 3") {
				t.Errorf("the next request is %s", got)
			}
		}
	}
}

// In the middle of a turn whose thinking cannot go back, a fixed budget of
// thinking is refused: that request thinks not. T17
func TestThinkingInAForeignTurn(t *testing.T) {
	t.Parallel()
	s := modeltest.Serve(t, modeltest.Config{Loop: true, Turns: []modeltest.Turn{{Thinking: "hm", Calls: []modeltest.Call{add(1, 2)}}, {Text: "Done."}}})
	thinks := func(view ...uzda.Message) *uzda.Request {
		r := hello(view...)
		r.Max, r.Head.Tools = 5000, []uzda.ToolSpec{spec("add")}
		r.Head.Params.Options = options(`{"thinking":{"type":"enabled","budget_tokens":1024}}`)
		return r
	}
	reply := named(must(t, at(s), thinks()).Message, 2)
	must(t, at(s), thinks(said("a"), reply, results(reply)))
	foreign := reply
	foreign.Origin = &uzda.Origin{Profile: "openai"}
	must(t, at(s), thinks(said("a"), foreign, results(foreign)))
	must(t, at(s), thinks(said("a"), foreign, results(foreign), said("b")))
	asks := s.Asks()
	for i, want := range []bool{true, true, false, false} {
		if got := strings.Contains(string(asks[i].Body), `"thinking":{"type"`); got != want {
			t.Errorf("request %d has thinking: %v", i+1, got)
		}
	}
	must(t, at(s), thinks(said("a"), foreign, results(foreign), uzda.Message{Role: uzda.Assistant, Blocks: uzda.Say("c")}, said("b")))
	if got := s.Asks()[4]; !strings.Contains(string(got.Body), `"thinking":{"type"`) {
		t.Error("thinking stays off in the next turn")
	}
}

// A picture that the provider refuses does not end the session.
func TestRefusedMedia(t *testing.T) {
	t.Parallel()
	h := serve(t, nil)
	h.answer = func(n int, w http.ResponseWriter, _ *http.Request) {
		if strings.Contains(h.body(n), `"type":"image"`) {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = fmt.Fprint(w, `{"type":"error","error":{"type":"invalid_request_error","message":"messages.0.content.0.image.source.base64.data: At least one of the image dimensions exceed max allowed size for many-image requests: 2000 pixels"}}`)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = fmt.Fprint(w, stream("end_turn", text("hi")))
	}
	req := hello(uzda.Message{Role: uzda.User, Blocks: uzda.Blocks{uzda.Media{Type: "image/png", Name: "p.png", Data: pngOf(2, 2)}, uzda.Text{Text: "what is it?"}}})
	req.Enc = &uzda.Enc{}
	r := must(t, h.model(), req)
	if len(r.Attempts) != 1 || !strings.Contains(h.body(2), "[p.png (image/png, ") {
		t.Errorf("the attempts are %+v; it was sent as %s", r.Attempts, h.body(2))
	}
	if must(t, h.model(), req); h.count() != 3 {
		t.Errorf("there were %d requests", h.count())
	}
}

// Another refusal is not tried again, nor one that leaving out cannot mend.
func TestOtherRefusals(t *testing.T) {
	t.Parallel()
	for _, message := range []string{"Invalid `signature` in `thinking` block", "image exceeds 5 MB maximum", "messages: roles must alternate"} {
		h := serve(t, func(_ int, w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = fmt.Fprintf(w, `{"type":"error","error":{"type":"invalid_request_error","message":%q}}`, message)
		})
		m := h.model()
		m.Tries = 5
		_, err := ask(t, m, hello())
		var p *uzda.ProviderError
		if !asProvider(err, &p) || p.Code != "invalid_request" || h.count() != 1 {
			t.Errorf("%q: the error is %v after %d requests", message, err, h.count())
		}
	}
}
