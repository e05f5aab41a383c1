// Package guide reads the instructions that people keep beside their work for
// agents: AGENTS.md and the like.
package guide

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/internal/charset"
)

// Names are the files that are looked for in a folder; the first that is there
// counts, so that the same text in a second form is not read twice.
func Names() []string { return []string{"AGENTS.md", "CLAUDE.md", "GEMINI.md"} }

// Most is how many bytes of instructions a model gets, unless a Tree says so.
const Most = 32 << 10

// A Tree is where instructions are looked for.
type Tree struct {
	Top string // the root of the repository; Dir where that is not in it
	Dir string // that the session works in
	Own string // a file of the user's own, for all work; "": none
	// Trusts says whether what stands in a folder may tell an agent what to do; nil:
	// no folder. Own needs no trust.
	Trusts func(folder string) bool
	Max    int // bytes in all; default Most
}

// A Guide is what was found in a tree.
type Guide struct {
	Text     string   // for a system prompt; the same bytes for the same files
	Read     []string // the files that Text holds, the weakest first
	Left     []string // that were found and not read, since nobody trusts their folder
	Warnings []string // for people
}

// A page is one file of instructions.
type page struct {
	path  string // absolute
	shown string // as the model and people see it
	text  string
	size  int // bytes of the whole
}

// Read reads the user's own file and those from the top of the tree down to the
// directory. What is nearer stands later and is stronger; where all together are
// too long, what is farther away is cut.
func (t Tree) Read() Guide {
	t = t.settled()
	var g Guide
	var pages []page
	if t.Own != "" {
		own := followed(t.Own) // people link their own files as they like
		if root, err := os.OpenRoot(filepath.Dir(own)); err == nil {
			p, warning := open(root, filepath.Base(own))
			closed(root)
			g.warn(warning)
			if p != nil {
				p.path, p.shown = t.Own, filepath.Base(t.Own)+" of the user, for all work"
				pages = append(pages, *p)
			}
		}
	}
	root, err := os.OpenRoot(t.Top)
	if err == nil {
		defer closed(root)
		for _, folder := range chain(t.Top, t.Dir) {
			p, warning := t.in(root, folder)
			if p == nil {
				g.warn(warning)
				continue
			}
			if !t.trusts(folder) {
				g.Left = append(g.Left, p.path)
				continue
			}
			g.warn(warning)
			pages = append(pages, *p)
		}
	}
	g.write(pages, t.most())
	return g
}

// closed ends the reading of a tree: that has no error that anybody could act on.
func closed(root *os.Root) { _ = root.Close() }

func (g *Guide) warn(text string) {
	if text != "" {
		g.Warnings = append(g.Warnings, text)
	}
}

const preface = `# Instructions of the people whose work this is

Follow them as far as they concern your task. Where two differ, the later one counts, since it is nearer to your work; what the user says in the conversation counts more than any.
`

// write puts pages together, the nearest last; the farthest are cut first.
func (g *Guide) write(pages []page, left int) {
	parts := make([]string, len(pages))
	for i, p := range slices.Backward(pages) {
		text := cut(p, left)
		left -= min(len(p.text), left)
		if text == "" { // an empty file says nothing
			continue
		}
		parts[i] = fmt.Sprintf("\n<instructions file=%q>\n%s\n</instructions>\n", p.shown, text)
	}
	for i, p := range pages {
		if parts[i] != "" {
			g.Text += parts[i]
			g.Read = append(g.Read, p.path)
		}
	}
	if g.Text != "" {
		g.Text = preface + g.Text
	}
}

// cut shortens a page to a number of bytes and says so.
func cut(p page, most int) string {
	if len(p.text) <= most && p.size <= maxRead {
		return p.text
	}
	kept := uzda.Before(p.text, most)
	return strings.TrimSpace(fmt.Sprintf("%s\n[%d of the %d bytes of %s are left out here: the instructions are longer than the limit. read_file shows all of them.]",
		kept, max(0, p.size-len(kept)), p.size, p.shown))
}

func (t Tree) most() int {
	if t.Max > 0 {
		return t.Max
	}
	return Most
}

func (t Tree) trusts(folder string) bool { return t.Trusts != nil && t.Trusts(folder) }

// settled follows the links of the tree's folders. A directory outside of the top
// is a tree of its own.
func (t Tree) settled() Tree {
	t.Dir, t.Top = followed(t.Dir), followed(t.Top)
	if !within(t.Top, t.Dir) {
		t.Top = t.Dir
	}
	return t
}

// in finds the instructions of one folder of the tree.
func (t Tree) in(root *os.Root, folder string) (*page, string) {
	for _, name := range Names() {
		path := filepath.Join(folder, name)
		rel, err := filepath.Rel(t.Top, path)
		if err != nil {
			return nil, ""
		}
		p, warning := open(root, rel)
		if p == nil && warning == "" {
			continue
		}
		if p != nil {
			p.path, p.shown = path, t.shown(path)
		}
		return p, warning
	}
	return nil, ""
}

// shown is a path as the tools of a session take it.
func (t Tree) shown(path string) string {
	rel, err := filepath.Rel(t.Dir, path)
	if err != nil {
		return filepath.Base(path)
	}
	return filepath.ToSlash(rel)
}

// maxRead is the most of a file that is looked at, in bytes.
const maxRead = 1 << 20

// open reads a file of instructions; nil if there is none. What is there and can't
// be read is a warning.
func open(root *os.Root, rel string) (*page, string) {
	refuse := func(format string, args ...any) (*page, string) {
		return nil, fmt.Sprintf("%s is not read: ", filepath.ToSlash(filepath.Join(root.Name(), rel))) + fmt.Sprintf(format, args...)
	}
	info, err := root.Stat(rel)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ""
	}
	if err != nil {
		if link, linkErr := root.Lstat(rel); linkErr == nil && link.Mode()&fs.ModeSymlink != 0 {
			return refuse("it is a link that leads out of its tree")
		}
		return refuse("%v", err)
	}
	if !info.Mode().IsRegular() { // a pipe would never end
		return refuse("it is no file")
	}
	f, err := root.Open(rel)
	if err != nil {
		return refuse("%v", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxRead))
	if err != nil {
		return refuse("%v", err)
	}
	text, ok := plain(data)
	if !ok {
		return refuse("it is no text")
	}
	size := max(len(text), int(info.Size()))
	if info.Size() <= maxRead {
		size = len(text)
	}
	return &page{text: text, size: size}, ""
}

// plain makes text of bytes in any encoding: UTF-8, lines that end alike, nothing
// that a terminal would obey.
func plain(data []byte) (string, bool) {
	if charset.Binary(data) {
		return "", false
	}
	text := string(data)
	if e, ok := charset.DetectStart(data, ""); ok {
		if decoded, err := e.Decode(data); err == nil {
			text = decoded
		}
	}
	text = strings.TrimPrefix(strings.ToValidUTF8(text, "\uFFFD"), "\ufeff")
	text = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text)
	text = strings.Map(func(r rune) rune {
		if r < ' ' && r != '\n' && r != '\t' || r == 0x7f {
			return -1
		}
		return r
	}, text)
	return strings.TrimSpace(text), true
}

// chain lists the folders from one down to another that lies in it.
func chain(top, dir string) []string {
	out := []string{dir}
	for dir != top && filepath.Dir(dir) != dir {
		dir = filepath.Dir(dir)
		out = append(out, dir)
	}
	slices.Reverse(out)
	return out
}

func within(folder, path string) bool {
	rel, err := filepath.Rel(folder, path)
	return err == nil && filepath.IsLocal(rel)
}

// followed is a path without links, as far as it exists.
func followed(path string) string {
	if p, err := filepath.EvalSymlinks(path); err == nil {
		return p
	}
	if up := filepath.Dir(path); up != path {
		return filepath.Join(followed(up), filepath.Base(path))
	}
	return path
}

// Top is the root of the repository that a folder is in, or the folder itself. It
// looks no further than the home folder.
func Top(dir, home string) string {
	for at := followed(dir); ; {
		if _, err := os.Lstat(filepath.Join(at, ".git")); err == nil {
			return at
		}
		up := filepath.Dir(at)
		if up == at || at == home {
			return followed(dir)
		}
		at = up
	}
}
