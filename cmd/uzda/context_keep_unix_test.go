//go:build unix

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/model/modeltest"
)

// Rules of the project outlive every compaction: each request holds them once, in
// the system prompt and word for word, although no summary does; and a change of
// the file is picked up once. case:C01
func TestRulesOutliveCompactions(t *testing.T) {
	t.Parallel()
	const rule = "RULE-77: never touch /vendor"
	l := newLongWork(t, setup{}, func(step int, _ *modeltest.Request) modeltest.Turn {
		if step%10 < 9 {
			return reads(step)
		}
		return modeltest.Turn{Text: "Read."}
	})
	l.docs(50, 2000)
	l.file("AGENTS.md", "# Rules\n\n"+rule+"\n")
	for round := range 4 {
		l.ends(l.say(fmt.Sprintf("Round %d.", round), "--trust", "."), 0, "Read.")
		if round < 3 {
			if e := l.run("compact", "s"); e.code != 0 {
				t.Fatalf("compact: exit %d\n%s\n%s", e.code, e.errs, story(l.events("s")))
			}
		}
	}
	if n := moves(l.events("s")); n[uzda.MoveCompact]+n[uzda.MoveHandover] != 3 {
		t.Fatalf("the edits are %v, want three that renew the view\n%s", n, story(l.events("s")))
	}
	system := ""
	for i, r := range l.turns() {
		first := systemOf(r)
		if n := strings.Count(string(r.Body), rule); n != 1 || !strings.Contains(systemOf(r), rule) {
			t.Errorf("request %d holds the rule %d times", i+1, n)
		}
		if system != "" && first != system {
			t.Errorf("the system prompt of request %d is another one", i+1)
		}
		system = first
	}
	const changed = "RULE-78: never touch /third_party"
	l.file("AGENTS.md", "# Rules\n\n"+changed+"\n")
	asked := len(l.turns())
	l.ends(l.say("Another round.", "--trust", "."), 0, "Read.")
	for i, r := range l.turns()[asked:] {
		if strings.Count(string(r.Body), changed) != 1 || strings.Contains(string(r.Body), rule) {
			t.Errorf("request %d after the change does not hold the new rule alone", i+1)
		}
	}
	equipped := 0
	for _, e := range bodiesOf[uzda.Equipped](l.events("s")) {
		if strings.Contains(e.System, changed) {
			equipped++
		}
	}
	if equipped != 1 {
		t.Errorf("the change was picked up %d times", equipped)
	}
}

// systemOf is the system prompt of a request, as it was sent.
func systemOf(r modeltest.Request) string {
	var b strings.Builder
	for _, u := range r.Units {
		if u.Part == "system" {
			b.Write(u.Raw)
		}
	}
	return b.String()
}

// What people said and decided, the list of what is to be done and the last
// question come from records, never from the summary, which here loses every
// number: after the compaction they are there word for word. case:C02 peer:15
func TestTaskOutlivesTheSummary(t *testing.T) {
	t.Parallel()
	const (
		task     = "Move the service to port 48213 for account ACC-2207-XK. Decided: no retries. Budget 1 234,56 zł, due 15 marca 2031."
		question = "Which port did we agree on, and is 北京 still the region? 🐢"
	)
	l := newLongWork(t, setup{budget: 9000}, func(step int, _ *modeltest.Request) modeltest.Turn {
		switch {
		case step == 0:
			return modeltest.Turn{Text: "First a list.", Calls: []modeltest.Call{{Name: "todo", Input: `{"items":[` +
				`{"text":"Read the ledger","status":"done"},{"text":"Ask Ola","status":"done"},{"text":"Change the port","status":"doing"},{"text":"Run the tests","status":"pending"},{"text":"Tell Piotr","status":"pending"}]}`}}}
		case step < 6:
			return reads(step)
		case step == 6:
			return modeltest.Turn{Text: "I have read five."}
		}
		return modeltest.Turn{Text: "Port 48213."}
	})
	l.docs(6, 3000)
	l.ends(l.say(task), 0, "I have read five.")
	if e := l.run("compact", "s"); e.code != 0 {
		t.Fatalf("compact: exit %d\n%s", e.code, e.errs)
	}
	l.ends(l.say(question), 0, "Port 48213.")
	events := l.events("s")
	if moves(events)[uzda.MoveCompact] == 0 || l.summaries == 0 {
		t.Fatalf("nothing was summarised: %v\n%s", moves(events), story(events))
	}
	asks := l.turns()
	last := asks[len(asks)-1]
	texts := textsOf(t, last.Body)
	all := strings.Join(texts, "\n")
	for _, want := range []string{task, question, "48213", "ACC-2207-XK", "Decided: no retries", "1 234,56 zł", "Read the ledger", "Change the port", "Tell Piotr"} {
		if !strings.Contains(all, want) {
			t.Errorf("the request after the compaction lacks %q", want)
		}
	}
	if !strings.Contains(texts[len(texts)-1], question) {
		t.Errorf("the last text is %q", texts[len(texts)-1])
	}
	for i := 1; i < 6; i++ { // what the summary lost is there, or can be recalled
		if !strings.Contains(all, invoice(i)) {
			t.Logf("%s must be recalled", invoice(i))
		}
	}
	for _, e := range bodiesOf[uzda.Edited](events) {
		if s := e.Saved; e.What == uzda.MoveCompact && (s == nil || s.Lost == 0 || s.Restored == 0 || s.After >= s.Before) {
			t.Errorf("the compaction says %+v", s)
		}
	}
}

// The bytes that a request shares with the one before it never change within a
// session: over turns, notes that are written between them, and as many starts of
// the program. Where the rules of the project change, it is seen which part did.
// case:C08 M4
func TestPrefixStays(t *testing.T) {
	t.Parallel()
	for _, service := range []string{"anthropic", "openai"} {
		t.Run(service, func(t *testing.T) {
			t.Parallel()
			l := newLongWork(t, setup{service: service}, func(step int, r *modeltest.Request) modeltest.Turn {
				switch step % 3 {
				case 0:
					return reads(step % 6)
				case 1:
					return modeltest.Turn{Calls: []modeltest.Call{{Name: "notes", Input: fmt.Sprintf(`{"op":"append","text":"Note %d."}`, step)}}}
				}
				return modeltest.Turn{Text: "Noted."}
			})
			l.docs(6, 6000)
			l.file("AGENTS.md", "Be brief.\n")
			for round := range 3 {
				l.ends(l.say(fmt.Sprintf("Round %d.", round), "--trust", "."), 0, "Noted.")
			}
			for _, c := range l.fake.Changes() {
				t.Errorf("a request left the prefix of the one before it: %+v", c)
			}
			asks := l.turns()
			if last := asks[len(asks)-1]; last.Usage.CacheRead*10 < last.Usage.Context()*7 {
				t.Errorf("of the last request only %d of %d tokens came from the cache", last.Usage.CacheRead, last.Usage.Context())
			}
			l.file("AGENTS.md", "Be very brief.\n")
			l.ends(l.say("Another round.", "--trust", "."), 0, "Noted.")
			if changes := l.fake.Changes(); len(changes) != 1 {
				t.Errorf("the change of AGENTS.md shows %d times", len(changes))
			}
			l.says(0, []string{"context", "s"}, "AGENTS.md changed", "the prefix changed once")
		})
	}
}

// A command prints 2 MB that end in its error: the model sees the beginning and the
// end, is told how much is missing and where all of it is, also where the window is
// so small that the result is cut again. case:C13
func TestLongOutputKeepsItsEnd(t *testing.T) {
	t.Parallel()
	for name, window := range map[string]int{"large window": 200_000, "small window": 9000} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLongWork(t, setup{window: window}, func(step int, _ *modeltest.Request) modeltest.Turn {
				if step == 0 {
					return modeltest.Turn{Calls: []modeltest.Call{{Name: "shell", Input: `{"command":"sh ./noisy.sh"}`}}}
				}
				return modeltest.Turn{Text: "The disk is full."}
			})
			l.file("noisy.sh", "i=0\nwhile [ $i -lt 20000 ]; do echo \"zażółć gęślą jaźń 北京 🐢 line $i of a log that goes on and on and on and on\"; i=$((i+1)); done\necho 'FATAL: disk quota'\n")
			l.file("reader.md", "---\ndescription: Runs commands.\ntools: [Read, Bash, recall]\n---\nYou run commands.\n")
			l.ends(l.say("Run it.", "--allow", "shell(sh ./noisy.sh)"), 0, "The disk is full.")
			asks := l.turns()
			texts := textsOf(t, asks[len(asks)-1].Body)
			got := strings.Join(texts, "\n")
			if strings.ContainsRune(got, '\uFFFD') || !strings.Contains(got, "line 0 of") || !strings.Contains(got, "FATAL: disk quota") {
				t.Errorf("the result is not the beginning and the end:\n%.2000s", got)
			}
			if len(got) > 40_000 {
				t.Errorf("the request has %d bytes", len(got))
			}
			pointer := regexp.MustCompile(`\[(\d+) of (\d+) bytes are left out here; read them with read_output (\{[^}]*\})\]`).FindStringSubmatch(got)
			if pointer == nil {
				t.Fatalf("nothing says how much is missing and where it is:\n%.3000s", got)
			}
			omitted, whole := must(strconv.Atoi(pointer[1])), must(strconv.Atoi(pointer[2]))
			if omitted >= whole || whole-omitted > 32_000 {
				t.Errorf("%d of %d bytes are missing", omitted, whole)
			}
			l.mu.Lock()
			l.work = func(step int, _ *modeltest.Request) modeltest.Turn {
				if step == 2 {
					return modeltest.Turn{Calls: []modeltest.Call{{Name: "read_output", Input: pointer[3]}}}
				}
				return modeltest.Turn{Text: "There it is."}
			}
			l.mu.Unlock()
			l.ends(l.say("Read on."), 0, "There it is.")
			results := bodiesOf[uzda.Returned](l.events("s"))
			page := results[len(results)-1].Result
			if page.IsError || strings.ContainsRune(page.Blocks.String(), '\uFFFD') || !strings.Contains(page.Blocks.String(), "of a log that goes on") {
				t.Errorf("the page that the pointer names is %.500q", page.Blocks.String())
			}
		})
	}
}

// A hundred calls of 5 KB with clears and compactions: the store holds at most twice
// what was new. case:S09
func TestStoreStaysSmall(t *testing.T) {
	t.Parallel()
	const calls, size = 100, 5000
	l := newLongWork(t, setup{budget: 16_000}, readsAll(calls))
	l.docs(calls, size)
	l.ends(l.say("Read all documents."), 0, "All is read.")
	events := l.events("s")
	edits, content := moves(events), 0
	if edits[uzda.MoveClear] == 0 || edits[uzda.MoveCompact]+edits[uzda.MoveHandover] == 0 {
		t.Fatalf("the edits are %v\n%s", edits, story(events))
	}
	kinds := map[string]int{}
	for _, e := range events {
		raw, err := json.Marshal(e.Body)
		if err != nil {
			t.Fatal(err)
		}
		kinds[e.Body.Kind()] += len(raw)
	}
	for _, kind := range []string{"posted", "equipped", "said", "returned"} { // what came in from outside
		content += kinds[kind]
	}
	t.Logf("bytes by kind: %v", kinds)
	stored := int64(0)
	files, err := filepath.Glob(filepath.Join(l.dir, "home", "sessions.uzda*"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, f := range files {
		if info, err := os.Stat(f); err == nil && info.Mode().IsRegular() {
			stored += info.Size()
		}
	}
	t.Logf("%d bytes of content, %d stored, %d events, edits %v, %d requests for summaries, peak %d tokens", content, stored, len(events), edits, l.summaries, l.peak())
	if content < calls*size || stored > 2*int64(content) {
		t.Errorf("%d bytes are stored for %d new ones", stored, content)
	}
	if l.peak() > 16_000 || l.refused() > 0 {
		t.Errorf("a request had %d tokens; %d refused", l.peak(), l.refused())
	}
	l.sound("s", calls)
}
