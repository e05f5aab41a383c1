package ours_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/uzda-dev/uzda/bench/internal/durable"
	"github.com/uzda-dev/uzda/bench/internal/floor"
	"github.com/uzda-dev/uzda/bench/internal/ours"
	"github.com/uzda-dev/uzda/bench/internal/provider"
	"github.com/uzda-dev/uzda/bench/internal/task"
)

// seen is a provider that notes how long requests are.
type seen struct {
	http.Handler
	mu    sync.Mutex
	sizes []int
}

func (s *seen) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodPost {
		s.mu.Lock()
		s.sizes = append(s.sizes, int(r.ContentLength))
		s.mu.Unlock()
	}
	s.Handler.ServeHTTP(w, r)
}

// Uzda does the task, and what it sends grows as what the floor sends: with a
// known length, and by as much a step.
func TestUzda(t *testing.T) {
	t.Parallel()
	const steps = 12
	for name, c := range map[string]task.Contestant{"memory": ours.Memory, "durable": durable.Run, "messages": ours.Messages} {
		p := &seen{Handler: provider.New(steps)}
		s := httptest.NewServer(p)
		one := task.Task{URL: s.URL + provider.Path(steps, name) + "/v1", Steps: steps, Dir: t.TempDir()}
		r, err := one.Run(t.Context(), c)
		s.Close()
		if err != nil || r.Answer != task.Answer || len(p.sizes) != steps+1 {
			t.Fatalf("%s: %+v, %v, %d requests", name, r, err, len(p.sizes))
		}
		for i, n := range p.sizes[1:] {
			if more := n - p.sizes[i]; more < task.Step-64 || more > task.Step+64 {
				t.Errorf("%s: request %d is %d bytes longer than the one before", name, i+2, more)
			}
		}
	}
}

// A step of Uzda makes at most 500 allocations more than one of the floor, near
// step 20 as near step 60: the bar of docs/performance.md that does not depend on
// the machine.
func TestAllocs(t *testing.T) { // not parallel: it counts the allocations of the process
	const steps, bar = 70, 500
	s := httptest.NewServer(provider.New(steps)) // its own allocations are the same for both
	defer s.Close()
	runs := 0
	windows := func(c task.Contestant) []task.Figures {
		runs++
		one := task.Task{URL: s.URL + provider.Path(steps, fmt.Sprint(runs)) + "/v1", Steps: steps,
			Windows: []task.Window{{From: 10, To: 30}, {From: 50, To: 70}}}
		r, err := one.Run(t.Context(), c)
		if err != nil || r.Answer != task.Answer {
			t.Fatal(r, err)
		}
		return r.Windows
	}
	best := [2]int{1 << 30, 1 << 30}
	for range 3 { // what else the process does only adds
		ours, floor := windows(ours.Memory), windows(floor.Run)
		for i := range best {
			best[i] = min(best[i], int(ours[i].Mallocs)/20-int(floor[i].Mallocs)/20)
		}
	}
	t.Logf("a step of Uzda makes %d allocations more than one of the floor near step 20, %d near step 60", best[0], best[1])
	for i, n := range best {
		if n > bar || n < 0 {
			t.Errorf("window %d: %d allocations a step over the floor, want at most %d", i+1, n, bar)
		}
	}
}
