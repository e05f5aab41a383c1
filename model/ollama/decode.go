package ollama

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/internal/markup"
	"github.com/uzda-dev/uzda/internal/raw"
	"github.com/uzda-dev/uzda/internal/wire"
)

// decoder reads a reply: one object a line, or one in all. What the lines say is
// folded into one message; its text, its thought and each call are a block, in the
// order in which they began. Blocks are done when the reply is.
type decoder struct {
	body    *body
	origin  uzda.Origin
	yield   func(uzda.Chunk, error) bool
	reply   *wire.Reply
	request string                               // the server's id of it
	cut     func(count int) (uzda.Warning, bool) // whether the prompt was cut

	fold    raw.Fold
	calls   []json.RawMessage // as they came
	slots   []slot            // blocks to be
	content said
	thought said
	screen  *markup.Screen // holds back what may be a call in the text

	last    string // piece of a text
	repeats int    // of it

	junk  []byte // lines before the first object that are none
	lines int    // objects that came
	size  int    // bytes of the model's words
	over  bool   // nothing more is to be read or said
}

// A slot is a block to be: the text, the thought, or a call.
type slot struct {
	kind string
	use  uzda.ToolUse
}

// said is text on its way to being shown. White space alone begins no block.
type said struct {
	slot  int // -1: not begun
	held  string
	shown int // bytes
}

func newDecoder(e *endpoint, b *body, yield func(uzda.Chunk, error) bool) *decoder {
	d := &decoder{body: b, origin: e.origin, yield: yield, content: said{slot: -1}, thought: said{slot: -1}}
	d.fold.Joins = joins
	if b.tools && !b.schema {
		d.screen = &markup.Screen{}
	}
	return d
}

var joins = raw.Joined("content", "thinking")

// read passes on the reply up to its end.
func (d *decoder) read(reply *wire.Reply) {
	d.reply = reply
	for l, err := range lines(reply.Body) {
		if err != nil {
			d.fail(wire.Broken(err, d.began()))
			return
		}
		if len(l.data) == 0 {
			continue
		}
		if d.line(l) {
			reply.Progress()
		}
		if d.over {
			return
		}
	}
	if len(d.junk) > 0 { // perhaps one object on many lines
		l := line{data: d.junk}
		d.junk = nil
		if d.line(l); d.over {
			return
		}
	}
	d.fail(d.ended())
}

// ended is the error of a reply without a last line. Ollama leaves it out where it
// gives a reply up because one token follows itself for too long.
func (d *decoder) ended() error {
	const most = 30
	if d.repeats < most {
		return wire.Broken(io.ErrUnexpectedEOF, d.began())
	}
	return &uzda.ProviderError{Code: "cut", Message: fmt.Sprintf("the model says %q again and again, and the server gave the reply up", d.last),
		Hint: "use another model, or a less compressed one; repeat_penalty in its options may help"}
}

func (d *decoder) began() bool { return len(d.slots) > 0 }

// line takes one object; false if it is none.
func (d *decoder) line(l line) bool {
	o, err := raw.Parse(l.data)
	switch {
	case err == nil:
		d.lines++
		d.object(o)
		return true
	case d.lines == 0 && l.whole:
		if d.junk = append(append(d.junk, l.data...), '\n'); len(d.junk) > maxLine {
			d.fail(&uzda.ProviderError{Code: "unknown", Message: errLine.Error()})
		}
	case !l.whole && unfinished(l.data): // cut
	case d.lines == 0 && l.data[0] != '{':
		d.fail(d.event(l.data))
	default:
		d.fail(&uzda.ProviderError{Code: "unknown", Message: fmt.Sprintf("the reply has a line that is no JSON object: %v", err), Err: err})
	}
	return false
}

// event is the error that the server itself sent. One that may pass is, after
// content, as good as a cut: what failed is asked for again.
func (d *decoder) event(data []byte) error {
	e := d.reply.Event(data)
	if d.began() && e.Retryable() {
		e.Code = "cut"
	}
	return e
}

// unfinished says whether data is the beginning of an object.
func unfinished(data []byte) bool {
	var bad *json.SyntaxError
	var into json.RawMessage
	return data[0] == '{' && errors.As(json.Unmarshal(data, &into), &bad) && bad.Offset >= int64(len(data))
}

// fail ends the stream with an error, and what it has used at least.
func (d *decoder) fail(err error) {
	if !d.over {
		d.over = true
		d.yield(nil, wire.Used(err, uzda.Usage{Output: (d.size + 3) / 4}))
	}
}

func (d *decoder) pass(c uzda.Chunk) {
	if !d.over && !d.yield(c, nil) {
		d.over = true
	}
}

func (d *decoder) object(o raw.Object) {
	if e := o.Get("error"); e != nil && string(e) != "null" && string(e) != `""` && string(e) != "false" {
		d.fail(d.event(o.Append(nil)))
		return
	}
	if m, err := raw.Parse(o.Get("message")); err == nil {
		for key, value := range m.All() {
			if err := d.member(key, value); err != nil {
				d.fail(&uzda.ProviderError{Code: "unknown", Message: err.Error(), Err: err})
			}
			if d.over {
				return
			}
		}
	}
	if string(o.Get("done")) == "true" {
		d.finish(o)
	}
}

// member takes one member of the message of a line.
func (d *decoder) member(key string, value json.RawMessage) error {
	if key == "tool_calls" && len(value) > 0 && value[0] == '[' {
		return d.list(key, value)
	}
	fresh, err := d.fold.Add(key, value)
	if err != nil || fresh == "" {
		return err
	}
	d.size += len(fresh)
	if d.repeats++; fresh != d.last {
		d.last, d.repeats = fresh, 0
	}
	switch {
	case key == "thinking":
		d.show("thinking", &d.thought, fresh)
	case d.screen != nil:
		d.show("text", &d.content, d.screen.Add(fresh))
	default:
		d.show("text", &d.content, fresh)
	}
	return nil
}

// list takes a list of calls. The member keeps the place where it came first.
func (d *decoder) list(key string, value json.RawMessage) error {
	if len(d.calls) == 0 {
		d.fold.Set(key, json.RawMessage("[]"))
	}
	all, err := raw.Elements(value)
	if err != nil {
		return err
	}
	for _, one := range all {
		if err := d.call(one); err != nil {
			return err
		}
	}
	return nil
}

// show yields what is new of a text.
func (d *decoder) show(kind string, s *said, fresh string) {
	if fresh == "" {
		return
	}
	if s.slot < 0 {
		s.held += fresh
		if strings.TrimSpace(fresh) == "" {
			return
		}
		fresh, s.held = s.held, ""
		s.slot = len(d.slots)
		d.slots = append(d.slots, slot{kind: kind})
	}
	s.shown += len(fresh)
	d.pass(uzda.Delta{Block: s.slot, Kind: kind, Text: fresh})
}

// maxCalls bounds the calls of a reply; no fuse is that wide.
const maxCalls = 5000

// call takes a native call. In the item its arguments are an object, whatever came.
func (d *decoder) call(one json.RawMessage) error {
	if len(d.calls) >= maxCalls {
		return fmt.Errorf("the reply has more than %d calls", maxCalls)
	}
	if d.size += len(one); d.size > raw.MaxSize {
		return fmt.Errorf("the reply does not end: it is over %d bytes", raw.MaxSize)
	}
	one = raw.Mend(raw.Compact(bytes.Clone(one)))
	u := uzda.ToolUse{Name: "tool_call", Input: json.RawMessage("{}"), Raw: string(one)}
	o, err := raw.Parse(one)
	f, inner := raw.Parse(o.Get("function"))
	if name := text(f.Get("name")); err == nil && inner == nil && name != "" {
		u = uzda.ToolUse{Wire: d.free(text(o.Get("id"))), Name: name}
		v := f.Get("arguments")
		if u.Input, u.Raw = arguments(v); !bytes.Equal(v, u.Input) { // it could not go back so
			f.Set("arguments", u.Input)
			o.Set("function", f.Append(nil))
			one = o.Append(nil)
		}
	} else {
		one = call{name: u.Name, input: u.Input}.append(nil, len(d.calls))
	}
	d.calls = append(d.calls, one)
	d.use(u)
	return nil
}

// free returns the id, "" if another call of the reply has it.
func (d *decoder) free(id string) string {
	for _, s := range d.slots {
		if s.use.Wire == id {
			return ""
		}
	}
	return id
}

func (d *decoder) use(u uzda.ToolUse) {
	d.slots = append(d.slots, slot{"input", u})
	shown := string(u.Input)
	if u.Raw != "" {
		shown = u.Raw
	}
	d.pass(uzda.Delta{Block: len(d.slots) - 1, Kind: "input", Text: shown})
}

// arguments reads an object, also one in a string; nothing at all is {}.
func arguments(v json.RawMessage) (input json.RawMessage, broken string) {
	if len(v) > 0 && v[0] == '"' {
		inner := strings.TrimSpace(text(v))
		if inner != "" && inner[0] != '{' || inner != "" && !json.Valid([]byte(inner)) {
			return json.RawMessage("{}"), inner
		}
		v = raw.Compact([]byte(inner))
	}
	switch {
	case len(v) == 0 || string(v) == "null":
		return json.RawMessage("{}"), ""
	case v[0] != '{':
		return json.RawMessage("{}"), string(v)
	}
	return v, ""
}
