package command

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Names that one program prints and xargs hands to another are known as far as
// the folders go that they lie below. Whether one of them would become something
// else, an option or two words, only a look at those folders can say: Path.Odd.

// A lister is a program that prints names of files, one a line, when it is called
// with these options and no other.
type lister struct {
	options string
	needs   string // one of these must be there; "": none
	zero    string // those with which a NUL stands behind each name
	pattern bool   // its first operand is no file
}

const (
	rgLists = "-liwxFPsSuvUL0. -e= -g= -t= -T= -j= -m= -d= --files --files-with-matches --files-without-match --null --glob= --iglob= --type= --type-not= --ignore-case --smart-case " +
		"--fixed-strings --word-regexp --hidden --no-ignore --regexp= --sort= --no-messages --max-depth= --follow --unrestricted"
	grepLists = "-lLrRZiwxFEGPsvaI -e= -m= --recursive --files-with-matches --files-without-match --null --include= --exclude= --exclude-dir= --ignore-case --word-regexp --fixed-strings " +
		"--extended-regexp --perl-regexp --invert-match --no-messages"
)

var listers = map[string]lister{
	"rg":    {options: rgLists, needs: "-l --files-with-matches --files-without-match --files", zero: "-0 --null", pattern: true},
	"grep":  {options: grepLists, needs: "-l -L --files-with-matches --files-without-match", zero: "-Z --null", pattern: true},
	"egrep": {options: grepLists, needs: "-l -L --files-with-matches --files-without-match", zero: "-Z --null", pattern: true},
	"fgrep": {options: grepLists, needs: "-l -L --files-with-matches --files-without-match", zero: "-Z --null", pattern: true},
	"fd":    {options: "-HIuisg0 -d= -t= -e= -E= -S= --hidden --no-ignore --type= --extension= --exclude= --max-depth= --glob --print0", zero: "-0 --print0", pattern: true},
	"ls":    {options: "-1tSrAvU"},
}

// filters are programs that print some of the lines that they read, as they are.
var filters = map[string]string{
	"sort": "-ruVfnh --reverse --unique --version-sort", "uniq": "-udi", "head": "-n= -# --lines=", "tail": "-n= -# --lines=",
	"grep": "-vEFPiwx -e= --invert-match", "egrep": "-viwx -e=", "fgrep": "-viwx -e=",
}

// lists says below which folders all names lie that a statement prints.
func (r *reader) lists(s *syntax.Stmt, sc scope) feed {
	f := r.lists1(s, sc)
	for i := range f.found {
		f.found[i].at = sc.dirs
	}
	return f
}

func (r *reader) lists1(s *syntax.Stmt, sc scope) feed {
	if s.Negated || s.Background || s.Coprocess || !quiet(s.Redirs) {
		return feed{}
	}
	if b, ok := s.Cmd.(*syntax.BinaryCmd); ok && b.Op == syntax.Pipe {
		in := r.lists1(b.X, sc)
		args, ok := r.listing(b.Y, sc)
		if !ok || in.found == nil || in.zero || !passes(args) {
			return feed{}
		}
		return in
	}
	args, ok := r.listing(s, sc)
	if !ok {
		return feed{}
	}
	switch name := args[0].Text; name {
	case "find":
		return findLists(args[1:])
	case "git":
		return gitLists(args[1:])
	default:
		if l, ok := listers[name]; ok {
			return l.lists(name, args[1:])
		}
	}
	return feed{}
}

// listing reads the words of a plain call. Each is known, or is one operand.
func (r *reader) listing(s *syntax.Stmt, sc scope) ([]arg, bool) {
	c, ok := s.Cmd.(*syntax.CallExpr)
	if !ok || len(c.Args) == 0 || len(c.Assigns) > 0 || s.Negated || s.Background || s.Coprocess || !quiet(s.Redirs) {
		return nil, false
	}
	args := r.args(c.Args, sc)
	if !args[0].Known {
		return nil, false
	}
	for i, a := range args {
		if !a.Known && (a.many || a.option()) && !a.glob {
			return nil, false
		}
		args[i].tame = a.tame || a.glob // where a name is an option, Path.Odd tells it
	}
	return args, true
}

// quiet says whether nothing is redirected but errors, to nowhere.
func quiet(list []*syntax.Redirect) bool {
	return !slices.ContainsFunc(list, func(d *syntax.Redirect) bool {
		return d.N == nil || d.N.Value != "2" || d.Op != syntax.RdrOut || d.Word.Lit() != "/dev/null"
	})
}

// passes says whether a call prints lines that it reads, and nothing else.
func passes(args []arg) bool {
	name := args[0].Text
	table, ok := filters[name]
	if !ok {
		return false
	}
	s := scanWords(args[1:], table, gnu)
	most := 0
	if strings.HasSuffix(name, "grep") && !s.has("-e") {
		most = 1
	}
	return s.stray == "" && len(s.operands) <= most && !slices.ContainsFunc(args, func(a arg) bool { return !a.Known })
}

// under is what lies below a folder, or a file itself; odd: what a name must not
// have in front.
func under(a arg, odd string) arg {
	return arg{Word: Word{Text: a.Text}, lead: a.lead, path: a.path, named: true, glob: a.glob, below: true, odd: odd}
}

// roots takes operands for what lies below them.
func roots(list []arg) []arg {
	var out []arg
	for _, a := range list {
		list := a.values
		if list == nil {
			list = []arg{a}
		}
		for _, v := range list {
			odd := v.odd
			if v.lead == "" && v.glob {
				odd += oddFront + "="
			}
			if v.lead != "" && strings.IndexByte(oddFront, v.lead[0]) >= 0 {
				return nil
			}
			// Where a name is cut in two its front must not be a place outside.
			if !v.named || v.many || v.pipe || v.path == "" || v.path == "-" || strings.Contains(v.path, "..") || v.lead == "" && !v.glob {
				return nil
			}
			out = append(out, under(v, odd))
		}
	}
	return out
}

// nearby is what lies below the folder that the command runs in, by names that
// begin with no ./ .
func nearby() []arg { return []arg{under(here(), oddFront+"=")} }

func (l lister) lists(name string, words []arg) feed {
	s := scanWords(words, l.options, gnu)
	if s.stray != "" || l.needs != "" && !s.has(strings.Fields(l.needs)...) || slices.ContainsFunc(s.options, func(o option) bool { return o.value.Text != "" && !o.value.Known }) {
		return feed{}
	}
	list := s.operands
	if l.pattern && len(list) > 0 && !s.has("-e", "--regexp", "--files") {
		if !list[0].Known && list[0].values == nil {
			return feed{}
		}
		list = list[1:]
	}
	f := feed{zero: l.zero != "" && s.has(strings.Fields(l.zero)...)}
	switch {
	case name == "ls": // of a folder it prints what lies in it, without its name
		for _, a := range list {
			if strings.ContainsAny(a.path, "/~") || strings.Contains(a.path, "..") {
				return feed{}
			}
		}
		f.found = nearby()
	case len(list) > 0:
		f.found = roots(list)
	case name == "grep" && !s.has("-r", "-R", "--recursive"), name == "egrep", name == "fgrep":
		return feed{}
	default:
		f.found = nearby()
	}
	return f
}

// findLists reads a find that does nothing but print names.
func findLists(words []arg) feed {
	n := 0
	for n < len(words) && !words[n].option() && words[n].Text != "(" && words[n].Text != "!" {
		n++
	}
	f := feed{found: []arg{under(plain("./"), "")}}
	if n > 0 {
		f.found = roots(words[:n])
	}
	table := strings.Fields(findTests)
	for list := words[n:]; len(list) > 0; list = list[1:] {
		w := list[0]
		kind, ok := kindOf(table, w.Text)
		switch {
		case !w.Known || w.Text == "-ls" || w.Text == "-printf":
			return feed{}
		case w.Text == "(" || w.Text == ")" || w.Text == "!" || w.Text == "-print":
			if w.Text == "-print" && f.zero {
				return feed{}
			}
		case w.Text == "-print0":
			f.zero = true
		case !ok:
			return feed{}
		case kind != alone:
			if len(list) < 2 || !list[1].Known && list[1].values == nil {
				return feed{}
			}
			list = list[1:]
		}
	}
	if f.zero && slices.ContainsFunc(words, func(w arg) bool { return w.Text == "-print" }) {
		return feed{}
	}
	return f
}

// gitLists reads git ls-files and git grep -l. What they print lies below the
// folder; names of other commits, as git diff prints them, need lie nowhere.
func gitLists(words []arg) feed {
	if len(words) == 0 {
		return feed{}
	}
	table := map[string]string{"ls-files": "-comiz --cached --others --modified --ignored --exclude-standard --exclude= -x=", "grep": "-liwvEFz -e= --files-with-matches --name-only --ignore-case --word-regexp --fixed-strings"}[words[0].Text]
	s := scanWords(words[1:], table, gnu)
	if table == "" || s.stray != "" {
		return feed{}
	}
	dashes := slices.ContainsFunc(words, func(w arg) bool { return w.Text == "--" })
	for i, a := range s.operands {
		search := words[0].Text == "grep" && i == 0 && !s.has("-e")
		if !a.Known && !a.glob && a.values == nil || !search && (strings.HasPrefix(a.Text, ":") || strings.Contains(a.Text, "..") || strings.HasPrefix(a.path, "/") || words[0].Text == "grep" && !dashes) {
			return feed{}
		}
	}
	if words[0].Text == "grep" && !s.has("-l", "--files-with-matches", "--name-only") {
		return feed{}
	}
	return feed{found: nearby(), zero: s.has("-z")}
}

// handed is the word that stands for names that xargs hands over; ok is false
// where nothing is known of them.
func (c *call) handed(s scan, name arg) (arg, bool) {
	in := c.sc.in
	p, usual := programs[name.Text]
	if in.found == nil || s.stray != "" || !name.Known || !usual || p.level != Harmless || s.has("-a", "--arg-file", "-E", "-e") || in.zero != s.has("-0", "--null") {
		return arg{}, false
	}
	if d, ok := s.last("-d", "--delimiter"); ok && (in.zero || d.Text != `\n`) {
		return arg{}, false
	}
	out := arg{Word: Word{Text: "…"}, tame: true, list: true, lead: in.found[0].lead}
	for _, v := range in.found {
		if !in.zero {
			v.odd += oddSplit + oddQuotes
		}
		out.values = append(out.values, v)
		out.lead = common(out.lead, v.lead)
	}
	return out, true
}
