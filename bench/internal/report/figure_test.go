package report_test

import (
	"strings"
	"testing"

	"github.com/uzda-dev/uzda/bench/internal/report"
)

// The median of the values is held against the bar, and the page says so.
func TestFigure(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		f         report.Figure
		held      bool
		value, at float64
	}{
		{report.Figure{What: "a", Form: "%.1f", Most: 2, Values: []float64{1, 2, 9}}, true, 2, 2},
		{report.Figure{What: "b", Form: "%.1f", Most: 2, Values: []float64{1, 2.1, 9}}, false, 2.1, 2},
		{report.Figure{What: "c", Form: "%.1f", Values: []float64{7}}, true, 7, 0},
	} {
		b := c.f.Bar()
		if b.Held != c.held || b.Value != c.value || b.Most != c.at || b.Low > b.Value || b.High < b.Value {
			t.Errorf("%+v", b)
		}
		var page strings.Builder
		report.Markdown(&page, []report.Bar{b})
		if strings.Contains(page.String(), "missed") == c.held || !strings.Contains(page.String(), "| "+c.f.What+" |") {
			t.Errorf("%s", &page)
		}
	}
}

// Wild values do not make lines that a terminal breaks.
func TestWild(t *testing.T) {
	t.Parallel()
	for _, values := range [][]float64{{31.7, 32.2, 106.57}, {-131.44, -57, 17.63}, {0.001, 5, 123456}} {
		var out strings.Builder
		report.PrintBars(&out, []report.Bar{report.Figure{What: strings.Repeat("x", 43), Form: "%.1f", Most: 30, Values: values}.Bar()})
		for line := range strings.Lines(out.String()) {
			if len(line) > 81 {
				t.Errorf("%d columns: %s", len(line), line)
			}
		}
	}
}
