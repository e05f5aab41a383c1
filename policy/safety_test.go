package policy_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/policy"
)

// A vector is one line of the collection shell_safety.
type vector struct {
	Source, Context, Expect, Category, Command, Case string
	Argv                                             []string
}

// line is the command as a shell reads it.
func (v vector) line() string {
	if len(v.Argv) == 0 {
		return v.Command
	}
	var words []string
	for _, a := range v.Argv {
		words = append(words, "'"+strings.ReplaceAll(a, "'", `'\''`)+"'")
	}
	return strings.Join(words, " ")
}

// gateOf reads the rules that a vector was written for. A harness without a list
// of harmless commands is one that asks for those too.
func gateOf(t *testing.T, context string) policy.Gate {
	t.Helper()
	var g policy.Gate
	var lines []string
	for context := range strings.SplitSeq(context, "; ") {
		kind, rest, _ := strings.Cut(context, ": ")
		for _, r := range strings.Split(strings.ReplaceAll(rest, " / ", ", "), ", ") {
			switch {
			case strings.HasPrefix(kind, "allow rule"):
				g.Strict = true
				lines = append(lines, "allow: Bash("+strings.Trim(strings.TrimPrefix(r, "prefix "), `"`)+" *)")
			case kind == "allow":
				lines = append(lines, "allow: Bash("+r+")")
			case kind == "deny" && strings.HasPrefix(r, "read "):
				lines = append(lines, "deny: Read("+strings.TrimPrefix(r, "read ")+"/**)")
			case kind == "deny" && r != "secrets":
				lines = append(lines, "deny: Bash("+r+")")
			case kind == "dangerous-command list":
				lines = append(lines, "allow: Bash") // what is dangerous is asked nevertheless
			}
		}
	}
	g.Rules, g.Home = rulesOf(t, lines...), "/root"
	return g
}

// vectors reads a list of the collection.
func vectors(t *testing.T, list string) (out []vector) {
	t.Helper()
	shared := os.Getenv("UZDA_SHARED")
	if shared == "" {
		shared = "../../shared"
	}
	raw, err := os.ReadFile(filepath.Join(shared, "bench/shell_safety/vectors.json"))
	if err != nil {
		t.Skipf("SKIPPED: there is no collection of commands (set UZDA_SHARED): %v", err)
	}
	all := map[string]json.RawMessage{}
	must(t, json.Unmarshal(raw, &all))
	must(t, json.Unmarshal(all[list], &out))
	return out
}

// S1 case:P01: no command of the collection that must be asked or denied runs, in
// any mode that asks, and at most a tenth of the harmless ones is stopped. Its
// seven calls of git, which one harness asks for, are counted apart.
func TestCollectedCommands(t *testing.T) {
	t.Parallel()
	dir := site(t, "proj/file.txt", "proj/Cargo.toml", "proj/list")
	friction, harmless, git, bypasses := 0, 0, 0, 0
	all := vectors(t, "commands")
	for _, v := range all {
		g := gateOf(t, v.Context)
		got := judge(t, g, in(dir, "shell", v.line()))
		runs := got.Decision == uzda.Allow
		switch v.Expect {
		case "allow", "not-dangerous":
			if harmless++; !runs {
				friction++
				t.Logf("stopped: %q with %s: %s", v.line(), v.Context, got.Reason)
			}
		case "ask", "ask-or-deny", "dangerous":
			if strings.HasPrefix(v.Context, "no rules") && (v.line() == "git status" || strings.HasPrefix(v.line(), "'git' '") && v.line() != "'git' 'fetch'" || v.line() == "git log -p -1") {
				git++
				t.Logf("git: %q: %s (%s)", v.line(), got.Decision, got.Reason)
				continue
			}
			if runs {
				bypasses++
				t.Errorf("BYPASS %q with %s: %s", v.line(), v.Context, got.Reason)
			}
			h := g
			h.Strict = false
			if w := judge(t, h, in(dir, "shell", v.line())); v.Category != "" && w.Decision == uzda.Allow {
				t.Errorf("BYPASS %q with %s, not strict: %s", v.line(), v.Context, w.Reason)
			}
		default:
			t.Errorf("nobody knows what %q means", v.Expect)
		}
		if v.Expect == "allow" {
			continue
		}
		for _, mode := range []string{policy.ModePlan, policy.ModeDeny} {
			g.Mode = mode
			if w := judge(t, g, in(dir, "shell", v.line())); w.Decision == uzda.Allow && !runs {
				t.Errorf("BYPASS %q in the mode %s: %s", v.line(), mode, w.Reason)
			}
		}
	}
	t.Logf("%d commands: %d bypasses, %d of %d harmless ones stopped, %d of git counted apart", len(all), bypasses, friction, harmless, git)
	if friction*10 > harmless {
		t.Errorf("friction is over a tenth: %d of %d", friction, harmless)
	}
}

// case:P06: no path of the collection leads out, in file tools and in commands.
func TestCollectedPaths(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("links need rights that few users have")
	}
	dir := site(t, "outside/dir/x", "outside/secret", "proj/f -> TOP/outside/new", "proj/link -> TOP/outside/dir", "proj/hard => other/secret.txt", "proj/secrets/x", "proj/.env", "proj/café")
	type try struct{ tool, value, rule string }
	tries := map[string][]try{
		"dangling-symlink":     {{"write_file", "f", "allow: Edit"}, {"shell", "echo x > f", "allow: Bash"}, {"shell", "cp go.mod f", "allow: Bash"}},
		"dotdot":               {{"read_file", "../../etc/passwd", ""}, {"shell", "cat ../../etc/passwd", "allow: Bash(cat *)"}},
		"dotdot-after-symlink": {{"read_file", "link/../secret", "allow: Read"}, {"shell", "cat link/../secret", "allow: Bash(cat *)"}},
		"prefix-sibling":       {{"read_file", "../proj-secrets/x", ""}, {"read_file", filepath.Dir(dir) + "/proj-secrets/x", ""}, {"shell", "cat " + dir + "-secrets/x", ""}},
		"case":                 {{"read_file", ".ENV", "deny: Read(.env)"}, {"shell", "cat .ENV", "deny: Read(.env)"}},
		"unicode-nfd":          {{"read_file", "cafe\u0301", "deny: Read(café)"}, {"shell", "cat cafe\u0301", "deny: Read(café)"}},
		"hardlink":             {{"write_file", "hard", "allow: Edit"}, {"shell", "echo x > hard", "allow: Edit"}},
		"proc-root":            {{"read_file", "/proc/self/root/etc/shadow", ""}, {"shell", "cat /proc/self/root/etc/shadow", "allow: Bash(cat *)"}},
		"glob":                 {{"shell", "grep -r . ", "deny: Read(secrets/**)"}, {"shell", "grep -r x .", "deny: Read(secrets/**)"}, {"shell", "cat sec*/*", "deny: Read(secrets/**)"}, {"grep", ".", "deny: Read(secrets/**)"}},
		"tool-asymmetry":       {{"shell", "head /etc/hosts", "deny: Read(//etc/hosts)"}, {"shell", "head < /etc/hosts", "deny: Read(//etc/hosts)"}},
		"agent-config":         {{"write_file", "uzda.yaml", "allow: Edit"}, {"write_file", ".mcp.json", "allow: Edit(**)"}, {"write_file", ".git/hooks/pre-commit", "allow: Edit"}, {"shell", "echo x >> uzda.yaml", "allow: Bash"}, {"shell", "cp go.mod .mcp.json", "allow: Bash(cp *)"}},
		"null-byte":            {{"read_file", "go.mod\x00.txt", ""}, {"write_file", "\x00", "allow: Edit"}},
	}
	all := vectors(t, "paths")
	if len(all) != len(tries) {
		t.Errorf("the collection has %d paths, here are %d", len(all), len(tries))
	}
	for _, v := range all {
		list := tries[v.Category]
		if len(list) == 0 {
			t.Errorf("%s is not tried", v.Category)
		}
		for _, x := range list {
			var g policy.Gate
			if x.rule != "" {
				g.Rules = rulesOf(t, x.rule)
			}
			got := judge(t, g, in(dir, x.tool, x.value))
			if got.Decision == uzda.Allow || v.Expect == "deny" && got.Decision != uzda.Deny {
				t.Errorf("BYPASS %s: %s %q with %q: %s (%s)", v.Category, x.tool, x.value, x.rule, got.Decision, got.Reason)
			}
		}
	}
}

// case:P01: our own table of what chains and hides commands.
func TestEveryPartIsJudged(t *testing.T) {
	t.Parallel()
	dir := site(t, "proj/a.txt")
	g := policy.Gate{Rules: rulesOf(t, "deny: rm", "deny: Bash(rm *)", "allow: Bash(git status *)", "allow: Bash(go vet *)")}
	for line, want := range map[string]uzda.Decision{
		"go vet all":                      allow,
		"go vet all; go vet test":         allow,
		"go vet 'a && rm x'":              allow, // an operator in quotes is none
		`go vet "a; rm x"`:                allow,
		`go vet a\;rm`:                    allow,
		"rm x":                            deny,
		"go vet && rm x":                  deny,
		"go vet || rm x":                  deny,
		"go vet; rm x":                    deny,
		"go vet | rm x":                   deny,
		"go vet |& rm x":                  deny,
		"go vet & rm x":                   deny,
		"go vet\nrm x":                    deny,
		"go vet $(rm x)":                  deny,
		"go vet `rm x`":                   deny,
		"go vet \"$(rm x)\"":              deny,
		"go vet <(rm x)":                  deny,
		"go vet >(rm x)":                  deny,
		"sh <<EOF\nrm x\nEOF":             deny,
		"(rm x)":                          deny,
		"{ rm x; }":                       deny,
		"if true; then rm x; fi":          deny,
		"for i in 1 2; do rm $i; done":    deny,
		"while rm x; do true; done":       deny,
		"case a in a) rm x;; esac":        deny,
		"f() { rm x; }; f":                deny,
		"trap 'rm x' EXIT":                deny,
		"sudo rm x":                       deny,
		"env A=1 rm x":                    deny,
		"timeout 5 rm x":                  deny,
		"nohup nice rm x":                 deny,
		"xargs rm < a.txt":                deny,
		"find . -exec rm {} +":            deny,
		"sh -c 'rm x'":                    deny,
		"bash -c \"go vet; rm x\"":        deny,
		"/bin/rm x":                       deny,
		"./rm x":                          deny,
		"\\rm x":                          deny,
		"'r'm x":                          deny,
		"RM x":                            deny,
		"command rm x":                    deny,
		"eval 'rm x'":                     deny,
		"! rm x":                          deny,
		"X=1 rm x":                        deny,
		"${SHELL} x":                      ask,
		"$X rm":                           ask,
		"go vet; deploy":                  ask,
		"go vet 'unclosed":                ask,
		"go vet > .git/hooks/post-commit": ask,
		"go vet > out.txt":                ask,
		"go vet > /tmp/out.txt":           ask,
		"cat a.txt":                       allow,
		"cat a.txt | sort | uniq -c":      allow,
		"cat /etc/passwd":                 ask,
		"cat $FILE":                       ask,
		"cat /proc/self/environ":          deny,
		"echo a > /dev/null":              allow,
		"ls 2>/dev/null":                  allow,
		"python3 -c 'print(1)'":           ask,
		"echo {{secret:KEY}}":             ask,
		"go vet -x=$X":                    ask,
		"go vet src/*.o":                  allow,
		"go vet *.o":                      ask,
		"gi\u200bt status":                ask,
		"":                                ask,
		"# nothing":                       ask,
	} {
		v := judge(t, g, in(dir, "shell", line))
		if v.Decision != want {
			t.Errorf("%q: %s (%s), not %s", line, v.Decision, v.Reason, want)
		}
		if v.Decision == deny && v.Rule == "" && !strings.Contains(v.Reason, "door") {
			t.Errorf("%q: denied by no rule: %s", line, v.Reason)
		}
	}
}

// S1: what a rule for commands allows: it spells out the words that count, nothing
// dangerous, nothing outside, and redirections as write_file would be judged.
func TestCommandRules(t *testing.T) {
	t.Parallel()
	dir := site(t, "proj/src/a.go", "proj/.env", "lib/x")
	top := filepath.Dir(dir)
	for _, c := range []struct {
		rules, line string
		want        uzda.Decision
	}{
		{"allow: Bash(go test *)", "go test ./...", allow},
		{"allow: Bash(go test:*)", "go test ./...", allow},
		{"allow: Bash(go test:*)", "go test", allow},
		{"allow: Bash(go test:*)", "go testing", ask},
		{"allow: Bash(go  test  *)", "go   test   ./...", allow},
		{"allow: Bash(go *)", "go test ./...", ask},
		{"allow: Bash(go * ./...)", "go test ./...", ask},
		{"allow: Bash(*)", "go test ./...", allow},
		{"allow: Bash(* test)", "go test", ask},
		{"allow: Bash(go test ./...)", "go test ./...", allow},
		{"allow: Bash(go test ./...)", "go test ./x", ask},
		{"allow: Bash(go test *)", "go test ./... > out.txt", ask},
		{"allow: Bash(go test *)|allow: Edit(*.txt)", "go test ./... > out.txt", allow},
		{"allow: Bash(go test *)", "timeout 60 go test ./...", allow},
		{"allow: Bash(go test *)", "cd src && go test ./...", allow},
		{"allow: Bash(go test *)", "sudo go test ./...", ask},
		{"allow: Bash(rm *)", "rm src/a.go", allow},
		{"allow: Bash(rm *)", "rm -rf src", ask},
		{"allow: Bash(rm -rf src)", "rm -rf src", allow},
		{"allow: Bash", "rm -rf src", ask},
		{"allow: Bash", "deploy now", allow},
		{"allow: Bash", "deploy now > log", allow},
		{"allow: Bash", "deploy now > ../log", ask},
		{"allow: Bash", "cat .env", ask},
		{"allow: Bash(cat .env)", "cat .env", allow},
		{"allow: Read(.env)", "cat .env", allow},
		{"allow: Bash(cat *)", "cat " + top + "/lib/x", ask},
		{"allow: Read(/" + top + "/lib/**)", "cat " + top + "/lib/x", allow},
		{"allow: Bash(python3 *)", "python3 -c 1", ask},
		{"allow: Bash(python3 -c 1)", "python3 -c 1", allow},
		{"deny: Read(src/**)", "cat src/a.go", deny},
		{"deny: Read(src/**)", "cat < src/a.go", deny},
		{"deny: Read(src/**)", "cat src/*", deny},
		{"deny: Read(src/**)", "cat s*/a.go", ask},
		{"deny: Read(src/**)", "cat src/?.go", deny},
		{"deny: Read(src/**)", "grep -r x .", ask},
		{"deny: Read(src/**)|allow: Bash", "cp src/a.go b.go", deny},
		{"deny: Read(src/**)|allow: Bash(cat src/a.go)", "cat src/a.go", deny},
		{"deny: Edit(src/**)|allow: Bash", "rm src/a.go", deny},
		{"deny: Edit(src/**)|allow: Bash", "echo x > src/a.go", deny},
		{"deny: Edit(src/**)|allow: Bash", "touch src/new.go", deny},
		{"deny: Edit(src/**)|allow: Bash", "rm -r src", deny},
		{"deny: Edit(src/**)|allow: Bash", "cat src/a.go", allow},
		{"deny: Edit|allow: Bash", "touch x", deny},

		// Credentials in the folder: what shows names or leaves them out is no reason.
		{"allow: Grep", "find . -name '*.go'", allow},
		{"allow: Grep", "ls -R", allow},
		{"allow: Grep", "grep -r x .", ask},
		{"allow: Grep", "rg x", allow},
		{"allow: Grep", "rg --hidden x", ask},
		{"allow: Grep", "rg -uu x", ask},
		{"allow: Grep", "rg $X y", ask},
		{"allow: Grep", "cat *", allow},
		{"allow: Grep", "cat .e*", ask},
		{"allow: Grep", "shopt -s dotglob; cat *", ask},
		{"deny: Read(src/**)", "find .", ask},
		{"ask: Bash(git push *)|allow: Bash", "git push", ask},
		{"ask: Bash(git push *)|allow: Bash", "git $X", ask},
		{"deny: Bash(git push *)|allow: Bash", "git $X origin", ask},
		{"deny: Bash(*--force*)|allow: Bash", "git push --force", deny},
		{"deny: Bash(git)", "git log", allow},
		{"deny: Bash(git)", "git", deny},
		{"allow: Bash(make *)", "make install", ask},
		{"deny: shell(timeout:>600)|allow: Bash", "deploy now", allow},
	} {
		g := policy.Gate{Rules: rulesOf(t, strings.Split(c.rules, "|")...)}
		if v := judge(t, g, in(dir, "shell", c.line)); v.Decision != c.want {
			t.Errorf("%q with %s: %s (%s), not %s", c.line, c.rules, v.Decision, v.Reason, c.want)
		}
	}
}

// S1: what commands may do in each mode.
func TestModesOfCommands(t *testing.T) {
	t.Parallel()
	dir := site(t, "proj/src/a.go", "proj/AGENTS.md")
	modes := []string{policy.ModeAsk, policy.ModePlan, policy.ModeEdits, policy.ModeDeny, policy.ModeBypass}
	for line, want := range map[string][5]uzda.Decision{
		"ls -la src":             {allow, allow, allow, allow, allow},
		"ls | head; pwd":         {allow, allow, allow, allow, allow},
		"cat /etc/hosts":         {ask, ask, ask, deny, allow},
		"mkdir -p a/b":           {ask, deny, allow, deny, allow},
		"touch x":                {ask, deny, allow, deny, allow},
		"cp src/a.go b.go":       {ask, deny, allow, deny, allow},
		"mv src/a.go b.go":       {ask, deny, allow, deny, allow},
		"rm src/a.go":            {ask, deny, allow, deny, allow},
		"rm -f src/a.go":         {ask, deny, ask, deny, allow},
		"rm -rf src":             {ask, deny, ask, deny, allow},
		"echo x > x.txt":         {ask, deny, allow, deny, allow},
		"echo x > AGENTS.md":     {ask, deny, ask, deny, allow},
		"cp src/a.go ../b.go":    {ask, deny, ask, deny, allow},
		"cp /etc/hosts .":        {ask, deny, ask, deny, allow},
		"go build ./...":         {ask, deny, ask, deny, allow},
		"deploy":                 {ask, deny, ask, deny, allow},
		"cat /proc/self/environ": {deny, deny, deny, deny, deny},
	} {
		for i, mode := range modes {
			v := judge(t, policy.Gate{Mode: mode}, in(dir, "shell", line))
			if v.Decision != want[i] {
				t.Errorf("%q in the mode %s: %s (%s), not %s", line, mode, v.Decision, v.Reason, want[i])
			}
		}
		denied := judge(t, policy.Gate{Mode: policy.ModeBypass, Rules: rulesOf(t, "deny: Bash")}, in(dir, "shell", line))
		if denied.Decision != deny {
			t.Errorf("%q in bypass, denied by a rule: %+v", line, denied)
		}
	}
}

// S2: after too many failures in a row a person looks, except at what only reads.
func TestHandOver(t *testing.T) {
	t.Parallel()
	dir := site(t)
	rs := rulesOf(t, "allow: Bash(go vet *)", "allow: Edit")
	for _, c := range []struct {
		tool, value  string
		failed, over int
		mode         string
		want         uzda.Decision
	}{
		{"shell", "go vet", 4, 0, "", uzda.Allow}, {"shell", "go vet", 5, 0, "", uzda.Ask}, {"shell", "go vet", 9, 0, "deny", uzda.Deny}, {"shell", "go vet", 2, 2, "", uzda.Ask},
		{"shell", "go vet", 99, -1, "", uzda.Allow}, {"shell", "ls", 9, 0, "", uzda.Allow}, {"write_file", "x", 9, 0, "", uzda.Ask}, {"read_file", "x", 9, 0, "", uzda.Allow},
	} {
		a := in(dir, c.tool, c.value)
		a.Failed, a.Mode = c.failed, c.mode
		a.Grants = []uzda.Grant{{Rule: "shell"}, {Rule: "Edit"}}
		v := judge(t, policy.Gate{Rules: rs, HandOver: c.over}, a)
		if v.Decision != c.want || v.Unattended != (c.mode == "deny") || c.want != uzda.Allow && !strings.Contains(v.Reason, "calls in a row failed: a person should look") {
			t.Errorf("%s %s after %d failures: %+v, not %s", c.tool, c.value, c.failed, v, c.want)
		}
	}
}

// S1: more rules that deny or ask never loosen a verdict, more that allow never
// tighten it, and the order of those that allow decides nothing.
func TestRulesAreMonotone(t *testing.T) {
	t.Parallel()
	dir := site(t, "proj/src/a.go", "proj/.env", "proj/link -> TOP/other")
	pool := []string{"Bash", "Bash(git *)", "Bash(go test *)", "Bash(ls)", "Bash(rm *)", "Bash(cat *)", "Bash(cat .env)", "Read", "Read(src/**)", "Read(.env)", "Edit", "Edit(src/**)", "Edit(*.txt)",
		"Read(//etc/**)", "shell(go build ./...)", "fetch", "WebFetch(domain:example.com)", "Bash(echo *)", "Grep", "she*"}
	var uses []uzda.Action
	for _, line := range []string{"ls", "go test ./...", "rm -rf src", "cat .env", "cat src/a.go && go build ./...", "echo x > a.txt", "git status; echo $X", "cat /etc/hosts", "(rm x)", "cp src/a.go .env", "bad 'quote"} {
		uses = append(uses, in(dir, "shell", line))
	}
	for _, path := range []string{"src/a.go", ".env", "link/x", "a.txt"} {
		uses = append(uses, in(dir, "read_file", path), in(dir, "write_file", path), in(dir, "grep", path))
	}
	uses = append(uses, in(dir, "fetch", "https://example.com/"), in(dir, "fetch", "http://localhost/"))
	rng := seeded(1)
	pick := func() (out []string) {
		for range rng.IntN(4) {
			out = append(out, pool[rng.IntN(len(pool))])
		}
		return out
	}
	for range 120 {
		var g policy.Gate
		for _, d := range []uzda.Decision{uzda.Deny, uzda.Ask, uzda.Allow} {
			g.Rules = with(g.Rules, rules(t, d, pick()...))
		}
		g.Mode = policy.Modes()[rng.IntN(len(policy.Modes()))]
		more := pool[rng.IntN(len(pool))]
		for _, a := range uses {
			before := judge(t, g, a)
			for _, d := range []uzda.Decision{uzda.Deny, uzda.Ask, uzda.Allow} {
				h := g
				h.Rules = with(rules(t, d, more), g.Rules)
				after := judge(t, h, a)
				if d == uzda.Allow && after.Decision.Stricter(before.Decision) || d != uzda.Allow && before.Decision.Stricter(after.Decision) {
					t.Fatalf("%s %s in %s with %v: %+v; with %s %s besides: %+v", a.Use.Name, a.Use.Input, g.Mode, g.Rules, before, d, more, after)
				}
			}
			h := g
			h.Rules.Allow = slices.Clone(g.Rules.Allow)
			slices.Reverse(h.Rules.Allow)
			if after := judge(t, h, a); after.Decision != before.Decision {
				t.Fatalf("%s %s with %v: %+v; in another order: %+v", a.Use.Name, a.Use.Input, g.Rules, before, after)
			}
		}
	}
}
