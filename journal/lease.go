package journal

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"

	"github.com/uzda-dev/uzda"
)

// A lease is a file SESSION.lease, changed under the session's lock. Until when
// it lasts is the time of the file, so that renewing writes nothing. It is free
// when that is over, or when the process that holds it is dead: each handle
// holds the lock of a file in alive/, which the system frees with the process.
type leaseFile struct {
	Epoch  int64     `json:"epoch"`
	Holder string    `json:"holder"`
	Since  time.Time `json:"since"`
	Alive  string    `json:"alive"`

	until time.Time
}

// released is the time of a lease that nobody holds.
var released = time.Unix(0, 0)

// lease reads the session's lease; a session without one has epoch 0.
func (f *file) lease() (l leaseFile, err error) {
	path := f.store.path(f.id, extLease)
	r, err := os.Open(path)
	if missing(err) {
		return l, nil
	}
	if err != nil {
		return l, err
	}
	defer r.Close()
	info, err := r.Stat()
	if err != nil {
		return l, err
	}
	if err := json.NewDecoder(r).Decode(&l); err != nil {
		return l, fmt.Errorf("read the lease %s: %w: remove it when no process runs the session", path, err)
	}
	l.until = info.ModTime()
	return l, nil
}

func (l leaseFile) free() bool { return l.Epoch == 0 || !l.until.After(released) }

// Acquire implements uzda.Leaser.
func (j *Files) Acquire(ctx context.Context, id uzda.SessionID, holder string) (int64, error) {
	if err := id.Check(); err != nil {
		return 0, err
	}
	epoch, err := j.acquire(ctx, id, holder)
	if busy := (*uzda.Busy)(nil); err != nil && !errors.As(err, &busy) {
		err = fmt.Errorf("acquire session %s: %w", id, err)
	}
	return epoch, err
}

func (j *Files) acquire(ctx context.Context, id uzda.SessionID, holder string) (int64, error) {
	alive, err := j.lives(ctx)
	if err != nil {
		return 0, err
	}
	f, done := j.file(id)
	defer done()
	f.mu.Lock()
	defer f.mu.Unlock()
	unlock, err := f.lock(ctx)
	if err != nil {
		return 0, err
	}
	defer unlock()
	l, err := f.lease()
	if err != nil {
		return 0, err
	}
	now := j.now()
	if !l.free() && now.Before(l.until) && j.isAlive(l.Alive) {
		return 0, &uzda.Busy{Session: id, Holder: l.Holder, Since: l.Since}
	}
	l = leaseFile{Epoch: l.Epoch + 1, Holder: holder, Since: now, Alive: alive}
	data, err := json.Marshal(l)
	if err != nil {
		return 0, err
	}
	path := j.path(id, extLease)
	if err := j.disk.replace(path, data, true); err != nil {
		return 0, fmt.Errorf("write the lease: %w", err)
	}
	if err := os.Chtimes(path, time.Time{}, now.Add(j.ttl)); err != nil {
		return 0, fmt.Errorf("date the lease: %w", err)
	}
	return l.Epoch, nil
}

// Held says who has the lease of a session, or nil if nobody has it. It changes
// nothing, and what it says may be over a moment later.
func (j *Files) Held(_ context.Context, id uzda.SessionID) (*uzda.Busy, error) {
	if err := id.Check(); err != nil {
		return nil, err
	}
	f, done := j.file(id)
	defer done()
	l, err := f.lease()
	if err != nil {
		return nil, fmt.Errorf("look for a lease of session %s: %w", id, err)
	}
	if l.free() || !j.now().Before(l.until) || !j.isAlive(l.Alive) {
		return nil, nil
	}
	return &uzda.Busy{Session: id, Holder: l.Holder, Since: l.Since}, nil
}

// Renew implements uzda.Leaser.
func (j *Files) Renew(ctx context.Context, id uzda.SessionID, epoch int64) error {
	if err := j.date(ctx, id, epoch, j.now().Add(j.ttl)); err != nil {
		return fmt.Errorf("renew the lease of session %s: %w", id, err)
	}
	return nil
}

// Release implements uzda.Leaser.
func (j *Files) Release(ctx context.Context, id uzda.SessionID, epoch int64) error {
	err := j.date(ctx, id, epoch, released)
	if errors.Is(err, uzda.ErrFenced) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("release session %s: %w", id, err)
	}
	return nil
}

// date says until when a lease that is held lasts.
func (j *Files) date(ctx context.Context, id uzda.SessionID, epoch int64, until time.Time) error {
	if err := id.Check(); err != nil {
		return err
	}
	f, done := j.file(id)
	defer done()
	f.mu.Lock()
	defer f.mu.Unlock()
	unlock, err := f.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	l, err := f.lease()
	if err != nil {
		return err
	}
	if l.Epoch != epoch || l.free() {
		return uzda.ErrFenced
	}
	return os.Chtimes(j.path(id, extLease), time.Time{}, until)
}

// liveness is the lock that says that a handle's process lives.
type liveness struct {
	name string
	lock *flock.Flock
}

// lives returns the name of this handle's lock, which the first lease makes.
func (j *Files) lives(ctx context.Context) (string, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.alive != nil {
		return j.alive.name, nil
	}
	dir := filepath.Join(j.disk.dir, aliveDir)
	unlock, err := j.disk.lock(ctx, filepath.Join(dir, "all"+extLock))
	if err != nil {
		return "", err
	}
	defer unlock()
	j.bury(dir)
	made, err := os.CreateTemp(dir, fmt.Sprintf("%d-*", os.Getpid()))
	if err != nil {
		return "", err
	}
	made.Close()
	l := flock.New(made.Name())
	if ok, err := l.TryLock(); err != nil || !ok {
		return "", fmt.Errorf("lock %s: %w", made.Name(), err)
	}
	j.alive = &liveness{filepath.Base(made.Name()), l}
	return j.alive.name, nil
}

// bury removes the locks of dead processes.
func (j *Files) bury(dir string) {
	all, _ := os.ReadDir(dir)
	for _, e := range all {
		if filepath.Ext(e.Name()) != extLock && !j.isAlive(e.Name()) {
			os.Remove(filepath.Join(dir, e.Name()))
		}
	}
}

// isAlive says whether the process of a lock lives. Two that ask at once do not
// take each other for it: they share the lock.
func (j *Files) isAlive(name string) bool {
	path := filepath.Join(j.disk.dir, aliveDir, filepath.Base(name))
	if _, err := os.Stat(path); err != nil {
		return false
	}
	l := flock.New(path, flock.SetFlag(os.O_RDONLY))
	ok, err := l.TryRLock()
	if err != nil {
		return !missing(err)
	}
	if ok {
		_ = l.Unlock()
	}
	return !ok
}

func (l *liveness) close() error {
	err := os.Remove(l.lock.Path())
	if unlock := l.lock.Unlock(); err == nil {
		err = unlock
	}
	return err
}
