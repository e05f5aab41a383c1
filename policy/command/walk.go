package command

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// A scope is where a statement runs.
type scope struct {
	src  string           // the text that is read
	dirs []string         // where it may run; "" is not known
	in   feed             // what it reads
	vars map[string][]arg // variables of which all values are known
	end  int              // where the substitution around it ends in src; 0: there is none
	// maybe says that it may not run at all.
	maybe bool
}

// A feed is what comes to a program on its standard input.
type feed struct {
	text  string
	known bool
	found []arg // names of files below these, one a line
	zero  bool  // with a NUL behind each name instead
}

// A flow is where the shell may be after a statement that was done, or was not.
type flow struct{ ok, bad []string }

func (f flow) all() []string { return join(f.ok, f.bad) }

// join puts folders together; too many are none that is known.
func join(a, b []string) []string {
	out := slices.Clone(a)
	for _, d := range b {
		if !slices.Contains(out, d) {
			out = append(out, d)
		}
	}
	if len(out) > maxDirs {
		return []string{""}
	}
	return out
}

func (r *reader) stmts(list []*syntax.Stmt, sc scope) flow {
	f := flow{sc.dirs, nil}
	for _, s := range list {
		sc.dirs = f.all()
		before := r.sites[sets(s)]
		f = r.stmt(s, sc)
		r.holds(s, &sc, before)
	}
	return f
}

func (r *reader) stmt(s *syntax.Stmt, sc scope) flow {
	if s == nil || r.full || !r.enter() {
		return flow{sc.dirs, sc.dirs}
	}
	defer r.leave()
	if len(sc.dirs) == 0 { // after exit
		sc.dirs = []string{""}
	}
	if s.Background || s.Coprocess {
		defer r.apart()()
	}
	f := r.command(s, sc)
	switch {
	case s.Background || s.Coprocess:
		return flow{sc.dirs, sc.dirs}
	case s.Negated:
		return flow{f.bad, f.ok}
	}
	return f
}

// apart begins what has a folder of its own, as a subshell has.
func (r *reader) apart() func() {
	moved, loops := r.moved, r.loops
	r.loops = 0
	return func() { r.moved, r.loops = moved, loops }
}

// command reads a statement with its redirections.
func (r *reader) command(s *syntax.Stmt, sc scope) flow {
	if c, ok := s.Cmd.(*syntax.CallExpr); ok && len(c.Args) > 0 {
		return r.simple(c, s.Redirs, sc)
	}
	if d, ok := s.Cmd.(*syntax.DeclClause); ok {
		return r.declare(d, s.Redirs, sc)
	}
	files := r.redirect(s.Redirs, &sc)
	if files.any() {
		r.add(files.part())
	}
	r.inRedirects(s.Redirs, sc)
	sc.in = feed{} // several may read it
	return r.compound(s.Cmd, sc)
}

func (r *reader) compound(cmd syntax.Command, sc scope) flow {
	still := flow{sc.dirs, sc.dirs}
	switch c := cmd.(type) {
	case nil:
	case *syntax.CallExpr: // assignments alone
		r.assigns(c.Assigns, sc)
	case *syntax.BinaryCmd:
		return r.binary(c, sc)
	case *syntax.Block:
		return r.stmts(c.Stmts, sc)
	case *syntax.Subshell:
		r.grouped = true
		defer r.apart()()
		r.stmts(c.Stmts, sc)
	case *syntax.IfClause:
		return r.branch(c, sc)
	case *syntax.WhileClause:
		return r.loop(sc, func(sc scope) flow {
			sc.dirs = r.stmts(c.Cond, sc).all()
			return r.stmts(c.Do, sc)
		})
	case *syntax.ForClause:
		r.iterate(c, &sc)
		return r.loop(sc, func(sc scope) flow { return r.stmts(c.Do, sc) })
	case *syntax.CaseClause:
		return r.cases(c, sc)
	case *syntax.FuncDecl:
		r.function(c, sc)
	case *syntax.ArithmCmd:
		r.bashOnly("((")
		r.arithmetic(c.X, sc)
	case *syntax.LetClause:
		// For the parser | and & are a part of the expression, for a shell they end it.
		if from, to := c.Pos().Offset(), c.End().Offset(); from > to || int(to) > len(sc.src) || strings.ContainsAny(sc.src[from:to], "|&;<>()`") {
			r.unsure("arithmetic with let cannot be judged")
		}
		for _, x := range c.Exprs {
			r.arithmetic(x, sc)
		}
	case *syntax.TestClause:
		r.bashOnly("[[")
		r.test(c.X, sc)
	case *syntax.TimeClause:
		if !r.o.Bash && c.Stmt != nil { // there it is a program
			r.add(timed())
		}
		return r.stmt(c.Stmt, sc)
	case *syntax.CoprocClause:
		defer r.apart()()
		r.coproc(c, sc)
		r.stmt(c.Stmt, sc)
	default:
		r.unsure("it has a form that is not known here")
	}
	return still
}

func (r *reader) binary(c *syntax.BinaryCmd, sc scope) flow {
	switch c.Op {
	case syntax.AndStmt, syntax.OrStmt:
		before := r.sites[sets(c.X)]
		x := r.stmt(c.X, sc)
		goes, stays := x.ok, x.bad
		if c.Op == syntax.OrStmt {
			goes, stays = x.bad, x.ok
		}
		sc.dirs, sc.maybe = goes, true
		if c.Op == syntax.AndStmt {
			r.holds(c.X, &sc, before)
		}
		y := r.stmt(c.Y, sc)
		if c.Op == syntax.OrStmt {
			return flow{join(stays, y.ok), y.bad}
		}
		return flow{y.ok, join(stays, y.bad)}
	}
	defer r.apart()()
	r.stmt(c.X, sc)
	to := sc
	if to.in = r.prints(c.X, sc); c.Op == syntax.Pipe && !to.in.known {
		to.in = r.lists(c.X, sc)
	}
	if _, ok := c.Y.Cmd.(*syntax.TimeClause); ok && r.o.Bash {
		r.add(timed()) // behind a | and a new line it is a program for bash too
	}
	r.stmt(c.Y, to)
	return flow{sc.dirs, sc.dirs}
}

// coproc reads the name of a coprocess. Before a call there is none, but the parser
// takes a program with nothing but redirections for one, and an assignment or the
// number of a redirection for the program.
func (r *reader) coproc(c *syntax.CoprocClause, sc scope) {
	if c.Name != nil {
		r.inWord(c.Name, sc)
		r.setsVar(c.Name.Lit())
	}
	call, ok := c.Stmt.Cmd.(*syntax.CallExpr)
	switch {
	case c.Name != nil && (ok || c.Stmt.Cmd == nil), ok && len(c.Stmt.Redirs) > 0,
		ok && len(call.Args) > 0 && strings.Contains(written(call.Args[0], sc), "="):
		r.unsure("coproc with a name, an assignment or a redirection cannot be judged")
	}
}

// timed is the program time where it may be no word of the shell.
func timed() Part {
	return Part{Line: "time", Words: []Word{{Text: "time", Known: true}, {Text: "…"}}, Wraps: true, Spell: 1}
}

func (r *reader) branch(c *syntax.IfClause, sc scope) flow {
	if len(c.Cond) == 0 && c.ThenPos == (syntax.Pos{}) || len(c.Cond) == 0 { // else
		return r.stmts(c.Then, sc)
	}
	cond := r.stmts(c.Cond, sc)
	then := sc
	then.dirs, then.maybe = cond.ok, true
	out := r.stmts(c.Then, then)
	if c.Else == nil {
		return flow{join(out.ok, cond.bad), out.bad}
	}
	then.dirs = cond.bad
	other := r.branch(c.Else, then)
	return flow{join(out.ok, other.ok), join(out.bad, other.bad)}
}

// loop reads what may run many times or never.
func (r *reader) loop(sc scope, body func(scope) flow) flow {
	before := sc.dirs
	if r.roams {
		before, sc.dirs = []string{""}, []string{""}
	}
	sc.maybe, sc.in = true, feed{}
	r.loops++
	f := body(sc)
	r.loops--
	all := join(before, f.all())
	return flow{all, all}
}

func (r *reader) iterate(c *syntax.ForClause, to *scope) {
	sc := *to
	switch l := c.Loop.(type) {
	case *syntax.WordIter:
		numbers := len(l.Items) > 0
		for _, w := range l.Items {
			r.inWord(w, sc)
			numbers = numbers && number(w)
		}
		if l.Name != nil {
			r.tells(l.Name.Value)
			r.holdsText(l.Name.Value, numbers)
			r.iterates(l.Name.Value, sc)
			if !c.Select {
				r.bind(to, l.Name.Value, r.args(l.Items, sc))
			}
		}
	case *syntax.CStyleLoop:
		for _, x := range []syntax.ArithmExpr{l.Init, l.Cond, l.Post} {
			r.arithmetic(x, sc)
		}
	}
}

func (r *reader) cases(c *syntax.CaseClause, sc scope) flow {
	r.inWord(c.Word, sc)
	out := flow{sc.dirs, sc.dirs}
	sc.maybe = true
	all := sc.dirs // one may fall through to the next
	for _, item := range c.Items {
		for _, p := range item.Patterns {
			r.inWord(p, sc)
		}
		sc.dirs = all
		f := r.stmts(item.Stmts, sc)
		out = flow{join(out.ok, f.ok), join(out.bad, f.bad)}
		all = join(all, f.all())
	}
	return out
}

// function reads the body where it is defined: whether it is called, and where,
// does not matter.
func (r *reader) function(c *syntax.FuncDecl, sc scope) {
	maybe := sc.maybe || r.loops > 0
	if c.Name != nil {
		name := c.Name.Value
		switch {
		case r.isKnown(name):
			r.unsure("the function %s hides the program of that name", name)
		case strings.Trim(name, nameLetters) != "" || strings.HasPrefix(name, "-"):
			r.unsure("the name of the function %q has odd letters", name)
		}
		if r.funcs == nil {
			r.funcs = map[string]bool{}
		}
		r.funcs[name] = !maybe
	} else {
		r.unsure("a function has no name")
	}
	r.late = true
	if r.roams {
		sc.dirs = []string{""}
	}
	sc.in, sc.vars = feed{}, nil
	r.loops++
	r.inside++
	r.stmt(c.Body, sc)
	r.inside--
	r.loops--
}

const nameLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"

// simple reads a call with its assignments and redirections.
func (r *reader) simple(c *syntax.CallExpr, redirs []*syntax.Redirect, sc scope) flow {
	args := r.args(c.Args, sc)
	r.splits(c, redirs)
	files := r.redirect(redirs, &sc)
	at := len(r.out.Parts)
	f := r.call(args, sc)
	if at < len(r.out.Parts) {
		files.join(&r.out.Parts[at])
		r.prefix(at, c.Assigns, sc)
	}
	for _, w := range c.Args {
		r.inWord(w, sc)
	}
	r.inRedirects(redirs, sc)
	return f
}

// splits finds &> before a word: for a plain sh the command ends at the &, and
// the word begins another.
func (r *reader) splits(c *syntax.CallExpr, redirs []*syntax.Redirect) {
	last := c.Args[len(c.Args)-1].Pos()
	for _, d := range redirs {
		if (d.Op == syntax.RdrAll || d.Op == syntax.AppAll) && last.After(d.Word.Pos()) {
			r.bashOnly(d.Op.String())
		}
	}
}

// declare reads export, local and their like, which the parser sets apart.
func (r *reader) declare(d *syntax.DeclClause, redirs []*syntax.Redirect, sc scope) flow {
	args := []arg{plain(d.Variant.Value)}
	for _, a := range d.Args {
		text := sc.src[a.Pos().Offset():a.End().Offset()]
		switch {
		case a.Naked && a.Name == nil && a.Value != nil:
			args = append(args, r.args([]*syntax.Word{a.Value}, sc)...)
		case a.Naked && a.Index == nil && a.Name != nil:
			args = append(args, plain(a.Name.Value))
		case a.Index == nil && a.Array == nil && a.Value != nil && !a.Append:
			v := r.arg(a.Value, sc)
			w := arg{Word: Word{Text: text}, lead: a.Name.Value + "=" + v.lead}
			if v.Known {
				w = plain(a.Name.Value + "=" + v.Text)
			}
			args = append(args, w)
		default:
			args = append(args, arg{Word: Word{Text: text}, lead: a.Name.Value + "="})
		}
	}
	files := r.redirect(redirs, &sc)
	at := len(r.out.Parts)
	f := r.call(args, sc)
	if at < len(r.out.Parts) {
		files.join(&r.out.Parts[at])
	}
	r.assigns(d.Args, sc)
	r.inRedirects(redirs, sc)
	return f
}

// prints says what a statement prints, where that is sure.
func (r *reader) prints(s *syntax.Stmt, sc scope) feed {
	c, ok := s.Cmd.(*syntax.CallExpr)
	if !ok || s.Negated || s.Background {
		return feed{}
	}
	args := r.args(c.Args, sc)
	if len(args) == 1 && args[0].Text == "cat" && len(s.Redirs) == 1 {
		if in := s.Redirs[0]; in.Op == syntax.Hdoc || in.Op == syntax.DashHdoc || in.Op == syntax.WordHdoc {
			return r.here(in, sc)
		}
		return feed{}
	}
	if len(args) == 0 || len(s.Redirs) > 0 {
		return feed{}
	}
	var words []string
	for _, a := range args {
		if !a.Known || strings.Contains(a.Text, `\`) && a.Text != `%s\n` {
			return feed{}
		}
		words = append(words, a.Text)
	}
	switch words[0] {
	case "echo":
		if len(words) > 1 && words[1] == "-n" {
			words = slices.Delete(words, 1, 2)
		}
		if len(words) > 1 && strings.HasPrefix(words[1], "-") {
			return feed{}
		}
		return feed{text: strings.Join(words[1:], " "), known: true}
	case "printf":
		switch {
		case len(words) == 2 && !strings.ContainsAny(words[1], `%\`) && !strings.HasPrefix(words[1], "-"):
			return feed{text: words[1], known: true}
		case len(words) == 3 && (words[1] == "%s" || words[1] == `%s\n`):
			return feed{text: words[2], known: true}
		}
	}
	return feed{}
}

// chdir is what cd does: afterwards the shell is there, or it could not go.
func (r *reader) chdir(a arg, sc scope) flow {
	r.moved = true
	if r.loops > 0 {
		r.again = true
	}
	if r.roams && r.loops > 0 {
		return flow{[]string{""}, []string{""}}
	}
	var to []string
	for _, p := range a.paths(sc.dirs) {
		d := p.Abs
		if p.Glob {
			d = ""
		}
		to = join(to, []string{d})
		// The shell goes back by the text of the path, the system by where it is.
		if d != "" && strings.Contains(d, "..") {
			to = join(to, []string{path.Clean(d)})
		}
	}
	if len(to) == 0 {
		to = []string{""}
	}
	return flow{to, sc.dirs}
}
