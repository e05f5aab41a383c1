package plot_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/uzda-dev/uzda/bench/internal/plot"
)

// Whatever the values are, the picture is XML without a number that is none.
func TestDraw(t *testing.T) {
	t.Parallel()
	for name, p := range map[string]plot.Panel{
		"curve":    {Title: "memory <of> a & b, MB", X: "seconds", Series: []plot.Series{{X: []float64{0, 1, 2}, Y: []float64{3, 40_000, 5}}}, Bands: []plot.Band{{0, 1}}},
		"dots":     {Title: "a", Series: []plot.Series{{Name: "x", X: []float64{0, 1}, Y: []float64{1, 1}, Dots: true}, {Name: "y", X: []float64{0}, Y: []float64{1e-3}}}},
		"constant": {Title: "all 0", Series: []plot.Series{{X: []float64{0, 1}, Y: []float64{0, 0}}}},
		"one":      {Title: "one", Series: []plot.Series{{X: []float64{0}, Y: []float64{7}}}},
		"nothing":  {Title: "zażółć"},
	} {
		var b bytes.Buffer
		if err := plot.Draw(&b, plot.Sheet{Title: name, Columns: 2, Panels: []plot.Panel{p, p, p}}); err != nil {
			t.Fatal(err)
		}
		text := b.String()
		for d := xml.NewDecoder(&b); ; {
			if _, err := d.Token(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("%s: %v\n%s", name, err, text)
			}
		}
		if strings.Contains(text, "NaN") || strings.Contains(text, "Inf") {
			t.Errorf("%s: %s", name, text)
		}
	}
}
