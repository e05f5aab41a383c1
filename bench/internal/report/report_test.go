package report_test

import (
	"bytes"
	"math"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/uzda-dev/uzda/bench/internal/report"
	"github.com/uzda-dev/uzda/bench/internal/task"
)

// round makes a round in which Uzda costs so much more than the floor a step, and
// the whole runs so many times as much as what they are held against.
func round(early, late time.Duration, mallocs uint64, memory, durable float64) report.Round {
	const us = time.Microsecond
	window := func(steps int, cpu time.Duration, n uint64) report.Run {
		w, _ := report.Window(steps)
		all := w.To - w.From
		if steps == report.Short {
			all *= report.Times
		}
		return report.Run{Steps: steps, Window: &task.Figures{CPU: cpu * time.Duration(all), Mallocs: n * uint64(all)}}
	}
	as := func(who string, r report.Run) report.Run {
		r.Contestant = who
		return r
	}
	whole := func(cpu float64) task.Figures {
		return task.Figures{CPU: time.Duration(cpu * float64(time.Second)), Wall: time.Second, Mallocs: 1000, Bytes: 5000}
	}
	return report.Round{
		{Contestant: report.Floor, Steps: report.Full, Whole: whole(1), RSS: 20e6},
		{Contestant: report.Memory, Steps: report.Full, Whole: whole(memory)},
		{Contestant: report.Durable, Steps: report.Full, Whole: whole(durable * (memory + 0.5))},
		{Contestant: report.ByHand, Steps: report.Full, Whole: whole(0.5)},
		{Contestant: report.FloorMessages, Steps: report.Full, Whole: whole(2)},
		{Contestant: report.Messages, Steps: report.Full, Whole: whole(3)},
		as(report.Floor, window(report.Short, 200*us, 100)),
		as(report.Memory, window(report.Short, 200*us+early, 100+mallocs)),
		as(report.Floor, window(report.Long, 400*us, 100)),
		as(report.Memory, window(report.Long, 400*us+late, 100+mallocs)),
	}
}

func TestBars(t *testing.T) {
	t.Parallel()
	const us = time.Microsecond
	for name, c := range map[string]struct {
		rounds []report.Round
		missed []string
		sure   bool
	}{
		"all hold":     {[]report.Round{round(100*us, 120*us, 400, 1.4, 1.4)}, nil, true},
		"at the limit": {[]report.Round{round(100*us, 130*us, 500, 1.5, 1.5)}, nil, true},
		"it grows":     {[]report.Round{round(100*us, 131*us, 400, 1.4, 1.4)}, []string{"CPU over the floor, step 400 / step 20"}, true},
		"mallocs": {[]report.Round{round(100*us, 100*us, 501, 1.4, 1.4)},
			[]string{"mallocs a step over the floor, step 20", "mallocs a step over the floor, step 400"}, true},
		"memory":  {[]report.Round{round(100*us, 100*us, 1, 1.51, 1.4)}, []string{"CPU, 400 steps, memory / floor"}, true},
		"durable": {[]report.Round{round(100*us, 100*us, 1, 1.4, 1.51)}, []string{"CPU, 400 steps, durable / (memory + hand)"}, true},
		"a median": {[]report.Round{round(100*us, 100*us, 1, 1.2, 1.4), round(100*us, 100*us, 1, 9, 1.4), round(100*us, 100*us, 1, 1.4, 1.4)},
			nil, false},
	} {
		bars := report.Bars(c.rounds)
		var missed []string
		for _, b := range report.Missed(bars) {
			missed = append(missed, b.What)
		}
		if strings.Join(missed, "; ") != strings.Join(c.missed, "; ") {
			t.Errorf("%s: missed %q, want %q", name, missed, c.missed)
		}
		if report.Sure(bars) != c.sure {
			t.Errorf("%s: %+v", name, bars)
		}
		for _, b := range bars {
			if b.Low > b.Value || b.High < b.Value || math.IsNaN(b.Value) {
				t.Errorf("%s: %+v", name, b)
			}
		}
	}
}

// peers adds runs of the peers, who use so much CPU and so many allocations, and of
// ours of 100 steps, which use 1 s and 1,000.
func peers(r report.Round, cpu time.Duration, mallocs uint64) report.Round {
	for _, steps := range []int{100, report.Full} {
		for _, p := range report.Peers() {
			r = append(r, report.Run{Contestant: p.Name, Steps: steps, Whole: task.Figures{CPU: cpu, Wall: time.Second, Mallocs: mallocs, Bytes: 9e9}})
		}
	}
	for _, ours := range []string{report.Memory, report.Durable, report.Messages} {
		r = append(r, report.Run{Contestant: ours, Steps: 100, Whole: task.Figures{CPU: time.Second, Wall: time.Second, Mallocs: 1000, Bytes: 1}})
	}
	return r
}

// Every peer is a bar at 100 and at 400 steps, for CPU and for allocations, whatever
// the rounds without peers say.
func TestPeers(t *testing.T) {
	t.Parallel()
	const us = time.Microsecond
	plain := round(100*us, 100*us, 1, 1.4, 1.4)
	for name, c := range map[string]struct {
		cpu     time.Duration
		mallocs uint64
		missed  string
	}{
		"all are beaten": {9 * time.Second, 9000, ""},
		"CPU":            {2 * time.Second, 9000, "CPU, 400 steps, uzda / tool runner"}, // of which ours takes 3 s
		"allocations": {9 * time.Second, 999, "mallocs, 100 steps, uzda / fantasy; mallocs, 400 steps, uzda / fantasy; " +
			"mallocs, 100 steps, uzda / eino; mallocs, 400 steps, uzda / eino; mallocs, 100 steps, uzda / tool runner; mallocs, 400 steps, uzda / tool runner"},
	} {
		rounds := []report.Round{peers(round(100*us, 100*us, 1, 1.4, 1.4), c.cpu, c.mallocs), plain, plain, plain}
		bars := report.Bars(rounds)
		var missed []string
		for _, b := range report.Missed(bars) {
			missed = append(missed, b.What)
		}
		if strings.Join(missed, "; ") != c.missed {
			t.Errorf("%s: missed %q, want %q", name, missed, c.missed)
		}
		if len(bars) != len(report.Bars([]report.Round{plain}))+20 {
			t.Errorf("%s: %d bars", name, len(bars))
		}
		var out, page bytes.Buffer
		rows := report.Rows(rounds)
		report.Print(&out, rows, bars)
		for line := range strings.Lines(out.String()) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > 80 {
				t.Errorf("%d columns: %s", n, line)
			}
		}
		report.MarkdownRows(&page, rows)
		for _, p := range report.Peers() {
			if !strings.Contains(out.String(), "400       "+p.Name) || !strings.Contains(page.String(), "| 400 | "+p.Name+" |") || !strings.Contains(page.String(), "| 100 | "+p.Name+" |") {
				t.Errorf("%s: no %s in\n%s%s", name, p.Name, &out, &page)
			}
		}
	}
}

func TestMedian(t *testing.T) {
	t.Parallel()
	for want, of := range map[float64][]float64{0: nil, 2: {3, 1, 2}, 2.5: {4, 1, 2, 3}} {
		if got := report.Median(of); got != want {
			t.Errorf("median of %v: %v", of, got)
		}
	}
}

// The table has all rows and bars, and fits a terminal.
func TestPrint(t *testing.T) {
	t.Parallel()
	rounds := []report.Round{round(100*time.Microsecond, 900*time.Microsecond, 12345, 88.8, 99.9)}
	var out bytes.Buffer
	report.Print(&out, report.Rows(rounds), report.Bars(rounds))
	for line := range strings.Lines(out.String()) {
		if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > 80 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
	for _, want := range []string{"400       floor              1000.0    2.500", "1000.0   20.0\n", "2-39      uzda, in memory", "321-480   floor", "9.00 x", "MISS"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
}
