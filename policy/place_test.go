package policy_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/policy"
)

// site makes folders and files: proj is the session's folder, beside it lie others.
// An entry with -> is a link, one with => a hard link.
func site(t *testing.T, entries ...string) (dir string) {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range append([]string{"proj/go.mod", "other/secret.txt", "proj-secrets/x"}, entries...) {
		from, to, link := strings.Cut(e, " -> ")
		hard := false
		if !link {
			from, to, hard = strings.Cut(e, " => ")
		}
		path := filepath.Join(top, from)
		must(t, os.MkdirAll(filepath.Dir(path), 0o755))
		switch {
		case link:
			must(t, os.Symlink(strings.ReplaceAll(to, "TOP", top), path))
		case hard:
			must(t, os.Link(filepath.Join(top, to), path))
		default:
			must(t, os.WriteFile(path, []byte(e), 0o644))
		}
	}
	return filepath.Join(top, "proj")
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

var tools = map[string]uzda.Effects{"read_file": reads, "grep": reads, "glob": reads, "write_file": writes, "edit_file": writes, "delete_file": writes, "fetch": fetch, "shell": writes}

// in is an action in a folder; the input is of the tool's main argument.
func in(dir, tool, value string) uzda.Action {
	key := map[string]string{"shell": "command", "fetch": "url"}[tool]
	if key == "" {
		key = "path"
	}
	raw, _ := json.Marshal(map[string]string{key: value})
	a := action(tool, tools[tool], string(raw))
	a.Dir, a.Use.Dir = dir, dir
	return a
}

// rulesOf reads "deny: Read(x)" and the like.
func rulesOf(t *testing.T, lines ...string) (rs policy.Rules) {
	t.Helper()
	for _, l := range lines {
		list, text, _ := strings.Cut(l, ": ")
		if _, err := rs.Add(uzda.Decision(list), "flag --"+list, text); err != nil {
			t.Fatal(err)
		}
	}
	return rs
}

// A pathCase is what becomes of a path with a rule.
type pathCase struct {
	tool, path, rules string
	want              uzda.Decision
	says              string
}

const allow, ask, deny = uzda.Allow, uzda.Ask, uzda.Deny

// tryPaths judges paths in a folder that holds links of all kinds.
func tryPaths(t *testing.T, cases func(dir, top string) []pathCase) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("links need rights that few users have")
	}
	dir := site(t, "proj/src/a.go", "proj/.env", "proj/secrets/key.txt", "proj/café", "proj/README.md", "proj/sub/deep/b.go",
		"proj/link -> TOP/other", "proj/out -> TOP/other/secret.txt", "proj/dangling -> TOP/other/new", "proj/inner -> src", "proj/loop -> loop",
		"proj/alias -> .env", "proj/hard => other/secret.txt", "proj/relative -> ../other/secret.txt", "proj/chain -> link", "gate -> proj")
	top := filepath.Dir(dir)
	for _, c := range cases(dir, top) {
		g := policy.Gate{Home: "/home/ola"}
		if c.rules != "" {
			g.Rules = rulesOf(t, c.rules)
		}
		v := judge(t, g, in(dir, c.tool, c.path))
		if v.Decision != c.want || !strings.Contains(v.Reason, c.says) {
			t.Errorf("%s %q with %q: %s (%s), not %s (%s)", c.tool, c.path, c.rules, v.Decision, v.Reason, c.want, c.says)
		}
		if strings.HasPrefix(c.path, "../") || strings.HasPrefix(c.path, "link/..") || filepath.IsAbs(c.path) {
			continue
		}
		// The session's folder may itself be reached through a link.
		if w := judge(t, g, in(filepath.Join(top, "gate"), c.tool, c.path)); w.Decision != c.want {
			t.Errorf("%s %q with %q through a link: %s (%s), not %s", c.tool, c.path, c.rules, w.Decision, w.Reason, c.want)
		}
	}
}

// case:P06: where a path leads is what counts, not how it is written.
func TestPaths(t *testing.T) {
	t.Parallel()
	tryPaths(t, func(dir, top string) []pathCase {
		return []pathCase{
			{"read_file", "src/a.go", "", allow, "read-only"},
			{"read_file", "./src/../go.mod", "", allow, ""},
			{"read_file", dir + "/go.mod", "", allow, ""},
			{"read_file", "inner/a.go", "", allow, ""},
			{"read_file", "nowhere/at/all", "", allow, ""},
			{"write_file", "src/new.go", "", ask, "changes something"},
			{"write_file", "src/new.go", "allow: Edit(src/**)", allow, "Edit(src/**)"},
			{"write_file", "inner/new.go", "allow: Edit(src/**)", allow, ""},
			{"write_file", "link/new.go", "allow: Edit(**)", deny, "outside"},

			// Outside.
			{"read_file", "../../etc/passwd", "", deny, "lies outside of " + dir + "; a person can add its folder with --add-dir"},
			{"read_file", "/etc/passwd", "allow: Read(//etc/**)", deny, "outside"},
			{"read_file", "../proj-secrets/x", "", deny, "outside"},
			{"read_file", "link/secret.txt", "", deny, "(" + top + "/other/secret.txt)"},
			{"read_file", "link/../secret", "", deny, "outside"},
			{"read_file", "link/../proj/go.mod", "", allow, ""},
			{"read_file", "src/../../other/secret.txt", "", deny, "outside"},
			{"read_file", "out", "", deny, "outside"},
			{"read_file", "relative", "", deny, "outside"},
			{"read_file", "chain/secret.txt", "", deny, "outside"},
			{"write_file", "dangling", "allow: Edit", deny, "outside"},
			{"write_file", "dangling/x", "allow: Edit", deny, "outside"},
			{"read_file", "loop", "", deny, "its links lead nowhere"},
			{"read_file", "~/x", "", deny, "outside"},
			{"glob", "..", "", deny, "outside"},
			{"grep", "link", "", deny, "outside"},
			{"write_file", "hard", "allow: Edit", ask, "another name"},
			{"write_file", "hard", "allow: Edit(./hard)", allow, ""},
			{"read_file", "a\x00/../../../etc/passwd", "", deny, "NUL"},

			// Doors to processes.
			{"read_file", "/proc/self/root/etc/shadow", "", deny, "is a door to a process"},
			{"read_file", "/proc/self/environ", "", deny, "is a door to a process"},
			{"read_file", "/proc/1/cwd/x", "", deny, "is a door to a process"},
			{"read_file", "/proc/self/task/1/environ", "", deny, "is a door to a process"},
			{"read_file", "/proc/cpuinfo", "", deny, "outside"},
		}
	})
}

// S1: a rule that denies holds for every spelling of a path, and for searches above it.
func TestDeniedPaths(t *testing.T) {
	t.Parallel()
	tryPaths(t, func(dir, _ string) []pathCase {
		return []pathCase{
			// Rules that deny: any spelling.
			{"read_file", "secrets/key.txt", "deny: Read(secrets/**)", deny, "Read(secrets/**)"},
			{"read_file", "./src/../secrets/key.txt", "deny: Read(./secrets/**)", deny, ""},
			{"read_file", "secrets", "deny: Read(secrets/)", deny, ""},
			{"read_file", "SECRETS/KEY.TXT", "deny: Read(secrets/**)", deny, ""},
			{"read_file", "cafe\u0301", "deny: Read(caf\u00e9)", deny, ""},
			{"read_file", "caf\u00e9", "deny: Read(cafe\u0301)", deny, ""},
			{"read_file", "CAF\u00c9", "deny: Read(cafe\u0301)", deny, ""},
			{"read_file", "secrets./key.txt", "deny: Read(secrets/**)", deny, ""},
			{"read_file", "secr\u200bets/key.txt", "deny: Read(secrets/**)", deny, ""},
			{"read_file", "alias", "deny: Read(.env)", deny, ""},
			{"read_file", "inner/a.go", "deny: Read(src/**)", deny, ""},
			{"read_file", "inner/a.go", "deny: Read(inner/**)", deny, ""},
			{"read_file", "sub/deep/b.go", "deny: Read(b.go)", deny, ""},
			{"read_file", "sub/deep/b.go", "deny: Read(./b.go)", allow, ""},
			{"read_file", "sub/deep/b.go", "deny: Read(/sub/*)", deny, ""},
			{"read_file", "sub/deep/b.go", "deny: Read(sub/*.go)", allow, ""},
			{"read_file", "sub/deep/b.go", "deny: Read(sub/**/*.go)", deny, ""},
			{"read_file", "sub/deep/b.go", "deny: Read(//**/*.g[n-p])", deny, ""},
			{"read_file", "sub/deep/b.go", "deny: Read(sub/deep/?.go)", deny, ""},
			{"read_file", "sub/deep/b.go", "deny: Read(sub/deep/[!a].go)", deny, ""},
			{"edit_file", "sub/deep/b.go", "deny: Read(sub/**)", deny, ""},
			{"delete_file", "sub/deep/b.go", "deny: Edit(sub/**)", deny, ""},
			{"read_file", "sub/deep/b.go", "deny: Edit(sub/**)", allow, ""},
			{"read_file", "go.mod", "ask: Read(go.mod)", ask, ""},

			// Searches.
			{"grep", ".", "deny: Read(secrets/**)", ask, "below it lies " + dir + "/"},
			{"grep", "src", "deny: Read(secrets/**)", allow, ""},
			{"glob", "sub", "deny: Read(secrets/**)", allow, ""},
			{"grep", "secrets", "deny: Read(secrets/**)", deny, ""},
		}
	})
}

// S1: some files are asked about whatever a wildcard allows.
func TestProtectedPaths(t *testing.T) {
	t.Parallel()
	tryPaths(t, func(_, _ string) []pathCase {
		return []pathCase{
			// What is asked whatever a wildcard allows.
			{"write_file", "AGENTS.md", "allow: Edit", ask, "what an agent is told"},
			{"write_file", "agents.md", "allow: Edit(**)", ask, ""},
			{"write_file", "AGENTS.md", "allow: Edit(./AGENTS.md)", allow, ""},
			{"write_file", "uzda.yaml", "allow: Edit", ask, ""},
			{"write_file", ".uzda/x", "allow: Edit", ask, ""},
			{"write_file", ".mcp.json", "allow: Edit", ask, ""},
			{"write_file", "CLAUDE.md", "allow: Edit", ask, ""},
			{"write_file", "agents/coder.md", "allow: Edit", ask, ""},
			{"write_file", "skills/x/SKILL.md", "allow: Edit", ask, ""},
			{"write_file", ".claude/settings.json", "allow: Edit", ask, ""},
			{"write_file", ".git/hooks/pre-commit", "allow: Edit", ask, ""},
			{"write_file", ".GIT/config", "allow: Edit", ask, ""},
			{"write_file", "src/.git/config", "allow: Edit", ask, ""},
			{"write_file", ".github/workflows/ci.yml", "allow: Edit", ask, ""},
			{"write_file", ".bashrc", "allow: Edit", ask, ""},
			{"write_file", ".npmrc", "allow: Edit", ask, ""},
			{"write_file", "alias", "allow: Edit", ask, "credentials"},
			{"write_file", "src/agent.md", "allow: Edit", allow, ""},
			{"write_file", "src/.github/readme.md", "allow: Edit", allow, ""},
			{"read_file", "AGENTS.md", "", allow, ""},
			{"read_file", ".git/config", "", allow, ""},
			{"read_file", ".env", "", ask, "credentials"},
			{"read_file", ".env", "allow: Read", ask, ""},
			{"read_file", ".env", "allow: Read(.env)", allow, ""},
			{"read_file", ".ENV", "", ask, ""},
			{"read_file", "alias", "", ask, ""},
			{"read_file", ".env.production", "", ask, ""},
			{"read_file", ".env.example", "", allow, ""},
			{"read_file", "src/environment.go", "", allow, ""},
			{"read_file", "certs/server.pem", "", ask, ""},
			{"read_file", ".ssh/id_ed25519", "", ask, ""},
			{"read_file", ".ssh/id_ed25519.pub", "", allow, ""},
			{"read_file", "id_map.go", "", allow, ""},
			{"read_file", ".aws/credentials", "", ask, ""},
			{"read_file", ".netrc", "", ask, ""},
		}
	})
}

// S1: roots besides the session's folder, those only for reading, and what belongs
// to the program itself.
func TestRoots(t *testing.T) {
	t.Parallel()
	dir := site(t, "lib/x.go", "proj/data/sessions.uzda", "conf/uzda.txt")
	top := filepath.Dir(dir)
	g := policy.Gate{Roots: []string{dir, filepath.Join(top, "conf")}, ReadRoots: []string{filepath.Join(top, "lib")}, Own: []string{filepath.Join(dir, "data")},
		Rules: rulesOf(t, "allow: Edit")}
	for _, c := range []struct {
		tool, path string
		want       uzda.Decision
		says       string
	}{
		{"read_file", "../lib/x.go", uzda.Allow, ""},
		{"write_file", "../lib/x.go", uzda.Deny, "lies in a folder that may only be read"},
		{"write_file", "../conf/uzda.txt", uzda.Allow, ""},
		{"write_file", "../other/x", uzda.Deny, "lies outside of " + dir + ", " + top + "/conf"},
		{"write_file", "data/sessions.uzda", uzda.Ask, "belongs to Uzda itself"},
		{"write_file", "database/x", uzda.Allow, ""},
	} {
		if v := judge(t, g, in(dir, c.tool, c.path)); v.Decision != c.want || !strings.Contains(v.Reason, c.says) {
			t.Errorf("%s %s: %s (%s), not %s (%s)", c.tool, c.path, v.Decision, v.Reason, c.want, c.says)
		}
	}
}

// P4: a path /x of a rule is relative to the folder of the file that it stands in,
// ~ to the home folder.
func TestBaseOfRules(t *testing.T) {
	t.Parallel()
	dir := site(t, "proj/sub/a.txt", "proj/a.txt")
	var rs policy.Rules
	if _, err := rs.AddFrom(filepath.Join(dir, "sub"), uzda.Deny, "sub/uzda.yaml:3", "Read(/a.txt)"); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]uzda.Decision{"a.txt": uzda.Allow, "sub/a.txt": uzda.Deny} {
		if v := judge(t, policy.Gate{Rules: rs}, in(dir, "read_file", path)); v.Decision != want {
			t.Errorf("%s: %+v, not %s", path, v, want)
		}
	}
	g := policy.Gate{Rules: rulesOf(t, "deny: Read(~/a.txt)"), Home: filepath.Join(dir, "sub")}
	if v := judge(t, g, in(dir, "read_file", "sub/a.txt")); v.Decision != uzda.Deny {
		t.Errorf("in the home folder: %+v", v)
	}
	if v := judge(t, g, in(dir, "read_file", "~/a.txt")); v.Decision != uzda.Deny {
		t.Errorf("by ~: %+v", v)
	}
}

// S1: what may not be read is not shown by searches; the files of a big folder are
// not all looked at, which counts as the worst.
func TestHidden(t *testing.T) {
	t.Parallel()
	dir := site(t, "proj/secrets/key.txt", "proj/.env", "proj/src/a.go")
	g := policy.Gate{Rules: rulesOf(t, "deny: Read(secrets/**)", "ask: Read(*.sql)", "allow: Read(./.npmrc)")}
	for path, want := range map[string]string{"src/a.go": "", "secrets/key.txt": "hidden", ".env": "skipped", "x/y.SQL": "skipped", ".npmrc": "", dir + "/secrets/x": "hidden"} {
		got := map[bool]string{true: "skipped"}[g.Skipped(dir, path)]
		if g.Hidden(dir, path) {
			got = "hidden"
		}
		if got != want {
			t.Errorf("%s is %q, not %q", path, got, want)
		}
	}
	for _, hides := range []bool{false, true} {
		g.Hides = hides
		if v := judge(t, g, in(dir, "grep", ".")); v.Decision != uzda.Ask || hides && !strings.Contains(v.Reason, "credentials") {
			t.Errorf("a search above what is asked about (hides %v): %+v", hides, v)
		}
	}
	if g.Skips = true; judge(t, g, in(dir, "grep", ".")).Decision != uzda.Allow {
		t.Error("a search that leaves out all of it is asked about")
	}
	for i := range 4100 {
		must(t, os.WriteFile(filepath.Join(dir, "src", fmt.Sprintf("f%d", i)), nil, 0o644))
	}
	g = policy.Gate{Rules: rulesOf(t, "deny: Read(x.txt)")}
	if v := judge(t, g, in(dir, "grep", "src")); v.Decision != uzda.Ask || !strings.Contains(v.Reason, "too much") {
		t.Errorf("a search in a big folder: %+v", v)
	}
}

// P4: patterns of paths, as in .gitignore.
func TestPatterns(t *testing.T) {
	t.Parallel()
	dir := site(t)
	for _, c := range []struct {
		pattern, path string
		want          bool
	}{
		{"*.go", "a.go", true}, {"*.go", "x/y/a.go", true}, {"./*.go", "x/a.go", false}, {"x/*.go", "x/a.go", true}, {"x/*.go", "x/y/a.go", false},
		{"**/a", "a", true}, {"**/a", "x/y/a", true}, {"x/**", "x", true}, {"x/**", "x/y/z", true}, {"x/**/z", "x/z", true}, {"x/**/z", "x/a/b/z", true}, {"x/**/z", "x/a/b/zz", false},
		{"a?c", "abc", true}, {"a?c", "ażc", true}, {"a?c", "a/c", false}, {"[a-c]x", "bx", true}, {"[a-c]x", "dx", false}, {"[^a-c]x", "dx", true}, {"[]]x", "]x", true}, {"[!]]x", "ax", true},
		{`\*x`, "*x", true}, {`\*x`, "ax", false}, {"x", "x/below/it", true}, {"x/", "x/below/it", true}, {"*", "anything/at/all", true}, {"**", "a/b", true},
		{"a*b*c", "a-b-b-c", true}, {"a*b*c", "a-c-b", false}, {"ls (1)", "ls (1)", true}, {"/x", "x", true}, {"/x", "y/x", false}, {"[ż-ź]", "ź", false},
	} {
		g := policy.Gate{Rules: rulesOf(t, "ask: Edit", "deny: Edit("+c.pattern+")"), Home: "/nowhere"}
		if got := judge(t, g, in(dir, "write_file", c.path)).Decision == uzda.Deny; got != c.want {
			t.Errorf("%s matches %s: %v", c.pattern, c.path, got)
		}
	}
}
