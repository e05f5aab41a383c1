//go:build unix

package main

import (
	"bytes"
	"database/sql"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/uzda-dev/uzda/cmd/uzda/config"
)

// spoil changes the store of a program behind its back.
func (p *program) spoil(statement string) {
	p.t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(p.dir, "home", "sessions.uzda"))
	if err != nil {
		p.t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec(statement); err != nil {
		p.t.Fatal(err)
	}
}

func (p *program) says(code int, args []string, texts ...string) {
	p.t.Helper()
	e := p.command(args...)
	var both bytes.Buffer
	e.Stdout, e.Stderr = &both, &both
	e.Run() //nolint:errcheck // the code is looked at
	if got := e.ProcessState.ExitCode(); got != code {
		p.t.Errorf("%q: exit %d, want %d\n%s", args, got, code, &both)
	}
	for _, text := range texts {
		if !strings.Contains(both.String(), text) {
			p.t.Errorf("%q does not say %q:\n%s", args, text, &both)
		}
	}
}

// A body that is not the one that was recorded: doctor names session and event,
// show says so and shows the rest, and the session does not go on. Others do.
func TestDamagedSession(t *testing.T) { // G1
	t.Parallel()
	for name, statement := range map[string]string{
		"another text": `UPDATE event SET body = replace(CAST(body AS TEXT), 'please', 'always') WHERE session = 's' AND seq = 2`,
		"no JSON":      `UPDATE event SET body = '{' WHERE session = 's' AND seq = 2`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newProgram(t)
			ok := "script:" + p.file("ok.json", `{"turns":[{"text":"ok"}],"loop":true}`)
			for _, id := range []string{"s", "t"} {
				p.says(0, []string{"run", "--model", ok, "--session", id, "please"})
			}
			p.spoil(statement)
			p.says(13, []string{"doctor"}, "session s, event 2", "BAD")
			p.says(10, []string{"resume", "s", "more"}, "event 2")
			p.says(10, []string{"run", "--model", ok, "--session", "s", "more"}, "event 2")
			if name == "no JSON" {
				p.says(10, []string{"show", "s"}, "event 2", "session s")
			} else {
				p.says(0, []string{"show", "s"}, "event 2 of session s is not the one that was recorded", "ok")
			}
			p.says(0, []string{"run", "--model", ok, "--session", "t", "more"}, "ok")
		})
	}
}

// A session with a kind of event that a newer program wrote can be read, and
// nothing is added to it.
func TestNewerSession(t *testing.T) { // case:S05
	t.Parallel()
	p := newProgram(t)
	ok := "script:" + p.file("ok.json", `{"turns":[{"text":"ok"}],"loop":true}`)
	p.says(0, []string{"run", "--model", ok, "--session", "s", "go"})
	p.spoil(`INSERT INTO event (tenant, session, seq, head, body) SELECT tenant, session, 8, CAST('{"seq":8,"at":"2026-11-30T08:47:45Z","kind":"dreamt","v":1,"need":true,"by":1,` +
		`"sum":"44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a","prev":"' || link || '"}' AS BLOB), CAST('{}' AS BLOB) FROM session WHERE session = 's'`)
	p.spoil(`UPDATE session SET head = 8 WHERE session = 's'`)
	p.says(0, []string{"show", "s"}, "ok", "cannot go on here", "dreamt", "newer version")
	p.says(0, []string{"show", "s", "--events"}, `"kind":"dreamt"`)
	for _, args := range [][]string{{"resume", "s", "more"}, {"run", "--model", ok, "--session", "s", "more"}, {"approve", "s"}, {"resolve", "s", "5.1", "no"}} {
		p.says(2, args, "dreamt", "newer version")
	}
	p.says(0, []string{"run", "--model", ok, "--session", "t", "go"}, "ok")
	p.says(0, []string{"cost"})
	p.says(0, []string{"context", "s"})
	p.says(0, []string{"trace", "s"})
	if out, err := p.command("show", "s", "--events").Output(); err != nil || bytes.Count(out, []byte("\n")) != 8 {
		t.Errorf("something was added: %v\n%s", err, out)
	}
}

// A store that cannot be used is refused as it is, with the reason and what to do.
func TestUnusableStore(t *testing.T) { // case:S05
	t.Parallel()
	for _, c := range []struct {
		name  string
		spoil func(p *program, store string) error
		text  string
	}{
		{"newer", func(p *program, _ string) error { p.spoil("PRAGMA user_version = 99"); return nil }, "written by a newer program"},
		{"no database", func(_ *program, s string) error {
			return os.WriteFile(s, bytes.Repeat([]byte("no database "), 500), 0o600)
		}, "no SQLite database"},
		{"a part of it", func(_ *program, s string) error { return os.Truncate(s, 20_000) }, "corrupt"},
		{"a folder", func(_ *program, s string) error { os.Remove(s); return os.Mkdir(s, 0o700) }, "no regular file"},
	} {
		p := newProgram(t)
		ok := "script:" + p.file("ok.json", `{"turns":[{"text":"ok"}]}`)
		p.says(0, []string{"run", "--model", ok, "go"})
		store := filepath.Join(p.dir, "home", "sessions.uzda")
		if err := c.spoil(p, store); err != nil {
			t.Fatal(err)
		}
		before, _ := os.ReadFile(store) // a folder has no content
		p.says(10, []string{"run", "--model", ok, "go"}, "storage_error", c.text, store)
		p.says(10, []string{"sessions"}, c.text)
		p.says(13, []string{"doctor"}, "BAD", c.text)
		if after, _ := os.ReadFile(store); !bytes.Equal(before, after) {
			t.Errorf("%s: the file was changed", c.name)
		}
	}
}

// A folder that cannot be written, and the trace's, which is only a warning.
func TestFolders(t *testing.T) { // W1
	t.Parallel()
	p := newProgram(t)
	ok := "script:" + p.file("ok.json", `{"turns":[{"text":"ok"}]}`)
	p.says(0, []string{"run", "--model", ok, "go"})
	traces := filepath.Join(p.dir, "home", "traces")
	if err := os.RemoveAll(traces); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(traces, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	e := p.run("run", "--model", ok, "go")
	if e.code != 0 || e.result.Answer != "ok" || e.result.Trace != "" || !strings.Contains(e.errs, "the trace could not be written") {
		t.Errorf("exit %d, %+v\n%s", e.code, e.result, e.errs)
	}
	p.envs = append(p.envs, "UZDA_HOME=/dev/null/uzda", "UZDA_STORE_PATH=/dev/null/x")
	p.says(2, []string{"run", "--model", ok, "go"}, "/dev/null/uzda")
	p.envs = append(p.envs, "UZDA_HOME="+filepath.Join(p.dir, "home"))
	p.says(10, []string{"run", "--model", ok, "go"}, "/dev/null", "UZDA_STORE_PATH")
}

// Eight programs at once on one store: each works as if it were alone.
func TestManyPrograms(t *testing.T) { // case:S03
	t.Parallel()
	p := newProgram(t)
	var steps strings.Builder
	for i := range 8 {
		fmt.Fprintf(&steps, `{"calls":[{"name":"notes","input":{"op":"append","text":"line %d"}},{"name":"notes","input":{"op":"read"}}]},`, i)
	}
	turns := "script:" + p.file("turns.json", `{"turns":[`+steps.String()+`{"text":"ok"}]}`)
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			var out, errs bytes.Buffer
			c := p.command("run", "--model", turns, "--session", fmt.Sprintf("s%d", i), "go")
			c.Stdout, c.Stderr = &out, &errs
			if err := c.Run(); err != nil || out.String() != "ok\n" {
				t.Errorf("program %d: %v, %q\n%s", i, err, out.String(), errs.String())
			}
		})
	}
	all.Wait()
	p.says(0, []string{"doctor"}, "every body and every chain")
	for i := range 8 {
		p.says(0, []string{"show", fmt.Sprintf("s%d", i)}, "done: end_turn")
	}
}

// The program starts and works without any network, and what needs none touches
// none, whatever keys are set: whoever listens where models are hears nothing.
func TestNoNetwork(t *testing.T) { // case:U07
	t.Parallel()
	var heard atomic.Int32
	trap := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { heard.Add(1) }))
	defer trap.Close()
	p := newProgram(t)
	turns := p.file("turns.json", `{"turns":[{"text":"ok"}]}`)
	plain := p.envs
	for _, service := range config.Services() {
		profile := profileOf(service)
		p.envs = append(p.envs, profile.KeyVars[0]+"=a-key-of-somebody")
		for _, name := range profile.BaseVars {
			p.envs = append(p.envs, name+"="+trap.URL)
		}
	}
	p.envs = append(p.envs, "HTTP_PROXY="+trap.URL, "HTTPS_PROXY="+trap.URL)
	for _, line := range []string{
		"version", "demo", "run --model script:" + turns + " go", "sessions", "cost", "config", "tools", "doctor", "models anthropic", "models openai",
		"init --no-request --dir " + t.TempDir(), "policy check shell {}", "completion bash", "help", "run --help",
	} {
		c := p.command(strings.Fields(line)...)
		if out, err := c.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", line, err, out)
		}
		if n := heard.Swap(0); n > 0 {
			t.Errorf("%s asked somebody %d times", line, n)
		}
	}
	if c := p.command("doctor", "--model"); c.Run() == nil || heard.Load() == 0 {
		t.Error("the trap hears nothing at all")
	}
	p.envs = plain
	if err := exec.Command("unshare", "-rn", "true").Run(); err != nil {
		t.Skip("SKIPPED: there is no unshare -n here, so the program was not run without a network: ", err)
	}
	c := exec.Command("unshare", "-rn", p.bin, "demo")
	c.Dir, c.Env = p.dir, p.envs
	if out, err := c.CombinedOutput(); err != nil || !strings.Contains(string(out), "placed 23 orders") {
		t.Errorf("%v\n%s", err, out)
	}
}

// An answer that comes while the runner works on another call of the step is
// taken at once: nothing parks, nobody has to resume.
func TestApproveBesideRunner(t *testing.T) { // S1
	t.Parallel()
	p := newProgram(t)
	p.says(0, []string{"demo"})
	turns := p.file("turns.json", `{"turns":[{"calls":[{"name":"notes","input":{"op":"write","text":"x"}},`+
		`{"name":"run_query","input":{"sql":"WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM c WHERE x < 6000000) SELECT count(*) FROM c"}}]},{"text":"Both."}]}`)
	p.envs = append(p.envs, "UZDA_ASK=notes")
	c, out, errs := p.start("run", "--model", "script:"+turns, "--db", "home/demo/shop.db", "--session", "s", "go")
	waitFor(t, func() bool {
		shown, err := p.command("show", "s", "--events").Output()
		return err == nil && bytes.Contains(shown, []byte(`"kind":"started"`))
	})
	p.says(0, []string{"approve", "s"}, "Approved")
	e := p.wait(c, out, errs)
	if e.code == 8 { // the query was faster than the answer: then it goes on by resume
		e = p.run("resume", "s", "--db", "home/demo/shop.db")
		t.Log("the runner had parked already")
	}
	if e.code != 0 || e.result.Answer != "Both." || e.result.Calls != 2 {
		t.Errorf("exit %d %+v\n%s", e.code, e.result, e.errs)
	}
}
