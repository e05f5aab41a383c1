package cost_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"iter"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/cost"
)

var update = flag.Bool("update", false, "write the goldens anew")

const (
	opus = "anthropic/claude-opus-5-5" // 4 in, 20 out, 0.2 read, 5 and 8 write
	sol  = "openai/gpt-6-sol"          // 2 in, 10 out
)

// journal numbers bodies, a second apart, and lets them go through their stored form.
func journal(t *testing.T, start time.Time, bodies ...uzda.Body) iter.Seq2[uzda.Event, error] {
	t.Helper()
	var out []uzda.Event
	for i, b := range bodies {
		line, err := uzda.Seal(&uzda.Event{Seq: uzda.Seq(i + 1), At: start.Add(time.Duration(i) * time.Second), By: 1, Body: b}, nil)
		if err != nil {
			t.Fatal(err)
		}
		e, _, err := uzda.Open(line, nil)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, e)
	}
	return func(yield func(uzda.Event, error) bool) {
		for _, e := range out {
			if !yield(e, nil) {
				return
			}
		}
	}
}

func equipped(model string, free bool) uzda.Equipped {
	return uzda.Equipped{Model: uzda.ModelInfo{ID: model, Free: free}, Limits: uzda.Limits{}.OrDefault()}
}

func asked(n int, model string) uzda.Asked {
	return uzda.Asked{Ordinal: n, Model: model, Max: 1000, Tokens: 3000,
		Hold: uzda.Hold{ID: "h" + string(rune('0'+n)), Amount: uzda.Dollar / 4}}
}

func said(text string, u uzda.Usage, c uzda.Money) uzda.Said {
	return uzda.Said{Message: uzda.Message{Role: uzda.Assistant, Blocks: uzda.Say(text)}, Stop: uzda.StopEnd, Usage: u, Cost: c, Active: time.Second}
}

func price(t *testing.T, model string, u uzda.Usage) uzda.Money {
	t.Helper()
	p, known := cost.Default().Price(model, u.Context())
	if !known {
		t.Fatalf("%s is not known", model)
	}
	return p.Of(u)
}

var (
	day1 = time.Date(2026, 11, 29, 23, 59, 50, 0, time.UTC)
	end  = uzda.Ended{Outcome: uzda.Finished, Reason: uzda.EndTurn}
)

// world is a parent over midnight with a child whose journal is there, one whose
// is not, a lost ask, a cut reply, a fallback, a summary and a verifier.
func world(t *testing.T) (*cost.Report, uzda.Money) {
	t.Helper()
	big := uzda.Usage{Input: 100, CacheWrite: 10_000, CacheLong: 2000, Output: 500}
	read := uzda.Usage{Input: 200, CacheRead: 12_000, Output: 50}
	small := uzda.Usage{Input: 1000, Output: 100}
	cut := uzda.Usage{Input: 900, Output: 12, AtLeast: true}
	calls := said("", big, price(t, opus, big))
	calls.Stop = uzda.StopUse
	calls.Message.Blocks = uzda.Blocks{
		uzda.ToolUse{ID: "5.1", Name: "delegate", Input: json.RawMessage(`{}`)},
		uzda.ToolUse{ID: "5.2", Name: "delegate", Input: json.RawMessage(`{}`)},
		uzda.ToolUse{ID: "5.3", Name: "no_such", Input: json.RawMessage(`{}`)},
	}
	refused := uzda.ToolResult{Use: "5.3", Blocks: uzda.Say("no"), IsError: true, Code: uzda.CodeUnknownTool}
	parent := journal(t, day1,
		uzda.Opened{Format: 1, Agent: "lead"}, equipped(opus, false), uzda.Posted{ID: "p1", Blocks: uzda.Say("go")},
		asked(1, opus), calls,
		uzda.Started{Use: "5.1", Attempt: 1}, uzda.Started{Use: "5.2", Attempt: 1},
		uzda.Returned{Result: refused},
		uzda.Returned{Result: uzda.ToolResult{Use: "5.1"}, Pending: &uzda.Pending{On: "child", Ref: "s.5.1"}, Active: time.Second},
		uzda.Started{Use: "5.1", Attempt: 2},
		uzda.Delivered{ID: "d1", Result: uzda.ToolResult{Use: "5.1", Blocks: uzda.Say("done")}, Spent: uzda.Spend{Tokens: 1100, Cost: price(t, sol, small)}}, // after midnight from here on
		uzda.Delivered{ID: "d2", Result: uzda.ToolResult{Use: "5.2", Blocks: uzda.Say("done")}, Spent: uzda.Spend{Tokens: 777, Cost: 7_000_000_000}},
		uzda.Delivered{ID: "d2b", Result: uzda.ToolResult{Use: "5.2", Blocks: uzda.Say("again")}, Spent: uzda.Spend{Tokens: 777, Cost: 7_000_000_000}},
		uzda.Used{For: "summary", Model: sol, Usage: small, Cost: price(t, sol, small)},
		asked(2, opus), // lost: the runner crashed
		asked(3, opus),
		uzda.Broken{Text: "half", Code: "cut", Error: "the stream was cut", Usage: cut, Cost: price(t, opus, cut)},
		asked(4, opus),
		uzda.Tried{Ask: 4, Attempt: uzda.Attempt{N: 1, Model: sol, Error: "overloaded", Usage: uzda.Usage{Input: 50}}},
		uzda.Used{For: cost.Retry, Model: opus, Usage: uzda.Usage{Input: 50}, Cost: price(t, opus, uzda.Usage{Input: 50})},
		said("answer", small, price(t, sol, small)), // by the fallback
		uzda.Verified{OK: true, By: "judge", Usage: read, Cost: price(t, opus, read)},
		uzda.Verified{OK: true, By: "go test"},
		end)
	child := journal(t, day1.Add(20*time.Second),
		uzda.Opened{Format: 1, Agent: "worker", Parent: "s", Use: "5.1", Depth: 1}, equipped(sol, false),
		uzda.Posted{ID: "p1", Blocks: uzda.Say("part")}, asked(1, sol), said("ok", small, price(t, sol, small)), end)
	r := cost.NewReport(nil)
	for id, events := range map[uzda.SessionID]iter.Seq2[uzda.Event, error]{"s": parent, "s.5.1": child} {
		if err := r.Read(id, events); err != nil {
			t.Fatal(err)
		}
	}
	want := price(t, opus, big) + 7_000_000_000 + price(t, sol, small) + price(t, opus, cut) +
		price(t, opus, uzda.Usage{Input: 50}) + price(t, sol, small) + price(t, opus, read) + price(t, sol, small)
	return r, want
}

// K1 K3 case:B04 (as far as the parts exist): replies, cut replies, fallbacks,
// side calls, children: everything is in the total, once.
func TestTotalHasEveryPaidCallOnce(t *testing.T) {
	t.Parallel()
	r, want := world(t)
	total := r.Total()
	if total.Cost != want {
		t.Errorf("total %s, want %s", total.Cost, want)
	}
	if total.Lost != 1 || total.Held != uzda.Dollar/4 || total.HeldTokens != 3000 {
		t.Errorf("the ask that was lost: %d, %s, %d tokens", total.Lost, total.Held, total.HeldTokens)
	}
	if !total.LowerBound || !total.Usage.AtLeast || total.Unsplit != 777 || total.Calls != 7 {
		t.Errorf("total: %+v", total)
	}
	n := r.Counts()
	if n.Sessions != 2 || n.Steps != 5 || n.ToolCalls != 3 {
		t.Errorf("counts: %+v", n)
	}
	for d, want := range map[cost.Dimension][]string{
		cost.ByModel: {opus, sol, "(unknown)"}, cost.ByAgent: {"lead", "worker", "(unknown)"},
		cost.ByDay: {"2026-11-29", "2026-11-30"}, cost.BySession: {"s", "s.5.1"},
		cost.ByPurpose: {cost.Reply, cost.Broken, cost.Retry, cost.Lost, cost.Verify, cost.Child, "summary"},
	} {
		got := map[string]bool{}
		for _, l := range r.By(d) {
			got[l.Key] = true
		}
		for _, k := range want {
			if !got[k] {
				t.Errorf("by %s lacks %s: %v", d, k, got)
			}
		}
		if len(got) != len(want) {
			t.Errorf("by %s: %v, want %v", d, got, want)
		}
	}
}

// K3: the sum over each breakdown is the total, in every field.
func TestBreakdownsAddUp(t *testing.T) {
	t.Parallel()
	r, _ := world(t)
	total := r.Total()
	for _, d := range append(cost.Dimensions(), cost.ByStep) {
		var sum cost.Line
		for _, l := range r.By(d) {
			sum.Calls, sum.Usage, sum.Cost = sum.Calls+l.Calls, sum.Usage.Add(l.Usage), sum.Cost+l.Cost
			sum.LowerBound = sum.LowerBound || l.LowerBound
			sum.Unknown, sum.AtDearest = sum.Unknown+l.Unknown, sum.AtDearest+l.AtDearest
			sum.Lost, sum.Held, sum.HeldTokens = sum.Lost+l.Lost, sum.Held+l.Held, sum.HeldTokens+l.HeldTokens
			sum.Saved, sum.Unsplit = sum.Saved+l.Saved, sum.Unsplit+l.Unsplit
		}
		sum.Key = total.Key
		a, _ := json.Marshal(sum)
		b, _ := json.Marshal(total)
		if !bytes.Equal(a, b) {
			t.Errorf("by %s adds up to\n%s\nthe total is\n%s", d, a, b)
		}
	}
}

// case:B03: what broke is at least what is known of it, never a measured zero;
// what was refused before it began is exactly nothing.
func TestBrokenRepliesAreLowerBounds(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		what  string
		body  uzda.Broken
		free  bool
		bound bool
		shown string
	}{
		{"cancelled after 50 deltas, no usage", uzda.Broken{Text: "fifty words", Code: "cut"}, false, true, ">=$0.0000"},
		{"cut with usage of the input", uzda.Broken{Text: "x", Code: "cut", Usage: uzda.Usage{Input: 900, Output: 12, AtLeast: true}, Cost: 3_840_000_000}, false, true, ">=$0.0038"},
		{"the connection was reset", uzda.Broken{Code: "network"}, false, true, ">=$0.0000"},
		{"refused with 529", uzda.Broken{Code: "overloaded", Usage: uzda.Usage{AtLeast: true}}, false, false, "$0.0000"},
		{"a local model that was cut", uzda.Broken{Text: "x", Code: "cut"}, true, false, "$0.0000"},
	} {
		r := cost.NewReport(nil)
		if err := r.Read("s", journal(t, day1, uzda.Opened{Agent: "a"}, equipped(opus, c.free), asked(1, opus), c.body, end)); err != nil {
			t.Fatal(err)
		}
		l := r.Total()
		if l.LowerBound != c.bound || l.Calls != 1 || l.Usage.Input != c.body.Usage.Input || l.Usage.Output != c.body.Usage.Output {
			t.Errorf("%s: %+v", c.what, l)
		}
		var b bytes.Buffer
		if err := r.WriteText(&b); err != nil || !strings.Contains(b.String(), " "+c.shown+"\n") {
			t.Errorf("%s: %v, want %q in\n%s", c.what, err, c.shown, b.String())
		}
	}
}

// case:B01 K1: a model of unknown price is reported as unknown, not as zero, and
// what it would cost at most is apart from what is known.
func TestUnknownPriceIsReportedAsUnknown(t *testing.T) {
	t.Parallel()
	u := uzda.Usage{Input: 1000, Output: 100}
	reply := said("hi", u, 15_000_000_000)
	reply.Unknown = true
	r := cost.NewReport(nil)
	if err := r.Read("s", journal(t, day1, uzda.Opened{Agent: "a"}, equipped("acme/x", false), asked(1, "acme/x"), reply,
		asked(2, "acme/x"), uzda.Broken{Code: "cut", Usage: u, Cost: 15_000_000_000}, end)); err != nil {
		t.Fatal(err)
	}
	l := r.Total()
	if l.Priced() || !l.LowerBound || l.Cost != 0 || l.AtDearest != 30_000_000_000 || l.Unknown != 2 {
		t.Errorf("%+v", l)
	}
	raw, err := json.Marshal(r)
	if err != nil || !bytes.Contains(raw, []byte(`"cost_usd":null,"cost_is_lower_bound":true`)) {
		t.Errorf("%v: %s", err, raw)
	}
	var b bytes.Buffer
	if err := r.WriteText(&b, cost.ByModel); err != nil || !strings.Contains(b.String(), "unknown\n") {
		t.Errorf("%v:\n%s", err, b.String())
	}
}

// K1: an ask that is open, or that a crash left, is held, and settled by its reply.
func TestHoldsAreReportedUntilTheReplyComes(t *testing.T) {
	t.Parallel()
	r := cost.NewReport(nil)
	var last cost.Line
	events := journal(t, day1, uzda.Opened{Agent: "a"}, equipped(opus, false), asked(1, opus), said("hi", uzda.Usage{Input: 1}, 4_000_000), end)
	for e, err := range events {
		if err != nil {
			t.Fatal(err)
		}
		r.Event("s", e)
		r.Event("s", e) // a second time changes nothing
		last = r.Total()
		if held := e.Body.Kind() == "asked"; held != (last.Held == uzda.Dollar/4) || held != last.LowerBound {
			t.Errorf("after %s: %+v", e.Body.Kind(), last)
		}
	}
	if last.Cost != 4_000_000 || last.Lost != 0 || last.Calls != 1 {
		t.Errorf("at the end: %+v", last)
	}
}

// K3: what caching saved is against the same input without a cache, and a cache
// that was only written cost more.
func TestWhatCachingSaved(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		usage uzda.Usage
		want  float64
	}{
		{uzda.Usage{Input: 10, CacheRead: 100_000, Output: 5}, 100_000 * (4 - 0.2) * 1e-6},
		{uzda.Usage{Input: 10, CacheWrite: 1000, CacheLong: 1000}, -1000*(5-4)*1e-6 - 1000*(8-4)*1e-6},
		{uzda.Usage{Input: 10, Output: 5}, 0},
	} {
		r := cost.NewReport(nil)
		if err := r.Read("s", journal(t, day1, equipped(opus, false), asked(1, opus), said("", c.usage, price(t, opus, c.usage)))); err != nil {
			t.Fatal(err)
		}
		if got := r.Total().Saved.Dollars(); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%+v saved %.9f, want %.9f", c.usage, got, c.want)
		}
	}
}

// K3: an error of the journal is passed on; what came before it counts.
func TestErrorOfTheJournal(t *testing.T) {
	t.Parallel()
	bad := errors.New("disk")
	r := cost.NewReport(nil)
	err := r.Read("s", func(yield func(uzda.Event, error) bool) {
		for e, err := range journal(t, day1, equipped(opus, false), asked(1, opus)) {
			if !yield(e, err) {
				return
			}
		}
		yield(uzda.Event{}, bad)
	})
	if !errors.Is(err, bad) || r.Total().Lost != 1 {
		t.Errorf("%v, %+v", err, r.Total())
	}
}

// K3: the text and the JSON of a report, as people and scripts see them.
func TestReportGoldens(t *testing.T) {
	t.Parallel()
	r, _ := world(t)
	if err := r.Read("广告", journal(t, day1, uzda.Opened{Agent: "広告エージェント\x1b[31m"}, equipped("ollama/qwen3", true), asked(1, "ollama/qwen3"),
		said("好", uzda.Usage{Input: 1_234_567, Output: 9}, 0), end)); err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	if err := r.WriteText(&text, cost.Dimensions()...); err != nil {
		t.Fatal(err)
	}
	golden(t, "report.txt", text.Bytes())
	raw, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "report.json", append(raw, '\n'))
	for line := range strings.SplitSeq(text.String(), "\n\n") {
		rows := strings.Split(strings.TrimRight(line, "\n"), "\n")
		for _, row := range rows[1:] {
			if strings.HasSuffix(rows[0], "COST") && uzda.Columns(row) != uzda.Columns(rows[0]) {
				t.Errorf("not aligned:\n%s\n%s", rows[0], row)
			}
		}
	}
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
