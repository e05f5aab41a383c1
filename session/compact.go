package session

import (
	"context"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/agent"
)

// A Compaction is how a person wants a session shortened.
type Compaction = agent.Compaction

// Compact lets the planner of a session's agent shorten what the model sees, for a
// person: see [agent.Runner.Compact]. One that runs, here or elsewhere, is
// *uzda.Busy: what runs is compacted by itself.
func (h *Host) Compact(ctx context.Context, id uzda.SessionID, c Compaction) (uzda.Plan, error) {
	r, err := h.runnerOf(id)
	if err != nil {
		return uzda.Plan{}, err
	}
	plan, err := r.Compact(ctx, id, c)
	if err == nil && !c.DryRun {
		h.wakeWatchers(id)
	}
	return plan, err
}
