package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/agent"
)

// newest is a name for the session that was changed last.
const newest = "last"

// load finds a session by its id, or by the beginning of it if that is enough, or the
// newest.
func (w *work) load(ctx context.Context, name string) (uzda.SessionID, *agent.State, error) {
	id := uzda.SessionID(name)
	if err := id.Check(); err != nil {
		return "", nil, fail(uzda.ConfigError, "`uzda sessions` lists them", "%v", err)
	}
	s, err := w.state(ctx, id)
	if err != nil || s.Head > 0 {
		return id, s, err
	}
	found, err := w.alike(ctx, name)
	switch {
	case err != nil:
		return "", nil, err
	case len(found) == 1:
		id = found[0].ID
		s, err = w.state(ctx, id)
		return id, s, err
	case len(found) == 0:
		return "", nil, fail(uzda.ConfigError, "`uzda sessions` lists them", "there is no session %s in %s", name, storePath(w.cfg))
	}
	return "", nil, fail(uzda.ConfigError, "write more of it", "%s", w.several(name, found))
}

func (w *work) state(ctx context.Context, id uzda.SessionID) (*agent.State, error) {
	s, err := agent.Load(ctx, w.store, id)
	if err != nil {
		return nil, fail(uzda.StorageError, "`uzda doctor` looks at the store", "%v", err)
	}
	return s, nil
}

// alike are the sessions that a name may be meant for: those whose ids begin with it, or
// for [newest] the one that was changed last. One that another session began is meant
// only where its parent's id stands already.
func (w *work) alike(ctx context.Context, name string) (found []uzda.SessionInfo, err error) {
	l, ok := w.store.(uzda.Lister)
	if !ok {
		return nil, nil
	}
	for info, err := range l.List(ctx) {
		if err != nil {
			return nil, fail(uzda.StorageError, "`uzda doctor` looks at the store", "%v", err)
		}
		if name == newest && info.Parent == "" {
			fmt.Fprintf(w.err, "uzda: the last session is %s: %s\n", info.ID, uzda.OneLine(safe(info.Title), 50))
			return []uzda.SessionInfo{info}, nil
		}
		if strings.HasPrefix(string(info.ID), name) && (info.Parent == "" || len(name) > len(info.Parent)) {
			found = append(found, info)
		}
	}
	return found, nil
}

// several lists the sessions that begin alike, the last changed first.
func (w *work) several(name string, found []uzda.SessionInfo) string {
	const most = 5
	var b strings.Builder
	fmt.Fprintf(&b, "%s begin with %s:", plural(len(found), "session"), name)
	for _, info := range found[:min(most, len(found))] {
		fmt.Fprintf(&b, "\n        %s  %s  %s", info.ID, ago(w.now(), info.Updated), uzda.OneLine(info.Title, 40))
	}
	if more := len(found) - most; more > 0 {
		fmt.Fprintf(&b, "\n        and %d more", more)
	}
	return b.String()
}
