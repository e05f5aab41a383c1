package uzda_test

import (
	"strings"
	"testing"
	"time"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/journal/journaltest"
)

func TestSessionID(t *testing.T) {
	t.Parallel()
	for id, good := range map[string]bool{
		"a": true, "0": true, "A-b_c.d": true, "s.7.1-2": true, strings.Repeat("x", 191): true,
		"": false, ".": false, "..": false, ".a": false, "-a": false, "_a": false, "a/b": false, `a\b`: false, "a b": false,
		"a\n": false, "a\x00": false, "é": false, strings.Repeat("x", 192): false, "a:b": false,
	} {
		if err := uzda.SessionID(id).Check(); (err == nil) != good {
			t.Errorf("%q: %v", id, err)
		}
	}
}

// Who may append what, and where: for every kind, as its class says.
func TestAllowed(t *testing.T) {
	t.Parallel()
	classes := map[uzda.Class]int{}
	for _, b := range journaltest.Bodies() {
		class := uzda.ClassOf(b)
		classes[class]++
		for _, at := range []uzda.At{{Head: 3}, {Head: uzda.AnyHead}, {Head: 3, Epoch: 2}, {Head: uzda.AnyHead, Epoch: 2}} {
			want := class == uzda.ClassInbox || at.Epoch != 0 && (class == uzda.ClassOutcome || at.Head != uzda.AnyHead)
			if err := uzda.Allowed("s", at, []uzda.Body{b}); (err == nil) != want {
				t.Errorf("%s at %+v: %v", b.Kind(), at, err)
			}
		}
	}
	if classes[uzda.ClassInbox] < 7 || classes[uzda.ClassDecision] < 8 || classes[uzda.ClassOutcome] < 6 || classes[uzda.ClassTransient] != 0 {
		t.Errorf("classes %v", classes)
	}
	at := uzda.At{Head: 1, Epoch: 1}
	for _, b := range []uzda.Body{uzda.Streaming{}, uzda.Restarted{}, uzda.Unread{Name: "x"}} {
		if uzda.Allowed("s", at, []uzda.Body{uzda.Noted{}, b}) == nil {
			t.Errorf("%s is allowed", b.Kind())
		}
	}
	if uzda.Allowed("s", at, nil) == nil || uzda.Allowed("../s", at, []uzda.Body{uzda.Noted{}}) == nil {
		t.Error("nothing, or a bad id, is allowed")
	}
}

// Every kind that people post has an id, and only those.
func TestInputID(t *testing.T) {
	t.Parallel()
	for _, b := range journaltest.Bodies() {
		_, edited := b.(uzda.Edited)
		if want := uzda.ClassOf(b) == uzda.ClassInbox || edited; (uzda.InputID(b) != "") != want {
			t.Errorf("%s: id %q", b.Kind(), uzda.InputID(b))
		}
		if _, input := b.(uzda.Input); input && uzda.InputID(b) == "" {
			t.Errorf("%s is an input without an id", b.Kind())
		}
	}
}

// What a list says of a session, event by event.
func TestNote(t *testing.T) {
	t.Parallel()
	at := time.Date(2031, 1, 1, 0, 0, 0, 0, time.UTC)
	info := uzda.SessionInfo{ID: "s"}
	for i, step := range []struct {
		body   uzda.Body
		status string
		reason uzda.Reason
	}{
		{uzda.Opened{Agent: "shop", Parent: "p"}, "open", ""},
		{uzda.Posted{Blocks: uzda.Say(" Where is\n\tmy order? " + strings.Repeat("ż", 60))}, "ready", ""},
		{uzda.Equipped{Model: uzda.ModelInfo{ID: "script/x"}}, "ready", ""},
		{uzda.Asked{}, "running", ""},
		{uzda.Posted{Blocks: uzda.Say("second")}, "running", ""},
		{uzda.Said{Usage: uzda.Usage{Input: 3, Output: 4}, Cost: 5}, "running", ""},
		{uzda.Parked{On: uzda.WaitApproval}, "waiting", uzda.WaitApproval},
		{uzda.Posted{Blocks: uzda.Say("third")}, "waiting", uzda.WaitApproval},
		{uzda.Answered{}, "ready", ""}, // a runner has something to look at
		{uzda.Started{}, "running", ""},
		{uzda.Asked{}, "running", ""},
		{uzda.Broken{Usage: uzda.Usage{Input: 1}, Cost: 1}, "running", ""},
		{uzda.Used{Usage: uzda.Usage{Output: 2}, Cost: 2}, "running", ""},
		{uzda.Verified{Usage: uzda.Usage{Output: 1}, Cost: 3}, "running", ""}, // case:B04
		{uzda.Ended{Reason: uzda.MaxCost}, "stopped", uzda.MaxCost},
		{uzda.Posted{Blocks: uzda.Say("fourth")}, "ready", ""},
	} {
		info.Note(uzda.Event{Seq: uzda.Seq(i + 1), At: at.Add(time.Duration(i) * time.Second), Body: step.body})
		if info.Status != step.status || info.Reason != step.reason {
			t.Errorf("after event %d (%s): %s %s, want %s %s", i+1, step.body.Kind(), info.Status, info.Reason, step.status, step.reason)
		}
	}
	want := uzda.SessionInfo{
		ID: "s", Agent: "shop", Model: "script/x", Parent: "p", Title: uzda.Clip("Where is my order? "+strings.Repeat("ż", 60), 80),
		Status: "ready", Head: 16, Created: at, Updated: at.Add(15 * time.Second), Steps: 2, Tokens: 11, Cost: 11,
	}
	if info != want {
		t.Errorf("info %+v\nwant %+v", info, want)
	}
}
