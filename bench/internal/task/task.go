// Package task is the work that every contestant of the benchmark does, with the
// meter that runs with it.
package task

import (
	"context"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/uzda-dev/uzda/bench/internal/proc"
)

// What every contestant says and offers. The provider answers the question with
// one call of the tool a step, and at last with [Answer].
const (
	Model       = "bench"
	Key         = "sk-bench"
	System      = "You are a careful agent. Use the tool until the work is done."
	Question    = "Echo each number once, then say that you are done."
	Tool        = "echo"
	Description = "Give back the text of a page by its number. Use it once for each page."
	Schema      = `{"type":"object","properties":{"n":{"type":"integer"},"note":{"type":"string"}},"required":["n","note"],"additionalProperties":false}`
	Answer      = "All pages are read."
	// Step is by how many bytes a request of the floor is longer than the one
	// before it, about.
	Step = 1024
)

// An Input is what the tool is called with.
type Input struct {
	N    int    `json:"n"`
	Note string `json:"note"`
}

// A Contestant does a task: an agent's loop that asks the model behind t.URL until
// it answers, and gives the answer. What it prepares that is not to be measured
// it closes with t.Restart.
type Contestant func(ctx context.Context, t *Task) (answer string, err error)

// A Task is one run of a contestant.
type Task struct {
	URL     string   // of the provider, up to and with /v1; it takes this task any number of times
	Steps   int      // calls of the tool before the answer
	Dir     string   // for what a durable contestant stores
	Windows []Window // what is measured besides the whole
	Times   int      // how often it is done, for windows that are short; default once
	Profile string   // where to write profiles to; "": nowhere
	begin   snapshot
	marks   map[int]snapshot // after how many steps
}

// A Window is the steps after From, up to and with To.
type Window struct{ From, To int }

// Figures are what a run used, or a part of it.
type Figures struct {
	CPU     time.Duration `json:"cpu_ns"` // user and system, all threads of the process
	Wall    time.Duration `json:"wall_ns"`
	Mallocs uint64        `json:"mallocs"`
	Bytes   uint64        `json:"bytes"` // allocated on the heap
}

// Per divides the figures among n steps.
func (f Figures) Per(n int) Figures {
	return Figures{f.CPU / time.Duration(n), f.Wall / time.Duration(n), f.Mallocs / uint64(n), f.Bytes / uint64(n)}
}

func (f Figures) add(g Figures) Figures {
	return Figures{f.CPU + g.CPU, f.Wall + g.Wall, f.Mallocs + g.Mallocs, f.Bytes + g.Bytes}
}

// A Result is what came of a run; of several, their sum and the last answer.
type Result struct {
	Figures
	Answer  string    `json:"answer"`
	RSS     int64     `json:"max_rss_bytes,omitempty"` // the most memory that the process had; 0: unknown
	Windows []Figures `json:"windows,omitempty"`
}

// Run lets a contestant do the task and measures it.
func (t *Task) Run(ctx context.Context, c Contestant) (Result, error) {
	t.marks = map[int]snapshot{}
	for _, w := range t.Windows {
		t.marks[w.From], t.marks[w.To] = snapshot{}, snapshot{}
	}
	r := Result{Windows: make([]Figures, len(t.Windows))}
	for range max(1, t.Times) {
		t.Restart()
		answer, err := c(ctx, t)
		r.Figures, r.Answer = r.add(take().since(t.begin)), answer
		for i, w := range t.Windows {
			r.Windows[i] = r.Windows[i].add(t.marks[w.To].since(t.marks[w.From]))
		}
		if err != nil || answer != Answer {
			return r, err
		}
	}
	r.RSS = max(0, proc.Peak())
	return r, nil
}

// Restart begins the measurement anew: what came before was preparation.
func (t *Task) Restart() {
	runtime.GC()
	t.begin = take()
}

var page = strings.Repeat("The quick brown fox jumps over the lazy dog; then it sleeps. ", 14)

// Echo is the tool: it gives back a page. Step n calls it with n, so that it also
// marks where windows begin and end.
func (t *Task) Echo(in Input) string {
	if _, ok := t.marks[in.N]; ok {
		t.marks[in.N] = take()
	}
	// Every result has the same length.
	n := strconv.Itoa(in.N)
	return "Page " + n + ": " + page[:737-len(n)]
}

// snapshot is what the process has used so far.
type snapshot struct {
	cpu     time.Duration
	at      time.Time
	mallocs uint64
	bytes   uint64
}

func take() snapshot {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return snapshot{cpu(), time.Now(), m.Mallocs, m.TotalAlloc}
}

func (s snapshot) since(from snapshot) Figures {
	return Figures{s.cpu - from.cpu, s.at.Sub(from.at), s.mallocs - from.mallocs, s.bytes - from.bytes}
}

// cpu is the time that this process has used. Unlike the clock it does not depend
// on what else the machine does.
func cpu() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err) // only for arguments that are wrong
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
