package wire

import (
	"io"
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

// writeTo writes what is left, at most limit bytes.
func (r *partReader) writeTo(w io.Writer, limit int64) (n int64, err error) {
	for err == nil && n < limit && r.part < len(r.parts) {
		var m int
		r.sent()
		m, err = r.write(w, limit-n)
		n += int64(m)
	}
	return n, err
}

// most is how much is written at a time.
const most = 256 << 10

// write writes a piece of a part. Who ends the payload meanwhile waits for it, but
// not for long: the connection of an exchange that is over is closed.
func (r *partReader) write(w io.Writer, limit int64) (n int, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.over {
		return 0, io.ErrClosedPipe
	}
	piece := r.parts[r.part][r.at:]
	if piece = piece[:min(int64(len(piece)), most, limit)]; len(piece) > 0 {
		n, err = w.Write(piece)
	}
	if r.at += n; r.at == len(r.parts[r.part]) {
		r.part, r.at = r.part+1, 0
	}
	return n, err
}

func (r *partReader) Close() error { return nil }
