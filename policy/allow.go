package policy

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/uzda-dev/uzda/policy/command"
)

// What an allow rule for commands must spell.

// systemFolders hold the programs that their names promise; see the package command.
var systemFolders = strings.Fields("/bin /usr/bin /usr/local/bin /sbin /usr/sbin /usr/local/sbin /opt/homebrew/bin")

// spellings are the words of a part as an allow rule may write them. A program that was
// called by a path may be anything, whatever it is called: the rule must spell the path.
// Only in the folders of the system its bare name is enough.
func (p part) spellings() [][]command.Word {
	if p.Program == "" || len(p.Words) == 0 {
		return [][]command.Word{p.Words}
	}
	by := slices.Clone(p.Words)
	by[0] = command.Word{Text: p.Program, Known: by[0].Known}
	if slices.Contains(systemFolders, path.Dir(p.Program)) {
		return [][]command.Word{p.Words, by}
	}
	return [][]command.Word{by}
}

// spelledBy says whether the text of a pattern before its first * holds the words
// that decide what the program does.
func (p part) spelledBy(spec string, words []command.Word) bool {
	if p.Spell == command.All || len(words) == 0 || p.Spell > len(words) {
		return false
	}
	n := max(1, p.Spell)
	if n == 3 && p.script() {
		n = 2
	}
	head := spell(words[:n])
	lit, _, _ := strings.Cut(spaced(spec), "*")
	return lit == head || strings.HasPrefix(lit, head+" ")
}

// script says whether the third word is only which of the project's scripts runs: who
// allows npm run * means any of them. A word that could be a file is none.
func (p part) script() bool {
	if len(p.Words) < 3 || !p.Words[2].Known || strings.ContainsAny(p.Words[2].Text[:min(1, len(p.Words[2].Text))], "-./~") {
		return false
	}
	return slices.Contains([]string{"npm run", "npm run-script", "pnpm run", "yarn run", "deno task"}, spell(p.Words[:2]))
}

// unruled says that no rule allows a part, and of one that seems to why it does not.
func (u *subject) unruled(p part) string {
	words := p.spellings()[0]
	near, _, ok := u.find(func(r Rule) bool {
		return u.forLine(r) && (lineFits(r.Spec, spell(words), false) || lineFits(r.Spec, p.Line, false))
	})
	if !ok {
		return "no rule allows it"
	}
	why := fmt.Sprintf("the rule %s matches, but ", near)
	switch {
	case p.Level == command.Dangerous:
		return why + "only a rule that is this very command allows what is dangerous"
	case !lineFits(near.Spec, spell(words), false):
		return why + "it does not spell the path of the program: write shell(" + show(p.Program) + " *)"
	case !u.placed(p, near.Spec):
		return why + "the file that it names is another one here: it holds in the folder of the session"
	case !p.safeWords():
		return why + "a word that is known only when it runs may be an option"
	case p.Spell == command.All || p.Spell > len(words):
		return why + "every word of it counts: write shell(" + show(spell(words)) + ")"
	}
	head := spell(words[:max(1, p.Spell)])
	return why + "does not spell out what runs: write shell(" + show(head) + ") or shell(" + show(head) + " *)"
}

// weight is how much it weighs that no rule allows a part.
func (p part) weight() int {
	switch p.Level {
	case command.Dangerous:
		return byDanger
	case command.Unknown:
		return byUnknown
	}
	return byChange
}

// placed says whether the files that an allow rule names are those of the session's
// folder: in another one script.py is another script. Words that are no file, such as
// the test of make test, mean the same anywhere.
func (u *subject) placed(p part, spec string) bool {
	lit, _, _ := strings.Cut(spaced(spec), "*")
	named := strings.Fields(lit)
	if len(named) == 0 || !u.moved {
		return true
	}
	if relative(p.Program) && strings.Contains(p.Program, "/") {
		return false
	}
	return !slices.ContainsFunc(p.touches, func(t touch) bool { return slices.Contains(named[1:], t.text) && u.another(t) })
}

// strays is placed for a rule that is the whole line: it holds from where the line
// would begin in the session's folder.
func (u *subject) strays(p part) bool {
	if followed(u.at.cwd) == followed(u.at.dir) || p.Level < command.Unknown {
		return false
	}
	return relative(p.Program) && p.Program != "" || slices.ContainsFunc(p.touches, u.another)
}

// another says whether a relative path names a file here that it does not name in the
// session's folder.
func (u *subject) another(t touch) bool {
	if !relative(t.text) {
		return false
	}
	there := followed(join(u.at.dir, t.text))
	if slices.Contains(t.ends, there) {
		return false
	}
	return isFile(there) || len(t.ends) == 0 || slices.ContainsFunc(t.ends, isFile)
}

func relative(path string) bool {
	return !filepath.IsAbs(path) && !strings.HasPrefix(path, "~")
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// leaves says whether some part of a command may run in another folder than the
// session's.
func (u *subject) leaves(parts []part) bool {
	home := followed(u.at.dir)
	if followed(u.at.cwd) != home {
		return true
	}
	return slices.ContainsFunc(parts, func(p part) bool {
		if len(p.Words) == 0 {
			return false
		}
		switch p.Words[0].Text {
		case "cd", "pushd", "popd":
			return len(p.Words) != 2 || !p.Words[1].Known || followed(join(u.at.cwd, p.Words[1].Text)) != home
		}
		return p.Wraps && slices.ContainsFunc(p.Words[1:], func(w command.Word) bool {
			return strings.HasPrefix(w.Text, "-C") || strings.HasPrefix(w.Text, "-D") || strings.HasPrefix(w.Text, "--ch") || strings.HasPrefix(w.Text, "--cwd") || strings.HasSuffix(w.Text, "dir")
		})
	})
}
