package window

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/uzda-dev/uzda"
)

// Advice is what would make a request smaller.
type Advice struct {
	What    string  `json:"what"`    // "3 reads of src/a.go"
	Tokens  int     `json:"tokens"`  // that it frees, about
	Percent float64 `json:"percent"` // of the same base as the report
	Do      string  `json:"do"`
}

// When something is worth advice, in percent of the base, and how much of it.
const (
	mostAdvice    = 5
	adviceFrom    = 1.0
	largeResult   = 10.0
	largeThinking = 10.0
	largeMedia    = 10.0
	largeSummary  = 15.0
	idleTools     = 3.0
	largeFixed    = 100.0 / 3
	recentReplies = 3 // whose results are not old
	enoughCalls   = 5 // to say of a tool that it is never called
)

// Advise says what would free most of the request that v is about, the largest
// first, at most five. r is what [Weigh] says of it.
func Advise(v uzda.View, r uzda.Weighed) []Advice {
	a := adviser{v: v, r: r, calls: map[uzda.UseID]uzda.ToolUse{}, used: map[string]int{}}
	a.read()
	a.repeats()
	a.large()
	a.old()
	a.heads()
	a.items()
	a.out = slices.DeleteFunc(a.out, func(x Advice) bool { return x.Percent < adviceFrom })
	slices.SortStableFunc(a.out, func(x, y Advice) int { return cmp.Compare(y.Tokens, x.Tokens) })
	return a.out[:min(len(a.out), mostAdvice)]
}

// An outcome is a result in the view.
type outcome struct {
	use    uzda.ToolUse
	tokens int
	old    bool // not of the last replies
}

type adviser struct {
	v       uzda.View
	r       uzda.Weighed
	calls   map[uzda.UseID]uzda.ToolUse
	used    map[string]int // calls by tool
	results []outcome
	whole   bool // no earlier message was replaced by a record of it
	out     []Advice
}

func (a *adviser) read() {
	a.whole = true
	var replies []int
	for i, e := range a.v.Entries {
		if _, ok := recordOf(e); ok {
			a.whole = false
		}
		if e.Message.Role == uzda.Assistant {
			replies = append(replies, i)
		}
	}
	recent := 0
	if len(replies) > recentReplies {
		recent = replies[len(replies)-recentReplies]
	}
	for i, e := range a.v.Entries {
		for _, b := range e.Message.Blocks {
			switch b := b.(type) {
			case uzda.ToolUse:
				a.calls[b.ID] = b
				a.used[b.Name]++
			case uzda.ToolResult:
				if isPlaceholder(b) {
					continue
				}
				a.results = append(a.results, outcome{a.calls[b.Use], a.scaled(sizeOfBlock(b)), i < recent})
			}
		}
	}
}

func (a *adviser) scaled(n int) int { return int(math.Round(float64(n) * a.r.Factor)) }

func (a *adviser) share(tokens int) float64 { return percent(float64(tokens), base(a.r)) }

func (a *adviser) add(tokens int, do, format string, args ...any) {
	a.out = append(a.out, Advice{What: fmt.Sprintf(format, args...), Tokens: tokens, Percent: a.share(tokens), Do: do})
}

// repeats finds results that a later one of the same call repeats.
func (a *adviser) repeats() {
	type group struct {
		first        uzda.ToolUse
		n, sum, last int
	}
	var order []string
	groups := map[string]*group{}
	for _, o := range a.results {
		if o.use.Name == "" || !readOnly(a.v.Head.Tools, o.use.Name) {
			continue
		}
		key := callKey(o.use)
		g := groups[key]
		if g == nil {
			g = &group{first: o.use}
			groups[key], order = g, append(order, key)
		}
		g.n, g.sum, g.last = g.n+1, g.sum+o.tokens, o.tokens
	}
	for _, key := range order {
		if g := groups[key]; g.n > 1 {
			a.add(g.sum-g.last, "the last one is enough", "%d %s", g.n, several(g.first))
		}
	}
}

func several(u uzda.ToolUse) string {
	if path := argument(u, "path"); path != "" && u.Name == "read_file" {
		return "reads of " + path
	}
	return "equal calls of " + u.Name
}

// argument is a member of a call's input that is a string.
func argument(u uzda.ToolUse, name string) string {
	var in map[string]json.RawMessage
	var s string
	if json.Unmarshal(u.Input, &in) != nil || json.Unmarshal(in[name], &s) != nil {
		return ""
	}
	return uzda.OneLine(s, 60)
}

// large finds single results that take much.
func (a *adviser) large() {
	for _, o := range a.results {
		if a.share(o.tokens) < largeResult {
			continue
		}
		about, do := cmp.Or(o.use.Name, "a tool"), "ask for less of it: a range, a narrower search, fewer rows"
		if path := argument(o.use, "path"); path != "" {
			about += " of " + path
		}
		a.add(o.tokens, do, "one result, %s of %s", string(o.use.ID), about)
	}
}

// old says so where most of the request is results that were worked through.
func (a *adviser) old() {
	sum, n := 0, 0
	for _, o := range a.results {
		if o.old {
			sum, n = sum+o.tokens, n+1
		}
	}
	if 2*sum > a.r.Total {
		do := "`uzda compact` clears them"
		if hasTool(a.v.Head, recallName) {
			do += "; the model can recall each"
		}
		a.add(sum, do, "%d old tool results, more than half of all", n)
	}
}

// heads looks at what no edit frees: tools and instructions.
func (a *adviser) heads() {
	called := 0
	for _, n := range a.used {
		called += n
	}
	judges := a.whole && called >= enoughCalls
	type part struct {
		name   string
		tokens int
		idle   bool
	}
	var parts, idle []part
	for _, t := range a.v.Head.Tools {
		p := part{toolName(t), a.scaled(sizeOfTool(t)), judges && a.used[t.Name] == 0 && !keeps(t.Name)}
		if parts = append(parts, p); p.idle {
			idle = append(idle, p)
		}
	}
	for _, it := range a.r.Items {
		if it.Name == Files {
			for _, f := range it.Parts {
				parts = append(parts, part{name: f.Name, tokens: f.Tokens})
			}
		}
	}
	list := func(ps []part) (text string, sum int) {
		slices.SortStableFunc(ps, func(x, y part) int { return cmp.Compare(y.tokens, x.tokens) })
		var names []string
		for i, p := range ps {
			if i == 3 {
				break
			}
			note := ""
			if p.idle {
				note = ", never used in this session"
			}
			names = append(names, fmt.Sprintf("%s (%s%s)", uzda.OneLine(p.name, 50), thousands(p.tokens), note))
			sum += p.tokens
		}
		return strings.Join(names, ", "), sum
	}
	fixed := a.r.Window > 0 && a.r.Fixed > largeFixed && len(parts) > 0
	if fixed {
		text, sum := list(parts)
		a.add(sum, "do without the largest, or make them shorter: "+text, "system prompt and tools, %.1f%% of the window", a.r.Fixed)
	}
	sum := 0
	for i := range idle {
		sum += idle[i].tokens
		idle[i].idle = false
	}
	if a.share(sum) >= idleTools {
		text, _ := list(idle)
		what := fmt.Sprintf("%d tools that were never called", len(idle))
		if len(idle) == 1 {
			what = "a tool that was never called"
		}
		a.add(sum, "leave them out of the agent's tools, the largest first: "+text, "%s", what)
	}
}

// keeps says that a tool is what a session remembers with: it is there for the day
// when it is needed.
func keeps(tool string) bool { return tool == "notes" || tool == "todo" || tool == recallName }

// items looks at what else a request is made of.
func (a *adviser) items() {
	size := map[string]uzda.Weight{}
	for _, it := range a.r.Items {
		size[it.Name] = it
	}
	if t := size[Thinking]; a.share(t.Tokens) >= largeThinking {
		a.add(t.Tokens, "a lower effort makes less of it; a compaction drops what is old", "the model's thinking")
	}
	pictures, n := size[Media].Tokens, size[Media].Count
	for _, e := range a.v.Entries {
		for _, r := range e.Message.Results() {
			for _, b := range r.Blocks {
				if m, ok := b.(uzda.Media); ok {
					pictures, n = pictures+a.scaled(sizeOfMedia(m)), n+1
				}
			}
		}
	}
	if a.share(pictures) >= largeMedia {
		what := fmt.Sprintf("%d pictures and other media", n)
		if n == 1 {
			what = "a picture, or another medium"
		}
		a.add(pictures, "smaller ones, or only the part that matters; clear those that were looked at", "%s", what)
	}
	record, facts := 0, 0
	for _, p := range size[Summary].Parts {
		if p.Name == "facts" {
			facts = p.Tokens
		} else {
			record = p.Tokens
		}
	}
	switch {
	case facts > record:
		a.add(facts, "a stronger model for summaries (context.model) keeps more of them itself", "facts that the summary had lost")
	case a.share(record+facts) >= largeSummary:
		a.add((record+facts)/2, "begin a new session for what comes next", "the summary of what was before")
	}
}
