package session_test

import (
	"context"
	"errors"
	"iter"
	"strings"
	"testing"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/agent"
	"github.com/uzda-dev/uzda/journal"
	"github.com/uzda-dev/uzda/model/script"
	"github.com/uzda-dev/uzda/policy"
	"github.com/uzda-dev/uzda/session"
)

// What the view can't hold is refused at the door, and so is what the journal
// can't hold: nothing of it is stored.
func TestPostRefused(t *testing.T) {
	t.Parallel()
	store := journal.Memory()
	h := host(t, store, map[string]agent.Agent{"a": {Model: script.Model{Turns: []script.Turn{turn("x")}}}}, manual)
	id, err := h.Open(t.Context(), uzda.Opening{Agent: "a"})
	if err != nil {
		t.Fatal(err)
	}
	for want, blocks := range map[string]uzda.Blocks{
		"not uzda.ToolUse":    {uzda.ToolUse{ID: "1.1", Name: "x"}},
		"not uzda.ToolResult": {uzda.Text{Text: "x"}, uzda.ToolResult{Use: "1.1"}},
		"not uzda.Thinking":   {uzda.Thinking{Text: "x"}},
		"is empty":            uzda.Say(" \n"),
		"too large":           uzda.Say(strings.Repeat("x", 65<<20)),
	} {
		if _, err := h.Post(t.Context(), id, uzda.Posted{Blocks: blocks}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q: %v", want, err)
		}
	}
	if n := len(events(t, store, id)); n != 1 {
		t.Errorf("%d events are stored", n)
	}
	if answer, err := h.Say(t.Context(), id, "go"); err != nil || answer != "x" {
		t.Errorf("and then: %q, %v", answer, err)
	}
}

// A long result that is delivered is cut as one of a tool is, and hides secrets.
func TestDeliveredIsCut(t *testing.T) {
	t.Parallel()
	store := journal.Memory()
	h := host(t, store, map[string]agent.Agent{"a": {Model: script.Model{Turns: []script.Turn{turn("", "later"), turn("x")}}, Tools: []uzda.Tool{later{}}}},
		manual, func(c *session.Config) { c.Redact = policy.NewSecrets(map[string]string{"KEY": "s3cr3t-value"}) })
	_, err := h.Ask(t.Context(), "a", "go")
	var o *uzda.Outcome
	if !errors.As(err, &o) || o.Reason != uzda.WaitResult {
		t.Fatalf("got %v", err)
	}
	s, err := h.State(t.Context(), o.Session)
	if err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("s3cr3t-value \xff", 20_000)
	if _, err := h.Post(t.Context(), o.Session, uzda.Delivered{Result: uzda.ToolResult{Use: s.Uses[0].ID, Blocks: uzda.Say(long), People: uzda.Say(long)}}); err != nil {
		t.Fatal(err)
	}
	if s, err = h.Run(t.Context(), o.Session); err != nil || s.Ended == nil {
		t.Fatalf("got %+v, %v", s, err)
	}
	r := s.View[2].Message.Results()[0]
	if got := r.Blocks.String(); len(got) > 32_000 || r.Full == nil || strings.Contains(got+r.People.String(), "s3cr3t") || !strings.Contains(got, "read_output") {
		t.Errorf("%d bytes, full %v: %.100s", len(got), r.Full, got)
	}
}

type later struct{}

func (later) Spec() uzda.ToolSpec { return uzda.ToolSpec{Name: "later"} }

func (later) Call(context.Context, uzda.Use) (uzda.Result, error) {
	return uzda.Result{Pending: &uzda.Pending{On: "result"}}, nil
}

// What is posted before a session is opened waits for that, and then runs.
func TestPostBeforeOpen(t *testing.T) {
	t.Parallel()
	h := host(t, journal.Memory(), map[string]agent.Agent{"a": {Model: script.Model{Turns: []script.Turn{turn("x")}}}})
	const id = uzda.SessionID("early")
	if _, err := h.Post(t.Context(), id, uzda.Posted{Blocks: uzda.Say("go")}); err != nil {
		t.Fatal(err)
	}
	if _, err := h.Run(t.Context(), id); !errors.Is(err, uzda.ErrNotFound) {
		t.Errorf("it ran without an agent: %v", err)
	}
	for range 2 {
		if _, err := h.Open(t.Context(), uzda.Opening{ID: id, Agent: "a", Dir: "/work"}); err != nil {
			t.Fatal(err)
		}
	}
	if end := ended(t, h, id); end.Reason != uzda.EndTurn {
		t.Errorf("ended %+v", end)
	}
	if s, err := h.State(t.Context(), id); err != nil || s.Opened.Dir != "/work" || s.Opened.Agent != "a" {
		t.Errorf("opened %+v, %v", s.Opened, err)
	}
}

// Whatever people write is looked at for secrets before it is stored.
func TestPostHidesSecrets(t *testing.T) {
	t.Parallel()
	store := journal.Memory()
	const value = "s3cr3t-value"
	h := host(t, store, nil, func(c *session.Config) { c.Redact = policy.NewSecrets(map[string]string{"KEY": value}) })
	id, err := h.Open(t.Context(), uzda.Opening{Agent: "a"})
	if err != nil {
		t.Fatal(err)
	}
	said := uzda.Say("it is " + value)
	for _, in := range []uzda.Input{
		uzda.Posted{Blocks: append(said, uzda.Media{Type: "text/plain", Name: value, Data: []byte(value)}, uzda.Opaque{Origin: "x", Raw: []byte(`{"k":"` + value + `"}`)})},
		uzda.Answered{Use: "1.1", Verdict: uzda.Verdict{Decision: uzda.Deny, Reason: value}},
		uzda.Cancelled{Why: value}, uzda.Noted{Text: value},
		uzda.Delivered{Result: uzda.ToolResult{Use: "1.1", Blocks: said, People: said}},
	} {
		if _, err := h.Post(t.Context(), id, in); err != nil {
			t.Fatal(err)
		}
	}
	for _, e := range events(t, store, id) {
		line, err := uzda.Seal(&e, nil)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(line.Body), value) || strings.Contains(string(line.Body), "czNjcjN0LXZhbHVl") {
			t.Errorf("%s holds the secret: %s", e.Body.Kind(), line.Body)
		}
	}
}

// halting is a store whose reads stop until they may go on.
type halting struct {
	*journal.Mem
	go1 <-chan struct{}
}

func (s halting) Read(ctx context.Context, id uzda.SessionID, after uzda.Seq) iter.Seq2[uzda.Event, error] {
	return func(yield func(uzda.Event, error) bool) {
		<-s.go1
		s.Mem.Read(ctx, id, after)(yield)
	}
}

// A watcher that was slow at first gets no deltas of a reply that it has had from
// the journal already.
func TestNoStaleDeltas(t *testing.T) { // L10
	t.Parallel()
	mem, gate := journal.Memory(), make(chan struct{})
	h := host(t, halting{mem, gate}, map[string]agent.Agent{"a": {Model: script.Model{Turns: []script.Turn{turn("One two three four five.")}}}}, manual)
	runs := host(t, mem, nil)
	id, err := runs.Open(t.Context(), uzda.Opening{Agent: "a"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := runs.Post(t.Context(), id, uzda.Posted{Blocks: uzda.Say("go")}); err != nil {
		t.Fatal(err)
	}
	began, seen := make(chan struct{}), make(chan []string)
	go func() {
		var kinds []string
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		close(began)
		for e, err := range h.Watch(ctx, id, 0) {
			if err != nil {
				t.Error(err)
				break
			}
			kinds = append(kinds, e.Body.Kind())
			if e.Body.Kind() == "noted" {
				break
			}
		}
		seen <- kinds
	}()
	<-began
	for h.Live() == 0 { // it follows, and its first read stands still
	}
	run := make(chan error)
	go func() { _, err := h.Run(t.Context(), id); run <- err }()
	close(gate)
	if err := <-run; err != nil {
		t.Fatal(err)
	}
	if _, err := h.Post(t.Context(), id, uzda.Noted{Text: "end"}); err != nil {
		t.Fatal(err)
	}
	kinds := <-seen
	said := false
	for _, k := range kinds {
		if said = said || k == "said"; said && k == "streaming" {
			t.Fatalf("a delta after its reply: %v", kinds)
		}
	}
}

// An edit that is posted again is the first one.
func TestEditTwice(t *testing.T) {
	t.Parallel()
	store := journal.Memory()
	h := host(t, store, map[string]agent.Agent{"a": {Model: script.Model{Turns: []script.Turn{turn("one"), turn("two")}}}}, manual)
	id, err := h.Open(t.Context(), uzda.Opening{Agent: "a"})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := h.Say(t.Context(), id, "go"); err != nil {
			t.Fatal(err)
		}
	}
	s, err := h.State(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	e := uzda.Edited{ID: "e", What: "compact", From: s.View[0].Seq, To: s.View[1].Seq,
		With: []uzda.Entry{{Seq: s.View[0].Seq, Message: uzda.Message{Role: uzda.User, Blocks: uzda.Say("in short")}}}}
	first, err := h.Post(t.Context(), id, e)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := h.Post(t.Context(), id, e); err != nil || again != first || len(bodies[uzda.Edited](t, store, id)) != 1 {
		t.Errorf("edited at %d, then at %d, %v", first, again, err)
	}
}

// What is posted to a session that is not there, or was removed just now, does not
// begin one; a message too, where it is said that the session must be there.
func TestPostAfterRemoval(t *testing.T) { // case:S03
	t.Parallel()
	store := journal.Memory()
	h := host(t, store, nil)
	id, err := h.Open(t.Context(), uzda.Opening{Agent: "a"})
	if err != nil {
		t.Fatal(err)
	}
	epoch, err := store.Acquire(t.Context(), id, "test")
	if err == nil {
		_, err = store.Remove(t.Context(), id, epoch, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, in := range []uzda.Input{
		uzda.Posted{Blocks: uzda.Say("go")}, uzda.Answered{Use: "1.1"}, uzda.Cancelled{Why: "x"}, uzda.Noted{Text: "x"},
		uzda.Resolved{Use: "1.1"}, uzda.Delivered{Result: uzda.ToolResult{Use: "1.1"}},
	} {
		post := h.Post
		if _, ok := in.(uzda.Posted); ok {
			post = func(ctx context.Context, id uzda.SessionID, in uzda.Input) (uzda.Seq, error) {
				return h.PostAt(ctx, id, uzda.SomeHead, in)
			}
		}
		if _, err := post(t.Context(), id, in); !errors.Is(err, uzda.ErrNotFound) {
			t.Errorf("%T: %v, want ErrNotFound", in, err)
		}
	}
	for e, err := range store.Read(t.Context(), id, 0) {
		t.Errorf("there is an event: %+v, %v", e, err)
	}
}
