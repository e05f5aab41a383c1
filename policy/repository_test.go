package policy_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/uzda-dev/uzda"
	"github.com/uzda-dev/uzda/policy"
)

// repo makes a repository with one commit in proj, with the real git.
func repo(t *testing.T, entries ...string) (dir string, git func(args ...string)) {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("SKIPPED: there is no git here")
	}
	dir = site(t, append([]string{"proj/a.txt", "proj/docs/a.md"}, entries...)...)
	git = gitIn(t, dir)
	git("init", "-q")
	git("add", "-A")
	git("commit", "-qm", "x")
	return dir, git
}

func gitIn(t *testing.T, dir string) func(args ...string) {
	return func(args ...string) {
		t.Helper()
		c := exec.Command("git", append([]string{"-c", "user.name=a", "-c", "user.email=a@b", "-c", "protocol.file.allow=always"}, args...)...)
		c.Dir = dir
		c.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1", "HOME="+dir)
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("git %s: %v: %s", strings.Join(args, " "), err, out)
		}
	}
}

// S1 case:P01: git does not run unasked where the settings of the repository name a
// program or bring in another file; usual settings keep it free.
func TestRepositorySettings(t *testing.T) {
	t.Parallel()
	for set, want := range map[string]uzda.Decision{
		"core.fsmonitor=touch x":                        ask,
		"CORE.FSMonitor=touch x":                        ask,
		"core.fsmonitor=true":                           allow,
		"core.fsmonitor=false":                          allow,
		"diff.external=touch x":                         ask,
		"diff.x.textconv=touch x;cat":                   ask,
		"diff.a.b.command=touch x":                      ask,
		"diff.algorithm=histogram":                      allow,
		"diff.x.xfuncname=^func":                        allow,
		"filter.x.clean=touch x;cat":                    ask,
		"filter.x.process=touch x":                      ask,
		"filter.lfs.clean=git-lfs clean -- %f":          allow,
		"filter.lfs.process=git-lfs filter-process":     allow,
		"filter.lfs.clean=git-lfs clean -- %f; touch x": ask,
		"gpg.program=/tmp/x":                            ask,
		"gpg.ssh.program=/tmp/x":                        ask,
		"remote.o.uploadpack=touch x":                   ask,
		"remote.o.promisor=true":                        ask,
		"remote.o.partialclonefilter=blob:none":         ask,
		"include.path=../cfg":                           ask,
		"includeIf.gitdir:/.path=cfg":                   ask,
		"core.worktree=/etc":                            ask,
		"core.worktree=..":                              allow,
		"core.hooksPath=.husky":                         allow,
		"core.pager=touch x":                            allow, // the environment of commands takes it away
		"user.name=Ola":                                 allow,
		"remote.origin.url=https://example.com/x.git":   allow,
		"branch.main.remote=origin":                     allow,
		"core.attributesFile=/etc/x":                    ask,
		"blame.ignoreRevsFile=.git-blame-ignore-revs":   allow,
		"blame.ignoreRevsFile=/etc/shadow":              ask,
	} {
		dir, git := repo(t)
		key, value, _ := strings.Cut(set, "=")
		git("config", key, value)
		for _, line := range []string{"git status", "git log -p -1", "cd docs && git diff", "git -C docs show", "timeout 5 git show HEAD"} {
			for _, mode := range []string{policy.ModeAsk, policy.ModeEdits} {
				v := judge(t, policy.Gate{Mode: mode}, in(dir, "shell", line))
				if v.Decision != want || want == ask && !strings.Contains(v.Reason, ".git/config sets ") {
					t.Errorf("%s, %q in the mode %s: %s (%s), not %s", set, line, mode, v.Decision, v.Reason, want)
				}
			}
		}
	}
}

// S1: what only a command of git that does more would start counts for those alone,
// and a rule for the program is no leave for what the repository names.
func TestRepositoryActing(t *testing.T) {
	t.Parallel()
	for set, line := range map[string]string{
		"core.sshCommand=ssh -i key": "git fetch origin", "merge.x.driver=touch x": "git add a.txt", "alias.st=!touch x": "git st", "credential.helper=!touch x": "git fetch origin",
		"core.hooksPath=/tmp/hooks": "git checkout -q -b y",
	} {
		dir, git := repo(t)
		rules := rulesOf(t, "allow: Bash(git fetch *)", "allow: Bash(git add *)", "allow: Bash(git st *)", "allow: Bash(git checkout *)")
		if v := judge(t, policy.Gate{Rules: rules}, in(dir, "shell", line)); v.Decision != allow {
			t.Errorf("%q without settings: %+v", line, v)
		}
		key, value, _ := strings.Cut(set, "=")
		git("config", key, value)
		if v := judge(t, policy.Gate{Rules: rules}, in(dir, "shell", line)); v.Decision != ask || !strings.Contains(v.Reason, "sets") {
			t.Errorf("%s, %q: %+v", set, line, v)
		}
		if v := judge(t, policy.Gate{Rules: rules}, in(dir, "shell", "git log")); v.Decision != allow {
			t.Errorf("%s, git log: %+v", set, v)
		}
		if v := judge(t, policy.Gate{Rules: rulesOf(t, "allow: Bash("+line+")")}, in(dir, "shell", line)); v.Decision != allow {
			t.Errorf("%s, %q by its very rule: %+v", set, line, v)
		}
		if got, want := (policy.Gate{Rules: rules}).Propose(in(dir, "shell", line)), "shell("+line+")"; got != want {
			t.Errorf("%s, %q: proposes %q", set, line, got)
		}
	}
}

// S1: the forms of a configuration: all that git reads as a setting is one here.
func TestRepositoryFormats(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]uzda.Decision{
		"[core]\n\tfsmonitor = touch x\n":              ask,
		"[core] fsmonitor = touch x\n":                 ask,
		"[CORE]\r\n\tFsMonitor = touch x\r\n":          ask,
		"\ufeff[core]\nfsmonitor=touch x":              ask,
		"[core]\nfsmonitor = \"touch x\" # y\n":        ask,
		"[core]\nfsmonitor = to\\\nuch\n":              ask,
		"[diff \"a b\"]\n\ttextconv = x\n":             ask,
		"[diff \"a\\\"]b\"]\n\ttextconv = x\n":         ask,
		"[diff.x]\ntextconv = x\n":                     ask,
		"[user]\nname = \"a\\n[core]\"\nemail = b\n":   allow,
		"[user]\nname = a ; [core]\nemail = b\n":       allow,
		"# [core]\n; fsmonitor = x\n[user]\nname=b\n":  allow,
		"[user]\nname = a \\\n[diff] external = x\n":   allow,
		"[user]\nname = \"a\n":                         ask, // git dies of it, and so nothing is known
		"[core\nfsmonitor = x\n":                       ask,
		"[core]\nfsmonitor\n":                          allow,
		"[user]\nname = " + strings.Repeat("x", 2<<20): ask,
	} {
		dir, _ := repo(t)
		must(t, os.WriteFile(filepath.Join(dir, ".git/config"), []byte(text), 0o644))
		if v := judge(t, policy.Gate{}, in(dir, "shell", "git status")); v.Decision != want {
			t.Errorf("%.80q: %s (%s), not %s", text, v.Decision, v.Reason, want)
		}
	}
}

// S1 case:P06: the repository is found as git finds it: upwards, by a file, in
// worktrees, in submodules, and in a folder that is made like one.
func TestRepositoryIsFound(t *testing.T) {
	t.Parallel()
	const evil = "[diff]\nexternal = touch x\n"
	more := func(t *testing.T, path, text string) {
		t.Helper()
		f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY|os.O_CREATE, 0o644)
		must(t, err)
		_, err = f.WriteString(text)
		must(t, err)
		must(t, f.Close())
	}
	for name, set := range map[string]func(t *testing.T, dir string, git func(...string)) (clean, bad string){
		"folder like a repository": func(t *testing.T, dir string, git func(...string)) (string, string) {
			git("init", "-q", "--bare", "docs/b")
			return "git status", "git -C docs/b log -p"
		},
		"file": func(t *testing.T, dir string, git func(...string)) (string, string) {
			git("init", "-q", "other")
			more(t, filepath.Join(dir, "other/.git/config"), evil)
			more(t, filepath.Join(dir, "docs/.git"), "gitdir: ../other/.git\n")
			return "git log", "cd docs && git log -p"
		},
		"worktree": func(t *testing.T, dir string, git func(...string)) (string, string) {
			git("worktree", "add", "-q", "wt", "-b", "wt")
			more(t, filepath.Join(dir, ".git/config"), evil)
			return "ls", "git -C wt status"
		},
		"settings of a worktree": func(t *testing.T, dir string, git func(...string)) (string, string) {
			git("worktree", "add", "-q", "wt", "-b", "wt")
			git("config", "extensions.worktreeConfig", "true")
			more(t, filepath.Join(dir, ".git/worktrees/wt/config.worktree"), evil)
			return "git status", "git -C wt status"
		},
		"repository inside": func(t *testing.T, dir string, git func(...string)) (string, string) {
			git("init", "-q", "docs/sub")
			sub := gitIn(t, filepath.Join(dir, "docs/sub"))
			sub("commit", "-q", "--allow-empty", "-m", "x")
			git("add", "docs/sub")
			more(t, filepath.Join(dir, "docs/sub/.git/config"), evil)
			return "ls", "git status"
		},
		"submodule": func(t *testing.T, dir string, git func(...string)) (string, string) {
			git("init", "-q", "../lib")
			gitIn(t, filepath.Join(filepath.Dir(dir), "lib"))("commit", "-q", "--allow-empty", "-m", "x")
			git("submodule", "--quiet", "add", "../lib", "libs/lib")
			if v := judge(t, policy.Gate{}, in(dir, "shell", "git status")); v.Decision != allow {
				t.Errorf("a usual submodule: %+v", v)
			}
			more(t, filepath.Join(dir, ".git/modules/libs/lib/config"), evil)
			return "ls", "git status"
		},
		"hook": func(t *testing.T, dir string, git func(...string)) (string, string) {
			more(t, filepath.Join(dir, ".git/hooks/post-index-change"), "#!/bin/sh\n")
			return "ls", "git status"
		},
		"hooks elsewhere": func(t *testing.T, dir string, git func(...string)) (string, string) {
			git("config", "core.hooksPath", "docs")
			more(t, filepath.Join(dir, "docs/post-index-change"), "#!/bin/sh\n")
			return "ls", "git status"
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, git := repo(t)
			clean, bad := set(t, dir, git)
			for _, mode := range []string{policy.ModeAsk, policy.ModePlan, policy.ModeEdits} {
				if v := judge(t, policy.Gate{Mode: mode}, in(dir, "shell", clean)); v.Decision != allow {
					t.Errorf("%q in the mode %s: %s (%s)", clean, mode, v.Decision, v.Reason)
				}
				if v := judge(t, policy.Gate{Mode: mode}, in(dir, "shell", bad)); v.Decision == allow {
					t.Errorf("%q in the mode %s: %s (%s)", bad, mode, v.Decision, v.Reason)
				}
			}
		})
	}
}

// S1: a repository that the same command makes is not looked at before, so it is asked
// about; what is moved beside it is not.
func TestRepositoryMadeBefore(t *testing.T) {
	t.Parallel()
	dir, git := repo(t)
	git("init", "-q", "--bare", "docs/b")
	for line, want := range map[string]uzda.Decision{
		"mv docs/b c && git -C c log -p":                                      ask,
		"cp -r docs c && git -C c/b log -p":                                   ask,
		"mv docs/b/HEAD docs/b/objects docs/b/refs docs/b/config . ; git log": ask,
		"cp -r docs/b/. . && git diff":                                        ask,
		"mv docs/b/HEAD HEAD; mv docs/b/objects objects; git -C . diff":       ask,
		"mv a.txt b.txt && git status":                                        allow,
		"cp a.txt docs && git diff":                                           allow,
		"mkdir x && cp docs/a.md x && git status":                             allow,
	} {
		if v := judge(t, policy.Gate{Mode: policy.ModeEdits}, in(dir, "shell", line)); v.Decision != want {
			t.Errorf("%q: %s (%s), not %s", line, v.Decision, v.Reason, want)
		}
	}
}

// unseen is a setting that git reads in a configuration and that the gate did not.
func unseen(t *testing.T, text string) string {
	t.Helper()
	dir := t.TempDir()
	for _, d := range []string{"objects", "refs"} {
		must(t, os.MkdirAll(filepath.Join(dir, ".git", d), 0o755))
	}
	must(t, os.WriteFile(filepath.Join(dir, ".git/HEAD"), []byte("ref: refs/heads/main\n"), 0o644))
	config := filepath.Join(dir, ".git/config")
	must(t, os.WriteFile(config, []byte(text), 0o644))
	if judge(t, policy.Gate{}, in(dir, "shell", "git status")).Decision != allow {
		return ""
	}
	c := exec.Command("git", "config", "--no-includes", "-f", config, "-z", "--list")
	c.Dir = dir
	out, err := c.Output()
	if err != nil {
		return ""
	}
	for item := range strings.SplitSeq(string(out), "\x00") {
		key, value, has := strings.Cut(item, "\n")
		switch {
		case key == "diff.external", strings.HasPrefix(key, "include."), strings.HasPrefix(key, "diff.") && strings.HasSuffix(key, ".textconv"):
			return item
		case key == "core.fsmonitor" && has && !slices.Contains(strings.Fields("true false yes no on off 1 0"), strings.ToLower(value)) && value != "":
			return item
		}
	}
	return ""
}

// S1: whatever stands in a configuration, git finds no program there that the gate
// did not.
func TestGitReadsTheSame(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("SKIPPED: there is no git here")
	}
	r := seeded(7)
	pick := func(list ...string) string { return list[r.IntN(len(list))] }
	for range 300 {
		var b strings.Builder
		for range 1 + r.IntN(3) {
			b.WriteString(pick("", " ", "\t", "# x\n", "; [user]\n", "\r\n", "\r"))
			b.WriteString(pick("[core]", "[diff]", "[CORE]", "[diff \"a b\"]", "[diff.x]", "[diff \"a\\\"]\"]", "[include]", "[user]", "[core ]", "[diff\t\"\"]"))
			b.WriteString(pick("\n", " ", "", "\r\n", " # x\n", "\t;\n"))
			b.WriteString(pick("fsmonitor", "external", "External", "textconv", "path", "name", "FSMONITOR"))
			b.WriteString(pick("=", " = ", "\t=\t", "=\\\n", "", " ="))
			for range r.IntN(4) {
				b.WriteString(pick("x", "true", "\"a b\"", "\"a#b\"", "\\\n", "\\\"", "\\n", " ", "\"\\\n\"", "\r", "false", "\\\r\n"))
			}
			b.WriteString(pick("\n", "\r\n", "", "#[user]\n", " ;\\\n", "\n\n"))
		}
		if item := unseen(t, b.String()); item != "" {
			t.Errorf("%q: git reads %q, and it was allowed", b.String(), item)
		}
	}
}

// FuzzGitSettings is TestGitReadsTheSame for any text.
func FuzzGitSettings(f *testing.F) {
	for _, s := range []string{"[core]\nfsmonitor = x\n", "[a \"b\"]\nc=d\\\ne\n", "[a.b]\n\"", "[core]fsmonitor=\"a\"b;c", "[diff]\n\texternal\t=\\\n x"} {
		f.Add(s)
	}
	if _, err := exec.LookPath("git"); err != nil {
		f.Skip("SKIPPED: there is no git here")
	}
	f.Fuzz(func(t *testing.T, text string) {
		if item := unseen(t, text); item != "" {
			t.Errorf("%q: git reads %q, and it was allowed", text, item)
		}
	})
}

// S1 case:P06: what a rule keeps from being read or written stays so for git, which
// shows and changes files that no word names, also some that are gone.
func TestRulesHoldForGit(t *testing.T) {
	t.Parallel()
	dir, _ := repo(t, "proj/src/x.go", "proj/sub/y")
	for _, c := range []struct {
		rules, line string
		want        uzda.Decision
	}{
		{"deny: Read(./.env)", "git log -p -- .env", deny},
		{"deny: Read(./.env)", "git show HEAD -- .env", deny},
		{"deny: Read(./.env)", "git show HEAD .env", deny},
		{"deny: Read(./.env)", "git diff -- '*.env'", deny},
		{"deny: Read(./.env)", "git diff", ask},
		{"deny: Read(./.env)", "git log -p", ask},
		{"deny: Read(./.env)", "cd sub && git diff", ask},
		{"deny: Read(./.env)", "git stash show -p", ask},
		{"deny: Read(./.env)", "git diff-tree -p HEAD", ask},
		{"deny: Read(.env)", "git diff src", ask},
		{"ask: Read(./.env)", "git diff", ask},
		{"deny: Read(./.env)", "git diff -- src", allow},
		{"deny: Read(src/**)", "git diff -- sub", allow},
		{"deny: Read(src/gone.go)", "git diff -- src", ask},
		{"deny: Read(s*/x.go)", "git diff -- sub", ask},
		{"deny: Read(./.env)", "git log", allow},
		{"deny: Read(./.env)", "git log --stat -3", allow},
		{"deny: Read(./.env)", "git status", allow},
		{"deny: Edit(a.txt)", "git diff", allow},
		{"deny: Read(//etc/**)", "git diff", allow},
		{"deny: Edit(./a.txt)|allow: Bash(git *)", "git checkout a.txt", deny},
		{"deny: Edit(./a.txt)|allow: Bash(git *)", "git stash", ask},
		{"deny: Edit(./a.txt)|allow: Bash(git *)", "git add a.txt", allow},
		{"deny: Edit(./a.txt)|allow: Bash(git *)", "git checkout main", ask},
		{"allow: Bash(git checkout *)", "git checkout main", allow},
		{"allow: Bash(git *)", "git stash", allow},
	} {
		g := policy.Gate{Rules: rulesOf(t, strings.Split(c.rules, "|")...)}
		if v := judge(t, g, in(dir, "shell", c.line)); v.Decision != c.want {
			t.Errorf("%q with %q: %s (%s), not %s", c.line, c.rules, v.Decision, v.Reason, c.want)
		}
	}
}
