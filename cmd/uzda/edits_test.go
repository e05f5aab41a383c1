package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/uzda-dev/uzda"
)

// What a summary did to the facts is said so that a person understands it, on one
// line where that fits, and whole where it does not.
func TestEditLines(t *testing.T) { // C4
	t.Parallel()
	saved := func(facts, lost, restored int) *uzda.Saving {
		return &uzda.Saving{Before: 10_310, After: 4020, Messages: 24, Facts: facts, Lost: lost, Restored: restored, Requests: 1}
	}
	for _, c := range []struct {
		edit uzda.Edited
		want string
	}{
		{uzda.Edited{What: "clear", Saved: &uzda.Saving{Before: 9120, After: 5310, Messages: 6}}, "9,120 → 5,310 tokens  results in 6 messages"},
		{uzda.Edited{What: "compact", Saved: saved(83, 0, 0)}, "24 messages; 83 facts, none lost; 1 request"},
		{uzda.Edited{What: "compact", Saved: saved(83, 9, 9)}, "83 facts, the summary lost 9, all put back"},
		{uzda.Edited{What: "handover", Saved: saved(1083, 9, 4)}, "1,083 facts, the summary lost 9, 4 put back, 5 can be recalled"},
		{uzda.Edited{What: "compact", Saved: saved(1, 1, 0)}, "1 fact, the summary lost 1, 1 can be recalled"},
		{uzda.Edited{What: "compact", Saved: &uzda.Saving{Before: 1_120_310, After: 1_104_020, Messages: 24, Facts: 83, Lost: 9, Restored: 4}},
			"1,120,310 → 1,104,020 tokens 24 messages; 83 facts, the summary lost 9, 4 put back, 5 can be recalled"},
		{uzda.Edited{What: "undo", Undo: 7, From: 2, To: 9}, "edit 7 is taken back"},
		{uzda.Edited{What: "mine", From: 2, To: 9}, "messages 2 to 9"},
		{uzda.Edited{What: "\x1b[31m", From: 2, To: 9}, "?[31m"},
	} {
		for _, width := range []int{0, 80} {
			var out bytes.Buffer
			p := newProgress(&out, func() time.Time { return time.Unix(0, 0) }, false, width)
			p.event(uzda.Event{Seq: 9, Body: c.edit})
			if got := strings.Join(strings.Fields(out.String()), " "); !strings.Contains(got, strings.Join(strings.Fields(c.want), " ")) {
				t.Errorf("%d columns: %q, want %q", width, got, c.want)
			}
			for line := range strings.Lines(out.String()) {
				if n := uzda.Columns(strings.TrimSuffix(line, "\n")); n > p.room {
					t.Errorf("a line of %d columns: %q", n, line)
				}
			}
		}
	}
}

// Words stand two blanks behind the tokens, however many those are.
func TestProgressBlanks(t *testing.T) {
	t.Parallel()
	for _, before := range []int{13, 130, 1204, 12_040, 120_400, 1_204_000} {
		var out bytes.Buffer
		p := newProgress(&out, func() time.Time { return time.Unix(0, 0) }, false, 0)
		p.event(uzda.Event{Seq: 9, Body: uzda.Edited{What: "clear", Saved: &uzda.Saving{Before: before, After: 914, Messages: 6}}})
		if !strings.Contains(out.String(), "tokens  ") {
			t.Errorf("%q", out.String())
		}
	}
}

// An agent that has no tool to recall what was put away is not said to have it.
func TestForgets(t *testing.T) { // C4
	t.Parallel()
	body := func(restored, lost int) uzda.Edited {
		return uzda.Edited{What: "compact", Saved: &uzda.Saving{Before: 10_310, After: 4020, Facts: 283, Lost: lost, Restored: restored}}
	}
	for _, c := range []struct {
		tools []uzda.ToolSpec
		edit  uzda.Edited
		want  string
	}{
		{nil, body(2, 236), "the summary lost 236, 2 put back, 234 are only in the journal"},
		{[]uzda.ToolSpec{{Name: "grep"}}, body(0, 1), "the summary lost 1, 1 is only in the journal"},
		{[]uzda.ToolSpec{{Name: "grep"}}, body(9, 9), "all put back"},
		{[]uzda.ToolSpec{{Name: "recall"}}, body(2, 236), "2 put back, 234 can be recalled"},
	} {
		var run, talk bytes.Buffer
		now := func() time.Time { return time.Unix(0, 0) }
		p := newProgress(&run, now, false, 120)
		s := newStage(&talk, paint{true}, func() int { return 200 }, func() bool { return false }, now, false)
		for _, b := range []uzda.Body{uzda.Equipped{Tools: c.tools}, c.edit} {
			p.event(uzda.Event{Seq: 9, Body: b})
			s.event(uzda.Event{Seq: 9, Body: b})
		}
		for _, got := range []string{run.String(), talk.String(), edited(editOf(9, c.edit, forgets(c.tools)))} {
			if !strings.Contains(got, c.want) {
				t.Errorf("%q, want %q", got, c.want)
			}
		}
	}
}

// How many edits stand is said, and what can be taken back only where there is some.
func TestEditsLine(t *testing.T) { // C3
	t.Parallel()
	clear, undo := editJSON{Seq: 5, What: "clear", Undone: true}, editJSON{Seq: 8, What: "undo", Undo: 5}
	for _, c := range []struct {
		edits []editJSON
		stand int
		want  string
		takes bool
	}{
		{nil, 0, "", false},
		{[]editJSON{clear, undo}, 0, "1 edit of what the model sees, none of which stands: uzda context s lists them", false},
		{[]editJSON{clear, undo, {Seq: 9, What: "clear"}}, 1, "2 edits of what the model sees, 1 above with \"edit\":", true},
		{[]editJSON{{Seq: 9, What: "clear"}}, 1, "1 edit of what the model sees, above with \"edit\":", true},
	} {
		got := editsLine("s", c.edits, c.stand)
		if !strings.HasPrefix(got, c.want) || (got == "") != (c.want == "") || strings.Contains(got, "--undo") != c.takes {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}
