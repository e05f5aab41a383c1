package command

import (
	"path"
	"strings"
	"unicode"
)

// A call is one program with its words while it is judged.
type call struct {
	*reader
	part  Part
	words []arg // behind the name
	sc    scope
	// far says that the program is not started by the shell itself, so that it
	// cannot be one of its builtins.
	far bool
	// inner is what it starts.
	inner func(*call) flow
}

// call reads one call and what it starts.
func (r *reader) call(args []arg, sc scope) flow { return r.start1(args, sc, false) }

// start1 reads a call; far says that a program makes it and not the shell.
func (r *reader) start1(args []arg, sc scope, far bool) flow {
	still := flow{sc.dirs, sc.dirs}
	if len(args) == 0 || !r.spend(16*len(args)) || !r.enter() {
		return still
	}
	defer r.leave()
	c := &call{reader: r, words: args[1:], sc: sc, far: far}
	c.part.Spell = 1
	name, ok := c.name(args[0])
	c.part.Words = make([]Word, len(args))
	for i, a := range args {
		c.part.Words[i] = a.Word
	}
	c.part.Words[0].Text = name
	c.part.Line = line(c.part.Words)
	if !ok {
		c.unknown("the name of the program is not known before it runs")
		c.part.Spell = All
		c.readsAll()
		r.add(c.part)
		return still
	}
	if c.shellItself(name) {
		return c.done()
	}
	c.program(name)
	return c.done()
}

// done adds the part and then what it starts.
func (c *call) done() flow {
	c.handedOn()
	c.part.devices()
	c.add(c.part)
	if c.inner == nil {
		return flow{c.sc.dirs, c.sc.dirs}
	}
	return c.inner(c)
}

// handedOn looks at words that stand for names of files. What they must not be is
// for the reader of the report to see, so they are paths whatever the program takes
// them for. And a program that does more than read gets none that are known.
func (c *call) handedOn() {
	each, text := false, c.part.Words[0].Text == "echo" // it takes them for what they are
	for _, w := range c.words {
		odd := w.odd != ""
		for _, v := range w.values {
			each = each || v.below || v.glob
			odd = odd || v.odd != ""
		}
		if odd && !text {
			c.reads(w)
		}
		if w.list { // there may be none, and then some read the folder
			c.reads(here())
		}
	}
	if !each || c.part.Level == Harmless {
		return
	}
	for _, list := range [][]Path{c.part.Reads, c.part.Writes} {
		for i := range list {
			if list[i].Each {
				list[i].Abs = ""
			}
		}
	}
}

func line(words []Word) string {
	var b strings.Builder
	for i, w := range words {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(w.Text)
	}
	return b.String()
}

// name reads the name of the program.
func (c *call) name(a arg) (string, bool) {
	text := a.Text
	if !a.Known && !a.bash {
		// ~/bin/x and $HOME/bin/x are known once the home is.
		if !a.named || a.many || a.glob || !strings.HasPrefix(a.path, "/") {
			c.unsure("the name of a program is not known before it runs: %s", shown(a.Text))
			return a.Text, false
		}
		text = a.path
	}
	for _, l := range text {
		if l > unicode.MaxASCII || l <= ' ' || l == 0x7f {
			c.unsure("the name of a program has a letter that looks like another: %s", shown(text))
			break
		}
	}
	name := text
	if strings.Contains(text, "/") {
		c.part.Program = text
		name = path.Base(text)
		if strings.HasSuffix(text, "/") || name == ".." || name == "." {
			name = text
		}
	}
	if name == "" {
		c.unsure("a program has an empty name")
	}
	return name, true
}

// shown makes a text fit for a reason.
func shown(s string) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) {
			return '?'
		}
		return r
	}, s)
	if len(s) > 80 {
		n := 80
		for n > 0 && s[n]&0xC0 == 0x80 {
			n--
		}
		s = s[:n] + "…"
	}
	return s
}

// unknown says that nobody knows what the call does.
func (c *call) unknown(why string) { c.part.raise(Unknown, why) }

// whole says that every word of the call matters.
func (c *call) whole(why string) {
	c.unknown(why)
	c.part.Spell = All
}

// spell sets how many words a rule must spell, if it is not all already.
func (c *call) spell(n int) {
	if c.part.Spell != All {
		c.part.Spell = max(c.part.Spell, n)
	}
}

func (c *call) reads(list ...arg) {
	for _, a := range list {
		c.part.Reads = append(c.part.Reads, a.paths(c.sc.dirs)...)
	}
}

func (c *call) writes(list ...arg) {
	for _, a := range list {
		for _, p := range a.paths(c.sc.dirs) {
			if !nowhere(p.Abs) {
				c.part.Writes = append(c.part.Writes, p)
			}
		}
	}
}

// deepen marks all that is read as read with what lies below.
func (c *call) deepen() {
	for i := range c.part.Reads {
		c.part.Reads[i].Deep = true
	}
}

// here is the folder that the command runs in.
func here() arg { return plain(".") }

// readsAll takes every word as a file, and what stands behind = or a short
// option too. Whether an unknown program writes them is not said: it is asked
// about anyway, and nothing but the program itself could tell.
func (c *call) readsAll() { c.readsWords(c.words) }

func (c *call) readsWords(list []arg) {
	for _, w := range list {
		if w.pipe || strings.Contains(w.lead, "://") && !strings.Contains(w.lead, "file:") {
			continue
		}
		if strings.HasPrefix(w.lead, "-") {
			if at := strings.IndexByte(w.lead, '='); at >= 0 {
				c.reads(w.from(at + 1))
			} else if len(w.lead) > 2 && w.lead[1] != '-' {
				c.reads(w.from(2))
			} else if !w.Known {
				c.reads(w)
			}
			continue
		}
		c.reads(w)
		if at := strings.IndexByte(w.lead, '='); at >= 0 {
			c.reads(w.from(at + 1))
		}
	}
}

// shellItself judges what the shell does without a program: builtins, and
// functions of the line.
func (c *call) shellItself(name string) bool {
	if c.part.Program != "" || c.far {
		return false
	}
	if sure, ok := c.funcs[name]; ok {
		if sure {
			c.part.Wraps = true
		} else {
			c.unknown("it is a function, or a program where that was not defined")
		}
		if c.roams {
			c.inner = func(*call) flow { return flow{[]string{""}, []string{""}} }
		}
		return true
	}
	return c.builtin(name)
}

// program judges a program by its name, its options and its operands.
func (c *call) program(name string) {
	if c.wrap(name) || c.text(name) {
		c.stranger()
		return
	}
	switch name {
	case "git":
		c.git()
	case "find":
		c.find()
	default:
		if p, ok := programs[name]; ok {
			c.usual(name, p)
		} else if run, ok := runners[interpreter(name)]; ok {
			c.runner(name, run)
		} else {
			c.dangerous(name)
		}
	}
	c.stranger()
}

// stranger looks at a program that was called by its path: only in the folders of
// the system is it what its name says.
func (c *call) stranger() {
	if c.part.Program == "" {
		return
	}
	switch path.Dir(c.part.Program) {
	case "/bin", "/usr/bin", "/usr/local/bin", "/sbin", "/usr/sbin", "/usr/local/sbin", "/opt/homebrew/bin":
		return
	}
	c.unknown(c.part.Program + " is not a program of the system")
}

// isKnown says whether a name means something here.
func (r *reader) isKnown(name string) bool {
	if _, ok := programs[name]; ok {
		return true
	}
	if _, ok := runners[interpreter(name)]; ok {
		return true
	}
	if _, ok := wrappers[name]; ok {
		return true
	}
	if _, ok := dangers[name]; ok {
		return true
	}
	return isBuiltin(name) || isShell(name) || name == "git" || name == "find" || name == "command_not_found_handle"
}
