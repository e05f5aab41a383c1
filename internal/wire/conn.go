package wire

import (
	"context"
	"io"
	"net"
)

// dialling makes connections that send a payload as it lies in memory. What
// net.TCPConn does costs a buffer and a copy for each request.
func dialling(d *net.Dialer) func(ctx context.Context, network, addr string) (net.Conn, error) {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := d.DialContext(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return conn{c}, nil
	}
}

type conn struct{ net.Conn }

// ReadFrom implements io.ReaderFrom, by which net/http hands the body of a request
// over where there is no TLS.
func (c conn) ReadFrom(r io.Reader) (int64, error) {
	if l, ok := r.(*io.LimitedReader); ok {
		if p, ok := l.R.(*partReader); ok {
			n, err := p.writeTo(c.Conn, l.N)
			l.N -= n
			return n, err
		}
	}
	return io.Copy(struct{ io.Writer }{c.Conn}, r)
}
