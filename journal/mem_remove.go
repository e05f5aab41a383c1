package journal

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/uzda-dev/uzda"
)

// Remove implements uzda.Remover.
func (m *Mem) Remove(ctx context.Context, id uzda.SessionID, epoch int64, seen map[uzda.SessionID]uzda.Seq) ([]uzda.SessionID, error) {
	if err := m.mayRemove(ctx, id, epoch); err != nil {
		return nil, fmt.Errorf("remove session %s: %w", id, err)
	}
	tree, err := m.drop(family(id, m.parents()), epoch, seen)
	if err != nil {
		return nil, fmt.Errorf("remove session %s: %w", id, err)
	}
	return tree, m.count(entry{Drop: tree})
}

// drop empties sessions, all or none: nothing is posted to one in between.
func (m *Mem) drop(tree []uzda.SessionID, epoch int64, seen map[uzda.SessionID]uzda.Seq) ([]uzda.SessionID, error) {
	var all []*memory
	defer func() {
		for _, s := range all {
			s.mu.Unlock()
		}
	}()
	for i, id := range tree {
		s := m.session(id, true)
		s.mu.Lock()
		all = append(all, s)
		if i == 0 && s.epoch != epoch {
			return nil, uzda.ErrFenced
		}
		if i > 0 && m.now().Before(s.until) {
			return nil, &uzda.Busy{Session: id, Holder: s.holder, Since: s.since}
		}
		if err := uzda.Unseen(seen, id, s.info.Head); err != nil {
			return nil, err
		}
	}
	for i, s := range all {
		s.events, s.link, s.ids, s.kept, s.info = nil, "", nil, nil, uzda.SessionInfo{ID: tree[i]}
		s.epoch, s.until = s.epoch+1, time.Time{}
	}
	return tree, nil
}

// mayRemove checks what must be so before a session goes.
func (m *Mem) mayRemove(ctx context.Context, id uzda.SessionID, epoch int64) error {
	if err := id.Check(); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	s := m.session(id, false)
	if s == nil {
		return uzda.ErrFenced
	}
	s.mu.Lock()
	held, head, parent := s.epoch == epoch && !s.until.IsZero(), s.info.Head, s.info.Parent
	s.mu.Unlock()
	switch {
	case !held:
		return uzda.ErrFenced
	case head == 0:
		return uzda.ErrNotFound
	case parent != "" && len(m.events(parent, 0)) > 0:
		return fmt.Errorf("session %s began it: %w", parent, uzda.ErrChild)
	}
	return nil
}

func (s *memory) name() uzda.SessionID {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.info.ID
}

// parents says who began each session that another one began.
func (m *Mem) parents() map[uzda.SessionID]uzda.SessionID {
	out := map[uzda.SessionID]uzda.SessionID{}
	for _, s := range m.all() {
		s.mu.Lock()
		if s.info.Parent != "" && s.info.Head > 0 {
			out[s.info.ID] = s.info.Parent
		}
		s.mu.Unlock()
	}
	return out
}

// family is a session and all that it began, itself first.
func family(id uzda.SessionID, parents map[uzda.SessionID]uzda.SessionID) []uzda.SessionID {
	tree := []uzda.SessionID{id}
	for i := 0; i < len(tree); i++ {
		for one, parent := range parents {
			if parent == tree[i] && !slices.Contains(tree, one) {
				tree = append(tree, one)
			}
		}
	}
	return tree
}

// Sweep implements uzda.Remover.
func (m *Mem) Sweep(ctx context.Context) (int64, error) {
	limit := m.now().Add(-uzda.BlobGrace)
	m.mu.Lock()
	old := map[string]bool{}
	for hash, b := range m.blobs {
		if !b.put.After(limit) {
			old[hash] = true
		}
	}
	m.mu.Unlock()
	for _, s := range m.all() {
		id := s.name()
		for _, e := range m.events(id, 0) {
			if err := ctx.Err(); err != nil || len(old) == 0 {
				return 0, err
			}
			line, err := uzda.Seal(&e, func(data []byte) (string, error) { return uzda.Hash(data), nil })
			if err != nil {
				return 0, fmt.Errorf("look for the blobs of session %s: %w", id, err)
			}
			for hash := range uzda.BlobsIn(line.Body) {
				delete(old, hash)
			}
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	freed := int64(0)
	for hash := range old {
		if b := m.blobs[hash]; !b.put.After(limit) { // else it was put again
			freed += int64(len(b.data))
			delete(m.blobs, hash)
		}
	}
	return freed, nil
}
