package policy_test

import (
	"encoding/json"
	"iter"
	"strings"
	"testing"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/policy"
)

// S1: what is proposed is the narrowest rule that is of use again, and it helps;
// nothing is proposed for what should be asked every time.
func TestProposals(t *testing.T) {
	t.Parallel()
	dir := site(t, "proj/src/a/b.go", "proj/.env", "proj/AGENTS.md")
	for _, c := range []struct{ tool, value, want, again, not string }{
		{"shell", "go test ./...", "shell(go test *)", "go test -run X ./y", "go vet ./..."},
		{"shell", "cd src && go test ./...", "shell(go test *)", "go test", "go run ."},
		{"shell", "deploy --now", "shell(deploy *)", "deploy", "deploys"},
		{"shell", "go vet ./... && go test ./...", "shell(go vet ./... && go test ./...)", "", "go vet ./..."},
		{"shell", "python3 -c 'print(1)'", "shell(python3 -c 'print(1)')", "", "python3 -c 'print(2)'"},
		{"shell", "echo x > out.txt", "shell(echo x > out.txt)", "", "echo y > out.txt"},
		{"shell", "rm -rf src", "", "", ""},
		{"shell", "sudo ls", "", "", ""},
		{"shell", "deploy 'unclosed", "", "", ""},
		{"shell", "$X y", "", "", ""},
		{"shell", "cat .env", "", "", ""},
		{"shell", "echo x > AGENTS.md", "", "", ""},
		{"shell", "deploy {{secret:KEY}}", "", "", ""},
		{"write_file", "src/a/b.go", "Edit(./src/a/**)", "src/a/c/d.go", "src/x.go"},
		{"write_file", "main.go", "Edit(./main.go)", "", "other.go"},
		{"delete_file", "src/a/b.go", "delete_file(./src/a/**)", "src/a/x.go", "src/x.go"},
		{"write_file", "AGENTS.md", "", "", ""},
		{"write_file", "../x", "", "", ""},
		{"write_file", "src/[x]/a.go", "", "", ""},
		{"read_file", ".env", "", "", ""},
		{"fetch", "https://Example.com/a", "fetch(domain:example.com)", "https://example.com/b", "https://www.example.com/"},
		{"fetch", "https://example.com:8443/a", "fetch(domain:example.com:8443)", "", "https://example.com/"},
		{"fetch", "http://localhost:8080/a", "fetch(domain:localhost:8080)", "", "http://localhost/"},
		{"fetch", "https://a@example.com/", "", "", ""},
	} {
		a := in(dir, c.tool, c.value)
		got := policy.Propose(a)
		if got != c.want {
			t.Errorf("for %s %q it proposes %q, not %q", c.tool, c.value, got, c.want)
			continue
		}
		if got == "" {
			continue
		}
		verdict := func(value string) uzda.Decision {
			b := in(dir, c.tool, value)
			b.Grants = []uzda.Grant{{Rule: got, By: "ola"}}
			return judge(t, policy.Gate{}, b).Decision
		}
		if verdict(c.value) != uzda.Allow || c.again != "" && verdict(c.again) != uzda.Allow {
			t.Errorf("%s does not allow %q and %q", got, c.value, c.again)
		}
		if verdict(c.not) == uzda.Allow {
			t.Errorf("%s allows %q too", got, c.not)
		}
	}
	g := policy.Gate{Rules: rulesOf(t, "ask: Bash(ls *)")}
	if got := g.Propose(in(dir, "shell", "ls src")); got != "shell(ls *)" {
		t.Errorf("for what an ask rule asks it proposes %q", got)
	}
	g = policy.Gate{Rules: rulesOf(t, "deny: Bash(go test *)")}
	if got := g.Propose(in(dir, "shell", "go test")); got != "" {
		t.Errorf("for what is denied it proposes %q", got)
	}
}

// journalOf is a session in which each call was asked and answered.
func journalOf(dir string, calls ...[3]string) iter.Seq2[uzda.Event, error] {
	bodies := []uzda.Body{uzda.Opened{Dir: dir}, uzda.Equipped{Tools: []uzda.ToolSpec{{Name: "shell", Source: "built-in"}, {Name: "write_file", Source: "built-in"}}}}
	for i, c := range calls {
		use := uzda.UseID(string(rune('a'+i)) + ".1")
		tool, key := "shell", "command"
		if strings.HasPrefix(c[0], "write ") {
			tool, key = "write_file", "path"
		}
		input, _ := json.Marshal(map[string]string{key: strings.TrimPrefix(c[0], "write ")})
		verdict := uzda.Verdict{Decision: uzda.Ask, Reason: "no rule allows it", Origin: "effects"}
		if c[1] == "ran" {
			verdict.Decision = uzda.Allow
		}
		bodies = append(bodies, uzda.Said{Message: uzda.Message{Role: uzda.Assistant, Blocks: uzda.Blocks{uzda.ToolUse{ID: use, Name: tool, Input: input}}}},
			uzda.Judged{Use: use, Hash: "h" + string(use), Verdict: verdict})
		switch c[1] {
		case "yes", "no":
			d := map[string]uzda.Decision{"yes": uzda.Allow, "no": uzda.Deny}[c[1]]
			bodies = append(bodies, uzda.Answered{Use: use, Hash: "an older one", Verdict: uzda.Verdict{Decision: uzda.Deny}},
				uzda.Answered{Use: use, Hash: "h" + string(use), Verdict: uzda.Verdict{Decision: d, Reason: "because"}, By: "ola"})
			if d == uzda.Allow {
				bodies = append(bodies, uzda.Started{Use: use})
			}
		}
		bodies = append(bodies, uzda.Returned{Result: uzda.ToolResult{Use: use, IsError: c[2] == "failed"}})
	}
	return func(yield func(uzda.Event, error) bool) {
		for i, b := range bodies {
			if !yield(uzda.Event{Seq: uzda.Seq(i + 1), Body: b}, nil) {
				return
			}
		}
	}
}

// S1: approvals, denials and failures are counted for the rule that would have
// spared the question; five approvals without a denial speak for it.
func TestTallies(t *testing.T) {
	t.Parallel()
	dir := site(t)
	yes := [3]string{"go test ./...", "yes", ""}
	var all []policy.Use
	for _, calls := range [][][3]string{
		{yes, yes, {"go test -v", "yes", "failed"}, {"deploy", "yes", ""}, {"deploy", "no", ""}},
		{yes, {"go test", "yes", ""}, {"git push", "", ""}, {"ls", "ran", ""}, {"rm -rf x", "yes", ""}, {"one " + strings.Repeat("x", 300) + "; two", "yes", ""}, {"write src/x.go", "yes", ""}},
	} {
		uses, err := policy.Uses(journalOf(dir, calls...))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, uses...)
	}
	got := policy.Gate{}.Tallies(all)
	want := map[string]policy.Tally{
		"shell(go test *)":          {Asked: 5, Approved: 5, Failed: 1},
		"shell(deploy *)":           {Asked: 2, Approved: 1, Denied: 1},
		"shell(git push *)":         {Asked: 1},
		"Edit(/" + dir + "/src/**)": {Asked: 1, Approved: 1},
	}
	for _, g := range got {
		w, ok := want[g.Rule]
		w.Rule = g.Rule
		if !ok && g.Rule != "shell(git push)" || ok && g != w {
			t.Errorf("%+v, not %+v", g, w)
		}
		if g.Looser() != (g.Rule == "shell(go test *)") {
			t.Errorf("%+v is proposed: %v", g, g.Looser())
		}
	}
	if len(got) != len(want) || got[0].Rule != "shell(go test *)" {
		t.Errorf("the counts are %+v", got)
	}
	settled := policy.Gate{Rules: rulesOf(t, "allow: Bash(go test *)")}
	for _, g := range settled.Tallies(all) {
		if g.Rule == "shell(go test *)" {
			t.Errorf("what a rule allows already is counted: %+v", g)
		}
	}
	if (policy.Tally{Approved: 5, Failed: 2}).Looser() || (policy.Tally{Approved: 4}).Looser() || (policy.Tally{Approved: 50, Denied: 1}).Looser() {
		t.Error("a rule is proposed that failed too often, was approved too rarely or was denied")
	}
}

// A16: each use that was judged is explained with who answered it, and an answer
// to something else counts for nothing.
func TestUses(t *testing.T) {
	t.Parallel()
	uses, err := policy.Uses(journalOf("/tmp", [3]string{"deploy", "no", "failed"}, [3]string{"ls", "ran", ""}))
	if err != nil || len(uses) != 2 {
		t.Fatal(uses, err)
	}
	u := uses[0]
	if u.Tool != "shell" || string(u.Input) != `{"command":"deploy"}` || u.Verdict != uzda.Ask || u.Origin != "effects" || u.Answer == nil || *u.Answer != (policy.Said{Verdict: uzda.Deny, Reason: "because", By: "ola"}) || u.Started || !u.Failed {
		t.Errorf("%+v (%+v)", u, u.Answer)
	}
	if u := uses[1]; u.Answer != nil || u.Verdict != uzda.Allow || !u.Returned {
		t.Errorf("%+v", u)
	}
}
