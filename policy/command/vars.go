package command

import (
	"maps"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Variables are followed where all that they may hold stands in the line: those of
// a loop over words and patterns, and those that are set once. Whatever else sets
// one anywhere in the line, so that the order could matter, ends that: the line is
// read again without it.

// bind says that a variable stands for one of these words from here on.
func (r *reader) bind(sc *scope, name string, values []arg) {
	if r.loose[name] || !plainName(name) || len(values) == 0 || len(values) > maxWords || len(sc.vars) >= maxWords {
		return
	}
	for _, v := range values {
		if !v.Known && !(v.glob && v.named && !v.many) || v.pipe || v.values != nil {
			return
		}
	}
	vars := maps.Clone(sc.vars)
	if vars == nil {
		vars = map[string][]arg{}
	}
	for i := range values {
		if values[i].glob {
			values[i].at = sc.dirs
		}
	}
	vars[name] = values
	sc.vars = vars
	if r.used == nil {
		r.used = map[string]bool{}
	}
	r.used[name] = true
}

// plainName says whether a variable is none that the shell itself sets or reads:
// those have capital letters, or are _.
func plainName(name string) bool {
	return name != "" && name[0] >= 'a' && name[0] <= 'z' && !tells(name)
}

// setsVar takes note that something in the line sets a variable.
func (r *reader) setsVar(name string) {
	if r.sites == nil {
		r.sites = map[string]int{}
	}
	r.sites[name]++
}

// iterates takes note of a loop over a variable. One in a function, or in a loop
// over the same variable, changes what it holds elsewhere.
func (r *reader) iterates(name string, sc scope) {
	if _, nested := sc.vars[name]; nested || r.inside > 0 {
		r.setsVar(name)
	}
	if r.looped == nil {
		r.looped = map[string]bool{}
	}
	r.looped[name] = true
}

// unsteady are the variables that were followed although more than one place sets
// them, with those that were not.
func (r *reader) unsteady() (all map[string]bool, more bool) {
	all = maps.Clone(r.loose)
	if all == nil {
		all = map[string]bool{}
	}
	for name := range r.used {
		if n := r.sites[name]; !all[name] && (r.brings || n > 1 || n > 0 && r.looped[name]) {
			all[name], more = true, true
		}
	}
	return all, more
}

// sets is the variable that a statement sets which does nothing else, as f=main.go;
// "": it is none.
func sets(s *syntax.Stmt) string {
	c, ok := s.Cmd.(*syntax.CallExpr)
	if !ok || len(c.Args) > 0 || len(c.Assigns) != 1 || len(s.Redirs) > 0 || s.Background || s.Coprocess || s.Negated {
		return ""
	}
	a := c.Assigns[0]
	if a.Name == nil || a.Value == nil || a.Append || a.Index != nil || a.Array != nil {
		return ""
	}
	return a.Name.Value
}

// holds binds what such a statement sets; before: how many places did until then.
func (r *reader) holds(s *syntax.Stmt, sc *scope, before int) {
	name := sets(s)
	if name == "" || r.full || r.inside > 0 || r.sites == nil {
		return
	}
	if v := r.arg(s.Cmd.(*syntax.CallExpr).Assigns[0].Value, *sc); v.Known {
		r.sites[name] = before + 1 // it was counted more than once
		r.bind(sc, name, []arg{v})
	}
}

// bound are the variables in a word whose values are known.
func (r *reader) bound(parts []syntax.WordPart, sc scope) []string {
	var names []string
	for _, p := range parts {
		switch p := p.(type) {
		case *syntax.DblQuoted:
			names = append(names, r.bound(p.Parts, sc)...)
		case *syntax.ParamExp:
			if _, ok := sc.vars[simple(p)]; ok {
				names = append(names, simple(p))
			}
		}
	}
	return names
}

// simple is the name of a variable that is taken as it is; "": it is not.
func simple(p *syntax.ParamExp) string {
	if p.Param == nil || p.Excl || p.Length || p.Width || p.IsSet || p.Index != nil || p.Slice != nil || p.Repl != nil ||
		p.Exp != nil || p.Names != 0 || len(p.Modifiers) > 0 || p.Flags != nil || p.NestedParam != nil {
		return ""
	}
	return p.Param.Value
}

// stands reads a word with variables of which all values are known: one word for
// each. A value that could be an option, or become several words, is not taken.
func (r *reader) stands(w *syntax.Word, sc scope) (arg, bool) {
	names := r.bound(w.Parts, sc)
	if len(names) == 0 || braced(w) {
		return arg{}, false
	}
	binds := []map[string]arg{{}}
	for _, name := range names {
		if _, done := binds[0][name]; done {
			continue
		}
		var next []map[string]arg
		for _, b := range binds {
			for _, v := range sc.vars[name] {
				c := maps.Clone(b)
				c[name] = v
				next = append(next, c)
			}
		}
		if binds = next; len(binds) > maxWords {
			return arg{}, false
		}
	}
	if !r.spend(64 * len(binds)) {
		return arg{}, false
	}
	out := arg{Word: Word{Text: written(w, sc)}, tame: true}
	for i, b := range binds {
		v := r.evaluate(w, sc, b)
		if !v.Known && !(v.glob && v.named) || v.many || v.bash || v.lead == "" && !strings.Contains(v.odd, oddFront) || v.lead != "" && strings.IndexByte(oddFront, v.lead[0]) >= 0 {
			return arg{}, false
		}
		if out.values = append(out.values, v); i == 0 {
			out.lead = v.lead
		}
		out.lead = common(out.lead, v.lead)
	}
	return out, true
}

func common(a, b string) string {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return a[:n]
}

// What must not be in a name below a folder: in front of it, where it would be an
// option, or a file with options (nm @x); and anywhere, where the shell or xargs
// take names apart, or awk sets a variable.
const (
	oddFront  = "-+@"
	oddSplit  = " \t\n\v\f\r"
	oddQuotes = `'"\`
	oddGlob   = `*?[\`
)

// value puts in what a variable holds.
func (e *eval) value(v arg, quoted bool) {
	switch {
	case v.Known && (quoted || v.Text != "" && !strings.ContainsAny(v.Text, oddSplit+oddGlob)):
		e.quoted(v.Text)
	case v.Known:
		e.blank(quoted)
	default:
		if e.text.Len() == 0 && strings.IndexByte("*?[", v.path[0]) >= 0 {
			e.odds += oddFront + "="
		}
		if !quoted {
			e.odds += oddSplit + oddGlob
		}
		e.at = v.at
		front, _, _ := strings.Cut(v.path, v.path[strings.IndexAny(v.path, "*?["):])
		e.put(front)
		e.glob = true
		e.put(v.path[len(front):])
	}
}

// texts are all texts that a word may be.
func (a arg) texts() ([]string, bool) {
	if a.Known {
		return []string{a.Text}, true
	}
	var out []string
	for _, v := range a.values {
		if !v.Known {
			return nil, false
		}
		out = append(out, v.Text)
	}
	return out, len(out) > 0
}
