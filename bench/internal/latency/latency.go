// Package latency measures how long a piece of a reply takes from the service's
// socket to the one who watches the session.
package latency

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/agent"
	"github.com/uzda-dev/uzda/model/openai"
	"github.com/uzda-dev/uzda/session"
)

// word is how many bytes each delta is long: its number and a space.
const word = 6

// A Load is what is measured: some sessions side by side, each with one reply of
// some deltas. Every is how far apart the deltas of a reply are; 0: they come as fast
// as the connection takes them.
type Load struct {
	Sessions int
	Deltas   int
	Every    time.Duration
}

// Delays are the times from the moment before a delta is written to the socket to
// the moment when Watch yields it, sorted, and how many deltas came a second.
type Delays struct {
	All  []time.Duration
	Rate float64
}

// At returns the delay that a share of all is not over.
func (d Delays) At(share float64) time.Duration {
	return d.All[min(len(d.All)-1, int(share*float64(len(d.All))))]
}

// Measure measures a load on a host with a store, in this process, so that one
// clock tells all.
func Measure(ctx context.Context, store uzda.Store, l Load) (Delays, error) {
	f := &feed{Load: l, began: time.Now(), sent: make([]atomic.Int64, l.Sessions*l.Deltas)}
	server := httptest.NewServer(f)
	defer server.Close()
	h := session.New(session.Config{Store: store, Manual: true, Agents: map[string]agent.Agent{"a": {
		Model: openai.Model{ID: "bench", Base: server.URL + "/v1", Key: "sk-bench", Window: 128_000},
	}}})
	ctx, stop := context.WithCancel(ctx)
	defer stop() // a watcher that has seen all ends by itself; one whose session failed by this
	var wait sync.WaitGroup
	delays, errs := make([][]time.Duration, l.Sessions), make([]error, l.Sessions)
	ready := make(chan struct{})
	var opened sync.WaitGroup
	opened.Add(l.Sessions)
	for i := range l.Sessions {
		wait.Go(func() {
			id, err := h.Open(ctx, uzda.Opening{Agent: "a"})
			opened.Done()
			<-ready // all begin together
			if err == nil {
				delays[i], err = f.session(ctx, h, id, i)
			}
			errs[i] = err
		})
	}
	opened.Wait()
	began := time.Now()
	close(ready)
	wait.Wait()
	took := time.Since(began)
	d := Delays{All: slices.Sorted(slices.Values(slices.Concat(delays...))), Rate: float64(l.Sessions*l.Deltas) / took.Seconds()}
	return d, errors.Join(errors.Join(errs...), h.Close())
}

// feed is the service. It notes when it writes each delta.
type feed struct {
	Load
	began time.Time
	sent  []atomic.Int64 // nanoseconds since began, of all sessions' deltas
}

// session runs one session and watches it.
func (f *feed) session(ctx context.Context, h *session.Host, id uzda.SessionID, n int) ([]time.Duration, error) {
	ran := make(chan error, 1)
	out := make([]time.Duration, 0, f.Deltas)
	begun, got := false, 0 // bytes of the reply
	for e, err := range h.Watch(ctx, id, 0) {
		now := time.Since(f.began)
		if err != nil {
			return nil, err
		}
		switch b := e.Body.(type) {
		case uzda.Streaming:
			// Where deltas were joined, the last one's end has just come.
			for got += len(b.Delta.Text); len(out) < got/word; {
				out = append(out, now-time.Duration(f.sent[n*f.Deltas+len(out)].Load()))
			}
		case uzda.Ended:
			if err := <-ran; err != nil {
				return nil, err
			}
			if b.Reason != uzda.EndTurn || len(out) != f.Deltas {
				return nil, fmt.Errorf("session %d ended by %s with %d of %d deltas: %s", n, b.Reason, len(out), f.Deltas, b.Detail)
			}
			return out, nil
		}
		if !begun { // the watcher is there
			begun = true
			go func() {
				_, err := h.Say(ctx, id, "session="+strconv.Itoa(n)+";")
				ran <- err
			}()
		}
	}
	return nil, fmt.Errorf("session %d: the watcher ended: %w", n, context.Cause(ctx))
}

const event = `data: {"id":"chatcmpl-bench","object":"chat.completion.chunk","created":1790000000,"model":"bench","choices":[{"index":0,"delta":%s,"finish_reason":%s}]}` + "\n\n"

// ServeHTTP implements http.Handler.
func (f *feed) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	_, rest, _ := bytes.Cut(body, []byte("session="))
	number, _, _ := bytes.Cut(rest, []byte(";"))
	n, bad := strconv.Atoi(string(number))
	if err = errors.Join(err, bad); err != nil || n >= f.Sessions {
		http.Error(w, fmt.Sprint("which session is this? ", err), http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	fmt.Fprintf(w, event, `{"role":"assistant","content":""}`, "null")
	w.(http.Flusher).Flush() // net/http's is one
	// Services do not speak in chorus.
	next := time.Now()
	if f.Every > 0 {
		next = next.Add(rand.N(f.Every)) //nolint:gosec // no secret
	}
	for i := range f.Deltas {
		line := fmt.Appendf(nil, event, fmt.Sprintf(`{"content":"%0*d "}`, word-1, i), "null")
		time.Sleep(time.Until(next))
		next = next.Add(f.Every)
		f.sent[n*f.Deltas+i].Store(int64(time.Since(f.began)))
		if _, err := w.Write(line); err != nil { // the client says why
			return
		}
		w.(http.Flusher).Flush()
	}
	fmt.Fprintf(w, event+"data: [DONE]\n\n", `{}`, `"stop"`)
}
