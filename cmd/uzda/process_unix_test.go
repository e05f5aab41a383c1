//go:build unix

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// program is the real program with a home of its own.
type program struct {
	t    *testing.T
	bin  string
	dir  string
	envs []string
}

var build = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "uzda-test-")
	if err != nil {
		return "", err
	}
	built = dir
	bin := filepath.Join(dir, "uzda")
	out, err := exec.Command("go", "build", "-o", bin, ".").CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%w: %s", err, out)
	}
	return bin, err
})

func newProgram(t *testing.T) *program {
	t.Helper()
	bin, err := build()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	envs := append(os.Environ(), "UZDA_HOME="+filepath.Join(dir, "home"), "HOME="+dir, "NO_COLOR=1")
	return &program{t: t, bin: bin, dir: dir, envs: append(envs, nobody()...)}
}

func (p *program) file(name, text string) string {
	p.t.Helper()
	path := filepath.Join(p.dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		p.t.Fatal(err)
	}
	return path
}

func (p *program) command(args ...string) *exec.Cmd {
	c := exec.Command(p.bin, args...)
	c.Dir, c.Env = p.dir, p.envs
	return c
}

type ended struct {
	code   int
	result result
	errs   string
}

// wait takes what a program printed and how it ended.
func (p *program) wait(c *exec.Cmd, out, errs *bytes.Buffer) ended {
	p.t.Helper()
	c.Wait() //nolint:errcheck // the code is looked at
	e := ended{code: c.ProcessState.ExitCode(), errs: errs.String()}
	if out.Len() > 0 {
		if err := json.Unmarshal(out.Bytes(), &e.result); err != nil {
			p.t.Fatalf("standard output is no single JSON object: %v\n%s", err, out)
		}
	}
	return e
}

func (p *program) start(args ...string) (*exec.Cmd, *bytes.Buffer, *bytes.Buffer) {
	p.t.Helper()
	c := p.command(append(args, "--output-format", "json")...)
	var out, errs bytes.Buffer
	c.Stdout, c.Stderr = &out, &errs
	if err := c.Start(); err != nil {
		p.t.Fatal(err)
	}
	return c, &out, &errs
}

func (p *program) run(args ...string) ended {
	p.t.Helper()
	return p.wait(p.start(args...))
}

// The program is killed again and again while it works, and each time goes on
// where its journal ends: nothing is lost, nothing runs twice, the journal holds.
func TestKilledProgram(t *testing.T) { // case:S06 case:L04 T5
	p := newProgram(t)
	var turns []string
	for i := range 12 {
		turns = append(turns, fmt.Sprintf(`{"text":"step %d","delay_ms":15,"calls":[{"name":"notes","input":{"op":"append","text":"line %02d"}},{"name":"notes","input":{"op":"read"}}]}`, i, i))
	}
	script := p.file("turns.json", `{"by_view":true,"turns":[`+strings.Join(turns, ",")+`,{"text":"All done."}]}`)
	kills, end := 0, ended{}
	for try := 0; try < 60; try++ {
		args := []string{"run", "--model", "script:" + script, "--session", "s", "go"}
		if try > 0 {
			args = []string{"resume", "s", "--model", "script:" + script}
		}
		c, out, errs := p.start(args...)
		wait := time.Duration(60+37*(try%9)) * time.Millisecond
		if try >= 12 {
			wait = time.Minute
		}
		timer := time.AfterFunc(wait, func() { c.Process.Kill() }) //nolint:errcheck // it may have ended
		end = p.wait(c, out, errs)
		timer.Stop()
		if end.code != -1 {
			if try == 0 || end.code == 0 {
				break
			}
			if end.code == 2 && (strings.Contains(end.errs, "no session s") || strings.Contains(end.errs, "no task yet")) { // killed before it was there
				if e := p.run("run", "--model", "script:"+script, "--session", "s", "go"); e.code == 0 {
					end = e
					break
				}
			}
			continue
		}
		kills++
	}
	if end.code != 0 || end.result.Answer != "All done." {
		t.Fatalf("after %d kills: exit %d, %+v\n%s", kills, end.code, end.result, end.errs)
	}
	raw, err := os.ReadFile(filepath.Join(p.dir, "home", "notes", "s", "notes.md"))
	if err != nil {
		t.Fatal(err)
	}
	for i := range 12 {
		if n := strings.Count(string(raw), fmt.Sprintf("line %02d", i)); n != 1 {
			t.Errorf("line %02d stands there %d times:\n%s", i, n, raw)
		}
	}
	if e := p.run("doctor"); e.code != 0 {
		t.Errorf("doctor: %+v %s", e.result, e.errs)
	}
	t.Logf("%d kills", kills)
	if kills == 0 {
		t.Error("nothing was killed, so nothing was shown")
	}
}

// An interrupt ends the turn within a second or so, exits 130 with one object,
// and leaves a session that goes on.
func TestInterrupted(t *testing.T) { // L11
	p := newProgram(t)
	script := p.file("turns.json", `{"turns":[{"text":"wait","delay_ms":60000},{"text":"Here I am."}]}`)
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		c, out, errs := p.start("run", "--model", "script:"+script, "--session", sig.String()[:4], "go")
		waitFor(t, func() bool {
			shown, err := p.command("show", sig.String()[:4], "--events").Output()
			return err == nil && strings.Contains(string(shown), `"kind":"asked"`)
		})
		if err := c.Process.Signal(sig); err != nil {
			t.Fatal(err)
		}
		if sig == syscall.SIGHUP { // a terminal that closes sends more than one: the system's, and the shell's
			time.Sleep(20 * time.Millisecond)
			c.Process.Signal(sig) //nolint:errcheck // it may have ended
		}
		e := p.wait(c, out, errs)
		if e.code != 130 || e.result.Outcome != "cancelled" || e.result.Reason != "cancelled" || e.result.Exit != 130 {
			t.Fatalf("%v: exit %d, %+v\n%s", sig, e.code, e.result, e.errs)
		}
		if e := p.run("resume", sig.String()[:4], "--model", "script:"+script); e.code != 0 || e.result.Answer != "Here I am." {
			t.Fatalf("resumed: exit %d, %+v\n%s", e.code, e.result, e.errs)
		}
	}
}

// A summary that is asked for by hand says what it waits for; an interrupt leaves the
// session as it was, and what a machine reads names it.
func TestCompactInterrupted(t *testing.T) { // C3 L11
	p := newProgram(t)
	script := p.file("turns.json", `{"turns":[{"text":"`+strings.Repeat("Long. ", 3000)+`"},{"text":"Yes."},{"text":"Yes."},{"text":"Yes."}]}`)
	slow := "script:" + p.file("slow.json", `{"loop":true,"turns":[{"text":"never","delay_ms":60000}]}`)
	for _, task := range []string{"go", "on", "and on", "the last"} {
		if e := p.run("run", "--model", "script:"+script, "--session", "s", task); e.code != 0 {
			t.Fatalf("exit %d\n%s", e.code, e.errs)
		}
	}
	before, err := p.command("show", "s", "--events").Output()
	if err != nil {
		t.Fatal(err)
	}
	c := p.command("compact", "s", "--model", slow, "--output-format", "json")
	c.Env = append(c.Env, "UZDA_CONTEXT_KEEP=1")
	var out bytes.Buffer
	c.Stdout = &out
	errs, err := c.StderrPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	said := bufio.NewScanner(errs)
	for said.Scan() && !strings.Contains(said.Text(), slow+" writes the summary") {
	}
	if err := c.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	for said.Scan() {
	}
	e := p.wait(c, &out, new(bytes.Buffer))
	if e.code != 130 || e.result.Exit != 130 || e.result.Reason != "cancelled" || e.result.Session != "s" {
		t.Errorf("exit %d, %+v", e.code, e.result)
	}
	after, err := p.command("show", "s", "--events").Output()
	if err != nil || strings.Contains(string(after[len(before):]), `"kind":"edited"`) {
		t.Errorf("%v: it was changed all the same:\n%s", err, after[len(before):])
	}
}

// A second interrupt ends the program at once, and what was recorded goes on.
func TestInterruptedTwice(t *testing.T) { // L11
	p := newProgram(t)
	script := p.file("turns.json", `{"by_view":true,"loop":true,"turns":[{"text":"Done."}]}`)
	stubborn := "trap '' TERM INT; touch began; sleep 5"
	c, out, errs := p.start("run", "--model", "script:"+script, "--verify", stubborn, "--session", "s", "go")
	waitFor(t, func() bool { _, err := os.Stat(filepath.Join(p.dir, "began")); return err == nil })
	for range 2 {
		if err := c.Process.Signal(syscall.SIGINT); err != nil {
			t.Fatal(err)
		}
		time.Sleep(20 * time.Millisecond) // two signals at once are one
	}
	if e := p.wait(c, out, errs); e.code != 130 {
		t.Errorf("exit %d\n%s", e.code, e.errs)
	}
	if e := p.run("resume", "s"); e.code != 0 && e.code != 130 {
		t.Errorf("resumed: exit %d %+v\n%s", e.code, e.result, e.errs)
	}
	if e := p.run("doctor"); e.code != 0 {
		t.Errorf("doctor: %s", e.errs)
	}
}

func waitFor(t *testing.T, ok func() bool) {
	t.Helper()
	for range 2400 {
		if ok() {
			return
		}
		time.Sleep(25 * time.Millisecond)
	}
	t.Fatal("it did not happen within a minute")
}

// Two programs and one session: the second is told who has it, and a cancel by
// another program ends the turn of the first.
func TestTwoPrograms(t *testing.T) { // case:S04
	p := newProgram(t)
	script := p.file("turns.json", `{"turns":[{"text":"wait","delay_ms":60000},{"text":"x"}]}`)
	c, out, errs := p.start("run", "--model", "script:"+script, "--session", "s", "go")
	waitFor(t, func() bool {
		shown, err := p.command("show", "s", "--events").Output()
		return err == nil && strings.Contains(string(shown), `"kind":"asked"`)
	})
	second := p.run("run", "--model", "script:"+script, "--session", "s", "me too")
	if second.code != 11 || second.result.Reason != "session_busy" || !strings.Contains(second.errs, fmt.Sprintf("process %d", c.Process.Pid)) {
		t.Errorf("the second: exit %d, %+v\n%s", second.code, second.result, second.errs)
	}
	for _, args := range [][]string{{"compact", "s"}, {"compact", "s", "--undo=2"}} { // C3
		if e := p.run(args...); e.code != 11 {
			t.Errorf("%v: exit %d while another program works on it\n%s", args, e.code, e.errs)
		}
	}
	if shown, _ := p.command("show", "s", "--events").Output(); strings.Contains(string(shown), "me too") { // an error shows below
		t.Errorf("the task that was refused is in the session:\n%s", shown)
	}
	if err := c.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if e := p.wait(c, out, errs); e.code != 130 {
		t.Errorf("the first: exit %d\n%s", e.code, e.errs)
	}
}

// A run must not wait for a standard input that never closes.
func TestOpenStdin(t *testing.T) { // case:U02
	p := newProgram(t)
	script := p.file("turns.json", `{"turns":[{"text":"ok"}]}`)
	c := p.command("run", "--model", "script:"+script, "go")
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := c.Output()
	if err != nil || strings.TrimSpace(string(out)) != "ok" {
		t.Fatalf("got %q, %v", out, err)
	}
}
