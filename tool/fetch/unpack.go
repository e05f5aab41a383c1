package fetch

import (
	"bufio"
	"compress/flate"
	"compress/zlib"
	"io"
)

// lazy opens a decoder at the first read, since an empty body has no header.
type lazy struct {
	from io.Reader
	open func(io.Reader) (io.Reader, error)
	to   io.Reader
}

func (l *lazy) Read(p []byte) (int, error) {
	if l.to == nil {
		b := bufio.NewReader(l.from)
		if _, err := b.Peek(1); err != nil {
			return 0, err
		}
		to, err := l.open(b)
		if err != nil {
			return 0, err
		}
		l.to = to
	}
	return l.to.Read(p)
}

// inflate reads deflate with its zlib header, as the standard has it, and without,
// as some servers send it.
func inflate(r io.Reader) (io.Reader, error) {
	b := bufio.NewReader(r)
	if h, err := b.Peek(2); err == nil && h[0]&15 == 8 && (int(h[0])<<8|int(h[1]))%31 == 0 {
		return zlib.NewReader(b)
	}
	return flate.NewReader(b), nil
}
