package crowd

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/agent"
	"github.com/uzda-dev/uzda/journal"
	"github.com/uzda-dev/uzda/model/openai"
	"github.com/uzda-dev/uzda/session"
	"github.com/uzda-dev/uzda/sqlite"
	"github.com/uzda-dev/uzda/tool"
)

// Agent is the name of the agent that sessions are opened with.
const Agent = "crowd"

// Worker is an agent that follows orders, with more tools besides its own two.
func Worker(url string, more ...uzda.Tool) agent.Agent {
	page := strings.Repeat("The quick brown fox jumps over the lazy dog; then it sleeps. ", 14)
	type input struct {
		N int `json:"n"`
	}
	echo := tool.New(Echo, "Give back the text of a page by its number.", uzda.Effects{ReadOnly: true},
		func(_ context.Context, in input) (string, error) { return fmt.Sprintf("Page %d: %s", in.N, page), nil })
	send := tool.New(Send, "Send a page to the printer.", uzda.Effects{Irreversible: true},
		func(_ context.Context, in input) (string, error) { return fmt.Sprintf("Page %d is sent.", in.N), nil })
	return agent.Agent{
		Model:  openai.Model{ID: "bench", Base: url + "/v1", Key: "sk-bench", Window: 128_000},
		System: "You are a careful agent. Use the tools until the work is done.",
		Tools:  append([]uzda.Tool{echo, send}, more...),
		Gates:  []uzda.Gate{asker{}},
	}
}

// asker asks before something is sent.
type asker struct{}

func (asker) Check(_ context.Context, a uzda.Action) (uzda.Verdict, error) {
	if a.Use.Name == Send {
		return uzda.Verdict{Decision: uzda.Ask, Reason: "it cannot be undone"}, nil
	}
	return uzda.Verdict{Decision: uzda.Allow}, nil
}

// Store opens a store in a folder: one that survives a loss of power, or one in
// memory.
func Store(dir string, durable bool) (uzda.Store, error) {
	if !durable {
		return journal.Memory(), nil
	}
	return sqlite.Open(filepath.Join(dir, "crowd.uzda"))
}

// Host is a host with one worker.
func Host(store uzda.Store, worker agent.Agent) *session.Host {
	return session.New(session.Config{Store: store, Prices: prices{}, Manual: true, Agents: map[string]agent.Agent{Agent: worker}})
}

// prices makes each request reserve its worst case first, as with any model that
// costs something.
type prices struct{}

func (prices) Price(string, int) (uzda.Price, bool) {
	return uzda.Price{Input: 2 * uzda.Dollar, Output: 8 * uzda.Dollar, CacheRead: uzda.Dollar / 2, CacheWrite: 2 * uzda.Dollar}, true
}

// Together runs sessions at once, each with the order that make gives for its
// number, until each has its answer or is parked, as its order says. It returns
// how long all took together.
func Together(ctx context.Context, h *session.Host, n int, order func(i int) Order) (time.Duration, error) {
	var wait sync.WaitGroup
	errs := make([]error, n)
	began := time.Now()
	for i := range n {
		wait.Go(func() {
			if err := Do(ctx, h, order(i)); err != nil {
				errs[i] = fmt.Errorf("session %d of %d at once: %w", i, n, err)
			}
		})
	}
	wait.Wait()
	return time.Since(began), errors.Join(first(errs)...)
}

// first returns the first few of some errors: a thousand are no better.
func first(errs []error) (out []error) {
	for _, err := range errs {
		if err != nil && len(out) < 3 {
			out = append(out, err)
		}
	}
	return out
}

// Do runs one session to where its order says that it ends.
func Do(ctx context.Context, h *session.Host, o Order) error {
	answer, err := h.Ask(ctx, Agent, o.Text())
	if out := (*uzda.Outcome)(nil); o.Ask > 0 && errors.As(err, &out) && out.Reason == uzda.WaitApproval {
		return nil
	}
	switch {
	case err != nil:
		return err
	case o.Ask > 0:
		return errors.New("it did not ask for its approval")
	case answer != Answer:
		return fmt.Errorf("the answer is %q", answer)
	}
	return nil
}
