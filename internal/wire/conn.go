package wire

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http/httptrace"
)

// dialling makes connections that send a payload as it lies in memory, with the
// header before it in one call of the system. What net.TCPConn does costs a buffer
// and a copy for each request; net/http sends the header alone.
func dialling(d *net.Dialer) func(ctx context.Context, network, addr string) (net.Conn, error) {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := d.DialContext(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return &conn{Conn: c}, nil
	}
}

// A conn is used by one request at a time.
type conn struct {
	net.Conn
	awaits bool   // a payload comes behind the next header
	header []byte // held back for it
}

// awaiting tells the connection that a request gets of the payload to come.
var awaiting = &httptrace.ClientTrace{GotConn: func(info httptrace.GotConnInfo) {
	if c, ok := info.Conn.(*conn); ok { // not so over TLS
		c.awaits = true
	}
}}

var headerEnd = []byte("\r\n\r\n")

// Write implements io.Writer. What is a header and no more is held back: where a
// wrapper of the client has put a body of its own in, that comes along with it.
func (c *conn) Write(p []byte) (int, error) {
	if c.awaits && bytes.Index(p, headerEnd) == len(p)-len(headerEnd) {
		c.header = append(c.header[:0], p...)
		return len(p), nil
	}
	return c.Conn.Write(p)
}

// ReadFrom implements io.ReaderFrom, by which net/http hands the body of a request
// over where there is no TLS.
func (c *conn) ReadFrom(r io.Reader) (int64, error) {
	header := c.header
	c.awaits, c.header = false, c.header[:0]
	l, _ := r.(*io.LimitedReader)
	var payload *partReader
	if l != nil {
		payload, _ = l.R.(*partReader)
	}
	if len(header) > 0 && (payload == nil || racing) {
		if _, err := c.Conn.Write(header); err != nil {
			return 0, err
		}
		header = nil
	}
	if payload == nil {
		return io.Copy(struct{ io.Writer }{c.Conn}, r)
	}
	n, err := payload.writeTo(c.Conn, header, l.N)
	l.N -= n
	return n, err
}
