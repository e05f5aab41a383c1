package command

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"
)

// What is read at most. What goes beyond is for a person to judge.
const (
	maxLine  = 1 << 20 // bytes
	maxMarks = 1 << 13 // signs that may open something: the parser calls itself for each
	maxDepth = 100     // statements, substitutions and texts inside one another
	maxParts = 4096
	maxDirs  = 4       // folders that a part may run in
	maxWords = 64      // that one word with braces becomes, and reasons
	maxWork  = 4 << 20 // bytes and words that are read, those inside others again
)

// Read says what a command line would do. It is a function of its arguments
// alone: it looks at no file and starts nothing.
func Read(line string, o Options) Report {
	return read(o, func(r *reader) { r.line(line) })
}

// ReadArgs says what a program with these words would do, the name first.
func ReadArgs(argv []string, o Options) Report {
	return read(o, func(r *reader) {
		args := make([]arg, len(argv))
		for i, a := range argv {
			r.letters(a)
			args[i] = plain(a)
		}
		if len(args) > 0 {
			r.call(args, scope{dirs: r.start()})
		}
	})
}

func read(o Options, f func(*reader)) Report {
	r := &reader{o: o}
	for {
		f(r)
		loose, more := r.unsteady()
		roams := r.moved && r.late || r.again
		if !more && (!roams || r.roams) {
			return r.report()
		}
		// Each time a variable more is given up, or the folders are: it ends.
		r = &reader{o: o, roams: r.roams || roams, loose: loose, work: r.work}
	}
}

// A reader collects what one line would do.
type reader struct {
	o     Options
	out   Report
	depth int

	// Folders are followed from statement to statement. Where that is not enough,
	// since a loop or a function changes them, the line is read again with roams set:
	// in those no folder is known.
	moved bool // the folder was changed
	late  bool // something runs later than where it stands: a function, a trap
	again bool // the folder was changed in a loop
	roams bool
	loops int // how many loops and functions are around

	funcs    map[string]bool // functions that the line defines; true: whatever happens
	figured  map[string]bool // variables that arithmetic reads
	assigned map[string]bool // those that hold what is not a number
	grouped  bool

	sites  map[string]int  // how many places set a variable, loops apart
	brings bool            // a file may set any of them
	looped map[string]bool // variables of loops
	loose  map[string]bool // those that are not followed
	used   map[string]bool // those that were
	inside int             // how many functions and traps are around

	work int
	full bool // there is too much: nothing more is read
}

func (r *reader) report() Report {
	for name := range r.figured {
		if r.assigned[name] {
			r.unsure("arithmetic or a test runs what the variable %s holds, which may be a command", name)
		}
	}
	// Nothing but harmless commands in parentheses is rare, and asked about by others;
	// where a rule or a person decides over one of the parts this adds no question.
	if r.grouped && !slices.ContainsFunc(r.out.Parts, func(p Part) bool { return p.Level != Harmless }) {
		r.unsure("commands in ( ) are shown before they run")
	}
	slices.Sort(r.out.Unsure)
	return r.out
}

func (r *reader) unsure(format string, args ...any) {
	why := fmt.Sprintf(format, args...)
	if !slices.Contains(r.out.Unsure, why) && len(r.out.Unsure) < maxWords {
		r.out.Unsure = append(r.out.Unsure, why)
	}
}

// start is where the line begins to run.
func (r *reader) start() []string {
	if !strings.HasPrefix(r.o.Dir, "/") {
		return []string{""}
	}
	return []string{r.o.Dir}
}

func (r *reader) line(line string) {
	r.letters(line)
	r.code(line, scope{dirs: r.start()})
}

// letters looks for what a person would not see, or see as something else.
func (r *reader) letters(s string) {
	if !utf8.ValidString(s) {
		r.unsure("it is not valid UTF-8")
	}
	if strings.Contains(s, "\r\n") {
		r.unsure("its lines end with a carriage return (CRLF), which the shell takes as a part of the last word; write it with plain line ends")
		s = strings.ReplaceAll(s, "\r\n", "\n")
	}
	for _, c := range s {
		switch {
		case c == '\n' || c == '\t' || c >= ' ' && c < 0x7f:
		case unicode.IsControl(c):
			r.unsure("it has a control character (U+%04X)", c)
		case unicode.Is(unicode.Bidi_Control, c):
			r.unsure("it has a character that turns the direction of text (U+%04X)", c)
		case c >= 0xE0000 && c <= 0xE0FFF:
			r.unsure("it has a character that nobody sees (U+%04X)", c)
		}
	}
}

// hidden finds a letter that looks like a space, or like nothing.
func hidden(s string) (rune, bool) {
	for _, c := range s {
		if c > 0x7f && (unicode.IsSpace(c) || unicode.Is(unicode.Cf, c) || c == 0x3164 || c == 0x115F || c == 0x2800) {
			return c, true
		}
	}
	return 0, false
}

// code reads a text as shell code.
func (r *reader) code(text string, sc scope) flow {
	still := flow{sc.dirs, sc.dirs}
	if !r.spend(len(text)) || !r.enter() {
		return still
	}
	defer r.leave()
	if len(text) > maxLine {
		r.unsure("it is longer than %d bytes", maxLine)
		return still
	}
	if marks(text) > maxMarks {
		r.unsure("it is too nested to be read")
		return still
	}
	sc.src, sc.end, sc.in.found = text, 0, nil // its statements share what they read
	f, err := syntax.NewParser(syntax.Variant(syntax.LangBash), syntax.KeepComments(true)).Parse(strings.NewReader(text), "")
	if err != nil {
		r.unsure("it cannot be read as shell: %s", err)
		return still
	}
	if strings.Contains(text, "\\\n") && continued(f) {
		r.unsure("a comment ends with a backslash, which looks as if it went on")
	}
	return r.stmts(f.Stmts, sc)
}

// marks counts what may make the parser call itself.
func marks(text string) int {
	n := 0
	for i := range len(text) {
		if strings.IndexByte("({[`|!~^?&", text[i]) >= 0 {
			n++
		}
		if i > 0 && (text[i] == '-' || text[i] == '+' || text[i] == '=' || text[i] == '*') && text[i-1] == text[i] {
			n++
		}
	}
	for _, word := range []string{"if", "while", "until", "for", "case", "select", "time", "coproc", "function", "do"} {
		n += strings.Count(text, word)
	}
	return n
}

// continued finds a comment with a backslash at its end. The parser goes on with
// the next line as a part of the same command; for a shell the comment ends.
func continued(f *syntax.File) bool {
	for n := range syntax.Preorder(f) {
		if c, ok := n.(*syntax.Comment); ok && strings.Contains(c.Text, "\\\n") {
			return true
		}
	}
	return false
}

// bashOnly says that only bash reads a form as it is read here.
func (r *reader) bashOnly(form string) {
	if !r.o.Bash {
		r.unsure("a plain sh reads %s in another way than bash", form)
	}
}

func (r *reader) enter() bool {
	if r.depth >= maxDepth {
		r.unsure("it is too nested to be read")
		return false
	}
	r.depth++
	return true
}

// spend counts what is read, so that texts in texts end.
func (r *reader) spend(n int) bool {
	if r.work += n; r.work > maxWork {
		r.full = true
		r.unsure("there is too much to be read")
	}
	return !r.full
}

func (r *reader) leave() { r.depth-- }

// room says whether one more part may be added.
func (r *reader) room() bool {
	if len(r.out.Parts) < maxParts {
		return true
	}
	r.full = true
	r.unsure("it starts more than %d programs", maxParts)
	return false
}

func (r *reader) add(p Part) {
	if r.room() {
		r.out.Parts = append(r.out.Parts, p)
	}
}
