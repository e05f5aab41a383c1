package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/cost"
)

const byTool = "tool"

func (a *app) costCommand() *cobra.Command {
	var by []string
	c := a.looks("cost [SESSION]", "what sessions used and cost: by model, agent, day, purpose, tool", `Cost adds up what a session with its children used, or all sessions: by model,
agent, day and purpose, and for one session by tool. --by chooses the tables:
model, agent, day, purpose, session, step, tool.

What a tool cost is the share that its results had in each request that was sent
with them, of what the input of that request cost. With --output-format json it
is an object; its "by" has each table.

cost plan computes what a loop would cost before it runs.`, func(_ *cobra.Command, args []string) error {
		if len(args) > 1 {
			return usage("cost takes at most one session; got %q", args)
		}
		return nil
	}, func(ctx context.Context, w *work, args []string) error {
		tables, err := w.tables(by, len(args) > 0)
		if err != nil {
			return err
		}
		ids, err := w.family(ctx, args)
		if err != nil {
			return err
		}
		r := cost.NewReport(w.prices)
		for _, id := range ids {
			if err := r.Read(id, w.store.Read(ctx, id, 0)); err != nil {
				return fail(uzda.StorageError, "`uzda doctor` looks at the store", "%v", err)
			}
		}
		var tools []toolCost
		if slices.Contains(tables, byTool) {
			if tools, err = w.toolCosts(ctx, ids); err != nil {
				return err
			}
		}
		if w.json() {
			return w.costJSON(r, tables, tools)
		}
		return w.costText(r, tables, tools)
	})
	c.Flags().StringSliceVar(&by, "by", nil, "the tables to show: model, agent, day, purpose, session, step, tool")
	c.AddCommand(a.costPlanCommand())
	return c
}

// tables are the tables that are asked for, or those that fit.
func (w *work) tables(by []string, one bool) ([]string, error) {
	known := []string{string(cost.ByStep), byTool}
	for _, d := range cost.Dimensions() {
		known = append(known, string(d))
	}
	for _, name := range by {
		if !slices.Contains(known, name) {
			hint := "there are " + strings.Join(slices.Sorted(slices.Values(known)), ", ")
			if near := uzda.Nearest(name, known, 1); len(near) > 0 {
				hint = fmt.Sprintf("did you mean %q? %s", near[0], hint)
			}
			return nil, fail(uzda.ConfigError, hint, "--by: there is no table %q", name)
		}
	}
	switch {
	case len(by) > 0:
		return by, nil
	case one:
		return []string{string(cost.ByModel), string(cost.ByAgent), string(cost.ByDay), string(cost.ByPurpose), byTool}, nil
	}
	return []string{string(cost.ByModel), string(cost.ByAgent), string(cost.ByDay), string(cost.ByPurpose)}, nil
}

func (w *work) costText(r *cost.Report, tables []string, tools []toolCost) error {
	var by []cost.Dimension
	for _, name := range tables {
		if name != byTool {
			by = append(by, cost.Dimension(name))
		}
	}
	if len(by) > 0 || len(tables) == 0 {
		if err := r.WriteText(w.out, by...); err != nil {
			return err
		}
	}
	if !slices.Contains(tables, byTool) {
		return nil
	}
	return writeTools(w.out, tools)
}

// costJSON adds the tools and the steps to the tables of a report.
func (w *work) costJSON(r *cost.Report, tables []string, tools []toolCost) error {
	raw, err := json.Marshal(r)
	if err != nil {
		return err
	}
	var out map[string]json.RawMessage
	var by map[string]json.RawMessage
	if err := json.Unmarshal(raw, &out); err != nil {
		return err
	}
	steps := slices.Contains(tables, string(cost.ByStep))
	if tools == nil && !steps {
		writeJSON(w.out, json.RawMessage(raw))
		return nil
	}
	if err := json.Unmarshal(out["by"], &by); err != nil {
		return err
	}
	if tools != nil {
		if by[byTool], err = json.Marshal(tools); err != nil {
			return err
		}
	}
	if steps {
		if by[string(cost.ByStep)], err = json.Marshal(r.By(cost.ByStep)); err != nil {
			return err
		}
	}
	if out["by"], err = json.Marshal(by); err != nil {
		return err
	}
	writeJSON(w.out, out)
	return nil
}

// sortedTools are tools with what they cost, the dearest first.
func sortedTools(all map[string]*toolCost) []toolCost {
	out := []toolCost{}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		out = append(out, *all[name])
	}
	slices.SortStableFunc(out, func(a, b toolCost) int { return b.Read - a.Read })
	return out
}
