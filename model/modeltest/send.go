package modeltest

import (
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"time"
)

// A sender writes one reply, as well or as badly as it is told to.
type sender struct {
	w     http.ResponseWriter
	ctx   context.Context
	done  <-chan struct{}
	shape Shape

	frames []frame
	rand   *rand.Rand
	zip    *gzip.Writer
	limit  int              // bytes that may go out; -1: all
	began  bool             // some of the reply went out
	broken bool             // nobody reads any more
	cut    Kind             // what happens to the connection in the end
	note   func(whole bool) // keeps what went out, before a client can see the end of it
	said   int              // of the model's words, as far as they went out
}

func (s *sender) headers(all http.Header) {
	for k, v := range all {
		s.w.Header()[http.CanonicalHeaderKey(k)] = v
	}
}

// wait waits, or says that there is nobody to wait for.
func (s *sender) wait(d time.Duration) bool {
	if d <= 0 {
		return s.ctx.Err() == nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-s.ctx.Done():
	case <-s.done:
		s.cut = Cut
	}
	return false
}

// stall waits until the client leaves.
func (s *sender) stall() {
	select {
	case <-s.ctx.Done():
	case <-s.done:
		s.cut = Cut
	}
}

// plain sends a body whole.
func (s *sender) plain(status int, kind string, body []byte) {
	if h := s.w.Header(); h.Get("Content-Type") == "" && len(body) > 0 {
		h.Set("Content-Type", kind)
	}
	s.w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	s.w.WriteHeader(status)
	_, _ = s.w.Write(body) // the client may be gone
}

// early waits as a fault says, and does what comes before the status line; false
// ends the request.
func (s *sender) early(f *Fault) bool {
	if !s.wait(f.Wait) {
		return false
	}
	switch {
	case f.Early && (f.Kind == Cut || f.Kind == Reset):
		s.cut = f.Kind
	case f.Early && f.Kind == Stall:
		s.stall()
	default:
		return true
	}
	return false
}

// play sends the frames of a reply up to the fault, if there is one, and then
// does it.
func (s *sender) play(w wire, f *Fault, stream bool) {
	s.begin(w.content(stream), stream || f != nil && f.Kind == End)
	s.limit = -1
	after := len(s.frames)
	if f != nil && f.Bytes > 0 {
		s.limit = f.Bytes
	} else if f != nil {
		after = min(f.After, after)
	}
	s.write(bytes.Repeat([]byte("\n"), s.shape.Blank))
	for i := 0; i < after && s.limit != 0; i++ {
		if s.broken = s.broken || !s.wait(s.shape.Delay); s.broken {
			break
		}
		s.said, s.began = s.frames[i].said, true
		if f == nil && i == after-1 {
			s.note(true)
		}
		s.write(s.frames[i].data)
	}
	s.limit = -1
	if f != nil || s.broken || after == 0 {
		s.note(f == nil && !s.broken)
	}
	switch {
	case s.broken:
		return
	case f != nil:
		s.fail(w, f, stream)
	}
	if s.zip != nil && s.cut == "" {
		_ = s.zip.Close() // the client may be gone
	}
}

// fail does what a fault says in the middle of a reply.
func (s *sender) fail(w wire, f *Fault, stream bool) {
	switch f.Kind {
	case Cut, Reset:
		s.cut = f.Kind
	case Stall:
		s.stall()
	case Pings:
		every := s.shape.Delay
		if every == 0 {
			every = 10 * time.Millisecond
		}
		for s.wait(every) && !s.broken {
			s.write(w.ping())
		}
	case ErrorEvent:
		body := []byte(f.Body)
		if f.Body == "" {
			status := f.Status
			if status == 0 {
				status = 529
			}
			body = w.failure(failure{status: status, message: statusText(status)})
		}
		if stream {
			body = w.event(body)
		}
		s.write(body)
	}
}

func (s *sender) begin(kind string, stream bool) {
	h := s.w.Header()
	if s.shape.ContentType != "" {
		kind = s.shape.ContentType
	}
	if h.Get("Content-Type") == "" {
		h.Set("Content-Type", kind)
	}
	switch {
	case s.shape.Gzip:
		h.Set("Content-Encoding", "gzip")
		s.zip = gzip.NewWriter(wireWriter{s})
	case stream:
		h.Set("Cache-Control", "no-cache")
	case !s.shape.CRLF:
		size := s.shape.Blank
		for _, f := range s.frames {
			size += len(f.data)
		}
		h.Set("Content-Length", strconv.Itoa(size))
	}
	if s.shape.Seed != 0 {
		s.rand = rand.New(rand.NewPCG(s.shape.Seed, 0))
	}
	s.w.WriteHeader(http.StatusOK)
}

// write sends the bytes of an event.
func (s *sender) write(data []byte) {
	if s.shape.CRLF {
		data = bytes.ReplaceAll(data, []byte("\n"), []byte("\r\n"))
	}
	var err error
	if s.zip != nil {
		if _, err = s.zip.Write(data); err == nil {
			err = s.zip.Flush()
		}
	} else {
		_, err = wireWriter{s}.Write(data)
	}
	s.broken = s.broken || err != nil
}

// A wireWriter sends bytes in pieces, each in its own packet where the network
// leaves them apart, up to the sender's limit.
type wireWriter struct{ s *sender }

func (w wireWriter) Write(data []byte) (int, error) {
	s, n := w.s, len(data)
	for len(data) > 0 && s.limit != 0 {
		size := len(data)
		if s.shape.Write > 0 {
			size = min(size, s.shape.Write)
		}
		if s.rand != nil {
			size = 1 + s.rand.IntN(min(size, 64))
		}
		if s.limit > 0 {
			size = min(size, s.limit)
			s.limit -= size
		}
		if _, err := s.w.Write(data[:size]); err != nil {
			return 0, err
		}
		if err := http.NewResponseController(s.w).Flush(); err != nil {
			return 0, err
		}
		data = data[size:]
	}
	return n, nil
}

// abort breaks the connection, if a fault says so. Nothing may come after it.
func (s *sender) abort() {
	switch s.cut {
	case Reset:
		conn, _, err := http.NewResponseController(s.w).Hijack()
		if err != nil {
			panic(http.ErrAbortHandler) // HTTP/2: a reset of the stream
		}
		if tcp, ok := conn.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0) // closing then resets
		}
		_ = conn.Close()
	case Cut:
		panic(http.ErrAbortHandler)
	}
}

var _ io.Writer = wireWriter{}
