package window_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/window"
)

// C2: old results become placeholders that say what they were, how large, whether
// it is done, and how to get them back; those of the last replies stay.
func TestClearSaysWhatItPutAway(t *testing.T) {
	t.Parallel()
	var s tale
	s.posted("Pay what is due.")
	s.step(did("read_file", `{"path":"orders.txt"}`, lines)) // 2.1
	paid := did("pay", `{"order":17,"amount":"1234.50"}`, lines)
	paid.res.Effect = uzda.EffectDone
	lost := did("shell", `{"command":"make \"all\" {x}"}`, lines)
	lost.res.IsError, lost.res.Code, lost.res.Effect = true, uzda.CodeOutcomeUnknown, uzda.EffectUnknown
	lost.res.Labels = []uzda.Label{{Kind: uzda.Untrusted, From: "6.2"}}
	lost.res.Blocks = uzda.Blocks{uzda.Text{Text: lines, Meta: uzda.Meta{Labels: []uzda.Label{{Kind: uzda.Private}}}}}
	lost.res.Full = &uzda.Full{Blob: "abc", Size: 99_999}
	s.step(paid, lost)
	for range 3 {
		s.step(did("grep", `{"pattern":"x"}`, lines))
	}
	edit, ok := window.Clear(s.entries, fixed(s.entries), window.ClearOptions{Tools: toolbox()})
	if !ok || edit.What != uzda.MoveClear || !edit.Only || len(edit.With) != 2 {
		t.Fatalf("%v: %+v", ok, edit)
	}
	view := made(t, s.entries, edit)
	for _, c := range []struct {
		use  uzda.UseID
		want []string
	}{
		{"2.1", []string{"read_file", "orders.txt", fmt.Sprint(len(lines)), "61 lines", `recall {"query":"2.1"}`}},
		{"6.1", []string{"pay", "already done, do not repeat", `"6.1"`}},
		{"6.2", []string{"shell", "make", "outcome unknown", "error outcome_unknown", "99999 bytes"}},
	} {
		r, text := result(t, view, c.use)
		for _, w := range c.want {
			if !strings.Contains(text, w) {
				t.Errorf("use %s: %q does not say %q", c.use, text, w)
			}
		}
		if n := window.Estimate(text); n > 48 {
			t.Errorf("use %s: a placeholder of %d tokens: %s", c.use, n, text)
		}
		was, _ := result(t, s.entries, c.use)
		if r.IsError != was.IsError || r.Code != was.Code || r.Effect != was.Effect || !reflect.DeepEqual(r.Labels, was.Labels) || r.Full != was.Full {
			t.Errorf("use %s: %+v, was %+v", c.use, r, was)
		}
	}
	if r, _ := result(t, view, "6.2"); len(r.Blocks[0].Marks()) != 1 {
		t.Errorf("the label of the text is gone: %+v", r.Blocks)
	}
	if _, text := result(t, view, "2.1"); strings.Contains(text, "done") {
		t.Errorf("a read is marked as an effect: %s", text)
	}
	if again, ok := window.Clear(view, fixed(view), window.ClearOptions{Tools: toolbox()}); ok {
		t.Errorf("it was cleared twice: %+v", again)
	}
	if _, text := result(t, s.entries, "2.1"); text != lines {
		t.Error("the view that was given has changed")
	}
}

// C2: without the tool, the placeholder names none; what is small stays, and so
// does what no reply of the kept ones stands on only in part.
func TestClearLeavesAlone(t *testing.T) {
	t.Parallel()
	var s tale
	s.posted("Look.")
	s.step(did("shell", `{"command":"true"}`, "ok"), did("read_file", `{"path":"a"}`, lines))
	s.said("Half of it is done.")
	s.posted("Go on.")
	s.step(did("grep", `{"pattern":"x"}`, lines))
	s.step(did("grep", `{"pattern":"y"}`, lines))
	for _, c := range []struct {
		keep, fixed int
		cleared     string // uses
	}{
		{0, 99, ""}, {3, 99, ""}, {2, 99, "2.2"}, {1, 99, "2.2 8.1"}, {-1, 99, "2.2 8.1 12.1"},
		{-1, fixed(s.entries), "2.2 8.1"}, {-1, 2, ""}, {-1, 0, ""}, {-1, -5, ""},
	} {
		edit, _ := window.Clear(s.entries, c.fixed, window.ClearOptions{Keep: c.keep})
		var got []string
		for _, e := range edit.With {
			for _, r := range e.Message.Results() {
				if text := r.Blocks.String(); strings.HasPrefix(text, "[cleared: ") {
					got = append(got, string(r.Use))
					if strings.Contains(text, "recall") {
						t.Errorf("it names a tool that is not there: %s", text)
					}
				}
			}
		}
		if strings.Join(got, " ") != c.cleared {
			t.Errorf("keep %d, fixed %d: %q was cleared, want %q", c.keep, c.fixed, got, c.cleared)
		}
	}
}

// C2: a single huge result that is to stay is shortened to head and tail, in whole
// runes and with a pointer to the rest; once.
func TestClearShortensWhatIsHuge(t *testing.T) {
	t.Parallel()
	for what, text := range map[string]string{
		"Polish": strings.Repeat("Zażółć gęślą jaźń.\r\n", 3000), "Russian": strings.Repeat("Съешь ещё этих булок ", 3000),
		"Chinese": strings.Repeat("快速的棕色狐狸", 3000), "emoji": strings.Repeat("👩‍👩‍👧😀", 3000), "no UTF-8": strings.Repeat("\xff\xfe\x00ab", 9000), "one word": strings.Repeat("a", 90_000),
	} {
		var s tale
		s.posted("Read it.")
		big := did("read_file", `{"path":"big"}`, text)
		big.res.Blocks = append(big.res.Blocks, uzda.Media{Type: "image/png"})
		s.step(big)
		s.step(did("grep", `{"pattern":"x"}`, lines))
		o := window.ClearOptions{Tools: toolbox(), Large: 4000}
		edit, ok := window.Clear(s.entries, fixed(s.entries), o)
		if !ok {
			t.Errorf("%s: nothing is shortened", what)
			continue
		}
		view := made(t, s.entries, edit)
		r, short := result(t, view, "2.1")
		head, tail, found := strings.Cut(short, "\n[")
		_, tail, closed := strings.Cut(tail, "]\n")
		if !found || !closed || !strings.HasPrefix(text, head) || !strings.HasSuffix(text, tail) || len(head) < 500 || len(tail) < 500 {
			t.Errorf("%s: %q", what, short)
		}
		if utf8.ValidString(text) && !utf8.ValidString(short) {
			t.Errorf("%s: it is cut inside a rune", what)
		}
		if !strings.Contains(short, fmt.Sprintf("[%d of %d bytes", len(text)-len(head)-len(tail), len(text))) || !strings.Contains(short, `recall {"query":"2.1"}`) {
			t.Errorf("%s: %q", what, short)
		}
		if len(r.Blocks) != 2 {
			t.Errorf("%s: the picture is gone: %d blocks", what, len(r.Blocks))
		}
		if n := tokens(view[2:3]); n > 3000 {
			t.Errorf("%s: still %d tokens", what, n)
		}
		if _, ok := window.Clear(view, fixed(view), o); ok {
			t.Errorf("%s: shortened twice", what)
		}
		// Once it is old, it is cleared, and its placeholder tells the size of the whole.
		o.Keep = -1
		edit, ok = window.Clear(view, fixed(view), o)
		if !ok {
			t.Errorf("%s: what was shortened is never cleared", what)
			continue
		}
		if _, gone := result(t, made(t, view, edit), "2.1"); !strings.Contains(gone, fmt.Sprintf("%d bytes", len(text))) || strings.Contains(gone, "lines") {
			t.Errorf("%s: %s", what, gone)
		}
	}
}

// case:C07: many pictures become placeholders; those of the newest replies stay.
func TestClearOldPictures(t *testing.T) {
	t.Parallel()
	var s tale
	s.posted("Click through the shop.")
	one := shot(t)
	for i := range 60 {
		d := did("screenshot", fmt.Sprintf(`{"page":%d}`, i), "")
		d.res.Blocks = uzda.Blocks{one}
		s.step(d)
	}
	edit, ok := window.Clear(s.entries, fixed(s.entries), window.ClearOptions{Tools: toolbox()})
	if !ok {
		t.Fatal("nothing was cleared")
	}
	left := 0
	for _, e := range made(t, s.entries, edit) {
		for _, r := range e.Message.Results() {
			if _, ok := r.Blocks[0].(uzda.Media); ok {
				left++
			} else if !strings.Contains(r.Blocks.String(), "1 image/png") {
				t.Errorf("%s", r.Blocks)
			}
		}
	}
	if left != 3 {
		t.Errorf("%d pictures are left, want 3", left)
	}
}

// C2: what the input of a call holds does not make its placeholder long, and a
// result that looks like a placeholder is none if it is large.
func TestClearOddCalls(t *testing.T) {
	t.Parallel()
	var s tale
	s.posted("Look.")
	s.step(did("read_file", `{"path":"`+strings.Repeat("漢字/", 500)+`"}`, lines),
		did(strings.Repeat("工具", 60), `{}`, lines),
		did("grep", `{"pattern":"a\nb\u0000\"]"}`, "[cleared: "+lines+"]"),
		did("grep", `{"pattern": 1, "a" : [{"b":null}]}`, lines))
	s.step(did("grep", `{"pattern":"x"}`, lines))
	edit, ok := window.Clear(s.entries, fixed(s.entries), window.ClearOptions{Keep: -1, Tools: toolbox()})
	if !ok {
		t.Fatal("nothing was cleared")
	}
	for _, r := range edit.With[0].Message.Results() {
		text := r.Blocks.String()
		if !strings.HasPrefix(text, "[cleared: ") || window.Estimate(text) > 100 || !utf8.ValidString(text) || strings.ContainsAny(text, "\n\x00") {
			t.Errorf("%q: %d tokens", text, window.Estimate(text))
		}
	}
}
