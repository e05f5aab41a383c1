package file

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/internal/charset"
)

//go:embed write_file.md
var writeText string

var writeInput = lazily(`{"type":"object","properties":{` +
	`"path":{"type":"string","minLength":1,"description":"the file, relative to the working directory or absolute; folders that are missing are made"},` +
	`"content":{"type":"string","description":"all of the file's text"}},` +
	`"required":["path","content"],"additionalProperties":false}`)

func (f *Files) writeTool() uzda.Tool {
	t := &changer{files: f, plan: f.planWrite}
	t.looker = looker{in: writeInput, call: t.run, spec: func() uzda.ToolSpec {
		return uzda.ToolSpec{Name: "write_file", Description: strings.TrimSpace(writeText), Input: writeInput().JSON(), Source: "built-in"}
	}}
	return t
}

// planWrite works out a new file, or a new content for the version that was seen.
func (f *Files) planWrite(ctx context.Context, use uzda.Use, m *memory) (*change, error) {
	var in struct{ Path, Content string }
	if err := decode(use, &in); err != nil {
		return nil, err
	}
	p, err := f.locate(use, in.Path)
	if err != nil {
		return nil, err
	}
	c, err := f.written(ctx, p, m, in.Content)
	if err != nil {
		p.close()
		return nil, err
	}
	if strings.HasSuffix(in.Path, "/") {
		p.close()
		return nil, refuse("%q ends with / and so names a folder: folders are made with the files in them", quoted(in.Path))
	}
	return c, nil
}

func (f *Files) written(ctx context.Context, p *place, m *memory, text string) (*change, error) {
	if err := p.writable(); err != nil {
		return nil, err
	}
	if err := errors.Join(p.single(), p.ours()); err != nil {
		return nil, err
	}
	before := nothing()
	if p.info != nil {
		var err error
		if before, err = p.load(ctx, f.cfg.MaxEdit); err != nil {
			return nil, err
		}
	}
	data, err := encodeLike(p, before, text)
	if err != nil {
		return nil, err
	}
	c := &change{at: p, before: before, parts: [][]byte{data}, after: version(data)}
	if c.after == before.version {
		c.idle, c.told = true, fmt.Sprintf("%s already has exactly this content.", p.shown)
		return c, nil
	}
	if err := m.fresh(p, before.version); err != nil {
		return nil, err
	}
	if !before.text {
		c.told = fmt.Sprintf("Replaced %s, which was %s, by %s of text.", p.shown, describe(before), size(data))
		c.asked = fmt.Sprintf("Replace %s, which is %s, by %s of text", p.shown, describe(before), size(data))
		return c, nil
	}
	s, err := scriptOf(before.enc)
	if err != nil {
		return nil, err
	}
	d := s.differ(before.data, whole(s, before.data, data))
	c.hunks = func() diff { return d }
	verb := "Wrote"
	if p.info == nil {
		verb = "Made"
	}
	c.told = fmt.Sprintf("%s %s: %s, %s.", verb, p.shown, size(data), d.stat())
	if before.enc.Odd {
		c.told += " The bytes that were no UTF-8 are gone."
	}
	if before.enc.Name != charset.UTF8 && before.enc.Name != "" {
		c.told += fmt.Sprintf(" It stays in %s.", before.enc)
	}
	return c, nil
}

func size(data []byte) string {
	if len(data) == 1 {
		return "1 byte"
	}
	return charset.Commas(int64(len(data))) + " bytes"
}

// encodeLike writes text as the file has it: its encoding, its mark, and its line
// ends where they are all CR LF. Content that says line ends itself has them so.
func encodeLike(p *place, before *content, text string) ([]byte, error) {
	if before.info == nil || !before.text || len(before.data) == 0 {
		return []byte(text), nil
	}
	s, err := scriptOf(before.enc)
	if err != nil {
		return nil, err
	}
	lf := s.count(before.data)
	crlf := countPairs(s, before.data)
	if lf > 0 && lf == crlf && !strings.Contains(text, "\r\n") {
		text = strings.ReplaceAll(text, "\n", "\r\n")
	}
	data, err := before.enc.Encode(strings.TrimPrefix(text, "\uFEFF"))
	if err != nil {
		return nil, refuse("%q is written in %s: %v. Use other characters, or delete_file first: a new file is UTF-8", p.shown, before.enc, err)
	}
	if before.enc.BOM && len(text) == 0 {
		data = nil
	}
	return data, nil
}

func countPairs(s script, data []byte) int {
	both := append(append([]byte{}, s.cr...), s.nl...)
	if s.unit == 1 {
		return bytes.Count(data, both)
	}
	n := 0
	for i := s.index(data, both, s.mark); i >= 0; i = s.index(data, both, i+len(both)) {
		n++
	}
	return n
}

// whole is a new content as the piece between what is the same at both ends, in
// lines.
func whole(s script, old, fresh []byte) []piece {
	pre := 0
	for pre < min(len(old), len(fresh)) && old[pre] == fresh[pre] {
		pre++
	}
	from := s.lineStart(old, pre)
	post := 0
	for post < min(len(old), len(fresh))-from && old[len(old)-1-post] == fresh[len(fresh)-1-post] {
		post++
	}
	to := len(old) - post
	if post > 0 {
		to = min(s.lineEnd(old, to), len(old))
	}
	end := len(fresh) - (len(old) - to)
	if end < from { // the lines at both ends overlap
		to, end = len(old), len(fresh)
	}
	return []piece{{span{from, to}, fresh[from:end]}}
}
