package agent

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/uzda-dev/uzda"
)

// CleanText hides what must not be seen in text that enters from outside, and
// makes it UTF-8.
func CleanText(red uzda.Redactor, text string) string {
	clean, _ := hide(red, text, false)
	return clean
}

func hide(red uzda.Redactor, text string, own bool) (clean string, changed bool) {
	clean = text
	if !utf8.ValidString(clean) {
		clean, changed = strings.ToValidUTF8(clean, "\uFFFD"), true
	}
	if red != nil && clean != "" {
		var n int
		clean, n = red.Redact(clean, own)
		changed = changed || n > 0
	}
	return clean, changed
}

// Clean hides what must not be seen in blocks that enter from outside, and makes
// their text UTF-8. Of blocks that only the loop or a model makes, it leaves a
// remark.
func Clean(red uzda.Redactor, bs uzda.Blocks) uzda.Blocks {
	out := make(uzda.Blocks, len(bs))
	for i, b := range bs {
		switch k := b.(type) {
		case uzda.Text, uzda.Media, uzda.Opaque:
			out[i], _ = hideBlock(red, b, false)
		case nil:
			out[i] = uzda.Text{}
		default:
			out[i] = uzda.Text{Text: fmt.Sprintf("[a block of the kind %T was left out]", b), Meta: uzda.Meta{Labels: k.Marks()}}
		}
	}
	return out
}

// Mask hides what must not be seen in blocks of every kind, and says whether that
// changed any.
func Mask(red uzda.Redactor, bs uzda.Blocks) (uzda.Blocks, bool) {
	out, some := make(uzda.Blocks, len(bs)), false
	for i, b := range bs {
		var changed bool
		out[i], changed = hideBlock(red, b, false)
		some = some || changed
	}
	return out, some
}

// hideBlock hides in one block. A thought that was changed loses the proof that
// it came so, and with that its way back to the provider.
func hideBlock(red uzda.Redactor, b uzda.Block, own bool) (uzda.Block, bool) {
	changed := false
	text := func(s *string) {
		clean, n := hide(red, *s, own)
		*s, changed = clean, changed || n
	}
	raw := func(in json.RawMessage) json.RawMessage {
		clean, n := hide(red, string(in), own)
		switch {
		case !n:
			return in
		case !json.Valid([]byte(clean)): // the value was more than a string
			clean = "{}"
		}
		changed = true
		return json.RawMessage(clean)
	}
	switch b := b.(type) {
	case uzda.Text:
		text(&b.Text)
		return b, changed
	case uzda.Thinking:
		if text(&b.Text); changed {
			b.Signature = ""
		}
		return b, changed
	case uzda.Media:
		text(&b.Name)
		if strings.HasPrefix(b.Type, "text/") || strings.HasSuffix(b.Type, "json") || strings.HasSuffix(b.Type, "xml") {
			if clean, n := hide(red, string(b.Data), own); n {
				b.Data, changed = []byte(clean), true
			}
		}
		return b, changed
	case uzda.ToolUse:
		b.Input = raw(b.Input)
		text(&b.Raw)
		text(&b.Name)
		return b, changed
	case uzda.ToolResult:
		all := func(in uzda.Blocks) uzda.Blocks {
			out := make(uzda.Blocks, len(in))
			for i := range in {
				var n bool
				out[i], n = hideBlock(red, in[i], own)
				changed = changed || n
			}
			return out
		}
		if b.Blocks = all(b.Blocks); len(b.People) > 0 {
			b.People = all(b.People)
		}
		return b, changed
	case uzda.Opaque:
		if len(b.Raw) > 0 && !json.Valid(b.Raw) {
			return uzda.Text{Text: "[an opaque block was left out: it is no JSON]", Meta: b.Meta}, true
		}
		b.Raw = raw(b.Raw)
		return b, changed
	}
	return b, false
}

// own hides the exact values of secrets in the model's own words.
func (r *run) own(text string) string {
	clean, _ := hide(r.Redact, text, true)
	return clean
}

// mask hides them in a reply. Items hold more than blocks do, so each is looked
// at too.
func (r *run) mask(m *uzda.Message) {
	if r.Redact == nil {
		return
	}
	for i, b := range m.Blocks {
		clean, changed := hideBlock(r.Redact, b, true)
		if changed {
			m.Blocks[i] = clean
			m.Repairs = append(m.Repairs, uzda.Repair{Block: i, What: "the value of a secret was replaced by its name"})
			m.Items = nil // they hold the value
		}
	}
	for _, it := range m.Items {
		if _, n := r.Redact.Redact(string(it.Raw), true); n > 0 {
			m.Items = nil
			return
		}
	}
}

const (
	briefSize = 4000     // bytes of an error's text that are kept
	briefRead = 64 << 10 // and of those that are looked at for secrets
)

// brief is the text of an error: clean, and never as long as what it complains of.
func (r *run) brief(text string) string {
	if text == "" {
		return ""
	}
	return uzda.Clip(CleanText(r.Redact, uzda.Before(text, briefRead)), briefSize)
}

// live passes the deltas of a reply on to watchers. Where a value may have begun
// at the end of one, that end waits for the next.
type live struct {
	r    *run
	ask  int
	tail uzda.Tailer        // nil: each delta is looked at alone
	held map[int]uzda.Delta // nil while none is
}

func (r *run) live(ask int) *live {
	tail, _ := r.Redact.(uzda.Tailer)
	return &live{r: r, ask: ask, tail: tail}
}

func (l *live) delta(d uzda.Delta) {
	if l.r.Events == nil {
		return
	}
	if len(l.held) > 0 {
		d = l.join(d)
	}
	if l.tail != nil {
		if n := l.tail.Begun(d.Text); n > 0 {
			h := d
			h.Text = d.Text[len(d.Text)-n:]
			d.Text = d.Text[:len(d.Text)-n]
			if l.held == nil {
				l.held = map[int]uzda.Delta{}
			}
			l.held[d.Block] = h
		}
	}
	l.send(d)
}

// join puts what waited in front of a delta, and sends what waits no longer.
func (l *live) join(d uzda.Delta) uzda.Delta {
	for at, h := range l.held { // arguments of several calls may come in turns
		if at != d.Block && h.Kind != "input" {
			l.send(h)
			delete(l.held, at)
		}
	}
	if h, ok := l.held[d.Block]; ok {
		d.Text = h.Text + d.Text
		delete(l.held, d.Block)
	}
	return d
}

func (l *live) send(d uzda.Delta) {
	if d.Text == "" || !l.r.watched() {
		return
	}
	if l.r.Redact != nil {
		d.Text, _ = l.r.Redact.Redact(d.Text, true)
	}
	l.r.tell(uzda.Streaming{Ask: l.ask, Delta: d})
}

func (l *live) end() {
	for _, at := range sortedKeys(l.held) {
		l.send(l.held[at])
	}
	l.drop()
}

func (l *live) drop() { clear(l.held) }
