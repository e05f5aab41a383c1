package command

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// paths are the files that a word may name, one for each folder that the command
// may run in.
func (a arg) paths(dirs []string) []Path {
	if a.pipe {
		return nil
	}
	if a.values != nil {
		var out []Path
		for _, v := range a.values {
			for _, p := range v.paths(dirs) {
				p.Odd, p.Each = v.odd, v.glob || v.below
				if v.at != nil && !slices.Equal(v.at, dirs) {
					p.Abs = "" // the names are those of another folder
				}
				out = append(out, p)
			}
		}
		return out
	}
	p := Path{Text: a.Text, Glob: a.glob, Deep: a.below, Each: a.below, Odd: a.odd}
	if !a.named || strings.Contains(a.path, "\x00") {
		return []Path{p}
	}
	if a.Known || a.path != "" && a.glob {
		p.Text = a.path
	}
	if strings.HasPrefix(a.path, "/") {
		p.Abs = a.path
		return []Path{p}
	}
	var out []Path
	for _, d := range dirs {
		if p.Abs = ""; d != "" {
			p.Abs = strings.TrimSuffix(d, "/") + "/" + a.path
		}
		out = append(out, p)
	}
	return out
}

// files are what redirections read and write.
type files struct {
	reads, writes []Path
	text          []string
}

func (f files) any() bool { return len(f.reads) > 0 || len(f.writes) > 0 }

// part is for redirections of something that is not one program.
func (f files) part() Part {
	p := Part{Spell: All}
	for _, t := range f.text {
		p.Words = append(p.Words, Word{Text: t})
	}
	p.Line = strings.Join(f.text, " ")
	f.join(&p)
	return p
}

// join adds the redirections to the part that they belong to.
func (f files) join(p *Part) {
	p.Reads = append(p.Reads, f.reads...)
	p.Writes = append(p.Writes, f.writes...)
	if len(f.writes) > 0 {
		p.raise(Changes, "its output goes to "+f.writes[0].Text)
	}
	p.devices()
}

// raise makes the level at least so high. The reason of the highest stays.
func (p *Part) raise(l Level, why string) {
	if l > p.Level {
		p.Level, p.Why = l, why
	}
}

// devices looks at which files a part uses: some are not what they seem.
func (p *Part) devices() {
	for _, w := range p.Writes {
		switch abs := path.Clean(w.Abs); {
		case !strings.HasPrefix(abs, "/dev/"), strings.HasPrefix(abs, "/dev/shm/"), strings.HasPrefix(abs, "/dev/fd/"):
		default:
			p.raise(Dangerous, "it writes to the device "+abs)
		}
	}
	for _, list := range [][]Path{p.Reads, p.Writes} {
		for _, f := range list {
			abs := path.Clean(f.Abs)
			if abs == "/proc" && f.Deep || strings.HasPrefix(abs, "/proc/") && (strings.Count(abs, "/") > 2 || f.Deep) && !strings.HasPrefix(abs, "/proc/sys/") {
				p.raise(Unknown, abs+" shows the inside of a process, or leads to any file")
				p.Spell = All
			}
		}
	}
}

// redirect reads redirections, and what they make the standard input.
func (r *reader) redirect(list []*syntax.Redirect, sc *scope) files {
	var f files
	for _, d := range list {
		if d.N != nil && strings.HasPrefix(d.N.Value, "{") {
			r.variable(strings.Trim(d.N.Value, "{}"))
			r.bashOnly(d.N.Value)
		}
		if d.Op == syntax.Hdoc || d.Op == syntax.DashHdoc || d.Op == syntax.WordHdoc {
			sc.in = r.here(d, *sc)
			r.outside(d, *sc)
			r.lost(d, *sc)
			if d.N != nil && d.N.Value != "0" {
				sc.in = feed{}
			}
			continue
		}
		if d.Word == nil {
			continue
		}
		a := r.arg(d.Word, *sc)
		f.add(r, d, a, *sc)
		if d.Op == syntax.RdrIn || d.Op == syntax.DplIn || d.Op == syntax.RdrInOut || d.N != nil && d.N.Value == "0" {
			sc.in = feed{}
		}
	}
	return f
}

func (f *files) add(r *reader, d *syntax.Redirect, a arg, sc scope) {
	if d.Op == syntax.DplIn || d.Op == syntax.DplOut {
		if a.Known && (a.Text == "-" || strings.Trim(strings.TrimSuffix(a.Text, "-"), "0123456789") == "") {
			return
		}
	}
	for _, p := range a.paths(sc.dirs) {
		if strings.HasPrefix(p.Abs, "/dev/tcp/") || strings.HasPrefix(p.Abs, "/dev/udp/") {
			r.unsure("%s is a connection to another machine", p.Abs)
		}
		if nowhere(p.Abs) {
			continue
		}
		switch d.Op {
		case syntax.RdrIn, syntax.DplIn:
			f.reads = append(f.reads, p)
		case syntax.RdrInOut:
			f.reads = append(f.reads, p)
			f.writes = append(f.writes, p)
		default:
			f.writes = append(f.writes, p)
		}
		f.text = append(f.text, d.Op.String(), p.Text)
	}
}

// nowhere are files of the system that keep nothing.
func nowhere(p string) bool {
	switch p {
	case "/dev/null", "/dev/stdout", "/dev/stderr", "/dev/stdin", "/dev/tty", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom":
		return true
	}
	n, ok := strings.CutPrefix(p, "/dev/fd/")
	return ok && strings.Trim(n, "0123456789") == ""
}

// here is the text of a here-document or a here-string.
func (r *reader) here(d *syntax.Redirect, sc scope) feed {
	w := d.Hdoc
	if d.Op == syntax.WordHdoc {
		if d.Word == nil {
			return feed{}
		}
		a := r.arg(d.Word, sc)
		return feed{text: a.Text, known: a.Known}
	}
	if w == nil {
		return feed{known: true}
	}
	quoted := false
	for _, p := range d.Word.Parts {
		l, ok := p.(*syntax.Lit)
		quoted = quoted || !ok || strings.Contains(l.Value, `\`)
	}
	var b strings.Builder
	for _, p := range w.Parts {
		l, ok := p.(*syntax.Lit)
		if !ok || !quoted && strings.Contains(l.Value, `\`) {
			return feed{}
		}
		b.WriteString(l.Value)
	}
	text := b.String()
	if d.Op == syntax.DashHdoc {
		lines := strings.Split(text, "\n")
		for i := range lines {
			lines[i] = strings.TrimLeft(lines[i], "\t")
		}
		text = strings.Join(lines, "\n")
	}
	return feed{text: text, known: true}
}

// outside finds a here-document that begins in a substitution and goes on behind
// it. Shells differ in what they make of that.
func (r *reader) outside(d *syntax.Redirect, sc scope) {
	if sc.end == 0 || d.Op == syntax.WordHdoc {
		return
	}
	from := int(d.Word.End().Offset())
	if from > sc.end || !strings.Contains(sc.src[from:sc.end], "\n") ||
		d.Hdoc == nil || len(d.Hdoc.Parts) == 0 || int(d.Hdoc.Pos().Offset()) >= sc.end {
		r.unsure("a here-document begins in a substitution and ends outside")
	}
}

// lost finds a here-document without a text that has one. Behind [[ … =~ … ]] on the
// same line the parser forgets it, and reads its lines as commands.
func (r *reader) lost(d *syntax.Redirect, sc scope) {
	if d.Op == syntax.WordHdoc || d.Hdoc != nil && len(d.Hdoc.Parts) > 0 {
		return
	}
	_, next, _ := strings.Cut(sc.src[min(len(sc.src), int(d.Word.End().Offset())):], "\n")
	next, _, _ = strings.Cut(next, "\n")
	if d.Op == syntax.DashHdoc {
		next = strings.TrimLeft(next, "\t")
	}
	if end := r.arg(d.Word, sc); next != end.Text {
		r.unsure("a here-document cannot be read")
	}
}

// inRedirects reads what runs while redirections are put together.
func (r *reader) inRedirects(list []*syntax.Redirect, sc scope) {
	for _, d := range list {
		r.inWord(d.Word, sc)
		r.inWord(d.Hdoc, sc)
	}
}
