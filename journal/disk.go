package journal

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/gofrs/flock"
)

// patience is how long a lock is waited for that another process holds. Locks
// are held for one write; whoever holds one for longer has been stopped.
const patience = 30 * time.Second

// disk writes files so that they survive a crash.
type disk struct {
	dir  string
	sync bool
	asIs bool // nothing is written
	// fault, if set, makes an operation fail: tests set it. For "write" it may
	// say how many bytes still go through.
	fault func(op, path string) (n int, err error)
}

func (d *disk) check(op, path string) (int, error) {
	if d.fault == nil {
		return 0, nil
	}
	return d.fault(op, path)
}

// writeAt writes all of data at an offset, and fsyncs. After an error some of
// it may stand there.
func (d *disk) writeAt(f *os.File, data []byte, off int64) error {
	if n, err := d.check("write", f.Name()); err != nil {
		_, _ = f.WriteAt(data[:min(n, len(data))], off)
		return err
	}
	if _, err := f.WriteAt(data, off); err != nil {
		return err
	}
	return d.fsync(f)
}

func (d *disk) fsync(f *os.File) error {
	if !d.sync {
		return nil
	}
	if _, err := d.check("fsync", f.Name()); err != nil {
		return err
	}
	return f.Sync()
}

// cut makes a file end at an offset.
func (d *disk) cut(f *os.File, end int64) error {
	if _, err := d.check("truncate", f.Name()); err != nil {
		return err
	}
	if err := f.Truncate(end); err != nil {
		return err
	}
	return d.fsync(f)
}

// syncDir makes the names in a folder durable.
func (d *disk) syncDir(dir string) error {
	if !d.sync || runtime.GOOS == "windows" { // there a folder cannot be flushed
		return nil
	}
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	return d.fsync(f)
}

// replace puts a whole file in place of another, or leaves that as it was. With
// sync it is durable.
func (d *disk) replace(path string, data []byte, sync bool) (err error) {
	if d.asIs {
		return errAsIs
	}
	tmp, err := os.CreateTemp(filepath.Join(d.dir, tmpDir), "w-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			tmp.Close()
			os.Remove(tmp.Name())
		}
	}()
	if n, err := d.check("write", path); err != nil {
		_, _ = tmp.Write(data[:min(n, len(data))])
		return err
	}
	if _, err := tmp.Write(data); err != nil {
		return err
	}
	if sync {
		if err := d.fsync(tmp); err != nil {
			return err
		}
	}
	if err := tmp.Close(); err != nil {
		return err
	}
	if _, err := d.check("rename", path); err != nil {
		return err
	}
	if err := os.Rename(tmp.Name(), path); err != nil {
		return err
	}
	if sync {
		return d.syncDir(filepath.Dir(path))
	}
	return nil
}

// lock takes a lock file, against other handles and other processes.
func (d *disk) lock(ctx context.Context, path string) (unlock func(), err error) {
	if d.asIs {
		return nil, errAsIs
	}
	l := flock.New(path, flock.SetPermissions(0o600))
	pause := 250 * time.Microsecond
	for start := time.Now(); ; {
		ok, err := l.TryLock()
		if err != nil {
			return nil, fmt.Errorf("lock %s: %w", path, err)
		}
		if ok {
			return func() { _ = l.Unlock() }, nil
		}
		if time.Since(start) > patience {
			return nil, fmt.Errorf("lock %s: another process has held it for %s: see whether it was stopped", path, patience)
		}
		select {
		case <-time.After(pause):
			pause = min(2*pause, 4*time.Millisecond)
		case <-ctx.Done():
			return nil, fmt.Errorf("lock %s: %w", path, ctx.Err())
		}
	}
}

// sweep removes temporary files that a crash left behind.
func (d *disk) sweep() {
	dir := filepath.Join(d.dir, tmpDir)
	left, _ := os.ReadDir(dir)
	for _, e := range left {
		if info, err := e.Info(); err == nil && time.Since(info.ModTime()) > time.Hour {
			os.Remove(filepath.Join(dir, e.Name()))
		}
	}
}

var errAsIs = errors.New("the store was opened to be read only: open it without AsIs")

func missing(err error) bool { return errors.Is(err, fs.ErrNotExist) }
