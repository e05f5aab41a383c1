//go:build unix

package main

import (
	"bytes"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
)

// lively is a buffer that is read while a program writes.
type lively struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lively) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lively) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func (p *program) follows(args ...string) (*exec.Cmd, *lively, *lively) {
	p.t.Helper()
	c, out, errs := p.command(append([]string{"show", "--follow"}, args...)...), &lively{}, &lively{}
	c.Stdout, c.Stderr = out, errs
	if err := c.Start(); err != nil {
		p.t.Fatal(err)
	}
	return c, out, errs
}

// A session that another program runs is shown as it goes on, through an approval
// that is given elsewhere, until its turn ends.
func TestFollow(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	p.envs = append(p.envs, "UZDA_ASK=notes")
	turns := "script:" + p.file("turns.json", `{"by_view":true,"turns":[{"text":"Zaczynam: żółw.","calls":[{"name":"notes","input":{"op":"write","text":"x"}}]},{"text":"Noted.","delay_ms":300}]}`)
	if e := p.run("run", "--model", turns, "--session", "s", "go"); e.code != 8 {
		t.Fatalf("%+v", e)
	}
	shown, text, errs := p.follows("s")
	lines, events, _ := p.follows("s", "--events")
	waitFor(t, func() bool {
		return strings.Contains(text.String(), "uzda approve s") && strings.Contains(events.String(), `"kind":"parked"`)
	})
	p.says(0, []string{"approve", "s"}, "Approved")
	if e := p.run("resume", "s", "--model", turns); e.code != 0 {
		t.Fatalf("%+v", e)
	}
	for _, c := range []*exec.Cmd{shown, lines} {
		if err := c.Wait(); err != nil {
			t.Errorf("%v\n%s", err, errs)
		}
	}
	for _, want := range []string{"user  go", "Zaczynam: żółw.", "notes {", "The note is saved", "Noted.", "done: end_turn"} {
		if strings.Count(text.String(), want) != 1 {
			t.Errorf("%q stands %d times in\n%s", want, strings.Count(text.String(), want), text)
		}
	}
	whole, err := p.command("show", "s", "--events").Output()
	if err != nil || events.String() != string(whole) {
		t.Errorf("%v: the events that were followed\n%s\nand those that there are\n%s", err, events, whole)
	}
	again, more, errs := p.follows("s")
	if err := again.Wait(); err != nil || !strings.Contains(errs.String(), "at rest") || !strings.Contains(more.String(), "Noted.") {
		t.Errorf("%v\n%s\n%s", err, more, errs)
	}
}

// Ctrl-C ends only the showing.
func TestFollowInterrupted(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	p.envs = append(p.envs, "UZDA_ASK=notes")
	turns := "script:" + p.file("turns.json", `{"by_view":true,"turns":[{"calls":[{"name":"notes","input":{"op":"write","text":"x"}}]},{"text":"Noted."}]}`)
	p.run("run", "--model", turns, "--session", "s", "go")
	c, text, errs := p.follows("s")
	waitFor(t, func() bool { return strings.Contains(text.String(), "uzda approve s") })
	c.Process.Signal(os.Interrupt) //nolint:errcheck // its effect is looked at
	c.Wait()                       //nolint:errcheck // the code is looked at
	if code := c.ProcessState.ExitCode(); code != 130 || !strings.Contains(errs.String(), "it goes on") {
		t.Errorf("exit %d\n%s", code, errs)
	}
	if e := p.run("show", "s"); e.code != 0 {
		t.Errorf("%+v", e)
	}
	p.says(0, []string{"approve", "s"}, "Approved")
	if e := p.run("resume", "s", "--model", turns); e.code != 0 || e.result.Answer != "Noted." {
		t.Errorf("%+v", e)
	}
}

// A session whose program has gone in the middle is told from one that goes on; the
// showing ends, and takes nothing from who resumes it.
func TestFollowKilled(t *testing.T) { // L11
	t.Parallel()
	for _, store := range []string{"sqlite", "files"} {
		t.Run(store, func(t *testing.T) {
			t.Parallel()
			p := newProgram(t)
			p.envs = append(p.envs, "UZDA_STORE="+store)
			turns := "script:" + p.file("turns.json", `{"turns":[{"text":"wait","delay_ms":60000},{"text":"Again."}],"by_view":false}`)
			c, out, errs := p.start("run", "--model", turns, "--session", "s", "go")
			var text, said *lively
			var shown *exec.Cmd
			waitFor(t, func() bool {
				e, err := p.command("show", "s").Output()
				return err == nil && strings.Contains(string(e), "runs; to see it go on: uzda show s --follow")
			})
			shown, text, said = p.follows("s")
			waitFor(t, func() bool { return strings.Contains(text.String(), "user  go") })
			if err := c.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			p.wait(c, out, errs)
			if err := shown.Wait(); err != nil || !strings.Contains(said.String(), "no program runs it now. To go on: uzda resume s") {
				t.Errorf("%v\n%s\n%s", err, text, said)
			}
			if e, err := p.command("show", "s").Output(); err != nil || !strings.Contains(string(e), "go on with: uzda resume s") {
				t.Errorf("%v\n%s", err, e)
			}
		})
	}
}

// A reader that has enough ends the showing, quietly.
func TestFollowPipe(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	p.envs = append(p.envs, "UZDA_ASK=notes")
	turns := "script:" + p.file("turns.json", `{"turns":[{"calls":[{"name":"notes","input":{"op":"write","text":"x"}}]},{"text":"Noted."}]}`)
	p.run("run", "--model", turns, "--session", "s", "go")
	c, errs := p.command("show", "s", "--follow", "--events"), &lively{}
	c.Stderr = errs
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 10)
	if _, err := out.Read(buf); err != nil {
		t.Fatal(err)
	}
	out.Close()                                     // the reader goes away
	p.says(0, []string{"approve", "s"}, "Approved") // so that there is something to write
	c.Wait()                                        //nolint:errcheck // the code is looked at
	if code := c.ProcessState.ExitCode(); code != 0 || errs.String() != "" {
		t.Errorf("exit %d\n%s", code, errs)
	}
}
