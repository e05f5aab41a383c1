package policy_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
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
	} {
		dir, git := repo(t)
		rules := rulesOf(t, "allow: Bash(git fetch *)", "allow: Bash(git add *)", "allow: Bash(git st *)")
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

// FuzzGitSettings: whatever stands in a configuration, a check comes to an end, and
// git never finds a program there that the gate did not.
func FuzzGitSettings(f *testing.F) {
	for _, s := range []string{"[core]\nfsmonitor = x\n", "[a \"b\"]\nc=d\\\ne\n", "[a.b]\n\"", "[core]fsmonitor=\"a\"b;c", "[diff]\n\texternal\t=\\\n x"} {
		f.Add(s)
	}
	if _, err := exec.LookPath("git"); err != nil {
		f.Skip("SKIPPED: there is no git here")
	}
	f.Fuzz(func(t *testing.T, text string) {
		dir := t.TempDir()
		for _, d := range []string{"objects", "refs"} {
			must(t, os.MkdirAll(filepath.Join(dir, ".git", d), 0o755))
		}
		must(t, os.WriteFile(filepath.Join(dir, ".git/HEAD"), []byte("ref: refs/heads/main\n"), 0o644))
		config := filepath.Join(dir, ".git/config")
		must(t, os.WriteFile(config, []byte(text), 0o644))
		v := judge(t, policy.Gate{}, in(dir, "shell", "git status"))
		c := exec.Command("git", "config", "--no-includes", "-f", config, "-z", "--list")
		c.Dir = dir
		out, err := c.Output()
		if err != nil || v.Decision != allow {
			return
		}
		for item := range strings.SplitSeq(string(out), "\x00") {
			key, value, has := strings.Cut(item, "\n")
			if key == "diff.external" || strings.HasPrefix(key, "include.") || key == "core.fsmonitor" && has && fmt.Sprint(strings.Trim(value, "01")) != "" && !strings.Contains("true false yes no on off", strings.ToLower(value)) {
				t.Errorf("%q: git reads %s = %q, and it was allowed: %s", text, key, value, v.Reason)
			}
		}
	})
}
