package wire_test

import (
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/internal/wire"
)

// pipes is a network in memory, for simulated time.
type pipes struct {
	conns chan net.Conn
	over  chan struct{}
	once  sync.Once
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.over:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	p.once.Do(func() { close(p.over) })
	return nil
}

func (p *pipes) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 80} }

func (p *pipes) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	here, there := net.Pipe()
	select {
	case p.conns <- there:
		return here, nil
	case <-p.over:
		return nil, errors.New("the server is gone")
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// inMemory serves a handler without a socket, and returns a client for it.
func inMemory(t *testing.T, h http.HandlerFunc) *http.Client {
	t.Helper()
	p := &pipes{conns: make(chan net.Conn), over: make(chan struct{})}
	server := &http.Server{Handler: h}
	go func() { _ = server.Serve(p) }()
	tr, err := wire.Transport(func(string) string { return "" })
	if err != nil {
		t.Fatal(err)
	}
	tr.DialContext = p.dial
	t.Cleanup(func() {
		tr.CloseIdleConnections()
		_ = server.Shutdown(context.Background()) // time is simulated: however long it takes
	})
	return &http.Client{Transport: tr}
}

// serve serves a handler on a real socket, and returns its URL and a client that
// is the test's own.
func serve(t testing.TB, h http.HandlerFunc) (string, *http.Client) {
	t.Helper()
	s := httptest.NewServer(h)
	tr, err := wire.Transport(func(string) string { return "" })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		tr.CloseIdleConnections()
		s.Close()
	})
	return s.URL, &http.Client{Transport: tr}
}

// provider is the ProviderError that err must be.
func provider(t *testing.T, err error) *uzda.ProviderError {
	t.Helper()
	var p *uzda.ProviderError
	if !errors.As(err, &p) {
		t.Fatalf("the error is %v (%T), not a *uzda.ProviderError", err, err)
	}
	return p
}

// parts is a body in two parts.
func parts(a, b string) [][]byte { return [][]byte{[]byte(a), nil, []byte(b)} }

// whole reads a reply to its end and closes it.
func whole(t *testing.T, r *wire.Reply, err error) string {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	raw, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func quiet() *log.Logger { return log.New(io.Discard, "", 0) }
