package wire

import (
	"io"
	"net"
	"sync"
)

// payload is the body of a request in parts. It can be read again, for a
// redirect, until it ends: the transport may still send while the reply is
// already over, and then must not touch the parts, which are the caller's.
type payload struct {
	mu    sync.Mutex
	parts [][]byte
	over  bool
	sent  func() // a part went out
}

func (p *payload) size() (n int64) {
	for _, part := range p.parts {
		n += int64(len(part))
	}
	return n
}

func (p *payload) open() (io.ReadCloser, error) { return &partReader{payload: p}, nil }

func (p *payload) end() {
	p.mu.Lock()
	p.over = true
	p.mu.Unlock()
}

// partReader reads a payload from its begin.
type partReader struct {
	*payload
	part, at int
	pieces   [4][]byte // room for those of a write, the header first
}

func (r *partReader) Read(b []byte) (n int, err error) {
	r.sent()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.over {
		return 0, io.ErrClosedPipe
	}
	for n < len(b) && r.part < len(r.parts) {
		c := copy(b[n:], r.parts[r.part][r.at:])
		n, r.at = n+c, r.at+c
		if r.at == len(r.parts[r.part]) {
			r.part, r.at = r.part+1, 0
		}
	}
	if n == 0 && len(b) > 0 {
		return 0, io.EOF
	}
	return n, nil
}

// writeTo writes a header, and what is left, at most limit bytes, which it counts.
func (r *partReader) writeTo(w io.Writer, header []byte, limit int64) (n int64, err error) {
	for err == nil && n < limit && r.part < len(r.parts) {
		var m int64
		r.sent()
		m, err = r.write(w, header, limit-n)
		n += m
		header = nil
	}
	return n, err
}

// most is how much is written at a time.
const most = 256 << 10

// write writes pieces of the parts, in one call of the system where it can. Who ends
// the payload meanwhile waits for it, but not for long: the connection of an
// exchange that is over is closed.
func (r *partReader) write(w io.Writer, header []byte, limit int64) (int64, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.over {
		return 0, io.ErrClosedPipe
	}
	pieces, room := net.Buffers(append(r.pieces[:0], header)), min(most, limit)
	for i, at := r.part, r.at; i < len(r.parts) && room > 0; i, at = i+1, 0 {
		piece := r.parts[i][at:]
		piece = piece[:min(int64(len(piece)), room)]
		pieces, room = append(pieces, piece), room-int64(len(piece))
	}
	n, err := pieces.WriteTo(w)
	n = max(0, n-int64(len(header)))
	r.skip(n)
	return n, err
}

// skip goes on behind what was written, and behind parts that are empty.
func (r *partReader) skip(n int64) {
	for r.part < len(r.parts) {
		left := int64(len(r.parts[r.part]) - r.at)
		if n < left {
			r.at += int(n)
			return
		}
		n, r.part, r.at = n-left, r.part+1, 0
	}
}

func (r *partReader) Close() error { return nil }
