// Package ours is Uzda doing the task, put together as its users do it.
package ours

import (
	"context"
	"errors"
	"strings"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/agent"
	"github.com/uzda-dev/uzda/bench/internal/task"
	"github.com/uzda-dev/uzda/journal"
	"github.com/uzda-dev/uzda/model/anthropic"
	"github.com/uzda-dev/uzda/model/openai"
	"github.com/uzda-dev/uzda/session"
	"github.com/uzda-dev/uzda/tool"
)

// Memory is the contestant with its journal in memory.
func Memory(ctx context.Context, t *task.Task) (string, error) {
	return Loop(ctx, t, journal.Memory())
}

// Messages is the contestant with its journal in memory, in the Messages format.
func Messages(ctx context.Context, t *task.Task) (string, error) {
	return loop(ctx, t, journal.Memory(), anthropic.Model{ID: task.Model, Base: strings.TrimSuffix(t.URL, "/v1"), Key: task.Key})
}

// Loop does the task on a store.
func Loop(ctx context.Context, t *task.Task, store uzda.Store) (string, error) {
	return loop(ctx, t, store, openai.Model{ID: task.Model, Base: t.URL, Key: task.Key})
}

func loop(ctx context.Context, t *task.Task, store uzda.Store, model uzda.Model) (string, error) {
	echo := tool.New(task.Tool, task.Description, uzda.Effects{ReadOnly: true},
		func(_ context.Context, in task.Input) (string, error) { return t.Echo(in), nil })
	h := session.New(session.Config{Store: store, Prices: prices{}, Manual: true, Agents: map[string]agent.Agent{"bench": {
		Model:  model,
		System: task.System,
		Tools:  []uzda.Tool{echo},
		// All fuses are there; none is to melt.
		Limits: uzda.Limits{Steps: 2 * t.Steps, Calls: 2 * t.Steps, Tokens: 1 << 40, Cost: 1_000_000 * uzda.Dollar},
	}}})
	answer, err := h.Ask(ctx, "bench", task.Question)
	return answer, errors.Join(err, h.Close())
}

// prices makes each request reserve its worst case first, as with any model that
// costs something.
type prices struct{}

func (prices) Price(string, int) (uzda.Price, bool) {
	return uzda.Price{Input: 2 * uzda.Dollar, Output: 8 * uzda.Dollar, CacheRead: uzda.Dollar / 2, CacheWrite: 2 * uzda.Dollar}, true
}
