package window_test

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/window"
)

// C1: each part is in its item, by tool, server and file where there are such.
func TestWeighByItem(t *testing.T) {
	t.Parallel()
	v := world(t)
	v.Budget = 10_000
	r := window.Weigh(v)
	adds(t, r)
	if r.Calibrated || r.Factor != 1 || r.Ask != 3 || r.State != window.OK {
		t.Errorf("weighed without a usage: %+v", r)
	}
	system := strings.Repeat("Answer briefly. ", 20) + "\n"
	for _, c := range []struct {
		item, part string
		want       int
	}{
		{window.Media, "image/png", 300}, // 750 by 300
		{window.Question, "", 4 + window.Estimate("And the errors?")},
		{window.Tail, "", window.Estimate("3 steps left")},
		{window.Thinking, "", 4 + window.Estimate("I should read it first.")},
		{window.Files, "AGENTS.md", window.Estimate("<instructions file=\"AGENTS.md\">\nRULE-77: never touch /vendor\n</instructions>")},
		{window.Tools, "docs: 検索", 12 + window.Estimate("検索") + window.Estimate("Search.")},
		{window.Memory, "notes", 8 + window.Estimate("The account is 4471.")},
		{window.Results, "検索", 8 + window.Estimate(strings.Repeat("結果です。", 100))},
	} {
		got := item(r, c.item)
		if c.part != "" {
			got = got.Parts[max(0, slices.IndexFunc(got.Parts, func(p uzda.Weight) bool { return p.Name == c.part }))]
		}
		if got.Tokens != c.want || c.part != "" && got.Name != c.part {
			t.Errorf("%s %s: %+v, want %d tokens", c.item, c.part, got, c.want)
		}
	}
	if n := item(r, window.System).Tokens; n < window.Estimate(system) || n > window.Estimate(system)+4 {
		t.Errorf("the system prompt without its files: %d tokens, want %d", n, window.Estimate(system))
	}
	if f := item(r, window.Files); len(f.Parts) != 2 || f.Parts[0].Name != "src/AGENTS.md" || f.Parts[0].Tokens < window.Estimate("and this is still of it. Run the tests. A page ends with") {
		t.Errorf("a file that holds what ends one: %+v", f.Parts)
	}
	if n := item(r, window.Results).Parts; len(n) != 2 || n[0].Name != "read_file" {
		t.Errorf("results, the largest first: %+v", n)
	}
}

// adds checks that the parts add up to their items and the items to the total.
func adds(t *testing.T, r uzda.Weighed) {
	t.Helper()
	sum, pc := 0, 0.0
	for _, it := range r.Items {
		sum, pc = sum+it.Tokens, pc+it.Percent
		parts := 0
		for _, p := range it.Parts {
			parts += p.Tokens
		}
		if len(it.Parts) > 0 && parts != it.Tokens {
			t.Errorf("%s: the parts have %d tokens, the whole %d", it.Name, parts, it.Tokens)
		}
	}
	whole := r.Budget
	if whole == 0 {
		whole = max(r.Window, 1)
	}
	if sum != r.Total || r.State != window.Unknown && math.Abs(r.Percent-100*float64(sum)/float64(whole)) > 0.01 || r.State != window.Unknown && math.Abs(pc-r.Percent) > 0.1 {
		t.Errorf("the items have %d tokens and %.2f %%, the total is %d and %.2f %%", sum, pc, r.Total, r.Percent)
	}
}

// C1: on random requests items, parts, total and percentages agree.
func TestWeighAddsUp(t *testing.T) {
	t.Parallel()
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 7))
		v := uzda.View{Model: uzda.ModelInfo{Window: rng.IntN(3) * rng.IntN(60_000)}, Budget: rng.IntN(2) * rng.IntN(50_000), Tail: strings.Repeat("x ", rng.IntN(9))}
		for i := range rng.IntN(5) {
			v.Head.Tools = append(v.Head.Tools, uzda.ToolSpec{Name: fmt.Sprint("t", i), Description: strings.Repeat("word ", rng.IntN(60)), Source: []string{"", "github"}[rng.IntN(2)]})
		}
		for i := range rng.IntN(12) {
			id := uzda.UseID(fmt.Sprintf("%d.1", i+1))
			v.Entries = append(v.Entries,
				uzda.Entry{Seq: uzda.Seq(3*i + 1), Message: uzda.Message{Role: uzda.Assistant, Blocks: uzda.Blocks{uzda.Text{Text: "ok"}, uzda.ToolUse{ID: id, Name: fmt.Sprint("t", rng.IntN(5)), Input: json.RawMessage(`{}`)}}}},
				uzda.Entry{Seq: uzda.Seq(3*i + 2), Message: uzda.Message{Role: uzda.User, Blocks: uzda.Blocks{uzda.ToolResult{Use: id, Blocks: uzda.Say(strings.Repeat("line 42\n", rng.IntN(400)))}}}})
		}
		switch rng.IntN(3) {
		case 0:
			v.Used = uzda.Usage{Input: rng.IntN(40_000), CacheRead: rng.IntN(40_000)}
		case 1:
			v.Tokens, v.Counted = rng.IntN(40_000), true
		}
		adds(t, window.Weigh(v))
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// C1 M6 peer:16: the last reply's usage calibrates; a lower bound, or an edit since,
// does not. What cannot be explained by what is known is believed all the same.
func TestCalibration(t *testing.T) {
	t.Parallel()
	v := world(t)
	before := v
	before.Entries = v.Entries[:3]
	sent := window.Weigh(before).Total
	raw := window.Weigh(v).Total
	for _, c := range []struct {
		what   string
		used   uzda.Usage
		edit   uzda.Seq
		tokens int
		factor float64
		total  int
	}{
		{"half as much again, cached or not", uzda.Usage{Input: sent / 2, CacheRead: sent, Output: 9}, 0, 0, 1.5, raw * 3 / 2},
		{"fewer than estimated", uzda.Usage{Input: sent / 2}, 0, 0, 0.5, raw / 2},
		{"no usage", uzda.Usage{}, 0, 0, 1, raw},
		{"a lower bound", uzda.Usage{Input: sent * 2, AtLeast: true}, 0, 0, 1, raw},
		{"edited before the reply", uzda.Usage{Input: sent * 2}, 10, 0, 2, raw * 2},
		{"edited since", uzda.Usage{Input: sent * 2}, 13, 0, 1, raw},
		{"edited since, but the loop has a count", uzda.Usage{Input: sent * 2}, 13, raw * 3, 3, raw * 3},
		{"out of all proportion", uzda.Usage{Input: sent * 50}, 0, 0, 4, sent*46 + 4*raw},
	} {
		v := world(t)
		v.Entries[0].Edit, v.Used, v.Tokens, v.Counted = c.edit, c.used, c.tokens, c.tokens > 0
		r := window.Weigh(v)
		adds(t, r)
		if math.Abs(r.Factor-c.factor) > 0.01 || r.Calibrated != (c.factor != 1) || math.Abs(float64(r.Total-c.total)) > 0.005*float64(c.total)+12 {
			t.Errorf("%s: factor %.3f, calibrated %v, %d tokens; want %.2f, %d", c.what, r.Factor, r.Calibrated, r.Total, c.factor, c.total)
		}
	}
	short := window.Weigh(uzda.View{Used: uzda.Usage{Input: 350}, Entries: []uzda.Entry{
		{Seq: 1, Message: uzda.Message{Role: uzda.User, Blocks: uzda.Say("hi")}}, {Seq: 2, Message: uzda.Message{Role: uzda.Assistant, Blocks: uzda.Say("hi")}}}})
	if short.Factor != 2 || item(short, window.Overhead).Tokens < 330 || short.Total < 350 {
		t.Errorf("what a provider adds to two words: %+v", short)
	}
}

// case:C09 M6: the same context in the usage of four services weighs the same, and
// cached tokens count once. An adapter makes one form of them; this is what it makes.
func TestUsageForms(t *testing.T) {
	t.Parallel()
	const context = 184_704
	v := uzda.View{Model: uzda.ModelInfo{Window: 400_000}, Budget: 400_000, Entries: []uzda.Entry{
		{Seq: 2, Message: uzda.Message{Role: uzda.User, Blocks: uzda.Say(strings.Repeat("The quick brown fox jumps over the lazy dog. ", 15_000))}},
		{Seq: 4, Message: uzda.Message{Role: uzda.Assistant, Blocks: uzda.Say("ok")}},
	}}
	for name, used := range map[string]uzda.Usage{
		"OpenAI: cached is part of the input": {Input: context - 183_936, CacheRead: 183_936, Output: 100},
		"Anthropic: beside it":                {Input: 768, CacheRead: 183_936, Output: 100},
		"Anthropic, first written":            {Input: 768, CacheWrite: 100_000, CacheLong: 83_936, Output: 100},
		"no cache":                            {Input: context, Output: 100},
	} {
		v.Used = used
		r := window.Weigh(v)
		if math.Abs(float64(r.Total-context)) > 20 || r.State != window.OK || math.Abs(r.Percent-46.2) > 0.1 {
			t.Errorf("%s: %d tokens, %.1f %%, %s", name, r.Total, r.Percent, r.State)
		}
		small := v
		small.Budget = 190_000
		if got := window.Weigh(small); got.State != window.Hard {
			t.Errorf("%s: of 190,000 it is %s", name, got.State)
		}
	}
}

// C1: the states begin at 0.70 and 0.85 of the budget. C6: a fixed part over half
// of the window is named; a budget below the window does not change that.
func TestStates(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		tokens, budget int
		want           string
	}{{0, 1000, window.OK}, {699, 1000, window.OK}, {700, 1000, window.Warning}, {849, 1000, window.Warning}, {850, 1000, window.Hard}, {2000, 1000, window.Hard}, {5, 0, window.Unknown}} {
		if got := window.StateOf(c.tokens, c.budget); got != c.want {
			t.Errorf("%d of %d: %s, want %s", c.tokens, c.budget, got, c.want)
		}
	}
	v := world(t)
	whole := window.Weigh(v)
	if whole.State != window.Unknown || window.FixedTooLarge(whole) || whole.Percent != 0 {
		t.Errorf("a window of unknown size: %+v", whole)
	}
	fixed := 0
	for _, name := range []string{window.System, window.Files, window.Tools} {
		fixed += item(whole, name).Tokens
	}
	for size, want := range map[int]bool{2*fixed + 10: false, 2*fixed - 10: true} {
		v.Model.Window, v.Entries = size, nil
		for _, v.Budget = range []int{0, size, size / 4} {
			if got := window.Weigh(v); window.FixedTooLarge(got) != want {
				t.Errorf("%d fixed tokens in a window of %d, budget %d: %.1f %%", fixed, size, v.Budget, got.Fixed)
			}
		}
	}
	// peer:19: a person's limit below what the model has is what counts
	v = world(t)
	v.Model.Window, v.Budget = 1_000_000, whole.Total
	if r := window.Weigh(v); r.State != window.Hard || r.Percent != 100 {
		t.Errorf("a budget that is used up in a large window: %+v", r)
	}
	empty := window.Weigh(uzda.View{Model: uzda.ModelInfo{Window: 100}})
	if empty.Total != 0 || empty.State != window.OK || len(empty.Items) != 0 {
		t.Errorf("nothing: %+v", empty)
	}
}

// M6: every block counts, also those of other programs and withheld thinking.
func TestEveryBlockCounts(t *testing.T) {
	t.Parallel()
	for name, b := range map[string]uzda.Block{
		"text": uzda.Text{Text: "word"}, "thinking": uzda.Thinking{Text: "hm"}, "withheld thinking": uzda.Thinking{Signature: strings.Repeat("Qk", 400)},
		"an opaque block": uzda.Opaque{Raw: json.RawMessage(`{"type":"search_result","text":"found it"}`)},
		"a picture":       uzda.Media{Type: "image/png", Data: picture(t)}, "a broken picture": uzda.Media{Type: "image/png", Data: []byte("x")},
		"a document": uzda.Media{Type: "application/pdf", Data: make([]byte, 8000)}, "no type": uzda.Media{},
		"a call": uzda.ToolUse{ID: "1.1", Name: "x", Input: json.RawMessage(`{"a":1}`)}, "a call without a name": uzda.ToolUse{ID: "1.1"},
		"a result": uzda.ToolResult{Use: "9.9", Blocks: uzda.Blocks{uzda.Text{Text: "x"}, uzda.Media{Type: "image/png", Data: picture(t)}, uzda.Opaque{Raw: json.RawMessage(`{}`)}}},
	} {
		r := window.Weigh(uzda.View{Entries: []uzda.Entry{{Seq: 1, Message: uzda.Message{Role: uzda.Assistant, Blocks: uzda.Blocks{b}}}}})
		if adds(t, r); r.Total < 3 {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

// C1: what is reported is the JSON that scripts and the journal hold.
func TestWeighedJSON(t *testing.T) {
	t.Parallel()
	v := world(t)
	v.Model.Window, v.Used = 6000, uzda.Usage{Input: 4200}
	raw, err := json.MarshalIndent(window.Weigh(v), "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "report.json", append(raw, '\n'))
}

// longWork is a history of n messages of about 2 KB, with calls and results.
func longWork(n int) uzda.View {
	v := uzda.View{Model: uzda.ModelInfo{Window: 1_000_000}, Budget: 320_000, Used: uzda.Usage{Input: 200_000}}
	v.Entries = append(v.Entries, uzda.Entry{Seq: 1, Message: uzda.Message{Role: uzda.User, Blocks: uzda.Say("Find the fault.")}})
	for i := 2; len(v.Entries) < n; i += 2 {
		id := uzda.UseID(fmt.Sprintf("%d.1", i))
		v.Entries = append(v.Entries,
			uzda.Entry{Seq: uzda.Seq(i), Message: uzda.Message{Role: uzda.Assistant, Blocks: uzda.Blocks{uzda.Text{Text: "I look at the next file."},
				uzda.ToolUse{ID: id, Name: "read_file", Input: json.RawMessage(fmt.Sprintf(`{"path":"src/file%d.go"}`, i%50))}}}},
			uzda.Entry{Seq: uzda.Seq(i + 1), Message: uzda.Message{Role: uzda.User, Blocks: uzda.Blocks{uzda.ToolResult{Use: id, Blocks: uzda.Say(strings.Repeat("func parse(in []byte) error { return nil }\n", 48))}}}})
	}
	v.Head.Tools = []uzda.ToolSpec{{Name: "read_file", Effects: uzda.Effects{ReadOnly: true}}}
	return v
}

// C1: a breakdown of a history of 1,000 messages of 2 KB.
func BenchmarkWeigh(b *testing.B) {
	v := longWork(1000)
	b.ReportAllocs()
	for b.Loop() {
		window.Weigh(v)
	}
}

// C1: the advice on it.
func BenchmarkAdvise(b *testing.B) {
	v := longWork(1000)
	r := window.Weigh(v)
	b.ReportAllocs()
	for b.Loop() {
		window.Advise(v, r)
	}
}

// C1: what a compaction put there is told apart: the task, what is pinned, the
// record and the facts; what people write that looks like it is theirs.
func TestWeighSummary(t *testing.T) {
	t.Parallel()
	pin := strings.Repeat("2 of 5 are done. ", 30)
	record, _ := window.Framed(strings.Repeat("The port is 48213. ", 50), pin)
	facts := "<facts>\n" + strings.Repeat("INV/2024/05/17 ", 40) + "\n</facts>"
	m := uzda.Message{Role: uzda.User, Blocks: uzda.Blocks{uzda.Text{Text: "Mend the parser."}, uzda.Text{Text: record}, uzda.Text{Text: facts}}}
	v := uzda.View{Budget: 10_000, Entries: []uzda.Entry{{Seq: 9, Edit: 9, Message: m}, {Seq: 10, Message: uzda.Message{Role: uzda.Assistant, Blocks: uzda.Say("I go on.")}}}}
	r := window.Weigh(v)
	adds(t, r)
	parts := map[string]int{}
	for _, p := range append(item(r, window.Summary).Parts, item(r, window.Memory).Parts...) {
		parts[p.Name] = p.Tokens
	}
	if parts["facts"] != 4+window.Estimate(facts) || parts["pinned"] < window.Estimate(pin) || parts["pinned"] > 2*window.Estimate(pin)+40 || parts["record"] < 50*5 ||
		item(r, window.Question).Tokens != 4+window.Estimate("Mend the parser.") {
		t.Errorf("%+v", r.Items)
	}
	if got := window.Advise(v, r); len(got) != 0 {
		t.Errorf("advice on a small summary: %+v", got)
	}
	v.Budget = 1500
	if got := window.Advise(v, window.Weigh(v)); len(got) != 1 || !strings.Contains(got[0].What, "summary") && !strings.Contains(got[0].What, "facts") {
		t.Errorf("advice on a large summary: %+v", got)
	}
	v.Entries[0].Edit = 0
	if r := window.Weigh(v); item(r, window.Summary).Tokens+item(r, window.Memory).Tokens != 0 {
		t.Errorf("what a person wrote: %+v", r.Items)
	}
}
