package journal

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"os"
	"slices"
	"strings"

	"github.com/uzda-dev/uzda"
)

// indexFile is SESSION.index: how far a handle had read the session, so that
// the next one need not read it again. It is a cache: the last record that it
// knows must stand where it says, with the same hash, or it is not used.
type indexFile struct {
	End   int64               `json:"end"`
	Last  int64               `json:"last"` // where the last record begins
	Head  uzda.Seq            `json:"head"`
	Link  string              `json:"link"`
	IDs   map[string]uzda.Seq `json:"ids,omitempty"`
	Info  uzda.SessionInfo    `json:"info"`
	Noted indexMark           `json:"noted"` // how far Info goes
}

type indexMark struct {
	End  int64    `json:"end"`
	Head uzda.Seq `json:"head"`
}

// load looks for the index, once.
func (f *file) load() {
	if f.loaded || f.end > 0 {
		return
	}
	f.loaded = true
	f.info.ID = f.id
	raw, err := os.ReadFile(f.store.path(f.id, extIndex))
	if err != nil {
		return
	}
	var x indexFile
	if json.Unmarshal(raw, &x) != nil || x.Last < 0 || x.End <= x.Last || x.End-x.Last > 1<<30 ||
		x.Info.ID != f.id || x.Info.Head != x.Noted.Head || x.Noted.End > x.End {
		return
	}
	r, err := os.Open(f.path)
	if err != nil {
		return
	}
	defer r.Close()
	line := make([]byte, x.End-x.Last)
	if _, err := r.ReadAt(line, x.Last); err != nil {
		return
	}
	l, ok := uzda.SplitLine(line)
	if !ok || !bytes.HasSuffix(line, []byte("\n")) || uzda.Hash(l.Head) != x.Link {
		return
	}
	if seq, _, _ := envelope(l.Head); seq != x.Head {
		return
	}
	f.mark, f.last, f.ids = mark{x.End, x.Head, x.Link}, x.Last, x.IDs
	f.saved = x.End
	if x.Info.Size > 0 { // else an older program made it, which did not count bytes
		f.info, f.noted = x.Info, mark{end: x.Noted.End, head: x.Noted.Head}
	}
}

// save writes the index.
func (f *file) save() error {
	if f.store.disk.asIs {
		return nil
	}
	raw, err := json.Marshal(indexFile{f.end, f.last, f.head, f.link, f.ids, f.info, indexMark{f.noted.end, f.noted.head}})
	if err != nil {
		return err
	}
	if err := f.store.disk.replace(f.store.path(f.id, extIndex), raw, false); err != nil {
		return fmt.Errorf("save the index of session %s: %w", f.id, err)
	}
	f.saved = f.end
	return nil
}

// note brings info up to date, and saves the index where that was work.
func (f *file) note(ctx context.Context) error {
	if err := f.look(ctx); err != nil {
		return err
	}
	if f.noted.end == f.end {
		return nil
	}
	r, err := os.Open(f.path)
	if err != nil {
		return err
	}
	defer r.Close()
	f.info.ID = f.id
	for raw, err := range lines(r, f.noted.end, f.end) {
		if err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		l, _ := uzda.SplitLine(raw)
		e, _, err := uzda.Open(own(l), f.store.whole)
		if err != nil {
			return err
		}
		f.info.Note(e)
		f.info.Size += l.Size()
		f.noted = mark{end: f.noted.end + int64(len(raw)), head: e.Seq}
	}
	_ = f.save() // it saves work, and a full or read-only disk has none of it
	return nil
}

// sessions returns the ids of the folder's sessions.
func (j *Files) sessions() ([]uzda.SessionID, error) {
	all, err := os.ReadDir(j.disk.dir)
	if err != nil {
		return nil, err
	}
	var ids []uzda.SessionID
	for _, e := range all {
		file, ok := strings.CutSuffix(e.Name(), extEvents)
		if id := named(file); ok && e.Type().IsRegular() && id != "" {
			ids = append(ids, id)
		}
	}
	return ids, nil
}

// List implements uzda.Lister. A session that cannot be read yields its error,
// and the others follow.
func (j *Files) List(ctx context.Context) iter.Seq2[uzda.SessionInfo, error] {
	return func(yield func(uzda.SessionInfo, error) bool) {
		ids, err := j.sessions()
		if err != nil {
			yield(uzda.SessionInfo{}, fmt.Errorf("list sessions: %w", err))
			return
		}
		var all []uzda.SessionInfo
		for _, id := range ids {
			f, done := j.file(id)
			f.mu.Lock()
			err := f.note(ctx)
			info := f.info
			f.mu.Unlock()
			done()
			if err != nil {
				if !yield(uzda.SessionInfo{ID: id}, fmt.Errorf("list session %s: %w", id, err)) || ctx.Err() != nil {
					return
				}
				continue
			}
			if info.Head > 0 {
				all = append(all, info)
			}
		}
		lastFirst(all)
		for _, info := range all {
			if !yield(info, nil) {
				return
			}
		}
	}
}

// Rebuild implements uzda.Rebuilder.
func (j *Files) Rebuild(ctx context.Context) (int, error) {
	ids, err := j.sessions()
	if err != nil {
		return 0, fmt.Errorf("rebuild indexes: %w", err)
	}
	n := 0
	for _, id := range ids {
		f, done := j.file(id)
		f.mu.Lock()
		f.reset()
		f.loaded = true // the old index is not looked at
		err := f.note(ctx)
		if f.head > 0 {
			n++
		}
		f.mu.Unlock()
		done()
		if err != nil {
			return n, fmt.Errorf("rebuild the index of session %s: %w", id, err)
		}
	}
	return n, nil
}

// Verify implements uzda.Verifier. It reads every record and every blob that
// one names.
func (j *Files) Verify(ctx context.Context, report func(uzda.SessionID, uzda.Seq, error)) error {
	ids, err := j.sessions()
	if err != nil {
		return fmt.Errorf("verify: %w", err)
	}
	slices.Sort(ids)
	for _, id := range ids {
		if err := j.verify(ctx, id, report); err != nil {
			return fmt.Errorf("verify session %s: %w", id, err)
		}
	}
	return nil
}

func (j *Files) verify(ctx context.Context, id uzda.SessionID, report func(uzda.SessionID, uzda.Seq, error)) error {
	f, done := j.file(id)
	f.mu.Lock()
	err := f.look(ctx)
	end := f.end
	f.mu.Unlock()
	done()
	if err != nil {
		report(id, 0, err)
	}
	r, err := os.Open(f.path)
	if err != nil {
		return err
	}
	defer r.Close()
	head, link := uzda.Seq(0), ""
	for raw, err := range lines(r, 0, end) {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
		l, ok := uzda.SplitLine(raw)
		if !ok {
			report(id, head+1, fmt.Errorf("event %d is no record", head+1))
			head, link = head+1, ""
			continue
		}
		seq, _, prev := envelope(l.Head)
		switch {
		case seq != head+1 || prev != link:
			report(id, seq, fmt.Errorf("event %d does not follow event %d", seq, head))
		case l.Check() != nil:
			report(id, seq, l.Check())
		default:
			if _, _, err := uzda.Open(own(l), j.whole); err != nil {
				report(id, seq, err)
			}
		}
		head, link = seq, uzda.Hash(l.Head)
	}
	return nil
}
