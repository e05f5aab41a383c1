package file

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/internal/charset"
)

//go:embed edit_file.md
var editText string

var editInput = lazily(`{"type":"object","properties":{` +
	`"path":{"type":"string","minLength":1,"description":"the file, relative to the working directory or absolute"},` +
	`"old":{"type":"string","minLength":1,"description":"the text to replace, exactly as it stands in the file, without line numbers"},` +
	`"new":{"type":"string","description":"what stands there afterwards; empty deletes"},` +
	`"all":{"type":"boolean","description":"replace every occurrence; default: old must stand there exactly once"}},` +
	`"required":["path","old","new"],"additionalProperties":false}`)

func (f *Files) editTool() uzda.Tool {
	t := &changer{files: f, plan: f.planEdit}
	t.looker = looker{in: editInput, call: t.run, spec: func() uzda.ToolSpec {
		return uzda.ToolSpec{Name: "edit_file", Description: strings.TrimSpace(editText), Input: editInput().JSON(), Source: "built-in"}
	}}
	return t
}

// planEdit works out an edit of the version that the session has seen.
func (f *Files) planEdit(ctx context.Context, use uzda.Use, m *memory) (*change, error) {
	var in struct {
		Path, Old, New string
		All            bool
	}
	if err := decode(use, &in); err != nil {
		return nil, err
	}
	p, err := f.locate(use, in.Path)
	if err != nil {
		return nil, err
	}
	c, err := f.edited(ctx, p, m, unixEnds(in.Old), unixEnds(in.New), in.All)
	if err != nil {
		p.close()
		return nil, err
	}
	return c, nil
}

func (f *Files) edited(ctx context.Context, p *place, m *memory, old, fresh string, all bool) (*change, error) {
	if err := p.writable(); err != nil {
		return nil, err
	}
	if err := errors.Join(p.single(), p.ours()); err != nil {
		return nil, err
	}
	before, err := p.load(ctx, f.cfg.MaxEdit)
	if err != nil {
		return nil, err
	}
	switch {
	case !before.text:
		return nil, refuse("%q is no text (%s) and cannot be edited", p.shown, describe(before))
	case old == "":
		return nil, refuse("/old is empty: give the text to replace. A new file is made by write_file")
	case old == fresh:
		return nil, refuse("/old and /new are the same: nothing would change. Line ends are kept as the file has them")
	}
	if err := m.fresh(p, before.version); err != nil {
		return nil, err
	}
	s, err := scriptOf(before.enc)
	if err != nil {
		return nil, err
	}
	if _, err := s.enc.Encode(fresh); err != nil {
		return nil, refuse("%q is written in %s: %v. Use other characters; to keep these write the file anew in UTF-8: delete_file, then write_file", p.shown, before.enc, err)
	}
	found, err := s.places(p, before.data, old, all)
	if err != nil {
		return nil, err
	}
	pieces, err := s.pieces(before.data, found, trim(old, fresh))
	if err != nil {
		return nil, err
	}
	c := &change{at: p, before: before, parts: cut(before.data, pieces)}
	c.after = version(c.parts...)
	d := s.differ(before.data, pieces)
	c.hunks = func() diff { return d }
	c.told = fmt.Sprintf("Edited %s: %s, %s.", p.shown, s.where(before.data, found), d.stat())
	if before.enc.Name != charset.UTF8 {
		c.told += fmt.Sprintf(" It stays in %s.", before.enc)
	}
	return c, nil
}

// fresh refuses a version that the session has not seen.
func (m *memory) fresh(p *place, now string) error {
	switch seen, ok := m.seen[p.abs]; {
	case ok && now == absent && seen != absent:
		return refuse("%q was there when you last saw it, and somebody else or a command has deleted it since: nothing was written. Look (read_file), then decide; a second write makes it again", p.shown)
	case now == absent:
		return nil
	case !ok:
		return refuse("%q was not read in this session: read_file it first, so that you change what is really there", p.shown)
	case seen != now:
		return refuse("%q has changed since you last read it, by somebody else or by a command: nothing was written. Read it again (read_file), then decide", p.shown)
	}
	return nil
}

// places finds old in the file: once, or all of them.
func (s script) places(p *place, data []byte, old string, all bool) ([]span, error) {
	pat, err := s.compile(old)
	if err != nil {
		return nil, refuse("/old cannot stand in %q, which is written in %s: %v. Read the file again", p.shown, s.enc, err)
	}
	most := 1000000
	if !all {
		most = 1000
	}
	found := s.find(data, pat, most)
	switch {
	case len(found) == 0 && s.enc.Odd && strings.Contains(old, `\x`):
		return nil, refuse("/old does not stand in %q: where read_file shows \\xNN there is a byte that is no text, which cannot be given. Leave it out of old, or use a program", p.shown)
	case len(found) == 0:
		return nil, refuse("/old does not stand in %q. %s", p.shown, s.nearest(data, old))
	case len(found) > 1 && !all:
		return nil, refuse("/old stands %d times in %q, on %s: nothing was changed. Add lines around it until it is the only one, or set all to true", len(found), p.shown, s.lineList(data, found))
	}
	return found, nil
}

// where says which lines an edit was made on.
func (s script) where(data []byte, found []span) string {
	if len(found) > 1 {
		return fmt.Sprintf("%d places, on %s", len(found), s.lineList(data, found))
	}
	first := 1 + s.count(data[:found[0].from])
	last := first + s.count(data[found[0].from:found[0].to])
	if last == first {
		return fmt.Sprintf("line %d", first)
	}
	return fmt.Sprintf("lines %d-%d", first, last)
}

// lineList names the lines of places, each once.
func (s script) lineList(data []byte, found []span) string {
	const most = 20
	var list []string
	line, at, last, more := 1, 0, 0, 0
	for _, f := range found {
		line += s.count(data[at:f.from])
		at = f.from
		switch {
		case line == last:
		case len(list) < most:
			list = append(list, fmt.Sprint(line))
		default:
			more++
		}
		last = line
	}
	text := "lines " + strings.Join(list, ", ")
	if len(list) == 1 {
		text = "line " + list[0]
	}
	if more > 0 {
		text += fmt.Sprintf(", … (%d more)", more)
	}
	return text
}
