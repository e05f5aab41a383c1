package file

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"regexp"
	"regexp/syntax"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"unicode/utf8"

	"github.com/bmatcuk/doublestar/v4"
	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/internal/charset"
)

//go:embed grep.md
var grepText string

var grepInput = lazily(`{"type":"object","properties":{` +
	`"pattern":{"type":"string","minLength":1,"description":"regular expression in Go's syntax (RE2)"},` +
	`"path":{"type":"string","minLength":1,"description":"folder or file; default: the working directory"},` +
	`"glob":{"type":"string","minLength":1,"description":"only files that match, for example *.go or src/**"},` +
	`"ignore_case":{"type":"boolean"},` +
	`"context":{"type":"integer","minimum":0,"maximum":20,"description":"lines to show before and after each match"},` +
	`"files_only":{"type":"boolean","description":"only names, with the number of matching lines"},` +
	`"limit":{"type":"integer","minimum":1,"maximum":1000,"description":"matching lines to return (files with files_only); default 100"},` +
	`"all":{"type":"boolean","description":"also what .gitignore leaves out"}},` +
	`"required":["pattern"],"additionalProperties":false}`)

// Limits of a search.
const (
	grepLimit   = 100
	grepPerFile = 20
	grepLine    = 300 // bytes of a line, around the match
	grepLargest = int64(32 << 20)
	grepBatch   = 256 // files between two looks at the limit
)

type grepQuery struct {
	Pattern, Path, Glob string
	IgnoreCase          bool `json:"ignore_case"`
	Context             int
	FilesOnly           bool `json:"files_only"`
	Limit               int
	All                 bool
	perFile             int
}

func (f *Files) grepTool() uzda.Tool {
	return &looker{in: grepInput, call: f.grep, spec: func() uzda.ToolSpec {
		return uzda.ToolSpec{Name: "grep", Description: strings.TrimSpace(grepText), Input: grepInput().JSON(), Source: "built-in",
			Effects: uzda.Effects{ReadOnly: true, Idempotent: true}}
	}}
}

func (f *Files) grep(ctx context.Context, use uzda.Use) (uzda.Result, error) {
	q := grepQuery{perFile: grepPerFile}
	if err := decode(use, &q); err != nil {
		return uzda.Result{}, err
	}
	re, err := compileSearch(q)
	if err != nil {
		return uzda.Result{}, err
	}
	if q.Glob != "" && !doublestar.ValidatePattern(q.Glob) {
		return uzda.Result{}, refuse("/glob %q cannot be read: a [ or { is not closed", q.Glob)
	}
	if q.Limit == 0 {
		q.Limit = grepLimit
	}
	if q.Path == "" {
		q.Path = "."
	}
	p, err := f.locate(use, q.Path)
	if err != nil {
		return uzda.Result{}, err
	}
	defer p.close()
	s := &search{files: f, q: q, re: re, lineByLine: anchors("(?m)" + q.Pattern), tree: &tree{files: f, at: p, all: q.All}}
	switch {
	case p.info == nil:
		return uzda.Result{}, p.missing()
	case p.info.IsDir():
		if err := s.tree.walk(ctx); err != nil {
			return uzda.Result{}, err
		}
	default:
		if err := p.regular(); err != nil {
			return uzda.Result{}, err
		}
		if err := p.hasText(ctx); err != nil {
			return uzda.Result{}, err
		}
		s.q.perFile = q.Limit
		s.tree.found = []found{{rel: p.rel}}
	}
	if err := s.run(ctx); err != nil {
		return uzda.Result{}, err
	}
	return say(s.text()), nil
}

// compileSearch compiles a pattern, and says how to mend a bad one.
func compileSearch(q grepQuery) (*regexp.Regexp, error) {
	flags := "(?m)"
	if q.IgnoreCase {
		flags = "(?mi)"
	}
	re, err := regexp.Compile(flags + q.Pattern)
	if err == nil {
		return re, nil
	}
	how := "to search for this very text send " + fmt.Sprintf("%q", regexp.QuoteMeta(q.Pattern))
	if se, ok := errors.AsType[*syntax.Error](err); ok {
		switch {
		case strings.Contains(q.Pattern, "(?=") || strings.Contains(q.Pattern, "(?!") || strings.Contains(q.Pattern, "(?<"):
			how = "there is no look-around: search for the wider pattern and pick from the result"
		case se.Code == syntax.ErrInvalidEscape && len(se.Expr) == 2 && se.Expr[1] >= '1' && se.Expr[1] <= '9':
			how = "there are no back-references: search for the wider pattern and pick from the result"
		case se.Code == syntax.ErrInvalidRepeatSize:
			how = "a repetition may be at most 1000"
		}
		return nil, refuse("/pattern is no regular expression that can be searched for: %s (%s); %s", se.Code, se.Expr, how)
	}
	return nil, refuse("/pattern: %v; %s", err, how)
}

// A search looks through files side by side and keeps their order.
type search struct {
	files *Files
	q     grepQuery
	re    *regexp.Regexp
	tree  *tree
	// lineByLine: a look at all of a file cannot rule it out.
	lineByLine bool
	hits       []hits
	lines      int // of all hits
	left       int // files that were not looked at, since the limit was reached
	large      []string
}

// hits are those of one file.
type hits struct {
	name  string
	lines []string // as the model sees them
	shown int      // matching lines among them
	count int      // all matching lines
	large bool
}

func (s *search) run(ctx context.Context) error {
	var todo []found
	for _, one := range s.tree.found {
		if (one.entry == nil || one.entry.Type().IsRegular()) && (one.under == "" || named(s.q.Glob, one.under)) {
			todo = append(todo, one)
		}
	}
	for len(todo) > 0 {
		batch := todo[:min(len(todo), grepBatch)]
		todo = todo[len(batch):]
		for _, h := range s.batch(ctx, batch) {
			if h.large {
				s.large = append(s.large, h.name)
			}
			if h.count > 0 {
				s.hits = append(s.hits, h)
				s.lines += h.shown
			}
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if s.q.FilesOnly && len(s.hits) >= s.q.Limit || !s.q.FilesOnly && s.lines >= s.q.Limit {
			s.left = len(todo)
			return nil
		}
	}
	return nil
}

// batch searches some files, a few side by side.
func (s *search) batch(ctx context.Context, files []found) []hits {
	out := make([]hits, len(files))
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(files)) {
		wg.Go(func() {
			in := &inner{top: s.tree.at.root}
			defer in.close()
			const some = 8 // neighbours lie in the same folder
			for from := int(next.Add(some)) - some; from < len(files) && ctx.Err() == nil; from = int(next.Add(some)) - some {
				for i := from; i < min(from+some, len(files)); i++ {
					out[i] = s.file(ctx, in, files[i])
				}
			}
		})
	}
	wg.Wait()
	return out
}

// An inner keeps the folder of the last file open, as its neighbours follow.
type inner struct {
	top  *os.Root
	dir  string
	root *os.Root // nil: none
}

func (in *inner) close() {
	if in.root != nil {
		_ = in.root.Close()
	}
	in.root = nil
}

// folder opens the folder of a path, if it is none that a link leads to.
func (in *inner) folder(rel string) *os.Root {
	dir := path.Dir(rel)
	if in.root != nil && in.dir == dir {
		return in.root
	}
	in.close()
	info, err := in.top.Lstat(dir)
	if err != nil || !info.IsDir() {
		return nil
	}
	root, err := in.top.OpenRoot(dir)
	if err != nil {
		return nil
	}
	in.root, in.dir = root, dir
	if now, err := root.Stat("."); err != nil || !os.SameFile(now, info) {
		in.close()
	}
	return in.root
}

// file searches one file; what cannot be read has no hits.
func (s *search) file(ctx context.Context, in *inner, one found) hits {
	h := hits{name: s.tree.name(one.under)}
	root := in.folder(one.rel)
	if root == nil {
		return h
	}
	p := &place{root: root, rel: path.Base(one.rel), shown: label(h.name)}
	var err error
	if p.info, err = root.Lstat(p.rel); err != nil || !p.info.Mode().IsRegular() {
		return h
	}
	if p.info.Size() > min(grepLargest, s.files.cfg.MaxEdit) {
		h.large = true
		return h
	}
	data, ok := p.searchable()
	if ok && (s.lineByLine || s.re.Match(data)) {
		s.collect(ctx, data, &h)
	}
	return h
}

// searchable returns the text of a file with \n as line ends; ok is false where it
// is none.
func (p *place) searchable() (data []byte, ok bool) {
	f, info, err := p.open()
	if err != nil {
		return nil, false
	}
	defer f.Close()
	data = make([]byte, info.Size())
	n, err := io.ReadFull(f, data)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, false
	}
	data = data[:n]
	const head = 8 << 10
	if part := data[:min(n, head)]; bytes.IndexByte(part, 0) >= 0 || !utf8.Valid(data) {
		if _, ok := charset.DetectStart(part, ""); !ok {
			return nil, false
		}
		enc, ok := charset.Detect(data, "")
		if !ok {
			return nil, false
		}
		text, err := enc.Decode(data)
		if err != nil {
			return nil, false
		}
		data = []byte(text)
	}
	data = bytes.TrimPrefix(data, []byte("\uFEFF"))
	if bytes.IndexByte(data, '\r') >= 0 {
		data = bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n"))
	}
	return data, true
}

// hasText refuses a single file that is no text, so that nobody takes it for searched.
func (p *place) hasText(ctx context.Context) error {
	if p.info.Size() > grepLargest {
		return nil // it is said so
	}
	if _, ok := p.searchable(); ok {
		return nil
	}
	c, err := p.load(ctx, grepLargest)
	if err != nil {
		return err
	}
	return refuse("%q is no text (%s) and was not searched: use a program for it", p.shown, describe(c))
}

// collect finds the lines of a file that match, with those around them.
func (s *search) collect(ctx context.Context, data []byte, h *hits) {
	var before [][]byte // lines that may be context of the next match
	number, after, last := 0, 0, 0
	for line := range bytes.SplitSeq(bytes.TrimSuffix(data, []byte("\n")), []byte("\n")) {
		if number++; number%4096 == 0 && ctx.Err() != nil {
			return
		}
		at := s.re.FindIndex(line)
		if at == nil || s.q.FilesOnly || h.shown == s.q.perFile {
			if at != nil {
				h.count++
			}
			if after > 0 {
				after--
				h.lines = append(h.lines, around(h.name, '-', number, line, 0))
				last = number
			} else if s.q.Context > 0 {
				if before = append(before, line); len(before) > s.q.Context {
					before = before[1:]
				}
			}
			continue
		}
		if s.q.Context > 0 && last > 0 && number-len(before) > last+1 {
			h.lines = append(h.lines, "--")
		}
		for i, b := range before {
			h.lines = append(h.lines, around(h.name, '-', number-len(before)+i, b, 0))
		}
		before = before[:0]
		h.lines = append(h.lines, around(h.name, ':', number, line, at[0]))
		h.count, h.shown, after, last = h.count+1, h.shown+1, s.q.Context, number
	}
}

// around is a line of the result; a long one is cut around the match.
func around(name string, mark byte, number int, line []byte, at int) string {
	text := clean(string(line))
	if len(text) > grepLine {
		cut := ""
		if at = min(at, len(text)); at > grepLine/3 {
			text, cut = uzda.After(text, len(text)-at+grepLine/3), "…"
		}
		if len(text) > grepLine {
			text = uzda.Before(text, grepLine) + "…"
		}
		text = cut + text
	}
	return fmt.Sprintf("%s%c%d%c%s", name, mark, number, mark, text)
}

// text is the result for the model.
func (s *search) text() string {
	var b strings.Builder
	left := s.q.Limit
	rest := s.left
	for i, h := range s.hits {
		if left <= 0 {
			rest += len(s.hits) - i
			break
		}
		if s.q.FilesOnly {
			fmt.Fprintf(&b, "%s: %d\n", h.name, h.count)
			left--
			continue
		}
		if i > 0 && s.q.Context > 0 {
			_, _ = b.WriteString("--\n")
		}
		shown := 0
		for _, l := range h.lines {
			if strings.HasPrefix(l, h.name+":") {
				if left == 0 {
					break
				}
				left--
				shown++
			}
			fmt.Fprintln(&b, l)
		}
		if h.count > shown {
			fmt.Fprintf(&b, "[%d more matching lines in %s: search in it with path]\n", h.count-shown, h.name)
		}
	}
	if b.Len() == 0 {
		fmt.Fprintf(&b, "No line matches %q in %s.", s.q.Pattern, s.tree.at.shown)
		if strings.Contains(s.q.Pattern, "\\n") {
			_, _ = b.WriteString(" A match never goes over a line end.")
		}
		if !s.tree.all {
			_, _ = b.WriteString(" What .gitignore leaves out was not searched; all: true does.")
		}
		_, _ = b.WriteString("\n")
	}
	if rest > 0 {
		fmt.Fprintf(&b, "[the limit of %d is reached; %d files more may match: narrow the pattern, the path or glob]\n", s.q.Limit, rest)
	}
	if n := len(s.large); n > 0 {
		fmt.Fprintf(&b, "[not searched, larger than %s bytes: %s]\n", charset.Commas(min(grepLargest, s.files.cfg.MaxEdit)), strings.Join(s.large[:min(n, 5)], ", "))
	}
	return b.String() + s.tree.notes()
}

// anchors says whether a pattern asks for the beginning or the end of all text, so
// that it must be tried on each line alone.
func anchors(pattern string) bool {
	re, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return true
	}
	var has func(*syntax.Regexp) bool
	has = func(re *syntax.Regexp) bool {
		return re.Op == syntax.OpBeginText || re.Op == syntax.OpEndText || slices.ContainsFunc(re.Sub, has)
	}
	return has(re)
}
