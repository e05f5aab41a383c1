// Package window says what fills a model's window.
package window

import (
	"bytes"
	"cmp"
	"fmt"
	"image"
	_ "image/gif" // their sizes are read
	_ "image/jpeg"
	_ "image/png"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/uzda-dev/uzda"
)

// State says how full a window is.
type State string

// The states. From Warning on a compaction is planned, from Hard on it is due.
const (
	OK      State = "ok"
	Warning State = "warning" // from 0.70 of the window
	Hard    State = "hard"    // from 0.85
	Unknown State = "unknown" // the size of the window is not known
)

// Where the states begin, as shares of the window, and the share that system
// prompt and tools alone must not pass.
const (
	WarningAt = 0.70
	HardAt    = 0.85
	FixedAt   = 0.50
)

// The items, in the order of a request.
const (
	System   = "system"
	Tools    = "tools"
	History  = "history" // what user and model said
	Thinking = "thinking"
	Calls    = "tool calls"
	Results  = "tool results"
	Media    = "media"
	Question = "question" // the last that the user said
	Tail     = "tail"
)

// An Item is a part of the window.
type Item struct {
	Name     string  `json:"item"`
	Tokens   int     `json:"tokens"`
	Percent  float64 `json:"percent"` // of the window; of the total, where the window is not known
	Messages int     `json:"count,omitempty"`
	Parts    []Item  `json:"parts,omitempty"` // per tool, the largest first

	estimate int
	parts    map[string]*Item
}

// A Report is what fills the window. Items are estimates times Factor.
type Report struct {
	Items   []Item  `json:"items"`
	Total   int     `json:"total"`
	Window  int     `json:"window"` // 0: not known
	Percent float64 `json:"percent"`
	State   State   `json:"state"`
	// Factor is what the provider counted over what was estimated for the same
	// request, within 0.25 and 4 (0.5 and 2 under 1,000 tokens); Calibrated says
	// that there was such a count.
	Factor     float64 `json:"factor"`
	Calibrated bool    `json:"calibrated"`
	// Fixed is the percentage of system and tools, which no edit of the view frees.
	Fixed float64 `json:"fixed_percent"`
}

// FixedTooLarge says that system prompt and tools alone take over half the
// window: a turn should not begin.
func (r Report) FixedTooLarge() bool { return r.Window > 0 && r.Fixed > 100*FixedAt }

// Breakdown says what fills the window of the next request: head, view and tail.
// used is the usage of the last reply in the view; with it the estimates are
// calibrated, unless it is a lower bound or the view was edited since. Where
// another model or head has been chosen since, pass none.
func Breakdown(head uzda.Head, view []uzda.Entry, tail string, used uzda.Usage, info uzda.ModelInfo) Report {
	c := counter{names: map[uzda.UseID]string{}, items: map[string]*Item{}}
	c.head(head, tail)
	fixed := c.sum()
	sent, counted := 0, false
	last, question := lastReply(view), lastQuestion(view)
	for i, e := range view {
		if i == last {
			sent, counted = c.sum(), true
		}
		c.entry(e.Message, i == question)
	}
	r := Report{Window: info.Window, Factor: 1}
	if counted && used.Context() > 0 && !used.AtLeast && sent > 0 && !editedSince(view, last) {
		r.Factor, r.Calibrated = factor(used.Context(), sent), true
	}
	r.fill(c)
	fixedTokens := float64(fixed-c.items[Tail].estimate) * r.Factor
	r.Fixed = percent(fixedTokens, cmp.Or(r.Window, r.Total))
	return r
}

// factor is what was counted over what was estimated, within bounds: what a
// provider adds to a short request would multiply what comes later.
func factor(counted, estimated int) float64 {
	f := float64(counted) / float64(estimated)
	if estimated < 1000 {
		return min(max(f, 0.5), 2)
	}
	return min(max(f, 0.25), 4)
}

func (r *Report) fill(c counter) {
	scale := func(n int) int { return int(math.Round(float64(n) * r.Factor)) }
	for _, name := range []string{System, Tools, History, Thinking, Calls, Results, Media, Question, Tail} {
		it := c.items[name]
		if it == nil || it.estimate == 0 && name != Tail {
			continue
		}
		it.Tokens = scale(it.estimate)
		for _, p := range it.parts {
			p.Tokens = scale(p.estimate)
			it.Parts = append(it.Parts, *p)
		}
		slices.SortFunc(it.Parts, func(a, b Item) int {
			return cmp.Or(cmp.Compare(b.Tokens, a.Tokens), cmp.Compare(a.Name, b.Name))
		})
		r.Total += it.Tokens
		if it.estimate > 0 {
			r.Items = append(r.Items, *it)
		}
	}
	base := cmp.Or(r.Window, r.Total)
	for i := range r.Items {
		r.Items[i].Percent = percent(float64(r.Items[i].Tokens), base)
		for j := range r.Items[i].Parts {
			r.Items[i].Parts[j].Percent = percent(float64(r.Items[i].Parts[j].Tokens), base)
		}
	}
	r.State = Unknown
	if r.Window > 0 {
		r.Percent = percent(float64(r.Total), r.Window)
		r.State = StateOf(r.Total, r.Window)
	}
}

// StateOf says how full a window of a size is.
func StateOf(tokens, window int) State {
	switch full := float64(tokens) / float64(window); {
	case window <= 0:
		return Unknown
	case full >= HardAt:
		return Hard
	case full >= WarningAt:
		return Warning
	}
	return OK
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
		if e.Message.Role == uzda.User && e.Message.String() != "" {
			return i
		}
	}
	return -1
}

// editedSince says that an edit changed what the reply's request held.
func editedSince(view []uzda.Entry, reply int) bool {
	return slices.ContainsFunc(view, func(e uzda.Entry) bool { return e.Edit > view[reply].Seq })
}

// counter adds up estimates by item and tool.
type counter struct {
	items map[string]*Item
	names map[uzda.UseID]string
}

func (c *counter) add(item, part string, tokens int) {
	it := c.items[item]
	if it == nil {
		it = &Item{Name: item, parts: map[string]*Item{}}
		c.items[item] = it
	}
	it.estimate += tokens
	it.Messages++
	if part == "" {
		return
	}
	p := it.parts[part]
	if p == nil {
		p = &Item{Name: part}
		it.parts[part] = p
	}
	p.estimate += tokens
	p.Messages++
}

func (c *counter) sum() int {
	n := 0
	for _, it := range c.items {
		n += it.estimate
	}
	return n
}

// What a provider puts around things: roles, names of fields, marks of blocks.
const (
	aroundMessage = 4
	aroundCall    = 8
	aroundTool    = 12
)

func (c *counter) head(h uzda.Head, tail string) {
	c.add(System, "", Estimate(h.System))
	for _, t := range h.Tools {
		c.add(Tools, cmp.Or(t.Name, "(unnamed)"), aroundTool+Estimate(t.Name)+Estimate(t.Description)+Estimate(string(t.Input)))
	}
	if len(h.Params.Schema) > 0 {
		c.add(System, "", Estimate(string(h.Params.Schema)))
	}
	c.add(Tail, "", Estimate(tail))
}

func (c *counter) entry(m uzda.Message, question bool) {
	for _, b := range m.Blocks {
		switch b := b.(type) {
		case uzda.Text:
			item := History
			if question {
				item = Question
			}
			c.add(item, "", aroundMessage+Estimate(b.Text))
		case uzda.Thinking:
			c.add(Thinking, "", aroundMessage+Estimate(b.Text))
		case uzda.ToolUse:
			c.names[b.ID] = b.Name
			c.add(Calls, cmp.Or(b.Name, "(unnamed)"), aroundCall+Estimate(b.Name)+Estimate(string(b.Input)))
		case uzda.ToolResult:
			c.result(b)
		case uzda.Media:
			c.add(Media, cmp.Or(b.Type, "(unknown)"), mediaTokens(b))
		case uzda.Opaque:
			c.add(History, "", aroundMessage+len(b.Raw)/4)
		}
	}
}

func (c *counter) result(r uzda.ToolResult) {
	n := aroundCall
	for _, b := range r.Blocks {
		switch b := b.(type) {
		case uzda.Text:
			n += Estimate(b.Text)
		case uzda.Media:
			n += mediaTokens(b)
		case uzda.Opaque:
			n += len(b.Raw) / 4
		}
	}
	c.add(Results, cmp.Or(c.names[r.Use], "(unknown)"), n)
}

// mediaTokens follows the usual rule for pictures, width times height over 750
// and at most 1,600; other media are counted by their bytes, roughly.
func mediaTokens(m uzda.Media) int {
	const most = 1600
	if strings.HasPrefix(m.Type, "image/") {
		conf, _, err := image.DecodeConfig(bytes.NewReader(m.Data))
		if err != nil {
			return most
		}
		return min(max(conf.Width*conf.Height/750, 1), most)
	}
	return len(m.Data)/8 + aroundMessage
}

// WriteText writes a line an item: name, tokens, percent of all that is used, and
// a bar; then the total, how full the window is, and the state. width is that of
// the terminal in columns, 0 for 80.
func (r Report) WriteText(w io.Writer, width int) error {
	type row struct{ name, tokens, percent, bar string }
	room := max(cmp.Or(width, 80)-47, 8)
	bar := func(tokens, of int) string {
		return strings.Repeat("#", min(int(math.Ceil(float64(tokens)*float64(room)/float64(max(of, 1)))), room))
	}
	share := func(tokens int) string { return fmt.Sprintf("%.1f%%", percent(float64(tokens), r.Total)) }
	var rows []row
	for _, it := range r.Items {
		rows = append(rows, row{uzda.OneLine(it.Name, 24), thousands(it.Tokens), share(it.Tokens), bar(it.Tokens, r.Total)})
		for _, p := range it.Parts {
			rows = append(rows, row{"  " + uzda.OneLine(p.Name, 22), thousands(p.Tokens), share(p.Tokens), ""})
		}
	}
	rows = append(rows, row{"total", thousands(r.Total), share(r.Total), ""})
	if r.Window > 0 {
		full := bar(r.Total, r.Window)
		rows = append(rows, row{"window", thousands(r.Window), fmt.Sprintf("%.1f%%", r.Percent), full + strings.Repeat(".", room-len(full))})
	}
	var b strings.Builder
	for _, x := range rows {
		b.WriteString(strings.TrimRight(fmt.Sprintf("%s%s  %10s  %7s  %s", x.name, strings.Repeat(" ", 24-uzda.Columns(x.name)), x.tokens, x.percent, x.bar), " ") + "\n")
	}
	if r.Window > 0 {
		fmt.Fprintf(&b, "state %s: %.1f%% of the window is used", r.State, r.Percent)
	} else {
		b.WriteString("state unknown: the size of the model's window is not known")
	}
	if r.Calibrated {
		fmt.Fprintf(&b, "; estimated, times %.2f as the provider counted the last request\n", r.Factor)
	} else {
		b.WriteString("; estimated, not yet calibrated by a reply\n")
	}
	if r.FixedTooLarge() {
		fmt.Fprintf(&b, "system and tools alone take %.1f%% of the window: no turn should begin\n", r.Fixed)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func thousands(n int) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
