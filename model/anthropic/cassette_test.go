package anthropic_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/model/anthropic"
)

// A cassette is a recorded exchange.
type cassette struct {
	name         string
	Conversation string
	Turn         int
	Request      struct {
		Body json.RawMessage
	}
	Response struct {
		Status  int
		Headers map[string]string
		Body    json.RawMessage
	}
}

// cassettes are all recorded exchanges of Messages.
func cassettes(t *testing.T) []*cassette {
	t.Helper()
	dir := shared(t, "cassettes")
	var out []*cassette
	for _, sub := range []string{"anthropic-messages", "unverified-anthropic-messages"} {
		names, err := filepath.Glob(filepath.Join(dir, sub, "*.json"))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			raw, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			c := &cassette{name: sub + "/" + strings.TrimSuffix(filepath.Base(name), ".json")}
			if err := json.Unmarshal(raw, c); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			out = append(out, c)
		}
	}
	if len(out) < 120 {
		t.Fatalf("only %d exchanges of Messages in %s", len(out), dir)
	}
	return out
}

// body is the reply's body.
func (c *cassette) body(t testing.TB) []byte {
	t.Helper()
	if c.Response.Body[0] != '"' {
		return c.Response.Body
	}
	var s string
	if err := json.Unmarshal(c.Response.Body, &s); err != nil {
		t.Fatal(err)
	}
	return []byte(s)
}

// A replay answers every request with one body, in the pieces that cut makes.
type replay struct {
	status  int
	headers map[string]string
	body    []byte
	cut     func(left int) int // length of the next piece
	last    []byte             // body of the newest request
}

func (r *replay) RoundTrip(req *http.Request) (*http.Response, error) {
	raw, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	r.last = raw
	h := http.Header{}
	for k, v := range r.headers {
		h.Set(k, v)
	}
	return &http.Response{StatusCode: r.status, Header: h, Body: io.NopCloser(&pieces{r.body, r.cut}), ContentLength: -1, Request: req}, nil
}

type pieces struct {
	left []byte
	cut  func(int) int
}

func (p *pieces) Read(b []byte) (int, error) {
	if len(p.left) == 0 {
		return 0, io.EOF
	}
	n := len(p.left)
	if p.cut != nil {
		n = max(1, min(n, p.cut(n)))
	}
	n = copy(b, p.left[:n])
	p.left = p.left[n:]
	return n, nil
}

func (c *cassette) replay(t testing.TB) *replay {
	status := c.Response.Status
	if status == 0 {
		status = http.StatusOK
	}
	return &replay{status: status, headers: c.Response.Headers, body: c.body(t)}
}

// at is a model that asks the replay.
func (r *replay) at(name string) anthropic.Model {
	return anthropic.Model{ID: "claude-test-1", Base: "http://" + name, Key: "k", Tries: 1, HTTP: &http.Client{Transport: r}}
}

// refold puts a reply together in another way than the adapter does: as text.
type refold struct {
	blocks []*reblock
	reason string
	cut    bool // a second message begins in the middle
}

type reblock struct {
	keys   []string
	values map[string]json.RawMessage
	input  string
}

func (b *reblock) set(key string, v json.RawMessage) {
	if _, ok := b.values[key]; !ok {
		b.keys = append(b.keys, key)
	}
	b.values[key] = v
}

func object(t testing.TB, raw json.RawMessage) *reblock {
	t.Helper()
	b := &reblock{values: map[string]json.RawMessage{}}
	dec := json.NewDecoder(bytes.NewReader(raw))
	if _, err := dec.Token(); err != nil {
		t.Fatal(err)
	}
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			t.Fatal(err)
		}
		var v json.RawMessage
		if err := dec.Decode(&v); err != nil {
			t.Fatal(err)
		}
		b.set(key.(string), v)
	}
	return b
}

// join joins two JSON strings byte for byte.
func join(a, b json.RawMessage) json.RawMessage {
	if len(a) < 2 || a[0] != '"' {
		return b
	}
	return json.RawMessage(string(a[:len(a)-1]) + string(b[1:]))
}

func (b *reblock) raw() string {
	var out []string
	for _, k := range b.keys {
		v := b.values[k]
		if k == "input" && strings.TrimSpace(b.input) != "" && json.Valid([]byte(b.input)) {
			v = json.RawMessage(b.input)
		}
		out = append(out, fmt.Sprintf("%q:%s", k, v))
	}
	return "{" + strings.Join(out, ",") + "}"
}

func refolded(t testing.TB, body []byte) refold {
	t.Helper()
	var f refold
	if trimmed := bytes.TrimSpace(body); trimmed[0] == '{' {
		var m struct {
			Content    []json.RawMessage
			StopReason string `json:"stop_reason"`
		}
		if err := json.Unmarshal(trimmed, &m); err != nil {
			t.Fatal(err)
		}
		for _, c := range m.Content {
			f.blocks = append(f.blocks, object(t, c))
		}
		f.reason = m.StopReason
		return f
	}
	started := false
	for line := range strings.Lines(string(body)) {
		data, ok := strings.CutPrefix(strings.TrimSpace(line), "data:")
		if !ok || strings.TrimSpace(data) == "[DONE]" {
			continue
		}
		var e struct {
			Type         string
			ContentBlock json.RawMessage `json:"content_block"`
			Delta        json.RawMessage
			Message      struct{ ID string }
		}
		if err := json.Unmarshal([]byte(data), &e); err != nil {
			t.Fatal(err)
		}
		switch e.Type {
		case "message_start":
			f.cut = f.cut || started && len(f.blocks) > 0
			started = true
		case "content_block_start":
			f.blocks = append(f.blocks, object(t, e.ContentBlock))
		case "content_block_delta":
			f.delta(t, e.Delta)
		case "message_delta":
			var d struct {
				Reason string `json:"stop_reason"`
			}
			if err := json.Unmarshal(e.Delta, &d); err != nil {
				t.Fatal(err)
			}
			f.reason = d.Reason
		case "message_stop":
			return f
		}
	}
	return f
}

func (f *refold) delta(t testing.TB, raw json.RawMessage) {
	t.Helper()
	b, d := f.blocks[len(f.blocks)-1], object(t, raw)
	switch strings.Trim(string(d.values["type"]), `"`) {
	case "input_json_delta":
		var s string
		if err := json.Unmarshal(d.values["partial_json"], &s); err != nil {
			t.Fatal(err)
		}
		b.input += s
	case "citations_delta":
		list := string(b.values["citations"])
		if list == "" || list == "[]" {
			list = "[" + string(d.values["citation"]) + "]"
		} else {
			list = strings.TrimSuffix(list, "]") + "," + string(d.values["citation"]) + "]"
		}
		b.set("citations", json.RawMessage(list))
	default:
		for _, k := range d.keys {
			if k != "type" {
				b.set(k, join(b.values[k], d.values[k]))
			}
		}
	}
}

// back is what of a message goes back to its origin, block for block.
func back(t testing.TB, r *replay, m anthropic.Model, msg uzda.Message) []json.RawMessage {
	t.Helper()
	msg = named(msg, 2)
	view := []uzda.Message{said("Hello"), msg}
	if len(msg.Uses()) > 0 {
		view = append(view, results(msg))
	}
	_, _ = ask(t, m, hello(view...)) // only what is sent counts
	s := read(t, string(r.last))
	if len(s.Messages) < 2 || s.Messages[1].Role != "assistant" {
		return nil
	}
	return s.Messages[1].Content
}

// Every recorded reply is decoded, and what would go back is the reply as it
// came: the same members in the same order, and every string, signature,
// argument and encrypted value byte for byte. M1 M2 L2
func TestCassettes(t *testing.T) {
	t.Parallel()
	decoded, failed := 0, 0
	for _, c := range cassettes(t) {
		r := c.replay(t)
		m := r.at("cassette")
		reply, err := ask(t, m, hello())
		if r.status >= 300 {
			var p *uzda.ProviderError
			if !asProvider(err, &p) || p.Status != r.status || p.Message == "" {
				t.Errorf("%s: the error is %v", c.name, err)
			}
			failed++
			continue
		}
		want := refolded(t, r.body)
		if want.cut {
			var p *uzda.ProviderError
			if !asProvider(err, &p) || p.Code != "cut" {
				t.Errorf("%s: two messages in one stream gave %v", c.name, err)
			}
			failed++
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		decoded++
		if reply.Stop.Raw != want.reason {
			t.Errorf("%s: it stopped as %q, not as %q", c.name, reply.Stop.Raw, want.reason)
		}
		var wants []string
		for _, b := range want.blocks {
			var text string
			_ = json.Unmarshal(b.values["text"], &text)                                // none is blank
			if string(b.values["type"]) != `"text"` || strings.TrimSpace(text) != "" { // blank text is refused as input
				wants = append(wants, b.raw())
			}
		}
		got := back(t, r, m, reply.Message)
		if len(got) != len(wants) {
			t.Errorf("%s: %d blocks go back, not %d", c.name, len(got), len(wants))
			continue
		}
		for i := range got {
			if string(got[i]) != wants[i] {
				t.Errorf("%s: block %d goes back as\n%.500s\nnot as it came:\n%.500s", c.name, i, got[i], wants[i])
			}
		}
	}
	t.Logf("%d replies decoded, %d errors", decoded, failed)
}

func asProvider(err error, p **uzda.ProviderError) bool {
	e, ok := err.(*uzda.ProviderError) //nolint:errorlint // what the adapter returns is itself one
	*p = e
	return ok
}

// A stream read one byte at a time, and in 200 random splits, is the same reply. M2
func TestCassettesInPieces(t *testing.T) {
	t.Parallel()
	for _, c := range cassettes(t) {
		r := c.replay(t)
		if r.status >= 300 || bytes.TrimSpace(r.body)[0] == '{' {
			continue
		}
		m := r.at("pieces")
		want, wantErr := ask(t, m, hello())
		splits := 200
		if len(r.body) > 100_000 {
			splits = 10
		}
		if testing.Short() {
			splits = 2
		}
		sum := fnv.New64a()
		sum.Write([]byte(c.name))
		for n := range splits + 1 {
			rnd := rand.New(rand.NewPCG(sum.Sum64(), uint64(n)))
			most := 1 + rnd.IntN(400)
			r.cut = func(int) int { return 1 + rnd.IntN(most) }
			if n == 0 {
				r.cut = func(int) int { return 1 }
			}
			got, err := ask(t, m, hello())
			if !reflect.DeepEqual(got, want) || fmt.Sprint(err) != fmt.Sprint(wantErr) {
				t.Errorf("%s in split %d is another reply (%v)", c.name, n, err)
				break
			}
		}
	}
}

// Recorded conversations go on: what is sent as the assistant's message of the
// next turn holds everything that the recorded client sent, and what it had left
// out of the reply. L2 M2
func TestCassetteConversations(t *testing.T) {
	t.Parallel()
	all := map[string][]*cassette{}
	for _, c := range cassettes(t) {
		if c.Conversation != "" {
			all[c.Conversation] = append(all[c.Conversation], c)
		}
	}
	turns := 0
	for name, list := range all {
		slices.SortFunc(list, func(a, b *cassette) int { return a.Turn - b.Turn })
		for i, c := range list[1:] {
			before := list[i].replay(t)
			m := before.at("talk")
			reply := must(t, m, hello())
			var next struct {
				Messages []struct {
					Role    string
					Content json.RawMessage
				}
			}
			if err := json.Unmarshal(c.Request.Body, &next); err != nil {
				t.Fatalf("%s: %v", c.name, err)
			}
			var sentBlocks []map[string]any
			for _, m := range next.Messages {
				if m.Role == "assistant" && m.Content[0] == '[' {
					sentBlocks = nil
					if err := json.Unmarshal(m.Content, &sentBlocks); err != nil {
						t.Fatalf("%s: %v", c.name, err)
					}
				}
			}
			sentBlocks = slices.DeleteFunc(sentBlocks, func(b map[string]any) bool { return b["type"] == "text" && b["text"] == " " })
			got := back(t, before, m, reply.Message)
			if sentBlocks == nil {
				continue // the client began anew, or left the reply out
			}
			turns++
			if len(got) != len(sentBlocks) {
				t.Errorf("%s turn %d: %d blocks go back; the recorded client sent %d", name, c.Turn, len(got), len(sentBlocks))
				continue
			}
			for i, b := range sentBlocks {
				var ours map[string]any
				if err := json.Unmarshal(got[i], &ours); err != nil {
					t.Fatal(err)
				}
				for key, v := range b {
					if key != "cache_control" && !holds(ours[key], v) {
						t.Errorf("%s turn %d, block %d: %q goes back as %.200v; the recorded client sent %.200v", name, c.Turn, i, key, ours[key], v)
					}
				}
			}
		}
	}
	if turns < 25 {
		t.Errorf("only %d turns were compared", turns)
	}
	t.Logf("%d turns compared", turns)
}

// holds says whether a has all of b; null is nothing.
func holds(a, b any) bool {
	switch b := b.(type) {
	case nil:
		return a == nil
	case string: // the recording is cut where it was long
		plain := strings.NewReplacer("–", "-", "’", "'") // and one client sends simpler punctuation
		start, _, cut := strings.Cut(b, "...[elided ")
		ours := plain.Replace(fmt.Sprint(a))
		return ours == plain.Replace(b) || cut && strings.HasPrefix(ours, plain.Replace(start))
	case map[string]any:
		m, ok := a.(map[string]any)
		for k, v := range b {
			ok = ok && holds(m[k], v)
		}
		return ok
	case []any:
		l, ok := a.([]any)
		ok = ok && len(l) == len(b)
		for i := range b {
			ok = ok && holds(l[i], b[i])
		}
		return ok
	}
	return reflect.DeepEqual(a, b)
}
