package trace_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"iter"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/trace"
)

var update = flag.Bool("update", false, "write the goldens anew")

var start = time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC)

// at moves the clock of a journal; by changes its runner.
type (
	after struct {
		uzda.Noted
		d time.Duration
	}
	runner struct {
		uzda.Noted
		epoch int64
	}
)

func wait(d time.Duration) uzda.Body { return after{d: d} }
func by(epoch int64) uzda.Body       { return runner{epoch: epoch} }

// journal numbers bodies, 10 ms apart where no wait stands between them, and
// lets them go through their stored form.
func journal(t *testing.T, bodies ...uzda.Body) []uzda.Event {
	t.Helper()
	var out []uzda.Event
	now, epoch := start, int64(1)
	for _, b := range bodies {
		switch b := b.(type) {
		case after:
			now = now.Add(b.d)
			continue
		case runner:
			epoch = b.epoch
			continue
		}
		e := uzda.Event{Seq: uzda.Seq(len(out) + 1), At: now, Body: b}
		if uzda.ClassOf(b) != uzda.ClassInbox {
			e.By = epoch
		}
		line, err := uzda.Seal(&e, nil)
		if err != nil {
			t.Fatal(err)
		}
		if e, _, err = uzda.Open(line, nil); err != nil {
			t.Fatal(err)
		}
		out, now = append(out, e), now.Add(10*time.Millisecond)
	}
	return out
}

func seq(events []uzda.Event) iter.Seq2[uzda.Event, error] {
	return func(yield func(uzda.Event, error) bool) {
		for _, e := range events {
			if !yield(e, nil) {
				return
			}
		}
	}
}

func opened(agent string) uzda.Opened { return uzda.Opened{Format: 1, Agent: agent, By: "uzda test"} }

func equipped() uzda.Equipped {
	temp := 0.5
	return uzda.Equipped{Model: uzda.ModelInfo{ID: "anthropic/claude-opus-5-5", Window: 1_000_000}, System: "You are terse.",
		Params: uzda.Params{Temperature: &temp, Effort: "low"},
		Tools:  []uzda.ToolSpec{{Name: "read_file", Effects: uzda.Effects{ReadOnly: true}}, {Name: "shell"}}, Limits: uzda.Limits{}.OrDefault()}
}

func asked(n int) uzda.Asked {
	return uzda.Asked{Ordinal: n, Model: "anthropic/claude-opus-5-5", Hash: "aa11", Tail: "budget: 49 steps left", Max: 1000, Tokens: 2000, Hold: uzda.Hold{ID: "h", Amount: uzda.Dollar / 100}}
}

// said is a reply with calls of tools, "name {input}" each.
func said(text string, calls ...string) uzda.Said {
	b := uzda.Said{Message: uzda.Message{Role: uzda.Assistant, Origin: &uzda.Origin{Profile: "anthropic", Model: "claude-opus-5-5"}}, Stop: uzda.StopEnd, Raw: "end_turn",
		Usage: uzda.Usage{Input: 100, CacheRead: 300, Output: 20}, Cost: 860_000_000, Active: 1500 * time.Millisecond}
	if text != "" {
		b.Message.Blocks = uzda.Say(text)
	}
	for _, c := range calls {
		name, input, _ := strings.Cut(c, " ")
		b.Message.Blocks = append(b.Message.Blocks, uzda.ToolUse{Wire: "toolu_" + name, Name: name, Input: json.RawMessage(input)})
		b.Stop, b.Raw = uzda.StopUse, "tool_use"
	}
	return b
}

func judged(use string, d uzda.Decision) uzda.Judged {
	return uzda.Judged{Use: uzda.UseID(use), Verdict: uzda.Verdict{Decision: d, Reason: "rule", Rule: "Bash(*)"}, By: "policy", Hash: "h" + use, Preview: "run it"}
}

func started(use string, attempt int) uzda.Started {
	return uzda.Started{Use: uzda.UseID(use), Attempt: attempt, Spec: "s", Args: "a", Key: "k" + use, Effects: uzda.Effects{ReadOnly: true}}
}

func returned(use, text string, code uzda.Code) uzda.Returned {
	r := uzda.ToolResult{Use: uzda.UseID(use), Blocks: uzda.Say(text), IsError: code != "", Code: code, Effect: uzda.EffectDone}
	return uzda.Returned{Result: r, Active: 40 * time.Millisecond}
}

func ended(r uzda.Reason) uzda.Ended { return uzda.Ended{Outcome: r.Outcome(), Reason: r} }

// worlds are journals of what happens to sessions.
func worlds(t *testing.T) map[string][]trace.Journal {
	one := func(bodies ...uzda.Body) []trace.Journal {
		return []trace.Journal{{Session: "s", Events: seq(journal(t, bodies...))}}
	}
	post := uzda.Posted{ID: "p1", Blocks: uzda.Say("Find the fault.")}
	parent := journal(t, opened("lead"), post, equipped(), asked(1), wait(time.Second),
		said("Two helpers.", `delegate {"task":"a"}`, `delegate {"task":"b"}`), judged("5.1", uzda.Allow), started("5.1", 1), judged("5.2", uzda.Allow), started("5.2", 1),
		uzda.Returned{Result: uzda.ToolResult{Use: "5.1"}, Pending: &uzda.Pending{On: "child", Ref: "s.5.1"}},
		uzda.Returned{Result: uzda.ToolResult{Use: "5.2"}, Pending: &uzda.Pending{On: "child", Ref: "s.5.2"}},
		uzda.Parked{On: uzda.WaitChild, Uses: []uzda.UseID{"5.1", "5.2"}}, wait(3*time.Second),
		uzda.Delivered{ID: "d1", Result: uzda.ToolResult{Use: "5.1", Blocks: uzda.Say("a is fine")}, Spent: uzda.Spend{Tokens: 420, Cost: 860_000_000}},
		uzda.Delivered{ID: "d2", Result: uzda.ToolResult{Use: "5.2", Blocks: uzda.Say("b is broken"), IsError: true, Code: uzda.CodeFailed}},
		asked(2), wait(time.Second), said("b is broken."), ended(uzda.EndTurn))
	child := func(use string) []uzda.Event {
		o := opened("worker")
		o.Parent, o.Use, o.Depth = "s", uzda.UseID(use), 1
		return journal(t, wait(1500*time.Millisecond), o, post, equipped(), asked(1), wait(time.Second), said("", `read_file {"path":"a"}`),
			judged("5.1", uzda.Allow), started("5.1", 1), wait(time.Second/2), returned("5.1", "text", ""), asked(2), wait(time.Second/2), said("done"), ended(uzda.EndTurn))
	}
	return map[string][]trace.Journal{
		"parallel": one(opened("default"), post, equipped(), asked(1), uzda.Tried{Ask: 1, Attempt: uzda.Attempt{N: 1, Error: "overloaded", WaitMS: 800}}, wait(2*time.Second),
			said("I look.", `read_file {"path":"go.mod"}`, `read_file {"path":"go.sum"}`, `shell {"command":"rm -rf /"}`, `serch {}`),
			judged("6.1", uzda.Allow), judged("6.2", uzda.Allow), judged("6.3", uzda.Deny), started("6.1", 1), started("6.2", 1),
			returned("6.3", "denied", uzda.CodeDenied), returned("6.4", "no such tool", uzda.CodeUnknownTool),
			wait(100*time.Millisecond), returned("6.2", strings.Repeat("sum ", 500), ""), wait(200*time.Millisecond), returned("6.1", "module x", ""),
			uzda.Used{For: "summary", Model: "anthropic/claude-haiku-5-5", Usage: uzda.Usage{Input: 500, Output: 50}, Cost: 75_000_000, Active: 5 * time.Millisecond},
			uzda.Edited{What: "clear", From: 15, To: 15, With: []uzda.Entry{{Seq: 15, Message: uzda.Message{Role: uzda.User, Blocks: uzda.Say("cleared")}}}},
			asked(2), wait(time.Second), said("It is fine."),
			uzda.Verified{OK: false, By: "go test", Blocks: uzda.Say("FAIL"), Active: 4 * time.Millisecond},
			asked(3), wait(time.Second), said("Mended."), uzda.Verified{OK: true, By: "go test", Active: 4 * time.Millisecond}, ended(uzda.EndTurn)),
		"child": {{Session: "s.5.2", Events: seq(child("5.2"))}, {Session: "s", Events: seq(parent)}, {Session: "s.5.1", Events: seq(child("5.1"))}},
		"crash": one(opened("default"), post, equipped(), asked(1), wait(time.Second), said("", `shell {"command":"make"}`, `read_file {"path":"x"}`),
			judged("5.1", uzda.Allow), started("5.1", 1), judged("5.2", uzda.Allow), started("5.2", 1), wait(9*time.Hour), by(2),
			returned("5.1", "the outcome is unknown", uzda.CodeOutcomeUnknown), started("5.2", 2), wait(time.Second), returned("5.2", "x", ""),
			uzda.Late{ID: "l1", Result: uzda.ToolResult{Use: "5.1", Blocks: uzda.Say("made"), Effect: uzda.EffectDone}},
			asked(2), wait(9*time.Hour), by(3), asked(3), wait(time.Second), said("Done."), ended(uzda.EndTurn)),
		"cut off": one(opened("default"), post, equipped(), asked(1), wait(time.Second), said("", `read_file {"path":"x"}`, `shell {"command":"make"}`),
			judged("5.1", uzda.Allow), started("5.1", 1), judged("5.2", uzda.Ask)),
		"asking": one(opened("default"), post, equipped(), asked(1)),
		"cancel": one(opened("default"), post, equipped(), asked(1), wait(time.Second), said("", `shell {"command":"sleep 100"}`, `shell {"command":"ls"}`),
			judged("5.1", uzda.Allow), started("5.1", 1), judged("5.2", uzda.Ask), wait(time.Minute), uzda.Cancelled{ID: "c", Why: "ctrl-c"},
			uzda.Posted{ID: "p2", Blocks: uzda.Say("And now?")},
			returned("5.1", "cancelled", uzda.CodeCancelled), returned("5.2", "cancelled", uzda.CodeCancelled), ended(uzda.CancelledByUser),
			asked(2), wait(time.Second), uzda.Broken{Text: "Th", Code: "cut", Error: "connection reset", Usage: uzda.Usage{Input: 400, Output: 2}, Cost: 1_640_000_000, Active: time.Second},
			asked(3), wait(time.Second), uzda.Broken{Code: "overloaded", Error: "HTTP 529"}, ended(uzda.ProviderFailed)),
		"approval": one(opened("default"), post, equipped(), asked(1), wait(time.Second), said("", `shell {"command":"rm x"}`), judged("5.1", uzda.Ask),
			uzda.Parked{On: uzda.WaitApproval, Uses: []uzda.UseID{"5.1"}}, wait(time.Hour),
			uzda.Answered{ID: "a0", Use: "5.1", Hash: "other", Verdict: uzda.Verdict{Decision: uzda.Allow}, By: "ann"}, wait(time.Hour),
			uzda.Answered{ID: "a1", Use: "5.1", Hash: "h5.1", Verdict: uzda.Verdict{Decision: uzda.Allow}, By: "ann"},
			started("5.1", 1), wait(time.Second), returned("5.1", "gone", ""), asked(2), wait(time.Second), said("Gone."), ended(uzda.EndTurn)),
		"wide": one(opened("広告エージェント"), post, equipped(), asked(1), wait(time.Second), said("", "検索ツール🔎\x1b[31m {}", `read_file {}`), started("5.1", 1), started("5.2", 1),
			returned("5.1", "😀", ""), returned("5.2", "x", ""), asked(2), said("好"), ended(uzda.EndTurn)),
	}
}

// case:O01 W1: whatever happens to a session, its spans are one trace: every
// parent exists, ids are unique, every span ends, and building it again gives
// the same spans.
func TestEveryJournalIsOneWholeTrace(t *testing.T) {
	t.Parallel()
	for name, js := range worlds(t) {
		spans, err := trace.Spans(trace.Options{}, js...)
		if err != nil {
			t.Fatal(err)
		}
		whole(t, name, spans)
		again, _ := trace.Spans(trace.Options{}, worlds(t)[name]...)
		a, b := jsonl(t, spans), jsonl(t, again)
		if a != b {
			t.Errorf("%s: building it again gives other spans", name)
		}
	}
}

func whole(t *testing.T, name string, spans []trace.Span) {
	t.Helper()
	ids, roots := map[string]bool{}, 0
	for _, s := range spans {
		if ids[s.ID] {
			t.Errorf("%s: the id of %s is not unique", name, s.Name)
		}
		ids[s.ID] = true
	}
	for _, s := range spans {
		switch {
		case s.Parent == "":
			roots++
		case !ids[s.Parent]:
			t.Errorf("%s: %s has no parent %s", name, s.Name, s.Parent)
		}
		if s.Trace != spans[0].Trace || len(s.Trace) != 32 || len(s.ID) != 16 {
			t.Errorf("%s: %s has trace %q, id %q", name, s.Name, s.Trace, s.ID)
		}
		if s.End.Before(s.Start) || s.Start.IsZero() || s.Status == "" || s.Attr[trace.Conversation] != string(s.Session) {
			t.Errorf("%s: %s from %v to %v, %q, %v", name, s.Name, s.Start, s.End, s.Status, s.Attr[trace.Conversation])
		}
	}
	if roots != 1 {
		t.Errorf("%s: %d roots in %d spans", name, roots, len(spans))
	}
}

func jsonl(t *testing.T, spans []trace.Span) string {
	t.Helper()
	var b bytes.Buffer
	if err := trace.WriteJSONL(&b, spans); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// case:O01: also where a journal stops after any of its events, and what had
// ended by then is the same as in the whole.
func TestAnyPrefixIsAWholeTrace(t *testing.T) {
	t.Parallel()
	for name, js := range worlds(t) {
		if len(js) > 1 {
			continue
		}
		var events []uzda.Event
		for e, err := range js[0].Events {
			if err != nil {
				t.Fatal(err)
			}
			events = append(events, e)
		}
		all, err := trace.Spans(trace.Options{}, js...)
		if err != nil {
			t.Fatal(err)
		}
		known := map[string]bool{}
		for line := range strings.Lines(jsonl(t, all)) {
			known[line] = true
		}
		for n := 1; n <= len(events); n++ {
			spans, err := trace.Spans(trace.Options{}, trace.Journal{Session: "s", Events: seq(events[:n])})
			if err != nil {
				t.Fatal(err)
			}
			whole(t, name, spans)
			for _, s := range spans {
				if line := jsonl(t, []trace.Span{s}); !known[line] && s.Status != trace.Unfinished && s.Attr[trace.What] != "session" {
					t.Errorf("%s, the first %d events: %s is not in the whole", name, n, line)
				}
			}
		}
	}
}

// case:O01: a live writer writes each span once, when it ends, and the same
// spans as a rebuilding does, with sessions mixed and events repeated.
func TestWriterFollowsLive(t *testing.T) {
	t.Parallel()
	for name, js := range worlds(t) {
		var live bytes.Buffer
		w := trace.NewWriter(&live, trace.Options{})
		type item struct {
			id uzda.SessionID
			e  uzda.Event
		}
		var all []item
		for _, j := range js {
			for e, err := range j.Events {
				if err != nil {
					t.Fatal(err)
				}
				all = append(all, item{j.Session, e})
			}
		}
		for len(all) > 0 { // by time; the parent is there first
			first := 0
			for i, it := range all {
				if it.e.At.Before(all[first].e.At) {
					first = i
				}
			}
			for range 1 + rand.IntN(2) {
				if err := w.Event(all[first].id, all[first].e); err != nil {
					t.Fatal(err)
				}
			}
			if err := w.Event(all[first].id, uzda.Event{Body: uzda.Streaming{}}); err != nil {
				t.Fatal(err)
			}
			all = append(all[:first], all[first+1:]...)
		}
		before := live.Len()
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(live.String()[before:]) {
			if !strings.Contains(line, `"status":"unfinished"`) && !strings.Contains(line, `"uzda.span":"session"`) {
				t.Errorf("%s: a span that had ended was kept until Close: %s", name, line)
			}
		}
		spans, err := trace.Spans(trace.Options{}, worlds(t)[name]...)
		if err != nil {
			t.Fatal(err)
		}
		want := map[string]int{}
		for line := range strings.Lines(jsonl(t, spans)) {
			want[line]++
		}
		for line := range strings.Lines(live.String()) {
			want[line]--
		}
		for line, n := range want {
			if n != 0 {
				t.Errorf("%s: off by %d: %s", name, n, line)
			}
		}
	}
}

// W1: what a person sees. The columns are aligned, with wide names too.
func TestTreeGoldens(t *testing.T) {
	t.Parallel()
	for name, js := range worlds(t) {
		spans, err := trace.Spans(trace.Options{}, js...)
		if err != nil {
			t.Fatal(err)
		}
		rand.Shuffle(len(spans), func(i, j int) { spans[i], spans[j] = spans[j], spans[i] })
		var b bytes.Buffer
		if err := trace.Tree(&b, spans, trace.Drawing{}); err != nil {
			t.Fatal(err)
		}
		b.WriteString("\n")
		if err := trace.Tree(&b, spans, trace.Drawing{Width: 60, ASCII: true}); err != nil {
			t.Fatal(err)
		}
		golden(t, "tree-"+strings.ReplaceAll(name, " ", "-")+".txt", b.Bytes())
		for _, half := range strings.SplitN(b.String(), "\n\n", 2) {
			rows := strings.Split(strings.TrimSpace(half), "\n")
			head, _, _ := strings.Cut(rows[0], "STATUS")
			at := uzda.Columns(head)
			states := []string{"STATUS", "ok", "error", "error:", "cancelled", "unfinished"}
			for _, r := range rows {
				if uzda.Columns(r) <= at || !slices.Contains(states, strings.Fields(column(r, at))[0]) {
					t.Errorf("%s: not aligned at column %d:\n%s\n%s", name, at, rows[0], r)
				}
			}
		}
	}
}

// column cuts what stands before a column of the terminal.
func column(s string, at int) string {
	for i := range s {
		if uzda.Columns(s[:i]) >= at {
			return s[i:]
		}
	}
	return "?"
}

// W1: the spans in full, as a file holds them.
func TestJSONLGolden(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"parallel", "child", "cancel", "approval"} {
		spans, err := trace.Spans(trace.Options{}, worlds(t)[name]...)
		if err != nil {
			t.Fatal(err)
		}
		golden(t, name+".jsonl", []byte(jsonl(t, spans)))
	}
}

func find(t *testing.T, spans []trace.Span, name string, n int) trace.Span {
	t.Helper()
	for _, s := range spans {
		if s.Name == name {
			if n--; n == 0 {
				return s
			}
		}
	}
	t.Fatalf("no span %s", name)
	return trace.Span{}
}

// W1: each kind says what it should: tokens, cost, stop, attempts, effects,
// shares of the context, waits, what went wrong.
func TestAttributes(t *testing.T) {
	t.Parallel()
	got := map[string][]trace.Span{}
	for name, js := range worlds(t) {
		spans, err := trace.Spans(trace.Options{}, js...)
		if err != nil {
			t.Fatal(err)
		}
		got[name] = spans
	}
	for _, c := range []struct {
		world, span string
		n           int
		status      string
		seconds     float64
		attr        map[string]any
	}{
		{"parallel", "chat claude-opus-5-5", 1, trace.OK, 2.02, map[string]any{trace.Provider: "anthropic", trace.InputTokens: 400, trace.OutputTokens: 20, trace.CacheReadTokens: 300,
			trace.Cost: uzda.Money(860_000_000), trace.Stop: "tool_use", trace.Attempts: 2, trace.ContextSize: 400, trace.ContextCache: 0.75, trace.ContextTools: 0.0,
			trace.PromptHash: "aa11", trace.PromptTail: "budget: 49 steps left", trace.RequestTemp: 0.5, trace.RequestLevel: "low", trace.RequestMax: 1000, trace.ActiveMS: 1500.0}},
		{"parallel", "execute_tool read_file", 1, trace.OK, 0.35, map[string]any{trace.Use: "6.1", trace.ToolCallID: "toolu_read_file", trace.Attempts: 1, trace.Effect: "done", trace.Verdict: "allow", trace.Ordinal: 1}},
		{"parallel", "execute_tool shell", 1, trace.Error, 0, map[string]any{trace.ErrorType: "denied", trace.Verdict: "deny", trace.VerdictRule: "Bash(*)"}},
		{"parallel", "execute_tool serch", 1, trace.Error, 0, map[string]any{trace.ErrorType: "unknown_tool"}},
		{"parallel", "verify", 1, trace.Error, 0.004, map[string]any{trace.VerdictBy: "go test", trace.ErrorType: "verification_failed"}},
		{"parallel", "chat claude-haiku-5-5", 1, trace.OK, 0.005, map[string]any{trace.For: "summary", trace.Tokens: 550}},
		{"parallel", "clear", 1, trace.OK, 0, map[string]any{trace.EditFrom: uzda.Seq(15), trace.EditWith: 1}},
		{"parallel", "invoke_agent default", 1, trace.OK, 4.52, map[string]any{trace.Steps: 3, trace.Calls: 4, trace.Edits: 1, trace.Tokens: 3*420 + 550, trace.Cost: uzda.Money(3*860_000_000 + 75_000_000), trace.ContextPeak: 420, trace.Outcome: "done"}},
		{"child", "execute_tool delegate", 1, trace.OK, 3.06, map[string]any{trace.ChildTokens: 420, trace.ChildCost: uzda.Money(860_000_000)}},
		{"crash", "execute_tool shell", 1, trace.Error, 9*3600 + 0.03, map[string]any{trace.ErrorType: "outcome_unknown"}},
		{"crash", "execute_tool read_file", 1, trace.OK, 9*3600 + 1.03, map[string]any{trace.Attempts: 2}},
		{"crash", "chat claude-opus-5-5", 2, trace.Unfinished, 0, map[string]any{trace.Held: uzda.Dollar / 100}},
		{"crash", "invoke_agent default", 1, trace.OK, 2*9*3600 + 3.15, map[string]any{trace.Resumed: 2}},
		{"cut off", "execute_tool read_file", 1, trace.Unfinished, 0.01, nil},
		{"cut off", "approval", 1, trace.Unfinished, 0, nil},
		{"asking", "chat claude-opus-5-5", 1, trace.Unfinished, 0, nil},
		{"cancel", "execute_tool shell", 1, trace.Cancelled, 60.04, map[string]any{trace.ErrorType: "cancelled"}},
		{"cancel", "approval", 1, trace.Cancelled, 60.04, nil},
		{"cancel", "invoke_agent default", 1, trace.Cancelled, 61.11, map[string]any{trace.Reason: "cancelled"}},
		{"cancel", "invoke_agent default", 2, trace.Error, 2.05, map[string]any{trace.ErrorType: "provider_error", trace.LowerBound: true}},
		{"cancel", "chat claude-opus-5-5", 2, trace.Error, 1.01, map[string]any{trace.ErrorType: "cut", trace.ErrorText: "connection reset", trace.LowerBound: true, trace.Tokens: 402}},
		{"approval", "approval", 1, trace.OK, 2*3600 + 0.03, map[string]any{trace.VerdictBy: "ann", trace.Verdict: "allow", trace.Preview: "run it"}},
		{"approval", "execute_tool shell", 1, trace.OK, 1.01, map[string]any{trace.Verdict: "allow", trace.VerdictBy: "ann"}},
	} {
		s := find(t, got[c.world], c.span, c.n)
		if s.Status != c.status || s.Duration().Seconds() != c.seconds {
			t.Errorf("%s: %s %d: %s after %v, want %s after %v", c.world, c.span, c.n, s.Status, s.Duration().Seconds(), c.status, c.seconds)
		}
		for k, want := range c.attr {
			if s.Attr[k] != want {
				t.Errorf("%s: %s %d: %s is %v (%T), want %v", c.world, c.span, c.n, k, s.Attr[k], s.Attr[k], want)
			}
		}
	}
	// The second ask sees the first's results (2,000 bytes and more), less what was cleared.
	if v := find(t, got["approval"], "chat claude-opus-5-5", 2).Attr[trace.ContextTools].(float64); v <= 0 || v >= 0.1 {
		t.Errorf("share of tool results %v", v)
	}
	if v := find(t, got["parallel"], "chat claude-opus-5-5", 2).Attr[trace.ContextTools].(float64); v != 0 {
		t.Errorf("share of tool results after they were cleared: %v", v)
	}
}

type hider struct{}

func (hider) Redact(text string, _ bool) (string, int) {
	return strings.ReplaceAll(text, "go.mod", "{{secret:X}}"), 1
}
func (hider) Reveal(in []byte) []byte { return in }

// W1: content is there by default, hidden where a secret is, and can be left out.
// What a provider counted is what the span says; what it did not say is left out,
// and is no 0. case:O04
func TestUsageThatIsNotSaid(t *testing.T) {
	t.Parallel()
	keys := []string{trace.InputTokens, trace.OutputTokens, trace.CacheReadTokens, trace.CacheWriteToken}
	for _, tt := range []struct {
		u    uzda.Usage
		want []any
	}{
		{uzda.Usage{Input: 100, Output: 20, CacheRead: 300, CacheWrite: 5, CacheLong: 6}, []any{411, 20, 300, 11}},
		{uzda.Usage{Input: 100}, []any{100, 0, 0, 0}},
		{uzda.Usage{Output: 20, AtLeast: true}, []any{nil, 20, nil, nil}},
		{uzda.Usage{AtLeast: true}, []any{nil, nil, nil, nil}},
		{uzda.Usage{}, []any{nil, nil, nil, nil}},
	} {
		reply := said("Here it is.")
		reply.Usage, reply.Request = tt.u, "req_1"
		spans, err := trace.Spans(trace.Options{}, trace.Journal{Session: "s", Events: seq(journal(t, opened("lead"), uzda.Posted{ID: "p", Blocks: uzda.Say("Go.")}, equipped(), asked(1), reply))})
		if err != nil {
			t.Fatal(err)
		}
		for _, sp := range spans {
			if sp.Attr[trace.What] != "ask" {
				continue
			}
			for i, k := range keys {
				if sp.Attr[k] != tt.want[i] {
					t.Errorf("%+v: %s is %v, want %v", tt.u, k, sp.Attr[k], tt.want[i])
				}
			}
			if sp.Attr[trace.Request] != "req_1" {
				t.Errorf("the id of the request is %v", sp.Attr[trace.Request])
			}
		}
	}
}

func TestContentIsAChoice(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		o    trace.Options
		want bool
		path string
	}{{trace.Options{}, true, "go.mod"}, {trace.Options{Redact: hider{}}, true, "{{secret:X}}"}, {trace.Options{NoContent: true}, false, ""}} {
		spans, err := trace.Spans(c.o, worlds(t)["parallel"]...)
		if err != nil {
			t.Fatal(err)
		}
		text := jsonl(t, spans)
		for _, said := range []string{"Find the fault.", "You are terse.", "I look.", "module x", "budget: 49", "rm -rf /", "FAIL"} {
			if strings.Contains(text, said) != c.want {
				t.Errorf("%+v: %q is there: %v", c.o, said, !c.want)
			}
		}
		if c.path != "" && !strings.Contains(text, c.path) || c.path != "go.mod" && strings.Contains(text, "go.mod") {
			t.Errorf("%+v: the path is not %q", c.o, c.path)
		}
	}
}

// case:O01: a child alone is a trace of its own that says where it belongs.
func TestChildWithoutItsParent(t *testing.T) {
	t.Parallel()
	all := worlds(t)["child"]
	alone, err := trace.Spans(trace.Options{}, all[0])
	if err != nil {
		t.Fatal(err)
	}
	whole(t, "child alone", alone)
	both, err := trace.Spans(trace.Options{}, all...)
	if err != nil {
		t.Fatal(err)
	}
	if alone[0].Trace != both[0].Trace || alone[0].Attr[trace.ParentSession] != "s" || alone[0].Attr[trace.ParentSpan] != find(t, both, "execute_tool delegate", 2).ID {
		t.Errorf("%+v", alone[0])
	}
}

// W1: an error of the journal is passed on with what was read.
func TestErrorOfTheJournal(t *testing.T) {
	t.Parallel()
	bad := errors.New("disk")
	js := worlds(t)["parallel"]
	spans, err := trace.Spans(trace.Options{}, trace.Journal{Session: "s", Events: func(yield func(uzda.Event, error) bool) {
		n := 0
		for e, err := range js[0].Events {
			if n++; n > 8 || !yield(e, err) {
				break
			}
		}
		yield(uzda.Event{}, bad)
	}})
	if !errors.Is(err, bad) {
		t.Errorf("error %v", err)
	}
	whole(t, "error", spans)
}

// FuzzBuilder: events in any order, of any kind, never panic, and end.
func FuzzBuilder(f *testing.F) {
	f.Add([]byte{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15})
	f.Add([]byte{4, 4, 8, 9, 9, 6, 3, 12, 12})
	f.Fuzz(func(t *testing.T, script []byte) {
		kinds := []uzda.Body{opened("a"), uzda.Posted{Blocks: uzda.Say("x")}, equipped(), asked(1), said("x", "t {}", "u {}"), judged("2.1", uzda.Ask), judged("5.1", uzda.Allow),
			started("5.1", 1), started("5.2", 2), returned("5.1", "x", ""), returned("5.2", "x", uzda.CodeFailed), ended(uzda.EndTurn), uzda.Cancelled{},
			uzda.Erased{Name: "said"}, uzda.Edited{From: 1, To: 9}, uzda.Delivered{Result: uzda.ToolResult{Use: "5.1"}}, uzda.Late{}, uzda.Verified{}, uzda.Used{}, uzda.Broken{},
			uzda.Tried{}, uzda.Parked{}, uzda.Answered{Use: "5.1"}, uzda.Unread{Name: "new"}, uzda.Posted{Turn: true}}
		b := trace.NewBuilder(trace.Options{})
		var spans []trace.Span
		for i, k := range script {
			e := uzda.Event{Seq: uzda.Seq(i + 1), At: start.Add(time.Duration(k) * time.Second), By: int64(k % 3), Body: kinds[int(k)%len(kinds)]}
			spans = append(spans, b.Event("s", e)...)
		}
		if spans = append(spans, b.Close()...); len(spans) > 0 {
			whole(t, "fuzz", spans)
		}
	})
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs (run with -update to accept):\n%s", name, got)
	}
}
