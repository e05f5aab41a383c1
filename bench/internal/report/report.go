// Package report says what rounds of runs add up to: medians, ratios with their
// spread, and whether the bars hold.
package report

import (
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/uzda-dev/uzda/bench/internal/task"
)

// A Run is one run of a contestant in a process of its own.
type Run struct {
	Contestant string        `json:"contestant"`
	Steps      int           `json:"steps"`
	Whole      task.Figures  `json:"whole"`
	Window     *task.Figures `json:"window,omitempty"` // see Window
	RSS        int64         `json:"max_rss_bytes"`    // of the process
}

// A Round is one run of everything, in turn.
type Round []Run

// The contestants that bars are about.
const (
	Floor   = "floor"
	Memory  = "uzda, in memory"
	Durable = "uzda, durable"
	ByHand  = "commits by hand"
	// The floor and Memory in the format that the tool runner speaks.
	FloorMessages = "floor, Messages"
	Messages      = "uzda, Messages"
)

// A Peer is another framework, and the contestant of ours that does the same work
// over the same wire.
type Peer struct{ Name, Ours string }

// PeerRounds is how many rounds peers run in, from the first: their ratios are far
// from the bars, and what they do takes long.
const PeerRounds = 6

// Peers are programs of their own.
func Peers() []Peer {
	return []Peer{{"fantasy", Memory}, {"eino", Memory}, {"tool runner", Messages}}
}

// Full is the length of the run whose whole counts. Short and Long are those in
// which a window of steps is measured; a short one is done so many times, since its
// window is short too.
const (
	Full  = 400
	Short = 39
	Long  = 480
	Times = 10
)

// Window returns the steps that are measured in a run of that length: those around
// the 20th, without the first, which connects, or those around the 400th. The late
// ones are so many that a checkpoint is among them, as in any 200 steps of Uzda.
func Window(steps int) (w task.Window, ok bool) {
	switch steps {
	case Short:
		return task.Window{From: 1, To: Short}, true
	case Long:
		return task.Window{From: 320, To: Long}, true
	}
	return w, false
}

// perStep divides what a window of a run used among its steps.
func perStep(steps int, f float64) float64 {
	w, _ := Window(steps)
	n := w.To - w.From
	if steps == Short {
		n *= Times
	}
	return f / float64(n)
}

// find returns a round's run, and panics if there is none: the runner runs all.
func (r Round) find(contestant string, steps int) Run {
	return r[slices.IndexFunc(r, is(contestant, steps))]
}

func is(contestant string, steps int) func(Run) bool {
	return func(one Run) bool { return one.Contestant == contestant && one.Steps == steps }
}

// A Bar is a figure that must not be over its limit.
type Bar struct {
	What  string  `json:"what"`
	Value float64 `json:"value"` // of the medians
	Low   float64 `json:"low"`   // with High: where it lies in 9 of 10 draws of as many rounds
	High  float64 `json:"high"`
	Most  float64 `json:"most,omitempty"` // 0: told, not held against anything
	Held  bool    `json:"held"`
	form  string
}

// Sure says whether more rounds would hardly change whether the bar holds.
func (b Bar) Sure() bool { return b.Most == 0 || b.High <= b.Most || b.Low > b.Most }

// measure is how a bar is computed.
type measure struct {
	what string
	form string // of its value
	most float64
	of   func(rounds []Round) float64
}

func cpu(f task.Figures) float64     { return float64(f.CPU) }
func wall(f task.Figures) float64    { return float64(f.Wall) }
func mallocs(f task.Figures) float64 { return float64(f.Mallocs) }

// times is how many times as much one contestant uses in a run as another.
func times(one, other string, steps int, of func(task.Figures) float64) func([]Round) float64 {
	whole := func(who string) func(Round) float64 {
		return func(r Round) float64 { return of(r.find(who, steps).Whole) }
	}
	return func(rounds []Round) float64 { return median(rounds, whole(one)) / median(rounds, whole(other)) }
}

// beside are the bars against a peer, and what is told beside them: the durable
// contestant does more than the peer does, which keeps nothing.
func beside(p Peer, steps int) []measure {
	name := func(what, kind string) string {
		return fmt.Sprintf("%s, %d steps, %s / %s", what, steps, kind, p.Name)
	}
	all := []measure{
		{name("CPU", "uzda"), "%.3f x", 1, times(p.Ours, p.Name, steps, cpu)},
		{name("mallocs", "uzda"), "%.3f x", 1, times(p.Ours, p.Name, steps, mallocs)},
	}
	if p.Ours == Memory {
		all = append(all,
			measure{name("CPU", "durable"), "%.3f x", 0, times(Durable, p.Name, steps, cpu)},
			measure{name("mallocs", "durable"), "%.3f x", 0, times(Durable, p.Name, steps, mallocs)})
	}
	return all
}

// peersBars are the bars against the peers that took part, in the rounds in which
// they did.
func peersBars(rounds []Round) (bars []Bar) {
	for _, p := range Peers() {
		for _, steps := range []int{100, Full} {
			some := with(rounds, is(p.Name, steps))
			if len(some) == 0 {
				continue
			}
			for _, m := range beside(p, steps) {
				bars = append(bars, m.bar(some))
			}
		}
	}
	return bars
}

// with are the rounds that have such a run.
func with(rounds []Round, run func(Run) bool) (out []Round) {
	for _, r := range rounds {
		if slices.ContainsFunc(r, run) {
			out = append(out, r)
		}
	}
	return out
}

// measures are the bars, and what is told beside them.
func measures() []measure {
	// Figures are compared by their medians: what else the machine does comes in
	// bursts, which hit one run and not its neighbour.
	step := func(rounds []Round, who string, steps int, of func(task.Figures) float64) float64 {
		return median(rounds, func(r Round) float64 { return perStep(steps, of(*r.find(who, steps).Window)) })
	}
	run := func(rounds []Round, who string, of func(task.Figures) float64) float64 {
		return median(rounds, func(r Round) float64 { return of(r.find(who, Full).Whole) })
	}
	over := func(steps int, of func(task.Figures) float64) func([]Round) float64 {
		return func(rounds []Round) float64 { return step(rounds, Memory, steps, of) - step(rounds, Floor, steps, of) }
	}
	part := func(steps int) func([]Round) float64 {
		return func(rounds []Round) float64 {
			return step(rounds, Memory, steps, cpu) / step(rounds, Floor, steps, cpu)
		}
	}
	durable := func(of func(task.Figures) float64) func([]Round) float64 {
		return func(rounds []Round) float64 {
			return run(rounds, Durable, of) / (run(rounds, Memory, of) + run(rounds, ByHand, of))
		}
	}
	return []measure{
		{"CPU over the floor, step 400 / step 20", "%.2f x", 1.3,
			func(rounds []Round) float64 { return over(Long, cpu)(rounds) / over(Short, cpu)(rounds) }},
		{"mallocs a step over the floor, step 20", "%.0f", 500, over(Short, mallocs)},
		{"mallocs a step over the floor, step 400", "%.0f", 500, over(Long, mallocs)},
		{"CPU, 400 steps, memory / floor", "%.2f x", 1.5, times(Memory, Floor, Full, cpu)},
		{"CPU, 400 steps, durable / (memory + hand)", "%.2f x", 1.5, durable(cpu)},
		{"CPU a step over the floor, step 20, µs", "%.0f", 0, micros(over(Short, cpu))},
		{"CPU a step over the floor, step 400, µs", "%.0f", 0, micros(over(Long, cpu))},
		{"CPU a step, memory / floor, step 20", "%.2f x", 0, part(Short)},
		{"CPU a step, memory / floor, step 400", "%.2f x", 0, part(Long)},
		{"time, 400 steps, memory / floor", "%.2f x", 0, times(Memory, Floor, Full, wall)},
		{"time, 400 steps, durable / (memory + hand)", "%.2f x", 0, durable(wall)},
		{"CPU, 400 steps, Messages / its floor", "%.2f x", 0, times(Messages, FloorMessages, Full, cpu)},
	}
}

func micros(f func([]Round) float64) func([]Round) float64 {
	return func(rounds []Round) float64 { return f(rounds) / float64(time.Microsecond) }
}

func median(rounds []Round, of func(Round) float64) float64 {
	values := make([]float64, len(rounds))
	for i, r := range rounds {
		values[i] = of(r)
	}
	return Median(values)
}

// Median of some values; 0 of none.
func Median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	s := slices.Sorted(slices.Values(values))
	return (s[(len(s)-1)/2] + s[len(s)/2]) / 2
}

// Bars computes the bars of some rounds, of which the first has all contestants.
func Bars(rounds []Round) (bars []Bar) {
	for _, m := range measures() {
		bars = append(bars, m.bar(rounds))
	}
	return append(bars, peersBars(rounds)...)
}

// bar computes a bar. Its spread comes from drawing as many rounds again, many times;
// the draws are the same each time.
func (m measure) bar(rounds []Round) Bar {
	const draws = 1000
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // statistics, no secrets
	drawn, values := make([]Round, len(rounds)), make([]float64, draws)
	for i := range values {
		for j := range drawn {
			drawn[j] = rounds[random.IntN(len(rounds))]
		}
		values[i] = m.of(drawn)
	}
	slices.Sort(values)
	b := Bar{What: m.what, Value: m.of(rounds), Low: values[draws/20], High: values[draws-1-draws/20], Most: m.most, form: m.form}
	b.Held = b.Most == 0 || b.Value <= b.Most
	return b
}

// Missed lists the bars that do not hold.
func Missed(bars []Bar) (out []Bar) {
	for _, b := range bars {
		if !b.Held {
			out = append(out, b)
		}
	}
	return out
}

// Sure says whether more rounds would hardly change what the bars say.
func Sure(bars []Bar) bool { return !slices.ContainsFunc(bars, func(b Bar) bool { return !b.Sure() }) }

// A Row is the medians of a contestant's runs of one length.
type Row struct {
	Contestant string       `json:"contestant"`
	Steps      int          `json:"steps"`
	Part       string       `json:"part,omitempty"` // of the run; "": all of it
	Total      task.Figures `json:"total"`          // of all steps
	Step       task.Figures `json:"step"`           // of one
	RSS        int64        `json:"max_rss_bytes,omitempty"`
}

// Rows sums up rounds, of which the first has all contestants, in the order in which
// they ran.
func Rows(rounds []Round) []Row {
	var whole, parts []Row
	for _, one := range rounds[0] {
		get := func(of func(Run) float64) float64 {
			return median(with(rounds, is(one.Contestant, one.Steps)), func(r Round) float64 { return of(r.find(one.Contestant, one.Steps)) })
		}
		row := func(part string, steps int, of func(Run) task.Figures) Row {
			total := task.Figures{
				CPU:     time.Duration(get(func(r Run) float64 { return float64(of(r).CPU) })),
				Wall:    time.Duration(get(func(r Run) float64 { return float64(of(r).Wall) })),
				Mallocs: uint64(get(func(r Run) float64 { return float64(of(r).Mallocs) })),
				Bytes:   uint64(get(func(r Run) float64 { return float64(of(r).Bytes) })),
			}
			return Row{Contestant: one.Contestant, Steps: steps, Part: part, Total: total, Step: total.Per(steps)}
		}
		w, part := Window(one.Steps)
		if !part {
			r := row("", one.Steps, func(r Run) task.Figures { return r.Whole })
			r.RSS = int64(get(func(r Run) float64 { return float64(r.RSS) }))
			whole = append(whole, r)
			continue
		}
		n := w.To - w.From
		if one.Steps == Short {
			n *= Times
		}
		parts = append(parts, row(fmt.Sprintf("%d-%d", w.From+1, w.To), n, func(r Run) task.Figures { return *r.Window }))
	}
	slices.SortStableFunc(whole, func(a, b Row) int { return a.Steps - b.Steps })
	slices.SortStableFunc(parts, func(a, b Row) int { return len(a.Part) - len(b.Part) })
	return append(whole, parts...)
}

// Print writes rows and bars for people, in 80 columns.
func Print(w io.Writer, rows []Row, bars []Bar) {
	const step = "%-9s %-16s %8s %8s %9s %9s %8s %6s"
	line(w, step, "steps", "contestant", "CPU ms", "ms/step", "mallocs", "KB", "time ms", "RSS MB")
	line(w, step, "", "", "", "", "/step", "/step", "", "")
	before := ""
	for _, r := range rows {
		steps := r.Part
		if steps == "" {
			steps = fmt.Sprint(r.Steps)
		}
		if before != "" && steps != before {
			fmt.Fprintln(w)
		}
		rss := ""
		if r.RSS > 0 {
			rss = fmt.Sprintf("%.1f", float64(r.RSS)/1e6)
		}
		line(w, step, steps, r.Contestant, ms(r.Total.CPU, 1), ms(r.Step.CPU, 3), fmt.Sprint(r.Step.Mallocs),
			fmt.Sprintf("%.1f", float64(r.Step.Bytes)/1e3), ms(r.Total.Wall, 1), rss)
		before = steps
	}
	fmt.Fprintln(w)
	PrintBars(w, bars)
}

// PrintBars writes bars for people, in 80 columns.
func PrintBars(w io.Writer, bars []Bar) {
	const bar = "%-43s %8s %14s %7s %4s"
	line(w, bar, "bar", "measured", "90% within", "most", "")
	for _, b := range bars {
		most, held := "", ""
		if b.Most > 0 {
			most, held = fmt.Sprintf(b.form, b.Most), "held"
			if !b.Held {
				held = "MISS"
			}
		}
		line(w, bar, b.What, fmt.Sprintf(b.form, b.Value), between(b), most, held)
	}
}

func line(w io.Writer, form string, cells ...any) {
	fmt.Fprintln(w, strings.TrimRight(fmt.Sprintf(form, cells...), " "))
}

func between(b Bar) string {
	if max(b.Most, -b.Low, b.High) >= 100 {
		return fmt.Sprintf("%.0f .. %.0f", b.Low, b.High)
	}
	return fmt.Sprintf("%.2f .. %.2f", b.Low, b.High)
}

func ms(d time.Duration, places int) string {
	return fmt.Sprintf("%.*f", places, float64(d)/float64(time.Millisecond))
}
