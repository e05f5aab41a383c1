package crowd

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/bench/internal/proc"
)

// Speed is how many steps a second some sessions make at once. Those that are few
// are done again until so many steps are made that the clock tells.
func Speed(ctx context.Context, url, dir string, durable bool, sessions, steps, least int) (float64, error) {
	store, err := Store(dir, durable)
	if err != nil {
		return 0, err
	}
	h := Host(store, Worker(url))
	made, took := 0, time.Duration(0)
	for err == nil && made < least {
		var d time.Duration
		d, err = Together(ctx, h, sessions, func(i int) Order { return Order{Name: i, Steps: steps} })
		made, took = made+sessions*(steps+1), took+d // the answer is a step too
	}
	if err = errors.Join(err, h.Close(), uzda.CloseStore(store)); err != nil {
		return 0, fmt.Errorf("%d sessions at once: %w", sessions, err)
	}
	return float64(made) / took.Seconds(), nil
}

// Weight is what a parked session keeps, in bytes.
type Weight struct {
	RSS  float64 // of the process; on a system that does not tell it: of what the heap has
	Heap float64
}

// Parked is what each of some sessions keeps while it waits for an approval.
func Parked(ctx context.Context, url, dir string, durable bool, sessions int) (w Weight, err error) {
	store, err := Store(dir, durable)
	if err != nil {
		return w, err
	}
	h := Host(store, Worker(url))
	rss, heap := proc.Settled(), proc.Heap()
	_, err = Together(ctx, h, sessions, func(i int) Order { return Order{Name: i, Steps: 3, Ask: 3} })
	if err == nil {
		more := proc.Settled() - rss
		w.Heap = float64(proc.Heap()-heap) / float64(sessions)
		w.RSS = float64(more) / float64(sessions)
		if rss == proc.Unknown {
			w.RSS = w.Heap
		}
	}
	return w, errors.Join(err, h.Close(), uzda.CloseStore(store))
}
