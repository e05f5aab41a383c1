package uzda

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Money is an amount in picodollars (10⁻¹² US dollars), so that a token's price
// is a whole number. As JSON it is a decimal number of dollars.
type Money int64

// Dollar is one US dollar.
const Dollar Money = 1_000_000_000_000

// Dollars returns the amount as a float, for display and comparison only.
func (m Money) Dollars() float64 { return float64(m) / float64(Dollar) }

// String returns the amount as "$0.0123".
func (m Money) String() string { return "$" + m.decimal() }

func (m Money) decimal() string { return string(m.append(nil)) }

// append writes dollars with up to twelve places, as few as say it exactly.
func (m Money) append(dst []byte) []byte {
	n := uint64(m)
	if m < 0 {
		dst, n = append(dst, '-'), -n
	}
	dst = strconv.AppendUint(dst, n/uint64(Dollar), 10)
	rest := n % uint64(Dollar)
	if rest == 0 {
		return dst
	}
	at := len(dst)
	dst = strconv.AppendUint(dst, uint64(Dollar)+rest, 10) // its 1 gives way to the point
	dst[at] = '.'
	return bytes.TrimRight(dst, "0")
}

// MarshalJSON writes a decimal number of dollars, exactly.
func (m Money) MarshalJSON() ([]byte, error) { return m.append(nil), nil }

// UnmarshalJSON reads a decimal number of dollars, up to twelve places exactly.
func (m *Money) UnmarshalJSON(raw []byte) error {
	if string(raw) == "null" {
		return nil
	}
	v, err := ParseMoney(string(raw))
	*m = v
	return err
}

// ParseMoney reads dollars as a decimal number, with or without "$". Up to twelve
// places are read exactly, more and powers of ten are rounded.
func ParseMoney(s string) (Money, error) {
	t := strings.TrimPrefix(strings.TrimSpace(s), "$")
	if m, ok := plainMoney(t); ok {
		return m, nil
	}
	f, err := strconv.ParseFloat(t, 64)
	if err != nil || !(f > -9e6 && f < 9e6) || strings.ContainsAny(t, "_xX") {
		return 0, fmt.Errorf("read %q as dollars: want a number such as 0.25", s)
	}
	return Money(math.Round(f * float64(Dollar))), nil
}

// plainMoney reads digits with a point.
func plainMoney(s string) (Money, bool) {
	digits, neg := strings.CutPrefix(s, "-")
	whole, frac, _ := strings.Cut(digits, ".")
	if whole+frac == "" || len(frac) > 12 || strings.Trim(whole+frac, "0123456789") != "" {
		return 0, false
	}
	n, err := strconv.ParseInt(whole+(frac + "000000000000")[:12], 10, 64)
	if neg {
		n = -n
	}
	return Money(n), err == nil
}

// A Price is what a model costs, in dollars per million tokens, from a size of
// the context on. Sources of prices are data (see package cost).
type Price struct {
	Above      int   `json:"above_tokens,omitempty"` // this tier holds above that context size
	Input      Money `json:"in"`
	Output     Money `json:"out"`
	CacheRead  Money `json:"cache_read"`
	CacheWrite Money `json:"cache_write_5m"`
	CacheLong  Money `json:"cache_write_1h"`
}

// maxCount is more tokens than any call has; a provider that says more is wrong.
const maxCount = 1 << 30

// Of returns what u costs at p, exactly. Counts that no call can have are taken for
// less, so that the sum is one.
func (p Price) Of(u Usage) Money {
	const million = 1_000_000
	mul := func(n int, price Money) Money { return Money(min(max(n, 0), maxCount)) * (price / million) }
	return mul(u.Input, p.Input) + mul(u.Output, p.Output) + mul(u.CacheRead, p.CacheRead) +
		mul(u.CacheWrite, p.CacheWrite) + mul(u.CacheLong, p.CacheLong)
}

// A Pricer knows prices by model id. For a model that it does not know it
// returns the dearest price that it knows, and false.
type Pricer interface {
	Price(model string, context int) (p Price, known bool)
}

// Limits are the fuses of a turn, counted with its descendants; zero means the
// default, which no fuse is without.
type Limits struct {
	Steps         int           `json:"steps,omitempty"`         // asks of the model; default 50
	Calls         int           `json:"calls,omitempty"`         // tool uses, failed ones too; default 200
	Tokens        int           `json:"tokens,omitempty"`        // in, out and cached; default 2,000,000
	Time          time.Duration `json:"time,omitempty"`          // nanoseconds while an ask or a use is open; default 30 minutes
	Cost          Money         `json:"cost,omitempty"`          // default 5 dollars
	SessionCost   Money         `json:"session_cost,omitempty"`  // of all turns; default none
	DayCost       Money         `json:"day_cost,omitempty"`      // of all sessions of a day in UTC; default none
	Depth         int           `json:"depth,omitempty"`         // of children; default 1
	Children      int           `json:"children,omitempty"`      // of a turn; default 8
	Repeat        int           `json:"repeat,omitempty"`        // equal steps before the model is told; one more ends the turn; default 4
	Continuations int           `json:"continuations,omitempty"` // of paused replies; default 5
	Rejections    int           `json:"rejections,omitempty"`    // failed verifications; default 3
	Output        int           `json:"output,omitempty"`        // bytes of a tool's result that the model sees; default 32,000
}

// OrDefault fills what is zero.
func (l Limits) OrDefault() Limits {
	or := func(v *int, d int) {
		if *v <= 0 {
			*v = d
		}
	}
	or(&l.Steps, 50)
	or(&l.Calls, 200)
	or(&l.Tokens, 2_000_000)
	or(&l.Depth, 1)
	or(&l.Children, 8)
	or(&l.Repeat, 4)
	or(&l.Continuations, 5)
	or(&l.Rejections, 3)
	or(&l.Output, 32_000)
	if l.Time <= 0 {
		l.Time = 30 * time.Minute
	}
	if l.Cost <= 0 {
		l.Cost = 5 * Dollar
	}
	return l
}

// An Account is a cap that a hold counts against, for example a turn's, named
// "turn:SESSION/SEQ".
type Account struct {
	Name  string `json:"name"`
	Limit Money  `json:"limit"` // 0: counted, without a cap
}

// A Hold reserves the worst case of a paid call before it is sent. It counts as
// spent until it is settled, so that one that a crash left behind is never free.
type Hold struct {
	ID       string    `json:"id"` // unique in the store
	Accounts []Account `json:"accounts"`
	Amount   Money     `json:"amount"`
}

// A Settlement replaces a hold by what was spent. Only the first one counts.
type Settlement struct {
	ID    string `json:"id"`
	Spent Money  `json:"spent"`
}

// A Ledger keeps the holds of a store, across sessions and processes. A store
// that is one also honours [At.Reserve] and [At.Settle], in one transaction
// with the append where it can.
type Ledger interface {
	// Reserve holds h in all its accounts or in none: then the error is *OverBudget.
	Reserve(ctx context.Context, h Hold) error
	// Settle replaces a hold; one that is not there is an error.
	Settle(ctx context.Context, s Settlement) error
	// Spent is what an account has settled, and what is held in it.
	Spent(ctx context.Context, account string) (settled, held Money, err error)
}

// OverBudget says which account a hold did not fit into.
type OverBudget struct {
	Account       Account
	Settled, Held Money
	Want          Money
}

func (o *OverBudget) Error() string {
	return fmt.Sprintf("over budget: %s has %s of %s spent and %s held; %s more does not fit",
		o.Account.Name, o.Settled, o.Account.Limit, o.Held, o.Want)
}

// Is makes every OverBudget an [ErrBudget].
func (o *OverBudget) Is(target error) bool { return target == ErrBudget }

// ErrBudget: a hold did not fit. Nothing was reserved or written.
var ErrBudget = errors.New("over budget")
