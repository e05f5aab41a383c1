//go:build unix

package sqlite_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/sqlite"
)

func init() { // in a test program only: what it does as another process
	roles["append"] = roleAppend
	roles["hold"] = roleHold
	roles["flood"] = roleFlood
	roles["upgrade"] = roleUpgrade
	roles["open"] = roleOpen
}

// child is a running process with a role.
type child struct {
	*exec.Cmd
	in  io.WriteCloser
	out *bufio.Scanner
}

func command(exe, role, path, name string) *exec.Cmd {
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), roleVar+"="+role, pathVar+"="+path, nameVar+"="+name)
	cmd.Stderr = os.Stderr
	return cmd
}

func start(t testing.TB, role, path, name string) *child {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := command(exe, role, path, name)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	c := &child{Cmd: cmd, in: in, out: bufio.NewScanner(out)}
	t.Cleanup(func() {
		_ = c.Process.Signal(syscall.SIGCONT)
		_ = c.Process.Kill()
		_ = c.Wait() // a second one does nothing
	})
	return c
}

// says waits for the child's next line.
func (c *child) says(t testing.TB, want string) {
	t.Helper()
	if !c.out.Scan() {
		t.Fatalf("the child ended, want it to say %q", want)
	}
	if got := c.out.Text(); got != want {
		t.Fatalf("the child says %q, want %q", got, want)
	}
}

func (c *child) tell(t testing.TB, line string) {
	t.Helper()
	if _, err := io.WriteString(c.in, line+"\n"); err != nil {
		t.Fatal(err)
	}
}

func (c *child) kill(t testing.TB) {
	t.Helper()
	if err := c.Process.Kill(); err != nil {
		t.Fatal(err)
	}
}

// roleAppend appends 200 events, to a session of its own and to one that all
// share. Each twentieth is preceded by one that fails in the middle of its
// transaction, after it has written.
func roleAppend() error {
	db, err := sqlite.Open(os.Getenv(pathVar))
	if err != nil {
		return err
	}
	defer db.Close()
	name := os.Getenv(nameVar)
	for i := range 200 {
		id := uzda.SessionID("own-" + name)
		if i%2 == 1 {
			id = "shared"
		}
		at := uzda.At{Head: uzda.AnyHead}
		if i%20 == 0 {
			bad := at
			bad.Reserve = []uzda.Hold{{ID: fmt.Sprint(name, i), Amount: uzda.Dollar, Accounts: []uzda.Account{{Name: "wide"}, {Name: "tight", Limit: 1}}}}
			if _, err := db.Append(ctx, id, bad, note("never")); !errors.Is(err, uzda.ErrBudget) {
				return fmt.Errorf("error %w, want ErrBudget", err)
			}
		}
		if _, err := db.Append(ctx, id, at, uzda.Noted{ID: fmt.Sprintf("%s-%03d", name, i), Text: strings.Repeat("x", 1000)}); err != nil {
			return fmt.Errorf("append %d of %s: %w", i, name, err)
		}
	}
	return nil
}

// TestManyProcesses: 8 processes append 200 events each while others read: no
// lock error, no loss, order kept, and a failed write leaves no lock.
// case:S03
func TestManyProcesses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.uzda")
	var children []*child
	for i := range 8 {
		children = append(children, start(t, "append", path, fmt.Sprint(i)))
	}
	db := open(t, path, sqlite.Options{}) // while they make the store
	polling, stop := context.WithCancel(ctx)
	var readers sync.WaitGroup
	for range 2 {
		readers.Go(func() {
			for polling.Err() == nil {
				for _, err := range db.Read(polling, "shared", 0) {
					if err != nil && polling.Err() == nil {
						t.Errorf("read while others write: %v", err)
					}
				}
				for _, err := range db.List(polling) {
					if err != nil && polling.Err() == nil {
						t.Errorf("list while others write: %v", err)
					}
				}
			}
		})
	}
	for i, c := range children {
		for c.out.Scan() {
			t.Error(c.out.Text())
		}
		if err := c.Wait(); err != nil {
			t.Errorf("process %d: %v", i, err)
		}
	}
	stop()
	readers.Wait()
	last := map[string]string{}
	n := map[string]int{}
	for _, e := range read(t, db, "shared") {
		id := e.Body.(uzda.Noted).ID
		who, _, _ := strings.Cut(id, "-")
		if id <= last[who] {
			t.Errorf("%s comes after %s", id, last[who])
		}
		last[who], n[who] = id, n[who]+1
	}
	for i := range 8 {
		who := fmt.Sprint(i)
		if n[who] != 100 {
			t.Errorf("process %d has %d events in the shared session, want 100", i, n[who])
		}
		own := read(t, db, uzda.SessionID("own-"+who))
		if len(own) != 100 {
			t.Errorf("process %d has %d events of its own, want 100", i, len(own))
		}
		for k, e := range own {
			if want := fmt.Sprintf("%s-%03d", who, 2*k); e.Body.(uzda.Noted).ID != want {
				t.Fatalf("event %d is %s, want %s", k, e.Body.(uzda.Noted).ID, want)
			}
		}
	}
	if settled, held, err := db.Spent(ctx, "wide"); settled != 0 || held != 0 || err != nil {
		t.Errorf("failed appends hold %s and have settled %s, %v", held, settled, err)
	}
	sound(t, db)
}

// ttl is how long leases last where a test waits for one to end.
const ttl = time.Second

// roleHold takes a lease, appends, and waits to be told to try again.
func roleHold() error {
	o := sqlite.Options{LeaseTTL: ttl}
	if os.Getenv(nameVar) == "long" {
		o.LeaseTTL = time.Hour
	}
	db, err := sqlite.OpenWith(os.Getenv(pathVar), o)
	if err != nil {
		return err
	}
	defer db.Close()
	epoch, err := db.Acquire(ctx, "one", "the child")
	if err != nil {
		return err
	}
	if _, err := db.Append(ctx, "one", uzda.At{Epoch: epoch}, uzda.Opened{Format: 1, Agent: "child"}); err != nil {
		return err
	}
	fmt.Println("held")
	bufio.NewScanner(os.Stdin).Scan()
	for _, at := range []uzda.At{{Head: 1, Epoch: epoch}, {Head: 2, Epoch: epoch}, {Head: uzda.AnyHead, Epoch: epoch}} {
		body := uzda.Body(uzda.Ended{Outcome: uzda.Finished, Reason: uzda.EndTurn})
		if at.Head == uzda.AnyHead {
			body = uzda.Broken{Code: "late"}
		}
		if _, err := db.Append(ctx, "one", at, body); !errors.Is(err, uzda.ErrFenced) {
			return fmt.Errorf("append at %d: error %w, want ErrFenced", at.Head, err)
		}
	}
	if err := db.Renew(ctx, "one", epoch); !errors.Is(err, uzda.ErrFenced) {
		return fmt.Errorf("renew: error %w, want ErrFenced", err)
	}
	if err := db.Release(ctx, "one", epoch); err != nil && !errors.Is(err, uzda.ErrFenced) {
		return err
	}
	fmt.Println("fenced")
	return nil
}

// TestStoppedHolder: a process that is stopped for longer than its lease loses
// the session, notices when it wakes, and writes nothing.
// case:S04
func TestStoppedHolder(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "store.uzda")
	c := start(t, "hold", path, "")
	c.says(t, "held")
	if err := c.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	db := open(t, path, sqlite.Options{LeaseTTL: time.Hour})
	var busy *uzda.Busy
	if _, err := db.Acquire(ctx, "one", "the parent"); !errors.As(err, &busy) || busy.Holder != "the child" || time.Since(busy.Since) > time.Minute {
		t.Errorf("acquire at once: %v, want *uzda.Busy that says who and since when", err)
	}
	epoch, err := db.Acquire(ctx, "one", "the parent")
	for deadline := time.Now().Add(30 * ttl); errors.As(err, &busy) && time.Now().Before(deadline); {
		time.Sleep(ttl / 20)
		epoch, err = db.Acquire(ctx, "one", "the parent")
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Append(ctx, "one", uzda.At{Head: 1, Epoch: epoch}, uzda.Parked{On: uzda.WaitTimer}); err != nil {
		t.Fatal(err)
	}
	if err := c.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	c.tell(t, "go on")
	c.says(t, "fenced")
	if evs := read(t, db, "one"); len(evs) != 2 || evs[1].By != epoch {
		t.Errorf("%d events: the process that was fenced has written", len(evs))
	}
	if err := db.Renew(ctx, "one", epoch); err != nil {
		t.Errorf("the end of the old holder took the lease of the new one: %v", err)
	}
	sound(t, db)
}

// TestDeadHolder: what a killed process held is free at once, however long its
// lease had still to run, and its files are tidied away.
// L10
func TestDeadHolder(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "store.uzda")
	c := start(t, "hold", path, "long")
	c.says(t, "held")
	db := open(t, path, sqlite.Options{})
	var busy *uzda.Busy
	if _, err := db.Acquire(ctx, "one", "the parent"); !errors.As(err, &busy) {
		t.Fatalf("acquire while it lives: %v, want *uzda.Busy", err)
	}
	c.kill(t)
	_ = c.Wait()
	epoch, err := db.Acquire(ctx, "one", "the parent")
	if err != nil || epoch != 2 {
		t.Fatalf("acquire after its end: epoch %d, %v", epoch, err)
	}
	if files, err := os.ReadDir(path + ".locks"); err != nil || len(files) != 1 {
		t.Errorf("lock files %v, %v: want only our own", files, err)
	}
}

// roleFlood appends from four goroutines and says what was acknowledged.
func roleFlood() error {
	db, err := sqlite.Open(os.Getenv(pathVar))
	if err != nil {
		return err
	}
	var wg sync.WaitGroup
	for k := range 4 {
		wg.Go(func() {
			for i := 0; ; i++ {
				id := uzda.SessionID(fmt.Sprint("k", k))
				text := strings.Repeat("y", 500+i%40*500)
				evs, err := db.Append(ctx, id, uzda.At{Head: uzda.AnyHead}, uzda.Noted{Text: text})
				if err != nil {
					fmt.Fprintln(os.Stderr, err)
					return
				}
				fmt.Printf("%s %d\n", id, evs[0].Seq) // one write: a line is whole or not there
			}
		})
	}
	wg.Wait()
	return nil
}

// TestKilledInAppend: after kill -9 in the middle of appends every one that was
// acknowledged is there, and the chains verify.
// case:S01 T3
func TestKilledInAppend(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "store.uzda")
	acked := map[uzda.SessionID]uzda.Seq{}
	total := 0
	for range 5 {
		c := start(t, "flood", path, "")
		for want := 20 + rand.IntN(200); c.out.Scan(); want-- {
			var id uzda.SessionID
			var n uzda.Seq
			if _, err := fmt.Sscan(c.out.Text(), &id, &n); err != nil {
				t.Fatal(err)
			}
			acked[id] = max(acked[id], n)
			total++
			if want == 0 {
				c.kill(t)
			}
		}
		_ = c.Wait()
		db := open(t, path, sqlite.Options{})
		for id, n := range acked {
			// One more may have been written whose line was not.
			if got := uzda.Seq(len(read(t, db, id))); got < n {
				t.Fatalf("session %s has %d events, %d were acknowledged", id, got, n)
			}
		}
		sound(t, db)
	}
	t.Logf("%d appends were acknowledged, and are there", total)
}

// A program that starts buries the locks of dead ones. A lock file that another
// is just making is not locked yet and looks like one: it must stay held until
// the burial is over, or the leases of the other would end under it.
func TestNewbornLock(t *testing.T) { // case:S03
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "newborn.lock"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	burial := sqlite.Bury(dir)
	if sqlite.Lock(t, dir, "newborn") {
		t.Error("a lock that is being buried could be taken")
	}
	burial()
	if !sqlite.Lock(t, dir, "newborn") {
		t.Error("after the burial the name is not free")
	}
}
