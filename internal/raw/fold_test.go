package raw_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/uzda-dev/uzda/internal/raw"
)

var chat = raw.Joined("content", "content.text", "content.thinking.text", "reasoning", "reasoning_content", "reasoning_details.text",
	"reasoning_details.summary", "refusal", "audio.data", "audio.transcript")

var anthropic = raw.Joined("text", "thinking")

// fold folds deltas and returns what their strings showed.
func fold(t *testing.T, j *raw.Joins, deltas ...string) (f *raw.Fold, shown string) {
	t.Helper()
	f = &raw.Fold{Joins: j}
	for _, d := range deltas {
		o := parse(t, d)
		for k, v := range o.All() {
			fresh, err := f.Add(k, v)
			if err != nil {
				t.Fatalf("%s: %v", d, err)
			}
			shown += fresh
		}
	}
	return f, shown
}

// TestFold folds the shapes that services send. L2
func TestFold(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		joins  *raw.Joins
		deltas []string
		want   string
	}{
		{"nothing", chat, nil, `{}`},
		{"text", chat, []string{`{"role":"assistant","content":""}`, `{"content":"a\u00e9\ud83d"}`, `{"content":"\ude00\/"}`}, `{"role":"assistant","content":"a\u00e9\ud83d\ude00\/"}`},
		{"null first, null last", chat, []string{`{"content":null,"refusal":null}`, `{"content":"a"}`, `{"content":null}`}, `{"content":"a","refusal":null}`},
		{"order of first appearance", chat, []string{`{"reasoning":"r"}`, `{"content":"c","x":1}`, `{"reasoning":"s","y":2}`}, `{"reasoning":"rs","content":"c","x":1,"y":2}`},
		{"unknown members: the last counts", chat, []string{`{"x":{"a":1,"b":[1]}}`, `{"x":{"b":[2,3],"c":null}}`, `{"x":{"a":2}}`}, `{"x":{"a":2,"b":[2,3],"c":null}}`},
		{"nothing replaces nothing", chat, []string{`{"a":"x","b":[1],"c":{"d":1},"e":1}`, `{"a":"","b":[ ],"c":{ },"e":null}`}, `{"a":"x","b":[1],"c":{"d":1},"e":1}`},
		{"details by index", chat, []string{
			`{"reasoning_details":[{"type":"reasoning.text","text":"a","index":0,"format":"f"}]}`,
			`{"reasoning_details":[{"type":"reasoning.text","text":"b","index":1}]}`,
			`{"reasoning_details":[{"type":"reasoning.text","text":"A","index":0}]}`,
			`{"reasoning_details":[{"index":0,"type":"reasoning.text","signature":"c2ln="}]}`,
		}, `{"reasoning_details":[{"type":"reasoning.text","text":"aA","index":0,"format":"f","signature":"c2ln="},{"type":"reasoning.text","text":"b","index":1}]}`},
		{"details of one index and two types", chat, []string{
			`{"reasoning_details":[{"type":"reasoning.summary","summary":"a","index":0}]}`,
			`{"reasoning_details":[{"type":"reasoning.encrypted","data":"xyz","id":"r1","index":0}]}`,
			`{"reasoning_details":[{"type":"reasoning.summary","summary":"b","index":0}]}`,
		}, `{"reasoning_details":[{"type":"reasoning.summary","summary":"ab","index":0},{"type":"reasoning.encrypted","data":"xyz","id":"r1","index":0}]}`},
		{"encrypted details are never merged", chat, []string{
			`{"reasoning_details":[{"type":"reasoning.encrypted","data":"xyz","id":"call_1","index":0}]}`,
			`{"reasoning_details":[{"type":"reasoning.encrypted","data":"uvw","id":"call_2","index":0}]}`,
			`{"reasoning_details":[{"type":"reasoning.encrypted","data":"rst","index":0}]}`,
		}, `{"reasoning_details":[{"type":"reasoning.encrypted","data":"xyz","id":"call_1","index":0},{"type":"reasoning.encrypted","data":"uvw","id":"call_2","index":0},{"type":"reasoning.encrypted","data":"rst","index":0}]}`},
		{"details without an index", chat, []string{
			`{"reasoning_details":[{"type":"reasoning.text","text":"a"}]}`,
			`{"reasoning_details":[{"type":"reasoning.text","text":"b"},{"type":"reasoning.text","text":"c"}]}`,
			`{"reasoning_details":[{"type":"reasoning.text","text":"d","index":null}]}`,
		}, `{"reasoning_details":[{"type":"reasoning.text","text":"ab"},{"type":"reasoning.text","text":"cd","index":null}]}`},
		{"content in parts, then as text", chat, []string{ // quirk:22
			`{"content":""}`,
			`{"content":[{"type":"thinking","thinking":[{"type":"text","text":"Th"}]}]}`,
			`{"content":[{"type":"thinking","thinking":[{"type":"text","text":"ink"}],"closed":true}]}`,
			`{"content":[{"type":"thinking","thinking":[{"type":"text","text":"."}],"closed":true},{"type":"text","text":"1"}]}`,
			`{"content":"44"}`, `{"content":""}`,
		}, `{"content":[{"type":"thinking","thinking":[{"type":"text","text":"Think."}],"closed":true},{"type":"text","text":"144"}]}`},
		{"content as text, then in parts", chat, []string{`{"content":"a"}`, `{"content":[{"type":"text","text":"b"}]}`, `{"content":"c"}`}, `{"content":[{"type":"text","text":"abc"}]}`},
		{"annotations are gathered", chat, []string{
			`{"annotations":[]}`, `{"annotations":[{"type":"url_citation","url_citation":{"url":"u1"}}]}`, `{"annotations":[{"type":"url_citation","url_citation":{"url":"u2"}}]}`,
		}, `{"annotations":[{"type":"url_citation","url_citation":{"url":"u1"}},{"type":"url_citation","url_citation":{"url":"u2"}}]}`},
		{"audio", chat, []string{`{"audio":{"id":"a1","transcript":"Hel"}}`, `{"audio":{"data":"AAAA"}}`, `{"audio":{"data":"BBBB","transcript":"lo","expires_at":5}}`}, `{"audio":{"id":"a1","transcript":"Hello","data":"AAAABBBB","expires_at":5}}`},
		{"extra content", chat, []string{`{"extra_content":{"google":{"thought_signature":"c2ln+/="}}}`, `{"content":"a"}`}, `{"extra_content":{"google":{"thought_signature":"c2ln+/="}},"content":"a"}`},
		{"a block of Messages", anthropic, []string{`{"type":"thinking","thinking":"","signature":""}`, `{"thinking":"a"}`, `{"thinking":"b"}`, `{"signature":"c2ln"}`}, `{"type":"thinking","thinking":"ab","signature":"c2ln"}`},
		{"citations of Messages", anthropic, []string{`{"type":"text","text":"","citations":null}`, `{"citations":[{"type":"char_location","cited_text":"x"}]}`, `{"text":"a"}`, `{"citations":[{"type":"char_location","cited_text":"x"}]}`}, `{"type":"text","text":"a","citations":[{"type":"char_location","cited_text":"x"},{"type":"char_location","cited_text":"x"}]}`},
		{"other kinds than expected", chat, []string{`{"content":1,"audio":"x","reasoning_details":"y"}`, `{"content":"a","audio":{"data":"b"},"reasoning_details":[{"text":"c"}]}`, `{"audio":[1],"reasoning_details":[2]}`}, `{"content":"a","audio":[1],"reasoning_details":[2]}`},
		{"mended at the end only", chat, []string{"{\"content\":\"\xe6\xbc\",\"x\":\"\\ud83d\"}", "{\"content\":\"\xa2\\ud83d\"}"}, `{"content":"漢\ufffd","x":"\ufffd"}`},
		{"names as they are written", chat, []string{`{"x":{"\u0061":1}}`, `{"x":{"a":2}}`}, `{"x":{"\u0061":2}}`},
	} {
		f, _ := fold(t, c.joins, c.deltas...)
		if got := string(f.JSON()); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.name, got, c.want)
		}
	}
}

// TestFoldShows: fresh text comes from the strings that are joined, and only whole characters.
func TestFoldShows(t *testing.T) {
	t.Parallel()
	f, shown := fold(t, chat, `{"role":"assistant","content":"a\ud83d"}`, `{"content":"\ude00","x":"no"}`, "{\"content\":\"\xe6\xbc\"}", `{"refusal":"R"}`)
	if shown != "a😀R" || f.Text("content").Rest() != "\ufffd\ufffd" || f.Text("role") != nil || f.Text("none") != nil {
		t.Errorf("%q, rest %q", shown, f.Text("content").Rest())
	}
	f.Set("tool_calls", json.RawMessage(`[1]`))
	f.Set("refusal", json.RawMessage(`null`))
	f.Set("tool_calls", json.RawMessage(`[2]`))
	if got := string(f.JSON()); got != `{"role":"assistant","content":"a\ud83d\ude00\ufffd\ufffd","x":"no","refusal":null,"tool_calls":[2]}` {
		t.Error(got)
	}
	if f.Len() != 5 {
		t.Error(f.Len())
	}
}

// TestFoldKeepsNothing: the delta's buffer is used again for the next.
func TestFoldKeepsNothing(t *testing.T) {
	t.Parallel()
	f := raw.Fold{Joins: chat}
	buf := []byte(`{"content":"a","x":{"y":"z"},"l":[{"m":"n"}]}`)
	o, err := raw.Parse(buf)
	if err != nil {
		t.Fatal(err)
	}
	for k, v := range o.All() {
		if _, err := f.Add(k, v); err != nil {
			t.Fatal(err)
		}
	}
	want := string(buf)
	for i := range buf {
		buf[i] = '#'
	}
	if got := string(f.JSON()); got != want {
		t.Error(got)
	}
}

// TestFoldBounds: no delta makes it slow or large.
func TestFoldBounds(t *testing.T) {
	t.Parallel()
	for name, next := range map[string]func(i int) (string, string){
		"members":        func(i int) (string, string) { return fmt.Sprint("m", i), "1" },
		"members within": func(i int) (string, string) { return "x", fmt.Sprintf(`{"m%d":1}`, i) },
		"elements":       func(i int) (string, string) { return "x", fmt.Sprintf(`[{"index":%d}]`, i) },
	} {
		f := raw.Fold{Joins: chat}
		var err error
		n := 0
		for ; err == nil && n < 5000; n++ {
			k, v := next(n)
			_, err = f.Add(k, json.RawMessage(v))
		}
		if err == nil || n > 1002 {
			t.Errorf("%s: %d, %v", name, n, err)
		}
		if !json.Valid(f.JSON()) {
			t.Errorf("%s: not JSON", name)
		}
	}
	f := raw.Fold{Joins: chat}
	deep := strings.Repeat(`{"a":`, 900) + "1" + strings.Repeat("}", 900)
	for range 3 {
		if _, err := f.Add("x", json.RawMessage(deep)); err != nil {
			t.Fatal(err)
		}
	}
	if got := string(f.JSON()); got != `{"x":`+deep+`}` {
		t.Errorf("%d bytes", len(got))
	}
	for _, bad := range noJSON {
		if _, err := f.Add("x", json.RawMessage(bad)); err == nil {
			t.Errorf("%q is folded", bad)
		}
	}
	big := json.RawMessage(`"` + strings.Repeat("x", raw.MaxSize/2) + `"`)
	_, err := f.Add("y", big)
	if err == nil {
		_, err = f.Add("y", big)
	}
	if err == nil {
		t.Error("no bound on all that is added")
	}
}

func FuzzFold(f *testing.F) {
	f.Add([]byte(`{"content":"a","reasoning_details":[{"index":0,"text":"x"}]}`), []byte(`{"content":[{"type":"text","text":"b"}],"reasoning_details":[{"index":0,"text":"y","signature":"s"},3]}`))
	f.Add([]byte(`{"audio":{"data":"a"}}`), []byte(`{"audio":[],"content":{"text":[]}}`))
	f.Fuzz(func(t *testing.T, a, b []byte) {
		fold := raw.Fold{Joins: chat}
		for _, d := range [][]byte{a, b, a, b} {
			o, err := raw.Parse(d)
			if err != nil {
				return
			}
			for k, v := range o.All() {
				if _, err := fold.Add(k, v); err != nil {
					t.Fatalf("%s: %v", d, err)
				}
			}
			if out := fold.JSON(); !json.Valid(out) {
				t.Fatalf("%q", out)
			}
		}
	})
}

func BenchmarkFold(b *testing.B) {
	delta := json.RawMessage(`" words"`)
	b.ReportAllocs()
	for b.Loop() {
		f := raw.Fold{Joins: chat}
		for range 1000 {
			if _, err := f.Add("content", delta); err != nil {
				b.Fatal(err)
			}
		}
	}
}
