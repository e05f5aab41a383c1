package window

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/uzda-dev/uzda"
)

// Drawing says how a report is drawn.
type Drawing struct {
	Width  int  // columns of the terminal; default 80, at least 40
	Colour bool // the terminal shows colours
	ASCII  bool // nothing beyond ASCII
	Advice []Advice
}

// Draw shows a report: a grid of a hundred cells, each a hundredth of the budget,
// a line an item beside it, the parts of the items below, how full all is, and the
// advice.
func Draw(w io.Writer, r uzda.Weighed, o Drawing) error {
	o.Width = max(cmp.Or(o.Width, 80), 40)
	p := picture{Drawing: o, r: r, cells: cells(r)}
	p.grid()
	p.parts()
	p.verdict()
	p.advice()
	_, err := io.WriteString(w, p.out.String())
	return err
}

// cells is how many of the hundred cells each item has; the last is what is free.
// An item that is there has one at least. Where more is used than there is room
// for, the cells are hundredths of what is used.
func cells(r uzda.Weighed) []int {
	whole := max(base(r), r.Total, 1)
	out, left := make([]int, len(r.Items)+1), 100
	rest := make([]float64, len(out))
	for i := range out {
		tokens := whole - r.Total
		if i < len(r.Items) {
			tokens = r.Items[i].Tokens
		}
		exact := 100 * float64(tokens) / float64(whole)
		out[i] = int(exact)
		if tokens > 0 && i < len(r.Items) {
			out[i] = max(out[i], 1)
		}
		rest[i] = exact - float64(out[i])
		left -= out[i]
	}
	for ; left != 0; left -= sign(left) { // to where a cell is missed most, from where it is missed least
		best := -1
		for i := range out {
			fair := left > 0 || out[i] > 1 || i == len(r.Items) && out[i] > 0
			if fair && (best < 0 || float64(sign(left))*(rest[i]-rest[best]) > 0) {
				best = i
			}
		}
		out[best] += sign(left)
		rest[best] -= float64(sign(left))
	}
	return out
}

func sign(n int) int { return cmp.Compare(n, 0) }

type picture struct {
	Drawing
	r     uzda.Weighed
	cells []int
	out   strings.Builder
}

// A style is how the cells of an item look: its letter, and its colour of the 256
// that terminals have.
type style struct {
	letter string
	colour int
}

func styleOf(item string) style {
	switch item {
	case System:
		return style{"S", 33}
	case Files:
		return style{"F", 44}
	case Tools:
		return style{"T", 141}
	case Memory:
		return style{"M", 178}
	case Summary:
		return style{"U", 208}
	case History:
		return style{"H", 71}
	case Thinking:
		return style{"K", 109}
	case Calls:
		return style{"C", 175}
	case Results:
		return style{"R", 167}
	case Media:
		return style{"D", 105}
	case Question:
		return style{"Q", 40}
	case Tail:
		return style{"L", 250}
	case Overhead:
		return style{"O", 131}
	}
	return style{"?", 244}
}

// mark is one cell of an item.
func (p *picture) mark(item string) string {
	s := styleOf(item)
	if p.Colour && !p.ASCII {
		s.letter = "■"
	}
	return p.paint(s.colour, s.letter)
}

func (p *picture) free() string {
	if p.ASCII {
		return "."
	}
	return p.paint(240, "·")
}

func (p *picture) paint(colour int, s string) string {
	if !p.Colour || s == "" {
		return s
	}
	return fmt.Sprintf("\x1b[38;5;%dm%s\x1b[0m", colour, s)
}

func (p *picture) strong(s string) string {
	if !p.Colour {
		return s
	}
	return "\x1b[1m" + s + "\x1b[0m"
}

func (p *picture) line(format string, args ...any) {
	p.out.WriteString(strings.TrimRight(fmt.Sprintf(format, args...), " ") + "\n")
}

// grid draws the cells with the items beside them, or below where there is no room.
func (p *picture) grid() {
	var marks []string
	for i, n := range p.cells {
		m := p.free()
		if i < len(p.r.Items) {
			m = p.mark(p.r.Items[i].Name)
		}
		marks = append(marks, slices.Repeat([]string{m}, n)...)
	}
	const gap, legend = 3, 38
	lines, row := p.legend(), 10
	if len(lines) <= 6 && p.Width >= 39+gap+legend {
		row = 20
	}
	beside := p.Width >= 2*row-1+gap+legend
	for i := 0; i < 100/row || beside && i < len(lines); i++ {
		left, right := strings.Repeat(" ", 2*row-1), ""
		if i < 100/row {
			left = strings.Join(marks[i*row:(i+1)*row], " ")
		}
		if beside && i < len(lines) {
			right = lines[i]
		}
		p.line("%s%s%s", left, strings.Repeat(" ", gap), right)
	}
	if !beside {
		p.line("")
		for _, l := range lines {
			p.line("%s", l)
		}
	}
}

// legend is a line an item: its mark, name, tokens and share.
func (p *picture) legend() (lines []string) {
	row := func(mark, name string, tokens int, share float64) {
		lines = append(lines, fmt.Sprintf("%s %s  %11s  %6.1f%%", mark, pad(uzda.OneLine(name, 13), 13), thousands(tokens), share))
	}
	whole := base(p.r)
	for _, it := range p.r.Items {
		row(p.mark(it.Name), it.Name, it.Tokens, it.Percent)
	}
	switch free := whole - p.r.Total; {
	case free > 0:
		row(p.free(), "free", free, percent(float64(free), whole))
	case free < 0:
		row("!", "too much", -free, percent(float64(-free), whole))
	}
	row(" ", "total", p.r.Total, percent(float64(p.r.Total), whole))
	return lines
}

// most is how many parts of an item are shown.
const most = 8

// parts shows what the items consist of, where that is more than their name.
func (p *picture) parts() {
	room, first := min(p.Width-24, 60), true
	row := func(indent, name string, w uzda.Weight) {
		if first {
			p.line("")
			first = false
		}
		p.line("%s%s  %11s  %6.1f%%", indent, pad(uzda.OneLine(name, room-len(indent)), room-len(indent)), thousands(w.Tokens), w.Percent)
	}
	for _, it := range p.r.Items {
		switch len(it.Parts) {
		case 0:
			continue
		case 1:
			row("", it.Name+": "+it.Parts[0].Name+p.times(it.Name, it.Parts[0].Count), it)
			continue
		}
		row("", it.Name, it)
		rest := uzda.Weight{}
		for i, part := range it.Parts {
			if i < most {
				row("  ", part.Name+p.times(it.Name, part.Count), part)
				continue
			}
			rest.Count, rest.Tokens, rest.Percent = rest.Count+1, rest.Tokens+part.Tokens, rest.Percent+part.Percent
		}
		if rest.Count > 0 {
			row("  ", fmt.Sprintf("and %d more", rest.Count), rest)
		}
	}
}

// times says of how many calls, results or pictures a part is the sum.
func (p *picture) times(item string, n int) string {
	if n < 2 || item == Tools || item == Files {
		return ""
	}
	if p.ASCII {
		return fmt.Sprintf(" x %d", n)
	}
	return fmt.Sprintf(" × %d", n)
}

// verdict says how full all is, and on what the numbers rest.
func (p *picture) verdict() {
	r := p.r
	p.line("")
	switch {
	case r.Budget > 0 && r.Window > r.Budget:
		p.wrap(0, "%s %.1f%% of the budget of %s tokens is used; the window has %s.", p.strong("state "+r.State+":"), r.Percent, thousands(r.Budget), thousands(r.Window))
	case r.Budget > 0 && r.Window == 0:
		p.wrap(0, "%s %.1f%% of the budget of %s tokens is used; the size of the model's window is not known.", p.strong("state "+r.State+":"), r.Percent, thousands(r.Budget))
	case r.State != Unknown:
		p.wrap(0, "%s %.1f%% of the window of %s tokens is used.", p.strong("state "+r.State+":"), r.Percent, thousands(base(r)))
	default:
		p.wrap(0, "%s the size of the model's window is not known; percentages are of what is used.", p.strong("state "+r.State+":"))
	}
	if over := r.Total - base(r); over > 0 {
		p.wrap(0, "%s %s tokens more than there is room for. A cell is a hundredth of what is used.", p.strong("Too full:"), thousands(over))
	} else {
		p.wrap(0, "A cell is %s tokens.", thousands(int(math.Round(float64(base(r))/100))))
	}
	if r.Calibrated {
		p.wrap(0, "Tokens are estimated, times %.2f as the provider counted.", r.Factor)
	} else {
		p.wrap(0, "Tokens are estimated, not yet calibrated by a reply.")
	}
	if FixedTooLarge(r) {
		p.wrap(0, "%s system prompt and tools alone take %.1f%% of the window: no turn can begin.", p.strong("Too large:"), r.Fixed)
	}
}

func (p *picture) advice() {
	if len(p.Advice) == 0 {
		return
	}
	p.line("")
	p.line("%s", p.strong("What would help"))
	for _, a := range p.Advice {
		p.wrap(10, "%8.1f%% %s (about %s tokens): %s", a.Percent, uzda.OneLine(a.What, 120), thousands(a.Tokens), uzda.OneLine(a.Do, 400))
	}
}

// wrap writes a text in lines that fit, the second and later ones indented.
func (p *picture) wrap(indent int, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	line := text[:len(text)-len(strings.TrimLeft(text, " "))]
	for _, word := range strings.Fields(text) {
		if room := p.Width - indent - 1; shown(word) > room {
			word = uzda.OneLine(word, room)
		}
		if shown(line)+1+shown(word) > p.Width && shown(line) > indent {
			p.line("%s", line)
			line = strings.Repeat(" ", indent)
		} else if strings.TrimSpace(line) != "" {
			word = " " + word
		}
		line += word
	}
	p.line("%s", line)
}

// shown is the number of columns of a text that may hold colours of ours.
func shown(s string) int {
	n := 0
	for {
		before, after, found := strings.Cut(s, "\x1b[")
		n += uzda.Columns(before)
		if !found {
			return n
		}
		_, s, _ = strings.Cut(after, "m")
	}
}

func pad(s string, n int) string { return s + strings.Repeat(" ", max(0, n-uzda.Columns(s))) }

func thousands(n int) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
