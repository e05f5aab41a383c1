package command_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/uzda-dev/uzda/policy/command"
)

// What git's commands show or change is said: files by name, and all that git knows
// where no word names them (!t).
// S1
func TestGitFiles(t *testing.T) {
	t.Parallel()
	const (
		all = "/srv/project/.!t"
		env = "/srv/project/.env /srv/project/.env!t"
	)
	for _, c := range []struct{ line, reads, writes string }{
		{"git diff", all, ""},
		{"git log -p", all, ""},
		{"git log -p -3", all, ""},
		{"git show", all, ""},
		{"git stash show -p", all, ""},
		{"git diff-tree -p HEAD", "/srv/project/HEAD " + all, ""},
		{"git cat-file -p main", "/srv/project/main " + all, ""},
		{"git log", "", ""},
		{"git log --oneline -- .env", "", ""},
		{"git diff --stat", "", ""},
		{"git diff --stat -p", all, ""},
		{"git show --stat HEAD", "", ""},
		{"git show --stat 1234abc", "/srv/project/1234abc " + all, ""},
		{"git log -p -- .env", env, ""},
		{"git log -S -- -p .env", "/srv/project/.env " + all, ""},
		{"git show HEAD -- .env", env + " /srv/project/HEAD", ""},
		{"git show HEAD .env", "/srv/project/.env /srv/project/HEAD " + all, ""},
		{"git show HEAD:.env", "/srv/project/.env", ""},
		{"git show :0:.env", "/srv/project/.env /srv/project/0:.env", ""},
		{"git diff HEAD:.env..HEAD:x", "/srv/project/HEAD:.env..HEAD:x /srv/project/.env..HEAD:x /srv/project/.env /srv/project/x", ""},
		{"git show HEAD@{10:00}", "/srv/project/00} " + all, ""},
		{"cd sub && git show HEAD:a/b", "/srv/project/sub/a/b /srv/project/a/b", ""},
		{"cd sub && git log -p", "/srv/project/sub/.!t " + all, ""},
		{"cd $x && git log -p", "? ?!t", ""},
		{"cd $x && git status", "?", ""},
		{"git log -L1,2:a.txt", "/srv/project/a.txt", ""},
		{"git log -L :main:a.go", "/srv/project/a.go /srv/project/main:a.go", ""},
		{"git diff -- '*.env'", "/srv/project/*.env /srv/project/*.env* /srv/project/.*.env* /srv/project/.env /srv/project/*.env " + all, ""},
		{"git diff -- '?env'", "/srv/project/?env /srv/project/?env /srv/project/?env* /srv/project/.env " + all, ""},
		{"git diff -- ':(icase).ENV'", "/srv/project/:(icase).ENV /srv/project/.ENV /srv/project/.ENV!t " + all, ""},
		{"git diff -- ':!x'", "/srv/project/:!x " + all + " " + all, ""},
		{"cd sub && git show -- :/.env", "/srv/project/sub/.env /srv/project/.env /srv/project/sub/.env!t /srv/project/.env!t /srv/project/sub/.!t " + all, ""},
		{"git diff --no-index /etc/a b", "/etc/a! /srv/project/b!", ""},
		{"git grep foo", all, ""},
		{"git grep --untracked foo", "/srv/project/.!", ""},
		{"git grep -e foo -- .env", env, ""},
		{"git blame .env", "/srv/project/.env", ""},
		{"git checkout a.txt", "", "/srv/project/a.txt /srv/project/a.txt!t " + all},
		{"git checkout -- a.txt", "", "/srv/project/a.txt /srv/project/a.txt!t"},
		{"git checkout -f HEAD a.txt", "?", "?"},
		{"git checkout -b new", "", ""},
		{"git switch main", "", all},
		{"git switch -f main", "?", "?"},
		{"git stash", "", all},
		{"git stash pop", "", all},
		{"git stash push -- a.txt", "", "/srv/project/a.txt /srv/project/a.txt!t"},
		{"git restore a.txt", "", "/srv/project/a.txt /srv/project/a.txt!t"},
		{"git restore --staged a.txt", "", ""},
		{"git rm -r --cached docs", "", "/srv/project/docs /srv/project/docs!t"},
		{"git mv docs x", "/srv/project/docs!", "/srv/project/docs! /srv/project/x!"},
		{"git reset a.txt", "", "/srv/project/a.txt /srv/project/a.txt!t"},
		{"git reset --hard", "", all},
		{"git clean -fd", "/srv/project/d", "/srv/project/.!"},
		{"git am x.patch", "/srv/project/x.patch", all},
		{"git apply x.patch", "/srv/project/x.patch", all},
		{"git merge x", "/srv/project/x", all},
		{"git worktree add ../w", "", "/srv/project/../w!"},
		{"git format-patch -o out HEAD", "/srv/project/out /srv/project/HEAD", "/srv/project/out"},
	} {
		r := command.Read(c.line, here)
		var reads, writes []string
		for _, p := range r.Parts {
			if p.Words[0].Text == "git" {
				reads, writes = append(reads, named(p.Reads)...), append(writes, named(p.Writes)...)
			}
		}
		slices.Sort(reads)
		slices.Sort(writes)
		got := strings.Join(reads, " ") + " > " + strings.Join(writes, " ")
		if want := sorted(c.reads) + " > " + sorted(c.writes); got != want && c.reads+c.writes != "??" {
			t.Errorf("%q\n got %s\nwant %s", c.line, got, want)
		}
		if c.writes == "?" && !slices.Contains(writes, all) {
			t.Errorf("%q writes only %q", c.line, writes)
		}
	}
}

// Where git would look for its repository is said.
// S1 case:P01
func TestGitFolder(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"git status":                           "/srv/project",
		"git -C docs/b log -p":                 "/srv/project/docs/b",
		"cd docs/b && git log -p":              "/srv/project/docs/b",
		"cd docs/b; git log -p":                "/srv/project/docs/b /srv/project",
		"cd docs && git -C /x status":          "/x",
		"git -C a -C b status":                 "?",
		`git -C "$x" status`:                   "?",
		"cd $x && git status":                  "?",
		"timeout 5 git status":                 "/srv/project",
		"for d in a b; do git -C $d log; done": "/srv/project/a /srv/project/b",
		"ls":                                   "",
	} {
		r := command.Read(line, here)
		var got []string
		for _, d := range r.Parts[len(r.Parts)-1].Git {
			if d == "" {
				d = "?"
			}
			got = append(got, d)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%q: %q, want %q", line, got, want)
		}
	}
}

// S1: more of what people type all day is harmless; what looks like it is not.
func TestFriction(t *testing.T) {
	t.Parallel()
	for level, list := range map[command.Level]string{
		command.Harmless: `awk -F, 'NR>1 {s+=$3} END {print s/NR}' f
			awk '{if ($3 > 10) print $1}' f
			awk '$1 > 5 && /foo/ {print "a > b", $2}' f
			awk '{print ($1 > 2)}' f
			awk 'length($0) > 80 {print FILENAME": "$0}' f
			awk -F'\t' '{printf "%s\n", $2; if ($1 > m) m = $1} END {print m}' f
			sha256sum *.go
			sort *
			shuf -n 3 f; zcat a.gz | head
			jq --arg n x '.[$n]' f
			jq -r --argjson n 3 '.a == $n' f
			jq -e -s -c . f
			git config --global user.name; git config --local --get user.email
			git submodule status; git submodule; git reflog main; git reflog show; git symbolic-ref --short HEAD
			git shortlog -sn --no-merges HEAD; git name-rev --tags HEAD; git merge-base a b; git cherry -v; git show-ref --heads
			git for-each-ref --format='%(refname)'; git count-objects -vH; git check-ignore -v x; git var GIT_AUTHOR_IDENT
			git diff --no-index a b
			printenv PATH; printenv HOME USER
			ls | tee /dev/null; ls | tee /dev/stderr | wc -l
			gcc --version; gcc -v; clang -dumpversion; javac --version
			ss -tlnp; netstat -tulpn; lsof -i :3000; lsof -nP -iTCP -sTCP:LISTEN`,
		command.Changes: `ls | tee a /dev/null`,
		command.Unknown: `awk 'NR>1 {print > "out"}' f
			awk '{print(1) > "out"}' f
			awk '{print $1, (2) > $3}' f
			awk '{ if (1) /x/; print a > b}' f
			awk '/[/]/ {print} />" {print > "x"}' f
			awk '{print 1,
			2 > "out"}' f
			awk '{ x = "\"; print > "out" }' f
			jq --slurpfile a f -n env
			jq --arg a
			jq --from-file x
			git config user.name x
			git config --global user.name x
			git submodule foreach ls
			git symbolic-ref HEAD refs/heads/x
			printenv
			printenv TOKEN
			printenv PATH TOKEN
			gcc -v x.c
			gcc x.c --version
			ss -K dst x
			ss -D out
			lsof -D b/x
			shuf -o out f
			git var -l`,
	} {
		for line := range strings.SplitSeq(strings.ReplaceAll(list, "1,\n\t\t\t2", "1, 2"), "\n") {
			r := command.Read(strings.TrimSpace(line), here)
			if got := worst(r); got != level || len(r.Unsure) > 0 {
				t.Errorf("%q is %v, want %v: unsure %q, parts %s", line, got, level, r.Unsure, reasons(r))
			}
		}
	}
}
