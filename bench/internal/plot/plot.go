// Package plot draws curves as SVG: panels on one white sheet, so that they look the
// same on light pages and dark ones.
package plot

import (
	"fmt"
	"html"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
)

// A Series is one curve, or a cloud of dots.
type Series struct {
	Name string // for the legend, where a panel has several
	X, Y []float64
	Dots bool
}

// A Band is a stretch of the x axis that is shaded.
type Band struct{ From, To float64 }

// A Panel is one pair of axes. The y axis begins at 0.
type Panel struct {
	Title  string // with the unit of y
	X      string // what x is, with its unit
	Series []Series
	Bands  []Band
}

// A Sheet is panels under a title.
type Sheet struct {
	Title   string
	Note    string // under the title
	Columns int
	Panels  []Panel
}

// Sizes in pixels.
const (
	panelW, panelH = 380, 150
	gapX, gapY     = 76, 82
	left, top      = 66, 104
)

// Colours that people tell apart who see few (Okabe and Ito).
func colours() []string { return []string{"#0072B2", "#D55E00", "#009E73", "#CC79A7"} }

// Draw writes a sheet.
func Draw(w io.Writer, s Sheet) error {
	rows := (len(s.Panels) + s.Columns - 1) / s.Columns
	width, height := left+s.Columns*(panelW+gapX)-gapX+24, top+rows*(panelH+gapY)-gapY/2+10
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" font-family="system-ui, sans-serif" font-size="12">`+"\n", width, height, width, height)
	fmt.Fprintf(&b, `<rect width="%d" height="%d" fill="#fff"/>`+"\n", width, height)
	b.WriteString(Text(left, 26, "start", "#222", `font-size="16" font-weight="600"`, s.Title))
	b.WriteString(Text(left, 46, "start", "#555", "", s.Note))
	for i, p := range s.Panels {
		p.draw(&b, left+i%s.Columns*(panelW+gapX), top+i/s.Columns*(panelH+gapY))
	}
	b.WriteString("</svg>\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// Text is a line of text; anchor is start, middle or end.
func Text(x, y int, anchor, colour, more, s string) string {
	return fmt.Sprintf(`<text x="%d" y="%d" text-anchor="%s" fill="%s" %s>%s</text>`+"\n", x, y, anchor, colour, more, html.EscapeString(s))
}

func (p Panel) draw(b *strings.Builder, x, y int) {
	var xs, ys []float64
	for _, s := range p.Series {
		xs, ys = append(xs, s.X...), append(ys, s.Y...)
	}
	for _, band := range p.Bands {
		xs = append(xs, band.From, band.To)
	}
	if len(xs) == 0 || len(ys) == 0 {
		b.WriteString(Text(x, y-10, "start", "#222", `font-weight="600"`, p.Title))
		b.WriteString(Text(x, y+panelH/2, "start", "#555", "", "not known on this system"))
		return
	}
	across := scale{from: min(0, slices.Min(xs)), to: slices.Max(xs)}
	up := scale{to: slices.Max(ys) * 1.06}
	p.frame(b, x, y, across, up)
	for i, s := range p.Series {
		colour := colours()[i%len(colours())]
		s.draw(b, colour, func(v float64) float64 { return float64(x) + panelW*across.share(v) }, func(v float64) float64 { return float64(y) + panelH*(1-up.share(v)) })
		if len(p.Series) > 1 {
			at := x + panelW - 96*(len(p.Series)-i)
			fmt.Fprintf(b, `<rect x="%d" y="%d" width="12" height="4" fill="%s"/>`+"\n", at, y-15, colour)
			b.WriteString(Text(at+17, y-10, "start", "#222", "", s.Name))
		}
	}
}

func (p Panel) frame(b *strings.Builder, x, y int, across, up scale) {
	b.WriteString(Text(x, y-10, "start", "#222", `font-weight="600"`, p.Title))
	for _, band := range p.Bands {
		from, to := panelW*across.share(band.From), panelW*across.share(band.To)
		fmt.Fprintf(b, `<rect x="%.1f" y="%d" width="%.1f" height="%d" fill="#f0f0f0"/>`+"\n", float64(x)+from, y, to-from, panelH)
	}
	for _, v := range up.ticks(4) {
		at := y + int(panelH*(1-up.share(v)))
		fmt.Fprintf(b, `<line x1="%d" y1="%d" x2="%d" y2="%d" stroke="#ddd"/>`+"\n", x, at, x+panelW, at)
		b.WriteString(Text(x-6, at+4, "end", "#555", "", Number(v)))
	}
	for _, v := range across.ticks(6) {
		b.WriteString(Text(x+int(panelW*across.share(v)), y+panelH+17, "middle", "#555", "", Number(v)))
	}
	b.WriteString(Text(x+panelW, y+panelH+33, "end", "#555", "", p.X))
}

func (s Series) draw(b *strings.Builder, colour string, x, y func(float64) float64) {
	if s.Dots {
		for i := range s.X {
			fmt.Fprintf(b, `<circle cx="%.1f" cy="%.1f" r="2" fill="%s" fill-opacity="0.6"/>`+"\n", x(s.X[i]), y(s.Y[i]), colour)
		}
		return
	}
	points := make([]string, len(s.X))
	for i := range s.X {
		points[i] = fmt.Sprintf("%.1f,%.1f", x(s.X[i]), y(s.Y[i]))
	}
	fmt.Fprintf(b, `<polyline points="%s" fill="none" stroke="%s" stroke-width="1.6" stroke-linejoin="round"/>`+"\n", strings.Join(points, " "), colour)
}

// scale is one axis.
type scale struct{ from, to float64 }

// share is where a value lies, from 0 to 1.
func (s scale) share(v float64) float64 {
	if s.to <= s.from {
		return 0
	}
	return (v - s.from) / (s.to - s.from)
}

// ticks are round values, about as many as asked for.
func (s scale) ticks(about int) (out []float64) {
	span := s.to - s.from
	if span <= 0 {
		return []float64{s.from}
	}
	step := math.Pow(10, math.Floor(math.Log10(span/float64(about))))
	for _, m := range []float64{1, 2, 5, 10} {
		if span/(step*m) <= float64(about)+0.5 {
			step *= m
			break
		}
	}
	for i := math.Ceil(s.from / step); i*step <= s.to; i++ {
		out = append(out, i*step)
	}
	return out
}

// Number is a value as it stands at an axis.
func Number(v float64) string {
	text := strconv.FormatFloat(v, 'g', 6, 64)
	if v >= 1000 && v == math.Trunc(v) {
		text = fmt.Sprintf("%d,%03d", int(v)/1000, int(v)%1000)
	}
	return text
}
