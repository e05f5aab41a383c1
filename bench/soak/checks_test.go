package main

import (
	"bytes"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/uzda-dev/uzda/bench/internal/plot"
	"github.com/uzda-dev/uzda/bench/internal/proc"
)

// flatSamples are those of a process that holds the same all the time, but for a few
// peaks.
func flatSamples(n int) (all []sample) {
	for i := range n {
		s := sample{at: time.Duration(i) * time.Second, stage: inSequence, done: int64(10 + i*10), rss: 30e6, heap: 2e6, fds: 20, goroutines: 40, processes: 1, files: 1, wal: 4e6}
		s.store = 15_000 * s.done
		if i%7 == 3 {
			s.processes, s.rss = 9, 60e6
		}
		all = append(all, s)
	}
	return all
}

// Each kind of growth and each kind of leftover is a miss, and peaks are none.
func TestFlat(t *testing.T) { // peer:32
	t.Parallel()
	end := sample{fds: 7, goroutines: 3, processes: 0, files: 0}
	if checks := flat(flatSamples(100), end, end); missed(checks) > 0 {
		t.Errorf("flat, and %+v", checks)
	}
	const share = 0.2 // of growth over all
	for name, grow := range map[string]func(s *sample, part float64){
		"RSS":                    func(s *sample, part float64) { s.rss += int64(30e6 * part) },
		"heap":                   func(s *sample, part float64) { s.heap += int64(2e6 * part) },
		"goroutines":             func(s *sample, part float64) { s.goroutines += int64(40 * part) },
		"descriptors":            func(s *sample, part float64) { s.fds += int64(60 * part) },
		"processes":              func(s *sample, part float64) { s.processes += int64(50 * part) },
		"temporary files":        func(s *sample, part float64) { s.files += int64(50 * part) },
		"store for each session": func(s *sample, part float64) { s.store += int64(float64(s.store) * part) },
	} {
		all := flatSamples(100)
		for i := range all {
			grow(&all[i], share*float64(i)/99)
		}
		checks := flat(all, end, end)
		if missed(checks) != 1 {
			t.Errorf("%s grows, and %d are missed: %+v", name, missed(checks), checks)
		}
		for _, c := range checks {
			if !c.held() && !strings.HasPrefix(c.what, name) {
				t.Errorf("%s grows, and %s is missed", name, c.what)
			}
		}
	}
	for name, after := range map[string]sample{
		"descriptors": {fds: 8, goroutines: 3}, "goroutines": {fds: 7, goroutines: 4},
		"processes": {fds: 7, goroutines: 3, processes: 1}, "files": {fds: 7, goroutines: 3, files: 1},
	} {
		if checks := flat(flatSamples(100), end, after); missed(checks) != 1 {
			t.Errorf("%s are left, and %+v", name, checks)
		}
	}
}

// What a system does not tell is said, and is no miss.
func TestUnknown(t *testing.T) {
	t.Parallel()
	all := flatSamples(50)
	for i := range all {
		all[i].rss, all[i].fds, all[i].processes = proc.Unknown, proc.Unknown, proc.Unknown
	}
	end := all[0]
	checks := flat(all, end, end)
	var text, table bytes.Buffer
	tell(&text, checks)
	markdown(&table, checks)
	if n := missed(checks); n > 0 || strings.Count(text.String(), unknown) != 5 || strings.Count(table.String(), unknown) != 5 {
		t.Errorf("%d missed\n%s%s", n, &text, &table)
	}
	var svg bytes.Buffer
	if err := plot.Draw(&svg, inTurn(config{atOnce: 1, inSequence: 2}, all)); err != nil || strings.Count(svg.String(), "not known on this system") != 3 {
		t.Errorf("%v\n%s", err, &svg)
	}
}

func TestGrowth(t *testing.T) {
	t.Parallel()
	x := []float64{0, 1, 2, 3, 4}
	for _, c := range []struct {
		y    []float64
		want float64
	}{
		{[]float64{5, 5, 5, 5, 5}, 0},
		{[]float64{8, 9, 10, 11, 12}, 0.4},
		{[]float64{10, 10, 90, 10, 10}, 0},
		{[]float64{12, 11, 10, 9, 8}, -0.4},
		{[]float64{0, 0, 0, 0, 0}, 0},
	} {
		if got := growth(x, c.y); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%v: %v, want %v", c.y, got, c.want)
		}
	}
}
