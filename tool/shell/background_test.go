package shell_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/tool/shell"
)

// background are commands that leave something running; %s is a number that only
// they have.
var background = []struct{ name, command, want string }{
	{"plain", "sleep %s & echo hi", "hi"},
	{"a session of its own", "setsid sleep %s & echo hi", "hi"},
	{"forked by setsid", "setsid -f sleep %s; echo hi", "hi"},
	{"nohup", "nohup sleep %s >/dev/null 2>&1 & echo hi", "hi"},
	{"two forks", "(sh -c 'sleep %[1]s & sleep %[1]s' & ) ; echo hi", "hi"},
	{"all closed", "setsid sleep %s >/dev/null 2>&1 </dev/null & echo hi", "hi"},
	{"no environment", "setsid env -i sleep %s & sleep 0.1; echo hi", "hi"},
	{"nothing left to know it by", "sh -c 'setsid env -i sleep %s >/dev/null 2>&1 & sleep 1'; echo hi", "hi"},
	{"endless writer", "sh -c 'while :; do echo y; done # %s' & echo hi", "hi"},
	{"fast writer", "N=%s yes & echo hi", "hi"},
	{"ignores TERM", "sh -c \"trap '' TERM INT HUP; while :; do sleep %s; done\" & echo hi; sleep 0.2", "hi"},
	{"ignores TERM elsewhere", "setsid sh -c \"trap '' TERM INT HUP; while :; do sleep %s; done\" & echo hi; sleep 0.2", "hi"},
	{"stopped", "sleep %s & kill -STOP $!; echo hi", "hi"},
	{"disowned", "sleep %s & disown -a; echo hi", "hi"},
	{"coprocess", "coproc sleep %s; echo hi", "hi"},
	{"server", "N=%s python3 -m http.server 0 & sleep 1; echo up", "up"},
}

// A command returns when its shell has ended, whatever still holds its output; what
// still runs is named and ended.
func TestBackground(t *testing.T) { // case:T09
	t.Parallel()
	for _, c := range background {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			need(t, c.command, "setsid", "python3")
			s := open(t, shell.Config{})
			n := unique()
			begun := time.Now()
			got, res := s.run(fmt.Sprintf(c.command, n))
			within(t, begun, 10*time.Second, c.name) // three are the rule; this machine may be busy
			if res.IsError || !strings.Contains(got, c.want+"\n") {
				t.Errorf("error %v:\n%s", res.IsError, uzda.Clip(got, 500))
			}
			if end := uzda.After(got, 600); !strings.Contains(end, "[ended, since it still ran in the background: pid ") || strings.Contains(end, "[exit") {
				t.Errorf("what still ran is not named:\n%s", end)
			}
			if left := alive(t, n); len(left) > 0 {
				t.Errorf("left: %v", left)
			}
		})
	}
}

func need(t *testing.T, command string, programs ...string) {
	t.Helper()
	for _, p := range programs {
		if _, err := exec.LookPath(p); err != nil && strings.Contains(command, p) {
			t.Skipf("SKIPPED: no %s here", p)
		}
	}
	if runtime.GOOS != "linux" && strings.Contains(command, "setsid") {
		t.Skip("SKIPPED: what leaves its session is only found on Linux")
	}
}

// What the background says at once belongs to the command.
func TestLateOutput(t *testing.T) { // case:T09
	t.Parallel()
	s := open(t, shell.Config{})
	s.wants("(sleep 0.02; echo late) & echo hi", "hi\nlate")
}

// A cancel ends everything, also what ignores it.
func TestCancel(t *testing.T) { // L11
	t.Parallel()
	for name, command := range map[string]string{
		"plain":         "echo begun; sleep %s; echo no",
		"ignores TERM":  "trap '' TERM INT; echo begun; sleep %[1]s; sleep %[1]s",
		"all ignore it": "echo begun; sh -c \"trap '' TERM INT; while :; do sleep %s; done\"",
		"elsewhere":     "setsid sleep %[1]s & nohup sleep %[1]s & echo begun; sleep %[1]s",
		"unknown":       "env -i setsid sleep %[1]s >/dev/null 2>&1 & sleep 0.1; echo begun; sleep %[1]s",
		"in a pipe":     "echo begun; sleep %s | cat | cat",
		"a writer":      "echo begun; N=%s yes",
		"starts more":   "echo begun; while :; do sleep %[1]s & sleep 0.01; done",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			need(t, command, "setsid")
			s := open(t, shell.Config{})
			n := unique()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var cut time.Time
			go func() {
				for begun := time.Now(); time.Since(begun) < 20*time.Second; time.Sleep(10 * time.Millisecond) {
					if _, err := os.Stat(filepath.Join(s.dir, "ready")); err == nil {
						break
					}
				}
				time.Sleep(100 * time.Millisecond) // some are to be in the middle of their work
				cut = time.Now()
				cancel()
			}()
			got, res := s.call(ctx, map[string]any{"command": strings.Replace(fmt.Sprintf(command, n), "echo begun", "echo begun; : > ready", 1)})
			took := time.Since(cut)
			t.Logf("gone %v after the cancel", took.Round(time.Millisecond))
			if took > 5*time.Second { // the rule says one; this machine may be busy
				t.Errorf("it took %v", took)
			}
			if !res.IsError || res.Code != uzda.CodeCancelled || res.Effect != uzda.EffectUnknown || !strings.HasPrefix(got, "begun\n") || !strings.Contains(uzda.After(got, 300), "[cancelled: ") {
				t.Errorf("%+v\n%s", res.Code, uzda.Clip(got, 500))
			}
			if left := alive(t, n); len(left) > 0 {
				t.Errorf("left: %v", left)
			}
		})
	}
}

// A command that takes too long gives what it printed until then.
func TestTimeout(t *testing.T) { // T2
	t.Parallel()
	s := open(t, shell.Config{Time: 2 * time.Second})
	n := unique()
	got, res := s.run("cd /; echo begun; sleep " + n)
	if !res.IsError || res.Code != uzda.CodeTimeout || res.Effect != uzda.EffectUnknown ||
		got != "begun\n[timeout: the command was ended after 2 s; what it did until then stays done. If it needs longer, set timeout]" {
		t.Errorf("%+v", res)
	}
	if left := alive(t, n); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	s.wants("pwd", s.dir)
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	s.tool = open(t, shell.Config{}).tool
	if got, res := s.call(ctx, map[string]any{"command": "sleep " + n}); res.Code != uzda.CodeTimeout || !strings.Contains(got, "time of the turn") {
		t.Errorf("%s: %+v", got, res)
	}
	if got, res := s.call(t.Context(), map[string]any{"command": "sleep " + n, "timeout": 1}); res.Code != uzda.CodeTimeout || !strings.Contains(got, "after 1 s") {
		t.Errorf("%s: %+v", got, res)
	}
}

// Where it is wished, the background goes on until its session ends.
func TestKeep(t *testing.T) { // T2 case:T09
	t.Parallel()
	s := open(t, shell.Config{Keep: true})
	other := *s
	other.id = "other"
	n, m := unique(), unique()
	tick := filepath.Join(s.dir, "tick")
	got := s.has("(while [ ! -e "+tick+" ]; do sleep 0.05; done; echo later; sleep "+n+") & echo hi", "hi\n[raw output, 3 bytes: ", "[still running in the background: pid ")
	other.has("sleep "+m+" & echo hi", "still running")
	if runtime.GOOS == "linux" && (len(alive(t, m)) == 0 || len(s.tool.Kept("s")) == 0) {
		t.Errorf("the background is gone: %v", s.tool.Kept("s"))
	}
	if err := os.WriteFile(tick, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for begun := time.Now(); string(rawFile(t, got)) != "hi\nlater\n"; time.Sleep(10 * time.Millisecond) {
		if time.Since(begun) > 20*time.Second {
			t.Fatalf("the later output is not kept: %q", rawFile(t, got))
		}
	}
	s.wants("echo next", "next")
	ended := s.tool.Reap("s")
	if len(ended) == 0 || !strings.Contains(strings.Join(ended, " "), n) {
		t.Errorf("ended: %v", ended)
	}
	if left := alive(t, n); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	if runtime.GOOS == "linux" && len(alive(t, m)) == 0 {
		t.Error("another session's background is gone")
	}
	if err := s.tool.Close(); err != nil {
		t.Fatal(err)
	}
	if left := alive(t, m); len(left) > 0 {
		t.Errorf("left after the end: %v", left)
	}
	// What ends by itself is forgotten, and a cancelled command keeps nothing.
	s.run("sleep 0.3 & echo x")
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(200*time.Millisecond, cancel)
	if _, res := s.call(ctx, map[string]any{"command": "sleep " + n + " & sleep " + n}); res.Code != uzda.CodeCancelled || len(alive(t, n)) > 0 {
		t.Errorf("%+v, left: %v", res, alive(t, n))
	}
}

// What a crash leaves behind is found and ended at the next use of its session.
func TestCrash(t *testing.T) { // T2 case:T09
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("SKIPPED: what a crash left is only found on Linux")
	}
	dir := t.TempDir()
	n := unique()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "SHELL_TEST_CRASH="+dir, "SHELL_TEST_KEEP=yes", "SHELL_TEST_COMMAND=setsid sleep "+n+" >/dev/null 2>&1 & echo hi")
	if out, err := cmd.CombinedOutput(); !strings.Contains(string(out), "still running") {
		t.Fatalf("%v\n%s", err, out)
	}
	if len(alive(t, n)) == 0 {
		t.Fatal("nothing was left")
	}
	s := open(t, shell.Config{State: dir})
	other := *s
	other.id = "t"
	other.wants("echo hi", "hi")
	if len(alive(t, n)) == 0 {
		t.Error("another session ended it")
	}
	s.has("echo hi", "hi\n[processes of an earlier command, from before a restart, still ran and were ended: pid ", "sleep "+n)
	s.wants("echo hi", "hi")
	if left := alive(t, n); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// A program of ours inside a command of ours, with the same state, does not take that
// command for a leftover.
func TestNested(t *testing.T) { // T2
	t.Parallel()
	state := t.TempDir()
	s := open(t, shell.Config{State: state})
	said, tick := filepath.Join(s.dir, "said"), filepath.Join(s.dir, "tick")
	done := make(chan string)
	go func() {
		got, _ := s.run("echo $UZDA_USE > new; mv new said; while [ ! -e tick ]; do sleep 0.05; done; echo survived")
		done <- got
	}()
	var marks []byte
	for begun := time.Now(); len(marks) == 0 && time.Since(begun) < 20*time.Second; time.Sleep(10 * time.Millisecond) {
		marks, _ = os.ReadFile(said)
	}
	inner := open(t, shell.Config{State: state, Env: append(os.Environ(), "UZDA_USE="+strings.TrimSpace(string(marks)))})
	inner.has("echo $UZDA_USE", strings.TrimSpace(string(marks))+" ")
	if err := os.WriteFile(tick, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := <-done; got != "survived" {
		t.Errorf("the outer command: %s", got)
	}
}

// What kill -9 of a program leaves is found, ended and named by the next program that
// takes up the session, and by no other; as long as the first one lives its processes
// and files are left alone.
func TestKilled(t *testing.T) { // T2 case:T09
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("SKIPPED: what a crash left is only found on Linux")
	}
	for _, c := range []struct {
		name, command string
		reap          bool
	}{
		{"by the next command", "echo begun; sleep %s", false},
		{"by Reap", "setsid sleep %[1]s >/dev/null 2>&1 & sleep %[1]s", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir, n := t.TempDir(), unique()
			first := exec.Command(os.Args[0])
			first.Env = append(os.Environ(), "SHELL_TEST_CRASH="+dir, "SHELL_TEST_COMMAND="+fmt.Sprintf(c.command, n))
			if err := first.Start(); err != nil {
				t.Fatal(err)
			}
			gone := false
			defer func() {
				if !gone {
					_ = first.Process.Kill()
					_ = first.Wait()
				}
			}()
			for begun := time.Now(); len(alive(t, "sleep\x00"+n)) == 0; time.Sleep(10 * time.Millisecond) {
				if time.Since(begun) > 20*time.Second {
					t.Fatal("it did not begin")
				}
			}
			posts := func() int {
				all, _ := filepath.Glob(filepath.Join(dir, "s", ".post-*"))
				return len(all)
			}
			beside := open(t, shell.Config{State: dir})
			beside.wants("echo hi", "hi")
			if ended := beside.tool.Reap("s"); len(ended) > 0 || len(alive(t, "sleep\x00"+n)) == 0 || posts() != 1 {
				t.Errorf("a living program's command was touched: %v, %d files", ended, posts())
			}
			gone = true
			if err := first.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			_ = first.Wait() // it was killed
			if len(alive(t, "sleep\x00"+n)) == 0 {
				t.Fatal("nothing was left")
			}
			next := open(t, shell.Config{State: dir})
			other := *next
			other.id = "t"
			other.wants("echo hi", "hi")
			if ended := other.tool.Reap("t"); len(ended) > 0 || len(alive(t, "sleep\x00"+n)) == 0 {
				t.Errorf("another session ended it: %v", ended)
			}
			if c.reap {
				if ended := strings.Join(next.tool.Reap("s"), " "); !strings.Contains(ended, "pid ") || !strings.Contains(ended, "sleep "+n) {
					t.Errorf("not named: %q", ended)
				}
			}
			said := next.has("echo hi", "hi\n[processes of an earlier command, from before a restart, still ran and were ended: pid ", "sleep "+n)
			if strings.Contains(said, "trap") {
				t.Errorf("more than the command is shown:\n%s", said)
			}
			next.wants("echo hi", "hi")
			if left := alive(t, n); len(left) > 0 || posts() > 0 {
				t.Errorf("left: %v, %d files", left, posts())
			}
		})
	}
}

// 100 runs of what goes wrong, in four sessions at once: the right codes, nothing
// left, nothing leaked.
func TestHundred(t *testing.T) { // case:T09 case:C13
	if testing.Short() {
		t.Skip("SKIPPED: 100 runs take a while")
	}
	s := open(t, shell.Config{Text: 1 << 20})
	n := unique()
	for _, c := range background[:4] {
		need(t, c.command, "setsid")
	}
	s.run("true")
	files, routines := descriptors(t), runtime.NumGoroutine()
	var wg sync.WaitGroup
	for k := range 4 {
		one := *s
		one.id = uzda.SessionID(fmt.Sprint("s", k))
		wg.Go(func() {
			for i := k * 25; i < k*25+25; i++ {
				one.wrong(i, n)
			}
		})
	}
	wg.Wait()
	if left := alive(t, n); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	for begun := time.Now(); runtime.NumGoroutine() > routines && time.Since(begun) < 5*time.Second; {
		time.Sleep(10 * time.Millisecond)
	}
	if now := runtime.NumGoroutine(); now > routines {
		t.Errorf("%d goroutines became %d", routines, now)
	}
	if now := descriptors(t); now > files {
		t.Errorf("%d open files became %d", files, now)
	}
}

// wrong is the i-th of the hundred.
func (s *session) wrong(i int, n string) {
	const big = "i=0; while [ $i -lt 2 ]; do head -c 1000000 /dev/zero | tr '\\0' x | fold -w 99; i=$((i+1)); done; echo; echo 'FATAL: disk quota'; exit 9"
	switch i % 5 {
	case 0:
		s.has(fmt.Sprintf(background[i/5%4].command, n), "hi\n[ended, since")
	case 1:
		s.has("sh -c \"trap '' TERM INT; sleep "+n+"\" & sleep 0.05; exit 4", "[exit 4]")
	case 2:
		got := s.has(big, "x\n[", " bytes of output are left out here]", "\nFATAL: disk quota\n[", "[raw output, ", "[exit 9")
		if len(got) > 2<<20 {
			s.t.Errorf("%d bytes", len(got))
		}
	case 3:
		s.wants("echo ok", "ok")
	case 4:
		ctx, cancel := context.WithCancel(s.t.Context())
		defer cancel()
		time.AfterFunc(50*time.Millisecond, cancel)
		if _, res := s.call(ctx, map[string]any{"command": "sleep " + n + " & sleep " + n}); res.Code != uzda.CodeCancelled {
			s.t.Errorf("%+v", res)
		}
	}
}

func descriptors(t *testing.T) int {
	t.Helper()
	all, err := os.ReadDir("/dev/fd")
	if err != nil {
		return 0
	}
	return len(all)
}
