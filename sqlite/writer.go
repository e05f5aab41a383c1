package sqlite

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"
)

const (
	// patience is how long a write waits for another program's lock, if its
	// context does not end before.
	patience = 2 * time.Minute
	// maxBatch is how many writes share a transaction.
	maxBatch = 256
	// heavy is how many bytes of blobs a transaction writes before the log is
	// cut back after it: otherwise the log would stay as large as they are.
	heavy = 4 << 20
)

// A job is one write. Its run may be called more than once, each time in a
// transaction that has none of what it did before; the last call counts.
type job struct {
	run   func(c *conn) error
	bytes int // of blobs that it may write
	state jobState
	err   error
	done  chan struct{}
}

type jobState int

const (
	waiting jobState = iota
	taken            // the writer has it: it is done or fails as a whole
	left             // its caller has gone before it was taken
)

// writer runs jobs on the only connection that writes. A job that finds it at
// rest is run by its caller; those that come while a transaction runs wait, and
// are the next one together, each in a savepoint of its own.
type writer struct {
	c *conn

	mu      sync.Mutex // all below, and the states of jobs
	queue   []*job
	running bool // somebody uses the connection
	closed  bool
	wake    chan struct{} // has room for one
	ended   chan struct{}
	err     error // of closing
}

func startWriter(c *conn) *writer {
	w := &writer{c: c, wake: make(chan struct{}, 1), ended: make(chan struct{})}
	go w.loop()
	return w
}

// write runs a job and returns its error. If ctx ends before a transaction has
// begun, nothing was written.
func (w *writer) write(ctx context.Context, bytes int, run func(c *conn) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	j := &job{run: run, bytes: bytes}
	w.mu.Lock()
	if w.closed {
		w.mu.Unlock()
		return errClosed
	}
	if !w.running && len(w.queue) == 0 {
		w.running = true
		w.mu.Unlock()
		return w.lead(ctx, j)
	}
	j.done = make(chan struct{})
	w.queue = append(w.queue, j)
	w.mu.Unlock()
	w.signal()
	select {
	case <-j.done:
	case <-ctx.Done():
		w.mu.Lock()
		if j.state == waiting {
			j.state = left
			w.mu.Unlock()
			return ctx.Err()
		}
		w.mu.Unlock()
		<-j.done // its transaction has begun: say what became of it
	}
	return j.err
}

// lead runs a job in the goroutine of its caller, with those that come while it
// waits for the lock.
func (w *writer) lead(ctx context.Context, j *job) error {
	defer w.rest()
	err := w.begin(func() bool { return ctx.Err() == nil })
	if errors.Is(err, errNobody) {
		return ctx.Err()
	}
	if err != nil {
		return err
	}
	w.transact(append([]*job{j}, w.take(maxBatch-1)...))
	return j.err
}

// rest lets go of the connection.
func (w *writer) rest() {
	w.mu.Lock()
	w.running = false
	more := len(w.queue) > 0 || w.closed
	w.mu.Unlock()
	if more {
		w.signal()
	}
}

func (w *writer) signal() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// close lets the jobs that wait finish, and ends the writer.
func (w *writer) close() error {
	w.mu.Lock()
	w.closed = true
	w.mu.Unlock()
	w.signal()
	<-w.ended
	return w.err
}

func (w *writer) loop() {
	defer close(w.ended)
	for range w.wake {
		for w.enter() {
			w.round()
			w.rest()
		}
		w.mu.Lock()
		over := w.closed && !w.running && len(w.queue) == 0
		w.mu.Unlock()
		if over {
			w.err = w.c.close()
			return
		}
	}
}

// enter takes the connection, if it is free and somebody waits.
func (w *writer) enter() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.running || !w.waited() {
		return false
	}
	w.running = true
	return true
}

// wanted says whether somebody waits.
func (w *writer) wanted() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.waited()
}

// waited drops the jobs whose callers have gone, and says whether others wait.
func (w *writer) waited() bool {
	for len(w.queue) > 0 && w.queue[0].state == left {
		w.queue = w.queue[1:]
	}
	return len(w.queue) > 0
}

// take returns the jobs of a transaction. From here on they do not end with
// their contexts.
func (w *writer) take(most int) []*job {
	w.mu.Lock()
	defer w.mu.Unlock()
	var batch []*job
	for len(w.queue) > 0 && len(batch) < most {
		j := w.queue[0]
		w.queue[0], w.queue = nil, w.queue[1:]
		if j.state == waiting {
			j.state = taken
			batch = append(batch, j)
		}
	}
	return batch
}

// round runs one transaction of those who wait.
func (w *writer) round() {
	err := w.begin(w.wanted)
	if errors.Is(err, errNobody) {
		return
	}
	batch := w.take(maxBatch)
	if err != nil {
		for _, j := range batch {
			j.err = err
			close(j.done)
		}
		return
	}
	w.transact(batch)
}

// transact runs a batch in the transaction that has begun, and tells who waits.
func (w *writer) transact(batch []*job) {
	err := w.run(batch)
	switch {
	case err != nil && len(batch) == 1:
		batch[0].err = err
	case err != nil: // one of them broke the transaction: let the others not suffer
		for _, j := range batch {
			err := w.begin(func() bool { return true })
			if err == nil {
				err = w.run([]*job{j})
			}
			if err != nil {
				j.err = err
			}
		}
	}
	for _, j := range batch {
		if j.done != nil {
			close(j.done)
		}
	}
	w.trim(batch)
}

var errNobody = errors.New("nobody waits for the transaction")

// begin starts a transaction that may write. It waits for other processes as
// long as it is wanted, within patience.
func (w *writer) begin(wanted func() bool) error {
	start, pause := time.Now(), 500*time.Microsecond
	for {
		_, err := w.c.exec("BEGIN IMMEDIATE")
		if err == nil || !isBusy(err) {
			return err
		}
		if time.Since(start) > patience {
			return fmt.Errorf("waited %s for the lock: %w", patience, err)
		}
		if !wanted() {
			return errNobody
		}
		time.Sleep(pause/2 + rand.N(pause))
		pause = min(2*pause, 10*time.Millisecond)
	}
}

// run runs the jobs of a transaction that has begun and ends it. The error is
// that of the transaction: nothing was written then.
func (w *writer) run(batch []*job) error {
	ended := false
	defer func() {
		if !ended { // a panic on its way through
			w.rollback()
		}
	}()
	err := w.runAll(batch)
	ended = true
	return err
}

func (w *writer) runAll(batch []*job) error {
	if len(batch) == 0 {
		w.rollback()
		return nil
	}
	if len(batch) == 1 {
		j := batch[0]
		if j.err = j.run(w.c); j.err == nil {
			return w.commit()
		}
		w.rollback()
		return nil
	}
	for _, j := range batch {
		if err := w.apart(j); err != nil {
			w.rollback()
			return err
		}
	}
	return w.commit()
}

// apart runs a job in a savepoint, so that its failure leaves the others.
func (w *writer) apart(j *job) error {
	if _, err := w.c.exec("SAVEPOINT job"); err != nil {
		return err
	}
	j.err = j.run(w.c)
	if j.err != nil {
		// SQLite itself rolls everything back on some errors, such as a full disk:
		// then there is no savepoint any more.
		if _, err := w.c.exec("ROLLBACK TO job"); err != nil {
			return errors.Join(j.err, err)
		}
	}
	_, err := w.c.exec("RELEASE job")
	return err
}

func (w *writer) commit() error {
	start := time.Now()
	for {
		_, err := w.c.exec("COMMIT")
		// Only without a WAL do readers hold up a commit.
		if isBusy(err) && time.Since(start) < patience {
			time.Sleep(time.Millisecond + rand.N(time.Millisecond))
			continue
		}
		if err != nil {
			w.rollback()
		}
		return err
	}
}

// rollback ends a transaction, if SQLite has not done so itself.
func (w *writer) rollback() { _, _ = w.c.exec("ROLLBACK") }

// trim cuts the log back after large writes. That it may be in use is no fault:
// the next one will do it.
func (w *writer) trim(batch []*job) {
	n := 0
	for _, j := range batch {
		if j.err == nil {
			n += j.bytes
		}
	}
	if n >= heavy {
		_, _ = w.c.one("PRAGMA wal_checkpoint(TRUNCATE)")
	}
}

func (db *DB) write(ctx context.Context, bytes int, run func(c *conn) error) error {
	return db.writer.write(ctx, bytes, run)
}
