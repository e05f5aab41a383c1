package arch

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

var (
	quoted = regexp.MustCompile("`([^`\n]+)`")
	linked = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	fenced = regexp.MustCompile("(?ms)^ {0,3}```.*?^ {0,3}```[ \t]*$")
	// pathLike is a relative path: at least one slash, or a name with one of the
	// endings of our files.
	pathLike = regexp.MustCompile(`^(?:\./)?[A-Za-z0-9._*-]+(?:/[A-Za-z0-9._*-]+)*/?$`)
	endings  = []string{".go", ".md", ".sh", ".yml", ".yaml", ".json", ".mod", ".sum", ".sql", ".txtar"}
)

// notPaths look like paths and are none: the first part is a provider of models,
// a media type, or a family of names.
var notPaths = []string{
	"anthropic", "openai", "responses", "gemini", "ollama", "llama", "application", "text", "image", "audio",
	"PROVIDER", "NAME", "owner", "provider",
}

// theirs are files of the people who use Uzda; our docs speak of them.
var theirs = []string{
	"uzda.yaml", "uzda.local.yaml", ".mcp.json", "SKILL.md", "CLAUDE.md", "GEMINI.md", ".claude/settings.json", "agents/*.md", "skills/*/SKILL.md",
	"uzda/uzda.yaml", ".config/uzda/uzda.yaml", ".local/share/uzda", "go.sum", "prices.json", "script.json", "script.yaml",
}

// Paths returns the paths that our documents name and that are not there.
func (t *Tree) Paths() []string {
	var faults []string
	for _, doc := range t.Files {
		if !ours(doc) {
			continue
		}
		raw, err := t.read(doc)
		if err != nil {
			return append(faults, err.Error())
		}
		text := blank(string(raw))
		for _, m := range linked.FindAllStringSubmatchIndex(text, -1) {
			target, anchor, _ := strings.Cut(text[m[2]:m[3]], "#")
			if strings.Contains(target, "://") || strings.HasPrefix(target, "mailto:") {
				continue
			}
			full := doc
			if target != "" {
				full = path.Join(path.Dir(doc), target)
			}
			if !t.exists(full) {
				faults = append(faults, fmt.Sprintf("%s:%d: the link leads to %s, which is not there", doc, lineAt(text, m[0]), target))
			} else if anchor != "" && strings.HasSuffix(full, ".md") && !slices.Contains(t.anchors(full), anchor) {
				faults = append(faults, fmt.Sprintf("%s:%d: the link leads to #%s, and %s has no such heading; it has %s", doc, lineAt(text, m[0]), anchor, full, strings.Join(t.anchors(full), ", ")))
			}
		}
		for _, m := range quoted.FindAllStringSubmatchIndex(text, -1) {
			name := text[m[2]:m[3]]
			if isPath(name) && !t.named(doc, name) {
				faults = append(faults, fmt.Sprintf("%s:%d: there is no %s", doc, lineAt(text, m[0]), name))
			}
		}
	}
	return faults
}

var heading = regexp.MustCompile(`(?m)^#{1,6} +(.*?)[ #]*$`)

// anchors are what links can name in a page, as GitHub makes them of its headings.
func (t *Tree) anchors(doc string) (out []string) {
	raw, err := t.read(doc)
	if err != nil {
		return nil
	}
	times := map[string]int{}
	for _, m := range heading.FindAllStringSubmatch(blank(string(raw)), -1) {
		text := linkText.ReplaceAllString(m[1], "$1")
		slug := strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case r == '-', r == '_', unicode.IsLetter(r), unicode.IsDigit(r):
				return unicode.ToLower(r)
			}
			return -1
		}, text)
		n := times[slug]
		if times[slug]++; n > 0 {
			slug = fmt.Sprintf("%s-%d", slug, n)
		}
		out = append(out, slug)
	}
	return out
}

var linkText = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)

// ours are the documents about this repository, not those that are data.
func ours(file string) bool {
	if !strings.HasSuffix(file, ".md") || under(file, "testdata") {
		return false
	}
	return path.Dir(file) == "." || strings.HasPrefix(file, "docs/") || path.Base(file) == "README.md"
}

// blank replaces blocks of code by as many empty lines: they hold commands.
func blank(text string) string {
	return fenced.ReplaceAllStringFunc(text, func(block string) string {
		return strings.Repeat("\n", strings.Count(block, "\n"))
	})
}

func isPath(name string) bool {
	if !pathLike.MatchString(name) || slices.Contains(theirs, name) {
		return false
	}
	first, rest, deep := strings.Cut(strings.TrimPrefix(name, "./"), "/")
	if slices.Contains(notPaths, first) {
		return false
	}
	if deep {
		// a module's path has a host, a fraction has digits only
		return rest == "" || !hostLike(first) && strings.Trim(name, "0123456789/.") != ""
	}
	return slices.Contains(endings, path.Ext(name)) && strings.Trim(name, ".") != strings.TrimPrefix(path.Ext(name), ".")
}

func hostLike(s string) bool {
	return strings.Contains(strings.TrimPrefix(s, "."), ".") && !slices.Contains(endings, path.Ext(s))
}

// named says whether name is there: from the root, from the document, or, for a
// bare file name, anywhere.
func (t *Tree) named(doc, name string) bool {
	for _, base := range []string{".", path.Dir(doc)} {
		full := path.Join(base, name)
		if t.exists(full) {
			return true
		}
		if found, _ := filepath.Glob(filepath.Join(t.Root, filepath.FromSlash(full))); len(found) > 0 {
			return true
		}
	}
	if strings.Contains(name, "/") {
		return false
	}
	return slices.ContainsFunc(t.Files, func(f string) bool { return path.Base(f) == name })
}

// SpecFile lists the requirements with their state.
const SpecFile = "docs/spec.md"

var (
	specRow = regexp.MustCompile(`^\|\s*((?:case:|peer:)?[A-Z]*[0-9]+[a-z]?)\s*\|`)
	idWord  = regexp.MustCompile(`(?:case:|peer:)?\b[A-Z]*[0-9]+[a-z]?\b`)
)

// Spec returns the requirements that docs/spec.md calls done and that no test
// names in a comment.
func (t *Tree) Spec() []string {
	raw, err := t.read(SpecFile)
	if err != nil {
		return []string{err.Error()}
	}
	proven := t.proven()
	var faults []string
	for i, row := range strings.Split(string(raw), "\n") {
		m := specRow.FindStringSubmatch(row)
		if m == nil {
			continue
		}
		cells := strings.Split(strings.Trim(strings.TrimSpace(row), "|"), "|")
		state := strings.ToLower(strings.TrimSpace(cells[len(cells)-1]))
		if strings.HasPrefix(state, "open") || strings.HasPrefix(state, "later") {
			continue
		}
		if !proven[m[1]] {
			faults = append(faults, fmt.Sprintf("%s:%d: %s is %q, but no test names it in a comment (// %s)", SpecFile, i+1, m[1], state, m[1]))
		}
	}
	return faults
}

// proven are the ids in comments of tests: in Go, and in the prose on top of txtar files.
func (t *Tree) proven() map[string]bool {
	ids := map[string]bool{}
	add := func(comment string) {
		for _, id := range idWord.FindAllString(comment, -1) {
			ids[id] = true
		}
	}
	for _, s := range t.Code {
		// The conformance packages are tests, too.
		if s.Test || slices.Contains(Conformance, s.Dir) {
			for _, g := range s.AST.Comments {
				add(g.Text())
			}
		}
	}
	for _, f := range t.Files {
		if !strings.HasSuffix(f, ".txtar") {
			continue
		}
		raw, err := t.read(f)
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(raw)) {
			if strings.HasPrefix(line, "#") {
				add(line)
			}
		}
	}
	return ids
}

// Machine returns the files that name a path of the machine on which they were
// written: the checkout itself, or a home of somebody.
func (t *Tree) Machine() []string {
	// The slashes stand apart, so that this file does not find itself.
	bad := []string{"/" + "work/", "/" + "root/.", "/" + "root/go", "/" + "tmp/gcl", "." + "library/"}
	if root, err := filepath.Abs(t.Root); err == nil && strings.Count(filepath.ToSlash(root), "/") > 1 {
		bad = append(bad, filepath.ToSlash(root)+"/")
	}
	if home, err := os.UserHomeDir(); err == nil && strings.Count(filepath.ToSlash(home), "/") > 1 {
		bad = append(bad, filepath.ToSlash(home)+"/")
	}
	var faults []string
	for _, f := range t.Files {
		raw, err := t.read(f)
		if err != nil {
			faults = append(faults, err.Error())
			continue
		}
		for i, line := range strings.Split(string(raw), "\n") {
			for _, b := range bad {
				if at := strings.Index(line, b); at >= 0 && (at == 0 || !wordByte(line[at-1])) {
					faults = append(faults, fmt.Sprintf("%s:%d: %s is a path of one machine", f, i+1, b))
				}
			}
		}
	}
	return faults
}

// wordByte says that a path goes on to the left, so that ours is only its end.
func wordByte(b byte) bool {
	return b == '_' || b == '.' || b == '-' || b >= '0' && b <= '9' || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z'
}

func lineAt(text string, at int) int { return strings.Count(text[:at], "\n") + 1 }
