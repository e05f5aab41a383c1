package anthropic

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/internal/raw"
	"github.com/uzda-dev/uzda/internal/sse"
	"github.com/uzda-dev/uzda/internal/wire"
)

// A decoder reads one reply, streamed or whole, and yields it. Blocks are told
// apart by the order in which they begin; the index only says to which of those
// that are open a delta belongs.
type decoder struct {
	origin  uzda.Origin
	names   names
	max     int    // tokens that were asked for
	request string // the provider's id of the request
	yield   func(uzda.Chunk, error) bool
	reply   *wire.Reply

	gone   bool // the reader wants no more
	began  bool // a chunk of content was yielded
	size   int  // bytes of events
	said   int  // bytes of content
	id     string
	blocks int      // that have begun
	open   []*block // those that are not yielded yet, in order
	wires  map[string]bool
	calls  int
	broken bool // the arguments of a call are no object

	room, part raw.Object // of the event that is read, and of its delta

	usage     usage
	reason    string // the provider's word for the stop
	sequence  string
	details   json.RawMessage
	container json.RawMessage
}

// maxBlocks is how many blocks a reply may have, and how many members a block.
const maxBlocks = 2000

var errOrder = errors.New("the events of the stream do not fit together")

// read yields the reply. Whatever is wrong ends it in an error.
func (d *decoder) read(reply *wire.Reply) {
	d.reply = reply
	var err error
	switch kind := reply.Kind(); kind {
	case "json", "ndjson": // how it looks may depend on how much of it has come
		var whole []byte
		if whole, err = reply.Bytes(0); err == nil {
			err = d.whole(whole)
		}
	case "sse":
		err = d.events(reply)
	default:
		// Reading tells what keeps the kind from being known: a cut, a page of HTML.
		if _, err = reply.Bytes(0); err == nil {
			err = &uzda.ProviderError{Code: "unknown", Message: "the reply is no event stream and no JSON", Again: uzda.AgainNo,
				Hint: "check that the base URL is that of a service that speaks Messages"}
		}
	}
	if err == nil {
		err = d.finish()
	}
	if err != nil && !d.gone {
		d.yield(nil, d.failure(err))
	}
}

// failure is what an error means after what has come, with the usage so far.
func (d *decoder) failure(err error) error {
	err = wire.Broken(err, d.began)
	var p *uzda.ProviderError
	if errors.As(err, &p) { // else the context has ended
		one := *p
		if one.Request == "" {
			one.Request = d.request
		}
		if d.began && one.Code != "cut" && one.Again != uzda.AgainNo {
			one.Code, one.Message = "cut", one.Code+": "+one.Message
		}
		err = &one
	}
	return wire.Used(err, d.usage.broken(d.said))
}

// send yields content.
func (d *decoder) send(c uzda.Chunk) {
	if d.gone {
		return
	}
	d.began = true
	d.gone = !d.yield(c, nil)
}

func (d *decoder) events(reply *wire.Reply) error {
	for e, err := range sse.Read(reply.Body, 0) {
		switch {
		case err != nil:
			var p *uzda.ProviderError
			if d.reason != "" && errors.As(wire.Broken(err, true), &p) {
				return nil // only the end of the end is missing
			}
			return err
		case e.Comment:
			continue
		}
		data := bytes.TrimSpace(e.Data)
		if string(data) == "[DONE]" { // as some gateways end every stream
			return nil
		}
		if d.size += len(data) + 64; d.size > uzda.MaxReply {
			return tooLong
		}
		o := &d.room
		if err := o.Parse(data); err != nil {
			return fmt.Errorf("an event is no JSON: %w", err)
		}
		kind := word(o.Get("type"))
		switch {
		case kind == "" && isObject(o.Get("error")):
			kind = "error"
		case kind == "":
			kind = e.Name
		}
		if kind == "message_stop" {
			return nil
		}
		known, err := d.event(kind, o)
		switch {
		case kind == "error":
			return reply.Event(data)
		case err != nil || d.gone:
			return err
		case known: // not a ping, nor what does not exist yet
			reply.Progress()
		}
	}
	return nil
}

var tooLong = &uzda.ProviderError{Code: "unknown", Message: fmt.Sprintf("the reply is over %d bytes", uzda.MaxReply), Again: uzda.AgainNo}

// event takes what an event says, if it is known.
func (d *decoder) event(kind string, e *raw.Object) (known bool, err error) {
	switch kind {
	case "message_start":
		err = d.start(e)
	case "content_block_start":
		err = d.begin(string(e.Get("index")), e.Get("content_block"))
	case "content_block_delta":
		err = d.delta(string(e.Get("index")), e.Get("delta"))
	case "content_block_stop":
		d.close(d.find(string(e.Get("index"))))
	case "message_delta":
		d.end(e)
	default:
		return false, nil
	}
	return true, err
}

// start begins the message. Once more the same is harmless; another message, in
// the middle of the first, is not.
func (d *decoder) start(e *raw.Object) error {
	m, err := raw.Parse(e.Get("message"))
	if err != nil {
		return nil //nolint:nilerr // what a start says is not needed
	}
	id := str(m.Get("id"))
	if d.blocks > 0 && id != d.id {
		return fmt.Errorf("%w: a second message begins before the first ends", errOrder)
	}
	d.id = id
	d.usage.add(m.Get("usage"), false)
	if v := m.Get("container"); isObject(v) {
		d.container = bytes.Clone(v)
	}
	return nil
}

// end takes what is known at the end of a message; some gateways send it in parts.
func (d *decoder) end(e *raw.Object) {
	d.usage.add(e.Get("usage"), true)
	if o, err := raw.Parse(e.Get("delta")); err == nil {
		d.outcome(&o)
	}
}

// outcome reads why the message ends, where that is said.
func (d *decoder) outcome(o *raw.Object) {
	if s := word(o.Get("stop_reason")); s != "" {
		d.reason = s
	}
	if s := str(o.Get("stop_sequence")); s != "" {
		d.sequence = s
	}
	if v := o.Get("stop_details"); isObject(v) {
		d.details = bytes.Clone(v)
	}
	if v := o.Get("container"); isObject(v) {
		d.container = bytes.Clone(v)
	}
}

func isObject(v json.RawMessage) bool { return len(v) > 0 && v[0] == '{' }

// whole reads a reply that was not streamed.
func (d *decoder) whole(body []byte) error {
	o, err := raw.Parse(body)
	if err != nil {
		return fmt.Errorf("the reply is no JSON object: %w", err)
	}
	if str(o.Get("type")) == "error" || isObject(o.Get("error")) {
		return d.reply.Event(body)
	}
	list, err := raw.Elements(o.Get("content"))
	if err != nil {
		return &uzda.ProviderError{Code: "unknown", Message: "the reply has no content", Again: uzda.AgainNo,
			Hint: "check that the base URL is that of a service that speaks Messages"}
	}
	for _, v := range list {
		if err := d.begin("", v); err != nil || d.gone {
			return err
		}
		d.close(d.find(""))
	}
	d.usage.add(o.Get("usage"), true)
	d.outcome(&o)
	return nil
}

// find returns the newest open block with that index, nil if there is none; ""
// is any.
func (d *decoder) find(index string) *block {
	for i := len(d.open) - 1; i >= 0; i-- {
		if b := d.open[i]; !b.closed && (index == "" || b.index == index) {
			return b
		}
	}
	return nil
}

// begin opens a block, and ends one of the same index that is still open: its own
// end was left out.
func (d *decoder) begin(index string, start json.RawMessage) error {
	if d.blocks >= maxBlocks {
		return tooLong
	}
	if index != "" {
		d.close(d.find(index))
	}
	b := &block{at: d.blocks, index: index}
	if err := b.start(bytes.Clone(start)); err != nil {
		return fmt.Errorf("begin of block %d: %w", d.blocks, err)
	}
	d.blocks++
	d.open = append(d.open, b)
	d.show(b, b.first())
	return nil
}

func (d *decoder) delta(index string, delta json.RawMessage) error {
	o := &d.part
	if err := o.Parse(delta); err != nil {
		return fmt.Errorf("delta of block %s: %w", index, err)
	}
	b := d.find(index)
	if b == nil {
		// A text whose begin was left out can only be a text.
		start := ""
		switch {
		case len(d.open) > 0 || index != "" && d.blocks > 0:
		case deltaKind(o) == "text_delta":
			start = `{"type":"text","text":""}`
		case deltaKind(o) == "thinking_delta":
			start = `{"type":"thinking","thinking":"","signature":""}`
		}
		if start == "" {
			return fmt.Errorf("%w: a delta of block %q, which is not open", errOrder, index)
		}
		if err := d.begin(index, json.RawMessage(start)); err != nil {
			return err
		}
		b = d.find(index)
	}
	fresh, err := b.add(o)
	if err != nil {
		return fmt.Errorf("delta of block %d: %w", b.at, err)
	}
	d.show(b, fresh)
	return nil
}

// show yields what is new of a block that people see.
func (d *decoder) show(b *block, text string) {
	d.said += len(text)
	if kind := b.shown(); kind != "" && text != "" {
		d.send(uzda.Delta{Block: b.at, Kind: kind, Text: text})
	}
}

// close ends a block and yields all that now are ended, in order.
func (d *decoder) close(b *block) {
	if b == nil {
		return
	}
	b.closed = true
	for len(d.open) > 0 && d.open[0].closed && !d.gone {
		d.done(d.open[0])
		d.open = d.open[1:]
	}
}

// done yields a whole block with its item.
func (d *decoder) done(b *block) {
	d.show(b, b.rest())
	one, item := b.fold(d.origin.Profile)
	if u, ok := one.(uzda.ToolUse); ok {
		u.Name = d.names.back(u.Name)
		if d.wires == nil {
			d.wires = map[string]bool{}
		}
		if d.wires[u.Wire] { // the item still has it; see viewer.id
			u.Wire = ""
		}
		d.wires[u.Wire] = true
		d.calls++
		d.broken = d.broken || u.Raw != ""
		one = u
	}
	d.send(uzda.Done{Block: one, Item: item})
}

// finish ends the reply. Without a reason to stop it was cut, however whole it looks.
func (d *decoder) finish() error {
	if d.gone {
		return nil
	}
	if d.reason == "" {
		return io.ErrUnexpectedEOF
	}
	for len(d.open) > 0 && !d.gone {
		d.close(d.open[0])
	}
	if d.container != nil && d.blocks > 0 {
		d.send(uzda.Done{Block: uzda.Opaque{Origin: d.origin.Profile, Raw: append(append([]byte(`{"container":`), d.container...), '}')}, Item: plain()})
	}
	if d.gone {
		return nil
	}
	s := uzda.Stop{Raw: d.reason, Usage: d.usage.total(d.origin.Model, d.said), Origin: &d.origin, Request: d.request}
	s.Reason, s.Detail = d.stop(s.Usage)
	d.yield(s, nil)
	return nil
}
