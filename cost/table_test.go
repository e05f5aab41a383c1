package cost_test

import (
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/cost"
)

// overrides has prices that the embedded table lacks, for the cases that need
// them: a custom price, a tier above 200k tokens, a write that costs nothing.
const overrides = `{"models": [
	{"id": "gemini/tiered", "tiers": [
		{"above_tokens": 0, "in": 1.25, "out": 10, "cache_read": 0.31},
		{"above_tokens": 200000, "in": 2.5, "out": 15, "cache_read": 0.625}]},
	{"id": "openai/own", "aliases": ["own"], "tiers": [{"in": 0.5, "out": 1.5, "cache_read": 0.05, "cache_write_5m": 0, "cache_write_1h": 0}]},
	{"id": "anthropic/claude-opus-5-5", "aliases": ["claude-opus-5-5"], "tiers": [{"in": 3.33, "out": 7}]}
]}`

// case:B01 K1: cached tokens are billed once, at their own price, to 1e-9 of
// values computed by hand.
func TestUsageIsPricedByItsFourParts(t *testing.T) {
	t.Parallel()
	own, err := cost.Default().Override("own.json", []byte(overrides))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		what  string
		table *cost.Table
		model string
		usage uzda.Usage
		want  float64 // dollars
	}{
		{"a cache write of 5 minutes at 1.25 times", cost.Default(), "anthropic/claude-sonnet-4-6", uzda.Usage{Input: 3, CacheWrite: 12304, Output: 550}, 3*3e-6 + 12304*3.75e-6 + 550*15e-6},
		{"a cache write of an hour at twice", cost.Default(), "claude-sonnet-4-6", uzda.Usage{Input: 3, CacheLong: 12304, Output: 550}, 3*3e-6 + 12304*6e-6 + 550*15e-6},
		{"both, and a read", cost.Default(), "anthropic/claude-opus-4-8", uzda.Usage{Input: 10, CacheWrite: 1000, CacheLong: 2000, CacheRead: 50_000, Output: 100}, 10*5e-6 + 1000*6.25e-6 + 2000*10e-6 + 50_000*0.5e-6 + 100*25e-6},
		{"a read at the price that the source gives", cost.Default(), "anthropic/claude-opus-5-5", uzda.Usage{CacheRead: 1_000_000}, 0.20},
		{"OpenAI: 184,704 tokens of which 183,936 cached", cost.Default(), "openai/gpt-6-sol", uzda.Usage{Input: 768, CacheRead: 183_936, Output: 20}, 768*2e-6 + 183_936*0.2e-6 + 20*10e-6},
		{"the same over another protocol", cost.Default(), "responses/gpt-6-sol", uzda.Usage{Input: 768, CacheRead: 183_936, Output: 20}, 768*2e-6 + 183_936*0.2e-6 + 20*10e-6},
		{"at the tier's limit", cost.Default(), "anthropic/claude-haiku-5-5", uzda.Usage{Input: 60_000, CacheRead: 40_000, Output: 1000}, 60_000*0.1e-6 + 40_000*0.01e-6 + 1000*0.5e-6},
		{"one token over it, where all costs more", cost.Default(), "anthropic/claude-haiku-5-5", uzda.Usage{Input: 60_001, CacheRead: 40_000, Output: 1000}, 60_001*0.5e-6 + 40_000*0.05e-6 + 1000*2.5e-6},
		{"below 200k", own, "gemini/tiered", uzda.Usage{Input: 150_000, CacheRead: 50_000, Output: 7}, 150_000*1.25e-6 + 50_000*0.31e-6 + 7*10e-6},
		{"above 200k", own, "gemini/tiered", uzda.Usage{Input: 150_000, CacheRead: 50_001, Output: 7}, 150_000*2.5e-6 + 50_001*0.625e-6 + 7*15e-6},
		{"a user's price", own, "own", uzda.Usage{Input: 9, CacheWrite: 99, CacheLong: 99, CacheRead: 999, Output: 9999}, 9*0.5e-6 + 999*0.05e-6 + 9999*1.5e-6},
		{"a user's price over ours", own, "claude-opus-5-5", uzda.Usage{Input: 1000, CacheRead: 1000, Output: 1000}, 1000*3.33e-6 + 1000*0.333e-6 + 1000*7e-6},
		{"nothing", own, "own", uzda.Usage{}, 0},
		{"a dated snapshot of Anthropic", cost.Default(), "claude-sonnet-4-6-20260217", uzda.Usage{Input: 3, CacheWrite: 12304, Output: 550}, 3*3e-6 + 12304*3.75e-6 + 550*15e-6},
		{"a local model", cost.Default(), "ollama/qwen3:4b", uzda.Usage{Input: 1_000_000, Output: 1_000_000}, 0},
	} {
		p, known := c.table.Price(c.model, c.usage.Context())
		if !known {
			t.Errorf("%s: %s is not known", c.what, c.model)
		}
		if got := p.Of(c.usage).Dollars(); math.Abs(got-c.want) > 1e-9 || got < 0 {
			t.Errorf("%s: %.12f dollars, want %.12f", c.what, got, c.want)
		}
	}
}

// case:B01 K1: a model that is not known costs the dearest price, never nothing.
func TestUnknownModelIsAtTheDearestPrice(t *testing.T) {
	t.Parallel()
	table := cost.Default()
	dear, known := table.Price("acme/new-model", 0)
	if known {
		t.Fatal("a model that nobody named is known")
	}
	for _, id := range table.IDs() {
		for _, at := range []int{0, 100_001, 2_000_000} {
			p, ok := table.Price(id, at)
			if ok != (len(table.Model(id).Tiers) > 0) || p.Input > dear.Input || p.Output > dear.Output || p.CacheRead > dear.CacheRead || p.CacheWrite > dear.CacheWrite || p.CacheLong > dear.CacheLong {
				t.Errorf("%s at %d tokens costs more than the dearest: %+v over %+v", id, at, p, dear)
			}
		}
	}
	if dear.Input != 10*uzda.Dollar || dear.Output != 50*uzda.Dollar {
		t.Errorf("dearest is %+v, want 10 in and 50 out", dear)
	}
}

// K1: what the source does not give is derived, and says so.
func TestDerivedPricesAreMarked(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		model string
		want  []string
	}{
		{"anthropic/claude-opus-5-5", []string{"cache_write_5m", "cache_write_1h"}},
		{"openai/gpt-6-sol", []string{"cache_read", "cache_write_5m", "cache_write_1h"}},
	} {
		if got := cost.Default().Model(c.model).Tiers[0].Derived; !slices.Equal(got, c.want) {
			t.Errorf("%s: derived %v, want %v", c.model, got, c.want)
		}
	}
	if cost.Default().Version != "2026-11-30" {
		t.Errorf("version %q", cost.Default().Version)
	}
	info, ok := cost.Default().Info("claude-haiku-5-5")
	if !ok || info != (uzda.ModelInfo{ID: "anthropic/claude-haiku-5-5", Window: 1_000_000, MaxOutput: 128_000}) {
		t.Errorf("info: %+v %v", info, ok)
	}
}

// K1: a user's file is read strictly, and its errors say where.
func TestFaultsInAPriceFileAreLocated(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ what, raw, want string }{
		{"unknown key at the top", "{\n\"modles\": []}", `line 2: unknown key "modles"; did you mean "models"?`},
		{"unknown key of a model", "{\"models\": [\n{\"id\": \"a/b\",\n\"price\": 3}]}", `line 3: unknown key "price"; the keys here are id, aliases, window, max_output, can, efforts, effort, retires, paid, tiers`},
		{"unknown key of a tier", "{\"models\": [{\"id\": \"a/b\", \"tiers\": [{\"in\": 1,\n\n\"cache_wirte\": 3}]}]}", `line 3: unknown key "cache_wirte"`},
		{"a key twice", "{\"models\": [],\n\"models\": []}", `line 2: the key "models" stands twice`},
		{"too deep", "{\"models\": [{\"tiers\": [{\"in\": \n{\"x\": 1}}]}]}", `line 2: the key "x" stands too deep`},
		{"no JSON", "{\"models\": [\n}", "line 2"},
		{"cut", "{\"models\": [\n\n", "line 3: the file ends too early"},
		{"empty", "", "line 1: "},
		{"wrong type", "{\"models\": [\n{\"id\": 3}]}", "line 2"},
		{"no id", `{"models": [{"tiers": [{"in": 1, "out": 2}]}]}`, "model 1 has no id"},
		{"an ability of ours that there is none of", `{"models": [{"id": "a/b", "can": ["fly"]}]}`, `model a/b: it cannot "fly"; the words are tools, thinking`},
		{"a window of less than nothing", `{"models": [{"id": "a/b", "window": -1}]}`, "window is -1"},
		{"a reply longer than anything", `{"models": [{"id": "a/b", "max_output": 99999999999}]}`, "max_output is 99999999999"},
		{"no date", `{"models": [{"id": "a/b", "retires": "soon"}]}`, `retires is "soon"`},
		{"a provider with a slash", `{"providers": [{"id": "a/b"}]}`, `the id "a/b"`},
		{"a key of a provider", "{\"providers\": [\n{\"id\": \"a\", \"window\": 1}]}", `line 2: unknown key "window"; the keys here are id, name`},
		{"half a price", `{"models": [{"id": "a/b", "tiers": [{"in": 1}]}]}`, `tier 1 lacks "in" or "out"`},
		{"negative", `{"models": [{"id": "a/b", "tiers": [{"in": 1, "out": 1, "cache_read": -1}]}]}`, "negative price"},
		{"tiers that fall", `{"models": [{"id": "a/b", "tiers": [{"in": 1, "out": 1}, {"above_tokens": 0, "in": 1, "out": 1}]}]}`, "begin with 0 and rise"},
		{"one name for two", `{"models": [{"id": "a/b", "tiers": [{"in": 1, "out": 1}]}, {"id": "c", "aliases": ["a/b"], "tiers": [{"in": 1, "out": 1}]}]}`, `the name "a/b" stands twice`},
		{"no models", `{"version": "x"}`, "no models"},
	} {
		if _, err := cost.Default().Override("own.json", []byte(c.raw)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q in it", c.what, err, c.want)
		}
	}
	raw, err := os.ReadFile("models.json")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := cost.Load("models.json", raw); err != nil {
		t.Error(err)
	}
}

// FuzzLoad: any bytes give a table or an error, and a table has no negative price.
func FuzzLoad(f *testing.F) {
	f.Add(overrides)
	f.Add(`{"version":"1","models":[{"id":"a","tiers":[{"in":1e3,"out":"2"}]}]}`)
	f.Add(`[{"models":1}]`)
	f.Add(`{"a":{"b":{"c":{}}}}`)
	f.Fuzz(func(t *testing.T, raw string) {
		table, err := cost.Load("fuzz.json", []byte(raw))
		if err != nil {
			return
		}
		if p, known := table.Price("no such model", 1); known || min(p.Input, p.Output) < 0 {
			t.Errorf("dearest %+v, known %v", p, known)
		}
	})
}
