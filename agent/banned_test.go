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

// planned denies in the mode plan.
type planned struct{}

func (planned) Check(_ context.Context, a uzda.Action) (uzda.Verdict, error) {
	if a.Mode == "plan" {
		return uzda.Verdict{Decision: uzda.Deny, Reason: "only a plan"}, nil
	}
	return uzda.Verdict{Decision: uzda.Ask, Reason: "rule"}, nil
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
		{"a stricter mode", []uzda.Gate{planned{}}, false},
		{"nobody is there, and a ban", []uzda.Gate{nobody{}, denies("send")}, false},
	} {
		j, w := mem(), &world{}
		post(t, j, hello("1"))
		r := runner(w, j, calls("send"), bye)
		r.Gates = []uzda.Gate{asks("send")}
		u := run(t, r).Waits()[0]
		post(t, j, uzda.Answered{ID: "a", Use: u.ID, Hash: u.Judged.Hash, Verdict: allow})
		again := runner(w, j, calls("send"), bye)
		again.Gates, again.Folded, again.Mode = c.then, faithful(t, j), "plan"
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

// Another reason to ask than the one that was approved is shown anew.
func TestAnotherReason(t *testing.T) { // S1 rule 12
	t.Parallel()
	j, w := mem(), &world{}
	post(t, j, hello("1"))
	r := runner(w, j, calls("send"), bye)
	r.Gates = []uzda.Gate{asks("send")}
	u := run(t, r).Waits()[0]
	post(t, j, uzda.Answered{ID: "a", Use: u.ID, Hash: u.Judged.Hash, Verdict: uzda.Verdict{Decision: uzda.Allow}})
	r = runner(w, j, calls("send"), bye)
	r.Gates = []uzda.Gate{doubts{}}
	s := run(t, r)
	if len(s.Waits()) != 1 || s.Waits()[0].Judged.Verdict.Reason != "a hook failed" || w.ran("send") != 0 {
		t.Fatalf("%s, ran %s", reason(s), w.log())
	}
	post(t, j, uzda.Answered{ID: "b", Use: u.ID, Hash: u.Judged.Hash, Verdict: uzda.Verdict{Decision: uzda.Allow}})
	if s = run(t, r); reason(s) != uzda.EndTurn || w.ran("send") != 1 {
		t.Errorf("%s, ran %s", reason(s), w.log())
	}
}

// doubts asks for a reason of its own.
type doubts struct{}

func (doubts) Check(_ context.Context, a uzda.Action) (uzda.Verdict, error) {
	return uzda.Verdict{Decision: uzda.Ask, Reason: "a hook failed"}, nil
}
