package window_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/window"
)

// A tape is the events of a session as they are written.
type tape struct {
	p   window.Prefix
	seq uzda.Seq
	now time.Time
	saw []window.Change // by the last event
}

func newTape() *tape {
	return &tape{p: window.Prefix{Prices: priced{}}, now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
}

func (r *tape) put(b uzda.Body) uzda.Seq {
	r.seq++
	r.saw = r.p.Event(uzda.Event{Seq: r.seq, At: r.now, Body: b})
	return r.seq
}

// step is an ask and its reply; read and written are what the cache did.
func (r *tape) step(read, written, input int) {
	r.put(uzda.Posted{ID: fmt.Sprint(r.seq), Blocks: uzda.Say("Go on.")})
	r.put(uzda.Asked{Model: "acme/one"})
	r.now = r.now.Add(10 * time.Second)
	r.put(uzda.Said{Message: uzda.Message{Role: uzda.Assistant, Blocks: uzda.Say("Done.")}, Stop: uzda.StopEnd, Usage: uzda.Usage{Input: input, CacheRead: read, CacheWrite: written, Output: 3}})
}

// priced: a token that is read costs 9 millionths of a dollar less than a new one.
type priced struct{}

func (priced) Price(model string, _ int) (uzda.Price, bool) {
	return uzda.Price{Input: 10 * uzda.Dollar, CacheRead: uzda.Dollar}, strings.HasPrefix(model, "acme/")
}

func gear() uzda.Equipped {
	spec := func(name, source string) uzda.ToolSpec {
		return uzda.ToolSpec{Name: name, Source: source, Description: "Does " + name + " and nothing else.", Input: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"}}}`)}
	}
	return uzda.Equipped{Model: uzda.ModelInfo{ID: "acme/one"}, System: "You are careful.\nNow it is 12:00:01.\nBe brief.\n\n<instructions file=\"AGENTS.md\">\nRULE-77\nRULE-78\n</instructions>\n",
		Tools: []uzda.ToolSpec{spec("glob", "built-in"), spec("grep", "built-in"), spec("search", "docs")}, Params: uzda.Params{Effort: "high", Options: map[string]json.RawMessage{"thinking": json.RawMessage(`{"on":true}`)}}}
}

// M4 case:C08: what changes between two requests is named, from what to what, with
// what it costs; the same, once more after a restart, or what no cache depends on, is no change.
func TestPrefixNamesWhatChanged(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		what   string
		change func(g *uzda.Equipped)
		want   []window.Change // as far as their fields are set
		least  int             // tokens that are lost, of 10,000
		most   int
	}{
		{"nothing: a restart", func(*uzda.Equipped) {}, nil, 0, 0},
		{"what no prefix holds", func(g *uzda.Equipped) {
			g.Mode, g.Limits.Steps, g.Params.MaxTokens, g.Verify = "plan", 7, 9, "make test"
			temperature := 0.5
			g.Params.Temperature = &temperature
			g.Tools[0].Effects.ReadOnly = true
		}, nil, 0, 0},
		{"a clock", func(g *uzda.Equipped) { g.System = strings.Replace(g.System, "12:00:01", "12:01:02", 1) },
			[]window.Change{{What: window.System, How: "changed", From: "Now it is 12:00:01.", To: "Now it is 12:01:02."}}, 1000, 9000},
		{"a rule", func(g *uzda.Equipped) { g.System = strings.Replace(g.System, "RULE-78", "RULE-79\nRULE-80", 1) },
			[]window.Change{{What: window.Files, Name: "AGENTS.md", How: "changed", From: "RULE-78", To: "RULE-79 RULE-80"}}, 1000, 9000},
		{"another file", func(g *uzda.Equipped) {
			g.System += "\n<instructions file=\"src/AGENTS.md\">\nx\n</instructions>\n"
		}, []window.Change{{What: window.Files, Name: "src/AGENTS.md", How: "added"}}, 1000, 9000},
		{"no file", func(g *uzda.Equipped) { g.System, _, _ = strings.Cut(g.System, "\n\n<inst") },
			[]window.Change{{What: window.Files, Name: "AGENTS.md", How: "removed"}}, 1000, 9000},
		{"white space", func(g *uzda.Equipped) { g.System = strings.Replace(g.System, "careful.", "careful. ", 1) },
			[]window.Change{{What: window.System, How: "changed", From: `"You are careful."`, To: `"You are careful. "`}}, 1000, 9000},
		{"a server that comes late", func(g *uzda.Equipped) { g.Tools = append(g.Tools, uzda.ToolSpec{Name: "find", Source: "wiki"}) },
			[]window.Change{{What: window.Tools, Name: "wiki: find", How: "added"}}, 1000, 9000},
		{"a server that is gone", func(g *uzda.Equipped) { g.Tools = g.Tools[:2] }, []window.Change{{What: window.Tools, Name: "docs: search", How: "removed"}}, 1000, 9500},
		{"tools from a map", func(g *uzda.Equipped) { g.Tools[0], g.Tools[2] = g.Tools[2], g.Tools[0] },
			[]window.Change{{What: window.Tools, Name: "docs: search", How: "moved", From: "place 3", To: "place 1"}}, 10_000, 10_000},
		{"a description", func(g *uzda.Equipped) { g.Tools[1].Description = "Does it at 12:01." },
			[]window.Change{{What: window.Tools, Name: "grep", How: "description", From: "Does grep and nothing else.", To: "Does it at 12:01."}}, 1000, 9900},
		{"a schema", func(g *uzda.Equipped) {
			g.Tools[0].Input = json.RawMessage(`{"properties":{"path":{"type":"string"}},"type":"object"}`)
		},
			[]window.Change{{What: window.Tools, Name: "glob", How: "schema"}}, 10_000, 10_000},
		{"another model", func(g *uzda.Equipped) { g.Model.ID = "acme/two" }, []window.Change{{What: window.OfModel, From: "acme/one", To: "acme/two"}}, 10_000, 10_000},
		{"effort and an option: tools and system prompt stay", func(g *uzda.Equipped) { g.Params.Effort, g.Params.Options = "low", nil },
			[]window.Change{{What: window.OfParams, Name: "effort", From: "high", To: "low"}, {What: window.OfParams, Name: "thinking", From: `{"on":true}`}}, 1, 2000},
		{"two at once are paid once", func(g *uzda.Equipped) { g.Model.ID, g.System = "acme/two", "Other." },
			[]window.Change{{What: window.OfModel}, {What: window.System}, {What: window.Files, How: "removed"}}, 10_000, 10_000},
	} {
		r := newTape()
		r.put(gear())
		r.step(0, 10_000, 2)
		now := gear()
		c.change(&now)
		r.put(now)
		saw := r.saw
		r.step(0, 10_000, 2)
		all := r.p.Changes()
		if len(saw) != len(c.want) || len(all) > len(c.want) && c.want != nil {
			t.Errorf("%s: %+v", c.what, all)
			continue
		}
		tokens, cost := 0, uzda.Money(0)
		for _, want := range c.want {
			if !slices.ContainsFunc(all, func(got window.Change) bool { return like(got, want) }) {
				t.Errorf("%s: %+v in\n%+v", c.what, want, all)
			}
		}
		for _, got := range saw {
			tokens, cost = tokens+got.Tokens, cost+got.Cost
		}
		if tokens < c.least || tokens > c.most || cost != uzda.Money(tokens)*9*uzda.Dollar/1_000_000 {
			t.Errorf("%s: %d tokens for %s are sent again, want %d to %d", c.what, tokens, cost, c.least, c.most)
		}
	}
}

func like(got, want window.Change) bool {
	same := func(a, b string) bool { return b == "" || a == b }
	return got.What == want.What && same(got.Name, want.Name) && same(got.How, want.How) && same(got.From, want.From) && same(got.To, want.To) && got.Checked
}

// M4: an edit rewrites from its first message on; what stays before it stays in the cache.
func TestPrefixEdits(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		what        string
		edit        func(first, last uzda.Seq) uzda.Edited
		least, most int
	}{
		{"a clear near the beginning", func(first, _ uzda.Seq) uzda.Edited {
			return uzda.Edited{What: uzda.MoveClear, Only: true, From: first, To: first, With: []uzda.Entry{{Seq: first, Message: uzda.Message{Role: uzda.User, Blocks: uzda.Say("gone")}}}}
		}, 8000, 9900},
		{"a clear near the end", func(_, last uzda.Seq) uzda.Edited {
			return uzda.Edited{What: uzda.MoveClear, Only: true, From: last, To: last, With: []uzda.Entry{{Seq: last, Message: uzda.Message{Role: uzda.User, Blocks: uzda.Say("gone")}}}}
		}, 1, 900},
		{"a compaction of nearly all", func(first, last uzda.Seq) uzda.Edited {
			return uzda.Edited{What: uzda.MoveCompact, From: first, To: last, With: []uzda.Entry{{Seq: first, Message: uzda.Message{Role: uzda.User, Blocks: uzda.Say(strings.Repeat("It was done. ", 300))}}}}
		}, 1, 900},
	} {
		r := newTape()
		r.put(uzda.Equipped{Model: uzda.ModelInfo{ID: "acme/one"}})
		var posts []uzda.Seq
		for i := range 30 {
			posts = append(posts, r.put(uzda.Posted{ID: fmt.Sprint("p", i), Blocks: uzda.Say(strings.Repeat("word ", 300))}))
			r.put(uzda.Asked{Model: "acme/one"})
			r.put(uzda.Said{Message: uzda.Message{Role: uzda.Assistant, Blocks: uzda.Say("Yes.")}, Usage: uzda.Usage{Input: 5, CacheRead: 300 * i, CacheWrite: 300 + (10_000-9300)*(i/29)}})
		}
		if r.saw != nil || len(r.p.Changes()) != 0 {
			t.Fatalf("a history that grows: %+v", r.p.Changes())
		}
		e := c.edit(posts[0], posts[28])
		seq := r.put(e)
		if len(r.saw) != 1 || r.saw[0].What != window.OfHistory || r.saw[0].How != e.What || r.saw[0].Message != e.From || r.saw[0].Seq != seq ||
			r.saw[0].Tokens < c.least || r.saw[0].Tokens > c.most {
			t.Errorf("%s: %+v", c.what, r.saw)
		}
		r.put(uzda.Asked{Model: "acme/one"})
		r.put(uzda.Said{Message: uzda.Message{Role: uzda.Assistant, Blocks: uzda.Say("Yes.")}, Usage: uzda.Usage{Input: 5, CacheRead: 120, CacheWrite: 2000}})
		if got := r.p.Changes(); len(got) != 1 || !got[0].Checked || got[0].Read != 120 {
			t.Errorf("%s: after the reply: %+v", c.what, got)
		}
	}
}

// M4: a cache that is not read although nothing was changed is told of, with the
// pause that may be why; where there is no cache, nothing is.
func TestPrefixMisses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		what    string
		written int
		pause   time.Duration
		read    int
		how     string
	}{
		{"it was read", 10_000, 0, 10_000, ""},
		{"most of it was", 10_000, 0, 9000, ""},
		{"it was dropped", 10_000, 0, 0, "dropped"},
		{"it lives five minutes", 10_000, 7 * time.Minute, 0, "expired"},
		{"a pause that it outlived", 10_000, time.Hour, 10_000, ""},
		{"no cache", 0, time.Hour, 0, ""},
		{"too short for a cache", 500, time.Hour, 0, ""},
	} {
		r := newTape()
		r.put(gear())
		r.step(0, c.written, 10_000-c.written)
		r.now = r.now.Add(c.pause)
		r.step(c.read, 0, 10_000)
		got := r.p.Changes()
		if c.how == "" && len(got) != 0 || c.how != "" && (len(got) != 1 || got[0].What != window.OfNothing || got[0].How != c.how || got[0].Tokens != 10_000 || !got[0].Checked) {
			t.Errorf("%s: %+v", c.what, got)
		}
		if text := r.p.Text(); strings.Contains(text, "7m0s") != (c.how == "expired") || !strings.HasSuffix(text, "\n") {
			t.Errorf("%s: %s", c.what, text)
		}
	}
	r := newTape() // a provider that does not say what it writes
	r.put(gear())
	r.step(0, 0, 10_000)
	r.step(9000, 0, 1100)
	r.step(0, 0, 10_200)
	if got := r.p.Changes(); len(got) != 1 || got[0].How != "dropped" || got[0].Tokens != 10_100 {
		t.Errorf("a cache that is known only by its reads: %+v", got)
	}
	r = newTape() // another model answered: a fallback
	r.put(gear())
	r.step(0, 10_000, 0)
	r.put(uzda.Asked{Model: "acme/one"})
	r.put(uzda.Said{Model: "spare/two", Message: uzda.Message{Role: uzda.Assistant, Blocks: uzda.Say("Yes.")}, Usage: uzda.Usage{Input: 10_000}})
	if len(r.saw) != 1 || r.saw[0].What != window.OfModel || r.saw[0].To != "spare/two" || r.saw[0].Cost != 0 {
		t.Errorf("a fallback: %+v", r.saw)
	}
}

// M4: as people and scripts see it.
func TestPrefixText(t *testing.T) {
	t.Parallel()
	r := newTape()
	if got := r.p.Text(); !strings.Contains(got, "no request") {
		t.Error(got)
	}
	r.put(gear())
	r.step(0, 10_000, 2)
	if got := r.p.Text(); !strings.Contains(got, "never changed") {
		t.Error(got)
	}
	g := gear()
	g.System = strings.Replace(g.System, "12:00:01", "12:01:02", 1)
	g.Tools = append(g.Tools, uzda.ToolSpec{Name: "find\x1b[2J", Source: "wiki"})
	r.put(g)
	r.step(400, 9600, 2)
	r.put(uzda.Edited{What: uzda.MoveClear, From: 2, To: 5})
	r.step(8000, 2000, 2)
	r.now = r.now.Add(8 * time.Minute)
	r.step(0, 10_000, 2)
	raw, err := json.MarshalIndent(r.p.Changes(), "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(r.p.Text(), "\x1b") {
		t.Errorf("%q", r.p.Text())
	}
	golden(t, "prefix.txt", []byte(r.p.Text()+"\n"+string(raw)+"\n"))
}

// M4: no order of events makes it panic or lose more than the cache held.
func FuzzPrefix(f *testing.F) {
	f.Add([]byte{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, "a\nb", "a\nc")
	f.Add([]byte{6, 4, 9, 3, 5, 5, 8}, "<instructions file=\"x\">\n</instructions>", "\xff")
	f.Fuzz(func(t *testing.T, kinds []byte, a, b string) {
		r, held := newTape(), 0
		for _, k := range kinds {
			n := uzda.Seq(k / 10)
			switch k % 10 {
			case 0:
				r.put(uzda.Equipped{Model: uzda.ModelInfo{ID: a}, System: a, Tools: []uzda.ToolSpec{{Name: a, Description: b}, {Name: b}}})
			case 1:
				r.put(uzda.Equipped{Model: uzda.ModelInfo{ID: a}, System: b, Tools: []uzda.ToolSpec{{Name: b}, {Name: a, Input: json.RawMessage(a)}}})
			case 2:
				r.put(uzda.Posted{ID: "x", Blocks: uzda.Say(a)})
			case 3:
				r.put(uzda.Asked{Model: a})
			case 4:
				r.put(uzda.Said{Message: uzda.Message{Role: uzda.Assistant, Blocks: uzda.Blocks{uzda.ToolUse{Name: a}}}, Usage: uzda.Usage{Input: 5, CacheRead: 2000, CacheWrite: 3000}})
				held = 5000
			case 5:
				r.put(uzda.Returned{Result: uzda.ToolResult{Use: "1.1", Blocks: uzda.Say(b)}})
			case 6:
				r.put(uzda.Edited{What: a, From: n, To: n + 2, With: []uzda.Entry{{Seq: n, Message: uzda.Message{Blocks: uzda.Say(b)}}}, Only: len(a)%2 == 0})
			case 7:
				r.put(uzda.Said{Message: uzda.Message{Role: uzda.Assistant, Blocks: uzda.Say(b)}, Model: b})
			case 8:
				r.put(uzda.Verified{Blocks: uzda.Say(a)})
			case 9:
				r.put(uzda.Delivered{Result: uzda.ToolResult{Use: "9.9", Blocks: uzda.Say(a)}})
			}
			for _, c := range r.saw {
				if c.Tokens < 0 || c.Tokens > held || c.String() == "" {
					t.Fatalf("%+v of %d", c, held)
				}
			}
		}
		r.p.Text()
	})
}
