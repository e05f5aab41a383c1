//go:build unix

package main

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const okForEver = `{"turns":[{"calls":[{"name":"notes","input":{"op":"write","text":"mine"}},{"name":"write_file","input":{"path":"made.txt","content":"a line\n"}},{"name":"shell","input":{"command":"echo out"}}]},{"text":"ok"}],"loop":true}`

// filesOf are the files in the home folder whose path or text names a session.
func (p *program) filesOf(id string) (out []string) {
	p.t.Helper()
	home := filepath.Join(p.dir, "home")
	err := filepath.WalkDir(home, func(path string, e fs.DirEntry, err error) error {
		if rel, _ := filepath.Rel(home, path); err == nil && strings.Contains(rel, id) {
			out = append(out, rel)
		}
		return err
	})
	if err != nil {
		p.t.Fatal(err)
	}
	return out
}

// With a session all that was kept for it goes, in either store; what it did to
// files stays, and so do the others.
func TestRemoveTakesAll(t *testing.T) { // case:S03
	t.Parallel()
	for _, kind := range []string{"sqlite", "files"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			p := newProgram(t)
			p.envs = append(p.envs, "UZDA_STORE="+kind)
			ok := "script:" + p.file("ok.json", okForEver)
			for _, id := range []string{"goes", "stays"} {
				if e := p.run("run", "--model", ok, "--permission-mode", "bypass", "--session", id, "go"); e.code != 0 {
					t.Fatalf("exit %d\n%s", e.code, e.errs)
				}
			}
			before := p.filesOf("goes")
			for _, want := range []string{"notes/goes", "files/goes", "traces/goes.jsonl"} {
				if !strings.Contains(strings.Join(before, "\n"), want) {
					t.Errorf("there was no %s, so that nothing is shown: %v", want, before)
				}
			}
			stay := len(p.filesOf("stays"))
			p.says(0, []string{"sessions", "rm", "goes"}, "Removed 1 session")
			for _, left := range p.filesOf("goes") {
				if ext := filepath.Ext(left); kind != "files" || ext != ".lock" && ext != ".lease" {
					t.Errorf("%s is left", left)
				}
			}
			if n := len(p.filesOf("stays")); n < stay {
				t.Errorf("of the other session %d files are there, were %d", n, stay)
			}
			if _, err := os.Stat(filepath.Join(p.dir, "made.txt")); err != nil {
				t.Error("the file that it wrote: ", err)
			}
			p.says(0, []string{"doctor"}, "every body and every chain")
			p.says(0, []string{"show", "stays"}, "ok")
		})
	}
}

// A session that runs is busy, with who has it; prune leaves it and removes the
// rest, and the run comes to its end.
func TestPruneBesideRun(t *testing.T) { // case:S03 G1
	t.Parallel()
	p := newProgram(t)
	ok := "script:" + p.file("ok.json", `{"turns":[{"text":"ok"}],"loop":true}`)
	slow := "script:" + p.file("slow.json", `{"turns":[{"text":"a","delay_ms":300,"calls":[{"name":"todo","input":{"items":[]}}]},{"text":"b","delay_ms":4000,"calls":[{"name":"todo","input":{"items":[]}}]},{"text":"All done."}]}`)
	for i := range 5 {
		p.says(0, []string{"run", "--model", ok, "--session", fmt.Sprint("old", i), "go"})
	}
	c, out, errs := p.start("run", "--model", slow, "--session", "runs", "go")
	waitFor(t, func() bool {
		shown, err := p.command("show", "runs", "--events").Output()
		return err == nil && strings.Contains(string(shown), `"kind":"said"`)
	})
	p.says(11, []string{"sessions", "rm", "runs", "--force"}, "session runs stays: it is held by uzda, process ")
	got, err := p.command("sessions", "prune", "--older", "0h", "--yes", "--force", "--shrink", "--output-format", "json").Output()
	var res prunedJSON
	if err != nil || json.Unmarshal(got, &res) != nil {
		t.Fatalf("%v\n%s", err, got)
	}
	if len(res.Removed) != 5 || len(res.Skipped) != 1 || res.Skipped[0].Session != "runs" || !strings.Contains(res.Skipped[0].Why, "is held by uzda, process") {
		t.Errorf("%+v", res)
	}
	if !strings.Contains(res.Note, "another program runs sessions") {
		t.Errorf("the room was given back beside a run: %q", res.Note)
	}
	if e := p.wait(c, out, errs); e.code != 0 || e.result.Answer != "All done." {
		t.Errorf("the run: exit %d, %+v\n%s", e.code, e.result, e.errs)
	}
	p.says(0, []string{"doctor"}, "every body and every chain")
	p.says(0, []string{"sessions", "rm", "runs"}, "Removed 1 session")
}

// Killed at any moment, a prune leaves a store in order, and the next one finishes,
// with the files of the sessions too.
func TestKilledPrune(t *testing.T) { // case:S01 case:S06
	t.Parallel()
	p := newProgram(t)
	ok := "script:" + p.file("ok.json", okForEver)
	for i := range 8 {
		if e := p.run("run", "--model", ok, "--permission-mode", "bypass", "--session", fmt.Sprint("old", i), "go"); e.code != 0 {
			t.Fatalf("exit %d\n%s", e.code, e.errs)
		}
	}
	for try := range 8 {
		c := p.command("sessions", "prune", "--older", "0h", "--yes")
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(20+9*try) * time.Millisecond) // any moment is good
		c.Process.Kill()                                       //nolint:errcheck // it may have ended
		c.Wait()                                               //nolint:errcheck // it was killed
		p.says(0, []string{"doctor"}, "every body and every chain")
	}
	p.says(0, []string{"sessions", "prune", "--older", "0h", "--yes"})
	p.says(0, []string{"sessions"}, "There are no sessions yet")
	if left := p.filesOf("old"); len(left) > 0 {
		t.Errorf("files are left: %v", left)
	}
}

// A session that is damaged can be removed, and the store is in order again.
func TestRemoveDamaged(t *testing.T) { // case:S05
	t.Parallel()
	p := newProgram(t)
	ok := "script:" + p.file("ok.json", `{"turns":[{"text":"ok"}],"loop":true}`)
	for _, id := range []string{"s", "t"} {
		p.says(0, []string{"run", "--model", ok, "--session", id, "go"})
	}
	p.spoil(`UPDATE event SET body = '{' WHERE session = 's' AND seq = 2`)
	p.says(13, []string{"doctor"}, "session s, event 2")
	p.says(0, []string{"sessions", "rm", "s"}, "Removed 1 session")
	p.says(0, []string{"doctor"}, "every body and every chain")
}

// The budget of the day is not freed by removing the session that spent it.
func TestRemoveKeepsTheDay(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	ok := "script:" + p.file("ok.json", `{"turns":[{"text":"ok"}],"loop":true}`)
	p.says(0, []string{"run", "--model", ok, "--session", "s", "go"})
	day := time.Now().UTC().Format(time.DateOnly)
	p.spoil(`INSERT INTO account VALUES ('default', 'day:` + day + `', 5, 0), ('default', 'session:s', 5, 0), ('default', 'turn:s/2', 5, 0)`)
	p.says(0, []string{"sessions", "rm", "s"}, "Removed")
	db, err := sql.Open("sqlite", filepath.Join(p.dir, "home", "sessions.uzda"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var n int
	var name string
	if err := db.QueryRow("SELECT count(*), min(name) FROM account").Scan(&n, &name); err != nil || n != 1 || name != "day:"+day {
		t.Errorf("%d accounts, %s, %v", n, name, err)
	}
}

// A large store is told of at the beginning of a run, once a day.
func TestSizeWarning(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	ok := "script:" + p.file("ok.json", `{"turns":[{"text":"ok"}],"loop":true}`)
	p.says(0, []string{"run", "--model", ok, "--session", "s", "go"})
	p.spoil(`CREATE TABLE filler AS SELECT zeroblob(3000000) AS x`)
	stamp := filepath.Join(p.dir, "home", "size-looked-at")
	const text = "the store of sessions takes 3."
	run := func(limit string) string {
		t.Helper()
		c := p.command("run", "--model", ok, "--session", "s", "more")
		c.Env = append(c.Env, "UZDA_STORE_WARN_MB="+limit)
		out, err := c.CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return string(out)
	}
	if out := run("1"); strings.Contains(out, text) { // it was looked at today, when it was small
		t.Errorf("told twice a day:\n%s", out)
	}
	yesterday := time.Now().Add(-25 * time.Hour)
	for _, c := range []struct {
		limit string
		tells bool
	}{{"0", false}, {"100", false}, {"1", true}} {
		if err := os.Chtimes(stamp, yesterday, yesterday); err != nil {
			t.Fatal(err)
		}
		if out := run(c.limit); strings.Contains(out, text) != c.tells || strings.Contains(out, "uzda sessions prune --older") != c.tells {
			t.Errorf("with %s MB it tells: %t\n%s", c.limit, !c.tells, out)
		}
	}
	if out := run("1"); strings.Contains(out, text) {
		t.Errorf("told twice a day:\n%s", out)
	}
	p.envs = append(p.envs, "UZDA_STORE_WARN_MB=1")
	p.says(0, []string{"doctor"}, "the store takes 3.", "uzda sessions prune --older 30d --dry-run")
	p.spoil(`UPDATE session SET bytes = 80000000`)
	p.says(0, []string{"doctor"}, "session s alone takes about 80.0 MB")
	p.says(0, []string{"sessions"}, "session s alone takes about 80.0 MB: uzda sessions rm s")
}

// A child goes with its parent, and not alone.
func TestRemoveFamily(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	ok := "script:" + p.file("ok.json", `{"turns":[{"text":"ok"}],"loop":true}`)
	for _, id := range []string{"s", "s-3.0"} {
		p.says(0, []string{"run", "--model", ok, "--session", id, "go"})
	}
	p.spoil(`UPDATE session SET parent = 's' WHERE session = 's-3.0'`)
	p.says(2, []string{"sessions", "rm", "s-3.0"}, "session s-3.0 is a part of session s", "uzda sessions rm s")
	p.says(0, []string{"sessions", "prune", "--older", "0d", "--dry-run"}, "1 session of 1 would go, with 1 session that they began")
	p.says(0, []string{"sessions", "rm", "s"}, "Removed 1 session and 1 that they began")
	p.says(0, []string{"sessions"}, "no sessions yet")
}
