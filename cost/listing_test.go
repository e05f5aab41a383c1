package cost_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/cost"
)

// The ways in which services list their models, each in its smallest form.
var listings = map[string]string{
	"anthropic": `{"data": [
		{"type": "model", "id": "claude-next-20270101", "display_name": "Next", "lifecycle": "active", "max_input_tokens": 1000000, "max_tokens": 128000, "retires_at": "2028-05-04T00:00:00Z",
		 "capabilities": {"thinking": {"supported": true, "enabled": {"supported": false}}, "effort": {"supported": true, "low": {"supported": true}, "max": {"supported": true}, "high": {"supported": false}},
			"structured_outputs": {"supported": true}, "image_input": {"supported": true}, "pdf_input": {"supported": false}}},
		{"type": "model", "id": "claude-gone", "lifecycle": "retired"}],
		"has_more": true, "first_id": "claude-next-20270101", "last_id": "claude-gone"}`,
	"openai": `{"object": "list", "data": [{"id": "gpt-next", "object": "model", "owned_by": "x"}, {"id": "text-embedding-9"}, {"id": "gpt-next"}, {"id": 7}, 7, null, {"id": "two words"}, {"id": ""}]}`,
	"openrouter": `{"data": [
		{"id": "a/b", "context_length": 200000, "top_provider": {"max_completion_tokens": 64000}, "architecture": {"input_modalities": ["text", "image", "file"]},
		 "supported_parameters": ["tools", "reasoning", "structured_outputs"],
		 "pricing": {"prompt": "0.000003", "completion": "0.000015", "input_cache_read": "0.0000003", "input_cache_write": "0.00000375", "request": "0"}},
		{"id": "a/free:free", "pricing": {"prompt": "0", "completion": "0"}},
		{"id": "a/auto", "pricing": {"prompt": "-1", "completion": "-1"}},
		{"id": "a/fee", "pricing": {"prompt": "0.000001", "completion": "0.000001", "request": "0.005"}},
		{"id": "a/odd", "pricing": {"prompt": "0.000001", "completion": "0.000002", "input_cache_read": "0.000005"}},
		{"id": "a/wild", "pricing": {"prompt": "9e99", "completion": [1]}},
		{"id": "a/dear", "pricing": {"prompt": "2", "completion": "2"}}]}`,
	"groq":    `{"data": [{"id": "x/y", "active": true, "context_window": 131072, "max_completion_tokens": 65536}, {"id": "whisper-large"}]}`,
	"mistral": `{"data": [{"id": "m-2512", "aliases": ["m-latest", "m-2512"], "max_context_length": 131072, "deprecation": "2027-02-03T00:00:00Z", "capabilities": {"completion_chat": true, "function_calling": true, "vision": true}}, {"id": "m-latest", "aliases": ["m-2512"]}, {"id": "m-ocr", "capabilities": {"completion_chat": false}}]}`,
	"together": `[{"id": "t/u", "type": "chat", "context_length": 32768, "pricing": {"input": 0.88, "output": 0.9, "hourly": 0}},
		{"id": "t/none", "type": "chat", "pricing": {"input": 0, "output": 0}}, {"id": "t/pic", "type": "image"}]`,
	"gemini": `{"object": "list", "data": [{"id": "models/gemini-next", "object": "model"}]}`,
	"vllm":   `{"data": [{"id": "org/local", "max_model_len": 8192}]}`,
}

// K1 L12: what each kind of service says of its models is read; what it does not
// say, or says in a way that cannot be right, stays unknown.
func TestListing(t *testing.T) {
	t.Parallel()
	all := map[string]*cost.Model{}
	for provider, raw := range listings {
		models, next, err := cost.Listing(provider, []byte(raw))
		if err != nil {
			t.Fatalf("%s: %v", provider, err)
		}
		if want := map[string]string{"anthropic": "claude-gone"}[provider]; next != want {
			t.Errorf("%s: the next page begins after %q, not %q", provider, want, next)
		}
		for _, m := range models {
			all[m.ID] = m
		}
	}
	price := func(in, out, read, write, long uzda.Money) []cost.Tier {
		return []cost.Tier{{Price: uzda.Price{Input: in, Output: out, CacheRead: read, CacheWrite: write, CacheLong: long}}}
	}
	const d, cent = uzda.Dollar, uzda.Dollar / 100
	want := []cost.Model{
		{ID: "anthropic/claude-next-20270101", Window: 1_000_000, MaxOutput: 128_000, Can: []string{"tools", "thinking", "effort", "schema", "images", "cache"}, Efforts: []string{"low", "max"}, Retires: "2028-05-04"},
		{ID: "gemini/gemini-next"},
		{ID: "groq/x/y", Window: 131_072, MaxOutput: 65_536},
		{ID: "mistral/m-2512", Window: 131_072, Can: []string{"tools", "images"}, Retires: "2027-02-03"},
		{ID: "mistral/m-latest"},
		{ID: "openai/gpt-next"},
		{ID: "openrouter/a/auto"},
		{ID: "openrouter/a/b", Window: 200_000, MaxOutput: 64_000, Can: []string{"tools", "thinking", "effort", "schema", "images", "pdf", "cache"}, Tiers: price(3*d, 15*d, 30*cent, 375*cent, 6*d)},
		{ID: "openrouter/a/dear"},
		{ID: "openrouter/a/fee"},
		{ID: "openrouter/a/free:free", Tiers: price(0, 0, 0, 0, 0)},
		{ID: "openrouter/a/odd", Tiers: price(d, 2*d, d, d, 2*d)},
		{ID: "openrouter/a/wild"},
		{ID: "together/t/none"},
		{ID: "together/t/u", Window: 32_768, Tiers: price(88*cent, 90*cent, 88*cent, 88*cent, 176*cent)},
		{ID: "vllm/org/local", Window: 8192},
	}
	for _, w := range want {
		got := all[w.ID]
		if got == nil {
			t.Errorf("%s is missing", w.ID)
			continue
		}
		g, e := mustJSON(t, got), mustJSON(t, w)
		if g != e {
			t.Errorf("%s\n got %s\nwant %s", w.ID, g, e)
		}
		delete(all, w.ID)
	}
	for id := range all {
		t.Errorf("%s should not be there", id)
	}
	for _, raw := range []string{``, `7`, `null`, `{}`, `{"data": {}}`, `{"data": null}`, `<html>`, `[`} {
		if models, _, err := cost.Listing("x", []byte(raw)); err == nil || models != nil {
			t.Errorf("%q gives %v, %v", raw, models, err)
		}
	}
}

// A listing that was read can be written and read again, whatever it says.
func TestListingsSurviveTheFile(t *testing.T) {
	t.Parallel()
	for provider, raw := range listings {
		models, _, err := cost.Listing(provider, []byte(raw))
		if err != nil {
			t.Fatal(err)
		}
		file, err := cost.Replace(nil, cost.Source{Provider: provider}, models)
		if err != nil {
			t.Fatal(err)
		}
		table := lay(t, cost.Default(), string(file))
		for _, m := range models {
			got := table.Model(m.ID)
			if got == nil || m.Window != 0 && got.Window != m.Window || len(m.Tiers) > 0 && !slices.EqualFunc(got.Tiers, m.Tiers, func(a, b cost.Tier) bool { return a.Price == b.Price }) {
				t.Errorf("%s came back as %+v", m.ID, got)
			}
		}
	}
}

func mustJSON(t *testing.T, v any) string {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// FuzzListing: any bytes give models that can be written to a file and read from
// it, or an error; no price is negative, and none names another provider's model.
func FuzzListing(f *testing.F) {
	for _, raw := range listings {
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		models, _, err := cost.Listing("p", []byte(raw))
		if err != nil {
			return
		}
		for _, m := range models {
			if !strings.HasPrefix(m.ID, "p/") {
				t.Fatalf("the id %q", m.ID)
			}
			for _, tier := range m.Tiers {
				if p := tier.Price; min(p.Input, p.Output, p.CacheRead, p.CacheWrite, p.CacheLong) < 0 {
					t.Fatalf("a negative price: %+v", p)
				}
			}
		}
		file, err := cost.Replace(nil, cost.Source{Provider: "p"}, models)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := cost.Default().Override("refreshed", file); err != nil {
			t.Fatalf("%v\n%s", err, file)
		}
	})
}
