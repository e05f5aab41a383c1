package wire_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uzda-dev/uzda/internal/wire"
)

// peer:edge-stall peer:21 case:L10: a stream that has stalled ends with an error
// that names the limit; a slow but steady one is not cut. Before content it may be
// tried again, after it not.
func TestWatchdogs(t *testing.T) {
	t.Parallel()
	send := func(w http.ResponseWriter, s string) {
		fmt.Fprint(w, s)
		w.(http.Flusher).Flush()
	}
	forever := func(r *http.Request) { <-r.Context().Done() }
	for _, c := range []struct {
		name   string
		client wire.Client
		serve  http.HandlerFunc
		after  time.Duration // when the error comes; 0: none
		says   string
	}{
		{"no headers", wire.Client{}, func(_ http.ResponseWriter, r *http.Request) { forever(r) }, 120 * time.Second, "no answer began within 2m0s (limit First)"},
		{"no headers, local", wire.Client{Local: true}, func(_ http.ResponseWriter, r *http.Request) { forever(r) }, 900 * time.Second, "within 15m0s (limit First)"},
		{"no headers, set", wire.Client{First: time.Second}, func(_ http.ResponseWriter, r *http.Request) { forever(r) }, time.Second, "within 1s (limit First)"},
		{"headers only", wire.Client{}, func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusOK)
			w.(http.Flusher).Flush()
			forever(r)
		}, 120 * time.Second, "limit First"},
		{"a late first byte, local", wire.Client{Local: true}, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusOK)
			w.(http.Flusher).Flush()
			time.Sleep(800 * time.Second)
			send(w, "data: 1\n\n")
		}, 0, ""},
		{"silence after content", wire.Client{}, func(w http.ResponseWriter, r *http.Request) {
			for range 3 {
				send(w, "data: 1\n\n")
				time.Sleep(10 * time.Second)
			}
			forever(r)
		}, 140 * time.Second, "not a byte came for 2m0s (limit Idle)"},
		{"silence after content, set", wire.Client{Idle: 3 * time.Second}, func(w http.ResponseWriter, r *http.Request) {
			send(w, "data: 1\n\n")
			forever(r)
		}, 3 * time.Second, "limit Idle"},
		{"silence after content, local", wire.Client{Local: true}, func(w http.ResponseWriter, r *http.Request) {
			send(w, "data: 1\n\n")
			forever(r)
		}, 600 * time.Second, "limit Idle"},
		{"keep-alives after content", wire.Client{}, func(w http.ResponseWriter, r *http.Request) {
			send(w, "data: 1\n\n")
			for r.Context().Err() == nil {
				send(w, ": keep-alive\n\n")
				time.Sleep(15 * time.Second)
			}
		}, 600 * time.Second, "only keep-alives came for 10m0s (limit Quiet)"},
		{"keep-alives before content, local", wire.Client{Local: true}, func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				send(w, ": keep-alive\n\n")
				time.Sleep(15 * time.Second)
			}
		}, 900 * time.Second, "limit Quiet"},
		{"slow but steady", wire.Client{}, func(w http.ResponseWriter, _ *http.Request) {
			for range 60 {
				send(w, "data: 1\n\n")
				time.Sleep(110 * time.Second)
			}
		}, 0, ""},
		{"steady with keep-alives between", wire.Client{}, func(w http.ResponseWriter, _ *http.Request) {
			for range 200 {
				send(w, ": keep-alive\n\n")
				time.Sleep(100 * time.Second)
				send(w, "data: 1\n\n")
			}
		}, 0, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client := c.client
				client.HTTP = inMemory(t, c.serve)
				from := time.Now()
				began, err := follow(t.Context(), &client)
				if c.after == 0 {
					if err != nil {
						t.Fatalf("after %v: %v", time.Since(from), err)
					}
					return
				}
				p := provider(t, wire.Broken(err, began))
				if took := time.Since(from); took != c.after || !strings.Contains(p.Message, c.says) {
					t.Errorf("after %v: %v; want after %v %q", took, p, c.after, c.says)
				}
				if want := map[bool]string{false: "network", true: "cut"}[began]; p.Code != want || p.Retryable() == began {
					t.Errorf("the code is %s, again %v; content had come: %v", p.Code, p.Retryable(), began)
				}
				if !strings.Contains(p.Hint, "or raise the ") {
					t.Errorf("the hint is %q", p.Hint)
				}
			})
		})
	}
}

// follow reads a stream as an adapter does: an event is progress, a comment isn't.
func follow(ctx context.Context, c *wire.Client) (began bool, err error) {
	r, err := c.Do(ctx, wire.Call{URL: "http://model.test/"})
	if err != nil {
		return false, err
	}
	defer r.Body.Close()
	buf := make([]byte, 4096)
	for {
		n, err := r.Body.Read(buf)
		if strings.HasPrefix(string(buf[:n]), "data:") {
			began = true
			r.Progress()
		}
		if err == io.EOF {
			return began, nil
		}
		if err != nil {
			return began, err
		}
	}
}

// A slow upload is no silence, one that stands still is.
func TestUpload(t *testing.T) {
	t.Parallel()
	for _, pause := range []time.Duration{time.Second, time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			hc := inMemory(t, func(w http.ResponseWriter, r *http.Request) {
				buf := make([]byte, 64<<10)
				for {
					if _, err := io.ReadFull(r.Body, buf); err != nil {
						break
					}
					time.Sleep(pause)
				}
				fmt.Fprint(w, "{}")
			})
			from := time.Now()
			r, err := (&wire.Client{HTTP: hc, First: 10 * time.Second}).Do(t.Context(), wire.Call{URL: "http://model.test/", Body: [][]byte{make([]byte, 4<<20)}})
			if pause == time.Second {
				whole(t, r, err)
				if took := time.Since(from); took < time.Minute {
					t.Errorf("the upload took %v: it was not slow", took)
				}
				return
			}
			if p := provider(t, err); !strings.Contains(p.Message, "limit First") {
				t.Errorf("the error is %v", p)
			}
		})
	}
}

// The caller's deadline is the caller's, not a watchdog's.
func TestDeadline(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		hc := inMemory(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		if _, err := (&wire.Client{HTTP: hc}).Do(ctx, wire.Call{URL: "http://model.test/"}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the error is %v", err)
		}
	})
}

// A reply whose end does not come is closed without waiting for it.
func TestCloseEarly(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		gone := make(chan struct{})
		hc := inMemory(t, func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprint(w, "data: 1\n\n")
			w.(http.Flusher).Flush()
			<-r.Context().Done()
			close(gone)
		})
		r, err := (&wire.Client{HTTP: hc}).Do(t.Context(), wire.Call{URL: "http://model.test/"})
		if err != nil {
			t.Fatal(err)
		}
		from := time.Now()
		r.Body.Close()
		if took := time.Since(from); took > 100*time.Millisecond {
			t.Errorf("closing took %v", took)
		}
		<-gone // the server is told
		if _, err := r.Body.Read(make([]byte, 1)); err == nil {
			t.Error("a closed reply is read")
		}
	})
}
