package wire_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/internal/wire"
)

// direct has a transport as it is made for the program, with none of the
// machine's proxies.
func direct(t *testing.T) *wire.Client {
	t.Helper()
	tr, err := wire.Transport(func(string) string { return "" })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(tr.CloseIdleConnections)
	return &wire.Client{HTTP: &http.Client{Transport: tr}}
}

// A body of many parts, some empty and some large, arrives as it is, with its
// length, also a second time on the same connection.
func TestParts(t *testing.T) {
	t.Parallel()
	var got bytes.Buffer
	var length int64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got.Reset()
		length = r.ContentLength
		if _, err := got.ReadFrom(r.Body); err != nil {
			t.Error(err)
		}
		fmt.Fprint(w, "{}")
	}))
	defer s.Close()
	c := direct(t)
	for _, parts := range [][][]byte{
		{[]byte("one"), nil, []byte("two"), {}},
		{bytes.Repeat([]byte("0123456789"), 100_000), []byte("end")},
		{nil, bytes.Repeat([]byte("x"), 256<<10), bytes.Repeat([]byte("y"), 256<<10+1)},
	} {
		want := bytes.Join(parts, nil)
		r, err := c.Do(t.Context(), wire.Call{URL: s.URL, Body: parts})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.Bytes(0); err != nil {
			t.Fatal(err)
		}
		r.Body.Close()
		if !bytes.Equal(got.Bytes(), want) || length != int64(len(want)) {
			t.Errorf("%d bytes of %d, length %d", got.Len(), len(want), length)
		}
	}
}

// A server answers without reading the body, and neither reads on nor closes: the
// call ends, and the parts are the caller's again. The race detector sees if not.
func TestEarlyReply(t *testing.T) {
	t.Parallel()
	for name, reply := range map[string]string{
		"an error":  "HTTP/1.1 413 Too Large\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}",
		"a reply":   "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}",
		"no length": "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n{}",
		"nothing":   "",
	} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan struct{})
		go func() {
			defer close(done)
			c, err := l.Accept()
			if err != nil {
				return
			}
			defer c.Close()
			if _, err := bufio.NewReader(c).ReadString('\n'); err != nil {
				t.Error(err)
			}
			if _, err := io.WriteString(c, reply); err != nil {
				t.Error(err)
			}
			<-t.Context().Done()
		}()
		t.Cleanup(func() { <-done; l.Close() })
		c := direct(t)
		c.First = 300 * time.Millisecond // for nothing
		parts := [][]byte{make([]byte, 16<<20)}
		began := time.Now()
		r, err := c.Do(t.Context(), wire.Call{URL: "http://" + l.Addr().String(), Body: parts})
		if err == nil {
			head := make([]byte, 2)
			if _, err := io.ReadFull(r.Body, head); err != nil || string(head) != "{}" {
				t.Errorf("%s: %q, %v", name, head, err)
			}
			r.Body.Close()
		} else if e := (*uzda.ProviderError)(nil); !errors.As(err, &e) || reply == "" && e.Code != "network" {
			t.Errorf("%s: %v", name, err)
		}
		if d := time.Since(began); d > time.Minute {
			t.Errorf("%s: it took %s", name, d)
		}
		for i := range parts[0] {
			parts[0][i] = 1
		}
	}
}
