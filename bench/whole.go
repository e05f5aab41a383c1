package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/uzda-dev/uzda/bench/internal/crowd"
	"github.com/uzda-dev/uzda/bench/internal/latency"
	"github.com/uzda-dev/uzda/bench/internal/page"
	"github.com/uzda-dev/uzda/bench/internal/proc"
	"github.com/uzda-dev/uzda/bench/internal/report"
	"github.com/uzda-dev/uzda/bench/internal/resume"
	"github.com/uzda-dev/uzda/bench/internal/service"
	"github.com/uzda-dev/uzda/bench/internal/startup"
	"github.com/uzda-dev/uzda/journal"
	"github.com/uzda-dev/uzda/sqlite"
)

// A whole is a measurement of Uzda beside which no contestant runs. Each is made in
// a process of its own.
type whole struct {
	name string
	run  func(ctx context.Context, p place) ([]report.Figure, error)
}

func wholes() []whole {
	return []whole{
		{"start", starts}, {"resume", resumes},
		{"delay", func(ctx context.Context, p place) ([]report.Figure, error) { return delays(ctx, p, 1) }},
		{"delays", func(ctx context.Context, p place) ([]report.Figure, error) { return delays(ctx, p, 100) }},
		{"parked in memory", func(ctx context.Context, p place) ([]report.Figure, error) { return parked(ctx, p, false) }},
		{"parked durable", func(ctx context.Context, p place) ([]report.Figure, error) { return parked(ctx, p, true) }},
		{"side by side in memory", func(ctx context.Context, p place) ([]report.Figure, error) { return sideBySide(ctx, p, false) }},
		{"side by side durable", func(ctx context.Context, p place) ([]report.Figure, error) { return sideBySide(ctx, p, true) }},
	}
}

// place is where a measurement is made, and how much of it.
type place struct {
	URL     string // of the provider that crowds ask
	Dir     string // empty, for what is stored
	Program string // the program uzda
	Rounds  int
	Small   bool // only to see that all runs
}

// of is n, or less where all is small.
func (p place) of(n, small int) int {
	if p.Small {
		return small
	}
	return n
}

// asked is which measurements are to be made.
type asked struct {
	only   string
	source string
	docs   string
	small  bool
}

// What can be asked for alone.
const (
	contestants = "contestants"
	alone       = "whole"
)

func (a *asked) flags(f *flag.FlagSet) {
	f.StringVar(&a.only, "only", "", `"contestants": only the loops side by side; "whole": only start, resume, delay and crowds`)
	f.StringVar(&a.source, "source", ".", "folder of Uzda's sources, or one below it, to build the program")
	f.StringVar(&a.docs, "docs", "", "folder of the documents: put the figures into performance.md")
	f.BoolVar(&a.small, "small", false, "as little of the whole as shows that it runs; its figures say nothing")
}

func (a *asked) check() error {
	switch a.only {
	case "", contestants, alone:
		return nil
	}
	return fmt.Errorf("--only %s: want %s or %s", a.only, contestants, alone)
}

// whole makes all measurements of the program as a whole.
func (b *bench) whole(ctx context.Context, a asked, rounds int, out io.Writer) ([]report.Bar, error) {
	if a.only == contestants {
		return nil, nil
	}
	source, err := startup.Find(a.source)
	if err != nil {
		return nil, err
	}
	program, err := startup.Build(ctx, source, b.dir)
	if err != nil {
		return nil, err
	}
	crowds, err := service.Start(service.Command(ctx, b.self, "crowd"))
	if err != nil {
		return nil, err
	}
	defer crowds.Close()
	began := time.Now()
	var bars []report.Bar
	for i, w := range wholes() {
		p := place{URL: crowds.URL, Dir: filepath.Join(b.dir, fmt.Sprint("whole-", i)), Program: program, Rounds: rounds, Small: a.small}
		figures, err := b.apart(ctx, w.name, p)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", w.name, err)
		}
		for _, f := range figures {
			bars = append(bars, f.Bar())
		}
	}
	fmt.Fprintf(out, "\nUzda as a whole, which took %s\n\n", time.Since(began).Round(time.Second))
	report.PrintBars(out, bars)
	if a.docs == "" {
		return bars, nil
	}
	m, err := facts(b.dir)
	if err != nil {
		return nil, err
	}
	var table strings.Builder
	fmt.Fprintf(&table, "%s.\n\n", m.named())
	report.Markdown(&table, bars)
	return bars, page.Replace(filepath.Join(a.docs, "performance.md"), "whole", table.String())
}

// apart makes a measurement in a process of its own, on two CPUs.
func (b *bench) apart(ctx context.Context, name string, p place) ([]report.Figure, error) {
	if err := os.Mkdir(p.Dir, 0o700); err != nil {
		return nil, err
	}
	defer os.RemoveAll(p.Dir)
	raw, err := json.Marshal(p)
	if err != nil {
		return nil, err
	}
	c := service.Command(ctx, b.self, "whole", name, string(raw))
	c.Env = append(c.Env, "GOMAXPROCS=2")
	var out bytes.Buffer
	c.Stdout = &out
	if err := c.Run(); err != nil {
		return nil, err
	}
	var figures []report.Figure
	return figures, json.Unmarshal(out.Bytes(), &figures)
}

// wholeChild is the process of a measurement.
func wholeChild(ctx context.Context, name, raw string, out io.Writer) error {
	all := append(wholes(), whole{"programs", programs})
	i := slices.IndexFunc(all, func(w whole) bool { return w.name == name })
	if i < 0 {
		return fmt.Errorf("there is no measurement %q in this program", name)
	}
	var p place
	if err := json.Unmarshal([]byte(raw), &p); err != nil {
		return err
	}
	figures, err := all[i].run(ctx, p)
	if err != nil {
		return err
	}
	return json.NewEncoder(out).Encode(figures)
}

func starts(ctx context.Context, p place) ([]report.Figure, error) {
	var wall, cpu, rss []float64
	for i := range p.of(20*max(2, p.Rounds), 3) + 1 {
		s, err := startup.Version(ctx, p.Program, p.Dir)
		if err != nil {
			return nil, err
		}
		if i == 0 { // the file comes from the disk
			continue
		}
		wall, cpu, rss = append(wall, millis(s.Wall)), append(cpu, millis(s.CPU)), append(rss, float64(s.RSS)/1e6)
	}
	return []report.Figure{
		{What: "start of `uzda version`, ms", Form: "%.1f", Most: 30, Values: wall},
		{What: "CPU of it, ms", Form: "%.1f", Values: cpu},
		{What: "RSS of it at most, MB", Form: "%.1f", Values: rss},
		{What: "program without symbols, MB", Form: "%.1f", Most: 45, Values: []float64{float64(proc.Size(p.Program)) / 1e6}},
	}, nil
}

func millis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func resumes(ctx context.Context, p place) ([]report.Figure, error) {
	var figures []report.Figure
	var each [2][]float64 // microseconds an event, without a checkpoint
	for i, events := range []int{p.of(10_000, 500), p.of(50_000, 1000)} {
		dir := filepath.Join(p.Dir, fmt.Sprint(events))
		if err := os.Mkdir(dir, 0o700); err != nil {
			return nil, err
		}
		s, err := resume.Make(ctx, dir, events)
		if err != nil {
			return nil, err
		}
		var took [2][]float64
		for k := range took {
			if k == 1 {
				if err := s.Checkpoint(ctx); err != nil {
					return nil, err
				}
			}
			for range p.of(max(3, p.Rounds), 1) {
				d, err := s.Load(ctx)
				if err != nil {
					return nil, err
				}
				took[k] = append(took[k], millis(d))
				if k == 0 {
					each[i] = append(each[i], millis(d)*1e3/float64(s.Events))
				}
			}
		}
		figures = append(figures,
			report.Figure{What: fmt.Sprintf("resume, %d events, checkpoint, ms", events), Form: "%.1f", Most: 100, Values: took[1]},
			report.Figure{What: fmt.Sprintf("resume, %d events, no checkpoint, ms", events), Form: "%.0f", Values: took[0]})
	}
	var ratio []float64
	for i := range each[0] {
		ratio = append(ratio, each[1][i]/each[0][i])
	}
	return append(figures, report.Figure{What: "an event without checkpoint, long / short", Form: "%.2f x", Most: 1.3, Values: ratio}), nil
}

func delays(ctx context.Context, p place, sessions int) ([]report.Figure, error) {
	with := fmt.Sprintf("%d sessions", sessions)
	if sessions == 1 {
		with = "1 session"
	}
	var half, most, rate []float64
	for i := range p.of(max(3, p.Rounds/3), 1) {
		db, err := sqlite.Open(filepath.Join(p.Dir, fmt.Sprint(i, ".uzda")))
		if err != nil {
			return nil, err
		}
		d, err := latency.Measure(ctx, db, latency.Load{Sessions: p.of(sessions, min(sessions, 5)), Deltas: p.of(1000, 20), Every: 10 * time.Millisecond})
		if err = errors.Join(err, db.Close()); err != nil {
			return nil, err
		}
		half, most = append(half, millis(d.At(0.5))), append(most, millis(d.At(0.99)))
		d, err = latency.Measure(ctx, journal.Memory(), latency.Load{Sessions: p.of(sessions, min(sessions, 5)), Deltas: p.of(1000, 20)})
		if err != nil {
			return nil, err
		}
		rate = append(rate, d.Rate/1e3)
	}
	return []report.Figure{
		{What: "socket to watcher, " + with + ", median, ms", Form: "%.3f", Most: 1, Values: half},
		{What: "the same, 99 of 100, ms", Form: "%.3f", Values: most},
		{What: "deltas a second at most, thousands", Form: "%.1f", Values: rate},
	}, nil
}

func parked(ctx context.Context, p place, durable bool) ([]report.Figure, error) {
	n := p.of(1000, 20)
	w, err := crowd.Parked(ctx, p.URL, p.Dir, durable, n)
	if err != nil {
		return nil, err
	}
	most := 100.0
	if p.Small { // what a process needs once counts too much then
		most = 0
	}
	return []report.Figure{
		{What: "RSS of a parked session, " + kind(durable) + ", KB", Form: "%.1f", Most: most, Values: []float64{w.RSS / 1e3}},
		{What: "heap of it, KB", Form: "%.1f", Values: []float64{w.Heap / 1e3}},
	}, nil
}

func kind(durable bool) string {
	if durable {
		return "durable"
	}
	return "memory"
}

// sideBySide counts steps with more and more sessions at once.
func sideBySide(ctx context.Context, p place, durable bool) ([]report.Figure, error) {
	const steps = 5
	sizes := []int{1, 10, 100, 1000}
	if p.Small {
		sizes = []int{1, 20}
	}
	// Before its connections and pools are there a program is slow.
	if _, err := once(ctx, p, durable, 10, steps, p.of(500, 0), "warm"); err != nil {
		return nil, err
	}
	var figures []report.Figure
	for _, n := range sizes {
		f := report.Figure{What: fmt.Sprintf("steps a second, %s, %d at once", kind(durable), n), Form: "%.0f"}
		for i := range p.of(max(3, p.Rounds/3), 1) {
			rate, err := once(ctx, p, durable, n, steps, p.of(2000, 0), fmt.Sprint(n, "-", i))
			if err != nil {
				return nil, err
			}
			f.Values = append(f.Values, rate)
		}
		figures = append(figures, f)
	}
	return figures, nil
}

func once(ctx context.Context, p place, durable bool, n, steps, least int, name string) (float64, error) {
	dir := filepath.Join(p.Dir, name)
	if err := os.Mkdir(dir, 0o700); err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	return crowd.Speed(ctx, p.URL, dir, durable, n, steps, max(1, least))
}
