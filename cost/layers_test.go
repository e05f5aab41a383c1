package cost_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/cost"
)

func lay(t *testing.T, table *cost.Table, raw string) *cost.Table {
	t.Helper()
	out, err := table.Override("test.json", []byte(raw))
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// peer:19 K1: what a user says is stronger than what the provider said, and that
// than the table; what a layer does not say stays.
func TestLayers(t *testing.T) {
	t.Parallel()
	said := lay(t, cost.Default(), `{"read": [{"provider": "anthropic", "at": "2027-01-02T03:04:05Z", "from": "https://x.test/v1/models"}],
		"models": [{"id": "anthropic/claude-opus-5-5", "window": 2000000, "max_output": 256000, "can": ["tools"]},
			{"id": "anthropic/claude-haiku-4-5-20251001", "window": 300000}, {"id": "anthropic/claude-opus-5-20261111", "window": 900000}]}`)
	mine := lay(t, said, `{"models": [{"id": "claude-opus-5-5", "aliases": ["best"], "window": 180000}]}`)
	m := mine.Model("best")
	if m == nil || m.ID != "anthropic/claude-opus-5-5" || m.Window != 180_000 || m.MaxOutput != 256_000 || !slices.Equal(m.Can, []string{"tools"}) || m.Effort != "medium" {
		t.Fatalf("three layers give %+v", m)
	}
	if p, known := mine.Price("best", 0); !known || p.Input != 4*uzda.Dollar {
		t.Errorf("the price was lost: %v %v", p, known)
	}
	if !m.Lacks(cost.Images) || m.Lacks(cost.Tools) || mine.Model("ollama/x").Lacks(cost.Tools) {
		t.Error("what it lacks is wrong")
	}
	if w := said.Model("claude-haiku-4-5").Window; w != 300_000 {
		t.Errorf("what was said of a snapshot by its alias did not reach its row: %d", w)
	}
	if p, known := said.Price("anthropic/claude-opus-5-20261111", 0); !known || p.Input != 5*uzda.Dollar {
		t.Errorf("a snapshot that the provider lists has lost its price: %v %v", p, known)
	}
	if s, f := said.Model("anthropic/claude-opus-5-20261111"), said.Model("anthropic/claude-opus-5"); s.Window != 900_000 || s.MaxOutput != 128_000 || f.Window != 1_000_000 {
		t.Errorf("the snapshot is %+v, its model %+v", s, f)
	}
	if src := mine.Sources(); len(src) != 1 || src[0].From != "https://x.test/v1/models" {
		t.Errorf("sources %v", src)
	}
	if w := cost.Default().Model("claude-opus-5-5").Window; w != 1_000_000 {
		t.Errorf("the table itself has changed: %d", w)
	}
	other := lay(t, mine, `{"providers": [{"id": "anthropic", "default": "claude-haiku-5-5"}, {"id": "acme", "name": "Acme", "free": true}]}`)
	if p := other.Provider("anthropic"); p.Default != "claude-haiku-5-5" || p.Name != "Anthropic" || !p.Dated {
		t.Errorf("a user's default gives %+v", p)
	}
	if cost.Default().Provider("anthropic").Default == "claude-haiku-5-5" {
		t.Error("the table's default has changed")
	}
	if !other.Free("acme/x") || other.Free("anthropic/claude-opus-5-5") {
		t.Error("what is free is wrong")
	}
}

// K1: ids map to a row by name or alias or, where the provider names snapshots
// so, by a date at the end; nothing is guessed from how an id begins.
func TestNames(t *testing.T) {
	t.Parallel()
	table := cost.Default()
	for name, want := range map[string]string{
		"claude-opus-5-5":                              "anthropic/claude-opus-5-5",
		"anthropic/claude-opus-5-5":                    "anthropic/claude-opus-5-5",
		"anthropic/claude-opus-5-5-20261105":           "anthropic/claude-opus-5-5",
		"claude-haiku-4-5-20251001":                    "anthropic/claude-haiku-4-5",
		"claude-opus-5-5-20261305":                     "", // no month
		"claude-opus-5-5-2026110":                      "",
		"claude-opus-5-5-fast":                         "",
		"claude-opus":                                  "",
		"claude-opus-5-5-20261105-20261105":            "",
		"gpt-6-sol-20261105":                           "", // OpenAI's snapshots have prices of their own
		"gpt-6-sol-2026-11-05":                         "",
		"openrouter/anthropic/claude-opus-5-5":         "",
		"responses/gpt-6-sol":                          "openai/gpt-6-sol",
		"openrouter/anthropic/claude-sonnet-4.6":       "openrouter/anthropic/claude-sonnet-4.6",
		"openrouter/anthropic/claude-opus-5-20261105x": "",
		"": "",
	} {
		got := ""
		if m := table.Model(name); m != nil {
			got = m.ID
		}
		if got != want {
			t.Errorf("%q is %q, want %q", name, got, want)
		}
	}
}

// K1: a model that is known without a price is at the dearest price and unknown,
// never free; what runs on one's own machines is free, unless it has a price.
func TestNoPriceIsNotNothing(t *testing.T) {
	t.Parallel()
	table := lay(t, cost.Default(), `{"models": [{"id": "ollama/big:cloud", "tiers": [{"in": 1, "out": 2}]}, {"id": "acme/x", "window": 8000},
		{"id": "ollama/huge", "paid": true}]}`)
	for _, c := range []struct {
		model string
		in    uzda.Money
		known bool
	}{
		{"openai/gpt-5.6-sol", 10 * uzda.Dollar, false},
		{"acme/x", 10 * uzda.Dollar, false},
		{"acme/y", 10 * uzda.Dollar, false},
		{"ollama/qwen3:4b", 0, true},
		{"llama/any", 0, true},
		{"vllm/org/name", 0, true},
		{"ollama/big:cloud", uzda.Dollar, true},
		{"ollama/huge", 10 * uzda.Dollar, false},
		{"script:turns.json", 0, true},
	} {
		p, known := table.Price(c.model, 0)
		if p.Input != c.in || known != c.known {
			t.Errorf("%s costs %s (known: %v), want %s (%v)", c.model, p.Input, known, c.in, c.known)
		}
		if info, _ := table.Info(c.model); info.Free != (c.in == 0) {
			t.Errorf("%s is free: %v", c.model, info.Free)
		}
	}
}

// L12: the embedded table agrees with itself: each default is a row that can call
// tools, each effort is a word of its provider, nothing has a window smaller than
// its replies.
func TestEmbeddedTable(t *testing.T) {
	t.Parallel()
	table := cost.Default()
	for _, p := range table.Providers() {
		if p.Default == "" {
			continue
		}
		if m := table.Model(p.ID + "/" + p.Default); m == nil || m.Lacks(cost.Tools) {
			t.Errorf("the default of %s is no row that can call tools: %+v", p.ID, m)
		}
	}
	for _, id := range table.IDs() {
		m := table.Model(id)
		p := table.Provider(m.Provider())
		if p == nil {
			t.Fatalf("%s has no provider", id)
		}
		if m.Window > 0 && m.MaxOutput > m.Window {
			t.Errorf("%s: replies of %d in a window of %d", id, m.MaxOutput, m.Window)
		}
		words := table.Efforts(id)
		if m.Effort != "" && !slices.Contains(words, m.Effort) {
			t.Errorf("%s: effort %q is none of %v", id, m.Effort, words)
		}
		for _, w := range m.Efforts {
			if p.Efforts != nil && !slices.Contains(p.Efforts, w) {
				t.Errorf("%s: effort %q is none of %s's", id, w, p.ID)
			}
		}
		if len(m.Efforts) > 0 && m.Lacks(cost.Effort) {
			t.Errorf("%s has efforts, but effort is not what it can", id)
		}
		for _, a := range m.Aliases {
			if got := table.Model(a); got != m {
				t.Errorf("%s: its alias %s is another model", id, a)
			}
		}
	}
	if e := table.Efforts("openai/gpt-6-sol"); !slices.Contains(e, "xhigh") {
		t.Errorf("without efforts of its own a model has those of its provider, not %v", e)
	}
	if e := table.Efforts("acme/x"); e != nil {
		t.Errorf("efforts of a model that nobody knows: %v", e)
	}
}

// A refresh is written as it is read, replaces what it said of its provider, and
// keeps the rest.
func TestReplace(t *testing.T) {
	t.Parallel()
	first := cost.Source{Provider: "anthropic", At: "2026-12-01T00:00:00Z", From: "https://a.test/v1/models"}
	raw, err := cost.Replace(nil, first, []*cost.Model{{ID: "anthropic/new", Window: 7, Can: []string{}}, {ID: "anthropic/old", Window: 8}})
	if err != nil {
		t.Fatal(err)
	}
	priced := cost.Default().Model("claude-haiku-5-5")
	raw, err = cost.Replace(raw, cost.Source{Provider: "openrouter", At: "2026-12-02T00:00:00Z", From: "https://b.test"},
		[]*cost.Model{{ID: "openrouter/x/y", Tiers: priced.Tiers, Retires: "2027-01-31"}})
	if err != nil {
		t.Fatal(err)
	}
	first.At = "2026-12-03T00:00:00Z"
	raw, err = cost.Replace(raw, first, []*cost.Model{{ID: "anthropic/new", Window: 9, Can: []string{}}})
	if err != nil {
		t.Fatal(err)
	}
	table := lay(t, cost.Default(), string(raw))
	if m := table.Model("anthropic/new"); m == nil || m.Window != 9 || m.Can == nil || len(m.Can) != 0 {
		t.Errorf("the new row: %+v\n%s", m, raw)
	}
	if table.Model("anthropic/old") != nil {
		t.Errorf("a row that the provider no longer has stays:\n%s", raw)
	}
	m := table.Model("openrouter/x/y")
	if m == nil || len(m.Tiers) != 2 || m.Tiers[1].Price != priced.Tiers[1].Price || !slices.Equal(m.Tiers[0].Derived, priced.Tiers[0].Derived) || m.Retires != "2027-01-31" {
		t.Errorf("the other provider's row: %+v", m)
	}
	if s := table.Sources(); len(s) != 2 || s[0].At != "2026-12-03T00:00:00Z" {
		t.Errorf("sources: %v", s)
	}
	if _, err := cost.Replace(nil, first, []*cost.Model{{ID: "openai/x"}}); err == nil {
		t.Error("a provider may say something of the models of another")
	}
	if _, err := cost.Replace([]byte("{"), first, nil); err == nil || !strings.Contains(err.Error(), "line 1") {
		t.Errorf("a broken file: %v", err)
	}
	if raw, err = cost.Replace(nil, first, nil); err != nil {
		t.Fatal(err)
	}
	lay(t, cost.Default(), string(raw)) // none is an answer
}
