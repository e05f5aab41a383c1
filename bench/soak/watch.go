package main

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"github.com/uzda-dev/uzda/bench/internal/proc"
)

// A sample is what the process held at a moment. What is not known is [proc.Unknown].
type sample struct {
	at         time.Duration
	stage      string
	done       int64 // sessions
	rss        int64
	heap       int64 // after a collection; Unknown in most samples
	fds        int64
	goroutines int64
	processes  int64
	files      int64 // that are temporary: in TMPDIR, and locks
	wal        int64
	store      int64 // bytes of the store's file
}

// sampler takes samples from time to time, until it is stopped.
type sampler struct {
	life  *life
	mark  string
	every time.Duration
	began time.Time

	mu    sync.Mutex
	stage string

	all  []sample // by whoever takes one
	quit context.CancelFunc
	work sync.WaitGroup
}

// watch begins to take samples.
func watch(l *life, mark string, every time.Duration) *sampler {
	ctx, quit := context.WithCancel(context.Background())
	s := &sampler{life: l, mark: mark, every: every, began: time.Now(), quit: quit}
	s.work.Go(func() {
		tick := time.NewTicker(every)
		defer tick.Stop()
		for n := 0; ; n++ {
			s.take(n%5 == 0)
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
		}
	})
	return s
}

func (s *sampler) enter(stage string) {
	s.mu.Lock()
	s.stage = stage
	s.mu.Unlock()
}

// stop ends it, with a last sample.
func (s *sampler) stop() []sample {
	s.quit()
	s.work.Wait()
	s.take(true)
	return s.all
}

func (s *sampler) take(collect bool) {
	s.mu.Lock()
	one := sample{at: time.Since(s.began), stage: s.stage, heap: proc.Unknown, done: s.life.done.Load()}
	s.mu.Unlock()
	if collect {
		runtime.GC()
		one.heap = proc.Heap()
	}
	one.hold(s.mark, s.life)
	s.all = append(s.all, one)
}

// hold notes what the process holds now.
func (o *sample) hold(mark string, l *life) {
	o.rss, o.fds, o.goroutines = proc.RSS(), proc.Descriptors(), int64(runtime.NumGoroutine())
	o.processes = proc.Marked(mark)
	if o.processes != proc.Unknown {
		o.processes += proc.Unwaited()
	}
	o.files, _ = proc.Files(os.TempDir())
	locks, _ := proc.Files(l.store() + ".locks")
	o.files += locks
	o.wal, o.store = proc.Size(l.store()+"-wal"), proc.Size(l.store())
}

// settled is what the process holds once what has ended is gone: it waits a while
// for what is still closing, until all is as at the start or time is up.
func settled(mark string, l *life, start *sample) sample {
	var s sample
	for range 100 {
		s = sample{}
		s.hold(mark, l)
		if start == nil || s.fds <= start.fds && s.goroutines <= start.goroutines && s.processes <= start.processes && s.files <= start.files {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	return s
}

// setTemp lets temporary files of this process and its children lie in a folder of
// their own, so that they can be counted.
func setTemp(dir string) error {
	dir = filepath.Join(dir, "tmp")
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	return os.Setenv("TMPDIR", dir)
}
