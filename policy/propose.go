package policy

import (
	"context"
	"path/filepath"
	"slices"
	"strings"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/policy/command"
)

// Propose is [Gate.Propose] for a gate that has no rules.
func Propose(a uzda.Action) string { return Gate{}.Propose(a) }

// Propose returns the rule that "for this session" would grant for a use: the
// narrowest that is of use again. It is empty where none would help or none
// should be given: for what is irreversible, protected, dangerous or unclear, and
// for a secret that would leave.
func (g Gate) Propose(a uzda.Action) string {
	g.Mode, a.Mode, a.Failed = ModeAsk, ModeAsk, 0
	u := g.subject(a, ModeAsk)
	if u.leaks() || u.effects.Irreversible && u.line == "" {
		return ""
	}
	text := ""
	switch {
	case u.line != "":
		text = u.proposeLine()
	case files[a.Use.Name] != 0:
		text = u.proposePath()
	case u.hasURL:
		text = u.proposeHost()
	case a.Use.Name != "shell" && a.Use.Name != "fetch":
		text = a.Use.Name
	}
	r, err := Parse(uzda.Allow, text, "")
	if err != nil || r.String() != text || r.wide() {
		return ""
	}
	a.Grants = append(slices.Clip(a.Grants), uzda.Grant{Rule: text})
	if v, err := g.Check(context.Background(), a); err != nil || v.Decision != uzda.Allow {
		return "" // it would not help
	}
	return text
}

// proposeLine proposes the words that decide what a program does, or for a list
// of commands the very line.
func (u *subject) proposeLine() string {
	rep := command.Read(u.line, command.Options{Dir: u.at.cwd, Home: u.at.home, Bash: u.gate.Bash})
	if len(rep.Unsure) > 0 {
		return ""
	}
	var needs []part
	parts := u.parts(rep)
	u.moved = u.leaves(parts)
	for _, p := range parts {
		u.allowed(&p)
		if p.Level == command.Dangerous {
			return ""
		}
		asks := false
		u.part(p, func(int, uzda.Verdict) { asks = true })
		if asks {
			needs = append(needs, p)
		}
	}
	exact := "shell(" + strings.TrimSpace(u.line) + ")"
	if strings.Contains(u.line, "*") {
		exact = ""
	}
	if len(needs) == 0 { // an ask rule asks: for all of it
		needs = parts
	}
	if len(needs) != 1 || slices.ContainsFunc(needs[0].touches, func(t touch) bool { return u.why(t) != "" || u.outside(t) }) {
		if slices.ContainsFunc(needs, func(p part) bool {
			return slices.ContainsFunc(p.touches, func(t touch) bool { return u.why(t) != "" })
		}) {
			return ""
		}
		return exact
	}
	p := needs[0]
	if p.Spell == command.All || p.Spell > len(p.Words) || p.redirected() || u.repository(p) != "" {
		return exact
	}
	head := p.spellings()[0][:max(1, p.Spell)]
	if slices.ContainsFunc(head, func(w command.Word) bool { return !w.Known || strings.ContainsAny(w.Text, "* ") }) {
		return exact
	}
	return "shell(" + spell(head) + " *)"
}

// proposePath proposes the folder of a file, or the file at the top.
func (u *subject) proposePath() string {
	if len(u.touches) != 1 || len(u.touches[0].ends) != 1 || u.why(u.touches[0]) != "" {
		return ""
	}
	t := u.touches[0]
	rel, err := filepath.Rel(followed(u.at.dir), t.ends[0])
	if err != nil || !filepath.IsLocal(rel) {
		rel = "" // of another root
	}
	rel = filepath.ToSlash(rel)
	name, path := "Edit", "./"+rel
	if rel == "" {
		path = "/" + filepath.ToSlash(t.ends[0])
	}
	if !t.write {
		name = ToolName(u.action.Use.Name)
		if name == "read_file" {
			name = "Read"
		}
	} else if u.action.Use.Name == "delete_file" {
		name = "delete_file"
	}
	if strings.ContainsAny(path, "*?[\\") {
		return ""
	}
	if i := strings.LastIndexByte(path, '/'); i > 1 && !t.deep {
		path = path[:i] + "/**"
	}
	return name + "(" + path + ")"
}

func (u *subject) proposeHost() string {
	host := u.to.host
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	if u.to.port != "" {
		host += ":" + u.to.port
	}
	return "fetch(domain:" + host + ")"
}
