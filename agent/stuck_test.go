package agent_test

import (
	"context"
	"time"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/agent"
)

const shortTime = 300 * time.Millisecond

type stuckRunner struct{ *agent.Runner }

// deafCheck does not hear that its time is up.
type deafCheck struct{ release chan struct{} }

func (deafCheck) String() string { return "a deaf check" }

func (c deafCheck) Verify(context.Context, agent.Work) (bool, string, error) {
	<-c.release
	return false, "late", nil
}

// deafSlow is a gate that does not.
type deafSlow struct{ release chan struct{} }

func (deafSlow) Slow() {}

func (g deafSlow) Check(context.Context, uzda.Action) (uzda.Verdict, error) {
	<-g.release
	return uzda.Verdict{Decision: uzda.Allow}, nil
}
