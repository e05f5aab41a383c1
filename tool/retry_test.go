package tool_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/tool"
)

var errBusy = errors.New("the shop is busy")

// flaky fails n times with err, and remembers when it was called.
func flaky(effects uzda.Effects, n int, err error, calls *[]time.Duration) uzda.Tool {
	start := time.Now()
	return tool.New("ask_shop", describe, effects, func(context.Context, struct{}) (string, error) {
		if *calls = append(*calls, time.Since(start)); len(*calls) <= n {
			return "", err
		}
		return "open", nil
	})
}

// T4: what is transient is repeated after 100 and 200 ms and a random addition,
// three attempts in all, for tools that may run again and for no others.
func TestRetry(t *testing.T) {
	t.Parallel()
	const ms = time.Millisecond
	half := func(wait time.Duration) time.Duration { return wait / 2 }
	for _, c := range []struct {
		name    string
		retry   tool.Retry
		effects uzda.Effects
		fails   int
		err     error
		calls   []time.Duration
		want    string
	}{
		{"once", tool.Retry{Random: half}, readOnly, 1, tool.Transient(errBusy), []time.Duration{0, 150 * ms}, "open"},
		{"twice", tool.Retry{Random: half}, readOnly, 2, tool.Transient(errBusy), []time.Duration{0, 150 * ms, 450 * ms}, "open"},
		{"for ever", tool.Retry{Random: half}, uzda.Effects{Idempotent: true}, 9, tool.Transient(errBusy), []time.Duration{0, 150 * ms, 450 * ms}, "the shop is busy (tried 3 times)"},
		{"four attempts", tool.Retry{Random: half, Attempts: 4}, readOnly, 9, tool.Transient(errBusy), []time.Duration{0, 150 * ms, 450 * ms, 1050 * ms}, "the shop is busy (tried 4 times)"},
		{"not transient", tool.Retry{Random: half}, readOnly, 1, errBusy, []time.Duration{0}, "the shop is busy"},
		{"for the model", tool.Retry{Random: half}, readOnly, 1, tool.Errorf("no such shop"), []time.Duration{0}, "no such shop"},
		{"mutating", tool.Retry{Random: half}, uzda.Effects{}, 1, tool.Transient(errBusy), []time.Duration{0}, "the shop is busy"},
		{"irreversible", tool.Retry{Random: half}, uzda.Effects{Irreversible: true, OpenWorld: true}, 1, tool.Transient(errBusy), []time.Duration{0}, "the shop is busy"},
	} {
		synctest.Test(t, func(t *testing.T) {
			var calls []time.Duration
			res, err := run(t, c.retry.Wrap(flaky(c.effects, c.fails, c.err, &calls)), `{}`)
			if err != nil || res.Blocks.String() != c.want || res.IsError != (c.want != "open") {
				t.Errorf("%s: %+v %v, want %q", c.name, res, err, c.want)
			}
			if !slices.Equal(calls, c.calls) {
				t.Errorf("%s: called at %v, want %v", c.name, calls, c.calls)
			}
		})
	}
}

// T4: the random addition is at most the wait itself, and really varies.
func TestRetryRandom(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		seen := map[time.Duration]bool{}
		for range 20 {
			var calls []time.Duration
			if _, err := run(t, tool.Retry{}.Wrap(flaky(readOnly, 2, tool.Transient(errBusy), &calls)), `{}`); err != nil {
				t.Fatal(err)
			}
			first, second := calls[1], calls[2]-calls[1]
			if first < 100*time.Millisecond || first >= 200*time.Millisecond || second < 200*time.Millisecond || second >= 400*time.Millisecond {
				t.Errorf("waits of %v and %v", first, second)
			}
			seen[first] = true
		}
		if len(seen) < 2 {
			t.Error("the addition is always the same")
		}
	})
}

// T4: an attempt that takes over 60 s is ended. A read is tried again; a
// mutating call is not, and the model is told that it may have happened.
func TestRetryTimeout(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		effects uzda.Effects
		calls   int
		effect  uzda.Effect
		took    time.Duration
	}{
		{"read", readOnly, 3, uzda.EffectNone, 3*time.Minute + 300*time.Millisecond},
		{"idempotent", uzda.Effects{Idempotent: true}, 3, uzda.EffectUnknown, 3*time.Minute + 300*time.Millisecond},
		{"mutating", uzda.Effects{}, 1, uzda.EffectUnknown, time.Minute},
	} {
		synctest.Test(t, func(t *testing.T) {
			calls, start := 0, time.Now()
			tl := tool.Func[struct{}, string]{Name: "book", Description: describe, Effects: c.effects,
				Retry: &tool.Retry{Random: func(time.Duration) time.Duration { return 0 }},
				Call: func(ctx context.Context, _ struct{}) (string, error) {
					calls++
					<-ctx.Done()
					return "", ctx.Err()
				}}.Tool()
			res, err := run(t, tl, `{}`)
			if err != nil || !res.IsError || res.Code != uzda.CodeTimeout || res.Effect != c.effect || !strings.Contains(res.Blocks.String(), "within 1m0s") {
				t.Errorf("%s: %+v %v", c.name, res, err)
			}
			if warned := strings.Contains(res.Blocks.String(), "may still have taken effect"); warned == c.effects.ReadOnly {
				t.Errorf("%s: %s", c.name, res.Blocks)
			}
			if took := time.Since(start); calls != c.calls || took != c.took {
				t.Errorf("%s: %d calls in %v", c.name, calls, took)
			}
		})
	}
}

// TestTimeout: a function that ignores its context is left behind.
func TestTimeout(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		tl := tool.New("sleep_long", describe, uzda.Effects{}, func(context.Context, struct{}) (string, error) {
			time.Sleep(time.Hour)
			return "awake", nil
		})
		res, err := run(t, tool.Timeout{After: time.Second}.Wrap(tl), `{}`)
		if err != nil || res.Code != uzda.CodeTimeout || res.Effect != uzda.EffectUnknown {
			t.Errorf("%+v %v", res, err)
		}
		if took := time.Since(start); took != 1500*time.Millisecond {
			t.Errorf("it took %v", took)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		defer cancel()
		if _, err := (tool.Timeout{After: time.Minute}).Wrap(tl).Call(ctx, uzda.Use{}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the turn's own time is not the tool's: %v", err)
		}
		if res, err := run(t, tool.Timeout{After: 2 * time.Hour}.Wrap(tl), `{}`); err != nil || res.Blocks.String() != "awake" {
			t.Errorf("in time: %+v %v", res, err)
		}
	})
}

// TestRetryCancelled: a wait between attempts ends with its context. L11
func TestRetryCancelled(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var calls []time.Duration
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		start := time.Now()
		_, err := tool.Retry{}.Wrap(flaky(readOnly, 9, tool.Transient(errBusy), &calls)).Call(ctx, uzda.Use{})
		if err == nil || len(calls) != 1 || time.Since(start) != 50*time.Millisecond {
			t.Errorf("%v after %d calls and %v", err, len(calls), time.Since(start))
		}
	})
}

// other is somebody else's tool: its errors end the turn unless marked.
type other struct {
	err error
	n   *int
}

func (other) Spec() uzda.ToolSpec {
	return uzda.ToolSpec{Name: "other", Unchecked: true, Effects: readOnly}
}
func (o other) Call(context.Context, uzda.Use) (uzda.Result, error) {
	*o.n++
	return uzda.Result{}, o.err
}

// TestForeign: wrapping keeps both failure channels of any tool. L5
func TestForeign(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := 0
		if _, err := (tool.Retry{}).Wrap(other{err: errBusy, n: &n}).Call(t.Context(), uzda.Use{}); !errors.Is(err, errBusy) || n != 1 {
			t.Errorf("a Go error must end the turn: %v after %d calls", err, n)
		}
		n = 0
		if res, err := (tool.Retry{}).Wrap(other{err: tool.Transient(errBusy), n: &n}).Call(t.Context(), uzda.Use{}); err != nil || !res.IsError || n != 3 {
			t.Errorf("a transient one becomes a result: %+v %v after %d calls", res, err, n)
		}
	})
}
