//go:build unix

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/uzda-dev/uzda"
)

// Two stores of one data folder may have sessions of one id: what is kept for them
// beside the stores is apart, and goes with the one that is removed.
func TestRemoveOfTwoStores(t *testing.T) { // case:S03
	t.Parallel()
	p := newProgram(t)
	ok := "script:" + p.file("ok.json", okForEver)
	stores := [][]string{nil, {"UZDA_STORE=files"}, {"UZDA_STORE_PATH=" + filepath.Join(p.dir, "other.uzda")}}
	in := func(extra []string) *program {
		q := *p
		q.envs = append(slices.Clone(p.envs), extra...)
		return &q
	}
	for _, extra := range stores {
		if e := in(extra).run("run", "--model", ok, "--permission-mode", "bypass", "--session", "same", "go"); e.code != 0 {
			t.Fatalf("exit %d\n%s", e.code, e.errs)
		}
	}
	kept := func() (n int) {
		for _, path := range p.filesOf("same") {
			if strings.HasSuffix(path, "notes/same") {
				n++
			}
		}
		return n
	}
	for i, extra := range stores {
		if n := kept(); n != len(stores)-i {
			t.Errorf("%d folders of notes, want %d: %v", n, len(stores)-i, p.filesOf("same"))
		}
		in(extra).says(0, []string{"sessions", "rm", "same"}, "Removed 1 session")
		for _, other := range stores[i+1:] {
			in(other).says(0, []string{"show", "same"}, "ok")
		}
	}
	if n := kept(); n != 0 {
		t.Errorf("%d folders of notes are left", n)
	}
}

// What --dry-run says would go, with how many bytes, is what goes then.
func TestDryRunIsTrue(t *testing.T) { // case:S03
	t.Parallel()
	for _, kind := range []string{"sqlite", "files"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			p := newProgram(t)
			p.envs = append(p.envs, "UZDA_STORE="+kind)
			ok := "script:" + p.file("ok.json", okForEver)
			asks := "script:" + p.file("asks.json", `{"turns":[{"calls":[{"name":"shell","input":{"command":"rm -r x"}}]},{"text":"ok"}]}`)
			slow := "script:" + p.file("slow.json", `{"turns":[{"text":"a","delay_ms":60000}]}`)
			for i := range 3 {
				p.run("run", "--model", ok, "--permission-mode", "bypass", "--session", fmt.Sprint("old", i), "go")
			}
			p.run("run", "--model", asks, "--session", "waits", "go")
			c, _, _ := p.start("run", "--model", slow, "--session", "runs", "go")
			waitFor(t, func() bool {
				shown, err := p.command("show", "runs", "--events").Output()
				return err == nil && strings.Contains(string(shown), `"kind":"asked"`)
			})
			for _, force := range [][]string{nil, {"--force"}} {
				prune := func(with string) (res prunedJSON) {
					args := append([]string{"sessions", "prune", "--older", "0h", "--output-format", "json", with}, force...)
					raw, err := p.command(args...).Output()
					if err != nil || json.Unmarshal(raw, &res) != nil {
						t.Fatalf("%v\n%s", err, raw)
					}
					return res
				}
				would, did := prune("--dry-run"), prune("--yes")
				if len(did.Removed) == 0 || !slices.Equal(would.Would, did.Removed) || would.Frees != did.Freed || !slices.Equal(would.Skipped, did.Skipped) {
					t.Errorf("it would %+v\nit did   %+v", would, did)
				}
				if !slices.ContainsFunc(would.Skipped, func(s skippedJSON) bool {
					return s.Session == "runs" && (force == nil || strings.Contains(s.Why, "is held by"))
				}) {
					t.Errorf("what runs would go: %+v", would)
				}
			}
			if err := c.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			c.Wait() //nolint:errcheck // it was killed
		})
	}
}

// A session that stays, since one that it began runs, keeps what stands beside its journal.
func TestWhatStaysIsWhole(t *testing.T) { // case:S03
	t.Parallel()
	p := newProgram(t)
	ok := "script:" + p.file("ok.json", okForEver)
	slow := "script:" + p.file("slow.json", `{"turns":[{"text":"a","delay_ms":60000}]}`)
	for _, id := range []string{"s", "other"} {
		p.run("run", "--model", ok, "--permission-mode", "bypass", "--session", id, "go")
	}
	c, _, _ := p.start("run", "--model", slow, "--session", "kid", "go")
	waitFor(t, func() bool {
		shown, err := p.command("show", "kid", "--events").Output()
		return err == nil && strings.Contains(string(shown), `"kind":"asked"`)
	})
	p.spoil(`UPDATE session SET parent = 's' WHERE session = 'kid'`)
	before := p.filesOf("s")
	p.says(11, []string{"sessions", "rm", "s", "--force"}, "session s stays: it is held by uzda, process ", "in session kid, which it began")
	if after := p.filesOf("s"); !slices.Equal(before, after) {
		t.Errorf("beside it stood %v, now %v", before, after)
	}
	if err := c.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	c.Wait() //nolint:errcheck // it was killed
}

// A session of a store of files that cannot be read does not hide the others, is left
// alone by age, and can be removed by name.
func TestRemoveDamagedFile(t *testing.T) { // case:S05
	t.Parallel()
	p := newProgram(t)
	p.envs = append(p.envs, "UZDA_STORE=files")
	ok := "script:" + p.file("ok.json", `{"turns":[{"text":"ok"}],"loop":true}`)
	for _, id := range []string{"a", "b", "c"} {
		p.says(0, []string{"run", "--model", ok, "--session", id, "go"})
	}
	path := filepath.Join(p.dir, "home", "sessions", "b.jsonl")
	raw, err := os.ReadFile(path)
	if err == nil {
		err = os.WriteFile(path, []byte(strings.Replace(string(raw), `{"seq":3`, `{"seq":9`, 1)), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	p.says(0, []string{"sessions"}, "list session b", "b        damaged")
	p.says(0, []string{"sessions", "rm", "a"}, "Removed 1 session")
	p.says(0, []string{"sessions", "prune", "--older", "0h", "--yes"}, "Session b stays: it cannot be read; uzda sessions rm b removes it", "Removed 1 session")
	p.says(13, []string{"doctor"}, "session b")
	p.says(0, []string{"sessions", "rm", "b"}, "Removed 1 session")
	p.says(0, []string{"sessions"}, "no sessions yet")
	p.says(0, []string{"doctor"}, "every body and every chain")
}

// Each command that an error of removing names works when it is typed.
func TestRemoveHints(t *testing.T) { // case:U08
	t.Parallel()
	p := newProgram(t)
	asks := "script:" + p.file("asks.json", `{"turns":[{"calls":[{"name":"shell","input":{"command":"rm -r x"}},{"name":"shell","input":{"command":"rm -r y"}}]},{"text":"ok"}]}`)
	ok := "script:" + p.file("ok.json", `{"turns":[{"text":"ok"}],"loop":true}`)
	p.run("run", "--model", asks, "--session", "waits", "go")
	out, _ := p.command("sessions", "rm", "waits").CombinedOutput()
	said := string(out)
	_, said, found := strings.Cut(said, "(uzda ")
	said, _, closed := strings.Cut(said, ")")
	if !found || !closed {
		t.Fatalf("no command in %s", out)
	}
	approve, deny, _ := strings.Cut(said, ", uzda ")
	for _, line := range []string{approve, deny} {
		if !strings.HasPrefix(line, "approve waits ") && !strings.HasPrefix(line, "deny waits ") {
			t.Fatalf("the command is %q", line)
		}
	}
	p.says(0, strings.Fields(approve), "Approved")
	// A large session that another one began goes with that one.
	for _, id := range []string{"s", "s-3.0"} {
		p.says(0, []string{"run", "--model", ok, "--session", id, "go"})
	}
	p.spoil(`UPDATE session SET parent = 's', bytes = 80000000 WHERE session = 's-3.0'`)
	p.says(0, []string{"sessions"}, "session s-3.0 alone takes about 80.0 MB: uzda sessions rm s\n")
	p.says(0, []string{"sessions", "rm", "s"}, "Removed 1 session and 1 that they began")
	// Where each of two is said to have begun the other, the list ends all the same.
	for _, id := range []string{"x", "y"} {
		p.says(0, []string{"run", "--model", ok, "--session", id, "go"})
	}
	p.spoil(`UPDATE session SET parent = CASE session WHEN 'x' THEN 'y' ELSE 'x' END, bytes = 80000000 WHERE session IN ('x', 'y')`)
	p.says(0, []string{"sessions"}, "session x alone takes about 80.0 MB", "session y alone takes about 80.0 MB")
}

// Looking for words makes nothing, also where there is a store of files that a crash
// has left as it was.
func TestCompletionChangesNothing(t *testing.T) { // G6 case:U08
	t.Parallel()
	p := newProgram(t)
	p.envs = append(p.envs, "UZDA_STORE=files")
	ok := "script:" + p.file("ok.json", `{"turns":[{"text":"ok"}],"loop":true}`)
	p.says(0, []string{"run", "--model", ok, "--session", "s", "go"})
	store := filepath.Join(p.dir, "home", "sessions")
	f, err := os.OpenFile(filepath.Join(store, "s.jsonl"), os.O_APPEND|os.O_WRONLY, 0)
	if err == nil {
		_, err = f.WriteString(`{"seq":`)
		f.Close()
	}
	for _, name := range []string{"s.lock", "tmp"} {
		if err == nil {
			err = os.Remove(filepath.Join(store, name))
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	look := func() string {
		out := ""
		for _, path := range p.filesOf("") {
			info, err := os.Stat(filepath.Join(p.dir, "home", path))
			if err != nil {
				t.Fatal(err)
			}
			out += fmt.Sprintln(path, info.Size(), info.ModTime())
		}
		return out
	}
	before := look()
	for _, words := range []string{"show", "resume", "approve", "resolve s", "sessions rm", "sessions prune --status", "run --session"} {
		out, err := p.command(append(append([]string{"__complete"}, strings.Fields(words)...), "")...).Output()
		if err != nil || words == "show" && !strings.Contains(string(out), "s\tdone: go") {
			t.Errorf("%s: %v\n%s", words, err, out)
		}
	}
	p.says(0, []string{"completion", "bash"}, "uzda")
	if after := look(); after != before {
		t.Errorf("before:\n%s\nafter:\n%s", before, after)
	}
}

// A name that the store, or another system, has for something else is a session's too.
func TestOddIDs(t *testing.T) { // case:S03
	t.Parallel()
	p := newProgram(t)
	p.envs = append(p.envs, "UZDA_STORE=files")
	ok := "script:" + p.file("ok.json", okForEver)
	ids := []uzda.SessionID{"ledger", "Case", "case", "con"}
	for _, id := range ids {
		if e := p.run("run", "--model", ok, "--permission-mode", "bypass", "--session", string(id), "go"); e.code != 0 {
			t.Fatalf("%s: exit %d\n%s", id, e.code, e.errs)
		}
	}
	p.says(0, []string{"sessions", "rm", "Case"}, "Removed 1 session")
	p.says(0, []string{"sessions"}, "ledger", "case", "con")
	p.says(0, []string{"show", "case"}, "ok")
	p.says(0, []string{"doctor"}, "every body and every chain")
}
