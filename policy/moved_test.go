package policy_test

import (
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/policy"
)

// S1 case:P06: what is moved or copied is judged as what it would become, with all that
// lies below, and so is what it leaves.
func TestMovedFiles(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("links need rights that few users have")
	}
	for _, c := range []struct {
		rules, line string
		want        uzda.Decision
	}{
		{"", "mv docs x", allow},
		{"", "mv a.txt b.txt", allow},
		{"", "mv a.txt docs", allow},
		{"", "cp -r docs x", allow},
		{"", "cp -r docs/. .", allow},
		{"", "cp a.txt docs/", allow},
		{"", "mv a.txt agents.txt", allow},
		{"", "cp a.txt skills.txt", allow},
		{"", "mv a.txt .github", allow}, // a file is no folder
		{"deny: Edit(docs/a.md)", "mv docs x", ask},
		{"deny: Read(docs/a.md)", "mv docs x", ask},
		{"ask: Edit(docs/a.md)", "mv docs x", ask},
		{"deny: Edit(docs/a.md)", "mv docs/a.md x", deny},
		{"deny: Edit(docs/a.md)", "mv ./docs/../docs x", ask},
		{"deny: Edit(docs/a.md)", "mv -t other docs", ask},
		{"deny: Edit(docs/a.md)", "mv d?cs x", ask},
		{"deny: Edit(x/a.md)", "mv docs x", ask},
		{"deny: Edit(x/a.md)", "cp -r docs x", ask},
		{"deny: Edit(x/deep/a.md)", "cp -r docs x", allow},
		{"deny: Edit(other/a.md)", "cp docs/a.md other", ask},
		{"deny: Edit(docs/a.md)", "mv other x", allow},
		{"allow: Bash(mv *)|deny: Edit(docs/a.md)", "mv docs x", ask},
		{"", "mv secret x", ask},
		{"", "mv repo x", ask},
		{"", "mv told x", ask},
		{"", "rm -r secret", ask},

		// What steers agents, made by a name.
		{"", "mv docs agents", ask},
		{"", "mv empty agents", ask},
		{"", "cp -r docs agents", ask},
		{"", "cp -r docs Agents", ask},
		{"", "ln -s docs agents", ask},
		{"", "ln -s docs skills", ask},
		{"", "cp docs/a.md agents", ask}, // it may be a folder by then
		{"", "mv docs/a.md AGENTS.md", ask},
		{"", "cp -r flows/workflows .github", ask},
		{"", "mv flows .github", ask},
		{"", "mkdir -p h && mv h .github", ask},
		{"", "mv flows .git", ask},
		{"", "mv flows .claude", ask},
		{"", "mv flows .vscode", ask},
		{"", "mv flows .uzda", ask},
		{"", "cp -r X/. .", ask},
		{"", "cp -r X/* .", ask},
		{"", "cp -r X/.github .", ask},
		{"", "cp -rT X .", ask},
		{"", "cp -rt . X/.github", ask},
		{"", "cp -r parts/agents .", ask},
		{"", "cp -rs repo/.git g", ask},
		{"", "cp -r docs out", ask}, // out is a link to a folder elsewhere
		{"", "cp other/b.txt link.txt", ask},
		{"allow: Bash(cp *)", "cp -r docs agents", ask},
		{"allow: Bash(cp -r docs agents)", "cp -r docs agents", allow},
	} {
		dir := site(t, "proj/docs/a.md", "proj/other/b.txt", "proj/a.txt", "proj/secret/.env", "proj/repo/.git/config", "proj/told/AGENTS.md", "proj/empty/x/y",
			"proj/flows/workflows/ci.yml", "proj/X/.github/workflows/ci.yml", "proj/parts/agents/a.md", "proj/out -> TOP/other", "proj/link.txt -> TOP/other/secret.txt")
		g := policy.Gate{Mode: policy.ModeEdits}
		if c.rules != "" {
			g.Rules = rulesOf(t, strings.Split(c.rules, "|")...)
		}
		if v := judge(t, g, in(dir, "shell", c.line)); v.Decision != c.want {
			t.Errorf("%q with %q: %s (%s), not %s", c.line, c.rules, v.Decision, v.Reason, c.want)
		}
	}
}

// S1: delete_file with recursive is judged by all that would go.
func TestDeletedFolders(t *testing.T) {
	t.Parallel()
	dir := site(t, "proj/docs/a.md", "proj/docs/deep/b.md", "proj/secret/.env", "proj/told/AGENTS.md", "proj/repo/.git/config", "proj/plain/x")
	for _, c := range []struct {
		rules, input string
		want         uzda.Decision
	}{
		{"", `{"path":"docs","recursive":true}`, allow},
		{"deny: Edit(docs/a.md)", `{"path":"docs","recursive":true}`, ask},
		{"deny: Edit(docs/a.md)", `{"path":"docs","Recursive":true}`, ask},
		{"deny: Edit(docs/a.md)", `{"path":"docs","recursive":false,"recursive":true}`, ask},
		{"deny: Edit(docs/a.md)", `{"path":"docs","recursive":"true"}`, ask},
		{"deny: Edit(docs/a.md)", `{"path":"docs/deep","recursive":true}`, allow},
		{"deny: Edit(docs/**)", `{"path":"docs","recursive":true}`, deny},
		{"deny: Edit(docs/a.md)|allow: Edit", `{"path":"docs","recursive":true}`, ask},
		{"", `{"path":"docs","recursive":false}`, allow},
		{"", `{"path":"secret","recursive":true}`, ask},
		{"", `{"path":"told","recursive":true}`, ask},
		{"", `{"path":"repo","recursive":true}`, ask},
		{"", `{"path":"plain","recursive":true}`, allow},
		{"allow: Edit(**)", `{"path":"repo","recursive":true}`, ask},
	} {
		g := policy.Gate{Mode: policy.ModeEdits}
		if c.rules != "" {
			g.Rules = rulesOf(t, strings.Split(c.rules, "|")...)
		}
		a := action("delete_file", writes, c.input)
		a.Dir, a.Use.Dir = dir, dir
		if v := judge(t, g, a); v.Decision != c.want {
			t.Errorf("%s with %q: %s (%s), not %s", c.input, c.rules, v.Decision, v.Reason, c.want)
		}
	}
}

// S1 case:P01: a program that is called by a path is the one that a rule names only if
// the rule spells the path, or the path is of a folder of the system.
func TestProgramsByPath(t *testing.T) {
	t.Parallel()
	dir := site(t, "proj/a.txt", "proj/git", "proj/docs/cat", "proj/script.py", "proj/gradlew")
	for _, c := range []struct {
		rule, line string
		want       uzda.Decision
	}{
		{"git status", "git status", allow},
		{"git status", "/usr/bin/git status", allow},
		{"git status", "./git status", ask},
		{"git status", "timeout 5 ./git status", ask},
		{"git status", dir + "/git status", ask},
		{"git status", "$PWD/git status", ask},
		{"git *", "./git add a.txt", ask},
		{"cat *", "docs/cat a.txt", ask},
		{"pytest", "/tmp/evil/pytest", ask},
		{"pytest", "/usr/local/bin/pytest", allow},
		{"python3 script.py *", "./python3 script.py a", ask},
		{"./tool *", "./tool build", allow},
		{"./tool *", "docs/tool build", ask},
		{"./gradlew *", "./gradlew build", ask}, // as make *
		{"./gradlew build *", "./gradlew build", allow},
		{"./gradlew build", "./gradlew build", allow},
		{"./gradlew *", "gradlew build", ask},
		{"./gradlew *", "docs/gradlew build", ask},
		{"/usr/bin/pytest *", "/usr/bin/pytest x", allow},
		{"/opt/x/pytest *", "/opt/x/pytest x", allow},
	} {
		v := judge(t, policy.Gate{Strict: true, Rules: rulesOf(t, "allow: Bash("+c.rule+")")}, in(dir, "shell", c.line))
		if v.Decision != c.want {
			t.Errorf("%q with %s: %s (%s), not %s", c.line, c.rule, v.Decision, v.Reason, c.want)
		}
	}
	for _, line := range []string{"./rm a.txt", "/tmp/rm a.txt", "/bin/rm a.txt"} {
		if v := judge(t, policy.Gate{Rules: rulesOf(t, "deny: Bash(rm *)", "allow: Bash")}, in(dir, "shell", line)); v.Decision != deny {
			t.Errorf("%q: %+v", line, v)
		}
	}
}

// S1: a file that a rule names is the one of the session's folder; words that are no
// file, as of make and go, mean the same in any folder.
func TestFilesThatRulesName(t *testing.T) {
	t.Parallel()
	dir := site(t, "proj/script.py", "proj/docs/script.py", "proj/docs/only.py", "proj/sub/x_test.go", "proj/gradlew", "proj/sub/gradlew")
	for _, c := range []struct {
		rule, line, cwd string
		want            uzda.Decision
	}{
		{"python3 script.py *", "python3 script.py a", "", allow},
		{"python3 script.py *", "cd docs && python3 script.py a", "", ask},
		{"python3 script.py *", "cd . && python3 script.py a", "", allow},
		{"python3 script.py *", "cd " + dir + " && python3 script.py a", "", allow},
		{"python3 only.py *", "cd docs && python3 only.py", "", ask},
		{"python3 script.py *", "python3 script.py a", "docs", ask},
		{"python3 script.py", "python3 script.py", "docs", ask},
		{"python3 script.py", "python3 script.py", "", allow},
		{"python3 script.py", "env -C docs python3 script.py", "", ask},
		{"cd docs && python3 script.py", "cd docs && python3 script.py", "", allow},
		{"./gradlew build", "cd sub && ./gradlew build", "", ask},
		{"./gradlew build", "./gradlew build", "sub", ask},
		{"./gradlew build", "cd " + dir + " && ./gradlew build", "", allow},
		{"go test *", "cd sub && go test ./...", "", allow},
		{"go test *", "go test ./...", "sub", allow},
		{"make test", "cd docs && make test", "", allow},
		{"npm run *", "cd docs && npm run build", "", allow},
	} {
		a := in(dir, "shell", c.line)
		a.Use.Dir = filepath.Join(dir, c.cwd)
		v := judge(t, policy.Gate{Rules: rulesOf(t, "allow: Bash("+c.rule+")")}, a)
		if v.Decision != c.want {
			t.Errorf("%q in %q with %s: %s (%s), not %s", c.line, c.cwd, c.rule, v.Decision, v.Reason, c.want)
		}
	}
}

// S1: a rule that names npm run leaves open which of the project's scripts runs, and a
// rule that matches and does not allow says what to write.
func TestRulesThatSpellTooLittle(t *testing.T) {
	t.Parallel()
	dir := site(t, "proj/a.txt")
	for _, c := range []struct {
		rule, line string
		want       uzda.Decision
		says       string
	}{
		{"npm run *", "npm run build", allow, ""},
		{"npm run:*", "npm run build -- --watch", allow, ""},
		{"pnpm run *", "pnpm run build", allow, ""},
		{"yarn run *", "yarn run build", allow, ""},
		{"deno task *", "deno task build", allow, ""},
		{"npm run *", "npm run ./x", ask, ""},
		{"npm run *", "npm run $X", ask, ""},
		{"npm run *", "npm --prefix x run build", ask, ""},
		{"npm *", "npm run build", ask, "the rule Bash(npm *) matches, but does not spell out what runs: write shell(npm run build)"},
		{"bun run *", "bun run x.ts", ask, "write shell(bun run x.ts)"},
		{"go run *", "go run x.go", ask, "write shell(go run x.go)"},
		{"go *", "go test ./...", ask, "write shell(go test) or shell(go test *)"},
		{"python3 *", "python3 -c 'print(1)'", ask, "every word of it counts: write shell(python3 -c print(1))"},
		{"rm *", "rm -rf x", ask, "only a rule that is this very command"},
		{"git status *", "./git status", ask, "does not spell the path of the program: write shell(./git *)"},
		{"go test *", "make", ask, "no rule allows it"},
	} {
		v := judge(t, policy.Gate{Rules: rulesOf(t, "allow: Bash("+c.rule+")")}, in(dir, "shell", c.line))
		if v.Decision != c.want || !strings.Contains(v.Reason, c.says) {
			t.Errorf("%q with %s: %s (%s), not %s (%s)", c.line, c.rule, v.Decision, v.Reason, c.want, c.says)
		}
	}
	for text, want := range map[string]bool{"Bash(git commit *)": true, "Bash(python3 -c *)": true, "Bash(npm run *)": false, "Bash(go test *)": false, "Bash(git status *)": false, "Bash(make *)": false, "Bash(sed *)": false, "Bash(git commit)": false} {
		var rs policy.Rules
		warnings, err := rs.Add(allow, "flag", text)
		if must(t, err); len(warnings) > 0 != want {
			t.Errorf("%s warns %q", text, warnings)
		}
	}
}

// S2: of several reasons a person is told the worst, and how many parts more there are.
func TestWorstReason(t *testing.T) {
	t.Parallel()
	dir := site(t, "proj/src/a.go")
	for line, says := range map[string][2]string{
		"touch x; rm -rf src": {"rm -rf src: ", "; and 1 more part is asked about"},
		"touch x" + strings.Repeat(" ", 300) + "; rm -rf src": {"rm -rf src: ", "1 more"},
		"touch x; deploy; mkdir y":                            {"deploy: ", "; and 2 more parts are asked about"},
		"touch x; deploy; cat /etc/passwd":                    {"/etc/passwd lies outside", "2 more"},
		"deploy; cat /etc/passwd; git reset --hard":           {"git reset --hard: ", "2 more"},
		"deploy; $X":             {"cannot be judged as a whole", ""},
		"deploy; $X; rm -rf src": {"rm -rf src: ", ""},
		"deploy":                 {"deploy: no rule allows it", ""},
	} {
		v := judge(t, policy.Gate{}, in(dir, "shell", line))
		if v.Decision != ask || !strings.Contains(v.Reason, says[0]) || !strings.Contains(v.Reason, says[1]) || line == "deploy" && strings.Contains(v.Reason, "more") {
			t.Errorf("%q: %s (%s)", line, v.Decision, v.Reason)
		}
	}
}

// S2: two rules in one text are an error that says so, and not a rule that never holds.
func TestGluedRules(t *testing.T) {
	t.Parallel()
	for text, says := range map[string]string{
		"Read(docs/**);Bash(x)": `a second rule begins at "Bash(x)"`, "Bash(a), Bash(b)": "second rule", "Read(a) Edit(b)": "second rule", "Read(a)Edit(b)": "second rule",
		"Read(a);": `behind the ) stands ";"`, "Read(a);Bash": `behind the ) stands ";Bash"`, "Read(a) # all": `behind the ) stands "# all"`, "Read;Bash(x)": "no name of a tool",
		`Bash(python3 -c "f(x); g(y)")`: "", "Bash(echo :\\) *)": "", "Bash(echo :) *)": "", "Bash(echo (a) (b))": "", "pay(to:alice*, amount:<=50)": "",
	} {
		_, err := policy.Parse(deny, text, "flag")
		if says == "" && err != nil || says != "" && (err == nil || !strings.Contains(err.Error(), says)) {
			t.Errorf("%s: %v, not %q", text, err, says)
		}
	}
}
