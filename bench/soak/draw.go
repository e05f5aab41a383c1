package main

import (
	"errors"
	"os"
	"path/filepath"
	"slices"

	"github.com/uzda-dev/uzda/bench/internal/plot"
	"github.com/uzda-dev/uzda/bench/internal/proc"
)

// draw writes the curves into the pictures of the documents.
func draw(docs string, c config, all []sample, t *times) error {
	dir := filepath.Join(docs, "pictures")
	if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // pictures
		return err
	}
	return errors.Join(
		sheet(filepath.Join(dir, "soak-at-once.svg"), together(c, all)),
		sheet(filepath.Join(dir, "soak.svg"), inTurn(c, all)),
		sheet(filepath.Join(dir, "soak-runs.svg"), runs(t)))
}

func sheet(name string, s plot.Sheet) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	if err := plot.Draw(f, s); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}

const kinds = "Every tenth leaves a process behind, every twentieth is cancelled, every twentieth's stream breaks off."

// panel is a figure over some samples.
func panel(title, across string, unit float64, all []sample, x func(sample) float64, of func(sample) int64) plot.Panel {
	var s plot.Series
	for _, one := range all {
		if v := of(one); v != proc.Unknown {
			s.X, s.Y = append(s.X, x(one)), append(s.Y, float64(v)/unit)
		}
	}
	return plot.Panel{Title: title, X: across, Series: []plot.Series{s}}
}

// together is the sessions at once, and the minute after them.
func together(c config, all []sample) plot.Sheet {
	const after = 60
	var end float64
	for _, s := range all {
		if s.stage == atOnce {
			end = s.at.Seconds()
		}
	}
	all = slices.DeleteFunc(slices.Clone(all), func(s sample) bool { return s.at.Seconds() > end+after })
	seconds := func(s sample) float64 { return s.at.Seconds() }
	sheet := plot.Sheet{
		Title:   plot.Number(float64(c.atOnce)) + " sessions at once in one process (shaded), and the minute after",
		Note:    kinds,
		Columns: 2,
		Panels: []plot.Panel{
			panel("Memory of the process (RSS), MB", "seconds", 1e6, all, seconds, rss), panel("Goroutines", "seconds", 1, all, seconds, goroutines),
			panel("Open descriptors", "seconds", 1, all, seconds, fds), panel("Processes besides it (one is the provider)", "seconds", 1, all, seconds, processes),
		},
	}
	for i := range sheet.Panels {
		sheet.Panels[i].Bands = []plot.Band{{From: 0, To: end}}
	}
	return sheet
}

// inTurn is the sessions one after the other.
func inTurn(c config, all []sample) plot.Sheet {
	all = slices.DeleteFunc(slices.Clone(all), func(s sample) bool { return s.stage != inSequence })
	var x []float64
	rates := rate(all)
	for _, s := range all[len(all)-len(rates):] {
		x = append(x, float64(s.done))
	}
	sessions := func(s sample) float64 { return float64(s.done) }
	one := func(title string, unit float64, of func(sample) int64) plot.Panel {
		return panel(title, "sessions so far", unit, all, sessions, of)
	}
	return plot.Sheet{
		Title:   plot.Number(float64(c.inSequence)) + " sessions one after the other, in the process that had " + plot.Number(float64(c.atOnce)) + " at once",
		Note:    kinds,
		Columns: 2,
		Panels: []plot.Panel{
			one("Memory of the process (RSS), MB", 1e6, rss), one("Heap after a collection, MB", 1e6, heap),
			one("Open descriptors", 1, fds), one("Goroutines", 1, goroutines),
			one("Processes besides it (one is the provider)", 1, processes), one("Temporary files and locks", 1, files),
			one("Write-ahead log, MB", 1e6, func(s sample) int64 { return s.wal }), one("Store for each session, KB", 1e3, perSession),
			{Title: "Sessions a second", X: "sessions so far", Series: []plot.Series{{X: x, Y: rates}}},
		},
	}
}

func runs(t *times) plot.Sheet {
	var number []float64
	for i := range t.fresh {
		number = append(number, float64(i+1))
	}
	return plot.Sheet{
		Title:   "uzda run, one process after the other",
		Note:    "Each with one command that leaves a process behind.",
		Columns: 1,
		Panels: []plot.Panel{{Title: "Time of a run, ms", X: "runs so far", Series: []plot.Series{
			{Name: "own store", X: number, Y: t.fresh, Dots: true}, {Name: "soak's store", X: t.at, Y: t.full, Dots: true},
		}}},
	}
}
