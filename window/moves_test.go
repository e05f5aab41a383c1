package window_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"image"
	"image/png"
	"slices"
	"strings"
	"testing"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/window"
)

// A tale builds a view as the loop would.
type tale struct {
	entries []uzda.Entry
	seq     uzda.Seq
}

func (s *tale) add(role uzda.Role, blocks ...uzda.Block) {
	s.seq++
	s.entries = append(s.entries, uzda.Entry{Seq: s.seq, Message: uzda.Message{Role: role, Blocks: blocks}})
}

func (s *tale) posted(text string) { s.add(uzda.User, uzda.Text{Text: text}) }

func (s *tale) said(text string) { s.add(uzda.Assistant, uzda.Text{Text: text}) }

// A deed is a call and what came of it.
type deed struct {
	tool, in string
	res      uzda.ToolResult
}

func did(tool, in, out string) deed {
	return deed{tool, in, uzda.ToolResult{Blocks: uzda.Say(out)}}
}

// step is a reply with calls and the message of their results.
func (s *tale) step(deeds ...deed) {
	s.seq++
	var calls, results uzda.Blocks
	for i, d := range deeds {
		id := uzda.UseID(fmt.Sprintf("%d.%d", s.seq, i+1))
		calls = append(calls, uzda.ToolUse{ID: id, Name: d.tool, Input: json.RawMessage(d.in)})
		d.res.Use = id
		results = append(results, d.res)
	}
	s.seq--
	s.add(uzda.Assistant, calls...)
	s.seq += 2
	s.add(uzda.User, results...)
}

// fixed is the place of the last reply.
func fixed(view []uzda.Entry) int {
	for i, e := range slices.Backward(view) {
		if e.Message.Role == uzda.Assistant {
			return i
		}
	}
	return 0
}

// made is a view with an edit made, as the loop makes it.
func made(t testing.TB, view []uzda.Entry, e uzda.Edited) []uzda.Entry {
	t.Helper()
	at := func(seq uzda.Seq) int {
		i := slices.IndexFunc(view, func(x uzda.Entry) bool { return x.Seq == seq })
		if i < 0 {
			t.Fatalf("%s: there is no message %d", e.What, seq)
		}
		return i
	}
	from, to := at(e.From), at(e.To)
	if to < from || to >= fixed(view) {
		t.Fatalf("%s touches messages %d to %d; the last reply is %d", e.What, from, to, fixed(view))
	}
	out := slices.Clone(view)
	if !e.Only {
		out = slices.Concat(view[:from], e.With, view[to+1:])
		for i := range e.With {
			out[from+i].Edit = 1_000_000
		}
		return out
	}
	for _, x := range e.With {
		i := at(x.Seq)
		if i < from || i > to {
			t.Fatalf("%s replaces message %d, which is not one of %d to %d", e.What, x.Seq, e.From, e.To)
		}
		x.Edit = 1_000_000
		out[i] = x
	}
	return out
}

// tokens estimates a view.
func tokens(view []uzda.Entry) int {
	return window.Weigh(uzda.View{Entries: view}).Total
}

// result is the result of a use, and its text.
func result(t testing.TB, view []uzda.Entry, use uzda.UseID) (uzda.ToolResult, string) {
	t.Helper()
	for _, e := range view {
		for _, r := range e.Message.Results() {
			if r.Use == use {
				return r, r.Blocks.String()
			}
		}
	}
	t.Fatalf("no result of use %s", use)
	return uzda.ToolResult{}, ""
}

func toolbox() []uzda.ToolSpec {
	read := uzda.Effects{ReadOnly: true, Idempotent: true}
	return []uzda.ToolSpec{
		{Name: "read_file", Effects: read, Description: "Read a file."}, {Name: "grep", Effects: read}, {Name: "fetch", Effects: read},
		{Name: "shell"}, {Name: "pay", Effects: uzda.Effects{Irreversible: true}},
		{Name: "recall", Effects: read}, {Name: "read_output", Effects: read},
	}
}

var lines = strings.Repeat("2026-11-30 order 17 of Zażółć was paid: 1 234,50 zł\n", 60)

// shot is a picture of 300 tokens.
func shot(t testing.TB) uzda.Media {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, 750, 300))); err != nil {
		t.Fatal(err)
	}
	return uzda.Media{Type: "image/png", Data: b.Bytes()}
}
