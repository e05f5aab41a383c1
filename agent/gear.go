package agent

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"

	"github.com/uzda-dev/uzda"
)

// arm collects the tools that can be called.
func (r *run) arm() {
	for _, t := range r.Tools {
		r.tools[t.Spec().Name] = t
	}
	if b, ok := r.Store.(uzda.Blobs); ok && len(r.tools) > 0 {
		if _, taken := r.tools[outputName]; !taken {
			r.tools[outputName] = output{journal: r.Store, blobs: b, page: func() int64 { return page(int(r.outMost.Load())) }}
			r.outMost.Store(int64(r.limits().Output))
		}
	}
	for name, t := range r.tools {
		spec := t.Spec()
		spec.Input = schema(spec.Input)
		r.specs[name], r.hashes[name] = spec, hashSpec(spec)
	}
}

func (r *run) limits() uzda.Limits { return merge(r.s.Opened.Budget, r.Limits).OrDefault() }

// gear is the configuration as an event. Tools keep the order in which they
// joined the session; those that are new come after, sorted.
func (r *run) gear() uzda.Equipped {
	g := uzda.Equipped{Model: r.info(), Params: r.Params, System: r.own(r.System), Mode: r.Mode,
		Limits: r.limits(), MayBeMute: r.MayBeMute}
	if r.Planner != nil {
		g.Budget = budgetOf(r.Budget, g.Model.Window)
	}
	if r.Verify != nil {
		g.Verify = r.own(r.Verify.String())
	}
	left := maps.Clone(r.specs)
	for _, old := range r.s.Gear.Tools {
		if spec, ok := left[old.Name]; ok {
			g.Tools = append(g.Tools, spec)
			delete(left, old.Name)
		}
	}
	for _, name := range sortedKeys(left) {
		g.Tools = append(g.Tools, left[name])
	}
	return g
}

// schema is the schema of an input on one line; without one any object will do.
func schema(raw json.RawMessage) json.RawMessage {
	var known map[string]json.RawMessage
	if raw = compact(raw); json.Unmarshal(raw, &known) != nil || len(known) == 0 || len(known) == 1 && known["type"] != nil {
		return json.RawMessage(`{"type":"object","properties":{}}`)
	}
	return raw
}

// compact leaves out white space, so that JSON comes back from a checkpoint as it
// was; nil if raw is none.
func compact(raw json.RawMessage) json.RawMessage {
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return nil
	}
	return slices.Clip(b.Bytes())
}

// merge fills what first leaves open.
func merge(first, then uzda.Limits) uzda.Limits {
	var out uzda.Limits
	raw := map[string]json.RawMessage{}
	for _, l := range []uzda.Limits{then, first} {
		if err := json.Unmarshal(rawJSON(l), &raw); err != nil {
			panic(err) // only for values of ours
		}
	}
	if err := json.Unmarshal(rawJSON(raw), &out); err != nil {
		panic(err)
	}
	return out
}
