package uzda_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/uzda-dev/uzda"
)

func calls(ids ...uzda.UseID) uzda.Message {
	m := uzda.Message{Role: uzda.Assistant, Blocks: uzda.Say("calling")}
	for _, id := range ids {
		m.Blocks = append(m.Blocks, uzda.ToolUse{ID: id, Name: "x", Input: []byte("{}")})
	}
	return m
}

func results(ids ...uzda.UseID) uzda.Message {
	m := uzda.Message{Role: uzda.User}
	for _, id := range ids {
		m.Blocks = append(m.Blocks, uzda.ToolResult{Use: id, Blocks: uzda.Say("ok")})
	}
	return m
}

// L7: uses and results are paired, directly and in order.
func TestValid(t *testing.T) {
	t.Parallel()
	said := uzda.Message{Role: uzda.User, Blocks: uzda.Say("hello")}
	with := func(m uzda.Message, bs ...uzda.Block) uzda.Message {
		m.Blocks = append(m.Blocks[:len(m.Blocks):len(m.Blocks)], bs...)
		return m
	}
	for _, c := range []struct {
		name string
		view []uzda.Message
		want string // part of the error; empty: valid
	}{
		{"nothing", nil, ""},
		{"text", []uzda.Message{said, calls()}, ""},
		{"paired", []uzda.Message{said, calls("1.1", "1.2"), results("1.1", "1.2"), calls("3.1"), results("3.1"), said}, ""},
		{"text after the results", []uzda.Message{calls("1.1"), with(results("1.1"), uzda.Text{Text: "and"})}, ""},
		{"no results", []uzda.Message{said, calls("1.1")}, "uses without results"},
		{"one missing", []uzda.Message{calls("1.1", "1.2"), results("1.1")}, "results [1.1] for uses [1.1 1.2]"},
		{"another order", []uzda.Message{calls("1.1", "1.2"), results("1.2", "1.1")}, "results"},
		{"too many", []uzda.Message{calls("1.1"), results("1.1", "1.2")}, "results"},
		{"without uses", []uzda.Message{said, results("1.1")}, "results [1.1] for uses []"},
		{"not directly", []uzda.Message{calls("1.1"), said, results("1.1")}, "results [] for uses [1.1]"},
		{"text before the results", []uzda.Message{calls("1.1"), {Blocks: uzda.Blocks{uzda.Text{Text: "x"}, uzda.ToolResult{Use: "1.1"}}}}, "stands between"},
		{"an id twice", []uzda.Message{calls("1.1"), results("1.1"), calls("1.1"), results("1.1")}, "repeated"},
		{"an id twice in one", []uzda.Message{calls("1.1", "1.1"), results("1.1", "1.1")}, "repeated"},
		{"no id", []uzda.Message{calls(""), results("")}, "empty"},
		{"no input", []uzda.Message{with(said, uzda.ToolUse{ID: "1.1"}), results("1.1")}, "no object"},
		{"input is a list", []uzda.Message{with(said, uzda.ToolUse{ID: "1.1", Input: []byte("[]")}), results("1.1")}, "no object"},
	} {
		var view []uzda.Entry
		for i, m := range c.view {
			view = append(view, uzda.Entry{Seq: uzda.Seq(i + 1), Message: m})
		}
		err := uzda.Valid(view)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}

// A block of a newer program stays, and goes back as it came.
func TestUnknownBlock(t *testing.T) {
	t.Parallel()
	var bs uzda.Blocks
	raw := `[{"text":{"text":"a"}},{"hologram":{"depth":3}}]`
	if err := json.Unmarshal([]byte(raw), &bs); err != nil {
		t.Fatal(err)
	}
	want := uzda.Blocks{uzda.Text{Text: "a"}, uzda.Opaque{Origin: "unknown", Raw: []byte(`{"hologram":{"depth":3}}`)}}
	if !reflect.DeepEqual(bs, want) {
		t.Errorf("read %#v", bs)
	}
	out, err := json.Marshal(bs)
	if err != nil {
		t.Fatal(err)
	}
	var again uzda.Blocks
	if err := json.Unmarshal(out, &again); err != nil || !reflect.DeepEqual(again, want) {
		t.Errorf("written and read: %#v, %v", again, err)
	}
	if err := json.Unmarshal([]byte(`[{"text":{"text":5}}]`), &bs); err == nil {
		t.Error("a text that is a number: no error")
	}
}

func TestUnion(t *testing.T) {
	t.Parallel()
	a, b, c := uzda.Label{Kind: uzda.Private}, uzda.Label{Kind: uzda.Untrusted, From: "1.1"}, uzda.Label{Kind: "own"}
	base := append(make([]uzda.Label, 0, 8), a)
	one, two := uzda.Union(base, b, a, b), uzda.Union(base, c)
	if !reflect.DeepEqual(one, []uzda.Label{a, b}) || !reflect.DeepEqual(two, []uzda.Label{a, c}) {
		t.Errorf("unions %v and %v", one, two) // the second must not write over the first
	}
}

func TestBlocksText(t *testing.T) {
	t.Parallel()
	bs := uzda.Blocks{uzda.Text{Text: "a"}, uzda.Thinking{Text: "hm"}, uzda.Text{}, uzda.Text{Text: "b"}}
	if got := bs.String(); got != "a\nb" {
		t.Errorf("%q", got)
	}
	m := uzda.Message{Blocks: append(calls("1.1", "1.2").Blocks, results("1.1").Blocks...)}
	if len(m.Uses()) != 2 || m.Uses()[1].ID != "1.2" || len(m.Results()) != 1 {
		t.Errorf("uses %v, results %v", m.Uses(), m.Results())
	}
}

// What a model reads is counted, whatever it is wrapped in; a picture counts as
// a picture, not as its bytes.
func TestSize(t *testing.T) { // M6
	t.Parallel()
	for _, tt := range []struct {
		blocks uzda.Blocks
		want   int
	}{
		{nil, 0},
		{uzda.Say("żółw"), 7},
		{uzda.Blocks{uzda.Thinking{Text: "abc", Signature: "long signature"}}, 3},
		{uzda.Blocks{uzda.Media{Type: "image/png", Data: make([]byte, 1<<20)}}, 6000},
		{uzda.Blocks{uzda.ToolUse{Name: "ab", Input: []byte(`{"x":1}`)}}, 9},
		{uzda.Blocks{uzda.ToolResult{Blocks: uzda.Say("abcd"), People: uzda.Say("a table for people")}, uzda.Text{Text: "x"}}, 5},
		{uzda.Blocks{uzda.Opaque{Raw: []byte(`{"a":[]}`)}}, 8},
	} {
		if got := tt.blocks.Size(); got != tt.want {
			t.Errorf("%v: %d, want %d", tt.blocks, got, tt.want)
		}
	}
}
