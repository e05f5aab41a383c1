package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/uzda-dev/uzda/bench/internal/provider"
	"github.com/uzda-dev/uzda/bench/internal/report"
	"github.com/uzda-dev/uzda/bench/internal/service"
	"github.com/uzda-dev/uzda/bench/internal/task"
)

// bench starts contestants against a provider in a process of its own.
type bench struct {
	self     string // this program
	dir      string
	url      string // of the provider
	provider *service.Process
	peers    string // see entries
	runs     int
	profiles string // folder and ending of profiles, with a * for their name; "": none are made
}

// start starts the provider.
func start(ctx context.Context, dir string) (*bench, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	if dir, err = os.MkdirTemp(dir, "bench"); err != nil {
		return nil, err
	}
	b := &bench{self: self, dir: dir}
	if b.provider, err = service.Start(service.Command(ctx, self, "provider")); err != nil {
		os.RemoveAll(dir)
		return nil, err
	}
	b.url = b.provider.URL
	return b, nil
}

func (b *bench) close() {
	b.provider.Close()
	os.RemoveAll(b.dir)
}

// warm runs every contestant once for nothing: the first finds caches cold.
func (b *bench) warm(ctx context.Context) error {
	for _, e := range entries(b.peers) {
		if _, err := b.run(ctx, e, e.steps[0]); err != nil {
			return fmt.Errorf("%s: %w", e.name, err)
		}
	}
	return nil
}

// rounds runs rounds until the bars are sure.
func (b *bench) rounds(ctx context.Context, least, most int, out io.Writer) (done []report.Round, err error) {
	if err := b.warm(ctx); err != nil {
		return nil, err
	}
	began := time.Now()
	for len(done) < least || len(done) < most && !report.Sure(report.Bars(done)) {
		r, err := b.round(ctx, len(done))
		if err != nil {
			return nil, err
		}
		done = append(done, r)
	}
	fmt.Fprintf(out, "medians of %d rounds, which took %s; CPU is user and system together\n\n", len(done), time.Since(began).Round(time.Second))
	return done, nil
}

// round runs everything once, in turn; every other round in the other order, so
// that a machine that becomes slower is nobody's fault.
func (b *bench) round(ctx context.Context, n int) (report.Round, error) {
	var out report.Round
	var lengths []int
	all := entries(b.peers)
	if n >= report.PeerRounds {
		all = entries("")
	}
	for _, e := range all {
		lengths = append(lengths, e.steps...)
	}
	slices.Sort(lengths)
	lengths = append(slices.Compact(lengths), report.Short, report.Long)
	for _, steps := range lengths {
		var runs []report.Run
		order := slices.Clone(all)
		if n%2 == 1 {
			slices.Reverse(order)
		}
		for _, e := range order {
			if _, part := report.Window(steps); part && e.windows || slices.Contains(e.steps, steps) {
				r, err := b.run(ctx, e, steps)
				if err != nil {
					return nil, fmt.Errorf("%s, %d steps: %w", e.name, steps, err)
				}
				runs = append(runs, r)
			}
		}
		if n%2 == 1 {
			slices.Reverse(runs)
		}
		out = append(out, runs...)
	}
	return out, nil
}

// profile writes profiles of a round's runs to a folder.
func (b *bench) profile(ctx context.Context, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, kind := range []string{"cpu", "allocs"} {
		b.profiles = filepath.Join(dir, "*."+kind)
		if _, err := b.round(ctx, 0); err != nil {
			return err
		}
	}
	return nil
}

// run runs a contestant in a process of its own, and looks whether it did the work.
func (b *bench) run(ctx context.Context, e entry, steps int) (report.Run, error) {
	b.runs++
	path := provider.Path(steps, fmt.Sprint(b.runs))
	dir := filepath.Join(b.dir, fmt.Sprint(b.runs))
	if err := os.Mkdir(dir, 0o700); err != nil {
		return report.Run{}, err
	}
	defer os.RemoveAll(dir)
	t := task.Task{URL: b.url + path + "/v1", Steps: steps, Dir: dir}
	w, part := report.Window(steps)
	if part {
		t.Windows = []task.Window{w}
	}
	if steps == report.Short {
		t.Times = report.Times
	}
	if b.profiles != "" {
		name := fmt.Sprintf("%s-%d", strings.NewReplacer(",", "", " ", "-").Replace(e.name), steps)
		t.Profile = strings.Replace(b.profiles, "*", name, 1)
	}
	raw, err := json.Marshal(t)
	if err != nil {
		return report.Run{}, err
	}
	c := service.Command(ctx, cmp.Or(e.command, b.self), "as", e.name, string(raw))
	var out bytes.Buffer
	c.Stdout = &out
	if err := c.Run(); err != nil {
		return report.Run{}, err
	}
	var r task.Result
	if err := json.Unmarshal(out.Bytes(), &r); err != nil {
		return report.Run{}, err
	}
	if err := b.check(ctx, path, t, r); err != nil {
		return report.Run{}, err
	}
	run := report.Run{Contestant: e.name, Steps: steps, Whole: r.Figures, RSS: cmp.Or(r.RSS, peak(c.ProcessState))}
	if part {
		run.Window = &r.Windows[0]
	}
	return run, nil
}

// check asks the provider whether a run had all its steps.
func (b *bench) check(ctx context.Context, path string, t task.Task, r task.Result) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, b.url+path, nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	var seen provider.Seen
	if err := json.NewDecoder(resp.Body).Decode(&seen); err != nil {
		return err
	}
	times := max(1, t.Times)
	if seen.Requests != times*(t.Steps+1) || seen.Answers != times || r.Answer != task.Answer {
		return fmt.Errorf("%d requests and %d answers for %d times %d steps, and the answer %q", seen.Requests, seen.Answers, times, t.Steps, r.Answer)
	}
	return nil
}

// peak is the most memory that a process had, where it does not know that itself; on
// some systems as much as this one at least, which started it.
func peak(s *os.ProcessState) int64 {
	u, ok := s.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0
	}
	if runtime.GOOS == "darwin" {
		return u.Maxrss
	}
	return u.Maxrss * 1024
}

// machine is what the figures depend on.
type machine struct {
	CPUs   int           `json:"cpus"`
	CPU    string        `json:"cpu,omitempty"`
	Go     string        `json:"go"`
	System string        `json:"system"`
	Sync   time.Duration `json:"sync_ns"` // of a write of 4 KB where durable runs store
}

func (m machine) String() string {
	return fmt.Sprintf("%d CPUs (%s), %s\n%s, a synced write of 4 KB takes %s", m.CPUs, cmp.Or(m.CPU, "of unknown make"), m.Go, m.System, m.Sync.Round(time.Microsecond))
}

// named is the machine in general terms.
func (m machine) named() string {
	return fmt.Sprintf("%d CPUs (%s), %s, %s; a synced write of 4 KB takes %s", m.CPUs, cmp.Or(m.CPU, "of unknown make"), strings.Fields(m.System)[0], m.Go, m.Sync.Round(time.Microsecond))
}

func facts(dir string) (machine, error) {
	m := machine{CPUs: runtime.NumCPU(), Go: runtime.Version(), System: runtime.GOOS + "/" + runtime.GOARCH}
	if raw, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		m.System += " " + strings.TrimSpace(string(raw))
	}
	if raw, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		if _, rest, ok := strings.Cut(string(raw), "model name"); ok {
			line, _, _ := strings.Cut(rest, "\n")
			m.CPU = strings.TrimSpace(strings.TrimLeft(line, "\t :"))
		}
	}
	f, err := os.Create(filepath.Join(dir, "sync"))
	if err != nil {
		return m, err
	}
	defer f.Close()
	const writes = 50
	block, began := make([]byte, 4096), time.Now()
	for range writes {
		if _, err := f.Write(block); err != nil {
			return m, err
		}
		if err := f.Sync(); err != nil {
			return m, err
		}
	}
	m.Sync = time.Since(began) / writes
	return m, nil
}
