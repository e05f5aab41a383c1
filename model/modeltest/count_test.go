package modeltest_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/model/modeltest"
)

// A clock is moved by a test.
type clock struct{ now time.Time }

func (c *clock) Now() time.Time { return c.now }

// The cache of Messages writes at markers, reads what was written, looks back a
// few blocks, and forgets.
func TestMarkedCache(t *testing.T) { // B01 case:B01
	t.Parallel()
	c := &clock{time.Unix(1_800_000_000, 0)}
	s := modeltest.Serve(t, modeltest.Config{Turns: []modeltest.Turn{{Text: "12345678"}}, Loop: true, Now: c.Now, Cache: modeltest.Cache{Back: 3}})
	// A block of n tokens: 27 bytes are around the text.
	block := func(n int, ttl string) string {
		mark := ""
		if ttl != "" {
			mark = `,"cache_control":{"type":"ephemeral","ttl":"` + ttl + `"}`
		}
		return `{"type":"text","text":"` + strings.Repeat("x", 4*n-25) + `"` + mark + `}`
	}
	ask := func(key, system string, blocks ...string) uzda.Usage {
		t.Helper()
		body := `{"model":"m","max_tokens":9,"system":[` + system + `],"messages":[{"role":"user", "content":[` + strings.Join(blocks, ",") + `]}]}`
		if got := post(t, s.URL+"/v1/messages", body, "X-Api-Key", key); got.status != 200 {
			t.Fatal(got.body)
		}
		asks := s.Asks()
		return asks[len(asks)-1].Usage
	}
	// The message around the blocks has 28 bytes, which are 7 tokens.
	for i, step := range []struct {
		key, system string
		blocks      []string
		after       time.Duration
		want        uzda.Usage
	}{
		{"k", block(2000, "1h"), []string{block(500, "")}, 0, uzda.Usage{Input: 507, CacheLong: 2000, Output: 2}},
		{"k", block(2000, "1h"), []string{block(500, "5m")}, 0, uzda.Usage{CacheRead: 2000, CacheWrite: 507, Output: 2}},
		{"k", block(2000, "1h"), []string{block(500, ""), block(100, "5m"), block(10, "")}, 0, uzda.Usage{CacheRead: 2507, CacheWrite: 100, Input: 10, Output: 2}},
		{"other", block(2000, "1h"), []string{block(500, "")}, 0, uzda.Usage{Input: 507, CacheLong: 2000, Output: 2}},
		{"k", block(2000, "1h"), []string{block(500, ""), block(100, "5m")}, 6 * time.Minute, uzda.Usage{CacheRead: 2000, CacheWrite: 607, Output: 2}}, // the short ones are gone
		{"k", block(2000, "1h"), []string{block(501, ""), block(100, "5m")}, 0, uzda.Usage{CacheRead: 2000, CacheWrite: 608, Output: 2}},
		{"k", block(2000, ""), []string{block(500, ""), block(100, ""), block(1000, "5m")}, 0, uzda.Usage{CacheRead: 2607, CacheWrite: 1000, Output: 2}}, // one block back
		{"k", block(2000, ""), []string{block(500, ""), block(100, ""), block(1000, ""), block(10, ""), block(10, ""), block(10, ""), block(10, "5m")}, 0,
			uzda.Usage{CacheWrite: 3647, Output: 2}}, // four blocks back: too far
		{"k", block(2000, ""), []string{block(500, "")}, 0, uzda.Usage{Input: 2507, Output: 2}},                               // no marker
		{"k", block(1000, "5m"), []string{block(10, "")}, 0, uzda.Usage{Input: 1017, Output: 2}},                              // too short
		{"k", block(2000, "1h"), []string{block(500, "")}, 2 * time.Hour, uzda.Usage{Input: 507, CacheLong: 2000, Output: 2}}, // all is gone
	} {
		c.now = c.now.Add(step.after)
		if got := ask(step.key, step.system, step.blocks...); got != step.want {
			t.Errorf("step %d: %+v, not %+v", i+1, got, step.want)
		}
	}
}

// The cache of Chat Completions reads what was sent before in steps of 128 tokens.
func TestAutomaticCache(t *testing.T) { // B01 case:B01 case:C09
	t.Parallel()
	c := &clock{time.Unix(1_800_000_000, 0)}
	s := modeltest.Serve(t, modeltest.Config{Turns: []modeltest.Turn{{Text: "12345678"}}, Loop: true, Now: c.Now})
	message := func(text string) string { return `{"role":"user","content":"` + text + `"}` }
	long := message(strings.Repeat("x", 8000-28)) // 2,000 tokens
	for i, step := range []struct {
		list  string
		after time.Duration
		want  uzda.Usage
	}{
		{long, 0, uzda.Usage{Input: 2000, Output: 2}},
		{long, 0, uzda.Usage{Input: 2000 - 1920, CacheRead: 1920, Output: 2}},
		{long + "," + long, 0, uzda.Usage{Input: 4000 - 1920, CacheRead: 1920, Output: 2}},
		{message("y") + "," + long, 0, uzda.Usage{Input: 2008, Output: 2}},
		{long, 6 * time.Minute, uzda.Usage{Input: 2000, Output: 2}},
		{message("short"), 0, uzda.Usage{Input: 9, Output: 2}},
		{message("short"), 0, uzda.Usage{Input: 9, Output: 2}},
	} {
		c.now = c.now.Add(step.after)
		body := `{"model":"m","messages":[` + step.list + `]}`
		got := post(t, s.URL+"/v1/chat/completions", body)
		contains(t, got.body, fmt.Sprintf(`"prompt_tokens":%d,"completion_tokens":2`, step.want.Context()), fmt.Sprintf(`"cached_tokens":%d`, step.want.CacheRead))
		asks := s.Asks()
		if u := asks[len(asks)-1].Usage; u != step.want {
			t.Errorf("step %d: %+v, not %+v", i+1, u, step.want)
		}
	}
}

// A bill is exact, counts cut replies as far as they went, and no refusals.
func TestBill(t *testing.T) { // B01 B03 case:B01 case:B03
	t.Parallel()
	price := func(model string, context int) uzda.Price {
		p := uzda.Price{Input: 3 * uzda.Dollar, Output: 15 * uzda.Dollar, CacheRead: uzda.Dollar * 3 / 10, CacheWrite: uzda.Dollar * 375 / 100, CacheLong: 6 * uzda.Dollar}
		if context > 200_000 {
			p.Input *= 2
		}
		if model == "odd" {
			p = uzda.Price{Input: 1_500_000, Output: 1} // picodollars of a million: fractions of one for a token
		}
		return p
	}
	turn := func(u uzda.Usage, f ...modeltest.Fault) modeltest.Turn {
		return modeltest.Turn{Text: strings.Repeat("12345678", 12), Usage: &u, Faults: f}
	}
	for _, c := range []struct {
		name  string
		model string
		turn  modeltest.Turn
		asks  int
		want  uzda.Money
	}{
		{"table", "m", turn(uzda.Usage{Input: 3, CacheWrite: 12304, Output: 550}), 1, 3*3_000_000 + 12304*3_750_000 + 550*15_000_000},
		{"tier", "m", turn(uzda.Usage{Input: 200_001}), 1, 200_001 * 6_000_000},
		{"long", "m", turn(uzda.Usage{CacheLong: 10, CacheRead: 7}), 1, 10*6_000_000 + 7*300_000},
		{"fractions", "odd", turn(uzda.Usage{Input: 3}), 1, 5}, // 4.5
		{"counted", "m", modeltest.Turn{Text: strings.Repeat("x", 40)}, 1, 8*3_000_000 + 10*15_000_000},
		{"refused", "m", turn(uzda.Usage{Input: 5}, modeltest.Fault{Status: 529}), 1, 0},
		{"refused, then well", "m", turn(uzda.Usage{Input: 5}, modeltest.Fault{Status: 529}), 2, 5 * 3_000_000},
		{"cut", "m", turn(uzda.Usage{Input: 1000, Output: 400}, modeltest.Fault{Kind: modeltest.Cut, After: 4}), 1, 1000*3_000_000 + 100*15_000_000}, // 24 of 96 bytes
		{"cut before anything", "m", turn(uzda.Usage{Input: 1000, Output: 400}, modeltest.Fault{Kind: modeltest.Cut}), 1, 0},
		{"cut at the end", "m", turn(uzda.Usage{Input: 1000, Output: 400}, modeltest.Fault{Kind: modeltest.Cut, After: 99}), 1, 1000*3_000_000 + 400*15_000_000},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := modeltest.Serve(t, modeltest.Config{Turns: []modeltest.Turn{c.turn}})
			for range c.asks {
				post(t, s.URL+"/v1/messages", strings.Replace(wires[0].stream, `"m"`, `"`+c.model+`"`, 1))
			}
			if got := s.Bill(price); got != c.want {
				t.Errorf("%s, not %s; usage %+v", got, c.want, s.Asks()[0].Usage)
			}
		})
	}
}
