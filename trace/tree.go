package trace

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/uzda-dev/uzda"
)

// Drawing says how a tree is drawn.
type Drawing struct {
	Width int  // columns of the terminal; default 100, at least 60
	ASCII bool // no box drawing characters
}

type branches struct{ tee, last, pipe, gap string }

// Tree draws spans as a tree: name, seconds, tokens, dollars and status in
// columns. Spans may be in any order; one whose parent is missing is a root. A
// session with one turn is drawn as that turn.
func Tree(w io.Writer, spans []Span, d Drawing) error {
	sorted := append([]Span(nil), spans...)
	Sort(sorted)
	t := tree{spans: sorted, children: map[string][]int{}, marks: branches{"├─ ", "└─ ", "│  ", "   "}, ascii: d.ASCII}
	if d.ASCII {
		t.marks = branches{"|- ", "`- ", "|  ", "   "}
	}
	known := map[string]bool{}
	for _, s := range sorted {
		known[s.ID] = true
	}
	var roots []int
	for i, s := range sorted {
		if s.Parent == "" || !known[s.Parent] || s.Parent == s.ID {
			roots = append(roots, i)
		} else {
			t.children[s.Parent] = append(t.children[s.Parent], i)
		}
	}
	t.add("", []string{"SPAN", "SECONDS", "TOKENS", "DOLLARS", "STATUS"})
	for _, i := range roots {
		t.draw(i, "", "")
	}
	_, err := io.WriteString(w, t.render(max(cmp.Or(d.Width, 100), 60)))
	return err
}

type tree struct {
	spans    []Span
	children map[string][]int
	marks    branches
	rows     []row
	depth    int
	ascii    bool
}

type row struct {
	lead  string
	cells []string
}

func (t *tree) add(lead string, cells []string) { t.rows = append(t.rows, row{lead, cells}) }

// draw adds a span with lead before it, and what hangs under it with under.
func (t *tree) draw(i int, lead, under string) {
	if t.depth++; t.depth > 100 { // spans read from a file may form a ring
		t.depth--
		return
	}
	defer func() { t.depth-- }()
	s := t.spans[i]
	below := t.children[s.ID]
	if s.Attr[What] == "session" && len(below) == 1 && t.spans[below[0]].Attr[What] == "turn" {
		t.draw(below[0], lead, under)
		return
	}
	t.add(lead, []string{label(s), fmt.Sprintf("%.2f", s.Duration().Seconds()), number(s.Attr[Tokens]), dollars(s.Attr), state(s)})
	for n, child := range below {
		if n == len(below)-1 {
			t.draw(child, under+t.marks.last, under+t.marks.gap)
		} else {
			t.draw(child, under+t.marks.tee, under+t.marks.pipe)
		}
	}
}

// label is the name of a span, with what tells it from others of the name.
func label(s Span) string {
	more := ""
	switch s.Attr[What] {
	case "side":
		more, _ = s.Attr[For].(string)
	case "approval":
		more, _ = s.Attr[ToolName].(string)
	case "verify":
		more, _ = s.Attr[VerdictBy].(string)
	}
	if more == "" {
		return s.Name
	}
	return s.Name + " (" + more + ")"
}

func state(s Span) string {
	out := s.Status
	if code, ok := s.Attr[ErrorType].(string); ok && s.Status == Error {
		out += ": " + code
	}
	if on, ok := s.Attr[Waits].(string); ok && s.Status == Unfinished {
		out += ": waits for " + on
	}
	return out
}

func number(v any) string {
	var n int64
	switch v := v.(type) {
	case int:
		n = int64(v)
	case float64: // read from JSON
		n = int64(v)
	default:
		return ""
	}
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

func dollars(attr map[string]any) string {
	var v float64
	switch c := attr[Cost].(type) {
	case uzda.Money:
		v = c.Dollars()
	case float64:
		v = c
	default:
		return ""
	}
	s := fmt.Sprintf("%.4f", v)
	if v > 0 && v < 0.0001 {
		s = "<0.0001"
	}
	switch {
	case attr[CostUnknown] == true:
		return "unknown"
	case attr[LowerBound] == true:
		return ">=" + s
	}
	return s
}

func (t *tree) render(width int) string {
	cols := t.columns(width)
	var b strings.Builder
	for _, r := range t.rows {
		lead := r.lead
		if over := uzda.Columns(lead) - cols[0]/2; over > 0 { // very deep: keep the end of the lead
			lead = string([]rune(lead)[over:])
		}
		line := lead + t.cut(r.cells[0], cols[0]-uzda.Columns(lead))
		line += pad(cols[0] - uzda.Columns(line))
		for i, c := range r.cells[1:4] {
			line += "  " + pad(cols[i+1]-uzda.Columns(c)) + c
		}
		b.WriteString(strings.TrimRight(line+"  "+t.cut(r.cells[4], cols[4]), " ") + "\n")
	}
	return b.String()
}

// columns are the widths of the columns. Where room is short, the status gives
// way first, then the name; the numbers never.
func (t *tree) columns(width int) [5]int {
	var cols [5]int
	for _, r := range t.rows {
		for i, c := range r.cells {
			n := uzda.Columns(uzda.OneLine(c, 1<<20))
			if i == 0 {
				n += uzda.Columns(r.lead)
			}
			cols[i] = max(cols[i], n)
		}
	}
	room := width - cols[1] - cols[2] - cols[3] - 8
	if cols[0]+cols[4] > room {
		cols[4] = max(min(cols[4], 12), min(cols[4], room-cols[0]))
		cols[0] = max(min(cols[0], room-cols[4]), 16)
	}
	return cols
}

// cut fits text into n columns.
func (t *tree) cut(s string, n int) string {
	out := uzda.OneLine(s, n)
	if t.ascii && strings.HasSuffix(out, "…") {
		out = strings.TrimSuffix(out, "…") + "~"
	}
	return out
}

func pad(n int) string { return strings.Repeat(" ", max(n, 0)) }
