package file

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/internal/charset"
)

//go:embed read_file.md
var readText string

var readInput = lazily(`{"type":"object","properties":{` +
	`"path":{"type":"string","minLength":1,"description":"the file or folder, relative to the working directory or absolute"},` +
	`"offset":{"type":"integer","description":"first line, from 1; negative: so many lines from the end"},` +
	`"limit":{"type":"integer","minimum":1,"description":"how many lines, at most 2000"}},` +
	`"required":["path"],"additionalProperties":false}`)

func (f *Files) readTool() uzda.Tool {
	return &looker{in: readInput, call: f.read, spec: func() uzda.ToolSpec {
		return uzda.ToolSpec{Name: "read_file", Description: strings.TrimSpace(readText), Input: readInput().JSON(), Source: "built-in",
			Effects: uzda.Effects{ReadOnly: true, Idempotent: true}}
	}}
}

func (f *Files) read(ctx context.Context, use uzda.Use) (uzda.Result, error) {
	var in struct {
		Path          string
		Offset, Limit int
	}
	if err := decode(use, &in); err != nil {
		return uzda.Result{}, err
	}
	p, err := f.locate(use, in.Path)
	if err != nil {
		return uzda.Result{}, err
	}
	defer p.close()
	if p.info != nil && p.info.IsDir() {
		return f.list(p)
	}
	if p.info == nil { // that is worth knowing too: see fresh
		return uzda.Result{}, errors.Join(p.missing(), f.saw(ctx, use.Session, p.abs, absent))
	}
	r, info, err := p.open()
	if err != nil {
		return uzda.Result{}, err
	}
	defer r.Close()
	res, seen, err := f.page(ctx, p, r, info, in.Offset, in.Limit)
	if err != nil {
		return uzda.Result{}, err
	}
	if seen != "" {
		if err := f.saw(ctx, use.Session, p.abs, seen); err != nil {
			return uzda.Result{}, err
		}
	}
	res.Effect = uzda.EffectNone
	return res, nil
}

// saw remembers the version that was read.
func (f *Files) saw(ctx context.Context, id uzda.SessionID, path, version string) error {
	unlock, err := f.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	m, err := f.memory(id)
	if err != nil {
		return err
	}
	if _, known := m.seen[path]; version == absent && !known {
		return nil
	}
	if err := m.see(path, version); err != nil {
		return refuse("the file can be read, but not that it was: %v. A full disk must be emptied first", plainError(err))
	}
	return nil
}

// list shows what is in a folder.
func (f *Files) list(p *place) (uzda.Result, error) {
	all, err := readDir(p.root, p.rel, p.info)
	if err != nil {
		return uzda.Result{}, refuse("cannot list %q: %v", p.shown, err)
	}
	all = slices.DeleteFunc(all, func(e fs.DirEntry) bool { return f.hidden(p.abs + string(os.PathSeparator) + e.Name()) })
	if len(all) == 0 {
		res := say(fmt.Sprintf("%s is an empty folder.", p.shown))
		return res, nil
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s is a folder with %d entries:\n", p.shown, len(all))
	for i, e := range all {
		if i == maxEntries {
			fmt.Fprintf(&b, "… and %d more: narrow it with glob\n", len(all)-i)
			break
		}
		switch {
		case e.IsDir():
			fmt.Fprintf(&b, "%s/\n", display(e.Name()))
		case e.Type()&fs.ModeSymlink != 0:
			to, _ := p.root.Readlink(p.rel + "/" + e.Name())
			fmt.Fprintf(&b, "%s -> %s\n", display(e.Name()), display(to))
		default:
			size := ""
			if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
				size = "\t" + charset.Commas(info.Size()) + " bytes"
			}
			fmt.Fprintf(&b, "%s%s\n", display(e.Name()), size)
		}
	}
	return say(b.String()), nil
}

func sortEntries(list []fs.DirEntry) {
	slices.SortFunc(list, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
}

// page reads a part of a file and the version of all of it.
func (f *Files) page(ctx context.Context, p *place, r *os.File, info fs.FileInfo, offset, limit int) (uzda.Result, string, error) {
	const start = 64 << 10
	head := make([]byte, start)
	n, err := io.ReadFull(r, head)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return uzda.Result{}, "", p.trouble("read", err)
	}
	head = head[:n]
	h := sha256.New()
	body := io.TeeReader(&patient{ctx, io.MultiReader(bytes.NewReader(head), r)}, h)
	finish := func() (string, error) {
		if _, err := io.Copy(io.Discard, body); err != nil {
			return "", p.trouble("read", err)
		}
		return hex.EncodeToString(h.Sum(nil)), nil
	}
	if n == 0 {
		v, err := finish()
		return say(fmt.Sprintf("%s is empty.", p.shown)), v, err
	}
	enc, ok := charset.DetectStart(head, "")
	if n < start {
		enc, ok = charset.Detect(head, "")
	}
	if !ok {
		return f.picture(p, head, info, body, finish)
	}
	lines := &pager{from: offset, most: maxLines, lazy: offset >= 0 && info.Size() > f.cfg.MaxEdit}
	if limit > 0 {
		lines.most = min(limit, maxLines)
	}
	ask := *lines
	strays := &strayed{}
	text := body
	if enc.Plain() {
		enc.Odd = true
		text = io.TeeReader(body, strays)
	}
	if err := lines.read(bufio.NewReaderSize(enc.Reader(text), start)); err != nil {
		return uzda.Result{}, "", p.trouble("read", err)
	}
	if text != body {
		enc.Odd = strays.any()
	}
	v := "" // of what is read in part: it cannot be edited anyway
	if !lines.past || !lines.lazy {
		if v, err = finish(); err != nil {
			return uzda.Result{}, "", err
		}
	}
	if strays.any() && info.Size() <= f.cfg.MaxEdit { // only all of it tells how it is encoded
		whole, err := p.load(ctx, f.cfg.MaxEdit)
		if err != nil {
			return uzda.Result{}, "", err
		}
		if whole.text && whole.enc != enc && whole.version == v {
			enc, lines = whole.enc, &ask
			if err := lines.read(bufio.NewReaderSize(enc.Reader(bytes.NewReader(whole.data)), start)); err != nil {
				return uzda.Result{}, "", p.trouble("read", err)
			}
		}
	}
	page, err := lines.text(p.shown, enc)
	if err != nil {
		return uzda.Result{}, "", err
	}
	return say(page), v, nil
}

// strayed notices bytes that are no UTF-8.
type strayed struct {
	rest []byte // the beginning of a character
	bad  bool
}

func (s *strayed) Write(p []byte) (int, error) {
	n := len(p)
	if s.bad {
		return n, nil
	}
	p = append(s.rest, p...)
	cut := len(p)
	for i := 1; i <= min(utf8.UTFMax-1, len(p)); i++ {
		if utf8.RuneStart(p[len(p)-i]) {
			if !utf8.FullRune(p[len(p)-i:]) {
				cut -= i
			}
			break
		}
	}
	s.bad = !utf8.Valid(p[:cut])
	s.rest = bytes.Clone(p[cut:])
	return n, nil
}

// any says whether there were some, at the end of all.
func (s *strayed) any() bool { return s.bad || len(s.rest) > 0 }

// picture shows a small picture and describes everything else that is no text.
func (f *Files) picture(p *place, head []byte, info fs.FileInfo, body io.Reader, finish func() (string, error)) (uzda.Result, string, error) {
	what := fmt.Sprintf("%s is %s.", p.shown, charset.DescribeStart(head, info.Size()))
	kind := charset.Media(head)
	if kind == "" || info.Size() > f.cfg.MaxMedia {
		v, err := finish()
		if kind != "" {
			what += fmt.Sprintf(" It is too large to be shown: at most %s bytes are.", charset.Commas(f.cfg.MaxMedia))
		} else {
			what += " It is not shown, since it is no text."
		}
		return say(what), v, err
	}
	data, err := io.ReadAll(io.LimitReader(body, f.cfg.MaxMedia))
	if err != nil {
		return uzda.Result{}, "", p.trouble("read", err)
	}
	v, err := finish()
	res := say(what)
	res.Blocks = append(res.Blocks, uzda.Media{Type: kind, Name: string(p.shown), Data: data})
	return res, v, err
}

// A pager takes some lines out of many, holding no more than it shows.
type pager struct {
	from, most int
	lines      []string // the taken ones, cut
	first      int      // number of the first of them
	total      int
	bytes      int
	full       bool // maxBytes were reached
	lazy       bool // do not count what comes after the page
	past       bool // there is a line after the page
	open       bool // the last line has no line end
	crlf, lf   int
}

func (g *pager) read(r *bufio.Reader) error {
	for {
		line, long, err := g.line(r)
		end := errors.Is(err, io.EOF)
		if err != nil && !end {
			return err
		}
		if end && line == "" && long == 0 {
			return nil
		}
		g.total++
		g.open = end
		if g.take(line, long); end || g.lazy && g.past {
			return nil
		}
	}
}

// line reads one line; of a long one only the beginning, and how many bytes more.
func (g *pager) line(r *bufio.Reader) (line string, more int, err error) {
	var b strings.Builder
	for {
		part, err := r.ReadSlice('\n')
		if room := 2*maxLine - b.Len(); len(part) > room {
			more += len(part) - room
			_, _ = b.Write(part[:room])
		} else {
			_, _ = b.Write(part)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		line = b.String()
		if more == 0 && strings.HasSuffix(line, "\n") {
			line = line[:len(line)-1]
			if cut, ok := strings.CutSuffix(line, "\r"); ok {
				g.crlf++
				line = cut
			} else {
				g.lf++
			}
		} else if err == nil {
			more-- // the line end
		}
		if whole := strings.ToValidUTF8(line, ""); more > 0 { // it was cut within a character
			more, line = more+len(line)-len(whole), whole
		}
		return strings.ToValidUTF8(line, "\uFFFD"), more, err
	}
}

func (g *pager) take(line string, more int) {
	if len(line) > maxLine || more > 0 {
		kept := uzda.Before(line, maxLine)
		line = fmt.Sprintf("%s… [%s bytes more on this line]", kept, charset.Commas(int64(len(line)-len(kept)+more)))
	}
	if g.from < 0 { // a window that moves with the end
		want := min(-g.from, maxLines)
		if g.lines = append(g.lines, line); len(g.lines) >= 2*want {
			g.lines = append(g.lines[:0], g.lines[len(g.lines)-want:]...)
		}
		return
	}
	if g.total < g.from {
		return
	}
	if len(g.lines) >= g.most || g.full {
		g.past = true
		return
	}
	if g.bytes += len(line) + 8; g.bytes > maxBytes && len(g.lines) > 0 {
		g.full, g.past = true, true
		return
	}
	if len(g.lines) == 0 {
		g.first = g.total
	}
	g.lines = append(g.lines, line)
}

// text is the page with a last line that says what is not there.
func (g *pager) text(name label, enc charset.Encoding) (string, error) {
	g.fit()
	if len(g.lines) == 0 {
		return "", refuse("%q has %s lines, so there is none from line %d on", name, charset.Commas(int64(g.total)), g.from)
	}
	var b strings.Builder
	for i, l := range g.lines {
		fmt.Fprintf(&b, "%4d\t%s\n", g.first+i, l)
	}
	var notes []string
	last := g.first + len(g.lines) - 1
	if g.first > 1 || last < g.total {
		of := charset.Commas(int64(g.total))
		if g.lazy && g.past {
			of = "many more, not counted in so large a file"
		}
		note := fmt.Sprintf("lines %d-%d of %s", g.first, last, of)
		if last < g.total {
			note += fmt.Sprintf("; go on with offset %d", last+1)
		}
		notes = append(notes, note)
	}
	if !enc.Plain() {
		notes = append(notes, "the file is in "+enc.String())
	}
	switch {
	case g.crlf > 0 && g.lf > 0:
		notes = append(notes, "its line ends are mixed, CR LF and LF")
	case g.crlf > 0:
		notes = append(notes, "its line ends are CR LF")
	}
	if g.open && last == g.total {
		notes = append(notes, "the last line has no line end")
	}
	if len(notes) > 0 {
		fmt.Fprintf(&b, "[%s]\n", strings.Join(notes, "; "))
	}
	return b.String(), nil
}

// fit drops the first lines of a page from the end that is too large, and keeps to
// the limit.
func (g *pager) fit() {
	if g.from >= 0 {
		return
	}
	g.lines = g.lines[max(0, len(g.lines)-min(-g.from, maxLines)):]
	g.first = g.total - len(g.lines) + 1
	if len(g.lines) > g.most {
		g.lines = g.lines[:g.most]
	}
	size := 0
	for i := len(g.lines) - 1; i >= 0; i-- {
		if size += len(g.lines[i]) + 8; size > maxBytes && i < len(g.lines)-1 {
			g.first += i + 1
			g.lines = g.lines[i+1:]
			return
		}
	}
}
