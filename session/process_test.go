package session_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/agent"
	"github.com/uzda-dev/uzda/model/script"
	"github.com/uzda-dev/uzda/session"
	"github.com/uzda-dev/uzda/sqlite"
)

// TestMain is also another process, which does what its role says.
func TestMain(m *testing.M) {
	if role := os.Getenv("UZDA_TEST_ROLE"); role != "" {
		if err := play(role, os.Getenv("UZDA_TEST_DB")); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

const shared = uzda.SessionID("shared")

// slowly looks, and then waits until it is cancelled.
func slowly() map[string]agent.Agent {
	return map[string]agent.Agent{"a": {Model: script.Model{Turns: []script.Turn{turn("I look.", "look"), {Text: "x", Delay: time.Hour}}}, Tools: []uzda.Tool{look{}}}}
}

func play(role, db string) error {
	store, err := sqlite.Open(db)
	if err != nil {
		return err
	}
	defer store.Close()
	h := session.New(session.Config{Store: store, Agents: slowly(), Manual: true})
	defer h.Close()
	id, err := h.Open(context.Background(), uzda.Opening{ID: shared, Agent: "a"})
	if err != nil || role == "open" {
		return err
	}
	fmt.Println("ready")
	s, err := h.Run(context.Background(), id)
	if err != nil {
		return err
	}
	fmt.Println(s.Ended.Reason)
	return nil
}

func process(t *testing.T, role, db string) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "UZDA_TEST_ROLE="+role, "UZDA_TEST_DB="+db)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return cmd, bufio.NewScanner(out)
}

// One process runs, this one posts and watches: it sees what the other stores,
// soon, and its cancel ends the other's turn.
func TestTwoProcesses(t *testing.T) { // L10 L11
	t.Parallel()
	db := filepath.Join(t.TempDir(), "s.uzda")
	store, err := sqlite.Open(db)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	h := host(t, store, nil)
	_, out := process(t, "open", db)
	for out.Scan() { // until it has ended
	}
	if _, err := h.Post(t.Context(), shared, uzda.Posted{Blocks: uzda.Say("go")}); err != nil {
		t.Fatal(err)
	}
	_, out = process(t, "run", db)
	ctx, stop := context.WithTimeout(t.Context(), 30*time.Second)
	defer stop()
	asked, worst, want := 0, time.Duration(0), uzda.Seq(1)
	for e, err := range h.Watch(ctx, shared, 0) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Seq != want {
			t.Fatalf("event %d after %d", e.Seq, want-1)
		}
		want++
		if e.By > 0 && e.Seq > 1 {
			worst = max(worst, time.Since(e.At))
		}
		switch e.Body.(type) {
		case uzda.Asked:
			if asked++; asked == 2 { // now it would take an hour
				if _, err := h.Post(ctx, shared, uzda.Cancelled{Why: "from afar"}); err != nil {
					t.Fatal(err)
				}
			}
		case uzda.Ended:
			stop()
		}
	}
	t.Logf("an event of the other process was seen after %s at most", worst)
	lines := []string{}
	for out.Scan() {
		lines = append(lines, out.Text())
	}
	if got := strings.Join(lines, " "); got != "ready cancelled" {
		t.Errorf("the other process said %q", got)
	}
}

// Many processes open the same id at once: it is opened once, and each finds it.
func TestOpenTogether(t *testing.T) {
	t.Parallel()
	db := filepath.Join(t.TempDir(), "s.uzda")
	store, err := sqlite.Open(db)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	var cmds []*exec.Cmd
	for range 4 {
		cmd, _ := process(t, "open", db)
		cmds = append(cmds, cmd)
	}
	var wait sync.WaitGroup
	for range 4 {
		h := host(t, store, slowly(), manual)
		wait.Go(func() {
			if _, err := h.Open(t.Context(), uzda.Opening{ID: shared, Agent: "a"}); err != nil {
				t.Error(err)
			} else if _, err := h.State(t.Context(), shared); err != nil {
				t.Errorf("Open came back before there was a session: %v", err)
			}
		})
	}
	wait.Wait()
	for _, cmd := range cmds {
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	}
	if n := len(bodies[uzda.Opened](t, store, shared)); n != 1 {
		t.Errorf("opened %d times", n)
	}
}

// A process that opens a session and dies before it is stored holds nobody up.
func TestOpenBusy(t *testing.T) {
	t.Parallel()
	store, err := sqlite.Open(sqlite.Memory)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	epoch, err := store.Acquire(t.Context(), shared, "who dies")
	if err != nil {
		t.Fatal(err)
	}
	h := host(t, store, slowly(), manual)
	ctx, stop := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer stop()
	if _, err := h.Open(ctx, uzda.Opening{ID: shared, Agent: "a"}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("opened while another one does: %v", err)
	}
	time.AfterFunc(100*time.Millisecond, func() { _ = store.Release(context.Background(), shared, epoch) })
	if _, err := h.Open(t.Context(), uzda.Opening{ID: shared, Agent: "a"}); err != nil {
		t.Error(err)
	}
	if n := len(bodies[uzda.Opened](t, store, shared)); n != 1 {
		t.Errorf("opened %d times", n)
	}
}
