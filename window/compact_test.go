package window_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/window"
)

// case:C02 C3 C4 peer:15: whatever the summary forgets, the messages of people
// stand word for word in a block of their own, what is pinned comes from where it
// lives, and values that the summary lost are added back with where they stood.
func TestCompactionForgetsNothingThatCounts(t *testing.T) {
	t.Parallel()
	for lang, c := range map[string]struct{ task, last, value, summary string }{
		"English": {"Set up the relay on port 48213 for account ACC-77120-X. We decided: no retries.", "Which of the two hosts is the slower one?", "ORD-10422", "Some files were read."},
		"Polish":  {"Uruchom przekaźnik na porcie 48213 dla konta ACC-77120-X. Zdecydowano: bez ponowień. Zażółć gęślą jaźń.", "Który z dwóch serwerów jest wolniejszy?", "faktura FV/2024/05/17 na 1 234,56 zł", "Przeczytano kilka plików."},
		"Russian": {"Запусти ретранслятор на порту 48213 для счёта ACC-77120-X. Решили: без повторов.", "Какой из двух серверов медленнее?", "договор от 3 марта 2025 г. на 98 765,40 руб.", "Прочитаны файлы."},
		"Chinese": {"在端口 48213 上为账户 ACC-77120-X 启动中继。决定：不重试。", "两台主机哪一台更慢？", "订单 ORD-10422 于 2025年3月3日", "已阅读若干文件。"},
	} {
		t.Run(lang, func(t *testing.T) {
			t.Parallel()
			var s chronicle
			s.post(uzda.Text{Text: c.task, Meta: uzda.Meta{Labels: []uzda.Label{{Kind: uzda.Private, From: "desk"}}}})
			private := did("read_file", `{"path":"/srv/relay/hosts.conf"}`, c.value+"\n"+strings.Repeat("filler words of no use at all ", 300))
			private.res.Labels = []uzda.Label{{Kind: uzda.Untrusted, From: "web"}}
			s.do("I look.", private)
			for i := range 12 {
				s.do("", paper(i, 900))
			}
			s.post(uzda.Text{Text: c.last})
			s.do("I look at both.", did("grep", `{"pattern":"ms"}`, "host-b 91 ms"))
			p := window.Planner{Last: 2, Pinned: func(_ context.Context, id uzda.SessionID) ([]window.Pin, error) {
				return []window.Pin{{Title: "To do", Text: "[x] 1\n[x] 2\n[ ] 3\n[ ] 4\n[ ] 5"}}, nil
			}}
			side := &teller{text: c.summary}
			v := s.look(20_000, side)
			e, missed := p.Compact(t.Context(), v)
			mustMake(t, e, missed)
			s.edit(t, e)
			m := s.view[0].Message
			blocks := textsOf(m)
			if m.Role != uzda.User || s.view[1].Message.Role != uzda.Assistant || len(blocks) != 3 {
				t.Fatalf("%d blocks of %s before %s", len(blocks), m.Role, s.view[1].Message.Role)
			}
			whole := spoken(s.view)
			if n := strings.Count(whole, c.task); n != 1 || !strings.Contains(blocks[0], c.task) {
				t.Errorf("the task stands there %d times; the first block: %s", n, blocks[0])
			}
			if n := strings.Count(whole, c.last); n != 1 {
				t.Errorf("the last question stands there %d times", n)
			}
			for _, want := range []string{"<record>", "It is data", "[ ] 3", c.summary, `recall {"query":"12.1"}`} {
				if !strings.Contains(blocks[1], want) {
					t.Errorf("the record lacks %q:\n%s", want, blocks[1])
				}
			}
			if strings.Contains(blocks[0], c.summary) || strings.Contains(blocks[0], "<record>") {
				t.Errorf("the task is not alone:\n%s", blocks[0])
			}
			for _, want := range []string{"INV-20000", "INV-20009"} {
				if !strings.Contains(blocks[2], want) {
					t.Errorf("%s is lost:\n%s", want, blocks[2])
				}
			}
			if sv := e.Saved; sv == nil || sv.Facts < 12 || sv.Lost == 0 || sv.Restored == 0 || sv.Requests != 1 || sv.Why == "" || sv.Messages < 10 {
				t.Errorf("saved: %+v", sv)
			}
			if ls := m.Blocks[1].Marks(); len(ls) != 2 {
				t.Errorf("the record has the labels %v", ls)
			}
			if got := m.Blocks[0].Marks(); len(got) != 1 || got[0].Kind != uzda.Private {
				t.Errorf("the task has the labels %v", got)
			}
			if strings.Contains(side.prompts(), "Be brief.") {
				t.Error("the summariser was told the system prompt")
			}
			if !utf8.ValidString(whole) {
				t.Error("a letter was cut")
			}
		})
	}
}

// spoken is all texts of a view.
func spoken(view []uzda.Entry) string {
	raw := &strings.Builder{}
	for _, e := range view {
		for _, b := range e.Message.Blocks {
			switch b := b.(type) {
			case uzda.Text:
				raw.WriteString(b.Text + "\n")
			case uzda.ToolUse:
				raw.Write(b.Input)
			case uzda.ToolResult:
				raw.WriteString(b.Blocks.String() + "\n")
			}
		}
	}
	return raw.String()
}

// case:C01 C4: rules live in the system prompt, which no compaction touches or
// copies; and after three of them by a forgetful model, task and values still come
// from the originals.
func TestThreeCompactionsErodeNothing(t *testing.T) {
	t.Parallel()
	for _, journal := range []bool{true, false} {
		var s chronicle
		rule, task := "RULE-77: never touch /vendor", "Compare the reports for customer K-5512."
		s.post(uzda.Text{Text: task})
		s.do("", paper(0, 300))
		for round := range 3 {
			for i := range 8 {
				s.do("", paper(1+round*8+i, 700))
			}
			side := &teller{text: fmt.Sprintf("Round %d went well.", round)}
			v := s.look(12_000, side)
			v.Head.System += "\n" + rule
			if !journal {
				v.Events = nil
			}
			e, missed := window.Planner{Last: 2}.Compact(t.Context(), v)
			mustMake(t, e, missed)
			s.edit(t, e)
			if strings.Contains(spoken(s.view), "RULE-77") || strings.Contains(side.prompts(), "RULE-77") {
				t.Errorf("round %d: the rule was copied", round)
			}
			text := spoken(s.view)
			for _, want := range []string{task, "<record>", fmt.Sprintf("Round %d", round)} {
				if n := strings.Count(text, want); n != 1 {
					t.Errorf("journal %v, round %d: %q stands there %d times", journal, round, want, n)
				}
			}
			if strings.Contains(text, fmt.Sprintf("Round %d", round-1)) {
				t.Errorf("round %d: the summary before stands beside the new one", round)
			}
			if got := textsOf(s.view[0].Message)[0]; got != task {
				t.Errorf("journal %v, round %d: the task is %q", journal, round, got)
			}
			for _, want := range []string{"INV-20000", fmt.Sprintf("INV-%05d", 20000+round*8)} {
				if !strings.Contains(text, want) {
					t.Errorf("journal %v, round %d: %s is lost: %+v", journal, round, want, e.Saved)
				}
			}
		}
	}
}

// C3 peer:12: a summary that failed, is empty, refused, cut, a call or far too long
// leaves the view as it was, and says why.
func TestBadSummariesChangeNothing(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		side teller
		why  string
	}{
		"fails":     {teller{err: errors.New("boom")}, "boom"},
		"busy":      {teller{err: &uzda.ProviderError{Code: "overloaded", Message: "try later"}}, "try later"},
		"empty":     {teller{text: ""}, "empty"},
		"blank":     {teller{text: " \n\t"}, "empty"},
		"tags only": {teller{text: "<summary></summary>"}, "empty"},
		"no width":  {teller{text: " \u200b\ufeff\u2060\n\u00a0-- \u202e"}, "empty"},
		"thought":   {teller{text: "<think>\nThe user wants a record.\n</think>\n"}, "empty"},
		"thinking":  {teller{text: "<thinking>Well.</thinking>\n<reasoning>So be it.</reasoning>\n<summary>\n</summary>"}, "empty"},
		"no end":    {teller{text: "<think>The user wants a record, and"}, "empty"},
		"two marks": {teller{text: "## 1"}, "empty"},
		"sorry":     {teller{text: "I'm sorry, but I can't help with that."}, "declined"},
		"cannot":    {teller{text: "**I cannot assist with this request.**"}, "declined"},
		"unable":    {teller{text: "Unfortunately, I’m unable to continue."}, "declined"},
		"refused":   {teller{text: "I can't.", stop: uzda.StopRefusal}, "refusal"},
		"cut":       {teller{text: "So far", stop: uzda.StopLength}, "max_tokens"},
		"paused":    {teller{text: "So far", stop: uzda.StopPause}, "pause"},
		"filtered":  {teller{text: "So far", stop: uzda.StopUnknown}, "unknown"},
		"calls":     {teller{text: "So far", calls: true}, "tool"},
		"too long":  {teller{text: strings.Repeat("a summary that never ends ", 2000)}, "longer"},
		"too small": {teller{text: "So far", most: 10}, "too long"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := readings(12, 900)
			v := s.look(20_000, &c.side)
			for _, move := range []func() (uzda.Edited, *uzda.Missed){
				func() (uzda.Edited, *uzda.Missed) { return window.Planner{}.Compact(t.Context(), v) },
				func() (uzda.Edited, *uzda.Missed) { return window.Planner{}.Handover(t.Context(), v, false) },
			} {
				e, missed := move()
				if missed == nil || !strings.Contains(missed.Why, c.why) || missed.Ask != v.Ask || e.With != nil {
					t.Errorf("%+v, %+v", missed, e)
				}
			}
			if n := len(c.side.seen); name == "too small" && n > 2*8 || name != "too small" && n != 2 {
				t.Errorf("%d requests for two moves", n)
			}
		})
	}
	s := readings(12, 900)
	v := s.look(20_000, nil)
	if _, missed := (window.Planner{}).Compact(t.Context(), v); missed == nil {
		t.Error("summarised without a model")
	}
}

// readings is a session of n steps whose results have about size tokens each.
func readings(n, size int) *chronicle {
	var s chronicle
	s.post(uzda.Text{Text: "Read all reports and add up the invoices."})
	for i := range n {
		s.do(fmt.Sprintf("Now report %d.", i), paper(i, size))
	}
	return &s
}

// peer:12 case:C03: where nothing can be gained no model is asked, and nothing is
// made anew twice.
func TestNoGainNoRequest(t *testing.T) {
	t.Parallel()
	var tiny, fresh chronicle
	tiny.post(uzda.Text{Text: strings.Repeat("A long task that must stay. ", 50)})
	tiny.do("", did("grep", `{}`, "nothing"))
	tiny.do("", did("grep", `{}`, "nothing"))
	fresh.post(uzda.Text{Text: "hello"})
	fresh.ask()
	done := readings(12, 900)
	side := &teller{text: "They were read."}
	e, missed := window.Planner{Last: 1}.Compact(t.Context(), done.look(20_000, side))
	done.edit(t, mustMake(t, e, missed))
	for name, s := range map[string]*chronicle{"a task and little else": &tiny, "no reply yet": &fresh, "a summary and nothing else": done} {
		side := &teller{text: "So far."}
		for _, p := range []window.Planner{{}, {Last: 1}} {
			if e, missed := p.Compact(t.Context(), s.look(20_000, side)); missed == nil || len(side.seen) > 0 {
				t.Errorf("%s: %d requests, %+v", name, len(side.seen), e.Saved)
			}
		}
	}
}

// case:C05 peer:14: the request for a summary fits the window of whoever makes it,
// also when the history is many times as long, and when the provider counts up to
// four times as many tokens as we do; eight requests are the most.
func TestSummaryRequestsFit(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		what         string
		steps, size  int
		window, most int
		said         int
	}{
		{"130 % of the window", 13, 900, 9_000, 9_000, 0},
		{"three times the window", 40, 1200, 16_000, 16_000, 0},
		{"thirty times the window", 200, 1500, 10_000, 10_000, 0},
		{"counted twice as much", 40, 1200, 32_000, 16_000, 0},
		{"counted four times as much", 40, 1200, 64_000, 18_000, 0},
		{"one result is longer than the window", 3, 30_000, 12_000, 12_000, 0},
		{"one reply is longer than the window", 8, 900, 12_000, 12_000, 30_000},
	} {
		t.Run(c.what, func(t *testing.T) {
			t.Parallel()
			s := readings(c.steps, c.size)
			if c.said > 0 {
				s.do(strings.Repeat("I have a lot to say. ", c.said/6), paper(0, 10))
			}
			s.do("", did("grep", `{}`, "the end"))
			for _, move := range []string{uzda.MoveCompact, uzda.MoveHandover} {
				side := &teller{text: "The reports were read.", most: c.most}
				v := s.look(c.window, side)
				var e uzda.Edited
				var missed *uzda.Missed
				if move == uzda.MoveCompact {
					e, missed = window.Planner{}.Compact(t.Context(), v)
				} else {
					e, missed = window.Planner{}.Handover(t.Context(), v, false)
				}
				mustMake(t, e, missed)
				if c.window == c.most && slices.ContainsFunc(side.seen, func(r *uzda.Request) bool { return heavy(r) > c.most }) {
					t.Errorf("%s: a request did not fit", move)
				}
				if len(side.seen) > 8 || e.Saved.Requests != len(side.seen) {
					t.Errorf("%s: %d requests, %d are said", move, len(side.seen), e.Saved.Requests)
				}
				view := made(t, s.view, e)
				if got := tokens(view); got > c.window {
					t.Errorf("%s: %d tokens are left in a window of %d", move, got, c.window)
				}
				for _, r := range side.seen {
					if r.Agent != "summary" || len(r.Head.Tools) > 0 || r.Max <= 0 || len(r.View) != 1 || r.Session != "s" {
						t.Fatalf("a request with %d tools, %d messages, of %q", len(r.Head.Tools), len(r.View), r.Agent)
					}
				}
				if first := textsOf(view[0].Message)[0]; first != "Read all reports and add up the invoices." {
					t.Errorf("%s: the task is %q", move, first)
				}
			}
		})
	}
}

// heavy is what a request may take, by our estimate.
func heavy(r *uzda.Request) int {
	return window.Estimate(r.Head.System) + window.Estimate(r.View[0].Message.String()) + r.Max
}

// peer:10 peer:11 C3: the cut falls before a reply, so that a call and its results
// stay together; as many of the last replies stay word for word as were asked for.
func TestCutBeforeReplies(t *testing.T) {
	t.Parallel()
	for last := 1; last <= 6; last++ {
		s := readings(14, 400)
		for i := range 4 {
			s.do("both", paper(100+i, 50), did("shell", `{"cmd":"ls"}`, "a b c"))
		}
		s.post(uzda.Text{Text: "Go on."})
		before := slices.Clone(s.view)
		e, missed := window.Planner{Last: last}.Compact(t.Context(), s.look(60_000, &teller{text: "They were read."}))
		s.edit(t, mustMake(t, e, missed))
		if got := (len(s.view) - 1) / 2; got != last {
			t.Errorf("%d replies stay, want %d", got, last)
		}
		if !slices.EqualFunc(s.view[1:], before[len(before)-2*last:], func(a, b uzda.Entry) bool {
			return a.Seq == b.Seq && spoken([]uzda.Entry{a}) == spoken([]uzda.Entry{b})
		}) {
			t.Errorf("last %d: what stays was changed", last)
		}
	}
	// Where the last replies are large, fewer stay.
	s := readings(14, 1500)
	e, missed := window.Planner{}.Compact(t.Context(), s.look(20_000, &teller{text: "They were read."}))
	s.edit(t, mustMake(t, e, missed))
	if got := tokens(s.view); got > 12_000 {
		t.Errorf("%d tokens after a compaction with a budget of 20,000", got)
	}
	// And none but the last where that fills the half that is aimed at.
	s = readings(14, 500)
	s.do("", paper(99, 9500))
	e, missed = window.Planner{}.Compact(t.Context(), s.look(20_000, &teller{text: "They were read."}))
	if s.edit(t, mustMake(t, e, missed)); len(s.view) != 3 {
		t.Errorf("%d messages stay beside a large last step", len(s.view))
	}
}

// C3: all thinking before the last reply goes together with the items that held
// it; a signed block never goes back without its neighbours' bytes.
func TestThinkingGoesTogether(t *testing.T) {
	t.Parallel()
	s := readings(10, 600)
	raw := func(text string) json.RawMessage { return json.RawMessage(text) }
	for _, items := range [][]uzda.Item{
		{{Blocks: 1, Raw: raw(`{"type":"thinking","signature":"xx"}`)}, {Blocks: 1, Raw: raw(`{"type":"text","x":1}`)}, {Blocks: 1, Raw: raw(`null`)}},
		{{Blocks: 3, Raw: raw(`{"reasoning_content":"hm","content":"b"}`)}},
		{{Raw: raw(`{"type":"reasoning","encrypted_content":"zz"}`)}, {Blocks: 2, Raw: raw(`null`)}, {Blocks: 1, Raw: raw(`{"id":"fc_1"}`)}},
		nil,
	} {
		ids := s.say(uzda.Thinking{Text: "hm", Signature: "xx"}, uzda.Text{Text: "b"}, uzda.ToolUse{Name: "grep", Input: raw(`{}`)})
		s.view[len(s.view)-1].Message.Items = items
		s.view = append(s.view, uzda.Entry{Seq: s.put(uzda.Returned{Result: uzda.ToolResult{Use: ids[0], Blocks: uzda.Say("found")}}),
			Message: uzda.Message{Role: uzda.User, Blocks: uzda.Blocks{uzda.ToolResult{Use: ids[0], Blocks: uzda.Say("found")}}}})
	}
	ids := s.say(uzda.Opaque{Origin: "anthropic", Raw: raw(`{"type":"redacted_thinking","data":"q"}`)}, uzda.ToolUse{Name: "grep", Input: raw(`{}`)})
	s.view = append(s.view, uzda.Entry{Seq: s.put(uzda.Returned{}), Message: uzda.Message{Role: uzda.User, Blocks: uzda.Blocks{uzda.ToolResult{Use: ids[0], Blocks: uzda.Say("found")}}}})
	s.say(uzda.Thinking{Text: "the last", Signature: "yy"}, uzda.Text{Text: "ready"})
	s.post(uzda.Text{Text: "go on"})
	e, missed := window.Planner{}.Compact(t.Context(), s.look(40_000, &teller{text: "They were read."}))
	s.edit(t, mustMake(t, e, missed))
	kept := 0
	for i, x := range s.view {
		for _, b := range x.Message.Blocks {
			if th, ok := b.(uzda.Thinking); ok && (i != fixed(s.view) || th.Signature != "yy") {
				t.Errorf("message %d still thinks: %+v", i, th)
			}
			if _, ok := b.(uzda.Opaque); ok {
				t.Errorf("message %d still has hidden thinking", i)
			}
		}
		if x.Message.Role == uzda.Assistant && i < fixed(s.view) {
			kept++
			if kept == 1 && len(x.Message.Items) != 2 {
				t.Errorf("items that held no thinking are gone: %d are left", len(x.Message.Items))
			}
			covered := 0
			for _, it := range x.Message.Items {
				covered += it.Blocks
				if strings.Contains(string(it.Raw), "reasoning") || strings.Contains(string(it.Raw), "thinking") {
					t.Errorf("message %d: the item %s is still there", i, it.Raw)
				}
			}
			if covered != 0 && covered != len(x.Message.Blocks) {
				t.Errorf("message %d: items cover %d of %d blocks", i, covered, len(x.Message.Blocks))
			}
		}
	}
	if kept != 5 || len(s.view[fixed(s.view)].Message.Blocks) != 2 {
		t.Errorf("%d replies stay before the last", kept)
	}
}
