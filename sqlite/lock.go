package sqlite

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/gofrs/flock"
)

// locks is a folder of files that running processes have locked. An operating
// system frees them when their process ends, however it ends.
type locks struct {
	dir string

	mu     sync.Mutex
	own    *lock // of this handle, made when it first takes a lease
	closed bool
}

// A lock is a file that this handle has locked.
type lock struct {
	name string
	file *flock.Flock
}

// mine returns the name of the lock of this handle, which it holds until it
// closes, and whether it was made just now.
func (l *locks) mine() (name string, made bool, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return "", false, errClosed
	}
	for l.own == nil {
		var raw [8]byte
		_, _ = rand.Read(raw[:]) // never fails
		own, ok, err := l.try(hex.EncodeToString(raw[:]))
		if err != nil {
			return "", false, err
		}
		if ok { // else another process took the new file for a grave: a new name
			l.own, made = own, true
		}
	}
	return l.own.name, made, nil
}

// dead says whether the process that held a lock has ended: its file is there
// and free. A file that is not there says nothing.
func (l *locks) dead(name string) bool {
	f, ok := l.grab(name)
	if ok {
		_ = f.Unlock()
	}
	return ok
}

// graves returns the locks of processes that have ended, and holds them: a file
// that is just being made has nobody's lock yet, and must not be taken for one
// whose leases can be ended a moment later.
func (l *locks) graves() []*lock {
	files, err := os.ReadDir(l.dir)
	if err != nil {
		return nil // it is only to tidy up
	}
	var out []*lock
	for _, f := range files {
		if name, ok := strings.CutSuffix(f.Name(), ".lock"); ok {
			if file, free := l.grab(name); free {
				out = append(out, &lock{name, file})
			}
		}
	}
	return out
}

// others says whether another handle that runs sessions lives.
func (l *locks) others() bool {
	files, err := os.ReadDir(l.dir)
	if err != nil {
		return false
	}
	own := l.held()
	for _, f := range files {
		name, ok := strings.CutSuffix(f.Name(), ".lock")
		if !ok || name == own {
			continue
		}
		file, free := l.grab(name)
		if !free {
			return true
		}
		_ = file.Unlock()
	}
	return false
}

// remove removes the file of a process that has ended. What a process has
// locked, or is about to, stays: see try.
func (l *locks) remove(name string) {
	if f, ok := l.grab(name); ok {
		os.Remove(f.Path())
		_ = f.Unlock()
	}
}

// grab locks a file that is there and free.
func (l *locks) grab(name string) (*flock.Flock, bool) {
	if name == "" {
		return nil, false
	}
	f := flock.New(filepath.Join(l.dir, filepath.Base(name)+".lock"), flock.SetFlag(os.O_RDWR)) // never makes it
	ok, err := f.TryLock()
	return f, ok && err == nil
}

// take waits for a lock.
func (l *locks) take(ctx context.Context, name string) (*lock, error) {
	for {
		k, ok, err := l.try(name)
		if ok || err != nil {
			return k, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// try makes and locks a file. Another process may remove the file, or the
// folder, between the two: then it tries again.
func (l *locks) try(name string) (*lock, bool, error) {
	path := filepath.Join(l.dir, name+".lock")
	for {
		if err := os.MkdirAll(l.dir, 0o700); err != nil {
			return nil, false, err
		}
		f := flock.New(path, flock.SetFlag(os.O_RDWR|os.O_CREATE))
		ok, err := f.TryLock()
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil || !ok {
			return nil, false, err
		}
		held, err := f.Stat()
		if err == nil {
			if there, e := os.Stat(path); e == nil && os.SameFile(held, there) {
				return &lock{name: name, file: f}, true, nil
			}
		}
		_ = f.Unlock()
		if err != nil {
			return nil, false, err
		}
	}
}

// drop removes the file while it is still locked, and frees it.
func (k *lock) drop() error {
	err := os.Remove(k.file.Path())
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return errors.Join(err, k.file.Unlock())
}

// held returns the name of the lock of this handle, "" if it has none.
func (l *locks) held() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.own == nil {
		return ""
	}
	return l.own.name
}

// close frees the lock of this handle. With keep its file stays: others see by
// it that the leases that name it are free.
func (l *locks) close(keep bool) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	if l.own == nil {
		return nil
	}
	own := l.own
	l.own = nil
	if keep {
		return own.file.Unlock()
	}
	err := own.drop()
	os.Remove(l.dir) // stays while others have files in it
	return err
}
