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
	"github.com/uzda-dev/uzda/journal"
	"github.com/uzda-dev/uzda/model/script"
)

// Cancelling while one of two calls still runs leaves no call without a result,
// and the session goes on. case:L04
func TestCancelBetweenCalls(t *testing.T) { // L7 L11
	t.Parallel()
	j, w := mem(), &world{}
	post(t, j, hello("1"))
	r := runner(w, j, calls("quick", "slow"), bye)
	ctx, stop := context.WithCancel(t.Context())
	r.Tools = []uzda.Tool{
		w.tool("quick", uzda.Effects{Independent: true}, nil),
		w.tool("slow", reads, func(ctx context.Context, _ uzda.Use) (uzda.Result, error) {
			<-ctx.Done()
			return uzda.Result{}, ctx.Err()
		}),
	}
	r.Events = func(_ uzda.SessionID, evs ...uzda.Event) {
		for _, e := range evs {
			if _, ok := e.Body.(uzda.Returned); ok {
				stop() // the first is done, the second runs
			}
		}
	}
	r.Folded = faithful(t, j)
	s, err := r.Run(ctx, sid)
	if err != nil || reason(s) != uzda.CancelledByUser || s.Turn.Seq != 0 {
		t.Fatal(reason(s), err)
	}
	rs := results(s)
	if len(rs) != 2 || rs[0].IsError || rs[1].Code != uzda.CodeCancelled || rs[1].Effect != uzda.EffectNone {
		t.Fatalf("%+v", rs)
	}
	valid(t, s)
	post(t, j, hello("2"))
	s = run(t, r)
	valid(t, s)
	if reason(s) != uzda.EndTurn || len(s.View) != 5 || s.View[3].Message.String() != "go 2" {
		t.Errorf("%s: %+v", reason(s), s.View)
	}
}

// The same with a tool that hears nothing: the turn ends in time, and what it did
// is told late.
func TestCancelDeafTool(t *testing.T) { // L11
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		j, w, release := mem(), &world{}, make(chan bool)
		post(t, j, hello("1"))
		r := runner(w, j, calls("deaf"), same("deaf", `{"other":1}`), bye)
		r.Poll, r.Grace = 100*time.Millisecond, time.Second
		r.Tools = []uzda.Tool{w.tool("deaf", uzda.Effects{}, func(context.Context, uzda.Use) (uzda.Result, error) {
			<-release
			return text("after all"), nil
		})}
		r.Folded = faithful(t, j)
		time.AfterFunc(time.Second, func() { post(t, j, hello("2")); post(t, j, uzda.Cancelled{ID: "c"}) })
		start := time.Now()
		s := run(t, r)
		if took := time.Since(start) - time.Second; reason(s) != uzda.CancelledByUser || took > 1200*time.Millisecond {
			t.Fatalf("%s after %s", reason(s), took)
		}
		rs := results(s)
		if len(s.Unknown) != 1 || rs[0].Code != uzda.CodeCancelled || rs[0].Effect != uzda.EffectUnknown || len(s.View) != 4 || s.Turn.Seq != 0 {
			t.Fatalf("unknown %v, %+v, %d messages", s.Unknown, rs, len(s.View))
		}
		post(t, j, hello("3")) // while it works, another call of it is asked for
		if s = run(t, r); reason(s) != uzda.WaitApproval || !strings.Contains(s.Waits()[0].Judged.Verdict.Reason, "still works") {
			t.Fatalf("%s: %s", reason(s), kinds(t, j))
		}
		close(release)
		if !r.Close() {
			t.Fatal("it still works")
		}
		late := kept[uzda.Late](t, j)
		if len(late) != 1 || late[0].Result.Effect != uzda.EffectDone {
			t.Fatalf("late: %+v", late)
		}
		if s, err := agent.Load(t.Context(), j, sid); err != nil || len(s.Unknown) != 0 {
			t.Errorf("unknown %v, %v", s.Unknown, err)
		}
	})
}

// ctx ends while the model is asked; the answer so far is kept, and charged.
func TestInterrupt(t *testing.T) { // L11
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		j := mem()
		post(t, j, hello("1"))
		ctx, stop := context.WithTimeout(t.Context(), time.Second)
		defer stop()
		r := runner(&world{}, j)
		r.Model = remote{script.Model{Turns: []script.Turn{{Text: "x", Delay: time.Minute}}}}
		r.Prices, r.Poll = prices{Input: uzda.Dollar, Output: uzda.Dollar}, time.Second
		s, err := r.Run(ctx, sid)
		broken := kept[uzda.Broken](t, j)
		if err != nil || reason(s) != uzda.CancelledByUser || len(broken) != 1 || broken[0].Code != "cancelled" || broken[0].Cost == 0 || !s.Guess {
			t.Errorf("%s, %v, %+v", reason(s), err, broken)
		}
	})
}

// One whose ctx has ended does nothing; a session that waits is not cancelled by
// it; and no next turn begins under it.
func TestEndedContext(t *testing.T) {
	t.Parallel()
	j, w := mem(), &world{}
	post(t, j, hello("1"))
	ended, stop := context.WithCancel(t.Context())
	stop()
	r := runner(w, j, calls("write"), bye)
	r.Gates = []uzda.Gate{asks("write")}
	if _, err := r.Run(ended, sid); !errors.Is(err, context.Canceled) || kinds(t, j) != "posted" {
		t.Fatal(err, kinds(t, j))
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	r.Events = func(_ uzda.SessionID, evs ...uzda.Event) {
		if _, ok := evs[len(evs)-1].Body.(uzda.Parked); ok {
			stop()
		}
	}
	if s, err := r.Run(ctx, sid); err != nil || reason(s) != uzda.WaitApproval {
		t.Fatal(reason(s), err)
	}
	answers(t, j, uzda.Allow)
	ctx, stop = context.WithCancel(t.Context())
	defer stop()
	r.Events = func(_ uzda.SessionID, evs ...uzda.Event) {
		for _, e := range evs {
			switch e.Body.(type) {
			case uzda.Started:
				stop()
			case uzda.Cancelled:
				post(t, j, hello("next"))
			}
		}
	}
	r.Tools = []uzda.Tool{w.tool("write", uzda.Effects{}, func(ctx context.Context, _ uzda.Use) (uzda.Result, error) {
		return uzda.Result{}, nap(ctx, time.Minute)
	})}
	s, err := r.Run(ctx, sid)
	if err != nil || s.Ended == nil || s.Ended.Reason != uzda.CancelledByUser || s.Turn.Seq == 0 || strings.Count(kinds(t, j), "asked") != 1 {
		t.Fatal(err, kinds(t, j))
	}
	r.Events = nil
	if s = run(t, r); reason(s) != uzda.EndTurn {
		t.Error(kinds(t, j))
	}
}

// A message after a cancel is answered, also when nothing had been asked yet; one
// before it is seen but begins no turn.
func TestCancelThenPost(t *testing.T) {
	t.Parallel()
	j := mem()
	post(t, j, hello("1"))
	post(t, j, hello("2"))
	post(t, j, uzda.Cancelled{ID: "c"})
	post(t, j, hello("3"))
	r := runner(&world{}, j, bye)
	r.Folded = faithful(t, j)
	s := run(t, r)
	if reason(s) != uzda.EndTurn || len(s.View) != 4 || s.View[2].Message.String() != "go 3" {
		t.Errorf("%s: %s", reason(s), kinds(t, j))
	}
	if strings.Count(kinds(t, j), "asked") != 1 {
		t.Error(kinds(t, j))
	}
}

// Messages join at the next step, or wait for the next turn.
func TestInbox(t *testing.T) {
	t.Parallel()
	j, w := mem(), &world{}
	post(t, j, hello("1"))
	r := runner(w, j, calls("read"), bye, bye)
	r.Tools = []uzda.Tool{w.tool("read", reads, func(context.Context, uzda.Use) (uzda.Result, error) {
		post(t, j, uzda.Posted{ID: "later", Blocks: uzda.Say("later"), Turn: true})
		post(t, j, hello("2"))
		return text("ok"), nil
	})}
	s := run(t, r)
	valid(t, s)
	if got := kinds(t, j); strings.Count(got, "ended") != 2 || s.View[3].Message.String() != "go 2" || s.View[5].Message.String() != "later" {
		t.Errorf("%s: %+v", got, s.View)
	}
}

// Two runners of one session: the second is refused; a holder that was stopped is
// taken over, fenced, and reports late. case:S04
func TestTwoRunners(t *testing.T) { // rule 10
	t.Parallel()
	now := time.Now()
	later := now.Add(time.Hour)
	j, w := &journal.Mem{Now: func() time.Time { return now }}, &world{}
	post(t, j, hello("1"))
	running, release := make(chan bool), make(chan bool)
	a := runner(w, j, calls("slow"), bye)
	a.Poll, a.Grace = time.Hour, time.Hour // it hears of nothing
	a.Tools = []uzda.Tool{w.tool("slow", uzda.Effects{}, func(context.Context, uzda.Use) (uzda.Result, error) {
		close(running)
		<-release
		return text("slow"), nil
	})}
	first := make(chan error)
	go func() { _, err := a.Run(context.Background(), sid); first <- err }()
	<-running
	b := runner(w, &clock{Mem: j, now: later}, calls("slow"), bye)
	b.Tools = a.Tools
	var busy *uzda.Busy
	if _, err := runner(w, j, bye).Run(t.Context(), sid); !errors.As(err, &busy) || busy.Holder != "test" {
		t.Fatal(err)
	}
	s := run(t, b)
	if reason(s) != uzda.EndTurn || len(s.Unknown) != 1 {
		t.Fatalf("%s, unknown %v", reason(s), s.Unknown)
	}
	before := len(events(t, j))
	close(release)
	if err := <-first; !errors.Is(err, uzda.ErrFenced) {
		t.Fatal(err)
	}
	if evs := events(t, j)[before:]; len(evs) != 1 || evs[0].Body.Kind() != "late" {
		t.Fatalf("the fenced runner wrote %v", evs)
	}
	if s, err := agent.Load(t.Context(), j, sid); err != nil || len(s.Unknown) != 0 || w.ran("slow") != 1 {
		t.Errorf("unknown %v, %v", s.Unknown, err)
	}
}

// clock is a store that another machine sees later: the lease has run out.
type clock struct {
	*journal.Mem
	now time.Time
}

func (c *clock) Acquire(ctx context.Context, id uzda.SessionID, holder string) (int64, error) {
	c.Now = func() time.Time { return c.now }
	return c.Mem.Acquire(ctx, id, holder)
}

// A cancel by a hook says why: to the model, and at the end.
func TestCancelledByHook(t *testing.T) { // P4
	t.Parallel()
	j, w := mem(), &world{}
	post(t, j, hello("1"))
	r := runner(w, j, calls("send"), bye)
	r.Gates = []uzda.Gate{asks("send")}
	run(t, r)
	post(t, j, uzda.Cancelled{ID: "c", By: "hook", Why: "not on a Friday"})
	s := run(t, r)
	if o := s.Outcome(sid); o.Reason != uzda.CancelledByUser || o.Detail != "not on a Friday" || s.Why != "" {
		t.Errorf("%+v", o)
	}
	if text := results(s)[0].Blocks.String(); text != "Cancelled: not on a Friday" {
		t.Errorf("the model reads %q", text)
	}
}
