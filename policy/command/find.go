package command

import (
	"slices"
	"strings"
)

// findTests are the words of find that only select and print; those with = take
// one more word, those with < one that names a file.
const findTests = `-a -o -and -or -not -print -print0 -ls -empty -prune -quit -depth -d -xdev -mount -executable -readable -writable -true
	-false -follow -daystart -noleaf -nouser -nogroup -nowarn -warn -ignore_readdir_race -name= -iname= -path= -ipath= -wholename= -iwholename=
	-regex= -iregex= -regextype= -type= -xtype= -size= -mtime= -mmin= -atime= -amin= -ctime= -cmin= -maxdepth= -mindepth= -perm= -user= -group= -uid=
	-gid= -links= -inum= -lname= -ilname= -fstype= -used= -printf= -newer< -anewer< -cnewer< -samefile< -newermt= -newerat= -newerct= -newermm<`

// find judges find: it can remove, write and start programs.
func (c *call) find() {
	words := c.words
	for len(words) > 0 && words[0].Known && slices.Contains([]string{"-H", "-L", "-P", "-O1", "-O2", "-O3"}, words[0].Text) {
		words = words[1:]
	}
	n := 0
	for n < len(words) && !words[n].option() && words[n].Text != "(" && words[n].Text != "!" {
		n++
	}
	roots := words[:n]
	if n == 0 {
		roots = []arg{here()}
	}
	c.reads(roots...)
	c.deepen()
	table := strings.Fields(findTests)
	var inner []found
	for list := words[n:]; len(list) > 0; {
		w := list[0]
		kind, ok := kindOf(table, w.Text)
		list = list[1:]
		switch {
		case !w.Known && w.option():
			c.whole("the word " + shown(w.Text) + " may be an action")
		case w.Text == "(" || w.Text == ")" || w.Text == "!" || w.Text == ",":
		case w.Known && ok && kind == alone:
		case w.Known && ok:
			if len(list) > 0 {
				if list[0].many {
					c.whole("the word " + shown(list[0].Text) + " may become several")
				}
				if kind == reads {
					c.reads(list[0])
				}
				list = list[1:]
			}
		default:
			list = c.action(w, list, roots, &inner)
		}
	}
	c.eachFound(inner)
}

// action judges what find does with what it finds.
func (c *call) action(w arg, list, roots []arg, inner *[]found) []arg {
	switch w.Text {
	case "-delete":
		c.part.raise(Dangerous, "it removes what it finds")
		c.part.Spell = All
		for _, p := range c.part.Reads {
			if p.Deep {
				c.part.Writes = append(c.part.Writes, p)
			}
		}
	case "-fprint", "-fprint0", "-fls", "-fprintf":
		c.part.raise(Changes, "it writes what it finds to a file")
		c.part.Spell = All
		if len(list) > 0 {
			c.writes(list[0])
			list = list[1:]
		}
		if w.Text == "-fprintf" && len(list) > 0 {
			list = list[1:]
		}
	case "-exec", "-execdir", "-ok", "-okdir":
		end := 0
		for end < len(list) && !(list[end].Known && list[end].Text == ";") &&
			!(list[end].Known && list[end].Text == "+" && end > 0 && list[end-1].Text == "{}") {
			end++
		}
		words := slices.Clone(list[:end])
		below := arg{below: true}
		if len(roots) == 1 {
			below.path, below.named, below.lead = roots[0].path, roots[0].named, roots[0].lead
		}
		if w.Text == "-execdir" || w.Text == "-okdir" {
			below.lead = "./"
		}
		fill(words, "{}", func(a arg, at int) arg {
			b := below
			b.Word = Word{Text: a.Text}
			if at > 0 || a.Text != "{}" {
				b.lead, b.named = a.lead[:at], false
			}
			return b
		})
		*inner = append(*inner, found{words, w.Text == "-execdir" || w.Text == "-okdir"})
		if end < len(list) {
			end++
		}
		return list[end:]
	default:
		c.whole("the word " + shown(w.Text) + " is not known to be harmless")
	}
	return list
}

// A found is what -exec starts for what was found.
type found struct {
	words []arg
	there bool // in the folder of each, as by -execdir
}

// eachFound starts the programs of -exec.
func (c *call) eachFound(inner []found) {
	if len(inner) == 0 {
		return
	}
	c.part.Wraps = true
	c.inner = func(c *call) flow {
		still := flow{c.sc.dirs, c.sc.dirs}
		for _, f := range inner {
			if len(f.words) == 0 {
				c.unsure("find starts a program that is not known")
				continue
			}
			sc := c.sc
			sc.in = feed{}
			if f.there {
				sc.dirs = []string{""}
			}
			c.start1(f.words, sc, true)
		}
		return still
	}
}
