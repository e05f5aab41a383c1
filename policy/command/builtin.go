package command

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// builtins are what the shell does itself. Those in plain touch nothing but the
// shell; the others are looked at one by one.
const (
	plainBuiltins = `: true false break continue return exit shift wait jobs fg bg disown times umask ulimit logout
		caller dirs suspend getopts type pwd echo [[ let`
	builtins = plainBuiltins + ` . source eval exec command builtin trap cd pushd popd set shopt unset unalias alias export
		declare typeset local readonly read mapfile readarray printf test [ hash enable bind complete compopt compgen fc history
		kill coproc select function time`
)

func isBuiltin(name string) bool { return slices.Contains(strings.Fields(builtins), name) }

// builtin judges a builtin; false: it is none, or it is judged as the program of
// the same name.
func (c *call) builtin(name string) bool {
	switch name {
	case "exit", "logout":
		c.inner = func(*call) flow { return flow{} }
	case "cd", "pushd", "popd":
		c.changeDir(name)
	case "eval":
		c.eval()
	case "trap":
		c.trap()
	case ".", "source":
		c.reads(c.words...)
		c.whole("it runs what a file holds in this shell")
	case "command", "builtin", "exec":
		return c.through(name)
	case "alias":
		if len(c.words) > 0 {
			c.unsure("an alias hides a name")
		}
	case "set", "shopt":
		c.modes(name)
	case "unset":
		c.unset()
	case "export", "declare", "typeset", "local", "readonly":
		c.exports(name)
	case "read", "mapfile", "readarray":
		c.read(name)
	case "printf":
		if len(c.words) > 0 && c.words[0].option() && !(c.words[0].Known && c.words[0].Text == "--") {
			c.sets(c.words, "printf -v")
		}
	case "test", "[":
		c.condition()
	case "getopts":
		if len(c.words) > 1 {
			c.name1(c.words[1], "getopts")
		}
	case "wait":
		for _, w := range c.words {
			c.brings(w)
		}
		if len(c.words) > 0 && c.words[0].Known && c.words[0].option() && c.words[0].Text != "-n" {
			c.unsure("wait %s sets a variable", shown(c.words[0].Text))
		}
	case "hash", "enable", "bind", "complete", "compopt", "compgen", "fc":
		if len(c.words) > 0 {
			c.unsure("%s changes what a name means, or runs a text", name)
		}
	case "history":
		c.unknown("it shows or writes what was typed before")
	case "let":
		for _, w := range c.words {
			if !w.Known || strings.ContainsAny(w.Text, "[$`") {
				c.unsure("arithmetic on %q cannot be judged", shown(w.Text))
			}
		}
	case "time":
		return false
	case "coproc":
		c.starts(c.words, c.sc)
	default:
		return slices.Contains(strings.Fields(plainBuiltins), name)
	}
	return true
}

// starts says that the call does nothing but start another.
func (c *call) starts(args []arg, sc scope) {
	if len(args) == 0 {
		return
	}
	c.part.Wraps = true
	c.inner = func(c *call) flow {
		c.start1(args, sc, true)
		return flow{c.sc.dirs, c.sc.dirs}
	}
}

// changeDir judges cd and its like.
func (c *call) changeDir(name string) {
	s := scanWords(c.words, "-LPe@n", first)
	c.inner = func(c *call) flow {
		to := arg{}
		switch {
		case name == "popd" || s.stray != "" || len(s.operands) > 1 || s.has("-n"):
		case len(s.operands) == 0 && name == "cd":
			to = arg{path: c.o.Home, named: c.o.Home != ""}
		case len(s.operands) == 1 && s.operands[0].Text != "-" && !strings.HasPrefix(s.operands[0].lead, "+"):
			to = s.operands[0]
		}
		return c.chdir(to, c.sc)
	}
}

// eval runs its words as code.
func (c *call) eval() {
	words := c.words
	if len(words) > 0 && words[0].Known && words[0].Text == "--" {
		words = words[1:]
	}
	text, ok := joined(words)
	c.part.Wraps = true
	c.inner = func(c *call) flow {
		if !ok {
			c.unsure("eval runs a text that is not known before")
			return flow{c.sc.dirs, c.sc.dirs}
		}
		return c.code(text, c.sc)
	}
}

// joined puts words together, if all are known.
func joined(words []arg) (string, bool) {
	out := make([]string, len(words))
	for i, w := range words {
		if !w.Known {
			return "", false
		}
		out[i] = w.Text
	}
	return strings.Join(out, " "), true
}

// trap runs its first word as code, later.
func (c *call) trap() {
	s := scanWords(c.words, "-lp", first)
	if s.stray == "" && (len(s.operands) < 2 || s.operands[0].Known && s.operands[0].Text == "-") {
		return
	}
	c.part.Wraps = true
	text := s.operands
	c.inner = func(c *call) flow {
		still := flow{c.sc.dirs, c.sc.dirs}
		if s.stray != "" || !text[0].Known {
			c.unsure("trap runs a text that is not known before")
			return still
		}
		c.late = true
		sc := c.sc
		if c.roams {
			sc.dirs = []string{""}
		}
		sc.in = feed{}
		c.loops++
		c.code(text[0].Text, sc)
		c.loops--
		return still
	}
}

// through judges command, builtin and exec, which start what follows.
func (c *call) through(name string) bool {
	table := map[string]string{"command": "-pvV", "builtin": "", "exec": "-cl -a="}[name]
	s := scanWords(c.words, table, first)
	switch {
	case s.stray != "":
		c.unsure("the option %s of %s is not known", shown(s.stray), name)
	case s.has("-v", "-V") || len(s.operands) == 0:
		return true
	}
	c.part.Wraps = true
	inner, sc := s.operands, c.sc
	c.inner = func(c *call) flow {
		if name == "exec" {
			return c.start1(inner, sc, true)
		}
		hidden := c.funcs
		c.funcs = nil // both pass by functions
		f := c.start1(inner, sc, false)
		c.funcs = hidden
		return f
	}
	return true
}

// modes judges set and shopt: some of their modes change how the rest is read.
func (c *call) modes(name string) {
	if name == "set" && len(c.words) == 0 {
		c.unknown("it shows all variables, secrets among them")
	}
	for i := 0; i < len(c.words); i++ {
		w := c.words[i]
		switch {
		case w.Known && (w.Text == "--" || w.Text == "-") && name == "set":
			return
		case !w.Known:
			c.unsure("%s with an option that is not known before", name)
			return
		case name == "shopt":
			if !slices.Contains(strings.Fields("-s -u -q -p nullglob dotglob failglob globstar nocaseglob inherit_errexit lastpipe checkwinsize"), w.Text) {
				c.unsure("shopt %s changes how the shell reads what follows", shown(w.Text))
			}
			if w.Text == "lastpipe" {
				c.unsure("shopt lastpipe lets a pipe change the folder")
			}
		case !strings.HasPrefix(w.Text, "-") && !strings.HasPrefix(w.Text, "+"):
			if i > 0 && strings.HasSuffix(c.words[i-1].Text, "o") && slices.Contains(strings.Fields("pipefail errexit nounset xtrace noclobber noglob verbose errtrace"), w.Text) {
				continue
			}
			if i > 0 && strings.HasSuffix(c.words[i-1].Text, "o") {
				c.unsure("set -o %s changes how the shell reads what follows", shown(w.Text))
				continue
			}
			return // positional parameters
		case strings.Trim(w.Text[1:], "euxvfCEo") != "":
			c.unsure("set %s changes how the shell reads what follows", shown(w.Text))
		}
	}
}

func (c *call) unset() {
	for _, w := range c.words {
		switch {
		case !w.Known || strings.Contains(w.Text, "["):
			c.unsure("unset of a name that is not known before")
		case strings.HasPrefix(w.Text, "-") && w.Text != "-v":
			if len(c.funcs) > 0 {
				c.unsure("unset %s gives a name its old meaning", w.Text)
			}
		default:
			c.variable(w.Text)
		}
	}
}

// exports judges export and its like; what they assign is read with the statement.
func (c *call) exports(name string) {
	exports := name == "export"
	for i, w := range c.words {
		text, _, assigns := strings.Cut(w.lead, "=")
		switch {
		case !w.Known && (!assigns || w.many):
			c.unsure("%s with a name that is not known before", name)
		case i == 0 && strings.HasPrefix(text, "-"):
			exports = exports || strings.Contains(text, "x")
			if strings.ContainsAny(text, "infFcult") && strings.Trim(text, "-gaxArpFf") != "" || name == "export" && strings.Contains(text, "f") {
				c.unsure("%s %s changes what a name means", name, text)
			}
		case !syntax.ValidName(strings.TrimSuffix(text, "+")):
			if w.Known && strings.HasPrefix(text, "-") {
				continue
			}
			c.unsure("%s of %s cannot be judged", name, shown(w.Text))
		case assigns:
			c.variable(text)
			c.assign(text, w.Known && strings.Trim(w.Text[len(text)+1:], "0123456789") == "")
			if exports && !tame(text) && !tells(text) {
				c.part.raise(Changes, "programs that follow get the variable "+text)
			}
		case exports && tells(text):
			c.variable(text)
		}
	}
	if exports && len(c.words) == 0 || len(c.words) == 1 && c.words[0].Text == "-p" {
		c.unknown("it shows all variables, secrets among them")
	}
	if len(c.words) == 0 || c.words[0].Text == "-p" || c.words[0].Text == "-x" {
		c.unknown("it shows all variables, secrets among them")
	}
}

// read judges builtins that put what they read into variables.
func (c *call) read(name string) {
	table, names := "-ers -a= -d= -i= -n= -N= -p= -t= -u=", "-a"
	if name != "read" {
		table, names = "-t -d= -n= -O= -s= -u=", ""
	}
	s := scanWords(c.words, table, first)
	if s.stray != "" {
		c.unsure("%s with the option %s cannot be judged", name, shown(s.stray))
	}
	list := s.operands
	if v, ok := s.last(names); ok {
		list = append(list, v)
	}
	for _, w := range list {
		c.name1(w, name)
	}
	if len(list) == 0 {
		c.assign("REPLY", false)
		c.assign("MAPFILE", false)
	}
}

// name1 takes a word as the name of a variable that is set.
func (c *call) name1(w arg, by string) {
	if !w.Known || !syntax.ValidName(w.Text) {
		c.unsure("%s sets %s, which is no plain name", by, shown(w.Text))
		return
	}
	c.variable(w.Text)
	c.assign(w.Text, false)
}

// sets judges the option by which a builtin sets a variable.
func (c *call) sets(words []arg, by string) {
	w := words[0]
	if w.Known && w.Text == "-v" && len(words) > 1 {
		c.name1(words[1], by)
		return
	}
	if w.Known && !strings.HasPrefix(w.Text, "-v") && !strings.HasPrefix(w.Text, "-p") {
		return
	}
	if !w.Known && !w.many && w.lead == "" { // printf "$x": a value that begins with -v
		c.unknown("its first word may be an option")
		return
	}
	if !w.Known && by != "printf -v" || !w.Known && w.many {
		c.unknown("its first word may be an option")
		return
	}
	c.unsure("%s sets a variable whose name is not known", by)
}

// brings looks at a word without quotes, which may become several: an option and
// its value among them, and that may be an index with a command in it.
func (c *call) brings(w arg) {
	if w.Known || !w.many || w.glob {
		return
	}
	name := strings.TrimSuffix(strings.TrimPrefix(strings.TrimPrefix(w.Text, "$"), "{"), "}")
	switch {
	case syntax.ValidName(name):
		c.figures(name)
	case len(name) == 1 && strings.Contains("#?$!-", name): //nolint:gocritic // the order is meant
	case slices.ContainsFunc(strings.Fields("$(wc $(nproc $(date $(id $(uname $(hostname"), func(s string) bool { return strings.HasPrefix(w.Text, s) }):
	default:
		c.unknown("what stands for " + shown(w.Text) + " may be an option")
	}
}

// condition judges test: -v reads an index, which may run a command.
func (c *call) condition() {
	for i, w := range c.words {
		c.brings(w)
		if w.Known && (w.Text == "-v" || w.Text == "-R") && i+1 < len(c.words) {
			if next := c.words[i+1]; !next.Known || strings.ContainsAny(next.Text, "[$`") {
				c.unsure("test -v reads the index of a variable, which may be a command")
			}
		}
	}
}
