package journal

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/uzda-dev/uzda"
)

// goneName is the list of the sessions that were removed, one id a line, in the
// order of their removal. Handles see by it that what they know of one is over,
// also where there is a new session of that id.
const goneName = "removed"

// Remove implements uzda.Remover. The events of a session are first given another
// name, those of its children before its own: a crash leaves it in the list, with
// what it began or without, or nothing of it that is seen.
func (j *Files) Remove(ctx context.Context, id uzda.SessionID, epoch int64, seen map[uzda.SessionID]uzda.Seq) ([]uzda.SessionID, error) {
	if err := id.Check(); err != nil {
		return nil, err
	}
	tree, err := j.remove(ctx, id, epoch, seen)
	if err != nil {
		return nil, fmt.Errorf("remove session %s: %w", id, err)
	}
	j.finish()
	return tree, nil
}

func (j *Files) remove(ctx context.Context, id uzda.SessionID, epoch int64, seen map[uzda.SessionID]uzda.Seq) ([]uzda.SessionID, error) {
	parents, err := j.parents(ctx)
	if err != nil {
		return nil, err
	}
	tree := family(id, parents)
	files, letGo, err := j.hold(ctx, tree)
	defer letGo()
	if err != nil {
		return nil, err
	}
	for i, f := range files {
		if err := f.mayGo(i == 0, epoch); err != nil {
			return nil, err
		}
		if f.refresh() != nil { // nothing can be posted to it either
			continue
		}
		if err := uzda.Unseen(seen, f.id, f.head); err != nil {
			return nil, err
		}
	}
	if _, err := os.Stat(files[0].path); missing(err) {
		return nil, uzda.ErrNotFound
	}
	if parent := parents[id]; parent != "" {
		if _, err := os.Stat(j.path(parent, extEvents)); err == nil {
			return nil, fmt.Errorf("session %s began it: %w", parent, uzda.ErrChild)
		}
	}
	// Money first: a crash after it leaves a session that has spent nothing of its
	// own accounts, one before it a new session that begins with what this one spent.
	if err := j.count(ctx, entry{Drop: tree}, nil); err != nil {
		return nil, err
	}
	if err := j.disk.enter(filepath.Join(j.disk.dir, goneName), tree); err != nil {
		return nil, err
	}
	for i, f := range slices.Backward(files) {
		if err := f.vanish(); err != nil {
			for _, f := range files[i+1:] {
				err = errors.Join(err, os.Rename(j.path(f.id, extGone), f.path))
			}
			return nil, err
		}
	}
	return tree, j.disk.syncDir(j.disk.dir)
}

// hold locks sessions, a parent before what it began, until letGo is called, also
// after an error.
func (j *Files) hold(ctx context.Context, ids []uzda.SessionID) (files []*file, letGo func(), err error) {
	var undo []func()
	letGo = func() {
		for _, f := range slices.Backward(undo) {
			f()
		}
	}
	for _, id := range ids {
		f, done := j.file(id)
		f.mu.Lock()
		undo = append(undo, done, f.mu.Unlock)
		unlock, err := f.lock(ctx)
		if err != nil {
			return nil, letGo, err
		}
		undo, files = append(undo, unlock), append(files, f)
	}
	return files, letGo, nil
}

// mayGo checks the lease of a session that is to go: ours, or nobody's.
func (f *file) mayGo(ours bool, epoch int64) error {
	l, err := f.lease()
	switch {
	case err != nil:
		return err
	case ours && (l.Epoch != epoch || l.free()):
		return uzda.ErrFenced
	case !ours && !l.free() && f.store.now().Before(l.until) && f.store.isAlive(l.Alive):
		return &uzda.Busy{Session: f.id, Holder: l.Holder, Since: l.Since}
	}
	return nil
}

// vanish ends the lease of a session for whoever had it, and takes its files out
// of sight. The caller holds its lock.
func (f *file) vanish() error {
	j := f.store
	l, err := f.lease()
	if err != nil {
		return err
	}
	data, err := json.Marshal(leaseFile{Epoch: l.Epoch + 1, Holder: l.Holder, Since: l.Since})
	if err != nil {
		return err
	}
	path := j.path(f.id, extLease)
	if err := j.disk.replace(path, data, true); err != nil {
		return fmt.Errorf("end the lease: %w", err)
	}
	if err := os.Chtimes(path, time.Time{}, released); err != nil {
		return fmt.Errorf("end the lease: %w", err)
	}
	for _, ext := range []string{extCheck, extIndex, extTorn} {
		if err := os.Remove(j.path(f.id, ext)); err != nil && !missing(err) {
			return err
		}
	}
	if _, err := j.disk.check("rename", f.path); err != nil {
		return err
	}
	if err := os.Rename(f.path, j.path(f.id, extGone)); err != nil && !missing(err) {
		return err
	}
	f.reset()
	return nil
}

// finish deletes what removed sessions have left. What cannot be deleted now is
// when the store is opened again.
func (j *Files) finish() {
	left, _ := filepath.Glob(filepath.Join(escaped(j.disk.dir), "*"+extGone))
	for _, path := range left {
		os.Remove(path)
	}
}

// escaped is a path in which a pattern finds nothing but itself.
func escaped(path string) string {
	if filepath.Separator == '\\' { // where a pattern cannot be escaped
		return path
	}
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

// enter adds ids to the list of the sessions that were removed.
func (d *disk) enter(path string, ids []uzda.SessionID) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	var text strings.Builder
	for _, id := range ids {
		text.WriteString("\n" + string(id) + "\n") // also after a line that a crash has cut
	}
	if _, err := d.check("write", path); err != nil {
		return err
	}
	if _, err := f.WriteString(text.String()); err != nil {
		return err
	}
	return d.fsync(f)
}

// renew forgets what is known of a session that was removed since.
func (f *file) renew() error {
	path := filepath.Join(f.store.disk.dir, goneName)
	info, err := os.Stat(path)
	if missing(err) || err == nil && info.Size() == f.gone {
		return nil
	}
	if err != nil {
		return err
	}
	if f.end == 0 && f.noted.end == 0 { // nothing is known
		f.gone = info.Size()
		return nil
	}
	r, err := os.Open(path)
	if err != nil {
		return err
	}
	defer r.Close()
	if info.Size() < f.gone {
		f.gone = 0
	}
	text, err := io.ReadAll(io.NewSectionReader(r, f.gone, info.Size()-f.gone))
	if err != nil {
		return err
	}
	if slices.Contains(strings.Split(string(text), "\n"), string(f.id)) {
		f.reset()
	}
	f.gone = info.Size()
	return nil
}

// parents says who began each session that another one began.
func (j *Files) parents(ctx context.Context) (map[uzda.SessionID]uzda.SessionID, error) {
	ids, err := j.sessions()
	if err != nil {
		return nil, err
	}
	out := map[uzda.SessionID]uzda.SessionID{}
	for _, id := range ids {
		f, done := j.file(id)
		f.mu.Lock()
		err := f.note(ctx)
		parent := f.info.Parent
		f.mu.Unlock()
		done()
		if err == nil && parent != "" { // what cannot be read is nobody's child
			out[id] = parent
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (j *Files) sweepLock() string { return filepath.Join(j.disk.dir, blobDir, "sweep"+extLock) }

// Sweep implements uzda.Remover. Who puts a blob again dates it under the lock.
func (j *Files) Sweep(ctx context.Context) (freed int64, err error) {
	limit := j.now().Add(-uzda.BlobGrace)
	old, err := j.oldBlobs(limit)
	if err == nil && len(old) > 0 {
		err = j.spare(ctx, old)
	}
	if err != nil || len(old) == 0 {
		return 0, err
	}
	unlock, err := j.disk.lock(ctx, j.sweepLock())
	if err != nil {
		return 0, err
	}
	defer unlock()
	for hash := range old {
		path := j.blob(hash)
		info, err := os.Stat(path)
		if err != nil || info.ModTime().After(limit) {
			continue
		}
		if err := os.Remove(path); err != nil {
			return freed, fmt.Errorf("remove a blob: %w", err)
		}
		freed += info.Size()
	}
	return freed, nil
}

// oldBlobs are the blobs that were last put before a time.
func (j *Files) oldBlobs(limit time.Time) (map[string]bool, error) {
	old := map[string]bool{}
	err := filepath.WalkDir(filepath.Join(j.disk.dir, blobDir), func(_ string, e fs.DirEntry, err error) error {
		if err != nil || !hashed.MatchString(e.Name()) {
			return err
		}
		if info, err := e.Info(); err == nil && !info.ModTime().After(limit) {
			old[e.Name()] = true
		}
		return nil
	})
	return old, err
}

// spare takes the blobs that events name off the list.
func (j *Files) spare(ctx context.Context, old map[string]bool) error {
	ids, err := j.sessions()
	if err != nil {
		return err
	}
	for _, id := range ids {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := j.names(id, old); err != nil && !missing(err) { // else it was removed just now
			return fmt.Errorf("look for the blobs of session %s: %w", id, err)
		}
	}
	return nil
}

func (j *Files) names(id uzda.SessionID, old map[string]bool) error {
	r, err := os.Open(j.path(id, extEvents))
	if err != nil {
		return err
	}
	defer r.Close()
	info, err := r.Stat()
	if err != nil {
		return err
	}
	for raw, err := range lines(r, 0, info.Size()) {
		if err != nil {
			return err
		}
		for hash := range uzda.BlobsIn(raw) { // also in a line that is damaged
			delete(old, hash)
		}
	}
	return nil
}

// Size implements uzda.Sizer: of all files in the folder.
func (j *Files) Size(ctx context.Context) (disk, used int64, err error) {
	err = filepath.WalkDir(j.disk.dir, func(_ string, e fs.DirEntry, err error) error {
		if err != nil {
			if missing(err) {
				return nil // it has gone meanwhile
			}
			return err
		}
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
			disk += info.Size()
		}
		return ctx.Err()
	})
	if err != nil {
		err = fmt.Errorf("measure the folder %s: %w", j.disk.dir, err)
	}
	return disk, disk, err
}
