package session

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/agent"
)

// elder holds a child against a gate of one of its elders, in the elder's mode:
// what those may not do, they may not have done for them.
type elder struct {
	gate uzda.Gate
	name string // of its agent
	mode string
}

func (e elder) Check(ctx context.Context, a uzda.Action) (uzda.Verdict, error) {
	a.Mode = e.mode
	v, err := e.gate.Check(ctx, a)
	if v.Decision != uzda.Allow { // else one would look for it among the child's rules
		v.Reason = "as for " + e.name + ", which delegated this: " + v.Reason
	}
	return v, err
}

type slowElder struct{ elder }

// Slow says that the gate needs I/O, see agent.Slow.
func (slowElder) Slow() {}

// runnerOf finds the agent of a session. A child's rights are its own and those
// of all its elders together: every gate must let a use pass, and nobody can be
// asked for it whom an elder could not ask.
func (h *Host) runnerOf(id uzda.SessionID) (*agent.Runner, error) {
	line, err := h.line(id)
	if err != nil {
		return nil, err
	}
	for _, name := range line {
		if _, ok := h.runners[name]; !ok {
			return nil, fmt.Errorf("run session %s: agent %q: %w", id, name, errNoAgent)
		}
	}
	own := h.runners[line[0]]
	if len(line) == 1 {
		return own, nil
	}
	key := strings.Join(line, "\x00")
	h.mu.Lock()
	defer h.mu.Unlock()
	if r, ok := h.kin[key]; ok {
		return r, nil
	}
	a := own.Agent
	a.Gates = slices.Clone(a.Gates)
	for _, name := range line[1:] {
		up := h.runners[name]
		a.Unattended = a.Unattended || up.Unattended
		for _, g := range up.Gates {
			e := elder{g, name, up.Mode}
			if _, slow := g.(agent.Slow); slow {
				a.Gates = append(a.Gates, slowElder{e})
			} else {
				a.Gates = append(a.Gates, e)
			}
		}
	}
	r := h.runner(a)
	h.kin[key] = r
	return r, nil
}

// line returns the names of the agents of a session and of its elders, the
// session's first.
func (h *Host) line(id uzda.SessionID) ([]string, error) {
	var names []string
	for at := id; at != ""; {
		o, _, err := h.opened(h.ctxOpen(), at)
		switch {
		case err != nil:
			return nil, fmt.Errorf("run session %s: %w", id, err)
		case o == nil: // what was posted waits until it is opened
			return nil, fmt.Errorf("run session %s: %s was not opened: %w", id, at, uzda.ErrNotFound)
		}
		names, at = append(names, o.Agent), o.Parent
	}
	return names, nil
}
