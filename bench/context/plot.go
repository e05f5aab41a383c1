package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/uzda-dev/uzda/bench/internal/plot"
)

// Sizes of the plot in pixels.
const (
	panelW, panelH = 250, 190
	gapX, gapY     = 46, 68
	left, top      = 64, 98
	legendH        = 58
)

// look is how a move is drawn. The colours are told apart by people who see few
// (Okabe and Ito), and each has a mark of its own.
type look struct{ colour, mark string }

func looks() []look {
	return []look{
		{"#777777", "x"}, {"#E69F00", "triangle"}, {"#56B4E9", "square"},
		{"#CC79A7", "diamond"}, {"#0072B2", "circle"}, {"#009E73", "down"}, {"#D55E00", "plus"},
	}
}

// panels draws cells as panels: a column for each set, above what stands in the
// request, below what can be reached. A hollow mark is a share that was not reached.
func panels(w io.Writer, cells []cell) error {
	sets := names(cells, func(c cell) string { return c.set })
	names := names(cells, func(c cell) string { return c.move })
	width := left + len(sets)*(panelW+gapX)
	height := top + 2*(panelH+gapY) + legendH
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" font-family="system-ui, sans-serif" font-size="12">`+"\n", width, height, width, height)
	fmt.Fprintf(&b, `<rect width="%d" height="%d" fill="#fff"/>`+"\n", width, height)
	b.WriteString(plot.Text(left, 26, "start", "#222", "font-size=\"16\" font-weight=\"600\"", "Needed facts that are left when a request is cut"))
	b.WriteString(plot.Text(left, 46, "start", "#555", "", "Across: the share of its tokens that a request is cut to. Hollow marks: the move alone does not come so far."))
	for col, set := range sets {
		x := left + col*(panelW+gapX)
		for level, title := range []string{"in the request", "there or by recall"} {
			y, reach := top+level*(panelH+gapY), level == 1
			b.WriteString(plot.Text(x, y-10, "start", "#222", "font-weight=\"600\"", set+", "+title))
			frame(&b, x, y)
			for i, name := range names {
				if row := of(cells, set, name); !idle(row) {
					line(&b, x, y, looks()[i%len(looks())], row, reach)
				}
			}
		}
	}
	legend(&b, names, top+2*(panelH+gapY)-6, width)
	b.WriteString("</svg>\n")
	_, err := io.WriteString(w, b.String())
	return err
}

func of(cells []cell, set, move string) (out []cell) {
	for _, c := range cells {
		if c.set == set && c.move == move {
			out = append(out, c)
		}
	}
	return out
}

// idle says that a move finds nothing to do in a set.
func idle(cells []cell) bool {
	return !slices.ContainsFunc(cells, func(c cell) bool { return c.after < c.before })
}

// frame draws a panel's grid: 0 to 100 %, and the shares.
func frame(b *strings.Builder, x, y int) {
	for p := 0; p <= 100; p += 25 {
		at := y + panelH - p*panelH/100
		fmt.Fprintf(b, `<line x1="%d" y1="%d" x2="%d" y2="%d" stroke="#ddd"/>`+"\n", x, at, x+panelW, at)
		b.WriteString(plot.Text(x-6, at+4, "end", "#555", "", fmt.Sprintf("%d %%", p)))
	}
	for i, s := range shares() {
		b.WriteString(plot.Text(across(x, i), y+panelH+18, "middle", "#555", "", fmt.Sprintf("%.0f %%", 100*s)))
	}
}

func across(x, i int) int { return x + 30 + i*(panelW-60)/(len(shares())-1) }

func line(b *strings.Builder, x, y int, l look, cells []cell, reach bool) {
	var points []string
	for i, c := range cells {
		points = append(points, fmt.Sprintf("%d,%.1f", across(x, i), height(y, c, reach)))
	}
	fmt.Fprintf(b, `<polyline points="%s" fill="none" stroke="%s" stroke-width="2"/>`+"\n", strings.Join(points, " "), l.colour)
	for i, c := range cells {
		mark(b, float64(across(x, i)), height(y, c, reach), l, !c.fits())
	}
}

func height(y int, c cell, reach bool) float64 {
	n := c.in
	if reach {
		n = c.reach
	}
	return float64(y) + float64(panelH)*(1-part(n, c.needs))
}

func mark(b *strings.Builder, x, y float64, l look, hollow bool) {
	fill := l.colour
	if hollow {
		fill = "#fff"
	}
	shape := map[string]string{
		"triangle": "0,-6 5.5,4 -5.5,4", "down": "0,6 5.5,-4 -5.5,-4",
		"square": "-4.5,-4.5 4.5,-4.5 4.5,4.5 -4.5,4.5", "diamond": "0,-6 6,0 0,6 -6,0",
	}[l.mark]
	at := fmt.Sprintf(`transform="translate(%.1f %.1f)" stroke="%s" stroke-width="1.6"`, x, y, l.colour)
	switch {
	case shape != "":
		fmt.Fprintf(b, `<polygon points="%s" fill="%s" %s/>`+"\n", shape, fill, at)
	case l.mark == "x":
		fmt.Fprintf(b, `<path d="M-4.5,-4.5 L4.5,4.5 M-4.5,4.5 L4.5,-4.5" fill="none" %s/>`+"\n", at)
	case l.mark == "plus":
		fmt.Fprintf(b, `<circle r="6" fill="#fff" %s/><circle r="2.6" fill="%s" %s/>`+"\n", at, fill, at)
	default:
		fmt.Fprintf(b, `<circle r="4.8" fill="%s" %s/>`+"\n", fill, at)
	}
}

func legend(b *strings.Builder, names []string, y, width int) {
	const cols = 3
	step := (width - left) / cols
	for i, name := range names {
		x, at := left+(i%cols)*step, y+(i/cols)*22
		l := looks()[i%len(looks())]
		fmt.Fprintf(b, `<line x1="%d" y1="%d" x2="%d" y2="%d" stroke="%s" stroke-width="2"/>`+"\n", x, at, x+26, at, l.colour)
		mark(b, float64(x+13), float64(at), l, false)
		b.WriteString(plot.Text(x+34, at+4, "start", "#222", "", name))
	}
}
