package journal

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"

	"github.com/uzda-dev/uzda"
)

// file is what a handle knows of one session: the end of its file up to where
// it has read it. Its methods are called with mu held.
type file struct {
	store *Files
	id    uzda.SessionID
	path  string
	users int // counted by store.mu

	mu sync.Mutex
	mark
	prev   mark // the end before the last append: where its readers begin
	last   int64
	ids    map[string]uzda.Seq
	info   uzda.SessionInfo
	noted  mark // how far info goes
	loaded bool // the index was looked for
	saved  int64
	gone   int64         // how far the list of removed sessions was read
	torn   int64         // how long the file was when a failed write could not be taken back; 0 if none
	news   chan struct{} // closed by the next append; nil while nobody waits
}

// mark is a place between two events of a file.
type mark struct {
	end  int64 // bytes
	head uzda.Seq
	link string
}

// lock orders appends of all processes, and changes of the lease.
func (f *file) lock(ctx context.Context) (unlock func(), err error) {
	return f.store.disk.lock(ctx, f.store.path(f.id, extLock))
}

func (f *file) append(ctx context.Context, at uzda.At, bodies []uzda.Body) ([]uzda.Event, error) {
	unlock, err := f.lock(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	if at.Epoch != 0 {
		if l, err := f.lease(); err != nil {
			return nil, err
		} else if l.Epoch != at.Epoch {
			return nil, uzda.ErrFenced
		}
	}
	if err := f.refresh(); err != nil {
		return nil, err
	}
	if err := at.Fits(f.head); err != nil {
		return nil, err
	}
	p, err := f.seal(at.Epoch, bodies)
	if err != nil {
		return nil, err
	}
	e := entry{Reserve: at.Reserve, Settle: at.Settle, Claim: at.Claim}
	if e.empty() {
		err = f.write(p)
	} else {
		err = f.store.count(ctx, e, func() error { return f.write(p) })
	}
	if err != nil {
		return nil, err
	}
	f.commit(p)
	return p.result, nil
}

// pending is an append that is sealed, but not written yet.
type pending struct {
	mark
	last   int64
	buf    []byte
	size   int64 // as uzda.SessionInfo counts it
	fresh  []uzda.Event
	result []uzda.Event // with the first event in place of a repeated input
	ids    map[string]uzda.Seq
}

// seal encodes bodies and stores their blobs.
func (f *file) seal(epoch int64, bodies []uzda.Body) (*pending, error) {
	p := &pending{mark: f.mark, last: f.last, ids: map[string]uzda.Seq{}}
	now := f.store.now()
	for _, b := range bodies {
		if input := uzda.InputID(b); input != "" {
			if seq, ok := p.ids[input]; ok {
				p.result = append(p.result, p.fresh[seq-f.head-1])
				continue
			}
			if seq, ok := f.ids[input]; ok {
				e, err := f.event(seq)
				if err != nil {
					return nil, err
				}
				p.result = append(p.result, e)
				continue
			}
			p.ids[input] = p.head + 1
		}
		e := uzda.Event{Seq: p.head + 1, At: now, By: epoch, Prev: p.link, Body: b}
		line, err := uzda.Seal(&e, f.store.put)
		if err != nil {
			return nil, err
		}
		p.last = p.end
		n := len(p.buf)
		p.buf = line.Append(p.buf)
		p.size += line.Size()
		p.mark = mark{p.end + int64(len(p.buf)-n), e.Seq, line.Link}
		p.fresh, p.result = append(p.fresh, e), append(p.result, e)
	}
	return p, nil
}

// write appends to the file, or leaves it as it was.
func (f *file) write(p *pending) error {
	if len(p.buf) == 0 {
		return nil
	}
	d := &f.store.disk
	w, err := os.OpenFile(f.path, os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	defer w.Close()
	if f.end == 0 { // the file may be new
		if err := d.syncDir(filepath.Dir(f.path)); err != nil {
			return err
		}
	}
	if err = d.writeAt(w, p.buf, f.end); err != nil {
		err = fmt.Errorf("write %d bytes: %w", len(p.buf), err)
		if back := d.cut(w, f.end); back != nil {
			if info, err := w.Stat(); err == nil {
				f.torn = info.Size()
			}
			return errors.Join(err, fmt.Errorf("take back what was written of it: %w", back))
		}
	}
	return err
}

func (f *file) commit(p *pending) {
	if len(p.fresh) == 0 {
		return
	}
	if f.noted.end == f.end {
		for _, e := range p.fresh {
			f.info.Note(e)
		}
		f.info.Size += p.size
		f.noted = p.mark
	}
	f.prev, f.mark, f.last = f.mark, p.mark, p.last
	for input, seq := range p.ids {
		f.input(input, seq)
	}
	f.wake()
}

func (f *file) input(input string, seq uzda.Seq) {
	if f.ids == nil {
		f.ids = map[string]uzda.Seq{}
	}
	if _, ok := f.ids[input]; !ok {
		f.ids[input] = seq
	}
}

func (f *file) wake() {
	if f.news != nil {
		close(f.news)
		f.news = nil
	}
}

// refresh reads what others appended since, and mends what a crash left. The
// caller holds the lock.
func (f *file) refresh() error {
	if err := f.renew(); err != nil {
		return err
	}
	f.load()
	mode := os.O_RDWR
	if f.store.disk.asIs {
		mode = os.O_RDONLY
	}
	r, err := os.OpenFile(f.path, mode, 0)
	if missing(err) {
		f.reset()
		return nil
	}
	if err != nil {
		return err
	}
	defer r.Close()
	info, err := r.Stat()
	if err != nil {
		return err
	}
	size := info.Size()
	if f.torn > f.end && f.torn == size { // else another process has mended it, and gone on
		if err := f.store.disk.cut(r, f.end); err != nil {
			return fmt.Errorf("take back an append that failed: %w", err)
		}
		size = f.end
	}
	f.torn = 0
	switch {
	case size == f.end:
		return nil
	case size < f.end:
		f.store.warn(fmt.Sprintf("session %s: its file has become shorter, %d bytes from %d: it is read anew", f.id, size, f.end))
		f.reset()
	}
	return f.scan(r, size)
}

func (f *file) reset() {
	f.mark, f.prev, f.last, f.ids, f.noted, f.saved = mark{}, mark{}, 0, nil, mark{}, 0
	f.info = uzda.SessionInfo{ID: f.id}
}

// scan takes in the lines from f.end on.
func (f *file) scan(r *os.File, size int64) error {
	from := f.mark
	for raw, err := range lines(r, f.end, size) {
		if err != nil {
			return err
		}
		if f.store.disk.asIs && raw[len(raw)-1] != '\n' { // somebody may be writing it
			break
		}
		next, err := f.take(raw)
		if err != nil {
			return f.mend(r, raw, size, err)
		}
		if raw[len(raw)-1] != '\n' { // whole, but for its end
			if err := f.store.disk.writeAt(r, []byte{'\n'}, size); err != nil {
				return fmt.Errorf("end the last record: %w", err)
			}
			next.end++
		}
		f.last, f.mark = f.end, next
	}
	if f.mark != from {
		f.prev = from
		f.wake()
	}
	return nil
}

// take checks a line against the one before, and returns the mark after it.
func (f *file) take(raw []byte) (mark, error) {
	l, ok := uzda.SplitLine(raw)
	if !ok {
		return mark{}, fmt.Errorf("event %d is no record", f.head+1)
	}
	seq, kind, prev := envelope(l.Head)
	if seq != f.head+1 || prev != f.link {
		return mark{}, fmt.Errorf("event %d does not follow event %d", seq, f.head)
	}
	if raw[len(raw)-1] != '\n' {
		if !json.Valid(l.Body) {
			return mark{}, fmt.Errorf("event %d is cut", seq)
		}
		if err := l.Check(); err != nil {
			return mark{}, err
		}
	}
	if inputs[kind] {
		if input := f.inputOf(l.Body); input != "" {
			f.input(input, seq)
		}
	}
	return mark{f.end + int64(len(raw)), seq, uzda.Hash(l.Head)}, nil
}

// inputs are the kinds that have an id of their poster.
var inputs = map[string]bool{
	"posted": true, "answered": true, "cancelled": true, "delivered": true,
	"late": true, "resolved": true, "noted": true, "edited": true,
}

func (f *file) inputOf(body []byte) string {
	var b struct {
		ID string `json:"id"`
	}
	if json.Unmarshal(body, &b) == nil {
		return b.ID
	}
	if whole, err := uzda.Inflate(body, f.store.whole); err == nil {
		_ = json.Unmarshal(whole, &b) // what cannot be read has no id
	}
	return b.ID
}

// envelope reads what the scan needs of a head, which Seal wrote.
func envelope(head []byte) (seq uzda.Seq, kind, prev string) {
	if rest, ok := bytes.CutPrefix(head, []byte(`{"seq":`)); ok {
		for _, c := range rest {
			if c < '0' || c > '9' || seq > 1<<60 {
				break
			}
			seq = 10*seq + uzda.Seq(c-'0')
		}
	}
	return seq, member(head, `,"kind":"`), member(head, `,"prev":"`)
}

func member(head []byte, key string) string {
	_, rest, ok := bytes.Cut(head, []byte(key))
	if !ok {
		return ""
	}
	value, _, _ := bytes.Cut(rest, []byte{'"'})
	return string(value)
}

// mend cuts a torn end away: a record without its newline, or one whose pages
// were not all written before the power went, which reads as zeros. What else is
// wrong is no crash's work, and stays for people to look at.
func (f *file) mend(r *os.File, raw []byte, size int64, fault error) error {
	torn := raw[len(raw)-1] != '\n'
	zeros := bytes.IndexByte(raw, 0) >= 0
	if !torn && !zeros {
		return fmt.Errorf("read at byte %d: %w: the file was changed, or the disk is at fault; restore it from a backup", f.end, fault)
	}
	if f.store.disk.asIs {
		return nil
	}
	if !torn { // more may follow: keep it
		rest := make([]byte, size-f.end)
		if _, err := r.ReadAt(rest, f.end); err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		if err := f.store.disk.replace(f.store.path(f.id, extTorn), rest, true); err != nil {
			return fmt.Errorf("keep a torn record: %w", err)
		}
	}
	if err := f.store.disk.cut(r, f.end); err != nil {
		return fmt.Errorf("cut a torn record away: %w", err)
	}
	f.store.warn(fmt.Sprintf("session %s: a crash tore the last record: %d bytes after event %d are cut away", f.id, size-f.end, f.head))
	f.wake()
	return nil
}

// lines yields the lines of a part of a file, with their newlines. A line is
// good until the next.
func lines(r io.ReaderAt, from, to int64) func(yield func([]byte, error) bool) {
	return func(yield func([]byte, error) bool) {
		br := bufio.NewReaderSize(io.NewSectionReader(r, from, to-from), int(min(max(to-from, 16), 256<<10)))
		for {
			line, err := br.ReadSlice('\n')
			if errors.Is(err, bufio.ErrBufferFull) {
				whole := bytes.Clone(line)
				line, err = br.ReadBytes('\n')
				line = append(whole, line...)
			}
			if err != nil && !errors.Is(err, io.EOF) {
				yield(nil, err)
				return
			}
			if len(line) > 0 && !yield(line, nil) || err != nil {
				return
			}
		}
	}
}
