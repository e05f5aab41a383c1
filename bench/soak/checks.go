package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/uzda-dev/uzda/bench/internal/proc"
	"github.com/uzda-dev/uzda/bench/internal/report"
)

// A check is a figure that must not be over its limit.
type check struct {
	what  string
	form  string // of its value
	value float64
	most  float64
	told  bool   // it is held against nothing
	lacks string // why it could not be measured
}

func (c check) held() bool { return c.told || c.lacks != "" || c.value <= c.most }

// growth is by which share of its median a figure grows from the first sample to the
// last: along the median of the slopes between all pairs (Theil and Sen), which a few
// peaks do not move.
func growth(x, y []float64) float64 {
	var slopes []float64
	for i := range x {
		for j := range i {
			if x[i] > x[j] {
				slopes = append(slopes, (y[i]-y[j])/(x[i]-x[j]))
			}
		}
	}
	middle := report.Median(y)
	if len(slopes) == 0 || middle == 0 {
		return 0
	}
	return report.Median(slopes) * (x[len(x)-1] - x[0]) / middle
}

// curve is a figure over the samples of the sequence that have it.
func curve(all []sample, of func(sample) int64) (x, y []float64) {
	for _, s := range all {
		if v := of(s); v != proc.Unknown && s.stage == inSequence {
			x, y = append(x, s.at.Seconds()), append(y, float64(v))
		}
	}
	return x, y
}

// late is the second half of a curve.
func late(x, y []float64) (a, b []float64) { return x[len(x)/2:], y[len(y)/2:] }

const unknown = "this system does not tell"

// flat are the checks of the sessions: that nothing grows with them, and that when
// all is closed nothing is left.
func flat(all []sample, start, end sample) []check {
	grows := func(what string, of func(sample) int64) check {
		c := check{what: what + ", growth in the second half of the sequence", form: "%.1f %%", most: 5}
		x, y := late(curve(all, of))
		if len(x) < 3 {
			c.lacks = "too few samples"
			if len(x) == 0 && of(end) == proc.Unknown {
				c.lacks = unknown
			}
			return c
		}
		c.value = 100 * growth(x, y)
		return c
	}
	left := func(what string, of func(sample) int64) check {
		c := check{what: what + " left when all is closed", form: "%.0f", value: float64(of(end) - of(start))}
		if of(end) == proc.Unknown {
			c.lacks = unknown
		}
		return c
	}
	wal := int64(0)
	for _, s := range all {
		wal = max(wal, s.wal)
	}
	last := all[len(all)-1]
	return []check{
		grows("RSS", rss), grows("heap after a collection", heap),
		grows("descriptors", fds), grows("goroutines", goroutines), grows("processes", processes),
		grows("temporary files", files), grows("store for each session", perSession),
		left("descriptors", fds), left("goroutines", goroutines), left("processes", processes), left("temporary files", files),
		// It shrinks to 4 MiB once it was larger; a thousand sessions at once may fill more before.
		{what: "write-ahead log at most, MB", form: "%.1f", value: float64(wal) / 1e6, most: 64},
		{what: "store for each session at the end, KB", form: "%.1f", value: float64(perSession(last)) / 1e3, told: true},
		{what: "RSS at the end, MB", form: "%.1f", value: float64(last.rss) / 1e6, told: true},
	}
}

func rss(s sample) int64        { return s.rss }
func heap(s sample) int64       { return s.heap }
func fds(s sample) int64        { return s.fds }
func goroutines(s sample) int64 { return s.goroutines }
func processes(s sample) int64  { return s.processes }
func files(s sample) int64      { return s.files }

func perSession(s sample) int64 {
	if s.done == 0 {
		return proc.Unknown
	}
	return s.store / s.done
}

// missed counts the checks that do not hold.
func missed(all []check) (n int) {
	for _, c := range all {
		if !c.held() {
			n++
		}
	}
	return n
}

// cells are what a check is told by: value, limit and whether it held.
func (c check) cells() (value, most, held string) {
	if c.lacks != "" {
		return "", "", c.lacks
	}
	value = fmt.Sprintf(c.form, c.value)
	if strings.Trim(value, "-0.% ") == "" { // no -0.0
		value = strings.TrimPrefix(value, "-")
	}
	switch {
	case c.told:
		return value, "", ""
	case c.held():
		return value, fmt.Sprintf(c.form, c.most), "held"
	}
	return value, fmt.Sprintf(c.form, c.most), "MISS"
}

func tell(w io.Writer, all []check) {
	wide := 0
	for _, c := range all {
		wide = max(wide, len([]rune(c.what)))
	}
	fmt.Fprintf(w, "\n%-*s %10s %8s\n", wide, "what", "measured", "most")
	for _, c := range all {
		value, most, held := c.cells()
		fmt.Fprintln(w, strings.TrimRight(fmt.Sprintf("%-*s %10s %8s %s", wide, c.what, value, most, held), " "))
	}
}

func markdown(w io.Writer, all []check) {
	fmt.Fprintln(w, "| what | measured | at most |\n|---|---|---|")
	for _, c := range all {
		value, most, held := c.cells()
		if held != "held" && held != "" {
			most = strings.TrimSpace(most + " " + strings.ToLower(held))
		}
		fmt.Fprintf(w, "| %s | %s | %s |\n", c.what, value, most)
	}
}

// rate is how many sessions ended a second between each sample, from the sixth on, and
// the fifth before it.
func rate(all []sample) (out []float64) {
	const over = 5
	for i := over; i < len(all); i++ {
		a, b := all[i-over], all[i]
		out = append(out, float64(b.done-a.done)/(b.at-a.at).Seconds())
	}
	return out
}
