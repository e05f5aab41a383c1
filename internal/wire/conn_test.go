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
	"strings"
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

// wrapped is a transport that gives requests another body, if it has one.
type wrapped struct {
	http.RoundTripper
	body func() io.Reader
}

func (w wrapped) RoundTrip(r *http.Request) (*http.Response, error) {
	if w.body != nil {
		r = r.Clone(r.Context())
		r.Body = io.NopCloser(w.body())
	}
	return w.RoundTripper.RoundTrip(r)
}

// A wrapper of the client may put in a body of its own, and headers that are longer
// than what net/http writes at a time: all of it arrives.
func TestOtherBodies(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		raw, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		fmt.Fprintf(w, "%d %d %d", len(raw), r.ContentLength, len(r.Header.Get("X-Long")))
	}))
	defer s.Close()
	for _, size := range []int{1, 5000, 1 << 20} {
		other := bytes.Repeat([]byte("b"), size)
		for name, body := range map[string]func() io.Reader{
			"as it is":  nil,
			"in memory": func() io.Reader { return bytes.NewReader(other) },
			"a stream":  func() io.Reader { return io.MultiReader(bytes.NewReader(other)) },
		} {
			for _, long := range []int{0, 9000} {
				c := direct(t)
				c.First = 30 * time.Second // it is an error, not a wait for the usual time
				c.HTTP.Transport = wrapped{c.HTTP.Transport, body}
				call := wire.Call{URL: s.URL, Header: http.Header{}, Body: [][]byte{bytes.Repeat([]byte("a"), size)}}
				call.Header.Set("X-Long", strings.Repeat("x", long))
				for range 2 { // again on the same connection
					r, err := c.Do(t.Context(), call)
					if err != nil {
						t.Fatalf("%s: %v", name, err)
					}
					raw, err := r.Bytes(0)
					r.Body.Close()
					if want := fmt.Sprintf("%d %d %d", size, size, long); err != nil || string(raw) != want {
						t.Errorf("%s: %s, %v; want %s", name, raw, err, want)
					}
				}
			}
		}
	}
}

// A request of usual size goes out in one call of the system, its header too.
func TestOneWrite(t *testing.T) {
	t.Parallel()
	if wire.Racing {
		t.Skip("the race detector is told of the header by a write of its own")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	first := make(chan string, 1)
	go func() {
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		buf := make([]byte, 32<<10)
		n, _ := c.Read(buf) // an error shows as nothing
		first <- string(buf[:n])
		_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}")
	}()
	r, err := direct(t).Do(t.Context(), wire.Call{URL: "http://" + l.Addr().String(), Body: [][]byte{[]byte("one "), []byte("two")}})
	if err != nil {
		t.Fatal(err)
	}
	r.Body.Close()
	if got := <-first; !strings.HasPrefix(got, "POST / HTTP/1.1\r\n") || !strings.HasSuffix(got, "\r\n\r\none two") {
		t.Errorf("the first read has %q", got)
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
