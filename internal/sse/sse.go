// Package sse reads event streams, as model providers send their replies in them.
package sse

import (
	"bytes"
	"fmt"
	"io"
	"iter"
	"sync"
)

// Max is the bound on one event, in bytes, where the caller names none.
const Max = 32 << 20

// chunk is how much is read at a time. An event of a usual delta has some hundred bytes.
const chunk = 16 << 10

// An Event is one event of a stream or a comment, which servers send to show
// that they are alive.
type Event struct {
	Name    string // of its last "event" line; "" means "message"
	Data    []byte // lines joined by "\n"; of a comment its text; good until the next step
	Comment bool
}

// Read yields the events of r by the algorithm of the WHATWG (HTML, section
// 9.2.6): lines may end in CRLF, CR or LF, in any mix, and the first may begin
// with a byte order mark. Two things differ. Comments are yielded too. And what
// stands in front of the end of r is taken as an event even where its blank line
// is missing, as some providers leave out the last one; a browser would drop it.
//
// An event is yielded as soon as its blank line is there, before more is read.
// "id" and "retry" lines are left out, as a reply cannot be resumed. Bytes are
// passed on as they are, valid UTF-8 or not.
//
// The limit is the bound on one event in bytes (0: [Max]); a longer one ends the
// stream in an error. So does an error of r other than io.EOF, as it came; an
// event that was not complete by then is dropped. r is not closed.
func Read(r io.Reader, limit int) iter.Seq2[Event, error] {
	if limit <= 0 {
		limit = Max
	}
	return func(yield func(Event, error) bool) {
		kept := rooms.Get().(*room)
		p := parser{yield: yield, limit: limit, buf: kept.buf[:0], data: kept.data[:0]}
		if err := p.read(r); err != nil {
			yield(Event{}, err)
		}
		if cap(p.buf)+cap(p.data) <= 4*chunk {
			kept.buf, kept.data = p.buf, p.data
		}
		rooms.Put(kept)
	}
}

// A room is the buffers of a stream that is over: most replies are shorter than one.
type room struct{ buf, data []byte }

var rooms = sync.Pool{New: func() any { return &room{make([]byte, 0, chunk), make([]byte, 0, chunk/16)} }}

type parser struct {
	yield func(Event, error) bool
	limit int

	buf    []byte // read and not yet taken as a line
	seen   int    // of buf: known to hold no end of line
	begun  bool   // the first line is past
	skipLF bool   // a CR was the last byte taken: an LF now belongs to it
	done   bool   // the consumer wants no more

	name  string // of the event that is being read
	last  string // the last name of all, to be used again without allocating
	data  []byte
	lines int // of data
}

func (p *parser) read(r io.Reader) error {
	idle := 0
	for {
		p.room()
		n, err := r.Read(p.buf[len(p.buf):cap(p.buf)])
		p.buf = p.buf[:len(p.buf)+n]
		if fault := p.take(); fault != nil || p.done {
			return fault
		}
		switch {
		case err == io.EOF:
			p.end()
			return nil
		case err != nil:
			return err
		case n > 0:
			idle = 0
		default:
			if idle++; idle >= 100 {
				return io.ErrNoProgress
			}
		}
	}
}

// room makes place for the next read.
func (p *parser) room() {
	if cap(p.buf)-len(p.buf) >= chunk/4 {
		return
	}
	bigger := make([]byte, len(p.buf), 2*len(p.buf)+chunk)
	copy(bigger, p.buf)
	p.buf = bigger
}

// take handles the whole lines of buf and keeps what follows them.
func (p *parser) take() error {
	rest := p.buf
	for !p.done {
		if p.skipLF && len(rest) > 0 {
			p.skipLF = false
			if rest[0] == '\n' {
				rest = rest[1:]
			}
		}
		end := lineEnd(rest, p.seen)
		if end < 0 {
			break
		}
		line := rest[:end]
		p.skipLF = rest[end] == '\r'
		rest = rest[end+1:]
		p.seen = 0
		if len(p.data)+len(line) > p.limit {
			return p.tooLong()
		}
		p.line(line)
	}
	p.seen = len(rest)
	if len(rest) < len(p.buf) {
		p.buf = p.buf[:copy(p.buf, rest)]
	}
	if len(p.data)+len(rest) > p.limit {
		return p.tooLong()
	}
	return nil
}

func (p *parser) tooLong() error {
	return fmt.Errorf("read event stream: an event is longer than %d bytes", p.limit)
}

// lineEnd returns the index of the first CR or LF, which is not before from.
func lineEnd(b []byte, from int) int {
	b = b[from:]
	lf := bytes.IndexByte(b, '\n')
	if lf >= 0 {
		b = b[:lf]
	}
	if cr := bytes.IndexByte(b, '\r'); cr >= 0 {
		return from + cr
	}
	if lf >= 0 {
		return from + lf
	}
	return -1
}

func (p *parser) line(line []byte) {
	if !p.begun {
		p.begun = true
		line = bytes.TrimPrefix(line, []byte("\ufeff"))
	}
	if len(line) == 0 {
		p.dispatch()
		return
	}
	field, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	switch string(field) {
	case "":
		p.done = !p.yield(Event{Data: value, Comment: true}, nil)
	case "data":
		if p.lines++; p.lines > 1 {
			p.data = append(p.data, '\n')
		}
		p.data = append(p.data, value...)
	case "event":
		if string(value) != p.last {
			p.last = string(value)
		}
		p.name = p.last
	}
}

func (p *parser) dispatch() {
	if p.lines > 0 {
		p.done = !p.yield(Event{Name: p.name, Data: p.data}, nil)
	}
	p.name, p.data, p.lines = "", p.data[:0], 0
}

// end delivers what the stream ended in.
func (p *parser) end() {
	if len(p.buf) > 0 {
		p.line(p.buf)
	}
	if !p.done {
		p.dispatch()
	}
}
