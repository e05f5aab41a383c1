package policy

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/uzda-dev/uzda"
)

// What the tools do with the path in their input.
const (
	reads = 1 + iota
	writes
	searches // it and what lies below
)

var files = map[string]int{"read_file": reads, "write_file": writes, "edit_file": writes, "delete_file": writes, "glob": searches, "grep": searches}

// A subject is a use as it is judged.
type subject struct {
	gate    Gate
	action  uzda.Action
	mode    string
	effects uzda.Effects
	grants  []Rule
	at      ground

	line    string  // of a command; "": it is none
	moved   bool    // some of the command may run in another folder than the session's
	touches []touch // of a tool for files
	unclear string  // why its paths or its address are not known
	url     string  // of fetch
	to      address
	hasURL  bool
}

func (g Gate) subject(a uzda.Action, mode string) *subject {
	u := &subject{gate: g, action: a, mode: mode, effects: believed(a.Spec), grants: grantsOf(a)}
	name := a.Use.Name
	switch {
	case name == "shell":
		text, found, exact := u.text("command")
		if found && !exact {
			u.unclear = "its input does not name one command"
		}
		u.line = text
	case files[name] != 0:
		u.paths(files[name])
	case name == "fetch":
		text, found, exact := u.text("url")
		if !found {
			return u
		}
		u.url, u.hasURL = text, exact
		var err error
		if u.to, err = parseAddress(text); err != nil || !exact {
			u.unclear, u.hasURL = "its address is not clear", false
			if err != nil {
				u.unclear += ": " + err.Error()
			}
		}
	}
	if u.line != "" {
		u.at = g.ground(a.Session, a.Dir, cwd(a))
	}
	return u
}

func cwd(a uzda.Action) string {
	if a.Use.Dir != "" {
		return a.Use.Dir
	}
	return a.Dir
}

// text reads an argument that is text. exact: it stands there once, in that very
// spelling, and is text.
func (u *subject) text(key string) (text string, found, exact bool) {
	values, exact, ok := lookUp(u.action.Use.Input, key)
	if !ok || len(values) == 0 {
		return "", !ok, false
	}
	err := json.Unmarshal(values[len(values)-1], &text)
	return text, true, exact && len(values) == 1 && err == nil
}

// paths finds where a tool for files would go. All that a decoder might take for
// the path counts.
func (u *subject) paths(what int) {
	u.at = u.gate.ground(u.action.Session, u.action.Dir, cwd(u.action))
	values, exact, ok := lookUp(u.action.Use.Input, "path")
	if len(values) == 0 {
		values, exact, ok = lookUp(u.action.Use.Input, "file_path") // as other hosts have it
	}
	if !ok || !exact || len(values) > 1 {
		u.unclear = "its input does not name one path"
	}
	if len(values) == 0 && what == searches {
		values = append(values, json.RawMessage(`"."`))
	}
	for _, v := range values {
		var text string
		if json.Unmarshal(v, &text) != nil {
			u.unclear = "its path is no text"
			continue
		}
		if what == searches {
			text = u.searched(text)
		}
		t := u.at.touch(text, u.reach(text), what == writes)
		if u.action.Use.Name == "delete_file" {
			t = u.at.unlinked(text, u.reach(text))
		}
		t.deep = what == searches || u.action.Use.Name == "delete_file" && u.recursive()
		u.touches = append(u.touches, t)
	}
}

// recursive says whether a folder would go with all that is in it.
func (u *subject) recursive() bool {
	values, _, ok := lookUp(u.action.Use.Input, "recursive")
	return !ok || slices.ContainsFunc(values, func(v json.RawMessage) bool { return string(bytes.TrimSpace(v)) != "false" })
}

// reach makes the path of a tool absolute, with its .. and all.
func (u *subject) reach(text string) string {
	if rest, ok := strings.CutPrefix(text, "~"); ok && u.at.home != "" && (rest == "" || rest[0] == '/') {
		return u.at.home + rest
	}
	return join(u.at.cwd, text)
}

// searched is the folder of a search: a pattern of glob may begin with one.
func (u *subject) searched(path string) string {
	if u.action.Use.Name != "glob" {
		return path
	}
	values, _, _ := lookUp(u.action.Use.Input, "pattern")
	for _, v := range values {
		var pattern string
		if json.Unmarshal(v, &pattern) != nil {
			continue
		}
		head := pattern
		if i := strings.IndexAny(head, "*?[{\\"); i >= 0 {
			head = head[:strings.LastIndexByte(head[:i], '/')+1]
		}
		if filepath.IsAbs(head) {
			return head
		}
		if head != "" {
			path = strings.TrimSuffix(path, "/") + "/" + head
		}
	}
	return path
}

// grantsOf are the rules that people granted in the session.
func grantsOf(a uzda.Action) []Rule {
	var out []Rule
	for _, g := range a.Grants {
		r, err := Parse(uzda.Allow, g.Rule, "granted")
		if err != nil {
			continue
		}
		if g.By != "" {
			r.Origin += " by " + g.By
		}
		out = append(out, r)
	}
	return out
}

// granted finds what a person allowed for the session. What is irreversible is
// asked every time, with its arguments.
func (u *subject) granted() (Rule, bool) {
	if u.effects.Irreversible {
		return Rule{}, false
	}
	return u.first(u.grants, uzda.Allow)
}

// first finds the first rule of a list that holds.
func (u *subject) first(list []Rule, d uzda.Decision) (Rule, bool) {
	for _, r := range list {
		if u.matches(r, d) {
			return r, true
		}
	}
	return Rule{}, false
}

// matches says whether a rule holds for the use. What cannot be judged holds
// where it denies or asks, and not where it allows.
func (u *subject) matches(r Rule, d uzda.Decision) bool {
	if !r.names(u.action.Use.Name, d) {
		return false
	}
	list := strict
	if d == uzda.Allow {
		list = loose
	}
	for _, c := range r.conditions() {
		if !u.meets(c, list) {
			return false
		}
	}
	return true
}

// meets holds a use against one condition of a rule.
func (u *subject) meets(c Rule, list string) bool {
	if strings.Trim(c.Spec, "*") == "" && c.Param == "" {
		return u.unclear == "" || list == strict
	}
	switch c.kind() {
	case ofCommands:
		return list == strict && u.unclear != ""
	case ofPaths:
		if list == strict {
			return u.unclear != "" || slices.ContainsFunc(u.touches, func(t touch) bool { ok, _ := u.at.covers(c, t, list); return ok })
		}
		return u.unclear == "" && len(u.touches) > 0 && !slices.ContainsFunc(u.touches, func(t touch) bool { ok, _ := u.at.covers(c, t, list); return !ok })
	case ofFetch:
		if !u.hasURL {
			return list == strict && u.unclear != ""
		}
		ok, named := c.fetches(u.to, u.url, list)
		return ok && (list == strict || named || !u.to.private)
	case ofNothing:
		return list == strict
	}
	return c.argument(u.action.Use.Input, list)
}

// forbidden says what no rule and no person here can allow: a path that cannot be
// judged, or one outside the folders that the session works on.
func (u *subject) forbidden() (uzda.Verdict, bool) {
	for _, t := range u.touches {
		if t.trap != "" {
			return u.trapped(t), true
		}
		if u.outside(t) {
			return uzda.Verdict{Decision: uzda.Deny, Origin: FromPaths, Reason: u.fence(t)}, true
		}
	}
	return uzda.Verdict{}, false
}

func (u *subject) trapped(t touch) uzda.Verdict {
	return uzda.Verdict{Decision: uzda.Deny, Origin: FromPaths, Reason: fmt.Sprintf("%s: %s", show(t.text), t.trap)}
}

// outside says whether a path leads out of the folders of the session.
func (u *subject) outside(t touch) bool {
	return slices.ContainsFunc(t.ends, func(end string) bool {
		return !lies(end, u.at.roots) && (t.write || !lies(end, u.at.reads))
	})
}

func (u *subject) fence(t touch) string {
	end := t.ends[slices.IndexFunc(t.ends, func(e string) bool { return !lies(e, u.at.roots) })]
	where := show(t.text)
	if end != t.text {
		where += " (" + show(end) + ")"
	}
	if t.write && lies(end, u.at.reads) {
		return where + " lies in a folder that may only be read"
	}
	return fmt.Sprintf("%s lies outside of %s; a person can add its folder with --add-dir, or to dirs in uzda.yaml", where, show(strings.Join(u.at.roots, ", ")))
}

// guarded says what is asked whatever a wildcard allows: protected files, files
// with a second name, and searches above what may not be read.
func (u *subject) guarded() (uzda.Verdict, bool) {
	for _, t := range u.touches {
		if why := u.why(t); why != "" && !u.named(t) {
			return uzda.Verdict{Decision: uzda.Ask, Origin: FromPaths, Reason: fmt.Sprintf("%s %s: %s", u.action.Use.Name, show(t.text), why)}, true
		}
	}
	if u.hasURL && u.to.private && !u.hostNamed() {
		return uzda.Verdict{Decision: uzda.Ask, Origin: FromPaths,
			Reason: fmt.Sprintf("%s is of this machine or a private network, and no rule names it", show(u.to.host))}, true
	}
	if u.unclear != "" {
		return uzda.Verdict{Decision: uzda.Ask, Origin: FromPaths, Reason: fmt.Sprintf("%s: %s", u.action.Use.Name, show(u.unclear))}, true
	}
	return uzda.Verdict{}, false
}

// hostNamed says whether a rule without a wildcard allows this very host.
func (u *subject) hostNamed() bool {
	return slices.ContainsFunc(slices.Concat(u.grants, u.gate.Rules.Allow), func(r Rule) bool {
		return r.kind() == ofFetch && !r.bare() && u.matches(r, uzda.Allow)
	})
}

// why says what is delicate about a path.
func (u *subject) why(t touch) string {
	if why := u.at.protected(t); why != "" && !t.lists {
		return why
	}
	if t.write && slices.ContainsFunc(t.ends, manyNames) {
		return "the file has another name (a hard link), which may lie anywhere"
	}
	if t.tracked {
		return u.history(t)
	}
	if t.deep && !(u.gate.Skips && files[u.action.Use.Name] == searches) {
		return u.deep(t)
	}
	return ""
}

// deep looks below a folder for what a rule denies or asks, and for what is
// protected.
func (u *subject) deep(t touch) string {
	rules := u.pathRules(t.write)
	if u.gate.Hides && files[u.action.Use.Name] == searches {
		rules = pathRules(u.gate.Rules.Ask, t.write)
	}
	why := ""
	for _, end := range t.ends {
		hit, all := below(end, func(b touch) bool {
			b.write, b.lists = t.write, t.lists
			if t.plain && strings.Contains(strings.TrimPrefix(b.text, end), string(filepath.Separator)+".") {
				return false
			}
			why = u.delicate(b, rules)
			return why != ""
		})
		switch {
		case hit != "":
			return fmt.Sprintf("below it lies %s: %s", show(hit), why)
		case !all && t.write:
			return "it holds too much to see what would be lost"
		case !all && len(rules) > 0:
			return fmt.Sprintf("it holds too much to see whether the rule %s (%s) is about some of it", rules[0], rules[0].Origin)
		}
	}
	return ""
}

// history says which rule may be about some of what git shows of a folder: also of
// files that are gone by now. What git does not know it does not show.
func (u *subject) history(t touch) string {
	if t.text == "." { // the whole repository around it
		for _, end := range t.ends {
			for up := end; up != filepath.Dir(up); up = filepath.Dir(up) {
				if exists(filepath.Join(up, ".git")) {
					t.names = append(slices.Clip(t.names), up)
					break
				}
			}
		}
		t.fold()
	}
	for _, r := range u.pathRules(t.write) {
		if u.at.maySpan(r, t) {
			return fmt.Sprintf("git may show what the rule %s (%s) is about", r, r.Origin)
		}
	}
	return ""
}

// delicate says why what lies below a folder cannot pass with it.
func (u *subject) delicate(t touch, rules []Rule) string {
	for _, r := range rules {
		if ok, _ := u.at.covers(r, t, strict); ok {
			return fmt.Sprintf("the rule %s (%s) is about it", r, r.Origin)
		}
	}
	if why := u.at.protected(t); why != "" && !t.lists {
		return why
	}
	if len(t.names) > 1 && u.outside(t) && isDir(t.ends[0]) {
		return "it is a link to " + show(t.ends[0]) + ", outside of the roots"
	}
	return ""
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// pathRules are the rules that deny or ask by path.
func (u *subject) pathRules(write bool) []Rule {
	return append(pathRules(u.gate.Rules.Deny, write), pathRules(u.gate.Rules.Ask, write)...)
}

func pathRules(list []Rule, write bool) []Rule {
	var out []Rule
	for _, r := range list {
		if r.kind() == ofPaths && r.Spec != "" && r.forPath(write) {
			out = append(out, r)
		}
	}
	return out
}

// forPath says whether a rule is about reading, or about writing, files.
func (r Rule) forPath(write bool) bool {
	return slices.ContainsFunc(r.tools(), func(t string) bool {
		return write && files[t] == writes || !write && files[t] == reads
	})
}

// named says whether a rule without a wildcard allows this very path.
func (u *subject) named(t touch) bool {
	for _, r := range slices.Concat(u.grants, u.gate.Rules.Allow) {
		if r.kind() != ofPaths || r.Spec == "" || r.More != "" || !r.forPath(t.write) || t.deep || u.line == "" && !r.names(u.action.Use.Name, uzda.Allow) {
			continue
		}
		if p, err := parsePattern(r.Spec); err != nil || p.wildcard() {
			continue
		}
		if ok, whole := u.at.covers(r, t, loose); ok && whole {
			return true
		}
	}
	return false
}

// Hidden says whether a file is never read nor shown: a rule denies reading it.
// dir is the session's folder. To look at many files take [Gate.Hider].
func (g Gate) Hidden(dir, path string) bool {
	hidden, _ := g.Hider(dir)
	return hidden(path)
}

// Skipped says whether a file is left out of searches: it is hidden, or a person
// is asked before it is read.
func (g Gate) Skipped(dir, path string) bool {
	_, skipped := g.Hider(dir)
	return skipped(path)
}

// Hider returns [Gate.Hidden] and [Gate.Skipped] for paths whose links were
// followed already; both are quick and safe for concurrent use.
func (g Gate) Hider(dir string) (hidden, skipped func(path string) bool) {
	u := &subject{gate: g, action: uzda.Action{Use: uzda.Use{Name: "read_file"}}, at: g.ground("", dir, dir)}
	deny, ask := pathRules(g.Rules.Deny, false), pathRules(g.Rules.Ask, false)
	for _, r := range slices.Concat(deny, ask, g.Rules.Allow) {
		u.at.meaning(r) // now, since the map is only read later
	}
	about := func(t touch, list []Rule) bool {
		return slices.ContainsFunc(list, func(r Rule) bool { ok, _ := u.at.covers(r, t, strict); return ok })
	}
	at := func(path string) touch {
		path = absolute(path, u.at.dir)
		t := touch{text: path, names: []string{path}, ends: []string{path}}
		t.fold()
		return t
	}
	hidden = func(path string) bool { return about(at(path), deny) }
	skipped = func(path string) bool {
		t := at(path)
		return about(t, deny) || about(t, ask) || u.at.protected(t) != "" && !u.named(t)
	}
	return hidden, skipped
}

// handOver asks after too many failures in a row.
func (u *subject) handOver() (uzda.Verdict, bool) {
	limit := u.gate.HandOver
	if limit == 0 {
		limit = handOver
	}
	if limit < 0 || u.action.Failed < limit {
		return uzda.Verdict{}, false
	}
	return uzda.Verdict{Decision: uzda.Ask, Origin: FromHandOff, Reason: fmt.Sprintf("%d calls in a row failed: a person should look", limit)}, true
}

const handOver = 5

// leaks says whether a use would carry a secret out. The model never saw its
// value, but it may have been told to write its name.
func (u *subject) leaks() bool {
	return u.effects.OpenWorld && bytes.Contains(u.action.Use.Input, []byte(secretOpen))
}

// show makes text of a model or a file fit for one line.
func show(s string) string {
	const most = 120
	return uzda.OneLine(s, most)
}
