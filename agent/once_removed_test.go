package agent_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/uzda-dev/uzda"
)

// A payment is not made again because the session that made it was removed. T5
func TestOnceRemoved(t *testing.T) {
	t.Parallel()
	j, w := mem(), &world{}
	pay := same("pay", `{"to":"x"}`)
	run := func(id uzda.SessionID) string {
		t.Helper()
		openAs(t, j, id, uzda.Opened{Scope: "mission"})
		if _, err := j.Append(t.Context(), id, uzda.At{Head: uzda.AnyHead}, hello("1")); err != nil {
			t.Fatal(err)
		}
		s, err := runner(w, j, pay, bye).Run(t.Context(), id)
		if err != nil || reason(s) != uzda.EndTurn {
			t.Fatal(id, err)
		}
		return results(s)[0].Blocks.String()
	}
	run("a")
	epoch, err := j.Acquire(t.Context(), "a", "test")
	if err != nil {
		t.Fatal(err)
	}
	if gone, err := j.Remove(t.Context(), "a", epoch, nil); err != nil || !slices.Equal(gone, []uzda.SessionID{"a"}) {
		t.Fatal(gone, err)
	}
	if run("a"); w.ran("pay") != 1 {
		t.Errorf("the same id again: paid %d times", w.ran("pay"))
	}
	if told := run("b"); w.ran("pay") != 1 || !strings.Contains(told, "It was not run again") {
		t.Errorf("paid %d times, told %s", w.ran("pay"), told)
	}
}
