package command

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// inWord reads what runs while a word is put together.
func (r *reader) inWord(w *syntax.Word, sc scope) {
	if w == nil {
		return
	}
	for _, p := range w.Parts {
		r.inPart(p, sc)
	}
}

func (r *reader) inPart(p syntax.WordPart, sc scope) {
	switch p := p.(type) {
	case *syntax.DblQuoted:
		for _, in := range p.Parts {
			r.inPart(in, sc)
		}
	case *syntax.CmdSubst:
		defer r.apart()()
		if p.TempFile || p.ReplyVar {
			r.unsure("it has a form that is not known here")
		}
		sc.end = int(p.Right.Offset())
		r.stmts(p.Stmts, sc)
	case *syntax.ProcSubst:
		defer r.apart()()
		sc.end = int(p.Rparen.Offset())
		sc.in = feed{}
		r.stmts(p.Stmts, sc)
	case *syntax.ArithmExp:
		r.arithmetic(p.X, sc)
	case *syntax.ParamExp:
		r.inParam(p, sc)
	}
}

func (r *reader) inParam(p *syntax.ParamExp, sc scope) {
	if p.NestedParam != nil || p.Flags != nil || len(p.Modifiers) > 0 {
		r.unsure("it has a form that is not known here")
	}
	if p.Index != nil && !everything(p.Index) {
		r.arithmetic(p.Index, sc)
	}
	if p.Excl && p.Names == 0 && (p.Index == nil || !everything(p.Index)) {
		r.unsure("${!…} reads the variable that another one names, which may be a command")
	}
	if p.Slice != nil {
		r.arithmetic(p.Slice.Offset, sc)
		r.arithmetic(p.Slice.Length, sc)
	}
	if p.Repl != nil {
		r.inWord(p.Repl.Orig, sc)
		r.inWord(p.Repl.With, sc)
	}
	if p.Exp == nil {
		return
	}
	r.inWord(p.Exp.Word, sc)
	switch p.Exp.Op {
	case syntax.OtherParamOps:
		if p.Exp.Word == nil || p.Exp.Word.Lit() == "P" || p.Exp.Word.Lit() == "" {
			r.unsure("${…@P} runs what a variable holds")
		}
	case syntax.AssignUnset, syntax.AssignUnsetOrNull:
		if p.Param != nil {
			r.variable(p.Param.Value)
			r.assign(p.Param.Value, number(p.Exp.Word))
		}
	}
}

// everything says whether an index is @ or *.
func everything(x syntax.ArithmExpr) bool {
	w, ok := x.(*syntax.Word)
	return ok && (w.Lit() == "@" || w.Lit() == "*")
}

// arithmetic reads an expression. The shell reads the value of a variable as an
// expression in turn, and an index there as a word with substitutions: a variable
// that holds a[$(rm x)] runs rm.
func (r *reader) arithmetic(x syntax.ArithmExpr, sc scope) {
	if x == nil || !r.enter() {
		return
	}
	defer r.leave()
	switch x := x.(type) {
	case *syntax.Word:
		r.figure(x, sc)
	case *syntax.BinaryArithm:
		r.arithmetic(x.X, sc)
		r.arithmetic(x.Y, sc)
		if w, ok := x.X.(*syntax.Word); ok && x.Op >= syntax.Assgn || ok && x.Op == syntax.Assgn {
			r.variable(w.Lit())
		}
	case *syntax.UnaryArithm:
		r.arithmetic(x.X, sc)
		if w, ok := x.X.(*syntax.Word); ok && (x.Op == syntax.Inc || x.Op == syntax.Dec) {
			r.setsVar(w.Lit())
		}
	case *syntax.ParenArithm:
		r.arithmetic(x.X, sc)
	default:
		r.unsure("it has a form that is not known here")
	}
}

// figure reads a word of an expression.
func (r *reader) figure(w *syntax.Word, sc scope) {
	if w == nil {
		return
	}
	r.inWord(w, sc)
	for _, p := range w.Parts {
		r.figurePart(p)
	}
}

func (r *reader) figurePart(p syntax.WordPart) {
	switch p := p.(type) {
	case *syntax.Lit:
		name := strings.Trim(p.Value, " \t\n")
		switch {
		case strings.Trim(name, "0123456789") == "":
		case syntax.ValidName(name):
			r.figures(name)
		case strings.Trim(name, nameLetters+"#@ ") != "":
			r.unsure("arithmetic on %q cannot be judged", name)
		}
	case *syntax.SglQuoted:
		if strings.Trim(p.Value, nameLetters+" ") != "" {
			r.unsure("arithmetic on %q cannot be judged", p.Value)
		}
	case *syntax.DblQuoted:
		for _, in := range p.Parts {
			r.figurePart(in)
		}
	case *syntax.ParamExp:
		if p.Param == nil || p.Length {
			return
		}
		switch name := p.Param.Value; {
		case len(name) == 1 && strings.Contains("#?$!-", name): //nolint:gocritic // the order is meant
		case !syntax.ValidName(name):
			r.unsure("arithmetic on $%s cannot be judged", name)
		default:
			r.figures(name)
		}
		if p.Exp != nil && p.Exp.Word != nil && !number(p.Exp.Word) && len(p.Exp.Word.Parts) > 0 {
			r.assign(p.Param.Value, false)
		}
	case *syntax.CmdSubst:
		if !counts(p) {
			r.unsure("arithmetic on what a command prints cannot be judged")
		}
	}
}

func (r *reader) figures(name string) {
	if r.figured == nil {
		r.figured = map[string]bool{}
	}
	r.figured[name] = true
}

// assign takes note of what a variable may hold.
func (r *reader) assign(name string, number bool) {
	r.setsVar(name)
	r.holdsText(name, number)
}

// holdsText takes note of a variable that may hold more than a number.
func (r *reader) holdsText(name string, number bool) {
	if number {
		return
	}
	switch name {
	case "RANDOM", "SRANDOM", "OPTIND", "HISTCMD", "LINENO", "SECONDS", "EPOCHSECONDS", "BASHPID":
		r.unsure("the shell takes what %s is set to for arithmetic", name)
	}
	if r.assigned == nil {
		r.assigned = map[string]bool{}
	}
	r.assigned[name] = true
}

// number says whether a word is a number for sure.
func number(w *syntax.Word) bool {
	if w == nil || len(w.Parts) == 0 {
		return true
	}
	if len(w.Parts) != 1 {
		return false
	}
	switch p := w.Parts[0].(type) {
	case *syntax.Lit:
		return strings.Trim(p.Value, "0123456789") == ""
	case *syntax.ArithmExp:
		return true
	case *syntax.CmdSubst:
		return counts(p)
	case *syntax.DblQuoted:
		return len(p.Parts) == 0 || number(&syntax.Word{Parts: p.Parts})
	case *syntax.SglQuoted:
		return strings.Trim(p.Value, "0123456789") == ""
	case *syntax.ParamExp:
		return p.Length || p.Param != nil && (p.Param.Value == "#" || p.Param.Value == "?" || p.Param.Value == "!")
	}
	return false
}

// counts says whether a substitution prints a number: wc, nproc, or date with a
// plain format.
func counts(p *syntax.CmdSubst) bool {
	if len(p.Stmts) != 1 {
		return false
	}
	s := p.Stmts[0]
	for {
		b, ok := s.Cmd.(*syntax.BinaryCmd)
		if !ok || b.Op != syntax.Pipe {
			break
		}
		s = b.Y
	}
	c, ok := s.Cmd.(*syntax.CallExpr)
	if !ok || len(c.Args) == 0 {
		return false
	}
	switch c.Args[0].Lit() {
	case "nproc":
		return true
	case "wc": // with the name of a file it prints that too
		return len(c.Args) == 2 && strings.HasPrefix(c.Args[1].Lit(), "-")
	case "date":
		return len(c.Args) == 2 && (c.Args[1].Lit() == "+%s" || c.Args[1].Lit() == "+%s%N")
	}
	return false
}

// test reads [[ … ]].
func (r *reader) test(x syntax.TestExpr, sc scope) {
	if x == nil || !r.enter() {
		return
	}
	defer r.leave()
	switch x := x.(type) {
	case *syntax.Word:
		r.inWord(x, sc)
	case *syntax.ParenTest:
		r.test(x.X, sc)
	case *syntax.UnaryTest:
		r.test(x.X, sc)
		if x.Op == syntax.TsVarSet || x.Op == syntax.TsRefVar {
			w, ok := x.X.(*syntax.Word)
			if !ok || !syntax.ValidName(w.Lit()) {
				r.unsure("[[ -v ]] reads the index of a variable, which may be a command")
			}
		}
	case *syntax.BinaryTest:
		r.test(x.X, sc)
		r.test(x.Y, sc)
		switch x.Op {
		case syntax.TsEql, syntax.TsNeq, syntax.TsLeq, syntax.TsGeq, syntax.TsLss, syntax.TsGtr:
			for _, side := range []syntax.TestExpr{x.X, x.Y} {
				if w, ok := side.(*syntax.Word); ok {
					for _, p := range w.Parts {
						r.figurePart(p)
					}
				}
			}
		}
	}
}

// assigns reads assignments that stand alone, or that export and local make.
func (r *reader) assigns(list []*syntax.Assign, sc scope) {
	for _, a := range list {
		r.inAssign(a, sc)
		if a.Name != nil && !a.Naked {
			r.variable(a.Name.Value)
		}
	}
}

func (r *reader) inAssign(a *syntax.Assign, sc scope) {
	if a.Index != nil {
		r.arithmetic(a.Index, sc)
	}
	r.inWord(a.Value, sc)
	whole := a.Array == nil && number(a.Value)
	if a.Array != nil {
		for _, e := range a.Array.Elems {
			if e.Index != nil {
				r.arithmetic(e.Index, sc)
			}
			r.inWord(e.Value, sc)
		}
	}
	if a.Name != nil && !a.Naked {
		r.assign(a.Name.Value, whole)
	}
}

// prefix reads the assignments in front of a call: they are what its program
// finds in its environment.
func (r *reader) prefix(at int, list []*syntax.Assign, sc scope) {
	for _, a := range list {
		r.inAssign(a, sc)
		if a.Name == nil {
			continue
		}
		value, known := "", false
		if a.Value == nil {
			known = a.Array == nil
		} else if v := r.arg(a.Value, sc); v.Known {
			value, known = v.Text, true
		}
		r.chain(at, func(p *Part) { r.exported(p, a.Name.Value, value, known) })
	}
}

// exported judges a variable that a program gets.
func (r *reader) exported(p *Part, name, value string, known bool) {
	if r.variable(name); tells(name) || tame(name) && known && !strings.ContainsAny(value, "/%$`(") {
		return
	}
	p.raise(Unknown, "it gets the variable "+name)
	p.Spell = All
}

// variable judges the name of a variable that is set.
func (r *reader) variable(name string) {
	r.setsVar(name)
	r.tells(name)
}

func (r *reader) tells(name string) {
	if tells(name) {
		r.unsure("the variable %s changes what programs run or how words are read", name)
	}
}

// tame are variables that change how a program prints, and nothing else.
func tame(name string) bool {
	for _, n := range strings.Fields(`LANG LANGUAGE TZ NO_COLOR CLICOLOR CLICOLOR_FORCE FORCE_COLOR COLUMNS LINES CI
		TERM DEBIAN_FRONTEND PYTHONUNBUFFERED PYTHONDONTWRITEBYTECODE PYTHONIOENCODING PYTHONUTF8 RUST_BACKTRACE
		CGO_ENABLED GOOS GOARCH NODE_ENV POSIXLY_CORRECT`) {
		if n == name {
			return true
		}
	}
	return strings.HasPrefix(name, "LC_")
}

// tells says whether a variable makes the shell or usual programs run something,
// load something, or read words in another way.
func tells(name string) bool {
	if tame(name) {
		return false
	}
	for _, n := range strings.Fields(`PATH IFS ENV HOME PWD OLDPWD CDPATH FPATH ZDOTDIR SHELL SHELLOPTS EDITOR VISUAL BROWSER PAGER
		TERMINFO TERMCAP GLOBIGNORE EXECIGNORE HOSTALIASES RES_OPTIONS LOCPATH NLSPATH TMPDIR CC CXX LD AR AS CPP TAR_OPTIONS GREP_OPTIONS
		GZIP BZIP XZ_OPT PS0 PS1 PS2 PS3 PS4 MAKEFILES MFLAGS PROMPT_COMMAND POSIXLY_CORRECT INPUTRC KUBECONFIG ANT_OPTS`) {
		if n == name {
			return true
		}
	}
	up := strings.ToUpper(name)
	for _, front := range strings.Fields(`LD_ DYLD_ GIT_ BASH_ GO PYTHON PERL RUBY NODE_ NPM_ JAVA JDK_ _JAVA MAVEN_ GRADLE_ CARGO RUST LESS MAN
		SSH_ SUDO_ XDG_ GCONV GLIBC_ MALLOC_ DOCKER_ MAKE RIPGREP_ PIP_ UV_ GEM_ BUNDLE_ LUA_ PHP COMPOSER_ YARN_ DENO_ BUN_ CMAKE HIST FC COMP_ CURL_ WGET ELECTRON_ R_ TCL`) {
		if strings.HasPrefix(up, front) {
			return true
		}
	}
	for _, end := range strings.Fields("PATH FLAGS OPTIONS OPTS COMMAND CMD EDITOR PAGER SHELL WRAPPER CONFIG PROXY ASKPASS HOME PRELOAD LAUNCHER RC") {
		if strings.HasSuffix(up, end) {
			return true
		}
	}
	return false
}
