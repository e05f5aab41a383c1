package anthropic_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/model/modeltest"
)

// Whatever a service answers, reading it ends in a reply whose chunks are in order
// and which can go back, or in an error of the provider; in pieces it is the same.
func FuzzDecode(f *testing.F) {
	seeds := []string{
		stream("tool_use", block(0, `{"type":"thinking","thinking":"","signature":""}`, `{"type":"thinking_delta","thinking":"hm"}`, `{"type":"signature_delta","signature":"c2ln"}`), text("hé\\ud83d"),
			block(2, `{"type":"tool_use","id":"toolu_1","name":"f","input":{}}`, `{"type":"input_json_delta","partial_json":"{\"a\": 1}"}`)),
		stream("pause_turn", block(0, `{"type":"server_tool_use","id":"s","name":"web_search","input":{}}`, `{"type":"input_json_delta","partial_json":"{}"}`), block(1, `{"type":"web_search_tool_result","tool_use_id":"s","content":[]}`)),
		events(began, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`),
		`{"type":"message","content":[{"type":"text","text":"hi","citations":null},{"type":"tool_use","id":"x","name":"y","input":{"a":"\ud800"}}],"stop_reason":"end_turn","usage":{"iterations":[{"input_tokens":1e9}]}}`,
		"{\"type\":\"message\"}\n{", "data: [DONE]\n\n", ": ping\n\n", "<html>", "{", "",
		stream("end_turn", block(0, `{"type":"text","text":"a","citations":[1]}`, `{"type":"citations_delta","citation":{}}`, `{"type":"text_delta","text":"\u0000"}`)),
		events(`{"type":"content_block_delta","index":-1,"delta":{"type":"text_delta","text":"x"}}`, ended("end_turn", -5)),
		events(`{"type":"content_block_start","index":0,"content_block":{"type":"compaction","content":null}}`, `{"type":"content_block_delta","index":0,"delta":{"content":"x"}}`, ended("compaction", 1)),
	}
	for _, s := range seeds {
		f.Add([]byte(s), uint64(7))
	}
	f.Fuzz(func(t *testing.T, data []byte, seed uint64) {
		r := &replay{status: http.StatusOK, body: data}
		m := r.at("fuzz")
		m.Limit = fmt.Sprint(seed, len(data)) // what is answered may hold a key back
		var chunks []uzda.Chunk
		reply, err := uzda.Collect(m.Stream(t.Context(), hello()), func(c uzda.Chunk) { chunks = append(chunks, c) })
		rnd := rand.New(rand.NewPCG(seed, 1))
		r.cut = func(int) int { return 1 + rnd.IntN(40) }
		m.Limit += " again"
		again, err2 := ask(t, m, hello())
		a, _ := json.Marshal(reply.Message)
		b, _ := json.Marshal(again.Message)
		if fmt.Sprint(err) != fmt.Sprint(err2) || string(a) != string(b) {
			t.Fatalf("in pieces it is another reply:\n%s %v\n%s %v", a, err, b, err2)
		}
		if err != nil {
			var p *uzda.ProviderError
			if !errors.As(err, &p) {
				t.Fatalf("the error is no *uzda.ProviderError: %v", err)
			}
			return
		}
		if err := modeltest.Order(chunks); err != nil {
			t.Fatalf("%v: %s", err, a)
		}
		r.body, r.cut = []byte(stream("end_turn", text("ok"))), nil
		msg := named(reply.Message, 2)
		view := []uzda.Message{said("a"), msg}
		if len(msg.Uses()) > 0 {
			view = append(view, results(msg))
		}
		if _, err := ask(t, m, hello(view...)); err != nil {
			t.Fatal(err)
		}
		if !json.Valid(r.last) {
			t.Fatalf("it goes back as what is no JSON: %s", r.last)
		}
		read(t, string(r.last))
	})
}

// Whatever a view holds, the body is JSON and such as the provider takes, and what
// was encoded step by step is what is encoded at once.
func FuzzEncode(f *testing.F) {
	for _, s := range []string{"\x00\x01\x02\x03\x04\x05", "\x05\x04\x03\x02\x01\x00\x09\x08", "abcdefghijklmnop", "\xff\xfe\xed\xa0\x80\x07\x06", "\x02\x0a\x02\x0a\x00\x06\x06\x01"} {
		f.Add([]byte(s), "text", `{"a":1}`)
	}
	f.Fuzz(func(t *testing.T, data []byte, words, input string) {
		if !json.Valid([]byte(input)) || !strings.HasPrefix(input, "{") {
			input = "{}"
		}
		data = data[:min(len(data), 60)]
		r := &replay{status: http.StatusOK, body: []byte(stream("end_turn", text("ok")))}
		m := r.at("fuzz")
		own := &uzda.Origin{}
		*own = *must(t, m, hello()).Stop.Origin
		view := fuzzView(data, words, input, own)
		enc := &uzda.Enc{}
		for n := range view {
			req := hello(view[:n+1]...)
			req.Enc = enc
			must(t, m, req)
		}
		stepwise := string(r.last)
		must(t, m, hello(view...))
		if len(view) > 0 && stepwise != string(r.last) {
			t.Fatalf("step by step it is\n%s\nat once\n%s", stepwise, r.last)
		}
		s := read(t, string(r.last))
		for i, msg := range s.Messages {
			if len(msg.Content) == 0 || msg.Role != []string{"user", "assistant"}[i%2] {
				t.Fatalf("message %d of %s is wrong", i, r.last)
			}
		}
	})
}

// fuzzView makes a view of what each byte says.
func fuzzView(data []byte, words, input string, own *uzda.Origin) []uzda.Message {
	var view []uzda.Message
	for i, c := range data {
		m := uzda.Message{Role: uzda.Assistant, Origin: own}
		opaque := func(s string) uzda.Block { return uzda.Opaque{Origin: "anthropic", Raw: json.RawMessage(s)} }
		switch c % 12 {
		case 0:
			m = said(words)
		case 1:
			m.Blocks = uzda.Say(words)
		case 2:
			m.Blocks = uzda.Blocks{uzda.Thinking{Text: words, Signature: words}, uzda.Text{Text: words}}
		case 3:
			m.Blocks = uzda.Blocks{opaque(fmt.Sprintf(`{"type":"server_tool_use","id":"s%d"}`, i))}
		case 4:
			m.Blocks = uzda.Blocks{opaque(fmt.Sprintf(`{"type":"web_search_tool_result","tool_use_id":"s%d"}`, max(i-1, 0)))}
		case 5, 6:
			m.Blocks = uzda.Blocks{uzda.Text{Text: words}}
			for n := range int(c)%4 + 1 {
				m.Blocks = append(m.Blocks, uzda.ToolUse{Wire: words, Name: words, Input: json.RawMessage(input), ID: uzda.UseID(fmt.Sprintf("%d.%d", i, n))})
			}
			if c%2 == 0 {
				m.Origin = nil
			}
			view = append(view, m)
			m = results(m)
		case 7:
			m = uzda.Message{Role: uzda.User, Blocks: uzda.Blocks{uzda.Media{Type: words, Name: words, Data: []byte(words)}}}
		case 8:
			m.Blocks = uzda.Blocks{opaque(words), opaque(`{"container":{"id":"c"}}`)}
		case 9:
			m.Blocks = uzda.Say(words)
			m.Items = []uzda.Item{{Blocks: 1, Raw: json.RawMessage(`{"type":"text","text":"x"}`)}}
		case 10:
			m = uzda.Message{Role: uzda.User, Blocks: uzda.Blocks{uzda.Thinking{Text: words}, uzda.Opaque{Origin: "anthropic", Raw: json.RawMessage(`{"type":"search_result"}`)}}}
		}
		view = append(view, m)
	}
	return view
}

// Faulty streams leave no goroutine and no connection behind; TestMain looks for
// them. UZDA_FULL=1 makes it 10,000 of them. case:L10
func TestFaultyStreams(t *testing.T) {
	t.Parallel()
	rounds := 250
	if os.Getenv("UZDA_FULL") != "" {
		rounds = 2500
	}
	var faults []modeltest.Fault
	for _, kind := range []modeltest.Kind{modeltest.End, modeltest.Cut, modeltest.Reset, modeltest.ErrorEvent, modeltest.Refuse} {
		for n := range 8 {
			faults = append(faults, modeltest.Fault{Kind: kind, After: n, Early: n == 0 && (kind == modeltest.Cut || kind == modeltest.Reset), Final: true})
		}
	}
	s := modeltest.Serve(t, modeltest.Config{Keep: 1, Answer: func(r *modeltest.Request) modeltest.Turn {
		return modeltest.Turn{Thinking: "hm", Text: "It is so, and so on.", Calls: []modeltest.Call{add(1, 2)}, Faults: []modeltest.Fault{faults[r.N%len(faults)]}}
	}})
	m := at(s)
	m.Tries, m.Limit = 1, t.Name()
	m.HTTP = &http.Client{Transport: &http.Transport{}}
	defer m.HTTP.CloseIdleConnections()
	failed := 0
	for n := range rounds * len(faults) / 10 {
		req := hello(said(fmt.Sprint("hello ", n)))
		req.Head.Tools = []uzda.ToolSpec{spec("add")}
		if _, err := ask(t, m, req); err != nil {
			var p *uzda.ProviderError
			if !errors.As(err, &p) {
				t.Errorf("the error is %v", err)
			}
			failed++
		}
	}
	t.Logf("%d of %d streams failed", failed, rounds*len(faults)/10)
}
