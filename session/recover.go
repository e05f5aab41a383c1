package session

import (
	"context"
	"errors"
	"fmt"

	"github.com/uzda-dev/uzda"
)

// Recover wakes the sessions that a process left unfinished when it ended: those
// in the middle of a turn, those with a message that nobody has taken up, and
// those that wait for a time or a child. It returns how many. Sessions of agents
// that are not here are left alone; one that another process runs is looked at
// again once that is done. A program that serves calls it once, after New; it needs a store that can list
// its sessions, and a host that is not Manual.
func (h *Host) Recover(ctx context.Context) (int, error) {
	l, ok := h.c.Store.(uzda.Lister)
	if !ok || h.c.Manual {
		return 0, errors.New("recover sessions: it needs a store that lists sessions, and a host that runs them by itself")
	}
	var found []uzda.SessionID
	for info, err := range l.List(ctx) {
		if err != nil {
			return 0, fmt.Errorf("recover sessions: %w", err)
		}
		if _, here := h.runners[info.Agent]; here && unfinished(info) {
			found = append(found, info.ID)
		}
	}
	for _, id := range found {
		h.wake(id, 0)
	}
	return len(found), nil
}

// unfinished says whether a session can go on without anybody's doing.
func unfinished(s uzda.SessionInfo) bool {
	switch s.Status {
	case "ready", "running":
		return true
	case uzda.Waiting:
		return s.Reason == uzda.WaitTimer || s.Reason == uzda.WaitChild
	}
	return false
}
