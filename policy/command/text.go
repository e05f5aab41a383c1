package command

import (
	"slices"
	"strings"
)

// isShell says whether a program is a shell.
func isShell(name string) bool {
	return slices.Contains(strings.Fields("sh bash dash zsh ksh mksh ash rbash lksh posh yash fish csh tcsh nu pwsh elvish xonsh"), name)
}

// text judges a program that runs a text as code: a shell, or one that hands a
// command to another machine.
func (c *call) text(name string) bool {
	switch {
	case isShell(name):
		c.shell(name)
	case slices.Contains(strings.Fields("ssh mosh rsh slogin"), name):
		c.whole("it runs commands on another machine")
		c.readsAll()
	default:
		return false
	}
	return true
}

const (
	shellOptions = "-abefhklmnprstuvxBCEHPDc -O= -o= --norc --noprofile --posix --login --verbose --restricted"
	rcOptions    = "-i --rcfile --init-file"
)

// shell judges sh and its like: the code is a word, a file, or what it reads.
func (c *call) shell(name string) {
	words := slices.Clone(c.words)
	for i, w := range words {
		// A group such as -lc or -ec, and +x, which switches an option off.
		if !w.Known || w.Text == "--" || w.Text == "-" || !strings.HasPrefix(w.Text, "-") && !strings.HasPrefix(w.Text, "+") {
			break
		}
		if strings.HasPrefix(w.Text, "+") && len(w.Text) > 1 {
			words[i] = plain("-" + w.Text[1:])
		}
	}
	if len(c.words) == 1 && c.begins("--version") {
		return
	}
	s := scanWords(words, shellOptions, first)
	switch name {
	case "fish", "csh", "tcsh", "nu", "pwsh", "elvish", "xonsh", "zsh", "yash":
		c.unsure("%s reads code in its own way", name)
	}
	switch {
	case s.stray != "":
		c.whole("its options cannot be judged")
		c.unsure("%s with the option %s cannot be judged", name, shown(s.stray))
	case s.has("-c"):
		if len(s.operands) == 0 {
			c.whole("there is no code behind -c")
			return
		}
		c.runs(s.operands[0], s.operands[0].Known)
	case len(s.operands) > 0 && !s.has("-s") && s.operands[0].Text != "-":
		c.reads(s.operands[0])
		c.whole("it runs the code in " + shown(s.operands[0].Text))
		c.part.Spell = s.rest + 2
		if !s.operands[0].Known {
			c.part.Spell = All
		}
		c.readsRest(s.operands[1:])
	case c.sc.in.known:
		c.runs(plain(c.sc.in.text), true)
	default:
		c.whole("it runs what it reads")
		c.unsure("%s runs what it reads as code", name)
	}
}

func (c *call) readsRest(list []arg) {
	for _, a := range list {
		if !a.option() || !a.Known {
			c.reads(a)
		}
	}
}

// A runner is a program that runs code of the folder or of the net: how much of
// the call a rule must spell hangs on how much decides what that is.
type runner struct {
	options string // those behind which its first operand is still the verb
	how     style
	// verbs says how many words decide, the name among them, for each verb; "*"
	// stands for the others, "" for none. A verb with a 0 only shows something.
	verbs map[string]int
	shows string // options that only show something, as --version
	quiet string // options that a verb with a 0 may have
	code  string // options whose value is code
	files string // options of a verb that change what runs: any makes all words count
	stdin bool   // without operands it runs what it reads
}

var runners = map[string]runner{
	"go": {options: "", shows: "version", how: dash, verbs: map[string]int{"version": 0, "doc": 0, "help": 0, "list": 2, "env": 2,
		"run": 3, "install": 3, "tool": 3, "mod": 3, "work": 3, "*": 2, "": 0},
		files: "-http -toolexec -exec -vettool -overlay -modfile -C -ldflags -gcflags -asmflags -gccgoflags -pkgdir -w -u -modcacherw -outputdir -fuzzcachedir"},
	"cargo": {options: "-v -q --locked --offline --frozen", verbs: map[string]int{"install": 3, "xtask": 3, "run": 2, "*": 2, "": 0},
		files: "--config --manifest-path --target-dir -Z"},
	"rustup": {verbs: map[string]int{"run": All, "*": 3}},
	"npm": {shows: "--version -v", quiet: "-alp --depth= --all --json --long --parseable --omit= --production --prod --dev", verbs: map[string]int{"ls": 0, "list": 0, "run": 3, "run-script": 3, "exec": All, "x": All, "explore": All, "config": 3, "*": 2, "": 0},
		files: "--prefix --script-shell --userconfig --globalconfig -C -g --global --node-options --ignore-scripts=false"},
	"yarn":     {verbs: map[string]int{"run": 3, "exec": All, "dlx": All, "node": All, "*": 2, "": 1}, files: "--cwd --script-shell"},
	"pnpm":     {verbs: map[string]int{"run": 3, "exec": All, "dlx": All, "*": 2, "": 0}, files: "-C --dir --script-shell"},
	"bun":      {shows: "--version -v", verbs: map[string]int{"run": 3, "x": 3, "exec": All, "*": 2}, code: "-e --eval -p --print", files: "--cwd --preload -r -c --config"},
	"npx":      {options: "-y --yes --no-install -q --quiet", shows: "--version", verbs: map[string]int{"*": 2}, code: "-c --call", files: "-p --package"},
	"bunx":     {verbs: map[string]int{"*": 2}},
	"pnpx":     {verbs: map[string]int{"*": 2}},
	"uvx":      {shows: "--version", verbs: map[string]int{"*": 2}, files: "--from --with"},
	"pipx":     {shows: "--version", quiet: "--json --short", verbs: map[string]int{"list": 0, "run": 3, "install": 3, "*": 2}},
	"deno":     {shows: "--version -V", verbs: map[string]int{"run": 3, "eval": All, "repl": All, "task": 3, "*": 2}},
	"pip":      {shows: "--version -V", quiet: pipShows, verbs: map[string]int{"list": 0, "show": 0, "freeze": 0, "check": 0, "install": 3, "*": 2}},
	"pip3":     {shows: "--version -V", quiet: pipShows, verbs: map[string]int{"list": 0, "show": 0, "freeze": 0, "check": 0, "install": 3, "*": 2}},
	"gem":      {shows: "--version -v", quiet: "-lad --local --all --details --versions --no-versions", verbs: map[string]int{"list": 0, "exec": All, "install": 3, "*": 2}},
	"composer": {verbs: map[string]int{"exec": All, "run": 3, "run-script": 3, "*": 2}},
	"mvn":      {options: "-q -B -o -e -X", verbs: map[string]int{"*": All}},
	"gradle":   {options: "-q", verbs: map[string]int{"*": All}},
	"gradlew":  {options: "-q", verbs: map[string]int{"*": All}},
	"make":     {shows: "--version -v", options: "-skinBw -j? --silent --keep-going --dry-run --always-make --no-print-directory", verbs: map[string]int{"*": All, "": 1}},
	"gmake":    {shows: "--version -v", options: "-skinBw -j? --silent --keep-going", verbs: map[string]int{"*": All, "": 1}},
	"ninja":    {shows: "--version", options: "-v -j=", verbs: map[string]int{"*": All, "": 1}},
	"just":     {shows: "--version", verbs: map[string]int{"*": All, "": 1}},
	"task":     {shows: "--version", verbs: map[string]int{"*": All, "": 1}},
	"rake":     {shows: "--version -V", verbs: map[string]int{"*": All, "": 1}},
	"docker": {shows: "--version -v", quiet: "-anlqs --all --quiet --no-trunc --last= --latest --size --format= --filter= -f= --digests", verbs: map[string]int{"ps": 0, "images": 0, "version": 0, "exec": All, "run": All, "create": All, "cp": All, "compose": 3, "buildx": 3, "container": 3,
		"image": 3, "volume": 3, "network": 3, "system": 3, "context": 3, "*": 2}},
	"podman":  {shows: "--version -v", verbs: map[string]int{"exec": All, "run": All, "create": All, "cp": All, "*": 2}},
	"kubectl": {verbs: map[string]int{"exec": All, "run": All, "debug": All, "cp": All, "*": 2}, files: "--kubeconfig --server -s --token"},
	"helm":    {verbs: map[string]int{"*": 2}, files: "--post-renderer --kubeconfig"},
	"gh":      {shows: "--version", verbs: map[string]int{"alias": All, "extension": All, "api": All, "*": 3}},
	"brew":    {shows: "--version", quiet: "-1 --cask --casks --formula --formulae --versions", verbs: map[string]int{"list": 0, "*": 2}},
	"apt":     {verbs: map[string]int{"*": 2}, files: "-o -c"},
	"apt-get": {verbs: map[string]int{"*": 2}, files: "-o -c"},

	"python":    {options: "-uBOEsIqvbS -X= -W=", shows: "--version -V -VV --help", verbs: map[string]int{"*": 1}, code: "-c", stdin: true},
	"node":      {options: "--test --check --watch --no-warnings --enable-source-maps", shows: "--version -v --help -h", verbs: map[string]int{"*": 1}, code: "-e --eval -p --print", stdin: true},
	"ruby":      {options: "-w", shows: "--version -v", verbs: map[string]int{"*": 1}, code: "-e", stdin: true},
	"perl":      {options: "-wT", shows: "--version -v", verbs: map[string]int{"*": 1}, code: "-e -E", stdin: true},
	"php":       {options: "-l", shows: "--version -v", verbs: map[string]int{"*": 1}, code: "-r", stdin: true},
	"lua":       {shows: "-v", verbs: map[string]int{"*": 1}, code: "-e", stdin: true},
	"Rscript":   {shows: "--version", verbs: map[string]int{"*": 1}, code: "-e", stdin: true},
	"julia":     {shows: "--version", verbs: map[string]int{"*": 1}, code: "-e -E", stdin: true},
	"tclsh":     {verbs: map[string]int{"*": 1}, stdin: true},
	"osascript": {verbs: map[string]int{"*": 1}, code: "-e", stdin: true},
	"ts-node":   {shows: "--version", verbs: map[string]int{"*": 1}, code: "-e -p", stdin: true},
	"tsx":       {shows: "--version", verbs: map[string]int{"*": 1}, code: "-e -p", stdin: true},
	"java":      {shows: "--version -version", verbs: map[string]int{"*": All}},
}

const pipShows = "-lf --local --user --not-required --format= --files --all --exclude="

// interpreter gives python3.12 and its like the name in the table.
func interpreter(name string) string {
	for _, n := range []string{"python", "ruby", "perl", "php", "lua"} {
		if rest, ok := strings.CutPrefix(name, n); ok && strings.Trim(rest, "0123456789.") == "" {
			return n
		}
	}
	switch name {
	case "pypy", "pypy3":
		return "python"
	case "nodejs", "luajit":
		return map[string]string{"nodejs": "node", "luajit": "lua"}[name]
	}
	return name
}

// runner judges a program that runs code.
func (c *call) runner(name string, run runner) {
	c.readsAll()
	if len(c.words) > 0 && c.words[0].Known && slices.Contains(strings.Fields(run.shows), c.words[0].Text) && len(c.words) == 1 {
		c.part.Reads = nil
		return
	}
	s := scanWords(c.words, run.options, first)
	if run.stdin && len(s.operands) == 1 && s.operands[0].Text == "-" || run.stdin && len(s.operands) == 0 && s.stray == "" {
		c.whole("it runs what it reads")
		c.unsure("%s runs what it reads as code", name)
		return
	}
	c.unknown("it runs code")
	verb := ""
	if len(s.operands) > 0 {
		verb = s.operands[0].Text
		if !s.operands[0].Known {
			c.part.Spell = All
		}
	}
	words, ok := run.verbs[verb]
	if !ok || verb == "*" {
		words = run.verbs["*"]
	}
	switch {
	case c.risky(run):
		c.part.Spell = All
	case run.stdin:
		c.script(s)
	case s.stray != "" || words == All:
		c.targets(s, words)
	case words == 0:
		if verb != "" && name != "go" && scanWords(s.operands[1:], run.quiet, run.how).stray != "" {
			c.whole("one of its options is not known to be harmless")
			return
		}
		c.part.Level, c.part.Why = Harmless, ""
		c.part.Spell = max(c.part.Spell, 1)
	default:
		c.spell(s.rest + words)
	}
	if name == "go" {
		c.golang(verb, s)
	}
}

// targets judges make and its like: one target is spelled by its place, of
// several each counts.
func (c *call) targets(s scan, words int) {
	if words == All && s.stray == "" && len(s.operands) == 1 && s.operands[0].Known && !strings.Contains(s.operands[0].Text, "=") {
		switch c.part.Words[0].Text {
		case "make", "gmake", "ninja", "just", "task", "rake", "mvn", "gradle", "gradlew":
			c.spell(s.rest + 2)
			return
		}
	}
	c.part.Spell = All
}

// risky says whether one of the words is an option that changes what runs.
func (c *call) risky(run runner) bool {
	for _, w := range c.words {
		if w.Known && w.Text == "--" {
			return false
		}
		if !w.Known && w.option() {
			return true
		}
		name, _, _ := strings.Cut(w.lead, "=")
		if run.how == dash {
			name = "-" + strings.TrimLeft(name, "-")
		}
		for _, o := range strings.Fields(run.files + " " + run.code) {
			if name == o || len(o) == 2 && run.how != dash && strings.HasPrefix(w.lead, o) {
				return true
			}
		}
	}
	return false
}

// script judges an interpreter: the first operand is the file that it runs.
func (c *call) script(s scan) {
	c.part.Spell = All
	if c.pretty() {
		c.part.Level, c.part.Why = Harmless, ""
		return
	}
	if s.stray == "-m" && len(c.words) > 1 {
		for i, w := range c.words {
			if w.Known && w.Text == "-m" && i+1 < len(c.words) && c.words[i+1].Known && c.words[i+1].Text != "" {
				c.part.Spell = i + 3
				return
			}
		}
		return
	}
	if s.stray == "" && len(s.operands) > 0 && s.operands[0].Known {
		c.part.Spell = s.rest + 2
	}
}

// pretty says whether python only shows a JSON file. Without -I a module of the
// folder, json.py or argparse.py, would run instead; a second file would be written.
func (c *call) pretty() bool {
	if interpreter(c.part.Words[0].Text) != "python" || len(c.words) < 3 || !c.begins("-I") {
		return false
	}
	if m := c.words[1:3]; m[0].Text != "-m" || m[1].Text != "json.tool" {
		return false
	}
	s := scanWords(c.words[3:], "--sort-keys --compact --tab --no-indent --no-ensure-ascii --json-lines --indent=", gnu)
	return s.stray == "" && len(s.operands) <= 1 && !slices.ContainsFunc(s.operands, func(a arg) bool { return a.list || a.glob })
}

// golang judges the go command, whose harmless verbs have harmful options.
func (c *call) golang(verb string, s scan) {
	switch verb {
	case "list":
		t := scanWords(s.operands[1:], "--m --f= --json? --deps --test --e --find --versions --mod= --tags=", dash)
		if t.stray == "" {
			c.harmless()
		}
	case "env":
		if t := scanWords(s.operands[1:], "--json --changed", dash); t.stray == "" {
			c.harmless()
		}
	case "build", "test", "install", "run", "tool", "vet":
		t := scanWords(s.operands[1:], "--o> --coverprofile> --cpuprofile> --memprofile> --trace> --blockprofile> --mutexprofile>", dash)
		for _, o := range t.options {
			if o.kind == makes {
				c.writes(o.value)
			}
		}
	case "doc", "help", "version":
		if scanWords(s.operands[1:], "--all --c --cmd --short --src --u --ex", dash).stray == "" {
			c.harmless()
		}
		if verb == "version" && len(s.operands) > 1 {
			c.unknown("it looks into programs")
		}
	case "fmt":
		c.part.Level, c.part.Why = Changes, "it formats files"
		c.part.Spell = max(c.part.Spell, 2)
	}
}

// harmless takes back that nobody knows what the call does.
func (c *call) harmless() {
	if c.part.Spell != All && c.part.Level == Unknown {
		c.part.Level, c.part.Why = Harmless, ""
	}
}
