package command

import (
	"path"
	"slices"
	"strings"
)

// usual judges a program of the table.
func (c *call) usual(name string, p program) {
	if name == "gofmt" {
		p.options = "--l --d --e --s"
		p.how = dash
	}
	if len(c.words) == 1 && p.level == Harmless && (c.begins("--version") || c.begins("--help")) {
		return
	}
	if !p.free && p.level == Harmless {
		c.words = slices.Clone(c.words)
		for i, w := range c.words {
			if w.glob && w.named && !w.many && w.lead == "" && w.odd == "" { // file *: whether a name is an option Path.Odd tells
				c.words[i].tame, c.words[i].odd = true, oddFront+"="
			}
		}
	}
	if name == "jq" {
		c.jqNames()
	}
	s := scanWords(c.words, p.options, p.how)
	c.part.raise(p.level, p.why)
	if p.level == Unknown {
		c.part.Spell = All
	}
	if s.stray != "" && !p.free {
		c.strange(name, p, s)
		return
	}
	for _, o := range s.options {
		switch o.kind {
		case reads:
			c.reads(o.value)
		case makes:
			c.writes(o.value)
		}
	}
	if p.free && p.takes != text {
		c.cutShort(p)
	}
	c.operands(p, s)
	if p.deep == "*" || p.deep != "" && s.has(strings.Fields(p.deep)...) || p.free && p.deep != "" && c.goesDeep(p.deep) {
		if len(c.part.Reads) == 0 && p.takes == pattern {
			c.reads(here())
		}
		c.deepen()
		for i := range c.part.Writes {
			c.part.Writes[i].Deep = true
		}
	}
	c.closer(name, s)
}

// cutShort looks at long options that the table does not have: they may be others
// cut short, and name files.
func (c *call) cutShort(p program) {
	table := strings.Fields(p.options)
	for _, w := range c.words {
		name, val, attached := strings.Cut(w.lead, "=")
		if !strings.HasPrefix(name, "--") || !attached {
			continue
		}
		if _, ok := kindOf(table, name); !ok && w.Known {
			c.reads(plain(val))
		}
		if strings.HasPrefix(name, "--files0") { // grep has --file, the others nothing that begins so
			c.reads(rest()) // files that another one names
		}
	}
}

// goesDeep looks for an option in words that the table does not know.
func (c *call) goesDeep(deep string) bool {
	for _, w := range c.words {
		if !w.Known && w.option() {
			return true
		}
		for _, o := range strings.Fields(deep) {
			// GNU lets a long option be cut short.
			if strings.HasPrefix(w.Text, "--") && len(w.Text) > 3 && strings.HasPrefix(o, w.Text) {
				return true
			}
			if len(o) == 2 && strings.HasPrefix(w.Text, "-") && !strings.HasPrefix(w.Text, "--") && strings.Contains(w.Text, o[1:]) {
				return true
			}
		}
	}
	return false
}

// strange judges a call with an option that is not in the table.
func (c *call) strange(name string, p program, s scan) {
	c.whole("its option " + shown(s.stray) + " is not known to be harmless")
	c.readsAll()
	if p.takes >= target && p.takes <= mode {
		for _, w := range c.words {
			if !w.Known || !strings.HasPrefix(w.Text, "-") {
				c.writes(w)
			}
		}
	}
	if name == "rm" {
		c.force(s)
	}
}

// operands takes the operands for what they are.
func (c *call) operands(p program, s scan) {
	list := s.operands
	switch p.takes {
	case file:
		c.reads(list...)
	case folder:
		if len(list) == 0 {
			list = []arg{here()}
		}
		c.reads(list...)
	case pattern:
		if !s.has("-e", "-f", "--regexp", "--file", "--expression", "--files") && len(list) > 0 {
			if list[0].many && !p.free {
				c.whole("its first word may become several")
			}
			if list[0].many || list[0].list {
				c.reads(list[0])
			}
			list = list[1:]
		}
		c.reads(list...)
	case nothing:
		if len(list) > 0 {
			c.whole("it takes no " + shown(list[0].Text) + " to be harmless")
		}
	case target:
		c.writes(list...)
	case mode:
		if len(list) > 0 {
			c.writes(list[1:]...)
		}
	case into, moved:
		c.copies(p.takes, s)
		if c.part.Words[0].Text == "ln" {
			c.links(s)
		}
	case option1:
		if len(list) > 1 || len(list) == 1 && (list[0].many || list[0].list) {
			c.whole("its second word is a file that it writes")
			c.writes(list[1:]...)
		}
		c.reads(list...)
	}
}

// copies judges cp, mv and ln: the last operand is written, or a file in it.
func (c *call) copies(how takes, s scan) {
	from := s.operands
	if !s.has("-t", "--target-directory") && len(from) > 0 {
		last := from[len(from)-1]
		if len(from) == 1 && how == into && !last.many { // ln x: a link here
			c.writes(here())
		} else {
			c.writes(last)
			from = from[:len(from)-1]
		}
	}
	c.reads(from...)
	if how == moved {
		c.writes(from...)
	}
}

// links takes the text of a link for what it leads to: it is read from the folder
// of the link, wherever the command runs.
func (c *call) links(s scan) {
	from, to := s.operands, here()
	if dir, ok := s.last("-t", "--target-directory"); ok {
		to = dir
	} else if len(from) > 1 {
		from, to = from[:len(from)-1], from[len(from)-1]
	}
	for _, f := range from {
		if !f.named || !to.named || strings.HasPrefix(f.path, "/") {
			continue
		}
		for _, dir := range []string{to.path, path.Dir(to.path)} { // to may be a folder
			c.reads(arg{Word: Word{Text: f.Text}, path: dir + "/" + f.path, named: true, glob: f.glob || to.glob})
		}
	}
}

// closer looks at what the table cannot say.
func (c *call) closer(name string, s scan) {
	switch name {
	case "rm":
		c.force(s)
	case "chmod":
		if s.has("-R", "--recursive") {
			c.part.raise(Dangerous, "it changes who may use all below a folder")
			for i := range c.part.Writes {
				c.part.Writes[i].Deep = true
			}
		}
	case "sed":
		c.sed(s)
	case "awk", "gawk", "mawk", "nawk":
		c.awk(s)
	case "jq":
		c.jq(s)
	case "date":
		for _, o := range s.operands {
			if !strings.HasPrefix(o.lead, "+") {
				c.whole("it may set the clock")
			}
		}
	case "strings", "nm", "size", "readelf":
		for _, o := range s.operands {
			if strings.HasPrefix(o.lead, "@") {
				c.whole("it takes options from the file " + shown(o.Text))
			}
		}
	case "tee":
		if len(c.part.Writes) == 0 { // to nowhere, or to the terminal
			c.part.Level, c.part.Why = Harmless, ""
		}
	case "ps":
		c.ps(s)
	case "tput":
		if len(s.operands) > 0 && !slices.Contains([]string{"cols", "lines"}, s.operands[0].Text) {
			c.unknown("it changes the terminal")
		}
	}
}

// jqNames takes out options of two values: --arg NAME TEXT, --slurpfile NAME FILE.
func (c *call) jqNames() {
	var out []arg
	for i := 0; i < len(c.words); i++ {
		w := c.words[i]
		if !w.Known || w.Text == "--" || i+2 >= len(c.words) || c.words[i+1].many || c.words[i+2].many {
			out = append(out, w)
			continue
		}
		switch w.Text {
		case "--slurpfile", "--rawfile":
			c.reads(c.words[i+2])
			i += 2
		case "--arg", "--argjson":
			i += 2
		default:
			out = append(out, w)
		}
	}
	c.words = out
}

// force says that rm asks nobody and goes on over faults.
func (c *call) force(s scan) {
	if s.has("-f", "--force") {
		c.part.raise(Dangerous, "it removes files without asking")
		return
	}
	for _, w := range c.words {
		switch {
		case w.Known && w.Text == "--":
			return
		case strings.HasPrefix(w.Text, "--f"), strings.HasPrefix(w.Text, "-") && !strings.HasPrefix(w.Text, "--") && strings.Contains(w.Text, "f"):
			c.part.raise(Dangerous, "it removes files without asking")
		}
	}
}

// ps shows the variables of programs if it is told so.
func (c *call) ps(s scan) {
	for _, o := range s.options {
		if o.name == "-o" && (!o.value.Known || strings.Contains(o.value.Text, "env")) {
			c.whole("it may show the variables of programs, secrets among them")
		}
	}
	for _, o := range s.operands {
		if !o.Known || strings.Trim(o.Text, "afjlrtuvwx0123456789,") != "" {
			c.whole("it may show the variables of programs, secrets among them")
		}
	}
}

// dangerous judges what is left: programs that destroy, and those nobody knows.
func (c *call) dangerous(name string) {
	if len(c.words) == 1 && c.begins("--version") && slices.Contains(strings.Fields(versions), name) ||
		len(c.words) == 1 && c.begins("-v", "-dumpversion", "-dumpmachine") && slices.Contains(strings.Fields(compilers), name) ||
		name == "printenv" && len(c.words) > 0 && !slices.ContainsFunc(c.words, func(w arg) bool { return !w.Known || !slices.Contains(strings.Fields(openly), w.Text) }) {
		return
	}
	why, ok := dangers[name]
	files := !ok || strings.HasPrefix(why, "it destroys") || strings.HasPrefix(why, "it cuts") || strings.HasPrefix(why, "it changes disks") ||
		strings.HasPrefix(why, "it changes rights") || strings.HasPrefix(why, "it changes who")
	if files {
		c.readsAll()
	}
	switch {
	case strings.HasPrefix(name, "mkfs"):
		why, ok = "it makes a file system, which destroys what is there", true
	case name == "systemctl" && c.begins("status", "is-active", "is-enabled", "list-units", "show"), name == "service" && c.begins("--status-all"),
		name == "crontab" && len(c.words) == 1 && c.begins("-l"), (name == "mount" || name == "sysctl") && len(c.words) == 0:
		ok = false
	case (name == "chown" || name == "chgrp") && !c.goesDeep("-R --recursive"):
		c.writes(c.words...)
		c.part.raise(Changes, why)
		return
	case name == "dd":
		c.dd()
		return
	case name == "curl" || name == "wget":
		c.net(name)
	case name == "rsync":
		c.unknown("it copies files, also to other machines")
		c.part.Spell = All
		if c.goesDeep("--delete --remove-source-files") {
			c.part.raise(Dangerous, "it removes files")
		}
	case name == "kill" && c.begins("-l", "-0"):
		ok = false
	case slices.Contains(strings.Fields("patch vi vim nvim view ex ed emacs nano less more most pg gdb lldb openssl expect screen tmux zip unzip 7z nc ncat netcat socat telnet ftp sftp scp sqlite3 psql mysql mail sendmail xdg-open open start printenv printf env ssh-keygen ssh-add gpg security pass aws gcloud az terraform"), name):
		c.part.Spell = All
	}
	if ok {
		c.part.raise(Dangerous, why)
		for _, w := range c.words {
			if files && (!w.option() || !w.Known) {
				c.writes(w)
			}
		}
		return
	}
	c.unknown("nobody knows what it does")
}

// versions are programs that nobody knows enough of, but that only say which one
// they are when they are asked. Not those that are chosen by the folder's files, as
// cargo and rustc are by rust-toolchain.toml, and yarn by .yarnrc.yml.
const versions = compilers + " clang-format clang-tidy javac ghc ocamlc swiftc nasm ld as ar objdump less patch unzip cmake curl wget sqlite3 psql rsync vim nvim tmux zip gdb helm ffmpeg pytest git-lfs"

const (
	compilers = "gcc g++ cc c++ clang clang++ gfortran"
	// openly are variables that hold no secret.
	openly = "PATH HOME PWD OLDPWD USER LOGNAME SHELL LANG LANGUAGE LC_ALL LC_CTYPE TERM TZ EDITOR TMPDIR HOSTNAME SHLVL COLUMNS LINES GOPATH GOROOT JAVA_HOME VIRTUAL_ENV"
)

func (c *call) begins(words ...string) bool {
	return len(c.words) > 0 && c.words[0].Known && slices.Contains(words, c.words[0].Text)
}

func (c *call) dd() {
	for _, w := range c.words {
		switch {
		case strings.HasPrefix(w.lead, "if="):
			c.reads(w.from(3))
		case strings.HasPrefix(w.lead, "of="):
			c.writes(w.from(3))
			c.part.raise(Dangerous, "it writes over a file or a device")
		case !w.Known && w.option():
			c.part.raise(Dangerous, "it may write over a file or a device")
		}
	}
	c.unknown("it copies bytes")
}

// net judges curl and wget by where they write.
func (c *call) net(name string) {
	table := "-sSLfkvIigG#46 -X= -H= -d= -A= -b= -u= -m= -e= -o> -O -J -T< -F= -w= -x= -D> -c> -K< --silent --show-error --location --fail --output> --request= --header= --data= --data-raw= --max-time= --retry= --compressed --connect-timeout= --json= --url= --user= --upload-file< --write-out= --remote-name --head --insecure --create-dirs"
	if name == "wget" {
		table = "-qcNvSnrpkK -O> -o> -P> -T= -t= -U= --quiet --output-document> --timeout= --tries= --header= --no-check-certificate --spider"
	}
	s := scanWords(c.words, table, gnu)
	if s.stray != "" || s.has("-K", "-r") {
		c.part.Spell = All
	}
	c.unknown("it reaches beyond this machine")
	writes := name == "wget" && !s.has("-O", "--output-document", "--spider")
	for _, o := range s.options {
		switch {
		case o.kind == makes && o.value.Text == "-":
		case o.kind == makes:
			c.writes(o.value)
		case name == "curl" && (o.name == "-O" || o.name == "--remote-name"):
			writes = true
		case (o.name == "-d" || o.name == "--data" || o.name == "-F") && strings.Contains(o.value.lead, "@"):
			at := strings.IndexByte(o.value.lead, '@')
			c.reads(o.value.from(at + 1))
		}
	}
	if writes {
		c.writes(here())
	}
}
