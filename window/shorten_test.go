package window_test

import (
	"strings"
	"testing"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/window"
)

// What people posted for turns that ended without a reply takes a bounded part of the
// window, however often it happens, and can be had again; the running turn's own
// message, and one that a reply follows, stay. case:C05 peer:14
func TestShortenPosts(t *testing.T) {
	t.Parallel()
	say := func(seq uzda.Seq, role uzda.Role, text string) uzda.Entry {
		return uzda.Entry{Seq: seq, Message: uzda.Message{Role: role, Blocks: uzda.Say(text)}}
	}
	long := strings.Repeat("zażółć gęślą jaźń ", 600)
	view := []uzda.Entry{say(1, uzda.User, long), say(2, uzda.Assistant, "Done."), say(3, uzda.User, long)}
	tools := []uzda.ToolSpec{{Name: "recall"}}
	for turn := uzda.Seq(4); turn < 30; turn++ {
		now := append(view, say(turn, uzda.User, long))
		for range 2 {
			e, ok := window.ShortenPosts(now, turn, 1000, tools)
			if !ok {
				break
			}
			for _, w := range e.With {
				for i := range now {
					if now[i].Seq == w.Seq {
						now[i] = w
					}
				}
			}
		}
		if now[0].Message.String() != long || now[len(now)-1].Message.String() != long {
			t.Fatalf("turn %d: a message that must stay was changed", turn)
		}
		size := 0
		for _, e := range now[2 : len(now)-1] {
			text := e.Message.String()
			if size += window.Estimate(text); strings.Contains(text, "\uFFFD") || !strings.Contains(text, "recall") {
				t.Errorf("turn %d: %s", turn, uzda.Clip(text, 200))
			}
		}
		if size > 1600 {
			t.Fatalf("turn %d: what nobody answered takes %d tokens", turn, size)
		}
		view = now
	}
}
