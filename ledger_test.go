package uzda_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/uzda-dev/uzda"
)

func TestMoneyText(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		m    uzda.Money
		text string
	}{
		{0, "$0"}, {1, "$0.000000000001"}, {-1, "$-0.000000000001"}, {uzda.Dollar, "$1"}, {5 * uzda.Dollar / 2, "$2.5"},
		{-uzda.Dollar / 4, "$-0.25"}, {10 * uzda.Dollar, "$10"}, {123_456_789_012_345_678, "$123456.789012345678"},
		{math.MaxInt64, "$9223372.036854775807"}, {math.MinInt64, "$-9223372.036854775808"},
	} {
		if got := c.m.String(); got != c.text {
			t.Errorf("%d is %s, want %s", int64(c.m), got, c.text)
		}
	}
}

// Money is exact, as text and as JSON, there and back.
func TestMoneyExact(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		m := uzda.Money(r.Int64() >> r.IntN(63))
		if r.IntN(2) == 0 {
			m = -m
		}
		if back, err := uzda.ParseMoney(m.String()); err != nil || back != m {
			t.Fatalf("%s is read as %d, %v, want %d", m, back, err, m)
		}
		raw, err := json.Marshal(map[string]uzda.Money{"cost": m})
		if err != nil {
			t.Fatal(err)
		}
		var back map[string]uzda.Money
		if err := json.Unmarshal(raw, &back); err != nil || back["cost"] != m {
			t.Fatalf("%s is read as %d, %v, want %d", raw, back["cost"], err, m)
		}
	}
}

func TestParseMoney(t *testing.T) {
	t.Parallel()
	const none = math.MinInt64
	for text, want := range map[string]uzda.Money{
		"0.25": uzda.Dollar / 4, "$0.25": uzda.Dollar / 4, " 5 ": 5 * uzda.Dollar, "5.": 5 * uzda.Dollar, ".5": uzda.Dollar / 2,
		"-1.5": -3 * uzda.Dollar / 2, "3e-06": 3_000_000, "1.1e-6": 1_100_000, "2.5E-6": 2_500_000, "1e3": 1000 * uzda.Dollar,
		"7e-7": 700_000, "0.0000000000014": 1, "0.0000000000016": 2, "007": 7 * uzda.Dollar,
		"": none, "$": none, ".": none, "-": none, "five": none, "1,5": none, "1_000": none, "--1": none, "1.2.3": none, "NaN": none,
		"Inf": none, "1e30": none, "99999999999": none, "$-": none, "1 2": none, "0x10": none, "1.-5": none, "1.+5": none,
	} {
		got, err := uzda.ParseMoney(text)
		if want == none {
			if err == nil {
				t.Errorf("%q is read as %s", text, got)
			}
		} else if err != nil || got != want {
			t.Errorf("%q is read as %d, %v, want %d", text, got, err, want)
		}
	}
	var m uzda.Money = 7
	if err := json.Unmarshal([]byte("null"), &m); err != nil || m != 7 {
		t.Errorf("null: %d, %v", m, err)
	}
}

func FuzzParseMoney(f *testing.F) {
	for _, s := range []string{"0.25", "$5", "3e-06", "-0", "1.", ".1", "9223372.036854775807", "$-1.000000000001"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		m, err := uzda.ParseMoney(s)
		if err != nil {
			return
		}
		if again, err := uzda.ParseMoney(m.String()); err != nil || again != m {
			t.Errorf("%q is %s, which is read as %s, %v", s, m, again, err)
		}
	})
}

// case:B01: cost to 1e-9 of a dollar, against rational numbers.
func TestPrice(t *testing.T) {
	t.Parallel()
	price := uzda.Price{
		Input: 5 * uzda.Dollar, Output: 25 * uzda.Dollar, CacheRead: uzda.Dollar / 2,
		CacheWrite: 25 * uzda.Dollar / 4, CacheLong: 10 * uzda.Dollar,
	}
	// Anthropic's usage of the case: 3 in, 12,304 written, 550 out.
	if got, want := price.Of(uzda.Usage{Input: 3, CacheWrite: 12304, Output: 550}), uzda.Money(90_665_000_000); got != want {
		t.Errorf("cost %s, want %s", got, want)
	}
	r := rand.New(rand.NewPCG(3, 4))
	for range 500 {
		per := func() uzda.Money { return uzda.Money(r.IntN(100_000)) * uzda.Dollar / 1000 } // whole tenths of a cent
		p := uzda.Price{Input: per(), Output: per(), CacheRead: per(), CacheWrite: per(), CacheLong: per()}
		u := uzda.Usage{Input: r.IntN(1e6), Output: r.IntN(1e5), CacheRead: r.IntN(1e6), CacheWrite: r.IntN(1e6), CacheLong: r.IntN(1e5)}
		want := new(big.Rat)
		for _, part := range []struct {
			n int
			m uzda.Money
		}{{u.Input, p.Input}, {u.Output, p.Output}, {u.CacheRead, p.CacheRead}, {u.CacheWrite, p.CacheWrite}, {u.CacheLong, p.CacheLong}} {
			want.Add(want, new(big.Rat).SetFrac(big.NewInt(0).Mul(big.NewInt(int64(part.n)), big.NewInt(int64(part.m))), big.NewInt(1e6)))
		}
		off := new(big.Rat).Sub(want, new(big.Rat).SetInt64(int64(p.Of(u))))
		if off.Abs(off).Cmp(big.NewRat(1000, 1)) > 0 { // 1e-9 dollars
			t.Fatalf("%+v at %+v costs %s, off by %s", u, p, p.Of(u), off.FloatString(3))
		}
	}
	if got := price.Of(uzda.Usage{}); got != 0 {
		t.Errorf("nothing costs %s", got)
	}
}

func TestLimitsHaveDefaults(t *testing.T) {
	t.Parallel()
	want := uzda.Limits{
		Steps: 50, Calls: 200, Tokens: 2_000_000, Time: 30 * time.Minute, Cost: 5 * uzda.Dollar,
		Depth: 1, Children: 8, Repeat: 4, Continuations: 5, Rejections: 3, Output: 32_000,
	}
	if got := (uzda.Limits{}).OrDefault(); got != want {
		t.Errorf("defaults %+v, want %+v", got, want)
	}
	// No fuse can be taken out: what is negative is the default too.
	if got := (uzda.Limits{Steps: -1, Calls: -1, Tokens: -1, Time: -1, Cost: -1, Depth: -1, Children: -1, Repeat: -1, Continuations: -1, Rejections: -1, Output: -1}).OrDefault(); got != want {
		t.Errorf("without fuses %+v, want %+v", got, want)
	}
	own := uzda.Limits{Steps: 1, Calls: 2, Tokens: 3, Time: 4, Cost: 5, SessionCost: 6, DayCost: 7, Depth: 8, Children: 9, Repeat: 10, Continuations: 11, Rejections: 12, Output: 13}
	if got := own.OrDefault(); got != own {
		t.Errorf("own limits become %+v", got)
	}
}

func TestOverBudget(t *testing.T) {
	t.Parallel()
	err := fmt.Errorf("ask: %w", &uzda.OverBudget{Account: uzda.Account{Name: "turn:s/1", Limit: uzda.Dollar}, Settled: uzda.Dollar / 2, Held: uzda.Dollar / 4, Want: uzda.Dollar / 3})
	if !errors.Is(err, uzda.ErrBudget) {
		t.Error("an OverBudget is no ErrBudget")
	}
	if got, want := err.Error(), "ask: over budget: turn:s/1 has $0.5 of $1 spent and $0.25 held; $0.333333333333 more does not fit"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
