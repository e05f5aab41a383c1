package report

import (
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
)

// A Figure is one that needs no comparison with another contestant. It is measured
// some times, each as good as any other, and its median counts.
type Figure struct {
	What   string    `json:"what"`
	Form   string    `json:"form"`           // of its value, as for fmt
	Most   float64   `json:"most,omitempty"` // 0: told, not held against anything
	Values []float64 `json:"values"`
}

// Bar computes the bar of a figure. The spread comes from drawing as many values
// again, many times; the draws are the same each time.
func (f Figure) Bar() Bar {
	const draws = 1000
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // statistics, no secrets
	drawn, medians := make([]float64, len(f.Values)), make([]float64, draws)
	for i := range medians {
		for j := range drawn {
			drawn[j] = f.Values[random.IntN(len(f.Values))]
		}
		medians[i] = Median(drawn)
	}
	slices.Sort(medians)
	b := Bar{What: f.What, Value: Median(f.Values), Low: medians[draws/20], High: medians[draws-1-draws/20], Most: f.Most, form: f.Form}
	b.Held = b.Most == 0 || b.Value <= b.Most
	return b
}

// Markdown writes bars as a table of a page.
func Markdown(w io.Writer, bars []Bar) {
	fmt.Fprintln(w, "| what | measured | 90 of 100 draws | at most |\n|---|---|---|---|")
	for _, b := range bars {
		most := ""
		if b.Most > 0 {
			most = fmt.Sprintf(b.form, b.Most)
			if !b.Held {
				most += ", missed"
			}
		}
		fmt.Fprintf(w, "| %s | %s | %s to %s | %s |\n", b.What, fmt.Sprintf(b.form, b.Value), fmt.Sprintf(b.form, b.Low), fmt.Sprintf(b.form, b.High), most)
	}
}

// MarkdownRows writes the medians of whole runs as a table of a page.
func MarkdownRows(w io.Writer, rows []Row) {
	fmt.Fprintln(w, "| steps | contestant | CPU a step, ms | time a step, ms | allocations a step | KB a step | RSS, MB |\n|---|---|---|---|---|---|---|")
	for _, r := range rows {
		if r.Part == "" {
			fmt.Fprintf(w, "| %d | %s | %s | %s | %d | %.1f | %.1f |\n", r.Steps, r.Contestant, ms(r.Step.CPU, 2), ms(r.Step.Wall, 2), r.Step.Mallocs, float64(r.Step.Bytes)/1e3, float64(r.RSS)/1e6)
		}
	}
}
