// Command server puts an agent behind HTTP, with a person who approves what
// cannot be taken back:
//
//	POST /tasks            {"text":"..."}                       begins; returns the session
//	GET  /tasks/ID                                              where it stands, what it asks
//	POST /tasks/ID/answer  {"use":"4.1","hash":"...","allow":true}  answers; the session goes on
//
// Sessions are in a SQLite file: stop the server while one waits for an
// approval, start it again, answer, and it goes on.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"time"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/agent"
	"github.com/uzda-dev/uzda/model/script"
	"github.com/uzda-dev/uzda/policy"
	"github.com/uzda-dev/uzda/session"
	"github.com/uzda-dev/uzda/sqlite"
	"github.com/uzda-dev/uzda/tool"
)

// pay stands for the service that moves the money. It takes the same key for
// every attempt of one refund, so that it can tell a repeat.
type pay func(ctx context.Context, key, order string, cents int) error

// refund runs once for the same order and amount, whatever crashes or repeats.
// A person sees the exact arguments before it runs.
func refund(with pay) uzda.Tool {
	return tool.Func[refundInput, string]{
		Name:        "refund_order",
		Description: "Pay an order back. Use only when the user asks for a refund and names the order; not to look anything up. The amount is in cents.",
		Effects:     uzda.Effects{Irreversible: true},
		Once:        true,
		Call: func(ctx context.Context, in refundInput) (string, error) {
			use, _ := tool.UseFrom(ctx)
			return fmt.Sprintf("refunded %d cents of %s", in.Cents, in.OrderID), with(ctx, use.Key, in.OrderID, in.Cents)
		},
	}.Tool()
}

type refundInput struct {
	OrderID string `json:"order_id" doc:"for example ORD-10422"`
	Cents   int    `json:"cents" doc:"amount in cents, for example 1999"`
}

var model = script.Model{Name: "example", Turns: []script.Turn{
	{Text: "I pay it back.", Calls: []script.Call{{Name: "refund_order", Input: `{"order_id":"ORD-10422","cents":1999}`}}},
	{Text: "Done: {{result.1.text}}."},
}}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	listener, err := net.Listen("tcp", "127.0.0.1:8080")
	if err == nil {
		log.Printf("listening on http://%s", listener.Addr())
		err = serve(ctx, listener, "server.uzda", func(_ context.Context, key, order string, cents int) error {
			log.Printf("refund %s of %d cents, key %s", order, cents, key)
			return nil
		})
	}
	if err != nil {
		log.Fatal(err)
	}
}

// serve answers until ctx ends. The sessions are in the file store.
func serve(ctx context.Context, listener net.Listener, store string, with pay) error {
	db, err := sqlite.Open(store)
	if err != nil {
		return err
	}
	host := session.New(session.Config{Store: db, Agents: map[string]agent.Agent{"support": {
		Model:  model,
		System: "You help the shop's support people with refunds.",
		Tools:  []uzda.Tool{refund(with)},
		Gates:  []uzda.Gate{policy.Gate{}}, // asks about what cannot be taken back
	}}})
	if _, err := host.Recover(ctx); err != nil { // what the last process left unfinished
		return errors.Join(err, host.Close(), db.Close())
	}
	server := &http.Server{Handler: handler(host), ReadHeaderTimeout: 5 * time.Second}
	stop := context.AfterFunc(ctx, func() { server.Close() }) //nolint:errcheck // it is over anyway
	defer stop()
	err = server.Serve(listener)
	if errors.Is(err, http.ErrServerClosed) {
		err = nil
	}
	return errors.Join(err, host.Close(), db.Close())
}

type task struct {
	Session uzda.SessionID `json:"session"`
	Status  string         `json:"status"`
	Answer  string         `json:"answer,omitempty"`
	Asks    []ask          `json:"asks,omitempty"`
}

type ask struct {
	Use   uzda.UseID      `json:"use"`
	Tool  string          `json:"tool"`
	Input json.RawMessage `json:"input"`
	Hash  string          `json:"hash"`
	Why   string          `json:"why"`
}

func handler(host *session.Host) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /tasks", func(w http.ResponseWriter, r *http.Request) {
		var in struct{ Text string }
		if !read(w, r, &in) {
			return
		}
		id, err := host.Open(r.Context(), uzda.Opening{Agent: "support"})
		if err == nil {
			_, err = host.Post(r.Context(), id, uzda.Posted{Blocks: uzda.Say(in.Text)})
		}
		reply(w, task{Session: id, Status: "running"}, err)
	})
	mux.HandleFunc("GET /tasks/{id}", func(w http.ResponseWriter, r *http.Request) {
		t, err := look(r.Context(), host, uzda.SessionID(r.PathValue("id")))
		reply(w, t, err)
	})
	mux.HandleFunc("POST /tasks/{id}/answer", func(w http.ResponseWriter, r *http.Request) {
		var in struct {
			Use   uzda.UseID
			Hash  string
			Allow bool
		}
		if !read(w, r, &in) {
			return
		}
		id := uzda.SessionID(r.PathValue("id"))
		if _, err := look(r.Context(), host, id); err != nil {
			reply(w, nil, err)
			return
		}
		v := uzda.Verdict{Decision: uzda.Deny}
		if in.Allow {
			v.Decision = uzda.Allow
		}
		// The hash is what the person saw. If anything has changed since, the
		// answer does not count and the use is asked for anew.
		_, err := host.Post(r.Context(), id, uzda.Answered{Use: in.Use, Hash: in.Hash, Verdict: v, By: "support"})
		reply(w, task{Session: id, Status: "running"}, err)
	})
	return mux
}

func look(ctx context.Context, host *session.Host, id uzda.SessionID) (task, error) {
	s, err := host.State(ctx, id)
	if err != nil {
		return task{}, err
	}
	t := task{Session: id, Status: "running"}
	if o := s.Outcome(id); o != nil {
		t.Status = string(o.Reason)
		if o.Reason.Outcome() == uzda.Finished {
			t.Answer = o.Answer
		}
	}
	for _, u := range s.Waits() {
		t.Asks = append(t.Asks, ask{u.ID, u.Name, u.Args(), u.Judged.Hash, u.Judged.Verdict.Reason})
	}
	return t, nil
}

func read(w http.ResponseWriter, r *http.Request, v any) bool {
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<20)).Decode(v); err != nil {
		http.Error(w, "the body is no JSON: "+err.Error(), http.StatusBadRequest)
		return false
	}
	return true
}

func reply(w http.ResponseWriter, v any, err error) {
	switch {
	case errors.Is(err, uzda.ErrNotFound):
		http.Error(w, err.Error(), http.StatusNotFound)
	case err != nil:
		http.Error(w, err.Error(), http.StatusInternalServerError)
	default:
		w.Header().Set("Content-Type", "application/json")
		json.NewEncoder(w).Encode(v) //nolint:errcheck // the client has gone
	}
}
