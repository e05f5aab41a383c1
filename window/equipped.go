package window

import (
	"bytes"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/uzda-dev/uzda"
)

// equipped compares what the model is given with what it was given before. A
// provider reads tools, then the system prompt, then the messages: what stands
// before a change stays in its cache.
func (p *Prefix) equipped(seq uzda.Seq, b uzda.Equipped) {
	old := p.gear
	p.head = sizeOfTools(b.Tools) + Estimate(b.System) + estimate(b.Params.Schema)
	if p.gear = &b; old == nil {
		return
	}
	add := func(before int, c Change) {
		c.Seq = seq
		p.add(c, p.share(p.sent-before))
	}
	if old.Model.ID != b.Model.ID {
		add(0, Change{What: OfModel, How: "changed", From: old.Model.ID, To: b.Model.ID})
	}
	same := 0
	for same < min(len(old.Tools), len(b.Tools)) && alikeTools(old.Tools[same], b.Tools[same]) {
		same++
	}
	for _, c := range toolChanges(old.Tools, b.Tools) {
		add(sizeOfTools(old.Tools[:same]), c)
	}
	tools := sizeOfTools(old.Tools)
	for _, c := range systemChanges(old.System, b.System) {
		add(tools, c)
	}
	for _, c := range paramChanges(old.Params, b.Params) {
		switch c.Name {
		case "strict":
			add(0, c)
		case "schema":
			add(tools, c)
		default:
			add(tools+Estimate(old.System), c)
		}
	}
}

func alikeTools(a, b uzda.ToolSpec) bool {
	return a.Name == b.Name && a.Description == b.Description && bytes.Equal(a.Input, b.Input)
}

func toolChanges(old, now []uzda.ToolSpec) (out []Change) {
	before, after := byName(old), byName(now)
	var stood, stand []string // those that are in both, in their order
	for _, t := range old {
		if _, ok := after[t.Name]; ok {
			stood = append(stood, t.Name)
		} else {
			out = append(out, Change{What: Tools, Name: toolName(t), How: "removed"})
		}
	}
	for _, t := range now {
		was, ok := before[t.Name]
		if !ok {
			out = append(out, Change{What: Tools, Name: toolName(t), How: "added"})
			continue
		}
		stand = append(stand, t.Name)
		if was.Description != t.Description {
			from, to := differ(was.Description, t.Description)
			out = append(out, Change{What: Tools, Name: toolName(t), How: "description", From: from, To: to})
		}
		if !bytes.Equal(was.Input, t.Input) {
			from, to := differ(string(was.Input), string(t.Input))
			out = append(out, Change{What: Tools, Name: toolName(t), How: "schema", From: from, To: to})
		}
	}
	for i := range min(len(stood), len(stand)) {
		if stood[i] != stand[i] {
			place := func(ts []uzda.ToolSpec) string {
				return "place " + strconv.Itoa(1+slices.IndexFunc(ts, func(t uzda.ToolSpec) bool { return t.Name == stand[i] }))
			}
			return append(out, Change{What: Tools, Name: toolName(after[stand[i]]), How: "moved", From: place(old), To: place(now)})
		}
	}
	return out
}

func byName(ts []uzda.ToolSpec) map[string]uzda.ToolSpec {
	out := map[string]uzda.ToolSpec{}
	for _, t := range ts {
		out[t.Name] = t
	}
	return out
}

// systemChanges tells the working files in a system prompt from the rest of it.
func systemChanges(old, now string) (out []Change) {
	if old == now {
		return nil
	}
	was, names, rest := split(old)
	is, order, others := split(now)
	for _, name := range names {
		if _, ok := is[name]; !ok {
			out = append(out, Change{What: Files, Name: name, How: "removed"})
		}
	}
	for _, name := range order {
		text, ok := was[name]
		switch {
		case !ok:
			out = append(out, Change{What: Files, Name: name, How: "added"})
		case text != is[name]:
			from, to := differ(text, is[name])
			out = append(out, Change{What: Files, Name: name, How: "changed", From: from, To: to})
		}
	}
	switch from, to := differ(rest, others); {
	case rest != others && (strings.TrimSpace(rest) != strings.TrimSpace(others) || len(out) == 0):
		out = append(out, Change{What: System, How: "changed", From: from, To: to})
	case len(out) == 0: // the same files in another order
		for i := range names {
			if names[i] != order[i] {
				return []Change{{What: Files, Name: order[i], How: "moved"}}
			}
		}
		out = append(out, Change{What: System, How: "changed"})
	}
	return out
}

// split takes the working files out of a system prompt.
func split(system string) (files map[string]string, names []string, rest string) {
	files = map[string]string{}
	var b strings.Builder
	at := 0
	for _, f := range sections(system) {
		b.WriteString(system[at:f.from])
		at = f.to
		if _, ok := files[f.name]; !ok {
			names = append(names, f.name)
		}
		files[f.name] += system[f.from:f.to]
	}
	return files, names, b.String() + system[at:]
}

// paramChanges leaves out what no cache depends on, such as the temperature.
func paramChanges(old, now uzda.Params) (out []Change) {
	add := func(name, from, to string) {
		if from != to {
			from, to = differ(from, to)
			out = append(out, Change{What: OfParams, Name: name, How: "changed", From: from, To: to})
		}
	}
	add("strict", strconv.FormatBool(old.Strict), strconv.FormatBool(now.Strict))
	add("schema", string(old.Schema), string(now.Schema))
	add("effort", old.Effort, now.Effort)
	add("choice", old.Choice, now.Choice)
	add("no_parallel", strconv.FormatBool(old.NoParallel), strconv.FormatBool(now.NoParallel))
	names := slices.Collect(maps.Keys(old.Options))
	for name := range now.Options {
		if _, ok := old.Options[name]; !ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		add(name, string(old.Options[name]), string(now.Options[name]))
	}
	return out
}

// differ is what differs between two texts, in one line each: the lines that are
// not the same, and of long ones only the part.
func differ(a, b string) (from, to string) {
	const most, around = 160, 24
	was, is := strings.Split(a, "\n"), strings.Split(b, "\n")
	for len(was) > 0 && len(is) > 0 && was[0] == is[0] {
		was, is = was[1:], is[1:]
	}
	for len(was) > 0 && len(is) > 0 && was[len(was)-1] == is[len(is)-1] {
		was, is = was[:len(was)-1], is[:len(is)-1]
	}
	a, b = strings.Join(was, "\n"), strings.Join(is, "\n")
	if max(len(a), len(b)) > most { // begin shortly before the first difference
		n := 0
		for n < min(len(a), len(b)) && a[n] == b[n] {
			n++
		}
		if n > around {
			lead := len(uzda.Before(a, n-around))
			a, b = "…"+a[lead:], "…"+b[lead:]
		}
	}
	from, to = uzda.OneLine(a, most), uzda.OneLine(b, most)
	if from == to && a != b { // white space, or what one line does not show
		from, to = uzda.OneLine(strconv.Quote(a), most), uzda.OneLine(strconv.Quote(b), most)
	}
	return from, to
}
