//go:build unix

package journal_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/journal"
)

// TestMain runs this program as a child, where the environment says so: real
// processes share a folder and are stopped and killed.
func TestMain(m *testing.M) {
	if job := os.Getenv("UZDA_JOURNAL_CHILD"); job != "" {
		if err := child(job, os.Getenv("UZDA_JOURNAL_DIR"), os.Getenv("UZDA_JOURNAL_N")); err != nil {
			fmt.Fprintln(os.Stderr, job+":", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// childTTL is the lease of the processes in the test of S04.
const childTTL = 3 * time.Second

func child(job, dir, n string) error {
	st, err := journal.OpenFiles(dir, journal.FilesOptions{TTL: childTTL})
	if err != nil {
		return err
	}
	defer st.Close()
	switch job {
	case "writer":
		return writer(st, n)
	case "killed":
		return killed(st, n)
	case "holder":
		return holder(st)
	case "remover":
		return remover(st)
	}
	return fmt.Errorf("no such job")
}

// process starts a child.
func process(t *testing.T, job, dir string, n int) (cmd *exec.Cmd, in io.WriteCloser, out *bufio.Scanner) {
	t.Helper()
	cmd = exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "UZDA_JOURNAL_CHILD="+job, "UZDA_JOURNAL_DIR="+dir, "UZDA_JOURNAL_N="+strconv.Itoa(n))
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	return cmd, in, bufio.NewScanner(pipe)
}

const (
	writers = 8
	appends = 200
)

// writer appends to a session of its own and to one that all share, and once in
// the middle what cannot be stored.
func writer(st *journal.Files, n string) error {
	own := uzda.SessionID("own-" + n)
	epoch, err := st.Acquire(ctx, own, n)
	if err != nil {
		return err
	}
	head := uzda.Seq(0)
	for i := range appends {
		if i == appends/2 {
			bad := uzda.Said{Message: uzda.Message{Items: []uzda.Item{{Raw: []byte("{")}}}}
			at := uzda.At{Head: head, Epoch: epoch, Reserve: []uzda.Hold{{ID: "bad-" + n, Amount: 1, Accounts: []uzda.Account{acc}}}}
			if _, err := st.Append(ctx, own, at, note("bad", ""), bad); err == nil {
				return errors.New("what cannot be stored was")
			}
		}
		if i%2 == 0 {
			evs, err := st.Append(ctx, own, uzda.At{Head: head, Epoch: epoch}, asked(i), asked(i))
			if err != nil {
				return fmt.Errorf("append %d: %w", i, err)
			}
			head = evs[1].Seq
		} else if _, err := st.Append(ctx, "shared", uzda.At{Head: uzda.AnyHead}, note(n+"/"+strconv.Itoa(i), n)); err != nil {
			return fmt.Errorf("append %d: %w", i, err)
		}
	}
	return st.Release(ctx, own, epoch)
}

// case:S03: eight processes append to one store while readers poll: nothing is
// lost, no lock is seen, the order of each is kept, and a failed append in the
// middle leaves no lock and no hold behind.
func TestManyProcesses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	st := open(t, dir, journal.FilesOptions{})
	stop := make(chan struct{})
	var readers sync.WaitGroup
	for r := range 2 {
		poll := open(t, dir, journal.FilesOptions{})
		readers.Go(func() { pollUntil(t, poll, []uzda.SessionID{"shared", "own-0"}[r], stop) })
	}
	var all []*exec.Cmd
	for n := range writers {
		cmd, _, _ := process(t, "writer", dir, n)
		all = append(all, cmd)
	}
	for n, cmd := range all {
		if err := cmd.Wait(); err != nil {
			t.Errorf("process %d: %v", n, err)
		}
	}
	close(stop)
	readers.Wait()
	shared := read(t, st, "shared")
	if want := writers * appends / 2; len(shared) != want {
		t.Errorf("%d shared events, want %d", len(shared), want)
	}
	last := map[string]int{}
	for _, e := range shared {
		n, at, _ := strings.Cut(e.Body.(uzda.Noted).ID, "/")
		if i, _ := strconv.Atoi(at); i <= last[n] {
			t.Errorf("process %s: %d after %d", n, i, last[n])
		} else {
			last[n] = i
		}
	}
	for n := range writers {
		if got := len(read(t, st, uzda.SessionID(fmt.Sprint("own-", n)))); got != appends {
			t.Errorf("process %d: %d events of its own, want %d", n, got, appends)
		}
	}
	if settled, held, err := st.Spent(ctx, acc.Name); settled+held != 0 || err != nil {
		t.Errorf("failed appends hold %s, %v", held, err)
	}
	sound(t, st)
}

// pollUntil reads on and on, and fails when a number is missing.
func pollUntil(t *testing.T, st *journal.Files, id uzda.SessionID, stop <-chan struct{}) {
	head := uzda.Seq(0)
	for {
		for e, err := range st.Read(ctx, id, head) {
			if err != nil || e.Seq != head+1 {
				t.Errorf("read %s after %d: %d, %v", id, head, e.Seq, err)
				return
			}
			head = e.Seq
		}
		select {
		case <-stop:
			return
		case <-time.After(2 * time.Millisecond):
		}
	}
}

// killed appends until it is killed, and says what it has appended.
func killed(st *journal.Files, n string) error {
	epoch, err := st.Acquire(ctx, id, n)
	if err != nil {
		return err
	}
	head := uzda.Seq(0)
	for e, err := range st.Read(ctx, id, 0) {
		if err != nil {
			return err
		}
		head = e.Seq
	}
	for i := 0; ; i++ {
		name := fmt.Sprint(n, "/", i)
		at := uzda.At{Head: head, Epoch: epoch, Reserve: []uzda.Hold{{ID: name, Amount: 1, Accounts: []uzda.Account{{Name: "all"}}}}}
		bodies := []uzda.Body{asked(i), note(name, strings.Repeat(name, 1+i*i*100%uzda.LongString))}
		evs, err := st.Append(ctx, id, at, bodies...)
		if err != nil {
			return err
		}
		head = evs[len(evs)-1].Seq
		fmt.Println(head)
	}
}

// case:S01: processes that are killed lose nothing that they were told is
// stored, their session is free at once, and what they held counts as spent.
func TestKilledProcesses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for n := range 12 {
		cmd, _, out := process(t, "killed", dir, n)
		told := 0
		for lines := 0; lines <= n && out.Scan(); lines++ {
			told, _ = strconv.Atoi(out.Text())
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		for out.Scan() {
			told, _ = strconv.Atoi(out.Text())
		}
		_ = cmd.Wait()
		st := open(t, dir, journal.FilesOptions{TTL: time.Hour, Warn: func(text string) { t.Logf("warned: %s", text) }})
		epoch, err := st.Acquire(ctx, id, "parent")
		if err != nil {
			t.Fatalf("round %d: a dead process holds the session: %v", n, err)
		}
		evs := read(t, st, id)
		if told == 0 || len(evs) < told {
			t.Fatalf("round %d: %d events, but the process was told %d", n, len(evs), told)
		}
		_, held, err := st.Spent(ctx, "all")
		if err != nil || int(held) < len(evs)/2 {
			t.Errorf("round %d: %d are held for %d events, %v", n, held, len(evs), err)
		}
		sound(t, st)
		if err := st.Release(ctx, id, epoch); err != nil {
			t.Fatal(err)
		}
		if err := st.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// holder holds the session, renewing its lease, until it is told to go on: then
// it tries to write.
func holder(st *journal.Files) error {
	epoch, err := st.Acquire(ctx, id, "the child")
	if err != nil {
		return err
	}
	if _, err := st.Append(ctx, id, uzda.At{Epoch: epoch}, asked(1)); err != nil {
		return err
	}
	told := make(chan struct{})
	go func() {
		_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
		close(told)
	}()
	fmt.Println("ready")
	for waiting := true; waiting; {
		select {
		case <-told:
			waiting = false
		case <-time.After(childTTL / 20):
			if err := st.Renew(ctx, id, epoch); err != nil {
				waiting = false
				<-told
			}
		}
	}
	_, outcome := st.Append(ctx, id, uzda.At{Head: uzda.AnyHead, Epoch: epoch}, uzda.Used{For: "late"})
	_, decision := st.Append(ctx, id, uzda.At{Head: 1, Epoch: epoch}, asked(2))
	fmt.Println(errors.Is(st.Renew(ctx, id, epoch), uzda.ErrFenced), errors.Is(outcome, uzda.ErrFenced),
		errors.Is(decision, uzda.ErrFenced), st.Release(ctx, id, epoch))
	return nil
}

// case:S04: a second process is refused while the first lives; one that was
// stopped for longer than its lease loses the session, notices when it wakes and
// does not write.
func TestStoppedProcess(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cmd, in, out := process(t, "holder", dir, 0)
	if !out.Scan() || out.Text() != "ready" {
		t.Fatalf("the child said %q", out.Text())
	}
	st := open(t, dir, journal.FilesOptions{TTL: childTTL})
	var busy *uzda.Busy
	if _, err := st.Acquire(ctx, id, "the parent"); !errors.As(err, &busy) || busy.Holder != "the child" || busy.Since.IsZero() {
		t.Fatalf("acquire what is held: %v", err)
	}
	if err := cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	var epoch int64
	var err error
	for start := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		if epoch, err = st.Acquire(ctx, id, "the parent"); err == nil {
			break
		}
		if !errors.As(err, &busy) || time.Since(start) > 20*childTTL {
			t.Fatalf("take over: %v", err)
		}
	}
	if _, err := st.Append(ctx, id, uzda.At{Head: 1, Epoch: epoch}, uzda.Used{For: "the parent"}); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintln(in, "go on")
	if !out.Scan() || out.Text() != "true true true <nil>" {
		t.Errorf("the child said %q, want that it is fenced three times and that releasing does nothing", out.Text())
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	if err := st.Renew(ctx, id, epoch); err != nil {
		t.Errorf("renew: %v", err)
	}
	evs := read(t, st, id)
	if len(evs) != 2 || evs[1].By != epoch {
		t.Errorf("events: %+v", evs)
	}
	sound(t, st)
}
