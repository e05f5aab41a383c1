package command

import (
	"slices"
	"strings"
	"unicode"

	"mvdan.cc/sh/v3/syntax"
)

// builtins are what the shell does itself. Those in plain touch nothing but the
// shell; the others are looked at one by one.
const (
	plainBuiltins = `: true false break continue return exit shift wait fg bg disown times umask ulimit logout
		caller dirs suspend getopts type pwd echo [[ let`
	builtins = plainBuiltins + ` . source eval exec command builtin trap cd pushd popd set shopt unset unalias alias export
		declare typeset local readonly read mapfile readarray printf test [ hash enable bind complete compopt compgen fc history
		kill coproc select function time jobs`
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
		c.reader.brings = true
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
		c.printf()
	case "test", "[":
		c.condition()
	case "getopts":
		if len(c.words) > 1 {
			c.name1(c.words[1], "getopts")
		}
	case "wait":
		c.wait()
	case "jobs":
		c.jobs()
	case "hash", "enable", "bind", "complete", "compopt", "compgen", "fc":
		if len(c.words) > 0 {
			c.unsure("%s changes what a name means, or runs a text", name)
		}
	case "history":
		c.unknown("it shows or writes what was typed before")
	case "let":
		for _, w := range c.words {
			name, _, _ := strings.Cut(w.Text, "=")
			c.setsVar(strings.TrimRight(name, "+-*/%&|^<>"))
			if !w.Known || strings.ContainsAny(w.Text, "[$`") {
				c.unsure("arithmetic on %q cannot be judged", shown(w.Text))
			}
			for _, name := range strings.FieldsFunc(w.Text, func(l rune) bool { return !inName(l) }) {
				c.figures(name)
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
		sc.in, sc.vars = feed{}, nil
		c.loops++
		c.reader.inside++
		c.code(text[0].Text, sc)
		c.reader.inside--
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
	exports, options, array := name == "export", true, false
	for _, w := range c.words {
		text, _, assigns := strings.Cut(w.lead, "=")
		switch {
		case !w.Known && (!assigns || w.many):
			c.unsure("%s with a name that is not known before", name)
		case options && strings.HasPrefix(text, "-"):
			options = text != "--"
			exports = exports || strings.Contains(text, "x")
			array = array || strings.ContainsAny(text, "aA")
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
			if list(w, text, array) {
				c.unsure("%s of %s reads the value as a list, in which commands may stand", name, shown(text))
			}
			if exports && !tame(text) && !tells(text) {
				c.part.raise(Changes, "programs that follow get the variable "+text)
			}
		case exports && tells(text):
			c.variable(text)
		}
	}
	if !slices.ContainsFunc(c.words, func(w arg) bool { return !w.Known || !w.option() || strings.ContainsAny(w.Text, "fF") }) || c.begins("-p", "-x") {
		c.unknown("it shows all variables, secrets among them")
	}
}

// list says whether the value of an assignment may be read as a list: one that
// begins with a bracket in quotes, which the shell then takes apart as code.
func list(w arg, name string, array bool) bool {
	at := len(name) + 1
	if w.Known {
		return strings.HasPrefix(w.Text[at:], "(")
	}
	if written := cut(w.Text, at); strings.HasPrefix(written, "(") {
		return false // it stands there as a list, and is read as one
	}
	value := cut(w.lead, at)
	return strings.HasPrefix(value, "(") || array && value == ""
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
	for _, o := range s.options {
		if o.name == names {
			list = append(list, o.value)
		}
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

// printf judges what sets a variable: -v, as often as it stands there, and %n in
// the format.
func (c *call) printf() {
	words := c.words
	for len(words) > 0 && words[0].option() && !(words[0].Known && words[0].Text == "--") {
		w := words[0]
		switch {
		case w.Known && w.Text == "-v" && len(words) > 1:
			c.name1(words[1], "printf -v")
			words = words[2:]
			continue
		case w.Known && !strings.HasPrefix(w.Text, "-v"): // no option of printf: it stops
		case !w.Known:
			c.unknown("its first word may be an option")
		default:
			c.unsure("printf -v sets a variable whose name is not known")
		}
		break
	}
	if len(words) > 0 && words[0].Known && words[0].Text == "--" {
		words = words[1:]
	}
	if len(words) < 2 || words[0].Known && !setsCount(words[0].Text) {
		return
	}
	for _, w := range words[1:] {
		texts, _ := w.texts()
		switch {
		case slices.ContainsFunc(texts, tells):
			c.unsure("printf %%n may set the variable %s", shown(w.Text))
		case words[0].Known:
			c.name1(w, "printf %n")
		}
	}
}

// setsCount says whether a format of printf has a %n.
func setsCount(format string) bool {
	for {
		_, rest, ok := strings.Cut(format, "%")
		if !ok {
			return false
		}
		rest = strings.TrimLeft(rest, "-+ #0123456789.*'hjlLqtz")
		if strings.HasPrefix(rest, "n") {
			return true
		}
		format = cut(rest, 1)
	}
}

// wait judges the option by which wait sets a variable.
func (c *call) wait() {
	s := scanWords(c.words, "-nf -p=", first)
	for _, o := range s.options {
		if o.name == "-p" {
			c.name1(o.value, "wait -p")
		}
	}
	for _, w := range c.words {
		c.brings(w)
		if w.Known || w.many || !w.option() {
			continue
		}
		if name := strings.Trim(w.Text, `"${}`); syntax.ValidName(name) {
			c.figures(name) // "$pid": a number is no option
		} else if name != "!" {
			c.unsure("wait sets a variable if %s is an option", shown(w.Text))
		}
	}
	if s.stray != "" && !slices.ContainsFunc(c.words, func(w arg) bool { return !w.Known }) {
		c.unsure("wait %s sets a variable", shown(s.stray))
	}
}

// jobs judges the option by which jobs runs what follows.
func (c *call) jobs() {
	at := slices.IndexFunc(c.words, func(w arg) bool {
		return w.option() && !(w.Known && strings.Trim(w.Text, "-lnprs") == "")
	})
	if at < 0 {
		return
	}
	c.unsure("jobs with %s may run what follows", shown(c.words[at].Text))
	c.starts(c.words[at+1:], c.sc)
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
		if i+1 >= len(c.words) || !mayIndex(c.words[i+1]) {
			continue
		}
		texts, known := w.texts()
		index := slices.ContainsFunc(texts, func(s string) bool { return s == "-v" || s == "-R" })
		// Without a sign between the two the first may be an option: [ "$op" "$name" ].
		if index || !known && slices.Contains([]string{"", "-", "-v", "-R"}, w.lead) {
			c.unsure("test -v reads the index of a variable, which may be a command")
		}
	}
}

// mayIndex says whether a word may name a variable with an index.
func mayIndex(w arg) bool {
	texts, known := w.texts()
	if !known && w.lead != "" && !inName(rune(w.lead[0])) {
		return false // a name begins otherwise
	}
	return !known || slices.ContainsFunc(texts, func(s string) bool { return strings.ContainsAny(s, "[$`") })
}

// inName says whether a letter may stand in the name of a variable.
func inName(l rune) bool {
	return l == '_' || l <= unicode.MaxASCII && (unicode.IsLetter(l) || unicode.IsDigit(l))
}
