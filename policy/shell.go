package policy

import (
	"fmt"
	"io/fs"
	"path/filepath"
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
	u.moved = u.leaves(parts)
	var ask uzda.Verdict // the worst reason to ask
	worst := -1
	raise := func(weight int, v uzda.Verdict) {
		if weight > worst {
			ask, worst = v, weight
		}
	}
	for _, r := range u.gate.Rules.Deny {
		switch what, sure := u.about(r, parts); sure {
		case yes:
			return r.verdict(uzda.Deny, what)
		case maybe:
			v := r.verdict(uzda.Ask, what)
			v.Reason = fmt.Sprintf("%s may be what the rule %s (%s) denies", what, r, r.Origin)
			raise(byRule, v)
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
		raise(byRule, v)
	}
	allowed := u.rulings(rep, parts, raise)
	if ask.Decision != "" {
		return ask
	}
	return allowed
}

// How much a reason to ask weighs: a person is told the worst.
const (
	byChange  = iota // it changes what can be made again
	byUnknown        // nobody knows what it does
	byPath           // it is about what is outside or protected
	byDoubt          // it cannot be judged as a whole
	byRule           // a rule asks, or calls failed
	byDanger         // it destroys, or takes more rights
)

// A raiser takes a reason to ask.
type raiser func(weight int, v uzda.Verdict)

// rulings finds who allows each part, and raises what nobody does.
func (u *subject) rulings(rep command.Report, parts []part, raise raiser) uzda.Verdict {
	var by Rule
	ruled := false
	whole, granted, exact := u.spelled()
	exact = exact && !slices.ContainsFunc(parts, u.strays)
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
			raise(byRule, r.verdict(uzda.Ask, what))
		}
	}
	u.unsure(rep, raise)
	u.partByPart(parts, raise)
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

// partByPart raises the worst that keeps one of the parts from running, and says how many
// more are asked about.
func (u *subject) partByPart(parts []part, raise raiser) {
	var worst uzda.Verdict
	weight, asked := -1, 0
	for _, p := range parts {
		asks := false
		u.part(p, func(w int, v uzda.Verdict) {
			if asks = true; w > weight {
				worst, weight = v, w
			}
		})
		if asks {
			asked++
		}
	}
	switch {
	case asked == 0:
		return
	case asked == 2:
		worst.Reason += "; and 1 more part is asked about"
	case asked > 2:
		worst.Reason += fmt.Sprintf("; and %d more parts are asked about", asked-1)
	}
	raise(weight, worst)
}

// unsure raises what no rule can mend.
func (u *subject) unsure(rep command.Report, raise raiser) {
	ask := func(format string, args ...any) {
		raise(byDoubt, uzda.Verdict{Decision: uzda.Ask, Origin: FromEffects, Reason: fmt.Sprintf(format, args...)})
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
	fresh   bool // another part may make the repository of git
	by      Rule
}

func (u *subject) parts(rep command.Report) []part {
	out := make([]part, 0, len(rep.Parts))
	still := readsOnly(rep)
	writing := 0
	for _, p := range rep.Parts {
		if len(p.Writes) > 0 || p.Level > command.Harmless && !p.Wraps {
			writing++
		}
	}
	alone := writing <= 1
	for _, p := range rep.Parts {
		x := part{Part: p}
		for _, r := range p.Reads {
			list := u.operand(r, false)
			for i := range list {
				if r.Odd != "" && !still { // it may make such a name before
					list[i].maybe = true
				}
			}
			x.touches = append(x.touches, list...)
		}
		for i := range x.touches {
			x.touches[i].lists, x.touches[i].plain = x.lists(), x.plain()
		}
		for _, w := range p.Writes {
			x.touches = append(x.touches, u.operand(w, true)...)
		}
		x.deepen(alone)
		out = append(out, x)
	}
	var moved []string // what a part takes away from where it is
	for _, p := range out {
		for _, t := range p.touches {
			if !t.write && p.brings() {
				moved = append(moved, t.names...)
			}
		}
	}
	inOrder := u.inOrder(rep)
	for i, p := range out {
		for j := range out {
			if j != i && p.brings() && (j > i || !inOrder) {
				out[j].behind(p, moved)
			}
			if j != i {
				out[j].fresh = out[j].fresh || p.makes(out[j].Git)
			}
		}
	}
	return out
}

// inOrder says for certain that each part runs once, after those before it: commands
// with ; && || or line ends between, and nothing that could repeat or join them.
func (u *subject) inOrder(rep command.Report) bool {
	if slices.ContainsFunc(rep.Parts, func(p command.Part) bool { return p.Wraps || p.Level >= command.Unknown }) {
		return false
	}
	plain := strings.NewReplacer("&&", ";", "||", ";").Replace(u.line)
	if strings.ContainsAny(plain, "|&(){}`$<") {
		return false
	}
	return !slices.ContainsFunc(strings.Fields(strings.ReplaceAll(plain, ";", " ")), func(w string) bool {
		return slices.Contains([]string{"for", "while", "until", "select", "if", "case", "function", "trap", "coproc", "eval", "alias", "source", "."}, w)
	})
}

// brings says whether a part may bring links to where it writes.
func (p part) brings() bool {
	if len(p.Words) == 0 || len(p.Writes) == 0 {
		return false
	}
	switch p.Words[0].Text {
	case "ln", "mv":
		return true
	case "cp": // without an option it copies what a link leads to
		return slices.ContainsFunc(p.Words[1:], func(w command.Word) bool { return !w.Known || strings.HasPrefix(w.Text, "-") })
	}
	return false
}

// behind says that what another part brings there may be a link: where a path leads
// that goes through it is known only then. A folder that is there stays one.
func (p *part) behind(other part, moved []string) {
	for i, t := range p.touches {
		for _, w := range other.touches {
			if !w.write || !slices.ContainsFunc(t.names, func(n string) bool { return lies(n, w.names) }) {
				continue
			}
			stays := slices.Equal(t.names, w.names) && !t.each && len(w.ends) > 0 && isDir(w.ends[0]) &&
				!slices.ContainsFunc(w.names, func(n string) bool { return slices.Contains(moved, n) })
			p.touches[i].maybe = p.touches[i].maybe || !stays
		}
	}
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
		t.deep, t.each, t.odd, t.tracked = p.Deep, p.Each, p.Odd, p.Tracked
		return []touch{t}
	}
	dots := strings.Contains(u.line, "dotglob") || strings.Contains(u.line, "GLOBIGNORE")
	paths, ok := expand(p.Abs, dots)
	if !ok {
		t := u.at.touch(p.Text, literal(p.Abs), write)
		t.deep, t.each, t.odd, t.tracked = true, p.Each, p.Odd, p.Tracked
		return []touch{t}
	}
	paths = append(paths, p.Abs) // without a match the shell passes it on as it is
	var out []touch
	for _, path := range paths {
		t := u.at.touch(path, path, write)
		t.deep, t.each, t.odd, t.tracked = p.Deep, p.Each, p.Odd, p.Tracked
		t.maybe = t.maybe || path != p.Abs && strange(filepath.Base(path), p.Odd)
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
		return u.forLine(r) && !strings.Contains(r.Spec, "*") && u.placed(*p, r.Spec) &&
			slices.ContainsFunc(p.spellings(), func(words []command.Word) bool { return spaced(r.Spec) == spell(words) })
	})
	if p.ruled = p.exact; p.ruled || p.Level == command.Dangerous {
		return
	}
	p.by, p.granted, p.ruled = u.find(func(r Rule) bool {
		return u.forLine(r) && p.safeWords() && u.placed(*p, r.Spec) && slices.ContainsFunc(p.spellings(), func(words []command.Word) bool {
			return lineFits(r.Spec, spell(words), false) && p.spelledBy(r.Spec, words)
		})
	})
	if !p.ruled {
		p.by, p.granted, p.ruled = u.bare()
	}
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
func (u *subject) part(p part, raise raiser) {
	ask := func(weight int, origin, format string, args ...any) {
		raise(weight, uzda.Verdict{Decision: uzda.Ask, Origin: origin, Reason: show(p.Line) + ": " + fmt.Sprintf(format, args...)})
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
		ask(p.weight(), FromEffects, "%s (%s)", u.unruled(p), p.Why)
	default:
		ask(p.weight(), FromEffects, "%s", u.unruled(p))
	}
	for _, t := range p.touches {
		switch why := u.operandAsks(p, t, edits); why {
		case "":
		case unwritten:
			ask(byChange, FromPaths, "%s %s", show(t.text), why)
		default:
			ask(byPath, FromPaths, "%s %s", show(t.text), why)
		}
	}
	if why := u.brought(p); why != "" {
		ask(byPath, FromPaths, "%s", why)
	}
	if p.ruled && p.by.bare() {
		return
	}
	if why := u.repository(p); why != "" {
		ask(byPath, FromPaths, "%s", why)
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
	if why := u.each(t); why != "" {
		return "is asked about: " + why
	}
	if !t.write || u.pathAllowed(t) || edits || u.mode == ModeEdits && p.redirected() {
		return ""
	}
	if p.ruled && (p.by.bare() || t.tracked || !p.redirects(t, u.line)) {
		return "" // the rule is about a program that writes, or about all of them
	}
	return unwritten
}

const unwritten = "would be written, and no rule allows that"

// each looks at names that a command takes from below a folder and hands on one by
// one: where links among them lead, and whether one would become something else.
func (u *subject) each(t touch) string {
	if !t.each || !t.deep {
		return ""
	}
	for _, end := range t.ends {
		hit, why := "", ""
		n := 0
		_ = filepath.WalkDir(end, func(path string, d fs.DirEntry, err error) error {
			rel := strings.TrimPrefix(strings.TrimPrefix(path, end), string(filepath.Separator))
			switch n++; {
			case n > maxNames:
				hit, why = end, "it holds too much to see whether each name is what it seems"
			case rel == "":
			case strange(rel, t.odd):
				hit, why = path, "its name would become something else: an option, or two words"
			case d.Type()&fs.ModeSymlink != 0:
				to, trap := follow(path)
				if trap != "" || u.outside(touch{ends: []string{to}}) {
					hit, why = path, "it is a link to "+show(to)+", outside of the roots"
				}
			case err == nil && d.IsDir() && filepath.Base(path) == "objects" && filepath.Base(filepath.Dir(path)) == ".git":
				return fs.SkipDir // names of git's own making, and many
			}
			if hit != "" {
				return fs.SkipAll
			}
			return nil // what cannot be read is not read
		})
		if hit != "" {
			return fmt.Sprintf("below it lies %s: %s", show(hit), why)
		}
	}
	return ""
}

// maxNames is how many names are looked at one by one.
const maxNames = 20000

// strange says whether a name has one of the letters that it must not have; some of
// them count only in front.
func strange(name, odd string) bool {
	const front = "-+@"
	for i := range len(name) {
		if strings.IndexByte(odd, name[i]) >= 0 && (i == 0 || strings.IndexByte(front, name[i]) < 0) {
			return true
		}
	}
	return false
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
	if t.tracked {
		return false
	}
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
