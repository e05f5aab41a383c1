package main

import (
	"bytes"
	"context"
	"encoding/json"
	"net"
	"net/http"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/uzda-dev/uzda"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("net/http.(*persistConn).readLoop"), goleak.IgnoreTopFunction("net/http.(*persistConn).writeLoop"))
}

// running is the example at work.
type running struct {
	t    *testing.T
	url  string
	stop func()
}

func start(t *testing.T, store string, with pay) *running {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- serve(ctx, listener, store, with) }()
	return &running{t, "http://" + listener.Addr().String(), func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}}
}

// call sends a body, or none, and reads the task that comes back.
func (r *running) call(method, path string, body any) (task, int) {
	r.t.Helper()
	raw, err := json.Marshal(body)
	if err != nil {
		r.t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(r.t.Context(), method, r.url+path, bytes.NewReader(raw))
	if err != nil {
		r.t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	defer res.Body.Close()
	var out task
	if res.StatusCode == http.StatusOK {
		if err := json.NewDecoder(res.Body).Decode(&out); err != nil {
			r.t.Fatal(err)
		}
	}
	return out, res.StatusCode
}

func (r *running) until(id uzda.SessionID, status string) task {
	r.t.Helper()
	var last task
	for range 500 {
		if last, _ = r.call(http.MethodGet, "/tasks/"+string(id), nil); last.Status == status {
			return last
		}
		time.Sleep(10 * time.Millisecond)
	}
	r.t.Fatalf("the task is %+v, not %s", last, status)
	return last
}

type said struct {
	Use   uzda.UseID `json:"use"`
	Hash  string     `json:"hash"`
	Allow bool       `json:"allow"`
}

// A refund waits for a person, across a restart; the answer counts for what was
// shown and nothing else; and the money moves once.
func TestRefund(t *testing.T) { // S1 case:P03
	t.Parallel()
	var refunds atomic.Int32
	with := func(_ context.Context, key, order string, cents int) error {
		if refunds.Add(1); key == "" || order != "ORD-10422" || cents != 1999 {
			t.Errorf("refund %s of %d, key %q", order, cents, key)
		}
		return nil
	}
	store := filepath.Join(t.TempDir(), "server.uzda")
	server := start(t, store, with)
	begun, _ := server.call(http.MethodPost, "/tasks", map[string]string{"text": "Pay ORD-10422 back."})
	asked := server.until(begun.Session, "approval")
	if len(asked.Asks) != 1 || asked.Asks[0].Tool != "refund_order" || asked.Asks[0].Why == "" {
		t.Fatalf("it asks %+v", asked)
	}
	answer := "/tasks/" + string(begun.Session) + "/answer"
	server.call(http.MethodPost, answer, said{asked.Asks[0].Use, "another", true})
	server.stop()

	server = start(t, store, with)
	defer func() { server.stop() }()
	again := server.until(begun.Session, "approval")
	if n := refunds.Load(); n != 0 || again.Asks[0].Hash != asked.Asks[0].Hash {
		t.Fatalf("%d refunds by a wrong hash; it asks %+v", n, again)
	}
	for range 2 {
		server.call(http.MethodPost, answer, said{again.Asks[0].Use, again.Asks[0].Hash, true})
		if done := server.until(begun.Session, "end_turn"); done.Answer != "Done: refunded 1999 cents of ORD-10422." {
			t.Errorf("the answer is %q", done.Answer)
		}
	}
	if n := refunds.Load(); n != 1 {
		t.Errorf("%d refunds", n)
	}
}

// What is wrong with a request is said with the code for it.
func TestRequests(t *testing.T) {
	t.Parallel()
	server := start(t, filepath.Join(t.TempDir(), "server.uzda"), nil)
	defer server.stop()
	if _, code := server.call(http.MethodGet, "/tasks/nosuch", nil); code != http.StatusNotFound {
		t.Errorf("a task that is not there: %d", code)
	}
	if _, code := server.call(http.MethodPost, "/tasks/nosuch/answer", said{"1.1", "x", true}); code != http.StatusNotFound {
		t.Errorf("an answer for a task that is not there: %d", code)
	}
	if _, code := server.call(http.MethodPost, "/tasks", "no object"); code != http.StatusBadRequest {
		t.Errorf("a body of the wrong form: %d", code)
	}
}
