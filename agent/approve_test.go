package agent_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/agent"
	"github.com/uzda-dev/uzda/journal"
	"github.com/uzda-dev/uzda/model/script"
)

// Two gated calls are approved one by one over restarts, elsewhere; each is asked
// once and runs exactly once, and an answer to something else never counts.
// case:P05 case:P03
func TestApproval(t *testing.T) { // S1
	t.Parallel()
	dir, w := t.TempDir(), &world{pre: "v1"}
	files := func() *journal.Files { // each time another process
		j, err := journal.OpenFiles(dir, journal.FilesOptions{Durability: "process"})
		if err != nil {
			t.Fatal(err)
		}
		return j
	}
	fresh := func() *agent.Runner {
		j := files()
		r := runner(w, j, calls("send", "read", "write", "pay"), bye)
		r.Gates, r.Folded = []uzda.Gate{asks("send write")}, faithful(t, j)
		return r
	}
	post(t, files(), hello("1"))
	s := run(t, fresh())
	if reason(s) != uzda.WaitApproval || len(s.Parked.Uses) != 2 || w.log() != "+read -read" || len(s.Waits()) != 2 {
		t.Fatalf("%+v, ran %s", s.Parked, w.log())
	}
	if w := s.Waits()[0]; w.Judged.Preview != "will send" || w.Judged.Verdict.Reason != "rule" {
		t.Errorf("shown: %+v", w.Judged)
	}
	head := s.Head
	if s = run(t, fresh()); s.Head != head {
		t.Fatal("a session that waits is not at rest")
	}
	send, write := s.Waits()[0], s.Waits()[1]
	allow := uzda.Verdict{Decision: uzda.Allow}
	post(t, files(), uzda.Answered{ID: "other", Use: send.ID, Hash: write.Judged.Hash, Verdict: allow})
	post(t, files(), uzda.Answered{ID: "none", Use: "99.9", Hash: send.Judged.Hash, Verdict: allow})
	if s = run(t, fresh()); len(s.Waits()) != 2 || w.ran("send") != 0 {
		t.Fatal("an answer to something else was taken")
	}
	post(t, files(), uzda.Answered{ID: "first", Use: send.ID, Hash: send.Judged.Hash, Verdict: allow})
	if s = run(t, fresh()); reason(s) != uzda.WaitApproval || w.ran("send") != 1 || w.ran("write")+w.ran("pay") != 0 {
		t.Fatalf("%s, ran %s", reason(s), w.log())
	}
	post(t, files(), uzda.Answered{ID: "second", Use: write.ID, Hash: write.Judged.Hash, Verdict: allow})
	s = run(t, fresh())
	if reason(s) != uzda.EndTurn || w.log() != "+read -read +send -send +write -write +pay -pay" {
		t.Fatalf("%s, ran %s", reason(s), w.log())
	}
	var questions []uzda.UseID
	for _, b := range kept[uzda.Judged](t, files()) {
		if b.Verdict.Decision == uzda.Ask {
			questions = append(questions, b.Use)
		}
	}
	if !slices.Equal(questions, []uzda.UseID{send.ID, write.ID}) {
		t.Errorf("asked for %v", questions)
	}
}

// What was approved has changed before it starts: it is asked anew, and shown anew.
func TestPreconditionChanged(t *testing.T) { // rule 12
	t.Parallel()
	for _, slow := range []bool{false, true} {
		j, w := mem(), &world{pre: "v1"}
		post(t, j, hello("1"))
		r := runner(w, j, calls("send"), bye)
		r.Gates = []uzda.Gate{asks("send")}
		if slow {
			r.Gates = append(r.Gates, slowGate{})
		}
		r.Folded = faithful(t, j)
		old := run(t, r).Waits()
		answers(t, j, uzda.Allow)
		w.precondition("v2")
		s := run(t, r)
		if reason(s) != uzda.WaitApproval || w.ran("send") != 0 || s.Waits()[0].Judged.Hash == old[0].Judged.Hash {
			t.Fatalf("%s, ran %s", reason(s), w.log())
		}
		answers(t, j, uzda.Allow)
		if s = run(t, r); reason(s) != uzda.EndTurn || w.ran("send") != 1 {
			t.Fatalf("%s, ran %s", reason(s), w.log())
		}
	}
}

// A tool that is another one after a restart is judged and asked for anew.
func TestSpecChanged(t *testing.T) { // rule 12
	t.Parallel()
	j, w := mem(), &world{}
	post(t, j, hello("1"))
	r := runner(w, j, calls("write"), bye)
	r.Gates = []uzda.Gate{asks("write")}
	run(t, r)
	answers(t, j, uzda.Allow)
	changed := fake{w, uzda.ToolSpec{Name: "write", Description: "now it deletes", Effects: uzda.Effects{Irreversible: true}}, nil}
	r.Tools = []uzda.Tool{changed}
	if s := run(t, r); reason(s) != uzda.WaitApproval || w.ran("write") != 0 {
		t.Fatalf("%s, ran %s", reason(s), w.log())
	}
	answers(t, j, uzda.Allow)
	s := run(t, r)
	if st := kept[uzda.Started](t, j); reason(s) != uzda.EndTurn || len(st) != 1 || !st[0].Effects.Irreversible {
		t.Errorf("%s, started %+v", reason(s), st)
	}
}

// A tool that is gone when its use starts is unknown. rule 3
func TestToolIsGone(t *testing.T) {
	t.Parallel()
	j, w := mem(), &world{}
	post(t, j, hello("1"))
	r := runner(w, j, calls("write"), bye)
	r.Gates = []uzda.Gate{asks("write")}
	run(t, r)
	answers(t, j, uzda.Allow)
	r.Tools = []uzda.Tool{w.tool("read", reads, nil)}
	s := run(t, r)
	if rs := results(s); reason(s) != uzda.EndTurn || rs[0].Code != uzda.CodeUnknownTool || len(s.Gear.Tools) != 2 || s.GearGen != 2 {
		t.Errorf("%s, %+v, tools %v", reason(s), rs, s.Gear.Tools)
	}
}

// An approval from before something untrusted came in is none after it. S3
func TestLabelsGrow(t *testing.T) {
	t.Parallel()
	j, w := mem(), &world{}
	post(t, j, hello("1"))
	r := runner(w, j, calls("page", "write"), bye)
	r.Tools = append(r.Tools, w.tool("page", uzda.Effects{}, func(context.Context, uzda.Use) (uzda.Result, error) {
		return uzda.Result{Blocks: uzda.Say("x"), Labels: []uzda.Label{{Kind: uzda.Untrusted}}}, nil
	}))
	r.Gates = []uzda.Gate{labelled{}, asks("page write")}
	if s := run(t, r); len(s.Waits()) != 2 {
		t.Fatal(kinds(t, j))
	}
	answers(t, j, uzda.Allow)
	s := run(t, r)
	if reason(s) != uzda.WaitApproval || w.ran("write") != 0 || w.ran("page") != 1 || s.Waits()[0].Judged.Verdict.Reason != "labels 1" {
		t.Fatalf("%s, ran %s", reason(s), w.log())
	}
}

// A grant for the session covers the siblings that wait, and later calls; it
// never covers another tool. case:P03
func TestSessionGrant(t *testing.T) {
	t.Parallel()
	j, w := mem(), &world{pre: "1"}
	post(t, j, hello("1"))
	r := runner(w, j, calls("write", "write", "put"), calls("write"), bye)
	r.Gates, r.Folded = []uzda.Gate{asks("write put")}, faithful(t, j)
	s := run(t, r)
	if len(s.Waits()) != 3 {
		t.Fatal(kinds(t, j))
	}
	u := s.Waits()[0]
	post(t, j, uzda.Answered{ID: "a", Use: u.ID, Hash: u.Judged.Hash, Verdict: uzda.Verdict{Decision: uzda.Allow}, Scope: uzda.ScopeSession, Rule: "write", By: "ann"})
	if s = run(t, r); w.ran("write") != 2 || w.ran("put") != 0 || len(s.Waits()) != 1 || s.Grants[0].By != "ann" {
		t.Fatalf("ran %s, waits %d", w.log(), len(s.Waits()))
	}
	answers(t, j, uzda.Deny)
	if s = run(t, r); reason(s) != uzda.EndTurn || w.ran("write") != 3 || w.ran("put") != 0 {
		t.Fatalf("%s, ran %s", reason(s), w.log())
	}
	if rs := results(s); rs[2].Code != uzda.CodeDenied || !strings.Contains(rs[2].Blocks.String(), "a person said no") {
		t.Errorf("%+v", rs[2])
	}
}

// A slow preview delays no other result. rule 3: "an outcome never waits for I/O"
func TestPreviewRunsBeside(t *testing.T) {
	t.Parallel()
	j, w := mem(), &world{pre: "1"}
	post(t, j, hello("1"))
	recorded := make(chan bool)
	r := runner(w, j, calls("quick", "peek"), bye)
	r.Tools = []uzda.Tool{
		w.tool("quick", uzda.Effects{Independent: true}, nil),
		peek{fake{w, uzda.ToolSpec{Name: "peek", Effects: reads}, nil}, recorded},
	}
	r.Events = func(_ uzda.SessionID, evs ...uzda.Event) {
		for _, e := range evs {
			if b, ok := e.Body.(uzda.Returned); ok && strings.HasSuffix(string(b.Result.Use), ".1") {
				close(recorded)
			}
		}
	}
	if s := run(t, r); reason(s) != uzda.EndTurn {
		t.Error(kinds(t, j))
	}
}

// peek has a preview that ends only when the other result is recorded.
type peek struct {
	fake
	recorded chan bool
}

func (p peek) Preview(ctx context.Context, _ uzda.Use) (string, string, error) {
	select {
	case <-p.recorded:
		return "", "", nil
	case <-ctx.Done():
		return "", "", ctx.Err()
	}
}

// A gate that errs or crashes denies; a check or a preview that crashes is an
// error of that use.
func TestBrokenParts(t *testing.T) {
	t.Parallel()
	for name, set := range map[string]func(*agent.Runner, *world){
		"gate": func(r *agent.Runner, _ *world) { r.Gates = []uzda.Gate{crashes{}} },
		"check": func(r *agent.Runner, w *world) {
			r.Tools = []uzda.Tool{crashing{fake{w, uzda.ToolSpec{Name: "write"}, nil}}}
		},
		"preview": func(r *agent.Runner, w *world) {
			r.Tools = []uzda.Tool{crashingPreview{fake{w, uzda.ToolSpec{Name: "write"}, nil}}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j, w := mem(), &world{}
			post(t, j, hello("1"))
			r := runner(w, j, calls("write"), bye)
			set(r, w)
			s := run(t, r)
			if rs := results(s); reason(s) != uzda.EndTurn || len(rs) != 1 || !rs[0].IsError || w.ran("write") != 0 {
				t.Errorf("%s, %+v", reason(s), rs)
			}
		})
	}
}

type crashes struct{}

func (crashes) Check(context.Context, uzda.Action) (uzda.Verdict, error) { panic("gate") }

type crashing struct{ fake }

func (crashing) Check(json.RawMessage) (json.RawMessage, error) { panic("check") }

type crashingPreview struct{ fake }

func (crashingPreview) Preview(context.Context, uzda.Use) (string, string, error) { panic("preview") }

// A cancel while a gate is deaf ends the turn all the same.
func TestCancelDeafGate(t *testing.T) { // L11
	t.Parallel()
	j, w := mem(), &world{}
	post(t, j, hello("1"))
	release := make(chan bool)
	r := runner(w, j, calls("write"), bye)
	r.Gates = []uzda.Gate{deafGate{j, release}}
	s := run(t, r)
	if reason(s) != uzda.CancelledByUser || w.ran("write") != 0 {
		t.Errorf("%s", reason(s))
	}
	close(release)
	if !r.Close() {
		t.Error("the gate still works")
	}
}

type deafGate struct {
	j       uzda.Journal
	release chan bool
}

func (deafGate) Slow() {}
func (g deafGate) Check(ctx context.Context, a uzda.Action) (uzda.Verdict, error) {
	_, err := g.j.Append(ctx, a.Session, uzda.At{Head: uzda.AnyHead}, uzda.Cancelled{ID: "c"})
	<-g.release
	return uzda.Verdict{Decision: uzda.Allow}, err
}

// Repeats of a call whose outcome is unknown are asked for, whatever the rules,
// until somebody says what became of it. rule 1
func TestUnknownOutcome(t *testing.T) {
	t.Parallel()
	j, w := mem(), &world{}
	post(t, j, hello("1"))
	r := runner(w, &crasher{store: j, At: 3}, same("write", `{"a":1}`), same("write", `{"a":2}`), same("write", `{"a":1}`), bye)
	if _, err := r.Run(t.Context(), sid); err == nil || w.ran("write") != 1 {
		t.Fatal("no crash after the effect", err, w.log())
	}
	r.Close()
	r = runner(w, j, same("write", `{"a":1}`), same("write", `{"a":2}`), same("write", `{"a":1}`), bye)
	s := run(t, r)
	rs := results(s)
	if reason(s) != uzda.WaitApproval || rs[0].Code != uzda.CodeOutcomeUnknown || rs[0].Effect != uzda.EffectUnknown || w.ran("write") != 2 || len(s.Unknown) != 1 {
		t.Fatalf("%s, %+v, ran %d", reason(s), rs, w.ran("write"))
	}
	post(t, j, uzda.Resolved{ID: "r", Use: rs[0].Use, Took: true})
	answers(t, j, uzda.Allow)
	if s = run(t, r); reason(s) != uzda.EndTurn || len(s.Unknown) != 0 || w.ran("write") != 3 {
		t.Errorf("%s, unknown %v", reason(s), s.Unknown)
	}
}

// A tool that can know it is asked what became of a lost use.
func TestProbe(t *testing.T) { // rule 1
	t.Parallel()
	for _, took := range []bool{true, false} {
		j, w := mem(), &world{}
		post(t, j, hello("1"))
		tools := []uzda.Tool{probed{fake{w, uzda.ToolSpec{Name: "pay", Once: true}, nil}, took}}
		turns := []script.Turn{same("pay", `{}`), same("pay", `{}`), bye}
		r := runner(w, &crasher{store: j, At: 3}, turns...)
		r.Tools = tools
		if _, err := r.Run(t.Context(), sid); err == nil {
			t.Fatal("no crash")
		}
		r.Close()
		r = runner(w, j, turns...)
		r.Tools, r.Folded = tools, faithful(t, j)
		s := run(t, r)
		rs, want := results(s), 2
		if took {
			want = 1
		}
		if reason(s) != uzda.EndTurn || len(s.Unknown) != 0 || (rs[0].Effect == uzda.EffectDone) != took || w.ran("pay") != want {
			t.Errorf("took %v: %s, %+v, paid %d times", took, reason(s), rs, w.ran("pay"))
		}
	}
}

type probed struct {
	fake
	took bool
}

func (p probed) Probe(context.Context, string) (bool, error) { return p.took, nil }

// At most eight run at once, in call order, and all get their results.
func TestParallelBound(t *testing.T) { // rule 3
	t.Parallel()
	for _, slow := range []bool{false, true} {
		j, w := mem(), &world{}
		post(t, j, hello("1"))
		r := runner(w, j, calls(slices.Repeat([]string{"look"}, 20)...), bye)
		if slow {
			r.Gates = []uzda.Gate{slowGate{time.Millisecond}}
		}
		s := run(t, r)
		now, most := 0, 0
		for _, l := range strings.Fields(w.log()) {
			if l[0] == '+' {
				now++
			} else {
				now--
			}
			most = max(most, now)
		}
		valid(t, s)
		if rs := results(s); most > 8 || !slow && most < 2 || len(rs) != 20 || reason(s) != uzda.EndTurn {
			t.Errorf("%d at once, %d results", most, len(rs))
		}
	}
}
