package policy

import (
	"fmt"
	"slices"
	"strings"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/policy/command"
)

// How sure it is that a rule holds for a command.
const (
	no = iota
	maybe
	yes
)

// command judges a command: all that it may start, read and write. The strictest
// of its parts counts.
func (u *subject) command() uzda.Verdict {
	rep := command.Read(u.line, command.Options{Dir: u.at.cwd, Home: u.at.home, Bash: u.gate.Bash})
	parts := u.parts(rep)
	var ask uzda.Verdict // the first reason to ask
	raise := func(v uzda.Verdict) {
		if ask.Decision == "" {
			ask = v
		}
	}
	for _, r := range u.gate.Rules.Deny {
		switch what, sure := u.about(r, parts); sure {
		case yes:
			return r.verdict(uzda.Deny, what)
		case maybe:
			v := r.verdict(uzda.Ask, what)
			v.Reason = fmt.Sprintf("%s may be what the rule %s (%s) denies", what, r, r.Origin)
			raise(v)
		}
	}
	for _, p := range parts {
		for _, t := range p.touches {
			if t.trap != "" {
				return u.trapped(t)
			}
		}
	}
	if u.mode == ModePlan && !readsOnly(rep) {
		return planned(u.what(parts))
	}
	if v, ok := u.handOver(); ok && !readsOnly(rep) {
		raise(v)
	}
	allowed := u.rulings(rep, parts, raise)
	if ask.Decision != "" {
		return ask
	}
	return allowed
}

// rulings finds who allows each part, and raises what nobody does.
func (u *subject) rulings(rep command.Report, parts []part, raise func(uzda.Verdict)) uzda.Verdict {
	var by Rule
	ruled := false
	whole, granted, exact := u.spelled()
	var open []part // what no person granted
	for i := range parts {
		p := &parts[i]
		if exact {
			p.exact, p.ruled, p.granted, p.by = true, true, granted, whole
		} else {
			u.allowed(p)
		}
		if p.ruled && !ruled {
			by, ruled = p.by, true
		}
		if !p.granted {
			open = append(open, *p)
		}
	}
	for _, r := range u.gate.Rules.Ask {
		if what, sure := u.about(r, open); sure != no && (len(open) > 0 || len(parts) == 0) {
			raise(r.verdict(uzda.Ask, what))
		}
	}
	u.unsure(rep, raise)
	for _, p := range parts {
		u.part(p, raise)
	}
	switch {
	case ruled:
		return by.verdict(uzda.Allow, u.what(parts))
	case readsOnly(rep) && !u.gate.Strict && trusted(u.action.Spec):
		return uzda.Verdict{Decision: uzda.Allow, Origin: FromEffects, Reason: u.what(parts) + " only reads"}
	case u.mode == ModeEdits && trusted(u.action.Spec):
		return uzda.Verdict{Decision: uzda.Allow, Origin: FromMode, Reason: "the mode accept-edits allows " + u.what(parts)}
	}
	return uzda.Verdict{Decision: uzda.Ask, Origin: FromEffects, Reason: u.what(parts) + ": no rule allows it"}
}

// unsure raises what no rule can mend.
func (u *subject) unsure(rep command.Report, raise func(uzda.Verdict)) {
	ask := func(format string, args ...any) {
		raise(uzda.Verdict{Decision: uzda.Ask, Origin: FromEffects, Reason: fmt.Sprintf(format, args...)})
	}
	switch {
	case u.unclear != "":
		ask("%s: %s", u.action.Use.Name, u.unclear)
	case len(rep.Unsure) > 0:
		ask("%s: it cannot be judged as a whole: %s", show(u.line), show(rep.Unsure[0]))
	case len(rep.Parts) == 0 && strings.TrimSpace(u.line) != "":
		if _, _, bare := u.bare(); !bare {
			ask("%s: nothing is known of it", show(u.line))
		}
	case strings.Contains(u.line, secretOpen):
		ask("%s may reach beyond this machine, and it names a secret", show(u.line))
	}
}

// A part is one program that a command starts, with where its paths lead.
type part struct {
	command.Part
	touches []touch
	exact   bool // a rule without a wildcard names the whole of it
	ruled   bool // a rule allows it
	granted bool // a person did, in this session
	by      Rule
}

func (u *subject) parts(rep command.Report) []part {
	out := make([]part, 0, len(rep.Parts))
	for _, p := range rep.Parts {
		x := part{Part: p}
		for _, r := range p.Reads {
			x.touches = append(x.touches, u.operand(r, false)...)
		}
		for i := range x.touches {
			x.touches[i].lists, x.touches[i].plain = x.lists(), x.plain()
		}
		for _, w := range p.Writes {
			x.touches = append(x.touches, u.operand(w, true)...)
		}
		out = append(out, x)
	}
	return out
}

// lists says whether a part shows only the names of what lies below a folder.
func (p part) lists() bool {
	return len(p.Words) > 0 && slices.Contains([]string{"find", "fd", "tree", "du", "ls", "stat"}, p.Words[0].Text)
}

// plain says whether a part leaves out what begins with a dot, unless it is told
// otherwise.
func (p part) plain() bool {
	if len(p.Words) == 0 || p.Words[0].Text != "rg" {
		return false
	}
	return !slices.ContainsFunc(p.Words, func(w command.Word) bool {
		return !w.Known || strings.HasPrefix(w.Text, "--hidden") || strings.HasPrefix(w.Text, "--unr") || len(w.Text) > 1 && w.Text[0] == '-' && w.Text[1] != '-' && strings.ContainsAny(w.Text, "u.")
	})
}

// operand finds where an operand of a command may lead.
func (u *subject) operand(p command.Path, write bool) []touch {
	if slices.Contains(devices, p.Abs) {
		return nil
	}
	if !p.Glob || p.Abs == "" {
		t := u.at.touch(p.Text, p.Abs, write)
		t.deep = p.Deep
		return []touch{t}
	}
	dots := strings.Contains(u.line, "dotglob") || strings.Contains(u.line, "GLOBIGNORE")
	paths, ok := expand(p.Abs, dots)
	if !ok {
		t := u.at.touch(p.Text, literal(p.Abs), write)
		t.deep = true
		return []touch{t}
	}
	paths = append(paths, p.Abs) // without a match the shell passes it on as it is
	var out []touch
	for _, path := range paths {
		t := u.at.touch(path, path, write)
		t.deep = p.Deep
		out = append(out, t)
	}
	return out
}

// about says whether a rule that denies or asks is about a command, and about
// what of it.
func (u *subject) about(r Rule, parts []part) (what string, sure int) {
	if r.names("shell", uzda.Deny) {
		return u.aboutLine(r, parts)
	}
	if !r.forPath(false) && !r.forPath(true) {
		return "", no
	}
	conditions := r.conditions()
	best := no
	for _, p := range parts {
		for _, t := range p.touches {
			if !r.forPath(t.write) {
				continue
			}
			switch held := u.aboutPath(conditions[0], t); {
			case held == no:
			case held == yes && len(conditions) == 1:
				return fmt.Sprintf("%s (%s)", show(p.Line), show(t.text)), yes
			case best == no:
				what, best = fmt.Sprintf("%s (%s)", show(p.Line), show(t.text)), maybe
			}
		}
	}
	return what, best
}

func (u *subject) aboutPath(r Rule, t touch) int {
	if strings.Trim(r.Spec, "*") == "" {
		return yes
	}
	if r.kind() != ofPaths {
		return maybe
	}
	if t.maybe {
		return maybe
	}
	if ok, _ := u.at.covers(r, t, strict); ok {
		return yes
	}
	return no // what lies below a folder is looked at with the part
}

// aboutLine holds a rule about commands against the whole and each part.
func (u *subject) aboutLine(r Rule, parts []part) (what string, sure int) {
	for _, c := range r.conditions()[1:] {
		if !u.meets(c, strict) {
			return "", no
		}
	}
	switch r.kind() {
	case ofArguments:
		if r.Spec == "" || strings.Trim(r.Spec, "*") == "" && r.Param == "" || r.argument(u.action.Use.Input, strict) {
			return u.what(parts), yes
		}
		return "", no
	case ofNothing:
		return u.what(parts), yes
	}
	if r.bare() || u.unclear != "" || lineFits(r.Spec, strings.TrimSpace(u.line), true) {
		return u.what(parts), yes
	}
	for _, p := range parts {
		switch held := p.fits(r.Spec); {
		case held == yes:
			return show(p.Line), yes
		case held > sure:
			what, sure = show(p.Line), held
		}
	}
	return what, sure
}

// fits says whether a pattern that denies or asks means a part, by its program's
// name or path.
func (p part) fits(spec string) int {
	lines := []string{p.Line}
	if p.Program != "" {
		_, rest, _ := strings.Cut(p.Line, " ")
		lines = append(lines, strings.TrimSpace(p.Program+" "+rest))
	}
	for _, l := range lines {
		if lineFits(spec, l, true) {
			return yes
		}
	}
	known := 0
	for known < len(p.Words) && p.Words[known].Known {
		known++
	}
	if known == len(p.Words) || known == 0 { // a name that is not known is asked anyhow
		return no
	}
	head := strings.ToLower(spell(p.Words[:known]) + " ")
	lit, _, star := strings.Cut(strings.ToLower(spaced(spec)), "*")
	if strings.HasPrefix(lit, head) || star && strings.HasPrefix(head, lit) {
		return maybe
	}
	return no
}

func spell(ws []command.Word) string {
	texts := make([]string, len(ws))
	for i, w := range ws {
		texts[i] = w.Text
	}
	return strings.Join(texts, " ")
}

// spaced is a pattern of commands with one space between words; X:* is X *.
func spaced(spec string) string {
	if head, ok := strings.CutSuffix(spec, ":*"); ok {
		spec = head + " *"
	}
	return strings.Join(strings.Fields(spec), " ")
}

// lineFits compares a line with a pattern of commands: "ls *" is also ls alone.
// fold: in any case, since some file systems make no difference.
func lineFits(spec, line string, fold bool) bool {
	spec = spaced(spec)
	if fold {
		spec, line = strings.ToLower(spec), strings.ToLower(line)
	}
	if wild(spec, line) {
		return true
	}
	head, ok := strings.CutSuffix(spec, " *")
	return ok && wild(head, line)
}

// bare finds a rule that allows every command, and says whether a person granted it.
func (u *subject) bare() (r Rule, granted, ok bool) {
	return u.find(func(r Rule) bool { return r.names("shell", uzda.Allow) && r.bare() })
}

// spelled finds a rule that is the whole command, letter by letter.
func (u *subject) spelled() (r Rule, granted, ok bool) {
	line := strings.TrimSpace(u.line)
	return u.find(func(r Rule) bool { return u.forLine(r) && !strings.Contains(r.Spec, "*") && r.Spec == line })
}

// find finds an allow rule: what people granted in the session comes first.
func (u *subject) find(good func(Rule) bool) (r Rule, granted, ok bool) {
	if i := slices.IndexFunc(u.grants, good); i >= 0 {
		return u.grants[i], true, true
	}
	if i := slices.IndexFunc(u.gate.Rules.Allow, good); i >= 0 {
		return u.gate.Rules.Allow[i], false, true
	}
	return Rule{}, false, false
}

// forLine says whether an allow rule is about commands, and its other conditions hold.
func (u *subject) forLine(r Rule) bool {
	if !r.names("shell", uzda.Allow) || r.bare() || r.kind() != ofCommands {
		return false
	}
	return !slices.ContainsFunc(r.conditions()[1:], func(c Rule) bool { return !u.meets(c, loose) })
}

// allowed finds the rule that allows a part: one that is its very line, or one
// with a pattern.
func (u *subject) allowed(p *part) {
	p.by, p.granted, p.exact = u.find(func(r Rule) bool {
		return u.forLine(r) && !strings.Contains(r.Spec, "*") && spaced(r.Spec) == p.Line
	})
	if p.ruled = p.exact; p.ruled || p.Level == command.Dangerous {
		return
	}
	p.by, p.granted, p.ruled = u.find(func(r Rule) bool {
		return u.forLine(r) && lineFits(r.Spec, p.Line, false) && p.spelledBy(r.Spec) && p.safeWords()
	})
	if !p.ruled {
		p.by, p.granted, p.ruled = u.bare()
	}
}

// spelledBy says whether the text of a pattern before its first * holds the words
// that decide what the program does.
func (p part) spelledBy(spec string) bool {
	if p.Spell == command.All {
		return false
	}
	n := max(1, min(p.Spell, len(p.Words)))
	if len(p.Words) == 0 || p.Spell > len(p.Words) {
		return false
	}
	head := spell(p.Words[:n])
	lit, _, _ := strings.Cut(spaced(spec), "*")
	return lit == head || strings.HasPrefix(lit, head+" ")
}

// safeWords says whether no word that is not known could turn out an option.
func (p part) safeWords() bool {
	if p.Level == command.Harmless {
		return true
	}
	return !slices.ContainsFunc(p.Words, func(w command.Word) bool {
		return !w.Known && (strings.ContainsAny(w.Text, "$`{~") || strings.ContainsAny(w.Text[:min(1, len(w.Text))], "*?[-"))
	})
}

// part raises what keeps a part from running without a question.
func (u *subject) part(p part, raise func(uzda.Verdict)) {
	ask := func(origin, format string, args ...any) {
		raise(uzda.Verdict{Decision: uzda.Ask, Origin: origin, Reason: show(p.Line) + ": " + fmt.Sprintf(format, args...)})
	}
	if p.exact {
		return
	}
	edits := u.mode == ModeEdits && p.edits()
	harmless := p.Level == command.Harmless || p.redirected()
	switch {
	case p.ruled, p.Wraps && p.Level < command.Unknown, edits:
	case harmless && !u.gate.Strict && trusted(u.action.Spec):
	case p.Why != "" && !harmless:
		ask(FromEffects, "no rule allows it (%s)", p.Why)
	default:
		ask(FromEffects, "no rule allows it")
	}
	for _, t := range p.touches {
		if why := u.operandAsks(p, t, edits); why != "" {
			ask(FromPaths, "%s %s", show(t.text), why)
		}
	}
}

// operandAsks says why a path of a part is asked about, "" if it is not.
func (u *subject) operandAsks(p part, t touch, edits bool) string {
	switch {
	case t.maybe:
		return "is known only when it runs"
	case u.outside(t) && !u.pathAllowed(t):
		return "lies outside of " + show(strings.Join(u.at.roots, ", ")) + "; a person can add its folder with --add-dir, or to dirs in uzda.yaml"
	}
	if why := u.why(t); why != "" && !u.named(t) {
		return "is asked about: " + why
	}
	if !t.write || u.pathAllowed(t) || edits || u.mode == ModeEdits && p.redirected() {
		return ""
	}
	if p.ruled && (p.by.bare() || !p.redirects(t, u.line)) {
		return "" // the rule is about a program that writes, or about all of them
	}
	return "would be written, and no rule allows that"
}

// pathAllowed says whether a rule allows a file tool this path.
func (u *subject) pathAllowed(t touch) bool {
	return slices.ContainsFunc(slices.Concat(u.grants, u.gate.Rules.Allow), func(r Rule) bool {
		if !r.forPath(t.write) || r.kind() != ofPaths && !r.bare() || r.More != "" {
			return false
		}
		if r.bare() {
			return t.write && !u.outside(t)
		}
		ok, _ := u.at.covers(r, t, loose)
		return ok
	})
}

// redirected says whether all that a part changes is where its output goes.
func (p part) redirected() bool {
	return p.Level == command.Changes && strings.HasPrefix(p.Why, "its output goes to ")
}

// redirects says whether a path may be where the output of a part goes, rather
// than an operand of its program.
func (p part) redirects(t touch, line string) bool {
	if p.redirected() || !slices.ContainsFunc(p.Words, func(w command.Word) bool { return strings.Contains(w.Text, t.text) }) {
		return true
	}
	for i := range len(line) {
		if line[i] == '>' && strings.HasPrefix(strings.TrimLeft(line[i:], ">&| \t'\""), t.text) {
			return true
		}
	}
	return false
}

// edits says whether a part only makes, copies, moves or removes files.
func (p part) edits() bool {
	if p.Level != command.Changes || len(p.Words) == 0 {
		return false
	}
	return p.redirected() || len(p.Writes) > 0 && slices.Contains([]string{"mkdir", "touch", "cp", "mv", "rm", "rmdir", "ln", "tee"}, p.Words[0].Text)
}

// readsOnly says whether a command does nothing but read.
func readsOnly(rep command.Report) bool {
	return len(rep.Unsure) == 0 && len(rep.Parts) > 0 && !slices.ContainsFunc(rep.Parts, func(p command.Part) bool {
		return len(p.Writes) > 0 || p.Level != command.Harmless && !(p.Wraps && p.Level < command.Unknown)
	})
}

// what is a command as a reason names it.
func (u *subject) what(parts []part) string {
	if len(parts) == 1 {
		return show(parts[0].Line)
	}
	return show(u.line)
}
