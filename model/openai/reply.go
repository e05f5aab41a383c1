package openai

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/internal/markup"
	"github.com/uzda-dev/uzda/internal/raw"
	"github.com/uzda-dev/uzda/internal/sse"
	"github.com/uzda-dev/uzda/internal/wire"
)

// A reply is one that is being read.
type reply struct {
	*service
	q     *request
	got   *wire.Reply
	yield func(uzda.Chunk, error) bool
	left  bool // the reader wants no more
	began bool // something of the content was yielded
	id    string

	choice  string   // index of the choice that is read, "" if it has none; others are left out
	fold    raw.Fold // the message, but for its calls
	calls   calls
	thought said
	text    said
	think   think // for what comes as text
	places  int   // blocks that have a place by now

	room *room

	size   int    // bytes that came
	late   []byte // the whole message, where a stream has it besides its deltas
	finish finish
	usage  usage
	done   bool // the mark of the end came
}

// maxStream bounds a reply in bytes, as much of what comes is shown to nobody who
// counts it. A token may come in a chunk of many hundred bytes.
const maxStream = 8 * uzda.MaxReply

// A room is for what is parsed of each chunk. Nothing of a reply stays in it.
type room struct {
	chunk, choice, delta raw.Object
	choices, calls       []json.RawMessage
	piece                piece
}

var rooms = sync.Pool{New: func() any { return &room{} }}

func (s *service) reply(q *request, yield func(uzda.Chunk, error) bool) *reply {
	r := &reply{service: s, q: q, yield: yield, room: rooms.Get().(*room)}
	r.fold.Joins = joins
	r.calls.known = q.known
	r.thought = said{kind: "thinking", place: -1}
	r.text = said{kind: "text", place: -1}
	if s.Markup && len(q.tools) > 0 {
		r.text.screen = &markup.Screen{}
	}
	return r
}

// joins are the strings of a message that come in pieces.
var joins = raw.Joined("content", "content.text", "content.thinking.text", "refusal",
	"reasoning_content", "reasoning", "reasoning_text", "thinking",
	"reasoning_details.text", "reasoning_details.summary", "audio.data", "audio.transcript")

// thoughts are the strings that hold reasoning; of those that say the same the
// first counts.
var thoughts = []string{"reasoning_content", "reasoning", "reasoning_text", "thinking"}

// known says whether a name is that of a tool that is offered.
func (q *request) known(sent string) bool {
	name := q.names.ours(sent)
	for i := range q.tools {
		if q.tools[i].Name == name {
			return true
		}
	}
	return false
}

func (r *reply) say(c uzda.Chunk) {
	if r.left {
		return
	}
	switch c.(type) {
	case uzda.Delta, uzda.Done:
		r.began = true
	}
	r.left = !r.yield(c, nil)
}

// read reads the reply to its end.
func (r *reply) read(got *wire.Reply) error {
	r.got, r.id = got, got.Request
	var err error
	switch kind := got.Kind(); kind {
	case "json":
		var body []byte
		if body, err = got.Bytes(0); err == nil {
			r.done = true
			err = r.object(body)
		}
	case "ndjson":
		err = r.lines(got)
	case "sse":
		err = r.events(got)
	default:
		var head []byte
		if head, err = io.ReadAll(io.LimitReader(got.Body, 500)); err != nil {
			break
		}
		err = &uzda.ProviderError{Code: "unknown", Message: fmt.Sprintf("the reply is no stream and no JSON, but %s: %q", got.Header.Get("Content-Type"), uzda.Clip(string(head), 300)),
			Hint: "check the base URL"}
	}
	if r.left {
		return nil
	}
	if err != nil && !r.whole(err) {
		return r.failed(err)
	}
	return r.end()
}

// whole says whether a reply is complete although reading it failed: its end is
// known, and all that is missing is what follows it.
func (r *reply) whole(err error) bool {
	var broken *uzda.ProviderError
	return r.finish.word != "" && asProvider(err, &broken) && broken.Code == "network"
}

// failed is the error of a reply that did not come whole.
func (r *reply) failed(err error) error {
	err = wire.Broken(err, r.began)
	var p *uzda.ProviderError
	if errors.As(err, &p) && p.Request == "" {
		named := *p
		named.Request, err = r.id, &named
	}
	if u, _ := r.usage.count(&r.Profile, r.room); u.Total() > 0 {
		err = wire.Used(err, u)
	}
	return err
}

func (r *reply) events(got *wire.Reply) error {
	for ev, err := range sse.Read(got.Body, 0) {
		if err != nil {
			return err
		}
		data := bytes.TrimSpace(ev.Data)
		if ev.Comment || len(data) == 0 {
			continue
		}
		got.Progress()
		if string(data) == "[DONE]" {
			r.done = true
			return nil
		}
		if ev.Name == "error" {
			return r.fault(data)
		}
		if err := r.chunk(data, false); err != nil || r.left {
			return err
		}
	}
	return nil
}

// lines reads a stream that has one chunk a line.
func (r *reply) lines(got *wire.Reply) error {
	s := bufio.NewScanner(got.Body)
	s.Buffer(nil, sse.Max)
	for s.Scan() {
		if line := bytes.TrimSpace(s.Bytes()); len(line) > 0 {
			got.Progress()
			if err := r.chunk(line, false); err != nil || r.left {
				return err
			}
		}
	}
	return s.Err()
}

// object reads a reply in one piece.
func (r *reply) object(body []byte) error {
	body = bytes.TrimPrefix(bytes.TrimSpace(body), []byte("\ufeff"))
	if len(body) > 0 && body[0] == '[' { // some gateways put it into an array
		if list, err := raw.Elements(body); err == nil {
			for _, one := range list {
				body = one
				break
			}
		}
	}
	first, rest, _ := bytes.Cut(body, []byte("\n"))
	if len(rest) == 0 || !json.Valid(first) {
		return r.chunk(body, true)
	}
	for line := range bytes.Lines(body) { // a stream that looked like one piece
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		if err := r.chunk(line, false); err != nil || r.left {
			return err
		}
	}
	return nil
}

// chunk takes a chunk of a stream, or a whole reply.
func (r *reply) chunk(data []byte, whole bool) error {
	o := &r.room.chunk
	if r.size += len(data); r.size > maxStream {
		return &uzda.ProviderError{Code: "unknown", Message: fmt.Sprintf("the reply does not end: it is over %d bytes", maxStream), Again: uzda.AgainNo}
	}
	if err := o.Parse(data); err != nil {
		return &uzda.ProviderError{Code: "network", Message: fmt.Sprintf("the reply holds what is no JSON object: %q", uzda.Clip(string(data), 200)), Err: err}
	}
	r.usage.read(o)
	if fault := o.Get("error"); says(fault) {
		return r.fault(data)
	}
	var err error
	if r.room.choices, err = raw.AppendElements(r.room.choices[:0], o.Get("choices")); err != nil {
		if whole || isError(o) {
			return r.fault(data)
		}
		return nil // such as usage alone
	}
	for _, one := range r.room.choices {
		c := &r.room.choice
		if c.Parse(one) != nil {
			continue
		}
		if err := r.one(c, whole); err != nil || r.left {
			return err
		}
	}
	return nil
}

// one takes a choice. Only those with the index of the first are read.
func (r *reply) one(c *raw.Object, whole bool) error {
	index := string(c.Get("index"))
	if r.choice == "" {
		r.choice = index
	}
	if index != "" && index != r.choice {
		return nil
	}
	if fault := c.Get("error"); says(fault) {
		return r.fault(fault)
	}
	r.usage.read(c)
	delta, message := c.Get("delta"), c.Get("message")
	switch {
	case whole && says(message):
		delta = message
	case says(message):
		r.late = append(r.late[:0], message...)
	}
	if says(delta) {
		if err := r.delta(delta, whole); err != nil {
			return err
		}
	}
	r.finish.read(c)
	return nil
}

// delta takes a delta or a whole message: what it thinks first, then what it
// says, then its calls.
func (r *reply) delta(data json.RawMessage, whole bool) error {
	o := &r.room.delta
	if o.Parse(data) != nil {
		return nil // a delta that is no object says nothing
	}
	thought, text := "", ""
	var list json.RawMessage
	for key, value := range o.All() {
		switch key {
		case "tool_calls", "function_call":
			if _, err := r.fold.Add("tool_calls", null); err != nil {
				return err
			}
			continue
		case "content":
			if value[0] == '[' {
				t, s := r.parts(value)
				thought, text = thought+t, text+s
			}
		case "reasoning_details":
			list = value
		}
		if r.drops(key) {
			continue
		}
		fresh, err := r.fold.Add(key, value)
		if err != nil {
			return &uzda.ProviderError{Code: "unknown", Message: "the reply can't be read: " + err.Error(), Err: err}
		}
		switch key {
		case "content", "refusal":
			if fresh == "" && value[0] == '"' && r.fold.Text(key) == nil { // a part of an array by now
				fresh = r.text.piece(value)
			}
			text += fresh
		case "reasoning_content", "reasoning", "reasoning_text", "thinking":
			if thought == "" {
				thought = fresh
			}
		}
	}
	if thought == "" && list != nil {
		thought = details(list)
	}
	if r.Markup {
		var aside string
		aside, text = r.think.add(text)
		thought += aside
	}
	r.show(&r.thought, thought)
	r.show(&r.text, text)
	return r.call(o.Get("tool_calls"), o.Get("function_call"), whole)
}

var null = json.RawMessage("null")

// says whether a value is there and says something.
func says(v json.RawMessage) bool {
	switch string(v) {
	case "", "null", `""`, "false", "{}", "[]":
		return false
	}
	return true
}

// fault makes the error of an error that the service sent.
func (r *reply) fault(data []byte) error {
	if calls := r.failedCalls(data); calls != nil {
		r.recovered(calls)
		r.finish.word = "tool_calls"
		return nil
	}
	e := r.got.Event(data)
	if r.began && e.Retryable() {
		e.Code = "cut" // what failed may pass when it is asked again
	}
	return e
}
