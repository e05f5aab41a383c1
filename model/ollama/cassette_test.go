package ollama_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/model/ollama"
)

// A cassette is a recorded exchange of shared/cassettes.
type cassette struct {
	name    string
	Request struct {
		Body struct {
			Model    string `json:"model"`
			Messages []struct {
				Role    string `json:"role"`
				Content string `json:"content"`
			} `json:"messages"`
			Tools []struct {
				Function struct {
					Name, Description string
					Parameters        json.RawMessage
				} `json:"function"`
			} `json:"tools"`
		} `json:"body"`
	} `json:"request"`
	Response struct {
		Status  int               `json:"status"`
		Headers map[string]string `json:"headers"`
		Body    string            `json:"body"`
	} `json:"response"`
}

func cassettes(t *testing.T, pattern string) (out []cassette) {
	t.Helper()
	dir := os.Getenv("UZDA_SHARED")
	if dir == "" {
		dir = filepath.Join("..", "..", "..", "shared")
	}
	files, err := filepath.Glob(filepath.Join(dir, "cassettes", "ollama-chat", pattern))
	if err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 {
		t.Skipf("SKIPPED: no recorded traffic in %s; set UZDA_SHARED", dir)
	}
	for _, f := range files {
		c := cassette{name: filepath.Base(f)}
		raw, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(raw, &c); err != nil {
			t.Fatal(err)
		}
		out = append(out, c)
	}
	return out
}

// model answers with the recorded reply, in pieces of the sizes that next gives.
// What it is asked goes into sent.
func (c cassette) model(sent *string, next func() int) ollama.Model {
	return ollama.Model{ID: c.Request.Body.Model, Base: "http://ollama.test", Tries: 1, Env: env(), HTTP: &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
		if r.URL.Path != "/api/chat" {
			return &http.Response{StatusCode: http.StatusNotFound, Header: http.Header{}, Request: r, Body: io.NopCloser(strings.NewReader(`{}`))}, nil
		}
		raw, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		*sent = string(raw)
		h := http.Header{}
		for k, v := range c.Response.Headers {
			h.Set(k, v)
		}
		return &http.Response{StatusCode: c.Response.Status, Header: h, Request: r, Body: io.NopCloser(&pieces{c.Response.Body, next})}, nil
	})}}
}

type pieces struct {
	rest string
	next func() int
}

func (p *pieces) Read(to []byte) (int, error) {
	if p.rest == "" {
		return 0, io.EOF
	}
	n := min(len(to), len(p.rest), max(1, p.next()))
	copy(to, p.rest[:n])
	p.rest = p.rest[n:]
	return n, nil
}

func whole() int { return 1 << 20 }

// request is what was asked, in our words, up to the first reply.
func (c cassette) request() *uzda.Request {
	req := &uzda.Request{Max: 4096}
	for _, m := range c.Request.Body.Messages {
		switch m.Role {
		case "system":
			req.Head.System = m.Content
		case "user":
			req.View = append(req.View, uzda.Entry{Message: uzda.Message{Role: uzda.User, Blocks: uzda.Say(m.Content)}})
		}
	}
	for _, tool := range c.Request.Body.Tools {
		f := tool.Function
		req.Head.Tools = append(req.Head.Tools, uzda.ToolSpec{Name: f.Name, Description: f.Description, Input: f.Parameters})
	}
	return req
}

// folded is the reply's message, put together another way: members in the order of
// their first appearance, texts joined, calls gathered.
func (c cassette) folded(t *testing.T) []byte {
	t.Helper()
	var keys []string
	texts, others, calls := map[string]string{}, map[string]json.RawMessage{}, []json.RawMessage{}
	dec := json.NewDecoder(strings.NewReader(c.Response.Body))
	for dec.More() {
		var line struct {
			Message json.RawMessage `json:"message"`
		}
		if err := dec.Decode(&line); err != nil {
			t.Fatal(err)
		}
		in := json.NewDecoder(bytes.NewReader(line.Message))
		_, _ = in.Token()
		for in.More() {
			tok, err := in.Token()
			key, _ := tok.(string)
			var v json.RawMessage
			if err != nil || in.Decode(&v) != nil {
				t.Fatal("no message", err)
			}
			if _, known := others[key]; !known {
				keys = append(keys, key)
			}
			others[key] = v
			var s string
			var list []json.RawMessage
			if json.Unmarshal(v, &s) == nil && key != "role" {
				texts[key] += s
			} else if json.Unmarshal(v, &list) == nil {
				calls = append(calls, list...)
			}
		}
	}
	var out bytes.Buffer
	for i, k := range keys {
		v := others[k]
		if s, ok := texts[k]; ok {
			v, _ = json.Marshal(s)
		} else if k == "tool_calls" {
			v = append(append([]byte{'['}, bytes.Join(toBytes(calls), []byte(","))...), ']')
		}
		fmt.Fprintf(&out, "%c%q:%s", "{,"[min(i, 1)], k, v)
	}
	return append(out.Bytes(), '}')
}

func toBytes(all []json.RawMessage) (out [][]byte) {
	for _, one := range all {
		out = append(out, one)
	}
	return out
}

// tokens are those of JSON in order: numbers keep their digits, objects their order.
func tokens(t *testing.T, raw []byte) (out []any) {
	t.Helper()
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	for {
		tok, err := dec.Token()
		if err == io.EOF {
			return out
		}
		if err != nil {
			t.Fatalf("%v in %s", err, raw)
		}
		out = append(out, tok)
	}
}

// Every recorded exchange is decoded, goes back as it came, and is the same however
// its bytes arrive: one at a time, and in 200 random splits. M1 quirk:40 L10
func TestCassettes(t *testing.T) {
	t.Parallel()
	for _, c := range cassettes(t, "*.json") {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			sent := ""
			req := c.request()
			got, err := hear(t, c.model(&sent, whole), req)
			if c.Response.Status != 200 {
				if p := failure(t, err); p.Code != "not_found" || p.Status != 404 {
					t.Errorf("%v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if calls := strings.Contains(c.Response.Body, `"tool_calls"`); calls != (got.Stop.Reason == uzda.StopUse) || got.Stop.Usage.Input == 0 || got.Stop.Usage.Output == 0 || got.Stop.Usage.AtLeast {
				t.Errorf("stop %s, usage %+v", got.Stop.Reason, got.Stop.Usage)
			}
			splits := map[string]func() int{"bytes": func() int { return 1 }}
			for seed := range uint64(200) {
				rng := rand.New(rand.NewPCG(seed, 40))
				most := 1 + rng.IntN(300)
				splits[fmt.Sprint("seed ", seed)] = func() int { return 1 + rng.IntN(most) }
			}
			for name, next := range splits {
				again, err := hear(t, c.model(&sent, next), req)
				if err != nil || !reflect.DeepEqual(again, got) {
					t.Fatalf("%s: %+v, %v; in one piece %+v", name, again, err, got)
				}
			}
			back := c.goBack(t, req, got)
			want := c.folded(t)
			if !reflect.DeepEqual(tokens(t, back), tokens(t, want)) {
				t.Errorf("went back as\n%s\ncame as\n%s", back, want)
			}
			for _, u := range got.Message.Uses() {
				if !bytes.Contains(back, u.Input) || !strings.Contains(c.Response.Body, string(u.Input)) {
					t.Errorf("the arguments %s are not those that came", u.Input)
				}
			}
		})
	}
}

// goBack sends a reply back and returns its message as the server gets it.
func (c cassette) goBack(t *testing.T, req *uzda.Request, got heard) []byte {
	t.Helper()
	sent := ""
	next := *req
	next.View = append(append([]uzda.Entry{}, req.View...), answered(got, "done")...)
	if _, err := hear(t, c.model(&sent, whole), &next); err != nil {
		t.Fatal(err)
	}
	var body struct {
		Messages []json.RawMessage `json:"messages"`
	}
	if err := json.Unmarshal([]byte(sent), &body); err != nil {
		t.Fatal(err)
	}
	for i := len(body.Messages) - 1; i >= 0; i-- {
		if bytes.Contains(body.Messages[i], []byte(`"role":"assistant"`)) {
			return body.Messages[i]
		}
	}
	t.Fatalf("the reply did not go back in %s", sent)
	return nil
}

// answered is a reply in the view, and the results of its calls.
func answered(got heard, result string) []uzda.Entry {
	msg := got.Message
	msg.Blocks = append(uzda.Blocks{}, msg.Blocks...)
	var results uzda.Blocks
	for i, b := range msg.Blocks {
		if u, ok := b.(uzda.ToolUse); ok {
			u.ID = uzda.UseID(fmt.Sprintf("2.%d", i+1))
			msg.Blocks[i] = u
			results = append(results, uzda.ToolResult{Use: u.ID, Blocks: uzda.Say(result)})
		}
	}
	if results == nil {
		results = uzda.Say("Go on.")
	}
	return []uzda.Entry{{Message: msg}, {Message: uzda.Message{Role: uzda.User, Blocks: results}}}
}

// The conversations: what the first reply and its result become is what was
// recorded as the second request, in the parts that say something.
func TestConversations(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"tool-ndjson", "thinking-tool-roundtrip"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			turns := cassettes(t, name+"-*.json")
			if len(turns) != 2 {
				t.Fatalf("%d turns", len(turns))
			}
			sent := ""
			req := turns[0].request()
			got, err := hear(t, turns[0].model(&sent, whole), req)
			if err != nil {
				t.Fatal(err)
			}
			recorded := turns[1].Request.Body.Messages
			last := recorded[len(recorded)-1]
			req.View = append(req.View, answered(got, last.Content)...)
			end, err := hear(t, turns[1].model(&sent, whole), req)
			if err != nil || end.Stop.Reason != uzda.StopEnd || end.Message.String() == "" {
				t.Fatalf("%s %v", end.Stop.Reason, err)
			}
			var body struct {
				Messages []struct{ Role, Content string }
			}
			if err := json.Unmarshal([]byte(sent), &body); err != nil {
				t.Fatal(err)
			}
			if len(body.Messages) != len(recorded) {
				t.Fatalf("%d messages, recorded were %d", len(body.Messages), len(recorded))
			}
			for i, m := range recorded {
				if g := body.Messages[i]; g.Role != m.Role || g.Content != m.Content {
					t.Errorf("message %d is %s %q, recorded was %s %q", i, g.Role, g.Content, m.Role, m.Content)
				}
			}
		})
	}
}
