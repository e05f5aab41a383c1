// Command custommodel gives an agent a model that Uzda does not know: here a
// service with a protocol of its own, which this program serves itself so that it
// runs anywhere. See docs/adding-a-model.md.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"log"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/agent"
	"github.com/uzda-dev/uzda/journal"
	"github.com/uzda-dev/uzda/model/route"
	"github.com/uzda-dev/uzda/session"
)

// Model speaks to the service. It is safe for concurrent use, as it changes
// nothing of itself.
type Model struct{ URL string }

var (
	_ uzda.Model     = Model{}
	_ uzda.Describer = Model{}
)

// Describe says what is known of the model: without a price it would be held at
// the dearest price that is known.
func (m Model) Describe() uzda.ModelInfo {
	return uzda.ModelInfo{ID: "parrot/one", Window: 8000, Free: true}
}

// Stream asks the service and yields its one block and the stop.
func (m Model) Stream(ctx context.Context, req *uzda.Request) iter.Seq2[uzda.Chunk, error] {
	return func(yield func(uzda.Chunk, error) bool) {
		text, err := m.ask(ctx, req)
		if err != nil {
			yield(nil, err)
			return
		}
		_ = yield(uzda.Delta{Kind: "text", Text: text}, nil) &&
			yield(uzda.Done{Block: uzda.Text{Text: text}}, nil) &&
			yield(uzda.Stop{Reason: uzda.StopEnd, Usage: uzda.Usage{Output: len(text) / 4, AtLeast: true}}, nil)
	}
}

func (m Model) ask(ctx context.Context, req *uzda.Request) (string, error) {
	var prompt strings.Builder
	fmt.Fprintln(&prompt, req.Head.System)
	for _, e := range req.View {
		fmt.Fprintf(&prompt, "%s: %s\n", e.Message.Role, e.Message.String())
	}
	fmt.Fprintln(&prompt, req.Tail)
	body, err := json.Marshal(map[string]any{"prompt": prompt.String(), "most": req.Max})
	if err != nil {
		return "", err
	}
	call, err := http.NewRequestWithContext(ctx, http.MethodPost, m.URL, bytes.NewReader(body))
	if err != nil {
		return "", err
	}
	resp, err := http.DefaultClient.Do(call)
	if ctx.Err() != nil {
		return "", context.Cause(ctx) // a cancel is no fault of the service
	}
	if err != nil {
		return "", &uzda.ProviderError{Code: "network", Message: err.Error(), Hint: "is the service running?", Err: err}
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	switch {
	case err != nil:
		return "", &uzda.ProviderError{Code: "network", Message: err.Error(), Err: err}
	case resp.StatusCode == http.StatusServiceUnavailable: // what route.Retry waits for
		return "", &uzda.ProviderError{Code: "overloaded", Status: resp.StatusCode, Message: string(raw)}
	case resp.StatusCode != http.StatusOK:
		return "", &uzda.ProviderError{Code: "invalid_request", Status: resp.StatusCode, Message: string(raw)}
	}
	var reply struct {
		Text string `json:"text"`
	}
	if err := json.Unmarshal(raw, &reply); err != nil {
		return "", &uzda.ProviderError{Code: "unknown", Message: "the service answered with no JSON: " + err.Error(), Err: err}
	}
	return strings.ToValidUTF8(reply.Text, "\uFFFD"), nil
}

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	url, stop, err := serve()
	if err != nil {
		return err
	}
	defer stop()
	host := session.New(session.Config{
		Store: journal.Memory(),
		Agents: map[string]agent.Agent{"parrot": {
			Model:  &route.Retry{Model: Model{URL: url}}, // busy once, as it is, it is asked again
			System: "You repeat what you are told.",
		}},
	})
	defer func() {
		if err := host.Close(); err != nil {
			log.Print(err)
		}
	}()
	answer, err := host.Ask(ctx, "parrot", "Pieces of eight!")
	if err != nil {
		return err // a *uzda.Outcome: it says how the turn ended, and why
	}
	fmt.Println(answer)
	return nil
}

// serve is the service: it is busy at first, then repeats the last line.
func serve() (url string, stop func(), err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	first := make(chan bool, 1)
	first <- true
	s := &http.Server{ReadHeaderTimeout: time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-first:
			http.Error(w, "come back later", http.StatusServiceUnavailable)
			return
		default:
		}
		var in struct{ Prompt string }
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		lines := strings.Split(strings.TrimSpace(in.Prompt), "\n")
		_, said, _ := strings.Cut(lines[len(lines)-1], ": ")
		if err := json.NewEncoder(w).Encode(map[string]string{"text": said}); err != nil {
			log.Print(err)
		}
	})}
	go s.Serve(l) //nolint:errcheck // it ends when it is closed
	return "http://" + l.Addr().String(), func() { _ = s.Close() }, nil
}
