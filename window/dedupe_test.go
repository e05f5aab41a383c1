package window_test

import (
	"strings"
	"testing"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/window"
)

// C2 peer:13: of reads of the same, the newest stays; of what changes something,
// only what came out the same to the byte is dropped.
func TestDedupe(t *testing.T) {
	t.Parallel()
	other := strings.Replace(lines, "17", "18", 1)
	failed := func(d deed) deed {
		d.res.IsError, d.res.Code = true, uzda.CodeFailed
		return d
	}
	read := func(in, out string) deed { return did("read_file", in, out) }
	for what, c := range map[string]struct {
		old, new deed
		want     string // how the old one ends up; "": as it was
	}{
		"the same read":               {read(`{"path":"a"}`, lines), read(`{"path":"a"}`, lines), "the same is at use 6.1"},
		"keys in another order":       {did("grep", `{"pattern":"x","path":"a"}`, lines), did("grep", `{"path":"a", "pattern":"x"}`, lines), "the same is at use"},
		"the file has changed":        {read(`{"path":"a"}`, lines), read(`{"path":"a"}`, other), "a newer outcome is at use 6.1"},
		"the same range, in words":    {read(`{"path":"./a"}`, lines), read(`{"path":"a","offset":1,"limit":2000}`, lines), "the same"},
		"another range":               {read(`{"path":"a"}`, lines), read(`{"path":"a","offset":2}`, lines), ""},
		"another file":                {read(`{"path":"a"}`, lines), read(`{"path":"b"}`, lines), ""},
		"behind a link":               {read(`{"path":"x/../a"}`, lines), read(`{"path":"a"}`, lines), ""},
		"an effect, another outcome":  {did("shell", `{"command":"date"}`, lines), did("shell", `{"command":"date"}`, other), ""},
		"an effect, the same outcome": {did("shell", `{"command":"ls"}`, lines), did("shell", `{"command":"ls"}`, lines), "already done, do not repeat"},
		"a tool that is gone":         {did("gone", `{"a":1}`, lines), did("gone", `{"a":1}`, other), ""},
		"the new one failed":          {read(`{"path":"a"}`, lines), failed(read(`{"path":"a"}`, other)), ""},
		"the old one failed":          {failed(read(`{"path":"a"}`, lines)), read(`{"path":"a"}`, other), ""},
		"both failed alike":           {failed(read(`{"path":"a"}`, lines)), failed(read(`{"path":"a"}`, lines)), "the same"},
		"hardly anything":             {read(`{"path":"a"}`, "ok"), read(`{"path":"a"}`, "ok"), ""},
	} {
		var s tale
		s.posted("Look.")
		s.step(c.old)
		s.step(c.new)
		edit, ok := window.Dedupe(s.entries, fixed(s.entries), toolbox())
		if ok != (c.want != "") {
			t.Errorf("%s: %v, %+v", what, ok, edit)
		}
		if !ok {
			continue
		}
		view := made(t, s.entries, edit)
		r, text := result(t, view, "2.1")
		if !strings.Contains(text, c.want) || !strings.Contains(text, `recall {"query":"2.1"}`) || r.IsError != c.old.res.IsError {
			t.Errorf("%s: %q", what, text)
		}
		if _, text := result(t, view, "6.1"); text != c.new.res.Blocks.String() {
			t.Errorf("%s: the newer one is %q", what, text)
		}
		if edit, ok := window.Dedupe(view, fixed(view), toolbox()); ok {
			t.Errorf("%s: dropped twice: %+v", what, edit)
		}
	}
}

// C2: a result is never dropped for one that was itself put away or cut since, and
// a failure in between hides no repetition.
func TestDedupeStandsOnWhatIsThere(t *testing.T) {
	t.Parallel()
	read := did("read_file", `{"path":"a"}`, lines)
	bad := did("read_file", `{"path":"a"}`, "no such file")
	bad.res.IsError = true
	var s tale
	s.posted("Look.")
	s.step(read) // 2.1
	s.step(read) // 6.1
	s.step(bad)  // 10.1
	s.step(did("grep", `{"pattern":"x"}`, lines))
	edit, ok := window.Dedupe(s.entries, fixed(s.entries), toolbox())
	if !ok || len(edit.With) != 1 || edit.With[0].Message.Results()[0].Use != "2.1" {
		t.Errorf("%+v", edit)
	}
	for i, text := range []string{"[cleared: read_file a; recall]", "head\n[100 of 999 bytes are put away here; recall]\ntail"} {
		view := append([]uzda.Entry(nil), s.entries...)
		view[4].Message.Blocks = uzda.Blocks{uzda.ToolResult{Use: "6.1", Blocks: uzda.Say(text)}}
		if edit, ok := window.Dedupe(view, fixed(view), toolbox()); ok {
			t.Errorf("%d: %+v", i, edit)
		}
	}
}
