package agent_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/agent"
)

// Edits of a planner are recorded before they count; a person may compact and
// undo; no edit splits a call from its result or touches what is open.
func TestEdits(t *testing.T) { // C2 C5
	t.Parallel()
	j, w := mem(), &world{pre: "1"}
	post(t, j, hello("1"))
	r := runner(w, j, calls("read"), calls("look"), calls("read", "send"), bye)
	r.Gates, r.Planner, r.Budget, r.Folded = []uzda.Gate{asks("send")}, clearer{}, 1, faithful(t, j)
	s := run(t, r)
	if reason(s) != uzda.WaitApproval || s.Gen != 1 || results(s)[0].Blocks.String() != "[cleared]" {
		t.Fatalf("%s, gen %d, %+v", reason(s), s.Gen, results(s))
	}
	compact := uzda.Edited{What: "compact", From: s.View[0].Seq, To: s.View[2].Seq,
		With: []uzda.Entry{{Seq: s.View[0].Seq, Message: uzda.Message{Role: uzda.User, Blocks: uzda.Say("so far")}}}}
	if _, err := r.Edit(t.Context(), sid, compact); err == nil || !strings.Contains(err.Error(), "open") {
		t.Fatal("edited while a use was open", err)
	}
	undo, err := agent.Undo(t.Context(), j, sid, s.View[2].Edit)
	if err != nil {
		t.Fatal(err)
	}
	r.Planner = nil
	answers(t, j, uzda.Allow)
	run(t, r)
	if _, err := r.Edit(t.Context(), sid, undo); err != nil {
		t.Fatal(err)
	}
	s, err = agent.Load(t.Context(), j, sid)
	if err != nil || results(s)[0].Blocks.String() != `ok {"n":0}` || s.View[2].Edit != 0 {
		t.Errorf("after undo: %v, %+v", err, results(s)[0])
	}
	half, last := compact, compact
	half.To = s.View[1].Seq
	last.To = s.View[len(s.View)-1].Seq
	for _, bad := range []uzda.Edited{half, last, {What: "clear", From: 99, To: 99}} {
		if _, err := r.Edit(t.Context(), sid, bad); err == nil {
			t.Errorf("edit %d to %d was made", bad.From, bad.To)
		}
	}
	if _, err := agent.Undo(t.Context(), j, sid, 2); err == nil {
		t.Error("undid what is no edit")
	}
	if _, err := r.Edit(t.Context(), sid, compact); err != nil {
		t.Error(err)
	}
	if s, err = agent.Load(t.Context(), j, sid); err != nil || s.View[0].Message.String() != "so far" || uzda.Valid(s.View) != nil {
		t.Errorf("%v, %+v", err, s.View[0])
	}
}

// A message that comes while the planner works costs neither the plan nor the
// message; a planner that fails or crashes plans nothing.
func TestPlannerBeside(t *testing.T) {
	t.Parallel()
	for name, p := range map[string]agent.Planner{
		"disturbed": planner(func(j uzda.Journal, v uzda.View) (uzda.Plan, error) {
			if _, err := j.Append(context.Background(), sid, uzda.At{Head: uzda.AnyHead}, hello("meanwhile")); err != nil {
				return uzda.Plan{}, err
			}
			return clearer{}.Plan(context.Background(), v)
		}),
		"fails":   planner(func(uzda.Journal, uzda.View) (uzda.Plan, error) { return uzda.Plan{}, errors.New("no") }),
		"crashes": planner(func(uzda.Journal, uzda.View) (uzda.Plan, error) { panic("plan") }),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j, w := mem(), &world{}
			post(t, j, hello("1"))
			r := runner(w, j, calls("read"), calls("look"), bye)
			r.Planner, r.Budget, r.Folded = planning{p, j}, 1, faithful(t, j)
			r.Poll = time.Hour // only the conflict tells it
			s := run(t, r)
			valid(t, s)
			if reason(s) != uzda.EndTurn || name == "disturbed" && (s.Gen != 1 || !strings.Contains(s.View[1].Message.String(), "meanwhile") && !strings.Contains(kinds(t, j), "posted equipped")) {
				t.Errorf("%s, gen %d: %s", reason(s), s.Gen, kinds(t, j))
			}
		})
	}
}

type planner func(uzda.Journal, uzda.View) (uzda.Plan, error)

func (planner) Plan(context.Context, uzda.View) (uzda.Plan, error) { return uzda.Plan{}, nil }

type planning struct {
	p agent.Planner
	j uzda.Journal
}

func (p planning) Plan(_ context.Context, v uzda.View) (uzda.Plan, error) {
	return p.p.(planner)(p.j, v)
}

// A child's result is waited for without a runner; it is taken once, and what the
// child spent counts.
func TestPendingChild(t *testing.T) {
	t.Parallel()
	j, w := mem(), &world{}
	post(t, j, hello("1"))
	r := runner(w, j, calls("read", "child"), bye)
	r.Tools = append(r.Tools, w.tool("child", uzda.Effects{Idempotent: true, Independent: true}, func(_ context.Context, u uzda.Use) (uzda.Result, error) {
		return uzda.Result{Pending: &uzda.Pending{On: "child", Ref: u.Key, Hold: uzda.Spend{Steps: 10, Cost: uzda.Dollar}}}, nil
	}))
	r.Folded = faithful(t, j)
	s := run(t, r)
	if reason(s) != uzda.WaitChild || s.Turn.Held.Steps != 10 || s.Turn.Children != 1 {
		t.Fatalf("%s: %s", reason(s), kinds(t, j))
	}
	d := uzda.Delivered{ID: "d", Result: uzda.ToolResult{Use: s.Parked.Uses[0], Blocks: uzda.Say("child's answer"), Effect: uzda.EffectDone}, Spent: uzda.Spend{Steps: 3, Cost: uzda.Dollar / 10}}
	if first := post(t, j, d); post(t, j, d) != first {
		t.Error("a repeated input was stored twice")
	}
	d.ID, d.Result.Blocks = "d2", uzda.Say("another")
	post(t, j, d)
	s = run(t, r)
	if rs := results(s); reason(s) != uzda.EndTurn || rs[1].Blocks.String() != "child's answer" || s.Last.Steps != 5 || s.Last.Cost != uzda.Dollar/10 || s.Last.Held != (uzda.Spend{}) {
		t.Errorf("%s, %+v, %+v", reason(s), rs, s.Last)
	}
}

// A result that is delivered before the tool has said that it is pending counts;
// the tool, and a cancel, find the use closed.
func TestDeliveredEarly(t *testing.T) {
	t.Parallel()
	for _, cancel := range []bool{false, true} {
		j, w := mem(), &world{}
		post(t, j, hello("1"))
		r := runner(w, j, calls("child"), calls("wait"), bye)
		done := make(chan bool)
		r.Tools = []uzda.Tool{
			w.tool("child", uzda.Effects{Idempotent: true}, func(ctx context.Context, u uzda.Use) (uzda.Result, error) {
				post(t, j, uzda.Delivered{ID: "d", Result: uzda.ToolResult{Use: u.ID, Blocks: uzda.Say("early"), Effect: uzda.EffectDone}})
				if cancel {
					<-done // deaf until the turn has ended
				} else {
					<-ctx.Done() // nobody has a use for it any more
				}
				return uzda.Result{Pending: &uzda.Pending{On: "child"}}, nil
			}),
			w.tool("wait", reads, func(ctx context.Context, _ uzda.Use) (uzda.Result, error) {
				if cancel {
					post(t, j, uzda.Cancelled{ID: "c"})
					<-ctx.Done()
				}
				return text("ok"), ctx.Err()
			}),
		}
		r.Folded = faithful(t, j)
		s := run(t, r)
		valid(t, s)
		want := uzda.EndTurn
		if cancel {
			want = uzda.CancelledByUser
		}
		if rs := results(s); reason(s) != want || rs[0].Blocks.String() != "early" || s.Turn.Held != (uzda.Spend{}) {
			t.Errorf("%s, %+v", reason(s), rs)
		}
		close(done)
		r.Close()
	}
}

// A timer parks the session and fires when it is due; any other wait that has a
// limit ends as a timeout.
func TestTimer(t *testing.T) {
	t.Parallel()
	for on, want := range map[string]uzda.Code{"timer": "", "result": uzda.CodeTimeout} {
		synctest.Test(t, func(t *testing.T) {
			j, w := mem(), &world{}
			post(t, j, hello("1"))
			due := time.Now().Add(time.Hour)
			r := runner(w, j, calls("wait"), bye)
			r.Tools = []uzda.Tool{w.tool("wait", uzda.Effects{}, func(context.Context, uzda.Use) (uzda.Result, error) {
				return uzda.Result{Pending: &uzda.Pending{On: on, Until: due}}, nil
			})}
			s := run(t, r)
			if string(reason(s)) != on || !s.Parked.Until.Equal(due) {
				t.Fatalf("%s until %s", reason(s), s.Parked.Until)
			}
			time.Sleep(time.Hour)
			if s = run(t, r); reason(s) != uzda.EndTurn || results(s)[0].Code != want {
				t.Errorf("%s, %+v", reason(s), results(s))
			}
		})
	}
}
