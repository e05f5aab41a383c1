package journal

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"time"

	"github.com/uzda-dev/uzda"
)

var hashed = regexp.MustCompile(`^[0-9a-f]{64}$`)

func (j *Files) blob(hash string) string {
	return filepath.Join(j.disk.dir, blobDir, hash[:2], hash)
}

// Put implements uzda.Blobs.
func (j *Files) Put(_ context.Context, data []byte) (string, error) { return j.put(data) }

func (j *Files) put(data []byte) (string, error) {
	hash := uzda.Hash(data)
	path := j.blob(hash)
	dir := filepath.Dir(path)
	if info, err := os.Stat(path); err == nil {
		if info.Size() == int64(len(data)) && j.now().Sub(info.ModTime()) < uzda.BlobFresh {
			return hash, j.disk.syncDir(dir) // another process may have put it just now
		}
		// It may be swept right now.
		unlock, err := j.disk.lock(context.Background(), j.sweepLock())
		if err != nil {
			return "", fmt.Errorf("store a blob: %w", err)
		}
		defer unlock()
		if info, err := os.Stat(path); err == nil && info.Size() == int64(len(data)) {
			if err := os.Chtimes(path, time.Time{}, j.now()); err != nil {
				return "", fmt.Errorf("date a blob: %w", err)
			}
			return hash, j.disk.syncDir(dir)
		}
	}
	if _, err := os.Stat(dir); missing(err) {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return "", fmt.Errorf("store a blob: %w", err)
		}
		if err := j.disk.syncDir(filepath.Dir(dir)); err != nil {
			return "", fmt.Errorf("store a blob: %w", err)
		}
	}
	if err := j.disk.replace(path, data, true); err != nil {
		return "", fmt.Errorf("store a blob of %d bytes: %w", len(data), err)
	}
	if err := os.Chtimes(path, time.Time{}, j.now()); err != nil {
		return "", fmt.Errorf("date a blob: %w", err)
	}
	return hash, nil
}

// Get implements uzda.Blobs.
func (j *Files) Get(_ context.Context, hash string, off, n int64) ([]byte, error) {
	if !hashed.MatchString(hash) {
		return nil, fmt.Errorf("blob %.12q: %w", hash, uzda.ErrNotFound)
	}
	f, err := os.Open(j.blob(hash))
	if missing(err) {
		return nil, fmt.Errorf("blob %.12s: %w", hash, uzda.ErrNotFound)
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	off = min(max(off, 0), info.Size())
	if n < 0 || n > info.Size()-off {
		n = info.Size() - off
	}
	data := make([]byte, n)
	if _, err := f.ReadAt(data, off); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("read blob %.12s: %w", hash, err)
	}
	return data, nil
}

// whole returns a blob that an event names, and checks it.
func (j *Files) whole(hash string) ([]byte, error) {
	data, err := j.Get(context.Background(), hash, 0, -1)
	if err == nil && uzda.Hash(data) != hash {
		err = errors.New("its content is not the one that was stored")
	}
	return data, err
}
