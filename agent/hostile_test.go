package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/model/script"
)

// Whatever a tool gives back, the model reads something short and valid of it, and
// the turn goes on.
func TestHostileTools(t *testing.T) { // T3
	t.Parallel()
	if testing.Short() {
		t.Skip("SKIPPED: it fills a gigabyte of memory")
	}
	many := func(n int, b uzda.Block) (bs uzda.Blocks) {
		for range n {
			bs = append(bs, b)
		}
		return bs
	}
	huge := strings.Repeat("0123456789abcdef", 200<<20/16)
	for name, res := range map[string]uzda.Result{
		"200 MB":                text(huge),
		"200 MB of media":       {Blocks: uzda.Blocks{uzda.Media{Type: "image/png", Data: []byte(huge)}}},
		"60 MB of media":        {Blocks: uzda.Blocks{uzda.Media{Type: "image/png", Data: []byte(huge[:60<<20])}}},
		"40 MB to be escaped":   {Blocks: uzda.Blocks{uzda.Opaque{Origin: "x", Raw: json.RawMessage(`"` + strings.Repeat("x", 40<<20) + `"`)}, uzda.Text{Text: "t"}}},
		"people, 200 MB":        {Blocks: uzda.Say("x"), People: uzda.Say(huge)},
		"people, to be escaped": {Blocks: uzda.Say("x"), People: uzda.Say(strings.Repeat("\x01", 20<<20))},
		"a million blocks":      {Blocks: many(1_000_000, uzda.Text{Text: "x"})},
		"a million, empty":      {Blocks: many(1_000_000, uzda.Text{})},
		"a million pictures":    {Blocks: many(1_000_000, uzda.Media{Type: "image/png", Data: []byte{1}})},
		"a million for people":  {Blocks: uzda.Say("x"), People: many(1_000_000, uzda.Text{Text: "x"})},
		"no UTF-8":              text("\xff\xfe" + strings.Repeat("\xf0\x9f", 100_000)),
		"media that is broken":  {Blocks: uzda.Blocks{uzda.Media{Type: "\xff", Name: "\xff", Data: []byte("\xff\x00")}}},
		"opaque, no JSON":       {Blocks: uzda.Blocks{uzda.Opaque{Origin: "x", Raw: json.RawMessage("{\xff")}}},
		"blocks of the loop":    {Blocks: uzda.Blocks{uzda.ToolUse{ID: "1.1"}, uzda.ToolResult{Use: "1.1"}, uzda.Thinking{Text: "x"}, nil}},
	} {
		j, w := mem(), &world{}
		post(t, j, hello("1"))
		r := runner(w, j, calls("read"), bye)
		r.Tools = []uzda.Tool{w.tool("read", reads, func(context.Context, uzda.Use) (uzda.Result, error) { return res, nil })}
		began := time.Now()
		s := run(t, r)
		t.Logf("%s: %s", name, time.Since(began).Round(time.Millisecond))
		got, want := results(s), uzda.EndTurn
		if name == "40 MB to be escaped" { // it is kept whole, and no window holds it
			want = uzda.ContextExhausted
		}
		if reason(s) != want || len(got) != 1 || len(got[0].Blocks) == 0 || len(got[0].Blocks) > 110 || len(got[0].People) > 110 ||
			len(got[0].Blocks.String()) > 32_100 || !utf8.ValidString(got[0].Blocks.String()) {
			t.Errorf("%s: %s, %d results, %d blocks, %d for people", name, reason(s), len(got), len(got[0].Blocks), len(got[0].People))
		}
		for _, b := range got[0].Blocks {
			if x, ok := b.(uzda.Text); ok && x.Text == "" {
				t.Errorf("%s: an empty text", name)
			}
		}
		valid(t, s)
	}
	for name, err := range map[string]error{"an error of 200 MB": errors.New(huge)} {
		j, w := mem(), &world{}
		post(t, j, hello("1"))
		r := runner(w, j, calls("read"), bye)
		r.Tools = []uzda.Tool{w.tool("read", reads, func(context.Context, uzda.Use) (uzda.Result, error) { return uzda.Result{}, err })}
		if s := run(t, r); reason(s) != uzda.ToolError || len(s.Ended.Detail) > 10_000 {
			t.Errorf("%s: %s with %d bytes", name, reason(s), len(s.Ended.Detail))
		}
	}
}

// endless is a model that never comes to an end.
type endless struct{ chunk uzda.Chunk }

func (e endless) Stream(context.Context, *uzda.Request) iter.Seq2[uzda.Chunk, error] {
	return func(yield func(uzda.Chunk, error) bool) {
		for yield(e.chunk, nil) {
		}
	}
}

// A stream without an end is given up before it fills the memory, and costs what
// it takes to read it, not the square of that.
func TestEndlessModel(t *testing.T) { // M6
	t.Parallel()
	if testing.Short() {
		t.Skip("SKIPPED: it streams half a gigabyte")
	}
	for name, c := range map[string]uzda.Chunk{
		"text":     uzda.Delta{Kind: "text", Text: strings.Repeat("x", 500)},
		"nothing":  uzda.Delta{},
		"blocks":   uzda.Done{Block: uzda.Text{Text: strings.Repeat("x", 2000)}},
		"calls":    uzda.Done{Block: uzda.ToolUse{Name: "read", Input: json.RawMessage("{}")}},
		"stops":    uzda.Stop{Reason: uzda.StopEnd},
		"pictures": uzda.Done{Block: uzda.Media{Data: make([]byte, 100_000)}},
	} {
		j := mem()
		post(t, j, hello("1"))
		r := runner(&world{}, j)
		r.Model = endless{c}
		s := run(t, r)
		b := kept[uzda.Broken](t, j)
		if why := reason(s); why != uzda.ProviderFailed && why != uzda.MaxTokens || len(b) != 1 || !strings.Contains(b[0].Error, "does not end") {
			t.Errorf("%s: %s %q", name, why, s.Ended.Detail)
		}
	}
}

// Ten thousand calls in one reply: those that are heard count, up to the fuse; the
// others get a result that says so, and nothing takes the square of that in time.
func TestManyCalls(t *testing.T) {
	t.Parallel()
	j, w := mem(), &world{}
	post(t, j, hello("1"))
	var turn []any
	for i := range 10_000 {
		turn = append(turn, uzda.Done{Block: uzda.ToolUse{Name: "read", Input: json.RawMessage(fmt.Sprintf(`{"n":%d}`, i))}})
	}
	r := runner(w, j)
	r.Model = chunks{append(turn, uzda.Stop{Reason: uzda.StopUse})}
	began := time.Now()
	s := run(t, r)
	t.Logf("%s", time.Since(began))
	if reason(s) != uzda.MaxCalls || w.ran("read") != 200 || s.Last.Steps != 1 {
		t.Errorf("%s: %d ran, %d steps", reason(s), w.ran("read"), s.Last.Steps)
	}
	valid(t, s)
}

// A name of a megabyte, and a reply that only its escapes make too long.
func TestHostileReply(t *testing.T) {
	t.Parallel()
	bomb := json.RawMessage(`{"x":"` + strings.Repeat("x", 1<<20) + `"}`)
	for name, blocks := range map[string]uzda.Blocks{
		"name":     {uzda.ToolUse{Name: strings.Repeat("read", 1<<18), Input: bomb}},
		"raw":      {uzda.ToolUse{Name: "read", Raw: strings.Repeat("{", 1<<20)}},
		"wire":     {uzda.ToolUse{Name: "read", Wire: strings.Repeat("w", 1<<20)}},
		"opaque":   {uzda.Opaque{Origin: "x", Raw: json.RawMessage("{")}, uzda.ToolUse{Name: "read"}},
		"no UTF-8": {uzda.Thinking{Text: "\xff"}, uzda.Text{Text: "\xff"}, uzda.ToolUse{Name: "re\xffad", Raw: "\xff"}},
	} {
		j, w := mem(), &world{}
		post(t, j, hello("1"))
		r := runner(w, j)
		turn := []any{}
		for _, b := range blocks {
			turn = append(turn, uzda.Done{Block: b, Item: &uzda.Item{Blocks: 1, Raw: json.RawMessage("{\x00")}})
		}
		r.Model = chunks{append(turn, uzda.Stop{Reason: uzda.StopUse}), {uzda.Done{Block: uzda.Text{Text: "done"}}, uzda.Stop{Reason: uzda.StopEnd}}}
		s := run(t, r)
		if reason(s) != uzda.EndTurn {
			t.Errorf("%s: %s %q", name, reason(s), s.Ended.Detail)
		}
		for _, res := range results(s) {
			if n := len(res.Blocks.String()); n > 4000 {
				t.Errorf("%s: a result of %d bytes", name, n)
			}
		}
		valid(t, s)
	}
	j := mem()
	post(t, j, hello("1"))
	r := runner(&world{}, j)
	r.Model = chunks{{uzda.Done{Block: uzda.Text{Text: strings.Repeat("\x01", 12<<20)}}, uzda.Stop{Reason: uzda.StopEnd}}}
	if s := run(t, r); reason(s) != uzda.ProviderFailed || !strings.Contains(s.Ended.Detail, "can't be recorded") {
		t.Errorf("%s %q", reason(s), s.Ended.Detail)
	}
}

// Half a character in the arguments of a call would break whoever reads them as
// text, in every later request: it is replaced before it is recorded. peer:24
func TestHalfCharacters(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		`{"a":"\ud83d"}`:                   `{"a":"\ufffd"}`,
		`{"\udc22":"\udc22x\ud83d\ud83d"}`: `{"\ufffd":"\ufffdx\ufffd\ufffd"}`,
		`{"a":"\ud83d\udc22 \\ud83d ż"}`:   `{"a":"\ud83d\udc22 \\ud83d ż"}`,
		`"{\"a\":\"\\ud83d\"}"`:            `{"a":"\ufffd"}`,
	} {
		j, w := mem(), &world{}
		post(t, j, hello("1"))
		turn := script.Turn{Calls: []script.Call{{Name: "read", Input: in}}}
		run(t, runner(w, j, turn, bye))
		use := kept[uzda.Said](t, j)[0].Message.Uses()[0]
		if string(use.Input) != want || (in != want) != (len(kept[uzda.Said](t, j)[0].Message.Repairs) > 0) {
			t.Errorf("%s is recorded as %s, %+v", in, use.Input, kept[uzda.Said](t, j)[0].Message.Repairs)
		}
	}
}
