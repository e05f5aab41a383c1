package journal

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"iter"
	"os"
	"time"

	"github.com/uzda-dev/uzda"
)

// watched is how often a waiter looks whether another process has appended.
const watched = 100 * time.Millisecond

// Read implements uzda.Journal. It yields what is durable: an append that may
// still be taken back is not there yet.
func (j *Files) Read(ctx context.Context, id uzda.SessionID, after uzda.Seq) iter.Seq2[uzda.Event, error] {
	return func(yield func(uzda.Event, error) bool) {
		if err := id.Check(); err != nil {
			yield(uzda.Event{}, err)
			return
		}
		if err := j.read(ctx, id, after, yield); err != nil {
			yield(uzda.Event{}, fmt.Errorf("read session %s: %w", id, err))
		}
	}
}

func (j *Files) read(ctx context.Context, id uzda.SessionID, after uzda.Seq, yield func(uzda.Event, error) bool) error {
	f, done := j.file(id)
	f.mu.Lock()
	err := f.look(ctx)
	now, prev := f.mark, f.prev
	f.mu.Unlock()
	done()
	if err != nil || now.head <= after {
		return err
	}
	r, err := os.Open(j.path(id, extEvents))
	if err != nil {
		return err
	}
	defer r.Close()
	from := int64(0)
	switch {
	case prev.end > 0 && after >= prev.head:
		from = prev.end
	case after > 0:
		if from, err = find(r, after, now.end); err != nil {
			return err
		}
	}
	for raw, err := range lines(r, from, now.end) {
		if err != nil {
			return err
		}
		l, ok := uzda.SplitLine(raw)
		if !ok {
			return fmt.Errorf("there is a line that is no record")
		}
		if seq, _, _ := envelope(l.Head); seq <= after && seq > 0 {
			continue
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		e, _, err := uzda.Open(own(l), j.whole)
		if err != nil {
			return err
		}
		if !yield(e, nil) {
			return nil
		}
	}
	return nil
}

// own copies a line's body, of which Unread and Erased keep parts.
func own(l uzda.Line) uzda.Line {
	l.Body = bytes.Clone(l.Body)
	return l
}

// look brings f up to date where its file has changed.
func (f *file) look(ctx context.Context) error {
	if err := f.renew(); err != nil {
		return err
	}
	info, err := os.Stat(f.path)
	if missing(err) {
		if f.end > 0 {
			f.reset()
		}
		return nil
	}
	if err != nil {
		return err
	}
	if info.Size() == f.end && f.torn == 0 {
		return nil
	}
	if f.store.disk.asIs {
		return f.refresh()
	}
	unlock, err := f.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	return f.refresh()
}

// event reads one event that is there.
func (f *file) event(seq uzda.Seq) (e uzda.Event, err error) {
	r, err := os.Open(f.path)
	if err != nil {
		return e, err
	}
	defer r.Close()
	from, err := find(r, seq-1, f.end)
	if err != nil {
		return e, err
	}
	for raw, err := range lines(r, from, f.end) {
		if err != nil {
			return e, err
		}
		l, _ := uzda.SplitLine(raw)
		if n, _, _ := envelope(l.Head); n == seq {
			e, _, err = uzda.Open(own(l), f.store.whole)
			return e, err
		}
	}
	return e, fmt.Errorf("event %d: %w", seq, uzda.ErrNotFound)
}

// find returns where to begin reading so as to meet the event after seq soon:
// the beginning of a line at or before it. Numbers grow along the file and begin
// each line, so it halves.
func find(r io.ReaderAt, seq uzda.Seq, end int64) (int64, error) {
	low, high := int64(0), end // the line wanted begins at low or later
	buf := make([]byte, 4<<10)
	for high-low > 64<<10 {
		mid := low + (high-low)/2
		at, n, err := lineAt(r, mid, high, buf)
		if err != nil {
			return 0, err
		}
		if at < 0 || n > seq+1 {
			high = mid
		} else {
			low = at
		}
	}
	return low, nil
}

// lineAt finds the first line that begins after an offset and before to, and
// its number; -1 if there is none.
func lineAt(r io.ReaderAt, from, to int64, buf []byte) (at int64, seq uzda.Seq, err error) {
	for from < to {
		n, err := r.ReadAt(buf[:min(int64(len(buf)), to-from)], from)
		if n == 0 {
			return -1, 0, err
		}
		if i := bytes.IndexByte(buf[:n], '\n'); i >= 0 {
			at = from + int64(i) + 1
			if at >= to {
				return -1, 0, nil
			}
			n, err := r.ReadAt(buf[:32], at)
			if n == 0 {
				return -1, 0, err
			}
			seq, _, _ = envelope(buf[:n])
			return at, seq, nil
		}
		from += int64(n)
	}
	return -1, 0, nil
}

// Wait implements uzda.Waiter.
func (j *Files) Wait(ctx context.Context, id uzda.SessionID, after uzda.Seq) error {
	if err := id.Check(); err != nil {
		return err
	}
	f, done := j.file(id)
	defer done()
	tick := time.NewTicker(watched)
	defer tick.Stop()
	for {
		f.mu.Lock()
		err := f.look(ctx)
		if err != nil || f.head > after {
			f.mu.Unlock()
			return err
		}
		if f.news == nil {
			f.news = make(chan struct{})
		}
		news := f.news
		f.mu.Unlock()
		select {
		case <-news:
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
