package agent_test

import (
	"context"
	"testing"

	"github.com/uzda-dev/uzda"
)

// nobody denies since nobody can be asked.
type nobody struct{}

func (nobody) Check(context.Context, uzda.Action) (uzda.Verdict, error) {
	return uzda.Verdict{Decision: uzda.Deny, Unattended: true, Reason: "nobody is there"}, nil
}

// slowly is a gate that is asked beside the loop.
type slowly struct{ uzda.Gate }

func (slowly) Slow() {}

// What a person has approved is held against the gates once more before it starts: a
// ban that came meanwhile holds; that nobody could be asked now does not undo the
// answer.
func TestBannedAfterApproval(t *testing.T) { // S1 rule 12
	t.Parallel()
	allow := uzda.Verdict{Decision: uzda.Allow}
	for _, c := range []struct {
		name string
		then []uzda.Gate
		runs bool
	}{
		{"the same", []uzda.Gate{asks("send")}, true},
		{"looser", nil, true},
		{"another reason", []uzda.Gate{asks("send"), asks("send")}, true},
		{"a ban", []uzda.Gate{asks("send"), denies("send")}, false},
		{"a slow ban", []uzda.Gate{asks("send"), slowly{denies("send")}}, false},
		{"nobody is there", []uzda.Gate{nobody{}}, true},
		{"nobody is there, and a ban", []uzda.Gate{nobody{}, denies("send")}, false},
	} {
		j, w := mem(), &world{}
		post(t, j, hello("1"))
		r := runner(w, j, calls("send"), bye)
		r.Gates = []uzda.Gate{asks("send")}
		u := run(t, r).Waits()[0]
		post(t, j, uzda.Answered{ID: "a", Use: u.ID, Hash: u.Judged.Hash, Verdict: allow})
		again := runner(w, j, calls("send"), bye)
		again.Gates, again.Folded = c.then, faithful(t, j)
		s := run(t, again)
		if got := w.ran("send") == 1; got != c.runs || reason(s) != uzda.EndTurn {
			t.Errorf("%s: it ran: %t, want %t; %s", c.name, got, c.runs, reason(s))
		}
		if res := results(s)[0]; !c.runs && res.Code != uzda.CodeDenied {
			t.Errorf("%s: the result is %q", c.name, res.Code)
		}
	}
}

// A check that does not stop when its time is up is left behind: the turn ends, and the
// check does not begin again. So with a gate.
func TestStuck(t *testing.T) { // L4 L8
	t.Parallel()
	release := make(chan struct{})
	defer close(release)
	for name, fit := range map[string]func(r *stuckRunner){
		"a check": func(r *stuckRunner) { r.Verify = deafCheck{release} },
		"a gate":  func(r *stuckRunner) { r.Gates = []uzda.Gate{deafSlow{release}} },
	} {
		j, w := mem(), &world{}
		post(t, j, hello("1"))
		r := &stuckRunner{runner(w, j, calls("write"), bye)}
		r.Limits = uzda.Limits{Time: shortTime}
		fit(r)
		if s := run(t, r.Runner); reason(s) != uzda.MaxTime {
			t.Errorf("%s: %s", name, reason(s))
		}
	}
}
