package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/bench/internal/crowd"
	"github.com/uzda-dev/uzda/session"
	"github.com/uzda-dev/uzda/sqlite"
	"github.com/uzda-dev/uzda/tool/shell"
)

// steps is how many calls a session makes.
const steps = 2

// order says what session i does. Every tenth runs a command that leaves a process
// behind, every twentieth loses its stream in the middle, every twentieth is cancelled:
// in the middle of a reply, or of a command that would not end.
func order(i int) crowd.Order {
	o := crowd.Order{Name: i, Steps: steps}
	switch {
	case i%40 == 7:
		o.Hold = 2
	case i%40 == 27:
		o.Hang = 1
	case i%20 == 12:
		o.Cut = 2
	case i%10 == 3:
		o.Shell = 1
	}
	return o
}

// life is a host with its store, from opening to closing.
type life struct {
	dir  string
	db   *sqlite.DB
	host *session.Host
	done atomic.Int64 // sessions that came to their end
}

// names in a folder of the soak.
func (l *life) store() string { return filepath.Join(l.dir, "sessions.uzda") }
func (l *life) state() string { return filepath.Join(l.dir, "shell") }

func begin(dir, url string) (*life, error) {
	l := &life{dir: dir}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	sh, err := shell.New(shell.Config{State: l.state()})
	if err != nil {
		return nil, err
	}
	if l.db, err = sqlite.Open(l.store()); err != nil {
		return nil, err
	}
	l.host = crowd.Host(l.db, crowd.Worker(url, sh))
	return l, nil
}

func (l *life) close() error { return errors.Join(l.host.Close(), l.db.Close()) }

// atOnce runs sessions from number from on, all at once.
func (l *life) atOnce(ctx context.Context, from, n int) error {
	var wait sync.WaitGroup
	errs := make(chan error, n)
	for i := range n {
		wait.Go(func() {
			if err := l.one(ctx, order(from+i)); err != nil {
				errs <- err
			}
		})
	}
	wait.Wait()
	select {
	case err := <-errs:
		return fmt.Errorf("%d of %d sessions went wrong; one of them: %w", len(errs)+1, n, err)
	default:
		return nil
	}
}

// inSequence runs sessions one after the other, and says how far it is.
func (l *life) inSequence(ctx context.Context, from, n int, out io.Writer) error {
	told := time.Now()
	for i := range n {
		if time.Since(told) > 30*time.Second {
			told = time.Now()
			fmt.Fprintf(out, "  %d of them are done\n", i)
		}
		if err := l.one(ctx, order(from+i)); err != nil {
			return err
		}
	}
	return nil
}

// one runs a session to the end that its order says.
func (l *life) one(ctx context.Context, o crowd.Order) (err error) {
	if o.Hold > 0 || o.Hang > 0 {
		err = l.cancelled(ctx, o)
	} else {
		err = crowd.Do(ctx, l.host, o)
	}
	if err != nil {
		return fmt.Errorf("session %+v: %w", o, err)
	}
	l.done.Add(1)
	return nil
}

// cancelled runs a session that is cancelled once its watcher sees that it will not
// go on by itself.
func (l *life) cancelled(ctx context.Context, o crowd.Order) error {
	id, err := l.host.Open(ctx, uzda.Opening{Agent: crowd.Agent})
	if err != nil {
		return err
	}
	inside, cancel := context.WithCancel(ctx)
	defer cancel()
	said := make(chan error, 1)
	go func() {
		_, err := l.host.Say(inside, id, o.Text())
		said <- err
	}()
	watching, stop := context.WithCancel(ctx)
	defer stop()
	for e, err := range l.host.Watch(watching, id, 0) {
		if err != nil {
			return err
		}
		switch b := e.Body.(type) {
		case uzda.Streaming:
			if b.Ask == o.Hold {
				cancel()
			}
		case uzda.Started:
			if o.Hang > 0 {
				cancel()
			}
		case uzda.Ended:
			stop()
		}
	}
	err = <-said
	if out := (*uzda.Outcome)(nil); errors.As(err, &out) && out.Reason == uzda.CancelledByUser {
		return nil
	}
	return fmt.Errorf("it was to be cancelled, and ended: %w", err)
}
