package wire_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/internal/wire"
)

// counted counts the connections that are open.
type counted struct {
	net.Conn
	open *atomic.Int64
	once sync.Once
}

func (c *counted) Close() error {
	c.once.Do(func() { c.open.Add(-1) })
	return c.Conn.Close()
}

const goodStream = "data: one\n\ndata: two\n\n: keep-alive\n\ndata: three\n\ndata: end\n\n"

// faulty answers with a fault that the path names by a number.
func faulty(w http.ResponseWriter, r *http.Request) {
	seed := uint64(len(r.URL.Path)) // the path is s, n times x
	rnd := rand.New(rand.NewPCG(seed, 7))
	_, _ = io.Copy(io.Discard, r.Body)
	flush := w.(http.Flusher).Flush
	kind := rnd.IntN(10)
	body := goodStream
	if kind < 3 { // 0 cut, 1 reset, 2 wrong length
		conn, rw, err := w.(http.Hijacker).Hijack()
		if err != nil {
			return
		}
		defer conn.Close()
		length := len(body)
		if kind == 2 {
			length += rnd.IntN(100) - 50
		}
		whole := fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: %d\r\n\r\n%s", max(length, 1), body)
		_, _ = rw.WriteString(whole[:rnd.IntN(len(whole))])
		_ = rw.Flush()
		if kind == 1 {
			_ = conn.(*net.TCPConn).SetLinger(0)
		}
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	cut := rnd.IntN(len(body))
	switch kind {
	case 3: // stalls
		fmt.Fprint(w, body[:cut])
		flush()
		<-r.Context().Done()
	case 4: // only keep-alives
		for r.Context().Err() == nil {
			fmt.Fprint(w, ": keep-alive\n\n")
			flush()
			time.Sleep(2 * time.Millisecond)
		}
	case 5: // no headers
		<-r.Context().Done()
	case 6: // refused
		w.WriteHeader(400 + rnd.IntN(150))
		fmt.Fprint(w, body[:cut])
	case 7: // an endless one
		for r.Context().Err() == nil {
			if _, err := fmt.Fprint(w, "data: more\n\n"); err != nil {
				return
			}
		}
	case 8: // a panic in the middle
		fmt.Fprint(w, body[:cut])
		flush()
		panic(http.ErrAbortHandler)
	default: // byte by byte
		for i := range len(body) {
			fmt.Fprint(w, body[i:i+1])
			flush()
		}
	}
}

// Thousands of streams that break in all ways leave no goroutine (see TestMain) and
// no connection, end with an error of this package or the caller's, and in time.
// UZDA_FULL=1 makes it 10,000.
func TestNoLeaks(t *testing.T) {
	t.Parallel()
	n := 2000
	if os.Getenv("UZDA_FULL") == "1" {
		n = 10000
	}
	s := httptest.NewUnstartedServer(http.HandlerFunc(faulty))
	s.Config.ErrorLog = quiet()
	s.Start()
	tr, err := wire.Transport(func(string) string { return "" })
	if err != nil {
		t.Fatal(err)
	}
	var open, dials atomic.Int64
	tr.DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := (&net.Dialer{}).DialContext(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		open.Add(1)
		dials.Add(1)
		return &counted{Conn: conn, open: &open}, nil
	}
	client := wire.Client{HTTP: &http.Client{Transport: tr}, First: 40 * time.Millisecond, Idle: 40 * time.Millisecond, Quiet: 60 * time.Millisecond}
	key := &wire.Key{}
	var wg sync.WaitGroup
	next := make(chan int)
	ends := map[string]int{}
	var mu sync.Mutex
	for range 16 {
		wg.Go(func() {
			for i := range next {
				end := oneStream(t, &client, key, s.URL+"/"+strings.Repeat("x", i%1500), i)
				mu.Lock()
				ends[end]++
				mu.Unlock()
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	wg.Wait()
	tr.CloseIdleConnections()
	s.Close()
	for deadline := time.Now().Add(10 * time.Second); open.Load() > 0 && time.Now().Before(deadline); {
		time.Sleep(10 * time.Millisecond)
	}
	if left := open.Load(); left != 0 {
		t.Errorf("%d connections are left open", left)
	}
	t.Logf("%d streams over %d connections ended as %v", n, dials.Load(), ends)
}

// oneStream reads one stream through a Retry, and says how it ended. Some readers
// leave, some cancel.
func oneStream(t *testing.T, c *wire.Client, key *wire.Key, url string, i int) string {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	if i%7 == 0 {
		time.AfterFunc(time.Duration(i%20)*time.Millisecond, cancel)
	}
	from := time.Now()
	seq := wire.Retry{Tries: 1}.Stream(ctx, key, func(ctx context.Context) iter.Seq2[uzda.Chunk, error] {
		return func(yield func(uzda.Chunk, error) bool) {
			if err := follower(ctx, c, url, yield, i%5 == 0); err != nil {
				yield(nil, err)
			}
		}
	})
	_, err := stream(seq)
	if took := time.Since(from); took > time.Minute {
		t.Errorf("stream %d took %v", i, took)
	}
	var p *uzda.ProviderError
	switch {
	case err == nil:
		return "whole"
	case errors.Is(err, context.Canceled):
		return "cancelled"
	case errors.As(err, &p):
		return p.Code
	case errors.Is(err, io.ErrUnexpectedEOF):
		return "without a stop"
	}
	t.Errorf("stream %d ended with %v (%T)", i, err, err)
	return "?"
}

// follower reads piece by piece; early leaves after the first.
func follower(ctx context.Context, c *wire.Client, url string, yield func(uzda.Chunk, error) bool, early bool) error {
	r, err := c.Do(ctx, wire.Call{URL: url, Body: parts("ask", strings.Repeat("y", 3000))})
	if err != nil {
		return err
	}
	defer r.Body.Close()
	r.Kind()
	buf, all, began := make([]byte, 64), "", false
	for {
		n, err := r.Body.Read(buf)
		if all += string(buf[:n]); len(all) > 100_000 {
			return wire.Broken(errors.New("endless"), began)
		}
		if strings.Contains(string(buf[:n]), "data:") {
			r.Progress()
			began = true
			if !yield(uzda.Delta{Kind: "text", Text: "x"}, nil) || early {
				return nil
			}
		}
		if strings.Contains(all, "data: end\n") {
			yield(uzda.Stop{Reason: uzda.StopEnd}, nil)
			return nil
		}
		if err != nil {
			return wire.Broken(err, began)
		}
	}
}
