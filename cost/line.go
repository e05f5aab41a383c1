package cost

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/uzda-dev/uzda"
)

// A Line is what some calls used and cost together.
type Line struct {
	Key        string
	Calls      int        // that were sent, also those that broke
	Usage      uzda.Usage // in four parts: input, cache written (by its time), cache read, output
	Cost       uzda.Money // of the calls whose price is known
	LowerBound bool       // it cost at least Cost

	// Unknown counts the calls of models whose price is not known. AtDearest is
	// what they cost at the dearest price that is; it is no part of Cost.
	Unknown   int
	AtDearest uzda.Money

	// Lost counts the asks that nothing came back from, because of a crash or
	// because they are under way. Held, and HeldTokens, is the most that they can
	// cost; a budget counts it as spent. It is no part of Cost.
	Lost       int
	Held       uzda.Money
	HeldTokens int

	// Saved is what the input would have cost more without a cache; negative
	// where more was written than read. Models without a known price add nothing.
	Saved uzda.Money

	// Unsplit are tokens of children whose journals were not read, so that their
	// parts are not known.
	Unsplit int

	known int // calls with a known price
}

func (l *Line) add(c call) {
	if c.purpose == Lost {
		l.Lost, l.Held, l.HeldTokens = l.Lost+1, l.Held+c.held, l.HeldTokens+c.heldTokens
		l.LowerBound = l.LowerBound || !c.free
		l.Usage.AtLeast = true
		return
	}
	if c.purpose != Child {
		l.Calls++
	}
	l.Usage = l.Usage.Add(c.usage)
	l.Usage.AtLeast = l.Usage.AtLeast || c.bound
	l.LowerBound = l.LowerBound || (c.bound || c.unknown) && !c.free
	l.Saved += c.saved
	l.Unsplit += c.unsplit
	if c.unknown {
		l.Unknown++
		l.AtDearest += c.cost
		return
	}
	l.Cost += c.cost
	l.known++
}

// Priced says whether Cost says anything: false if there were calls, and no
// model among them had a known price.
func (l Line) Priced() bool { return l.known > 0 || l.Unknown == 0 }

type usageJSON struct {
	Input      int  `json:"input_tokens"`
	Output     int  `json:"output_tokens"`
	CacheRead  int  `json:"cache_read_tokens"`
	CacheWrite int  `json:"cache_write_tokens"`
	CacheLong  int  `json:"cache_write_1h_tokens,omitempty"` // part of CacheWrite
	AtLeast    bool `json:"at_least,omitempty"`
}

type lineJSON struct {
	Key        string      `json:"key,omitempty"`
	Calls      int         `json:"calls"`
	Usage      usageJSON   `json:"usage"`
	Cost       *uzda.Money `json:"cost_usd"` // null: no price is known
	LowerBound bool        `json:"cost_is_lower_bound"`
	Unknown    int         `json:"calls_of_unknown_price,omitempty"`
	AtDearest  uzda.Money  `json:"at_dearest_price_usd,omitempty"`
	Lost       int         `json:"lost_calls,omitempty"`
	Held       uzda.Money  `json:"held_usd,omitempty"`
	HeldTokens int         `json:"held_tokens,omitempty"`
	Saved      uzda.Money  `json:"saved_by_cache_usd"`
	Unsplit    int         `json:"unsplit_tokens,omitempty"`
}

func (l Line) json() lineJSON {
	u := l.Usage
	out := lineJSON{
		Key: l.Key, Calls: l.Calls, LowerBound: l.LowerBound, Unknown: l.Unknown, AtDearest: l.AtDearest,
		Lost: l.Lost, Held: l.Held, HeldTokens: l.HeldTokens, Saved: l.Saved, Unsplit: l.Unsplit,
		Usage: usageJSON{u.Input, u.Output, u.CacheRead, u.CacheWrite + u.CacheLong, u.CacheLong, u.AtLeast},
	}
	if l.Priced() {
		out.Cost = &l.Cost
	}
	return out
}

// MarshalJSON writes a line with the names of a run's JSON where they mean the
// same: usage with input_tokens (not cached), cost_usd (null where no price is
// known) and cost_is_lower_bound.
func (l Line) MarshalJSON() ([]byte, error) { return json.Marshal(l.json()) }

// MarshalJSON writes {"sessions","steps","tool_calls","duration_ms", the fields
// of the total line, "by":{"model":[…],"agent":[…],…}}.
func (r *Report) MarshalJSON() ([]byte, error) {
	by := map[Dimension][]Line{}
	for _, d := range Dimensions() {
		by[d] = r.By(d)
	}
	total := r.Total().json()
	total.Key = ""
	n := r.Counts()
	return json.Marshal(struct {
		Sessions int   `json:"sessions"`
		Steps    int   `json:"steps"`
		Tools    int   `json:"tool_calls"`
		MS       int64 `json:"duration_ms"`
		lineJSON
		By map[Dimension][]Line `json:"by"`
	}{n.Sessions, n.Steps, n.ToolCalls, n.Active.Milliseconds(), total, by})
}

// Counts are what sessions did.
type Counts struct {
	Sessions  int
	Steps     int
	ToolCalls int           // also those that were refused
	Active    time.Duration // while an ask or a use was open; waits are no part of it
}

// Counts returns what the sessions of the report did.
func (r *Report) Counts() Counts {
	var n Counts
	for _, s := range r.sessions {
		n.Sessions, n.Steps, n.ToolCalls, n.Active = n.Sessions+1, n.Steps+s.steps, n.ToolCalls+s.tools, n.Active+s.active
	}
	return n
}

// WriteText writes a table for each dimension, and the total, for a terminal.
// What is a lower bound has ">=" in front.
func (r *Report) WriteText(w io.Writer, by ...Dimension) error {
	total := r.Total()
	var b strings.Builder
	for _, d := range by {
		table(&b, string(d), append(r.By(d), total))
		b.WriteByte('\n')
	}
	if len(by) == 0 {
		table(&b, "", []Line{total})
		b.WriteByte('\n')
	}
	total.notes(&b)
	_, err := io.WriteString(w, b.String())
	return err
}

func table(b *strings.Builder, head string, lines []Line) {
	rows := [][]string{{strings.ToUpper(head), "CALLS", "INPUT", "WRITE 5M", "WRITE 1H", "CACHE READ", "OUTPUT", "COST"}}
	for _, l := range lines {
		u := l.Usage
		bound := ""
		if u.AtLeast {
			bound = ">="
		}
		row := []string{uzda.OneLine(l.Key, 40), thousands(l.Calls)}
		for _, n := range []int{u.Input, u.CacheWrite, u.CacheLong, u.CacheRead, u.Output} {
			row = append(row, bound+thousands(n))
		}
		rows = append(rows, append(row, l.cost()))
	}
	width := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			width[i] = max(width[i], uzda.Columns(cell))
		}
	}
	for _, row := range rows {
		for i, cell := range row {
			pad := strings.Repeat(" ", width[i]-uzda.Columns(cell))
			if i == 0 {
				b.WriteString(cell + pad)
			} else {
				b.WriteString("  " + pad + cell)
			}
		}
		b.WriteByte('\n')
	}
}

// cost is the cost as shown.
func (l Line) cost() string {
	if !l.Priced() {
		return "unknown"
	}
	s := dollars(l.Cost)
	if l.LowerBound {
		s = ">=" + s
	}
	return s
}

func (l Line) notes(b *strings.Builder) {
	if l.Unknown > 0 {
		fmt.Fprintf(b, "%s of models whose price is not known; at the dearest known price they cost %s.\n", plural(l.Unknown, "call"), dollars(l.AtDearest))
	}
	if l.Lost > 0 {
		fmt.Fprintf(b, "%s without an answer (a crash, or still under way): at most %s and %s tokens, held in budgets.\n", plural(l.Lost, "ask"), dollars(l.Held), thousands(l.HeldTokens))
	}
	if l.Unsplit > 0 {
		fmt.Fprintf(b, "%s tokens were used by children whose journals were not read; their cost is part of the total.\n", thousands(l.Unsplit))
	}
	switch {
	case l.Saved > 0:
		fmt.Fprintf(b, "Caching saved %s compared with no cache.\n", dollars(l.Saved))
	case l.Saved < 0:
		fmt.Fprintf(b, "Caching cost %s more than no cache: more was written than read.\n", dollars(-l.Saved))
	}
}

// dollars rounds for people; what is not nothing never looks like nothing.
func dollars(m uzda.Money) string {
	if m > 0 && m < uzda.Dollar/10_000 {
		return "<$0.0001"
	}
	return fmt.Sprintf("$%.4f", m.Dollars())
}

func thousands(n int) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

func plural(n int, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%s %ss", thousands(n), one)
}

// Sessions returns the ids of the sessions that were read, sorted.
func (r *Report) Sessions() []uzda.SessionID { return slices.Sorted(maps.Keys(r.sessions)) }
