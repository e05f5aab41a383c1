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
