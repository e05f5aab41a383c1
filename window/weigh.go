package window

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/uzda-dev/uzda"
)

// Weigh says what fills the request that v is about: head, view and tail. Tokens
// are estimates times Factor, which comes from the usage of the last reply where
// v.Used has it, unless that is a lower bound or the view was edited since; else
// from v.Tokens where that rests on a count.
func Weigh(v uzda.View) uzda.Weighed {
	c := counter{names: map[uzda.UseID]string{}}
	c.head(v.Head, v.Tail)
	fixed := c.total - c.items[at(Tail)].tokens
	reply, question := lastReply(v.Entries), lastQuestion(v.Entries)
	sent := 0
	for i, e := range v.Entries {
		if i == reply {
			sent = c.total
		}
		c.entry(e, i == question)
	}
	r := uzda.Weighed{Ask: v.Ask, Window: v.Model.Window, Budget: v.Budget, Factor: 1}
	over := 0
	switch used := v.Used; {
	case used.Context() > 0 && !used.AtLeast && sent > 0 && !editedSince(v.Entries, reply):
		r.Factor, over, r.Calibrated = calibrate(used.Context(), sent)
	case v.Counted && v.Tokens > 0 && c.total > 0:
		r.Factor, over, r.Calibrated = calibrate(v.Tokens, c.total)
	}
	c.items[at(Overhead)].tokens = int(math.Round(float64(over) / r.Factor))
	c.fill(&r)
	r.Fixed = percent(float64(fixed)*r.Factor, cmp.Or(r.Window, r.Budget, r.Total))
	return r
}

// calibrate is what was counted over what was estimated, within bounds: what a
// provider adds to a short request would multiply what comes later. What the
// bounds leave of the count is over; the count is believed all the same.
func calibrate(counted, estimated int) (factor float64, over int, ok bool) {
	least, most := 0.25, 4.0
	if estimated < 1000 {
		least, most = 0.5, 2
	}
	factor = min(max(float64(counted)/float64(estimated), least), most)
	return factor, max(0, counted-int(math.Ceil(factor*float64(estimated)))), true
}

func percent(part float64, whole int) float64 {
	if whole <= 0 {
		return 0
	}
	return math.Round(part/float64(whole)*1e4) / 100
}

// lastReply is the place of the model's last message, -1 if there is none.
func lastReply(view []uzda.Entry) int {
	for i, e := range slices.Backward(view) {
		if e.Message.Role == uzda.Assistant {
			return i
		}
	}
	return -1
}

// lastQuestion is the place of the last message in which a user says something.
func lastQuestion(view []uzda.Entry) int {
	for i, e := range slices.Backward(view) {
		if e.Message.Role == uzda.User && slices.ContainsFunc(e.Message.Blocks, func(b uzda.Block) bool {
			t, ok := b.(uzda.Text)
			return ok && t.Text != ""
		}) {
			return i
		}
	}
	return -1
}

// editedSince says that an edit changed what the reply's request held.
func editedSince(view []uzda.Entry, reply int) bool {
	return slices.ContainsFunc(view, func(e uzda.Entry) bool { return e.Edit > view[reply].Seq })
}

// A tally is what an item or a part of it takes.
type tally struct {
	tokens, count int
	parts         map[string]*tally
}

// A counter adds up estimates by item and part.
type counter struct {
	items [13]tally // as Items has them
	total int
	names map[uzda.UseID]string // of the tools
}

// at is the place of an item.
func at(item string) int {
	switch item {
	case System:
		return 0
	case Files:
		return 1
	case Tools:
		return 2
	case Memory:
		return 3
	case Summary:
		return 4
	case History:
		return 5
	case Thinking:
		return 6
	case Calls:
		return 7
	case Results:
		return 8
	case Media:
		return 9
	case Question:
		return 10
	case Tail:
		return 11
	}
	return 12
}

func (c *counter) add(item, part string, tokens int) {
	if tokens == 0 {
		return
	}
	it := &c.items[at(item)]
	it.tokens, it.count, c.total = it.tokens+tokens, it.count+1, c.total+tokens
	if part == "" {
		return
	}
	if it.parts == nil {
		it.parts = map[string]*tally{}
	}
	p := it.parts[part]
	if p == nil {
		p = &tally{}
		it.parts[part] = p
	}
	p.tokens, p.count = p.tokens+tokens, p.count+1
}

func (c *counter) head(h uzda.Head, tail string) {
	own, files := 0, 0
	for _, f := range sections(h.System) {
		own, files = own+Estimate(h.System[files:f.from]), f.to
		c.add(Files, f.name, Estimate(h.System[f.from:f.to]))
	}
	c.add(System, "", own+Estimate(h.System[files:])+estimate(h.Params.Schema))
	for _, t := range h.Tools {
		c.add(Tools, toolName(t), sizeOfTool(t))
	}
	c.add(Tail, "", Estimate(tail))
}

// A section is a file whose instructions stand in a system prompt, with its tags:
// `<instructions file="AGENTS.md">` to `</instructions>`.
type section struct {
	name     string
	from, to int
}

func sections(system string) (out []section) {
	const begin, end = "<instructions file=", "\n</instructions>"
	for i := 0; ; {
		n := strings.Index(system[i:], begin)
		if n < 0 {
			break
		}
		i += n
		if quoted, err := strconv.QuotedPrefix(system[i+len(begin):]); err == nil && (i == 0 || system[i-1] == '\n') {
			name, _ := strconv.Unquote(quoted)
			out = append(out, section{cmp.Or(name, "(unnamed)"), i, len(system)})
		}
		i += len(begin)
	}
	for i := range out { // a file may itself hold what ends one
		if i+1 < len(out) {
			out[i].to = out[i+1].from
		}
		if n := strings.LastIndex(system[out[i].from:out[i].to], end); n >= 0 {
			out[i].to = out[i].from + n + len(end)
		}
	}
	return out
}

// toolName is the name of a tool, behind that of its server where it has one.
func toolName(t uzda.ToolSpec) string {
	name := cmp.Or(t.Name, "(unnamed)")
	if t.Source == "" || t.Source == "built-in" || t.Source == "go" || strings.HasPrefix(t.Source, "agent ") {
		return name
	}
	return t.Source + ": " + name
}

func (c *counter) entry(e uzda.Entry, question bool) {
	_, made := recordOf(e) // by a compaction or a handover
	for _, b := range e.Message.Blocks {
		n := sizeOfBlock(b)
		switch b := b.(type) {
		case uzda.Text:
			switch {
			case made && strings.HasPrefix(b.Text, recordHead):
				pins := Estimate(pinned(b.Text))
				c.add(Memory, "pinned", pins)
				c.add(Summary, "record", n-pins)
			case made && strings.HasPrefix(b.Text, factsBegin):
				c.add(Summary, "facts", n)
			case question:
				c.add(Question, "", n)
			default:
				c.add(History, "", n)
			}
		case uzda.Thinking:
			c.add(Thinking, "", n)
		case uzda.ToolUse:
			c.names[b.ID] = b.Name
			c.add(Calls, cmp.Or(b.Name, "(unnamed)"), n)
		case uzda.ToolResult:
			name, item := cmp.Or(c.names[b.Use], "(unknown)"), Results
			if keeps(name) {
				item = Memory
			}
			c.add(item, name, n)
		case uzda.Media:
			c.add(Media, cmp.Or(b.Type, "(unknown)"), n)
		case uzda.Opaque:
			c.add(History, "", n)
		}
	}
}

// pinned is what a record holds of notes and lists.
func pinned(record string) string {
	const end = "</pinned>"
	from, to := strings.Index(record, "<pinned title="), strings.LastIndex(record, end)
	if from < 0 || to < from {
		return ""
	}
	return record[from : to+len(end)]
}

// fill makes the report of what was counted.
func (c *counter) fill(r *uzda.Weighed) {
	scale := func(n int) int { return int(math.Round(float64(n) * r.Factor)) }
	for i, name := range Items() {
		t := c.items[i]
		if t.tokens == 0 {
			continue
		}
		w := uzda.Weight{Name: name, Tokens: scale(t.tokens), Count: t.count}
		sum := 0
		for part, p := range t.parts {
			w.Parts = append(w.Parts, uzda.Weight{Name: part, Tokens: scale(p.tokens), Count: p.count})
			sum += scale(p.tokens)
		}
		if len(t.parts) > 0 { // so that rounding loses nothing
			w.Tokens = sum
		}
		slices.SortFunc(w.Parts, func(a, b uzda.Weight) int {
			return cmp.Or(cmp.Compare(b.Tokens, a.Tokens), cmp.Compare(a.Name, b.Name))
		})
		r.Total += w.Tokens
		r.Items = append(r.Items, w)
	}
	whole := base(*r)
	for i := range r.Items {
		it := &r.Items[i]
		it.Percent = percent(float64(it.Tokens), whole)
		for j := range it.Parts {
			it.Parts[j].Percent = percent(float64(it.Parts[j].Tokens), whole)
		}
	}
	known := cmp.Or(r.Budget, r.Window)
	r.State, r.Percent = StateOf(r.Total, known), percent(float64(r.Total), known)
}

// base is what percentages are of.
func base(r uzda.Weighed) int { return cmp.Or(r.Budget, r.Window, r.Total) }
