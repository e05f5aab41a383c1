package journal

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/uzda-dev/uzda"
)

// FilesOptions say how a folder of sessions is kept. The zero value is good.
type FilesOptions struct {
	// Durability is "power" (the default): what was appended survives the loss
	// of power, or "process": it survives the death of the process only.
	Durability string
	TTL        time.Duration    // of a lease; default 15 seconds
	Now        func() time.Time // default time.Now
	// AsIs opens only a folder that there is, and writes nothing to it: for those who
	// look. What a crash tore is not mended, just not there.
	AsIs bool
	// Warn is told what was mended, for people. Default: standard error.
	Warn func(text string)
}

// Files keeps each session in a file of JSON lines, SESSION.jsonl in the form of
// [uzda.Line], whose name is the id where that is in lower case and free, and else
// has it in another spelling. Several processes may use one folder at once. Beside the sessions
// stand blobs/ (long strings, by hash), ledger.jsonl (holds, settlements and
// once-keys), and for each session a lease, a checkpoint and an index, of which
// the last two are caches.
//
// What an append holds or claims is durable before its events: a crash between
// the two leaves a hold, which counts as spent, and a key, which the same use
// may claim again.
type Files struct {
	disk disk
	ttl  time.Duration
	now  func() time.Time
	warn func(string)

	mu    sync.Mutex
	files map[uzda.SessionID]*file
	alive *liveness // nil until the first lease
	tally tally
}

var (
	_ uzda.Store     = (*Files)(nil)
	_ uzda.Ledger    = (*Files)(nil)
	_ uzda.Blobs     = (*Files)(nil)
	_ uzda.Keeper    = (*Files)(nil)
	_ uzda.Lister    = (*Files)(nil)
	_ uzda.Rebuilder = (*Files)(nil)
	_ uzda.Verifier  = (*Files)(nil)
	_ uzda.Waiter    = (*Files)(nil)
	_ uzda.Remover   = (*Files)(nil)
	_ uzda.Sizer     = (*Files)(nil)
)

// Folders inside the folder.
const (
	tmpDir   = "tmp"
	blobDir  = "blobs"
	aliveDir = "alive"
)

// Endings of a session's files.
const (
	extEvents = ".jsonl"
	extLock   = ".lock"
	extLease  = ".lease"
	extCheck  = ".check"
	extIndex  = ".index"
	extTorn   = ".torn"
	extGone   = ".gone" // the events of a session that is being removed
)

// cached is how many sessions a handle remembers the ends of.
const cached = 1024

// OpenFiles opens the folder of a store, and makes it if there is none.
func OpenFiles(dir string, o FilesOptions) (*Files, error) {
	f := &Files{
		ttl: o.TTL, now: o.Now, warn: o.Warn,
		files: map[uzda.SessionID]*file{},
	}
	f.disk.dir = dir
	switch o.Durability {
	case "", "power":
		f.disk.sync = true
	case "process":
	default:
		return nil, fmt.Errorf("open journals in %s: durability %q: want power or process", dir, o.Durability)
	}
	if f.ttl <= 0 {
		f.ttl = TTL
	}
	if f.now == nil {
		f.now = time.Now
	}
	if f.warn == nil {
		f.warn = func(text string) { fmt.Fprintln(os.Stderr, "uzda: "+text) }
	}
	if f.disk.asIs = o.AsIs; o.AsIs {
		if info, err := os.Stat(dir); err != nil || !info.IsDir() {
			return nil, fmt.Errorf("open journals in %s: there is no such folder: open it without AsIs, which makes it", dir)
		}
		return f, nil
	}
	for _, sub := range []string{tmpDir, blobDir, aliveDir} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o700); err != nil {
			return nil, fmt.Errorf("open journals in %s: make the folder: %w: name a folder that this user may write to", dir, err)
		}
	}
	probe, err := os.CreateTemp(filepath.Join(dir, tmpDir), "w-*")
	if err != nil {
		return nil, fmt.Errorf("open journals in %s: %w: name a folder that this user may write to", dir, err)
	}
	probe.Close()
	if err := os.Remove(probe.Name()); err != nil {
		return nil, fmt.Errorf("open journals in %s: %w", dir, err)
	}
	if err := f.disk.rename(); err != nil {
		return nil, fmt.Errorf("open journals in %s: %w", dir, err)
	}
	f.disk.sweep()
	f.finish()
	return f, nil
}

// Close saves indexes and gives up the leases of this handle.
func (j *Files) Close() error {
	j.mu.Lock()
	files := j.files
	j.files = map[uzda.SessionID]*file{}
	alive := j.alive
	j.alive = nil
	j.mu.Unlock()
	var errs []error
	for _, f := range files {
		f.mu.Lock()
		if f.end-f.saved > 64<<10 {
			errs = append(errs, f.save())
		}
		f.mu.Unlock()
	}
	if alive != nil {
		errs = append(errs, alive.close())
	}
	return errors.Join(errs...)
}

func (j *Files) path(id uzda.SessionID, ext string) string {
	return filepath.Join(j.disk.dir, name(id)+ext)
}

// file returns what this handle knows of a session. The caller calls done.
func (j *Files) file(id uzda.SessionID) (f *file, done func()) {
	j.mu.Lock()
	defer j.mu.Unlock()
	f = j.files[id]
	if f == nil {
		if len(j.files) >= cached {
			j.forget()
		}
		f = &file{store: j, id: id, path: j.path(id, extEvents)}
		j.files[id] = f
	}
	f.users++
	return f, func() {
		j.mu.Lock()
		f.users--
		j.mu.Unlock()
	}
}

// forget drops half of the sessions that nobody uses now; the caller holds j.mu.
func (j *Files) forget() {
	for id, f := range j.files {
		if f.users == 0 {
			delete(j.files, id)
		}
		if len(j.files) <= cached/2 {
			return
		}
	}
}

// Append implements uzda.Journal.
func (j *Files) Append(ctx context.Context, id uzda.SessionID, at uzda.At, bodies ...uzda.Body) ([]uzda.Event, error) {
	if err := uzda.Allowed(id, at, bodies); err != nil {
		return nil, err
	}
	f, done := j.file(id)
	defer done()
	f.mu.Lock()
	defer f.mu.Unlock()
	evs, err := f.append(ctx, at, bodies)
	if err != nil {
		return nil, fmt.Errorf("append to session %s: %w", id, err)
	}
	return evs, nil
}

// Keep implements uzda.Keeper.
func (j *Files) Keep(_ context.Context, id uzda.SessionID, data []byte) error {
	if err := id.Check(); err != nil {
		return err
	}
	if err := j.disk.replace(j.path(id, extCheck), data, false); err != nil {
		return fmt.Errorf("keep a checkpoint of session %s: %w", id, err)
	}
	return nil
}

// Kept implements uzda.Keeper.
func (j *Files) Kept(_ context.Context, id uzda.SessionID) ([]byte, error) {
	if err := id.Check(); err != nil {
		return nil, err
	}
	data, err := os.ReadFile(j.path(id, extCheck))
	if missing(err) {
		return nil, nil
	}
	return data, err
}
