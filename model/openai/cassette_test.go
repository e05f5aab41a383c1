package openai_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/model/modeltest"
)

// offered are the tools of a recorded request.
func (c *cassette) offered() []string {
	var in struct {
		Tools []struct{ Function struct{ Name string } }
	}
	_ = json.Unmarshal(c.Request.Body, &in) // some have no body
	var out []string
	for _, t := range in.Tools {
		if t.Function.Name != "" {
			out = append(out, t.Function.Name)
		}
	}
	return out
}

// odd are the exchanges that are no whole reply of text or calls.
var odd = map[string]string{
	"openai-compat/openrouter-mid-stream-error-sse": "error",
	"openai-chat/azure-content-filter-400":          "error", // in a 200
	"openai-chat/azure-content-filter-finish":       "empty",
	"openai-compat/groq-tool-use-failed-sse-1":      "recovered",
	"openai-chat/usage-chunk-detailed-sse":          "empty", // thought until the limit
	"openai-chat/length-reasoning-obfuscation-sse":  "empty",
	"openai-chat/length-json":                       "empty",
}

// Every recorded exchange is decoded, and what would go back is the reply as it
// came, member by member, in order, with the bytes of its strings. M1 M2
func TestCassettes(t *testing.T) {
	n, back := 0, 0
	for _, c := range cassettes(t) {
		n++
		t.Run(c.Name, func(t *testing.T) {
			p := &player{status: c.Response.Status, headers: c.Response.Headers, bodies: [][]byte{c.body()}}
			m := p.model(c.profile())
			req := hello(c.offered()...)
			reply, chunks, err := ask(t, m, req)
			if c.Response.Status != 200 || odd[c.Name] == "error" {
				var e *uzda.ProviderError
				if !errors.As(err, &e) || e.Message == "" || len(reply.Message.Blocks) > 0 {
					t.Fatalf("the error is %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if err := modeltest.Order(chunks); err != nil {
				t.Error(err)
			}
			if u := reply.Stop.Usage; u.Input < 0 || u.Context() == 0 && !u.AtLeast || u.Output == 0 {
				t.Errorf("the usage is %+v", u)
			}
			if len(reply.Message.Blocks) == 0 {
				if odd[c.Name] != "empty" {
					t.Errorf("the reply is empty: %+v", reply.Stop)
				}
				return
			}
			if _, _, err := ask(t, m, then(req, reply)); err != nil {
				t.Fatal(err)
			}
			back++
			want := folded(t, c.body()).goesBack()
			if odd[c.Name] == "recovered" {
				want.set("tool_calls", parseOrdered(t, `[{"id":"call_2_1","type":"function","function":{"name":"get_something_by_name","arguments":"{\"invalid_param\":\"value\"}"}}]`))
			}
			if have := parseOrdered(t, string(messages(t, p.sent[1])[2])); want.String() != have.String() {
				t.Errorf("what came\n%s\nwould go back as\n%s", want, have)
			}
		})
	}
	t.Logf("%d exchanges, %d replies that go back", n, back)
}

// Where a network cuts a stream makes no difference.
func TestSplits(t *testing.T) {
	t.Parallel()
	seeds := uint64(200)
	if testing.Short() {
		seeds = 20
	}
	for _, c := range cassettes(t) {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			req := hello(c.offered()...)
			run := func(piece func() int) string {
				p := &player{status: c.Response.Status, headers: c.Response.Headers, bodies: [][]byte{c.body()}, piece: piece}
				reply, chunks, err := ask(t, p.model(c.profile()), req)
				var shown strings.Builder
				for _, c := range chunks {
					if d, ok := c.(uzda.Delta); ok {
						fmt.Fprintf(&shown, "%d %s %q\n", d.Block, d.Kind, d.Text)
					}
				}
				raw, fault := json.Marshal(reply)
				if fault != nil {
					t.Fatal(fault)
				}
				return fmt.Sprintf("%s %v %s", raw, err, shown.String())
			}
			want := run(nil)
			if got := run(single); got != want {
				t.Fatalf("byte by byte:\n%s\nwhole:\n%s", got, want)
			}
			for seed := range seeds {
				if got := run(random(seed)); got != want {
					t.Fatalf("seed %d:\n%s\nwhole:\n%s", seed, got, want)
				}
			}
		})
	}
}

// An ordered is a JSON value with its members in order and its scalars as they
// are written, for a fold that is apart from the one that it checks.
type ordered struct {
	kind byte // { [ or 0
	keys []string
	vals []*ordered
	leaf string
}

type orderedParser struct {
	src string
	dec *json.Decoder
}

func parseOrdered(t testing.TB, src string) *ordered {
	t.Helper()
	p := orderedParser{src, json.NewDecoder(strings.NewReader(src))}
	p.dec.UseNumber()
	o, err := p.value()
	if err != nil {
		t.Fatalf("%v in %s", err, src)
	}
	return o
}

// token returns a token and how it is written.
func (p *orderedParser) token() (json.Token, string, error) {
	from := p.dec.InputOffset()
	tok, err := p.dec.Token()
	return tok, strings.TrimLeft(p.src[from:p.dec.InputOffset()], " \t\r\n,:"), err
}

func (p *orderedParser) value() (*ordered, error) {
	tok, written, err := p.token()
	delim, ok := tok.(json.Delim)
	if !ok || err != nil {
		return &ordered{leaf: written}, err
	}
	o := &ordered{kind: byte(delim)}
	for p.dec.More() {
		if delim == '{' {
			k, _, err := p.token()
			if err != nil {
				return nil, err
			}
			o.keys = append(o.keys, k.(string))
		}
		v, err := p.value()
		if err != nil {
			return nil, err
		}
		o.vals = append(o.vals, v)
	}
	_, _, err = p.token()
	return o, err
}

func (o *ordered) get(key string) *ordered {
	if o == nil {
		return nil
	}
	if i := slices.Index(o.keys, key); i >= 0 {
		return o.vals[i]
	}
	return nil
}

func (o *ordered) null() bool { return o == nil || o.kind == 0 && o.leaf == "null" }

// empty says whether a string is "", or nothing.
func (o *ordered) empty() bool { return o.null() || o.leaf == `""` }

func (o *ordered) String() string {
	if o.kind == 0 {
		return o.leaf
	}
	var parts []string
	for i, v := range o.vals {
		if o.kind == '{' {
			parts = append(parts, strconv.Quote(o.keys[i])+":"+v.String())
		} else {
			parts = append(parts, v.String())
		}
	}
	return string(o.kind) + strings.Join(parts, ",") + string(o.kind+2)
}

func (o *ordered) set(key string, v *ordered) {
	if i := slices.Index(o.keys, key); i >= 0 {
		o.vals[i] = v
		return
	}
	o.keys, o.vals = append(o.keys, key), append(o.vals, v)
}

// joined are the strings that come in pieces, as the documentation of the
// services has it.
var joined = []string{"content", "text", "thinking", "reasoning", "reasoning_content", "refusal", "arguments", "summary", "input"}

// merge folds a delta into a value.
func (o *ordered) merge(key string, d *ordered) {
	old := o.get(key)
	switch {
	case old == nil:
		o.set(key, d)
	case d.null():
	case old.null():
		o.set(key, d)
	case d.kind == 0 && slices.Contains(joined, key) && old.kind == '[':
		if !d.empty() {
			old.vals[len(old.vals)-1].merge("text", d)
		}
	case d.kind == 0 && slices.Contains(joined, key):
		o.set(key, &ordered{leaf: old.leaf[:len(old.leaf)-1] + d.leaf[1:]})
	case d.kind == '{' && old.kind == '{':
		for i, k := range d.keys {
			old.merge(k, d.vals[i])
		}
	case d.kind == '[' && old.kind == 0:
		o.set(key, d)
	case d.kind == '[':
		for _, e := range d.vals {
			old.element(e)
		}
	case d.empty():
	default:
		o.set(key, d)
	}
}

// element folds an element into the one with its index, or with its type at the
// end.
func (o *ordered) element(e *ordered) {
	fold := func(old *ordered) {
		for k, key := range e.keys {
			old.merge(key, e.vals[k])
		}
	}
	for _, old := range o.vals {
		if i, j := old.get("index"), e.get("index"); i != nil && j != nil && i.leaf == j.leaf {
			fold(old)
			return
		}
	}
	if n := len(o.vals); n > 0 && e.get("index") == nil && o.vals[n-1].get("type").leaf == e.get("type").leaf {
		fold(o.vals[n-1])
		return
	}
	o.vals = append(o.vals, e)
}

// folded is the message of a recorded body, folded without any knowledge of the
// adapter.
func folded(t testing.TB, body []byte) *ordered {
	t.Helper()
	m := &ordered{kind: '{'}
	feed := func(src string) {
		choices := parseOrdered(t, src).get("choices")
		if choices == nil {
			return
		}
		for _, c := range choices.vals {
			if i := c.get("index"); i != nil && i.leaf != "0" {
				continue
			}
			from := c.get("delta")
			if from == nil {
				from = c.get("message")
			}
			if from == nil {
				continue
			}
			for i, k := range from.keys {
				m.merge(k, from.vals[i])
			}
		}
	}
	if trimmed := bytes.TrimSpace(body); len(trimmed) > 0 && trimmed[0] == '{' {
		feed(string(trimmed))
		return m
	}
	for line := range strings.Lines(string(body)) {
		if data, ok := strings.CutPrefix(strings.TrimRight(line, "\r\n"), "data: "); ok && data != "[DONE]" {
			feed(data)
		}
	}
	return m
}

// goesBack is the message as it should go back: with the documented exceptions.
func (o *ordered) goesBack() *ordered {
	out := &ordered{kind: '{'}
	calls := o.get("tool_calls")
	some := calls != nil && len(calls.vals) > 0
	if o.get("role").null() {
		out.set("role", &ordered{leaf: `"assistant"`})
	}
	for i, k := range o.keys {
		v := o.vals[i]
		switch {
		case k == "content" && v.null() && !some && o.get("function_call") == nil:
			v = &ordered{leaf: `""`}
		case k == "content":
		case v.null(), k == "refusal" && v.empty(), v.kind == '[' && len(v.vals) == 0,
			k == "index", k == "channel", k == "padding":
			continue
		case k == "function_call":
			f := &ordered{kind: '{'}
			f.set("function", v)
			f.set("id", &ordered{leaf: `"call_2_1"`})
			f.set("type", &ordered{leaf: `"function"`})
			k, v = "tool_calls", &ordered{kind: '[', vals: []*ordered{f}}
		case k == "tool_calls":
			v = &ordered{kind: '['}
			for n, c := range calls.vals {
				v.vals = append(v.vals, c.call(n+1))
			}
		}
		out.set(k, v)
	}
	return out
}

// call is a call as it should go back.
func (o *ordered) call(n int) *ordered {
	out := &ordered{kind: '{'}
	for i, k := range o.keys {
		one := o.vals[i]
		switch {
		case k == "index":
			continue
		case k == "id" && one.empty():
			one = &ordered{leaf: fmt.Sprintf(`"call_2_%d"`, n)}
		case k == "function":
			var args string
			if a := one.get("arguments"); a.empty() || json.Unmarshal([]byte(a.leaf), &args) != nil || !json.Valid([]byte(args)) {
				one.set("arguments", &ordered{leaf: `"{}"`})
			}
		}
		out.set(k, one)
	}
	return out
}
