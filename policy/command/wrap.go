package command

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// A wrapper is a program that starts another.
type wrapper struct {
	options string
	skip    int // operands before the program
	level   Level
	why     string
	alone   Level // without a program
}

// rights are what sudo and its like take.
const rights = "it takes the rights of another user"

var wrappers = map[string]wrapper{
	"env":              {options: "-i -0 -v -u= -C= -S= --ignore-environment --null --debug --unset= --chdir= --split-string=", alone: Unknown},
	"timeout":          {options: "-v -k= -s= --kill-after= --signal= --foreground --preserve-status --verbose", skip: 1},
	"nice":             {options: "-n= --adjustment= -#"},
	"ionice":           {options: "-t -c= -n= --class= --classdata= --ignore"},
	"chrt":             {options: "-bfiorRav -d= -D= -P= -T=", skip: 1},
	"taskset":          {options: "-ac", skip: 1},
	"nohup":            {},
	"setsid":           {options: "-cfw --ctty --fork --wait"},
	"stdbuf":           {options: "-i= -o= -e= --input= --output= --error="},
	"unbuffer":         {options: "-p"},
	"time":             {options: "-pqv -f= --format= --portability --quiet --verbose"},
	"xargs":            {options: "-0rtpxo -n= -P= -I= -i? -L= -l? -d= -a< -E= -e? -s= --null --no-run-if-empty --max-args= --max-procs= --replace? --arg-file< --delimiter= --verbose --exit --max-chars= --max-lines? --open-tty"},
	"watch":            {options: "-betgcdxpqw -n= -d? --interval= --differences? --no-title --color --exec --beep --errexit --chgexit --precise"},
	"parallel":         {options: "-0kmtuvX -j= -n= -N= -I= -P= --jobs= --keep-order --dry-run --bar --progress --halt= --line-buffer --will-cite"},
	"flock":            {options: "-exsunoFv -w= -E= -c= --exclusive --shared --nonblock --timeout= --close --command=", skip: 1, level: Changes, why: "it makes a lock file"},
	"script":           {options: "-aefq -c= --command= --quiet --return --flush --append", level: Changes, why: "it writes what is shown to a file", alone: Unknown},
	"busybox":          {alone: Harmless},
	"toybox":           {alone: Harmless},
	"chroot":           {options: "--userspec= --groups= --skip-chdir", skip: 1, level: Dangerous, why: "it runs with another root folder", alone: Dangerous},
	"unshare":          {options: "-imnpuUCTrcf -R= -w= -S= -G= --fork --pid --net --mount --user --map-root-user --mount-proc", level: Unknown, why: "it makes other namespaces", alone: Unknown},
	"nsenter":          {options: "-aF -t= --target= -m? -u? -i? -n? -p? -U? -C? -T? -r? -w? -S= -G=", level: Dangerous, why: "it goes into other namespaces", alone: Dangerous},
	"sudo":             {options: "-AbEHiKknPSsVvl -u= -g= -p= -C= -D= -R= -T= -h= -r= -t= -U= --user= --group= --preserve-env? --non-interactive --stdin --login --shell --set-home --prompt= --chdir= --background", level: Dangerous, why: rights, alone: Dangerous},
	"doas":             {options: "-ns -u= -C= -L", level: Dangerous, why: rights, alone: Dangerous},
	"su":               {options: "-lmpfP -c= -s= -g= -G= -w= - --command= --login --shell= --preserve-environment", level: Dangerous, why: rights, alone: Dangerous},
	"runuser":          {options: "-lmpfP -c= -s= -g= -G= -u= --command= --login --shell= --user=", level: Dangerous, why: rights, alone: Dangerous},
	"pkexec":           {options: "--user= --keep-cwd --disable-internal-agent", level: Dangerous, why: rights, alone: Dangerous},
	"gosu":             {skip: 1, level: Dangerous, why: rights, alone: Dangerous},
	"su-exec":          {skip: 1, level: Dangerous, why: rights, alone: Dangerous},
	"setpriv":          {options: "--reuid= --regid= --clear-groups --keep-groups --init-groups --no-new-privs --inh-caps= --bounding-set= --reset-env", level: Dangerous, why: rights, alone: Dangerous},
	"strace":           {options: "-cfFhiqrtTvxyCdzZ -e= -o> -p= -s= -u= -a= -E= -P= -S= -b= -I= -O= -X=", level: Unknown, why: "it looks into what it starts", alone: Unknown},
	"ltrace":           {options: "-cfhiLrStTVb -e= -o> -p= -s= -u= -a= -n= -l= -x=", level: Unknown, why: "it looks into what it starts", alone: Unknown},
	"valgrind":         {level: Unknown, why: "it looks into what it starts", alone: Unknown},
	"catchsegv":        {},
	"fakeroot":         {options: "-u -l= -s= -i= -b= --", level: Unknown, why: "it loads a library into what it starts", alone: Unknown},
	"numactl":          {options: "-l -i= -N= -C= -m= -p=", alone: Unknown},
	"setarch":          {options: "-BFILRSXZ3v", skip: 1, alone: Unknown},
	"linux32":          {options: "-BFILRSXZ3v", alone: Unknown},
	"linux64":          {options: "-BFILRSXZ3v", alone: Unknown},
	"xvfb-run":         {options: "-a -s= -e= -n= --auto-servernum --server-args=", level: Unknown, why: "it starts a display", alone: Unknown},
	"proxychains":      {options: "-q -f=", level: Unknown, why: "it sends what is started through a proxy", alone: Unknown},
	"torsocks":         {level: Unknown, why: "it sends what is started through a proxy", alone: Unknown},
	"systemd-run":      {level: Unknown, why: "it starts a service", alone: Unknown},
	"dbus-run-session": {alone: Unknown},
	"tini":             {options: "-gsvw -p= -e=", alone: Unknown},
	"dumb-init":        {options: "-cv", alone: Unknown},
	"uv":               {alone: Unknown},
	"poetry":           {alone: Unknown},
	"pipenv":           {alone: Unknown},
	"bundle":           {alone: Unknown},
}

// wrap judges a program that starts another one.
func (c *call) wrap(name string) bool {
	w, ok := wrappers[name]
	if !ok {
		return false
	}
	switch name {
	case "uv", "poetry", "pipenv":
		return c.project("run")
	case "bundle":
		return c.project("exec")
	}
	if !slices.Contains(strings.Fields("xargs env timeout nice ionice nohup stdbuf setsid"), name) {
		c.sc.in.found = nil // they may change what it reads
	}
	s := scanWords(c.words, w.options, first)
	for _, o := range s.options {
		switch o.kind {
		case reads:
			c.part.Reads = append(c.part.Reads, o.value.paths(c.sc.dirs)...)
		case makes:
			c.writes(o.value)
		}
	}
	c.part.raise(w.level, w.why)
	if s.stray != "" {
		c.unsure("%s: the word %s cannot be judged, so what it starts is not known", name, shown(s.stray))
	}
	switch name {
	case "env":
		c.env(s)
	case "xargs":
		c.xargs(s)
	case "parallel":
		c.parallel(s)
	case "watch":
		c.joins(s.operands, !s.has("-x", "--exec"))
	case "su", "runuser":
		c.su(s)
	case "sudo", "doas":
		c.sudo(s)
	case "script":
		c.typescript(s)
	case "flock":
		c.flock(s)
	default:
		c.skips(name, s.operands, w)
	}
	if c.inner == nil && w.alone > c.part.Level {
		c.part.raise(w.alone, map[bool]string{true: "it shows all variables, secrets among them", false: "nobody knows what it does"}[name == "env"])
		c.part.Spell = All
	}
	return true
}

// skips starts what stands behind some operands.
func (c *call) skips(name string, list []arg, w wrapper) {
	if len(list) <= w.skip {
		return
	}
	for _, a := range list[:w.skip] {
		if a.many {
			c.unsure("%s: the word %s may become several, so what it starts is not known", name, shown(a.Text))
		}
	}
	sc := c.sc
	if name == "chroot" || name == "unshare" || name == "nsenter" {
		sc.dirs = []string{""}
	}
	c.starts(list[w.skip:], sc)
}

// project judges a program that runs another one of a project: uv run pytest.
func (c *call) project(verb string) bool {
	if len(c.words) == 0 || !c.words[0].Known || c.words[0].Text != verb {
		c.unknown("nobody knows what it does")
		c.spell(2)
		c.readsAll()
		return true
	}
	rest := c.words[1:]
	if len(rest) == 0 || rest[0].option() {
		c.whole("it runs code of the project")
		c.readsAll()
		return true
	}
	c.part.Wraps = true
	c.inner = func(c *call) flow {
		at := len(c.out.Parts)
		c.start1(rest, c.sc, true)
		if at < len(c.out.Parts) {
			c.out.Parts[at].raise(Unknown, "it is a program of the project")
		}
		return flow{c.sc.dirs, c.sc.dirs}
	}
	return true
}

// env sets variables and starts a program.
func (c *call) env(s scan) {
	list := s.operands
	var vars []setting
	sc := c.sc
	if _, ok := s.last("-C", "--chdir"); ok {
		dir, _ := s.last("-C", "--chdir")
		sc.dirs = c.chdir(dir, sc).ok
	}
	if v, ok := s.last("-S", "--split-string"); ok {
		words, sure := split(v)
		if !sure {
			c.unsure("env -S splits a text that cannot be judged")
		}
		list = append(words, list...)
	}
	for len(list) > 0 {
		w := list[0]
		if w.Known && w.Text == "-" { // the same as -i
			list = list[1:]
			continue
		}
		if w.Known && w.option() { // what -S brought
			c.unsure("env -S with options cannot be judged")
			return
		}
		name, _, ok := strings.Cut(w.lead, "=")
		if !ok {
			break
		}
		vars = append(vars, setting{name, w.from(len(name) + 1)})
		if w.many {
			c.unsure("env: the word %s may become several, so what it starts is not known", shown(w.Text))
		}
		list = list[1:]
	}
	c.starts(list, sc)
	c.passes(vars)
}

// A setting is a variable that a program gets.
type setting struct {
	name  string
	value arg
}

// passes gives variables to the part and to what it starts.
func (c *call) passes(vars []setting) {
	inner := c.inner
	if inner == nil || len(vars) == 0 {
		return
	}
	c.inner = func(c *call) flow {
		at := len(c.out.Parts) - 1
		f := inner(c)
		c.chain(at, func(p *Part) {
			for _, v := range vars {
				c.exported(p, v.name, v.value.Text, v.value.Known)
			}
		})
		return f
	}
}

// chain goes through a part and those that it starts.
func (r *reader) chain(at int, f func(*Part)) {
	for ; at >= 0 && at < len(r.out.Parts); at++ {
		f(&r.out.Parts[at])
		if !r.out.Parts[at].Wraps {
			return
		}
	}
}

// split reads the text of env -S, where it has nothing but words and quotes.
func split(v arg) ([]arg, bool) {
	if !v.Known || strings.ContainsAny(v.Text, "\\$#") {
		return nil, false
	}
	var out []arg
	for w, err := range syntax.NewParser(syntax.Variant(syntax.LangPOSIX)).WordsSeq(strings.NewReader(v.Text)) {
		if err != nil {
			return nil, false
		}
		text := ""
		for _, p := range w.Parts {
			switch p := p.(type) {
			case *syntax.Lit:
				text += p.Value
			case *syntax.SglQuoted:
				text += p.Value
			case *syntax.DblQuoted:
				for _, in := range p.Parts {
					l, ok := in.(*syntax.Lit)
					if !ok {
						return nil, false
					}
					text += l.Value
				}
			default:
				return nil, false
			}
		}
		out = append(out, plain(text))
	}
	return out, true
}

// rest stands for words that come from elsewhere.
func rest() arg { return arg{Word: Word{Text: "…"}, many: true} }

// xargs starts a program with what it reads behind the words.
func (c *call) xargs(s scan) {
	if len(s.operands) == 0 {
		return // it prints
	}
	list := slices.Clone(s.operands)
	mark, replaces := s.last("-I")
	for _, n := range []string{"-i", "--replace"} {
		if v, ok := s.last(n); ok {
			mark, replaces = v, true
			if v.Text == "" {
				mark = plain("{}")
			}
		}
	}
	found, known := c.handed(s, list[0])
	if n, _ := s.last("-n", "--max-args"); replaces && s.has("-n", "--max-args", "-L", "-l", "--max-lines") {
		known = false // which of them counts hangs on the xargs
		if n.Text != "1" || s.has("-L", "-l", "--max-lines") {
			c.unsure("xargs with -I and another number of words cannot be judged")
		}
	}
	switch {
	case !replaces && known:
		list = append(list, found)
	case !replaces:
		list = append(list, rest())
	case !mark.Known || mark.Text == "":
		for i := range list {
			list[i] = arg{Word: Word{Text: list[i].Text}}
		}
	default:
		fill(list, mark.Text, func(a arg, at int) arg {
			if known && a.Text == mark.Text {
				b := found
				b.Text, b.list = a.Text, false
				return b
			}
			return arg{Word: Word{Text: a.Text}, lead: a.lead[:at]}
		})
	}
	sc := c.sc
	sc.in = feed{}
	c.starts(list, sc)
}

// fill puts what is not known before in the place of a mark.
func fill(list []arg, mark string, with func(a arg, at int) arg) {
	for i, a := range list {
		if at := strings.Index(a.lead, mark); at >= 0 {
			list[i] = with(a, at)
		} else if strings.Contains(a.Text, mark) {
			list[i] = arg{Word: Word{Text: a.Text}, many: a.many}
		}
	}
}

// parallel runs its words as code, with what stands behind ::: put in.
func (c *call) parallel(s scan) {
	list := s.operands
	for i, a := range list {
		if a.Known && strings.HasPrefix(a.Text, ":::") {
			list = list[:i]
			break
		}
	}
	if len(list) == 0 {
		c.unsure("parallel runs what it reads as code")
		return
	}
	list = slices.Clone(list)
	for _, a := range list {
		if !a.Known || strings.Trim(a.Text, nameLetters+"./=:,+{}@%") != "" {
			c.unsure("parallel runs a text that cannot be judged")
		}
	}
	fill(list, "{", func(a arg, _ int) arg { return arg{Word: Word{Text: a.Text}, many: true} })
	c.starts(append(list, rest()), c.sc)
}

// joins starts words, or the text that they make together.
func (c *call) joins(list []arg, asText bool) {
	if len(list) == 0 {
		return
	}
	if !asText {
		c.starts(list, c.sc)
		return
	}
	text, ok := joined(list)
	c.runs(plain(text), ok)
}

// runs says that the call runs a text as code, in a shell of its own.
func (c *call) runs(text arg, ok bool) {
	c.part.Wraps = true
	name := c.part.Words[0].Text
	c.inner = func(c *call) flow {
		still := flow{c.sc.dirs, c.sc.dirs}
		if !ok || !text.Known {
			c.unsure("%s runs a text that is not known before", name)
			return still
		}
		defer c.apart()()
		sc := c.sc
		sc.vars = nil // a shell of its own has none of them
		funcs, bash := c.funcs, c.o.Bash
		c.funcs, c.o.Bash = nil, name == "bash" // the others run what is sh there
		c.code(text.Text, sc)
		c.funcs, c.o.Bash = funcs, bash
		return still
	}
}

func (c *call) su(s scan) {
	if text, ok := s.last("-c", "--command"); ok {
		c.runs(text, text.Known)
		if s.has("-s", "--shell") || len(s.operands) > 1 {
			c.unsure("su with a shell of its own cannot be judged")
		}
		return
	}
	if s.has("-u", "--user") {
		c.starts(s.operands, c.sc)
		return
	}
	// Options may stand behind the user as well.
	for i, a := range s.operands {
		if a.Known && (a.Text == "-c" || a.Text == "--command") && i+1 < len(s.operands) {
			c.runs(s.operands[i+1], s.operands[i+1].Known)
			return
		}
		if i > 0 && a.option() {
			c.unsure("su: the word %s cannot be judged", shown(a.Text))
		}
	}
	c.unsure("su starts a shell that runs what it reads")
}

func (c *call) sudo(s scan) {
	list := s.operands
	var vars []setting
	for len(list) > 0 {
		name, _, ok := strings.Cut(list[0].lead, "=")
		if !ok {
			break
		}
		vars = append(vars, setting{name, list[0].from(len(name) + 1)})
		list = list[1:]
	}
	sc := c.sc
	if s.has("-D", "-R", "-i", "--chdir", "--login") {
		sc.dirs = []string{""}
	}
	if s.has("-s", "-i", "--shell", "--login") && len(list) == 0 {
		c.unsure("%s starts a shell that runs what it reads", c.part.Words[0].Text)
		return
	}
	c.starts(list, sc)
	c.passes(vars)
}

func (c *call) typescript(s scan) {
	out := s.operands
	if len(out) == 0 {
		out = []arg{plain("typescript")}
	}
	c.writes(out...)
	if text, ok := s.last("-c", "--command"); ok {
		c.runs(text, text.Known)
		return
	}
	c.unsure("script starts a shell that runs what it reads")
}

func (c *call) flock(s scan) {
	if len(s.operands) == 0 {
		return
	}
	if !s.operands[0].Known || strings.Trim(s.operands[0].Text, "0123456789") != "" {
		c.writes(s.operands[0])
	}
	if text, ok := s.last("-c", "--command"); ok {
		c.runs(text, text.Known)
		return
	}
	if list := s.operands[1:]; len(list) > 0 {
		if list[0].Known && (list[0].Text == "-c" || list[0].Text == "--command") && len(list) > 1 {
			c.runs(list[1], list[1].Known)
			return
		}
		c.skips("flock", s.operands, wrapper{skip: 1})
	}
}
